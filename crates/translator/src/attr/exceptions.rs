//! What C keeps in exceptions that are made while tracing: their fields, and which exception was
//! handled when they were raised.
//!
//! An exception is an object with `args`; the fields that C fills are found out by asking one of
//! the same C class that is made of the same constants. Tracebacks exist in plain Python only.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use variables::{Obj, ObjId, Var};

use super::is_heap_type;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

/// Classes whose constructors fill fields from their arguments, and up to how many arguments these
/// only do what the constructor of others does: they check none, keep each in `args`, and make an
/// exception of the class that was asked for. `None`: never.
const WITH_FIELDS: [(&str, Option<usize>); 8] = [
    ("OSError", Some(1)),
    ("SyntaxError", Some(1)),
    ("UnicodeEncodeError", None),
    ("UnicodeDecodeError", None),
    ("UnicodeTranslateError", None),
    ("BaseExceptionGroup", None),
    ("ImportError", Some(1)),
    ("SystemExit", Some(usize::MAX)),
];

/// Classes in which the interpreter notes what it was looking for when it raises them.
const NOTED: [&str; 3] = ["AttributeError", "NameError", "ImportError"];

impl<'py> Tx<'py> {
    /// A field that C has in an exception made while tracing.
    ///
    /// # Errors
    /// A break where only an exception that Python has raised knows it.
    pub(super) fn exception_field(&mut self, id: ObjId, class: &Obj, name: &Arc<str>) -> R<Var> {
        let raised = self.st.raised_under.contains_key(&id);
        match &**name {
            "__cause__" => Ok(self.none()),
            "__suppress_context__" => {
                let from = self.obj(id).attrs.contains_key("__cause__");
                Ok(self.bool(from))
            }
            "__context__" if raised => self.context_of(id),
            "__traceback__" if raised => {
                if let Some(known) = self.st.tracebacks.get(&id) {
                    return Ok(known.clone());
                }
                let made = self.traceback_of(&Var::Obj(id));
                self.st.tracebacks.insert(id, made.clone());
                Ok(made)
            }
            "__context__" | "__traceback__" => Ok(self.none()),
            "value" if self.is_subtype(class, &self.known.stop_iteration) => {
                match self.obj(id).attrs.get("args").cloned().flatten() {
                    Some(Var::Tuple(t)) if !t.items.is_empty() => Ok(t.items[0].clone()),
                    _ => Ok(self.none()),
                }
            }
            _ => match self.field_of_constants(id, class, name)? {
                Some(field) => Ok(field),
                None => Err(Stop::unsupported(format!(
                    "attribute {name} of an exception made while tracing"
                ))),
            },
        }
    }

    /// The field of the stand-in. `None` where the interpreter may have noted more than arguments.
    fn field_of_constants(&mut self, id: ObjId, class: &Obj, name: &Arc<str>) -> R<Option<Var>> {
        for noted in NOTED {
            if self.derives_from_builtin(class, noted)? {
                return Ok(None);
            }
        }
        let made = self.exception_stand_in(id)?;
        match made.map(|made| made.getattr(&**name)) {
            Some(Ok(field)) if self.known.is_const_type(field.get_type().as_any()) => {
                self.from_const(field).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// An exception that is made of the same arguments as one made while tracing, of the nearest C
    /// class. `None` where the arguments are no constants, or the class refuses them.
    pub fn exception_stand_in(&mut self, id: ObjId) -> R<Option<Bound<'py, PyAny>>> {
        let Some(Var::Tuple(args)) = self.obj(id).attrs.get("args").cloned().flatten() else {
            return Ok(None);
        };
        let mut constants = Vec::with_capacity(args.items.len());
        for arg in &args.items {
            match self.realize(arg)? {
                Var::Const(c) => constants.push(c),
                _ => return Ok(None),
            }
        }
        let class = self.obj(id).class.bind(self.py).clone();
        let mro = class.cast::<PyType>().map_err(PyErr::from)?.mro();
        let is_native = |c: &Bound<'_, PyAny>| c.cast().is_ok_and(|c| !is_heap_type(c));
        let Some(native) = mro.iter().find(is_native) else {
            return Ok(None);
        };
        Ok(native.call1(PyTuple::new(self.py, constants)?).ok())
    }

    /// An exception of which `args` is all that its constructor keeps: others check their
    /// arguments, choose another class by them, or keep more in fields than `args` says.
    /// `again`: it has fields already.
    ///
    /// # Errors
    /// A break for any other.
    pub(crate) fn plain_exception(&mut self, class: &Obj, args: &Args, again: bool) -> R<()> {
        let mut plain = args.kw.is_empty();
        for (name, most) in WITH_FIELDS {
            let fills = again || most.is_none_or(|most| args.pos.len() > most);
            plain &= !(fills && self.derives_from_builtin(class, name)?);
        }
        match plain {
            true => Ok(()),
            false => Err(Stop::unsupported(format!(
                "making an exception of class {} with these arguments",
                self.class_name(class)
            ))),
        }
    }

    /// Whether the fields of a class stay what `args` said when an exception was made.
    pub(super) fn keeps_fields_beside_args(&mut self, class: &Obj) -> R<bool> {
        for (name, _) in WITH_FIELDS {
            if self.derives_from_builtin(class, name)? {
                return Ok(true);
            }
        }
        Ok(self.is_subtype(class, &self.known.stop_iteration))
    }

    fn derives_from_builtin(&self, class: &Obj, name: &str) -> R<bool> {
        let base = self.known.builtins.bind(self.py).getattr(name)?.unbind();
        Ok(self.is_subtype(class, &base))
    }

    /// Notes what is handled while an exception is raised, as `_PyErr_SetObject` does: only a raise
    /// that is not a re-raise (`anew`) changes what is known of one that was raised before.
    pub(crate) fn note_context(&mut self, exc: &Var, anew: bool) {
        let Var::Obj(id) = exc else { return };
        if anew {
            self.st.tracebacks.remove(id);
        }
        let handled = self.st.frame.handling.last().cloned();
        let known = self.st.raised_under.contains_key(id);
        let itself = matches!(&handled, Some(Var::Obj(h)) if h == id);
        if !self.obj(*id).is_new() || known && (!anew || handled.is_none() || itself) {
            return;
        }
        let handled = handled.filter(|_| !itself);
        self.break_cycle(*id, handled.as_ref());
        self.st.raised_under.insert(*id, handled);
    }

    /// A chain of contexts that comes back to an exception ends in front of it.
    fn break_cycle(&mut self, id: ObjId, handled: Option<&Var>) {
        let mut at = handled.cloned();
        while let Some(Var::Obj(here)) = at {
            let next = self.st.raised_under.get(&here).cloned().flatten();
            if matches!(&next, Some(Var::Obj(n)) if *n == id) {
                self.st.raised_under.insert(here, Some(self.none()));
                return;
            }
            at = next;
        }
    }

    /// `__context__` of an exception that was raised while tracing.
    fn context_of(&mut self, id: ObjId) -> R<Var> {
        match self.st.raised_under.get(&id).cloned().flatten() {
            Some(handled) => Ok(handled),
            None => self.exception_of_callers(),
        }
    }

    /// The exception that a caller of the compiled function handles: `None` is guarded.
    ///
    /// # Errors
    /// A break where there is one.
    pub fn exception_of_callers(&mut self) -> R<Var> {
        let ask = self.py.import("sys")?.getattr("exception")?;
        let outside = ask.call0()?;
        if !outside.is_none() {
            return Err(Stop::unsupported(
                "asking for the exception that a caller handles",
            ));
        }
        self.guard_call(&ask.unbind(), None, &[], &outside)?;
        Ok(self.none())
    }
}
