//! Attributes that are written on existing classes and functions.
//!
//! These objects are used by identity. What is written on one is kept by an object of the effects table that
//! stands for it there, its holder, until the residual code writes it.
//!
//! Invariant: a holder has no descriptors, no names that Python or torch give a meaning, and nothing is
//! deleted. Whoever looks a name up in a class sees what its holders have, or breaks.

use std::sync::Arc;

use guards::{GuardKind, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyType};
use variables::{Body, Obj, ObjId, ObjState, PyVar, Var};

use super::{Descriptor, absent, is_heap_type};
use crate::raw::{instance_dict, type_lookup};
use crate::stop::{R, Stop};
use crate::tx::{Flow, Tx};

/// What a class of the MRO has under a name.
enum Found {
    /// written here
    Written(Var),
    /// what it has had at the start
    Real,
}

impl<'py> Tx<'py> {
    /// `class.name = value`.
    ///
    /// # Errors
    /// A break where a metaclass, a descriptor or Python itself has a say.
    pub(super) fn set_class_attr(
        &mut self,
        class: &Bound<'py, PyType>,
        name: &Arc<str>,
        value: Option<Var>,
    ) -> R<Flow> {
        let refused = || Stop::unsupported(format!("setting attribute {name} of a class"));
        let object = class.clone().into_any().unbind();
        let is_tensor = self.is_subtype(&object, &self.known.tensor.clone());
        let Some(value) = value.filter(|_| !is_reserved(name) && !is_tensor) else {
            return Err(refused());
        };
        // A dictionary of the class that was looked at would not show it.
        let dict = self.plain_mapping_under(&class.getattr("__dict__")?)?;
        let is_seen = dict.is_some_and(|d| self.st.effects.known(d.as_ptr() as usize).is_some());
        if !is_heap_type(class) || is_seen || !self.is_plain(&value)? {
            return Err(refused());
        }
        // What decides where output goes is read by calls that wait.
        if self.is_outlet(&object)? {
            return Err(refused());
        }
        let meta = class.get_type().into_any().unbind();
        let source = self.class_source(&object);
        if is_heap_type(&class.get_type()) {
            // It may get another one.
            self.guard_type(class.as_any(), source);
        }
        // They may show the class when calls that wait are made.
        for (name, owner) in [
            ("__setattr__", self.known.type_.clone()),
            ("__repr__", self.known.type_.clone()),
            ("__str__", self.known.object.clone()),
            ("__format__", self.known.object.clone()),
        ] {
            let plain = owner.bind(self.py).getattr(name)?;
            let found = self.class_lookup(&meta, name)?;
            if !found.is_some_and(|found| found.is(&plain)) {
                return Err(refused());
            }
        }
        if self.class_lookup(&meta, name)?.is_some() {
            return Err(refused());
        }
        if !self.holds_no_descriptor(&object, name)? {
            return Err(refused());
        }
        let holder = self.holder(&object, meta, source);
        self.st.effects.write_attr(holder, name, Some(value));
        Ok(Flow::Value(self.none()))
    }

    /// `function.name = value`.
    ///
    /// # Errors
    /// A break where Python itself has a say, or the program has the function's dictionary.
    pub(super) fn set_function_attr(
        &mut self,
        p: &PyVar,
        name: &Arc<str>,
        value: Option<Var>,
    ) -> R<Flow> {
        let refused = || Stop::unsupported(format!("setting attribute {name} of a function"));
        let Some(value) = value.filter(|_| !is_reserved(name)) else {
            return Err(refused());
        };
        let dict = instance_dict(p.obj.bind(self.py));
        if dict.is_none_or(|d| self.st.effects.known(d.as_ptr() as usize).is_some()) {
            return Err(refused());
        }
        let source = match p.source {
            Some(source) => {
                let obj = self.pin(&p.obj, true);
                self.guard(source, GuardKind::IdMatch { obj });
                source
            }
            None => self.pinned_source(&p.obj, true, "function"),
        };
        let class = self.known.function.clone();
        let holder = self.holder(&p.obj, class, source);
        self.st.effects.write_attr(holder, name, Some(value));
        Ok(Flow::Value(self.none()))
    }

    /// What was written here for an attribute of an existing function.
    ///
    /// # Errors
    /// A break where the program has the function's dictionary and changed it, or asks for the dictionary of one
    /// that has changed.
    pub(super) fn written_on_function(&mut self, p: &PyVar, name: &str) -> R<Option<Var>> {
        let held = self.st.effects.holder(p.obj.as_ptr() as usize);
        if let Some(holder) = held {
            if name == "__dict__" {
                return Err(Stop::unsupported(
                    "`__dict__` of a function that has changed",
                ));
            }
            let written = self.obj(holder).attrs.get(name);
            if let Some(written) = written.cloned().flatten() {
                return Ok(Some(written));
            }
        }
        let f = p.obj.bind(self.py);
        if crate::raw::may_have_marks(f)
            && let Some(dict) = instance_dict(f)
            && let Some(Var::Obj(id)) = self.st.effects.known(dict.as_ptr() as usize)
            && self.obj(*id).is_dirty()
        {
            return Err(Stop::unsupported(
                "an attribute of a function whose `__dict__` has changed",
            ));
        }
        Ok(None)
    }

    /// What was written here that the MRO of a class gives for a name.
    ///
    /// # Errors
    /// Those of looking at the class.
    pub(super) fn written_on_class(&mut self, class: &Obj, name: &str) -> R<Option<Var>> {
        if !self.st.effects.any_held() {
            return Ok(None);
        }
        Ok(match self.find_in_class(class, name)? {
            Some((owner, Found::Written(value))) => {
                self.guard_owner(class, &owner, name);
                Some(value)
            }
            _ => None,
        })
    }

    /// Breaks where a class gives something for a name that was written here.
    ///
    /// # Errors
    /// Said above.
    pub(super) fn not_written_on_class(&self, class: &Obj, name: &str) -> R<()> {
        if self.st.effects.any_held()
            && let Some((_, Found::Written(_))) = self.find_in_class(class, name)?
        {
            return Err(Stop::unsupported(format!(
                "attribute {name} of a class that has changed"
            )));
        }
        Ok(())
    }

    /// As [`Tx::class_lookup`]; what may change from call to call is held to its type: tensors, containers, and
    /// numbers that have changed.
    ///
    /// # Errors
    /// As [`Tx::class_lookup`].
    pub(super) fn class_lookup_of_value(&mut self, class: &Obj, name: &str) -> R<Option<Obj>> {
        let ty = class.bind(self.py).cast::<PyType>().map_err(PyErr::from)?;
        let found = type_lookup(ty, name);
        let Some(held) = found.filter(|found| self.may_change(name, found.bind(self.py))) else {
            return self.class_lookup(class, name);
        };
        let Some((owner, Found::Real)) = self.find_in_class(class, name)? else {
            return self.class_lookup(class, name);
        };
        if !is_heap_type(owner.bind(self.py).cast().map_err(PyErr::from)?) {
            return self.class_lookup(class, name);
        }
        let base = self.class_source(&owner);
        let name: Arc<str> = name.into();
        let source = self.source(Source::MroAttr {
            base,
            name: name.clone(),
        });
        let value = self.lazy(held.clone(), source);
        if !is_number(held.bind(self.py)) {
            self.guard_type(held.bind(self.py), source);
        } else if self.as_dynamic(&value).is_none() && self.as_dynamic_float(&value).is_none() {
            return self.class_lookup(class, &name);
        }
        self.guard_owner(class, &owner, &name);
        self.guard(
            base,
            GuardKind::GenericDictContains {
                name,
                present: true,
            },
        );
        Ok(Some(held))
    }

    /// The source of what a class gives for a name. What may change from call to call is that of the class that
    /// has it.
    pub(super) fn class_value_source(&mut self, class: &Obj, name: &str, value: &Obj) -> SourceId {
        let owner = match self.may_change(name, value.bind(self.py)) {
            true => self.find_in_class(class, name).ok().flatten(),
            false => None,
        };
        let base = match owner {
            Some((owner, _)) => self.class_source(&owner),
            None => self.class_source(class),
        };
        self.source(Source::MroAttr {
            base,
            name: name.into(),
        })
    }

    /// Whether what a class gives for a name, if anything, is no descriptor: in later calls as well.
    fn holds_no_descriptor(&mut self, class: &Obj, name: &str) -> R<bool> {
        match self.find_in_class(class, name)? {
            Some((_, Found::Written(_))) => return Ok(true),
            Some((_, Found::Real)) => {}
            None => return Ok(self.class_lookup(class, name)?.is_none()),
        }
        let ty = class.bind(self.py).cast::<PyType>().map_err(PyErr::from)?;
        let Some(found) = type_lookup(ty, name) else {
            return Ok(false);
        };
        let base = self.class_source(class);
        let source = self.source(Source::MroAttr {
            base,
            name: name.into(),
        });
        self.guard_type(found.bind(self.py), source);
        let kind = self.guarded_descriptor(class, name, &found)?;
        Ok(matches!(kind, Descriptor::Value))
    }

    fn find_in_class(&self, class: &Obj, name: &str) -> R<Option<(Obj, Found)>> {
        let class = class.bind(self.py).cast::<PyType>().map_err(PyErr::from)?;
        for c in class.mro().iter() {
            let written = self.st.effects.holder(c.as_ptr() as usize);
            let written = written.and_then(|h| self.obj(h).attrs.get(name).cloned().flatten());
            if let Some(value) = written {
                return Ok(Some((c.unbind(), Found::Written(value))));
            }
            if c.getattr("__dict__")?.contains(name)? {
                return Ok(Some((c.unbind(), Found::Real)));
            }
        }
        Ok(None)
    }

    /// Holds a class to getting a name from one of its bases.
    fn guard_owner(&mut self, class: &Obj, owner: &Obj, name: &str) {
        if class.is(owner) {
            return;
        }
        self.guard_mro(class);
        let Ok(ty) = class.bind(self.py).cast::<PyType>() else {
            return;
        };
        for c in ty.mro().iter().take_while(|c| !c.is(owner)) {
            if c.cast::<PyType>().is_ok_and(is_heap_type) {
                let source = self.class_source(&c.unbind());
                self.guard(source, absent(name));
            }
        }
    }

    /// Whether a class's value is of a kind that programs replace.
    fn may_change(&self, name: &str, value: &Bound<'_, PyAny>) -> bool {
        let class = value.get_type();
        let containers = [&self.known.list, &self.known.dict, &self.known.set];
        !is_reserved(name)
            && (is_number(value)
                || self.known.tensor_types.contains(&(class.as_ptr() as usize))
                || containers.iter().any(|k| class.is(k.bind(self.py))))
    }

    fn holder(&mut self, obj: &Obj, class: Obj, source: SourceId) -> ObjId {
        let addr = obj.as_ptr() as usize;
        if let Some(holder) = self.st.effects.holder(addr) {
            return holder;
        }
        let state = ObjState::existing(class, Body::Plain, obj.clone(), source);
        self.st.effects.hold(addr, state)
    }

    /// Whether a value is no descriptor.
    fn is_plain(&mut self, value: &Var) -> R<bool> {
        if self.class_of_simple(value).is_some() {
            return Ok(true);
        }
        let value = self.look(value)?;
        Ok(match &value {
            Var::Const(_) | Var::Int(_) | Var::Float(_) | Var::Tensor(_) => true,
            Var::Tuple(t) => t.class.is_none(),
            Var::Obj(id) => {
                let class = self.obj(*id).class.clone();
                let is_plain = matches!(self.obj(*id).body, Body::Plain)
                    && is_heap_type(class.bind(self.py).cast().map_err(PyErr::from)?);
                let mut none = is_plain || self.is_builtin_container(&class);
                for hook in ["__get__", "__set__", "__delete__"] {
                    none = none && self.class_lookup(&class, hook)?.is_none();
                }
                none
            }
            _ => false,
        })
    }
}

/// Whether a value is one that may be an input of the graph.
fn is_number(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyInt>() || value.is_exact_instance_of::<PyFloat>()
}

/// Whether a name means something to Python, or to tracers.
fn is_reserved(name: &str) -> bool {
    name.starts_with("__") && name.ends_with("__")
        || name.starts_with("_torch")
        || name.starts_with("_dynamo")
}
