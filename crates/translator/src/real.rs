//! Tracked values as real objects, for C functions that are called while tracing.
//!
//! Lives here: which values have such an object, and whether C code that reads it stays in C. Does
//! not live here: the functions (the crate `builtins`).
//!
//! Invariant: what [`Tx::real_args`] gives runs no code of the program when it is read: no function,
//! no special method, no property behind an operator.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyFunction, PyList, PySet, PyTuple, PyType};
use variables::{Body, Var};

use crate::raw::as_dict;
use crate::stop::R;
use crate::tx::{Args, Tx};
use crate::values::Special;

/// Arguments of a call, by position and by name.
pub(crate) type RealArgs<'py, T = Bound<'py, PyAny>> = (Vec<T>, Option<Bound<'py, PyDict>>);

/// Special methods that no reader of an object calls: those of making, copying and changing it.
const NOT_READING: &[&str] = &[
    "__new__",
    "__init__",
    "__post_init__",
    "__init_subclass__",
    "__set_name__",
    "__setattr__",
    "__delattr__",
    "__copy__",
    "__deepcopy__",
    "__reduce__",
    "__reduce_ex__",
    "__getstate__",
    "__setstate__",
    "__getnewargs__",
    "__getnewargs_ex__",
    "__dir__",
];

impl<'py> Tx<'py> {
    /// Arguments as real objects, for a C function that reads them; `None` where one has no such
    /// object, or reading it could run code of the program. Lists, dicts and sets are copied.
    ///
    /// # Errors
    /// Those of realizing lazy values.
    pub fn real_args(&mut self, args: &Args) -> R<Option<RealArgs<'py>>> {
        let Some((pos, kw)) = self.held_args(args)? else {
            return Ok(None);
        };
        let mut named = kw.iter().flat_map(|kw| kw.values());
        for o in pos.iter().cloned().chain(&mut named) {
            if !self.stays_in_c(&o)? {
                return Ok(None);
            }
        }
        Ok(Some((pos, kw)))
    }

    /// As [`Tx::real_args`], for a C function that keeps its arguments and does not look into them.
    ///
    /// # Errors
    /// Those of realizing lazy values.
    pub fn held_args(&mut self, args: &Args) -> R<Option<RealArgs<'py>>> {
        self.args_as(args, Self::real_copy)
    }

    /// The arguments as `read` gives them; `None` where it has nothing for one.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn args_as<T: IntoPyObject<'py>>(
        &mut self,
        args: &Args,
        mut read: impl FnMut(&mut Self, &Var) -> R<Option<T>>,
    ) -> R<Option<RealArgs<'py, T>>> {
        let mut pos = Vec::with_capacity(args.pos.len());
        for v in &args.pos {
            match read(self, v)? {
                Some(o) => pos.push(o),
                None => return Ok(None),
            }
        }
        if args.kw.is_empty() {
            return Ok(Some((pos, None)));
        }
        let kw = PyDict::new(self.py);
        for (n, v) in &args.kw {
            match read(self, v)? {
                Some(o) => kw.set_item(&**n, o)?,
                None => return Ok(None),
            }
        }
        Ok(Some((pos, Some(kw))))
    }

    /// A value as a real object, where it consists of constants; containers are copied.
    ///
    /// # Errors
    /// Those of realizing lazy values.
    pub fn real_copy(&mut self, v: &Var) -> R<Option<Bound<'py, PyAny>>> {
        let py = self.py;
        let v = self.realize(v)?;
        if let (Var::Obj(id), Some(_)) = (&v, self.float_of_number(&v)) {
            let known = (self.rules.arrays.known)(self, *id)?;
            return Ok(known.map(|number| number.bind(py).clone()));
        }
        if let Some(o) = self.as_const(&v)? {
            if let Ok(set) = o.bind(py).cast_exact::<PyFrozenSet>() {
                let items: Vec<_> = set.iter().collect();
                self.facts.has_order_of_set(&items);
            }
            return Ok(Some(o.bind(py).clone()));
        }
        let all = |tx: &mut Self,
                   items: &mut dyn Iterator<Item = Var>|
         -> R<Option<Vec<Bound<'py, PyAny>>>> {
            let mut out = Vec::new();
            for i in items {
                match tx.real_copy(&i)? {
                    Some(o) => out.push(o),
                    None => return Ok(None),
                }
            }
            Ok(Some(out))
        };
        match &v {
            Var::Tuple(t) if t.class.is_none() => {
                let Some(items) = all(self, &mut t.items.iter().cloned())? else {
                    return Ok(None);
                };
                Ok(Some(PyTuple::new(py, items)?.into_any()))
            }
            Var::Obj(id) => {
                let class = self.obj(*id).class.clone();
                if !self.is_builtin_container(&class) {
                    return Ok(None);
                }
                match self.obj(*id).body.clone() {
                    Body::List(l) => {
                        let Some(items) = all(self, &mut l.into_iter())? else {
                            return Ok(None);
                        };
                        Ok(Some(PyList::new(py, items)?.into_any()))
                    }
                    Body::Set(s) => {
                        let Some(items) = all(self, &mut s.iter().map(|(k, _)| k.clone()))? else {
                            return Ok(None);
                        };
                        self.facts.has_order_of_set(&items);
                        if class.is(&self.known.frozenset) {
                            return Ok(Some(PyFrozenSet::new(py, items)?.into_any()));
                        }
                        Ok(Some(PySet::new(py, items)?.into_any()))
                    }
                    Body::Dict(d)
                        if class.is(&self.known.dict) || self.known.is_frozendict(&class) =>
                    {
                        let out = PyDict::new(py);
                        for (k, v) in d.iter() {
                            let (Some(k), Some(v)) = (self.real_copy(k)?, self.real_copy(v)?)
                            else {
                                return Ok(None);
                            };
                            out.set_item(k, v)?;
                        }
                        if !class.is(&self.known.dict) {
                            return Ok(Some(class.bind(py).call1((out,))?));
                        }
                        Ok(Some(out.into_any()))
                    }
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// Whether C code that reads an object runs none of the program's.
    pub fn stays_in_c(&self, o: &Bound<'py, PyAny>) -> R<bool> {
        let class = o.get_type();
        if self.known.is_const_type(class.as_any()) {
            return Ok(true);
        }
        let all = |items: &mut dyn Iterator<Item = Bound<'py, PyAny>>| -> R<bool> {
            for i in items {
                if !self.stays_in_c(&i)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        if let Ok(t) = o.cast_exact::<PyTuple>() {
            return all(&mut t.iter());
        }
        if let Ok(l) = o.cast_exact::<PyList>() {
            return all(&mut l.iter());
        }
        if let Ok(s) = o.cast_exact::<PySet>() {
            return all(&mut s.iter());
        }
        let any = class.as_any().as_unbound();
        let builtin = any.is(&self.known.dict) || self.known.is_frozendict(any);
        if let Some(d) = as_dict(o).filter(|_| builtin) {
            return all(&mut d.iter().flat_map(|(k, v)| [k, v]));
        }
        match o.cast::<PyType>() {
            // Whoever gets a class may call it, or any of its methods.
            Ok(c) => Ok(!self.is_of_program(c)? && !self.is_of_program(&class)?),
            // A function, a partial object, a method of a list that the program has.
            Err(_) if o.is_callable() => Ok(false),
            Err(_) => self.reads_in_c(&class),
        }
    }

    /// Whether no special method that reads an instance is one of the program's.
    fn reads_in_c(&self, class: &Bound<'py, PyType>) -> R<bool> {
        for c in class.mro().iter() {
            let c = c.cast::<PyType>().map_err(PyErr::from)?;
            if !self.is_of_program(c)? {
                continue;
            }
            let dict = c.getattr("__dict__")?;
            for item in dict.call_method0("items")?.try_iter()? {
                let (name, f): (Bound<'py, PyAny>, Bound<'py, PyAny>) = item?.extract()?;
                let Ok(name) = name.extract::<String>() else {
                    continue;
                };
                let special = name.starts_with("__") && !NOT_READING.contains(&&*name);
                if special && f.is_callable() && !f.is_instance_of::<PyType>() {
                    let owner = match f.cast::<PyFunction>() {
                        Ok(f) => f.getattr("__module__")?,
                        Err(_) if self.special_kind(&f.clone().unbind()) == Special::Builtin => {
                            continue;
                        }
                        Err(_) => return Ok(false),
                    };
                    // `Enum` gives its members' classes some methods of its own.
                    if !self.is_of_library(&owner)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Whether a class was made by Python code that is not the standard library's.
    fn is_of_program(&self, class: &Bound<'py, PyType>) -> R<bool> {
        /// `Py_TPFLAGS_HEAPTYPE`.
        const HEAP: u64 = 1 << 9;
        if class.getattr("__flags__")?.extract::<u64>()? & HEAP == 0 {
            return Ok(false);
        }
        Ok(!self.is_of_library(&class.getattr("__module__")?)?)
    }

    fn is_of_library(&self, module: &Bound<'py, PyAny>) -> R<bool> {
        let Ok(module) = module.extract::<String>() else {
            return Ok(false);
        };
        let top = module.split('.').next().unwrap_or_default();
        let names = self.py.import("sys")?.getattr("stdlib_module_names")?;
        Ok(top == "builtins" || names.contains(top)?)
    }
}
