//! Symbolic interpretation of a frame: bytecode to a graph, guards and a symbolic state.
//!
//! The translator walks normalised bytecode over a persistent [`state::State`]. A checkpoint is
//! taken before each instruction that may break; on a graph break the state goes back to it, and
//! what was traced so far becomes a graph, a list of guards and residual bytecode that runs the
//! instruction in plain Python and goes on in a resume function.
//!
//! Lives here: what instructions, calls and operations do to values. Does not live here: rules of
//! builtins (`builtins`) and of torch's functions that are more than one node (`torch-rules`), which
//! hang on the interpreter by [`rules::Rules`]; what is known of an operation before it is a node
//! (`operations`); the state itself (`variables`) and how it becomes bytecode (`residual`); CPython's
//! frame layout (`cpython-abi`), opcode numbers (`bytecode`), torch's internals (`torch-abi`).
//!
//! Invariants: translation has no effect that the user's program can see; no state outside
//! [`state::State`] survives a restore; whatever a decision looked at is guarded.

pub mod attr;
pub mod bind;
pub mod builder;
pub mod call;
pub mod deferred;
pub mod dynamic;
pub mod early;
pub mod early_tensors;
mod hashing;
pub mod methods;
pub mod module_attr;
mod numpy_errors;
pub mod positions;
pub mod private;
mod real;
pub mod refusal;
pub mod retreat;
pub mod rules;
pub mod step;
pub mod stop;
pub mod torch_ops;
pub mod tx;
pub mod values;

pub use dynamic::DynamicInts;
pub use refusal::Refusal;
pub use retreat::Retreat;
pub use stop::{BreakReason, Instead, R, SetUp, Stop};
pub use tx::{Args, Flow, Tx};
pub use variables::{code, constants, known, library, own_module, raw, state};
