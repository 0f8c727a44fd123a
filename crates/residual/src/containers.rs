//! New containers and instances: made empty and filled, or in one go.
//!
//! Invariant: no `__init__`, `__setattr__` or `__setitem__` of the user's runs; what they did is in
//! the object's tracked state.

use std::sync::Arc;

use bytecode::op::{LocalIdx, Op};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use pyo3::types::PyType;
use translator::raw::type_lookup;
use translator::stop::{R, Stop};
use variables::{Body, CallResult, Obj, ObjId, ObjState, OrderedMap, Var};

use crate::emitter::{Emitter, Ident};
use crate::natives::{Natives, writes_plainly};
use crate::template;

/// Displays longer than this are built piece by piece, to keep the stack small.
const MAX_DISPLAY: usize = 64;

/// How an attribute is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttrStore {
    /// `STORE_ATTR`
    Plain,
    /// `object.__setattr__`
    Object,
    /// into the instance dict
    Dict,
}

impl Emitter<'_, '_> {
    /// `-- obj` for a new object.
    pub(crate) fn object(&mut self, id: ObjId) -> R<()> {
        let known = self.tx.known().clone();
        let ObjState {
            class,
            body,
            dict_of,
            shared,
            ..
        } = self.tx.obj(id).clone();
        if shared {
            return Err(self.cannot("an object that a function's cache holds"));
        }
        if let Some(owner) = &dict_of {
            let get = known.object.bind(self.tx.py).getattr("__getattribute__")?;
            self.asm.callee(&get.unbind());
            self.value(owner)?;
            self.load_str("__dict__");
            self.asm.call(2);
            return Ok(());
        }
        if class.is(&known.traceback) {
            return Err(crate::in_handler());
        }
        match &body {
            Body::List(items) if class.is(&known.list) => {
                let items: Vec<Var> = items.iter().cloned().collect();
                self.list_of(&items)
            }
            Body::Dict(map) if class.is(&known.dict) => self.dict_of(map),
            Body::Dict(map) if known.is_frozendict(&class) => {
                self.asm.callee(&class);
                self.dict_of(map)?;
                self.asm.call(1);
                Ok(())
            }
            Body::Set(map) if class.is(&known.set) => {
                let keys: Vec<Var> = map.iter().map(|(k, _)| k.clone()).collect();
                self.set_of(&keys)
            }
            Body::Set(map) => {
                let keys: Vec<Var> = map.iter().map(|(k, _)| k.clone()).collect();
                if class.is(&known.frozenset) {
                    self.asm.callee(&class);
                    self.list_of(&keys)?;
                    self.asm.call(1);
                    return Ok(());
                }
                self.via_fill(id)
            }
            Body::Cell(content) => {
                self.asm.callee(&known.cell);
                if let Some(v) = content {
                    self.value(v)?;
                }
                self.asm.call(content.is_some().into());
                Ok(())
            }
            Body::Iter(body) => self.iterator(&class, body),
            Body::DictView(dict, view) => {
                let name = crate::iterators::view_name(*view);
                let base = self.dict_base(&self.tx.obj(*dict).class.clone());
                let method = base.bind(self.tx.py).getattr(name)?.unbind();
                self.asm.callee(&method);
                self.value(&Var::Obj(*dict))?;
                self.asm.call(1);
                Ok(())
            }
            Body::MappingProxy(mapping) => {
                self.asm.callee(&class);
                self.value(mapping)?;
                self.asm.call(1);
                Ok(())
            }
            Body::Generator(_) => self.generator(id),
            Body::Address(of) => self.address(of),
            Body::DataPointer(of) => self.data_pointer(of),
            Body::RaggedSize(of, dim) => self.ragged_size(of, *dim),
            Body::Result(made) => self.call_result(made),
            Body::Array(array)
                if let Some(view) = array.copied.as_ref().and_then(|c| c.view.as_ref()) =>
            {
                self.call_result(view)
            }
            Body::Array(array) => {
                self.asm.callee(&array.make);
                self.value(&Var::Tensor(array.tensor.clone()))?;
                self.asm.call(1);
                Ok(())
            }
            Body::OfNode(_) => Err(self.cannot("what only the graph has")),
            _ => self.via_fill(id),
        }
    }

    /// `-- number` that was good as a key only while it was not known.
    fn address(&mut self, of: &Var) -> R<()> {
        let py = self.tx.py;
        let thread = py.import("_thread")?.getattr("get_ident")?.unbind();
        if matches!(of, Var::Py(p) if p.obj.is(&thread)) {
            self.asm.callee(&thread);
            self.asm.call(0);
            return Ok(());
        }
        let id = py.import("builtins")?.getattr("id")?.unbind();
        self.asm.callee(&id);
        self.value(of)?;
        // No other object made here may get the address: this one lives as long as the frame.
        let kept = self.asm.tmp("___kept");
        self.asm.store_fast(kept);
        self.asm.load_fast(kept);
        self.asm.call(1);
        Ok(())
    }

    fn data_pointer(&mut self, of: &Var) -> R<()> {
        let tensor = self.tx.known().tensor.bind(self.tx.py);
        let method = tensor.getattr("data_ptr")?.unbind();
        self.asm.callee(&method);
        self.value(of)?;
        self.asm.call(1);
        Ok(())
    }

    fn ragged_size(&mut self, of: &Var, dim: usize) -> R<()> {
        let tensor = self.tx.known().tensor.bind(self.tx.py);
        let method = tensor.getattr("size")?.unbind();
        self.asm.callee(&method);
        self.value(of)?;
        let dim = PyInt::new(self.tx.py, dim).into_any().unbind();
        self.value(&Var::Const(dim))?;
        self.asm.call(2);
        Ok(())
    }

    fn call_result(&mut self, made: &CallResult) -> R<()> {
        self.asm.callee(&made.function);
        self.call_passing(&made.pos, &made.kw, Self::value)
    }

    fn via_fill(&mut self, id: ObjId) -> R<()> {
        self.empty(id)?;
        if self.needs_fill(id) {
            self.keep(Ident::Obj(id));
            self.fill(id)?;
        }
        Ok(())
    }

    fn needs_fill(&self, id: ObjId) -> bool {
        let s = self.tx.obj(id);
        let attrs = s.attr_order.iter().any(|n| {
            !self.is_constructor_attr(s, n) && s.attrs.get(n).is_some_and(Option::is_some)
        });
        attrs
            || s.dict.is_some()
            || self.factory_of_subclass(id).is_some()
            || match &s.body {
                Body::List(l) | Body::Deque(l, _) => !l.is_empty(),
                Body::Dict(d) | Body::Set(d) => !d.is_empty(),
                Body::Cell(c) => c.is_some(),
                _ => false,
            }
    }

    /// Attributes that making the object sets already.
    fn is_constructor_attr(&self, s: &ObjState, name: &str) -> bool {
        (name == "args" && self.is_subclass(&s.class, &self.tx.known().base_exception))
            || (name == "default_factory"
                && self.is_subclass(&s.class, &self.tx.known().defaultdict))
            || (matches!(name, "func" | "args" | "keywords")
                && s.class.is(&self.tx.known().partial))
    }

    /// The factory that an instance of a subclass of `defaultdict` gets behind its making.
    fn factory_of_subclass(&self, id: ObjId) -> Option<Var> {
        let s = self.tx.obj(id);
        let known = self.tx.known();
        let subclass = matches!(s.body, Body::Dict(_))
            && !s.class.is(&known.defaultdict)
            && self.is_subclass(&s.class, &known.defaultdict);
        let factory = self.tx.factory_of(id).filter(|_| subclass);
        factory.filter(|f| !f.is_none(self.tx.py))
    }

    /// `-- list`
    pub(crate) fn list_of(&mut self, items: &[Var]) -> R<()> {
        if items.len() <= MAX_DISPLAY {
            for i in items {
                self.value(i)?;
            }
            self.asm.op(Op::BuildList(items.len() as u32));
            return Ok(());
        }
        self.asm.op(Op::BuildList(0));
        for i in items {
            self.value(i)?;
            self.asm.op(Op::ListAppend(1));
        }
        Ok(())
    }

    /// `-- set`
    pub(crate) fn set_of(&mut self, keys: &[Var]) -> R<()> {
        self.asm.op(Op::BuildSet(0));
        for k in keys {
            self.value(k)?;
            self.asm.op(Op::SetAdd(1));
        }
        Ok(())
    }

    /// `-- dict`
    pub(crate) fn dict_of(&mut self, map: &OrderedMap) -> R<()> {
        if map.len() <= MAX_DISPLAY / 2 {
            for (k, v) in map.iter() {
                self.value(k)?;
                self.value(v)?;
            }
            self.asm.op(Op::BuildMap(map.len() as u32));
            return Ok(());
        }
        self.asm.op(Op::BuildMap(0));
        for (k, v) in map.iter() {
            self.value(k)?;
            self.value(v)?;
            self.asm.op(Op::MapAdd(1));
        }
        Ok(())
    }

    /// The builtin dict class whose methods act on the storage of a dict of this class.
    pub(crate) fn dict_base(&self, class: &Obj) -> Obj {
        let known = self.tx.known();
        if self.is_subclass(class, &known.ordered_dict) {
            known.ordered_dict.clone()
        } else if known.is_frozendict(class) {
            class.clone()
        } else {
            known.dict.clone()
        }
    }

    /// The first class in the MRO that is not made by Python code.
    fn static_base(&self, class: &Obj) -> R<Obj> {
        /// `Py_TPFLAGS_HEAPTYPE`
        const HEAP: u64 = 1 << 9;
        let py = self.tx.py;
        for c in class
            .bind(py)
            .cast::<PyType>()
            .map_err(PyErr::from)?
            .mro()
            .iter()
        {
            let flags: u64 = c.getattr("__flags__")?.extract()?;
            let own_new = c.getattr("__dict__")?.get_item("__new__").ok();
            let native = own_new.is_some_and(|n| n.is_instance_of::<pyo3::types::PyCFunction>());
            if flags & HEAP == 0 || native {
                return Ok(c.unbind());
            }
        }
        Err(Stop::Internal("a class without a static base".into()))
    }

    /// `-- obj`, made without attributes and contents.
    pub(crate) fn empty(&mut self, id: ObjId) -> R<()> {
        let py = self.tx.py;
        let known = self.tx.known().clone();
        let ObjState { class, body, .. } = self.tx.obj(id).clone();
        match &body {
            Body::Plain if class.is(&known.partial) => self.partial(id)?,
            Body::List(_) if class.is(&known.list) => self.asm.op(Op::BuildList(0)),
            Body::Dict(_) if class.is(&known.dict) => self.asm.op(Op::BuildMap(0)),
            Body::Deque(_, maxlen) if class.is(&known.deque) => {
                self.asm.callee(&class);
                self.asm.op(Op::BuildList(0));
                match maxlen {
                    Some(n) => self.load_int(*n as i64)?,
                    None => self.asm.load_const(&py.None()),
                }
                self.asm.call(2);
            }
            Body::Dict(_) if class.is(&known.defaultdict) => {
                self.asm.callee(&class);
                let s = self.tx.obj(id);
                let factory = s
                    .attrs
                    .get("default_factory")
                    .or_else(|| s.seen.get("default_factory"))
                    .cloned()
                    .flatten();
                match factory {
                    Some(f) => self.value(&f)?,
                    None => self.asm.load_const(&py.None()),
                }
                self.asm.call(1);
            }
            Body::Dict(_) if class.is(&known.ordered_dict) => {
                self.asm.callee(&class);
                self.asm.call(0);
            }
            Body::Value(plain) => {
                let base = self.static_base(&class)?;
                let new = base.bind(py).getattr("__new__")?.unbind();
                let plain = plain.clone();
                self.asm.callee(&new);
                self.load_obj(&class)?;
                self.asm.load_const(&plain);
                self.asm.call(2);
            }
            Body::Cell(_) => {
                self.asm.callee(&known.cell);
                self.asm.call(0);
            }
            Body::Plain if self.is_subclass(&class, &known.base_exception) => {
                self.exception(id, &class)?
            }
            Body::Set(map) if self.is_subclass(&class, &known.frozenset) => {
                let keys: Vec<Var> = map.iter().map(|(k, _)| k.clone()).collect();
                let new = known.frozenset.bind(py).getattr("__new__")?.unbind();
                self.asm.callee(&new);
                self.load_obj(&class)?;
                self.list_of(&keys)?;
                self.asm.call(2);
            }
            Body::Plain | Body::List(_) | Body::Dict(_) | Body::Set(_) => {
                let base = if matches!(body, Body::Dict(_))
                    && !self.is_subclass(&class, &known.defaultdict)
                {
                    self.dict_base(&class)
                } else if matches!(body, Body::Dict(_)) {
                    known.defaultdict.clone()
                } else {
                    self.static_base(&class)?
                };
                let fits = match &body {
                    Body::Plain => [
                        &known.object,
                        &known.namespace,
                        &known.asks_no_class,
                        &known.autograd_function,
                    ]
                    .iter()
                    .any(|made| base.is(*made)),
                    Body::List(_) => base.is(&known.list),
                    Body::Set(_) => base.is(&known.set),
                    _ => true,
                };
                if !fits {
                    return Err(
                        self.cannot(format!("an instance of {}", self.tx.class_name(&class)))
                    );
                }
                let new = if base.is(&known.object) {
                    Natives::get(py)?.new_object.clone_ref(py)
                } else if base.is(&known.dict) || base.is(&known.ordered_dict) {
                    Natives::get(py)?.new_dict.clone_ref(py)
                } else {
                    base.bind(py).getattr("__new__")?.unbind()
                };
                self.asm.callee(&new);
                match Natives::makes(py, &new)? {
                    true => self.load_obj_or_reference(&class)?,
                    false => self.load_obj(&class)?,
                }
                self.asm.call(1);
            }
            _ => return Err(self.cannot(format!("an instance of {}", self.tx.class_name(&class)))),
        }
        Ok(())
    }

    /// `-- partial`
    fn partial(&mut self, id: ObjId) -> R<()> {
        let class = self.tx.known().partial.clone();
        let part = |g: &Self, name: &str| g.tx.obj(id).attrs.get(name).cloned().flatten();
        let (Some(func), Some(Var::Tuple(args)), Some(keywords)) = (
            part(self, "func"),
            part(self, "args"),
            part(self, "keywords"),
        ) else {
            return Err(self.cannot("a functools.partial object that was changed"));
        };
        self.asm.callee(&class);
        self.value(&func)?;
        for a in &args.items {
            self.value(a)?;
        }
        self.asm.op(Op::BuildTuple(args.items.len() as u32 + 1));
        self.value(&keywords)?;
        self.asm.op(Op::CallEx { kwargs: true });
        Ok(())
    }

    /// `-- exception` by the constructor of its static base.
    fn exception(&mut self, id: ObjId, class: &Obj) -> R<()> {
        let py = self.tx.py;
        if self.tx.state().caught.contains(&id) {
            return Err(crate::in_handler());
        }
        let args = match self.tx.obj(id).attrs.get("args") {
            None | Some(None) => Vec::new(),
            Some(Some(v)) => match self.tx.realize(&v.clone())? {
                Var::Tuple(t) => t.items.clone(),
                _ => return Err(self.cannot("an exception whose args are no tuple")),
            },
        };
        let base = self.static_base(class)?;
        if base.is(class) {
            self.load_callable(class)?;
            for a in &args {
                self.value(a)?;
            }
            self.asm.call(args.len() as u32);
            return Ok(());
        }
        let new = base.bind(py).getattr("__new__")?.unbind();
        let init = base.bind(py).getattr("__init__")?.unbind();
        let ident = Ident::Obj(id);
        self.asm.callee(&new);
        self.load_obj(class)?;
        for a in &args {
            self.value(a)?;
        }
        self.asm.call(args.len() as u32 + 1);
        let tmp = self.asm.tmp("___tmp");
        self.asm.store_fast(tmp);
        self.asm.callee(&init);
        self.asm.load_fast(tmp);
        for a in &args {
            self.value(a)?;
        }
        self.asm.call(args.len() as u32 + 1);
        self.asm.op(Op::PopTop);
        self.asm.load_fast(tmp);
        self.memo.insert(ident, tmp);
        Ok(())
    }

    /// Gives an object that was made empty, and is in a temporary, its contents and attributes.
    pub(crate) fn fill(&mut self, id: ObjId) -> R<()> {
        let py = self.tx.py;
        let known = self.tx.known().clone();
        let local = self.memo[&Ident::Obj(id)];
        let state = self.tx.obj(id).clone();
        match &state.body {
            Body::List(items) | Body::Deque(items, _) if !items.is_empty() => {
                let base = if matches!(state.body, Body::List(_)) {
                    &known.list
                } else {
                    &known.deque
                };
                let extend = base.bind(py).getattr("extend")?.unbind();
                let items: Vec<Var> = items.iter().cloned().collect();
                self.asm.callee(&extend);
                self.asm.load_fast(local);
                self.list_of(&items)?;
                self.asm.call(2);
                self.asm.op(Op::PopTop);
            }
            Body::Set(map)
                if !map.is_empty() && !self.is_subclass(&state.class, &known.frozenset) =>
            {
                let update = known.set.bind(py).getattr("update")?.unbind();
                let keys: Vec<Var> = map.iter().map(|(k, _)| k.clone()).collect();
                self.asm.callee(&update);
                self.asm.load_fast(local);
                self.list_of(&keys)?;
                self.asm.call(2);
                self.asm.op(Op::PopTop);
            }
            Body::Dict(map) => {
                if let Some(factory) = self.factory_of_subclass(id) {
                    let init = known.defaultdict.bind(py).getattr("__init__")?.unbind();
                    self.asm.callee(&init);
                    self.asm.load_fast(local);
                    self.value(&factory)?;
                    self.asm.call(2);
                    self.asm.op(Op::PopTop);
                }
                let exact = [&known.dict, &known.ordered_dict, &known.defaultdict]
                    .iter()
                    .any(|c| c.is(&state.class));
                let natives = Natives::get(py)?;
                let set = match self.dict_base(&state.class).is(&known.dict) {
                    true => natives.set_item.clone_ref(py),
                    false => natives.set_ordered_item.clone_ref(py),
                };
                if exact {
                    for (k, v) in map.iter() {
                        self.value(v)?;
                        self.asm.load_fast(local);
                        self.value(k)?;
                        self.asm.op(Op::StoreSubscr);
                    }
                } else {
                    let items: Vec<_> = map.iter().collect();
                    for items in items.chunks(MAX_DISPLAY / 2) {
                        self.asm.callee(&set);
                        self.asm.load_fast(local);
                        for (k, v) in items {
                            self.value(k)?;
                            self.value(v)?;
                        }
                        self.asm.call(1 + 2 * items.len() as u32);
                        self.asm.op(Op::PopTop);
                    }
                }
            }
            Body::Cell(Some(v)) => {
                self.value(v)?;
                let n = self.asm.name_idx("cell_contents");
                self.asm.load_fast(local);
                self.asm.op(Op::StoreAttr(n));
            }
            _ => {}
        }
        self.names_only(id)?;
        let mut together = Vec::new();
        for (name, value) in self.attrs_of(id) {
            // A new object never had what was deleted.
            let Some(value) = value else { continue };
            if self.is_constructor_attr(&state, &name) {
                continue;
            }
            if self.is_set_natively(&state.class, &name) && together.len() < MAX_DISPLAY / 2 {
                together.push((name, value));
                continue;
            }
            self.set_attributes(&state.class, local, std::mem::take(&mut together))?;
            self.set_attr(
                &state.class,
                &name,
                |g| g.value(&value),
                |g| {
                    g.asm.load_fast(local);
                    Ok(())
                },
            )?;
        }
        self.set_attributes(&state.class, local, together)
    }

    /// Writes attributes of a new object that are written natively, in one call.
    fn set_attributes(
        &mut self,
        class: &Obj,
        local: LocalIdx,
        mut attributes: Vec<(Arc<str>, Var)>,
    ) -> R<()> {
        if attributes.is_empty() {
            return Ok(());
        }
        let py = self.tx.py;
        for (_, value) in &mut attributes {
            if let Var::Lazy(lazy) = value
                && let Some(constant) = self.constant_read(&lazy.clone())?
            {
                *value = Var::Const(constant);
            }
        }
        // Fewer are no dearer one by one.
        if attributes.len() > 2
            && let Some(fill) = template::make(py, class, &attributes)?
        {
            self.asm.callee(&fill);
            self.asm.load_fast(local);
            let mut given = 0;
            for (_, value) in attributes.iter().filter(|a| !template::is_kept(py, &a.1)) {
                self.value(value)?;
                given += 1;
            }
            self.asm.call(1 + given);
            self.asm.op(Op::PopTop);
            return Ok(());
        }
        self.asm
            .callee(&Natives::get(py)?.set_attribute.clone_ref(py));
        self.asm.load_fast(local);
        for (name, value) in &attributes {
            self.load_str(name);
            self.value(value)?;
        }
        self.asm.call(1 + 2 * attributes.len() as u32);
        self.asm.op(Op::PopTop);
        Ok(())
    }

    /// Whether an attribute is written by [`Natives::set_attribute`].
    fn is_set_natively(&self, class: &Obj, name: &str) -> bool {
        self.attr_store(class, name) == AttrStore::Object
            && (self.static_base(class)).is_ok_and(|base| writes_plainly(base.bind(self.tx.py)))
    }

    /// How attributes of instances of a class are written without running the user's code.
    pub(crate) fn attr_store(&self, class: &Obj, name: &str) -> AttrStore {
        let py = self.tx.py;
        let Ok(class) = class.bind(py).cast::<PyType>() else {
            return AttrStore::Object;
        };
        let known = self.tx.known();
        if let Some(d) = type_lookup(class, name) {
            let ty = d.bind(py).get_type();
            let c_level =
                ty.is(known.member_descriptor.bind(py)) || ty.is(known.getset_descriptor.bind(py));
            if !c_level
                && (type_lookup(&ty, "__set__").is_some()
                    || type_lookup(&ty, "__delete__").is_some())
            {
                return AttrStore::Dict;
            }
        }
        let generic = |slot: &str| {
            type_lookup(class, slot).is_some_and(|s| self.tx.is_c_slot(&s, slot).unwrap_or(false))
        };
        if generic("__setattr__") && generic("__delattr__") {
            AttrStore::Plain
        } else {
            AttrStore::Object
        }
    }

    /// Writes an attribute; `value` and `obj` push the two.
    pub(crate) fn set_attr(
        &mut self,
        class: &Obj,
        name: &str,
        value: impl FnOnce(&mut Self) -> R<()>,
        obj: impl FnOnce(&mut Self) -> R<()>,
    ) -> R<()> {
        let object = self.tx.known().object.clone();
        let method =
            |g: &Self, n: &str| -> R<Obj> { Ok(object.bind(g.tx.py).getattr(n)?.unbind()) };
        match self.attr_store(class, name) {
            AttrStore::Plain => {
                value(self)?;
                obj(self)?;
                let n = self.asm.name_idx(name);
                self.asm.op(Op::StoreAttr(n));
            }
            AttrStore::Object => {
                let set = match self.is_set_natively(class, name) {
                    true => Natives::get(self.tx.py)?
                        .set_attribute
                        .clone_ref(self.tx.py),
                    false => method(self, "__setattr__")?,
                };
                self.asm.callee(&set);
                obj(self)?;
                self.load_str(name);
                value(self)?;
                self.asm.call(3);
                self.asm.op(Op::PopTop);
            }
            AttrStore::Dict => {
                let get = method(self, "__getattribute__")?;
                value(self)?;
                self.asm.callee(&get);
                obj(self)?;
                self.load_str("__dict__");
                self.asm.call(2);
                self.load_str(name);
                self.asm.op(Op::StoreSubscr);
            }
        }
        Ok(())
    }

    /// Deletes an attribute; `obj` pushes the object.
    pub(crate) fn delete_attr(
        &mut self,
        class: &Obj,
        name: &str,
        obj: impl FnOnce(&mut Self) -> R<()>,
    ) -> R<()> {
        let object = self.tx.known().object.clone();
        let py = self.tx.py;
        match self.attr_store(class, name) {
            AttrStore::Plain => {
                obj(self)?;
                let n = self.asm.name_idx(name);
                self.asm.op(Op::DeleteAttr(n));
            }
            AttrStore::Object => {
                let delete = object.bind(py).getattr("__delattr__")?.unbind();
                self.asm.callee(&delete);
                obj(self)?;
                self.load_str(name);
                self.asm.call(2);
                self.asm.op(Op::PopTop);
            }
            AttrStore::Dict => {
                let get = object.bind(py).getattr("__getattribute__")?.unbind();
                self.asm.callee(&get);
                obj(self)?;
                self.load_str("__dict__");
                self.asm.call(2);
                self.load_str(name);
                self.asm.op(Op::DeleteSubscr);
            }
        }
        Ok(())
    }
}
