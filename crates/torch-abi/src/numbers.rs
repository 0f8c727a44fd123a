//! Floats that are not constants, as a graph gets them that a backend compiles: in tensors.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// A callable that takes a Python float and gives the tensor that stands for it: on the CPU, of double precision,
/// without dimensions.
///
/// # Errors
/// What imports raise.
pub fn number_tensor(py: Python<'_>) -> PyResult<&Py<PyAny>> {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    MAKE.get_or_try_init(py, || {
        let torch = py.import("torch")?;
        let options = PyDict::new(py);
        options.set_item("dtype", torch.getattr("float64")?)?;
        options.set_item("device", "cpu")?;
        let partial = py.import("functools")?.getattr("partial")?;
        let make = partial.call((torch.getattr("scalar_tensor")?,), Some(&options))?;
        Ok(make.unbind())
    })
}
