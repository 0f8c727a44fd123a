//! Output shapes and strides of elementwise ops: broadcasting, and the layout that torch's
//! TensorIterator gives an output it allocates. Type promotion is in `promote`.

use smallvec::SmallVec;

use crate::call::{R, raise};
use crate::size::Size;
use crate::types::{
    Dims, channels_last_strides, contiguous_strides, is_channels_last_contiguous, is_contiguous,
};

/// Shape and strides of one input of an elementwise op.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub shape: Dims,
    pub strides: Dims,
}

/// The broadcast of two shapes.
pub(crate) fn broadcast(a: &[Size], b: &[Size]) -> R<Dims> {
    let n = a.len().max(b.len());
    let mut out: Dims = SmallVec::from_elem(Size::ONE, n);
    for (i, size) in out.iter_mut().enumerate() {
        let x = if i + a.len() >= n {
            a[i + a.len() - n]
        } else {
            Size::ONE
        };
        let y = if i + b.len() >= n {
            b[i + b.len() - n]
        } else {
            Size::ONE
        };
        *size = if x == y || y == 1 {
            x
        } else if x == 1 {
            y
        } else {
            return raise(format!("shapes {a:?} and {b:?} do not broadcast"));
        };
    }
    Ok(out)
}

/// Whether the elements fill one block of memory without gaps or overlap.
pub(crate) fn is_dense(shape: &[Size], strides: &[Size]) -> bool {
    if is_contiguous(shape, strides) {
        return true;
    }
    let mut dims: SmallVec<[(Size, Size); 6]> = shape
        .iter()
        .zip(strides)
        .filter(|(size, _)| **size > 1)
        .map(|(size, stride)| (*stride, *size))
        .collect();
    dims.sort_unstable();
    let mut expected = Size::ONE;
    for (stride, size) in dims {
        if stride != expected {
            return false;
        }
        expected *= size;
    }
    true
}

/// The order in which TensorIterator walks dimensions, fastest first.
fn walk_order(shape: &[Size], operands: &[Dims]) -> SmallVec<[usize; 6]> {
    let n = shape.len();
    let mut perm: SmallVec<[usize; 6]> = (0..n).rev().collect();
    let compare = |d0: usize, d1: usize| -> i32 {
        for strides in operands {
            let (s0, s1) = (strides[d0], strides[d1]);
            if s0 == 0 || s1 == 0 {
                continue;
            }
            if s0 < s1 {
                return -1;
            }
            if s0 > s1 || shape[d0] > shape[d1] {
                return 1;
            }
        }
        0
    };
    for i in 1..n {
        let mut d1 = i;
        for d0 in (0..i).rev() {
            let order = compare(perm[d0], perm[d1]);
            if order > 0 {
                perm.swap(d0, d1);
                d1 = d0;
            } else if order < 0 {
                break;
            }
        }
    }
    perm
}

/// Dense strides for `shape` that follow the walking order.
fn strides_along(shape: &[Size], order: &[usize]) -> Dims {
    let mut strides: Dims = SmallVec::from_elem(Size::ONE, shape.len());
    let mut step = Size::ONE;
    for &d in order {
        strides[d] = step;
        step *= shape[d].max(1);
    }
    strides
}

/// Strides of `torch.empty_like(x)`: those of x where it is dense, else dense ones in x's order.
pub(crate) fn preserved_strides(shape: &[Size], strides: &[Size]) -> Dims {
    if is_dense(shape, strides) {
        return SmallVec::from_slice(strides);
    }
    let order = walk_order(shape, &[SmallVec::from_slice(strides)]);
    strides_along(shape, &order)
}

/// Shape and strides of the output that an elementwise op allocates.
pub(crate) fn output_layout(operands: &[Layout]) -> R<Layout> {
    let mut shape: Dims = Dims::new();
    let mut same = true;
    let scalars = operands.iter().any(|o| o.shape.is_empty());
    let arrays = operands.iter().any(|o| !o.shape.is_empty());
    if scalars && arrays {
        same = false;
    }
    for op in operands {
        if shape.is_empty() {
            shape = op.shape.clone();
        } else if shape != op.shape {
            same = false;
            shape = broadcast(&shape, &op.shape)?;
        }
    }
    if same {
        if operands.iter().all(|o| is_contiguous(&o.shape, &o.strides)) {
            let strides = contiguous_strides(&shape);
            return Ok(Layout { shape, strides });
        }
        let nhwc =
            |o: &Layout| o.shape.len() == 4 && is_channels_last_contiguous(&o.shape, &o.strides);
        if operands.iter().all(nhwc) {
            let strides = channels_last_strides(&shape);
            return Ok(Layout { shape, strides });
        }
        if operands.iter().all(|o| is_dense(&o.shape, &o.strides))
            && operands.iter().all(|o| o.strides == operands[0].strides)
        {
            let strides = operands[0].strides.clone();
            return Ok(Layout { shape, strides });
        }
    }
    let n = shape.len();
    let aligned: Vec<Dims> = operands
        .iter()
        .map(|o| {
            let lead = n - o.shape.len();
            (0..n)
                .map(|d| {
                    if d < lead || (o.shape[d - lead] == 1 && shape[d] != 1) {
                        Size::ZERO
                    } else {
                        o.strides[d - lead]
                    }
                })
                .collect()
        })
        .collect();
    let order = walk_order(&shape, &aligned);
    let strides = strides_along(&shape, &order);
    Ok(Layout { shape, strides })
}
