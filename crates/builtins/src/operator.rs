//! The `operator` module.

use crate::asked::text_of;
use bytecode::op::{BinaryOp, CompareOp, UnaryOp};
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyTuple, PyType};
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::Var;

pub(crate) const RULES: RuleList = &[
    (
        "_operator",
        &[
            ("add", binary as Rule),
            ("and_", binary),
            ("floordiv", binary),
            ("lshift", binary),
            ("matmul", binary),
            ("mod", binary),
            ("mul", binary),
            ("or_", binary),
            ("pow", binary),
            ("rshift", binary),
            ("sub", binary),
            ("truediv", binary),
            ("xor", binary),
            ("concat", binary),
            ("iadd", binary),
            ("iand", binary),
            ("ifloordiv", binary),
            ("ilshift", binary),
            ("imatmul", binary),
            ("imod", binary),
            ("imul", binary),
            ("ior", binary),
            ("ipow", binary),
            ("irshift", binary),
            ("isub", binary),
            ("itruediv", binary),
            ("ixor", binary),
            ("iconcat", binary),
            ("lt", compare),
            ("le", compare),
            ("eq", compare),
            ("ne", compare),
            ("gt", compare),
            ("ge", compare),
            ("neg", unary),
            ("pos", unary),
            ("inv", unary),
            ("invert", unary),
            ("not_", unary),
            ("abs", delegate),
            ("truth", delegate),
            ("is_", identity),
            ("is_not", identity),
            ("contains", contains),
            ("countOf", search),
            ("indexOf", search),
            ("getitem", getitem),
            ("setitem", setitem),
            ("delitem", delitem),
            ("index", index),
            ("length_hint", length_hint),
            ("itemgetter", getter),
            ("attrgetter", getter),
            ("methodcaller", getter),
        ],
    ),
    (
        "operator",
        &[
            ("itemgetter", getter),
            ("attrgetter", getter),
            ("methodcaller", getter),
        ],
    ),
];

fn binary_op(name: &str) -> Option<(BinaryOp, bool)> {
    match name {
        "concat" => Some((BinaryOp::Add, false)),
        "iconcat" => Some((BinaryOp::Add, true)),
        name => BinaryOp::of_function(name),
    }
}

fn binary(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let Some((op, inplace)) = binary_op(name) else {
        return Ok(None);
    };
    if name.ends_with("concat") {
        for v in &a {
            let v = tx.realize(v)?;
            if tx.special(&v, "__getitem__")? == translator::values::Special::Absent {
                let class = tx.type_name(&v)?;
                return Err(tx.raise(
                    "TypeError",
                    &format!("'{class}' object can't be concatenated"),
                ));
            }
        }
    }
    tx.binary(op, inplace, &a[0], &a[1]).map(Some)
}

fn compare(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let Some(op) = CompareOp::of_function(name) else {
        return Ok(None);
    };
    tx.compare(op, &a[0], &a[1]).map(Some)
}

fn unary(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    let Some(op) = UnaryOp::of_function(name) else {
        return Ok(None);
    };
    crate::numbers::unary(tx, op, &v)
}

fn delegate(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let builtin = if name == "abs" { "abs" } else { "bool" };
    let f = tx.known.builtins.bind(tx.py).getattr(builtin)?.unbind();
    tx.call_builtin(&f, args)
}

fn identity(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let same = tx.is_operator(&a[0], &a[1])?;
    value(tx.bool(same == (name == "is_")))
}

fn contains(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let found = tx.contains(&a[0], &a[1])?;
    value(tx.bool(found))
}

fn search(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let it = tx.get_iter(&a[0])?;
    let (mut i, mut n) = (0, 0);
    while let Some(v) = tx.iter_next(&it)? {
        if tx.equals(&v, &a[1])? {
            if name == "indexOf" {
                return value(tx.int(i));
            }
            n += 1;
        }
        i += 1;
    }
    if name == "indexOf" {
        return Err(tx.raise("ValueError", "sequence.index(x): x not in sequence"));
    }
    value(tx.int(n))
}

fn getitem(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    tx.getitem(&a[0], &a[1]).map(Some)
}

fn setitem(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 3, 3)?;
    let flow = tx.setitem(&a[0], &a[1], &a[2])?;
    tx.finish_flow(flow)?;
    value(tx.none())
}

fn delitem(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let flow = tx.delitem(&a[0], &a[1])?;
    tx.finish_flow(flow)?;
    value(tx.none())
}

fn index(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    value(Var::Const(tx.index_obj(&v)?))
}

fn length_hint(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 1, 2)?;
    let v = tx.realize(&a[0])?;
    if tx.special(&v, "__len__")? != translator::values::Special::Absent {
        return value(tx.length(&v)?);
    }
    match tx.special(&v, "__length_hint__")? {
        translator::values::Special::Absent => {
            value(a.get(1).cloned().unwrap_or_else(|| tx.int(0)))
        }
        _ => tx.special_flow(&v, "__length_hint__", vec![]).map(Some),
    }
}

/// `itemgetter(...)` and the like, of constants: a real object.
fn getter(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some((pos, kw)) = tx.held_args(&args)? else {
        return Err(Stop::unsupported(format!(
            "operator.{name} with values that are no constants"
        )));
    };
    let f = tx.known.operator.bind(tx.py).getattr(name)?;
    value(tx.fold(move |py| f.call(PyTuple::new(py, pos)?, kw.as_ref()))?)
}

/// Calls an `itemgetter`, `attrgetter` or `methodcaller` object; its pickled form says what it holds.
pub(crate) fn call_getter(
    tx: &mut Tx<'_>,
    kind: &str,
    f: &Bound<'_, PyAny>,
    mut args: Args,
) -> Given {
    let reduced = f.call_method0("__reduce__")?;
    let (made_by, parts): (Bound<'_, PyAny>, Bound<'_, PyTuple>) = reduced.extract()?;
    let parts = parts
        .iter()
        .map(|p| held(tx, kind, &p))
        .collect::<R<Vec<_>>>()?;
    if args.pos.len() != 1 || !args.kw.is_empty() {
        return Ok(None);
    }
    let target = args.pos.remove(0);
    if kind == "methodcaller" {
        // With keywords it is `partial(methodcaller, name, **kw)`, applied to the arguments.
        let (name, pos, kw) = if made_by.hasattr("keywords")? {
            let name: String = made_by.getattr("args")?.get_item(0)?.extract()?;
            let mut kw = Vec::new();
            for pair in made_by
                .getattr("keywords")?
                .call_method0("items")?
                .try_iter()?
            {
                let (k, v): (String, Bound<'_, PyAny>) = pair?.extract()?;
                kw.push((k.into(), held(tx, kind, &v)?));
            }
            (name, parts, kw)
        } else {
            let name = text_of(tx, &parts[0]);
            (name, parts[1..].to_vec(), Vec::new())
        };
        let method = tx.getattr_sync(&target, &name.into())?;
        return tx.call(&method, Args { pos, kw }).map(Some);
    }
    let mut out = Vec::with_capacity(parts.len());
    for p in &parts {
        out.push(if kind == "itemgetter" {
            tx.getitem_sync(&target, p)?
        } else {
            let mut v = target.clone();
            for name in text_of(tx, p).split('.') {
                v = tx.getattr_sync(&v, &name.into())?;
            }
            v
        });
    }
    value(if out.len() == 1 {
        out.remove(0)
    } else {
        Var::tuple(out)
    })
}

/// What such an object holds, which is known to be the same object each time: a constant.
fn held(tx: &mut Tx<'_>, kind: &str, v: &Bound<'_, PyAny>) -> R<Var> {
    match never_changes(tx, v) {
        true => tx.adopt(v),
        false => Err(Stop::unsupported(format!(
            "a call of operator.{kind} that holds a {}",
            v.get_type().name()?
        ))),
    }
}

fn never_changes(tx: &Tx<'_>, v: &Bound<'_, PyAny>) -> bool {
    if let Ok(items) = v.cast_exact::<PyTuple>() {
        return items.iter().all(|item| never_changes(tx, &item));
    }
    v.is_instance_of::<PyType>()
        || v.is_instance_of::<PySlice>()
        || tx.known.is_const_type(v.get_type().as_any())
}
