//! Raw reads of one tensor's metadata: no allocation, no Python, no user code.
//!
//! Invariant: a view is used only while the tensor object that it was made from is alive and the GIL is held.

use std::ffi::c_void;
use std::marker::PhantomData;

use pyo3::ffi;
use pyo3::prelude::*;

use crate::layout::{INLINE_DIMS, PAYLOAD};
use crate::{TorchAbi, names};

/// A tensor, seen through the learnt offsets (or the stable C ABI where one is not known).
#[derive(Clone, Copy)]
pub struct TensorView<'a> {
    abi: &'a TorchAbi,
    object: *mut ffi::PyObject,
    impl_: *const u8,
    _tensor: PhantomData<&'a ()>,
}

impl<'a> TensorView<'a> {
    /// Looks at a tensor object.
    ///
    /// # Safety
    /// `object` must be an instance of `torch._C.TensorBase` that stays alive for `'a`, with the GIL held.
    #[inline]
    pub unsafe fn new(abi: &'a TorchAbi, object: *mut ffi::PyObject) -> Self {
        // SAFETY: the object's payload starts with the TensorImpl pointer (checked at start-up).
        let impl_ = unsafe { object.cast::<u8>().add(PAYLOAD).cast::<*const u8>().read() };
        Self {
            abi,
            object,
            impl_,
            _tensor: PhantomData,
        }
    }

    /// Whether there is a `TensorImpl` (a tensor object being torn down has none).
    #[inline]
    pub fn is_defined(&self) -> bool {
        !self.impl_.is_null()
    }

    /// Identity of the `TensorImpl`: equal for two Python objects exactly if they are one tensor.
    #[inline]
    pub fn identity(&self) -> usize {
        self.impl_ as usize
    }

    #[inline]
    fn field<T: Copy>(&self, at: usize) -> T {
        // SAFETY: `at` is a learnt offset inside the live TensorImpl.
        unsafe { self.impl_.add(at).cast::<T>().read_unaligned() }
    }

    fn handle(&self) -> *const c_void {
        self.object
            .cast::<u8>()
            .wrapping_add(PAYLOAD)
            .cast::<c_void>()
    }

    /// Number of dimensions.
    #[inline]
    pub fn dim(&self) -> usize {
        match self.abi.layout.dims {
            Some(at) => self.field::<usize>(at),
            None => {
                let mut dim = 0;
                // SAFETY: a live tensor's handle.
                unsafe { (self.abi.symbols.stable.dim)(self.handle(), &raw mut dim) };
                usize::try_from(dim).unwrap_or(0)
            }
        }
    }

    /// Sizes and strides, in elements. Only for strided layouts with plain sizes.
    #[inline]
    pub fn geometry(&self) -> (&'a [i64], &'a [i64]) {
        let dim = self.dim();
        // SAFETY: the learnt place holds `dim` sizes and `dim` strides, inside the TensorImpl or behind a pointer;
        // the ABI calls give pointers to the same arrays.
        unsafe {
            match self.abi.layout.dims {
                Some(at) if dim <= INLINE_DIMS => {
                    let sizes = self.impl_.add(at + 8).cast::<i64>();
                    (
                        std::slice::from_raw_parts(sizes, dim),
                        std::slice::from_raw_parts(sizes.add(INLINE_DIMS), dim),
                    )
                }
                Some(at) => {
                    let sizes = self.field::<*const i64>(at + 8);
                    (
                        std::slice::from_raw_parts(sizes, dim),
                        std::slice::from_raw_parts(sizes.add(dim), dim),
                    )
                }
                None => {
                    let stable = &self.abi.symbols.stable;
                    let (mut sizes, mut strides) = (std::ptr::null(), std::ptr::null());
                    let status = (stable.sizes)(self.handle(), &raw mut sizes)
                        | (stable.strides)(self.handle(), &raw mut strides);
                    if status != 0 || dim == 0 {
                        return (&[], &[]);
                    }
                    (
                        std::slice::from_raw_parts(sizes, dim),
                        std::slice::from_raw_parts(strides, dim),
                    )
                }
            }
        }
    }

    /// Offset of the first element in its storage.
    #[inline]
    pub fn storage_offset(&self) -> i64 {
        match self.abi.layout.storage_offset {
            Some(at) => self.field(at),
            None => {
                let mut offset = 0;
                // SAFETY: a live tensor's handle.
                unsafe { (self.abi.symbols.stable.storage_offset)(self.handle(), &raw mut offset) };
                offset
            }
        }
    }

    /// torch's `ScalarType` number.
    #[inline]
    pub fn dtype(&self) -> u8 {
        match self.abi.layout.dtype {
            Some(at) => self.field::<u16>(at) as u8,
            None => {
                let mut dtype = -1;
                // SAFETY: a live tensor's handle.
                unsafe { (self.abi.symbols.stable.dtype)(self.handle(), &raw mut dtype) };
                dtype as u8
            }
        }
    }

    /// Device type and index (-1 for none).
    #[inline]
    pub fn device(&self) -> (i8, i8) {
        match self.abi.layout.device {
            Some(at) => {
                let pair = self.field::<[i8; 2]>(at);
                (pair[0], pair[1])
            }
            None => {
                let stable = &self.abi.symbols.stable;
                let (mut kind, mut index) = (-1, -1);
                // SAFETY: a live tensor's handle.
                unsafe {
                    (stable.device_type)(self.handle(), &raw mut kind);
                    (stable.device_index)(self.handle(), &raw mut index);
                }
                (kind as i8, index as i8)
            }
        }
    }

    /// The raw dispatch key set of the tensor, without the thread's keys.
    #[inline]
    pub fn key_set(&self) -> u64 {
        match self.abi.layout.key_set {
            Some(at) => self.field(at),
            None => self.key_set_from_python(),
        }
    }

    #[cold]
    fn key_set_from_python(&self) -> u64 {
        Python::attach(|py| {
            // SAFETY: a live tensor object.
            let tensor = unsafe { Bound::from_borrowed_ptr(py, self.object) };
            let read = || -> PyResult<u64> {
                let torch_c = py.import(names::TORCH_C)?;
                torch_c
                    .getattr(names::DISPATCH_KEYS)?
                    .call1((tensor,))?
                    .call_method0("raw_repr")?
                    .extract()
            };
            read().unwrap_or(0)
        })
    }

    /// `Tensor.requires_grad`.
    #[inline]
    pub fn requires_grad(&self) -> bool {
        if let Some(at) = self.abi.layout.autograd_meta
            && self.field::<usize>(at) == 0
        {
            return false;
        }
        // SAFETY: a live TensorImpl.
        unsafe { (self.abi.symbols.requires_grad)(self.impl_.cast()) }
    }

    /// Address of the first element, or `None` where there is no memory (meta, sparse, functional wrappers).
    pub fn data_ptr(&self) -> Option<usize> {
        let mut pointer = std::ptr::null();
        // SAFETY: a live tensor's handle; the C ABI catches C++ exceptions and returns a status.
        let status = unsafe { (self.abi.symbols.stable.data_ptr)(self.handle(), &raw mut pointer) };
        (status == 0 && !pointer.is_null()).then_some(pointer as usize)
    }
}
