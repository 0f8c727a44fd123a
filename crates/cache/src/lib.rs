//! Guarded code per code object: which compiled code may run for a call, and why none may.
//!
//! What lives here: entries ([`entry`]), their list per code object ([`entries`]), the words of recompilation and
//! limit messages ([`message`]), and the table that finds the right one of several entries. What does not: how code is
//! found for a frame (the frame hook), what is compiled (the translator), and logging.
//!
//! Invariants: an entry is offered only while its `valid` flag is set and all its guards hold; the list is in
//! most-recent-hit order; entries are dropped outside of every borrow, because dropping may run finalizers; all
//! methods need the GIL, and calling back into the same list from a finalizer is safe.

pub mod entries;
pub mod entry;
pub mod message;
mod selector;

pub use entries::{Decision, Entries, FirstCall, Limits, Miss, reset_all};
pub use entry::{CompileId, GuardedCode};
pub use message::{CodeName, most_failing_line, recompile_limit_warning, recompile_message};

#[cfg(test)]
mod tests;
