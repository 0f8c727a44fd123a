//! Linking: a program's names and constants become pointers of this interpreter.
//!
//! Invariant: every pointer in a linked op is owned by the program (`owned`), pinned by its pins, or immortal.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicIsize, AtomicU32, Ordering};

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::PyString;
use rustc_hash::FxHashMap;
use torch_abi::TorchAbi;

use crate::exec::abc::AbcAnswer;
use crate::exec::check::{CheckProgram, LinkedComputed, LinkedExpr};
use crate::exec::constant;
use crate::exec::linked::{FuncField, LinkedCall, LinkedConst, LinkedKey, LinkedOp};
use crate::exec::pins::Pins;
use crate::guard::GuardKind;
use crate::kinds::symbolic::LinkedRelation;
use crate::kinds::tensor::LinkedTensor;
use crate::program::{Op, Program};
use crate::set::GuardSet;
use crate::source::Source;
use crate::value::ConstVal;
use crate::value::ObjRef;

/// Why a program could not be linked.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// A source or guard names a pin that the pin table does not have.
    #[error("pin {0} does not exist")]
    NoSuchPin(u32),
    /// A guard is about what the compiled code makes.
    #[error("a guard of a value that is not made yet")]
    Early,
    /// Python raised (out of memory).
    #[error("{0}")]
    Python(#[from] PyErr),
    /// torch is not usable.
    #[error("{0}")]
    Torch(#[from] torch_abi::AbiError),
}

/// Makes Python objects for constants and remembers them.
struct Linker<'a, 'py> {
    py: Python<'py>,
    pins: &'a Pins,
    owned: Vec<Py<PyAny>>,
    /// Python's strings by text: guards name few, each many times.
    interned: FxHashMap<Box<str>, Py<PyAny>>,
    /// The token of all answers of abstract classes, once there is one.
    token: Option<Arc<AtomicI64>>,
}

impl CheckProgram {
    /// Links a program. Takes the pins over: they live as long as the program.
    ///
    /// # Errors
    /// [`LinkError`] if a pin does not exist, or if Python or torch fail.
    pub fn link(
        py: Python<'_>,
        set: Arc<GuardSet>,
        program: Program,
        pins: Pins,
    ) -> Result<Self, LinkError> {
        let abi = TorchAbi::get(py)?;
        let mut linker = Linker {
            py,
            pins: &pins,
            owned: Vec::new(),
            interned: FxHashMap::default(),
            token: None,
        };
        let ops = program
            .ops
            .iter()
            .map(|op| linker.op(&set, op))
            .collect::<Result<Vec<_>, _>>()?;
        let owned = linker.owned;
        Ok(Self::from_parts(abi, set, program, ops, pins, owned))
    }
}

impl Linker<'_, '_> {
    fn answer(
        &mut self,
        class: &ObjRef,
        base: &ObjRef,
        token: i64,
    ) -> Result<AbcAnswer, LinkError> {
        let ask = self.py.import("_abc")?.getattr("get_cache_token")?.unbind();
        let is_first = self.token.is_none();
        let shared = self
            .token
            .get_or_insert_with(|| Arc::new(AtomicI64::new(token)));
        // Of answers with different tokens, the oldest has to be asked for again.
        shared.fetch_min(token, Ordering::Relaxed);
        Ok(AbcAnswer {
            class: class.addr as *mut PyObject,
            base: base.addr as *mut PyObject,
            token: shared.clone(),
            ask: match is_first {
                true => self.keep(ask),
                false => std::ptr::null_mut(),
            },
        })
    }

    fn keep(&mut self, obj: Py<PyAny>) -> *mut PyObject {
        let ptr = obj.as_ptr();
        self.owned.push(obj);
        ptr
    }

    fn name(&mut self, name: &str) -> *mut PyObject {
        let name = self.text(name);
        self.keep(name)
    }

    fn text(&mut self, text: &str) -> Py<PyAny> {
        if let Some(known) = self.interned.get(text) {
            return known.clone_ref(self.py);
        }
        let interned = PyString::intern(self.py, text).into_any().unbind();
        let known = interned.clone_ref(self.py);
        self.interned.insert(text.into(), known);
        interned
    }

    fn pin(&self, pin: u32) -> Result<(*mut PyObject, bool), LinkError> {
        self.pins.raw(pin).ok_or(LinkError::NoSuchPin(pin))
    }

    fn object(&self, value: &ConstVal) -> Result<Py<PyAny>, LinkError> {
        let mut pinned = |pin| self.pins.get(self.py, pin).ok_or(LinkError::NoSuchPin(pin));
        constant::object(self.py, value, &mut pinned).map(Bound::unbind)
    }

    fn constant(&mut self, value: &ConstVal) -> Result<LinkedConst, LinkError> {
        Ok(match value {
            ConstVal::None | ConstVal::Ellipsis | ConstVal::NotImplemented | ConstVal::Bool(_) => {
                let obj = self.object(value)?;
                LinkedConst::Same(self.keep(obj))
            }
            ConstVal::Obj(obj) => LinkedConst::Same(obj.addr as *mut PyObject),
            ConstVal::Int(value) => LinkedConst::Int(*value),
            ConstVal::BigInt(_) => {
                let obj = self.object(value)?;
                LinkedConst::BigInt(self.keep(obj))
            }
            ConstVal::Float(bits) => LinkedConst::Float(*bits),
            ConstVal::Complex(re, im) => LinkedConst::Complex(*re, *im),
            ConstVal::Str(_) => {
                let obj = self.object(value)?;
                LinkedConst::Str(self.keep(obj))
            }
            ConstVal::Bytes(_) => {
                let obj = self.object(value)?;
                LinkedConst::Bytes(self.keep(obj))
            }
            ConstVal::Tuple(items) => LinkedConst::Tuple(
                items
                    .iter()
                    .map(|item| self.constant(item))
                    .collect::<Result<_, _>>()?,
            ),
            ConstVal::Size(dims) => LinkedConst::Size((**dims).into()),
            ConstVal::Device { kind, index, .. } => LinkedConst::Device(*kind, *index),
        })
    }

    fn key(&mut self, key: &ConstVal) -> Result<Box<LinkedKey>, LinkError> {
        // A key that is compared by identity needs no reference of its own: its pin has one, perhaps a weak one.
        let obj = match key {
            ConstVal::Obj(obj) => obj.addr as *mut PyObject,
            _ => {
                let obj = self.object(key)?;
                self.keep(obj)
            }
        };
        // SAFETY: `obj` is live: owned by the program or pinned.
        let is_plain =
            !matches!(key, ConstVal::Obj(_)) && unsafe { crate::exec::objects::is_plain(obj) };
        Ok(Box::new(LinkedKey {
            obj,
            is_str: matches!(key, ConstVal::Str(_)),
            is_plain,
            hint: AtomicIsize::new(0),
        }))
    }

    fn op(&mut self, set: &GuardSet, op: &Op) -> Result<LinkedOp, LinkError> {
        match op {
            Op::Load { dst, base, source } => self.load(dst.0, base.0, set.sources().get(*source)),
            Op::Check { reg, guard } => self.check(reg.0, &set.guard(*guard).kind),
            Op::Ambient { guard } => {
                let mut op = self.check(0, &set.guard(*guard).kind)?;
                if let LinkedOp::Call { on_value, .. } = &mut op {
                    *on_value = false;
                }
                Ok(op)
            }
            Op::Relation { regs, guard } => {
                let regs: Box<[u16]> = regs.iter().map(|reg| reg.0).collect();
                Ok(match &set.guard(*guard).kind {
                    GuardKind::ObjectAliasing { .. } => LinkedOp::Same {
                        a: regs[0],
                        b: regs[1],
                    },
                    GuardKind::NotAliasing { .. } => LinkedOp::Differ {
                        a: regs[0],
                        b: regs[1],
                    },
                    GuardKind::StorageOverlap { overlapping, .. } => LinkedOp::Overlap {
                        regs,
                        overlapping: overlapping.len(),
                    },
                    GuardKind::ShapeEnv { relation } => LinkedOp::Ints {
                        relation: Box::new(LinkedRelation {
                            relation: (**relation).clone(),
                            registers: relation.sources().into_iter().zip(regs).collect(),
                        }),
                    },
                    GuardKind::ComputedMatch { expr, value } => {
                        let registers: Vec<_> = expr.sources().into_iter().zip(regs).collect();
                        let computed = LinkedComputed {
                            expr: LinkedExpr::link(expr, &registers, &mut |constant| {
                                let object = self.object(constant)?;
                                Ok(self.keep(object))
                            })?,
                            value: self.constant(value)?,
                        };
                        LinkedOp::Computed {
                            computed: Box::new(computed),
                        }
                    }
                    _ => LinkedOp::NoAliasing { regs },
                })
            }
        }
    }

    fn load(&mut self, d: u16, b: u16, source: &Source) -> Result<LinkedOp, LinkError> {
        Ok(match source {
            Source::Local { index, .. } => LinkedOp::Local { d, index: *index },
            Source::Closure { index, .. } => LinkedOp::Closure { d, index: *index },
            Source::Cells => LinkedOp::Cells { d },
            Source::Globals => LinkedOp::Globals { d },
            Source::Global { name } => LinkedOp::Global {
                d,
                name: self.name(name),
            },
            Source::GlobalsOf { pin, name, .. } => {
                let (dict, weak) = self.pin(*pin)?;
                LinkedOp::GlobalsOf {
                    d,
                    dict,
                    weak,
                    name: self.name(name),
                }
            }
            Source::Builtin { name } => LinkedOp::Builtin {
                d,
                name: self.name(name),
            },
            Source::Attr { name, .. } => LinkedOp::Attr {
                d,
                b,
                name: self.name(name),
            },
            Source::InstanceDict { .. } => LinkedOp::InstanceDict { d, b },
            Source::InstanceDictItem { name, .. } => LinkedOp::InstanceItem {
                d,
                b,
                name: self.name(name),
            },
            Source::DictItem { key, .. } => LinkedOp::DictItem {
                d,
                b,
                key: self.key(key)?,
            },
            Source::DictKeyAt { index, .. } => LinkedOp::DictKeyAt {
                d,
                b,
                index: *index,
            },
            Source::ListItem { index, .. } => LinkedOp::ListItem {
                d,
                b,
                index: *index,
            },
            Source::TupleItem { index, .. } => LinkedOp::TupleItem {
                d,
                b,
                index: *index,
            },
            Source::CellContents { .. } => LinkedOp::Cell { d, b },
            Source::Under { .. } => LinkedOp::Under { d, b },
            Source::TypeOf { .. } => LinkedOp::TypeOf { d, b },
            Source::MroAttr { name, .. } => LinkedOp::Mro {
                d,
                b,
                name: self.name(name),
            },
            Source::FuncDefaults { .. } => LinkedOp::Func {
                d,
                b,
                field: FuncField::Defaults,
            },
            Source::FuncKwDefaults { .. } => LinkedOp::Func {
                d,
                b,
                field: FuncField::KwDefaults,
            },
            Source::FuncClosure { .. } => LinkedOp::Func {
                d,
                b,
                field: FuncField::Closure,
            },
            Source::FuncCode { .. } => LinkedOp::Func {
                d,
                b,
                field: FuncField::Code,
            },
            Source::Pinned { pin, .. } | Source::WeakPinned { pin, .. } => match self.pin(*pin)? {
                (obj, false) => LinkedOp::Pinned { d, obj },
                (weak, true) => LinkedOp::WeakPinned { d, weak },
            },
            Source::FunctionMode { index } => LinkedOp::FunctionMode { d, index: *index },
            Source::Early { .. } => return Err(LinkError::Early),
        })
    }

    fn check(&mut self, r: u16, kind: &GuardKind) -> Result<LinkedOp, LinkError> {
        let singleton = |value: ConstVal, linker: &mut Self| -> Result<*mut PyObject, LinkError> {
            let obj = linker.object(&value)?;
            Ok(linker.keep(obj))
        };
        Ok(match kind {
            GuardKind::TypeMatch { ty } => LinkedOp::Type {
                r,
                ty: ty.addr as *mut ffi::PyTypeObject,
            },
            GuardKind::IdMatch { obj }
            | GuardKind::FunctionMatch { obj }
            | GuardKind::ModuleMatch { obj } => LinkedOp::Is {
                r,
                obj: obj.addr as *mut PyObject,
            },
            GuardKind::ClosureMatch { code } => LinkedOp::Code {
                r,
                code: code.addr as *mut PyObject,
            },
            GuardKind::NoneMatch => LinkedOp::Is {
                r,
                obj: singleton(ConstVal::None, self)?,
            },
            GuardKind::TrueMatch => LinkedOp::Is {
                r,
                obj: singleton(ConstVal::Bool(true), self)?,
            },
            GuardKind::FalseMatch => LinkedOp::Is {
                r,
                obj: singleton(ConstVal::Bool(false), self)?,
            },
            GuardKind::NotNoneMatch => LinkedOp::IsNot {
                r,
                obj: singleton(ConstVal::None, self)?,
            },
            GuardKind::EqualsMatch { value } | GuardKind::ConstantMatch { value } => {
                match self.constant(value)? {
                    LinkedConst::Same(obj) => LinkedOp::Is { r, obj },
                    LinkedConst::Int(value) => LinkedOp::Int { r, value },
                    LinkedConst::Str(value) => LinkedOp::Str { r, value },
                    value => LinkedOp::Const {
                        r,
                        value: Box::new(value),
                    },
                }
            }
            GuardKind::TensorMatch { spec } => LinkedOp::Tensor {
                r,
                spec: Box::new(LinkedTensor::new(spec)),
            },
            GuardKind::SequenceLength { len } => LinkedOp::Len { r, len: *len },
            GuardKind::DictLength { len } => LinkedOp::DictLen { r, len: *len },
            GuardKind::DictKeys { keys } => LinkedOp::DictKeys {
                r,
                keys: keys
                    .iter()
                    .map(|key| self.constant(key))
                    .collect::<Result<_, _>>()?,
            },
            GuardKind::DictContains { key, present } => LinkedOp::DictHas {
                r,
                key: self.key(key)?,
                present: *present,
            },
            GuardKind::SetContains { key, present } => LinkedOp::SetHas {
                r,
                key: self.key(key)?,
                present: *present,
            },
            GuardKind::SetItems { items } => LinkedOp::SetItems {
                r,
                items: items
                    .iter()
                    .map(|item| self.constant(item))
                    .collect::<Result<_, _>>()?,
            },
            GuardKind::CallMatch { func, args, value } => {
                let args = args
                    .iter()
                    .map(|arg| {
                        let obj = self.object(arg)?;
                        Ok(self.keep(obj))
                    })
                    .collect::<Result<_, LinkError>>()?;
                LinkedOp::Call {
                    r,
                    on_value: true,
                    call: Box::new(LinkedCall {
                        func: func.addr as *mut PyObject,
                        args,
                        value: self.constant(value)?,
                    }),
                }
            }
            GuardKind::NotSubclass { class, base, token } => LinkedOp::NotSubclass {
                answer: self.answer(class, base, *token)?,
            },
            GuardKind::HasAttr { name, present } => LinkedOp::HasAttr {
                r,
                name: self.name(name),
                present: *present,
                absent: AtomicU32::new(0),
            },
            GuardKind::GenericDictContains { name, present } => LinkedOp::OwnDictHas {
                r,
                name: self.name(name),
                present: *present,
            },
            GuardKind::MroAttr { name, value } => LinkedOp::MroIs {
                r,
                name: self.name(name),
                value: value
                    .as_ref()
                    .map_or(std::ptr::null_mut(), |obj| obj.addr as *mut PyObject),
            },
            GuardKind::WeakrefAlive => LinkedOp::WeakAlive { r },
            GuardKind::RangeIteratorMatch { start, stop, step } => LinkedOp::RangeIter {
                r,
                start: *start,
                stop: *stop,
                step: *step,
            },
            GuardKind::TupleIteratorLen { len } => LinkedOp::TupleIter { r, len: *len },
            GuardKind::ListIteratorLen { len } => LinkedOp::ListIter {
                r,
                reverse: false,
                len: *len,
            },
            GuardKind::ListReverseIteratorLen { len } => LinkedOp::ListIter {
                r,
                reverse: true,
                len: *len,
            },
            GuardKind::CountIteratorMatch { start, step } => LinkedOp::CountIter {
                r,
                start: *start,
                step: *step,
            },
            GuardKind::GradMode { enabled } => LinkedOp::GradMode { enabled: *enabled },
            GuardKind::InferenceMode { enabled } => LinkedOp::InferenceMode { enabled: *enabled },
            GuardKind::DefaultDevice { device } => LinkedOp::DefaultDevice {
                device: Box::new(self.constant(device)?),
            },
            GuardKind::DefaultDtype { dtype, .. } => LinkedOp::DefaultDtype { dtype: *dtype },
            GuardKind::DeterministicAlgorithms { enabled, warn_only } => LinkedOp::Deterministic {
                enabled: *enabled,
                warn_only: *warn_only,
            },
            GuardKind::GlobalState { state } => LinkedOp::GlobalState {
                state: state.clone(),
            },
            GuardKind::TorchFunctionState { state } => LinkedOp::TorchFunction { state: *state },
            GuardKind::TorchFunctionModeStack { modes } => LinkedOp::ModeStack {
                modes: modes
                    .iter()
                    .map(|m| (m.ty.addr as *mut ffi::PyTypeObject, m.device.clone()))
                    .collect(),
            },
            GuardKind::ObjectAliasing { .. } | GuardKind::NotAliasing { .. } => {
                LinkedOp::NoAliasing { regs: [].into() }
            }
            GuardKind::NoTensorAliasing { .. }
            | GuardKind::StorageOverlap { .. }
            | GuardKind::ShapeEnv { .. }
            | GuardKind::ComputedMatch { .. } => LinkedOp::NoAliasing { regs: [].into() },
        })
    }
}
