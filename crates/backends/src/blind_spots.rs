//! What torch's compilers and caches do not look at, and the settings with which that does no harm.
//!
//! AOTAutograd does again what made the views of an input that it returns, and takes results from its cache, without a
//! look at the base of inputs that share memory. The caches note what a result relies on for sizes that are inputs of
//! their own; for those that a compiler has from a tensor they note nothing, and give the result for any. Invariant:
//! afterwards all settings are what they were.

use fx_graph::{AotInput, ShapeLeaf};
use pyo3::prelude::*;
use torch_abi::imported::imported;

use crate::names;

/// What is known of the call of a compiler.
#[derive(Clone, Copy)]
pub(crate) struct Told {
    /// whether it was found by a name: it loads its settings, if it has not yet
    pub(crate) is_named: bool,
    /// whether the graph writes to inputs that share memory
    pub(crate) shares_memory: bool,
}

/// Calls a compiler with such settings.
///
/// # Errors
/// Those of `call`, and whatever torch's settings raise.
pub(crate) fn compiled_with<'py>(
    py: Python<'py>,
    inputs: &[AotInput],
    told: Told,
    call: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let blind_to = [
        (told.shares_memory, names::BLIND_TO_BASES),
        (has_hidden_sizes(inputs), names::BLIND_TO_SIZES),
    ];
    let off = blind_to.into_iter().filter(|(is_so, _)| *is_so);
    let mut before = Vec::new();
    for (module, name) in off.flat_map(|(_, settings)| settings) {
        let loaded = match told.is_named {
            true => Some(py.import(module)?.into_any()),
            false => imported(py, module)?,
        };
        // Who has not loaded them does not read them.
        let Some(module) = loaded else {
            continue;
        };
        before.push((module.clone(), name, module.getattr(name)?));
        module.setattr(name, false)?;
    }
    let result = call();
    for (module, name, value) in before.into_iter().rev() {
        module.setattr(name, value)?;
    }
    result
}

/// Whether a size may change that is no input of its own.
fn has_hidden_sizes(inputs: &[AotInput]) -> bool {
    let is_given = |tensor: usize, dim: usize| {
        let is = |input: &AotInput| matches!(input, AotInput::Layout(ShapeLeaf::Size(of, at)) if *of == tensor && usize::from(*at) == dim);
        inputs.iter().any(is)
    };
    inputs.iter().enumerate().any(|(at, input)| match input {
        AotInput::Tensor {
            dynamic_dims,
            dynamic_held,
            ..
        } => !dynamic_held.is_empty() || dynamic_dims.iter().any(|dim| !is_given(at, *dim)),
        _ => false,
    })
}
