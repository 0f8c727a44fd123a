//! Types, identities and singletons: TYPE_MATCH, ID_MATCH, FUNCTION_MATCH, MODULE_MATCH, CLOSURE_MATCH,
//! NONE_MATCH, TRUE_MATCH, FALSE_MATCH, NOT_NONE, WEAKREF_ALIVE.
//!
//! Invariant: an address is compared only while a pin of the set keeps it meaningful.

use crate::guard::GuardKind;

/// Python text.
pub(crate) fn code_parts(kind: &GuardKind, name: &str) -> Vec<String> {
    vec![match kind {
        GuardKind::TypeMatch { ty } => format!("___check_type_id({name}, {})", ty.addr),
        GuardKind::IdMatch { obj }
        | GuardKind::FunctionMatch { obj }
        | GuardKind::ModuleMatch { obj } => {
            format!("___check_obj_id({name}, {})", obj.addr)
        }
        GuardKind::ClosureMatch { code } => format!("___check_code_id({name}, {})", code.addr),
        GuardKind::NoneMatch => format!("{name} is None"),
        GuardKind::TrueMatch => format!("{name} is True"),
        GuardKind::FalseMatch => format!("{name} is False"),
        GuardKind::WeakrefAlive => format!("{name}() is not None"),
        _ => format!("{name} is not None"),
    }]
}

#[cfg(feature = "python")]
mod native {
    use pyo3::ffi;

    /// A function (exact type) with this code.
    ///
    /// # Safety
    /// `obj` must be live.
    pub(crate) unsafe fn has_code(obj: *mut ffi::PyObject, code: *mut ffi::PyObject) -> bool {
        // SAFETY: the exact type is checked before the field is read.
        unsafe {
            ffi::PyFunction_Check(obj) != 0
                && (*obj.cast::<ffi::PyFunctionObject>()).func_code == code
        }
    }

    /// A weak reference (exact type) with a live referent.
    ///
    /// # Safety
    /// `obj` must be live.
    pub(crate) unsafe fn weakref_alive(obj: *mut ffi::PyObject) -> bool {
        // SAFETY: only weak references are asked, which borrows and runs no code.
        unsafe {
            ffi::PyWeakref_Check(obj) != 0 && cpython_abi::objects::weakref_target(obj).is_some()
        }
    }
}

#[cfg(feature = "python")]
pub(crate) use native::{has_code, weakref_alive};
