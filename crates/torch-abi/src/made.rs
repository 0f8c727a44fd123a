//! Objects of Ferrodyn's that graphs name, which say how another process makes them.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFunction, PyTuple};

use crate::names;

/// What made an object, if that says so: a tuple of a function and its arguments. Nothing of the program runs: asked
/// are functions, and classes whose attributes nobody can set.
pub fn made_of<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyTuple>> {
    let says = object.is_exact_instance_of::<PyFunction>() || is_immutable(object);
    let of = says.then(|| object.getattr_opt(intern!(object.py(), names::MADE)));
    of?.ok()??.cast_into().ok()
}

/// Whether the class of an object is one of C code, or of Rust's, as it was made.
fn is_immutable(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the class of a live object.
    let flags = unsafe { pyo3::ffi::PyType_GetFlags(object.get_type_ptr()) };
    flags & pyo3::ffi::Py_TPFLAGS_IMMUTABLETYPE != 0
}
