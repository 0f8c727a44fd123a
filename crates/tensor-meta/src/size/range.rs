//! The ranges of sums, by what symbols are at least, what facts said and what was relied on.
//!
//! Does not live here: what is decided by them (`table`).
//!
//! Invariant: a range has all values that there may be; for rules, a size that is not known is neither 0 nor 1.

use super::Size;
use super::poly::{Atom, Mono, Poly};
use super::table::{Asks, LEAST_UNKNOWN, SizeTable};

/// A range. `None`: no end.
pub(super) type Range = (Option<i128>, Option<i128>);

/// Ends beyond this are none.
const FAR: i128 = 1 << 96;

fn near(n: Option<i128>) -> Option<i128> {
    n.filter(|n| (-FAR..=FAR).contains(n))
}

impl SizeTable {
    /// The range of a sum, by what was relied on as well.
    pub(super) fn range_assuming(&self, poly: &Poly, who: Asks) -> Range {
        let (mut low, mut high) = self.range(poly, who);
        let assumed = self.assumed.iter().filter_map(|assumed| assumed.rest(who));
        for assumed in assumed.chain(self.inherent.iter().cloned()) {
            // What is left when something that is not negative is taken away.
            let rest = poly.add(&assumed, -1);
            let least = rest.and_then(|rest| self.range(&rest, who).0);
            low = least.max(low);
            let sum = poly.add(&assumed, 1);
            let most = sum.and_then(|sum| self.range(&sum, who).1);
            high = [high, most].into_iter().flatten().min();
        }
        (low, high)
    }

    pub(super) fn range(&self, poly: &Poly, who: Asks) -> Range {
        let (mut low, mut high) = (Some(0i128), Some(0i128));
        for term in &poly.terms {
            let times =
                |end: Option<i128>| near(end.and_then(|n| n.checked_mul(i128::from(term.factor))));
            let (a, b) = self.product(&term.atoms, who);
            let (a, b) = match term.factor < 0 {
                true => (times(b), times(a)),
                false => (times(a), times(b)),
            };
            low = low.zip(a).and_then(|(x, y)| near(Some(x + y)));
            high = high.zip(b).and_then(|(x, y)| near(Some(x + y)));
        }
        (low, high)
    }

    /// The range of a product; known where nothing is negative, or of one atom.
    pub(super) fn product(&self, atoms: &Mono, who: Asks) -> Range {
        if let [(atom, 1)] = atoms[..] {
            return self.range_of(atom, who);
        }
        let (mut low, mut high) = (Some(1i128), Some(1i128));
        for (atom, power) in atoms {
            let (a, b) = self.range_of(*atom, who);
            if a.is_none_or(|a| a < 0) {
                return (None, None);
            }
            for _ in 0..*power {
                let times = |x: Option<i128>, y: Option<i128>| {
                    x.zip(y).and_then(|(x, y)| near(x.checked_mul(y)))
                };
                (low, high) = (times(low, a), times(high, b));
            }
        }
        // A product that is too large for its lower end is above zero at least.
        (low.or(Some(0)), high)
    }

    /// What the program said of a symbol that is not known: its range.
    fn said(&self, symbol: u32) -> Range {
        let (mut low, mut high) = (None, None);
        for assumed in &self.assumed {
            match assumed.sum.of_one() {
                Some((Atom::Symbol(of), 1, rest)) if of == symbol => {
                    low = low.max(Some(-i128::from(rest)));
                }
                Some((Atom::Symbol(of), -1, rest)) if of == symbol => {
                    let rest = Some(i128::from(rest));
                    high = [high, rest].into_iter().flatten().min();
                }
                _ => {}
            }
        }
        (low, high)
    }

    pub(super) fn range_of(&self, atom: Atom, who: Asks) -> Range {
        let (mut low, mut high) = self.own_range(atom, who);
        for (of, (least, most)) in &self.ranges {
            if *of == atom {
                low = low.max(*least);
                high = [high, *most].into_iter().flatten().min();
            }
        }
        (low, high)
    }

    /// The range of an atom by what it is, whatever facts say of it.
    fn own_range(&self, atom: Atom, who: Asks) -> Range {
        match atom {
            Atom::Symbol(number) => {
                let bounds = self.symbols[number as usize];
                if !bounds.is_unknown {
                    return (bounds.least.map(i128::from), None);
                }
                let (low, high) = self.said(number);
                let low = low.max(bounds.least.map(i128::from));
                let is_size = low.is_some_and(|low| low >= 0)
                    && high.is_none_or(|high| high >= LEAST_UNKNOWN);
                match who {
                    Asks::Rule if is_size => (low.max(Some(LEAST_UNKNOWN)), high),
                    _ => (low, high),
                }
            }
            Atom::Quotient(number) => {
                let (a, b) = &self.quotients[number as usize];
                let ((low, high), (least, most)) = (self.range(a, who), self.range(b, who));
                let Some(least @ 1..) = least else {
                    return (None, None);
                };
                // By the greatest divisor it is nearest to zero.
                let end = |n: i128, is_near: bool| match (is_near, most) {
                    (false, _) => n.div_euclid(least),
                    (true, Some(most)) => n.div_euclid(most),
                    (true, None) => n.signum().min(0),
                };
                (
                    low.map(|low| end(low, low >= 0)),
                    high.map(|high| end(high, high < 0)),
                )
            }
        }
    }

    /// Keeps that `a` is at least `b + more`, where that says something of the range of atoms: what comes later is decided
    /// by it, such as the number of elements behind an operation whose result may not be empty.
    pub(super) fn keep_range(&mut self, a: Size, b: Size, more: i64) {
        let difference = self.poly(a).add(&self.poly(b), -1);
        let not_negative =
            difference.and_then(|difference| difference.add(&Poly::number(more), -1));
        let Some(not_negative) = not_negative else {
            return;
        };
        let ranges = match not_negative.of_one() {
            Some((atom, factor, rest)) => {
                let (factor, rest) = (i128::from(factor), i128::from(rest));
                // `factor * atom >= -rest`, rounded to where the atom can be.
                vec![match factor > 0 {
                    true => (atom, (Some(-rest.div_euclid(factor)), None)),
                    false => (atom, (None, Some(rest.div_euclid(-factor)))),
                }]
            }
            None => self.factors_above_zero(&not_negative),
        };
        for (atom, range) in ranges {
            // A fact about what is not known while tracing is none that a guard checks.
            if !self.depends_on_unknown(atom) && !self.ranges.contains(&(atom, range)) {
                self.ranges.push((atom, range));
            }
        }
    }

    /// The ranges of the factors of a product of which something is left when a number is taken away: none of them is
    /// zero. Nothing is said where one may be negative.
    fn factors_above_zero(&self, not_negative: &Poly) -> Vec<(Atom, Range)> {
        let [product, number] = &not_negative.terms[..] else {
            return Vec::new();
        };
        let is_above_zero = number.atoms.is_empty() && number.factor < 0 && product.factor > 0;
        let least = |atom: Atom| self.range_of(atom, Asks::Program).0;
        let atoms = || product.atoms.iter().map(|(atom, _)| *atom);
        match is_above_zero && atoms().all(|atom| least(atom) >= Some(0)) {
            true => atoms()
                .filter(|atom| least(*atom) == Some(0))
                .map(|atom| (atom, (Some(1), None)))
                .collect(),
            false => Vec::new(),
        }
    }
}
