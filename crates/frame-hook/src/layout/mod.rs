//! Where CPython keeps what the hook reads: the only place with offsets of code
//! objects, interpreter frames and thread states, and with private symbols.
//!
//! Not here: any decision about frames. Layouts are those of release builds of
//! CPython 3.11, 3.12 and 3.13 with the GIL, on 64-bit targets. The invariant
//! is that nothing outside [`check`] relies on a layout before
//! [`check::self_check`] has compared it with objects whose contents are known.

pub mod check;
pub mod code;
pub mod frame;
pub mod symbols;
pub mod thread;
pub mod tools;

/// Minor version of the Python that this build is for: the `12` of `3.12`.
pub const MINOR: u32 = if cfg!(Py_3_13) {
    13
} else if cfg!(Py_3_12) {
    12
} else {
    11
};

/// Words of a frame before its fast locals (`FRAME_SPECIALS_SIZE`).
pub const FRAME_HEADER_WORDS: usize = 9;
