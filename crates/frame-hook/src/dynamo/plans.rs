//! Plans of guards: their sorted set and its program, made while the backend runs where that is worth it.
//!
//! Does not live here: what a plan is (`guards`). Only linking it needs the interpreter.

use std::rc::Rc;
use std::sync::Arc;

use guards::plan::{self, Plan};
use guards::{ConstTypes, Guard, SourceTable, UserFrame};
use pyo3::prelude::*;
use residual::GuardsSoFar;
use rustc_hash::FxHashMap;
use torch_abi::{AbiError, TorchAbi};
use translator::Tx;
use translator::code::CodeInfo;

use super::reasons;

/// A plan that was made before the translation had ended.
pub struct EarlyPlan {
    plan: Plan,
    guards: usize,
    sources: usize,
}

impl EarlyPlan {
    /// The plan, where no guard and no source has been added since.
    pub fn of_all(self, guards: &[Guard], sources: &SourceTable) -> Option<Plan> {
        let is_whole = self.guards == guards.len() && self.sources == sources.len();
        debug_assert!(
            !is_whole || self.plan.set.sources().iter().eq(sources.iter()),
            "sources are only added between the call of the backend and the end"
        );
        is_whole.then_some(self.plan)
    }
}

/// Calls a backend, and plans the guards meanwhile, where that is worth it.
pub fn beside<R>(
    py: Python<'_>,
    so_far: &GuardsSoFar<'_>,
    call: impl FnOnce() -> R,
) -> (R, Option<EarlyPlan>) {
    let abi = TorchAbi::get(py).ok();
    let Some(abi) = abi.filter(|_| plan::is_worth_a_thread(so_far.guards.len())) else {
        return (call(), None);
    };
    let frames = Frames::of(so_far.places);
    let finished = |i: usize, guard: &Guard| frames.add(i, guard.clone());
    let const_types = ConstTypes::of(abi);
    let (result, plan) = plan::beside(so_far.sources, so_far.guards, finished, const_types, call);
    let plan = plan.map(|plan| EarlyPlan {
        plan,
        guards: so_far.guards.len(),
        sources: so_far.sources.len(),
    });
    (result, plan)
}

/// The plan of a translation's guards, which are taken from it.
///
/// # Errors
/// A torch that is not known.
pub fn of_all(py: Python<'_>, tx: &mut Tx<'_>) -> Result<Plan, AbiError> {
    let abi = TorchAbi::get(py)?;
    let guards = std::mem::take(&mut tx.log.guards);
    let frames = Frames::of(&std::mem::take(&mut tx.log.guard_lines));
    let guards = guards.into_iter().enumerate();
    let guards = guards.map(|(i, guard)| frames.add(i, guard));
    let sources = std::mem::take(&mut tx.facts.sources);
    Ok(Plan::in_pool(sources, guards, ConstTypes::of(abi)))
}

/// The lines that asked for guards.
struct Frames {
    lines: Vec<Arc<UserFrame>>,
    /// For each guard, which of them.
    of_guards: Vec<u32>,
}

impl Frames {
    fn of(places: &[(Rc<CodeInfo>, u32)]) -> Frames {
        let mut numbers: FxHashMap<(*const CodeInfo, u32), u32> = FxHashMap::default();
        let mut lines = Vec::new();
        let mut number = |(code, line): &(Rc<CodeInfo>, u32)| {
            *numbers.entry((Rc::as_ptr(code), *line)).or_insert_with(|| {
                let (file, function) = (code.filename.clone(), code.name.clone());
                let frame = UserFrame::new(file, *line, function, reasons::read_line);
                lines.push(Arc::new(frame));
                lines.len() as u32 - 1
            })
        };
        let of_guards = places.iter().map(&mut number).collect();
        Frames { lines, of_guards }
    }

    /// A guard with its line.
    fn add(&self, index: usize, guard: Guard) -> Guard {
        let line = self.of_guards.get(index);
        guard.at(line.map(|&line| self.lines[line as usize].clone()))
    }
}
