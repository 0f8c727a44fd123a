//! Ints that are made of a dynamic int by a division of floats and rounding: `int(n / 2)`, `round(n * 0.75)`.
//!
//! Such a float is a fraction of ints, exactly or so closely that it is never rounded to the wrong side of an int: the
//! int is an expression of ints, and stays one where the int changes.

use std::rc::Rc;

use guards::{IntBinary, IntCompare, IntExpr, IntRelation};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use translator::tx::Tx;
use variables::{ComputedVar, FloatExpr, IntVar, Obj, Var};

/// How a float becomes an int.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// to what is below it; towards zero is the same here
    Down,
    /// to what is above it
    Up,
    /// to the nearest, and to the even one of two
    Nearest,
}

/// Numerators up to here are floats, and so are quotients of them between ints.
const MOST: i64 = 1 << 52;

/// Denominators are smaller, and so are numerators of constants.
const MOST_PART: i64 = 1 << 20;

/// A fraction: an int and a positive number below it.
struct Fraction {
    over: IntVar,
    under: i64,
}

/// A float that is a fraction of dynamic ints, rounded. `None` for other values, and where it may be negative.
pub(crate) fn rounded(tx: &mut Tx<'_>, v: &Var, rounding: Rounding) -> Option<Var> {
    let Var::Float(float) = v else { return None };
    let FloatExpr::Computed(computed) = &float.expr else {
        return None;
    };
    let Fraction { over, under } = fraction(tx, &computed.clone())?;
    if !(0..=MOST).contains(&over.value) || under == 0 {
        return None;
    }
    let expr = expression(&over.expr, under, rounding)?;
    let quotient = over.value / under;
    let value = match rounding {
        Rounding::Down => quotient,
        Rounding::Up => (over.value + under - 1) / under,
        Rounding::Nearest => quotient + (2 * (over.value % under) + quotient % 2) / (under + 1),
    };
    for (op, bound) in [(IntCompare::Ge, 0), (IntCompare::Le, MOST)] {
        let right = IntVar {
            expr: IntExpr::Const(bound),
            value: bound,
        };
        if tx.sure_compare(op, &over, &right) != Some(true) {
            tx.guard_relation(IntRelation {
                op,
                left: over.expr.clone(),
                right: right.expr,
            });
        }
    }
    Some(Var::Int(Rc::new(IntVar { expr, value })))
}

fn fraction(tx: &Tx<'_>, computed: &ComputedVar) -> Option<Fraction> {
    let [a, b] = &computed.args[..] else {
        return None;
    };
    let is = |name: &str| tx.is_made_by(computed, name);
    let (int, constant) = match (a, b) {
        (Var::Int(int), Var::Const(constant)) => (int, constant),
        (Var::Const(constant), Var::Int(int)) if is("mul") => (int, constant),
        _ => return None,
    };
    let (over, under) = parts(tx, constant)?;
    if is("truediv") && under == 1 && over > 0 {
        let (over, under) = ((**int).clone(), over);
        return Some(Fraction { over, under });
    }
    if !is("mul") {
        return None;
    }
    let value = int.value.checked_mul(over)?;
    let expr = IntExpr::binary(IntBinary::Multiply, &int.expr, &IntExpr::Const(over))?;
    let over = IntVar { expr, value };
    Some(Fraction { over, under })
}

/// A constant number as a fraction of small numbers, which it is exactly.
fn parts(tx: &Tx<'_>, constant: &Obj) -> Option<(i64, i64)> {
    let b = constant.bind(tx.py);
    let (mut over, mut under) = match (b.cast_exact::<PyFloat>(), b.cast_exact::<PyInt>()) {
        (Ok(float), _) => (float.value(), 1),
        (_, Ok(int)) => (int.extract::<i32>().ok()?.into(), 1),
        _ => return None,
    };
    while over.fract() != 0.0 && under < MOST_PART {
        (over, under) = (over * 2.0, under * 2);
    }
    let fits = over.fract() == 0.0 && over.abs() < MOST_PART as f64;
    fits.then_some((over as i64, under))
}

/// `over / under`, where neither is negative.
fn expression(over: &IntExpr, under: i64, rounding: Rounding) -> Option<IntExpr> {
    let of = |op, a: &IntExpr, n: i64| IntExpr::binary(op, a, &IntExpr::Const(n));
    match rounding {
        Rounding::Down => of(IntBinary::FloorDivide, over, under),
        Rounding::Up => {
            let more = of(IntBinary::Add, over, under - 1)?;
            of(IntBinary::FloorDivide, &more, under)
        }
        // One more where the rest is more than a half, or is one beside an odd quotient.
        Rounding::Nearest => {
            let quotient = of(IntBinary::FloorDivide, over, under)?;
            let rest = of(IntBinary::Remainder, over, under)?;
            let twice = of(IntBinary::Multiply, &rest, 2)?;
            let odd = of(IntBinary::Remainder, &quotient, 2)?;
            let sum = IntExpr::binary(IntBinary::Add, &twice, &odd)?;
            let more = of(IntBinary::FloorDivide, &sum, under + 1)?;
            IntExpr::binary(IntBinary::Add, &quotient, &more)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_rounded_as_python_does() {
        let source = guards::SourceId(0);
        for n in 0..200i64 {
            for under in [1, 2, 3, 4, 5, 8, 16] {
                let float = n as f64 / under as f64;
                let of = |rounding| {
                    let expr = expression(&IntExpr::Source(source), under, rounding)?;
                    expr.eval(&|_| Some(n))
                };
                assert_eq!(of(Rounding::Down), Some(float.floor() as i64));
                assert_eq!(of(Rounding::Up), Some(float.ceil() as i64));
                let nearest = float.round_ties_even() as i64;
                assert_eq!(of(Rounding::Nearest), Some(nearest), "{n} / {under}");
            }
        }
    }
}
