//! Iterators as bytecode: rebuilt at their position, over the same objects.

use bytecode::op::{LocalIdx, Op};
use pyo3::prelude::*;
use translator::stop::R;
use variables::object::{DequeWalk, DictView, DictWalk};
use variables::{Body, IterBody, Obj, ObjId, OrderedMap, Origin, Var};

use crate::asm::Val;
use crate::emitter::Emitter;

/// An iterator that goes on, or raises, by what its container once was.
const CHANGED: &str = "an iterator whose container was changed since it began";

/// The method that gives a view of a dict.
pub(crate) fn view_name(view: DictView) -> &'static str {
    match view {
        DictView::Keys => "keys",
        DictView::Values => "values",
        DictView::Items => "items",
    }
}

/// The values that rebuilding an iterator emits.
pub(crate) fn values(body: &IterBody) -> Vec<Var> {
    let two = |a: &Var, b: &Var| vec![a.clone(), b.clone()];
    match body {
        IterBody::Items(items, at) => items[(*at).min(items.len())..].to_vec(),
        IterBody::List(l, Some(_)) | IterBody::ListReverse(l, Some(_)) => vec![Var::Obj(*l)],
        IterBody::Dict(walk) | IterBody::DictReverse(walk, _) => vec![Var::Obj(walk.dict)],
        IterBody::Deque(walk) => vec![Var::Obj(walk.deque)],
        IterBody::Enumerate(a, b)
        | IterBody::Filter(a, b)
        | IterBody::Count(a, b)
        | IterBody::Call(a, b)
        | IterBody::Starmap(a, b)
        | IterBody::TakeWhile(a, b)
        | IterBody::FilterFalse(a, b)
        | IterBody::Compress(a, b)
        | IterBody::DropWhile(a, b, _) => two(a, b),
        IterBody::Zip(its, _) => its.clone(),
        IterBody::Map(f, its, _) => std::iter::once(f).chain(its).cloned().collect(),
        IterBody::Chain(a, b) | IterBody::Pairwise(a, b) => {
            std::iter::once(a).chain(b).cloned().collect()
        }
        IterBody::Repeat(v, _) | IterBody::Sequence(v, _) | IterBody::SequenceReverse(v, _) => {
            vec![v.clone()]
        }
        IterBody::Islice(v, ..) | IterBody::Batched(v, ..) => vec![v.clone()],
        IterBody::Set(set, items, at, _) => std::iter::once(Var::Obj(*set))
            .chain(items[*at..].iter().cloned())
            .collect(),
        IterBody::Accumulate(it, f, total, initial) => [it, f]
            .into_iter()
            .chain(total)
            .chain(initial)
            .cloned()
            .collect(),
        IterBody::ZipLongest(its, fill) => its.iter().flatten().chain([fill]).cloned().collect(),
        IterBody::GroupBy(it, key, _) => two(it, key),
        IterBody::Arranged(all, _) => all.pools.iter().flatten().cloned().collect(),
        IterBody::Cycle(it, saved, _) => it.iter().chain(saved.iter()).cloned().collect(),
        _ => Vec::new(),
    }
}

/// How an iterator that existed before gets to where the program left it.
#[derive(Clone, Copy)]
pub(crate) enum Advance {
    /// by as many items
    By(usize),
    /// to an index of its list
    To(i64),
}

/// What waits for the effects.
#[derive(Default)]
pub(crate) struct Late {
    /// whether they were replayed
    replayed: bool,
    /// iterators over lists, and the indices to put them to
    places: Vec<(LocalIdx, i64)>,
    /// iterators that are not made yet, and where they are kept then
    iterators: Vec<(ObjId, LocalIdx)>,
}

impl Emitter<'_, '_> {
    /// How far the program has advanced an iterator.
    pub(crate) fn advance_of(&mut self, body: &IterBody, real: &Obj) -> R<Option<Advance>> {
        let it = real.bind(self.tx.py);
        let left = || -> PyResult<usize> { it.call_method0("__length_hint__")?.extract() };
        // Whether the list has this index or stands there, before and behind its own changes.
        let reaches = |g: &Self, list: ObjId, at: usize| {
            let state = g.tx.obj(list);
            let before = match &state.origin {
                Origin::Source { obj, .. } => obj.bind(g.tx.py).len().unwrap_or(0),
                _ => 0,
            };
            let behind = translator::values::body_len(&state.body).unwrap_or(0);
            match !state.body_dirty || at <= before.min(behind) {
                true => Ok(()),
                false => Err(g.cannot("an iterator over a list that was changed")),
            }
        };
        let by = match body {
            // A range, or anything else that was exhausted.
            IterBody::Items(items, _) if items.is_empty() => left()? + 1,
            IterBody::Items(items, at) => (at + left()?).saturating_sub(items.len()),
            IterBody::Sequence(_, at) => *at as usize,
            IterBody::Count(next, step) => {
                let int = |v: &Var| v.as_obj().and_then(|o| o.extract::<i64>(self.tx.py).ok());
                let start = translator::positions::count_state(it)?.map(|s| s[0]);
                let (Some(start), Some(next), Some(step)) = (start, int(next), int(step)) else {
                    return Err(self.cannot("a count of large numbers"));
                };
                match step {
                    0 => 0,
                    step => ((next - start) / step) as usize,
                }
            }
            IterBody::List(list, at) => {
                reaches(self, *list, at.unwrap_or(usize::MAX))?;
                return match at {
                    Some(at) => Ok(Some(Advance::To(*at as i64))),
                    None => Ok(Some(Advance::By(left()? + 1))),
                };
            }
            IterBody::ListReverse(list, at) => {
                reaches(self, *list, at.map_or(0, |i| i + 1))?;
                return Ok(Some(Advance::To(at.map_or(-1, |i| i as i64))));
            }
            _ => return Err(self.cannot("the position of an iterator")),
        };
        Ok((by > 0).then_some(Advance::By(by)))
    }

    /// `iterator --`
    pub(crate) fn advance(&mut self, advance: Advance) -> R<()> {
        match advance {
            Advance::By(n) => self.consume(n)?,
            Advance::To(at) => self.set_state(at)?,
        }
        self.asm.op(Op::PopTop);
        Ok(())
    }

    /// `x -- iterator`
    pub(super) fn get_iter(&mut self) {
        let iter = self.tx.known().iter.clone();
        self.asm.iterator(&iter);
    }

    /// `-- iterator` of this class at its position.
    pub(crate) fn iterator(&mut self, class: &Obj, body: &IterBody) -> R<()> {
        match body {
            IterBody::Items(items, at) => {
                let rest = items[(*at).min(items.len())..].to_vec();
                self.items_iterator(class, &rest)?;
            }
            IterBody::List(_, None) | IterBody::ListReverse(_, None) => {
                self.asm.op(Op::BuildList(0));
                self.get_iter();
            }
            IterBody::List(list, Some(at)) => self.list_iterator(*list, *at)?,
            IterBody::ListReverse(list, Some(at)) => {
                let known = self.tx.known().clone();
                self.call_method_of(&known.list, "__reversed__", *list)?;
                self.place(*list, *at as i64)?;
            }
            IterBody::Deque(walk) => self.deque_iterator(walk)?,
            IterBody::Set(set, items, at, changes) => {
                self.set_iterator(class, *set, items, *at, *changes)?
            }
            IterBody::Dict(walk) => {
                self.check_replayed(walk.dict)?;
                let at = self.dict_walk(walk, |map| map.rank(walk.slot as u64))?;
                self.get_iter();
                self.consume(at)?;
            }
            IterBody::Enumerate(it, count) => {
                let f = self.tx.known().enumerate.clone();
                self.call_with(&f, &[it, count])?;
            }
            IterBody::Zip(its, strict) => {
                let zip = self.tx.known().zip.clone();
                self.call_strictly(&zip, &its.iter().collect::<Vec<_>>(), *strict)?;
            }
            IterBody::Map(f, its, strict) => {
                let map = self.tx.known().map.clone();
                let args: Vec<&Var> = std::iter::once(f).chain(its).collect();
                self.call_strictly(&map, &args, *strict)?;
            }
            IterBody::Filter(f, it) => {
                let filter = self.tx.known().filter.clone();
                self.call_with(&filter, &[f, it])?;
            }
            IterBody::Chain(outer, current) => self.chain(outer, current)?,
            IterBody::Repeat(v, left) => self.repeat(v, *left)?,
            IterBody::Arranged(all, at) => self.arrangements(class, all, *at)?,
            IterBody::Count(a, b) => self.call_tool("count", &[a, b])?,
            IterBody::Call(f, sentinel) => {
                let iter = self.tx.known().iter.clone();
                self.call_with(&iter, &[f, sentinel])?;
            }
            IterBody::Starmap(f, it) => self.call_tool("starmap", &[f, it])?,
            IterBody::TakeWhile(f, it) => self.call_tool("takewhile", &[f, it])?,
            IterBody::FilterFalse(f, it) => self.call_tool("filterfalse", &[f, it])?,
            IterBody::Compress(a, b) => self.call_tool("compress", &[a, b])?,
            IterBody::DropWhile(f, it, false) => self.call_tool("dropwhile", &[f, it])?,
            IterBody::DropWhile(_, it, true) => self.value(it)?,
            IterBody::Islice(it, taken, next, stop, step) => {
                self.islice(it, *taken, *next, *stop, *step)?
            }
            IterBody::Sequence(v, at) => {
                let known = self.tx.known().clone();
                self.call_with(&known.iter, &[v])?;
                if *at != 0 {
                    self.set_state(*at)?;
                }
            }
            IterBody::SequenceReverse(v, at) if matches!(v, Var::Tuple(_) | Var::Const(_)) => {
                let reversed = self.builtin("reversed")?;
                self.call_with(&reversed, &[v])?;
                self.set_state(*at)?;
            }
            IterBody::DictReverse(walk, _) => self.reversed_dict_iterator(walk)?,
            IterBody::Accumulate(it, f, total, initial) => {
                self.accumulate(it, f, total, initial)?
            }
            IterBody::Cycle(it, saved, at) => {
                let saved: Vec<Var> = saved.iter().cloned().collect();
                self.cycle(it, &saved, *at)?;
            }
            IterBody::Batched(it, n, strict) => self.batched(it, *n, *strict)?,
            IterBody::GroupBy(it, key, state)
                if state.target.is_none() && state.current.is_none() =>
            {
                self.call_tool("groupby", &[it, key])?;
            }
            IterBody::ZipLongest(its, fill) => self.zip_longest(its, fill)?,
            IterBody::Pairwise(it, None) => self.call_tool("pairwise", &[it])?,
            IterBody::Pairwise(it, Some(previous)) => self.pairwise(it, previous)?,
            _ => return Err(self.cannot(format!("a {} iterator", self.tx.class_name(class)))),
        }
        Ok(())
    }

    /// Over a list, at an index.
    fn list_iterator(&mut self, list: ObjId, at: usize) -> R<()> {
        let known = self.tx.known().clone();
        if self.tx.obj(list).class.is(&known.list) {
            self.value(&Var::Obj(list))?;
            self.get_iter();
        } else {
            self.call_method_of(&known.list, "__iter__", list)?;
        }
        if at != 0 {
            self.place(list, at as i64)?;
        }
        Ok(())
    }

    /// Over a deque.
    fn deque_iterator(&mut self, walk: &DequeWalk) -> R<()> {
        self.check_replayed(walk.deque)?;
        if self.tx.obj(walk.deque).changes != walk.changes {
            return Err(self.cannot(CHANGED));
        }
        let method = if walk.reverse {
            "__reversed__"
        } else {
            "__iter__"
        };
        let base = self.tx.known().deque.clone();
        self.call_method_of(&base, method, walk.deque)?;
        self.consume(walk.taken)
    }

    /// Over a set.
    fn set_iterator(
        &mut self,
        class: &Obj,
        set: ObjId,
        items: &[Var],
        at: usize,
        changes: u64,
    ) -> R<()> {
        let state = self.tx.obj(set);
        let Body::Set(map) = &state.body else {
            return Err(self.cannot("an iterator without its set"));
        };
        if map.changes() != changes {
            return Err(self.cannot(CHANGED));
        }
        // A set that is made again has an order of its own.
        if at == 0 || (!state.is_new() && !state.body_dirty) {
            let base = self.tx.known().set.clone();
            self.call_method_of(&base, "__iter__", set)?;
            self.consume(at)?;
        } else {
            let rest = items[at..].to_vec();
            self.items_iterator(class, &rest)?;
        }
        Ok(())
    }

    /// Over a dict, from its end.
    fn reversed_dict_iterator(&mut self, walk: &DictWalk) -> R<()> {
        self.check_replayed(walk.dict)?;
        let reversed = self.builtin("reversed")?;
        self.asm.callee(&reversed);
        let at = self.dict_walk(walk, |map| map.len() - walk.slot)?;
        self.asm.call(1);
        self.consume(at)
    }

    fn builtin(&self, name: &str) -> R<Obj> {
        Ok(self
            .tx
            .known()
            .builtins
            .bind(self.tx.py)
            .getattr(name)?
            .unbind())
    }

    /// A call whose last argument is a keyword.
    pub(super) fn call_kw(&mut self, argc: u32, keyword: &str) -> R<()> {
        let names = pyo3::types::PyTuple::new(self.tx.py, [keyword])?
            .into_any()
            .unbind();
        let kw_names = Some(self.asm.const_idx(&names));
        self.asm.op(Op::Call { argc, kw_names });
        Ok(())
    }

    pub(super) fn call_with(&mut self, f: &Obj, args: &[&Var]) -> R<()> {
        self.asm.callee(f);
        for a in args {
            self.value(a)?;
        }
        self.asm.call(args.len() as u32);
        Ok(())
    }

    /// `-- class.name(obj)`
    fn call_method_of(&mut self, class: &Obj, name: &str, obj: ObjId) -> R<()> {
        let f = class.bind(self.tx.py).getattr(name)?.unbind();
        self.asm.callee(&f);
        self.value(&Var::Obj(obj))?;
        self.asm.call(1);
        Ok(())
    }

    /// `-- view` of a dict that is iterated over; gives how many items the iterator has yielded.
    fn dict_walk(&mut self, walk: &DictWalk, at: impl Fn(&OrderedMap) -> usize) -> R<usize> {
        let state = self.tx.obj(walk.dict);
        let class = state.class.clone();
        let at = match &state.body {
            Body::Dict(map) if map.changes() == walk.changes && map.len() == walk.size => at(map),
            _ => return Err(self.cannot(CHANGED)),
        };
        let base = self.dict_base(&class);
        self.call_method_of(&base, view_name(walk.view), walk.dict)?;
        Ok(at)
    }

    /// Whether effects are going to change a container that was there before.
    fn is_to_change(&self, id: ObjId) -> bool {
        let state = self.tx.obj(id);
        !self.late.replayed && !state.is_new() && state.body_dirty
    }

    /// `iterator -- iterator` over a list, at an index, once the list has its items.
    fn place(&mut self, list: ObjId, at: i64) -> R<()> {
        if !self.is_to_change(list) {
            return self.set_state(at);
        }
        let tmp = self.asm.tmp("___tmp");
        self.asm.op(Op::Copy(1));
        self.asm.store_fast(tmp);
        self.late.places.push((tmp, at));
        Ok(())
    }

    /// An iterator over anything but a list does not survive a change.
    fn check_replayed(&self, container: ObjId) -> R<()> {
        match self.is_to_change(container) {
            true => Err(self.cannot(CHANGED)),
            false => Ok(()),
        }
    }

    /// As [`Emitter::prepare`], for a value that the effects do not need: an iterator over what they
    /// change is made behind them.
    pub(crate) fn prepare_late(&mut self, var: &Var) -> R<Val> {
        let Var::Obj(id) = var else {
            return self.prepare(var);
        };
        let state = self.tx.obj(*id);
        let container = match &state.body {
            Body::Iter(IterBody::Dict(walk) | IterBody::DictReverse(walk, _)) => walk.dict,
            Body::Iter(IterBody::Deque(walk)) => walk.deque,
            _ => return self.prepare(var),
        };
        if !state.is_new() || !self.is_to_change(container) {
            return self.prepare(var);
        }
        if let Some((_, tmp)) = self.late.iterators.iter().find(|i| i.0 == *id) {
            return Ok(Val::Fast(*tmp));
        }
        // Where it is found may lead elsewhere behind the effects.
        self.prepare(&Var::Obj(container))?;
        let tmp = self.asm.tmp("___tmp");
        self.late.iterators.push((*id, tmp));
        Ok(Val::Fast(tmp))
    }

    /// Behind the effects: makes the iterators that waited for them, and puts others in their place.
    ///
    /// # Errors
    /// A break where an iterator cannot be rebuilt.
    pub(crate) fn settle(&mut self) -> R<()> {
        self.late.replayed = true;
        for (id, tmp) in std::mem::take(&mut self.late.iterators) {
            self.emit(&Var::Obj(id))?;
            self.asm.store_fast(tmp);
        }
        for (tmp, at) in std::mem::take(&mut self.late.places) {
            self.asm.load_fast(tmp);
            self.set_state(at)?;
            self.asm.op(Op::PopTop);
        }
        Ok(())
    }

    /// `iterator -- iterator`, by `__setstate__`.
    fn set_state(&mut self, at: i64) -> R<()> {
        let tmp = self.asm.tmp("___tmp");
        self.asm.store_fast(tmp);
        self.asm.load_fast(tmp);
        self.asm.load_attr("__setstate__");
        self.asm.body.make_callable();
        self.load_int(at)?;
        self.asm.call(1);
        self.asm.op(Op::PopTop);
        self.asm.load_fast(tmp);
        Ok(())
    }

    /// `iterator -- iterator`, `n` items later, run in C.
    pub(super) fn consume(&mut self, n: usize) -> R<()> {
        if n == 0 {
            return Ok(());
        }
        let tmp = self.asm.tmp("___tmp");
        let (deque, islice) = (self.tx.known().deque.clone(), self.itertools("islice")?);
        self.asm.store_fast(tmp);
        self.asm.callee(&deque);
        self.asm.callee(&islice);
        self.asm.load_fast(tmp);
        self.load_int(n as i64)?;
        self.asm.call(2);
        self.load_int(0)?;
        self.asm.call(2);
        self.asm.op(Op::PopTop);
        self.asm.load_fast(tmp);
        Ok(())
    }

    /// An iterator over fixed items: over a range where the class says so, else over a tuple.
    fn items_iterator(&mut self, class: &Obj, items: &[Var]) -> R<()> {
        let py = self.tx.py;
        if self.tx.class_name(class) == "range_iterator" {
            let ints: Option<Vec<i64>> = items
                .iter()
                .map(|v| match v {
                    Var::Const(o) => o.bind(py).extract().ok(),
                    _ => None,
                })
                .collect();
            if let Some(ints) = ints {
                let step = if ints.len() > 1 { ints[1] - ints[0] } else { 1 };
                let (start, stop) = match ints.as_slice() {
                    [] => (0, 0),
                    [first, ..] => (*first, first + step * ints.len() as i64),
                };
                let range = self
                    .tx
                    .known()
                    .range
                    .bind(py)
                    .call1((start, stop, step))?
                    .unbind();
                self.asm.load_const(&range);
                self.get_iter();
                return Ok(());
            }
        }
        // Matches of a regular expression: what `finditer` gives calls until there is none.
        let calls = self.tx.class_name(class) == "callable_iterator";
        if calls {
            let iter = self.tx.known().iter.clone();
            self.asm.callee(&iter);
        }
        for i in items {
            self.value(i)?;
        }
        self.asm.op(Op::BuildTuple(items.len() as u32));
        self.get_iter();
        if calls {
            self.asm.load_attr("__next__");
            self.asm.load_const(&py.None());
            self.asm.call(2);
        }
        Ok(())
    }
}
