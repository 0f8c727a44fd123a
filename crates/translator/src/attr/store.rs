//! Writing and deleting attributes.

use super::native::Slot;
use super::{Descriptor, is_heap_type};
use crate::raw::{instance_dict, type_lookup};
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyType};
use std::sync::Arc;
use variables::{Body, Obj, ObjId, OrderedMap, Origin, Var};

impl<'py> Tx<'py> {
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
                self.no_call_result(id, name)?;
                if self.array_id(&obj).is_some() {
                    return Err(Stop::unsupported(format!("setting {name} of an array")));
                }
                let class = self.obj(id).class.clone();
                if !self.st.effects.calls.is_empty() && self.is_outlet(&class)? {
                    return Err(crate::deferred::redirected());
                }
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
                    && !self.is_c_slot(&custom, hook)?
                {
                    if let Some(flow) =
                        self.module_setattr(&obj, &class, &custom, name, value.as_ref())?
                    {
                        return Ok(flow);
                    }
                    let args = [Some(self.str(name)), value].into_iter().flatten();
                    return match self.call_special(&obj, hook, args.collect())? {
                        Some(flow) => Ok(flow),
                        None => Err(Stop::unsupported(format!("{hook} that is None"))),
                    };
                }
                if let Some(dict) = self.thread_local_dict(id)? {
                    let key = self.str(name);
                    return match value {
                        Some(value) => self.setitem(&dict, &key, &value),
                        None if self.contains(&dict, &key)? => self.delitem(&dict, &key),
                        None => Err(self.no_attribute(&class, name)),
                    };
                }
                self.object_setattr(id, &class, name, value)
            }
            Var::Func(f) => {
                if self.is_c_level(&self.known.function, name) {
                    self.check_function_field(name, value.as_ref())?;
                    self.set_function_field(f.obj, name, value)?;
                } else {
                    self.write_dict_attr(f.obj, name, value)?;
                }
                Ok(done)
            }
            Var::Py(p) if let Ok(class) = p.obj.bind(self.py).cast::<PyType>() => {
                self.set_class_attr(&class.clone(), name, value)
            }
            Var::Py(p)
                if p.obj
                    .bind(self.py)
                    .get_type()
                    .is(self.known.function.bind(self.py)) =>
            {
                self.set_function_attr(&p.clone(), name, value)
            }
            Var::Py(p)
                if p.obj
                    .bind(self.py)
                    .get_type()
                    .is(self.known.module_type.bind(self.py)) =>
            {
                let class = self.known.module_type.bind(self.py).cast::<PyType>();
                let of_class = class.ok().and_then(|c| type_lookup(c, name));
                if of_class.is_some_and(|d| is_data_descriptor(d.bind(self.py))) {
                    return Err(Stop::unsupported(format!("assigning {name} of a module")));
                }
                let Some(dict) = instance_dict(p.obj.bind(self.py)) else {
                    return Err(Stop::unsupported("a module without a dict"));
                };
                if !self.st.effects.calls.is_empty() && crate::deferred::is_observing(dict.as_any())
                {
                    return Err(crate::deferred::redirected());
                }
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

    /// Whether what a class has under the name of a special method is a C class's own.
    pub fn is_c_slot(&self, found: &Obj, name: &str) -> R<bool> {
        let wrapper = &self.known.wrapper_descriptor;
        let found_type = found.bind(self.py).get_type();
        Ok(found_type.is(wrapper.bind(self.py)) && !self.is_renamed(found, name)?)
    }

    /// Sets what a new function keeps in C; `None` deletes it.
    fn set_function_field(&mut self, f: ObjId, name: &Arc<str>, value: Option<Var>) -> R<()> {
        let value = value.filter(|v| !v.is_none(self.py));
        let has_annotate = self.is_c_level(&self.known.function, "__annotate__");
        let value = match &**name {
            // The annotations that were read are to be forgotten, and stay with `None`.
            "__annotate__"
                if value.is_some() && self.obj(f).attrs.contains_key("__annotations__") =>
            {
                return Err(Stop::unsupported("`__annotate__` behind `__annotations__`"));
            }
            "__defaults__" | "__kwdefaults__" | "__annotate__" => {
                Some(value.unwrap_or_else(|| self.none()))
            }
            "__annotations__" => {
                if has_annotate {
                    let none = Some(self.none());
                    self.st.effects.write_attr(f, &"__annotate__".into(), none);
                }
                let class = self.known.dict.clone();
                let empty = Body::Dict(OrderedMap::default());
                Some(value.unwrap_or_else(|| Var::Obj(self.new_object(class, empty))))
            }
            _ => value,
        };
        self.st.effects.write_attr(f, name, value);
        Ok(())
    }

    /// Makes sure that a function takes a value for what it keeps in C.
    ///
    /// # Errors
    /// `TypeError` where it does not; a break for what the residual code can't set.
    fn check_function_field(&mut self, name: &str, value: Option<&Var>) -> R<()> {
        let k = &self.known;
        let (wanted, text, or_none) = match name {
            "__doc__" | "__module__" => return Ok(()),
            "__name__" | "__qualname__" => (k.str_.clone(), "a string object", false),
            "__defaults__" => (k.tuple.clone(), "a tuple object", true),
            "__kwdefaults__" | "__annotations__" => (k.dict.clone(), "a dict object", true),
            "__type_params__" => (k.tuple.clone(), "a tuple", false),
            "__annotate__" => {
                let Some(value) = value else {
                    return Err(self.raise("TypeError", "__annotate__ cannot be deleted"));
                };
                let value = self.realize(value)?;
                let class = self.type_of(&value)?;
                return match value.is_none(self.py) || class.is(&self.known.function) {
                    true => Ok(()),
                    false => Err(Stop::unsupported("an `__annotate__` that is no function")),
                };
            }
            _ => return Err(Stop::unsupported(format!("setting {name} of a function"))),
        };
        let fits = match value {
            Some(value) => {
                let value = self.realize(value)?;
                let class = self.type_of(&value)?;
                or_none && value.is_none(self.py) || self.is_subtype(&class, &wanted)
            }
            None => or_none,
        };
        match fits {
            true => Ok(()),
            false => Err(self.raise("TypeError", &format!("{name} must be set to {text}"))),
        }
    }

    /// Sets or deletes an attribute by a property.
    ///
    /// # Errors
    /// `AttributeError` where the property does not allow it; what its function raises.
    pub(crate) fn set_property(
        &mut self,
        of: Var,
        class: &Obj,
        name: &str,
        property: &Obj,
        value: Option<Var>,
    ) -> R<Flow> {
        let (accessor, what) = match value {
            Some(_) => ("fset", "setter"),
            None => ("fdel", "deleter"),
        };
        let accessor = property.bind(self.py).getattr(accessor)?.unbind();
        if accessor.is_none(self.py) {
            let class = self.class_name(class);
            let message = format!("property '{name}' of '{class}' object has no {what}");
            return Err(self.raise("AttributeError", &message));
        }
        let args = std::iter::once(of).chain(value).collect();
        self.call(&Var::py(accessor), Args::pos(args))
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
        self.no_key_changes(id)?;
        let written = self.written_on_class(class, name)?;
        if written.is_none()
            && let Some(d) = self.class_lookup_of_value(class, name)?
        {
            let kind = match self.descriptor(&d) {
                // Without `__get__` it says nothing when it is read.
                Descriptor::Value if is_data_descriptor(d.bind(py)) => Descriptor::User(true),
                kind => kind,
            };
            match kind {
                Descriptor::Property => {
                    return self.set_property(Var::Obj(id), class, name, &d, value);
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
                    if &**name == "__traceback__" && self.takes_traceback(id, value.as_ref()) {
                        return Ok(done);
                    }
                    self.writable(&d, class, name, value.as_ref())?;
                    let state = self.obj(id);
                    let (origin, written) = (state.origin.clone(), state.attrs.get(name).cloned());
                    if value.is_none() {
                        let has_it = self.c_attr(&Var::Obj(id), class, name);
                        if let Err(Stop::Raise(_)) = has_it {
                            return Err(self.refused_by_slot(class, name, Slot::Deleted)?);
                        }
                    }
                    if value.is_none()
                        && let (Origin::Source { obj, source }, Some(Some(_))) = (origin, written)
                        && let Err(stop) = self.real_attr(&obj, Some(source), class, name)
                    {
                        // It was empty before it was set, so there is nothing to write.
                        let Stop::Raise(_) = stop else {
                            return Err(stop);
                        };
                        self.st.effects.forget_attr(id, name);
                        return Ok(done);
                    }
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
            return Err(match self.class_lookup(class, name)? {
                Some(_) => {
                    let class = self.class_name(class);
                    let text = format!("'{class}' object attribute '{name}' is read-only");
                    self.raise("AttributeError", &text)
                }
                None => self.refused_by_slot(class, name, Slot::Missing)?,
            });
        }
        if value.is_none() {
            let var = Var::Obj(id);
            if self.instance_dict_attr(&var, name)?.is_none() {
                return Err(self.no_attribute(class, name));
            }
        }
        self.write_dict_attr(id, name, value)?;
        Ok(done)
    }

    /// Gives an exception made while tracing a traceback of such a one, as `contextlib` does, or none: whether it is that.
    /// One that was raised and leaves is raised in plain Python again, with all that becomes of it.
    pub fn takes_traceback(&mut self, id: ObjId, value: Option<&Var>) -> bool {
        let is_new = |id: ObjId| self.obj(id).is_new();
        let is_traceback = |id: ObjId| self.obj(id).class.is(&self.known.traceback);
        let known = match value {
            Some(Var::Obj(v)) => is_new(*v) && is_traceback(*v),
            Some(none) => none.is_none(self.py),
            None => false,
        };
        // One that was never raised has nothing to lose, and nothing that is given to it may be lost.
        let raised = self.st.caught.contains(&id);
        let fits = known && is_new(id) && (raised || !matches!(value, Some(Var::Obj(_))));
        if let (true, Some(value)) = (fits && raised, value) {
            self.st.tracebacks.insert(id, value.clone());
        }
        fits
    }

    /// A C-level attribute checks what it is given; a slot of a Python class takes anything.
    fn writable(&mut self, d: &Obj, class: &Obj, name: &str, value: Option<&Var>) -> R<()> {
        let owner = d.bind(self.py).getattr("__objclass__")?;
        if is_heap_type(owner.cast::<PyType>().map_err(PyErr::from)?) {
            return Ok(());
        }
        let base = self.known.base_exception.clone();
        let fits = match (name, value) {
            _ if !owner.is(base.bind(self.py)) => false,
            ("__cause__" | "__context__", Some(v)) => {
                let class = self.type_of(v)?;
                v.is_none(self.py) || self.is_subtype(&class, &base)
            }
            ("args", Some(v)) => {
                matches!(self.realize(v)?, Var::Tuple(t) if t.class.is_none())
                    && !(self.rules.builtins.keeps_fields)(self, class)?
            }
            ("__suppress_context__", Some(Var::Const(v))) => {
                v.bind(self.py).is_exact_instance_of::<PyBool>()
            }
            _ => false,
        };
        match fits {
            true => Ok(()),
            false => Err(Stop::unsupported(format!(
                "writing attribute {name} of {}",
                self.class_name(class)
            ))),
        }
    }
}

fn is_data_descriptor(d: &Bound<'_, PyAny>) -> bool {
    let class = d.get_type();
    ["__set__", "__delete__"]
        .iter()
        .any(|name| type_lookup(&class, name).is_some())
}
