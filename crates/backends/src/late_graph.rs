//! A `torch.fx.Graph` whose nodes are made when somebody looks at them: most backends for which nothing is known give
//! the graph back unread.
//!
//! Such a graph lacks the attributes through which nodes are reached. The first read of one makes the nodes, and the
//! graph is of `torch.fx.Graph` from then on, with nothing that tells it from one that was made at once.
//!
//! Invariant: a graph that nobody has read has the nodes that it was given.

use std::sync::{Mutex, PoisonError};

use fx_graph::Graph;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::fx::{Fx, fx};
use crate::names;
use crate::own_class::OwnClass;
use crate::pristine::NodeFacts;
use crate::subgraph::SubGraph;
use crate::to_torch::{ToTorch, to_torch};

/// What is missing of a graph lies in its dictionary under this name.
const LATE: &str = "_late_nodes";

static LATE_GRAPH: OwnClass = OwnClass::new(CLASS, "LateGraph");

/// The class of a graph until somebody looks at its nodes. What makes them puts itself back where it fails.
const CLASS: &std::ffi::CStr = c"
import torch.fx

class LateGraph(torch.fx.Graph):
    def __getattr__(self, name):
        late = self.__dict__.get('_late_nodes')
        if late is None:
            raise AttributeError(name)
        late(self)
        return getattr(self, name)

    def __reduce_ex__(self, protocol):
        late = self.__dict__.get('_late_nodes')
        if late is not None:
            late(self)
        return self.__reduce_ex__(protocol)
";

/// The graph that a graph of torch's is to have the nodes of.
#[pyclass(frozen, module = "ferrodyn._core")]
pub(crate) struct LateNodes {
    graph: Graph,
    objects: Vec<Py<PyAny>>,
    /// the nodes as they were made, once they were
    made: Mutex<Option<Vec<NodeFacts>>>,
}

/// As [`to_torch`] for a graph whose root module has no attributes, but nodes are made at the first look.
///
/// # Errors
/// As [`to_torch`].
pub fn late_to_torch(py: Python<'_>, graph: &Graph, objects: &[Py<PyAny>]) -> PyResult<Py<PyAny>> {
    if needs_root(py, objects)? {
        return to_torch(py, graph, objects, &[]);
    }
    graph.debug_verify();
    let fx = fx(py)?;
    let torch_graph = fx.graph_class.bind(py).call0()?;
    let root = PyDict::new(py);
    let module = fx
        .lazy_module_class
        .bind(py)
        .call1((root, &torch_graph, "GraphModule"))?;
    let late = LateNodes {
        graph: graph.clone(),
        objects: objects.iter().map(|object| object.clone_ref(py)).collect(),
        made: Mutex::new(None),
    };
    strip(&torch_graph, &Bound::new(py, late)?)?;
    Ok(module.unbind())
}

/// Whether a node could be given what is an attribute of the root module: a graph, or an object without a text.
fn needs_root(py: Python<'_>, objects: &[Py<PyAny>]) -> PyResult<bool> {
    for object in objects {
        let object = object.bind(py);
        if object.is_exact_instance_of::<SubGraph>() || torch_abi::custom::is_custom_object(object)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes away from an empty graph what leads to its nodes.
fn strip(torch_graph: &Bound<'_, PyAny>, late: &Bound<'_, LateNodes>) -> PyResult<()> {
    let own = dictionary(torch_graph)?;
    for name in names::LEADS_TO_NODES {
        if own.contains(name)? {
            own.del_item(name)?;
        }
    }
    own.set_item(LATE, late)?;
    torch_graph.setattr("__class__", LATE_GRAPH.get(late.py())?)
}

fn dictionary<'py>(torch_graph: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let own = torch_graph.getattr(intern!(torch_graph.py(), "__dict__"))?;
    Ok(own.cast_into()?)
}

/// What a graph is to have the nodes of, where nobody has looked at them.
pub(crate) fn late<'py>(
    torch_graph: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, LateNodes>>> {
    let late = dictionary(torch_graph)?.get_item(intern!(torch_graph.py(), LATE))?;
    Ok(late.and_then(|late| late.cast_into().ok()))
}

/// Makes the nodes of a graph, where they are not made yet.
///
/// # Errors
/// As [`to_torch`].
pub(crate) fn fill(torch_graph: &Bound<'_, PyAny>) -> PyResult<()> {
    match late(torch_graph)? {
        Some(late) => LateNodes::__call__(&late, torch_graph),
        None => Ok(()),
    }
}

impl LateNodes {
    /// The nodes as they were made; `None` where they were not.
    pub(crate) fn made(&self) -> Option<Vec<NodeFacts>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.take()
    }

    fn make(&self, fx: &Fx, torch_graph: &Bound<'_, PyAny>) -> PyResult<()> {
        let direct = fx.direct(torch_graph.py());
        ToTorch::default().fill(torch_graph, (fx, direct), &self.graph, &self.objects)?;
        let facts = NodeFacts::of_graph(torch_graph)?;
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(facts);
        Ok(())
    }
}

#[pymethods]
impl LateNodes {
    /// Makes the nodes of the graph that this is missing of.
    fn __call__(slf: &Bound<'_, Self>, torch_graph: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = slf.py();
        let fx = fx(py)?;
        let own = dictionary(torch_graph)?;
        own.del_item(intern!(py, LATE))?;
        let kept = own.copy()?;
        torch_graph.setattr("__class__", &fx.graph_class)?;
        torch_graph.call_method0("__init__")?;
        own.update(kept.as_mapping())?;
        let made = slf.get().make(fx, torch_graph);
        if made.is_err() {
            interrupts::to_the_end(py, || strip(torch_graph, slf))?;
        }
        made
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.objects
            .iter()
            .try_for_each(|object| visit.call(object))
    }
}
