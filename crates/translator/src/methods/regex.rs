//! Methods of regular expressions and of their matches.
//!
//! They are functions of text, and Python runs them; a function of the program that stands for the
//! replacement is called with one match after the other.

use pyo3::prelude::*;
use pyo3::types::{PyInt, PySlice, PyTuple, PyType};
use variables::{Obj, Var};

use crate::stop::R;
use crate::tx::{Args, Flow, Tx};
use crate::values::{IterClass, Special};

/// Whether a method belongs to a regular expression or to a match, and reads nothing but text.
pub(crate) fn is_regex_method(class: &Bound<'_, PyType>, name: &str) -> PyResult<bool> {
    let kind = class.name()?;
    Ok(match kind.to_str()? {
        "Pattern" => matches!(
            name,
            "match" | "fullmatch" | "search" | "sub" | "subn" | "split" | "findall" | "finditer"
        ),
        "Match" => matches!(
            name,
            "group" | "groups" | "groupdict" | "start" | "end" | "span" | "expand" | "__getitem__"
        ),
        _ => false,
    } && class.module()?.to_str()? == "re")
}

impl<'py> Tx<'py> {
    /// A method for which [`is_regex_method`] holds; `None` for arguments that are not known.
    pub(super) fn regex_method(&mut self, o: &Obj, name: &str, mut args: Args) -> R<Option<Flow>> {
        let b = o.bind(self.py).clone();
        for v in args
            .pos
            .iter_mut()
            .chain(args.kw.iter_mut().map(|k| &mut k.1))
        {
            let given = self.realize(v)?;
            *v = self.plain_text(&given).map_or(given, Var::Const);
        }
        if let Some((pos, kw)) = self.real_args(&args)? {
            let found = b
                .getattr(name)
                .and_then(|f| f.call(PyTuple::new(self.py, pos)?, kw.as_ref()));
            let value = match found {
                Err(e) => return Err(self.raise_pyerr(&e)),
                Ok(found) if name == "finditer" => {
                    let matches = found.try_iter()?.collect::<PyResult<Vec<_>>>()?;
                    let matches = matches
                        .into_iter()
                        .map(|m| self.from_const(m))
                        .collect::<R<Vec<_>>>()?;
                    self.iter_items(IterClass::Call, matches)?
                }
                Ok(found) => self.from_const(found)?,
            };
            return Ok(Some(Flow::Value(value)));
        }
        if matches!(name, "sub" | "subn") {
            return self.substitute(&b, name, args);
        }
        Ok(None)
    }

    /// `pattern.sub(function, text, count)`, and `subn`.
    fn substitute(
        &mut self,
        pattern: &Bound<'py, PyAny>,
        name: &str,
        args: Args,
    ) -> R<Option<Flow>> {
        let py = self.py;
        let a = self.by_name(name, args, &["repl", "string", "count"], 2, 3)?;
        let (Some(function), Some(text)) = (&a[0], &a[1]) else {
            return Ok(None);
        };
        let function = self.realize(function)?;
        let callable = self.special(&function, "__call__")? != Special::Absent;
        let Some(text) = self.pure_const(text)?.filter(|_| callable) else {
            return Ok(None);
        };
        let most = match &a[2] {
            Some(n) => self.index_of(n)?,
            None => 0,
        };
        let text = text.bind(py).clone();
        let matches = match pattern.call_method1("finditer", (&text,)) {
            Ok(found) => found.try_iter()?.collect::<PyResult<Vec<_>>>()?,
            Err(e) => return Err(self.raise_pyerr(&e)),
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
                parts.push(self.from_const(part(end, from)?)?);
            }
            let m = self.from_const(m)?;
            let put = self.call_sync(&function, Args::pos(vec![m]))?;
            if !self.realize(&put)?.is_none(py) {
                parts.push(put);
            }
            (end, count) = (to, count + 1);
        }
        let length = text.len()?;
        if end < length {
            parts.push(self.from_const(part(end, length)?)?);
        }
        let parts = self.new_list(parts);
        let joined = self.join(&part(0, 0)?, &parts)?;
        let value = match name {
            "subn" => {
                let count = Var::Const(PyInt::new(py, count).into_any().unbind());
                Var::tuple(vec![joined, count])
            }
            _ => joined,
        };
        Ok(Some(Flow::Value(value)))
    }
}
