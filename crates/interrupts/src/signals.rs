//! Signal handlers that wait: each Python handler is replaced by one of ours for the length of a compilation.
//!
//! Only the main thread runs handlers, and only it may change them. Flags of a signal (`siginterrupt`), and handlers
//! that were installed by other means than Python's, stay as they are.

use std::mem::MaybeUninit;

use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyFunction, PyTuple};

use crate::modules::{FUNCTOOLS, SIGNAL, THREAD, THREADING, module};
use crate::thread;

/// Signals are numbered from 1 to one less.
const SIGNALS: i32 = 65;

struct Held {
    signal: i32,
    real: Py<PyAny>,
    ours: Py<PyAny>,
}

/// The handlers that were replaced.
#[derive(Default)]
pub(crate) struct Handlers(Vec<Held>);

impl Handlers {
    /// Replaces the handlers, where this is the main thread.
    ///
    /// # Errors
    /// What a handler raises for a signal that has arrived before. All handlers are in their places then.
    pub(crate) fn replace(py: Python<'_>) -> PyResult<Handlers> {
        let mut handlers = Handlers::default();
        if !is_main_thread(py)? {
            return Ok(handlers);
        }
        match handlers.replace_all(py) {
            Ok(()) => Ok(handlers),
            Err(error) => {
                handlers.put_back(py);
                Err(error)
            }
        }
    }

    fn replace_all(&mut self, py: Python<'_>) -> PyResult<()> {
        let module = module(py, &SIGNAL, "_signal")?;
        let (get, set) = (module.getattr("getsignal")?, module.getattr("signal")?);
        for signal in 1..SIGNALS {
            // Two numbers belong to the C library.
            let Ok(real) = get.call1((signal,)) else {
                continue;
            };
            if !real.is_callable() {
                continue;
            }
            let ours = handler(py, signal, real.clone().unbind())?;
            let disposition = Disposition::of(signal);
            set.call1((signal, &ours))?;
            disposition.restore();
            self.0.push(Held {
                signal,
                real: real.unbind(),
                ours: ours.into_any().unbind(),
            });
        }
        Ok(())
    }

    /// Puts the handlers back that nobody has replaced meanwhile. What handlers raise is kept by the thread.
    pub(crate) fn put_back(self, py: Python<'_>) {
        for held in self.0 {
            /// Each failure is a handler that raised; the next attempt is made with that signal handled.
            const ATTEMPTS: usize = 100;
            for _ in 0..ATTEMPTS {
                match held.put_back(py) {
                    Ok(()) => break,
                    Err(error) => thread::keep(py, error),
                }
            }
        }
    }
}

impl Held {
    fn put_back(&self, py: Python<'_>) -> PyResult<()> {
        let module = module(py, &SIGNAL, "_signal")?;
        if !module
            .call_method1("getsignal", (self.signal,))?
            .is(&self.ours)
        {
            return Ok(());
        }
        let disposition = Disposition::of(self.signal);
        module.call_method1("signal", (self.signal, &self.real))?;
        disposition.restore();
        Ok(())
    }
}

/// What a signal gets instead of its handler.
fn handler<'py>(
    py: Python<'py>,
    signal: i32,
    real: Py<PyAny>,
) -> PyResult<Bound<'py, PyCFunction>> {
    let called = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
        thread::arrived(args, signal, &real)
    };
    PyCFunction::new_closure(py, Some(c"signal_handler"), None, called)
}

/// The code of each signal handler that is written in Python.
pub(crate) fn handler_codes(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let get = module(py, &SIGNAL, "_signal")?.getattr("getsignal")?;
    let handlers = (1..SIGNALS).filter_map(|signal| get.call1((signal,)).ok());
    let codes = handlers.filter(Bound::is_callable).map(code_of);
    codes.filter_map(Result::transpose).collect()
}

/// The code that a callable runs: a function's, that of a method, of a partial's function, of a `__call__`.
fn code_of(callable: Bound<'_, PyAny>) -> PyResult<Option<Bound<'_, PyAny>>> {
    /// Callables around callables may be made to circles.
    const DEEPEST: usize = 16;
    let partial = module(callable.py(), &FUNCTOOLS, "functools")?.getattr("partial")?;
    let mut callable = callable;
    for _ in 0..DEEPEST {
        if let Ok(function) = callable.cast::<PyFunction>() {
            return function.getattr("__code__").map(Some);
        }
        callable = if callable.is_instance(&partial)? {
            callable.getattr("func")?
        } else if let Some(function) = callable.getattr_opt("__func__")? {
            function
        } else if let Some(call) = callable.get_type().getattr_opt("__call__")? {
            call
        } else {
            return Ok(None);
        };
    }
    Ok(None)
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let main = module(py, &THREADING, "threading")?.call_method0("main_thread")?;
    let here = module(py, &THREAD, "_thread")?.call_method0("get_ident")?;
    main.getattr("ident")?.eq(here)
}

/// What the system does with a signal. Python's `signal.signal` forgets the flags.
struct Disposition {
    signal: i32,
    action: Option<libc::sigaction>,
}

impl Disposition {
    fn of(signal: i32) -> Disposition {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: asks only; the structure is filled in where the call succeeds.
        let action = unsafe {
            match libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) {
                0 => Some(action.assume_init()),
                _ => None,
            }
        };
        Disposition { signal, action }
    }

    fn restore(self) {
        if let Some(action) = self.action {
            // SAFETY: puts back what the system gave. That was Python's own C handler, which calls whatever Python handler
            // is the present one, or somebody else's who has replaced it.
            unsafe { libc::sigaction(self.signal, &action, std::ptr::null_mut()) };
        }
    }
}
