//! Making a memo: which steps of a check need not run again, and what must hold meanwhile.
//!
//! A step whose base is remembered is left out if everything that it reads is of a kind below; any other step
//! runs on each call, on the remembered base.
//!
//! | read | what says that it changed |
//! |---|---|
//! | an item, the keys or the length of a dictionary; a module's or an instance's attribute | a dict watcher, told of these keys only; the dictionary's version tag (3.11) |
//! | which dictionary is an instance's `__dict__` | the word is compared |
//! | an object's class, where it can be assigned | the word is compared |
//! | what a class or its bases give for a name | a type watcher; the class's version tag (3.11) |
//! | a function's code and defaults | the function watcher; on 3.11 assignments of codes are counted and words of defaults compared, a tuple of other than small constants is read on each call |
//! | an item of a tuple, a frozen set, a constant, a function's closure, what a method binds | nothing: they cannot change |
//! | a slot or the content of a remembered cell, where it is a constant, or nothing is asked but its identity and class | the word is compared, and that of the class |
//! | the content of a remembered cell, where it can be held weakly | the word is compared |
//! | the length of a list | the word is compared |
//! | a tensor's class and metadata | all of it is compared ([`torch_abi::packed`]) |
//!
//! Values that are read on each call (arguments, cells, list items) may be compared with the remembered ones and
//! so carry what hangs on them, where their end is reported by a weak reference.
//!
//! Invariant: a memo is made only from a check that passes.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::sync::Arc;

use cpython_abi::objects::size_place;
use pyo3::ffi;
use pyo3::ffi::PyObject;
use rustc_hash::{FxHashMap, FxHashSet};
use torch_abi::packed::{PackedSpec, PackedTensor};
use torch_abi::thread::ThreadModes;

use crate::exec::check::{CheckEnv, CheckProgram};
use crate::exec::fields;
use crate::exec::linked::{FuncField, LinkedOp};
use crate::exec::objects;
use crate::exec::step::Run;
use crate::exec::watch::CHANGES;
use crate::exec::watch::clock::LastSeen;
use crate::exec::watch::codes::{self, Codes};
use crate::exec::watch::events::{DictInterest, Gil, Told, Watched, Watchers};
use crate::exec::watch::hot::{self, rewritten};
use crate::exec::watch::interest::{key, key_of, structure};
use crate::exec::watch::memo::{Dep, Hot, Memo, NONE, Owned, Read, Slot, Tensors, subtree_ends};
use crate::exec::watch::versions::{version_of, version_slot};
use crate::exec::watch::{anchors, instances};
use crate::program::Op;

mod words;

use words::Asked;

/// Whether an op still reads nothing but what reports changes. A class may have got a descriptor.
///
/// # Safety
/// `base` is live, and is what the op reads from.
pub(super) unsafe fn reports_still(
    program: &CheckProgram,
    op: &LinkedOp,
    base: *mut PyObject,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        match op {
            LinkedOp::Attr { name, .. } | LinkedOp::HasAttr { name, .. } => {
                objects::c_field(program.abi(), base, *name).is_none()
            }
            _ => true,
        }
    }
}

/// What a register holds while a memo is made.
#[derive(Clone, Copy)]
enum Held {
    /// Read on each call, from the call alone.
    Early,
    /// Read on each call, from something remembered.
    Late,
    /// Remembered.
    Stable(*mut PyObject),
}

struct DepDraft {
    what: Watched,
    interest: DictInterest,
    reads: Vec<(u32, *mut PyObject, *mut PyObject)>,
    slot: u32,
}

struct Builder<'a, 'p> {
    program: &'a CheckProgram,
    watchers: Option<&'static Watchers>,
    early: Vec<Hot>,
    late: Vec<Hot>,
    /// What the late steps have put into each register.
    put: Vec<*mut PyObject>,
    slots: Vec<Slot>,
    slot_deps: Vec<u32>,
    slot_index: FxHashSet<usize>,
    /// Codes of functions, where their changes are counted.
    codes: Vec<Slot>,
    deps: Vec<DepDraft>,
    dep_index: FxHashMap<Watched, u32>,
    tensors: Vec<(PackedSpec, Vec<PackedTensor>)>,
    spec_index: FxHashMap<PackedSpec, usize>,
    /// Values whose end or change is reported.
    reported: FxHashSet<usize>,
    /// Objects and their dictionaries: the end of the one is reported where the other is watched.
    owners: Vec<(*mut PyObject, *mut PyObject)>,
    /// Objects to hold weakly.
    anchors: Vec<*mut PyObject>,
    /// Constants that the memo keeps alive.
    held: Vec<Owned>,
    /// Globals and builtins that the call must have.
    scopes: [bool; 2],
    env: &'a CheckEnv<'p>,
}

/// Makes a memo of a check that passes now. `old` is what was remembered before; where it was `short_lived`,
/// values that differ from it are counted in `volatile`.
///
/// # Safety
/// As for [`CheckProgram::check`].
pub(super) unsafe fn arm(
    program: &CheckProgram,
    env: &CheckEnv<'_>,
    old: Option<&Memo>,
    short_lived: bool,
    volatile: &mut Vec<u8>,
) -> Option<Memo> {
    let ops = &program.program().ops;
    volatile.resize(ops.len(), 0);
    let ends = subtree_ends(program);
    // SAFETY: the caller's promise; registers are written before they are read, as the verifier proved.
    unsafe {
        let mut builder = Builder {
            program,
            watchers: Watchers::get(),
            early: Vec::new(),
            late: Vec::new(),
            put: vec![std::ptr::null_mut(); program.registers()],
            slots: Vec::new(),
            slot_deps: Vec::new(),
            slot_index: FxHashSet::default(),
            codes: Vec::new(),
            deps: Vec::new(),
            dep_index: FxHashMap::default(),
            tensors: Vec::new(),
            spec_index: FxHashMap::default(),
            reported: FxHashSet::default(),
            owners: Vec::new(),
            anchors: Vec::new(),
            held: Vec::new(),
            scopes: [false; 2],
            env,
        };
        let mut registers = vec![MaybeUninit::new(std::ptr::null_mut()); program.registers()];
        let mut run = Run::new(program, env, &mut registers);
        let mut held = vec![Held::Early; program.registers()];
        let mut values = vec![std::ptr::null_mut(); ops.len()];
        let mut passes = true;
        for (i, op) in ops.iter().enumerate() {
            let index = i as u32;
            let base = match op {
                Op::Load { base, .. } => held[usize::from(base.0)],
                _ => Held::Early,
            };
            if !program.step(program.op(index), &mut run) {
                passes = false;
                break;
            }
            match op {
                Op::Ambient { .. } => builder.early.push(Hot::Run(index)),
                Op::Load {
                    dst,
                    base: b,
                    source,
                } => {
                    let d = usize::from(dst.0);
                    let value = run.reg(dst.0);
                    let root = program.set().sources().get(*source).base().is_none();
                    let base = if root { None } else { Some(base) };
                    let before = old.map_or(std::ptr::null_mut(), |old| old.values[i]);
                    if short_lived && !before.is_null() && before != value {
                        volatile[i] = volatile[i].saturating_add(1);
                    }
                    let settled = volatile[i] < CHANGES;
                    let below = i as u32 + 1..ends[i];
                    let asked = Asked::of(below.clone().map(|op| program.op(op)));
                    let has_children = below
                        .into_iter()
                        .any(|op| matches!(ops[op as usize], Op::Load { .. }));
                    let anchors = settled && has_children && builder.can_anchor(value);
                    held[d] = builder.load(index, base, b.0, dst.0, value, settled, asked);
                    if anchors && !matches!(held[d], Held::Stable(_)) {
                        held[d] = builder.anchor(held[d], dst.0, value);
                    }
                    if let Held::Stable(value) = held[d] {
                        values[i] = value;
                    }
                }
                Op::Check { reg, .. } => match held[usize::from(reg.0)] {
                    Held::Early => builder.early.push(rewritten(program, index, reg.0)),
                    Held::Late => builder.late.push(rewritten(program, index, reg.0)),
                    Held::Stable(value) => {
                        if !builder.check(index, value) {
                            builder.put(reg.0, value);
                            builder.late.push(Hot::Run(index));
                        }
                    }
                },
                Op::Relation { regs: list, .. } => {
                    let remembered = |reg: &crate::program::Reg| match held[usize::from(reg.0)] {
                        Held::Stable(value) => Some(value),
                        _ => None,
                    };
                    // The address of an int that is gone may be that of another one.
                    let by_identity = !matches!(
                        program.op(index),
                        LinkedOp::Overlap { .. }
                            | LinkedOp::Ints { .. }
                            | LinkedOp::Computed { .. }
                    );
                    if by_identity && list.iter().all(|reg| remembered(reg).is_some()) {
                        continue;
                    }
                    for reg in list {
                        if let Some(value) = remembered(reg) {
                            builder.put(reg.0, value);
                        }
                    }
                    builder.late.push(Hot::Run(index));
                }
            }
        }
        if !passes {
            return None;
        }
        builder.finish(values, ends, &run.modes)
    }
}

impl Builder<'_, '_> {
    fn put(&mut self, d: u16, obj: *mut PyObject) {
        let now = &mut self.put[usize::from(d)];
        if *now != obj {
            *now = obj;
            self.late.push(Hot::Put { d, obj });
        }
    }

    /// Decides about a load: `base` is what its base register holds (`None` for roots).
    #[expect(clippy::too_many_arguments, reason = "all of them are one load")]
    unsafe fn load(
        &mut self,
        op: u32,
        base: Option<Held>,
        b: u16,
        d: u16,
        value: *mut PyObject,
        settled: bool,
        asked: Asked,
    ) -> Held {
        // SAFETY: `value` and `base` are live: the check that is being remembered just read them.
        unsafe {
            match base {
                None => {
                    if settled && self.root(op, value) {
                        return Held::Stable(value);
                    }
                    self.early.push(Hot::Run(op));
                    Held::Early
                }
                Some(Held::Early) => {
                    self.early.push(Hot::Run(op));
                    Held::Early
                }
                Some(Held::Late) => {
                    self.late.push(Hot::Run(op));
                    self.put[usize::from(d)] = std::ptr::null_mut();
                    Held::Late
                }
                Some(Held::Stable(base)) => {
                    if settled && self.step(op, base, value, asked) {
                        return Held::Stable(value);
                    }
                    self.put(b, base);
                    self.late.push(Hot::Run(op));
                    self.put[usize::from(d)] = std::ptr::null_mut();
                    Held::Late
                }
            }
        }
    }

    /// Whether a root need not be read on each call.
    unsafe fn root(&mut self, op: u32, value: *mut PyObject) -> bool {
        let null = std::ptr::null_mut();
        // SAFETY: the environment's dictionaries are live.
        unsafe {
            match self.program.op(op) {
                LinkedOp::Pinned { .. } | LinkedOp::WeakPinned { .. } => true,
                LinkedOp::Globals { .. } => {
                    self.scope(0);
                    true
                }
                LinkedOp::Global { name, .. } => {
                    let done = self.dict(self.env.globals, key(*name), (op, null, value));
                    if done {
                        self.scope(0);
                    }
                    done
                }
                LinkedOp::Builtin { name, .. } => {
                    let done = self.dict(self.env.builtins, key(*name), (op, null, value));
                    if done {
                        self.scope(1);
                    }
                    done
                }
                LinkedOp::GlobalsOf {
                    dict, weak, name, ..
                } => {
                    let dict = if *weak {
                        cpython_abi::objects::weakref_target(*dict)
                    } else {
                        Some(*dict)
                    };
                    dict.is_some_and(|dict| self.dict(dict, key(*name), (op, null, value)))
                }
                _ => false,
            }
        }
    }

    fn scope(&mut self, which: usize) {
        if !std::mem::replace(&mut self.scopes[which], true) {
            self.early.push(if which == 0 {
                Hot::Globals(self.env.globals)
            } else {
                Hot::Builtins(self.env.builtins)
            });
        }
    }

    /// Whether a load from a remembered base need not run on each call. `asked` is what
    /// the program asks of the value.
    unsafe fn step(
        &mut self,
        op: u32,
        base: *mut PyObject,
        value: *mut PyObject,
        asked: Asked,
    ) -> bool {
        let read = (op, base, value);
        // SAFETY: `base` is live and was just read in this way.
        unsafe {
            match self.program.op(op) {
                LinkedOp::Attr { name, .. } if fields::is_of_method(base, *name) => true,
                LinkedOp::Attr { name, .. } if !fields::of_function(base, *name).is_null() => {
                    self.code(base, read)
                }
                LinkedOp::Attr { name, .. } => {
                    self.member(*name, read, asked) || self.attribute(*name, read)
                }
                LinkedOp::InstanceDict { .. } => self.instance(base).is_some(),
                LinkedOp::InstanceItem { name, .. } => self
                    .instance(base)
                    .flatten()
                    .is_some_and(|dict| self.dict(dict, key(*name), read)),
                LinkedOp::DictItem { key, .. } => self.dict(base, key_of(key), read),
                LinkedOp::DictKeyAt { .. } => self.dict(base, structure(), read),
                LinkedOp::Cell { .. } => self.cell(base, value, asked),
                LinkedOp::TupleItem { .. } => true,
                LinkedOp::TypeOf { .. } => {
                    self.class(base);
                    true
                }
                LinkedOp::Mro { .. } => self.ty(base.cast(), read),
                LinkedOp::Func { field, .. } => match field {
                    FuncField::Closure => true,
                    FuncField::Code => self.code(base, read),
                    FuncField::Defaults | FuncField::KwDefaults => self.defaults(*field, read),
                },
                _ => false,
            }
        }
    }

    /// Whether a check of a remembered value need not run on each call.
    unsafe fn check(&mut self, op: u32, value: *mut PyObject) -> bool {
        let read = (op, value, std::ptr::null_mut());
        // SAFETY: `value` is live and just passed the check.
        unsafe {
            match self.program.op(op) {
                LinkedOp::Type { .. } => {
                    self.class(value);
                    true
                }
                LinkedOp::Is { .. } | LinkedOp::IsNot { .. } => true,
                LinkedOp::Int { .. } | LinkedOp::Str { .. } | LinkedOp::Const { .. } => true,
                LinkedOp::Code { .. } => self.code(value, read),
                LinkedOp::Tensor { spec, .. } => {
                    self.tensor(value, spec.packed(self.program.abi()))
                }
                LinkedOp::Len { .. } => {
                    if ffi::PyList_Check(value) != 0 {
                        self.slot(size_place(value), NONE);
                        true
                    } else if ffi::PyDict_Check(value) != 0 {
                        self.dict(value, structure(), read)
                    } else {
                        ffi::PyTuple_Check(value) != 0
                            || ffi::PyUnicode_CheckExact(value) != 0
                            || ffi::PyBytes_CheckExact(value) != 0
                            || ffi::PyFrozenSet_CheckExact(value) != 0
                            || ffi::Py_TYPE(value) == &raw mut ffi::PyRange_Type
                    }
                }
                LinkedOp::DictLen { .. } => self.dict(value, structure(), read),
                // The order of an ordered dictionary may change without an event.
                LinkedOp::DictKeys { keys, .. } => {
                    (keys.len() < 2 || !objects::is_ordered_dict(value))
                        && self.dict(value, structure(), read)
                }
                LinkedOp::DictHas { key, .. } => self.dict(value, key_of(key), read),
                LinkedOp::SetHas { .. } => ffi::PyFrozenSet_CheckExact(value) != 0,
                // What a slot or a cell holds changes without an event.
                LinkedOp::HasAttr { name, .. }
                    if objects::c_field(self.program.abi(), value, *name).is_some() =>
                {
                    false
                }
                LinkedOp::HasAttr { name, .. } => {
                    let own = match self.instance(value) {
                        Some(Some(dict)) => self.dict(dict, key(*name), read),
                        _ => true,
                    };
                    self.class(value);
                    own && self.ty(ffi::Py_TYPE(value), read)
                }
                LinkedOp::OwnDictHas { name, .. } => match self.instance(value) {
                    Some(Some(dict)) => self.dict(dict, key(*name), read),
                    _ => true,
                },
                LinkedOp::MroIs { .. } => self.ty(value.cast(), read),
                _ => false,
            }
        }
    }

    /// An attribute that [`objects::attribute`] read out of an object's dictionary or class.
    unsafe fn attribute(
        &mut self,
        name: *mut PyObject,
        read: (u32, *mut PyObject, *mut PyObject),
    ) -> bool {
        let (_, obj, value) = read;
        // SAFETY: a live object.
        unsafe {
            if !matches!(
                objects::attribute_unowned(self.program.abi(), obj, name),
                Some(found) if found == value
            ) {
                return false;
            }
            let ty = ffi::Py_TYPE(obj);
            self.class(obj);
            if ffi::PyType_Check(obj) != 0 {
                return self.ty(ty, read) && self.ty(obj.cast(), read);
            }
            let own = match self.instance(obj) {
                Some(Some(dict)) => self.dict(dict, key(name), read),
                _ => true,
            };
            own && self.ty(ty, read)
        }
    }

    unsafe fn dict(
        &mut self,
        dict: *mut PyObject,
        interest: DictInterest,
        read: (u32, *mut PyObject, *mut PyObject),
    ) -> bool {
        // SAFETY: a live dictionary.
        unsafe {
            if dict.is_null() || ffi::PyDict_Check(dict) == 0 {
                return false;
            }
            let what = Watched::Dict(dict);
            if !self.dep_index.contains_key(&what) && instances::is_unseen(dict) {
                return false;
            }
            let watched = self.depend(what, interest, read);
            if watched {
                self.reported.insert(dict as usize);
            }
            watched
        }
    }

    unsafe fn ty(
        &mut self,
        ty: *mut ffi::PyTypeObject,
        read: (u32, *mut PyObject, *mut PyObject),
    ) -> bool {
        // SAFETY: a live class.
        unsafe {
            if is_immutable(ty) {
                return true;
            }
            let watched = self.depend(Watched::Type(ty), DictInterest::default(), read);
            if watched && self.reported.insert(ty as usize) {
                self.anchors.push(ty.cast());
            }
            watched
        }
    }

    /// The code of a function: reported, or counted or compared where functions report nothing.
    unsafe fn code(
        &mut self,
        function: *mut PyObject,
        read: (u32, *mut PyObject, *mut PyObject),
    ) -> bool {
        // SAFETY: a live function.
        unsafe {
            if self.watchers.is_some_and(Watchers::has_functions) {
                return self.function(read);
            }
            let function = function.cast::<ffi::PyFunctionObject>();
            let place: *const usize = (&raw const (*function).func_code).cast();
            if !codes::is_counted() {
                self.slot(place, NONE);
            } else if self.slot_index.insert(place as usize) {
                let word = Cell::new(*place);
                self.codes.push(Slot { at: place, word });
            }
            true
        }
    }

    /// What a function has for parameters that are not given: reported, or compared where functions report
    /// nothing. The address of a tuple stands for it only while it is kept alive; a dictionary has a version.
    unsafe fn defaults(
        &mut self,
        field: FuncField,
        read: (u32, *mut PyObject, *mut PyObject),
    ) -> bool {
        // SAFETY: a live function, whose field was just read.
        unsafe {
            if self.watchers.is_some_and(Watchers::has_functions) {
                return self.function(read);
            }
            let (_, function, value) = read;
            let function = function.cast::<ffi::PyFunctionObject>();
            let place = match field {
                FuncField::Defaults => &raw const (*function).func_defaults,
                FuncField::KwDefaults => &raw const (*function).func_kwdefaults,
                FuncField::Closure | FuncField::Code => return false,
            };
            let compared =
                (*place).is_null() || ffi::PyDict_CheckExact(value) != 0 || self.keeps_tuple(value);
            if compared {
                self.slot(place.cast(), NONE);
            }
            compared
        }
    }

    unsafe fn function(&mut self, read: (u32, *mut PyObject, *mut PyObject)) -> bool {
        if !self.watchers.is_some_and(Watchers::has_functions) {
            return false;
        }
        self.reported.insert(read.1 as usize);
        // SAFETY: a live function.
        unsafe { self.depend(Watched::Function(read.1), DictInterest::default(), read) }
    }

    unsafe fn depend(
        &mut self,
        what: Watched,
        interest: DictInterest,
        read: (u32, *mut PyObject, *mut PyObject),
    ) -> bool {
        let dep = match self.dep_index.get(&what) {
            Some(&dep) => dep,
            None => {
                // SAFETY: what is watched is live.
                unsafe {
                    let mut slot = NONE;
                    let next = self.deps.len() as u32;
                    match self.watchers {
                        Some(watchers) => {
                            if !watchers.watch(what) {
                                return false;
                            }
                        }
                        None => {
                            let (Some(at), Some(_)) = (version_slot(what), version_of(what)) else {
                                return false;
                            };
                            slot = self.slot(at, next);
                        }
                    }
                    self.deps.push(DepDraft {
                        what,
                        interest: DictInterest::default(),
                        reads: Vec::new(),
                        slot,
                    });
                    self.dep_index.insert(what, next);
                    next
                }
            }
        };
        let draft = &mut self.deps[dep as usize];
        for hash in interest.keys {
            if !draft.interest.keys.contains(&hash) {
                draft.interest.keys.push(hash);
            }
        }
        draft.interest.structure |= interest.structure;
        draft.interest.all |= interest.all;
        draft.reads.push(read);
        true
    }

    unsafe fn tensor(&mut self, object: *mut PyObject, spec: Option<PackedSpec>) -> bool {
        let (Some(spec), Some(reader)) = (spec, self.program.packed_reader()) else {
            return false;
        };
        // SAFETY: the object just passed a check of its class and metadata.
        let tensor = unsafe { reader.tensor(object) };
        match self.spec_index.get(&spec) {
            Some(&at) => self.tensors[at].1.push(tensor),
            None => {
                self.spec_index.insert(spec.clone(), self.tensors.len());
                self.tensors.push((spec, vec![tensor]));
            }
        }
        true
    }

    /// Whether a value that is read on each call may stand for what hangs on it.
    fn can_anchor(&self, value: *mut PyObject) -> bool {
        // SAFETY: a live object.
        unsafe {
            let ty = ffi::Py_TYPE(value);
            (*ty).tp_weaklistoffset != 0 && !self.program.abi().is_tensor_type(ty)
        }
    }

    fn anchor(&mut self, held: Held, r: u16, obj: *mut PyObject) -> Held {
        let step = Hot::Is { r, obj };
        if matches!(held, Held::Late) {
            self.late.push(step);
            self.put[usize::from(r)] = obj;
        } else {
            self.early.push(step);
        }
        self.anchors.push(obj);
        self.reported.insert(obj as usize);
        Held::Stable(obj)
    }

    unsafe fn finish(
        mut self,
        values: Vec<*mut PyObject>,
        ends: Box<[u32]>,
        modes: &ThreadModes,
    ) -> Option<Memo> {
        for (obj, dict) in &self.owners {
            if self.reported.contains(&(*dict as usize)) {
                self.reported.insert(*obj as usize);
            }
        }
        let told = Arc::new(Gil::new(Told::new(self.deps.len())));
        // SAFETY: anchors are live objects; the GIL is held.
        let weak = unsafe { anchors::hold(&mut self.anchors, &told)? };
        let mut hot = hot::fuse(self.program, modes, std::mem::take(&mut self.early));
        let codes = (!self.codes.is_empty())
            .then(|| Codes::new(std::mem::take(&mut self.codes)))
            .flatten();
        let is_empty = self.deps.is_empty() && self.slots.is_empty() && self.anchors.is_empty();
        if !(is_empty && codes.is_none()) {
            hot.push(Hot::Verify);
        }
        hot.append(&mut self.late);
        let other_slots = self.other_slots();
        let ops = &self.program.program().ops;
        let mut deps = Vec::with_capacity(self.deps.len());
        for (i, draft) in self.deps.into_iter().enumerate() {
            let mut reads: Vec<Read> = draft
                .reads
                .into_iter()
                .map(|(op, base, value)| Read {
                    op,
                    base,
                    deep: matches!(ops[op as usize], Op::Load { .. })
                        && !self.reported.contains(&(value as usize)),
                })
                .collect();
            reads.shrink_to_fit();
            if let Some(watchers) = self.watchers {
                // SAFETY: what is watched is live, and is being watched.
                unsafe { watchers.tell(draft.what, &told, i as u32, draft.interest) };
            }
            deps.push(Dep {
                what: draft.what,
                reads,
                slot: draft.slot,
            });
        }
        Some(Memo {
            hot: hot.into(),
            slots: self.slots.into(),
            slot_deps: self.slot_deps.into(),
            other_slots,
            last_seen: LastSeen::default(),
            codes,
            tensors: Tensors::new(self.tensors),
            deps: deps.into(),
            values: values.into(),
            ends,
            told,
            _weak: weak,
            _held: self.held,
        })
    }
}

unsafe fn is_immutable(ty: *mut ffi::PyTypeObject) -> bool {
    // SAFETY: a live class.
    unsafe { (*ty).tp_flags & ffi::Py_TPFLAGS_IMMUTABLETYPE != 0 }
}
