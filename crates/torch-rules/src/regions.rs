//! `torch.compiler.nested_compile_region`: for a compiler, a call of a region is a node of torch's operator
//! `invoke_subgraph`. Calls with equal graphs share one, which is compiled once.
//!
//! Invariant: a function that the operator might treat otherwise than Python is inlined, as it is in a graph that runs
//! as it is: one with side effects, that writes to tensors, that gives what shares memory, that calls another
//! region.

use std::fmt::Write;

use fx_graph::{Arg, Graph, NodeData, OpKind};
use pyo3::prelude::*;
use tensor_meta::{Does, Inferred};
use torch_abi::names;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::torch_ops::args::{MetaArg, NodeArgs};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::Var;
use variables::raising::traits_of;

use crate::bodies::Numbers;

pub(crate) const RULES: RuleList = &[
    (
        names::INVOKE_SUBGRAPH,
        &[("invoke_subgraph_placeholder", region as Rule)],
    ),
    (
        "torch.compiler",
        &[("nested_compile_region", make_region as Rule)],
    ),
];

const PATH: &str = "torch.ops.higher_order.invoke_subgraph";

/// torch's own Python makes it.
fn make_region(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    crate::higher_order::whole(tx, "torch.compiler", name, args)
}

fn region(tx: &mut Tx<'_>, _: &'static str, mut args: Args) -> Given {
    if args.pos.is_empty() {
        return Ok(None);
    }
    let function = args.pos.remove(0);
    call(tx, &function, args)
}

/// A call of a region.
pub(crate) fn call(tx: &mut Tx<'_>, function: &Var, args: Args) -> Given {
    if !tx.runs_as_is && !tx.st.levels.is_active() {
        let before = tx.snapshot();
        match node_of(tx, function, &args) {
            Ok(Some(made)) => return value(made),
            Ok(None) | Err(Stop::Break(_)) => tx.restore(&before),
            Err(stop) => return Err(stop),
        }
    }
    tx.call(function, args).map(Some)
}

/// The operator's node; `None` where the function is to be inlined.
fn node_of(tx: &mut Tx<'_>, function: &Var, args: &Args) -> R<Option<Var>> {
    let mut numbers = Numbers::default();
    let (mut traced, mut used) = crate::bodies::noting_used(tx, |tx| {
        crate::bodies::trace_noting(tx, PATH, function, args, &[], &mut numbers)
    });
    if numbers.has_ints_only() {
        numbers.make_inputs(tx);
        (traced, used) = crate::bodies::noting_used(tx, |tx| {
            crate::bodies::trace_body(tx, PATH, function, args, &[])
        });
    }
    let mut traced = traced?;
    let only_computes = traced.graph.iter().all(|(_, n)| {
        let computes = n.repeatable || n.draws;
        let writes = traits_of(n).any(Does::WRITES);
        let plain = computes && !writes && !is_region(tx, n);
        plain || matches!(n.op, OpKind::Placeholder | OpKind::Output)
    });
    if !only_computes || traced.gives_views || traced.metas.is_empty() {
        return Ok(None);
    }
    let repeatable = traced.graph.iter().all(|(_, n)| !n.draws);
    let read = crate::bodies::read_again(tx, &mut traced)?;
    let inputs = crate::bodies::values_of(tx, PATH, &traced.inputs, &read, &used)?;
    let inputs = inputs.into_iter().map(|input| input.1).collect();
    let mut others = tx.node_args_with_sizes(&Args::pos(inputs))?;
    let key = key(tx, &traced.graph, &others);
    let known = tx.facts.regions.iter().position(|known| known.0 == key);
    let at = match known {
        Some(at) => at,
        None => {
            let part = tx.rules.graphs.part;
            let made = part(tx.py, &traced.graph, &tx.facts.objects, "subgraph", true)?;
            tx.facts.regions.push((key, made));
            tx.facts.regions.len() - 1
        }
    };
    let part = tx.facts.regions[at].1.clone();
    let handle = tx.handle(&part);
    let repr = "subgraph".into();
    let name = format!("subgraph_{at}").into();
    let mut node_args = NodeArgs {
        pos: vec![Arg::Opaque { handle, repr }, Arg::Str(name)],
        meta_pos: vec![MetaArg::Unknown, MetaArg::Unknown],
        ..NodeArgs::default()
    };
    node_args.pos.append(&mut others.pos);
    node_args.meta_pos.append(&mut others.meta_pos);
    let operator = tx.py.import(names::INVOKE_SUBGRAPH)?;
    let operator = operator.getattr("invoke_subgraph")?.unbind();
    let callee = Callee::Function(&operator, PATH, None);
    let results = traced.metas.into_iter().map(Inferred::Tensor).collect();
    let inferred = Inferred::Tuple(results);
    let made = tx.emit_inferred_as(&callee, node_args, inferred, &Args::default(), repeatable)?;
    crate::bodies::result(tx, traced.out, &made, &read).map(Some)
}

/// Whether a node is a call of a region. torch's operator does not compute gradients of one in another.
fn is_region(tx: &Tx<'_>, node: &NodeData) -> bool {
    let Some(Arg::Opaque { handle, .. }) = node.args.first() else {
        return false;
    };
    let object = tx.facts.objects.get(*handle as usize);
    object.is_some_and(|o| tx.facts.regions.iter().any(|region| region.1.is(o)))
}

/// What two graphs have to agree on for one to stand for the other: all but names, and what their inputs look like.
fn key(tx: &Tx<'_>, graph: &Graph, inputs: &NodeArgs) -> String {
    let mut key = format!("{} ", tx.st.grad_enabled);
    for input in &inputs.meta_pos {
        let _ = match input {
            MetaArg::Tensor(t) => write!(
                key,
                "{:?} {:?} {:?} {:?} {} ",
                t.shape, t.strides, t.dtype, t.device, t.requires_grad
            ),
            other => write!(key, "{other:?} "),
        };
    }
    for (id, node) in graph.iter() {
        let _ = match node.op {
            OpKind::Placeholder => write!(key, "{} ", id.0),
            op => write!(
                key,
                "{} {op:?} {:?} {:?} {:?} ",
                id.0, node.target, node.args, node.kwargs
            ),
        };
    }
    key
}
