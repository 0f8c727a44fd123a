//! Functions of which torch gives other numbers than NumPy, composed of others of NumPy's.
//!
//! Not here: functions that torch refuses, or of which it gives another class, dtype or size: these break the graph.

use tensor_meta::DType;
use translator::rules::Given;
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::Var;

use crate::call::call;
use crate::values::array_of;
use crate::what::What;

type Composed = fn(&mut Tx<'_>, &Var) -> R<Var>;

/// Their names; whether for integers, too.
const COMPOSED: &[(&str, bool, Composed)] = &[
    ("cbrt", true, cbrt),
    ("fix", true, trunc),
    ("modf", false, modf),
];

/// Calls what is listed with an array of numbers that it is for; `None` for other functions and arrays.
///
/// # Errors
/// A break where it is told more than the array; those of the calls.
pub(crate) fn composed(tx: &mut Tx<'_>, what: &What<'_, '_>, args: &Args) -> Given {
    for (name, of_integers, make) in COMPOSED {
        if !what.is_one_of(&[("numpy", &[name])])? {
            continue;
        }
        let ([of], true) = (&args.pos[..], args.kw.is_empty()) else {
            let reason = format!("numpy.{name}() with more than an array");
            return Err(Stop::unsupported(reason));
        };
        let of = tx.look(of)?;
        let dtype = array_of(tx, &of)?.map(|array| tx.st.effects.meta(&array.body.tensor).dtype);
        let applies = |dtype: DType| dtype.is_floating() || *of_integers && dtype.is_integral();
        return match dtype.is_some_and(applies) {
            true => make(tx, &of).map(|made| Some(Flow::Value(made))),
            false => Ok(None),
        };
    }
    Ok(None)
}

fn run(tx: &mut Tx<'_>, name: &str, args: Vec<Var>) -> R<Var> {
    let what = What::named(tx.py, name)?;
    match call(tx, &what, &Args::pos(args))? {
        Some(flow) => tx.finish_flow(flow),
        None => Err(Stop::unsupported(format!(
            "numpy.{name}() of what is no array"
        ))),
    }
}

/// torch raises to the power of a third, which negative numbers do not have.
fn cbrt(tx: &mut Tx<'_>, of: &Var) -> R<Var> {
    let size = run(tx, "abs", vec![of.clone()])?;
    let root = run(tx, "cbrt", vec![size])?;
    run(tx, "copysign", vec![root, of.clone()])
}

/// Towards zero; torch rounds down.
fn trunc(tx: &mut Tx<'_>, of: &Var) -> R<Var> {
    run(tx, "trunc", vec![of.clone()])
}

/// Both parts with the sign of the number; torch rounds down. Of an infinite number nothing is left.
fn modf(tx: &mut Tx<'_>, of: &Var) -> R<Var> {
    let whole = run(tx, "trunc", vec![of.clone()])?;
    let is_infinite = run(tx, "isinf", vec![of.clone()])?;
    let rest = run(tx, "subtract", vec![of.clone(), whole.clone()])?;
    let zero = run(tx, "zeros_like", vec![whole.clone()])?;
    let rest = run(tx, "where", vec![is_infinite, zero, rest])?;
    let rest = run(tx, "copysign", vec![rest, of.clone()])?;
    Ok(Var::tuple(vec![rest, whole]))
}
