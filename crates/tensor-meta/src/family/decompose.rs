//! Decompositions of matrices, and what is computed by one: factors column after column, as LAPACK writes them.

use crate::call::{Call, In, R, bool_or, int, one, raise, string, tensor, tensors, unsupported};
use crate::family::linalg::{columns, square};
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::Cast;
use crate::types::{DType, Inferred, TensorMeta, Value};

/// A batch of matrices of float32 or float64.
fn matrices<'a>(value: &Value<'a>) -> R<In<'a>> {
    let x = tensor(value)?;
    if x.dim() < 2 {
        return raise("not a batch of matrices");
    }
    if !matches!(x.dtype, DType::Float32 | DType::Float64) || x.count() == 0 {
        return unsupported("dtype or size of matrices");
    }
    Ok(x)
}
/// A batch of square matrices of float32 or float64.
fn square_matrices<'a>(value: &Value<'a>) -> R<In<'a>> {
    if !matches!(tensor(value)?.dtype, DType::Float32 | DType::Float64) {
        return unsupported("dtype of matrices");
    }
    square(value)
}
/// A factor with so many rows and columns, for each matrix of the batch.
fn factor(call: &Call<'_>, x: &In<'_>, rows: Size, width: Size) -> TensorMeta {
    let mut shape = x.shape.clone();
    let n = shape.len();
    (shape[n - 2], shape[n - 1]) = (rows, width);
    call.fresh(&shape, &columns(&shape), x.dtype, &[x.meta])
}
/// A vector for each matrix of the batch.
fn vector(call: &Call<'_>, x: &In<'_>, length: Size, dtype: DType) -> TensorMeta {
    let mut shape = x.shape.clone();
    let n = shape.len();
    shape.truncate(n - 1);
    shape[n - 2] = length;
    call.rows(&shape, dtype, &[x.meta])
}
fn named(type_name: &'static str, items: Vec<TensorMeta>) -> R {
    let items = items.into_iter().map(Inferred::Tensor).collect();
    Ok(Inferred::NamedTuple { type_name, items })
}
fn extents(x: &In<'_>) -> (Size, Size, Size) {
    let (m, n) = (x.shape[x.dim() - 2], x.shape[x.dim() - 1]);
    (m, n, m.min(n))
}
fn qr(call: &Call<'_>) -> R {
    let [x, mode] = call.bind(["input", "mode"])?;
    let x = matrices(x)?;
    let (m, n, k) = extents(&x);
    let inner = match mode {
        Value::None => k,
        mode => match string(mode)? {
            "reduced" => k,
            "complete" => m,
            _ => return unsupported("mode of qr"),
        },
    };
    let items = vec![factor(call, &x, m, inner), factor(call, &x, inner, n)];
    named("linalg_qr", items)
}
fn svd(call: &Call<'_>) -> R {
    let [x, full, driver] = call.bind(["input", "full_matrices", "driver"])?;
    let x = matrices(x)?;
    let (m, n, k) = extents(&x);
    if !driver.is_none() {
        return unsupported("driver of svd");
    }
    let (left, right) = match bool_or(full, true)? {
        true => (m, n),
        false => (k, k),
    };
    let items = vec![
        factor(call, &x, m, left),
        vector(call, &x, k, x.dtype),
        factor(call, &x, right, n),
    ];
    named("linalg_svd", items)
}
fn svdvals(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = matrices(x)?;
    one(vector(call, &x, extents(&x).2, x.dtype))
}
fn triangle(value: &Value<'_>) -> R<()> {
    match value {
        Value::None | Value::Str("L" | "U") => Ok(()),
        _ => unsupported("triangle of a matrix"),
    }
}
fn eigh(call: &Call<'_>) -> R {
    let [x, uplo] = call.bind(["input", "UPLO"])?;
    let x = square_matrices(x)?;
    triangle(uplo)?;
    let n = extents(&x).0;
    let items = vec![vector(call, &x, n, x.dtype), factor(call, &x, n, n)];
    named("linalg_eigh", items)
}
fn eigvalsh(call: &Call<'_>) -> R {
    let [x, uplo] = call.bind(["input", "UPLO"])?;
    let x = square_matrices(x)?;
    triangle(uplo)?;
    one(vector(call, &x, extents(&x).0, x.dtype))
}
/// Matrices against matrices of one batch.
fn solve(call: &Call<'_>) -> R {
    let [a, b, left] = call.bind(["input", "B", "left"])?;
    if tensor(b)?.dim() < 2 {
        return unsupported("solution of vectors");
    }
    let (a, b) = (square_matrices(a)?, matrices(b)?);
    let n = a.dim();
    if !bool_or(left, true)? || a.dtype != b.dtype || b.dim() != n {
        return unsupported("operands of solve");
    }
    if a.shape[..n - 2] != b.shape[..n - 2] {
        return unsupported("batches of solve");
    }
    if a.shape[n - 1] != b.shape[n - 2] {
        return raise("sizes of solve");
    }
    one(call.fresh(&b.shape, &columns(&b.shape), b.dtype, &[a.meta, b.meta]))
}
fn lu_factor(call: &Call<'_>) -> R {
    let [x, pivot] = call.bind(["input", "pivot"])?;
    let x = matrices(x)?;
    let (m, n, k) = extents(&x);
    if !bool_or(pivot, true)? {
        return unsupported("lu without pivots");
    }
    let items = vec![factor(call, &x, m, n), vector(call, &x, k, DType::Int32)];
    named("linalg_lu_factor", items)
}
fn matrix_exp(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = square_matrices(x)?;
    if !x.contiguous() {
        return unsupported("layout of matrices");
    }
    one(call.rows(&x.shape, x.dtype, &[x.meta]))
}
fn matrix_power(call: &Call<'_>) -> R {
    let [x, n] = call.bind(["input", "n"])?;
    let (x, n) = (square_matrices(x)?, int(n)?);
    if n < 2 || !x.contiguous() {
        return unsupported("power of matrices");
    }
    one(call.rows(&x.shape, x.dtype, &[x.meta]))
}
/// A product of matrices, in the best order.
fn multi_dot(call: &Call<'_>) -> R {
    let [all] = call.bind(["tensors"])?;
    let all = tensors(all)?;
    if all.len() < 2 || all.iter().any(|x| x.dim() != 2 || x.dtype != all[0].dtype) {
        return unsupported("operands of multi_dot");
    }
    if all.iter().any(|x| x.count() == 0 || !x.dtype.is_floating()) {
        return unsupported("operands of multi_dot");
    }
    if all.windows(2).any(|w| w[0].shape[1] != w[1].shape[0]) {
        return raise("sizes of multi_dot");
    }
    let inputs: Vec<_> = all.iter().map(|x| x.meta).collect();
    let shape = [all[0].shape[0], all[all.len() - 1].shape[1]];
    one(call.rows(&shape, all[0].dtype, &inputs))
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("qr", "torch.linalg.qr torch._C._linalg.linalg_qr", "", qr)
            .cast_on(Cast::Single, Cast::None),
        rule(
            "svd",
            "torch.linalg.svd torch._C._linalg.linalg_svd",
            "",
            svd,
        )
        .cast_on(Cast::Single, Cast::None)
        .cpu_only(),
        rule(
            "svdvals",
            "torch.linalg.svdvals torch._C._linalg.linalg_svdvals",
            "",
            svdvals,
        )
        .cast_on(Cast::Single, Cast::None),
        rule(
            "eigh",
            "torch.linalg.eigh torch._C._linalg.linalg_eigh",
            "",
            eigh,
        )
        .cast_on(Cast::Single, Cast::None),
        rule(
            "eigvalsh",
            "torch.linalg.eigvalsh torch._C._linalg.linalg_eigvalsh",
            "",
            eigvalsh,
        )
        .cast_on(Cast::Single, Cast::None),
        rule(
            "solve",
            "torch.linalg.solve torch._C._linalg.linalg_solve",
            "",
            solve,
        )
        .cast_on(Cast::Single, Cast::None),
        rule(
            "lu_factor",
            "torch.linalg.lu_factor torch._C._linalg.linalg_lu_factor",
            "",
            lu_factor,
        )
        .cast_on(Cast::Single, Cast::None),
        rule(
            "matrix_exp",
            "* torch.linalg.matrix_exp torch._C._linalg.linalg_matrix_exp",
            "*",
            matrix_exp,
        )
        .cast(Cast::NotDescribed),
        rule(
            "matrix_power",
            "* torch.linalg.matrix_power torch._C._linalg.linalg_matrix_power",
            "*",
            matrix_power,
        )
        .cast(Cast::NotDescribed),
        rule(
            "multi_dot",
            "torch.linalg.multi_dot torch._C._linalg.linalg_multi_dot",
            "",
            multi_dot,
        )
        .cast(Cast::NotDescribed),
    ]);
}
