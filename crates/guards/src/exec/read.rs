//! Reading Python values into guard values: constants, tensor specs, torch's state.
//!
//! Invariant: only exact builtin types become constants; reading runs no user code.

use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyString, PyTuple};
use torch_abi::view::TensorView;
use torch_abi::{AbiError, TensorClass, TorchAbi};

use crate::exec::pins::Pins;
use crate::guard::{GlobalState, GuardKind, ModeSpec, TensorSpec};
use crate::set::ConstTypes;
use crate::value::ConstVal;

/// The constant that an object is, if it is one of an exact builtin type (`torch.Size` and `torch.device`
/// included); `None` for everything else.
pub fn constant(obj: &Bound<'_, PyAny>) -> Option<ConstVal> {
    let py = obj.py();
    if obj.is_none() {
        return Some(ConstVal::None);
    }
    if let Ok(value) = obj.cast_exact::<PyBool>() {
        return Some(ConstVal::Bool(value.is_true()));
    }
    if let Ok(value) = obj.cast_exact::<PyInt>() {
        return Some(match value.extract::<i64>() {
            Ok(value) => ConstVal::Int(value),
            Err(_) => big_int(value)?,
        });
    }
    if let Ok(value) = obj.cast_exact::<PyFloat>() {
        return Some(ConstVal::float(value.value()));
    }
    if let Ok(value) = obj.cast_exact::<PyString>() {
        // A string with lone surrogates has no UTF-8 form.
        return value.to_str().ok().map(ConstVal::str);
    }
    if let Ok(value) = obj.cast_exact::<PyBytes>() {
        return Some(ConstVal::Bytes(value.as_bytes().into()));
    }
    if let Ok(value) = obj.cast_exact::<PyComplex>() {
        use pyo3::types::PyComplexMethods;
        return Some(ConstVal::Complex(
            value.real().to_bits(),
            value.imag().to_bits(),
        ));
    }
    if let Ok(items) = obj.cast_exact::<PyTuple>() {
        let items: Option<Vec<ConstVal>> = items.iter().map(|item| constant(&item)).collect();
        return items.map(|items| ConstVal::Tuple(items.into()));
    }
    if obj.is(py.Ellipsis()) {
        return Some(ConstVal::Ellipsis);
    }
    if obj.is(py.NotImplemented()) {
        return Some(ConstVal::NotImplemented);
    }
    let abi = TorchAbi::loaded()?;
    let ty = obj.get_type_ptr();
    if ty == abi.size_type() {
        // SAFETY: torch.Size is a tuple.
        let items = unsafe { obj.clone().cast_into_unchecked::<PyTuple>() };
        let dims: Option<Vec<i64>> = items
            .iter()
            .map(|item| {
                item.cast_exact::<PyInt>()
                    .ok()
                    .and_then(|n| n.extract().ok())
            })
            .collect();
        return dims.map(|dims| ConstVal::Size(dims.into()));
    }
    // SAFETY: a live object.
    unsafe { abi.device_of(obj.as_ptr()) }.map(device)
}

fn big_int(value: &Bound<'_, PyInt>) -> Option<ConstVal> {
    // `hex` has no limit on digits, unlike `str`.
    let text: String = value
        .call_method1("__format__", ("x",))
        .ok()?
        .extract()
        .ok()?;
    let (sign, digits) = text
        .strip_prefix('-')
        .map_or(("", text.as_str()), |digits| ("-", digits));
    Some(ConstVal::BigInt(format!("{sign}0x{digits}").into()))
}

fn device(pair: (i8, i8)) -> ConstVal {
    ConstVal::Device {
        kind: pair.0,
        index: pair.1,
        text: crate::exec::objects::device_name(pair).into(),
    }
}

impl ConstTypes {
    /// The addresses in this process.
    pub fn of(abi: &TorchAbi) -> Self {
        {
            Self {
                bool_: &raw const ffi::PyBool_Type as usize,
                int: &raw const ffi::PyLong_Type as usize,
                float: &raw const ffi::PyFloat_Type as usize,
                complex: &raw const ffi::PyComplex_Type as usize,
                str_: &raw const ffi::PyUnicode_Type as usize,
                bytes: &raw const ffi::PyBytes_Type as usize,
                tuple: &raw const ffi::PyTuple_Type as usize,
                size: abi.size_type() as usize,
                device: abi.device_type() as usize,
            }
        }
    }
}

impl TensorSpec {
    /// The spec that a tensor matches now, in this thread, with all sizes and strides static.
    ///
    /// # Errors
    /// [`AbiError::NotReadable`] if it is no tensor.
    pub fn of(
        py: Python<'_>,
        abi: &TorchAbi,
        pins: &mut Pins,
        obj: &Bound<'_, PyAny>,
    ) -> Result<Self, AbiError> {
        if abi.classify(obj) == TensorClass::No {
            return Err(AbiError::NotReadable(format!(
                "{} is no tensor",
                obj.get_type().name()?
            )));
        }
        // SAFETY: checked to be a tensor; `obj` keeps it alive.
        let view = unsafe { TensorView::new(abi, obj.as_ptr()) };
        let (included, excluded) = abi.local_keys();
        let keys = (view.key_set() | included) & !excluded;
        let strided = abi.is_strided(py, obj)?;
        let (sizes, strides) = if strided {
            view.geometry()
        } else {
            (&[][..], &[][..])
        };
        let (device_type, device_index) = view.device();
        let ty = obj.get_type();
        let mut pytype = pins.pin_auto(&ty);
        pytype.repr = ty.name().map(|n| n.to_string()).unwrap_or_default().into();
        pytype.type_repr = crate::exec::objects::class_repr(&ty).into();
        Ok(Self {
            pytype,
            keys,
            keys_text: abi.key_set_names(py, keys)?.into(),
            dtype: view.dtype(),
            dtype_text: crate::exec::objects::dtype_name(view.dtype()).into(),
            device_type,
            device_index,
            requires_grad: view.requires_grad(),
            sizes: sizes.iter().copied().map(Some).collect(),
            strides: strides.iter().copied().map(Some).collect(),
            strided,
        })
    }
}

impl GlobalState {
    /// The state of this thread and process now.
    pub fn read(py: Python<'_>, abi: &TorchAbi) -> Self {
        let (included_keys, excluded_keys) = abi.local_keys();
        let (deterministic, deterministic_warn_only) = abi.deterministic();
        let (allow_tf32, reduced_precision) = abi.cublas(py);
        let autocast: smallvec::SmallVec<[(i8, bool, u8); 4]> = TorchAbi::autocast_devices()
            .into_iter()
            .filter_map(|device| {
                let (enabled, dtype) = abi.autocast(device);
                enabled.then_some((device, enabled, dtype))
            })
            .collect();
        Self {
            grad_mode: abi.grad_mode(),
            inference_mode: abi.inference_mode(),
            torch_function: abi.torch_function_state(),
            deterministic,
            deterministic_warn_only,
            default_dtype: abi.default_dtype(),
            has_forward_level: abi.has_forward_level(),
            allow_tf32,
            reduced_precision,
            autocast_cache: autocast.is_empty() || abi.autocast_cache(),
            autocast,
            included_keys,
            excluded_keys,
        }
    }
}

/// The kinds that every captured graph depends on, with the values of this thread now: GLOBAL_STATE,
/// TORCH_FUNCTION_MODE_STACK and DEFAULT_DEVICE.
///
/// # Errors
/// Whatever torch raises while a mode is read.
pub fn ambient_guards(py: Python<'_>, abi: &TorchAbi, pins: &mut Pins) -> PyResult<Vec<GuardKind>> {
    let mut modes = Vec::new();
    for i in 0..abi.torch_function_stack_len() {
        let mode = abi.torch_function_mode(py, i)?;
        let ty = pins.pin_auto(&mode.get_type());
        modes.push(ModeSpec {
            ty,
            device: mode_device(abi, &mode),
        });
    }
    // SAFETY: borrowed from a module's dictionary, used at once.
    let device = unsafe { Bound::from_borrowed_ptr_or_opt(py, abi.current_device()) };
    let device = match device {
        Some(device) => constant(&device).unwrap_or_else(|| ConstVal::Obj(pins.pin(&device))),
        None => ConstVal::None,
    };
    Ok(vec![
        GuardKind::GlobalState {
            state: Arc::new(GlobalState::read(py, abi)),
        },
        GuardKind::TorchFunctionModeStack {
            modes: modes.into(),
        },
        GuardKind::DefaultDevice { device },
    ])
}

/// The `device` in a mode's own dictionary, or [`ConstVal::None`].
pub(crate) fn mode_device(abi: &TorchAbi, mode: &Bound<'_, PyAny>) -> ConstVal {
    let name = pyo3::intern!(mode.py(), "device");
    // SAFETY: a live object and an interned string; the device is read at once.
    unsafe {
        let dict = crate::exec::objects::instance_dict(mode.as_ptr());
        if dict.is_null() {
            return ConstVal::None;
        }
        let value = crate::exec::objects::dict_get_str(dict, name.as_ptr());
        if value.is_null() {
            None
        } else {
            abi.device_of(value)
        }
        .map_or(ConstVal::None, device)
    }
}
