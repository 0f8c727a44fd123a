//! Operations inside levels of torch's function transforms: `vmap`, `grad`, `vjp`, `jvp` and those made of them.
//!
//! What a program sees of a batched tensor is without the batch dimension, but how it lies in memory decides what
//! unwrapping gives. Whether a tensor requires gradients depends on the level. So each node of a tensor that torch
//! wraps for a level has a shadow, a fake tensor that is wrapped alike, which the operations are run on.
//!
//! The levels of a translation are entered for each of these runs and left again. Invariant: between two runs none is
//! entered. torch's level object is kept for those that record derivatives, because tensors belong to it.
//!
//! Not here: which functions enter and leave a level and wrap tensors (the crate `torch-rules`).

use fx_graph::{Arg, NodeId};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyModule;
use tensor_meta::Inferred;
use torch_abi::names;
use torch_abi::names::levels::{
    ALLOW_LEAVES, ALLOWS_LEAVES, ENTER_BATCH, IS_WRAPPED, LEAVE_BATCH, POP, PUSH,
};
use variables::contexts::{Level, LevelKind};
use variables::{Body, Var};

use super::args::NodeArgs;
use super::emit::Callee;
use super::sized_fakes::SizedFakes;
use crate::stop::R;
use crate::tx::{Args, Tx};
use operations::callee::has_tensor;

/// The module of torch that enters and leaves levels.
///
/// # Errors
/// Where torch lacks it.
pub fn functorch<'py>(tx: &Tx<'py>) -> PyResult<Bound<'py, PyModule>> {
    tx.py.import(names::TORCH_C_FUNCTORCH)
}

impl<'py> Tx<'py> {
    /// Whether what an operation gives has a shadow: it has an argument with one, or is called in a level to which
    /// all tensors belong.
    pub fn gives_shadow(&self, args: &NodeArgs) -> bool {
        if self.st.levels.records() {
            return true;
        }
        if self.st.levels.shadows.is_empty() {
            return false;
        }
        let kw = args.kw.iter().map(|(_, a)| a);
        args.pos.iter().chain(kw).any(|a| self.mentions_shadowed(a))
    }

    fn mentions_shadowed(&self, arg: &Arg) -> bool {
        match arg {
            Arg::Node(n) => self.st.levels.shadows.contains_key(&n.0),
            Arg::List(items) | Arg::Tuple(items) => items.iter().any(|i| self.mentions_shadowed(i)),
            Arg::Slice(parts) => parts.iter().any(|i| self.mentions_shadowed(i)),
            _ => false,
        }
    }

    /// Makes a node for an operation whose result has a shadow.
    pub(super) fn emit_shadowed(
        &mut self,
        callee: &Callee<'_>,
        node_args: &NodeArgs,
        args: &Args,
    ) -> R<Var> {
        let (inferred, out) = self.infer_fake_result(callee, node_args, "in a transform")?;
        if !has_tensor(&inferred) && !matches!(inferred, Inferred::None) {
            return self.query_result(&inferred);
        }
        let made = self.emit_inferred(callee, node_args.clone(), inferred, args)?;
        self.keep_shadow(&made, out.bind(self.py))?;
        Ok(made)
    }

    /// Remembers the fake results that belong to the nodes of a value, if torch has wrapped them.
    pub fn keep_shadow(&mut self, made: &Var, out: &Bound<'_, PyAny>) -> R<()> {
        let items: Vec<Var> = match made {
            Var::Tensor(t) => {
                let is_wrapped = functorch(self)?.call_method1(IS_WRAPPED, (out,))?;
                // A tangent is the tensor's own.
                match self.st.levels.dual.is_some() || is_wrapped.is_truthy()? {
                    true => self
                        .st
                        .levels
                        .shadows
                        .insert(t.node.0, out.clone().unbind()),
                    false => self.st.levels.shadows.remove(&t.node.0),
                };
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

    /// Enters a level that records derivatives. `enter` is the function of torch that makes it.
    ///
    /// # Errors
    /// What torch raises.
    pub fn enter_derivative(&mut self, enter: &str, node: NodeId) -> R<()> {
        let functorch = functorch(self)?;
        let grad = self.py.import("torch")?.getattr("set_grad_enabled")?;
        // The level remembers the mode that was on when it was entered.
        let grad = grad.call1((self.st.grad_enabled,))?;
        let made = self.outside_of_batches().and_then(|()| {
            let made = functorch.call_method0(enter);
            let level = made.and_then(|_| functorch.call_method0(POP));
            self.leave_levels().and(level)
        });
        let none = self.py.None();
        grad.call_method1("__exit__", (&none, &none, &none))?;
        let kind = LevelKind::Derivative(made?.unbind());
        self.st.levels.entered.push_back(Level { node, kind });
        Ok(())
    }

    /// Leaves the innermost level, which records derivatives. Its tensors are from then on what they hold.
    ///
    /// # Errors
    /// What torch raises.
    pub fn leave_derivative(&mut self, leave: &str) -> R<()> {
        let functorch = functorch(self)?;
        self.outside_of_batches()?;
        functorch.call_method0(leave)?;
        self.st.levels.entered.pop_back();
        self.leave_levels()?;
        Ok(())
    }

    /// Enters the levels where no operation is run: how large batches are does not matter.
    fn outside_of_batches(&self) -> PyResult<()> {
        let functorch = functorch(self)?;
        for level in &self.st.levels.entered {
            match &level.kind {
                LevelKind::Batch(_, randomness) => {
                    functorch.call_method1(ENTER_BATCH, (1, randomness))?;
                }
                LevelKind::Derivative(level) => {
                    functorch.call_method1(PUSH, (level,))?;
                }
            }
        }
        Ok(())
    }

    /// Enters the levels for real, so that an operation can be run on shadows.
    pub(super) fn enter_levels(&mut self, sized: Option<&SizedFakes>) -> PyResult<()> {
        let dual = self.st.levels.dual.as_ref();
        if dual.is_some_and(|level| !level.is_entered()) {
            return Err(PyRuntimeError::new_err("a level that was left"));
        }
        if self.st.levels.entered.is_empty() {
            return Ok(());
        }
        let functorch = functorch(self)?;
        for level in self.st.levels.entered.clone() {
            let (size, randomness) = match level.kind {
                LevelKind::Batch(size, randomness) => (size, randomness),
                LevelKind::Derivative(level) => {
                    functorch.call_method1(PUSH, (level,))?;
                    continue;
                }
            };
            let size = match sized {
                Some(sized) => sized.value(self.py, &size.expr)?,
                None => {
                    let size = self.size_of_int(&size);
                    self.fix_size(size).into_pyobject(self.py)?.into_any()
                }
            };
            functorch.call_method1(ENTER_BATCH, (size, randomness))?;
        }
        Ok(())
    }

    /// Sets whether tensors in the levels may be told to require gradients. Gives what was set before.
    pub(super) fn allow_leaves(&self, allowed: bool) -> PyResult<bool> {
        if !self.st.levels.records() {
            return Ok(false);
        }
        let functorch = functorch(self)?;
        let before = functorch.call_method0(ALLOWS_LEAVES)?.extract()?;
        functorch.call_method1(ALLOW_LEAVES, (allowed,))?;
        Ok(before)
    }

    /// Leaves them again.
    pub(super) fn leave_levels(&self) -> PyResult<()> {
        if self.st.levels.entered.is_empty() {
            return Ok(());
        }
        let functorch = functorch(self)?;
        for level in self.st.levels.entered.iter().rev() {
            match level.kind {
                LevelKind::Batch(..) => functorch.call_method0(LEAVE_BATCH)?,
                LevelKind::Derivative(_) => functorch.call_method0(POP)?,
            };
        }
        Ok(())
    }
}
