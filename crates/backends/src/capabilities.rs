//! What a backend can do, and what it wants: asked once before a frame is translated for it.
//!
//! What can be known is known when the backend is found: by what torch says of its own, and by what a package
//! announces. Of any other callable it is assumed that it gives the graph back, until it gives something else.
//!
//! Invariant: who decides something by the backend asks this struct, not for its name or kind.

use std::sync::atomic::{AtomicBool, Ordering};

/// What a backend can do with a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// It gives the graph back, which runs as it is: for any inputs, with operations that no compiler takes, and once
    /// more where it has raised.
    pub gives_graph_back: bool,
    /// It is called with what torch's own tracing hands its backends: a tracing context, fake values,
    /// sources, symbols.
    pub wants_context: bool,
    /// Hooks on saved tensors that are graphs become a part of what it makes.
    pub builds_in_hooks: bool,
    /// There is nothing to call: the graph's own function is the result.
    pub is_absent: bool,
}

impl Capabilities {
    /// No backend at all.
    pub(crate) const ABSENT: Capabilities = Capabilities {
        gives_graph_back: true,
        wants_context: false,
        builds_in_hooks: false,
        is_absent: true,
    };
    /// A callable of which nothing is known.
    pub(crate) const ANY: Capabilities = Capabilities {
        is_absent: false,
        ..Capabilities::ABSENT
    };
    /// It makes something else of a graph than the graph.
    pub(crate) const COMPILES: Capabilities = Capabilities {
        gives_graph_back: false,
        wants_context: true,
        builds_in_hooks: true,
        is_absent: false,
    };
}

/// The capabilities of one backend: those that were known, until it was seen to do something else.
pub(crate) struct Known {
    first: Capabilities,
    was_seen_to_compile: AtomicBool,
}

impl Known {
    pub(crate) const fn new(first: Capabilities) -> Known {
        Known {
            first,
            was_seen_to_compile: AtomicBool::new(false),
        }
    }

    pub(crate) fn now(&self) -> Capabilities {
        match self.was_seen_to_compile.load(Ordering::Relaxed) {
            true => Capabilities::COMPILES,
            false => self.first,
        }
    }

    pub(crate) fn saw_it_compile(&self) {
        self.was_seen_to_compile.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_counts_from_then_on() {
        let known = Known::new(Capabilities::ANY);
        assert!(known.now().gives_graph_back && !known.now().wants_context);
        known.saw_it_compile();
        assert_eq!(known.now(), Capabilities::COMPILES);
    }
}
