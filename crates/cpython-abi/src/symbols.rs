//! Exported symbols of CPython, most of them private (PEP 523), that PyO3 does not declare.
//!
//! A symbol that is hidden in one of the supported versions must not be named
//! here: it links and then fails at import.

use std::ffi::c_int;

use pyo3::ffi::{Py_hash_t, Py_ssize_t, PyInterpreterState, PyObject, PyThreadState, PyTypeObject};

use super::frame::RawFrame;

/// `_PyFrameEvalFunction`: evaluates a frame and gives its result, or null with an exception set.
pub type EvalFn = unsafe extern "C" fn(*mut PyThreadState, *mut RawFrame, c_int) -> *mut PyObject;

// Declared so that the compiler does not take for granted that no call of it is unwound: see `thread_end`.
unsafe extern "C-unwind" {
    fn _PyEval_EvalFrameDefault(
        tstate: *mut PyThreadState,
        frame: *mut RawFrame,
        throwflag: c_int,
    ) -> *mut PyObject;
}

unsafe extern "C" {
    fn _PyInterpreterState_GetEvalFrameFunc(interp: *mut PyInterpreterState) -> Option<EvalFn>;
    fn _PyInterpreterState_SetEvalFrameFunc(interp: *mut PyInterpreterState, eval: EvalFn);

    /// What a class and its bases have under a name, borrowed, or null; runs no code of attributes.
    pub fn _PyType_Lookup(class: *mut PyTypeObject, name: *mut PyObject) -> *mut PyObject;

    /// Where an object has its dictionary, or null; may make one.
    pub fn _PyObject_GetDictPtr(obj: *mut PyObject) -> *mut *mut PyObject;

    /// The next item of a set, borrowed, and its hash; 0 at the end.
    pub fn _PySet_NextEntry(
        set: *mut PyObject,
        pos: *mut Py_ssize_t,
        key: *mut *mut PyObject,
        hash: *mut Py_hash_t,
    ) -> c_int;

    /// The class of `collections.OrderedDict`.
    pub static mut PyODict_Type: PyTypeObject;
    /// `odict_keys`.
    pub static mut PyODictKeys_Type: PyTypeObject;
    /// `odict_values`.
    pub static mut PyODictValues_Type: PyTypeObject;
    /// `odict_items`.
    pub static mut PyODictItems_Type: PyTypeObject;
    /// The class of descriptors of slots and of fields of C types.
    pub static mut PyMemberDescr_Type: PyTypeObject;
    /// The class of computed attributes of C types.
    pub static mut PyGetSetDescr_Type: PyTypeObject;
    /// The class of iterators over tuples.
    pub static mut PyTupleIter_Type: PyTypeObject;
    /// The class of iterators over ranges.
    pub static mut PyRangeIter_Type: PyTypeObject;
    /// The class of iterators over lists.
    pub static mut PyListIter_Type: PyTypeObject;
    /// The class of `reversed` lists.
    pub static mut PyListRevIter_Type: PyTypeObject;
    /// The class of `types.MappingProxyType`.
    pub static mut PyDictProxy_Type: PyTypeObject;

    /// The class of bound methods.
    pub static mut PyMethod_Type: PyTypeObject;
    /// The function of a bound method, borrowed.
    pub fn PyMethod_Function(method: *mut PyObject) -> *mut PyObject;
    /// The instance of a bound method, borrowed.
    pub fn PyMethod_Self(method: *mut PyObject) -> *mut PyObject;

    /// A method of `function` bound to `instance`: a new reference, or null with an exception set.
    pub fn PyMethod_New(function: *mut PyObject, instance: *mut PyObject) -> *mut PyObject;
}

/// CPython's own evaluator.
// SAFETY: the same function and calling convention.
pub static DEFAULT_EVAL: EvalFn = unsafe {
    std::mem::transmute::<
        unsafe extern "C-unwind" fn(*mut PyThreadState, *mut RawFrame, c_int) -> *mut PyObject,
        EvalFn,
    >(_PyEval_EvalFrameDefault)
};

/// The evaluator that `interp` calls now.
///
/// # Safety
/// The caller holds the GIL and `interp` is alive.
#[inline]
pub unsafe fn installed_eval(interp: *mut PyInterpreterState) -> EvalFn {
    // SAFETY: required of the caller.
    unsafe { _PyInterpreterState_GetEvalFrameFunc(interp) }.unwrap_or(DEFAULT_EVAL)
}

/// Makes `interp` call `eval` for every frame that it starts from now on.
///
/// # Safety
/// The caller holds the GIL, `interp` is alive, and `eval` stays valid while it is installed.
#[inline]
pub unsafe fn install_eval(interp: *mut PyInterpreterState, eval: EvalFn) {
    // SAFETY: required of the caller.
    unsafe { _PyInterpreterState_SetEvalFrameFunc(interp, eval) }
}

/// Whether two evaluators are the same function.
#[inline]
pub fn same_eval(a: EvalFn, b: EvalFn) -> bool {
    std::ptr::fn_addr_eq(a, b)
}
