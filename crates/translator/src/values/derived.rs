//! Instances of classes that derive from `int`, `float`, `str` or `bytes`.
//!
//! Such an instance is an object with the constant that it is to C: operators and methods that its
//! class does not replace take that. Does not live here: members of enums, which are used by
//! identity, and `tuple`s, which have a class of their own.

use guards::SourceId;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString, PyType};
use variables::{Body, Obj, Var};

use crate::attr::is_heap_type;
use crate::raw::type_lookup;
use crate::stop::{R, Stop};
use crate::tx::Tx;

impl<'py> Tx<'py> {
    /// What a value is to the functions of the builtin class that it derives from, where that is
    /// another value.
    pub fn plain_value(&self, v: &Var) -> Option<Var> {
        let Var::Obj(id) = v else { return None };
        match &self.obj(*id).body {
            Body::Value(plain) => Some(Var::Const(plain.clone())),
            _ => None,
        }
    }

    /// The same of two operands, where it is another of one of them.
    pub fn plain_values(&self, a: &Var, b: &Var) -> Option<(Var, Var)> {
        let (x, y) = (self.plain_value(a), self.plain_value(b));
        (x.is_some() || y.is_some()).then(|| {
            (
                x.unwrap_or_else(|| a.clone()),
                y.unwrap_or_else(|| b.clone()),
            )
        })
    }

    /// What an operator made of plain values. Where it raises `TypeError`, the text names the classes: the graph breaks.
    pub(crate) fn of_plain_values<T>(&mut self, made: R<T>) -> R<T> {
        match made {
            Err(stop) if self.is_raise_of(&stop, "TypeError") => Err(Stop::unsupported(
                "an operator that a class of the program's refuses",
            )),
            made => made,
        }
    }

    /// The builtin class that a class of such instances derives from.
    pub fn value_base(&self, class: &Bound<'py, PyType>) -> R<Option<Bound<'py, PyType>>> {
        if !is_heap_type(class) || class.is_subclass(self.known.enum_.bind(self.py))? {
            return Ok(None);
        }
        let bases = [
            self.py.get_type::<PyInt>(),
            self.py.get_type::<PyFloat>(),
            self.py.get_type::<PyString>(),
            self.py.get_type::<PyBytes>(),
        ];
        let is_base = |c: &Bound<'_, PyAny>| bases.iter().any(|base| c.is(base));
        let mro = class.mro();
        // A class of C's between the two would keep more than the value.
        let native = mro
            .iter()
            .find(|c| c.cast().is_ok_and(|c| !is_heap_type(c)));
        Ok(match native {
            Some(native) if is_base(&native) => Some(native.cast_into().map_err(PyErr::from)?),
            _ => None,
        })
    }

    /// The body of an instance from outside, whose type is guarded: guards its value. No function of
    /// its class is called for that.
    pub(crate) fn existing_value(
        &mut self,
        b: &Bound<'py, PyAny>,
        source: SourceId,
    ) -> R<Option<Body>> {
        let Some(base) = self.value_base(&b.get_type())? else {
            return Ok(None);
        };
        let plain = if let Ok(text) = b.cast::<PyString>() {
            base.getattr("__str__")?.call1((text,))?
        } else if let Ok(bytes) = b.cast::<PyBytes>() {
            PyBytes::new(self.py, bytes.as_bytes()).into_any()
        } else {
            base.getattr("__pos__")?.call1((b,))?
        };
        // Floats that are equal may differ in the sign of a zero, and one may not equal itself.
        let ask = match b.cast::<PyFloat>() {
            Ok(_) => base.getattr("hex")?,
            Err(_) => plain.getattr("__eq__")?,
        };
        let answer = ask.call1((b,))?;
        self.guard_call(&ask.unbind(), Some(source), &[], &answer)?;
        Ok(Some(Body::Value(plain.unbind())))
    }

    /// Whether the builtin class of an instance has an attribute of its own, that `object` has not given it.
    pub fn base_has(&mut self, v: &Var, name: &str) -> R<bool> {
        let class = self.type_of(v)?;
        let class = class.bind(self.py).cast::<PyType>().map_err(PyErr::from)?;
        Ok(match self.value_base(class)? {
            Some(base) => base.getattr("__dict__")?.contains(name)?,
            None => false,
        })
    }

    /// Whether C can be given the plain value in the place of an instance: its class replaces
    /// nothing that the builtin class has, but how it is made.
    pub(crate) fn is_plainly_its_value(&self, class: &Obj) -> R<bool> {
        let class = class.bind(self.py).cast::<PyType>().map_err(PyErr::from)?;
        let Some(base) = self.value_base(class)? else {
            return Ok(false);
        };
        for part in class.mro().iter() {
            let part = part.cast_into::<PyType>().map_err(PyErr::from)?;
            if !is_heap_type(&part) {
                break;
            }
            for name in part.getattr("__dict__")?.try_iter()? {
                let name: String = name?.extract()?;
                let replaces = type_lookup(&base, &name).is_some()
                    && !matches!(&*name, "__new__" | "__init__" | "__doc__");
                if replaces {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
