//! Arguments of continuations that are handed over: a resume function then holds them alone, so
//! that what it deletes or binds anew goes at once, as in the frame that it goes on with.
//!
//! CPython's callers keep the arguments of a call alive until it returns. A continuation's tuple gives
//! them up when the frame of the resume function has references of its own: that is seen where the
//! frame is evaluated.
//!
//! Invariant: an offer that was accepted names the function whose next frame takes it, and no code
//! runs between the acceptance and that frame which could call the function with other arguments.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use cpython_abi::panics::contained;
use pyo3::ffi::{self, PyObject, PyThreadState};

use crate::region::{self, with_thread};
use cpython_abi::frame::RawFrame;
use cpython_abi::symbols::{DEFAULT_EVAL, EvalFn};
use cpython_abi::thread_end::evaluate_by_default;

/// What this thread's continuation offers.
pub(crate) struct Handover {
    /// Where the arguments lie, or null.
    args: Cell<*mut *mut PyObject>,
    count: Cell<usize>,
    /// The function whose frame takes them, or null before the call has come to one.
    taker: Cell<*mut PyObject>,
}

impl Handover {
    pub(crate) const fn new() -> Self {
        Handover {
            args: Cell::new(ptr::null_mut()),
            count: Cell::new(0),
            taker: Cell::new(ptr::null_mut()),
        }
    }

    /// Offers the arguments of the call that follows, until [`Handover::withdraw`].
    ///
    /// # Safety
    /// The items are owned by the caller alone, and replaced by none where they are taken.
    #[inline]
    pub(crate) unsafe fn offer(&self, args: *mut *mut PyObject, count: usize) {
        self.args.set(args);
        self.count.set(count);
        self.taker.set(ptr::null_mut());
    }

    #[inline]
    pub(crate) fn withdraw(&self) {
        self.args.set(ptr::null_mut());
        self.taker.set(ptr::null_mut());
    }

    /// Says that `function` is called with exactly the arguments at `args`, if these are on offer.
    #[inline]
    pub(crate) fn accept(&self, function: *mut PyObject, args: *const *mut PyObject) -> bool {
        let offered = !args.is_null() && ptr::eq(self.args.get(), args) && self.count.get() > 0;
        if offered {
            self.taker.set(function);
        }
        offered
    }

    /// Gives up the arguments for a frame that was started for them.
    ///
    /// # Safety
    /// The GIL is held and the frame has not run an instruction.
    #[inline]
    pub(crate) unsafe fn take(&self, frame: *mut RawFrame) {
        // SAFETY: required of the caller.
        unsafe {
            let taker = self.taker.get();
            if taker.is_null() || (*frame).func() != taker {
                return;
            }
            self.release(frame);
        }
    }

    #[cold]
    unsafe fn release(&self, frame: *mut RawFrame) {
        // SAFETY: as for `take`. The offer stands, so its items are alive and owned; each that
        // goes has a second reference in the frame, so nothing is freed here.
        unsafe {
            let (args, count) = (self.args.get(), self.count.get());
            self.withdraw();
            let slots = (*(*frame).raw_code()).argument_slots();
            let locals = RawFrame::locals_of(frame);
            let same = |i| *args.add(i) == (*locals.add(i)).object();
            if count > slots || !(0..count).all(same) {
                return;
            }
            for i in (0..count).filter(|i| (*locals.add(*i)).is_safe()) {
                let held = ptr::replace(args.add(i), ffi::Py_NewRef(ffi::Py_None()));
                ffi::Py_DECREF(held);
            }
        }
    }
}

/// The evaluator for one frame, where no other one of ours is installed.
static ONCE: EvalFn = evaluate_once;

unsafe extern "C" fn evaluate_once(
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    throwflag: c_int,
) -> *mut PyObject {
    // SAFETY: the interpreter calls this with the GIL held and a frame to evaluate.
    let take = || unsafe {
        region::swap_eval(ONCE, DEFAULT_EVAL);
        if throwflag == 0 {
            with_thread(|thread| thread.handover.take(frame));
        }
    };
    contained("the evaluation of a resume function's frame", || (), take);
    // SAFETY: as above; the frame is passed on as it came.
    unsafe { evaluate_by_default(tstate, frame, throwflag) }
}

/// Makes a call in whose first frame an accepted offer is taken, whether the hook is on or not.
#[inline]
pub(crate) fn watched<R>(accepted: bool, call: impl FnOnce() -> R) -> R {
    if !(accepted && region::swap_eval(DEFAULT_EVAL, ONCE)) {
        return call();
    }
    let result = call();
    // No frame was started where the call failed before.
    region::swap_eval(ONCE, DEFAULT_EVAL);
    result
}
