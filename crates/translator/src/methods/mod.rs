//! Methods of builtin types, called by name on tracked receivers.
//!
//! Lives here: what `[].append(x)`, `{}.get(k)`, `"".join(xs)` and the like do, one type a module.
//! Does not live here: operators and subscripts (`values`), constructors (`builtins`), tensors.
//!
//! Invariant: a method whose arguments do not bind raises `TypeError`; one without a rule breaks.

use std::sync::Arc;

use variables::Var;

use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

impl Tx<'_> {
    /// Calls a method of a builtin type, by name.
    ///
    /// # Errors
    /// Whatever the method raises; a break where it has no rule.
    pub fn call_builtin_method(&mut self, recv: &Var, name: &Arc<str>, _args: Args) -> R<Flow> {
        Err(Stop::unsupported(format!("method {name} of {}", self.describe(recv))))
    }
}
