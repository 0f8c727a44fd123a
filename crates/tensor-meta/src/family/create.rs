//! Making tensors: factories.

use smallvec::SmallVec;

use crate::call::{
    Call, In, R, bool_or, float_or, int, int_or, one, opt_device, opt_dtype, raise,
    size as read_size, size_list, size_or, tensor, unsupported,
};
use crate::family::convert::converted;
use crate::family::view::format_strides;
use crate::iterator::preserved_strides;
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::Fold;
use crate::traits::facts::{
    CONVERTS_NUMBERS, DRAWS, FROM_DATA, MADE_OF_SIZES, NEVER_RAISES, ONLY_SIZES, READS_ELEMENTS,
    SEES_NUMPY, SEES_NUMPY_FLOATS, TAKES_NUMBERS, TAKES_SIZES, VIEW,
};
use crate::types::{DType, Device, Dims, MemoryFormat, TensorMeta, Value, contiguous_strides};

/// The keywords that factories share, taken out of the call.
struct Options {
    dtype: Option<DType>,
    device: Option<Device>,
    requires_grad: bool,
    format: Option<MemoryFormat>,
}

const FACTORY: [&str; 7] = [
    "dtype",
    "device",
    "requires_grad",
    "layout",
    "pin_memory",
    "memory_format",
    "out",
];

/// Splits a factory call into its options and the call without them.
fn options<'a>(call: &Call<'a>) -> R<(Options, Vec<(&'a str, Value<'a>)>)> {
    let mut options = Options {
        dtype: None,
        device: None,
        requires_grad: false,
        format: None,
    };
    let mut rest = Vec::new();
    for (key, value) in call.kwargs {
        match *key {
            "dtype" => options.dtype = opt_dtype(value)?,
            "device" => options.device = opt_device(value)?,
            "requires_grad" => options.requires_grad = bool_or(value, false)?,
            "pin_memory" if !bool_or(value, false)? => {}
            "memory_format" => match value {
                Value::MemoryFormat(f) => options.format = Some(*f),
                Value::None => {}
                _ => return unsupported("memory_format"),
            },
            "layout" if matches!(value, Value::Strided) => {}
            k if FACTORY.contains(&k) && value.is_none() => {}
            k if FACTORY.contains(&k) => return unsupported("factory option"),
            _ => rest.push((*key, value.clone())),
        }
    }
    Ok((options, rest))
}

fn made(call: &Call<'_>, o: &Options, shape: &[Size], strides: &[Size], dtype: DType) -> R {
    let device = o.device.unwrap_or(call.ctx.default_device);
    made_on(call, o, shape, strides, dtype, device)
}
fn made_on(
    call: &Call<'_>,
    o: &Options,
    shape: &[Size],
    strides: &[Size],
    dtype: DType,
    device: Device,
) -> R {
    if shape.iter().any(|s| *s < 0) {
        return raise("negative size");
    }
    if o.requires_grad && !dtype.is_differentiable() {
        return raise("only floating and complex tensors can require grad");
    }
    if o.requires_grad && call.ctx.inference_mode {
        return unsupported("requires_grad in inference mode");
    }
    let mut meta = TensorMeta::laid(shape, strides, dtype, device);
    meta.requires_grad = o.requires_grad;
    one(meta)
}

/// The size of `zeros(2, 3)` and `zeros((2, 3))`.
fn size_of(args: &[Value<'_>], rest: &[(&str, Value<'_>)]) -> R<Dims> {
    match (args, rest) {
        ([], []) => raise("no size"),
        ([], [("size", value)]) => size_list(value),
        ([list], []) if list.items().is_some() => size_list(list),
        (items, []) => crate::call::sizes(items),
        _ => unsupported("factory arguments"),
    }
}
fn filled(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    if o.format.is_some_and(|f| f != MemoryFormat::Contiguous) {
        return unsupported("memory_format of a factory");
    }
    let shape = size_of(call.args, &rest)?;
    let dtype = o.dtype.unwrap_or(call.ctx.default_dtype);
    made(call, &o, &shape, &contiguous_strides(&shape), dtype)
}
/// As [`options`], of a factory that draws from torch's own generator.
fn drawing_options<'a>(call: &Call<'a>) -> R<(Options, Vec<(&'a str, Value<'a>)>)> {
    let (options, mut rest) = options(call)?;
    if rest.iter().any(|(k, v)| *k == "generator" && !v.is_none()) {
        return unsupported("generator");
    }
    rest.retain(|(k, _)| *k != "generator");
    Ok((options, rest))
}
fn random(call: &Call<'_>) -> R {
    let (o, rest) = drawing_options(call)?;
    let shape = size_of(call.args, &rest)?;
    let dtype = o.dtype.unwrap_or(call.ctx.default_dtype);
    if !dtype.is_floating() {
        return unsupported("random numbers of this dtype");
    }
    made(call, &o, &shape, &contiguous_strides(&shape), dtype)
}
/// `hann_window(length, periodic)` and the like; what some take besides are numbers.
fn window(call: &Call<'_>) -> R {
    let (o, kwargs) = options(call)?;
    let [length, periodic] = call
        .without_options(&kwargs)
        .bind(["window_length", "periodic"])?;
    one_window(call, &o, length, periodic)
}
fn hamming_window(call: &Call<'_>) -> R {
    let (o, kwargs) = options(call)?;
    let [length, periodic, alpha, beta] =
        call.without_options(&kwargs)
            .bind(["window_length", "periodic", "alpha", "beta"])?;
    if alpha.is_none() && !beta.is_none() {
        return raise("beta without alpha");
    }
    float_or(alpha, 0.0)?;
    float_or(beta, 0.0)?;
    one_window(call, &o, length, periodic)
}
fn kaiser_window(call: &Call<'_>) -> R {
    let (o, kwargs) = options(call)?;
    let [length, periodic, beta] =
        call.without_options(&kwargs)
            .bind(["window_length", "periodic", "beta"])?;
    float_or(beta, 0.0)?;
    one_window(call, &o, length, periodic)
}
fn one_window(call: &Call<'_>, o: &Options, length: &Value<'_>, periodic: &Value<'_>) -> R {
    bool_or(periodic, true)?;
    let dtype = o.dtype.unwrap_or(call.ctx.default_dtype);
    if !dtype.is_floating() {
        return raise("dtype of a window");
    }
    made(call, o, &[read_size(length)?], &[Size::ONE], dtype)
}
fn number_type(call: &Call<'_>, value: &Value<'_>) -> R<DType> {
    Ok(match value {
        Value::Int(_) | Value::SymInt(_) => DType::Int64,
        Value::Bool(_) => DType::Bool,
        Value::Float(_) | Value::SymFloat => call.ctx.default_dtype,
        Value::Complex(..) => match call.ctx.default_dtype.to_complex() {
            Some(c) => c,
            None => return unsupported("complex of this default dtype"),
        },
        _ => return unsupported("value is not a plain number"),
    })
}
fn full(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let inner = call.without_options(&rest);
    let [size, value] = inner.bind(["size", "fill_value"])?;
    let shape = size_list(size)?;
    let dtype = match o.dtype {
        Some(d) => {
            if number_type(call, value)?.is_complex() && !d.is_complex() {
                return raise("complex value in a real tensor");
            }
            d
        }
        None => number_type(call, value)?,
    };
    made(call, &o, &shape, &contiguous_strides(&shape), dtype)
}
fn randint(call: &Call<'_>) -> R {
    let (o, rest) = drawing_options(call)?;
    if !rest.is_empty() {
        return unsupported("keyword arguments of randint");
    }
    let (low, high, size) = match call.args {
        [high, size] if size.items().is_some() => (0, int(high)?, size),
        [low, high, size] if size.items().is_some() => (int(low)?, int(high)?, size),
        _ => return unsupported("arguments of randint"),
    };
    if low >= high {
        return raise("randint range");
    }
    let shape = size_list(size)?;
    let dtype = o.dtype.unwrap_or(DType::Int64);
    if dtype != DType::Int64 {
        return unsupported("randint of this dtype");
    }
    made(call, &o, &shape, &contiguous_strides(&shape), dtype)
}
fn randperm(call: &Call<'_>) -> R {
    let (o, rest) = drawing_options(call)?;
    let ([n], []) = (call.args, rest.as_slice()) else {
        return unsupported("arguments of randperm");
    };
    let n = read_size(n)?;
    let dtype = o.dtype.unwrap_or(DType::Int64);
    if dtype != DType::Int64 {
        return unsupported("randperm of this dtype");
    }
    made(call, &o, &[n], &[Size::ONE], dtype)
}
fn arange(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let inner = call.without_options(&rest);
    let zero = Value::Int(0);
    let one_step = Value::Int(1);
    let (start, end, step) = if call.args.len() == 1 && !rest.iter().any(|(k, _)| *k == "end") {
        let [end, start, step] = inner.bind(["end", "start", "step"])?;
        (if start.is_none() { &zero } else { start }, end, step)
    } else {
        let [start, end, step] = inner.bind(["start", "end", "step"])?;
        (if start.is_none() { &zero } else { start }, end, step)
    };
    let step = if step.is_none() { &one_step } else { step };
    let all = [start, end, step];
    let whole = all
        .iter()
        .all(|v| matches!(v, Value::Int(_) | Value::SymInt(_)));
    for v in all {
        if !matches!(v, Value::Int(_) | Value::SymInt(_) | Value::Float(_)) {
            return unsupported("arange of other than numbers");
        }
    }
    let dtype = o.dtype.unwrap_or(if whole {
        DType::Int64
    } else {
        call.ctx.default_dtype
    });
    if dtype == DType::Bool || dtype.is_complex() {
        return unsupported("arange of this dtype");
    }
    let length = if whole {
        let (a, b, s) = (read_size(start)?, read_size(end)?, read_size(step)?);
        if s == 0 || (s > 0 && b < a) || (s < 0 && b > a) {
            return raise("arange bounds");
        }
        match s > 0 {
            true => (b - a + s - 1) / s,
            false => (a - b - s - 1) / -s,
        }
    } else {
        if dtype.is_integral() {
            return unsupported("integer arange of floats");
        }
        let (a, b, s) = (
            float_or(start, 0.0)?,
            float_or(end, 0.0)?,
            float_or(step, 1.0)?,
        );
        if !a.is_finite() || !b.is_finite() || !s.is_finite() || s == 0.0 || (b - a) * s < 0.0 {
            return raise("arange bounds");
        }
        Size::known(((b - a) / s).ceil() as i64)
    };
    made(call, &o, &[length], &[Size::ONE], dtype)
}
fn linspace(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let inner = call.without_options(&rest);
    let [start, end, steps] = inner.bind(["start", "end", "steps"])?;
    spaced(call, &o, start, end, steps)
}
fn spaced(
    call: &Call<'_>,
    o: &Options,
    start: &Value<'_>,
    end: &Value<'_>,
    steps: &Value<'_>,
) -> R {
    float_or(start, 0.0)?;
    float_or(end, 0.0)?;
    let steps = read_size(steps)?;
    if steps < 0 {
        return raise("steps");
    }
    let dtype = o.dtype.unwrap_or(call.ctx.default_dtype);
    if !dtype.is_floating() {
        return unsupported("spaced numbers of this dtype");
    }
    made(call, o, &[steps], &[Size::ONE], dtype)
}
fn logspace(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let [start, end, steps, base] = call
        .without_options(&rest)
        .bind(["start", "end", "steps", "base"])?;
    float_or(base, 10.0)?;
    spaced(call, &o, start, end, steps)
}
/// Rows and columns of the elements of a triangle: two rows of as many.
fn triangle_indices(call: &Call<'_>, upper: bool) -> R {
    let (o, rest) = options(call)?;
    let [rows, columns, offset] = call.without_options(&rest).bind(["row", "col", "offset"])?;
    let (rows, columns) = (int(rows)?, int(columns)?);
    let offset = int_or(offset, 0)?;
    if rows < 0 || columns < 0 {
        return raise("negative size");
    }
    if rows > 1 << 16 || columns > 1 << 16 {
        return unsupported("very large triangle");
    }
    let below = |offset: i64| -> i64 {
        (0..rows)
            .map(|row| (row + offset + 1).clamp(0, columns))
            .sum()
    };
    let count = match upper {
        true => rows * columns - below(offset - 1),
        false => below(offset),
    };
    let shape = [Size::known(2), Size::known(count)];
    let dtype = o.dtype.unwrap_or(DType::Int64);
    made(call, &o, &shape, &contiguous_strides(&shape), dtype)
}

/// The sizes of a tensor, as a tensor on the CPU.
fn shape_as_tensor(call: &Call<'_>) -> R {
    let [x] = call.bind(["self"])?;
    let shape = [Size::known(tensor(x)?.ndim() as i64)];
    let strides = contiguous_strides(&shape);
    one(TensorMeta::laid(
        &shape,
        &strides,
        DType::Int64,
        Device::CPU,
    ))
}

fn empty_strided(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let [shape, strides] = call.without_options(&rest).bind(["size", "stride"])?;
    let (shape, strides) = (size_list(shape)?, size_list(strides)?);
    if shape.len() != strides.len() || strides.iter().any(|s| *s < 0) {
        return raise("strides of another rank");
    }
    let dtype = o.dtype.unwrap_or(call.ctx.default_dtype);
    made(call, &o, &shape, &strides, dtype)
}
fn scalar_tensor(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let [value] = call.without_options(&rest).bind(["s"])?;
    let dtype = o.dtype.unwrap_or(call.ctx.default_dtype);
    if number_type(call, value)?.is_complex() && !dtype.is_complex() {
        return raise("complex value in a real tensor");
    }
    made(call, &o, &[], &[], dtype)
}
fn eye(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let inner = call.without_options(&rest);
    let [n, m] = inner.bind(["n", "m"])?;
    let n = read_size(n)?;
    let m = size_or(m, n)?;
    made(
        call,
        &o,
        &[n, m],
        &[m.max(1), Size::ONE],
        o.dtype.unwrap_or(call.ctx.default_dtype),
    )
}

fn like(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let inner = call.without_options(&rest);
    let [x] = inner.bind(["input"])?;
    like_of(call, &o, &tensor(x)?)
}
fn full_like(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let inner = call.without_options(&rest);
    let [x, value] = inner.bind(["input", "fill_value"])?;
    number_type(call, value)?;
    like_of(call, &o, &tensor(x)?)
}
fn random_like(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let inner = call.without_options(&rest);
    let [x] = inner.bind(["input"])?;
    let x = tensor(x)?;
    if !o.dtype.unwrap_or(x.dtype).is_floating() {
        return unsupported("random numbers of this dtype");
    }
    like_of(call, &o, &x)
}
fn randint_like(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let inner = call.without_options(&rest);
    let (x, low, high) = match (inner.args.len(), inner.kwargs.len()) {
        (2, 0) => {
            let [x, high] = inner.bind(["input", "high"])?;
            (x, &Value::Int(0), high)
        }
        _ => {
            let [x, low, high] = inner.bind(["input", "low", "high"])?;
            (x, low, high)
        }
    };
    let x = tensor(x)?;
    if int_or(low, 0)? >= int(high)? {
        return raise("an empty range of random integers");
    }
    let dtype = o.dtype.unwrap_or(x.dtype);
    if dtype.is_complex() || dtype == DType::Bool {
        return unsupported("random integers of this dtype");
    }
    like_of(call, &o, &x)
}
fn holds_tensor(data: &Value<'_>) -> bool {
    let items = data.items().unwrap_or_default();
    matches!(data, Value::Tensor(_)) || items.iter().any(holds_tensor)
}
fn new_tensor(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let [x, data] = call.without_options(&rest).bind(["input", "data"])?;
    let x = tensor(x)?;
    if holds_tensor(data) {
        return unsupported("tensor of a tensor");
    }
    let dtype = o.dtype.unwrap_or(x.dtype);
    let (shape, own) = nested(call, data, Some(dtype))?;
    if own.is_some_and(|own| own.is_complex() || own.is_floating() && !dtype.is_differentiable()) {
        return unsupported("data of another kind");
    }
    let device = o.device.unwrap_or(x.device);
    made_on(call, &o, &shape, &contiguous_strides(&shape), dtype, device)
}
fn like_of(call: &Call<'_>, o: &Options, x: &In<'_>) -> R {
    let strides = match format_strides(o.format.unwrap_or(MemoryFormat::Preserve), &x.shape)? {
        Some(strides) => strides,
        None => preserved_strides(&x.shape, &x.strides),
    };
    let device = o.device.unwrap_or(x.device);
    made_on(
        call,
        o,
        &x.shape,
        &strides,
        o.dtype.unwrap_or(x.dtype),
        device,
    )
}
/// A tensor of this shape that takes after another one in what the options leave open.
fn made_like(call: &Call<'_>, o: &Options, x: &In<'_>, shape: &[Size]) -> R {
    let (dtype, device) = (o.dtype.unwrap_or(x.dtype), o.device.unwrap_or(x.device));
    made_on(call, o, shape, &contiguous_strides(shape), dtype, device)
}
fn new_sized(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let Some((x, size)) = call.args.split_first() else {
        return unsupported("arguments");
    };
    let x = tensor(x)?;
    let shape = size_of(size, &rest)?;
    made_like(call, &o, &x, &shape)
}
fn new_full(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let inner = call.without_options(&rest);
    let [x, size, value] = inner.bind(["input", "size", "fill_value"])?;
    let x = tensor(x)?;
    number_type(call, value)?;
    let shape = size_list(size)?;
    made_like(call, &o, &x, &shape)
}

/// Shape and dtype of nested Python numbers; `to` is the dtype that they are asked to have.
fn nested(call: &Call<'_>, value: &Value<'_>, to: Option<DType>) -> R<(Dims, Option<DType>)> {
    let Some(items) = value.items() else {
        let dtype = match value {
            Value::Tensor(_) => element_type(&tensor(value)?, to)?,
            Value::SymInt(_) | Value::SymFloat => any_number_type(call, value, to)?,
            _ => number_type(call, value)?,
        };
        return Ok((Dims::new(), Some(dtype)));
    };
    let mut shape: Dims = SmallVec::from_slice(&[Size::known(items.len() as i64)]);
    let mut dtype: Option<DType> = None;
    let mut inner: Option<Dims> = None;
    for item in items {
        let (s, d) = nested(call, item, to)?;
        if inner.as_ref().is_some_and(|i| *i != s) {
            return raise("ragged nesting");
        }
        inner = Some(s);
        dtype = match (dtype, d) {
            (Some(a), Some(b)) => Some(crate::promote::promote_types(a, b)?),
            (a, b) => a.or(b),
        };
    }
    shape.extend(inner.unwrap_or_default());
    Ok((shape, dtype))
}

/// Dtype of a number whose value is not known, where each fits the dtype that it is asked to have.
fn any_number_type(call: &Call<'_>, value: &Value<'_>, to: Option<DType>) -> R<DType> {
    match to {
        None | Some(DType::Bool) => {}
        Some(DType::Int64) if matches!(value, Value::SymInt(_)) => {}
        Some(to) if to.is_floating() || to.is_complex() => {}
        Some(_) => return unsupported("a number that may not fit"),
    }
    number_type(call, value)
}

/// Dtype of a tensor that stands for a number: its value is read.
fn element_type(x: &In<'_>, to: Option<DType>) -> R<DType> {
    let fits = match to {
        _ if x.dtype.is_complex() => false,
        None => true,
        Some(to) if x.dtype.is_floating() => to.is_floating(),
        Some(to) => to.is_floating() || to == DType::Int64,
    };
    if !x.shape.is_empty() || x.device != Device::CPU || !fits {
        return unsupported("a tensor among numbers");
    }
    Ok(x.dtype)
}
fn from_data(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let inner = call.without_options(&rest);
    let [data] = inner.bind(["data"])?;
    if matches!(data, Value::Tensor(_)) {
        return unsupported("tensor of a tensor");
    }
    let (shape, dtype) = nested(call, data, o.dtype)?;
    if dtype.is_some_and(DType::is_complex) && o.dtype.is_some_and(|d| !d.is_complex()) {
        return raise("complex value in a real tensor");
    }
    let dtype = o.dtype.or(dtype).unwrap_or(call.ctx.default_dtype);
    made(call, &o, &shape, &contiguous_strides(&shape), dtype)
}

/// `torch.Tensor(2, 3)`, `torch.LongTensor([1, 2])`: always on the CPU, whatever the default device.
fn legacy(call: &Call<'_>, dtype: DType) -> R {
    let o = Options {
        dtype: None,
        device: Some(Device::CPU),
        requires_grad: false,
        format: None,
    };
    let shape = match call.args {
        _ if !call.kwargs.is_empty() => return unsupported("keywords"),
        [] => SmallVec::from_slice(&[Size::ZERO]),
        [data] if data.items().is_some() => nested(call, data, Some(dtype))?.0,
        sizes => sizes
            .iter()
            .map(|s| match read_size(s)? {
                n if n < 0 => raise("negative dimension"),
                n => Ok(n),
            })
            .collect::<R<Dims>>()?,
    };
    made(call, &o, &shape, &contiguous_strides(&shape), dtype)
}
fn legacy_default(call: &Call<'_>) -> R {
    legacy(call, call.ctx.default_dtype)
}
fn legacy_float(call: &Call<'_>) -> R {
    legacy(call, DType::Float32)
}
fn legacy_double(call: &Call<'_>) -> R {
    legacy(call, DType::Float64)
}
fn legacy_long(call: &Call<'_>) -> R {
    legacy(call, DType::Int64)
}
fn legacy_bool(call: &Call<'_>) -> R {
    legacy(call, DType::Bool)
}

fn as_tensor(call: &Call<'_>) -> R {
    let (o, rest) = options(call)?;
    let inner = call.without_options(&rest);
    let [data] = inner.bind(["data"])?;
    if let Value::Tensor(_) = data {
        let x = tensor(data)?;
        return converted(call, &x, o.dtype, o.device, false, MemoryFormat::Preserve);
    }
    let (shape, dtype) = nested(call, data, o.dtype)?;
    if dtype.is_some_and(DType::is_complex) && o.dtype.is_some_and(|d| !d.is_complex()) {
        return raise("complex value in a real tensor");
    }
    let dtype = o.dtype.or(dtype).unwrap_or(call.ctx.default_dtype);
    made(call, &o, &shape, &contiguous_strides(&shape), dtype)
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    let lines = [
        rule("zeros", "*", "", filled).does(NEVER_RAISES | TAKES_SIZES | MADE_OF_SIZES),
        rule("ones", "*", "", filled).does(NEVER_RAISES | TAKES_SIZES | MADE_OF_SIZES),
        rule("empty", "*", "", filled).does(NEVER_RAISES | TAKES_SIZES | MADE_OF_SIZES),
        rule("rand", "*", "", random).does(NEVER_RAISES | TAKES_SIZES | MADE_OF_SIZES | DRAWS),
        rule("randn", "*", "", random).does(NEVER_RAISES | TAKES_SIZES | MADE_OF_SIZES | DRAWS),
        rule("randint", "*", "", randint).does(TAKES_SIZES | DRAWS),
        rule("randperm", "*", "", randperm).does(TAKES_SIZES | DRAWS),
        rule("full", "*", "", full)
            .does(NEVER_RAISES | TAKES_NUMBERS | MADE_OF_SIZES | CONVERTS_NUMBERS)
            .fills(1, "fill_value"),
        rule("arange", "*", "", arange)
            .does(NEVER_RAISES | TAKES_SIZES | MADE_OF_SIZES | CONVERTS_NUMBERS)
            .folds(Fold::Range),
        rule("linspace", "*", "", linspace).does(TAKES_SIZES),
        rule("logspace", "*", "", logspace),
        rule("tril_indices", "*", "", |call| {
            triangle_indices(call, false)
        }),
        rule("triu_indices", "*", "", |call| triangle_indices(call, true)),
        rule("_shape_as_tensor", "*", "", shape_as_tensor).folds(Fold::Shape),
        rule("empty_strided", "*", "", empty_strided),
        rule("scalar_tensor", "*", "", scalar_tensor),
        rule("eye", "*", "", eye).does(NEVER_RAISES | TAKES_SIZES),
        rule("hann_window", "*", "", window),
        rule("hamming_window", "*", "", hamming_window),
        rule("blackman_window", "*", "", window),
        rule("bartlett_window", "*", "", window),
        rule("kaiser_window", "*", "", kaiser_window),
        rule("zeros_like", "*", "", like).does(NEVER_RAISES),
        rule("ones_like", "*", "", like).does(NEVER_RAISES),
        rule("empty_like", "*", "", like).does(NEVER_RAISES),
        rule("full_like", "*", "", full_like)
            .does(NEVER_RAISES | TAKES_NUMBERS | CONVERTS_NUMBERS)
            .fills(1, "fill_value"),
        rule("rand_like", "* torch.randn_like", "", random_like).does(NEVER_RAISES | DRAWS),
        rule("randint_like", "*", "", randint_like).does(DRAWS),
        rule("new_tensor", "", "*", new_tensor)
            .does(TAKES_NUMBERS | FROM_DATA | SEES_NUMPY | SEES_NUMPY_FLOATS)
            .folds(Fold::NewData),
        rule("new_zeros", "", "* new_ones new_empty", new_sized)
            .does(NEVER_RAISES | TAKES_SIZES | ONLY_SIZES),
        rule("new_full", "", "*", new_full)
            .does(NEVER_RAISES | TAKES_NUMBERS | ONLY_SIZES | CONVERTS_NUMBERS)
            .fills(2, "fill_value"),
        rule("tensor", "*", "", from_data)
            .does(TAKES_NUMBERS | FROM_DATA | READS_ELEMENTS | SEES_NUMPY | SEES_NUMPY_FLOATS)
            .folds(Fold::Data),
        rule("Tensor", "*", "", legacy_default),
        rule("FloatTensor", "*", "", legacy_float),
        rule("DoubleTensor", "*", "", legacy_double),
        rule("LongTensor", "*", "", legacy_long).folds(Fold::LegacyData),
        rule("BoolTensor", "*", "", legacy_bool),
        rule("as_tensor", "*", "", as_tensor)
            .does(
                VIEW | TAKES_NUMBERS | FROM_DATA | READS_ELEMENTS | SEES_NUMPY | SEES_NUMPY_FLOATS,
            )
            .folds(Fold::Data),
    ];
    out.extend(lines);
}
