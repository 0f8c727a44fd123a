//! Words of builtin objects: a list's length, what a cell, a weak reference, a mapping proxy and a slot hold.

use std::ffi::c_ulong;

use pyo3::ffi::{self, PyObject, PyTypeObject};

use crate::symbols::{PyDictProxy_Type, PyODictItems_Type, PyODictKeys_Type, PyODictValues_Type};

/// Flag of a class whose instances have no fixed place for their dictionary.
pub const MANAGED_DICT: c_ulong = 1 << 4;

/// A header and one reference, which cells, weak references and mapping proxies begin with.
#[repr(C)]
struct Holder {
    ob_base: PyObject,
    held: *mut PyObject,
}

/// Where an object's class is.
#[inline]
pub fn class_place(obj: *mut PyObject) -> *const usize {
    obj.cast::<u8>()
        .wrapping_add(std::mem::offset_of!(PyObject, ob_type))
        .cast()
}

/// Where a list, or another object of variable size, has the number of its items.
#[inline]
pub fn size_place(list: *mut PyObject) -> *const usize {
    list.cast::<u8>()
        .wrapping_add(std::mem::offset_of!(ffi::PyVarObject, ob_size))
        .cast()
}

/// Where a cell has what it holds.
#[inline]
pub fn cell_place(cell: *mut PyObject) -> *const usize {
    cell.cast::<u8>()
        .wrapping_add(std::mem::offset_of!(Holder, held))
        .cast()
}

/// What a cell, a weak reference (`None` once its target has died), a mapping proxy or a view of a dictionary holds; may
/// be null for a cell.
///
/// # Safety
/// A live object of one of these types.
#[inline]
pub unsafe fn held(obj: *mut PyObject) -> *mut PyObject {
    // SAFETY: required of the caller.
    unsafe { (*obj.cast::<Holder>()).held }
}

/// What a weak reference leads to, borrowed; `None` once that is gone, or is being torn down, as CPython has it.
///
/// # Safety
/// A live weak reference, with the GIL held.
#[inline]
pub unsafe fn weakref_target(weak: *mut PyObject) -> Option<*mut PyObject> {
    // SAFETY: required of the caller; what is being torn down still stands in the reference for a while.
    unsafe {
        let target = held(weak);
        (target != ffi::Py_None() && ffi::Py_REFCNT(target) > 0).then_some(target)
    }
}

/// Whether an object is a mapping proxy.
///
/// # Safety
/// `obj` is live.
#[inline]
pub unsafe fn is_proxy(obj: *mut PyObject) -> bool {
    // SAFETY: required of the caller.
    unsafe { ffi::Py_TYPE(obj) == &raw mut PyDictProxy_Type }
}

/// Which view of a dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DictView {
    /// `keys()`
    Keys,
    /// `values()`
    Values,
    /// `items()`
    Items,
}

impl DictView {
    /// Which view the instances of a class are; `None` for other classes.
    pub fn of(class: *mut PyTypeObject) -> Option<DictView> {
        let is = |classes: [*mut PyTypeObject; 2]| classes.contains(&class);
        if is([&raw mut ffi::PyDictKeys_Type, &raw mut PyODictKeys_Type]) {
            Some(DictView::Keys)
        } else if is([&raw mut ffi::PyDictValues_Type, &raw mut PyODictValues_Type]) {
            Some(DictView::Values)
        } else if is([&raw mut ffi::PyDictItems_Type, &raw mut PyODictItems_Type]) {
            Some(DictView::Items)
        } else {
            None
        }
    }
}

/// `PyMemberDescrObject`: a slot, or a field that a C type shows.
#[repr(C)]
pub struct MemberDescriptor {
    ob_base: PyObject,
    /// The class whose instances have the field.
    pub class: *mut PyTypeObject,
    name: *mut PyObject,
    qualname: *mut PyObject,
    /// Where and what it is.
    pub member: *const ffi::PyMemberDef,
}
