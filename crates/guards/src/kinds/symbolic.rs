//! Ints that are not constants: SHAPE_ENV.
//!
//! Invariant: checked after every source of the set is loaded and every int is known to be one; what does not fit
//! 64 bits fails.

use crate::expr::IntRelation;
use crate::kinds::TextCx;

/// Python text.
pub(crate) fn code_part(relation: &IntRelation, cx: &TextCx<'_>) -> String {
    relation.text(&|id| cx.name(id))
}

#[cfg(feature = "python")]
mod native {
    use pyo3::ffi;
    use pyo3::ffi::PyObject;

    use crate::expr::IntRelation;
    use crate::source::SourceId;

    /// A relation and the registers of its sources.
    pub(crate) struct LinkedRelation {
        pub(crate) relation: IntRelation,
        pub(crate) registers: Box<[(SourceId, u16)]>,
    }

    impl LinkedRelation {
        /// Whether the relation holds for what registers hold.
        ///
        /// # Safety
        /// `register` must give live objects, with the GIL held.
        #[inline]
        pub(crate) unsafe fn holds(&self, register: impl Fn(u16) -> *mut PyObject) -> bool {
            self.relation.holds(&|id| {
                let (_, r) = self.registers.iter().find(|(of, _)| *of == id)?;
                // SAFETY: the caller's promise.
                unsafe { int_value(register(*r)) }
            })
        }
    }

    /// The value of an exact `int` that fits.
    ///
    /// # Safety
    /// `obj` must be live, with the GIL held.
    unsafe fn int_value(obj: *mut PyObject) -> Option<i64> {
        // SAFETY: an exact int converts without user code; overflow is reported in the flag, not raised.
        unsafe {
            if ffi::PyLong_CheckExact(obj) == 0 {
                return None;
            }
            let mut overflow = 0;
            let value = ffi::PyLong_AsLongLongAndOverflow(obj, &raw mut overflow);
            (overflow == 0).then_some(value)
        }
    }
}

#[cfg(feature = "python")]
pub(crate) use native::LinkedRelation;
