//! Sampling by grids, shuffles of pixels and channels, unpooling.

use crate::call::{
    Call, In, R, bool_or, expand_sizes, int, one, raise, size_list, string, tensor, unsupported,
};
use crate::family::conv::{float_input, suggested};
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::Cast;
use crate::types::{DType, Dims, TensorMeta, Value};

fn grid_sample(call: &Call<'_>) -> R {
    let [x, grid, mode, padding, align] =
        call.bind(["input", "grid", "mode", "padding_mode", "align_corners"])?;
    let (x, grid) = (tensor(x)?, tensor(grid)?);
    if x.dim() > 2 && x.shape[2..].contains(&Size::ZERO) {
        return raise("samples of an empty tensor");
    }
    float_input(&x)?;
    float_input(&grid)?;
    if !mode.is_none() {
        string(mode)?;
    }
    if !padding.is_none() {
        string(padding)?;
    }
    bool_or(align, false)?;
    if x.dim() != 4
        || grid.dim() != 4
        || x.dtype != grid.dtype
        || !x.contiguous()
        || !grid.contiguous()
    {
        return unsupported("arguments of grid_sample");
    }
    if x.shape[0] != grid.shape[0] || grid.shape[3] != 2 {
        return raise("grid size");
    }
    let shape = [x.shape[0], x.shape[1], grid.shape[1], grid.shape[2]];
    one(call.rows(&shape, x.dtype, &[x.meta, grid.meta]))
}
fn pixel_shuffle(call: &Call<'_>) -> R {
    let [x, factor] = call.bind(["input", "upscale_factor"])?;
    let (x, r) = (tensor(x)?, int(factor)?);
    let n = x.dim();
    if n < 3 || r <= 0 || x.shape[n - 3] % (r * r) != 0 {
        return raise("pixel_shuffle sizes");
    }
    let mut shape = x.shape.clone();
    shape[n - 3] /= r * r;
    shape[n - 2] *= r;
    shape[n - 1] *= r;
    shuffled(call, &x, &shape)
}
fn pixel_unshuffle(call: &Call<'_>) -> R {
    let [x, factor] = call.bind(["input", "downscale_factor"])?;
    let (x, r) = (tensor(x)?, int(factor)?);
    let n = x.dim();
    if n < 3 || r <= 0 || x.shape[n - 2] % r != 0 || x.shape[n - 1] % r != 0 {
        return raise("pixel_unshuffle sizes");
    }
    let mut shape = x.shape.clone();
    shape[n - 3] *= r * r;
    shape[n - 2] /= r;
    shape[n - 1] /= r;
    shuffled(call, &x, &shape)
}
fn shuffled(call: &Call<'_>, x: &In<'_>, shape: &[Size]) -> R {
    if !x.contiguous() || x.count() == 0 || !x.dtype.is_floating() {
        return unsupported("layout of pixel_shuffle's input");
    }
    let meta: TensorMeta = call.rows(shape, x.dtype, &[x.meta]);
    one(meta)
}
/// Points of an image or a volume of this size, moved by a matrix.
fn affine_grid(call: &Call<'_>) -> R {
    let [theta, shape, align] = call.bind(["theta", "size", "align_corners"])?;
    let (theta, shape) = (tensor(theta)?, size_list(shape)?);
    bool_or(align, false)?;
    float_input(&theta)?;
    let space = shape.len().saturating_sub(2);
    if !matches!(space, 2 | 3) || shape.iter().any(|n| *n <= 0) {
        return raise("size of affine_grid");
    }
    let (rows, width) = (Size::known(space as i64), Size::known(space as i64 + 1));
    if theta.shape[..] != [shape[0], rows, width] {
        return raise("theta of affine_grid");
    }
    let mut out = Dims::from_slice(&[shape[0]]);
    out.extend_from_slice(&shape[2..]);
    out.push(rows);
    one(call.rows(&out, theta.dtype, &[theta.meta]))
}
fn channel_shuffle(call: &Call<'_>) -> R {
    let [x, groups] = call.bind(["input", "groups"])?;
    let (x, groups) = (tensor(x)?, int(groups)?);
    float_input(&x)?;
    if x.dim() < 3 || groups <= 0 || x.shape[1] % groups != 0 {
        return raise("groups of channel_shuffle");
    }
    if x.dim() != 4 || x.count() == 0 || groups == 1 {
        return unsupported("channel_shuffle of other than images");
    }
    let strides = suggested(&x, &x.shape);
    one(call.fresh(&x.shape, &strides, x.dtype, &[x.meta]))
}
/// Back from a max pooling, by its indices.
fn max_unpool(call: &Call<'_>, space: usize) -> R {
    let [x, indices, kernel, stride, padding, shape] = call.bind([
        "input",
        "indices",
        "kernel_size",
        "stride",
        "padding",
        "output_size",
    ])?;
    let (x, indices) = (tensor(x)?, tensor(indices)?);
    float_input(&x)?;
    let batch = x.dim().saturating_sub(space);
    if !matches!(batch, 1 | 2) || indices.shape != x.shape || indices.dtype != DType::Int64 {
        return raise("operands of max_unpool");
    }
    if x.count() == 0 || !shape.is_none() || !x.contiguous() {
        return unsupported("size or layout of max_unpool");
    }
    let kernel = expand_sizes(kernel, space)?;
    let stride = match stride {
        Value::None => kernel.clone(),
        given if given.items().is_some_and(<[_]>::is_empty) => kernel.clone(),
        given => expand_sizes(given, space)?,
    };
    let padding = match padding {
        Value::None => Dims::from_elem(Size::ZERO, space),
        given => expand_sizes(given, space)?,
    };
    let mut out = x.shape.clone();
    for d in 0..space {
        let n = &mut out[batch + d];
        *n = (*n - 1) * stride[d] - 2 * padding[d] + kernel[d];
    }
    if out.iter().any(|n| *n <= 0) {
        return unsupported("size of max_unpool");
    }
    one(call.rows(&out, x.dtype, &[x.meta]))
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("grid_sample", "F", "", grid_sample).cast_on(Cast::Single, Cast::NotDescribed),
        rule("pixel_shuffle", "* F", "", pixel_shuffle),
        rule("pixel_unshuffle", "* F", "", pixel_unshuffle),
        rule("affine_grid", "F", "", affine_grid).cast(Cast::NotDescribed),
        rule(
            "channel_shuffle",
            "* F torch.native_channel_shuffle",
            "",
            channel_shuffle,
        )
        .cpu_only(),
        rule("max_unpool1d", "F", "", |call| max_unpool(call, 1)).cast_on(Cast::Single, Cast::None),
        rule("max_unpool2d", "F", "", |call| max_unpool(call, 2)).cast_on(Cast::Single, Cast::None),
    ]);
}
