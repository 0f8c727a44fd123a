//! Whether a frame met on the way can hold tensor work at all.
//!
//! Inside a compiled region every plain Python function that runs between two graphs is seen.
//! One that gets no tensor and names no torch module is left alone: interpreting it would cost
//! more than it could gain.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyModule, PyTuple};
use torch_abi::{TensorClass, TorchAbi};
use translator::raw::{as_dict, instance_dict};

use eval_frame::frame::FrameRef;

/// How deep containers and objects are looked into.
const DEPTH: u32 = 3;
/// How many items of a container are looked at.
const ITEMS: usize = 64;

/// Whether the code of a frame names a module of torch among its globals.
pub fn names_torch(py: Python<'_>, frame: &FrameRef<'_>) -> bool {
    let globals = frame.globals(py);
    let Ok(names) = frame
        .code(py)
        .getattr("co_names")
        .and_then(|n| Ok(n.cast_into::<PyTuple>()?))
    else {
        return true;
    };
    names.iter().any(|name| {
        let Ok(Some(value)) = globals.get_item(&name) else {
            return false;
        };
        let module = match value.cast::<PyModule>() {
            Ok(m) => m.name().map(|n| n.to_string()),
            Err(_) => value
                .getattr("__module__")
                .and_then(|m| m.extract::<String>()),
        };
        module.is_ok_and(|m| m == "torch" || m.starts_with("torch."))
    })
}

/// Whether an argument is, or holds, a tensor or a module with tensors.
pub fn holds_tensors(py: Python<'_>, frame: &FrameRef<'_>) -> bool {
    let Some(abi) = TorchAbi::loaded() else {
        return true;
    };
    (0..frame.arguments().len())
        .filter_map(|i| frame.local(py, i))
        .chain(
            frame
                .closure(py)
                .into_iter()
                .flat_map(|c| c.iter().collect::<Vec<_>>()),
        )
        .any(|v| has_tensor(abi, &v, DEPTH))
}

/// Whether the first argument is a module.
pub fn is_of_module(py: Python<'_>, frame: &FrameRef<'_>) -> bool {
    let Some(first) = frame.local(py, 0) else {
        return false;
    };
    instance_dict(&first).is_some_and(|d| d.contains("_modules").unwrap_or(false))
}

fn has_tensor(abi: &TorchAbi, value: &Bound<'_, PyAny>, depth: u32) -> bool {
    if abi.classify(value) != TensorClass::No {
        return true;
    }
    if depth == 0 {
        return false;
    }
    let any = |v: &Bound<'_, PyAny>| has_tensor(abi, v, depth - 1);
    if let Ok(l) = value.cast::<PyList>() {
        return l.iter().take(ITEMS).any(|v| any(&v));
    }
    if let Ok(t) = value.cast::<PyTuple>() {
        return t.iter().take(ITEMS).any(|v| any(&v));
    }
    if let Some(d) = as_dict(value) {
        return d.iter().take(ITEMS).any(|(_, v)| any(&v));
    }
    if value.is_instance_of::<PyModule>() || value.is_instance_of::<pyo3::types::PyType>() {
        return false;
    }
    if value.get_type().name().is_ok_and(|n| n == "cell") {
        return value.getattr("cell_contents").is_ok_and(|v| any(&v));
    }
    instance_dict(value).is_some_and(|d| d.iter().take(ITEMS).any(|(_, v)| any(&v)))
}
