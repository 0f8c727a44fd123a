//! Methods of `list` and `collections.deque`.

use pyo3::prelude::*;
use variables::{Body, IterBody, ObjId, Var};

use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};
use crate::values::IterClass;

impl Tx<'_> {
    /// A list's method. `None`: there is none of this name here.
    pub(super) fn list_method(&mut self, id: ObjId, name: &str, args: Args) -> R<Option<Flow>> {
        let recv = Var::Obj(id);
        let full = format!("list.{name}");
        let none = self.none();
        Ok(Some(Flow::Value(match name {
            "append" => {
                let v = self.one(&full, args)?;
                self.list_append(&recv, v)?;
                none
            }
            "extend" => {
                let v = self.one(&full, args)?;
                self.extend_items(&recv, &v)?;
                none
            }
            "insert" => {
                let a = self.positional("insert", args, 2, 2)?;
                let i = self.index_of(&a[0])?;
                if let Body::List(v) = self.st.effects.body_mut(id) {
                    v.insert(clip(i, v.len()), a[1].clone());
                }
                none
            }
            "pop" => {
                let a = self.positional("pop", args, 0, 1)?;
                let len = self.seq_len(id);
                if len == 0 {
                    return Err(self.raise("IndexError", "pop from empty list"));
                }
                let i = match a.first() {
                    Some(i) => self.sequence_index(&recv, i, len, "pop index out of range")?,
                    None => len - 1,
                };
                match self.st.effects.body_mut(id) {
                    Body::List(v) => v.remove(i),
                    _ => return Err(Stop::Internal("list".into())),
                }
            }
            "remove" => {
                let v = self.one(&full, args)?;
                let Some(i) = self.find(id, &v, 0, usize::MAX)? else {
                    return Err(self.raise("ValueError", "list.remove(x): x not in list"));
                };
                if let Body::List(v) = self.st.effects.body_mut(id) {
                    v.remove(i);
                }
                none
            }
            "index" => {
                let a = self.positional("index", args, 1, 3)?;
                let (start, stop) = self.search_range(&a, self.seq_len(id))?;
                match self.find(id, &a[0], start, stop)? {
                    Some(i) => self.int(i as i64),
                    None => return Err(self.not_in_list(&a[0])?),
                }
            }
            "count" => {
                let v = self.one(&full, args)?;
                self.count_equal(id, &v)?
            }
            "clear" => {
                self.positional(&full, args, 0, 0)?;
                *self.st.effects.body_mut(id) = Body::List(im::Vector::new());
                none
            }
            "copy" => {
                self.positional(&full, args, 0, 0)?;
                let items = self.seq_items(id);
                self.new_list(items)
            }
            "reverse" => {
                self.positional(&full, args, 0, 0)?;
                let items = self.seq_items(id).into_iter().rev().collect();
                *self.st.effects.body_mut(id) = Body::List(items);
                none
            }
            "sort" => {
                let a = self.by_name("sort", args, &["key", "reverse"], 0, 0)?;
                let items: Vec<Var> = self.seq_items(id).into_iter().collect();
                self.sort_in_place(id, items, a[0].clone(), a[1].clone())?;
                none
            }
            "__init__" => {
                let a = self.positional("list", args, 0, 1)?;
                let items = match a.first() {
                    Some(v) => self.iterate(v)?,
                    None => Vec::new(),
                };
                *self.st.effects.body_mut(id) = Body::List(items.into_iter().collect());
                none
            }
            "__reversed__" => {
                let n = self.seq_len(id);
                let class = IterClass::ListReverse.get(self.py)?;
                self.new_iter(class, IterBody::ListReverse(id, n.checked_sub(1)))
            }
            _ => return Ok(None),
        })))
    }

    /// A deque's method.
    pub(super) fn deque_method(&mut self, id: ObjId, name: &str, args: Args) -> R<Option<Flow>> {
        let recv = Var::Obj(id);
        let full = format!("deque.{name}");
        let none = self.none();
        let Body::Deque(items, max) = self.obj(id).body.clone() else {
            return Ok(None);
        };
        let put =
            |tx: &mut Self, v: im::Vector<Var>| *tx.st.effects.items_mut(id) = Body::Deque(v, max);
        Ok(Some(Flow::Value(match name {
            "append" => {
                let v = self.one(&full, args)?;
                self.list_append(&recv, v)?;
                none
            }
            "extend" => {
                let v = self.one(&full, args)?;
                self.extend_items(&recv, &v)?;
                none
            }
            "appendleft" | "extendleft" => {
                let v = self.one(&full, args)?;
                let new = if name == "appendleft" {
                    vec![v]
                } else {
                    self.iterate(&v)?
                };
                if new.is_empty() {
                    return Ok(Some(Flow::Value(none)));
                }
                let mut out = items;
                for v in new {
                    out.push_front(v);
                    if max.is_some_and(|m| out.len() > m) {
                        out.pop_back();
                    }
                }
                put(self, out);
                none
            }
            "pop" | "popleft" => {
                self.positional(&full, args, 0, 0)?;
                let mut out = items;
                let v = if name == "pop" {
                    out.pop_back()
                } else {
                    out.pop_front()
                };
                let Some(v) = v else {
                    return Err(self.raise("IndexError", "pop from an empty deque"));
                };
                put(self, out);
                v
            }
            "insert" => {
                let a = self.positional("insert", args, 2, 2)?;
                if max.is_some_and(|m| items.len() >= m) {
                    return Err(self.raise("IndexError", "deque already at its maximum size"));
                }
                let i = self.index_of(&a[0])?;
                let mut out = items;
                out.insert(clip(i, out.len()), a[1].clone());
                put(self, out);
                none
            }
            "remove" => {
                let v = self.one(&full, args)?;
                let Some(i) = self.find(id, &v, 0, usize::MAX)? else {
                    return Err(self.raise("ValueError", "deque.remove(x): x not in deque"));
                };
                let mut out = items;
                out.remove(i);
                put(self, out);
                none
            }
            "index" => {
                let a = self.positional("index", args, 1, 3)?;
                let (start, stop) = self.search_range(&a, items.len())?;
                match self.find(id, &a[0], start, stop)? {
                    Some(i) => self.int(i as i64),
                    None => {
                        let text = (self.rules.builtins.repr_text)(self, &a[0])?;
                        return Err(self.raise("ValueError", &format!("{text} is not in deque")));
                    }
                }
            }
            "count" => {
                let v = self.one(&full, args)?;
                self.count_equal(id, &v)?
            }
            "clear" => {
                if !items.is_empty() {
                    put(self, im::Vector::new());
                }
                none
            }
            "copy" | "__copy__" => {
                let class = self.obj(id).class.clone();
                self.new_like(class, Body::Deque(items, max))
            }
            "reverse" => {
                let items = items.into_iter().rev().collect();
                *self.st.effects.body_mut(id) = Body::Deque(items, max);
                none
            }
            "rotate" => {
                let a = self.positional("rotate", args, 0, 1)?;
                let n = match a.first() {
                    Some(n) => self.index_of(n)?,
                    None => 1,
                };
                if items.len() > 1 {
                    let mut out = items;
                    let k = n.rem_euclid(out.len() as isize) as usize;
                    let at = out.len() - k;
                    let mut tail = out.split_off(at);
                    tail.append(out);
                    put(self, tail);
                }
                none
            }
            "__init__" => {
                let a = self.by_name("deque", args, &["iterable", "maxlen"], 0, 2)?;
                let max = match &a[1] {
                    Some(m) if !m.is_none(self.py) => Some(self.index_of(m)?.max(0) as usize),
                    _ => None,
                };
                *self.st.effects.items_mut(id) = Body::Deque(im::Vector::new(), max);
                if let Some(v) = &a[0] {
                    self.extend_items(&recv, v)?;
                }
                none
            }
            "__reversed__" => {
                self.positional(name, args, 0, 0)?;
                self.iter_deque(id, true)?
            }
            _ => return Ok(None),
        })))
    }

    fn seq_len(&self, id: ObjId) -> usize {
        match &self.obj(id).body {
            Body::List(v) | Body::Deque(v, _) => v.len(),
            _ => 0,
        }
    }

    fn seq_items(&self, id: ObjId) -> im::Vector<Var> {
        match &self.obj(id).body {
            Body::List(v) | Body::Deque(v, _) => v.clone(),
            _ => im::Vector::new(),
        }
    }

    /// `start` and `stop` of `index(x, start, stop)`, clipped.
    pub(super) fn search_range(&mut self, a: &[Var], len: usize) -> R<(usize, usize)> {
        let clip = |i: isize| if i < 0 { (i + len as isize).max(0) } else { i } as usize;
        let start = match a.get(1) {
            Some(v) => clip(self.index_of(v)?),
            None => 0,
        };
        let stop = match a.get(2) {
            Some(v) => clip(self.index_of(v)?),
            None => usize::MAX,
        };
        Ok((start, stop))
    }

    fn find(&mut self, id: ObjId, v: &Var, start: usize, stop: usize) -> R<Option<usize>> {
        let items = self.seq_items(id);
        for (i, item) in items.iter().enumerate().take(stop).skip(start) {
            let found = self.equals(item, v)?;
            self.still_holds(&Var::Obj(id), &items)?;
            if found {
                return Ok(Some(i));
            }
        }
        Ok(None)
    }

    fn count_equal(&mut self, id: ObjId, v: &Var) -> R<Var> {
        let mut n = 0;
        let items = self.seq_items(id);
        for item in &items {
            n += i64::from(self.equals(item, v)?);
            self.still_holds(&Var::Obj(id), &items)?;
        }
        Ok(self.int(n))
    }

    fn not_in_list(&mut self, v: &Var) -> R<Stop> {
        let text = (self.rules.builtins.repr_text)(self, v)?;
        Ok(self.raise("ValueError", &format!("{text} is not in list")))
    }

    /// A constant `str` as Rust text.
    pub fn text_of(&self, v: &Var) -> String {
        match v {
            Var::Const(o) => o
                .bind(self.py)
                .str()
                .map_or_else(|_| String::new(), |s| s.to_string_lossy().into_owned()),
            other => self.describe(other),
        }
    }

    /// `list.sort`: the list is empty meanwhile, and may not be written to.
    fn sort_in_place(
        &mut self,
        id: ObjId,
        items: Vec<Var>,
        key: Option<Var>,
        reverse: Option<Var>,
    ) -> R<()> {
        let before = self.seq_items(id);
        *self.st.effects.body_mut(id) = Body::List(im::Vector::new());
        let sorted = self.sorted_items(items, key, reverse);
        let changed = self.seq_len(id) > 0;
        let (items, result) = match sorted {
            Ok(sorted) if changed => {
                let error = self.raise("ValueError", "list modified during sort");
                (sorted.into_iter().collect(), Err(error))
            }
            Ok(sorted) => (sorted.into_iter().collect(), Ok(())),
            // What a comparison left half sorted only CPython's own sort can tell.
            Err(Stop::Raise(_)) if before.len() > 1 => {
                return Err(Stop::unsupported("a sort that is not finished"));
            }
            Err(stop) => (before, Err(stop)),
        };
        *self.st.effects.body_mut(id) = Body::List(items);
        result
    }

    /// `sorted(items, key=key, reverse=reverse)`: stable, by `<` alone.
    ///
    /// # Errors
    /// Whatever the key function or a comparison raises; a break for tensors.
    pub fn sorted_items(
        &mut self,
        items: Vec<Var>,
        key: Option<Var>,
        reverse: Option<Var>,
    ) -> R<Vec<Var>> {
        let reverse = match reverse {
            Some(r) => self.truth(&r)?,
            None => false,
        };
        let key = key.filter(|k| !k.is_none(self.py));
        let mut pairs = Vec::with_capacity(items.len());
        for v in items {
            let k = match &key {
                Some(f) => self.call_sync(f, Args::pos(vec![v.clone()]))?,
                None => v.clone(),
            };
            pairs.push((self.realize(&k)?, v));
        }
        if let Some(order) = self.constant_order(&pairs, reverse)? {
            return Ok(order.into_iter().map(|i| pairs[i].1.clone()).collect());
        }
        if reverse {
            pairs.reverse();
        }
        let mut sorted = self.merge_sort(pairs)?;
        if reverse {
            sorted.reverse();
        }
        Ok(sorted.into_iter().map(|p| p.1).collect())
    }

    /// The order that Python's own sort gives to keys that are all constants.
    fn constant_order(&mut self, pairs: &[(Var, Var)], reverse: bool) -> R<Option<Vec<usize>>> {
        let mut keys = Vec::with_capacity(pairs.len());
        for (k, _) in pairs {
            match self.pure_const(k)? {
                Some(o) => keys.push(o),
                None => return Ok(None),
            }
        }
        let py = self.py;
        let list = pyo3::types::PyList::new(py, keys)?;
        let kw = pyo3::types::PyDict::new(py);
        kw.set_item("key", list.getattr("__getitem__")?)?;
        kw.set_item("reverse", reverse)?;
        let range = pyo3::types::PyRange::new(py, 0, pairs.len() as isize)?;
        match py
            .import("builtins")?
            .getattr("sorted")?
            .call((range,), Some(&kw))
        {
            Ok(order) => Ok(Some(order.extract()?)),
            Err(e) => Err(self.raise_pyerr(&e)),
        }
    }

    /// A value that consists of constants of builtin types alone, so that operations on it run no
    /// user code.
    ///
    /// # Errors
    /// Those of realizing lazy values.
    pub fn pure_const(&mut self, v: &Var) -> R<Option<variables::Obj>> {
        fn pure(tx: &mut Tx<'_>, v: &Var) -> R<bool> {
            Ok(match tx.realize(v)? {
                Var::Const(_) => true,
                Var::Tuple(t) => {
                    for v in &t.items {
                        if !pure(tx, v)? {
                            return Ok(false);
                        }
                    }
                    true
                }
                Var::Slice(s) => {
                    for v in s.iter() {
                        if !pure(tx, v)? {
                            return Ok(false);
                        }
                    }
                    true
                }
                _ => false,
            })
        }
        if pure(self, v)? {
            self.as_const(v)
        } else {
            Ok(None)
        }
    }

    fn merge_sort(&mut self, mut v: Vec<(Var, Var)>) -> R<Vec<(Var, Var)>> {
        if v.len() < 2 {
            return Ok(v);
        }
        let right = v.split_off(v.len() / 2);
        let left = self.merge_sort(v)?;
        let right = self.merge_sort(right)?;
        let mut out = Vec::with_capacity(left.len() + right.len());
        let (mut l, mut r) = (left.into_iter().peekable(), right.into_iter().peekable());
        while let (Some(a), Some(b)) = (l.peek(), r.peek()) {
            let f = self.compare(bytecode::op::CompareOp::Lt, &b.0.clone(), &a.0.clone())?;
            let less = self.finish_flow(f)?;
            if self.truth(&less)? {
                out.extend(r.next());
            } else {
                out.extend(l.next());
            }
        }
        out.extend(l);
        out.extend(r);
        Ok(out)
    }
}

/// Where `insert` puts an item.
fn clip(i: isize, len: usize) -> usize {
    if i < 0 {
        (i + len as isize).max(0) as usize
    } else {
        (i as usize).min(len)
    }
}
