//! Living beside torch.compile, which captures frames with a hook of its own.
//!
//! The one place of this crate that knows names of torch: the module with
//! `set_eval_frame`, and the attributes by which torch's wrappers are known.
//! Inside our regions torch's hook is switched off in this thread, by torch's
//! own switch; inside torch's regions and its `disable`, our context is off.

use std::ptr;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

const TORCH_HOOK_MODULE: &str = "torch._C._dynamo.eval_frame";

fn switch(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    let modules = py
        .import("sys")
        .and_then(|sys| sys.getattr("modules"))
        .ok()?;
    let modules = modules.cast::<PyDict>().ok()?;
    let module = modules.get_item(TORCH_HOOK_MODULE).ok()??;
    module.getattr("set_eval_frame").ok()
}

/// Switches torch's capture off in this thread. Gives what [`resume`] wants, or null where it
/// was off. A pending exception is kept.
#[cold]
pub(crate) fn suspend() -> *mut PyObject {
    Python::try_attach(|py| {
        let pending = PyErr::take(py);
        let before = switch(py).and_then(|set| set.call1((py.None(),)).ok());
        if let Some(pending) = pending {
            pending.restore(py);
        }
        match before {
            Some(callback) if !callback.is_none() => callback.into_ptr(),
            _ => ptr::null_mut(),
        }
    })
    .unwrap_or(ptr::null_mut())
}

/// Switches torch's capture on again. A pending exception is kept.
///
/// # Safety
/// `callback` came from [`suspend`], and is given back once.
#[cold]
pub(crate) unsafe fn resume(callback: *mut PyObject) {
    Python::try_attach(|py| {
        let pending = PyErr::take(py);
        // SAFETY: an owned reference, as required of the caller.
        let callback = unsafe { Bound::from_owned_ptr(py, callback) };
        let result = switch(py).map(|set| set.call1((callback,)));
        if let Some(Err(error)) = result {
            error.write_unraisable(py, None);
        }
        if let Some(pending) = pending {
            pending.restore(py);
        }
    });
}

/// How torch has marked a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marked {
    /// Not at all.
    No,
    /// This frame is not to be captured; what it calls is.
    Shallow,
    /// Nothing below is to be captured: disabled, or compiled by torch.
    Deep,
}

struct Names {
    disable: Py<PyString>,
    recursive: Py<PyString>,
    original: Py<PyString>,
}

static NAMES: PyOnceLock<Names> = PyOnceLock::new();

/// Interns the attribute names; once, at import.
pub(crate) fn initialise(py: Python<'_>) {
    let intern = |name| PyString::intern(py, name).unbind();
    NAMES.get_or_init(py, || Names {
        disable: intern("_torchdynamo_disable"),
        recursive: intern("_torchdynamo_disable_recursive"),
        original: intern("_torchdynamo_orig_callable"),
    });
}

/// How torch has marked the function at `func`.
///
/// # Safety
/// The GIL is held and `func` is a Python function.
#[inline]
pub(crate) unsafe fn marked(func: *mut PyObject) -> Marked {
    // SAFETY: required of the caller.
    let attributes = unsafe { (*func.cast::<ffi::PyFunctionObject>()).func_dict };
    // SAFETY: a function's `func_dict` is a dict or null.
    if attributes.is_null() || unsafe { ffi::PyDict_Size(attributes) } == 0 {
        return Marked::No;
    }
    // SAFETY: as above.
    unsafe { marked_by(attributes) }
}

#[cold]
unsafe fn marked_by(attributes: *mut PyObject) -> Marked {
    // SAFETY: the GIL is held and `attributes` is a dict.
    unsafe {
        let py = Python::assume_attached();
        let Some(names) = NAMES.get(py) else {
            return Marked::No;
        };
        let get = |name: &Py<PyString>| {
            let value = ffi::PyDict_GetItemWithError(attributes, name.as_ptr());
            if value.is_null() {
                ffi::PyErr_Clear();
            }
            value
        };
        let disabled = get(&names.disable) == ffi::Py_True();
        if disabled && get(&names.recursive) == ffi::Py_False() {
            Marked::Shallow
        } else if disabled || !get(&names.original).is_null() {
            Marked::Deep
        } else {
            Marked::No
        }
    }
}
