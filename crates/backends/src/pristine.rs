//! Whether a backend left the `torch.fx.Graph` that it was given as it was.
//!
//! If so, what `gm.forward` would compute is known without its text. Anything that `torch.fx` would
//! generate other code for counts as a change.

use pyo3::intern;
use pyo3::prelude::*;

use crate::late_graph::{self, LateNodes};
use crate::names;

/// What a graph module was when it was given away.
pub(crate) struct Pristine {
    graph: Py<PyAny>,
    codegen: Py<PyAny>,
    nodes: Nodes,
}

/// The nodes of a graph.
enum Nodes {
    /// in order
    Made(Vec<NodeFacts>),
    /// those that a look would make
    Late(Py<LateNodes>),
}

/// A node with what code is generated from: its kind, target and arguments.
pub(crate) struct NodeFacts([Py<PyAny>; 5]);

impl NodeFacts {
    /// Those of a graph, in order.
    pub(crate) fn of_graph(graph: &Bound<'_, PyAny>) -> PyResult<Vec<NodeFacts>> {
        let mut nodes = Vec::new();
        each_node(graph, |facts| {
            nodes.push(NodeFacts(facts.map(Bound::unbind)));
            true
        })?;
        Ok(nodes)
    }
}

impl Pristine {
    /// Notes what `gm` is; `None` where its code is not plainly that of its nodes.
    pub(crate) fn of(gm: &Bound<'_, PyAny>) -> PyResult<Option<Pristine>> {
        let py = gm.py();
        // Not by the attribute that others read: a read is a look (`late_context`).
        let graph = gm.getattr(intern!(py, names::GRAPH_FIELD))?;
        let codegen = graph.getattr(intern!(py, "_codegen"))?;
        if !generates_plainly(&graph, &codegen)? {
            return Ok(None);
        }
        let nodes = match late_graph::late(&graph)? {
            Some(late) => Nodes::Late(late.unbind()),
            None => Nodes::Made(NodeFacts::of_graph(&graph)?),
        };
        Ok(Some(Pristine {
            graph: graph.unbind(),
            codegen: codegen.unbind(),
            nodes,
        }))
    }

    /// Whether `gm` is still that.
    pub(crate) fn holds(&self, gm: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = gm.py();
        // Not by the attribute that others read: a read is a look (`late_context`).
        let graph = gm.getattr(intern!(py, names::GRAPH_FIELD))?;
        let codegen = graph.getattr(intern!(py, "_codegen"))?;
        if !graph.is(&self.graph)
            || !codegen.is(&self.codegen)
            || !generates_plainly(&graph, &codegen)?
        {
            return Ok(false);
        }
        let made = match &self.nodes {
            Nodes::Late(_) if late_graph::late(&graph)?.is_some() => return Ok(true),
            Nodes::Late(late) => &late.get().made().unwrap_or_default(),
            Nodes::Made(made) => made,
        };
        let mut known = made.iter();
        let same = each_node(&graph, |facts| {
            known
                .next()
                .is_some_and(|old| facts.iter().zip(&old.0).all(|(new, old)| new.is(old)))
        })?;
        Ok(same && known.next().is_none())
    }
}

/// Whether nothing but its nodes has a say in a graph's code.
fn generates_plainly(graph: &Bound<'_, PyAny>, codegen: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = graph.py();
    let class = py
        .import(intern!(py, names::FX_GRAPH))?
        .getattr("CodeGen")?;
    let transformer = codegen.getattr_opt(intern!(py, "_body_transformer"))?;
    let profiled = py
        .import(intern!(py, names::FX_CONFIG))?
        .getattr_opt(intern!(py, names::ENRICH_PROFILER))?;
    let fields = graph.getattr_opt(intern!(py, "_co_fields"))?;
    Ok(codegen.get_type().is(&class)
        && transformer.is_none_or(|t| t.is_none())
        && !fields.is_some_and(|f| f.is_truthy().unwrap_or(true))
        && !profiled.is_some_and(|p| p.is_truthy().unwrap_or(true)))
}

/// Calls `visit` with each node, its kind, target and arguments, as long as it returns true; whether
/// it always did.
fn each_node<'py>(
    graph: &Bound<'py, PyAny>,
    mut visit: impl FnMut([Bound<'py, PyAny>; 5]) -> bool,
) -> PyResult<bool> {
    let py = graph.py();
    let root = graph.getattr(intern!(py, "_root"))?;
    let mut node = root.getattr(intern!(py, "_next"))?;
    while !node.is(&root) {
        let next = node.getattr(intern!(py, "_next"))?;
        let facts = [
            node.getattr(intern!(py, "op"))?,
            node.getattr(intern!(py, "target"))?,
            node.getattr(intern!(py, "_args"))?,
            node.getattr(intern!(py, "_kwargs"))?,
            node,
        ];
        if !visit(facts) {
            return Ok(false);
        }
        node = next;
    }
    Ok(true)
}
