//! Rules of NumPy: its arrays are tensors of the graph, and what is done with them operations of it.
//!
//! Lives here: which calls become operations and which do not ([`functions`], [`arrays`]), how one becomes a node
//! ([`call`], of [`what`]), its arguments as NumPy is asked with them ([`arguments`]) and as it gets them
//! ([`graph_arguments`]), what NumPy itself says of its result ([`probe`]) and what torch gives ([`torch_results`]), what a node calls ([`operation`]), the
//! values that stand for arrays and for the numbers that come of them ([`values`]), what NumPy's generators draw
//! ([`random`]), NumPy's numbers from outside ([`numbers`]), sizes that are no constants ([`sizes`]), floats that
//! change ([`float_operands`], [`changing_floats`]), division of integers ([`division`]), subscripts by ints that
//! change ([`subscripts`]), tensors that calls before the graph make ([`early_tensors`]), tensors on an array's memory
//! and arrays on a tensor's ([`tensors`]). Does not live here: which of NumPy's functions torch has (`torch-abi`),
//! where the interpreter asks (`values` and `methods` of `translator`).
//!
//! Invariant: a result has the class, the dtype, the sizes and the memory that NumPy gives it; where torch's NumPy
//! would give others, the call runs in eager mode.

mod arguments;
mod arrays;
mod call;
mod changing_floats;
mod composed;
mod division;
mod float_operands;
mod functions;
mod graph_arguments;
mod narrow_integers;
mod numbers;
mod operation;
mod powers;
mod probe;
mod random;
mod sizes;
mod subscripts;
mod tensors;
mod torch_results;
mod values;
mod what;

use translator::rules::{Arrays, FoundRules, RuleList};

/// Rules by callable, one list a file.
pub const LISTED: &[RuleList] = &[tensors::RULES];

/// Rules of callables that are looked for: none, as NumPy's are known when they are met.
pub const FOUND: &[FoundRules] = &[];

/// What the interpreter asks of this crate.
pub const ASKED: Arrays = Arrays {
    call: functions::call_function,
    attribute: arrays::attribute,
    method: arrays::method,
    operator: arrays::operator,
    items: arrays::items,
    length: arrays::length,
    known: arrays::known,
    read_number: numbers::read_number,
    changing_number: numbers::changing,
    of_tensor: tensors::of_tensor,
    as_index: tensors::as_index,
};
