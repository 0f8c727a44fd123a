//! Threads that write captures: nobody waits for a disk who waits for a result.
//!
//! Does not live here: what is written (`captures`), how files stay whole (`artifact-store`). A process that ends before
//! they do has kept nothing.
//!
//! Invariant: whoever looks at what is kept calls [`finish`] before, and so does Python at its end.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

/// The threads of a process that may still write.
struct Writers {
    process: u32,
    threads: Vec<JoinHandle<()>>,
}

static WRITERS: Mutex<Writers> = Mutex::new(Writers {
    process: 0,
    threads: Vec::new(),
});

/// Those of this process. A fork has none of those that its parent has.
fn own() -> MutexGuard<'static, Writers> {
    let mut writers = WRITERS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if writers.process != process {
        writers.process = process;
        mem::take(&mut writers.threads)
            .into_iter()
            .for_each(mem::forget);
    }
    writers
}

/// Runs `write` in a thread of its own.
///
/// # Errors
/// Where there can be no other thread.
pub(super) fn start(py: Python<'_>, write: impl FnOnce() + Send + 'static) -> PyResult<()> {
    finish_at_exit(py)?;
    let builder = Builder::new().name("ferrodyn-captures".into());
    let thread = builder.spawn(write)?;
    let mut writers = own();
    writers.threads.retain(|thread| !thread.is_finished());
    writers.threads.push(thread);
    Ok(())
}

/// Waits until all is written.
pub fn finish(py: Python<'_>) {
    let threads = mem::take(&mut own().threads);
    if threads.is_empty() {
        return;
    }
    py.detach(|| {
        for thread in threads {
            // A thread that has panicked has kept nothing.
            let _ = thread.join();
        }
    });
}

fn finish_at_exit(py: Python<'_>) -> PyResult<()> {
    static ASKED: PyOnceLock<()> = PyOnceLock::new();
    ASKED
        .get_or_try_init(py, || {
            let wait = |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| finish(args.py());
            let wait = PyCFunction::new_closure(py, None, None, wait)?;
            py.import(intern!(py, "atexit"))?
                .call_method1(intern!(py, "register"), (wait,))
                .map(drop)
        })
        .copied()
}
