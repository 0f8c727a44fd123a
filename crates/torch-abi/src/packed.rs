//! One tensor's whole metadata, compared in a few loads: for the thousands of parameters that a call must know
//! to be unchanged.
//!
//! Invariant: a [`PackedReader`] exists only where every field that it reads has a learnt offset; its verdict is
//! the one that the readers of [`crate::view`] would give.

use pyo3::ffi;

use crate::TorchAbi;
use crate::layout::{INLINE_DIMS, PAYLOAD};
use crate::symbols::MethodFn;

/// Offsets and functions that a comparison needs.
#[derive(Clone, Copy)]
pub struct PackedReader {
    dims: usize,
    dtype: usize,
    device: usize,
    key_set: usize,
    autograd_meta: usize,
    requires_grad: usize,
    requires_grad_fn: MethodFn,
}

/// What a tensor must look like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PackedSpec {
    /// The dispatch key set, with the thread's keys applied.
    pub keys: u64,
    /// Number of the dtype.
    pub dtype: u16,
    /// Type and index of the device.
    pub device: [i8; 2],
    /// Whether it requires grad.
    pub requires_grad: bool,
    rank: usize,
    /// Sizes, then strides.
    geometry: [i64; 2 * INLINE_DIMS],
}

impl PackedSpec {
    /// A spec, if the sizes and strides are few enough to lie inside the `TensorImpl`.
    pub fn new(
        keys: u64,
        dtype: u16,
        device: [i8; 2],
        requires_grad: bool,
        sizes: &[i64],
        strides: &[i64],
    ) -> Option<Self> {
        if sizes.len() > INLINE_DIMS || sizes.len() != strides.len() {
            return None;
        }
        let mut geometry = [0; 2 * INLINE_DIMS];
        geometry[..sizes.len()].copy_from_slice(sizes);
        geometry[INLINE_DIMS..INLINE_DIMS + strides.len()].copy_from_slice(strides);
        Some(Self {
            keys,
            dtype,
            device,
            requires_grad,
            rank: sizes.len(),
            geometry,
        })
    }
}

impl PackedReader {
    /// The reader, where torch's layout is known well enough.
    pub fn new(abi: &TorchAbi) -> Option<Self> {
        let layout = &abi.layout;
        Some(Self {
            dims: layout.dims?,
            dtype: layout.dtype?,
            device: layout.device?,
            key_set: layout.key_set?,
            autograd_meta: layout.autograd_meta?,
            requires_grad: layout.requires_grad?,
            requires_grad_fn: abi.symbols.requires_grad,
        })
    }

    /// The `TensorImpl` of a tensor object.
    ///
    /// # Safety
    /// `object` must be a live instance of `torch._C.TensorBase`.
    #[inline(always)]
    pub unsafe fn impl_of(object: *mut ffi::PyObject) -> *const u8 {
        // SAFETY: the payload starts with the TensorImpl pointer (checked at start-up).
        unsafe { object.cast::<u8>().add(PAYLOAD).cast::<*const u8>().read() }
    }

    /// The autograd metadata of a `TensorImpl`, or null.
    ///
    /// # Safety
    /// `impl_` must be the `TensorImpl` of a live tensor, with the GIL held.
    #[inline(always)]
    pub unsafe fn autograd_meta(&self, impl_: *const u8) -> *const u8 {
        // SAFETY: a learnt offset inside a live TensorImpl.
        unsafe {
            impl_
                .add(self.autograd_meta)
                .cast::<*const u8>()
                .read_unaligned()
        }
    }

    /// Begins to load what [`PackedReader::matches`] will read.
    #[inline(always)]
    pub fn prefetch(&self, impl_: *const u8, autograd_meta: *const u8) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: prefetching touches no memory: any address will do.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(impl_.wrapping_add(self.autograd_meta).cast());
                _mm_prefetch::<_MM_HINT_T0>(impl_.wrapping_add(self.dims + 8).cast());
                _mm_prefetch::<_MM_HINT_T0>(impl_.wrapping_add(self.key_set).cast());
                _mm_prefetch::<_MM_HINT_T0>(autograd_meta.wrapping_add(self.requires_grad).cast());
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (impl_, autograd_meta);
    }

    /// Whether a tensor is as `spec` says. `keys` are the thread's (included, excluded) key sets.
    ///
    /// # Safety
    /// `impl_` must be the `TensorImpl` of a live tensor, with the GIL held.
    #[inline(always)]
    pub unsafe fn matches(&self, impl_: *const u8, spec: &PackedSpec, keys: (u64, u64)) -> bool {
        // SAFETY: learnt offsets inside a live TensorImpl; a rank of at most `INLINE_DIMS` means that sizes and
        // strides follow inline.
        unsafe {
            let word = |at: usize| impl_.add(at).cast::<u64>().read_unaligned();
            if (word(self.key_set) | keys.0) & !keys.1 != spec.keys
                || impl_.add(self.dtype).cast::<u16>().read_unaligned() != spec.dtype
                || impl_.add(self.device).cast::<[i8; 2]>().read_unaligned() != spec.device
                || word(self.dims) != spec.rank as u64
            {
                return false;
            }
            let geometry = impl_.add(self.dims + 8).cast::<i64>();
            let same = match spec.rank {
                0 => true,
                1 => same_geometry::<1>(geometry, &spec.geometry),
                2 => same_geometry::<2>(geometry, &spec.geometry),
                3 => same_geometry::<3>(geometry, &spec.geometry),
                4 => same_geometry::<4>(geometry, &spec.geometry),
                _ => same_geometry::<5>(geometry, &spec.geometry),
            };
            if !same {
                return false;
            }
            let meta = self.autograd_meta(impl_);
            if meta.is_null() {
                return !spec.requires_grad;
            }
            if meta.add(self.requires_grad).read() == 1 {
                return spec.requires_grad;
            }
            (self.requires_grad_fn)(impl_.cast()) == spec.requires_grad
        }
    }
}

/// Whether the first `RANK` sizes and strides are the same.
///
/// # Safety
/// `have` points to inline sizes and strides.
#[inline(always)]
unsafe fn same_geometry<const RANK: usize>(
    have: *const i64,
    want: &[i64; 2 * INLINE_DIMS],
) -> bool {
    let mut different = 0;
    for i in 0..RANK {
        // SAFETY: the caller's promise.
        unsafe {
            different |= have.add(i).read_unaligned() ^ want[i];
            different |= have.add(INLINE_DIMS + i).read_unaligned() ^ want[INLINE_DIMS + i];
        }
    }
    different == 0
}
