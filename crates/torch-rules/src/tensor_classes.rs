//! Classes of tensors that the program derives from torch's, where torch treats them as its own: those of parameters,
//! whose `__torch_function__` is off.
//!
//! Invariant: what such a class has of its own is reached by attributes only. One that changes what torch's
//! classes do is left to plain Python.

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::BinaryOp;
use guards::GuardKind;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use translator::attr::Descriptor;
use translator::raw::type_lookup;
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::{MethodVar, Obj, TensorVar, Var};

/// Special names that a class may have without a change to its objects once they are made.
const HARMLESS: [&str; 18] = [
    "__module__",
    "__qualname__",
    "__doc__",
    "__new__",
    "__init__",
    "__init_subclass__",
    "__class_getitem__",
    "__dict__",
    "__weakref__",
    "__slots__",
    "__slotnames__",
    "__annotations__",
    "__annotate__",
    "__annotate_func__",
    "__annotations_cache__",
    "__firstlineno__",
    "__static_attributes__",
    "__orig_bases__",
];

/// Operators and protocols of which Python asks the class alone.
pub(crate) const ASKED_OF_CLASS: [&str; 24] = [
    "__neg__",
    "__pos__",
    "__invert__",
    "__abs__",
    "__lt__",
    "__le__",
    "__eq__",
    "__ne__",
    "__gt__",
    "__ge__",
    "__getitem__",
    "__setitem__",
    "__delitem__",
    "__len__",
    "__iter__",
    "__contains__",
    "__bool__",
    "__float__",
    "__int__",
    "__index__",
    "__hash__",
    "__getattr__",
    "__getattribute__",
    "__setattr__",
];

/// Whether torch treats the tensors of a class as its own, as this does; guarded where it is so.
///
/// # Errors
/// Whatever looking at the class raises.
pub(crate) fn is_tensor_like<'py>(tx: &mut Tx<'py>, class: &Bound<'py, PyType>) -> R<bool> {
    let off = tx
        .known
        .torch_c
        .bind(tx.py)
        .getattr("_disabled_torch_function_impl")?;
    let is_off = type_lookup(class, "__torch_function__").is_some_and(|f| f.is(&off));
    let parameter = tx.known.parameter.clone();
    let parameter = parameter.bind(tx.py);
    let fits = is_off
        && class.is_subclass(parameter)?
        && is_tensors_own(tx, class, |name, special| {
            Ok(!special && !parameter.hasattr(name)?)
        })?;
    if fits {
        hold_tensor_class(tx, class)?;
    }
    Ok(fits)
}

/// Holds a class to the operators that torch's classes of tensors have.
///
/// # Errors
/// Whatever looking at the class raises.
pub(crate) fn hold_tensor_class<'py>(tx: &mut Tx<'py>, class: &Bound<'py, PyType>) -> R<()> {
    let class = class.clone().into_any().unbind();
    tx.guard_bases(&class);
    for name in ["__torch_function__", "__torch_dispatch__"] {
        tx.class_lookup(&class, name)?;
    }
    for name in ASKED_OF_CLASS {
        tx.class_lookup(&class, name)?;
    }
    // Each has a reflected form and one in place.
    for name in BinaryOp::all().map(BinaryOp::method_stem) {
        for form in ["", "r", "i"] {
            tx.class_lookup(&class, &format!("__{form}{name}__"))?;
        }
    }
    Ok(())
}

/// Whether a class dispatches as torch's tensors do, or is of wrappers, and has no special names but harmless ones and those that
/// are `fine`, and other names that are. `fine` gets a name, and whether it is special.
pub(crate) fn is_tensors_own<'py>(
    tx: &Tx<'py>,
    class: &Bound<'py, PyType>,
    mut fine: impl FnMut(&str, bool) -> PyResult<bool>,
) -> R<bool> {
    let py = tx.py;
    let tensor = tx
        .known
        .tensor
        .bind(py)
        .cast::<PyType>()
        .map_err(PyErr::from)?;
    let dispatch =
        |c: &Bound<'_, PyType>| type_lookup(c, "__torch_dispatch__").map(|f| f.as_ptr() as usize);
    let meta = class.get_type();
    let metas = [tensor.get_type(), tx.known.parameter.bind(py).get_type()];
    let dispatches = dispatch(class) != dispatch(tensor);
    if dispatches && !tx.is_wrapper_class(class) || !metas.iter().any(|m| meta.is(m)) {
        return Ok(false);
    }
    for base in class.mro().iter() {
        if tx.known.tensor_types.contains(&(base.as_ptr() as usize)) {
            break;
        }
        let names = base.getattr("__dict__")?.call_method0("copy")?;
        let names = names.cast_into::<PyDict>().map_err(PyErr::from)?;
        for name in names.keys().iter() {
            let Ok(name) = name.extract::<String>() else {
                return Ok(false);
            };
            let special = name.starts_with("__") && name.ends_with("__");
            let protocol = dispatches && crate::wrappers::PROTOCOL.contains(&&*name);
            if !(protocol || special && HARMLESS.contains(&&*name) || fine(&name, special)?) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// An attribute that the program's class of a tensor has; `None` where torch's have it, or none.
///
/// # Errors
/// What a property raises; a break for another descriptor.
pub(crate) fn own_class_attr(
    tx: &mut Tx<'_>,
    t: &Rc<TensorVar>,
    var: &Var,
    name: &Arc<str>,
) -> R<Option<Flow>> {
    if tx.known.tensor_types.contains(&(t.class.as_ptr() as usize)) {
        return Ok(None);
    }
    if let Some(flow) = crate::wrappers::attribute(tx, t, var, name)? {
        return Ok(Some(flow));
    }
    let found: Option<Obj> = tx.class_lookup(&t.class.clone(), name)?;
    let Some(found) = found.filter(|found| !is_torchs(tx, t, name, found)) else {
        return Ok(None);
    };
    let class = t.class.clone();
    let kind = tx.guarded_descriptor(&class, name, &found)?;
    if let Descriptor::Property = kind {
        let get = found.bind(tx.py).getattr("fget")?.unbind();
        let args = Args::pos(vec![var.clone()]);
        return tx.call(&Var::py(get), args).map(Some);
    }
    if has_in_dict(tx, t, name) {
        return Ok(None);
    }
    if let Some(input) = &t.input {
        let absent = GuardKind::GenericDictContains {
            name: name.clone(),
            present: false,
        };
        tx.guard(input.source, absent);
    }
    match kind {
        Descriptor::Function => {
            let method = MethodVar {
                func: Var::py(found),
                receiver: var.clone(),
            };
            Ok(Some(Flow::Value(Var::Method(Rc::new(method)))))
        }
        Descriptor::Value | Descriptor::Class | Descriptor::Static => {
            tx.getattr(&Var::py(class), name).map(Some)
        }
        _ => Err(Stop::unsupported(format!(
            "attribute `{name}` of a class of tensors"
        ))),
    }
}

/// A property that the program's class of a tensor has.
///
/// # Errors
/// As [`Tx::class_lookup`].
pub(crate) fn own_property(tx: &mut Tx<'_>, t: &TensorVar, name: &str) -> R<Option<Obj>> {
    let address = t.class.as_ptr() as usize;
    if tx.known.tensor_types.contains(&address) {
        return Ok(None);
    }
    let found = tx.class_lookup(&t.class.clone(), name)?;
    Ok(found.filter(|found| {
        matches!(tx.descriptor(found), Descriptor::Property) && !is_torchs(tx, t, name, found)
    }))
}

/// Whether what the class of a tensor has for a name is what torch's class has.
fn is_torchs(tx: &Tx<'_>, t: &TensorVar, name: &str, found: &Obj) -> bool {
    let class = t.class.bind(tx.py).cast::<PyType>();
    let parameter = tx.known.parameter.bind(tx.py);
    let is_parameter = class.is_ok_and(|c| c.is_subclass(parameter).unwrap_or(true));
    let torchs = match is_parameter {
        true => parameter,
        false => tx.known.tensor.bind(tx.py),
    };
    let torchs = torchs.cast::<PyType>();
    torchs.is_ok_and(|c| type_lookup(c, name).is_some_and(|own| own.is(found)))
}

fn has_in_dict(tx: &Tx<'_>, t: &TensorVar, name: &str) -> bool {
    let input = t.input.as_ref();
    let dict = input.and_then(|i| translator::raw::instance_dict(i.obj.bind(tx.py)));
    dict.is_some_and(|d| translator::raw::dict_get(&d, name).is_some())
}
