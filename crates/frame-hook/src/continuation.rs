//! Continuations: what code that breaks the graph returns in place of calling its resume function.
//!
//! A continuation is a tuple of a mark that the program never sees, a function and its arguments.
//! Whoever runs such code drives it: the hook for a frame of the user's, an entry for a direct call,
//! [`driver`] for the call of a step. Breaks in a loop so run one after the other, not nested.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};
use residual::continuation_mark;

use crate::handover;
use crate::region::with_thread;

static MARK: AtomicPtr<PyObject> = AtomicPtr::new(ptr::null_mut());

/// Learns the mark; once, at import.
pub fn initialise(py: Python<'_>) {
    // The mark lives as long as the process: it is in a static of the translator.
    MARK.store(continuation_mark(py).as_ptr(), Ordering::Relaxed);
}

/// Whether code asks for a call in place of its result.
///
/// # Safety
/// `result` is null or an object.
#[inline]
pub(crate) unsafe fn is_continuation(result: *mut PyObject) -> bool {
    // SAFETY: `result` is null or an object, and an item of a tuple is one.
    unsafe {
        !result.is_null()
            && ffi::PyTuple_CheckExact(result) != 0
            && ffi::PyTuple_GET_SIZE(result) >= 2
            && ffi::PyTuple_GET_ITEM(result, 0) == MARK.load(Ordering::Relaxed)
    }
}

/// Makes the calls that continuations ask for, up to a result. Takes over the reference.
///
/// # Safety
/// The GIL is held; `result` is owned, or null with an exception set.
#[inline]
pub(crate) unsafe fn drive(result: *mut PyObject) -> *mut PyObject {
    // SAFETY: required of the caller.
    unsafe {
        match is_continuation(result) {
            true => drive_on(result),
            false => result,
        }
    }
}

#[cold]
unsafe fn drive_on(mut result: *mut PyObject) -> *mut PyObject {
    // SAFETY: as for `drive`. The tuple, which nobody else has, keeps the function alive during the
    // call and the arguments until its frame has them; they lie behind two other items.
    unsafe {
        while is_continuation(result) {
            let tuple = result.cast::<ffi::PyTupleObject>();
            let items = (&raw mut (*tuple).ob_item).cast::<*mut PyObject>();
            let nargs = ffi::PyTuple_GET_SIZE(result) as usize - 2;
            let function = *items.add(1);
            let args = items.add(2);
            let call = || ffi::PyObject_Vectorcall(function, args, nargs, ptr::null_mut());
            let next = match ffi::Py_REFCNT(result) == 1 {
                true => {
                    // An entry accepts for the function that it calls; a function is its own.
                    let is_function = ffi::PyFunction_Check(function) != 0;
                    let accepted = with_thread(|thread| {
                        thread.handover.offer(args, nargs);
                        is_function && thread.handover.accept(function, args)
                    });
                    handover::watched(accepted, call)
                }
                false => call(),
            };
            with_thread(|thread| thread.handover.withdraw());
            ffi::Py_DECREF(result);
            result = next;
        }
        result
    }
}

/// The builtin that calls a step and drives it.
///
/// # Errors
/// `MemoryError`.
pub fn driver(py: Python<'_>) -> PyResult<Py<PyAny>> {
    static DRIVER: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
    let make = || {
        let call = |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
            let py = args.py();
            let step = args.get_item(0)?;
            let result = step.call1(args.get_slice(1, args.len()))?;
            // SAFETY: the GIL is held, and the result is owned.
            unsafe { Bound::from_owned_ptr_or_err(py, drive(result.into_ptr())) }.map(Bound::unbind)
        };
        let f = PyCFunction::new_closure(py, Some(c"__ferrodyn_drive"), None, call)?;
        PyResult::Ok(f.into_any().unbind())
    };
    DRIVER.get_or_try_init(py, make).map(|d| d.clone_ref(py))
}
