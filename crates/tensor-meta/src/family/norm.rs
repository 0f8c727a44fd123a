//! Normalisation layers and embeddings.

use crate::call::{
    Call, In, R, bool_or, float_or, int_or, one, opt_tensor, raise, size, size_list, size_or,
    tensor, unsupported, wrap_dim,
};
use crate::family::conv::suggested;
use crate::family::elementwise::{Operand, elementwise};
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::Cast;
use crate::traits::facts::NEVER_RAISES;
use crate::types::{DType, Dims, TensorMeta, Value, is_channels_last_contiguous};

/// A loss or a normalisation is of floats.
pub(crate) fn float(x: &In<'_>) -> R<()> {
    if !x.dtype.is_floating() {
        return unsupported("dtype");
    }
    Ok(())
}
/// The parameters that are given, each with the input's dtype and this shape.
fn parameters<'a>(x: &In<'_>, values: &[&Value<'a>], shape: &[Size]) -> R<Vec<&'a TensorMeta>> {
    parameters_of(x.dtype, values, shape)
}
/// The dtype of a normalisation's parameters: the input's or, on the CPU for an input of less precision, float32.
fn parameter_type(x: &In<'_>, values: &[&Value<'_>]) -> DType {
    let single = |v: &&Value<'_>| match v {
        Value::Tensor(p) => p.dtype == DType::Float32,
        _ => true,
    };
    let lower = matches!(x.dtype, DType::BFloat16 | DType::Float16);
    match lower && x.is_cpu() && values.iter().all(single) {
        true => DType::Float32,
        false => x.dtype,
    }
}
/// The parameters that are given, each with this dtype and shape.
fn parameters_of<'a>(
    dtype: DType,
    values: &[&Value<'a>],
    shape: &[Size],
) -> R<Vec<&'a TensorMeta>> {
    let mut out = Vec::new();
    for value in values {
        if let Some(p) = opt_tensor(value)? {
            if p.dtype != dtype {
                return unsupported("parameters of another dtype");
            }
            if p.shape[..] != *shape {
                return raise("parameter shape");
            }
            out.push(p.meta);
        }
    }
    Ok(out)
}

/// The last dimensions of the input, which `normalized_shape` has to name.
fn normalized(x: &In<'_>, shape: &Value<'_>) -> R<Dims> {
    let shape = size_list(shape)?;
    if shape.is_empty() || shape.len() > x.dim() || x.shape[x.dim() - shape.len()..] != shape[..] {
        return raise("normalized_shape");
    }
    Ok(shape)
}
fn layer_norm(call: &Call<'_>) -> R {
    let [x, shape, w, b, eps, _] = call.bind([
        "input",
        "normalized_shape",
        "weight",
        "bias",
        "eps",
        "cudnn_enable",
    ])?;
    let x = tensor(x)?;
    float(&x)?;
    float_or(eps, 1e-5)?;
    let shape = normalized(&x, shape)?;
    let mut inputs = parameters_of(parameter_type(&x, &[w, b]), &[w, b], &shape)?;
    inputs.insert(0, x.meta);
    one(call.rows(&x.shape, x.dtype, &inputs))
}
fn rms_norm(call: &Call<'_>) -> R {
    let [x, shape, w, eps] = call.bind(["input", "normalized_shape", "weight", "eps"])?;
    let x = tensor(x)?;
    float(&x)?;
    float_or(eps, 1e-5)?;
    let shape = normalized(&x, shape)?;
    if !x.contiguous() || x.count() == 0 {
        return unsupported("layout of rms_norm's input");
    }
    let mut inputs = parameters(&x, &[w], &shape)?;
    inputs.insert(0, x.meta);
    one(call.rows(&x.shape, x.dtype, &inputs))
}
fn group_norm(call: &Call<'_>) -> R {
    let [x, groups, w, b, eps, _] = call.bind([
        "input",
        "num_groups",
        "weight",
        "bias",
        "eps",
        "cudnn_enabled",
    ])?;
    let x = tensor(x)?;
    float(&x)?;
    float_or(eps, 1e-5)?;
    let groups = int_or(groups, 1)?;
    if x.dim() < 2 {
        return raise("group_norm dimensions");
    }
    if groups <= 0 || x.shape[1] % groups != 0 {
        return raise("group_norm groups");
    }
    if x.shape.contains(&Size::ZERO) || (x.shape[0] * x.shape[2..].iter().product::<Size>() == 1) {
        return unsupported("group_norm of one value");
    }
    let dtype = parameter_type(&x, &[w, b]);
    let mut inputs = parameters_of(dtype, &[w, b], &[x.shape[1]])?;
    inputs.insert(0, x.meta);
    let strides = suggested(&x, &x.shape);
    one(call.fresh(&x.shape, &strides, x.dtype, &inputs))
}
fn batch_norm(call: &Call<'_>) -> R {
    let [x, mean, var, w, b, training, momentum, eps] = call.bind([
        "input",
        "running_mean",
        "running_var",
        "weight",
        "bias",
        "training",
        "momentum",
        "eps",
    ])?;
    let x = tensor(x)?;
    float(&x)?;
    float_or(momentum, 0.1)?;
    float_or(eps, 1e-5)?;
    if x.dim() < 2 {
        return raise("batch_norm dimensions");
    }
    let training = bool_or(training, false)?;
    if training && x.count() / x.shape[1].max(1) <= 1 {
        return if x.count() == 0 {
            unsupported("empty input")
        } else {
            raise("one value per channel")
        };
    }
    if x.count() == 0 {
        return unsupported("empty input");
    }
    if !training && (mean.is_none() || var.is_none()) {
        return raise("running statistics are needed");
    }
    let channels = [x.shape[1]];
    let dtype = parameter_type(&x, &[mean, var, w, b]);
    if parameters_of(dtype, &[mean, var], &channels)?
        .iter()
        .any(|p| p.requires_grad)
    {
        return unsupported("running statistics that require grad");
    }
    let mut inputs = parameters_of(dtype, &[w, b], &channels)?;
    inputs.insert(0, x.meta);
    if !x.contiguous() && !is_channels_last_contiguous(&x.shape, &x.strides) {
        return unsupported("layout of batch_norm's input");
    }
    if !x.meta.is_cpu() && x.strides != crate::types::contiguous_strides(&x.shape) && x.dim() != 4 {
        return unsupported("layout of batch_norm's input on another device");
    }
    let strides = if x.contiguous() {
        crate::types::contiguous_strides(&x.shape)
    } else {
        suggested(&x, &x.shape)
    };
    one(call.fresh(&x.shape, &strides, x.dtype, &inputs))
}
fn instance_norm(call: &Call<'_>) -> R {
    let [x, mean, var, w, b, use_input, momentum, eps] = call.bind([
        "input",
        "running_mean",
        "running_var",
        "weight",
        "bias",
        "use_input_stats",
        "momentum",
        "eps",
    ])?;
    let x = tensor(x)?;
    float(&x)?;
    float_or(momentum, 0.1)?;
    float_or(eps, 1e-5)?;
    if x.dim() < 3 || !x.contiguous() || x.count() == 0 || !bool_or(use_input, true)? {
        return unsupported("arguments of instance_norm");
    }
    if x.shape[2..].iter().product::<Size>() <= 1 {
        return raise("one value per channel");
    }
    let channels = [x.shape[1]];
    parameters(&x, &[mean, var], &channels)?;
    let mut inputs = parameters(&x, &[w, b], &channels)?;
    inputs.insert(0, x.meta);
    one(call.rows(&x.shape, x.dtype, &inputs))
}
fn local_response_norm(call: &Call<'_>) -> R {
    let [x, size, alpha, beta, k] = call.bind(["input", "size", "alpha", "beta", "k"])?;
    let x = tensor(x)?;
    float(&x)?;
    for v in [alpha, beta, k] {
        float_or(v, 1.0)?;
    }
    crate::call::int(size)?;
    if x.dim() < 3 {
        return raise("local_response_norm dimensions");
    }
    if !x.contiguous() || x.count() == 0 {
        return unsupported("layout of local_response_norm's input");
    }
    one(call.rows(&x.shape, x.dtype, &[x.meta]))
}

/// A tensor whose slices along a dimension have a norm of at most `maxnorm`.
fn renorm(call: &Call<'_>) -> R {
    let [x, p, dim, most] = call.bind(["input", "p", "dim", "maxnorm"])?;
    let (x, p, most) = (tensor(x)?, float_or(p, 2.0)?, float_or(most, 1.0)?);
    let dim = crate::call::int(dim)?;
    float(&x)?;
    if p <= 0.0 || most < 0.0 || x.dim() < 2 {
        return raise("renorm");
    }
    wrap_dim(dim, x.dim())?;
    one(call.rows(&x.shape, x.dtype, &[x.meta]))
}

fn embedding_of(call: &Call<'_>, ids: &In<'_>, w: &In<'_>) -> R {
    if !matches!(ids.dtype, DType::Int64 | DType::Int32) {
        return raise("embedding indices are not integers");
    }
    if w.dim() != 2 {
        return raise("embedding weight is not a matrix");
    }
    if w.shape[0] == 0 && ids.count() != 0 {
        return raise("embedding without rows");
    }
    let mut shape = ids.shape.clone();
    shape.push(w.shape[1]);
    one(call.rows(&shape, w.dtype, &[w.meta]))
}
fn embedding(call: &Call<'_>) -> R {
    let [ids, w, padding, max_norm, norm_type, scale, sparse] = call.bind([
        "input",
        "weight",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    ])?;
    if !max_norm.is_none() {
        return unsupported("embedding with max_norm");
    }
    let (ids, w) = (tensor(ids)?, tensor(w)?);
    if w.dim() == 2 && !padding.is_none() {
        let padding = size(padding)?;
        if padding >= w.shape[0] || padding < -w.shape[0] {
            return raise("padding_idx");
        }
    }
    float_or(norm_type, 2.0)?;
    bool_or(scale, false)?;
    bool_or(sparse, false)?;
    embedding_of(call, &ids, &w)
}
fn embedding_torch(call: &Call<'_>) -> R {
    let [w, ids, padding, scale, sparse] = call.bind([
        "weight",
        "indices",
        "padding_idx",
        "scale_grad_by_freq",
        "sparse",
    ])?;
    int_or(padding, -1)?;
    bool_or(scale, false)?;
    bool_or(sparse, false)?;
    embedding_of(call, &tensor(ids)?, &tensor(w)?)
}
/// Reduced bags of embeddings: the rows of a matrix of ids, or what starts at each offset.
fn embedding_bag(call: &Call<'_>) -> R {
    let [
        ids,
        w,
        offsets,
        norm,
        _,
        scale,
        mode,
        sparse,
        samples,
        last,
        _,
    ] = call.bind([
        "input",
        "weight",
        "offsets",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "mode",
        "sparse",
        "per_sample_weights",
        "include_last_offset",
        "padding_idx",
    ])?;
    let (ids, w) = (tensor(ids)?, tensor(w)?);
    bool_or(scale, false)?;
    if !norm.is_none() || bool_or(sparse, false)? || !samples.is_none() {
        return unsupported("options of embedding_bag");
    }
    if !matches!(mode, Value::None | Value::Str("mean" | "sum" | "max")) {
        return unsupported("mode of embedding_bag");
    }
    if w.dim() != 2 || !matches!(w.dtype, DType::Float32 | DType::Float64) || ids.count() == 0 {
        return unsupported("operands of embedding_bag");
    }
    if !matches!(ids.dtype, DType::Int64 | DType::Int32) {
        return raise("ids of embedding_bag");
    }
    if w.shape[0] == 0 {
        return raise("embedding without rows");
    }
    let last = bool_or(last, false)?;
    let bags = match (ids.dim(), opt_tensor(offsets)?) {
        (2, None) => ids.shape[0],
        (1, Some(o)) if o.dim() == 1 && o.dtype == ids.dtype => o.shape[0] - i64::from(last),
        _ => return unsupported("offsets of embedding_bag"),
    };
    one(call.rows(&[bags, w.shape[1]], w.dtype, &[w.meta]))
}
fn one_hot(call: &Call<'_>) -> R {
    let [x, classes] = call.bind(["input", "num_classes"])?;
    let x = tensor(x)?;
    if x.dtype != DType::Int64 {
        return raise("one_hot of other than int64");
    }
    let classes = size_or(classes, -1)?;
    if classes == -1 {
        return unsupported("data-dependent shape");
    }
    if classes <= 0 {
        return raise("num_classes");
    }
    let mut shape = x.shape.clone();
    shape.push(classes);
    one(call.rows(&shape, DType::Int64, &[x.meta]))
}

/// A row-major product of directions and lengths.
fn weight_norm(call: &Call<'_>) -> R {
    let [v, g, dim] = call.bind(["v", "g", "dim"])?;
    let (v, g) = (tensor(v)?, tensor(g)?);
    float(&v)?;
    let dim = int_or(dim, 0)?;
    let n = v.dim();
    if dim < 0 || dim as usize >= n || v.dtype != g.dtype || g.dim() != n || v.count() == 0 {
        return unsupported("operands of weight_norm");
    }
    let lengths = |d: usize| match d == dim as usize {
        true => v.shape[d],
        false => Size::ONE,
    };
    if (0..n).any(|d| g.shape[d] != lengths(d)) {
        return unsupported("lengths of weight_norm");
    }
    one(call.rows(&v.shape, v.dtype, &[v.meta, g.meta]))
}

fn gru_cell(call: &Call<'_>) -> R {
    let [x, h, wi, wh, bi, bh] = call.bind(["input", "hx", "w_ih", "w_hh", "b_ih", "b_hh"])?;
    let (x, h, wi, wh) = (tensor(x)?, tensor(h)?, tensor(wi)?, tensor(wh)?);
    float(&x)?;
    let hidden = h.shape.last().copied().unwrap_or(Size::ZERO);
    let fits = x.dim() == 2
        && h.dim() == 2
        && x.shape[0] == h.shape[0]
        && h.contiguous()
        && wi.shape[..] == [3 * hidden, x.shape[1]]
        && wh.shape[..] == [3 * hidden, hidden];
    if !fits || x.count() == 0 || [&h, &wi, &wh].iter().any(|t| t.dtype != x.dtype) {
        return unsupported("arguments of gru_cell");
    }
    let mut inputs = vec![x.meta, h.meta, wi.meta, wh.meta];
    inputs.extend(parameters(&x, &[bi, bh], &[3 * hidden])?);
    let same = Operand::Tensor(h.clone());
    let mut out = elementwise(call, &[same], None, x.dtype)?;
    out.requires_grad = call.grad(x.dtype, &inputs);
    out.is_leaf = !out.requires_grad;
    one(out)
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("layer_norm", "F", "", layer_norm)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::Single),
        rule("layer_norm_torch", "torch.layer_norm", "", layer_norm)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::Single),
        rule("rms_norm", "F torch.rms_norm", "", rms_norm)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::NotDescribed),
        rule("group_norm", "F", "", group_norm)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::Single)
            .cpu_only(),
        rule("batch_norm", "F", "", batch_norm)
            .does(NEVER_RAISES)
            .writes_unless(5, "training"),
        rule("instance_norm", "F", "", instance_norm)
            .does(NEVER_RAISES)
            .writes_unless(5, "use_input_stats"),
        rule("local_response_norm", "F", "", local_response_norm).cast(Cast::NotDescribed),
        rule("embedding", "F", "", embedding),
        rule("embedding_torch", "torch.embedding", "", embedding_torch),
        rule("embedding_bag", "F", "", embedding_bag),
        rule("one_hot", "F N", "", one_hot),
        rule("weight_norm", "torch._weight_norm", "", weight_norm)
            .cast_on(Cast::None, Cast::NotDescribed),
        rule("renorm", "*", "*", renorm).does(NEVER_RAISES),
        rule("gru_cell", "*", "", gru_cell).cast(Cast::NotDescribed),
    ]);
}
