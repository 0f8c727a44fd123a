//! Matrix products.

use smallvec::SmallVec;

use crate::call::{
    Call, In, R, bool_or, float_or, int_list, one, opt_tensor, raise, string, tensor, tensors,
    unsupported, wrap_dim,
};
use crate::family::elementwise::{Operand, product};
use crate::iterator::broadcast;
use crate::registry::{Entry, rule};
use crate::size::Size;
use crate::traits::Cast;
use crate::traits::facts::NEVER_RAISES;
use crate::types::{DType, Dims, Ints, TensorMeta, Value, contiguous_strides};

/// The dtype that all have: products convert nothing.
pub(crate) fn same_dtype(inputs: &[&In<'_>]) -> R<DType> {
    let dtype = inputs[0].dtype;
    if inputs.iter().any(|t| t.dtype != dtype) {
        if inputs.iter().any(|t| t.count() == 0) {
            return unsupported("empty operands of different dtypes");
        }
        return raise("operands of different dtypes");
    }
    if dtype == DType::Bool {
        return unsupported("product of bool tensors");
    }
    Ok(dtype)
}

/// The shape of `a @ b`.
fn product_shape(a: &[Size], b: &[Size]) -> R<Dims> {
    let (n, m) = (a.len(), b.len());
    if n == 0 || m == 0 {
        return raise("matmul of a 0-dim tensor");
    }
    let inner = if m == 1 { b[0] } else { b[m - 2] };
    if a[n - 1] != inner {
        return raise(format!("matmul of shapes {a:?} and {b:?}"));
    }
    let mut shape = broadcast(&a[..n.saturating_sub(2)], &b[..m.saturating_sub(2)])?;
    if n > 1 {
        shape.push(a[n - 2]);
    }
    if m > 1 {
        shape.push(b[m - 1]);
    }
    Ok(shape)
}
fn matmul(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "other"])?;
    let (a, b) = (tensor(a)?, tensor(b)?);
    let shape = product_shape(&a.shape, &b.shape)?;
    let dtype = same_dtype(&[&a, &b])?;
    one(call.rows(&shape, dtype, &[a.meta, b.meta]))
}
fn matmul_reversed(call: &Call<'_>) -> R {
    let [b, a] = call.bind(["input", "other"])?;
    let (a, b) = (tensor(a)?, tensor(b)?);
    let shape = product_shape(&a.shape, &b.shape)?;
    let dtype = same_dtype(&[&a, &b])?;
    one(call.rows(&shape, dtype, &[a.meta, b.meta]))
}
fn ranked(call: &Call<'_>, second: &str, ranks: (usize, usize)) -> R {
    let [a, b] = call.bind(["input", second])?;
    let (a, b) = (tensor(a)?, tensor(b)?);
    if (a.dim(), b.dim()) != ranks {
        return raise("wrong number of dimensions");
    }
    if ranks == (3, 3) && a.shape[0] != b.shape[0] {
        return raise("batches differ");
    }
    let shape = product_shape(&a.shape, &b.shape)?;
    let dtype = same_dtype(&[&a, &b])?;
    one(call.rows(&shape, dtype, &[a.meta, b.meta]))
}
fn mm(call: &Call<'_>) -> R {
    ranked(call, "mat2", (2, 2))
}
fn bmm(call: &Call<'_>) -> R {
    ranked(call, "mat2", (3, 3))
}
fn mv(call: &Call<'_>) -> R {
    ranked(call, "vec", (2, 1))
}
fn dot(call: &Call<'_>) -> R {
    ranked(call, "tensor", (1, 1))
}
fn added(call: &Call<'_>, names: [&str; 5], ranks: (usize, usize)) -> R {
    let [c, a, b, beta, alpha] = call.bind(names)?;
    let (c, a, b) = (tensor(c)?, tensor(a)?, tensor(b)?);
    if (a.dim(), b.dim()) != ranks {
        return raise("wrong number of dimensions");
    }
    if ranks == (3, 3) && a.shape[0] != b.shape[0] {
        return raise("batches differ");
    }
    float_or(beta, 1.0)?;
    float_or(alpha, 1.0)?;
    let dtype = same_dtype(&[&a, &b, &c])?;
    if !dtype.is_floating() {
        return unsupported("dtype");
    }
    let shape = product_shape(&a.shape, &b.shape)?;
    if broadcast(&c.shape, &shape)? != shape {
        return raise("addend does not broadcast to the product");
    }
    one(call.rows(&shape, dtype, &[c.meta, a.meta, b.meta]))
}
fn addmm(call: &Call<'_>) -> R {
    added(call, ["input", "mat1", "mat2", "beta", "alpha"], (2, 2))
}
fn baddbmm(call: &Call<'_>) -> R {
    added(call, ["input", "batch1", "batch2", "beta", "alpha"], (3, 3))
}
fn outer(call: &Call<'_>) -> R {
    let [a, b] = call.bind(["input", "vec2"])?;
    let (a, b) = (tensor(a)?, tensor(b)?);
    if a.dim() != 1 || b.dim() != 1 {
        return raise("outer of other than vectors");
    }
    if a.dtype != b.dtype {
        return unsupported("outer of different dtypes");
    }
    one(call.rows(&[a.shape[0], b.shape[0]], a.dtype, &[a.meta, b.meta]))
}
fn linear(call: &Call<'_>) -> R {
    let [x, w, b] = call.bind(["input", "weight", "bias"])?;
    let (x, w, b) = (tensor(x)?, tensor(w)?, opt_tensor(b)?);
    if x.dim() == 0 || w.dim() > 2 || w.dim() == 0 {
        return raise("linear dimensions");
    }
    if x.shape.last() != w.shape.last() {
        return raise("linear input and weight sizes differ");
    }
    let dtype = same_dtype(&[&x, &w])?;
    let mut shape = x.shape.clone();
    shape.pop();
    if w.dim() == 2 {
        shape.push(w.shape[0]);
    } else if b.is_some() {
        return unsupported("linear with a vector weight and bias");
    }
    let mut inputs: SmallVec<[&TensorMeta; 3]> = SmallVec::from_slice(&[x.meta, w.meta]);
    if let Some(b) = &b {
        if b.dtype != dtype {
            return raise("operands of different dtypes");
        }
        if b.dim() != 1 {
            return unsupported("bias of another rank");
        }
        if b.shape[0] != w.shape[0] && (b.shape[0] != 1) {
            return raise("bias size");
        }
        if b.shape[0] != w.shape[0] {
            return unsupported("bias that broadcasts");
        }
        inputs.push(b.meta);
    }
    one(call.rows(&shape, dtype, &inputs))
}
fn bilinear(call: &Call<'_>) -> R {
    let [a, b, w, bias] = call.bind(["input1", "input2", "weight", "bias"])?;
    let (a, b, w, bias) = (tensor(a)?, tensor(b)?, tensor(w)?, opt_tensor(bias)?);
    let dtype = same_dtype(&[&a, &b, &w])?;
    let (n, m) = (a.dim(), b.dim());
    if n == 0 || n != m || w.dim() != 3 || a.shape[..n - 1] != b.shape[..n - 1] {
        return unsupported("arguments of bilinear");
    }
    if a.shape[n - 1] != w.shape[1] || b.shape[n - 1] != w.shape[2] {
        return raise("bilinear sizes");
    }
    if w.shape[1] == 0 || w.shape[2] == 0 {
        return raise("bilinear without features");
    }
    let mut shape = a.shape.clone();
    shape[n - 1] = w.shape[0];
    let mut inputs = vec![a.meta, b.meta, w.meta];
    if let Some(bias) = &bias {
        if bias.dtype != dtype || bias.shape[..] != [w.shape[0]] {
            return unsupported("bias of bilinear");
        }
        inputs.push(bias.meta);
    }
    one(call.rows(&shape, dtype, &inputs))
}
fn tensordot(call: &Call<'_>) -> R {
    let [a, b, dims] = call.bind(["a", "b", "dims"])?;
    let (a, b) = (tensor(a)?, tensor(b)?);
    let (da, db): (Ints, Ints) = match dims {
        Value::None => (
            (a.dim() as i64 - 2..a.dim() as i64).collect(),
            (0..2).collect(),
        ),
        Value::Int(n) if (0..=64).contains(n) => (
            (a.dim() as i64 - n..a.dim() as i64).collect(),
            (0..*n).collect(),
        ),
        other => match other.items() {
            Some([x, y]) => (int_list(x)?, int_list(y)?),
            _ => return unsupported("dims of tensordot"),
        },
    };
    if da.len() != db.len() || a.dtype != b.dtype || da.iter().any(|d| *d < -(a.dim() as i64)) {
        return unsupported("arguments of tensordot");
    }
    let mut gone_a: SmallVec<[bool; 6]> = SmallVec::from_elem(false, a.dim());
    let mut gone_b: SmallVec<[bool; 6]> = SmallVec::from_elem(false, b.dim());
    for (x, y) in da.iter().zip(&db) {
        let (x, y) = (wrap_dim(*x, a.dim())?, wrap_dim(*y, b.dim())?);
        if a.shape[x] != b.shape[y] {
            return unsupported("contracted sizes differ");
        }
        gone_a[x] = true;
        gone_b[y] = true;
    }
    let mut shape: Dims = (0..a.dim())
        .filter(|d| !gone_a[*d])
        .map(|d| a.shape[d])
        .collect();
    shape.extend((0..b.dim()).filter(|d| !gone_b[*d]).map(|d| b.shape[d]));
    let dtype = same_dtype(&[&a, &b])?;
    one(call.rows(&shape, dtype, &[a.meta, b.meta]))
}

/// Two-operand einsum. Its result is a batched product, `(batch, left, right)` row-major, seen
/// in the order of the output's labels.
fn einsum(call: &Call<'_>) -> R {
    let Some((equation, rest)) = call.args.split_first() else {
        return unsupported("einsum form");
    };
    let equation: String = string(equation)?.chars().filter(|c| *c != ' ').collect();
    let operands: Vec<In<'_>> = match rest {
        [list] if list.items().is_some() => tensors(list)?,
        _ => rest.iter().map(tensor).collect::<R<_>>()?,
    };
    let (Some((inputs, output)), [a, b]) = (equation.split_once("->"), operands.as_slice()) else {
        return unsupported("einsum form");
    };
    let Some((la, lb)) = inputs.split_once(',') else {
        return unsupported("einsum form");
    };
    let plain = |s: &str| {
        s.bytes().all(|c| c.is_ascii_alphabetic())
            && s.bytes()
                .enumerate()
                .all(|(i, c)| !s.as_bytes()[..i].contains(&c))
    };
    if !plain(la) || !plain(lb) || !plain(output) {
        return unsupported("einsum with ellipsis or repeated labels");
    }
    if la.len() != a.dim() || lb.len() != b.dim() {
        return raise("einsum labels do not match the dimensions");
    }
    let size_in =
        |labels: &str, t: &In<'_>, c: u8| labels.bytes().position(|l| l == c).map(|d| t.shape[d]);
    let mut contracted = false;
    for c in la.bytes().chain(lb.bytes()) {
        let (x, y) = (size_in(la, a, c), size_in(lb, b, c));
        if let (Some(x), Some(y)) = (x, y) {
            if x != y && x != 1 && y != 1 {
                return raise("einsum sizes differ");
            }
            if x != y {
                return unsupported("einsum that broadcasts");
            }
        }
        if !output.as_bytes().contains(&c) {
            if !(x.is_some_and(|x| x != 1) && y.is_some_and(|y| y != 1)) {
                return unsupported("einsum that sums over one operand");
            }
            contracted = true;
        }
    }
    if !contracted {
        return einsum_product(call, (la, a), (lb, b), output);
    }
    let dtype = same_dtype(&[a, b])?;
    if !dtype.is_floating() || a.count() == 0 || b.count() == 0 {
        return unsupported("einsum dtype or empty operand");
    }
    // batch: in both with size != 1; left: in a only; right: the rest. The operand whose label comes
    // first in the output is the left one.
    let own = |c: u8| {
        let (x, y) = (size_in(la, a, c), size_in(lb, b, c));
        (x.is_some_and(|x| x != 1), y.is_some_and(|y| y != 1))
    };
    let swapped = output.bytes().map(own).find(|(l, r)| l != r) == Some((false, true));
    let mut order: SmallVec<[(u8, u8, Size); 6]> = SmallVec::new();
    for c in output.bytes() {
        let (x, y) = (size_in(la, a, c), size_in(lb, b, c));
        let Some(size) = x.or(y) else {
            return raise("einsum output label is in no operand");
        };
        let (sl, sr) = (x.is_some_and(|x| x != 1), y.is_some_and(|y| y != 1));
        let class = match if swapped { (sr, sl) } else { (sl, sr) } {
            (true, true) => 0,
            (true, false) => 1,
            _ => 2,
        };
        order.push((class, c, size));
    }
    let shape: Dims = order.iter().map(|o| o.2).collect();
    let mut sorted = order.clone();
    sorted.sort_by_key(|o| o.0);
    let laid: Dims = sorted.iter().map(|o| o.2).collect();
    let dense = contiguous_strides(&laid);
    let mut strides: Dims = order
        .iter()
        .map(|o| {
            sorted
                .iter()
                .position(|s| s.1 == o.1)
                .map_or(Size::ONE, |i| dense[i])
        })
        .collect();
    // A dimension of size one is put in where the output has it.
    for d in (0..shape.len()).rev().filter(|d| shape[*d] == 1) {
        match shape.get(d + 1) {
            Some(size) => strides[d] = *size * strides[d + 1],
            None if shape.iter().all(|n| *n == 1) => strides[d] = Size::ONE,
            None => return unsupported("einsum that ends in a dimension of size one"),
        }
    }
    one(call.fresh(&shape, &strides, dtype, &[a.meta, b.meta]))
}

/// An operand of an einsum, seen in the order of the output's labels.
fn labelled<'a>((labels, t): (&str, &In<'a>), output: &str) -> In<'a> {
    let dims = output.bytes().map(|c| labels.bytes().position(|l| l == c));
    let dims: SmallVec<[Option<usize>; 6]> = dims.collect();
    let pick = |of: &Dims| {
        dims.iter()
            .map(|d| d.map_or(Size::ONE, |d| of[d]))
            .collect()
    };
    let mut seen = In::new(t.meta);
    seen.shape = pick(&t.shape);
    seen.strides = pick(&t.strides);
    seen
}

/// An einsum that sums over nothing: both operands, seen in the order of the output's labels, are
/// multiplied, which promotes types.
fn einsum_product(call: &Call<'_>, a: (&str, &In<'_>), b: (&str, &In<'_>), output: &str) -> R {
    let operands = [labelled(a, output), labelled(b, output)];
    let [x, y] = &operands;
    let single = |(x, y): (&Size, &Size)| *x == 1 && *y == 1;
    if output.is_empty() || x.shape.iter().zip(&y.shape).any(single) {
        return unsupported("einsum with a dimension of size one");
    }
    product(call, &operands.map(Operand::Tensor))
}

fn cdist(call: &Call<'_>) -> R {
    let [a, b, p, mode] = call.bind(["x1", "x2", "p", "compute_mode"])?;
    let (a, b) = (tensor(a)?, tensor(b)?);
    float_or(p, 2.0)?;
    if !mode.is_none() {
        string(mode)?;
    }
    let dtype = same_dtype(&[&a, &b])?;
    let (n, m) = (a.dim(), b.dim());
    if n < 2 || m < 2 || !dtype.is_floating() {
        return raise("cdist needs matrices of floats");
    }
    if a.shape[n - 1] != b.shape[m - 1] {
        return raise("cdist sizes");
    }
    let mut shape = broadcast(&a.shape[..n - 2], &b.shape[..m - 2])?;
    shape.push(a.shape[n - 2]);
    shape.push(b.shape[m - 2]);
    one(call.rows(&shape, dtype, &[a.meta, b.meta]))
}
fn cosine_similarity(call: &Call<'_>) -> R {
    let [a, b, dim, eps] = call.bind(["x1", "x2", "dim", "eps"])?;
    let (a, b) = (tensor(a)?, tensor(b)?);
    let dtype = same_dtype(&[&a, &b])?;
    float_or(eps, 1e-8)?;
    if !dtype.is_floating() || !a.contiguous() || !b.contiguous() {
        return unsupported("arguments of cosine_similarity");
    }
    let mut shape = broadcast(&a.shape, &b.shape)?;
    let d = wrap_dim(crate::call::int_or(dim, 1)?, shape.len())?;
    if shape.is_empty() {
        return unsupported("0-dim tensors");
    }
    shape.remove(d);
    one(call.rows(&shape, dtype, &[a.meta, b.meta]))
}

fn pairwise_distance(call: &Call<'_>) -> R {
    let [a, b, p, eps, keep] = call.bind(["x1", "x2", "p", "eps", "keepdim"])?;
    let (a, b) = (tensor(a)?, tensor(b)?);
    let dtype = same_dtype(&[&a, &b])?;
    float_or(p, 2.0)?;
    float_or(eps, 1e-6)?;
    if !dtype.is_floating() || !a.contiguous() || !b.contiguous() || a.shape != b.shape {
        return unsupported("arguments of pairwise_distance");
    }
    let mut shape = a.shape.clone();
    if shape.pop().is_none() || a.count() == 0 {
        return unsupported("0-dim or empty tensors");
    }
    if bool_or(keep, false)? {
        shape.push(Size::ONE);
    }
    one(call.rows(&shape, dtype, &[a.meta, b.meta]))
}
/// The sum of the products of each pair of a batch, added to a matrix.
fn addbmm(call: &Call<'_>) -> R {
    let [c, a, b, beta, alpha] = call.bind(["input", "batch1", "batch2", "beta", "alpha"])?;
    let (c, a, b) = (tensor(c)?, tensor(a)?, tensor(b)?);
    let dtype = same_dtype(&[&c, &a, &b])?;
    float_or(beta, 1.0)?;
    float_or(alpha, 1.0)?;
    if a.dim() != 3 || b.dim() != 3 || a.shape[0] != b.shape[0] || a.shape[2] != b.shape[1] {
        return raise("sizes of addbmm");
    }
    let shape = [a.shape[1], b.shape[2]];
    let plain = c.shape[..] == shape && c.contiguous();
    if !dtype.is_floating() || !plain || a.count() == 0 || b.count() == 0 {
        return unsupported("operands of addbmm");
    }
    one(call.rows(&shape, dtype, &[c.meta, a.meta, b.meta]))
}

pub(crate) fn entries(out: &mut Vec<Entry>) {
    out.extend([
        rule("matmul", "* operator.matmul", "* __matmul__", matmul)
            .does(NEVER_RAISES)
            .cast(Cast::Lower),
        rule("rmatmul", "", "__rmatmul__", matmul_reversed).cast(Cast::Lower),
        rule("mm", "*", "*", mm)
            .does(NEVER_RAISES)
            .cast(Cast::Lower),
        rule("bmm", "*", "*", bmm)
            .does(NEVER_RAISES)
            .cast(Cast::Lower),
        rule("mv", "*", "*", mv).cast_on(Cast::None, Cast::Lower),
        rule("dot", "*", "*", dot).cast_on(Cast::None, Cast::NotDescribed),
        rule("addmm", "*", "*", addmm)
            .does(NEVER_RAISES)
            .cast(Cast::Lower)
            .inplace("", ""),
        rule("baddbmm", "*", "*", baddbmm)
            .does(NEVER_RAISES)
            .cast(Cast::Lower)
            .inplace("", ""),
        rule("outer", "* torch.ger", "* ger", outer).does(NEVER_RAISES),
        rule("linear", "F N", "", linear)
            .does(NEVER_RAISES)
            .cast(Cast::Lower),
        rule("bilinear", "* F", "", bilinear).cast(Cast::NotDescribed),
        rule("tensordot", "*", "", tensordot).cast(Cast::NotDescribed),
        rule("einsum", "*", "", einsum).cast(Cast::NotDescribed),
        rule("cdist", "*", "", cdist).cast(Cast::Single),
        rule("cosine_similarity", "* F", "", cosine_similarity)
            .does(NEVER_RAISES)
            .cast_on(Cast::None, Cast::Single),
        rule("pairwise_distance", "* F", "", pairwise_distance)
            .cast_on(Cast::None, Cast::NotDescribed),
        rule("addbmm", "*", "*", addbmm).cast(Cast::Lower),
    ]);
}
