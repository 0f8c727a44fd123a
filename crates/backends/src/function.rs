//! What a Python function is to a graph.

use std::sync::Arc;

use fx_graph::{FnOrigin, FnTarget};
use pyo3::intern;
use pyo3::prelude::*;

use crate::names;

/// Describes `function` as the target of a node: its printed form, its path, the stem of node
/// names and how generated code refers to it, as `torch.fx` has them. Asks for attributes of the
/// function; meant for functions of torch and the standard library, and cached by the caller.
///
/// # Errors
/// Only what attribute access raises; a function that torch cannot name gets a path of its own.
pub fn fn_target(function: &Bound<'_, PyAny>, handle: u32) -> PyResult<Arc<FnTarget>> {
    let py = function.py();
    let graph = py.import(intern!(py, names::FX_GRAPH))?;
    let hint = match function.getattr_opt(intern!(py, "__name__"))? {
        Some(name) => name.str()?.to_string(),
        None => function.get_type().name()?.to_string(),
    };
    let module = match function.getattr_opt(intern!(py, "__module__"))? {
        Some(module) if !module.is_none() => Some(module.str()?.to_string()),
        _ => None,
    };
    let path = match graph.call_method1(intern!(py, "_get_qualified_name"), (function,)) {
        Ok(path) => path.extract::<String>()?,
        Err(_) => format!("{}.{hint}", module.as_deref().unwrap_or("unknown")),
    };
    let origin = if module.as_deref() == Some("_operator") {
        FnOrigin::Operator
    } else if !path.contains('.') {
        FnOrigin::Builtin
    } else if path == "torch.device" {
        // Generated code has it as the global `device`.
        return Ok(Arc::new(FnTarget {
            handle,
            display: function.str()?.to_string().into(),
            path: "device".into(),
            hint: hint.into(),
            origin: FnOrigin::Builtin,
        }));
    } else if graph
        .call_method1(intern!(py, "_is_from_torch"), (function,))?
        .is_truthy()?
    {
        FnOrigin::Torch
    } else {
        FnOrigin::Global
    };
    Ok(Arc::new(FnTarget {
        handle,
        display: function.str()?.to_string().into(),
        path: path.into(),
        hint: hint.into(),
        origin,
    }))
}
