//! `object.__reduce_ex__` and `object.__getstate__`: how `copy` and `pickle` take an object apart.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use translator::attr::is_heap_type;
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::{Body, ObjId, OrderedMap, Var};

/// `object`'s own methods of a tracked object (CPython's `object___reduce_ex__` and
/// `object_getstate`). `None`: none of these.
pub(crate) fn reduce_method(
    tx: &mut Tx<'_>,
    recv: &Var,
    name: &str,
    args: &Args,
) -> R<Option<Flow>> {
    let Var::Obj(id) = recv else { return Ok(None) };
    let class = tx.obj(*id).class.clone();
    let object = tx.known.object.bind(tx.py).getattr(name);
    let own = tx.class_lookup(&class, name)?;
    if !matches!((own, object), (Some(own), Ok(object)) if object.is(&own)) {
        return Ok(None);
    }
    match (name, args.pos.as_slice()) {
        ("__getstate__", []) => state_of(tx, recv).map(|v| Some(Flow::Value(v))),
        ("__reduce_ex__", [protocol]) => {
            if tx.index_of(protocol)? < 2 {
                return Ok(None);
            }
            let reduce = tx.known.object.bind(tx.py).getattr("__reduce__")?;
            if let Some(custom) = tx.class_lookup(&class, "__reduce__")?
                && !reduce.is(&custom)
            {
                return tx.call_special(recv, "__reduce__", Vec::new());
            }
            reduce_new_object(tx, recv).map(|v| Some(Flow::Value(v)))
        }
        _ => Ok(None),
    }
}

/// `__reduce__` of an `OrderedDict` or a `defaultdict`: how to make an empty one, its attributes and items.
/// `None`: of another class.
pub(crate) fn reduce_derived_dict(tx: &mut Tx<'_>, id: ObjId) -> R<Option<Var>> {
    let recv = Var::Obj(id);
    let class = tx.obj(id).class.clone();
    let none = tx.none();
    let (factory, state) = if class.is(&tx.known.ordered_dict) {
        (None, state_of(tx, &recv)?)
    } else if class.is(&tx.known.defaultdict) {
        (tx.factory_of(id), none.clone())
    } else {
        return Ok(None);
    };
    let factory = factory.filter(|f| !f.is_none(tx.py));
    let items = items_iterator(tx, &recv)?;
    Ok(Some(Var::tuple(vec![
        Var::py(class),
        Var::tuple(factory.into_iter().collect()),
        state,
        none,
        items,
    ])))
}

/// `iter(d.items())`
fn items_iterator(tx: &mut Tx<'_>, dict: &Var) -> R<Var> {
    let items = tx.getattr_sync(dict, &"items".into())?;
    let items = tx.call_sync(&items, Args::default())?;
    tx.get_iter(&items)
}

/// `copyreg.__newobj__(cls, *args)` and what is to be put into its result.
fn reduce_new_object(tx: &mut Tx<'_>, recv: &Var) -> R<Var> {
    let class = tx.type_of(recv)?;
    let ty = class.bind(tx.py).cast::<PyType>().map_err(PyErr::from)?;
    let (ty, body) = (ty.clone(), tx.body_of(recv));
    let container = matches!(body, Some(Body::List(_) | Body::Dict(_)));
    let c_classes = ty.mro().iter().any(|c| {
        let known = [&tx.known.object, &tx.known.list, &tx.known.dict];
        c.cast::<PyType>().is_ok_and(|t| !is_heap_type(t))
            && !known.iter().any(|k| c.is(k.bind(tx.py)))
    });
    if c_classes || !(container || matches!(body, Some(Body::Plain))) {
        return Err(Stop::unsupported(format!(
            "taking apart a {} to copy it",
            tx.class_name(&class)
        )));
    }
    let mut new_args = vec![Var::py(class.clone())];
    if tx.class_lookup(&class, "__getnewargs_ex__")?.is_some() {
        return Err(Stop::unsupported("`__getnewargs_ex__`"));
    }
    if let Some(flow) = tx.call_special(recv, "__getnewargs__", Vec::new())? {
        let more = tx.finish_flow(flow)?;
        new_args.extend(tx.iterate(&more)?);
    }
    let state = match tx.call_special(recv, "__getstate__", Vec::new())? {
        Some(flow) => tx.finish_flow(flow)?,
        None => state_of(tx, recv)?,
    };
    let none = tx.none();
    let list_items = match body {
        Some(Body::List(_)) => tx.get_iter(recv)?,
        _ => none.clone(),
    };
    let dict_items = match body {
        Some(Body::Dict(_)) => items_iterator(tx, recv)?,
        _ => none,
    };
    let new = tx.py.import("copyreg")?.getattr("__newobj__")?.unbind();
    Ok(Var::tuple(vec![
        Var::py(new),
        Var::tuple(new_args),
        state,
        list_items,
        dict_items,
    ]))
}

/// The instance dict, and the slots where there are any; `None` without either.
fn state_of(tx: &mut Tx<'_>, recv: &Var) -> R<Var> {
    let class = tx.type_of(recv)?;
    let ty = class.bind(tx.py).cast::<PyType>().map_err(PyErr::from)?;
    let has_dict = ty.getattr("__dictoffset__")?.extract::<isize>()? != 0;
    let names: Vec<String> = tx
        .py
        .import("copyreg")?
        .call_method1("_slotnames", (&class,))?
        .extract()?;
    let mut state = tx.none();
    if has_dict {
        let dict = tx.object_getattribute(recv, &"__dict__".into())?;
        let dict = tx.finish_flow(dict)?;
        let dict = tx.realize(&dict)?;
        if !matches!(tx.body_of(&dict), Some(Body::Dict(d)) if d.is_empty()) {
            state = dict;
        }
    }
    let mut slots = OrderedMap::default();
    for name in names {
        match tx.getattr_sync(recv, &name.as_str().into()) {
            Ok(v) => {
                let name = Var::constant(PyString::new(tx.py, &name).into_any());
                slots.insert(tx.key(&name)?, name, v);
            }
            Err(stop) if tx.is_raise_of(&stop, "AttributeError") => {}
            Err(stop) => return Err(stop),
        }
    }
    if slots.is_empty() {
        return Ok(state);
    }
    let slots = tx.new_dict(slots);
    Ok(Var::tuple(vec![state, slots]))
}
