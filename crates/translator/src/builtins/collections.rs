//! `collections`.

use bytecode::op::BinaryOp;
use pyo3::prelude::*;
use variables::{Body, OrderedMap, Var};

use super::{Given, Rule, Rules, value};
use crate::stop::Stop;
use crate::tx::{Args, Tx};

pub(super) const RULES: Rules = &[
    (
        "collections",
        &[
            ("OrderedDict", ordered_dict as Rule),
            ("defaultdict", defaultdict),
            ("deque", deque),
            ("namedtuple", namedtuple),
        ],
    ),
    ("_collections", &[("_count_elements", count_elements)]),
];

fn ordered_dict(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let class = tx.known.ordered_dict.clone();
    let d = Var::Obj(tx.new_object(class, Body::Dict(OrderedMap::default())));
    tx.update_with(&d, name, args)?;
    value(d)
}

fn defaultdict(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    let factory = if args.pos.is_empty() {
        tx.none()
    } else {
        args.pos.remove(0)
    };
    let factory = tx.realize(&factory)?;
    let callable = match &factory {
        Var::Const(o) => o.is_none(tx.py),
        Var::Tuple(_) | Var::Slice(_) | Var::Tensor(_) => false,
        Var::Py(p) => p.obj.bind(tx.py).is_callable(),
        _ => true,
    };
    if !callable {
        return Err(tx.raise("TypeError", "first argument must be callable or None"));
    }
    let class = tx.known.defaultdict.clone();
    let id = tx.new_object(class, Body::Dict(OrderedMap::default()));
    tx.st
        .effects
        .get_mut(id)
        .seen
        .insert("default_factory".into(), Some(factory));
    tx.update_with(&Var::Obj(id), name, args)?;
    value(Var::Obj(id))
}

fn deque(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.by_name(name, args, &["iterable", "maxlen"], 0, 2)?;
    let max = match &a[1] {
        Some(m) if !tx.realize(m)?.is_none(tx.py) => {
            let m = tx.index_of(m)?;
            if m < 0 {
                return Err(tx.raise("ValueError", "maxlen must be non-negative"));
            }
            Some(m as usize)
        }
        _ => None,
    };
    let class = tx.known.deque.clone();
    let d = Var::Obj(tx.new_object(class, Body::Deque(im::Vector::new(), max)));
    if let Some(v) = &a[0] {
        tx.extend_items(&d, v)?;
    }
    value(d)
}

fn namedtuple(_: &mut Tx<'_>, _: &'static str, _: Args) -> Given {
    Err(Stop::brk(
        "Class made in the compiled function",
        "`collections.namedtuple` makes a class, which is not captured.",
        "Make the class outside of the compiled function.",
    ))
}

/// The C loop of `Counter.update`.
fn count_elements(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let (zero, one) = (tx.int(0), tx.int(1));
    for v in tx.iterate(&a[1])? {
        let get = tx.getattr_sync(&a[0], &"get".into())?;
        let old = tx.call_sync(&get, Args::pos(vec![v.clone(), zero.clone()]))?;
        let new = tx.binary_sync(BinaryOp::Add, &old, &one)?;
        let flow = tx.setitem(&a[0], &v, &new)?;
        tx.finish_flow(flow)?;
    }
    value(tx.none())
}
