//! Watching instead of checking: what seldom changes is looked at once, and then only when it reports a change.
//!
//! A check that passed is remembered as a [`memo::Memo`]: for each step of the program either nothing (what it
//! read is watched), a word to compare (an object's type, its `__dict__`), a tensor's metadata to compare, or
//! the step itself, to be run on each call. What is watched: dictionaries, classes and functions, by watchers
//! where CPython has them ([`events`]) and by version tags on 3.11. [`arm`] decides, step by step; its table of
//! what escapes every event is the documentation of ARCHITECTURE.md.
//!
//! After an event only the steps that read the changed object run again. A memo that cannot be kept costs one
//! full check and is made anew. What keeps changing is found out ([`Watch::volatile`]) and from then on read on
//! each call, with what hangs on it and nothing else.
//!
//! Invariants: a memo that passes implies that the full program would pass; a memo that fails implies that the
//! full program would fail; nothing here keeps an object of the user's alive, small constants aside, or runs user code.

use pyo3::ffi;
use pyo3::ffi::PyObject;

use super::check::{CheckEnv, CheckProgram};
use crate::program::Op;

mod anchors;
mod arm;
mod clock;
mod codes;
mod events;
mod hot;
mod instances;
mod interest;
mod memo;
#[cfg(test)]
mod tests;
mod versions;

pub use instances::prepare;
use memo::{Memo, Verdict};

/// A memo that was good for this many calls was worth making.
const WORTH: u32 = 32;
/// Longest pause, in passing checks, between memos that were not.
const LONGEST_PAUSE: u32 = 1024;
/// How often a value may be found changed by a memo before it is read on each call.
const CHANGES: u8 = 2;

/// What a program remembers of its last full check.
#[derive(Default)]
pub(crate) struct Watch {
    memo: Option<Box<Memo>>,
    /// Calls that the memo was good for.
    hits: u32,
    /// Per op: how often a memo did not last, or could not say that the check fails, for another value there.
    volatile: Vec<u8>,
    /// Passing checks to wait before the next memo.
    pause: u32,
    next_pause: u32,
    /// Nothing of the program can be left out.
    useless: bool,
}

impl Watch {
    /// The memo could not say that the check at `op` fails. If that happens again for a value on which nothing
    /// hangs, as where two entries differ in one flag, the value is read on each call.
    fn found_changed(&mut self, ops: &[Op], op: usize, value: *mut PyObject) {
        let Some(memo) = &self.memo else { return };
        let Some(load) = ops[..op]
            .iter()
            .rposition(|op| matches!(op, Op::Load { .. }))
        else {
            return;
        };
        let below = load + 1..memo.ends[load] as usize;
        let is_leaf =
            below.contains(&op) && below.clone().all(|op| matches!(ops[op], Op::Check { .. }));
        if is_leaf && !memo.values[load].is_null() && memo.values[load] != value {
            self.volatile[load] = self.volatile[load].saturating_add(1);
            if self.volatile[load] == CHANGES {
                self.memo = None;
            }
        }
    }
}

impl CheckProgram {
    /// The check, from the memo where there is one.
    ///
    /// # Safety
    /// As for [`CheckProgram::check`].
    #[inline]
    pub(crate) unsafe fn check_watched(&self, env: &CheckEnv<'_>) -> bool {
        // SAFETY: the GIL is held, and no check comes back here: it runs no user code.
        unsafe {
            let watch = &mut *self.watch.get();
            if let Some(memo) = &watch.memo {
                match self.run_memo(memo, env) {
                    Verdict::Pass => {
                        watch.hits = watch.hits.saturating_add(1);
                        return true;
                    }
                    Verdict::Fail => return false,
                    Verdict::Unknown => {}
                }
            } else if watch.useless {
                return self.failing_op(env, |_, _| ()).is_none();
            }
            self.check_and_remember(env)
        }
    }

    /// # Safety
    /// As for [`CheckProgram::check`].
    #[cold]
    #[inline(never)]
    unsafe fn check_and_remember(&self, env: &CheckEnv<'_>) -> bool {
        // SAFETY: as in `check_watched`.
        unsafe {
            let watch = &mut *self.watch.get();
            let failed = self.failing_op(env, |op, registers| match self.program().ops[op] {
                Op::Check { reg, .. } => Some((op, registers[usize::from(reg.0)].assume_init())),
                _ => None,
            });
            if let Some((_, checked)) = failed {
                if let Some((op, value)) = checked {
                    watch.found_changed(&self.program().ops, op, value);
                }
                return false;
            }
            if watch.pause > 0 {
                watch.pause -= 1;
                return true;
            }
            let old = watch.memo.take();
            if old.is_some() {
                if watch.hits >= WORTH {
                    watch.next_pause = 0;
                } else {
                    watch.next_pause = (watch.next_pause * 2).clamp(1, LONGEST_PAUSE);
                    watch.pause = watch.next_pause - 1;
                }
            }
            // Allocation must not start the garbage collector (3.11): finalizers are user code.
            let collects = ffi::PyGC_Disable() != 0;
            let short_lived = old.is_some() && watch.hits < WORTH;
            let memo = arm::arm(self, env, old.as_deref(), short_lived, &mut watch.volatile);
            drop(old);
            if collects {
                ffi::PyGC_Enable();
            }
            watch.hits = 0;
            match memo {
                Some(memo) if memo.is_useless() => watch.useless = true,
                memo => watch.memo = memo.map(Box::new),
            }
            true
        }
    }

    /// Whether the last check was remembered.
    #[cfg(test)]
    pub(crate) fn is_watching(&self) -> bool {
        // SAFETY: tests hold the GIL.
        unsafe { (*self.watch.get()).memo.is_some() }
    }

    /// How many calls the memo was good for.
    #[cfg(test)]
    pub(crate) fn memo_hits(&self) -> u32 {
        // SAFETY: tests hold the GIL.
        unsafe { (*self.watch.get()).hits }
    }
}
