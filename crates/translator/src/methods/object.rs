//! Methods of functions, exceptions, partial objects, classes and other existing objects.

use std::rc::Rc;

use guards::GuardKind;
use pyo3::prelude::*;
use variables::{MethodVar, ObjId, Origin, Var};

use super::is_regex_method;
use crate::raw::type_lookup;
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

impl Tx<'_> {
    /// A method that C gives to an object without contents of its own.
    pub(super) fn plain_method(&mut self, id: ObjId, name: &str, args: Args) -> R<Option<Flow>> {
        let recv = Var::Obj(id);
        let class = self.obj(id).class.clone();
        if class.is(&self.known.asks_no_class) {
            return (self.rules.torch.ask_no_class)(self, &recv, name);
        }
        if self.is_subtype(&class, &self.known.base_exception)
            && let Some(flow) = (self.rules.builtins.exception_method)(self, id, name, &args)?
        {
            return Ok(Some(flow));
        }
        if let Origin::Source { obj, source } = self.obj(id).origin.clone()
            && is_regex_method(class.bind(self.py).cast().map_err(PyErr::from)?, name)?
        {
            let pinned = self.pin(&obj, true);
            self.guard(source, GuardKind::IdMatch { obj: pinned });
            return (self.rules.builtins.regex_method)(self, &obj, name, args);
        }
        if let Some(flow) = (self.rules.builtins.tracked_method)(self, id, name, &args)? {
            return Ok(Some(flow));
        }
        if name == "__call__" && self.is_subtype(&class, &self.known.partial.clone()) {
            return self.call_new_partial(id, args).map(Some);
        }
        // `object`'s takes nothing and does nothing; other C classes have contents of their own.
        let objects = self.known.object.bind(self.py).getattr("__init__")?;
        let init = type_lookup(class.bind(self.py).cast().map_err(PyErr::from)?, name);
        if name == "__init__"
            && args.pos.is_empty()
            && args.kw.is_empty()
            && init.is_some_and(|i| i.is(&objects))
        {
            return Ok(Some(Flow::Value(self.none())));
        }
        Ok(None)
    }

    /// `functools.partial` objects made while translating: `func`, `args` and `keywords` are
    /// attributes of the tracked object.
    pub(crate) fn call_new_partial(&mut self, id: ObjId, args: Args) -> R<Flow> {
        let attr = |tx: &Self, n: &str| tx.obj(id).attrs.get(n).cloned().flatten();
        let (Some(func), Some(first), Some(kw)) = (
            attr(self, "func"),
            attr(self, "args"),
            attr(self, "keywords"),
        ) else {
            return Err(Stop::unsupported(
                "calling a functools.partial object from outside",
            ));
        };
        let mut pos = self.iterate(&first)?;
        pos.extend(args.pos);
        let mut all = self.keyword_items(&kw)?;
        for (n, v) in args.kw {
            match all.iter_mut().find(|(m, _)| *m == n) {
                Some(slot) => slot.1 = v,
                None => all.push((n, v)),
            }
        }
        self.call(&func, Args { pos, kw: all })
    }

    /// A method of a function.
    ///
    /// # Errors
    /// Whatever the method raises.
    pub fn function_method(&mut self, recv: &Var, name: &str, args: Args) -> R<Option<Flow>> {
        match name {
            "__call__" => self.call(recv, args).map(Some),
            "__get__" => {
                let a = self.positional("__get__", args, 1, 2)?;
                let obj = self.realize(&a[0])?;
                // A method is bound already.
                if obj.is_none(self.py) || matches!(recv, Var::Method(_)) {
                    return Ok(Some(Flow::Value(recv.clone())));
                }
                Ok(Some(Flow::Value(Var::Method(Rc::new(MethodVar {
                    func: recv.clone(),
                    receiver: obj,
                })))))
            }
            _ => Ok(None),
        }
    }

    /// As [`Tx::from_const`], for an object of any GIL lifetime.
    pub fn adopt(&mut self, v: &Bound<'_, PyAny>) -> R<Var> {
        let owned = v.clone().unbind();
        self.from_const(owned.bind(self.py).clone())
    }
}
