//! One compilation of a code object at a time.
//!
//! A compilation releases the GIL wherever it runs Python, a backend above all. A thread that meets
//! code which another one compiles runs it as plain Python, or waits, as the options say.
//!
//! Invariant: marks are changed with the GIL held; nobody waits while holding it.

use std::cell::RefCell;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use pyo3::prelude::*;

use eval_frame::context::ContextId;

/// Who compiles a code object now, by context.
#[derive(Default)]
pub struct Turns(RefCell<Vec<(ContextId, ThreadId)>>);

static ENDED: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());

impl Turns {
    /// Whether another thread compiles this code.
    pub fn is_elsewhere(&self, context: ContextId) -> bool {
        let here = std::thread::current().id();
        let elsewhere = |turn: &(ContextId, ThreadId)| turn.0 == context && turn.1 != here;
        self.0.borrow().iter().any(elsewhere)
    }

    /// Starts a compilation; it ends when the turn is dropped.
    pub fn begin(&self, context: ContextId) -> Turn<'_> {
        let mark = (context, std::thread::current().id());
        self.0.borrow_mut().push(mark);
        Turn { turns: self, mark }
    }

    /// Waits until some compilation has ended, with the GIL released. Signals interrupt it.
    ///
    /// # Errors
    /// What a signal handler raises.
    pub fn wait(&self, py: Python<'_>, context: ContextId) -> PyResult<()> {
        while self.is_elsewhere(context) {
            py.detach(|| {
                let held = ENDED.0.lock().unwrap_or_else(PoisonError::into_inner);
                // An end between the question and the wait is only noticed late.
                let _ = ENDED.1.wait_timeout(held, Duration::from_millis(5));
            });
            py.check_signals()?;
            interrupts::deliver(py)?;
        }
        Ok(())
    }
}

/// A compilation that is going on.
pub struct Turn<'a> {
    turns: &'a Turns,
    mark: (ContextId, ThreadId),
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut turns = self.turns.0.borrow_mut();
        if let Some(at) = turns.iter().rposition(|turn| *turn == self.mark) {
            turns.remove(at);
        }
        ENDED.1.notify_all();
    }
}
