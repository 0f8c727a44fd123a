//! Fields of objects that member descriptors read: slots and what C types expose.
//!
//! Invariant: what is read is what the descriptor would give, without a call of it.

use std::ffi::CStr;

use cpython_abi::objects::MemberDescriptor;
use cpython_abi::symbols::{PyMemberDescr_Type, PyMethod_Type};
use pyo3::ffi;
use pyo3::ffi::PyObject;

use crate::exec::objects;

/// Where an object holds what a member descriptor (a slot, for one) gives, or null: the field holds no object, or is
/// to be read by CPython alone.
///
/// # Safety
/// `descriptor` must be a member descriptor and `obj` live.
pub(crate) unsafe fn place(descriptor: *mut PyObject, obj: *mut PyObject) -> *const *mut PyObject {
    // SAFETY: the caller has a member descriptor and a live object; the field is in objects of the descriptor's
    // class, which is checked.
    unsafe {
        let descriptor = &*descriptor.cast::<MemberDescriptor>();
        let (ty, member) = (ffi::Py_TYPE(obj), &*descriptor.member);
        let is_object = member.type_code == ffi::Py_T_OBJECT_EX;
        let is_public = member.flags & !ffi::Py_READONLY == 0;
        let fits = || ty == descriptor.class || ffi::PyType_IsSubtype(ty, descriptor.class) != 0;
        if is_object && is_public && fits() {
            obj.cast::<u8>().offset(member.offset).cast()
        } else {
            std::ptr::null()
        }
    }
}

/// Where an object holds an attribute that its class gives a member descriptor for; null for all else.
///
/// # Safety
/// `obj` must be live, `name` an exact interned string.
pub(crate) unsafe fn member_place(obj: *mut PyObject, name: *mut PyObject) -> *const *mut PyObject {
    // SAFETY: the caller's promise; the descriptor's type is compared.
    unsafe {
        let of_class = objects::mro_lookup(ffi::Py_TYPE(obj), name);
        if of_class.is_null() || ffi::Py_TYPE(of_class) != &raw mut PyMemberDescr_Type {
            return std::ptr::null();
        }
        place(of_class, obj)
    }
}

/// The code of a function. CPython's getter tells audit hooks of it, which costs more than a whole check.
///
/// # Safety
/// `obj` must be live, `name` an exact string.
pub(crate) unsafe fn of_function(obj: *mut PyObject, name: *mut PyObject) -> *mut PyObject {
    // SAFETY: a live object and an exact string; the type is compared first.
    unsafe {
        if ffi::Py_TYPE(obj) != &raw mut ffi::PyFunction_Type
            || ffi::PyUnicode_CompareWithASCIIString(name, c"__code__".as_ptr()) != 0
        {
            return std::ptr::null_mut();
        }
        (*obj.cast::<ffi::PyFunctionObject>()).func_code
    }
}

/// Whether an attribute is one of the two objects that a method binds: it keeps them for good.
///
/// # Safety
/// `obj` must be live, `name` an exact string.
pub(crate) unsafe fn is_of_method(obj: *mut PyObject, name: *mut PyObject) -> bool {
    // SAFETY: a live object and an exact string.
    unsafe {
        let is = |part: &CStr| ffi::PyUnicode_CompareWithASCIIString(name, part.as_ptr()) == 0;
        ffi::Py_TYPE(obj) == &raw mut PyMethod_Type && (is(c"__func__") || is(c"__self__"))
    }
}
