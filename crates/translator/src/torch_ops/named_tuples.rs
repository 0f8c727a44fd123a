//! Named tuples as arguments of tensor operations.
//!
//! torch's C code reads the items of a tuple of any class where they are stored, whatever the class has for an
//! `__iter__`: a plain tuple of the same items means the same to it, and a graph holds that. torch's Python code walks
//! a tuple as the program would.

use operations::callee::Callee;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyFunction, PyList, PyTuple};
use variables::{Body, TupleVar, Var};

use crate::stop::R;
use crate::tx::{Args, Tx};

/// What C code asks an object for before it takes it for a tuple.
const BEFORE_ITEMS: &[&str] = &[
    "__torch_function__",
    "__len__",
    "__getitem__",
    "__index__",
    "__int__",
    "__float__",
    "__complex__",
    "__array__",
];

impl<'py> Tx<'py> {
    /// The arguments with plain tuples for named ones; `None` where there are none, or where the operation can tell.
    pub(super) fn without_named_tuples(
        &mut self,
        callee: &Callee<'_>,
        args: &Args,
    ) -> R<Option<Args>> {
        let mut any = false;
        for v in args.values() {
            any |= self.holds_named(v)?;
        }
        if !any {
            return Ok(None);
        }
        let (in_c, of_torch) = match callee {
            Callee::Method(name) => {
                let method = self.known.tensor.bind(self.py).getattr(*name)?;
                (!method.is_instance_of::<PyFunction>(), true)
            }
            Callee::Function(f, path, _) => {
                let in_c = f.bind(self.py).is_instance_of::<PyCFunction>();
                (in_c, in_c || Self::is_python_of_torch(path))
            }
        };
        if !of_torch {
            return Ok(None);
        }
        let mut values = Vec::new();
        for v in args.values() {
            match self.plain_tuples(v, in_c)? {
                Some(v) => values.push(v),
                None => return Ok(None),
            }
        }
        Ok(Some(args.with_values(&values)))
    }

    fn is_named(&self, t: &TupleVar) -> bool {
        let class = t.class.as_ref();
        class.is_some_and(|c| !c.is(&self.known.size))
    }

    /// A tuple or a list, looked at; any other value as it is: one of NumPy's numbers would become a constant.
    fn as_sequence(&mut self, v: &Var) -> R<Var> {
        match v {
            Var::Lazy(l) if is_tuple_or_list(l.obj.bind(self.py)) => self.realize(v),
            _ => Ok(v.clone()),
        }
    }

    /// The items of a tuple, or of a list that is of no other class.
    fn items_of(&self, v: &Var) -> Option<Vec<Var>> {
        match v {
            Var::Tuple(t) => Some(t.items.clone()),
            Var::Obj(id) => match &self.obj(*id).body {
                Body::List(items) if self.obj(*id).class.is(&self.known.list) => {
                    Some(items.iter().cloned().collect())
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a named tuple is in a value.
    fn holds_named(&mut self, v: &Var) -> R<bool> {
        let v = self.as_sequence(v)?;
        if matches!(&v, Var::Tuple(t) if self.is_named(t)) {
            return Ok(true);
        }
        for item in self.items_of(&v).unwrap_or_default() {
            if self.inside(|tx| tx.holds_named(&item))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A value with plain tuples for the named ones in it; `None` where the operation can tell.
    fn plain_tuples(&mut self, v: &Var, in_c: bool) -> R<Option<Var>> {
        let v = self.as_sequence(v)?;
        let named = match &v {
            Var::Tuple(t) => self.is_named(t).then(|| t.class.clone()).flatten(),
            _ => None,
        };
        if let Some(class) = &named {
            let asked = BEFORE_ITEMS.iter().copied();
            for name in asked.chain((!in_c).then_some("__iter__")) {
                if self.class_special(class, name)?.is_user() {
                    return Ok(None);
                }
            }
        }
        let Some(items) = self.items_of(&v) else {
            return Ok(Some(v));
        };
        let mut plain = Vec::with_capacity(items.len());
        for item in &items {
            match self.inside(|tx| tx.plain_tuples(item, in_c))? {
                Some(item) => plain.push(item),
                None => return Ok(None),
            }
        }
        Ok(Some(match &v {
            Var::Tuple(t) if named.is_none() && t.class.is_some() => v.clone(),
            Var::Tuple(_) => Var::tuple(plain),
            _ => self.new_list(plain),
        }))
    }
}

fn is_tuple_or_list(b: &Bound<'_, PyAny>) -> bool {
    b.is_instance_of::<PyTuple>() || b.is_instance_of::<PyList>()
}
