//! What `__new__` of C classes makes: instances of `object` and of the classes that programs derive
//! from, tuples, struct sequences, sizes, constants of torch.
//!
//! Does not live here: `__init__`, metaclasses, `__new__` in Python (the crate `translator`).

use std::rc::Rc;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyTuple, PyType};
use translator::attr::is_heap_type;
use translator::raw::type_lookup;
use translator::rules::{Given, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::{Body, Obj, Var};

use crate::exceptions;

/// `base.__new__(target, ...)` for a builtin `base`.
pub(crate) fn new_instance<'py>(
    tx: &mut Tx<'py>,
    base: &Obj,
    target: &Bound<'py, PyType>,
    args: Args,
) -> Given {
    let k = tx.known.clone();
    if base.is(&k.tuple) {
        return value(new_tuple(tx, target, &args)?);
    }
    let same = target.is(base.bind(tx.py));
    if same && tx.is_builtin_container(base) {
        // `dict.__new__(dict, ...)` makes an empty one; `frozenset.__new__` fills it.
        let args = if base.is(&k.frozenset) {
            args
        } else {
            Args::default()
        };
        return tx.call_builtin(base, args);
    }
    if same && tx.known.is_const_type(base.bind(tx.py)) {
        return tx.call_builtin(base, args);
    }
    if base.is(&k.object) && !is_plain_layout(tx, target)? {
        // `object.__new__` refuses a class that needs an allocator of its own.
        return Ok(None);
    }
    if base.is(&k.object) && !(args.pos.is_empty() && args.kw.is_empty()) {
        // Only for a class with an `__init__` of its own that takes them.
        let object = k.object.bind(tx.py);
        let is_objects =
            |name: &str| -> PyResult<bool> { Ok(target.getattr(name)?.is(&object.getattr(name)?)) };
        if !is_objects("__new__")? || is_objects("__init__")? {
            return Ok(None);
        }
    }
    Ok(allocate(tx, target, &args)?.map(Flow::Value))
}

/// `object.__new__`, and the allocation of subclasses of builtin containers and exceptions.
/// `None` for other C base classes.
pub(crate) fn allocate<'py>(
    tx: &mut Tx<'py>,
    class: &Bound<'py, PyType>,
    args: &Args,
) -> R<Option<Var>> {
    let py = tx.py;
    let k = tx.known.clone();
    let cls = class.clone().into_any().unbind();
    if tx.class_lookup(&cls, "__del__")?.is_some() {
        return Err(Stop::brk(
            format!("Instance of {}, which has a finalizer", tx.class_name(&cls)),
            "`__del__` runs when the last reference goes, which is known in eager mode only.",
            "Make the object outside of the compiled function.",
        ));
    }
    let sub = |o: &Obj| class.is_subclass(o.bind(py)).unwrap_or(false);
    let tuples_new = k.tuple.bind(py).getattr("__new__")?;
    if type_lookup(class, "__new__").is_some_and(|new| new.is(&tuples_new)) && args.kw.is_empty() {
        return new_tuple(tx, class, args).map(Some);
    }
    let body = if sub(&k.list) {
        Body::List(im::Vector::new())
    } else if sub(&k.dict) {
        Body::Dict(variables::OrderedMap::default())
    } else if sub(&k.set) {
        Body::Set(variables::OrderedMap::default())
    } else if sub(&k.frozenset) && args.kw.is_empty() {
        let items = tx.positional("frozenset", args.clone(), 0, 1)?;
        let items = items.first().map(|items| tx.other_set(items)).transpose()?;
        Body::Set(items.unwrap_or_default())
    } else if sub(&k.base_exception) {
        let init = type_lookup(class, "__init__");
        let in_python = init.is_some_and(|i| i.bind(py).get_type().is(k.function.bind(py)));
        let given = match in_python {
            true => Args::pos(args.pos.clone()),
            false => args.clone(),
        };
        exceptions::made_of(tx, &cls, &given)?;
        let id = tx.new_object(cls, Body::Plain);
        let tuple = Var::tuple(args.pos.clone());
        tx.st
            .effects
            .write_attr(id, &Arc::from("args"), Some(tuple));
        return Ok(Some(Var::Obj(id)));
    } else if let Some(base) = tx.value_base(class)? {
        match new_value(tx, &base, args)? {
            Some(body) => body,
            None => return Ok(None),
        }
    } else if is_plain_layout(tx, class)? {
        if class.hasattr("__abstractmethods__")?
            && class.getattr("__abstractmethods__")?.len().unwrap_or(0) > 0
        {
            // Nothing is made: `object.__new__` refuses, with the names of what is missing.
            tx.class_lookup(&cls, "__abstractmethods__")?;
            let new = k.object.bind(py).getattr("__new__")?;
            return tx.fold(|_| new.call1((class,))).map(Some);
        }
        Body::Plain
    } else if sub(&k.autograd_function) {
        // What C has of it is not read here.
        Body::Plain
    } else {
        return Ok(None);
    };
    Ok(Some(Var::Obj(tx.new_object(cls, body))))
}

/// The body of a new instance: `base(*args)`. `None` where the arguments are not known.
fn new_value<'py>(tx: &mut Tx<'py>, base: &Bound<'py, PyType>, args: &Args) -> R<Option<Body>> {
    let Some((pos, kw)) = tx.constants(args)? else {
        return Ok(None);
    };
    let made = tx.fold(|py| base.call(pyo3::types::PyTuple::new(py, pos)?, kw.as_ref()))?;
    Ok(match made {
        Var::Const(plain) => Some(Body::Value(plain)),
        _ => None,
    })
}

/// `tuple.__new__(class, ...)`.
///
/// # Errors
/// Whatever going over the argument raises.
fn new_tuple<'py>(tx: &mut Tx<'py>, class: &Bound<'py, PyType>, args: &Args) -> R<Var> {
    let items = match args.pos.first() {
        Some(items) => tx.iterate(items)?,
        None => Vec::new(),
    };
    let class = (!class.is(tx.known.tuple.bind(tx.py))).then(|| class.clone().into_any().unbind());
    Ok(Var::Tuple(Rc::new(variables::TupleVar {
        items,
        class,
        origin: None,
    })))
}

/// Classes with a C layout of their own (named tuples, str subclasses, C extension types).
pub(crate) fn construct<'py>(tx: &mut Tx<'py>, class: &Bound<'py, PyType>, args: Args) -> R<Flow> {
    if class.is_subclass(tx.known.tuple.bind(tx.py))? && class.hasattr("n_sequence_fields")? {
        // More items than that, and a dictionary, fill fields that are no items; fewer raise.
        let length: usize = class.getattr("n_sequence_fields")?.extract()?;
        if let ([first], []) = (&args.pos[..], &args.kw[..]) {
            let items = tx.iterate(&first.clone())?;
            if items.len() == length {
                let class = Some(class.clone().into_any().unbind());
                return Ok(Flow::Value(Var::Tuple(Rc::new(variables::TupleVar {
                    items,
                    class,
                    origin: None,
                }))));
            }
        }
        return Err(tx.skipped(class.as_any()));
    }
    if class.is(tx.known.size.bind(tx.py)) {
        let mut items = match (&args.pos[..], &args.kw[..]) {
            ([], []) => Vec::new(),
            ([sizes], []) => tx.iterate(sizes)?,
            _ => return Err(tx.skipped(class.as_any())),
        };
        for item in &mut items {
            *item = tx.look(item)?;
            let is_int = match &*item {
                Var::Const(o) => o.bind(tx.py).is_exact_instance_of::<PyInt>(),
                item => matches!(item, Var::Int(_)),
            };
            if !is_int {
                return Err(tx.skipped(class.as_any()));
            }
        }
        let class = Some(class.clone().into_any().unbind());
        return Ok(Flow::Value(Var::Tuple(Rc::new(variables::TupleVar {
            items,
            class,
            origin: None,
        }))));
    }
    if let Some(flow) = const_type_call(tx, class, &args)? {
        return Ok(flow);
    }
    Err(tx.skipped(class.as_any()))
}

/// `torch.device(...)`, `torch.Size(...)`, `torch.finfo(...)` and the like, of constants.
fn const_type_call<'py>(
    tx: &mut Tx<'py>,
    class: &Bound<'py, PyType>,
    args: &Args,
) -> R<Option<Flow>> {
    // Limits of a dtype: immutable, and equal where the dtype is.
    let limits = class.name().is_ok_and(|n| n == "finfo" || n == "iinfo")
        && class.module().is_ok_and(|m| m == "torch");
    if !limits && !tx.known.is_const_type(class.as_any()) {
        return Ok(None);
    }
    match tx.constants(args)? {
        Some((pos, kw)) => {
            let class = class.clone();
            let py = tx.py;
            tx.fold(|_| class.call(PyTuple::new(py, pos)?, kw.as_ref()))
                .map(|v| Some(Flow::Value(v)))
        }
        None => Ok(None),
    }
}

/// Whether instances of a class are laid out like `object` (dict, weakrefs and slots aside).
fn is_plain_layout<'py>(tx: &Tx<'py>, class: &Bound<'py, PyType>) -> R<bool> {
    // A C class may have an allocator of its own, heap type or not.
    let new = type_lookup(class, "__new__");
    let objects_new = type_lookup(
        tx.known
            .object
            .bind(tx.py)
            .cast::<PyType>()
            .map_err(PyErr::from)?,
        "__new__",
    );
    if let (Some(new), Some(objects_new)) = (new, objects_new)
        && new
            .bind(tx.py)
            .get_type()
            .is(tx.known.builtin_function.bind(tx.py))
        && !new.is(&objects_new)
    {
        return Ok(false);
    }
    for c in class.mro().iter() {
        let t = c.cast::<PyType>().map_err(PyErr::from)?;
        if !is_heap_type(t)
            && !t.is(tx.known.object.bind(tx.py))
            && !translator::tx::qualified_name(t.as_any()).starts_with("typing.")
        {
            return Ok(false);
        }
    }
    Ok(true)
}
