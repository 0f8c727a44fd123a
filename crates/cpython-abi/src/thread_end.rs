//! Threads that the interpreter ends while frames of ours are on their stacks.
//!
//! Until 3.13 a thread that asks for the GIL once the program has reached its end is ended there and then
//! (`take_gil`, `PyThread_exit_thread`): the C library unwinds its stack, and no Rust frame can be unwound like
//! that; the process would abort. From 3.14 on such a thread waits for the end of the process, and so it does here:
//! what calls into CPython does so within [`waits`].
//!
//! What lives here: that. What does not: the functions of CPython that PyO3 calls (`thread_end` of `frame-hook`).
//!
//! Invariant: where a thread is unwound by the C library, the innermost Rust frame never ends.

use std::ffi::c_int;

use pyo3::ffi::{PyObject, PyThreadState};

use crate::frame::RawFrame;
use crate::symbols::{DEFAULT_EVAL, EvalFn};

/// What waits for the end of the process when it is dropped by the C library's unwinding.
#[cfg(not(Py_3_14))]
struct Waits;

#[cfg(not(Py_3_14))]
impl Drop for Waits {
    #[cold]
    fn drop(&mut self) {
        // A panic of Rust ends where C called us: it does not end the thread.
        while !std::thread::panicking() {
            std::thread::sleep(std::time::Duration::from_secs(3600));
        }
    }
}

/// Calls into CPython, which may end the thread there. `call` calls nothing but a function that is declared
/// `extern "C-unwind"`.
///
/// Costs no instruction where the thread goes on.
#[inline(always)]
pub fn waits<R>(call: impl FnOnce() -> R) -> R {
    #[cfg(not(Py_3_14))]
    let waits = Waits;
    let result = call();
    #[cfg(not(Py_3_14))]
    std::mem::forget(waits);
    result
}

/// A function of CPython as one that may end the thread: what it is called as within [`waits`].
pub trait MayEnd: Copy {
    /// The same type with `extern "C-unwind"`.
    type Unwinding;

    /// The same function.
    fn may_end(self) -> Self::Unwinding;
}

macro_rules! may_end {
    ($($argument:ident)*) => {
        impl<R, $($argument),*> MayEnd for unsafe extern "C" fn($($argument),*) -> R {
            type Unwinding = unsafe extern "C-unwind" fn($($argument),*) -> R;

            #[inline(always)]
            fn may_end(self) -> Self::Unwinding {
                // SAFETY: the same function and calling convention; it may be unwound besides.
                unsafe { std::mem::transmute::<Self, Self::Unwinding>(self) }
            }
        }
    };
}

may_end!(A B);
may_end!(A B C);
may_end!(A B C D);

/// Has `eval` evaluate a frame.
///
/// # Safety
/// As for an evaluator: `tstate` is current, and `frame` is one to evaluate.
#[inline(always)]
pub unsafe fn evaluate(
    eval: EvalFn,
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    throwflag: c_int,
) -> *mut PyObject {
    let eval = eval.may_end();
    // SAFETY: required of the caller.
    waits(|| unsafe { eval(tstate, frame, throwflag) })
}

/// Evaluates a frame as CPython does.
///
/// # Safety
/// As for [`evaluate`].
#[inline(always)]
pub unsafe fn evaluate_by_default(
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    throwflag: c_int,
) -> *mut PyObject {
    // SAFETY: required of the caller.
    unsafe { evaluate(DEFAULT_EVAL, tstate, frame, throwflag) }
}
