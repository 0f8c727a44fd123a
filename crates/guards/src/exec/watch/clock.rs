//! One number for the changes of all dictionaries, where CPython counts them (3.11).
//!
//! A dictionary's version is the next number of a counter that all dictionaries share. So while a dictionary of
//! our own gets the very next number each time it is changed, no other dictionary was changed or made, and their
//! versions need not be compared one by one.
//!
//! Invariant: equal times mean that nothing but the clock itself has changed a dictionary in between.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::ffi::{self, PyObject};

use crate::exec::watch::events::Watched;
use crate::exec::watch::versions::version_slot;

/// With fewer dictionaries than this, comparing them takes no longer than asking for the time. Tests have few.
pub(super) const MANY: usize = if cfg!(test) { 1 } else { 64 };
/// Longest pause, in checks, of a memo that the time has told nothing.
const LONGEST_PAUSE: u32 = 128;

struct Clock {
    dict: *mut PyObject,
    key: *mut PyObject,
    /// What a change adds to the counter.
    step: u64,
    /// Changes of `dict`.
    ticks: AtomicU64,
}

// SAFETY: the objects live forever, and are touched with the GIL held.
unsafe impl Send for Clock {}
// SAFETY: as above.
unsafe impl Sync for Clock {}

static CLOCK: OnceLock<Option<Clock>> = OnceLock::new();

impl Clock {
    fn new() -> Option<Self> {
        // SAFETY: the GIL is held by whoever checks guards; the objects are leaked.
        unsafe {
            let dict = ffi::PyDict_New();
            let key = ffi::PyUnicode_InternFromString(c"ticks".as_ptr());
            if dict.is_null() || key.is_null() {
                ffi::PyErr_Clear();
                return None;
            }
            let mut clock = Self {
                dict,
                key,
                step: 0,
                ticks: AtomicU64::new(0),
            };
            // The first change allocates. A change that allocates nothing adds one step.
            clock.tick()?;
            clock.step = clock.tick()?.wrapping_neg().wrapping_add(clock.tick()?);
            (clock.step != 0).then_some(clock)
        }
    }

    /// Changes the dictionary and gives its version.
    ///
    /// # Safety
    /// The GIL is held.
    #[inline]
    unsafe fn tick(&self) -> Option<u64> {
        // SAFETY: live objects of builtin types; replacing one flag by the other allocates nothing.
        unsafe {
            let ticks = self.ticks.load(Ordering::Relaxed).wrapping_add(1);
            self.ticks.store(ticks, Ordering::Relaxed);
            let value = if ticks & 1 == 0 {
                ffi::Py_False()
            } else {
                ffi::Py_True()
            };
            if ffi::PyDict_SetItem(self.dict, self.key, value) != 0 {
                ffi::PyErr_Clear();
                return None;
            }
            version_slot(Watched::Dict(self.dict)).map(|at| *at as u64)
        }
    }
}

/// The time: equal as long as no dictionary changes. `None` where there is no such counter.
///
/// # Safety
/// The GIL is held.
#[inline]
unsafe fn now() -> Option<u64> {
    let clock = CLOCK.get_or_init(Clock::new).as_ref()?;
    // SAFETY: the caller's promise.
    let version = unsafe { clock.tick()? };
    let own = clock.ticks.load(Ordering::Relaxed);
    Some(version.wrapping_sub(own.wrapping_mul(clock.step)))
}

/// When dictionaries were last found as they were remembered.
#[derive(Default)]
pub(super) struct LastSeen {
    at: Cell<Option<u64>>,
    /// How often in a row the time had changed. A program that changes dictionaries between its calls is asked
    /// ever more seldom, twice each time.
    misses: Cell<u32>,
    pause: Cell<u32>,
}

/// What the clock said of the dictionaries of a memo.
pub(super) enum Since {
    /// None has changed since they were found as remembered.
    Unchanged,
    /// Compare them; if they are as remembered, this is the time of that, or it is unknown.
    Compare(Option<u64>),
}

impl LastSeen {
    /// Whether a dictionary has changed since.
    ///
    /// # Safety
    /// The GIL is held.
    #[inline]
    pub(super) unsafe fn ask(&self) -> Since {
        let pause = self.pause.get();
        if pause > 0 {
            self.pause.set(pause - 1);
            return Since::Compare(None);
        }
        // SAFETY: the caller's promise.
        let Some(now) = (unsafe { now() }) else {
            self.pause.set(u32::MAX);
            return Since::Compare(None);
        };
        if self.at.get() == Some(now) {
            self.misses.set(0);
            return Since::Unchanged;
        }
        let misses = self.misses.get().saturating_add(1);
        self.misses.set(misses);
        if misses.is_multiple_of(2) {
            self.pause.set(LONGEST_PAUSE.min(1 << (misses / 2).min(16)));
        }
        Since::Compare(Some(now))
    }

    /// They were found as remembered at this time.
    pub(super) fn set(&self, now: u64) {
        self.at.set(Some(now));
    }
}

#[cfg(test)]
mod tests {
    use pyo3::prelude::*;

    use super::{LastSeen, Since, now};

    #[test]
    fn time_passes_with_each_change_of_a_dictionary_and_never_without() {
        Python::initialize();
        Python::attach(|py| {
            if py.version_info() >= (3, 13) {
                return;
            }
            let scope = pyo3::types::PyDict::new(py);
            py.run(
                c"class C: pass\nc = C()\nc.a = 1\nd = c.__dict__\nsteps = [lambda: setattr(c, 'a', 2), lambda: setattr(c, 'b', 1), lambda: delattr(c, 'a'), lambda: d.update(x=1), lambda: d.pop('x'), lambda: d.setdefault('y', 1), d.popitem, d.clear, dict, lambda: {1: 2}, C().__dict__.clear, lambda: setattr(C, 'm', 1), lambda: globals().update(q=1)]",
                Some(&scope),
                None,
            )
            .expect("an object");
            let steps: Vec<Bound<'_, PyAny>> = scope
                .get_item("steps")
                .expect("a look-up")
                .expect("a list")
                .extract()
                .expect("callables");
            // SAFETY: the GIL is held.
            let time = || unsafe { now() }.expect("a counter");
            for step in steps {
                let before = time();
                assert_eq!(before, time());
                step.call0().expect("a change");
                // An empty dictionary that is cleared does not change.
                let is_clear = step.repr().expect("a text").to_string().contains("clear");
                assert!(is_clear || before != time(), "{step}");
            }
        });
    }

    #[test]
    fn a_program_that_changes_dictionaries_is_asked_seldom() {
        Python::initialize();
        Python::attach(|py| {
            if py.version_info() >= (3, 13) {
                return;
            }
            let last = LastSeen::default();
            let mut asked = 0;
            for _ in 0..1000 {
                // SAFETY: the GIL is held.
                match unsafe { last.ask() } {
                    Since::Unchanged => panic!("a dictionary was made"),
                    Since::Compare(Some(now)) => {
                        asked += 1;
                        last.set(now);
                    }
                    Since::Compare(None) => {}
                }
                drop(pyo3::types::PyDict::new(py));
            }
            assert!(asked < 40, "{asked}");
            let mut unchanged = 0;
            for _ in 0..1000 {
                // SAFETY: as above.
                match unsafe { last.ask() } {
                    Since::Unchanged => unchanged += 1,
                    Since::Compare(Some(now)) => last.set(now),
                    Since::Compare(None) => {}
                }
            }
            assert!(unchanged > 800, "{unchanged}");
        });
    }
}
