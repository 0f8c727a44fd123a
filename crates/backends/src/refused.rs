//! What an exception out of a backend means: a failure, a request, or the refusal of one operation.
//!
//! A backend that traces the graph once more runs it on fake tensors, which have no data. An
//! operation that needs data is refused there, and so is one that fake tensors do not know. Which
//! operation that was, the traceback tells.
//!
//! Invariant: decided by classes and objects only, never by a message.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFrame, PyTraceback};

use crate::names;
use torch_abi::imported::imported;

/// How many exceptions that wrap one another are looked through.
const MAX_WRAPPED: usize = 8;

/// What an exception out of a backend means.
pub(crate) enum Meaning {
    /// It reaches the program as it is.
    Passes,
    /// The backend asks to be called again with the same graph.
    Restart,
    /// The backend asks that the function runs in eager mode.
    Skip,
    /// An operation of the graph can't be traced. The node's name, where it is known.
    Refused(Option<String>),
    /// The backend failed.
    Failed,
}

/// Finds out what an exception means that a backend raised for `gm`.
pub(crate) fn meaning(cause: &PyErr, gm: &Bound<'_, PyAny>) -> PyResult<Meaning> {
    let py = gm.py();
    let is_any = |error: &Bound<'_, PyAny>, classes: &[(&str, &str)]| -> PyResult<bool> {
        for (module, name) in classes {
            if let Some(class) = loaded_class(py, module, name)?
                && error.is_instance(&class)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let error = cause.value(py).as_any().clone();
    if is_any(&error, &[names::RESTART])? {
        return Ok(Meaning::Restart);
    }
    if is_any(&error, &[names::SKIP_FRAME])? {
        return Ok(Meaning::Skip);
    }
    let mut refusal = Some(error.clone());
    for _ in 0..MAX_WRAPPED {
        let Some(error) = refusal else {
            break;
        };
        if is_any(&error, &names::REFUSALS)? {
            return Ok(Meaning::Refused(refused_node(&error, gm)?));
        }
        // torch's compilers keep the exception that they wrap in this attribute.
        let wrapped = match is_any(&error, &[names::SHORTEN_TRACEBACK])? {
            true => error.getattr_opt(intern!(py, "inner_exception"))?,
            false => None,
        };
        refusal = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.getattr_opt(intern!(py, "__cause__"))?,
        };
        refusal = refusal.filter(|error| !error.is_none());
    }
    match is_any(&error, &[names::SHORTEN_TRACEBACK])? {
        true => Ok(Meaning::Passes),
        false => Ok(Meaning::Failed),
    }
}

/// A class of a module that was imported. An exception of it can't exist otherwise.
fn loaded_class<'py>(
    py: Python<'py>,
    module: &str,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match imported(py, module)? {
        Some(module) => module.getattr_opt(name),
        None => Ok(None),
    }
}

/// Name of the node of `gm` that was running when an exception was raised. Of several that ran one
/// inside another, the outermost: the others are of graphs that its operation runs.
fn refused_node(error: &Bound<'_, PyAny>, gm: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = gm.py();
    let run_node = py
        .import(names::FX_INTERPRETER)?
        .getattr("Interpreter")?
        .getattr("run_node")?
        .getattr("__code__")?;
    let node_class = py.import(names::FX_NODE)?.getattr("Node")?;
    let mut next = error.getattr("__traceback__")?;
    while let Ok(traceback) = next.cast::<PyTraceback>() {
        let frame = traceback.getattr("tb_frame")?.cast_into::<PyFrame>()?;
        let code = frame.getattr("f_code")?;
        let node = if code.is(&run_node) {
            let locals = frame.getattr("f_locals")?;
            locals.get_item("n").ok()
        } else {
            node_at_line(gm, &code, traceback)?
        };
        if let Some(node) = node
            && node.is_instance(&node_class)?
            && let Some(own) = own_node(gm, &node)?
        {
            return Ok(Some(own));
        }
        next = traceback.getattr("tb_next")?;
    }
    Ok(None)
}

/// The name of a node, if the graph of `gm` has it: itself, or the one that it is a copy of.
fn own_node(gm: &Bound<'_, PyAny>, node: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let name = node.getattr("name")?;
    for own in gm.getattr("graph")?.getattr("nodes")?.try_iter()? {
        let own = own?;
        if own.is(node)
            || own.getattr("name")?.eq(&name)?
                && own.getattr("op")?.eq(node.getattr("op")?)?
                && own.getattr("target")?.is(node.getattr("target")?)
        {
            return name.extract().map(Some);
        }
    }
    Ok(None)
}

/// The node whose line of the generated code of `gm` was running.
fn node_at_line<'py>(
    gm: &Bound<'py, PyAny>,
    code: &Bound<'py, PyAny>,
    traceback: &Bound<'py, PyTraceback>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let forward = gm.getattr("forward")?;
    let Some(function) = forward.getattr_opt("__func__")? else {
        return Ok(None);
    };
    let Some(own) = function.getattr_opt("__code__")? else {
        return Ok(None);
    };
    let Some(lines) = gm.getattr_opt(names::LINES_OF_NODES)? else {
        return Ok(None);
    };
    if !own.is(code) || lines.is_none() {
        return Ok(None);
    }
    let start: i64 = code.getattr("co_firstlineno")?.extract()?;
    let line: i64 = traceback.getattr("tb_lineno")?.extract()?;
    let Ok(Ok(at)) = lines.get_item(line - start).map(|at| at.extract::<usize>()) else {
        return Ok(None);
    };
    let mut nodes = gm.getattr("graph")?.getattr("nodes")?.try_iter()?;
    nodes.nth(at).transpose()
}

/// The names of the symbols of floats that a backend asked to be constants when it asked for a restart.
///
/// # Errors
/// Whatever torch raises.
pub(crate) fn constant_floats(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let (module, name) = names::TENSORIFY_STATE;
    match loaded_class(py, module, name)? {
        Some(state) => state.getattr_opt(names::CONSTANT_FLOATS),
        None => Ok(None),
    }
}

/// Forgets which floats a backend asked to be constants when it asked for a restart.
///
/// # Errors
/// Whatever torch raises.
pub fn forget_restarts(py: Python<'_>) -> PyResult<()> {
    let (module, name) = names::TENSORIFY_STATE;
    match loaded_class(py, module, name)? {
        Some(state) => state.call_method0("clear").map(drop),
        None => Ok(()),
    }
}
