//! What Python's operations do to builtin values: truth, iteration, operators, subscripts, text.
//!
//! Lives here: the rules of the data model, one idea a module. Does not live here: methods called by
//! name (`methods`), builtin functions and constructors (`builtins`), tensors (`torch_ops`).
//!
//! Invariants: operations on constants are done by Python itself; user-defined special methods
//! are called symbolically; what has no rule is a break, never a guess.

mod answers;
mod arith;
mod build;
pub(crate) mod compare;
mod computed;
mod derived;
mod floats;
mod identity;
mod iter;
mod iter_next;
mod membership;
mod operators;
mod pure_ints;
mod slicing;
mod special;
mod subscr;
pub(crate) mod symbolic;
mod texts;
mod truth;
mod types;
mod unpack;

pub use computed::Changing;
pub use operators::combine;
pub use special::Special;
pub use truth::body_len;
