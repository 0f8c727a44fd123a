//! Losses.

use crate::call::{
    Call, In, R, bool_or, float_or, int_or, one, opt_tensor, raise, string, tensor, unsupported,
};
use crate::family::norm::float;
use crate::iterator::broadcast;
use crate::registry::{Entry, rule};
use crate::traits::Cast;
use crate::traits::facts::NEVER_RAISES;
use crate::types::{DType, Dims, TensorMeta, Value};

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

/// What a loss of these tensors gives as a single number.
fn as_number(call: &Call<'_>, operands: &[In<'_>], reduction: &Value<'_>) -> R {
    if !matches!(reduction, Value::None | Value::Str("mean" | "sum")) {
        return unsupported("loss of each row");
    }
    let inputs: Vec<_> = operands.iter().map(|t| t.meta).collect();
    one(call.rows(&[], operands[0].dtype, &inputs))
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
    as_number(call, &all, reduction)
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
/// A loss of tensors of any shapes, as a single number. No gradient reaches the target.
fn number_loss(
    call: &Call<'_>,
    operands: &[&Value<'_>],
    target: &Value<'_>,
    reduction: &Value<'_>,
) -> R {
    let goal = tensor(target)?;
    if goal.requires_grad || goal.count() == 0 {
        return unsupported("target of a loss");
    }
    let all = operands.iter().map(|v| tensor(v)).collect::<R<Vec<_>>>()?;
    let x = &all[0];
    float(x)?;
    let alike = |t: &In<'_>| !t.dtype.is_floating() || t.dtype == x.dtype;
    if !all.iter().chain([&goal]).all(alike) || all.iter().any(|t| t.count() == 0) {
        return unsupported("operands of a loss");
    }
    as_number(call, &all, reduction)
}
fn cosine_embedding_loss(call: &Call<'_>) -> R {
    let [x, y, z, margin, a, b, reduction] = call.bind([
        "input1",
        "input2",
        "target",
        "margin",
        "size_average",
        "reduce",
        "reduction",
    ])?;
    unset(&[a, b])?;
    float_or(margin, 0.0)?;
    let (first, second, target) = (tensor(x)?, tensor(y)?, tensor(z)?);
    let rows = first.shape.split_last().map_or(&[][..], |(_, rows)| rows);
    if first.shape != second.shape || first.dim() > 2 || target.shape[..] != *rows {
        return unsupported("shapes of cosine_embedding_loss");
    }
    number_loss(call, &[x, y], z, reduction)
}
fn hinge_embedding_loss(call: &Call<'_>) -> R {
    let [x, y, margin, a, b, reduction] = call.bind([
        "input",
        "target",
        "margin",
        "size_average",
        "reduce",
        "reduction",
    ])?;
    unset(&[a, b])?;
    float_or(margin, 1.0)?;
    if tensor(x)?.shape != tensor(y)?.shape {
        return unsupported("shapes of hinge_embedding_loss");
    }
    number_loss(call, &[x], y, reduction)
}
fn soft_margin_loss(call: &Call<'_>) -> R {
    let [x, y, a, b, reduction] =
        call.bind(["input", "target", "size_average", "reduce", "reduction"])?;
    unset(&[a, b])?;
    if tensor(x)?.shape != tensor(y)?.shape || tensor(x)?.dtype != tensor(y)?.dtype {
        return unsupported("operands of soft_margin_loss");
    }
    number_loss(call, &[x], y, reduction)
}
fn gaussian_nll_loss(call: &Call<'_>) -> R {
    let [x, y, var, full, eps, reduction] =
        call.bind(["input", "target", "var", "full", "eps", "reduction"])?;
    bool_or(full, false)?;
    float_or(eps, 1e-6)?;
    let (shape, var_shape) = (tensor(x)?.shape, opt_tensor(var)?.map(|v| v.shape));
    if shape != tensor(y)?.shape || var_shape != Some(shape) {
        return unsupported("shapes of gaussian_nll_loss");
    }
    number_loss(call, &[x, var], y, reduction)
}
/// Losses of classes by margins: a row of scores, and a class or an order of classes for each.
fn margin_loss(call: &Call<'_>) -> R {
    let [x, y, p, margin, weight, a, b, reduction] = call.bind([
        "input",
        "target",
        "p",
        "margin",
        "weight",
        "size_average",
        "reduce",
        "reduction",
    ])?;
    unset(&[a, b, weight])?;
    float_or(p, 1.0)?;
    float_or(margin, 1.0)?;
    let (scores, classes) = (tensor(x)?, tensor(y)?);
    if scores.dim() != 2 || classes.dtype != DType::Int64 || classes.shape[..] != scores.shape[..1]
    {
        return unsupported("operands of multi_margin_loss");
    }
    number_loss(call, &[x], y, reduction)
}
fn multilabel_margin_loss(call: &Call<'_>) -> R {
    let [x, y, a, b, reduction] =
        call.bind(["input", "target", "size_average", "reduce", "reduction"])?;
    unset(&[a, b])?;
    let (scores, classes) = (tensor(x)?, tensor(y)?);
    if scores.dim() != 2 || classes.dtype != DType::Int64 || classes.shape != scores.shape {
        return unsupported("operands of multilabel_margin_loss");
    }
    number_loss(call, &[x], y, reduction)
}
/// Sequences of classes against scores of each step.
fn ctc_loss(call: &Call<'_>) -> R {
    let [x, targets, lengths, target_lengths, blank, reduction, zero] = call.bind([
        "log_probs",
        "targets",
        "input_lengths",
        "target_lengths",
        "blank",
        "reduction",
        "zero_infinity",
    ])?;
    int_or(blank, 0)?;
    bool_or(zero, false)?;
    let (scores, classes) = (tensor(x)?, tensor(targets)?);
    let lists = [lengths, target_lengths];
    let all_tensors = lists.iter().all(|v| matches!(v, Value::Tensor(_)));
    let listed = |v: &&&Value<'_>| v.items().is_some_and(|l| scores.shape[1] == l.len() as i64);
    if scores.dim() != 3 || !matches!(classes.dim(), 1 | 2) || !scores.dtype.is_floating() {
        return unsupported("operands of ctc_loss");
    }
    if !all_tensors && lists.iter().filter(listed).count() != 2 {
        return unsupported("lengths of ctc_loss");
    }
    number_loss(call, &[x], targets, reduction)
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("cross_entropy", "F", "", cross_entropy).cast(Cast::Single),
        rule("nll_loss", "F", "", nll_loss).cast(Cast::Single),
        rule("mse_loss", "F", "", plain_loss)
            .does(NEVER_RAISES)
            .cast(Cast::Single),
        rule("l1_loss", "F", "", plain_loss).cast(Cast::Single),
        rule("smooth_l1_loss", "F", "", smooth_l1_loss).cast(Cast::Single),
        rule("huber_loss", "F", "", huber_loss).cast(Cast::Single),
        rule("binary_cross_entropy", "F", "", bce).cast_on(Cast::Single, Cast::NotDescribed),
        rule("binary_cross_entropy_with_logits", "F", "", bce_with_logits).cast(Cast::Single),
        rule("kl_div", "F", "", kl_div).cast(Cast::Single),
        rule("triplet_margin_loss", "F", "", triplet_margin_loss).cast(Cast::Single),
        rule("margin_ranking_loss", "F", "", margin_ranking_loss).cast(Cast::Single),
        rule("poisson_nll_loss", "F", "", poisson_nll_loss).cast(Cast::Single),
        rule("cosine_embedding_loss", "F", "", cosine_embedding_loss).cast(Cast::Single),
        rule("hinge_embedding_loss", "F", "", hinge_embedding_loss).cast(Cast::Single),
        rule("soft_margin_loss", "F", "", soft_margin_loss).cast(Cast::Single),
        rule("gaussian_nll_loss", "F", "", gaussian_nll_loss)
            .cast_on(Cast::None, Cast::NotDescribed),
        rule("multi_margin_loss", "F", "", margin_loss).cast(Cast::Single),
        rule("multilabel_margin_loss", "F", "", multilabel_margin_loss).cast(Cast::Single),
        rule("ctc_loss", "F", "", ctc_loss).cast_on(Cast::Single, Cast::None),
    ]);
}
