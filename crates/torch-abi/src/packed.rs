//! The whole metadata of many tensors, compared in a few loads each: for the thousands of parameters that a call
//! must know to be unchanged.
//!
//! Invariant: a [`PackedReader`] exists only where every field that it reads has a learnt offset; its verdict is
//! the one that the readers of [`crate::view`] would give.

use pyo3::ffi;

use crate::TorchAbi;
use crate::layout::{INLINE_DIMS, PAYLOAD};
use crate::prefetch::to_cache;
use crate::symbols::MethodFn;

/// Where the compared fields are.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Offsets {
    dims: usize,
    dtype: usize,
    device: usize,
    key_set: usize,
    autograd_meta: usize,
    requires_grad: usize,
}

/// Offsets that the compiler may know.
trait Places: Copy {
    fn get(self) -> Offsets;
}

impl Places for Offsets {
    #[inline(always)]
    fn get(self) -> Offsets {
        self
    }
}

/// The offsets of torch 2.10 to 2.15 on 64-bit machines, used where they are the learnt ones: with constants the
/// comparison takes half the instructions.
#[derive(Clone, Copy)]
struct Usual;

impl Places for Usual {
    #[inline(always)]
    fn get(self) -> Offsets {
        USUAL
    }
}

const USUAL: Offsets = Offsets {
    dims: 56,
    dtype: 160,
    device: 162,
    key_set: 168,
    autograd_meta: 24,
    requires_grad: 128,
};

/// Offsets and functions that a comparison needs.
#[derive(Clone, Copy)]
pub struct PackedReader {
    offsets: Offsets,
    /// Whether the offsets are [`USUAL`].
    is_usual: bool,
    requires_grad: MethodFn,
}

/// What a tensor must look like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PackedSpec {
    /// Its exact class.
    pub class: *mut ffi::PyTypeObject,
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
    /// A spec, if the sizes and strides are few enough to lie inside the `TensorImpl`. `class` is a tensor class.
    pub fn new(
        class: *mut ffi::PyTypeObject,
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
            class,
            keys,
            dtype,
            device,
            requires_grad,
            rank: sizes.len(),
            geometry,
        })
    }
}

/// A tensor that is to be compared again and again.
#[derive(Clone, Copy)]
pub struct PackedTensor {
    object: *mut ffi::PyObject,
    /// What it pointed to: compared before it is followed.
    impl_: *const u8,
    autograd_meta: *const u8,
}

/// How many tensors ahead of the compared one are being loaded.
const AHEAD: usize = 8;

impl PackedReader {
    /// The reader, where torch's layout is known well enough.
    pub fn new(abi: &TorchAbi) -> Option<Self> {
        let layout = &abi.layout;
        let offsets = Offsets {
            dims: layout.dims?,
            dtype: layout.dtype?,
            device: layout.device?,
            key_set: layout.key_set?,
            autograd_meta: layout.autograd_meta?,
            requires_grad: layout.requires_grad?,
        };
        Some(Self {
            offsets,
            is_usual: offsets == USUAL,
            requires_grad: abi.symbols.requires_grad,
        })
    }

    /// Prepares a tensor.
    ///
    /// # Safety
    /// `object` must be a live tensor with a `TensorImpl`.
    pub unsafe fn tensor(&self, object: *mut ffi::PyObject) -> PackedTensor {
        // SAFETY: the payload starts with the TensorImpl pointer (checked at start-up); a learnt offset inside it.
        unsafe {
            let impl_ = impl_of(object);
            PackedTensor {
                object,
                impl_,
                autograd_meta: word(impl_, self.offsets.autograd_meta) as *const u8,
            }
        }
    }

    /// Begins to load the first of `tensors`, as [`PackedReader::all_match`] does with those that follow.
    #[inline]
    pub fn load_first(&self, tensors: &[PackedTensor]) {
        for tensor in tensors.iter().take(AHEAD) {
            prefetch(tensor, &self.offsets);
        }
    }

    /// Whether each of the first `count` of `tensors` is as `spec` says. `keys` are the thread's (included, excluded)
    /// key sets. The tensors behind those are what will be compared next.
    ///
    /// # Safety
    /// The objects are alive and the GIL is held.
    ///
    /// # Panics
    /// Where there are fewer.
    #[inline]
    pub unsafe fn all_match(
        &self,
        tensors: &[PackedTensor],
        count: usize,
        spec: &PackedSpec,
        keys: (u64, u64),
    ) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            if self.is_usual {
                self.all_match_at(Usual, tensors, count, spec, keys)
            } else {
                self.all_match_at(self.offsets, tensors, count, spec, keys)
            }
        }
    }

    /// Whether one tensor is as `spec` says; false for any other object.
    ///
    /// # Safety
    /// As for [`PackedReader::all_match`].
    #[inline]
    pub unsafe fn matches(
        &self,
        object: *mut ffi::PyObject,
        spec: &PackedSpec,
        keys: (u64, u64),
    ) -> bool {
        let tensor = PackedTensor {
            object,
            impl_: std::ptr::null(),
            autograd_meta: std::ptr::null(),
        };
        // SAFETY: the caller's promise.
        unsafe { self.all_match(&[tensor], 1, spec, keys) }
    }

    #[inline(always)]
    unsafe fn all_match_at<P: Places>(
        &self,
        places: P,
        tensors: &[PackedTensor],
        count: usize,
        spec: &PackedSpec,
        keys: (u64, u64),
    ) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            match spec.rank {
                0 => self.all_of_rank::<P, 0>(places, tensors, count, spec, keys),
                1 => self.all_of_rank::<P, 1>(places, tensors, count, spec, keys),
                2 => self.all_of_rank::<P, 2>(places, tensors, count, spec, keys),
                3 => self.all_of_rank::<P, 3>(places, tensors, count, spec, keys),
                4 => self.all_of_rank::<P, 4>(places, tensors, count, spec, keys),
                _ => self.all_of_rank::<P, 5>(places, tensors, count, spec, keys),
            }
        }
    }

    unsafe fn all_of_rank<P: Places, const RANK: usize>(
        &self,
        places: P,
        tensors: &[PackedTensor],
        count: usize,
        spec: &PackedSpec,
        (included, excluded): (u64, u64),
    ) -> bool {
        let at = places.get();
        let (want, class, requires_grad) = (spec.keys, spec.class, spec.requires_grad);
        let ([d0, d1], [d2, d3]) = (spec.dtype.to_ne_bytes(), spec.device.map(|b| b as u8));
        let (dtype, device) = (spec.dtype, u16::from_ne_bytes([d2, d3]));
        let kind = u32::from_ne_bytes([d0, d1, d2, d3]);
        let sizes: [i64; RANK] = std::array::from_fn(|i| spec.geometry[i]);
        let strides: [i64; RANK] = std::array::from_fn(|i| spec.geometry[INLINE_DIMS + i]);
        for (i, tensor) in tensors[..count].iter().enumerate() {
            if let Some(ahead) = tensors.get(i + AHEAD) {
                prefetch(ahead, &at);
            }
            // SAFETY: a live object of a tensor class, whose TensorImpl is the one that is looked at; a rank of at
            // most `INLINE_DIMS` means that sizes and strides follow inline.
            unsafe {
                if ffi::Py_TYPE(tensor.object) != class {
                    return false;
                }
                let impl_ = impl_of(tensor.object);
                if impl_.is_null() {
                    return false;
                }
                let same_kind = if at.device == at.dtype + 2 {
                    impl_.add(at.dtype).cast::<u32>().read_unaligned() == kind
                } else {
                    impl_.add(at.dtype).cast::<u16>().read_unaligned() == dtype
                        && impl_.add(at.device).cast::<u16>().read_unaligned() == device
                };
                let mut different = ((word(impl_, at.key_set) | included) & !excluded) ^ want;
                different |= word(impl_, at.dims) ^ RANK as u64;
                if !same_kind || different != 0 {
                    return false;
                }
                let have = impl_.add(at.dims + 8).cast::<i64>();
                let mut different = 0;
                for (i, (size, stride)) in sizes.iter().zip(&strides).enumerate() {
                    different |= have.add(i).read_unaligned() ^ size;
                    different |= have.add(INLINE_DIMS + i).read_unaligned() ^ stride;
                }
                if different != 0 {
                    return false;
                }
                let meta = word(impl_, at.autograd_meta) as *const u8;
                let is_leaf_with_grad = !meta.is_null() && meta.add(at.requires_grad).read() == 1;
                if is_leaf_with_grad != requires_grad || (!requires_grad && !meta.is_null()) {
                    // A result of differentiable operations says so elsewhere.
                    if (self.requires_grad)(impl_.cast()) != requires_grad {
                        return false;
                    }
                }
            }
        }
        true
    }
}

#[inline(always)]
unsafe fn impl_of(object: *mut ffi::PyObject) -> *const u8 {
    // SAFETY: the payload of a tensor object starts with the TensorImpl pointer (checked at start-up).
    unsafe { object.cast::<u8>().add(PAYLOAD).cast::<*const u8>().read() }
}

#[inline(always)]
unsafe fn word(impl_: *const u8, at: usize) -> u64 {
    // SAFETY: a learnt offset inside a live TensorImpl.
    unsafe { impl_.add(at).cast::<u64>().read_unaligned() }
}

/// Begins to load what will be compared.
#[inline(always)]
fn prefetch(tensor: &PackedTensor, at: &Offsets) {
    to_cache(tensor.object.cast());
    to_cache(tensor.impl_.wrapping_add(at.autograd_meta));
    to_cache(tensor.impl_.wrapping_add(at.dims + 8));
    to_cache(tensor.impl_.wrapping_add(at.key_set));
    to_cache(tensor.autograd_meta.wrapping_add(at.requires_grad));
}
