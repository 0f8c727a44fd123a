//! Text of values: `str`, `repr`, `format`.

use std::rc::Rc;

use bytecode::op::Conversion;
use pyo3::prelude::*;
use variables::{Body, IterBody, TextPart, TextVar, Var};

use super::computed::Changing;
use super::special::Special;
use crate::stop::{R, Stop};
use crate::tx::Tx;

impl Tx<'_> {
    /// One replacement field of an f-string: conversion, then `format` with a spec.
    ///
    /// # Errors
    /// Whatever formatting raises; a break for values without a known text.
    pub fn format_value(
        &mut self,
        v: &Var,
        conv: Option<Conversion>,
        spec: Option<&Var>,
    ) -> R<Var> {
        if let Some(text) = self.changing_text(v, conv, spec)? {
            return Ok(text);
        }
        let spec = match spec {
            Some(s) => self.realize(s)?,
            None => self.str(""),
        };
        if let Some(text) = self.tensor_text(v, conv, &spec)? {
            return Ok(text);
        }
        let v = match conv {
            None => self.realize(v)?,
            Some(c) => self.convert_value(v, c)?,
        };
        let empty = matches!(&spec, Var::Const(o) if o.bind(self.py).len().is_ok_and(|n| n == 0));
        match &v {
            Var::Const(o) => {
                let (o, Some(s)) = (o.clone(), self.as_const(&spec)?) else {
                    return Err(Stop::unsupported("a format spec that is no constant"));
                };
                self.fold(move |py| py.import("builtins")?.call_method1("format", (o, s)))
            }
            _ => {
                if let Special::User = self.special(&v, "__format__")? {
                    let text = self.special_sync(&v, "__format__", vec![spec])?;
                    if self.is_changing_text(&text) {
                        return Ok(text);
                    }
                    let text = self.realize(&text)?;
                    let is_str = |o: &Bound<'_, PyAny>| o.is_instance_of::<pyo3::types::PyString>();
                    return match &text {
                        Var::Const(o) if is_str(o.bind(self.py)) => Ok(text),
                        _ => Err(Stop::unsupported("a __format__ that gives no known text")),
                    };
                }
                if empty {
                    return self.str_of(&v);
                }
                if let (Var::Py(p), Some(s)) = (&v, self.as_const(&spec)?) {
                    // A C class's own format, as a number's, on a mix-in enum member.
                    let (o, object) = (
                        p.obj.clone(),
                        self.known.object.bind(self.py).getattr("__format__")?,
                    );
                    if !o
                        .bind(self.py)
                        .get_type()
                        .getattr("__format__")?
                        .is(&object)
                    {
                        return self
                            .fold(move |py| py.import("builtins")?.call_method1("format", (o, s)));
                    }
                }
                if matches!(v, Var::Tensor(_)) {
                    return Err(self.no_text(&v));
                }
                let name = self.type_name(&v)?;
                Err(self.raise(
                    "TypeError",
                    &format!("unsupported format string passed to {name}.__format__"),
                ))
            }
        }
    }

    /// The text of a tensor, to be made once the graph has run. `None` where there is none to be made,
    /// or to make it may raise.
    ///
    /// # Errors
    /// Those of looking at the value.
    pub(crate) fn tensor_text(
        &mut self,
        v: &Var,
        conv: Option<Conversion>,
        spec: &Var,
    ) -> R<Option<Var>> {
        let Some(spec) = self.as_const(spec)? else {
            return Ok(None);
        };
        let py = self.py;
        let plain = spec.bind(py).len()? == 0;
        if let (Var::Text(_), None | Some(Conversion::Str), true) = (v, conv, plain) {
            return Ok(Some(v.clone()));
        }
        if matches!(v, Var::Text(_)) || self.st.vmap.is_active() || self.has_modes() {
            return Ok(None);
        }
        let tensor = self.realize(v)?;
        let Var::Tensor(t) = &tensor else {
            return Ok(None);
        };
        if !plain {
            let meta = self.st.effects.meta(t);
            let number = conv.is_none() && meta.shape.is_empty() && meta.dtype.is_floating();
            let formats = number && {
                let zero = pyo3::types::PyFloat::new(py, 0.0);
                zero.call_method1("__format__", (&spec,)).is_ok()
            };
            if !formats {
                return Ok(None);
            }
        }
        let builtins = self.known.builtins.bind(py).clone();
        let conversion = match conv {
            None => None,
            Some(Conversion::Str) => Some(builtins.getattr("str")?.unbind()),
            Some(Conversion::Repr) => Some(builtins.getattr("repr")?.unbind()),
            Some(Conversion::Ascii) => Some(builtins.getattr("ascii")?.unbind()),
        };
        if self.ways.first_text.is_none() {
            self.ways.first_text = self.ways.place();
        }
        self.st.effects.has_text = true;
        Ok(Some(Var::Text(Rc::new(TextVar {
            parts: vec![TextPart::Tensor {
                tensor,
                conversion,
                spec: (!plain).then_some(spec),
                writes: self.st.effects.writes,
            }],
        }))))
    }

    /// The text of a value that is no constant, to be made by residual code. `None` where it is a constant or
    /// anything else, or where to make its text raises.
    ///
    /// # Errors
    /// Those of realizing the format specification.
    fn changing_text(
        &mut self,
        v: &Var,
        conv: Option<Conversion>,
        spec: Option<&Var>,
    ) -> R<Option<Var>> {
        let Some(v) = self.as_changing(v, Changing::Any) else {
            return Ok(None);
        };
        let py = self.py;
        let builtins = self.known.builtins.bind(py).clone();
        let is_text = self.is_changing_text(&v);
        // Python refuses the text of an int with very many digits.
        let is_int = self.type_of(&v)?.is(&self.known.int);
        let v = match conv {
            None => v,
            Some(Conversion::Str) if is_text => v,
            Some(conv) => {
                let name = match conv {
                    Conversion::Str => "str",
                    Conversion::Repr => "repr",
                    Conversion::Ascii => "ascii",
                };
                match self.compute(&builtins.getattr(name)?, vec![v], is_int)? {
                    Some(text) => text,
                    None => return Ok(None),
                }
            }
        };
        let spec = match spec {
            None => None,
            Some(s) => match self.as_changing(s, Changing::Any) {
                Some(s) => Some(s),
                None => match self.realize(s)? {
                    Var::Const(o) if o.bind(py).len()? == 0 => None,
                    other => Some(other),
                },
            },
        };
        match spec {
            None if self.is_changing_text(&v) => Ok(Some(v)),
            None => self.compute(&builtins.getattr("str")?, vec![v], is_int),
            Some(spec) => {
                // A known specification fits all values of a type.
                let fits = !is_int && matches!(&spec, Var::Const(_));
                let format = builtins.getattr("format")?;
                self.compute(&format, vec![v, spec], !fits)
            }
        }
    }

    /// Whether a text of tensors is still what the residual code would make it.
    pub(crate) fn is_current(&self, t: &TextVar) -> bool {
        t.parts.iter().all(|p| match p {
            TextPart::Tensor { writes, .. } => *writes == self.st.effects.writes,
            TextPart::Known(_) | TextPart::Value(_) => true,
        })
    }

    /// The text of a conversion (`!r`) by an instruction of its own: made when the code runs, where the value changes
    /// or is a tensor.
    ///
    /// # Errors
    /// As [`Tx::convert_value`].
    pub(crate) fn convert_or_wait(&mut self, v: &Var, conv: Conversion) -> R<Var> {
        if let Some(text) = self.changing_text(v, Some(conv), None)? {
            return Ok(text);
        }
        let empty = self.str("");
        match self.tensor_text(v, Some(conv), &empty)? {
            Some(text) => Ok(text),
            None => self.convert_value(v, conv),
        }
    }

    /// `!s`, `!r` or `!a`.
    ///
    /// # Errors
    /// As [`Tx::str_of`] and [`Tx::repr_of`].
    pub fn convert_value(&mut self, v: &Var, conv: Conversion) -> R<Var> {
        match conv {
            Conversion::Str => self.str_of(v),
            Conversion::Repr => self.repr_of(v),
            Conversion::Ascii => {
                if let Some(text) = self.changing_text(v, Some(conv), None)? {
                    return Ok(text);
                }
                let r = self.repr_of(v)?;
                let Some(o) = self.as_const(&r)? else {
                    return Err(Stop::unsupported("ascii() of a text that is no constant"));
                };
                // `ascii` of a text escapes as `ascii` of the value does, but for the quotes.
                self.fold(move |py| {
                    o.bind(py)
                        .call_method1("encode", ("ascii", "backslashreplace"))?
                        .call_method1("decode", ("ascii",))
                })
            }
        }
    }

    /// `str(v)` with one argument.
    ///
    /// # Errors
    /// Whatever a user's `__str__` does; a break for values without a known text.
    pub fn str_of(&mut self, v: &Var) -> R<Var> {
        if let Some(text) = self.changing_text(v, None, None)? {
            return Ok(text);
        }
        let v = self.realize(v)?;
        match &v {
            Var::Const(o) => {
                let o = o.clone();
                return self.fold(move |py| o.bind(py).str().map(Bound::into_any));
            }
            Var::Tensor(_) => return Err(self.no_text(&v)),
            _ => {}
        }
        if self.special(&v, "__str__")?.is_user() {
            let r = self.special_sync(&v, "__str__", vec![])?;
            return self.checked_text(r, "__str__");
        }
        if let Some(text) = self.exception_text(&v)? {
            return Ok(text);
        }
        // `type.__str__` and other C classes that have a text apart from their `repr`.
        if let Var::Py(p) = &v {
            let class = p.obj.bind(self.py).get_type();
            let own = !class.getattr("__str__")?.is(&self
                .known
                .object
                .bind(self.py)
                .getattr("__str__")?);
            if own {
                let o = p.obj.clone();
                return self.fold(move |py| o.bind(py).str().map(Bound::into_any));
            }
        }
        self.repr_of(&v)
    }

    /// `repr(v)`.
    ///
    /// # Errors
    /// Whatever a user's `__repr__` does; a break for values without a known text.
    pub fn repr_of(&mut self, v: &Var) -> R<Var> {
        if let Some(text) = self.changing_text(v, Some(Conversion::Repr), None)? {
            return Ok(text);
        }
        let v = self.realize(v)?;
        match &v {
            Var::Const(o) => {
                let o = o.clone();
                return self.fold(move |py| o.bind(py).repr().map(Bound::into_any));
            }
            Var::Tensor(_) => return Err(self.no_text(&v)),
            _ => {}
        }
        if self.special(&v, "__repr__")?.is_user() {
            // `collections.namedtuple` writes its `__repr__` in Python over a tuple's items.
            let r = self.special_sync(&v, "__repr__", vec![])?;
            return self.checked_text(r, "__repr__");
        }
        self.inside(|tx| tx.builtin_repr(&v))
    }

    /// `str` of an exception made while translating.
    ///
    /// # Errors
    /// As [`Tx::str_of`] of its arguments.
    pub(crate) fn exception_text(&mut self, v: &Var) -> R<Option<Var>> {
        let Some(args) = self.exception_args(v)? else {
            return Ok(None);
        };
        let class = self.type_of(v)?;
        let text = class.bind(self.py).getattr("__str__")?;
        let builtin = |name: &str| {
            self.known
                .builtins
                .bind(self.py)
                .getattr(name)?
                .getattr("__str__")
        };
        // The text of these is that of the base class, whose function they have under a name of their own.
        const SAME_TEXT: [&str; 4] = ["BaseException", "KeyError", "AttributeError", "NameError"];
        let mut known = false;
        for name in SAME_TEXT {
            known |= text.is(&builtin(name)?);
        }
        if !known {
            return Err(self.no_text(v));
        }
        Ok(Some(match &args[..] {
            [] => self.str(""),
            [one] => {
                let key_error = self
                    .known
                    .builtins
                    .bind(self.py)
                    .getattr("KeyError")?
                    .unbind();
                let class = self.type_of(v)?;
                if self.is_subtype(&class, &key_error) {
                    self.repr_of(one)?
                } else {
                    self.str_of(one)?
                }
            }
            _ => self.repr_of(&Var::tuple(args))?,
        }))
    }

    /// The `repr` that the builtin class gives, whatever a subclass overrides.
    ///
    /// # Errors
    /// A break for values without a known text.
    pub(crate) fn builtin_repr(&mut self, v: &Var) -> R<Var> {
        match v {
            Var::Const(o) => {
                let o = o.clone();
                self.fold(move |py| o.bind(py).repr().map(Bound::into_any))
            }
            Var::Tuple(t) => {
                let (open, close) = match &t.class {
                    Some(c) if c.is(&self.known.size) => ("torch.Size([", "])"),
                    Some(_) => return Err(self.no_text(v)),
                    None if t.items.len() == 1 => ("(", ",)"),
                    None => ("(", ")"),
                };
                self.shown(open, &t.items.clone(), close)
            }
            Var::Slice(s) => self.shown("slice(", &s[..], ")"),
            Var::Obj(id) => {
                let id = *id;
                if let Some(args) = self.exception_args(v)? {
                    let name = self.type_name(v)?;
                    return self.shown(&format!("{name}("), &args, ")");
                }
                let (body, class) = (self.obj(id).body.clone(), self.obj(id).class.clone());
                self.repr_of_body(v, body, &class)
            }
            // The C text of existing objects: classes, functions, enums of C classes, dtypes.
            Var::Py(p) if !stateful_text(&p.obj.bind(self.py).get_type()) => {
                let o = p.obj.clone();
                self.fold(move |py| o.bind(py).repr().map(Bound::into_any))
            }
            _ => Err(self.no_text(v)),
        }
    }

    fn repr_of_body(&mut self, v: &Var, body: Body, class: &variables::Obj) -> R<Var> {
        let name = self.class_name(class);
        match body {
            Body::MappingProxy(mapping) => self.shown("mappingproxy(", &[mapping], ")"),
            Body::Iter(IterBody::Count(next, step)) => {
                // The text of some counts is CPython's own (`count(sys.maxsize)`).
                if let (Some(next), Some(step)) = (self.pure_const(&next)?, self.pure_const(&step)?)
                {
                    return self.fold(move |py| {
                        let itertools = py.import("itertools")?;
                        let count = itertools.getattr("count")?.call1((next, step))?;
                        Ok(count.repr()?.into_any())
                    });
                }
                let plain = matches!(&step, Var::Const(s)
                    if s.bind(self.py).is_instance_of::<pyo3::types::PyInt>() && s.bind(self.py).eq(1)?);
                let shown = [next, step];
                self.shown("count(", &shown[..if plain { 1 } else { 2 }], ")")
            }
            Body::List(items) => self.shown("[", &items.into_iter().collect::<Vec<_>>(), "]"),
            Body::Deque(items, max) => {
                let max = max.map_or_else(String::new, |m| format!(", maxlen={m}"));
                let items: Vec<Var> = items.into_iter().collect();
                self.shown(&format!("{name}(["), &items, &format!("]{max})"))
            }
            Body::Set(_) => {
                let Some(id) = self.id_of(v) else {
                    return Err(Stop::Internal("set".into()));
                };
                let items = self.set_order(id)?;
                match (items.is_empty(), class.is(&self.known.set)) {
                    (true, _) => Ok(self.str(&format!("{name}()"))),
                    (false, true) => self.shown("{", &items, "}"),
                    (false, false) => self.shown(&format!("{name}({{"), &items, "})"),
                }
            }
            Body::Dict(_)
                if self.is_subtype(class, &self.known.ordered_dict)
                    && self.is_read_by_methods(class)? =>
            {
                Err(self.no_text(v))
            }
            Body::Dict(d) => {
                let ordered = self.is_subtype(class, &self.known.ordered_dict.clone());
                if !ordered && self.is_subtype(class, &self.known.defaultdict.clone()) {
                    return Err(self.no_text(v));
                }
                if ordered && d.is_empty() {
                    return Ok(self.str(&format!("{name}()")));
                }
                // 3.12 writes an ordered dict as a dict; 3.11 as a list of pairs.
                let pairs = ordered && self.py.version_info() < (3, 12);
                let mut items = Vec::with_capacity(d.len());
                for (k, value) in d.iter() {
                    items.push(match pairs {
                        true => self.shown("(", &[k.clone(), value.clone()], ")")?,
                        false => {
                            let parts = [self.repr_of(k)?, self.str(": "), self.repr_of(value)?];
                            self.build_string(&parts)?
                        }
                    });
                }
                let (open, close) = match (ordered, pairs) {
                    (false, _) => ("{".to_owned(), "}"),
                    (true, false) => (format!("{name}({{"), "})"),
                    (true, true) => (format!("{name}(["), "])"),
                };
                self.enclosed(&open, items, close)
            }
            Body::DictView(d, view) => {
                let items = self.iterate(v)?;
                let ordered =
                    self.is_subtype(&self.obj(d).class.clone(), &self.known.ordered_dict.clone());
                let prefix = if ordered { "o" } else { "" };
                let view = match view {
                    variables::DictView::Keys => "dict_keys",
                    variables::DictView::Values => "dict_values",
                    variables::DictView::Items => "dict_items",
                };
                self.shown(&format!("{prefix}{view}(["), &items, "])")
            }
            _ => Err(self.no_text(v)),
        }
    }

    /// The `repr` of each item, with commas in between.
    fn shown(&mut self, open: &str, items: &[Var], close: &str) -> R<Var> {
        let items = items.iter().map(|v| self.repr_of(v)).collect::<R<_>>()?;
        self.enclosed(open, items, close)
    }

    /// Texts with commas in between.
    fn enclosed(&mut self, open: &str, items: Vec<Var>, close: &str) -> R<Var> {
        let mut parts = vec![self.str(open)];
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                parts.push(self.str(", "));
            }
            parts.push(item);
        }
        parts.push(self.str(close));
        self.build_string(&parts)
    }

    /// `repr(v)` as Rust text.
    pub(crate) fn text(&mut self, v: &Var) -> R<String> {
        let r = self.repr_of(v)?;
        match &self.realize(&r)? {
            Var::Const(o) => Ok(o.bind(self.py).extract::<String>()?),
            _ => Err(self.no_text(v)),
        }
    }

    /// A result of `__str__` or `__repr__` has to be a `str`.
    fn checked_text(&mut self, r: Var, name: &str) -> R<Var> {
        if self.is_changing_text(&r) {
            return Ok(r);
        }
        let r = self.realize(&r)?;
        if matches!(&r, Var::Const(o) if o.bind(self.py).is_instance_of::<pyo3::types::PyString>())
        {
            return Ok(r);
        }
        let class = self.type_name(&r)?;
        Err(self.raise(
            "TypeError",
            &format!("{name} returned non-string (type {class})"),
        ))
    }

    /// The arguments of an exception made while translating.
    fn exception_args(&mut self, v: &Var) -> R<Option<Vec<Var>>> {
        let Var::Obj(id) = v else { return Ok(None) };
        let state = self.obj(*id);
        if !state.is_new() || !self.is_subtype(&state.class, &self.known.base_exception) {
            return Ok(None);
        }
        match state.attrs.get("args") {
            Some(Some(args)) => {
                let args = args.clone();
                self.iterate(&args).map(Some)
            }
            _ => Ok(Some(Vec::new())),
        }
    }

    /// The break for a value whose text is known only when the program runs.
    pub fn no_text(&self, v: &Var) -> Stop {
        let what = self.describe(v);
        Stop::brk(
            format!("Text of {what}"),
            "The text of a tensor, or of an object made in the compiled function, is known only when the program runs.",
            "Format it outside of the compiled function, or format its shape, dtype or other metadata.",
        )
    }
}

/// Objects whose text shows contents that are not guarded.
fn stateful_text(class: &Bound<'_, pyo3::types::PyType>) -> bool {
    class.name().is_ok_and(|n| {
        matches!(
            &*n.to_string_lossy(),
            "mappingproxy" | "partial" | "generator" | "cell"
        )
    })
}
