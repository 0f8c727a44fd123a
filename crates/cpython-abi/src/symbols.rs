//! Exported symbols of CPython, most of them private (PEP 523), that PyO3 does not declare.
//!
//! A symbol that is hidden in one of the supported versions must not be named
//! here: it links and then fails at import.

use std::ffi::c_int;

use pyo3::ffi::{PyInterpreterState, PyObject, PyThreadState, PyTypeObject};

use super::frame::RawFrame;

/// `_PyFrameEvalFunction`: evaluates a frame and gives its result, or null with an exception set.
pub type EvalFn = unsafe extern "C" fn(*mut PyThreadState, *mut RawFrame, c_int) -> *mut PyObject;

unsafe extern "C" {
    fn _PyEval_EvalFrameDefault(
        tstate: *mut PyThreadState,
        frame: *mut RawFrame,
        throwflag: c_int,
    ) -> *mut PyObject;
    fn _PyInterpreterState_GetEvalFrameFunc(interp: *mut PyInterpreterState) -> Option<EvalFn>;
    fn _PyInterpreterState_SetEvalFrameFunc(interp: *mut PyInterpreterState, eval: EvalFn);

    /// What a class and its bases have under a name, borrowed, or null; runs no code of attributes.
    pub fn _PyType_Lookup(class: *mut PyTypeObject, name: *mut PyObject) -> *mut PyObject;

    /// The class of bound methods.
    pub static mut PyMethod_Type: PyTypeObject;
    /// The function of a bound method, borrowed.
    pub fn PyMethod_Function(method: *mut PyObject) -> *mut PyObject;
    /// The instance of a bound method, borrowed.
    pub fn PyMethod_Self(method: *mut PyObject) -> *mut PyObject;

    /// A method of `function` bound to `instance`: a new reference, or null with an exception set.
    pub fn PyMethod_New(function: *mut PyObject, instance: *mut PyObject) -> *mut PyObject;
}

/// CPython's own evaluator.
pub static DEFAULT_EVAL: EvalFn = _PyEval_EvalFrameDefault;

/// The evaluator that `interp` calls now.
///
/// # Safety
/// The caller holds the GIL and `interp` is alive.
#[inline]
pub unsafe fn installed_eval(interp: *mut PyInterpreterState) -> EvalFn {
    // SAFETY: required of the caller.
    unsafe { _PyInterpreterState_GetEvalFrameFunc(interp) }.unwrap_or(DEFAULT_EVAL)
}

/// Makes `interp` call `eval` for every frame that it starts from now on.
///
/// # Safety
/// The caller holds the GIL, `interp` is alive, and `eval` stays valid while it is installed.
#[inline]
pub unsafe fn install_eval(interp: *mut PyInterpreterState, eval: EvalFn) {
    // SAFETY: required of the caller.
    unsafe { _PyInterpreterState_SetEvalFrameFunc(interp, eval) }
}

/// Whether two evaluators are the same function.
#[inline]
pub fn same_eval(a: EvalFn, b: EvalFn) -> bool {
    std::ptr::fn_addr_eq(a, b)
}
