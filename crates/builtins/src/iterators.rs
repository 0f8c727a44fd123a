//! `zip`, `enumerate`, `map`, `filter`, `reversed`.

use pyo3::prelude::*;
use pyo3::types::PyRange;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::Stop;
use translator::tx::{Args, Tx};
use translator::values::Special;
use variables::iter_class::IterClass;
use variables::{Body, DictView, IterBody, Var};

pub(crate) const RULES: RuleList = &[(
    "builtins",
    &[
        ("zip", zip as Rule),
        ("enumerate", enumerate),
        ("map", map),
        ("filter", filter),
        ("reversed", reversed),
    ],
)];

fn zip(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    let strict = match args.take_kw("strict") {
        Some(v) => tx.truth(&v)?,
        None => false,
    };
    if let Some((k, _)) = args.kw.first() {
        let message = format!("{name}() got an unexpected keyword argument '{k}'");
        return Err(tx.raise("TypeError", &message));
    }
    let mut inner = Vec::with_capacity(args.pos.len());
    for v in &args.pos {
        inner.push(tx.get_iter(v)?);
    }
    let class = tx.known.zip.clone();
    value(tx.new_iter(class, IterBody::Zip(inner, strict)))
}

fn enumerate(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["iterable", "start"], 1, 2)?;
    let Some(v) = &a[0] else { return Ok(None) };
    let it = tx.get_iter(v)?;
    let start = match &a[1] {
        Some(s) => Var::Const(tx.index_obj(s)?),
        None => tx.int(0),
    };
    let class = tx.known.enumerate.clone();
    value(tx.new_iter(class, IterBody::Enumerate(it, start)))
}

fn map(tx: &mut Tx<'_>, _: &'static str, mut args: Args) -> Given {
    let strict = match args.take_kw("strict") {
        Some(_) if !tx.version().map_can_be_strict() => {
            return Err(tx.raise("TypeError", "map() takes no keyword arguments"));
        }
        Some(v) => tx.truth(&v)?,
        None => false,
    };
    if !args.kw.is_empty() {
        return match tx.version().map_can_be_strict() {
            // Python says which keyword may have been meant.
            true => Err(Stop::unsupported(
                "map() with a keyword that it does not have",
            )),
            false => Err(tx.raise("TypeError", "map() takes no keyword arguments")),
        };
    }
    if args.pos.len() < 2 {
        return Err(tx.raise("TypeError", "map() must have at least two arguments."));
    }
    let f = args.pos.remove(0);
    let mut inner = Vec::with_capacity(args.pos.len());
    for v in &args.pos {
        inner.push(tx.get_iter(v)?);
    }
    let class = tx.known.map.clone();
    value(tx.new_iter(class, IterBody::Map(f, inner, strict)))
}

fn filter(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let f = tx.realize(&a[0])?;
    let it = tx.get_iter(&a[1])?;
    let class = tx.known.filter.clone();
    value(tx.new_iter(class, IterBody::Filter(f, it)))
}

fn reversed(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let v = tx.one(name, args)?;
    let v = tx.realize(&v)?;
    // A mapping proxy stands for what it shows, as in `mappingproxy_reversed`.
    let v = tx.mapping_under(&v)?.unwrap_or(v);
    if let Var::Tensor(t) = &v {
        if tx.st.effects.meta(t).shape.is_empty() {
            return value(v);
        }
        let zero = tx.int(0);
        return tx
            .tensor_method(&v, "flip", Args::pos(vec![zero]))
            .map(Some);
    }
    match tx.special(&v, "__reversed__")? {
        Special::User => return tx.special_flow(&v, "__reversed__", vec![]).map(Some),
        Special::Builtin => {
            if let Var::Obj(id) = &v {
                let id = *id;
                match tx.obj(id).body.clone() {
                    Body::Dict(_) => return value(crate::dicts::reversed(tx, id, DictView::Keys)?),
                    Body::DictView(d, view) => return value(crate::dicts::reversed(tx, d, view)?),
                    Body::List(items) => {
                        let class = IterClass::ListReverse.get(tx.py)?;
                        return value(tx.new_iter(
                            class,
                            IterBody::ListReverse(id, items.len().checked_sub(1)),
                        ));
                    }
                    Body::Deque(..) => return value(tx.iter_deque(id, true)?),
                    // Not by `__len__` and `__getitem__`, which its class may have in Python.
                    _ => return Err(Stop::unsupported("reversed() of an object that C reads")),
                }
            }
        }
        Special::Absent => {}
    }
    if let Var::Const(range) = &v
        && range.bind(tx.py).is_exact_instance_of::<PyRange>()
    {
        // It gives an iterator of another range, which has a class of its own.
        let none = || tx.py.None();
        let backwards = tx.known.slice.bind(tx.py).call1((none(), none(), -1))?;
        let turned = range.bind(tx.py).get_item(backwards)?;
        return value(tx.get_iter(&Var::Const(turned.unbind()))?);
    }
    match &v {
        Var::Tuple(_) | Var::Const(_) => {
            let sequence = match &v {
                Var::Const(o) => {
                    o.bind(tx.py).get_type().hasattr("__getitem__")?
                        && !matches!(tx.type_name(&v)?.as_str(), "frozenset")
                }
                _ => true,
            };
            if sequence {
                let items = tx.iterate(&v)?.into_iter().rev().collect();
                return value(tx.iter_items(IterClass::Reversed, items)?);
            }
        }
        _ => {
            if tx.special(&v, "__getitem__")? != Special::Absent
                && tx.special(&v, "__len__")? != Special::Absent
            {
                if !matches!(tx.body_of(&v), Some(Body::Dict(_) | Body::Set(_))) {
                    let n = tx.length(&v)?;
                    let n = tx.index_of(&n)?;
                    let class = IterClass::Reversed.get(tx.py)?;
                    return value(tx.new_iter(class, IterBody::SequenceReverse(v, n as i64 - 1)));
                }
                return Err(Stop::unsupported(format!(
                    "reversed() of {}",
                    tx.describe(&v)
                )));
            }
        }
    }
    let class = tx.type_name(&v)?;
    Err(tx.raise("TypeError", &format!("'{class}' object is not reversible")))
}
