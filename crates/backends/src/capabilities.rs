//! What a backend can do, and what it wants: asked once before a frame is translated for it.
//!
//! What can be known is known when the backend is found: by what torch says of its own, and by what a package
//! announces. Of any other callable it is assumed that it gives the graph back, or by who has looked at its code that it
//! does not, until it has given something.
//!
//! Invariant: who decides something by the backend asks this struct, not for its name or kind.

use std::sync::atomic::{AtomicU8, Ordering};

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
    /// A callable that does not seem to give the graph back. What it looks at is made when it does.
    const ANY_THAT_COMPILES: Capabilities = Capabilities {
        wants_context: false,
        ..Capabilities::COMPILES
    };
    /// It makes something else of a graph than the graph.
    pub(crate) const COMPILES: Capabilities = Capabilities {
        gives_graph_back: false,
        wants_context: true,
        builds_in_hooks: true,
        is_absent: false,
    };
}

/// What is known of a backend beside what was known when it was found.
const NOTHING: u8 = 0;
const SEEMS_TO_COMPILE: u8 = 1;
const GAVE_GRAPH_BACK: u8 = 2;
const COMPILED: u8 = 3;

/// The capabilities of one backend: those that were known, until it was seen to do something else.
pub(crate) struct Known {
    first: Capabilities,
    beside: AtomicU8,
}

impl Known {
    pub(crate) const fn new(first: Capabilities) -> Known {
        Known {
            first,
            beside: AtomicU8::new(NOTHING),
        }
    }

    pub(crate) fn now(&self) -> Capabilities {
        match self.beside.load(Ordering::Relaxed) {
            SEEMS_TO_COMPILE => Capabilities::ANY_THAT_COMPILES,
            GAVE_GRAPH_BACK => Capabilities::ANY,
            COMPILED => Capabilities::COMPILES,
            _ => self.first,
        }
    }

    /// Whether all that is known of it is that it can be called.
    pub(crate) fn is_any(&self) -> bool {
        self.first == Capabilities::ANY && self.beside.load(Ordering::Relaxed) == NOTHING
    }

    pub(crate) fn seems_to_compile(&self) {
        if self.is_any() {
            self.beside.store(SEEMS_TO_COMPILE, Ordering::Relaxed);
        }
    }

    pub(crate) fn saw_it_give_graph_back(&self) {
        let _ = self.beside.compare_exchange(
            SEEMS_TO_COMPILE,
            GAVE_GRAPH_BACK,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    pub(crate) fn saw_it_compile(&self) {
        self.beside.store(COMPILED, Ordering::Relaxed);
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

    #[test]
    fn what_seems_to_compile_may_give_the_graph_back() {
        let known = Known::new(Capabilities::ANY);
        known.seems_to_compile();
        assert!(!known.now().gives_graph_back && !known.now().wants_context);
        known.saw_it_give_graph_back();
        assert_eq!(known.now(), Capabilities::ANY);
        known.saw_it_compile();
        known.saw_it_give_graph_back();
        assert_eq!(known.now(), Capabilities::COMPILES);
        let compiler = Known::new(Capabilities::COMPILES);
        compiler.seems_to_compile();
        assert_eq!(compiler.now(), Capabilities::COMPILES);
    }
}
