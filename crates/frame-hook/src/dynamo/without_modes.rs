//! Calls of graphs that no torch function mode and no class of tensors sees: what they make of the operations is
//! in the graph already.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use torch_abi::names;
use variables::Obj;

/// Calls a compiled graph while `__torch_function__` is off.
#[pyclass(frozen, module = "ferrodyn._core")]
struct WithoutModes {
    graph: Obj,
    /// the class of contexts that turn it off
    off: Obj,
}

#[pymethods]
impl WithoutModes {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        let off = self.off.bind(py).call0()?;
        off.call_method0("__enter__")?;
        let result = self.graph.bind(py).call(args, kwargs);
        off.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
        result
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.graph)?;
        visit.call(&self.off)
    }
}

/// Who would see what a graph does.
#[derive(Clone, Copy, Debug)]
pub enum Seeing {
    /// function modes, and classes of tensors
    Modes,
    /// classes of tensors; the default device is a mode as well, and stays
    Classes,
}

impl Seeing {
    /// Who is not to see it, where function modes of the program were in force or a tensor's class may be asked.
    pub fn of(has_modes: bool, met_subclass: bool) -> Option<Seeing> {
        match (has_modes, met_subclass) {
            (true, _) => Some(Seeing::Modes),
            (false, true) => Some(Seeing::Classes),
            (false, false) => None,
        }
    }
}

/// What calls a graph so.
///
/// # Errors
/// `MemoryError`; where torch lacks the context.
pub fn wrap(py: Python<'_>, graph: Obj, by: Seeing) -> PyResult<Obj> {
    let off = py
        .import("torch")?
        .getattr("_C")?
        .getattr(match by {
            Seeing::Modes => names::NOBODY_IS_ASKED,
            Seeing::Classes => names::NO_CLASS_IS_ASKED,
        })?
        .unbind();
    Ok(Py::new(py, WithoutModes { graph, off })?.into_any())
}
