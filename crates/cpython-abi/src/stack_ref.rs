//! A word of a frame that refers to an object.
//!
//! Up to 3.13 it is a pointer, null where there is nothing. From 3.14 on (`_PyStackRef`) the lowest two bits are a tag:
//!
//! - 0: the word owns a reference.
//! - 1: it owns none: the object is immortal, or somebody else keeps it alive for as long as the word is used
//!   (`LOAD_FAST_BORROW`). A pointer of 0 with this tag is an empty word.
//! - 3: no object but a small number, which only the operand stack has.
//!
//! CPython compares words of `None`, `True` and `False` bit by bit, so a word of an immortal object must have tag 1.
//!
//! Not here: which words a frame has (`frame`).

use pyo3::ffi::{self, PyObject};

/// The tag of a word that owns no reference.
#[cfg(Py_3_14)]
const BORROWED: usize = 1;
#[cfg(Py_3_14)]
const TAG: usize = 3;

/// A word of a frame that refers to an object, or to none.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackRef(*mut PyObject);

impl StackRef {
    /// Refers to nothing.
    #[cfg(not(Py_3_14))]
    pub const NULL: StackRef = StackRef(std::ptr::null_mut());
    /// Refers to nothing.
    #[cfg(Py_3_14)]
    pub const NULL: StackRef = StackRef(std::ptr::without_provenance_mut(BORROWED));

    /// Takes over a reference to `object`.
    ///
    /// # Safety
    /// `object` is a live object, of which the caller owns a reference.
    #[inline]
    pub unsafe fn owning(object: *mut PyObject) -> StackRef {
        #[cfg(not(Py_3_14))]
        return StackRef(object);
        #[cfg(Py_3_14)]
        {
            // SAFETY: required of the caller. The flags of a live object change by no read; what was made
            // immortal in a way that sets none is counted like any other.
            let tag = usize::from(unsafe { flags(object).read() }) & BORROWED;
            StackRef(object.map_addr(|at| at | tag))
        }
    }

    /// The object, borrowed; null where there is none.
    #[inline]
    pub fn object(self) -> *mut PyObject {
        #[cfg(not(Py_3_14))]
        return self.0;
        #[cfg(Py_3_14)]
        match self.0.addr() & TAG {
            TAG => std::ptr::null_mut(),
            _ => self.0.map_addr(|at| at & !TAG),
        }
    }

    /// Whether this word keeps its object alive by itself, or the object lives for ever.
    ///
    /// # Safety
    /// The object is alive, where there is one.
    #[inline]
    pub unsafe fn is_safe(self) -> bool {
        #[cfg(not(Py_3_14))]
        return true;
        // SAFETY: required of the caller.
        #[cfg(Py_3_14)]
        unsafe {
            let object = self.object();
            self.0.addr() & TAG != BORROWED
                || object.is_null()
                || usize::from(flags(object).read()) & BORROWED != 0
        }
    }

    /// Releases what the word owns.
    ///
    /// # Safety
    /// The GIL is held, and the word is not used any more.
    #[inline]
    pub unsafe fn release(self) {
        // SAFETY: required of the caller; a word without a tag is null or owns its reference.
        #[cfg(not(Py_3_14))]
        unsafe {
            ffi::Py_XDECREF(self.0);
        }
        // SAFETY: as above.
        #[cfg(Py_3_14)]
        unsafe {
            if self.0.addr() & TAG == 0 {
                ffi::Py_DECREF(self.0);
            }
        }
    }
}

/// `ob_flags`, whose lowest bit immortal objects have.
#[cfg(Py_3_14)]
#[inline]
fn flags(object: *mut PyObject) -> *const u16 {
    const FLAGS: usize = 6;
    object.cast::<u8>().wrapping_add(FLAGS).cast()
}
