//! A part of a graph as a graph of its own.

use rustc_hash::FxHashMap;

use crate::arg::{Arg, Kwargs};
use crate::graph::{Checkpoint, Graph, GraphError};
use crate::node::NodeId;

impl Graph {
    /// The nodes that were added since a checkpoint, as a graph of their own that gives `outputs`. What they
    /// use of the rest are its placeholders: `inputs` first, whether or not they are used, then the
    /// others in the order of their use. Gives the graph and the nodes that the placeholders stand for.
    ///
    /// # Errors
    /// [`GraphError::StaleCheckpoint`] where nodes were erased, sorted or rewritten since;
    /// [`GraphError::NoSuchNode`] for an input that was dropped;
    /// [`GraphError::NameTaken`] where two inputs are the same.
    pub fn part_since(
        &self,
        from: Checkpoint,
        inputs: &[NodeId],
        outputs: &[NodeId],
    ) -> Result<(Graph, Vec<NodeId>), GraphError> {
        let body = self.body_since(from).ok_or(GraphError::StaleCheckpoint)?;
        self.part_of(body, inputs, outputs)
    }

    /// As [`Graph::part_since`], of the nodes that were added before another checkpoint.
    ///
    /// # Errors
    /// As [`Graph::part_since`].
    pub fn part_between(
        &self,
        from: Checkpoint,
        until: Checkpoint,
        inputs: &[NodeId],
        outputs: &[NodeId],
    ) -> Result<(Graph, Vec<NodeId>), GraphError> {
        let body = self.body_since(from).ok_or(GraphError::StaleCheckpoint)?;
        let later = self.body_since(until).ok_or(GraphError::StaleCheckpoint)?;
        let body = &body[..body.len().saturating_sub(later.len())];
        self.part_of(body, inputs, outputs)
    }

    fn part_of(
        &self,
        body: &[NodeId],
        inputs: &[NodeId],
        outputs: &[NodeId],
    ) -> Result<(Graph, Vec<NodeId>), GraphError> {
        let mut part = Graph::with_capacity(body.len());
        let mut placed: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let mut given = Vec::new();
        let own: rustc_hash::FxHashSet<NodeId> = body.iter().copied().collect();
        let used = body.iter().flat_map(|id| self.inputs(*id));
        for id in inputs
            .iter()
            .copied()
            .chain(used.filter(|i| !own.contains(i)))
        {
            if placed.contains_key(&id) {
                continue;
            }
            let node = self.get(id).ok_or(GraphError::NoSuchNode { id })?;
            let name = node.name.clone();
            let made = part.create_exactly_named(
                crate::OpKind::Placeholder,
                crate::Target::Name(name.clone()),
                Vec::new(),
                Kwargs::new(),
                name,
            )?;
            placed.insert(id, made);
            given.push(id);
        }
        for &id in body {
            let node = &self[id];
            let args = node.args.iter().map(|a| a.moved(&placed)).collect();
            let kwargs = node
                .kwargs
                .iter()
                .map(|(n, a)| (n.clone(), a.moved(&placed)))
                .collect();
            let made = part.create_exactly_named(
                node.op,
                node.target.clone(),
                args,
                kwargs,
                node.name.clone(),
            )?;
            part.set_source(made, &node.source);
            part.set_impure(made, node.impure);
            if node.repeatable {
                part.set_repeatable(made);
            }
            if node.draws {
                part.set_draws(made);
            }
            placed.insert(id, made);
        }
        let outputs = outputs
            .iter()
            .map(|id| Arg::Node(*id).moved(&placed))
            .collect();
        part.output(Arg::Tuple(outputs));
        part.eliminate_dead_code();
        Ok((part, given))
    }
}

impl Arg {
    /// The argument with other nodes in place of those that have moved.
    fn moved(&self, placed: &FxHashMap<NodeId, NodeId>) -> Arg {
        let all = |items: &[Arg]| items.iter().map(|i| i.moved(placed)).collect();
        match self {
            Arg::Node(id) => Arg::Node(placed.get(id).copied().unwrap_or(*id)),
            Arg::List(items) => Arg::List(all(items)),
            Arg::Tuple(items) => Arg::Tuple(all(items)),
            Arg::Dict(items) => Arg::Dict(
                items
                    .iter()
                    .map(|(k, v)| (k.moved(placed), v.moved(placed)))
                    .collect(),
            ),
            Arg::Slice(parts) => {
                let [a, b, c] = &**parts;
                Arg::slice(a.moved(placed), b.moved(placed), c.moved(placed))
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_part_uses_of_the_rest_is_given() {
        let mut graph = Graph::new();
        let x = graph.placeholder("x");
        let y = graph.call_method("relu", vec![x.into()], Kwargs::new());
        let before = graph.checkpoint();
        let z = graph.call_method("add", vec![x.into(), y.into()], Kwargs::new());
        graph.call_method("neg", vec![z.into()], Kwargs::new());
        let (part, given) = graph.part_since(before, &[y], &[z]).unwrap();
        assert_eq!(given, [y, x]);
        assert!(part.verify().is_ok());
        // Nobody uses `neg`.
        assert_eq!(part.op_count(), 1);
        assert_eq!(part.placeholders().len(), 2);
    }

    #[test]
    fn a_part_of_a_graph_that_was_rewritten_is_refused() {
        let mut graph = Graph::new();
        let x = graph.placeholder("x");
        let before = graph.checkpoint();
        let y = graph.call_method("relu", vec![x.into()], Kwargs::new());
        graph.erase(y).unwrap();
        assert!(graph.part_since(before, &[], &[]).is_err());
    }
}
