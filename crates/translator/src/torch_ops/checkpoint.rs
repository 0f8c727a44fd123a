//! `torch.utils.checkpoint.checkpoint` where gradients are recorded: one node of the graph, which runs a
//! graph of its own under torch's checkpointing, now and again in the backward pass.
//!
//! Invariant: what the function does besides computing would be done twice by plain Python, so a
//! function with side effects is left to it.

use std::sync::Arc;

use fx_graph::{Graph, NodeId};
use guards::SourceId;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyCFunction, PyDict};
use tensor_meta::{Alias, Inferred, TensorMeta};
use variables::{Body, Obj, OrderedMap, TupleVar, Var};

use super::args::NodeArgs;
use super::emit::Callee;
use crate::builtins::{Given, Rule, Rules};
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

/// What a node calls. Where torch traces the graph below a backend, it wants the operator that it
/// knows to compute again; the numbers of a plain run come from torch's own function.
const FUNCTION: &std::ffi::CStr = c"
import torch
from torch.utils.checkpoint import checkpoint as run

def function(body, module, given, options):
    def checkpoint(*inputs):
        if torch._C._len_torch_dispatch_stack() and torch._guards.detect_fake_mode(inputs):
            from torch._higher_order_ops.wrap import tag_activation_checkpoint
            return tag_activation_checkpoint(module(), *inputs, **options)
        args, others = inputs[:given], inputs[given:]
        return run(lambda *args: body(*args, *others), *args, **options)
    return checkpoint
";

static MODULE: PyOnceLock<Obj> = PyOnceLock::new();

fn module(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let module = MODULE.get_or_try_init(py, || -> PyResult<Obj> {
        let name = c"ferrodyn_checkpoint";
        let m = PyModule::from_code(py, FUNCTION, c"<ferrodyn checkpoint>", name)?;
        Ok(m.into_any().unbind())
    })?;
    Ok(module.bind(py).clone())
}

pub(crate) const RULES: Rules = &[(
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
        match tx.as_const(&v)? {
            Some(v) => options.set_item(option, v)?,
            None => known = false,
        }
    }
    // torch warns where nobody has chosen; contexts around the function are a program of their own.
    let reentrant = match options.get_item("use_reentrant")? {
        Some(v) if v.is_instance_of::<PyBool>() => Some(v.is_truthy()?),
        _ => None,
    };
    let (Some(reentrant), true) = (
        reentrant,
        known
            && !args.pos.is_empty()
            && !options.contains("context_fn")?
            && !tx.st.vmap.is_active(),
    ) else {
        let function = py.import("torch.utils.checkpoint")?.getattr(name)?;
        return Err(tx.skipped(&function));
    };
    let function = args.pos.remove(0);
    if !tx.st.grad_enabled {
        // There is nothing to keep or to compute again.
        return tx.call(&function, args).map(Some);
    }
    tx.checkpointed(&function, args, &options, reentrant)
        .map(|v| Some(Flow::Value(v)))
}

/// The function's graph, and what it gives.
struct Traced {
    graph: Graph,
    /// the nodes that its placeholders stand for
    inputs: Vec<NodeId>,
    /// inputs of the whole graph that it was the first to use
    read: Vec<(NodeId, Obj, SourceId)>,
    out: Out,
    metas: Vec<TensorMeta>,
}

/// A result of the function.
enum Out {
    /// one of the graph's
    New(usize),
    /// a tensor that was there before
    Given(Var),
    /// an input that only the function used
    Read(NodeId),
    Constant(Var),
    Tuple(Vec<Out>, Option<Obj>),
    List(Vec<Out>),
    Dict(Vec<(Var, Out)>),
}

impl Tx<'_> {
    fn checkpointed(
        &mut self,
        function: &Var,
        args: Args,
        options: &Bound<'_, PyDict>,
        reentrant: bool,
    ) -> R<Var> {
        let py = self.py;
        if reentrant && !args.kw.is_empty() {
            return Err(Stop::unsupported("a reentrant checkpoint with keywords"));
        }
        let mut given = Vec::new();
        let mut differentiable = false;
        for v in args.pos.iter().chain(args.kw.iter().map(|k| &k.1)) {
            if let Var::Tensor(t) = self.realize(v)? {
                differentiable |= self.st.effects.meta(&t).requires_grad;
                if !given.contains(&t.node) {
                    given.push(t.node);
                }
            }
        }
        if reentrant && !differentiable {
            return Err(Stop::unsupported(
                "a reentrant checkpoint of arguments without gradients",
            ));
        }
        let mut traced = self.trace_body(function, &args, &given)?;
        if reentrant {
            // What runs now runs without gradients, and with them in the backward pass.
            self.st.grad_enabled = false;
            let now = self.trace_body(function, &args, &given);
            self.st.grad_enabled = true;
            let now = now?;
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
        let mut inputs = traced.inputs;
        let mut read = Vec::new();
        for (node, obj, source) in traced.read {
            let name = self.placeholder_of(node);
            let v = self.build(&obj, source)?;
            let Var::Tensor(t) = &v else {
                return Err(Stop::Internal(format!("{name} is no tensor")));
            };
            for input in inputs.iter_mut().filter(|i| **i == node) {
                *input = t.node;
            }
            read.push((node, v.clone()));
        }
        let objects: Vec<Obj> = self.objects.clone();
        let numbers = backends::Numbers::AsGiven;
        let body = backends::forward_function(py, &traced.graph, &objects, &[], numbers)?;
        let Some(body) = body else {
            return Err(Stop::Internal("a checkpoint without a function".into()));
        };
        let graph = traced.graph;
        let make_module = PyCFunction::new_closure(py, None, None, move |args, _| {
            backends::to_torch(args.py(), &graph, &objects, &[])
        })?;
        let node = module(py)?
            .call_method1("function", (body, make_module, given.len(), options))?
            .unbind();
        let path = "torch.utils.checkpoint.checkpoint";
        let callee = Callee::Function(&node, path, None);
        let node_args = NodeArgs {
            pos: inputs.into_iter().map(fx_graph::Arg::Node).collect(),
            ..NodeArgs::default()
        };
        let results = traced.metas.into_iter().map(Inferred::Tensor).collect();
        let made = self.emit_inferred(
            &callee,
            node_args,
            Inferred::Tuple(results),
            &Args::default(),
        )?;
        let Var::Tuple(made) = made else {
            return Err(Stop::Internal("a checkpoint's results".into()));
        };
        self.checkpoint_result(traced.out, &made.items, &read)
    }

    /// Runs the function beside the graph; leaves nothing but guards.
    fn trace_body(&mut self, function: &Var, args: &Args, given: &[NodeId]) -> R<Traced> {
        let before = self.snapshot();
        let from = self.graph.checkpoint();
        let bound = self.graph.id_bound() as u32;
        let (inputs, int_inputs) = (self.inputs.len(), self.int_inputs.len());
        let float_inputs = self.float_inputs.len();
        let effects = self.st.effects.clone();
        let (contexts, flags) = (self.st.contexts.len(), self.st.flags.clone());
        let grad_enabled = self.st.grad_enabled;
        self.st.effects.watch();
        let result = self.call_sync(function, args.clone());
        let plain = !self.st.effects.changed(effects.len().max(1))
            && !self.st.effects.any_since(&effects)
            && !self.st.effects.advanced_since(&effects)
            && self.st.contexts.len() == contexts
            && self.st.flags.ptr_eq(&flags)
            && self.st.grad_enabled == grad_enabled
            && self.int_inputs.len() == int_inputs
            && self.float_inputs.len() == float_inputs;
        let traced = match result {
            Err(stop) => Err(self.not_checkpointed(stop)),
            Ok(_) if !plain => Err(Stop::brk(
                "torch.utils.checkpoint of a function with side effects",
                "The function changes something besides the tensors that it makes; in the backward pass it would do so again.",
                "Do that outside of the checkpointed function.",
            )),
            Ok(out) => self.traced(&out, from, bound, inputs, given),
        };
        self.restore_but_guards(&before);
        traced
    }

    fn traced(
        &mut self,
        out: &Var,
        from: fx_graph::Checkpoint,
        bound: u32,
        inputs: usize,
        given: &[NodeId],
    ) -> R<Traced> {
        let read: Vec<_> = self.inputs[inputs..]
            .iter()
            .map(|i| (i.node, i.obj.clone(), i.source))
            .collect();
        let mut outputs = Vec::new();
        let mut metas = Vec::new();
        let out = self.checkpoint_out(out, bound, &mut outputs, &mut metas)?;
        let (graph, used) = self
            .graph
            .part_since(from, given, &outputs)
            .map_err(|e| Stop::Internal(e.to_string()))?;
        // Their names are free again.
        for (node, ..) in &read {
            let name = self.placeholder_of(*node);
            self.input_names.remove(&*name);
        }
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
        })
    }

    fn placeholder_of(&self, node: NodeId) -> Arc<str> {
        let name = self.graph.get(node).and_then(|n| n.target.name().cloned());
        name.unwrap_or_else(|| "".into())
    }

    /// What the function gave, apart from the tensors that its graph gives.
    fn checkpoint_out(
        &mut self,
        v: &Var,
        bound: u32,
        outputs: &mut Vec<NodeId>,
        metas: &mut Vec<TensorMeta>,
    ) -> R<Out> {
        let v = self.realize(v)?;
        let mut each = |tx: &mut Self, items: Vec<Var>| -> R<Vec<Out>> {
            let mut all = Vec::with_capacity(items.len());
            for i in &items {
                all.push(tx.checkpoint_out(i, bound, outputs, metas)?);
            }
            Ok(all)
        };
        Ok(match &v {
            Var::Tensor(t) if t.input.is_some() && t.node.0 >= bound => Out::Read(t.node),
            Var::Tensor(t) if t.node.0 < bound => Out::Given(v.clone()),
            Var::Tensor(t) => {
                let at = outputs.iter().position(|n| *n == t.node);
                Out::New(at.unwrap_or_else(|| {
                    let mut meta = TensorMeta::clone(self.st.effects.meta(t));
                    // A tensor object that nobody had before, perhaps of memory that was there.
                    meta.alias = Alias::View;
                    metas.push(meta);
                    outputs.push(t.node);
                    outputs.len() - 1
                }))
            }
            Var::Tuple(t) => Out::Tuple(each(self, t.items.clone())?, t.class.clone()),
            Var::Const(_) | Var::Py(_) => Out::Constant(v.clone()),
            Var::Obj(id) if self.obj(*id).is_new() && self.obj(*id).attrs.is_empty() => {
                let state = self.obj(*id);
                let (list, dict) = (self.known.list.clone(), self.known.dict.clone());
                match state.body.clone() {
                    Body::List(items) if state.class.is(&list) => {
                        Out::List(each(self, items.iter().cloned().collect())?)
                    }
                    Body::Dict(map) if state.class.is(&dict) => {
                        let (keys, values): (Vec<Var>, Vec<Var>) =
                            map.iter().map(|(k, v)| (k.clone(), v.clone())).unzip();
                        Out::Dict(keys.into_iter().zip(each(self, values)?).collect())
                    }
                    _ => return Err(self.strange_result(&v)),
                }
            }
            _ => return Err(self.strange_result(&v)),
        })
    }

    fn strange_result(&self, v: &Var) -> Stop {
        Stop::unsupported(format!(
            "torch.utils.checkpoint of a function that gives {}",
            self.describe(v)
        ))
    }

    fn checkpoint_result(&mut self, out: Out, made: &[Var], read: &[(NodeId, Var)]) -> R<Var> {
        let each = |tx: &mut Self, items: Vec<Out>| -> R<Vec<Var>> {
            items
                .into_iter()
                .map(|i| tx.checkpoint_result(i, made, read))
                .collect()
        };
        let missing = || Stop::Internal("a checkpoint's result".into());
        Ok(match out {
            Out::New(at) => made.get(at).cloned().ok_or_else(missing)?,
            Out::Given(v) | Out::Constant(v) => v,
            Out::Read(node) => {
                let found = read.iter().find(|r| r.0 == node);
                found.map(|r| r.1.clone()).ok_or_else(missing)?
            }
            Out::Tuple(items, class) => Var::Tuple(std::rc::Rc::new(TupleVar {
                items: each(self, items)?,
                class,
                origin: None,
            })),
            Out::List(items) => {
                let items = each(self, items)?;
                self.new_list(items)
            }
            Out::Dict(items) => {
                let mut map = OrderedMap::default();
                for (key, v) in items {
                    let v = self.checkpoint_result(v, made, read)?;
                    map.insert(self.key(&key)?, key, v);
                }
                self.new_dict(map)
            }
        })
    }

    fn not_checkpointed(&mut self, stop: Stop) -> Stop {
        let why = "The checkpointed function is not captured.";
        self.stop_inside(stop, "torch.utils.checkpoint", why)
    }
}

impl Out {
    /// Whether an input that only the function used is among the results.
    fn reads(&self, node: NodeId) -> bool {
        match self {
            Out::Read(n) => *n == node,
            Out::Tuple(items, _) | Out::List(items) => items.iter().any(|i| i.reads(node)),
            Out::Dict(items) => items.iter().any(|i| i.1.reads(node)),
            Out::New(_) | Out::Given(_) | Out::Constant(_) => false,
        }
    }
}
