//! The compiler behind the hook: cache, translation, backend.
//!
//! Lives here: what happens between "a frame is about to run" and "run this code instead";
//! options, logs and records of it. Does not live here: how frames are seen and replaced (the
//! rest of this crate), or what any of the stages does.
//!
//! Invariant: whatever goes wrong here, the user's frame runs; only `fullgraph=True` and errors of
//! a backend reach the user as exceptions.

pub mod artifacts;
mod captures;
mod compilation;
pub mod config;
mod declined;
mod direct;
pub mod driver;
mod dynamic_marks;
pub mod env;
pub mod explain;
mod first_call;
mod generation;
mod graph_only;
mod guard_filter;
mod guessed;
pub mod ignored;
mod install;
pub mod log;
mod only_reads;
mod plans;
mod progress;
pub mod python;
pub mod reasons;
pub mod redone;
mod relevant;
mod results;
mod session;
pub mod slot;
pub mod translate;
mod turns;
mod without_modes;

use pyo3::prelude::*;

/// An exception of `ferrodyn.exc`.
fn ferrodyn_error(py: Python<'_>, class: &str, message: &str) -> PyErr {
    match py
        .import("ferrodyn.exc")
        .and_then(|m| m.getattr(class))
        .and_then(|c| c.call1((message,)))
    {
        Ok(e) => PyErr::from_value(e),
        Err(e) => e,
    }
}
