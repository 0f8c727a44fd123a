//! Python functions of torch that a rule serves better than inlining them, or than a graph break.
//!
//! Each rule has the effect of the function without what only matters outside a graph: labels for a
//! profiler, hooks for other tracers.

use pyo3::prelude::*;
use variables::Var;

use super::{Given, Rule, Rules};
use crate::tx::{Args, Tx};

pub(super) const RULES: Rules = &[
    (
        "torch.autograd.profiler",
        &[
            ("record_function.__enter__", label_entered as Rule),
            ("record_function.__exit__", left),
        ],
    ),
    (
        "torch.optim.optimizer",
        &[("Optimizer.zero_grad", undecorated as Rule)],
    ),
    (
        "torch.amp.autocast_mode",
        &[
            ("autocast.__enter__", autocast_entered as Rule),
            ("autocast.__exit__", left),
        ],
    ),
];

/// A function that torch keeps its own tracer out of, though nothing in it needs that.
fn undecorated(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let module = tx.py.import("torch.optim.optimizer")?.into_any();
    let function = name.split('.').try_fold(module, |o, n| o.getattr(n))?;
    let Ok(inner) = function.getattr("__wrapped__") else {
        return Ok(None);
    };
    tx.call(&Var::py(inner.unbind()), args).map(Some)
}

fn label_entered(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.first() {
        Some(context) => tx.enter_label(context).map(Some),
        None => Ok(None),
    }
}

fn autocast_entered(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.first() {
        Some(context) => tx.enter_autocast(context).map(Some),
        None => Ok(None),
    }
}

fn left(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match args.pos.first() {
        Some(context) => tx.leave_context(context).map(Some),
        None => Ok(None),
    }
}
