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

    use torch_abi::TorchAbi;
    use torch_abi::view::TensorView;

    use crate::expr::{Extent, IntLeaf, IntRelation};
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
        pub(crate) unsafe fn holds(
            &self,
            abi: &TorchAbi,
            register: impl Fn(u16) -> *mut PyObject,
        ) -> bool {
            // SAFETY: the caller's promise.
            let value = |leaf| unsafe { self.value(abi, leaf, &register) };
            self.relation.holds(&value)
        }

        /// The int of a leaf, if there is one.
        ///
        /// # Safety
        /// As for [`Self::holds`].
        unsafe fn value(
            &self,
            abi: &TorchAbi,
            leaf: IntLeaf,
            register: &impl Fn(u16) -> *mut PyObject,
        ) -> Option<i64> {
            let (IntLeaf::Value(id) | IntLeaf::Dim(id, ..)) = leaf;
            let (_, r) = self.registers.iter().find(|(of, _)| *of == id)?;
            // SAFETY: the caller's promise.
            unsafe {
                match leaf {
                    IntLeaf::Value(_) => int_value(register(*r)),
                    IntLeaf::Dim(_, extent, dim) => extent_of(abi, register(*r), extent, dim),
                }
            }
        }

        /// The relation's sides as they are: what a failure is explained with.
        ///
        /// # Safety
        /// As for [`Self::holds`].
        pub(crate) unsafe fn sides(
            &self,
            abi: &TorchAbi,
            register: impl Fn(u16) -> *mut PyObject,
        ) -> (Option<i64>, Option<i64>) {
            // SAFETY: the caller's promise.
            let value = |leaf| unsafe { self.value(abi, leaf, &register) };
            (
                self.relation.left.eval(&value),
                self.relation.right.eval(&value),
            )
        }
    }

    /// A size or stride of a strided tensor that has so many dimensions, or its offset.
    ///
    /// # Safety
    /// `obj` must be live, with the GIL held.
    unsafe fn extent_of(
        abi: &TorchAbi,
        obj: *mut PyObject,
        extent: Extent,
        dim: u8,
    ) -> Option<i64> {
        // SAFETY: the fields are read only where the class is that of a tensor, which is strided:
        // its TENSOR_MATCH, which is checked before, says so.
        unsafe {
            if !abi.is_tensor_type(ffi::Py_TYPE(obj)) {
                return None;
            }
            let view = TensorView::new(abi, obj);
            if !view.is_defined() {
                return None;
            }
            let (sizes, strides) = view.geometry();
            let dims = match extent {
                Extent::Size => sizes,
                Extent::Stride => strides,
                Extent::Offset => return Some(view.storage_offset()),
            };
            dims.get(usize::from(dim)).copied()
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
