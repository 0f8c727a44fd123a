//! Metadata of a real tensor, in Ferrodyn's own terms.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use tensor_meta::{Alias, DType, Device, DeviceKind, SymInt, TensorMeta};

use crate::view::TensorView;
use crate::{AbiError, TensorClass, TorchAbi, names};

/// Getters and methods of `TensorBase`, each called with the tensor alone, and `torch.strided`.
struct Readers {
    layout: Py<PyAny>,
    is_nested: Py<PyAny>,
    is_leaf: Py<PyAny>,
    is_conj: Py<PyAny>,
    is_neg: Py<PyAny>,
    is_view: Py<PyAny>,
    base: Py<PyAny>,
    strided: Py<PyAny>,
    jagged: Py<PyAny>,
}

/// Whether a tensor has rows that differ in length: `torch.jagged`.
///
/// # Errors
/// Whatever torch raises.
pub fn is_jagged(tensor: &Bound<'_, PyAny>) -> Result<bool, AbiError> {
    let (py, abi) = (tensor.py(), TorchAbi::get(tensor.py())?);
    let read = abi.read(py)?;
    let layout = abi.without_overrides(py, tensor, || read.layout.bind(py).call1((tensor,)));
    Ok(layout?.is(&read.jagged))
}

impl TorchAbi {
    /// Reads a tensor's metadata. Runs no user code, also for subclasses.
    ///
    /// # Errors
    /// [`AbiError::NotReadable`] for what is no tensor, has no plain strides (sparse, nested), or a dtype or
    /// device that is not known.
    pub fn read_meta(
        &self,
        py: Python<'_>,
        obj: &Bound<'_, PyAny>,
    ) -> Result<TensorMeta, AbiError> {
        if self.classify(obj) == TensorClass::No {
            return Err(AbiError::NotReadable(format!(
                "{} is no tensor",
                obj.get_type().name()?
            )));
        }
        if !self.is_strided(py, obj)? {
            return Err(AbiError::NotReadable(
                "the tensor has no plain sizes and strides".into(),
            ));
        }
        // SAFETY: checked to be a tensor; `obj` keeps it alive.
        let view = unsafe { TensorView::new(self, obj.as_ptr()) };
        let (sizes, strides) = view.geometry();
        let number = view.dtype();
        let dtype = DType::from_scalar_type(u16::from(number))
            .ok_or_else(|| AbiError::NotReadable(format!("dtype number {number} is not known")))?;
        let (kind, index) = view.device();
        let kind = u8::try_from(kind)
            .ok()
            .and_then(DeviceKind::from_device_type)
            .ok_or_else(|| {
                AbiError::NotReadable(format!("device type number {kind} is not known"))
            })?;
        let methods = self.read(py)?;
        let flag = |method: &Py<PyAny>| -> PyResult<bool> {
            self.without_overrides(py, obj, || method.bind(py).call1((obj,))?.extract())
        };
        Ok(TensorMeta {
            shape: sizes.iter().map(|&n| SymInt::Const(n)).collect(),
            strides: strides.iter().map(|&n| SymInt::Const(n)).collect(),
            dtype,
            device: Device {
                kind,
                index: (index >= 0).then_some(i16::from(index)),
            },
            requires_grad: view.requires_grad(),
            is_leaf: flag(&methods.is_leaf)?,
            storage_offset: SymInt::Const(view.storage_offset()),
            alias: Alias::Fresh,
            conj: flag(&methods.is_conj)?,
            neg: flag(&methods.is_neg)?,
        })
    }

    /// Whether the tensor's layout is `torch.strided` (and it is not nested).
    ///
    /// # Errors
    /// Whatever torch raises.
    pub fn is_strided(&self, py: Python<'_>, obj: &Bound<'_, PyAny>) -> Result<bool, AbiError> {
        let read = self.read(py)?;
        self.without_overrides(py, obj, || {
            let layout = read.layout.bind(py).call1((obj,))?;
            let nested: bool = read.is_nested.bind(py).call1((obj,))?.extract()?;
            Ok(!nested && layout.is(&read.strided))
        })
        .map_err(AbiError::from)
    }

    /// Whether the tensor is a view of one whose layout is not strided, nested or sparse: compilers can make no fake of it.
    ///
    /// # Errors
    /// Whatever torch raises.
    pub fn is_view_of_non_strided(
        &self,
        py: Python<'_>,
        obj: &Bound<'_, PyAny>,
    ) -> Result<bool, AbiError> {
        let read = self.read(py)?;
        let base = self.without_overrides(py, obj, || {
            let is_view = read.is_view.bind(py).call1((obj,))?.is_truthy()?;
            is_view
                .then(|| read.base.bind(py).call1((obj,)))
                .transpose()
        })?;
        match base {
            Some(base) if !base.is_none() => Ok(!self.is_strided(py, &base)?),
            _ => Ok(false),
        }
    }

    /// What reads a tensor without a look at the classes of subclasses, found once.
    fn read(&self, py: Python<'_>) -> PyResult<&'static Readers> {
        static READERS: PyOnceLock<Readers> = PyOnceLock::new();
        READERS.get_or_try_init(py, || {
            let base = self.tensor_base.bind(py);
            let getter = |name: &str| base.getattr(name)?.getattr("__get__").map(Bound::unbind);
            Ok(Readers {
                layout: getter("layout")?,
                is_nested: getter("is_nested")?,
                is_leaf: getter("is_leaf")?,
                is_conj: base.getattr("is_conj")?.unbind(),
                is_neg: base.getattr("is_neg")?.unbind(),
                is_view: base.getattr("_is_view")?.unbind(),
                base: getter("_base")?,
                strided: py.import(names::TORCH)?.getattr("strided")?.unbind(),
                jagged: py.import(names::TORCH)?.getattr("jagged")?.unbind(),
            })
        })
    }

    fn without_overrides<'py, T>(
        &self,
        py: Python<'py>,
        obj: &Bound<'py, PyAny>,
        read: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        if self.classify(obj) != TensorClass::Subclass && self.torch_function_stack_len() == 0 {
            return read();
        }
        let guard = py
            .import(names::TORCH_C)?
            .getattr(names::DISABLE_TORCH_FUNCTION)?
            .call0()?;
        guard.call_method0("__enter__")?;
        let result = read();
        guard.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
        result
    }
}
