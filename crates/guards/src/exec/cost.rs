//! What each step of a check costs, for people who look for the expensive ones.
//!
//! Invariant: as of a check, no user code runs.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::time::Instant;

use rustc_hash::FxHashMap;

use crate::exec::check::{CheckEnv, CheckProgram, STACK_REGISTERS};
use crate::exec::step::Run;
use crate::program::Op;
use crate::source::SourceId;

/// How often a step is repeated for one reading of the clock, and how often that is done.
const REPEATS: u32 = 16;
const READINGS: usize = 3;

/// Nanoseconds by step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// Of the check of each guard, by its index in the set.
    pub guards: FxHashMap<u32, f64>,
    /// Of reading each source, what it is reached from aside.
    pub sources: FxHashMap<SourceId, f64>,
}

impl CheckProgram {
    /// What each step takes in a check for which nothing is remembered, as the first one. Steps behind one that fails
    /// are left out.
    ///
    /// # Safety
    /// As for [`CheckProgram::check`].
    pub unsafe fn costs(&self, env: &CheckEnv<'_>) -> Costs {
        let mut costs = Costs::default();
        if !self.validity().is_valid() {
            return costs;
        }
        let mut few = [MaybeUninit::uninit(); STACK_REGISTERS];
        let mut many = Vec::new();
        let mut run = Run::new(self, env, self.registers_in(&mut few, &mut many));
        for (op, linked) in self.program().ops.iter().zip(self.ops()) {
            // SAFETY: the caller's promise; the steps before wrote the registers.
            if !unsafe { self.step(linked, &mut run) } {
                break;
            }
            let reading = |run: &mut Run<'_>| {
                let started = Instant::now();
                for _ in 0..REPEATS {
                    // SAFETY: as above.
                    black_box(unsafe { self.step(black_box(linked), run) });
                }
                started.elapsed().as_secs_f64() * 1e9 / f64::from(REPEATS)
            };
            let nanoseconds = (0..READINGS)
                .map(|_| reading(&mut run))
                .fold(f64::INFINITY, f64::min);
            match op {
                Op::Load { source, .. } => {
                    costs.sources.insert(*source, nanoseconds);
                }
                Op::Check { guard, .. } | Op::Ambient { guard } | Op::Relation { guard, .. } => {
                    *costs.guards.entry(*guard).or_default() += nanoseconds;
                }
            }
        }
        costs
    }
}
