//! Weak references to objects that stand for what hangs on them: their end is reported.

use std::sync::Arc;

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::exec::watch::events::{Gil, Told};

/// The callback of anchors' weak references.
#[pyclass(frozen, module = "ferrodyn")]
struct Ended {
    told: Arc<Gil<Told>>,
}

#[pymethods]
impl Ended {
    fn __call__(&self, _weakref: &Bound<'_, PyAny>) {
        // SAFETY: Python calls with the GIL held.
        unsafe { self.told.get().died() };
    }
}

/// References to `anchors`, whose callbacks tell `told`. `None` where one cannot be made.
///
/// # Safety
/// The GIL is held and the anchors are live.
pub(super) unsafe fn hold(
    anchors: &mut Vec<*mut PyObject>,
    told: &Arc<Gil<Told>>,
) -> Option<Vec<Py<PyAny>>> {
    anchors.sort_unstable();
    anchors.dedup();
    if anchors.is_empty() {
        return Some(Vec::new());
    }
    Python::attach(|py| {
        let callback = Py::new(py, Ended { told: told.clone() }).ok()?;
        anchors
            .iter()
            .map(|&obj| {
                // SAFETY: live objects; an error is cleared.
                unsafe {
                    let weak = ffi::PyWeakref_NewRef(obj, callback.as_ptr());
                    if weak.is_null() {
                        ffi::PyErr_Clear();
                    }
                    Some(Bound::from_owned_ptr_or_opt(py, weak)?.unbind())
                }
            })
            .collect()
    })
}
