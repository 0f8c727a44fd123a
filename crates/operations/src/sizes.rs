//! Sizes that are not constants: expressions of `tensor-meta` as expressions of guards and back.
//!
//! Does not live here: which dimensions of inputs are dynamic, and how what is found of sizes is guarded (the crate
//! `translator`).
//!
//! Invariant: a symbol of the table is an expression over sources.

use guards::{Extent, IntBinary, IntExpr, Source, SourceId};
use tensor_meta::{Atom, Compare, Fact, Known, SizeTable, SymInt, Term};

/// The least size of a dynamic dimension: 0 and 1 are constants, since both change what operations
/// do.
pub const LEAST_SIZE: i64 = 2;

/// Stands for the sizes of rows that differ in length.
pub const RAGGED: Source = Source::Early { index: u32::MAX };

/// Symbolic sizes of one translation.
#[derive(Default)]
pub struct Sizes {
    table: SizeTable,
    /// what each symbol of the table stands for, and its expression there
    symbols: Vec<(IntExpr, SymInt)>,
}

impl Sizes {
    /// The tensors from outside of which sizes are no constants, each once.
    pub fn tensors(&self) -> Vec<SourceId> {
        let mut tensors = Vec::new();
        for (expr, _) in &self.symbols {
            if let IntExpr::Dim(source, Extent::Size, _) = expr
                && !tensors.contains(source)
            {
                tensors.push(*source);
            }
        }
        tensors
    }

    /// The dimensions of a tensor whose sizes are no constants.
    pub fn dims_of(&self, tensor: SourceId) -> impl Iterator<Item = usize> {
        self.of_layout(tensor, Extent::Size).map(usize::from)
    }

    /// The dimensions of a tensor whose strides are no constants and do not follow from its sizes.
    pub fn strides_of(&self, tensor: SourceId) -> impl Iterator<Item = u8> {
        self.of_layout(tensor, Extent::Stride)
    }

    fn of_layout(&self, tensor: SourceId, of: Extent) -> impl Iterator<Item = u8> {
        self.symbols.iter().filter_map(move |(expr, _)| match expr {
            IntExpr::Dim(source, extent, dim) if (*source, *extent) == (tensor, of) => Some(*dim),
            _ => None,
        })
    }

    /// Runs what reads and makes sizes; gives what it found of them as well.
    pub fn scope<T>(&mut self, f: impl FnOnce() -> T) -> (T, Vec<Fact>) {
        self.table.scope(f)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// See [`SizeTable::known`].
    pub fn known(&self) -> Known {
        self.table.known()
    }

    /// See [`SizeTable::forget`].
    pub fn forget(&mut self, known: Known) {
        self.table.forget(known);
    }

    /// What stands for an expression whose value for this call is `hint`; `least` is what it is at least.
    pub fn symbol(&mut self, expr: &IntExpr, hint: i64, least: Option<i64>) -> SymInt {
        if let Some((_, known)) = self.symbols.iter().find(|s| s.0 == *expr) {
            return *known;
        }
        let symbol = self.table.symbol(hint, least);
        self.symbols.push((expr.clone(), symbol));
        symbol
    }

    /// A number that the graph gives, whose value is not known while tracing; `least` is what it is at least.
    pub fn unknown(&mut self, expr: &IntExpr, hint: i64, least: Option<i64>) -> SymInt {
        if let Some((_, known)) = self.symbols.iter().find(|s| s.0 == *expr) {
            return *known;
        }
        let symbol = self.table.unknown(hint, least);
        self.symbols.push((expr.clone(), symbol));
        symbol
    }

    /// Whether a size follows from a number that is not known while tracing.
    pub fn is_unknown(&self, n: SymInt) -> bool {
        let is_unknown =
            |symbol: &SymInt| matches!(symbol, SymInt::Expr(expr) if self.table.is_unknown(*expr));
        self.symbols_in(n).iter().any(is_unknown)
    }

    /// See [`SizeTable::has_presumed`].
    pub fn has_presumed(&mut self) -> bool {
        self.table.has_presumed()
    }

    /// See [`SizeTable::counts_as_positive`].
    pub fn counts_as_positive(&self, n: SymInt) -> bool {
        self.table.counts_as_positive(n)
    }

    /// Whether a leaf is such a number.
    pub fn is_unknown_leaf(&self, leaf: &IntExpr) -> bool {
        let known = self.symbols.iter().find(|s| s.0 == *leaf);
        known.is_some_and(|(_, n)| self.is_unknown(*n))
    }

    /// Whether a number is known to be at least [`LEAST_SIZE`], as a size of an input is.
    pub fn is_like_size(&self, leaf: &IntExpr) -> bool {
        let known = self.symbols.iter().find(|s| s.0 == *leaf);
        let least = SymInt::Const(LEAST_SIZE);
        known.is_some_and(|(_, n)| self.table.decided(Compare::NotLess, *n, least) == Some(true))
    }

    /// Whether a number is known not to be negative.
    pub fn is_never_negative(&self, leaf: &IntExpr) -> bool {
        let known = self.symbols.iter().find(|s| s.0 == *leaf);
        let zero = SymInt::Const(0);
        known.is_some_and(|(_, n)| self.table.decided(Compare::NotLess, *n, zero) == Some(true))
    }

    /// Whether a comparison has the same answer for all sizes that there may be.
    pub fn decided(&self, op: Compare, a: SymInt, b: SymInt) -> Option<bool> {
        self.table.decided(op, a, b)
    }

    /// A size of a tensor that the graph makes is not negative, however it came about.
    pub fn assume_size(&mut self, n: SymInt) {
        let is_sum = n.as_const().is_none() && self.is_unknown(n);
        if is_sum && self.table.needs_assuming(n) {
            self.assume(Compare::NotLess, n, SymInt::Const(0));
        }
    }

    /// See [`SizeTable::assume`].
    pub fn assume(&mut self, op: Compare, a: SymInt, b: SymInt) {
        self.table.assume(op, a, b);
    }

    /// An expression over sources as one of the table. What the table has no operation for is a
    /// symbol of its own.
    pub fn of_expr(&mut self, expr: &IntExpr, value: i64) -> SymInt {
        match self.split(expr) {
            Some(n) => n,
            None => self.symbol(expr, value, None),
        }
    }

    /// The same, where the table has operations for all of it.
    pub fn split(&mut self, expr: &IntExpr) -> Option<SymInt> {
        if let Some((_, known)) = self.symbols.iter().find(|s| s.0 == *expr) {
            return Some(*known);
        }
        Some(match expr {
            IntExpr::Const(n) => SymInt::Const(*n),
            IntExpr::Source(_) | IntExpr::Dim(..) | IntExpr::Unary(..) => return None,
            IntExpr::Binary(op @ (IntBinary::Max | IntBinary::Min), ab) => {
                let (a, b) = (self.split(&ab.0)?, self.split(&ab.1)?);
                let before = self.table.symbols();
                let made = self.table.extreme(*op == IntBinary::Max, a, b)?;
                if self.table.symbols() > before {
                    self.symbols.push((expr.clone(), made));
                }
                made
            }
            IntExpr::Binary(op, ab) => {
                let a = self.split(&ab.0)?;
                match (op, &ab.1) {
                    (IntBinary::FloorDivide | IntBinary::Remainder, b) => {
                        let b = self.split(b)?;
                        let quotient = match b {
                            SymInt::Const(b @ 1..) => self.table.floor_divide(a, b),
                            b => self.table.known_quotient(a, b)?,
                        };
                        if *op == IntBinary::FloorDivide {
                            return Some(quotient);
                        }
                        let whole = self.table.multiply(quotient, b);
                        self.table.subtract(a, whole)
                    }
                    (IntBinary::Add, b) => {
                        let b = self.split(b)?;
                        self.table.add(a, b)
                    }
                    (IntBinary::Subtract, b) => {
                        let b = self.split(b)?;
                        self.table.subtract(a, b)
                    }
                    (IntBinary::Multiply, b) => {
                        let b = self.split(b)?;
                        self.table.multiply(a, b)
                    }
                    _ => return None,
                }
            }
        })
    }

    /// A sum.
    pub fn add(&mut self, a: SymInt, b: SymInt) -> SymInt {
        self.table.add(a, b)
    }

    /// A product.
    pub fn multiply(&mut self, a: SymInt, b: SymInt) -> SymInt {
        self.table.multiply(a, b)
    }

    /// A quotient, and what it relies on.
    pub fn quotient(&mut self, a: SymInt, b: SymInt) -> (SymInt, Vec<Fact>) {
        self.table.quotient_of(a, b)
    }

    /// The value of a source or a dimension for this call, where it is a symbol.
    pub fn value(&self, leaf: &IntExpr) -> Option<i64> {
        let known = self.symbols.iter().find(|s| s.0 == *leaf)?;
        Some(self.hint(known.1))
    }

    /// The value of a size for this call, of which nothing is guarded.
    pub fn hint(&self, n: SymInt) -> i64 {
        match n {
            SymInt::Const(n) => n,
            SymInt::Expr(expr) => self.table.hint(expr),
        }
    }

    /// An expression over sources; `None` where that is too large.
    pub fn expr(&self, n: SymInt) -> Option<IntExpr> {
        match n {
            SymInt::Const(n) => Some(IntExpr::Const(n)),
            SymInt::Expr(expr) => self.sum(self.table.terms(expr)),
        }
    }

    /// An expression for a size that has none for being too large, where what is equal or rounded in it as constants
    /// makes it smaller; and what that relies on.
    pub fn smaller(&mut self, n: SymInt) -> (Option<IntExpr>, Vec<Fact>) {
        let (reduced, _) = self.table.smaller(n, false);
        if let Some(expr) = reduced.and_then(|n| self.expr(n)) {
            return (Some(expr), Vec::new());
        }
        let (rounded, facts) = self.table.smaller(n, true);
        (rounded.and_then(|n| self.expr(n)), facts)
    }

    fn sum(&self, terms: &[Term]) -> Option<IntExpr> {
        let mut out: Option<IntExpr> = None;
        // What is added comes before what is taken away, as people write it.
        let (plus, minus): (Vec<_>, Vec<_>) = terms.iter().partition(|t| t.factor > 0);
        for term in plus {
            let term = self.product(term, term.factor)?;
            out = Some(match out {
                Some(sum) => IntExpr::binary(IntBinary::Add, &sum, &term)?,
                None => term,
            });
        }
        for term in minus {
            out = Some(match out {
                Some(sum) => {
                    let term = self.product(term, term.factor.checked_neg()?)?;
                    IntExpr::binary(IntBinary::Subtract, &sum, &term)?
                }
                None => self.product(term, term.factor)?,
            });
        }
        Some(out.unwrap_or(IntExpr::Const(0)))
    }

    fn product(&self, term: &Term, factor: i64) -> Option<IntExpr> {
        let mut out: Option<IntExpr> = None;
        for (atom, power) in &term.atoms {
            let atom = match atom {
                Atom::Symbol(n) => self.symbols.get(*n as usize)?.0.clone(),
                Atom::Quotient(n) => {
                    let (a, b) = self.table.quotient(*n);
                    IntExpr::binary(IntBinary::FloorDivide, &self.sum(a)?, &self.sum(b)?)?
                }
            };
            for _ in 0..*power {
                out = Some(match out {
                    Some(product) => IntExpr::binary(IntBinary::Multiply, &product, &atom)?,
                    None => atom.clone(),
                });
            }
        }
        match (out, factor) {
            (None, n) => Some(IntExpr::Const(n)),
            (Some(product), 1) => Some(product),
            (Some(product), n) => {
                IntExpr::binary(IntBinary::Multiply, &product, &IntExpr::Const(n))
            }
        }
    }

    /// The symbols that a size follows from.
    pub fn symbols_in(&self, n: SymInt) -> Vec<SymInt> {
        let mut out = Vec::new();
        if let SymInt::Expr(expr) = n {
            self.add_symbols(self.table.terms(expr), &mut out);
        }
        out
    }

    fn add_symbols(&self, terms: &[Term], out: &mut Vec<SymInt>) {
        for (atom, _) in terms.iter().flat_map(|t| &t.atoms) {
            match atom {
                Atom::Symbol(n) => out.push(self.symbols[*n as usize].1),
                Atom::Quotient(n) => {
                    let (a, b) = self.table.quotient(*n);
                    self.add_symbols(a, out);
                    self.add_symbols(b, out);
                }
            }
        }
    }
}
