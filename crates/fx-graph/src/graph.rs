//! The graph itself: creation of nodes, order, users, checkpoints. Passes over a whole graph are in
//! `passes`; checks in `verify`.
//!
//! Invariant: an edge of the petgraph graph runs from a value to a user for each distinct
//! (value, user) pair; petgraph's node indices are creation indices, because a node is never removed
//! from it but emptied. So no id is ever given to two nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use petgraph::{Direction, Incoming, Outgoing};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use thiserror::Error;

use crate::arg::{Arg, Kwargs};
use crate::names::{Namespace, target_stem};
use crate::node::{FnTarget, ModuleCall, NodeData, NodeId, OpKind, SourceStack, Target, TypeExpr};

/// What an edit of a graph can be refused for.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum GraphError {
    /// The node is not in the graph (never was, or was erased).
    #[error("node %{0} is not in the graph", id.0)]
    NoSuchNode {
        /// The node asked for.
        id: NodeId,
    },
    /// A node that others use cannot be erased.
    #[error("node {name} still has {users} users")]
    HasUsers {
        /// Name of the node.
        name: Arc<str>,
        /// How many nodes use it.
        users: usize,
    },
    /// A name that must be taken as it is was in use already.
    #[error("the name {0:?} is in use already")]
    NameTaken(Arc<str>),
    /// Nodes were erased, sorted or rewritten since the checkpoint was taken.
    #[error("the graph was rewritten since the checkpoint was taken")]
    StaleCheckpoint,
}

/// A point in the making of a graph to which [`Graph::restore`] can return. Sixteen bytes or so;
/// taking one copies no node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    nodes: u32,
    placeholders: u32,
    body: u32,
    names: u32,
    rewrites: u32,
}

impl Checkpoint {
    /// Whether the graph had nothing but placeholders.
    pub fn has_only_placeholders(&self) -> bool {
        self.body == 0
    }
}

/// An FX graph.
///
/// Nodes run in the order of [`Graph::order`]: the placeholders, then all others as created. A
/// placeholder may therefore be created late and still comes first.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(crate) nodes: DiGraph<Option<NodeData>, ()>,
    pub(crate) placeholders: Vec<NodeId>,
    pub(crate) body: Vec<NodeId>,
    pub(crate) names: Namespace,
    /// Counts the edits that a checkpoint cannot undo.
    pub(crate) rewrites: u32,
    /// Who wants to know how many nodes there are while it is made.
    shown_len: Option<Arc<AtomicUsize>>,
}

fn index(id: NodeId) -> NodeIndex {
    NodeIndex::new(id.index())
}

fn id_of(index: NodeIndex) -> NodeId {
    NodeId(index.index() as u32)
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// An empty graph with room for `nodes` nodes.
    pub fn with_capacity(nodes: usize) -> Graph {
        Graph {
            nodes: DiGraph::with_capacity(nodes, nodes * 2),
            body: Vec::with_capacity(nodes),
            ..Graph::default()
        }
    }

    /// Adds an input called `name`, with no default. It is ordered after the other placeholders
    /// and before all other nodes, whenever it is made.
    ///
    /// Generated code gives parameters the names of their values one after the other (`input_1 = input`), so that
    /// none may be called as the value of one before it.
    pub fn placeholder(&mut self, name: impl Into<Arc<str>>) -> NodeId {
        let parameter = name.into();
        let name = self.names.create(&target_stem(&parameter, false));
        let taken = name != parameter
            && (self.placeholders.iter()).any(|&other| self[other].name == parameter);
        let target = Target::Name(if taken { name.clone() } else { parameter });
        self.insert(OpKind::Placeholder, target, Vec::new(), Kwargs::new(), name)
    }

    /// Adds a read of the attribute `qualified_name` (`layer.weight`) of the root module.
    pub fn get_attr(&mut self, qualified_name: impl Into<Arc<str>>) -> NodeId {
        self.create(
            OpKind::GetAttr,
            Target::Name(qualified_name.into()),
            Vec::new(),
            Kwargs::new(),
        )
    }

    /// Adds a call of a function.
    pub fn call_function(
        &mut self,
        target: impl Into<Arc<FnTarget>>,
        args: Vec<Arg>,
        kwargs: Kwargs,
    ) -> NodeId {
        self.create(
            OpKind::CallFunction,
            Target::Function(target.into()),
            args,
            kwargs,
        )
    }

    /// Adds a call of the method `name` of `args[0]`.
    pub fn call_method(
        &mut self,
        name: impl Into<Arc<str>>,
        args: Vec<Arg>,
        kwargs: Kwargs,
    ) -> NodeId {
        self.create(OpKind::CallMethod, Target::Name(name.into()), args, kwargs)
    }

    /// Adds a call of the submodule `qualified_name` of the root module.
    pub fn call_module(
        &mut self,
        qualified_name: impl Into<Arc<str>>,
        args: Vec<Arg>,
        kwargs: Kwargs,
    ) -> NodeId {
        self.create(
            OpKind::CallModule,
            Target::Name(qualified_name.into()),
            args,
            kwargs,
        )
    }

    /// Adds the output. A graph has at most one and it is made last.
    pub fn output(&mut self, value: Arg) -> NodeId {
        self.create(
            OpKind::Output,
            Target::Name("output".into()),
            vec![value],
            Kwargs::new(),
        )
    }

    /// Adds a node, named after its target.
    pub fn create(&mut self, op: OpKind, target: Target, args: Vec<Arg>, kwargs: Kwargs) -> NodeId {
        let name = match &target {
            Target::Name(name) => self.names.create(&target_stem(name, false)),
            Target::Function(function) => self.names.create(&target_stem(&function.hint, true)),
        };
        self.insert(op, target, args, kwargs, name)
    }

    /// Adds a node called exactly `name`; for graphs that come from elsewhere.
    ///
    /// # Errors
    /// [`GraphError::NameTaken`].
    pub fn create_exactly_named(
        &mut self,
        op: OpKind,
        target: Target,
        args: Vec<Arg>,
        kwargs: Kwargs,
        name: Arc<str>,
    ) -> Result<NodeId, GraphError> {
        if !self.names.reserve(&name) {
            return Err(GraphError::NameTaken(name));
        }
        Ok(self.insert(op, target, args, kwargs, name))
    }

    fn insert(
        &mut self,
        op: OpKind,
        target: Target,
        args: Vec<Arg>,
        kwargs: Kwargs,
        name: Arc<str>,
    ) -> NodeId {
        let data = NodeData {
            op,
            target,
            args,
            kwargs,
            name,
            type_expr: None,
            source: SourceStack::empty(),
            module: None,
            impure: false,
            number_dtype: None,
            may_refuse_arguments: false,
            draws: false,
            keeps_random_state: false,
            may_refuse_write: false,
            owns_memory: false,
            gives_class: false,
            chooses: false,
            repeatable: false,
        };
        let inputs = distinct_inputs(&data);
        let node = self.nodes.add_node(Some(data));
        let id = id_of(node);
        self.link(&inputs, id);
        match op {
            OpKind::Placeholder => self.placeholders.push(id),
            _ => self.body.push(id),
        }
        self.show_len();
        id
    }

    /// Writes how many nodes there are into `len` from now on, whenever some are added or taken back.
    pub fn show_len_in(&mut self, len: Option<Arc<AtomicUsize>>) {
        self.shown_len = len;
        self.show_len();
    }

    fn show_len(&self) {
        if let Some(len) = &self.shown_len {
            len.store(self.len(), Ordering::Relaxed);
        }
    }

    /// Adds the edges to `user`. An input that does not exist gets none; the verifier reports it.
    pub(crate) fn link(&mut self, inputs: &[NodeId], user: NodeId) {
        for &input in inputs {
            if self.get(input).is_some() {
                self.nodes.add_edge(index(input), index(user), ());
            }
        }
    }

    /// Removes the edges to `user`.
    pub(crate) fn unlink(&mut self, user: NodeId) {
        while let Some(edge) = self.nodes.edges_directed(index(user), Incoming).next() {
            let edge = edge.id();
            self.nodes.remove_edge(edge);
        }
    }

    /// The node, where it is in the graph.
    pub fn get(&self, id: NodeId) -> Option<&NodeData> {
        self.nodes.node_weight(index(id))?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: NodeId) -> Option<&mut NodeData> {
        self.nodes.node_weight_mut(index(id))?.as_mut()
    }

    /// The node's name.
    ///
    /// # Panics
    /// Where the node is not in the graph.
    pub fn name(&self, id: NodeId) -> &Arc<str> {
        &self[id].name
    }

    /// How many nodes the graph has.
    pub fn len(&self) -> usize {
        self.placeholders.len() + self.body.len()
    }

    /// Whether the graph has no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many nodes other than placeholders and the output the graph has.
    pub fn op_count(&self) -> usize {
        self.body.len() - usize::from(self.output_node().is_some())
    }

    /// How many calls the graph has.
    pub fn call_count(&self) -> usize {
        let calls = self
            .iter()
            .filter(|(_, node)| node.op.as_str().starts_with("call_"));
        calls.count()
    }

    /// One more than the largest id ever given: the length of a table indexed by [`NodeId`].
    pub fn id_bound(&self) -> usize {
        self.nodes.node_count()
    }

    /// The nodes in the order in which they run.
    pub fn order(&self) -> impl DoubleEndedIterator<Item = NodeId> + Clone + '_ {
        self.placeholders.iter().chain(&self.body).copied()
    }

    /// The nodes in the order in which they run, with their data.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (NodeId, &NodeData)> + '_ {
        self.order().map(|id| (id, &self[id]))
    }

    /// Whether every node but the placeholders is one of these, or may run again and is used for such alone.
    pub fn is_only_for(&self, mut nodes: FxHashSet<NodeId>) -> bool {
        self.iter().rev().all(|(id, node)| {
            if node.op == OpKind::Placeholder || nodes.contains(&id) {
                return true;
            }
            let users = self.users(id);
            let is_for = !users.is_empty() && users.iter().all(|user| nodes.contains(user));
            node.repeatable && is_for && nodes.insert(id)
        })
    }

    /// The placeholders, in the order of the arguments.
    pub fn placeholders(&self) -> &[NodeId] {
        &self.placeholders
    }

    /// The output, where there is one.
    pub fn output_node(&self) -> Option<NodeId> {
        let last = *self.body.last()?;
        (self[last].op == OpKind::Output).then_some(last)
    }

    /// The nodes that use the value, each once, in the order in which they came to.
    pub fn users(&self, id: NodeId) -> Vec<NodeId> {
        self.neighbours(id, Outgoing)
    }

    /// How many nodes use the value.
    pub fn user_count(&self, id: NodeId) -> usize {
        self.nodes.neighbors_directed(index(id), Outgoing).count()
    }

    /// Whether any node uses the value.
    pub fn has_users(&self, id: NodeId) -> bool {
        self.nodes
            .neighbors_directed(index(id), Outgoing)
            .next()
            .is_some()
    }

    /// The nodes among the arguments, each once, in the order of the arguments.
    pub fn inputs(&self, id: NodeId) -> Vec<NodeId> {
        self.neighbours(id, Incoming)
    }

    fn neighbours(&self, id: NodeId, direction: Direction) -> Vec<NodeId> {
        // petgraph lists the newest edge first.
        let mut ids: Vec<_> = self
            .nodes
            .neighbors_directed(index(id), direction)
            .map(id_of)
            .collect();
        ids.reverse();
        ids
    }

    /// The names in use, erased nodes' among them.
    pub fn namespace(&self) -> &Namespace {
        &self.names
    }

    /// Says which of the user's frames made the node.
    pub fn set_source(&mut self, id: NodeId, source: &SourceStack) {
        if let Some(node) = self.get_mut(id) {
            node.source = source.clone();
        }
    }

    /// Says which call of a module made the node.
    pub fn set_module(&mut self, id: NodeId, module: Option<&Arc<ModuleCall>>) {
        if let Some(node) = self.get_mut(id) {
            node.module = module.cloned();
        }
    }

    /// Marks the node as having an effect, so that dead-code removal keeps it.
    pub fn set_impure(&mut self, id: NodeId, impure: bool) {
        if let Some(node) = self.get_mut(id) {
            node.impure = impure;
        }
    }

    /// Says of which dtype a tensor may take the place of a number among the node's arguments.
    pub fn set_number_dtype(&mut self, id: NodeId, dtype: &'static str) {
        if let Some(node) = self.get_mut(id) {
            node.number_dtype = Some(dtype);
        }
    }

    /// Says that nobody can tell whether the node ran twice.
    pub fn set_repeatable(&mut self, id: NodeId) {
        if let Some(node) = self.get_mut(id) {
            node.repeatable = true;
        }
    }

    /// Says that nobody could tell whether the node ran twice, but for the random numbers that it draws.
    pub fn set_draws(&mut self, id: NodeId) {
        if let Some(node) = self.get_mut(id) {
            node.draws = true;
        }
    }

    /// Says that the state of the random generator is kept from before the node.
    pub fn set_keeps_random_state(&mut self, id: NodeId) {
        if let Some(node) = self.get_mut(id) {
            node.keeps_random_state = true;
        }
    }

    /// Says that the node allocates the memory of its tensor.
    pub fn set_owns_memory(&mut self, id: NodeId) {
        if let Some(node) = self.get_mut(id) {
            node.owns_memory = true;
        }
    }

    /// Says that the node may raise for what its arguments are.
    pub fn set_may_refuse_arguments(&mut self, id: NodeId) {
        if let Some(node) = self.get_mut(id) {
            node.may_refuse_arguments = true;
        }
    }

    /// Says that the write of the node may be refused before it begins.
    pub fn set_may_refuse_write(&mut self, id: NodeId) {
        if let Some(node) = self.get_mut(id) {
            node.may_refuse_write = true;
        }
    }

    /// Says that the value is the first argument's tensor under another class.
    pub fn set_gives_class(&mut self, id: NodeId) {
        if let Some(node) = self.get_mut(id) {
            node.gives_class = true;
        }
    }

    /// Says that the value stands for one of the arguments.
    pub fn set_chooses(&mut self, id: NodeId) {
        if let Some(node) = self.get_mut(id) {
            node.chooses = true;
        }
    }

    /// What a node decides by that stands for one of its arguments, and these two.
    pub fn chosen(&self, id: NodeId) -> Option<[NodeId; 3]> {
        let node = self.get(id).filter(|node| node.chooses)?;
        match &node.args[..] {
            [Arg::Node(by), Arg::Node(one), Arg::Node(other)] => Some([*by, *one, *other]),
            _ => None,
        }
    }

    /// The node whose tensor a node gives another class.
    pub fn given_class(&self, id: NodeId) -> Option<NodeId> {
        let node = self.get(id).filter(|node| node.gives_class)?;
        match node.args.first() {
            Some(Arg::Node(of)) => Some(*of),
            _ => None,
        }
    }

    /// Annotates the value with a type.
    pub fn set_type(&mut self, id: NodeId, type_expr: Option<Arc<TypeExpr>>) {
        if let Some(node) = self.get_mut(id) {
            node.type_expr = type_expr;
        }
    }

    /// Where the graph is now. O(1).
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            nodes: self.nodes.node_count() as u32,
            placeholders: self.placeholders.len() as u32,
            body: self.body.len() as u32,
            names: self.names.mark() as u32,
            rewrites: self.rewrites,
        }
    }

    /// The nodes that were added since the checkpoint, placeholders aside; `None` where it is stale.
    /// The nodes that were added since a checkpoint, placeholders aside; none where it is stale.
    pub fn added_since(&self, from: Checkpoint) -> &[NodeId] {
        self.body_since(from).unwrap_or_default()
    }

    pub(crate) fn body_since(&self, from: Checkpoint) -> Option<&[NodeId]> {
        (from.rewrites == self.rewrites)
            .then(|| self.body.get(from.body as usize..))
            .flatten()
    }

    /// Drops the nodes and names made since the checkpoint, in time proportional to their number.
    /// What was set on older nodes ([`Graph::set_source`] and the like) stays. Names are given out
    /// again, ids are not: whoever still holds the id of a dropped node finds no node by it, instead
    /// of another one.
    ///
    /// # Errors
    /// [`GraphError::StaleCheckpoint`] where nodes were erased, sorted or rewritten since, or the
    /// graph is already back before that point; the graph is then unchanged.
    pub fn restore(&mut self, to: Checkpoint) -> Result<(), GraphError> {
        let (placeholders, body) = (to.placeholders as usize, to.body as usize);
        // All nodes of the checkpoint are older than the checkpoint. A list that went back and grew
        // again has a younger node at the checkpoint's last place.
        let holds = |list: &[NodeId], len: usize| {
            len <= list.len() && list[..len].last().is_none_or(|id| id.0 < to.nodes)
        };
        if to.rewrites != self.rewrites
            || !holds(&self.placeholders, placeholders)
            || !holds(&self.body, body)
            || to.names as usize > self.names.mark()
        {
            return Err(GraphError::StaleCheckpoint);
        }
        // Users before what they use: each edge is at the head of its lists.
        let mut dropped = self.placeholders.split_off(placeholders);
        dropped.extend(self.body.split_off(body));
        for id in dropped.into_iter().rev() {
            self.clear(id);
        }
        self.names.rewind(to.names as usize);
        self.show_len();
        Ok(())
    }
}

/// The node's data.
///
/// # Panics
/// Where the node is not in the graph; see [`Graph::get`].
impl std::ops::Index<NodeId> for Graph {
    type Output = NodeData;

    fn index(&self, id: NodeId) -> &NodeData {
        match self.get(id) {
            Some(node) => node,
            None => panic!("node %{} is not in the graph", id.0),
        }
    }
}

/// The nodes among the arguments, each once, in order.
pub(crate) fn distinct_inputs(data: &NodeData) -> SmallVec<[NodeId; 8]> {
    let mut inputs = SmallVec::<[NodeId; 8]>::new();
    data.for_each_input(|id| inputs.push(id));
    if inputs.len() <= 16 {
        let mut kept = 0;
        for i in 0..inputs.len() {
            let id = inputs[i];
            if !inputs[..kept].contains(&id) {
                inputs[kept] = id;
                kept += 1;
            }
        }
        inputs.truncate(kept);
    } else {
        let mut seen = rustc_hash::FxHashSet::default();
        inputs.retain(|id| seen.insert(*id));
    }
    inputs
}
