//! Functions of `ferrodyn._core` that are about the compiler.

use pyo3::prelude::*;

use super::{config, driver, explain};

/// True in code that is being compiled, False when run plainly.
#[pyfunction]
fn is_compiling(py: Python<'_>) -> PyResult<bool> {
    let modules = py.import("sys")?.getattr("modules")?;
    match modules.get_item("torch.compiler") {
        Ok(m) => m.getattr("_is_compiling_flag")?.is_truthy(),
        Err(_) => Ok(false),
    }
}

/// Ends the graph here; nothing when run plainly.
#[pyfunction]
#[pyo3(signature = (msg = ""))]
fn graph_break(msg: &str) {
    let _ = msg;
}

/// Drops all compiled code, counters and marks of code that is not to be compiled.
#[pyfunction]
fn reset(py: Python<'_>) {
    driver::reset(py);
}

/// Names of the backends that have none of the tags.
#[pyfunction]
fn list_backends(py: Python<'_>, exclude_tags: Vec<String>) -> PyResult<Vec<String>> {
    backends::list(py, &exclude_tags)
}

/// Whether any torch has a backend of this name: nothing has to be imported to know it.
#[pyfunction]
fn is_always_there(name: &str) -> bool {
    backends::is_always_there(name)
}

/// What stands for `backend=None`.
#[pyfunction]
fn default_backend(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    backends::default_backend(py)
}

/// Gives a backend a name.
#[pyfunction]
fn register_backend(
    py: Python<'_>,
    name: String,
    r#fn: Py<PyAny>,
    tags: Vec<String>,
) -> PyResult<()> {
    backends::register(r#fn.bind(py), Some(name), tags)
}

/// Adds them to the module.
///
/// # Errors
/// Whatever Python raises.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(is_compiling, module)?)?;
    module.add_function(wrap_pyfunction!(graph_break, module)?)?;
    module.add_function(wrap_pyfunction!(reset, module)?)?;
    module.add_function(wrap_pyfunction!(list_backends, module)?)?;
    module.add_function(wrap_pyfunction!(is_always_there, module)?)?;
    module.add_function(wrap_pyfunction!(default_backend, module)?)?;
    module.add_function(wrap_pyfunction!(register_backend, module)?)?;
    module.add_function(wrap_pyfunction!(config::get_config, module)?)?;
    module.add_function(wrap_pyfunction!(config::set_config, module)?)?;
    module.add_function(wrap_pyfunction!(explain::explain_begin, module)?)?;
    module.add_function(wrap_pyfunction!(explain::explain_end, module)?)?;
    Ok(())
}
