//! `iter(x)` and what it takes to make an iterator.

use std::rc::Rc;

use pyo3::prelude::*;
use variables::object::{DequeWalk, DictWalk};
use variables::{Body, DictView, IterBody, Obj, ObjId, Var};

use super::special::Special;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};
use variables::iter_class::IterClass;

impl Tx<'_> {
    /// `iter(v)` (CPython's `PyObject_GetIter`).
    ///
    /// # Errors
    /// `TypeError` where the value is not iterable; whatever a user's `__iter__` does.
    pub fn get_iter(&mut self, v: &Var) -> R<Var> {
        let v = self.realize(v)?;
        if let Some(mapping) = self.mapping_under(&v)? {
            return self.get_iter(&mapping);
        }
        match &v {
            Var::Tuple(t) if t.class.is_none() => {
                self.iter_items(IterClass::Tuple, t.items.clone())
            }
            Var::Const(o) => self.iter_const(&v, &o.clone()),
            Var::Tensor(_) => self.iter_tensor(&v),
            Var::Obj(_) if let Some(id) = self.array_id(&v) => {
                let items = (self.rules.arrays.items)(self, id)?;
                self.iter_items(IterClass::Sequence, items)
            }
            Var::Obj(id) => {
                let state = self.obj(*id);
                match &state.body {
                    Body::Iter(_) | Body::Generator(_) => return Ok(v),
                    Body::Plain
                    | Body::Result(_)
                    | Body::Array(_)
                    | Body::OfNode(_)
                    | Body::Address(_)
                    | Body::DataPointer(_)
                    | Body::RaggedSize(..)
                    | Body::Value(_)
                    | Body::Cell(_) => {}
                    _ if self.is_builtin_container(&state.class) => return self.iter_body(*id),
                    Body::DictView(..) => return self.iter_body(*id),
                    _ => {}
                }
                self.iter_by_class(&v)
            }
            Var::Py(p) if self.is_constant_mapping(p) => {
                let keys = self.known.dict.bind(self.py).call1((&p.obj,))?;
                let keys = self.from_const(keys)?;
                self.get_iter(&keys)
            }
            _ => self.iter_by_class(&v),
        }
    }

    /// A new iterator over fixed items.
    ///
    /// # Errors
    /// None in practice.
    pub fn iter_items(&mut self, class: IterClass, items: Vec<Var>) -> R<Var> {
        let class = class.get(self.py)?;
        Ok(self.new_iter(class, IterBody::Items(Rc::new(items), 0)))
    }

    fn not_iterable(&mut self, v: &Var) -> R<Var> {
        let name = self.type_name(v)?;
        Err(self.raise("TypeError", &format!("'{name}' object is not iterable")))
    }

    fn iter_const(&mut self, v: &Var, o: &variables::Obj) -> R<Var> {
        let b = o.bind(self.py);
        let class = if b.is_exact_instance_of::<pyo3::types::PyString>() {
            IterClass::Str
        } else if b.is_exact_instance_of::<pyo3::types::PyRange>() {
            IterClass::Range
        } else if b.is_exact_instance_of::<pyo3::types::PyBytes>() {
            IterClass::Bytes
        } else if b.get_type().is(self.known.frozenset.bind(self.py)) {
            let items = b.try_iter()?.collect::<PyResult<Vec<_>>>()?;
            self.facts.has_order_of_set(&items);
            let items = items
                .into_iter()
                .map(|i| self.from_const(i))
                .collect::<R<Vec<_>>>()?;
            return self.iter_items(IterClass::Set, items);
        } else {
            return self.not_iterable(v);
        };
        let class = class.get(self.py)?;
        Ok(self.new_iter(class, IterBody::Sequence(v.clone(), 0)))
    }

    fn iter_tensor(&mut self, v: &Var) -> R<Var> {
        if self.is_seen() || self.asks_class(v) {
            let iter = Var::py(self.known.tensor.getattr(self.py, "__iter__")?);
            return self.call_sync(&iter, Args::pos(vec![v.clone()]));
        }
        if let Var::Tensor(t) = v
            && self.st.effects.meta(t).shape.is_empty()
        {
            return Err(self.raise("TypeError", "iteration over a 0-d tensor"));
        }
        let zero = self.int(0);
        let flow = self.tensor_method(v, "unbind", Args::pos(vec![zero]))?;
        let items = self.finish_flow(flow)?;
        self.get_iter(&items)
    }

    /// The iterator of a builtin container, by what it holds.
    pub fn iter_body(&mut self, id: ObjId) -> R<Var> {
        let py = self.py;
        let (class, body) = match &self.obj(id).body {
            Body::List(_) => (IterClass::List, IterBody::List(id, Some(0))),
            Body::Deque(..) => return self.iter_deque(id, false),
            Body::Set(map) => {
                let changes = map.changes();
                let items = self.set_order(id)?;
                (
                    IterClass::Set,
                    IterBody::Set(id, Rc::new(items), 0, changes),
                )
            }
            Body::Dict(_) => return self.iter_dict(id, DictView::Keys),
            Body::DictView(d, view) => return self.iter_dict(*d, *view),
            Body::Iter(_) | Body::Generator(_) => return Ok(Var::Obj(id)),
            Body::Value(plain) => return self.get_iter(&Var::Const(plain.clone())),
            Body::Plain
            | Body::Result(_)
            | Body::Array(_)
            | Body::OfNode(_)
            | Body::Address(_)
            | Body::DataPointer(_)
            | Body::RaggedSize(..)
            | Body::Cell(_)
            | Body::MappingProxy(_) => {
                let obj = Var::Obj(id);
                if self.special(&obj, "__iter__")? != Special::Absent
                    || self.special(&obj, "__getitem__")? != Special::Absent
                {
                    return Err(Stop::unsupported(format!(
                        "iterating over {}",
                        self.describe(&obj)
                    )));
                }
                return self.not_iterable(&Var::Obj(id));
            }
        };
        let class = class.get(py)?;
        Ok(self.new_iter(class, body))
    }

    /// Whether a tracked dict is an `OrderedDict`.
    pub(crate) fn is_ordered_dict(&self, id: ObjId) -> bool {
        self.is_subtype(&self.obj(id).class, &self.known.ordered_dict)
    }

    /// A new iterator over a tracked dict, or over one of its views.
    fn iter_dict(&mut self, dict: ObjId, view: DictView) -> R<Var> {
        let (class, walk) = self.dict_walk(dict, view, false)?;
        Ok(self.new_iter(class, IterBody::Dict(walk)))
    }

    /// Where an iterator over a dict begins, with its class.
    ///
    /// # Errors
    /// None in practice.
    pub fn dict_walk(&self, dict: ObjId, view: DictView, reverse: bool) -> R<(Obj, DictWalk)> {
        let Body::Dict(map) = &self.obj(dict).body else {
            return Err(Stop::Internal("view of no dict".into()));
        };
        let class = if self.is_ordered_dict(dict) {
            IterClass::OrderedDict
        } else {
            IterClass::of_dict_iter(view, reverse)
        };
        let walk = DictWalk {
            dict,
            view,
            slot: 0,
            size: map.len(),
            changes: map.changes(),
        };
        Ok((class.get(self.py)?, walk))
    }

    /// A new iterator over a tracked deque.
    pub fn iter_deque(&mut self, deque: ObjId, reverse: bool) -> R<Var> {
        let class = if reverse {
            IterClass::DequeReverse
        } else {
            IterClass::Deque
        };
        let state = self.obj(deque);
        let walk = DequeWalk {
            deque,
            reverse,
            taken: 0,
            size: super::body_len(&state.body).unwrap_or(0),
            changes: state.changes,
        };
        let class = class.get(self.py)?;
        Ok(self.new_iter(class, IterBody::Deque(walk)))
    }

    fn iter_by_class(&mut self, v: &Var) -> R<Var> {
        match self.special(v, "__iter__")? {
            Special::User => {
                let it = self.special_sync(v, "__iter__", vec![])?;
                let it = self.realize(&it)?;
                if !self.is_iterator(&it)? {
                    return Err(self.wrong_result(v, "__iter__", &it)?);
                }
                Ok(it)
            }
            Special::Builtin => match v {
                Var::Tuple(t) => self.iter_items(IterClass::Tuple, t.items.clone()),
                Var::Obj(id) => self.iter_body(*id),
                _ => match self.plain_text(v) {
                    Some(text) => self.get_iter(&Var::Const(text)),
                    None => Err(Stop::unsupported(format!(
                        "iterating over {}",
                        self.describe(v)
                    ))),
                },
            },
            Special::Absent => {
                let class = self.type_of(v)?;
                // `__iter__ = None` says that there is no iteration.
                let refused = self.class_lookup(&class, "__iter__")?.is_some();
                if !refused && self.special(v, "__getitem__")?.is_user() {
                    let class = IterClass::Sequence.get(self.py)?;
                    return Ok(self.new_iter(class, IterBody::Sequence(v.clone(), 0)));
                }
                self.not_iterable(v)
            }
        }
    }

    /// Whether a value has `__next__`.
    ///
    /// # Errors
    /// Those of looking at its class.
    pub fn is_iterator(&mut self, v: &Var) -> R<bool> {
        let v = self.realize(v)?;
        if let Var::Obj(id) = &v
            && matches!(self.obj(*id).body, Body::Iter(_) | Body::Generator(_))
        {
            return Ok(true);
        }
        Ok(self.special(&v, "__next__")? != Special::Absent)
    }

    /// A set's items in the order in which CPython iterates over it: that of the hash table, where
    /// all hashes are those of existing objects; insertion order otherwise (then the order depends
    /// on addresses that do not exist yet).
    ///
    /// # Errors
    /// Those of hashing.
    pub fn set_order(&mut self, id: ObjId) -> R<Vec<Var>> {
        let state = self.obj(id);
        let Body::Set(items) = &state.body else {
            return Err(Stop::Internal("order of no set".into()));
        };
        let vars: Vec<Var> = items.iter().map(|(k, _)| k.clone()).collect();
        if vars.len() < 2 || (!state.is_new() && !state.body_dirty) {
            return Ok(vars);
        }
        let mut real = Vec::with_capacity(vars.len());
        for v in &vars {
            match self.as_const(v)? {
                Some(o) => real.push(o),
                None => return Ok(vars),
            }
        }
        let items: Vec<_> = real.iter().map(|o| o.bind(self.py).clone()).collect();
        self.facts.has_order_of_set(&items);
        let set = self.known.set.bind(self.py).call0()?;
        let mut by_addr = rustc_hash::FxHashMap::default();
        for (o, v) in real.iter().zip(vars) {
            set.call_method1("add", (o,))?;
            by_addr.insert(o.as_ptr() as usize, v);
        }
        Ok(set
            .try_iter()?
            .filter_map(|o| o.ok().and_then(|o| by_addr.remove(&(o.as_ptr() as usize))))
            .collect())
    }
}
