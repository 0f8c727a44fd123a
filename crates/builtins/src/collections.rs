//! `collections`.

use bytecode::op::BinaryOp;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use translator::rules::{Given, Rule, RuleList, value};
use translator::tx::{Args, Tx};
use variables::{Body, OrderedMap, Var};

use crate::made_classes;

pub(crate) const RULES: RuleList = &[
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
    crate::dicts::update_with(tx, &d, name, args)?;
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
    crate::dicts::update_with(tx, &Var::Obj(id), name, args)?;
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

fn namedtuple(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let (module, refused) = (made_classes::module_of(tx)?, made_classes::refused);
    let module = module.ok_or_else(refused)?;
    let (pos, kw) = tx.real_args(&args)?.ok_or_else(refused)?;
    let pos = PyTuple::new(tx.py, pos)?;
    let kw = kw.unwrap_or_else(|| PyDict::new(tx.py));
    if kw.get_item("module")?.is_none_or(|m| m.is_none()) {
        kw.set_item("module", module)?;
    }
    let make = tx.py.import("collections")?.getattr("namedtuple")?;
    value(made_classes::make(tx, &make, &pos, &kw)?)
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
