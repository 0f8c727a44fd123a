//! Whether two tensors share memory.
//!
//! Invariant: `false` is a proof that no byte belongs to both; `true` may be cautious (interleaved views that no
//! simple rule separates).

use crate::view::TensorView;

/// Memory of a strided tensor: address of the first element, bytes per element, sizes and strides in elements.
#[derive(Clone, Copy, Debug)]
pub struct Footprint<'a> {
    /// Address of the first element.
    pub start: usize,
    /// Bytes per element.
    pub itemsize: usize,
    /// Size of each dimension.
    pub sizes: &'a [i64],
    /// Stride of each dimension, in elements.
    pub strides: &'a [i64],
}

impl Footprint<'_> {
    /// First byte and the byte after the last.
    fn range(&self) -> (usize, usize) {
        let last: i64 = self
            .sizes
            .iter()
            .zip(self.strides)
            .map(|(n, s)| (n - 1) * s)
            .sum();
        (
            self.start,
            self.start + (usize::try_from(last).unwrap_or(0) + 1) * self.itemsize,
        )
    }

    fn is_empty(&self) -> bool {
        self.sizes.contains(&0)
    }
}

/// Whether the two may share a byte.
pub fn may_overlap(a: &Footprint<'_>, b: &Footprint<'_>) -> bool {
    if a.is_empty() || b.is_empty() {
        return false;
    }
    let ((a_start, a_end), (b_start, b_end)) = (a.range(), b.range());
    if a_end <= b_start || b_end <= a_start {
        return false;
    }
    let (low, high) = if a.start <= b.start { (a, b) } else { (b, a) };
    let distance = high.start - low.start;
    // All addresses of both lie on a grid of `step` bytes; the two may sit at different places of it.
    let strides = |f: &Footprint<'_>| -> Vec<usize> {
        let used = f.sizes.iter().zip(f.strides).filter(|(n, _)| **n > 1);
        used.map(|(_, s)| usize::try_from(*s).unwrap_or(0) * f.itemsize)
            .collect()
    };
    let (low_strides, high_strides) = (strides(low), strides(high));
    let step = low_strides
        .iter()
        .chain(&high_strides)
        .fold(0, |g, &s| gcd(g, s));
    if separated(distance, step, low.itemsize, high.itemsize) {
        return false;
    }
    // Bands of one matrix: every row of both fits between two steps of a common outer stride.
    let outer = low_strides
        .iter()
        .chain(&high_strides)
        .copied()
        .max()
        .unwrap_or(0);
    let inner = |f: &Footprint<'_>, strides: &[usize]| -> Option<usize> {
        let used: Vec<i64> = f.sizes.iter().copied().filter(|n| *n > 1).collect();
        let mut extent = f.itemsize;
        for (&stride, &size) in strides.iter().zip(&used) {
            if stride % outer != 0 {
                extent += stride * usize::try_from(size - 1).ok()?;
            }
        }
        Some(extent)
    };
    match (inner(low, &low_strides), inner(high, &high_strides)) {
        (Some(low_extent), Some(high_extent)) if outer > 0 => {
            !separated(distance, outer, low_extent, high_extent)
        }
        _ => true,
    }
}

/// Whether blocks of these lengths, `distance` apart on a ring of `step` bytes, leave each other alone.
fn separated(distance: usize, step: usize, low: usize, high: usize) -> bool {
    if step == 0 {
        return false;
    }
    let shift = distance % step;
    shift >= low && step - shift >= high
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Whether two live tensors may share memory. Tensors without memory of their own never do.
pub fn tensors_may_overlap(a: &TensorView<'_>, b: &TensorView<'_>) -> bool {
    if a.identity() == b.identity() {
        return true;
    }
    if a.device() != b.device() {
        return false;
    }
    let footprint = |t: &TensorView<'_>| -> Option<(usize, usize)> {
        let itemsize = tensor_meta::DType::from_scalar_type(u16::from(t.dtype()))?.itemsize();
        Some((t.data_ptr()?, itemsize))
    };
    let (Some((a_start, a_item)), Some((b_start, b_item))) = (footprint(a), footprint(b)) else {
        return false;
    };
    let ((a_sizes, a_strides), (b_sizes, b_strides)) = (a.geometry(), b.geometry());
    may_overlap(
        &Footprint {
            start: a_start,
            itemsize: a_item,
            sizes: a_sizes,
            strides: a_strides,
        },
        &Footprint {
            start: b_start,
            itemsize: b_item,
            sizes: b_sizes,
            strides: b_strides,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: (usize, &[i64], &[i64]), b: (usize, &[i64], &[i64])) -> bool {
        let of = |(start, sizes, strides)| Footprint {
            start,
            itemsize: 4,
            sizes,
            strides,
        };
        may_overlap(&of(a), &of(b))
    }

    #[test]
    fn ranges_decide_most_cases() {
        assert!(!check((0, &[4], &[1]), (16, &[4], &[1])));
        assert!(check((0, &[4], &[1]), (12, &[4], &[1])));
        assert!(!check((0, &[0], &[1]), (0, &[4], &[1])));
        assert!(check((0, &[], &[]), (0, &[], &[])));
    }

    #[test]
    fn interleaved_and_banded_views_are_apart() {
        assert!(!check((0, &[5], &[2]), (4, &[5], &[2])), "x[::2], x[1::2]");
        assert!(check((0, &[5], &[2]), (8, &[5], &[2])), "x[::2], x[2::2]");
        assert!(
            !check((0, &[8, 5], &[10, 1]), (20, &[8, 5], &[10, 1])),
            "x[:, :5], x[:, 5:]"
        );
        assert!(
            check((0, &[8, 5], &[10, 1]), (16, &[8, 5], &[10, 1])),
            "x[:, :5], x[:, 4:9]"
        );
        assert!(
            check((0, &[8, 10], &[10, 1]), (16, &[8], &[10])),
            "x, x[:, 4]"
        );
    }

    #[test]
    fn agrees_with_the_sets_of_addresses() {
        let mut cases = 0;
        for (n, s, m, t) in [
            (3, 1, 3, 2),
            (4, 3, 2, 1),
            (5, 2, 5, 2),
            (3, 4, 6, 2),
            (2, 6, 7, 1),
            (4, 4, 4, 6),
        ] {
            for distance in 0..20usize {
                let shared = (0..n).any(|i| (0..m).any(|j| i * s == j * t + distance as i64));
                let said = check((0, &[n], &[s]), (distance * 4, &[m], &[t]));
                assert!(said || !shared, "{n} {s} {m} {t} {distance}");
                cases += usize::from(!said);
            }
        }
        assert!(cases > 40, "the rules separate too little: {cases}");
    }
}
