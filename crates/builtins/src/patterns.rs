//! Methods of regular expressions and of their matches.
//!
//! They are functions of text, and Python runs them; a function of the program that stands for the
//! replacement is called with one match after the other.

use crate::asked::pure_const;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PySlice, PyTuple};
use translator::stop::R;
use translator::tx::{Args, Flow, Tx};
use translator::values::Special;
use variables::iter_class::IterClass;
use variables::{Obj, Var};

/// A method for which `is_regex_method` of `translator` holds; `None` for arguments that are not known.
pub(crate) fn regex_method(
    tx: &mut Tx<'_>,
    o: &Obj,
    name: &str,
    mut args: Args,
) -> R<Option<Flow>> {
    let b = o.bind(tx.py).clone();
    for v in args
        .pos
        .iter_mut()
        .chain(args.kw.iter_mut().map(|k| &mut k.1))
    {
        let given = tx.realize(v)?;
        *v = tx.plain_text(&given).map_or(given, Var::Const);
    }
    if let Some((pos, kw)) = tx.real_args(&args)? {
        let found = b
            .getattr(name)
            .and_then(|f| f.call(PyTuple::new(tx.py, pos)?, kw.as_ref()));
        let value = match found {
            Err(e) => return Err(tx.raise_pyerr(&e)),
            Ok(found) if name == "finditer" => {
                let matches = found.try_iter()?.collect::<PyResult<Vec<_>>>()?;
                let matches = matches
                    .into_iter()
                    .map(|m| tx.from_const(m))
                    .collect::<R<Vec<_>>>()?;
                tx.iter_items(IterClass::Call, matches)?
            }
            Ok(found) => tx.from_const(found)?,
        };
        return Ok(Some(Flow::Value(value)));
    }
    if matches!(name, "sub" | "subn") {
        return substitute(tx, &b, name, args);
    }
    Ok(None)
}

/// `pattern.sub(function, text, count)`, and `subn`.
fn substitute<'py>(
    tx: &mut Tx<'py>,
    pattern: &Bound<'py, PyAny>,
    name: &str,
    args: Args,
) -> R<Option<Flow>> {
    let py = tx.py;
    let a = tx.by_name(name, args, &["repl", "string", "count"], 2, 3)?;
    let (Some(function), Some(text)) = (&a[0], &a[1]) else {
        return Ok(None);
    };
    let function = tx.realize(function)?;
    let callable = tx.special(&function, "__call__")? != Special::Absent;
    let Some(text) = pure_const(tx, text)?.filter(|_| callable) else {
        return Ok(None);
    };
    let most = match &a[2] {
        Some(n) => tx.index_of(n)?,
        None => 0,
    };
    let text = text.bind(py).clone();
    let matches = match pattern.call_method1("finditer", (&text,)) {
        Ok(found) => found.try_iter()?.collect::<PyResult<Vec<_>>>()?,
        Err(e) => return Err(tx.raise_pyerr(&e)),
    };
    let part =
        |from: usize, to: usize| text.get_item(PySlice::new(py, from as isize, to as isize, 1));
    let (mut parts, mut end, mut count) = (Vec::new(), 0, 0isize);
    for m in matches {
        if most != 0 && count >= most {
            break;
        }
        let (from, to): (usize, usize) = m.call_method0("span")?.extract()?;
        if end < from {
            parts.push(tx.from_const(part(end, from)?)?);
        }
        let m = tx.from_const(m)?;
        let put = tx.call_sync(&function, Args::pos(vec![m]))?;
        if !tx.realize(&put)?.is_none(py) {
            parts.push(put);
        }
        (end, count) = (to, count + 1);
    }
    let length = text.len()?;
    if end < length {
        parts.push(tx.from_const(part(end, length)?)?);
    }
    let parts = tx.new_list(parts);
    let joined = crate::text::join(tx, &part(0, 0)?, &parts)?;
    let value = match name {
        "subn" => {
            let count = Var::Const(PyInt::new(py, count).into_any().unbind());
            Var::tuple(vec![joined, count])
        }
        _ => joined,
    };
    Ok(Some(Flow::Value(value)))
}
