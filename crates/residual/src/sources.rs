//! Sources as bytecode: how residual code reaches what existed before the frame.
//!
//! Invariant: loading a source runs no user code.

use bytecode::op::{BinaryOp, LocalIdx, Op, UnaryOp};
use guards::exec::constant;
use guards::{ConstVal, IntBinary, IntExpr, IntUnary, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyString, PyTuple, PyType};
use translator::code::kinds;
use translator::raw::type_lookup;
use translator::stop::{R, Stop};
use variables::{FloatBinary, FloatExpr, Obj};

use crate::emitter::Emitter;

impl<'py> Emitter<'_, 'py> {
    /// The fast local of an argument, where the source is one and no cell, or of a value that was made before the graph.
    pub fn argument(&self, source: SourceId) -> Option<LocalIdx> {
        match self.tx.sources().get(source) {
            Source::Local { index, .. } => {
                let kind = self.root.fields.localspluskinds.get(*index as usize)?;
                (kind & kinds::CELL == 0).then_some(LocalIdx(*index))
            }
            Source::Early { index } if self.tx.read_number(source).is_none() => {
                self.early_values.get(*index as usize).copied()
            }
            _ => None,
        }
    }

    /// Local of a free variable of the root frame.
    pub fn free_var(&self, index: u32) -> LocalIdx {
        LocalIdx((self.root.local_names.len() - self.root.n_free()) as u32 + index)
    }

    /// `-- obj`: as a constant, or through a weak reference where the compiled code must not keep
    /// it alive.
    ///
    /// # Errors
    /// Whatever making the weak reference raises.
    pub fn load_obj(&mut self, obj: &Obj) -> R<()> {
        match self.weak_reference(obj)? {
            Some(reference) => {
                self.asm.callee(&reference);
                self.asm.call(0);
            }
            None => self.asm.load_const(obj),
        }
        Ok(())
    }

    /// `-- value`: what is under an iterator or a proxy, or what a weak reference refers to.
    fn load_under(&mut self, base: SourceId) -> R<()> {
        let py = self.tx.py;
        if self
            .class_of(base)
            .is_some_and(|class| class.is(&self.tx.known().weakref))
        {
            let call = self.tx.known().weakref.getattr(py, "__call__")?;
            self.asm.callee(&call);
            self.load_source(base)?;
            self.asm.call(1);
            return Ok(());
        }
        let referents = py.import("gc")?.getattr("get_referents")?.unbind();
        self.asm.callee(&referents);
        self.load_source(base)?;
        self.asm.call(1);
        self.load_int(0)?;
        self.asm.op(Op::BinarySubscr);
        Ok(())
    }

    /// A weak reference to what the compiled code must not keep alive, if it can have one.
    fn weak_reference(&self, obj: &Obj) -> R<Option<Obj>> {
        if !self.is_weak(obj) {
            return Ok(None);
        }
        let py = self.tx.py;
        let make = py.import("weakref")?.getattr("ref")?;
        Ok(make.call1((obj.bind(py),)).ok().map(Bound::unbind))
    }

    /// `-- obj` or `-- reference`: as [`Emitter::load_obj`], for a callee that takes a weak reference as well.
    ///
    /// # Errors
    /// Whatever making the weak reference raises.
    pub fn load_obj_or_reference(&mut self, obj: &Obj) -> R<()> {
        let reference = self.weak_reference(obj)?;
        self.asm.load_const(reference.as_ref().unwrap_or(obj));
        Ok(())
    }

    /// `-- text`
    pub fn load_str(&mut self, text: &str) {
        let s = PyString::intern(self.tx.py, text).into_any().unbind();
        self.asm.load_const(&s);
    }

    /// `-- number`
    pub fn load_int(&mut self, i: i64) -> R<()> {
        let o = i
            .into_pyobject(self.tx.py)
            .map_err(PyErr::from)?
            .into_any()
            .unbind();
        self.asm.load_const(&o);
        Ok(())
    }

    /// `-- size` of a tensor from outside, as it was before the graph ran.
    fn dim(&mut self, expr: &IntExpr) -> R<()> {
        if self.in_step {
            let value = self.tx.fix_leaf(expr)?;
            return self.load_int(value);
        }
        let local = self.dim_local(expr);
        self.asm.load_fast(local);
        Ok(())
    }

    /// The local that a size is kept in.
    pub(crate) fn dim_local(&mut self, expr: &IntExpr) -> LocalIdx {
        if let Some((_, known)) = self.dims.iter().find(|d| d.0 == *expr) {
            return *known;
        }
        let local = self.asm.tmp("___size");
        self.dims.push((expr.clone(), local));
        local
    }

    /// Reads the sizes that the code behind needs, and those of `ints`: in front of all that may
    /// change them.
    ///
    /// # Errors
    /// As [`Emitter::load_source`].
    pub(crate) fn read_dims<'e>(&mut self, ints: impl Iterator<Item = &'e IntExpr>) -> R<()> {
        for leaf in ints.flat_map(IntExpr::leaves) {
            if matches!(leaf, IntExpr::Dim(..)) {
                self.dim_local(&leaf);
            }
        }
        for (expr, local) in self.dims.clone() {
            let IntExpr::Dim(source, extent, dim) = expr else {
                continue;
            };
            let reads = self.reader_of(source, extent.method())?;
            self.asm.callee(&reads);
            self.load_source(source)?;
            if extent.has_dims() {
                self.load_int(i64::from(dim))?;
            }
            self.asm.call(1 + u32::from(extent.has_dims()));
            self.asm.store_fast(local);
        }
        Ok(())
    }

    /// `-- number` computed from sources.
    ///
    /// # Errors
    /// As [`Emitter::load_source`].
    pub fn int(&mut self, expr: &IntExpr) -> R<()> {
        match expr {
            IntExpr::Source(source) => self.load_source(*source)?,
            IntExpr::Dim(..) => self.dim(expr)?,
            IntExpr::Const(n) => self.load_int(*n)?,
            IntExpr::Unary(IntUnary::Abs, x) => {
                let abs = self.tx.known().builtins.bind(self.tx.py).getattr("abs")?;
                self.asm.callee(&abs.unbind());
                self.int(x)?;
                self.asm.call(1);
            }
            IntExpr::Unary(op, x) => {
                self.int(x)?;
                self.asm.op(Op::Unary(match op {
                    IntUnary::Invert => UnaryOp::Invert,
                    IntUnary::Negative | IntUnary::Abs => UnaryOp::Negative,
                }));
            }
            IntExpr::Binary(op, ab) => {
                if let Some(name) = op.builtin() {
                    let function = self.tx.known().builtins.bind(self.tx.py).getattr(name)?;
                    self.asm.callee(&function.unbind());
                }
                self.int(&ab.0)?;
                self.int(&ab.1)?;
                let op = match op {
                    IntBinary::Max | IntBinary::Min => {
                        self.asm.call(2);
                        return Ok(());
                    }
                    IntBinary::Add => BinaryOp::Add,
                    IntBinary::Subtract => BinaryOp::Subtract,
                    IntBinary::Multiply => BinaryOp::Multiply,
                    IntBinary::FloorDivide => BinaryOp::FloorDivide,
                    IntBinary::Remainder => BinaryOp::Remainder,
                    IntBinary::Power => BinaryOp::Power,
                    IntBinary::Lshift => BinaryOp::Lshift,
                    IntBinary::Rshift => BinaryOp::Rshift,
                    IntBinary::And => BinaryOp::And,
                    IntBinary::Or => BinaryOp::Or,
                    IntBinary::Xor => BinaryOp::Xor,
                };
                self.asm.op(Op::Binary { op, inplace: false });
            }
        }
        Ok(())
    }

    /// `-- number` computed from sources.
    ///
    /// # Errors
    /// As [`Emitter::load_source`].
    pub fn float(&mut self, expr: &FloatExpr) -> R<()> {
        match expr {
            FloatExpr::Source(source) => self.load_source(*source)?,
            FloatExpr::Const(value) => {
                let value = PyFloat::new(self.tx.py, *value).into_any().unbind();
                self.asm.load_const(&value);
            }
            FloatExpr::Negative(x) => {
                self.float(x)?;
                self.asm.op(Op::Unary(UnaryOp::Negative));
            }
            FloatExpr::Computed(c) => self.computed(c)?,
            FloatExpr::Binary(op, ab) => {
                self.float(&ab.0)?;
                self.float(&ab.1)?;
                let op = match op {
                    FloatBinary::Add => BinaryOp::Add,
                    FloatBinary::Subtract => BinaryOp::Subtract,
                    FloatBinary::Multiply => BinaryOp::Multiply,
                    FloatBinary::TrueDivide => BinaryOp::TrueDivide,
                };
                self.asm.op(Op::Binary { op, inplace: false });
            }
        }
        Ok(())
    }

    /// `-- value` of a source.
    ///
    /// # Errors
    /// A break for a source that has no code free of user code.
    pub fn load_source(&mut self, id: SourceId) -> R<()> {
        let py = self.tx.py;
        match self.tx.sources().get(id).clone() {
            Source::Local { index, .. } => match self.argument(id) {
                Some(local) => self.asm.load_fast(local),
                None => self.asm.op(Op::LoadDeref(LocalIdx(index))),
            },
            Source::Early { .. } if let Some(read) = self.tx.read_number(id) => match read.tensor {
                None => {
                    let local = self.output(read.node);
                    self.asm.load_fast(local);
                }
                Some(tensor) => {
                    let item = self.tx.known().tensor.getattr(py, "item")?;
                    let local = self.output(tensor);
                    self.asm.callee(&item);
                    self.asm.load_fast(local);
                    self.asm.call(1);
                }
            },
            Source::Early { index } => match self.argument(id) {
                Some(local) => self.asm.load_fast(local),
                None => return Err(Stop::Internal(format!("there is no early call {index}"))),
            },
            Source::Closure { index, .. } => {
                let local = self.free_var(index);
                self.asm.op(Op::LoadDeref(local));
            }
            Source::Global { name } => {
                let n = self.asm.name_idx(&name);
                self.asm.op(Op::LoadGlobal(n));
            }
            Source::Globals => {
                let dict = self.globals.clone();
                self.asm.load_const(&dict);
            }
            Source::GlobalsOf { pin, name, .. } => {
                let dict = self.pinned(pin)?;
                self.asm.load_const(&dict);
                self.load_str(&name);
                self.asm.op(Op::BinarySubscr);
            }
            Source::Builtin { name } => {
                let dict = py.import("builtins")?.getattr("__dict__")?.unbind();
                self.asm.load_const(&dict);
                self.load_str(&name);
                self.asm.op(Op::BinarySubscr);
            }
            Source::Attr { base, name } => {
                self.load_source(base)?;
                self.asm.load_attr(&name);
            }
            Source::InstanceDict { base } => self.load_instance_dict(base)?,
            Source::InstanceDictItem { base, name } => {
                if self.plain_attr(base, &name) {
                    self.load_source(base)?;
                    self.asm.load_attr(&name);
                } else {
                    self.load_instance_dict(base)?;
                    self.load_str(&name);
                    self.asm.op(Op::BinarySubscr);
                }
            }
            Source::DictItem { base, key } => {
                let key = self.const_obj(&key)?;
                let known = self.tx.known().clone();
                let dicts = [&known.dict, &known.ordered_dict, &known.defaultdict];
                let exact: Vec<&Obj> = dicts.into_iter().chain(known.frozendict()).collect();
                self.load_item(base, &exact, &known.dict, |g| g.load_obj(&key))?;
            }
            Source::DictKeyAt { base, index } => {
                let known = self.tx.known().clone();
                let class = self.class_of(base).filter(|c| known.is_frozendict(c));
                let class = class.unwrap_or_else(|| known.dict.clone());
                let keys = class.bind(py).getattr("keys")?.unbind();
                self.asm.op(Op::BuildList(0));
                self.asm.callee(&keys);
                self.load_source(base)?;
                self.asm.call(1);
                self.asm.op(Op::ListExtend(1));
                self.load_int(index.into())?;
                self.asm.op(Op::BinarySubscr);
            }
            Source::ListItem { base, index } => {
                let known = self.tx.known().clone();
                if self.class_of(base).is_some_and(|c| {
                    c.bind(py)
                        .cast::<PyType>()
                        .is_ok_and(|c| c.is_subclass(known.list.bind(py)).unwrap_or(false))
                }) {
                    self.load_item(base, &[&known.list], &known.list, |g| {
                        g.load_int(index.into())
                    })?;
                } else {
                    self.load_source(base)?;
                    self.load_int(index.into())?;
                    self.asm.op(Op::BinarySubscr);
                }
            }
            Source::TupleItem { base, index } if self.has_own_getitem(base) => {
                let tuple = self.tx.known().tuple.clone();
                self.load_item(base, &[], &tuple, |g| g.load_int(index.into()))?;
            }
            Source::TupleItem { base, index } => {
                self.load_source(base)?;
                self.load_int(index.into())?;
                self.asm.op(Op::BinarySubscr);
            }
            Source::CellContents { base } => {
                self.load_source(base)?;
                self.asm.load_attr("cell_contents");
            }
            Source::Under { base } => self.load_under(base)?,
            Source::TypeOf { base } => {
                let ty = self.tx.known().type_.clone();
                self.asm.callee(&ty);
                self.load_source(base)?;
                self.asm.call(1);
            }
            Source::MroAttr { base, name } => self.load_mro_attr(base, &name)?,
            Source::FuncDefaults { base } => self.load_func_part(base, "__defaults__")?,
            Source::FuncKwDefaults { base } => self.load_func_part(base, "__kwdefaults__")?,
            Source::FuncClosure { base } => self.load_func_part(base, "__closure__")?,
            Source::FuncCode { base } => self.load_func_part(base, "__code__")?,
            Source::Pinned { pin, .. } | Source::WeakPinned { pin, .. } => {
                let obj = self.pinned(pin)?;
                self.load_obj(&obj)?;
            }
            Source::FunctionMode { index } => {
                let at = self
                    .tx
                    .known()
                    .torch_c
                    .getattr(py, torch_abi::names::FUNCTION_STACK_AT)?;
                self.asm.callee(&at);
                self.load_int(index.into())?;
                self.asm.call(1);
            }
            #[allow(unreachable_patterns)]
            other => return Err(self.cannot(format!("a value reached by {other:?}"))),
        }
        Ok(())
    }

    fn load_func_part(&mut self, base: SourceId, name: &str) -> R<()> {
        self.load_source(base)?;
        self.asm.load_attr(name);
        Ok(())
    }

    fn pinned(&self, pin: u32) -> R<Obj> {
        let found = self.tx.pins().get(self.tx.py, pin);
        found
            .map(Bound::unbind)
            .ok_or_else(|| Stop::Internal("a pinned object is gone".into()))
    }

    /// `-- base[key]` without a subclass's own `__getitem__`.
    fn load_item(
        &mut self,
        base: SourceId,
        exact: &[&Obj],
        class: &Obj,
        key: impl FnOnce(&mut Self) -> R<()>,
    ) -> R<()> {
        let py = self.tx.py;
        let is_exact = self
            .class_of(base)
            .is_some_and(|c| exact.iter().any(|e| e.is(&c)))
            || matches!(
                self.tx.sources().get(base),
                Source::InstanceDict { .. } | Source::InstanceDictItem { .. }
            );
        if is_exact {
            self.load_source(base)?;
            key(self)?;
            self.asm.op(Op::BinarySubscr);
        } else {
            let get = class.bind(py).getattr("__getitem__")?.unbind();
            self.asm.callee(&get);
            self.load_source(base)?;
            key(self)?;
            self.asm.call(2);
        }
        Ok(())
    }

    /// Whether a tuple is of a class with a `__getitem__` of its own.
    fn has_own_getitem(&self, source: SourceId) -> bool {
        let py = self.tx.py;
        let of_tuples = type_lookup(&py.get_type::<PyTuple>(), "__getitem__");
        let Some(tuple) = self.tx.reached(source) else {
            return false;
        };
        let own = type_lookup(&tuple.bind(py).get_type(), "__getitem__");
        own.zip(of_tuples)
            .is_some_and(|(own, of_tuples)| !own.is(&of_tuples))
    }

    /// The class of the value of a source, where its `__getattribute__` is written in C.
    fn class_in_c(&mut self, base: SourceId) -> Option<Bound<'py, PyType>> {
        let py = self.tx.py;
        let class = self.class_of(base)?;
        let class = class.bind(py).cast::<PyType>().ok()?.clone();
        let looks_up = type_lookup(&class, "__getattribute__")?;
        let kind = looks_up.bind(py).get_type();
        kind.is(self.tx.known().wrapper_descriptor.bind(py))
            .then_some(class)
    }

    /// Whether `LOAD_ATTR` of an instance attribute reads the instance dict and nothing else.
    fn plain_attr(&mut self, base: SourceId, name: &str) -> bool {
        let py = self.tx.py;
        let Some(class) = self.class_in_c(base) else {
            return false;
        };
        type_lookup(&class, name).is_none_or(|d| {
            let ty = d.bind(py).get_type();
            type_lookup(&ty, "__set__").is_none() && type_lookup(&ty, "__delete__").is_none()
        }) && !class.is_subclass_of::<PyType>().unwrap_or(true)
    }

    /// `-- base.__dict__`
    fn load_instance_dict(&mut self, base: SourceId) -> R<()> {
        if self.plain_dict(base) {
            self.load_source(base)?;
            self.asm.load_attr("__dict__");
            return Ok(());
        }
        let get = self
            .tx
            .known()
            .object
            .bind(self.tx.py)
            .getattr("__getattribute__")?
            .unbind();
        self.asm.callee(&get);
        self.load_source(base)?;
        self.load_str("__dict__");
        self.asm.call(2);
        Ok(())
    }

    fn plain_dict(&mut self, base: SourceId) -> bool {
        let py = self.tx.py;
        let Some(class) = self.class_in_c(base) else {
            return false;
        };
        type_lookup(&class, "__dict__").is_some_and(|d| {
            d.bind(py)
                .get_type()
                .is(self.tx.known().getset_descriptor.bind(py))
        })
    }

    /// `-- value` that the MRO of a known class holds for a name, unbound.
    fn load_mro_attr(&mut self, base: SourceId, name: &str) -> R<()> {
        let py = self.tx.py;
        let class = match self.tx.sources().get(base).clone() {
            Source::TypeOf { base } => self.class_of(base),
            Source::Pinned { pin, .. } | Source::WeakPinned { pin, .. } => Some(self.pinned(pin)?),
            _ => None,
        };
        let Some(class) = class else {
            return Err(self.cannot(format!("the attribute {name} of a class")));
        };
        for c in class
            .bind(py)
            .cast::<PyType>()
            .map_err(PyErr::from)?
            .mro()
            .iter()
        {
            if c.getattr("__dict__")?.contains(name)? {
                self.load_obj(&c.unbind())?;
                self.asm.load_attr("__dict__");
                self.load_str(name);
                self.asm.op(Op::BinarySubscr);
                return Ok(());
            }
        }
        Err(self.cannot(format!("the attribute {name} of a class")))
    }

    /// A guard's constant as an object.
    fn const_obj(&self, c: &ConstVal) -> R<Obj> {
        let py = self.tx.py;
        let mut pinned = |pin| self.pinned(pin).map(|obj| obj.into_bound(py));
        constant::object(py, c, &mut pinned).map(Bound::unbind)
    }
}
