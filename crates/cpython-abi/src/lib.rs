//! The border to CPython.
//!
//! What lives here: how C code calls us without a panic that crosses the border ([`panics`]), what has to wait until
//! the interpreter can run any code ([`later`]), and what is logged once ([`report`]). What does not: what the
//! functions that C calls do.
//!
//! Invariant: nothing here names another crate of the workspace, so that each of them can name this one.

pub mod later;
pub mod panics;
pub mod report;
