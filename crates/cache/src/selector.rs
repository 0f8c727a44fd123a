//! Which of several entries a call is likely to fit, without trying one after the other.
//!
//! Where an entry failed when another one was compiled is what tells their calls apart. What calls give there is
//! remembered with the entry that they hit.
//!
//! Invariants: only a hint, the entry is checked; a probe is read with the program of the entry that it came from,
//! which is alive as long as the selector; nothing here runs user code but dropping a selector.

use std::sync::Arc;

use guards::exec::CheckEnv;
use guards::exec::probe::Probe;

use crate::entry::GuardedCode;

/// How many things are looked at of a call.
const PROBES: usize = 4;
/// How many answers are remembered.
const SLOTS: usize = 32;

/// A table from what calls look like to the entries that they hit.
pub(crate) struct Selector {
    probes: Vec<(Arc<GuardedCode>, Probe)>,
    /// What a call looked like, and the address of the entry that it hit.
    slots: [(u64, *const GuardedCode); SLOTS],
}

impl Selector {
    pub(crate) fn new() -> Self {
        Self {
            probes: Vec::new(),
            slots: [(0, std::ptr::null()); SLOTS],
        }
    }

    /// Learns from a call that fits none of the entries where they fail.
    ///
    /// # Safety
    /// Every non-null pointer of `env` is live.
    pub(crate) unsafe fn learn(&mut self, entries: &[Arc<GuardedCode>], env: &CheckEnv<'_>) {
        for entry in entries {
            if self.probes.len() == PROBES {
                return;
            }
            // SAFETY: the caller's promise.
            let Some(probe) = (unsafe { entry.program.failing_probe(env) }) else {
                continue;
            };
            if !self.probes.iter().any(|(_, known)| known.is_same(&probe)) {
                self.probes.push((entry.clone(), probe));
                self.slots = [(0, std::ptr::null()); SLOTS];
            }
        }
    }

    /// What a call looks like, or `None` where there is nothing to look at.
    ///
    /// # Safety
    /// As for [`Selector::learn`].
    #[inline]
    pub(crate) unsafe fn look(&self, env: &CheckEnv<'_>) -> Option<u64> {
        if self.probes.is_empty() {
            return None;
        }
        let mut looks = 0u64;
        for (entry, probe) in &self.probes {
            if !entry.is_valid() {
                return None;
            }
            // SAFETY: the caller's promise; the entry is alive and valid, and so are its pins.
            let number = unsafe { entry.program.read_probe(probe, env) };
            looks = (looks.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        Some(looks)
    }

    /// The address of the entry that such a call hit, null if there was none.
    #[inline]
    pub(crate) fn entry(&self, looks: u64) -> *const GuardedCode {
        let (known, entry) = self.slots[slot(looks)];
        if known == looks {
            entry
        } else {
            std::ptr::null()
        }
    }

    /// Remembers the entry that such a call hit.
    #[inline]
    pub(crate) fn remember(&mut self, looks: u64, entry: *const GuardedCode) {
        self.slots[slot(looks)] = (looks, entry);
    }
}

fn slot(looks: u64) -> usize {
    (looks >> 32) as usize % SLOTS
}
