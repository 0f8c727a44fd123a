//! Graphs that operations of a captured graph are given: taken apart to be written, and made of what was read.

use backends::SubGraph;
use captures::{GraphPart, Why};
use fx_graph::KeptGraph;
use pyo3::prelude::*;

/// The name of a dtype as it stands in the program.
pub(super) fn dtype(name: &str) -> Option<&'static str> {
    tensor_meta::DType::from_name(name).map(|dtype| dtype.name())
}

/// The parts of a graph that an operation is given; `None` for any other object.
pub(super) fn take_apart(object: &Bound<'_, PyAny>) -> Option<GraphPart> {
    let part = object.cast_exact::<SubGraph>().ok()?.get();
    Some(GraphPart {
        graph: part.graph().clone(),
        objects: part.objects().to_vec(),
        name: part.name().to_owned(),
        is_module: part.is_module(),
    })
}

/// The graph again.
pub(super) fn make(
    py: Python<'_>,
    graph: KeptGraph,
    objects: &[Py<PyAny>],
    name: &str,
    is_module: bool,
) -> Result<Py<PyAny>, Why> {
    let graph = graph.graph(dtype);
    let graph = graph.ok_or_else(|| Why("a graph in the graph is none".into()))?;
    Ok(backends::subgraph(py, &graph, objects, name, is_module)?)
}
