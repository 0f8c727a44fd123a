//! Tensors: TENSOR_MATCH.
//!
//! Invariant: what the check reads is all that a captured graph may assume of a tensor: class, dispatch keys,
//! dtype, device, requires_grad, sizes, strides. Everything is read from the tensor itself, never through Python.

use std::fmt::Write as _;

use crate::guard::TensorSpec;

/// The line in PyTorch's tree.
pub(crate) fn tree_text(spec: &TensorSpec, name: &str) -> String {
    let mut out = format!(
        "check_tensor({name}, {}, DispatchKeySet({}), {}, device={}, requires_grad={}",
        spec.pytype.repr,
        spec.keys_text,
        spec.dtype_text,
        if spec.device_index < 0 {
            "None".to_owned()
        } else {
            spec.device_index.to_string()
        },
        if spec.requires_grad { "True" } else { "False" },
    );
    if spec.strided {
        let _ = write!(
            out,
            ", size={}, stride={}",
            dims(&spec.sizes),
            dims(&spec.strides)
        );
    }
    out.push(')');
    out
}

fn dims(dims: &[Option<i64>]) -> String {
    let items: Vec<String> = dims
        .iter()
        .map(|d| d.map_or_else(|| "None".to_owned(), |n| n.to_string()))
        .collect();
    format!("[{}]", items.join(", "))
}

#[cfg(feature = "python")]
mod native {
    use pyo3::ffi;
    use torch_abi::TorchAbi;
    use torch_abi::packed::PackedSpec;
    use torch_abi::view::TensorView;

    use crate::guard::TensorSpec;

    /// A spec prepared for comparison.
    pub(crate) struct LinkedTensor {
        pytype: *mut ffi::PyTypeObject,
        keys: u64,
        dtype: u8,
        device: (i8, i8),
        requires_grad: bool,
        strided: bool,
        exact: bool,
        sizes: Box<[i64]>,
        strides: Box<[i64]>,
    }

    /// Stands for a size or stride that may be anything.
    const ANY: i64 = i64::MIN;

    impl LinkedTensor {
        pub(crate) fn new(spec: &TensorSpec) -> Self {
            let fill = |dims: &[Option<i64>]| {
                dims.iter()
                    .map(|d| d.unwrap_or(ANY))
                    .collect::<Box<[i64]>>()
            };
            Self {
                pytype: spec.pytype.addr as *mut ffi::PyTypeObject,
                keys: spec.keys,
                dtype: spec.dtype,
                device: (spec.device_type, spec.device_index),
                requires_grad: spec.requires_grad,
                strided: spec.strided,
                exact: spec.sizes.iter().chain(&spec.strides).all(Option::is_some),
                sizes: fill(&spec.sizes),
                strides: fill(&spec.strides),
            }
        }

        /// All of it in a form that is quick to compare; `None` where some of it may vary.
        pub(crate) fn packed(&self, abi: &TorchAbi) -> Option<PackedSpec> {
            if !(self.exact && self.strided && abi.is_tensor_type(self.pytype)) {
                return None;
            }
            PackedSpec::new(
                self.pytype,
                self.keys,
                u16::from(self.dtype),
                [self.device.0, self.device.1],
                self.requires_grad,
                &self.sizes,
                &self.strides,
            )
        }

        /// # Safety
        /// `obj` must be live and the GIL held. `keys` are the thread's (included, excluded) key sets.
        #[inline]
        pub(crate) unsafe fn check(
            &self,
            abi: &TorchAbi,
            keys: (u64, u64),
            obj: *mut ffi::PyObject,
        ) -> bool {
            // SAFETY: the exact type is compared first; the spec's type is a tensor class.
            let view = unsafe {
                if ffi::Py_TYPE(obj) != self.pytype {
                    return false;
                }
                TensorView::new(abi, obj)
            };
            if !view.is_defined()
                || (view.key_set() | keys.0) & !keys.1 != self.keys
                || view.dtype() != self.dtype
                || view.device() != self.device
                || view.requires_grad() != self.requires_grad
            {
                return false;
            }
            if !self.strided {
                return true;
            }
            let (sizes, strides) = view.geometry();
            if self.exact {
                // A loop: there are too few of them for a call of `memcmp`.
                let same = |want: &[i64], have: &[i64]| {
                    want.len() == have.len() && want.iter().zip(have).all(|(w, h)| w == h)
                };
                same(&self.sizes, sizes) && same(&self.strides, strides)
            } else {
                let fits = |want: &[i64], have: &[i64]| {
                    want.len() == have.len()
                        && want.iter().zip(have).all(|(w, h)| *w == ANY || w == h)
                };
                fits(&self.sizes, sizes) && fits(&self.strides, strides)
            }
        }
    }

    /// Why a value does not match, in PyTorch's words. `name` is the plain name of the value.
    ///
    /// # Safety
    /// `obj` must be live and the GIL held.
    pub(crate) unsafe fn explain(
        abi: &TorchAbi,
        spec: &TensorSpec,
        name: &str,
        obj: *mut ffi::PyObject,
        names_of_keys: impl Fn(u64) -> String,
    ) -> String {
        // SAFETY: the caller's promise; fields are read only after the type check.
        let view = unsafe {
            let ty = ffi::Py_TYPE(obj);
            if ty as usize != spec.pytype.addr {
                return format!(
                    "expected type of '{name}' to be {}, but found {}",
                    spec.pytype.type_repr,
                    crate::exec::objects::type_repr(ty)
                );
            }
            TensorView::new(abi, obj)
        };
        if !view.is_defined() {
            return format!("tensor '{name}' is undefined");
        }
        let keys = abi.local_keys();
        let actual = (view.key_set() | keys.0) & !keys.1;
        if actual != spec.keys {
            return format!(
                "tensor '{name}' dispatch key set mismatch. expected DispatchKeySet({}), actual DispatchKeySet({})",
                spec.keys_text,
                names_of_keys(actual)
            );
        }
        if view.dtype() != spec.dtype {
            return format!(
                "tensor '{name}' dtype mismatch. expected {}, actual {}",
                spec.dtype_text,
                crate::exec::objects::dtype_name(view.dtype())
            );
        }
        let device = view.device();
        if device != (spec.device_type, spec.device_index) {
            return format!(
                "tensor '{name}' device mismatch. expected {}, actual {}",
                crate::exec::objects::device_name((spec.device_type, spec.device_index)),
                crate::exec::objects::device_name(device)
            );
        }
        if view.requires_grad() != spec.requires_grad {
            return format!(
                "tensor '{name}' requires_grad mismatch. expected requires_grad={}",
                u8::from(spec.requires_grad)
            );
        }
        let (sizes, strides) = view.geometry();
        if sizes.len() != spec.sizes.len() {
            return format!(
                "tensor '{name}' rank mismatch. expected {}, actual {}",
                spec.sizes.len(),
                sizes.len()
            );
        }
        for (what, want, have) in [
            ("size", &spec.sizes, sizes),
            ("stride", &spec.strides, strides),
        ] {
            for (i, (want, have)) in want.iter().zip(have).enumerate() {
                if want.is_some_and(|want| want != *have) {
                    return format!(
                        "tensor '{name}' {what} mismatch at index {i}. expected {}, actual {have}",
                        want.unwrap_or_default()
                    );
                }
            }
        }
        format!("tensor '{name}' matches")
    }
}

#[cfg(feature = "python")]
pub(crate) use native::{LinkedTensor, explain};
