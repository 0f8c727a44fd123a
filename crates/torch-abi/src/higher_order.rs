//! Operators of `torch.ops` that are given functions: `torch.cond`'s, `flex_attention`'s.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Whether an object is one.
///
/// # Errors
/// Where torch has no such class.
pub fn is_higher_order(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(object.py(), "torch._ops", "HigherOrderOperator")?;
    // Its metaclass is that of abstract classes, which would be asked in Python for each class.
    // SAFETY: two live classes; the MRO is read, and nothing else.
    Ok(unsafe { ffi::PyType_IsSubtype(object.get_type_ptr(), class.as_type_ptr()) != 0 })
}
