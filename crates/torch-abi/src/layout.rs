//! Where a tensor keeps its fields, learnt from tensors whose metadata is known.
//!
//! A `THPVariable` holds an `at::Tensor` (one pointer to a `TensorImpl`) right after its object header. The
//! offsets inside `TensorImpl` are searched for: a field's offset is the only place where every probe tensor has
//! the right value.
//!
//! Invariant: an offset is `Some` only if there was exactly one candidate over all probes; the readers ask the
//! stable C ABI or Python for the others.

use std::ffi::c_void;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::AbiError;
use crate::names;
use crate::symbols::Symbols;

/// Offset of the payload in a Python object without `__dict__` header: after refcount and type.
pub const PAYLOAD: usize = 16;

/// Bytes of a `TensorImpl` that may be searched: no supported torch has a smaller one.
const SEARCHED: usize = 184;

/// Sizes and strides of up to this many dimensions are inside the `TensorImpl`.
pub const INLINE_DIMS: usize = 5;

/// Offsets in `TensorImpl`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of dimensions, followed by the inline sizes and strides or a pointer to both.
    pub dims: Option<usize>,
    /// Offset into the storage.
    pub storage_offset: Option<usize>,
    /// Dtype number (u16).
    pub dtype: Option<usize>,
    /// Device type (i8) and index (i8).
    pub device: Option<usize>,
    /// Raw dispatch key set.
    pub key_set: Option<usize>,
    /// Pointer to autograd metadata; null means that the tensor requires no grad.
    pub autograd_meta: Option<usize>,
    /// In the autograd metadata: the byte that says that a leaf requires grad.
    pub requires_grad: Option<usize>,
}

/// A probe tensor and what Python says of it.
struct Probe {
    impl_: *const u8,
    sizes: Vec<i64>,
    strides: Vec<i64>,
    offset: i64,
    dtype: u16,
    device: (i8, i8),
    keys: u64,
    has_autograd: Option<bool>,
    /// Keeps the tensor alive.
    _tensor: Py<PyAny>,
}

/// How a probe tensor is made. Device and dtype are explicit: the user's defaults must not change them.
struct Recipe {
    sizes: &'static [i64],
    device: &'static str,
    dtype: &'static str,
    requires_grad: bool,
    /// methods of the tensor, each of the result of the one before, with what they take
    then: &'static [(&'static str, &'static [i64])],
}

impl Recipe {
    const fn new(sizes: &'static [i64], device: &'static str, dtype: &'static str) -> Recipe {
        Recipe {
            sizes,
            device,
            dtype,
            requires_grad: false,
            then: &[],
        }
    }

    const fn then(self, then: &'static [(&'static str, &'static [i64])]) -> Recipe {
        Recipe { then, ..self }
    }

    const fn requiring_grad(self) -> Recipe {
        Recipe {
            requires_grad: true,
            ..self
        }
    }

    fn make<'py>(&self, torch: &Bound<'py, PyModule>) -> PyResult<Bound<'py, PyAny>> {
        let py = torch.py();
        let how = PyDict::new(py);
        how.set_item("device", self.device)?;
        how.set_item("dtype", torch.getattr(self.dtype)?)?;
        how.set_item("requires_grad", self.requires_grad)?;
        let sizes = (PyTuple::new(py, self.sizes)?,);
        let mut tensor = torch.getattr("empty")?.call(sizes, Some(&how))?;
        for (method, arguments) in self.then {
            tensor = tensor.call_method1(*method, PyTuple::new(py, *arguments)?)?;
        }
        Ok(tensor)
    }
}

/// The probe tensors: ranks 0 to 7, dtypes, offsets, devices, grad, views with flag keys.
const PROBES: [Recipe; 14] = [
    Recipe::new(&[7, 11], "cpu", "float32"),
    Recipe::new(&[3, 5, 13], "cpu", "int64"),
    Recipe::new(&[17], "cpu", "bool"),
    Recipe::new(&[], "cpu", "float64"),
    Recipe::new(&[9, 23], "cpu", "float32")
        .then(&[("narrow", &[0, 2, 7]), ("narrow", &[1, 3, 20])]),
    Recipe::new(&[9, 23], "cpu", "complex64").then(&[("t", &[])]),
    Recipe::new(&[2, 3, 4, 5, 6], "cpu", "int8"),
    Recipe::new(&[2, 3, 4, 5, 6, 7], "cpu", "uint8"),
    Recipe::new(&[2, 3, 4, 5, 6, 7, 8], "meta", "float32").then(&[("narrow", &[0, 1, 1])]),
    Recipe::new(&[4, 6], "cpu", "float32").requiring_grad(),
    Recipe::new(&[19], "cpu", "bfloat16").requiring_grad(),
    Recipe::new(&[21], "meta", "float32"),
    Recipe::new(&[6, 9], "cpu", "complex128").then(&[("conj", &[])]),
    Recipe::new(&[31, 37], "cpu", "float16").then(&[("select", &[0, 5])]),
];

/// Those of which it is learnt where autograd metadata says that a leaf requires grad.
const LEAVES: [Recipe; 2] = [
    Recipe::new(&[3], "cpu", "float32"),
    Recipe::new(&[2, 5], "meta", "float32"),
];

impl Layout {
    /// Learns the offsets.
    ///
    /// # Errors
    /// [`AbiError::UnknownInternals`] if tensors are not laid out as the stable C ABI needs them.
    pub fn probe(py: Python<'_>, version: &str, symbols: &Symbols) -> Result<Self, AbiError> {
        let probes = make_probes(py, version, symbols)?;
        let words = || (0..=SEARCHED - 8).step_by(8);
        let word = |p: &Probe, at: usize| -> u64 {
            // SAFETY: `at + 8 <= SEARCHED`, inside the TensorImpl that the probe keeps alive.
            unsafe { p.impl_.add(at).cast::<u64>().read_unaligned() }
        };
        let only = |mut found: Vec<usize>| if found.len() == 1 { found.pop() } else { None };
        let all = |test: &dyn Fn(&Probe, usize) -> bool, offsets: Vec<usize>| {
            only(
                offsets
                    .into_iter()
                    .filter(|&at| probes.iter().all(|p| test(p, at)))
                    .collect(),
            )
        };
        let dims = all(
            &|p, at| {
                let rank = p.sizes.len();
                if word(p, at) != rank as u64 {
                    return false;
                }
                if rank > INLINE_DIMS {
                    let pointer = word(p, at + 8) as *const i64;
                    if pointer.is_null() || !pointer.is_aligned() || word(p, at + 8) < 4096 {
                        return false;
                    }
                    // SAFETY: only reached where the word before is the probe's rank; no other field of a
                    // TensorImpl holds a rank above five followed by a pointer-like word.
                    return unsafe {
                        (0..rank).all(|i| {
                            pointer.add(i).read() == p.sizes[i]
                                && pointer.add(rank + i).read() == p.strides[i]
                        })
                    };
                }
                (0..rank).all(|i| {
                    word(p, at + 8 + 8 * i) as i64 == p.sizes[i]
                        && word(p, at + 8 + 8 * (INLINE_DIMS + i)) as i64 == p.strides[i]
                })
            },
            words()
                .filter(|at| at + 8 * (1 + 2 * INLINE_DIMS) <= SEARCHED)
                .collect(),
        );
        let storage_offset = all(&|p, at| word(p, at) as i64 == p.offset, words().collect());
        let dtype = all(
            &|p, at| (word(p, at & !7) >> (8 * (at & 7))) as u16 == p.dtype,
            (0..=SEARCHED - 8).step_by(2).collect(),
        );
        let device = all(
            &|p, at| {
                // SAFETY: inside the TensorImpl.
                let pair = unsafe {
                    (
                        p.impl_.add(at).cast::<i8>().read(),
                        p.impl_.add(at + 1).cast::<i8>().read(),
                    )
                };
                pair == p.device
            },
            (0..=SEARCHED - 8).collect(),
        );
        let key_set = all(&|p, at| word(p, at) == p.keys, words().collect());
        let autograd_meta = all(
            &|p, at| p.has_autograd.is_none_or(|has| (word(p, at) != 0) == has),
            words()
                .filter(|&at| Some(at) != dims && Some(at) != storage_offset && Some(at) != key_set)
                .collect(),
        );
        let requires_grad = match autograd_meta {
            Some(at) => probe_requires_grad(py, at)?,
            None => None,
        };
        Ok(Self {
            dims,
            storage_offset,
            dtype,
            device,
            key_set,
            autograd_meta,
            requires_grad,
        })
    }
}

/// Bytes of autograd metadata that may be searched.
const AUTOGRAD_SEARCHED: usize = 144;

/// The one byte of a leaf's autograd metadata that follows `requires_grad`, back and forth.
fn probe_requires_grad(py: Python<'_>, autograd_meta: usize) -> Result<Option<usize>, AbiError> {
    let torch = py.import(names::TORCH)?;
    let mut fits = [true; AUTOGRAD_SEARCHED];
    for recipe in LEAVES {
        let tensor = recipe.make(&torch)?;
        for wanted in [true, false, true] {
            tensor.setattr("requires_grad", wanted)?;
            // SAFETY: the learnt place of a live TensorImpl holds a pointer to its autograd metadata, which a
            // tensor that was made to require grad has; no supported torch has a smaller one.
            unsafe {
                let payload = tensor.as_ptr().cast::<u8>().add(PAYLOAD);
                let impl_ = payload.cast::<*const u8>().read();
                let meta = impl_.add(autograd_meta).cast::<*const u8>().read();
                if meta.is_null() {
                    return Ok(None);
                }
                for (at, fits) in fits.iter_mut().enumerate() {
                    *fits &= meta.add(at).read() == u8::from(wanted);
                }
            }
        }
    }
    let mut found = fits.iter().enumerate().filter(|(_, fits)| **fits);
    Ok(match (found.next(), found.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    })
}

fn make_probes(py: Python<'_>, version: &str, symbols: &Symbols) -> Result<Vec<Probe>, AbiError> {
    let torch = py.import(names::TORCH)?;
    let torch_c = py.import(names::TORCH_C)?;
    let mut probes = Vec::new();
    for recipe in PROBES {
        let tensor = recipe.make(&torch)?;
        let keys: u64 = torch_c
            .getattr(names::DISPATCH_KEYS)?
            .call1((&tensor,))?
            .call_method0("raw_repr")?
            .extract()?;
        let device = tensor.getattr("device")?;
        let kind: String = device.getattr("type")?.extract()?;
        let index: Option<i8> = device.getattr("index")?.extract()?;
        let kind = tensor_meta::DeviceKind::from_name(&kind).map_or(-1, |k| k.device_type() as i8);
        let dtype: String = tensor.getattr("dtype")?.str()?.extract()?;
        let dtype =
            tensor_meta::DType::from_name(&dtype).map_or(u16::MAX, tensor_meta::DType::scalar_type);
        let requires_grad: bool = tensor.getattr("requires_grad")?.extract()?;
        let is_view: bool = tensor.call_method0("_is_view")?.extract()?;
        let probe = Probe {
            // SAFETY: a tensor object holds a TensorImpl pointer after its header (checked just below).
            impl_: unsafe {
                tensor
                    .as_ptr()
                    .cast::<u8>()
                    .add(PAYLOAD)
                    .cast::<*const u8>()
                    .read()
            },
            sizes: tensor.getattr("shape")?.extract()?,
            strides: tensor.call_method0("stride")?.extract()?,
            offset: tensor.call_method0("storage_offset")?.extract()?,
            dtype,
            device: (kind, index.unwrap_or(-1)),
            keys,
            // A view has autograd metadata for its view relation.
            has_autograd: if is_view && !requires_grad {
                None
            } else {
                Some(requires_grad)
            },
            _tensor: tensor.clone().unbind(),
        };
        check_handle(&tensor, &probe, version, symbols)?;
        probes.push(probe);
    }
    Ok(probes)
}

/// The stable C ABI must agree when it is handed the address of the payload.
fn check_handle(
    tensor: &Bound<'_, PyAny>,
    probe: &Probe,
    version: &str,
    symbols: &Symbols,
) -> Result<(), AbiError> {
    let wrong = |what: String| AbiError::UnknownInternals {
        version: version.to_owned(),
        what,
    };
    if probe.impl_.is_null() || !probe.impl_.cast::<u64>().is_aligned() {
        return Err(wrong(
            "tensor objects do not hold a TensorImpl pointer after their header".into(),
        ));
    }
    let handle = tensor
        .as_ptr()
        .cast::<u8>()
        .wrapping_add(PAYLOAD)
        .cast::<c_void>();
    let (mut dim, mut dtype) = (0i64, 0i32);
    // SAFETY: from torch 2.10 on the payload is an `at::Tensor`, which is what a handle points to.
    let status = unsafe {
        (symbols.stable.dim)(handle, &raw mut dim) | (symbols.stable.dtype)(handle, &raw mut dtype)
    };
    if status != 0
        || usize::try_from(dim) != Ok(probe.sizes.len())
        || dtype != i32::from(probe.dtype)
    {
        return Err(wrong(format!(
            "the C interface reads a tensor of {dim} dimensions and dtype {dtype} wrongly"
        )));
    }
    Ok(())
}
