//! Python constants as guard values.

use std::sync::Arc;

use guards::ConstVal;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyString, PyTuple};

/// The guard value of a constant of an exact builtin type (tuples of such included); `None` for
/// anything else.
pub fn const_val(b: &Bound<'_, PyAny>) -> Option<ConstVal> {
    if b.is_none() {
        return Some(ConstVal::None);
    }
    if let Ok(v) = b.cast_exact::<PyBool>() {
        return Some(ConstVal::Bool(v.is_true()));
    }
    if let Ok(v) = b.cast_exact::<PyInt>() {
        return Some(match v.extract::<i64>() {
            Ok(i) => ConstVal::Int(i),
            Err(_) => ConstVal::BigInt(Arc::from(v.repr().ok()?.to_string())),
        });
    }
    if let Ok(v) = b.cast_exact::<PyFloat>() {
        return Some(ConstVal::float(v.value()));
    }
    if let Ok(v) = b.cast_exact::<PyString>() {
        return v.to_str().ok().map(ConstVal::str);
    }
    if let Ok(v) = b.cast_exact::<PyBytes>() {
        return Some(ConstVal::Bytes(Arc::from(v.as_bytes())));
    }
    if let Ok(v) = b.cast_exact::<PyComplex>() {
        return Some(ConstVal::Complex(v.real().to_bits(), v.imag().to_bits()));
    }
    if let Ok(v) = b.cast_exact::<PyTuple>() {
        return v
            .iter_borrowed()
            .map(|i| const_val(&i))
            .collect::<Option<Vec<_>>>()
            .map(|v| ConstVal::Tuple(Arc::from(v)));
    }
    if b.is(b.py().Ellipsis()) {
        return Some(ConstVal::Ellipsis);
    }
    if b.is(b.py().NotImplemented()) {
        return Some(ConstVal::NotImplemented);
    }
    None
}
