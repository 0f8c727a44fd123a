//! `torch.vmap`: batched tensors in the graph.
//!
//! torch's own Python is inlined; the functions at its bottom, which enter and leave a level and wrap
//! and unwrap tensors, become nodes as they are. What operations on batched tensors give is said in
//! `translator::torch_ops::levels`.
//!
//! Invariant: a call of `vmap` is captured as a whole or not at all.

use std::rc::Rc;

use fx_graph::{Arg, Kwargs, NodeId};
use pyo3::prelude::*;
use torch_abi::names;
use translator::rules::{Given, Rule, RuleList, value};
use translator::state::OnReturn;
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::torch_ops::levels::functorch;
use translator::tx::{Args, Tx};
use variables::contexts::{Level, LevelKind};
use variables::{Obj, Var};

const MODULE: &str = names::PREDISPATCH;

pub(crate) const RULES: RuleList = &[
    (names::FUNCTORCH_VMAP, &[("vmap_impl", vmap_impl as Rule)]),
    (
        names::TORCH_C_FUNCTORCH,
        &[("is_batchedtensor", is_batched as Rule)],
    ),
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

/// Runs to its end here: a break inside is one of the whole call.
fn vmap_impl(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    if !functorch(tx)?
        .call_method0("peek_interpreter_stack")?
        .is_none()
    {
        return Err(Stop::unsupported("`vmap` inside another transform"));
    }
    let f = tx.py.import(names::FUNCTORCH_VMAP)?.getattr(name)?;
    let callee = tx.existing_callee(&f, None)?;
    let flow = tx.inline(callee, args, OnReturn::Push)?;
    value(tx.finish_flow(flow)?)
}

fn load(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    let node = functorch_node(tx, name, Vec::new(), true)?;
    tx.log.graph.set_repeatable(node);
    value(tx.none())
}

/// Whether a tensor is one of a batch: what stands for it says that.
fn is_batched(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 1, 1)?;
    let Var::Tensor(t) = tx.realize(&a[0])? else {
        return Ok(None);
    };
    let answer = match tx.st.levels.shadows.get(&t.node.0) {
        Some(shadow) => {
            let shadow = shadow.clone_ref(tx.py);
            functorch(tx)?.call_method1(name, (shadow,))?.is_truthy()?
        }
        None => false,
    };
    value(tx.bool(answer))
}

fn enter(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let ([size, randomness], true) = (&args.pos[..], args.kw.is_empty()) else {
        return Ok(None);
    };
    let (Some(size), Some(randomness)) = (tx.int_operand(size)?, tx.as_const(randomness)?) else {
        return Ok(None);
    };
    let given = tx.node_args_with_sizes(&args)?.pos;
    let node = functorch_node(tx, name, given, true)?;
    let kind = LevelKind::Batch(Rc::new(size), randomness);
    tx.st.levels.entered.push_back(Level { node, kind });
    let level = tx.st.levels.entered.len();
    value(tx.int(level as i64))
}

fn leave(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    let left = tx.st.levels.entered.len();
    functorch_node(tx, name, Vec::new(), true)?;
    tx.st.levels.entered.pop_back();
    outside_of_all(tx)?;
    value(tx.int(left as i64))
}

fn wrap(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 3, 3)?;
    let [x, dim, level] = a.as_slice() else {
        return Ok(None);
    };
    let (dim, level) = (tx.index_of(dim)? as i64, tx.index_of(level)? as i64);
    let all = [x.clone(), tx.int(dim), tx.int(level)];
    let level = level_node(tx, level)?;
    let f = function(tx, MODULE, name)?;
    let Some((made, shadow)) = call_wrapping(tx, &f, &all, &[(1, Arg::Int(dim)), (2, level)])?
    else {
        return Ok(None);
    };
    keep_wrapped(tx, x, &shadow)?;
    value(made)
}

fn unwrap(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 4, 4)?;
    let level = tx.index_of(&a[1])? as i64;
    let level = level_node(tx, level)?;
    let f = function(tx, MODULE, name)?;
    let Some((made, fake)) = call_wrapping(tx, &f, &a, &[(1, level)])? else {
        return Ok(None);
    };
    value(unwrapped(tx, made, &fake))
}

/// The node that gives a level that is entered.
pub(crate) fn level_node(tx: &Tx<'_>, level: i64) -> R<Arg> {
    usize::try_from(level - 1)
        .ok()
        .and_then(|i| tx.st.levels.entered.get(i))
        .map(|l| Arg::Node(l.node))
        .ok_or_else(|| Stop::unsupported("a level of a transform that is not entered"))
}

fn functorch_node(tx: &mut Tx<'_>, name: &str, args: Vec<Arg>, impure: bool) -> R<NodeId> {
    let f = function(tx, MODULE, name)?;
    f.node(tx, args, impure)
}

/// One of torch's functions at the bottom of transforms.
pub(crate) struct Leaf {
    pub(crate) function: Obj,
    pub(crate) path: String,
}

impl Leaf {
    /// A node that calls it with constants.
    pub(crate) fn node(&self, tx: &mut Tx<'_>, args: Vec<Arg>, impure: bool) -> R<NodeId> {
        let target = tx.target(&self.function, &self.path)?;
        let node = tx.log.graph.call_function(target, args, Kwargs::new());
        tx.log.graph.set_impure(node, impure);
        Ok(node)
    }
}

pub(crate) fn function(tx: &Tx<'_>, module: &str, name: &str) -> R<Leaf> {
    Ok(Leaf {
        function: tx.py.import(module)?.getattr(name)?.unbind(),
        path: format!("{module}.{name}"),
    })
}

/// A call of a function that wraps or unwraps a tensor: run on the shadow, with other arguments in the
/// graph at some places. Gives the fake result too.
pub(crate) fn call_wrapping(
    tx: &mut Tx<'_>,
    leaf: &Leaf,
    args: &[Var],
    replaced: &[(usize, Arg)],
) -> R<Option<(Var, Obj)>> {
    let x = tx.realize(&args[0])?;
    if !matches!(x, Var::Tensor(_)) {
        return Ok(None);
    }
    let args = Args::pos(args.to_vec());
    let mut node_args = tx.node_args_with_sizes(&args)?;
    let callee = Callee::Function(&leaf.function, &leaf.path, None);
    let (inferred, out) = tx.infer_fake_result(&callee, &node_args, "")?;
    for (i, arg) in replaced {
        node_args.pos[*i] = arg.clone();
    }
    let made = tx.emit_inferred_as(&callee, node_args, inferred, &args, true)?;
    tx.keep_shadow(&made, out.bind(tx.py))?;
    Ok(Some((made, out)))
}

/// Remembers what was wrapped in a shadow.
pub(crate) fn keep_wrapped(tx: &mut Tx<'_>, x: &Var, shadow: &Obj) -> R<()> {
    let fake = functorch(tx)?.call_method1("get_unwrapped", (shadow,))?;
    let x = tx.realize(x)?;
    tx.st.levels.wrapped.push_back((fake.unbind(), x));
    Ok(())
}

/// What unwrapping gives: the very tensor that was wrapped, if nothing was done with it.
pub(crate) fn unwrapped(tx: &Tx<'_>, made: Var, fake: &Obj) -> Var {
    let same = tx.st.levels.wrapped.iter().find(|w| w.0.is(fake));
    same.map_or(made, |w| w.1.clone())
}

/// Behind the outermost level only shadows matter that gradients are still computed with.
pub(crate) fn outside_of_all(tx: &mut Tx<'_>) -> R<()> {
    if tx.st.levels.is_active() {
        return Ok(());
    }
    let records = functorch(tx)?.getattr("is_gradtrackingtensor")?;
    let mut kept = tx.st.levels.shadows.clone();
    for (node, shadow) in &tx.st.levels.shadows {
        if !records.call1((shadow,))?.is_truthy()? {
            kept.remove(node);
        }
    }
    tx.st.levels.shadows = kept;
    tx.st.levels.wrapped.clear();
    Ok(())
}
