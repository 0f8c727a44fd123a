//! Inputs that share memory, at a compiler.
//!
//! AOTAutograd makes such inputs from one tensor where the graph writes to them, and makes the views of them that it
//! returns by doing again what made them: of that tensor, not of the input, so that it raises. Its other way, from
//! sizes and strides, holds.

use fx_graph::AotInput;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use torch_abi::TorchAbi;
use torch_abi::overlap::objects_may_overlap;

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
    if !share_memory(examples, inputs) {
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

/// Whether two tensors, no parameters, share memory. Their classes are not asked.
fn share_memory(examples: &Bound<'_, PyList>, inputs: &[AotInput]) -> bool {
    let Some(abi) = TorchAbi::loaded() else {
        return false;
    };
    let is_free = |at| {
        let free = |input| {
            matches!(
                input,
                &AotInput::Tensor {
                    parameter: None,
                    ..
                }
            )
        };
        inputs.get(at).is_none_or(free)
    };
    let free = examples.iter().enumerate().filter(|(at, _)| is_free(*at));
    let free: Vec<_> = free.map(|(_, example)| example).collect();
    free.iter().enumerate().any(|(at, example)| {
        let mut before = free[..at].iter();
        before.any(|other| objects_may_overlap(abi, other, example))
    })
}
