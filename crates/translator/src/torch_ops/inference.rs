//! Tensors that let nobody write to them: those of an inference mode outside of one, and those that compilers refuse.

use tensor_meta::Inferred;
use variables::{TensorVar, Var};

use super::emit::Callee;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// An operation writes to a tensor that torch, and what compiles the graph, let it write to.
    ///
    /// # Errors
    /// A break otherwise.
    pub(super) fn writes_where_it_may(
        &self,
        callee: &Callee<'_>,
        args: &Args,
        inferred: &Inferred,
    ) -> R<()> {
        match args.pos.first() {
            Some(Var::Tensor(t)) if self.so_far().writes_in_place(callee, args, inferred) => {
                self.lets_write(t)
            }
            _ => Ok(()),
        }
    }

    /// A tensor that is written to is not of an inference mode, or one is on; and a compiler lets it be written to.
    ///
    /// # Errors
    /// A break otherwise.
    pub(super) fn lets_write(&self, t: &TensorVar) -> R<()> {
        if !self.runs_as_is
            && let Some(refusal) = self.so_far().refused_by_compilers(t)
        {
            return Err(Stop::brk(refusal.what, refusal.why, refusal.hint));
        }
        if self.so_far().inference_now() || !self.so_far().is_of_inference(t)? {
            return Ok(());
        }
        Err(Stop::raises(
            "Write to a tensor of an inference mode outside of it",
            "torch refuses the write; the operation runs in eager mode so that it does.",
            "Write to a clone of the tensor, or within the inference mode.",
        ))
    }
}
