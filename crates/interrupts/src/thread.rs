//! What one thread knows of its compilation, of signals that wait and of interrupts that were met.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::asynchronous::{chain, handler_arguments, is_interrupt};
use crate::signals::Handlers;
use crate::unraisable::Hook;

/// How long a signal waits for the end of a translation.
const PATIENCE: Duration = Duration::from_millis(100);

/// A signal that comes once more after this time gets its handler at once: what is called does not end.
const STUCK: Duration = Duration::from_secs(1);

/// A signal whose handler has yet to run.
struct Waiting {
    signal: i32,
    handler: Py<PyAny>,
    since: Instant,
}

struct Thread {
    /// Compilations that this thread is in.
    depth: Cell<usize>,
    /// Whether handlers run at once.
    live: Cell<bool>,
    waiting: RefCell<Vec<Waiting>>,
    /// The interrupt that is to reach the program.
    kept: RefCell<Option<PyErr>>,
    /// Whether one of the two above is not empty.
    attention: Cell<bool>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            depth: Cell::new(0),
            live: Cell::new(false),
            waiting: RefCell::new(Vec::new()),
            kept: RefCell::new(None),
            attention: Cell::new(false),
        }
    };
}

/// Whether this thread is in [`held`].
#[inline]
pub fn is_held() -> bool {
    THREAD.with(|thread| thread.depth.get() > 0)
}

/// Runs a compilation. Signals that arrive meanwhile are handled when it has ended.
///
/// # Errors
/// An interrupt that arrived meanwhile; what `body` gives is dropped then.
pub fn held<T>(py: Python<'_>, body: impl FnOnce() -> T) -> PyResult<T> {
    if is_held() {
        return Ok(body());
    }
    let hook = Hook::install(py)?;
    let handlers = Handlers::replace(py)?;
    THREAD.with(|thread| thread.depth.set(1));
    let result = catch_unwind(AssertUnwindSafe(body));
    // What the handlers raise is kept.
    let _ = deliver(py);
    let result = match is_interrupted() {
        // Dropped while handlers still wait: what runs then may swallow exceptions.
        true => Err(result.map(drop)),
        false => Ok(result),
    };
    THREAD.with(|thread| thread.live.set(true));
    handlers.put_back(py);
    THREAD.with(|thread| {
        thread.live.set(false);
        thread.depth.set(0);
    });
    drop(hook);
    // One more may have arrived while the result was dropped.
    let _ = deliver(py);
    let kept = THREAD.with(|thread| {
        thread.attention.set(false);
        thread.kept.take()
    });
    match (kept, result) {
        (Some(interrupt), _) => Err(interrupt),
        (None, Ok(Ok(result))) => Ok(result),
        (None, Ok(Err(panic)) | Err(Err(panic))) => resume_unwind(panic),
        (None, Err(Ok(()))) => unreachable!("an interrupt is kept until it is taken here"),
    }
}

/// Runs code of the program in the middle of a compilation: a backend. Signal handlers run at once.
///
/// # Errors
/// An interrupt that arrived before or meanwhile, else what `body` gives.
pub fn live<T>(py: Python<'_>, body: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    if !is_held() {
        return body();
    }
    check(py)?;
    deliver(py)?;
    let _live = Live::start();
    let result = body();
    if let Err(error) = &result {
        // The backend may have made an exception of its own out of it.
        for error in chain(error.value(py).as_any()) {
            note(&error);
        }
    }
    check(py)?;
    result
}

/// Handlers run at once until this is dropped.
struct Live(bool);

impl Live {
    fn start() -> Live {
        Live(THREAD.with(|thread| thread.live.replace(true)))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        THREAD.with(|thread| thread.live.set(self.0));
    }
}

/// A point at which the program may be interrupted. Handlers of signals that have waited for long run here.
///
/// # Errors
/// The interrupt, which ends the compilation.
#[inline]
pub fn poll(py: Python<'_>) -> PyResult<()> {
    match THREAD.with(|thread| thread.attention.get()) {
        true => attend(py),
        false => Ok(()),
    }
}

#[cold]
fn attend(py: Python<'_>) -> PyResult<()> {
    check(py)?;
    let is_late = THREAD.with(|thread| {
        let waiting = thread.waiting.borrow();
        waiting.iter().any(|w| w.since.elapsed() > PATIENCE)
    });
    match is_late {
        true => deliver(py),
        false => Ok(()),
    }
}

/// Fails where an interrupt has arrived: what was found out since then is not to be relied on.
///
/// # Errors
/// The interrupt. It stays kept for the end of [`held`].
pub fn check(py: Python<'_>) -> PyResult<()> {
    THREAD.with(|thread| match &*thread.kept.borrow() {
        Some(interrupt) => Err(interrupt.clone_ref(py)),
        None => Ok(()),
    })
}

/// Runs what has to be done, such as putting the program's state back: once more where an interrupt came in between.
///
/// # Errors
/// What `body` raises.
pub fn to_the_end<T>(py: Python<'_>, body: impl Fn() -> PyResult<T>) -> PyResult<T> {
    match body() {
        Err(error) if is_held() && is_interrupt(error.value(py).as_any()) => body(),
        result => result,
    }
}

fn is_interrupted() -> bool {
    THREAD.with(|thread| thread.kept.borrow().is_some())
}

/// Runs the handlers of signals that wait.
///
/// # Errors
/// What one of them raises; it is kept, too.
pub fn deliver(py: Python<'_>) -> PyResult<()> {
    let waiting = THREAD.with(|thread| thread.waiting.take());
    if waiting.is_empty() {
        return Ok(());
    }
    THREAD.with(|thread| thread.attention.set(thread.kept.borrow().is_some()));
    let _live = Live::start();
    for Waiting {
        signal, handler, ..
    } in waiting
    {
        let handled = handler_arguments(py, signal).and_then(|args| handler.call1(py, args));
        if let Err(error) = handled {
            keep(py, error);
        }
    }
    check(py)
}

/// A signal has arrived, of which `real` is the handler. Called by the interpreter in the main thread.
pub(crate) fn arrived(
    args: &Bound<'_, PyTuple>,
    signal: i32,
    real: &Py<PyAny>,
) -> PyResult<Py<PyAny>> {
    let py = args.py();
    let waits = THREAD.with(|thread| {
        if thread.depth.get() == 0 || thread.live.get() {
            return false;
        }
        let mut waiting = thread.waiting.borrow_mut();
        match waiting.iter().position(|w| w.signal == signal) {
            Some(at) if waiting[at].since.elapsed() > STUCK => {
                waiting.remove(at);
                return false;
            }
            // Signals of one kind are handled once, as by the interpreter.
            Some(_) => {}
            None => waiting.push(Waiting {
                signal,
                handler: real.clone_ref(py),
                since: Instant::now(),
            }),
        }
        thread.attention.set(true);
        true
    });
    if waits {
        return Ok(py.None());
    }
    let result = real.call1(py, args);
    if let Err(error) = &result
        && is_held()
    {
        keep(py, error.clone_ref(py));
    }
    result
}

/// Keeps an interrupt for the program.
pub(crate) fn keep(py: Python<'_>, interrupt: PyErr) {
    let new = interrupt.value(py).as_any().clone();
    THREAD.with(|thread| {
        let known = thread.kept.borrow().as_ref().map(|kept| kept.clone_ref(py));
        if let Some(known) = known {
            let known_value = known.value(py).as_any();
            if chain(known_value).iter().any(|before| before.is(&new)) {
                return;
            }
            if !chain(&new).iter().any(|before| before.is(known_value)) {
                interrupt.set_context(py, Some(known.clone_ref(py)));
            }
        }
        let before = thread.kept.replace(Some(interrupt));
        thread.attention.set(true);
        drop(before);
    });
}

/// Whether an exception is kept for the program already.
pub(crate) fn is_kept(error: &Bound<'_, PyAny>) -> bool {
    let py = error.py();
    let kept = THREAD.with(|thread| thread.kept.borrow().as_ref().map(|e| e.clone_ref(py)));
    kept.is_some_and(|kept| chain(kept.value(py).as_any()).iter().any(|e| e.is(error)))
}

/// Looks at an exception that was taken from Python: an interrupt is kept. Gives whether it is one.
pub fn note(error: &Bound<'_, PyAny>) -> bool {
    let is_interrupt = is_held() && is_interrupt(error);
    if is_interrupt {
        keep(error.py(), PyErr::from_value(error.clone()));
    }
    is_interrupt
}
