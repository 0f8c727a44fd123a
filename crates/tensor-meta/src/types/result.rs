//! What a rule answers, and the state of the program it answers for.

use super::{DType, Device, DeviceKind, SymDims, SymInt, TensorMeta};

/// The result of an op.
#[derive(Clone, Debug, PartialEq)]
pub enum Inferred {
    /// A tensor.
    Tensor(TensorMeta),
    /// A tuple.
    Tuple(Vec<Inferred>),
    /// A list.
    List(Vec<Inferred>),
    /// One of torch's named tuples, e.g. `torch.return_types.max`.
    NamedTuple {
        /// Name of the type in `torch.return_types`, e.g. `"max"`.
        type_name: &'static str,
        /// Its items, in order.
        items: Vec<Inferred>,
    },
    /// A `torch.Size`.
    Size(SymDims),
    /// An int.
    Int(SymInt),
    /// A bool.
    Bool(bool),
    /// `None`.
    None,
    /// A dtype (`Tensor.dtype`).
    DType(DType),
    /// A device (`Tensor.device`).
    Device(Device),
    /// A string (`Tensor.type()`).
    Str(String),
}

impl Inferred {
    /// The tensor, if it is one.
    pub fn tensor(&self) -> Option<&TensorMeta> {
        match self {
            Inferred::Tensor(meta) => Some(meta),
            _ => None,
        }
    }
}

/// Why a rule has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// No rule knows this op.
    #[error("no metadata rule")]
    NoRule,
    /// The rule does not cover these arguments; ask something that does (FakeTensor).
    #[error("metadata rule does not cover this call: {0}")]
    Unsupported(&'static str),
    /// Eager would raise for these arguments. The text is ours, not torch's.
    #[error("{message}")]
    WouldRaise {
        /// What is wrong with the arguments.
        message: String,
    },
}

impl RuleError {
    /// A `WouldRaise` with this message.
    pub fn raise(message: impl Into<String>) -> RuleError {
        RuleError::WouldRaise {
            message: message.into(),
        }
    }
}

/// Where `torch.autocast` is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Autocast {
    /// Nowhere.
    Off,
    /// On the CPU alone, with this dtype.
    Cpu(DType),
    /// On CUDA alone, with this dtype.
    Cuda(DType),
    /// On another device, or on several: every rule that could be touched answers `Unsupported`.
    Other,
}

impl Autocast {
    /// On one device, with one dtype.
    pub fn of(device: Option<DeviceKind>, dtype: Option<DType>) -> Autocast {
        match (device, dtype) {
            (Some(DeviceKind::Cpu), Some(dtype)) => Autocast::Cpu(dtype),
            (Some(DeviceKind::Cuda), Some(dtype)) => Autocast::Cuda(dtype),
            _ => Autocast::Other,
        }
    }
}

/// The state of the program that results depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ctx {
    /// `torch.is_grad_enabled()`.
    pub grad_enabled: bool,
    /// `torch.is_inference_mode_enabled()`.
    pub inference_mode: bool,
    /// `torch.get_default_dtype()`.
    pub default_dtype: DType,
    /// `torch.get_default_device()`.
    pub default_device: Device,
    /// `torch.autocast`.
    pub autocast: Autocast,
}

impl Default for Ctx {
    /// A fresh interpreter: grad on, float32, CPU.
    fn default() -> Self {
        Ctx {
            grad_enabled: true,
            inference_mode: false,
            default_dtype: DType::Float32,
            default_device: Device::CPU,
            autocast: Autocast::Off,
        }
    }
}
