//! Contexts that the nodes of a graph enter and leave: what is to be left where a node in between
//! raises, as the `with` block that the nodes were would do.

use fx_graph::{Arg, Graph, NodeData, NodeId, Target};
use rustc_hash::{FxHashMap, FxHashSet};
use torch_abi::{contexts, names as torch_names};

/// How a context is left: the handle of the function, and the node that entered it where the function
/// takes what that gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    pub function: u32,
    pub entered: Option<NodeId>,
    /// the level that it is told to leave, by name
    pub level: Option<i64>,
}

/// How what a node sets is put back: the handle of the function that sets it, and the name of the one that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub set: u32,
    pub ask: &'static str,
}

/// What a node does to the contexts that are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It enters one that a later node leaves.
    Enters(Exit),
    /// It leaves the one that this node entered.
    Leaves(NodeId),
    /// It sets the grad mode or a flag.
    Sets(Setting),
}

/// The nodes that change which contexts are open. Those that a graph leaves open, or a grad mode that
/// it sets for good, stay where the program raises, and are not among them.
pub struct Changes(FxHashMap<NodeId, Change>);

impl Changes {
    /// Those of a graph, or of what there is of one.
    pub fn of(graph: &Graph) -> Changes {
        let mut changes = FxHashMap::default();
        let mut open: Vec<(NodeId, usize)> = Vec::new();
        let mut modes = Vec::new();
        for (id, node) in graph.iter() {
            let Target::Function(function) = &node.target else {
                continue;
            };
            let set = function.handle;
            if let Some(mode) = grad_mode_set(node) {
                modes.push((id, set, mode));
            }
            // Whatever raises, the program sets it once more: as plain Python.
            if let Some(ask) = flag_set(node) {
                changes.insert(id, Change::Sets(Setting { set, ask }));
            }
            let named = |name: &str| *function.path == *name;
            // One that may be entered again and again is left once.
            if let Some(kind) = torch_names::CONTEXTS
                .iter()
                .position(|(_, enter, _)| named(enter))
                && !node.repeatable
            {
                open.push((id, kind));
            }
            if let Some(kind) = torch_names::CONTEXTS
                .iter()
                .position(|(_, _, leave)| named(leave))
            {
                let given = match node.args.first() {
                    Some(Arg::Node(given)) => Some(*given),
                    _ => None,
                };
                let is_it = |(entered, of): &(NodeId, usize)| {
                    *of == kind && given.is_none_or(|given| given == *entered)
                };
                if let Some(at) = open.iter().rposition(is_it) {
                    let (enter, _) = open.remove(at);
                    let exit = Exit {
                        function: function.handle,
                        entered: given,
                        level: match node.kwargs.first() {
                            Some((_, Arg::Int(level))) => Some(*level),
                            _ => None,
                        },
                    };
                    changes.insert(enter, Change::Enters(exit));
                    changes.insert(id, Change::Leaves(enter));
                }
            }
        }
        let mode = |at: Option<&(NodeId, u32, bool)>| at.map(|(_, _, mode)| *mode);
        if mode(modes.first()) != mode(modes.last()) {
            let ask = torch_names::GRAD_MODE;
            let sets = modes.into_iter();
            changes.extend(sets.map(|(id, set, _)| (id, Change::Sets(Setting { set, ask }))));
        }
        Changes(changes)
    }

    /// What a node changes.
    pub fn at(&self, node: NodeId) -> Option<Change> {
        self.0.get(&node).copied()
    }
}

/// The nodes of a graph whose change is put back where the graph raises, or is made again whatever happens.
pub fn put_back(graph: &Graph) -> FxHashSet<NodeId> {
    Changes::of(graph).0.into_keys().collect()
}

/// Whether a node changes nothing but the context that others run in.
pub(crate) fn changes_context(node: &NodeData) -> bool {
    match &node.target {
        Target::Function(function) if &*function.path == torch_names::SET_GRAD_MODE => {
            grad_mode_set(node).is_some()
        }
        Target::Function(function) => contexts::changes_context(&function.path),
        Target::Name(_) => false,
    }
}

/// The mode that a node sets, where it sets the grad mode.
fn grad_mode_set(node: &NodeData) -> Option<bool> {
    match (&node.target, node.args.first()) {
        (Target::Function(f), Some(Arg::Bool(mode))) if &*f.path == torch_names::SET_GRAD_MODE => {
            Some(*mode)
        }
        _ => None,
    }
}

/// What reads the flag that a node sets, where it sets one.
pub(crate) fn flag_set(node: &NodeData) -> Option<&'static str> {
    match &node.target {
        Target::Function(function) => contexts::flag_set(&function.path),
        Target::Name(_) => None,
    }
}
