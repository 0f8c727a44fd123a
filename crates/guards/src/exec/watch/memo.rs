//! What a passing check left behind, and checking by it.
//!
//! Invariant: whatever a memo follows is alive when it is followed. A call's own values and pins are alive by
//! themselves. Below an anchor (a value that is compared with the remembered one, and whose end is reported)
//! everything is held by something that was found unchanged before: words are compared in the order of the
//! program, bases first.

use std::mem::MaybeUninit;
use std::sync::Arc;

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use smallvec::SmallVec;
use torch_abi::packed::{PackedSpec, PackedTensor};

use crate::exec::check::{CheckEnv, CheckProgram, STACK_REGISTERS};
use crate::exec::step::Run;
use crate::exec::watch::clock::{LastSeen, Since};
use crate::exec::watch::codes::Codes;
use crate::exec::watch::events::{Gil, Told, Watched, Watchers};
use crate::exec::watch::hot::{Argument, State};
use crate::exec::watch::{arm, versions};
use crate::program::Op;
use crate::source::SourceId;

/// A step of a check by memo.
pub(super) enum Hot {
    /// Runs an op of the program; where that fails, the check fails.
    Run(u32),
    /// torch's state must be this; where not, the check fails.
    State(Box<State>),
    /// An argument must look like this; where not, the check fails.
    Argument(Box<Argument>),
    /// The register must hold a tensor that looks like this; where not, the check fails.
    Tensor { r: u16, spec: Box<PackedSpec> },
    /// The register must hold the remembered value.
    Is { r: u16, obj: *mut PyObject },
    /// Puts a remembered value into a register.
    Put { d: u16, obj: *mut PyObject },
    /// The call has the remembered globals.
    Globals(*mut PyObject),
    /// The call has the remembered builtins.
    Builtins(*mut PyObject),
    /// From here on remembered values are followed: whatever could have changed is looked at.
    Verify,
}

/// A word that must be as it was.
pub(super) struct Slot {
    pub(super) at: *const usize,
    pub(super) word: std::cell::Cell<usize>,
}

/// A slot once more, beside those that are compared with it: what is spread over a model is memory enough to read.
pub(super) struct OtherSlot {
    pub(super) copy: Slot,
    /// Which slot it is.
    pub(super) index: u32,
}

/// No dependency: a slot that says so cannot be repaired.
pub(super) const NONE: u32 = u32::MAX;

/// Remembered tensors, those that look the same one behind the other.
#[derive(Default)]
pub(super) struct Tensors {
    all: Box<[PackedTensor]>,
    /// What they look like, and how many do.
    kinds: Box<[(PackedSpec, usize)]>,
}

impl Tensors {
    pub(super) fn new(alike: Vec<(PackedSpec, Vec<PackedTensor>)>) -> Self {
        Self {
            all: alike.iter().flat_map(|(_, same)| same).copied().collect(),
            kinds: alike
                .into_iter()
                .map(|(spec, same)| (spec, same.len()))
                .collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// A read of something that reports changes.
pub(super) struct Read {
    /// The op that reads.
    pub(super) op: u32,
    /// What its base register held; null for roots.
    pub(super) base: *mut PyObject,
    /// Whether the end of what was read goes unreported, so that what hangs on it must be read again too.
    pub(super) deep: bool,
}

/// Something that reports changes, and what was read of it.
pub(super) struct Dep {
    pub(super) what: Watched,
    pub(super) reads: Vec<Read>,
    /// The slot with its version, where changes are seen by comparing.
    pub(super) slot: u32,
}

/// What a check by memo found.
pub(super) enum Verdict {
    /// Every guard holds.
    Pass,
    /// A guard fails.
    Fail,
    /// The memo does not say.
    Unknown,
}

/// What is remembered.
pub(super) struct Memo {
    pub(super) hot: Box<[Hot]>,
    pub(super) slots: Box<[Slot]>,
    /// The dependency of each slot, or [`NONE`].
    pub(super) slot_deps: Box<[u32]>,
    /// The slots that are no versions of dictionaries, in order, where those are many.
    pub(super) other_slots: Option<Box<[OtherSlot]>>,
    pub(super) last_seen: LastSeen,
    /// Codes of functions, where their changes are counted.
    pub(super) codes: Option<Codes>,
    pub(super) tensors: Tensors,
    pub(super) deps: Box<[Dep]>,
    /// Per op: the value that a load gave, or null where it is loaded on each call.
    pub(super) values: Box<[*mut PyObject]>,
    /// Per op: the end of the ops below it.
    pub(super) ends: Box<[u32]>,
    pub(super) told: Arc<Gil<Told>>,
    /// Weak references whose callbacks report the end of an object.
    pub(super) _weak: Vec<Py<PyAny>>,
    /// Constants whose addresses are compared.
    pub(super) _held: Vec<Owned>,
}

/// A constant that is kept alive.
pub(super) struct Owned(pub(super) *mut PyObject);

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the reference is owned; a thread that is torn down has no GIL, and leaks it.
        unsafe {
            if ffi::PyGILState_Check() != 0 {
                ffi::Py_DECREF(self.0);
            }
        }
    }
}

impl Memo {
    /// Whether the memo leaves out nothing.
    pub(super) fn is_useless(&self) -> bool {
        let rewritten = self.hot.iter().any(|hot| !matches!(hot, Hot::Run(_)));
        self.deps.is_empty() && self.slots.is_empty() && self.tensors.is_empty() && !rewritten
    }
}

impl Drop for Memo {
    fn drop(&mut self) {
        // SAFETY: with the GIL held; without it (a thread that is torn down) the registry keeps flags that
        // nobody reads.
        unsafe {
            if ffi::PyGILState_Check() == 0 {
                return;
            }
            if let Some(watchers) = Watchers::get() {
                for dep in &self.deps {
                    watchers.forget(dep.what, &self.told);
                }
            }
        }
    }
}

/// The first slot whose word is another one than it was.
///
/// # Safety
/// What holds the word of a slot is held by what the slots before it describe, as long as those are as they were.
#[inline]
unsafe fn first_changed(slots: &[Slot]) -> Option<usize> {
    // SAFETY: the caller's promise; the slots before are as they were.
    let is_changed = |slot: &Slot| unsafe { *slot.at != slot.word.get() };
    // Eight in a row take half the instructions of one at a time.
    let (eights, rest) = slots.as_chunks::<8>();
    for (i, eight) in eights.iter().enumerate() {
        for (j, slot) in eight.iter().enumerate() {
            if is_changed(slot) {
                return Some(8 * i + j);
            }
        }
    }
    let last = rest.iter().position(is_changed)?;
    Some(8 * eights.len() + last)
}

/// Per op: the end of the ops below it. Ops are in depth-first order.
pub(super) fn subtree_ends(program: &CheckProgram) -> Box<[u32]> {
    let ops = &program.program().ops;
    let sources = program.set().sources();
    let mut ends: Vec<u32> = (1..=ops.len() as u32).collect();
    let mut open: Vec<(usize, SourceId)> = Vec::new();
    for (i, op) in ops.iter().enumerate() {
        match op {
            Op::Load { source, .. } => {
                let base = sources.get(*source).base();
                while let Some((load, id)) = open.last() {
                    if Some(*id) == base {
                        break;
                    }
                    ends[*load] = i as u32;
                    open.pop();
                }
                open.push((i, *source));
            }
            Op::Check { .. } => {}
            Op::Ambient { .. } | Op::Relation { .. } => {
                for (load, _) in open.drain(..) {
                    ends[load] = i as u32;
                }
            }
        }
    }
    for (load, _) in open {
        ends[load] = ops.len() as u32;
    }
    ends.into()
}

impl CheckProgram {
    /// Checks a call by the memo.
    ///
    /// # Safety
    /// As for [`CheckProgram::check`].
    #[inline]
    pub(super) unsafe fn run_memo(&self, memo: &Memo, env: &CheckEnv<'_>) -> Verdict {
        // SAFETY: the caller's promise; the ops were verified, and registers are written in the same order.
        unsafe {
            let mut few = [MaybeUninit::uninit(); STACK_REGISTERS];
            let mut many = Vec::new();
            let mut run = Run::new(self, env, self.registers_in(&mut few, &mut many));
            match self.hot_steps(memo, &mut run) {
                Verdict::Pass if !self.same_tensors(memo, run.modes.keys) => Verdict::Fail,
                verdict => verdict,
            }
        }
    }

    #[inline]
    unsafe fn hot_steps(&self, memo: &Memo, run: &mut Run<'_>) -> Verdict {
        // SAFETY: as above; the end of every remembered object was reported, or it is alive.
        unsafe {
            for step in &memo.hot {
                let holds = match step {
                    Hot::Run(op) => {
                        if !self.step(self.op(*op), run) {
                            return Verdict::Fail;
                        }
                        true
                    }
                    Hot::State(state) => {
                        if !self.has_state(state, run) {
                            return Verdict::Fail;
                        }
                        true
                    }
                    Hot::Argument(argument) => {
                        if !self.is_given(argument, run) {
                            return Verdict::Fail;
                        }
                        true
                    }
                    Hot::Tensor { r, spec } => {
                        if !self.holds(*r, spec, run) {
                            return Verdict::Fail;
                        }
                        true
                    }
                    Hot::Is { r, obj } => run.reg(*r) == *obj,
                    Hot::Put { d, obj } => run.put(*d, *obj),
                    Hot::Globals(globals) => run.env.globals == *globals,
                    Hot::Builtins(builtins) => run.env.builtins == *builtins,
                    Hot::Verify => {
                        (memo.told.get().is_clean() || self.revalidate(memo, &run.env))
                            && self.same_slots(memo, &run.env)
                            && memo.codes.as_ref().is_none_or(|codes| codes.are_same())
                    }
                };
                if !holds {
                    return Verdict::Unknown;
                }
            }
        }
        Verdict::Pass
    }

    #[inline]
    unsafe fn same_slots(&self, memo: &Memo, env: &CheckEnv<'_>) -> bool {
        // SAFETY: what holds the word is held by what the slots before it describe, compared or known to be as
        // it was.
        let is_same = |i: usize| unsafe {
            let slot = &memo.slots[i];
            *slot.at == slot.word.get() || self.repair_slot(memo, i, env)
        };
        let mut time = None;
        if let Some(others) = &memo.other_slots {
            // SAFETY: a check has the GIL.
            match unsafe { memo.last_seen.ask() } {
                Since::Unchanged => {
                    return others.iter().all(|other| {
                        let Slot { at, word } = &other.copy;
                        // SAFETY: as above.
                        if unsafe { **at == word.get() } {
                            return true;
                        }
                        // A word that was repaired is in the slot itself.
                        let same = is_same(other.index as usize);
                        word.set(memo.slots[other.index as usize].word.get());
                        same
                    });
                }
                Since::Compare(now) => time = now,
            }
        }
        let mut from = 0;
        let same = loop {
            // SAFETY: as above: the slots are compared in their order.
            let Some(at) = (unsafe { first_changed(&memo.slots[from..]) }) else {
                break true;
            };
            if !is_same(from + at) {
                break false;
            }
            from += at + 1;
        };
        if let Some(now) = time.filter(|_| same) {
            memo.last_seen.set(now);
        }
        same
    }

    /// A version that is another one: what was read of its object is read again.
    #[cold]
    #[inline(never)]
    unsafe fn repair_slot(&self, memo: &Memo, slot: usize, env: &CheckEnv<'_>) -> bool {
        let dep = memo.slot_deps[slot];
        if dep == NONE {
            return false;
        }
        // The slots before this one answer for what was read first. What else was read, as the attributes of
        // another instance of a class are, can hang on something that a later slot would find changed.
        let reads = &memo.deps[dep as usize].reads;
        if reads.iter().any(|read| read.base != reads[0].base) {
            return false;
        }
        // SAFETY: as for `same_slots`.
        unsafe { self.reread(memo, &[dep], env) }
    }

    /// After events: what was read of the changed objects is read again.
    #[cold]
    #[inline(never)]
    unsafe fn revalidate(&self, memo: &Memo, env: &CheckEnv<'_>) -> bool {
        // SAFETY: as for `run_memo`; while nothing was reported dead, dependencies are alive.
        unsafe {
            let told = memo.told.get();
            if told.is_dead() {
                return false;
            }
            let dirty = told.take_dirty();
            let same = self.reread(memo, &dirty, env);
            if !same {
                told.put_back(&dirty);
            }
            same && !told.is_dead()
        }
    }

    /// Reads again what was read of changed objects, bases first: a base that is no longer what it was ends it.
    /// Whether all of it is as it was, and the objects are watched again.
    unsafe fn reread(&self, memo: &Memo, deps: &[u32], env: &CheckEnv<'_>) -> bool {
        let mut registers = vec![MaybeUninit::uninit(); self.registers()];
        let mut run = Run::new(self, env, &mut registers);
        let deps = || deps.iter().map(|&dep| &memo.deps[dep as usize]);
        let mut reads: SmallVec<[&Read; 16]> = deps().flat_map(|dep| &dep.reads).collect();
        reads.sort_unstable_by_key(|read| read.op);
        // SAFETY: as for `run_memo`.
        unsafe {
            let watchers = Watchers::get();
            let watched = deps().all(|dep| match watchers {
                Some(watchers) => watchers.watch(dep.what),
                None => versions::version_of(dep.what).is_some(),
            });
            let same = watched
                && reads
                    .iter()
                    .all(|read| self.same_read(memo, read, &mut run));
            if same && watchers.is_none() {
                for dep in deps() {
                    if let Some(version) = versions::version_of(dep.what) {
                        memo.slots[dep.slot as usize].word.set(version);
                    }
                }
            }
            same
        }
    }

    unsafe fn same_read(&self, memo: &Memo, read: &Read, run: &mut Run<'_>) -> bool {
        let ops = &self.program().ops;
        let first = read.op as usize;
        let target = match &ops[first] {
            Op::Load { dst, base, .. } => {
                if !read.base.is_null() {
                    // SAFETY: a register of the program.
                    unsafe { run.put(base.0, read.base) };
                }
                Some(*dst)
            }
            Op::Check { reg, .. } => {
                // SAFETY: a register of the program.
                unsafe { run.put(reg.0, read.base) };
                None
            }
            Op::Ambient { .. } | Op::Relation { .. } => return false,
        };
        let end = if target.is_some() {
            memo.ends[first] as usize
        } else {
            first + 1
        };
        for (i, op) in ops.iter().enumerate().take(end).skip(first) {
            if i > first
                && !read.deep
                && !matches!(op, Op::Check { reg, .. } if Some(*reg) == target)
            {
                break;
            }
            // SAFETY: as for `run_memo`; registers of a subtree are written before they are read.
            unsafe {
                if !self.step(self.op(i as u32), run) {
                    return false;
                }
                if i == first
                    && !read.base.is_null()
                    && !arm::reports_still(self, self.op(i as u32), read.base)
                {
                    return false;
                }
                if let Op::Load { dst, .. } = op {
                    let value = run.reg(dst.0);
                    if !memo.values[i].is_null() && memo.values[i] != value {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Whether the remembered tensors look as they did.
    #[inline]
    unsafe fn same_tensors(&self, memo: &Memo, keys: (u64, u64)) -> bool {
        if memo.tensors.is_empty() {
            return true;
        }
        let Some(reader) = self.packed_reader() else {
            return false;
        };
        let mut rest = &*memo.tensors.all;
        reader.load_first(rest);
        for (spec, count) in &memo.tensors.kinds {
            // SAFETY: the slots and events said that every remembered object is alive.
            if !unsafe { reader.all_match(rest, *count, spec, keys) } {
                return false;
            }
            rest = &rest[*count..];
        }
        true
    }
}
