//! Autocast on the CPU: which rules it casts the arguments of, and to what.
//!
//! What is in no list is left alone by autocast, and so is what is written in place. The lists are of rules; the
//! operations are those that torch registers for the CPU's key (`aten/src/ATen/autocast_mode.cpp`).
//! Invariant: `tests/against_torch.rs` runs the cases of every rule under autocast too.

use crate::call::{Call, R, unsupported};
use crate::iterator::preserved_strides;
use crate::registry::Rule;
use crate::types::{Alias, Autocast, DType, SymInt, TensorMeta, Value};

/// Cast to the low precision that the program chose.
const LOWER: &[&str] = &[
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "matmul",
    "rmatmul",
    "mm",
    "bmm",
    "addmm",
    "addbmm",
    "baddbmm",
    "linear",
    "prelu",
    "scaled_dot_product_attention",
    "_native_multi_head_attention",
];

/// Cast to float32.
const SINGLE: &[&str] = &[
    "avg_pool3d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool3d",
    "polar",
    "prod",
    "cross_entropy",
    "nll_loss",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "kl_div",
    "triplet_margin_loss",
    "margin_ranking_loss",
    "poisson_nll_loss",
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "soft_margin_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "ctc_loss",
    "max_unpool1d",
    "max_unpool2d",
    "qr",
    "svd",
    "svdvals",
    "eigh",
    "eigvalsh",
    "solve",
    "lu_factor",
    "cdist",
    "grid_sample",
    "cholesky",
    "det",
    "inverse",
    "trace",
];

/// Made of operations that are cast, one by one: not described here.
const TAKEN_APART: &[&str] = &[
    "_transformer_encoder_layer_fwd",
    "max_pool3d",
    "view_as_complex",
    "tensordot",
    "einsum",
    "affine_grid",
    "multi_dot",
    "matrix_power",
    "matrix_exp",
    "inner",
    "bilinear",
    "local_response_norm",
    "lstm",
    "gru",
    "rnn_tanh",
    "rnn_relu",
    "lstm_cell",
    "gru_cell",
    "rnn_tanh_cell",
    "rnn_relu_cell",
    "grouped_mm_fallback",
];

/// Whether autocast casts the arguments of an operation of this name to the low precision. The casts of
/// parameters are kept from call to call, so what the operation gets is not known from its arguments
/// alone: after the precision was changed, a kept cast of the other one makes it raise.
pub fn takes_kept_casts(name: &str) -> bool {
    LOWER.contains(&name)
}

/// What autocast casts the arguments of a rule to; `None` where it leaves them alone.
fn cast_to(name: &str, lower: DType) -> R<Option<DType>> {
    if TAKEN_APART.contains(&name) {
        return unsupported("an operation that autocast sees in parts");
    }
    Ok(match name {
        _ if LOWER.contains(&name) => Some(lower),
        _ if SINGLE.contains(&name) => Some(DType::Float32),
        _ => None,
    })
}

/// What the rule of this name gives under autocast.
pub(crate) fn apply(name: &str, rule: Rule, call: &Call<'_>) -> R {
    let lower = match call.ctx.autocast {
        Autocast::Off => return rule(call),
        Autocast::Cpu(dtype) => dtype,
        Autocast::Other => return unsupported("autocast"),
    };
    let Some(to) = cast_to(name, lower)? else {
        return rule(call);
    };
    let mut casts = Vec::new();
    let kwargs = call.kwargs.iter().map(|(_, value)| value);
    for value in call.args.iter().chain(kwargs) {
        cast_all(call, value, to, &mut casts);
    }
    let mut casts = casts.iter();
    let args: Vec<_> = call.args.iter().map(|v| replaced(v, &mut casts)).collect();
    let kwargs: Vec<_> = call
        .kwargs
        .iter()
        .map(|(k, v)| (*k, replaced(v, &mut casts)))
        .collect();
    rule(&Call {
        args: &args,
        kwargs: &kwargs,
        ctx: call.ctx,
    })
}

/// Collects what becomes of each tensor, in order.
fn cast_all(call: &Call<'_>, value: &Value<'_>, to: DType, casts: &mut Vec<TensorMeta>) {
    match value {
        Value::Tensor(x) => casts.push(cast(call, x, to)),
        Value::List(items) | Value::Tuple(items) => {
            for item in items {
                cast_all(call, item, to, casts);
            }
        }
        _ => {}
    }
}

/// `x.to(dtype)`, of floats on the CPU that are no doubles.
fn cast(call: &Call<'_>, x: &TensorMeta, to: DType) -> TensorMeta {
    let mut out = x.clone();
    if !x.is_cpu() || !x.dtype.is_floating() || matches!(x.dtype, DType::Float64) || x.dtype == to {
        return out;
    }
    let read = crate::call::In::new(x);
    let strides = preserved_strides(&read.shape, &read.strides);
    out.strides = strides.into_iter().map(SymInt::from).collect();
    out.dtype = to;
    out.storage_offset = SymInt::Const(0);
    out.requires_grad = call.grad(to, &[x]);
    out.is_leaf = !out.requires_grad;
    out.alias = Alias::Fresh;
    out
}

fn replaced<'a>(value: &Value<'a>, casts: &mut std::slice::Iter<'a, TensorMeta>) -> Value<'a> {
    match value {
        Value::Tensor(x) => Value::Tensor(casts.next().unwrap_or(x)),
        Value::List(items) => Value::List(items.iter().map(|v| replaced(v, casts)).collect()),
        Value::Tuple(items) => Value::Tuple(items.iter().map(|v| replaced(v, casts)).collect()),
        other => other.clone(),
    }
}
