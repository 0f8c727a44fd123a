//! A graph that an operation of another graph is given: a branch of `torch.cond`, the function that is checkpointed, a
//! hook.
//!
//! In our graph it is an object like others. In a graph of `torch.fx` it is a submodule, so that a backend finds its
//! operations; where a graph runs as it is, it is a function.

use fx_graph::Graph;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};

use crate::forward::{Numbers, forward_function};
use crate::to_torch::{Counts, ToTorch, to_torch};

/// The graph with the objects that its handles stand for.
#[pyclass(frozen, module = "ferrodyn._core")]
pub struct SubGraph {
    graph: Graph,
    objects: Vec<Py<PyAny>>,
    /// what the submodule is called, but for a number
    name: String,
    /// whether it is a module where the graph around it runs as it is, too: operators of torch look into it
    is_module: bool,
    callable: PyOnceLock<Py<PyAny>>,
}

/// Makes an object of a graph, by which the arguments of nodes name it. `is_module`: for an operator of torch, which
/// looks into it wherever it runs.
///
/// # Errors
/// `RuntimeError` for a graph that has no function.
pub fn subgraph(
    py: Python<'_>,
    graph: &Graph,
    objects: &[Py<PyAny>],
    name: &str,
    is_module: bool,
) -> PyResult<Py<PyAny>> {
    let made = SubGraph {
        graph: graph.clone(),
        objects: objects.iter().map(|o| o.clone_ref(py)).collect(),
        name: name.to_owned(),
        is_module,
        callable: PyOnceLock::new(),
    };
    made.callable(py)?;
    Ok(Py::new(py, made)?.into_any())
}

impl SubGraph {
    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The objects that its handles stand for.
    pub fn objects(&self) -> &[Py<PyAny>] {
        &self.objects
    }

    /// Whether it is a module where the graph around it runs as it is, too.
    pub fn is_module(&self) -> bool {
        self.is_module
    }

    /// What the submodule is called, but for a number.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What computes the graph where the one around it runs as it is.
    pub(crate) fn callable(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let make = || {
            if self.is_module {
                return self.module(py);
            }
            let (graph, objects) = (&self.graph, &self.objects);
            forward_function(py, graph, objects, &[], Numbers::AsGiven)?
                .ok_or_else(|| PyRuntimeError::new_err("a graph without a function"))
        };
        let callable = self.callable.get_or_try_init(py, make)?;
        Ok(callable.clone_ref(py))
    }

    /// The graph as a module of `torch.fx`.
    fn module(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        to_torch(py, &self.graph, &self.objects, &[])
    }

    /// The same, with the graphs in it numbered on.
    pub(crate) fn numbered_module(&self, py: Python<'_>, counts: &Counts) -> PyResult<Py<PyAny>> {
        let to_torch = ToTorch {
            counts: counts.clone(),
            ..ToTorch::default()
        };
        let made = to_torch.module(py, &self.graph, &self.objects, &[])?;
        Ok(made.module)
    }
}

#[pymethods]
impl SubGraph {
    #[pyo3(signature = (*args))]
    fn __call__(&self, py: Python<'_>, args: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        self.callable(py)?.call1(py, args)
    }

    fn __repr__(&self) -> String {
        self.name.clone()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.objects.iter().try_for_each(|o| visit.call(o))
    }
}
