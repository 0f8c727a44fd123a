//! Functions that an entry calls in place of its own, one for each compiled form of the code.
//!
//! Such a function has the globals and the closure of the function that it stands for, so it belongs
//! to one entry. It must die with the compiled form, whose constants it keeps alive, and the garbage
//! collector must see that the entry leads to it. So there is one reference to it, in a [`Slot`]: the
//! entry shows it to the collector, and whichever of entry and compiled form goes first releases it.
//!
//! Invariant: slots are touched with the GIL held.

use std::any::TypeId;
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

use crate::code_state::{self, CodeState};
use crate::compiler::Direct;
use crate::context::ContextId;
use crate::graph_call::GraphCall;

/// The place of one function: a strong reference, or null once it was released.
struct Slot {
    function: AtomicPtr<PyObject>,
    /// What is known of the function's code. The function keeps the graph alive.
    known: Cell<Known>,
}

/// What is known of the code of a function.
#[derive(Clone, Copy, Default)]
pub struct Known {
    /// Whether frames below it are to be captured too ([`Direct::needs_hook`]).
    pub needs_hook: bool,
    /// Where the code does nothing but this call.
    pub graph_call: Option<GraphCall>,
    /// Whether the code does no more with its `**kwargs`, the last argument, than to read items of it before
    /// anything runs.
    pub only_reads_keywords: bool,
}

impl Slot {
    #[inline]
    fn get(&self) -> *mut PyObject {
        self.function.load(Ordering::Relaxed)
    }

    /// The call of what is in it.
    ///
    /// # Safety
    /// `function` is what the slot holds.
    #[inline]
    unsafe fn direct(&self, py: Python<'_>, function: *mut PyObject) -> Direct {
        // SAFETY: with the GIL, nobody writes meanwhile.
        let known = unsafe { &*self.known.as_ptr() };
        Direct {
            // SAFETY: required of the caller.
            function: unsafe { Bound::from_borrowed_ptr(py, function) }.unbind(),
            needs_hook: known.needs_hook,
            graph_call: known.graph_call.as_ref().map(NonNull::from),
        }
    }

    fn release(&self) {
        self.replace(ptr::null_mut());
    }

    /// Takes over a reference, and releases the one before.
    fn replace(&self, function: *mut PyObject) {
        let function = self.function.swap(function, Ordering::Relaxed);
        if !function.is_null() {
            // Without an interpreter to attach to, the object is past releasing.
            let _: Option<()> = Python::try_attach(|py| {
                // SAFETY: the slot owned this reference, and gave it up.
                drop(unsafe { Bound::from_owned_ptr(py, function) });
            });
        }
    }
}

/// What the compiled form holds: dropping it releases the function.
pub struct Tie(Arc<Slot>);

impl Drop for Tie {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// What an entry remembers between calls. It may call several functions of one code in turn: what it calls is
/// looked up in a class.
#[derive(Default)]
pub struct CallMemo {
    /// The code object that was asked about last, owned, and its state.
    code: Option<(Py<PyAny>, *const CodeState)>,
    /// By the address of the compiled form. An address that is used again finds an empty slot.
    functions: Vec<(usize, Arc<Slot>)>,
    /// What the last call ran, where it was the only compiled form.
    only: Option<Only>,
}

/// The only compiled form of a code object in a context. It lives for as long as the slot is filled:
/// the form holds the tie.
struct Only {
    /// The one that the memo owns.
    code: *mut PyObject,
    context: ContextId,
    form: *const (),
    /// What the form is, for a check in debug builds.
    type_of_form: TypeId,
    slot: Arc<Slot>,
}

// SAFETY: the pointers are followed with the GIL held only, the form's while the slot is filled.
unsafe impl Send for Only {}
// SAFETY: the graph is used with the GIL held only, while the slot is filled.
unsafe impl Send for Slot {}
// SAFETY: as above; so is the cell.
unsafe impl Sync for Slot {}

impl CallMemo {
    /// The state of `code`; null where memory is short.
    ///
    /// # Safety
    /// The GIL is held and `code` is a live code object.
    #[inline]
    pub unsafe fn state_of(&mut self, py: Python<'_>, code: *mut PyObject) -> *const CodeState {
        if let Some((known, state)) = &self.code
            && known.as_ptr() == code
        {
            return *state;
        }
        // SAFETY: required of the caller. The memo keeps the code, and so its state, alive.
        unsafe {
            let state = code_state::state_of(code);
            if state.is_null() {
                ffi::PyErr_Clear();
            } else {
                self.only = None;
                self.code = Some((Bound::from_borrowed_ptr(py, code).unbind(), state));
            }
            state
        }
    }

    /// What to call for the compiled form at an address, in the place of `func`.
    ///
    /// # Safety
    /// `func` is a function.
    #[inline]
    pub unsafe fn function(&self, func: Borrowed<'_, '_, PyAny>, form: usize) -> Option<Direct> {
        let (_, slot) = self.functions.iter().find(|known| known.0 == form)?;
        let function = slot.get();
        // SAFETY: a slot holds a live function or null.
        unsafe {
            let fits = !function.is_null() && stands_for(function, func.as_ptr());
            fits.then(|| slot.direct(func.py(), function))
        }
    }

    /// The only compiled form of `code` in a context, and its function in the place of `func` (a new reference).
    ///
    /// # Safety
    /// `func` is a function, nothing runs that could drop the form while it is used, and a form is an `F` in
    /// [`CallMemo::set_only`] too.
    #[inline]
    pub unsafe fn only<F: 'static>(
        &self,
        func: Borrowed<'_, '_, PyAny>,
        code: *mut PyObject,
        context: ContextId,
        fits: impl FnOnce(&F, &Known) -> bool,
    ) -> Option<Direct> {
        let only = self.only.as_ref()?;
        let function = only.slot.get();
        if function.is_null() || only.code != code || only.context != context {
            return None;
        }
        let known = only.slot.known.as_ptr();
        // SAFETY: a filled slot means that the form is alive and its function too; with the GIL, nobody writes
        // meanwhile what is known of its code.
        unsafe {
            debug_assert_eq!(only.type_of_form, TypeId::of::<F>());
            let form = &*only.form.cast::<F>();
            (stands_for(function, func.as_ptr()) && fits(form, &*known))
                .then(|| only.slot.direct(func.py(), function))
        }
    }

    /// Remembers that a compiled form, whose function is known, is the only one; or that there are more.
    pub fn set_only<F: 'static>(
        &mut self,
        code: *mut PyObject,
        context: ContextId,
        form: Option<&Arc<F>>,
    ) {
        self.only = form.and_then(|form| {
            let form = Arc::as_ptr(form).cast::<()>();
            let known = self.functions.iter().find(|known| known.0 == form as usize);
            known.map(|(_, slot)| Only {
                code,
                context,
                form,
                type_of_form: TypeId::of::<F>(),
                slot: slot.clone(),
            })
        });
    }

    /// Remembers the function for a compiled form, which has to hold the tie, if there is a new one, and what is
    /// known of its code.
    #[must_use = "the compiled form has to hold it"]
    pub fn remember(&mut self, form: usize, function: Py<PyAny>, known: Known) -> Option<Tie> {
        self.functions.retain(|known| !known.1.get().is_null());
        if let Some((_, slot)) = self.functions.iter().find(|other| other.0 == form) {
            slot.replace(function.into_ptr());
            return None;
        }
        let slot = Arc::new(Slot {
            function: AtomicPtr::new(function.into_ptr()),
            known: Cell::new(known),
        });
        self.functions.push((form, slot.clone()));
        Some(Tie(slot))
    }

    /// From now on the frame of a function is there: its graph does not give what the function's code expects.
    pub(crate) fn keep_frame(&self, function: *mut PyObject) {
        let mut slots = self.functions.iter().map(|known| &known.1);
        if let Some(slot) = slots.find(|slot| slot.get() == function) {
            slot.known.set(Known {
                graph_call: None,
                ..slot.known.get()
            });
        }
    }

    /// The references that the garbage collector has to know of.
    pub(crate) fn references(&self) -> impl Iterator<Item = *mut PyObject> {
        let functions = self.functions.iter().map(|known| known.1.get());
        functions.filter(|function| !function.is_null())
    }
}

/// Whether a function that was made for a compiled form has what `func` has: what an entry calls may be
/// another function of the same code.
///
/// # Safety
/// Both are functions.
#[inline]
unsafe fn stands_for(made: *mut PyObject, func: *mut PyObject) -> bool {
    // SAFETY: required of the caller.
    unsafe {
        let (made, func) = (
            &*made.cast::<ffi::PyFunctionObject>(),
            &*func.cast::<ffi::PyFunctionObject>(),
        );
        made.func_closure == func.func_closure && made.func_globals == func.func_globals
    }
}

impl Drop for CallMemo {
    fn drop(&mut self) {
        for (_, slot) in self.functions.drain(..) {
            slot.release();
        }
    }
}

/// A function of `code` in the place of `func`: same globals, closure.
///
/// # Errors
/// `MemoryError`, or what a closure that does not fit raises.
///
/// # Safety
/// `func` is a function.
pub unsafe fn function_like<'py>(
    func: Borrowed<'_, 'py, PyAny>,
    code: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = func.py();
    let raw = func.as_ptr().cast::<ffi::PyFunctionObject>();
    // SAFETY: required of the caller; what is made here is a function that nothing else has seen.
    unsafe {
        let made = ffi::PyFunction_New(code.as_ptr(), (*raw).func_globals);
        let made = Bound::from_owned_ptr_or_err(py, made)?;
        let closure = (*raw).func_closure;
        if !closure.is_null() && ffi::PyFunction_SetClosure(made.as_ptr(), closure) != 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(made)
    }
}
