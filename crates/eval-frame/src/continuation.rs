//! Continuations: what code that breaks the graph returns in place of calling its resume function.
//!
//! A continuation is a tuple of a mark that the program never sees, a function and its arguments.
//! Whoever runs such code drives it: the hook for a frame of the user's, an entry for a direct call,
//! [`driver`] for the call of a step. Breaks in a loop so run one after the other, not nested.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use cpython_abi::panics::contained_or_raise;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use crate::handover;
use crate::region::with_thread;

static MARK: AtomicPtr<PyObject> = AtomicPtr::new(ptr::null_mut());

/// Says what the mark is; once, at import. It is never freed.
pub fn set_mark(mark: Py<PyAny>) {
    let before = MARK.swap(mark.into_ptr(), Ordering::Relaxed);
    debug_assert!(before.is_null() || before == MARK.load(Ordering::Relaxed));
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
    // SAFETY: as for `drive`. A continuation is a tuple that nobody else has, with a function behind
    // the mark.
    unsafe {
        while is_continuation(result) {
            let next = call_of(result, 1);
            ffi::Py_DECREF(result);
            result = next;
        }
        result
    }
}

/// Calls the function at `at` in a tuple with the items behind it. Where nobody else has the tuple,
/// the frame of the function takes these over.
///
/// # Safety
/// The GIL is held; the tuple has an item at `at`, stays alive, and is used for nothing else.
unsafe fn call_of(tuple: *mut PyObject, at: usize) -> *mut PyObject {
    // SAFETY: required of the caller. The tuple keeps the function alive during the call and the
    // arguments until its frame has them; another item lies before them.
    unsafe {
        let items =
            (&raw mut (*tuple.cast::<ffi::PyTupleObject>()).ob_item).cast::<*mut PyObject>();
        let nargs = ffi::PyTuple_GET_SIZE(tuple) as usize - at - 1;
        let function = *items.add(at);
        let args = items.add(at + 1);
        let call = || ffi::PyObject_Vectorcall(function, args, nargs, ptr::null_mut());
        if ffi::Py_REFCNT(tuple) != 1 {
            return call();
        }
        // An entry accepts for the function that it calls; a function is its own.
        let is_function = ffi::PyFunction_Check(function) != 0;
        let accepted = with_thread(|thread| {
            thread.handover.offer(args, nargs);
            is_function && thread.handover.accept(function, args)
        });
        let result = handover::watched(accepted, call);
        with_thread(|thread| thread.handover.withdraw());
        result
    }
}

unsafe extern "C" fn drive_step(_: *mut PyObject, step: *mut PyObject) -> *mut PyObject {
    contained_or_raise("the call of a step", || {
        // SAFETY: called by the interpreter with the GIL held; the argument is checked.
        unsafe {
            if ffi::PyTuple_CheckExact(step) == 0 || ffi::PyTuple_GET_SIZE(step) == 0 {
                ffi::PyErr_BadInternalCall();
                return ptr::null_mut();
            }
            drive(call_of(step, 0))
        }
    })
}

struct Definition(ffi::PyMethodDef);

// SAFETY: a constant name and a function, which CPython only reads.
unsafe impl Sync for Definition {}

static DRIVE_STEP: Definition = Definition(ffi::PyMethodDef {
    ml_name: c"__ferrodyn_drive".as_ptr(),
    ml_meth: ffi::PyMethodDefPointer {
        PyCFunction: drive_step,
    },
    ml_flags: ffi::METH_O,
    ml_doc: ptr::null(),
});

/// The builtin that is given a tuple of a step and its arguments, calls the step and drives it.
///
/// # Errors
/// `MemoryError`.
pub fn driver(py: Python<'_>) -> PyResult<Py<PyAny>> {
    static DRIVER: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
    let make = || {
        let definition = ptr::from_ref(&DRIVE_STEP.0).cast_mut();
        // SAFETY: a static definition.
        unsafe {
            let f = ffi::PyCFunction_NewEx(definition, ptr::null_mut(), ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, f).map(Bound::unbind)
        }
    };
    DRIVER.get_or_try_init(py, make).map(|d| d.clone_ref(py))
}
