//! `torch.autograd.grad`, which runs in eager mode between two graphs.
//!
//! Where its result is to be differentiated once more (`create_graph=True`), that goes through what a compiler made of
//! the graph in front, and torch's compilers make nothing that can be differentiated twice. So the whole call runs in
//! eager mode then, with all that it calls.

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
    let by_place = args.pos.get(4);
    let Some(creates) = args.named("create_graph").or(by_place).cloned() else {
        return Err(between_graphs);
    };
    if !tx.truth(&creates)? {
        return Err(between_graphs);
    }
    if tx.runs_as_is {
        // Whether it is a compiler that gets the graph may show only then.
        if let Stop::Break(reason) = &mut between_graphs {
            reason.instead = Some(Instead::RunAll);
        }
        return Err(between_graphs);
    }
    Err(Stop::Break(Box::new(BreakReason {
        reason: "Gradient that is to be differentiated, of what a compiler would compute".into(),
        explanation: "`torch.autograd.grad(create_graph=True)` runs in eager mode, and torch's compilers make nothing that can be differentiated twice: the function runs in eager mode, with all that it calls.".into(),
        hints: vec![
            "Use `torch.func.grad` inside of the compiled function, or compile only what is outside of the differentiated part.".into(),
        ],
        instead: Some(Instead::RunAll),
        ..BreakReason::default()
    })))
}
