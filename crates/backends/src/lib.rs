//! Backends: what compiles a captured graph, and how a graph reaches it.
//!
//! Lives here: conversion of an [`fx_graph::Graph`] to a `torch.fx.GraphModule` and back, the
//! registry of backends, the call of a backend with what torch's own tracer would hand it.
//!
//! Does not live here: tracing, guards, and the decision what is compiled.
//!
//! Invariants: importing or calling a plain backend (`eager`, any callable) imports nothing of
//! `torch._dynamo`; names of torch's private modules are written in [`names`] only; the global
//! state of Python and torch is after a backend call what it was before.

mod aot;
mod blind_spots;
mod call;
mod capabilities;
mod contexts;
mod error;
mod forward;
mod from_torch;
mod function;
mod fx;
mod inductor;
mod kept;
mod kept_folder;
mod kept_key;
mod late_context;
mod late_graph;
mod left_behind;
mod log;
mod module_stacks;
mod named_later;
pub mod names;
mod no_trace;
mod node_meta;
mod own_class;
mod own_gradient;
mod pristine;
mod propagate;
mod ragged;
mod refused;
mod registry;
mod session;
mod shape_guards;
mod shared_inputs;
mod subgraph;
mod symbolic_context;
mod to_torch;
mod weakly_held;

pub use aot::AotContext;
pub use artifact_store::Key as ArtifactKey;
pub use call::{BackendCall, Compiled, Gave, call_backend, is_tracer_loaded};
pub use capabilities::Capabilities;
pub use contexts::put_back;
pub use error::BackendError;
pub use forward::{Numbers, forward_function};
pub use from_torch::{FromTorch, from_torch};
pub use function::fn_target;
pub use kept::{Kept, ResultKey};
pub use kept_folder::{
    Listed, add_artifact, artifacts, clear_artifacts, read_artifact, verify_artifacts,
};
pub use late_graph::late_to_torch;
pub use no_trace::{is_forward_function, left_no_trace, may_run_again};
pub use own_gradient::cannot_be_differentiated;
pub use refused::forget_restarts;
pub use registry::{
    Backend, CompileOptions, default_backend, is_always_there, list, list_backends, register,
    register_backend, unregister,
};
pub use shared_inputs::SharedInputs;
pub use subgraph::{SubGraph, subgraph};
pub use to_torch::{Attrs, Converted, Counts, ExampleValue, ToTorch, to_torch};
