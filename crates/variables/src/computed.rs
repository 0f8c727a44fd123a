//! Values that residual code computes by pure functions of values that are not constants.
//!
//! Invariant: the function has no effects, reads nothing but its arguments, and gives an immutable value of an exact
//! builtin type; where it raises, the residual code runs the program's function in eager mode instead.

use std::rc::Rc;

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};

use crate::var::{Obj, Var};

/// How many nodes a computed value may have; a larger one is looked at.
const MAX_SIZE: u32 = 48;

/// See [`crate::Var::Computed`].
#[derive(Debug)]
pub struct ComputedVar {
    /// the pure function
    pub function: Obj,
    /// its arguments: constants, values that are not, and tuples of those
    pub args: Vec<Var>,
    /// what it gives for this call
    pub value: Obj,
    /// whether it may raise for other values of the same types
    pub may_raise: bool,
    /// whether it is computed from a number from outside that was not found to change: whatever looks at it takes
    /// that for a constant
    pub is_first: bool,
    size: u32,
}

impl ComputedVar {
    /// `function(*args)`, which is `value` for this call; `None` where that would be too large.
    pub fn new(function: Obj, args: Vec<Var>, value: Obj, may_raise: bool) -> Option<Rc<Self>> {
        let size = args.iter().map(size_of).sum::<u32>() + 1;
        let is_first = args.iter().any(is_first);
        (size <= MAX_SIZE).then(|| {
            Rc::new(Self {
                function,
                args,
                value,
                may_raise,
                is_first,
                size,
            })
        })
    }

    /// Whether both are one function's, of arguments that are equal.
    pub fn gives_as(&self, other: &Self) -> bool {
        let (ours, others) = (&self.args, &other.args);
        std::ptr::eq(self, other)
            || self.function.is(&other.function)
                && ours.len() == others.len()
                && ours.iter().zip(others).all(|(a, b)| is_equal(a, b))
    }

    /// How many nodes it has, shared ones counted as often as they are used.
    pub fn size(&self) -> u32 {
        self.size
    }
}

/// One computed value is another only where it is the same object: each call of a function may give its own.
impl PartialEq for ComputedVar {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

/// Whether two arguments are sure to be equal numbers of one type, or one object.
fn is_equal(a: &Var, b: &Var) -> bool {
    match (a, b) {
        (Var::Const(a), Var::Const(b)) => {
            a.is(b)
                || Python::attach(|py| {
                    let (a, b) = (a.bind(py), b.bind(py));
                    // Zeros with other signs are equal, too.
                    a.is_exact_instance_of::<PyInt>()
                        && b.is_exact_instance_of::<PyInt>()
                        && a.eq(b).unwrap_or(false)
                })
        }
        (Var::Int(a), Var::Int(b)) => a.expr == b.expr,
        (Var::Float(a), Var::Float(b)) => a.expr.gives_as(&b.expr),
        (Var::Computed(a), Var::Computed(b)) => a.gives_as(b),
        (Var::Lazy(a), Var::Lazy(b)) => a.source == b.source,
        (Var::Tuple(a), Var::Tuple(b)) => {
            a.class.is_none()
                && b.class.is_none()
                && a.items.len() == b.items.len()
                && a.items.iter().zip(&b.items).all(|(a, b)| is_equal(a, b))
        }
        _ => false,
    }
}

/// Whether a value is a number that was not found to change, or computed from one.
fn is_first(v: &Var) -> bool {
    match v {
        Var::Lazy(l) => Python::attach(|py| {
            let b = l.obj.bind(py);
            b.is_exact_instance_of::<PyInt>() || b.is_exact_instance_of::<PyFloat>()
        }),
        Var::Computed(c) => c.is_first,
        Var::Tuple(t) => t.items.iter().any(is_first),
        Var::Text(t) => t.values().any(is_first),
        _ => false,
    }
}

fn size_of(v: &Var) -> u32 {
    match v {
        Var::Computed(c) => c.size,
        Var::Float(f) => f.expr.size(),
        Var::Tuple(t) => t.items.iter().map(size_of).sum::<u32>() + 1,
        Var::Text(t) => t.values().map(size_of).sum::<u32>() + 1,
        _ => 1,
    }
}
