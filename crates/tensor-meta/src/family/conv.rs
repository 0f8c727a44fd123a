//! Convolutions, pooling, resampling, padding: ops on `(batch, channels, *space)`.

use smallvec::SmallVec;

use crate::call::{
    Call, In, R, bool_or, expand_ints, expand_sizes, float_or, int_or, one, opt_tensor, raise,
    size as read_size, size_list, string, tensor, unsupported,
};
use crate::family::view::unsqueezed;
use crate::iterator::preserved_strides;
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::Cast;
use crate::traits::facts::{CONVERTS_NUMBERS, NEVER_RAISES, TAKES_SIZES};
use crate::types::{
    Autocast, DType, Dims, Inferred, MemoryFormat, Value, channels_last_strides,
    contiguous_strides, suggest_memory_format,
};

/// Strides for `shape` in the format that `x` suggests.
pub(crate) fn suggested(x: &In<'_>, shape: &[Size]) -> Dims {
    match suggest_memory_format(&x.shape, &x.strides) {
        MemoryFormat::Contiguous => contiguous_strides(shape),
        _ => channels_last_strides(shape),
    }
}

pub(crate) fn float_input(x: &In<'_>) -> R<()> {
    if !x.dtype.is_floating() {
        return unsupported("dtype");
    }
    if x.shape.contains(&Size::ZERO) {
        return unsupported("empty input");
    }
    Ok(())
}

/// Whether a convolution of these computes in channels-last. 1-dim convolutions run as 2-dim
/// ones, of a row-major copy where the input is not row-major. Where the answer depends on the kernel that runs, there is none.
fn conv_channels_last(x: &In<'_>, w: &In<'_>) -> R<bool> {
    let last = |t: &In<'_>| {
        let (shape, strides) = if t.dim() == 3 {
            unsqueezed(t, 2)
        } else {
            (t.shape.clone(), t.strides.clone())
        };
        suggest_memory_format(&shape, &strides) != MemoryFormat::Contiguous
    };
    let copied = x.dim() == 3 && !x.contiguous();
    if (copied || !last(x)) && !last(w) {
        return Ok(false);
    }
    if x.dim() != 4 || x.dtype == DType::Float64 {
        return unsupported("channels-last convolution of this rank or dtype");
    }
    Ok(true)
}

fn conv_strides(shape: &[Size], last: bool) -> Dims {
    if last {
        channels_last_strides(shape)
    } else {
        contiguous_strides(shape)
    }
}

fn conv_operands<'a>(
    x: &Value<'a>,
    w: &Value<'a>,
    b: &Value<'a>,
    n: usize,
) -> R<(In<'a>, In<'a>, Option<In<'a>>)> {
    let (x, w, b) = (tensor(x)?, tensor(w)?, opt_tensor(b)?);
    if w.dim() != n + 2 || (x.dim() != n + 2 && x.dim() != n + 1) {
        return raise("convolution dimensions");
    }
    if x.dim() == n + 1 {
        return unsupported("convolution without a batch");
    }
    if x.dtype != w.dtype || b.as_ref().is_some_and(|b| b.dtype != x.dtype) {
        return raise("convolution dtypes differ");
    }
    float_input(&x)?;
    float_input(&w)?;
    if b.as_ref().is_some_and(|b| b.dim() != 1) {
        return raise("convolution bias");
    }
    Ok((x, w, b))
}

fn conv(call: &Call<'_>, n: usize) -> R {
    let [x, w, b, stride, padding, dilation, groups] = call.bind([
        "input", "weight", "bias", "stride", "padding", "dilation", "groups",
    ])?;
    let (x, w, b) = conv_operands(x, w, b, n)?;
    let (stride, dilation) = (expand_ints(stride, n, 1)?, expand_ints(dilation, n, 1)?);
    let groups = int_or(groups, 1)?;
    if groups <= 0 || stride.iter().chain(&dilation).any(|v| *v <= 0) {
        return raise("convolution parameters");
    }
    if w.shape[1] * groups != x.shape[1] || w.shape[0] % groups != 0 {
        return raise("convolution channels");
    }
    if b.as_ref().is_some_and(|b| b.shape[0] != w.shape[0]) {
        return raise("convolution bias");
    }
    let mut shape: Dims = SmallVec::from_slice(&[x.shape[0], w.shape[0]]);
    for d in 0..n {
        let reach = dilation[d] * (w.shape[d + 2] - 1);
        let total = match padding {
            Value::Str("same") => {
                if stride[d] != 1 {
                    return raise("same padding with a stride");
                }
                reach
            }
            Value::Str("valid") => Size::ZERO,
            Value::Str(_) => return raise("padding"),
            other => Size::known(2 * expand_ints(other, n, 0)?[d]),
        };
        if total < 0 {
            return raise("negative padding");
        }
        let free = x.shape[d + 2] + total - reach - 1;
        if free < 0 {
            return raise("kernel larger than the input");
        }
        shape.push(free / stride[d] + 1);
    }
    let mut inputs = vec![x.meta, w.meta];
    inputs.extend(b.as_ref().map(|b| b.meta));
    let strides = conv_strides(&shape, conv_channels_last(&x, &w)?);
    one(call.fresh(&shape, &strides, x.dtype, &inputs))
}
fn conv1d(call: &Call<'_>) -> R {
    conv(call, 1)
}
fn conv2d(call: &Call<'_>) -> R {
    conv(call, 2)
}
fn conv3d(call: &Call<'_>) -> R {
    conv(call, 3)
}

fn conv_transpose(call: &Call<'_>, n: usize) -> R {
    let [x, w, b, stride, padding, extra, groups, dilation] = call.bind([
        "input",
        "weight",
        "bias",
        "stride",
        "padding",
        "output_padding",
        "groups",
        "dilation",
    ])?;
    let (x, w, b) = conv_operands(x, w, b, n)?;
    let (stride, dilation) = (expand_ints(stride, n, 1)?, expand_ints(dilation, n, 1)?);
    let (padding, extra) = (expand_ints(padding, n, 0)?, expand_ints(extra, n, 0)?);
    let groups = int_or(groups, 1)?;
    if groups <= 0 || stride.iter().chain(&dilation).any(|v| *v <= 0) {
        return raise("convolution parameters");
    }
    if w.shape[0] != x.shape[1] || x.shape[1] % groups != 0 {
        return raise("convolution channels");
    }
    let channels = w.shape[1] * groups;
    if b.as_ref().is_some_and(|b| b.shape[0] != channels) {
        return raise("convolution bias");
    }
    let mut shape: Dims = SmallVec::from_slice(&[x.shape[0], channels]);
    for d in 0..n {
        if padding[d] < 0 || extra[d] < 0 {
            return raise("negative padding");
        }
        if extra[d] >= stride[d].max(dilation[d]) {
            return unsupported("output padding");
        }
        let size = (x.shape[d + 2] - 1) * stride[d] - 2 * padding[d]
            + dilation[d] * (w.shape[d + 2] - 1)
            + extra[d]
            + 1;
        if size <= 0 {
            return unsupported("empty output");
        }
        shape.push(size);
    }
    let mut inputs = vec![x.meta, w.meta];
    inputs.extend(b.as_ref().map(|b| b.meta));
    let last = conv_channels_last(&x, &w)?;
    let strides = conv_strides(&shape, last);
    one(call.fresh(&shape, &strides, x.dtype, &inputs))
}
fn conv_transpose1d(call: &Call<'_>) -> R {
    conv_transpose(call, 1)
}
fn conv_transpose2d(call: &Call<'_>) -> R {
    conv_transpose(call, 2)
}
fn conv_transpose3d(call: &Call<'_>) -> R {
    conv_transpose(call, 3)
}

/// Output length of a pooling window along one dimension.
fn pooled(
    size: Size,
    kernel: i64,
    stride: i64,
    padding: i64,
    dilation: i64,
    ceil: bool,
) -> R<Size> {
    if kernel <= 0 || stride <= 0 || dilation <= 0 || padding < 0 {
        return raise("pooling parameters");
    }
    if padding * 2 > (kernel - 1) * dilation + 1 || padding * 2 > kernel {
        return raise("padding above half the kernel");
    }
    let free = size + 2 * padding - dilation * (kernel - 1) - 1;
    let mut out = (free + if ceil { stride - 1 } else { 0 }).div_floor(stride) + 1;
    if ceil && (out - 1) * stride >= size + padding {
        out -= 1;
    }
    if out < 1 {
        return raise("pooling output is empty");
    }
    Ok(out)
}
fn check_spatial(x: &In<'_>, n: usize) -> R<()> {
    if x.shape[x.dim().saturating_sub(n)..].contains(&Size::ZERO) {
        return raise("pooling of an empty tensor");
    }
    float_input(x)?;
    if x.dim() != n + 2 && x.dim() != n + 1 {
        return raise("pooling dimensions");
    }
    Ok(())
}
fn pool_shape(
    x: &In<'_>,
    n: usize,
    kernel: &Value<'_>,
    stride: &Value<'_>,
    padding: &Value<'_>,
    dilation: &Value<'_>,
    ceil: &Value<'_>,
) -> R<Dims> {
    check_spatial(x, n)?;
    let kernel = expand_ints(kernel, n, 0)?;
    let stride = match stride {
        Value::List(items) | Value::Tuple(items) if items.is_empty() => kernel.clone(),
        Value::None => kernel.clone(),
        other => expand_ints(other, n, 1)?,
    };
    let (padding, dilation) = (expand_ints(padding, n, 0)?, expand_ints(dilation, n, 1)?);
    let ceil = bool_or(ceil, false)?;
    let lead = x.dim() - n;
    let mut shape: Dims = SmallVec::from_slice(&x.shape[..lead]);
    for d in 0..n {
        shape.push(pooled(
            x.shape[lead + d],
            kernel[d],
            stride[d],
            padding[d],
            dilation[d],
            ceil,
        )?);
    }
    Ok(shape)
}
/// Layout of a pooled tensor.
fn pool_strides(x: &In<'_>, shape: &[Size]) -> Dims {
    suggested(x, shape)
}
/// Those of a 1-dim pooling, which runs as a 2-dim one.
fn flat_pool_strides(x: &In<'_>, shape: &[Size]) -> Dims {
    let (sizes, strides) = unsqueezed(x, 2);
    let mut wide: Dims = SmallVec::from_slice(shape);
    wide.insert(2, Size::ONE);
    let mut out = match suggest_memory_format(&sizes, &strides) {
        MemoryFormat::Contiguous => contiguous_strides(&wide),
        _ => channels_last_strides(&wide),
    };
    out.remove(2);
    out
}
fn max_pool(call: &Call<'_>, n: usize, indices_too: bool) -> R {
    let [x, kernel, stride, padding, dilation, ceil, indices] = call.bind([
        "input",
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "ceil_mode",
        "return_indices",
    ])?;
    let x = tensor(x)?;
    let shape = pool_shape(&x, n, kernel, stride, padding, dilation, ceil)?;
    if n == 1 && x.strides != contiguous_strides(&x.shape) {
        return unsupported("layout of max_pool1d's input");
    }
    let strides = pool_strides(&x, &shape);
    let values = call.fresh(&shape, &strides, x.dtype, &[x.meta]);
    if indices_too || bool_or(indices, false)? {
        let indices = call.fresh(&shape, &strides, DType::Int64, &[x.meta]);
        return Ok(Inferred::Tuple(vec![
            Inferred::Tensor(values),
            Inferred::Tensor(indices),
        ]));
    }
    one(values)
}
fn max_pool1d(call: &Call<'_>) -> R {
    max_pool(call, 1, false)
}
fn max_pool2d(call: &Call<'_>) -> R {
    max_pool(call, 2, false)
}
fn max_pool3d(call: &Call<'_>) -> R {
    max_pool(call, 3, false)
}
fn avg_pool(call: &Call<'_>, n: usize) -> R {
    let [x, kernel, stride, padding, ceil, include, divisor] = call.bind([
        "input",
        "kernel_size",
        "stride",
        "padding",
        "ceil_mode",
        "count_include_pad",
        "divisor_override",
    ])?;
    let x = tensor(x)?;
    bool_or(include, true)?;
    int_or(divisor, 1)?;
    let shape = pool_shape(&x, n, kernel, stride, padding, &Value::None, ceil)?;
    let lead = x.dim() - n;
    let sizes = expand_ints(kernel, n, 0)?;
    if n == 3 && (0..n).any(|d| x.shape[lead + d] < sizes[d]) {
        return unsupported("avg_pool3d window larger than the input");
    }
    if n == 3 && x.strides != contiguous_strides(&x.shape) {
        return unsupported("layout of avg_pool's input");
    }
    let strides = match (n, lead) {
        (1, 2) => flat_pool_strides(&x, &shape),
        (1, _) => contiguous_strides(&shape),
        _ => pool_strides(&x, &shape),
    };
    one(call.fresh(&shape, &strides, x.dtype, &[x.meta]))
}
fn avg_pool1d(call: &Call<'_>) -> R {
    avg_pool(call, 1)
}
fn avg_pool2d(call: &Call<'_>) -> R {
    avg_pool(call, 2)
}
fn avg_pool3d(call: &Call<'_>) -> R {
    avg_pool(call, 3)
}

fn adaptive_shape(x: &In<'_>, n: usize, size: &Value<'_>) -> R<Dims> {
    check_spatial(x, n)?;
    let lead = x.dim() - n;
    let mut shape: Dims = SmallVec::from_slice(&x.shape[..lead]);
    for d in 0..n {
        let want = match size.items() {
            Some(items) if items.len() == n => &items[d],
            Some([single]) => single,
            Some(_) => return raise("output_size"),
            None => size,
        };
        shape.push(match want {
            Value::None if n == 1 => return unsupported("output_size"),
            Value::None => x.shape[lead + d],
            other => read_size(other)?,
        });
    }
    if shape.iter().any(|s| *s <= 0) {
        return unsupported("empty output");
    }
    Ok(shape)
}
fn adaptive_avg(call: &Call<'_>, n: usize) -> R {
    let [x, size] = call.bind(["input", "output_size"])?;
    let x = tensor(x)?;
    let shape = adaptive_shape(&x, n, size)?;
    let batched = x.dim() == n + 2;
    let strides = match n {
        1 if batched => flat_pool_strides(&x, &shape),
        2 => pool_strides(&x, &shape),
        // Only the mean of a whole volume keeps the format.
        3 if batched && shape[2..].iter().all(|s| *s == 1) => pool_strides(&x, &shape),
        _ => contiguous_strides(&shape),
    };
    one(call.fresh(&shape, &strides, x.dtype, &[x.meta]))
}
fn adaptive_avg_pool1d(call: &Call<'_>) -> R {
    adaptive_avg(call, 1)
}
fn adaptive_avg_pool2d(call: &Call<'_>) -> R {
    adaptive_avg(call, 2)
}
fn adaptive_avg_pool3d(call: &Call<'_>) -> R {
    adaptive_avg(call, 3)
}
fn adaptive_max(call: &Call<'_>, n: usize) -> R {
    let [x, size, indices] = call.bind(["input", "output_size", "return_indices"])?;
    let x = tensor(x)?;
    let shape = adaptive_shape(&x, n, size)?;
    if n != 2 && x.strides != contiguous_strides(&x.shape) {
        return unsupported("layout of adaptive_max_pool's input");
    }
    let strides = pool_strides(&x, &shape);
    let values = call.fresh(&shape, &strides, x.dtype, &[x.meta]);
    if bool_or(indices, false)? {
        let indices = call.fresh(&shape, &strides, DType::Int64, &[x.meta]);
        return Ok(Inferred::Tuple(vec![
            Inferred::Tensor(values),
            Inferred::Tensor(indices),
        ]));
    }
    one(values)
}
fn adaptive_max_pool1d(call: &Call<'_>) -> R {
    adaptive_max(call, 1)
}
fn adaptive_max_pool2d(call: &Call<'_>) -> R {
    adaptive_max(call, 2)
}
fn adaptive_max_pool3d(call: &Call<'_>) -> R {
    adaptive_max(call, 3)
}

/// A positive number as a fraction, where it is exactly one of small numbers: floats multiply sizes by it exactly.
fn small_fraction(number: f64) -> Option<(i64, i64)> {
    const MOST: f64 = (1 << 20) as f64;
    let (mut over, mut under) = (number, 1);
    while over.fract() != 0.0 && over < MOST && under < 1 << 20 {
        (over, under) = (over * 2.0, under * 2);
    }
    let fits = over.fract() == 0.0 && over > 0.0 && over < MOST;
    fits.then_some((over as i64, under))
}

fn interpolate(call: &Call<'_>) -> R {
    let [x, size, scale, mode, align, recompute, antialias] = call.bind([
        "input",
        "size",
        "scale_factor",
        "mode",
        "align_corners",
        "recompute_scale_factor",
        "antialias",
    ])?;
    let x = tensor(x)?;
    // Only the batch may be empty, and the channels where it is a mean.
    let full = if matches!(mode, Value::Str("area")) {
        2
    } else {
        1
    };
    if x.dim() > full && x.shape[full..].contains(&Size::ZERO) {
        return raise("interpolation of an empty tensor");
    }
    float_input(&x)?;
    if bool_or(recompute, false)? && !size.is_none() {
        return raise("recompute_scale_factor with a size");
    }
    let mode = if mode.is_none() {
        "nearest"
    } else {
        string(mode)?
    };
    let n = x.dim().saturating_sub(2);
    let fits = match mode {
        "nearest" | "nearest-exact" | "area" => (1..=3).contains(&n),
        "linear" => n == 1,
        "bilinear" | "bicubic" => n == 2,
        "trilinear" => n == 3,
        _ => false,
    };
    if !fits {
        return unsupported("interpolation mode");
    }
    if mode == "area" && n != 2 {
        return unsupported("area interpolation");
    }
    if bool_or(antialias, false)? && !(n == 2 && matches!(mode, "bilinear" | "bicubic")) {
        return raise("antialias with this mode");
    }
    if !align.is_none() && matches!(mode, "nearest" | "nearest-exact" | "area") {
        return raise("align_corners with this mode");
    }
    let mut shape: Dims = SmallVec::from_slice(&x.shape[..2]);
    match (size.is_none(), scale.is_none()) {
        (false, true) => shape.extend(expand_sizes(size, n)?),
        (true, false) => {
            for d in 0..n {
                let factor = match scale.items() {
                    Some(items) if items.len() == n => float_or(&items[d], 1.0)?,
                    Some(_) => return raise("scale_factor"),
                    None => float_or(scale, 1.0)?,
                };
                let size = x.shape[d + 2];
                shape.push(match small_fraction(factor) {
                    Some((over, under)) => (size * over).div_floor(under),
                    None => Size::known((size.fix() as f64 * factor).floor() as i64),
                });
            }
        }
        _ => return raise("either size or scale_factor"),
    }
    if shape.iter().any(|s| *s <= 0) {
        return raise("interpolation to nothing");
    }
    if n == 3 && !x.contiguous() {
        return unsupported("layout of interpolate's input");
    }
    let strides = match n {
        1 => contiguous_strides(&shape),
        _ => suggested(&x, &shape),
    };
    one(call.fresh(&shape, &strides, x.dtype, &[x.meta]))
}

fn pad(call: &Call<'_>) -> R {
    let [x, pad, mode, value] = call.bind(["input", "pad", "mode", "value"])?;
    let x = tensor(x)?;
    let pad = size_list(pad)?;
    let mode = if mode.is_none() {
        "constant"
    } else {
        string(mode)?
    };
    float_or(value, 0.0)?;
    if pad.len() % 2 != 0 || pad.len() > 2 * x.dim() {
        return raise("pad length");
    }
    let mut shape = x.shape.clone();
    for (i, ends) in pad.chunks(2).enumerate() {
        let d = x.dim() - 1 - i;
        let takes_of_nothing = shape[d] == 0 && (ends[0] < 0 || ends[1] < 0);
        shape[d] += ends[0] + ends[1];
        if shape[d] < 0 || takes_of_nothing {
            return raise("negative padded size");
        }
        if mode == "reflect" && (ends[0] >= x.shape[d] || ends[1] >= x.shape[d]) {
            return raise("reflection beyond the input");
        }
    }
    if mode != "constant" {
        let whole = x.dim() == pad.len() / 2 + 2;
        if !matches!(mode, "reflect" | "replicate") || !whole || pad.iter().any(|p| *p < 0) {
            return unsupported("padding mode");
        }
        float_input(&x)?;
        if !x.contiguous() {
            return unsupported("layout of pad's input");
        }
        if call.ctx.autocast != Autocast::Off && x.dtype != DType::Float32 {
            return unsupported("padding that autocast casts for");
        }
        return one(call.rows(&shape, x.dtype, &[x.meta]));
    }
    if x.strides == contiguous_strides(&x.shape) {
        // The same layout, whether anything is added or taken away or not.
        return one(call.rows(&shape, x.dtype, &[x.meta]));
    }
    if pad.iter().all(|p| *p == 0) {
        let strides = preserved_strides(&x.shape, &x.strides);
        return one(call.fresh(&shape, &strides, x.dtype, &[x.meta]));
    }
    if pad.iter().any(|p| *p < 0) && pad.iter().all(|p| *p <= 0) {
        let narrowed: Dims = preserved_strides(&shape, &x.strides);
        return one(call.fresh(&shape, &narrowed, x.dtype, &[x.meta]));
    }
    let strides = suggested(&x, &shape);
    one(call.fresh(&shape, &strides, x.dtype, &[x.meta]))
}

fn lp_pool2d(call: &Call<'_>) -> R {
    let [x, p, kernel, stride, ceil] =
        call.bind(["input", "norm_type", "kernel_size", "stride", "ceil_mode"])?;
    let x = tensor(x)?;
    float_or(p, 2.0)?;
    if x.dim() != 4 || !x.contiguous() {
        return unsupported("arguments of lp_pool2d");
    }
    let shape = pool_shape(&x, 2, kernel, stride, &Value::None, &Value::None, ceil)?;
    one(call.rows(&shape, x.dtype, &[x.meta]))
}

/// In how many places a sliding window of `unfold` and `fold` stands.
fn places(size: [Size; 2], kernel: &Value<'_>, rest: [&Value<'_>; 3]) -> R<(i64, Size)> {
    let kernel = expand_ints(kernel, 2, 0)?;
    let [dilation, padding, stride] = rest;
    let (dilation, stride) = (expand_ints(dilation, 2, 1)?, expand_ints(stride, 2, 1)?);
    let padding = expand_ints(padding, 2, 0)?;
    let mut count = Size::ONE;
    for d in 0..2 {
        if kernel[d] <= 0 || dilation[d] <= 0 || stride[d] <= 0 || padding[d] < 0 {
            return raise("numbers of a sliding window");
        }
        let room = size[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
        if room < 0 {
            return raise("a sliding window larger than its input");
        }
        count *= room / stride[d] + 1;
    }
    Ok((kernel[0] * kernel[1], count))
}
fn unfold(call: &Call<'_>) -> R {
    let [x, kernel, rest @ ..] =
        call.bind(["input", "kernel_size", "dilation", "padding", "stride"])?;
    let x = tensor(x)?;
    let n = x.dim();
    if !matches!(n, 3 | 4) || x.count() == 0 || !x.dtype.is_differentiable() {
        return unsupported("input of unfold");
    }
    let (window, count) = places([x.shape[n - 2], x.shape[n - 1]], kernel, rest)?;
    let mut shape: Dims = SmallVec::from_slice(&x.shape[..n - 3]);
    shape.extend_from_slice(&[x.shape[n - 3] * window, count]);
    one(call.rows(&shape, x.dtype, &[x.meta]))
}
fn fold(call: &Call<'_>) -> R {
    let [x, size, kernel, rest @ ..] = call.bind([
        "input",
        "output_size",
        "kernel_size",
        "dilation",
        "padding",
        "stride",
    ])?;
    let x = tensor(x)?;
    let n = x.dim();
    if !matches!(n, 2 | 3) || x.count() == 0 || !x.dtype.is_differentiable() {
        return unsupported("input of fold");
    }
    let size = expand_sizes(size, 2)?;
    let (window, count) = places([size[0], size[1]], kernel, rest)?;
    if x.shape[n - 2] % window != 0 || x.shape[n - 1] != count {
        return raise("sizes of fold");
    }
    let mut shape: Dims = SmallVec::from_slice(&x.shape[..n - 2]);
    shape.extend_from_slice(&[x.shape[n - 2] / window, size[0], size[1]]);
    one(call.rows(&shape, x.dtype, &[x.meta]))
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("conv1d", "* F", "", conv1d)
            .does(NEVER_RAISES)
            .cast(Cast::Lower),
        rule("conv2d", "* F", "", conv2d)
            .does(NEVER_RAISES)
            .cast(Cast::Lower),
        rule("conv3d", "* F", "", conv3d)
            .does(NEVER_RAISES)
            .cast(Cast::Lower),
        rule("conv_transpose1d", "* F", "", conv_transpose1d).cast(Cast::Lower),
        rule("conv_transpose2d", "* F", "", conv_transpose2d)
            .does(NEVER_RAISES)
            .cast(Cast::Lower),
        rule("conv_transpose3d", "* F", "", conv_transpose3d).cast(Cast::Lower),
        rule("max_pool1d", "F", "", max_pool1d).does(NEVER_RAISES),
        rule("max_pool2d", "F", "", max_pool2d).does(NEVER_RAISES),
        rule("max_pool3d", "F", "", max_pool3d)
            .does(NEVER_RAISES)
            .cast_on(Cast::NotDescribed, Cast::None),
        rule("avg_pool1d", "F torch.avg_pool1d", "", avg_pool1d).does(NEVER_RAISES),
        rule("avg_pool2d", "F N", "", avg_pool2d).does(NEVER_RAISES),
        rule("avg_pool3d", "F N", "", avg_pool3d)
            .does(NEVER_RAISES)
            .cast_on(Cast::Single, Cast::None),
        rule("lp_pool2d", "F", "", lp_pool2d).cast_on(Cast::None, Cast::NotDescribed),
        rule(
            "adaptive_avg_pool1d",
            "F torch.adaptive_avg_pool1d",
            "",
            adaptive_avg_pool1d,
        )
        .does(NEVER_RAISES | TAKES_SIZES),
        rule("adaptive_avg_pool2d", "F", "", adaptive_avg_pool2d).does(NEVER_RAISES | TAKES_SIZES),
        rule("adaptive_avg_pool3d", "F", "", adaptive_avg_pool3d)
            .does(NEVER_RAISES | TAKES_SIZES)
            .cast_on(Cast::Single, Cast::None),
        rule("adaptive_max_pool1d", "F", "", adaptive_max_pool1d),
        rule("adaptive_max_pool2d", "F", "", adaptive_max_pool2d),
        rule("adaptive_max_pool3d", "F", "", adaptive_max_pool3d).cast_on(Cast::Single, Cast::None),
        rule("interpolate", "F", "", interpolate)
            .does(NEVER_RAISES | TAKES_SIZES)
            .cast_on(Cast::None, Cast::NotDescribed),
        rule("pad", "F N", "", pad).does(NEVER_RAISES | TAKES_SIZES | CONVERTS_NUMBERS),
        rule("im2col", "torch.nn.functional.unfold", "", unfold).does(TAKES_SIZES),
        rule("col2im", "torch.nn.functional.fold", "", fold),
    ]);
}
