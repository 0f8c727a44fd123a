//! The `eager` backend without `torch.fx`: the graph as a Python function of its own.

use std::sync::atomic::{AtomicU64, Ordering};

use fx_graph::{Global, Graph};
use pyo3::exceptions::PyKeyError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat};

use crate::to_torch::Attrs;

static MADE: AtomicU64 = AtomicU64::new(0);

/// A Python function that computes what `to_torch(...).forward` would: positional arguments are the
/// placeholders in order. Attributes are bound when it is made.
///
/// # Errors
/// `KeyError` for a handle or an attribute that was not given; `SyntaxError` or `MemoryError` where
/// CPython cannot compile the function.
pub fn eager_callable(
    py: Python<'_>,
    graph: &Graph,
    objects: &[Py<PyAny>],
    attrs: &Attrs,
) -> PyResult<Py<PyAny>> {
    graph.debug_verify();
    let program = graph.program();
    let globals = PyDict::new(py);
    for (name, global) in &program.globals {
        let missing = || PyKeyError::new_err(format!("{global:?} was not given"));
        let value = match global {
            Global::Object(handle) => objects
                .get(*handle as usize)
                .ok_or_else(missing)?
                .clone_ref(py),
            Global::Attr(path) => attrs
                .iter()
                .find(|(known, _)| known == path)
                .ok_or_else(missing)?
                .1
                .clone_ref(py),
            Global::Infinity => PyFloat::new(py, f64::INFINITY).into_any().unbind(),
            Global::Nan => PyFloat::new(py, f64::NAN).into_any().unbind(),
        };
        globals.set_item(&**name, value)?;
    }
    let builtins = py.import(intern!(py, "builtins"))?;
    globals.set_item(intern!(py, "__builtins__"), &builtins)?;
    globals.set_item(intern!(py, "__name__"), "ferrodyn.graph")?;
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let kwargs = PyDict::new(py);
    kwargs.set_item(intern!(py, "dont_inherit"), true)?;
    let code = builtins.call_method(
        intern!(py, "compile"),
        (program.source, format!("<ferrodyn graph {number}>"), "exec"),
        Some(&kwargs),
    )?;
    let locals = PyDict::new(py);
    builtins.call_method1(intern!(py, "exec"), (code, &globals, &locals))?;
    match locals.get_item(intern!(py, "forward"))? {
        Some(function) => Ok(function.unbind()),
        None => Err(PyKeyError::new_err("forward")),
    }
}
