//! What is remembered about a code object, and the marks that a reset takes back.
//!
//! Lives here: the compiled forms of a code object by context, what its compilations found out,
//! whether the user asked for it, which code is skipped. Does not live here: any decision.
//!
//! Invariant: nothing here keeps a code object alive.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use artifact_store::Key;
use backends::ArtifactKey;
use cache::{CodeName, Entries};
use pyo3::prelude::*;
use pyo3::types::PyCode;

use super::relevant;
use super::results::{self, Results};
use super::turns::Turns;
use eval_frame::code_state;
use eval_frame::context::ContextId;
use eval_frame::frame::FrameRef;

/// What is remembered about a code object.
#[derive(Default)]
pub struct CodeSlot {
    /// compiled forms by context
    pub entries: RefCell<Vec<(ContextId, Entries)>>,
    /// set once a parameter or buffer was found replaced, or the code has outlived a module: from then
    /// on they are fetched at each call
    pub fetch_tensors: Cell<bool>,
    /// floats that a backend wants as constants, by context and reset
    constant_floats: RefCell<Vec<(ContextId, u32, ConstantFloats)>>,
    /// contexts whose backend has to know sizes of which nothing was to be known, up to a reset
    backed: RefCell<Vec<(ContextId, u32)>>,
    /// what a compiler has made of its graphs
    pub results: Results,
    /// who compiles the code now
    pub turns: Turns,
    /// whether the code names a module of torch, once known
    names_torch: Cell<Option<bool>>,
    /// set for the code of resume functions: they go on where a capture began
    pub resumes: Cell<bool>,
    /// contexts in which the code runs in eager mode, with all that it calls
    eager_below: RefCell<Vec<ContextId>>,
    /// contexts in which the user asked for this very function, wherever its file is
    explicit: RefCell<Vec<ContextId>>,
    /// what is kept of what was compiled while the code ran, or code that was made of it
    kept: OnceCell<Rc<RefCell<Vec<OnDisk>>>>,
}

/// What lies on the disk for other processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisk {
    /// what a compiler made of a graph
    Artifact(ArtifactKey),
    /// a graph with its guards and residual code
    Capture(Key),
}

/// Floats that a backend could not compile the code with unless they are constants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConstantFloats {
    /// the names of their sources
    pub names: BTreeSet<String>,
    /// whether all are
    pub all: bool,
}

impl CodeSlot {
    /// Which floats are constants in a context.
    pub fn constant_floats(&self, context: ContextId) -> ConstantFloats {
        let known = self.constant_floats.borrow();
        let mut of = known.iter();
        let found = of.find(|of| of.0 == context && of.1 == results::resets());
        found.map(|of| of.2.clone()).unwrap_or_default()
    }

    /// Makes floats constants in a context: of these names, or all. Whether others are now than before.
    pub fn make_constant(&self, context: ContextId, names: BTreeSet<String>, all: bool) -> bool {
        let before = self.constant_floats(context);
        let mut now = before.clone();
        now.names.extend(names);
        now.all |= all;
        let is_new = now != before;
        let mut known = self.constant_floats.borrow_mut();
        known.retain(|of| of.0 != context && of.1 == results::resets());
        known.push((context, results::resets(), now));
        is_new
    }

    /// Whether the backend of a context has to know sizes of which nothing was to be known.
    pub fn backs_unbacked(&self, context: ContextId) -> bool {
        let backed = self.backed.borrow();
        backed.contains(&(context, results::resets()))
    }

    /// Notes that it has to.
    pub fn back_unbacked(&self, context: ContextId) {
        if !self.backs_unbacked(context) {
            let mut backed = self.backed.borrow_mut();
            backed.push((context, results::resets()));
        }
    }

    /// The compiled forms in a context, if there are any.
    #[inline]
    pub fn find(&self, context: ContextId) -> Option<Entries> {
        self.entries
            .try_borrow()
            .ok()?
            .iter()
            .find(|e| e.0 == context)
            .map(|e| e.1.clone())
    }

    /// Whether the code runs in eager mode in a context, with all that it calls.
    pub fn runs_all(&self, context: ContextId) -> bool {
        let below = self.eager_below.try_borrow();
        below.is_ok_and(|below| below.contains(&context))
    }

    /// Has the code run in eager mode in a context, with all that it calls.
    pub fn run_all(&self, context: ContextId) {
        self.eager_below.borrow_mut().push(context);
    }

    /// Whether the user asked for this very function in a context.
    pub fn is_explicit(&self, context: ContextId) -> bool {
        let asked = self.explicit.try_borrow();
        asked.is_ok_and(|asked| asked.contains(&context))
    }

    /// Whether the frame can hold tensor work.
    ///
    /// # Errors
    /// An interrupt.
    pub fn is_relevant(&self, py: Python<'_>, frame: &FrameRef<'_>) -> PyResult<bool> {
        let names_torch = match self.names_torch.get() {
            Some(names) => names,
            None => {
                let names = interrupts::held(py, || relevant::names_torch(py, frame))?;
                self.names_torch.set(Some(names));
                names
            }
        };
        Ok(names_torch || relevant::holds_tensors(py, frame))
    }

    /// What is kept of what was compiled while the code ran.
    pub fn kept(&self) -> &Rc<RefCell<Vec<OnDisk>>> {
        self.kept.get_or_init(Rc::default)
    }

    /// Says that this is the slot of code that was made of the `user`'s: what is compiled while it runs is theirs.
    pub fn is_made_of(&self, user: &CodeSlot) {
        // A resume function that serves several users keeps the first: the others run below it on the stack.
        let _ = self.kept.set(user.kept().clone());
    }

    /// The compiled forms in a context, none at first.
    pub fn get(&self, context: ContextId, name: impl FnOnce() -> CodeName) -> Entries {
        if let Some(e) = self.find(context) {
            return e;
        }
        let entries = Entries::new(name());
        self.entries.borrow_mut().push((context, entries.clone()));
        entries
    }
}

static SKIPPED: Mutex<Vec<Py<PyAny>>> = Mutex::new(Vec::new());

/// Remembers (weakly) that a code object was marked, so that `reset` can take the mark back.
pub fn remember_skip(py: Python<'_>, code: &Bound<'_, PyCode>) {
    if let Ok(weak) = py
        .import("weakref")
        .and_then(|w| w.getattr("ref")?.call1((code,)))
    {
        skipped_codes().push(weak.unbind());
    }
}

fn skipped_codes() -> MutexGuard<'static, Vec<Py<PyAny>>> {
    SKIPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes back every mark that was remembered.
pub fn forget_skips(py: Python<'_>) {
    // Taken out first: a code object may die here, and with it whatever comes back for the list.
    let codes = std::mem::take(&mut *skipped_codes());
    for weak in codes {
        if let Some(code) = weak.bind(py).call0().ok().filter(|c| !c.is_none())
            && let Ok(code) = code.cast::<PyCode>()
            && let Ok(state) = code_state::of(code)
        {
            state.forget_skips();
            state
                .slot(CodeSlot::default)
                .eager_below
                .borrow_mut()
                .clear();
        }
    }
}

/// Marks the function that the user compiled in a context: it is captured there even where its file is
/// ignored. Of a module that is its `forward` as well, which is all that a call runs where there are no
/// hooks.
pub fn mark_explicit(callable: &Bound<'_, PyAny>, context: ContextId) {
    mark_function(callable, context);
    let forward = callable.getattr("__self__").and_then(|module| {
        let calls = torch_abi::modules::ModuleCalls::get(callable.py());
        let function = callable.getattr("__func__")?;
        match calls.is_some_and(|calls| calls.call() == function.as_ptr()) {
            true => module.getattr("forward").map(Some),
            false => Ok(None),
        }
    });
    if let Ok(Some(forward)) = forward {
        mark_function(&forward, context);
    }
}

/// The code that a callable runs: a function's, a method's, that of its class's `__call__`.
pub fn code_of<'py>(callable: &Bound<'py, PyAny>) -> Option<Bound<'py, PyCode>> {
    let function = callable
        .getattr("__func__")
        .or_else(|_| callable.getattr("__code__").map(|_| callable.clone()))
        .or_else(|_| callable.get_type().getattr("__call__"));
    let code = function.and_then(|f| f.getattr("__code__")).ok()?;
    code.cast_into().ok()
}

fn mark_function(callable: &Bound<'_, PyAny>, context: ContextId) {
    if let Some(code) = code_of(callable)
        && let Ok(state) = code_state::of(&code)
    {
        let slot = state.slot(CodeSlot::default);
        if !slot.is_explicit(context) {
            slot.explicit.borrow_mut().push(context);
        }
    }
}
