//! Calls of classes, and `super`. Does not live here: what `__new__` of C classes makes (the crate `builtins`).

use super::Constants;
use crate::state::OnReturn;
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::rc::Rc;
use std::sync::Arc;
use variables::{Body, Obj, SuperVar, Var};
impl<'py> Tx<'py> {
    /// `cls(*args)`.
    pub(crate) fn construct(&mut self, class: &Bound<'py, PyType>, f: &Var, args: Args) -> R<Flow> {
        let py = self.py;
        let k = self.known.clone();
        let meta = class.get_type();
        if !meta.is(k.type_.bind(py))
            && let Some(call) = self.class_lookup(&meta.clone().into_any().unbind(), "__call__")?
            && !call.bind(py).get_type().is(k.wrapper_descriptor.bind(py))
            && !crate::tx::qualified_name(meta.as_any()).starts_with("abc.")
        {
            if !call.bind(py).get_type().is(k.function.bind(py)) {
                // `typing.TypedDict` has `dict` there, which is no descriptor.
                return match call.bind(py).is_instance_of::<PyType>() {
                    true => self.call(&Var::py(call), args),
                    false => Err(Stop::unsupported(
                        "a metaclass whose __call__ is no function",
                    )),
                };
            }
            let mut args = args;
            args.pos.insert(0, f.clone());
            if class.is_subclass(k.enum_.bind(py))? {
                return (self.rules.builtins.enum_member)(self, class, &args);
            }
            return self.call(&Var::py(call), args);
        }
        self.instantiate(class, args)
    }

    /// `type.__call__(cls, *args)`.
    pub fn instantiate(&mut self, class: &Bound<'py, PyType>, args: Args) -> R<Flow> {
        let py = self.py;
        let k = self.known.clone();
        let cls = class.clone().into_any().unbind();
        if class.is_subclass(k.tensor_base.bind(py))? {
            return (self.rules.torch.construct_tensor)(self, class, args);
        }
        let new = self.class_lookup(&cls, "__new__")?;
        let mut init = self.class_lookup(&cls, "__init__")?;
        let is_function = |o: &Option<Obj>| {
            o.as_ref()
                .is_some_and(|o| o.bind(py).get_type().is(k.function.bind(py)))
        };
        let new_function = new.as_ref().and_then(|n| {
            let b = n.bind(py);
            if b.get_type().is(k.function.bind(py)) {
                // Set after the class was made, so that nothing wrapped it.
                return Some(b.clone());
            }
            (b.get_type().is(k.staticmethod.bind(py)))
                .then(|| b.getattr("__func__").ok())
                .flatten()
        });
        if let (None, Some(new)) = (&new_function, &new)
            && !new.bind(py).get_type().is(k.builtin_function.bind(py))
        {
            return Err(Stop::unsupported("a __new__ that is no function"));
        }
        let instance = if let Some(new) = new_function {
            let mut new_args = args.clone();
            new_args.pos.insert(0, Var::py(cls.clone()));
            let made = self.call_sync(&Var::py(new.unbind()), new_args)?;
            let actual = self.type_of(&made)?;
            if !actual.is(&cls) {
                // As `type.__call__`: no `__instancecheck__` is asked.
                self.guard_bases(&actual);
                let bases = actual.bind(py).cast::<PyType>().map_err(PyErr::from)?.mro();
                if !bases.iter().any(|base| base.is(class)) {
                    return Ok(Flow::Value(made));
                }
                init = self.class_lookup(&actual, "__init__")?;
            }
            made
        } else {
            match (self.rules.builtins.allocate)(self, class, &args)? {
                Some(v) => v,
                None => return (self.rules.builtins.construct)(self, class, args),
            }
        };
        if is_function(&init) {
            let mut args = args;
            args.pos.insert(0, instance.clone());
            let init = init.expect("checked above");
            let callee = self.existing_callee(&init.bind(py).clone(), None)?;
            return self.inline(callee, args, OnReturn::PushInstance(instance));
        }
        if let Some(init) = &init
            && !init.bind(py).get_type().is(k.wrapper_descriptor.bind(py))
            && !init.bind(py).get_type().is(k.method_descriptor.bind(py))
        {
            return Err(Stop::unsupported("an __init__ that is no function"));
        }
        let is_container = matches!(&instance, Var::Obj(id) if !matches!(self.obj(*id).body, Body::Plain | Body::Value(_)));
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

    /// The arguments as real objects, if all of them are constants.
    ///
    /// # Errors
    /// As [`Tx::realize`].
    pub fn constants(&mut self, args: &Args) -> R<Option<Constants<'py>>> {
        self.args_as(args, Self::as_const)
    }

    /// `super()` and `super(class, obj)`.
    pub(crate) fn make_super(&mut self, args: Args) -> R<Flow> {
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
                let why = match (&cell, &first) {
                    _ if frame.code.fields.argcount == 0 => Some("no arguments"),
                    (_, None) => Some("arg[0] deleted"),
                    (None, _) => Some("__class__ cell not found"),
                    _ => None,
                };
                let (Some(cell), Some(first), None) = (cell, first, why) else {
                    let why = format!("super(): {}", why.unwrap_or_default());
                    return Err(self.raise("RuntimeError", &why));
                };
                let Ok(class) = self.cell_contents(&cell) else {
                    return Err(self.raise("RuntimeError", "super(): empty __class__ cell"));
                };
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
        let Some(after) = after
            .as_obj()
            .filter(|o| o.bind(self.py).is_instance_of::<PyType>())
            .cloned()
        else {
            return Err(Stop::unsupported("super() of what is no class"));
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
        if !self.is_subtype(&start, &after) {
            return Err(Stop::unsupported("super() of an instance of another class"));
        }
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
}
