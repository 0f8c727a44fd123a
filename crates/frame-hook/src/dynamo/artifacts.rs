//! Functions of `ferrodyn._core` that are about what is kept of compilers from one process to the next.

use std::path::PathBuf;

use pyo3::prelude::*;

use super::config;

/// Where results of compilers are kept, or would be; `None` where the user has no such folder.
#[pyfunction]
fn artifact_folder() -> Option<PathBuf> {
    config::possible_cache_folder()
}

/// Key, bytes, time of last use and manifest of each artifact of a folder.
#[pyfunction]
fn artifacts(folder: PathBuf) -> PyResult<Vec<backends::Listed>> {
    backends::artifacts(&folder)
}

/// Removes the artifacts that have changed since they were written; how many were whole, and how many removed.
#[pyfunction]
fn verify_artifacts(folder: PathBuf) -> PyResult<(usize, usize)> {
    backends::verify_artifacts(&folder)
}

/// Removes all artifacts of a folder.
#[pyfunction]
fn clear_artifacts(folder: PathBuf) -> PyResult<()> {
    backends::clear_artifacts(&folder)
}

/// Adds them to the module.
///
/// # Errors
/// Whatever Python raises.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(artifact_folder, module)?)?;
    module.add_function(wrap_pyfunction!(artifacts, module)?)?;
    module.add_function(wrap_pyfunction!(verify_artifacts, module)?)?;
    module.add_function(wrap_pyfunction!(clear_artifacts, module)?)
}
