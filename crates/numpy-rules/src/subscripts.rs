//! Subscripts of arrays by ints that change, or by slices up to them: what the tensor gives for them is a view as
//! NumPy's, or a number.
//!
//! Not here: subscripts by constants and by arrays, of which NumPy is asked (`call`).
//!
//! Invariant: only what NumPy calls basic indexing comes here, of which torch's is the same.

use std::rc::Rc;

use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyInt, PySlice};
use translator::rules::{Given, value};
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::{TensorVar, Var};

use crate::arrays::operator;
use crate::call::call;
use crate::numbers::changing_int;
use crate::operation::Maker;
use crate::sizes::SizesAt;
use crate::values::{Looks, array_of, check_state, dtype_name, new_array};
use crate::what::What;

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
        [] => match backwards(tx, array, key)? {
            None => read(tx, array, key),
            made => Ok(made),
        },
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

/// Whether the step of a slice is one that torch has, too.
fn steps_forward(tx: &mut Tx<'_>, step: &Var) -> R<bool> {
    match tx.look(step)? {
        Var::Const(o) if o.is_none(tx.py) => Ok(true),
        Var::Const(o) => Ok(o.bind(tx.py).extract::<i64>().is_ok_and(|step| step > 0)),
        _ => Ok(false),
    }
}

/// The limits and the step of a slice; `None` for what is none.
fn slice_parts(tx: &mut Tx<'_>, part: &Var) -> R<Option<[Var; 3]>> {
    let o = match part {
        Var::Slice(parts) => return Ok(Some((**parts).clone())),
        Var::Const(o) if o.bind(tx.py).is_instance_of::<PySlice>() => o.clone(),
        _ => return Ok(None),
    };
    let mut part = |name| tx.from_const(o.bind(tx.py).getattr(name)?);
    Ok(Some([part("start")?, part("stop")?, part("step")?]))
}

/// `array[key]` with slices that go backwards from or to a limit: the same items forwards, turned around.
/// `torch._numpy` counts such a limit from the wrong end. `None` for other keys.
fn backwards(tx: &mut Tx<'_>, array: &Var, key: &Var) -> Given {
    let mut parts = parts_of(key);
    let mut turned = Vec::new();
    for (at, part) in parts.iter_mut().enumerate() {
        *part = tx.look(part)?;
        let Some([start, stop, step]) = slice_parts(tx, part)? else {
            continue;
        };
        let is_none =
            |tx: &mut Tx<'_>, v| R::Ok(matches!(tx.look(v)?, Var::Const(o) if o.is_none(tx.py)));
        let is_whole = is_none(tx, &start)? && is_none(tx, &stop)?;
        if !is_whole && !steps_forward(tx, &step)? {
            turned.push(at);
        }
    }
    if turned.is_empty() {
        return Ok(None);
    }
    let Some(array_of) = array_of(tx, array)? else {
        return Ok(None);
    };
    let sizes = tx.st.effects.meta(&array_of.body.tensor).shape.clone();
    let takes = |tx: &Tx<'_>, part: &Var| match part {
        Var::Int(_) | Var::Slice(_) => Some(1),
        Var::Const(o) if o.is_none(tx.py) || is_ellipsis(tx, part) => Some(0),
        Var::Const(o) if o.bind(tx.py).is_exact_instance_of::<PyInt>() => Some(1),
        Var::Const(o) if o.bind(tx.py).is_instance_of::<PySlice>() => Some(1),
        _ => None,
    };
    let taken: Option<Vec<usize>> = parts.iter().map(|part| takes(tx, part)).collect();
    let rest = taken
        .as_ref()
        .and_then(|taken| sizes.len().checked_sub(taken.iter().sum()));
    let (Some(taken), Some(rest)) = (taken, rest) else {
        return Err(Stop::unsupported(
            "a subscript of an array with a slice that goes backwards beside what is no int or slice",
        ));
    };
    let (mut dim, mut axis, mut axes) = (0, 0, Vec::new());
    for (at, takes) in taken.into_iter().enumerate() {
        let part = parts[at].clone();
        if turned.contains(&at) {
            let size = SizesAt::Fixed.number(tx, sizes[dim])?;
            parts[at] = forwards(tx, &part, size)?;
            axes.push(tx.int(axis));
        }
        let is_int = takes == 1 && slice_parts(tx, &part)?.is_none();
        match is_ellipsis(tx, &part) {
            true => (dim, axis) = (dim + rest, axis + rest as i64),
            false => (dim, axis) = (dim + takes, axis + i64::from(!is_int)),
        }
    }
    let made = operator(tx, "__getitem__", &[array, &Var::tuple(parts)])?;
    let Some(made) = made else { return Ok(None) };
    let made = tx.finish_flow(made)?;
    let what = What::named(tx.py, "flip")?;
    call(tx, &what, &Args::pos(vec![made, Var::tuple(axes)]))
}

/// The slice of the same items of a dimension of this size, from the last one to the first.
fn forwards(tx: &mut Tx<'_>, slice: &Var, size: i64) -> R<Var> {
    let Some(slice) = tx.real_copy(slice)? else {
        return Err(Stop::unsupported(
            "a slice that goes backwards, with limits that are no constants",
        ));
    };
    let indices = slice
        .call_method1("indices", (size,))
        .map_err(|e| Stop::unsupported(e.to_string()))?;
    let (start, stop, step): (i64, i64, i64) = indices.extract()?;
    let count = (start - stop - step - 1).div_euclid(-step).max(0);
    let (first, end) = match count {
        0 => (0, 0),
        count => (start + (count - 1) * step, start + 1),
    };
    let slice = PySlice::new(tx.py, first as isize, end as isize, -step as isize);
    tx.from_const(slice.into_any())
}

/// The strides of what NumPy gives for the parts of a key, where they differ: those of a new dimension are 0. `None`,
/// too, where they are no constants.
fn own_strides(tx: &mut Tx<'_>, made: &Rc<TensorVar>, parts: &[Var]) -> R<Option<Rc<[i64]>>> {
    let is_none = |tx: &Tx<'_>, v: &Var| matches!(v, Var::Const(o) if o.is_none(tx.py));
    if !parts.iter().any(|part| is_none(tx, part)) {
        return Ok(None);
    }
    let meta = tx.st.effects.meta(made).clone();
    let Some(mut strides) = meta.stride() else {
        return Ok(None);
    };
    let mut gives = Vec::with_capacity(parts.len());
    for part in parts {
        let is_slice = slice_parts(tx, part)?.is_some();
        gives.push(usize::from(is_slice || is_none(tx, part)));
    }
    let rest = strides.len().saturating_sub(gives.iter().sum());
    let mut dim = 0;
    for (part, gives) in parts.iter().zip(gives) {
        match part {
            part if is_none(tx, part) => strides[dim] = 0,
            part if is_ellipsis(tx, part) => dim += rest,
            _ => {}
        }
        dim += gives;
    }
    let item = meta.dtype.itemsize() as i64;
    Ok(Some(strides.iter().map(|stride| stride * item).collect()))
}

/// What the tensor gives for the key.
fn read(tx: &mut Tx<'_>, array: &Var, key: &Var) -> Given {
    let items = parts_of(key);
    let items = items.iter().map(|item| tx.look(item));
    let items = items.collect::<R<Vec<Var>>>()?;
    let mut is_dynamic = false;
    for item in &items {
        match item {
            Var::Int(_) => is_dynamic = true,
            Var::Slice(limits) => {
                for limit in &limits[..2] {
                    is_dynamic |= matches!(tx.look(limit)?, Var::Int(_));
                }
                if !steps_forward(tx, &limits[2])? {
                    return Ok(None);
                }
            }
            Var::Const(o) if o.bind(tx.py).is_instance_of::<PySlice>() => {
                let step = o.bind(tx.py).getattr("step")?;
                let step = tx.from_const(step)?;
                if !steps_forward(tx, &step)? {
                    return Ok(None);
                }
            }
            item if is_ellipsis(tx, item) => {}
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
    let looks = Looks {
        strides: own_strides(tx, &tensor, &items)?,
        ..Looks::default()
    };
    let made = new_array(tx, tensor, class.unbind(), maker, looks)?;
    value(made)
}
