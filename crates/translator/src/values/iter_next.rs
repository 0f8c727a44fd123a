//! `next(it)`: one step of every builtin iterator.

use std::rc::Rc;

use bytecode::op::BinaryOp;
use pyo3::prelude::*;
use variables::object::{DequeWalk, DictWalk};
use variables::{Body, DictView, IterBody, ObjId, Var};

use super::special::Special;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

/// Where the hash table puts a new key decides whether the iterator meets it, and that only CPython
/// knows.
const OTHER_KEYS: &str = "iterating over a container that has other keys than when it began";

impl Tx<'_> {
    /// The next item of an iterator, or `None` where it is exhausted.
    ///
    /// # Errors
    /// Whatever the iterator raises; a break for an iterator from outside.
    pub fn iter_next(&mut self, it: &Var) -> R<Option<Var>> {
        let it = self.realize(it)?;
        if let Var::Obj(id) = &it {
            match &self.obj(*id).body {
                Body::Iter(body) => {
                    let body = body.clone();
                    return self.advance(*id, body);
                }
                Body::Generator(_) => return self.generator_next(&it, None),
                _ => {}
            }
        }
        match self.special(&it, "__next__")? {
            Special::User => match self.special_sync(&it, "__next__", vec![]) {
                Ok(v) => Ok(Some(v)),
                Err(stop) if self.is_raise_of(&stop, "StopIteration") => Ok(None),
                Err(stop) => Err(stop),
            },
            Special::Builtin => Err(Stop::unsupported(format!(
                "advancing {}",
                self.describe(&it)
            ))),
            Special::Absent => {
                let name = self.type_name(&it)?;
                Err(self.raise("TypeError", &format!("'{name}' object is not an iterator")))
            }
        }
    }

    /// Whether the program raises an instance of a builtin exception class.
    pub fn is_raise_of(&self, stop: &Stop, class: &str) -> bool {
        let Stop::Raise(Var::Obj(id)) = stop else {
            return false;
        };
        match self.known.builtins.bind(self.py).getattr(class) {
            Ok(base) => self.is_subtype(&self.obj(*id).class, &base.unbind()),
            Err(_) => false,
        }
    }

    /// Gives an iterator another state.
    pub fn put(&mut self, id: ObjId, body: IterBody) {
        if self.obj(id).is_new() {
            self.st.effects.get_mut(id).body = Body::Iter(body);
        } else {
            *self.st.effects.body_mut(id) = Body::Iter(body);
        }
    }

    /// Ends an iterator.
    ///
    /// # Errors
    /// None: it is what giving the next item comes to.
    pub fn exhaust(&mut self, id: ObjId) -> R<Option<Var>> {
        self.put(id, IterBody::Items(Rc::new(Vec::new()), 0));
        Ok(None)
    }

    fn advance(&mut self, id: ObjId, body: IterBody) -> R<Option<Var>> {
        match body {
            IterBody::Items(items, i) => match items.get(i) {
                Some(v) => {
                    let v = v.clone();
                    self.put(id, IterBody::Items(items, i + 1));
                    Ok(Some(v))
                }
                None => Ok(None),
            },
            IterBody::Arranged(all, i) => {
                let item = all.items.get(i).cloned();
                self.put(id, IterBody::Arranged(all, i + 1));
                Ok(item)
            }
            IterBody::List(list, at) => self.advance_list(id, list, at),
            IterBody::ListReverse(list, at) => self.advance_list_reverse(id, list, at),
            IterBody::Deque(walk) => self.advance_deque(id, walk),
            IterBody::Set(set, items, i, changes) => self.advance_set(id, set, items, i, changes),
            IterBody::Dict(walk) => self.advance_dict(id, walk),
            IterBody::DictReverse(walk, keys) => self.advance_dict_reverse(id, walk, keys),
            IterBody::Enumerate(inner, count) => {
                let Some(item) = self.iter_next(&inner)? else {
                    return Ok(None);
                };
                let one = self.int(1);
                let next = self.binary_sync(BinaryOp::Add, &count, &one)?;
                self.put(id, IterBody::Enumerate(inner, next));
                Ok(Some(Var::tuple(vec![count, item])))
            }
            IterBody::Zip(inner, _) if inner.is_empty() => Ok(None),
            IterBody::Zip(inner, strict) => {
                Ok(self.next_of_each("zip", &inner, strict)?.map(Var::tuple))
            }
            IterBody::Map(f, inner, strict) => match self.next_of_each("map", &inner, strict)? {
                Some(args) => self.call_sync(&f, Args::pos(args)).map(Some),
                None => Ok(None),
            },
            IterBody::Filter(f, inner) => self.advance_filter(&f, &inner, true),
            IterBody::FilterFalse(f, inner) => self.advance_filter(&f, &inner, false),
            IterBody::Chain(outer, current) => self.advance_chain(id, &outer, current),
            IterBody::Repeat(v, left) => match left {
                Some(0) => Ok(None),
                Some(n) => {
                    self.put(id, IterBody::Repeat(v.clone(), Some(n - 1)));
                    Ok(Some(v))
                }
                None => Ok(Some(v)),
            },
            IterBody::Count(now, step) => {
                let next = self.binary_sync(BinaryOp::Add, &now, &step)?;
                self.put(id, IterBody::Count(next, step));
                Ok(Some(now))
            }
            IterBody::Call(f, sentinel) => self.advance_call(id, f, sentinel),
            IterBody::Sequence(v, i) => self.advance_sequence(id, v, i),
            IterBody::SequenceReverse(v, i) => self.advance_sequence_reverse(id, v, i),
            IterBody::Starmap(f, inner) => {
                let Some(args) = self.iter_next(&inner)? else {
                    return Ok(None);
                };
                let args = self.iterate(&args)?;
                self.call_sync(&f, Args::pos(args)).map(Some)
            }
            IterBody::Opaque => Err(Stop::brk(
                "Iterator from outside",
                "The position of an iterator that existed before the compiled function cannot be read without moving it.",
                "Make the iterator inside the compiled function, or pass the list that it runs over.",
            )),
            body => (self.rules.builtins.itertools_next)(self, id, body),
        }
    }

    fn list_item(&self, list: ObjId, i: usize) -> R<Option<Var>> {
        match &self.obj(list).body {
            Body::List(v) => Ok(v.get(i).cloned()),
            _ => Err(Stop::Internal("list iterator without list".into())),
        }
    }

    /// The next item of a list, which may have changed.
    fn advance_list(&mut self, id: ObjId, list: ObjId, at: Option<usize>) -> R<Option<Var>> {
        let Some(i) = at else { return Ok(None) };
        let item = self.list_item(list, i)?;
        self.put(id, IterBody::List(list, item.as_ref().map(|_| i + 1)));
        Ok(item)
    }

    /// The item in front of the last one.
    fn advance_list_reverse(
        &mut self,
        id: ObjId,
        list: ObjId,
        at: Option<usize>,
    ) -> R<Option<Var>> {
        let Some(i) = at else { return Ok(None) };
        let item = self.list_item(list, i)?;
        let next = item.as_ref().and_then(|_| i.checked_sub(1));
        self.put(id, IterBody::ListReverse(list, next));
        Ok(item)
    }

    /// The next item of a set.
    fn advance_set(
        &mut self,
        id: ObjId,
        set: ObjId,
        items: Rc<Vec<Var>>,
        i: usize,
        changes: u64,
    ) -> R<Option<Var>> {
        let Body::Set(map) = &self.obj(set).body else {
            return Err(Stop::Internal("iterator without set".into()));
        };
        if map.len() != items.len() {
            return Err(self.raise("RuntimeError", "Set changed size during iteration"));
        }
        if map.changes() != changes {
            return Err(Stop::unsupported(OTHER_KEYS));
        }
        let Some(v) = items.get(i).cloned() else {
            return self.exhaust(id);
        };
        self.put(id, IterBody::Set(set, items, i + 1, changes));
        Ok(Some(v))
    }

    /// `iter(callable, sentinel)`
    fn advance_call(&mut self, id: ObjId, f: Var, sentinel: Var) -> R<Option<Var>> {
        match self.call_sync(&f, Args::default()) {
            Ok(v) => {
                if self.equals(&v, &sentinel)? {
                    return self.exhaust(id);
                }
                Ok(Some(v))
            }
            Err(stop) if self.is_raise_of(&stop, "StopIteration") => self.exhaust(id),
            Err(stop) => Err(stop),
        }
    }

    /// The item at an index, while there is one.
    fn advance_sequence(&mut self, id: ObjId, v: Var, i: i64) -> R<Option<Var>> {
        if let Var::Const(o) = &v {
            let b = o.bind(self.py);
            if i >= b.len()? as i64 {
                return self.exhaust(id);
            }
            let item = b.get_item(i)?;
            self.put(id, IterBody::Sequence(v.clone(), i + 1));
            return self.from_const(item).map(Some);
        }
        match self.sequence_item(&v, i)? {
            Some(item) => {
                self.put(id, IterBody::Sequence(v, i + 1));
                Ok(Some(item))
            }
            None => self.exhaust(id),
        }
    }

    /// The item at an index, down to the first.
    fn advance_sequence_reverse(&mut self, id: ObjId, v: Var, i: i64) -> R<Option<Var>> {
        if i < 0 {
            return Ok(None);
        }
        match self.sequence_item(&v, i)? {
            Some(item) => {
                self.put(id, IterBody::SequenceReverse(v, i - 1));
                Ok(Some(item))
            }
            None => self.exhaust(id),
        }
    }

    /// What stands in the way of an iterator over a dict: the dict was changed since it began.
    fn dict_changed(&mut self, walk: &DictWalk) -> R<Option<Stop>> {
        let state = self.obj(walk.dict);
        let Body::Dict(map) = &state.body else {
            return Err(Stop::Internal("iterator without dict".into()));
        };
        let (changes, size) = (map.changes(), map.len());
        if changes == walk.changes && size == walk.size {
            return Ok(None);
        }
        // `OrderedDict.clear` is a change of the size only: after it, what was done before decides.
        let message = match self.is_ordered_dict(walk.dict) {
            true if size > 0 => "OrderedDict mutated during iteration",
            false if size != walk.size => "dictionary changed size during iteration",
            _ => return Err(Stop::unsupported(OTHER_KEYS)),
        };
        Ok(Some(self.raise("RuntimeError", message)))
    }

    fn advance_dict(&mut self, id: ObjId, walk: DictWalk) -> R<Option<Var>> {
        if let Some(error) = self.dict_changed(&walk)? {
            if self.is_ordered_dict(walk.dict) {
                self.exhaust(id)?;
            } else {
                let size = usize::MAX;
                self.put(id, IterBody::Dict(DictWalk { size, ..walk }));
            }
            return Err(error);
        }
        let Body::Dict(map) = &self.obj(walk.dict).body else {
            return Err(Stop::Internal("iterator without dict".into()));
        };
        let Some((next, k, v)) = map.next_from(walk.slot as u64) else {
            return self.exhaust(id);
        };
        let item = view_item(walk.view, k.clone(), v.clone());
        // An OrderedDict's iterator knows which key comes next, or that none does.
        if map.next_from(next).is_none() && self.is_ordered_dict(walk.dict) {
            self.exhaust(id)?;
        } else {
            let slot = next as usize;
            self.put(id, IterBody::Dict(DictWalk { slot, ..walk }));
        }
        Ok(Some(item))
    }

    fn advance_dict_reverse(
        &mut self,
        id: ObjId,
        walk: DictWalk,
        keys: Rc<Vec<Var>>,
    ) -> R<Option<Var>> {
        if walk.slot == 0 && self.is_ordered_dict(walk.dict) {
            return Ok(None);
        }
        if let Some(error) = self.dict_changed(&walk)? {
            let (slot, size) = (0, usize::MAX);
            let walk = DictWalk { slot, size, ..walk };
            self.put(id, IterBody::DictReverse(walk, keys));
            return Err(error);
        }
        let Some(slot) = walk.slot.checked_sub(1) else {
            return self.exhaust(id);
        };
        let k = keys[slot].clone();
        let key = self.key(&k)?;
        let Body::Dict(map) = &self.obj(walk.dict).body else {
            return Err(Stop::Internal("iterator without dict".into()));
        };
        let Some(value) = map.get(&key).cloned() else {
            return Err(Stop::Internal("reversed dict without its key".into()));
        };
        self.put(id, IterBody::DictReverse(DictWalk { slot, ..walk }, keys));
        Ok(Some(view_item(walk.view, k, value)))
    }

    fn advance_deque(&mut self, id: ObjId, walk: DequeWalk) -> R<Option<Var>> {
        // The one from `reversed` does not look at its deque once it is exhausted.
        let done = walk.taken >= walk.size;
        if done && walk.reverse {
            return Ok(None);
        }
        let state = self.obj(walk.deque);
        let Body::Deque(items, _) = &state.body else {
            return Err(Stop::Internal("iterator without deque".into()));
        };
        if state.changes != walk.changes {
            let taken = walk.size;
            self.put(id, IterBody::Deque(DequeWalk { taken, ..walk }));
            return Err(self.raise("RuntimeError", "deque mutated during iteration"));
        }
        if done {
            return Ok(None);
        }
        let at = if walk.reverse {
            walk.size - 1 - walk.taken
        } else {
            walk.taken
        };
        let item = items.get(at).cloned();
        let taken = walk.taken + 1;
        self.put(id, IterBody::Deque(DequeWalk { taken, ..walk }));
        Ok(item)
    }

    /// An item of each iterator that `zip` or `map` was given; `None` where one ends.
    fn next_of_each(&mut self, of: &str, inner: &[Var], strict: bool) -> R<Option<Vec<Var>>> {
        let mut out = Vec::with_capacity(inner.len());
        for (i, it) in inner.iter().enumerate() {
            match self.iter_next(it)? {
                Some(v) => out.push(v),
                None if !strict => return Ok(None),
                None if i > 0 => {
                    let message = format!(
                        "{of}() argument {} is shorter than argument{}",
                        i + 1,
                        ordinal_range(i)
                    );
                    return Err(self.raise("ValueError", &message));
                }
                None => {
                    for (j, it) in inner.iter().enumerate().skip(1) {
                        if self.iter_next(it)?.is_some() {
                            let message = format!(
                                "{of}() argument {} is longer than argument{}",
                                j + 1,
                                ordinal_range(j)
                            );
                            return Err(self.raise("ValueError", &message));
                        }
                    }
                    return Ok(None);
                }
            }
        }
        Ok(Some(out))
    }

    fn advance_filter(&mut self, f: &Var, inner: &Var, keep: bool) -> R<Option<Var>> {
        loop {
            let Some(v) = self.iter_next(inner)? else {
                return Ok(None);
            };
            let test = if f.is_none(self.py) || f.as_obj().is_some_and(|o| o.is(&self.known.bool_))
            {
                v.clone()
            } else {
                self.call_sync(f, Args::pos(vec![v.clone()]))?
            };
            if self.truth(&test)? == keep {
                return Ok(Some(v));
            }
        }
    }

    fn advance_chain(
        &mut self,
        id: ObjId,
        outer: &Var,
        mut current: Option<Var>,
    ) -> R<Option<Var>> {
        loop {
            let it = match current.take() {
                Some(it) => it,
                None => {
                    let Some(next) = self.iter_next(outer)? else {
                        return self.exhaust(id);
                    };
                    let it = self.get_iter(&next)?;
                    self.put(id, IterBody::Chain(outer.clone(), Some(it.clone())));
                    it
                }
            };
            if let Some(v) = self.iter_next(&it)? {
                return Ok(Some(v));
            }
            self.put(id, IterBody::Chain(outer.clone(), None));
        }
    }

    /// `obj[i]` of the sequence protocol: `IndexError` and `StopIteration` end it.
    fn sequence_item(&mut self, v: &Var, i: i64) -> R<Option<Var>> {
        let i = self.int(i);
        match self.getitem(v, &i).and_then(|f| self.finish_flow(f)) {
            Ok(item) => Ok(Some(item)),
            Err(stop)
                if self.is_raise_of(&stop, "IndexError")
                    || self.is_raise_of(&stop, "StopIteration") =>
            {
                Ok(None)
            }
            Err(stop) => Err(stop),
        }
    }
}

fn view_item(view: DictView, k: Var, v: Var) -> Var {
    match view {
        DictView::Keys => k,
        DictView::Values => v,
        DictView::Items => Var::tuple(vec![k, v]),
    }
}

/// `" 1"` or `"s 1-3"`, as `zip`'s messages have it.
fn ordinal_range(n: usize) -> String {
    if n == 1 {
        " 1".into()
    } else {
        format!("s 1-{n}")
    }
}
