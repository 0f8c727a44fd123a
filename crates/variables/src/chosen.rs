//! Tensors of a graph that stand for one of two others: `max(a, b)`, of which the program has the very object.
//!
//! Whoever needs the object gets it behind the graph. Within the graph its value does, as long as no write would be seen
//! through the one and not through the others.

use fx_graph::{Arg, Graph, NodeData, NodeId, OpKind};
use rustc_hash::FxHashSet;
use tensor_meta::Does;

use crate::raising::traits_of;

/// Whether the program could tell a value that stands for one of two tensors from that tensor; `outputs` are the nodes
/// that the graph gives.
pub fn can_be_told(graph: &Graph, outputs: &[NodeId]) -> bool {
    let chosen = graph.iter().filter(|(_, node)| node.chooses);
    let chosen: Vec<NodeId> = chosen.map(|(id, _)| id).collect();
    chosen
        .into_iter()
        .any(|id| Sides::of(graph, id).can_be_told(outputs))
}

/// What lies in the memory of such a value, and what in that of the tensors that it may be.
struct Sides<'g> {
    graph: &'g Graph,
    value: NodeId,
    of_value: FxHashSet<NodeId>,
    of_tensors: FxHashSet<NodeId>,
}

impl<'g> Sides<'g> {
    fn of(graph: &'g Graph, value: NodeId) -> Self {
        let mut of_tensors: FxHashSet<NodeId> = FxHashSet::default();
        let [_, one, other] = graph.chosen(value).unwrap_or([value; 3]);
        let mut open = vec![one, other];
        while let Some(node) = open.pop() {
            if of_tensors.insert(node) && graph.get(node).is_some_and(|data| !is_new(data)) {
                open.extend(graph.inputs(node));
            }
        }
        let mut of_value: FxHashSet<NodeId> = [value].into_iter().collect();
        for (id, data) in graph.iter() {
            if id == value || is_new(data) {
                continue;
            }
            let inputs = graph.inputs(id);
            for side in [&mut of_value, &mut of_tensors] {
                if inputs.iter().any(|input| side.contains(input)) {
                    side.insert(id);
                }
            }
        }
        Self {
            graph,
            value,
            of_value,
            of_tensors,
        }
    }

    fn can_be_told(&self, outputs: &[NodeId]) -> bool {
        let is_from_outside = |id: &NodeId| {
            let input = |data: &NodeData| matches!(data.op, OpKind::Placeholder | OpKind::GetAttr);
            self.graph.get(*id).is_some_and(input)
        };
        let is_given = |side: &FxHashSet<NodeId>| outputs.iter().any(|id| side.contains(id));
        let tensors_stay =
            is_given(&self.of_tensors) || self.of_tensors.iter().any(is_from_outside);
        // The value itself is replaced where it is given out.
        let value_stays = is_given(&self.of_value);
        if value_stays && tensors_stay {
            return true;
        }
        let mut behind = self.graph.iter().skip_while(|(id, _)| *id != self.value);
        behind.next();
        let behind: Vec<_> = behind.collect();
        for (at, (id, data)) in behind.iter().enumerate() {
            if !may_write(data) {
                continue;
            }
            let written = written(self.graph, *id, data);
            let writes_to = |side: &FxHashSet<NodeId>| written.iter().any(|id| side.contains(id));
            let is_used = |side: &FxHashSet<NodeId>| {
                let later = behind[at..].iter();
                later
                    .flat_map(|(id, _)| self.graph.inputs(*id))
                    .any(|id| side.contains(&id))
            };
            if writes_to(&self.of_value) && (tensors_stay || is_used(&self.of_tensors))
                || writes_to(&self.of_tensors) && (value_stays || is_used(&self.of_value))
            {
                return true;
            }
        }
        false
    }
}

/// Whether a node certainly gives a tensor with memory of its own.
fn is_new(data: &NodeData) -> bool {
    data.owns_memory
}

/// Whether a node may write to what it is given.
fn may_write(data: &NodeData) -> bool {
    let is_call = !matches!(
        data.op,
        OpKind::Placeholder | OpKind::GetAttr | OpKind::Output
    );
    is_call && (traits_of(data).any(Does::WRITES) || !(data.repeatable || data.draws))
}

/// What a node that writes may write to.
fn written(graph: &Graph, id: NodeId, data: &NodeData) -> Vec<NodeId> {
    let has_receiver = match data.target.function() {
        Some(function) => function.path.starts_with("operator."),
        None => data.op == OpKind::CallMethod,
    };
    let is_known = has_receiver && traits_of(data).any(Does::WRITES) && data.kwargs.is_empty();
    match data.args.first() {
        Some(Arg::Node(receiver)) if is_known => vec![*receiver],
        _ => graph.inputs(id),
    }
}
