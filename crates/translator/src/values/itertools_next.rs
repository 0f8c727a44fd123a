//! `next(it)` of the iterators of `itertools`.

use std::rc::Rc;

use bytecode::op::BinaryOp;
use variables::object::GroupState;
use variables::{Body, IterBody, ObjId, Var};

use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// `islice`
    pub(super) fn advance_islice(
        &mut self,
        id: ObjId,
        inner: Var,
        mut cnt: usize,
        next: usize,
        stop: Option<usize>,
        step: usize,
    ) -> R<Option<Var>> {
        while cnt < next {
            if self.iter_next(&inner)?.is_none() {
                return self.exhaust(id);
            }
            cnt += 1;
            self.put(id, IterBody::Islice(inner.clone(), cnt, next, stop, step));
        }
        if stop.is_some_and(|s| cnt >= s) {
            return self.exhaust(id);
        }
        let Some(item) = self.iter_next(&inner)? else {
            return self.exhaust(id);
        };
        let following = next.saturating_add(step);
        let following = stop.map_or(following, |s| following.min(s));
        self.put(id, IterBody::Islice(inner, cnt + 1, following, stop, step));
        Ok(Some(item))
    }

    /// `takewhile`
    pub(super) fn advance_takewhile(&mut self, id: ObjId, f: Var, inner: Var) -> R<Option<Var>> {
        let Some(v) = self.iter_next(&inner)? else {
            return Ok(None);
        };
        let keep = self.call_sync(&f, Args::pos(vec![v.clone()]))?;
        if self.truth(&keep)? {
            Ok(Some(v))
        } else {
            self.exhaust(id)
        }
    }

    /// `dropwhile`
    pub(super) fn advance_dropwhile(
        &mut self,
        id: ObjId,
        f: Var,
        inner: Var,
        started: bool,
    ) -> R<Option<Var>> {
        loop {
            let Some(v) = self.iter_next(&inner)? else {
                return Ok(None);
            };
            if started {
                return Ok(Some(v));
            }
            let drop = self.call_sync(&f, Args::pos(vec![v.clone()]))?;
            if !self.truth(&drop)? {
                self.put(id, IterBody::DropWhile(f, inner, true));
                return Ok(Some(v));
            }
        }
    }

    /// `compress`
    pub(super) fn advance_compress(&mut self, data: Var, selectors: Var) -> R<Option<Var>> {
        loop {
            let Some(v) = self.iter_next(&data)? else {
                return Ok(None);
            };
            let Some(s) = self.iter_next(&selectors)? else {
                return Ok(None);
            };
            if self.truth(&s)? {
                return Ok(Some(v));
            }
        }
    }

    /// `accumulate`
    pub(super) fn advance_accumulate(
        &mut self,
        id: ObjId,
        inner: Var,
        f: Var,
        total: Option<Var>,
        initial: Option<Var>,
    ) -> R<Option<Var>> {
        if let Some(v) = initial {
            self.put(id, IterBody::Accumulate(inner, f, Some(v.clone()), None));
            return Ok(Some(v));
        }
        let Some(v) = self.iter_next(&inner)? else {
            return Ok(None);
        };
        let next = match total {
            None => v,
            Some(t) if f.is_none(self.py) => self.binary_sync(BinaryOp::Add, &t, &v)?,
            Some(t) => self.call_sync(&f, Args::pos(vec![t, v]))?,
        };
        self.put(id, IterBody::Accumulate(inner, f, Some(next.clone()), None));
        Ok(Some(next))
    }

    /// `zip_longest`
    pub(super) fn advance_zip_longest(
        &mut self,
        id: ObjId,
        mut inner: Vec<Option<Var>>,
        fill: Var,
    ) -> R<Option<Var>> {
        let mut out = Vec::with_capacity(inner.len());
        for slot in 0..inner.len() {
            let Some(it) = inner[slot].clone() else {
                out.push(fill.clone());
                continue;
            };
            match self.iter_next(&it)? {
                Some(v) => out.push(v),
                None => {
                    inner[slot] = None;
                    self.put(id, IterBody::ZipLongest(inner.clone(), fill.clone()));
                    if inner.iter().all(Option::is_none) {
                        return Ok(None);
                    }
                    out.push(fill.clone());
                }
            }
        }
        Ok((!out.is_empty()).then(|| Var::tuple(out)))
    }

    /// `cycle`
    pub(super) fn advance_cycle(
        &mut self,
        id: ObjId,
        inner: Option<Var>,
        mut saved: im::Vector<Var>,
        i: usize,
    ) -> R<Option<Var>> {
        if let Some(it) = &inner {
            if let Some(v) = self.iter_next(it)? {
                saved.push_back(v.clone());
                self.put(id, IterBody::Cycle(inner, saved, 0));
                return Ok(Some(v));
            }
            self.put(id, IterBody::Cycle(None, saved.clone(), 0));
        }
        let Some(v) = saved.get(i).cloned() else {
            return Ok(None);
        };
        let next = (i + 1) % saved.len();
        self.put(id, IterBody::Cycle(None, saved, next));
        Ok(Some(v))
    }

    /// `pairwise`
    pub(super) fn advance_pairwise(
        &mut self,
        id: ObjId,
        inner: Var,
        previous: Option<Var>,
    ) -> R<Option<Var>> {
        let first = match previous {
            Some(v) => v,
            None => match self.iter_next(&inner)? {
                Some(v) => v,
                None => return self.exhaust(id),
            },
        };
        let Some(second) = self.iter_next(&inner)? else {
            return self.exhaust(id);
        };
        self.put(id, IterBody::Pairwise(inner, Some(second.clone())));
        Ok(Some(Var::tuple(vec![first, second])))
    }

    /// `batched`
    pub(super) fn advance_batched(
        &mut self,
        id: ObjId,
        inner: Var,
        n: usize,
        strict: bool,
    ) -> R<Option<Var>> {
        let mut out = Vec::new();
        while out.len() < n {
            match self.iter_next(&inner)? {
                Some(v) => out.push(v),
                None => break,
            }
        }
        if out.is_empty() {
            return self.exhaust(id);
        }
        if out.len() < n {
            self.exhaust(id)?;
            if strict {
                return Err(self.raise("ValueError", "batched(): incomplete batch"));
            }
        }
        Ok(Some(Var::tuple(out)))
    }

    /// One of the iterators of `tee`.
    pub(super) fn advance_tee(
        &mut self,
        id: ObjId,
        source: Var,
        buffer: ObjId,
        i: usize,
    ) -> R<Option<Var>> {
        let Body::List(items) = &self.obj(buffer).body else {
            return Err(Stop::Internal("tee without buffer".into()));
        };
        let item = match items.get(i).cloned() {
            Some(v) => v,
            None => {
                let Some(v) = self.iter_next(&source)? else {
                    return Ok(None);
                };
                if let Body::List(items) = &mut self.st.effects.get_mut(buffer).body {
                    items.push_back(v.clone());
                }
                v
            }
        };
        self.put(id, IterBody::Tee(source, buffer, i + 1));
        Ok(Some(item))
    }

    /// The next item and its key (CPython's `groupby_step`).
    fn group_step(&mut self, inner: &Var, keyfunc: &Var) -> R<Option<(Var, Var)>> {
        let Some(v) = self.iter_next(inner)? else {
            return Ok(None);
        };
        let key = if keyfunc.is_none(self.py) {
            v.clone()
        } else {
            self.call_sync(keyfunc, Args::pos(vec![v.clone()]))?
        };
        Ok(Some((v, key)))
    }

    pub(super) fn advance_groupby(
        &mut self,
        id: ObjId,
        inner: Var,
        keyfunc: Var,
        state: Rc<GroupState>,
    ) -> R<Option<Var>> {
        let mut state = (*state).clone();
        // Skips what is left of the present group.
        loop {
            match (&state.current, &state.target) {
                (None, _) => {}
                (Some(_), None) => break,
                (Some((_, key)), Some(target)) => {
                    let (key, target) = (key.clone(), target.clone());
                    if !self.equals(&target, &key)? {
                        break;
                    }
                }
            }
            match self.group_step(&inner, &keyfunc)? {
                Some(c) => state.current = Some(c),
                None => return self.exhaust(id),
            }
        }
        let key = state
            .current
            .as_ref()
            .map(|c| c.1.clone())
            .ok_or_else(|| Stop::Internal("groupby".into()))?;
        state.target = Some(key.clone());
        state.serial += 1;
        let serial = state.serial;
        self.put(id, IterBody::GroupBy(inner, keyfunc, Rc::new(state)));
        let class = super::IterClass::Group.get(self.py)?;
        let group = self.new_iter(class, IterBody::Group(id, key.clone(), serial));
        Ok(Some(Var::tuple(vec![key, group])))
    }

    pub(super) fn advance_group(
        &mut self,
        id: ObjId,
        parent: ObjId,
        key: &Var,
        serial: u64,
    ) -> R<Option<Var>> {
        let Body::Iter(IterBody::GroupBy(inner, keyfunc, state)) = self.obj(parent).body.clone()
        else {
            return self.exhaust(id);
        };
        if state.serial != serial {
            return self.exhaust(id);
        }
        let mut state = (*state).clone();
        if state.current.is_none() {
            state.current = self.group_step(&inner, &keyfunc)?;
        }
        let Some((v, k)) = state.current.clone() else {
            return self.exhaust(id);
        };
        if !self.equals(key, &k)? {
            self.put(parent, IterBody::GroupBy(inner, keyfunc, Rc::new(state)));
            return Ok(None);
        }
        state.current = None;
        self.put(parent, IterBody::GroupBy(inner, keyfunc, Rc::new(state)));
        Ok(Some(v))
    }
}
