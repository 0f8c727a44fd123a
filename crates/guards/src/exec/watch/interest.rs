//! What of a dictionary a check looks at.

use pyo3::ffi;
use pyo3::ffi::PyObject;
use smallvec::SmallVec;

use crate::exec::linked::LinkedKey;
use crate::exec::watch::events::DictInterest;

/// Interest in a string key.
pub(super) unsafe fn key(name: *mut PyObject) -> DictInterest {
    DictInterest {
        // SAFETY: an exact string hashes in C.
        keys: SmallVec::from_slice(&[unsafe { ffi::PyObject_Hash(name) }]),
        ..DictInterest::default()
    }
}

/// Interest in any key.
pub(super) unsafe fn key_of(linked: &LinkedKey) -> DictInterest {
    if linked.is_str {
        // SAFETY: an exact string.
        unsafe { key(linked.obj) }
    } else {
        DictInterest {
            all: true,
            ..DictInterest::default()
        }
    }
}

/// Interest in keys, their order and number.
pub(super) fn structure() -> DictInterest {
    DictInterest {
        structure: true,
        ..DictInterest::default()
    }
}
