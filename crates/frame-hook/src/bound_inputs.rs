//! The inputs of a graph that are the same at each call: the parameters of its modules.
//!
//! Not here: which inputs those are (`residual::graph`), and the call itself (`entry`).
//!
//! Invariant: between calls the places of the call's own arguments hold nothing.

use std::cell::{Cell, UnsafeCell};
use std::ptr;

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

/// The arguments of a graph's call, without those that each call gives.
pub(crate) struct BoundInputs {
    /// A place in front, which a callee may use while it runs; then the arguments, with null where a
    /// call's own go.
    arguments: UnsafeCell<Box<[*mut PyObject]>>,
    /// Where the call's own arguments go, in their order.
    given: Box<[u32]>,
    /// Whether a call has its arguments in place.
    busy: Cell<bool>,
    /// What `arguments` points to.
    held: Box<[Py<PyAny>]>,
}

impl BoundInputs {
    /// `inputs` has one item for each argument of the graph: what it always is, or `None` where each
    /// call gives it.
    pub(crate) fn new(inputs: Vec<Option<Py<PyAny>>>) -> Self {
        let pointer =
            |input: &Option<Py<PyAny>>| input.as_ref().map_or(ptr::null_mut(), Py::as_ptr);
        let arguments = std::iter::once(ptr::null_mut()).chain(inputs.iter().map(pointer));
        let given = (1..).zip(&inputs).filter(|(_, input)| input.is_none());
        BoundInputs {
            arguments: UnsafeCell::new(arguments.collect()),
            given: given.map(|(at, _)| at).collect(),
            busy: Cell::new(false),
            held: inputs.into_iter().flatten().collect(),
        }
    }

    /// How many arguments a call gives.
    pub(crate) fn given(&self) -> usize {
        self.given.len()
    }

    /// What is owned, for the garbage collector.
    pub(crate) fn references(&self) -> impl Iterator<Item = *mut PyObject> + '_ {
        self.held.iter().map(Py::as_ptr)
    }

    /// What was owned, now by the caller.
    pub(crate) fn into_references(self) -> impl Iterator<Item = *mut PyObject> {
        self.held.into_iter().map(Py::into_ptr)
    }

    /// Gives `call` all arguments, with a place in front of them that it may write to, and their number.
    /// A call within such a call, or one of another thread meanwhile, gets a copy.
    ///
    /// # Safety
    /// The GIL is held, `given` are as many arguments as [`BoundInputs::given`] says, and live as long as the
    /// call. `call` leaves the arguments as they are.
    #[inline]
    pub(crate) unsafe fn with<R>(
        &self,
        given: *const *mut PyObject,
        call: impl FnOnce(*mut *mut PyObject, usize) -> R,
    ) -> R {
        // SAFETY: with the GIL, nobody else is in this function; the places are within the arguments. Nobody
        // but the call that set `busy` has a pointer to them while it is set.
        unsafe {
            let shared = &raw mut **self.arguments.get();
            let count = shared.len() - 1;
            let nested = self.busy.replace(true);
            let mut own = Vec::new();
            let first = match nested {
                true => {
                    own.extend_from_slice(&*shared);
                    own.as_mut_ptr()
                }
                false => shared.cast::<*mut PyObject>(),
            };
            for (i, &at) in self.given.iter().enumerate() {
                *first.add(at as usize) = *given.add(i);
            }
            let result = call(first.add(1), count);
            if !nested {
                for &at in &self.given {
                    *first.add(at as usize) = ptr::null_mut();
                }
                self.busy.set(false);
            }
            result
        }
    }
}
