//! Methods of builtin types, called by name on tracked receivers.
//!
//! Lives here: what `[].append(x)`, `{}.get(k)` and the like do, one type a module. Does not live here: operators and
//! subscripts (`values`), tensors; constructors, methods of constants, of sequences, sets
//! and dictionaries, and special methods called by
//! name (the crate `builtins`).
//!
//! Invariant: a method whose arguments do not bind raises `TypeError`; one without a rule breaks.

mod binding;
mod dict;
mod iterators;
mod object;

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyType;
use variables::{Body, Origin, Var};

use crate::raw::{method_arity, type_lookup};
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

/// Whether a text's method says the same of one of a class of its own.
fn is_text_method(name: &str) -> bool {
    !name.starts_with("__")
        || matches!(
            name,
            "__str__"
                | "__repr__"
                | "__len__"
                | "__contains__"
                | "__iter__"
                | "__getitem__"
                | "__add__"
                | "__mod__"
                | "__mul__"
                | "__rmul__"
                | "__format__"
        )
}

/// Whether a method belongs to a regular expression or to a match, and reads nothing but text.
pub fn is_regex_method(class: &Bound<'_, PyType>, name: &str) -> PyResult<bool> {
    let kind = class.name()?;
    Ok(match kind.to_str()? {
        "Pattern" => matches!(
            name,
            "match" | "fullmatch" | "search" | "sub" | "subn" | "split" | "findall" | "finditer"
        ),
        "Match" => matches!(
            name,
            "group" | "groups" | "groupdict" | "start" | "end" | "span" | "expand" | "__getitem__"
        ),
        _ => false,
    } && class.module()?.to_str()? == "re")
}

impl Tx<'_> {
    /// Calls a method of a builtin type, by name: the builtin's own, whatever a subclass overrides.
    ///
    /// # Errors
    /// Whatever the method raises; a break where it has no rule.
    pub fn call_builtin_method(&mut self, recv: &Var, name: &Arc<str>, args: Args) -> R<Flow> {
        let recv = self.realize(recv)?;
        if let Some(mapping) = self.mapping_under(&recv)?
            && !matches!(&**name, "__repr__" | "__str__" | "__hash__" | "__ior__")
        {
            let mut args = args;
            if let ("__or__" | "__ror__", [other]) = (&**name, &mut args.pos[..]) {
                let shown = self.realize(other)?;
                *other = self.mapping_under(&shown)?.unwrap_or(shown);
            }
            return self.call_builtin_method(&mapping, name, args);
        }
        // `str.format` gives a text without fields back as it is.
        if let Some(plain) = self.plain_value(&recv)
            && self.base_has(&recv, name)?
            && &**name != "format"
        {
            return self.call_builtin_method(&plain, name, args);
        }
        self.no_wrong_arity(&recv, name, &args)?;
        let given = match &recv {
            // Only `object`'s own constructor is called on what has no other.
            Var::Const(o) if &**name != "__iter__" => {
                (self.rules.builtins.constant_method)(self, &o.clone(), name, args.clone())?
            }
            Var::Tuple(t) => {
                (self.rules.builtins.tuple_method)(self, &t.clone(), name, args.clone())?
            }
            Var::Slice(s) => {
                (self.rules.builtins.slice_method)(self, &s.clone(), name, args.clone())?
            }
            Var::Obj(id) => {
                let id = *id;
                match &self.obj(id).body {
                    _ if self.array_id(&recv).is_some() => {
                        (self.rules.arrays.method)(self, &recv, name, &args)?
                    }
                    Body::List(_) | Body::Deque(..) => {
                        (self.rules.builtins.sequence_method)(self, id, name, args.clone())?
                    }
                    Body::Dict(_) => {
                        (self.rules.builtins.dict_method)(self, id, name, args.clone())?
                    }
                    Body::Set(_) => {
                        (self.rules.builtins.set_method)(self, &recv, name, args.clone())?
                    }
                    Body::DictView(..) => {
                        (self.rules.builtins.view_method)(self, id, name, args.clone())?
                    }
                    Body::Iter(_) => self.iterator_method(id, name, args.clone())?,
                    Body::Generator(_) => self.generator_method(id, name, args.clone())?,
                    Body::Result(_)
                    | Body::Array(_)
                    | Body::OfNode(_)
                    | Body::Address(_)
                    | Body::DataPointer(_)
                    | Body::RaggedSize(..)
                    | Body::MappingProxy(_) => None,
                    Body::Plain | Body::Cell(_) | Body::Value(_) => {
                        self.plain_method(id, name, args.clone())?
                    }
                }
            }
            Var::Func(_) | Var::Method(_) | Var::BuiltinMethod(_) => {
                self.function_method(&recv, name, args.clone())?
            }
            Var::Py(p) if self.is_constant_mapping(p) => {
                let items = self.known.dict.bind(self.py).call1((&p.obj,))?;
                let items = self.from_const(items)?;
                return self.call_builtin_method(&items, name, args);
            }
            Var::Py(p) => match self.plain_text(&recv).filter(|_| is_text_method(name)) {
                Some(text) => return self.call_builtin_method(&Var::Const(text), name, args),
                None => (self.rules.builtins.existing_method)(
                    self,
                    &recv,
                    &p.obj.clone(),
                    name,
                    args.clone(),
                )?,
            },
            _ => None,
        };
        if let Some(flow) = given {
            return Ok(flow);
        }
        if let Var::Const(o) = &recv
            && o.bind(self.py)
                .get_type()
                .is(self.known.frozenset.bind(self.py))
            && let Some(flow) = (self.rules.builtins.set_method)(self, &recv, name, args.clone())?
        {
            return Ok(flow);
        }
        if matches!(&**name, "__reduce_ex__" | "__getstate__")
            && let Some(flow) = (self.rules.builtins.reduce_method)(self, &recv, name, &args)?
        {
            return Ok(flow);
        }
        let mut of_receiver = args.clone();
        of_receiver.pos.insert(0, recv.clone());
        if let Some(flow) = (self.rules.builtins.dunder_method)(self, &recv, name, args)? {
            return Ok(flow);
        }
        let class = self.type_of(&recv)?;
        let class_name = self.class_name(&class);
        if let Some(method) = class.bind(self.py).getattr_opt(&**name)? {
            if let Some((listed, rule)) = self.rules.of(&method)
                && let Some(flow) = rule(self, listed, of_receiver)?
            {
                return Ok(flow);
            }
        } else {
            return Err(self.raise(
                "AttributeError",
                &format!("'{class_name}' object has no attribute '{name}'"),
            ));
        }
        let is_lock = class.is(&self.known.lock) || class.is(&self.known.rlock);
        if is_lock && matches!(&**name, "__enter__" | "acquire") {
            return Err(Stop::locks(format!("{class_name}.{name}")));
        }
        if let ("__call__", Var::Obj(id)) = (&**name, &recv)
            && let Origin::Source { obj, .. } = &self.obj(*id).origin
        {
            return Err(self.skipped(obj.bind(self.py)));
        }
        Err(Stop::unsupported(format!(
            "method {name} of {class_name}, called on {}",
            self.describe(&recv)
        )))
    }

    /// Refuses more or fewer arguments than a C method of no or one argument takes, in the words of
    /// CPython's `method_vectorcall_NOARGS` and `method_vectorcall_O`.
    fn no_wrong_arity(&mut self, recv: &Var, name: &str, args: &Args) -> R<()> {
        let given = args.pos.len();
        let class = self.type_of(recv)?;
        let Ok(class) = class.bind(self.py).cast::<PyType>() else {
            return Ok(());
        };
        let Some(method) = type_lookup(class, name) else {
            return Ok(());
        };
        let method = method.bind(self.py);
        let takes = match method_arity(method) {
            Some(_) if !args.kw.is_empty() => "no keyword arguments".to_owned(),
            Some(0) if given != 0 => format!("no arguments ({given} given)"),
            Some(1) if given != 1 => format!("exactly one argument ({given} given)"),
            _ => return Ok(()),
        };
        let name = method.getattr("__qualname__")?;
        Err(self.raise("TypeError", &format!("{name}() takes {takes}")))
    }
}
