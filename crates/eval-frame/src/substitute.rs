//! Running other code in a frame that has not started.
//!
//! Not here: choosing the code. The frame is on top of the data stack with only
//! its arguments set, so it is retargeted where it lies; where the chunk has no
//! room for the larger frame, a function made of the new code is called and the
//! frame is discarded. Either way the interpreter's own clear-and-pop does the
//! rest, and each reference is released once.

use std::ptr;

use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi::{self, PyObject, PyThreadState};
use pyo3::prelude::*;
use pyo3::types::PyCode;

use crate::frame::is_plain_function;
use cpython_abi::code::RawCode;
use cpython_abi::frame::{Objects, RawFrame, unstarted_instr};
use cpython_abi::stack_ref::StackRef;
use cpython_abi::thread::data_stack;

pyo3::create_exception!(
    ferrodyn._core,
    ReplacementError,
    PyRuntimeError,
    "Code that cannot take the place of a frame's code."
);

/// Why a code object cannot take another's place.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SubstituteError {
    /// Arguments differ in number or kind.
    #[error("replacement code for {name} has other arguments: {field} is {found}, not {expected}")]
    Arguments {
        /// `co_qualname` of the code to replace.
        name: String,
        /// The field that differs.
        field: &'static str,
        /// Its value in the replacement.
        found: i32,
        /// Its value in the code to replace.
        expected: i32,
    },
    /// Free variables differ.
    #[error("replacement code for {name} has other free variables")]
    FreeVariables {
        /// `co_qualname` of the code to replace.
        name: String,
    },
    /// A generator, coroutine, module or class body.
    #[error("replacement code for {name} is not that of a plain function")]
    Kind {
        /// `co_qualname` of the code to replace.
        name: String,
    },
}

impl From<SubstituteError> for PyErr {
    fn from(error: SubstituteError) -> Self {
        ReplacementError::new_err(error.to_string())
    }
}

fn name_of(code: &Bound<'_, PyCode>) -> String {
    code.getattr("co_qualname")
        .and_then(|name| name.extract())
        .unwrap_or_else(|_| "?".to_owned())
}

/// Whether `replacement` can run in a frame made for `code`.
///
/// # Errors
/// Says what differs.
pub fn check(
    code: &Bound<'_, PyCode>,
    replacement: &Bound<'_, PyCode>,
) -> Result<(), SubstituteError> {
    // SAFETY: both are code objects, whose head the self-check has found as declared.
    let (old, new) = unsafe {
        (
            &*code.as_ptr().cast::<RawCode>(),
            &*replacement.as_ptr().cast::<RawCode>(),
        )
    };
    if !is_plain_function(new.flags) {
        return Err(SubstituteError::Kind {
            name: name_of(code),
        });
    }
    let variadic = ffi::CO_VARARGS | ffi::CO_VARKEYWORDS;
    let fields = [
        ("co_argcount", new.argcount, old.argcount),
        ("co_posonlyargcount", new.posonly, old.posonly),
        ("co_kwonlyargcount", new.kwonly, old.kwonly),
        (
            "co_flags of *args and **kwargs",
            new.flags & variadic,
            old.flags & variadic,
        ),
    ];
    for (field, found, expected) in fields {
        if found != expected {
            return Err(SubstituteError::Arguments {
                name: name_of(code),
                field,
                found,
                expected,
            });
        }
    }
    let free = old.nfreevars as usize;
    // SAFETY: `localsplusnames` is a tuple of `nlocalsplus` strings that ends with the free ones.
    let same_free = new.nfreevars == old.nfreevars
        && unsafe {
            (1..=free).all(|i| {
                let old = ffi::PyTuple_GET_ITEM(
                    old.localsplusnames,
                    (old.nlocalsplus as usize - i) as ffi::Py_ssize_t,
                );
                let new = ffi::PyTuple_GET_ITEM(
                    new.localsplusnames,
                    (new.nlocalsplus as usize - i) as ffi::Py_ssize_t,
                );
                old == new || ffi::PyUnicode_Compare(old, new) == 0
            })
        };
    if !same_free {
        return Err(SubstituteError::FreeVariables {
            name: name_of(code),
        });
    }
    Ok(())
}

/// Whether the data stack has room for a frame of `code` where `frame` lies.
///
/// # Safety
/// `frame` is the frame on top of the data stack of `tstate`, and `code` a code object.
#[inline]
pub(crate) unsafe fn has_room(
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    code: *mut PyObject,
) -> bool {
    // SAFETY: required of the caller.
    unsafe {
        let stack = &*data_stack(tstate);
        let old_words = (*(*frame).raw_code()).frame_words();
        let base = frame.cast::<*mut PyObject>();
        let free_words = (stack.limit as usize).wrapping_sub(base as usize) / size_of::<usize>();
        stack.top == base.wrapping_add(old_words)
            && (*code.cast::<RawCode>()).frame_words() < free_words
    }
}

/// Makes `frame` a frame of `code`, unstarted, with its arguments as they are. Takes over the
/// reference to `code`.
///
/// # Safety
/// The GIL is held, `frame` is unstarted, [`has_room`] holds for both and [`check`] has accepted
/// the pair.
#[inline]
pub(crate) unsafe fn retarget(
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    code: *mut PyObject,
) {
    // SAFETY: the words up to the new top lie in the chunk, above everything in use.
    unsafe {
        let new = &*code.cast::<RawCode>();
        let locals = RawFrame::locals_of(frame);
        for slot in new.argument_slots()..new.nlocalsplus as usize {
            locals.add(slot).write(StackRef::NULL);
        }
        (*data_stack(tstate)).top = frame.cast::<*mut PyObject>().add(new.frame_words());
        let old_code = (*frame).replace_code(code);
        (*frame).instr = unstarted_instr(code);
        RawFrame::set_words_in_use(frame, new.nlocalsplus as usize);
        old_code.release();
    }
}

/// The call that does for a frame what its replacement would have done in it.
pub(crate) struct DetachedCall {
    function: *mut PyObject,
    args: *mut PyObject,
    kwargs: *mut PyObject,
}

impl DetachedCall {
    /// Makes a function of `code` with the frame's globals and closure, and moves the arguments
    /// out of the frame. Null fields and an exception where memory is short; the frame's
    /// arguments are then as before.
    ///
    /// # Safety
    /// The GIL is held, `frame` is unstarted and [`check`] has accepted `code` for it.
    pub(crate) unsafe fn prepare(frame: *mut RawFrame, code: *mut PyObject) -> Option<Self> {
        // SAFETY: objects are owned as each call of the C API documents; the frame's function,
        // globals and locals are alive.
        unsafe {
            let raw = &*frame;
            let old = &*raw.raw_code();
            let source = &*raw.func().cast::<ffi::PyFunctionObject>();
            let mut call = DetachedCall {
                function: ffi::PyFunction_NewWithQualName(code, raw.globals, source.func_qualname),
                args: ptr::null_mut(),
                kwargs: ptr::null_mut(),
            };
            if call.function.is_null() {
                return None;
            }
            if !source.func_closure.is_null()
                && ffi::PyFunction_SetClosure(call.function, source.func_closure) != 0
            {
                return None;
            }
            let locals = Objects::of(frame, old.argument_slots());
            let (positional, rest) = locals.split_at(old.argcount as usize);
            let (kwonly, rest) = rest.split_at(old.kwonly as usize);
            let mut rest = rest.iter();
            let varargs =
                (old.flags & ffi::CO_VARARGS != 0).then(|| *rest.next().expect("a slot for *args"));
            let extra = varargs.map_or(0, |t| ffi::PyTuple_GET_SIZE(t) as usize);
            call.args = ffi::PyTuple_New((positional.len() + extra) as ffi::Py_ssize_t);
            if call.args.is_null() {
                return None;
            }
            let starred = (0..extra)
                .map(|i| ffi::PyTuple_GET_ITEM(varargs.expect("*args"), i as ffi::Py_ssize_t));
            for (i, value) in positional.iter().copied().chain(starred).enumerate() {
                ffi::Py_INCREF(value);
                ffi::PyTuple_SET_ITEM(call.args, i as ffi::Py_ssize_t, value);
            }
            call.kwargs = ffi::PyDict_New();
            if call.kwargs.is_null() {
                return None;
            }
            for (i, value) in kwonly.iter().enumerate() {
                let name = ffi::PyTuple_GET_ITEM(
                    old.localsplusnames,
                    (positional.len() + i) as ffi::Py_ssize_t,
                );
                if ffi::PyDict_SetItem(call.kwargs, name, *value) != 0 {
                    return None;
                }
            }
            if let Some(named) = rest.next()
                && ffi::PyDict_Update(call.kwargs, *named) != 0
            {
                return None;
            }
            for slot in 0..locals.len() {
                let word = RawFrame::locals_of(frame).add(slot);
                word.replace(StackRef::NULL).release();
            }
            Some(call)
        }
    }

    /// Runs the call: a new reference, or null with an exception set.
    ///
    /// # Safety
    /// The GIL is held and no exception is pending.
    pub(crate) unsafe fn run(self) -> *mut PyObject {
        // SAFETY: `prepare` made all three.
        unsafe { ffi::PyObject_Call(self.function, self.args, self.kwargs) }
    }
}

impl Drop for DetachedCall {
    fn drop(&mut self) {
        // SAFETY: the fields are owned or null, and the GIL is held where a call exists.
        unsafe {
            ffi::Py_XDECREF(self.function);
            ffi::Py_XDECREF(self.args);
            ffi::Py_XDECREF(self.kwargs);
        }
    }
}
