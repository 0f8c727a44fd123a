//! Joining, repeating, reordering: results with elements of the inputs in another place.

use smallvec::SmallVec;

use crate::call::{
    Call, In, R, bool_or, float_or, int, int_list, int_or, one, opt_tensor, raise, size_or, string,
    tensor, tensors, unsupported, wrap_dim,
};
use crate::family::elementwise::{Operand, common_type, elementwise};
use crate::family::view::unsqueezed;
use crate::geometry::view_strides;
use crate::iterator::preserved_strides;
use crate::promote::promote_types;
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::facts::{NEVER_RAISES, ONLY_SIZES, TAKES_SIZES};
use crate::types::{
    DType, Dims, Inferred, Ints, MemoryFormat, TensorMeta, Value, channels_last_strides,
    contiguous_strides, suggest_memory_format,
};

fn join_type(call: &Call<'_>, parts: &[In<'_>]) -> R<DType> {
    let operands: Vec<Operand<'_>> = parts.iter().cloned().map(Operand::Tensor).collect();
    common_type(call, &operands)
}
fn joined(call: &Call<'_>, parts: &[In<'_>], dim: i64) -> R {
    if parts.is_empty() {
        return raise("cat of no tensors");
    }
    if parts.iter().any(|p| p.dim() == 0) {
        return raise("cat of a 0-dim tensor");
    }
    let dtype = join_type(call, parts)?;
    let metas: Vec<&TensorMeta> = parts.iter().map(|p| p.meta).collect();
    // A tensor of shape (0,) joins with anything.
    let real: Vec<&In<'_>> = parts
        .iter()
        .filter(|p| p.shape[..] != [Size::ZERO])
        .collect();
    let Some(first) = real.first() else {
        wrap_dim(dim, 1)?;
        return one(call.rows(&[Size::ZERO], dtype, &metas));
    };
    let d = wrap_dim(dim, first.dim())?;
    let mut shape = first.shape.clone();
    shape[d] = Size::ZERO;
    for part in &real {
        if part.dim() != first.dim()
            || (0..first.dim()).any(|i| i != d && part.shape[i] != first.shape[i])
        {
            return raise("cat of tensors of different shapes");
        }
        shape[d] += part.shape[d];
    }
    let layouts: Vec<(&[Size], &[Size])> = parts
        .iter()
        .map(|p| (&p.shape[..], &p.strides[..]))
        .collect();
    let strides = joined_strides(&layouts, &shape);
    one(call.fresh(&shape, &strides, dtype, &metas))
}
/// Strides of a join: channels-last where each part suggests that, else row-major.
fn joined_strides(parts: &[(&[Size], &[Size])], shape: &[Size]) -> Dims {
    let format = |p: &(&[Size], &[Size])| suggest_memory_format(p.0, p.1);
    let common = format(&parts[0]);
    let last = common != MemoryFormat::Contiguous && parts.iter().all(|p| format(p) == common);
    if last {
        channels_last_strides(shape)
    } else {
        contiguous_strides(shape)
    }
}
fn cat(call: &Call<'_>) -> R {
    let [parts, dim] = call.bind(["tensors", "dim"])?;
    joined(call, &tensors(parts)?, int_or(dim, 0)?)
}
fn stack(call: &Call<'_>) -> R {
    let [parts, dim] = call.bind(["tensors", "dim"])?;
    let parts = tensors(parts)?;
    let Some(first) = parts.first() else {
        return raise("stack of no tensors");
    };
    let d = wrap_dim(int_or(dim, 0)?, first.dim() + 1)?;
    if parts.iter().any(|p| p.shape != first.shape) {
        return raise("stack of tensors of different shapes");
    }
    if first.count() == 0 {
        return unsupported("stack of empty tensors");
    }
    let dtype = join_type(call, &parts)?;
    let mut shape = first.shape.clone();
    shape.insert(d, Size::known(parts.len() as i64));
    let metas: Vec<&TensorMeta> = parts.iter().map(|p| p.meta).collect();
    // A stack is a join along an existing dimension that is then split, or, at the end, a join
    // along a new one.
    let strides = if d < first.dim() {
        let mut long = first.shape.clone();
        long[d] *= parts.len() as i64;
        let layouts: Vec<(&[Size], &[Size])> = parts
            .iter()
            .map(|p| (&p.shape[..], &p.strides[..]))
            .collect();
        let strides = joined_strides(&layouts, &long);
        match view_strides(&long, &strides, &shape) {
            Some(strides) => strides,
            None => return unsupported("layout of a stack"),
        }
    } else {
        let thin: Vec<(Dims, Dims)> = parts.iter().map(|p| unsqueezed(p, d)).collect();
        let layouts: Vec<(&[Size], &[Size])> = thin.iter().map(|t| (&t.0[..], &t.1[..])).collect();
        joined_strides(&layouts, &shape)
    };
    one(call.fresh(&shape, &strides, dtype, &metas))
}
fn hstack(call: &Call<'_>) -> R {
    let [parts] = call.bind(["tensors"])?;
    let parts = tensors(parts)?;
    let rank = parts.first().map_or(0, |p| p.dim());
    if rank == 0 || parts.iter().any(|p| p.dim() == 0) {
        return unsupported("hstack of 0-dim tensors");
    }
    joined(call, &parts, i64::from(rank > 1))
}
fn vstack(call: &Call<'_>) -> R {
    let [parts] = call.bind(["tensors"])?;
    let parts = tensors(parts)?;
    if parts.is_empty() {
        return raise("vstack of no tensors");
    }
    if parts.iter().any(|p| p.dim() < 2) {
        return unsupported("vstack of vectors");
    }
    joined(call, &parts, 0)
}

/// Columns side by side: a vector is one.
fn column_stack(call: &Call<'_>) -> R {
    joined_along(call, 1)
}
/// Joined in depth: a matrix is one layer.
fn dstack(call: &Call<'_>) -> R {
    joined_along(call, 2)
}
/// A join along a dimension that tensors of one dimension less get at their end.
fn joined_along(call: &Call<'_>, dim: usize) -> R {
    let [parts] = call.bind(["tensors"])?;
    let parts = tensors(parts)?;
    if parts.iter().any(|p| p.dim() < dim) {
        return unsupported("a stack of tensors of fewer dimensions");
    }
    let whole: Vec<TensorMeta> = parts
        .iter()
        .map(|p| match p.dim() == dim {
            true => {
                let (shape, strides) = unsqueezed(p, dim);
                call.view(p, &shape, &strides, p.start())
            }
            false => p.meta.clone(),
        })
        .collect();
    let whole: Vec<In<'_>> = whole.iter().map(In::new).collect();
    joined(call, &whole, dim as i64)
}
/// Every combination of the elements of vectors, a row for each.
fn cartesian_prod(call: &Call<'_>) -> R {
    let vectors = match call.args {
        [list] if list.items().is_some() => list.items().unwrap_or_default(),
        args => args,
    };
    let vectors = vectors.iter().map(tensor).collect::<R<Vec<_>>>()?;
    if vectors.len() < 2 || !call.kwargs.is_empty() {
        return unsupported("product of one vector");
    }
    if vectors.iter().any(|v| v.dim() != 1) {
        return raise("cartesian_prod of other than vectors");
    }
    if vectors
        .iter()
        .any(|v| v.dtype != vectors[0].dtype || v.count() == 0)
    {
        return unsupported("vectors of cartesian_prod");
    }
    let rows: Size = vectors.iter().map(|v| v.shape[0]).product();
    let metas: Vec<&TensorMeta> = vectors.iter().map(|v| v.meta).collect();
    let shape = [rows, Size::known(vectors.len() as i64)];
    one(call.rows(&shape, vectors[0].dtype, &metas))
}
/// Quarter turns in the plane of two dimensions.
fn rot90(call: &Call<'_>) -> R {
    let [x, k, dims] = call.bind(["input", "k", "dims"])?;
    let (x, k) = (tensor(x)?, int_or(k, 1)?);
    let dims = match dims {
        Value::None => Ints::from_slice(&[0, 1]),
        given => int_list(given)?,
    };
    let [a, b] = dims[..] else {
        return raise("rot90 needs two dimensions");
    };
    if x.dim() < 2 {
        return raise("rot90 needs two dimensions");
    }
    let (a, b) = (wrap_dim(a, x.dim())?, wrap_dim(b, x.dim())?);
    if a == b {
        return raise("rot90 in one dimension");
    }
    if !x.contiguous() || x.count() == 0 {
        return unsupported("layout of rot90's input");
    }
    let (mut shape, mut strides) = (x.shape.clone(), contiguous_strides(&x.shape));
    if k.rem_euclid(2) == 1 {
        shape.swap(a, b);
        strides.swap(a, b);
    }
    one(call.fresh(&shape, &strides, x.dtype, &[x.meta]))
}
fn diagflat(call: &Call<'_>) -> R {
    let [x, offset] = call.bind(["input", "offset"])?;
    let (x, offset) = (tensor(x)?, int_or(offset, 0)?);
    let side = x.count() + offset.abs();
    one(call.rows(&[side, side], x.dtype, &[x.meta]))
}

fn roll(call: &Call<'_>) -> R {
    let [x, shifts, dims] = call.bind(["input", "shifts", "dims"])?;
    let x = tensor(x)?;
    // How far is of no matter for the layout.
    let shifts = crate::call::size_list(shifts)?;
    let dims = if dims.is_none() {
        Ints::new()
    } else {
        int_list(dims)?
    };
    if shifts.is_empty()
        || (dims.is_empty() && shifts.len() != 1)
        || (!dims.is_empty() && dims.len() != shifts.len())
    {
        return raise("roll shifts and dims");
    }
    for d in &dims {
        wrap_dim(*d, x.dim())?;
    }
    if !x.contiguous() || x.dim() == 0 {
        return unsupported("layout of roll's input");
    }
    one(call.rows(&x.shape, x.dtype, &[x.meta]))
}
fn flip(call: &Call<'_>) -> R {
    let (x, dims) = call.bind_varargs("dims")?;
    let x = tensor(x)?;
    let mut seen: SmallVec<[usize; 6]> = SmallVec::new();
    for d in crate::call::ints(dims)? {
        let d = wrap_dim(d, x.dim())?;
        if seen.contains(&d) {
            return raise("repeated dimension");
        }
        seen.push(d);
    }
    let strides = preserved_strides(&x.shape, &x.strides);
    one(call.fresh(&x.shape, &strides, x.dtype, &[x.meta]))
}
fn flip_function(call: &Call<'_>) -> R {
    if call.args.len() > 2 {
        return raise("dims is not a sequence");
    }
    flip(call)
}
fn repeat(call: &Call<'_>) -> R {
    let (x, repeats) = call.bind_varargs("repeats")?;
    repeated(call, &tensor(x)?, &crate::call::sizes(repeats)?)
}
fn repeated(call: &Call<'_>, x: &In<'_>, repeats: &[Size]) -> R {
    if x.count() == 0 && repeats.iter().any(|r| *r < 0) {
        return unsupported("negative repeats of an empty tensor");
    }
    if repeats.len() < x.dim() || repeats.iter().any(|r| *r < 0) {
        return raise("repeat counts");
    }
    let lead = repeats.len() - x.dim();
    let shape: Dims = (0..repeats.len())
        .map(|d| {
            repeats[d]
                * if d < lead {
                    Size::ONE
                } else {
                    x.shape[d - lead]
                }
        })
        .collect();
    one(call.rows(&shape, x.dtype, &[x.meta]))
}
fn tile(call: &Call<'_>) -> R {
    let (x, dims) = call.bind_varargs("dims")?;
    let x = tensor(x)?;
    let dims = crate::call::sizes(dims)?;
    let mut repeats: Dims = SmallVec::from_elem(Size::ONE, x.dim().saturating_sub(dims.len()));
    repeats.extend(dims);
    repeated(call, &x, &repeats)
}
fn repeat_interleave(call: &Call<'_>) -> R {
    let [x, repeats, dim, size] = call.bind(["input", "repeats", "dim", "output_size"])?;
    let x = tensor(x)?;
    if !matches!(repeats, Value::Int(_) | Value::SymInt(_)) {
        return unsupported("data-dependent shape");
    }
    let n = crate::call::size(repeats)?;
    int_or(size, 0)?;
    if n < 0 || !size.is_none() || x.dim() == 0 || x.count() == 0 {
        return unsupported("arguments of repeat_interleave");
    }
    if dim.is_none() {
        return one(call.rows(&[x.count() * n], x.dtype, &[x.meta]));
    }
    let d = wrap_dim(int(dim)?, x.dim())?;
    let mut shape = x.shape.clone();
    shape[d] *= n;
    one(call.rows(&shape, x.dtype, &[x.meta]))
}
/// Numbers and vectors are matrices of one row.
fn block_diag(call: &Call<'_>) -> R {
    let parts = call.args.iter().map(tensor).collect::<R<Vec<_>>>()?;
    if !call.kwargs.is_empty() {
        return unsupported("keyword argument");
    }
    if parts.is_empty() {
        return unsupported("block_diag of no tensors");
    }
    let mut shape: Dims = SmallVec::from_elem(Size::ZERO, 2);
    for part in &parts {
        let (rows, columns) = match part.shape[..] {
            [] => (Size::ONE, Size::ONE),
            [columns] => (Size::ONE, columns),
            [rows, columns] => (rows, columns),
            _ => return raise("block_diag of a tensor of more than two dimensions"),
        };
        shape[0] += rows;
        shape[1] += columns;
    }
    let dtype = join_type(call, &parts)?;
    let metas: Vec<&TensorMeta> = parts.iter().map(|p| p.meta).collect();
    one(call.rows(&shape, dtype, &metas))
}
fn pad_sequence(call: &Call<'_>) -> R {
    let [parts, batch_first, value, side] =
        call.bind(["sequences", "batch_first", "padding_value", "padding_side"])?;
    let parts = tensors(parts)?;
    float_or(value, 0.0)?;
    if !side.is_none() && !matches!(string(side)?, "left" | "right") {
        return raise("pad_sequence on another side");
    }
    let Some(first) = parts.first() else {
        return raise("pad_sequence of no tensors");
    };
    let (dtype, rank) = (first.dtype, first.dim());
    if rank == 0 || parts.iter().any(|p| p.dim() != rank) {
        return unsupported("pad_sequence of tensors of different ranks");
    }
    if parts
        .iter()
        .any(|p| p.dtype != dtype || p.shape[1..] != first.shape[1..])
    {
        return unsupported("pad_sequence of tensors that do not fit each other");
    }
    let mut longest = first.shape[0];
    for part in &parts[1..] {
        if part.shape[0] > longest {
            longest = part.shape[0];
        }
    }
    let count = Size::known(parts.len() as i64);
    let mut shape: Dims = match bool_or(batch_first, false)? {
        true => [count, longest].into_iter().collect(),
        false => [longest, count].into_iter().collect(),
    };
    shape.extend_from_slice(&first.shape[1..]);
    let metas: Vec<&TensorMeta> = parts.iter().map(|p| p.meta).collect();
    one(call.rows(&shape, dtype, &metas))
}
fn meshgrid(call: &Call<'_>) -> R {
    let mut indexing = "ij";
    for (key, value) in call.kwargs {
        match (*key, value) {
            ("indexing", Value::Str(s)) => indexing = s,
            _ => return unsupported("keyword argument"),
        }
    }
    let parts: Vec<In<'_>> = match call.args {
        [list] if list.items().is_some() => tensors(list)?,
        items => items.iter().map(tensor).collect::<R<_>>()?,
    };
    if indexing != "ij" || parts.is_empty() {
        return unsupported("xy indexing");
    }
    if parts.iter().any(|p| p.dim() > 1) {
        return raise("meshgrid of other than vectors");
    }
    if parts.iter().any(|p| p.dtype != parts[0].dtype) {
        return raise("meshgrid dtypes differ");
    }
    if parts.iter().any(|p| p.dim() == 0) {
        return unsupported("0-dim tensors");
    }
    let shape: Dims = parts.iter().map(|p| p.shape[0]).collect();
    let items = parts.iter().enumerate().map(|(i, p)| {
        let mut thin: Dims = SmallVec::from_elem(Size::ONE, shape.len());
        thin[i] = p.shape[0];
        let strides =
            crate::geometry::view_strides(&p.shape, &p.strides, &thin).unwrap_or_default();
        let strides = crate::geometry::expand_strides(&thin, &strides, &shape);
        Inferred::Tensor(call.view(p, &shape, &strides, p.start()))
    });
    Ok(Inferred::Tuple(items.collect()))
}
fn triangle(call: &Call<'_>) -> R {
    let [x, diagonal] = call.bind(["input", "diagonal"])?;
    let x = tensor(x)?;
    size_or(diagonal, 0)?;
    if x.dim() < 2 {
        return raise("tril and triu need matrices");
    }
    if !x.contiguous() {
        return unsupported("layout of tril's input");
    }
    one(call.rows(&x.shape, x.dtype, &[x.meta]))
}
/// A matrix with the elements of a vector on a diagonal, or the elements of one.
fn diag(call: &Call<'_>) -> R {
    let [x, diagonal] = call.bind(["input", "diagonal"])?;
    let (x, offset) = (tensor(x)?, int_or(diagonal, 0)?);
    let shape: Dims = match x.shape[..] {
        [n] => SmallVec::from_elem(n + offset.abs(), 2),
        [rows, columns] => {
            if -rows > offset || columns < offset {
                return unsupported("a diagonal outside of the matrix");
            }
            let (below, right) = ((-offset).max(0), offset.max(0));
            SmallVec::from_elem((rows - below).min(columns - right), 1)
        }
        _ => return raise("diag needs a vector or a matrix"),
    };
    one(call.rows(&shape, x.dtype, &[x.meta]))
}
fn diag_embed(call: &Call<'_>) -> R {
    let [x, offset, d1, d2] = call.bind(["input", "offset", "dim1", "dim2"])?;
    let (x, offset) = (tensor(x)?, int_or(offset, 0)?);
    if x.dim() == 0 {
        return unsupported("diag_embed of a 0-dim tensor");
    }
    let d1 = wrap_dim(int_or(d1, -2)?, x.dim() + 1)?;
    let d2 = wrap_dim(int_or(d2, -1)?, x.dim() + 1)?;
    if d1 == d2 {
        return raise("diagonal dimensions are equal");
    }
    let mut shape = x.shape.clone();
    let size = shape.pop().unwrap_or(Size::ZERO) + offset.abs();
    shape.insert(d1.min(d2), size);
    shape.insert(d1.max(d2), size);
    one(call.rows(&shape, x.dtype, &[x.meta]))
}

/// Differences of neighbours: what a slice minus another gives.
fn diff(call: &Call<'_>) -> R {
    let [x, n, dim, prepend, append] = call.bind(["input", "n", "dim", "prepend", "append"])?;
    let (x, n) = (tensor(x)?, int_or(n, 1)?);
    if x.dim() == 0 {
        return raise("diff of a 0-dim tensor");
    }
    let dim = int_or(dim, -1)?;
    let d = wrap_dim(dim, x.dim())?;
    let mut parts = vec![x];
    if let Some(first) = opt_tensor(prepend)? {
        parts.insert(0, first);
    }
    if let Some(last) = opt_tensor(append)? {
        parts.push(last);
    }
    if n < 1 || parts.iter().any(|p| p.dim() != parts[0].dim()) {
        return unsupported("arguments of diff");
    }
    let mut now = match parts.as_slice() {
        [x] => x.meta.clone(),
        parts => match joined(call, parts, dim)? {
            Inferred::Tensor(meta) => meta,
            _ => return unsupported("arguments of diff"),
        },
    };
    for _ in 0..n {
        let x = In::new(&now);
        if x.shape[d] == 0 {
            return unsupported("diff of nothing");
        }
        let mut shape = x.shape.clone();
        shape[d] -= 1;
        let later = call.view(&x, &shape, &x.strides, x.start() + x.strides[d]);
        let earlier = call.view(&x, &shape, &x.strides, x.start());
        let pair = [
            Operand::Tensor(In::new(&later)),
            Operand::Tensor(In::new(&earlier)),
        ];
        now = elementwise(call, &pair, Some(x.dtype), x.dtype)?;
    }
    one(now)
}
/// `flip` of one dimension, of a tensor with at least so many.
fn flipped(call: &Call<'_>, rank: usize) -> R {
    let [x] = call.bind(["input"])?;
    let x = tensor(x)?;
    if x.dim() < rank {
        return raise("too few dimensions to flip");
    }
    let strides = preserved_strides(&x.shape, &x.strides);
    one(call.fresh(&x.shape, &strides, x.dtype, &[x.meta]))
}
fn fliplr(call: &Call<'_>) -> R {
    flipped(call, 2)
}
fn flipud(call: &Call<'_>) -> R {
    flipped(call, 1)
}
fn histc(call: &Call<'_>) -> R {
    let [x, bins, min, max] = call.bind(["input", "bins", "min", "max"])?;
    let x = tensor(x)?;
    let bins = int_or(bins, 100)?;
    if float_or(min, 0.0)? > float_or(max, 0.0)? || bins <= 0 {
        return raise("histc range");
    }
    if !x.dtype.is_floating() || x.requires_grad {
        return unsupported("histc of this tensor");
    }
    one(call.rows(&[Size::known(bins)], x.dtype, &[x.meta]))
}
fn bucketize(call: &Call<'_>) -> R {
    let [x, edges, int32, right] = call.bind(["input", "boundaries", "out_int32", "right"])?;
    let (x, edges) = (tensor(x)?, tensor(edges)?);
    bool_or(right, false)?;
    if edges.dim() != 1 {
        return raise("boundaries are not a vector");
    }
    if !x.contiguous() || promote_types(x.dtype, edges.dtype)? != x.dtype || x.dtype.is_complex() {
        return unsupported("arguments of bucketize");
    }
    one(call.rows(&x.shape, index_type(int32)?, &[x.meta]))
}

fn index_type(out_int32: &Value<'_>) -> R<DType> {
    Ok(match bool_or(out_int32, false)? {
        true => DType::Int32,
        false => DType::Int64,
    })
}

fn searchsorted(call: &Call<'_>) -> R {
    let [edges, x, int32, right, side, sorter] = call.bind([
        "sorted_sequence",
        "input",
        "out_int32",
        "right",
        "side",
        "sorter",
    ])?;
    let edges = tensor(edges)?;
    bool_or(right, false)?;
    if !side.is_none() || !sorter.is_none() || edges.dtype.is_complex() || !edges.contiguous() {
        return unsupported("arguments of searchsorted");
    }
    let dtype = index_type(int32)?;
    if !matches!(x, Value::Tensor(_)) {
        return unsupported("searchsorted of a number");
    }
    let x = tensor(x)?;
    if x.dtype != edges.dtype || !x.contiguous() || x.dim() == 0 {
        return unsupported("arguments of searchsorted");
    }
    let (n, m) = (x.dim(), edges.dim());
    if m != 1 && (m != n || x.shape[..n - 1] != edges.shape[..n - 1]) {
        return raise("sizes of searchsorted");
    }
    one(call.rows(&x.shape, dtype, &[edges.meta, x.meta]))
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("cat", "* torch.concat torch.concatenate", "", cat).does(NEVER_RAISES),
        rule("stack", "*", "", stack).does(NEVER_RAISES),
        rule("hstack", "*", "", hstack),
        rule("vstack", "* torch.row_stack", "", vstack),
        rule("column_stack", "*", "", column_stack),
        rule("dstack", "*", "", dstack),
        rule("cartesian_prod", "*", "", cartesian_prod),
        rule("rot90", "*", "*", rot90),
        rule("diagflat", "*", "*", diagflat),
        rule("roll", "*", "*", roll).does(NEVER_RAISES | TAKES_SIZES),
        rule("flip", "", "*", flip).does(NEVER_RAISES),
        rule("flip_function", "torch.flip", "", flip_function).does(NEVER_RAISES),
        rule("repeat", "", "*", repeat).does(NEVER_RAISES | TAKES_SIZES | ONLY_SIZES),
        rule("tile", "", "*", tile).does(NEVER_RAISES | TAKES_SIZES | ONLY_SIZES),
        rule("repeat_interleave", "*", "*", repeat_interleave).does(TAKES_SIZES),
        rule("block_diag", "*", "", block_diag),
        rule("meshgrid", "*", "", meshgrid),
        rule(
            "pad_sequence",
            "torch._C._nn.pad_sequence",
            "",
            pad_sequence,
        ),
        rule("tril", "*", "*", triangle)
            .does(NEVER_RAISES | TAKES_SIZES)
            .inplace("", ""),
        rule("triu", "*", "*", triangle)
            .does(NEVER_RAISES | TAKES_SIZES)
            .inplace("", ""),
        rule("diag", "*", "*", diag),
        rule("diag_embed", "*", "*", diag_embed),
        rule("diff", "*", "*", diff),
        rule("fliplr", "*", "*", fliplr),
        rule("flipud", "*", "*", flipud),
        rule("histc", "*", "*", histc),
        rule("bucketize", "*", "", bucketize),
        rule("searchsorted", "*", "", searchsorted),
    ]);
}
