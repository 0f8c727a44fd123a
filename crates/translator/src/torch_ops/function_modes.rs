//! Function modes of the program: `torch.overrides.TorchFunctionMode`, which torch asks before it runs one of its
//! functions.
//!
//! Lives here: the stack of modes, which is part of the symbolic state, and whether they would see what is done now.
//! Does not live here: how they are asked (the crate `torch-rules`).
//!
//! Invariant: while a mode is in force nothing becomes a node that the mode was not asked about, unless torch
//! does not ask it either.

use variables::Var;
use variables::contexts::{Effect, FunctionMode, OpenContext};

use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

/// What became of a call that a mode may be asked about.
pub enum Asked {
    /// the modes have answered it
    Answer(Var),
    /// torch runs it without asking
    Unseen,
    /// a Python function of torch, which does not ask as a whole; what it calls may
    Within,
}

impl<'py> Tx<'py> {
    /// Whether a mode of the program sees the next call.
    pub fn is_seen(&self) -> bool {
        self.st
            .modes
            .iter()
            .any(|m| matches!(m, FunctionMode::Program(_)))
    }

    /// Whether a mode of the program is in force where the frame stands, be it that it is being asked: what
    /// waits until after the graph would be seen by it too late.
    pub fn has_modes(&self) -> bool {
        let entered = |o: &OpenContext| matches!(o.effect, Effect::Functions);
        self.outer_modes > 0 || self.st.contexts.iter().any(entered)
    }

    /// # Errors
    /// A break where a mode of the program, or a class of tensors, would see what is no single call of torch's.
    pub fn not_seen(&self, what: &str) -> R<()> {
        match self.is_seen() || self.st.met_subclass && !self.st.asks_no_class {
            true => Err(unseen(what)),
            false => Ok(()),
        }
    }

    /// Whether a mode of the program, or the class of one of these values, sees what is done with them.
    pub fn is_seen_with<'a>(&self, values: impl Iterator<Item = &'a Var>) -> bool {
        self.is_seen() || self.asks_classes(values)
    }

    /// # Errors
    /// A break where one of them would see what is no single call of torch's.
    pub fn not_seen_with(&self, what: &str, args: &Args) -> R<()> {
        match self.is_seen_with(args.values()) {
            true => Err(unseen(what)),
            false => Ok(()),
        }
    }

    /// Runs a rule as torch runs a function that it asks nobody about.
    pub(crate) fn without_modes<T>(&mut self, rule: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        let modes = std::mem::take(&mut self.st.modes);
        let result = self.without_classes(rule);
        self.st.modes = modes;
        result
    }
}

/// The break where a mode, or a class of tensors, would see something else than what is captured.
pub fn unseen(what: &str) -> Stop {
    Stop::brk(
        format!("__torch_function__: {what}"),
        "A torch function mode or a tensor subclass of the program would be asked here, which is not followed.",
        "Leave the mode before, use plain tensors, or move the code out of the compiled function.",
    )
}
