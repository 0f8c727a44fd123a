//! Which graphs may raise because of the values of their tensors.
//!
//! Sizes, dtypes and devices are guarded, so most operations that worked while tracing work always. What
//! is not known to be one of those may raise. Autocast's casts of parameters are kept between calls, and
//! no guard sees them.

use std::sync::LazyLock;

use fx_graph::{Arg, Graph, NodeData, NodeId, OpKind, Target};
use rustc_hash::FxHashSet;
use torch_abi::contexts::changes_context;

/// Operations that raise for no values. In-place forms and operators come under the same names.
const NEVER: &str = "
    abs add addcdiv addcmul addmm all amax amin and any arange argmax argmin atan2 avg_pool1d avg_pool2d
    avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d baddbmm batch_norm bfloat16 bmm
    bool broadcast_to cat ceil chunk clamp clamp_max clamp_min clone concat contiguous conv1d conv2d conv3d
    conv_transpose2d copy cos cosine_similarity cpu cumsum detach dim div double dropout elu empty
    empty_like eq erf exp expand expand_as eye fill flatten flip float floor full full_like ge gelu
    group_norm gt half hardsigmoid hardswish hardtanh int instance_norm interpolate invert isfinite isinf
    isnan layer_norm le leaky_relu lerp linear log log1p log_softmax logical_and logical_not logical_or
    long lt masked_fill matmul max max_pool1d max_pool2d max_pool3d maximum mean min minimum mish mm
    movedim mse_loss mul narrow ne neg new_full new_ones new_zeros norm normalize numel ones ones_like or
    outer pad permute pos prod rand rand_like randn randn_like reciprocal relu relu6 repeat requires_grad
    reshape rms_norm roll round rsqrt rsub scaled_dot_product_attention select selu sigmoid sign silu sin
    sinh size softmax softplus split sqrt square squeeze stack std sub sum swapaxes t tan tanh tile to
    transpose tril triu truediv type type_as unbind unflatten unsqueeze var view view_as where xor zero
    zeros zeros_like _get_data_attr
";

static NEVER_RAISE: LazyLock<FxHashSet<&str>> =
    LazyLock::new(|| NEVER.split_ascii_whitespace().collect());

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

/// Whether a node can run twice, and nothing has to be put back for it.
pub(crate) fn can_run_again(node: &NodeData) -> bool {
    !node.draws && !runs_once(node)
}

/// Whether a node must not run twice. What enters a context is left again where the graph raises.
pub(crate) fn runs_once(node: &NodeData) -> bool {
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
pub(crate) fn could_raise(graph: &Graph, node: NodeId) -> bool {
    graph
        .get(node)
        .is_some_and(|data| node_may_raise(data, true))
}

/// Whether one operation of a graph may raise because of values.
pub(crate) fn may_raise_at(graph: &Graph, node: NodeId, autocast: bool) -> bool {
    graph
        .get(node)
        .is_some_and(|data| node_may_raise(data, casts(graph, autocast)))
}

/// Whether an operation that raises does so before its kernel runs.
pub(crate) fn raises_early(graph: &Graph, node: NodeId) -> bool {
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
pub(crate) fn name_of(node: &NodeData) -> &str {
    match &node.target {
        Target::Function(function) => function.path.rsplit('.').next().unwrap_or_default(),
        Target::Name(name) => name,
    }
}

/// `add` of `__add__`; any other name as it is.
pub(crate) fn without_dunder(name: &str) -> &str {
    let core = name.strip_prefix("__").and_then(|n| n.strip_suffix("__"));
    core.unwrap_or(name)
}

fn node_may_raise(node: &NodeData, casts: bool) -> bool {
    node.may_refuse_arguments || node.may_refuse_write || raises_for_values(node, casts)
}

/// Whether the operation by itself may raise because of values.
fn raises_for_values(node: &NodeData, casts: bool) -> bool {
    let name = without_dunder(name_of(node));
    match name {
        "getitem" => return node.args.get(1).is_none_or(may_be_out_of_range),
        "setitem" => return node.args.get(1).is_none_or(has_node),
        _ => {}
    }
    let known =
        |name: &str| NEVER_RAISE.contains(name) && !(casts && tensor_meta::takes_kept_casts(name));
    let in_place = name.strip_prefix('i').filter(|_| !name.ends_with('_'));
    // A rounding mode makes a division of ints raise for zero.
    let rounds = node
        .kwargs
        .iter()
        .any(|(name, _)| &**name == "rounding_mode");
    rounds || !(known(name) || known(name.trim_end_matches('_')) || in_place.is_some_and(known))
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
