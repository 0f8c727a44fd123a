//! The methods that `with` looks up on a class, as one object each.

use bytecode::op::Special;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
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

/// A function of an object that gives its special method of this name: the same one each time.
pub(crate) fn finder(py: Python<'_>, which: Special) -> PyResult<&Obj> {
    let at = SPECIALS.iter().position(|special| *special == which);
    let at = at.ok_or_else(|| PyIndexError::new_err("no such special method"))?;
    Ok(&finders(py)?[at])
}

/// The methods that `LOAD_SPECIAL` looks up.
const SPECIALS: [Special; 4] = [
    Special::Enter,
    Special::Exit,
    Special::AsyncEnter,
    Special::AsyncExit,
];

/// A function for each of them.
pub(crate) fn finders(py: Python<'_>) -> PyResult<&[Obj; 4]> {
    static FINDERS: PyOnceLock<[Obj; 4]> = PyOnceLock::new();
    FINDERS.get_or_try_init(py, || {
        let make = |which: Special| {
            let find = PyCFunction::new_closure(py, None, None, move |args, _| -> PyResult<Obj> {
                bound(&args.get_item(0)?, which.method())
            })?;
            Ok::<_, PyErr>(find.into_any().unbind())
        };
        let [a, b, c, d] = SPECIALS.map(make);
        Ok([a?, b?, c?, d?])
    })
}
