//! Residual code whose graph has been called already: it runs with the outcome of that call in the graph's place.
//!
//! So an exception passes through the frame of the function, at the line of the call, and a result that is not
//! what the code expects gets the code's own error.
//!
//! Not here: the call of the graph ([`crate::graph_call`]).

use std::ffi::CStr;
use std::ptr;
use std::sync::Mutex;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyCode, PyDict, PyTuple};

use crate::call::call_function;
use crate::code_state;
use crate::direct::function_like;

/// Calls `function` with `locals`, with `outcome` (owned; null where an exception is set) in place of what its
/// call of `graph` gives.
///
/// # Safety
/// The GIL is held; `function` is a function whose code calls the constant `graph` once and first; `locals` are
/// its arguments.
#[cold]
#[inline(never)]
pub(crate) unsafe fn replay(
    function: *mut PyObject,
    graph: *mut PyObject,
    locals: &[*mut PyObject],
    outcome: *mut PyObject,
) -> *mut PyObject {
    let run = |py: Python<'_>| {
        // SAFETY: required of the caller.
        unsafe {
            let outcome = Bound::from_owned_ptr_or_err(py, outcome).map(Bound::unbind);
            let failed = outcome.as_ref().err().map(|error| error.clone_ref(py));
            let function = Bound::from_borrowed_ptr(py, function);
            match with_outcome(&function, graph, outcome) {
                Ok(replayed) => call_function(replayed.as_ptr(), locals),
                Err(error) => {
                    failed.unwrap_or(error).restore(py);
                    ptr::null_mut()
                }
            }
        }
    };
    Python::try_attach(run).unwrap_or_else(|| {
        // The interpreter shuts down: what was raised goes on as it is.
        if !outcome.is_null() {
            const LATE: &CStr =
                c"a graph gave no tuple of its outputs while the interpreter shut down";
            // SAFETY: the GIL is held, and the outcome is owned.
            unsafe {
                ffi::Py_DECREF(outcome);
                ffi::PyErr_SetString(ffi::PyExc_RuntimeError, LATE.as_ptr());
            }
        }
        ptr::null_mut()
    })
}

/// The function with `outcome` in place of what its graph gives.
fn with_outcome<'py>(
    function: &Bound<'py, PyAny>,
    graph: *mut PyObject,
    outcome: PyResult<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let outcome = Mutex::new(Some(outcome));
    let give = move |_: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
        let mut outcome = outcome
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        outcome
            .take()
            .unwrap_or_else(|| Ok(Python::attach(|py| py.None())))
    };
    let given = PyCFunction::new_closure(py, Some(c"graph"), None, give)?.into_any();
    let code = function.getattr("__code__")?;
    let constants = code.getattr("co_consts")?;
    let constants = constants.cast::<PyTuple>()?.iter();
    let replaced = constants.map(|constant| match constant.as_ptr() == graph {
        true => given.clone(),
        false => constant,
    });
    let replaced = PyTuple::new(py, replaced.collect::<Vec<_>>())?;
    let changed = PyDict::new(py);
    changed.set_item(
        "co_consts",
        cpython_abi::constants::constants(py, &replaced)?,
    )?;
    let code = code.call_method("replace", (), Some(&changed))?;
    code_state::of(code.cast::<PyCode>()?)?.skip_always();
    // SAFETY: `function` is a function, as required of `replay`.
    unsafe { function_like(function.as_borrowed(), &code) }
}
