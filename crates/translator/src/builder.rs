//! Values from outside: looked at when first used (TorchDynamo's `VariableBuilder`).
//!
//! Lives here: which [`Var`] stands for an existing object, and which guards make that sound.
//! Does not live here: reading attributes of it later (`attr`).
//!
//! Invariant: reading an object here runs no user code.

use std::rc::Rc;
use std::sync::Arc;

use guards::{ConstVal, GuardKind, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFrozenSet, PyList, PySet, PyString, PyTuple, PyType};
use torch_abi::names;
use variables::{
    Body, IterBody, LazyVar, MethodVar, Obj, ObjState, OrderedMap, Origin, PyVar, TupleVar, Var,
};

use crate::raw::{as_dict, derives_from, dict_items, is_namespace, type_lookup};
use crate::stop::{R, Stop};
use crate::tx::Tx;
use variables::constants::const_val;

/// Containers from outside that are larger than this are not taken in whole.
pub(crate) const MAX_CONTAINER: usize = 4096;

impl Tx<'_> {
    /// A value for an object that a source reaches, not looked at yet.
    pub fn lazy(&self, obj: Obj, source: SourceId) -> Var {
        Var::Lazy(Rc::new(LazyVar { obj, source }))
    }

    /// Looks at a lazy value: builds it and guards what was looked at. Other values are returned
    /// as they are.
    ///
    /// # Errors
    /// A break for objects that are not supported.
    pub fn realize(&mut self, var: &Var) -> R<Var> {
        match var {
            Var::Lazy(l) => self.build(&l.obj, l.source),
            Var::Int(i) => Ok(self.specialize(i)),
            Var::Float(f) => self.specialize_float(f),
            Var::Computed(c) => self.specialize_computed(c),
            Var::Text(t) => self.specialize_text(t),
            other => Ok(other.clone()),
        }
    }

    /// A value for an object that a source reaches.
    ///
    /// # Errors
    /// A break for objects that are not supported.
    pub fn build(&mut self, obj: &Obj, source: SourceId) -> R<Var> {
        let addr = obj.as_ptr() as usize;
        if let Some(v) = self.st.effects.known(addr).cloned() {
            self.guard_alias(&v, obj, source);
            return Ok(v);
        }
        let var = self.build_new(obj, source)?;
        // Values without an identity of their own are built anew for each source.
        if matches!(
            var,
            Var::Tensor(_) | Var::Tuple(_) | Var::Obj(_) | Var::Py(_)
        ) {
            self.facts.reached.insert(source, obj.clone());
            self.st.effects.know(addr, var.clone());
            self.join_tail(&var, obj, source);
            self.join_owner(&var, source)?;
        }
        Ok(var)
    }

    /// What was appended to a list before it was looked into.
    fn join_tail(&mut self, var: &Var, obj: &Obj, source: SourceId) {
        let Var::Obj(id) = var else { return };
        let Some(tail) = self.st.effects.take_tail(obj) else {
            return;
        };
        self.guard_alias(var, obj, tail.list.source);
        debug_assert!(self.facts.reached.contains_key(&source));
        if let Body::List(items) = self.st.effects.body_mut(*id) {
            items.append(tail.items);
        }
    }

    /// Whether an object is an exact list that nothing has looked into.
    pub fn is_unread_list(&self, list: &LazyVar) -> bool {
        let addr = list.obj.as_ptr() as usize;
        list.obj.bind(self.py).cast_exact::<PyList>().is_ok()
            && self.st.effects.known(addr).is_none()
    }

    /// Appends to a list from outside without a look at what it holds. `false` where that is known,
    /// or the object is no exact list.
    pub fn append_blindly(&mut self, list: &Rc<LazyVar>, item: &Var) -> bool {
        if !self.is_unread_list(list) {
            return false;
        }
        self.guard_type(&list.obj.bind(self.py).clone(), list.source);
        let before = self.st.effects.tails.iter();
        let other = before.map(|t| &t.list).find(|l| l.obj.is(&list.obj));
        if let Some(first) = other.map(|l| l.source)
            && first != list.source
        {
            self.guard(list.source, GuardKind::ObjectAliasing { other: first });
        }
        self.st.effects.append_blindly(list, item.clone());
        true
    }

    /// How the frame reaches the cell of a slot, where it is that of a free variable.
    fn closure_cell(&mut self, slot: u32) -> Option<SourceId> {
        let mut root = &self.st.frame;
        while let Some(parent) = &root.parent {
            root = parent;
        }
        let first = root.code.local_names.len() - root.closure.len();
        let index = slot.checked_sub(first as u32)?;
        let base = self.source(Source::Cells);
        Some(self.source(Source::TupleItem { base, index }))
    }

    /// The same object was met through another source: hold it to that.
    fn guard_alias(&mut self, var: &Var, obj: &Obj, source: SourceId) {
        let first = match var {
            Var::Tensor(t) => t.input.as_ref().map(|i| i.source),
            Var::Tuple(t) => t.origin.as_ref().map(|o| o.1),
            Var::Obj(id) => match self.obj(*id).origin {
                Origin::Source { source, .. } => Some(source),
                Origin::RootCell(slot) => self.closure_cell(slot),
                Origin::New => None,
            },
            Var::Py(p) => p.source,
            _ => None,
        };
        match first {
            Some(first) if first == source => {}
            Some(first) => self.guard(source, GuardKind::ObjectAliasing { other: first }),
            None => {
                let obj = self.pin(obj, true);
                self.guard(source, GuardKind::IdMatch { obj });
            }
        }
    }

    fn build_new(&mut self, obj: &Obj, source: SourceId) -> R<Var> {
        let py = self.py;
        let known = self.known.clone();
        let b = obj.bind(py);
        let ty = b.get_type();
        let is = |k: &Obj| ty.is(k.bind(py));
        if known.is_const_type(ty.as_any()) && !is(&known.range) && !is(&known.frozenset) {
            return self.build_const(obj, source);
        }
        if known.is_lazy_import(b) {
            return Err(Stop::lazy_import("an attribute of a module"));
        }
        if known.tensor_types.contains(&(ty.as_ptr() as usize)) {
            return self.build_tensor(obj, source);
        }
        if is(&known.tuple) || is(&known.size) || is_namedtuple(b) || is_plain_tuple(b)? {
            return self.build_tuple(obj, source);
        }
        if is(&known.list) || is(&known.deque) {
            return self.build_list(obj, source);
        }
        let frozen = known.is_frozendict(&ty.clone().into_any().unbind());
        if is(&known.dict) || is(&known.ordered_dict) || is(&known.defaultdict) || frozen {
            if b.cast::<PyDict>().is_ok_and(is_namespace) {
                return Err(Stop::brk(
                    "Namespace of a module",
                    "The items of the dictionary are variables of code, which are followed by their names.",
                    "Name the variables that are needed, or use getattr and setattr of the module.",
                ));
            }
            return self.build_dict(obj, source);
        }
        if is(&known.set) || is(&known.frozenset) {
            return self.existing_set(obj, source);
        }
        if is(&known.range) || is(&known.slice) {
            return self.build_range_or_slice(obj, source);
        }
        if is(&known.function) {
            return Ok(self.build_function(obj, source));
        }
        if is(&known.method) {
            return self.build_method(obj, source);
        }
        if is(&known.builtin_function) || is(&known.method_wrapper) {
            return self.build_builtin(obj, source);
        }
        if is(&known.cell) {
            return Ok(self.build_cell(obj, source));
        }
        if b.is_instance_of::<PyType>()
            || is(&known.module_type)
            || is(&known.enum_)
            || is_fixed_text(b)
            || self.is_identity_type(b)
        {
            let weak = b.is_instance_of::<PyType>();
            let r = self.pin(obj, weak);
            self.guard(source, GuardKind::IdMatch { obj: r });
            return Ok(Var::Py(Rc::new(PyVar {
                obj: obj.clone(),
                source: Some(source),
            })));
        }
        if is(&known.mappingproxy) && self.is_signatures_parameters(source)? {
            // Nothing but the signature has the dictionary behind it, and that never changes it.
            let obj_ref = self.pin(obj, false);
            self.guard(source, GuardKind::IdMatch { obj: obj_ref });
            return Ok(Var::py(obj.clone()));
        }
        if derives_from(b, known.tensor.bind(py))
            && self.is_wrapper_class(&ty)
            && let Some(tensor) = (self.rules.torch.wrapper_tensor)(self, obj, source)?
        {
            return Ok(tensor);
        }
        if derives_from(b, known.tensor.bind(py))
            && ((self.rules.torch.is_tensor_like)(self, &ty)?
                || (self.rules.torch.is_followed)(self, &ty)?)
        {
            return self.build_tensor(obj, source);
        }
        self.guard_type(b, source);
        if is(&known.mappingproxy)
            && let Some(mapping) = self.plain_mapping_under(b)?
        {
            // It may be that of a class.
            if self.st.effects.any_held() {
                return Err(Stop::unsupported(
                    "a mapping proxy where a class has changed",
                ));
            }
            let s = self.source(Source::Under { base: source });
            let body = Body::MappingProxy(self.lazy(mapping, s));
            let state = ObjState::existing(ty.into_any().unbind(), body, obj.clone(), source);
            return Ok(Var::Obj(self.st.effects.add(state)));
        }
        if let Some(body) = self.existing_view(b, source)? {
            let state = ObjState::existing(ty.into_any().unbind(), body, obj.clone(), source);
            return Ok(Var::Obj(self.st.effects.add(state)));
        }
        if is_builtin_iterator(b) {
            let body = self.existing_iterator(b, source)?;
            let body = Body::Iter(body.unwrap_or(IterBody::Opaque));
            let state = ObjState::existing(ty.into_any().unbind(), body, obj.clone(), source);
            return Ok(Var::Obj(self.st.effects.add(state)));
        }
        if is(&known.partial) || is(&known.generator) {
            return Ok(Var::Py(Rc::new(PyVar {
                obj: obj.clone(),
                source: Some(source),
            })));
        }
        if derives_from(b, known.tensor.bind(py)) {
            let name = ty.name()?;
            if ty.module()?.to_string_lossy() == "torch.nn.parameter"
                && name.to_string_lossy().starts_with("Uninitialized")
            {
                return Err(Stop::uninitialized(name));
            }
            return Err(Stop::brk(
                format!("Tensor subclass {name}"),
                "Ferrodyn follows the __torch_function__ of a tensor subclass, and takes __torch_dispatch__ where the class has __tensor_flatten__, unless the class changes operators.",
                "Pass a plain torch.Tensor, or move the code that uses the subclass out of the compiled function.",
            ));
        }
        // A user's subclass of a builtin container holds its items and attributes both.
        let body = if b.cast::<PyDict>().is_ok() {
            Body::Dict(self.tracked_items(obj, source)?)
        } else if let Ok(l) = b.cast::<PyList>() {
            self.guard(source, GuardKind::SequenceLength { len: l.len() });
            Body::List(self.list_items(obj, source, l.len())?)
        } else if b.cast::<PySet>().is_ok() || b.cast::<PyFrozenSet>().is_ok() {
            return self.existing_set(obj, source);
        } else if let Some(body) = self.existing_value(b, source)? {
            body
        } else {
            Body::Plain
        };
        let state = ObjState::existing(ty.into_any().unbind(), body, obj.clone(), source);
        Ok(Var::Obj(self.st.effects.add(state)))
    }

    /// Whether a source is the parameters of an `inspect.Signature`.
    fn is_signatures_parameters(&self, source: SourceId) -> R<bool> {
        let Source::Attr { base, name } = self.facts.sources.get(source) else {
            return Ok(false);
        };
        let Some(owner) = self
            .facts
            .reached
            .get(base)
            .filter(|_| &**name == "_parameters")
        else {
            return Ok(false);
        };
        let class = owner.bind(self.py).get_type();
        let signature = self.py.import("inspect")?.getattr("Signature")?;
        Ok(class.is(&signature))
    }

    /// Guards the exact type of a source's value.
    pub fn guard_type(&mut self, obj: &Bound<'_, PyAny>, source: SourceId) {
        let ty = self.pin(&obj.get_type().into_any().unbind(), true);
        self.guard(source, GuardKind::TypeMatch { ty });
    }

    fn build_const(&mut self, obj: &Obj, source: SourceId) -> R<Var> {
        let py = self.py;
        let b = obj.bind(py);
        let class = b.get_type().into_any();
        if self.known.is_numpy_scalar(&class)
            && let Some(number) = (self.rules.arrays.changing_number)(self, obj, source)?
        {
            return Ok(number);
        }
        if self.known.is_numpy_scalar(&class) || self.known.is_custom_constant(&class) {
            return self.build_by_value(obj, source);
        }
        let kind = if b.is_none() {
            GuardKind::NoneMatch
        } else if let Ok(v) = b.cast_exact::<pyo3::types::PyBool>() {
            if v.is_true() {
                GuardKind::TrueMatch
            } else {
                GuardKind::FalseMatch
            }
        } else {
            // Equal devices are many objects.
            match const_val(b).or_else(|| guards::exec::read::constant(b)) {
                Some(value) => GuardKind::EqualsMatch { value },
                None => GuardKind::IdMatch {
                    obj: self.pin(obj, false),
                },
            }
        };
        self.guard(source, kind);
        Ok(Var::Const(obj.clone()))
    }

    /// A number of NumPy, or a constant of torch's operators. Each call may bring another object as an argument;
    /// elsewhere one object stays where it is, and its identity is quicker to check.
    fn build_by_value(&mut self, obj: &Obj, source: SourceId) -> R<Var> {
        let b = obj.bind(self.py).clone();
        let mut root = source;
        while let Source::TupleItem { base, .. } | Source::ListItem { base, .. } =
            self.facts.sources.get(root)
        {
            root = *base;
        }
        if !matches!(self.facts.sources.get(root), Source::Local { .. }) {
            let obj = self.pin(obj, false);
            self.guard(source, GuardKind::IdMatch { obj });
            return Ok(Var::Const(b.unbind()));
        }
        self.guard_type(&b, source);
        let ask = match self.known.is_numpy_scalar(b.get_type().as_any()) {
            true => b.get_type().getattr("tobytes")?,
            false => b.getattr("__eq__")?,
        };
        let value = ask.call1((&b,))?;
        self.guard_call(&ask.unbind(), Some(source), &[], &value)?;
        Ok(Var::Const(obj.clone()))
    }

    fn build_tuple(&mut self, obj: &Obj, source: SourceId) -> R<Var> {
        let b = obj.bind(self.py);
        let ty = b.get_type();
        self.guard_type(b, source);
        let t = b.cast::<PyTuple>().map_err(PyErr::from)?;
        self.guard(source, GuardKind::SequenceLength { len: t.len() });
        let items = t
            .iter_borrowed()
            .enumerate()
            .map(|(i, item)| {
                let s = self.source(Source::TupleItem {
                    base: source,
                    index: i as u32,
                });
                self.lazy(item.to_owned().unbind(), s)
            })
            .collect();
        let class = (!ty.is(self.known.tuple.bind(self.py))).then(|| ty.into_any().unbind());
        Ok(Var::Tuple(Rc::new(TupleVar {
            items,
            class,
            origin: Some((obj.clone(), source)),
        })))
    }

    fn list_items(&mut self, obj: &Obj, source: SourceId, len: usize) -> R<im::Vector<Var>> {
        if len > MAX_CONTAINER {
            return Err(Stop::unsupported(format!(
                "a list of {len} items from outside the compiled function"
            )));
        }
        let b = obj.bind(self.py);
        let items: Vec<Obj> = match b.cast::<PyList>() {
            Ok(l) => l.iter().map(Bound::unbind).collect(),
            Err(_) => b
                .try_iter()?
                .map(|i| i.map(Bound::unbind))
                .collect::<PyResult<_>>()?,
        };
        Ok(items
            .into_iter()
            .enumerate()
            .map(|(i, item)| {
                let s = self.source(Source::ListItem {
                    base: source,
                    index: i as u32,
                });
                self.lazy(item, s)
            })
            .collect())
    }

    fn build_list(&mut self, obj: &Obj, source: SourceId) -> R<Var> {
        let b = obj.bind(self.py);
        self.guard_type(b, source);
        let len = b.len()?;
        self.guard(source, GuardKind::SequenceLength { len });
        let items = self.list_items(obj, source, len)?;
        let body = if b.cast::<PyList>().is_ok() {
            Body::List(items)
        } else {
            let maxlen: Option<usize> = b.getattr("maxlen")?.extract()?;
            Body::Deque(items, maxlen)
        };
        let state = ObjState::existing(b.get_type().into_any().unbind(), body, obj.clone(), source);
        Ok(Var::Obj(self.st.effects.add(state)))
    }

    fn tracked_items(&mut self, obj: &Obj, source: SourceId) -> R<OrderedMap> {
        let b = obj.bind(self.py);
        let Some(d) = as_dict(b) else {
            return Err(Stop::Internal("a dict".into()));
        };
        if d.len() > MAX_CONTAINER {
            return Err(Stop::unsupported(format!(
                "a dict of {} items from outside the compiled function",
                d.len()
            )));
        }
        let mut map = OrderedMap::default();
        let mut keys = Vec::with_capacity(d.len());
        for (i, k, v) in dict_items(d) {
            let key_val = match const_val(k.bind(self.py)) {
                Some(c) => c,
                None => ConstVal::Obj(self.pin(&k, true)),
            };
            let key_source = self.source(Source::DictKeyAt {
                base: source,
                index: i as u32,
            });
            let key_var = match &key_val {
                ConstVal::Obj(_) => self.build(&k, key_source)?,
                _ => self.key_constant(&k)?,
            };
            let value_source = self.source(Source::DictItem {
                base: source,
                key: key_val.clone(),
            });
            let value = self.lazy(v, value_source);
            let key = self.key(&key_var)?;
            map.insert(key, key_var, value);
            keys.push(key_val);
        }
        self.guard(
            source,
            GuardKind::DictKeys {
                keys: Arc::from(keys),
            },
        );
        Ok(map)
    }

    /// A key whose value the container's own guard pins down.
    fn key_constant(&mut self, k: &Obj) -> R<Var> {
        self.from_const(k.bind(self.py).clone())
    }

    fn build_dict(&mut self, obj: &Obj, source: SourceId) -> R<Var> {
        let b = obj.bind(self.py);
        self.guard_type(b, source);
        let body = Body::Dict(self.tracked_items(obj, source)?);
        let mut state =
            ObjState::existing(b.get_type().into_any().unbind(), body, obj.clone(), source);
        if type_lookup(&b.get_type(), "default_factory").is_some()
            && let Ok(factory) = b.getattr("default_factory")
        {
            let s = self.source(Source::Attr {
                base: source,
                name: "default_factory".into(),
            });
            let v = self.lazy(factory.unbind(), s);
            state.seen.insert("default_factory".into(), Some(v));
        }
        Ok(Var::Obj(self.st.effects.add(state)))
    }

    fn existing_set(&mut self, obj: &Obj, source: SourceId) -> R<Var> {
        let b = obj.bind(self.py);
        self.guard_type(b, source);
        let frozen = b.get_type().is(self.known.frozenset.bind(self.py));
        let held = variables::raw::set_items(b)?;
        let len = held.len();
        if len > MAX_CONTAINER {
            return Err(Stop::unsupported(format!(
                "a set of {len} items from outside the compiled function"
            )));
        }
        let mut map = OrderedMap::default();
        let none = self.none();
        let mut items = Vec::with_capacity(len);
        for item in held {
            let (key, var) = match const_val(item.bind(self.py)) {
                Some(c) => (c, self.key_constant(&item)?),
                None => {
                    // The guard names the object, so it is reached through the pin.
                    let s = self.pinned_source(&item, true, "item");
                    (ConstVal::Obj(self.pin(&item, true)), self.build(&item, s)?)
                }
            };
            items.push(key);
            map.insert(self.key(&var)?, var, none.clone());
        }
        // An item that can change is the same object wherever it is reached.
        let is_constant = frozen && !items.iter().any(|i| matches!(i, ConstVal::Obj(_)));
        self.guard(
            source,
            GuardKind::SetItems {
                items: Arc::from(items),
            },
        );
        if is_constant {
            return Ok(Var::Const(obj.clone()));
        }
        let state = ObjState::existing(
            b.get_type().into_any().unbind(),
            Body::Set(map),
            obj.clone(),
            source,
        );
        Ok(Var::Obj(self.st.effects.add(state)))
    }

    fn build_range_or_slice(&mut self, obj: &Obj, source: SourceId) -> R<Var> {
        let py = self.py;
        let b = obj.bind(py);
        self.guard_type(b, source);
        let mut parts = Vec::with_capacity(3);
        for name in ["start", "stop", "step"] {
            let s = self.source(Source::Attr {
                base: source,
                name: name.into(),
            });
            parts.push(self.build(&b.getattr(name)?.unbind(), s)?);
        }
        if b.get_type().is(self.known.range.bind(py)) {
            return Ok(Var::Const(obj.clone()));
        }
        let [a, b, c]: [Var; 3] = parts
            .try_into()
            .map_err(|_| Stop::Internal("slice parts".into()))?;
        Ok(Var::Slice(Rc::new([a, b, c])))
    }

    /// A function reached from an argument or a closure is usually made anew for each call: only
    /// its code is guarded. Any other is guarded by identity.
    fn build_function(&mut self, obj: &Obj, source: SourceId) -> Var {
        let root = self.facts.sources.root(source);
        if self.facts.sources.get(root).is_frame_root() && !self.is_module_level(obj) {
            let code = obj.bind(self.py).getattr("__code__").map(Bound::unbind);
            if let Ok(code) = code {
                let code = self.pin(&code, false);
                self.guard(source, GuardKind::ClosureMatch { code });
            }
        } else {
            let f = self.pin(obj, true);
            self.guard(source, GuardKind::FunctionMatch { obj: f });
        }
        Var::Py(Rc::new(PyVar {
            obj: obj.clone(),
            source: Some(source),
        }))
    }

    fn is_module_level(&self, obj: &Obj) -> bool {
        let b = obj.bind(self.py);
        b.getattr("__qualname__")
            .and_then(|q| q.extract::<String>())
            .is_ok_and(|q| !q.contains("<locals>"))
            && b.getattr("__closure__").is_ok_and(|c| c.is_none())
    }

    fn build_method(&mut self, obj: &Obj, source: SourceId) -> R<Var> {
        let b = obj.bind(self.py);
        self.guard_type(b, source);
        let func_source = self.source(Source::Attr {
            base: source,
            name: "__func__".into(),
        });
        let self_source = self.source(Source::Attr {
            base: source,
            name: "__self__".into(),
        });
        let func = self.build(&b.getattr("__func__")?.unbind(), func_source)?;
        let receiver = self.build(&b.getattr("__self__")?.unbind(), self_source)?;
        Ok(Var::Method(Rc::new(MethodVar { func, receiver })))
    }

    /// A C function: by identity, or where it is bound to a mutable object, by that object.
    fn build_builtin(&mut self, obj: &Obj, source: SourceId) -> R<Var> {
        let py = self.py;
        let b = obj.bind(py);
        if let Ok(receiver) = b.getattr("__self__")
            && !receiver.is_none()
            && !receiver.get_type().is(self.known.module_type.bind(py))
            && !receiver.is_instance_of::<PyType>()
            && receiver.get_type().hasattr(
                b.getattr("__name__")?
                    .cast::<PyString>()
                    .map_err(PyErr::from)?,
            )?
        {
            self.guard_type(b, source);
            let name: String = b.getattr("__name__")?.extract()?;
            let name_source = self.source(Source::Attr {
                base: source,
                name: "__name__".into(),
            });
            self.guard(
                name_source,
                GuardKind::EqualsMatch {
                    value: ConstVal::str(&name),
                },
            );
            let self_source = self.source(Source::Attr {
                base: source,
                name: "__self__".into(),
            });
            let receiver = self.build(&receiver.unbind(), self_source)?;
            return Ok(Var::BuiltinMethod(Rc::new((receiver, Arc::from(name)))));
        }
        let r = self.pin(obj, false);
        self.guard(source, GuardKind::IdMatch { obj: r });
        Ok(Var::Py(Rc::new(PyVar {
            obj: obj.clone(),
            source: Some(source),
        })))
    }

    fn build_cell(&mut self, obj: &Obj, source: SourceId) -> Var {
        let b = obj.bind(self.py);
        let contents = b.getattr("cell_contents").ok().map(|c| {
            let s = self.source(Source::CellContents { base: source });
            self.lazy(c.unbind(), s)
        });
        let class = self.known.cell.clone();
        Var::Obj(self.st.effects.add(ObjState::existing(
            class,
            Body::Cell(contents),
            obj.clone(),
            source,
        )))
    }

    /// Objects that are used by identity and never looked into beyond C-level attributes.
    fn is_identity_type(&self, b: &Bound<'_, PyAny>) -> bool {
        let py = self.py;
        let ty = b.get_type();
        let k = &self.known;
        let fixed = [
            &k.classmethod_descriptor,
            &k.getset_descriptor,
            &k.member_descriptor,
            &k.property,
            &k.classmethod,
            &k.staticmethod,
            &k.code,
            &k.generic_alias,
            &k.union_type,
        ];
        fixed.iter().any(|t| ty.is(t.bind(py)))
            || crate::attr::binds_as_function(&ty)
            || derives_from(b, k.enum_.bind(py))
            || ty.module().is_ok_and(|m| {
                m.to_cow().is_ok_and(|m| {
                    (&*m == "typing"
                        || &*m == names::OPS
                        || &*m == "functools"
                        || &*m == "operator"
                        || &*m == "numpy" && ty.name().is_ok_and(|n| n == "ufunc")
                        || &*m == "ferrodyn._core")
                        && !ty.is(k.partial.bind(py))
                })
            })
    }
}

/// Whether an object's class is what `collections.namedtuple`, `typing.NamedTuple` or a C struct
/// sequence makes.
pub fn is_namedtuple(b: &Bound<'_, PyAny>) -> bool {
    b.cast::<PyTuple>().is_ok()
        && (b.get_type().hasattr("_fields").unwrap_or(false)
            || b.get_type().hasattr("n_sequence_fields").unwrap_or(false))
}

/// Whether an object is an instance of a program's subclass of `tuple`, and has its items alone.
fn is_plain_tuple(b: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = b.get_type();
    if b.cast::<PyTuple>().is_err() || !crate::attr::is_heap_type(&class) {
        return Ok(false);
    }
    if class.getattr("__dictoffset__")?.extract::<isize>()? == 0 {
        return Ok(true);
    }
    let object = b.py().get_type::<PyAny>();
    let attributes = object.call_method1("__getattribute__", (b, "__dict__"))?;
    attributes.is_empty()
}

fn is_builtin_iterator(b: &Bound<'_, PyAny>) -> bool {
    let ty = b.get_type();
    let heap = ty.module().is_ok_and(|m| {
        m.to_cow()
            .is_ok_and(|m| &*m != "builtins" && &*m != "itertools")
    });
    !heap
        && ty.hasattr("__next__").unwrap_or(false)
        && ty
            .name()
            .is_ok_and(|n| n != "generator" && n != "coroutine")
}

/// Whether an object is a text, or bytes, of a class of its own that adds nothing to hold.
fn is_fixed_text(b: &Bound<'_, PyAny>) -> bool {
    (b.is_instance_of::<PyString>() || b.is_instance_of::<PyBytes>())
        && !b.hasattr("__dict__").unwrap_or(true)
}
