//! The sizes and strides that tensors from outside had when a code object was compiled before, by the names of their
//! sources: one that had two values is no constant (torch: automatic dynamic shapes).
//!
//! Not here: which of them may change at all (the crate `translator`).

use std::collections::BTreeSet;

use guards::Extent;
use rustc_hash::FxHashMap;

/// Numbers by dimension, `None` where any will do.
pub type Numbers = Vec<Option<i64>>;

/// What tensors were guarded to have.
#[derive(Clone, Debug, Default)]
pub struct Layouts {
    /// sizes
    pub sizes: FxHashMap<String, Numbers>,
    /// strides
    pub strides: FxHashMap<String, Numbers>,
}

impl Layouts {
    /// Learns what a tensor is guarded to have, and adds what had another value before to `names`.
    pub fn learn(
        &mut self,
        names: &mut BTreeSet<String>,
        tensor: &str,
        extent: Extent,
        numbers: &[Option<i64>],
    ) {
        let known = match extent {
            Extent::Size => &mut self.sizes,
            Extent::Stride | Extent::Offset => &mut self.strides,
        };
        let before = known
            .entry(tensor.to_owned())
            .or_insert_with(|| numbers.to_vec());
        if before.len() != numbers.len() {
            return;
        }
        for (dim, (old, new)) in before.iter_mut().zip(numbers).enumerate() {
            match (*old, *new) {
                (Some(a), Some(b)) if a != b => {
                    names.insert(layout_name(tensor, extent, dim));
                }
                (None, new) => *old = new,
                _ => {}
            }
        }
    }

    /// Whether a dimension of a tensor had another size or stride.
    pub fn differs(&self, tensor: &str, extent: Extent, numbers: &[i64], dim: usize) -> bool {
        let known = match extent {
            Extent::Size => &self.sizes,
            Extent::Stride | Extent::Offset => &self.strides,
        };
        let before = known.get(tensor).filter(|b| b.len() == numbers.len());
        before
            .and_then(|b| b[dim])
            .is_some_and(|b| b != numbers[dim])
    }
}

/// The name of a dimension's size or stride: `L['x'].size()[0]`.
pub fn layout_name(tensor: &str, extent: Extent, dim: usize) -> String {
    format!("{tensor}.{}()[{dim}]", extent.method())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_had_two_values_is_named() {
        let (mut known, mut names) = (Layouts::default(), BTreeSet::new());
        known.learn(&mut names, "x", Extent::Stride, &[Some(8), Some(1)]);
        assert!(names.is_empty());
        assert!(known.differs("x", Extent::Stride, &[9, 1], 0));
        assert!(!known.differs("x", Extent::Size, &[1, 4], 1));
        known.learn(&mut names, "x", Extent::Stride, &[Some(9), Some(1)]);
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["x.stride()[0]"]);
    }
}
