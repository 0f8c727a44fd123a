//! Indexing: `x[...]` with ints, slices, `None`, `...` and index tensors; gather.

use crate::call::{
    Call, In, R, bool_or, int, one, raise, size, size_or, tensor, unsupported, wrap_dim,
};
use crate::family::elementwise::Operand;
use crate::family::view::{selected, sliced, unsqueezed};
use crate::geometry::expand_strides;
use crate::iterator::{Layout, broadcast, output_layout};
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::Fold;
use crate::traits::facts::{INDEXES, SEES_NUMPY, TAKES_SIZES, VIEW};
use crate::types::{DType, Dims, TensorMeta, Value, contiguous_strides};

/// An index tensor: its layout, and the dimension of the view that it indexes.
struct IndexTensor {
    dim: usize,
    layout: Layout,
}

/// A slice bound or step.
fn bound(value: &Value<'_>, default: Size) -> R<Size> {
    match value {
        Value::Int(n) => Ok(Size::known((*n).clamp(-i64::MAX / 2, i64::MAX / 2))),
        other => size_or(other, default),
    }
}

/// `x[index]`.
pub(crate) fn indexed(call: &Call<'_>, x: &In<'_>, index: &Value<'_>) -> R<TensorMeta> {
    let single = std::slice::from_ref(index);
    let items: &[Value<'_>] = match index {
        Value::Tuple(items) => items,
        _ => single,
    };
    let mut consumed = 0;
    for item in items {
        consumed += match item {
            Value::None | Value::Ellipsis => 0,
            Value::Int(_) | Value::SymInt(_) | Value::Slice(_) => 1,
            Value::Tensor(t) if matches!(t.dtype, DType::Bool | DType::UInt8) => {
                return unsupported("data-dependent shape");
            }
            Value::Tensor(t) if t.ndim() == 0 => return unsupported("index by a 0-dim tensor"),
            Value::Tensor(t) if !matches!(t.dtype, DType::Int64 | DType::Int32) => {
                return unsupported("index dtype");
            }
            Value::Tensor(_) => 1,
            Value::List(items) if items.iter().all(|i| matches!(i, Value::Int(_))) => 1,
            _ => return unsupported("index of this kind"),
        };
    }
    if consumed > x.dim() {
        return raise("too many indices");
    }
    if items
        .iter()
        .filter(|i| matches!(i, Value::Ellipsis))
        .count()
        > 1
    {
        return unsupported("more than one ellipsis");
    }
    let mut view = call.view(x, &x.shape, &x.strides, x.start());
    let mut tensors: Vec<IndexTensor> = Vec::new();
    let mut is_outside = false;
    let mut dim = 0;
    for item in items {
        let now = view.clone();
        let now = In::new(&now);
        match item {
            Value::Ellipsis => dim += x.dim() - consumed,
            Value::None => {
                let (shape, strides) = unsqueezed(&now, dim);
                view = call.view(&now, &shape, &strides, now.start());
                dim += 1;
            }
            Value::Int(i) => view = selected(call, &now, dim, Size::known(*i))?,
            Value::SymInt(_) => view = selected(call, &now, dim, size(item)?)?,
            Value::Slice(parts) => {
                let step = bound(&parts[2], Size::ONE)?;
                if step > 1 << 31 {
                    return unsupported("huge slice step");
                }
                if step <= 0 {
                    return raise("slice step must be positive");
                }
                let start = bound(&parts[0], Size::ZERO)?;
                let stop = bound(&parts[1], now.shape[dim])?;
                view = sliced(call, &now, dim, start, stop, step);
                dim += 1;
            }
            Value::Tensor(_) => {
                let t = tensor(item)?;
                if now.shape[dim] == 0 && t.count() != 0 {
                    return raise("index into an empty dimension");
                }
                let layout = Layout {
                    shape: t.shape,
                    strides: t.strides,
                };
                tensors.push(IndexTensor { dim, layout });
                dim += 1;
            }
            Value::List(items) => {
                let size = now.shape[dim];
                for i in items {
                    let i = Size::known(int(i)?);
                    if size == 0 {
                        return raise("index into an empty dimension");
                    }
                    is_outside |= i < -size || i >= size;
                }
                let shape: Dims = Dims::from_slice(&[Size::known(items.len() as i64)]);
                let strides = contiguous_strides(&shape);
                tensors.push(IndexTensor {
                    dim,
                    layout: Layout { shape, strides },
                });
                dim += 1;
            }
            _ => return unsupported("index of this kind"),
        }
    }
    if tensors.is_empty() {
        view.requires_grad = x.requires_grad;
        return Ok(view);
    }
    let view = In::new(&view);
    if items.iter().any(Value::is_none) && !view.contiguous() {
        return unsupported("new dimensions beside index tensors");
    }
    let result = gathered(call, &view, x, &tensors)?;
    // Where nothing is read, torch does not look at the indices.
    if is_outside && In::new(&result).count() != 0 {
        return raise("index out of range");
    }
    Ok(result)
}

/// The result of indexing `view` by tensors: their broadcast shape replaces the indexed
/// dimensions, at the place of the first if they are adjacent, else in front.
fn gathered(call: &Call<'_>, view: &In<'_>, x: &In<'_>, tensors: &[IndexTensor]) -> R<TensorMeta> {
    let mut common = Dims::new();
    for t in tensors {
        common = broadcast(&common, &t.layout.shape)?;
    }
    let adjacent = tensors.windows(2).all(|w| w[1].dim == w[0].dim + 1);
    let kept: Vec<usize> = (0..view.dim())
        .filter(|d| tensors.iter().all(|t| t.dim != *d))
        .collect();
    let before = if adjacent { tensors[0].dim } else { 0 };
    let (mut shape, mut strides) = (Dims::new(), Dims::new());
    for &d in &kept[..before] {
        shape.push(view.shape[d]);
        strides.push(view.strides[d]);
    }
    shape.extend_from_slice(&common);
    strides.extend(common.iter().map(|_| Size::ZERO));
    for &d in &kept[before..] {
        shape.push(view.shape[d]);
        strides.push(view.strides[d]);
    }
    if shape.contains(&Size::ZERO) {
        return Ok(call.rows(&shape, x.dtype, &[x.meta]));
    }
    if tensors
        .iter()
        .any(|t| !crate::types::is_contiguous(&t.layout.shape, &t.layout.strides))
    {
        return unsupported("index tensors that are not row-major");
    }
    let after = kept.len() - before;
    let mut operands = vec![Layout {
        shape: shape.clone(),
        strides,
    }];
    for t in tensors {
        let own = expand_strides(&t.layout.shape, &t.layout.strides, &common);
        let (mut s, mut st) = (Dims::new(), Dims::new());
        s.extend(std::iter::repeat_n(Size::ONE, before));
        st.extend(std::iter::repeat_n(Size::ZERO, before));
        s.extend_from_slice(&common);
        st.extend_from_slice(&own);
        s.extend(std::iter::repeat_n(Size::ONE, after));
        st.extend(std::iter::repeat_n(Size::ZERO, after));
        operands.push(Layout {
            shape: s,
            strides: st,
        });
    }
    let out = output_layout(&operands)?;
    Ok(call.fresh(&out.shape, &out.strides, x.dtype, &[x.meta]))
}

fn getitem(call: &Call<'_>) -> R {
    let [x, index] = call.bind(["input", "index"])?;
    if !matches!(x, Value::Tensor(_)) {
        return unsupported("getitem of other than a tensor");
    }
    one(indexed(call, &tensor(x)?, index)?)
}
fn uses_tensors(index: &Value<'_>) -> bool {
    let is = |v: &Value<'_>| matches!(v, Value::Tensor(_) | Value::List(_));
    match index {
        Value::Tuple(items) => items.iter().any(is),
        other => is(other),
    }
}

/// An index with whole slices: a number fits in a slice between whatever places, and none is refused.
fn without_places<'a>(index: &Value<'a>) -> R<Value<'a>> {
    Ok(match index {
        Value::Slice(parts) => {
            for place in &parts[..2] {
                bound(place, Size::ZERO)?;
            }
            Value::slice(Value::None, Value::None, parts[2].clone())
        }
        Value::Tuple(items) => {
            let items = items.iter().map(without_places);
            Value::Tuple(items.collect::<R<_>>()?)
        }
        other => other.clone(),
    })
}

fn setitem(call: &Call<'_>) -> R {
    let [x, index, value] = call.bind(["input", "index", "value"])?;
    if !matches!(x, Value::Tensor(_)) {
        return unsupported("setitem of other than a tensor");
    }
    let x = tensor(x)?;
    if uses_tensors(index) && x.shape.contains(&Size::ZERO) {
        // Whether such an index is checked depends on the kernel.
        return unsupported("index tensors into a tensor without items");
    }
    let mut inputs = vec![x.meta];
    match Operand::read(value)? {
        Operand::Tensor(v) => {
            let target = indexed(call, &x, index)?;
            if v.dtype != x.dtype && uses_tensors(index) {
                return unsupported("value of another dtype at index tensors");
            }
            let sizes = In::new(&target).shape;
            let ones = v
                .shape
                .iter()
                .take_while(|s| **s == 1)
                .count()
                .min(v.dim().saturating_sub(sizes.len()));
            if broadcast(&v.shape[ones..], &sizes)? != sizes {
                return raise("value does not broadcast to the indexed shape");
            }
            inputs.push(v.meta);
        }
        Operand::Number(d) => {
            if indexed(call, &x, &without_places(index)?).is_err() {
                indexed(call, &x, index)?;
            }
            if (d.is_complex() && !x.dtype.is_complex()) || x.dtype == DType::UInt8 {
                return unsupported("value of another kind");
            }
        }
    }
    one(call.fresh(&x.shape, &x.strides, x.dtype, &inputs))
}

/// An index is made of integers.
pub(crate) fn check_index(t: &In<'_>) -> R<()> {
    if !matches!(t.dtype, DType::Int64 | DType::Int32) {
        return raise("index is not an integer tensor");
    }
    Ok(())
}
fn index_select(call: &Call<'_>) -> R {
    let [x, dim, index] = call.bind(["input", "dim", "index"])?;
    let (x, index) = (tensor(x)?, tensor(index)?);
    check_index(&index)?;
    if x.dim() > 0 && x.shape[wrap_dim(int(dim)?, x.dim())?] == 0 && index.count() != 0 {
        return raise("index into an empty dimension");
    }
    if x.dim() == 0 || index.dim() == 0 || x.count() == 0 {
        return unsupported("0-dim or empty tensors");
    }
    if index.dim() > 1 {
        return raise("index has more than 1 dimension");
    }
    let d = wrap_dim(int(dim)?, x.dim())?;
    let mut shape = x.shape.clone();
    shape[d] = index.shape[0];
    one(call.rows(&shape, x.dtype, &[x.meta]))
}
fn gather(call: &Call<'_>) -> R {
    let [x, dim, index, sparse] = call.bind(["input", "dim", "index", "sparse_grad"])?;
    let (x, index) = (tensor(x)?, tensor(index)?);
    bool_or(sparse, false)?;
    check_index(&index)?;
    let d = wrap_dim(int(dim)?, x.dim())?;
    if x.dim().max(1) != index.dim().max(1) {
        if index.count() == 0 {
            return unsupported("empty index");
        }
        return raise("index has another rank");
    }
    if x.dim() == 0 || index.dim() == 0 {
        return unsupported("0-dim tensors");
    }
    if index.count() > 0 && (0..x.dim()).any(|i| i != d && index.shape[i] > x.shape[i]) {
        return raise("index is larger than the input");
    }
    one(call.rows(&index.shape, x.dtype, &[x.meta]))
}
fn take_along_dim(call: &Call<'_>) -> R {
    let [x, index, dim] = call.bind(["input", "indices", "dim"])?;
    let (x, index) = (tensor(x)?, tensor(index)?);
    if index.dtype != DType::Int64 {
        return raise("indices are not int64");
    }
    if dim.is_none() || x.dim() != index.dim() || x.dim() == 0 {
        return unsupported("take_along_dim of different ranks");
    }
    let d = wrap_dim(int(dim)?, x.dim())?;
    let (mut a, mut b) = (x.shape.clone(), index.shape.clone());
    let along = b[d];
    a[d] = Size::ONE;
    b[d] = Size::ONE;
    let mut shape = broadcast(&a, &b)?;
    shape[d] = along;
    one(call.rows(&shape, x.dtype, &[x.meta]))
}
pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("getitem", "operator.getitem", "__getitem__", getitem)
            .does(INDEXES | TAKES_SIZES | VIEW | SEES_NUMPY)
            .folds(Fold::Item),
        rule("setitem", "operator.setitem", "__setitem__", setitem)
            .does(INDEXES | TAKES_SIZES | SEES_NUMPY)
            .mutates(),
        rule("index_select", "*", "*", index_select),
        rule("gather", "*", "*", gather),
        rule("take_along_dim", "*", "*", take_along_dim),
    ]);
}
