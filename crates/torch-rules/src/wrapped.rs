//! torch's operators that run a function as a graph of its own: `wrap`, `hints_wrapper`, `strict_mode`. Each is one node
//! of the graph, which is the operator with the function's graph; tensors that the function uses are its arguments,
//! in the order in which it uses them.
//!
//! `wrap_with_set_grad_enabled` and `wrap_with_autocast` are what they do: the function, between nodes that enter and
//! leave the mode.
//!
//! Invariant: the graph of the function does all that the function does. One with other side effects than writes to
//! tensors is left to Python.

use fx_graph::{Arg, OpKind};
use pyo3::prelude::*;
use tensor_meta::Inferred;
use torch_abi::names;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::torch_ops::args::{MetaArg, NodeArgs};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::Var;

use crate::bodies::Taker;

pub(crate) const RULES: RuleList = &[
    (
        names::WRAP,
        &[
            ("Wrap.__call__", wrap as Rule),
            ("WrapWithSetGradEnabled.__call__", within as Rule),
            ("WrapWithAutocast.__call__", within as Rule),
        ],
    ),
    (
        names::HINTS_WRAP,
        &[("HintsWrapper.__call__", hints_wrapper as Rule)],
    ),
    (
        names::STRICT_MODE,
        &[("StrictMode.__call__", strict_mode as Rule)],
    ),
];

/// What the operators of a mode do, without torch's mark that its tracer stays out.
const WITHIN: &std::ffi::CStr = c"
import torch

class WrapWithSetGradEnabled:
    def __call__(self, enable_grad, wrapped_func, /, *args, **kwargs):
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(enable_grad)
        result = wrapped_func(*args, **kwargs)
        torch.set_grad_enabled(before)
        return result

class WrapWithAutocast:
    def __call__(self, device_type, dtype, enabled, cache_enabled, wrapped_func, /, *args, **kwargs):
        with torch.autocast(device_type, dtype, enabled, cache_enabled):
            return wrapped_func(*args, **kwargs)
";

variables::own_module! {
    static MODULE = (WITHIN, c"<ferrodyn wrapped>", c"ferrodyn_wrapped");
}

fn within(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let module = MODULE.get(tx.py)?.clone().into_any();
    let function = (name.split('.')).try_fold(module, |of, name| of.getattr(name))?;
    tx.call(&Var::py(function.unbind()), args).map(Some)
}

/// One of the operators.
struct Operator {
    module: &'static str,
    /// its name in the module
    object: &'static str,
    path: &'static str,
    /// what the function's graph is called
    part: &'static str,
    taker: Taker,
    /// whether what the function uses comes as one tuple
    in_tuple: bool,
    /// further arguments of the node
    pos: Vec<Var>,
    kw: Vec<(&'static str, Var)>,
}

fn wrap(tx: &mut Tx<'_>, _: &'static str, mut args: Args) -> Given {
    if args.pos.len() < 2 {
        return Ok(None);
    }
    let function = args.pos.remove(1);
    args.pos.remove(0);
    let operator = Operator {
        module: names::WRAP,
        object: "wrap",
        path: "torch.ops.higher_order.wrap",
        part: "wrap_body",
        taker: Taker::Ours,
        in_tuple: false,
        pos: Vec::new(),
        kw: Vec::new(),
    };
    value(node_of(tx, operator, &function, &args)?)
}

fn hints_wrapper(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let names = ["self", "body_fn", "args", "kwargs", "hints"];
    let given = tx.by_name(name, args, &names, 5, 5)?;
    let [_, Some(function), Some(args), Some(kw), Some(hints)] = &given[..] else {
        return Ok(None);
    };
    let args = tx.iterate(args)?;
    // The operator refuses them.
    if !tx.keyword_items(kw)?.is_empty() {
        return Err(Stop::unsupported("hints_wrapper with keyword arguments"));
    }
    let operator = Operator {
        module: names::HINTS_WRAP,
        object: "hints_wrapper",
        path: "torch.ops.higher_order.hints_wrapper",
        part: "hints_wrapper_body",
        taker: Taker::Torch,
        in_tuple: true,
        pos: vec![kw.clone()],
        kw: vec![("hints", hints.clone())],
    };
    value(node_of(tx, operator, function, &Args::pos(args))?)
}

fn strict_mode(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let given = tx.by_name(name, args, &["self", "callable", "operands"], 3, 3)?;
    let [_, Some(function), Some(operands)] = &given[..] else {
        return Ok(None);
    };
    let operands = tx.iterate(operands)?;
    let operator = Operator {
        module: names::STRICT_MODE,
        object: "strict_mode_op",
        path: "torch.ops.higher_order.strict_mode",
        part: "strict_mode_body",
        taker: Taker::Torch,
        in_tuple: true,
        pos: Vec::new(),
        kw: Vec::new(),
    };
    value(node_of(tx, operator, function, &Args::pos(operands))?)
}

/// The operator's node, and what the function gives.
fn node_of(tx: &mut Tx<'_>, operator: Operator, function: &Var, args: &Args) -> R<Var> {
    if tx.st.levels.is_active() {
        return Err(Stop::unsupported(format!(
            "{} in a transform",
            operator.path
        )));
    }
    let mut traced =
        crate::bodies::trace_body_with_numbers(tx, operator.path, function, args, &[])?;
    let read = crate::bodies::read_again(tx, &mut traced)?;
    let repeatable = traced
        .graph
        .iter()
        .all(|(_, n)| n.repeatable || matches!(n.op, OpKind::Placeholder | OpKind::Output));
    let inputs: Vec<Arg> = traced.inputs.iter().copied().map(Arg::Node).collect();
    let mut others = NodeArgs {
        pos: match operator.in_tuple {
            true => vec![Arg::Tuple(inputs)],
            false => inputs,
        },
        ..NodeArgs::default()
    };
    for v in &operator.pos {
        others.pos.push(tx.node_arg(v)?.0);
    }
    others.meta_pos = others.pos.iter().map(|_| MetaArg::Unknown).collect();
    for (name, v) in &operator.kw {
        others.kw.push(((*name).into(), tx.node_arg(v)?.0));
        others.meta_kw.push(((*name).into(), MetaArg::Unknown));
    }
    let graphs = [(&traced.graph, operator.part)];
    let node_args = crate::bodies::given_graphs(tx, operator.taker, &graphs, others)?;
    let object = tx.py.import(operator.module)?.getattr(operator.object)?;
    let object = object.unbind();
    let callee = Callee::Function(&object, operator.path, None);
    let results = traced.metas.into_iter().map(Inferred::Tensor).collect();
    let inferred = Inferred::Tuple(results);
    let made = tx.emit_inferred_as(&callee, node_args, inferred, &Args::default(), repeatable)?;
    crate::bodies::result(tx, traced.out, &made, &read)
}
