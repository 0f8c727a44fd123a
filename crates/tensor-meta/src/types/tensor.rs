//! What is known of a tensor without its data: shape, strides, dtype, device, flags.

use smallvec::SmallVec;

use super::{DType, Device, DeviceKind};
use crate::size::Size;

/// A size, stride or offset: known, or an expression that the caller owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymInt {
    /// A known number.
    Const(i64),
    /// An expression, by its number in the caller's [`crate::SizeTable`].
    Expr(u32),
}

impl SymInt {
    /// The number, if it is known.
    pub const fn as_const(self) -> Option<i64> {
        match self {
            SymInt::Const(n) => Some(n),
            SymInt::Expr(_) => None,
        }
    }
}

impl From<i64> for SymInt {
    fn from(n: i64) -> Self {
        SymInt::Const(n)
    }
}

/// Known sizes or strides, one per dimension.
pub type Ints = SmallVec<[i64; 6]>;

/// Sizes or strides that rules compute with, one per dimension.
pub(crate) type Dims = SmallVec<[Size; 6]>;

/// Sizes or strides that may be symbolic, one per dimension.
pub type SymDims = SmallVec<[SymInt; 6]>;

/// torch's `memory_format` values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryFormat {
    /// `torch.contiguous_format`
    Contiguous,
    /// `torch.preserve_format`
    Preserve,
    /// `torch.channels_last` (4 dimensions)
    ChannelsLast,
    /// `torch.channels_last_3d` (5 dimensions)
    ChannelsLast3d,
}

/// How a result relates to the arguments of the op that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alias {
    /// Storage of its own (also the state of a tensor that is nobody's result).
    Fresh,
    /// A new tensor on the storage of an argument (a view).
    View,
    /// The very argument: the same Python object (`x.contiguous()` on a contiguous x, `x.add_(1)`).
    Identity,
}

/// Everything about a tensor but its values. Sizes and strides count elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorMeta {
    /// Size of each dimension.
    pub shape: SymDims,
    /// Stride of each dimension, in elements.
    pub strides: SymDims,
    /// Element type.
    pub dtype: DType,
    /// Where it lives.
    pub device: Device,
    /// `Tensor.requires_grad`.
    pub requires_grad: bool,
    /// `Tensor.is_leaf`: true for inputs and parameters, and for what requires no grad.
    pub is_leaf: bool,
    /// Offset of the first element in its storage, in elements.
    pub storage_offset: SymInt,
    /// How it relates to the arguments it was made from.
    pub alias: Alias,
    /// `Tensor.is_conj()`.
    pub conj: bool,
    /// `Tensor.is_neg()`.
    pub neg: bool,
}

impl TensorMeta {
    /// A fresh row-major tensor that requires no grad.
    pub fn contiguous(shape: &[i64], dtype: DType, device: Device) -> TensorMeta {
        let shape: Dims = shape.iter().copied().map(Size::known).collect();
        TensorMeta::laid(&shape, &contiguous_strides(&shape), dtype, device)
    }

    /// A fresh tensor with the given strides that requires no grad.
    pub fn strided(shape: &[i64], strides: &[i64], dtype: DType, device: Device) -> TensorMeta {
        let known = |dims: &[i64]| dims.iter().copied().map(Size::known).collect::<Dims>();
        TensorMeta::laid(&known(shape), &known(strides), dtype, device)
    }

    /// The same of sizes that may be symbolic.
    pub(crate) fn laid(
        shape: &[Size],
        strides: &[Size],
        dtype: DType,
        device: Device,
    ) -> TensorMeta {
        debug_assert_eq!(shape.len(), strides.len());
        TensorMeta {
            shape: shape.iter().copied().map(SymInt::from).collect(),
            strides: strides.iter().copied().map(SymInt::from).collect(),
            dtype,
            device,
            requires_grad: false,
            is_leaf: true,
            storage_offset: SymInt::Const(0),
            alias: Alias::Fresh,
            conj: false,
            neg: false,
        }
    }

    /// The same with `requires_grad` set. It stays a leaf.
    pub fn with_grad(mut self, requires_grad: bool) -> TensorMeta {
        self.requires_grad = requires_grad;
        self
    }

    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Whether every size, stride and the offset are known numbers.
    pub fn is_static(&self) -> bool {
        self.sizes().is_some() && self.stride().is_some() && self.offset().is_some()
    }

    /// The sizes, if all are known.
    pub fn sizes(&self) -> Option<Ints> {
        self.shape.iter().map(|s| s.as_const()).collect()
    }

    /// The strides, if all are known.
    pub fn stride(&self) -> Option<Ints> {
        self.strides.iter().map(|s| s.as_const()).collect()
    }

    /// The storage offset, if known.
    pub fn offset(&self) -> Option<i64> {
        self.storage_offset.as_const()
    }

    /// Number of elements, if all sizes are known and the product fits.
    pub fn numel(&self) -> Option<i64> {
        self.shape
            .iter()
            .try_fold(1i64, |acc, s| acc.checked_mul(s.as_const()?))
    }

    /// `Tensor.is_contiguous()`; `None` with symbolic sizes.
    pub fn is_contiguous(&self) -> Option<bool> {
        Some(is_contiguous(
            &self.known(&self.shape)?,
            &self.known(&self.strides)?,
        ))
    }

    fn known(&self, dims: &[SymInt]) -> Option<Dims> {
        dims.iter().map(|d| d.as_const().map(Size::known)).collect()
    }

    /// Whether it is on the CPU.
    pub fn is_cpu(&self) -> bool {
        self.device.kind == DeviceKind::Cpu
    }
}

/// Row-major strides. A dimension of size 0 counts as 1, as in torch.
pub(crate) fn contiguous_strides(shape: &[Size]) -> Dims {
    let mut strides: Dims = SmallVec::from_elem(Size::ONE, shape.len());
    let mut step = Size::ONE;
    for d in (0..shape.len()).rev() {
        strides[d] = step;
        step = step.saturating_mul(shape[d].max(1));
    }
    strides
}

/// Strides of `torch.channels_last` (rank 4) or `torch.channels_last_3d` (rank 5);
/// row-major for any other rank.
pub(crate) fn channels_last_strides(shape: &[Size]) -> Dims {
    let order: &[usize] = match shape.len() {
        4 => &[1, 3, 2, 0],
        5 => &[1, 4, 3, 2, 0],
        _ => return contiguous_strides(shape),
    };
    let mut strides: Dims = SmallVec::from_elem(Size::ONE, shape.len());
    let mut step = Size::ONE;
    for &d in order {
        strides[d] = step;
        step = step.saturating_mul(shape[d].max(1));
    }
    strides
}

/// torch's definition: strides of size-1 dimensions do not matter, empty tensors are contiguous.
pub(crate) fn is_contiguous(shape: &[Size], strides: &[Size]) -> bool {
    if shape.contains(&Size::ZERO) {
        return true;
    }
    let mut expected = Size::ONE;
    for d in (0..shape.len()).rev() {
        if shape[d] != 1 {
            if strides[d] != expected {
                return false;
            }
            expected *= shape[d];
        }
    }
    true
}

/// Whether the strides are those of the channels-last format of this rank (4 or 5), of an empty tensor, too.
pub(crate) fn is_channels_last_contiguous(shape: &[Size], strides: &[Size]) -> bool {
    let order: &[usize] = match shape.len() {
        4 => &[1, 3, 2, 0],
        5 => &[1, 4, 3, 2, 0],
        _ => return false,
    };
    let mut expected = Size::ONE;
    for &d in order {
        if shape[d] != 1 {
            if strides[d] != expected {
                return false;
            }
            expected *= shape[d];
        }
    }
    true
}

/// Whether the strides rank like those of a channels-last tensor (torch's
/// `is_channels_last_strides`): looser than contiguity, and false where it is ambiguous.
pub(crate) fn is_channels_last_strides(shape: &[Size], strides: &[Size]) -> bool {
    let order: &[usize] = match shape.len() {
        4 => &[1, 3, 2, 0],
        5 => &[1, 4, 3, 2, 0],
        _ => return false,
    };
    if strides[1] == 0 {
        return false;
    }
    let mut min = Size::ZERO;
    for &d in order {
        if shape[d] == 0 || strides[d] < min {
            return false;
        }
        // N111 and NC11 with a row-major stride of the batch are row-major.
        if d == 0 && min == strides[1] {
            return false;
        }
        min = strides[d];
        if shape[d] > 1 {
            min *= shape[d];
        }
    }
    true
}

/// torch's `suggest_memory_format`.
pub(crate) fn suggest_memory_format(shape: &[Size], strides: &[Size]) -> MemoryFormat {
    if is_channels_last_strides(shape, strides) {
        if shape.len() == 4 {
            MemoryFormat::ChannelsLast
        } else {
            MemoryFormat::ChannelsLast3d
        }
    } else {
        MemoryFormat::Contiguous
    }
}
