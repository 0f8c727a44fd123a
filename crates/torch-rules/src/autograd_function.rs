//! `torch.autograd.Function.apply`: one node of the graph, which runs the user's own `forward` and
//! `backward`.
//!
//! Both are interpreted once beside the graph: for what they look at, which is guarded, for the
//! metadata of the results, and to see that they do nothing but compute. In a transform the node is `apply` for every
//! backend: torch's operator of graphs is not differentiated twice, nor batched.

use std::rc::Rc;
use std::sync::Arc;

use fx_graph::NodeId;
use guards::GuardKind;
use pyo3::prelude::*;
use tensor_meta::{Alias, Inferred, TensorMeta};
use translator::rules::{Given, Rule, RuleList};
use translator::stop::{R, Stop};
use translator::torch_ops::args::NodeArgs;
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};
use variables::contexts::{Level, LevelKind};
use variables::{Body, Obj, ObjId, Origin, TensorVar, Var};

use crate::bodies::Numbers;
use crate::function_graphs;

/// What `forward` and `backward` are given as their context while they are interpreted.
const CONTEXT: &std::ffi::CStr = c"
class FunctionCtx:
    saved_tensors = for_forward = ()
    plain = ()
    dirty = ()
    materializes = True
    @property
    def saved_variables(self):
        return self.saved_tensors
    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors
    def save_for_forward(self, *tensors):
        self.for_forward = tensors
    def mark_non_differentiable(self, *tensors):
        self.plain = tensors
    def mark_dirty(self, *tensors):
        self.dirty = tensors
    def set_materialize_grads(self, value):
        self.materializes = value

import torch
import weakref

def forward_only(cls, sets_up, *args):
    ctx = FunctionCtx()
    ctx.needs_input_grad = tuple([isinstance(a, torch.Tensor) and a.requires_grad for a in args])
    before = torch.is_grad_enabled()
    if before:
        torch.set_grad_enabled(False)
    if sets_up:
        result = cls.forward(*args)
        cls.setup_context(ctx, args, result)
    else:
        result = cls.forward(ctx, *args)
    in_tuple = isinstance(result, tuple)
    results = []
    for r in result if in_tuple else (result,):
        given = any([r is a for a in args]) and not any([r is d for d in ctx.dirty])
        results.append(r.view_as(r) if given and isinstance(r, torch.Tensor) else r)
    if before:
        torch.set_grad_enabled(True)
    return tuple(results) if in_tuple else results[0]

def function(cls, objects):
    # Weakly: the code goes with the objects.
    objects = [(at, weakref.ref(o)) for at, o in objects]
    def apply(*args):
        if objects:
            args = list(args)
            for at, o in objects:
                args.insert(at, o())
        return cls.apply(*args)
    apply.__name__ = apply.__qualname__ = cls.__name__ + '_apply'
    apply.__module__ = cls.__module__
    if not objects:
        # Another process makes it in the same way.
        apply.__ferrodyn_made__ = function, cls, ()
    return apply
";

variables::own_module! {
    static CONTEXT_MODULE = (CONTEXT, c"<ferrodyn context>", c"ferrodyn_context");
}

/// A result of `forward`.
enum Out {
    Tensor(Box<TensorMeta>),
    None,
    /// what it gives beside tensors, and is known
    Known(Var),
    Tuple(Vec<Out>),
}

/// torch before 2.15 has a method of Python's around the one of C's.
pub(crate) const RULES: RuleList = &[(
    "torch.autograd.function",
    &[("Function.apply.__func__", apply as Rule)],
)];

fn apply(tx: &mut Tx<'_>, _: &'static str, mut args: Args) -> Given {
    if args.pos.is_empty() {
        return Ok(None);
    }
    let class = args.pos.remove(0);
    match tx.realize(&class)?.as_obj() {
        Some(class) => apply_function(tx, class.clone(), args).map(Some),
        None => Ok(None),
    }
}

/// `cls.apply(*args)`.
///
/// # Errors
/// A break where `forward` or `backward` does more than compute with its arguments.
pub fn apply_function(tx: &mut Tx<'_>, class: Obj, args: Args) -> R<Flow> {
    let mut numbers = Numbers::default();
    if let Some(made) = apply_noting(tx, &class, &args, &mut numbers)? {
        return Ok(made);
    }
    // Inputs of the graph around, they are there when the methods are traced again.
    numbers.make_inputs(tx);
    let made = apply_noting(tx, &class, &args, &mut numbers)?;
    made.ok_or_else(|| Stop::unsupported("numbers of a torch.autograd.Function"))
}

/// The same; `None` where a compiler needs its graphs and it was the first to use numbers: `numbers` says which.
fn apply_noting(
    tx: &mut Tx<'_>,
    class: &Obj,
    args: &Args,
    first_used: &mut Numbers,
) -> R<Option<Flow>> {
    let py = tx.py;
    const WHAT: &str = "torch.autograd.Function";
    tx.not_seen_with(WHAT, args)?;
    if !args.kw.is_empty() {
        return Err(Stop::unsupported(
            "torch.autograd.Function.apply with keywords",
        ));
    }
    let in_transform = tx.st.levels.records();
    if in_transform && !is_differentiated_as_written(tx, class)? {
        return Err(Stop::unsupported("torch.autograd.Function in a transform"));
    }
    if tx.is_allowed_in_graph(class.bind(py))? {
        // The program vouches for what its methods do.
        let (objects, passed) = split_objects(tx, args)?;
        let apply = callable(py, class, &objects)?;
        return tx.graph_call(&apply, passed).map(Some);
    }
    let name = tx.class_name(class);
    if name == "BackwardHookFunction" {
        // Its caller looks for the very node of the autograd graph that it makes.
        return Err(Stop::unsupported("backward hooks of a module"));
    }
    let mut needs = Vec::new();
    let mut has_numbers = false;
    for v in &args.pos {
        let v = tx.look(v)?;
        has_numbers |= matches!(v, Var::Int(_) | Var::Float(_));
        let requires = match &v {
            Var::Tensor(t) => tx.st.effects.meta(t).requires_grad,
            _ => false,
        };
        needs.push(requires);
    }
    let differentiable = tx.st.grad_enabled && needs.iter().any(|n| *n);
    let (objects, passed) = split_objects(tx, args)?;
    if has_numbers {
        // They are inputs of the graph before the methods use them.
        tx.node_args_with_sizes(&passed)?;
    }

    let around = crate::bodies::graph_around(tx, args.values())?;
    let inputs = tx.log.inputs.len();
    let numbers = (tx.log.int_inputs.len(), tx.log.float_inputs.len());
    let nodes = tx.log.graph.id_bound() as u32;
    let effects = tx.st.effects.clone();
    let listed = tx.st.effects.list_changes();
    // An exception is an object of the state that is about to be left.
    let (result, mut used) = crate::bodies::noting_used(tx, |tx| {
        interpret_function(tx, class, args, &needs, differentiable)
    });
    use_given_tensors(tx, args, &mut used)?;
    if let Some(outer) = &mut tx.used {
        outer.extend(used.iter().map(|(node, v)| (*node, v.clone())));
    }
    let result = result.map_err(|stop| not_plain(tx, &name, stop));
    let listed = tx.st.effects.stop_listing(listed);
    // What it does later, in the backward pass, is not behind the graph.
    tx.not_seen(WHAT)?;
    // What this frame made is no effect yet, but the graph's function gets a copy of it.
    let changed = tx.st.effects.any_since(&effects)
        || tx.st.effects.advanced_since(&effects)
        || !listed
            .iter()
            .all(|id| crate::bodies::is_as_before(tx, *id, &effects));
    let (new_inputs, reads) = reads_since(tx, nodes);
    let read: Vec<_> = tx.log.inputs[inputs.min(tx.log.inputs.len())..]
        .iter()
        .map(|i| (i.node, i.source, i.obj.clone()))
        .collect();
    let has_numbers = numbers != (tx.log.int_inputs.len(), tx.log.float_inputs.len());
    first_used.add_since(tx, numbers);
    let of_numbers = (tx.log.int_inputs[numbers.0..].iter().map(|i| i.node))
        .chain(tx.log.float_inputs[numbers.1..].iter().map(|f| f.node));
    let dropped: Vec<NodeId> = read.iter().map(|r| r.0).chain(of_numbers).collect();
    for node in dropped {
        let name = crate::bodies::placeholder_of(tx, node);
        tx.facts.input_names.remove(&*name);
    }
    crate::bodies::return_to(tx, &around);
    let Interpreted { out, graphs, dirty } = match result {
        Ok(_) if in_transform && has_numbers => return Ok(None),
        Ok(out) if !changed => out,
        Ok(_) => {
            return Err(Stop::brk(
                format!("torch.autograd.Function {name} with side effects"),
                "Its forward or backward changes something besides its context.",
                "Do that outside of the function.",
            ));
        }
        Err(stop) => return Err(stop),
    };
    if has_numbers && graphs.is_some() {
        return Ok(None);
    }
    if let Some(graphs) = graphs {
        let inferred = inferred_tensors(&out);
        let result = function_graphs::function_node(tx, &graphs, &read, &used, inferred)?;
        let result = with_others(tx, &out, result);
        return given_out(tx, &dirty, &out, result).map(|v| Some(Flow::Value(v)));
    }
    // Tensors that it reads from elsewhere are no arguments of the node: they have to stay.
    for (_, source, obj) in read {
        let obj = tx.pin(&obj, true);
        tx.guard(source, GuardKind::IdMatch { obj });
    }
    let apply = callable(py, class, &objects)?;
    let node_args = tx.node_args_with_sizes(&passed)?;
    let mut given = Vec::new();
    for arg in &node_args.pos {
        arg.for_each_node(&mut |n| given.push(n));
    }
    let reads_others =
        new_inputs || !objects.is_empty() || reads.iter().any(|n| !given.contains(n));
    if reads_others {
        if !tx.runs_as_is && !differentiable {
            return forward_only(tx, class, args).map(Some);
        }
        if !tx.runs_as_is {
            return Err(Stop::brk(
                format!(
                    "torch.autograd.Function {name} with tensors from elsewhere, for a compiler"
                ),
                "Only the tensors that it is given can be followed through a compiler.",
                "Pass tensors as arguments of `apply`.",
            ));
        }
        tx.st.needs_as_is = true;
    }
    let path = format!("{}.apply", translator::tx::qualified_name(class.bind(py)));
    let callee = Callee::Function(&apply, &path, None);
    if in_transform {
        if !dirty.is_empty() || !known_of(&out).is_empty() {
            return Err(Stop::unsupported(
                "mark_dirty, or constants, in a transform",
            ));
        }
        let made = emit_in_transform(tx, &callee, node_args, &passed)?;
        return Ok(Some(Flow::Value(made)));
    }
    let inferred = inferred(&out);
    let result = tx.emit_inferred(&callee, node_args, inferred, &passed)?;
    given_out(tx, &dirty, &out, result).map(|v| Some(Flow::Value(v)))
}

/// Counts the tensors among arguments as used: one that no operation is given may still have a gradient.
fn use_given_tensors(
    tx: &mut Tx<'_>,
    args: &Args,
    used: &mut rustc_hash::FxHashMap<NodeId, Var>,
) -> R<()> {
    for v in args.values() {
        if let v @ Var::Tensor(t) = &tx.look(v)? {
            used.entry(t.node).or_insert_with(|| v.clone());
        }
    }
    Ok(())
}

/// Inlines `forward`, whose result nothing is differentiated through: a compiler can follow what it reads from elsewhere.
fn forward_only(tx: &mut Tx<'_>, class: &Obj, args: &Args) -> R<Flow> {
    let sets_up = overrides(tx.py, class, "setup_context")?;
    let function = CONTEXT_MODULE.get(tx.py)?.getattr("forward_only")?;
    let mut given = args.clone();
    given
        .pos
        .splice(0..0, [Var::py(class.clone()), tx.bool(sets_up)]);
    tx.call(&Var::py(function.unbind()), given)
}

/// Whether a class has a method of its own under the name of one that every function has.
fn overrides(py: Python<'_>, class: &Obj, name: &str) -> PyResult<bool> {
    let base = py
        .import("torch.autograd.function")?
        .getattr("_SingleLevelFunction")?;
    Ok(!class.bind(py).getattr(name)?.is(&base.getattr(name)?))
}

/// The node in levels of transforms. The methods do no more than compute, so they may be run on what stands for the
/// tensors.
fn emit_in_transform(
    tx: &mut Tx<'_>,
    callee: &Callee<'_>,
    node_args: NodeArgs,
    args: &Args,
) -> R<Var> {
    let (inferred, out) = tx.infer_fake_result(callee, &node_args, "")?;
    let made = tx.emit_inferred(callee, node_args, inferred, args)?;
    tx.keep_shadow(&made, out.bind(tx.py))?;
    Ok(made)
}

/// Interprets `jvp`, with the tensors that `forward` was given in the place of their tangents: they have the same
/// metadata. What it is given as saved is what `save_for_forward` was told.
fn interpret_jvp(tx: &mut Tx<'_>, ctx: ObjId, jvp: &Var, args: &Args) -> R<()> {
    let saved_tensors = Arc::from("saved_tensors");
    let for_forward = tx.getattr_sync(&Var::Obj(ctx), &Arc::from("for_forward"))?;
    let for_backward = tx.getattr_sync(&Var::Obj(ctx), &saved_tensors)?;
    tx.st
        .effects
        .write_attr(ctx, &saved_tensors, Some(for_forward));
    let mut given = vec![Var::Obj(ctx)];
    for v in &args.pos {
        let v = tx.look(v)?;
        given.push(match v {
            Var::Tensor(_) => v,
            _ => tx.none(),
        });
    }
    tx.call_sync(jvp, Args::pos(given))?;
    tx.st
        .effects
        .write_attr(ctx, &saved_tensors, Some(for_backward));
    Ok(())
}

/// Whether what levels of transforms do with `apply` is to run `forward` and `backward`, each as it is written.
fn is_differentiated_as_written(tx: &Tx<'_>, class: &Obj) -> PyResult<bool> {
    let levels = &tx.st.levels;
    let is_batch = |level: &Level| matches!(level.kind, LevelKind::Batch(..));
    if !levels.entered.iter().any(is_batch) {
        return Ok(true);
    }
    class.bind(tx.py).getattr("generate_vmap_rule")?.is_truthy()
}

/// `class.apply` as a Python function, which has a name by which generated code can call it, with these objects among
/// its arguments.
fn callable(py: Python<'_>, class: &Obj, objects: &[(usize, Obj)]) -> PyResult<Obj> {
    let module = CONTEXT_MODULE.get(py)?;
    let function = module.call_method1("function", (class, objects))?;
    Ok(function.unbind())
}

/// Objects among the arguments, by place, and the arguments that a graph can hold. Objects existed
/// before and stay what they were: the function that the graph calls has them.
///
/// # Errors
/// A break for an object that the program has changed, or made.
fn split_objects(tx: &mut Tx<'_>, args: &Args) -> R<(Vec<(usize, Obj)>, Args)> {
    let (mut objects, mut passed) = (Vec::new(), Vec::new());
    for (at, v) in args.pos.iter().enumerate() {
        let v = tx.look(v)?;
        let existing = match &v {
            Var::Obj(id) => match (&tx.obj(*id).body, &tx.obj(*id).origin) {
                (Body::Plain, Origin::Source { obj, source }) => Some((obj.clone(), *source)),
                _ => None,
            },
            _ => None,
        };
        let Some((obj, source)) = existing.filter(|_| tx.st.effects.dirty.is_empty()) else {
            passed.push(v);
            continue;
        };
        let held = tx.pin(&obj, true);
        tx.guard(source, GuardKind::IdMatch { obj: held });
        objects.push((at, obj));
    }
    Ok((objects, Args::pos(passed)))
}

/// What nodes from `first` on read: whether it is inputs that are new too, and the nodes before.
fn reads_since(tx: &Tx<'_>, first: u32) -> (bool, Vec<NodeId>) {
    let (mut new_inputs, mut reads) = (false, Vec::new());
    for (id, node) in tx.log.graph.iter().filter(|(id, _)| id.0 >= first) {
        new_inputs |= tx.log.graph.placeholders().contains(&id);
        node.for_each_input(|n| {
            if n.0 < first {
                reads.push(n);
            }
        });
    }
    (new_inputs, reads)
}

/// What `forward` gives and does.
struct Interpreted {
    out: Out,
    /// both methods, for a compiler
    graphs: Option<function_graphs::Graphs>,
    /// the arguments that it writes to and gives, by their place among the results
    dirty: Vec<(usize, Rc<TensorVar>)>,
}

/// What the node gives, with the arguments themselves where they were written to, and what is known in its place.
fn given_out(tx: &mut Tx<'_>, dirty: &[(usize, Rc<TensorVar>)], out: &Out, result: Var) -> R<Var> {
    let known = known_of(out);
    if dirty.is_empty() && known.is_empty() {
        return Ok(result);
    }
    let (mut items, single) = match &result {
        Var::Tuple(t) => (t.items.clone(), false),
        _ => (vec![result.clone()], true),
    };
    for (at, argument) in dirty {
        let Some(Var::Tensor(made)) = items.get(*at) else {
            return Err(Stop::Internal("a result that was written to".into()));
        };
        let mut meta = TensorMeta::clone(&made.meta);
        meta.alias = tx.st.effects.meta(argument).alias;
        tx.st.effects.set_meta(argument.node, Rc::new(meta));
        items[*at] = Var::Tensor(argument.clone());
    }
    for (at, v) in known {
        items[at] = v;
    }
    match (single, items.pop()) {
        (true, Some(one)) => Ok(one),
        (_, last) => Ok(Var::tuple(items.into_iter().chain(last).collect())),
    }
}

/// Runs `forward`, and `backward` where it will be needed; for a compiler, gives their graphs too.
fn interpret_function(
    tx: &mut Tx<'_>,
    class: &Obj,
    args: &Args,
    needs: &[bool],
    differentiable: bool,
) -> R<Interpreted> {
    let py = tx.py;
    let start = tx.log.graph.checkpoint();
    let context_class = CONTEXT_MODULE.get(py)?.getattr("FunctionCtx")?.unbind();
    let ctx = tx.new_object(context_class, Body::Plain);
    let flags = needs.iter().map(|n| tx.bool(*n)).collect();
    tx.st
        .effects
        .write_attr(ctx, &Arc::from("needs_input_grad"), Some(Var::tuple(flags)));
    tx.st.grad_enabled = false;
    let class_var = Var::py(class.clone());
    let method = |tx: &mut Tx<'_>, name: &str| tx.getattr_sync(&class_var, &Arc::from(name));
    let forward = method(tx, "forward")?;
    let result = if overrides(py, class, "setup_context")? {
        let result = tx.call_sync(&forward, args.clone())?;
        let setup = method(tx, "setup_context")?;
        let inputs = Var::tuple(args.pos.clone());
        tx.call_sync(
            &setup,
            Args::pos(vec![Var::Obj(ctx), inputs, result.clone()]),
        )?;
        result
    } else {
        let mut all = args.clone();
        all.pos.insert(0, Var::Obj(ctx));
        tx.call_sync(&forward, all)?
    };
    let plain = tx.getattr_sync(&Var::Obj(ctx), &Arc::from("plain"))?;
    let plain: Vec<u32> = tx
        .iterate(&plain)?
        .iter()
        .filter_map(|v| match v {
            Var::Tensor(t) => Some(t.node.0),
            _ => None,
        })
        .collect();
    let dirty = tensors_of(tx, ctx, "dirty")?;
    let mut results = Vec::new();
    let out = function_result(tx, &result, differentiable, &plain, &mut results)?;
    let written = written_results(tx, args, &dirty, &results)?;
    let mut own_results = Vec::new();
    for made in &results {
        own_results.push(match made {
            // What was an argument is given as a new tensor of its memory.
            Some(t) if is_argument(args, t) && !dirty.contains(&t.node) => {
                let view = Args::pos(vec![Var::Tensor(t.clone()), Var::Tensor(t.clone())]);
                match tx.emit(&Callee::Method("view_as"), &view)? {
                    Var::Tensor(view) => Some(view.node),
                    _ => None,
                }
            }
            Some(t) => Some(t.node),
            None => None,
        });
    }
    if tx.st.levels.dual.is_some() {
        let jvp = method(tx, "jvp")?;
        interpret_jvp(tx, ctx, &jvp, args)?;
    }
    let end = tx.log.graph.checkpoint();
    let mut graphs = None;
    if differentiable {
        let name = match overrides(py, class, "vjp")? {
            true => "vjp",
            false => "backward",
        };
        let backward = method(tx, name)?;
        let mut given = vec![Var::Obj(ctx)];
        for g in results {
            given.push(match g {
                Some(t) => tx.emit(&Callee::Method("detach"), &Args::pos(vec![Var::Tensor(t)]))?,
                None => tx.none(),
            });
        }
        let start_of_backward = tx.log.graph.checkpoint();
        let gradients = tx.call_sync(&backward, Args::pos(given.clone()))?;
        let marks = function_graphs::Marks {
            forward: start,
            end,
            backward: start_of_backward,
        };
        let in_tuple = matches!(out, Out::Tuple(_));
        let methods = (&own_results[..], in_tuple, &given[1..], &gradients);
        graphs = both_graphs(tx, ctx, args, &marks, methods)?;
    }
    Ok(Interpreted {
        out,
        graphs,
        dirty: written,
    })
}

fn is_argument(args: &Args, t: &TensorVar) -> bool {
    (args.pos.iter()).any(|v| matches!(v, Var::Tensor(a) if a.node == t.node))
}

/// Tensors that `forward` handed its context.
fn tensors_of(tx: &mut Tx<'_>, ctx: variables::ObjId, name: &str) -> R<Vec<NodeId>> {
    let tensors = tx.getattr_sync(&Var::Obj(ctx), &Arc::from(name))?;
    let tensors = tx.iterate(&tensors)?;
    let node = |v: &Var| match v {
        Var::Tensor(t) => Some(t.node),
        _ => None,
    };
    Ok(tensors.iter().filter_map(node).collect())
}

/// The results that are arguments which `forward` wrote to, by their place.
///
/// # Errors
/// A break where another tensor may see the write, or where autograd may refuse it.
fn written_results(
    tx: &mut Tx<'_>,
    args: &Args,
    dirty: &[NodeId],
    results: &[Option<Rc<TensorVar>>],
) -> R<Vec<(usize, Rc<TensorVar>)>> {
    let mut written = Vec::new();
    for node in dirty {
        let place = (results.iter()).position(|r| r.as_ref().is_some_and(|t| t.node == *node));
        let argument = (args.pos.iter()).find_map(|v| match v {
            Var::Tensor(t) if t.node == *node => Some(t.clone()),
            _ => None,
        });
        let (Some(place), Some(argument)) = (place, argument) else {
            return Err(Stop::unsupported(
                "mark_dirty of a tensor that is no argument and result",
            ));
        };
        let meta = tx.st.effects.meta(&argument);
        let is_own = argument.input.is_none() && argument.fresh && meta.alias == Alias::Fresh;
        if !is_own || meta.is_leaf && meta.requires_grad {
            return Err(Stop::unsupported(
                "mark_dirty of an input, a view or a leaf",
            ));
        }
        written.push((place, argument));
    }
    Ok(written)
}

/// The graphs of both methods, for a compiler, by the results of `forward`, whether those come in a tuple, and the
/// gradients that `backward` gets and gives; `None` where torch's operator of graphs would do otherwise.
fn both_graphs(
    tx: &mut Tx<'_>,
    ctx: variables::ObjId,
    args: &Args,
    marks: &function_graphs::Marks,
    (results, in_tuple, given, gradients): (&[Option<NodeId>], bool, &[Var], &Var),
) -> R<Option<function_graphs::Graphs>> {
    let materializes = tx.getattr_sync(&Var::Obj(ctx), &Arc::from("materializes"))?;
    if tx.runs_as_is || tx.st.levels.records() || !tx.truth(&materializes)? {
        return Ok(None);
    }
    let results: Vec<NodeId> = results.iter().copied().flatten().collect();
    if results.is_empty() {
        return Ok(None);
    }
    let gradients = match tx.realize(gradients)? {
        Var::Tuple(t) => t.items.clone(),
        one => vec![one],
    };
    let (mut nodes, mut wanted) = (Vec::new(), Vec::new());
    for (at, v) in args.pos.iter().enumerate() {
        let Var::Tensor(t) = tx.look(v)? else {
            continue;
        };
        // Torch adds up what the two give.
        if nodes.contains(&t.node) {
            return Ok(None);
        }
        nodes.push(t.node);
        let gradient = match gradients.get(at) {
            Some(g) => tx.realize(g)?,
            None => return Ok(None),
        };
        wanted.push(match &gradient {
            Var::Tensor(g) => Some(g.node),
            g if g.is_none(tx.py) => None,
            _ => return Ok(None),
        });
    }
    let node = |v: &Var| match v {
        Var::Tensor(t) => Some(t.node),
        _ => None,
    };
    let given: Vec<NodeId> = given.iter().filter_map(node).collect();
    let made = function_graphs::Interpreted {
        args: &nodes,
        results: &results,
        in_tuple,
        given: &given,
        gradients: &wanted,
        saved: &tensors_of(tx, ctx, "saved_tensors")?,
        dirty: &tensors_of(tx, ctx, "dirty")?,
        plain: &tensors_of(tx, ctx, "plain")?,
    };
    if given.len() != results.len() {
        return Ok(None);
    }
    function_graphs::graphs(tx, marks, &made).map(Some)
}

/// The shape of what `forward` gave, and the tensors whose gradients `backward` gets.
fn function_result(
    tx: &mut Tx<'_>,
    v: &Var,
    differentiable: bool,
    plain: &[u32],
    grads: &mut Vec<Option<Rc<TensorVar>>>,
) -> R<Out> {
    let v = tx.realize(v)?;
    match &v {
        Var::Tensor(t) => {
            let meta = tx.st.effects.meta(t).clone();
            let requires = differentiable
                && !plain.contains(&t.node.0)
                && (meta.dtype.is_floating() || meta.dtype.is_complex());
            let mut meta = TensorMeta::clone(&meta).with_grad(requires);
            meta.is_leaf = !requires;
            // A new tensor object in any case, perhaps of the same memory.
            meta.alias = Alias::View;
            grads.push(Some(t.clone()));
            Ok(Out::Tensor(Box::new(meta)))
        }
        Var::Tuple(t) if t.class.is_none() => {
            let items = t
                .items
                .iter()
                .map(|i| match tx.look(i)? {
                    i if is_known(tx, &i)? => {
                        grads.push(None);
                        Ok(Out::Known(i))
                    }
                    Var::Tuple(_) => Err(Stop::unsupported("nested results of apply")),
                    i => function_result(tx, &i, differentiable, plain, grads),
                })
                .collect::<R<Vec<_>>>()?;
            Ok(Out::Tuple(items))
        }
        v if v.is_none(tx.py) => {
            grads.push(None);
            Ok(Out::None)
        }
        v => Err(Stop::unsupported(format!(
            "torch.autograd.Function that gives {}",
            tx.describe(v)
        ))),
    }
}

/// Whether a result is known without the graph: a constant, a size, a tuple of such.
fn is_known(tx: &mut Tx<'_>, v: &Var) -> R<bool> {
    match v {
        Var::Const(_) => Ok(!v.is_none(tx.py)),
        Var::Int(_) => Ok(!tx.follows_from_read(v)),
        Var::Tuple(t) => {
            for item in &t.items {
                let item = tx.look(item)?;
                if !item.is_none(tx.py) && !is_known(tx, &item)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

fn not_plain(tx: &mut Tx<'_>, name: &str, stop: Stop) -> Stop {
    let what = format!("torch.autograd.Function {name}");
    let why = format!("The forward or backward of {name} is not captured.");
    tx.stop_inside(stop, &what, &why)
}

fn inferred(out: &Out) -> Inferred {
    match out {
        Out::Tensor(meta) => Inferred::Tensor(TensorMeta::clone(meta)),
        Out::None | Out::Known(_) => Inferred::None,
        Out::Tuple(items) => Inferred::Tuple(items.iter().map(inferred).collect()),
    }
}

/// What torch's operator gives: tensors alone.
fn inferred_tensors(out: &Out) -> Inferred {
    let Out::Tuple(items) = out else {
        return inferred(out);
    };
    let tensors = items.iter().filter(|item| matches!(item, Out::Tensor(_)));
    Inferred::Tuple(tensors.map(inferred).collect())
}

/// All results, where the node gives the tensors among them.
fn with_others(tx: &Tx<'_>, out: &Out, tensors: Var) -> Var {
    let (Out::Tuple(items), Var::Tuple(given)) = (out, &tensors) else {
        return tensors;
    };
    let mut given = given.items.iter().cloned();
    let item = |item: &Out| match item {
        Out::Tensor(_) => given.next(),
        _ => None,
    };
    let all = items.iter().map(item);
    Var::tuple(all.map(|v| v.unwrap_or_else(|| tx.none())).collect())
}

/// What is known of the results, by place.
fn known_of(out: &Out) -> Vec<(usize, Var)> {
    let Out::Tuple(items) = out else {
        return Vec::new();
    };
    let known = |(at, item): (usize, &Out)| match item {
        Out::Known(v) => Some((at, v.clone())),
        _ => None,
    };
    items.iter().enumerate().filter_map(known).collect()
}
