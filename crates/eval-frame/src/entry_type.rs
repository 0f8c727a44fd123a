//! The Python types of entries: attributes, binding, pickling, garbage collection.
//!
//! Not here: calling (`entry`). There are two types with the same layout: one
//! for functions, which binds like a function (`METHOD_DESCRIPTOR`), and one for
//! every other callable, which binds as that callable does. Reading an attribute
//! that the entry does not have reads the callable's; setting one sets the
//! entry's own, except what makes a function a function (`__code__`, defaults),
//! which goes to the function.

use std::ffi::{CStr, c_int, c_void};
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use cpython_abi::panics::{contained, contained_or_raise};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{self, PyObject, PyTypeObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use crate::bound_inputs::BoundInputs;
use crate::direct::CallMemo;
use crate::entry::{Entry, EntryKind};
use cpython_abi::symbols::PyMethod_New;
use cpython_abi::thread_end::{MayEnd, waits};

/// Which of the two types.
#[derive(Clone, Copy)]
pub(crate) enum EntryType {
    /// Of a Python function.
    Function,
    /// Of any other callable.
    Callable,
}

static FUNCTION: AtomicPtr<PyTypeObject> = AtomicPtr::new(ptr::null_mut());
static CALLABLE: AtomicPtr<PyTypeObject> = AtomicPtr::new(ptr::null_mut());

struct Names {
    own_module: Py<PyString>,
    own_doc: Py<PyString>,
    wrapped: Py<PyString>,
    to_function: [Py<PyString>; 5],
}

static NAMES: PyOnceLock<Names> = PyOnceLock::new();

/// Makes the types, with `more` attributes, and adds them to `module`; once, at import.
pub(crate) fn initialise(module: &Bound<'_, PyModule>, more: &'static [Attribute]) -> PyResult<()> {
    let py = module.py();
    let intern = |name| PyString::intern(py, name).unbind();
    NAMES.get_or_init(py, || Names {
        own_module: intern("__module__"),
        own_doc: intern("__doc__"),
        wrapped: intern("__wrapped__"),
        to_function: [
            intern("__code__"),
            intern("__defaults__"),
            intern("__kwdefaults__"),
            intern("__annotations__"),
            intern("__type_params__"),
        ],
    });
    if FUNCTION.load(Ordering::Relaxed).is_null() {
        let getsets = getsets(more);
        let function = make_type(
            py,
            c"ferrodyn._core.CompiledFunction",
            ffi::Py_TPFLAGS_METHOD_DESCRIPTOR,
            bind_function as *mut c_void,
            getsets,
        )?;
        let callable = make_type(
            py,
            c"ferrodyn._core.CompiledCallable",
            0,
            bind_callable as *mut c_void,
            getsets,
        )?;
        FUNCTION.store(function.into_ptr().cast(), Ordering::Release);
        CALLABLE.store(callable.into_ptr().cast(), Ordering::Release);
    }
    for (name, class) in [
        ("CompiledFunction", &FUNCTION),
        ("CompiledCallable", &CALLABLE),
    ] {
        // SAFETY: the types are made and never freed.
        let class = unsafe { Bound::from_borrowed_ptr(py, class.load(Ordering::Acquire).cast()) };
        module.add(name, class)?;
    }
    Ok(())
}

/// Static tables that CPython keeps pointers to; they are never changed.
struct Table<T>(T);

// SAFETY: the tables hold constant names and functions, and are only read.
unsafe impl<T> Sync for Table<T> {}

static MEMBERS: Table<[ffi::PyMemberDef; 4]> = Table([
    offset_member(c"__vectorcalloffset__", offset_of!(Entry, vectorcall)),
    offset_member(c"__dictoffset__", offset_of!(Entry, dict)),
    offset_member(c"__weaklistoffset__", offset_of!(Entry, weakrefs)),
    NO_MEMBER,
]);

const NO_MEMBER: ffi::PyMemberDef = ffi::PyMemberDef {
    name: ptr::null(),
    type_code: 0,
    offset: 0,
    flags: 0,
    doc: ptr::null(),
};

const fn offset_member(name: &'static CStr, offset: usize) -> ffi::PyMemberDef {
    ffi::PyMemberDef {
        name: name.as_ptr(),
        type_code: ffi::Py_T_PYSSIZET,
        offset: offset as ffi::Py_ssize_t,
        flags: ffi::Py_READONLY,
        doc: ptr::null(),
    }
}

/// An attribute that all entries have, beside those that Python's functions have.
pub struct Attribute {
    /// Its name.
    pub name: &'static CStr,
    /// Its value for an entry.
    pub get: for<'py> fn(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
}

/// The table of computed attributes, which the types keep a pointer to.
fn getsets(more: &'static [Attribute]) -> &'static [ffi::PyGetSetDef] {
    let more = more.iter().map(|attribute| ffi::PyGetSetDef {
        name: attribute.name.as_ptr(),
        get: Some(get_more),
        set: None,
        doc: ptr::null(),
        closure: ptr::from_ref(attribute).cast_mut().cast(),
    });
    let own = ffi::PyGetSetDef {
        name: c"__dict__".as_ptr(),
        get: Some(ffi::PyObject_GenericGetDict),
        set: Some(ffi::PyObject_GenericSetDict),
        doc: ptr::null(),
        closure: ptr::null_mut(),
    };
    let end = ffi::PyGetSetDef {
        name: ptr::null(),
        get: None,
        set: None,
        doc: ptr::null(),
        closure: ptr::null_mut(),
    };
    Vec::leak(more.chain([own, end]).collect())
}

static METHODS: Table<[ffi::PyMethodDef; 2]> = Table([
    ffi::PyMethodDef {
        ml_name: c"__reduce__".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            PyCFunction: reduce,
        },
        ml_flags: ffi::METH_NOARGS,
        ml_doc: ptr::null(),
    },
    ffi::PyMethodDef::zeroed(),
]);

fn make_type<'py>(
    py: Python<'py>,
    name: &'static CStr,
    flags: std::ffi::c_ulong,
    bind: *mut c_void,
    getsets: &'static [ffi::PyGetSetDef],
) -> PyResult<Bound<'py, PyAny>> {
    let slot = |slot: c_int, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_traverse, traverse as *mut c_void),
        slot(ffi::Py_tp_clear, clear as *mut c_void),
        slot(ffi::Py_tp_call, ffi::PyVectorcall_Call as *mut c_void),
        slot(ffi::Py_tp_repr, repr as *mut c_void),
        slot(ffi::Py_tp_getattro, get_attribute as *mut c_void),
        slot(ffi::Py_tp_setattro, set_attribute as *mut c_void),
        slot(ffi::Py_tp_descr_get, bind),
        slot(ffi::Py_tp_members, MEMBERS.0.as_ptr() as *mut c_void),
        slot(ffi::Py_tp_getset, getsets.as_ptr() as *mut c_void),
        slot(ffi::Py_tp_methods, METHODS.0.as_ptr() as *mut c_void),
        slot(0, ptr::null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: name.as_ptr(),
        basicsize: size_of::<Entry>() as c_int,
        itemsize: 0,
        flags: (ffi::Py_TPFLAGS_DEFAULT
            | ffi::Py_TPFLAGS_HAVE_GC
            | ffi::Py_TPFLAGS_HAVE_VECTORCALL
            | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION
            | ffi::Py_TPFLAGS_IMMUTABLETYPE
            | flags) as std::ffi::c_uint,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the spec is complete, its tables are static, and its functions have the types that
    // their slots ask for.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&mut spec)) }
}

/// A zeroed entry of a type.
pub(crate) fn allocate(py: Python<'_>, class: EntryType) -> PyResult<Bound<'_, PyAny>> {
    let class = match class {
        EntryType::Function => &FUNCTION,
        EntryType::Callable => &CALLABLE,
    }
    .load(Ordering::Acquire);
    // SAFETY: the type is made at import; its allocator zeroes what follows the header. A zeroed
    // `Entry` is valid: null pointers, and `EntryKind` 0.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_GenericAlloc(class, 0)) }
}

fn as_entry<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a Entry> {
    // SAFETY: both types have this layout and cannot be subclassed.
    is_entry_class(object.get_type_ptr()).then(|| unsafe { &*object.as_ptr().cast::<Entry>() })
}

/// Whether instances of a class are entries.
#[inline]
pub fn is_entry_class(class: *mut PyTypeObject) -> bool {
    class == FUNCTION.load(Ordering::Relaxed) || class == CALLABLE.load(Ordering::Relaxed)
}

/// Whether `object` is an entry, of either kind.
pub fn is_entry(object: &Bound<'_, PyAny>) -> bool {
    as_entry(object).is_some()
}

/// What an entry wraps; `None` where `object` is no entry.
pub fn wrapped<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let entry = as_entry(object)?;
    // SAFETY: the entry owns its callable, or has null.
    unsafe { Bound::from_borrowed_ptr_or_opt(object.py(), entry.callable) }
}

/// The context of a compiled entry; `None` for a disabled one and for other objects.
pub fn context_of<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let entry = as_entry(object)?;
    // SAFETY: the entry owns its context, or has null.
    unsafe { Bound::from_borrowed_ptr_or_opt(object.py(), entry.context) }
}

/// What a compiled entry wraps; `None` for a disabled one and for other objects.
pub fn compiled_target<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    if as_entry(object)?.kind == EntryKind::Compiled {
        wrapped(object)
    } else {
        None
    }
}

/// Marks the entry of a coroutine function, so that `inspect.iscoroutinefunction` knows it
/// (Python 3.12 and later have the mark).
pub(crate) fn mark_coroutine(entry: &Bound<'_, PyAny>) -> PyResult<()> {
    let Some(raw) = as_entry(entry) else {
        return Ok(());
    };
    if !cfg!(Py_3_12) || raw.func.is_null() {
        return Ok(());
    }
    // SAFETY: the entry owns the function, and a function its code.
    let flags = unsafe { (*(*raw.func).func_code.cast::<cpython_abi::code::RawCode>()).flags };
    if flags & ffi::CO_COROUTINE != 0 {
        let inspect = entry.py().import("inspect")?;
        inspect.call_method1("markcoroutinefunction", (entry,))?;
    }
    Ok(())
}

unsafe extern "C" fn dealloc(object: *mut PyObject) {
    contained(
        "the end of an entry",
        || (),
        || {
            // SAFETY: called once, by the last release, with the GIL held.
            unsafe {
                ffi::PyObject_GC_UnTrack(object.cast());
                if !(*object.cast::<Entry>()).weakrefs.is_null() {
                    ffi::PyObject_ClearWeakRefs(object);
                }
                clear(object);
                let memo = ptr::replace(&raw mut (*object.cast::<Entry>()).memo, ptr::null_mut());
                if !memo.is_null() {
                    drop(Box::from_raw(memo));
                }
                let class = ffi::Py_TYPE(object);
                let free = (*class).tp_free.expect("a heap type has tp_free");
                free(object.cast());
                ffi::Py_DECREF(class.cast());
            }
        },
    )
}

unsafe extern "C" fn traverse(
    object: *mut PyObject,
    visit: ffi::visitproc,
    arg: *mut c_void,
) -> c_int {
    contained(
        "a look through an entry for the garbage collector",
        || 0,
        || {
            // SAFETY: called by the garbage collector on an entry; only owned references are visited.
            unsafe {
                let entry = &*object.cast::<Entry>();
                let owned = [
                    ffi::Py_TYPE(object).cast::<PyObject>(),
                    entry.callable,
                    entry.context,
                    entry.dict,
                ];
                // No object is made while the memo is changed, so the collector never comes in between.
                let remembered = entry.memo.as_ref().map(|memo| &*memo.as_ptr());
                let remembered = remembered.into_iter().flat_map(CallMemo::references);
                let inputs = entry.inputs.as_ref().into_iter();
                let inputs = inputs.flat_map(BoundInputs::references);
                for reference in owned.into_iter().chain(remembered).chain(inputs) {
                    if !reference.is_null() {
                        let result = visit(reference, arg);
                        if result != 0 {
                            return result;
                        }
                    }
                }
            }
            0
        },
    )
}

unsafe extern "C" fn clear(object: *mut PyObject) -> c_int {
    contained(
        "the clearing of an entry",
        || 0,
        || {
            // SAFETY: called on an entry with the GIL held. Fields are emptied before their references are
            // released, because releasing may run code that sees the entry.
            unsafe {
                let entry = object.cast::<Entry>();
                (*entry).func = ptr::null_mut();
                (*entry).settings = ptr::null();
                let owned = [
                    ptr::replace(&raw mut (*entry).callable, ptr::null_mut()),
                    ptr::replace(&raw mut (*entry).context, ptr::null_mut()),
                    ptr::replace(&raw mut (*entry).dict, ptr::null_mut()),
                ];
                for reference in owned {
                    ffi::Py_XDECREF(reference);
                }
                if let Some(memo) = (*entry).memo.as_ref() {
                    drop(memo.take());
                }
                let inputs = ptr::replace(&raw mut (*entry).inputs, ptr::null_mut());
                if !inputs.is_null() {
                    // At once: dropped without PyO3 attached, they would wait for the next time it is.
                    for reference in Box::from_raw(inputs).into_references() {
                        ffi::Py_DECREF(reference);
                    }
                }
            }
            0
        },
    )
}

/// Runs Python-level code of a slot; an error, or no attaching because the interpreter shuts
/// down, becomes an exception and null.
fn in_slot(body: impl FnOnce(Python<'_>) -> PyResult<*mut PyObject>) -> *mut PyObject {
    let result = Python::try_attach(|py| {
        body(py).unwrap_or_else(|error| {
            error.restore(py);
            ptr::null_mut()
        })
    });
    result.unwrap_or_else(|| {
        const LATE: &CStr = c"the interpreter is shutting down";
        // SAFETY: a slot is called with the GIL held.
        unsafe { ffi::PyErr_SetString(ffi::PyExc_RuntimeError, LATE.as_ptr()) };
        ptr::null_mut()
    })
}

unsafe extern "C" fn bind_function(
    object: *mut PyObject,
    instance: *mut PyObject,
    _owner: *mut PyObject,
) -> *mut PyObject {
    contained_or_raise("the binding of an entry", || {
        // SAFETY: called by the attribute protocol with the GIL held.
        unsafe {
            if instance.is_null() || instance == ffi::Py_None() {
                ffi::Py_NewRef(object)
            } else {
                PyMethod_New(object, instance)
            }
        }
    })
}

unsafe extern "C" fn bind_callable(
    object: *mut PyObject,
    instance: *mut PyObject,
    owner: *mut PyObject,
) -> *mut PyObject {
    contained_or_raise("the binding of a callable's entry", || {
        // SAFETY: called by the attribute protocol with the GIL held, on an entry.
        unsafe {
            let callable = (*object.cast::<Entry>()).callable;
            if callable.is_null() {
                return ffi::Py_NewRef(object);
            }
            let class = ffi::Py_TYPE(callable);
            let Some(bind) = (*class).tp_descr_get else {
                return ffi::Py_NewRef(object);
            };
            let bound = waits(|| bind.may_end()(callable, instance, owner));
            if bound == callable || bound.is_null() {
                ffi::Py_XDECREF(bound);
                return if bound.is_null() {
                    bound
                } else {
                    ffi::Py_NewRef(object)
                };
            }
            in_slot(|py| {
                let bound = Bound::from_owned_ptr(py, bound);
                let this = Bound::from_borrowed_ptr(py, object);
                let entry = match context_of(&this) {
                    Some(context) => crate::entry::make_compiled(&bound, &context.cast_into()?),
                    None => crate::entry::make_disabled(&bound),
                };
                entry.map(Bound::into_ptr)
            })
        }
    })
}

unsafe extern "C" fn repr(object: *mut PyObject) -> *mut PyObject {
    contained_or_raise("the text of an entry", || {
        // SAFETY: called with the GIL held on an entry; the format's arguments are objects.
        unsafe {
            let entry = &*object.cast::<Entry>();
            if entry.callable.is_null() {
                return ffi::PyUnicode_FromString(c"<cleared ferrodyn entry>".as_ptr());
            }
            let format = match entry.kind {
                EntryKind::Other if !entry.text.is_null() => CStr::from_ptr(entry.text),
                EntryKind::Other => c"<an entry of %R>",
                EntryKind::Compiled | EntryKind::Resume => c"<ferrodyn.compile of %R>",
                EntryKind::Disabled => c"<ferrodyn.disable of %R>",
                EntryKind::Graph => c"<ferrodyn's call of %R>",
            };
            ffi::PyUnicode_FromFormat(format.as_ptr(), entry.callable)
        }
    })
}

/// Whether `name` is this interned or equal string.
unsafe fn is_name(name: *mut PyObject, known: &Py<PyString>) -> bool {
    // SAFETY: both are strings, as attribute names are.
    name == known.as_ptr() || unsafe { ffi::PyUnicode_Compare(name, known.as_ptr()) } == 0
}

unsafe extern "C" fn get_attribute(object: *mut PyObject, name: *mut PyObject) -> *mut PyObject {
    contained_or_raise("the reading of an attribute of an entry", || {
        // SAFETY: called by the attribute protocol with the GIL held, on an entry, with a string.
        unsafe {
            let entry = &*object.cast::<Entry>();
            if !entry.dict.is_null() {
                let own = ffi::PyDict_GetItemWithError(entry.dict, name);
                if !own.is_null() {
                    return ffi::Py_NewRef(own);
                }
                if !ffi::PyErr_Occurred().is_null() {
                    return ptr::null_mut();
                }
            }
            let names = NAMES
                .get(Python::assume_attached())
                .expect("made at import");
            if !entry.callable.is_null() {
                if is_name(name, &names.wrapped) {
                    return ffi::Py_NewRef(entry.callable);
                }
                if is_name(name, &names.own_module) || is_name(name, &names.own_doc) {
                    return ffi::PyObject_GetAttr(entry.callable, name);
                }
            }
            let found = ffi::PyObject_GenericGetAttr(object, name);
            if found.is_null()
                && !entry.callable.is_null()
                && ffi::PyErr_ExceptionMatches(ffi::PyExc_AttributeError) != 0
            {
                ffi::PyErr_Clear();
                return ffi::PyObject_GetAttr(entry.callable, name);
            }
            found
        }
    })
}

unsafe extern "C" fn set_attribute(
    object: *mut PyObject,
    name: *mut PyObject,
    value: *mut PyObject,
) -> c_int {
    contained_or_raise("the setting of an attribute of an entry", || {
        // SAFETY: called by the attribute protocol with the GIL held, on an entry, with a string.
        unsafe {
            let entry = &*object.cast::<Entry>();
            let names = NAMES
                .get(Python::assume_attached())
                .expect("made at import");
            if !entry.func.is_null() && names.to_function.iter().any(|known| is_name(name, known)) {
                return ffi::PyObject_SetAttr(entry.callable, name, value);
            }
            ffi::PyObject_GenericSetAttr(object, name, value)
        }
    })
}

/// Gives what an [`Attribute`] is.
unsafe extern "C" fn get_more(object: *mut PyObject, attribute: *mut c_void) -> *mut PyObject {
    contained_or_raise("the reading of an attribute of a compiled entry", || {
        in_slot(|py| {
            // SAFETY: called with the GIL held on an entry; `make_type` has put the attribute there.
            let (this, attribute) = unsafe {
                let this = Bound::from_borrowed_ptr(py, object);
                (this, &*attribute.cast::<Attribute>())
            };
            (attribute.get)(&this).map(Bound::into_ptr)
        })
    })
}

/// Pickles and copies by reference, as functions do: the name under which it is found.
unsafe extern "C" fn reduce(object: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    contained_or_raise("the pickling of an entry", || {
        in_slot(|py| {
            // SAFETY: called with the GIL held on an entry.
            let this = unsafe { Bound::from_borrowed_ptr(py, object) };
            this.getattr("__qualname__")
                .or_else(|_| this.getattr("__name__"))
                .and_then(|name| Ok(name.cast_into::<PyString>()?.into_ptr()))
                .map_err(|_| {
                    PyTypeError::new_err(format!("cannot pickle {this:?}: it has no name"))
                })
        })
    })
}
