//! Where a class gets a special method from: nowhere, from C, or from user code.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyFloat, PyInt, PyString, PyType};
use variables::{Body, Obj, PyVar, Var};

use crate::raw::type_lookup;
use crate::stop::{R, Stop};
use crate::tx::{Flow, Tx};

/// What `type(value)` has under the name of a special method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// nothing, or `None` (which means "not supported", as in `__hash__ = None`)
    Absent,
    /// a slot of a builtin or other C class
    Builtin,
    /// a Python function or any other object
    User,
}

impl Special {
    /// Whether it is user code.
    pub fn is_user(self) -> bool {
        self == Special::User
    }
}

impl Tx<'_> {
    /// Whether a class is one of the builtin containers themselves, so that each of its methods is
    /// known.
    pub fn is_builtin_container(&self, class: &Obj) -> bool {
        let k = &self.known;
        [
            &k.list,
            &k.dict,
            &k.tuple,
            &k.set,
            &k.frozenset,
            &k.ordered_dict,
            &k.defaultdict,
            &k.deque,
            &k.size,
        ]
        .iter()
        .any(|c| c.is(class))
            || k.is_frozendict(class)
    }

    /// Whether what an object that is used by identity holds never changes: numbers, text and
    /// tuples of any class, matches of regular expressions, and classes (whose contents are looked up
    /// with guards).
    pub fn is_changeless(&self, p: &PyVar) -> bool {
        let b = p.obj.bind(self.py);
        self.is_constant_mapping(p)
            || b.is_instance_of::<PyType>()
            || b.is_instance_of::<pyo3::types::PyString>()
            || b.is_instance_of::<pyo3::types::PyInt>()
            || b.is_instance_of::<pyo3::types::PyFloat>()
            || b.is_instance_of::<pyo3::types::PyBytes>()
            || b.is_instance_of::<pyo3::types::PyTuple>()
            || b.is_instance_of::<pyo3::types::PyFrozenSet>()
            || crate::methods::is_regex_method(&b.get_type(), "__getitem__").unwrap_or(false)
    }

    /// What a text (or bytes) of a class of its own is for the methods that C gives it: the plain one.
    pub fn plain_text(&self, v: &Var) -> Option<Obj> {
        let plain = match v {
            Var::Py(p) => p.obj.clone(),
            _ => self.plain_value(v)?.as_obj()?.clone(),
        };
        let b = plain.bind(self.py);
        if let Ok(text) = b.cast::<PyString>() {
            let text = text.to_str().ok()?;
            return Some(PyString::new(self.py, text).into_any().unbind());
        }
        let bytes = b.cast::<PyBytes>().ok()?;
        Some(PyBytes::new(self.py, bytes.as_bytes()).into_any().unbind())
    }

    /// Whether a value is a float, of whatever class.
    ///
    /// # Errors
    /// Those of looking at the class.
    pub fn is_float(&mut self, v: &Var) -> R<bool> {
        let class = self.type_of(v)?;
        let class = class.bind(self.py).cast::<PyType>().map_err(PyErr::from)?;
        Ok(class.is_subclass_of::<PyFloat>()?)
    }

    /// Whether a value is a number of a class of its own, which holds more than the class says.
    ///
    /// # Errors
    /// Those of looking at the class.
    pub fn is_opaque_number(&mut self, v: &Var) -> R<bool> {
        if !matches!(v, Var::Obj(_) | Var::Py(_)) {
            return Ok(false);
        }
        let class = self.type_of(v)?;
        let class = class.bind(self.py).cast::<PyType>().map_err(PyErr::from)?;
        Ok(class.is_subclass_of::<PyInt>()?
            || class.is_subclass_of::<PyFloat>()?
            || class.is_subclass_of::<PyComplex>()?)
    }

    /// The same for a class of C code. Its metaclass does not count: `type` has a `__call__` too.
    fn builtin_special(&self, class: &Obj, name: &str) -> R<Special> {
        let class = class.bind(self.py).cast::<PyType>().map_err(PyErr::from)?;
        Ok(match type_lookup(class, name) {
            Some(o) if !o.is_none(self.py) => Special::Builtin,
            _ => Special::Absent,
        })
    }

    /// Whether a mapping proxy is a constant of the compiled code: one of an object that was made while
    /// translating, or of what is fixed with its class.
    pub(crate) fn is_constant_mapping(&self, p: &PyVar) -> bool {
        let class = p.obj.bind(self.py).get_type();
        p.source.is_none() && class.is(self.known.mappingproxy.bind(self.py))
    }

    /// Where the class of a realized value gets a special method from.
    ///
    /// # Errors
    /// Those of looking at the class.
    pub fn special(&mut self, v: &Var, name: &str) -> R<Special> {
        match v {
            Var::Const(_)
            | Var::Tensor(_)
            | Var::Slice(_)
            | Var::Super(_)
            | Var::Func(_)
            | Var::Method(_)
            | Var::BuiltinMethod(_) => {
                let class = self.type_of(v)?;
                self.builtin_special(&class, name)
            }
            Var::Tuple(t) if t.class.is_none() => {
                let class = self.known.tuple.clone();
                self.builtin_special(&class, name)
            }
            _ => {
                let class = self.type_of(v)?;
                self.class_special(&class, name)
            }
        }
    }

    /// Where a class gets a special method from.
    ///
    /// # Errors
    /// Those of looking at the class.
    pub fn class_special(&mut self, class: &Obj, name: &str) -> R<Special> {
        if self.is_builtin_container(class) {
            return self.builtin_special(class, name);
        }
        Ok(match self.class_lookup(class, name)? {
            None => Special::Absent,
            Some(o) if o.is_none(self.py) && !matches!(name, "__hash__" | "__iter__") => {
                // Python calls it, with one message or another.
                return Err(Stop::unsupported(format!(
                    "{name} of {}, which is None",
                    self.class_name(class)
                )));
            }
            Some(o) => match self.special_kind(&o) {
                // `__getitem__ = dict.get`: not what C code asks for under this name.
                Special::Builtin if self.is_renamed(&o, name)? => Special::User,
                kind => kind,
            },
        })
    }

    /// Whether a C function has another name than the one a class gives it.
    ///
    /// # Errors
    /// Those of reading its name.
    pub(crate) fn is_renamed(&self, c_function: &Obj, name: &str) -> R<bool> {
        let f = c_function.bind(self.py);
        let ty = f.get_type();
        let k = &self.known;
        let named = [
            &k.wrapper_descriptor,
            &k.method_descriptor,
            &k.builtin_function,
        ];
        Ok(named.iter().any(|t| ty.is(t.bind(self.py))) && f.getattr("__name__")?.ne(name)?)
    }

    /// Tells C slots from user code.
    pub fn special_kind(&self, attr: &Obj) -> Special {
        let b = attr.bind(self.py);
        if b.is_none() {
            return Special::Absent;
        }
        let ty = b.get_type();
        let k = &self.known;
        let c = [
            &k.wrapper_descriptor,
            &k.method_descriptor,
            &k.builtin_function,
            &k.classmethod_descriptor,
            &k.getset_descriptor,
        ];
        if c.iter().any(|t| ty.is(t.bind(self.py))) {
            return Special::Builtin;
        }
        // `__new__` and friends of C classes, and staticmethods around them.
        if ty.is(k.staticmethod.bind(self.py))
            && b.getattr("__func__")
                .is_ok_and(|f| f.get_type().is(k.builtin_function.bind(self.py)))
        {
            return Special::Builtin;
        }
        Special::User
    }

    /// Calls a special method that is there (see [`Tx::special`]) and runs it to its end.
    ///
    /// # Errors
    /// Whatever the call does.
    pub fn special_sync(&mut self, receiver: &Var, name: &str, args: Vec<Var>) -> R<Var> {
        let flow = self.special_flow(receiver, name, args)?;
        self.finish_flow(flow)
    }

    /// Calls a special method that is there.
    ///
    /// # Errors
    /// Whatever the call does.
    pub fn special_flow(&mut self, receiver: &Var, name: &str, args: Vec<Var>) -> R<Flow> {
        match self.call_special(receiver, name, args)? {
            Some(flow) => Ok(flow),
            None => Err(Stop::Internal(format!("special method {name} vanished"))),
        }
    }

    /// Whether a value is `NotImplemented`.
    pub fn is_not_implemented(&self, v: &Var) -> bool {
        matches!(v, Var::Const(o) if o.bind(self.py).is(self.py.NotImplemented()))
    }

    /// Whether a class is another or derives from it (the MRO, no hooks).
    pub fn is_subtype(&self, class: &Obj, base: &Obj) -> bool {
        match (
            class.bind(self.py).cast::<PyType>(),
            base.bind(self.py).cast::<PyType>(),
        ) {
            // The MRO decides; `PyType_IsSubtype` runs no hook.
            (Ok(c), Ok(b)) => c.mro().iter().any(|m| m.is(b)),
            _ => false,
        }
    }

    /// The class name of a value, as error messages have it.
    ///
    /// # Errors
    /// Those of realizing the value.
    pub fn type_name(&mut self, v: &Var) -> R<String> {
        let class = self.type_of(v)?;
        Ok(match class.bind(self.py).cast::<PyType>() {
            Ok(ty) => crate::raw::printed_name(ty),
            Err(_) => self.class_name(&class),
        })
    }

    /// The `TypeError` where the special method `method` of `v` gives `found`, which is not what it has to give.
    pub fn wrong_result(&mut self, v: &Var, method: &str, found: &Var) -> R<Stop> {
        let class = self.type_of(v)?;
        let class = crate::raw::full_name(class.bind(self.py))?;
        let found = self.type_name(found)?;
        let text = self.version().wrong_result(&class, method, &found);
        Ok(self.raise("TypeError", &text))
    }

    /// The body of a tracked object, cloned (all bodies are cheap to clone).
    pub fn body_of(&self, v: &Var) -> Option<Body> {
        match v {
            Var::Obj(id) => Some(self.obj(*id).body.clone()),
            _ => None,
        }
    }
}
