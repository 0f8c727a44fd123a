//! Threads that write captures: nobody waits for a disk who waits for a result, nor shares a processor with them.
//!
//! Does not live here: what is written (`captures`), how files stay whole (`artifact-store`). A process that ends before
//! they do has kept nothing.
//!
//! Invariant: whoever looks at what is kept calls [`finish`] before, and so does Python before it forks and at its end.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder, JoinHandle};
use std::time::Duration;

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

/// Those of this process. A fork that Python knows nothing of has none of those that its parent has.
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

/// How long a thread lets the program go on before it writes: to its first result, which it would take time from.
const LATER: Duration = Duration::from_millis(250);
/// How many threads let it go on at once.
const MOST_WAITING: usize = 8;

/// Runs `write` in a thread of its own, [`LATER`] or when somebody waits for it.
///
/// # Errors
/// Where there can be no other thread.
pub(super) fn start(py: Python<'_>, write: impl FnOnce() + Send + 'static) -> PyResult<()> {
    wait_in_time(py)?;
    let builder = Builder::new().name("ferrodyn-captures".into());
    let thread = builder.spawn(|| {
        thread::park_timeout(LATER);
        write();
    })?;
    let mut writers = own();
    writers.threads.retain(|thread| !thread.is_finished());
    writers.threads.push(thread);
    for early in writers.threads.iter().rev().skip(MOST_WAITING) {
        early.thread().unpark();
    }
    Ok(())
}

/// Waits until all is written.
pub fn finish(py: Python<'_>) {
    let threads = mem::take(&mut own().threads);
    if threads.is_empty() {
        return;
    }
    for thread in &threads {
        thread.thread().unpark();
    }
    py.detach(|| {
        for thread in threads {
            // A thread that has panicked has kept nothing.
            let _ = thread.join();
        }
    });
}

/// Has Python wait at its end, and before it forks: a child has none of these threads.
fn wait_in_time(py: Python<'_>) -> PyResult<()> {
    static ASKED: PyOnceLock<()> = PyOnceLock::new();
    ASKED
        .get_or_try_init(py, || {
            let wait = |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| finish(args.py());
            let wait = PyCFunction::new_closure(py, None, None, wait)?;
            py.import(intern!(py, "atexit"))?
                .call_method1(intern!(py, "register"), (&wait,))?;
            let before = PyDict::new(py);
            before.set_item(intern!(py, "before"), wait)?;
            py.import(intern!(py, "os"))?
                .call_method(intern!(py, "register_at_fork"), (), Some(&before))
                .map(drop)
        })
        .copied()
}
