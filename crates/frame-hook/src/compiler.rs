//! The boundary between the hook and whatever compiles: the only thing that the
//! hook knows of a compiler.
//!
//! Not here: caches, guards, translation. A compiler is asked with its own
//! region switched off, so that Python code that it runs is not captured, and a
//! panic in it becomes plain execution.

use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyCode;

use crate::code_state::{self, CodeState};
use crate::context::CompileContext;
use crate::frame::FrameRef;

/// What becomes of a frame.
#[derive(Debug)]
pub enum Outcome {
    /// Run it as plain Python, and ask again the next time.
    Run,
    /// Run it as plain Python, and never ask again for this code in this context.
    Skip,
    /// Run this code in its place: same arguments, same free variables.
    Replace(Py<PyCode>),
    /// Raise in its place.
    Raise(PyErr),
}

/// A plain call of an entry: as many positional arguments as the function has, and nothing
/// that needs binding (no keywords, `*args`, keyword-only arguments; not a generator).
pub struct EntryCall<'a, 'py> {
    func: &'a Bound<'py, PyAny>,
    code: *mut pyo3::ffi::PyObject,
    args: &'a [*mut pyo3::ffi::PyObject],
}

impl<'a, 'py> EntryCall<'a, 'py> {
    pub(crate) fn new(
        func: &'a Bound<'py, PyAny>,
        code: *mut pyo3::ffi::PyObject,
        args: &'a [*mut pyo3::ffi::PyObject],
    ) -> Self {
        EntryCall { func, code, args }
    }

    /// The function that the entry wraps.
    pub fn func(&self) -> &'a Bound<'py, PyAny> {
        self.func
    }

    /// Address of the function's code object, alive during the call.
    pub fn code_ptr(&self) -> *mut pyo3::ffi::PyObject {
        self.code
    }

    /// The code object that the function has now.
    pub fn code(&self) -> Bound<'py, PyCode> {
        // SAFETY: the function holds its code object, and the GIL is held.
        unsafe {
            Bound::from_borrowed_ptr(self.func.py(), self.code)
                .cast_into::<PyCode>()
                .expect("a function's code")
        }
    }

    /// The arguments, borrowed, never null: one for each fast local that is an argument.
    pub fn args(&self) -> &'a [*mut pyo3::ffi::PyObject] {
        self.args
    }

    /// What is remembered about the function's code; `None` where memory is short.
    #[inline]
    pub fn code_state(&self) -> Option<&'a CodeState> {
        // SAFETY: the GIL is held and the function keeps its code alive during the call.
        unsafe { code_state::state_of(self.code).as_ref() }.or_else(|| {
            drop(PyErr::take(self.func.py()));
            None
        })
    }
}

/// What an entry calls in place of its function.
pub struct Direct {
    /// Called with the same arguments.
    pub function: Py<PyAny>,
    /// Whether frames below it are to be captured too: true where it calls resume functions
    /// or other code that the compiler wants to see. Its own code should then be marked with
    /// [`CodeState::skip_always`].
    pub needs_hook: bool,
}

/// Decides about frames and calls inside compiled regions.
pub trait FrameCompiler: Send + Sync {
    /// Decides about an unstarted frame of a plain function.
    fn on_frame(&self, py: Python<'_>, frame: &FrameRef<'_>, ctx: &CompileContext) -> Outcome;

    /// Decides about a plain call of an entry before any frame exists. `None` takes the way
    /// over the hook. Must be cheap where it says `None`.
    fn on_call(
        &self,
        py: Python<'_>,
        call: &EntryCall<'_, '_>,
        ctx: &CompileContext,
    ) -> Option<Direct> {
        let _ = (py, call, ctx);
        None
    }
}

/// A compiler that can be asked; never freed, because a frame of another thread may be inside it.
pub struct Registered(Box<dyn FrameCompiler>);

impl Registered {
    /// Gives a compiler the lifetime that [`set_compiler`] wants.
    pub fn leak(compiler: impl FrameCompiler + 'static) -> &'static Registered {
        Box::leak(Box::new(Registered(Box::new(compiler))))
    }
}

static COMPILER: AtomicPtr<Registered> = AtomicPtr::new(std::ptr::null_mut());

/// Makes `compiler` the one that is asked, and gives back the one before.
pub fn set_compiler(compiler: Option<&'static Registered>) -> Option<&'static Registered> {
    let new = compiler.map_or(std::ptr::null_mut(), |c| std::ptr::from_ref(c).cast_mut());
    let old = COMPILER.swap(new, Ordering::AcqRel);
    // SAFETY: only `'static` references are stored.
    unsafe { old.as_ref() }
}

/// The compiler that is asked now.
#[inline]
pub(crate) fn current() -> Option<&'static dyn FrameCompiler> {
    // SAFETY: only `'static` references are stored.
    unsafe { COMPILER.load(Ordering::Acquire).as_ref() }.map(|c| &*c.0)
}
