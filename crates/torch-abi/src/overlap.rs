//! Whether two tensors share memory.
//!
//! Invariant: `false` is a proof that no byte belongs to both; `true` may be cautious (interleaved views that no
//! simple rule separates).

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::view::TensorView;
use crate::{TorchAbi, names};

/// Memory of a strided tensor: address of the first element, bytes per element, sizes and strides in elements.
#[derive(Clone, Copy, Debug)]
pub struct Footprint<'a> {
    /// Address of the first element.
    pub start: usize,
    /// Bytes per element.
    pub itemsize: usize,
    /// Size of each dimension.
    pub sizes: &'a [i64],
    /// Stride of each dimension, in elements.
    pub strides: &'a [i64],
}

impl Footprint<'_> {
    /// First byte and the byte after the last.
    fn range(&self) -> (usize, usize) {
        let last: i64 = self
            .sizes
            .iter()
            .zip(self.strides)
            .map(|(n, s)| (n - 1) * s)
            .sum();
        (
            self.start,
            self.start + (usize::try_from(last).unwrap_or(0) + 1) * self.itemsize,
        )
    }

    fn is_empty(&self) -> bool {
        self.sizes.contains(&0)
    }

    /// Whether a byte of one lies between the first and the last of the other.
    fn meets(&self, other: &Footprint<'_>) -> bool {
        let ((start, end), (other_start, other_end)) = (self.range(), other.range());
        !self.is_empty() && !other.is_empty() && start < other_end && other_start < end
    }
}

/// Whether the two may share a byte.
pub fn may_overlap(a: &Footprint<'_>, b: &Footprint<'_>) -> bool {
    if !a.meets(b) {
        return false;
    }
    let (low, high) = if a.start <= b.start { (a, b) } else { (b, a) };
    let distance = high.start - low.start;
    // All addresses of both lie on a grid of `step` bytes; the two may sit at different places of it.
    let strides = |f: &Footprint<'_>| -> Vec<usize> {
        let used = f.sizes.iter().zip(f.strides).filter(|(n, _)| **n > 1);
        used.map(|(_, s)| usize::try_from(*s).unwrap_or(0) * f.itemsize)
            .collect()
    };
    let (low_strides, high_strides) = (strides(low), strides(high));
    let step = low_strides
        .iter()
        .chain(&high_strides)
        .fold(0, |g, &s| gcd(g, s));
    if separated(distance, step, low.itemsize, high.itemsize) {
        return false;
    }
    // Bands of one matrix: every row of both fits between two steps of a common outer stride.
    let outer = low_strides
        .iter()
        .chain(&high_strides)
        .copied()
        .max()
        .unwrap_or(0);
    let inner = |f: &Footprint<'_>, strides: &[usize]| -> Option<usize> {
        let used: Vec<i64> = f.sizes.iter().copied().filter(|n| *n > 1).collect();
        let mut extent = f.itemsize;
        for (&stride, &size) in strides.iter().zip(&used) {
            if stride % outer != 0 {
                extent += stride * usize::try_from(size - 1).ok()?;
            }
        }
        Some(extent)
    };
    match (inner(low, &low_strides), inner(high, &high_strides)) {
        (Some(low_extent), Some(high_extent)) if outer > 0 => {
            !separated(distance, outer, low_extent, high_extent)
        }
        _ => true,
    }
}

/// Whether blocks of these lengths, `distance` apart on a ring of `step` bytes, leave each other alone.
fn separated(distance: usize, step: usize, low: usize, high: usize) -> bool {
    if step == 0 {
        return false;
    }
    let shift = distance % step;
    shift >= low && step - shift >= high
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Whether two live tensors may share memory. Tensors without memory of their own never do.
pub fn tensors_may_overlap(a: &TensorView<'_>, b: &TensorView<'_>) -> bool {
    if a.identity() == b.identity() {
        return true;
    }
    if a.device() != b.device() {
        return false;
    }
    let footprint = |t: &TensorView<'_>| -> Option<(usize, usize)> {
        let itemsize = tensor_meta::DType::from_scalar_type(u16::from(t.dtype()))?.itemsize();
        Some((t.data_ptr()?, itemsize))
    };
    let (Some((a_start, a_item)), Some((b_start, b_item))) = (footprint(a), footprint(b)) else {
        return false;
    };
    let ((a_sizes, a_strides), (b_sizes, b_strides)) = (a.geometry(), b.geometry());
    may_overlap(
        &Footprint {
            start: a_start,
            itemsize: a_item,
            sizes: a_sizes,
            strides: a_strides,
        },
        &Footprint {
            start: b_start,
            itemsize: b_item,
            sizes: b_sizes,
            strides: b_strides,
        },
    )
}

/// Memory that an object of the program lies in.
pub enum Memory<'a> {
    /// a tensor's
    Tensor(TensorView<'a>),
    /// that of an object with a buffer, such as a NumPy array
    Buffer {
        /// the object's address
        identity: usize,
        /// its first byte
        start: usize,
        /// how many bytes from there to its last, those between its items included
        length: i64,
    },
}

impl<'a> Memory<'a> {
    /// That of a tensor or of an object with a buffer; `None` for any other.
    ///
    /// # Safety
    /// `object` must be a live object that stays alive for `'a`, with the GIL held.
    pub unsafe fn of(abi: &'a TorchAbi, object: *mut ffi::PyObject) -> Option<Memory<'a>> {
        // SAFETY: the object is alive, by the caller's word.
        unsafe {
            if abi.is_tensor_type(ffi::Py_TYPE(object)) {
                return Some(Memory::Tensor(TensorView::new(abi, object)));
            }
            let mut buffer = std::mem::zeroed::<ffi::Py_buffer>();
            if ffi::PyObject_GetBuffer(object, &mut buffer, ffi::PyBUF_STRIDES) != 0 {
                ffi::PyErr_Clear();
                return None;
            }
            let (mut below, mut above) = (0, buffer.itemsize);
            let mut is_empty = false;
            for dim in 0..usize::try_from(buffer.ndim).unwrap_or(0) {
                // SAFETY: with strides asked for, both arrays have an item for each dimension.
                let (size, stride) = (*buffer.shape.add(dim), *buffer.strides.add(dim));
                is_empty |= size == 0;
                let end = (size - 1) * stride;
                below += end.min(0);
                above += end.max(0);
            }
            let start = (buffer.buf as usize).wrapping_add_signed(below);
            ffi::PyBuffer_Release(&mut buffer);
            Some(Memory::Buffer {
                identity: object as usize,
                start,
                length: if is_empty { 0 } else { (above - below) as i64 },
            })
        }
    }

    /// Whether a byte of one lies between the first and the last of the other.
    fn meets(&self, other: &Memory<'_>) -> bool {
        self.with_footprint(|a| other.with_footprint(|b| a.meets(b)))
            .flatten()
            .unwrap_or(false)
    }

    /// Whether the two may share a byte.
    pub fn may_overlap(&self, other: &Memory<'_>) -> bool {
        if let (Memory::Tensor(a), Memory::Tensor(b)) = (self, other) {
            return tensors_may_overlap(a, b);
        }
        if let (Memory::Buffer { identity: a, .. }, Memory::Buffer { identity: b, .. }) =
            (self, other)
            && a == b
        {
            return true;
        }
        self.with_footprint(|a| other.with_footprint(|b| may_overlap(a, b)))
            .flatten()
            .unwrap_or(false)
    }

    fn with_footprint<T>(&self, f: impl FnOnce(&Footprint<'_>) -> T) -> Option<T> {
        match self {
            Memory::Tensor(t) => {
                let item = tensor_meta::DType::from_scalar_type(u16::from(t.dtype()))?.itemsize();
                let (sizes, strides) = t.geometry();
                Some(f(&Footprint {
                    start: t.data_ptr()?,
                    itemsize: item,
                    sizes,
                    strides,
                }))
            }
            Memory::Buffer { start, length, .. } => Some(f(&Footprint {
                start: *start,
                itemsize: 1,
                sizes: &[*length],
                strides: &[1],
            })),
        }
    }
}

/// Whether two objects of the program may share memory: tensors, or objects with a buffer. No class is asked.
pub fn objects_may_overlap(abi: &TorchAbi, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> bool {
    // SAFETY: both are alive, and the GIL is held.
    let [a, b] = [a, b].map(|object| unsafe { Memory::of(abi, object.as_ptr()) });
    matches!((a, b), (Some(a), Some(b)) if a.may_overlap(&b))
}

/// Which of these objects may share memory with another one of them; `None` where one has none that is known.
pub fn shared(abi: &TorchAbi, objects: &[&Bound<'_, PyAny>]) -> Option<Vec<bool>> {
    let memories = memories(abi, objects).collect::<Option<Vec<_>>>()?;
    let shares = |(at, memory): (usize, &Memory<'_>)| {
        let mut others = memories
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at);
        others.any(|(_, other)| memory.may_overlap(other))
    };
    Some(memories.iter().enumerate().map(shares).collect())
}

/// The same, and which of these tensors AOTAutograd takes for such that share memory with another one of them: some that
/// do not, columns of a tensor of three dimensions among them. `shares` says which do.
///
/// # Errors
/// Where torch lacks the function that it asks.
pub fn or_shared_to_torch(
    py: Python<'_>,
    abi: &TorchAbi,
    tensors: &[&Bound<'_, PyAny>],
    mut shares: Vec<bool>,
) -> PyResult<Vec<bool>> {
    let memories: Vec<_> = memories(abi, tensors).collect();
    for (i, one) in memories.iter().enumerate() {
        for (j, other) in memories.iter().enumerate().skip(i + 1) {
            let meet = match (one, other) {
                (Some(one @ Memory::Tensor(_)), Some(other @ Memory::Tensor(_))) => {
                    one.meets(other)
                }
                _ => false,
            };
            if meet && !(shares[i] && shares[j]) && overlapping(py, &[tensors[i], tensors[j]])? == 2
            {
                (shares[i], shares[j]) = (true, true);
            }
        }
    }
    Ok(shares)
}

fn memories<'a>(
    abi: &'a TorchAbi,
    objects: &'a [&Bound<'_, PyAny>],
) -> impl Iterator<Item = Option<Memory<'a>>> {
    // SAFETY: all are alive, and the GIL is held.
    (objects.iter()).map(|object| unsafe { Memory::of(abi, object.as_ptr()) })
}

/// How many of these tensors of one storage share memory with another one of them, to AOTAutograd.
///
/// # Errors
/// Where torch lacks the function.
pub fn overlapping(py: Python<'_>, tensors: &[&Bound<'_, PyAny>]) -> PyResult<usize> {
    let guards = py.import(names::GUARDS_OF_TORCH_C)?;
    let found = guards.call_method1(names::OVERLAPPING, (PyList::new(py, tensors)?, false))?;
    found.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: (usize, &[i64], &[i64]), b: (usize, &[i64], &[i64])) -> bool {
        let of = |(start, sizes, strides)| Footprint {
            start,
            itemsize: 4,
            sizes,
            strides,
        };
        may_overlap(&of(a), &of(b))
    }

    #[test]
    fn ranges_decide_most_cases() {
        assert!(!check((0, &[4], &[1]), (16, &[4], &[1])));
        assert!(check((0, &[4], &[1]), (12, &[4], &[1])));
        assert!(!check((0, &[0], &[1]), (0, &[4], &[1])));
        assert!(check((0, &[], &[]), (0, &[], &[])));
    }

    #[test]
    fn interleaved_and_banded_views_are_apart() {
        assert!(!check((0, &[5], &[2]), (4, &[5], &[2])), "x[::2], x[1::2]");
        assert!(check((0, &[5], &[2]), (8, &[5], &[2])), "x[::2], x[2::2]");
        assert!(
            !check((0, &[8, 5], &[10, 1]), (20, &[8, 5], &[10, 1])),
            "x[:, :5], x[:, 5:]"
        );
        assert!(
            check((0, &[8, 5], &[10, 1]), (16, &[8, 5], &[10, 1])),
            "x[:, :5], x[:, 4:9]"
        );
        assert!(
            check((0, &[8, 10], &[10, 1]), (16, &[8], &[10])),
            "x, x[:, 4]"
        );
    }

    #[test]
    fn agrees_with_the_sets_of_addresses() {
        let mut cases = 0;
        for (n, s, m, t) in [
            (3, 1, 3, 2),
            (4, 3, 2, 1),
            (5, 2, 5, 2),
            (3, 4, 6, 2),
            (2, 6, 7, 1),
            (4, 4, 4, 6),
        ] {
            for distance in 0..20usize {
                let shared = (0..n).any(|i| (0..m).any(|j| i * s == j * t + distance as i64));
                let said = check((0, &[n], &[s]), (distance * 4, &[m], &[t]));
                assert!(said || !shared, "{n} {s} {m} {t} {distance}");
                cases += usize::from(!said);
            }
        }
        assert!(cases > 40, "the rules separate too little: {cases}");
    }
}
