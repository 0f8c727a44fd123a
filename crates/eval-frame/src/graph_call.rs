//! The call of a graph without the frame of the residual code around it, where that code does nothing but call
//! the graph with arguments of its own and hand on what it gives. A Python frame costs more than a check of guards.
//!
//! Not here: which code does just that, and what is made of an exception, or of a result
//! that is no tuple or list of the expected length: the residual code runs after all, with that outcome in the
//! graph's place ([`crate::replay`]).
//!
//! Invariant: the program cannot tell. Tools that follow frames (profilers, debuggers) see the residual frame,
//! because for them it is there.

use pyo3::ffi::{self, PyObject};

use cpython_abi::tools;

/// Most arguments, and most items of a result.
const MOST: usize = 8;

/// A few small numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Few {
    count: u8,
    items: [u8; MOST],
}

impl Few {
    /// `None` where they are too many, or one is too large.
    pub fn of(items: impl IntoIterator<Item = usize>) -> Option<Few> {
        let mut few = Few::default();
        for item in items {
            *few.items.get_mut(usize::from(few.count))? = u8::try_from(item).ok()?;
            few.count += 1;
        }
        Some(few)
    }

    fn get(&self) -> &[u8] {
        &self.items[..usize::from(self.count)]
    }
}

/// What the residual code makes of the graph's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// One of them.
    Output(u8),
    /// A new tuple of some.
    Tuple(Few),
}

/// A call of a graph that is all that its residual code does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphCall {
    /// Borrowed from the residual code's constants.
    graph: *mut PyObject,
    /// Which local each argument is; `None` where they are the first so many in order.
    picks: Option<Few>,
    /// Number of arguments.
    arguments: u8,
    /// Number of outputs.
    outputs: u8,
    given: Given,
}

impl GraphCall {
    /// A call of `graph`. `picks` says which local each argument is.
    pub fn new(graph: *mut PyObject, picks: Few, outputs: u8, given: Given) -> Self {
        let in_order = (0..picks.count).eq(picks.get().iter().copied());
        GraphCall {
            graph,
            picks: (!in_order).then_some(picks),
            arguments: picks.count,
            outputs,
            given,
        }
    }

    /// The graph's callable: alive for as long as the residual code.
    pub(crate) fn graph(&self) -> *mut PyObject {
        self.graph
    }

    /// Whether the residual frame can be left out now.
    #[inline]
    pub(crate) fn is_unseen() -> bool {
        !tools::follow_frames()
    }

    /// Calls the graph: what the residual code would return, or else what the graph gave (owned), null with an
    /// exception set.
    ///
    /// # Safety
    /// The GIL is held, the graph is alive during the call, and `locals` are those of the residual code.
    #[inline]
    pub(crate) unsafe fn call(
        &self,
        locals: &[*mut PyObject],
    ) -> Result<*mut PyObject, *mut PyObject> {
        let picked: [*mut PyObject; MOST];
        let arguments = match &self.picks {
            None => &locals[..usize::from(self.arguments)],
            Some(picks) => {
                picked = picks.items.map(|at| locals[usize::from(at)]);
                &picked[..usize::from(self.arguments)]
            }
        };
        // SAFETY: required of the caller.
        unsafe {
            let result = vectorcall(self.graph, arguments);
            let handed = match &self.given {
                Given::Output(i) => items(result, self.outputs)
                    .map(|items| ffi::Py_NewRef(*items.add(usize::from(*i)))),
                Given::Tuple(few) => tuple_of(few, result, self.outputs),
            };
            let handed = handed.ok_or(result)?;
            ffi::Py_DECREF(result);
            Ok(handed)
        }
    }
}

/// A new tuple of some items of a result, null with an exception set where memory is short; `None` where the
/// result has not as many items as `count` says.
///
/// # Safety
/// The GIL is held; `result` is null or a live object.
unsafe fn tuple_of(few: &Few, result: *mut PyObject, count: u8) -> Option<*mut PyObject> {
    // SAFETY: required of the caller. An allocation may run finalizers, which may change a list: what is in it is
    // looked at behind that.
    unsafe {
        items(result, count)?;
        let tuple = ffi::PyTuple_New(few.get().len() as isize);
        if tuple.is_null() {
            return Some(tuple);
        }
        let Some(items) = items(result, count) else {
            ffi::Py_DECREF(tuple);
            return None;
        };
        for (to, &from) in (0..).zip(few.get()) {
            ffi::PyTuple_SET_ITEM(tuple, to, ffi::Py_NewRef(*items.add(usize::from(from))));
        }
        Some(tuple)
    }
}

/// # Safety
/// The GIL is held, and all are alive.
#[inline]
unsafe fn vectorcall(callable: *mut PyObject, args: &[*mut PyObject]) -> *mut PyObject {
    // SAFETY: required of the caller.
    unsafe {
        match ffi::Py_TYPE(callable) == &raw mut ffi::PyFunction_Type {
            true => super::call::call_function(callable, args),
            false => {
                ffi::PyObject_Vectorcall(callable, args.as_ptr(), args.len(), std::ptr::null_mut())
            }
        }
    }
}

/// The items of a tuple or list of just this length, good until anything runs.
///
/// # Safety
/// `object` is null or a live object.
#[inline]
unsafe fn items(object: *mut PyObject, count: u8) -> Option<*const *mut PyObject> {
    // SAFETY: required of the caller.
    unsafe {
        if object.is_null() {
            return None;
        }
        if ffi::PyTuple_CheckExact(object) != 0 {
            let tuple = object.cast::<ffi::PyTupleObject>();
            let fits = ffi::PyTuple_GET_SIZE(object) == isize::from(count);
            return fits.then(|| (&raw const (*tuple).ob_item).cast());
        }
        let fits = ffi::PyList_CheckExact(object) != 0
            && ffi::PyList_GET_SIZE(object) == isize::from(count);
        fits.then(|| (*object.cast::<ffi::PyListObject>()).ob_item.cast_const())
    }
}
