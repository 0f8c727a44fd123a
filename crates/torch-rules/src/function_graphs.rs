//! `forward` and `backward` of a `torch.autograd.Function` as two graphs of torch's operator, for a compiler: tensors
//! that they read from elsewhere are arguments of its node, and what `backward` uses of `forward` is handed on.
//!
//! Invariant: a function that the operator would treat otherwise has no graphs: its own `apply` is called then.

use fx_graph::{Arg, Checkpoint, Graph, NodeData, NodeId, OpKind};
use guards::SourceId;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;
use tensor_meta::Inferred;
use torch_abi::names;
use translator::stop::{R, Stop};
use translator::torch_ops::args::{MetaArg, NodeArgs};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::{Obj, Var};

use crate::bodies::Taker;

/// Where the two begin and end in the graph in which they were interpreted.
pub(crate) struct Marks {
    pub(crate) forward: Checkpoint,
    pub(crate) end: Checkpoint,
    pub(crate) backward: Checkpoint,
}

/// What was interpreted, by the nodes of the graph around.
pub(crate) struct Interpreted<'a> {
    /// tensors among the arguments, each once
    pub(crate) args: &'a [NodeId],
    /// results of `forward`, and whether they come in a tuple
    pub(crate) results: &'a [NodeId],
    pub(crate) in_tuple: bool,
    /// gradients that `backward` gets, one for each result
    pub(crate) given: &'a [NodeId],
    /// what it gives for each of `args`
    pub(crate) gradients: &'a [Option<NodeId>],
    /// what `forward` saved as torch wants it
    pub(crate) saved: &'a [NodeId],
    /// results that were written to, and such as have no gradients
    pub(crate) dirty: &'a [NodeId],
    pub(crate) plain: &'a [NodeId],
}

/// The graphs.
pub(crate) struct Graphs {
    forward: Graph,
    backward: Graph,
    /// the nodes that `forward` is given
    inputs: Vec<NodeId>,
    options: [(&'static str, Vec<usize>); 3],
    repeatable: bool,
}

fn internal(e: impl std::fmt::Display) -> Stop {
    Stop::Internal(e.to_string())
}

/// The last node's argument in another form.
fn set_output(graph: &mut Graph, form: impl FnOnce(Vec<Arg>) -> Vec<Arg>) -> R<()> {
    let output = graph
        .output_node()
        .ok_or_else(|| internal("a graph without output"))?;
    let [Arg::Tuple(items)] = &graph[output].args[..] else {
        return Err(internal("an output that is no tuple"));
    };
    let formed = form(items.clone());
    let formed = vec![Arg::Tuple(formed)];
    graph
        .set_args(output, formed, Vec::new())
        .map(drop)
        .map_err(internal)
}

/// Cuts the two out of the graph.
pub(crate) fn graphs(tx: &Tx<'_>, marks: &Marks, made: &Interpreted<'_>) -> R<Graphs> {
    let gradients: Vec<NodeId> = made.gradients.iter().copied().flatten().collect();
    let (mut backward, needs) = (tx.log.graph)
        .part_since(marks.backward, made.given, &gradients)
        .map_err(internal)?;
    let kept = &needs[made.given.len()..];
    let outputs: Vec<NodeId> = made.results.iter().chain(kept).copied().collect();
    // What the one does not make, it is given for the other.
    let own = |node: NodeId| {
        let place = |n: &NodeId| *n == node;
        let after = |mark: Checkpoint| tx.log.graph.added_since(mark).iter().any(place);
        after(marks.forward) && !after(marks.end)
    };
    let mut inputs = made.args.to_vec();
    for node in &outputs {
        if !own(*node) && !inputs.contains(node) {
            inputs.push(*node);
        }
    }
    let (mut forward, inputs) = (tx.log.graph)
        .part_between(marks.forward, marks.end, &inputs, &outputs)
        .map_err(internal)?;
    let count = made.results.len();
    set_output(&mut forward, |mut items| {
        let kept = items.split_off(count);
        let results = match (made.in_tuple, items.pop()) {
            (false, Some(one)) => one,
            (_, last) => Arg::Tuple(items.into_iter().chain(last).collect()),
        };
        vec![results, Arg::Tuple(kept)]
    })?;
    let given = inputs.len();
    set_output(&mut backward, |items| {
        let mut items = items.into_iter();
        let mut all: Vec<Arg> = (made.gradients.iter())
            .map(|g| g.and_then(|_| items.next()).unwrap_or(Arg::None))
            .collect();
        all.resize(given, Arg::None);
        all
    })?;
    let places = |of: &[NodeId], among: &[NodeId]| -> Vec<usize> {
        let known = |(_, node): &(usize, &NodeId)| among.contains(node);
        of.iter().enumerate().filter(known).map(|p| p.0).collect()
    };
    let repeats = |(_, n): (NodeId, &NodeData)| {
        n.repeatable || matches!(n.op, OpKind::Placeholder | OpKind::Output)
    };
    let repeatable = forward.iter().all(repeats) && backward.iter().all(repeats);
    Ok(Graphs {
        options: [
            ("non_differentiable_idx", places(made.results, made.plain)),
            ("saved_for_backward_idx", places(kept, made.saved)),
            ("dirty_idx", places(made.results, made.dirty)),
        ],
        forward,
        backward,
        inputs,
        repeatable,
    })
}

/// An input of the graph that was read first in `forward` or `backward`.
pub(crate) type NewInput = (NodeId, SourceId, Obj);

/// The number that is an input of the graph, by what operations get.
fn number_of(tx: &Tx<'_>, node: NodeId) -> Option<Var> {
    let int = tx.log.int_inputs.iter().find(|of| of.node == node);
    let float = || tx.log.float_inputs.iter().find(|of| of.number == node);
    int.map(|of| Var::Int(of.int.clone()))
        .or_else(|| float().map(|of| Var::Float(of.float.clone())))
}

/// The operator's node; `used`: the tensors that nodes were given in the two, by node.
pub(crate) fn function_node(
    tx: &mut Tx<'_>,
    graphs: &Graphs,
    read: &[NewInput],
    used: &FxHashMap<NodeId, Var>,
    inferred: Inferred,
) -> R<Var> {
    let mut inputs = Vec::new();
    for node in &graphs.inputs {
        let v = match read.iter().find(|r| r.0 == *node) {
            Some((_, source, obj)) => tx.build(obj, *source)?,
            None => (used.get(node).cloned())
                .or_else(|| number_of(tx, *node))
                .ok_or_else(|| Stop::unsupported("torch.autograd.Function of a strange value"))?,
        };
        inputs.push(v);
    }
    let args = Args::pos(inputs);
    let mut others: NodeArgs = tx.node_args_with_sizes(&args)?;
    for (name, places) in &graphs.options {
        if *name == "dirty_idx" && places.is_empty() {
            continue;
        }
        let places = places.iter().map(|p| Arg::Int(*p as i64)).collect();
        others.kw.push(((*name).into(), Arg::List(places)));
        others.meta_kw.push(((*name).into(), MetaArg::Unknown));
    }
    let parts = [
        (&graphs.forward, "fwd_body"),
        (&graphs.backward, "bwd_body"),
    ];
    let node_args = crate::bodies::given_graphs(tx, Taker::Torch, &parts, others)?;
    let operator = tx.py.import(names::AUTOGRAD_FUNCTION)?;
    let operator = operator.getattr(names::AUTOGRAD_FUNCTION_APPLY)?.unbind();
    let path = "torch.ops.higher_order.autograd_function_apply";
    let callee = Callee::Function(&operator, path, None);
    tx.emit_inferred_as(&callee, node_args, inferred, &args, graphs.repeatable)
}
