//! Functions that a node of the graph runs: traced beside it, as graphs of their own.
//!
//! Invariant: what such a function does besides computing would be done once more, or at another time,
//! by who runs it, so a function with side effects is refused.

use std::rc::Rc;
use std::sync::Arc;

use fx_graph::{Graph, NodeId};
use guards::SourceId;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use rustc_hash::FxHashMap;
use tensor_meta::{Alias, TensorMeta};
use translator::state::Snapshot;
use translator::stop::{R, Stop};
use translator::torch_ops::args::{MetaArg, NodeArgs};
use translator::tx::{Args, Tx};
use variables::{
    Body, Effects, FloatVar, IntVar, Obj, ObjId, ObjState, OrderedMap, Origin, TupleVar, Var,
};

/// The function's graph, and what it gives.
pub(crate) struct Traced {
    pub(crate) graph: Graph,
    /// the nodes that its placeholders stand for
    pub(crate) inputs: Vec<NodeId>,
    /// inputs of the whole graph that it was the first to use
    read: Vec<(NodeId, Obj, SourceId)>,
    pub(crate) out: Out,
    pub(crate) metas: Vec<TensorMeta>,
    /// whether a tensor that it gives may share memory with others
    pub(crate) gives_views: bool,
    /// whether it stores what was there before in an object from outside
    pub(crate) stores_again: bool,
}

/// A result of the function.
pub(crate) enum Out {
    /// one of the graph's
    New(usize),
    /// a number that the graph gives
    Number(usize),
    /// a tensor that was there before
    Given(Var),
    /// an input that only the function used
    Read(NodeId),
    Constant(Var),
    Tuple(Vec<Out>, Option<Obj>),
    List(Vec<Out>),
    Dict(Vec<(Var, Out)>),
}

/// The graph around functions that are traced beside it, in which their operands are inputs or nodes.
pub(crate) struct GraphAround(Snapshot);

/// The state to which an operator returns when it has traced its functions.
///
/// The operands are arguments of the operator's node too. One that nobody has used so far becomes an
/// input of the graph here: made an input later, it would be dropped with what the functions did.
///
/// # Errors
/// A break for an operand that is not supported.
pub(crate) fn graph_around<'v>(
    tx: &mut Tx<'_>,
    operands: impl IntoIterator<Item = &'v Var>,
) -> R<GraphAround> {
    for v in operands {
        make_inputs(tx, v)?;
    }
    Ok(GraphAround(tx.snapshot()))
}

/// Drops what was traced beside the graph, guards aside.
pub(crate) fn return_to(tx: &mut Tx<'_>, around: &GraphAround) {
    tx.restore_but_needs(&around.0);
}

/// Makes the tensors in a value's containers inputs of the graph.
fn make_inputs(tx: &mut Tx<'_>, v: &Var) -> R<()> {
    let items: Vec<Var> = match tx.look(v)? {
        Var::Tuple(t) => t.items.clone(),
        Var::Obj(id) => match &tx.obj(id).body {
            Body::List(items) => items.iter().cloned().collect(),
            Body::Dict(map) => map.iter().map(|(_, v)| v.clone()).collect(),
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    tx.inside(|tx| items.iter().try_for_each(|v| make_inputs(tx, v)))
}

/// Runs the function beside the graph; leaves nothing but guards.
pub(crate) fn trace_body(
    tx: &mut Tx<'_>,
    what: &str,
    function: &Var,
    args: &Args,
    given: &[NodeId],
) -> R<Traced> {
    trace_noting(tx, what, function, args, given, &mut Numbers::default())
}

/// The same, of a function that may use numbers that are no constants: they are inputs of its graph.
pub(crate) fn trace_body_with_numbers(
    tx: &mut Tx<'_>,
    what: &str,
    function: &Var,
    args: &Args,
    given: &[NodeId],
) -> R<Traced> {
    let mut numbers = Numbers::default();
    let traced = trace_noting(tx, what, function, args, given, &mut numbers);
    if numbers.len() == 0 {
        return traced;
    }
    // Inputs of the graph around, they are there when the function is traced again.
    numbers.make_inputs(tx);
    trace_body(tx, what, function, args, given)
}

/// Which ints functions give as results of their graphs; others are constants of the translation.
#[derive(Clone, Default)]
pub(crate) enum Giving {
    #[default]
    Nothing,
    All,
    /// those that are no constants, and the ones at these places among the ints of a result
    Some(Vec<usize>),
}

/// Numbers that a function was the first to use.
#[derive(Default)]
pub(crate) struct Numbers {
    /// whether functions may give numbers, too
    pub(crate) giving: Giving,
    ints: Vec<Rc<IntVar>>,
    floats: Vec<Rc<FloatVar>>,
}

impl Numbers {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ints.len() + self.floats.len()
    }

    /// Whether all are ints.
    pub(crate) fn has_ints_only(&self) -> bool {
        self.floats.is_empty()
    }

    /// At how many places constants are given as numbers.
    pub(crate) fn places(&self) -> usize {
        match &self.giving {
            Giving::Some(places) => places.len(),
            _ => 0,
        }
    }

    /// Adds those that became inputs of the graph behind the first `ints` and `floats`.
    pub(crate) fn add_since(&mut self, tx: &Tx<'_>, (ints, floats): (usize, usize)) {
        let (ints, floats) = (&tx.log.int_inputs[ints..], &tx.log.float_inputs[floats..]);
        self.ints.extend(ints.iter().map(|i| i.int.clone()));
        self.floats.extend(floats.iter().map(|f| f.float.clone()));
    }

    /// Makes them inputs of the graph.
    pub(crate) fn make_inputs(&self, tx: &mut Tx<'_>) {
        for int in &self.ints {
            tx.int_input(int);
        }
        for float in &self.floats {
            tx.float_input(float);
        }
    }
}

/// As [`trace_body`]; a function that is the first to use numbers is refused, and `numbers` says which.
pub(crate) fn trace_noting(
    tx: &mut Tx<'_>,
    what: &str,
    function: &Var,
    args: &Args,
    given: &[NodeId],
    numbers: &mut Numbers,
) -> R<Traced> {
    tx.not_seen_with(what, args)?;
    let before = tx.snapshot();
    let from = tx.log.graph.checkpoint();
    let bound = tx.log.graph.id_bound() as u32;
    let (inputs, int_inputs) = (tx.log.inputs.len(), tx.log.int_inputs.len());
    let float_inputs = tx.log.float_inputs.len();
    let effects = tx.st.effects.clone();
    let (contexts, flags) = (tx.st.contexts.len(), tx.st.flags.clone());
    let grad_enabled = tx.st.grad_enabled;
    let listed = tx.st.effects.list_changes();
    let result = tx.call_sync(function, args.clone());
    // A function that runs once more in the backward pass is not behind the graph then.
    let result = result.and_then(|made| tx.not_seen(what).map(|()| made));
    let changed = tx.st.effects.stop_listing(listed);
    let is_from_outside = |id: &ObjId| (id.0 as usize) < effects.len() || !tx.obj(*id).is_new();
    let stores_again = changed.iter().any(is_from_outside);
    let plain = changed.iter().all(|id| is_as_before(tx, *id, &effects))
        && !tx.st.effects.others_since(&effects)
        && !tx.st.effects.advanced_since(&effects)
        && tx.st.contexts.len() == contexts
        && tx.st.flags.ptr_eq(&flags)
        && tx.st.grad_enabled == grad_enabled;
    let mut traced = match result {
        Err(stop) => Err(tx.stop_inside(stop, what, "The function is not captured.")),
        Ok(_) if !plain => Err(Stop::brk(
            format!("{what} of a function with side effects"),
            "The function changes something besides the tensors that it makes, which a graph of its own can't.",
            "Do that outside of the function.",
        )),
        Ok(out) => {
            let giving = numbers.giving.clone();
            let made = self::traced(tx, what, &out, (from, bound, inputs), given, giving);
            made.map(|made| Traced {
                stores_again,
                ..made
            })
        }
    };
    if traced.is_ok() {
        let raising = tx.st.effects.may_raise.clone();
        let mut raising = raising.iter().skip(effects.may_raise.len());
        if let Err(stop) = raising.try_for_each(|c| tx.guard_that_it_computes(c)) {
            traced = Err(stop);
        }
    }
    let (ints, floats) = (
        &tx.log.int_inputs[int_inputs..],
        &tx.log.float_inputs[float_inputs..],
    );
    numbers.add_since(tx, (int_inputs, float_inputs));
    let placeholders: Vec<NodeId> = (ints.iter().map(|i| i.node))
        .chain(floats.iter().map(|f| f.node))
        .collect();
    let read: Vec<NodeId> = tx.log.inputs[inputs..].iter().map(|i| i.node).collect();
    if traced.is_ok() && !placeholders.is_empty() {
        traced = Err(Stop::unsupported(format!(
            "{what} of a function that uses a number which is no constant"
        )));
    }
    // Their names are free again.
    for node in placeholders.into_iter().chain(read) {
        let name = placeholder_of(tx, node);
        tx.facts.input_names.remove(&*name);
    }
    tx.restore_but_needs(&before);
    traced
}

fn traced(
    tx: &mut Tx<'_>,
    what: &str,
    out: &Var,
    (from, bound, inputs): (fx_graph::Checkpoint, u32, usize),
    given: &[NodeId],
    giving: Giving,
) -> R<Traced> {
    let mut results = Results {
        bound,
        giving,
        ints: 0,
        outputs: Vec::new(),
        metas: Vec::new(),
    };
    let out = body_out(tx, what, out, &mut results)?;
    // With those that nothing looked at before they were given out.
    let read: Vec<_> = tx.log.inputs[inputs..]
        .iter()
        .map(|i| (i.node, i.obj.clone(), i.source))
        .collect();
    let Results {
        outputs, mut metas, ..
    } = results;
    if variables::chosen::can_be_told(&tx.log.graph, &outputs) {
        let what = format!("{what} of a function that gives or writes to one of several tensors");
        return Err(Stop::unsupported(what));
    }
    let gives_views = metas.iter().any(|meta| meta.alias != Alias::Fresh);
    for meta in &mut metas {
        // A tensor object that nobody had before, perhaps of memory that was there.
        meta.alias = Alias::View;
    }
    let (graph, used) = tx
        .log
        .graph
        .part_since(from, given, &outputs)
        .map_err(|e| Stop::Internal(e.to_string()))?;
    let returned = |node: &NodeId| out.reads(*node);
    let read = read
        .into_iter()
        .filter(|r| used.contains(&r.0) || returned(&r.0))
        .collect();
    Ok(Traced {
        graph,
        inputs: used,
        read,
        out,
        metas,
        gives_views,
        stores_again: false,
    })
}

/// What `run` gives, and the tensors that nodes were given meanwhile, by node.
pub(crate) fn noting_used<'py, T>(
    tx: &mut Tx<'py>,
    run: impl FnOnce(&mut Tx<'py>) -> T,
) -> (T, FxHashMap<NodeId, Var>) {
    let outer = tx.used.replace(FxHashMap::default());
    let made = run(tx);
    let used = std::mem::replace(&mut tx.used, outer).unwrap_or_default();
    (made, used)
}

/// Who is given graphs of functions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taker {
    /// a function of ours, which calls them
    Ours,
    /// an operator of torch, which looks into them
    Torch,
}

/// Arguments of a node that is given graphs of functions first, and then what they compute with.
pub(crate) fn given_graphs(
    tx: &mut Tx<'_>,
    taker: Taker,
    graphs: &[(&Graph, &str)],
    others: NodeArgs,
) -> R<NodeArgs> {
    let mut all = NodeArgs::default();
    for (graph, name) in graphs {
        let (objects, looked_into) = (&tx.facts.objects, taker == Taker::Torch);
        let part = (tx.rules.graphs.part)(tx.py, graph, objects, name, looked_into)?;
        let handle = tx.handle(&part);
        let repr = Arc::from(*name);
        all.pos.push(fx_graph::Arg::Opaque { handle, repr });
        all.meta_pos.push(MetaArg::Unknown);
    }
    all.pos.extend(others.pos);
    all.meta_pos.extend(others.meta_pos);
    (all.kw, all.meta_kw) = (others.kw, others.meta_kw);
    Ok(all)
}

/// A callable as a real object that a node may keep: one that existed before, a `functools.partial` of such, or a
/// function that the program makes of nothing but its code.
pub(crate) fn real_callable(tx: &mut Tx<'_>, v: &Var) -> R<Option<Obj>> {
    let py = tx.py;
    let v = tx.realize(v)?;
    match &v {
        Var::Func(f) if f.closure.is_empty() && f.defaults.is_none() && f.kwdefaults.is_none() => {
            let class = tx.known.function.bind(py);
            Ok(Some(class.call1((&f.code, &f.globals))?.unbind()))
        }
        Var::Obj(id) if tx.obj(*id).is_new() && tx.obj(*id).class.is(&tx.known.partial) => {
            let part = |name: &str| tx.obj(*id).attrs.get(name).cloned().flatten();
            let (Some(func), Some(args), Some(kw)) = (part("func"), part("args"), part("keywords"))
            else {
                return Ok(None);
            };
            let mut pos = vec![func];
            pos.extend(tx.iterate(&args)?);
            let given = Args {
                pos,
                kw: tx.keyword_items(&kw)?,
            };
            let all = tx.args_as(&given, |tx, v| match real_callable(tx, v)? {
                Some(found) => Ok(Some(found.into_bound(tx.py))),
                None => tx.real_copy(v),
            })?;
            let Some((pos, kw)) = all else {
                return Ok(None);
            };
            let class = tx.known.partial.bind(py);
            Ok(Some(
                class.call(PyTuple::new(py, pos)?, kw.as_ref())?.unbind(),
            ))
        }
        v => tx.as_const(v),
    }
}

pub(crate) fn placeholder_of(tx: &Tx<'_>, node: NodeId) -> Arc<str> {
    let name = tx
        .log
        .graph
        .get(node)
        .and_then(|n| n.target.name().cloned());
    name.unwrap_or_else(|| "".into())
}

/// What the graph of a function gives.
struct Results {
    /// nodes from here on are the function's own
    bound: u32,
    /// which numbers may be among them
    giving: Giving,
    /// how many ints there were so far
    ints: usize,
    outputs: Vec<NodeId>,
    /// of those that are tensors
    metas: Vec<TensorMeta>,
}

/// What the function gave, apart from the tensors that its graph gives.
fn body_out(tx: &mut Tx<'_>, what: &str, v: &Var, results: &mut Results) -> R<Out> {
    let number = match &results.giving {
        Giving::Nothing => None,
        Giving::All => tx.given_number(v)?,
        Giving::Some(places) => {
            let v = tx.look(v)?;
            let is_int = crate::higher_order::is_int(tx, &v);
            results.ints += usize::from(is_int);
            let is_listed = is_int && places.contains(&(results.ints - 1));
            match &v {
                // A node of the function's own, also for what it is given.
                Var::Int(int) => {
                    let given = tx.int_arg(&int.expr)?;
                    Some(crate::conditions::sym_node(tx, "sym_int", given)?)
                }
                v if is_listed => tx.own_int_node(v)?,
                _ => None,
            }
        }
    };
    if let Some(node) = number {
        results.outputs.push(node);
        return Ok(Out::Number(results.outputs.len() - 1));
    }
    // What is known of it without the graph needs no place there.
    if let int @ Var::Int(_) = tx.look(v)?
        && !tx.follows_from_read(&int)
    {
        return Ok(Out::Constant(int));
    }
    let v = tx.realize(v)?;
    let bound = results.bound;
    let mut each = |tx: &mut Tx<'_>, items: Vec<Var>| -> R<Vec<Out>> {
        let mut all = Vec::with_capacity(items.len());
        for i in &items {
            all.push(body_out(tx, what, i, results)?);
        }
        Ok(all)
    };
    Ok(match &v {
        Var::Tensor(t) if t.input.is_some() && t.node.0 >= bound => Out::Read(t.node),
        Var::Tensor(t) if t.node.0 < bound => Out::Given(v.clone()),
        Var::Tensor(t) => {
            let at = results.outputs.iter().position(|n| *n == t.node);
            Out::New(at.unwrap_or_else(|| {
                let meta = TensorMeta::clone(tx.st.effects.meta(t));
                results.metas.push(meta);
                results.outputs.push(t.node);
                results.outputs.len() - 1
            }))
        }
        Var::Tuple(t) => Out::Tuple(each(tx, t.items.clone())?, t.class.clone()),
        Var::Const(_) | Var::Py(_) => Out::Constant(v.clone()),
        Var::Obj(id) if tx.obj(*id).is_new() && tx.obj(*id).attrs.is_empty() => {
            let state = tx.obj(*id);
            let (list, dict) = (tx.known.list.clone(), tx.known.dict.clone());
            match state.body.clone() {
                Body::List(items) if state.class.is(&list) => {
                    Out::List(each(tx, items.iter().cloned().collect())?)
                }
                Body::Dict(map) if state.class.is(&dict) => {
                    let (keys, values): (Vec<Var>, Vec<Var>) =
                        map.iter().map(|(k, v)| (k.clone(), v.clone())).unzip();
                    Out::Dict(keys.into_iter().zip(each(tx, values)?).collect())
                }
                _ => return Err(strange_result(tx, what, &v)),
            }
        }
        _ => return Err(strange_result(tx, what, &v)),
    })
}

fn strange_result(tx: &Tx<'_>, what: &str, v: &Var) -> Stop {
    Stop::unsupported(format!(
        "{what} of a function that gives {}",
        tx.describe(v)
    ))
}

/// Whether an object that was changed is what it was: a program may put things back.
pub(crate) fn is_as_before(tx: &Tx<'_>, id: ObjId, before: &Effects) -> bool {
    let now = tx.obj(id);
    let existed = (id.0 as usize) < before.len();
    if now.is_new() && !existed {
        return true;
    }
    if existed && (before.get(id).is_new() || before.get(id).is_dirty()) {
        let old = before.get(id);
        let attr = |state: &ObjState, name| state.attrs.get(name).cloned().flatten();
        let same_attrs = now.attr_order == old.attr_order
            && now.attr_order.iter().all(|name| {
                let (now, old) = (attr(now, name), attr(old, name));
                matches!((now, old), (Some(now), Some(old)) if is_one(&now, &old))
            });
        return same_attrs
            && match (&now.body, &old.body) {
                (Body::Dict(now), Body::Dict(old)) => {
                    now.len() == old.len()
                        && now
                            .iter()
                            .zip(old.iter())
                            .all(|(n, o)| is_one(n.0, o.0) && is_one(n.1, o.1))
                }
                _ => false,
            };
    }
    let (Origin::Source { obj, .. }, Body::Dict(map)) = (&now.origin, &now.body) else {
        return false;
    };
    let Ok(real) = obj.bind(tx.py).cast::<PyDict>() else {
        return false;
    };
    now.attr_order.is_empty()
        && real.len() == map.len()
        && real
            .iter()
            .zip(map.iter())
            .all(|((key, value), (k, v))| stands_for(tx, k, &key) && stands_for(tx, v, &value))
}

/// Whether a value is an object that was there before.
fn stands_for(tx: &Tx<'_>, v: &Var, real: &Bound<'_, PyAny>) -> bool {
    match v {
        Var::Const(o) => o.is(real),
        Var::Py(p) => p.obj.is(real),
        Var::Lazy(l) => l.obj.is(real),
        Var::Tensor(t) => t.input.as_ref().is_some_and(|i| i.obj.is(real)),
        Var::Obj(id) => {
            matches!(&tx.obj(*id).origin, Origin::Source { obj, .. } if obj.is(real))
        }
        _ => false,
    }
}

/// Reads what only the function reads, for the graph around it; says which values these are.
pub(crate) fn read_again(tx: &mut Tx<'_>, traced: &mut Traced) -> R<Vec<(NodeId, Var)>> {
    let mut read = Vec::new();
    for (node, obj, source) in std::mem::take(&mut traced.read) {
        let v = tx.build(&obj, source)?;
        let Var::Tensor(t) = &v else {
            return Err(Stop::Internal("an input that is no tensor any more".into()));
        };
        for input in traced.inputs.iter_mut().filter(|i| **i == node) {
            *input = t.node;
        }
        read.push((node, v.clone()));
    }
    Ok(read)
}

/// What a function uses besides the first `given` of its inputs, as nodes and values of the graph around it;
/// `used`: the tensors that its nodes were given.
pub(crate) fn taken_along(
    tx: &mut Tx<'_>,
    what: &str,
    traced: &mut Traced,
    given: usize,
    used: &FxHashMap<NodeId, Var>,
) -> R<Vec<(NodeId, Var)>> {
    let read = read_again(tx, traced)?;
    values_of(tx, what, &traced.inputs[given..], &read, used)
}

/// These nodes, which a function uses, as values of the graph around it; `read`: what only it reads.
pub(crate) fn values_of(
    tx: &Tx<'_>,
    what: &str,
    nodes: &[NodeId],
    read: &[(NodeId, Var)],
    used: &FxHashMap<NodeId, Var>,
) -> R<Vec<(NodeId, Var)>> {
    let others = nodes.iter().map(|node| {
        let is_node = |v: &&Var| matches!(v, Var::Tensor(t) if t.node == *node);
        let known = read.iter().map(|r| &r.1).find(is_node);
        let int = tx.log.int_inputs.iter().find(|i| i.node == *node);
        let int = int.map(|i| Var::Int(i.int.clone()));
        match known.or_else(|| used.get(node)).cloned().or(int) {
            Some(v) => Ok((*node, v)),
            None => Err(Stop::unsupported(format!("{what} of a strange value"))),
        }
    });
    others.collect()
}

/// What the function gives, of the tensors `made` that a node of its graph gives.
pub(crate) fn result(tx: &mut Tx<'_>, out: Out, made: &Var, read: &[(NodeId, Var)]) -> R<Var> {
    let Var::Tuple(made) = made else {
        return Err(Stop::Internal("what a function of the graph gives".into()));
    };
    filled_in(tx, out, &made.items, read)
}

fn filled_in(tx: &mut Tx<'_>, out: Out, made: &[Var], read: &[(NodeId, Var)]) -> R<Var> {
    let each = |tx: &mut Tx<'_>, items: Vec<Out>| -> R<Vec<Var>> {
        items
            .into_iter()
            .map(|i| filled_in(tx, i, made, read))
            .collect()
    };
    let missing = || Stop::Internal("a result of a function of the graph".into());
    Ok(match out {
        Out::New(at) => made.get(at).cloned().ok_or_else(missing)?,
        // What the node gives at its place counts as a tensor, as no other value is one of its own.
        Out::Number(at) => match made.get(at) {
            Some(Var::Tensor(place)) => tx.number_of_node(place.node, false)?,
            _ => return Err(missing()),
        },
        Out::Given(v) | Out::Constant(v) => v,
        Out::Read(node) => {
            let found = read.iter().find(|r| r.0 == node);
            found.map(|r| r.1.clone()).ok_or_else(missing)?
        }
        Out::Tuple(items, class) => Var::Tuple(Rc::new(TupleVar {
            items: each(tx, items)?,
            class,
            origin: None,
        })),
        Out::List(items) => {
            let items = each(tx, items)?;
            tx.new_list(items)
        }
        Out::Dict(items) => {
            let mut map = OrderedMap::default();
            for (key, v) in items {
                let v = filled_in(tx, v, made, read)?;
                map.insert(tx.key(&key)?, key, v);
            }
            tx.new_dict(map)
        }
    })
}

impl Out {
    /// Whether an input that only the function used is among the results.
    fn reads(&self, node: NodeId) -> bool {
        match self {
            Out::Read(n) => *n == node,
            Out::Tuple(items, _) | Out::List(items) => items.iter().any(|i| i.reads(node)),
            Out::Dict(items) => items.iter().any(|i| i.1.reads(node)),
            Out::New(_) | Out::Number(_) | Out::Given(_) | Out::Constant(_) => false,
        }
    }
}

/// Whether two values are certainly one object.
fn is_one(a: &Var, b: &Var) -> bool {
    match (a, b) {
        (Var::Const(x), Var::Const(y)) => x.is(y),
        (Var::Py(x), Var::Py(y)) => x.obj.is(&y.obj),
        (Var::Lazy(x), Var::Lazy(y)) => x.source == y.source,
        (Var::Tensor(x), Var::Tensor(y)) => x.node == y.node,
        (Var::Obj(x), Var::Obj(y)) => x == y,
        _ => false,
    }
}
