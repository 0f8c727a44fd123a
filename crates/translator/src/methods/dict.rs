//! Methods of `dict`, `OrderedDict`, `defaultdict`, and of dict views.

use variables::{Body, DictView, ObjId, OrderedMap, Var};

use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};
use crate::values::IterClass;

impl Tx<'_> {
    fn map_of(&self, id: ObjId) -> OrderedMap {
        match &self.obj(id).body {
            Body::Dict(d) => d.clone(),
            _ => OrderedMap::default(),
        }
    }

    /// A live view of a tracked dict.
    ///
    /// # Errors
    /// None in practice.
    pub(crate) fn dict_view(&mut self, id: ObjId, view: DictView) -> R<Var> {
        let class = IterClass::of_view(view).get(self.py)?;
        Ok(Var::Obj(self.new_object(class, Body::DictView(id, view))))
    }

    /// A dict's method. `None`: there is none of this name here.
    pub(super) fn dict_method(&mut self, id: ObjId, name: &str, args: Args) -> R<Option<Flow>> {
        let recv = Var::Obj(id);
        let none = self.none();
        let ordered = self.is_subtype(
            &self.obj(id).class.clone(),
            &self.known.ordered_dict.clone(),
        );
        let value = match name {
            "get" => {
                let a = self.positional("get", args, 1, 2)?;
                let k = self.realize(&a[0])?;
                let k = self.dict_key(&k)?;
                match self.map_of(id).get(&k) {
                    Some(v) => v.clone(),
                    None => a.get(1).cloned().unwrap_or(none),
                }
            }
            "setdefault" => {
                let a = if ordered {
                    let a = self.by_name("setdefault", args, &["key", "default"], 1, 2)?;
                    a.into_iter().flatten().collect()
                } else {
                    self.positional("setdefault", args, 1, 2)?
                };
                let k = self.realize(&a[0])?;
                let key = self.dict_key(&k)?;
                let class = self.obj(id).class.clone();
                match self.map_of(id).get(&key) {
                    Some(_) if ordered && self.is_read_by_methods(&class)? => {
                        self.getitem_sync(&recv, &k)?
                    }
                    Some(v) => v.clone(),
                    None if self.asks_for_items(&recv)? => {
                        let v = a.get(1).cloned().unwrap_or(none);
                        let flow = self.setitem(&recv, &k, &v)?;
                        self.finish_flow(flow)?;
                        v
                    }
                    None => {
                        let v = a.get(1).cloned().unwrap_or(none);
                        if let Body::Dict(d) = self.st.effects.body_mut(id) {
                            d.insert(key, k, v.clone());
                        }
                        v
                    }
                }
            }
            "pop" => {
                let a = if ordered {
                    let a = self.by_name("pop", args, &["key", "default"], 1, 2)?;
                    a.into_iter().flatten().collect()
                } else {
                    self.positional("pop", args, 1, 2)?
                };
                let k = self.realize(&a[0])?;
                let found = match (ordered, self.map_of(id).len()) {
                    (true, _) => Some(self.key(&k)?),
                    // Nothing is hashed.
                    (false, 0) => None,
                    (false, _) => Some(self.dict_key(&k)?),
                };
                let found = found.filter(|key| self.map_of(id).contains(key));
                if let Some(key) = found {
                    match self.st.effects.body_mut(id) {
                        Body::Dict(d) => d.remove(&key).unwrap_or(none),
                        _ => none,
                    }
                } else {
                    match a.get(1) {
                        Some(v) => v.clone(),
                        None => return Err(self.key_error(&k)),
                    }
                }
            }
            "popitem" => {
                let last = if ordered {
                    let a = self.by_name("popitem", args, &["last"], 0, 1)?;
                    match &a[0] {
                        Some(v) => self.truth(v)?,
                        None => true,
                    }
                } else {
                    self.positional("dict.popitem", args, 0, 0)?;
                    true
                };
                if self.map_of(id).is_empty() {
                    let message = if ordered {
                        "dictionary is empty"
                    } else {
                        "popitem(): dictionary is empty"
                    };
                    let message = self.str(message);
                    return Err(self.key_error(&message));
                }
                match self.st.effects.body_mut(id) {
                    Body::Dict(d) => match d.pop_end(last) {
                        Some((k, v)) => Var::tuple(vec![k, v]),
                        None => none,
                    },
                    _ => none,
                }
            }
            "keys" => {
                self.positional("dict.keys", args, 0, 0)?;
                self.dict_view(id, DictView::Keys)?
            }
            "values" => {
                self.positional("dict.values", args, 0, 0)?;
                self.dict_view(id, DictView::Values)?
            }
            "items" => {
                self.positional("dict.items", args, 0, 0)?;
                self.dict_view(id, DictView::Items)?
            }
            "update" | "__init__" => {
                let mut args = args;
                if name == "__init__"
                    && self.is_subtype(&self.obj(id).class.clone(), &self.known.defaultdict.clone())
                {
                    let factory = if args.pos.is_empty() {
                        self.none()
                    } else {
                        args.pos.remove(0)
                    };
                    self.st
                        .effects
                        .get_mut(id)
                        .seen
                        .insert("default_factory".into(), Some(factory));
                }
                self.update_with(
                    &recv,
                    if name == "update" { "update" } else { "dict" },
                    args,
                )?;
                none
            }
            "__reduce__" => {
                self.positional(name, args, 0, 0)?;
                match (self.rules.builtins.reduce_derived_dict)(self, id)? {
                    Some(parts) => parts,
                    None => return Ok(None),
                }
            }
            "copy" | "__copy__" => {
                let class = self.obj(id).class.clone();
                let body = Body::Dict(self.map_of(id));
                let factory = self.factory_of(id);
                if self.copies_its_class(&class) {
                    return Err(Stop::unsupported("copy() of a subclass, which calls it"));
                }
                // `dict.copy` of a subclass gives a plain dict.
                let class = if self.is_builtin_container(&class) {
                    class
                } else {
                    self.known.dict.clone()
                };
                let made = self.new_object(class, body);
                if let Some(f) = factory {
                    self.st
                        .effects
                        .get_mut(made)
                        .seen
                        .insert("default_factory".into(), Some(f));
                }
                Var::Obj(made)
            }
            "clear" => {
                self.positional("dict.clear", args, 0, 0)?;
                if let Body::Dict(map) = self.st.effects.body_mut(id) {
                    map.clear();
                }
                none
            }
            "fromkeys" => {
                let a = self.positional("fromkeys", args, 1, 2)?;
                let class = self.obj(id).class.clone();
                self.dict_fromkeys(class, &a[0], a.get(1).cloned())?
            }
            "move_to_end" if ordered => {
                let a = self.by_name("move_to_end", args, &["key", "last"], 1, 2)?;
                let k = a[0]
                    .clone()
                    .ok_or_else(|| Stop::Internal("move_to_end".into()))?;
                let last = match &a[1] {
                    Some(v) => self.truth(v)?,
                    None => true,
                };
                let k = self.realize(&k)?;
                let key = self.dict_key(&k)?;
                if !self.map_of(id).contains(&key) {
                    return Err(self.key_error(&k));
                }
                if let Body::Dict(d) = self.st.effects.body_mut(id) {
                    d.move_to_end(&key, last);
                }
                none
            }
            "__missing__" => {
                let k = self.one("defaultdict.__missing__", args)?;
                self.defaultdict_missing(id, &k)?
            }
            "__reversed__" => {
                self.positional("dict.__reversed__", args, 0, 0)?;
                self.reversed_dict(id, DictView::Keys)?
            }
            "__or__" | "__ror__" | "__ior__" => return Ok(None),
            _ => return Ok(None),
        };
        Ok(Some(Flow::Value(value)))
    }

    /// A defaultdict's factory.
    pub fn factory_of(&self, id: ObjId) -> Option<Var> {
        let s = self.obj(id);
        s.attrs
            .get("default_factory")
            .or_else(|| s.seen.get("default_factory"))
            .cloned()
            .flatten()
    }

    /// `dict.fromkeys`.
    ///
    /// # Errors
    /// Whatever iterating or hashing raises.
    pub fn dict_fromkeys(
        &mut self,
        class: variables::Obj,
        keys: &Var,
        value: Option<Var>,
    ) -> R<Var> {
        if !self.is_builtin_container(&class) {
            return Err(Stop::unsupported("fromkeys of a dict subclass"));
        }
        let value = value.unwrap_or_else(|| self.none());
        let mut map = OrderedMap::default();
        for k in self.iterate(keys)? {
            let k = self.realize(&k)?;
            map.insert(self.dict_key(&k)?, k, value.clone());
        }
        Ok(Var::Obj(self.new_object(class, Body::Dict(map))))
    }

    /// `dict(x, **kw)` and `dict.update(x, **kw)`.
    ///
    /// # Errors
    /// Whatever reading the argument raises.
    pub fn update_with(&mut self, recv: &Var, func: &str, args: Args) -> R<()> {
        if args.pos.len() > 1 {
            let message = format!("{func} expected at most 1 argument, got {}", args.pos.len());
            return Err(self.raise("TypeError", &message));
        }
        if let Some(m) = args.pos.first() {
            self.update_items(recv, m)?;
        }
        for (k, v) in args.kw {
            let k = self.str(&k);
            self.put_all(recv, vec![(k, v)])?;
        }
        Ok(())
    }

    /// A method of a dict view.
    pub(super) fn view_method(&mut self, id: ObjId, name: &str, args: Args) -> R<Option<Flow>> {
        let Body::DictView(d, view) = self.obj(id).body.clone() else {
            return Ok(None);
        };
        match name {
            "__reversed__" => {
                self.positional(name, args, 0, 0)?;
                self.reversed_dict(d, view).map(|v| Some(Flow::Value(v)))
            }
            "isdisjoint" if view != DictView::Values => {
                let other = self.one(name, args)?;
                let mine = self.iterate(&Var::Obj(id))?;
                let mine = self.set_map(mine)?;
                let theirs = self.iterate(&other)?;
                let theirs = self.set_map(theirs)?;
                let apart = mine.entries().all(|(k, _, _)| !theirs.contains(k));
                Ok(Some(Flow::Value(self.bool(apart))))
            }
            _ => Ok(None),
        }
    }
}
