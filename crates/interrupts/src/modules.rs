//! Modules of the standard library, each imported once.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// A module and where it is kept.
pub(crate) type Kept = PyOnceLock<Py<PyModule>>;

pub(crate) static FUNCTOOLS: Kept = PyOnceLock::new();
pub(crate) static SIGNAL: Kept = PyOnceLock::new();
pub(crate) static SYS: Kept = PyOnceLock::new();
pub(crate) static THREAD: Kept = PyOnceLock::new();
pub(crate) static THREADING: Kept = PyOnceLock::new();

/// A module, imported once: an import looks for `__builtins__` in the globals of the frame that runs, and the program
/// may run code without.
pub(crate) fn module<'py>(
    py: Python<'py>,
    of: &Kept,
    name: &str,
) -> PyResult<Bound<'py, PyModule>> {
    let module = of.get_or_try_init(py, || py.import(name).map(Bound::unbind))?;
    Ok(module.bind(py).clone())
}
