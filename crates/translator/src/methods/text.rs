//! Methods of constants: Python runs them, once their arguments are constants too.

use bytecode::op::Conversion;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use variables::{Obj, Var};

use crate::stop::R;
use crate::tx::{Args, Flow, Tx};
use crate::values::{Changing, Special};

/// What the fields of a template stand for: the arguments of `format`, or the mapping of `format_map`.
enum Fields {
    Arguments(Args),
    Mapping(Var),
}

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
        if matches!(name, "__enter__" | "__exit__") && b.is_instance(self.known.device.bind(py))? {
            return (self.rules.torch.device_as_context)(self, o, name).map(Some);
        }
        if !b.hasattr(name)? {
            return Ok(None);
        }
        // A template may ask for attributes, which run the program's properties: only constants have
        // none.
        let template = text
            && name == "format"
            && (args.values().any(|v| self.changes(v, Changing::Any)) || !self.are_pure(&args)?);
        if !template && let Some((pos, kw)) = self.real_args(&args)? {
            let name = name.to_owned();
            return self
                .fold(move |py| b.getattr(name)?.call(PyTuple::new(py, pos)?, kw.as_ref()))
                .map(|v| Some(Flow::Value(v)));
        }
        if text && name == "format" {
            let format: String = b.extract()?;
            return self
                .format_text(&format, &Fields::Arguments(args), &mut 0, 2)
                .map(|v| Some(Flow::Value(v)));
        }
        if text && name == "format_map" {
            let m = self.one("format_map", args)?;
            let format: String = b.extract()?;
            return self
                .format_text(&format, &Fields::Mapping(m), &mut 0, 2)
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

    /// `sep.join(items)`, of texts or of bytes.
    ///
    /// # Errors
    /// `TypeError` for an item that is none; what iterating raises.
    pub(super) fn join(&mut self, sep: &Bound<'py, PyAny>, items: &Var) -> R<Var> {
        let realized = self.realize(items)?;
        if self.special(&realized, "__iter__")? == Special::Absent
            && self.special(&realized, "__getitem__")? == Special::Absent
        {
            return Err(self.raise("TypeError", "can only join an iterable"));
        }
        let items = self.iterate(items)?;
        if sep.is_exact_instance_of::<PyString>()
            && let Some(text) = self.join_texts(&sep.clone().unbind(), &items)?
        {
            return Ok(text);
        }
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

    fn are_pure(&mut self, args: &Args) -> R<bool> {
        for v in args.values() {
            if self.pure_const(v)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `str.format` with arguments that are no constants (CPython's `MarkupIterator`).
    fn format_text(&mut self, format: &str, args: &Fields, auto: &mut i64, depth: u32) -> R<Var> {
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

    /// `0.shape[1]`, `name`, or nothing (the next argument). `auto` counts the latter; it is negative
    /// once a number was seen, as the two do not mix.
    fn format_field(&mut self, name: &str, args: &Fields, auto: &mut i64) -> R<Var> {
        let string = self.py.import("_string")?;
        let (first, rest) = match string.call_method1("formatter_field_name_split", (name,)) {
            Ok(t) => t.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?,
            Err(e) => return Err(self.raise_pyerr(&e)),
        };
        let mut value = match first.extract::<i64>() {
            Ok(i) => {
                if *auto > 0 {
                    let message = "cannot switch from automatic field numbering to manual field specification";
                    return Err(self.raise("ValueError", message));
                }
                *auto = -1;
                self.format_arg(args, i)?
            }
            Err(_) => {
                let key: String = first.extract()?;
                if key.is_empty() {
                    if *auto < 0 {
                        let message = "cannot switch from manual field specification to automatic field numbering";
                        return Err(self.raise("ValueError", message));
                    }
                    *auto += 1;
                    self.format_arg(args, *auto - 1)?
                } else {
                    self.format_named(args, &key)?
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

    fn format_named(&mut self, fields: &Fields, name: &str) -> R<Var> {
        let key = self.str(name);
        match fields {
            Fields::Mapping(m) => self.getitem_sync(m, &key),
            Fields::Arguments(args) => match args.kw.iter().find(|(k, _)| **k == *name) {
                Some((_, v)) => Ok(v.clone()),
                None => Err(self.key_error(&key)),
            },
        }
    }

    fn format_arg(&mut self, fields: &Fields, i: i64) -> R<Var> {
        let Fields::Arguments(args) = fields else {
            let message = "Format string contains positional fields";
            return Err(self.raise("ValueError", message));
        };
        match args.pos.get(i as usize) {
            Some(v) => Ok(v.clone()),
            None => Err(self.raise(
                "IndexError",
                &format!("Replacement index {i} out of range for positional args tuple"),
            )),
        }
    }
}
