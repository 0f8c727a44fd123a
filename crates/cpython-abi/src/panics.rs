//! Functions that C calls: a panic ends at their edge.
//!
//! A panic that leaves an `extern "C"` function ends the process. So the body of each one runs in [`contained`], which
//! logs the panic once and goes on with what the function does instead.
//!
//! Invariant: every `extern "C"` function of the workspace that has a body runs it here (`xtask/tests/architecture.rs`
//! looks at the sources).

use std::any::Any;
use std::ffi::{CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use pyo3::ffi::{self, PyObject};

use crate::later::later;
use crate::report;

/// Runs the body of a function that C calls. Where it panics, `otherwise` gives the result; the panic is logged once,
/// with `doing`, when the interpreter next runs any code.
///
/// Costs no instruction where nothing panics. `otherwise` must not panic.
#[inline(always)]
pub fn contained<R>(
    doing: &'static str,
    otherwise: impl FnOnce() -> R,
    body: impl FnOnce() -> R,
) -> R {
    let body = || {
        for_tests::panic_if_wanted(doing, for_tests::Place::Start);
        let result = body();
        for_tests::panic_if_wanted(doing, for_tests::Place::End);
        result
    };
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(payload) => {
            caught(doing, payload);
            otherwise()
        }
    }
}

/// As [`contained`], for a function that raises where it fails. The GIL is held.
#[inline(always)]
pub fn contained_or_raise<R: Failed>(doing: &'static str, body: impl FnOnce() -> R) -> R {
    contained(doing, || raise(doing), body)
}

/// What C functions return to say that an exception is set.
pub trait Failed {
    /// That value.
    const FAILED: Self;
}

impl Failed for *mut PyObject {
    const FAILED: Self = ptr::null_mut();
}

impl Failed for c_int {
    const FAILED: Self = -1;
}

/// Sets an exception for a function that panicked, unless one is set already. The GIL is held.
#[cold]
pub fn raise<R: Failed>(doing: &str) -> R {
    let text = format!("internal error (panic) in ferrodyn, in {doing}");
    // SAFETY: the GIL is held, as required of the caller.
    unsafe {
        if ffi::PyErr_Occurred().is_null()
            && let Ok(text) = CString::new(text)
        {
            ffi::PyErr_SetString(ffi::PyExc_RuntimeError, text.as_ptr());
        }
    }
    R::FAILED
}

/// Leaves a message for the log. Python code can't run where a watcher or a deallocator is called.
#[cold]
fn caught(doing: &'static str, payload: Box<dyn Any + Send>) {
    let text = report::panic_text(&*payload).to_owned();
    // The payload may be a type of anybody's, whose end may panic as well.
    std::mem::forget(payload);
    later(move |py| {
        report::warn_once(
            py,
            &format!(
                "internal error (panic) in {doing}: {text}. The program goes on; this is a bug in ferrodyn."
            ),
        );
    });
}

/// Panics that tests ask for, in debug builds.
pub mod for_tests {
    /// Where in the body of a function.
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub enum Place {
        /// Nothing of it has run.
        Start,
        /// All of it has run.
        End,
    }

    #[cfg(debug_assertions)]
    mod wanted {
        use std::sync::atomic::{AtomicBool, Ordering};
        use std::sync::{Mutex, PoisonError};

        use super::Place;

        static ANY: AtomicBool = AtomicBool::new(false);
        static WANTED: Mutex<Option<(String, Place)>> = Mutex::new(None);

        /// Makes the function that is `doing` this panic, once.
        pub fn want(doing: &str, place: Place) {
            *WANTED.lock().unwrap_or_else(PoisonError::into_inner) =
                Some((doing.to_owned(), place));
            ANY.store(true, Ordering::Relaxed);
        }

        /// Whether a panic that was asked for is still to come; it is no longer.
        pub fn withdraw() -> bool {
            ANY.store(false, Ordering::Relaxed);
            let mut wanted = WANTED.lock().unwrap_or_else(PoisonError::into_inner);
            wanted.take().is_some()
        }

        pub(in super::super) fn panic_if_wanted(doing: &str, place: Place) {
            if !ANY.load(Ordering::Relaxed) {
                return;
            }
            let mut wanted = WANTED.lock().unwrap_or_else(PoisonError::into_inner);
            if matches!(&*wanted, Some((text, at)) if text == doing && *at == place) {
                *wanted = None;
                drop(wanted);
                ANY.store(false, Ordering::Relaxed);
                panic!("a test asked for it");
            }
        }
    }

    #[cfg(debug_assertions)]
    pub(super) use wanted::panic_if_wanted;
    #[cfg(debug_assertions)]
    pub use wanted::{want, withdraw};

    #[cfg(not(debug_assertions))]
    #[inline(always)]
    pub(super) fn panic_if_wanted(_doing: &str, _place: Place) {}
}

#[cfg(test)]
mod tests {
    use pyo3::prelude::*;

    use super::*;

    #[test]
    fn a_panic_becomes_a_value_and_an_exception() {
        Python::attach(|py| {
            assert_eq!(contained("a test", || 1, || panic!("{}", 2)), 1);
            assert_eq!(contained("a test", || 1, || 3), 3);
            let status: c_int = contained_or_raise("a test", || panic!("no"));
            assert_eq!(status, -1);
            let error = PyErr::take(py).expect("an exception");
            assert!(error.to_string().contains("in a test"), "{error}");
        });
    }

    #[test]
    #[cfg(debug_assertions)]
    fn a_test_asks_for_a_panic() {
        let run = || contained("another test", || 0, || 1);
        for_tests::want("another test", for_tests::Place::End);
        assert_eq!([run(), run()], [0, 1]);
        for_tests::want("a third test", for_tests::Place::Start);
        assert_eq!(run(), 1);
        assert!(for_tests::withdraw());
    }
}
