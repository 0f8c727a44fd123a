//! Steps of optimizers in a graph.
//!
//! torch's own tracer has every optimizer compute with tensors alone (`capturable=True`), on the CPU as well:
//! otherwise the count of steps, which is a tensor, is read as a number. What the step keeps from call to call is
//! made in `_init_group`, which reads the group's own entry.

use crate::tx::{Args, Tx};

const WITH_TENSORS: &str = "capturable";

impl Tx<'_> {
    /// Arguments of a function that an optimizer's step calls.
    pub(crate) fn with_tensors_alone(&self, mut args: Args) -> Args {
        if self.before_step.is_none() {
            return args;
        }
        for (name, value) in &mut args.kw {
            if &**name == WITH_TENSORS {
                *value = self.bool(true);
            }
        }
        args
    }
}
