//! Tensors that are one of two others: residual code chooses behind the graph, so that the program has that very object.
//!
//! Does not live here: where nobody can tell (`variables::chosen`).

use bytecode::op::LocalIdx;
use fx_graph::NodeId;
use pyo3::types::PyAnyMethods;
use translator::retreat::Retreat;
use translator::stop::{R, Stop};
use variables::chosen::can_be_told;

use crate::classes::Place;
use crate::emitter::Emitter;

/// What chooses.
const CHOOSING: &std::ffi::CStr = c"
def choose(by, one, other):
    return one if by else other
";

variables::own_module! {
    static MODULE = (CHOOSING, c"<ferrodyn choosing>", c"ferrodyn_choosing");
}

/// Tensors that residual code chooses, those that others are chosen of first.
#[derive(Default)]
pub(crate) struct Chosen {
    made: Vec<(NodeId, LocalIdx, [Place; 3])>,
}

impl Chosen {
    pub(crate) fn is_empty(&self) -> bool {
        self.made.is_empty()
    }
}

impl Emitter<'_, '_> {
    /// The local of a tensor that is one of two others; `None` for another node.
    pub(crate) fn chosen(&mut self, node: NodeId) -> Option<LocalIdx> {
        let parts = self.tx.graph().chosen(node)?;
        if let Some(known) = self.chosen.made.iter().find(|made| made.0 == node) {
            return Some(known.1);
        }
        let places = parts.map(|part| self.place_of(part));
        let local = self.home(node);
        self.chosen.made.push((node, local, places));
        Some(local)
    }

    /// Refuses a graph in which the program could tell such a tensor from those that it may be.
    ///
    /// # Errors
    /// [`Retreat::Private`].
    pub(crate) fn check_chosen(&self) -> R<()> {
        let outputs: Vec<NodeId> = self.outputs.iter().map(|(node, _)| *node).collect();
        if !can_be_told(self.tx.graph(), &outputs) {
            return Ok(());
        }
        let stop = Stop::brk(
            "Tensor that is one of several is written to, or given out with them",
            "Which of them `min` or `max` of tensors is, only their values say; a graph has a tensor of its own for it.",
            "Use `torch.minimum` or `torch.maximum`, which make a new tensor.",
        );
        Err(stop.or_retreat(Retreat::Private))
    }

    /// Chooses the tensors, behind the call of the graph.
    ///
    /// # Errors
    /// As [`Emitter::load_source`].
    pub(crate) fn choose(&mut self) -> R<()> {
        for (_, local, places) in std::mem::take(&mut self.chosen.made) {
            let choose = MODULE.get(self.tx.py)?.getattr("choose")?;
            self.asm.callee(&choose.unbind());
            for place in places {
                self.load_place(place)?;
            }
            self.asm.call(3);
            self.asm.store_fast(local);
        }
        Ok(())
    }
}
