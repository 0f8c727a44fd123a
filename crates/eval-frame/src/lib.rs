//! Frame evaluation for compilers: a hook of PEP 523, entry objects for functions, and other code in the place of a
//! frame's.
//!
//! Whoever implements [`compiler::FrameCompiler`] is asked about each call of a Python function below an entry
//! ([`entry::make_compiled`]), and says what becomes of it: it runs as it is, or other code runs in its frame, or an
//! exception is raised. Calls of entries themselves can be answered without a frame. `examples/call_counter.rs` is a
//! whole tool.
//!
//! What lives here: the hook ([`hook`]), the view of a frame that has not started ([`frame`]), running other code in
//! it ([`substitute`]), entries and their calls ([`entry`], [`entry_type`], [`call`]), which thread is in which region
//! ([`region`]), and what is remembered about code objects ([`code_state`]). What does not: what is compiled and when
//! it may be used again, layouts of CPython (`cpython-abi`), and whatever else captures frames or marks functions
//! ([`surroundings`]).
//!
//! Invariants: the hook is installed only while a compiled region runs; every frame is evaluated exactly once; a panic
//! of the compiler becomes plain execution.

mod bind;
mod bound_inputs;
pub mod call;
pub mod code_state;
pub mod compiler;
pub mod context;
pub mod continuation;
pub mod direct;
pub mod entry;
pub mod entry_type;
pub mod frame;
pub mod graph_call;
mod handover;
pub mod hook;
pub mod region;
mod replay;
mod stack;
pub mod substitute;
pub mod surroundings;
pub mod testing;

use pyo3::prelude::*;

use cpython_abi::check::LayoutError;

/// Why nothing can be hooked.
#[derive(Debug, thiserror::Error)]
pub enum InitialiseError {
    /// This Python's layouts are not the known ones.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// What Python raised.
    #[error(transparent)]
    Python(#[from] PyErr),
}

/// Checks that this Python is one whose insides are known, and adds the types of entries, with `attributes` of their
/// own, to `module`. To be called once, before anything else here.
///
/// # Errors
/// A layout that is not the expected one, or what Python raises.
pub fn initialise(
    module: &Bound<'_, PyModule>,
    attributes: &'static [entry_type::Attribute],
) -> Result<(), InitialiseError> {
    let py = module.py();
    cpython_abi::check::self_check(py)?;
    cpython_abi::tools::find(py)?;
    code_state::initialise(py)?;
    region::initialise(py);
    entry_type::initialise(module, attributes)?;
    Ok(())
}
