//! Tensor operations: nodes of the graph and their metadata.
//!
//! - [`table`]: which Python callables are graph functions, and under which name
//! - [`input`]: tensors from outside become placeholders
//! - [`args`]: values as arguments of nodes, and as arguments of metadata rules
//! - [`emit`]: making a node and the value that stands for its result
//! - [`ops`]: operators, subscripts, methods
//! - [`attrs`]: attributes of tensors
//! - [`raising`], [`handled`]: which operations may raise, and what that means where the program handles it
//! - [`numbers`]: operands that are numbers
//! - [`read_numbers`], [`conditions`]: numbers that the graph reads from its tensors
//! - [`contexts`], [`function_modes`], [`subclasses`]: what of these is in force where the frame stands
//! - [`unbacked`]: sizes of inputs of which nothing is to be known
//! - [`ragged`]: sizes of rows that differ in length
//! - [`levels`]: operations inside levels of torch's function transforms
//!
//! Not here: functions that are more than one node (the crate `torch-rules`), and what is known of an operation before
//! it is a node (the crate `operations`).
//!
//! Invariant: every node that may have an effect or raise is kept, in program order.

pub mod args;
pub mod attrs;
mod conditions;
pub mod contexts;
mod data_pointer;
pub mod emit;
pub mod fake;
pub mod function_modes;
mod handled;
mod inference;
pub mod input;
mod known_values;
mod laid_out;
mod leaves;
pub mod levels;
pub mod marks;
mod named_tuples;
mod numbers;
pub mod ops;
mod optimizer_step;
mod ragged;
mod read_numbers;
mod scaled;
pub mod sized_fakes;
pub(crate) mod sizes;
pub mod subclasses;
mod unbacked;
pub mod wrappers;
mod written_out;

pub use variables::{raising, table};
