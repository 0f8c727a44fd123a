//! Autocast: which rules it casts the arguments of, and to what.
//!
//! What is in no list is left alone by autocast, and so is what is written in place. The lists are of rules; the
//! operations are those that torch registers for the device's key (`aten/src/ATen/autocast_mode.cpp`).
//! Invariant: `tests/against_torch.rs` runs the cases of every rule under autocast too.

use crate::call::{Call, R, unsupported};
use crate::iterator::preserved_strides;
use crate::registry::Rule;
use crate::types::{Alias, Autocast, DType, DeviceKind, SymInt, TensorMeta, Value};

/// What autocast does on one device.
struct Lists {
    device: DeviceKind,
    /// Cast to the low precision that the program chose, besides `LOWER`.
    lower: &'static [&'static str],
    /// Cast to float32.
    single: &'static [&'static str],
    /// Give float32 where the call names no dtype.
    single_result: &'static [&'static str],
    /// Cast to the widest of their dtypes, refused, or made of operations that are cast, one by one: not
    /// described here.
    not_described: &'static [&'static str],
}

impl Lists {
    fn lowers(&self, name: &str) -> bool {
        LOWER.contains(&name) || self.lower.contains(&name)
    }
}

const CPU: Lists = Lists {
    device: DeviceKind::Cpu,
    lower: CPU_LOWER,
    single: CPU_SINGLE,
    single_result: &[],
    not_described: CPU_NOT_DESCRIBED,
};

const CUDA: Lists = Lists {
    device: DeviceKind::Cuda,
    lower: CUDA_LOWER,
    single: CUDA_SINGLE,
    single_result: CUDA_SINGLE_RESULT,
    not_described: CUDA_NOT_DESCRIBED,
};

/// Cast to the low precision on every device.
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
];

const CPU_LOWER: &[&str] = &["_native_multi_head_attention"];

const CPU_SINGLE: &[&str] = &[
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

const CUDA_LOWER: &[&str] = &["addmv", "addr", "mv"];

const CUDA_SINGLE: &[&str] = &[
    "acos",
    "asin",
    "cosh",
    "erfinv",
    "exp",
    "expm1",
    "log",
    "log10",
    "log2",
    "log1p",
    "reciprocal",
    "rsqrt",
    "sinh",
    "tan",
    "pow",
    "softplus",
    "layer_norm",
    "layer_norm_torch",
    "group_norm",
    "norm",
    "cosine_similarity",
    "poisson_nll_loss",
    "cosine_embedding_loss",
    "nll_loss",
    "cross_entropy",
    "hinge_embedding_loss",
    "kl_div",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "mse_loss",
    "margin_ranking_loss",
    "multilabel_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "multi_margin_loss",
    "binary_cross_entropy_with_logits",
    "cdist",
    "logsumexp",
    "square",
];

const CUDA_SINGLE_RESULT: &[&str] = &[
    "prod",
    "softmax",
    "softmax_nn",
    "log_softmax",
    "log_softmax_nn",
    "cumprod",
    "cumsum",
    "vector_norm",
    "linalg_norm",
    "sum",
    "trace",
];

const CUDA_NOT_DESCRIBED: &[&str] = &[
    "_transformer_encoder_layer_fwd",
    "_native_multi_head_attention",
    "einsum",
    "multi_dot",
    "matrix_power",
    "matrix_exp",
    "inner",
    "lstm",
    "gru",
    "rnn_tanh",
    "rnn_relu",
    "lstm_cell",
    "gru_cell",
    "rnn_tanh_cell",
    "rnn_relu_cell",
    "grouped_mm_fallback",
    "addcdiv",
    "addcmul",
    "atan2",
    "bilinear",
    "cross",
    "dot",
    "vdot",
    "grid_sample",
    "index_put",
    "tensordot",
    "scatter_add",
    "binary_cross_entropy",
    "local_response_norm",
    "interpolate",
    "rms_norm",
    "normalize",
    "pairwise_distance",
    "lp_pool2d",
    "affine_grid",
    "weight_norm",
    "gaussian_nll_loss",
    "det",
];

const CPU_NOT_DESCRIBED: &[&str] = &[
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
    CPU.lowers(name) || CUDA.lowers(name)
}

/// What autocast casts the arguments of a rule to; `None` where it leaves them alone.
fn cast_to(lists: &Lists, call: &Call<'_>, name: &str, lower: DType) -> R<Option<DType>> {
    if lists.not_described.contains(&name) {
        return unsupported("an operation that autocast sees in parts");
    }
    let named = || {
        let dtypes = call.args.iter().chain(call.kwargs.iter().map(|k| &k.1));
        dtypes.filter(|v| matches!(v, Value::DType(_))).count() > 0
    };
    Ok(match name {
        _ if lists.lowers(name) => Some(lower),
        _ if lists.single.contains(&name) => Some(DType::Float32),
        _ if lists.single_result.contains(&name) && !named() => Some(DType::Float32),
        _ => None,
    })
}

/// What the rule of this name gives under autocast.
pub(crate) fn apply(name: &str, rule: Rule, call: &Call<'_>) -> R {
    let (lists, lower) = match call.ctx.autocast {
        Autocast::Off => return rule(call),
        Autocast::Cpu(dtype) => (CPU, dtype),
        Autocast::Cuda(dtype) => (CUDA, dtype),
        Autocast::Other => return unsupported("autocast"),
    };
    let Some(to) = cast_to(&lists, call, name, lower)? else {
        return rule(call);
    };
    let mut casts = Vec::new();
    let kwargs = call.kwargs.iter().map(|(_, value)| value);
    for value in call.args.iter().chain(kwargs) {
        cast_all(call, value, lists.device, to, &mut casts);
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
fn cast_all(
    call: &Call<'_>,
    value: &Value<'_>,
    device: DeviceKind,
    to: DType,
    casts: &mut Vec<TensorMeta>,
) {
    match value {
        Value::Tensor(x) => casts.push(cast(call, x, device, to)),
        Value::List(items) | Value::Tuple(items) => {
            for item in items {
                cast_all(call, item, device, to, casts);
            }
        }
        _ => {}
    }
}

/// `x.to(dtype)`, of floats on the device that are no doubles.
fn cast(call: &Call<'_>, x: &TensorMeta, device: DeviceKind, to: DType) -> TensorMeta {
    let mut out = x.clone();
    let eligible = x.device.kind == device && x.dtype.is_floating() && x.dtype != DType::Float64;
    if !eligible || x.dtype == to {
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
