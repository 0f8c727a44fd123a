//! Whether an exception is an interrupt.

use bytecode::Version;
use pyo3::exceptions::{
    PyGeneratorExit, PyKeyboardInterrupt, PyMemoryError, PyStopAsyncIteration, PyStopIteration,
    PySystemExit,
};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// Whether an exception interrupts the program: the code that it comes from has not raised it.
///
/// `PyThreadState_SetAsyncExc` makes an instance of a class without arguments, and the interpreter raises it between
/// two instructions. So nothing in the traceback says `raise`, and there are no arguments: builtin operations
/// give their exceptions a message. `KeyboardInterrupt` and `SystemExit` always are the program's.
pub(crate) fn is_interrupt(error: &Bound<'_, PyAny>) -> bool {
    if error.is_instance_of::<PyKeyboardInterrupt>() || error.is_instance_of::<PySystemExit>() {
        return true;
    }
    // SAFETY: an exception's instance has this layout, and its `args` are a tuple or null.
    let has_arguments = unsafe {
        let args = (*error.as_ptr().cast::<ffi::PyBaseExceptionObject>()).args;
        args.is_null() || ffi::PyTuple_Size(args) != 0
    };
    if has_arguments || signals_without_arguments(error) {
        return false;
    }
    was_raised_between_instructions(error).unwrap_or(false)
}

/// Exceptions that C code raises without arguments.
fn signals_without_arguments(error: &Bound<'_, PyAny>) -> bool {
    error.is_instance_of::<PyStopIteration>()
        || error.is_instance_of::<PyStopAsyncIteration>()
        || error.is_instance_of::<PyGeneratorExit>()
        || error.is_instance_of::<PyMemoryError>()
}

/// Whether the innermost frame of the traceback stands at an instruction other than `raise`. Reads
/// attributes of builtin objects only, which runs no Python code.
fn was_raised_between_instructions(error: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = error.py();
    let mut traceback = error.getattr("__traceback__")?;
    if traceback.is_none() {
        return Ok(false);
    }
    loop {
        let next = traceback.getattr("tb_next")?;
        if next.is_none() {
            break;
        }
        traceback = next;
    }
    let at: usize = traceback.getattr("tb_lasti")?.extract()?;
    let code = traceback.getattr("tb_frame")?.getattr("f_code")?;
    let code = code.getattr("co_code")?;
    let opcode = code.cast::<PyBytes>()?.as_bytes().get(at).copied();
    let version = Version::from_minor(py.version_info().minor);
    Ok(match (version, opcode) {
        (Some(version), Some(opcode)) => !bytecode::is_raise(version, opcode),
        _ => false,
    })
}

/// The exceptions that led to an exception, itself first.
pub(crate) fn chain<'py>(error: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
    /// Chains can be made to circles.
    const LONGEST: usize = 64;
    let mut found: Vec<Bound<'py, PyAny>> = Vec::new();
    let mut next = vec![error.clone()];
    while let Some(error) = next.pop() {
        if found.len() == LONGEST || found.iter().any(|known| known.is(&error)) {
            continue;
        }
        for name in ["__context__", "__cause__"] {
            match error.getattr(name) {
                Ok(before) if !before.is_none() => next.push(before),
                _ => {}
            }
        }
        found.push(error);
    }
    found
}

/// The arguments with which a signal handler is called in the present frame.
pub(crate) fn handler_arguments<'py>(
    py: Python<'py>,
    signal: i32,
) -> PyResult<Bound<'py, PyTuple>> {
    // SAFETY: the GIL is held; the result is borrowed from the thread, or null.
    let frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) };
    (signal, frame).into_pyobject(py)
}

/// Whether an exception that was raised in a call may come from a signal handler or from another thread, and not
/// from what was called.
///
/// # Errors
/// `MemoryError`.
pub fn comes_from_outside(error: &Bound<'_, PyAny>) -> PyResult<bool> {
    if is_interrupt(error) {
        return Ok(true);
    }
    let mut codes = Vec::new();
    let mut traceback = error.getattr("__traceback__")?;
    while !traceback.is_none() {
        codes.push(traceback.getattr("tb_frame")?.getattr("f_code")?);
        traceback = traceback.getattr("tb_next")?;
    }
    let handlers = crate::signals::handler_codes(error.py())?;
    Ok(handlers.iter().any(|h| codes.iter().any(|code| code.is(h))))
}
