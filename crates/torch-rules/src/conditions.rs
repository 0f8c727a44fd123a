//! `torch._check` and what goes with it: what the program says of numbers that the graph reads from tensors.
//!
//! The graph checks it, and what comes behind relies on it: sizes that were not known are known well enough. Of
//! numbers that are known, the functions are followed as any other.

use bytecode::op::{BinaryOp, CompareOp};
use pyo3::prelude::*;
use torch_abi::names;
use translator::rules::{Given, Rule, RuleList};
use translator::stop::R;
use translator::tx::{Args, Flow, Tx};
use variables::Var;

pub(crate) const RULES: RuleList = &[
    (
        "torch",
        &[
            ("_check", check as Rule),
            ("_check_value", check),
            ("_check_index", check),
            ("_check_is_size", check_is_size),
            ("sym_not", sym_not),
        ],
    ),
    (
        names::SYMBOLIC_SHAPES,
        &[("sym_and", combined as Rule), ("sym_or", combined)],
    ),
];

/// `not a` of a condition that the graph computes.
fn sym_not(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match (args.pos.as_slice(), args.kw.is_empty()) {
        ([condition], true) => Ok(tx.negated_condition(condition)?.map(Flow::Value)),
        _ => Ok(None),
    }
}

/// All of the conditions, or one of them.
fn combined(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let op = match name {
        "sym_and" => BinaryOp::And,
        _ => BinaryOp::Or,
    };
    let Some((first, others)) = args.pos.split_first().filter(|_| args.kw.is_empty()) else {
        return Ok(None);
    };
    let mut made = first.clone();
    for other in others {
        made = tx.binary_sync(op, &made, other)?;
    }
    Ok(Some(Flow::Value(made)))
}

fn done(tx: &Tx<'_>) -> Given {
    Ok(Some(Flow::Value(tx.none())))
}

/// The function of this name, as the graph calls it.
fn function<'py>(tx: &Tx<'py>, name: &str) -> R<Bound<'py, PyAny>> {
    Ok(tx.known.torch.bind(tx.py).getattr(name)?)
}

fn check(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let Some(condition) = args.pos.first().or(args.named("cond")).cloned() else {
        return Ok(None);
    };
    let check = function(tx, name)?;
    match tx.check_in_graph(&check, &condition)? {
        true => done(tx),
        false => Ok(None),
    }
}

fn check_is_size(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let Some(size) = args.pos.first().or(args.named("i")).cloned() else {
        return Ok(None);
    };
    if !tx.follows_from_read(&size) {
        return Ok(None);
    }
    // The one keyword beside the message is the most that it may be.
    let mut bound = args
        .kw
        .iter()
        .filter(|(name, _)| !matches!(&**name, "i" | "message"));
    let most = bound.next().map(|(_, most)| most.clone());
    let (most, least) = (most.filter(|most| !most.is_none(tx.py)), tx.int(0));
    let mut bounds = vec![(CompareOp::Ge, least)];
    bounds.extend(most.map(|most| (CompareOp::Le, most)));
    let check = function(tx, "_check")?;
    for (op, bound) in bounds {
        let Flow::Value(condition) = tx.compare(op, &size, &bound)? else {
            return Ok(None);
        };
        let is_sure = matches!(&condition, Var::Const(o) if o.is_truthy(tx.py)?);
        if !is_sure && !tx.check_in_graph(&check, &condition)? {
            return Ok(None);
        }
    }
    done(tx)
}

/// What `guard_or_false` and the like answer for a condition that is not known; `None` where the graph has to end.
///
/// # Errors
/// As [`Tx::check_in_graph`].
pub(crate) fn answer_unknown(tx: &mut Tx<'_>, name: &str, condition: &Var) -> R<Option<bool>> {
    if !tx.is_condition(condition) {
        return Ok(None);
    }
    Ok(match name {
        "guard_or_true" => Some(true),
        "guard_or_false" | "statically_known_true" => Some(false),
        "expect_true" => {
            let check = function(tx, "_check")?;
            tx.check_in_graph(&check, condition)?.then_some(true)
        }
        _ => None,
    })
}
