//! What facts made equal.
//!
//! Does not live here: which comparisons are facts (`table`).
//!
//! Invariant: an atom is replaced by smaller ones only, so replacing comes to an end.

use super::Size;
use super::poly::Poly;
use super::table::{Asks, Compare, SizeTable};

/// How many sums that are zero are tried for a comparison.
const MOST_ZEROS: usize = 8;

impl SizeTable {
    /// Relies on two sizes being equal.
    pub(super) fn make_equal(&mut self, a: Size, b: Size) {
        let zero = self.poly(a).add(&self.poly(b), -1);
        let Some(zero) = zero else { return };
        // The last one goes, so that nothing is replaced by itself.
        match zero.solved_for_last() {
            Some((gone, by)) if !self.equal.iter().any(|(atom, _)| *atom == gone) => {
                self.equal.push((gone, by));
            }
            _ if self.zeros.len() < MOST_ZEROS && !self.zeros.contains(&zero) => {
                self.zeros.push(zero);
            }
            _ => {}
        }
    }

    /// A size with what facts made equal in place of each other; `None` where that gets too large.
    pub(super) fn reduced(&self, size: Size) -> Option<Poly> {
        self.replaced(self.poly(size))
    }

    pub(super) fn replaced(&self, poly: Poly) -> Option<Poly> {
        // Each is replaced by smaller ones.
        let mut equal: Vec<_> = self.equal.iter().collect();
        equal.sort_by_key(|e| std::cmp::Reverse(e.0));
        let mut equal = equal.into_iter();
        equal.try_fold(poly, |poly, (atom, by)| poly.replace(*atom, by))
    }

    /// `==` or `<` of two sizes, by the sums that are zero: one of the sizes with one of them added.
    pub(super) fn by_zeros(&self, op: Compare, (a, b): (&Poly, &Poly), who: Asks) -> Option<bool> {
        self.zeros.iter().find_map(|zero| {
            [1, -1]
                .into_iter()
                .find_map(|times| self.of_two(op, (a, &b.add(zero, times)?), who))
        })
    }
}
