//! A break in front of an operation that a backend refused.
//!
//! A backend gets a graph when the translation is done. Where it can't trace one of the operations,
//! the frame is translated once more, which goes the same way, and the graph breaks at the
//! instruction that would add the operation.

use fx_graph::{NodeId, Target};

use crate::stop::{BreakReason, Stop};
use crate::tx::Tx;

/// An operation that a backend refused.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// its node, in a translation that goes the same way
    pub node: NodeId,
    /// what it calls
    pub target: Target,
    /// why the graph breaks in front of it
    pub reason: Box<BreakReason>,
}

impl Tx<'_> {
    /// The break, where the last instruction added the operation.
    pub(crate) fn refused(&self) -> Option<Stop> {
        let refusal = self.refusal.as_ref()?;
        let added = self.log.graph.get(refusal.node)?;
        (added.target == refusal.target).then(|| Stop::Break(refusal.reason.clone()))
    }
}
