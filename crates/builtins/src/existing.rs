//! Methods that C gives to objects that exist: classes, functions, descriptors, members of enums that
//! derive from a builtin class, context variables. Does not live here: methods of containers.

use std::rc::Rc;

use guards::{GuardKind, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use translator::attr::named_tuple_field;
use translator::methods::is_regex_method;
use translator::raw::{derives_from, type_lookup};
use translator::rules::Given;
use translator::stop::R;
use translator::tx::{Args, Flow, Tx};
use variables::{MethodVar, Obj, ObjId, Origin, Var};

use crate::{random, weakref};

/// A method that C gives to an existing object: class, function, descriptor, mapping proxy.
pub(crate) fn method(
    tx: &mut Tx<'_>,
    recv: &Var,
    o: &Obj,
    name: &str,
    args: Args,
) -> R<Option<Flow>> {
    let py = tx.py;
    let b = o.bind(py).clone();
    let ty = b.get_type();
    let k = tx.known.clone();
    if ty.is(k.function.bind(py)) {
        return tx.function_method(recv, name, args);
    }
    if name == "__getattribute__"
        && derives_from(&b, k.module_type.bind(py))
        && !ty.hasattr("__getattr__")?
    {
        let a = tx.positional("__getattribute__", args, 1, 1)?;
        let attr = tx.attr_name(&a[0])?;
        return tx.getattr(recv, &attr).map(Some);
    }
    if is_regex_method(&ty, name)? {
        return (tx.rules.builtins.regex_method)(tx, o, name, args);
    }
    if ty.is(k.property.bind(py)) && name == "__get__" {
        let a = tx.positional("__get__", args, 1, 2)?;
        if a[0].is_none(py) {
            return Ok(Some(Flow::Value(recv.clone())));
        }
        let get = tx.from_const(b.getattr("fget")?)?;
        return tx.call(&get, Args::pos(vec![a[0].clone()])).map(Some);
    }
    if ty.is(k.staticmethod.bind(py)) || ty.is(k.classmethod.bind(py)) {
        let func = Var::py(b.getattr("__func__")?.unbind());
        return match name {
            "__get__" if ty.is(k.staticmethod.bind(py)) => Ok(Some(Flow::Value(func))),
            "__get__" => {
                let a = tx.positional("__get__", args, 1, 2)?;
                let receiver = match a.get(1) {
                    Some(c) if !c.is_none(py) => c.clone(),
                    _ => Var::py(tx.type_of(&a[0])?),
                };
                Ok(Some(Flow::Value(Var::Method(Rc::new(MethodVar {
                    func,
                    receiver,
                })))))
            }
            "__call__" => tx.call(&func, args).map(Some),
            _ => Ok(None),
        };
    }
    if name == "__get__"
        && matches!(
            &*ty.name()?.to_cow()?,
            "getset_descriptor" | "member_descriptor"
        )
    {
        let a = tx.positional("__get__", args, 1, 2)?;
        let attr: String = b.getattr("__name__")?.extract()?;
        let class = tx.type_of(&a[0])?;
        // Only where an attribute of that name comes to this very descriptor.
        return match type_lookup(class.bind(py).cast().map_err(PyErr::from)?, &attr) {
            Some(found) if found.is(&b) => tx.getattr(&a[0], &attr.into()).map(Some),
            _ => Ok(None),
        };
    }
    if name == "__get__" && ty.name()? == "_lru_cache_wrapper" {
        let a = tx.positional("__get__", args, 1, 2)?;
        return Ok(Some(Flow::Value(match a[0].is_none(py) {
            true => recv.clone(),
            false => Var::Method(Rc::new(MethodVar {
                func: recv.clone(),
                receiver: a[0].clone(),
            })),
        })));
    }
    if name == "__get__"
        && let Some(index) = named_tuple_field(&b)?
    {
        let a = tx.positional("__get__", args, 1, 2)?;
        return match tx.realize(&a[0])? {
            Var::Tuple(t) if index < t.items.len() => Ok(Some(Flow::Value(t.items[index].clone()))),
            v if v.is_none(py) => Ok(Some(Flow::Value(recv.clone()))),
            _ => Ok(None),
        };
    }
    if matches!(name, "__call__") && !b.is_instance_of::<PyType>() {
        return tx.call(recv, args).map(Some);
    }
    if name == "__call__"
        && let Ok(class) = b.cast::<PyType>()
    {
        return tx.instantiate(class, args).map(Some);
    }
    if let ("__instancecheck__", [v]) = (name, &args.pos[..])
        && let Ok(class) = b.cast::<PyType>()
    {
        // `type`'s own, which a metaclass of the program's may call.
        let answer = tx.is_plain_instance(v, &class.clone().into_any().unbind())?;
        return Ok(Some(Flow::Value(tx.bool(answer))));
    }
    let pure = b.is_instance_of::<PyType>()
        && matches!(
            name,
            "mro"
                | "__subclasses__"
                | "__subclasscheck__"
                | "__or__"
                | "__ror__"
                | "__class_getitem__"
                | "fromkeys"
                | "from_bytes"
                | "fromhex"
                | "maketrans"
        );
    // Methods of enum members of builtin mix-ins (`str`, `int`) and of other objects whose class
    // is C code: reading only.
    let reading = b.is_instance_of::<pyo3::types::PyString>()
        || b.is_instance_of::<pyo3::types::PyInt>()
        || b.is_instance_of::<pyo3::types::PyFloat>()
        || b.is_instance_of::<PyTuple>()
        || b.is_instance_of::<pyo3::types::PyBytes>();
    // What a class is asked for looks at no instance.
    let real = match (pure, reading) {
        (true, _) => tx.held_args(&args)?,
        (_, true) => tx.real_args(&args)?,
        _ => None,
    };
    if let Some((pos, kw)) = real {
        let name = name.to_owned();
        // The C method itself, not an override of it in a subclass.
        let method = if reading {
            builtin_method(&b, &name)?
        } else {
            Some(b.getattr(&*name)?)
        };
        let Some(method) = method else {
            return Ok(None);
        };
        return tx
            .fold(move |py| method.call(PyTuple::new(py, pos)?, kw.as_ref()))
            .map(|v| Some(Flow::Value(v)));
    }
    Ok(None)
}

/// A method of an instance's builtin base class, bound.
fn builtin_method<'py>(b: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    for c in b.get_type().mro().iter() {
        let dict = c.getattr("__dict__")?;
        let module = c.getattr("__module__")?;
        if module.eq("builtins")? && dict.contains(name)? {
            return Ok(Some(dict.get_item(name)?.call_method1("__get__", (b,))?));
        }
    }
    Ok(None)
}

/// A method that C gives to an object from outside whose contents are not followed.
pub(crate) fn tracked_method(tx: &mut Tx<'_>, id: ObjId, name: &str, args: &Args) -> Given {
    if let Some(flow) = random::draw_method(tx, id, name, args)? {
        return Ok(Some(flow));
    }
    let Origin::Source { obj, source } = tx.obj(id).origin.clone() else {
        return Ok(None);
    };
    let class = tx.obj(id).class.clone();
    if name == "get" && class.is(&tx.known.context_variable) {
        return context_variable(tx, &obj, source, args);
    }
    if name == "__call__" && class.is(&tx.known.weakref) {
        tx.positional("__call__", args.clone(), 0, 0)?;
        return weakref::referent(tx, &obj, source).map(Some);
    }
    Ok(None)
}

/// `variable.get(...)` of a `ContextVar` from outside; setting one breaks the graph, so that it holds what it held
/// when guards were checked.
fn context_variable(tx: &mut Tx<'_>, obj: &Obj, source: SourceId, args: &Args) -> Given {
    let Some((given, None)) = tx.real_args(args)? else {
        return Ok(None);
    };
    let get = obj.bind(tx.py).getattr("get")?;
    let Ok(value) = get.call1(PyTuple::new(tx.py, &given)?) else {
        return Ok(None);
    };
    let held = tx.pin(obj, true);
    tx.guard(source, GuardKind::IdMatch { obj: held });
    let given: Vec<_> = given.into_iter().map(Bound::unbind).collect();
    tx.guard_call(&get.unbind(), None, &given, &value)?;
    if value.get_type().is(tx.known.object.bind(tx.py)) {
        let value = value.unbind();
        let source = tx.pinned_source(&value, false, "sentinel");
        return tx.build(&value, source).map(|v| Some(Flow::Value(v)));
    }
    tx.from_const(value).map(|v| Some(Flow::Value(v)))
}
