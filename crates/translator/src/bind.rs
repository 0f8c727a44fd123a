//! Argument binding, as CPython's `initialize_locals` does it.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use variables::{OrderedMap, TupleVar, Var};

use crate::code::{CodeInfo, flags};
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

/// What binding needs of a function.
pub struct Signature<'a> {
    /// its code
    pub code: &'a CodeInfo,
    /// values of the last positional parameters
    pub defaults: &'a [Var],
    /// values of keyword-only parameters
    pub kwdefaults: &'a [(Arc<str>, Var)],
}

/// The locals of a call; `None` where the arguments do not fit, which [`refusal`] puts in words.
///
/// # Errors
/// Keywords that cannot be keys of a dictionary.
pub fn bind(
    tx: &mut Tx<'_>,
    sig: &Signature<'_>,
    args: Args,
) -> R<Option<im::Vector<Option<Var>>>> {
    let code = sig.code;
    let (n_pos, n_posonly, n_kw) = (
        code.fields.argcount as usize,
        code.fields.posonlyargcount as usize,
        code.fields.kwonlyargcount as usize,
    );
    let total = n_pos + n_kw;
    let mut locals: Vec<Option<Var>> = vec![None; code.local_names.len()];
    let given = args.pos.len();
    let mut pos = args.pos.into_iter();
    for slot in locals.iter_mut().take(n_pos.min(given)) {
        *slot = pos.next();
    }
    let extra: Vec<Var> = pos.collect();
    if code.has(flags::VARARGS) {
        locals[total] = Some(Var::Tuple(std::rc::Rc::new(TupleVar {
            items: extra,
            class: None,
            origin: None,
        })));
    } else if !extra.is_empty() {
        return Ok(None);
    }
    let mut rest = OrderedMap::default();
    for (k, v) in args.kw {
        match code.local_names[n_posonly..total]
            .iter()
            .position(|n| *n == k)
        {
            Some(i) if locals[n_posonly + i].is_some() => return Ok(None),
            Some(i) => locals[n_posonly + i] = Some(v),
            None if code.has(flags::VARKEYWORDS) => {
                let key = tx.str(&k);
                rest.insert(tx.key(&key)?, key, v);
            }
            None => return Ok(None),
        }
    }
    let first_default = n_pos - sig.defaults.len().min(n_pos);
    for (slot, default) in locals[first_default..n_pos].iter_mut().zip(sig.defaults) {
        if slot.is_none() {
            *slot = Some(default.clone());
        }
    }
    for (slot, name) in locals[n_pos..total]
        .iter_mut()
        .zip(&code.local_names[n_pos..])
    {
        if slot.is_none() {
            let default = sig.kwdefaults.iter().find(|(n, _)| n == name);
            *slot = default.map(|(_, v)| v.clone());
            if let Some(Var::Lazy(l)) = slot {
                tx.touch(l.source);
            }
        }
    }
    if locals[..total].iter().any(Option::is_none) {
        return Ok(None);
    }
    if code.has(flags::VARKEYWORDS) {
        let i = total + usize::from(code.has(flags::VARARGS));
        locals[i] = Some(tx.new_dict(rest));
    }
    Ok(Some(locals.into_iter().collect()))
}

/// The text of the `TypeError` for arguments that do not fit: that of Python itself, which calls a
/// function of the same parameters and name that does nothing.
///
/// # Errors
/// [`Stop::Internal`] where Python takes the arguments.
pub fn refusal(
    py: Python<'_>,
    sig: &Signature<'_>,
    qualname: &str,
    given: usize,
    keywords: &[Arc<str>],
) -> R<String> {
    let empty = py
        .eval(c"(lambda: None).__code__", None, None)?
        .getattr("co_code")?;
    let none = |n: usize| PyTuple::new(py, std::iter::repeat_n(py.None(), n));
    let parts = PyDict::new(py);
    parts.set_item("co_code", empty)?;
    parts.set_item("co_consts", none(1)?)?;
    parts.set_item("co_exceptiontable", PyBytes::new(py, b""))?;
    parts.set_item("co_freevars", none(0)?)?;
    parts.set_item("co_cellvars", none(0)?)?;
    let code = sig
        .code
        .obj
        .bind(py)
        .call_method("replace", (), Some(&parts))?;
    let make = py.import("types")?.getattr("FunctionType")?;
    let function = make.call1((code, PyDict::new(py)))?;
    function.setattr("__qualname__", qualname)?;
    function.setattr("__defaults__", none(sig.defaults.len())?)?;
    let by_name = PyDict::new(py);
    for (name, _) in sig.kwdefaults {
        by_name.set_item(&**name, py.None())?;
    }
    function.setattr("__kwdefaults__", by_name)?;
    let by_name = PyDict::new(py);
    for name in keywords {
        by_name.set_item(&**name, py.None())?;
    }
    match function.call(none(given)?, Some(&by_name)) {
        Err(refused) if refused.is_instance_of::<PyTypeError>(py) => {
            Ok(refused.value(py).str()?.to_string())
        }
        _ => Err(Stop::Internal("a call that Python takes".into())),
    }
}
