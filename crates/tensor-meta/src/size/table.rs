//! The expressions of one translation, and what comparisons of them found.
//!
//! Invariants: an expression is there once; a number is never one. An answer that is not recorded as
//! a fact holds for all values that the symbols may have.

use rustc_hash::FxHashMap;

use super::poly::{Atom, Poly, Term};
use super::range::Range;
use super::{Arithmetic, Size, TABLE};
use crate::types::SymInt;

/// A relation of two sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// `==`
    Equal,
    /// `!=`
    Differ,
    /// `<`
    Less,
    /// `>=`
    NotLess,
}

/// Something that held of sizes, and that a result depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fact {
    /// how they compare
    pub op: Compare,
    /// the left one
    pub left: SymInt,
    /// the right one
    pub right: SymInt,
}

/// Symbols, expressions of them, and facts. Expressions have numbers from 1.
#[derive(Default)]
pub struct SizeTable {
    pub(super) symbols: Vec<Bounds>,
    /// dividend and divisor
    pub(super) quotients: Vec<(Poly, Poly)>,
    exprs: Vec<(Poly, i64)>,
    index: FxHashMap<Poly, u32>,
    pub(super) facts: Vec<Fact>,
    /// symbols that facts made equal to something
    pub(super) equal: Vec<(Atom, Poly)>,
    /// sums that facts made zero, of which no atom follows from the others
    pub(super) zeros: Vec<Poly>,
    /// what the program said is not negative
    pub(super) assumed: Vec<Assumed>,
    /// what is never negative by what symbols are: the larger of two, less one of them
    pub(super) inherent: Vec<Poly>,
    /// what facts say of the range of an atom
    pub(super) ranges: Vec<(Atom, Range)>,
    /// whether a rule had an answer that only a size has that is neither 0 nor 1
    presumes: bool,
}

/// Something that is not negative.
pub(super) struct Assumed {
    pub(super) sum: Poly,
    /// it was said of a size, not of a difference of two
    is_size: bool,
}

impl Assumed {
    /// What is not negative either, for who asks.
    pub(super) fn rest(&self, who: Asks) -> Option<Poly> {
        match who {
            Asks::Rule if self.is_size => self.sum.add(&Poly::number(LEAST_UNKNOWN as i64), -1),
            _ => Some(self.sum.clone()),
        }
    }
}

/// What a symbol is at least.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) least: Option<i64>,
    /// nothing is known of its value: what the program says of it counts
    pub(super) is_unknown: bool,
}

/// How much [`SizeTable`] knows beside its symbols; see [`SizeTable::forget`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    equal: usize,
    zeros: usize,
    assumed: usize,
    ranges: usize,
}

/// Who asks: rules, for which a size that is not known is neither 0 nor 1, as for torch; or the program, which is
/// answered by what is sure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    Rule,
    Program,
}

/// What rules take a size for that is not known while tracing.
pub(super) const LEAST_UNKNOWN: i128 = 2;

impl SizeTable {
    /// A new symbol, whose value is `hint` and can't be below `least`. Gives its expression.
    pub fn symbol(&mut self, hint: i64, least: Option<i64>) -> SymInt {
        self.add_symbol(
            hint,
            Bounds {
                least,
                is_unknown: false,
            },
        )
    }

    /// A new symbol whose value is not known while tracing; `least` is what it is at least, where that is known.
    pub fn unknown(&mut self, hint: i64, least: Option<i64>) -> SymInt {
        self.add_symbol(
            hint,
            Bounds {
                least,
                is_unknown: true,
            },
        )
    }

    fn add_symbol(&mut self, hint: i64, bounds: Bounds) -> SymInt {
        let number = self.symbols.len() as u32;
        self.symbols.push(bounds);
        self.intern(Poly::atom(Atom::Symbol(number)), hint).into()
    }

    /// The larger of two, or the smaller: one of them where that is the same for all values, else a new symbol. `None` of
    /// what is not known while tracing.
    pub fn extreme(&mut self, larger: bool, a: SymInt, b: SymInt) -> Option<SymInt> {
        let (x, y) = (self.poly(self.size(a)), self.poly(self.size(b)));
        if self.has_unknown(&x) || self.has_unknown(&y) {
            return None;
        }
        match self.decided(Compare::Less, a, b) {
            Some(is_less) if is_less == larger => return Some(b),
            Some(_) => return Some(a),
            None => {}
        }
        // What holds of the symbol holds wherever the table is used: nothing of it is by facts.
        let facts = std::mem::take(&mut self.ranges);
        let (least, other) = (
            self.range(&x, Asks::Program).0,
            self.range(&y, Asks::Program).0,
        );
        self.ranges = facts;
        let least = match larger {
            true => least.max(other),
            false => least.zip(other).map(|(a, b)| a.min(b)),
        };
        let (a, b) = (self.size(a).hint, self.size(b).hint);
        let hint = if larger { a.max(b) } else { a.min(b) };
        let symbol = self.symbol(hint, least.and_then(|least| i64::try_from(least).ok()));
        let whole = self.poly(self.size(symbol));
        for part in [x, y] {
            let (more, less) = if larger {
                (&whole, &part)
            } else {
                (&part, &whole)
            };
            self.inherent.extend(more.add(less, -1));
        }
        Some(symbol)
    }

    fn has_unknown(&self, poly: &Poly) -> bool {
        let mut atoms = poly.terms.iter().flat_map(|term| &term.atoms);
        atoms.any(|(atom, _)| match atom {
            Atom::Symbol(n) => self.symbols[*n as usize].is_unknown,
            Atom::Quotient(n) => {
                let (a, b) = &self.quotients[*n as usize];
                self.has_unknown(a) || self.has_unknown(b)
            }
        })
    }

    /// Whether an expression is a symbol whose value is not known while tracing.
    pub fn is_unknown(&self, expr: u32) -> bool {
        let atom = self.expr(expr).and_then(|e| e.0.as_atom());
        matches!(atom, Some(Atom::Symbol(n)) if self.symbols[n as usize].is_unknown)
    }

    /// Whether nobody has said yet that something is the size of a tensor.
    pub fn needs_assuming(&self, n: SymInt) -> bool {
        let sum = self.poly(self.size(n));
        !self
            .assumed
            .iter()
            .any(|known| known.is_size && known.sum == sum)
    }

    /// Relies on a relation, which something else checks.
    pub fn assume(&mut self, op: Compare, a: SymInt, b: SymInt) {
        let (x, y) = (self.size(a), self.size(b));
        let difference = self.poly(x).add(&self.poly(y), -1);
        match (op, difference) {
            (Compare::Equal, _) => self.make_equal(x, y),
            (Compare::NotLess, Some(sum)) => {
                let is_size = b == SymInt::Const(0);
                self.assumed.push(Assumed { sum, is_size });
            }
            (Compare::Less, Some(rest)) => {
                if let Some(sum) = Poly::number(-1).add(&rest, -1) {
                    let is_size = false;
                    self.assumed.push(Assumed { sum, is_size });
                }
            }
            (Compare::Differ, _) | (_, None) => {}
        }
    }

    /// How many symbols there are.
    pub fn symbols(&self) -> usize {
        self.symbols.len()
    }

    fn expr(&self, expr: u32) -> Option<&(Poly, i64)> {
        self.exprs.get((expr as usize).checked_sub(1)?)
    }

    /// The value of an expression for this call.
    pub fn hint(&self, expr: u32) -> i64 {
        self.expr(expr).map_or(0, |e| e.1)
    }

    /// The terms of an expression, to be added.
    pub fn terms(&self, expr: u32) -> &[Term] {
        self.expr(expr).map_or(&[], |e| &e.0.terms)
    }

    /// Dividend and divisor of a quotient, as terms.
    pub fn quotient(&self, number: u32) -> (&[Term], &[Term]) {
        let (a, b) = &self.quotients[number as usize];
        (&a.terms, &b.terms)
    }

    /// Runs `f` with this table at work, and gives what it found of sizes.
    pub fn scope<T>(&mut self, f: impl FnOnce() -> T) -> (T, Vec<Fact>) {
        /// Puts the tables back where they were, however `f` ends.
        struct Swapped<'a>(&'a mut SizeTable);
        impl Swapped<'_> {
            fn swap(&mut self) {
                TABLE.with(|t| std::mem::swap(&mut *t.borrow_mut(), self.0));
            }
        }
        impl Drop for Swapped<'_> {
            fn drop(&mut self) {
                self.swap();
            }
        }
        let mut swapped = Swapped(self);
        swapped.swap();
        let out = f();
        drop(swapped);
        (out, std::mem::take(&mut self.facts))
    }

    /// Whether, since this was asked last, a rule had an answer about sizes that are not known which holds only where
    /// they are neither 0 nor 1.
    pub fn has_presumed(&mut self) -> bool {
        std::mem::take(&mut self.presumes)
    }

    /// Whether a number counts as positive for rules.
    pub fn counts_as_positive(&self, n: SymInt) -> bool {
        self.always(Compare::Less, Size::ZERO, self.size(n), Asks::Rule) == Some(true)
    }

    /// How much is known; see [`SizeTable::forget`].
    pub fn known(&self) -> Known {
        Known {
            equal: self.equal.len(),
            zeros: self.zeros.len(),
            assumed: self.assumed.len(),
            ranges: self.ranges.len(),
        }
    }

    /// Forgets what facts said, and what was relied on, since that much was known.
    pub fn forget(&mut self, known: Known) {
        self.equal.truncate(known.equal);
        self.zeros.truncate(known.zeros);
        self.assumed.truncate(known.assumed);
        self.ranges.truncate(known.ranges);
    }

    /// The sum, difference, product or quotient (rounded down, of a positive divisor).
    pub fn add(&mut self, a: SymInt, b: SymInt) -> SymInt {
        self.of(Arithmetic::Add, a, b)
    }

    /// See [`SizeTable::add`].
    pub fn subtract(&mut self, a: SymInt, b: SymInt) -> SymInt {
        self.of(Arithmetic::Subtract, a, b)
    }

    /// See [`SizeTable::add`].
    pub fn multiply(&mut self, a: SymInt, b: SymInt) -> SymInt {
        self.of(Arithmetic::Multiply, a, b)
    }

    fn of(&mut self, op: Arithmetic, a: SymInt, b: SymInt) -> SymInt {
        let (a, b) = (self.size(a), self.size(b));
        self.combine(op, a, b).into()
    }

    /// `a // b` of a positive number `b`.
    pub fn floor_divide(&mut self, a: SymInt, b: i64) -> SymInt {
        let a = self.size(a);
        debug_assert!(b > 0);
        self.divided(a, Size::known(b), a.hint.div_euclid(b)).into()
    }

    /// `a // b` of any two sizes, and what has to hold for it: that `b` is positive.
    pub fn quotient_of(&mut self, a: SymInt, b: SymInt) -> (SymInt, Vec<Fact>) {
        let quotient = self.of(Arithmetic::Divide, a, b);
        (quotient, std::mem::take(&mut self.facts))
    }

    /// `a // b` where a size was divided so before: what that relies on was told then.
    pub fn known_quotient(&self, a: SymInt, b: SymInt) -> Option<SymInt> {
        let (a, b) = (self.size(a), self.size(b));
        let simpler = self.simpler_quotient(a, b);
        let pair = simpler.unwrap_or_else(|| (self.poly(a), self.poly(b)));
        let number = self.quotients.iter().position(|known| *known == pair)?;
        let atom = Poly::atom(Atom::Quotient(number as u32));
        self.index.get(&atom).map(|expr| SymInt::Expr(*expr))
    }

    /// Whether a relation is one that holds, or one that does not, for all values. `None`: it
    /// depends on them.
    pub fn decided(&self, op: Compare, a: SymInt, b: SymInt) -> Option<bool> {
        let (a, b) = (self.size(a), self.size(b));
        match op {
            Compare::Equal => self.always(Compare::Equal, a, b, Asks::Program),
            Compare::Differ => self.always(Compare::Equal, a, b, Asks::Program).map(|v| !v),
            Compare::Less => self.always(Compare::Less, a, b, Asks::Program),
            Compare::NotLess => self.always(Compare::Less, a, b, Asks::Program).map(|v| !v),
        }
    }

    pub(super) fn size(&self, n: SymInt) -> Size {
        match n {
            SymInt::Const(n) => Size::known(n),
            SymInt::Expr(expr) => Size {
                hint: self.hint(expr),
                expr,
            },
        }
    }

    pub(super) fn poly(&self, size: Size) -> Poly {
        match size.expr {
            0 => Poly::number(size.hint),
            expr => Poly {
                terms: self.terms(expr).to_vec(),
            },
        }
    }

    /// The value of an expression that is in the table.
    pub(super) fn known_value(&self, poly: &Poly) -> Option<i64> {
        Some(self.hint(*self.index.get(poly)?))
    }

    pub(super) fn intern(&mut self, poly: Poly, hint: i64) -> Size {
        if let Some(n) = poly.as_number() {
            return Size::known(n);
        }
        let expr = match self.index.get(&poly) {
            Some(expr) => *expr,
            None => {
                self.exprs.push((poly.clone(), hint));
                let expr = self.exprs.len() as u32;
                self.index.insert(poly, expr);
                expr
            }
        };
        Size { hint, expr }
    }

    pub(super) fn combine(&mut self, op: Arithmetic, a: Size, b: Size) -> Size {
        let hint = match op {
            Arithmetic::Add => a.hint.checked_add(b.hint),
            Arithmetic::Subtract => a.hint.checked_sub(b.hint),
            Arithmetic::Multiply => a.hint.checked_mul(b.hint),
            Arithmetic::Divide => a.hint.checked_div(b.hint),
            Arithmetic::Remainder => a.hint.checked_rem(b.hint),
        };
        let Some(hint) = hint else {
            // What does not fit is no size that exists.
            return self.numbers(a, b, i64::MAX);
        };
        let poly = match op {
            Arithmetic::Add => self.poly(a).add(&self.poly(b), 1),
            Arithmetic::Subtract => self.poly(a).add(&self.poly(b), -1),
            Arithmetic::Multiply => self.poly(a).multiply(&self.poly(b)),
            Arithmetic::Divide | Arithmetic::Remainder => {
                // Python's and Rust's quotients are the same where nothing is negative.
                if a.hint < 0 || b.hint <= 0 {
                    return self.numbers(a, b, hint);
                }
                self.ask(Compare::Less, a, Size::ZERO, Asks::Rule);
                self.ask(Compare::Less, Size::ZERO, b, Asks::Rule);
                let quotient = self.divided(a, b, a.hint / b.hint);
                if matches!(op, Arithmetic::Divide) {
                    return quotient;
                }
                let whole = self.poly(quotient).multiply(&self.poly(b));
                whole.and_then(|whole| self.poly(a).add(&whole, -1))
            }
        };
        match poly {
            Some(poly) => self.intern(poly, hint),
            None => self.numbers(a, b, hint),
        }
    }

    /// `a / b`, rounded down, of a positive `b`.
    pub(super) fn divided(&mut self, a: Size, b: Size, hint: i64) -> Size {
        let mut pair = (self.poly(a), self.poly(b));
        if let Some(exact) = pair.0.divide(&pair.1) {
            return self.intern(exact, hint);
        }
        if let Some(simpler) = self.simpler_quotient(a, b) {
            pair = simpler;
        }
        if let Some(exact) = pair.0.divide(&pair.1) {
            return self.intern(exact, hint);
        }
        let number = match self.quotients.iter().position(|q| *q == pair) {
            Some(at) => at,
            None => {
                self.quotients.push(pair);
                self.quotients.len() - 1
            }
        };
        self.intern(Poly::atom(Atom::Quotient(number as u32)), hint)
    }

    /// A result that is taken for a plain number, and so are what it was made of.
    fn numbers(&mut self, a: Size, b: Size, result: i64) -> Size {
        for size in [a, b] {
            if !size.is_known() {
                self.record(Compare::Equal, size, Size::known(size.hint));
            }
        }
        Size::known(result)
    }

    /// The answer for this call: recorded where it depends on values.
    pub(super) fn ask(&mut self, op: Compare, a: Size, b: Size, who: Asks) -> bool {
        if let Some(answer) = self.always(op, a, b, who) {
            self.presumes |= who == Asks::Rule
                && self.symbols.iter().any(|symbol| symbol.is_unknown)
                && self.always(op, a, b, Asks::Program).is_none();
            return answer;
        }
        match op {
            Compare::Equal => {
                let same = a.hint == b.hint;
                self.record(if same { op } else { Compare::Differ }, a, b);
                same
            }
            _ => {
                let less = a.hint < b.hint;
                self.record(if less { op } else { Compare::NotLess }, a, b);
                less
            }
        }
    }

    pub(super) fn record(&mut self, op: Compare, a: Size, b: Size) {
        if self.record_large(op, a, b).is_some() {
            return;
        }
        let fact = Fact {
            op,
            left: a.into(),
            right: b.into(),
        };
        if !self.facts.contains(&fact) {
            self.facts.push(fact);
        }
        match op {
            Compare::Equal => self.make_equal(a, b),
            Compare::NotLess => self.keep_range(a, b, 0),
            Compare::Less => self.keep_range(b, a, 1),
            Compare::Differ => {}
        }
    }

    pub(super) fn depends_on_unknown(&self, atom: Atom) -> bool {
        match atom {
            Atom::Symbol(number) => self.symbols[number as usize].is_unknown,
            Atom::Quotient(number) => {
                let (a, b) = &self.quotients[number as usize];
                let mut atoms = a.terms.iter().chain(&b.terms).flat_map(|term| &term.atoms);
                atoms.any(|(atom, _)| self.depends_on_unknown(*atom))
            }
        }
    }

    /// `==` or `<`, where it is the same for all values that there may be.
    fn always(&self, op: Compare, a: Size, b: Size, who: Asks) -> Option<bool> {
        let polys = (&self.poly(a), &self.poly(b));
        let sure = self.of_two(op, polys, who);
        if sure.is_some() || self.equal.is_empty() && self.zeros.is_empty() {
            return sure;
        }
        let reduced = match polys.1.add(polys.0, -1) {
            Some(difference) => self.replaced(difference),
            None => self.reduced(b)?.add(&self.reduced(a)?, -1),
        };
        self.of_difference(op, &reduced?, who)
            .or_else(|| self.by_zeros(op, polys, who))
    }

    /// The same by what the two are, whatever facts made equal.
    pub(super) fn of_two(&self, op: Compare, (a, b): (&Poly, &Poly), who: Asks) -> Option<bool> {
        b.add(a, -1)
            .and_then(|difference| self.of_difference(op, &difference, who))
            .or_else(|| self.of_multiples(op, (a, b), who))
    }

    /// The same of a size above zero and a multiple of it: what is between them is how often.
    fn of_multiples(&self, op: Compare, (a, b): (&Poly, &Poly), who: Asks) -> Option<bool> {
        let one = Poly::number(1);
        let is_above_zero = |size: &Poly| self.range(size, who).0.is_some_and(|least| least > 0);
        let difference = match (b.divide(a), a.divide(b)) {
            (Some(times), _) if is_above_zero(a) => times.add(&one, -1),
            (_, Some(times)) if is_above_zero(b) => one.add(&times, -1),
            _ => None,
        };
        self.of_difference(op, &difference?, who)
    }

    /// `0 == difference` or `0 < difference`, where it is the same for all values that there may be.
    fn of_difference(&self, op: Compare, difference: &Poly, who: Asks) -> Option<bool> {
        if let Some(n) = difference.as_number() {
            return Some(match op {
                Compare::Less => n > 0,
                _ => n == 0,
            });
        }
        let (shared, rest) = difference.factored();
        let difference = match self.product(&shared, who).0 {
            Some(1..) => &rest,
            _ => difference,
        };
        let (low, high) = self.range_assuming(difference, who);
        let positive = low.is_some_and(|n| n > 0);
        let negative = high.is_some_and(|n| n < 0);
        match op {
            Compare::Less if positive => Some(true),
            Compare::Less if negative || high == Some(0) => Some(false),
            Compare::Equal if positive || negative => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(
        f: impl FnOnce(&mut SizeTable) -> (SymInt, SymInt),
        op: fn(Size, Size) -> bool,
    ) -> (bool, usize) {
        let mut table = SizeTable::default();
        let (a, b) = f(&mut table);
        let (answer, facts) = table.scope(|| op(a.into(), b.into()));
        (answer, facts.len())
    }

    #[test]
    fn what_always_holds_is_no_fact() {
        let two = |t: &mut SizeTable| (t.symbol(5, Some(2)), t.symbol(7, Some(2)));
        assert_eq!(facts(two, |a, b| a * b * 4 == 4 * b * a), (true, 0));
        assert_eq!(facts(two, |a, b| a * b == b), (false, 0));
        assert_eq!(facts(two, |a, b| b < a * b), (true, 0));
        assert_eq!(facts(two, |a, _| a == 1 || a < 2 || a * 3 == 0), (false, 0));
        assert_eq!(facts(two, |a, b| (a * b * 6) / (b * 3) == a * 2), (true, 0));
        assert_eq!(facts(two, |a, b| (a * b) % b == 0), (true, 0));
        assert_eq!(facts(two, |a, _| (a + 1).max(1) == a + 1), (true, 0));
    }

    #[test]
    fn what_depends_on_values_is_a_fact() {
        let two = |t: &mut SizeTable| (t.symbol(5, Some(2)), t.symbol(7, Some(2)));
        assert_eq!(facts(two, |a, b| a == b), (false, 1));
        assert_eq!(facts(two, |a, b| a < b), (true, 1));
        assert_eq!(facts(two, |a, _| a > 4), (true, 1));
        assert_eq!(facts(two, |a, _| a % 2 == 1), (true, 1));
        assert_eq!(facts(two, |a, b| a.fix() + 2 == b.fix()), (true, 2));
    }

    #[test]
    fn an_equal_sum_is_a_size_from_then_on() {
        let mut table = SizeTable::default();
        let whole = table.symbol(9, Some(0));
        let (a, b) = (table.symbol(4, Some(0)), table.symbol(5, Some(0)));
        let sum = |a: SymInt, b: SymInt| Size::from(a) + Size::from(b);
        let (_, facts) = table.scope(|| sum(a, b) == Size::from(whole));
        assert_eq!(facts.len(), 1);
        let asked = || sum(a, b) == Size::from(whole) && Size::from(b) >= Size::known(0);
        let (answer, facts) = table.scope(asked);
        assert!(answer && facts.is_empty());
    }

    #[test]
    fn a_quotient_is_found_again() {
        let mut table = SizeTable::default();
        let (a, b) = (table.symbol(9, Some(2)), table.symbol(4, Some(2)));
        assert_eq!(table.known_quotient(a, b), None);
        let (quotient, _) = table.quotient_of(a, b);
        assert_eq!(table.known_quotient(a, b), Some(quotient));
    }

    #[test]
    fn what_a_fact_says_of_a_range_is_known_from_then_on() {
        let mut table = SizeTable::default();
        let (n, rows) = (table.symbol(2, Some(2)), table.symbol(16, Some(2)));
        // Two convolutions, one behind the other.
        let halved = |n: Size| (n - 2).div_floor(2) + 1;
        let left = |rows: SymInt| halved(halved(rows.into()));
        let (is_empty, facts) = table.scope(|| left(rows) < 1);
        assert!(!is_empty);
        assert_eq!(facts.len(), 1);
        let known = table.known();
        let (is_one, facts) = table.scope(|| Size::from(n) * left(rows) * left(rows) <= 1);
        assert!(!is_one && facts.is_empty());
        let (is_short, facts) = table.scope(|| Size::from(rows) < 9);
        assert!(!is_short && facts.len() == 1);
        assert_eq!(
            table.decided(Compare::Less, rows, SymInt::Const(8)),
            Some(false)
        );
        table.forget(known);
        assert_eq!(table.decided(Compare::Less, rows, SymInt::Const(8)), None);
    }

    #[test]
    fn quotients_of_what_may_be_negative_have_ends() {
        let mut table = SizeTable::default();
        let n = table.symbol(5, Some(0));
        let less = table.subtract(n, SymInt::Const(3));
        let half = table.floor_divide(less, 2);
        let decided = |least| table.decided(Compare::NotLess, half, SymInt::Const(least));
        assert_eq!((decided(-2), decided(-1)), (Some(true), None));
    }

    #[test]
    fn equal_symbols_are_one_from_then_on() {
        let mut table = SizeTable::default();
        let (a, b) = (table.symbol(5, Some(2)), table.symbol(5, Some(2)));
        let (_, facts) = table.scope(|| {
            let (a, b): (Size, Size) = (a.into(), b.into());
            assert!(a == b && a * 8 == b * 8 && a + 1 >= b);
        });
        assert_eq!(facts.len(), 1);
        table.forget(Known::default());
        assert_eq!(table.decided(Compare::Equal, a, b), None);
    }

    #[test]
    fn what_is_not_known_is_a_size_for_rules_and_nothing_for_the_program() {
        let mut table = SizeTable::default();
        let n = table.unknown(7, None);
        let one = SymInt::Const(1);
        assert_eq!(table.decided(Compare::Less, n, one), None);
        table.assume(Compare::NotLess, n, SymInt::Const(0));
        let known = table.known();
        assert_eq!(table.decided(Compare::Less, n, one), None);
        let (is_one, facts) = table.scope(|| Size::from(n) == 1);
        assert!(!is_one && facts.is_empty());
        table.assume(Compare::Less, n, SymInt::Const(8));
        let twice = table.multiply(n, SymInt::Const(2));
        assert_eq!(
            table.decided(Compare::Less, twice, SymInt::Const(15)),
            Some(true)
        );
        assert_eq!(
            table.decided(Compare::NotLess, n, SymInt::Const(8)),
            Some(false)
        );
        table.forget(known);
        assert_eq!(table.decided(Compare::Less, twice, SymInt::Const(15)), None);
    }

    #[test]
    fn what_rules_presume_of_a_size_is_told() {
        let mut table = SizeTable::default();
        let n = table.unknown(1, Some(0));
        let asked = |table: &mut SizeTable, ask: fn(Size) -> bool| {
            let (answer, facts) = table.scope(|| ask(n.into()));
            (answer, facts.len(), table.has_presumed())
        };
        assert_eq!(asked(&mut table, |n| n == 1), (false, 0, true));
        assert_eq!(asked(&mut table, |n| n < 0), (false, 0, false));
        assert_eq!(asked(&mut table, |n| n.is_exactly(1)), (true, 1, false));
    }

    #[test]
    fn the_larger_of_two_is_at_least_both() {
        let mut table = SizeTable::default();
        let (a, b) = (table.symbol(5, Some(2)), table.symbol(7, Some(0)));
        let larger = table.extreme(true, a, b).unwrap();
        let SymInt::Expr(expr) = larger else {
            panic!("a number");
        };
        assert_eq!(table.hint(expr), 7);
        let smaller = table.extreme(false, a, SymInt::Const(4)).unwrap();
        let decided = |op, x, y| table.decided(op, x, y);
        assert_eq!(decided(Compare::NotLess, larger, a), Some(true));
        assert_eq!(decided(Compare::Less, larger, b), Some(false));
        assert_eq!(
            decided(Compare::Less, larger, SymInt::Const(2)),
            Some(false)
        );
        assert_eq!(
            decided(Compare::Less, smaller, SymInt::Const(5)),
            Some(true)
        );
        assert_eq!(decided(Compare::Less, a, smaller), Some(false));
        assert_eq!(decided(Compare::Equal, larger, b), None);
        // What is sure needs no symbol.
        let one = SymInt::Const(1);
        assert_eq!(table.extreme(true, a, one), Some(a));
        assert_eq!(table.extreme(false, one, a), Some(one));
        let unknown = table.unknown(7, None);
        assert_eq!(table.extreme(true, a, unknown), None);
    }

    #[test]
    fn one_size_is_at_most_another() {
        let mut table = SizeTable::default();
        let (n, size) = (table.unknown(7, Some(0)), table.symbol(9, Some(2)));
        table.assume(Compare::NotLess, size, n);
        assert_eq!(table.decided(Compare::Less, size, n), Some(false));
        let more = table.add(size, SymInt::Const(1));
        assert_eq!(table.decided(Compare::Less, n, more), Some(true));
    }

    #[test]
    fn a_symbol_without_a_bound_may_be_negative() {
        let any = |t: &mut SizeTable| (t.symbol(5, None), t.symbol(7, Some(2)));
        assert_eq!(facts(any, |a, _| a < 0), (false, 1));
        assert_eq!(facts(any, |a, b| a * b < b), (false, 1));
        // The dividend's sign is the fact, for Rust rounds towards zero; the quotient's follows.
        assert_eq!(facts(any, |a, _| a / 2 < 0), (false, 1));
    }
}
