//! `obj[key]`, `obj[key] = value`, `del obj[key]`.

use std::rc::Rc;

use pyo3::prelude::*;
use pyo3::types::PyType;
use variables::{Body, ObjId, OrderedMap, TupleVar, Var};

use super::special::Special;
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

impl Tx<'_> {
    /// `obj[key]` (CPython's `PyObject_GetItem`).
    ///
    /// # Errors
    /// Whatever the subscript raises; a break where it has no rule.
    pub fn getitem(&mut self, obj: &Var, key: &Var) -> R<Flow> {
        if let Some(found) = self.peek_item(obj, key)? {
            return found.map(Flow::Value).ok_or_else(|| self.key_error(key));
        }
        let obj = self.realize(obj)?;
        let key = self.key_for(&obj, key)?;
        if let Some(mapping) = self.mapping_under(&obj)? {
            return self.getitem(&mapping, &key);
        }
        match &obj {
            Var::Tensor(_) => return self.tensor_getitem(&obj, &key),
            Var::Tuple(t) if t.class.as_ref().is_none_or(|c| c.is(&self.known.size)) => {
                return self.tuple_item(t, &key).map(Flow::Value);
            }
            Var::Obj(id) if self.is_builtin_container(&self.obj(*id).class) => {
                return self.body_item(*id, &key);
            }
            Var::Const(o) => {
                let o = o.clone();
                return self.const_item(&obj, &o, &key).map(Flow::Value);
            }
            _ => {}
        }
        if let Var::Py(p) = &obj
            && p.obj
                .bind(self.py)
                .get_type()
                .module()
                .is_ok_and(|m| m == "typing")
            && let Some(k) = self.real_copy(&key)?
        {
            // `Optional[int]`: typing's own Python, without effects.
            let o = p.obj.clone();
            return self.fold(move |py| o.bind(py).get_item(k)).map(Flow::Value);
        }
        match self.special(&obj, "__getitem__")? {
            Special::User => self.special_flow(&obj, "__getitem__", vec![key]),
            Special::Builtin if let Some(text) = self.plain_text(&obj) => {
                self.getitem(&Var::Const(text), &key)
            }
            Special::Builtin => match &obj {
                Var::Tuple(t) => self.tuple_item(&t.clone(), &key).map(Flow::Value),
                Var::Obj(id) => self.body_item(*id, &key),
                Var::Py(p) => match self.as_const(&key)?.filter(|_| self.is_changeless(p)) {
                    Some(k) => {
                        let o = p.obj.clone();
                        self.fold(move |py| o.bind(py).get_item(k)).map(Flow::Value)
                    }
                    None => Err(Stop::unsupported(format!(
                        "a subscript of {}",
                        self.describe(&obj)
                    ))),
                },
                _ => Err(Stop::unsupported(format!(
                    "a subscript of {}",
                    self.describe(&obj)
                ))),
            },
            Special::Absent => self.class_item(&obj, key),
        }
    }

    /// A key, known; of a tensor it may be a number of the graph.
    fn key_for(&mut self, obj: &Var, key: &Var) -> R<Var> {
        match obj {
            Var::Tensor(_) if self.has_numpy_number([key]) => {
                let key = (self.rules.arrays.as_index)(self, key)?;
                self.look(&key)
            }
            Var::Tensor(_) => self.look(key),
            obj if self.array_id(obj).is_some() => Ok(key.clone()),
            _ => self.realize(key),
        }
    }

    /// The same, run to its end.
    ///
    /// # Errors
    /// As [`Tx::getitem`].
    pub fn getitem_sync(&mut self, obj: &Var, key: &Var) -> R<Var> {
        let f = self.getitem(obj, key)?;
        self.finish_flow(f)
    }

    /// `cls[key]`: `__class_getitem__`.
    fn class_item(&mut self, obj: &Var, key: Var) -> R<Flow> {
        if let Var::Py(p) = obj
            && p.obj.bind(self.py).is_instance_of::<PyType>()
        {
            let class = p.obj.clone();
            if let Some(found) = self.class_lookup(&class, "__class_getitem__")? {
                let module = class
                    .bind(self.py)
                    .getattr("__class_getitem__")
                    .and_then(|f| f.getattr("__module__"));
                let pythons = module.is_ok_and(|m| {
                    m.is_none()
                        || m.extract::<String>().is_ok_and(|m| {
                            matches!(&*m, "typing" | "collections.abc" | "_collections_abc")
                        })
                });
                if (self.special_kind(&found) == Special::Builtin || pythons)
                    && let Some(k) = self.real_copy(&key)?
                {
                    return self
                        .fold(move |py| class.bind(py).get_item(k))
                        .map(Flow::Value);
                }
                let f = self.getattr_sync(obj, &"__class_getitem__".into())?;
                return self.call(&f, Args::pos(vec![key]));
            }
            let name = self.class_name(&class);
            return Err(self.raise("TypeError", &format!("type '{name}' is not subscriptable")));
        }
        let name = self.type_name(obj)?;
        Err(self.raise(
            "TypeError",
            &format!("'{name}' object is not subscriptable"),
        ))
    }

    fn const_item(&mut self, obj: &Var, o: &variables::Obj, key: &Var) -> R<Var> {
        if let Some(k) = self.as_const(key)? {
            let o = o.clone();
            return self.fold(move |py| o.bind(py).get_item(k));
        }
        if matches!(key, Var::Slice(_) | Var::Tensor(_))
            || self.special(key, "__index__")?.is_user()
        {
            let k = match key {
                Var::Slice(s) => {
                    let mut parts = Vec::with_capacity(3);
                    for p in s.iter() {
                        let p = self.realize(p)?;
                        parts.push(if p.is_none(self.py) {
                            self.py.None()
                        } else {
                            self.index_obj(&p)?
                        });
                    }
                    self.known.slice.call1(
                        self.py,
                        (parts[0].clone(), parts[1].clone(), parts[2].clone()),
                    )?
                }
                _ => self.index_obj(key)?,
            };
            let o = o.clone();
            return self.fold(move |py| o.bind(py).get_item(k));
        }
        Err(self.bad_index(obj, key)?)
    }

    /// `tuple[key]`
    ///
    /// # Errors
    /// What Python raises for the key.
    pub fn tuple_item(&mut self, t: &Rc<TupleVar>, key: &Var) -> R<Var> {
        if let Var::Slice(s) = key {
            let span = self.span(s, t.items.len())?;
            if span.count == t.items.len() && span.step == 1 && t.class.is_none() {
                return Ok(Var::Tuple(t.clone()));
            }
            let items = span.indices().map(|i| t.items[i].clone()).collect();
            // A slice of a torch.Size is one; a slice of a named tuple is a plain tuple.
            let class = t.class.clone().filter(|c| c.is(&self.known.size));
            return Ok(Var::Tuple(Rc::new(TupleVar {
                items,
                class,
                origin: None,
            })));
        }
        let i = self.sequence_index(
            &Var::Tuple(t.clone()),
            key,
            t.items.len(),
            "tuple index out of range",
        )?;
        Ok(t.items[i].clone())
    }

    /// An index into a sequence of known length; negative ones count from the end.
    ///
    /// # Errors
    /// `IndexError` in the given words, `TypeError` where the key is no index.
    pub fn sequence_index(&mut self, obj: &Var, key: &Var, len: usize, message: &str) -> R<usize> {
        if !matches!(key, Var::Tensor(_)) && self.special(key, "__index__")? == Special::Absent {
            return Err(self.bad_index(obj, key)?);
        }
        let i = self.index_of(key)?;
        let j = if i < 0 { i + len as isize } else { i };
        if j < 0 || j >= len as isize {
            return Err(self.raise("IndexError", message));
        }
        Ok(j as usize)
    }

    fn bad_index(&mut self, obj: &Var, key: &Var) -> R<Stop> {
        let (class, name) = (self.type_name(obj)?, self.type_name(key)?);
        Ok(match &*class {
            "str" => self.raise(
                "TypeError",
                &format!("string indices must be integers, not '{name}'"),
            ),
            "bytes" => self.raise(
                "TypeError",
                &format!("byte indices must be integers or slices, not {name}"),
            ),
            "deque" => self.raise(
                "TypeError",
                &format!("sequence index must be integer, not '{name}'"),
            ),
            "list" | "tuple" | "range" => self.raise(
                "TypeError",
                &format!("{class} indices must be integers or slices, not {name}"),
            ),
            "int" | "float" | "NoneType" | "bool" | "complex" => self.raise(
                "TypeError",
                &format!("'{class}' object is not subscriptable"),
            ),
            _ => self.raise(
                "TypeError",
                &format!("{class} indices must be integers or slices, not {name}"),
            ),
        })
    }

    /// `object[key]`, of what a container holds.
    ///
    /// # Errors
    /// What Python raises for the key; a break for an object that is no container.
    pub fn body_item(&mut self, id: ObjId, key: &Var) -> R<Flow> {
        let obj = Var::Obj(id);
        match self.obj(id).body.clone() {
            Body::List(v) => {
                if let Var::Slice(s) = key {
                    let span = self.span(s, v.len())?;
                    let items: Vec<Var> = span.indices().map(|i| v[i].clone()).collect();
                    return Ok(Flow::Value(self.new_list(items)));
                }
                let i = self.sequence_index(&obj, key, v.len(), "list index out of range")?;
                Ok(Flow::Value(v[i].clone()))
            }
            Body::Deque(v, _) => {
                let i = self.sequence_index(&obj, key, v.len(), "deque index out of range")?;
                Ok(Flow::Value(v[i].clone()))
            }
            Body::Dict(d) => self.dict_item(id, &d, key),
            Body::Value(plain) => self.getitem(&Var::Const(plain), key),
            _ => {
                if self.array_id(&obj).is_some()
                    && let Some(flow) =
                        (self.rules.arrays.operator)(self, "__getitem__", &[&obj, key])?
                {
                    return Ok(flow);
                }
                if self.special(&obj, "__getitem__")? != Special::Absent {
                    return Err(Stop::unsupported(format!(
                        "a subscript of {}",
                        self.describe(&obj)
                    )));
                }
                let name = self.type_name(&obj)?;
                Err(self.raise(
                    "TypeError",
                    &format!("'{name}' object is not subscriptable"),
                ))
            }
        }
    }

    /// `dict.__getitem__`: `__missing__` of a subclass for a key that is not there.
    pub(crate) fn dict_item(&mut self, id: ObjId, d: &OrderedMap, key: &Var) -> R<Flow> {
        let k = self.dict_key(key)?;
        if let Some(v) = d.get(&k) {
            return Ok(Flow::Value(v.clone()));
        }
        let class = self.obj(id).class.clone();
        if class.is(&self.known.dict) || class.is(&self.known.ordered_dict) {
            return Err(self.key_error(key));
        }
        match self.class_special(&class, "__missing__")? {
            Special::User => self.special_flow(&Var::Obj(id), "__missing__", vec![key.clone()]),
            Special::Builtin => self.defaultdict_missing(id, key).map(Flow::Value),
            Special::Absent => Err(self.key_error(key)),
        }
    }

    /// `KeyError(key)`.
    pub fn key_error(&mut self, key: &Var) -> Stop {
        match self.known.builtins.bind(self.py).getattr("KeyError") {
            Ok(class) => {
                let class = class.unbind();
                self.raise_class(class, vec![key.clone()])
            }
            Err(e) => e.into(),
        }
    }

    /// `defaultdict.__missing__`.
    ///
    /// # Errors
    /// `KeyError` without a factory; whatever the factory does.
    pub fn defaultdict_missing(&mut self, id: ObjId, key: &Var) -> R<Var> {
        let state = self.obj(id);
        let name: std::sync::Arc<str> = "default_factory".into();
        let factory = match state.attrs.get(&name).or_else(|| state.seen.get(&name)) {
            Some(Some(f)) => f.clone(),
            _ => self.none(),
        };
        let factory = self.realize(&factory)?;
        if factory.is_none(self.py) {
            return Err(self.key_error(key));
        }
        let value = self.call_sync(&factory, Args::default())?;
        self.setitem(&Var::Obj(id), key, &value)?;
        Ok(value)
    }

    /// `obj[key] = value`. Where [`Flow::Pushed`] comes back, a user's `__setitem__` runs and its
    /// result is to be dropped.
    ///
    /// # Errors
    /// Whatever the assignment raises; a break where it has no rule.
    pub fn setitem(&mut self, obj: &Var, key: &Var, value: &Var) -> R<Flow> {
        let obj = self.realize(obj)?;
        let key = self.key_for(&obj, key)?;
        if matches!(obj, Var::Tensor(_)) {
            self.tensor_setitem(&obj, &key, value)?;
            return Ok(Flow::Value(self.none()));
        }
        match self.special(&obj, "__setitem__")? {
            Special::User => {
                return self.special_flow(&obj, "__setitem__", vec![key, value.clone()]);
            }
            Special::Absent => {
                let name = self.type_name(&obj)?;
                return Err(self.raise(
                    "TypeError",
                    &format!("'{name}' object does not support item assignment"),
                ));
            }
            Special::Builtin => {}
        }
        let Some(id) = self.id_of(&obj) else {
            return Err(Stop::unsupported(format!(
                "item assignment to {}",
                self.describe(&obj)
            )));
        };
        self.set_body_item(id, &key, value)?;
        Ok(Flow::Value(self.none()))
    }

    /// `list.__setitem__`, `dict.__setitem__` or `deque.__setitem__`.
    ///
    /// # Errors
    /// Whatever the assignment raises.
    pub fn set_body_item(&mut self, id: ObjId, key: &Var, value: &Var) -> R<()> {
        let obj = Var::Obj(id);
        match &self.obj(id).body {
            Body::List(v) => {
                let len = v.len();
                if let Var::Slice(s) = key {
                    return self.set_slice(id, &s.clone(), value);
                }
                let i =
                    self.sequence_index(&obj, key, len, "list assignment index out of range")?;
                if let Body::List(v) = self.st.effects.body_mut(id) {
                    v.set(i, value.clone());
                }
            }
            Body::Deque(v, _) => {
                let len = v.len();
                let i = self.sequence_index(&obj, key, len, "deque index out of range")?;
                if let Body::Deque(v, _) = self.st.effects.body_mut(id) {
                    v.set(i, value.clone());
                }
            }
            Body::Dict(_) => {
                let ordered = self.known.ordered_dict.clone();
                let class = self.obj(id).class.clone();
                let k = match self.is_subtype(&class, &ordered) {
                    true => self.key(key)?,
                    false => self.dict_key(key)?,
                };
                if let Body::Dict(d) = self.st.effects.body_mut(id) {
                    d.insert(k, key.clone(), value.clone());
                }
            }
            _ => {
                if self.array_id(&obj).is_some()
                    && (self.rules.arrays.operator)(self, "__setitem__", &[&obj, key, value])?
                        .is_some()
                {
                    return Ok(());
                }
                return Err(Stop::unsupported(format!(
                    "item assignment to {}",
                    self.describe(&obj)
                )));
            }
        }
        Ok(())
    }

    fn set_slice(&mut self, id: ObjId, slice: &[Var; 3], value: &Var) -> R<()> {
        let Body::List(v) = self.obj(id).body.clone() else {
            return Err(Stop::Internal("slice of no list".into()));
        };
        let span = self.span(slice, v.len())?;
        let iterable = self.get_iter(value).is_ok();
        if !iterable {
            let message = match span.step {
                1 => self.version().no_iterable_for_a_slice(),
                _ => "must assign iterable to extended slice",
            };
            return Err(self.raise("TypeError", message));
        }
        let items = self.iterate(value)?;
        let out: im::Vector<Var> = if span.step == 1 {
            let start = span.start as usize;
            let stop = (span.stop.max(span.start)) as usize;
            let mut head = v.clone();
            let tail = head.split_off(stop);
            head.truncate(start);
            head.extend(items);
            head.append(tail);
            head
        } else {
            if items.len() != span.count {
                let message = format!(
                    "attempt to assign sequence of size {} to extended slice of size {}",
                    items.len(),
                    span.count
                );
                return Err(self.raise("ValueError", &message));
            }
            let mut out = v;
            for (i, item) in span.indices().zip(items) {
                out.set(i, item);
            }
            out
        };
        *self.st.effects.body_mut(id) = Body::List(out);
        Ok(())
    }

    /// `del obj[key]`. Where [`Flow::Pushed`] comes back, a user's `__delitem__` runs and its result
    /// is to be dropped.
    ///
    /// # Errors
    /// Whatever the deletion raises; a break where it has no rule.
    pub fn delitem(&mut self, obj: &Var, key: &Var) -> R<Flow> {
        let obj = self.realize(obj)?;
        let key = self.realize(key)?;
        match self.special(&obj, "__delitem__")? {
            Special::User => return self.special_flow(&obj, "__delitem__", vec![key]),
            Special::Absent => {
                let name = self.type_name(&obj)?;
                let class = self.type_of(&obj)?;
                let index = self.special(&key, "__index__")? != Special::Absent;
                let not = match index && crate::raw::has_sequence_slots(class.bind(self.py)) {
                    true => "doesn't",
                    false => "does not",
                };
                let message = format!("'{name}' object {not} support item deletion");
                return Err(self.raise("TypeError", &message));
            }
            Special::Builtin => {}
        }
        let Some(id) = self.id_of(&obj) else {
            return Err(Stop::unsupported(format!(
                "item deletion from {}",
                self.describe(&obj)
            )));
        };
        self.delete_body_item(id, &key)?;
        Ok(Flow::Value(self.none()))
    }

    /// `list.__delitem__`, `dict.__delitem__` or `deque.__delitem__`.
    ///
    /// # Errors
    /// Whatever the deletion raises.
    pub fn delete_body_item(&mut self, id: ObjId, key: &Var) -> R<()> {
        let obj = Var::Obj(id);
        match self.obj(id).body.clone() {
            Body::List(mut v) => {
                if let Var::Slice(s) = key {
                    let span = self.span(s, v.len())?;
                    let gone: rustc_hash::FxHashSet<usize> = span.indices().collect();
                    let kept = v
                        .into_iter()
                        .enumerate()
                        .filter(|(i, _)| !gone.contains(i))
                        .map(|(_, v)| v)
                        .collect();
                    *self.st.effects.body_mut(id) = Body::List(kept);
                    return Ok(());
                }
                let i =
                    self.sequence_index(&obj, key, v.len(), "list assignment index out of range")?;
                v.remove(i);
                *self.st.effects.body_mut(id) = Body::List(v);
            }
            Body::Deque(mut v, max) => {
                let i = self.sequence_index(&obj, key, v.len(), "deque index out of range")?;
                v.remove(i);
                *self.st.effects.items_mut(id) = Body::Deque(v, max);
            }
            Body::Dict(mut d) => {
                let k = self.dict_key(key)?;
                if d.remove(&k).is_none() {
                    return Err(self.key_error(key));
                }
                *self.st.effects.body_mut(id) = Body::Dict(d);
            }
            _ => {
                return Err(Stop::unsupported(format!(
                    "item deletion from {}",
                    self.describe(&obj)
                )));
            }
        }
        Ok(())
    }
}
