//! Living beside torch.compile, which captures frames with a hook of its own.
//!
//! What is known of torch here: the module with `set_eval_frame`, and the attributes by which torch's wrappers are
//! known.
//! Inside our regions torch's hook is switched off in this thread, by torch's
//! own switch; inside torch's regions and its `disable`, our context is off.

use std::ptr;

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

use eval_frame::entry_type;
use eval_frame::surroundings::Marked;

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

struct Names {
    disable: Py<PyString>,
    recursive: Py<PyString>,
    original: Py<PyString>,
}

static NAMES: PyOnceLock<Names> = PyOnceLock::new();

/// Marks an entry that switches capture off as torch marks what it disables.
///
/// # Errors
/// What setting an attribute raises.
pub(crate) fn mark_disabled(entry: &Bound<'_, PyAny>) -> PyResult<()> {
    entry.setattr("_torchdynamo_disable", true)?;
    entry.setattr("_torchdynamo_disable_msg", entry.py().None())?;
    entry.setattr("_torchdynamo_disable_recursive", true)?;
    // Not by `setattr`: of compiled entries the type has it.
    let own = entry.getattr("__dict__")?;
    own.set_item("_torchdynamo_orig_callable", entry_type::wrapped(entry))
}

/// What a compiled entry wraps, or `AttributeError`. A disabled one has it in its `__dict__`, for nobody to unwrap and
/// compile.
pub(crate) fn original<'py>(entry: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let target = entry_type::compiled_target(entry);
    target.ok_or_else(|| PyAttributeError::new_err("_torchdynamo_orig_callable"))
}

/// The identity of a compiled entry: an attribute of this name that was copied to a wrapper is not the wrapper's.
pub(crate) fn wrapper_id<'py>(entry: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match entry_type::compiled_target(entry) {
        Some(_) => Ok((entry.as_ptr() as usize)
            .into_pyobject(entry.py())?
            .into_any()),
        None => Err(PyAttributeError::new_err(torch_abi::names::WRAPPER_ID)),
    }
}

/// Interns the attribute names; once, at import.
pub(crate) fn initialise(py: Python<'_>) {
    let intern = |name| PyString::intern(py, name).unbind();
    NAMES.get_or_init(py, || Names {
        disable: intern("_torchdynamo_disable"),
        recursive: intern("_torchdynamo_disable_recursive"),
        original: intern("_torchdynamo_orig_callable"),
    });
}

/// How torch has marked a function with these attributes.
///
/// # Safety
/// The GIL is held and `attributes` is a dictionary.
#[cold]
pub(crate) unsafe fn marked(attributes: *mut PyObject) -> Marked {
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
            Marked::Shallow(get(&names.original))
        } else if disabled || !get(&names.original).is_null() {
            Marked::Deep
        } else {
            Marked::No
        }
    }
}

/// What stands for `aot_compile`: it says what to do instead.
pub fn aot_compile<'py>(entry: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    entry.py().import("ferrodyn._api")?.getattr("_aot_compile")
}
