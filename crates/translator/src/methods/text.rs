//! Methods of constants: Python runs them, once their arguments are constants too.

use bytecode::op::Conversion;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFrozenSet, PyList, PySet, PyString, PyTuple};
use variables::{Body, Obj, Var};

use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};
use crate::values::Special;

impl<'py> Tx<'py> {
    /// A method of a constant.
    pub(super) fn const_method(&mut self, o: &Obj, name: &str, args: Args) -> R<Option<Flow>> {
        let py = self.py;
        let b = o.bind(py).clone();
        let text = b.is_instance_of::<PyString>();
        if (text || b.is_instance_of::<PyBytes>()) && name == "join" {
            let items = self.one("join", args)?;
            return self.join(&b, &items).map(|v| Some(Flow::Value(v)));
        }
        if !b.hasattr(name)? {
            return Ok(None);
        }
        if let Some((pos, kw)) = self.real_args(&args)? {
            let name = name.to_owned();
            return self
                .fold(move |py| b.getattr(name)?.call(PyTuple::new(py, pos)?, kw.as_ref()))
                .map(|v| Some(Flow::Value(v)));
        }
        if text && name == "format" {
            let format: String = b.extract()?;
            return self
                .format_text(&format, &args, &mut 0, 2)
                .map(|v| Some(Flow::Value(v)));
        }
        if text && name == "format_map" {
            let m = self.one("format_map", args)?;
            let format: String = b.extract()?;
            let Some(pairs) = self.mapping_pairs(&m)? else {
                return Err(Stop::unsupported("str.format_map of no dict"));
            };
            let mut kw = Vec::new();
            for (k, v) in pairs {
                kw.push((self.text_of(&k).into(), v));
            }
            return self
                .format_text(&format, &Args { pos: vec![], kw }, &mut 0, 2)
                .map(|v| Some(Flow::Value(v)));
        }
        if name == "__mod__" && args.pos.len() == 1 {
            let f = self.binary(
                bytecode::op::BinaryOp::Remainder,
                false,
                &Var::Const(o.clone()),
                &args.pos[0],
            )?;
            return Ok(Some(f));
        }
        Ok(None)
    }

    /// Arguments as real objects. Lists, dicts and sets of constants are copied: only for callables
    /// that read them.
    ///
    /// # Errors
    /// Those of realizing lazy values.
    #[allow(clippy::type_complexity)]
    pub(crate) fn real_args(
        &mut self,
        args: &Args,
    ) -> R<Option<(Vec<Bound<'py, PyAny>>, Option<Bound<'py, PyDict>>)>> {
        let mut pos = Vec::with_capacity(args.pos.len());
        for v in &args.pos {
            match self.real_copy(v)? {
                Some(o) => pos.push(o),
                None => return Ok(None),
            }
        }
        if args.kw.is_empty() {
            return Ok(Some((pos, None)));
        }
        let kw = PyDict::new(self.py);
        for (n, v) in &args.kw {
            match self.real_copy(v)? {
                Some(o) => kw.set_item(&**n, o)?,
                None => return Ok(None),
            }
        }
        Ok(Some((pos, Some(kw))))
    }

    /// A value as a real object, where it consists of constants; containers are copied.
    ///
    /// # Errors
    /// Those of realizing lazy values.
    pub(crate) fn real_copy(&mut self, v: &Var) -> R<Option<Bound<'py, PyAny>>> {
        let py = self.py;
        let v = self.realize(v)?;
        if let Some(o) = self.as_const(&v)? {
            return Ok(Some(o.bind(py).clone()));
        }
        let all = |tx: &mut Self,
                   items: &mut dyn Iterator<Item = Var>|
         -> R<Option<Vec<Bound<'py, PyAny>>>> {
            let mut out = Vec::new();
            for i in items {
                match tx.real_copy(&i)? {
                    Some(o) => out.push(o),
                    None => return Ok(None),
                }
            }
            Ok(Some(out))
        };
        match &v {
            Var::Tuple(t) if t.class.is_none() => {
                let Some(items) = all(self, &mut t.items.iter().cloned())? else {
                    return Ok(None);
                };
                Ok(Some(PyTuple::new(py, items)?.into_any()))
            }
            Var::Obj(id) => {
                let class = self.obj(*id).class.clone();
                if !self.is_builtin_container(&class) {
                    return Ok(None);
                }
                match self.obj(*id).body.clone() {
                    Body::List(l) => {
                        let Some(items) = all(self, &mut l.into_iter())? else {
                            return Ok(None);
                        };
                        Ok(Some(PyList::new(py, items)?.into_any()))
                    }
                    Body::Set(s) => {
                        let Some(items) = all(self, &mut s.iter().map(|(k, _)| k.clone()))? else {
                            return Ok(None);
                        };
                        if class.is(&self.known.frozenset) {
                            return Ok(Some(PyFrozenSet::new(py, items)?.into_any()));
                        }
                        Ok(Some(PySet::new(py, items)?.into_any()))
                    }
                    Body::Dict(d) if class.is(&self.known.dict) => {
                        let out = PyDict::new(py);
                        for (k, v) in d.iter() {
                            let (Some(k), Some(v)) = (self.real_copy(k)?, self.real_copy(v)?)
                            else {
                                return Ok(None);
                            };
                            out.set_item(k, v)?;
                        }
                        Ok(Some(out.into_any()))
                    }
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    fn join(&mut self, sep: &Bound<'py, PyAny>, items: &Var) -> R<Var> {
        let realized = self.realize(items)?;
        if self.special(&realized, "__iter__")? == Special::Absent
            && self.special(&realized, "__getitem__")? == Special::Absent
        {
            return Err(self.raise("TypeError", "can only join an iterable"));
        }
        let items = self.iterate(items)?;
        let mut parts = Vec::with_capacity(items.len());
        for (i, v) in items.iter().enumerate() {
            match self.as_const(v)? {
                Some(o) => parts.push(o),
                None => {
                    let name = self.type_name(v)?;
                    return Err(self.raise(
                        "TypeError",
                        &format!("sequence item {i}: expected str instance, {name} found"),
                    ));
                }
            }
        }
        let sep = sep.clone();
        self.fold(move |py| sep.call_method1("join", (PyList::new(py, parts)?,)))
    }

    /// `str.format` with arguments that are no constants (CPython's `MarkupIterator`).
    fn format_text(&mut self, format: &str, args: &Args, auto: &mut i64, depth: u32) -> R<Var> {
        if depth == 0 {
            return Err(self.raise("ValueError", "Max string recursion exceeded"));
        }
        let string = self.py.import("_string")?;
        let fields = match string
            .call_method1("formatter_parser", (format,))
            .and_then(|p| p.try_iter()?.collect::<PyResult<Vec<_>>>())
        {
            Ok(f) => f,
            Err(e) => return Err(self.raise_pyerr(&e)),
        };
        let mut out = Vec::new();
        for field in fields {
            type Field = (String, Option<String>, Option<String>, Option<String>);
            let (literal, name, spec, conv): Field = field.extract()?;
            out.push(self.str(&literal));
            let Some(name) = name else { continue };
            let value = self.format_field(&name, args, auto)?;
            let spec = spec.unwrap_or_default();
            let spec = if spec.contains('{') {
                self.format_text(&spec, args, auto, depth - 1)?
            } else {
                self.str(&spec)
            };
            let conv = match conv.as_deref() {
                None => None,
                Some("s") => Some(Conversion::Str),
                Some("r") => Some(Conversion::Repr),
                Some("a") => Some(Conversion::Ascii),
                Some(c) => {
                    return Err(
                        self.raise("ValueError", &format!("Unknown conversion specifier '{c}'"))
                    );
                }
            };
            out.push(self.format_value(&value, conv, Some(&spec))?);
        }
        self.build_string(&out)
    }

    /// `0.shape[1]`, `name`, or nothing (the next argument).
    fn format_field(&mut self, name: &str, args: &Args, auto: &mut i64) -> R<Var> {
        let string = self.py.import("_string")?;
        let (first, rest) = match string.call_method1("formatter_field_name_split", (name,)) {
            Ok(t) => t.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?,
            Err(e) => return Err(self.raise_pyerr(&e)),
        };
        let mut value = match first.extract::<i64>() {
            Ok(i) => self.format_arg(args, i)?,
            Err(_) => {
                let key: String = first.extract()?;
                if key.is_empty() {
                    *auto += 1;
                    self.format_arg(args, *auto - 1)?
                } else {
                    match args.kw.iter().find(|(k, _)| **k == *key) {
                        Some((_, v)) => v.clone(),
                        None => {
                            let key = self.str(&key);
                            return Err(self.key_error(&key));
                        }
                    }
                }
            }
        };
        for step in rest.try_iter()? {
            let (is_attr, key): (bool, Bound<'py, PyAny>) = step?.extract()?;
            value = if is_attr {
                self.getattr_sync(&value, &key.extract::<String>()?.into())?
            } else {
                let key = self.from_const(key)?;
                self.getitem_sync(&value, &key)?
            };
        }
        Ok(value)
    }

    fn format_arg(&mut self, args: &Args, i: i64) -> R<Var> {
        match args.pos.get(i as usize) {
            Some(v) => Ok(v.clone()),
            None => Err(self.raise(
                "IndexError",
                &format!("Replacement index {i} out of range for positional args tuple"),
            )),
        }
    }
}
