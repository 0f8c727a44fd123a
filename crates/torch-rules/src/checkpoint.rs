//! `torch.utils.checkpoint.checkpoint` where gradients are recorded: one node of the graph, which runs a
//! graph of its own under torch's checkpointing, now and again in the backward pass. A compiler gets torch's operator.
//!
//! Invariant: what the function does besides computing would be done twice by plain Python, so a
//! function with side effects is left to it.

use fx_graph::NodeId;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use tensor_meta::{Does, Inferred};
use translator::rules::{Given, Rule, RuleList};
use translator::stop::{R, Stop};
use translator::torch_ops::args::NodeArgs;
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};
use variables::Var;
use variables::raising::traits_of;

use crate::bodies::Taker;

/// What a node calls. Where torch traces the graph below a backend, it wants the operator that it
/// knows to compute again; the numbers of a plain run come from torch's own function. So do its warnings, in its own
/// words: it is called with nothing to do behind the graph.
const FUNCTION: &std::ffi::CStr = c"
import torch
from torch.utils.checkpoint import checkpoint as run

def nothing(*args):
    pass

def warn_of_choice():
    recording = torch.zeros((), device='cpu', requires_grad=True)
    run(nothing, recording, preserve_rng_state=False)

def warn_of_gradients():
    run(nothing, use_reentrant=True, preserve_rng_state=False)

def warn_of_both():
    run(nothing, preserve_rng_state=False)

def without_gradients(body, *inputs):
    with torch.no_grad():
        return body(*inputs)

def function(given, options):
    options = dict(options)
    def checkpoint(body, *inputs):
        traces = torch._C._len_torch_dispatch_stack() and torch._guards.detect_fake_mode(inputs)
        if traces and isinstance(body, torch.fx.GraphModule):
            from torch._higher_order_ops.wrap import tag_activation_checkpoint
            known = dict(options)
            contexts = known.pop('context_fn', None)
            if contexts is not None:
                body.meta['_checkpoint_context_fn'] = contexts
            return tag_activation_checkpoint(body, *inputs, **known)
        args, others = inputs[:given], inputs[given:]
        return run(lambda *args: body(*args, *others), *args, **options)
    # Another process makes it in the same way.
    checkpoint.__ferrodyn_made__ = function, given, tuple(options.items())
    return checkpoint
";

/// What breaks where the function is not captured.
const WHAT: &str = "torch.utils.checkpoint";

variables::own_module! {
    static MODULE = (FUNCTION, c"<ferrodyn checkpoint>", c"ferrodyn_checkpoint");
}

pub(crate) const RULES: RuleList = &[(
    "torch.utils.checkpoint",
    &[("checkpoint", checkpoint as Rule)],
)];

/// Keywords of `checkpoint` itself; all others are the function's.
const OPTIONS: [&str; 7] = [
    "use_reentrant",
    "preserve_rng_state",
    "determinism_check",
    "debug",
    "early_stop",
    "context_fn",
    "respect_saved_tensors_hooks",
];

fn checkpoint(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    let py = tx.py;
    let options = PyDict::new(py);
    let mut known = true;
    for option in OPTIONS {
        let Some(v) = args.take_kw(option) else {
            continue;
        };
        match crate::bodies::real_callable(tx, &v)? {
            Some(v) => options.set_item(option, v)?,
            None => known = false,
        }
    }
    let (chosen, reentrant) = match options.get_item("use_reentrant")? {
        Some(v) if v.is_instance_of::<PyBool>() => (true, Some(v.is_truthy()?)),
        Some(v) if !v.is_none() => (true, None),
        _ => (false, Some(true)),
    };
    let (Some(reentrant), true) = (
        reentrant,
        known
            && !args.pos.is_empty()
            && (tx.st.grad_enabled || !options.contains("context_fn")?)
            && !tx.st.levels.is_active(),
    ) else {
        let function = py.import("torch.utils.checkpoint")?.getattr(name)?;
        return Err(tx.skipped(&function));
    };
    let function = args.pos.remove(0);
    if reentrant && !args.kw.is_empty() {
        return Err(Stop::unsupported("a reentrant checkpoint with keywords"));
    }
    let mut given = Vec::new();
    let mut differentiable = false;
    for v in args.values() {
        if let Var::Tensor(t) = tx.look(v)? {
            differentiable |= tx.st.effects.meta(&t).requires_grad;
            if !given.contains(&t.node) {
                given.push(t.node);
            }
        }
    }
    let warns = match (chosen, reentrant && !differentiable) {
        (false, false) => Some("warn_of_choice"),
        (false, true) => Some("warn_of_both"),
        (true, true) => Some("warn_of_gradients"),
        (true, false) => None,
    };
    if let Some(warns) = warns {
        if tx.has_modes() {
            return Err(Stop::unsupported("a warning of a checkpoint within a mode"));
        }
        options.set_item("use_reentrant", reentrant)?;
        let warns = MODULE.get(py)?.getattr(warns)?.unbind();
        (tx.rules.builtins.warn_later)(tx, Var::py(warns))?;
    }
    // What is kept of the functions of a control flow operator, it decides itself.
    let is_decided = tx.stand_ins.is_some() && !reentrant && !options.contains("context_fn")?;
    if !tx.st.grad_enabled || is_decided {
        // There is nothing to keep or to compute again.
        return tx.call(&function, args).map(Some);
    }
    if reentrant && !differentiable {
        let run = MODULE.get(py)?.getattr("without_gradients")?;
        args.pos.insert(0, function);
        return tx.call(&Var::py(run.unbind()), args).map(Some);
    }
    checkpointed(tx, &function, args, &given, &options, reentrant).map(|v| Some(Flow::Value(v)))
}

fn checkpointed(
    tx: &mut Tx<'_>,
    function: &Var,
    args: Args,
    given: &[NodeId],
    options: &Bound<'_, PyDict>,
    reentrant: bool,
) -> R<Var> {
    let py = tx.py;
    let mut traced = crate::bodies::trace_body_with_numbers(tx, WHAT, function, &args, given)?;
    let mut read = Vec::new();
    if reentrant {
        // What runs now runs without gradients, and with them in the backward pass.
        tx.st.grad_enabled = false;
        let now = crate::bodies::trace_body(tx, WHAT, function, &args, given);
        tx.st.grad_enabled = true;
        let mut now = now?;
        // Inputs that only the function reads are other nodes each time, until the graph has them.
        read = crate::bodies::read_again(tx, &mut traced)?;
        crate::bodies::read_again(tx, &mut now)?;
        if now.graph.to_text() != traced.graph.to_text() || now.inputs != traced.inputs {
            return Err(Stop::unsupported(
                "a reentrant checkpoint of a function that asks for the grad mode",
            ));
        }
        for meta in &mut traced.metas {
            let requires = meta.dtype.is_floating() || meta.dtype.is_complex();
            *meta = meta.clone().with_grad(requires);
            meta.is_leaf = !requires;
        }
    }
    read.extend(crate::bodies::read_again(tx, &mut traced)?);
    let inputs = traced.inputs;
    // torch's operator has no place for contexts.
    let is_ours = tx.runs_as_is || options.contains("context_fn")?;
    // `self.count += 1` of a buffer: torch's own tracer leaves it to eager mode, which counts both runs.
    if !is_ours && traced.stores_again {
        let mut nodes = traced.graph.iter();
        if nodes.any(|(_, n)| traits_of(n).any(Does::WRITES)) {
            return Err(Stop::brk(
                format!("{WHAT} of a function that writes to a tensor which it stores again"),
                "A compiler runs the function once where eager mode runs it twice: the tensor would be written to once.",
                "Write to the tensor outside of the checkpointed function.",
            ));
        }
    }
    let (taker, node, path) = match is_ours {
        true => {
            let made = MODULE
                .get(py)?
                .call_method1("function", (given.len(), options))?;
            (
                Taker::Ours,
                made.unbind(),
                "torch.utils.checkpoint.checkpoint",
            )
        }
        false => {
            let operators = py
                .import("torch")?
                .getattr("ops")?
                .getattr("higher_order")?;
            let operator = operators.getattr("tag_activation_checkpoint")?;
            (
                Taker::Torch,
                operator.unbind(),
                "torch.ops.higher_order.tag_activation_checkpoint",
            )
        }
    };
    let callee = Callee::Function(&node, path, None);
    let mut others = NodeArgs {
        pos: inputs.into_iter().map(fx_graph::Arg::Node).collect(),
        ..NodeArgs::default()
    };
    if taker == Taker::Torch {
        for (name, value) in options.iter() {
            let value = tx.node_arg(&Var::Const(value.unbind()))?;
            others.kw.push((name.extract::<String>()?.into(), value.0));
        }
    }
    let graphs = [(&traced.graph, "wrap_body")];
    let node_args = crate::bodies::given_graphs(tx, taker, &graphs, others)?;
    let results = traced.metas.into_iter().map(Inferred::Tensor).collect();
    let made = tx.emit_inferred(
        &callee,
        node_args,
        Inferred::Tuple(results),
        &Args::default(),
    )?;
    crate::bodies::result(tx, traced.out, &made, &read)
}
