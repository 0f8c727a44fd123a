//! Hooks of tensors. One of a tensor that was there before is called in the backward pass, which comes after the graph,
//! so it is registered behind it; so are those of all tensors of a graph that runs as it is. A compiler makes the
//! backward pass of its graph, so what a hook of one of the graph's own tensors computes is part of the graph.
//!
//! Invariants: until a hook is registered nothing writes to a tensor, so that it belongs to the value that the program
//! registered it for; a hook in the graph does nothing but compute.

use std::rc::Rc;

use bytecode::op::Op;
use fx_graph::{Arg, NodeData, OpKind};
use pyo3::prelude::*;
use tensor_meta::{Alias, Does, Inferred, TensorMeta};
use torch_abi::names;
use translator::rules::{Given, Rule, RuleList, value};
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::raising::traits_of;
use variables::{Body, CallResult, DeferredCall, Obj, ObjId, TensorVar, Var};

use crate::bodies::{Out, Taker, Traced};
use crate::hook_reads::what_may_change;

/// Handles that are there before what they stand for, and nodes of graphs that a compiler takes apart.
const FUNCTIONS: &std::ffi::CStr = c"
import collections
from torch.utils.hooks import RemovableHandle

def register_for(handle, method, *args):
    vars(handle).update(vars(method(*args)))

def removed(handle, *args):
    vars(handle).update(vars(RemovableHandle(collections.OrderedDict())))

def register_hook(body, tensor, *others):
    return tensor.register_hook(lambda grad: body(grad, *others))

def remove_hook(handle):
    handle.remove()
";

variables::own_module! {
    static MODULE = (FUNCTIONS, c"<ferrodyn hooks>", c"ferrodyn_hooks");
}

const WHAT: &str = "Tensor.register_hook";

/// Methods of a tensor that tell its backward pass something, and how many arguments they take.
const TELLING: [(&str, usize); 3] = [(REGISTER, 1), (REGISTER_ACCUMULATED, 1), ("retain_grad", 0)];
const REGISTER: &str = "register_hook";
const REGISTER_ACCUMULATED: &str = "register_post_accumulate_grad_hook";

pub(crate) const RULES: RuleList = &[(
    "torch.utils.hooks",
    &[("RemovableHandle.remove", remove as Rule)],
)];

/// A call of one of these methods, where it can wait for the graph or be part of it.
/// `None` where the call is another, or would raise.
pub(crate) fn tell_backward_later(tx: &mut Tx<'_>, callable: &Var, args: &Args) -> R<Option<Var>> {
    let Var::BuiltinMethod(method) = callable else {
        return Ok(None);
    };
    let (receiver, name) = (&method.0, &method.1);
    let fits = TELLING
        .iter()
        .any(|(n, count)| *n == &**name && args.pos.len() == *count && args.kw.is_empty());
    if !fits || tx.has_modes() || tx.st.levels.dual.is_some() {
        return Ok(None);
    }
    let receiver = tx.realize(receiver)?;
    let Var::Tensor(t) = &receiver else {
        return Ok(None);
    };
    if tx.is_subclass(t) {
        return Ok(None);
    }
    let meta = tx.st.effects.meta(t);
    if !meta.requires_grad || &**name == REGISTER_ACCUMULATED && !meta.is_leaf {
        return Ok(None);
    }
    let existed = t.input.is_some();
    if tx.st.levels.is_active() {
        // The backward pass of a transform is in the graph.
        let is_inside = tx.st.levels.shadows.contains_key(&t.node.0);
        return match &**name {
            REGISTER if is_inside => hook_in_graph(tx, t, &args.pos[0]).map(Some),
            _ => Ok(None),
        };
    }
    if !existed && !tx.runs_as_is {
        return match &**name {
            REGISTER => hook_in_graph(tx, t, &args.pos[0]).map(Some),
            _ => Ok(None),
        };
    }
    // What a compiler makes of a write gives the tensor another place in the backward pass than in the graph.
    let writes = |n: &NodeData| traits_of(n).any(Does::WRITES);
    if !tx.runs_as_is && tx.log.graph.iter().any(|(_, n)| writes(n)) {
        return Ok(None);
    }
    let mut pos = vec![receiver.clone()];
    for v in &args.pos {
        let hook = tx.realize(v)?;
        // To make the method of a container anew is to look at what it holds.
        if matches!(hook, Var::BuiltinMethod(_)) {
            return Ok(None);
        }
        pos.push(hook);
    }
    tx.st.needs_as_is |= !existed;
    let method = Var::py(tx.known.tensor.getattr(tx.py, &**name)?);
    if args.pos.is_empty() || drops_result(tx) {
        register_later(tx, method, pos);
        return Ok(Some(tx.none()));
    }
    let handle = new_handle(tx)?;
    pos.splice(0..0, [handle.clone(), method]);
    let function = MODULE.get(tx.py)?.getattr("register_for")?.unbind();
    register_later(tx, Var::py(function), pos);
    Ok(Some(handle))
}

fn register_later(tx: &mut Tx<'_>, function: Var, pos: Vec<Var>) {
    let frames = tx.call_frames(false);
    tx.st.effects.defer(DeferredCall {
        function,
        pos,
        kw: Vec::new(),
        frames,
        silent: false,
    });
    tx.st.effects.shows_tensors = true;
}

/// An object that becomes the handle when the hook is registered.
fn new_handle(tx: &mut Tx<'_>) -> R<Var> {
    let class = tx.known.removable_handle.clone();
    let new = tx.known.builtins.bind(tx.py).getattr("object")?;
    let made = CallResult {
        function: new.getattr("__new__")?.unbind(),
        pos: vec![Var::py(class.clone())],
        kw: Vec::new(),
    };
    Ok(Var::Obj(tx.new_object(class, Body::Result(Rc::new(made)))))
}

/// `handle.remove()` of a hook that was registered in the compiled function.
fn remove(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let ([Var::Obj(id)], true) = (&args.pos[..], args.kw.is_empty()) else {
        return Ok(None);
    };
    let function = |tx: &Tx<'_>, name: &str| -> PyResult<Obj> {
        Ok(MODULE.get(tx.py)?.getattr(name)?.unbind())
    };
    if let Body::OfNode(node) = tx.obj(*id).body {
        let remove = function(tx, "remove_hook")?;
        let mut node_args = tx.node_args(&Args::default())?;
        node_args.pos.push(Arg::Node(node));
        let callee = Callee::Function(&remove, WHAT, None);
        let none = Inferred::None;
        tx.emit_inferred_as(&callee, node_args, none, &Args::default(), true)?;
        return value(tx.none());
    }
    let Some(at) = waiting(tx, *id)? else {
        return Ok(None);
    };
    tx.st.effects.take_back(at);
    let removed = function(tx, "removed")?;
    register_later(tx, Var::py(removed), vec![args.pos[0].clone()]);
    value(tx.none())
}

/// Which waiting call makes an object a handle.
fn waiting(tx: &Tx<'_>, handle: ObjId) -> R<Option<usize>> {
    let register = MODULE.get(tx.py)?.getattr("register_for")?;
    let is_it = |call: &Rc<DeferredCall>| {
        let function = call.function.as_obj();
        function.is_some_and(|f| f.is(&register))
            && matches!(call.pos.first(), Some(Var::Obj(id)) if *id == handle)
    };
    Ok(tx.st.effects.calls.iter().position(is_it))
}

/// A hook of a tensor of the graph's own, whose backward pass a compiler makes.
fn hook_in_graph(tx: &mut Tx<'_>, t: &Rc<TensorVar>, hook: &Var) -> R<Var> {
    let meta = tx.st.effects.meta(t).clone();
    // In a transform it is a tensor of the level.
    let is_inside = tx.st.levels.is_active();
    if !is_inside && meta.alias == Alias::View && tx.so_far().views_input(t.node) {
        return Err(Stop::unsupported(format!(
            "{WHAT} of a view of an input, which a compiler makes anew"
        )));
    }
    if let Some(what) = what_may_change(tx, hook)? {
        let mut stop = Stop::brk(
            "Hook of a tensor that reads what may change before the backward pass",
            "A compiler makes the backward pass of its graph, from what the hook reads where it is registered; eager mode would see later changes of a variable, a container or an object.",
            "Let the hook read variables that are assigned once, or give it values as defaults of its arguments.",
        );
        if let Stop::Break(reason) = &mut stop {
            reason.context = format!("it reads {what}");
        }
        return Err(stop);
    }
    let (traced, others) = trace_hook(tx, t, hook)?;
    let keeps = !drops_result(tx);
    let does_nothing = match &traced.out {
        Out::Constant(v) => v.is_none(tx.py),
        _ => false,
    };
    let fits =
        |m: &TensorMeta| m.shape == meta.shape && m.dtype == meta.dtype && m.device == meta.device;
    if !does_nothing && !matches!((&traced.out, &traced.metas[..]), (Out::New(0), [m]) if fits(m)) {
        return Err(Stop::unsupported(format!(
            "{WHAT} of a function that gives no gradient of its own"
        )));
    }
    if does_nothing {
        if !keeps {
            return Ok(tx.none());
        }
        let handle = new_handle(tx)?;
        let removed = MODULE.get(tx.py)?.getattr("removed")?.unbind();
        register_later(tx, Var::py(removed), vec![handle.clone()]);
        return Ok(handle);
    }
    let mut graph = traced.graph;
    if let Some(output) = graph.output_node()
        && let [Arg::Tuple(items)] = &graph[output].args[..]
        && let [gradient] = &items[..]
    {
        let args = vec![gradient.clone()];
        let changed = graph.set_args(output, args, Vec::new());
        changed.map_err(|e| Stop::Internal(e.to_string()))?;
    }
    let args = Args::pos(others);
    let mut others = tx.node_args(&args)?;
    let tensor = tx.node_arg(&Var::Tensor(t.clone()))?;
    let graphs = [(&graph, "hook_body")];
    if keeps {
        others.pos.insert(0, tensor.0);
        others.meta_pos.insert(0, tensor.1);
        let node_args = crate::bodies::given_graphs(tx, Taker::Ours, &graphs, others)?;
        let register = MODULE.get(tx.py)?.getattr("register_hook")?.unbind();
        let callee = Callee::Function(&register, WHAT, None);
        tx.emit_inferred_as(&callee, node_args, Inferred::None, &args, true)?;
        let node = tx.log.graph.order().next_back();
        let node = node.ok_or_else(|| Stop::Internal("a hook without a node".into()))?;
        let class = tx.known.removable_handle.clone();
        return Ok(Var::Obj(tx.new_object(class, Body::OfNode(node))));
    }
    let mut node_args = crate::bodies::given_graphs(tx, Taker::Torch, &graphs, others)?;
    node_args.pos.insert(0, tensor.0);
    node_args.meta_pos.insert(0, tensor.1);
    let operator = tx
        .py
        .import(names::REGISTER_HOOK)?
        .getattr(names::REGISTER_HOOK_OP)?
        .unbind();
    let callee = Callee::Function(&operator, "torch.ops.higher_order.register_hook", None);
    let mut same = TensorMeta::clone(&meta);
    same.alias = Alias::Identity;
    let given = Args::pos(vec![Var::Tensor(t.clone())]);
    tx.emit_inferred_as(&callee, node_args, Inferred::Tensor(same), &given, true)?;
    Ok(tx.none())
}

/// What a hook does with a gradient like the tensor, and what else it computes with.
fn trace_hook(tx: &mut Tx<'_>, t: &Rc<TensorVar>, hook: &Var) -> R<(Traced, Vec<Var>)> {
    let around = crate::bodies::graph_around(tx, [])?;
    let mut meta = TensorMeta::clone(tx.st.effects.meta(t)).with_grad(false);
    (meta.is_leaf, meta.alias) = (true, Alias::View);
    let args = Args::pos(vec![Var::Tensor(t.clone())]);
    let node_args = tx.node_args(&args)?;
    let detach = Callee::Method("detach");
    let grad = match tx.st.levels.is_active() {
        true => tx.emit(&detach, &args)?,
        false => tx.emit_inferred(&detach, node_args, Inferred::Tensor(meta), &args)?,
    };
    let Var::Tensor(inside) = &grad else {
        return Err(Stop::Internal("a gradient that is no tensor".into()));
    };
    let given = [inside.node];
    // The backward pass records nothing, unless it is asked to.
    tx.st.grad_enabled = false;
    tx.st.levels.gradients += 1;
    let (traced, used) = crate::bodies::noting_used(tx, |tx| {
        crate::bodies::trace_body(tx, WHAT, hook, &Args::pos(vec![grad]), &given)
    });
    crate::bodies::return_to(tx, &around);
    let mut traced = traced?;
    let computes = |n: &NodeData| {
        n.repeatable || n.draws || matches!(n.op, OpKind::Placeholder | OpKind::Output)
    };
    if !traced.graph.iter().all(|(_, n)| computes(n)) {
        return Err(Stop::unsupported(format!(
            "{WHAT} of a function that does more than compute"
        )));
    }
    // One that gives what it got changes nothing.
    if matches!(&traced.out, Out::Given(Var::Tensor(same)) if same.node == given[0]) {
        traced.out = Out::Constant(tx.none());
    }
    let others = crate::bodies::taken_along(tx, WHAT, &mut traced, 1, &used)?;
    Ok((traced, others.into_iter().map(|o| o.1).collect()))
}

/// Whether the instruction's result is dropped at once.
fn drops_result(tx: &Tx<'_>) -> bool {
    let frame = &tx.st.frame;
    let next = frame.code.body.instrs.get(frame.ip + 1);
    next.is_some_and(|i| matches!(i.op, Op::PopTop))
}
