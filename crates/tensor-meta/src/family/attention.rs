//! Attention: the product itself, and the layers that compute all of one in a single call.

use smallvec::SmallVec;

use crate::call::{
    Call, In, R, bool_or, float_or, int, one, opt_tensor, raise, tensor, unsupported,
};
use crate::family::matmul::same_dtype;
use crate::iterator::{broadcast, preserved_strides};
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::Cast;
use crate::traits::facts::{DRAWS, NEVER_RAISES};
use crate::types::{DType, Dims, Inferred, Value};

/// `scaled_dot_product_attention` on the CPU: row-major, or in the query's layout.
fn attention(call: &Call<'_>) -> R {
    let [q, k, v, mask, p, causal, scale, gqa] = call.bind([
        "query",
        "key",
        "value",
        "attn_mask",
        "dropout_p",
        "is_causal",
        "scale",
        "enable_gqa",
    ])?;
    let (q, k, v, mask) = (tensor(q)?, tensor(k)?, tensor(v)?, opt_tensor(mask)?);
    let p = float_or(p, 0.0)?;
    let (causal, gqa) = (bool_or(causal, false)?, bool_or(gqa, false)?);
    float_or(scale, 1.0)?;
    let dtype = same_dtype(&[&q, &k, &v])?;
    if !dtype.is_floating() {
        return unsupported("attention dtype");
    }
    let n = q.dim();
    if n != k.dim() || n != v.dim() || n < 2 {
        return unsupported("attention ranks");
    }
    let e = q.shape[n - 1];
    let (s, ev) = (k.shape[n - 2], v.shape[n - 1]);
    if k.shape[n - 1] != e || v.shape[n - 2] != s {
        return raise("attention sizes");
    }
    if [&q, &k, &v].iter().any(|t| t.shape.contains(&Size::ZERO)) {
        return unsupported("empty attention");
    }
    if q.shape[..n - 2] != k.shape[..n - 2] || k.shape[..n - 2] != v.shape[..n - 2] {
        let heads = n == 4 && q.shape[0] == k.shape[0] && k.shape[..2] == v.shape[..2];
        // One head of keys serves all heads of queries.
        let one_head = heads && k.shape[1] == 1;
        if !(one_head || gqa && heads && k.shape[1] != 0 && q.shape[1] % k.shape[1] == 0) {
            return unsupported("attention that broadcasts");
        }
    }
    if causal && mask.is_some() {
        return raise("attn_mask with is_causal");
    }
    let mut inputs = vec![q.meta, k.meta, v.meta];
    if let Some(m) = &mask {
        if m.dtype != DType::Bool && m.dtype != dtype {
            return unsupported("mask dtype");
        }
        if m.dim() < 2 {
            return unsupported("mask of fewer than 2 dimensions");
        }
        if m.dim() > n {
            return unsupported("mask of more dimensions");
        }
        let mut target: Dims = SmallVec::from_slice(&q.shape[..n - 1]);
        target.push(s);
        if broadcast(&m.shape, &target)? != target {
            return raise("mask does not broadcast");
        }
        inputs.push(m.meta);
    }
    let mut shape = q.shape.clone();
    shape[n - 1] = ev;
    // The flash kernel gives its output the layout of the query, the math path is row-major.
    let unit = |t: &In<'_>| t.strides[n - 1] == 1;
    let flash_mask = mask
        .as_ref()
        .is_none_or(|m| !m.requires_grad && matches!(m.dim(), 2 | 4));
    if n == 4 && p == 0.0 && e == ev && [&q, &k, &v].iter().all(|t| unit(t)) && flash_mask {
        let strides = preserved_strides(&shape, &q.strides);
        return one(call.fresh(&shape, &strides, dtype, &inputs));
    }
    one(call.rows(&shape, dtype, &inputs))
}

/// What the whole layers take: three dimensions of one dtype, row-major, and no gradient, for which they have no
/// formula.
fn whole_layer(call: &Call<'_>, x: &In<'_>, parameters: &[&Value<'_>], width: Size) -> R<()> {
    let parameters = parameters
        .iter()
        .map(|p| tensor(p))
        .collect::<R<Vec<_>>>()?;
    if parameters.iter().any(|p| call.grad(p.dtype, &[p.meta])) || call.grad(x.dtype, &[x.meta]) {
        return unsupported("gradient of a fused layer");
    }
    if x.dim() != 3 || x.count() == 0 || !matches!(x.dtype, DType::Float32 | DType::Float64) {
        return unsupported("input of a fused layer");
    }
    if x.shape[2] != width || parameters.iter().any(|p| p.dtype != x.dtype) {
        return unsupported("sizes of a fused layer");
    }
    let shapes: Vec<&[Size]> = parameters.iter().map(|p| &p.shape[..]).collect();
    let (attention, rest) = shapes.split_at(4);
    let fits = attention
        == [
            &[width * 3, width][..],
            &[width * 3],
            &[width, width],
            &[width],
        ]
        && match rest {
            [norms @ .., w1, c1, w2, c2] => {
                norms.iter().all(|shape| **shape == [width])
                    && matches!(w1, [inner, last] if *last == width && **c1 == [*inner] && **w2 == [width, *inner])
                    && **c2 == [width]
            }
            _ => true,
        };
    if !fits {
        return unsupported("parameters of a fused layer");
    }
    Ok(())
}
/// The mask of a fused layer says it for each pair of places, or for each place of a batch.
fn fused_mask(mask: &Value<'_>, x: &In<'_>) -> R<()> {
    let Some(mask) = opt_tensor(mask)? else {
        return Ok(());
    };
    let fits = matches!((&mask.shape[..], &x.shape[..]), ([.., rows, last], [batch, length, _])
        if last == length && (rows == length || mask.dim() == 2 && rows == batch));
    match fits {
        true => Ok(()),
        false => unsupported("mask of a fused layer"),
    }
}
fn self_attention(call: &Call<'_>) -> R {
    let [
        q,
        k,
        v,
        width,
        heads,
        qkv,
        qkv_bias,
        out,
        out_bias,
        mask,
        weights,
        average,
        _,
    ] = call.bind([
        "query",
        "key",
        "value",
        "embed_dim",
        "num_head",
        "qkv_weight",
        "qkv_bias",
        "proj_weight",
        "proj_bias",
        "mask",
        "need_weights",
        "average_attn_weights",
        "mask_type",
    ])?;
    let (q, k, v) = (tensor(q)?, tensor(k)?, tensor(v)?);
    let (width, heads) = (int(width)?, int(heads)?);
    fused_mask(mask, &q)?;
    whole_layer(
        call,
        &q,
        &[qkv, qkv_bias, out, out_bias],
        Size::known(width),
    )?;
    if q.shape != k.shape || k.shape != v.shape || heads < 1 || width % heads != 0 {
        return unsupported("sizes of a fused attention");
    }
    let (batch, length) = (q.shape[0], q.shape[1]);
    let inputs = [q.meta];
    let weights = match (bool_or(weights, true)?, bool_or(average, true)?) {
        (false, _) => Inferred::None,
        (true, true) => Inferred::Tensor(call.rows(&[batch, length, length], q.dtype, &inputs)),
        (true, false) => {
            let shape = [batch, Size::known(heads), length, length];
            Inferred::Tensor(call.rows(&shape, q.dtype, &inputs))
        }
    };
    let result = Inferred::Tensor(call.rows(&q.shape, q.dtype, &inputs));
    Ok(Inferred::Tuple(vec![result, weights]))
}
fn encoder_layer(call: &Call<'_>) -> R {
    let [
        x,
        width,
        heads,
        qkv,
        qkv_bias,
        out,
        out_bias,
        gelu,
        first,
        eps,
        n1,
        b1,
        n2,
        b2,
        w1,
        c1,
        w2,
        c2,
        mask,
        _,
    ] = call.bind([
        "src",
        "embed_dim",
        "num_heads",
        "qkv_weight",
        "qkv_bias",
        "proj_weight",
        "proj_bias",
        "use_gelu",
        "norm_first",
        "eps",
        "norm_weight_1",
        "norm_bias_1",
        "norm_weight_2",
        "norm_bias_2",
        "ffn_weight_1",
        "ffn_bias_1",
        "ffn_weight_2",
        "ffn_bias_2",
        "mask",
        "mask_type",
    ])?;
    let x = tensor(x)?;
    let (width, heads) = (int(width)?, int(heads)?);
    bool_or(gelu, false)?;
    bool_or(first, false)?;
    float_or(eps, 1e-5)?;
    fused_mask(mask, &x)?;
    let parameters = [qkv, qkv_bias, out, out_bias, n1, b1, n2, b2, w1, c1, w2, c2];
    whole_layer(call, &x, &parameters, Size::known(width))?;
    if heads < 1 || width % heads != 0 {
        return unsupported("sizes of a fused layer");
    }
    if !x.contiguous() {
        return unsupported("layout of the input of a fused layer");
    }
    one(call.rows(&x.shape, x.dtype, &[x.meta]))
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("scaled_dot_product_attention", "F N", "", attention)
            .does(NEVER_RAISES | DRAWS)
            .cast(Cast::Lower)
            .draws_if(4, "dropout_p")
            .cpu_only(),
        rule("_native_multi_head_attention", "*", "", self_attention)
            .cast_on(Cast::Lower, Cast::NotDescribed),
        rule("_transformer_encoder_layer_fwd", "*", "", encoder_layer).cast(Cast::NotDescribed),
    ]);
}
