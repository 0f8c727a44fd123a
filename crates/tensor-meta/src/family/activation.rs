//! Activation functions and dropout.

use crate::call::{
    Call, In, R, bool_or, float_or, identity, int_or, one, raise, string, tensor, unsupported,
    wrap_dim,
};
use crate::family::elementwise::{Operand, elementwise};
use crate::geometry::expand_strides;
use crate::iterator::{is_dense, preserved_strides};
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::Cast;
use crate::traits::facts::{CONVERTS_NUMBERS, DRAWS, MAY_GIVE_SELF, NEVER_RAISES};
use crate::types::{DType, TensorMeta, Value, contiguous_strides};

/// The layout of a unary elementwise op on `x`.
fn like(call: &Call<'_>, x: In<'_>) -> R<TensorMeta> {
    let dtype = x.dtype;
    elementwise(call, &[Operand::Tensor(x)], None, dtype)
}
fn float_like(call: &Call<'_>, x: &Value<'_>) -> R {
    let x = tensor(x)?;
    if !x.dtype.is_floating() {
        return unsupported("activation of a non-floating tensor");
    }
    one(like(call, x)?)
}
fn plain(call: &Call<'_>) -> R {
    let [x, _] = call.bind(["input", "inplace"])?;
    float_like(call, x)
}
fn relu(call: &Call<'_>) -> R {
    let [x, _] = call.bind(["input", "inplace"])?;
    let x = tensor(x)?;
    if x.dtype.is_complex() || x.dtype == DType::Bool {
        return raise("relu of a complex or bool tensor");
    }
    one(like(call, x)?)
}
fn with_one(call: &Call<'_>, name: &str) -> R {
    let [x, a, _] = call.bind(["input", name, "inplace"])?;
    float_or(a, 0.0)?;
    float_like(call, x)
}
fn leaky_relu(call: &Call<'_>) -> R {
    with_one(call, "negative_slope")
}
fn celu(call: &Call<'_>) -> R {
    with_one(call, "alpha")
}
fn shrink(call: &Call<'_>) -> R {
    with_one(call, "lambd")
}
fn elu(call: &Call<'_>) -> R {
    with_one(call, "alpha")
}
fn hardtanh(call: &Call<'_>) -> R {
    let [x, lo, hi, _] = call.bind(["input", "min_val", "max_val", "inplace"])?;
    if float_or(lo, -1.0)? > float_or(hi, 1.0)? {
        return unsupported("min_val above max_val");
    }
    float_like(call, x)
}
fn threshold(call: &Call<'_>) -> R {
    let [x, t, v, _] = call.bind(["input", "threshold", "value", "inplace"])?;
    float_or(t, 0.0)?;
    float_or(v, 0.0)?;
    float_like(call, x)
}
fn gelu(call: &Call<'_>) -> R {
    let [x, approximate] = call.bind(["input", "approximate"])?;
    if !approximate.is_none() && !matches!(string(approximate)?, "none" | "tanh") {
        return raise("approximate");
    }
    float_like(call, x)
}
fn softplus(call: &Call<'_>) -> R {
    let [x, beta, threshold] = call.bind(["input", "beta", "threshold"])?;
    float_or(beta, 1.0)?;
    float_or(threshold, 20.0)?;
    float_like(call, x)
}
fn logsigmoid(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    if !x.dtype.is_floating() {
        return unsupported("activation of a non-floating tensor");
    }
    one(call.rows(&x.shape, x.dtype, &[x.meta]))
}
fn glu(call: &Call<'_>) -> R {
    let [x, dim] = call.bind(["input", "dim"])?;
    let x = tensor(x)?;
    if x.dim() == 0 {
        return raise("glu of a 0-dim tensor");
    }
    if !x.dtype.is_floating() {
        return unsupported("activation of a non-floating tensor");
    }
    let d = wrap_dim(int_or(dim, -1)?, x.dim())?;
    if x.shape[d] % 2 != 0 {
        return raise("glu needs an even size");
    }
    let half = crate::family::view::sliced(call, &x, d, Size::ZERO, x.shape[d] / 2, 1);
    let mut out = like(call, In::new(&half))?;
    out.requires_grad = call.grad(x.dtype, &[x.meta]);
    out.is_leaf = !out.requires_grad;
    one(out)
}
fn prelu(call: &Call<'_>) -> R {
    let [x, w] = call.bind(["input", "weight"])?;
    let (x, w) = (tensor(x)?, tensor(w)?);
    if !x.dtype.is_floating() || w.dtype != x.dtype || w.dim() != 1 || x.dim() < 2 {
        return unsupported("arguments of prelu");
    }
    if w.count() != 1 && w.count() != x.shape[1] {
        return raise("prelu weight size");
    }
    if !is_dense(&x.shape, &x.strides) || x.count() == 0 {
        return unsupported("layout of prelu's input");
    }
    let out = like(call, x.clone())?;
    let strides = In::new(&out).strides;
    one(call.fresh(&x.shape, &strides, x.dtype, &[x.meta, w.meta]))
}
fn softsign(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    float_like(call, x)
}
fn normalize(call: &Call<'_>) -> R {
    let [x, p, dim, eps] = call.bind(["input", "p", "dim", "eps"])?;
    let x = tensor(x)?;
    if !x.dtype.is_floating() || x.dim() == 0 || x.count() == 0 {
        return unsupported("arguments of normalize");
    }
    float_or(p, 2.0)?;
    float_or(eps, 1e-12)?;
    let d = wrap_dim(int_or(dim, 1)?, x.dim())?;
    let mut kept = x.shape.clone();
    kept[d] = Size::ONE;
    let mut norm = call.rows(&kept, x.dtype, &[x.meta]);
    let strides = expand_strides(&kept, &contiguous_strides(&kept), &x.shape);
    norm.shape = x.meta.shape.clone();
    norm.strides = strides.iter().map(|s| (*s).into()).collect();
    let dtype = x.dtype;
    let operands = [Operand::Tensor(x), Operand::Tensor(In::new(&norm))];
    one(elementwise(call, &operands, None, dtype)?)
}

fn dropout_arguments<'a>(call: &Call<'a>, training_default: bool) -> R<(In<'a>, f64, bool)> {
    let [x, p, training, _] = call.bind(["input", "p", "training", "inplace"])?;
    let p = float_or(p, 0.5)?;
    if !(0.0..=1.0).contains(&p) {
        return raise("dropout probability");
    }
    Ok((tensor(x)?, p, bool_or(training, training_default)?))
}
fn dropout(call: &Call<'_>) -> R {
    let (x, p, training) = dropout_arguments(call, true)?;
    if p == 0.0 || !training || x.count() == 0 {
        return Ok(identity(x.meta));
    }
    if !x.dtype.is_floating() {
        return unsupported("dropout of a non-floating tensor");
    }
    let strides = preserved_strides(&x.shape, &x.strides);
    let mut mask = x.meta.clone();
    mask.strides = strides.iter().map(|s| (*s).into()).collect();
    mask.requires_grad = false;
    let dtype = x.dtype;
    let operands = [Operand::Tensor(x), Operand::Tensor(In::new(&mask))];
    one(elementwise(call, &operands, None, dtype)?)
}
fn feature_dropout(call: &Call<'_>) -> R {
    let (x, p, training) = dropout_arguments(call, true)?;
    if p == 0.0 || !training || x.count() == 0 {
        return Ok(identity(x.meta));
    }
    if !x.dtype.is_floating() || x.dim() < 4 {
        return unsupported("dropout of whole channels in fewer than 4 dimensions");
    }
    let mut shape = x.shape.clone();
    shape[2..].iter_mut().for_each(|s| *s = Size::ONE);
    let noise = TensorMeta::laid(&shape, &contiguous_strides(&shape), x.dtype, x.device);
    let dtype = x.dtype;
    let operands = [Operand::Tensor(x), Operand::Tensor(In::new(&noise))];
    one(elementwise(call, &operands, None, dtype)?)
}
fn other_dropout(call: &Call<'_>) -> R {
    let [x, _, training, _] = call.bind(["input", "p", "training", "inplace"])?;
    let x = tensor(x)?;
    if bool_or(training, false)? {
        return unsupported("alpha dropout");
    }
    Ok(identity(x.meta))
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    let plain_names = ["silu", "mish", "hardswish", "hardsigmoid", "relu6", "selu"];
    out.extend(plain_names.map(|n| {
        let functions = match n {
            "selu" => "* F",
            _ => "F N",
        };
        let inplace = if n == "selu" { "F" } else { "F N" };
        rule(n, functions, "", plain)
            .inplace(inplace, "")
            .switch(1)
            .does(NEVER_RAISES)
    }));
    out.extend([
        rule("relu", "* F", "*", relu)
            .does(NEVER_RAISES)
            .inplace("F", "")
            .switch(1),
        rule("leaky_relu", "F N", "", leaky_relu)
            .does(NEVER_RAISES)
            .inplace("F N", "")
            .switch(2),
        rule("celu", "* F", "", celu).inplace("F", "").switch(2),
        rule("elu", "F", "", elu)
            .does(NEVER_RAISES)
            .inplace("F", "")
            .switch(2),
        rule("hardtanh", "F N", "", hardtanh)
            .does(NEVER_RAISES | CONVERTS_NUMBERS)
            .inplace("F N", "")
            .switch(3),
        rule("threshold", "* F", "", threshold)
            .inplace("F", "")
            .switch(3),
        rule("hardshrink", "* F", "*", shrink),
        rule("softshrink", "F N", "", shrink),
        rule("gelu", "F N", "", gelu).does(NEVER_RAISES),
        rule("softplus", "F N", "", softplus)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::Single),
        rule("logsigmoid", "F", "", logsigmoid).cpu_only(),
        rule("glu", "F N", "", glu),
        rule("prelu", "* F", "*", prelu).cast(Cast::Lower),
        rule("softsign", "F torch.nn.functional.tanhshrink", "", softsign),
        rule("normalize", "F", "", normalize)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::NotDescribed),
        rule("dropout", "* F", "", dropout)
            .does(NEVER_RAISES | DRAWS | MAY_GIVE_SELF)
            .training(2)
            .inplace("", "")
            .switch(3),
        rule("dropout2d", "F torch.feature_dropout", "", feature_dropout)
            .does(DRAWS | MAY_GIVE_SELF)
            .training(2)
            .switch(3),
        rule(
            "alpha_dropout",
            "F torch.nn.functional.feature_alpha_dropout",
            "",
            other_dropout,
        )
        .does(DRAWS | MAY_GIVE_SELF)
        .training(2)
        .switch(3),
    ]);
}
