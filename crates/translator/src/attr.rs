//! Attribute access, as `object.__getattribute__` and `object.__setattr__` have it.
//!
//! Lives here: the order of data descriptors, instance dict, class attributes and `__getattr__`;
//! attributes of functions, classes, modules (the Python kind) and `super` objects.
//! Does not live here: attributes of tensors (`torch_ops`) and of `nn.Module`s (`module_attr`).

use std::rc::Rc;
use std::sync::Arc;

use guards::{GuardKind, Key as GuardKey, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use variables::{Body, GlobalKey, MethodVar, Obj, ObjId, Origin, PyVar, Var};

use crate::raw::{dict_get, instance_dict, type_lookup, type_lookup_after};
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

/// How a class attribute behaves when it is read through an instance.
enum Descriptor {
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
    /// `obj.name`: follows `object.__getattribute__`, descriptors and `__getattr__`.
    ///
    /// # Errors
    /// `AttributeError` as Python raises it; a break where the access can't be followed.
    pub fn getattr(&mut self, obj: &Var, name: &Arc<str>) -> R<Flow> {
        let obj = self.realize(obj)?;
        match &obj {
            Var::Tensor(t) => self.tensor_attr(t, &obj, name),
            Var::Const(o) => self.const_attr(&obj, o, name),
            Var::Obj(id) => {
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
            Var::Null | Var::Lazy(_) => Err(Stop::Internal("attribute of NULL".into())),
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

    fn descriptor(&self, d: &Obj) -> Descriptor {
        let py = self.py;
        let k = &self.known;
        let b = d.bind(py);
        let ty = b.get_type();
        let is = |o: &Obj| ty.is(o.bind(py));
        if is(&k.function) {
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
        } else if is(&k.method_descriptor) || is(&k.wrapper_descriptor) {
            Descriptor::BuiltinMethod
        } else if b.is_instance(k.property.bind(py)).unwrap_or(false) {
            Descriptor::Property
        } else if type_lookup(&ty, "__get__").is_some() {
            Descriptor::User(
                type_lookup(&ty, "__set__").is_some() || type_lookup(&ty, "__delete__").is_some(),
            )
        } else {
            Descriptor::Value
        }
    }

    /// Attribute of an instance of `class`.
    fn instance_attr(&mut self, obj: &Var, class: &Obj, name: &Arc<str>) -> R<Flow> {
        if &**name == "__class__" {
            return Ok(Flow::Value(Var::py(class.clone())));
        }
        let py = self.py;
        let ty = class
            .bind(py)
            .cast::<PyType>()
            .map_err(PyErr::from)?
            .clone();
        if is_heap_type(&ty)
            && let Some(custom) = type_lookup(&ty, "__getattribute__")
            && custom.bind(py).get_type().is(self.known.function.bind(py))
        {
            self.class_lookup(class, "__getattribute__")?;
            let name = self.str(name);
            let f = Var::py(custom);
            return self.call(&f, Args::pos(vec![obj.clone(), name]));
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

    fn generic_attr(&mut self, obj: &Var, class: &Obj, name: &Arc<str>, hooks: bool) -> R<Flow> {
        let py = self.py;
        let ty = class
            .bind(py)
            .cast::<PyType>()
            .map_err(PyErr::from)?
            .clone();
        let found = self.class_lookup(class, name)?;
        let kind = found.as_ref().map(|d| self.descriptor(d));
        if let (Some(d), Some(kind)) = (&found, &kind) {
            match kind {
                Descriptor::Property => {
                    let fget = d.bind(py).getattr("fget")?.unbind();
                    if fget.is_none(py) {
                        return Err(self.raise(
                            "AttributeError",
                            &format!(
                                "property '{name}' of '{}' object has no getter",
                                self.class_name(class)
                            ),
                        ));
                    }
                    return self.call(&Var::py(fget), Args::pos(vec![obj.clone()]));
                }
                Descriptor::Member | Descriptor::GetSet => return self.c_attr(obj, class, name),
                Descriptor::User(true) => {
                    let d = self.class_value(class, name, d);
                    return self.user_descriptor(&d, obj, class);
                }
                _ => {}
            }
        }
        if let Some(v) = self.instance_dict_attr(obj, name)? {
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
                    self.user_descriptor(&d, obj, class)
                }
                _ => Ok(Flow::Value(self.class_value(class, name, &d))),
            };
        }
        if !hooks {
            return Err(self.no_attribute(class, name));
        }
        if let Some(flow) = self.module_getattr(obj, class, name)? {
            return Ok(flow);
        }
        if is_heap_type(&ty)
            && let Some(hook) = self.class_lookup(class, "__getattr__")?
        {
            let name = self.str(name);
            let hook = Var::py(hook);
            return self.call(&hook, Args::pos(vec![obj.clone(), name]));
        }
        Err(self.no_attribute(class, name))
    }

    /// `AttributeError` for a missing attribute.
    pub fn no_attribute(&mut self, class: &Obj, name: &str) -> Stop {
        let class = self.class_name(class);
        self.raise(
            "AttributeError",
            &format!("'{class}' object has no attribute '{name}'"),
        )
    }

    /// A class attribute as a value: reached through the class that the compiled code holds.
    fn class_value(&mut self, class: &Obj, name: &Arc<str>, value: &Obj) -> Var {
        if value
            .bind(self.py)
            .get_type()
            .is(self.known.function.bind(self.py))
        {
            return Var::py(value.clone());
        }
        let base = self.class_source(class);
        let source = self.source(Source::MroAttr {
            base,
            name: name.clone(),
        });
        self.lazy(value.clone(), source)
    }

    fn bind_classmethod(&mut self, d: &Obj, class: &Obj) -> R<Var> {
        let b = d.bind(self.py);
        if b.get_type().is(self.known.classmethod.bind(self.py)) {
            let func = Var::py(b.getattr("__func__")?.unbind());
            return Ok(Var::Method(Rc::new(MethodVar {
                func,
                receiver: Var::py(class.clone()),
            })));
        }
        let name: String = b.getattr("__name__")?.extract()?;
        Ok(Var::py(
            class.bind(self.py).getattr(name.as_str())?.unbind(),
        ))
    }

    fn user_descriptor(&mut self, d: &Var, obj: &Var, class: &Obj) -> R<Flow> {
        let d = self.realize(d)?;
        match self.call_special(&d, "__get__", vec![obj.clone(), Var::py(class.clone())])? {
            Some(flow) => Ok(flow),
            None => Err(Stop::unsupported(format!(
                "the descriptor {}",
                self.describe(&d)
            ))),
        }
    }

    /// A slot or C getter: what was written here, else the real object's.
    fn c_attr(&mut self, obj: &Var, class: &Obj, name: &Arc<str>) -> R<Flow> {
        if let Var::Obj(id) = obj {
            if let Some(written) = self.obj(*id).attrs.get(name).cloned() {
                return match written {
                    Some(v) => Ok(Flow::Value(v)),
                    None => Err(self.no_attribute(class, name)),
                };
            }
            if &**name == "__dict__" {
                return self.instance_dict_view(*id);
            }
            if let Some(v) = self.obj(*id).seen.get(name).cloned().flatten() {
                return Ok(Flow::Value(v));
            }
            let Origin::Source { obj: real, source } = self.obj(*id).origin.clone() else {
                return self.new_object_c_attr(*id, class, name);
            };
            if self.obj(*id).body_dirty {
                return Err(Stop::unsupported(format!(
                    "attribute {name} of a changed {}",
                    self.describe(obj)
                )));
            }
            return self.real_attr(&real, Some(source), class, name);
        }
        let real = match obj {
            Var::Py(p) => Some((p.obj.clone(), p.source)),
            Var::Tuple(t) => return self.tuple_field(&t.clone(), class, name),
            Var::Slice(s) => {
                let i = match &**name {
                    "start" => 0,
                    "stop" => 1,
                    "step" => 2,
                    _ => return Err(self.no_attribute(class, name)),
                };
                return Ok(Flow::Value(s[i].clone()));
            }
            _ => None,
        };
        let Some((real, source)) = real else {
            return Err(Stop::unsupported(format!(
                "attribute {name} of {}",
                self.describe(obj)
            )));
        };
        self.real_attr(&real, source, class, name)
    }

    /// Reads a C-level attribute of a real object.
    fn real_attr(
        &mut self,
        real: &Obj,
        source: Option<SourceId>,
        class: &Obj,
        name: &Arc<str>,
    ) -> R<Flow> {
        match real.bind(self.py).getattr(&**name) {
            Ok(v) => Ok(Flow::Value(match source {
                Some(base) => {
                    let s = self.source(Source::Attr {
                        base,
                        name: name.clone(),
                    });
                    self.lazy(v.unbind(), s)
                }
                None => self.from_const(v)?,
            })),
            Err(_) => Err(self.no_attribute(class, name)),
        }
    }

    /// Attributes that C gives to objects made while translating.
    fn new_object_c_attr(&mut self, id: ObjId, class: &Obj, name: &Arc<str>) -> R<Flow> {
        let is_exception = class
            .bind(self.py)
            .cast::<PyType>()
            .map_err(PyErr::from)?
            .is_subclass(self.known.base_exception.bind(self.py))?;
        match (&**name, &self.obj(id).body) {
            ("__cause__" | "__context__" | "__traceback__", _) if is_exception => {
                Ok(Flow::Value(self.none()))
            }
            ("__suppress_context__", _) if is_exception => Ok(Flow::Value(self.bool(false))),
            ("maxlen", Body::Deque(_, maxlen)) => {
                let m = *maxlen;
                Ok(Flow::Value(
                    m.map_or_else(|| self.none(), |m| self.int(m as i64)),
                ))
            }
            ("value", _) if is_exception => {
                let args = self.obj(id).attrs.get("args").cloned().flatten();
                match args {
                    Some(Var::Tuple(t)) if !t.items.is_empty() => {
                        Ok(Flow::Value(t.items[0].clone()))
                    }
                    _ => Ok(Flow::Value(self.none())),
                }
            }
            ("cell_contents", Body::Cell(v)) => match v.clone() {
                Some(v) => Ok(Flow::Value(v)),
                None => Err(self.raise("ValueError", "Cell is empty")),
            },
            _ => Err(self.no_attribute(class, name)),
        }
    }

    fn tuple_field(
        &mut self,
        t: &Rc<variables::TupleVar>,
        class: &Obj,
        name: &Arc<str>,
    ) -> R<Flow> {
        let py = self.py;
        // A struct sequence's member descriptors are numbered by offset; its repr order is its item order.
        let fields: Vec<String> = match class.bind(py).getattr("__match_args__") {
            Ok(f) => f.extract().unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        match fields.iter().position(|f| **f == **name) {
            Some(i) if i < t.items.len() => Ok(Flow::Value(t.items[i].clone())),
            _ => Err(Stop::unsupported(format!(
                "attribute {name} of {}",
                self.class_name(class)
            ))),
        }
    }

    /// An item of the instance dict; `None` where it has none of that name.
    pub fn instance_dict_attr(&mut self, obj: &Var, name: &Arc<str>) -> R<Option<Var>> {
        let (id, real, source) = match obj {
            Var::Obj(id) => {
                let state = self.obj(*id);
                if let Some(written) = state.attrs.get(name) {
                    return Ok(written.clone());
                }
                if let Some(seen) = state.seen.get(name) {
                    return Ok(seen.clone());
                }
                match &state.origin {
                    Origin::Source { obj, source } => (Some(*id), obj.clone(), Some(*source)),
                    _ => return Ok(None),
                }
            }
            Var::Py(p) => (None, p.obj.clone(), p.source),
            _ => return Ok(None),
        };
        let Some(dict) = instance_dict(real.bind(self.py)) else {
            return Ok(None);
        };
        let base = match source {
            Some(s) => s,
            None => {
                let label = self.describe(obj);
                self.pinned_source(&real, true, &label)
            }
        };
        let value = match dict_get(&dict, name) {
            Some(v) => {
                let s = self.source(Source::InstanceDictItem {
                    base,
                    name: name.clone(),
                });
                Some(self.lazy(v.unbind(), s))
            }
            None => {
                self.guard(
                    base,
                    GuardKind::GenericDictContains {
                        name: name.clone(),
                        present: false,
                    },
                );
                None
            }
        };
        if let Some(id) = id {
            self.st
                .effects
                .get_mut(id)
                .seen
                .insert(name.clone(), value.clone());
        }
        Ok(value)
    }

    /// `obj.__dict__`: a snapshot is only exact while nothing writes through it.
    fn instance_dict_view(&mut self, id: ObjId) -> R<Flow> {
        let state = self.obj(id).clone();
        match &state.origin {
            Origin::Source { obj, source } if state.attrs.is_empty() => {
                let Some(d) = instance_dict(obj.bind(self.py)) else {
                    return Err(self.no_attribute(&state.class, "__dict__"));
                };
                let s = self.source(Source::InstanceDict { base: *source });
                Ok(Flow::Value(self.lazy(d.into_any().unbind(), s)))
            }
            _ => Err(Stop::unsupported(
                "`__dict__` of an object that was changed in the compiled function",
            )),
        }
    }

    fn const_attr(&mut self, obj: &Var, value: &Obj, name: &Arc<str>) -> R<Flow> {
        let py = self.py;
        match value.bind(py).getattr(&**name) {
            Ok(v) => {
                let ty = v.get_type();
                if ty.is(self.known.builtin_function.bind(py))
                    || ty.is(self.known.method_wrapper.bind(py))
                {
                    return Ok(Flow::Value(Var::BuiltinMethod(Rc::new((
                        obj.clone(),
                        name.clone(),
                    )))));
                }
                self.from_const(v).map(Flow::Value)
            }
            Err(e) => Err(self.raise_pyerr(&e)),
        }
    }

    fn super_attr(&mut self, s: &variables::SuperVar, name: &Arc<str>) -> R<Flow> {
        let py = self.py;
        let start = s
            .start
            .bind(py)
            .cast::<PyType>()
            .map_err(PyErr::from)?
            .clone();
        let Some((d, owner)) = type_lookup_after(&start, s.after.bind(py), name) else {
            return Err(self.raise(
                "AttributeError",
                &format!("'super' object has no attribute '{name}'"),
            ));
        };
        // The MRO of a class that is guarded by identity changes only with `__bases__`; each class
        // on the way is held by what it gives for the name.
        for c in start.mro().iter() {
            if c.cast::<PyType>().is_ok_and(|t| is_heap_type(t)) {
                let class = c.unbind();
                let source = self.class_source(&class);
                let found =
                    type_lookup(class.bind(py).cast::<PyType>().map_err(PyErr::from)?, name);
                let value = found.map(|f| self.pin(&f, false));
                self.guard(
                    source,
                    GuardKind::MroAttr {
                        name: name.clone(),
                        value,
                    },
                );
            }
        }
        let receiver = s.receiver.clone();
        match self.descriptor(&d) {
            Descriptor::Function => Ok(Flow::Value(Var::Method(Rc::new(MethodVar {
                func: Var::py(d),
                receiver,
            })))),
            Descriptor::Property => self.call(
                &Var::py(d.bind(py).getattr("fget")?.unbind()),
                Args::pos(vec![receiver]),
            ),
            Descriptor::Static => Ok(Flow::Value(Var::py(
                d.bind(py).getattr("__func__")?.unbind(),
            ))),
            Descriptor::Class => {
                let class = match &receiver {
                    Var::Py(p) if p.obj.bind(py).is_instance_of::<PyType>() => p.obj.clone(),
                    other => self.type_of(other)?,
                };
                Ok(Flow::Value(self.bind_classmethod(&d, &class)?))
            }
            Descriptor::BuiltinMethod => Ok(Flow::Value(Var::Method(Rc::new(MethodVar {
                func: Var::py(d),
                receiver,
            })))),
            Descriptor::Value if &**name == "__new__" => Ok(Flow::Value(Var::py(d))),
            Descriptor::Value => Ok(Flow::Value(self.class_value(&owner, name, &d))),
            _ => Err(Stop::unsupported(format!("super().{name}"))),
        }
    }

    /// Attribute of a function made while translating.
    fn new_function_attr(&mut self, obj: &Var, f: &variables::FuncVar, name: &Arc<str>) -> R<Flow> {
        if let Some(v) = self.obj(f.obj).attrs.get(name).cloned() {
            let message = format!("'function' object has no attribute '{name}'");
            return match v {
                Some(v) => Ok(Flow::Value(v)),
                None => Err(self.raise("AttributeError", &message)),
            };
        }
        let code = |n: &str| -> R<Obj> { Ok(f.code.bind(self.py).getattr(n)?.unbind()) };
        Ok(Flow::Value(match &**name {
            "__name__" => Var::Const(code("co_name")?),
            "__qualname__" => Var::Const(code("co_qualname")?),
            "__code__" => Var::py(f.code.clone()),
            "__defaults__" => f.defaults.clone().unwrap_or_else(|| self.none()),
            "__kwdefaults__" => f.kwdefaults.clone().unwrap_or_else(|| self.none()),
            "__doc__" => {
                let consts = f.code.bind(self.py).getattr("co_consts")?;
                match consts
                    .get_item(0)
                    .ok()
                    .filter(|c| c.is_instance_of::<pyo3::types::PyString>())
                {
                    Some(doc) => Var::Const(doc.unbind()),
                    None => self.none(),
                }
            }
            "__module__" => match f.globals.bind(self.py).get_item("__name__") {
                Ok(n) => Var::Const(n.unbind()),
                Err(_) => self.none(),
            },
            "__class__" => Var::py(self.known.function.clone()),
            "__call__" => obj.clone(),
            "__closure__" if !f.closure.is_empty() => Var::tuple(f.closure.clone()),
            "__closure__" => self.none(),
            "__get__" => return Err(Stop::unsupported("`__get__` of a function")),
            _ => {
                return Err(self.raise(
                    "AttributeError",
                    &format!("'function' object has no attribute '{name}'"),
                ));
            }
        }))
    }

    /// Attribute of an object that is used by identity.
    fn existing_attr(&mut self, obj: &Var, p: &PyVar, name: &Arc<str>) -> R<Flow> {
        let py = self.py;
        let b = p.obj.bind(py).clone();
        if let Ok(ty) = b.cast::<PyType>() {
            return self.class_attr(&ty.clone(), p, name);
        }
        if b.get_type().is(self.known.module_type.bind(py))
            || b.is_instance(self.known.module_type.bind(py))?
        {
            return self.python_module_attr(&b, p, name);
        }
        if b.get_type().is(self.known.function.bind(py)) {
            return match b.getattr(&**name) {
                Ok(v) => {
                    let base = match p.source {
                        Some(s) => s,
                        None => self.pinned_source(&p.obj, true, "function"),
                    };
                    let s = self.source(Source::Attr {
                        base,
                        name: name.clone(),
                    });
                    Ok(Flow::Value(self.lazy(v.unbind(), s)))
                }
                Err(e) => Err(self.raise_pyerr(&e)),
            };
        }
        let class = b.get_type().into_any().unbind();
        self.instance_attr(obj, &class, name)
    }

    /// Attribute of a class.
    fn class_attr(&mut self, ty: &Bound<'py, PyType>, p: &PyVar, name: &Arc<str>) -> R<Flow> {
        let py = self.py;
        let meta = ty.get_type();
        // Metaclass data descriptors come first: `__name__`, `__dict__`, `__mro__`, ...
        if let Some(d) = type_lookup(&meta, name) {
            match self.descriptor(&d) {
                Descriptor::GetSet | Descriptor::Member => {
                    return self.fold(|_| ty.getattr(&**name)).map(Flow::Value);
                }
                Descriptor::Property => {
                    let fget = d.bind(py).getattr("fget")?.unbind();
                    return self.call(
                        &Var::py(fget),
                        Args::pos(vec![Var::Py(Rc::new(PyVar {
                            obj: p.obj.clone(),
                            source: p.source,
                        }))]),
                    );
                }
                _ => {}
            }
        }
        let class = ty.clone().into_any().unbind();
        if let Some(d) = self.class_lookup(&class, name)? {
            return match self.descriptor(&d) {
                Descriptor::Static => Ok(Flow::Value(Var::py(
                    d.bind(py).getattr("__func__")?.unbind(),
                ))),
                Descriptor::Class => self.bind_classmethod(&d, &class).map(Flow::Value),
                Descriptor::Function
                | Descriptor::Property
                | Descriptor::Member
                | Descriptor::BuiltinMethod => Ok(Flow::Value(Var::py(d))),
                Descriptor::GetSet | Descriptor::User(_) => {
                    // Only C code and enum's own descriptors may run here.
                    let enum_like = ty.is_subclass(self.known.enum_.bind(py))?;
                    let user = matches!(self.descriptor(&d), Descriptor::User(_));
                    let defined_in_python = user
                        && type_lookup(&d.bind(py).get_type(), "__get__").is_some_and(|g| {
                            g.bind(py).get_type().is(self.known.function.bind(py))
                        });
                    if defined_in_python && !enum_like {
                        let dv = self.class_value(&class, name, &d);
                        let dv = self.realize(&dv)?;
                        let none = self.none();
                        return match self.call_special(
                            &dv,
                            "__get__",
                            vec![none, Var::py(class)],
                        )? {
                            Some(flow) => Ok(flow),
                            None => Err(Stop::unsupported(format!("class attribute {name}"))),
                        };
                    }
                    self.fold(|_| ty.getattr(&**name)).map(Flow::Value)
                }
                Descriptor::Value => Ok(Flow::Value(self.class_value(&class, name, &d))),
            };
        }
        if let Some(d) = type_lookup(&meta, name) {
            return match self.descriptor(&d) {
                Descriptor::Function => Ok(Flow::Value(Var::Method(Rc::new(MethodVar {
                    func: Var::py(d),
                    receiver: Var::py(class),
                })))),
                _ => self.fold(|_| ty.getattr(&**name)).map(Flow::Value),
            };
        }
        if ty.is_subclass(self.known.enum_.bind(py))? {
            return self.fold(|_| ty.getattr(&**name)).map(Flow::Value);
        }
        let message = format!(
            "type object '{}' has no attribute '{name}'",
            self.class_name(&class)
        );
        Err(self.raise("AttributeError", &message))
    }

    /// Attribute of a Python module: an item of its dict.
    fn python_module_attr(&mut self, b: &Bound<'py, PyAny>, p: &PyVar, name: &Arc<str>) -> R<Flow> {
        let Some(dict) = instance_dict(b) else {
            return Err(Stop::unsupported("a module without a dict"));
        };
        let key = GlobalKey {
            dict: dict.as_ptr() as usize,
            name: name.clone(),
        };
        if let Some(written) = self.st.effects.global(&key) {
            if let Some(v) = written {
                return Ok(Flow::Value(v));
            }
        } else if let Some(v) = dict_get(&dict, name) {
            let base = match p.source {
                Some(s) => s,
                None => {
                    let label: String = b.getattr("__name__")?.extract()?;
                    self.pinned_source(&p.obj, false, &label)
                }
            };
            let s = self.source(Source::Attr {
                base,
                name: name.clone(),
            });
            return Ok(Flow::Value(self.lazy(v.unbind(), s)));
        }
        let module: String = b.getattr("__name__")?.extract()?;
        if dict_get(&dict, "__getattr__").is_some() {
            // A module-level `__getattr__` of a library imports a submodule or warns; running it
            // once more than the program would is what `import` does as well.
            return self.fold(|_| b.getattr(&**name)).map(Flow::Value);
        }
        if &**name == "__dict__" {
            return Err(Stop::unsupported("`__dict__` of a module"));
        }
        if let Some(base) = p.source {
            self.guard(
                base,
                GuardKind::GenericDictContains {
                    name: name.clone(),
                    present: false,
                },
            );
        }
        Err(self.raise(
            "AttributeError",
            &format!("module '{module}' has no attribute '{name}'"),
        ))
    }

    /// `obj.name = value`, or `del obj.name` where `value` is `None`. [`Flow::Pushed`] where a
    /// user's `__setattr__` or property runs.
    ///
    /// # Errors
    /// As Python; a break where the write can't be replayed.
    pub fn setattr(&mut self, obj: &Var, name: &Arc<str>, value: Option<Var>) -> R<Flow> {
        let obj = self.realize(obj)?;
        let done = Flow::Value(self.none());
        match &obj {
            Var::Obj(id) => {
                let id = *id;
                let class = self.obj(id).class.clone();
                let hook = if value.is_some() {
                    "__setattr__"
                } else {
                    "__delattr__"
                };
                let ty = class
                    .bind(self.py)
                    .cast::<PyType>()
                    .map_err(PyErr::from)?
                    .clone();
                if is_heap_type(&ty)
                    && let Some(custom) = self.class_lookup(&class, hook)?
                    && custom
                        .bind(self.py)
                        .get_type()
                        .is(self.known.function.bind(self.py))
                {
                    if let Some(flow) =
                        self.module_setattr(&obj, &class, &custom, name, value.as_ref())?
                    {
                        return Ok(flow);
                    }
                    let name = self.str(name);
                    let args = [Some(obj.clone()), Some(name), value]
                        .into_iter()
                        .flatten()
                        .collect();
                    return self.call(&Var::py(custom), Args::pos(args));
                }
                self.object_setattr(id, &class, name, value)
            }
            Var::Func(f) => {
                self.st.effects.get_mut(f.obj).write_attr(name, value);
                Ok(done)
            }
            Var::Py(p)
                if p.obj
                    .bind(self.py)
                    .get_type()
                    .is(self.known.module_type.bind(self.py)) =>
            {
                let Some(dict) = instance_dict(p.obj.bind(self.py)) else {
                    return Err(Stop::unsupported("a module without a dict"));
                };
                self.st
                    .effects
                    .write_global(&dict.into_any().unbind(), name, value);
                Ok(done)
            }
            Var::Tensor(_) => self.tensor_setattr(&obj, name, value),
            _ => Err(Stop::unsupported(format!(
                "setting attribute {name} of {}",
                self.describe(&obj)
            ))),
        }
    }

    /// `object.__setattr__(obj, name, value)`.
    ///
    /// # Errors
    /// As Python.
    pub fn object_setattr(
        &mut self,
        id: ObjId,
        class: &Obj,
        name: &Arc<str>,
        value: Option<Var>,
    ) -> R<Flow> {
        let py = self.py;
        let done = Flow::Value(self.none());
        if let Some(d) = self.class_lookup(class, name)? {
            match self.descriptor(&d) {
                Descriptor::Property => {
                    let accessor = d
                        .bind(py)
                        .getattr(if value.is_some() { "fset" } else { "fdel" })?
                        .unbind();
                    if accessor.is_none(py) {
                        let what = if value.is_some() { "setter" } else { "deleter" };
                        let message = format!(
                            "property '{name}' of '{}' object has no {what}",
                            self.class_name(class)
                        );
                        return Err(self.raise("AttributeError", &message));
                    }
                    let args = std::iter::once(Var::Obj(id)).chain(value).collect();
                    return self.call(&Var::py(accessor), Args::pos(args));
                }
                Descriptor::User(true) => {
                    let d = self.class_value(class, name, &d);
                    let d = self.realize(&d)?;
                    let hook = if value.is_some() {
                        "__set__"
                    } else {
                        "__delete__"
                    };
                    let args = std::iter::once(Var::Obj(id)).chain(value).collect();
                    return match self.call_special(&d, hook, args)? {
                        Some(flow) => Ok(flow),
                        None => Err(self.raise("AttributeError", hook)),
                    };
                }
                Descriptor::GetSet if matches!(&**name, "__class__" | "__dict__") => {
                    return Err(Stop::unsupported(format!("assigning {name}")));
                }
                Descriptor::Member | Descriptor::GetSet => {
                    self.st.effects.write_attr(id, name, value);
                    return Ok(done);
                }
                _ => {}
            }
        }
        let has_dict = {
            let ty = class.bind(py).cast::<PyType>().map_err(PyErr::from)?;
            ty.getattr("__dictoffset__")?.extract::<isize>()? != 0
        };
        if !has_dict {
            return Err(self.no_attribute(class, name));
        }
        if value.is_none() {
            let var = Var::Obj(id);
            if self.instance_dict_attr(&var, name)?.is_none() {
                return Err(self.no_attribute(class, name));
            }
        }
        self.st.effects.write_attr(id, name, value);
        Ok(done)
    }

    /// An item of a dict from outside by a string key, without taking the whole dict in. The
    /// dict is given as a (lazy or tracked) value.
    ///
    /// # Errors
    /// As [`Tx::realize`].
    pub fn dict_peek(&mut self, dict: &Var, key: &str) -> R<Option<Var>> {
        match dict {
            Var::Lazy(l) if self.st.effects.known(l.obj.as_ptr() as usize).is_none() => {
                let b = l.obj.bind(self.py).clone();
                let Ok(d) = b.cast::<PyDict>() else {
                    return Ok(None);
                };
                let guard_key = GuardKey::str(key);
                match dict_get(d, key) {
                    Some(v) => {
                        let s = self.source(Source::DictItem {
                            base: l.source,
                            key: guard_key,
                        });
                        Ok(Some(self.lazy(v.unbind(), s)))
                    }
                    None => {
                        self.guard(
                            l.source,
                            GuardKind::DictContains {
                                key: guard_key,
                                present: false,
                            },
                        );
                        Ok(None)
                    }
                }
            }
            _ => {
                let dict = self.realize(dict)?;
                let Var::Obj(id) = dict else { return Ok(None) };
                let key_var = self.str(key);
                let key = self.key(&key_var)?;
                match &self.obj(id).body {
                    Body::Dict(map) => Ok(map.get(&key).cloned()),
                    _ => Ok(None),
                }
            }
        }
    }
}

/// Whether a type can be changed by Python code.
pub fn is_heap_type(ty: &Bound<'_, PyType>) -> bool {
    const HEAPTYPE: u64 = 1 << 9;
    const IMMUTABLE: u64 = 1 << 8;
    let flags = crate::raw::type_flags(ty);
    flags & HEAPTYPE != 0 && flags & IMMUTABLE == 0
}
