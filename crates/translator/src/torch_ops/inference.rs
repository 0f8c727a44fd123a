//! Tensors of an inference mode: outside of one torch lets nobody write to them, nor save them for a backward.

use tensor_meta::Inferred;
use variables::{TensorVar, Var};

use super::emit::Callee;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// An operation that writes to a tensor of an inference mode outside of one is run by plain Python, where it
    /// raises.
    ///
    /// # Errors
    /// That break.
    pub(super) fn writes_to_no_inference_tensor(
        &self,
        callee: &Callee<'_>,
        args: &Args,
        inferred: &Inferred,
    ) -> R<()> {
        match args.pos.first() {
            Some(Var::Tensor(t))
                if self.st.met_inference
                    && self.so_far().writes_in_place(callee, args, inferred) =>
            {
                self.lets_write(t)
            }
            _ => Ok(()),
        }
    }

    /// A tensor that is written to is not of an inference mode, or one is on.
    ///
    /// # Errors
    /// A break otherwise.
    pub(super) fn lets_write(&self, t: &TensorVar) -> R<()> {
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
