//! `slice.indices` and what a slice takes out of a sequence or puts into it.

use variables::Var;

use crate::stop::R;
use crate::tx::Tx;

/// A slice applied to a length: `start`, `step` and how many items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// first index (for an empty span: where an assignment inserts)
    pub start: isize,
    /// end as `slice.indices` gives it
    pub stop: isize,
    /// not 0
    pub step: isize,
    /// number of items
    pub count: usize,
}

impl Span {
    /// CPython's `PySlice_AdjustIndices`. `step` is not 0.
    pub fn adjust(start: Option<isize>, stop: Option<isize>, step: isize, len: usize) -> Span {
        let len = len as isize;
        let clip = |i: isize| {
            if i < 0 {
                let i = i.saturating_add(len);
                if i < 0 {
                    if step < 0 { -1 } else { 0 }
                } else {
                    i
                }
            } else if i >= len {
                if step < 0 { len - 1 } else { len }
            } else {
                i
            }
        };
        let start = start.map_or(if step < 0 { len - 1 } else { 0 }, clip);
        let stop = stop.map_or(if step < 0 { -1 } else { len }, clip);
        let count = if step < 0 {
            if stop < start {
                (start - stop - 1) / -step + 1
            } else {
                0
            }
        } else if start < stop {
            (stop - start - 1) / step + 1
        } else {
            0
        };
        Span {
            start,
            stop,
            step,
            count: count as usize,
        }
    }

    /// The indices, in order.
    pub fn indices(self) -> impl Iterator<Item = usize> {
        (0..self.count).map(move |i| (self.start + i as isize * self.step) as usize)
    }
}

impl Tx<'_> {
    /// A slice object applied to a length.
    ///
    /// # Errors
    /// `TypeError` for parts that are no integers, `ValueError` for a step of 0.
    pub fn span(&mut self, slice: &[Var; 3], len: usize) -> R<Span> {
        let step = self.slice_part(&slice[2])?.unwrap_or(1);
        if step == 0 {
            return Err(self.raise("ValueError", "slice step cannot be zero"));
        }
        let step = step.max(-isize::MAX);
        let start = self.slice_part(&slice[0])?;
        let stop = self.slice_part(&slice[1])?;
        Ok(Span::adjust(start, stop, step, len))
    }

    /// One of `start`, `stop`, `step`: clipped to machine size, as CPython does.
    fn slice_part(&mut self, v: &Var) -> R<Option<isize>> {
        use pyo3::prelude::*;
        let v = self.realize(v)?;
        if v.is_none(self.py) {
            return Ok(None);
        }
        if !matches!(v, Var::Tensor(_)) && self.special(&v, "__index__")? == super::Special::Absent
        {
            return Err(self.raise(
                "TypeError",
                "slice indices must be integers or None or have an __index__ method",
            ));
        }
        let o = self.index_obj(&v)?;
        let b = o.bind(self.py);
        Ok(Some(match b.extract::<isize>() {
            Ok(i) => i,
            Err(_) if b.lt(0)? => isize::MIN,
            Err(_) => isize::MAX,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    fn model(start: Option<isize>, stop: Option<isize>, step: isize, len: usize) -> Vec<usize> {
        // The definition in the language reference, item by item.
        let n = len as isize;
        let norm = |i: isize| if i < 0 { i + n } else { i };
        let (mut i, end) = if step > 0 {
            (start.map_or(0, norm).max(0), stop.map_or(n, norm).min(n))
        } else {
            (
                start.map_or(n - 1, norm).min(n - 1),
                stop.map_or(-1, |s| norm(s).max(-1)),
            )
        };
        let mut out = vec![];
        while (step > 0 && i < end) || (step < 0 && i > end) {
            if i >= 0 && i < n {
                out.push(i as usize);
            }
            i += step;
        }
        out
    }

    #[test]
    fn spans_agree_with_the_definition() {
        let parts: Vec<Option<isize>> = std::iter::once(None).chain((-7..8).map(Some)).collect();
        for len in 0..6 {
            for &start in &parts {
                for &stop in &parts {
                    for step in [-3, -2, -1, 1, 2, 3] {
                        let got: Vec<usize> =
                            Span::adjust(start, stop, step, len).indices().collect();
                        assert_eq!(
                            got,
                            model(start, stop, step, len),
                            "{start:?}:{stop:?}:{step} of {len}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn extreme_parts_do_not_overflow() {
        assert_eq!(
            Span::adjust(Some(isize::MIN), Some(isize::MAX), 1, 3).count,
            3
        );
        assert_eq!(
            Span::adjust(Some(isize::MAX), Some(isize::MIN), -1, 3).count,
            3
        );
        assert_eq!(Span::adjust(Some(1), None, isize::MAX, 3).count, 1);
        assert_eq!(Span::adjust(None, None, -isize::MAX, 3).count, 1);
    }
}
