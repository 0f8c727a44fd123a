//! Tensor operations: nodes of the graph and their metadata.
//!
//! - [`table`]: which Python callables are graph functions, and under which name
//! - [`input`]: tensors from outside become placeholders
//! - [`args`]: values as arguments of nodes, and as arguments of metadata rules
//! - [`emit`]: making a node and the value that stands for its result
//! - [`ops`]: operators, subscripts, methods
//! - [`beside`]: what an operation does beside giving its result
//! - [`attrs`]: attributes of tensors
//! - [`contexts`], [`flags`]: autocast and the like, flags that a program sets for a while
//! - [`parameters`]: tensors of other classes, made by the program
//! - [`tensor_classes`]: classes that the program derives from torch's
//! - [`deep_copy`]: `copy.deepcopy` of tensors
//! - [`hooks`]: hooks of tensors
//! - [`numbers`]: operands that are numbers
//! - [`vmap`]: batched tensors
//! - [`bodies`]: functions that a node runs
//! - [`checkpoint`]: functions that are computed again in the backward pass
//! - [`transforms`]: gradients of functions, as functions
//! - [`function_modes`]: function modes of the program, which see torch's functions first
//! - [`state_calls`]: functions that read or change torch's global state
//!
//! Invariant: every node that may have an effect or raise is kept, in program order.

pub mod args;
pub mod attrs;
mod autograd_function;
mod beside;
mod bodies;
pub mod checkpoint;
pub mod contexts;
mod data_pointer;
mod deep_copy;
pub mod emit;
mod entered_device;
pub mod fake;
pub(crate) mod flags;
pub mod function_modes;
mod handled;
pub(crate) mod higher_order;
mod hooks;
mod inference;
pub mod input;
mod known_values;
mod leaves;
mod numbers;
pub mod ops;
mod overrides;
mod parameters;
pub mod raising;
pub(crate) mod sizes;
pub mod state_calls;
pub mod subclasses;
mod substitutes;
pub mod table;
mod tensor_classes;
mod tracer_options;
pub mod transforms;
pub mod vmap;

use crate::rules::RuleList;

/// Functions of torch that have rules.
pub const LISTED: &[RuleList] = &[
    transforms::RULES,
    vmap::RULES,
    higher_order::RULES,
    checkpoint::RULES,
    flags::RULES,
    subclasses::RULES,
];
