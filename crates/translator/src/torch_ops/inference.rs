//! Tensors that let nobody write to them: those of an inference mode outside of one, and, below a compiler, those
//! whose elements share memory.

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

    /// A tensor that is written to is not of an inference mode, or one is on; to a compiler each element of it is one
    /// of its own.
    ///
    /// # Errors
    /// A break otherwise.
    pub(super) fn lets_write(&self, t: &TensorVar) -> R<()> {
        if !self.runs_as_is && self.so_far().elements_share_places(t) {
            return Err(Stop::brk(
                "Write to a tensor whose elements share memory",
                "A compiler makes a tensor of its own of what is written to, in which they do not.",
                "Write to a clone of the tensor, or to the tensor that was expanded.",
            ));
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
