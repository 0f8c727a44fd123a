//! What tells calls apart: what a guard failed on, read from a call as a number.
//!
//! Of several programs for one function, each fails where another passes. The number that a call gives there says
//! which of them is likely to pass. It decides nothing: a program is checked all the same.
//!
//! Invariants: as for a check. Calls that look the same to the guard give the same number.

use std::hash::Hasher;
use std::mem::MaybeUninit;

use pyo3::ffi;
use pyo3::ffi::PyObject;
use rustc_hash::FxHasher;
use torch_abi::TorchAbi;
use torch_abi::thread::ThreadModes;
use torch_abi::view::TensorView;

use crate::exec::check::{CheckEnv, CheckProgram, STACK_REGISTERS};
use crate::exec::objects;
use crate::exec::step::Run;
use crate::guard::GuardKind;
use crate::program::{Op, Reg};

/// How to read from a call what a guard of a program is about.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Loads of the program that lead to the value, from the root.
    loads: Box<[u32]>,
    read: Read,
    /// Spelling of the source.
    name: String,
}

/// What is made into a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    /// torch's state
    State,
    /// the class of the value in a register
    Class(u16),
    /// the value in a register
    Value(u16),
    /// whether a guard of the program holds
    Verdict(u32),
}

impl Probe {
    /// Whether two probes read the same thing of a call.
    pub fn is_same(&self, other: &Self) -> bool {
        let kind = |read: &Read| match read {
            Read::Verdict(op) => (3, *op),
            other => (
                match other {
                    Read::State => 0,
                    Read::Class(_) => 1,
                    _ => 2,
                },
                0,
            ),
        };
        self.name == other.name && kind(&self.read) == kind(&other.read)
    }
}

impl CheckProgram {
    /// A probe of what the check of a call fails on. `None` where it passes, or where the guard is about
    /// several values.
    ///
    /// # Safety
    /// As for [`CheckProgram::check`].
    pub unsafe fn failing_probe(&self, env: &CheckEnv<'_>) -> Option<Probe> {
        if !self.validity().is_valid() {
            return None;
        }
        // SAFETY: the caller's promise.
        let (failed, ()) = unsafe { self.failing_op(env, |_, _| ()) }?;
        let set = self.set();
        let (read, from) = match &self.program().ops[failed] {
            Op::Load { dst, source, .. } => (Read::Value(dst.0), Some((*dst, *source))),
            Op::Check { reg, guard } => {
                let guard = set.guard(*guard);
                let read = match &guard.kind {
                    GuardKind::TypeMatch { .. } => Read::Class(reg.0),
                    GuardKind::IdMatch { .. }
                    | GuardKind::FunctionMatch { .. }
                    | GuardKind::ModuleMatch { .. }
                    | GuardKind::NoneMatch
                    | GuardKind::TrueMatch
                    | GuardKind::FalseMatch
                    | GuardKind::NotNoneMatch
                    | GuardKind::EqualsMatch { .. }
                    | GuardKind::ConstantMatch { .. }
                    | GuardKind::TensorMatch { .. }
                    | GuardKind::SequenceLength { .. }
                    | GuardKind::DictLength { .. } => Read::Value(reg.0),
                    _ => Read::Verdict(failed as u32),
                };
                (read, guard.source.map(|source| (*reg, source)))
            }
            Op::Ambient { guard } => match &set.guard(*guard).kind {
                GuardKind::CallMatch { .. } | GuardKind::NotSubclass { .. } => {
                    (Read::Verdict(failed as u32), None)
                }
                _ => (Read::State, None),
            },
            Op::Relation { .. } => return None,
        };
        Some(Probe {
            loads: from.map_or_else(Box::default, |(reg, _)| self.path(failed, reg)),
            read,
            name: from.map_or_else(String::new, |(_, source)| set.sources().name(source)),
        })
    }

    /// The loads that fill a register that an op reads or writes, from the root.
    fn path(&self, op: usize, reg: Reg) -> Box<[u32]> {
        let ops = &self.program().ops;
        let (mut loads, mut wanted) = (Vec::new(), reg);
        for i in (0..=op).rev() {
            let Op::Load { dst, base, source } = &ops[i] else {
                continue;
            };
            if *dst != wanted {
                continue;
            }
            loads.push(i as u32);
            match self.set().sources().get(*source).base() {
                Some(_) => wanted = *base,
                None => break,
            }
        }
        loads.reverse();
        loads.into()
    }

    /// What a probe of this program gives for a call.
    ///
    /// # Safety
    /// As for [`CheckProgram::check`].
    #[inline]
    pub unsafe fn read_probe(&self, probe: &Probe, env: &CheckEnv<'_>) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            let mut few = [MaybeUninit::uninit(); STACK_REGISTERS];
            let mut many = Vec::new();
            let mut run = Run::new(self, env, self.registers_in(&mut few, &mut many));
            self.read_with(probe, &mut run)
        }
    }

    #[inline]
    unsafe fn read_with(&self, probe: &Probe, run: &mut Run<'_>) -> u64 {
        // SAFETY: the caller's promise; loads come in the order of the program, so each register is written
        // before it is read.
        unsafe {
            if !probe.loads.iter().all(|op| self.step(self.op(*op), run)) {
                return u64::MAX;
            }
            match probe.read {
                Read::State => state(self.abi(), &run.modes),
                Read::Class(reg) => ffi::Py_TYPE(run.reg(reg)) as u64,
                Read::Value(reg) => number(self.abi(), run.reg(reg)),
                Read::Verdict(op) => u64::from(self.step(self.op(op), run)),
            }
        }
    }
}

/// What of torch's state changes from call to call in a program.
fn state(abi: &TorchAbi, modes: &ThreadModes) -> u64 {
    let mut hash = FxHasher::default();
    hash.write_u64(modes.keys.0);
    hash.write_u64(modes.keys.1);
    hash.write_u8(
        u8::from(modes.grad_mode)
            | u8::from(modes.inference_mode) << 1
            | u8::from(abi.has_forward_level()) << 2,
    );
    hash.write_u8(abi.default_dtype());
    hash.finish()
}

/// A value as a number: tensors by their metadata, plain constants by value, containers by class and length, all
/// else by identity.
///
/// # Safety
/// `obj` must be live.
unsafe fn number(abi: &TorchAbi, obj: *mut PyObject) -> u64 {
    // SAFETY: exact types are compared before values are read; no user code runs.
    unsafe {
        let class = ffi::Py_TYPE(obj);
        let mut hash = FxHasher::default();
        if abi.is_tensor_type(class) {
            let view = TensorView::new(abi, obj);
            if view.is_defined() {
                let (sizes, strides) = view.geometry();
                hash.write_u64(view.key_set());
                hash.write_u8(view.dtype());
                hash.write_u8(u8::from(view.requires_grad()));
                for dim in sizes.iter().chain(strides) {
                    hash.write_i64(*dim);
                }
            }
        } else if ffi::PyLong_CheckExact(obj) != 0 {
            let mut overflow = 0;
            hash.write_i64(ffi::PyLong_AsLongLongAndOverflow(obj, &raw mut overflow));
        } else if ffi::PyUnicode_CheckExact(obj) != 0 {
            hash.write_isize(ffi::PyObject_Hash(obj));
        } else if ffi::PyFloat_CheckExact(obj) != 0 {
            hash.write_u64(ffi::PyFloat_AS_DOUBLE(obj).to_bits());
        } else if ffi::PyList_CheckExact(obj) != 0
            || ffi::PyTuple_CheckExact(obj) != 0
            || ffi::PyDict_CheckExact(obj) != 0
            || ffi::PyAnySet_CheckExact(obj) != 0
        {
            hash.write_usize(class as usize);
            hash.write_usize(objects::length(obj).unwrap_or(0));
        } else {
            hash.write_usize(obj as usize);
        }
        hash.finish()
    }
}
