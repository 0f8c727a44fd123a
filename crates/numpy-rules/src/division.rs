//! Division of integers, where a divisor may be zero: NumPy gives zero then, torch raises.
//!
//! Not here: any other division, which both compute alike; divisors that are constants, for which NumPy is asked.
//!
//! Invariant: the graph divides no integer by an array's item that is zero.

use pyo3::prelude::*;
use pyo3::types::PyInt;
use translator::rules::Given;
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::Var;

use crate::arrays::operator;
use crate::values::array_of;
use crate::what::What;

/// The functions that divide their first operand by the second one.
const DIVIDING: &[(&str, &[&str])] = &[
    ("numpy", &["floor_divide", "remainder", "fmod", "divmod"]),
    ("operator", &["floordiv", "mod"]),
];

/// Those that write to their first operand.
const DIVIDING_IN_PLACE: &[(&str, &[&str])] = &[("operator", &["ifloordiv", "imod"])];

/// Calls a function, by `call`, with divisors of which none is zero. `None`: it divides no integers, or by a constant.
///
/// # Errors
/// A break where it is told more than its operands; those of the calls.
pub(crate) fn by_zero<'py>(
    tx: &mut Tx<'py>,
    what: &What<'_, 'py>,
    args: &Args,
    call: impl FnOnce(&mut Tx<'py>, &Args) -> Given,
) -> Given {
    if !what.is_universal {
        return Ok(None);
    }
    let is_in_place = what.is_one_of(DIVIDING_IN_PLACE)?;
    if !is_in_place && !what.is_one_of(DIVIDING)? {
        return Ok(None);
    }
    let [dividend, divisor, ..] = &args.pos[..] else {
        return Ok(None);
    };
    if !holds_integers(tx, dividend)? || !may_be_zero(tx, divisor)? {
        return Ok(None);
    }
    if args.pos.len() > 2 || !args.kw.is_empty() {
        return Err(Stop::brk(
            format!(
                "NumPy division of integers with more than its operands: {}",
                what.name
            ),
            "A divisor may be zero: NumPy gives zero then, torch raises.",
            "Call the function with its two operands only, or outside of the compiled function.",
        ));
    }
    let zero = tx.int(0);
    let compute = |tx: &mut Tx<'py>, name: &str, a: &Var, b: &Var| -> R<Var> {
        match operator(tx, name, &[a, b])? {
            Some(flow) => tx.finish_flow(flow),
            None => Err(Stop::Internal(format!("an array without {name}"))),
        }
    };
    let is_zero = compute(tx, "__eq__", divisor, &zero)?;
    let counts = compute(tx, "__ne__", divisor, &zero)?;
    let by = compute(tx, "__add__", divisor, &is_zero)?;
    let Some(made) = call(tx, &Args::pos(vec![dividend.clone(), by]))? else {
        return Ok(None);
    };
    let masked = if is_in_place { "__imul__" } else { "__mul__" };
    let made = match tx.finish_flow(made)? {
        Var::Tuple(both) => {
            let both = both.items.iter();
            Var::tuple(
                both.map(|v| compute(tx, masked, v, &counts))
                    .collect::<R<Vec<Var>>>()?,
            )
        }
        one => compute(tx, masked, &one, &counts)?,
    };
    Ok(Some(Flow::Value(made)))
}

/// Whether a value is an integer, or an array or tensor of such.
pub(crate) fn holds_integers(tx: &mut Tx<'_>, v: &Var) -> R<bool> {
    if let Var::Int(_) = tx.look(v)? {
        return Ok(true);
    }
    let dtype = match &tx.realize(v)? {
        Var::Const(o) => return Ok(o.bind(tx.py).is_instance_of::<PyInt>()),
        Var::Tensor(tensor) => tx.st.effects.meta(tensor).dtype,
        v => match array_of(tx, v)? {
            Some(array) => tx.st.effects.meta(&array.body.tensor).dtype,
            None => return Ok(false),
        },
    };
    Ok(dtype.is_integral_or_bool())
}

/// Whether a value is an array of integers that may have a zero.
fn may_be_zero(tx: &mut Tx<'_>, v: &Var) -> R<bool> {
    let v = tx.realize(v)?;
    if tx.array_id(&v).is_none() || !holds_integers(tx, &v)? {
        return Ok(false);
    }
    let known = array_of(tx, &v)?.and_then(|array| array.known(tx));
    match known {
        Some(known) => Ok(!known.bind(tx.py).call_method0("all")?.is_truthy()?),
        None => Ok(true),
    }
}
