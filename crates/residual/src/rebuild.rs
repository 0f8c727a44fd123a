//! Values as bytecode: each is built once, existing objects are loaded, never copied.
//!
//! Lives here: what every [`Var`] becomes. Containers and instances are in `containers`, iterators
//! in `iterators`.
//!
//! Invariant: building a value runs no code of the user's.

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::{FuncAttr, Op};
use guards::Source;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use translator::code::kinds;
use translator::retreat::Retreat;
use translator::stop::{MAX_NESTING, R, Stop};
use variables::{
    Body, FuncVar, LazyVar, Obj, ObjId, Origin, TensorVar, TextPart, TextVar, TupleVar, Var,
};

use crate::emitter::{Emitter, Ident};

/// Attributes of an object in the order in which they are set; `None` deletes one.
type Attrs = Vec<(Arc<str>, Option<Var>)>;

impl Emitter<'_, '_> {
    /// `-- value`. Cyclic objects below it are complete afterwards.
    ///
    /// # Errors
    /// A break where the value cannot be rebuilt.
    pub fn emit(&mut self, var: &Var) -> R<()> {
        self.value(var)?;
        while let Some(id) = self.deferred.pop() {
            self.fill(id)?;
        }
        Ok(())
    }

    /// `-- value`, leaving cyclic objects to be filled later.
    pub(crate) fn value(&mut self, var: &Var) -> R<()> {
        let Some(ident) = self.ident(var) else {
            return self.leaf(var);
        };
        if let Some(local) = self.memo.get(&ident) {
            let local = *local;
            self.asm.load_fast(local);
            return Ok(());
        }
        if let (Var::Obj(id), Ident::Obj(_)) = (var, ident)
            && self.early.contains(id)
        {
            self.empty(*id)?;
            self.keep(ident);
            self.deferred.push(*id);
            return Ok(());
        }
        if self.building.len() >= MAX_NESTING {
            return Err(self.cannot("values that are nested this deep"));
        }
        if !self.building.insert(ident) {
            return Err(self.cannot("a cycle of immutable values"));
        }
        let built = self.build(var);
        self.building.remove(&ident);
        built?;
        if self.uses.get(&ident).is_some_and(|n| *n > 1) && !self.memo.contains_key(&ident) {
            self.keep(ident);
        }
        Ok(())
    }

    /// Keeps what is on top of the stack in a temporary, if it is in none yet: with a second one, an
    /// exception would stay in the frame that raises it.
    pub(crate) fn keep(&mut self, ident: Ident) {
        if self.memo.contains_key(&ident) {
            return;
        }
        let tmp = self.asm.tmp("___tmp");
        self.asm.op(Op::Copy(1));
        self.asm.store_fast(tmp);
        self.memo.insert(ident, tmp);
    }

    /// `-- value` for what is not built here.
    fn leaf(&mut self, var: &Var) -> R<()> {
        match var {
            Var::Null => self.asm.op(Op::PushNull),
            Var::Const(o) => self.asm.load_const(o),
            Var::Tensor(t) => self.tensor(t)?,
            Var::Tuple(t) => match &t.origin {
                Some((_, source)) => self.load_source(*source)?,
                None => self.tuple(t)?,
            },
            Var::Obj(id) => self.existing(*id)?,
            Var::Py(p) => match p.source {
                Some(source) => self.load_source(source)?,
                None => self.load_obj(&p.obj)?,
            },
            Var::Lazy(l) => match self.constant_read(l)? {
                Some(constant) => self.asm.load_const(&constant),
                None => self.load_source(l.source)?,
            },
            Var::Int(i) => self.int(&i.expr)?,
            Var::Computed(c) => self.computed(c)?,
            Var::Float(f) => self.float(&f.expr)?,
            _ => return self.build(var),
        }
        Ok(())
    }

    /// The value of a default argument, or of something private, that nothing has looked at, where that is a
    /// constant. What is private nobody can change; a default argument is guarded: to read `__defaults__` on each call
    /// would tell audit hooks of it, which costs more than all the rest.
    pub(crate) fn constant_read(&mut self, lazy: &Rc<LazyVar>) -> R<Option<Obj>> {
        let sources = self.tx.sources();
        let of_function = match sources.get(lazy.source) {
            Source::TupleItem { base, .. } | Source::DictItem { base, .. } => matches!(
                sources.get(*base),
                Source::FuncDefaults { .. } | Source::FuncKwDefaults { .. }
            ),
            _ => false,
        };
        let class = lazy.obj.bind(self.tx.py).get_type();
        if self.tx.is_of_private(lazy.source) && self.tx.known().is_const_type(class.as_any()) {
            return Ok(Some(lazy.obj.clone()));
        }
        // An int may become a variable of the graph, whose inputs are settled by now.
        let is_int = class.is(self.tx.py.get_type::<pyo3::types::PyInt>());
        if !of_function || is_int || !self.tx.known().is_const_type(class.as_any()) {
            return Ok(None);
        }
        let value = Var::Lazy(lazy.clone());
        if self.tx.as_dynamic_float(&value).is_some() {
            return Ok(None);
        }
        Ok(match self.tx.realize(&value)? {
            Var::Const(constant) => Some(constant),
            _ => None,
        })
    }

    fn tensor(&mut self, t: &TensorVar) -> R<()> {
        self.check_given_out(t)?;
        match &t.input {
            None => {
                let local = self.output(t.node);
                self.asm.load_fast(local);
            }
            Some(input) => match self.bound_input(t.node).cloned() {
                Some(obj) => self.asm.load_const(&obj),
                None => self.load_source(input.source)?,
            },
        }
        Ok(())
    }

    /// # Errors
    /// A break for a view that was made while autograd was off, of what requires gradients: it is a leaf with a
    /// gradient of its own, which a compiler does not make. The same for a tensor that was made inside a transform, and
    /// for one that records gradients for a leaf of the function's own alone.
    pub(crate) fn check_given_out(&mut self, t: &TensorVar) -> R<()> {
        if self.tx.state().levels.shadows.contains_key(&t.node.0) {
            let stop = Stop::brk(
                "Tensor made inside a transform of torch.func is needed outside of it",
                "It holds what autograd recorded inside the transform, which a graph does not give out. What `vjp` gives to compute gradients with needs such tensors.",
                "Return such tensors from the function that is transformed, and call what `vjp` gives inside of the compiled function, without a graph break before.",
            );
            return Err(stop.or_retreat(Retreat::Private));
        }
        let meta = self.tx.state().effects.meta(t);
        let records = t.input.is_none() && meta.requires_grad;
        let is_own_leaf = records && meta.is_leaf;
        let follows_leaf = records && self.tx.records_for_own_leaf(t);
        if !self.tx.runs_as_is() && (follows_leaf || self.tx.is_made_leaf(t)) {
            let stop = Stop::brk(
                "Tensor that the compiled function made a leaf is needed outside of it",
                "A compiler gives a tensor out without a gradient of its own, and nothing that was computed of it leads back to it.",
                "Call `requires_grad_()` outside of the compiled function, or give out `tensor.detach()`.",
            );
            return Err(stop.or_retreat(Retreat::Private));
        }
        match is_own_leaf {
            false => Ok(()),
            true if self.tx.runs_as_is() => {
                self.tx.needs_as_is();
                Ok(())
            }
            true => Err(Stop::brk(
                "View made under no_grad that leaves the compiled function",
                "Such a view is a leaf with a gradient of its own, which a compiler does not compute.",
                "Give out `view.detach()`, or make the view outside of the compiled function.",
            )),
        }
    }

    /// `-- obj` for an object from outside or a cell of the root frame.
    pub(crate) fn existing(&mut self, id: ObjId) -> R<()> {
        let state = self.tx.obj(id);
        match state.origin.clone() {
            Origin::Source { source, .. } => {
                if matches!(state.body, Body::Cell(_))
                    && let Source::Closure { index, .. } = *self.tx.sources().get(source)
                {
                    let local = self.free_var(index);
                    self.asm.op(Op::LoadClosure(local));
                    return Ok(());
                }
                self.load_source(source)
            }
            Origin::RootCell(index) => {
                self.asm.op(Op::LoadClosure(bytecode::op::LocalIdx(index)));
                Ok(())
            }
            #[allow(unreachable_patterns)]
            _ => self.build(&Var::Obj(id)),
        }
    }

    fn build(&mut self, var: &Var) -> R<()> {
        match var {
            Var::Tuple(t) => self.tuple(t),
            Var::Slice(parts) => {
                for p in parts.iter() {
                    self.value(p)?;
                }
                self.asm.op(Op::BuildSlice(3));
                Ok(())
            }
            Var::Text(t) => self.text(t),
            Var::Obj(id) => self.object(*id),
            Var::Func(f) => self.function(f),
            Var::Method(m) => {
                let class = self.tx.known().method.clone();
                self.asm.callee(&class);
                self.value(&m.func)?;
                self.value(&m.receiver)?;
                self.asm.call(2);
                Ok(())
            }
            Var::BuiltinMethod(m) => {
                self.value(&m.0)?;
                self.asm.load_attr(&m.1);
                Ok(())
            }
            Var::Super(s) => {
                let class = self.tx.known().super_.clone();
                self.asm.callee(&class);
                self.load_obj(&s.after)?;
                self.value(&s.receiver)?;
                self.asm.call(2);
                Ok(())
            }
            _ => self.leaf(var),
        }
    }

    /// A text. That of a tensor is what it was then: nothing has written to one since.
    fn text(&mut self, t: &TextVar) -> R<()> {
        for part in &t.parts {
            match part {
                TextPart::Known(o) => self.asm.load_const(o),
                TextPart::Value(v) => self.value(v)?,
                TextPart::Tensor {
                    tensor,
                    conversion,
                    spec,
                    writes,
                } => {
                    if *writes != self.tx.state().effects.writes {
                        return Err(self.tx.no_text(tensor).or_retreat(Retreat::Text));
                    }
                    if let Some(convert) = conversion {
                        self.asm.callee(convert);
                    }
                    self.value(tensor)?;
                    if conversion.is_some() {
                        self.asm.call(1);
                    }
                    if let Some(spec) = spec {
                        self.asm.load_const(spec);
                    }
                    self.asm.op(Op::FormatValue {
                        conv: None,
                        spec: spec.is_some(),
                    });
                }
            }
        }
        if t.parts.len() != 1 {
            self.asm.op(Op::BuildString(t.parts.len() as u32));
        }
        Ok(())
    }

    fn tuple(&mut self, t: &Rc<TupleVar>) -> R<()> {
        let items = |g: &mut Self| -> R<()> {
            for i in &t.items {
                g.value(i)?;
            }
            g.asm.op(Op::BuildTuple(t.items.len() as u32));
            Ok(())
        };
        let Some(class) = &t.class else {
            return items(self);
        };
        let py = self.tx.py;
        let known = self.tx.known().clone();
        let c = class.bind(py);
        if class.is(&known.size) || c.hasattr("n_sequence_fields")? {
            self.load_callable(class)?;
            items(self)?;
            self.asm.call(1);
        } else {
            // The class's own `__new__` and `__init__` have run while translating.
            let new = known.tuple.bind(py).getattr("__new__")?.unbind();
            self.asm.callee(&new);
            self.load_obj(class)?;
            items(self)?;
            self.asm.call(2);
        }
        Ok(())
    }

    /// As [`crate::asm::Asm::callee`] for an object that may be held weakly.
    pub(crate) fn load_callable(&mut self, f: &variables::Obj) -> R<()> {
        if self.is_weak(f) {
            self.load_obj(f)?;
            self.asm.body.make_callable();
        } else {
            self.asm.callee(f);
        }
        Ok(())
    }

    fn function(&mut self, f: &Rc<FuncVar>) -> R<()> {
        let root = f.globals.is(&self.globals);
        if root {
            let mut parts = 0;
            let optional = [
                (&f.defaults, FuncAttr::DEFAULTS),
                (&f.kwdefaults, FuncAttr::KWDEFAULTS),
                (&f.annotations, FuncAttr::ANNOTATIONS),
            ];
            for (part, bit) in optional {
                if let Some(part) = part {
                    self.value(part)?;
                    parts |= bit;
                }
            }
            if !f.closure.is_empty() {
                self.closure(&f.closure)?;
                parts |= FuncAttr::CLOSURE;
            }
            if let Some(annotate) = &f.annotate {
                self.value(annotate)?;
                parts |= FuncAttr::ANNOTATE;
            }
            self.asm.load_const(&f.code);
            self.asm.make_function(FuncAttr(parts));
        } else {
            let class = self.tx.known().function.clone();
            let name: String = f.code.bind(self.tx.py).getattr("co_name")?.extract()?;
            self.asm.callee(&class);
            self.asm.load_const(&f.code);
            match f.globals_source {
                Some(source) => self.load_source(source)?,
                None => self.asm.load_const(&f.globals),
            }
            self.load_str(&name);
            match &f.defaults {
                Some(d) => self.value(d)?,
                None => self.asm.load_const(&self.tx.py.None()),
            }
            if f.closure.is_empty() {
                self.asm.call(4);
            } else {
                self.closure(&f.closure)?;
                self.asm.call(5);
            }
        }
        self.names_only(f.obj)?;
        let mut attrs = self.attrs_of(f.obj);
        let annotations = self.annotations_beside_annotate(f, &mut attrs);
        let late: Vec<(&str, &Var)> = match root {
            true => Vec::new(),
            false => [
                ("__kwdefaults__", &f.kwdefaults),
                ("__annotations__", &f.annotations),
                ("__annotate__", &f.annotate),
            ]
            .into_iter()
            .filter_map(|(n, v)| v.as_ref().map(|v| (n, v)))
            .collect(),
        };
        if attrs.is_empty() && late.is_empty() && annotations.is_none() {
            return Ok(());
        }
        let ident = Ident::Ptr(Rc::as_ptr(f) as usize);
        self.keep(ident);
        for (name, v) in late {
            // Annotations travel as a flat tuple until the function has them.
            match v {
                Var::Tuple(pairs) if name == "__annotations__" => {
                    for part in &pairs.items {
                        self.value(part)?;
                    }
                    self.asm.op(Op::BuildMap(pairs.items.len() as u32 / 2));
                    self.put_attr(ident, name);
                }
                _ => self.store_attr(ident, name, v)?,
            }
        }
        for (name, v) in attrs {
            match v {
                Some(v) => self.store_attr(ident, &name, &v)?,
                None => {
                    let (local, n) = (self.memo[&ident], self.asm.name_idx(&name));
                    self.asm.load_fast(local);
                    self.asm.op(Op::DeleteAttr(n));
                }
            }
        }
        if let Some(annotations) = annotations {
            self.value(&annotations)?;
            let local = self.memo[&ident];
            self.asm.load_fast(local);
            let part = FuncAttr(FuncAttr::ANNOTATIONS);
            self.asm.op(Op::SetFunctionAttribute(part));
            self.asm.op(Op::PopTop);
        }
        Ok(())
    }

    /// The annotations of a function that keeps its `__annotate__` too, because they were read and not written: taken
    /// out of `attrs`, since a store of either attribute drops the other.
    fn annotations_beside_annotate(&self, f: &FuncVar, attrs: &mut Attrs) -> Option<Var> {
        let find = |name: &str| attrs.iter().position(|(n, _)| &**n == name);
        let at = find("__annotations__")?;
        let written = find("__annotate__").map(|i| attrs[i].1.as_ref());
        let annotate = written.unwrap_or(f.annotate.as_ref())?;
        if annotate.is_none(self.tx.py) {
            return None;
        }
        attrs.remove(at).1
    }

    fn store_attr(&mut self, of: Ident, name: &str, value: &Var) -> R<()> {
        self.value(value)?;
        self.put_attr(of, name);
        Ok(())
    }

    /// `value --`, into an attribute of a value that is in a temporary.
    fn put_attr(&mut self, of: Ident, name: &str) {
        let (local, n) = (self.memo[&of], self.asm.name_idx(name));
        self.asm.load_fast(local);
        self.asm.op(Op::StoreAttr(n));
    }

    /// `-- tuple of cells`
    pub(crate) fn closure(&mut self, cells: &[Var]) -> R<()> {
        for c in cells {
            self.value(c)?;
        }
        self.asm.op(Op::BuildTuple(cells.len() as u32));
        Ok(())
    }

    /// Refuses an instance dict with keys that are no names, or the names of what the class keeps in C:
    /// those are no attributes that can be set.
    pub(crate) fn names_only(&self, id: ObjId) -> R<()> {
        let Some(dict) = self.tx.obj(id).dict else {
            return Ok(());
        };
        let Body::Dict(items) = &self.tx.obj(dict).body else {
            return Ok(());
        };
        let py = self.tx.py;
        let class = &self.tx.obj(id).class;
        let name = |k: &Var| match k {
            Var::Const(k) => k
                .bind(py)
                .cast::<PyString>()
                .is_ok_and(|k| !self.tx.is_c_level(class, &k.to_string_lossy())),
            _ => false,
        };
        match items.iter().all(|(k, _)| name(k)) {
            true => Ok(()),
            false => Err(self.cannot("an instance dict with a key that is no attribute's name")),
        }
    }

    /// Attributes written since an object was made, in order.
    pub(crate) fn attrs_of(&self, id: ObjId) -> Attrs {
        let s = self.tx.obj(id);
        let mut out: Vec<_> = s
            .attr_order
            .iter()
            .filter_map(|n| s.attrs.get(n).map(|v| (n.clone(), v.clone())))
            .collect();
        if let Some(dict) = s.dict
            && let Body::Dict(items) = &self.tx.obj(dict).body
        {
            for (k, v) in items.iter() {
                match k {
                    Var::Const(k) if let Ok(k) = k.extract::<String>(self.tx.py) => {
                        out.push((k.into(), Some(v.clone())));
                    }
                    _ => {}
                }
            }
        }
        out
    }

    /// Whether a class inherits from another.
    pub(crate) fn is_subclass(&self, class: &variables::Obj, of: &variables::Obj) -> bool {
        let py = self.tx.py;
        class
            .bind(py)
            .cast::<PyType>()
            .is_ok_and(|c| c.mro().iter().any(|m| m.is(of.bind(py))))
    }

    /// Whether a slot of the root frame is a cell.
    pub(crate) fn is_cell_slot(&self, index: usize) -> bool {
        self.root
            .fields
            .localspluskinds
            .get(index)
            .is_some_and(|k| k & (kinds::CELL | kinds::FREE) != 0)
    }
}
