//! Which graphs may raise because of the values of their tensors.
//!
//! Sizes, dtypes and devices are guarded, so most operations that worked while tracing work always. What
//! is not known to be one of those may raise. Autocast's casts of parameters are kept between calls, and
//! no guard sees them.

use std::sync::Arc;

use fx_graph::{Arg, Graph, NodeData, NodeId, OpKind, Target};
use tensor_meta::{Does, Traits};
use torch_abi::contexts::changes_context;

/// Whether an operation of a graph may raise because of values, and could then be repeated.
/// `autocast`: whether autocast is on where the graph is entered.
pub fn may_raise(graph: &Graph, autocast: bool) -> bool {
    let casts = casts(graph, autocast);
    graph.iter().any(|(_, node)| leads_back(node, casts))
}

/// Whether a graph can run again wherever it has raised.
pub fn can_all_run_again(graph: &Graph) -> bool {
    graph.iter().all(|(_, node)| can_run_again(node))
}

/// Whether a graph can run again where the random generator of the CPU is put back to where it was.
pub fn can_all_run_again_with_draws(graph: &Graph) -> bool {
    !graph.iter().any(|(_, node)| runs_once(node))
}

/// Whether a node of a graph draws from the random generator of the CPU.
pub fn draws(graph: &Graph) -> bool {
    graph.iter().any(|(_, node)| node.draws)
}

/// Whether a node can run twice, and nothing has to be put back for it.
pub fn can_run_again(node: &NodeData) -> bool {
    !node.draws && !runs_once(node)
}

/// Whether a node must not run twice. What enters a context is left again where the graph raises.
pub fn runs_once(node: &NodeData) -> bool {
    !(node.can_repeat()
        || matches!(
            node.op,
            OpKind::Placeholder | OpKind::GetAttr | OpKind::Output
        )
        || node
            .target
            .function()
            .is_some_and(|f| changes_context(&f.path)))
}

/// Whether a node may raise so that the function runs again.
fn leads_back(node: &NodeData, casts: bool) -> bool {
    node.may_refuse_write || node.can_repeat() && node_may_raise(node, casts)
}

/// Has the state of the random generator kept where it is drawn from first, if the function may run again for what
/// an operation from there on raises: with the same numbers then.
pub fn keep_random_state(graph: &mut Graph, autocast: bool) {
    let Some(first) = graph.iter().find(|(_, node)| node.draws).map(|(id, _)| id) else {
        return;
    };
    let casts = casts(graph, autocast);
    let before = |(id, _): &(NodeId, &NodeData)| *id != first;
    let may_run_again = (graph.iter().skip_while(before)).any(|(_, node)| leads_back(node, casts));
    if may_run_again {
        graph.set_keeps_random_state(first);
    }
}

/// Whether one operation may raise because of values, if autocast is on.
pub fn could_raise(graph: &Graph, node: NodeId) -> bool {
    graph
        .get(node)
        .is_some_and(|data| node_may_raise(data, true))
}

/// Whether one operation of a graph may raise because of values.
pub fn may_raise_at(graph: &Graph, node: NodeId, autocast: bool) -> bool {
    graph
        .get(node)
        .is_some_and(|data| node_may_raise(data, casts(graph, autocast)))
}

/// Whether an operation that raises does so before its kernel runs.
pub fn raises_early(graph: &Graph, node: NodeId) -> bool {
    graph
        .get(node)
        .is_some_and(|data| !raises_for_values(data, false))
}

fn casts(graph: &Graph, autocast: bool) -> bool {
    let mut nodes = graph.iter();
    autocast || nodes.any(|(_, node)| name_of(node) == ENTER_AUTOCAST)
}

/// The node that enters autocast.
const ENTER_AUTOCAST: &str = "_enter_autocast";

/// The name of what a node calls: `add` of `torch.add`.
pub fn name_of(node: &NodeData) -> &str {
    match &node.target {
        Target::Function(function) => function.path.rsplit('.').next().unwrap_or_default(),
        Target::Name(name) => name,
    }
}

/// Whether a graph may write to a tensor, or give one other memory.
pub fn writes(graph: &Graph) -> bool {
    let is_asked = |(name, _): &(Arc<str>, Arg)| matches!(&**name, "inplace" | "out");
    graph.iter().any(|(_, node)| {
        traits_of(node).any(Does::WRITES | Does::MOVES) || node.kwargs.iter().any(is_asked)
    })
}

/// What is known of the operation of a node: nothing where it calls none.
pub fn traits_of(node: &NodeData) -> Traits {
    match (&node.target, node.op) {
        (Target::Function(function), _) => tensor_meta::function_traits(&function.path),
        (Target::Name(name), OpKind::CallMethod) => tensor_meta::method_traits(name),
        (Target::Name(_), _) => Traits::NONE,
    }
}

fn node_may_raise(node: &NodeData, casts: bool) -> bool {
    node.may_refuse_arguments || node.may_refuse_write || raises_for_values(node, casts)
}

/// Whether the operation by itself may raise because of values.
fn raises_for_values(node: &NodeData, casts: bool) -> bool {
    let traits = traits_of(node);
    if traits.any(Does::INDEXES) {
        let refuses = match traits.any(Does::WRITES) {
            true => has_node,
            false => may_be_out_of_range,
        };
        return node.args.get(1).is_none_or(refuses);
    }
    // A rounding mode makes a division of ints raise for zero.
    let rounds = node
        .kwargs
        .iter()
        .any(|(name, _)| &**name == "rounding_mode");
    rounds || !traits.any(Does::NEVER_RAISES) || casts && traits.takes_kept_casts()
}

/// Whether values decide if an index fits. The ends of a slice always do.
fn may_be_out_of_range(index: &Arg) -> bool {
    match index {
        Arg::Slice(parts) => has_node(&parts[2]),
        Arg::Tuple(parts) => parts.iter().any(may_be_out_of_range),
        other => has_node(other),
    }
}

/// Whether a tensor is among the parts of an index.
fn has_node(index: &Arg) -> bool {
    let mut found = false;
    index.for_each_node(&mut |_| found = true);
    found
}
