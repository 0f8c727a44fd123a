//! What torch gives for a call of NumPy's, beside what NumPy gives: sizes, strides and dtypes that have to be the same.
//!
//! Not here: what NumPy is asked (`probe`), and how a call becomes a node (`call`).

use std::rc::Rc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyTuple};
use tensor_meta::{Inferred, SymInt};
use translator::stop::{R, Stop};
use translator::torch_ops::emit::Callee;
use translator::tx::{Args, Tx};
use variables::{TensorVar, Var};

use crate::operation::operation;
use crate::probe::{Call, in_memory};
use crate::sizes::{SizesAt, decided_by_data, fits_but_for_data};
use crate::values::dtype_text;
use crate::what::What;

/// What torch gives for the arguments that NumPy was asked with, on their memory.
pub(crate) fn on_tensors<'py>(
    what: &What<'_, 'py>,
    function: &Bound<'py, PyAny>,
    real: &Call<'_, 'py>,
) -> R<Bound<'py, PyAny>> {
    let py = function.py();
    let run = || -> PyResult<Bound<'py, PyAny>> {
        let target = operation(function, what.name)?;
        let pos = real.pos.iter().map(|o| tensors_in(&o));
        let pos = PyTuple::new(py, pos.collect::<PyResult<Vec<_>>>()?)?;
        let kw = PyDict::new(py);
        for (name, o) in real.kw.iter() {
            kw.set_item(name, tensors_in(&o)?)?;
        }
        target.bind(py).call(pos, Some(&kw))
    };
    run().map_err(|e| {
        Stop::brk(
            format!("NumPy operation that torch refuses: {}", what.name),
            format!("NumPy is captured as the operations that torch has on tensors, and this one raises there: {}", e.value(py)),
            "Use other arguments or another function, or call it outside of the compiled function.",
        )
    })
}

/// An argument with tensors in place of arrays and numbers, and names in place of dtypes.
pub(crate) fn tensors_in<'py>(o: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = o.py();
    let numpy = py.import("numpy")?;
    let is_array = o.is_instance(&numpy.getattr("ndarray")?)?;
    if is_array || o.is_instance(&numpy.getattr("generic")?)? {
        let array = match is_array {
            true => o.clone(),
            false => numpy.call_method1("array", (o,))?,
        };
        (array.getattr("flags")?).setattr("writeable", true)?;
        let strides: Vec<i64> = array.getattr("strides")?.extract()?;
        let array = match strides.iter().any(|s| *s < 0) {
            true => array.call_method0("copy")?,
            false => array,
        };
        return py.import("torch")?.call_method1("from_numpy", (array,));
    }
    let each = |items: &mut dyn Iterator<Item = Bound<'py, PyAny>>| {
        items.map(|i| tensors_in(&i)).collect::<PyResult<Vec<_>>>()
    };
    if let Ok(items) = o.cast_exact::<PyTuple>() {
        return Ok(PyTuple::new(py, each(&mut items.iter())?)?.into_any());
    }
    if let Ok(items) = o.cast_exact::<PyList>() {
        return Ok(PyList::new(py, each(&mut items.iter())?)?.into_any());
    }
    if o.cast_exact::<PySlice>().is_ok() {
        let part = |name| tensors_in(&o.getattr(name)?);
        return o
            .get_type()
            .call1((part("start")?, part("stop")?, part("step")?));
    }
    match dtype_text(o)? {
        Some(name) => Ok(pyo3::types::PyString::new(py, &name).into_any()),
        None => Ok(o.clone()),
    }
}

/// The strides of an array, where another has others.
pub(crate) fn other_strides(
    array: &Bound<'_, PyAny>,
    other: &Bound<'_, PyAny>,
) -> PyResult<Option<Rc<[i64]>>> {
    let strides: Vec<i64> = array.getattr("strides")?.extract()?;
    let others: Vec<i64> = other.getattr("strides")?.extract()?;
    Ok((strides != others).then(|| strides.into()))
}

/// In which order the dimensions of an array lie in memory, where its items lie one beside the other.
pub(crate) fn dense_order(
    array: &Bound<'_, PyAny>,
    strides: &[i64],
) -> PyResult<Option<Vec<usize>>> {
    let sizes: Vec<i64> = array.getattr("shape")?.extract()?;
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|dim| -strides[*dim]);
    let mut expected: i64 = array.getattr("itemsize")?.extract()?;
    for dim in order.iter().rev().filter(|dim| sizes[**dim] != 1) {
        if strides[*dim] != expected {
            return Ok(None);
        }
        expected *= sizes[*dim];
    }
    Ok((!sizes.contains(&0)).then_some(order))
}

/// A tensor with its dimensions in this order in memory.
pub(crate) fn laid_out(
    tx: &mut Tx<'_>,
    tensor: Rc<TensorVar>,
    order: &[usize],
) -> R<Rc<TensorVar>> {
    let mut back = vec![0; order.len()];
    for (at, dim) in order.iter().enumerate() {
        back[*dim] = at;
    }
    let mut made = Var::Tensor(tensor);
    for (name, order) in [
        ("permute", Some(order)),
        ("contiguous", None),
        ("permute", Some(&back[..])),
    ] {
        let dims = order.map(|order| Var::tuple(order.iter().map(|d| tx.int(*d as i64)).collect()));
        let args = Args::pos(std::iter::once(made).chain(dims).collect());
        made = tx.emit(&Callee::Method(name), &args)?;
    }
    match made {
        Var::Tensor(tensor) => Ok(tensor),
        _ => Err(Stop::Internal("a tensor that is none".into())),
    }
}

/// The sizes that NumPy gives an array or number, where torch gives the same items others.
pub(crate) fn other_shape<'py>(
    tx: &mut Tx<'py>,
    real: &Bound<'py, PyAny>,
    inferred: &Inferred,
) -> R<Option<Bound<'py, PyAny>>> {
    let Inferred::Tensor(meta) = inferred else {
        return Ok(None);
    };
    let real = in_memory(real)?;
    let (true, Some(sizes)) = (real.hasattr("shape")?, meta.sizes()) else {
        return Ok(None);
    };
    let shape = real.getattr("shape")?;
    let mut reshaped = meta.clone();
    reshaped.shape = shape
        .extract::<Vec<i64>>()?
        .into_iter()
        .map(SymInt::Const)
        .collect();
    let is_as_large = real.getattr("size")?.extract::<i64>()? == sizes.iter().product::<i64>();
    let reshaped = Inferred::Tensor(reshaped);
    Ok((is_as_large && fits(tx, &real, &reshaped, SizesAt::Fixed)?).then_some(shape))
}

/// Whether what torch gives looks like what NumPy gives.
pub(crate) fn fits<'py>(
    tx: &mut Tx<'py>,
    real: &Bound<'py, PyAny>,
    inferred: &Inferred,
    at: SizesAt,
) -> R<bool> {
    let numpy = real.py().import("numpy")?;
    let real = &in_memory(real)?;
    Ok(match inferred {
        Inferred::Tensor(meta) => {
            let is_array = real.is_instance(&numpy.getattr("ndarray")?)?;
            if !is_array && !real.is_instance(&numpy.getattr("generic")?)? {
                return Ok(false);
            }
            let name: String = real.getattr("dtype")?.getattr("name")?.extract()?;
            if name != crate::values::dtype_name(meta) {
                return Ok(false);
            }
            if is_array && decided_by_data(tx, meta)? {
                return fits_but_for_data(real, meta);
            }
            if at == SizesAt::Fixed && !meta.is_static() {
                return Ok(false);
            }
            let meta = at.of_meta(tx, meta)?;
            let shape: Vec<i64> = real.getattr("shape")?.extract()?;
            let item: i64 = real.getattr("itemsize")?.extract()?;
            let strides: Vec<i64> = real.getattr("strides")?.extract()?;
            // Other strides are put right where they are numbers.
            let is_laid_out = at == SizesAt::Fixed
                || (meta.stride()).is_some_and(|own| own.iter().map(|s| s * item).eq(strides));
            meta.sizes().as_deref() == Some(&shape[..]) && is_laid_out
        }
        Inferred::None => real.is_none(),
        Inferred::Tuple(items) | Inferred::List(items) | Inferred::NamedTuple { items, .. } => {
            let is_sequence = real.cast::<PyTuple>().is_ok() || real.cast::<PyList>().is_ok();
            if !is_sequence || real.len()? != items.len() {
                return Ok(false);
            }
            for (i, item) in items.iter().enumerate() {
                if !fits(tx, &real.get_item(i)?, item, at)? {
                    return Ok(false);
                }
            }
            true
        }
        // Fake tensors have no values that it could depend on.
        Inferred::Int(n) if at == SizesAt::Fixed => real.extract::<i64>().ok() == n.as_const(),
        Inferred::Int(n) => real.extract::<i64>().ok() == Some(at.number(tx, *n)?),
        Inferred::Bool(b) => real.extract::<bool>().ok() == Some(*b),
        _ => false,
    })
}
