//! What is told to the log once, through Python's logging, and never in the way of the user's program.
//!
//! Not here: the log of graphs, guards and graph breaks.

use std::collections::HashSet;
use std::sync::Mutex;

use pyo3::prelude::*;

static TOLD: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Logs `message` at warning level on the logger `ferrodyn`, the first time that it comes.
///
/// A pending exception of the caller is kept.
pub fn warn_once(py: Python<'_>, message: &str) {
    let fresh = TOLD
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
        .get_or_insert_default()
        .insert(message.to_owned());
    if !fresh {
        return;
    }
    let pending = PyErr::take(py);
    let told = py
        .import("logging")
        .and_then(|logging| logging.call_method1("getLogger", ("ferrodyn",)))
        .and_then(|logger| logger.call_method1("warning", ("%s", message)));
    if let Err(error) = told {
        error.write_unraisable(py, None);
    }
    if let Some(pending) = pending {
        pending.restore(py);
    }
}

/// The text of a panic's payload.
pub fn panic_text(payload: &(dyn std::any::Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
