//! Attributes of classes, Python modules and other objects that are used by identity.

use super::Descriptor;
use crate::raw::{dict_get, instance_dict, type_lookup};
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};
use guards::{GuardKind, Source};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::rc::Rc;
use std::sync::Arc;
use variables::{GlobalKey, MethodVar, PyVar, Var};
impl<'py> Tx<'py> {
    /// Attribute of an object that is used by identity.
    pub(crate) fn existing_attr(&mut self, obj: &Var, p: &PyVar, name: &Arc<str>) -> R<Flow> {
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
    pub(crate) fn class_attr(
        &mut self,
        ty: &Bound<'py, PyType>,
        p: &PyVar,
        name: &Arc<str>,
    ) -> R<Flow> {
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
}
