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
