//! Subscripts of arrays by ints that change: what the tensor gives for them is a view as NumPy's, or a number.
//!
//! Not here: subscripts by constants, by arrays, and by slices alone, of which NumPy is asked (`call`).
//!
//! Invariant: only what NumPy calls basic indexing comes here, of which torch's is the same.

use std::rc::Rc;

use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyInt};
use translator::rules::{Given, value};
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::Var;

use crate::arrays::operator;
use crate::numbers::changing_int;
use crate::operation::Maker;
use crate::values::{Looks, array_of, check_state, dtype_name, new_array};

/// The parts of a subscript with what `replace` gives for some; `None` where it gives nothing. A tuple in a tuple is
/// data, no part of the subscript.
pub(crate) fn replaced(
    tx: &mut Tx<'_>,
    parts: &[Var],
    replace: fn(&mut Tx<'_>, &Var) -> R<Option<Var>>,
) -> R<Option<Vec<Var>>> {
    let mut changes = false;
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        let made = match part {
            Var::Tuple(_) => None,
            part => replace(tx, part)?,
        };
        changes |= made.is_some();
        all.push(made.unwrap_or_else(|| part.clone()));
    }
    Ok(changes.then_some(all))
}

/// A subscript with dynamic ints in place of NumPy's integers that change; `None` where there are none.
pub(crate) fn with_changing_ints(tx: &mut Tx<'_>, key: &Var) -> R<Option<Var>> {
    match key {
        Var::Tuple(items) => Ok(replaced(tx, &items.items, with_changing_ints)?.map(Var::tuple)),
        Var::Slice(parts) => {
            let parts = replaced(tx, &parts[..], with_changing_ints)?;
            let parts = parts.map(<[Var; 3]>::try_from).transpose();
            let parts = parts.map_err(|_| Stop::Internal("a slice without its parts".into()))?;
            Ok(parts.map(|parts| Var::Slice(Rc::new(parts))))
        }
        key => changing_int(tx, key),
    }
}

/// `array[key]`, or `array[key] = v`, where an int that changes is an index; `None` for other keys.
pub(crate) fn by_ints(tx: &mut Tx<'_>, name: &str, operands: &[&Var]) -> Given {
    let [array, key, rest @ ..] = operands else {
        return Ok(None);
    };
    if let Some(key) = with_changing_ints(tx, key)? {
        let mut operands = operands.to_vec();
        operands[1] = &key;
        return operator(tx, name, &operands);
    }
    match rest {
        [] => read(tx, array, key),
        [v] => write(tx, array, key, v),
        _ => Ok(None),
    }
}

fn parts_of(key: &Var) -> Vec<Var> {
    match key {
        Var::Tuple(items) if items.class.is_none() => items.items.clone(),
        key => vec![key.clone()],
    }
}

fn is_ellipsis(tx: &Tx<'_>, v: &Var) -> bool {
    matches!(v, Var::Const(o) if o.bind(tx.py).is_exact_instance_of::<PyEllipsis>())
}

/// Writes to the view that the key gives.
fn write(tx: &mut Tx<'_>, array: &Var, key: &Var, v: &Var) -> Given {
    let all = tx.from_const(PyEllipsis::get(tx.py).to_owned().into_any())?;
    let mut parts = parts_of(key);
    if !parts.iter().any(|part| is_ellipsis(tx, part)) {
        // Without it, what all indices are ints for is a number, no view.
        parts.push(all.clone());
    }
    match read(tx, array, &Var::tuple(parts))? {
        Some(view) => {
            let view = tx.finish_flow(view)?;
            operator(tx, "__setitem__", &[&view, &all, v])
        }
        None => Ok(None),
    }
}

/// What the tensor gives for the key.
fn read(tx: &mut Tx<'_>, array: &Var, key: &Var) -> Given {
    let items = parts_of(key);
    let mut is_dynamic = false;
    for item in &items {
        match tx.look(item)? {
            Var::Int(_) => is_dynamic = true,
            Var::Slice(_) => {}
            item if is_ellipsis(tx, &item) => {}
            Var::Const(o) if o.is_none(tx.py) => {}
            Var::Const(o) if o.bind(tx.py).is_exact_instance_of::<PyInt>() => {}
            _ => return Ok(None),
        }
    }
    let array = match array_of(tx, array)? {
        Some(array) if is_dynamic => array.body,
        _ => return Ok(None),
    };
    if array.copied.is_some() || array.strides.is_some() {
        return Ok(None);
    }
    check_state(tx)?;
    let before = tx.snapshot();
    let of = Var::Tensor(array.tensor.clone());
    let made = tx
        .tensor_getitem(&of, key)
        .and_then(|flow| tx.finish_flow(flow));
    let tensor = match made {
        Ok(Var::Tensor(tensor)) => tensor,
        Ok(_) | Err(Stop::Break(_)) => {
            tx.restore(&before);
            return Ok(None);
        }
        Err(stop) => return Err(stop),
    };
    let has_ellipsis = items.iter().any(|item| is_ellipsis(tx, item));
    let numpy = tx.py.import("numpy")?;
    let (tensor, class, maker) = if !tx.st.effects.meta(&tensor).shape.is_empty() || has_ellipsis {
        let maker = match array.writeable {
            true => Maker::Array,
            false => Maker::ReadOnlyArray,
        };
        (tensor, numpy.getattr("ndarray")?, maker)
    } else {
        let copied = Args::pos(vec![Var::Tensor(tensor)]);
        let Var::Tensor(copy) = tx.emit(&Callee::Method("clone"), &copied)? else {
            return Err(Stop::Internal("a clone that is no tensor".into()));
        };
        let name = dtype_name(tx.st.effects.meta(&copy));
        let class = numpy.call_method1("dtype", (name,))?.getattr("type")?;
        (copy, class, Maker::Number)
    };
    let made = new_array(tx, tensor, class.unbind(), maker, Looks::default())?;
    value(made)
}
