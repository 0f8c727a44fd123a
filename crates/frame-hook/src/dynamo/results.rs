//! What a compiler has made of the graphs of one code object, for a recompilation that comes to the same graph.
//!
//! A counter or a flag of the program that a guard holds has a frame translated again, and often its graph is what it
//! was. Does not live here: when two graphs are the same for a compiler (`backends::ResultKey`).
//!
//! Invariants: a result serves again only in its context, and only where its key says that it may serve another
//! process; none outlives a reset.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};

use backends::{ArtifactKey, Compiled};
use eval_frame::context::ContextId;
use pyo3::prelude::*;

/// How many results a code object has at most.
const MOST: usize = 8;

static RESETS: AtomicU32 = AtomicU32::new(0);

/// Gives up all results.
pub fn forget() {
    RESETS.fetch_add(1, Ordering::Relaxed);
}

/// How often all was given up so far.
pub fn resets() -> u32 {
    RESETS.load(Ordering::Relaxed)
}

/// The results of a code object, those that were used last at the end.
#[derive(Default)]
pub struct Results {
    made: RefCell<Vec<Made>>,
}

struct Made {
    context: ContextId,
    key: ArtifactKey,
    resets: u32,
    compiled: Compiled,
}

impl Results {
    /// What was made for a key in a context.
    pub fn find(&self, py: Python<'_>, context: ContextId, key: ArtifactKey) -> Option<Compiled> {
        let mut made = self.made.try_borrow_mut().ok()?;
        let now = resets();
        let at = made
            .iter()
            .position(|of| of.resets == now && of.context == context && of.key == key)?;
        let found = made.remove(at);
        let compiled = found.compiled.clone_ref(py);
        made.push(found);
        Some(compiled)
    }

    /// Remembers what was made, unless it holds for this call alone.
    pub fn keep(&self, py: Python<'_>, context: ContextId, key: ArtifactKey, compiled: &Compiled) {
        let may_serve_again = compiled.aot_guards.is_none() && compiled.shape_guards.is_some();
        if !may_serve_again {
            return;
        }
        let resets = resets();
        let made = Made {
            context,
            key,
            resets,
            compiled: compiled.clone_ref(py),
        };
        // What is dropped may run code of the program's.
        let mut gone = Vec::new();
        if let Ok(mut all) = self.made.try_borrow_mut() {
            let (kept, others) = std::mem::take(&mut *all)
                .into_iter()
                .partition(|of: &Made| of.resets == resets);
            (*all, gone) = (kept, others);
            if all.len() == MOST {
                gone.push(all.remove(0));
            }
            all.push(made);
        }
        drop(gone);
    }
}
