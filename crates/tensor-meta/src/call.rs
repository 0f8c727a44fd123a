//! A call as a rule sees it: arguments bound to names, read with their types, and results built.
//!
//! No rule lives here. Invariant: reading an unknown value never guesses; it answers `Unsupported`.

use std::ops::Deref;

use smallvec::SmallVec;

use crate::size::Size;
use crate::types::{
    Alias, Ctx, DType, Device, Dims, Inferred, Ints, RuleError, SymInt, TensorMeta, Value,
};

/// What a rule returns.
pub(crate) type R<T = Inferred> = Result<T, RuleError>;

/// The absent argument; torch treats it like `None` nearly everywhere.
static ABSENT: Value<'static> = Value::None;

/// Shorthand for `Unsupported`.
pub(crate) fn unsupported<T>(reason: &'static str) -> R<T> {
    Err(RuleError::Unsupported(reason))
}

/// Shorthand for `WouldRaise`.
pub(crate) fn raise<T>(message: impl Into<String>) -> R<T> {
    Err(RuleError::raise(message))
}

/// A tensor argument.
#[derive(Clone, Debug)]
pub(crate) struct In<'a> {
    pub meta: &'a TensorMeta,
    pub shape: Dims,
    pub strides: Dims,
    start: Size,
}

impl Deref for In<'_> {
    type Target = TensorMeta;
    fn deref(&self) -> &TensorMeta {
        self.meta
    }
}

impl<'a> In<'a> {
    pub fn new(meta: &'a TensorMeta) -> In<'a> {
        In {
            meta,
            shape: meta.shape.iter().copied().map(Size::from).collect(),
            strides: meta.strides.iter().copied().map(Size::from).collect(),
            start: meta.storage_offset.into(),
        }
    }

    pub fn dim(&self) -> usize {
        self.shape.len()
    }

    pub fn count(&self) -> Size {
        let sizes = self.shape.iter();
        sizes.fold(Size::ONE, |n, s| n.saturating_mul(*s))
    }

    pub fn contiguous(&self) -> bool {
        crate::types::is_contiguous(&self.shape, &self.strides)
    }

    pub fn start(&self) -> Size {
        self.start
    }
}

/// One call of one rule.
pub(crate) struct Call<'a> {
    pub args: &'a [Value<'a>],
    pub kwargs: &'a [(&'a str, Value<'a>)],
    pub ctx: &'a Ctx,
}

impl<'a> Call<'a> {
    /// The arguments by name; the ones not given are `None`. `self` and `input` are one name.
    pub fn bind<const N: usize>(&self, names: [&str; N]) -> R<[&'a Value<'a>; N]> {
        let mut bound: [&'a Value<'a>; N] = [&ABSENT; N];
        if self.args.len() > N {
            return raise("too many positional arguments");
        }
        for (slot, value) in bound.iter_mut().zip(self.args) {
            *slot = value;
        }
        for (key, value) in self.kwargs {
            let key = match *key {
                "self" => "input",
                "axis" if names.contains(&"dim") => "dim",
                "keepdims" => "keepdim",
                other => other,
            };
            match names.iter().position(|n| *n == key) {
                Some(i) if i >= self.args.len() => bound[i] = value,
                Some(_) => return raise(format!("multiple values for argument '{key}'")),
                None if value.is_none() && key == "out" => {}
                None => return unsupported("keyword argument"),
            }
        }
        Ok(bound)
    }

    /// The call with the keyword arguments that are left after its options.
    pub fn without_options<'b>(&self, rest: &'b [(&'b str, Value<'b>)]) -> Call<'b>
    where
        'a: 'b,
    {
        Call {
            kwargs: rest,
            ..*self
        }
    }

    /// Like `bind` for `(input, *ints)` ops: the receiver and the ints, given one by one or as a
    /// sequence (positionally or as the keyword `name`).
    pub fn bind_varargs(&self, name: &str) -> R<(&'a Value<'a>, &'a [Value<'a>])> {
        let Some((first, rest)) = self.args.split_first() else {
            return unsupported("keyword argument");
        };
        match (rest, self.kwargs) {
            ([one], []) => match one {
                Value::List(items) | Value::Tuple(items) => Ok((first, items)),
                _ => Ok((first, rest)),
            },
            (_, []) => Ok((first, rest)),
            ([], [(key, value)]) if *key == name => match value {
                Value::List(items) | Value::Tuple(items) => Ok((first, items)),
                _ => Ok((first, std::slice::from_ref(value))),
            },
            _ => unsupported("keyword argument"),
        }
    }

    /// Whether a result of this type made from these tensors requires grad.
    pub fn grad(&self, dtype: DType, inputs: &[&TensorMeta]) -> bool {
        self.ctx.grad_enabled
            && !self.ctx.inference_mode
            && dtype.is_differentiable()
            && inputs.iter().any(|t| t.requires_grad)
    }

    /// A fresh tensor made from `inputs`.
    pub fn fresh(
        &self,
        shape: &[Size],
        strides: &[Size],
        dtype: DType,
        inputs: &[&TensorMeta],
    ) -> TensorMeta {
        let device = inputs
            .iter()
            .find(|t| t.ndim() > 0)
            .or(inputs.first())
            .map_or(self.ctx.default_device, |t| t.device);
        let mut meta = TensorMeta::laid(shape, strides, dtype, device);
        meta.requires_grad = self.grad(dtype, inputs);
        meta.is_leaf = !meta.requires_grad;
        meta
    }

    /// A fresh row-major tensor made from `inputs`.
    pub fn rows(&self, shape: &[Size], dtype: DType, inputs: &[&TensorMeta]) -> TensorMeta {
        self.fresh(
            shape,
            &crate::types::contiguous_strides(shape),
            dtype,
            inputs,
        )
    }

    /// A view of `base`.
    pub fn view(
        &self,
        base: &In<'_>,
        shape: &[Size],
        strides: &[Size],
        offset: Size,
    ) -> TensorMeta {
        let mut meta = base.meta.clone();
        meta.shape = shape.iter().copied().map(SymInt::from).collect();
        meta.strides = strides.iter().copied().map(SymInt::from).collect();
        meta.storage_offset = offset.into();
        // A view reports `requires_grad` of its base even where it was made under `no_grad`;
        // it has no history then, so it is a leaf.
        meta.requires_grad = base.requires_grad;
        meta.is_leaf = !self.grad(base.dtype, &[base.meta]);
        meta.alias = Alias::View;
        meta
    }
}

/// The argument itself, as a result.
pub(crate) fn identity(meta: &TensorMeta) -> Inferred {
    let mut meta = meta.clone();
    meta.alias = Alias::Identity;
    Inferred::Tensor(meta)
}

/// Reads a tensor.
pub(crate) fn tensor<'a>(value: &Value<'a>) -> R<In<'a>> {
    match value {
        Value::Tensor(meta) => Ok(In::new(meta)),
        Value::Unknown => unsupported("unknown argument"),
        _ => raise("expected a tensor"),
    }
}

/// Reads a tensor or `None`.
pub(crate) fn opt_tensor<'a>(value: &Value<'a>) -> R<Option<In<'a>>> {
    match value {
        Value::None => Ok(None),
        other => tensor(other).map(Some),
    }
}

/// Reads an int. Tensors and floats are not ints.
pub(crate) fn int(value: &Value<'_>) -> R<i64> {
    match value {
        Value::Int(n) if n.unsigned_abs() <= 1 << 31 => Ok(*n),
        Value::Int(_) => unsupported("huge int"),
        Value::Bool(_) | Value::Tensor(_) | Value::SymInt(_) | Value::Unknown => {
            unsupported("argument is not a plain int")
        }
        _ => raise("expected an int"),
    }
}

/// Reads an int, or `default` for `None`.
pub(crate) fn int_or(value: &Value<'_>, default: i64) -> R<i64> {
    match value {
        Value::None => Ok(default),
        other => int(other),
    }
}

/// Reads a bool, or `default` for `None`.
pub(crate) fn bool_or(value: &Value<'_>, default: bool) -> R<bool> {
    match value {
        Value::None => Ok(default),
        Value::Bool(b) => Ok(*b),
        _ => unsupported("argument is not a plain bool"),
    }
}

/// Reads a number, or `default` for `None`.
pub(crate) fn float_or(value: &Value<'_>, default: f64) -> R<f64> {
    match value {
        Value::None => Ok(default),
        Value::Float(x) => Ok(*x),
        Value::Int(n) => Ok(*n as f64),
        _ => unsupported("argument is not a plain number"),
    }
}

/// Reads a string.
pub(crate) fn string<'a>(value: &Value<'a>) -> R<&'a str> {
    match value {
        Value::Str(s) => Ok(s),
        _ => unsupported("argument is not a string"),
    }
}

/// Reads a dtype or `None`.
pub(crate) fn opt_dtype(value: &Value<'_>) -> R<Option<DType>> {
    match value {
        Value::None => Ok(None),
        Value::DType(d) => Ok(Some(*d)),
        _ => unsupported("argument is not a dtype"),
    }
}

/// Reads a device (also as a string), or `None`. `cuda` without an ordinal is not known here.
pub(crate) fn opt_device(value: &Value<'_>) -> R<Option<Device>> {
    let device = match value {
        Value::None => return Ok(None),
        Value::Device(d) => *d,
        Value::Str(s) => match Device::parse(s) {
            Some(d) => d,
            None => return raise("invalid device string"),
        },
        _ => return unsupported("argument is not a device"),
    };
    if device.kind == crate::types::DeviceKind::Cpu {
        return Ok(Some(Device::CPU));
    }
    if device.index.is_none() {
        return unsupported("device without an ordinal");
    }
    Ok(Some(device))
}

/// Reads an int that counts elements: it may be symbolic.
pub(crate) fn size(value: &Value<'_>) -> R<Size> {
    match value {
        Value::SymInt(expr) => Ok(SymInt::Expr(*expr).into()),
        other => int(other).map(Size::known),
    }
}

/// Reads an int that counts elements, or `default` for `None`.
pub(crate) fn size_or(value: &Value<'_>, default: impl Into<Size>) -> R<Size> {
    match value {
        Value::None => Ok(default.into()),
        other => size(other),
    }
}

/// Reads sizes out of a slice of values.
pub(crate) fn sizes(values: &[Value<'_>]) -> R<Dims> {
    values.iter().map(size).collect()
}

/// Reads a sequence of sizes; a bare int is a sequence of one.
pub(crate) fn size_list(value: &Value<'_>) -> R<Dims> {
    list_of(value, size)
}

/// Reads a sequence of exactly `n` sizes; a bare one (or a sequence of one) counts for all.
pub(crate) fn expand_sizes(value: &Value<'_>, n: usize) -> R<Dims> {
    for_each(size_list(value)?, n)
}

/// Reads ints out of a slice of values.
pub(crate) fn ints(values: &[Value<'_>]) -> R<Ints> {
    values.iter().map(int).collect()
}

/// Reads a sequence of ints; a bare int is a sequence of one.
pub(crate) fn int_list(value: &Value<'_>) -> R<Ints> {
    list_of(value, int)
}

/// Reads a sequence of exactly `n` ints; a bare int (or a sequence of one) counts for all.
pub(crate) fn expand_ints(value: &Value<'_>, n: usize, default: i64) -> R<Ints> {
    match value.is_none() {
        true => Ok(SmallVec::from_elem(default, n)),
        false => for_each(int_list(value)?, n),
    }
}

fn list_of<'a, T>(value: &Value<'a>, read: fn(&Value<'a>) -> R<T>) -> R<SmallVec<[T; 6]>> {
    match value {
        Value::List(items) | Value::Tuple(items) => items.iter().map(read).collect(),
        one => Ok(SmallVec::from_iter([read(one)?])),
    }
}

fn for_each<T: Copy>(list: SmallVec<[T; 6]>, n: usize) -> R<SmallVec<[T; 6]>> {
    match list.len() {
        1 => Ok(SmallVec::from_elem(list[0], n)),
        len if len == n => Ok(list),
        _ => raise("wrong number of sizes"),
    }
}

/// Reads a sequence of tensors.
pub(crate) fn tensors<'a>(value: &Value<'a>) -> R<Vec<In<'a>>> {
    match value.items() {
        Some(items) => items.iter().map(tensor).collect(),
        None => unsupported("argument is not a sequence of tensors"),
    }
}

/// Wraps a dimension: `-1` is the last. A 0-dim tensor has the dimensions 0 and -1.
pub(crate) fn wrap_dim(dim: i64, ndim: usize) -> R<usize> {
    let n = ndim.max(1) as i64;
    if dim < -n || dim >= n {
        return raise(format!(
            "dimension {dim} out of range for {ndim} dimensions"
        ));
    }
    Ok((if dim < 0 { dim + n } else { dim }) as usize)
}

/// A fresh result.
pub(crate) fn one(meta: TensorMeta) -> R {
    Ok(Inferred::Tensor(meta))
}
