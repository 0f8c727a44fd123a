//! `torch.func.grad`, `grad_and_value`, `vjp` and `jacrev`: their steps are in the graph.
//!
//! torch's own Python is inlined; the functions at its bottom, which enter and leave a level, wrap and unwrap
//! tensors and compute gradients, become nodes as they are. What operations inside a level give is said in
//! `translator::torch_ops::levels`.
//!
//! Invariant: a level is captured as a whole or not at all.

use fx_graph::Arg;
use translator::torch_ops::args::MetaArg;
use pyo3::prelude::*;
use torch_abi::names;
use torch_abi::names::levels::{ALLOW_LEAVES, ALLOWS_LEAVES};
use translator::rules::{Given, Rule, RuleList, value};
use translator::state::OnReturn;
use translator::stop::Stop;
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};

use crate::vmap::{
    call_wrapping, function, keep_wrapped, level_node, outside_of_all, unwrapped,
};

const TRANSFORMS: &str = names::EAGER_TRANSFORMS;
const FUNCTORCH: &str = names::TORCH_C_FUNCTORCH;
const AUTOGRAD: &str = names::TORCH_C_AUTOGRAD;

pub(crate) const RULES: RuleList = &[
    (
        TRANSFORMS,
        &[
            ("grad_and_value_impl", whole as Rule),
            ("_vjp_with_argnums", whole),
            ("_set_tensor_requires_grad", make_leaf),
            ("_autograd_grad", gradients),
        ],
    ),
    (
        FUNCTORCH,
        &[
            ("_grad_increment_nesting", enter as Rule),
            ("_grad_decrement_nesting", leave),
            ("_wrap_for_grad", wrap),
            (ALLOW_LEAVES, allow_leaves),
            (ALLOWS_LEAVES, allows_leaves),
        ],
    ),
    (names::PREDISPATCH, &[("_unwrap_for_grad", unwrap as Rule)]),
    (
        AUTOGRAD,
        &[
            (names::SAVED_HOOKS[0], refuse_hooks as Rule),
            (names::SAVED_HOOKS[1], allow_hooks),
            (names::SAVED_HOOKS[2], hooks_message),
        ],
    ),
];

/// Runs to its end here: a break inside is one of the whole call.
fn whole(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    if tx.st.effects.shows_tensors || tx.so_far().inference_now() {
        return Err(Stop::unsupported(format!(
            "{name} while an output of tensors waits, or in inference mode"
        )));
    }
    let f = tx.py.import(TRANSFORMS)?.getattr(name)?;
    let callee = tx.existing_callee(&f, None)?;
    tx.st.levels.whole += 1;
    let flow = tx.inline(callee, args, OnReturn::Push)?;
    let made = tx.finish_flow(flow)?;
    tx.st.levels.whole -= 1;
    value(made)
}

fn enter(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    let node = function(tx, FUNCTORCH, name)?.node(tx, Vec::new(), true)?;
    tx.enter_derivative(name, node)?;
    let level = tx.st.levels.entered.len();
    value(tx.int(level as i64))
}

fn leave(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    let left = tx.st.levels.entered.len();
    function(tx, FUNCTORCH, name)?.node(tx, Vec::new(), true)?;
    tx.leave_derivative(name)?;
    outside_of_all(tx)?;
    value(tx.int(left as i64))
}

fn wrap(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let level = tx.index_of(&a[1])? as i64;
    let level = level_node(tx, level)?;
    let f = function(tx, FUNCTORCH, name)?;
    let Some((made, shadow)) = call_wrapping(tx, &f, &a, &[(1, level)])? else {
        return Ok(None);
    };
    keep_wrapped(tx, &a[0], &shadow)?;
    value(made)
}

fn unwrap(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 2, 2)?;
    let level = tx.index_of(&a[1])? as i64;
    let level = level_node(tx, level)?;
    let f = function(tx, names::PREDISPATCH, name)?;
    let Some((made, fake)) = call_wrapping(tx, &f, &a, &[(1, level)])? else {
        return Ok(None);
    };
    value(unwrapped(tx, made, &fake))
}

fn make_leaf(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 1, 1)?;
    let f = function(tx, TRANSFORMS, name)?;
    let made = call_wrapping(tx, &f, &a, &[])?;
    Ok(made.map(|(made, _)| Flow::Value(made)))
}

/// The gradients of some tensors with respect to others.
fn gradients(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let f = function(tx, TRANSFORMS, name)?;
    let callee = Callee::Function(&f.function, &f.path, None);
    let node_args = tx.node_args(&args)?;
    // The shadows may be asked again.
    let mut asked = node_args.clone();
    const KEEPS: &str = "retain_graph";
    if asked.pos.len() > 3 {
        asked.pos[3] = Arg::Bool(true);
        asked.meta_pos[3] = MetaArg::Bool(true);
    } else {
        asked.kw.retain(|(name, _)| &**name != KEEPS);
        asked.meta_kw.retain(|(name, _)| &**name != KEEPS);
        asked.kw.push((KEEPS.into(), Arg::Bool(true)));
        asked.meta_kw.push((KEEPS.into(), MetaArg::Bool(true)));
    }
    let (inferred, out) = tx.infer_fake_result(&callee, &asked, "")?;
    let made = tx.emit_inferred(&callee, node_args, inferred, &args)?;
    tx.keep_shadow(&made, out.bind(tx.py))?;
    value(made)
}

fn allow_leaves(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 1, 1)?;
    let allowed = tx.truth(&a[0])?;
    let node = function(tx, FUNCTORCH, name)?.node(tx, vec![Arg::Bool(allowed)], true)?;
    tx.log.graph.set_repeatable(node);
    tx.st.levels.makes_leaves = allowed;
    value(tx.none())
}

fn allows_leaves(tx: &mut Tx<'_>, _: &'static str, _: Args) -> Given {
    value(tx.bool(tx.st.levels.makes_leaves))
}

fn refuse_hooks(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 1, 1)?;
    let given = tx.node_args(&Args::pos(a.clone()))?.pos;
    let node = function(tx, AUTOGRAD, name)?.node(tx, given, true)?;
    if tx.st.levels.refuses_hooks.replace(a[0].clone()).is_some() {
        tx.log.graph.set_repeatable(node);
    }
    value(tx.none())
}

fn allow_hooks(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    function(tx, AUTOGRAD, name)?.node(tx, Vec::new(), true)?;
    tx.st.levels.refuses_hooks = None;
    value(tx.none())
}

fn hooks_message(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    if let Some(message) = &tx.st.levels.refuses_hooks {
        return value(message.clone());
    }
    let now = tx.py.import(AUTOGRAD)?.getattr(name)?.call0()?;
    match now.is_none() {
        true => value(tx.none()),
        false => Err(Stop::unsupported(
            "a transform where hooks on saved tensors are refused already",
        )),
    }
}
