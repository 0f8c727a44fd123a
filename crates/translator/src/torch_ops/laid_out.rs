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
    /// layout of what was written.
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
        if let Var::Tensor(t) = self.realize(first)?
            && t.input.is_some()
        {
            let before = self.st.effects.meta(&t);
            let laid_out = callee.traits().any(Does::LAYS_OUT);
            if laid_out || before.shape != after.shape || before.strides != after.strides {
                return Err(Stop::brk(
                    "In-place change of the sizes or strides of a tensor from outside",
                    "A compiler would give the tensor back with the values that were written to it, and not always with the strides.",
                    "Use the operation that makes a view (`x.t()` in place of `x.t_()`), or do it outside of the compiled function.",
                ));
            }
        }
        Ok(())
    }
}
