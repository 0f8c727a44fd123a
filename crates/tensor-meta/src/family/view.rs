//! Views: reshaping, permuting, expanding, slicing without index tensors.

use smallvec::SmallVec;

use crate::call::{
    Call, In, R, identity, int, int_list, int_or, one, raise, size, size_list, size_or, tensor,
    unsupported, wrap_dim,
};
use crate::geometry::{expand_strides, infer_size, view_strides};
use crate::iterator::broadcast;
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::facts::{
    LAYS_OUT, MAY_GIVE_SELF, NEVER_RAISES, ONLY_SIZES, SHARES_DATA, TAKES_SIZES, VIEW, VIEWS,
};
use crate::types::{Dims, Inferred, MemoryFormat, TensorMeta, Value, contiguous_strides};

/// `x` with these sizes: a view where strides allow it, else a row-major copy.
pub(crate) fn reshaped(call: &Call<'_>, x: &In<'_>, shape: &[Size]) -> TensorMeta {
    match view_strides(&x.shape, &x.strides, shape) {
        Some(strides) => call.view(x, shape, &strides, x.start()),
        None => call.rows(shape, x.dtype, &[x.meta]),
    }
}

fn view(call: &Call<'_>) -> R {
    let (x, sizes) = call.bind_varargs("size")?;
    let x = tensor(x)?;
    if let [Value::DType(d)] = sizes {
        if *d == x.dtype && !x.requires_grad {
            return one(call.view(&x, &x.shape, &x.strides, x.start()));
        }
        return unsupported("view as another dtype");
    }
    let sizes = crate::call::sizes(sizes)?;
    view_to(call, &x, &sizes)
}
fn view_to(call: &Call<'_>, x: &In<'_>, sizes: &[Size]) -> R {
    let shape = infer_size(sizes, x.count())?;
    match view_strides(&x.shape, &x.strides, &shape) {
        Some(strides) => one(call.view(x, &shape, &strides, x.start())),
        None => raise("view size is not compatible with the strides"),
    }
}
fn view_as(call: &Call<'_>) -> R {
    let [x, other] = call.bind(["input", "other"])?;
    view_to(call, &tensor(x)?, &tensor(other)?.shape)
}
fn reshape(call: &Call<'_>) -> R {
    let (x, sizes) = call.bind_varargs("shape")?;
    let x = tensor(x)?;
    let shape = infer_size(&crate::call::sizes(sizes)?, x.count())?;
    one(reshaped(call, &x, &shape))
}
fn reshape_function(call: &Call<'_>) -> R {
    let [x, shape] = call.bind(["input", "shape"])?;
    let x = tensor(x)?;
    let Some(sizes) = shape.items() else {
        return raise("shape is not a sequence");
    };
    let shape = infer_size(&crate::call::sizes(sizes)?, x.count())?;
    one(reshaped(call, &x, &shape))
}
fn reshape_as(call: &Call<'_>) -> R {
    let [x, other] = call.bind(["input", "other"])?;
    let (x, other) = (tensor(x)?, tensor(other)?);
    one(reshaped(call, &x, &infer_size(&other.shape, x.count())?))
}

fn flatten(call: &Call<'_>) -> R {
    let [x, start, end] = call.bind(["input", "start_dim", "end_dim"])?;
    let x = tensor(x)?;
    let (start, end) = (
        wrap_dim(int_or(start, 0)?, x.dim())?,
        wrap_dim(int_or(end, -1)?, x.dim())?,
    );
    flattened(call, &x, start, end)
}
fn flattened(call: &Call<'_>, x: &In<'_>, start: usize, end: usize) -> R {
    if start > end {
        return raise("start_dim after end_dim");
    }
    if x.dim() == 0 {
        return one(reshaped(call, x, &[Size::ONE]));
    }
    if start == end {
        return Ok(identity(x.meta));
    }
    let mut shape: Dims = SmallVec::from_slice(&x.shape[..start]);
    shape.push(x.shape[start..=end].iter().product());
    shape.extend_from_slice(&x.shape[end + 1..]);
    one(reshaped(call, x, &shape))
}
fn ravel(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    // A row-major copy (or the tensor itself), viewed as one dimension.
    let shape = [x.count()];
    if x.contiguous() {
        return one(call.view(&x, &shape, &[Size::ONE], x.start()));
    }
    one(call.rows(&shape, x.dtype, &[x.meta]))
}
fn unflatten(call: &Call<'_>) -> R {
    let [x, dim, sizes] = call.bind(["input", "dim", "sizes"])?;
    let x = tensor(x)?;
    if x.dim() == 0 {
        return unsupported("unflatten of a 0-dim tensor");
    }
    let dim = wrap_dim(int(dim)?, x.dim())?;
    let sizes = infer_size(&size_list(sizes)?, x.shape[dim])?;
    if sizes.is_empty() {
        return raise("unflatten needs sizes");
    }
    let mut shape: Dims = SmallVec::from_slice(&x.shape[..dim]);
    shape.extend_from_slice(&sizes);
    shape.extend_from_slice(&x.shape[dim + 1..]);
    view_to(call, &x, &shape)
}

/// A view of `x` with its dimensions in this order.
pub(crate) fn permuted(call: &Call<'_>, x: &In<'_>, order: &[usize]) -> TensorMeta {
    let shape: Dims = order.iter().map(|&d| x.shape[d]).collect();
    let strides: Dims = order.iter().map(|&d| x.strides[d]).collect();
    call.view(x, &shape, &strides, x.start())
}
/// A view that the tensor itself becomes.
fn itself(view: Inferred) -> R {
    match view {
        Inferred::Tensor(view) if !view.requires_grad => Ok(identity(&view)),
        _ => unsupported("view in place of a tensor that requires grad"),
    }
}
fn permute(call: &Call<'_>) -> R {
    let (x, dims) = call.bind_varargs("dims")?;
    let x = tensor(x)?;
    permute_dims(call, &x, &crate::call::ints(dims)?)
}
fn permute_function(call: &Call<'_>) -> R {
    let [x, dims] = call.bind(["input", "dims"])?;
    let x = tensor(x)?;
    let Some(dims) = dims.items() else {
        return raise("dims is not a sequence");
    };
    permute_dims(call, &x, &crate::call::ints(dims)?)
}
fn permute_dims(call: &Call<'_>, x: &In<'_>, dims: &[i64]) -> R {
    if dims.len() != x.dim() {
        return raise("permute needs every dimension");
    }
    let mut order: SmallVec<[usize; 6]> = SmallVec::new();
    for &d in dims {
        let d = wrap_dim(d, x.dim())?;
        if order.contains(&d) {
            return raise("repeated dimension");
        }
        order.push(d);
    }
    one(permuted(call, x, &order))
}
fn swap(call: &Call<'_>, x: &In<'_>, a: i64, b: i64) -> R {
    let (a, b) = (wrap_dim(a, x.dim())?, wrap_dim(b, x.dim())?);
    let mut order: SmallVec<[usize; 6]> = (0..x.dim()).collect();
    if x.dim() > 0 {
        order.swap(a, b);
    }
    one(permuted(call, x, &order))
}
fn transpose(call: &Call<'_>) -> R {
    let [x, a, b] = call.bind(["input", "dim0", "dim1"])?;
    swap(call, &tensor(x)?, int(a)?, int(b)?)
}
fn swapaxes(call: &Call<'_>) -> R {
    let [x, a, b] = call.bind(["input", "axis0", "axis1"])?;
    swap(call, &tensor(x)?, int(a)?, int(b)?)
}
fn t(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    match x.dim() {
        0 | 1 => one(permuted(call, &x, &(0..x.dim()).collect::<Vec<_>>())),
        2 => swap(call, &x, 0, 1),
        _ => raise("t() of more than 2 dimensions"),
    }
}
fn upper_t(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    one(permuted(call, &x, &(0..x.dim()).rev().collect::<Vec<_>>()))
}
/// `getattr(x, name)` without the name.
pub(crate) fn unnamed<'a>(call: &Call<'a>) -> R<Call<'a>> {
    let [_, Value::Str(_)] = call.args else {
        return unsupported("arguments of getattr");
    };
    Ok(Call {
        args: &call.args[..1],
        ..*call
    })
}
fn m_t(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    if x.dim() < 2 {
        return if x.dim() == 1 {
            raise("mT of 1 dimension")
        } else {
            unsupported("mT of a 0-dim tensor")
        };
    }
    swap(call, &x, -2, -1)
}
fn movedim(call: &Call<'_>) -> R {
    let [x, source, destination] = call.bind(["input", "source", "destination"])?;
    let x = tensor(x)?;
    let (source, destination) = (int_list(source)?, int_list(destination)?);
    if source.len() != destination.len() {
        return raise("source and destination differ in length");
    }
    let n = x.dim();
    if n == 0 {
        return unsupported("movedim of a 0-dim tensor");
    }
    let mut order: SmallVec<[Option<usize>; 6]> = SmallVec::from_elem(None, n);
    let mut used: SmallVec<[bool; 6]> = SmallVec::from_elem(false, n);
    for (s, d) in source.iter().zip(&destination) {
        let (s, d) = (wrap_dim(*s, n)?, wrap_dim(*d, n)?);
        if used[s] || order[d].is_some() {
            return raise("repeated dimension");
        }
        used[s] = true;
        order[d] = Some(s);
    }
    let mut rest = (0..n).filter(|d| !used[*d]);
    let order: SmallVec<[usize; 6]> = order
        .into_iter()
        .filter_map(|o| o.or_else(|| rest.next()))
        .collect();
    one(permuted(call, &x, &order))
}

/// The size that `expand` makes of `sizes` (with -1 for "as it is").
fn expand_shape(x: &In<'_>, sizes: &[Size]) -> R<Dims> {
    if sizes.len() < x.dim() {
        return raise("expand to fewer dimensions");
    }
    let lead = sizes.len() - x.dim();
    let mut shape: Dims = Dims::new();
    for (d, &size) in sizes.iter().enumerate() {
        let old = (d >= lead).then(|| x.shape[d - lead]);
        shape.push(match old {
            Some(old) if size == -1 => old,
            None if size == -1 => return raise("-1 for a new dimension"),
            _ if size < 0 => return raise("negative size"),
            Some(old) if old != 1 && old != size => {
                return raise("expanded size does not match");
            }
            _ => size,
        });
    }
    Ok(shape)
}
fn expanded(call: &Call<'_>, x: &In<'_>, shape: &[Size]) -> R {
    let strides = expand_strides(&x.shape, &x.strides, shape);
    one(call.view(x, shape, &strides, x.start()))
}
fn expand(call: &Call<'_>) -> R {
    let (x, sizes) = call.bind_varargs("size")?;
    let x = tensor(x)?;
    let shape = expand_shape(&x, &crate::call::sizes(sizes)?)?;
    expanded(call, &x, &shape)
}
fn expand_as(call: &Call<'_>) -> R {
    let [x, other] = call.bind(["input", "other"])?;
    let (x, other) = (tensor(x)?, tensor(other)?);
    let shape = expand_shape(&x, &other.shape)?;
    expanded(call, &x, &shape)
}
fn broadcast_to(call: &Call<'_>) -> R {
    let (x, size) = call.bind_varargs("size")?;
    let x = tensor(x)?;
    let shape = expand_shape(&x, &crate::call::sizes(size)?)?;
    expanded(call, &x, &shape)
}
fn broadcast_to_function(call: &Call<'_>) -> R {
    if call.args.len() > 2 {
        return raise("size is not a sequence");
    }
    broadcast_to(call)
}

fn squeeze(call: &Call<'_>) -> R {
    let [x, dim] = call.bind(["input", "dim"])?;
    let x = tensor(x)?;
    let mut drop: SmallVec<[bool; 6]> = SmallVec::from_elem(dim.is_none(), x.dim());
    if !dim.is_none() {
        for d in int_list(dim)? {
            let d = wrap_dim(d, x.dim())?;
            if x.dim() == 0 {
                return unsupported("squeeze of a 0-dim tensor");
            }
            if drop[d] {
                return raise("repeated dimension");
            }
            drop[d] = true;
        }
    }
    let keep: Vec<usize> = (0..x.dim())
        .filter(|&d| !(drop[d] && x.shape[d].is_exactly(1)))
        .collect();
    one(permuted(call, &x, &keep))
}
/// `x` with a dimension of size 1 at `dim`.
pub(crate) fn unsqueezed(x: &In<'_>, dim: usize) -> (Dims, Dims) {
    let (mut shape, mut strides) = (x.shape.clone(), x.strides.clone());
    let stride = if dim >= x.dim() {
        Size::ONE
    } else {
        x.shape[dim] * x.strides[dim]
    };
    shape.insert(dim, Size::ONE);
    strides.insert(dim, stride);
    (shape, strides)
}
fn unsqueeze(call: &Call<'_>) -> R {
    let [x, dim] = call.bind(["input", "dim"])?;
    let x = tensor(x)?;
    let dim = wrap_dim(int(dim)?, x.dim() + 1)?;
    let (shape, strides) = unsqueezed(&x, dim);
    one(call.view(&x, &shape, &strides, x.start()))
}

/// `x[start:stop:step]` in one dimension, bounds clamped as Python clamps them.
pub(crate) fn sliced(
    call: &Call<'_>,
    x: &In<'_>,
    dim: usize,
    start: Size,
    stop: Size,
    step: impl Into<Size>,
) -> TensorMeta {
    let step = step.into();
    let size = x.shape[dim];
    let wrap = |i: Size| if i < 0 { i.saturating_add(size) } else { i };
    let start = wrap(start).clamp(0, size);
    let stop = wrap(stop).clamp(start, size);
    part(call, x, dim, start, (stop - start + step - 1) / step, step)
}

/// Every `step`-th of the places in one dimension, of which there are as many.
fn part(
    call: &Call<'_>,
    x: &In<'_>,
    dim: usize,
    start: Size,
    length: Size,
    step: Size,
) -> TensorMeta {
    let (mut shape, mut strides) = (x.shape.clone(), x.strides.clone());
    shape[dim] = length;
    strides[dim] *= step;
    call.view(x, &shape, &strides, x.start() + start * x.strides[dim])
}
fn narrow(call: &Call<'_>) -> R {
    let [x, dim, start, length] = call.bind(["input", "dim", "start", "length"])?;
    let x = tensor(x)?;
    if x.dim() == 0 {
        return raise("narrow of a 0-dim tensor");
    }
    let dim = wrap_dim(int(dim)?, x.dim())?;
    let (start, length, whole) = (size(start)?, size(length)?, x.shape[dim]);
    let start = if start < 0 { start + whole } else { start };
    if start < 0 || length < 0 || start + length > whole {
        return raise("narrow out of range");
    }
    one(part(call, &x, dim, start, length, Size::ONE))
}
/// `x.select(dim, index)`.
pub(crate) fn selected(call: &Call<'_>, x: &In<'_>, dim: usize, index: Size) -> R<TensorMeta> {
    let size = x.shape[dim];
    if index < -size || index >= size {
        return raise(format!("index {index:?} out of range for size {size:?}"));
    }
    let index = if index < 0 { index + size } else { index };
    let (mut shape, mut strides) = (x.shape.clone(), x.strides.clone());
    shape.remove(dim);
    strides.remove(dim);
    Ok(call.view(x, &shape, &strides, x.start() + index * x.strides[dim]))
}
fn select(call: &Call<'_>) -> R {
    let [x, dim, index] = call.bind(["input", "dim", "index"])?;
    let x = tensor(x)?;
    if x.dim() == 0 {
        return raise("select of a 0-dim tensor");
    }
    let dim = wrap_dim(int(dim)?, x.dim())?;
    one(selected(call, &x, dim, size(index)?)?)
}
fn unbind(call: &Call<'_>) -> R {
    let [x, dim] = call.bind(["input", "dim"])?;
    let x = tensor(x)?;
    if x.dim() == 0 {
        return raise("unbind of a 0-dim tensor");
    }
    let dim = wrap_dim(int_or(dim, 0)?, x.dim())?;
    let items = (0..x.shape[dim].fix())
        .map(|i| selected(call, &x, dim, Size::known(i)).map(Inferred::Tensor));
    Ok(Inferred::Tuple(items.collect::<R<_>>()?))
}

/// Consecutive slices of these lengths, which the dimension has.
fn pieces(
    call: &Call<'_>,
    x: &In<'_>,
    dim: usize,
    lengths: impl Iterator<Item = Size>,
) -> Vec<Inferred> {
    let mut start = Size::ZERO;
    lengths
        .map(|n| {
            let piece = part(call, x, dim, start, n, Size::ONE);
            start += n;
            Inferred::Tensor(piece)
        })
        .collect()
}
fn equal_lengths(size: Size, step: Size) -> Vec<Size> {
    let count = if step == 0 {
        1
    } else {
        ((size + step - 1) / step).max(1).fix()
    };
    let last = size - (count - 1) * step;
    let full = std::iter::repeat_n(step, (count - 1) as usize);
    full.chain([last]).collect()
}
fn split(call: &Call<'_>) -> R {
    let [x, sizes, dim] = call.bind(["input", "split_size", "dim"])?;
    split_of(call, x, sizes, dim)
}
fn split_function(call: &Call<'_>) -> R {
    let [x, sizes, dim] = call.bind(["tensor", "split_size_or_sections", "dim"])?;
    split_of(call, x, sizes, dim)
}
fn split_of(call: &Call<'_>, x: &Value<'_>, sizes: &Value<'_>, dim: &Value<'_>) -> R {
    let x = tensor(x)?;
    if x.dim() == 0 {
        return raise("split of a 0-dim tensor");
    }
    let dim = wrap_dim(int_or(dim, 0)?, x.dim())?;
    let whole = x.shape[dim];
    let lengths = match sizes {
        Value::Int(_) | Value::SymInt(_) => {
            let n = size(sizes)?;
            if n < 0 || (n == 0 && whole != 0) {
                return raise("split size");
            }
            equal_lengths(whole, n)
        }
        _ => {
            let lengths = size_list(sizes)?;
            if lengths.iter().any(|n| *n < 0) || lengths.iter().sum::<Size>() != whole {
                return raise("split sizes do not add up");
            }
            lengths.to_vec()
        }
    };
    Ok(Inferred::Tuple(pieces(call, &x, dim, lengths.into_iter())))
}
fn chunk(call: &Call<'_>) -> R {
    let [x, chunks, dim] = call.bind(["input", "chunks", "dim"])?;
    let x = tensor(x)?;
    if x.dim() == 0 {
        return raise("chunk of a 0-dim tensor");
    }
    let dim = wrap_dim(int_or(dim, 0)?, x.dim())?;
    let (whole, chunks) = (x.shape[dim], int(chunks)?);
    if chunks > 1 << 16 {
        return unsupported("very many chunks");
    }
    if chunks <= 0 {
        return raise("chunks must be positive");
    }
    let step = (whole + chunks - 1) / chunks;
    let lengths = if step == 0 && whole == 0 {
        vec![Size::ZERO; chunks as usize]
    } else {
        equal_lengths(whole, step)
    };
    Ok(Inferred::Tuple(pieces(call, &x, dim, lengths.into_iter())))
}
fn tensor_split(call: &Call<'_>) -> R {
    let either = ["indices", "sections"];
    let named = call.kwargs.iter().find(|(key, _)| either.contains(key));
    let [x, sections, dim] = match named {
        Some((key, _)) => call.bind(["input", key, "dim"])?,
        None => call.bind(["input", "indices_or_sections", "dim"])?,
    };
    let x = tensor(x)?;
    if x.dim() == 0 {
        return raise("tensor_split of a 0-dim tensor");
    }
    let dim = wrap_dim(int_or(dim, 0)?, x.dim())?;
    let whole = x.shape[dim];
    let mut items = Vec::new();
    match sections {
        Value::Int(_) => {
            let n = &int(sections)?;
            if *n > 1 << 16 {
                return unsupported("very many sections");
            }
            if *n <= 0 {
                return raise("sections must be positive");
            }
            let lengths = (0..*n).map(|i| whole / *n + i64::from(whole % *n > i));
            items = pieces(call, &x, dim, lengths);
        }
        _ => {
            let mut start = Size::ZERO;
            for end in size_list(sections)?.into_iter().chain([whole]) {
                items.push(Inferred::Tensor(sliced(call, &x, dim, start, end, 1)));
                start = end;
            }
        }
    }
    Ok(Inferred::Tuple(items))
}

/// `hsplit` and its like: in a number of equal parts, or at these places, along a dimension that the rank decides.
fn split_along(call: &Call<'_>, rank: usize, dim: usize) -> R {
    let [x, sections] = call.bind(["input", "sections"])?;
    let whole = tensor(x)?;
    if whole.dim() < rank {
        return raise("too few dimensions to split");
    }
    let dim = dim.min(whole.dim() - 1);
    if let Value::Int(n) = sections
        && (*n <= 0 || whole.shape[dim] % *n != 0)
    {
        return raise("sections must be equal");
    }
    let args = [x.clone(), sections.clone(), Value::Int(dim as i64)];
    tensor_split(&Call {
        args: &args,
        kwargs: &[],
        ..*call
    })
}
fn hsplit(call: &Call<'_>) -> R {
    split_along(call, 1, 1)
}
fn vsplit(call: &Call<'_>) -> R {
    split_along(call, 2, 0)
}
fn dsplit(call: &Call<'_>) -> R {
    split_along(call, 3, 2)
}
fn broadcast_tensors(call: &Call<'_>) -> R {
    let all = match call.args {
        [Value::List(items) | Value::Tuple(items)] => items,
        items => items,
    };
    if !call.kwargs.is_empty() || all.is_empty() {
        return unsupported("arguments of broadcast_tensors");
    }
    let all = all.iter().map(tensor).collect::<R<Vec<_>>>()?;
    let mut shape = Dims::new();
    for x in &all {
        shape = broadcast(&shape, &x.shape)?;
    }
    if all.iter().any(|x| x.shape == shape) {
        return unsupported("a tensor that is given back in a tuple");
    }
    let wide = |x: &In<'_>| {
        let strides = expand_strides(&x.shape, &x.strides, &shape);
        Inferred::Tensor(call.view(x, &shape, &strides, x.start()))
    };
    Ok(Inferred::Tuple(all.iter().map(wide).collect()))
}

fn diagonal(call: &Call<'_>) -> R {
    let [x, offset, d1, d2] = call.bind(["input", "offset", "dim1", "dim2"])?;
    let x = tensor(x)?;
    if x.dim() < 2 {
        return raise("diagonal needs 2 dimensions");
    }
    let (d1, d2) = (
        wrap_dim(int_or(d1, 0)?, x.dim())?,
        wrap_dim(int_or(d2, 1)?, x.dim())?,
    );
    if d1 == d2 {
        return raise("diagonal dimensions are equal");
    }
    let offset = int_or(offset, 0)?;
    let size = if offset >= 0 {
        x.shape[d1].min(x.shape[d2] - offset)
    } else {
        (x.shape[d1] + offset).min(x.shape[d2])
    }
    .max(0);
    let mut start = x.start();
    if size > 0 {
        start += if offset >= 0 {
            offset * x.strides[d2]
        } else {
            -offset * x.strides[d1]
        };
    }
    let (mut shape, mut strides) = (x.shape.clone(), x.strides.clone());
    let stride = x.strides[d1] + x.strides[d2];
    for d in [d1.max(d2), d1.min(d2)] {
        shape.remove(d);
        strides.remove(d);
    }
    shape.push(size);
    strides.push(stride);
    one(call.view(&x, &shape, &strides, start))
}
fn unfold(call: &Call<'_>) -> R {
    let [x, dim, size, step] = call.bind(["input", "dimension", "size", "step"])?;
    let x = tensor(x)?;
    let dim = wrap_dim(int(dim)?, x.dim())?;
    let (size, step) = (crate::call::size(size)?, int(step)?);
    let whole = if x.dim() == 0 {
        Size::ONE
    } else {
        x.shape[dim]
    };
    if size < 0 || size > whole || step <= 0 {
        return raise("unfold size or step");
    }
    let (mut shape, mut strides) = (x.shape.clone(), x.strides.clone());
    let stride = if x.dim() == 0 {
        Size::ONE
    } else {
        x.strides[dim]
    };
    shape.push(size);
    strides.push(stride);
    if x.dim() > 0 {
        shape[dim] = (whole - size) / step + 1;
        strides[dim] = step * stride;
    }
    one(call.view(&x, &shape, &strides, x.start()))
}
fn as_strided(call: &Call<'_>) -> R {
    let [x, size, stride, offset] = call.bind(["input", "size", "stride", "storage_offset"])?;
    let x = tensor(x)?;
    let (size, stride) = (size_list(size)?, size_list(stride)?);
    if size.len() != stride.len() || size.iter().chain(&stride).any(|n| *n < 0) {
        return raise("as_strided sizes");
    }
    let offset = size_or(offset, x.start())?;
    let reach = |shape: &[Size], strides: &[Size]| -> Size {
        let ends = shape.iter().zip(strides);
        ends.map(|(n, s)| (*n - 1) * *s).sum()
    };
    if !size.contains(&Size::ZERO) {
        // The storage is known to hold the tensor itself, no more.
        let held = if x.shape.contains(&Size::ZERO) {
            Size::known(-1)
        } else {
            x.start() + reach(&x.shape, &x.strides)
        };
        if offset < 0 || offset + reach(&size, &stride) > held {
            return unsupported("as_strided beyond the tensor");
        }
    }
    one(call.view(&x, &size, &stride, offset))
}

fn detach(call: &Call<'_>) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    let mut meta = call.view(&x, &x.shape, &x.strides, x.start());
    meta.requires_grad = false;
    meta.is_leaf = true;
    one(meta)
}
fn contiguous(call: &Call<'_>) -> R {
    let [x, format] = call.bind(["input", "memory_format"])?;
    let x = tensor(x)?;
    let strides = match format {
        Value::None | Value::MemoryFormat(MemoryFormat::Contiguous) => contiguous_strides(&x.shape),
        Value::MemoryFormat(f) => match format_strides(*f, &x.shape)? {
            Some(strides) => strides,
            None => return unsupported("preserve_format in contiguous"),
        },
        _ => return unsupported("memory format"),
    };
    let already = match format {
        Value::MemoryFormat(MemoryFormat::ChannelsLast | MemoryFormat::ChannelsLast3d) => {
            crate::types::is_channels_last_contiguous(&x.shape, &x.strides)
        }
        _ => x.contiguous(),
    };
    if already {
        return Ok(identity(x.meta));
    }
    one(call.fresh(&x.shape, &strides, x.dtype, &[x.meta]))
}
/// Strides of a format; `None` for `preserve_format`.
///
/// # Errors
/// The format is of another rank.
pub(crate) fn format_strides(format: MemoryFormat, shape: &[Size]) -> R<Option<Dims>> {
    match (format, shape.len()) {
        (MemoryFormat::Preserve, _) => Ok(None),
        (MemoryFormat::Contiguous, _) => Ok(Some(contiguous_strides(shape))),
        (MemoryFormat::ChannelsLast, 4) | (MemoryFormat::ChannelsLast3d, 5) => {
            Ok(Some(crate::types::channels_last_strides(shape)))
        }
        _ => raise("memory format of another rank"),
    }
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    let lines = [
        rule("view", "", "*", view).does(NEVER_RAISES | TAKES_SIZES | ONLY_SIZES | VIEW),
        rule("view_as", "", "*", view_as).does(NEVER_RAISES | VIEW),
        rule("reshape", "", "*", reshape).does(NEVER_RAISES | TAKES_SIZES | ONLY_SIZES | VIEW),
        rule("reshape_function", "torch.reshape", "", reshape_function)
            .does(NEVER_RAISES | TAKES_SIZES | ONLY_SIZES | VIEW),
        rule("reshape_as", "", "*", reshape_as).does(VIEW),
        rule("flatten", "*", "*", flatten).does(NEVER_RAISES | VIEW),
        rule("ravel", "*", "*", ravel).does(VIEW),
        rule("unflatten", "*", "*", unflatten).does(NEVER_RAISES | TAKES_SIZES | ONLY_SIZES | VIEW),
        rule("permute", "", "*", permute).does(NEVER_RAISES | VIEW),
        rule("permute_function", "torch.permute", "", permute_function).does(NEVER_RAISES | VIEW),
        rule("transpose", "*", "*", transpose).does(NEVER_RAISES | VIEW),
        rule("swapaxes", "*", "*", swapaxes).does(NEVER_RAISES | VIEW),
        rule("swapdims", "*", "*", transpose).does(VIEW),
        rule("t", "*", "*", t).does(NEVER_RAISES | VIEW),
        rule("T", "torch.ops.aten.numpy_T", "", upper_t).does(VIEW),
        rule("mT", "torch.adjoint torch.ops.aten.mT", "adjoint", m_t).does(VIEW),
        rule("movedim", "* torch.moveaxis", "* moveaxis", movedim).does(NEVER_RAISES | VIEW),
        rule("expand", "", "*", expand)
            .does(NEVER_RAISES | TAKES_SIZES | ONLY_SIZES | VIEW | MAY_GIVE_SELF),
        rule("expand_as", "", "*", expand_as).does(NEVER_RAISES | VIEW | MAY_GIVE_SELF),
        rule("broadcast_to", "", "*", broadcast_to).does(NEVER_RAISES | TAKES_SIZES | VIEW),
        rule(
            "broadcast_to_function",
            "torch.broadcast_to",
            "",
            broadcast_to_function,
        )
        .does(NEVER_RAISES | TAKES_SIZES | VIEW),
        rule("squeeze", "*", "*", squeeze).does(NEVER_RAISES | VIEW),
        rule("attribute_T", "getattr.T", "", |call| {
            upper_t(&unnamed(call)?)
        })
        .does(VIEW),
        rule("attribute_mT", "getattr.mT", "", |call| {
            m_t(&unnamed(call)?)
        })
        .does(VIEW),
        rule("squeeze_", "", "*", |call| itself(squeeze(call)?)).does(NEVER_RAISES | LAYS_OUT),
        rule("unsqueeze_", "", "*", |call| itself(unsqueeze(call)?)).does(NEVER_RAISES | LAYS_OUT),
        rule("transpose_", "", "* swapdims_", |call| {
            itself(transpose(call)?)
        })
        .does(NEVER_RAISES | LAYS_OUT),
        rule("t_", "", "*", |call| itself(t(call)?)).does(NEVER_RAISES | LAYS_OUT),
        rule("unsqueeze", "*", "*", unsqueeze).does(NEVER_RAISES | VIEW),
        rule("narrow", "*", "*", narrow).does(NEVER_RAISES | TAKES_SIZES | ONLY_SIZES | VIEW),
        rule("select", "*", "*", select).does(NEVER_RAISES | TAKES_SIZES | ONLY_SIZES | VIEW),
        rule("unbind", "*", "*", unbind).does(NEVER_RAISES | VIEWS),
        rule("split", "", "*", split).does(NEVER_RAISES | TAKES_SIZES | VIEWS),
        rule("split_function", "torch.split", "", split_function)
            .does(NEVER_RAISES | TAKES_SIZES | VIEWS),
        rule("split_with_sizes", "*", "*", split_with_sizes).does(TAKES_SIZES | VIEWS),
        rule("chunk", "*", "*", chunk).does(NEVER_RAISES | VIEWS),
        rule("tensor_split", "*", "*", tensor_split).does(VIEWS),
        rule("hsplit", "*", "*", hsplit).does(VIEWS),
        rule("vsplit", "*", "*", vsplit).does(VIEWS),
        rule("dsplit", "*", "*", dsplit).does(VIEWS),
        rule("broadcast_tensors", "*", "", broadcast_tensors),
        rule("diagonal", "*", "*", diagonal).does(VIEW),
        rule("unfold", "", "*", unfold).does(TAKES_SIZES | ONLY_SIZES | VIEW),
        rule("as_strided", "*", "*", as_strided).does(TAKES_SIZES | ONLY_SIZES | VIEW),
        rule("detach", "*", "*", detach).does(NEVER_RAISES | SHARES_DATA),
        rule("contiguous", "", "*", contiguous).does(NEVER_RAISES | VIEW | MAY_GIVE_SELF),
    ];
    out.extend(lines.map(|r| r.any_dtype()));
}
fn split_with_sizes(call: &Call<'_>) -> R {
    let [x, sizes, dim] = call.bind(["input", "split_sizes", "dim"])?;
    split_of(call, x, sizes, dim)
}
