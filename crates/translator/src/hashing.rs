//! Hash keys of values: what tells the keys of tracked dictionaries and sets apart.
//!
//! Lives here: hashing by value, by identity, and by a `__hash__` and `__eq__` of the user's, which
//! are interpreted. Does not live here: what a key is (`variables`), the builtin `hash` (`methods`).

use guards::{GuardKind, Source};
use pyo3::prelude::*;
use pyo3::types::PyType;
use variables::{Body, Key, Obj, ObjId, Var};

use crate::stop::{R, Stop};
use crate::tx::Tx;
use crate::values::Special;

/// More objects have one guard for all of a class: one for each two of them would cost more.
const MOST_TOLD_APART: usize = 24;

impl Tx<'_> {
    /// The hash key of a (realized) value.
    ///
    /// # Errors
    /// A break where the user's code cannot decide; what it raises; `TypeError` as Python raises it
    /// for unhashable builtins.
    pub fn key(&mut self, var: &Var) -> R<Key> {
        self.key_by(var, true)
    }

    /// As [`Tx::key`] of what a dictionary is asked for.
    ///
    /// # Errors
    /// As [`Tx::key`], with the dictionary's message.
    pub fn dict_key(&mut self, var: &Var) -> R<Key> {
        let key = self.key(var);
        self.key_to_be(var, key, "a dict key")
    }

    /// As [`Tx::key`] of what a set is asked for.
    ///
    /// # Errors
    /// As [`Tx::key`], with the set's message.
    pub fn set_key(&mut self, var: &Var) -> R<Key> {
        let key = self.key(var);
        self.key_to_be(var, key, "a set element")
    }

    /// Puts what the value was to be into the message of its `TypeError`, on Pythons that do.
    fn key_to_be(&mut self, var: &Var, key: R<Key>, to_be: &str) -> R<Key> {
        let Err(Stop::Raise(Var::Obj(error))) = &key else {
            return key;
        };
        let type_error = self.known.builtins.bind(self.py).getattr("TypeError")?;
        if !self.version().hash_errors_name_the_use() || !self.obj(*error).class.is(&type_error) {
            return key;
        }
        let text: Option<String> = match self.obj(*error).attrs.get("args") {
            Some(Some(Var::Tuple(t))) if let [Var::Const(o)] = &t.items[..] => {
                o.extract(self.py).ok()
            }
            _ => None,
        };
        let Some(text) = text else {
            return Err(Stop::unsupported("a key whose `__hash__` raises"));
        };
        let class = self.type_of(var)?;
        let name = crate::raw::full_name(class.bind(self.py))?;
        Err(self.raise(
            "TypeError",
            &format!("cannot use '{name}' as {to_be} ({text})"),
        ))
    }

    /// The hash key of a value that is a key of a tracked container already: runs nothing.
    ///
    /// # Errors
    /// As [`Tx::key`].
    pub fn known_key(&mut self, var: &Var) -> R<Key> {
        self.key_by(var, false)
    }

    fn key_by(&mut self, var: &Var, may_run: bool) -> R<Key> {
        let var = self.realize(var)?;
        if let Var::Tuple(t) = &var {
            return self.inside(|tx| {
                let keys = t.items.iter().map(|v| tx.key_by(v, may_run));
                Ok(Key::Tuple(keys.collect::<R<Vec<_>>>()?))
            });
        }
        if let Some(frozen) = self.frozen_constant(&var)? {
            return self.key_by(&frozen, may_run);
        }
        if let Var::Obj(id) = &var {
            let state = self.obj(*id);
            if let Body::Address(of) = &state.body
                && let (of, Some(key)) = (of.clone(), Key::address(of))
            {
                if let Var::Obj(of) = of {
                    self.tell_apart(of);
                }
                return Ok(key);
            }
            let class = state.class.clone();
            if let Some(plain) = self.plain_value(&var)
                && self.class_special(&class, "__hash__")? == Special::Builtin
                && self.class_special(&class, "__eq__")? == Special::Builtin
            {
                return self.key_by(&plain, may_run);
            }
            if self.is_unhashable(*id, &class)? {
                let name = self.class_name(&class);
                return Err(self.raise("TypeError", &format!("unhashable type: '{name}'")));
            }
            if !self.hashes_by_identity(&class) {
                return self.own_key(*id, &var, may_run);
            }
            match self.bind_tensors {
                true => self.guard_identity(*id),
                false => self.tell_apart(*id),
            }
        }
        if let Var::Py(p) = &var
            && p.obj.bind(self.py).is_instance_of::<PyType>()
            && !self.is_told_by_identity(p.obj.bind(self.py))
        {
            return Err(Stop::unsupported(
                "hashing a class whose metaclass defines __eq__ or __hash__",
            ));
        }
        Key::new(self.py, &var, |_| true)
            .ok_or_else(|| Stop::unsupported(format!("hashing {}", self.describe(&var))))
    }

    /// A dictionary of constants that never changes, as a constant.
    fn frozen_constant(&mut self, var: &Var) -> R<Option<Var>> {
        let Var::Obj(id) = var else {
            return Ok(None);
        };
        let state = self.obj(*id);
        let Body::Dict(items) = &state.body else {
            return Ok(None);
        };
        let constant = |v: &Var| matches!(v, Var::Const(_));
        if !self.known.is_frozendict(&state.class)
            || !items.iter().all(|(k, v)| constant(k) && constant(v))
        {
            return Ok(None);
        }
        let real = self.real_copy(var)?;
        Ok(real.map(|real| Var::Const(real.unbind())))
    }

    fn is_unhashable(&mut self, id: ObjId, class: &Obj) -> R<bool> {
        let builtin = matches!(
            self.obj(id).body,
            Body::List(_) | Body::Dict(_) | Body::Set(_) | Body::Deque(..)
        );
        if builtin && self.is_builtin_container(class) {
            return Ok(!self.known.is_frozendict(class));
        }
        for name in ["__eq__", "__hash__"] {
            self.class_lookup(class, name)?;
        }
        Ok(self.class_special(class, "__hash__")? == Special::Absent)
    }

    /// The key of an object whose class defines `__hash__` or `__eq__`: that of the first object that
    /// equals it.
    fn own_key(&mut self, id: ObjId, var: &Var, may_run: bool) -> R<Key> {
        let mine = |(of, key): &(ObjId, Key)| (*of == id).then(|| key.clone());
        if !may_run {
            // The one it had when it was put in.
            return match self.st.hashed.iter().rev().find_map(mine) {
                Some(key) => Ok(key),
                None => Err(Stop::unsupported("a key that was not hashed")),
            };
        }
        let plain = matches!(self.obj(id).body, Body::Plain);
        let class = self.obj(id).class.clone();
        let hash = match self.class_special(&class, "__hash__")? {
            // A dictionary is rebuilt by hashing its keys once more: nothing may be seen of that.
            Special::User => self.unseen("a key whose __hash__ has effects", |tx| {
                tx.special_sync(var, "__hash__", vec![])
            })?,
            // Only `object`'s own is known: `__eq__` alone was set behind the class statement.
            _ => {
                return Err(Stop::unsupported(
                    "hashing an object whose class defines __eq__ and inherits __hash__",
                ));
            }
        };
        let Some(hash) = self.as_const(&hash)? else {
            return Err(Stop::unsupported("a hash that is not known"));
        };
        if !plain || !hash.bind(self.py).is_instance_of::<pyo3::types::PyInt>() {
            return Err(Stop::unsupported("hashing an object of a builtin subclass"));
        }
        // What fits is taken as it is; -1 stands for an error.
        let hash = match hash.bind(self.py).extract::<isize>() {
            Ok(-1) => -2,
            Ok(h) => h,
            Err(_) => hash.bind(self.py).hash()?,
        };
        let same: Vec<(ObjId, Key)> = self
            .st
            .hashed
            .iter()
            .filter(|(_, key)| matches!(key, Key::Hashed(h, ..) if *h == hash))
            .cloned()
            .collect();
        if let Some(key) = same.iter().rev().find_map(mine) {
            return Ok(key);
        }
        if let Some((other, key)) = same.into_iter().next() {
            let equal = self.unseen("a key whose __eq__ has effects", |tx| {
                tx.equals(&Var::Obj(other), var)
            })?;
            if !equal {
                // Rebuilding a dictionary with both would ask again.
                return Err(Stop::unsupported("different keys with the same hash"));
            }
            self.st.hashed.push_back((id, key.clone()));
            return Ok(key);
        }
        let key = Key::Hashed(hash, id, self.doubt.clone());
        self.st.hashed.push_back((id, key.clone()));
        Ok(key)
    }

    /// Runs code of the user's that the program runs more or less often than the translation does.
    fn unseen<T>(&mut self, otherwise: &str, run: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        let objects = self.st.effects.len();
        let nodes = self.log.graph.iter().count();
        let effects = self.st.effects.clone();
        let before = self.st.effects.watch();
        let result = run(self);
        let changed = self.st.effects.changed(objects)
            || self.st.effects.any_since(&effects)
            || self.log.graph.iter().count() != nodes;
        self.st.effects.unwatch(before);
        match changed {
            false => result,
            true => Err(Stop::unsupported(otherwise)),
        }
    }

    /// A change to an object that is a key: where its dictionary is rebuilt afterwards, its
    /// `__hash__` may give something else.
    ///
    /// # Errors
    /// A break where the object was hashed by its own `__hash__`.
    pub(crate) fn no_key_changes(&self, id: ObjId) -> R<()> {
        match self.st.hashed.iter().any(|(of, _)| *of == id) {
            false => Ok(()),
            true => Err(Stop::unsupported("changing an attribute of a key")),
        }
    }

    /// An object from outside was told from others by its address, in code that is called with one module after
    /// the other: it is held to be none of the others, whatever it is.
    pub fn tell_apart(&mut self, id: ObjId) {
        if matches!(self.obj(id).origin, variables::Origin::Source { .. }) {
            self.st.told_apart.insert(id);
        }
    }

    /// Guards that objects which were told from each other by their addresses are not one.
    pub fn guard_told_apart(&mut self) {
        let ids: Vec<ObjId> = self.st.told_apart.iter().copied().collect();
        // Those of two classes differ in what their guards say of these.
        let mut left = ids.clone();
        while ids.len() > MOST_TOLD_APART && !left.is_empty() {
            let class = self.obj(left[0]).class.clone();
            let (same, rest) = left
                .into_iter()
                .partition::<Vec<_>, _>(|id| self.obj(*id).class.is(&class));
            left = rest;
            let sources = same.iter().filter_map(|id| self.origin_of(&Var::Obj(*id)));
            let sources = sources.map(|origin| origin.0).collect();
            self.guard_ambient(GuardKind::NoTensorAliasing { sources });
        }
        for (i, a) in ids.iter().enumerate() {
            for b in &ids[..i] {
                if ids.len() <= MOST_TOLD_APART && self.obj(*a).class.is(&self.obj(*b).class) {
                    self.guard_apart(*a, *b);
                }
            }
        }
    }

    /// Guards that an object from outside is the one that it is: it was told from others by its address, or used as it is.
    pub fn guard_identity(&mut self, id: ObjId) {
        if let variables::Origin::Source { obj, source } = &self.obj(id).origin {
            let (obj, source) = (obj.clone(), *source);
            if !matches!(
                self.facts.sources.get(source),
                Source::Pinned { .. } | Source::WeakPinned { .. }
            ) {
                let obj = self.pin(&obj, true);
                self.guard(source, GuardKind::IdMatch { obj });
            }
        }
    }

    /// Whether an object is hashed and compared by identity.
    pub(crate) fn is_told_by_identity(&self, obj: &Bound<'_, PyAny>) -> bool {
        self.hashes_by_identity(&obj.get_type().into_any().unbind())
    }

    /// Whether a class hashes and compares by identity.
    pub fn hashes_by_identity(&self, class: &Obj) -> bool {
        let b = class.bind(self.py);
        let object = self.known.object.bind(self.py);
        let same = |n: &str| match (b.getattr(n), object.getattr(n)) {
            (Ok(a), Ok(o)) => a.is(&o),
            _ => false,
        };
        same("__hash__") && same("__eq__")
    }
}
