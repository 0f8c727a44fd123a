//! Control flow operators (`torch.cond`, `while_loop`, `map`, `scan`, `associative_scan`): one node of the graph, which is
//! torch's operator of graphs of the program's functions.
//!
//! The program's functions are traced once beside the graph; tensors that they use besides their arguments are
//! arguments of the node. What the node gives is asked of torch's fake tensors.
//!
//! Invariant: what plain Python refuses is left to it: functions that write to what they are given, or that
//! give it back.

use std::ops::Range;

use fx_graph::{Arg, NodeData, NodeId, OpKind, Target};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};
use rustc_hash::FxHashSet;
use tensor_meta::{Alias, Does};
use torch_abi::contexts::changes_context;
use torch_abi::names;
use translator::rules::Given;
use translator::state::OnReturn;
use translator::stop::{R, Stop};
use translator::torch_ops::args::MetaArg;
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};
use variables::raising::traits_of;
use variables::{Body, Obj, Var};

use crate::bodies::{GraphAround, Numbers, Out, Taker, Traced};

/// What a node calls; what is asked of it, on fake tensors, looks at what each function does, too.
const FUNCTION: &std::ffi::CStr = c"
import torch

def tensors_of(given):
    return [value for value in given if isinstance(value, torch.Tensor)]

def innermost(tensor):
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(tensor):
        tensor = functorch.get_unwrapped(tensor)
    return tensor

def memory(tensor):
    return innermost(tensor).untyped_storage()._cdata

def description(value):
    if not isinstance(value, torch.Tensor):
        return bool if isinstance(value, (bool, torch.SymBool)) else int
    return value.shape, value.stride(), value.dtype, value.device

def run(body, given):
    tensors = tensors_of(given)
    versions = [innermost(tensor)._version for tensor in tensors]
    taken = {memory(tensor) for tensor in tensors}
    with torch.no_grad():
        made = body(*given)
    for tensor in tensors_of(made):
        if memory(tensor) in taken:
            raise TypeError('a result that shares memory')
        taken.add(memory(tensor))
    if any(innermost(tensor)._version != version for tensor, version in zip(tensors, versions)):
        raise TypeError('an argument that is written to')
    return [description(value) for value in made]

def same(found, wanted):
    if found != wanted:
        raise TypeError('results that differ from what they have to be like')

def history(tensor):
    if tensor.is_floating_point() or tensor.is_complex():
        return tensor.requires_grad_().view_as(tensor)
    return tensor

def part(body, places):
    return lambda *given: body(*[given[at] for at in places])

def rows(tensors):
    return tuple(tensor.select(0, 0) for tensor in tensors)

def layout_apart(value):
    return value if isinstance(value, type) else (value[0], *value[2:])

def differ_in_sizes(found, others):
    def other_sizes(one, other):
        return isinstance(one, tuple) and isinstance(other, tuple) and len(one[0]) == len(other[0]) and one[2:] == other[2:]
    return len(found) == len(others) and all(a == b or other_sizes(a, b) for a, b in zip(found, others))

def place():
    # For a number: what it is, only the operator knows.
    return torch.empty((), dtype=torch.int64)

def is_recorded(given):
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors_of(given))

def described(value):
    if value is int:
        return place()
    shape, stride, dtype, device = value
    return torch.empty_strided(shape, stride, dtype=dtype, device=device)

def cond(op, bodies, counts, known):
    tensors_alone = [lambda *given, body=body: tuple(tensors_of(body(*given))) for body in bodies]
    def with_places(numbers, pred, given):
        made = iter(op(pred, *tensors_alone, given))
        return tuple(place() if number else next(made) for number in numbers)
    def check(pred, *given):
        if known and known[0]:
            return with_places(known[0], pred, given)
        found, others = (run(body, given) for body in bodies)
        numbers = [value is int for value in found]
        differ = found != others and differ_in_sizes(found, others)
        if differ and knows_no_sizes(given):
            # How large a result is depends on what decides.
            raise torch._subclasses.fake_tensor.DynamicOutputShapeException(op)
        if not differ:
            same(found, others)
        if any(numbers):
            known.append(numbers)
        if differ:
            return with_places(numbers, pred, given)
        if any(numbers):
            made = (described(value) for value in found)
            return tuple(history(value) if is_recorded(given) else value for value in made)
    def call(pred, *given):
        # As the operators below: an int that it gives is a size.
        found = check(pred, *given) if knows_no_sizes((pred, *given)) else None
        return op(pred, *bodies, given) if found is None else found
    return check, call

def like(value):
    if not isinstance(value, torch.Tensor):
        return place()
    return value.new_empty_strided(value.size(), value.stride())

def knows_no_sizes(tensors):
    modes = [getattr(innermost(tensor), 'fake_mode', None) for tensor in tensors_of(tensors)]
    return any(mode is not None and mode.shape_env is None for mode in modes)

def while_loop(op, bodies, counts, known):
    goes_on, body = bodies
    carried, = counts
    def check(*given):
        if int in run(goes_on, given):
            raise TypeError('a condition that is an int')
        same(run(body, given), [description(value) for value in given[:carried]])
        recorded = is_recorded(given)
        if recorded and len(tensors_of(given[:carried])) < carried:
            raise TypeError('an int that is carried where gradients are recorded')
        made = [like(value) for value in given[:carried]]
        return tuple(history(tensor) if recorded else tensor for tensor in made)
    goes_on_value = lambda *given: goes_on(*given)[0]
    def call(*given):
        # The operator itself wants a mode that knows of sizes that depend on data: also inside of another's function.
        if knows_no_sizes(given):
            return check(*given)
        return op(goes_on_value, body, given[:carried], given[carried:])
    return check, call

def map(op, bodies, counts, known):
    body, = bodies
    mapped, = counts
    def check(*given):
        run(body, rows(given[:mapped]) + given[mapped:])
    return check, lambda *given: op(body, list(given[:mapped]), list(given[mapped:]))

def scan(op, bodies, counts, known):
    body, = bodies
    first, end = counts
    def check(*given):
        made = run(body, given[:first] + rows(given[first:end]) + given[end:])
        same(made[:first], [description(tensor) for tensor in given[:first]])
    return check, lambda *given: op(body, list(given[:first]), list(given[first:end]), given[end:])

def associative_scan(op, bodies, counts, known):
    body, = bodies
    count, = counts
    def check(*given):
        xs, others = rows(given[:count]), given[count:]
        made = run(body, xs + xs + others)
        same([layout_apart(value) for value in made], [layout_apart(description(x)) for x in xs])
    return check, lambda *given: op(body, list(given[:count]), given[count:])

def function(kind, op, places, counts, checks):
    # Where it is asked again, what was found has not changed.
    known = []
    def higher_order(*given):
        bodies = [part(body, at) for body, at in zip(given, places)]
        tensors = given[len(places):]
        check, calls = kind(op, bodies, counts, known)
        found = check(*tensors) if checks and (not known or known[0]) else None
        if checks and not known:
            known.append([])
        return tuple(calls(*tensors)) if found is None else found
    higher_order.__name__ = higher_order.__qualname__ = kind.__name__
    higher_order.__ferrodyn_made__ = (
        function, kind, op, tuple(tuple(at) for at in places), tuple(counts), checks
    )
    return higher_order
";

variables::own_module! {
    static MODULE = (FUNCTION, c"<ferrodyn higher order>", c"ferrodyn_higher_order");
}

/// Which constants plain Python takes of an operator's functions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constant {
    Nothing,
    None,
    Int,
}

impl Constant {
    fn takes(self, tx: &Tx<'_>, v: &Var) -> bool {
        match self {
            Constant::Nothing => false,
            Constant::None => v.is_none(tx.py),
            Constant::Int => is_int(tx, v),
        }
    }
}

/// A call of one of the operators.
pub(crate) struct HigherOrder {
    pub(crate) path: &'static str,
    /// its name in the graph
    name: &'static str,
    /// where torch has it: its module is named after it
    object: &'static str,
    /// what the functions are called in the graph
    parts: &'static [&'static str],
    /// how many arguments are of the first kinds
    pub(crate) counts: Vec<usize>,
    /// arguments of the node that no function gets
    pub(crate) before: Vec<Var>,
    /// a number that comes before all others
    pub(crate) number: Option<NodeId>,
    /// a constant that the functions may give beside tensors
    pub(crate) constant: Constant,
    /// whether how large its results are may depend on data, as long as their other properties do not
    pub(crate) sizes_may_differ: bool,
    /// whether arguments may lie in the same memory: compilers refuse that, and get copies
    pub(crate) may_be_copies: bool,
    /// which arguments may lie in the memory of others below compilers too
    pub(crate) may_share: Range<usize>,
    /// whether torch has a rule for what it does to batches of `vmap`
    pub(crate) in_batches: bool,
    /// how many arguments come first of which the functions get two rows each
    pub(crate) at_two_rows: usize,
    /// arguments of the node that the functions get
    pub(crate) inputs: Vec<Var>,
    /// what stands for each of them in the functions
    pub(crate) inside: Vec<NodeId>,
}

impl HigherOrder {
    pub(crate) fn new(
        path: &'static str,
        name: &'static str,
        object: &'static str,
        parts: &'static [&'static str],
    ) -> HigherOrder {
        HigherOrder {
            path,
            name,
            object,
            parts,
            counts: Vec::new(),
            before: Vec::new(),
            number: None,
            constant: Constant::Nothing,
            sizes_may_differ: false,
            may_be_copies: false,
            may_share: 0..0,
            in_batches: false,
            at_two_rows: 0,
            inputs: Vec::new(),
            inside: Vec::new(),
        }
    }

    /// Hands a tensor on as it is, once.
    pub(crate) fn pass(&mut self, v: &Var) {
        if let Var::Tensor(t) = v
            && !self.inside.contains(&t.node)
        {
            self.inside.push(t.node);
            self.inputs.push(v.clone());
        }
    }
}

pub(crate) fn refused(path: &str, what: &str) -> Stop {
    Stop::unsupported(format!("{path} of {what}"))
}

/// Whether two results have the same containers.
pub(crate) fn same_form(a: &Out, b: &Out) -> bool {
    let all =
        |a: &[Out], b: &[Out]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_form(a, b));
    let key = |a: &Var, b: &Var| match (a, b) {
        (Var::Const(a), Var::Const(b)) => {
            Python::attach(|py| a.bind(py).eq(b.bind(py)).unwrap_or(false))
        }
        _ => false,
    };
    match (a, b) {
        (Out::New(_), Out::New(_)) | (Out::Number(_), Out::Number(_)) => true,
        (Out::Constant(a), Out::Constant(b)) => key(a, b),
        (Out::Tuple(a, None), Out::Tuple(b, None)) | (Out::List(a), Out::List(b)) => all(a, b),
        (Out::Tuple(a, Some(one)), Out::Tuple(b, Some(other))) => one.is(other) && all(a, b),
        (Out::Dict(a), Out::Dict(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|(a, b)| key(&a.0, &b.0) && same_form(&a.1, &b.1))
        }
        _ => false,
    }
}

/// At which places among the ints of two results they differ, or only one is known. `None` where the results differ
/// otherwise.
pub(crate) fn ints_that_differ(tx: &Tx<'_>, a: &Out, b: &Out) -> Option<Vec<usize>> {
    fn compare(
        tx: &Tx<'_>,
        (a, b): (&Out, &Out),
        ints: &mut usize,
        differ: &mut Vec<usize>,
    ) -> bool {
        let is_int = |out: &Out| match out {
            Out::Number(_) => true,
            Out::Constant(v) => is_int(tx, v),
            _ => false,
        };
        if is_int(a) && is_int(b) {
            if !same_form(a, b) {
                differ.push(*ints);
            }
            *ints += 1;
            return true;
        }
        let mut all = |a: &[Out], b: &[Out]| {
            let mut pairs = a.iter().zip(b);
            a.len() == b.len() && pairs.all(|pair| compare(tx, pair, ints, differ))
        };
        match (a, b) {
            (Out::Tuple(a, None), Out::Tuple(b, None)) | (Out::List(a), Out::List(b)) => all(a, b),
            (Out::Tuple(a, Some(one)), Out::Tuple(b, Some(other))) => one.is(other) && all(a, b),
            (Out::Dict(a), Out::Dict(b)) => {
                let key = |(key, _): &(Var, Out)| Out::Constant(key.clone());
                let mut pairs = a.iter().zip(b);
                a.len() == b.len()
                    && pairs.all(|(a, b)| {
                        same_form(&key(a), &key(b)) && compare(tx, (&a.1, &b.1), ints, differ)
                    })
            }
            (a, b) => same_form(a, b),
        }
    }
    let mut differ = Vec::new();
    compare(tx, (a, b), &mut 0, &mut differ).then_some(differ)
}

/// How many tensors there are in a result.
pub(crate) fn tensors_in(out: &Out) -> usize {
    match out {
        Out::Tuple(items, _) | Out::List(items) => items.iter().map(tensors_in).sum(),
        Out::Dict(items) => items.iter().map(|i| tensors_in(&i.1)).sum(),
        Out::Constant(_) => 0,
        Out::New(_) | Out::Number(_) | Out::Given(_) | Out::Read(_) => 1,
    }
}

/// Whether a result has numbers that the graph gives.
fn numbers_in(out: &Out) -> bool {
    match out {
        Out::Tuple(items, _) | Out::List(items) => items.iter().any(numbers_in),
        Out::Dict(items) => items.iter().any(|i| numbers_in(&i.1)),
        out => matches!(out, Out::Number(_)),
    }
}

/// Whether gradients of these are recorded here.
fn is_recorded(tx: &Tx<'_>, inputs: &[Var]) -> bool {
    let requires = |v: &Var| matches!(v, Var::Tensor(t) if tx.st.effects.meta(t).requires_grad);
    tx.st.grad_enabled && inputs.iter().any(requires)
}

/// Whether all parts of a result are tensors of the function's own, each once, or constants that are taken.
fn all_new(tx: &Tx<'_>, takes: Constant, out: &Out, next: &mut usize) -> bool {
    match out {
        Out::New(at) | Out::Number(at) => {
            *next += 1;
            *at + 1 == *next
        }
        Out::Tuple(_, Some(class)) if !is_named(tx, class) => false,
        Out::Tuple(items, _) | Out::List(items) => {
            items.iter().all(|i| all_new(tx, takes, i, next))
        }
        Out::Dict(items) => items.iter().all(|i| all_new(tx, takes, &i.1, next)),
        Out::Constant(v) => takes.takes(tx, v),
        Out::Given(_) | Out::Read(_) => false,
    }
}

/// Whether a class is one of named tuples.
fn is_named(tx: &Tx<'_>, class: &Obj) -> bool {
    class.bind(tx.py).hasattr("_fields").unwrap_or(false)
}

/// Whether a node of a function is an operation of torch's, which does no more than compute.
pub(crate) fn computes(node: &NodeData) -> bool {
    let outside = ["torch.ops.", "torch.utils.", "torch.autograd."];
    let of_torch = match &node.target {
        Target::Function(f) => {
            f.path.starts_with("operator.")
                || f.path.starts_with("torch.") && !outside.iter().any(|o| f.path.starts_with(o))
        }
        Target::Name(_) => node.op == OpKind::CallMethod,
    };
    node.repeatable
        || matches!(node.op, OpKind::Placeholder | OpKind::Output)
        || of_torch
            && !node
                .target
                .function()
                .is_some_and(|f| changes_context(&f.path) && &*f.path != names::SET_GRAD_MODE)
}

/// torch's own Python down to the operator: a break inside is one of the whole call, as plain Python does not
/// call the operator.
pub(crate) fn whole(tx: &mut Tx<'_>, module: &str, name: &str, args: Args) -> Given {
    let f = tx.py.import(module)?.getattr(name)?;
    let callee = tx.existing_callee(&f, None)?;
    let asked = tx.facts.asked_compiling;
    let result = match tx.inline(callee, args, OnReturn::Push) {
        Ok(flow) => tx.finish_flow(flow),
        Err(stop) => Err(stop),
    };
    tx.facts.asked_compiling = asked;
    match result {
        // What it raises is said otherwise where nobody compiles.
        Err(Stop::Raise(_)) => Err(refused(module, "arguments that it refuses")),
        other => other.map(|v| Some(Flow::Value(v))),
    }
}

pub(crate) fn is_plain_number(tx: &Tx<'_>, o: &Obj) -> bool {
    let b = o.bind(tx.py);
    b.is_exact_instance_of::<PyBool>()
        || b.is_exact_instance_of::<PyInt>()
        || b.is_exact_instance_of::<PyFloat>()
}

/// The tensors in an argument's containers, of which nothing else may be a part.
pub(crate) fn all_tensors(tx: &mut Tx<'_>, path: &str, v: &Var, found: &mut Vec<Var>) -> R<()> {
    let v = tx.look(v)?;
    let items: Vec<Var> = match &v {
        Var::Tensor(_) => {
            found.push(v);
            return Ok(());
        }
        v if is_int(tx, v) => return Ok(()),
        Var::Tuple(t) if t.class.as_ref().is_none_or(|class| is_named(tx, class)) => {
            t.items.clone()
        }
        Var::Obj(id) => {
            let class = tx.obj(*id).class.clone();
            match &tx.obj(*id).body {
                Body::List(items) if class.is(&tx.known.list) => items.iter().cloned().collect(),
                Body::Dict(map) if class.is(&tx.known.dict) => {
                    map.iter().map(|(_, v)| v.clone()).collect()
                }
                _ => return Err(refused(path, "an operand that is no tensor")),
            }
        }
        _ => return Err(refused(path, "an operand that is no tensor")),
    };
    items
        .iter()
        .try_for_each(|v| all_tensors(tx, path, v, found))
}

/// Whether a value is an int, which functions get as it is.
pub(crate) fn is_int(tx: &Tx<'_>, v: &Var) -> bool {
    match v {
        Var::Int(_) => true,
        Var::Const(o) => o.bind(tx.py).is_exact_instance_of::<PyInt>(),
        _ => false,
    }
}

/// Makes an operator's node; again for each function that is the first to use ints which are no constants, with
/// these as inputs of the graph.
pub(crate) fn with_numbers(
    tx: &mut Tx<'_>,
    args: Args,
    node: impl Fn(&mut Tx<'_>, Args, &mut Numbers) -> Given,
) -> Given {
    let before = tx.snapshot();
    let mut numbers = Numbers::default();
    loop {
        let known = (numbers.len(), numbers.places());
        let made = node(tx, args.clone(), &mut numbers);
        let more = known != (numbers.len(), numbers.places());
        // Operators take ints only.
        if made.is_ok() || !more || !numbers.has_ints_only() {
            return made;
        }
        tx.restore_but_needs(&before);
        numbers.make_inputs(tx);
    }
}

/// Traces the functions, each with its arguments, and makes the node if they fit.
pub(crate) fn higher_order(
    tx: &mut Tx<'_>,
    op: HigherOrder,
    numbers: &mut Numbers,
    bodies: &[(&Var, Args)],
    around: &GraphAround,
    fits: impl FnOnce(&Tx<'_>, &[Traced]) -> bool,
) -> Given {
    let py = tx.py;
    let levels = &tx.st.levels;
    let in_batches = levels.is_active();
    let bars = in_batches && (levels.records() || !op.in_batches);
    if tx.st.effects.shows_tensors || bars {
        return Err(refused(op.path, "tensors in a transform"));
    }
    let outer = tx.stand_ins.clone();
    let stand_ins = tx.stand_ins.get_or_insert_default();
    stand_ins.extend(&op.inside);
    let traced: R<Vec<_>> = bodies
        .iter()
        .map(|(function, args)| {
            let (body, used) = crate::bodies::noting_used(tx, |tx| {
                crate::bodies::trace_noting(tx, op.path, function, args, &op.inside, numbers)
            });
            body.map(|body| (body, used))
        })
        .collect();
    tx.stand_ins = outer;
    let traced = traced?;
    // What stood for arguments is no part of the graph.
    crate::bodies::return_to(tx, around);
    let mut inputs = op.inputs.clone();
    let mut known = op.inside.clone();
    let mut all_places = Vec::new();
    let mut repeatable = true;
    let make = MODULE.get(py)?;
    let mut all = Vec::new();
    for (mut body, used) in traced {
        if !body.graph.iter().all(|(_, n)| computes(n)) {
            return Err(refused(op.path, "a function that does more than compute"));
        }
        if !all_new(tx, op.constant, &body.out, &mut 0) {
            return Err(refused(
                op.path,
                "a function that gives what is no new tensor",
            ));
        }
        repeatable &= body
            .graph
            .iter()
            .all(|(_, n)| n.repeatable || matches!(n.op, OpKind::Placeholder | OpKind::Output));
        let mut places: Vec<usize> = (0..op.inside.len()).collect();
        let others = crate::bodies::taken_along(tx, op.path, &mut body, op.inside.len(), &used)?;
        for (node, v) in others {
            let at = known[op.inside.len()..].iter().position(|n| *n == node);
            places.push(op.inside.len() + at.unwrap_or(known.len() - op.inside.len()));
            if at.is_none() {
                known.push(node);
                inputs.push(v);
            }
        }
        all_places.push(places);
        all.push(body);
    }
    if !fits(tx, &all) {
        return Err(refused(op.path, "functions whose results do not fit"));
    }
    inputs.drain(..op.at_two_rows);
    if in_batches && (inputs.is_empty() || inputs.iter().any(|v| is_int(tx, v))) {
        return Err(refused(op.path, "numbers, or nothing, in `vmap`"));
    }
    set_apart(tx, &op, &mut inputs)?;
    let gives_numbers = all.iter().any(|body| numbers_in(&body.out));
    let is_recorded = is_recorded(tx, &inputs);
    if gives_numbers && op.constant == Constant::Int && is_recorded {
        // Compilers refuse that.
        if !tx.runs_as_is {
            return Err(refused(
                op.path,
                "an int that is given where gradients are recorded",
            ));
        }
        tx.st.needs_as_is = true;
    }
    if !tx.runs_as_is
        && tx.stand_ins.as_ref().is_some_and(|s| !s.is_empty())
        && takes_carried(tx, &inputs, op.inside.len())
    {
        // Inductor's own assertion fails for it.
        return Err(refused(
            op.path,
            "an int that is carried, inside of another operator's function",
        ));
    }
    let place = py.import(format!("{}.{}", names::HIGHER_ORDER_OPS, op.name))?;
    let (kind, operator) = (make.getattr(op.name)?, place.getattr(op.object)?);
    let function = |checks: bool| -> PyResult<Obj> {
        let args = (&kind, &operator, all_places.clone(), &op.counts, checks);
        Ok(make.call_method1("function", args)?.unbind())
    };
    let (asked, function) = (function(true)?, function(false)?);
    let callee = Callee::Function(&function, op.path, None);
    let asked = Callee::Function(&asked, op.path, None);
    let args = Args::pos(op.before.into_iter().chain(inputs).collect());
    let mut others = tx.node_args_with_sizes(&args)?;
    if let Some(number) = op.number {
        others.pos.insert(0, Arg::Node(number));
        others.meta_pos.insert(0, MetaArg::Bool(true));
    }
    let graphs: Vec<_> = all
        .iter()
        .zip(op.parts)
        .map(|(b, name)| (&b.graph, *name))
        .collect();
    let node_args = crate::bodies::given_graphs(tx, Taker::Ours, &graphs, others)?;
    let (captures, early) = (tx.st.captures_shapes, tx.st.effects.early.len());
    // Compilers know no gradients of results whose sizes differ.
    tx.st.captures_shapes |= op.sizes_may_differ && (tx.runs_as_is || !is_recorded);
    let inferred = match in_batches {
        true => tx
            .infer_fake_result(&asked, &node_args, "")
            .map(|(i, o)| (i, Some(o))),
        false => tx.infer_fake(&asked, &node_args, "").map(|i| (i, None)),
    };
    tx.st.captures_shapes = captures;
    let (inferred, shadow) = inferred?;
    let result = tx.emit_inferred_as(&callee, node_args, inferred, &args, repeatable)?;
    // What it gives that only the graph knows may be a size of others, without more being asked for.
    let is_unknown = tx.st.effects.early.len() > early;
    tx.st.captures_shapes |= gives_numbers || is_unknown;
    let Some(body) = all.pop() else {
        return Err(Stop::Internal("what an operator gives".into()));
    };
    if let Some(shadow) = shadow {
        // torch's operator may leave results out.
        let all = matches!(&result, Var::Tuple(t) if t.items.len() == tensors_in(&body.out));
        if gives_numbers || !all {
            return Err(refused(op.path, "several results in `vmap`"));
        }
        tx.keep_shadow(&result, shadow.bind(py))?;
    }
    crate::bodies::result(tx, body.out, &result, &[]).map(|v| Some(Flow::Value(v)))
}

/// Whether an operator is given an int that it carries (among the first `own`), or that one around it carries.
fn takes_carried(tx: &Tx<'_>, inputs: &[Var], own: usize) -> bool {
    let (own, others) = inputs.split_at(own);
    own.iter().any(|v| is_int(tx, v)) || others.iter().any(|v| tx.follows_from_read(v))
}

/// Whether a node certainly gives a tensor with memory of its own.
fn makes_new(data: &NodeData) -> bool {
    let shares = Does::VIEW | Does::VIEWS | Does::SHARES_DATA | Does::WRITES | Does::MAY_GIVE_SELF;
    let has_rule = match &data.target {
        Target::Function(f) => tensor_meta::lookup_function(&f.path).is_some(),
        Target::Name(name) => tensor_meta::lookup_method(name).is_some(),
    };
    let is_call = matches!(data.op, OpKind::CallFunction | OpKind::CallMethod);
    is_call && has_rule && !traits_of(data).any(shares)
}

/// Whether an operator hands this to a function of its own.
fn is_stand_in(tx: &Tx<'_>, node: NodeId) -> bool {
    tx.stand_ins.iter().flatten().any(|known| *known == node)
}

/// Sees to it that those arguments of a node lie in memory of their own which have to.
fn set_apart(tx: &mut Tx<'_>, op: &HigherOrder, inputs: &mut [Var]) -> R<()> {
    let mut apart = inputs.to_vec();
    apart.drain(op.may_share.clone());
    let Err(stop) = share_no_memory(tx, op.path, &apart) else {
        return Ok(());
    };
    if !op.may_be_copies {
        return Err(stop);
    }
    if tx.runs_as_is {
        tx.st.needs_as_is = true;
        return Ok(());
    }
    apart.clear();
    for (at, v) in inputs.iter_mut().enumerate() {
        if op.may_share.contains(&at) {
            continue;
        }
        apart.push(v.clone());
        if share_no_memory(tx, op.path, &apart).is_err() {
            // The functions only read it.
            let copy = tx.tensor_method(v, "clone", Args::default())?;
            *v = tx.finish_flow(copy)?;
            apart.pop();
            apart.push(v.clone());
        }
    }
    Ok(())
}

/// Torch refuses tensors that lie in the same memory.
fn share_no_memory(tx: &mut Tx<'_>, path: &str, tensors: &[Var]) -> R<()> {
    let mut storages = FxHashSet::default();
    let mut nodes: FxHashSet<NodeId> = FxHashSet::default();
    let mut views = Vec::new();
    let shared = || refused(path, "tensors that may share memory");
    for v in tensors {
        let Var::Tensor(t) = v else { continue };
        if !nodes.insert(t.node) {
            // Compilers refuse that, too.
            if !tx.runs_as_is {
                return Err(shared());
            }
            tx.st.needs_as_is = true;
            continue;
        }
        if let Some(input) = &t.input {
            let storage = input.obj.bind(tx.py).call_method0("untyped_storage")?;
            if !storages.insert(storage.getattr("_cdata")?.extract::<usize>()?) {
                return Err(shared());
            }
        } else if tx.st.effects.meta(t).alias != Alias::Fresh
            && !is_stand_in(tx, t.node)
            && !tx.log.graph.get(t.node).is_some_and(makes_new)
        {
            views.push(t.node);
        }
    }
    // What a view may be of: whatever it was made of, up to what the function is given.
    let mut origins: FxHashSet<NodeId> = FxHashSet::default();
    for view in views {
        let mut own: FxHashSet<NodeId> = FxHashSet::default();
        let mut open = tx.log.graph.inputs(view);
        while let Some(node) = open.pop() {
            let goes_on = |data: &NodeData| !makes_new(data);
            let of_others = tx.log.graph.get(node).is_some_and(goes_on);
            if own.insert(node) && of_others && !is_stand_in(tx, node) {
                open.extend(tx.log.graph.inputs(node));
            }
        }
        if own.iter().any(|n| nodes.contains(n) || origins.contains(n)) {
            return Err(shared());
        }
        origins.extend(own);
    }
    Ok(())
}
