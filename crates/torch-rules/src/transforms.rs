//! Transforms of `torch.func` that compute derivatives (`grad`, `vjp`, `jvp` and what is made of them): their steps are
//! in the graph.
//!
//! torch's own Python is inlined; the functions at its bottom, which enter and leave a level, wrap and unwrap
//! tensors and compute gradients, become nodes as they are. What operations inside a level give is said in
//! `translator::torch_ops::levels`.
//!
//! Invariant: a level is captured as a whole or not at all.

use fx_graph::Arg;
use guards::{ConstVal, GuardKind};
use pyo3::prelude::*;
use torch_abi::contexts::leaving_level;
use torch_abi::names::levels::{ALLOW_LEAVES, ALLOWS_LEAVES};
use torch_abi::{TorchAbi, names};
use translator::rules::{Given, Rule, RuleList, value};
use translator::state::OnReturn;
use translator::stop::{R, Stop};
use translator::torch_ops::args::MetaArg;
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Flow, Tx};
use variables::contexts::DualLevel;
use variables::{Obj, Var};

use crate::vmap::{call_wrapping, function, keep_wrapped, level_node, outside_of_all, unwrapped};

const TRANSFORMS: &str = names::EAGER_TRANSFORMS;
const FUNCTORCH: &str = names::TORCH_C_FUNCTORCH;
/// It gives a function that needs tensors from inside.
const VJP: &str = "_vjp_with_argnums";
const PREDISPATCH: &str = names::PREDISPATCH;
const AUTOGRAD: &str = names::TORCH_C_AUTOGRAD;

pub(crate) const RULES: RuleList = &[
    (
        TRANSFORMS,
        &[
            ("grad_and_value_impl", whole as Rule),
            (VJP, whole),
            ("_jvp_with_argnums", whole),
            ("_set_tensor_requires_grad", make_leaf),
            ("_autograd_grad", gradients),
        ],
    ),
    (
        FUNCTORCH,
        &[
            ("_grad_increment_nesting", enter_grad as Rule),
            ("_grad_decrement_nesting", leave_grad),
            ("_wrap_for_grad", wrap),
            (ALLOW_LEAVES, allow_leaves),
            (ALLOWS_LEAVES, allows_leaves),
        ],
    ),
    (
        PREDISPATCH,
        &[
            ("_unwrap_for_grad", unwrap as Rule),
            ("_jvp_increment_nesting", enter_jvp),
            ("_jvp_decrement_nesting", leave_jvp),
            (names::DUAL_LEVEL[0], enter_dual),
            (names::DUAL_LEVEL[1], leave_dual),
            ("_make_dual", operation),
            ("_unpack_dual", operation),
        ],
    ),
    (
        names::TORCH_C,
        &[
            (names::FORWARD_MODE[0], set_forward_mode as Rule),
            (names::FORWARD_MODE[1], forward_mode),
        ],
    ),
    (
        names::FORWARD_AD,
        &[("_maybe_load_decompositions", load as Rule)],
    ),
    (
        AUTOGRAD,
        &[
            (names::SAVED_HOOKS[0], refuse_hooks as Rule),
            (names::SAVED_HOOKS[1], allow_hooks),
            (names::SAVED_HOOKS[2], hooks_message),
        ],
    ),
];

/// Whether a level may be entered here.
fn may_enter(tx: &Tx<'_>, name: &str) -> R<()> {
    match tx.st.effects.shows_tensors || tx.so_far().inference_now() {
        true => Err(Stop::unsupported(format!(
            "{name} while an output of tensors waits, or in inference mode"
        ))),
        false => Ok(()),
    }
}

/// Runs to its end here: a break inside is one of the whole call.
fn whole(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    may_enter(tx, name)?;
    if name == VJP && tx.st.levels.whole == 0 {
        tx.mark_place();
    }
    let f = tx.py.import(TRANSFORMS)?.getattr(name)?;
    let callee = tx.existing_callee(&f, None)?;
    tx.st.levels.whole += 1;
    let flow = tx.inline(callee, args, OnReturn::Push)?;
    let made = tx.finish_flow(flow)?;
    tx.st.levels.whole -= 1;
    value(made)
}

fn enter_grad(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    enter(tx, FUNCTORCH, name)
}

fn leave_grad(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    leave(tx, FUNCTORCH, name)
}

fn enter_jvp(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    enter(tx, PREDISPATCH, name)
}

fn leave_jvp(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    leave(tx, PREDISPATCH, name)
}

fn enter(tx: &mut Tx<'_>, module: &str, name: &'static str) -> Given {
    if tx.st.levels.whole == 0 {
        return Err(Stop::unsupported("a level of a transform by itself"));
    }
    let node = function(tx, module, name)?.node(tx, Vec::new(), true)?;
    tx.enter_derivative(name, node)?;
    let level = tx.st.levels.entered.len();
    value(tx.int(level as i64))
}

fn leave(tx: &mut Tx<'_>, module: &str, name: &'static str) -> Given {
    let left = tx.st.levels.entered.len();
    function(tx, module, name)?.node(tx, Vec::new(), true)?;
    tx.leave_derivative(name)?;
    outside_of_all(tx)?;
    value(tx.int(left as i64))
}

/// The level is entered for real, until the translation leaves it: tangents are kept by it.
fn enter_dual(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    may_enter(tx, name)?;
    let torch_c = tx.py.import(names::TORCH_C)?;
    let leave = leaving_level(&torch_c.getattr(names::DUAL_LEVEL[1])?, 0)?;
    if torch_c.call_method0(name).is_err() {
        return Err(Stop::unsupported("a level of forward mode within another"));
    }
    tx.mark_place();
    tx.st.levels.dual = Some(DualLevel::entered(leave.unbind()));
    function(tx, PREDISPATCH, name)?.node(tx, Vec::new(), true)?;
    value(tx.int(0))
}

fn leave_dual(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let given = tx.node_args(&args)?;
    let f = function(tx, PREDISPATCH, name)?;
    let target = tx.target(&f.function, &f.path)?;
    let node = tx.log.graph.call_function(target, given.pos, given.kw);
    tx.log.graph.set_impure(node, true);
    if let Some(level) = tx.st.levels.dual.take() {
        level.leave(tx.py)?;
    }
    outside_of_all(tx)?;
    value(tx.none())
}

/// An operation as any other, in a level that the graph has entered.
fn operation(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let f = function(tx, PREDISPATCH, name)?;
    if tx.st.levels.dual.is_none() {
        return Err(tx.skipped(f.function.bind(tx.py)));
    }
    let callee = Callee::Function(&f.function, &f.path, None);
    value(tx.emit(&callee, &args)?)
}

fn load(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    let f = function(tx, names::FORWARD_AD, name)?;
    f.function.call0(tx.py)?;
    let node = f.node(tx, Vec::new(), true)?;
    tx.log.graph.set_repeatable(node);
    value(tx.none())
}

/// Transforms turn it on, where nothing has turned it off.
fn set_forward_mode(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let a = tx.positional(name, args, 1, 1)?;
    if !tx.truth(&a[0])? || tx.st.levels.whole == 0 {
        return Err(Stop::unsupported("forward mode turned off"));
    }
    let node = function(tx, names::TORCH_C, name)?.node(tx, vec![Arg::Bool(true)], true)?;
    tx.log.graph.set_repeatable(node);
    value(tx.none())
}

fn forward_mode(tx: &mut Tx<'_>, name: &'static str, _: Args) -> Given {
    let now = tx.py.import(names::TORCH_C)?.getattr(name)?.call0()?;
    match now.is_truthy()? {
        true => value(tx.bool(true)),
        false => Err(Stop::unsupported("forward mode turned off")),
    }
}

fn wrap(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some((x, made, shadow)) = at_level(tx, FUNCTORCH, name, args)? else {
        return Ok(None);
    };
    keep_wrapped(tx, &x, &shadow)?;
    value(made)
}

fn unwrap(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some((_, made, fake)) = at_level(tx, PREDISPATCH, name, args)? else {
        return Ok(None);
    };
    value(unwrapped(tx, made, &fake))
}

/// A function of a tensor and a level: the tensor, what it gives, and its fake result.
fn at_level(
    tx: &mut Tx<'_>,
    module: &str,
    name: &'static str,
    args: Args,
) -> R<Option<(Var, Var, Obj)>> {
    let a = tx.positional(name, args, 2, 2)?;
    let level = tx.index_of(&a[1])? as i64;
    let level = level_node(tx, level)?;
    let f = function(tx, module, name)?;
    let found = call_wrapping(tx, &f, &a, &[(1, level)])?;
    Ok(found.map(|(made, fake)| (a[0].clone(), made, fake)))
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
    let wanted = node_args.pos.get(1);
    if !wanted.is_some_and(|wanted| all_shadowed(tx, wanted)) {
        // What autograd has recorded outside of the graph.
        return Err(tx.skipped(f.function.bind(tx.py)));
    }
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
    // A graph that runs again records anew.
    let made = tx.emit_inferred_as(&callee, node_args, inferred, &args, true)?;
    tx.keep_shadow(&made, out.bind(tx.py))?;
    value(made)
}

fn all_shadowed(tx: &Tx<'_>, arg: &Arg) -> bool {
    match arg {
        Arg::Node(node) => tx.st.levels.shadows.contains_key(&node.0),
        Arg::List(items) | Arg::Tuple(items) => items.iter().all(|i| all_shadowed(tx, i)),
        _ => false,
    }
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
    let ask = tx.py.import(AUTOGRAD)?.getattr(name)?;
    let hooks = TorchAbi::get(tx.py).and_then(|abi| Ok(abi.saved_tensors_hooks(tx.py)?));
    let hooks = hooks.map_err(|e| Stop::Internal(e.to_string()))?;
    let asked = [(ask, None), (hooks, Some(ConstVal::Bool(true)))];
    for (ask, arg) in asked {
        let now = match &arg {
            Some(_) => ask.call1((true,))?,
            None => ask.call0()?,
        };
        if !now.is_none() {
            return Err(Stop::unsupported(
                "a transform where hooks on saved tensors are in force, or refused already",
            ));
        }
        let func = tx.pin(&ask.unbind(), false);
        tx.guard_ambient(GuardKind::CallMatch {
            func,
            args: arg.into_iter().collect(),
            value: ConstVal::None,
        });
    }
    value(tx.none())
}
