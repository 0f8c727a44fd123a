//! The entry object: what `compile` and `disable` give for a function or callable.
//!
//! Not here: its Python type, attributes and pickling (`entry_type`), and its calls ([`crate::call`]).

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use crate::bound_inputs::BoundInputs;
use crate::call::{call_compiled, call_disabled, call_graph, call_resume};
use crate::context::{CompileContext, Context};
use crate::direct::CallMemo;
use crate::entry_type::{self, EntryType};
use crate::surroundings::surroundings;

/// What calling an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EntryKind {
    /// Runs the callable as a compiled region.
    Compiled,
    /// Runs the callable with capture off.
    Disabled,
    /// Runs a graph with capture off, with inputs that are the same at each call.
    Graph,
    /// Runs a resume function under the context of the residual code that calls it.
    Resume,
    /// Whatever its maker wants.
    Other,
}

/// The object. Every pointer is owned, or null where said.
#[repr(C)]
pub struct Entry {
    pub(crate) ob_base: PyObject,
    pub(crate) vectorcall: Option<ffi::vectorcallfunc>,
    /// The wrapped callable; null once cleared by the garbage collector.
    pub(crate) callable: *mut PyObject,
    /// `callable` again where it is a Python function (borrowed), else null.
    pub(crate) func: *mut ffi::PyFunctionObject,
    /// The [`Context`]; null in a disabled entry.
    pub(crate) context: *mut PyObject,
    /// The settings inside `context` (borrowed), or null.
    pub(crate) settings: *const CompileContext,
    /// What is remembered between calls (owned).
    pub(crate) memo: *mut RefCell<CallMemo>,
    /// The inputs of an [`EntryKind::Graph`] (owned), or null.
    pub(crate) inputs: *mut BoundInputs,
    /// What the text of an [`EntryKind::Other`] is formatted with, or null.
    pub(crate) text: *const c_char,
    /// Attributes of its own; null until one is set.
    pub(crate) dict: *mut PyObject,
    pub(crate) weakrefs: *mut PyObject,
    pub(crate) kind: EntryKind,
}

/// A compiled entry of `callable` under `context`.
///
/// A class or static method gives one of an entry. An entry that is compiled already is compiled
/// anew from what it wraps.
///
/// # Errors
/// `TypeError` where `callable` is not callable.
pub fn make_compiled<'py>(
    callable: &Bound<'py, PyAny>,
    context: &Bound<'py, Context>,
) -> PyResult<Bound<'py, PyAny>> {
    make(callable, EntryKind::Compiled, Some(context))
}

/// An entry that runs `callable` with capture off, that of other tools included.
///
/// # Errors
/// `TypeError` where `callable` is not callable.
pub fn make_disabled<'py>(callable: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let entry = make(callable, EntryKind::Disabled, None)?;
    let marked = if entry_type::is_entry(&entry) {
        entry.clone()
    } else {
        entry.getattr("__func__")?
    };
    surroundings().mark_disabled(&marked)?;
    Ok(entry)
}

/// An entry of a resume function, for residual code to call. It holds no context: code objects hold
/// it, and those are not seen by the garbage collector.
///
/// # Errors
/// `MemoryError`.
pub fn make_resume<'py>(function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    make(function, EntryKind::Resume, None)
}

/// An entry that runs the graph of a disabled one, or any other callable, with `inputs`: one item for each
/// argument, `None` where the entry's call gives it. Capture is off meanwhile.
///
/// # Errors
/// `MemoryError`.
pub fn make_graph_call<'py>(
    graph: &Bound<'py, PyAny>,
    inputs: Vec<Option<Py<PyAny>>>,
) -> PyResult<Bound<'py, PyAny>> {
    let callable = undisabled(graph).unwrap_or_else(|| graph.clone());
    let entry = make(&callable, EntryKind::Graph, None)?;
    // SAFETY: a new entry, which nothing else has seen.
    unsafe {
        (*entry.as_ptr().cast::<Entry>()).inputs =
            Box::into_raw(Box::new(BoundInputs::new(inputs)));
    }
    Ok(entry)
}

/// An entry of `function` whose calls are `call`'s, with the entry itself in front. Its text is `text`, with the
/// function in the place of `%R`.
///
/// # Errors
/// `MemoryError`.
///
/// # Safety
/// `call` is a vectorcall, and `text` has this one place.
pub unsafe fn make_other<'py>(
    function: &Bound<'py, PyAny>,
    call: ffi::vectorcallfunc,
    text: &'static CStr,
) -> PyResult<Bound<'py, PyAny>> {
    let object = make(function, EntryKind::Other, None)?;
    if entry_type::is_entry(&object) {
        let entry = object.as_ptr().cast::<Entry>();
        // SAFETY: a new entry, which nothing else has seen.
        unsafe {
            (*entry).vectorcall = Some(call);
            (*entry).text = text.as_ptr();
        }
    }
    Ok(object)
}

/// What an entry that switches capture off calls; `None` for any other object.
pub fn undisabled<'py>(obj: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    called_by(obj, EntryKind::Disabled)
}

/// The function of an entry of a resume function; `None` for any other object.
pub fn resumed<'py>(obj: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    called_by(obj, EntryKind::Resume)
}

fn called_by<'py>(obj: &Bound<'py, PyAny>, kind: EntryKind) -> Option<Bound<'py, PyAny>> {
    if !entry_type::is_entry(obj) {
        return None;
    }
    let entry = obj.as_ptr().cast::<Entry>();
    // SAFETY: the type was checked, and the GIL is held.
    unsafe {
        match (*entry).kind == kind {
            true => Bound::from_borrowed_ptr_or_opt(obj.py(), (*entry).callable),
            false => None,
        }
    }
}

fn make<'py>(
    callable: &Bound<'py, PyAny>,
    kind: EntryKind,
    context: Option<&Bound<'py, Context>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = callable.py();
    // SAFETY: the GIL is held; these are static type objects.
    let wrappers = unsafe {
        [
            &raw mut ffi::PyClassMethod_Type,
            &raw mut ffi::PyStaticMethod_Type,
        ]
        .map(|t| Bound::from_borrowed_ptr(py, t.cast()))
    };
    for wrapper in wrappers {
        if callable.is_instance(&wrapper)? {
            let inner = make(&callable.getattr("__func__")?, kind, context)?;
            return wrapper.call1((inner,));
        }
    }
    if !callable.is_callable() {
        return Err(PyTypeError::new_err(format!(
            "ferrodyn compiles functions and other callables, not {}",
            callable.get_type().name()?
        )));
    }
    let inner = entry_type::compiled_target(callable).unwrap_or_else(|| callable.clone());
    // SAFETY: the GIL is held.
    let is_function = unsafe { ffi::PyFunction_Check(inner.as_ptr()) } != 0;
    let entry_class = if is_function {
        EntryType::Function
    } else {
        EntryType::Callable
    };
    let object = entry_type::allocate(py, entry_class)?;
    let entry = object.as_ptr().cast::<Entry>();
    // SAFETY: `allocate` gave a zeroed object of this layout that nothing else has seen.
    unsafe {
        (*entry).kind = kind;
        (*entry).vectorcall = Some(match kind {
            EntryKind::Compiled => call_compiled,
            EntryKind::Disabled => call_disabled,
            EntryKind::Graph => call_graph,
            EntryKind::Resume => call_resume,
            // Until `make_other` has given it its own.
            EntryKind::Other => call_disabled,
        });
        (*entry).memo = Box::into_raw(Box::default());
        (*entry).func = if is_function {
            inner.as_ptr().cast()
        } else {
            ptr::null_mut()
        };
        (*entry).settings = context.map_or(ptr::null(), |c| ptr::from_ref(c.get().settings()));
        (*entry).context = context.map_or(ptr::null_mut(), |c| c.clone().into_ptr());
        (*entry).callable = inner.into_ptr();
    }
    entry_type::mark_coroutine(&object)?;
    Ok(object)
}

impl Entry {
    /// What calling it does.
    #[inline]
    pub fn kind(&self) -> EntryKind {
        self.kind
    }

    /// The wrapped callable; `None` once cleared by the garbage collector.
    pub fn callable<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        // SAFETY: the entry owns its callable, or has null.
        unsafe { Bound::from_borrowed_ptr_or_opt(py, self.callable) }
    }

    /// What a call of it calls, with the entry itself in front.
    #[inline]
    pub fn vectorcall(&self) -> ffi::vectorcallfunc {
        // SAFETY: set when the entry is made.
        unsafe { self.vectorcall.unwrap_unchecked() }
    }
}
