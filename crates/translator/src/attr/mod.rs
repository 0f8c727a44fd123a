//! Attribute access, as `object.__getattribute__` and `object.__setattr__` have it.
//!
//! Lives here: the order of data descriptors, instance dict, class attributes and `__getattr__`;
//! attributes of functions, classes, modules (the Python kind) and `super` objects.
//! Does not live here: attributes of tensors (`torch_ops`) and of `nn.Module`s (`module_attr`).

mod existing;
mod held;
pub(crate) mod instance_dict;
pub(crate) mod native;
mod special;
mod store;

pub(crate) use existing::{absent, absent_key};
pub use native::named_tuple_field;

use std::rc::Rc;
use std::sync::Arc;

use guards::{GuardKind, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::PyType;
use variables::{Body, MethodVar, Obj, ObjId, Var};

use crate::raw::{derives_from, dict_get, instance_dict, type_lookup};
use crate::state::LookUp;
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

/// How a class attribute behaves when it is read through an instance.
pub enum Descriptor {
    /// a Python function
    Function,
    /// `property`
    Property,
    /// a slot
    Member,
    /// a C getter
    GetSet,
    /// `staticmethod`
    Static,
    /// `classmethod`
    Class,
    /// a method of a C type
    BuiltinMethod,
    /// defines `__get__` in Python; whether it also defines `__set__`
    User(bool),
    /// no descriptor
    Value,
}

impl<'py> Tx<'py> {
    /// Breaks in front of an attribute of what `torch.compile`, or a node of the graph, gave in the compiled
    /// function.
    ///
    /// # Errors
    /// A break, for such an object.
    pub(super) fn no_call_result(&self, id: ObjId, name: &Arc<str>) -> R<()> {
        let state = self.obj(id);
        // What is inherited says nothing of the object itself.
        let is_handle = state.class.is(&self.known.removable_handle);
        match &state.body {
            Body::Result(_) | Body::OfNode(_)
                if is_handle && state.class.bind(self.py).hasattr(&**name)? =>
            {
                Ok(())
            }
            Body::Result(_) | Body::OfNode(_) => Err(Stop::unsupported(format!(
                "attribute {name} of what a call in the compiled function gives"
            ))),
            Body::RaggedSize(..) => {
                Err(Stop::unsupported("the size of rows that differ in length"))
            }
            _ => Ok(()),
        }
    }

    /// `obj.name`: follows `object.__getattribute__`, descriptors and `__getattr__`.
    ///
    /// # Errors
    /// `AttributeError` as Python raises it; a break where the access can't be followed.
    pub fn getattr(&mut self, obj: &Var, name: &Arc<str>) -> R<Flow> {
        if &**name == "get" && (self.is_unseen_dict(obj) || self.is_unseen_large(obj)) {
            return Ok(Flow::Value(Var::BuiltinMethod(Rc::new((
                obj.clone(),
                name.clone(),
            )))));
        }
        if self.changing_method(obj, name).is_some() {
            let method = Var::BuiltinMethod(Rc::new((obj.clone(), name.clone())));
            return Ok(Flow::Value(method));
        }
        let obj = self.realize(obj)?;
        match &obj {
            Var::Tensor(t) => self.tensor_attr(t, &obj, name),
            Var::Const(o) => self.const_attr(&obj, o, name),
            Var::Obj(id) => {
                self.no_call_result(*id, name)?;
                if self.array_id(&obj).is_some()
                    && let Some(flow) = (self.rules.arrays.attribute)(self, *id, name)?
                {
                    return Ok(flow);
                }
                let class = self.obj(*id).class.clone();
                self.instance_attr(&obj, &class, name)
            }
            Var::Super(s) => self.super_attr(&s.clone(), name),
            Var::Method(m) => match &**name {
                "__func__" => Ok(Flow::Value(m.func.clone())),
                "__self__" => Ok(Flow::Value(m.receiver.clone())),
                _ => self.getattr(&m.func.clone(), name),
            },
            Var::BuiltinMethod(m) => match &**name {
                "__self__" => Ok(Flow::Value(m.0.clone())),
                "__name__" | "__qualname__" => Ok(Flow::Value(self.str(&m.1))),
                _ => Err(Stop::unsupported(format!(
                    "attribute {name} of a builtin method"
                ))),
            },
            Var::Func(f) => self.new_function_attr(&obj, &f.clone(), name),
            Var::Tuple(_) | Var::Slice(_) => {
                let class = self.type_of(&obj)?;
                self.instance_attr(&obj, &class, name)
            }
            Var::Py(p) => self.existing_attr(&obj, &p.clone(), name),
            Var::Null
            | Var::Handled(_)
            | Var::Lazy(_)
            | Var::Int(_)
            | Var::Float(_)
            | Var::Computed(_)
            | Var::Text(_) => Err(Stop::Internal("attribute of NULL".into())),
        }
    }

    /// The same, running pushed frames to their end.
    ///
    /// # Errors
    /// As [`Tx::getattr`].
    pub fn getattr_sync(&mut self, obj: &Var, name: &Arc<str>) -> R<Var> {
        let flow = self.getattr(obj, name)?;
        self.finish_flow(flow)
    }

    /// `hasattr(obj, name)`.
    ///
    /// # Errors
    /// A break where the access can't be followed; exceptions other than `AttributeError`.
    pub fn hasattr(&mut self, obj: &Var, name: &Arc<str>) -> R<bool> {
        match self.getattr_sync(obj, name) {
            Ok(_) => Ok(true),
            Err(Stop::Raise(e)) => {
                let class = self.type_of(&e)?;
                let attribute_error = self.known.attribute_error.clone();
                let sub = class
                    .bind(self.py)
                    .cast::<PyType>()
                    .map_err(PyErr::from)?
                    .is_subclass(attribute_error.bind(self.py))?;
                if sub { Ok(false) } else { Err(Stop::Raise(e)) }
            }
            Err(e) => Err(e),
        }
    }

    /// What the MRO of a class holds for a name (no descriptor bound), guarded.
    ///
    /// # Errors
    /// [`Stop::Internal`] where `class` is no class.
    pub fn class_lookup(&mut self, class: &Obj, name: &str) -> R<Option<Obj>> {
        let ty = class
            .bind(self.py)
            .cast::<PyType>()
            .map_err(PyErr::from)?
            .clone();
        self.not_written_on_class(class, name)?;
        let found = type_lookup(&ty, name);
        if is_heap_type(&ty) {
            let source = self.class_source(class);
            let value = found.as_ref().map(|f| self.pin(f, false));
            self.guard(
                source,
                GuardKind::MroAttr {
                    name: name.into(),
                    value,
                },
            );
        }
        Ok(found)
    }

    /// The source of a class that the compiled code holds.
    pub fn class_source(&mut self, class: &Obj) -> SourceId {
        let name = self.class_name(class);
        self.pinned_source(class, true, &name)
    }

    /// As [`Tx::descriptor`]; holds the class of a value that user code may make a descriptor of
    /// to what it is now.
    pub fn guarded_descriptor(&mut self, class: &Obj, name: &str, d: &Obj) -> R<Descriptor> {
        let kind = self.descriptor(d);
        if !matches!(kind, Descriptor::Value | Descriptor::User(_)) {
            return Ok(kind);
        }
        let ty = d.bind(self.py).get_type();
        if is_heap_type(&ty) && is_heap_type(class.bind(self.py).cast().map_err(PyErr::from)?) {
            let base = self.class_source(class);
            let source = self.source(Source::MroAttr {
                base,
                name: name.into(),
            });
            self.guard_type(d.bind(self.py), source);
            let ty = ty.into_any().unbind();
            for method in ["__get__", "__set__", "__delete__"] {
                self.class_lookup(&ty, method)?;
            }
        }
        Ok(kind)
    }

    /// How an attribute that was found in a class behaves when it is read through an instance. A bound method, which
    /// some Pythons give a `__get__`, stays what it is.
    pub fn descriptor(&self, d: &Obj) -> Descriptor {
        let py = self.py;
        let k = &self.known;
        let b = d.bind(py);
        let ty = b.get_type();
        let is = |o: &Obj| ty.is(o.bind(py));
        if is(&k.method_descriptor) || is(&k.wrapper_descriptor) {
            Descriptor::BuiltinMethod
        } else if binds_as_function(&ty) {
            Descriptor::Function
        } else if is(&k.property) {
            Descriptor::Property
        } else if is(&k.member_descriptor) || ty.name().is_ok_and(|n| n == "_tuplegetter") {
            Descriptor::Member
        } else if is(&k.getset_descriptor) {
            Descriptor::GetSet
        } else if is(&k.staticmethod) {
            Descriptor::Static
        } else if is(&k.classmethod) || is(&k.classmethod_descriptor) {
            Descriptor::Class
        } else if derives_from(b, k.property.bind(py))
            && type_lookup(&ty, "__get__")
                .is_some_and(|g| g.bind(py).get_type().is(k.wrapper_descriptor.bind(py)))
        {
            Descriptor::Property
        } else if !is(&k.method) && type_lookup(&ty, "__get__").is_some() {
            Descriptor::User(
                type_lookup(&ty, "__set__").is_some() || type_lookup(&ty, "__delete__").is_some(),
            )
        } else {
            Descriptor::Value
        }
    }

    /// Attribute of an instance of `class`.
    pub(crate) fn instance_attr(&mut self, obj: &Var, class: &Obj, name: &Arc<str>) -> R<Flow> {
        let py = self.py;
        let ty = class
            .bind(py)
            .cast::<PyType>()
            .map_err(PyErr::from)?
            .clone();
        if &**name == "__class__" {
            // Proxies and mocks have one of their own.
            let getset = &self.known.getset_descriptor;
            let own = type_lookup(&ty, name);
            if own.is_none_or(|d| d.bind(py).get_type().is(getset.bind(py))) {
                return Ok(Flow::Value(Var::py(class.clone())));
            }
        }
        if is_heap_type(&ty)
            && let Some(custom) = self.class_lookup(class, "__getattribute__")?
            && custom.bind(py).get_type().is(self.known.function.bind(py))
        {
            let text = self.str(name);
            let f = Var::py(custom);
            let args = Args::pos(vec![obj.clone(), text.clone()]);
            let Some(hook) = self.class_lookup(class, "__getattr__")? else {
                return self.call(&f, args);
            };
            return match self.call_sync(&f, args) {
                Err(stop) if self.is_raise_of(&stop, "AttributeError") => {
                    self.call(&Var::py(hook), Args::pos(vec![obj.clone(), text]))
                }
                other => other.map(Flow::Value),
            };
        }
        let plain = crate::raw::reads_attributes_plainly(&ty);
        let unknown = !plain && type_lookup(&ty, name).is_none();
        if let (false, Var::Obj(id)) = (plain, obj)
            && let Some(dict) = self.thread_local_dict(*id)?
        {
            let key = self.str(name);
            if self.contains(&dict, &key)? {
                return self.getitem(&dict, &key);
            }
            if unknown {
                return Err(self.no_attribute(class, name));
            }
        }
        if unknown || !plain && matches!(obj, Var::Obj(_)) {
            return Err(Stop::unsupported(format!(
                "attribute {name} of a {}, whose class reads attributes by C code of its own",
                self.class_name(class)
            )));
        }
        self.generic_attr(obj, class, name, true)
    }

    /// `object.__getattribute__(obj, name)`: no hook of the class is consulted.
    ///
    /// # Errors
    /// As [`Tx::getattr`].
    pub fn object_getattribute(&mut self, obj: &Var, name: &Arc<str>) -> R<Flow> {
        let class = self.type_of(obj)?;
        self.generic_attr(obj, &class, name, false)
    }

    pub(crate) fn generic_attr(
        &mut self,
        obj: &Var,
        class: &Obj,
        name: &Arc<str>,
        hooks: bool,
    ) -> R<Flow> {
        let py = self.py;
        let ty = class
            .bind(py)
            .cast::<PyType>()
            .map_err(PyErr::from)?
            .clone();
        let written = self.written_on_class(class, name)?;
        let found = match written {
            Some(_) => None,
            None => self.class_lookup_of_value(class, name)?,
        };
        let kind = match &found {
            Some(d) => Some(self.guarded_descriptor(class, name, d)?),
            None => None,
        };
        if let (Some(d), Some(kind)) = (&found, &kind) {
            match kind {
                Descriptor::Property => {
                    let fget = d.bind(py).getattr("fget")?.unbind();
                    if fget.is_none(py) {
                        let refused = self.raise(
                            "AttributeError",
                            &format!(
                                "property '{name}' of '{}' object has no getter",
                                self.class_name(class)
                            ),
                        );
                        return self.else_getattr(Err(refused), obj, class, name, hooks);
                    }
                    let flow = self.call(&Var::py(fget), Args::pos(vec![obj.clone()]));
                    return self.else_getattr(flow, obj, class, name, hooks);
                }
                Descriptor::Member | Descriptor::GetSet => {
                    let flow = self.c_attr(obj, class, name);
                    return self.else_getattr(flow, obj, class, name, hooks);
                }
                Descriptor::User(true) => {
                    let d = self.class_value(class, name, d);
                    let flow = self.user_descriptor(&d, obj, class);
                    return self.else_getattr(flow, obj, class, name, hooks);
                }
                _ => {}
            }
        }
        if let Some(v) = self.instance_dict_attr(obj, name)? {
            return Ok(Flow::Value(v));
        }
        if let Some(v) = written {
            return Ok(Flow::Value(v));
        }
        if let (Some(d), Some(kind)) = (found, kind) {
            return match kind {
                Descriptor::Function => {
                    let func = self.class_value(class, name, &d);
                    Ok(Flow::Value(Var::Method(Rc::new(MethodVar {
                        func,
                        receiver: obj.clone(),
                    }))))
                }
                Descriptor::Static => Ok(Flow::Value(Var::py(
                    d.bind(py).getattr("__func__")?.unbind(),
                ))),
                Descriptor::Class => Ok(Flow::Value(self.bind_classmethod(&d, class)?)),
                Descriptor::BuiltinMethod => Ok(Flow::Value(Var::BuiltinMethod(Rc::new((
                    obj.clone(),
                    name.clone(),
                ))))),
                Descriptor::User(_) => {
                    let d = self.class_value(class, name, &d);
                    let flow = self.user_descriptor(&d, obj, class);
                    self.else_getattr(flow, obj, class, name, hooks)
                }
                _ => Ok(Flow::Value(self.class_value(class, name, &d))),
            };
        }
        if !hooks {
            return Err(self.no_attribute(class, name));
        }
        match is_heap_type(&ty) {
            true => self.ask_getattr_of(obj, class, name),
            false => Err(self.no_attribute(class, name)),
        }
    }

    /// What a descriptor gives, or where it raises `AttributeError` the class's `__getattr__`.
    fn else_getattr(
        &mut self,
        flow: R<Flow>,
        obj: &Var,
        class: &Obj,
        name: &Arc<str>,
        hooks: bool,
    ) -> R<Flow> {
        let ty = class.bind(self.py).cast::<PyType>().map_err(PyErr::from)?;
        if !hooks || !is_heap_type(ty) || type_lookup(ty, "__getattr__").is_none() {
            return flow;
        }
        match flow {
            Ok(Flow::Pushed) => {
                self.st.frame.looks_up = Some(Rc::new(LookUp {
                    obj: obj.clone(),
                    name: name.clone(),
                    before: self.ways.here.clone(),
                }));
                Ok(Flow::Pushed)
            }
            Err(stop) if self.is_raise_of(&stop, "AttributeError") => self.ask_getattr(obj, name),
            other => other,
        }
    }

    /// `type(obj).__getattr__(obj, name)`.
    ///
    /// # Errors
    /// Whatever it raises; `AttributeError` where the class has none.
    pub(crate) fn ask_getattr(&mut self, obj: &Var, name: &Arc<str>) -> R<Flow> {
        let class = self.type_of(obj)?;
        self.ask_getattr_of(obj, &class, name)
    }

    fn ask_getattr_of(&mut self, obj: &Var, class: &Obj, name: &Arc<str>) -> R<Flow> {
        if let Some(flow) = self.module_getattr(obj, class, name)? {
            return Ok(flow);
        }
        match self.class_lookup(class, "__getattr__")? {
            Some(hook) if self.looks_up_once(obj, &hook, name)? => self.getattr(obj, name),
            Some(hook) => {
                let name = self.str(name);
                self.call(&Var::py(hook), Args::pos(vec![obj.clone(), name]))
            }
            None => Err(self.no_attribute(class, name)),
        }
    }

    /// Whether a library's `__getattr__` has put what it found into the object, where it is found from now on: an
    /// operator makes its overloads when they are first asked for.
    fn looks_up_once(&mut self, obj: &Var, hook: &Obj, name: &Arc<str>) -> R<bool> {
        let Var::Py(p) = obj else { return Ok(false) };
        let object = p.obj.clone();
        let object = object.bind(self.py);
        if !self.is_graph_function(object)? || !crate::library::is_library(hook.bind(self.py)) {
            return Ok(false);
        }
        self.fold(|_| object.getattr(&**name))?;
        let dict = instance_dict(object);
        Ok(dict.is_some_and(|dict| dict_get(&dict, name).is_some()))
    }

    /// `AttributeError` for a missing attribute.
    pub fn no_attribute(&mut self, class: &Obj, name: &str) -> Stop {
        let class = match class.bind(self.py).cast::<PyType>() {
            Ok(ty) => crate::raw::printed_name(ty),
            Err(_) => self.class_name(class),
        };
        self.raise(
            "AttributeError",
            &format!("'{class}' object has no attribute '{name}'"),
        )
    }

    /// A class attribute as a value: reached through the class that the compiled code holds.
    pub(crate) fn class_value(&mut self, class: &Obj, name: &Arc<str>, value: &Obj) -> Var {
        if value
            .bind(self.py)
            .get_type()
            .is(self.known.function.bind(self.py))
        {
            return Var::py(value.clone());
        }
        let source = self.class_value_source(class, name, value);
        self.lazy(value.clone(), source)
    }

    pub(crate) fn bind_classmethod(&mut self, d: &Obj, class: &Obj) -> R<Var> {
        let b = d.bind(self.py);
        if b.get_type().is(self.known.classmethod.bind(self.py)) {
            let func = Var::py(b.getattr("__func__")?.unbind());
            return Ok(Var::Method(Rc::new(MethodVar {
                func,
                receiver: Var::py(class.clone()),
            })));
        }
        // In C: this very one, which a class that is derived may override.
        let bound = b.call_method1("__get__", (self.py.None(), class))?;
        Ok(Var::py(bound.unbind()))
    }

    pub(crate) fn user_descriptor(&mut self, d: &Var, obj: &Var, class: &Obj) -> R<Flow> {
        let d = self.realize(d)?;
        match self.call_special(&d, "__get__", vec![obj.clone(), Var::py(class.clone())])? {
            Some(flow) => Ok(flow),
            None => Err(Stop::unsupported(format!(
                "the descriptor {}",
                self.describe(&d)
            ))),
        }
    }
}

/// Whether objects of a type of C's become methods of what they are read from as functions do
/// (`Py_TPFLAGS_METHOD_DESCRIPTOR`): those of `functools.lru_cache`, and what Cython compiles.
pub fn binds_as_function(ty: &Bound<'_, PyType>) -> bool {
    const METHOD_DESCRIPTOR: u64 = 1 << 17;
    crate::raw::type_flags(ty) & METHOD_DESCRIPTOR != 0 && !is_heap_type(ty)
}

/// Whether a type can be changed by Python code.
pub fn is_heap_type(ty: &Bound<'_, PyType>) -> bool {
    const HEAPTYPE: u64 = 1 << 9;
    const IMMUTABLE: u64 = 1 << 8;
    let flags = crate::raw::type_flags(ty);
    flags & HEAPTYPE != 0 && flags & IMMUTABLE == 0
}
