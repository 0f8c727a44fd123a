//! What stands in the place of attributes of torch while a backend runs.
//!
//! What `torch.compiler.is_compiling()` says: torch has one flag for the whole process, which another thread's plain
//! code would read as well. So while any backend runs, an object stands in its place whose truth depends on the
//! thread that asks. And a function that must not be interrupted is wrapped.
//!
//! Invariant: when the last backend has returned, the attributes are the objects that they were before the first
//! began. A stand-in that a program kept and set later on gives way to what was there before it.

use std::sync::{Mutex, MutexGuard};
use std::thread::{self, ThreadId};

use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyClass, PyClassInitializer};

use crate::names;

/// What stands in the place of an attribute of torch's.
trait StandIn: PyClass<Frozen = True> + Sync + Into<PyClassInitializer<Self>> {
    fn over(before: Py<PyAny>) -> Self;

    /// What was there.
    fn before(&self) -> &Py<PyAny>;
}

impl StandIn for CompilingFlag {
    fn over(before: Py<PyAny>) -> CompilingFlag {
        CompilingFlag { before }
    }

    fn before(&self) -> &Py<PyAny> {
        &self.before
    }
}

impl StandIn for Uninterrupted {
    fn over(function: Py<PyAny>) -> Uninterrupted {
        Uninterrupted { function }
    }

    fn before(&self) -> &Py<PyAny> {
        &self.function
    }
}

/// The flag while backends run.
#[pyclass(frozen, module = "ferrodyn._core")]
struct CompilingFlag {
    /// What the flag was.
    before: Py<PyAny>,
}

#[pymethods]
impl CompilingFlag {
    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        // Nothing is locked while the flag of before is asked.
        let compiles = running().threads.contains(&thread::current().id());
        Ok(compiles || self.before.is_truthy(py)?)
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

/// A function of torch's Python code that C++ code calls where an exception ends the process: an interrupt that arrives
/// in it is kept for the end of the backend's run, and the function runs once more.
#[pyclass(frozen, module = "ferrodyn._core")]
struct Uninterrupted {
    function: Py<PyAny>,
}

#[pymethods]
impl Uninterrupted {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        match self.function.call(py, args, kwargs) {
            Err(error) if interrupts::note(error.value(py).as_any()) => {
                self.function.call(py, args, kwargs)
            }
            result => result,
        }
    }
}

/// An attribute of a module of torch's that has something else in its place.
///
/// Neither direction runs Python code, in which another thread could come between.
struct Exchanged {
    holder: Py<PyAny>,
    name: &'static str,
    before: Py<PyAny>,
    now: Py<PyAny>,
}

impl Exchanged {
    /// What was there is that without stand-ins that were left behind.
    fn exchange<S: StandIn>(holder: &Bound<'_, PyAny>, name: &'static str) -> PyResult<Exchanged> {
        let py = holder.py();
        let found = holder.getattr(name)?;
        let before = match found.cast::<S>() {
            Ok(left) => left.get().before().clone_ref(py),
            Err(_) => found.unbind(),
        };
        let now = Py::new(py, S::over(before.clone_ref(py)))?.into_any();
        holder.setattr(name, &now)?;
        Ok(Exchanged {
            holder: holder.clone().unbind(),
            name,
            before,
            now,
        })
    }

    /// Puts back what was there, unless somebody else has set it meanwhile.
    fn put_back(self, py: Python<'_>) -> PyResult<()> {
        let holder = self.holder.bind(py);
        match holder.getattr(self.name)?.is(&self.now) {
            true => holder.setattr(self.name, self.before),
            false => Ok(()),
        }
    }
}

#[derive(Default)]
struct Running {
    /// Threads in a backend, once for each backend that they are in.
    threads: Vec<ThreadId>,
    exchanged: Vec<Exchanged>,
}

static RUNNING: Mutex<Running> = Mutex::new(Running {
    threads: Vec::new(),
    exchanged: Vec::new(),
});

fn running() -> MutexGuard<'static, Running> {
    RUNNING
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Begins a backend's run in this thread.
pub(crate) fn enter(py: Python<'_>) -> PyResult<()> {
    // Importing runs Python code: it comes before anything is decided.
    let compiler = py.import(names::COMPILER)?;
    let (module, function) = names::FIND_DISPATCH_RULE;
    // A torch without it has nothing to be kept from interrupts.
    let rules = py.import(module).ok();
    if running().exchanged.is_empty() {
        let flag = Exchanged::exchange::<CompilingFlag>(&compiler, names::IS_COMPILING)?;
        running().exchanged.push(flag);
        let uninterrupted =
            rules.map(|rules| Exchanged::exchange::<Uninterrupted>(&rules, function));
        if let Some(Ok(rules)) = uninterrupted {
            running().exchanged.push(rules);
        }
    }
    running().threads.push(thread::current().id());
    Ok(())
}

/// Ends it.
pub(crate) fn leave(py: Python<'_>) -> PyResult<()> {
    let exchanged = {
        let mut running = running();
        let id = thread::current().id();
        if let Some(last) = running.threads.iter().rposition(|t| *t == id) {
            running.threads.remove(last);
        }
        match running.threads.is_empty() {
            true => std::mem::take(&mut running.exchanged),
            false => Vec::new(),
        }
    };
    let put_back = |one: Exchanged| one.put_back(py);
    exchanged
        .into_iter()
        .map(put_back)
        .fold(Ok(()), Result::and)
}
