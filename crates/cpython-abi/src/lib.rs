//! The border to CPython: where it keeps what no public function gives, and how its C code calls us.
//!
//! What lives here: offsets of code objects ([`code`]), interpreter frames ([`frame`]), their words ([`stack_ref`]), thread states ([`thread`]),
//! dictionaries ([`dict`]), iterators ([`iterators`]) and other builtin objects ([`objects`]), private symbols
//! ([`symbols`]), watchers ([`watchers`]), whether a tool follows frames ([`tools`]), and the check of all of it at import
//! ([`check`]); where panics end ([`panics`]), where threads end ([`thread_end`]), what waits until the interpreter can
//! run any code ([`later`]), and what is logged once ([`report`]). What does not: any decision about what is read.
//!
//! Layouts are those of release builds of CPython 3.11 to 3.15 with the GIL, on 64-bit targets.
//!
//! Invariants: nothing outside of [`check`] relies on a layout before [`check::self_check`] has compared it with
//! objects whose contents are known; nothing here names another crate of the workspace, so that each can name this one.

pub mod check;
pub mod code;
pub mod constants;
pub mod dict;
pub mod frame;
pub mod iterators;
pub mod later;
pub mod objects;
pub mod panics;
pub mod report;
pub mod stack_ref;
pub mod symbols;
pub mod thread;
pub mod thread_end;
pub mod tools;
pub mod watchers;

/// Minor version of the Python that this build is for: the `12` of `3.12`.
pub const MINOR: u32 = if cfg!(Py_3_15) {
    15
} else if cfg!(Py_3_14) {
    14
} else if cfg!(Py_3_13) {
    13
} else if cfg!(Py_3_12) {
    12
} else {
    11
};

/// Words of a frame before its fast locals (`FRAME_SPECIALS_SIZE`).
pub const FRAME_HEADER_WORDS: usize = if cfg!(Py_3_14) { 10 } else { 9 };
