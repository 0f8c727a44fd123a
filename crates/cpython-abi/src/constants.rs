//! The constants of code objects that the crates above make.
//!
//! Invariant: such a code object can be hashed, and that runs no code of the program's.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

/// The `co_consts` of a code object. CPython hashes and compares code by its constants, and tools have code objects for
/// keys, but a constant of residual code may be a dictionary, or an object with a `__hash__` of its own. So
/// these are hashed and compared as one object; the interpreter reads them as it reads any tuple.
///
/// # Errors
/// `MemoryError`.
pub fn constants<'py>(
    py: Python<'py>,
    items: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyTuple>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || -> PyResult<Py<PyAny>> {
        let builtins = py.import("builtins")?;
        let object = builtins.getattr("object")?;
        let body = PyDict::new(py);
        // Without a dictionary the items lie where they do in a plain tuple.
        body.set_item("__slots__", PyTuple::empty(py))?;
        for name in ["__hash__", "__eq__", "__ne__"] {
            body.set_item(name, object.getattr(name)?)?;
        }
        let bases = (builtins.getattr("tuple")?,);
        let class = builtins
            .getattr("type")?
            .call1(("constants", bases, body))?;
        Ok(class.unbind())
    };
    let class = CLASS.get_or_try_init(py, make)?.bind(py);
    Ok(class.call1((items,))?.cast_into::<PyTuple>()?)
}
