//! Modules that somebody has imported: what is only asked of them is not worth an import.

use pyo3::intern;
use pyo3::prelude::*;

/// The module of this name, if it was imported.
///
/// # Errors
/// Where Python has no modules.
pub fn imported<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let modules = py.import(intern!(py, "sys"))?.getattr("modules")?;
    let module = modules.call_method1(intern!(py, "get"), (name,))?;
    Ok((!module.is_none()).then_some(module))
}
