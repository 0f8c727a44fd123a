//! Calls: which of the four ways a callable goes, and the inlining of Python functions.
//!
//! Lives here: dispatch by the kind of callable, construction of instances, argument binding's
//! result put into a new frame, generators, nested runs.
//! Does not live here: binding itself (`bind`), builtins, methods of builtin types, tensor ops.

use std::rc::Rc;
use std::sync::Arc;

use guards::{GuardKind, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use variables::{Body, Obj, Origin, PyVar, SuperVar, Var};

use crate::attr::is_heap_type;
use crate::bind::{Signature, bind};
use crate::code::flags;
use crate::raw::type_lookup;
use crate::state::{Frame, Globals, OnReturn};
use crate::stop::{BreakReason, R, Stop};
use crate::tx::{Args, Flow, Tx};

/// Deepest inlining; beyond it the call is left to Python, which raises `RecursionError` in time.
const MAX_DEPTH: u32 = 200;

/// Arguments as real objects: positional, and keywords where there are any.
pub type Constants<'py> = (Vec<Obj>, Option<Bound<'py, PyDict>>);

/// A function about to be inlined.
struct Callee {
    code: Obj,
    globals: Globals,
    defaults: Vec<Var>,
    kwdefaults: Vec<(Arc<str>, Var)>,
    closure: Vec<Var>,
}

impl<'py> Tx<'py> {
    /// Calls anything; a Python function is inlined by pushing its frame.
    ///
    /// # Errors
    /// The program's exception, or a break.
    pub fn call(&mut self, f: &Var, args: Args) -> R<Flow> {
        let f = self.realize(f)?;
        match &f {
            Var::Py(p) => self.call_existing(&f, &p.clone(), args),
            Var::Func(func) => {
                let callee = self.new_function_callee(&func.clone())?;
                self.inline(callee, args, OnReturn::Push)
            }
            Var::Method(m) => {
                let mut args = args;
                args.pos.insert(0, m.receiver.clone());
                self.call(&m.func.clone(), args)
            }
            Var::BuiltinMethod(m) => self.call_method_of(&m.0.clone(), &m.1.clone(), args),
            Var::Obj(id) => {
                let class = self.obj(*id).class.clone();
                match self.class_lookup(&class, "__call__")? {
                    Some(call) => {
                        let mut args = args;
                        args.pos.insert(0, f.clone());
                        self.call(&Var::py(call), args)
                    }
                    None => {
                        let name = self.class_name(&class);
                        Err(self.raise("TypeError", &format!("'{name}' object is not callable")))
                    }
                }
            }
            Var::Tensor(_) => Err(self.raise("TypeError", "'Tensor' object is not callable")),
            Var::Const(_) | Var::Tuple(_) | Var::Slice(_) => {
                let class = self.type_of(&f)?;
                let name = self.class_name(&class);
                Err(self.raise("TypeError", &format!("'{name}' object is not callable")))
            }
            Var::Super(_) | Var::Null | Var::Lazy(_) => Err(Stop::Internal("call of NULL".into())),
        }
    }

    /// A method of a value of builtin type, by name.
    pub fn call_method_of(&mut self, receiver: &Var, name: &Arc<str>, args: Args) -> R<Flow> {
        let receiver = self.realize(receiver)?;
        match &receiver {
            Var::Tensor(_) => self.tensor_method(&receiver, name, args),
            _ => self.call_builtin_method(&receiver, name, args),
        }
    }

    /// Calls and runs to the end (for rules that need the result in the middle).
    ///
    /// # Errors
    /// As [`Tx::call`].
    pub fn call_sync(&mut self, f: &Var, args: Args) -> R<Var> {
        let flow = self.call(f, args)?;
        self.finish_flow(flow)
    }

    /// Runs a pushed frame to its end.
    ///
    /// # Errors
    /// The program's exception, or a break.
    pub fn finish_flow(&mut self, flow: Flow) -> R<Var> {
        match flow {
            Flow::Value(v) => Ok(v),
            Flow::Pushed => self.run_nested(),
        }
    }

    /// `type(receiver).name(receiver, *args)` for a special method; `None` where the class has none.
    ///
    /// # Errors
    /// As [`Tx::call`].
    pub fn call_special(&mut self, receiver: &Var, name: &str, args: Vec<Var>) -> R<Option<Flow>> {
        let receiver = self.realize(receiver)?;
        let class = self.type_of(&receiver)?;
        let Some(d) = self.class_lookup(&class, name)? else {
            return Ok(None);
        };
        if d.is_none(self.py) {
            return Ok(None);
        }
        let ty = d.bind(self.py).get_type();
        let k = self.known.clone();
        let mut all = vec![receiver.clone()];
        all.extend(args);
        if ty.is(k.function.bind(self.py)) {
            return self.call(&Var::py(d), Args::pos(all)).map(Some);
        }
        if ty.is(k.method_descriptor.bind(self.py)) || ty.is(k.wrapper_descriptor.bind(self.py)) {
            all.remove(0);
            return self
                .call_method_of(&receiver, &Arc::from(name), Args::pos(all))
                .map(Some);
        }
        if ty.is(k.staticmethod.bind(self.py)) {
            let f = Var::py(d.bind(self.py).getattr("__func__")?.unbind());
            all.remove(0);
            return self.call(&f, Args::pos(all)).map(Some);
        }
        if ty.is(k.classmethod.bind(self.py)) {
            let f = Var::py(d.bind(self.py).getattr("__func__")?.unbind());
            all[0] = Var::py(class);
            return self.call(&f, Args::pos(all)).map(Some);
        }
        if type_lookup(&ty, "__get__").is_some() {
            return Err(Stop::unsupported(format!("the descriptor of {name}")));
        }
        all.remove(0);
        self.call(&Var::py(d), Args::pos(all)).map(Some)
    }

    // ---- existing callables -----------------------------------------------------------------

    fn call_existing(&mut self, f: &Var, p: &Rc<PyVar>, mut args: Args) -> R<Flow> {
        let py = self.py;
        let k = self.known.clone();
        let b = p.obj.bind(py).clone();
        let ty = b.get_type();
        let is = |o: &Obj| ty.is(o.bind(py));
        if is(&k.function) {
            if let Some(flow) = self.marked_function(&b, &args)? {
                return Ok(flow);
            }
            if let Some(flow) = self.call_builtin(&p.obj, args.clone())? {
                return Ok(flow);
            }
            if self.is_graph_function(&b)? {
                return self.graph_call(&p.obj, args);
            }
            let callee = self.existing_callee(&b, p.source)?;
            return self.inline(callee, args, OnReturn::Push);
        }
        if let Ok(class) = b.cast::<PyType>() {
            if class.is(k.super_.bind(py)) {
                return self.make_super(args);
            }
            if let Some(flow) = self.call_builtin(&p.obj, args.clone())? {
                return Ok(flow);
            }
            return self.construct(&class.clone(), f, args);
        }
        if is(&k.builtin_function) || is(&k.method_wrapper) {
            if let Some(flow) = self.marked_function(&b, &args)? {
                return Ok(flow);
            }
            if let Some(flow) = self.call_builtin(&p.obj, args.clone())? {
                return Ok(flow);
            }
            if self.is_graph_function(&b)? {
                return self.graph_call(&p.obj, args);
            }
            if let Some(flow) = self.torch_state_call(&b, &args)? {
                return Ok(flow);
            }
            return Err(self.skipped(&b));
        }
        if is(&k.method_descriptor) || is(&k.wrapper_descriptor) {
            return self.call_unbound(&b, args);
        }
        if is(&k.partial) {
            let source = p.source;
            let part = |tx: &mut Self, n: &str| -> R<Var> {
                let v = b.getattr(n)?.unbind();
                match source {
                    Some(base) => {
                        let s = tx.source(Source::Attr {
                            base,
                            name: n.into(),
                        });
                        tx.build(&v, s)
                    }
                    None => tx.from_const(v.bind(py).clone()),
                }
            };
            let (func, first, kw) = (
                part(self, "func")?,
                part(self, "args")?,
                part(self, "keywords")?,
            );
            let mut pos = self.iterate(&first)?;
            pos.append(&mut args.pos);
            let mut all: Vec<(Arc<str>, Var)> = self.keyword_items(&kw)?;
            for (n, v) in args.kw {
                match all.iter_mut().find(|(m, _)| *m == n) {
                    Some(slot) => slot.1 = v,
                    None => all.push((n, v)),
                }
            }
            return self.call(&func, Args { pos, kw: all });
        }
        if is(&k.staticmethod) {
            return self.call(&Var::py(b.getattr("__func__")?.unbind()), args);
        }
        if let Some(flow) = self.call_builtin(&p.obj, args.clone())? {
            return Ok(flow);
        }
        if self.is_graph_function(&b)? {
            return self.graph_call(&p.obj, args);
        }
        if ty
            .getattr("__module__")
            .is_ok_and(|m| m.to_string() == "ferrodyn._core")
            && let Ok(inner) = b.getattr("__wrapped__")
        {
            // An entry inside a compiled function: the outer choices hold.
            if b.getattr("_torchdynamo_disable")
                .is_ok_and(|d| d.is_truthy().unwrap_or(false))
            {
                return Err(crate::torch_ops::state_calls::disabled(&b));
            }
            return self.call(&Var::py(inner.unbind()), args);
        }
        let class = ty.clone().into_any().unbind();
        match self.class_lookup(&class, "__call__")? {
            Some(call) if call.bind(py).get_type().is(k.function.bind(py)) => {
                args.pos.insert(0, f.clone());
                self.call(&Var::py(call), args)
            }
            Some(_) => Err(self.skipped(&b)),
            None => {
                let name = self.class_name(&class);
                Err(self.raise("TypeError", &format!("'{name}' object is not callable")))
            }
        }
    }

    /// The break for a callable that is not looked into.
    pub fn skipped(&self, f: &Bound<'_, PyAny>) -> Stop {
        let name = crate::tx::qualified_name(f);
        let text = |n: &str| {
            f.getattr(n)
                .ok()
                .filter(|v| !v.is_none())
                .map(|v| v.to_string())
        };
        let short = text("__name__").unwrap_or_else(|| name.clone());
        let module = text("__module__").unwrap_or_else(|| "<unknown module>".into());
        let qualname = text("__qualname__").unwrap_or_else(|| short.clone());
        Stop::Break(Box::new(BreakReason {
            reason: "Attempted to call function marked as skipped".into(),
            explanation: format!(
                "`{name}` is not captured: it is implemented in C or has effects outside the graph, so it runs as plain Python between two graphs."
            ),
            hints: vec![
                format!("Avoid calling the function `{short}`."),
                format!(
                    "Move the call of `{short}` before or after the compiled function; if it is a pure tensor function, make it a custom operator (torch.library.custom_op)."
                ),
            ],
            context: format!(
                "module: {module}, qualname: {qualname}, skip reason: not a graph function and not inlined"
            ),
        }))
    }

    /// `dict.get(d, k)`, `object.__setattr__(o, n, v)`, `torch.Tensor.view(t, ...)`.
    fn call_unbound(&mut self, b: &Bound<'py, PyAny>, mut args: Args) -> R<Flow> {
        let name: String = b.getattr("__name__")?.extract()?;
        if args.pos.is_empty() {
            return Err(self.raise(
                "TypeError",
                &format!("unbound method {name}() needs an argument"),
            ));
        }
        let receiver = args.pos.remove(0);
        let receiver = self.realize(&receiver)?;
        let objclass = b.getattr("__objclass__")?;
        if objclass.is(self.known.object.bind(self.py)) {
            return self.object_method(&receiver, &name, args);
        }
        self.call_method_of(&receiver, &Arc::from(name), args)
    }

    /// Methods of `object` itself, called explicitly.
    fn object_method(&mut self, receiver: &Var, name: &str, mut args: Args) -> R<Flow> {
        match (name, args.pos.len()) {
            ("__init__", _) => Ok(Flow::Value(self.none())),
            ("__setattr__", 2) => {
                let value = args.pos.pop();
                let attr = self.attr_name(&args.pos[0].clone())?;
                match receiver {
                    Var::Obj(id) => {
                        let class = self.obj(*id).class.clone();
                        self.object_setattr(*id, &class, &attr, value)
                    }
                    _ => self.setattr(receiver, &attr, value),
                }
            }
            ("__delattr__", 1) => {
                let attr = self.attr_name(&args.pos[0].clone())?;
                match receiver {
                    Var::Obj(id) => {
                        let class = self.obj(*id).class.clone();
                        self.object_setattr(*id, &class, &attr, None)
                    }
                    _ => self.setattr(receiver, &attr, None),
                }
            }
            ("__getattribute__", 1) => {
                let attr = self.attr_name(&args.pos[0].clone())?;
                self.object_getattribute(receiver, &attr)
            }
            ("__eq__" | "__ne__", 1) => {
                let same = self.is_same(receiver, &args.pos[0].clone())?;
                if same {
                    Ok(Flow::Value(self.bool(name == "__eq__")))
                } else {
                    self.fold(|py| Ok(py.NotImplemented().into_bound(py)))
                        .map(Flow::Value)
                }
            }
            _ => Err(Stop::unsupported(format!("object.{name}"))),
        }
    }

    /// A constant string argument as an attribute name.
    ///
    /// # Errors
    /// `TypeError` for anything but a string.
    pub fn attr_name(&mut self, var: &Var) -> R<Arc<str>> {
        match self.realize(var)? {
            Var::Const(o) if o.bind(self.py).is_instance_of::<pyo3::types::PyString>() => {
                Ok(Arc::from(o.extract::<String>(self.py)?))
            }
            _ => Err(self.raise("TypeError", "attribute name must be string")),
        }
    }

    // ---- instances -------------------------------------------------------------------------------

    /// `cls(*args)`.
    fn construct(&mut self, class: &Bound<'py, PyType>, f: &Var, args: Args) -> R<Flow> {
        let py = self.py;
        let k = self.known.clone();
        let cls = class.clone().into_any().unbind();
        let meta = class.get_type();
        if !meta.is(k.type_.bind(py))
            && let Some(call) = type_lookup(&meta, "__call__")
            && call.bind(py).get_type().is(k.function.bind(py))
            && !crate::tx::qualified_name(meta.as_any()).starts_with("abc.")
        {
            let mut args = args;
            args.pos.insert(0, f.clone());
            if class.is_subclass(k.enum_.bind(py))? {
                return match self.constants(&args)? {
                    Some((pos, None)) => {
                        let pos = PyTuple::new(py, pos.into_iter().skip(1))?;
                        self.fold(|_| class.call1(pos)).map(Flow::Value)
                    }
                    _ => Err(Stop::unsupported("an enum look-up with a tracked value")),
                };
            }
            return self.call(&Var::py(call), args);
        }
        if class.is_subclass(k.tensor_base.bind(py))? {
            return self.construct_tensor(class, args);
        }
        let new = self.class_lookup(&cls, "__new__")?;
        let init = self.class_lookup(&cls, "__init__")?;
        let is_function = |o: &Option<Obj>| {
            o.as_ref()
                .is_some_and(|o| o.bind(py).get_type().is(k.function.bind(py)))
        };
        let new_function = new.as_ref().and_then(|n| {
            let b = n.bind(py);
            (b.get_type().is(k.staticmethod.bind(py)))
                .then(|| b.getattr("__func__").ok())
                .flatten()
        });
        let instance = if let Some(new) = new_function {
            let mut new_args = args.clone();
            new_args.pos.insert(0, Var::py(cls.clone()));
            let made = self.call_sync(&Var::py(new.unbind()), new_args)?;
            if !self.isinstance(&made, &Var::py(cls.clone()))? {
                return Ok(Flow::Value(made));
            }
            made
        } else {
            match self.allocate(class, &args)? {
                Some(v) => v,
                None => return self.construct_builtin_like(class, args),
            }
        };
        if is_function(&init) {
            let mut args = args;
            args.pos.insert(0, instance.clone());
            let init = init.expect("checked above");
            let callee = self.existing_callee(&init.bind(py).clone(), None)?;
            return self.inline(callee, args, OnReturn::PushInstance(instance));
        }
        let is_container =
            matches!(&instance, Var::Obj(id) if !matches!(self.obj(*id).body, Body::Plain));
        let takes_any = class.is_subclass(k.base_exception.bind(py))?;
        if is_container {
            self.call_method_of(&instance, &Arc::from("__init__"), args)?;
        } else if !(takes_any || args.pos.is_empty() && args.kw.is_empty()) {
            let own_new = new.as_ref().is_some_and(|n| {
                !n.is(k.object.getattr(py, "__new__").expect("object has __new__"))
            });
            if !own_new {
                let name = self.class_name(&cls);
                return Err(self.raise("TypeError", &format!("{name}() takes no arguments")));
            }
        }
        Ok(Flow::Value(instance))
    }

    /// `object.__new__`, and the allocation of subclasses of builtin containers and exceptions.
    /// `None` for other C base classes.
    pub fn allocate(&mut self, class: &Bound<'py, PyType>, args: &Args) -> R<Option<Var>> {
        let py = self.py;
        let k = self.known.clone();
        let cls = class.clone().into_any().unbind();
        let sub = |o: &Obj| class.is_subclass(o.bind(py)).unwrap_or(false);
        let body = if sub(&k.list) {
            Body::List(im::Vector::new())
        } else if sub(&k.dict) {
            Body::Dict(variables::OrderedMap::default())
        } else if sub(&k.set) {
            Body::Set(variables::OrderedMap::default())
        } else if sub(&k.base_exception) {
            let id = self.new_object(cls, Body::Plain);
            let tuple = Var::tuple(args.pos.clone());
            self.st
                .effects
                .write_attr(id, &Arc::from("args"), Some(tuple));
            return Ok(Some(Var::Obj(id)));
        } else if self.is_plain_layout(class)? {
            if class.hasattr("__abstractmethods__")?
                && class.getattr("__abstractmethods__")?.len().unwrap_or(0) > 0
            {
                return Err(Stop::unsupported("making an instance of an abstract class"));
            }
            Body::Plain
        } else {
            return Ok(None);
        };
        Ok(Some(Var::Obj(self.new_object(cls, body))))
    }

    /// Whether instances of a class are laid out like `object` (dict, weakrefs and slots aside).
    fn is_plain_layout(&self, class: &Bound<'py, PyType>) -> R<bool> {
        for c in class.mro().iter() {
            let t = c.cast::<PyType>().map_err(PyErr::from)?;
            if !is_heap_type(t)
                && !t.is(self.known.object.bind(self.py))
                && !crate::tx::qualified_name(t.as_any()).starts_with("typing.")
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Classes with a C layout of their own (named tuples, str subclasses, C extension types).
    fn construct_builtin_like(&mut self, class: &Bound<'py, PyType>, args: Args) -> R<Flow> {
        if class.is_subclass(self.known.tuple.bind(self.py))?
            && class.hasattr("n_sequence_fields")?
        {
            let items = match args.pos.first() {
                Some(first) => self.iterate(&first.clone())?,
                None => Vec::new(),
            };
            let class = Some(class.clone().into_any().unbind());
            return Ok(Flow::Value(Var::Tuple(Rc::new(variables::TupleVar {
                items,
                class,
                origin: None,
            }))));
        }
        if class.is(self.known.size.bind(self.py)) {
            let items = match args.pos.first() {
                Some(first) => self.iterate(&first.clone())?,
                None => Vec::new(),
            };
            for item in &items {
                if !matches!(self.realize(item)?, Var::Const(_)) {
                    return Err(self.skipped(class.as_any()));
                }
            }
            let class = Some(class.clone().into_any().unbind());
            return Ok(Flow::Value(Var::Tuple(Rc::new(variables::TupleVar {
                items,
                class,
                origin: None,
            }))));
        }
        if let Some(flow) = self.const_type_call(class, &args)? {
            return Ok(flow);
        }
        Err(self.skipped(class.as_any()))
    }

    /// `torch.device(...)`, `torch.Size(...)` and the like, of constants.
    fn const_type_call(&mut self, class: &Bound<'py, PyType>, args: &Args) -> R<Option<Flow>> {
        if !self.known.is_const_type(class.as_any()) {
            return Ok(None);
        }
        match self.constants(args)? {
            Some((pos, kw)) => {
                let class = class.clone();
                let py = self.py;
                self.fold(|_| class.call(PyTuple::new(py, pos)?, kw.as_ref()))
                    .map(|v| Some(Flow::Value(v)))
            }
            None => Ok(None),
        }
    }

    /// The arguments as real objects, if all of them are constants.
    ///
    /// # Errors
    /// As [`Tx::realize`].
    pub fn constants(&mut self, args: &Args) -> R<Option<Constants<'py>>> {
        let mut pos = Vec::with_capacity(args.pos.len());
        for v in &args.pos {
            match self.as_const(v)? {
                Some(o) => pos.push(o),
                None => return Ok(None),
            }
        }
        if args.kw.is_empty() {
            return Ok(Some((pos, None)));
        }
        let kw = PyDict::new(self.py);
        for (n, v) in &args.kw {
            match self.as_const(v)? {
                Some(o) => kw.set_item(&**n, o)?,
                None => return Ok(None),
            }
        }
        Ok(Some((pos, Some(kw))))
    }

    /// `super()` and `super(class, obj)`.
    fn make_super(&mut self, args: Args) -> R<Flow> {
        let (after, receiver) = match args.pos.as_slice() {
            [after, receiver] => (self.realize(after)?, self.realize(receiver)?),
            [] => {
                let frame = self.st.frame.clone();
                let i = frame
                    .code
                    .local_names
                    .iter()
                    .position(|n| &**n == "__class__");
                let cell = i.and_then(|i| frame.locals[i].clone());
                let first = frame.locals.front().cloned().flatten();
                let (Some(cell), Some(first)) = (cell, first) else {
                    return Err(self.raise("RuntimeError", "super(): no arguments"));
                };
                let class = self.cell_contents(&cell)?;
                let first = match &first {
                    Var::Obj(id) if matches!(self.obj(*id).body, Body::Cell(_)) => {
                        self.cell_contents(&first)?
                    }
                    _ => first,
                };
                (class, self.realize(&first)?)
            }
            _ => return Err(Stop::unsupported("super() of one argument")),
        };
        Ok(Flow::Value(self.super_of(&after, &receiver)?))
    }

    /// The `super` object of a class and a receiver.
    ///
    /// # Errors
    /// As [`Tx::realize`].
    pub fn super_of(&mut self, after: &Var, receiver: &Var) -> R<Var> {
        let after = self.realize(after)?;
        let receiver = self.realize(receiver)?;
        let Some(after) = after.as_obj().cloned() else {
            return Err(self.raise("TypeError", "super() argument 1 must be a type"));
        };
        let start = match &receiver {
            Var::Py(p)
                if p.obj
                    .bind(self.py)
                    .cast::<PyType>()
                    .is_ok_and(|t| t.is_subclass(after.bind(self.py)).unwrap_or(false)) =>
            {
                p.obj.clone()
            }
            other => self.type_of(other)?,
        };
        Ok(Var::Super(Rc::new(SuperVar {
            after,
            start,
            receiver,
        })))
    }

    /// What a cell holds.
    ///
    /// # Errors
    /// `NameError` for an empty cell.
    pub fn cell_contents(&mut self, cell: &Var) -> R<Var> {
        let cell = self.realize(cell)?;
        let Var::Obj(id) = &cell else {
            return Err(Stop::Internal("not a cell".into()));
        };
        match self.obj(*id).body.clone() {
            Body::Cell(Some(v)) => self.realize(&v),
            Body::Cell(None) => Err(self.raise("NameError", "cannot access free variable where it is not associated with a value in enclosing scope")),
            _ => Err(Stop::Internal("not a cell".into())),
        }
    }

    // ---- inlining ----------------------------------------------------------------------------------

    fn new_function_callee(&mut self, f: &variables::FuncVar) -> R<Callee> {
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
        })
    }

    /// What inlining an existing function needs; guards what it looks at.
    fn existing_callee(&mut self, b: &Bound<'py, PyAny>, source: Option<SourceId>) -> R<Callee> {
        let code = b.getattr("__code__")?.unbind();
        let library = is_library(b);
        let base = |tx: &mut Self| match source {
            Some(s) => s,
            None => tx.pinned_source(&b.clone().unbind(), true, "function"),
        };
        if !library {
            let s = base(self);
            let code_source = self.source(Source::FuncCode { base: s });
            let r = self.pin(&code, false);
            self.guard(code_source, GuardKind::IdMatch { obj: r });
        }
        let mut defaults = Vec::new();
        if let Ok(t) = b.getattr("__defaults__")?.cast::<PyTuple>() {
            let s = base(self);
            let tuple_source = self.source(Source::FuncDefaults { base: s });
            if !library {
                self.guard(tuple_source, GuardKind::SequenceLength { len: t.len() });
            }
            for (i, v) in t.iter().enumerate() {
                let item = self.source(Source::TupleItem {
                    base: tuple_source,
                    index: i as u32,
                });
                defaults.push(self.default_value(v, item, library)?);
            }
        }
        let mut kwdefaults = Vec::new();
        if let Ok(d) = b.getattr("__kwdefaults__")?.cast::<PyDict>() {
            let s = base(self);
            let dict_source = self.source(Source::FuncKwDefaults { base: s });
            for (k, v) in d.iter() {
                let name: String = k.extract()?;
                let item = self.source(Source::DictItem {
                    base: dict_source,
                    key: guards::Key::str(&name),
                });
                kwdefaults.push((Arc::from(name), self.default_value(v, item, library)?));
            }
        }
        let mut closure = Vec::new();
        if let Ok(t) = b.getattr("__closure__")?.cast::<PyTuple>() {
            let s = base(self);
            let tuple_source = self.source(Source::FuncClosure { base: s });
            for (i, c) in t.iter().enumerate() {
                let item = self.source(Source::TupleItem {
                    base: tuple_source,
                    index: i as u32,
                });
                closure.push(self.build(&c.unbind(), item)?);
            }
        }
        let dict = b.getattr("__globals__")?.unbind();
        let globals = self.globals_of(dict);
        Ok(Callee {
            code,
            globals,
            defaults,
            kwdefaults,
            closure,
        })
    }

    fn default_value(&mut self, v: Bound<'py, PyAny>, source: SourceId, library: bool) -> R<Var> {
        if library && self.known.is_const_type(v.get_type().as_any()) {
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

    fn inline(&mut self, callee: Callee, args: Args, on_return: OnReturn) -> R<Flow> {
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
        let locals = bind(self, &sig, args)?;
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
            generator: None,
            parent: Some(Rc::new(parent)),
            depth,
        };
        if code.has(flags::GENERATOR) {
            frame.parent = None;
            frame.on_return = OnReturn::Nested;
            let class = self.known.generator.clone();
            let body = Body::Generator(Rc::new(GeneratorState {
                frame: Some(frame),
                started: false,
            }));
            let id = self.new_object(class, body);
            return Ok(Flow::Value(Var::Obj(id)));
        }
        self.st.frame = frame;
        Ok(Flow::Pushed)
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
                _ => return Err(self.raise("TypeError", "keywords must be strings")),
            }
        }
        Ok(out)
    }

    // ---- generators -----------------------------------------------------------------------------------

    /// Runs a generator to its next `yield`; `None` when it returned.
    ///
    /// # Errors
    /// What its body raises; a break inside breaks the instruction that advances it.
    pub fn generator_next(&mut self, generator: &Var, sent: Option<Var>) -> R<Option<Var>> {
        match self.generator_resume(generator, sent)? {
            Yielded::Value(v) => Ok(Some(v)),
            Yielded::Return(_) => Ok(None),
        }
    }

    /// As [`Tx::generator_next`], with the return value.
    ///
    /// # Errors
    /// As [`Tx::generator_next`].
    pub fn generator_resume(&mut self, generator: &Var, sent: Option<Var>) -> R<Yielded> {
        let Var::Obj(id) = generator else {
            return Err(Stop::unsupported("a generator from outside"));
        };
        let id = *id;
        let Body::Generator(state) = self.obj(id).body.clone() else {
            return Err(Stop::unsupported("a generator from outside"));
        };
        let state = state
            .downcast::<GeneratorState>()
            .map_err(|_| Stop::Internal("generator state".into()))?;
        let Some(mut frame) = state.frame.clone() else {
            return Ok(Yielded::Return(self.none()));
        };
        if state.started {
            let sent = sent.unwrap_or_else(|| self.none());
            frame.stack.push_back(sent);
            frame.ip += 1;
        }
        let running = Body::Generator(Rc::new(GeneratorState {
            frame: None,
            started: true,
        }));
        self.st.effects.get_mut(id).body = running;
        frame.depth = self.st.frame.depth + 1;
        frame.generator = Some(id);
        frame.on_return = OnReturn::Nested;
        frame.parent = Some(Rc::new(self.st.frame.clone()));
        self.st.frame = frame;
        self.yielded = None;
        let result = self.run_nested()?;
        match self.yielded.take() {
            Some(v) => Ok(Yielded::Value(v)),
            None => Ok(Yielded::Return(result)),
        }
    }

    /// Suspends the running generator frame at its `yield`.
    pub(crate) fn generator_yield(&mut self, value: Var) -> R<()> {
        let frame = self.st.frame.clone();
        let (Some(id), Some(parent)) = (frame.generator, frame.parent.clone()) else {
            return Err(Stop::Internal("yield outside a generator".into()));
        };
        let body = Body::Generator(Rc::new(GeneratorState {
            frame: Some(Frame {
                parent: None,
                ..frame
            }),
            started: true,
        }));
        self.st.effects.get_mut(id).body = body;
        self.st.frame = (*parent).clone();
        self.yielded = Some(value);
        Ok(())
    }

    /// Whether a value is a tracked generator, or an existing object otherwise.
    pub fn is_generator(&self, var: &Var) -> bool {
        matches!(var, Var::Obj(id) if matches!(self.obj(*id).body, Body::Generator(_)))
    }

    /// The real object of an existing tracked object.
    pub fn real(&self, var: &Var) -> Option<Obj> {
        match var {
            Var::Obj(id) => match &self.obj(*id).origin {
                Origin::Source { obj, .. } => Some(obj.clone()),
                _ => None,
            },
            Var::Tensor(t) => t.input.as_ref().map(|i| i.obj.clone()),
            Var::Py(p) => Some(p.obj.clone()),
            Var::Const(o) => Some(o.clone()),
            _ => None,
        }
    }
}

/// What advancing a generator gave.
pub enum Yielded {
    /// a value
    Value(Var),
    /// it returned
    Return(Var),
}

/// A suspended generator; replaced, never changed, so that snapshots keep theirs.
pub struct GeneratorState {
    /// the frame; `None` while it runs and once it has finished
    pub frame: Option<Frame>,
    /// whether it has run at all
    pub started: bool,
}

/// Whether a function belongs to an installed package or the standard library.
pub fn is_library(f: &Bound<'_, PyAny>) -> bool {
    let Ok(file) = f
        .getattr("__code__")
        .and_then(|c| c.getattr("co_filename"))
        .and_then(|n| n.extract::<String>())
    else {
        return false;
    };
    is_library_file(&file)
}

/// Whether a file belongs to an installed package or the standard library.
pub fn is_library_file(file: &str) -> bool {
    file.contains("/site-packages/")
        || file.contains("/lib/python3.")
        || file.starts_with("<frozen ")
}
