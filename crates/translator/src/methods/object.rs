//! Methods of functions, exceptions, partial objects, classes and other existing objects.

use std::rc::Rc;

use guards::{GuardKind, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};
use variables::{MethodVar, Obj, ObjId, Origin, Var};

use super::is_regex_method;
use crate::attr::native::named_tuple_field;
use crate::raw::{derives_from, type_lookup};
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
        if let Some(flow) = (self.rules.builtins.draw_method)(self, id, name, &args)? {
            return Ok(Some(flow));
        }
        if name == "get"
            && let Origin::Source { obj, source } = self.obj(id).origin.clone()
            && class.is(&self.known.context_variable)
        {
            return self.context_variable(&obj, source, &args);
        }
        if name == "__call__" && self.is_subtype(&class, &self.known.partial.clone()) {
            return self.call_new_partial(id, args).map(Some);
        }
        if name == "__call__" && class.is(&self.known.weakref) {
            self.positional("__call__", args, 0, 0)?;
            return (self.rules.builtins.weakref_call)(self, id);
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

    /// `variable.get(...)` of a `ContextVar` from outside; setting one breaks the graph, so that it holds what it held
    /// when guards were checked.
    fn context_variable(&mut self, obj: &Obj, source: SourceId, args: &Args) -> R<Option<Flow>> {
        let Some((given, None)) = self.real_args(args)? else {
            return Ok(None);
        };
        let get = obj.bind(self.py).getattr("get")?;
        let Ok(value) = get.call1(PyTuple::new(self.py, &given)?) else {
            return Ok(None);
        };
        let held = self.pin(obj, true);
        self.guard(source, GuardKind::IdMatch { obj: held });
        let given: Vec<_> = given.into_iter().map(Bound::unbind).collect();
        self.guard_call(&get.unbind(), None, &given, &value)?;
        if value.get_type().is(self.known.object.bind(self.py)) {
            let value = value.unbind();
            let source = self.pinned_source(&value, false, "sentinel");
            return self.build(&value, source).map(|v| Some(Flow::Value(v)));
        }
        self.from_const(value).map(|v| Some(Flow::Value(v)))
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
    pub(super) fn function_method(
        &mut self,
        recv: &Var,
        name: &str,
        args: Args,
    ) -> R<Option<Flow>> {
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

    /// A method that C gives to an existing object: class, function, descriptor, mapping proxy.
    pub(super) fn existing_method(
        &mut self,
        recv: &Var,
        o: &variables::Obj,
        name: &str,
        args: Args,
    ) -> R<Option<Flow>> {
        let py = self.py;
        let b = o.bind(py).clone();
        let ty = b.get_type();
        let k = self.known.clone();
        if ty.is(k.function.bind(py)) {
            return self.function_method(recv, name, args);
        }
        if name == "__getattribute__"
            && derives_from(&b, k.module_type.bind(py))
            && !ty.hasattr("__getattr__")?
        {
            let a = self.positional("__getattribute__", args, 1, 1)?;
            let attr = self.attr_name(&a[0])?;
            return self.getattr(recv, &attr).map(Some);
        }
        if is_regex_method(&ty, name)? {
            return (self.rules.builtins.regex_method)(self, o, name, args);
        }
        if ty.is(k.property.bind(py)) && name == "__get__" {
            let a = self.positional("__get__", args, 1, 2)?;
            if a[0].is_none(py) {
                return Ok(Some(Flow::Value(recv.clone())));
            }
            let get = self.from_const(b.getattr("fget")?)?;
            return self.call(&get, Args::pos(vec![a[0].clone()])).map(Some);
        }
        if ty.is(k.staticmethod.bind(py)) || ty.is(k.classmethod.bind(py)) {
            let func = Var::py(b.getattr("__func__")?.unbind());
            return match name {
                "__get__" if ty.is(k.staticmethod.bind(py)) => Ok(Some(Flow::Value(func))),
                "__get__" => {
                    let a = self.positional("__get__", args, 1, 2)?;
                    let receiver = match a.get(1) {
                        Some(c) if !c.is_none(py) => c.clone(),
                        _ => Var::py(self.type_of(&a[0])?),
                    };
                    Ok(Some(Flow::Value(Var::Method(Rc::new(MethodVar {
                        func,
                        receiver,
                    })))))
                }
                "__call__" => self.call(&func, args).map(Some),
                _ => Ok(None),
            };
        }
        if name == "__get__"
            && matches!(
                &*ty.name()?.to_cow()?,
                "getset_descriptor" | "member_descriptor"
            )
        {
            let a = self.positional("__get__", args, 1, 2)?;
            let attr: String = b.getattr("__name__")?.extract()?;
            let class = self.type_of(&a[0])?;
            // Only where an attribute of that name comes to this very descriptor.
            return match type_lookup(class.bind(py).cast().map_err(PyErr::from)?, &attr) {
                Some(found) if found.is(&b) => self.getattr(&a[0], &attr.into()).map(Some),
                _ => Ok(None),
            };
        }
        if name == "__get__" && ty.name()? == "_lru_cache_wrapper" {
            let a = self.positional("__get__", args, 1, 2)?;
            return Ok(Some(Flow::Value(match a[0].is_none(py) {
                true => recv.clone(),
                false => Var::Method(Rc::new(MethodVar {
                    func: recv.clone(),
                    receiver: a[0].clone(),
                })),
            })));
        }
        if name == "__get__"
            && let Some(index) = named_tuple_field(&b)?
        {
            let a = self.positional("__get__", args, 1, 2)?;
            return match self.realize(&a[0])? {
                Var::Tuple(t) if index < t.items.len() => {
                    Ok(Some(Flow::Value(t.items[index].clone())))
                }
                v if v.is_none(py) => Ok(Some(Flow::Value(recv.clone()))),
                _ => Ok(None),
            };
        }
        if matches!(name, "__call__") && !b.is_instance_of::<PyType>() {
            return self.call(recv, args).map(Some);
        }
        if name == "__call__"
            && let Ok(class) = b.cast::<PyType>()
        {
            return self.instantiate(class, args).map(Some);
        }
        if let ("__instancecheck__", [v]) = (name, &args.pos[..])
            && let Ok(class) = b.cast::<PyType>()
        {
            // `type`'s own, which a metaclass of the program's may call.
            let answer = self.is_plain_instance(v, &class.clone().into_any().unbind())?;
            return Ok(Some(Flow::Value(self.bool(answer))));
        }
        let pure = b.is_instance_of::<PyType>()
            && matches!(
                name,
                "mro"
                    | "__subclasses__"
                    | "__subclasscheck__"
                    | "__or__"
                    | "__ror__"
                    | "__class_getitem__"
                    | "fromkeys"
                    | "from_bytes"
                    | "fromhex"
                    | "maketrans"
            );
        // Methods of enum members of builtin mix-ins (`str`, `int`) and of other objects whose class
        // is C code: reading only.
        let reading = b.is_instance_of::<pyo3::types::PyString>()
            || b.is_instance_of::<pyo3::types::PyInt>()
            || b.is_instance_of::<pyo3::types::PyFloat>()
            || b.is_instance_of::<PyTuple>()
            || b.is_instance_of::<pyo3::types::PyBytes>();
        // What a class is asked for looks at no instance.
        let real = match (pure, reading) {
            (true, _) => self.held_args(&args)?,
            (_, true) => self.real_args(&args)?,
            _ => None,
        };
        if let Some((pos, kw)) = real {
            let name = name.to_owned();
            // The C method itself, not an override of it in a subclass.
            let method = if reading {
                builtin_method(&b, &name)?
            } else {
                Some(b.getattr(&*name)?)
            };
            let Some(method) = method else {
                return Ok(None);
            };
            return self
                .fold(move |py| method.call(PyTuple::new(py, pos)?, kw.as_ref()))
                .map(|v| Some(Flow::Value(v)));
        }
        Ok(None)
    }

    /// As [`Tx::from_const`], for an object of any GIL lifetime.
    pub fn adopt(&mut self, v: &Bound<'_, PyAny>) -> R<Var> {
        let owned = v.clone().unbind();
        self.from_const(owned.bind(self.py).clone())
    }
}

/// A method of an instance's builtin base class, bound.
fn builtin_method<'py>(b: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    for c in b.get_type().mro().iter() {
        let dict = c.getattr("__dict__")?;
        let module = c.getattr("__module__")?;
        if module.eq("builtins")? && dict.contains(name)? {
            return Ok(Some(dict.get_item(name)?.call_method1("__get__", (b,))?));
        }
    }
    Ok(None)
}
