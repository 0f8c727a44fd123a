//! The methods that `with` looks up on a class, as one object each.

use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use translator::raw::type_lookup;
use variables::Obj;

/// What `LOAD_SPECIAL` calls: the method of the object's class of this name, bound to the object.
/// An attribute of the instance is not asked, nor is `__getattr__`.
fn bound(obj: &Bound<'_, PyAny>, name: &str) -> PyResult<Obj> {
    let class = obj.get_type();
    let Some(found) = type_lookup(&class, name) else {
        return Err(pyo3::exceptions::PyAttributeError::new_err(name.to_owned()));
    };
    let found = found.into_bound(obj.py());
    match type_lookup(&found.get_type(), "__get__") {
        Some(get) => get.call1(obj.py(), (&found, obj, &class)),
        None => Ok(found.unbind()),
    }
}

/// A function of an object that gives its special method of this name.
pub(crate) fn finder(py: Python<'_>, name: &'static str) -> PyResult<Obj> {
    let find = PyCFunction::new_closure(py, None, None, move |args, _| -> PyResult<Obj> {
        bound(&args.get_item(0)?, name)
    })?;
    Ok(find.into_any().unbind())
}
