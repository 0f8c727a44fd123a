//! The attributes of instances, which 3.13 may keep inside the object, where no event sees them.

use std::sync::{Arc, OnceLock};

use cpython_abi::dict::INSTANCES_KEEP_INLINE;
use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::exec::watch::events::{DictInterest, Gil, Told, Watched, Watchers};

static INSTANCES_REPORT: OnceLock<bool> = OnceLock::new();

/// Finds out whether watchers see the attributes of instances, which 3.13 may keep inside the object. To be
/// called once, where Python code may run; before that, such attributes are read on each call.
pub fn prepare(py: Python<'_>) {
    let probe = || -> PyResult<bool> {
        let scope = PyDict::new(py);
        py.run(
            c"class C:\n def __init__(self):\n  self.a = self.b = 0\nc = C()\nd = c.__dict__\ndef write(c, n):\n for i in range(n):\n  c.a = i",
            Some(&scope),
            None,
        )?;
        let get = |name: &str| -> PyResult<Bound<'_, PyAny>> {
            scope
                .get_item(name)?
                .ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(name.to_owned()))
        };
        let (write, c, dict) = (get("write")?, get("c")?, get("d")?);
        write.call1((&c, 100))?;
        // SAFETY: the GIL is held; the dictionary is alive.
        unsafe {
            let Some(watchers) = Watchers::get() else {
                return Ok(false);
            };
            if !leave_inline(dict.as_ptr()) {
                return Ok(false);
            }
            let told = Arc::new(Gil::new(Told::new(1)));
            let what = Watched::Dict(dict.as_ptr());
            let interest = DictInterest {
                all: true,
                ..DictInterest::default()
            };
            let mut sees = watchers.watch(what);
            watchers.tell(what, &told, 0, interest);
            for n in [1, 100] {
                write.call1((&c, n))?;
                sees &= !told.get().is_clean();
                told.get().take_dirty();
                write.call1((&c, 0))?;
                sees &= told.get().is_clean();
            }
            watchers.forget(what, &told);
            Ok(sees)
        }
    };
    INSTANCES_REPORT.get_or_init(|| probe().unwrap_or(false));
}

/// Moves the items of an instance's dictionary out of the object. Keys, their order and values stay.
///
/// # Safety
/// `dict` must be a live dictionary.
unsafe fn leave_inline(dict: *mut PyObject) -> bool {
    // SAFETY: the caller's promise; the item is held while it is out of the dictionary.
    unsafe {
        if !INSTANCES_KEEP_INLINE || !is_split(dict) {
            return true;
        }
        if ffi::PyDict_CheckExact(dict) == 0 || ffi::PyDict_Size(dict) == 0 {
            return false;
        }
        let item = Python::attach(|py| {
            let dict = Bound::from_borrowed_ptr(py, dict);
            dict.call_method0("popitem").map_or_else(
                |error| {
                    drop(error);
                    std::ptr::null_mut()
                },
                Bound::into_ptr,
            )
        });
        if item.is_null() {
            return false;
        }
        let (key, value) = (
            ffi::PyTuple_GET_ITEM(item, 0),
            ffi::PyTuple_GET_ITEM(item, 1),
        );
        let back = ffi::PyDict_SetItem(dict, key, value);
        if back < 0 {
            ffi::PyErr_Clear();
        }
        ffi::Py_DECREF(item);
        back == 0 && !is_split(dict)
    }
}

unsafe fn is_split(dict: *mut PyObject) -> bool {
    // SAFETY: a live dictionary.
    unsafe { !cpython_abi::dict::split_values(dict).is_null() }
}

/// Whether no event would tell of a change of a dictionary's items. Where it can, the items are moved to where
/// events see them.
///
/// # Safety
/// `dict` must be a live dictionary.
pub(super) unsafe fn is_unseen(dict: *mut PyObject) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        INSTANCES_KEEP_INLINE
            && !(INSTANCES_REPORT.get() == Some(&true) && leave_inline(dict))
            && is_split(dict)
    }
}
