//! Inlining of Python functions: what a callee needs, and its frame.

use std::rc::Rc;
use std::sync::Arc;

use guards::{GuardKind, Source, SourceId};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use variables::{Body, Obj, Var};

use super::{Callee, MAX_DEPTH};
use crate::bind::{Signature, bind, refusal};
use crate::code::{CodeInfo, flags};
use crate::library::is_library;
use crate::state::{Frame, GeneratorState, Globals, OnReturn};
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};
impl<'py> Tx<'py> {
    pub(crate) fn new_function_callee(&mut self, f: &variables::FuncVar) -> R<Callee> {
        let defaults = match &f.defaults {
            Some(d) => self.iterate(d)?,
            None => Vec::new(),
        };
        let kwdefaults = match &f.kwdefaults {
            Some(d) => self.keyword_items(d)?,
            None => Vec::new(),
        };
        Ok(Callee {
            code: f.code.clone(),
            globals: Globals {
                dict: f.globals.clone(),
                source: f.globals_source,
            },
            defaults,
            kwdefaults,
            closure: f.closure.clone(),
            source: None,
            function: None,
            names: self.new_names(f),
        })
    }

    /// The names that a generator of an existing function gets. A library's functions are not renamed
    /// once they are made.
    fn existing_names(
        &mut self,
        f: &Bound<'py, PyAny>,
        source: SourceId,
        library: bool,
    ) -> R<Option<[Var; 2]>> {
        let code = self.codes.borrow_mut().get(&f.getattr("__code__")?)?;
        if !code.has(flags::GENERATOR) {
            return Ok(None);
        }
        let (name, qualname) = (f.getattr("__name__")?, f.getattr("__qualname__")?);
        if library && name.eq(&*code.name)? && qualname.eq(&*code.qualname)? {
            return Ok(None);
        }
        let mut lazy = |v: Bound<'py, PyAny>, name: &str| {
            let source = self.source(Source::Attr {
                base: source,
                name: name.into(),
            });
            self.lazy(v.unbind(), source)
        };
        Ok(Some([
            lazy(name, "__name__"),
            lazy(qualname, "__qualname__"),
        ]))
    }

    /// The names of a function made while translating, where the program has given it others.
    fn new_names(&self, f: &variables::FuncVar) -> Option<[Var; 2]> {
        let attrs = &self.obj(f.obj).attrs;
        let given = |name: &str| attrs.get(name).cloned().flatten();
        let (name, qualname) = (given("__name__"), given("__qualname__"));
        if name.is_none() && qualname.is_none() {
            return None;
        }
        let code = |name: &str| f.code.bind(self.py).getattr(name).ok();
        let or_code =
            |v: Option<Var>, name: &str| v.or_else(|| code(name).map(|n| Var::Const(n.unbind())));
        Some([or_code(name, "co_name")?, or_code(qualname, "co_qualname")?])
    }

    /// What inlining an existing function needs; guards what it looks at.
    pub fn existing_callee(
        &mut self,
        b: &Bound<'py, PyAny>,
        source: Option<SourceId>,
    ) -> R<Callee> {
        let code = b.getattr(intern!(self.py, "__code__"))?.unbind();
        let library = is_library(b);
        let base = |tx: &mut Self| match source {
            Some(s) => s,
            None => tx.pinned_source(&b.clone().unbind(), true, "function"),
        };
        let s = base(self);
        let code_source = self.source(Source::FuncCode { base: s });
        let r = self.pin(&code, false);
        self.guard(code_source, GuardKind::IdMatch { obj: r });
        let mut defaults = Vec::new();
        if let Ok(t) = b
            .getattr(intern!(self.py, "__defaults__"))?
            .cast::<PyTuple>()
        {
            let tuple_source = self.source(Source::FuncDefaults { base: s });
            let made_once = library
                && !self
                    .codes
                    .borrow_mut()
                    .get(code.bind(self.py))?
                    .has(flags::NESTED);
            if made_once {
                // One guard for all.
                let obj = self.pin(&t.clone().into_any().unbind(), false);
                self.guard(tuple_source, GuardKind::IdMatch { obj });
            } else {
                self.guard(tuple_source, GuardKind::SequenceLength { len: t.len() });
            }
            for (i, v) in t.iter().enumerate() {
                let item = self.source(Source::TupleItem {
                    base: tuple_source,
                    index: i as u32,
                });
                defaults.push(self.default_value(v, item, made_once)?);
            }
        }
        let mut kwdefaults = Vec::new();
        if let Ok(d) = b
            .getattr(intern!(self.py, "__kwdefaults__"))?
            .cast::<PyDict>()
        {
            let dict_source = self.source(Source::FuncKwDefaults { base: s });
            for (k, v) in d.iter() {
                let name: String = k.extract()?;
                let item = self.source(Source::DictItem {
                    base: dict_source,
                    key: guards::Key::str(&name),
                });
                kwdefaults.push((Arc::from(name), self.lazy(v.unbind(), item)));
            }
        }
        let mut closure = Vec::new();
        if let Ok(t) = b
            .getattr(intern!(self.py, "__closure__"))?
            .cast::<PyTuple>()
        {
            let tuple_source = self.source(Source::FuncClosure { base: s });
            for (i, c) in t.iter().enumerate() {
                let item = self.source(Source::TupleItem {
                    base: tuple_source,
                    index: i as u32,
                });
                closure.push(self.build(&c.unbind(), item)?);
            }
        }
        let dict = b.getattr(intern!(self.py, "__globals__"))?.unbind();
        let globals = self.globals_of(dict);
        let names = self.existing_names(b, s, library)?;
        Ok(Callee {
            code,
            globals,
            defaults,
            kwdefaults,
            closure,
            source: Some(s),
            function: Some(b.clone().unbind()),
            names,
        })
    }

    pub(crate) fn default_value(
        &mut self,
        v: Bound<'py, PyAny>,
        source: SourceId,
        is_guarded: bool,
    ) -> R<Var> {
        if is_guarded && self.known.is_const_type(v.get_type().as_any()) {
            return Ok(Var::Const(v.unbind()));
        }
        Ok(self.lazy(v.unbind(), source))
    }

    /// The globals of an inlined function.
    pub fn globals_of(&mut self, dict: Obj) -> Globals {
        let mut root = &self.st.frame;
        while let Some(p) = &root.parent {
            root = p;
        }
        if root.globals.dict.is(&dict) {
            return root.globals.clone();
        }
        let name = dict
            .bind(self.py)
            .get_item("__name__")
            .map_or_else(|_| "globals".to_string(), |n| n.to_string());
        let source = self.pinned_source(&dict, false, &name);
        Globals {
            dict,
            source: Some(source),
        }
    }

    /// Binds the arguments of a Python function and pushes its frame; `on_return` says what becomes of its result. Where a
    /// rule stands for the function, or it makes a generator, there is no frame and the value is there at once.
    ///
    /// # Errors
    /// `TypeError` for arguments that do not fit; a break beyond the depth to which calls are inlined.
    pub fn inline(&mut self, callee: Callee, args: Args, on_return: OnReturn) -> R<Flow> {
        let args = self.with_tensors_alone(args);
        let code = self.codes.borrow_mut().get(callee.code.bind(self.py))?;
        if self.st.frame.depth + 1 > MAX_DEPTH {
            return Err(Stop::brk(
                "Recursion too deep to inline",
                format!(
                    "More than {MAX_DEPTH} Python calls are nested inside the compiled function."
                ),
                "Mark the recursive function with `ferrodyn.disable`.",
            ));
        }
        if code.has(flags::COROUTINE) || code.has(flags::ASYNC_GENERATOR) {
            return Err(Stop::unsupported(format!(
                "calling the coroutine function {}",
                code.qualname
            )));
        }
        let sig = Signature {
            code: &code,
            defaults: &callee.defaults,
            kwdefaults: &callee.kwdefaults,
        };
        let given = args.pos.len();
        let keywords: Vec<Arc<str>> = args.kw.iter().map(|(k, _)| k.clone()).collect();
        let Some(locals) = bind(self, &sig, args)? else {
            // With other defaults the call might be right.
            if let Some(s) = callee.source {
                self.guard_missing_defaults(s, &callee);
            }
            let name = self.name_in_errors(&callee, &code)?;
            let text = refusal(self.py, &sig, &name, given, &keywords)?;
            return Err(self.raise("TypeError", &text));
        };
        let whole =
            (self.rules.torch.is_whole_for_compiler)(self, &callee, &code.name, &on_return)?;
        let parent = self.st.frame.clone();
        let depth = parent.depth + 1;
        let mut frame = Frame {
            code: code.clone(),
            ip: 0,
            stack: im::Vector::new(),
            locals,
            globals: callee.globals,
            closure: Rc::new(callee.closure),
            on_return,
            handling: parent.handling.clone(),
            locals_dict: None,
            looks_up: None,
            generator: None,
            module: parent.module.clone(),
            parent: Some(Rc::new(parent)),
            depth,
        };
        if code.has(flags::GENERATOR) && code.body.makes_generator_first() {
            frame.parent = None;
            frame.on_return = OnReturn::Nested;
            let class = self.known.generator.clone();
            let body = Body::Generator(Rc::new(GeneratorState {
                code: code.clone(),
                frame: Some(frame),
                started: false,
                names: callee.names,
            }));
            let id = self.new_object(class, body);
            return Ok(Flow::Value(Var::Obj(id)));
        }
        self.st.frame = frame;
        match whole {
            true => self.run_nested().map(Flow::Value),
            false => Ok(Flow::Pushed),
        }
    }

    /// The `__qualname__` of a function about to be called, which may not be its code's.
    fn name_in_errors(&mut self, callee: &Callee, code: &CodeInfo) -> R<Arc<str>> {
        let given = match (&callee.function, callee.source, &callee.names) {
            (Some(f), Some(base), _) => {
                let name = f.bind(self.py).getattr("__qualname__")?;
                let source = self.source(Source::Attr {
                    base,
                    name: "__qualname__".into(),
                });
                let name = self.lazy(name.unbind(), source);
                Some(self.realize(&name)?)
            }
            (_, _, Some([_, name])) => Some(self.realize(&name.clone())?),
            _ => None,
        };
        match given {
            Some(Var::Const(name)) => Ok(Arc::from(name.extract::<String>(self.py)?)),
            _ => Ok(code.qualname.clone()),
        }
    }

    /// Holds a function to the defaults that it does not have.
    fn guard_missing_defaults(&mut self, function: SourceId, callee: &Callee) {
        if callee.defaults.is_empty() {
            let s = self.source(Source::FuncDefaults { base: function });
            self.guard(s, GuardKind::NoneMatch);
        }
        let s = self.source(Source::FuncKwDefaults { base: function });
        if callee.kwdefaults.is_empty() {
            self.guard(s, GuardKind::NoneMatch);
        } else {
            let len = callee.kwdefaults.len();
            self.guard(s, GuardKind::DictLength { len });
        }
    }

    /// The items of a dict of keyword arguments.
    ///
    /// # Errors
    /// `TypeError` for keys that are no strings.
    pub fn keyword_items(&mut self, dict: &Var) -> R<Vec<(Arc<str>, Var)>> {
        let dict = self.realize(dict)?;
        let Var::Obj(id) = &dict else {
            return Err(Stop::unsupported("keywords from a mapping that is no dict"));
        };
        let Body::Dict(map) = self.obj(*id).body.clone() else {
            return Err(Stop::unsupported("keywords from a mapping that is no dict"));
        };
        let mut out = Vec::with_capacity(map.len());
        for (k, v) in map.iter() {
            match k {
                Var::Const(o) if o.bind(self.py).is_instance_of::<pyo3::types::PyString>() => {
                    out.push((Arc::from(o.extract::<String>(self.py)?), v.clone()));
                }
                k if self.plain_text(k).is_some() => {
                    return Err(Stop::unsupported("a keyword of a class derived from str"));
                }
                _ => return Err(self.raise("TypeError", "keywords must be strings")),
            }
        }
        Ok(out)
    }
}
