//! Raw reads of Python objects that run no user code.
//!
//! Every function here is told a live object under the GIL. Dictionaries are looked up with string keys only
//! where every key that could be compared is an exact string; otherwise they are scanned and compared natively.
//!
//! Invariants: no exception stays set; what is returned is borrowed unless the name says `owned`.

use std::ffi::c_char;
use std::sync::atomic::{AtomicU32, Ordering};

use cpython_abi::dict::Kind;
use cpython_abi::symbols::{
    _PyObject_GetDictPtr, _PySet_NextEntry, _PyType_Lookup, PyGetSetDescr_Type, PyMemberDescr_Type,
    PyMethod_Type, PyODict_Type,
};
use cpython_abi::thread_end::{MayEnd, waits};
use pyo3::ffi::{self, PyObject, PyTypeObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::exec::fields;
use crate::value::ConstVal;

/// Whether every key of a dictionary is an exact `str` (its keys object is not of the general kind).
///
/// # Safety
/// `dict` must be a dictionary.
#[inline]
pub(crate) unsafe fn has_only_str_keys(dict: *mut PyObject) -> bool {
    // SAFETY: the caller's promise.
    unsafe { cpython_abi::dict::kind(dict) != Kind::General }
}

/// Value for an exact, interned string key, or null.
///
/// # Safety
/// `dict` must be a dictionary (or a subclass's raw storage) and `name` an exact string.
#[inline]
pub(crate) unsafe fn dict_get_str(dict: *mut PyObject, name: *mut PyObject) -> *mut PyObject {
    // SAFETY: with string keys only, the lookup compares strings; it cannot raise.
    unsafe {
        if has_only_str_keys(dict) {
            ffi::PyDict_GetItemWithError(dict, name)
        } else {
            scan_for_str(dict, name)
        }
    }
}

#[cold]
unsafe fn scan_for_str(dict: *mut PyObject, name: *mut PyObject) -> *mut PyObject {
    let (mut pos, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: plain iteration; nothing is mutated meanwhile.
    unsafe {
        while ffi::PyDict_Next(dict, &raw mut pos, &raw mut key, &raw mut value) != 0 {
            if key == name || (ffi::PyUnicode_CheckExact(key) != 0 && str_equal(key, name)) {
                return value;
            }
        }
    }
    std::ptr::null_mut()
}

/// Equality of two exact strings.
///
/// # Safety
/// Both must be exact strings.
#[inline]
pub(crate) unsafe fn str_equal(a: *mut PyObject, b: *mut PyObject) -> bool {
    // SAFETY: exact strings compare without raising.
    unsafe {
        a == b
            || (ffi::PyUnicode_GetLength(a) == ffi::PyUnicode_GetLength(b)
                && ffi::PyUnicode_Compare(a, b) == 0)
    }
}

/// Whether a value is made of exact builtin constants at every depth, so that comparing it runs C code only.
///
/// # Safety
/// `obj` must be live.
pub(crate) unsafe fn is_plain(obj: *mut PyObject) -> bool {
    // SAFETY: exact type checks before reads.
    unsafe {
        let ty = ffi::Py_TYPE(obj);
        if ty == &raw mut ffi::PyTuple_Type {
            return (0..ffi::PyTuple_GET_SIZE(obj))
                .all(|i| is_plain(ffi::PyTuple_GET_ITEM(obj, i)));
        }
        ty == &raw mut ffi::PyUnicode_Type
            || ty == &raw mut ffi::PyLong_Type
            || ty == &raw mut ffi::PyBool_Type
            || ty == &raw mut ffi::PyFloat_Type
            || ty == &raw mut ffi::PyBytes_Type
            || ty == &raw mut ffi::PyComplex_Type
            || obj == ffi::Py_None()
    }
}

/// Whether a key of a dictionary or set equals a constant key as a lookup would find it.
///
/// # Safety
/// Both must be live, and `wanted` plain or compared by identity.
pub(crate) unsafe fn key_equal(
    key: *mut PyObject,
    wanted: *mut PyObject,
    wanted_is_plain: bool,
) -> bool {
    // SAFETY: comparison of plain values runs C code only.
    unsafe {
        key == wanted
            || (wanted_is_plain && is_plain(key) && {
                let equal = ffi::PyObject_RichCompareBool(key, wanted, ffi::Py_EQ);
                if equal < 0 {
                    ffi::PyErr_Clear();
                }
                equal == 1
            })
    }
}

/// Finds a key by scanning, beginning at the position where it was last time. Returns the value.
///
/// # Safety
/// `dict` must be a dictionary; see [`key_equal`].
pub(crate) unsafe fn dict_scan(
    dict: *mut PyObject,
    wanted: *mut PyObject,
    wanted_is_plain: bool,
    hint: &std::sync::atomic::AtomicIsize,
) -> *mut PyObject {
    use std::sync::atomic::Ordering::Relaxed;
    let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: positions are entry indices; one past the end ends the iteration.
    unsafe {
        for start in [hint.load(Relaxed), 0] {
            let mut pos = start;
            loop {
                let before = pos;
                if ffi::PyDict_Next(dict, &raw mut pos, &raw mut key, &raw mut value) == 0 {
                    break;
                }
                if key_equal(key, wanted, wanted_is_plain) {
                    hint.store(before, Relaxed);
                    return value;
                }
            }
        }
    }
    std::ptr::null_mut()
}

/// Whether a set or frozenset (or a subclass's raw storage) holds a key.
///
/// # Safety
/// `set` must be a set; see [`key_equal`].
pub(crate) unsafe fn set_has(
    set: *mut PyObject,
    wanted: *mut PyObject,
    wanted_is_plain: bool,
) -> bool {
    let (mut pos, mut key, mut hash) = (0, std::ptr::null_mut(), 0);
    // SAFETY: plain iteration; hashing a plain value runs C code only.
    unsafe {
        // One that is not plain is found by identity, and not hashed: its class may have a `__hash__` of its own.
        let wanted_hash = wanted_is_plain.then(|| ffi::PyObject_Hash(wanted));
        while _PySet_NextEntry(set, &raw mut pos, &raw mut key, &raw mut hash) != 0 {
            if wanted_hash.is_none_or(|wanted| wanted == hash)
                && key_equal(key, wanted, wanted_is_plain)
            {
                return true;
            }
        }
    }
    false
}

/// Calls `visit` with each item of a set in iteration order until it returns false. Returns whether every item was
/// visited.
///
/// # Safety
/// `set` must be a set or frozenset.
pub(crate) unsafe fn each_item(
    set: *mut PyObject,
    mut visit: impl FnMut(*mut PyObject) -> bool,
) -> bool {
    let (mut pos, mut key, mut hash) = (0, std::ptr::null_mut(), 0);
    // SAFETY: plain iteration.
    unsafe {
        while _PySet_NextEntry(set, &raw mut pos, &raw mut key, &raw mut hash) != 0 {
            if !visit(key) {
                return false;
            }
        }
    }
    true
}

/// Calls `visit` with each key of a dictionary in iteration order until it returns false. Returns whether every
/// key was visited. An ordered dictionary whose keys are not all plain or `known` counts as not visited.
///
/// # Safety
/// `dict` must be a dictionary.
pub unsafe fn each_key(
    dict: *mut PyObject,
    known: &dyn Fn(*mut PyObject) -> bool,
    mut visit: impl FnMut(*mut PyObject) -> bool,
) -> bool {
    let (mut pos, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: plain iteration; the ordered iterator hashes keys, which is done in C for those admitted.
    unsafe {
        if ffi::PyType_IsSubtype(ffi::Py_TYPE(dict), &raw mut PyODict_Type) == 0 {
            while ffi::PyDict_Next(dict, &raw mut pos, &raw mut key, &raw mut value) != 0 {
                if !visit(key) {
                    return false;
                }
            }
            return true;
        }
        while ffi::PyDict_Next(dict, &raw mut pos, &raw mut key, &raw mut value) != 0 {
            if !(is_plain(key) || known(key) && hashes_by_identity(key)) {
                return false;
            }
        }
        let Some(iterate) = PyODict_Type.tp_iter else {
            return false;
        };
        let iterator = iterate(dict);
        if iterator.is_null() {
            ffi::PyErr_Clear();
            return false;
        }
        let mut all = true;
        loop {
            let key = ffi::PyIter_Next(iterator);
            if key.is_null() {
                ffi::PyErr_Clear();
                break;
            }
            let go_on = visit(key);
            ffi::Py_DECREF(key);
            if !go_on {
                all = false;
                break;
            }
        }
        ffi::Py_DECREF(iterator);
        all
    }
}

unsafe fn hashes_by_identity(obj: *mut PyObject) -> bool {
    // SAFETY: static type fields.
    unsafe {
        (*ffi::Py_TYPE(obj)).tp_hash.map(|f| f as usize)
            == ffi::PyBaseObject_Type.tp_hash.map(|f| f as usize)
    }
}

/// An instance's `__dict__`, or null if it has none.
///
/// # Safety
/// `obj` must be live.
#[inline]
pub(crate) unsafe fn instance_dict(obj: *mut PyObject) -> *mut PyObject {
    // SAFETY: the function makes inline attributes into a dictionary where needed, and clears its own errors.
    unsafe {
        let place = _PyObject_GetDictPtr(obj);
        if place.is_null() {
            std::ptr::null_mut()
        } else {
            *place
        }
    }
}

/// An instance's `__dict__`, borrowed, or null where its class gives it none. An object that has had no attribute yet
/// gets its dictionary here, as from a look-up of `__dict__`.
///
/// # Safety
/// `obj` must be live.
pub(crate) unsafe fn made_instance_dict(obj: *mut PyObject) -> *mut PyObject {
    // SAFETY: the object has a place for a dictionary, and holds the one that is made; errors are cleared.
    unsafe {
        let place = _PyObject_GetDictPtr(obj);
        if place.is_null() || !(*place).is_null() {
            return instance_dict(obj);
        }
        let made = ffi::PyObject_GenericGetDict(obj, std::ptr::null_mut());
        if made.is_null() {
            ffi::PyErr_Clear();
            return made;
        }
        ffi::Py_DECREF(made);
        made
    }
}

/// Where an instance's `__dict__` is kept, or null where it has none. Inline attributes are made into a
/// dictionary first.
///
/// # Safety
/// `obj` must be live.
pub(crate) unsafe fn instance_dict_place(obj: *mut PyObject) -> *mut *mut PyObject {
    // SAFETY: as for `instance_dict`.
    unsafe { _PyObject_GetDictPtr(obj) }
}

/// Whether the object is an `OrderedDict` or of a subclass.
///
/// # Safety
/// `obj` must be live.
pub(crate) unsafe fn is_ordered_dict(obj: *mut PyObject) -> bool {
    // SAFETY: a live type.
    unsafe { ffi::PyType_IsSubtype(ffi::Py_TYPE(obj), &raw mut PyODict_Type) != 0 }
}

/// Raw value that the MRO of a class gives for a name, or null.
///
/// # Safety
/// `ty` must be a live type and `name` an exact interned string.
#[inline]
pub(crate) unsafe fn mro_lookup(ty: *mut ffi::PyTypeObject, name: *mut PyObject) -> *mut PyObject {
    // SAFETY: reads class dictionaries through the method cache.
    unsafe {
        let value = _PyType_Lookup(ty, name);
        if value.is_null() && !ffi::PyErr_Occurred().is_null() {
            ffi::PyErr_Clear();
        }
        value
    }
}

/// What [`attribute`] found.
pub(crate) enum Found {
    /// Nothing that can be read without user code.
    None,
    /// A borrowed value.
    Borrowed(*mut PyObject),
    /// A borrowed value out of a field of the object, which changes without an event.
    Field(*mut PyObject),
    /// A new reference.
    Owned(*mut PyObject),
}

/// Reads an attribute if that runs no user code. Getset descriptors of tensors are read for exact tensor classes
/// only, and never while a torch function mode is active.
///
/// # Safety
/// `obj` must be live, `name` an exact interned string.
pub(crate) unsafe fn attribute(
    abi: &torch_abi::TorchAbi,
    obj: *mut PyObject,
    name: *mut PyObject,
) -> Found {
    // SAFETY: type slots are compared before anything is read; only C descriptors are called.
    unsafe {
        let ty = ffi::Py_TYPE(obj);
        let slot = (*ty).tp_getattro.map_or(0, |f| f as usize);
        let of_class = mro_lookup(ty, name);
        if !of_class.is_null() {
            let descriptor = ffi::Py_TYPE(of_class);
            if descriptor == &raw mut PyGetSetDescr_Type
                || descriptor == &raw mut PyMemberDescr_Type
            {
                if descriptor == &raw mut PyGetSetDescr_Type
                    && abi.is_tensor_type(ty)
                    && (ty != abi.tensor_type() && ty != abi.parameter_type()
                        || abi.torch_function_stack_len() > 0)
                {
                    return Found::None;
                }
                let bases = [
                    &raw mut ffi::PyBaseObject_Type,
                    &raw mut ffi::PyType_Type,
                    &raw mut ffi::PyModule_Type,
                ];
                let generic = ty == &raw mut PyMethod_Type || reads_as_one_of(ty, &bases);
                let Some(get) = (*descriptor).tp_descr_get.filter(|_| generic) else {
                    return Found::None;
                };
                let field = if descriptor == &raw mut PyMemberDescr_Type {
                    fields::place(of_class, obj)
                        .as_ref()
                        .map_or(std::ptr::null_mut(), |value| *value)
                } else {
                    fields::of_function(obj, name)
                };
                if !field.is_null() {
                    return Found::Field(field);
                }
                let value = waits(|| get.may_end()(of_class, obj, ty.cast()));
                if value.is_null() {
                    ffi::PyErr_Clear();
                    return Found::None;
                }
                return Found::Owned(value);
            }
            if (*descriptor).tp_descr_set.is_some() {
                return Found::None;
            }
        }
        if ffi::PyType_Check(obj) != 0 && reads_as_one_of(ty, &[&raw mut ffi::PyType_Type]) {
            let value = mro_lookup(obj.cast(), name);
            if value.is_null() {
                return Found::None;
            }
            let value_type = ffi::Py_TYPE(value);
            let plain =
                (*value_type).tp_descr_get.is_none() || value_type == &raw mut ffi::PyFunction_Type;
            return if plain {
                Found::Borrowed(value)
            } else {
                Found::None
            };
        }
        let is_module = slot == ffi::PyModule_Type.tp_getattro.map_or(1, |f| f as usize);
        if is_module || slot == ffi::PyObject_GenericGetAttr as *const () as usize {
            let dict = instance_dict(obj);
            if !dict.is_null() && ffi::PyDict_Check(dict) != 0 {
                let value = dict_get_str(dict, name);
                if !value.is_null() {
                    return Found::Borrowed(value);
                }
            }
            if !of_class.is_null() && (*ffi::Py_TYPE(of_class)).tp_descr_get.is_none() {
                return Found::Borrowed(of_class);
            }
        }
        if is_thread_local(obj) {
            // Its attributes are those of the dictionary of the present thread.
            let compared = ffi::PyUnicode_CompareWithASCIIString(name, c"__dict__".as_ptr());
            let Some(get) = (*ty).tp_getattro.filter(|_| compared == 0) else {
                return Found::None;
            };
            let value = get(obj, name);
            if value.is_null() {
                ffi::PyErr_Clear();
                return Found::None;
            }
            return Found::Owned(value);
        }
        Found::None
    }
}

/// Whether instances of a class read attributes as those of one of `bases` do, before a `__getattr__` of the class is
/// asked.
///
/// # Safety
/// `ty` must be live, `bases` static classes, and the GIL held.
unsafe fn reads_as_one_of(ty: *mut PyTypeObject, bases: &[*mut PyTypeObject]) -> bool {
    // SAFETY: the caller's promise; slots and entries of classes are compared.
    unsafe {
        let slot = |ty: *mut PyTypeObject| (*ty).tp_getattro.map(|f| f as usize);
        if bases.iter().any(|base| slot(*base) == slot(ty)) {
            return true;
        }
        let name = intern!(Python::assume_attached(), "__getattribute__").as_ptr();
        let own = mro_lookup(ty, name);
        bases.iter().any(|base| mro_lookup(*base, name) == own)
    }
}

/// Whether a value is a constant of builtin types that is small, so that to keep it alive goes unnoticed.
///
/// # Safety
/// `obj` must be live.
pub(crate) unsafe fn is_small_constant(obj: *mut PyObject) -> bool {
    const LONGEST: usize = 256;
    // SAFETY: types are compared before lengths are read.
    unsafe {
        let ty = ffi::Py_TYPE(obj);
        let is_long = || length(obj).is_none_or(|n| n > LONGEST);
        ty != &raw mut ffi::PyTuple_Type
            && is_plain(obj)
            && !((ty == &raw mut ffi::PyUnicode_Type || ty == &raw mut ffi::PyBytes_Type)
                && is_long())
    }
}

/// What [`attribute`] finds in a dictionary or a class; `None` for all else.
///
/// # Safety
/// As for [`attribute`].
pub(crate) unsafe fn attribute_unowned(
    abi: &torch_abi::TorchAbi,
    obj: *mut PyObject,
    name: *mut PyObject,
) -> Option<*mut PyObject> {
    // SAFETY: the caller's promise; a new reference is released.
    unsafe {
        match attribute(abi, obj, name) {
            Found::Borrowed(value) => Some(value),
            Found::Owned(value) => {
                ffi::Py_DECREF(value);
                None
            }
            Found::Field(_) | Found::None => None,
        }
    }
}

/// Whether the instance's own dictionary has a name.
///
/// # Safety
/// `obj` must be live, `name` an exact interned string.
#[inline]
pub(crate) unsafe fn own_dict_has(obj: *mut PyObject, name: *mut PyObject) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let dict = instance_dict(obj);
        !dict.is_null()
            && ffi::PyDict_Check(dict) != 0
            && ffi::PyDict_Size(dict) != 0
            && !dict_get_str(dict, name).is_null()
    }
}

/// The descriptor of a slot or C getter that a class has for a name. Getters of tensors always give a value.
///
/// # Safety
/// `obj` must be live, `name` an exact interned string.
pub(crate) unsafe fn c_field(
    abi: &torch_abi::TorchAbi,
    obj: *mut PyObject,
    name: *mut PyObject,
) -> Option<*mut PyObject> {
    // SAFETY: the caller's promise; static types are compared.
    unsafe {
        let of_class = mro_lookup(ffi::Py_TYPE(obj), name);
        if of_class.is_null() {
            return None;
        }
        let ty = ffi::Py_TYPE(of_class);
        let c_field = ty == &raw mut PyMemberDescr_Type
            || ty == &raw mut PyGetSetDescr_Type && !abi.is_tensor_type(ffi::Py_TYPE(obj));
        c_field.then_some(of_class)
    }
}

/// Whether an instance has an attribute in its own dictionary or in its class. A slot must hold a value. `absent`
/// remembers the version of a class that has nothing for the name.
///
/// # Safety
/// `obj` must be live, `name` an exact interned string.
pub(crate) unsafe fn has_attribute(
    abi: &torch_abi::TorchAbi,
    obj: *mut PyObject,
    name: *mut PyObject,
    absent: &AtomicU32,
) -> bool {
    // SAFETY: the caller's promise; see `attribute`. A class's version is taken away by whatever changes what it or
    // a base of it has for a name, and is given to no class again.
    unsafe {
        if own_dict_has(obj, name) {
            return true;
        }
        let ty = ffi::Py_TYPE(obj);
        let version = (*ty).tp_version_tag;
        if version != 0 && version == absent.load(Ordering::Relaxed) {
            return false;
        }
        if mro_lookup(ty, name).is_null() {
            absent.store((*ty).tp_version_tag, Ordering::Relaxed);
            return false;
        }
        if c_field(abi, obj, name).is_none() {
            return true;
        }
        match attribute(abi, obj, name) {
            Found::None => false,
            Found::Borrowed(_) | Found::Field(_) => true,
            Found::Owned(value) => {
                ffi::Py_DECREF(value);
                true
            }
        }
    }
}

/// Length of a list, tuple, str, bytes, set, range, deque or dict; `None` for anything else.
///
/// # Safety
/// `obj` must be live.
pub(crate) unsafe fn length(obj: *mut PyObject) -> Option<usize> {
    // SAFETY: each read is of the checked type; the last goes to C types' own `len`.
    let n = unsafe {
        if ffi::PyList_Check(obj) != 0 {
            ffi::PyList_GET_SIZE(obj)
        } else if ffi::PyTuple_Check(obj) != 0 {
            ffi::PyTuple_GET_SIZE(obj)
        } else if cpython_abi::dict::is_dictionary(obj) {
            ffi::PyDict_Size(obj)
        } else if ffi::PyAnySet_Check(obj) != 0 {
            ffi::PySet_Size(obj)
        } else if ffi::PyUnicode_Check(obj) != 0 {
            ffi::PyUnicode_GetLength(obj)
        } else if ffi::PyBytes_Check(obj) != 0 {
            ffi::PyBytes_Size(obj)
        } else if ffi::PyType_HasFeature(ffi::Py_TYPE(obj), ffi::Py_TPFLAGS_HEAPTYPE) == 0
            || is_deque(obj)
        {
            ffi::PyObject_Size(obj)
        } else {
            return None;
        }
    };
    if n < 0 {
        // SAFETY: clears the error that a negative length means.
        unsafe { ffi::PyErr_Clear() };
    }
    usize::try_from(n).ok()
}

/// Whether the object is exactly a `collections.deque` (a heap type of C code from 3.12 on).
///
/// # Safety
/// `obj` must be live.
pub(crate) unsafe fn is_deque(obj: *mut PyObject) -> bool {
    // SAFETY: type names are NUL-terminated.
    unsafe { std::ffi::CStr::from_ptr((*ffi::Py_TYPE(obj)).tp_name) == c"collections.deque" }
}

/// Whether the object is exactly a `threading.local` (a heap type of C code); a subclass runs its `__init__` where a
/// thread first meets it.
///
/// # Safety
/// `obj` must be live.
unsafe fn is_thread_local(obj: *mut PyObject) -> bool {
    // SAFETY: type names are NUL-terminated.
    unsafe { std::ffi::CStr::from_ptr((*ffi::Py_TYPE(obj)).tp_name) == c"_thread._local" }
}

/// Contents of a cell, or null.
///
/// # Safety
/// `obj` must be live.
#[inline]
pub(crate) unsafe fn cell_contents(obj: *mut PyObject) -> *mut PyObject {
    // SAFETY: exact type first.
    unsafe {
        if ffi::Py_TYPE(obj) == &raw mut ffi::PyCell_Type {
            cpython_abi::objects::held(obj)
        } else {
            std::ptr::null_mut()
        }
    }
}

/// The key at a position of a dictionary, in the order of insertion, or null.
///
/// # Safety
/// `dict` must be a dictionary.
pub(crate) unsafe fn key_at(dict: *mut PyObject, index: u32) -> *mut PyObject {
    let (mut pos, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    for _ in 0..=index {
        // SAFETY: plain iteration.
        if unsafe { ffi::PyDict_Next(dict, &raw mut pos, &raw mut key, &raw mut value) } == 0 {
            return std::ptr::null_mut();
        }
    }
    key
}

/// `<class 'module.Name'>` without calling a metaclass.
///
/// # Safety
/// `ty` must be a live type.
pub(crate) unsafe fn type_repr(ty: *mut ffi::PyTypeObject) -> String {
    Python::attach(|py| {
        // SAFETY: a live type.
        let ty = unsafe { Bound::from_borrowed_ptr(py, ty.cast()) };
        ty.cast::<PyType>().map(class_repr).unwrap_or_default()
    })
}

/// As `type.__repr__` prints a class.
pub(crate) fn class_repr(ty: &Bound<'_, PyType>) -> String {
    let name = qualified_name(ty);
    format!("<class '{name}'>")
}

/// The name of a class with that of its module, which a builtin has none of.
pub(crate) fn qualified_name(ty: &Bound<'_, PyType>) -> String {
    // SAFETY: type names are NUL-terminated.
    let short = unsafe { std::ffi::CStr::from_ptr((*ty.as_type_ptr()).tp_name.cast::<c_char>()) };
    let short = short.to_string_lossy();
    let qualname = ty
        .qualname()
        .map(|q| q.to_string())
        .unwrap_or_else(|_| short.to_string());
    match ty.module().map(|m| m.to_string()) {
        Ok(module) if module != "builtins" => format!("{module}.{qualname}"),
        _ => qualname,
    }
}

/// The (repr, type repr) that messages use for a pinned object. Runs no `__repr__` of the user's.
pub(crate) fn names_of(obj: &Bound<'_, PyAny>) -> (String, String) {
    let name = qualified_name(&obj.get_type());
    let type_repr = format!("<class '{name}'>");
    (repr_of(obj, &name), type_repr)
}

/// The repr that messages use for an object of a class of this name.
pub(crate) fn repr_of(obj: &Bound<'_, PyAny>, class: &str) -> String {
    if let Ok(ty) = obj.cast::<PyType>() {
        class_repr(ty)
    } else if let Some(value) = crate::exec::read::constant(obj) {
        value.to_string()
    } else {
        // SAFETY: a live object; method definitions are static and NUL-terminated.
        let of_c_function = unsafe {
            let ptr = obj.as_ptr();
            (ffi::PyCFunction_Check(ptr) != 0).then(|| {
                let method = (*ptr.cast::<ffi::PyCFunctionObject>()).m_ml;
                std::ffi::CStr::from_ptr((*method).ml_name).to_string_lossy()
            })
        };
        if let Some(name) = of_c_function {
            return format!("<built-in function {name}>");
        }
        // SAFETY: a live object.
        let of_function = unsafe {
            let ptr = obj.as_ptr();
            (ffi::PyFunction_Check(ptr) != 0)
                .then(|| (*ptr.cast::<ffi::PyFunctionObject>()).func_qualname)
        };
        match of_function {
            // SAFETY: a function's qualified name is a live string.
            Some(name) => format!("<function {}>", unsafe {
                Bound::from_borrowed_ptr(obj.py(), name)
            }),
            None => format!("<{class} object at {:#x}>", obj.as_ptr() as usize),
        }
    }
}

/// How a failure message shows an actual value.
pub(crate) fn describe(obj: &Bound<'_, PyAny>) -> String {
    match crate::exec::read::constant(obj) {
        Some(ConstVal::Obj(_)) | None => names_of(obj).0,
        Some(value) => value.to_string(),
    }
}

/// `torch.float32` for a dtype number.
pub(crate) fn dtype_name(number: u8) -> String {
    tensor_meta::DType::from_scalar_type(u16::from(number)).map_or_else(
        || format!("dtype {number}"),
        |dtype| dtype.name().to_owned(),
    )
}

/// `cuda:0` for a (type, index) pair.
pub(crate) fn device_name((kind, index): (i8, i8)) -> String {
    let kind = u8::try_from(kind)
        .ok()
        .and_then(tensor_meta::DeviceKind::from_device_type);
    let name = kind.map_or("unknown", tensor_meta::DeviceKind::name);
    if index < 0 {
        name.to_owned()
    } else {
        format!("{name}:{index}")
    }
}
