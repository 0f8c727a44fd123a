//! Everything Ferrodyn knows of torch's internals, checked when torch is first used.
//!
//! What lives here: names of torch's modules and functions ([`names`]), its C symbols ([`symbols`]), where its
//! tensors keep their fields ([`layout`]), raw reads of tensors ([`view`], many at once: [`packed`]) and of its
//! thread and global state ([`state`]), NumPy on tensors ([`arrays`]), what a call of a module comes to ([`modules`]),
//! which functions change the context of others ([`contexts`]), what its tracer keeps for programs ([`tracer`], [`stance`]), spans for its profiler ([`profiler`]),
//! which other objects operators take ([`custom`]), which of our own say how they are made ([`made`]), tensor metadata ([`meta`]) and memory overlap ([`overlap`]); what is
//! for one kind of processor alone (`prefetch`). What does not: any decision about
//! graphs or guards.
//!
//! Invariants: no other crate names a torch symbol, offset or private module; a field's offset is used only
//! after known tensors gave exactly one candidate for it, else the stable C ABI or Python is asked; reads run no
//! user code.

pub mod arrays;
pub mod contexts;
pub mod custom;
pub mod dicts;
pub mod higher_order;
pub mod imported;
pub mod layout;
pub mod made;
pub mod marks;
pub mod meta;
pub mod modes;
pub mod modules;
pub mod names;
mod numbers;
pub mod overlap;
pub mod packed;
mod prefetch;
pub mod profiler;
pub mod size_symbols;
pub mod stance;
pub mod state;
pub mod symbols;
pub mod thread;
pub mod tracer;
pub mod view;

pub use meta::is_jagged;
pub use numbers::number_tensor;

#[cfg(test)]
mod read_tests;

use std::sync::OnceLock;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use layout::Layout;
use symbols::Symbols;

/// The oldest torch that is supported, as (major, minor).
pub const OLDEST_TORCH: (u32, u32) = (2, 10);

/// Why torch cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AbiError {
    /// The installed torch is too old.
    #[error("ferrodyn supports torch {}.{} and newer; found torch {found} (UnsupportedTorch)", OLDEST_TORCH.0, OLDEST_TORCH.1)]
    UnsupportedTorch {
        /// `torch.__version__`.
        found: String,
    },
    /// Something that torch had in the versions that were tried is missing or behaves otherwise.
    #[error(
        "torch {version}: {what} (UnsupportedTorch: its internals are not the ones that ferrodyn knows)"
    )]
    UnknownInternals {
        /// `torch.__version__`.
        version: String,
        /// What is wrong.
        what: String,
    },
    /// The object is not a tensor, or one without plain sizes and strides.
    #[error("{0}")]
    NotReadable(String),
    /// A call into torch raised.
    #[error("torch raised: {0}")]
    Python(#[from] PyErr),
}

/// What a Python object is to a tensor reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorClass {
    /// Exactly `torch.Tensor` (`torch.nn.Buffer(...)` makes these too).
    Tensor,
    /// Exactly `torch.nn.Parameter`.
    Parameter,
    /// A subclass with behaviour of its own.
    Subclass,
    /// No tensor.
    No,
}

/// What was learnt of the torch in this process.
pub struct TorchAbi {
    /// `torch.__version__`.
    pub version: String,
    /// Where tensors keep their fields.
    pub layout: Layout,
    /// The C functions that were found.
    pub symbols: Symbols,
    /// Facts for reading the thread's dispatch keys.
    pub(crate) default_keys: state::DefaultKeys,
    /// Whether the thread's modes are where [`thread`] reads them.
    pub(crate) modes_have_places: bool,
    /// Python objects that are asked where C has no answer.
    pub(crate) objects: state::Objects,
    tensor_base: Py<PyType>,
    tensor: Py<PyType>,
    parameter: Py<PyType>,
    size: Py<PyType>,
    device: Py<PyType>,
}

static ABI: OnceLock<TorchAbi> = OnceLock::new();

impl TorchAbi {
    /// The facts about torch, learnt on the first call (which imports torch).
    ///
    /// # Errors
    /// [`AbiError::UnsupportedTorch`] for an old torch, [`AbiError::UnknownInternals`] where the start-up checks
    /// fail, [`AbiError::Python`] where torch cannot be imported.
    pub fn get(py: Python<'_>) -> Result<&'static TorchAbi, AbiError> {
        if let Some(abi) = ABI.get() {
            return Ok(abi);
        }
        let abi = Self::learn(py)?;
        Ok(ABI.get_or_init(|| abi))
    }

    /// The facts, if [`TorchAbi::get`] has succeeded before.
    pub fn loaded() -> Option<&'static TorchAbi> {
        ABI.get()
    }

    fn learn(py: Python<'_>) -> Result<TorchAbi, AbiError> {
        let torch = py.import(names::TORCH)?;
        let version: String = torch.getattr("__version__")?.str()?.extract()?;
        check_version(&version)?;
        // The operations of the checks are none of the program's.
        let _aside = modes::ModesAside::new(py)?;
        let class = |module: &str, name: &str| -> Result<Py<PyType>, AbiError> {
            let object = py.import(module)?.getattr(name)?;
            Ok(object.cast_into::<PyType>().map_err(PyErr::from)?.unbind())
        };
        let symbols = Symbols::load(&version)?;
        let layout = Layout::probe(py, &version, &symbols)?;
        let default_keys = state::DefaultKeys::learn(py, &version, &symbols)?;
        let modes_have_places = thread::learn(py, &symbols);
        let objects = state::Objects::load(py)?;
        Ok(TorchAbi {
            layout,
            symbols,
            default_keys,
            modes_have_places,
            objects,
            tensor_base: class(names::TORCH_C, names::TENSOR_BASE)?,
            tensor: class(names::TORCH, "Tensor")?,
            parameter: class(names::NN_PARAMETER, "Parameter")?,
            size: class(names::TORCH, "Size")?,
            device: class(names::TORCH, "device")?,
            version,
        })
    }

    /// What kind of tensor an object is. Runs no user code.
    pub fn classify(&self, obj: &Bound<'_, PyAny>) -> TensorClass {
        let ty = obj.get_type_ptr();
        if ty == self.tensor_type() {
            TensorClass::Tensor
        } else if ty == self.parameter_type() {
            TensorClass::Parameter
        } else if self.is_subtype_of_base(ty) {
            TensorClass::Subclass
        } else {
            TensorClass::No
        }
    }

    /// Whether instances of a class are tensors. `ty` must be a live type object (a type pointer that `pyo3` or
    /// `Py_TYPE` gave), with the GIL held.
    pub fn is_tensor_type(&self, ty: *mut ffi::PyTypeObject) -> bool {
        self.is_subtype_of_base(ty)
    }

    fn is_subtype_of_base(&self, ty: *mut ffi::PyTypeObject) -> bool {
        let base = self.tensor_base.as_ptr().cast::<ffi::PyTypeObject>();
        // SAFETY: both are live type objects; the call reads MROs only.
        unsafe { ffi::PyType_IsSubtype(ty, base) != 0 }
    }

    /// `torch.Tensor`.
    pub fn tensor_type(&self) -> *mut ffi::PyTypeObject {
        self.tensor.as_ptr().cast()
    }

    /// `torch.nn.Parameter`.
    pub fn parameter_type(&self) -> *mut ffi::PyTypeObject {
        self.parameter.as_ptr().cast()
    }

    /// `torch.Size`.
    pub fn size_type(&self) -> *mut ffi::PyTypeObject {
        self.size.as_ptr().cast()
    }

    /// `torch.device`.
    pub fn device_type(&self) -> *mut ffi::PyTypeObject {
        self.device.as_ptr().cast()
    }

    /// The (type, index) pair inside an object of exactly the type `torch.device`; index -1 is none.
    ///
    /// # Safety
    /// `obj` must be a live object.
    pub unsafe fn device_of(&self, obj: *mut ffi::PyObject) -> Option<(i8, i8)> {
        // SAFETY: the caller's promise; a THPDevice holds the two bytes right after the object header.
        unsafe {
            if ffi::Py_TYPE(obj) != self.device_type() {
                return None;
            }
            let payload = obj.cast::<u8>().add(layout::PAYLOAD).cast::<i8>();
            Some((payload.read(), payload.add(1).read()))
        }
    }
}

fn check_version(version: &str) -> Result<(), AbiError> {
    let mut numbers = version
        .split(['.', '+', 'a', 'b', 'r'])
        .map(|part| part.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) >= OLDEST_TORCH => Ok(()),
        _ => Err(AbiError::UnsupportedTorch {
            found: version.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_below_the_oldest_are_refused_by_name() {
        for good in ["2.10.0", "2.15.0+cu132", "2.16.0a0+git1234", "3.0.1"] {
            assert!(check_version(good).is_ok(), "{good}");
        }
        for bad in ["2.9.1", "1.13.0", "unknown"] {
            let error = check_version(bad).expect_err(bad).to_string();
            assert!(error.contains(bad) && error.contains("2.10"), "{error}");
        }
    }
}
