//! Inputs that share memory, at a compiler.
//!
//! AOTAutograd makes such inputs from one tensor where the graph writes to them, and makes the views of them that it
//! returns by doing again what made them: of that tensor, not of the input, so that it raises. Its other way, from
//! sizes and strides, holds.

use fx_graph::AotInput;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use rustc_hash::FxHashSet;

use crate::names;

/// Calls a compiler; for inputs that share memory with views made from sizes and strides.
///
/// # Errors
/// Those of `call`, and whatever torch's settings raise.
pub(crate) fn compiled_with<'py>(
    examples: &Bound<'py, PyList>,
    inputs: &[AotInput],
    call: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    if !share_memory(examples, inputs)? {
        return call();
    }
    let py = examples.py();
    let config = py.import(intern!(py, names::AOT_CONFIG))?;
    let before = config.getattr(intern!(py, names::REPLAYS_VIEWS))?;
    config.setattr(intern!(py, names::REPLAYS_VIEWS), false)?;
    let result = call();
    config.setattr(intern!(py, names::REPLAYS_VIEWS), before)?;
    result
}

/// Whether two tensors have one storage.
fn share_memory(examples: &Bound<'_, PyList>, inputs: &[AotInput]) -> PyResult<bool> {
    let py = examples.py();
    let mut storages = FxHashSet::default();
    for (at, example) in examples.iter().enumerate() {
        let is_tensor = inputs
            .get(at)
            .is_none_or(|input| matches!(input, AotInput::Tensor { .. }));
        if !is_tensor {
            continue;
        }
        // A tensor of a layout without one shares nothing.
        let Ok(storage) = example.call_method0(intern!(py, "untyped_storage")) else {
            continue;
        };
        let identity: usize = storage.getattr(intern!(py, "_cdata"))?.extract()?;
        if !storages.insert(identity) {
            return Ok(true);
        }
    }
    Ok(false)
}
