//! The methods that `with` looks up on a class, as one object each.

use bytecode::op::Special;
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

/// For each method that `LOAD_SPECIAL` looks up a function of an object that gives it: the same one each time.
pub(crate) struct Finders {
    enter: Obj,
    exit: Obj,
    async_enter: Obj,
    async_exit: Obj,
}

impl Finders {
    /// That of one method.
    pub(crate) fn of(&self, which: Special) -> &Obj {
        match which {
            Special::Enter => &self.enter,
            Special::Exit => &self.exit,
            Special::AsyncEnter => &self.async_enter,
            Special::AsyncExit => &self.async_exit,
        }
    }

    /// All of them, always in the same order.
    pub(crate) fn all(&self) -> [&Obj; 4] {
        [&self.enter, &self.exit, &self.async_enter, &self.async_exit]
    }
}

/// The functions.
pub(crate) fn finders(py: Python<'_>) -> PyResult<&Finders> {
    static FINDERS: PyOnceLock<Finders> = PyOnceLock::new();
    FINDERS.get_or_try_init(py, || {
        let make = |which: Special| {
            let find = PyCFunction::new_closure(py, None, None, move |args, _| -> PyResult<Obj> {
                bound(&args.get_item(0)?, which.method())
            })?;
            Ok::<_, PyErr>(find.into_any().unbind())
        };
        Ok(Finders {
            enter: make(Special::Enter)?,
            exit: make(Special::Exit)?,
            async_enter: make(Special::AsyncEnter)?,
            async_exit: make(Special::AsyncExit)?,
        })
    })
}
