//! Running a linked program.
//!
//! Invariants: no user code runs, no exception is left set, nothing is allocated (but the first reading of an
//! instance's inline attributes, which makes its `__dict__`); registers hold borrowed references, or new ones
//! that are released at the end of the check.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Arc;

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use smallvec::SmallVec;
use torch_abi::TorchAbi;
use torch_abi::packed::PackedReader;

use crate::calls::CallExpr;
use crate::exec::link::LinkError;
use crate::exec::linked::{LinkedCall, LinkedConst, LinkedOp};
use crate::exec::objects;
use crate::exec::pins::{Pins, Validity};
use crate::exec::step::Run;
use crate::exec::watch::Watch;
use crate::program::Program;
use crate::set::GuardSet;
use crate::source::SourceId;
use crate::value::ConstVal;

/// What a program is checked against: a call about to happen. All pointers are borrowed.
#[derive(Clone, Copy)]
pub struct CheckEnv<'a> {
    /// Fast locals as an unstarted frame has them (null where unset).
    pub locals: &'a [*mut PyObject],
    /// The function's `__closure__` tuple, or null.
    pub closure: *mut PyObject,
    /// The function's globals dictionary.
    pub globals: *mut PyObject,
    /// The builtins dictionary that the function sees.
    pub builtins: *mut PyObject,
}

/// A guard set, linked to this interpreter.
pub struct CheckProgram {
    abi: &'static TorchAbi,
    set: Arc<GuardSet>,
    program: Program,
    ops: Box<[LinkedOp]>,
    registers: usize,
    packed: Option<PackedReader>,
    /// Dropped before the pins.
    pub(in crate::exec) watch: UnsafeCell<Watch>,
    pins: Pins,
    _owned: Vec<Py<PyAny>>,
}

// SAFETY: the raw pointers are to objects that the program or its pins keep alive, and are followed with the GIL
// held only.
unsafe impl Send for CheckProgram {}
// SAFETY: as above; what a check remembers changes with the GIL held only, and a check runs no code that could
// come back to it.
unsafe impl Sync for CheckProgram {}

/// Registers on the machine stack; deeper programs use the heap.
pub(in crate::exec) const STACK_REGISTERS: usize = 48;

impl CheckProgram {
    pub(crate) fn from_parts(
        abi: &'static TorchAbi,
        set: Arc<GuardSet>,
        program: Program,
        ops: Vec<LinkedOp>,
        pins: Pins,
        owned: Vec<Py<PyAny>>,
    ) -> Self {
        let registers = usize::from(program.registers);
        Self {
            abi,
            set,
            program,
            ops: ops.into(),
            registers,
            packed: PackedReader::new(abi),
            watch: UnsafeCell::default(),
            pins,
            _owned: owned,
        }
    }

    /// The set that the program checks.
    pub fn set(&self) -> &Arc<GuardSet> {
        &self.set
    }

    /// The unlinked program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The pins.
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// The flag that says whether the pinned objects are all alive.
    pub fn validity(&self) -> &Validity {
        self.pins.validity()
    }

    pub(crate) fn abi(&self) -> &'static TorchAbi {
        self.abi
    }

    /// Whether the set is valid and all its guards hold for the call.
    ///
    /// # Safety
    /// The GIL is held and every non-null pointer of `env` is a live object of the documented type.
    #[inline]
    pub unsafe fn check(&self, env: &CheckEnv<'_>) -> bool {
        // SAFETY: the caller's promise.
        self.validity().is_valid() && unsafe { self.check_watched(env) }
    }

    /// The same without what was remembered.
    ///
    /// # Safety
    /// As for [`CheckProgram::check`].
    pub unsafe fn check_everything(&self, env: &CheckEnv<'_>) -> bool {
        // SAFETY: the caller's promise.
        self.validity().is_valid() && unsafe { self.failing_op(env, |_, _| ()) }.is_none()
    }

    pub(in crate::exec) fn ops(&self) -> &[LinkedOp] {
        &self.ops
    }

    #[inline]
    pub(in crate::exec) fn op(&self, index: u32) -> &LinkedOp {
        &self.ops[index as usize]
    }

    #[inline]
    pub(in crate::exec) fn registers(&self) -> usize {
        self.registers
    }

    #[inline]
    pub(in crate::exec) fn packed_reader(&self) -> Option<&PackedReader> {
        self.packed.as_ref()
    }

    /// Room for the registers: on the stack where they are few.
    #[inline]
    pub(in crate::exec) fn registers_in<'r>(
        &self,
        few: &'r mut [MaybeUninit<*mut PyObject>; STACK_REGISTERS],
        many: &'r mut Vec<MaybeUninit<*mut PyObject>>,
    ) -> &'r mut [MaybeUninit<*mut PyObject>] {
        if self.registers <= STACK_REGISTERS {
            return few;
        }
        many.resize(self.registers, MaybeUninit::uninit());
        many
    }

    /// Runs the program. Returns the op that failed and what `inspect` made of the registers there.
    ///
    /// # Safety
    /// As for [`CheckProgram::check`].
    #[inline]
    pub(crate) unsafe fn failing_op<T>(
        &self,
        env: &CheckEnv<'_>,
        inspect: impl FnOnce(usize, &[MaybeUninit<*mut PyObject>]) -> T,
    ) -> Option<(usize, T)> {
        // SAFETY: the caller's promise; the verifier proved that registers are written before they are read.
        unsafe {
            let mut few = [MaybeUninit::uninit(); STACK_REGISTERS];
            let mut many = Vec::new();
            let mut run = Run::new(self, env, self.registers_in(&mut few, &mut many));
            let op = self.run(&mut run);
            (op < self.ops.len()).then(|| (op, inspect(op, run.registers())))
        }
    }

    /// Runs the program. Returns the op that failed, or the number of ops.
    #[inline]
    unsafe fn run(&self, run: &mut Run<'_>) -> usize {
        self.ops
            .iter()
            // SAFETY: the caller's promise.
            .position(|op| !unsafe { self.step(op, run) })
            .unwrap_or(self.ops.len())
    }
}

/// # Safety
/// `obj` must be live.
#[inline]
pub(in crate::exec) unsafe fn is_int(obj: *mut PyObject, value: i64) -> bool {
    // SAFETY: an exact int converts without user code; overflow is reported in the flag, not raised.
    unsafe {
        let mut overflow = 0;
        ffi::PyLong_CheckExact(obj) != 0
            && ffi::PyLong_AsLongLongAndOverflow(obj, &raw mut overflow) == value
            && overflow == 0
    }
}

/// How a value is computed of registers and objects that the program keeps.
pub(crate) enum LinkedExpr {
    Register(u16),
    Object(*mut PyObject),
    Call(*mut PyObject, Box<[LinkedExpr]>),
}

/// What is computed, and what it must be.
pub(crate) struct LinkedComputed {
    pub(crate) expr: LinkedExpr,
    pub(crate) value: LinkedConst,
}

impl LinkedComputed {
    /// Whether it is what it must be. An exception counts as another value.
    ///
    /// # Safety
    /// `register` must give live objects, with the GIL held.
    pub(crate) unsafe fn matches(
        &self,
        abi: &TorchAbi,
        register: &impl Fn(u16) -> *mut PyObject,
    ) -> bool {
        // SAFETY: the caller's promise; a new reference is released.
        unsafe {
            let value = self.expr.eval(register);
            if value.is_null() {
                ffi::PyErr_Clear();
                return false;
            }
            let same = self.value.matches(abi, value);
            ffi::Py_DECREF(value);
            same
        }
    }
}

impl LinkedExpr {
    /// An expression with its sources in registers; `keep` gives what the program keeps for a constant.
    pub(crate) fn link(
        expr: &CallExpr,
        registers: &[(SourceId, u16)],
        keep: &mut impl FnMut(&ConstVal) -> Result<*mut PyObject, LinkError>,
    ) -> Result<Self, LinkError> {
        Ok(match expr {
            CallExpr::Source(source) => {
                let found = registers.iter().find(|(of, _)| of == source);
                Self::Register(
                    found
                        .map(|(_, register)| *register)
                        .ok_or(LinkError::Early)?,
                )
            }
            CallExpr::Const(value) => Self::Object(keep(value)?),
            CallExpr::Call(function, args) => {
                let args = args.iter().map(|arg| Self::link(arg, registers, keep));
                let args = args.collect::<Result<_, _>>()?;
                Self::Call(function.addr as *mut PyObject, args)
            }
        })
    }

    /// A new reference, or null with an exception set.
    ///
    /// # Safety
    /// As for [`LinkedComputed::matches`].
    unsafe fn eval(&self, register: &impl Fn(u16) -> *mut PyObject) -> *mut PyObject {
        // SAFETY: the caller's promise; the program keeps its objects alive, and what is made here is released.
        // The functions are C functions that run no user code.
        unsafe {
            match self {
                Self::Register(r) => ffi::Py_NewRef(register(*r)),
                Self::Object(obj) => ffi::Py_NewRef(*obj),
                Self::Call(function, parts) => {
                    let mut args: SmallVec<[*mut PyObject; 4]> = SmallVec::new();
                    for part in parts {
                        let value = part.eval(register);
                        if value.is_null() {
                            break;
                        }
                        args.push(value);
                    }
                    let result = match args.len() == parts.len() {
                        true => ffi::PyObject_Vectorcall(
                            *function,
                            args.as_ptr(),
                            args.len(),
                            std::ptr::null_mut(),
                        ),
                        false => std::ptr::null_mut(),
                    };
                    for arg in args {
                        ffi::Py_DECREF(arg);
                    }
                    result
                }
            }
        }
    }
}

impl LinkedCall {
    /// Whether the call gives the value. An exception counts as another value.
    ///
    /// # Safety
    /// `first` must be live or null, with the GIL held.
    pub(crate) unsafe fn matches(&self, abi: &TorchAbi, first: *mut PyObject) -> bool {
        // SAFETY: the caller's promise; a new reference is released.
        unsafe {
            let value = self.call(first);
            if value.is_null() {
                ffi::PyErr_Clear();
                return false;
            }
            let same = self.value.matches(abi, value);
            ffi::Py_DECREF(value);
            same
        }
    }

    /// What the call gives.
    ///
    /// # Errors
    /// What it raises.
    ///
    /// # Safety
    /// `first` must be live or null.
    pub(crate) unsafe fn value<'py>(
        &self,
        py: Python<'py>,
        first: *mut PyObject,
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the caller's promise; a new reference, or null with an exception set.
        unsafe { Bound::from_owned_ptr_or_err(py, self.call(first)) }
    }

    /// # Safety
    /// As for [`LinkedCall::matches`]. The result is a new reference or null.
    unsafe fn call(&self, first: *mut PyObject) -> *mut PyObject {
        let mut args: SmallVec<[*mut PyObject; 4]> = SmallVec::new();
        if !first.is_null() {
            args.push(first);
        }
        args.extend_from_slice(&self.args);
        // SAFETY: the function and its arguments are live; it is a C function that runs no user code.
        unsafe {
            ffi::PyObject_Vectorcall(self.func, args.as_ptr(), args.len(), std::ptr::null_mut())
        }
    }
}

impl LinkedConst {
    /// Whether an object is exactly this constant.
    ///
    /// # Safety
    /// `obj` must be live, with the GIL held.
    pub(crate) unsafe fn matches(&self, abi: &TorchAbi, obj: *mut PyObject) -> bool {
        // SAFETY: exact types are compared before values are read.
        unsafe {
            match self {
                Self::Same(same) => obj == *same,
                Self::Int(value) => is_int(obj, *value),
                Self::BigInt(value) => {
                    ffi::PyLong_CheckExact(obj) != 0
                        && ffi::PyObject_RichCompareBool(obj, *value, ffi::Py_EQ) == 1
                }
                Self::Float(bits) => {
                    ffi::PyFloat_CheckExact(obj) != 0
                        && same_float(ffi::PyFloat_AS_DOUBLE(obj), *bits)
                }
                Self::Complex(re, im) => {
                    ffi::PyComplex_CheckExact(obj) != 0
                        && same_float(ffi::PyComplex_RealAsDouble(obj), *re)
                        && same_float(ffi::PyComplex_ImagAsDouble(obj), *im)
                }
                Self::Str(value) => {
                    obj == *value
                        || (ffi::PyUnicode_CheckExact(obj) != 0 && objects::str_equal(obj, *value))
                }
                Self::Bytes(value) => {
                    ffi::PyBytes_CheckExact(obj) != 0 && {
                        let bytes = |b: *mut PyObject| {
                            std::slice::from_raw_parts(
                                ffi::PyBytes_AsString(b).cast::<u8>(),
                                ffi::PyBytes_Size(b) as usize,
                            )
                        };
                        bytes(obj) == bytes(*value)
                    }
                }
                Self::Tuple(items) => {
                    ffi::PyTuple_CheckExact(obj) != 0
                        && ffi::PyTuple_GET_SIZE(obj) as usize == items.len()
                        && items.iter().enumerate().all(|(i, item)| {
                            item.matches(abi, ffi::PyTuple_GET_ITEM(obj, i as isize))
                        })
                }
                Self::Size(dims) => {
                    ffi::Py_TYPE(obj) == abi.size_type()
                        && ffi::PyTuple_GET_SIZE(obj) as usize == dims.len()
                        && dims
                            .iter()
                            .enumerate()
                            .all(|(i, dim)| is_int(ffi::PyTuple_GET_ITEM(obj, i as isize), *dim))
                }
                Self::Device(kind, index) => abi.device_of(obj) == Some((*kind, *index)),
            }
        }
    }
}

fn same_float(value: f64, bits: u64) -> bool {
    value.to_bits() == bits || (value.is_nan() && f64::from_bits(bits).is_nan())
}
