//! Calls of modules whose `forward` is an entry: what `__call__` of such a class does, and its type's `tp_call`.
//!
//! Invariant: where torch's `Module.__call__` would be more than the call of `forward`, the Python function that the
//! entry was made with runs.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use cpython_abi::thread_end::{MayEnd, waits};
use pyo3::ffi::{self, Py_ssize_t, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyType;
use smallvec::SmallVec;
use torch_abi::TorchAbi;
use torch_abi::modules::{Forward, ModuleCalls};

use eval_frame::call::{call_contained, call_sharing, raise_cleared};
use eval_frame::entry::{Entry, EntryKind, make_other};
use eval_frame::entry_type;
use eval_frame::region::{ThreadRegions, with_thread};

/// What the type that [`call_directly`] was told of had in its place.
static GENERIC: AtomicUsize = AtomicUsize::new(0);

/// The names of the last call with keywords: the same ones come again and again. Owned.
static NAMES: AtomicPtr<PyObject> = AtomicPtr::new(ptr::null_mut());

/// Calls of instances of `class`, whose `__call__` is an entry, find `forward` at once: no look-up of
/// `__call__`, and no copy of the arguments with the instance in front. Subclasses, and the class itself once
/// something else is its `__call__`, get CPython's `slot_tp_call` back; so does the class when its bases change,
/// after which this may be called again.
pub(crate) fn call_directly(class: &Bound<'_, PyType>) {
    // SAFETY: a live class, made by a `class` statement; the GIL is held, and one function takes the place
    // of another of the same type.
    unsafe {
        let class = &mut *class.as_type_ptr();
        if let Some(generic) = class.tp_call
            && generic as usize != call_instance as *const () as usize
        {
            GENERIC.store(generic as usize, Ordering::Relaxed);
            class.tp_call = Some(call_instance);
        }
    }
}

unsafe extern "C" fn call_instance(
    module: *mut PyObject,
    args: *mut PyObject,
    kwargs: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: what `call_directly` has replaced, with the arguments that are meant for it.
    let call_generically = || unsafe {
        let generic = GENERIC.load(Ordering::Relaxed);
        let generic: ffi::ternaryfunc = std::mem::transmute(generic);
        waits(|| generic.may_end()(module, args, kwargs))
    };
    // SAFETY: called by the interpreter with a tuple, and a dictionary or null.
    let body = |thread: &ThreadRegions| unsafe {
        let Some(forward) = entry_forward(module) else {
            thread.starts();
            return call_generically();
        };
        thread.starts();
        let count = ffi::PyTuple_GET_SIZE(args) as usize;
        let positional = args.cast::<ffi::PyTupleObject>();
        let positional = (&raw const (*positional).ob_item).cast::<*mut PyObject>();
        let named = match kwargs.is_null() {
            true => 0,
            false => ffi::PyDict_Size(kwargs) as usize,
        };
        if named == 0 {
            return call_forward(forward, positional, count, ptr::null_mut());
        }
        let shared = held(forward, || {
            call_sharing(&*forward, positional, count, kwargs)
        });
        if let Some(result) = shared {
            return result;
        }
        let mut stack = SmallVec::<[*mut PyObject; 12]>::new();
        stack.extend_from_slice(std::slice::from_raw_parts(positional, count));
        // Somebody else may hold the dictionary, and change it during the call.
        let names = names_of(kwargs, named, |value| stack.push(ffi::Py_NewRef(value)));
        if names.is_null() {
            for value in &stack[count..] {
                ffi::Py_DECREF(*value);
            }
            return names;
        }
        let result = call_forward(forward, stack.as_ptr(), count, names);
        ffi::Py_DECREF(names);
        for value in &stack[count..] {
            ffi::Py_DECREF(*value);
        }
        result
    };
    // SAFETY: called by the interpreter with the GIL held.
    let plain = || unsafe {
        ffi::PyErr_Clear();
        call_generically()
    };
    // SAFETY: as above.
    with_thread(|thread| unsafe {
        thread.contained("the call of a module", plain, || body(thread))
    })
}

/// The keys of a dictionary of keywords as a tuple, a new reference, or null with an exception; `each` gets
/// the values.
unsafe fn names_of(
    kwargs: *mut PyObject,
    count: usize,
    mut each: impl FnMut(*mut PyObject),
) -> *mut PyObject {
    // SAFETY: required of the caller: a dictionary with this many keys, which nothing changes here.
    unsafe {
        let known = NAMES.load(Ordering::Relaxed);
        let mut fits = !known.is_null() && ffi::PyTuple_GET_SIZE(known) as usize == count;
        let mut keys = SmallVec::<[*mut PyObject; 12]>::new();
        let (mut at, mut key, mut value) = (0, ptr::null_mut(), ptr::null_mut());
        while ffi::PyDict_Next(kwargs, &mut at, &mut key, &mut value) != 0 {
            let i = keys.len() as Py_ssize_t;
            fits = fits && ffi::PyTuple_GET_ITEM(known, i) == key;
            keys.push(key);
            each(value);
        }
        if fits {
            return ffi::Py_NewRef(known);
        }
        for key in &keys {
            if ffi::PyUnicode_Check(*key) == 0 {
                ffi::PyErr_SetString(ffi::PyExc_TypeError, c"keywords must be strings".as_ptr());
                return ptr::null_mut();
            }
        }
        let names = ffi::PyTuple_New(count as Py_ssize_t);
        if names.is_null() {
            return names;
        }
        for (i, key) in keys.iter().enumerate() {
            ffi::PyTuple_SET_ITEM(names, i as Py_ssize_t, ffi::Py_NewRef(*key));
        }
        let before = NAMES.swap(ffi::Py_NewRef(names), Ordering::Relaxed);
        ffi::Py_XDECREF(before);
        names
    }
}

/// `__call__` of a class of modules whose instances have an entry for their `forward`. `function` is what runs where
/// there is more to a call.
///
/// # Errors
/// `MemoryError`.
pub(crate) fn make<'py>(function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    ModuleCalls::get(function.py());
    // SAFETY: a vectorcall, and a text with one place.
    unsafe {
        make_other(
            function,
            call_module,
            c"<ferrodyn's call of modules, for %R>",
        )
    }
}

/// The vectorcall of the entry that is such a class's `__call__`: where the call of a module is only that of its
/// `forward`, and this is an entry, it is called at once.
unsafe extern "C" fn call_module(
    entry: *mut PyObject,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `call_compiled`.
    unsafe {
        let this = &*entry.cast::<Entry>();
        let body = |thread: &ThreadRegions| {
            let count = ffi::PyVectorcall_NARGS(nargsf) as usize;
            if count > 0
                && let Some(forward) = entry_forward(*args)
            {
                thread.starts();
                return call_forward(forward, args.add(1), count - 1, kwnames);
            }
            let Some(callable) = this.callable(Python::assume_attached()) else {
                return raise_cleared();
            };
            thread.starts();
            ffi::PyObject_Vectorcall(callable.as_ptr(), args, nargsf, kwnames)
        };
        call_contained(
            "the call of a class of modules",
            this,
            args,
            nargsf,
            kwnames,
            body,
        )
    }
}

/// Calls an entry that a module has for its `forward`.
#[inline]
unsafe fn call_forward(
    forward: *mut Entry,
    args: *const *mut PyObject,
    count: usize,
    kwnames: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: required of the caller: a live entry and the arguments of a vectorcall.
    unsafe {
        let call = (*forward).vectorcall();
        held(forward, || call(forward.cast(), args, count, kwnames))
    }
}

/// Runs a call of an entry that is kept alive meanwhile: a module keeps its `forward` only until something else is
/// set.
#[inline]
unsafe fn held<R>(forward: *mut Entry, call: impl FnOnce() -> R) -> R {
    // SAFETY: required of the caller: a live entry, with the GIL held.
    unsafe {
        let forward = ffi::Py_NewRef(forward.cast());
        let result = call();
        ffi::Py_DECREF(forward);
        result
    }
}

/// What is known of torch's insides. Before the first translation nothing has looked at them: that is done now.
#[inline]
pub(crate) fn loaded_abi() -> Option<&'static TorchAbi> {
    #[cold]
    fn load() -> Option<&'static TorchAbi> {
        // A torch that is not supported is told of by the first translation.
        Python::try_attach(|py| TorchAbi::get(py).is_ok());
        TorchAbi::loaded()
    }
    TorchAbi::loaded().or_else(load)
}

/// The compiled entry that a call of `module` runs and nothing else, borrowed.
#[inline]
unsafe fn entry_forward(module: *mut PyObject) -> Option<*mut Entry> {
    // SAFETY: the caller of a method keeps its instance alive; the type is checked before the entry
    // is looked into.
    unsafe {
        let (calls, abi) = (ModuleCalls::loaded()?, loaded_abi()?);
        let Forward::Own(own) = calls.forward(abi, module)? else {
            return None;
        };
        let entry = entry_type::is_entry_class(ffi::Py_TYPE(own)).then(|| own.cast::<Entry>())?;
        ((*entry).kind() == EntryKind::Compiled).then_some(entry)
    }
}
