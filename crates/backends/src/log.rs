//! Lines in Python's log: of `ferrodyn.backends`, and of `ferrodyn.artifacts` for what is kept.

use pyo3::prelude::*;

pub(crate) const BACKENDS: &str = "ferrodyn.backends";
pub(crate) const ARTIFACTS: &str = "ferrodyn.artifacts";

/// Logs `message`, in which `%s` stands for `about`. `level` is the name of the logger's method.
///
/// # Errors
/// What a handler raises.
pub(crate) fn log<'py>(
    py: Python<'py>,
    logger: &str,
    level: &str,
    message: &str,
    about: impl IntoPyObject<'py>,
) -> PyResult<()> {
    py.import("logging")?
        .call_method1("getLogger", (logger,))?
        .call_method1(level, (message, about))?;
    Ok(())
}

/// Whether a line of this level (a name of Python's, such as `INFO`) goes anywhere.
///
/// # Errors
/// What Python's `logging` raises.
pub(crate) fn is_heard(py: Python<'_>, logger: &str, level: &str) -> PyResult<bool> {
    let logging = py.import("logging")?;
    logging
        .call_method1("getLogger", (logger,))?
        .call_method1("isEnabledFor", (logging.getattr(level)?,))?
        .is_truthy()
}
