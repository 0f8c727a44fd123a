//! What `torch.compiler.is_compiling()` says while a backend runs.
//!
//! torch has one flag for the whole process, which another thread's plain code would read as well. So while any
//! backend runs, an object stands in its place whose truth depends on the thread that asks.
//!
//! Invariant: when the last backend has returned, the flag is the object that it was before the first began.

use std::sync::{Mutex, MutexGuard};
use std::thread::{self, ThreadId};

use pyo3::intern;
use pyo3::prelude::*;

use crate::names;

/// The flag while backends run.
#[pyclass(frozen, module = "ferrodyn._core")]
struct CompilingFlag {
    /// What the flag was.
    before: Py<PyAny>,
}

#[pymethods]
impl CompilingFlag {
    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        match running().threads.contains(&thread::current().id()) {
            true => Ok(true),
            false => self.before.is_truthy(py),
        }
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        other.eq(self.__bool__(py)?)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        Ok(isize::from(self.__bool__(py)?))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<&'static str> {
        Ok(if self.__bool__(py)? { "True" } else { "False" })
    }
}

#[derive(Default)]
struct Running {
    /// Threads in a backend, once for each backend that they are in.
    threads: Vec<ThreadId>,
    flag: Option<Py<CompilingFlag>>,
}

static RUNNING: Mutex<Running> = Mutex::new(Running {
    threads: Vec::new(),
    flag: None,
});

fn running() -> MutexGuard<'static, Running> {
    RUNNING
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Begins a backend's run in this thread.
pub(crate) fn enter(py: Python<'_>) -> PyResult<()> {
    let compiler = py.import(intern!(py, names::COMPILER))?;
    if running().flag.is_none() {
        let before = compiler.getattr(names::IS_COMPILING)?.unbind();
        let flag = Py::new(py, CompilingFlag { before })?;
        compiler.setattr(names::IS_COMPILING, &flag)?;
        running().flag = Some(flag);
    }
    running().threads.push(thread::current().id());
    Ok(())
}

/// Ends it.
pub(crate) fn leave(py: Python<'_>) -> PyResult<()> {
    let flag = {
        let mut running = running();
        let id = thread::current().id();
        if let Some(last) = running.threads.iter().rposition(|t| *t == id) {
            running.threads.remove(last);
        }
        match running.threads.is_empty() {
            true => running.flag.take(),
            false => None,
        }
    };
    let Some(flag) = flag else { return Ok(()) };
    let compiler = py.import(intern!(py, names::COMPILER))?;
    // Somebody else may have set it meanwhile.
    if compiler.getattr(names::IS_COMPILING)?.is(&flag) {
        compiler.setattr(names::IS_COMPILING, &flag.get().before)?;
    }
    Ok(())
}
