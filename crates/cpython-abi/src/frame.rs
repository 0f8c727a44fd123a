//! `_PyInterpreterFrame` of each version.
//!
//! Not here: what may be done with a frame (see `frame` and `substitute`).

use std::ffi::{c_char, c_int};

use pyo3::ffi::PyObject;

use super::code::{CODE_UNIT_BYTES, RawCode, first_unit};

/// `FRAME_OWNED_BY_THREAD`: the frame lies on the data stack of its thread.
pub const OWNED_BY_THREAD: c_char = 0;

/// `_PyInterpreterFrame`.
#[cfg(not(Py_3_12))]
#[repr(C)]
pub struct RawFrame {
    /// The function, owned.
    pub func: *mut PyObject,
    /// Globals, borrowed.
    pub globals: *mut PyObject,
    /// Builtins, borrowed.
    pub builtins: *mut PyObject,
    /// Locals mapping of module and class bodies, owned, or null.
    pub locals: *mut PyObject,
    /// The code, owned.
    pub code: *mut PyObject,
    /// The Python frame object where one was asked for, owned, or null.
    pub frame_obj: *mut PyObject,
    /// The calling frame.
    pub previous: *mut RawFrame,
    /// The code unit before the next one to run.
    pub instr: *mut u8,
    /// Words in use from `localsplus` on.
    pub stacktop: c_int,
    is_entry: bool,
    /// Who owns the memory: [`OWNED_BY_THREAD`] or another.
    pub owner: c_char,
    /// Fast locals, cells, free variables, then the operand stack.
    pub localsplus: [*mut PyObject; 0],
}

/// `_PyInterpreterFrame`.
#[cfg(Py_3_12)]
#[repr(C)]
pub struct RawFrame {
    /// The code (`f_executable` on 3.13), owned.
    pub code: *mut PyObject,
    /// The calling frame.
    pub previous: *mut RawFrame,
    /// The function, owned.
    pub func: *mut PyObject,
    /// Globals, borrowed.
    pub globals: *mut PyObject,
    /// Builtins, borrowed.
    pub builtins: *mut PyObject,
    /// Locals mapping of module and class bodies, owned, or null.
    pub locals: *mut PyObject,
    /// The Python frame object where one was asked for, owned, or null.
    pub frame_obj: *mut PyObject,
    /// 3.12: the code unit before the next one; 3.13: the next one.
    pub instr: *mut u8,
    /// Words in use from `localsplus` on.
    pub stacktop: c_int,
    return_offset: u16,
    /// Who owns the memory: [`OWNED_BY_THREAD`] or another.
    pub owner: c_char,
    /// Fast locals, cells, free variables, then the operand stack.
    pub localsplus: [*mut PyObject; 0],
}

impl RawFrame {
    /// The fast locals of the frame at `frame`.
    #[inline]
    pub fn locals_of(frame: *mut RawFrame) -> *mut *mut PyObject {
        frame
            .cast::<u8>()
            .wrapping_add(std::mem::offset_of!(RawFrame, localsplus))
            .cast()
    }
}

/// The instruction pointer of a frame of `code` before its first instruction.
#[inline]
pub fn unstarted_instr(code: *mut PyObject) -> *mut u8 {
    let first = first_unit(code.cast::<RawCode>());
    if cfg!(Py_3_13) {
        first
    } else {
        first.wrapping_sub(CODE_UNIT_BYTES)
    }
}

const _: () = {
    assert!(std::mem::offset_of!(RawFrame, stacktop) == 64);
    assert!(std::mem::offset_of!(RawFrame, localsplus) == super::FRAME_HEADER_WORDS * 8);
    assert!(std::mem::offset_of!(RawFrame, owner) == if cfg!(Py_3_12) { 70 } else { 69 });
};
