//! Builtins about objects: types, attributes, identity, iteration, text; and those that break.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use translator::call::Yielded;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use translator::values::Special;
use variables::iter_class::IterClass;
use variables::{Body, IterBody, Origin, Var};

use crate::exceptions;

pub(crate) const RULES: RuleList = &[
    (
        "builtins",
        &[
            ("len", len as Rule),
            ("isinstance", isinstance),
            ("issubclass", issubclass),
            ("callable", callable),
            ("id", id),
            ("hash", hash),
            ("type", type_),
            ("getattr", getattr),
            ("hasattr", hasattr),
            ("setattr", setattr),
            ("delattr", delattr),
            ("iter", iter),
            ("next", next),
            ("repr", repr),
            ("ascii", ascii),
            ("format", format),
            ("str", str_),
            ("object", object),
            ("vars", vars),
            ("exec", dynamic_code),
            ("eval", dynamic_code),
            ("compile", dynamic_code),
            ("globals", namespace),
            ("locals", locals),
            ("dir", dir),
        ],
    ),
    ("typing", &[("cast", cast)]),
    (
        "types",
        &[
            ("SimpleNamespace", simple_namespace),
            ("MethodType", method_type),
            ("GenericAlias", generic_alias),
        ],
    ),
    ("sys", &[("exc_info", exc_info), ("exception", exception)]),
    ("_thread", &[("get_ident", thread_ident)]),
];

fn len(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    value(tx.length(&v)?)
}

fn isinstance(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let r = tx.isinstance(&a[0], &a[1])?;
    value(tx.bool(r))
}

fn issubclass(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let r = tx.issubclass(&a[0], &a[1])?;
    value(tx.bool(r))
}

fn callable(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    let v = tx.realize(&v)?;
    let r = match &v {
        Var::Func(_) | Var::Method(_) | Var::BuiltinMethod(_) => true,
        Var::Py(p) => p.obj.bind(tx.py).is_callable(),
        _ => {
            let class = tx.type_of(&v)?;
            tx.class_special(&class, "__call__")? != Special::Absent
        }
    };
    value(tx.bool(r))
}

/// Only what existed before has an address that can be known; it is guarded. In the `copy` module,
/// where ids are keys and nothing else, and for new objects, the id is an object that is good as a
/// key only.
fn id(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    let v = tx.realize(&v)?;
    let copies = is_under_copy(tx);
    let existing = match &v {
        Var::Py(p) => Some((p.obj.clone(), p.source)),
        Var::Tensor(t) => t.input.as_ref().map(|i| (i.obj.clone(), Some(i.source))),
        Var::Obj(o) => match &tx.obj(*o).origin {
            Origin::Source { obj, source } => Some((obj.clone(), Some(*source))),
            _ => None,
        },
        Var::Tuple(t) => t.origin.as_ref().map(|(obj, s)| (obj.clone(), Some(*s))),
        Var::Const(o)
            if o.is_none(tx.py) || o.bind(tx.py).is_instance_of::<pyo3::types::PyBool>() =>
        {
            Some((o.clone(), None))
        }
        _ => None,
    };
    let Some((obj, source)) = existing.filter(|_| !copies) else {
        if variables::Key::address(&v).is_none() {
            return Err(no_address(tx, &v));
        }
        let class = tx.known.int.clone();
        return value(Var::Obj(tx.new_object(class, Body::Address(v))));
    };
    if let Some(source) = source {
        let r = tx.pin(&obj, true);
        tx.guard(source, guards::GuardKind::IdMatch { obj: r });
    }
    tx.facts.is_of_process("an address");
    value(tx.int(obj.as_ptr() as i64))
}

/// Whether the module `copy` is at work, which tells objects apart by their addresses, and so do the methods that it
/// calls.
fn is_under_copy(tx: &Tx<'_>) -> bool {
    let mut frame = Some(&tx.st.frame);
    while let Some(f) = frame {
        let module = f.globals.dict.bind(tx.py).get_item("__name__");
        if module.is_ok_and(|m| m.eq("copy").unwrap_or(false)) {
            return true;
        }
        frame = f.parent.as_deref();
    }
    false
}

fn no_address(tx: &Tx<'_>, v: &Var) -> Stop {
    Stop::brk(
        format!("id() of {}", tx.describe(v)),
        "The object is made while the compiled function runs, so its address is not known before.",
        "Use a key of your own (a name, a counter) instead of id().",
    )
}

fn hash(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    value(crate::dunder::hash_of(tx, &v)?)
}

fn type_(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.len() {
        1 => {
            let class = tx.type_of(&args.pos[0])?;
            let real = match crate::lru_cache::stands_for(tx, &class) {
                None => crate::templates::stands_for(tx, &class)?,
                real => real,
            };
            let class = real.unwrap_or(class);
            value(Var::py(class))
        }
        3 => value(class_of_parts(tx, &args)?),
        _ => Err(tx.raise("TypeError", "type() takes 1 or 3 arguments")),
    }
}

/// `type(name, (), attributes)` where no attribute means something to Python, or can be changed.
fn class_of_parts(tx: &mut Tx<'_>, args: &Args) -> R<Var> {
    use crate::made_classes::{make, module_of, refused};
    let py = tx.py;
    let Some((pos, None)) = tx.real_args(args)? else {
        return Err(refused());
    };
    let [name, bases, attributes] = &pos[..] else {
        return Err(refused());
    };
    let (true, Ok(attributes)) = (
        bases.is_exact_instance_of::<PyTuple>() && bases.len()? == 0,
        attributes.cast_exact::<PyDict>(),
    ) else {
        return Err(refused());
    };
    for (key, attribute) in attributes {
        let is_own = key
            .extract::<String>()
            .is_ok_and(|key| !key.starts_with("__"));
        if !is_own || attribute.hash().is_err() {
            return Err(refused());
        }
    }
    let attributes = attributes.copy()?;
    attributes.set_item("__module__", module_of(tx)?.ok_or_else(refused)?)?;
    let pos = (name, bases, attributes).into_pyobject(py)?;
    let function = py.get_type::<PyType>().into_any();
    make(tx, &function, &pos, &PyDict::new(py))
}

fn getattr(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 3)?;
    let attr = tx.attr_name(&a[1])?;
    match a.get(2) {
        None => tx.getattr(&a[0], &attr).map(Some),
        Some(default) => match tx.getattr_sync(&a[0], &attr) {
            Ok(v) => value(v),
            Err(stop) if tx.is_raise_of(&stop, "AttributeError") => value(default.clone()),
            Err(stop) => Err(stop),
        },
    }
}

fn hasattr(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let attr = tx.attr_name(&a[1])?;
    let r = tx.hasattr(&a[0], &attr)?;
    value(tx.bool(r))
}

fn setattr(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 3, 3)?;
    let attr = tx.attr_name(&a[1])?;
    let flow = tx.setattr(&a[0], &attr, Some(a[2].clone()))?;
    tx.finish_flow(flow)?;
    value(tx.none())
}

fn delattr(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let attr = tx.attr_name(&a[1])?;
    let flow = tx.setattr(&a[0], &attr, None)?;
    tx.finish_flow(flow)?;
    value(tx.none())
}

fn iter(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 1, 2)?;
    match a.get(1) {
        None => value(tx.get_iter(&a[0])?),
        Some(sentinel) => {
            let of = tx.type_of(&a[0])?;
            if tx.class_lookup(&of, "__call__")?.is_none() {
                return Ok(None); // Each version of Python refuses it in its own words.
            }
            let class = IterClass::Call.get(tx.py)?;
            value(tx.new_iter(class, IterBody::Call(a[0].clone(), sentinel.clone())))
        }
    }
}

fn next(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 1, 2)?;
    let it = tx.realize(&a[0])?;
    let generator = matches!(tx.body_of(&it), Some(Body::Generator(_)));
    let (item, returned) = if generator {
        match tx.generator_resume(&it, None)? {
            Yielded::Value(v) => (Some(v), None),
            Yielded::Return(v) => (None, Some(v)),
        }
    } else {
        (tx.iter_next(&it)?, None)
    };
    match (item, a.get(1)) {
        (Some(v), _) => value(v),
        (None, Some(default)) => value(default.clone()),
        (None, None) => Err(tx.stop_iteration(returned)),
    }
}

fn repr(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    value(crate::format::repr_of(tx, &v)?)
}

fn ascii(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    value(crate::format::convert_value(
        tx,
        &v,
        bytecode::op::Conversion::Ascii,
    )?)
}

fn format(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 1, 2)?;
    value(crate::format::format_value(tx, &a[0], None, a.get(1))?)
}

fn str_(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args.clone(), &["object", "encoding", "errors"], 0, 3)?;
    match (&a[0], &a[1], &a[2]) {
        (None, None, None) => value(tx.str("")),
        (Some(v), None, None) => value(crate::format::str_of(tx, v)?),
        _ => {
            let Some((pos, kw)) = tx.real_args(&args)? else {
                return Ok(None);
            };
            value(tx.fold(move |py| {
                py.get_type::<PyString>()
                    .call(pyo3::types::PyTuple::new(py, pos)?, kw.as_ref())
            })?)
        }
    }
}

fn object(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    if !args.pos.is_empty() || !args.kw.is_empty() {
        return Err(tx.raise("TypeError", &format!("{name}() takes no arguments")));
    }
    let class = tx.known.object.clone();
    value(Var::Obj(tx.new_object(class, Body::Plain)))
}

fn vars(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    if args.pos.is_empty() {
        return locals(tx, name, args);
    }
    let v = tx.one(name, args)?;
    tx.getattr(&v, &"__dict__".into()).map(Some)
}

fn locals(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    tx.positional(name, args, 0, 0)?;
    value(tx.local_variables()?)
}

fn dir(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    if !args.pos.is_empty() {
        return namespace(tx, name, args);
    }
    let names = tx.local_variables()?;
    let sorted = tx.known.builtins.getattr(tx.py, "sorted")?;
    tx.call(&Var::py(sorted), Args::pos(vec![names])).map(Some)
}

/// A method object binds whatever it is given; only calls look at it.
fn method_type(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let (func, receiver) = (tx.realize(&a[0])?, a[1].clone());
    if tx.realize(&receiver)?.is_none(tx.py) {
        return Err(tx.raise("TypeError", "instance must not be None"));
    }
    value(Var::Method(std::rc::Rc::new(variables::MethodVar {
        func,
        receiver,
    })))
}

/// A class with the arguments of its subscript, which nothing looks at.
fn generic_alias(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some((pos, None)) = tx.held_args(&args)? else {
        return Ok(None);
    };
    let class = tx.py.import("types")?.getattr(name)?;
    let made = tx.fold(move |py| class.call1(pyo3::types::PyTuple::new(py, pos)?))?;
    value(made)
}

/// The exception that is being handled, by the compiled function or by one of its callers.
fn exception(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    tx.positional(name, args, 0, 0)?;
    if let Some(exc) = tx.st.frame.handling.last() {
        return value(exc.clone());
    }
    value(exceptions::of_callers(tx)?)
}

fn exc_info(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some(translator::tx::Flow::Value(exc)) = exception(tx, name, args)? else {
        return Ok(None);
    };
    if exc.is_none(tx.py) {
        return value(Var::tuple(vec![tx.none(), tx.none(), tx.none()]));
    }
    let class = Var::py(tx.type_of(&exc)?);
    let traceback = tx.traceback_of(&exc);
    value(Var::tuple(vec![class, exc, traceback]))
}

/// Another thread may make the next call, so the number is good as a key only.
fn thread_ident(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    tx.positional(name, args, 0, 0)?;
    let of = tx.py.import("_thread")?.getattr(name)?.unbind();
    let class = tx.known.int.clone();
    value(Var::Obj(tx.new_object(class, Body::Address(Var::py(of)))))
}

fn cast(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["typ", "val"], 2, 2)?;
    match &a[1] {
        Some(v) => value(v.clone()),
        None => Ok(None),
    }
}

fn simple_namespace(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    if !args.pos.is_empty() {
        let message = format!("no positional arguments expected ({name})");
        return Err(tx.raise("TypeError", &message));
    }
    let class = tx.py.import("types")?.getattr("SimpleNamespace")?.unbind();
    let id = tx.new_object(class, Body::Plain);
    for (k, v) in args.kw {
        tx.st.effects.write_attr(id, &k, Some(v));
    }
    value(Var::Obj(id))
}

fn dynamic_code(_: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    Err(Stop::brk(
        format!("Call of {name}()"),
        "Code that is made from text while the program runs is not captured.",
        "Compile the text once, outside of the compiled function, and call the function that it gives.",
    ))
}

fn namespace(_: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    Err(Stop::brk(
        format!("Call of {name}()"),
        format!("`{name}` shows a whole namespace, whose every name would have to be guarded."),
        "Name the variables that are needed.",
    ))
}
