//! Weak references of our own, which no program's are mistaken for.
//!
//! Whether somebody refers to an object weakly decides how long a frame keeps it. What Ferrodyn keeps of an input that
//! way must not decide it.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    let class = CLASS.get_or_try_init(py, || -> PyResult<_> {
        let bases = (py.import("weakref")?.getattr("ref")?,);
        let fields = PyDict::new(py);
        fields.set_item("__slots__", PyTuple::empty(py))?;
        fields.set_item("__module__", "ferrodyn._core")?;
        let made = py.get_type::<pyo3::types::PyType>();
        Ok(made.call1(("WeakInput", bases, fields))?.unbind())
    });
    class.map(|class| class.bind(py))
}

/// A weak reference that [`count`] leaves out: calling it gives the object, or `None`.
///
/// # Errors
/// Where the object's class takes none.
pub fn weak<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    class(object.py())?.call1((object,))
}

/// How many weak references there are to an object, besides our own.
///
/// # Errors
/// Where Python's own module is not there.
pub fn count(object: &Bound<'_, PyAny>) -> PyResult<usize> {
    let py = object.py();
    let all = py
        .import("weakref")?
        .call_method1("getweakrefs", (object,))?;
    let class = class(py)?;
    let mut count = 0;
    for one in all.try_iter()? {
        count += usize::from(!one?.get_type().is(class));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_are_not_counted() {
        Python::attach(|py| {
            let object = py.eval(c"type('T', (), {})()", None, None).unwrap();
            let ours = weak(&object).unwrap();
            assert_eq!(count(&object).unwrap(), 0);
            let programs = py.import("weakref").unwrap().getattr("ref").unwrap();
            let programs = programs.call1((&object,)).unwrap();
            assert_eq!(count(&object).unwrap(), 1);
            assert!(ours.call0().unwrap().is(&object) && programs.call0().unwrap().is(&object));
            drop(object);
            assert!(ours.call0().unwrap().is_none());
        });
    }
}
