//! Scattering: a copy of a tensor, or the tensor itself, with other values at some places.

use crate::call::{
    Call, In, R, bool_or, int, one, raise, size, size_or, string, tensor, unsupported, wrap_dim,
};
use crate::family::elementwise::Operand;
use crate::family::index::{check_index, indexed};
use crate::family::view::{selected, sliced};
use crate::iterator::{broadcast, preserved_strides};
use crate::registry::{Entry, rule};
use crate::traits::Cast;
use crate::traits::facts::TAKES_SIZES;
use crate::types::{DType, TensorMeta, Value};

/// `scatter`, `scatter_add`: the input, written to.
fn scatter(call: &Call<'_>) -> R {
    let [x, dim, index, src] = call.bind(["input", "dim", "index", "src"])?;
    let (x, index) = (tensor(x)?, tensor(index)?);
    check_index(&index)?;
    if index.dtype != DType::Int64 {
        return unsupported("int32 index");
    }
    let d = wrap_dim(int(dim)?, x.dim())?;
    if x.dim() != index.dim() || x.dim() == 0 || index.count() == 0 || !x.contiguous() {
        return unsupported("scatter of other ranks or layouts");
    }
    if (0..x.dim()).any(|i| i != d && index.shape[i] > x.shape[i]) {
        return raise("index is larger than the input");
    }
    let mut inputs = vec![x.meta];
    match Operand::read(src)? {
        Operand::Tensor(s) => {
            if s.dtype != x.dtype {
                return raise("scatter dtypes differ");
            }
            if s.dim() != index.dim() {
                return unsupported("scatter of other ranks");
            }
            if index.shape.iter().zip(&s.shape).any(|(i, s)| i > s) {
                return raise("index is larger than the source");
            }
            inputs.push(s.meta);
        }
        Operand::Number(n) => {
            if n.is_complex() || (n.is_floating() && !x.dtype.is_differentiable()) {
                return unsupported("value of another kind");
            }
        }
    }
    one(call.rows(&x.shape, x.dtype, &inputs))
}
/// `index_copy`, `index_add`: rows of the input, written to.
fn index_copy(call: &Call<'_>) -> R {
    let [x, dim, index, src] = call.bind(["input", "dim", "index", "source"])?;
    let (x, index, src) = (tensor(x)?, tensor(index)?, tensor(src)?);
    check_index(&index)?;
    let d = wrap_dim(int(dim)?, x.dim())?;
    if index.dtype != DType::Int64
        || x.dim() == 0
        || index.dim() != 1
        || src.dim() != x.dim()
        || !x.contiguous()
    {
        return unsupported("index_copy of other ranks or layouts");
    }
    if src.dtype != x.dtype {
        return raise("index_copy dtypes differ");
    }
    for i in 0..x.dim() {
        if src.shape[i] != if i == d { index.shape[0] } else { x.shape[i] } {
            return raise("index_copy sizes");
        }
    }
    one(call.rows(&x.shape, x.dtype, &[x.meta, src.meta]))
}

/// `scatter` that combines what meets at a place.
fn scatter_reduce(call: &Call<'_>) -> R {
    let [x, dim, index, src, reduce, whole] =
        call.bind(["input", "dim", "index", "src", "reduce", "include_self"])?;
    bool_or(whole, true)?;
    if !matches!(string(reduce)?, "sum" | "prod" | "mean" | "amax" | "amin") {
        return raise("reduction of scatter_reduce");
    }
    if !matches!(src, Value::Tensor(_)) {
        return raise("scatter_reduce of a number");
    }
    let args = [x.clone(), dim.clone(), index.clone(), src.clone()];
    scatter(&Call {
        args: &args,
        kwargs: &[],
        ..*call
    })
}
/// A copy in the layout of the input.
fn copied(call: &Call<'_>, x: &In<'_>, inputs: &[&TensorMeta]) -> R {
    let strides = preserved_strides(&x.shape, &x.strides);
    one(call.fresh(&x.shape, &strides, x.dtype, inputs))
}
fn index_fill(call: &Call<'_>) -> R {
    let [x, dim, index, value] = call.bind(["input", "dim", "index", "value"])?;
    let (x, index) = (tensor(x)?, tensor(index)?);
    if index.dtype != DType::Int64 || index.dim() > 1 || x.dim() == 0 {
        return unsupported("index of index_fill");
    }
    wrap_dim(int(dim)?, x.dim())?;
    let mut inputs = vec![x.meta];
    match Operand::read(value)? {
        Operand::Tensor(v) => {
            if v.dim() != 0 {
                return raise("value of index_fill");
            }
            if v.dtype != x.dtype {
                return unsupported("value of another dtype");
            }
            inputs.push(v.meta);
        }
        Operand::Number(n) => {
            if n.is_complex() || n.is_floating() && !x.dtype.is_floating() {
                return unsupported("value of another kind");
            }
        }
    }
    copied(call, &x, &inputs)
}
/// `x[indices] = values`, of tensors.
fn index_put(call: &Call<'_>) -> R {
    let [x, indices, values, accumulate] =
        call.bind(["input", "indices", "values", "accumulate"])?;
    let (x, values) = (tensor(x)?, tensor(values)?);
    bool_or(accumulate, false)?;
    let Some(indices) = indices.items() else {
        return raise("indices of index_put");
    };
    let indices = indices.iter().map(|i| match i {
        Value::Tensor(_) => Ok(i.clone()),
        _ => unsupported("index of index_put"),
    });
    let target = indexed(call, &x, &Value::Tuple(indices.collect::<R<_>>()?))?;
    if values.dtype != x.dtype {
        return raise("index_put dtypes differ");
    }
    let sizes = In::new(&target).shape;
    if broadcast(&values.shape, &sizes)? != sizes {
        return raise("values do not broadcast to the indexed shape");
    }
    copied(call, &x, &[x.meta, values.meta])
}
/// The input with `src` at a part of it, which has its shape.
fn replaced(call: &Call<'_>, x: &In<'_>, src: &In<'_>, part: &TensorMeta) -> R {
    if In::new(part).shape != src.shape {
        return raise("the source has another shape");
    }
    if src.dtype != x.dtype || !x.contiguous() {
        return unsupported("dtype or layout of a scattered slice");
    }
    one(call.rows(&x.shape, x.dtype, &[x.meta, src.meta]))
}
fn slice_scatter(call: &Call<'_>) -> R {
    let [x, src, dim, start, end, step] =
        call.bind(["input", "src", "dim", "start", "end", "step"])?;
    let (x, src) = (tensor(x)?, tensor(src)?);
    if x.dim() == 0 {
        return unsupported("slice of a 0-dim tensor");
    }
    let d = wrap_dim(crate::call::int_or(dim, 0)?, x.dim())?;
    let step = crate::call::int_or(step, 1)?;
    if step <= 0 {
        return raise("slice step must be positive");
    }
    let (start, end) = (size_or(start, 0)?, size_or(end, x.shape[d])?);
    let part = sliced(call, &x, d, start, end, step);
    replaced(call, &x, &src, &part)
}
fn select_scatter(call: &Call<'_>) -> R {
    let [x, src, dim, index] = call.bind(["input", "src", "dim", "index"])?;
    let (x, src) = (tensor(x)?, tensor(src)?);
    if x.dim() == 0 {
        return raise("select of a 0-dim tensor");
    }
    let d = wrap_dim(int(dim)?, x.dim())?;
    let part = selected(call, &x, d, size(index)?)?;
    replaced(call, &x, &src, &part)
}
/// Elements by their place in the flat tensor.
fn take(call: &Call<'_>) -> R {
    let [x, index] = call.bind(["input", "index"])?;
    let (x, index) = (tensor(x)?, tensor(index)?);
    if index.dtype != DType::Int64 {
        return raise("index of take");
    }
    if x.count() == 0 {
        return unsupported("take of nothing");
    }
    one(call.rows(&index.shape, x.dtype, &[x.meta]))
}
/// Which elements are among others.
fn isin(call: &Call<'_>) -> R {
    let [x, among, unique, invert] =
        call.bind(["elements", "test_elements", "assume_unique", "invert"])?;
    let (x, among) = (tensor(x)?, Operand::read(among)?);
    bool_or(unique, false)?;
    bool_or(invert, false)?;
    if x.dtype.is_complex() || x.dtype == DType::Bool || among.dtype() != x.dtype {
        return unsupported("dtypes of isin");
    }
    if !x.contiguous() || x.count() == 0 {
        return unsupported("layout of isin's elements");
    }
    one(call.rows(&x.shape, DType::Bool, &[x.meta]))
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("scatter", "*", "*", scatter).inplace("", ""),
        rule("scatter_add", "*", "*", scatter)
            .cast_on(Cast::None, Cast::NotDescribed)
            .inplace("", ""),
        rule("scatter_reduce", "*", "*", scatter_reduce).inplace("", ""),
        rule("index_copy", "*", "*", index_copy).inplace("", ""),
        rule("index_add", "*", "*", index_copy)
            .inplace("", "")
            .cpu_only(),
        rule("index_fill", "*", "*", index_fill).inplace("", ""),
        rule("index_put", "*", "*", index_put)
            .cast_on(Cast::None, Cast::NotDescribed)
            .inplace("", ""),
        rule("slice_scatter", "*", "*", slice_scatter).does(TAKES_SIZES),
        rule("select_scatter", "*", "*", select_scatter).does(TAKES_SIZES),
        rule("take", "*", "*", take),
        rule("isin", "*", "", isin),
    ]);
}
