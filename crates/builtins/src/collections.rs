//! `collections`.

use bytecode::op::BinaryOp;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple, PyType};
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::Stop;
use translator::tx::{Args, Tx};
use variables::{Body, Obj, OrderedMap, Remade, Var};

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

/// Classes that translations have made, by their arguments. They are never handed out, so that others use them
/// again; one translation has each for one call.
static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

fn namedtuple(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let refused = || {
        Stop::brk(
            "Class made in the compiled function",
            "`collections.namedtuple` is given something else than names and plain values.",
            "Make the class outside of the compiled function.",
        )
    };
    let (py, module) = (tx.py, tx.load_global(&"__name__".into())?);
    let module = tx.as_const(&module)?.ok_or_else(refused)?;
    let (pos, kw) = tx.real_args(&args)?.ok_or_else(refused)?;
    let pos = PyTuple::new(py, pos)?;
    let kw = kw.unwrap_or_else(|| PyDict::new(py));
    if kw.get_item("module")?.is_none_or(|m| m.is_none()) {
        kw.set_item("module", module)?;
    }
    if !is_plain(pos.as_any())? || !is_plain(kw.as_any())? {
        return Err(refused());
    }
    let make = py.import("collections")?.getattr("namedtuple")?;
    let classes = CLASSES
        .get_or_init(py, || PyDict::new(py).unbind())
        .bind(py);
    let key = (&pos, &kw).into_pyobject(py)?.repr()?;
    let made = match classes.get_item(&key)? {
        Some(made) => made,
        None => {
            let made = PyList::empty(py).into_any();
            classes.set_item(key, &made)?;
            made
        }
    };
    let made = made.cast::<PyList>().map_err(PyErr::from)?;
    let class = match made.iter().find(|class| !tx.is_private(class)) {
        Some(class) => class,
        None => {
            // What it refuses, it refuses in plain Python.
            let class = make.call(&pos, Some(&kw)).map_err(|_| refused())?;
            made.append(&class)?;
            class
        }
    };
    tx.keep_private(class.cast::<PyType>().map_err(PyErr::from)?)?;
    if let Some(remade) = remade(&class, make, &pos, &kw)? {
        tx.facts.remade.push(remade);
    }
    value(Var::py(class.unbind()))
}

/// The call that makes a class anew. `None` where its arguments can be changed between two calls.
fn remade<'py>(
    class: &Bound<'py, PyAny>,
    make: Bound<'py, PyAny>,
    pos: &Bound<'py, PyTuple>,
    kw: &Bound<'py, PyDict>,
) -> PyResult<Option<Remade>> {
    let fixed = |arg: Bound<'py, PyAny>| -> PyResult<Option<Obj>> {
        let arg = match arg.cast_exact::<PyList>() {
            Ok(list) => list.to_tuple().into_any(),
            Err(_) => arg,
        };
        Ok(arg.hash().is_ok().then(|| arg.unbind()))
    };
    let mut remade = Remade {
        class: class.clone().unbind(),
        function: make.unbind(),
        pos: Vec::with_capacity(pos.len()),
        kw: Vec::with_capacity(kw.len()),
    };
    for arg in pos.iter() {
        let Some(arg) = fixed(arg)? else {
            return Ok(None);
        };
        remade.pos.push(arg);
    }
    for (name, arg) in kw.iter() {
        let Some(arg) = fixed(arg)? else {
            return Ok(None);
        };
        remade.kw.push((name.extract::<String>()?.into(), arg));
    }
    Ok(Some(remade))
}

/// Whether a value's text tells it from all others.
fn is_plain(o: &Bound<'_, PyAny>) -> PyResult<bool> {
    if o.is_none()
        || o.is_exact_instance_of::<PyString>()
        || o.is_exact_instance_of::<PyInt>()
        || o.is_exact_instance_of::<PyBool>()
    {
        return Ok(true);
    }
    if let Ok(dict) = o.cast_exact::<PyDict>() {
        return is_plain(dict.items().as_any());
    }
    if !o.is_exact_instance_of::<PyTuple>() && !o.is_exact_instance_of::<PyList>() {
        return Ok(false);
    }
    for item in o.try_iter()? {
        if !is_plain(&item?)? {
            return Ok(false);
        }
    }
    Ok(true)
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
