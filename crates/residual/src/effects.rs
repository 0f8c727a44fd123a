//! Side effects as bytecode: everything that translation changed on objects that existed before.
//!
//! All values are made available first, then the effects are replayed in the order of first change:
//! sources read what the objects held at the start.

use std::sync::Arc;

use bytecode::op::{LocalIdx, Op};
use guards::{ConstVal, GuardKind, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use translator::constants::const_val;
use translator::raw::{dict_get, dict_items, instance_dict};
use translator::stop::{R, Stop};
use variables::{Body, Obj, ObjId, ObjState, OrderedMap, Origin, Var};

use crate::asm::Val;
use crate::emitter::Emitter;

/// A prepared effect.
pub enum Step {
    /// `class.method(obj, *args)`, result dropped
    Call(Obj, Vec<Val>),
    /// `obj[:] = value`
    ReplaceAll(Val, Val),
    /// `obj[key] = value`
    SetItem(Val, Val, Val),
    /// `del obj[key]`
    DelItem(Val, Val),
    /// `obj.name = value`, of a class
    SetAttr(Obj, Val, Arc<str>, Val),
    /// `del obj.name`, of a class
    DelAttr(Obj, Val, Arc<str>),
    /// content of a cell of the frame
    SetDeref(LocalIdx, Val),
    /// empties a cell of the frame
    DelDeref(LocalIdx),
    /// a global of the frame
    SetGlobal(Arc<str>, Val),
    /// deletes a global of the frame
    DelGlobal(Arc<str>),
    /// `tensor.name = value`
    SetTensorAttr(Val, Arc<str>, Val),
    /// an iterator goes on
    Advance(Val, crate::iterators::Advance),
    /// a call that waited
    Deferred(crate::deferred::Call),
}

impl Emitter<'_, '_> {
    /// Counts references below everything that effects write.
    pub fn analyse_effects(&mut self) {
        let mut values: Vec<Var> = Vec::new();
        for id in self.tx.state().effects.dirty.iter() {
            let s = self.tx.obj(*id);
            if s.body_dirty {
                match &s.body {
                    Body::List(l) | Body::Deque(l, _) => values.extend(l.iter().cloned()),
                    Body::Dict(d) => {
                        values.extend(d.iter().flat_map(|(k, v)| [k.clone(), v.clone()]))
                    }
                    Body::Set(d) => values.extend(d.iter().map(|(k, _)| k.clone())),
                    Body::Cell(v) => values.extend(v.iter().cloned()),
                    _ => {}
                }
            }
            values.extend(s.attrs.values().flatten().cloned());
        }
        values.extend(
            self.tx
                .state()
                .effects
                .global_writes
                .iter()
                .filter_map(|w| w.value.clone()),
        );
        for (t, name) in self.tx.state().effects.tensor_writes.iter() {
            values.push(t.clone());
            if let Var::Tensor(t) = t {
                values.extend(
                    self.tx
                        .state()
                        .effects
                        .tensor_attr(t, name)
                        .cloned()
                        .flatten(),
                );
            }
        }
        values.extend(self.tx.state().contexts.iter().map(|o| o.context.clone()));
        for call in self.tx.state().effects.calls.iter() {
            values.push(call.function.clone());
            values.extend(call.pos.iter().cloned());
            values.extend(call.kw.iter().map(|k| k.1.clone()));
        }
        for tail in &self.tx.state().effects.tails {
            values.push(Var::Lazy(tail.list.clone()));
            values.extend(tail.items.iter().cloned());
        }
        for v in &values {
            self.analyse(v);
        }
    }

    /// Makes all values that effects write available.
    ///
    /// # Errors
    /// A break where a value cannot be rebuilt.
    pub fn effects(&mut self) -> R<Vec<Step>> {
        let mut steps = Vec::new();
        for id in self.tx.state().effects.dirty.clone() {
            self.object_effects(id, &mut steps)?;
        }
        for tail in self.tx.state().effects.tails.clone() {
            let list = self.tx.known().list.clone();
            let extend = list.bind(self.tx.py).getattr("extend")?.unbind();
            let target = self.prepare(&Var::Lazy(tail.list.clone()))?;
            let items: Vec<Var> = tail.items.iter().cloned().collect();
            let items = self.new_list_of(&items)?;
            steps.push(Step::Call(extend, vec![target, items]));
        }
        for w in self.tx.state().effects.global_writes.clone() {
            if w.value.is_none() && !w.set_first && !self.has_global(&w.dict, &w.name) {
                continue;
            }
            let value = match &w.value {
                Some(v) => Some(self.prepare(v)?),
                None if w.set_first => Some(Val::Const(self.tx.py.None())),
                None => None,
            };
            let delete = w.value.is_none();
            if w.dict.is(&self.globals) {
                steps.extend(value.map(|v| Step::SetGlobal(w.name.clone(), v)));
                steps.extend(delete.then(|| Step::DelGlobal(w.name.clone())));
            } else {
                let (dict, key) = (Val::Const(w.dict.clone()), self.name_val(&w.name));
                steps.extend(value.map(|v| Step::SetItem(dict.clone(), key.clone(), v)));
                steps.extend(delete.then_some(Step::DelItem(dict, key)));
            }
        }
        for (var, name) in self.tx.state().effects.tensor_writes.clone() {
            let Var::Tensor(t) = &var else { continue };
            let target = self.prepare(&var)?;
            // What was deleted again was made here as well.
            if let Some(v) = self
                .tx
                .state()
                .effects
                .tensor_attr(t, &name)
                .cloned()
                .flatten()
            {
                let v = self.prepare(&v)?;
                steps.push(Step::SetTensorAttr(target, name, v));
            }
        }
        self.deferred_calls(&mut steps)?;
        let torch_c = self.tx.known().torch_c.clone();
        for _ in 0..self.tx.state().left_modes {
            let leave = torch_c.getattr(self.tx.py, torch_abi::names::POP_FUNCTION_MODE)?;
            steps.push(Step::Call(leave, Vec::new()));
        }
        for open in self.tx.state().contexts.clone() {
            let context = self.prepare(&open.context)?;
            if open.is_function_mode() {
                let enter = torch_c.getattr(self.tx.py, torch_abi::names::PUSH_FUNCTION_MODE)?;
                steps.push(Step::Call(enter, vec![context]));
                continue;
            }
            let class = self.tx.type_of(&open.context)?;
            let enter = class.bind(self.tx.py).getattr("__enter__")?.unbind();
            steps.push(Step::Call(enter, vec![context]));
        }
        if let Some(enabled) = self.tx.grad_mode_within() {
            if self.tx.has_modes() {
                return Err(self.cannot("the grad mode within a function mode"));
            }
            let set = self
                .tx
                .known()
                .torch_c
                .getattr(self.tx.py, "_set_grad_enabled")?;
            let Var::Const(enabled) = self.tx.bool(enabled) else {
                return Err(Stop::Internal("a bool is a constant".into()));
            };
            steps.push(Step::Call(set, vec![Val::Const(enabled)]));
        }
        Ok(steps)
    }

    fn has_global(&self, dict: &Obj, name: &str) -> bool {
        dict.bind(self.tx.py).contains(name).unwrap_or(true)
    }

    fn name_val(&self, name: &str) -> Val {
        Val::Const(
            pyo3::types::PyString::intern(self.tx.py, name)
                .into_any()
                .unbind(),
        )
    }

    fn object_effects(&mut self, id: ObjId, steps: &mut Vec<Step>) -> R<()> {
        if self.is_new(id) {
            return Ok(());
        }
        let state = self.tx.obj(id).clone();
        if let Body::Cell(content) = &state.body
            && let Some(local) = self.frame_cell(&state)
        {
            steps.push(match content {
                Some(v) => Step::SetDeref(local, self.prepare(v)?),
                None => Step::DelDeref(local),
            });
            return Ok(());
        }
        let Origin::Source { obj: real, .. } = state.origin.clone() else {
            return Ok(());
        };
        let mut written = Vec::new();
        for name in &state.attr_order {
            let Some(value) = state.attrs.get(name) else {
                continue;
            };
            let remains = match value {
                Some(_) if state.moved.contains(name) => false,
                Some(v) => {
                    self.is_as_found(&state, name, v)
                        || self.is_given_back(&state, &real, name, v)?
                }
                None => matches!(state.seen.get(name), Some(None)),
            };
            if !remains {
                written.push((name.clone(), value.clone()));
            }
        }
        if !state.body_dirty && written.is_empty() {
            return Ok(());
        }
        let target = self.prepare(&Var::Obj(id))?;
        if state.body_dirty {
            self.body_effects(&state, &real, &target, steps)?;
        }
        for (name, value) in written {
            let set =
                |value| Step::SetAttr(state.class.clone(), target.clone(), name.clone(), value);
            let delete = || Step::DelAttr(state.class.clone(), target.clone(), name.clone());
            let value = match &value {
                Some(v) => Some(self.prepare(v)?),
                None => None,
            };
            if value.is_none() || state.moved.contains(&name) {
                match state.seen.get(&name) {
                    // A slot has no place among others, and was there when it was deleted.
                    _ if self.tx.is_c_level(&state.class, &name) => {
                        steps.extend(value.is_none().then(delete));
                    }
                    Some(None) => {}
                    Some(Some(_)) => steps.push(delete()),
                    // It was set here before it was deleted: nobody has asked whether it was there.
                    None => steps.extend([set(Val::Const(self.tx.py.None())), delete()]),
                }
            }
            steps.extend(value.map(set));
        }
        Ok(())
    }

    /// Whether an attribute was given back what it held at the start, in every call. A call that waits may
    /// have changed it meanwhile.
    fn is_as_found(&self, state: &ObjState, name: &str, value: &Var) -> bool {
        let Some(Some(Var::Lazy(found))) = state.seen.get(name) else {
            return false;
        };
        if !self.tx.state().effects.calls.is_empty() {
            return false;
        }
        if self.source_of(value) == Some(found.source) {
            return true;
        }
        let Var::Const(value) = value else {
            return false;
        };
        let py = self.tx.py;
        let kind = match value.bind(py) {
            value if value.is_none() => GuardKind::NoneMatch,
            value if value.is(PyBool::new(py, true)) => GuardKind::TrueMatch,
            value if value.is(PyBool::new(py, false)) => GuardKind::FalseMatch,
            _ => return false,
        };
        let mut guards = self.tx.guards().iter();
        guards.any(|guard| guard.source == Some(found.source) && guard.kind == kind)
    }

    /// Whether an attribute that was never read was set for a while, and then to the constant that it held at the
    /// start. That is guarded, which is cheaper than to write it on each call. An attribute that was written once is
    /// not asked about: its value at the start may be another one on each call.
    fn is_given_back(
        &mut self,
        state: &ObjState,
        real: &Obj,
        name: &Arc<str>,
        value: &Var,
    ) -> R<bool> {
        let py = self.tx.py;
        let (Origin::Source { source, .. }, Var::Const(value)) = (&state.origin, value) else {
            return Ok(false);
        };
        let constant = value.bind(py);
        let held = self.tx.state().effects.holder(real.as_ptr() as usize);
        let is_own = state.rewritten.contains(name)
            && held.is_none()
            && !state.seen.contains_key(name)
            && self.tx.state().effects.calls.is_empty()
            && (constant.is_none() || constant.is_exact_instance_of::<PyBool>())
            && matches!(state.body, Body::Plain)
            && !self.tx.is_c_level(&state.class, name);
        if !is_own {
            return Ok(false);
        }
        let held = instance_dict(real.bind(py)).and_then(|dict| dict_get(&dict, name));
        if !held.is_some_and(|held| held.is(constant)) {
            return Ok(false);
        }
        let source = self.tx.source(Source::InstanceDictItem {
            base: *source,
            name: name.clone(),
        });
        let found = self.tx.lazy(value.clone_ref(py), source);
        self.tx.realize(&found)?;
        Ok(true)
    }

    /// The slot of a cell that the frame itself has.
    fn frame_cell(&self, state: &ObjState) -> Option<LocalIdx> {
        match &state.origin {
            Origin::RootCell(i) => Some(LocalIdx(*i)),
            Origin::Source { source, .. } => match self.tx.sources().get(*source) {
                Source::Closure { index, .. } => Some(self.free_var(*index)),
                _ => None,
            },
            _ => None,
        }
    }

    fn body_effects(
        &mut self,
        state: &ObjState,
        real: &Obj,
        target: &Val,
        steps: &mut Vec<Step>,
    ) -> R<()> {
        let py = self.tx.py;
        let known = self.tx.known().clone();
        let method =
            |class: &Obj, name: &str| -> R<Obj> { Ok(class.bind(py).getattr(name)?.unbind()) };
        match &state.body {
            Body::List(items) | Body::Deque(items, _) => {
                let is_list = matches!(state.body, Body::List(_));
                let base = if is_list { &known.list } else { &known.deque };
                let items: Vec<Var> = items.iter().cloned().collect();
                let old: Vec<Obj> = match real.bind(py).cast::<pyo3::types::PyList>() {
                    Ok(l) => l.iter().map(Bound::unbind).collect(),
                    Err(_) => real
                        .bind(py)
                        .try_iter()?
                        .map(|i| i.map(Bound::unbind))
                        .collect::<PyResult<_>>()?,
                };
                let kept = items.len() >= old.len()
                    && (0..old.len()).all(|i| {
                        let index = i as u32;
                        self.is_untouched(&items[i], |base| Source::ListItem { base, index }, state)
                    });
                if kept {
                    if items.len() > old.len() {
                        let rest = self.new_list_of(&items[old.len()..])?;
                        steps.push(Step::Call(
                            method(base, "extend")?,
                            vec![target.clone(), rest],
                        ));
                    }
                    return Ok(());
                }
                // Items of a deque that were replaced where they are: its iterators do not mind.
                if !is_list && state.changes == 0 && items.len() == old.len() {
                    for (i, item) in items.iter().enumerate() {
                        let index = i as u32;
                        if self.is_untouched(item, |base| Source::ListItem { base, index }, state) {
                            continue;
                        }
                        let Some(at) = self.tx.int(i as i64).as_obj().cloned() else {
                            return Err(Stop::Internal("an index".into()));
                        };
                        let value = self.prepare(item)?;
                        steps.push(Step::SetItem(target.clone(), Val::Const(at), value));
                    }
                    return Ok(());
                }
                let all = self.new_list_of(&items)?;
                if state.class.is(&known.list) {
                    steps.push(Step::ReplaceAll(target.clone(), all));
                } else {
                    steps.push(Step::Call(method(base, "clear")?, vec![target.clone()]));
                    steps.push(Step::Call(
                        method(base, "extend")?,
                        vec![target.clone(), all],
                    ));
                }
            }
            Body::Iter(body) => {
                if let Some(advance) = self.advance_of(body, real)? {
                    steps.push(Step::Advance(target.clone(), advance));
                }
            }
            Body::Dict(map) => self.dict_effects(state, map, real, target, steps)?,
            Body::Set(map) => {
                let mut gone = Vec::new();
                let mut old = OrderedMap::default();
                for item in variables::raw::set_items(real.bind(py))? {
                    let var = self.known_var(&item)?;
                    let key = self.tx.known_key(&var)?;
                    if !map.contains(&key) {
                        gone.push(item.clone());
                    }
                    old.insert(key, var.clone(), var);
                }
                for item in gone {
                    steps.push(Step::Call(
                        method(&known.set, "discard")?,
                        vec![target.clone(), Val::Const(item)],
                    ));
                }
                for (key, var, _) in map.entries() {
                    if !old.contains(key) {
                        let v = self.prepare(var)?;
                        steps.push(Step::Call(
                            method(&known.set, "add")?,
                            vec![target.clone(), v],
                        ));
                    }
                }
            }
            Body::Cell(content) => match content {
                Some(v) => {
                    let v = self.prepare(v)?;
                    steps.push(Step::SetAttr(
                        state.class.clone(),
                        target.clone(),
                        "cell_contents".into(),
                        v,
                    ));
                }
                None => steps.push(Step::DelAttr(
                    state.class.clone(),
                    target.clone(),
                    "cell_contents".into(),
                )),
            },
            _ => {
                return Err(self.cannot(format!(
                    "a change of a {}",
                    self.tx.class_name(&state.class)
                )));
            }
        }
        Ok(())
    }

    /// A temporary with a new list.
    fn new_list_of(&mut self, items: &[Var]) -> R<Val> {
        self.list_of(items)?;
        self.finish_deferred()?;
        let tmp = self.asm.tmp("___tmp");
        self.asm.store_fast(tmp);
        Ok(Val::Fast(tmp))
    }

    fn finish_deferred(&mut self) -> R<()> {
        while let Some(id) = self.deferred.pop() {
            self.fill(id)?;
        }
        Ok(())
    }

    /// The value that stands for a real object as a dictionary key or set item.
    fn known_var(&mut self, obj: &Obj) -> R<Var> {
        if let Some(v) = self.tx.state().effects.known(obj.as_ptr() as usize) {
            return Ok(v.clone());
        }
        self.tx.constant(obj.bind(self.tx.py).clone())
    }

    fn dict_effects(
        &mut self,
        state: &ObjState,
        map: &OrderedMap,
        real: &Obj,
        target: &Val,
        steps: &mut Vec<Step>,
    ) -> R<()> {
        let py = self.tx.py;
        let known = self.tx.known().clone();
        let real = real.bind(py).cast::<PyDict>().map_err(PyErr::from)?.clone();
        let mut old = OrderedMap::default();
        let mut old_items = Vec::new();
        for (_, k, v) in dict_items(&real) {
            let var = self.known_var(&k)?;
            let key = self.tx.known_key(&var)?;
            old_items.push((key.clone(), k, v));
            old.insert(key, var.clone(), var);
        }
        // Old keys that stay must come first and in their old order.
        let stay: Vec<_> = old_items.iter().filter(|(k, ..)| map.contains(k)).collect();
        let in_order = map.entries().zip(&stay).all(|((k, ..), (o, ..))| k == o);
        let base = self.dict_base(&state.class);
        let exact = [&known.dict, &known.ordered_dict, &known.defaultdict]
            .iter()
            .any(|c| c.is(&state.class));
        let method = |name: &str| -> R<Obj> { Ok(base.bind(py).getattr(name)?.unbind()) };
        if !in_order {
            steps.push(Step::Call(method("clear")?, vec![target.clone()]));
        } else {
            for (key, k, _) in &old_items {
                if !map.contains(key) {
                    let k = Val::Const(k.clone());
                    steps.push(match exact {
                        true => Step::DelItem(target.clone(), k),
                        false => Step::Call(method("__delitem__")?, vec![target.clone(), k]),
                    });
                }
            }
        }
        for (i, (_, k, v)) in map.entries().enumerate() {
            if in_order && let Some((_, k, _)) = stay.get(i) {
                let key = match const_val(k.bind(py)) {
                    Some(c) => c,
                    None => ConstVal::Obj(self.tx.pin(k, true)),
                };
                if self.is_untouched(v, |base| Source::DictItem { base, key }, state) {
                    continue;
                }
            }
            let (k, v) = (self.prepare(k)?, self.prepare(v)?);
            steps.push(match exact {
                true => Step::SetItem(target.clone(), k, v),
                false => Step::Call(method("__setitem__")?, vec![target.clone(), k, v]),
            });
        }
        Ok(())
    }

    /// Whether an item of an existing container is what it was, in every call: the same object in
    /// this call proves nothing for the next.
    fn is_untouched(
        &mut self,
        var: &Var,
        item: impl FnOnce(SourceId) -> Source,
        container: &ObjState,
    ) -> bool {
        let (Origin::Source { source, .. }, Some(of)) = (&container.origin, self.source_of(var))
        else {
            return false;
        };
        let own = self.tx.source(item(*source));
        own == of
    }

    /// Replays effects.
    ///
    /// # Errors
    /// Only internal ones.
    pub fn replay(&mut self, steps: Vec<Step>) -> R<()> {
        for step in steps {
            match step {
                Step::Call(f, args) => {
                    self.asm.callee(&f);
                    for a in &args {
                        self.asm.load(a);
                    }
                    self.asm.call(args.len() as u32);
                    self.asm.op(Op::PopTop);
                }
                Step::Advance(iterator, advance) => {
                    self.asm.load(&iterator);
                    self.advance(advance)?;
                }
                Step::ReplaceAll(obj, value) => {
                    let none = self.tx.py.None();
                    self.asm.load(&value);
                    self.asm.load(&obj);
                    self.asm.load_const(&none);
                    self.asm.load_const(&none);
                    self.asm.op(Op::StoreSlice);
                }
                Step::SetItem(obj, key, value) => {
                    self.asm.load(&value);
                    self.asm.load(&obj);
                    self.asm.load(&key);
                    self.asm.op(Op::StoreSubscr);
                }
                Step::DelItem(obj, key) => {
                    self.asm.load(&obj);
                    self.asm.load(&key);
                    self.asm.op(Op::DeleteSubscr);
                }
                Step::SetAttr(class, obj, name, value) => {
                    let load = |v: Val| {
                        move |g: &mut Self| {
                            g.asm.load(&v);
                            Ok(())
                        }
                    };
                    self.set_attr(&class, &name, load(value), load(obj))?;
                }
                Step::DelAttr(class, obj, name) => self.delete_attr(&class, &name, |g| {
                    g.asm.load(&obj);
                    Ok(())
                })?,
                Step::SetDeref(local, value) => {
                    self.asm.load(&value);
                    self.asm.op(Op::StoreDeref(local));
                }
                Step::DelDeref(local) => {
                    // The cell may have been empty before.
                    let none = self.tx.py.None();
                    self.asm.load_const(&none);
                    self.asm.op(Op::StoreDeref(local));
                    self.asm.op(Op::DeleteDeref(local));
                }
                Step::SetGlobal(name, value) => {
                    self.asm.load(&value);
                    let n = self.asm.name_idx(&name);
                    self.asm.op(Op::StoreGlobal(n));
                }
                Step::DelGlobal(name) => {
                    let n = self.asm.name_idx(&name);
                    self.asm.op(Op::DeleteGlobal(n));
                }
                Step::SetTensorAttr(tensor, name, value) => {
                    self.asm.load(&value);
                    self.asm.load(&tensor);
                    let n = self.asm.name_idx(&name);
                    self.asm.op(Op::StoreAttr(n));
                }
                Step::Deferred(call) => self.deferred_call(&call)?,
            }
        }
        Ok(())
    }
}
