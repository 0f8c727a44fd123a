//! Metadata of a real tensor, in Ferrodyn's own terms.

use pyo3::prelude::*;
use tensor_meta::{Alias, DType, Device, DeviceKind, SymInt, TensorMeta};

use crate::view::TensorView;
use crate::{AbiError, TensorClass, TorchAbi, names};

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
        let flag = |name: &str| -> PyResult<bool> { self.base_method(py, obj, name)?.extract() };
        Ok(TensorMeta {
            shape: sizes.iter().map(|&n| SymInt::Const(n)).collect(),
            strides: strides.iter().map(|&n| SymInt::Const(n)).collect(),
            dtype,
            device: Device {
                kind,
                index: (index >= 0).then_some(i16::from(index)),
            },
            requires_grad: view.requires_grad(),
            is_leaf: self.base_getter(py, obj, "is_leaf")?.extract()?,
            storage_offset: SymInt::Const(view.storage_offset()),
            alias: Alias::Fresh,
            conj: flag("is_conj")?,
            neg: flag("is_neg")?,
        })
    }

    /// Whether the tensor's layout is `torch.strided` (and it is not nested).
    ///
    /// # Errors
    /// Whatever torch raises.
    pub fn is_strided(&self, py: Python<'_>, obj: &Bound<'_, PyAny>) -> Result<bool, AbiError> {
        let layout = self.base_getter(py, obj, "layout")?;
        let nested: bool = self.base_getter(py, obj, "is_nested")?.extract()?;
        Ok(!nested && layout.is(&py.import(names::TORCH)?.getattr("strided")?))
    }

    /// A getter of `TensorBase`, without a subclass's `__torch_function__`.
    fn base_getter<'py>(
        &self,
        py: Python<'py>,
        obj: &Bound<'py, PyAny>,
        name: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let getter = self
            .tensor_base
            .bind(py)
            .getattr(name)?
            .getattr("__get__")?;
        self.without_overrides(py, obj, || getter.call1((obj,)))
    }

    /// A method of `TensorBase` without arguments, without a subclass's `__torch_function__`.
    fn base_method<'py>(
        &self,
        py: Python<'py>,
        obj: &Bound<'py, PyAny>,
        name: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let method = self.tensor_base.bind(py).getattr(name)?;
        self.without_overrides(py, obj, || method.call1((obj,)))
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
