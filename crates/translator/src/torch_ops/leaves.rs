//! Leaves that the compiled function makes of its own tensors: `t.requires_grad_()`, `t.requires_grad = True`, and below
//! a compiler `nn.Parameter(t)`.
//!
//! Invariant: nothing has looked at the tensor before but writes to it, so that no view of it and no
//! operation's record is from before it became a leaf.

use std::rc::Rc;

use fx_graph::{Arg, NodeId, OpKind};
use pyo3::prelude::*;
use rustc_hash::FxHashSet;
use tensor_meta::{Alias, Does, Inferred, TensorMeta};
use variables::{Obj, TensorVar, Var};

use super::emit::Callee;
use super::raising;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// Sets whether a tensor records gradients, as an operation of the graph. False where plain Python
    /// has to do it, or to refuse it.
    ///
    /// # Errors
    /// A break where an output waits that shows tensors.
    pub(super) fn set_requires_grad(&mut self, t: &Rc<TensorVar>, wanted: bool) -> R<bool> {
        let is_within = self.st.levels.records();
        if self.st.effects.meta(t).requires_grad == wanted && !is_within {
            return Ok(true);
        }
        if is_within || self.st.levels.is_active() || !self.may_become_leaf(t)? {
            return Ok(false);
        }
        if !self.runs_as_is && (!wanted || self.used.is_some()) {
            return Ok(false);
        }
        self.make_leaf(t, wanted)?;
        Ok(true)
    }

    /// Makes a tensor of the graph's own a leaf. Below a compiler nobody can tell whether it is one, as long as nothing
    /// that follows from it leaves the graph.
    ///
    /// # Errors
    /// A break where an output waits that shows tensors.
    pub fn make_leaf(&mut self, t: &Rc<TensorVar>, requires_grad: bool) -> R<()> {
        if !self.runs_as_is {
            self.mark_place();
            self.st.own_leaves.push_back(t.node);
        }
        let mut meta = TensorMeta::clone(self.st.effects.meta(t));
        meta.requires_grad = requires_grad;
        meta.is_leaf = true;
        meta.alias = Alias::Identity;
        let args = Args::pos(vec![Var::Tensor(t.clone()), self.bool(requires_grad)]);
        let callee = Callee::Method("requires_grad_");
        let inferred = Inferred::Tensor(meta);
        self.check_shown(&callee, &args, &inferred)?;
        let node_args = self.node_args(&args)?;
        self.emit_inferred(&callee, node_args, inferred, &args)?;
        self.st.needs_as_is |= self.runs_as_is;
        Ok(())
    }

    /// # Errors
    /// A break for random numbers that are written to such a leaf: a compiler draws others than eager mode, of which
    /// the values of parameters are.
    pub(super) fn draws_no_leaf(&self, callee: &Callee<'_>, args: &Args) -> R<()> {
        let traits = callee.traits();
        match args.pos.first() {
            Some(Var::Tensor(t))
                if traits.any(Does::DRAWS)
                    && traits.any(Does::WRITES)
                    && self.is_made_leaf(t.node) =>
            {
                Err(Stop::brk(
                    "Parameter that is initialised at random in the compiled function",
                    "A compiler draws other random numbers than eager mode.",
                    "Make the module or the parameter outside of the compiled function.",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Whether the program has made a tensor of the graph a leaf that records gradients.
    pub fn is_made_leaf(&self, node: NodeId) -> bool {
        self.st.own_leaves.contains(&node)
    }

    /// Whether a tensor requires gradients, as far as the graph says, for one of its own leaves alone.
    pub fn records_for_own_leaf(&self, node: NodeId) -> bool {
        if self.st.own_leaves.is_empty() {
            return false;
        }
        let (mut seen, mut open) = (FxHashSet::default(), vec![node]);
        let mut found = false;
        while let Some(node) = open.pop() {
            if !seen.insert(node) {
                continue;
            }
            if self.is_made_leaf(node) {
                found = true;
                continue;
            }
            open.extend(self.log.graph.inputs(node));
        }
        let records = |o: &Obj| {
            let flag = o.bind(self.py).getattr("requires_grad");
            flag.is_ok_and(|flag| flag.is_truthy().unwrap_or(false))
        };
        let mut inputs = self.log.inputs.iter();
        found && !inputs.any(|input| seen.contains(&input.node) && records(&input.obj))
    }

    /// Whether a tensor is the graph's own, and would be a leaf that nothing relies on.
    fn may_become_leaf(&self, t: &TensorVar) -> R<bool> {
        let meta = self.st.effects.meta(t);
        let is_own = t.input.is_none()
            && t.fresh
            && meta.alias == Alias::Fresh
            && t.class.is(&self.known.tensor);
        let differentiable = meta.dtype.is_floating() || meta.dtype.is_complex();
        if !(is_own && meta.is_leaf && differentiable) {
            return Ok(false);
        }
        let is_write = |node: &NodeId| {
            let data = &self.log.graph[*node];
            let named = data.kwargs.iter().map(|(_, arg)| arg);
            let mut mentions = 0;
            for arg in data.args.iter().chain(named) {
                arg.for_each_node(&mut |n| mentions += usize::from(n == t.node));
            }
            matches!(data.op, OpKind::CallFunction | OpKind::CallMethod)
                && raising::traits_of(data).any(Does::WRITES)
                && data.args.first() == Some(&Arg::Node(t.node))
                && mentions == 1
        };
        let users = self.log.graph.users(t.node);
        Ok(users.iter().all(is_write)
            && !self.so_far().inference_now()
            && !self.so_far().is_of_inference(t)?)
    }
}
