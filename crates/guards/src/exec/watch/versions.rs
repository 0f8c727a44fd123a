//! Version tags of dictionaries and classes: words that differ after any change.
//!
//! They are what is compared where CPython has no watchers (3.11), or none is left.

use pyo3::ffi;

use crate::exec::objects;
use crate::exec::watch::events::Watched;

/// The version of a class; 0 where it has none.
///
/// # Safety
/// `ty` must be a live class.
pub(super) unsafe fn type_version(ty: *mut ffi::PyTypeObject) -> u32 {
    // SAFETY: the caller's promise. A look-up gives the class a version where it can have one.
    unsafe {
        let name = ffi::PyUnicode_InternFromString(c"__doc__".as_ptr());
        if name.is_null() {
            ffi::PyErr_Clear();
            return 0;
        }
        objects::mro_lookup(ty, name);
        ffi::Py_DECREF(name);
        (*ty).tp_version_tag
    }
}

/// Where the version of a dictionary or class is, which changes with it.
pub(super) fn version_slot(what: Watched) -> Option<*const usize> {
    match what {
        Watched::Dict(dict) => Some(cpython_abi::dict::version_place(dict)),
        // SAFETY: only the address of a field of a live class is taken; the 32 bits after it are padding.
        Watched::Type(ty) => Some(unsafe { &raw const (*ty).tp_version_tag }.cast()),
        Watched::Function(_) => None,
    }
}

/// The version of a dictionary or class, or `None` where it has none.
///
/// # Safety
/// What is asked about is live.
pub(super) unsafe fn version_of(what: Watched) -> Option<usize> {
    // SAFETY: the caller's promise.
    unsafe {
        if let Watched::Type(ty) = what
            && type_version(ty) == 0
        {
            return None;
        }
        version_slot(what).map(|at| *at)
    }
}
