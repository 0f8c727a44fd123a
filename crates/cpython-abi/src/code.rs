//! The head of `PyCodeObject`, up to the counts of variables.
//!
//! Not here: the bytecode itself, nor names and constants (the `bytecode` crate
//! reads those through Python attributes).

use std::ffi::c_int;

use pyo3::ffi::{self, PyObject};

use super::FRAME_HEADER_WORDS;

/// `PyCodeObject` up to and including `co_localsplusnames`.
#[repr(C)]
pub struct RawCode {
    ob_base: ffi::PyVarObject,
    consts: *mut PyObject,
    names: *mut PyObject,
    exception_table: *mut PyObject,
    /// `co_flags`.
    pub flags: c_int,
    #[cfg(not(Py_3_12))]
    warmup: i16,
    #[cfg(not(Py_3_12))]
    linearray_entry_size: i16,
    /// `co_argcount`: positional arguments, positional-only ones included.
    pub argcount: c_int,
    /// `co_posonlyargcount`.
    pub posonly: c_int,
    /// `co_kwonlyargcount`.
    pub kwonly: c_int,
    /// `co_stacksize`, in words.
    pub stacksize: c_int,
    /// `co_firstlineno`.
    pub firstlineno: c_int,
    /// `co_nlocalsplus`: locals, cells and free variables.
    pub nlocalsplus: c_int,
    #[cfg(Py_3_12)]
    framesize: c_int,
    /// `co_nlocals`.
    pub nlocals: c_int,
    #[cfg(not(Py_3_12))]
    nplaincellvars: c_int,
    /// `co_ncellvars`.
    pub ncellvars: c_int,
    /// `co_nfreevars`.
    pub nfreevars: c_int,
    #[cfg(Py_3_12)]
    version: u32,
    /// `co_localsplusnames`: a tuple of `nlocalsplus` strings.
    pub localsplusnames: *mut PyObject,
}

/// Offset in bytes of the first code unit (`co_code_adaptive`).
pub const CODE_UNITS: usize = if cfg!(Py_3_14) {
    208
} else if cfg!(Py_3_13) {
    200
} else if cfg!(Py_3_12) {
    192
} else {
    184
};

/// Bytes of one code unit.
pub const CODE_UNIT_BYTES: usize = 2;

impl RawCode {
    /// Words of the data stack that a frame of this code takes.
    #[inline]
    pub fn frame_words(&self) -> usize {
        #[cfg(Py_3_12)]
        {
            self.framesize as usize
        }
        #[cfg(not(Py_3_12))]
        {
            self.computed_frame_words()
        }
    }

    /// The same from its parts; the self-check holds the two together.
    #[inline]
    pub fn computed_frame_words(&self) -> usize {
        self.nlocalsplus as usize + self.stacksize as usize + FRAME_HEADER_WORDS
    }

    /// Slots that hold arguments in an unstarted frame: positional, keyword-only, `*args`, `**kwargs`.
    #[inline]
    pub fn argument_slots(&self) -> usize {
        (self.argcount + self.kwonly) as usize
            + usize::from(self.flags & ffi::CO_VARARGS != 0)
            + usize::from(self.flags & ffi::CO_VARKEYWORDS != 0)
    }
}

/// Address of the first code unit of `code`.
#[inline]
pub fn first_unit(code: *mut RawCode) -> *mut u8 {
    code.cast::<u8>().wrapping_add(CODE_UNITS)
}

const _: () = {
    assert!(std::mem::offset_of!(RawCode, flags) == 48);
    assert!(std::mem::offset_of!(RawCode, nlocalsplus) == if cfg!(Py_3_12) { 72 } else { 76 });
    assert!(std::mem::offset_of!(RawCode, localsplusnames) == 96);
};
