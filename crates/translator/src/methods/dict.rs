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
            "setdefault" => self.dict_setdefault(id, ordered, args)?,
            "pop" => self.dict_pop(id, ordered, args)?,
            "popitem" => self.dict_popitem(id, ordered, args)?,
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
            "update" => {
                self.update_with(&Var::Obj(id), "update", args)?;
                none
            }
            "__init__" => {
                self.dict_init(id, args)?;
                none
            }
            "__reduce__" => {
                self.positional(name, args, 0, 0)?;
                match (self.rules.builtins.reduce_derived_dict)(self, id)? {
                    Some(parts) => parts,
                    None => return Ok(None),
                }
            }
            "copy" | "__copy__" => self.dict_copy(id)?,
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
                self.move_to_end(id, args)?;
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
            _ => return Ok(None),
        };
        Ok(Some(Flow::Value(value)))
    }

    /// A key, and a default if there is one: arguments that only an `OrderedDict` takes by name.
    fn key_and_default(&mut self, name: &str, ordered: bool, args: Args) -> R<Vec<Var>> {
        match ordered {
            true => {
                let args = self.by_name(name, args, &["key", "default"], 1, 2)?;
                Ok(args.into_iter().flatten().collect())
            }
            false => self.positional(name, args, 1, 2),
        }
    }

    fn dict_setdefault(&mut self, id: ObjId, ordered: bool, args: Args) -> R<Var> {
        let recv = Var::Obj(id);
        let a = self.key_and_default("setdefault", ordered, args)?;
        let k = self.realize(&a[0])?;
        let key = self.dict_key(&k)?;
        let class = self.obj(id).class.clone();
        if let Some(v) = self.map_of(id).get(&key) {
            return match ordered && self.is_read_by_methods(&class)? {
                true => self.getitem_sync(&recv, &k),
                false => Ok(v.clone()),
            };
        }
        let v = a.get(1).cloned().unwrap_or_else(|| self.none());
        if self.asks_for_items(&recv)? {
            let flow = self.setitem(&recv, &k, &v)?;
            self.finish_flow(flow)?;
        } else if let Body::Dict(d) = self.st.effects.body_mut(id) {
            d.insert(key, k, v.clone());
        }
        Ok(v)
    }

    fn dict_pop(&mut self, id: ObjId, ordered: bool, args: Args) -> R<Var> {
        let a = self.key_and_default("pop", ordered, args)?;
        let k = self.realize(&a[0])?;
        let found = match (ordered, self.map_of(id).len()) {
            (true, _) => Some(self.key(&k)?),
            // Nothing is hashed.
            (false, 0) => None,
            (false, _) => Some(self.dict_key(&k)?),
        };
        let Some(key) = found.filter(|key| self.map_of(id).contains(key)) else {
            return a.get(1).cloned().ok_or_else(|| self.key_error(&k));
        };
        let none = self.none();
        Ok(match self.st.effects.body_mut(id) {
            Body::Dict(d) => d.remove(&key).unwrap_or(none),
            _ => none,
        })
    }

    fn dict_popitem(&mut self, id: ObjId, ordered: bool, args: Args) -> R<Var> {
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
            let message = self.str(match ordered {
                true => "dictionary is empty",
                false => "popitem(): dictionary is empty",
            });
            return Err(self.key_error(&message));
        }
        let none = self.none();
        Ok(match self.st.effects.body_mut(id) {
            Body::Dict(d) => match d.pop_end(last) {
                Some((k, v)) => Var::tuple(vec![k, v]),
                None => none,
            },
            _ => none,
        })
    }

    fn dict_init(&mut self, id: ObjId, mut args: Args) -> R<()> {
        if self.is_subtype(&self.obj(id).class.clone(), &self.known.defaultdict.clone()) {
            let factory = match args.pos.is_empty() {
                true => self.none(),
                false => args.pos.remove(0),
            };
            self.set_factory(id, factory);
        }
        self.update_with(&Var::Obj(id), "dict", args)
    }

    fn set_factory(&mut self, id: ObjId, factory: Var) {
        let seen = &mut self.st.effects.get_mut(id).seen;
        seen.insert("default_factory".into(), Some(factory));
    }

    /// `copy()`: `dict.copy` of a subclass gives a plain dict.
    fn dict_copy(&mut self, id: ObjId) -> R<Var> {
        let class = self.obj(id).class.clone();
        if self.copies_its_class(&class) {
            return Err(Stop::unsupported("copy() of a subclass, which calls it"));
        }
        let class = match self.is_builtin_container(&class) {
            true => class,
            false => self.known.dict.clone(),
        };
        let made = self.new_object(class, Body::Dict(self.map_of(id)));
        if let Some(factory) = self.factory_of(id) {
            self.set_factory(made, factory);
        }
        Ok(Var::Obj(made))
    }

    /// `OrderedDict.move_to_end()`
    fn move_to_end(&mut self, id: ObjId, args: Args) -> R<()> {
        let a = self.by_name("move_to_end", args, &["key", "last"], 1, 2)?;
        let Some(k) = &a[0] else {
            return Err(Stop::Internal("move_to_end".into()));
        };
        let last = match &a[1] {
            Some(v) => self.truth(v)?,
            None => true,
        };
        let k = self.realize(k)?;
        let key = self.key(&k)?;
        if !self.map_of(id).contains(&key) {
            return Err(self.key_error(&k));
        }
        if let Body::Dict(d) = self.st.effects.body_mut(id) {
            d.move_to_end(&key, last);
        }
        Ok(())
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
