//! Calls: which of the four ways a callable goes, and the inlining of Python functions.
//!
//! Lives here: dispatch by the kind of callable, construction of instances, argument binding's
//! result put into a new frame, generators, nested runs.
//! Does not live here: binding itself (`bind`), builtins, methods of builtin types, tensor ops.

mod generators;
mod inlining;
mod instances;
pub mod modules;

use std::rc::Rc;
use std::sync::Arc;

use guards::{Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::PyType;
use variables::{Body, Obj, PyVar, Var};

use crate::raw::{printed_name, type_lookup};
use crate::state::{Globals, OnReturn};
use crate::stop::{BreakReason, R, Stop};
use crate::torch_ops::function_modes::Asked;
use crate::tx::{Args, Flow, Tx};

/// Deepest inlining; beyond it the call is left to Python, which raises `RecursionError` in time.
pub(crate) const MAX_DEPTH: u32 = 200;

/// Arguments as real objects: positional, and keywords where there are any.
pub type Constants<'py> = crate::real::RealArgs<'py, Obj>;

/// A function about to be inlined.
pub struct Callee {
    /// its code object
    pub code: Obj,
    /// the globals that it runs in
    pub globals: Globals,
    /// defaults of the last parameters that may be given by position
    pub defaults: Vec<Var>,
    /// defaults of parameters that are given by name only
    pub kwdefaults: Vec<(Arc<str>, Var)>,
    /// cells of its free variables, in their order
    pub closure: Vec<Var>,
    /// where the function comes from, if it was there before
    pub(crate) source: Option<SourceId>,
    /// the function itself, if it was there before
    pub(crate) function: Option<Obj>,
    /// the `__name__` and `__qualname__` that a generator gets, where the code's may not be right
    pub(crate) names: Option<[Var; 2]>,
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
            Var::Obj(id) if let Body::Result(made) = &self.obj(*id).body => {
                let made = made.clone();
                match made.function.is(&self.known.weakref) {
                    true => (self.rules.builtins.new_referent)(self, &made, args),
                    false => (self.rules.torch.call_compiled)(self, &made, args),
                }
            }
            Var::Obj(id) => {
                let class = self.obj(*id).class.clone();
                if class.is(&self.known.script_function) {
                    // A mode does not see what it runs.
                    self.not_seen_with("a scripted function", &args)?;
                    if let Some(function) = self.scripted(&f, &args)? {
                        return self.call(&function, args);
                    }
                }
                match self.class_lookup(&class, "__call__")? {
                    Some(call) => {
                        let is_module = call.is(&self.known.module_call);
                        if is_module {
                            self.check_module_call(*id, &args)?;
                        }
                        let flow = self.call_found(&f, &call, "__call__", args)?;
                        if let (true, Flow::Pushed) = (is_module, &flow) {
                            self.note_module(*id);
                        }
                        Ok(flow)
                    }
                    None => {
                        let name = self.class_name(&class);
                        Err(self.raise("TypeError", &format!("'{name}' object is not callable")))
                    }
                }
            }
            Var::Tensor(_) => Err(self.raise("TypeError", "'Tensor' object is not callable")),
            Var::Const(_) | Var::Int(_) | Var::Float(_) | Var::Tuple(_) | Var::Slice(_) => {
                let class = self.type_of(&f)?;
                let name = self.class_name(&class);
                Err(self.raise("TypeError", &format!("'{name}' object is not callable")))
            }
            Var::Super(_)
            | Var::Null
            | Var::Handled(_)
            | Var::Lazy(_)
            | Var::Computed(_)
            | Var::Text(_) => Err(Stop::Internal("call of NULL".into())),
        }
    }

    /// A method of a value of builtin type, by name.
    pub fn call_method_of(&mut self, receiver: &Var, name: &Arc<str>, args: Args) -> R<Flow> {
        if &**name == "get"
            && let (1 | 2, true) = (args.pos.len(), args.kw.is_empty())
            && let Some(found) = self.peek_item(receiver, &args.pos[0])?
        {
            let default = args.pos.get(1).cloned();
            return Ok(Flow::Value(
                found.or(default).unwrap_or_else(|| self.none()),
            ));
        }
        if let (Var::Lazy(l), "append", [item]) = (receiver, &**name, &args.pos[..])
            && args.kw.is_empty()
            && self.append_blindly(l, item)
        {
            return Ok(Flow::Value(self.none()));
        }
        if let Some(v) = self.compute_method(receiver, name, &args)? {
            return Ok(Flow::Value(v));
        }
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
        let args = Args::pos(args);
        self.call_found(&receiver, &d, name, args).map(Some)
    }

    /// Calls what a class has under the name of a special method, bound as Python binds it.
    fn call_found(&mut self, receiver: &Var, d: &Obj, name: &str, mut args: Args) -> R<Flow> {
        let (b, k) = (d.bind(self.py), self.known.clone());
        let ty = b.get_type();
        let is_class = ty.is(k.classmethod.bind(self.py));
        if is_class || ty.is(k.staticmethod.bind(self.py)) {
            if is_class {
                args.pos.insert(0, Var::py(self.type_of(receiver)?));
            }
            return self.call(&Var::py(b.getattr("__func__")?.unbind()), args);
        }
        let is_c =
            ty.is(k.method_descriptor.bind(self.py)) || ty.is(k.wrapper_descriptor.bind(self.py));
        // A class may give a C method another name: `__call__ = dict.get`.
        if is_c && !self.is_renamed(d, name)? {
            return self.call_method_of(receiver, &Arc::from(name), args);
        }
        if is_c || ty.is(k.function.bind(self.py)) || is_entry_type(&ty) {
            args.pos.insert(0, receiver.clone());
        } else if type_lookup(&ty, "__get__").is_some() {
            return Err(self.skipped(b));
        }
        self.call(&Var::py(d.clone()), args)
    }

    /// The Python function that `torch.jit.script` has compiled, where it does the same with these
    /// arguments: the compiled one makes floats of ints.
    fn scripted(&mut self, f: &Var, args: &Args) -> R<Option<Var>> {
        let function = self.getattr_sync(f, &"_torchdynamo_inline".into())?;
        let function = self.realize(&function)?;
        let Var::Py(p) = &function else {
            return Ok(None);
        };
        let p = p.obj.bind(self.py);
        let names: Vec<String> = p.getattr("__code__")?.getattr("co_varnames")?.extract()?;
        // Annotations that are made when they are asked for may not be possible to make.
        let annotations = p.getattr("__annotations__").ok();
        let named = args.kw.iter().map(|(name, v)| (Some(&**name), v));
        let names = names
            .iter()
            .map(|n| Some(&**n))
            .chain(std::iter::repeat(None));
        for (name, v) in names.zip(&args.pos).chain(named) {
            let class = self.type_of(v)?;
            let says_int = || {
                let annotation = annotations.as_ref().map(|all| all.get_item(name));
                annotation.is_some_and(|a| a.is_ok_and(|a| a.is(&class)))
            };
            if class.is(&self.known.int) && !says_int() {
                return Ok(None);
            }
        }
        Ok(Some(function))
    }

    // ---- existing callables -----------------------------------------------------------------

    pub(crate) fn call_existing(&mut self, f: &Var, p: &Rc<PyVar>, mut args: Args) -> R<Flow> {
        let b = p.obj.bind(self.py).clone();
        (self.rules.torch.make_on_entered_device)(self, &b, &mut args)?;
        if !(self.rules.torch.is_asked_about)(self, &b, &args)? {
            return self.call_unasked(f, p, args);
        }
        match (self.rules.torch.ask)(self, &b, &args)? {
            Asked::Answer(v) => Ok(Flow::Value(v)),
            Asked::Unseen => self.without_modes(|tx| tx.call_unasked(f, p, args)),
            Asked::Within => {
                let callee = self.existing_callee(&b, p.source)?;
                self.inline(callee, args, OnReturn::Push)
            }
        }
    }

    /// Calls what no function mode of the program is asked about.
    fn call_unasked(&mut self, f: &Var, p: &Rc<PyVar>, mut args: Args) -> R<Flow> {
        let py = self.py;
        let k = self.known.clone();
        let b = p.obj.bind(py).clone();
        let ty = b.get_type();
        let is = |o: &Obj| ty.is(o.bind(py));
        if is(&k.function) {
            if let Some(flow) = self.call_builtin(&p.obj, args.clone())? {
                return Ok(flow);
            }
            if let Some(flow) = (self.rules.torch.marked_function)(self, &b, p.source, &args)? {
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
            if let Some(flow) = (self.rules.torch.marked_function)(self, &b, p.source, &args)? {
                return Ok(flow);
            }
            if let Some(flow) = self.call_builtin(&p.obj, args.clone())? {
                return Ok(flow);
            }
            if is(&k.method_wrapper)
                && let Some(flow) = (self.rules.torch.tensor_accessor)(self, &b, &args)?
            {
                return Ok(flow);
            }
            if self.is_graph_function(&b)? {
                return self.graph_call(&p.obj, args);
            }
            if let Some(flow) = (self.rules.torch.state_call)(self, &b, &args)? {
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
        if is_entry_type(&ty)
            && let Ok(inner) = b.getattr("__wrapped__")
        {
            // An entry inside a compiled function: the outer choices hold.
            if b.getattr("_torchdynamo_disable")
                .is_ok_and(|d| d.is_truthy().unwrap_or(false))
            {
                return Err(crate::torch_ops::marks::disabled(&b));
            }
            if inner.get_type().is(k.method.bind(py)) {
                // An entry keeps what it wraps, so its own identity stands for that of the instance.
                let receiver = inner.getattr("__self__")?.unbind();
                let source = self.pinned_source(&receiver, true, "___compiled_self");
                let receiver = self.build(&receiver, source)?;
                args.pos.insert(0, receiver);
                return self.call(&Var::py(inner.getattr("__func__")?.unbind()), args);
            }
            return self.call(&Var::py(inner.unbind()), args);
        }
        let class = ty.clone().into_any().unbind();
        match self.class_lookup(&class, "__call__")? {
            Some(call)
                if call.bind(py).get_type().is(k.function.bind(py))
                    || is_entry_type(&call.bind(py).get_type()) =>
            {
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
                "`{name}` is not captured: it is implemented in C or has effects outside the graph, so it runs in eager mode between two graphs."
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
            ..BreakReason::default()
        }))
    }

    /// `dict.get(d, k)`, `object.__setattr__(o, n, v)`, `torch.Tensor.view(t, ...)`.
    pub(crate) fn call_unbound(&mut self, b: &Bound<'py, PyAny>, mut args: Args) -> R<Flow> {
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
        if !matches!(receiver, Var::Tensor(_)) {
            self.own_descriptor(b, &objclass, &name, &receiver)?;
        }
        self.call_method_of(&receiver, &Arc::from(name), args)
    }

    /// Makes sure that a method of a C class is the one that its name stands for in C: rules know
    /// methods by name, and `dict.copy` of an `OrderedDict` is not `OrderedDict.copy`.
    ///
    /// # Errors
    /// `TypeError` where the method takes no such receiver; a break where it is another.
    fn own_descriptor(
        &mut self,
        method: &Bound<'py, PyAny>,
        objclass: &Bound<'py, PyAny>,
        name: &str,
        receiver: &Var,
    ) -> R<()> {
        let py = self.py;
        let class = self.type_of(receiver)?;
        let (Ok(class), Ok(owner)) = (class.bind(py).cast::<PyType>(), objclass.cast::<PyType>())
        else {
            return Ok(());
        };
        let is_method = |d: &Bound<'_, PyAny>| {
            let k = &self.known;
            let ty = d.get_type();
            ty.is(k.method_descriptor.bind(py)) || ty.is(k.wrapper_descriptor.bind(py))
        };
        for c in class.mro().iter() {
            match c.getattr("__dict__")?.get_item(name) {
                Ok(found) if found.is(method) => return Ok(()),
                Ok(found) if is_method(&found) => {
                    return Err(Stop::unsupported(format!(
                        "{}.{name} of {}",
                        printed_name(owner),
                        self.describe(receiver)
                    )));
                }
                _ => {}
            }
        }
        let (owner, given) = (printed_name(owner), printed_name(class));
        let message = if method.get_type().is(self.known.method_descriptor.bind(py)) {
            format!("descriptor '{name}' for '{owner}' objects doesn't apply to a '{given}' object")
        } else {
            format!("descriptor '{name}' requires a '{owner}' object but received a '{given}'")
        };
        Err(self.raise("TypeError", &message))
    }

    /// Methods of `object` itself, called explicitly.
    pub(crate) fn object_method(&mut self, receiver: &Var, name: &str, mut args: Args) -> R<Flow> {
        match (name, args.pos.len()) {
            ("__init__", 0) if args.kw.is_empty() => Ok(Flow::Value(self.none())),
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
            ("__eq__", 1) => Ok(Flow::Value(
                match self.is_same(receiver, &args.pos[0].clone())? {
                    true => self.bool(true),
                    false => Var::Const(self.py.NotImplemented()),
                },
            )),
            ("__ne__", 1) => {
                let equal = self.special_sync(receiver, "__eq__", args.pos)?;
                if self.is_not_implemented(&equal) {
                    return Ok(Flow::Value(equal));
                }
                let equal = self.truth(&equal)?;
                Ok(Flow::Value(self.bool(!equal)))
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
            other => {
                if let Some(text) = self.plain_text(&other) {
                    return self.attr_name(&Var::Const(text));
                }
                let name = self.type_name(&other)?;
                Err(self.raise(
                    "TypeError",
                    &format!("attribute name must be string, not '{name}'"),
                ))
            }
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

/// Whether a type is one of the native module's: of functions that were compiled.
fn is_entry_type(ty: &Bound<'_, PyType>) -> bool {
    ty.getattr("__module__")
        .is_ok_and(|m| m.to_string() == "ferrodyn._core")
}
