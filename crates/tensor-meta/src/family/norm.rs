//! Normalisation layers, embeddings and losses.

use crate::call::{
    Call, In, R, bool_or, float_or, int_or, one, opt_tensor, raise, size_list, size_or, string,
    tensor, unsupported,
};
use crate::family::conv::suggested;
use crate::family::elementwise::{Operand, elementwise};
use crate::iterator::broadcast;
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::types::{DType, Dims, TensorMeta, Value, is_channels_last_contiguous};

fn float(x: &In<'_>) -> R<()> {
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

fn embedding_of(call: &Call<'_>, ids: &In<'_>, w: &In<'_>) -> R {
    if !matches!(ids.dtype, DType::Int64 | DType::Int32) {
        return raise("embedding indices are not integers");
    }
    if w.dim() != 2 {
        return raise("embedding weight is not a matrix");
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
    let padding = size_or(padding, Size::ZERO)?;
    if w.dim() == 2 && (padding >= w.shape[0] || padding < -w.shape[0]) && w.shape[0] > 0 {
        return raise("padding_idx");
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

/// The shape of a loss after its `reduction`.
fn reduce(
    call: &Call<'_>,
    reduction: &Value<'_>,
    mut each: TensorMeta,
    inputs: &[&TensorMeta],
) -> R {
    let reduction = if reduction.is_none() {
        "mean"
    } else {
        string(reduction)?
    };
    match reduction {
        "none" => {
            each.requires_grad = call.grad(each.dtype, inputs);
            each.is_leaf = !each.requires_grad;
            one(each)
        }
        "mean" | "sum" => one(call.rows(&[], each.dtype, inputs)),
        "batchmean" => unsupported("batchmean"),
        _ => raise("reduction"),
    }
}
fn pointwise_loss<'a>(
    call: &Call<'a>,
    x: &Value<'a>,
    y: &Value<'a>,
    weights: &[&Value<'a>],
    reduction: &Value<'a>,
) -> R {
    let (x, y) = (tensor(x)?, tensor(y)?);
    if !x.dtype.is_floating() || x.dtype != y.dtype {
        return unsupported("loss of several dtypes");
    }
    if x.shape != y.shape || !x.contiguous() || !y.contiguous() {
        return unsupported("loss of tensors that broadcast or are not row-major");
    }
    let mut inputs = vec![x.meta, y.meta];
    for w in weights {
        if let Some(w) = opt_tensor(w)? {
            if w.requires_grad || w.dtype != x.dtype || broadcast(&w.shape, &x.shape)? != x.shape {
                return unsupported("weight of a loss");
            }
            inputs.push(w.meta);
        }
    }
    let each = call.rows(&x.shape, x.dtype, &inputs);
    reduce(call, reduction, each, &inputs)
}
fn unset(values: &[&Value<'_>]) -> R<()> {
    if values.iter().any(|v| !v.is_none()) {
        return unsupported("size_average or reduce");
    }
    Ok(())
}
fn plain_loss(call: &Call<'_>) -> R {
    let [x, y, a, b, reduction] =
        call.bind(["input", "target", "size_average", "reduce", "reduction"])?;
    unset(&[a, b])?;
    pointwise_loss(call, x, y, &[], reduction)
}
fn smooth_l1_loss(call: &Call<'_>) -> R {
    let [x, y, a, b, reduction, beta] = call.bind([
        "input",
        "target",
        "size_average",
        "reduce",
        "reduction",
        "beta",
    ])?;
    unset(&[a, b])?;
    if float_or(beta, 1.0)? < 0.0 {
        return raise("negative beta");
    }
    pointwise_loss(call, x, y, &[], reduction)
}
fn huber_loss(call: &Call<'_>) -> R {
    let [x, y, reduction, delta] = call.bind(["input", "target", "reduction", "delta"])?;
    if float_or(delta, 1.0)? <= 0.0 {
        return raise("delta");
    }
    pointwise_loss(call, x, y, &[], reduction)
}
fn bce(call: &Call<'_>) -> R {
    let [x, y, w, a, b, reduction] = call.bind([
        "input",
        "target",
        "weight",
        "size_average",
        "reduce",
        "reduction",
    ])?;
    unset(&[a, b])?;
    pointwise_loss(call, x, y, &[w], reduction)
}
fn bce_with_logits(call: &Call<'_>) -> R {
    let [x, y, w, a, b, reduction, pos] = call.bind([
        "input",
        "target",
        "weight",
        "size_average",
        "reduce",
        "reduction",
        "pos_weight",
    ])?;
    unset(&[a, b])?;
    pointwise_loss(call, x, y, &[w, pos], reduction)
}
fn kl_div(call: &Call<'_>) -> R {
    let [x, y, a, b, reduction, log] = call.bind([
        "input",
        "target",
        "size_average",
        "reduce",
        "reduction",
        "log_target",
    ])?;
    unset(&[a, b])?;
    bool_or(log, false)?;
    if matches!(reduction, Value::Str("batchmean")) {
        if tensor(x)?.dim() == 0 {
            return unsupported("batchmean of a 0-dim tensor");
        }
        return pointwise_loss(call, x, y, &[], &Value::Str("sum"));
    }
    pointwise_loss(call, x, y, &[], reduction)
}

/// A loss that compares whole rows, as a single number.
fn row_loss(call: &Call<'_>, operands: &[&Value<'_>], reduction: &Value<'_>) -> R {
    let all = operands.iter().map(|v| tensor(v)).collect::<R<Vec<_>>>()?;
    let x = &all[0];
    float(x)?;
    let same = |t: &In<'_>| t.dtype == x.dtype && t.shape == x.shape;
    if !all.iter().all(same) || x.dim() == 0 || x.count() == 0 {
        return unsupported("operands of a loss");
    }
    if !matches!(reduction, Value::None | Value::Str("mean" | "sum")) {
        return unsupported("loss of each row");
    }
    let inputs: Vec<_> = all.iter().map(|t| t.meta).collect();
    one(call.rows(&[], x.dtype, &inputs))
}
fn triplet_margin_loss(call: &Call<'_>) -> R {
    let [x, y, z, _, _, _, _, a, b, reduction] = call.bind([
        "anchor",
        "positive",
        "negative",
        "margin",
        "p",
        "eps",
        "swap",
        "size_average",
        "reduce",
        "reduction",
    ])?;
    unset(&[a, b])?;
    row_loss(call, &[x, y, z], reduction)
}
fn margin_ranking_loss(call: &Call<'_>) -> R {
    let [x, y, z, _, a, b, reduction] = call.bind([
        "input1",
        "input2",
        "target",
        "margin",
        "size_average",
        "reduce",
        "reduction",
    ])?;
    unset(&[a, b])?;
    row_loss(call, &[x, y, z], reduction)
}
fn poisson_nll_loss(call: &Call<'_>) -> R {
    let [x, y, _, _, a, _, b, reduction] = call.bind([
        "input",
        "target",
        "log_input",
        "full",
        "size_average",
        "eps",
        "reduce",
        "reduction",
    ])?;
    unset(&[a, b])?;
    row_loss(call, &[x, y], reduction)
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

fn class_loss(
    call: &Call<'_>,
    x: &Value<'_>,
    y: &Value<'_>,
    w: &Value<'_>,
    reduction: &Value<'_>,
    probabilities: bool,
) -> R {
    let (x, y, w) = (tensor(x)?, tensor(y)?, opt_tensor(w)?);
    float(&x)?;
    if x.dim() == 0 || x.count() == 0 {
        return unsupported("empty or 0-dim input");
    }
    let d = usize::from(x.dim() > 1);
    let mut inputs = vec![x.meta];
    if let Some(w) = &w {
        if w.requires_grad || w.dtype != x.dtype || w.shape[..] != [x.shape[d]] {
            return unsupported("weight of a loss");
        }
        inputs.push(w.meta);
    }
    let mut shape: Dims = x.shape.clone();
    shape.remove(d);
    if y.dtype.is_floating() {
        if !probabilities || y.shape != x.shape || y.dtype != x.dtype {
            return unsupported("target of this dtype");
        }
        if reduction_none(reduction) && x.dim() > 2 {
            return unsupported("target of probabilities");
        }
        inputs.push(y.meta);
    } else if y.dtype != DType::Int64 {
        return unsupported("target of this dtype");
    } else if y.shape != shape {
        return if y.dim() == shape.len() && x.dim() > 1 {
            raise("target shape")
        } else {
            unsupported("target shape")
        };
    }
    let each = call.rows(&shape, x.dtype, &inputs);
    reduce(call, reduction, each, &inputs)
}
fn reduction_none(reduction: &Value<'_>) -> bool {
    matches!(reduction, Value::Str("none"))
}
fn cross_entropy(call: &Call<'_>) -> R {
    let [x, y, w, a, ignore, b, reduction, smoothing] = call.bind([
        "input",
        "target",
        "weight",
        "size_average",
        "ignore_index",
        "reduce",
        "reduction",
        "label_smoothing",
    ])?;
    unset(&[a, b])?;
    int_or(ignore, -100)?;
    if float_or(smoothing, 0.0)? != 0.0 && reduction_none(reduction) {
        return unsupported("label smoothing without reduction");
    }
    class_loss(call, x, y, w, reduction, true)
}
fn nll_loss(call: &Call<'_>) -> R {
    let [x, y, w, a, ignore, b, reduction] = call.bind([
        "input",
        "target",
        "weight",
        "size_average",
        "ignore_index",
        "reduce",
        "reduction",
    ])?;
    unset(&[a, b])?;
    int_or(ignore, -100)?;
    class_loss(call, x, y, w, reduction, false)
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
        rule("layer_norm", "F", "", layer_norm),
        rule("layer_norm_torch", "torch.layer_norm", "", layer_norm),
        rule("rms_norm", "F torch.rms_norm", "", rms_norm),
        rule("group_norm", "F", "", group_norm),
        rule("batch_norm", "F", "", batch_norm),
        rule("instance_norm", "F", "", instance_norm),
        rule("local_response_norm", "F", "", local_response_norm),
        rule("embedding", "F", "", embedding),
        rule("embedding_torch", "torch.embedding", "", embedding_torch),
        rule("one_hot", "F N", "", one_hot),
        rule("cross_entropy", "F", "", cross_entropy),
        rule("nll_loss", "F", "", nll_loss),
        rule("mse_loss", "F", "", plain_loss),
        rule("l1_loss", "F", "", plain_loss),
        rule("smooth_l1_loss", "F", "", smooth_l1_loss),
        rule("huber_loss", "F", "", huber_loss),
        rule("binary_cross_entropy", "F", "", bce),
        rule("binary_cross_entropy_with_logits", "F", "", bce_with_logits),
        rule("kl_div", "F", "", kl_div),
        rule("triplet_margin_loss", "F", "", triplet_margin_loss),
        rule("margin_ranking_loss", "F", "", margin_ranking_loss),
        rule("poisson_nll_loss", "F", "", poisson_nll_loss),
        rule("weight_norm", "torch._weight_norm", "", weight_norm),
        rule("gru_cell", "*", "", gru_cell),
    ]);
}
