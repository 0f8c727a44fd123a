//! Strides of views: expand, view-or-copy of reshape.
//!
//! Functions of sizes and strides only.

use smallvec::SmallVec;

use crate::call::{R, raise};
use crate::size::Size;
use crate::types::Dims;

/// Strides of a tensor expanded to `target` (which it must broadcast to). New leading
/// dimensions of size 1 get the stride that `Tensor.expand` gives them.
pub(crate) fn expand_strides(shape: &[Size], strides: &[Size], target: &[Size]) -> Dims {
    let n = target.len();
    let lead = n - shape.len();
    let mut out: Dims = SmallVec::from_elem(Size::ZERO, n);
    if shape.is_empty() {
        return out;
    }
    for d in (0..n).rev() {
        let (size, stride) = if d >= lead {
            (shape[d - lead], strides[d - lead])
        } else if d + 1 < n {
            (Size::ONE, target[d + 1] * out[d + 1])
        } else {
            (Size::ONE, Size::ONE)
        };
        out[d] = if size == target[d] {
            stride
        } else {
            Size::ZERO
        };
    }
    out
}

/// Strides that show the same memory as `shape`, if there are any (torch's `computeStride`).
pub(crate) fn view_strides(old: &[Size], old_strides: &[Size], new: &[Size]) -> Option<Dims> {
    let numel: Size = old.iter().product();
    if old.is_empty() {
        return Some(SmallVec::from_elem(Size::ONE, new.len()));
    }
    let mut out: Dims = SmallVec::from_elem(Size::ONE, new.len());
    if numel == 0 {
        if old == new {
            return Some(SmallVec::from_slice(old_strides));
        }
        for d in (0..new.len()).rev() {
            out[d] = if d + 1 == new.len() {
                Size::ONE
            } else {
                new[d + 1].max(1) * out[d + 1]
            };
        }
        return Some(out);
    }
    let mut view_d = new.len() as isize - 1;
    let mut base = *old_strides.last()?;
    let (mut chunk, mut view_numel) = (Size::ONE, Size::ONE);
    for d in (0..old.len()).rev() {
        chunk *= old[d];
        let ends = d == 0 || (old[d - 1] != 1 && old_strides[d - 1] != chunk * base);
        if !ends {
            continue;
        }
        while view_d >= 0 && (view_numel < chunk || new[view_d as usize] == 1) {
            out[view_d as usize] = view_numel * base;
            view_numel *= new[view_d as usize];
            view_d -= 1;
        }
        if view_numel != chunk {
            return None;
        }
        if d > 0 {
            base = old_strides[d - 1];
            (chunk, view_numel) = (Size::ONE, Size::ONE);
        }
    }
    (view_d == -1).then_some(out)
}

/// Replaces a `-1` in `sizes` by what makes the product `numel`.
pub(crate) fn infer_size(sizes: &[Size], numel: Size) -> R<Dims> {
    let mut known = Size::ONE;
    let mut hole = None;
    for (d, &size) in sizes.iter().enumerate() {
        if size == -1 {
            if hole.is_some() {
                return raise("only one dimension can be inferred");
            }
            hole = Some(d);
        } else if size < 0 {
            return raise("negative size");
        } else {
            known = known.saturating_mul(size);
        }
    }
    let mut out: Dims = SmallVec::from_slice(sizes);
    if let Some(d) = hole {
        if known == 0 || numel % known != 0 {
            return raise(format!("shape {sizes:?} is invalid for {numel:?} elements"));
        }
        out[d] = numel / known;
    } else if known != numel {
        return raise(format!("shape {sizes:?} is invalid for {numel:?} elements"));
    }
    Ok(out)
}
