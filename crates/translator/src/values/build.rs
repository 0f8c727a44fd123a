//! Making and filling containers: what `BUILD_*`, `*_UPDATE` and `*_EXTEND` do.

use pyo3::prelude::*;
use std::rc::Rc;

use variables::{Body, Obj, OrderedMap, TextPart, TextVar, Var};

use super::special::Special;
use crate::stop::{R, Stop};
use crate::tx::Tx;
use bytecode::op::CompareOp;

impl Tx<'_> {
    /// `{a, b, ...}`.
    ///
    /// # Errors
    /// Those of hashing.
    pub fn build_set(&mut self, items: Vec<Var>) -> R<Var> {
        let map = self.set_map(items)?;
        Ok(self.new_set(map))
    }

    /// `{k: v, ...}` from keys and values in alternation.
    ///
    /// # Errors
    /// Those of hashing.
    pub fn build_map(&mut self, items: Vec<Var>) -> R<Var> {
        let mut map = OrderedMap::default();
        for pair in items.chunks_exact(2) {
            let k = self.realize(&pair[0])?;
            map.insert(self.dict_key(&k)?, k, pair[1].clone());
        }
        Ok(self.new_dict(map))
    }

    /// Adds one pair to a dict, by what it holds.
    ///
    /// # Errors
    /// Those of hashing.
    pub fn map_add(&mut self, dict: &Var, k: Var, v: Var) -> R<()> {
        self.insert_all(dict, vec![(k, v)])
    }

    /// Joins the pieces of an f-string, all of them `str`.
    ///
    /// # Errors
    /// A break for a piece that is no constant.
    pub fn build_string(&mut self, items: &[Var]) -> R<Var> {
        if let [one] = items
            && self.is_changing_text(one)
        {
            return Ok(one.clone());
        }
        if items.iter().any(|v| self.is_changing_text(v)) {
            let mut parts = Vec::with_capacity(items.len());
            for v in items {
                match v {
                    Var::Text(t) => parts.extend(t.parts.iter().cloned()),
                    v if self.is_changing_text(v) => parts.push(TextPart::Value(v.clone())),
                    v => match self.realize(v)? {
                        Var::Const(o) => parts.push(TextPart::Known(o)),
                        other => return Err(self.no_text(&other)),
                    },
                }
            }
            return Ok(Var::Text(Rc::new(TextVar { parts })));
        }
        let mut out = String::new();
        let mut parts = Vec::with_capacity(items.len());
        for v in items {
            match self.realize(v)? {
                Var::Const(o) => parts.push(o),
                other => {
                    return Err(Stop::unsupported(format!(
                        "an f-string with {}",
                        self.describe(&other)
                    )));
                }
            }
        }
        for p in &parts {
            match p.bind(self.py).extract::<String>() {
                Ok(s) => out.push_str(&s),
                // Text with lone surrogates: only Python can join it.
                Err(_) => {
                    let list = pyo3::types::PyList::new(self.py, &parts)?;
                    return self.fold(move |py| {
                        pyo3::types::PyString::new(py, "").call_method1("join", (list,))
                    });
                }
            }
        }
        Ok(self.str(&out))
    }

    /// `len(v)`.
    ///
    /// # Errors
    /// `TypeError` where the value has no length; whatever a user's `__len__` does.
    pub fn length(&mut self, v: &Var) -> R<Var> {
        if let Some(len) = self.length_of_text(v)? {
            return Ok(len);
        }
        let v = self.realize(v)?;
        if let Var::Tensor(t) = &v {
            if self.is_seen() || self.asks_class(&v) {
                let len = Var::py(self.known.tensor.getattr(self.py, "__len__")?);
                return self.call_sync(&len, crate::tx::Args::pos(vec![v]));
            }
            let meta = self.st.effects.meta(t).clone();
            if meta.shape.is_empty() {
                return Err(self.raise("TypeError", "len() of a 0-d tensor"));
            }
            let f = self.tensor_method(&v, "size", crate::tx::Args::pos(vec![self.int(0)]))?;
            return self.finish_flow(f);
        }
        match self.special(&v, "__len__")? {
            Special::User => {
                let n = self.special_sync(&v, "__len__", vec![])?;
                let zero = self.int(0);
                if self.as_dynamic(&n).is_some()
                    && self.int_compare(CompareOp::Ge, &n, &zero)? == Some(true)
                {
                    return self.look(&n);
                }
                let n = self.checked_len(&n)?;
                Ok(self.int(n as i64))
            }
            Special::Builtin => match self.value_len(&v)? {
                Some(n) => Ok(self.int(n as i64)),
                None => match v.as_obj() {
                    Some(o) => match o.bind(self.py).len() {
                        Ok(n) => Ok(self.int(n as i64)),
                        Err(e) => Err(self.raise_pyerr(&e)),
                    },
                    None => Err(Stop::unsupported(format!("len() of {}", self.describe(&v)))),
                },
            },
            Special::Absent => {
                let name = self.type_name(&v)?;
                Err(self.raise(
                    "TypeError",
                    &format!("object of type '{name}' has no len()"),
                ))
            }
        }
    }

    /// Adds one item to a set that nobody else sees yet, or replays on one that existed.
    ///
    /// # Errors
    /// Those of hashing.
    pub fn set_add(&mut self, set: &Var, item: Var) -> R<()> {
        let item = self.realize(&item)?;
        let key = self.set_key(&item)?;
        let none = self.none();
        let set = self.realize(set)?;
        let Some(id) = self.id_of(&set) else {
            return Err(Stop::Internal("set_add to no set".into()));
        };
        if let Body::Set(s) = &self.obj(id).body
            && s.contains(&key)
        {
            return Ok(());
        }
        if let Body::Set(s) = self.st.effects.body_mut(id) {
            s.insert(key, item, none);
        }
        Ok(())
    }

    /// Appends to a list or deque, by what it holds.
    ///
    /// # Errors
    /// None in practice.
    pub fn list_append(&mut self, list: &Var, item: Var) -> R<()> {
        if let Var::Lazy(l) = list
            && self.append_blindly(l, &item)
        {
            return Ok(());
        }
        let list = self.realize(list)?;
        let Some(id) = self.id_of(&list) else {
            return Err(Stop::Internal("list_append to no list".into()));
        };
        match self.st.effects.items_mut(id) {
            Body::List(v) => v.push_back(item),
            Body::Deque(v, max) => {
                v.push_back(item);
                super::operators::trim_left(v, *max);
            }
            _ => return Err(Stop::Internal("list_append to no list".into())),
        }
        Ok(())
    }

    /// `list.extend(iterable)` (also `deque.extend`).
    ///
    /// # Errors
    /// Whatever iterating raises.
    pub fn extend_items(&mut self, list: &Var, iterable: &Var) -> R<()> {
        let list = self.realize(list)?;
        if self.runs_code(iterable)? {
            // What gives the items may look at the list: each is there before the next is asked for.
            let it = self.get_iter(iterable)?;
            while let Some(item) = self.iter_next(&it)? {
                self.list_append(&list, item)?;
            }
            return Ok(());
        }
        let items = self.listed(iterable)?;
        let Some(id) = self.id_of(&list) else {
            return Err(Stop::Internal("list_extend of no list".into()));
        };
        if items.is_empty() {
            return Ok(());
        }
        match self.st.effects.items_mut(id) {
            Body::List(v) => v.extend(items),
            Body::Deque(v, max) => {
                v.extend(items);
                super::operators::trim_left(v, *max);
            }
            _ => return Err(Stop::Internal("list_extend of no list".into())),
        }
        Ok(())
    }

    /// Whether iterating over a value runs code of the program's.
    pub fn runs_code(&mut self, iterable: &Var) -> R<bool> {
        let v = self.realize(iterable)?;
        Ok(match self.id_of(&v) {
            Some(id) => matches!(
                self.obj(id).body,
                Body::Generator(_) | Body::Iter(_) | Body::Plain
            ),
            None => false,
        })
    }

    /// `[*a, *b]` inside a display or a call: `LIST_EXTEND`'s own message for what is not iterable.
    ///
    /// # Errors
    /// Whatever iterating raises.
    pub fn list_extend(&mut self, list: &Var, iterable: &Var) -> R<()> {
        let v = self.realize(iterable)?;
        if !matches!(v, Var::Tensor(_))
            && self.special(&v, "__iter__")? == Special::Absent
            && self.special(&v, "__getitem__")? == Special::Absent
        {
            let name = self.type_name(&v)?;
            return Err(self.raise(
                "TypeError",
                &format!("Value after * must be an iterable, not {name}"),
            ));
        }
        self.extend_items(list, &v)
    }

    /// `set.update(iterable)`.
    ///
    /// # Errors
    /// Whatever iterating or hashing raises.
    pub fn set_update(&mut self, set: &Var, iterable: &Var) -> R<()> {
        if self.is_opaque_set(iterable)? {
            return Err(opaque_set());
        }
        if self.runs_code(iterable)? {
            let it = self.get_iter(iterable)?;
            while let Some(item) = self.iter_next(&it)? {
                self.set_add(set, item)?;
            }
            return Ok(());
        }
        let v = self.realize(iterable)?;
        // In which order a set's items are added shows nowhere.
        let items = match self.set_items(&v)? {
            Some(items) => items.iter().map(|(item, _)| item.clone()).collect(),
            None => self.iterate(&v)?,
        };
        for item in items {
            self.set_add(set, item)?;
        }
        Ok(())
    }

    /// Gives a tracked set other items.
    pub fn put_set(&mut self, recv: &Var, map: OrderedMap) {
        if let Some(id) = self.id_of(recv)
            && let Body::Set(old) = self.st.effects.body_mut(id)
        {
            old.replace(map);
        }
    }

    /// What a set is made of or compared with: a set's own items, whatever its class says of iterating
    /// over it, and those of any other iterable.
    ///
    /// # Errors
    /// Whatever iterating or hashing raises.
    pub fn other_set(&mut self, v: &Var) -> R<OrderedMap> {
        let v = self.realize(v)?;
        match self.set_items(&v)? {
            Some(s) => Ok(s),
            None if self.is_opaque_set(&v)? => Err(opaque_set()),
            None => {
                let items = self.iterate(&v)?;
                self.set_map(items)
            }
        }
    }

    /// Whether a value is a set whose items only C reads: one of a class of its own, which may iterate
    /// over it in its own way.
    ///
    /// # Errors
    /// Those of looking at the class.
    pub fn is_opaque_set(&mut self, v: &Var) -> R<bool> {
        let class = self.type_of(v)?;
        let known = self.known.clone();
        Ok([&known.set, &known.frozenset]
            .iter()
            .any(|base| !class.is(base) && self.is_subtype(&class, base)))
    }

    /// Keys and values of a mapping, as `dict.update` reads them: a dict's own, else by `keys()` and
    /// subscript. `None`: no mapping.
    ///
    /// # Errors
    /// Whatever the mapping's methods raise.
    pub fn mapping_pairs(&mut self, m: &Var) -> R<Option<Vec<(Var, Var)>>> {
        let m = self.realize(m)?;
        if let Some(id) = self.id_of(&m)
            && let Body::Dict(d) = &self.obj(id).body
        {
            let (d, class) = (d.clone(), self.obj(id).class.clone());
            if !self.is_read_by_methods(&class)? {
                return Ok(Some(
                    d.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
                ));
            }
        }
        let keys: std::sync::Arc<str> = "keys".into();
        if matches!(m, Var::Const(_) | Var::Tuple(_) | Var::Tensor(_))
            || !self.hasattr(&m, &keys)?
        {
            return Ok(None);
        }
        let f = self.getattr_sync(&m, &keys)?;
        let keys = self.call_sync(&f, crate::tx::Args::default())?;
        let mut out = Vec::new();
        for k in self.iterate(&keys)? {
            let v = self.getitem_sync(&m, &k)?;
            out.push((k, v));
        }
        Ok(Some(out))
    }

    /// Whether C reads a dict of this class by its methods: where a subclass overrides `__iter__`, or
    /// any of them in an `OrderedDict`, which has an iterator of its own.
    ///
    /// # Errors
    /// Those of looking at the class.
    pub fn is_read_by_methods(&mut self, class: &Obj) -> R<bool> {
        if self.is_builtin_container(class) {
            return Ok(false);
        }
        let ordered = self.is_subtype(class, &self.known.ordered_dict);
        for name in ["__iter__", "__getitem__", "keys"] {
            if (ordered || name == "__iter__") && self.class_special(class, name)?.is_user() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `{**mapping}` and `dict |= mapping` and the first half of `dict.update`: a mapping, else
    /// pairs.
    ///
    /// # Errors
    /// Whatever reading the mapping raises, in `dict.update`'s words.
    pub fn update_items(&mut self, dict: &Var, mapping: &Var) -> R<()> {
        let pairs = match self.mapping_pairs(mapping)? {
            Some(p) => p,
            None => self.pairs_of(mapping)?,
        };
        self.put_all(dict, pairs)
    }

    /// Whether the C code of a dict's class sets items by the `__setitem__` that a subclass has:
    /// `OrderedDict` does.
    ///
    /// # Errors
    /// Those of looking at the class.
    pub fn asks_for_items(&mut self, dict: &Var) -> R<bool> {
        let class = self.type_of(dict)?;
        Ok(!class.is(&self.known.ordered_dict)
            && self.is_subtype(&class, &self.known.ordered_dict)
            && self.class_special(&class, "__setitem__")?.is_user())
    }

    /// Sets items as a dict's method does that is given several.
    ///
    /// # Errors
    /// Whatever hashing raises, or a subclass's `__setitem__`.
    pub fn put_all(&mut self, dict: &Var, pairs: Vec<(Var, Var)>) -> R<()> {
        let dict = self.realize(dict)?;
        if !self.asks_for_items(&dict)? {
            return self.insert_all(&dict, pairs);
        }
        for (k, v) in pairs {
            let flow = self.setitem(&dict, &k, &v)?;
            self.finish_flow(flow)?;
        }
        Ok(())
    }

    /// `DICT_UPDATE` of a display `{**x}`: only mappings.
    ///
    /// # Errors
    /// `TypeError` for what is no mapping.
    pub fn dict_update(&mut self, dict: &Var, mapping: &Var) -> R<()> {
        match self.mapping_pairs(mapping)? {
            Some(p) => self.insert_all(dict, p),
            None => {
                let name = self.type_name(mapping)?;
                Err(self.raise("TypeError", &format!("'{name}' object is not a mapping")))
            }
        }
    }

    fn insert_all(&mut self, dict: &Var, pairs: Vec<(Var, Var)>) -> R<()> {
        let dict = self.realize(dict)?;
        let Some(id) = self.id_of(&dict) else {
            return Err(Stop::Internal("update of no dict".into()));
        };
        if pairs.is_empty() {
            return Ok(());
        }
        for (k, v) in pairs {
            let k = self.realize(&k)?;
            let key = self.dict_key(&k)?;
            if let Body::Dict(d) = self.st.effects.body_mut(id) {
                d.insert(key, k, v);
            }
        }
        Ok(())
    }

    /// The error of `dict` for an element that is nothing to iterate over: it cannot `what`.
    fn no_pair(&mut self, what: &str) -> R<Stop> {
        if !self.version().update_errors_have_notes() {
            return Ok(self.raise("TypeError", &format!("cannot {what}")));
        }
        let error = self.raise("TypeError", "object is not iterable");
        if let Stop::Raise(Var::Obj(id)) = &error {
            let notes = [self.str(&format!("Cannot {what}"))];
            let notes = self.new_list(notes);
            self.write_dict_attr(*id, &"__notes__".into(), Some(notes))?;
        }
        Ok(error)
    }

    /// Pairs out of an iterable of pairs, with `dict`'s messages.
    ///
    /// # Errors
    /// `TypeError` or `ValueError` for elements that are no pairs.
    pub fn pairs_of(&mut self, iterable: &Var) -> R<Vec<(Var, Var)>> {
        let items = self.iterate(iterable)?;
        let mut out = Vec::with_capacity(items.len());
        for (i, item) in items.into_iter().enumerate() {
            let item = self.realize(&item)?;
            if !matches!(item, Var::Tensor(_))
                && self.special(&item, "__iter__")? == Special::Absent
                && self.special(&item, "__getitem__")? == Special::Absent
            {
                let what = format!("convert dictionary update sequence element #{i} to a sequence");
                return Err(self.no_pair(&what)?);
            }
            let pair = self.iterate(&item)?;
            let [k, v] = &pair[..] else {
                let message = format!(
                    "dictionary update sequence element #{i} has length {}; 2 is required",
                    pair.len()
                );
                return Err(self.raise("ValueError", &message));
            };
            out.push((k.clone(), v.clone()));
        }
        Ok(out)
    }

    /// `DICT_MERGE`: keywords of a call to `func`; a name given twice is an error.
    ///
    /// # Errors
    /// `TypeError` in CPython's words.
    pub fn dict_merge(&mut self, dict: &Var, mapping: &Var, func: &Var) -> R<()> {
        let Some(pairs) = self.mapping_pairs(mapping)? else {
            let (f, name) = (self.function_text(func)?, self.type_name(mapping)?);
            return Err(self.raise(
                "TypeError",
                &format!("{f} argument after ** must be a mapping, not {name}"),
            ));
        };
        let dict = self.realize(dict)?;
        let Some(id) = self.id_of(&dict) else {
            return Err(Stop::Internal("merge into no dict".into()));
        };
        for (k, v) in pairs {
            let k = self.realize(&k)?;
            let key = self.dict_key(&k)?;
            let Body::Dict(d) = &self.obj(id).body else {
                return Err(Stop::Internal("merge into no dict".into()));
            };
            if d.contains(&key) {
                let f = self.function_text(func)?;
                let k = match &k {
                    Var::Const(o) => o.bind(self.py).str()?.to_string(),
                    _ => self.describe(&k),
                };
                return Err(self.raise(
                    "TypeError",
                    &format!("{f} got multiple values for keyword argument '{k}'"),
                ));
            }
            if let Body::Dict(d) = self.st.effects.body_mut(id) {
                d.insert(key, k, v);
            }
        }
        Ok(())
    }

    /// `module.qualname()`, as call errors name a callable (`_PyObject_FunctionStr`).
    fn function_text(&mut self, f: &Var) -> R<String> {
        let obj = match f {
            Var::Func(f) => f.code.clone(),
            Var::Py(p) => p.obj.clone(),
            Var::Lazy(_) => {
                let f = self.realize(f)?;
                return self.function_text(&f);
            }
            Var::Method(m) => return self.function_text(&m.func.clone()),
            Var::Null => {
                // 3.13 keeps the callable below the `NULL`.
                let stack = &self.st.frame.stack;
                let at = stack.iter().rposition(|v| matches!(v, Var::Null));
                return match at.and_then(|i| i.checked_sub(1)).map(|i| stack[i].clone()) {
                    Some(f) if !matches!(f, Var::Null) => self.function_text(&f),
                    _ => Ok("function".into()),
                };
            }
            other => return Ok(self.describe(other)),
        };
        Ok(format!(
            "{}()",
            crate::tx::qualified_name(obj.bind(self.py))
        ))
    }
}

/// The break for [`Tx::is_opaque_set`].
fn opaque_set() -> Stop {
    Stop::unsupported("the items of a set of a class of its own")
}
