//! The argument of an op, as rules see it.

use super::{DType, Device, MemoryFormat, TensorMeta};

/// One argument of a call. Borrows tensors and strings from the caller.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A tensor (parameters too).
    Tensor(&'a TensorMeta),
    /// A Python int that fits 64 bits.
    Int(i64),
    /// A symbolic int, by its number in the caller's table.
    SymInt(u32),
    /// A Python float.
    Float(f64),
    /// A float that is no constant.
    SymFloat,
    /// A Python bool.
    Bool(bool),
    /// `None`.
    None,
    /// A Python complex: real part, imaginary part.
    Complex(f64, f64),
    /// A string.
    Str(&'a str),
    /// A `torch.dtype`, or the Python types `float`, `int`, `bool`, `complex` where torch takes them as one.
    DType(DType),
    /// A `torch.device`.
    Device(Device),
    /// A `torch.memory_format`.
    MemoryFormat(MemoryFormat),
    /// `torch.strided`, the layout of all tensors that rules know.
    Strided,
    /// A list.
    List(Vec<Value<'a>>),
    /// A tuple or `torch.Size`.
    Tuple(Vec<Value<'a>>),
    /// A slice object: start, stop, step.
    Slice(Box<[Value<'a>; 3]>),
    /// `...`
    Ellipsis,
    /// Anything else. A rule that needs to know it answers `Unsupported`.
    Unknown,
}

impl<'a> Value<'a> {
    /// A slice object.
    pub fn slice(start: Value<'a>, stop: Value<'a>, step: Value<'a>) -> Value<'a> {
        Value::Slice(Box::new([start, stop, step]))
    }

    /// A list of ints.
    pub fn ints(items: &[i64]) -> Value<'a> {
        Value::List(items.iter().copied().map(Value::Int).collect())
    }

    /// The items of a list or tuple.
    pub fn items(&self) -> Option<&[Value<'a>]> {
        match self {
            Value::List(items) | Value::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// Whether it is `None` (or was not given).
    pub fn is_none(&self) -> bool {
        matches!(self, Value::None)
    }
}
