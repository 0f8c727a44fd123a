//! The fields of `PyThreadState` that substitution needs, and the data stack's chunks.
//!
//! Not here: allocation of chunks, which is hidden in all versions.

use pyo3::ffi::{PyObject, PyThreadState};

const DATASTACK: usize = if cfg!(Py_3_15) {
    256
} else if cfg!(Py_3_12) {
    232
} else {
    296
};

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

/// Whether a thread counts the C calls that it may still make (3.12 and 3.13). 3.11 counts Python calls alone, and 3.14
/// and newer look at the address of the stack.
pub const COUNTS_C_CALLS: bool = cfg!(all(Py_3_12, not(Py_3_14)));

/// `c_recursion_remaining` of `tstate`: C levels left before `RecursionError`; only where [`COUNTS_C_CALLS`].
#[inline]
pub fn c_recursion_remaining(tstate: *mut PyThreadState) -> *mut std::ffi::c_int {
    const OFFSET: usize = if cfg!(Py_3_13) { 52 } else { 36 };
    tstate.cast::<u8>().wrapping_add(OFFSET).cast()
}
