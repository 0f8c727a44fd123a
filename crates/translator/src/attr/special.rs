//! Attributes of constants, `super` objects and functions made while translating.

use super::{Descriptor, is_heap_type};
use crate::raw::{type_lookup, type_lookup_after};
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};
use guards::GuardKind;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::rc::Rc;
use std::sync::Arc;
use variables::{Body, MethodVar, Obj, OrderedMap, Var};
impl<'py> Tx<'py> {
    pub(crate) fn const_attr(&mut self, obj: &Var, value: &Obj, name: &Arc<str>) -> R<Flow> {
        let py = self.py;
        match value.bind(py).getattr(&**name) {
            Ok(v) => {
                let ty = v.get_type();
                // A function of C++ is bound like one of Python.
                let of_c = match ty.is(self.known.method.bind(py)) {
                    true => v.getattr("__func__")?.get_type(),
                    false => ty,
                };
                if of_c.is(self.known.builtin_function.bind(py))
                    || of_c.is(self.known.method_wrapper.bind(py))
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

    pub(crate) fn super_attr(&mut self, s: &variables::SuperVar, name: &Arc<str>) -> R<Flow> {
        let py = self.py;
        let start = s
            .start
            .bind(py)
            .cast::<PyType>()
            .map_err(PyErr::from)?
            .clone();
        // The MRO changes only with `__bases__`; each class on the way is held by what it gives for
        // the name.
        self.guard_bases(&s.start);
        for c in start.mro().iter() {
            self.not_written_on_class(&c.unbind(), name)?;
        }
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
        let Some((d, owner)) = type_lookup_after(&start, s.after.bind(py), name) else {
            // What the object that `super()` gives has itself.
            match &**name {
                "__self__" => return Ok(Flow::Value(s.receiver.clone())),
                "__thisclass__" => return Ok(Flow::Value(Var::py(s.after.clone()))),
                "__self_class__" => return Ok(Flow::Value(Var::py(s.start.clone()))),
                "__get__" => return Err(Stop::unsupported("super().__get__")),
                _ => {}
            }
            return Err(self.raise(
                "AttributeError",
                &format!("'super' object has no attribute '{name}'"),
            ));
        };
        let receiver = s.receiver.clone();
        if let Var::Tensor(t) = &receiver
            && d.bind(py).get_type().is(&self.known.getset_descriptor)
        {
            return self.tensor_attr_of_torch(&t.clone(), &receiver, name);
        }
        let descriptor = self.descriptor(&d);
        if matches!(&receiver, Var::Py(p) if p.obj.is(&s.start)) {
            // A class that stands for itself: what would be bound to an instance is not bound.
            match descriptor {
                Descriptor::Function | Descriptor::Property | Descriptor::BuiltinMethod => {
                    return Ok(Flow::Value(Var::py(d)));
                }
                _ => {}
            }
        }
        match descriptor {
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
            Descriptor::BuiltinMethod => Ok(Flow::Value(
                match self.is_own_method(&receiver, name, &d)? {
                    true => Var::BuiltinMethod(Rc::new((receiver, name.clone()))),
                    false => Var::Method(Rc::new(MethodVar {
                        func: Var::py(d),
                        receiver,
                    })),
                },
            )),
            Descriptor::Value if &**name == "__new__" => Ok(Flow::Value(Var::py(d))),
            Descriptor::Value => Ok(Flow::Value(self.class_value(&owner, name, &d))),
            _ => Err(Stop::unsupported(format!("super().{name}"))),
        }
    }

    /// Whether an object itself gives this method of C code by that name: nothing is in front of it.
    fn is_own_method(&mut self, obj: &Var, name: &Arc<str>, method: &Obj) -> R<bool> {
        if !matches!(obj, Var::Obj(_) | Var::Py(_)) {
            return Ok(false);
        }
        let class = self.type_of(obj)?;
        let ty = class.bind(self.py).cast::<PyType>();
        let own = type_lookup(ty.map_err(PyErr::from)?, name);
        if !own.is_some_and(|own| own.is(method)) || self.instance_dict_attr(obj, name)?.is_some() {
            return Ok(false);
        }
        let guarded = self.class_lookup(&class, name)?;
        Ok(guarded.is_some_and(|own| own.is(method)))
    }

    /// Attribute of a function made while translating.
    pub(crate) fn new_function_attr(
        &mut self,
        obj: &Var,
        f: &Rc<variables::FuncVar>,
        name: &Arc<str>,
    ) -> R<Flow> {
        if let Some(v) = self.obj(f.obj).attrs.get(name).cloned() {
            let message = format!("'function' object has no attribute '{name}'");
            return match v {
                Some(v) => Ok(Flow::Value(v)),
                None => Err(self.raise("AttributeError", &message)),
            };
        }
        if &**name == "__dict__" {
            return self.function_dict(f).map(Flow::Value);
        }
        if self.obj(f.obj).dict.is_some()
            && !self.is_c_level(&self.known.function, name)
            && let Some(v) = self.instance_dict_attr(&Var::Obj(f.obj), name)?
        {
            return Ok(Flow::Value(v));
        }
        let code = |n: &str| -> R<Obj> { Ok(f.code.bind(self.py).getattr(n)?.unbind()) };
        Ok(Flow::Value(match &**name {
            "__name__" => Var::Const(code("co_name")?),
            "__qualname__" => Var::Const(code("co_qualname")?),
            "__code__" => Var::py(f.code.clone()),
            "__defaults__" => f.defaults.clone().unwrap_or_else(|| self.none()),
            "__kwdefaults__" => f.kwdefaults.clone().unwrap_or_else(|| self.none()),
            "__doc__" => {
                let code = f.code.bind(self.py);
                let consts = code.getattr("co_consts")?;
                let flags: u32 = code.getattr("co_flags")?.extract()?;
                match consts
                    .get_item(0)
                    .ok()
                    .filter(|c| c.is_instance_of::<pyo3::types::PyString>())
                    .filter(|_| self.version().has_docstring(flags))
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
            "__annotations__" => self.function_annotations(f)?,
            "__annotate__" if self.is_c_level(&self.known.function, "__annotate__") => {
                f.annotate.clone().unwrap_or_else(|| self.none())
            }
            "__type_params__" if self.version().has_type_parameters() => Var::tuple(Vec::new()),
            _ if self.known.function.bind(self.py).hasattr(&**name)? => {
                return Err(Stop::unsupported(format!(
                    "attribute {name} of a function made while tracing"
                )));
            }
            _ => {
                return Err(self.raise(
                    "AttributeError",
                    &format!("'function' object has no attribute '{name}'"),
                ));
            }
        }))
    }

    /// The dictionary of a new function's annotations; from now on the function has this one.
    fn function_annotations(&mut self, f: &Rc<variables::FuncVar>) -> R<Var> {
        let written = self.obj(f.obj).attrs.get("__annotate__").cloned().flatten();
        let own = f.annotate.clone().filter(|_| f.annotations.is_none());
        let annotate = written.or(own).filter(|v| !v.is_none(self.py));
        let annotations = match (annotate, &f.annotations) {
            (Some(annotate), _) => {
                // `annotationlib.Format.VALUE`
                let format = Args::pos(vec![self.int(1)]);
                let made = self.call_sync(&annotate, format)?;
                self.realize(&made)?
            }
            (None, Some(given)) => self.realize(given)?,
            (None, None) => Var::tuple(Vec::new()),
        };
        let dict = match annotations {
            // They travel as a flat tuple.
            Var::Tuple(parts) => {
                let class = self.known.dict.clone();
                let dict = Var::Obj(self.new_object(class, Body::Dict(OrderedMap::default())));
                for pair in parts.items.chunks_exact(2) {
                    self.map_add(&dict, pair[0].clone(), pair[1].clone())?;
                }
                dict
            }
            dict => dict,
        };
        let name = Arc::from("__annotations__");
        self.st.effects.write_attr(f.obj, &name, Some(dict.clone()));
        Ok(dict)
    }
}
