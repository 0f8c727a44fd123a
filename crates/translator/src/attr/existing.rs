//! Attributes of classes, Python modules and other objects that are used by identity.

use super::Descriptor;
use super::is_heap_type;
use crate::raw::{derives_from, dict_get, instance_dict, type_lookup};
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};
use guards::{GuardKind, Source};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::rc::Rc;
use std::sync::Arc;
use variables::{Body, GlobalKey, MethodVar, Obj, PyVar, TupleVar, Var};

impl<'py> Tx<'py> {
    /// Attribute of an object that is used by identity.
    pub(crate) fn existing_attr(&mut self, obj: &Var, p: &PyVar, name: &Arc<str>) -> R<Flow> {
        let py = self.py;
        let b = p.obj.bind(py).clone();
        if let Ok(ty) = b.cast::<PyType>() {
            return self.class_attr(&ty.clone(), p, name);
        }
        if derives_from(&b, self.known.module_type.bind(py)) {
            return self.python_module_attr(&b, p, name);
        }
        if b.get_type().is(self.known.function.bind(py)) {
            if let Some(written) = self.written_on_function(p, name)? {
                return Ok(Flow::Value(written));
            }
            return match b.getattr(&**name) {
                // A slot of the function type, bound anew by each look-up.
                Ok(v) if v.get_type().is(self.known.method_wrapper.bind(py)) => Ok(Flow::Value(
                    Var::BuiltinMethod(Rc::new((obj.clone(), name.clone()))),
                )),
                Ok(v) => {
                    let base = match p.source {
                        Some(s) => s,
                        None => self.pinned_source(&p.obj, true, "function"),
                    };
                    let s = self.source(Source::Attr {
                        base,
                        name: name.clone(),
                    });
                    self.touch(s);
                    let value = self.lazy(v.unbind(), s);
                    // From here on it is known that the program has it.
                    Ok(Flow::Value(match &**name {
                        "__dict__" => self.realize(&value)?,
                        _ => value,
                    }))
                }
                Err(e) => {
                    let base = match p.source {
                        Some(s) => s,
                        None => self.pinned_source(&p.obj, true, "function"),
                    };
                    self.guard(base, absent(name));
                    Err(self.raise_pyerr(&e))
                }
            };
        }
        let class = b.get_type().into_any().unbind();
        self.instance_attr(obj, &class, name)
    }

    /// Attribute of a class.
    pub(crate) fn class_attr(
        &mut self,
        ty: &Bound<'py, PyType>,
        p: &PyVar,
        name: &Arc<str>,
    ) -> R<Flow> {
        let py = self.py;
        let meta = ty.get_type();
        let meta_obj = meta.clone().into_any().unbind();
        let class = ty.clone().into_any().unbind();
        if is_heap_type(&meta) {
            // A class whose metaclass is a Python class may get another one.
            let source = self.class_source(&class);
            self.guard_type(ty.as_any(), source);
            if let Some(custom) = self.class_lookup(&meta_obj, "__getattribute__")?
                && custom.bind(py).get_type().is(self.known.function.bind(py))
            {
                let name = self.str(name);
                return self.call(&Var::py(custom), Args::pos(vec![Var::py(class), name]));
            }
        }
        // Metaclass data descriptors come first: `__name__`, `__dict__`, `__mro__`, ...
        let of_meta = self.class_lookup(&meta_obj, name)?;
        if let Some(d) = &of_meta {
            match self.descriptor(d) {
                Descriptor::GetSet | Descriptor::Member => {
                    return self.class_field(ty, name);
                }
                // What members an enum has is settled with the class.
                Descriptor::Property
                    if &**name == "__members__" && ty.is_subclass(self.known.enum_.bind(py))? =>
                {
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
                Descriptor::User(true) => {
                    let d = self.class_value(&meta_obj, name, d);
                    return self.user_descriptor(&d, &Var::py(class), &meta_obj);
                }
                _ => {}
            }
        }
        if let Some(written) = self.written_on_class(&class, name)? {
            return Ok(Flow::Value(written));
        }
        if let Some(d) = self.class_lookup_of_value(&class, name)? {
            return match self.guarded_descriptor(&class, name, &d)? {
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
        if let Some(d) = of_meta {
            return match self.guarded_descriptor(&meta_obj, name, &d)? {
                Descriptor::Function => Ok(Flow::Value(Var::Method(Rc::new(MethodVar {
                    func: Var::py(d),
                    receiver: Var::py(class),
                })))),
                Descriptor::Value => Ok(Flow::Value(self.class_value(&meta_obj, name, &d))),
                Descriptor::User(_) if is_heap_type(&meta) => {
                    let d = self.class_value(&meta_obj, name, &d);
                    self.user_descriptor(&d, &Var::py(class), &meta_obj)
                }
                _ => self.fold(|_| ty.getattr(&**name)).map(Flow::Value),
            };
        }
        if ty.is_subclass(self.known.enum_.bind(py))? {
            return self.fold(|_| ty.getattr(&**name)).map(Flow::Value);
        }
        if is_heap_type(&meta)
            && let Some(hook) = self.class_lookup(&meta_obj, "__getattr__")?
        {
            let name = self.str(name);
            return self.call(&Var::py(hook), Args::pos(vec![Var::py(class), name]));
        }
        let message = format!(
            "type object '{}' has no attribute '{name}'",
            self.class_name(&class)
        );
        Err(self.raise("AttributeError", &message))
    }

    /// What the metaclass keeps in the class object itself: `__name__`, `__mro__`, `__doc__`, ...
    fn class_field(&mut self, ty: &Bound<'py, PyType>, name: &Arc<str>) -> R<Flow> {
        if !is_heap_type(ty) {
            return self.fold(|_| ty.getattr(&**name)).map(Flow::Value);
        }
        let class = ty.clone().into_any().unbind();
        let base = self.class_source(&class);
        let value = match ty.getattr(&**name) {
            Ok(v) => v,
            Err(e) => return Err(self.raise_pyerr(&e)),
        };
        match &**name {
            // Each look-up makes another proxy.
            "__dict__" if let Some(of) = self.plain_mapping_under(&value)? => {
                if self.st.effects.any_held() {
                    return Err(Stop::unsupported("`__dict__` where a class has changed"));
                }
                let name = name.clone();
                let base = self.source(Source::Attr { base, name });
                let source = self.source(Source::Under { base });
                let body = Body::MappingProxy(self.lazy(of, source));
                let class = self.known.mappingproxy.clone();
                return Ok(Flow::Value(Var::Obj(self.new_object(class, body))));
            }
            "__annotations__" | "__dict__" => {
                let name = name.clone();
                let source = self.source(Source::Attr { base, name });
                return Ok(Flow::Value(self.lazy(value.unbind(), source)));
            }
            "__abstractmethods__" | "__type_params__" => {
                return self.from_const(value).map(Flow::Value);
            }
            // `__bases__` and the MRO change together, and the getter makes no new tuple of it.
            "__bases__" | "__base__" | "__mro__" => {
                self.guard_mro(&class);
                let made = self.from_const(value.clone())?;
                let Var::Tuple(t) = made else {
                    return Ok(Flow::Value(made));
                };
                let name = name.clone();
                let source = self.source(Source::Attr { base, name });
                return Ok(Flow::Value(Var::Tuple(Rc::new(TupleVar {
                    items: t.items.clone(),
                    class: None,
                    origin: Some((value.unbind(), source)),
                }))));
            }
            _ if self.known.is_const_type(value.get_type().as_any()) => {
                let source = self.source(Source::Attr {
                    base,
                    name: name.clone(),
                });
                return Ok(Flow::Value(self.lazy(value.unbind(), source)));
            }
            _ => {}
        }
        self.from_const(value).map(Flow::Value)
    }

    /// Holds a class to the bases that it has.
    pub fn guard_mro(&mut self, class: &Obj) {
        let b = class.bind(self.py);
        let Ok(ty) = b.cast::<PyType>() else { return };
        if !is_heap_type(ty) {
            return;
        }
        let mro = ty.mro().into_any().unbind();
        let base = self.class_source(class);
        let source = self.source(Source::Attr {
            base,
            name: "__mro__".into(),
        });
        let obj = self.pin(&mro, false);
        self.guard(source, GuardKind::IdMatch { obj });
    }

    /// Attribute of a Python module: an item of its dict, or what its class gives.
    pub(crate) fn python_module_attr(
        &mut self,
        b: &Bound<'py, PyAny>,
        p: &PyVar,
        name: &Arc<str>,
    ) -> R<Flow> {
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
            // Calls that wait may be about to change it: the filters of `warnings`.
            if v.is_instance_of::<pyo3::types::PyList>()
                && self.st.effects.calls.iter().any(|call| call.silent)
                && crate::deferred::is_observing(dict.as_any())
            {
                return Err(Stop::unsupported("a list that a waiting call may change"));
            }
            let base = match p.source {
                Some(s) => s,
                None => {
                    let label: String = b.getattr("__name__")?.extract()?;
                    self.pinned_source(&p.obj, false, &label)
                }
            };
            let name = name.clone();
            // A subclass of the module type may have a `__getattr__`, which no guard may call.
            let s = self.source(if b.get_type().is(self.known.module_type.bind(self.py)) {
                Source::Attr { base, name }
            } else {
                Source::InstanceDictItem { base, name }
            });
            self.touch(s);
            return Ok(Flow::Value(self.lazy(v.unbind(), s)));
        }
        let module: String = b.getattr("__name__")?.extract()?;
        if &**name == "__dict__" {
            return Err(Stop::unsupported("`__dict__` of a module"));
        }
        let base = match p.source {
            Some(s) => s,
            None => self.pinned_source(&p.obj, false, &module),
        };
        let class = b.get_type();
        if type_lookup(&class, name)
            .is_some_and(|d| !matches!(self.descriptor(&d), Descriptor::User(_)))
        {
            self.guard(base, absent(name));
            let class = class.into_any().unbind();
            let obj = Var::Py(Rc::new(PyVar {
                obj: p.obj.clone(),
                source: p.source,
            }));
            return self.instance_attr(&obj, &class, name);
        }
        let own = dict_get(&dict, "__getattr__");
        let hook = own.clone().or_else(|| self.class_getattr(b));
        // A library's `__getattr__` imports a submodule or warns; running it once more than the
        // program would is what `import` does as well.
        if hook.is_some_and(|h| crate::library::is_library(&h)) {
            let value = self.fold(|_| b.getattr(&**name))?;
            if dict_get(&dict, name).is_some() {
                return self.python_module_attr(b, p, name);
            }
            if own.is_some() {
                self.guard(base, absent(name));
                return Ok(Flow::Value(value));
            }
        }
        if let Some(hook) = own {
            self.guard(base, absent(name));
            let s = self.source(Source::Attr {
                base,
                name: "__getattr__".into(),
            });
            let hook = self.lazy(hook.unbind(), s);
            let name = self.str(name);
            return self.call(&hook, Args::pos(vec![name]));
        }
        self.guard(base, absent(name));
        self.guard(base, absent("__getattr__"));
        Err(self.raise(
            "AttributeError",
            &format!("module '{module}' has no attribute '{name}'"),
        ))
    }

    /// The `__getattr__` that the class of a module defines, where that is a subclass.
    fn class_getattr(&self, module: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        let class = module.get_type();
        if class.is(self.known.module_type.bind(self.py)) {
            return None;
        }
        class.getattr("__getattr__").ok()
    }
}

/// That an object has no attribute of its own under a name.
pub(crate) fn absent(name: &str) -> GuardKind {
    GuardKind::GenericDictContains {
        name: name.into(),
        present: false,
    }
}

/// That a dictionary lacks a key.
pub(crate) fn absent_key(key: guards::Key) -> GuardKind {
    GuardKind::DictContains {
        key,
        present: false,
    }
}
