//! Leaves that the compiled function makes of its own tensors: `t.requires_grad_()` and
//! `t.requires_grad = True`.
//!
//! Invariant: nothing has looked at the tensor before but writes to it, so that no view of it and no
//! operation's record is from before it became a leaf.

use std::rc::Rc;

use fx_graph::{Arg, NodeId, OpKind};
use tensor_meta::{Alias, Does, Inferred, TensorMeta};
use variables::{TensorVar, Var};

use super::emit::Callee;
use super::raising;
use crate::stop::R;
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
        let mut meta = TensorMeta::clone(self.st.effects.meta(t));
        meta.requires_grad = wanted;
        meta.is_leaf = true;
        meta.alias = Alias::Identity;
        let args = Args::pos(vec![Var::Tensor(t.clone()), self.bool(wanted)]);
        let callee = Callee::Method("requires_grad_");
        let inferred = Inferred::Tensor(meta);
        self.check_shown(&callee, &args, &inferred)?;
        let node_args = self.node_args(&args)?;
        self.emit_inferred(&callee, node_args, inferred, &args)?;
        self.st.needs_as_is = true;
        Ok(true)
    }

    /// Whether a tensor is the graph's own, and would be a leaf that nothing relies on.
    fn may_become_leaf(&self, t: &TensorVar) -> R<bool> {
        let meta = self.st.effects.meta(t);
        let is_own = t.input.is_none()
            && t.fresh
            && meta.alias == Alias::Fresh
            && t.class.is(&self.known.tensor);
        let differentiable = meta.dtype.is_floating() || meta.dtype.is_complex();
        if !(self.runs_as_is && is_own && meta.is_leaf && differentiable) {
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
