//! `type(x)`, `isinstance` and `issubclass`.

use guards::GuardKind;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use tensor_meta::DeviceKind;
use variables::{Obj, Var};

use super::special::Special;
use crate::attr::Descriptor;
use crate::stop::{R, Stop};
use crate::tx::Tx;

impl Tx<'_> {
    /// The class of a value.
    ///
    /// # Errors
    /// Those of realizing a lazy value.
    pub fn type_of(&mut self, v: &Var) -> R<Obj> {
        if let Some(class) = self.class_of_simple(v) {
            return Ok(class);
        }
        let v = self.look(v)?;
        Ok(match &v {
            Var::Const(o) => o.bind(self.py).get_type().into_any().unbind(),
            Var::Int(_) => self.known.int.clone(),
            Var::Float(_) => self.known.float.clone(),
            Var::Tensor(t) => t.class.clone(),
            Var::Tuple(t) => t.class.clone().unwrap_or_else(|| self.known.tuple.clone()),
            Var::Slice(_) => self.known.slice.clone(),
            Var::Obj(id) => self.obj(*id).class.clone(),
            Var::Func(_) => self.known.function.clone(),
            Var::Method(_) => self.known.method.clone(),
            Var::BuiltinMethod(_) => self.known.builtin_function.clone(),
            Var::Super(_) => self.known.super_.clone(),
            Var::Py(p) => p.obj.bind(self.py).get_type().into_any().unbind(),
            Var::Null | Var::Handled(_) | Var::Lazy(_) | Var::Computed(_) | Var::Text(_) => {
                return Err(Stop::Internal("type of no value".into()));
            }
        })
    }

    /// `isinstance(v, classinfo)`.
    ///
    /// # Errors
    /// `TypeError` as Python raises it; whatever a user's `__instancecheck__` does.
    pub fn isinstance(&mut self, v: &Var, classinfo: &Var) -> R<bool> {
        let v = match self.class_of_simple(v) {
            Some(_) => v.clone(),
            None => self.look(v)?,
        };
        let info = self.realize(classinfo)?;
        if let Var::Tuple(t) = &info {
            for c in &t.items {
                if self.isinstance(&v, c)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        let class = self.type_of(&v)?;
        let Some(info_obj) = info.as_obj().cloned() else {
            return Err(self.raise(
                "TypeError",
                "isinstance() arg 2 must be a type, a tuple of types, or a union",
            ));
        };
        if class.is(&info_obj) {
            return Ok(true);
        }
        self.guard_bases(&class);
        if let Some(members) = self.union_members(&info_obj)? {
            for m in members {
                if self.isinstance(&v, &Var::py(m))? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        let b = info_obj.bind(self.py);
        let is_class = b.is_instance_of::<PyType>();
        if is_class && b.get_type().is(self.known.type_.bind(self.py)) {
            return self.is_plain_instance(&v, &info_obj);
        }
        if info_obj.is(&self.known.parameter) || info_obj.is(&self.known.buffer) {
            return self.is_parameter_like(&v, &class, &info_obj);
        }
        if is_class
            && b.getattr("_is_protocol")
                .and_then(|p| p.extract::<bool>())
                .unwrap_or(false)
        {
            return self.matches_protocol(&v, &class, &info_obj);
        }
        let metaclass = b.get_type().into_any().unbind();
        match self.check_hook(&metaclass, "__instancecheck__")? {
            Hook::Real => {
                if self.subclass_by_hooks(&class, &info, &metaclass)? {
                    return Ok(true);
                }
                match self.declared_class(&v, &class)? {
                    Some(c) => self.subclass_by_hooks(&c, &info, &metaclass),
                    None => Ok(false),
                }
            }
            Hook::Call => {
                let r = self.special_sync(&info, "__instancecheck__", vec![v])?;
                self.truth(&r)
            }
            Hook::None => Err(self.raise(
                "TypeError",
                "isinstance() arg 2 must be a type, a tuple of types, or a union",
            )),
            Hook::TensorType => self.is_tensor_type(&v, &info_obj),
        }
    }

    /// `type.__instancecheck__(info, v)`.
    pub fn is_plain_instance(&mut self, v: &Var, info: &Obj) -> R<bool> {
        let v = self.look(v)?;
        let class = self.type_of(&v)?;
        self.guard_bases(&class);
        if self.is_subtype(&class, info) {
            return Ok(true);
        }
        let declared = self.declared_class(&v, &class)?;
        Ok(declared.is_some_and(|c| self.is_subtype(&c, info)))
    }

    /// Whether `except classes:` takes an exception of a class: by its bases alone, whatever a
    /// metaclass says.
    ///
    /// # Errors
    /// `TypeError` where one of them is no class of exceptions.
    pub(crate) fn exception_matches(&mut self, class: &Var, classes: &Var) -> R<bool> {
        let given = match self.realize(classes)? {
            Var::Tuple(t) => t.items.clone(),
            one => vec![one],
        };
        let base = self.known.base_exception.clone();
        let mut wanted = Vec::with_capacity(given.len());
        for v in &given {
            match self.realize(v)? {
                Var::Py(p) if p.obj.bind(self.py).is_instance_of::<PyType>() => {
                    self.guard_bases(&p.obj);
                    wanted.push(p.obj.clone());
                }
                _ => {}
            }
        }
        if wanted.len() < given.len() || !wanted.iter().all(|c| self.is_subtype(c, &base)) {
            let message = "catching classes that do not inherit from BaseException is not allowed";
            return Err(self.raise("TypeError", message));
        }
        let Some(class) = class.as_obj() else {
            return Err(Stop::Internal("the class of an exception".into()));
        };
        self.guard_bases(class);
        Ok(wanted.iter().any(|c| self.is_subtype(class, c)))
    }

    /// `issubclass(c, classinfo)`.
    ///
    /// # Errors
    /// `TypeError` as Python raises it; whatever a user's `__subclasscheck__` does.
    pub fn issubclass(&mut self, c: &Var, classinfo: &Var) -> R<bool> {
        let c = self.realize(c)?;
        let info = self.realize(classinfo)?;
        if let Var::Tuple(t) = &info {
            for i in &t.items {
                if self.issubclass(&c, i)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        let Some(info_obj) = info.as_obj().cloned() else {
            return Err(self.raise(
                "TypeError",
                "issubclass() arg 2 must be a class, a tuple of classes, or a union",
            ));
        };
        let Some(class) = c
            .as_obj()
            .filter(|o| o.bind(self.py).is_instance_of::<PyType>())
            .cloned()
        else {
            return Err(self.raise("TypeError", "issubclass() arg 1 must be a class"));
        };
        self.guard_bases(&class);
        if let Some(members) = self.union_members(&info_obj)? {
            for m in members {
                if self.issubclass(&c, &Var::py(m))? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        let b = info_obj.bind(self.py);
        if b.is_instance_of::<PyType>() && b.get_type().is(self.known.type_.bind(self.py)) {
            return Ok(self.is_subtype(&class, &info_obj));
        }
        let metaclass = b.get_type().into_any().unbind();
        self.subclass_by_hooks(&class, &info, &metaclass)
    }

    /// `issubclass(class, info)` where a metaclass may have its say.
    fn subclass_by_hooks(&mut self, class: &Obj, info: &Var, metaclass: &Obj) -> R<bool> {
        let Some(info_obj) = info.as_obj().cloned() else {
            return Err(Stop::Internal("a class that is no object".into()));
        };
        match self.check_hook(metaclass, "__subclasscheck__")? {
            Hook::Real => self.real_issubclass(class, &info_obj),
            Hook::Call => {
                let class = Var::py(class.clone());
                let r = self.special_sync(info, "__subclasscheck__", vec![class])?;
                self.truth(&r)
            }
            Hook::TensorType => Ok(false),
            Hook::None => Err(self.raise(
                "TypeError",
                "issubclass() arg 2 must be a class, a tuple of classes, or a union",
            )),
        }
    }

    /// Holds a class of the user's to its bases. Those of a library are not replaced.
    pub fn guard_bases(&mut self, class: &Obj) {
        if self
            .facts
            .bases_guarded
            .contains(&(class.as_ptr() as usize))
        {
            return;
        }
        let py = self.py;
        let library = class
            .bind(py)
            .getattr("__module__")
            .and_then(|m| self.known.sys_modules.bind(py).get_item(m))
            .is_ok_and(|m| match m.getattr("__file__") {
                Ok(f) => f
                    .extract::<String>()
                    .is_ok_and(|f| crate::library::is_library_file(&f)),
                Err(_) => m.getattr("__spec__").is_ok_and(|s| !s.is_none()),
            });
        if library {
            self.facts.bases_guarded.insert(class.as_ptr() as usize);
            return;
        }
        self.guard_mro(class);
    }

    /// The members of `X | Y` and `typing.Union[X, Y]`.
    fn union_members(&mut self, info: &Obj) -> R<Option<Vec<Obj>>> {
        let b = info.bind(self.py);
        if b.is_instance_of::<PyType>() {
            return Ok(None);
        }
        let ty = b.get_type();
        let name = ty.name()?.to_string();
        if name == "UnionType" || name == "_UnionGenericAlias" || name == "Union" {
            let args = b.getattr("__args__")?;
            let args = args.cast::<PyTuple>().map_err(PyErr::from)?;
            return Ok(Some(args.iter().map(Bound::unbind).collect()));
        }
        Ok(None)
    }

    /// The class that an instance says to have by a `__class__` attribute (`object.__class__` is none).
    fn declared_class(&mut self, v: &Var, class: &Obj) -> R<Option<Obj>> {
        if !matches!(v, Var::Obj(_)) || self.is_builtin_container(class) {
            return Ok(None);
        }
        let own = class.bind(self.py).cast::<PyType>().ok().and_then(|c| {
            let object = self.known.object.bind(self.py).clone();
            c.mro().iter().take_while(|m| !m.is(&object)).find_map(|m| {
                m.getattr("__dict__")
                    .ok()
                    .filter(|d| d.contains("__class__").unwrap_or(false))
            })
        });
        if own.is_none() {
            return Ok(None);
        }
        let declared = self.getattr_sync(v, &"__class__".into())?;
        let declared = self.realize(&declared)?;
        let is_class = |c: &&Obj| c.bind(self.py).is_instance_of::<PyType>();
        Ok(declared.as_obj().filter(is_class).cloned())
    }

    /// `torch.nn.Parameter` and `Buffer` count plain tensors that carry their mark.
    pub(crate) fn is_parameter_like(&mut self, v: &Var, class: &Obj, info: &Obj) -> R<bool> {
        if self.is_subtype(class, info) {
            return Ok(true);
        }
        let Var::Tensor(t) = v else { return Ok(false) };
        let mark = if info.is(&self.known.parameter) {
            "_is_param"
        } else {
            "_is_buffer"
        };
        self.is_marked(&t.clone(), mark)
    }

    /// `torch.FloatTensor` and its like: `isinstance` looks at dtype and device.
    fn is_tensor_type(&mut self, v: &Var, info: &Obj) -> R<bool> {
        let Var::Tensor(t) = v else { return Ok(false) };
        let meta = self.st.effects.meta(t).clone();
        let b = info.bind(self.py);
        let dtype = b.getattr("dtype")?.str()?.to_string();
        let on_cuda: bool = b
            .getattr("is_cuda")
            .and_then(|c| c.extract())
            .unwrap_or(false);
        Ok(meta.dtype.name() == dtype && (meta.device.kind == DeviceKind::Cuda) == on_cuda)
    }

    /// `@runtime_checkable` protocols: what the abstract class says, then a look for attributes.
    fn matches_protocol(&mut self, v: &Var, class: &Obj, info: &Obj) -> R<bool> {
        let py = self.py;
        let b = info.bind(py);
        if !b
            .getattr("_is_runtime_protocol")
            .and_then(|p| p.is_truthy())
            .unwrap_or(false)
        {
            return Err(self.raise(
                "TypeError",
                "Instance and class checks can only be used with @runtime_checkable protocols",
            ));
        }
        self.library_subclass_hook(info)?;
        if self.protocol_says(info, class)? {
            return Ok(true);
        }
        if let Some(declared) = self.declared_class(v, class)?
            && self.protocol_says(info, &declared)?
        {
            return Ok(true);
        }
        let names = match b.getattr("__protocol_attrs__") {
            Ok(n) => n,
            Err(_) => py
                .import("typing")?
                .call_method1("_get_protocol_attrs", (b,))?,
        };
        for name in names.try_iter()? {
            let name: String = name?.extract()?;
            if !self.has_protocol_member(v, class, info, &name)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What a protocol says of a class, as an abstract class. `typing` refuses to answer for some,
    /// unless it is `abc` that asks: it looks at the names of the modules of its callers.
    fn protocol_says(&mut self, info: &Obj, class: &Obj) -> R<bool> {
        let py = self.py;
        let globals = PyDict::new(py);
        globals.set_item("__name__", "abc")?;
        let check = py.import("abc")?.getattr("ABCMeta")?;
        globals.set_item("check", check.getattr("__subclasscheck__")?)?;
        globals.set_item("info", info)?;
        globals.set_item("given", class)?;
        let answer = py.eval(c"check(info, given)", Some(&globals), None);
        self.remembered(answer)
    }

    /// Whether a value has a member of a protocol. How Python looks for it (by running descriptors
    /// and `__getattr__`, or not) depends on the version: where that matters it is left to Python.
    fn has_protocol_member(&mut self, v: &Var, class: &Obj, info: &Obj, name: &str) -> R<bool> {
        let found = self.class_lookup(class, name)?;
        let runs_code = match &found {
            Some(found) => !matches!(
                self.descriptor(found),
                Descriptor::Function
                    | Descriptor::BuiltinMethod
                    | Descriptor::Static
                    | Descriptor::Class
                    | Descriptor::Value
            ),
            None => self.reads_by_hooks(class)?,
        };
        let is_class = matches!(v, Var::Py(p) if p.obj.bind(self.py).is_instance_of::<PyType>());
        if runs_code || is_class {
            return Err(Stop::unsupported(format!(
                "isinstance with the protocol {}, whose {name} user code gives",
                self.class_name(info)
            )));
        }
        let name: std::sync::Arc<str> = name.into();
        if !self.hasattr(v, &name)? {
            return Ok(false);
        }
        // `None` in the place of a method says that there is none.
        let value = self.getattr_sync(v, &name)?;
        if !self.is_none(&value)? {
            return Ok(true);
        }
        let member = info.bind(self.py).getattr(&*name);
        Ok(!member.is_ok_and(|m| m.is_callable()))
    }

    /// Whether Python code of a class has its say in what attributes there are.
    fn reads_by_hooks(&mut self, class: &Obj) -> R<bool> {
        if self.class_lookup(class, "__getattr__")?.is_some() {
            return Ok(true);
        }
        let read = self.class_lookup(class, "__getattribute__")?;
        Ok(read.is_some_and(|f| self.special_kind(&f).is_user()))
    }

    /// Who answers a check on a class with this metaclass.
    fn check_hook(&mut self, metaclass: &Obj, name: &str) -> R<Hook> {
        let b = metaclass.bind(self.py);
        let text = |n: &str| {
            b.getattr(n)
                .and_then(|v| v.extract::<String>())
                .unwrap_or_default()
        };
        if text("__name__") == "tensortype" {
            return Ok(Hook::TensorType);
        }
        let Some(hook) = self.class_lookup(metaclass, name)? else {
            return Ok(Hook::None);
        };
        if self.special_kind(&hook) == Special::Builtin {
            return Ok(Hook::Real);
        }
        let module = hook
            .bind(self.py)
            .getattr("__module__")
            .and_then(|m| m.extract::<String>())
            .unwrap_or_default();
        // `typing.Any` refuses; other classes of `typing` are abstract classes.
        let any = module == "typing" && text("__name__") == "_AnyMeta";
        Ok(match module.as_str() {
            "abc" | "_py_abc" | "typing" if !any => Hook::Real,
            _ => Hook::Call,
        })
    }

    /// Holds the abstract classes to what is registered with them: `register` makes a new token.
    pub fn guard_abc_registry(&mut self) -> R<()> {
        self.facts
            .is_of_process("what is registered with abstract classes");
        let ask = self.py.import("_abc")?.getattr("get_cache_token")?;
        let token = ask.call0()?;
        self.guard_call(&ask.unbind(), None, &[], &token)
    }

    /// `issubclass` by Python itself, where its hooks are Python's own.
    ///
    /// Python is asked whatever the bases say: an abstract class remembers what it answered once,
    /// and later answers depend on that. It keeps a yes for good, a no until something is registered.
    fn real_issubclass(&mut self, class: &Obj, info: &Obj) -> R<bool> {
        self.library_subclass_hook(info)?;
        let result = self
            .py
            .import("builtins")?
            .call_method1("issubclass", (class, info));
        match result {
            Ok(answer) if !answer.is_truthy()? => {
                self.guard_not_subclass(class, info)?;
                Ok(false)
            }
            result => {
                if !self.is_subtype(class, info) {
                    self.facts.registered.push((class.clone(), info.clone()));
                }
                self.remembered(result)
            }
        }
    }

    /// Holds an abstract class to a no, which changes at most when something is registered.
    fn guard_not_subclass(&mut self, class: &Obj, base: &Obj) -> R<()> {
        let ask = self.py.import("_abc")?.getattr("get_cache_token")?;
        let token = ask.call0()?.extract()?;
        let (class, base) = (self.pin(class, true), self.pin(base, true));
        self.guard_ambient(GuardKind::NotSubclass { class, base, token });
        Ok(())
    }

    /// A yes of an abstract class holds; a no is held to the registry.
    fn remembered(&mut self, result: PyResult<Bound<'_, PyAny>>) -> R<bool> {
        let yes = match result {
            Ok(r) => r.is_truthy()?,
            Err(e) => {
                self.guard_abc_registry()?;
                return Err(self.raise_pyerr(&e));
            }
        };
        if !yes {
            self.guard_abc_registry()?;
        }
        Ok(yes)
    }

    /// Leaves a check to Python where the class's `__subclasshook__` is the program's.
    fn library_subclass_hook(&mut self, info: &Obj) -> R<()> {
        let Ok(hook) = info.bind(self.py).getattr("__subclasshook__") else {
            return Ok(());
        };
        let func = hook.getattr("__func__").unwrap_or(hook);
        let module = func
            .getattr("__module__")
            .ok()
            .and_then(|m| m.extract::<String>().ok());
        let own = module.as_deref().is_none_or(|m| {
            matches!(
                m,
                "builtins"
                    | "abc"
                    | "_abc"
                    | "collections.abc"
                    | "_collections_abc"
                    | "typing"
                    | "numbers"
                    | "os"
                    | "contextlib"
                    | "importlib.abc"
            )
        });
        if !own {
            return Err(Stop::unsupported(format!(
                "isinstance or issubclass with {}, whose __subclasshook__ is user code",
                self.class_name(info)
            )));
        }
        Ok(())
    }
}

/// Who answers `isinstance` and `issubclass`.
enum Hook {
    /// Python's own rule, run on the real classes
    Real,
    /// a user's method
    Call,
    /// torch's legacy tensor types
    TensorType,
    /// no class at all
    None,
}
