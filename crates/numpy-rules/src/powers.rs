//! Powers of integers, whose exponents may be negative: NumPy raises then, torch gives numbers.
//!
//! Not here: exponents that are numbers, for which NumPy is asked.
//!
//! Invariant: the graph raises no integer to a power that an array has and that may be negative.

use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::Var;

use crate::division::holds_integers;
use crate::values::array_of;
use crate::what::What;

const RAISING: &[(&str, &[&str])] = &[("numpy", &["power"]), ("operator", &["pow", "ipow"])];

/// Lets NumPy raise where it may have to.
///
/// # Errors
/// A break for exponents that may be negative.
pub(crate) fn check_exponents(tx: &mut Tx<'_>, what: &What<'_, '_>, args: &Args) -> R<()> {
    if !what.is_universal || !what.is_one_of(RAISING)? {
        return Ok(());
    }
    let [base, exponent, ..] = &args.pos[..] else {
        return Ok(());
    };
    if !may_be_negative(tx, exponent)? || !holds_integers(tx, base)? {
        return Ok(());
    }
    Err(Stop::brk(
        format!("NumPy power of integers by an array: {}", what.name),
        "An exponent may be negative: NumPy raises then, torch gives a number.",
        "Make the base or the exponents floats or the exponents unsigned, or compute the power outside of the \
         compiled function.",
    ))
}

/// Whether a value is an array of integers that may have one below zero.
fn may_be_negative(tx: &mut Tx<'_>, v: &Var) -> R<bool> {
    let v = tx.realize(v)?;
    if tx.array_id(&v).is_none() || !holds_integers(tx, &v)? {
        return Ok(false);
    }
    let Some(array) = array_of(tx, &v)? else {
        return Ok(false);
    };
    let elements = tx.st.effects.meta(&array.body.tensor).dtype.int_elements();
    if elements.is_none_or(|(least, _)| least >= 0) {
        return Ok(false);
    }
    match array.known(tx) {
        Some(known) => {
            let below = known.bind(tx.py).rich_compare(0, CompareOp::Lt)?;
            Ok(below.call_method0("any")?.is_truthy()?)
        }
        None => Ok(true),
    }
}
