//! Raw reads of Python objects: what no safe API gives without running user code.
//!
//! Invariant: nothing here calls back into Python code.

use crate::Obj;
use cpython_abi::symbols::{_PyType_Lookup, PyODict_Type};
use guards::exec::each_key;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyFrozenSet, PySet, PyString, PyType};
use pyo3::{ffi, intern};
use rustc_hash::FxHashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// How many names are held. Programs look up fewer; keys of dictionaries that are data are not to pile up.
const HELD_NAMES: usize = 4096;

/// The interned string of a name that is looked up: the same few names are asked for again and again, and to make a
/// string takes longer than the lookup.
fn name<'py>(py: Python<'py>, text: &str) -> Bound<'py, PyString> {
    static HELD: LazyLock<Mutex<FxHashMap<Box<str>, Py<PyString>>>> =
        LazyLock::new(Default::default);
    let mut held = HELD
        .lock_py_attached(py)
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = held.get(text) {
        return name.bind(py).clone();
    }
    let name = PyString::intern(py, text);
    if held.len() < HELD_NAMES {
        held.insert(text.into(), name.clone().unbind());
    }
    name
}

/// Whether instances of a class read attributes as `object` does, Python hooks of the class aside.
pub fn reads_attributes_plainly(class: &Bound<'_, PyType>) -> bool {
    let generic = ffi::PyObject_GenericGetAttr as *const () as usize;
    // SAFETY: a live type object.
    let slot = |ty: &Bound<'_, PyType>| unsafe {
        (*ty.as_type_ptr())
            .tp_getattro
            .map_or(generic, |f| f as usize)
    };
    // SAFETY: a static type. A module asks its dict for a `__getattr__` at the end, no more.
    let module = unsafe {
        ffi::PyModule_Type
            .tp_getattro
            .map_or(generic, |f| f as usize)
    };
    if slot(class) == generic || slot(class) == module {
        return true;
    }
    // With a `__getattr__` in Python the slot calls `__getattribute__`, which some base has in C.
    let Some(found) = type_lookup(class, "__getattribute__") else {
        return false;
    };
    match found
        .bind(class.py())
        .getattr(intern!(class.py(), "__objclass__"))
    {
        Ok(owner) => owner
            .cast::<PyType>()
            .is_ok_and(|owner| slot(owner) == generic || slot(owner) == module),
        Err(_) => true,
    }
}

/// Whether the real class of an object derives from another: `isinstance` may ask the object for its
/// `__class__`.
pub fn derives_from(obj: &Bound<'_, PyAny>, class: &Bound<'_, PyAny>) -> bool {
    let Ok(class) = class.cast::<PyType>() else {
        return false;
    };
    // SAFETY: both are live type objects.
    unsafe { ffi::PyType_IsSubtype(obj.get_type_ptr(), class.as_type_ptr()) != 0 }
}

/// Whether instances of a class have a place for weak references; false for anything but a class.
pub fn takes_weak_references(class: &Bound<'_, PyAny>) -> bool {
    let Ok(class) = class.cast::<PyType>() else {
        return false;
    };
    // SAFETY: a live type object.
    unsafe { (*class.as_type_ptr()).tp_weaklistoffset != 0 }
}

/// What the MRO of a class holds for a name; no descriptor is bound (CPython's `_PyType_Lookup`).
pub fn type_lookup(class: &Bound<'_, PyType>, name: &str) -> Option<Obj> {
    let py = class.py();
    let name = self::name(py, name);
    // SAFETY: both pointers are live for the call; the result is borrowed and owned at once; no
    // exception is left set for a str name.
    unsafe {
        let found = _PyType_Lookup(class.as_type_ptr(), name.as_ptr());
        Bound::from_borrowed_ptr_or_opt(py, found).map(Bound::unbind)
    }
}

/// How many arguments beside the receiver a method of a C class takes, where that is always the
/// same: none or one, and no keywords.
pub fn method_arity(descriptor: &Bound<'_, PyAny>) -> Option<usize> {
    // SAFETY: the exact type says which struct the object is; its definition lives as long as the
    // class.
    let flags = unsafe {
        if !std::ptr::eq(
            descriptor.get_type_ptr(),
            &raw const ffi::PyMethodDescr_Type,
        ) {
            return None;
        }
        let descriptor = descriptor.as_ptr().cast::<ffi::PyMethodDescrObject>();
        (*(*descriptor).d_method).ml_flags
    };
    match flags & (ffi::METH_NOARGS | ffi::METH_O) {
        ffi::METH_NOARGS => Some(0),
        ffi::METH_O => Some(1),
        _ => None,
    }
}

/// As [`type_lookup`], in the part of `class`'s MRO behind `after`.
pub fn type_lookup_after(
    class: &Bound<'_, PyType>,
    after: &Bound<'_, PyAny>,
    name: &str,
) -> Option<(Obj, Obj)> {
    let mut seen = false;
    for c in class.mro().iter() {
        if seen && let Ok(found) = c.getattr("__dict__").and_then(|d| d.get_item(name)) {
            return Some((found.unbind(), c.unbind()));
        }
        seen |= c.is(after);
    }
    None
}

/// The instance dict of an object, if its class gives it one.
pub fn instance_dict<'py>(obj: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    // SAFETY: the object is live; the new reference (or the error) is taken over.
    unsafe {
        let d = ffi::PyObject_GenericGetDict(obj.as_ptr(), std::ptr::null_mut());
        if d.is_null() {
            ffi::PyErr_Clear();
            return None;
        }
        Bound::from_owned_ptr(obj.py(), d)
            .cast_into::<PyDict>()
            .ok()
    }
}

/// Whether attributes may have been set on a callable: `false` only for a Python or C function that
/// has none of its own.
pub fn may_have_marks(f: &Bound<'_, PyAny>) -> bool {
    // SAFETY: exact types are checked before a field of theirs is read; the dict is borrowed.
    unsafe {
        if ffi::PyCFunction_CheckExact(f.as_ptr()) != 0 {
            return false;
        }
        if ffi::PyFunction_Check(f.as_ptr()) == 0 {
            return true;
        }
        let dict = (*f.as_ptr().cast::<ffi::PyFunctionObject>()).func_dict;
        !dict.is_null() && ffi::PyDict_Size(dict) != 0
    }
}

/// `tp_flags` of a type.
pub fn type_flags(ty: &Bound<'_, PyType>) -> u64 {
    // SAFETY: a live type object.
    unsafe { ffi::PyType_GetFlags(ty.as_type_ptr()) as u64 }
}

/// The name of a type as C code prints it: with the module for static types (`collections.deque`).
pub fn printed_name(ty: &Bound<'_, PyType>) -> String {
    // SAFETY: a live type; its name is a C string that lives as long.
    unsafe {
        let name = (*ty.as_type_ptr()).tp_name;
        if name.is_null() {
            return String::new();
        }
        std::ffi::CStr::from_ptr(name)
            .to_string_lossy()
            .into_owned()
    }
}

/// Whether C code asks instances of a class for items by their index, as it does where there are methods for that.
pub fn has_sequence_slots(class: &Bound<'_, PyAny>) -> bool {
    // SAFETY: a live class.
    class
        .cast::<PyType>()
        .is_ok_and(|class| unsafe { !(*class.as_type_ptr()).tp_as_sequence.is_null() })
}

/// A dictionary, also one that never changes, as what reads the items of any.
pub fn as_dict<'a, 'py>(obj: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyDict>> {
    // SAFETY: the object is live. PyDict's reading functions take both.
    unsafe { cpython_abi::dict::is_dictionary(obj.as_ptr()).then(|| obj.cast_unchecked()) }
}

/// The items of a dict or a subclass of it in iteration order, without running an overridden method, each with its place
/// in the dictionary's own order: an `OrderedDict` has another one after `move_to_end`. Where its keys can't be walked
/// without a `__hash__` of the program's they come in the dictionary's own.
pub fn dict_items(d: &Bound<'_, PyDict>) -> Vec<(usize, Obj, Obj)> {
    let mut items = Vec::with_capacity(d.len());
    let (mut pos, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: `d` is a live dict that nothing changes during the loop; borrowed references are
    // turned into owned ones at once.
    unsafe {
        while ffi::PyDict_Next(d.as_ptr(), &mut pos, &mut key, &mut value) != 0 {
            let own = |p| Bound::from_borrowed_ptr(d.py(), p).unbind();
            items.push((items.len(), own(key), own(value)));
        }
    }
    // SAFETY: a live object's class and a static one.
    if unsafe { ffi::PyType_IsSubtype(d.get_type().as_type_ptr(), &raw mut PyODict_Type) } == 0 {
        return items;
    }
    let mut shown = FxHashMap::default();
    // SAFETY: a live dictionary.
    let all = unsafe {
        each_key(d.as_ptr(), &|_| true, |key| {
            shown.insert(key as usize, shown.len());
            true
        })
    };
    if all {
        items.sort_by_key(|(_, key, _)| shown.get(&(key.as_ptr() as usize)).copied());
    }
    items
}

/// An item of a dict or subclass by string key, raw.
pub fn dict_get<'py>(d: &Bound<'py, PyDict>, key: &str) -> Option<Bound<'py, PyAny>> {
    let key = name(d.py(), key);
    // SAFETY: both pointers are live; a str key runs no user code; the borrowed result is owned
    // at once.
    unsafe {
        let v = ffi::PyDict_GetItemWithError(d.as_ptr(), key.as_ptr());
        Bound::from_borrowed_ptr_or_opt(d.py(), v)
    }
}

/// Whether a dictionary is that of a module, or the globals of code that was executed in it.
pub fn is_namespace(d: &Bound<'_, PyDict>) -> bool {
    let has = |key| dict_get(d, key).is_some();
    has("__builtins__") || has("__loader__") && has("__spec__")
}

/// The name of a class with that of its module, as messages of CPython have it.
///
/// # Errors
/// Where the class gives no name.
pub fn full_name(class: &Bound<'_, PyAny>) -> PyResult<String> {
    let name: String = class.getattr("__qualname__")?.extract()?;
    let module: Option<String> = class.getattr("__module__")?.extract().ok();
    Ok(match module {
        Some(module) if module != "builtins" && module != "__main__" => format!("{module}.{name}"),
        _ => name,
    })
}

/// The items of a set or frozenset, or of an instance of a class that derives from one, in order.
///
/// # Errors
/// Where it is neither.
pub fn set_items(set: &Bound<'_, PyAny>) -> PyResult<Vec<Obj>> {
    let py = set.py();
    let base = match set.is_instance_of::<PySet>() {
        true => py.get_type::<PySet>(),
        false => py.get_type::<PyFrozenSet>(),
    };
    let items = base.getattr(intern!(py, "__iter__"))?.call1((set,))?;
    items
        .try_iter()?
        .map(|item| item.map(Bound::unbind))
        .collect()
}
