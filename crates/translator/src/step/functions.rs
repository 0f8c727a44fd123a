//! Making functions; `with` and `raise`.

use super::Next;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};
use bytecode::op::FuncAttr;
use guards::Source;
use pyo3::prelude::*;
use std::rc::Rc;
use std::sync::Arc;
use variables::{Body, FuncVar, MethodVar, Origin, Var};
impl<'py> Tx<'py> {
    pub(crate) fn make_function(&mut self, parts: FuncAttr) -> R<()> {
        let code = self.pop()?;
        let Some(code) = code.as_obj().cloned() else {
            return Err(Stop::Internal("no code object".into()));
        };
        let take = |bit: u8, tx: &mut Self| -> R<Option<Var>> {
            if parts.0 & bit != 0 {
                tx.pop().map(Some)
            } else {
                Ok(None)
            }
        };
        let closure = take(FuncAttr::CLOSURE, self)?;
        let annotations = take(FuncAttr::ANNOTATIONS, self)?;
        let kwdefaults = take(FuncAttr::KWDEFAULTS, self)?;
        let defaults = take(FuncAttr::DEFAULTS, self)?;
        let closure = match closure {
            Some(c) => self.iterate(&c)?,
            None => Vec::new(),
        };
        let class = self.known.function.clone();
        let obj = self.new_object(class, Body::Plain);
        let globals = self.st.frame.globals.clone();
        self.push(Var::Func(Rc::new(FuncVar {
            code,
            globals: globals.dict,
            globals_source: globals.source,
            defaults,
            kwdefaults,
            annotations,
            closure,
            obj,
        })));
        Ok(())
    }

    pub(crate) fn set_function_attribute(&mut self, part: FuncAttr) -> R<()> {
        let f = self.pop()?;
        let value = self.pop()?;
        let Var::Func(f) = f else {
            return Err(Stop::Internal("no function".into()));
        };
        let closure = if part.0 == FuncAttr::CLOSURE {
            self.iterate(&value)?
        } else {
            f.closure.clone()
        };
        let pick = |bit: u8, old: &Option<Var>| {
            if part.0 == bit {
                Some(value.clone())
            } else {
                old.clone()
            }
        };
        self.push(Var::Func(Rc::new(FuncVar {
            code: f.code.clone(),
            globals: f.globals.clone(),
            globals_source: f.globals_source,
            defaults: pick(FuncAttr::DEFAULTS, &f.defaults),
            kwdefaults: pick(FuncAttr::KWDEFAULTS, &f.kwdefaults),
            annotations: pick(FuncAttr::ANNOTATIONS, &f.annotations),
            closure,
            obj: f.obj,
        })));
        Ok(())
    }

    pub(crate) fn before_with(&mut self) -> R<Next> {
        let cm = self.pop()?;
        let cm = self.realize(&cm)?;
        let class = self.type_of(&cm)?;
        let name = self.class_name(&class);
        let bound = |tx: &mut Self, method: &str| -> R<Option<Var>> {
            let Some(found) = tx.class_lookup(&class, method)? else {
                return Ok(None);
            };
            // The class's own: an attribute of the instance is not asked.
            if found
                .bind(tx.py)
                .get_type()
                .is(tx.known.function.bind(tx.py))
            {
                return Ok(Some(Var::Method(Rc::new(MethodVar {
                    func: Var::py(found),
                    receiver: cm.clone(),
                }))));
            }
            tx.getattr_sync(&cm, &Arc::from(method)).map(Some)
        };
        let Some(enter) = bound(self, "__enter__")? else {
            return Err(self.raise(
                "TypeError",
                &format!("'{name}' object does not support the context manager protocol"),
            ));
        };
        let Some(exit) = bound(self, "__exit__")? else {
            return Err(self.raise(
                "TypeError",
                &format!("'{name}' object does not support the context manager protocol (missed __exit__ method)"),
            ));
        };
        self.push(exit);
        let flow = self.call(&enter, Args::default())?;
        Ok(self.push_flow(flow))
    }

    pub(crate) fn raise_varargs(&mut self, n: u32) -> R<Next> {
        let cause = if n == 2 { Some(self.pop()?) } else { None };
        if n == 0 {
            return match self.st.frame.handling.last().cloned() {
                Some(e) => Err(Stop::Raise(e)),
                None => Err(self.raise("RuntimeError", "No active exception to reraise")),
            };
        }
        let exc = self.pop()?;
        let exc = self.exception_instance(&exc)?;
        if let (Some(cause), Var::Obj(id)) = (cause, &exc) {
            let cause = self.realize(&cause)?;
            let cause = if cause.is_none(self.py) {
                cause
            } else {
                self.exception_instance(&cause)?
            };
            self.st
                .effects
                .write_attr(*id, &Arc::from("__cause__"), Some(cause));
        }
        Err(Stop::Raise(exc))
    }

    /// The traceback of an exception. That of one that was raised while tracing is an object that
    /// nothing is known of: what looks inside breaks the graph, where the exception was raised.
    pub(crate) fn traceback_of(&mut self, exc: &Var) -> Var {
        let (obj, base) = match exc {
            Var::Obj(id) => match &self.obj(*id).origin {
                Origin::Source { obj, source } => (obj.clone(), *source),
                _ => {
                    let class = self.known.traceback.clone();
                    return Var::Obj(self.new_object(class, Body::Plain));
                }
            },
            Var::Lazy(l) => (l.obj.clone(), l.source),
            _ => return self.none(),
        };
        match obj.bind(self.py).getattr("__traceback__") {
            Ok(tb) if !tb.is_none() => {
                let name = Arc::from("__traceback__");
                let source = self.source(Source::Attr { base, name });
                self.lazy(tb.unbind(), source)
            }
            _ => self.none(),
        }
    }

    /// An exception instance, made where a class is given.
    pub(crate) fn exception_instance(&mut self, exc: &Var) -> R<Var> {
        let exc = self.realize(exc)?;
        if let Var::Py(p) = &exc
            && p.obj.bind(self.py).is_instance_of::<pyo3::types::PyType>()
        {
            return self.call_sync(&exc.clone(), Args::default());
        }
        let base = Var::py(self.known.base_exception.clone());
        if self.isinstance(&exc, &base)? {
            return Ok(exc);
        }
        Err(self.raise("TypeError", "exceptions must derive from BaseException"))
    }
}
