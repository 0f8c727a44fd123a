//! Modules that somebody has imported: what is only asked of them is not worth an import.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The module of this name, if it was imported.
///
/// # Errors
/// Where Python has no modules.
pub fn imported<'py>(py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let modules = py.import(intern!(py, "sys"))?;
    let modules = modules.getattr(intern!(py, "modules"))?;
    let module = match modules.cast::<PyDict>() {
        Ok(modules) => modules.get_item(name)?,
        Err(_) => Some(modules.call_method1(intern!(py, "get"), (name,))?),
    };
    Ok(module.filter(|module| !module.is_none()))
}
