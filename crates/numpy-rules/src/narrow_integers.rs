//! Python's ints beside arrays of narrow integers, where NumPy takes each by its value: comparisons, look-ups in sorted
//! arrays, and the limits of `clip`. torch makes them of the array's dtype first, in which others are another number.
//!
//! Not here: arithmetic, for which NumPy raises where an int does not fit.
//!
//! Invariant: no int that may not fit reaches an operation of the graph beside a narrower array.

use pyo3::prelude::*;
use pyo3::types::PyInt;
use tensor_meta::DType;
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::Var;

use crate::arrays::method;
use crate::values::array_of;
use crate::what::What;

const COMPARING: &[(&str, &[&str])] = &[
    (
        "numpy",
        &[
            "equal",
            "not_equal",
            "less",
            "greater",
            "less_equal",
            "greater_equal",
            "searchsorted",
            "ndarray.searchsorted",
            "digitize",
        ],
    ),
    ("operator", &["eq", "ne", "lt", "le", "gt", "ge"]),
];

const CLIPPING: &[(&str, &[&str])] = &[("numpy", &["clip", "ndarray.clip", "generic.clip"])];

/// NumPy raises where what an array is filled with does not fit, where torch wraps it.
const FILLING: &[(&str, &[&str])] = &[("numpy", &["full_like", "where"])];

/// The arguments with an array that is as wide as the ints it is compared with, or with limits that its dtype has;
/// `None` where they are so.
///
/// # Errors
/// A break where NumPy raises.
pub(crate) fn by_value(tx: &mut Tx<'_>, what: &What<'_, '_>, args: &Args) -> R<Option<Args>> {
    if what.is_one_of(COMPARING)? {
        return compared(tx, args);
    }
    if what.is_one_of(CLIPPING)? {
        return clipped(tx, args);
    }
    if what.is_one_of(FILLING)? {
        return filled(tx, args);
    }
    Ok(None)
}

/// Ints that are no constants become such, where the dtype may not have them.
fn filled(tx: &mut Tx<'_>, args: &Args) -> R<Option<Args>> {
    let mut is_narrow = args.kw.iter().any(|(name, _)| &**name == "dtype");
    for v in &args.pos {
        is_narrow |= narrow(tx, v)?.is_some();
    }
    if !is_narrow {
        return Ok(None);
    }
    let mut args = args.clone();
    for v in &mut args.pos {
        if !tx.has_numpy_number([&*v]) && matches!(tx.look(v)?, Var::Int(_)) {
            *v = tx.realize(v)?;
        }
    }
    Ok(Some(args))
}

fn compared(tx: &mut Tx<'_>, args: &Args) -> R<Option<Args>> {
    let [a, b, ..] = &args.pos[..] else {
        return Ok(None);
    };
    for (at, v, other) in [(0, a, b), (1, b, a)] {
        if let Some((array, dtype)) = narrow(tx, v)?
            && may_not_fit(tx, other, dtype)?
        {
            let numpy = tx.py.import("numpy")?;
            let wide = Var::py(numpy.getattr("int64")?.unbind());
            let made = method(tx, &array, "astype", &Args::pos(vec![wide]))?;
            let Some(made) = made else { return Ok(None) };
            let mut args = args.clone();
            args.pos[at] = tx.finish_flow(made)?;
            return Ok(Some(args));
        }
    }
    Ok(None)
}

fn clipped(tx: &mut Tx<'_>, args: &Args) -> R<Option<Args>> {
    let Some(array) = args.pos.first() else {
        return Ok(None);
    };
    let Some((_, dtype)) = narrow(tx, array)? else {
        return Ok(None);
    };
    let mut args = args.clone();
    for (at, v) in args.pos.iter_mut().enumerate().skip(1) {
        *v = fitting(tx, v, dtype, at == 1)?;
    }
    for (name, v) in &mut args.kw {
        let is_least = matches!(&**name, "a_min" | "min");
        *v = fitting(tx, v, dtype, is_least)?;
    }
    Ok(Some(args))
}

/// A limit that a dtype has, for one below all or above all of its numbers; the other way round, NumPy raises.
fn fitting(tx: &mut Tx<'_>, limit: &Var, dtype: DType, is_least: bool) -> R<Var> {
    if !may_not_fit(tx, limit, dtype)? {
        return Ok(limit.clone());
    }
    let limit = tx.realize(limit)?;
    let other =
        || Stop::unsupported("numpy.clip() by an int that the dtype of the array does not have");
    let given = tx.as_const(&limit)?.ok_or_else(other)?;
    let given = given.bind(tx.py);
    let (least, most) = limits_of(tx.py, dtype)?;
    match (given.lt(least)?, given.gt(most)?) {
        (false, false) => Ok(limit),
        (true, _) if is_least => Ok(tx.int(least)),
        (_, true) if !is_least => Ok(tx.int(most)),
        _ => Err(other()),
    }
}

/// An array of integers of less than 64 bits, and its dtype.
fn narrow(tx: &mut Tx<'_>, v: &Var) -> R<Option<(Var, DType)>> {
    if tx.has_numpy_number([v]) {
        return Ok(None);
    }
    let v = tx.look(v)?;
    let Some(array) = array_of(tx, &v)? else {
        return Ok(None);
    };
    let dtype = tx.st.effects.meta(&array.body.tensor).dtype;
    let is_narrow = dtype.is_integral() && dtype.itemsize() < 8;
    Ok(is_narrow.then_some((v, dtype)))
}

/// Whether a value is one of Python's ints that a dtype may not have.
fn may_not_fit(tx: &mut Tx<'_>, v: &Var, dtype: DType) -> R<bool> {
    if tx.has_numpy_number([v]) {
        return Ok(false);
    }
    match tx.look(v)? {
        Var::Int(_) => Ok(true),
        Var::Const(o) if o.bind(tx.py).is_exact_instance_of::<PyInt>() => {
            let (least, most) = limits_of(tx.py, dtype)?;
            let o = o.bind(tx.py);
            Ok(o.lt(least)? || o.gt(most)?)
        }
        _ => Ok(false),
    }
}

fn dtype_of<'py>(py: Python<'py>, dtype: DType) -> PyResult<Bound<'py, PyAny>> {
    let name = dtype.name();
    let name = name.strip_prefix("torch.").unwrap_or(name);
    py.import("numpy")?.call_method1("dtype", (name,))
}

/// The least and the largest number of a dtype.
fn limits_of(py: Python<'_>, dtype: DType) -> PyResult<(i64, i64)> {
    let info = py
        .import("numpy")?
        .call_method1("iinfo", (dtype_of(py, dtype)?,))?;
    Ok((
        info.getattr("min")?.extract()?,
        info.getattr("max")?.extract()?,
    ))
}
