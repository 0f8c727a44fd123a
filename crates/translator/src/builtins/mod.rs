//! Builtin functions and constructors, by the address of the callable.
//!
//! Lives here: one rule for each callable of Python's own C code. Does not live here: methods
//! (`methods`), operators (`values`), torch.

use variables::Obj;

use crate::stop::R;
use crate::tx::{Args, Flow, Tx};

impl Tx<'_> {
    /// Calls a builtin; `None` where it has no rule.
    ///
    /// # Errors
    /// Whatever the builtin raises; a break where its rule does not apply.
    pub fn call_builtin(&mut self, _callable: &Obj, _args: Args) -> R<Option<Flow>> {
        Ok(None)
    }
}
