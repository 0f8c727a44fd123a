//! Interrupts that arrive in a finalizer or in a callback of a weak reference, where Python can raise nothing.
//!
//! Python hands such an exception to `sys.unraisablehook`. While a thread compiles, a hook of ours keeps those that are
//! interrupts of its compilation; all others go to the hook that was there before.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

use crate::modules::{SYS, module};
use crate::{is_held, thread};

/// The hook while some thread compiles. Changed with the GIL held, and not locked while Python runs.
struct Installed {
    ours: Py<PyAny>,
    before: Py<PyAny>,
    threads: usize,
}

static INSTALLED: Mutex<Option<Installed>> = Mutex::new(None);

fn installed() -> MutexGuard<'static, Option<Installed>> {
    INSTALLED.lock().unwrap_or_else(PoisonError::into_inner)
}

const NAME: &str = "unraisablehook";

/// Our hook is installed until this is dropped.
pub(crate) struct Hook<'py>(Python<'py>);

impl<'py> Hook<'py> {
    /// Installs it.
    ///
    /// # Errors
    /// `MemoryError`.
    pub(crate) fn install(py: Python<'py>) -> PyResult<Hook<'py>> {
        if let Some(installed) = &mut *installed() {
            installed.threads += 1;
            return Ok(Hook(py));
        }
        let sys = module(py, &SYS, "sys")?;
        let before = sys.getattr(NAME)?.unbind();
        let next = before.clone_ref(py);
        let hook = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
            let error = args.get_item(0)?.getattr("exc_value")?;
            let is_ours = is_held() && !error.is_none();
            match is_ours && (thread::note(&error) || thread::is_kept(&error)) {
                true => Ok(args.py().None()),
                false => next.call1(args.py(), args),
            }
        };
        let ours = PyCFunction::new_closure(py, Some(c"unraisablehook"), None, hook)?;
        sys.setattr(NAME, &ours)?;
        *installed() = Some(Installed {
            ours: ours.into_any().unbind(),
            before,
            threads: 1,
        });
        Ok(Hook(py))
    }
}

impl Drop for Hook<'_> {
    fn drop(&mut self) {
        let last = {
            let mut installed = installed();
            match &mut *installed {
                Some(others) if others.threads > 1 => {
                    others.threads -= 1;
                    None
                }
                _ => installed.take(),
            }
        };
        let Some(last) = last else { return };
        let Ok(sys) = module(self.0, &SYS, "sys") else {
            return;
        };
        // The program may have set another one meanwhile.
        if sys.getattr(NAME).is_ok_and(|hook| hook.is(&last.ours)) {
            let _ = sys.setattr(NAME, last.before);
        }
    }
}
