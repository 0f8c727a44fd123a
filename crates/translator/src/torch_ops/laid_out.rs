//! Operations that give a tensor from outside other sizes or strides in place: `x.t_()`.
//!
//! Invariant: no compiler gets one, but for `x.data = y`, which it knows.

use tensor_meta::{Alias, Does, Inferred};
use variables::Var;

use super::emit::Callee;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// AOTAutograd puts a tensor from outside that an operation lays out anew and another one writes to back in the
    /// layout of what was written, and makes views of one whose gradients are recorded in the layout that it has then.
    ///
    /// # Errors
    /// A break for an operation that gives such a tensor other sizes or strides in place, below a compiler.
    pub(super) fn lays_out_no_input(
        &mut self,
        callee: &Callee<'_>,
        args: &Args,
        inferred: &Inferred,
    ) -> R<()> {
        let Inferred::Tensor(after) = inferred else {
            return Ok(());
        };
        let is_data = matches!(callee, Callee::Function(..)) && callee.traits().any(Does::MOVES);
        if self.runs_as_is || is_data || after.alias != Alias::Identity {
            return Ok(());
        }
        let Some(first) = args.pos.first() else {
            return Ok(());
        };
        if let Var::Tensor(t) = self.realize(first)? {
            let before = self.st.effects.meta(&t);
            let records = self.st.grad_enabled && before.requires_grad;
            let other = before.shape != after.shape || before.strides != after.strides;
            let laid_out = callee.traits().any(Does::LAYS_OUT);
            let is_viewed = || {
                self.so_far()
                    .done_beside(t.node)
                    .any(Does::VIEW | Does::VIEWS)
            };
            if t.input.is_some() && (laid_out || other) || laid_out && records && is_viewed() {
                return Err(Stop::brk(
                    "In-place change of the sizes or strides of a tensor from outside, or one that has views",
                    "A compiler would give the tensor back with the values that were written to it, and not always with the strides; views that record gradients it would make of the other layout.",
                    "Use the operation that makes a view (`x.t()` in place of `x.t_()`), or do it outside of the compiled function.",
                ));
            }
        }
        Ok(())
    }
}
