//! One compiled form of a code object.
//!
//! Invariant: immutable but for the hit counter and the `valid` flag, which only ever goes from set to clear.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use guards::exec::CheckProgram;
use guards::{GuardSet, NameStyle};
use pyo3::prelude::*;

/// Number of a compilation: the frame, and which compilation of it. Prints as `3/0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CompileId {
    /// Number of the code object, in the order of their first compilation.
    pub frame: u32,
    /// Number of the compilation, from 0.
    pub compile: u32,
}

impl fmt::Display for CompileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.frame, self.compile)
    }
}

/// A replacement for a code object, with the guards under which it may run.
pub struct GuardedCode {
    /// First, so that what it releases still finds the rest in place.
    held: Mutex<Vec<Box<dyn Any + Send>>>,
    /// Number of the compilation.
    pub id: CompileId,
    /// The guards.
    pub program: CheckProgram,
    /// What runs instead: a code object to retarget a frame to.
    pub code: Py<PyAny>,
    /// What runs instead where guards were checked before a frame exists; made at the first such call.
    pub direct: OnceLock<Py<PyAny>>,
    /// Whether frames below the replacement are to be captured too: it calls more than its graph.
    pub needs_hook: bool,
    hits: AtomicU64,
}

impl fmt::Display for GuardedCode {
    /// `3/0: 2 hits, if ___check_tensors(L['x'])`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} hits", self.id, self.hits())?;
        if !self.is_valid() {
            write!(f, ", no longer valid")?;
        }
        if self.needs_hook {
            write!(f, ", captures what it calls")?;
        }
        write!(f, ", if {}", self.guards().guard_code(NameStyle::Explicit))
    }
}

impl GuardedCode {
    /// An entry without hits.
    pub fn new(id: CompileId, program: CheckProgram, code: Py<PyAny>) -> Self {
        Self {
            held: Mutex::new(Vec::new()),
            id,
            program,
            code,
            direct: OnceLock::new(),
            needs_hook: false,
            hits: AtomicU64::new(0),
        }
    }

    /// Keeps something for as long as the entry lives.
    pub fn hold(&self, thing: Box<dyn Any + Send>) {
        if let Ok(mut held) = self.held.lock() {
            held.push(thing);
        }
    }

    /// The same with [`GuardedCode::needs_hook`] set.
    #[must_use]
    pub fn with_needs_hook(self, needs_hook: bool) -> Self {
        Self { needs_hook, ..self }
    }

    /// Whether the entry may still be used.
    #[inline]
    pub fn is_valid(&self) -> bool {
        self.program.validity().is_valid()
    }

    /// Forbids further use.
    pub fn invalidate(&self) {
        self.program.validity().clear();
    }

    /// How often the entry was chosen.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    /// Counts a call that chose the entry.
    #[inline]
    pub fn count_hit(&self) {
        self.hits
            .store(self.hits.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The guards.
    pub fn guards(&self) -> &GuardSet {
        self.program.set()
    }
}
