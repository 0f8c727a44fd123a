//! Interrupts: exceptions that signal handlers and other threads raise while a function is compiled.
//!
//! Python runs a signal handler, and raises what `PyThreadState_SetAsyncExc` has asked for, between two
//! bytecodes of any Python code, so also in Python code that a compilation calls. There the exception would look
//! like an answer ("there is no such attribute") and get lost.
//!
//! So a compilation runs under [`held`]: handlers of signals wait until it ends, and an exception that another thread
//! has sent is recognised where it is taken ([`note`]) and kept. [`held`] gives it back at the end, for the program.
//! While a backend runs, handlers run at once ([`live`]); what they raise is kept as well, whatever the backend
//! makes of it.
//!
//! Not here: where a compilation begins and ends, and what becomes of it (`frame-hook`).
//!
//! Invariants: no interrupt is dropped, and none reaches the program twice. After [`held`] each signal has the handler
//! that it had before.

mod asynchronous;
mod modules;
mod signals;
mod thread;
mod unraisable;

pub use asynchronous::comes_from_outside;
pub use thread::{check, deliver, held, is_held, live, note, poll, to_the_end};
