//! What guards are checked against, read off a frame or a function.

use guards::exec::CheckEnv;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use eval_frame::compiler::EntryCall;
use eval_frame::frame::FrameRef;

/// The environment of a call that has no frame yet: its arguments are the first fast locals.
#[inline]
pub fn of_call<'a>(call: &EntryCall<'a, '_>) -> CheckEnv<'a> {
    of_function(&call.func(), call.locals())
}

/// The environment of an unstarted frame.
pub fn of_frame<'f>(py: Python<'_>, frame: &'f FrameRef<'_>) -> CheckEnv<'f> {
    of_function(&frame.function(py), frame.fast_locals())
}

#[inline]
fn of_function<'a>(func: &Bound<'_, PyAny>, locals: &'a [*mut PyObject]) -> CheckEnv<'a> {
    let raw = func.as_ptr().cast::<ffi::PyFunctionObject>();
    // SAFETY: calls and frames that are decided about belong to exact functions.
    unsafe {
        CheckEnv {
            locals,
            closure: (*raw).func_closure,
            globals: (*raw).func_globals,
            builtins: (*raw).func_builtins,
        }
    }
}
