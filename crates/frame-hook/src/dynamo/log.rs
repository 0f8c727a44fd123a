//! Logs, through Python's `logging`: one logger `ferrodyn.<kind>` for each kind.

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// `logging.DEBUG`.
const DEBUG: u32 = 10;
/// `logging.WARNING`.
const WARNING: u32 = 30;

/// Logs a text that is made only where somebody listens. A failing handler does not stop the
/// program that is being compiled.
pub fn debug(py: Python<'_>, kind: &str, compile_id: &str, text: impl FnOnce() -> String) {
    emit(py, &format!("ferrodyn.{kind}"), DEBUG, compile_id, text);
}

/// A warning on the package's own logger.
pub fn warning(py: Python<'_>, compile_id: &str, text: impl FnOnce() -> String) {
    emit(py, "ferrodyn", WARNING, compile_id, text);
}

/// Whether somebody listens to a kind.
pub fn enabled(py: Python<'_>, kind: &str) -> bool {
    logger(py, &format!("ferrodyn.{kind}"))
        .and_then(|l| l.call_method1("isEnabledFor", (DEBUG,))?.extract())
        .unwrap_or(false)
}

fn logger<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("logging")?.call_method1("getLogger", (name,))
}

fn emit(py: Python<'_>, name: &str, level: u32, compile_id: &str, text: impl FnOnce() -> String) {
    let run = || -> PyResult<()> {
        let logger = logger(py, name)?;
        if !logger
            .call_method1("isEnabledFor", (level,))?
            .extract::<bool>()?
        {
            return Ok(());
        }
        let extra = PyDict::new(py);
        extra.set_item("compile_id", compile_id)?;
        let kwargs = PyDict::new(py);
        kwargs.set_item("extra", extra)?;
        logger.call_method("log", (level, "%s", text()), Some(&kwargs))?;
        Ok(())
    };
    if let Err(e) = run() {
        e.write_unraisable(py, None);
    }
}
