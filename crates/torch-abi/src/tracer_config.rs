//! Options that a program sets for torch's own tracer and that mean the same here.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::names;

/// Whether an option of torch's tracer is on; `None` where the tracer was not imported or has no such option.
///
/// # Errors
/// Where Python has no modules.
pub fn option(py: Python<'_>, name: &str) -> PyResult<Option<bool>> {
    let modules = py.import("sys")?.getattr("modules")?;
    let Some(config) = modules.cast::<PyDict>()?.get_item(names::DYNAMO_CONFIG)? else {
        return Ok(None);
    };
    let option = config.getattr_opt(name)?;
    option.map(|option| option.is_truthy()).transpose()
}
