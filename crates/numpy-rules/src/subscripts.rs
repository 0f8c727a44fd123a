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

/// A subscript with dynamic ints in place of NumPy's integers that change; `None` where there are none.
pub(crate) fn with_changing_ints(tx: &mut Tx<'_>, key: &Var) -> R<Option<Var>> {
    let parts: &[Var] = match key {
        Var::Tuple(items) => &items.items,
        Var::Slice(parts) => &**parts,
        key => return changing_int(tx, key),
    };
    let mut changes = false;
    let mut made = Vec::with_capacity(parts.len());
    for part in parts {
        let int = match part {
            Var::Tuple(_) => None,
            part => with_changing_ints(tx, part)?,
        };
        changes |= int.is_some();
        made.push(int.unwrap_or_else(|| part.clone()));
    }
    if !changes {
        return Ok(None);
    }
    Ok(match <[Var; 3]>::try_from(made) {
        Ok(parts) if matches!(key, Var::Slice(_)) => Some(Var::Slice(Rc::new(parts))),
        Ok(items) => Some(Var::tuple(items.into())),
        Err(items) => Some(Var::tuple(items)),
    })
}

fn parts_of(key: &Var) -> Vec<Var> {
    match key {
        Var::Tuple(items) if items.class.is_none() => items.items.clone(),
        key => vec![key.clone()],
    }
}

/// `array[key] = v` where a dynamic int is an index, which writes to the view that the key gives; `None` for other keys.
pub(crate) fn write_by_dynamic_ints(tx: &mut Tx<'_>, array: &Var, key: &Var, v: &Var) -> Given {
    let all = tx.from_const(PyEllipsis::get(tx.py).to_owned().into_any())?;
    let mut parts = parts_of(key);
    let is_all =
        |part: &Var| matches!(part, Var::Const(o) if o.bind(tx.py).is(PyEllipsis::get(tx.py)));
    if !parts.iter().any(is_all) {
        // What is not a view of the array can't be written to.
        parts.push(all.clone());
    }
    match by_dynamic_ints(tx, array, &Var::tuple(parts))? {
        Some(view) => {
            let view = tx.finish_flow(view)?;
            operator(tx, "__setitem__", &[&view, &all, v])
        }
        None => Ok(None),
    }
}

/// `array[key]` where a dynamic int is an index; `None` for other keys.
pub(crate) fn by_dynamic_ints(tx: &mut Tx<'_>, array: &Var, key: &Var) -> Given {
    let items = parts_of(key);
    let (mut is_dynamic, mut has_ellipsis) = (false, false);
    for item in &items {
        match tx.look(item)? {
            Var::Int(_) => is_dynamic = true,
            Var::Slice(_) => {}
            Var::Const(o) => {
                let o = o.bind(tx.py);
                let is_ellipsis = o.is_exact_instance_of::<PyEllipsis>();
                has_ellipsis |= is_ellipsis;
                if !is_ellipsis && !o.is_none() && !o.is_exact_instance_of::<PyInt>() {
                    return Ok(None);
                }
            }
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
    let mut tensor = match made {
        Ok(Var::Tensor(tensor)) => tensor,
        Ok(_) | Err(Stop::Break(_)) => {
            tx.restore(&before);
            return Ok(None);
        }
        Err(stop) => return Err(stop),
    };
    let numpy = tx.py.import("numpy")?;
    if !tx.st.effects.meta(&tensor).shape.is_empty() || has_ellipsis {
        let class = numpy.getattr("ndarray")?.unbind();
        let maker = match array.writeable {
            true => Maker::Array,
            false => Maker::ReadOnlyArray,
        };
        return value(new_array(tx, tensor, class, maker, Looks::default())?);
    }
    let copy = tx.emit(
        &Callee::Method("clone"),
        &Args::pos(vec![Var::Tensor(tensor.clone())]),
    )?;
    if let Var::Tensor(copy) = copy {
        tensor = copy;
    }
    let name = dtype_name(tx.st.effects.meta(&tensor));
    let class = numpy
        .call_method1("dtype", (name,))?
        .getattr("type")?
        .unbind();
    value(new_array(
        tx,
        tensor,
        class,
        Maker::Number,
        Looks::default(),
    )?)
}
