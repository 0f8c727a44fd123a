//! Operations on batched tensors, those of `torch.vmap`.
//!
//! What a program sees of a batched tensor is without the batch dimension, but how it lies in memory decides what
//! unwrapping gives: so each batched node has a shadow, a batched fake tensor that the operations are run on.
//!
//! Not here: how a level is entered and left, and how tensors are wrapped (the crate `torch-rules`).

use fx_graph::Arg;
use pyo3::prelude::*;
use pyo3::types::PyModule;
use tensor_meta::Inferred;
use torch_abi::names;
use variables::{Body, Var};

use super::args::NodeArgs;
use super::emit::Callee;
use super::sized_fakes::SizedFakes;
use crate::stop::R;
use crate::tx::{Args, Tx};

/// The module of torch that enters and leaves levels.
///
/// # Errors
/// Where torch lacks it.
pub fn functorch<'py>(tx: &Tx<'py>) -> PyResult<Bound<'py, PyModule>> {
    tx.py.import(names::TORCH_C_FUNCTORCH)
}

impl Tx<'_> {
    /// Whether an operation has a batched argument.
    pub fn is_batched(&self, args: &NodeArgs) -> bool {
        if self.st.vmap.shadows.is_empty() {
            return false;
        }
        let kw = args.kw.iter().map(|(_, a)| a);
        args.pos.iter().chain(kw).any(|a| self.mentions_batched(a))
    }

    fn mentions_batched(&self, arg: &Arg) -> bool {
        match arg {
            Arg::Node(n) => self.st.vmap.shadows.contains_key(&n.0),
            Arg::List(items) | Arg::Tuple(items) => items.iter().any(|i| self.mentions_batched(i)),
            Arg::Slice(parts) => parts.iter().any(|i| self.mentions_batched(i)),
            _ => false,
        }
    }

    /// Makes a node for an operation with a batched argument.
    pub(super) fn emit_batched(
        &mut self,
        callee: &Callee<'_>,
        node_args: &NodeArgs,
        args: &Args,
    ) -> R<Var> {
        let (inferred, out) = self.infer_fake_result(callee, node_args, "batched")?;
        if matches!(inferred, Inferred::Int(_) | Inferred::Size(_)) {
            return self.query_result(&inferred);
        }
        let made = self.emit_inferred(callee, node_args.clone(), inferred, args)?;
        self.keep_shadow(&made, out.bind(self.py))?;
        Ok(made)
    }

    /// Remembers the fake results that belong to the nodes of a value.
    pub fn keep_shadow(&mut self, made: &Var, out: &Bound<'_, PyAny>) -> R<()> {
        let items: Vec<Var> = match made {
            Var::Tensor(t) => {
                self.st.vmap.shadows.insert(t.node.0, out.clone().unbind());
                return Ok(());
            }
            Var::Tuple(t) => t.items.clone(),
            Var::Obj(id) => match &self.obj(*id).body {
                Body::List(items) => items.iter().cloned().collect(),
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        for (item, out) in items.iter().zip(out.try_iter()?) {
            self.keep_shadow(item, &out?)?;
        }
        Ok(())
    }

    /// Enters the levels for real, so that an operation can be run on shadows.
    pub(super) fn enter_levels(&mut self, sized: Option<&SizedFakes>) -> PyResult<()> {
        if self.st.vmap.levels.is_empty() {
            return Ok(());
        }
        let functorch = functorch(self)?;
        for (size, randomness, _) in self.st.vmap.levels.clone() {
            let size = match sized {
                Some(sized) => sized.value(self.py, &size.expr)?,
                None => {
                    let size = self.size_of_int(&size);
                    self.fix_size(size).into_pyobject(self.py)?.into_any()
                }
            };
            functorch.call_method1("_vmap_increment_nesting", (size, randomness))?;
        }
        // Fakes of tensors from outside are made on the way, with what they require.
        functorch.call_method1("set_inplace_requires_grad_allowed", (true,))?;
        Ok(())
    }

    /// Leaves them again.
    pub(super) fn leave_levels(&self) -> PyResult<()> {
        if self.st.vmap.levels.is_empty() {
            return Ok(());
        }
        let functorch = functorch(self)?;
        for _ in &self.st.vmap.levels {
            functorch.call_method0("_vmap_decrement_nesting")?;
        }
        Ok(())
    }
}
