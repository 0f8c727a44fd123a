//! What waits until the interpreter runs instructions again, because the place where it came up can bear no other code.
//!
//! Such a place is the end of a function or a code object. `type.__setattr__` drops a class's old method before it
//! says that the class has changed (CPython's `type_setattro`), so until that end is over, the interpreter's caches
//! still lead to the dying function. Plain programs run next to nothing there. Dropping compiled code does: what it
//! holds may have a finalizer, and freeing a tensor lets other threads run.
//!
//! Not here: what waits. Invariant: a job runs once, with the GIL held, from the main thread's evaluation loop
//! (`Py_AddPendingCall`) or from whoever asks for it first; jobs that come up while the interpreter shuts down never run.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::ffi;
use pyo3::prelude::*;

use crate::panics::contained;

type Job = Box<dyn FnOnce(Python<'_>) + Send>;

static WAITING: Mutex<Vec<Job>> = Mutex::new(Vec::new());
/// Whether any waits. Changed together with the list.
static ANY: AtomicBool = AtomicBool::new(false);
/// Whether the interpreter has been asked to call us, and has not yet.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Leaves a job for later.
pub fn later(job: impl FnOnce(Python<'_>) + Send + 'static) {
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.push(Box::new(job));
    ANY.store(true, Ordering::Relaxed);
    drop(waiting);
    if !ASKED.swap(true, Ordering::Relaxed) {
        // SAFETY: may be called from anywhere; `on_pending_call` needs no argument.
        let refused =
            unsafe { ffi::Py_AddPendingCall(Some(on_pending_call), ptr::null_mut()) } != 0;
        if refused {
            // Too many calls are pending. The next job asks again, and so does whoever runs jobs.
            ASKED.store(false, Ordering::Relaxed);
        }
    }
}

/// Runs the jobs that wait. To be called where any code may run.
#[inline]
pub fn run_waiting(py: Python<'_>) {
    if ANY.load(Ordering::Relaxed) {
        run_all(py);
    }
}

#[cold]
fn run_all(py: Python<'_>) {
    loop {
        let jobs = {
            let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
            ANY.store(false, Ordering::Relaxed);
            std::mem::take(&mut *waiting)
        };
        if jobs.is_empty() {
            return;
        }
        for job in jobs {
            // Those behind a job that panics still run.
            contained("a job that waited", || (), || job(py));
        }
    }
}

extern "C" fn on_pending_call(_: *mut c_void) -> c_int {
    contained(
        "a pending call",
        || 0,
        || {
            ASKED.store(false, Ordering::Relaxed);
            let _: Option<()> = Python::try_attach(run_waiting);
            0
        },
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn jobs_run_once_and_not_where_they_come_up() {
        Python::attach(|py| {
            let ran = Arc::new(AtomicU32::new(0));
            let job = {
                let ran = ran.clone();
                move |_: Python<'_>| {
                    ran.fetch_add(1, Ordering::Relaxed);
                    let ran = ran.clone();
                    later(move |_| {
                        ran.fetch_add(10, Ordering::Relaxed);
                    });
                }
            };
            later(job);
            assert_eq!(ran.load(Ordering::Relaxed), 0);
            run_waiting(py);
            assert_eq!(ran.load(Ordering::Relaxed), 11);
            run_waiting(py);
            assert_eq!(ran.load(Ordering::Relaxed), 11);
        });
    }
}
