//! `_PyInterpreterFrame` of each version.
//!
//! From 3.14 on its words for the code, the function, variables and the operand stack are tagged references
//! ([`StackRef`]), and the end of the operand stack is a pointer in place of an index. The methods of [`RawFrame`]
//! are the same for all versions.
//!
//! Not here: what may be done with a frame (see `frame` and `substitute`).

use std::ffi::c_char;
#[cfg(not(Py_3_14))]
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ops::Deref;

use pyo3::ffi::PyObject;

use super::code::{CODE_UNIT_BYTES, RawCode, first_unit};
use super::stack_ref::StackRef;

/// `FRAME_OWNED_BY_THREAD`: the frame lies on the data stack of its thread.
pub const OWNED_BY_THREAD: c_char = 0;

/// `_PyInterpreterFrame`.
#[cfg(not(Py_3_12))]
#[repr(C)]
pub struct RawFrame {
    func: StackRef,
    /// Globals, borrowed.
    pub globals: *mut PyObject,
    /// Builtins, borrowed.
    pub builtins: *mut PyObject,
    /// Locals mapping of module and class bodies, owned, or null.
    pub locals: *mut PyObject,
    code: StackRef,
    /// The Python frame object where one was asked for, owned, or null.
    pub frame_obj: *mut PyObject,
    /// The calling frame.
    pub previous: *mut RawFrame,
    /// The code unit before the next one to run.
    pub instr: *mut u8,
    stacktop: c_int,
    is_entry: bool,
    /// Who owns the memory: [`OWNED_BY_THREAD`] or another.
    pub owner: c_char,
    localsplus: [StackRef; 0],
}

/// `_PyInterpreterFrame`.
#[cfg(Py_3_12)]
#[repr(C)]
pub struct RawFrame {
    code: StackRef,
    /// The calling frame.
    pub previous: *mut RawFrame,
    func: StackRef,
    /// Globals, borrowed.
    pub globals: *mut PyObject,
    /// Builtins, borrowed.
    pub builtins: *mut PyObject,
    /// Locals mapping of module and class bodies, owned, or null.
    pub locals: *mut PyObject,
    /// The Python frame object where one was asked for, owned, or null.
    pub frame_obj: *mut PyObject,
    /// 3.12: the code unit before the next one; 3.13 and newer: the next one.
    pub instr: *mut u8,
    #[cfg(not(Py_3_14))]
    stacktop: c_int,
    #[cfg(Py_3_14)]
    stackpointer: *mut StackRef,
    return_offset: u16,
    /// Who owns the memory: [`OWNED_BY_THREAD`] or another.
    pub owner: c_char,
    localsplus: [StackRef; 0],
}

impl RawFrame {
    /// The fast locals of the frame at `frame`, then cells, free variables and the operand stack.
    #[inline]
    pub fn locals_of(frame: *mut RawFrame) -> *mut StackRef {
        frame
            .cast::<u8>()
            .wrapping_add(std::mem::offset_of!(RawFrame, localsplus))
            .cast()
    }

    /// The code, borrowed.
    #[inline]
    pub fn code(&self) -> *mut PyObject {
        self.code.object()
    }

    /// The head of the code, borrowed.
    #[inline]
    pub fn raw_code(&self) -> *mut RawCode {
        self.code().cast()
    }

    /// The function, borrowed.
    #[inline]
    pub fn func(&self) -> *mut PyObject {
        self.func.object()
    }

    /// Makes `code` the frame's code, which takes over the reference to it, and gives what was there.
    ///
    /// # Safety
    /// `code` is a live code object.
    #[inline]
    pub unsafe fn replace_code(&mut self, code: *mut PyObject) -> StackRef {
        // SAFETY: required of the caller.
        std::mem::replace(&mut self.code, unsafe { StackRef::owning(code) })
    }

    /// Words in use from the first fast local on.
    ///
    /// # Safety
    /// `frame` is a frame.
    #[inline]
    pub unsafe fn words_in_use(frame: *mut RawFrame) -> usize {
        // SAFETY: required of the caller.
        #[cfg(not(Py_3_14))]
        unsafe {
            (*frame).stacktop as usize
        }
        // SAFETY: required of the caller; the difference is that of two numbers, whatever the pointer is.
        #[cfg(Py_3_14)]
        unsafe {
            let top = (*frame).stackpointer as usize;
            top.wrapping_sub(Self::locals_of(frame) as usize) / size_of::<StackRef>()
        }
    }

    /// Says that the first `words` words from the first fast local on are in use.
    ///
    /// # Safety
    /// `frame` is a frame, and that many words of it are initialised.
    #[inline]
    pub unsafe fn set_words_in_use(frame: *mut RawFrame, words: usize) {
        // SAFETY: required of the caller.
        #[cfg(not(Py_3_14))]
        unsafe {
            (*frame).stacktop = words as c_int;
        }
        // SAFETY: required of the caller.
        #[cfg(Py_3_14)]
        unsafe {
            (*frame).stackpointer = Self::locals_of(frame).add(words);
        }
    }
}

/// Where tags have to be taken off, the objects are copied.
#[cfg(Py_3_14)]
type ObjectList<'f> = smallvec::SmallVec<[*mut PyObject; 12]>;
#[cfg(not(Py_3_14))]
type ObjectList<'f> = &'f [*mut PyObject];

/// The objects of a frame's first words, borrowed: null where a variable is not bound.
pub struct Objects<'f> {
    list: ObjectList<'f>,
    lifetime: PhantomData<&'f RawFrame>,
}

impl Objects<'_> {
    /// The first `count` words of `frame`, as they are now.
    ///
    /// # Safety
    /// That many words are initialised, and they stay as they are while this is used.
    #[inline]
    pub unsafe fn of(frame: *mut RawFrame, count: usize) -> Self {
        // SAFETY: required of the caller.
        let words = unsafe { std::slice::from_raw_parts(RawFrame::locals_of(frame), count) };
        #[cfg(Py_3_14)]
        let list = words.iter().map(|word| word.object()).collect();
        // SAFETY: a word without tags is a pointer.
        #[cfg(not(Py_3_14))]
        let list = unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), count) };
        Objects {
            list,
            lifetime: PhantomData,
        }
    }
}

impl Deref for Objects<'_> {
    type Target = [*mut PyObject];

    #[inline]
    fn deref(&self) -> &[*mut PyObject] {
        self.list.iter().as_slice()
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
    #[cfg(not(Py_3_14))]
    assert!(std::mem::offset_of!(RawFrame, stacktop) == 64);
    #[cfg(Py_3_14)]
    assert!(std::mem::offset_of!(RawFrame, stackpointer) == 64);
    assert!(std::mem::offset_of!(RawFrame, localsplus) == super::FRAME_HEADER_WORDS * 8);
    let owner = match (cfg!(Py_3_14), cfg!(Py_3_12)) {
        (true, _) => 74,
        (_, true) => 70,
        _ => 69,
    };
    assert!(std::mem::offset_of!(RawFrame, owner) == owner);
};
