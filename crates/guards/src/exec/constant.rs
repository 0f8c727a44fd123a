//! Constants of guards as objects: the other way from [`super::read::constant`].
//!
//! Invariant: what is made equals what was read, and is of the same type.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyString, PyTuple};

use crate::value::ConstVal;

/// A constant as an object; `pinned` gives the object of a pin.
///
/// # Errors
/// Those of `pinned`, and those of importing torch for its sizes and devices.
pub fn object<'py, E: From<PyErr>>(
    py: Python<'py>,
    value: &ConstVal,
    pinned: &mut dyn FnMut(u32) -> Result<Bound<'py, PyAny>, E>,
) -> Result<Bound<'py, PyAny>, E> {
    let torch = |name: &str| py.import(torch_abi::names::TORCH)?.getattr(name);
    Ok(match value {
        ConstVal::None => py.None().into_bound(py),
        ConstVal::Ellipsis => py.Ellipsis().into_bound(py),
        ConstVal::NotImplemented => py.NotImplemented().into_bound(py),
        ConstVal::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        ConstVal::Int(value) => PyInt::new(py, *value).into_any(),
        // A literal: with a prefix or without.
        ConstVal::BigInt(text) => py.get_type::<PyInt>().call1((&**text, 0))?,
        ConstVal::Float(bits) => PyFloat::new(py, f64::from_bits(*bits)).into_any(),
        ConstVal::Complex(re, im) => {
            PyComplex::from_doubles(py, f64::from_bits(*re), f64::from_bits(*im)).into_any()
        }
        ConstVal::Str(text) => PyString::intern(py, text).into_any(),
        ConstVal::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        ConstVal::Tuple(items) => {
            let items = items.iter().map(|item| object(py, item, pinned));
            PyTuple::new(py, items.collect::<Result<Vec<_>, E>>()?)?.into_any()
        }
        ConstVal::Size(dims) => torch("Size")?.call1((PyTuple::new(py, &**dims)?,))?,
        ConstVal::Device { text, .. } => torch("device")?.call1((&**text,))?,
        ConstVal::Obj(of) => pinned(of.pin)?,
    })
}
