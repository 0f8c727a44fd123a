//! Every exception that this library takes from Python is shown to `interrupts` first.
//!
//! Hundreds of places ask Python something and go on without the answer where it raises. Instead of each of them,
//! the few functions of CPython that hand an exception over are wrapped: the linker binds their names, as far as this
//! library calls them (PyO3 included), to the functions here (`--wrap`, see `build.rs`).
//!
//! Not here: what an interrupt is, and what becomes of it (`interrupts`).

use cpython_abi::panics::contained;
use cpython_abi::thread_end::waits;
use pyo3::Borrowed;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

/// # Safety
/// The GIL is held, and `error` is an exception's instance.
#[cold]
unsafe fn note(error: *mut PyObject) {
    // SAFETY: required of the caller.
    unsafe {
        let py = Python::assume_attached();
        interrupts::note(&Borrowed::from_ptr(py, error));
    }
}

/// `PyErr_GetRaisedException`, which takes the exception that is set.
///
/// # Safety
/// The GIL is held.
#[cfg(Py_3_12)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_PyErr_GetRaisedException() -> *mut PyObject {
    unsafe extern "C-unwind" {
        fn __real_PyErr_GetRaisedException() -> *mut PyObject;
    }
    // SAFETY: required of the caller; the exception is owned here until it is handed on.
    unsafe {
        let error = waits(|| __real_PyErr_GetRaisedException());
        contained(
            "the look at an exception that was taken",
            || (),
            || {
                if !error.is_null() && interrupts::is_held() {
                    note(error);
                }
            },
        );
        error
    }
}

/// `PyErr_Fetch`, which takes the exception that is set: its class, its instance or what that is to be made of, its
/// traceback.
///
/// # Safety
/// The GIL is held; the pointers are places for a pointer each.
#[cfg(not(Py_3_12))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_PyErr_Fetch(
    class: *mut *mut PyObject,
    value: *mut *mut PyObject,
    traceback: *mut *mut PyObject,
) {
    unsafe extern "C-unwind" {
        fn __real_PyErr_Fetch(
            class: *mut *mut PyObject,
            value: *mut *mut PyObject,
            traceback: *mut *mut PyObject,
        );
    }
    // SAFETY: required of the caller. What was taken is owned by the caller, before and after it is
    // normalized.
    unsafe {
        waits(|| __real_PyErr_Fetch(class, value, traceback));
        contained(
            "the look at an exception that was taken",
            || (),
            || {
                if !(*class).is_null() && interrupts::is_held() {
                    ffi::PyErr_NormalizeException(class, value, traceback);
                    if !(*value).is_null() {
                        if !(*traceback).is_null() {
                            ffi::PyException_SetTraceback(*value, *traceback);
                        }
                        note(*value);
                    }
                }
            },
        );
    }
}

/// `PyErr_Clear`, which drops the exception that is set.
///
/// # Safety
/// The GIL is held.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_PyErr_Clear() {
    unsafe extern "C-unwind" {
        fn __real_PyErr_Clear();
    }
    // SAFETY: required of the caller.
    unsafe {
        contained(
            "the look at an exception that is dropped",
            || (),
            || {
                if interrupts::is_held() && !ffi::PyErr_Occurred().is_null() {
                    drop(PyErr::take(Python::assume_attached()));
                }
            },
        );
        waits(|| __real_PyErr_Clear());
    }
}
