//! `torch.autograd.Function.apply`: one node of the graph, which runs the user's own `forward` and
//! `backward`.
//!
//! Both are interpreted once beside the graph: for what they look at, which is guarded, for the
//! metadata of the results, and to see that they do nothing but compute.

use std::rc::Rc;
use std::sync::Arc;

use fx_graph::NodeId;
use guards::GuardKind;
use pyo3::prelude::*;
use tensor_meta::{Alias, Inferred, TensorMeta};
use translator::own_module::OwnModule;
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};
use variables::{Body, Obj, Origin, TensorVar, Var};

/// What `forward` and `backward` are given as their context while they are interpreted.
const CONTEXT: &std::ffi::CStr = c"
class FunctionCtx:
    saved_tensors = ()
    plain = ()
    @property
    def saved_variables(self):
        return self.saved_tensors
    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors
    def save_for_forward(self, *tensors):
        pass
    def mark_non_differentiable(self, *tensors):
        self.plain = tensors
    def set_materialize_grads(self, value):
        pass

import weakref

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
    return apply
";

static CONTEXT_MODULE: OwnModule =
    OwnModule::new(CONTEXT, c"<ferrodyn context>", c"ferrodyn_context");

/// A result of `forward`.
enum Out {
    Tensor(Box<TensorMeta>),
    None,
    Tuple(Vec<Out>),
}

/// `cls.apply(*args)`.
///
/// # Errors
/// A break where `forward` or `backward` does more than compute with its arguments.
pub fn apply_function(tx: &mut Tx<'_>, class: Obj, args: Args) -> R<Flow> {
    let py = tx.py;
    const WHAT: &str = "torch.autograd.Function";
    tx.not_seen_with(WHAT, &args)?;
    if !args.kw.is_empty() {
        return Err(Stop::unsupported(
            "torch.autograd.Function.apply with keywords",
        ));
    }
    if tx.st.vmap.in_gradients() {
        return Err(Stop::unsupported("torch.autograd.Function in a transform"));
    }
    let name = tx.class_name(&class);
    if name == "BackwardHookFunction" {
        // Its caller looks for the very node of the autograd graph that it makes.
        return Err(Stop::unsupported("backward hooks of a module"));
    }
    let mut needs = Vec::new();
    for v in &args.pos {
        let v = tx.realize(v)?;
        let requires = match &v {
            Var::Tensor(t) => tx.st.effects.meta(t).requires_grad,
            _ => false,
        };
        needs.push(requires);
    }
    let differentiable = tx.st.grad_enabled && needs.iter().any(|n| *n);
    let (objects, passed) = split_objects(tx, &args)?;

    let around = crate::bodies::graph_around(tx, args.values())?;
    let inputs = tx.log.inputs.len();
    let nodes = tx.log.graph.id_bound() as u32;
    let effects = tx.st.effects.clone();
    let listed = tx.st.effects.list_changes();
    // An exception is an object of the state that is about to be left.
    let result = interpret_function(tx, &class, &args, &needs, differentiable)
        .map_err(|stop| not_plain(tx, &name, stop));
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
        .map(|i| (i.source, i.obj.clone()))
        .collect();
    crate::bodies::return_to(tx, &around);
    let out = match result {
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
    // Tensors that it reads from elsewhere are no arguments of the node: they have to stay.
    for (source, obj) in read {
        let obj = tx.pin(&obj, true);
        tx.guard(source, GuardKind::IdMatch { obj });
    }
    // A Python function has a name by which generated code can call it.
    let apply = CONTEXT_MODULE
        .get(py)?
        .call_method1("function", (&class, &objects))?
        .unbind();
    let node_args = tx.node_args(&passed)?;
    let mut given = Vec::new();
    for arg in &node_args.pos {
        arg.for_each_node(&mut |n| given.push(n));
    }
    let reads_others =
        new_inputs || !objects.is_empty() || reads.iter().any(|n| !given.contains(n));
    if reads_others {
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
    let inferred = inferred(out);
    tx.emit_inferred(&callee, node_args, inferred, &passed)
        .map(Flow::Value)
}

/// Objects among the arguments, by place, and the arguments that a graph can hold. Objects existed
/// before and stay what they were: the function that the graph calls has them.
///
/// # Errors
/// A break for an object that the program has changed, or made.
fn split_objects(tx: &mut Tx<'_>, args: &Args) -> R<(Vec<(usize, Obj)>, Args)> {
    let (mut objects, mut passed) = (Vec::new(), Vec::new());
    for (at, v) in args.pos.iter().enumerate() {
        let v = tx.realize(v)?;
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

/// Runs `forward`, and `backward` where it will be needed.
fn interpret_function(
    tx: &mut Tx<'_>,
    class: &Obj,
    args: &Args,
    needs: &[bool],
    differentiable: bool,
) -> R<Out> {
    let py = tx.py;
    let context_class = CONTEXT_MODULE.get(py)?.getattr("FunctionCtx")?.unbind();
    let ctx = tx.new_object(context_class, Body::Plain);
    let flags = needs.iter().map(|n| tx.bool(*n)).collect();
    tx.st
        .effects
        .write_attr(ctx, &Arc::from("needs_input_grad"), Some(Var::tuple(flags)));
    tx.st.grad_enabled = false;
    let base = py
        .import("torch.autograd.function")?
        .getattr("_SingleLevelFunction")?;
    let own = |name: &str| -> PyResult<bool> {
        let b = class.bind(py);
        Ok(!b.getattr(name)?.is(&base.getattr(name)?))
    };
    let class_var = Var::py(class.clone());
    let method = |tx: &mut Tx<'_>, name: &str| tx.getattr_sync(&class_var, &Arc::from(name));
    let forward = method(tx, "forward")?;
    let result = if own("setup_context")? {
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
    let mut grads = Vec::new();
    let out = function_result(tx, &result, differentiable, &plain, &mut grads)?;
    if differentiable {
        let name = match own("vjp")? {
            true => "vjp",
            false => "backward",
        };
        let backward = method(tx, name)?;
        let mut given = vec![Var::Obj(ctx)];
        for g in grads {
            given.push(match g {
                Some(t) => tx.emit(&Callee::Method("detach"), &Args::pos(vec![Var::Tensor(t)]))?,
                None => tx.none(),
            });
        }
        tx.call_sync(&backward, Args::pos(given))?;
    }
    Ok(out)
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
            // A compiler gives out what shares memory without what the class says of gradients.
            if !tx.runs_as_is && t.input.is_none() && meta.requires_grad && meta.is_leaf {
                return Err(Stop::brk(
                    "torch.autograd.Function that gives a view of its input",
                    "A compiler would compute the view's gradient, not call `backward` for it.",
                    "Give out a new tensor: `view.clone()`.",
                ));
            }
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
                .map(|i| match tx.realize(i)? {
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

fn not_plain(tx: &mut Tx<'_>, name: &str, stop: Stop) -> Stop {
    let what = format!("torch.autograd.Function {name}");
    let why = format!("The forward or backward of {name} is not captured.");
    tx.stop_inside(stop, &what, &why)
}

fn inferred(out: Out) -> Inferred {
    match out {
        Out::Tensor(meta) => Inferred::Tensor(*meta),
        Out::None => Inferred::None,
        Out::Tuple(items) => Inferred::Tuple(items.into_iter().map(inferred).collect()),
    }
}
