//! `torch.vmap`: batched tensors in the graph.
//!
//! torch's own Python is inlined; the functions at its bottom, which enter and leave a level and wrap
//! and unwrap tensors, become nodes as they are. What operations on batched tensors give is said in
//! `translator::torch_ops::vmap`.
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
use translator::torch_ops::vmap::functorch;
use translator::tx::{Args, Tx};
use variables::{Obj, Var};

const MODULE: &str = names::PREDISPATCH;

pub(crate) const RULES: RuleList = &[
    (names::FUNCTORCH_VMAP, &[("vmap_impl", vmap_impl as Rule)]),
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

fn enter(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let ([size, randomness], true) = (&args.pos[..], args.kw.is_empty()) else {
        return Ok(None);
    };
    let (Some(size), Some(randomness)) = (tx.int_operand(size)?, tx.as_const(randomness)?) else {
        return Ok(None);
    };
    let given = tx.node_args_with_sizes(&args)?.pos;
    let node = functorch_node(tx, name, given, true)?;
    let entered = (Rc::new(size), randomness, node);
    tx.st.vmap.levels.push_back(entered);
    let level = tx.st.vmap.levels.len();
    value(tx.int(level as i64))
}

fn leave(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    let left = tx.st.vmap.levels.len();
    functorch_node(tx, name, Vec::new(), true)?;
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
    let level = level_node(tx, level)?;
    let Some((made, shadow)) = call_batched(tx, name, &all, &[(1, Arg::Int(dim)), (2, level)])?
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
    let level = level_node(tx, level)?;
    let Some((made, fake)) = call_batched(tx, name, &a, &[(1, level)])? else {
        return Ok(None);
    };
    let same = tx.st.vmap.wrapped.iter().find(|w| w.0.is(&fake));
    value(same.map_or(made, |w| w.1.clone()))
}

fn level_node(tx: &Tx<'_>, level: i64) -> R<Arg> {
    usize::try_from(level - 1)
        .ok()
        .and_then(|i| tx.st.vmap.levels.get(i))
        .map(|l| Arg::Node(l.2))
        .ok_or_else(|| Stop::unsupported("a level of `vmap` that is not entered"))
}

fn functorch_node(tx: &mut Tx<'_>, name: &str, args: Vec<Arg>, impure: bool) -> R<NodeId> {
    let f = tx.py.import(MODULE)?.getattr(name)?.unbind();
    let target = tx.target(&f, &format!("{MODULE}.{name}"))?;
    let node = tx.log.graph.call_function(target, args, Kwargs::new());
    tx.log.graph.set_impure(node, impure);
    Ok(node)
}

/// One of functorch's functions of a tensor: run on the shadow, with other arguments in the
/// graph at some places. Gives the fake result too.
fn call_batched(
    tx: &mut Tx<'_>,
    name: &str,
    args: &[Var],
    replaced: &[(usize, Arg)],
) -> R<Option<(Var, Obj)>> {
    let x = tx.realize(&args[0])?;
    if !matches!(x, Var::Tensor(_)) {
        return Ok(None);
    }
    let f = tx.py.import(MODULE)?.getattr(name)?.unbind();
    let path = format!("{MODULE}.{name}");
    let args = Args::pos(args.to_vec());
    let mut node_args = tx.node_args_with_sizes(&args)?;
    let callee = Callee::Function(&f, &path, None);
    let (inferred, out) = tx.infer_fake_result(&callee, &node_args, "")?;
    for (i, arg) in replaced {
        node_args.pos[*i] = arg.clone();
    }
    let made = tx.emit_inferred(&callee, node_args, inferred, &args)?;
    tx.keep_shadow(&made, out.bind(tx.py))?;
    Ok(Some((made, out)))
}
