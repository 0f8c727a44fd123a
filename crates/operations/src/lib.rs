//! What is known of an operation before it is a node of the graph.
//!
//! - [`args`]: its arguments, as values, for a node and for a metadata rule
//! - [`callee`]: what it calls
//! - [`sizes`]: sizes that are no constants
//! - [`fakes`], [`sized_fakes`], [`fake_result`]: arguments as fake tensors, and what those say of the result
//! - [`known_values`]: small tensors whose values are known
//! - [`beside`]: what it does beside giving its result
//! - [`inference`], [`contexts`]: which modes of torch its tensors and it are in
//! - [`handlers`]: which handlers of the program its exceptions find
//!
//! Lives here: what follows from the arguments, the symbolic state and the graph so far. Does not live here: how values
//! become arguments, what is guarded, where the graph breaks (`translator`), and rules of metadata (`tensor-meta`).
//!
//! Invariant: nothing here changes the symbolic state or the graph.

pub mod args;
pub mod beside;
pub mod callee;
pub mod contexts;
pub mod fake_result;
pub mod fakes;
pub mod handlers;
pub mod inference;
pub mod known_values;
pub mod layouts;
pub mod sized_fakes;
pub mod sizes;

use fx_graph::{Graph, NodeId};
use guards::SourceId;
use pyo3::prelude::*;
use tensor_meta::Ctx;
use variables::known::Known;
use variables::state::State;
use variables::{Obj, Var};

pub use args::Args;

/// One input of the graph.
#[derive(Clone, Debug)]
pub struct GraphInput {
    /// the placeholder
    pub node: NodeId,
    /// the real tensor
    pub obj: Obj,
    /// how the frame reaches it
    pub source: SourceId,
    /// identity-guarded and passed as a constant of the residual code (parameters, buffers)
    pub bound: bool,
}

/// What the program has done so far, for questions about its next operation.
#[derive(Clone, Copy)]
pub struct SoFar<'a, 'py> {
    /// the interpreter
    pub py: Python<'py>,
    /// well-known Python objects
    pub known: &'a Known,
    /// the symbolic state
    pub state: &'a State,
    /// the graph
    pub graph: &'a Graph,
    /// its inputs
    pub inputs: &'a [GraphInput],
    /// sizes that are no constants
    pub sizes: &'a sizes::Sizes,
    /// Python objects that nodes name by handle
    pub objects: &'a [Obj],
    /// the state of torch when translation began
    pub ctx: &'a Ctx,
}

impl<'a> SoFar<'a, '_> {
    /// The shadow of a batched node, or the fake tensor of a wrapper subclass's.
    pub fn shadow(&self, node: NodeId) -> Option<&'a Obj> {
        let batched = self.state.levels.shadows.get(&node.0);
        batched.or_else(|| self.state.wrappers.get(&node.0).map(|w| &w.fake))
    }

    /// Whether gradients are recorded for a value.
    pub fn records_gradients(&self, v: &Var) -> bool {
        matches!(v, Var::Tensor(t) if self.state.effects.meta(t).requires_grad)
    }
}
