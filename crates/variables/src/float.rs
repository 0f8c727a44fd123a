//! Floats that are not constants: expressions over floats that sources yield.
//!
//! Invariant: an expression means what Python's floats give. Computing it raises nothing, but for the parts that
//! [`FloatExpr::Computed`] says.

use std::cell::OnceCell;
use std::rc::Rc;

use guards::SourceId;

use crate::computed::ComputedVar;
use crate::var::Obj;

/// How many nodes an expression may have.
const MAX_SIZE: u32 = 48;

/// An operator of two floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatBinary {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, by a number that is not zero
    TrueDivide,
}

impl FloatBinary {
    /// The name of the function of `operator`.
    pub fn function(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Subtract => "sub",
            Self::Multiply => "mul",
            Self::TrueDivide => "truediv",
        }
    }

    /// The value.
    pub fn eval(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::TrueDivide => a / b,
        }
    }
}

/// See [`crate::Var::Float`].
#[derive(Clone, Debug, PartialEq)]
pub enum FloatExpr {
    /// What a source yields: an exact `float`.
    Source(SourceId),
    /// A number.
    Const(f64),
    /// `-x`.
    Negative(Rc<FloatExpr>),
    /// An operation on two.
    Binary(FloatBinary, Rc<(FloatExpr, FloatExpr)>),
    /// What a pure function gives: an exact `float`.
    Computed(Rc<ComputedVar>),
}

impl FloatExpr {
    /// `a op b`; `None` where that would be too large.
    pub fn binary(op: FloatBinary, a: &FloatExpr, b: &FloatExpr) -> Option<FloatExpr> {
        let fits = a.size() + b.size() < MAX_SIZE;
        fits.then(|| Self::Binary(op, Rc::new((a.clone(), b.clone()))))
    }

    /// Whether both give the same number, whatever they are computed from: each call of a pure function may give an
    /// object of its own, but not a number.
    pub fn gives_as(&self, other: &FloatExpr) -> bool {
        match (self, other) {
            (Self::Source(a), Self::Source(b)) => a == b,
            (Self::Const(a), Self::Const(b)) => a.to_bits() == b.to_bits(),
            (Self::Negative(a), Self::Negative(b)) => a.gives_as(b),
            (Self::Binary(op, a), Self::Binary(other, b)) => {
                op == other && a.0.gives_as(&b.0) && a.1.gives_as(&b.1)
            }
            (Self::Computed(a), Self::Computed(b)) => a.gives_as(b),
            _ => false,
        }
    }

    /// Calls `f` for each part that is no operation on others.
    pub fn for_each_leaf<'a>(&'a self, f: &mut impl FnMut(&'a FloatExpr)) {
        match self {
            Self::Source(_) | Self::Const(_) | Self::Computed(_) => f(self),
            Self::Negative(x) => x.for_each_leaf(f),
            Self::Binary(_, ab) => {
                ab.0.for_each_leaf(f);
                ab.1.for_each_leaf(f);
            }
        }
    }

    /// How many nodes it has.
    pub fn size(&self) -> u32 {
        match self {
            Self::Source(_) | Self::Const(_) => 1,
            Self::Computed(c) => c.size(),
            Self::Negative(x) => 1 + x.size(),
            Self::Binary(_, ab) => 1 + ab.0.size() + ab.1.size(),
        }
    }
}

/// See [`crate::Var::Float`].
#[derive(Clone, Debug)]
pub struct FloatVar {
    /// how it is computed
    pub expr: FloatExpr,
    /// what it is for this call
    pub value: f64,
    /// the object that it is once its value is looked at: one and the same, whatever looks
    pub object: OnceCell<Obj>,
}

impl FloatVar {
    /// A float that is computed.
    pub fn computed(expr: FloatExpr, value: f64) -> Self {
        Self {
            expr,
            value,
            object: OnceCell::new(),
        }
    }

    /// A float that a source yields.
    pub fn existing(source: SourceId, value: f64, object: Obj) -> Self {
        Self {
            expr: FloatExpr::Source(source),
            value,
            object: OnceCell::from(object),
        }
    }
}
