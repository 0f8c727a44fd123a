//! Integers that are not constants: expressions over sources, and relations between such.
//!
//! What lives here: the expressions, their Python spelling, and their value in 64 bits. Which values become
//! expressions is the translator's business.
//!
//! Invariants: an expression means what Python's exact ints give; evaluation that does not fit 64 bits at any step
//! gives nothing, never a wrong value; an expression has at most [`LARGEST`] nodes.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::source::SourceId;

/// How many nodes an expression may have that tracing makes.
pub const MAX_SIZE: u32 = 48;

/// How many nodes one may have that a compiler guards on.
pub const LARGEST: u32 = 512;

/// The largest exponent and the longest shift to the left.
const MAX_BITS: i64 = 64;

/// An operator of one int.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IntUnary {
    /// `-x`
    Negative,
    /// `~x`
    Invert,
    /// `abs(x)`
    Abs,
}

/// An operator of two ints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IntBinary {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `//`, of a divisor that is not zero
    FloorDivide,
    /// `%`, of a divisor that is not zero
    Remainder,
    /// `**`, of an exponent that is not negative
    Power,
    /// `<<`, by an amount that is not negative
    Lshift,
    /// `>>`, by an amount that is not negative
    Rshift,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `max(x, y)`
    Max,
    /// `min(x, y)`
    Min,
}

/// What of a tensor's layout an int is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Extent {
    /// `tensor.size()[dim]`
    Size,
    /// `tensor.stride()[dim]`
    Stride,
    /// `tensor.storage_offset()`; it has no dimension, 0 stands for it
    Offset,
}

impl Extent {
    /// The method of a tensor that says it.
    pub fn method(self) -> &'static str {
        match self {
            Extent::Size => "size",
            Extent::Stride => "stride",
            Extent::Offset => "storage_offset",
        }
    }

    /// Whether the method is asked about a dimension.
    pub fn has_dims(self) -> bool {
        !matches!(self, Extent::Offset)
    }
}

/// What an expression is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntLeaf {
    /// what a source yields: an exact `int`
    Value(SourceId),
    /// a dimension of the tensor that a source yields
    Dim(SourceId, Extent, u8),
}

/// An int that is computed from ints that sources yield, and from the layouts of tensors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IntExpr {
    /// What a source yields: an exact `int`.
    Source(SourceId),
    /// The size or stride of a dimension of the tensor that a source yields.
    Dim(SourceId, Extent, u8),
    /// A number.
    Const(i64),
    /// An operation on one.
    Unary(IntUnary, Arc<IntExpr>),
    /// An operation on two.
    Binary(IntBinary, Arc<(IntExpr, IntExpr)>),
}

impl IntUnary {
    /// The function of Python's `operator` module.
    pub fn function(self) -> &'static str {
        match self {
            Self::Negative => "neg",
            Self::Invert => "invert",
            Self::Abs => "abs",
        }
    }

    /// The value, where it fits.
    pub fn eval(self, x: i64) -> Option<i64> {
        match self {
            Self::Negative => x.checked_neg(),
            Self::Invert => Some(!x),
            Self::Abs => x.checked_abs(),
        }
    }
}

impl IntBinary {
    /// The value, where it is an int and fits.
    pub fn eval(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Self::Add => a.checked_add(b),
            Self::Subtract => a.checked_sub(b),
            Self::Multiply => a.checked_mul(b),
            Self::FloorDivide => {
                let q = a.checked_div(b)?;
                let exact = a.checked_rem(b)? == 0;
                Some(if exact || (a < 0) == (b < 0) {
                    q
                } else {
                    q - 1
                })
            }
            Self::Remainder => {
                let r = a.checked_rem(b)?;
                Some(if r != 0 && (r < 0) != (b < 0) {
                    r + b
                } else {
                    r
                })
            }
            Self::Power => match (0..=MAX_BITS).contains(&b) {
                true => a.checked_pow(b as u32),
                false => None,
            },
            Self::Lshift => match (0..=MAX_BITS).contains(&b) {
                true => i64::try_from(i128::from(a).checked_mul(1i128 << b)?).ok(),
                false => None,
            },
            Self::Rshift => match b {
                0..=63 => Some(a >> b),
                64.. => Some(if a < 0 { -1 } else { 0 }),
                _ => None,
            },
            Self::And => Some(a & b),
            Self::Or => Some(a | b),
            Self::Xor => Some(a ^ b),
            Self::Max => Some(a.max(b)),
            Self::Min => Some(a.min(b)),
        }
    }

    /// The function of Python's `operator` module, or torch's where that has none.
    pub fn function(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Subtract => "sub",
            Self::Multiply => "mul",
            Self::FloorDivide => "floordiv",
            Self::Remainder => "mod",
            Self::Power => "pow",
            Self::Lshift => "lshift",
            Self::Rshift => "rshift",
            Self::And => "and_",
            Self::Or => "or_",
            Self::Xor => "xor",
            Self::Max => "sym_max",
            Self::Min => "sym_min",
        }
    }

    /// The builtin function that it is, where it is no operator.
    pub fn builtin(self) -> Option<&'static str> {
        match self {
            Self::Max => Some("max"),
            Self::Min => Some("min"),
            _ => None,
        }
    }

    /// As Python writes it between its operands.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::FloorDivide => "//",
            Self::Remainder => "%",
            Self::Power => "**",
            Self::Lshift => "<<",
            Self::Rshift => ">>",
            Self::And => "&",
            Self::Or => "|",
            Self::Xor => "^",
            Self::Max | Self::Min => ",",
        }
    }

    /// What the right operand must be for the operation to give an int of a size in reason, given that it does
    /// now; where there is such a condition.
    pub fn condition(self, right: &IntExpr) -> Vec<IntRelation> {
        let with = |op, bound| IntRelation {
            op,
            left: right.clone(),
            right: IntExpr::Const(bound),
        };
        match self {
            Self::FloorDivide | Self::Remainder => vec![with(IntCompare::Ne, 0)],
            Self::Rshift => vec![with(IntCompare::Ge, 0)],
            Self::Power | Self::Lshift => {
                vec![with(IntCompare::Ge, 0), with(IntCompare::Le, MAX_BITS)]
            }
            _ => Vec::new(),
        }
    }
}

impl IntExpr {
    /// An operation on one; `None` where the expression would be too large.
    pub fn unary(op: IntUnary, x: &IntExpr) -> Option<IntExpr> {
        (x.size() < MAX_SIZE).then(|| Self::Unary(op, Arc::new(x.clone())))
    }

    /// An operation on two; `None` where the expression would be too large. Sums with numbers are merged, so that
    /// a counter that is raised step by step stays small.
    pub fn binary(op: IntBinary, a: &IntExpr, b: &IntExpr) -> Option<IntExpr> {
        Self::binary_within(MAX_SIZE, op, a, b)
    }

    /// The same; `None` where it would have more nodes than `most`.
    pub fn binary_within(most: u32, op: IntBinary, a: &IntExpr, b: &IntExpr) -> Option<IntExpr> {
        let (op, b) = match (op, b) {
            (IntBinary::Subtract, Self::Const(n)) if *n != i64::MIN => {
                (IntBinary::Add, Self::Const(-n))
            }
            _ => (op, b.clone()),
        };
        if let (IntBinary::Add, Self::Binary(IntBinary::Add, inner), Self::Const(m)) = (op, a, &b)
            && let Self::Const(n) = inner.1
            && let Some(sum) = n.checked_add(*m)
        {
            return Some(match sum {
                0 => inner.0.clone(),
                sum => Self::Binary(op, Arc::new((inner.0.clone(), Self::Const(sum)))),
            });
        }
        let size = a.size() + b.size() + 1;
        (size <= most).then(|| Self::Binary(op, Arc::new((a.clone(), b))))
    }

    /// How many nodes it has.
    pub fn size(&self) -> u32 {
        match self {
            Self::Source(_) | Self::Dim(..) | Self::Const(_) => 1,
            Self::Unary(_, x) => 1 + x.size(),
            Self::Binary(_, ab) => 1 + ab.0.size() + ab.1.size(),
        }
    }

    /// The sources and dimensions in it, as often as they are used.
    pub fn leaves(&self) -> Vec<IntExpr> {
        match self {
            Self::Const(_) => Vec::new(),
            Self::Source(_) | Self::Dim(..) => vec![self.clone()],
            Self::Unary(_, x) => x.leaves(),
            Self::Binary(_, ab) => [ab.0.leaves(), ab.1.leaves()].concat(),
        }
    }

    /// The sources in it, each once, in order of their first use.
    pub fn sources(&self) -> SmallVec<[SourceId; 4]> {
        let mut out = SmallVec::new();
        self.add_sources(&mut out);
        out
    }

    fn add_sources(&self, out: &mut SmallVec<[SourceId; 4]>) {
        match self {
            Self::Source(id) | Self::Dim(id, ..) if !out.contains(id) => out.push(*id),
            Self::Source(_) | Self::Dim(..) | Self::Const(_) => {}
            Self::Unary(_, x) => x.add_sources(out),
            Self::Binary(_, ab) => {
                ab.0.add_sources(out);
                ab.1.add_sources(out);
            }
        }
    }

    /// The value, where every step of it fits 64 bits.
    pub fn eval(&self, value: &impl Fn(IntLeaf) -> Option<i64>) -> Option<i64> {
        match self {
            Self::Source(id) => value(IntLeaf::Value(*id)),
            Self::Dim(id, extent, dim) => value(IntLeaf::Dim(*id, *extent, *dim)),
            Self::Const(n) => Some(*n),
            Self::Unary(op, x) => op.eval(x.eval(value)?),
            Self::Binary(op, ab) => op.eval(ab.0.eval(value)?, ab.1.eval(value)?),
        }
    }

    /// As Python, with every operation below another one in parentheses.
    pub fn text(&self, name: &dyn Fn(SourceId) -> String) -> String {
        let mut out = String::new();
        self.write(name, false, &mut out);
        out
    }

    fn write(&self, name: &dyn Fn(SourceId) -> String, inner: bool, out: &mut String) {
        match self {
            Self::Source(id) => out.push_str(&name(*id)),
            Self::Dim(id, extent, dim) => {
                let _ = write!(out, "{}.{}()", name(*id), extent.method());
                if extent.has_dims() {
                    let _ = write!(out, "[{dim}]");
                }
            }
            Self::Const(n) if inner && *n < 0 => {
                let _ = write!(out, "({n})");
            }
            Self::Const(n) => {
                let _ = write!(out, "{n}");
            }
            Self::Unary(IntUnary::Abs, x) => {
                out.push_str("abs(");
                x.write(name, false, out);
                out.push(')');
            }
            Self::Unary(op, x) => {
                out.push_str(match (inner, op) {
                    (true, IntUnary::Negative) => "(-",
                    (false, IntUnary::Negative) => "-",
                    (true, _) => "(~",
                    (false, _) => "~",
                });
                x.write(name, true, out);
                if inner {
                    out.push(')');
                }
            }
            Self::Binary(op @ (IntBinary::Max | IntBinary::Min), ab) => {
                out.push_str(op.builtin().unwrap_or_default());
                out.push('(');
                ab.0.write(name, false, out);
                out.push_str(", ");
                ab.1.write(name, false, out);
                out.push(')');
            }
            Self::Binary(op, ab) => {
                if inner {
                    out.push('(');
                }
                ab.0.write(name, true, out);
                match (op, &ab.1) {
                    (IntBinary::Add, Self::Const(n)) if *n < 0 && *n != i64::MIN => {
                        let _ = write!(out, " - {}", -n);
                    }
                    _ => {
                        let _ = write!(out, " {} ", op.symbol());
                        ab.1.write(name, true, out);
                    }
                }
                if inner {
                    out.push(')');
                }
            }
        }
    }
}

/// A comparison of two ints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IntCompare {
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl IntCompare {
    /// Whether it holds.
    pub fn holds<T: Ord>(self, a: &T, b: &T) -> bool {
        match self {
            Self::Lt => a < b,
            Self::Le => a <= b,
            Self::Eq => a == b,
            Self::Ne => a != b,
            Self::Gt => a > b,
            Self::Ge => a >= b,
        }
    }

    /// All of them.
    pub const ALL: [Self; 6] = [Self::Lt, Self::Le, Self::Eq, Self::Ne, Self::Gt, Self::Ge];

    /// The function of Python's `operator` module.
    pub fn function(self) -> &'static str {
        match self {
            Self::Lt => "lt",
            Self::Le => "le",
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Gt => "gt",
            Self::Ge => "ge",
        }
    }

    /// The comparison that holds where this one does not.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Gt => Self::Le,
            Self::Ge => Self::Lt,
        }
    }

    /// As Python writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::Gt => ">",
            Self::Ge => ">=",
        }
    }
}

/// What must hold between two expressions. Values that do not fit 64 bits fail it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IntRelation {
    /// How they compare.
    pub op: IntCompare,
    /// The left one.
    pub left: IntExpr,
    /// The right one.
    pub right: IntExpr,
}

impl IntRelation {
    /// That a value fits 64 bits.
    pub fn fits(x: &IntExpr) -> IntRelation {
        IntRelation {
            op: IntCompare::Ge,
            left: x.clone(),
            right: IntExpr::Const(i64::MIN),
        }
    }

    /// Whether it is what [`IntRelation::fits`] says of a value.
    pub fn is_of_fitting(&self) -> bool {
        self.op == IntCompare::Ge && self.right == IntExpr::Const(i64::MIN)
    }

    /// The sources of both, each once.
    pub fn sources(&self) -> SmallVec<[SourceId; 4]> {
        let mut out = self.left.sources();
        self.right.add_sources(&mut out);
        out
    }

    /// Whether it holds. `None`, a value that does not fit, counts as not.
    pub fn holds(&self, value: &impl Fn(IntLeaf) -> Option<i64>) -> bool {
        match (self.left.eval(value), self.right.eval(value)) {
            (Some(a), Some(b)) => self.op.holds(&a, &b),
            _ => false,
        }
    }

    /// Why it does not hold of these values of its sides. `code` is what it says.
    pub fn reason(&self, code: &str, left: Option<i64>, right: Option<i64>) -> String {
        let (Some(left), Some(right)) = (left, right) else {
            return format!("{code}. actual values do not fit 64 bits");
        };
        match &self.right {
            IntExpr::Const(_) => {
                let symbol = match self.op {
                    IntCompare::Eq => "",
                    op => op.symbol(),
                };
                let space = if symbol.is_empty() { "" } else { " " };
                format!("{code}. expected {symbol}{space}{right}, actual {left}")
            }
            _ => format!("{code}. actual {left} and {right}"),
        }
    }

    /// As Python. The lower bound of 64 bits stands for both.
    pub fn text(&self, name: &dyn Fn(SourceId) -> String) -> String {
        let left = self.left.text(name);
        if self.op == IntCompare::Ge && self.right == IntExpr::Const(i64::MIN) {
            return format!("{} <= {left} <= {}", i64::MIN, i64::MAX);
        }
        format!("{left} {} {}", self.op.symbol(), self.right.text(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n() -> IntExpr {
        IntExpr::Source(SourceId(0))
    }

    fn name(_: SourceId) -> String {
        "n".into()
    }

    #[test]
    fn floors_as_python_does() {
        for (a, b, q, r) in [
            (7, 2, 3, 1),
            (-7, 2, -4, 1),
            (7, -2, -4, -1),
            (-7, -2, 3, -1),
            (6, -3, -2, 0),
        ] {
            assert_eq!(IntBinary::FloorDivide.eval(a, b), Some(q), "{a} // {b}");
            assert_eq!(IntBinary::Remainder.eval(a, b), Some(r), "{a} % {b}");
        }
        assert_eq!(IntBinary::FloorDivide.eval(i64::MIN, -1), None);
        assert_eq!(IntBinary::FloorDivide.eval(1, 0), None);
        assert_eq!(IntBinary::Rshift.eval(-1, 200), Some(-1));
        assert_eq!(IntBinary::Lshift.eval(1, 63), None);
        assert_eq!(IntBinary::Lshift.eval(-1, 63), Some(i64::MIN));
        assert_eq!(IntBinary::Power.eval(2, -1), None);
    }

    #[test]
    fn the_larger_of_two_is_a_call() {
        let twice = IntExpr::binary(IntBinary::Add, &n(), &n()).unwrap();
        let larger = IntExpr::binary(IntBinary::Max, &twice, &IntExpr::Const(-4)).unwrap();
        let smaller = IntExpr::binary(IntBinary::Min, &larger, &n()).unwrap();
        let sum = IntExpr::binary(IntBinary::Multiply, &smaller, &larger).unwrap();
        let text = "min(max(n + n, -4), n) * max(n + n, -4)";
        assert_eq!(sum.text(&name), text);
        assert_eq!(larger.eval(&|_| Some(-7)), Some(-4));
        assert_eq!(smaller.eval(&|_| Some(5)), Some(5));
    }

    #[test]
    fn sums_with_numbers_are_merged() {
        let add = |a: &IntExpr, b| IntExpr::binary(IntBinary::Add, a, &IntExpr::Const(b)).unwrap();
        let three = add(&add(&n(), 1), 2);
        assert_eq!(three.text(&name), "n + 3");
        let back = IntExpr::binary(IntBinary::Subtract, &three, &IntExpr::Const(3)).unwrap();
        assert_eq!(back, n());
        assert_eq!(add(&n(), -4).text(&name), "n - 4");
    }

    #[test]
    fn text_keeps_the_order_of_operations() {
        let double = IntExpr::binary(IntBinary::Multiply, &n(), &IntExpr::Const(-2)).unwrap();
        let negative = IntExpr::unary(IntUnary::Negative, &double).unwrap();
        let power = IntExpr::binary(IntBinary::Power, &negative, &n()).unwrap();
        assert_eq!(power.text(&name), "(-(n * (-2))) ** n");
        let guard = IntRelation {
            op: IntCompare::Lt,
            left: power,
            right: IntExpr::Const(-1),
        };
        assert_eq!(guard.text(&name), "(-(n * (-2))) ** n < -1");
        assert!(!guard.holds(&|_| Some(1)));
        assert!(!guard.holds(&|_| None));
    }

    #[test]
    fn expressions_do_not_grow_without_end() {
        let mut x = n();
        let mut steps = 0;
        while let Some(next) = IntExpr::binary(IntBinary::Multiply, &x, &n()) {
            x = next;
            steps += 1;
        }
        assert!(x.size() <= MAX_SIZE && steps > 10);
    }
}
