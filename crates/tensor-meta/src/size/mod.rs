//! Sizes as rules compute with them: a number for this call, and an expression where it may be
//! another one at the next.
//!
//! Arithmetic of sizes makes expressions. Comparisons are answered by the numbers; where the answer
//! is not the same for all values, that it held is a [`Fact`]. A result is right wherever its facts
//! hold, so a rule that knows nothing of symbolic sizes is right too: it asks for the plain number
//! ([`Size::fix`]), which is a fact as well.
//!
//! Expressions and facts are in the caller's [`SizeTable`], which is at work during
//! [`SizeTable::scope`] only. Known sizes never touch it.

mod equal;
mod large;
mod poly;
mod range;
mod table;

use std::cell::RefCell;
use std::cmp::Ordering;
use std::fmt;
use std::iter::{Product, Sum};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Rem, Sub, SubAssign};

pub use poly::{Atom, Term};
use table::Asks;
pub use table::{Compare, Fact, Known, SizeTable};

use crate::types::SymInt;

thread_local! {
    static TABLE: RefCell<SizeTable> = RefCell::new(SizeTable::default());
}

/// A size, stride or offset.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    /// its value for this call
    hint: i64,
    /// its expression; 0 where it is a plain number
    expr: u32,
}

/// Operations that make expressions.
#[derive(Clone, Copy, Debug)]
enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Size {
    pub const ZERO: Size = Size::known(0);
    pub const ONE: Size = Size::known(1);

    pub const fn known(n: i64) -> Size {
        Size { hint: n, expr: 0 }
    }

    /// Whether it is a plain number.
    pub const fn is_known(self) -> bool {
        self.expr == 0
    }

    /// The plain number; that it is this one becomes a fact.
    pub fn fix(self) -> i64 {
        if self.expr != 0 {
            with_table(|t| t.record(Compare::Equal, self, Size::known(self.hint)));
        }
        self.hint
    }

    /// Whether it is this number, by its value where nothing is known of it while tracing: for a rule whose result has
    /// another rank then.
    pub fn is_exactly(self, n: i64) -> bool {
        match self.expr {
            0 => self.hint == n,
            _ => with_table(|t| t.ask(Compare::Equal, self, Size::known(n), Asks::Program)),
        }
    }

    pub fn max(self, other: impl Into<Size>) -> Size {
        let other = other.into();
        if self < other { other } else { self }
    }

    pub fn min(self, other: impl Into<Size>) -> Size {
        let other = other.into();
        if other < self { other } else { self }
    }

    pub fn clamp(self, low: impl Into<Size>, high: impl Into<Size>) -> Size {
        self.max(low).min(high)
    }

    /// The one comparison that all others of order come to.
    #[inline]
    fn is_less(self, other: Size) -> bool {
        match (self.expr | other.expr) == 0 {
            true => self.hint < other.hint,
            false => ask(Compare::Less, self, other),
        }
    }

    /// The quotient by a positive number, rounded down.
    pub fn div_floor(self, divisor: i64) -> Size {
        match self.expr {
            0 => Size::known(self.hint.div_euclid(divisor)),
            _ => {
                with_table(|t| t.divided(self, Size::known(divisor), self.hint.div_euclid(divisor)))
            }
        }
    }

    pub fn saturating_mul(self, other: impl Into<Size>) -> Size {
        let other = other.into();
        match (self.expr | other.expr) == 0 {
            true => Size::known(self.hint.saturating_mul(other.hint)),
            false => symbolic(Arithmetic::Multiply, self, other),
        }
    }

    pub fn saturating_add(self, other: impl Into<Size>) -> Size {
        let other = other.into();
        match (self.expr | other.expr) == 0 {
            true => Size::known(self.hint.saturating_add(other.hint)),
            false => symbolic(Arithmetic::Add, self, other),
        }
    }
}

#[cold]
#[inline(never)]
fn with_table<T>(f: impl FnOnce(&mut SizeTable) -> T) -> T {
    TABLE.with(|t| f(&mut t.borrow_mut()))
}

#[cold]
#[inline(never)]
fn symbolic(op: Arithmetic, a: Size, b: Size) -> Size {
    with_table(|t| t.combine(op, a, b))
}

#[cold]
#[inline(never)]
fn ask(op: Compare, a: Size, b: Size) -> bool {
    with_table(|t| t.ask(op, a, b, Asks::Rule))
}

impl From<i64> for Size {
    fn from(n: i64) -> Size {
        Size::known(n)
    }
}

impl From<SymInt> for Size {
    fn from(n: SymInt) -> Size {
        match n {
            SymInt::Const(n) => Size::known(n),
            SymInt::Expr(expr) => with_table(|t| Size {
                hint: t.hint(expr),
                expr,
            }),
        }
    }
}

impl From<Size> for SymInt {
    fn from(size: Size) -> SymInt {
        match size.expr {
            0 => SymInt::Const(size.hint),
            expr => SymInt::Expr(expr),
        }
    }
}

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.hint, f)
    }
}

macro_rules! arithmetic {
    ($($trait:ident $method:ident $op:tt $kind:ident)*) => {$(
        impl $trait for Size {
            type Output = Size;
            #[inline]
            fn $method(self, other: Size) -> Size {
                match (self.expr | other.expr) == 0 {
                    true => Size::known(self.hint $op other.hint),
                    false => symbolic(Arithmetic::$kind, self, other),
                }
            }
        }
        impl $trait<i64> for Size {
            type Output = Size;
            #[inline]
            fn $method(self, other: i64) -> Size {
                self $op Size::known(other)
            }
        }
        impl $trait<Size> for i64 {
            type Output = Size;
            #[inline]
            fn $method(self, other: Size) -> Size {
                Size::known(self) $op other
            }
        }
    )*};
}

arithmetic! {
    Add add + Add
    Sub sub - Subtract
    Mul mul * Multiply
    Div div / Divide
    Rem rem % Remainder
}

macro_rules! assign {
    ($($trait:ident $method:ident $op:tt)*) => {$(
        impl<T: Into<Size>> $trait<T> for Size {
            #[inline]
            fn $method(&mut self, other: T) {
                *self = *self $op other.into();
            }
        }
    )*};
}

assign! {
    AddAssign add_assign +
    SubAssign sub_assign -
    MulAssign mul_assign *
    DivAssign div_assign /
}

impl Neg for Size {
    type Output = Size;
    fn neg(self) -> Size {
        0 - self
    }
}

impl Sum for Size {
    fn sum<I: Iterator<Item = Size>>(items: I) -> Size {
        items.fold(Size::ZERO, |a, b| a + b)
    }
}

impl<'a> Sum<&'a Size> for Size {
    fn sum<I: Iterator<Item = &'a Size>>(items: I) -> Size {
        items.copied().sum()
    }
}

impl Product for Size {
    fn product<I: Iterator<Item = Size>>(items: I) -> Size {
        items.fold(Size::ONE, |a, b| a * b)
    }
}

impl<'a> Product<&'a Size> for Size {
    fn product<I: Iterator<Item = &'a Size>>(items: I) -> Size {
        items.copied().product()
    }
}

impl PartialEq for Size {
    #[inline]
    fn eq(&self, other: &Size) -> bool {
        match (self.expr | other.expr) == 0 {
            true => self.hint == other.hint,
            false => ask(Compare::Equal, *self, *other),
        }
    }
}

impl Eq for Size {}

impl Ord for Size {
    fn cmp(&self, other: &Size) -> Ordering {
        if self < other {
            Ordering::Less
        } else if self == other {
            Ordering::Equal
        } else {
            Ordering::Greater
        }
    }
}

impl PartialOrd for Size {
    fn partial_cmp(&self, other: &Size) -> Option<Ordering> {
        Some(self.cmp(other))
    }
    #[inline]
    fn lt(&self, other: &Size) -> bool {
        self.is_less(*other)
    }
    #[inline]
    fn ge(&self, other: &Size) -> bool {
        !self.is_less(*other)
    }
    #[inline]
    fn gt(&self, other: &Size) -> bool {
        other.is_less(*self)
    }
    #[inline]
    fn le(&self, other: &Size) -> bool {
        !other.is_less(*self)
    }
}

impl PartialEq<i64> for Size {
    #[inline]
    fn eq(&self, other: &i64) -> bool {
        *self == Size::known(*other)
    }
}

impl PartialOrd<i64> for Size {
    fn partial_cmp(&self, other: &i64) -> Option<Ordering> {
        Some(self.cmp(&Size::known(*other)))
    }
    #[inline]
    fn lt(&self, other: &i64) -> bool {
        *self < Size::known(*other)
    }
    #[inline]
    fn ge(&self, other: &i64) -> bool {
        *self >= Size::known(*other)
    }
    #[inline]
    fn gt(&self, other: &i64) -> bool {
        *self > Size::known(*other)
    }
    #[inline]
    fn le(&self, other: &i64) -> bool {
        *self <= Size::known(*other)
    }
}
