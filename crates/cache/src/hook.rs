//! The hook that is told of guard failures.
//!
//! Invariant: called with the GIL held, outside of every borrow of a list, once for each entry that was tried.

use std::sync::{Arc, Mutex};

use guards::exec::explain::Failure;
use pyo3::prelude::*;

use crate::entry::CompileId;
use crate::message::CodeName;

/// A guard that failed.
#[derive(Clone, Debug)]
pub struct GuardFailure {
    /// The entry that was tried.
    pub id: CompileId,
    /// The function that was called.
    pub function: CodeName,
    /// All guards of the entry as Python.
    pub guard_code: String,
    /// Which failed, and why.
    pub failure: Failure,
}

type Hook = Arc<dyn Fn(Python<'_>, &GuardFailure) + Send + Sync>;

static HOOK: Mutex<Option<Hook>> = Mutex::new(None);

/// Sets the hook, or removes it. Returns the one that was set before.
pub fn set_guard_failure_hook(hook: Option<Hook>) -> Option<Hook> {
    HOOK.lock()
        .map(|mut slot| std::mem::replace(&mut *slot, hook))
        .unwrap_or_default()
}

/// Whether a hook is set.
pub(crate) fn current() -> Option<Hook> {
    HOOK.lock().ok().and_then(|slot| slot.clone())
}
