//! Instance dicts: attributes by name, and `__dict__` as a value.
//!
//! Until a program asks for `obj.__dict__`, an object's attributes are in its own tables: what was
//! read, and what was written. From then on they are items of a tracked dict, so that writes
//! through either are seen through the other. The dict of an existing object is taken in only when
//! something other than a look-up by name is done with it.
//!
//! Lives here: reads and writes of single names, `__dict__`. Does not live here: the order in which
//! attribute access looks at classes and dicts (`attr`).

use std::rc::Rc;
use std::sync::Arc;

use guards::{Key as GuardKey, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyType};
use variables::{Body, FuncVar, ObjId, ObjState, OrderedMap, Origin, Var};

use super::{absent, absent_key};
use crate::raw::{dict_get, instance_dict, type_lookup};
use crate::stop::R;
use crate::tx::{Flow, Tx};
use variables::constants::const_val;

/// From how many items on a dict, or a set, is guarded item by item.
pub(crate) const LARGE: usize = 32;

impl Tx<'_> {
    /// An item of the instance dict; `None` where it has none of that name.
    pub fn instance_dict_attr(&mut self, obj: &Var, name: &Arc<str>) -> R<Option<Var>> {
        let (id, real, source) = match obj {
            Var::Obj(id) => {
                let state = self.obj(*id);
                if let Some(dict) = state.dict {
                    return self.dict_entry(dict, name);
                }
                if let Some(written) = state.attrs.get(name) {
                    return Ok(written.clone());
                }
                if let Some(seen) = state.seen.get(name) {
                    return Ok(seen.clone());
                }
                match &state.origin {
                    Origin::Source { obj, source } => (Some(*id), obj.clone(), Some(*source)),
                    _ => return Ok(None),
                }
            }
            Var::Py(p) => (None, p.obj.clone(), p.source),
            _ => return Ok(None),
        };
        let Some(dict) = instance_dict(real.bind(self.py)) else {
            return Ok(None);
        };
        let base = match source {
            Some(s) => s,
            None => {
                let label = self.describe(obj);
                self.pinned_source(&real, true, &label)
            }
        };
        let value = match dict_get(&dict, name) {
            Some(v) => {
                let name = name.clone();
                // C classes may hide the dictionary of their instances.
                let shown = type_lookup(&real.bind(self.py).get_type(), "__dict__").is_some();
                let s = self.source(match shown {
                    true => Source::InstanceDictItem { base, name },
                    false => Source::Attr { base, name },
                });
                self.touch(s);
                Some(self.lazy(v.unbind(), s))
            }
            None => {
                self.guard(base, absent(name));
                None
            }
        };
        if let Some(id) = id {
            self.st
                .effects
                .get_mut(id)
                .seen
                .insert(name.clone(), value.clone());
        }
        Ok(value)
    }

    /// The value of a string key of a tracked dict.
    fn dict_entry(&mut self, dict: ObjId, name: &str) -> R<Option<Var>> {
        let name = self.str(name);
        let key = self.key(&name)?;
        match &self.obj(dict).body {
            Body::Dict(map) => Ok(map.get(&key).cloned()),
            _ => Ok(None),
        }
    }

    /// Writes or deletes an item of the instance dict. The caller has looked at the class.
    pub fn write_dict_attr(&mut self, id: ObjId, name: &Arc<str>, value: Option<Var>) -> R<()> {
        let Some(dict) = self.obj(id).dict else {
            self.st.effects.write_attr(id, name, value);
            return Ok(());
        };
        let name = self.str(name);
        let key = self.key(&name)?;
        if let Body::Dict(map) = self.st.effects.body_mut(dict) {
            match value {
                Some(value) => map.insert(key, name, value),
                None => drop(map.remove(&key)),
            }
        }
        Ok(())
    }

    /// `obj.__dict__`.
    pub(crate) fn instance_dict_view(&mut self, id: ObjId) -> R<Flow> {
        let state = self.obj(id);
        if let Some(dict) = state.dict {
            return Ok(Flow::Value(Var::Obj(dict)));
        }
        let Origin::Source { obj, source } = state.origin.clone() else {
            return self.own_dict(id, Var::Obj(id)).map(Flow::Value);
        };
        let class = state.class.clone();
        let Some(real) = instance_dict(obj.bind(self.py)) else {
            return Err(self.no_attribute(&class, "__dict__"));
        };
        let source = self.source(Source::InstanceDict { base: source });
        let real = real.into_any().unbind();
        let addr = real.as_ptr() as usize;
        let dict = self.lazy(real, source);
        // A dict that was met before as a value of its own is joined to the object now.
        if self.st.effects.known(addr).is_some()
            && let Var::Obj(dict) = self.realize(&dict)?
        {
            self.adopt_dict(dict, id)?;
        }
        Ok(Flow::Value(dict))
    }

    /// `__dict__` of a function made while translating.
    pub(crate) fn function_dict(&mut self, f: &Rc<FuncVar>) -> R<Var> {
        match self.obj(f.obj).dict {
            Some(dict) => Ok(Var::Obj(dict)),
            None => self.own_dict(f.obj, Var::Func(f.clone())),
        }
    }

    /// Moves the attributes of an object made while translating into a dict.
    fn own_dict(&mut self, id: ObjId, owner: Var) -> R<Var> {
        let mut state = ObjState::new(self.known.dict.clone(), Body::Dict(OrderedMap::default()));
        state.dict_of = Some(owner);
        let dict = self.st.effects.add(state);
        self.move_attrs(id, dict)?;
        Ok(Var::Obj(dict))
    }

    /// Makes a tracked dict the place of an object's attributes.
    fn adopt_dict(&mut self, dict: ObjId, id: ObjId) -> R<()> {
        if self.obj(id).dict.is_some() {
            return Ok(());
        }
        self.st.effects.get_mut(dict).dict_of = Some(Var::Obj(id));
        self.move_attrs(id, dict)
    }

    fn move_attrs(&mut self, id: ObjId, dict: ObjId) -> R<()> {
        let state = self.obj(id).clone();
        self.st.effects.get_mut(id).dict = Some(dict);
        let mut kept = ObjState::new(state.class.clone(), Body::Plain);
        for name in &state.attr_order {
            let Some(value) = state.attrs.get(name).cloned() else {
                continue;
            };
            if self.is_c_level(&state.class, name) {
                kept.write_attr(name, value);
            } else {
                if state.moved.contains(name) {
                    self.write_dict_attr(id, name, None)?;
                }
                self.write_dict_attr(id, name, value)?;
            }
        }
        let now = self.st.effects.get_mut(id);
        now.attrs = kept.attrs;
        now.attr_order = kept.attr_order;
        now.moved = kept.moved;
        Ok(())
    }

    /// Whether an attribute is kept by a slot or C getter of the class, and not in the dict.
    pub fn is_c_level(&self, class: &variables::Obj, name: &str) -> bool {
        let Ok(class) = class.bind(self.py).cast::<PyType>() else {
            return false;
        };
        type_lookup(class, name).is_some_and(|d| {
            let ty = d.bind(self.py).get_type();
            ty.is(self.known.member_descriptor.bind(self.py))
                || ty.is(self.known.getset_descriptor.bind(self.py))
        })
    }

    /// After the instance dict of an existing object was taken in: joins the two.
    pub(crate) fn join_owner(&mut self, dict: &Var, source: SourceId) -> R<()> {
        if let Var::Obj(dict) = dict
            && let Some(owner) = self.owner_of(source)
        {
            self.adopt_dict(*dict, owner)?;
        }
        Ok(())
    }

    /// The tracked object whose `__dict__` a source is.
    fn owner_of(&self, source: SourceId) -> Option<ObjId> {
        let Source::InstanceDict { base } = self.facts.sources.get(source) else {
            return None;
        };
        let owner = self.facts.reached.get(base)?;
        match self.st.effects.known(owner.as_ptr() as usize) {
            Some(Var::Obj(id)) => Some(*id),
            _ => None,
        }
    }

    /// Whether a value is a `__dict__` that nothing has looked at as a whole.
    pub(crate) fn is_unseen_dict(&self, dict: &Var) -> bool {
        let Var::Lazy(l) = dict else { return false };
        self.st.effects.known(l.obj.as_ptr() as usize).is_none()
            && self.owner_of(l.source).is_some()
    }

    /// An item of a dict that nothing has looked at as a whole, where it can be read by itself. The
    /// outer `None`: it can not.
    ///
    /// # Errors
    /// As [`Tx::realize`].
    pub(crate) fn peek_item(&mut self, dict: &Var, key: &Var) -> R<Option<Option<Var>>> {
        match self.peeked_attr(dict, key) {
            Some((owner, name)) => self.instance_dict_attr(&owner, &name).map(Some),
            None => self.item_of_large(dict, key),
        }
    }

    /// Whether a value is a large dict that nothing has looked at as a whole.
    pub(crate) fn is_unseen_large(&self, dict: &Var) -> bool {
        let Var::Lazy(l) = dict else { return false };
        let b = l.obj.bind(self.py);
        b.cast_exact::<PyDict>().is_ok_and(|d| d.len() >= LARGE)
            && self.st.effects.known(l.obj.as_ptr() as usize).is_none()
    }

    /// The object behind a `__dict__` that nothing has looked at as a whole, where `key` is a
    /// constant text: a look-up of one name needs no other.
    pub(crate) fn peeked_attr(&mut self, dict: &Var, key: &Var) -> Option<(Var, Arc<str>)> {
        let Var::Lazy(l) = dict else { return None };
        if !self.is_unseen_dict(dict) {
            return None;
        }
        let owner = self.owner_of(l.source)?;
        let Ok(Var::Const(key)) = self.realize(key) else {
            return None;
        };
        let key = key.bind(self.py).cast_exact::<PyString>().ok()?;
        Some((Var::Obj(owner), Arc::from(key.to_str().ok()?)))
    }

    /// `dict[key]` of a large dict from outside that nothing has looked at as a whole, for a constant
    /// key: only that item is guarded. The outer `None`: this is no such dict or key.
    pub(crate) fn item_of_large(&mut self, dict: &Var, key: &Var) -> R<Option<Option<Var>>> {
        let Var::Lazy(l) = dict else { return Ok(None) };
        let b = l.obj.bind(self.py).clone();
        let Ok(d) = b.cast_exact::<PyDict>() else {
            return Ok(None);
        };
        if !self.is_unseen_large(dict) {
            return Ok(None);
        }
        // Equal keys of other types would be found in the dict but not by the guard.
        let (key, guard_key) = match self.realize(key)? {
            Var::Const(key)
                if key.bind(self.py).is_exact_instance_of::<PyString>()
                    || key.bind(self.py).is_exact_instance_of::<PyBytes>() =>
            {
                let Some(guard_key) = const_val(key.bind(self.py)) else {
                    return Ok(None);
                };
                (key, guard_key)
            }
            Var::Py(p) if p.obj.bind(self.py).is_instance_of::<PyType>() => {
                if !self.is_told_by_identity(p.obj.bind(self.py)) {
                    return Ok(None);
                }
                let pinned = self.pin(&p.obj, true);
                (p.obj.clone(), GuardKey::Obj(pinned))
            }
            _ => return Ok(None),
        };
        self.guard_type(&b, l.source);
        Ok(Some(match d.get_item(key)? {
            Some(v) => {
                let s = self.source(Source::DictItem {
                    base: l.source,
                    key: guard_key,
                });
                Some(self.lazy(v.unbind(), s))
            }
            None => {
                self.guard(l.source, absent_key(guard_key));
                None
            }
        }))
    }

    /// An item of a dict from outside by a string key, without taking the whole dict in. The
    /// dict is given as a (lazy or tracked) value.
    ///
    /// # Errors
    /// As [`Tx::realize`].
    pub fn dict_peek(&mut self, dict: &Var, key: &str) -> R<Option<Var>> {
        match dict {
            Var::Lazy(l) if self.st.effects.known(l.obj.as_ptr() as usize).is_none() => {
                let b = l.obj.bind(self.py).clone();
                let Ok(d) = b.cast::<PyDict>() else {
                    return Ok(None);
                };
                let guard_key = GuardKey::str(key);
                match dict_get(d, key) {
                    Some(v) => {
                        let s = self.source(Source::DictItem {
                            base: l.source,
                            key: guard_key,
                        });
                        self.touch(s);
                        Ok(Some(self.lazy(v.unbind(), s)))
                    }
                    None => {
                        self.guard(l.source, absent_key(guard_key));
                        Ok(None)
                    }
                }
            }
            _ => {
                let dict = self.realize(dict)?;
                let Var::Obj(id) = dict else { return Ok(None) };
                self.dict_entry(id, key)
            }
        }
    }
}
