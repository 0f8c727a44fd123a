//! Making functions; `with` and `raise`.

use super::Next;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};
use bytecode::op::{CommonConst, FuncAttr, Op, Special};
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
        let annotate = take(FuncAttr::ANNOTATE, self)?;
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
            annotate,
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
            annotate: pick(FuncAttr::ANNOTATE, &f.annotate),
            closure,
            obj: f.obj,
        })));
        Ok(())
    }

    pub(crate) fn before_with(&mut self) -> R<Next> {
        let cm = self.pop()?;
        let cm = self.realize(&cm)?;
        let Some(enter) = self.special_method(&cm, "__enter__")? else {
            return Err(self.no_context_manager(&cm, "")?);
        };
        let Some(exit) = self.special_method(&cm, "__exit__")? else {
            return Err(self.no_context_manager(&cm, " (missed __exit__ method)")?);
        };
        self.push(exit);
        let flow = self.call(&enter, Args::default())?;
        Ok(self.push_flow(flow))
    }

    /// `LOAD_SPECIAL`: half of what `with` looks up.
    pub(super) fn load_special(&mut self, which: Special) -> R<()> {
        let other = match which {
            Special::Enter => Special::AsyncEnter,
            Special::Exit => Special::AsyncExit,
            Special::AsyncEnter | Special::AsyncExit => {
                return Err(super::missing::stop(&Op::LoadSpecial(which)));
            }
        };
        let name = which.method();
        let cm = self.pop()?;
        let cm = self.realize(&cm)?;
        match self.special_method(&cm, name)? {
            Some(method) => self.push_method(method, false),
            None => {
                let class = self.type_of(&cm)?;
                let enter = Special::AsyncEnter.method();
                let is_async = self.class_lookup(&class, enter)?.is_some()
                    && self.class_lookup(&class, other.method())?.is_some();
                let hint = match is_async {
                    true => {
                        " but it supports the asynchronous context manager protocol. \
                             Did you mean to use 'async with'?"
                    }
                    false => "",
                };
                let missed = format!(" (missed {name} method){hint}");
                return Err(self.no_context_manager(&cm, &missed)?);
            }
        }
        Ok(())
    }

    fn no_context_manager(&mut self, cm: &Var, missed: &str) -> R<Stop> {
        let class = self.type_of(cm)?;
        let name = self.class_name(&class);
        let text = format!("'{name}' object does not support the context manager protocol{missed}");
        Ok(self.raise("TypeError", &text))
    }

    /// A method of the class's own: an attribute of the instance is not asked.
    fn special_method(&mut self, obj: &Var, name: &str) -> R<Option<Var>> {
        let class = self.type_of(obj)?;
        let Some(found) = self.class_lookup(&class, name)? else {
            return Ok(None);
        };
        let class = found.bind(self.py).get_type();
        if class.is(self.known.function.bind(self.py)) {
            return Ok(Some(Var::Method(Rc::new(MethodVar {
                func: Var::py(found),
                receiver: obj.clone(),
            }))));
        }
        self.getattr_sync(obj, &Arc::from(name)).map(Some)
    }

    /// What `LOAD_COMMON_CONSTANT` loads.
    pub(super) fn common_constant(&mut self, which: CommonConst) -> R<Var> {
        let name = match which {
            CommonConst::None => return Ok(self.none()),
            CommonConst::EmptyStr => return Ok(self.str("")),
            CommonConst::True => return Ok(self.bool(true)),
            CommonConst::False => return Ok(self.bool(false)),
            CommonConst::MinusOne => return Ok(self.int(-1)),
            _ => which.builtin(),
        };
        let found = self.known.builtins.bind(self.py).getattr(name)?;
        Ok(Var::py(found.unbind()))
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
                self.cause_instance(&cause)?
            };
            self.st
                .effects
                .write_attr(*id, &Arc::from("__cause__"), Some(cause));
        }
        if !matches!(&exc, Var::Obj(id) if self.obj(*id).is_new()) {
            return Err(Stop::unsupported(
                "raising an exception from outside: it gets a traceback and a context",
            ));
        }
        self.note_context(&exc, true);
        Err(Stop::Raise(exc))
    }

    /// The traceback of an exception. That of one that was raised while tracing is an object that
    /// nothing is known of: what looks inside breaks the graph, where the exception was raised.
    pub fn traceback_of(&mut self, exc: &Var) -> Var {
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

    fn cause_instance(&mut self, cause: &Var) -> R<Var> {
        match self.is_exception_class(cause)? || self.is_exception(cause)? {
            true => self.exception_instance(cause),
            false => Err(self.raise(
                "TypeError",
                "exception causes must derive from BaseException",
            )),
        }
    }

    fn is_exception(&mut self, v: &Var) -> R<bool> {
        let base = Var::py(self.known.base_exception.clone());
        self.isinstance(v, &base)
    }

    fn is_exception_class(&self, v: &Var) -> R<bool> {
        let Var::Py(p) = v else { return Ok(false) };
        Ok(match p.obj.bind(self.py).cast::<pyo3::types::PyType>() {
            Ok(class) => class.is_subclass(self.known.base_exception.bind(self.py))?,
            Err(_) => false,
        })
    }

    /// An exception instance, made where a class is given.
    pub(crate) fn exception_instance(&mut self, exc: &Var) -> R<Var> {
        let exc = self.realize(exc)?;
        let made = match self.is_exception_class(&exc)? {
            true => self.call_sync(&exc.clone(), Args::default())?,
            false => exc.clone(),
        };
        if self.is_exception(&made)? {
            return Ok(made);
        }
        if self.is_exception_class(&exc)? {
            let text = format!(
                "calling {} should have returned an instance of BaseException, not {}",
                self.describe(&exc),
                self.type_name(&made)?
            );
            return Err(Stop::unsupported(text));
        }
        Err(self.raise("TypeError", "exceptions must derive from BaseException"))
    }
}
