//! Spans for a profiler of torch.
//!
//! Does not live here: what is worth a span. Invariant: where no profiler runs, asking for a span reads one flag.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::{names, stance};

static ON: AtomicBool = AtomicBool::new(false);

/// Whether a profiler runs.
#[inline]
pub fn is_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// torch's function that notes that a profiler begins or ends, and ours that is to take its place: it calls torch's
/// and then [`follow`]. `None` where this torch has none.
pub fn switch(py: Python<'_>) -> Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)> {
    let profiler = py.import(names::PROFILER).ok()?;
    let function = profiler.getattr(names::SET_PROFILER_ENABLED).ok()?;
    Some((profiler.into_any(), function))
}

/// Puts `function` in the place of torch's function that [`switch`] gave.
///
/// # Errors
/// What setting an attribute of a module raises.
pub fn replace_switch(profiler: &Bound<'_, PyAny>, function: Bound<'_, PyAny>) -> PyResult<()> {
    profiler.setattr(names::SET_PROFILER_ENABLED, function)
}

/// Reads torch's flag; whether a profiler runs. Calls of entries are looked at one by one while it does.
///
/// # Errors
/// Where torch has no such flag.
pub fn follow(py: Python<'_>) -> PyResult<bool> {
    let profiler = py.import(names::PROFILER)?;
    let on = profiler.getattr(names::PROFILER_ENABLED)?.is_truthy()?;
    ON.store(on, Ordering::Relaxed);
    stance::look_at_each_call(on);
    Ok(on)
}

/// A span that ends when it is dropped.
#[must_use = "it ends when it is dropped"]
pub struct Span(Option<Py<PyAny>>);

impl Span {
    /// Begins a span, if a profiler runs. What torch raises is reported, and there is no span.
    pub fn begin(py: Python<'_>, name: impl FnOnce() -> String) -> Span {
        Span(is_on().then(|| enter(py, &name())).flatten())
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(record) = self.0.take() {
            // Without an interpreter there is no profiler either.
            let _: Option<()> = Python::try_attach(|py| leave(py, &record));
        }
    }
}

#[cold]
fn enter(py: Python<'_>, name: &str) -> Option<Py<PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let begun = || -> PyResult<Py<PyAny>> {
        let class = CLASS.get_or_try_init(py, || {
            let module = py.import(names::C_PROFILER)?;
            module.getattr(names::RECORD_FUNCTION).map(Bound::unbind)
        })?;
        let record = class.bind(py).call1((name,))?;
        record.call_method0("__enter__")?;
        Ok(record.unbind())
    };
    begun()
        .inspect_err(|error| error.clone_ref(py).write_unraisable(py, None))
        .ok()
}

#[cold]
fn leave(py: Python<'_>, record: &Py<PyAny>) {
    // The exception that ends the span is none of the span's.
    let pending = PyErr::take(py);
    let nothing = py.None();
    if let Err(error) = record.call_method1(py, "__exit__", (&nothing, &nothing, &nothing)) {
        error.write_unraisable(py, None);
    }
    if let Some(pending) = pending {
        pending.restore(py);
    }
}
