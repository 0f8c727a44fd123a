//! Which values are the same object or share memory: OBJECT_ALIASING, NOT_ALIASING, NO_TENSOR_ALIASING,
//! STORAGE_OVERLAPPING.
//!
//! Invariant: checked after every source of the set is loaded and every tensor is known to be one.

use crate::guard::GuardKind;
use crate::kinds::TextCx;

/// Python text.
pub(crate) fn code_parts(kind: &GuardKind, name: &str, cx: &TextCx<'_>) -> Vec<String> {
    vec![match kind {
        GuardKind::ObjectAliasing { other } => format!("{} is {name}", cx.name(*other)),
        GuardKind::NotAliasing { other } => format!("{} is not {name}", cx.name(*other)),
        GuardKind::NoTensorAliasing { sources } => {
            format!("check_no_aliasing({})", cx.names(sources))
        }
        GuardKind::StorageOverlap {
            overlapping,
            non_overlapping,
        } => format!(
            "check_overlapping(overlapping=[{}], non_overlapping=[{}])",
            cx.names(overlapping),
            cx.names(non_overlapping)
        ),
        _ => String::new(),
    }]
}

#[cfg(feature = "python")]
mod native {
    use torch_abi::overlap::Memory;

    /// The first of `overlapping` that shares memory with none of the others, or the first of `non_overlapping`
    /// that shares memory with any other; as an index into both lists in a row.
    pub(crate) fn first_misplaced(
        overlapping: &[Memory<'_>],
        non_overlapping: &[Memory<'_>],
    ) -> Option<usize> {
        for (i, a) in overlapping.iter().enumerate() {
            let partner = overlapping
                .iter()
                .enumerate()
                .any(|(j, b)| i != j && a.may_overlap(b));
            if !partner {
                return Some(i);
            }
        }
        for (i, a) in non_overlapping.iter().enumerate() {
            let others = non_overlapping
                .iter()
                .enumerate()
                .filter(|(j, _)| *j != i)
                .map(|(_, b)| b);
            if overlapping.iter().chain(others).any(|b| a.may_overlap(b)) {
                return Some(overlapping.len() + i);
            }
        }
        None
    }
}

#[cfg(feature = "python")]
pub(crate) use native::first_misplaced;
