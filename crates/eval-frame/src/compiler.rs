//! The boundary between the hook and whatever compiles: the only thing that the
//! hook knows of a compiler.
//!
//! Not here: caches, guards, translation. A compiler is asked with its own
//! region switched off, so that Python code that it runs is not captured, and a
//! panic in it becomes plain execution.

use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyCode;

use std::cell::RefCell;
use std::ptr::NonNull;

use crate::code_state::CodeState;
use crate::context::CompileContext;
use crate::direct::CallMemo;
use crate::frame::FrameRef;
use crate::graph_call::GraphCall;

/// What becomes of a frame.
#[derive(Debug)]
pub enum Outcome {
    /// Run it as plain Python, and ask again the next time.
    Run,
    /// Run it as plain Python, and ask again the next time. What it calls uses compiled code where there is some,
    /// and has none made.
    RunCached,
    /// Run it as plain Python with all that it calls, and ask again the next time.
    RunAll,
    /// Run it as plain Python, and never ask again for this code in this context.
    Skip,
    /// Run this code in its place: same arguments, same free variables.
    Replace(Py<PyCode>),
    /// Raise in its place.
    Raise(PyErr),
}

/// A call of an entry with its arguments bound, before there is a frame.
pub struct EntryCall<'a, 'py> {
    func: Borrowed<'a, 'py, PyAny>,
    code: *mut pyo3::ffi::PyObject,
    locals: &'a [*mut pyo3::ffi::PyObject],
    plain: bool,
    shares_keywords: bool,
    memo: &'a RefCell<CallMemo>,
}

impl<'a, 'py> EntryCall<'a, 'py> {
    pub(crate) fn new(
        func: Borrowed<'a, 'py, PyAny>,
        code: *mut pyo3::ffi::PyObject,
        locals: &'a [*mut pyo3::ffi::PyObject],
        plain: bool,
        memo: &'a RefCell<CallMemo>,
    ) -> Self {
        EntryCall {
            func,
            code,
            locals,
            plain,
            shares_keywords: false,
            memo,
        }
    }

    /// The same where the `**kwargs` among the locals is a dictionary of the caller's.
    pub(crate) fn sharing_keywords(self) -> Self {
        EntryCall {
            shares_keywords: true,
            ..self
        }
    }

    /// The function that is called in the end.
    pub fn func(&self) -> Borrowed<'a, 'py, PyAny> {
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

    /// The arguments, borrowed, never null: one for each fast local that is an argument, `*args` and
    /// `**kwargs` included.
    pub fn locals(&self) -> &'a [*mut pyo3::ffi::PyObject] {
        self.locals
    }

    /// Whether the locals are the positional arguments of the call, as they came.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether the last of the locals, `**kwargs`, is the caller's dictionary and no copy: what runs may read it
    /// before anything else runs, and no more.
    pub fn shares_keywords(&self) -> bool {
        self.shares_keywords
    }

    /// What the entry remembers between calls.
    pub fn memo(&self) -> &'a RefCell<CallMemo> {
        self.memo
    }

    /// What is remembered about the function's code; `None` where memory is short.
    #[inline]
    pub fn code_state(&self) -> Option<&'a CodeState> {
        // SAFETY: the GIL is held and the function keeps its code alive during the call.
        unsafe {
            let py = self.func.py();
            let state = self.memo.try_borrow_mut().ok()?.state_of(py, self.code);
            state.as_ref()
        }
    }
}

/// What an entry calls in place of its function.
pub struct Direct {
    /// Called with the locals of the [`EntryCall`] as positional arguments.
    pub function: Py<PyAny>,
    /// Whether frames below it are to be captured too: true where it calls resume functions
    /// or other code that the compiler wants to see. Its own code should then be marked with
    /// [`CodeState::skip_always`].
    pub needs_hook: bool,
    /// Where the function's code does nothing but this call of a graph: the frame may be left out. Good until
    /// anything runs, which may forget the function.
    pub graph_call: Option<NonNull<GraphCall>>,
}

/// Decides about frames and calls inside compiled regions.
pub trait FrameCompiler: Send + Sync {
    /// Decides about an unstarted frame of a plain function.
    fn on_frame(&self, py: Python<'_>, frame: &FrameRef<'_>, ctx: &CompileContext) -> Outcome;

    /// Decides about a call that may be like the entry's last one. Runs no code and makes nothing:
    /// `None` where [`FrameCompiler::on_call`] is to be asked.
    fn on_repeated_call(&self, call: &EntryCall<'_, '_>, ctx: &CompileContext) -> Option<Direct> {
        let _ = (call, ctx);
        None
    }

    /// Decides about a call of an entry before any frame exists. `None` takes the way
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
