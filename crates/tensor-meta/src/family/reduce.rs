//! Reductions, scans, softmax, norms over dimensions, and sorting.

use smallvec::SmallVec;

use crate::call::{
    Call, In, R, bool_or, float_or, int, int_or, one, opt_dtype, raise, size, tensor, unsupported,
    wrap_dim,
};
use crate::family::elementwise::to_float;
use crate::iterator::preserved_strides;
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::facts::{CHECKS, NEVER_RAISES, TAKES_SIZES};
use crate::traits::{Cast, Fold};
use crate::types::{DType, Dims, Inferred, TensorMeta, Value, contiguous_strides};

/// Which dimensions a reduction removes: all for `None` and `()`.
fn reduced_dims(x: &In<'_>, dim: &Value<'_>) -> R<SmallVec<[bool; 6]>> {
    let mut mask: SmallVec<[bool; 6]> = SmallVec::from_elem(false, x.dim());
    if dim.is_none() {
        mask.iter_mut().for_each(|m| *m = true);
        return Ok(mask);
    }
    let dims = crate::call::int_list(dim)?;
    if dims.is_empty() {
        mask.iter_mut().for_each(|m| *m = true);
        return Ok(mask);
    }
    let mut seen: SmallVec<[usize; 6]> = SmallVec::new();
    for d in dims {
        let d = wrap_dim(d, x.dim())?;
        if seen.contains(&d) {
            return raise("repeated dimension");
        }
        seen.push(d);
        if x.dim() > 0 {
            mask[d] = true;
        }
    }
    Ok(mask)
}

fn reduced_shape(x: &In<'_>, mask: &[bool], keep: bool) -> Dims {
    let mut shape = Dims::new();
    for (d, &size) in x.shape.iter().enumerate() {
        if !mask[d] {
            shape.push(size);
        } else if keep {
            shape.push(Size::ONE);
        }
    }
    shape
}

/// The row-major result of a reduction over some dimensions.
fn reduced(
    call: &Call<'_>,
    x: &In<'_>,
    dim: &Value<'_>,
    keep: bool,
    dtype: DType,
) -> R<TensorMeta> {
    let mask = reduced_dims(x, dim)?;
    let shape = reduced_shape(x, &mask, keep);
    Ok(call.rows(&shape, dtype, &[x.meta]))
}

/// The dtype that sum-like ops return.
fn sum_type(x: &In<'_>, dtype: Option<DType>) -> R<DType> {
    match dtype {
        Some(d) if x.requires_grad && !d.is_differentiable() => {
            unsupported("integer result of a tensor that requires grad")
        }
        Some(d) => Ok(d),
        None if x.dtype.is_integral_or_bool() => Ok(DType::Int64),
        None => Ok(x.dtype),
    }
}

fn sum(call: &Call<'_>) -> R {
    let [x, dim, keep, dtype] = call.bind(["input", "dim", "keepdim", "dtype"])?;
    let x = tensor(x)?;
    let dtype = sum_type(&x, opt_dtype(dtype)?)?;
    one(reduced(call, &x, dim, bool_or(keep, false)?, dtype)?)
}
fn assert_async(call: &Call<'_>) -> R {
    let [x, message] = call.bind(["input", "assert_msg"])?;
    if !matches!(message, Value::None | Value::Str(_)) {
        return unsupported("message of an assertion");
    }
    match tensor(x)?.count() == 1 {
        true => Ok(Inferred::None),
        false => raise("assertion about other than one value"),
    }
}
fn is_all_true(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    if x.dtype != DType::Bool {
        return raise("dtype of _is_all_true");
    }
    one(call.rows(&[], DType::Bool, &[x.meta]))
}
fn nansum(call: &Call<'_>) -> R {
    let [x, ..] = call.bind(["input", "dim", "keepdim", "dtype"])?;
    if tensor(x)?.dtype.is_complex() {
        return raise("nansum of a complex tensor");
    }
    sum(call)
}
fn mean(call: &Call<'_>) -> R {
    let [x, dim, keep, dtype] = call.bind(["input", "dim", "keepdim", "dtype"])?;
    let x = tensor(x)?;
    let dtype = opt_dtype(dtype)?.unwrap_or(x.dtype);
    if !dtype.is_differentiable() {
        return raise("mean of integers");
    }
    one(reduced(call, &x, dim, bool_or(keep, false)?, dtype)?)
}
fn prod(call: &Call<'_>) -> R {
    let [x, dim, keep, dtype] = call.bind(["input", "dim", "keepdim", "dtype"])?;
    let x = tensor(x)?;
    if !dim.is_none() {
        int(dim)?;
    }
    let dtype = sum_type(&x, opt_dtype(dtype)?)?;
    one(reduced(call, &x, dim, bool_or(keep, false)?, dtype)?)
}
fn amax(call: &Call<'_>) -> R {
    let [x, dim, keep] = call.bind(["input", "dim", "keepdim"])?;
    let x = tensor(x)?;
    if x.dtype.is_complex() {
        return unsupported("complex tensor");
    }
    let mask = reduced_dims(&x, dim)?;
    if (0..x.dim()).any(|d| mask[d] && x.shape[d] == 0) {
        return raise("amax over an empty dimension");
    }
    one(reduced(call, &x, dim, bool_or(keep, false)?, x.dtype)?)
}
fn all(call: &Call<'_>) -> R {
    let [x, dim, keep] = call.bind(["input", "dim", "keepdim"])?;
    let x = tensor(x)?;
    let dtype = if x.dtype == DType::UInt8 {
        DType::UInt8
    } else {
        DType::Bool
    };
    if let Some([]) = dim.items() {
        return unsupported("empty tuple of dimensions");
    }
    one(reduced(call, &x, dim, bool_or(keep, false)?, dtype)?)
}
fn argmax(call: &Call<'_>) -> R {
    let [x, dim, keep] = call.bind(["input", "dim", "keepdim"])?;
    let x = tensor(x)?;
    if x.dtype.is_complex() || x.dtype == DType::Bool {
        return unsupported("dtype");
    }
    if dim.is_none() {
        if x.count() == 0 {
            return raise("argmax of an empty tensor");
        }
        if bool_or(keep, false)? {
            let shape: Dims = SmallVec::from_elem(Size::ONE, x.dim());
            return one(call.rows(&shape, DType::Int64, &[x.meta]));
        }
        return one(call.rows(&[], DType::Int64, &[x.meta]));
    }
    let d = wrap_dim(int(dim)?, x.dim())?;
    if x.dim() > 0 && x.shape[d] == 0 {
        return raise("argmax over an empty dimension");
    }
    one(reduced(call, &x, dim, bool_or(keep, false)?, DType::Int64)?)
}

fn extreme(call: &Call<'_>, name: &'static str) -> R {
    let second = call.args.get(1).or(call
        .kwargs
        .iter()
        .find(|(k, _)| *k == "other")
        .map(|(_, v)| v));
    if let Some(Value::Tensor(_)) = second {
        return crate::family::elementwise::real_binary(call);
    }
    let [x, dim, keep] = call.bind(["input", "dim", "keepdim"])?;
    let x = tensor(x)?;
    if x.dtype.is_complex() {
        return unsupported("complex tensor");
    }
    if dim.is_none() {
        if !keep.is_none() {
            return unsupported("keepdim without dim");
        }
        if x.count() == 0 {
            return raise("max of an empty tensor");
        }
        return one(call.rows(&[], x.dtype, &[x.meta]));
    }
    let d = wrap_dim(int(dim)?, x.dim())?;
    if x.dim() > 0 && x.shape[d] == 0 {
        return raise("max over an empty dimension");
    }
    with_indices(call, &x, dim, keep, name)
}
fn with_indices(
    call: &Call<'_>,
    x: &In<'_>,
    dim: &Value<'_>,
    keep: &Value<'_>,
    name: &'static str,
) -> R {
    let values = reduced(call, x, dim, bool_or(keep, false)?, x.dtype)?;
    let indices = reduced(call, x, dim, bool_or(keep, false)?, DType::Int64)?;
    Ok(Inferred::NamedTuple {
        type_name: name,
        items: vec![Inferred::Tensor(values), Inferred::Tensor(indices)],
    })
}
fn max(call: &Call<'_>) -> R {
    extreme(call, "max")
}
fn min(call: &Call<'_>) -> R {
    extreme(call, "min")
}
fn aminmax(call: &Call<'_>) -> R {
    let [x, dim, keep] = call.bind(["input", "dim", "keepdim"])?;
    let x = tensor(x)?;
    if x.dtype.is_complex() || x.count() == 0 {
        return unsupported("complex or empty tensor");
    }
    if !dim.is_none() {
        int(dim)?;
    }
    let item = reduced(call, &x, dim, bool_or(keep, false)?, x.dtype)?;
    Ok(Inferred::NamedTuple {
        type_name: "aminmax",
        items: vec![Inferred::Tensor(item.clone()), Inferred::Tensor(item)],
    })
}

/// `var` and `std`: `(dim, unbiased, keepdim)`, `(unbiased)`, or `(dim, *, correction, keepdim)`.
fn variance(call: &Call<'_>) -> R<TensorMeta> {
    let [x, dim, unbiased, keep, correction] =
        call.bind(["input", "dim", "unbiased", "keepdim", "correction"])?;
    let x = tensor(x)?;
    let (dim, whole) = match dim {
        Value::Bool(_) => (&Value::None, true),
        other => (other, false),
    };
    if whole && !unbiased.is_none() {
        return unsupported("arguments");
    }
    float_or(correction, 1.0)?;
    bool_or(unbiased, true)?;
    if !x.dtype.is_differentiable() {
        return raise("std and var of integers");
    }
    reduced(call, &x, dim, bool_or(keep, false)?, x.dtype.to_real())
}
fn var(call: &Call<'_>) -> R {
    one(variance(call)?)
}
fn var_mean(call: &Call<'_>) -> R {
    let var = variance(call)?;
    let mut mean = var.clone();
    let [x, ..] = call.bind(["input", "dim", "unbiased", "keepdim", "correction"])?;
    mean.dtype = tensor(x)?.dtype;
    Ok(Inferred::Tuple(vec![
        Inferred::Tensor(var),
        Inferred::Tensor(mean),
    ]))
}
fn logsumexp(call: &Call<'_>) -> R {
    let [x, dim, keep] = call.bind(["input", "dim", "keepdim"])?;
    let x = tensor(x)?;
    if dim.is_none() {
        return raise("logsumexp needs dim");
    }
    if x.dtype.is_complex() {
        return unsupported("complex tensor");
    }
    let dtype = to_float(call, x.dtype);
    one(reduced(call, &x, dim, bool_or(keep, false)?, dtype)?)
}
fn norm(call: &Call<'_>) -> R {
    let [x, p, dim, keep, dtype] = call.bind(["input", "p", "dim", "keepdim", "dtype"])?;
    let x = tensor(x)?;
    if !dtype.is_none() || x.dtype.is_complex() {
        return unsupported("norm with dtype");
    }
    match p {
        Value::None | Value::Int(_) | Value::Float(_) => {}
        Value::Str("fro") => {}
        _ => return unsupported("norm order"),
    }
    let inf = matches!(p, Value::Float(v) if v.is_infinite());
    if inf && x.shape.contains(&Size::ZERO) {
        return unsupported("infinity norm of an empty tensor");
    }
    if !x.dtype.is_floating() {
        return raise("norm of integers");
    }
    one(reduced(call, &x, dim, bool_or(keep, false)?, x.dtype)?)
}
fn vector_norm(call: &Call<'_>) -> R {
    let [x, p, dim, keep, dtype] = call.bind(["x", "ord", "dim", "keepdim", "dtype"])?;
    let x = tensor(x)?;
    if !dtype.is_none() || !x.dtype.is_floating() || x.shape.contains(&Size::ZERO) {
        return unsupported("arguments of vector_norm");
    }
    float_or(p, 2.0)?;
    one(reduced(call, &x, dim, bool_or(keep, false)?, x.dtype)?)
}
/// The norm of vectors, which is that of matrices too where no order is given.
fn vector_or_matrix_norm(call: &Call<'_>) -> R {
    let [x, p, dim, keep, dtype] = call.bind(["A", "ord", "dim", "keepdim", "dtype"])?;
    let x = tensor(x)?;
    if !dtype.is_none() || !x.dtype.is_floating() || x.shape.contains(&Size::ZERO) {
        return unsupported("arguments of norm");
    }
    let vectors = match dim {
        Value::None => x.dim() == 1,
        Value::Int(_) => true,
        _ => dim.items().is_some_and(|d| d.len() == 1),
    };
    let whole = dim.is_none() || dim.items().is_some_and(|d| d.len() == 2);
    if !(vectors || whole && p.is_none()) || matches!(p, Value::Str(_)) {
        return unsupported("norm of matrices");
    }
    float_or(p, 2.0)?;
    one(reduced(call, &x, dim, bool_or(keep, false)?, x.dtype)?)
}
fn count_nonzero(call: &Call<'_>) -> R {
    let [x, dim] = call.bind(["input", "dim"])?;
    let x = tensor(x)?;
    one(reduced(call, &x, dim, false, DType::Int64)?)
}
fn median(call: &Call<'_>) -> R {
    middle(call, "median")
}
fn nanmedian(call: &Call<'_>) -> R {
    middle(call, "nanmedian")
}
fn middle(call: &Call<'_>, type_name: &'static str) -> R {
    let [x, dim, keep] = call.bind(["input", "dim", "keepdim"])?;
    let x = tensor(x)?;
    if !dim.is_none() && x.dim() > 0 && x.shape[wrap_dim(int(dim)?, x.dim())?] == 0 {
        return raise("median of an empty dimension");
    }
    if x.dtype.is_complex() || x.dtype == DType::Bool || x.count() == 0 {
        return unsupported("dtype or empty tensor");
    }
    if dim.is_none() {
        return one(call.rows(&[], x.dtype, &[x.meta]));
    }
    int(dim)?;
    with_indices(call, &x, dim, keep, type_name)
}

fn nanmean(call: &Call<'_>) -> R {
    let [x, _, _, dtype] = call.bind(["input", "dim", "keepdim", "dtype"])?;
    let x = tensor(x)?;
    if !x.dtype.is_floating() || !dtype.is_none() || !x.contiguous() {
        return unsupported("input of nanmean");
    }
    mean(call)
}
/// Quantiles: one, or a row of them before the other dimensions.
fn quantile(call: &Call<'_>) -> R {
    let [x, q, dim, keep, interpolation] =
        call.bind(["input", "q", "dim", "keepdim", "interpolation"])?;
    let x = tensor(x)?;
    if !matches!(x.dtype, DType::Float32 | DType::Float64) || x.count() == 0 || x.dim() == 0 {
        return unsupported("input of quantile");
    }
    if !x.contiguous() || !matches!(interpolation, Value::None | Value::Str("linear")) {
        return unsupported("layout or interpolation of quantile");
    }
    if matches!(q, Value::Tensor(_)) {
        return unsupported("a tensor of quantiles");
    }
    if !dim.is_none() {
        int(dim)?;
    }
    if !(0.0..=1.0).contains(&float_or(q, f64::NAN)?) {
        return raise("quantile out of range");
    }
    one(reduced(call, &x, dim, bool_or(keep, false)?, x.dtype)?)
}
fn msort(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    if x.dtype.is_complex() || x.dim() == 0 {
        return unsupported("input of msort");
    }
    let strides = preserved_strides(&x.shape, &x.strides);
    one(call.fresh(&x.shape, &strides, x.dtype, &[x.meta]))
}

/// Scans: the shape and layout of the input.
fn scan(call: &Call<'_>) -> R {
    let [x, dim, dtype] = call.bind(["input", "dim", "dtype"])?;
    let x = tensor(x)?;
    if dim.is_none() {
        return raise("a scan needs dim");
    }
    wrap_dim(int(dim)?, x.dim())?;
    let dtype = sum_type(&x, opt_dtype(dtype)?)?;
    let strides = scan_strides(&x, dtype);
    one(call.fresh(&x.shape, &strides, dtype, &[x.meta]))
}
fn scan_strides(x: &In<'_>, _dtype: DType) -> Dims {
    contiguous_strides(&x.shape)
}
fn scan_with_indices(call: &Call<'_>, name: &'static str) -> R {
    let [x, dim] = call.bind(["input", "dim"])?;
    let x = tensor(x)?;
    if x.dtype.is_complex() {
        return unsupported("complex tensor");
    }
    wrap_dim(int(dim)?, x.dim())?;
    let strides = contiguous_strides(&x.shape);
    Ok(Inferred::NamedTuple {
        type_name: name,
        items: vec![
            Inferred::Tensor(call.fresh(&x.shape, &strides, x.dtype, &[x.meta])),
            Inferred::Tensor(call.fresh(&x.shape, &strides, DType::Int64, &[x.meta])),
        ],
    })
}
fn cummax(call: &Call<'_>) -> R {
    scan_with_indices(call, "cummax")
}
fn cummin(call: &Call<'_>) -> R {
    scan_with_indices(call, "cummin")
}
fn logcumsumexp(call: &Call<'_>) -> R {
    let [x, dim] = call.bind(["input", "dim"])?;
    let x = tensor(x)?;
    if !x.dtype.is_floating() {
        return unsupported("dtype");
    }
    wrap_dim(int(dim)?, x.dim())?;
    one(call.rows(&x.shape, x.dtype, &[x.meta]))
}

fn softmax_of(call: &Call<'_>, x: &Value<'_>, dim: &Value<'_>, dtype: &Value<'_>) -> R {
    let x = tensor(x)?;
    if dim.is_none() {
        return unsupported("softmax without dim");
    }
    wrap_dim(int(dim)?, x.dim())?;
    let dtype = opt_dtype(dtype)?;
    let out = dtype.unwrap_or(x.dtype);
    if !out.is_floating() {
        return unsupported("softmax of this dtype");
    }
    let strides = contiguous_strides(&x.shape);
    one(call.fresh(&x.shape, &strides, out, &[x.meta]))
}
fn softmax(call: &Call<'_>) -> R {
    let [x, dim, dtype] = call.bind(["input", "dim", "dtype"])?;
    softmax_of(call, x, dim, dtype)
}
fn softmax_nn(call: &Call<'_>) -> R {
    let [x, dim, _, dtype] = call.bind(["input", "dim", "_stacklevel", "dtype"])?;
    softmax_of(call, x, dim, dtype)
}

fn sort_pair(
    call: &Call<'_>,
    x: &In<'_>,
    shape: &[Size],
    strides: &[Size],
    name: &'static str,
) -> R {
    Ok(Inferred::NamedTuple {
        type_name: name,
        items: vec![
            Inferred::Tensor(call.fresh(shape, strides, x.dtype, &[x.meta])),
            Inferred::Tensor(call.fresh(shape, strides, DType::Int64, &[x.meta])),
        ],
    })
}
fn sort(call: &Call<'_>) -> R {
    let [x, dim, descending, stable] = sort_arguments(call)?;
    let x = tensor(x)?;
    sort_check(&x, dim, descending, stable)?;
    let strides = preserved_strides(&x.shape, &x.strides);
    sort_pair(call, &x, &x.shape, &strides, "sort")
}
fn sort_arguments<'a>(call: &Call<'a>) -> R<[&'a Value<'a>; 4]> {
    if call.args.len() > 3 {
        return unsupported("positional arguments of sort");
    }
    if call
        .kwargs
        .iter()
        .any(|(k, v)| *k == "stable" && !v.is_none())
        && call.args.len() > 1
    {
        return unsupported("positional arguments of sort");
    }
    call.bind(["input", "dim", "descending", "stable"])
}
fn sort_check(x: &In<'_>, dim: &Value<'_>, descending: &Value<'_>, stable: &Value<'_>) -> R<()> {
    if x.dtype.is_complex() {
        return raise("sort of a complex tensor");
    }
    wrap_dim(int_or(dim, -1)?, x.dim())?;
    bool_or(descending, false)?;
    bool_or(stable, false)?;
    Ok(())
}
fn argsort(call: &Call<'_>) -> R {
    let [x, dim, descending, stable] = sort_arguments(call)?;
    let x = tensor(x)?;
    sort_check(&x, dim, descending, stable)?;
    let strides = preserved_strides(&x.shape, &x.strides);
    one(call.fresh(&x.shape, &strides, DType::Int64, &[x.meta]))
}
fn topk(call: &Call<'_>) -> R {
    let [x, k, dim, largest, sorted] = call.bind(["input", "k", "dim", "largest", "sorted"])?;
    let x = tensor(x)?;
    if x.dtype.is_complex() || x.dtype == DType::Bool {
        return unsupported("dtype");
    }
    bool_or(largest, true)?;
    bool_or(sorted, true)?;
    let (k, d) = (size(k)?, wrap_dim(int_or(dim, -1)?, x.dim())?);
    let whole = if x.dim() == 0 { Size::ONE } else { x.shape[d] };
    if k < 0 || k > whole {
        return raise("k out of range");
    }
    let mut shape = x.shape.clone();
    if x.dim() > 0 {
        shape[d] = k;
    }
    let strides = contiguous_strides(&shape);
    sort_pair(call, &x, &shape, &strides, "topk")
}
fn kthvalue(call: &Call<'_>) -> R {
    let [x, k, dim, keep] = call.bind(["input", "k", "dim", "keepdim"])?;
    let x = tensor(x)?;
    if x.dtype.is_complex() || x.dtype == DType::Bool || x.dim() == 0 || x.count() == 0 {
        return unsupported("dtype or 0-dim tensor");
    }
    let d = wrap_dim(int_or(dim, -1)?, x.dim())?;
    let k = size(k)?;
    if k < 1 || k > x.shape[d] {
        return raise("k out of range");
    }
    with_indices(call, &x, &Value::Int(d as i64), keep, "kthvalue")
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    let all_devices = [
        rule("sum", "*", "*", sum)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::SingleResult),
        rule("nansum", "*", "*", nansum),
        rule("mean", "*", "*", mean).does(NEVER_RAISES),
        rule("prod", "*", "*", prod)
            .does(NEVER_RAISES)
            .cast_on(Cast::Single, Cast::SingleResult),
        rule("amax", "*", "*", amax).does(NEVER_RAISES),
        rule("amin", "*", "*", amax).does(NEVER_RAISES),
        rule("all", "*", "*", all).does(NEVER_RAISES),
        rule("any", "*", "*", all).does(NEVER_RAISES),
        rule("assert_async", "torch._assert_async", "", assert_async).does(CHECKS),
        rule("_is_all_true", "*", "*", is_all_true),
        rule("_is_any_true", "*", "*", is_all_true),
        rule("argmax", "*", "*", argmax).does(NEVER_RAISES),
        rule("argmin", "*", "*", argmax).does(NEVER_RAISES),
        rule("max", "*", "*", max)
            .does(NEVER_RAISES)
            .folds(Fold::Maximum),
        rule("min", "*", "*", min)
            .does(NEVER_RAISES)
            .folds(Fold::Minimum),
        rule("aminmax", "*", "*", aminmax),
        rule("var", "*", "*", var).does(NEVER_RAISES),
        rule("std", "*", "*", var).does(NEVER_RAISES),
        rule("var_mean", "*", "", var_mean),
        rule("std_mean", "*", "", var_mean),
        rule("logsumexp", "* torch.special.logsumexp", "*", logsumexp)
            .cast_on(Cast::None, Cast::Single),
        rule("norm", "*", "*", norm)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::Single),
        rule("vector_norm", "torch.linalg.vector_norm", "", vector_norm)
            .cast_on(Cast::None, Cast::SingleResult),
        rule(
            "linalg_norm",
            "torch.linalg.norm torch._C._linalg.linalg_norm",
            "",
            vector_or_matrix_norm,
        )
        .does(NEVER_RAISES)
        .cast_on(Cast::None, Cast::SingleResult),
        rule("count_nonzero", "*", "*", count_nonzero),
        rule("softmax", "* torch.special.softmax", "*", softmax)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::SingleResult),
        rule("softmax_nn", "torch.nn.functional.softmax", "", softmax_nn)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::SingleResult),
        rule("log_softmax", "* torch.special.log_softmax", "*", softmax)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::SingleResult),
        rule(
            "log_softmax_nn",
            "torch.nn.functional.log_softmax torch.nn.functional.softmin",
            "",
            softmax_nn,
        )
        .does(NEVER_RAISES)
        .cast_on(Cast::None, Cast::SingleResult),
    ];
    out.extend(all_devices);
    out.extend([
        rule("median", "*", "*", median),
        rule("nanmedian", "*", "*", nanmedian),
        rule("nanmean", "*", "*", nanmean),
        rule("quantile", "* torch.nanquantile", "* nanquantile", quantile),
        rule("msort", "*", "*", msort),
        rule("cumsum", "*", "*", scan)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::SingleResult)
            .inplace("", ""),
        rule("cumprod", "*", "*", scan)
            .cast_on(Cast::None, Cast::SingleResult)
            .inplace("", ""),
        rule("cummax", "*", "*", cummax),
        rule("cummin", "*", "*", cummin),
        rule("logcumsumexp", "*", "*", logcumsumexp),
        rule("sort", "*", "*", sort),
        rule("argsort", "*", "*", argsort),
        rule("topk", "*", "*", topk).does(TAKES_SIZES),
        rule("kthvalue", "*", "*", kthvalue).does(TAKES_SIZES),
    ]);
}
