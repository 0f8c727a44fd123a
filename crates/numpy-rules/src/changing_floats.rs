//! Floats that stay inputs of the graph, where NumPy makes numbers and arrays of its own of them: as arguments of
//! functions that are not computed item by item, as items of lists, as what arrays are filled with.
//!
//! Such a float becomes one of NumPy's numbers that the graph has. Not here: operands beside arrays, which take the dtype
//! of the others (`float_operands`).
//!
//! Invariant: NumPy gives the same class, dtype and sizes for the number as for Python's float, and raises for neither by
//! its value; else the float is a constant.

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyType};
use translator::rules::{Given, value};
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::Var;

use crate::arguments::Asked;
use crate::call::call;
use crate::functions::{array_of_arrays, items_of};
use crate::operation::Maker;
use crate::probe::in_memory;
use crate::sizes::SizesAt;
use crate::values::{Looks, array_of, check_state, new_array};
use crate::what::What;

/// Whether a value is a float that is no constant, or a sequence that holds one.
pub(crate) fn is_changing(tx: &mut Tx<'_>, v: &Var) -> R<bool> {
    // Nothing looks at NumPy's numbers from outside, which would be constants then.
    if tx.array_id(v).is_some() || tx.has_numpy_number([v]) {
        return Ok(false);
    }
    if matches!(tx.look(v)?, Var::Float(_)) {
        return Ok(true);
    }
    for item in items_of(tx, v)?.into_iter().flatten() {
        if tx.inside(|tx| is_changing(tx, &item))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A call with NumPy's numbers in place of the floats among its arguments that are no constants; `None` where there are
/// none of these, or they have to be constants.
///
/// # Errors
/// Errors of the interpreter.
pub(crate) fn call_on_numbers<'py>(tx: &mut Tx<'py>, what: &What<'_, 'py>, args: &Args) -> Given {
    if tx.ints.specialize_numpy {
        return Ok(None);
    }
    let mut any = false;
    for v in args.values() {
        any |= is_changing(tx, v)? && !is_operand(tx, what, v)?;
    }
    if !any {
        return Ok(None);
    }
    let before = tx.snapshot();
    // Where something needs their values, they are constants.
    tx.ints.has_changing_numpy = true;
    match on_numbers(tx, what, args) {
        Err(Stop::Break(_)) | Ok(None) => {
            tx.restore(&before);
            Ok(None)
        }
        made => made,
    }
}

/// Whether a value is a float beside others: it takes the dtype of those.
fn is_operand(tx: &mut Tx<'_>, what: &What<'_, '_>, v: &Var) -> R<bool> {
    Ok(what.takes_any_number && matches!(tx.look(v)?, Var::Float(_)))
}

fn on_numbers<'py>(tx: &mut Tx<'py>, what: &What<'_, 'py>, args: &Args) -> Given {
    if matches!(what.name, "full" | "full_like") {
        return filled(tx, what, args);
    }
    if let ("float64", [v], true) = (what.name, &args.pos[..], args.kw.is_empty())
        && let v @ Var::Float(_) = tx.look(v)?
    {
        return value(number(tx, v)?);
    }
    let is_array = matches!(what.name, "array" | "asarray");
    let given = args.values().map(|v| match is_operand(tx, what, v)? {
        true => Ok(v.clone()),
        false => number_in(tx, v, !is_array),
    });
    let given = given.collect::<R<Vec<_>>>()?;
    let args_on_numbers = args.with_values(&given);
    let plain = args.values().map(|v| plain_in(tx, v));
    let plain = plain.collect::<R<Vec<_>>>()?;
    let plain = args.with_values(&plain);
    let asked = |tx: &mut Tx<'py>, args: &Args| -> R<Bound<'py, PyAny>> {
        let asked = Asked::new(tx, what, args, SizesAt::Now)?.ok_or_else(other)?;
        Ok(asked.probe(what)?.1.result)
    };
    let (expected, found) = (asked(tx, &plain)?, asked(tx, &args_on_numbers)?);
    if !looks_same(&expected, &found)? {
        return Err(other());
    }
    let is_class = what.real.cast::<PyType>().is_ok();
    // NumPy refuses to make ints of some floats.
    if (is_array || is_class) && !is_inexact(&expected)? {
        return Err(other());
    }
    if let Some(made) = array_of_arrays(tx, what, &args_on_numbers)? {
        return Ok(Some(made));
    }
    call(tx, what, &args_on_numbers)
}

fn other() -> Stop {
    Stop::unsupported("NumPy operation that a float decides")
}

/// `numpy.full(shape, float)` and `numpy.full_like(array, float)`: ones times the float.
fn filled<'py>(tx: &mut Tx<'py>, what: &What<'_, 'py>, args: &Args) -> Given {
    let first = match what.name {
        "full" => "shape",
        _ => "a",
    };
    let names = &[first, "fill_value", "dtype"];
    let given = tx.by_name(what.name, args.clone(), names, 2, 3);
    let given = given.map_err(|_| other())?;
    let [Some(like), Some(fill), dtype] = &given[..] else {
        return Err(other());
    };
    if !matches!(tx.look(fill)?, Var::Float(_)) || is_changing(tx, like)? {
        return Err(other());
    }
    let ones = match what.name {
        "full" => "ones",
        _ => "ones_like",
    };
    let mut args = Args::pos(vec![like.clone()]);
    args.kw
        .extend(dtype.iter().map(|dtype| ("dtype".into(), dtype.clone())));
    let ones = run(tx, ones, &args)?;
    let Some(array) = array_of(tx, &ones)? else {
        return Err(other());
    };
    let dtype = tx.st.effects.meta(&array.body.tensor).dtype;
    if !dtype.is_floating() {
        return Err(other());
    }
    let args = Args::pos(vec![ones, fill.clone()]);
    let made = run(tx, "multiply", &args)?;
    // Of an array without dimensions NumPy makes a number.
    match tx.array_id(&made) {
        Some(id) if tx.known.is_exact_ndarray(&tx.obj(id).class) => value(made),
        _ => Err(other()),
    }
}

/// What an operator gives for numbers that floats were made of, and Python's numbers: what it gives for those floats is
/// made a number again, or is a constant. `None` for other operands, and where NumPy computes something else.
///
/// # Errors
/// Those of the operator.
pub(crate) fn operator_of_floats(tx: &mut Tx<'_>, name: &str, operands: &[Var]) -> Given {
    let is_comparison = matches!(
        name,
        "__lt__" | "__le__" | "__eq__" | "__ne__" | "__gt__" | "__ge__"
    );
    let is_exact = matches!(
        name,
        "__add__" | "__sub__" | "__mul__" | "__neg__" | "__abs__" | "__pos__"
    );
    if !is_comparison && !is_exact || operands.iter().all(|v| tx.float_of_number(v).is_none()) {
        return Ok(None);
    }
    let mut plain = Vec::with_capacity(operands.len());
    for v in operands {
        plain.push(match (tx.float_of_number(v), tx.look(v)?) {
            (Some(float), _) => Var::Float(float),
            (None, v @ Var::Float(_)) => v,
            (None, Var::Const(o)) if is_small_number(o.bind(tx.py)) => Var::Const(o),
            _ => return Ok(None),
        });
    }
    let function = tx.py.import("operator")?.getattr(name)?.unbind();
    let Some(made) = tx.call_builtin(&function, Args::pos(plain))? else {
        return Ok(None);
    };
    let made = tx.finish_flow(made)?;
    if is_comparison {
        let truth = tx.truth(&made)?;
        let made = tx.py.import("numpy")?.call_method1("bool_", (truth,))?;
        return value(tx.from_const(made)?);
    }
    match made {
        v @ Var::Float(_) => value(number(tx, v)?),
        _ => Ok(None),
    }
}

/// Whether a float has the number exactly, and Python's operators compute with it as NumPy's do.
fn is_small_number(o: &Bound<'_, PyAny>) -> bool {
    let is_int = o.is_exact_instance_of::<PyInt>();
    o.is_exact_instance_of::<PyFloat>()
        || is_int && o.extract::<i64>().is_ok_and(|i| i.unsigned_abs() < 1 << 53)
}

/// What NumPy's function of this name gives.
fn run(tx: &mut Tx<'_>, name: &str, args: &Args) -> R<Var> {
    let what = What::named(tx.py, name)?;
    match call(tx, &what, args)? {
        Some(flow) => tx.finish_flow(flow),
        None => Err(other()),
    }
}

/// The value that an item of an array is set to: a number for a float that is no constant, where NumPy takes each.
///
/// # Errors
/// Those of making the number.
pub(crate) fn item_value(tx: &mut Tx<'_>, array: &Var, v: &Var) -> R<Option<Var>> {
    if tx.array_id(array).is_none() || !is_changing(tx, v)? {
        return Ok(None);
    }
    let before = tx.snapshot();
    let mut made = || {
        let array = array_of(tx, array)?.ok_or_else(other)?;
        let dtype = tx.st.effects.meta(&array.body.tensor).dtype;
        // NumPy refuses to make ints of some floats.
        match dtype.is_floating() {
            true => number_in(tx, v, true),
            false => Err(other()),
        }
    };
    match made() {
        Err(Stop::Break(_)) => {
            tx.restore(&before);
            Ok(None)
        }
        made => made.map(Some),
    }
}

/// A value with numbers in place of floats that are no constants; a sequence that holds some is an array, where it
/// `becomes_array`.
fn number_in(tx: &mut Tx<'_>, v: &Var, becomes_array: bool) -> R<Var> {
    if !is_changing(tx, v)? {
        return Ok(v.clone());
    }
    if let v @ Var::Float(_) = tx.look(v)? {
        return number(tx, v);
    }
    let items = items_of(tx, v)?.unwrap_or_default();
    let mut holds_rows = false;
    for item in &items {
        holds_rows |= tx.array_id(item).is_some() || items_of(tx, item)?.is_some();
    }
    let items = items
        .iter()
        .map(|item| tx.inside(|tx| number_in(tx, item, becomes_array)));
    let items = items.collect::<R<Vec<_>>>()?;
    let list = tx.new_list(items);
    if holds_rows || !becomes_array {
        return Ok(list);
    }
    let what = What::named(tx.py, "array")?;
    match array_of_arrays(tx, &what, &Args::pos(vec![list]))? {
        Some(Flow::Value(array)) => Ok(array),
        _ => Err(other()),
    }
}

/// A value with the floats of this call in place of those that are no constants.
fn plain_in(tx: &mut Tx<'_>, v: &Var) -> R<Var> {
    if !is_changing(tx, v)? {
        return Ok(v.clone());
    }
    if let Var::Float(f) = tx.look(v)? {
        let plain = PyFloat::new(tx.py, f.value).into_any();
        return tx.from_const(plain);
    }
    let items = items_of(tx, v)?.unwrap_or_default();
    let items = items.iter().map(|item| tx.inside(|tx| plain_in(tx, item)));
    let items = items.collect::<R<Vec<_>>>()?;
    Ok(tx.new_list(items))
}

/// The number of NumPy's that a float is: a product, which keeps the sign of zero and is no guard on the float.
fn number(tx: &mut Tx<'_>, float: Var) -> R<Var> {
    check_state(tx)?;
    let class = tx.py.import("numpy")?.getattr("float64")?.unbind();
    let product = crate::float_operands::on_ones(tx, "float64", float.clone())?;
    let (Var::Tensor(tensor), Var::Float(float)) = (product, float) else {
        return Err(Stop::Internal("a product that is no tensor".into()));
    };
    let looks = Looks {
        float: Some(float),
        ..Looks::default()
    };
    new_array(tx, tensor, class, Maker::Number, looks)
}

/// Whether NumPy gives arrays or numbers of the same class, dtype and sizes.
fn looks_same(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !one.get_type().is(other.get_type()) {
        return Ok(false);
    }
    let (one, other) = (in_memory(one)?, in_memory(other)?);
    if let (Ok(items), Ok(others)) = (one.try_iter(), other.try_iter())
        && !one.hasattr("dtype")?
    {
        if one.len()? != other.len()? {
            return Ok(false);
        }
        for (a, b) in items.zip(others) {
            if !looks_same(&a?, &b?)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    if !one.hasattr("dtype")? {
        return one.eq(&other);
    }
    for name in ["dtype", "shape", "strides"] {
        if !one.getattr(name)?.eq(other.getattr(name)?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether an array or a number is of floats.
fn is_inexact(real: &Bound<'_, PyAny>) -> PyResult<bool> {
    let kind: String = real.getattr("dtype")?.getattr("kind")?.extract()?;
    Ok(matches!(&*kind, "f" | "c"))
}
