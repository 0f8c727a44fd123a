//! The fields of `PyThreadState` that substitution needs, and the data stack's chunks.
//!
//! Not here: allocation of chunks, which is hidden in all versions.

use pyo3::ffi::{PyObject, PyThreadState};

const DATASTACK: usize = if cfg!(Py_3_12) { 232 } else { 296 };

#[cfg(Py_3_12)]
const C_RECURSION_REMAINING: usize = if cfg!(Py_3_13) { 52 } else { 36 };

/// `datastack_chunk`, `datastack_top` and `datastack_limit` of a thread state.
#[repr(C)]
pub struct DataStack {
    /// The chunk in use.
    pub chunk: *mut Chunk,
    /// First free word.
    pub top: *mut *mut PyObject,
    /// End of the chunk.
    pub limit: *mut *mut PyObject,
}

/// `_PyStackChunk`.
#[repr(C)]
pub struct Chunk {
    /// The chunk below.
    pub previous: *mut Chunk,
    /// Bytes of this chunk, header included.
    pub size: usize,
    /// Saved top of a chunk that is not in use.
    pub top: usize,
    /// The words.
    pub data: [*mut PyObject; 0],
}

/// The data stack of `tstate`.
#[inline]
pub fn data_stack(tstate: *mut PyThreadState) -> *mut DataStack {
    tstate.cast::<u8>().wrapping_add(DATASTACK).cast()
}

/// `c_recursion_remaining` of `tstate`: C levels left before `RecursionError`.
#[cfg(Py_3_12)]
#[inline]
pub fn c_recursion_remaining(tstate: *mut PyThreadState) -> *mut std::ffi::c_int {
    tstate
        .cast::<u8>()
        .wrapping_add(C_RECURSION_REMAINING)
        .cast()
}
