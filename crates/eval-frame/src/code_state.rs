//! What is remembered about a code object, in its `co_extra`.
//!
//! Not here: what is remembered (the compiler's slot is opaque). The state is
//! made at the first question, lives exactly as long as its code object (the slot
//! a little longer, see [`cpython_abi::later::later`]), and is only touched with the GIL held.
//! Code objects are not seen by the garbage collector: a strong reference from a
//! slot back to something that holds the code keeps both for ever.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_void;
use std::sync::atomic::{AtomicIsize, Ordering};

use cpython_abi::panics::contained;
use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use crate::context::ContextId;

/// State of one code object.
#[derive(Default)]
pub struct CodeState {
    never: Cell<bool>,
    resumes: Cell<bool>,
    skipped: RefCell<Vec<ContextId>>,
    /// What a profiler calls this code.
    region: OnceCell<Box<str>>,
    slot: OnceCell<Box<dyn Any>>,
}

impl CodeState {
    /// Never asks the compiler for this code again, in any context: for code that the compiler made.
    pub fn skip_always(&self) {
        self.never.set(true);
    }

    /// Marks the code of a resume function: whoever calls it takes care of the continuation that it
    /// may return.
    pub fn set_resumes(&self) {
        self.resumes.set(true);
    }

    /// Names the code, which the compiler made, for profilers. The first name stays.
    pub fn set_region(&self, name: &str) {
        self.region.get_or_init(|| name.into());
    }

    /// What a profiler calls the code.
    pub fn region(&self) -> Option<&str> {
        self.region.get().map(|name| &**name)
    }

    /// Whether this is the code of a resume function.
    #[inline]
    pub fn resumes(&self) -> bool {
        self.resumes.get()
    }

    /// Never asks the compiler for this code again in this context.
    pub fn skip(&self, context: ContextId) {
        let mut skipped = self.skipped.borrow_mut();
        if !skipped.contains(&context) {
            skipped.push(context);
        }
    }

    /// Whether the compiler is not to be asked in this context.
    #[inline]
    pub fn is_skipped(&self, context: ContextId) -> bool {
        self.never.get() || self.skipped.borrow().contains(&context)
    }

    /// Forgets the marks of [`CodeState::skip`], as `reset` does.
    pub fn forget_skips(&self) {
        self.skipped.borrow_mut().clear();
    }

    /// The compiler's own state for this code, made at first use.
    ///
    /// # Panics
    /// If asked for as two different types.
    #[inline]
    pub fn slot<T: Any>(&self, init: impl FnOnce() -> T) -> &T {
        self.slot
            .get_or_init(|| Box::new(init()))
            .downcast_ref()
            .expect("one type of slot for each code object")
    }

    /// The compiler's own state, where it was made and is of this type.
    #[inline]
    pub fn existing_slot<T: Any>(&self) -> Option<&T> {
        self.slot.get()?.downcast_ref()
    }
}

static INDEX: AtomicIsize = AtomicIsize::new(-1);

/// Asks the interpreter for an index of `co_extra`; once, at import.
pub fn initialise(_py: Python<'_>) -> PyResult<()> {
    if INDEX.load(Ordering::Relaxed) >= 0 {
        return Ok(());
    }
    // SAFETY: the GIL is held, and the free function accepts what `state_of` stores.
    let index = unsafe { ffi::PyUnstable_Eval_RequestCodeExtraIndex(free_state) };
    if index < 0 {
        return Err(PyRuntimeError::new_err(
            "ferrodyn needs one of the interpreter's code extra indices, and none is left",
        ));
    }
    INDEX.store(index as isize, Ordering::Relaxed);
    Ok(())
}

/// The state of `code`, made where there is none; null with an exception set where memory is short.
///
/// # Safety
/// The GIL is held, `code` is a code object, and [`initialise`] has succeeded. The result is
/// valid for as long as `code` is alive.
#[inline]
pub unsafe fn state_of(code: *mut PyObject) -> *const CodeState {
    let index = INDEX.load(Ordering::Relaxed) as ffi::Py_ssize_t;
    let mut extra: *mut c_void = std::ptr::null_mut();
    // SAFETY: required of the caller.
    if unsafe { ffi::PyUnstable_Code_GetExtra(code, index, &mut extra) } != 0 {
        return std::ptr::null();
    }
    if extra.is_null() {
        // SAFETY: as above.
        return unsafe { make_state(code, index) };
    }
    extra.cast()
}

#[cold]
unsafe fn make_state(code: *mut PyObject, index: ffi::Py_ssize_t) -> *const CodeState {
    let state = Box::into_raw(Box::<CodeState>::default());
    // SAFETY: the GIL is held and `code` is a code object; the code owns the box from now on.
    if unsafe { ffi::PyUnstable_Code_SetExtra(code, index, state.cast()) } != 0 {
        // SAFETY: the code did not take it.
        drop(unsafe { Box::from_raw(state) });
        return std::ptr::null();
    }
    state
}

/// The state of a code object that Python code holds.
///
/// # Errors
/// `MemoryError`.
pub fn of<'a>(code: &'a Bound<'_, pyo3::types::PyCode>) -> PyResult<&'a CodeState> {
    // SAFETY: the GIL is held; the borrow of `code` keeps the code and so its state alive.
    unsafe { state_of(code.as_ptr()).as_ref() }.ok_or_else(|| PyErr::fetch(code.py()))
}

unsafe extern "C" fn free_state(state: *mut c_void) {
    contained(
        "the end of a code object",
        || (),
        || {
            if state.is_null() {
                return;
            }
            // SAFETY: `make_state` gave this box to the code object, which dies now.
            let state = unsafe { Box::from_raw(state.cast::<CodeState>()) };
            if let Some(slot) = state.slot.into_inner() {
                let slot = Ended(slot);
                cpython_abi::later::later(move |_| drop(slot));
            }
        },
    )
}

/// The slot of a code object that is gone.
struct Ended(#[expect(dead_code, reason = "dropped")] Box<dyn Any>);

// SAFETY: slots are touched with the GIL held only, and so are jobs that wait.
unsafe impl Send for Ended {}
