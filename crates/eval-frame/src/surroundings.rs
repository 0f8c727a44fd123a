//! What else in the process has a say in what is captured: other tools with a hook, marks on functions, switches of the
//! program, classes whose calls end elsewhere.
//!
//! Not here: any of them. Who uses this crate says what there is, once, with [`set_surroundings`]; without that there
//! is nothing else.

use std::any::Any;
use std::ptr;
use std::sync::OnceLock;

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::context::{CompileContext, Context};
use crate::entry::Entry;

/// How somebody has marked a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// Not at all.
    No,
    /// This frame is not to be captured, nor that of the callable that it stands for (borrowed, or null); what they
    /// call is.
    Shallow(*mut PyObject),
    /// Nothing below is to be captured.
    Deep,
}

/// What becomes of a call of an entry.
pub enum Way {
    /// What the entry is for.
    AsEver,
    /// Nothing of it is captured.
    Eager,
    /// Another context is on.
    With(Py<Context>),
}

/// What a profiler shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured<'a> {
    /// The search for compiled code.
    LookUp,
    /// The run of compiled code, by its name ([`CodeState::set_region`](crate::code_state::CodeState::set_region)).
    Region(&'a str),
}

/// What the call of a bound method ends in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodTarget {
    /// The method's own function.
    Itself,
    /// A callable, borrowed, and its first argument or null: the method's Python code need not run.
    Behind(*mut PyObject, *mut PyObject),
    /// Only Python can say.
    Unknown,
}

/// What else there is. All methods are called with the GIL held.
pub trait Surroundings: Send + Sync {
    /// Switches off, in this thread, what else captures frames. Gives what [`Surroundings::resume`] wants, or null
    /// where nothing was on. A pending exception is kept.
    fn suspend(&self) -> *mut PyObject {
        ptr::null_mut()
    }

    /// Switches it on again. A pending exception is kept.
    ///
    /// # Safety
    /// `suspended` came from [`Surroundings::suspend`], was not null, and is given back once.
    unsafe fn resume(&self, suspended: *mut PyObject) {
        let _ = suspended;
    }

    /// How a function with these attributes is marked. Runs no code.
    ///
    /// # Safety
    /// `attributes` is a live dictionary.
    unsafe fn marked(&self, attributes: *mut PyObject) -> Marked {
        let _ = attributes;
        Marked::No
    }

    /// Whether calls of entries go [`Way::AsEver`], all of them. Asked at each call: must be cheap.
    fn leaves_calls_alone(&self, py: Python<'_>) -> bool {
        let _ = py;
        true
    }

    /// What becomes of a call, where [`Surroundings::leaves_calls_alone`] says no.
    fn way(&self, py: Python<'_>, entry: &Entry, settings: &CompileContext) -> Way {
        let _ = (py, entry, settings);
        Way::AsEver
    }

    /// A span of what is measured, which ends when it is dropped. Only asked for while
    /// [`set_measured`](crate::hook::set_measured) is on. A pending exception is kept.
    fn span(&self, py: Python<'_>, measured: Measured<'_>) -> Option<Box<dyn Any>> {
        let _ = (py, measured);
        None
    }

    /// What the call of a bound method of `function` ends in. Runs no code.
    ///
    /// # Safety
    /// Both are live objects.
    unsafe fn method_target(
        &self,
        function: *mut PyObject,
        receiver: *mut PyObject,
    ) -> MethodTarget {
        let _ = (function, receiver);
        MethodTarget::Itself
    }

    /// Marks an entry that switches capture off as others expect it.
    ///
    /// # Errors
    /// What setting an attribute raises.
    fn mark_disabled(&self, entry: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = entry;
        Ok(())
    }
}

struct Nothing;

impl Surroundings for Nothing {}

static SURROUNDINGS: OnceLock<&'static dyn Surroundings> = OnceLock::new();

/// Says what else there is; the first time counts.
pub fn set_surroundings(surroundings: &'static dyn Surroundings) {
    let _ = SURROUNDINGS.set(surroundings);
}

/// What else there is.
#[inline]
pub(crate) fn surroundings() -> &'static dyn Surroundings {
    match SURROUNDINGS.get() {
        Some(surroundings) => *surroundings,
        None => &Nothing,
    }
}

/// How the function at `func` is marked.
///
/// # Safety
/// The GIL is held and `func` is a Python function.
#[inline]
pub(crate) unsafe fn marked(func: *mut PyObject) -> Marked {
    // SAFETY: required of the caller; a function's `func_dict` is a dict or null.
    unsafe {
        let attributes = (*func.cast::<pyo3::ffi::PyFunctionObject>()).func_dict;
        if attributes.is_null() || pyo3::ffi::PyDict_Size(attributes) == 0 {
            return Marked::No;
        }
        surroundings().marked(attributes)
    }
}
