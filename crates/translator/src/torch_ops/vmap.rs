//! `torch.vmap`: batched tensors in the graph.
//!
//! torch's own Python is inlined; the functions at its bottom, which enter and leave a level and wrap
//! and unwrap tensors, become nodes as they are. What a program sees of a batched tensor is
//! without the batch dimension, but how it lies in memory decides what unwrapping gives: so each
//! batched node has a shadow, a batched fake tensor that the operations are run on.
//!
//! Invariant: a call of `vmap` is captured as a whole or not at all.

use fx_graph::{Arg, Kwargs, NodeId};
use pyo3::prelude::*;
use pyo3::types::PyModule;
use variables::{Body, Obj, Var};

use super::args::NodeArgs;
use super::emit::Callee;
use crate::rules::{Given, Rule, RuleList};
use crate::state::OnReturn;
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

/// The levels that are entered, and the shadows of batched nodes.
#[derive(Clone, Default)]
pub struct Vmap {
    /// batch size, randomness and node of each level, innermost last
    levels: im::Vector<(i64, Obj, NodeId)>,
    /// batched fake tensors by node
    shadows: im::HashMap<u32, Obj>,
    /// what was wrapped, with its fake tensor: unwrapping gives the same object where nothing moved
    wrapped: im::Vector<(Obj, Var)>,
    /// how many functions are being traced that another transform is given
    pub(super) transforms: u32,
}

impl Vmap {
    /// Whether the program is in a `vmap` or another transform.
    pub fn is_active(&self) -> bool {
        !self.levels.is_empty() || self.transforms > 0
    }

    /// Whether the program is in a transform in which tensors require gradients of their own.
    pub(crate) fn in_gradients(&self) -> bool {
        self.transforms > 0
    }
}

const MODULE: &str = "torch._functorch.predispatch";

pub(crate) const RULES: RuleList = &[
    ("torch._functorch.vmap", &[("vmap_impl", vmap_impl as Rule)]),
    (
        MODULE,
        &[
            ("lazy_load_decompositions", load),
            ("_vmap_increment_nesting", enter),
            ("_vmap_decrement_nesting", leave),
            ("_add_batch_dim", wrap),
            ("_remove_batch_dim", unwrap),
        ],
    ),
];

fn value(v: Var) -> Given {
    Ok(Some(Flow::Value(v)))
}

/// Runs to its end here: a break inside is one of the whole call.
fn vmap_impl(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    if !functorch(tx)?
        .call_method0("peek_interpreter_stack")?
        .is_none()
    {
        return Err(Stop::unsupported("`vmap` inside another transform"));
    }
    let f = tx.py.import("torch._functorch.vmap")?.getattr(name)?;
    let callee = tx.existing_callee(&f, None)?;
    let flow = tx.inline(callee, args, OnReturn::Push)?;
    value(tx.finish_flow(flow)?)
}

fn functorch<'py>(tx: &Tx<'py>) -> PyResult<Bound<'py, PyModule>> {
    tx.py.import("torch._C._functorch")
}

fn load(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    let node = tx.functorch_node(name, Vec::new(), true)?;
    tx.graph.set_repeatable(node);
    value(tx.none())
}

fn enter(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some((pos, None)) = tx.constants(&args)? else {
        return Ok(None);
    };
    let [size, randomness] = pos.as_slice() else {
        return Ok(None);
    };
    let size: i64 = size.extract(tx.py)?;
    let text: String = randomness.extract(tx.py)?;
    let given = vec![Arg::Int(size), Arg::Str(text.as_str().into())];
    let node = tx.functorch_node(name, given, true)?;
    tx.st
        .vmap
        .levels
        .push_back((size, randomness.clone(), node));
    let level = tx.st.vmap.levels.len();
    value(tx.int(level as i64))
}

fn leave(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    let left = tx.st.vmap.levels.len();
    tx.functorch_node(name, Vec::new(), true)?;
    tx.st.vmap.levels.pop_back();
    if tx.st.vmap.levels.is_empty() {
        tx.st.vmap.shadows.clear();
        tx.st.vmap.wrapped.clear();
    }
    value(tx.int(left as i64))
}

fn wrap(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 3, 3)?;
    let [x, dim, level] = a.as_slice() else {
        return Ok(None);
    };
    let (dim, level) = (tx.index_of(dim)? as i64, tx.index_of(level)? as i64);
    let all = [x.clone(), tx.int(dim), tx.int(level)];
    let level = tx.level_node(level)?;
    let Some((made, shadow)) = tx.call_batched(name, &all, &[(1, Arg::Int(dim)), (2, level)])?
    else {
        return Ok(None);
    };
    let fake = functorch(tx)?.call_method1("get_unwrapped", (shadow,))?;
    let x = tx.realize(x)?;
    tx.st.vmap.wrapped.push_back((fake.unbind(), x));
    value(made)
}

fn unwrap(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 4, 4)?;
    let level = tx.index_of(&a[1])? as i64;
    let level = tx.level_node(level)?;
    let Some((made, fake)) = tx.call_batched(name, &a, &[(1, level)])? else {
        return Ok(None);
    };
    let same = tx.st.vmap.wrapped.iter().find(|w| w.0.is(&fake));
    value(same.map_or(made, |w| w.1.clone()))
}

impl Tx<'_> {
    /// Whether an operation has a batched argument.
    pub(super) fn is_batched(&self, args: &NodeArgs) -> bool {
        if self.st.vmap.shadows.is_empty() {
            return false;
        }
        let kw = args.kw.iter().map(|(_, a)| a);
        args.pos.iter().chain(kw).any(|a| self.mentions_batched(a))
    }

    fn mentions_batched(&self, arg: &Arg) -> bool {
        match arg {
            Arg::Node(n) => self.st.vmap.shadows.contains_key(&n.0),
            Arg::List(items) | Arg::Tuple(items) => items.iter().any(|i| self.mentions_batched(i)),
            Arg::Slice(parts) => parts.iter().any(|i| self.mentions_batched(i)),
            _ => false,
        }
    }

    /// The shadow of a batched node.
    pub(super) fn shadow(&self, node: NodeId) -> Option<&Obj> {
        self.st.vmap.shadows.get(&node.0)
    }

    /// Makes a node for an operation with a batched argument.
    pub(super) fn emit_batched(
        &mut self,
        callee: &Callee<'_>,
        node_args: NodeArgs,
        args: &Args,
    ) -> R<Var> {
        let (inferred, out) = self.infer_fake_result(callee, &node_args, "batched")?;
        let made = self.emit_inferred(callee, node_args, inferred, args)?;
        self.keep_shadow(&made, out.bind(self.py))?;
        Ok(made)
    }

    /// Remembers the fake results that belong to the nodes of a value.
    pub(super) fn keep_shadow(&mut self, made: &Var, out: &Bound<'_, PyAny>) -> R<()> {
        let items: Vec<Var> = match made {
            Var::Tensor(t) => {
                self.st.vmap.shadows.insert(t.node.0, out.clone().unbind());
                return Ok(());
            }
            Var::Tuple(t) => t.items.clone(),
            Var::Obj(id) => match &self.obj(*id).body {
                Body::List(items) => items.iter().cloned().collect(),
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        for (item, out) in items.iter().zip(out.try_iter()?) {
            self.keep_shadow(item, &out?)?;
        }
        Ok(())
    }

    /// Enters the levels for real, so that an operation can be run on shadows.
    pub(super) fn enter_levels(&self) -> PyResult<()> {
        if self.st.vmap.levels.is_empty() {
            return Ok(());
        }
        let functorch = functorch(self)?;
        for (size, randomness, _) in &self.st.vmap.levels {
            functorch.call_method1("_vmap_increment_nesting", (*size, randomness))?;
        }
        // Fakes of tensors from outside are made on the way, with what they require.
        functorch.call_method1("set_inplace_requires_grad_allowed", (true,))?;
        Ok(())
    }

    /// Leaves them again.
    pub(super) fn leave_levels(&self) -> PyResult<()> {
        if self.st.vmap.levels.is_empty() {
            return Ok(());
        }
        let functorch = functorch(self)?;
        for _ in &self.st.vmap.levels {
            functorch.call_method0("_vmap_decrement_nesting")?;
        }
        Ok(())
    }

    fn level_node(&self, level: i64) -> R<Arg> {
        usize::try_from(level - 1)
            .ok()
            .and_then(|i| self.st.vmap.levels.get(i))
            .map(|l| Arg::Node(l.2))
            .ok_or_else(|| Stop::unsupported("a level of `vmap` that is not entered"))
    }

    fn functorch_node(&mut self, name: &str, args: Vec<Arg>, impure: bool) -> R<NodeId> {
        let f = self.py.import(MODULE)?.getattr(name)?.unbind();
        let target = self.target(&f, &format!("{MODULE}.{name}"))?;
        let node = self.graph.call_function(target, args, Kwargs::new());
        self.graph.set_impure(node, impure);
        Ok(node)
    }

    /// One of functorch's functions of a tensor: run on the shadow, with other arguments in the
    /// graph at some places. Gives the fake result too.
    fn call_batched(
        &mut self,
        name: &str,
        args: &[Var],
        replaced: &[(usize, Arg)],
    ) -> R<Option<(Var, Obj)>> {
        let x = self.realize(&args[0])?;
        if !matches!(x, Var::Tensor(_)) {
            return Ok(None);
        }
        let f = self.py.import(MODULE)?.getattr(name)?.unbind();
        let path = format!("{MODULE}.{name}");
        let args = Args::pos(args.to_vec());
        let mut node_args = self.node_args(&args)?;
        let callee = Callee::Function(&f, &path, None);
        let (inferred, out) = self.infer_fake_result(&callee, &node_args, "")?;
        for (i, arg) in replaced {
            node_args.pos[*i] = arg.clone();
        }
        let made = self.emit_inferred(&callee, node_args, inferred, &args)?;
        self.keep_shadow(&made, out.bind(self.py))?;
        Ok(Some((made, out)))
    }
}
