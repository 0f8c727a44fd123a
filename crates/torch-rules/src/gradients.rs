//! `torch.autograd.grad`, which runs in eager mode between two graphs.
//!
//! It goes through what a compiler made of the graph in front, which is one node of autograd's. torch's compilers make
//! nothing that can be differentiated twice (`create_graph=True`), and what they made is let go as a whole, though the
//! program may still have gradients to come through another part of it. So in both cases the whole call runs in eager
//! mode, with all that it calls.

use crate::held_gradients::keeps_gradients;
use pyo3::prelude::*;
use translator::Instead;
use translator::rules::{Given, Rule, RuleList};
use translator::stop::{BreakReason, Stop};
use translator::tx::{Args, Tx};

pub(crate) const RULES: RuleList = &[("torch.autograd", &[("grad", grad as Rule)])];

fn grad(tx: &mut Tx<'_>, name: &'static str, args: Args) -> Given {
    let function = tx.py.import("torch.autograd")?.getattr(name)?;
    let mut between_graphs = tx.skipped(&function);
    if tx.log.graph.is_empty() {
        return Err(between_graphs);
    }
    let flag = |tx: &mut Tx<'_>, name, place: usize| {
        let given = args.named(name).or(args.pos.get(place)).cloned();
        given.map_or(Ok(false), |v| tx.truth(&v))
    };
    let (reason, explanation, hint) = if flag(tx, "create_graph", 4)? {
        (
            "Gradient that is to be differentiated, of what a compiler would compute",
            "`torch.autograd.grad(create_graph=True)` runs in eager mode, and torch's compilers make nothing that can be differentiated twice: the function runs in eager mode, with all that it calls.",
            "Use `torch.func.grad` inside of the compiled function, or compile only what is outside of the differentiated part.",
        )
    } else if !flag(tx, "retain_graph", 3)? && keeps_gradients(tx, &args.pos)? {
        (
            "Gradient of a part of what a compiler would compute",
            "`torch.autograd.grad()` runs in eager mode, and lets go of all that a compiler keeps for the gradients of the graph in front. Another tensor of that graph is still in use, and has gradients of its own: the function runs in eager mode, with all that it calls.",
            "Use `torch.func.grad` inside of the compiled function, or compute the other tensor behind the gradient.",
        )
    } else {
        return Err(between_graphs);
    };
    if tx.runs_as_is {
        // Whether it is a compiler that gets the graph may show only then.
        if let Stop::Break(reason) = &mut between_graphs {
            reason.instead = Some(Instead::RunAll);
        }
        return Err(between_graphs);
    }
    Err(Stop::Break(Box::new(BreakReason {
        reason: reason.into(),
        explanation: explanation.into(),
        hints: vec![hint.into()],
        instead: Some(Instead::RunAll),
        ..BreakReason::default()
    })))
}
