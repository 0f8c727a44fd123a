//! Edits of a whole graph: dead code, placeholders, rewriting of uses. Each makes the checkpoints
//! taken before it stale, if it changed anything.

use crate::arg::{Arg, Kwargs};
use crate::graph::{Graph, GraphError, distinct_inputs};
use crate::node::{NodeData, NodeId, OpKind};

impl Graph {
    /// Removes the nodes whose value nobody uses. Placeholders, the output and impure nodes stay.
    /// Returns what was removed, last first.
    pub fn eliminate_dead_code(&mut self) -> Vec<NodeId> {
        self.eliminate_dead_code_unless(|_, _| false)
    }

    /// As [`Graph::eliminate_dead_code`], keeping also the nodes for which `keep` holds.
    pub fn eliminate_dead_code_unless(
        &mut self,
        keep: impl Fn(NodeId, &NodeData) -> bool,
    ) -> Vec<NodeId> {
        let mut removed = Vec::new();
        for at in (0..self.body.len()).rev() {
            let id = self.body[at];
            let node = &self[id];
            if node.op != OpKind::Output && !node.impure && !self.has_users(id) && !keep(id, node) {
                self.clear(id);
                removed.push(id);
            }
        }
        if !removed.is_empty() {
            self.rewrites += 1;
            let nodes = &self.nodes;
            self.body
                .retain(|id| nodes[petgraph::graph::NodeIndex::new(id.index())].is_some());
        }
        removed
    }

    /// Removes a node that nobody uses. Its name and id are not given out again.
    ///
    /// # Errors
    /// [`GraphError::NoSuchNode`], [`GraphError::HasUsers`].
    pub fn erase(&mut self, id: NodeId) -> Result<(), GraphError> {
        let node = self.get(id).ok_or(GraphError::NoSuchNode { id })?;
        let users = self.user_count(id);
        if users > 0 {
            return Err(GraphError::HasUsers {
                name: node.name.clone(),
                users,
            });
        }
        let is_placeholder = node.op == OpKind::Placeholder;
        self.clear(id);
        self.rewrites += 1;
        let list = match is_placeholder {
            true => &mut self.placeholders,
            false => &mut self.body,
        };
        list.retain(|other| *other != id);
        Ok(())
    }

    /// Removes the placeholders that nobody uses; returns them in order.
    pub fn erase_unused_placeholders(&mut self) -> Vec<NodeId> {
        let unused: Vec<_> = self
            .placeholders
            .iter()
            .copied()
            .filter(|&id| !self.has_users(id) && !self[id].impure)
            .collect();
        if !unused.is_empty() {
            self.rewrites += 1;
            for &id in &unused {
                self.clear(id);
            }
            self.placeholders.retain(|id| !unused.contains(id));
        }
        unused
    }

    /// Sorts the placeholders by a key; those with equal keys keep their order.
    pub fn sort_placeholders_by_key<K: Ord>(
        &mut self,
        mut key: impl FnMut(NodeId, &NodeData) -> K,
    ) {
        let mut placeholders = std::mem::take(&mut self.placeholders);
        placeholders.sort_by_cached_key(|&id| key(id, &self[id]));
        self.placeholders = placeholders;
        self.rewrites += 1;
    }

    /// Replaces every use of the value `old` by `new`, and returns the nodes that were changed.
    ///
    /// # Errors
    /// [`GraphError::NoSuchNode`] where `old` is not in the graph.
    pub fn replace_uses(&mut self, old: NodeId, new: &Arg) -> Result<Vec<NodeId>, GraphError> {
        if self.get(old).is_none() {
            return Err(GraphError::NoSuchNode { id: old });
        }
        let users = self.users(old);
        for &user in &users {
            if let Some(node) = self.get_mut(user) {
                for arg in &mut node.args {
                    arg.replace_node(old, new);
                }
                for (_, arg) in &mut node.kwargs {
                    arg.replace_node(old, new);
                }
            }
            self.relink(user);
        }
        self.rewrites += u32::from(!users.is_empty());
        Ok(users)
    }

    /// Takes a node out that gives a tensor another class ([`NodeData::gives_class`]): who used it uses the tensor.
    ///
    /// # Errors
    /// [`GraphError::NoSuchNode`] where it is no such node.
    pub fn leave_class_to_caller(&mut self, id: NodeId) -> Result<(), GraphError> {
        let of = self.given_class(id).ok_or(GraphError::NoSuchNode { id })?;
        self.replace_uses(id, &Arg::Node(of))?;
        self.erase(id)
    }

    /// Gives a node other arguments.
    ///
    /// # Errors
    /// [`GraphError::NoSuchNode`].
    pub fn set_args(
        &mut self,
        id: NodeId,
        args: Vec<Arg>,
        kwargs: Kwargs,
    ) -> Result<(), GraphError> {
        let node = self.get_mut(id).ok_or(GraphError::NoSuchNode { id })?;
        node.args = args;
        node.kwargs = kwargs;
        self.relink(id);
        self.rewrites += 1;
        Ok(())
    }

    fn relink(&mut self, user: NodeId) {
        self.unlink(user);
        let inputs = distinct_inputs(&self[user]);
        self.link(&inputs, user);
    }

    /// Empties a node and frees its edges; the caller takes it off the order.
    pub(crate) fn clear(&mut self, id: NodeId) {
        self.unlink(id);
        if let Some(slot) = self
            .nodes
            .node_weight_mut(petgraph::graph::NodeIndex::new(id.index()))
        {
            *slot = None;
        }
    }
}
