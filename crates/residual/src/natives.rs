//! What residual code calls to make instances and to fill them, in place of methods of `object`, `dict` and
//! `OrderedDict` that do the same by way of a tuple of arguments.
//!
//! Invariant: each does what the method that it is named after does, for the objects that the emitter gives it.

use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use cpython_abi::objects::{MANAGED_DICT, weakref_target};
use cpython_abi::panics::contained_or_raise;
use cpython_abi::symbols::{_PyType_Lookup, PyODict_Type};
use cpython_abi::thread_end::{MayEnd, waits};
use pyo3::ffi::{self, Py_ssize_t, PyObject, PyTypeObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};
use variables::Obj;

/// The builtins.
pub(crate) struct Natives {
    /// `object.__new__(class)`, for a class whose instances `object` makes, or a weak reference to it.
    pub new_object: Obj,
    /// `dict.__new__(class)`, for a subclass that adds nothing in C, or a weak reference to it.
    pub new_dict: Obj,
    /// `object.__setattr__(obj, name, value)`, for an object whose class, Python code aside, writes as `object`
    /// does. Further names and values follow.
    pub set_attribute: Obj,
    /// `dict.__setitem__(dict, key, value)`. Further keys and values follow.
    pub set_item: Obj,
    /// `OrderedDict.__setitem__(dict, key, value)`. Further keys and values follow.
    pub set_ordered_item: Obj,
}

pub(crate) type Call =
    unsafe extern "C" fn(*mut PyObject, *mut *mut PyObject, Py_ssize_t) -> *mut PyObject;

pub(crate) struct Definition(pub(crate) ffi::PyMethodDef);

// SAFETY: constant names and functions that CPython keeps pointers to.
unsafe impl Sync for Definition {}

pub(crate) const fn definition(name: &'static CStr, call: Call) -> Definition {
    Definition(ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            PyCFunctionFast: call,
        },
        ml_flags: ffi::METH_FASTCALL,
        ml_doc: ptr::null(),
    })
}

static NEW_OBJECT: Definition = definition(c"object.__new__", new_object);
static NEW_DICT: Definition = definition(c"dict.__new__", new_dict);
static SET_ATTRIBUTE: Definition = definition(c"object.__setattr__", set_attribute);
static SET_ITEM: Definition = definition(c"dict.__setitem__", set_item);
static SET_ORDERED_ITEM: Definition = definition(c"OrderedDict.__setitem__", set_ordered_item);

impl Natives {
    /// The builtins, made once.
    pub fn get(py: Python<'_>) -> PyResult<&'static Natives> {
        static NATIVES: PyOnceLock<Natives> = PyOnceLock::new();
        NATIVES.get_or_try_init(py, || {
            let make = |definition: &'static Definition| {
                let definition = ptr::from_ref(&definition.0).cast_mut();
                // SAFETY: a static definition, which CPython only reads.
                unsafe {
                    let function =
                        ffi::PyCFunction_NewEx(definition, ptr::null_mut(), ptr::null_mut());
                    Bound::from_owned_ptr_or_err(py, function).map(Bound::unbind)
                }
            };
            Ok(Natives {
                new_object: make(&NEW_OBJECT)?,
                new_dict: make(&NEW_DICT)?,
                set_attribute: make(&SET_ATTRIBUTE)?,
                set_item: make(&SET_ITEM)?,
                set_ordered_item: make(&SET_ORDERED_ITEM)?,
            })
        })
    }
}

/// The builtins that residual code calls, always in the same order.
///
/// # Errors
/// `MemoryError`.
pub fn natives(py: Python<'_>) -> PyResult<Vec<Obj>> {
    let natives = Natives::get(py)?;
    let own = [
        &natives.new_object,
        &natives.new_dict,
        &natives.set_attribute,
        &natives.set_item,
        &natives.set_ordered_item,
    ];
    let finders = crate::special::finders(py)?.all();
    Ok(own.into_iter().chain(finders).cloned().collect())
}

impl Natives {
    /// Whether a callable is one of those that make instances.
    pub fn makes(py: Python<'_>, callable: &Obj) -> PyResult<bool> {
        let natives = Self::get(py)?;
        Ok(callable.is(&natives.new_object) || callable.is(&natives.new_dict))
    }
}

/// Puts texts back among the constants of a code object that was made just now, where it has taken an equal one that is
/// interned: a program may ask which of them it has.
pub(crate) fn keep_texts(code: &Bound<'_, PyAny>, wanted: &[Obj]) -> PyResult<()> {
    let py = code.py();
    let constants = code.getattr("co_consts")?.cast_into::<PyTuple>()?;
    for (i, text) in wanted.iter().enumerate() {
        let taken = constants.get_borrowed_item(i)?;
        if taken.is(text) || !taken.is_exact_instance_of::<PyString>() {
            continue;
        }
        let (constants, i) = (constants.as_ptr(), i as Py_ssize_t);
        // SAFETY: the item is there, and the code has not run: nobody has borrowed it. The tuple's reference to it
        // goes with it, and it gets one to the text.
        unsafe {
            let taken = ffi::PyTuple_GET_ITEM(constants, i);
            ffi::PyTuple_SET_ITEM(constants, i, text.clone_ref(py).into_ptr());
            ffi::Py_DECREF(taken);
        }
    }
    Ok(())
}

/// Whether a class that is not made by Python code writes the attributes of its instances as `object` does.
pub(crate) fn writes_plainly(class: &Bound<'_, PyAny>) -> bool {
    let Ok(class) = class.cast::<pyo3::types::PyType>() else {
        return false;
    };
    // SAFETY: a live class.
    let slot = unsafe { (*class.as_type_ptr()).tp_setattro };
    slot.is_some_and(|f| f as usize == ffi::PyObject_GenericSetAttr as *const () as usize)
}

#[cold]
fn refuse() -> *mut PyObject {
    // SAFETY: the GIL is held.
    unsafe {
        ffi::PyErr_SetString(
            ffi::PyExc_TypeError,
            c"unexpected arguments of residual code".as_ptr(),
        );
    }
    ptr::null_mut()
}

/// What a weak reference leads to, borrowed; `None` once that is gone. The caller runs no code meanwhile.
///
/// # Safety
/// A live weak reference; the GIL is held.
unsafe fn target(reference: *mut PyObject) -> *mut PyObject {
    // SAFETY: required of the caller.
    unsafe { weakref_target(reference).unwrap_or_else(|| ffi::Py_None()) }
}

/// The empty tuple, borrowed: there is one, and it lives as long as the interpreter.
#[inline]
unsafe fn no_arguments() -> *mut PyObject {
    static EMPTY: AtomicPtr<PyObject> = AtomicPtr::new(ptr::null_mut());
    let known = EMPTY.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: the GIL is held. What is kept is one reference to an object that exists already.
    let empty = unsafe { ffi::PyTuple_New(0) };
    EMPTY.store(empty, Ordering::Relaxed);
    empty
}

unsafe fn make(
    base: *mut PyTypeObject,
    args: *mut *mut PyObject,
    nargs: Py_ssize_t,
) -> *mut PyObject {
    // SAFETY: vectorcall arguments with the GIL held; the class is checked before it is used as one.
    unsafe {
        let class = match nargs {
            1 if ffi::PyWeakref_CheckRefExact(*args) != 0 => target(*args),
            1 => *args,
            _ => return refuse(),
        };
        if ffi::PyType_Check(class) == 0 {
            return refuse();
        }
        // Every class is one of `object`'s.
        let fits = base == &raw mut ffi::PyBaseObject_Type
            || ffi::PyType_IsSubtype(class.cast(), base) != 0;
        match (*base).tp_new {
            Some(new) if fits => {
                waits(|| new.may_end()(class.cast(), no_arguments(), ptr::null_mut()))
            }
            _ => refuse(),
        }
    }
}

unsafe extern "C" fn new_object(
    _: *mut PyObject,
    args: *mut *mut PyObject,
    nargs: Py_ssize_t,
) -> *mut PyObject {
    contained_or_raise("`new_object` of residual code", || {
        // SAFETY: called by the interpreter.
        unsafe { make(&raw mut ffi::PyBaseObject_Type, args, nargs) }
    })
}

unsafe extern "C" fn new_dict(
    _: *mut PyObject,
    args: *mut *mut PyObject,
    nargs: Py_ssize_t,
) -> *mut PyObject {
    contained_or_raise("`new_dict` of residual code", || {
        // SAFETY: called by the interpreter.
        unsafe { make(&raw mut ffi::PyDict_Type, args, nargs) }
    })
}

/// None, or null where an exception was set.
unsafe fn done(status: c_int) -> *mut PyObject {
    match status {
        // SAFETY: the GIL is held.
        0 => unsafe { ffi::Py_NewRef(ffi::Py_None()) },
        _ => ptr::null_mut(),
    }
}

unsafe extern "C" fn set_attribute(
    _: *mut PyObject,
    args: *mut *mut PyObject,
    nargs: Py_ssize_t,
) -> *mut PyObject {
    contained_or_raise("`set_attribute` of residual code", || {
        // SAFETY: called by the interpreter with this many arguments.
        unsafe {
            if nargs % 2 == 0 || ffi::PyType_Check(*args) != 0 {
                return refuse();
            }
            each_pair(args, nargs, |obj, name, value| match own_dict(obj) {
                Some(dict) if !is_written_by_class(ffi::Py_TYPE(obj), name) => {
                    ffi::PyDict_SetItem(dict, name, value)
                }
                _ => ffi::PyObject_GenericSetAttr(obj, name, value),
            })
        }
    })
}

/// Where instances of a class have their dictionary, if that is a field of their own: an offset in bytes.
#[inline]
pub(crate) unsafe fn dict_place(class: *mut PyTypeObject) -> Option<Py_ssize_t> {
    // SAFETY: a live class.
    let class = unsafe { &*class };
    (class.tp_dictoffset > 0 && class.tp_flags & MANAGED_DICT == 0).then_some(class.tp_dictoffset)
}

/// The dictionary of an object that has one already, in a field of its own.
#[inline]
unsafe fn own_dict(obj: *mut PyObject) -> Option<*mut PyObject> {
    // SAFETY: a live object, whose class says where its dictionary is.
    unsafe {
        let offset = dict_place(ffi::Py_TYPE(obj))?;
        let dict = obj.cast::<u8>().offset(offset).cast::<*mut PyObject>();
        Some(dict.read()).filter(|dict| !dict.is_null())
    }
}

/// Whether a class has something for a name that takes what is written to it.
#[inline]
pub(crate) unsafe fn is_written_by_class(class: *mut PyTypeObject, name: *mut PyObject) -> bool {
    // SAFETY: a live class and a string, which are looked at without running code.
    unsafe {
        let found = _PyType_Lookup(class, name);
        !found.is_null() && (*ffi::Py_TYPE(found)).tp_descr_set.is_some()
    }
}

/// Calls `write` with the first argument and each pair that follows, up to an error.
#[inline]
unsafe fn each_pair(
    args: *mut *mut PyObject,
    nargs: Py_ssize_t,
    write: impl Fn(*mut PyObject, *mut PyObject, *mut PyObject) -> c_int,
) -> *mut PyObject {
    // SAFETY: the caller has an odd number of arguments.
    unsafe {
        for i in (1..nargs as usize).step_by(2) {
            let status = write(*args, *args.add(i), *args.add(i + 1));
            if status != 0 {
                return done(status);
            }
        }
        done(0)
    }
}

unsafe extern "C" fn set_item(
    _: *mut PyObject,
    args: *mut *mut PyObject,
    nargs: Py_ssize_t,
) -> *mut PyObject {
    contained_or_raise("`set_item` of residual code", || {
        // SAFETY: as above; the dictionary is checked.
        unsafe {
            if nargs % 2 == 0 || ffi::PyDict_Check(*args) == 0 {
                return refuse();
            }
            each_pair(args, nargs, |dict, key, value| {
                ffi::PyDict_SetItem(dict, key, value)
            })
        }
    })
}

unsafe extern "C" fn set_ordered_item(
    _: *mut PyObject,
    args: *mut *mut PyObject,
    nargs: Py_ssize_t,
) -> *mut PyObject {
    contained_or_raise("`set_ordered_item` of residual code", || {
        // SAFETY: as above; the dictionary is checked, and an ordered one has the method.
        unsafe {
            let ordered = &raw mut PyODict_Type;
            if nargs % 2 == 0 || ffi::PyType_IsSubtype(ffi::Py_TYPE(*args), ordered) == 0 {
                return refuse();
            }
            let set = (*ordered).tp_as_mapping.as_ref();
            match set.and_then(|mapping| mapping.mp_ass_subscript) {
                Some(set) => each_pair(args, nargs, |dict, key, value| set(dict, key, value)),
                None => refuse(),
            }
        }
    })
}
