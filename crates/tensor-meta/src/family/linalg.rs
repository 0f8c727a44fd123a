//! Linear algebra on square matrices, vectors and their products beyond `matmul`.

use smallvec::SmallVec;

use crate::call::{Call, In, R, bool_or, float_or, int, one, raise, tensor, unsupported, wrap_dim};
use crate::iterator::broadcast;
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::Cast;
use crate::types::{DType, Dims, Inferred, Value, contiguous_strides};

/// A batch of square matrices of floats or complex numbers.
pub(crate) fn square<'a>(value: &Value<'a>) -> R<In<'a>> {
    let x = tensor(value)?;
    let n = x.dim();
    if n < 2 || x.shape[n - 1] != x.shape[n - 2] {
        return raise("not a batch of square matrices");
    }
    let dtype = x.dtype;
    if !matches!(
        dtype,
        DType::Float32 | DType::Float64 | DType::Complex64 | DType::Complex128
    ) {
        return raise("dtype of a matrix");
    }
    if x.count() == 0 {
        return unsupported("empty matrices");
    }
    Ok(x)
}
/// Column after column, as LAPACK writes matrices.
pub(crate) fn columns(shape: &[Size]) -> Dims {
    let n = shape.len();
    let mut strides = contiguous_strides(shape);
    strides[n - 2] = Size::ONE;
    strides[n - 1] = shape[n - 2].max(1);
    strides
}
fn inverse(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = square(x)?;
    one(call.fresh(&x.shape, &columns(&x.shape), x.dtype, &[x.meta]))
}
fn determinant(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = square(x)?;
    let batch = &x.shape[..x.dim() - 2];
    one(call.rows(batch, x.dtype, &[x.meta]))
}
fn sign_and_logarithm(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = square(x)?;
    if x.dtype.is_complex() {
        return unsupported("complex determinant");
    }
    let batch = &x.shape[..x.dim() - 2];
    let result = || Inferred::Tensor(call.rows(batch, x.dtype, &[x.meta]));
    Ok(Inferred::NamedTuple {
        type_name: "linalg_slogdet",
        items: vec![result(), result()],
    })
}
fn cholesky(call: &Call<'_>) -> R {
    let [x, upper] = call.bind(["input", "upper"])?;
    let x = square(x)?;
    if !matches!(upper, Value::None | Value::Bool(false)) {
        return unsupported("upper triangle");
    }
    one(call.fresh(&x.shape, &columns(&x.shape), x.dtype, &[x.meta]))
}
/// The batches of both operands broadcast against each other.
fn triangular(call: &Call<'_>) -> R {
    let [a, b, upper, left, ..] = call.bind(["input", "B", "upper", "left", "unitriangular"])?;
    let (a, b) = (square(a)?, tensor(b)?);
    let (n, m) = (a.dim(), b.dim());
    bool_or(upper, false)?;
    if m < 2 || a.dtype != b.dtype || b.count() == 0 {
        return unsupported("operands of solve_triangular");
    }
    let meets = match bool_or(left, true)? {
        true => b.shape[m - 2],
        false => b.shape[m - 1],
    };
    if meets != a.shape[n - 1] {
        return raise("sizes of solve_triangular");
    }
    let mut shape = broadcast(&a.shape[..n - 2], &b.shape[..m - 2])?;
    shape.extend_from_slice(&b.shape[m - 2..]);
    one(call.fresh(&shape, &columns(&shape), b.dtype, &[a.meta, b.meta]))
}
fn trace(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    if x.dim() != 2 {
        return raise("trace of other than a matrix");
    }
    let dtype = match x.dtype.is_integral_or_bool() {
        true => DType::Int64,
        false => x.dtype,
    };
    if x.dtype == DType::Bool {
        return unsupported("trace of bools");
    }
    one(call.rows(&[], dtype, &[x.meta]))
}
fn added_vector(call: &Call<'_>) -> R {
    let [c, a, b, beta, alpha] = call.bind(["input", "mat", "vec", "beta", "alpha"])?;
    let (c, a, b) = (tensor(c)?, tensor(a)?, tensor(b)?);
    float_or(beta, 1.0)?;
    float_or(alpha, 1.0)?;
    if a.dim() != 2 || b.dim() != 1 {
        return raise("ranks of addmv");
    }
    if a.dtype != b.dtype || b.dtype != c.dtype || !a.dtype.is_floating() {
        return unsupported("dtypes of addmv");
    }
    if a.shape[1] != b.shape[0] {
        return raise("sizes of addmv");
    }
    let rows = a.shape[0];
    if !(c.dim() == 0 || c.shape[..] == [rows] || c.shape[..] == [1]) {
        return unsupported("addend of addmv");
    }
    if c.shape[..] != [rows] && a.count() == 0 {
        return unsupported("shape of a result of addmv without a product");
    }
    one(call.rows(&[rows], a.dtype, &[c.meta, a.meta, b.meta]))
}
fn inner(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    let (a, b) = (tensor(a)?, tensor(b)?);
    if a.dtype != b.dtype || !a.dtype.is_floating() || a.dim() == 0 || b.dim() == 0 {
        return unsupported("operands of inner");
    }
    if a.shape[a.dim() - 1] != b.shape[b.dim() - 1] {
        return raise("sizes of inner");
    }
    let mut shape: Dims = SmallVec::from_slice(&a.shape[..a.dim() - 1]);
    shape.extend_from_slice(&b.shape[..b.dim() - 1]);
    one(call.rows(&shape, a.dtype, &[a.meta, b.meta]))
}
fn cross(call: &Call<'_>) -> R {
    let [a, b, dim] = call.bind(["input", "other", "dim"])?;
    let (a, b) = (tensor(a)?, tensor(b)?);
    let n = a.dim();
    if n == 0 || a.shape != b.shape || a.dtype != b.dtype || dim.is_none() {
        return unsupported("operands of cross");
    }
    if a.shape[wrap_dim(int(dim)?, n)?] != 3 {
        return raise("cross needs three components");
    }
    if a.dtype == DType::Bool || !a.contiguous() {
        return unsupported("operands of cross");
    }
    one(call.rows(&a.shape, a.dtype, &[a.meta, b.meta]))
}
fn outer_sum(call: &Call<'_>) -> R {
    let [c, a, b, beta, alpha] = call.bind(["input", "vec1", "vec2", "beta", "alpha"])?;
    let (c, a, b) = (tensor(c)?, tensor(a)?, tensor(b)?);
    float_or(beta, 1.0)?;
    float_or(alpha, 1.0)?;
    if a.dim() != 1 || b.dim() != 1 {
        return raise("addr of other than vectors");
    }
    let shape = [a.shape[0], b.shape[0]];
    if a.dtype != b.dtype || b.dtype != c.dtype || !a.dtype.is_floating() || c.shape[..] != shape {
        return unsupported("operands of addr");
    }
    if !c.contiguous() {
        return unsupported("layout of addr's addend");
    }
    one(call.rows(&shape, a.dtype, &[c.meta, a.meta, b.meta]))
}
fn vdot(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    let (a, b) = (tensor(a)?, tensor(b)?);
    if a.dim() != 1 || b.dim() != 1 || a.dtype != b.dtype || a.shape != b.shape {
        return raise("operands of vdot");
    }
    if a.dtype == DType::Bool {
        return unsupported("vdot of bools");
    }
    one(call.rows(&[], a.dtype, &[a.meta, b.meta]))
}
/// Products of the rows of `input`, in groups, with the matrix of each group.
fn grouped(call: &Call<'_>) -> R {
    let [x, w, ends] = call.bind(["input", "weight", "offs"])?;
    let (x, w, ends) = (tensor(x)?, tensor(w)?, tensor(ends)?);
    let plain = x.dim() == 2 && w.dim() == 3 && ends.dim() == 1 && x.dtype == w.dtype;
    if !plain || ends.shape[0] != w.shape[0] || x.shape[1] != w.shape[1] {
        return unsupported("operands of a grouped product");
    }
    one(call.rows(&[x.shape[0], w.shape[2]], x.dtype, &[x.meta, w.meta]))
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule(
            "inverse",
            "* torch.linalg.inv torch._C._linalg.linalg_inv",
            "*",
            inverse,
        )
        .cast_on(Cast::Single, Cast::None),
        rule(
            "det",
            "* torch.linalg.det torch._C._linalg.linalg_det",
            "*",
            determinant,
        )
        .cast_on(Cast::Single, Cast::NotDescribed),
        rule("logdet", "*", "*", determinant),
        rule(
            "slogdet",
            "torch.linalg.slogdet torch._C._linalg.linalg_slogdet",
            "",
            sign_and_logarithm,
        ),
        rule(
            "cholesky",
            "torch.linalg.cholesky torch._C._linalg.linalg_cholesky",
            "",
            cholesky,
        )
        .cast_on(Cast::Single, Cast::None),
        rule(
            "solve_triangular",
            "torch.linalg.solve_triangular torch._C._linalg.linalg_solve_triangular",
            "",
            triangular,
        ),
        rule("trace", "*", "*", trace).cast_on(Cast::Single, Cast::SingleResult),
        rule("addmv", "*", "*", added_vector).cast_on(Cast::None, Cast::Lower),
        rule("inner", "*", "*", inner).cast(Cast::NotDescribed),
        rule("addr", "*", "*", outer_sum).cast_on(Cast::None, Cast::Lower),
        rule("vdot", "*", "*", vdot).cast_on(Cast::None, Cast::NotDescribed),
        rule(
            "cross",
            "* torch.linalg.cross torch._C._linalg.linalg_cross",
            "*",
            cross,
        )
        .cast_on(Cast::None, Cast::NotDescribed),
        rule(
            "grouped_mm_fallback",
            "torch.ops.transformers.grouped_mm_fallback",
            "",
            grouped,
        )
        .cast(Cast::NotDescribed),
    ]);
}
