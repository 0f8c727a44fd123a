//! Rules of torch's functions that are more than one node of the graph.
//!
//! Lives here: transforms of `torch.func` and `vmap`, control flow operators, `torch.autograd.Function`, checkpointing,
//! contexts and flags that a program enters, function modes, tensor subclasses and other classes of tensors, functions
//! that read or change torch's state, and what optimizers and `torch.compile` itself bring along. Does not live here:
//! how a call becomes a node and what it gives (`torch_ops` in `translator`), metadata of operations (`tensor-meta`).
//!
//! The interpreter does not know this crate: it is handed [`LISTED`] and [`ASKED`] (`translator::rules`).
//!
//! Invariants: a rule makes the nodes that torch's function would run, does what it does, or breaks; while a function
//! mode or a tensor subclass of the program is asked, nothing becomes a node that it was not asked about.

mod autograd_function;
mod bodies;
mod checkpoint;
mod collectives;
mod compilers;
mod cond;
mod conditions;
mod contexts;
mod custom_objects;
mod deep_copy;
mod entered_device;
mod flags;
mod flex_attention;
mod function_graphs;
mod function_modes;
mod gradients;
mod held_gradients;
mod higher_order;
mod hook_reads;
mod hooks;
mod initialising;
mod loops;
mod optimizer_state;
mod overrides;
mod packed_calls;
mod parameters;
mod questions;
mod ragged;
mod read_arithmetic;
mod regions;
mod state_calls;
mod streams;
mod subclasses;
mod subscripts;
pub mod substitutes;
mod tensor_classes;
mod torch_python;
mod tracer_options;
mod transforms;
mod triton_kernels;
mod vmap;
mod wrapped;
mod wrapper_fakes;
mod wrappers;

use translator::rules::{RuleList, Torch};

pub use function_modes::{begin_in_modes, has_program_mode};
pub use tracer_options::errors_on_break;

/// Rules by callable, one list a file.
pub const LISTED: &[RuleList] = &[
    autograd_function::RULES,
    transforms::RULES,
    vmap::RULES,
    cond::RULES,
    loops::RULES,
    flex_attention::RULES,
    checkpoint::RULES,
    wrapped::RULES,
    regions::RULES,
    flags::RULES,
    subclasses::RULES,
    streams::RULES,
    torch_python::RULES,
    compilers::RULES,
    hooks::RULES,
    gradients::RULES,
    conditions::RULES,
    questions::RULES,
    optimizer_state::RULES,
    initialising::RULES,
];

/// What the interpreter asks of this crate.
pub const ASKED: Torch = Torch {
    is_condition: conditions::is_condition,
    join_conditions: conditions::join,
    compare_read: conditions::compare_read,
    truth_read: conditions::truth_read,
    contains_read: conditions::contains_read,
    negated_condition: conditions::negated,
    condition_node: conditions::condition_node,
    compute_read: read_arithmetic::compute_read,
    check_condition: conditions::check_condition,
    is_asked_about: function_modes::is_asked_about,
    ask: function_modes::ask,
    operator_in_modes: function_modes::operator_in_modes,
    method_in_modes: function_modes::method_in_modes,
    subscript: subscripts::subscript,
    set_subscript: subscripts::set_subscript,
    attribute_in_modes: function_modes::attribute_in_modes,
    tensor_accessor: function_modes::tensor_accessor,
    make_on_entered_device: entered_device::make_on_entered_device,
    device_as_context: entered_device::device_as_context,
    state_call: state_calls::torch_state_call,
    marked_function: state_calls::marked_function,
    apply_function: autograd_function::apply_function,
    construct_tensor: parameters::construct_tensor,
    is_tensor_like: tensor_classes::is_tensor_like,
    is_followed: subclasses::is_followed,
    wrapper_tensor: wrappers::wrapper_tensor,
    own_class_attr: tensor_classes::own_class_attr,
    own_property: tensor_classes::own_property,
    as_subclass: subclasses::as_subclass,
    ask_no_class: subclasses::ask_no_class,
    is_whole_for_compiler: initialising::is_whole_for_compiler,
    stand_in: substitutes::stand_in,
    deep_copy: deep_copy::deepcopy_tensor,
    tell_backward_later: hooks::tell_backward_later,
    overridden_call: overrides::overridden_call,
};
