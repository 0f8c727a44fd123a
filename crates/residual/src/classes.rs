//! Tensors that get their class behind the graph: the graph computes plain tensors, and residual code gives the
//! program those of its classes that it would have.
//!
//! Does not live here: which classes can be followed (the crate `torch-rules`).
//!
//! Invariant: no node that a backend is handed gives a class, and a tensor of the program's class is one object
//! wherever residual code needs it.

use bytecode::op::LocalIdx;
use fx_graph::{NodeId, Target};
use guards::SourceId;
use pyo3::types::PyAnyMethods;
use translator::stop::{R, Stop};
use translator::tx::GraphInput;
use variables::Obj;

use crate::emitter::Emitter;
use crate::finished::Finished;

/// Where a tensor is that residual code takes: in a local, where the graph has given it, or where the frame had it.
pub(crate) enum Place {
    Local(LocalIdx),
    Input(GraphInput),
}

/// Tensors that residual code gives a class, those that others are made of first.
#[derive(Default)]
pub(crate) struct Classed {
    made: Vec<(NodeId, LocalIdx, Obj, Place)>,
}

impl Classed {
    pub(crate) fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    fn local(&self, node: NodeId) -> Option<LocalIdx> {
        let found = self.made.iter().find(|made| made.0 == node)?;
        Some(found.1)
    }
}

/// What asks a tensor for a size or a stride without its class.
const READING: &std::ffi::CStr = c"
from torch._C import DisableTorchFunction, TensorBase

def asking_no_class(method):
    def read(tensor, dim):
        with DisableTorchFunction():
            return method(tensor, dim)
    return read

size, stride = asking_no_class(TensorBase.size), asking_no_class(TensorBase.stride)
";

variables::own_module! {
    static MODULE = (READING, c"<ferrodyn sizes>", c"ferrodyn_sizes");
}

impl Emitter<'_, '_> {
    /// What reads a size or stride (`name` is the method's) of the tensor that a source yields.
    ///
    /// # Errors
    /// `MemoryError`.
    pub(crate) fn reader_of(&self, source: SourceId, name: &str) -> R<Obj> {
        let py = self.tx.py;
        let input = self.tx.inputs().iter().find(|input| input.source == source);
        let plain = |obj: &Obj| obj.bind(py).get_type().is(&self.tx.known().tensor);
        let reads = match input.is_none_or(|input| plain(&input.obj)) {
            true => self.tx.known().tensor_base.bind(py).getattr(name)?,
            false => MODULE.get(py)?.getattr(name)?,
        };
        Ok(reads.unbind())
    }

    /// The local of a tensor whose node gives it its class; `None` for another node.
    pub(crate) fn classed(&mut self, node: NodeId) -> Option<LocalIdx> {
        let of = self.tx.graph().given_class(node)?;
        if let Some(local) = self.classed.local(node) {
            return Some(local);
        }
        let Target::Function(target) = &self.tx.graph()[node].target else {
            return None;
        };
        let give = self.tx.objects()[target.handle as usize].clone();
        let base = self.place_of(of);
        let local = self.home(node);
        self.classed.made.push((node, local, give, base));
        Some(local)
    }

    /// Where a tensor is that the graph gets or gives.
    pub(crate) fn place_of(&mut self, node: NodeId) -> Place {
        let input = self.tx.inputs().iter().find(|input| input.node == node);
        match input.cloned() {
            Some(input) => Place::Input(input),
            None => Place::Local(self.output(node)),
        }
    }

    /// `-- tensor`
    ///
    /// # Errors
    /// As [`Emitter::load_source`].
    pub(crate) fn load_place(&mut self, place: Place) -> R<()> {
        match place {
            Place::Local(of) => self.asm.load_fast(of),
            Place::Input(input) if input.bound => self.asm.load_const(&input.obj),
            Place::Input(input) => self.load_source(input.source)?,
        }
        Ok(())
    }

    /// Gives the tensors their classes, behind the call of the graph.
    ///
    /// # Errors
    /// As [`Emitter::load_source`].
    pub(crate) fn give_classes(&mut self) -> R<()> {
        for (_, local, give, base) in std::mem::take(&mut self.classed.made) {
            self.asm.callee(&give);
            self.load_place(base)?;
            self.asm.call(1);
            self.asm.store_fast(local);
        }
        Ok(())
    }
}

/// Takes the nodes that give classes out of the graph.
///
/// # Errors
/// [`Stop::Internal`] for a graph that is broken.
pub(crate) fn leave_to_caller(tx: &mut Finished<'_, '_>) -> R<()> {
    let nodes: Vec<_> = tx
        .graph()
        .iter()
        .filter(|(_, node)| node.gives_class)
        .map(|(id, _)| id)
        .collect();
    for node in nodes {
        let left = tx.graph_mut().leave_class_to_caller(node);
        left.map_err(|e| Stop::Internal(format!("a class that the graph gives: {e}")))?;
    }
    Ok(())
}
