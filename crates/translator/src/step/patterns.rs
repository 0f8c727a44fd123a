//! `match`: what the instructions that take a subject apart by a pattern do.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use variables::{Body, Obj, Var};

use crate::attr::is_heap_type;
use crate::raw::{printed_name, type_flags};
use crate::stop::R;
use crate::tx::{Args, Tx};

/// What the type of a subject says about patterns, as bits of `tp_flags`.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// `Py_TPFLAGS_SEQUENCE`
    Sequence = 5,
    /// `Py_TPFLAGS_MAPPING`
    Mapping = 6,
    /// `_Py_TPFLAGS_MATCH_SELF`: one positional pattern takes the subject itself
    Itself = 22,
}

impl Tx<'_> {
    /// `-- bool`: whether the subject on top of the stack is of a kind that patterns know.
    pub(super) fn match_shape(&mut self, shape: Shape) -> R<()> {
        let subject = self.peek(1)?;
        let class = self.type_of(&subject)?;
        let is = self.has_shape(&class, shape)?;
        self.push(self.bool(is));
        Ok(())
    }

    fn has_shape(&mut self, class: &Obj, shape: Shape) -> R<bool> {
        let ty = class
            .bind(self.py)
            .cast::<PyType>()
            .map_err(PyErr::from)?
            .clone();
        let is = type_flags(&ty) & (1 << shape as u64) != 0;
        if is_heap_type(&ty) {
            self.guard_mro(class);
            // `Sequence.register(C)` gives a class the flag.
            if !is && !matches!(shape, Shape::Itself) {
                self.guard_abc_registry()?;
            }
            let mut bases = ty.bases().iter();
            let is_inherited = bases.any(|base| {
                let base = base.cast::<PyType>();
                base.is_ok_and(|base| type_flags(base) & (1 << shape as u64) != 0)
            });
            if is && !is_inherited {
                self.facts
                    .is_of_process("a class that is registered with an abstract one");
            }
        }
        Ok(is)
    }

    /// `subject keys -- subject keys values`, or `None` for the values where a key is missing.
    pub(super) fn match_keys(&mut self) -> R<()> {
        let (keys, subject) = (self.peek(1)?, self.peek(2)?);
        let keys = self.iterate(&keys)?;
        let mut seen = Vec::with_capacity(keys.len());
        let mut values = Vec::with_capacity(keys.len());
        if !keys.is_empty() {
            let get = self.getattr_sync(&subject, &"get".into())?;
            let class = self.known.object.clone();
            let missing = Var::Obj(self.new_object(class, Body::Plain));
            for key in keys {
                let hashed = self.key(&key)?;
                if seen.contains(&hashed) {
                    let text = (self.rules.builtins.repr_text)(self, &key)?;
                    return Err(self.raise(
                        "ValueError",
                        &format!("mapping pattern checks duplicate key ({text})"),
                    ));
                }
                seen.push(hashed);
                let found = self.call_sync(&get, Args::pos(vec![key, missing.clone()]))?;
                if matches!((&found, &missing), (Var::Obj(a), Var::Obj(b)) if a == b) {
                    self.push(self.none());
                    return Ok(());
                }
                values.push(found);
            }
        }
        self.push(Var::tuple(values));
        Ok(())
    }

    /// `subject class names -- attributes`, or `None` where the subject does not match. The first
    /// `count` attributes are those of the positional patterns.
    pub(super) fn match_class(&mut self, count: usize) -> R<()> {
        let names = self.pop()?;
        let class = self.pop()?;
        let subject = self.pop()?;
        let attributes = match self.matched_attributes(&subject, &class, &names, count)? {
            Some(attributes) => Var::tuple(attributes),
            None => self.none(),
        };
        self.push(attributes);
        Ok(())
    }

    fn matched_attributes(
        &mut self,
        subject: &Var,
        class: &Var,
        names: &Var,
        count: usize,
    ) -> R<Option<Vec<Var>>> {
        let class = self.realize(class)?;
        let Some(ty) = class
            .as_obj()
            .and_then(|o| o.bind(self.py).cast::<PyType>().ok().cloned())
        else {
            let message = self.version().no_class_in_a_pattern();
            return Err(self.raise("TypeError", message));
        };
        if !self.isinstance(subject, &class)? {
            return Ok(None);
        }
        let mut found = Vec::new();
        let mut wanted: Vec<Arc<str>> = Vec::new();
        if count > 0 {
            let positional = self.positional_names(&class, &ty, count)?;
            match positional {
                Some(names) => wanted.extend(names),
                None => found.push(subject.clone()),
            }
        }
        for name in self.iterate(names)? {
            wanted.push(self.attr_name(&name)?);
        }
        for (i, name) in wanted.iter().enumerate() {
            if wanted[..i].contains(name) {
                return Err(self.raise(
                    "TypeError",
                    &format!(
                        "{}() got multiple sub-patterns for attribute '{name}'",
                        printed_name(&ty)
                    ),
                ));
            }
            match self.getattr_sync(subject, name) {
                Ok(v) => found.push(v),
                Err(stop) if self.is_raise_of(&stop, "AttributeError") => return Ok(None),
                Err(stop) => return Err(stop),
            }
        }
        Ok(Some(found))
    }

    /// The attributes that positional patterns stand for; `None`: the one pattern takes the subject.
    fn positional_names(
        &mut self,
        class: &Var,
        ty: &Bound<'_, PyType>,
        count: usize,
    ) -> R<Option<Vec<Arc<str>>>> {
        let args = match self.getattr_sync(class, &"__match_args__".into()) {
            Ok(v) => Some(self.realize(&v)?),
            Err(stop) if self.is_raise_of(&stop, "AttributeError") => None,
            Err(stop) => return Err(stop),
        };
        let (names, itself) = match args {
            Some(Var::Tuple(t)) if t.class.is_none() => (t.items.clone(), false),
            Some(other) => {
                let (name, got) = (printed_name(ty), self.type_name(&other)?);
                return Err(self.raise(
                    "TypeError",
                    &format!("{name}.__match_args__ must be a tuple (got {got})"),
                ));
            }
            None => {
                let class = ty.clone().into_any().unbind();
                (Vec::new(), self.has_shape(&class, Shape::Itself)?)
            }
        };
        let allowed = if itself { 1 } else { names.len() };
        if allowed < count {
            let plural = if allowed == 1 { "" } else { "s" };
            return Err(self.raise(
                "TypeError",
                &format!(
                    "{}() accepts {allowed} positional sub-pattern{plural} ({count} given)",
                    printed_name(ty)
                ),
            ));
        }
        if itself {
            return Ok(None);
        }
        let mut out = Vec::with_capacity(count);
        for name in &names[..count] {
            let name = self.realize(name)?;
            match &name {
                Var::Const(o) if o.bind(self.py).is_instance_of::<PyString>() => {
                    out.push(self.attr_name(&name)?);
                }
                other => {
                    let got = self.type_name(other)?;
                    return Err(self.raise(
                        "TypeError",
                        &format!("__match_args__ elements must be strings (got {got})"),
                    ));
                }
            }
        }
        Ok(Some(out))
    }
}
