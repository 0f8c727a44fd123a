//! `bool(x)`.

use pyo3::prelude::*;
use tensor_meta::Reads;
use variables::{Body, Var};

use super::special::Special;
use crate::stop::{BreakReason, R, Stop};
use crate::tx::Tx;

impl Tx<'_> {
    /// The truth of a value (CPython's `PyObject_IsTrue`).
    ///
    /// # Errors
    /// A break for tensors, whose values are not known while translating; `TypeError` for a
    /// `__bool__` or `__len__` that gives something else than it should.
    pub fn truth(&mut self, v: &Var) -> R<bool> {
        if let Some(truth) = self.int_truth(v) {
            return Ok(truth);
        }
        if let Some(truth) = self.float_truth(v)? {
            return Ok(truth);
        }
        if let Some(truth) = self.computed_truth(v)? {
            return Ok(truth);
        }
        let v = self.realize(v)?;
        match &v {
            // Python warns, on each call.
            Var::Const(_) if self.is_not_implemented(&v) => {
                Err(Stop::unsupported("truth of NotImplemented"))
            }
            Var::Const(o) => Ok(o.bind(self.py).is_truthy()?),
            Var::Tensor(_) => Err(self.data_dependent(&v)),
            Var::Tuple(t) if t.class.is_none() => Ok(!t.items.is_empty()),
            Var::Obj(id) => {
                if self.array_id(&v).is_some()
                    && let Some(known) = (self.rules.arrays.known)(self, *id)?
                    && let Ok(truth) = known.bind(self.py).is_truthy()
                {
                    return Ok(truth);
                }
                let state = self.obj(*id);
                if self.is_builtin_container(&state.class) {
                    return Ok(body_len(&state.body).is_none_or(|n| n != 0));
                }
                self.truth_by_class(&v)
            }
            Var::Tuple(_) | Var::Py(_) => self.truth_by_class(&v),
            Var::Slice(_)
            | Var::Func(_)
            | Var::Method(_)
            | Var::BuiltinMethod(_)
            | Var::Super(_) => Ok(true),
            Var::Null
            | Var::Handled(_)
            | Var::Lazy(_)
            | Var::Int(_)
            | Var::Float(_)
            | Var::Computed(_)
            | Var::Text(_) => Err(Stop::Internal("truth of no value".into())),
        }
    }

    fn truth_by_class(&mut self, v: &Var) -> R<bool> {
        match self.special(v, "__bool__")? {
            Special::User => {
                let r = self.special_sync(v, "__bool__", vec![])?;
                let r = self.realize(&r)?;
                return match &r {
                    Var::Const(o)
                        if o.bind(self.py)
                            .is_exact_instance_of::<pyo3::types::PyBool>() =>
                    {
                        Ok(o.bind(self.py).is_truthy()?)
                    }
                    Var::Tensor(_) => Err(self.data_dependent(&r)),
                    _ => Err(self.wrong_result(v, "__bool__", &r)?),
                };
            }
            Special::Builtin => return self.truth_of_real(v),
            Special::Absent => {}
        }
        match self.special(v, "__len__")? {
            Special::User => {
                let n = self.special_sync(v, "__len__", vec![])?;
                Ok(self.checked_len(&n)? != 0)
            }
            Special::Builtin => match self.value_len(v)? {
                Some(n) => Ok(n != 0),
                None => self.truth_of_real(v),
            },
            Special::Absent => Ok(true),
        }
    }

    /// A C class's own rule, on an object that existed before.
    fn truth_of_real(&mut self, v: &Var) -> R<bool> {
        match v {
            Var::Py(p) => Ok(p.obj.bind(self.py).is_truthy()?),
            _ => match self.plain_value(v) {
                Some(plain) => self.truth(&plain),
                None => Err(Stop::unsupported(format!("truth of {}", self.describe(v)))),
            },
        }
    }

    /// The number of items of a builtin container, by what it holds.
    ///
    /// # Errors
    /// Those of realizing the value.
    pub fn value_len(&mut self, v: &Var) -> R<Option<usize>> {
        Ok(match self.realize(v)? {
            Var::Tuple(t) => Some(t.items.len()),
            Var::Obj(id) => match &self.obj(id).body {
                Body::DictView(d, _) => body_len(&self.obj(*d).body),
                Body::MappingProxy(mapping) => return self.value_len(&mapping.clone()),
                Body::Value(plain) => return self.value_len(&Var::Const(plain.clone())),
                _ if self.array_id(&Var::Obj(id)).is_some() => {
                    return (self.rules.arrays.length)(self, id).map(Some);
                }
                b => body_len(b),
            },
            Var::Const(o) => o.bind(self.py).len().ok(),
            _ => None,
        })
    }

    /// What `__len__` gave, checked as CPython does.
    ///
    /// # Errors
    /// `TypeError`, `ValueError` or `OverflowError` as `len()` raises them.
    pub fn checked_len(&mut self, n: &Var) -> R<usize> {
        let n = self.index_of(n)?;
        usize::try_from(n).map_err(|_| self.raise("ValueError", "__len__() should return >= 0"))
    }

    /// `operator.index` as a machine integer.
    ///
    /// # Errors
    /// `TypeError` for a value that is no integer, `IndexError` for one that does not fit; a break
    /// for a tensor.
    pub fn index_of(&mut self, v: &Var) -> R<isize> {
        let o = self.index_obj(v)?;
        o.bind(self.py)
            .extract::<isize>()
            .map_err(|_| self.raise("IndexError", "cannot fit 'int' into an index-sized integer"))
    }

    /// `operator.index` of a value.
    ///
    /// # Errors
    /// `TypeError` for a value that is no integer; a break for a tensor.
    pub fn index_obj(&mut self, v: &Var) -> R<variables::Obj> {
        let v = self.realize(v)?;
        match &v {
            Var::Const(o) if o.bind(self.py).is_exact_instance_of::<pyo3::types::PyInt>() => {
                return Ok(o.clone());
            }
            Var::Tensor(_) => {
                return match self.known_data(&v, Reads::Int)? {
                    Some(Var::Const(o)) => Ok(o),
                    _ => Err(self.data_dependent(&v)),
                };
            }
            _ => {}
        }
        // An int of any class is its own index: its `__index__` is not asked.
        let int = self.py.get_type::<pyo3::types::PyInt>().into_any().unbind();
        let class = self.type_of(&v)?;
        let is_int = self.is_subtype(&class, &int);
        match self.special(&v, "__index__")? {
            Special::User if !is_int => {
                let r = self.special_sync(&v, "__index__", vec![])?;
                let r = self.realize(&r)?;
                match &r {
                    Var::Const(o) if o.bind(self.py).is_instance_of::<pyo3::types::PyInt>() => {
                        Ok(o.clone())
                    }
                    Var::Tensor(_) => Err(self.data_dependent(&r)),
                    _ => {
                        let name = self.type_name(&r)?;
                        let class = self.type_of(&r)?;
                        if self.is_subtype(&class, &int) {
                            // Python takes it, with a warning.
                            return Err(Stop::unsupported(format!(
                                "an __index__ that gives a {name}"
                            )));
                        }
                        Err(self.wrong_result(&v, "__index__", &r)?)
                    }
                }
            }
            Special::User | Special::Builtin => {
                match self.plain_value(&v).as_ref().unwrap_or(&v).as_obj() {
                    Some(o) => match self
                        .known
                        .operator
                        .bind(self.py)
                        .call_method1("index", (o,))
                    {
                        Ok(i) => Ok(i.unbind()),
                        Err(e) => Err(self.raise_pyerr(&e)),
                    },
                    None => Err(Stop::unsupported(format!(
                        "the integer value of {}",
                        self.describe(&v)
                    ))),
                }
            }
            Special::Absent => {
                let name = self.type_name(&v)?;
                Err(self.raise(
                    "TypeError",
                    &format!("'{name}' object cannot be interpreted as an integer"),
                ))
            }
        }
    }

    /// The break for a decision on a tensor's value.
    pub fn data_dependent(&self, v: &Var) -> Stop {
        Stop::Break(Box::new(BreakReason {
            reason: "Data-dependent branching".into(),
            explanation: "What the program does next depends on the value of a tensor, which is known only when the graph runs.".into(),
            hints: vec![
                "Express the choice as a tensor operation (`torch.where`) or with `torch.cond`, so that both branches are in the graph.".into(),
                "If the break is acceptable, nothing has to be done: the program runs as written, in more than one graph.".into(),
            ],
            context: self.describe(v),
            ..BreakReason::default()
        }))
    }
}

/// Number of items, where the body holds items.
pub fn body_len(body: &Body) -> Option<usize> {
    match body {
        Body::List(v) | Body::Deque(v, _) => Some(v.len()),
        Body::Dict(d) | Body::Set(d) => Some(d.len()),
        _ => None,
    }
}
