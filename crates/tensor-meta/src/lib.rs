//! The table of torch's operations: shape, stride, dtype, device and `requires_grad` rules, and what else each does.
//!
//! [`infer`] says what an op would return, from the metadata of its arguments alone: no data,
//! no Python interpreter, no torch. Data-dependent results and calls where a rule is not exact
//! answer [`RuleError::Unsupported`]; a result that is returned is what eager CPU torch returns.
//!
//! Sizes are numbers or expressions ([`SymInt`]); what a result assumes of expressions is told as
//! facts ([`SizeTable`]).
//!
//! Not here: the graph, values.
//!
//! Invariant: no dependency on Python or torch; every rule is checked against the real CPU op by
//! `tests/against_torch.rs`.

mod autocast;
mod call;
mod family;
mod geometry;
mod iterator;
mod promote;
pub mod registry;
mod size;
mod traits;
pub mod types;

pub use registry::{
    RuleId, RuleInfo, function_traits, infer, lookup_function, lookup_method, method_traits, rules,
};
pub use size::{Atom, Compare, Fact, SizeTable, Term};
pub use traits::{Cast, Does, Fold, Reads, Scale, Switch, Traits};
pub use types::*;
