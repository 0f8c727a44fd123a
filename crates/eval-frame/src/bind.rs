//! Binding the arguments of a call to the fast locals that a frame of the function would begin with.
//!
//! Follows what `initialize_locals` of CPython's `ceval.c` does for calls that it accepts. A call that
//! it would refuse is not bound here: Python is left to raise the error.

use pyo3::ffi::{self, Py_ssize_t, PyObject};
use smallvec::SmallVec;

use crate::frame::is_plain_function;
use cpython_abi::code::RawCode;

/// The arguments of a vectorcall, borrowed from the caller.
#[derive(Clone, Copy)]
pub(crate) struct Arguments {
    /// An object that comes before all others, or null.
    pub receiver: *mut PyObject,
    pub args: *const *mut PyObject,
    pub positional: usize,
    /// A tuple of strings, or null.
    pub kwnames: *mut PyObject,
    /// A dictionary of the caller's with all keywords, in place of `kwnames` and their values, or null. It becomes
    /// the function's `**kwargs` as it is.
    pub keywords: *mut PyObject,
}

/// Fast locals, each bound, with the `*args` tuple and the `**kwargs` dict that were made for them, and
/// references to what the caller does not keep alive: the receiver and defaults may be replaced during the call.
pub(crate) struct Locals {
    slots: SmallVec<[*mut PyObject; 12]>,
    owned: SmallVec<[*mut PyObject; 4]>,
}

impl Locals {
    /// Objects that live for as long as this and the call's arguments, none of them null.
    #[inline]
    pub fn slots(&self) -> &[*mut PyObject] {
        &self.slots
    }

    unsafe fn own(&mut self, object: *mut PyObject) -> Option<*mut PyObject> {
        if object.is_null() {
            // SAFETY: the GIL is held; Python will run out of memory on its own account.
            unsafe { ffi::PyErr_Clear() };
            return None;
        }
        self.owned.push(object);
        Some(object)
    }
}

impl Drop for Locals {
    fn drop(&mut self) {
        for object in self.owned.drain(..) {
            // SAFETY: owned since `bind`, released once, with the GIL held.
            unsafe { ffi::Py_DECREF(object) };
        }
    }
}

/// Whether the positional arguments are the fast locals of a frame of `code`, as they are.
#[inline]
pub(crate) fn binds_plainly(code: &RawCode, call: &Arguments) -> bool {
    call.receiver.is_null()
        && call.kwnames.is_null()
        && code.argcount as usize == call.positional
        && code.kwonly == 0
        && code.flags & (ffi::CO_VARARGS | ffi::CO_VARKEYWORDS) == 0
        && is_plain_function(code.flags)
}

/// Binds a call; `None` where Python refuses it, or where it makes no plain frame.
///
/// # Safety
/// The GIL is held, `code` is the code of `func`, and the arguments are as the vectorcall protocol has
/// them.
pub(crate) unsafe fn bind(
    func: &ffi::PyFunctionObject,
    code: &RawCode,
    call: &Arguments,
) -> Option<Locals> {
    let takes_keywords = code.flags & ffi::CO_VARKEYWORDS != 0;
    if !is_plain_function(code.flags) || (!call.keywords.is_null() && !takes_keywords) {
        return None;
    }
    let (positional, named) = (code.argcount as usize, code.kwonly as usize);
    let total = positional + named;
    let mut locals = Locals {
        slots: SmallVec::new(),
        owned: SmallVec::new(),
    };
    // SAFETY: required of the caller; `args` may be null where there are no arguments.
    unsafe {
        let given = match call.positional {
            0 => &[][..],
            n => std::slice::from_raw_parts(call.args, n),
        };
        let receiver = (!call.receiver.is_null()).then_some(&call.receiver);
        locals
            .owned
            .extend(receiver.map(|receiver| ffi::Py_NewRef(*receiver)));
        let mut given = receiver.into_iter().chain(given).copied();
        locals.slots.extend(given.by_ref().take(positional));
        let bound = locals.slots.len();
        let rest: SmallVec<[*mut PyObject; 8]> = given.collect();
        locals.slots.resize(total, std::ptr::null_mut());
        if code.flags & ffi::CO_VARARGS != 0 {
            let tuple = locals.own(tuple_of(&rest))?;
            locals.slots.push(tuple);
        } else if !rest.is_empty() {
            return None;
        }
        let keywords = match takes_keywords {
            false => std::ptr::null_mut(),
            true => {
                let dict = match call.keywords.is_null() {
                    true => locals.own(ffi::PyDict_New())?,
                    false => call.keywords,
                };
                locals.slots.push(dict);
                dict
            }
        };
        if !call.keywords.is_null() && !names_no_argument(code, total, call.keywords) {
            return None;
        }
        if !call.kwnames.is_null() {
            let values = match call.positional {
                0 => call.args,
                n => call.args.add(n),
            };
            for i in 0..ffi::PyTuple_GET_SIZE(call.kwnames) {
                let name = ffi::PyTuple_GET_ITEM(call.kwnames, i);
                let value = *values.add(i as usize);
                match argument_named(code, total, name)? {
                    Some(index) if locals.slots[index].is_null() => locals.slots[index] = value,
                    Some(_) => return None,
                    None if keywords.is_null() => return None,
                    None if ffi::PyDict_SetItem(keywords, name, value) != 0 => {
                        ffi::PyErr_Clear();
                        return None;
                    }
                    None => {}
                }
            }
        }
        fill_defaults(func, code, bound, &mut locals)?;
    }
    Some(locals)
}

/// A new tuple of borrowed objects, or null.
unsafe fn tuple_of(items: &[*mut PyObject]) -> *mut PyObject {
    // SAFETY: live objects; a fresh tuple takes a new reference to each.
    unsafe {
        let tuple = ffi::PyTuple_New(items.len() as Py_ssize_t);
        if !tuple.is_null() {
            for (i, item) in items.iter().enumerate() {
                ffi::PyTuple_SET_ITEM(tuple, i as Py_ssize_t, ffi::Py_NewRef(*item));
            }
        }
        tuple
    }
}

/// The index of the argument that may be passed as `name`, if there is one; `None` outside where
/// `name` is no plain string.
unsafe fn argument_named(
    code: &RawCode,
    total: usize,
    name: *mut PyObject,
) -> Option<Option<usize>> {
    let range = code.posonly as usize..total;
    // SAFETY: `co_localsplusnames` is a tuple of at least `total` strings.
    unsafe {
        let at = |i: usize| ffi::PyTuple_GET_ITEM(code.localsplusnames, i as Py_ssize_t);
        if let Some(index) = range.clone().find(|i| at(*i) == name) {
            return Some(Some(index));
        }
        if ffi::PyUnicode_CheckExact(name) == 0 {
            return None;
        }
        let length = ffi::PyUnicode_GET_LENGTH(name);
        let is_named = |i: &usize| {
            ffi::PyUnicode_GET_LENGTH(at(*i)) == length && ffi::PyUnicode_Compare(at(*i), name) == 0
        };
        Some(range.into_iter().find(is_named))
    }
}

/// Whether no key of a dictionary is the name of an argument.
unsafe fn names_no_argument(code: &RawCode, total: usize, keywords: *mut PyObject) -> bool {
    // SAFETY: a live dictionary, which comparing strings does not change.
    unsafe {
        let (mut at, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
        while ffi::PyDict_Next(keywords, &mut at, &mut key, &mut value) != 0 {
            if argument_named(code, total, key) != Some(None) {
                return false;
            }
        }
        true
    }
}

/// Fills the arguments that were not given. `bound` positional ones were.
unsafe fn fill_defaults(
    func: &ffi::PyFunctionObject,
    code: &RawCode,
    bound: usize,
    locals: &mut Locals,
) -> Option<()> {
    let positional = code.argcount as usize;
    let total = positional + code.kwonly as usize;
    // SAFETY: `__defaults__` is a tuple or null, `__kwdefaults__` a dict or null.
    unsafe {
        let defaults = func.func_defaults;
        let count = match defaults.is_null() {
            true => 0,
            false => ffi::PyTuple_GET_SIZE(defaults) as usize,
        };
        let unbound = |slot: &(usize, &mut *mut PyObject)| slot.1.is_null();
        let Locals { slots, owned } = locals;
        let mut own = |default: *mut PyObject| {
            // The commonest ones live as long as the interpreter.
            if default != ffi::Py_None() && default != ffi::Py_True() && default != ffi::Py_False()
            {
                owned.push(ffi::Py_NewRef(default));
            }
            default
        };
        let (given, named) = slots[..total].split_at_mut(positional);
        for (i, slot) in given.iter_mut().enumerate().skip(bound).filter(unbound) {
            let index = (i + count).checked_sub(positional)?;
            *slot = own(ffi::PyTuple_GET_ITEM(defaults, index as Py_ssize_t));
        }
        for (i, slot) in named.iter_mut().enumerate().filter(unbound) {
            let i = positional + i;
            if func.func_kwdefaults.is_null() {
                return None;
            }
            let name = ffi::PyTuple_GET_ITEM(code.localsplusnames, i as Py_ssize_t);
            let value = ffi::PyDict_GetItemWithError(func.func_kwdefaults, name);
            if value.is_null() {
                ffi::PyErr_Clear();
                return None;
            }
            *slot = own(value);
        }
    }
    Some(())
}
