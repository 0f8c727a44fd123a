//! Facts that are too large to be checked at each call: padding to whole windows, a product of many rounded sizes.
//!
//! Sizes that both sides are multiples of do not matter to them, so the number of samples stays a symbol where height and
//! width have to be constants.

use super::poly::{Atom, Mono, Poly, Term};
use super::table::{Compare, Fact, SizeTable};
use super::{Asks, Size};
use crate::types::SymInt;

/// How many nodes an expression may have that is compared at each call.
const MAX_NODES: usize = 48;

impl SizeTable {
    /// Records what is enough for a fact that is too large. `None`: it is not.
    pub(super) fn record_large(&mut self, op: Compare, a: Size, b: Size) -> Option<()> {
        let is_large = |size: Size| self.nodes(&self.poly(size).terms) > MAX_NODES;
        if !is_large(a) && !is_large(b) {
            return None;
        }
        let difference = match self.poly(a).add(&self.poly(b), -1) {
            Some(difference) => difference,
            None => self.reduced(a)?.add(&self.reduced(b)?, -1)?,
        };
        if self.record_small(op, &difference).is_some() {
            return Some(());
        }
        // What is rounded makes it large: with that as constants the rest may be small.
        let rounded = self.rounded(&difference);
        self.make_constant(&rounded)?;
        if self.record_small(op, &difference).is_some() {
            return Some(());
        }
        let rest = self.without_shared(difference);
        let mut atoms = Vec::new();
        self.add_atoms(&rest.terms, &mut atoms);
        self.make_constant(&atoms)
    }

    /// Records a fact about a difference, if it is small with what is equal and what all terms share left out.
    fn record_small(&mut self, op: Compare, difference: &Poly) -> Option<()> {
        let difference = self.replaced(difference.clone())?;
        let rest = self.without_shared(difference);
        let (plus, minus): (Vec<Term>, Vec<Term>) =
            rest.terms.iter().cloned().partition(|term| term.factor > 0);
        if self.nodes(&plus) > MAX_NODES || self.nodes(&minus) > MAX_NODES {
            return None;
        }
        let side = |terms: Vec<Term>| Poly { terms };
        let minus = Poly::default().add(&side(minus), -1)?;
        let (left, right) = (self.sized(side(plus))?, self.sized(minus)?);
        // It may be decided by now.
        if left.is_known() && right.is_known() {
            return Some(());
        }
        self.record(op, left, right);
        Some(())
    }

    /// A size that is too large as an expression, with what is equal left out, and what that relies on. Where `rounds`
    /// says so, what is rounded in it is a constant as well. `None`: it stays too large, or nothing can be said of it.
    pub fn smaller(&mut self, n: SymInt, rounds: bool) -> (Option<SymInt>, Vec<Fact>) {
        let smaller = self.reduced_size(self.size(n), rounds);
        (smaller, std::mem::take(&mut self.facts))
    }

    fn reduced_size(&mut self, size: Size, rounds: bool) -> Option<SymInt> {
        if rounds {
            let rounded = self.rounded(&self.poly(size));
            if rounded.iter().any(|atom| self.depends_on_unknown(*atom)) {
                return None;
            }
            self.make_constant(&rounded)?;
        }
        let reduced = self.reduced(size)?;
        Some(self.intern(reduced, size.hint).into())
    }

    /// What is in quotients, and these.
    fn rounded(&self, poly: &Poly) -> Vec<Atom> {
        let (mut atoms, mut rounded) = (Vec::new(), Vec::new());
        self.add_atoms(&poly.terms, &mut atoms);
        for atom in atoms {
            if let Atom::Quotient(number) = atom {
                let (a, b) = self.quotient(number);
                self.add_atoms(a, &mut rounded);
                self.add_atoms(b, &mut rounded);
                rounded.push(atom);
            }
        }
        rounded
    }

    /// Has atoms be the numbers that they are in this call.
    fn make_constant(&mut self, atoms: &[Atom]) -> Option<()> {
        for atom in atoms {
            let constant = self.sized(Poly::atom(*atom))?;
            match atom {
                Atom::Symbol(_) => {
                    self.record(Compare::Equal, constant, Size::known(constant.hint));
                }
                // It follows from its symbols.
                Atom::Quotient(_) => self.make_equal(constant, Size::known(constant.hint)),
            }
        }
        Some(())
    }

    /// A difference without the factors of all of its terms that are above zero: it has the same sign.
    fn without_shared(&self, difference: Poly) -> Poly {
        let (shared, rest) = difference.factored();
        let (above, others): (Mono, Mono) = shared.into_iter().partition(|(atom, _)| {
            let least = self.range_of(*atom, Asks::Rule).0;
            least.is_some_and(|least| least > 0)
        });
        if above.is_empty() {
            return difference;
        }
        let others = Poly {
            terms: vec![Term {
                factor: 1,
                atoms: others,
            }],
        };
        rest.multiply(&others).unwrap_or(difference)
    }

    /// A dividend and a divisor whose rounded quotient is the same: by what facts made equal the second divides the first,
    /// or they share a size that the quotient does not depend on.
    pub(super) fn simpler_quotient(&self, a: Size, b: Size) -> Option<(Poly, Poly)> {
        let (dividend, divisor) = (self.reduced(a)?, self.reduced(b)?);
        match dividend.divide(&divisor) {
            Some(_) => Some((dividend, divisor)),
            None => self.cancelled(&dividend, &divisor),
        }
    }

    /// A dividend and a divisor without what is above zero in all of their terms: the rounded quotient is the same.
    fn cancelled(&self, dividend: &Poly, divisor: &Poly) -> Option<(Poly, Poly)> {
        let gcd = |mut a: u64, mut b: u64| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        let terms = || dividend.terms.iter().chain(&divisor.terms);
        let number = terms().fold(0, |all, term| gcd(all, term.factor.unsigned_abs()));
        let all = Poly {
            terms: terms().cloned().collect(),
        };
        let mut shared = all.factored().0;
        shared.retain(|(atom, _)| {
            let (least, _) = self.range_of(*atom, Asks::Rule);
            least.is_some_and(|least| least > 0)
        });
        if shared.is_empty() {
            return None;
        }
        let factor = i64::try_from(number).ok().filter(|n| *n > 0)?;
        let by = Poly {
            terms: vec![Term {
                factor,
                atoms: shared,
            }],
        };
        Some((dividend.divide(&by)?, divisor.divide(&by)?))
    }

    /// How many nodes a sum has as an expression.
    fn nodes(&self, terms: &[Term]) -> usize {
        let of_term = |term: &Term| {
            let atoms = term.atoms.iter().map(|(atom, power)| {
                let nodes = match atom {
                    Atom::Symbol(_) => 1,
                    Atom::Quotient(number) => {
                        let (a, b) = self.quotient(*number);
                        self.nodes(a) + self.nodes(b) + 1
                    }
                };
                (nodes + 1) * *power as usize
            });
            let has_number = term.atoms.is_empty() || term.factor.abs() != 1;
            atoms.sum::<usize>() + usize::from(has_number) * 2
        };
        terms.iter().map(of_term).sum()
    }

    /// All atoms that a sum is made of, those within quotients before these.
    fn add_atoms(&self, terms: &[Term], out: &mut Vec<Atom>) {
        for (atom, _) in terms.iter().flat_map(|term| &term.atoms) {
            if let Atom::Quotient(number) = atom {
                let (a, b) = self.quotient(*number);
                self.add_atoms(a, out);
                self.add_atoms(b, out);
            }
            if !out.contains(atom) {
                out.push(*atom);
            }
        }
    }

    /// A sum as a size, with its value for this call.
    fn sized(&mut self, poly: Poly) -> Option<Size> {
        let hint = self.value(&poly.terms)?;
        Some(self.intern(poly, hint))
    }

    fn value(&self, terms: &[Term]) -> Option<i64> {
        terms.iter().try_fold(0i64, |sum, term| {
            let product = term
                .atoms
                .iter()
                .try_fold(term.factor, |out, (atom, power)| {
                    out.checked_mul(self.value_of(*atom)?.checked_pow(*power)?)
                });
            sum.checked_add(product?)
        })
    }

    fn value_of(&self, atom: Atom) -> Option<i64> {
        if let Some(known) = self.known_value(&Poly::atom(atom)) {
            return Some(known);
        }
        let Atom::Quotient(number) = atom else {
            return None;
        };
        let (a, b) = self.quotient(number);
        self.value(a)?.checked_div_euclid(self.value(b)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_fact_leaves_its_shared_sizes_alone() {
        let mut table = SizeTable::default();
        let [n, height, width] = [2, 56, 56].map(|n| table.symbol(n, Some(2)));
        let padded = |n: SymInt| Size::from(n) + (7 - Size::from(n) % 7) % 7;
        let area = || padded(height) * padded(width);
        let (is_empty, facts) = table.scope(|| Size::from(n) * area() == 0);
        assert!(!is_empty);
        let about = |n: SymInt| facts.iter().any(|fact| fact.left == n || fact.right == n);
        assert!(!about(n) && about(height) && about(width));
        // What the constants are part of is small from then on.
        let (is_less, facts) = table.scope(|| area() < Size::from(n) * area());
        assert!(is_less && facts.is_empty());
    }

    #[test]
    fn a_size_is_less_than_a_multiple_of_it() {
        let mut table = SizeTable::default();
        let [n, height, width] = [2, 64, 48].map(|n| table.symbol(n, Some(2)));
        let halved = |n: SymInt| (Size::from(n) - 1).div_floor(2) + 1;
        let (is_less, facts) =
            table.scope(|| halved(width) < Size::from(n) * halved(height) * halved(width) * 8);
        assert!(is_less && facts.is_empty());
    }

    #[test]
    fn what_is_rounded_is_a_constant_in_a_smaller_size() {
        let mut table = SizeTable::default();
        let [n, height, width] = [2, 56, 56].map(|n| table.symbol(n, Some(2)));
        let padded = |n: SymInt| Size::from(n) + (7 - Size::from(n) % 7) % 7;
        let windows = |n: SymInt| padded(n).div_floor(7);
        let (all, _) =
            table.scope(|| SymInt::from(Size::from(n) * windows(height) * windows(width)));
        let (same, facts) = table.smaller(all, false);
        assert!(same == Some(all) && facts.is_empty());
        let (smaller, facts) = table.smaller(all, true);
        let about = |n: SymInt| facts.iter().any(|fact| fact.left == n);
        assert!(!about(n) && about(height) && about(width));
        let smaller = smaller.expect("nothing in it is unknown");
        let (is_times, facts) = table.scope(|| Size::from(smaller) == Size::from(n) * 64);
        assert!(is_times && facts.is_empty());
    }

    #[test]
    fn a_quotient_is_exact_where_what_is_equal_makes_it_so() {
        let mut table = SizeTable::default();
        let [n, height] = [2, 15].map(|n| table.symbol(n, Some(2)));
        let ((), _) = table.scope(|| {
            let halved = (Size::from(height) - 1).div_floor(2) + 1;
            assert!(halved == 8);
            let all = Size::from(n) * halved * 5;
            assert!(all / (Size::from(n) * 8) == 5);
        });
    }

    #[test]
    fn a_quotient_does_not_depend_on_what_both_sides_share() {
        let mut table = SizeTable::default();
        let [n, heads, rows, width] = [2, 4, 12, 5].map(|n| table.symbol(n, Some(2)));
        let batches = || Size::from(n) * Size::from(heads);
        let (is_whole, facts) = table.scope(|| {
            let all = batches() * Size::from(rows) * 7;
            all % (batches() * Size::from(width)) == 0
        });
        assert!(!is_whole);
        let about = |n: SymInt| facts.iter().any(|fact| fact.left == n || fact.right == n);
        assert!(!about(n) && !about(heads));
        let (quotient, _) = table.scope(|| {
            SymInt::from((batches() * Size::from(rows)) / (batches() * Size::from(width)))
        });
        let (plain, _) = table.scope(|| SymInt::from(Size::from(rows) / Size::from(width)));
        assert_eq!(quotient, plain);
    }

    #[test]
    fn what_a_dividend_and_a_divisor_share_cancels() {
        let mut table = SizeTable::default();
        let [n, channels, height] = [3, 4, 15].map(|n| table.symbol(n, Some(2)));
        let (is_whole, facts) = table.scope(|| {
            assert!((Size::from(height) - 1).div_floor(2) == 7);
            let all = Size::from(n) * Size::from(channels) * 6;
            all % (Size::from(n) * 12) == 0
        });
        assert!(is_whole && !facts.iter().any(|fact| fact.left == n || fact.right == n));
    }
}
