//! A safe view of a frame that has not run its first instruction.
//!
//! Not here: changing it (see `substitute`). Arguments are bound and every other
//! slot is null: `COPY_FREE_VARS` and `MAKE_CELL` run inside the frame, so free
//! variables are read from the function's closure, and an argument that is also
//! a cell is still the plain value.

use std::marker::PhantomData;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyDict, PyTuple};

use crate::code_state::CodeState;
use cpython_abi::code::RawCode;
use cpython_abi::frame::{OWNED_BY_THREAD, Objects, RawFrame, unstarted_instr};

/// An unstarted frame of a function, borrowed from the interpreter for the length of the hook.
pub struct FrameRef<'f> {
    raw: *mut RawFrame,
    state: &'f CodeState,
    locals: Objects<'f>,
    lifetime: PhantomData<&'f RawFrame>,
}

impl<'f> FrameRef<'f> {
    /// # Safety
    /// `raw` passed [`is_unstarted_function`], the GIL is held for `'f`, the frame is not run in
    /// that time, and `state` is that of its code.
    pub(crate) unsafe fn new(raw: *mut RawFrame, state: &'f CodeState) -> Self {
        // SAFETY: the frame has that many initialised words, which stay for `'f`.
        let locals = unsafe { Objects::of(raw, (*(*raw).raw_code()).nlocalsplus as usize) };
        FrameRef {
            raw,
            state,
            locals,
            lifetime: PhantomData,
        }
    }

    fn header(&self) -> &RawFrame {
        // SAFETY: the frame is alive and unchanged for `'f`.
        unsafe { &*self.raw }
    }

    fn raw_code(&self) -> &RawCode {
        // SAFETY: a frame that passed `is_unstarted_function` holds a code object.
        unsafe { &*self.header().raw_code() }
    }

    /// Address of the code object, for comparing.
    pub fn code_ptr(&self) -> *mut PyObject {
        self.header().code()
    }

    /// The code object.
    pub fn code<'py>(&self, py: Python<'py>) -> Bound<'py, PyCode> {
        // SAFETY: the frame owns a reference to its code.
        unsafe { Bound::from_borrowed_ptr(py, self.header().code()) }
            .cast_into()
            .expect("a frame's code")
    }

    /// The function.
    pub fn function<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        // SAFETY: the frame owns a reference to its function.
        unsafe { Bound::from_borrowed_ptr(py, self.header().func()) }
    }

    /// The globals; a dict in every frame of a plain function.
    pub fn globals<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        // SAFETY: kept alive by the function.
        unsafe { Bound::from_borrowed_ptr(py, self.header().globals) }
            .cast_into()
            .expect("a function's globals")
    }

    /// The builtins: a dict, unless `__builtins__` was replaced by another mapping.
    pub fn builtins<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        // SAFETY: kept alive by the function.
        unsafe { Bound::from_borrowed_ptr(py, self.header().builtins) }
    }

    /// The cells of the free variables, in the order of `co_freevars`; `None` where there are none.
    pub fn closure<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyTuple>> {
        let func = self.header().func().cast::<ffi::PyFunctionObject>();
        // SAFETY: `is_unstarted_function` has seen that this is a function; its closure is a
        // tuple or null.
        unsafe {
            Bound::from_borrowed_ptr_or_opt(py, (*func).func_closure)?
                .cast_into()
                .ok()
        }
    }

    /// Fast locals, cells and free variables, borrowed: null where nothing is bound yet.
    pub fn fast_locals(&self) -> &[*mut PyObject] {
        &self.locals
    }

    /// The arguments as bound: positional, keyword-only, then `*args` and `**kwargs`; borrowed, not null.
    pub fn arguments(&self) -> &[*mut PyObject] {
        &self.fast_locals()[..self.raw_code().argument_slots()]
    }

    /// One fast local by its index, where it is bound.
    pub fn local<'py>(&self, py: Python<'py>, index: usize) -> Option<Bound<'py, PyAny>> {
        let slot = *self.fast_locals().get(index)?;
        // SAFETY: the frame owns a reference to what is bound.
        unsafe { Bound::from_borrowed_ptr_or_opt(py, slot) }
    }

    /// The names of [`FrameRef::fast_locals`], in their order.
    pub fn local_names<'py>(&self, py: Python<'py>) -> Bound<'py, PyTuple> {
        // SAFETY: the code owns this tuple.
        unsafe { Bound::from_borrowed_ptr(py, self.raw_code().localsplusnames) }
            .cast_into()
            .expect("co_localsplusnames is a tuple")
    }

    /// The calling Python frame as an object; `None` at the bottom of the stack.
    pub fn caller<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        // SAFETY: the GIL is held; the frame being decided about is not linked yet, so that the
        // thread's current frame is its caller.
        unsafe {
            let frame = ffi::PyThreadState_GetFrame(ffi::PyThreadState_Get());
            Bound::from_owned_ptr_or_opt(py, frame.cast())
        }
    }

    /// What is remembered about the code.
    pub fn code_state(&self) -> &'f CodeState {
        self.state
    }
}

/// Flags of code that resumes: its body does not run in the frame that the call makes.
pub(crate) const RESUMABLE: i32 =
    ffi::CO_GENERATOR | ffi::CO_COROUTINE | ffi::CO_ITERABLE_COROUTINE | ffi::CO_ASYNC_GENERATOR;

const FUNCTION: i32 = ffi::CO_OPTIMIZED | ffi::CO_NEWLOCALS;

/// Whether code of these flags is that of a plain function.
#[inline]
pub(crate) fn is_plain_function(flags: i32) -> bool {
    flags & FUNCTION == FUNCTION && flags & RESUMABLE == 0
}

/// Whether `raw` is an unstarted frame of a plain function on its thread's data stack.
///
/// # Safety
/// `raw` is a frame that the interpreter has passed to the hook.
#[inline]
pub(crate) unsafe fn is_unstarted_function(raw: *mut RawFrame) -> bool {
    // SAFETY: required of the caller: the header is initialised.
    let frame = unsafe { &*raw };
    if frame.owner != OWNED_BY_THREAD || !frame.locals.is_null() || !frame.frame_obj.is_null() {
        return false;
    }
    // SAFETY: a frame that is passed to the hook holds a code object.
    let flags = unsafe { (*frame.raw_code()).flags };
    is_plain_function(flags) && frame.instr == unstarted_instr(frame.code())
}
