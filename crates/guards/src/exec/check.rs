//! Running a linked program.
//!
//! Invariants: no user code runs, no exception is left set, nothing is allocated (but the first reading of an
//! instance's inline attributes, which makes its `__dict__`); registers hold borrowed references, or new ones
//! that are released at the end of the check.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Instant;

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use smallvec::SmallVec;
use torch_abi::TorchAbi;
use torch_abi::packed::PackedReader;
use torch_abi::view::TensorView;

use crate::exec::link::{FuncField, LinkedCall, LinkedConst, LinkedKey, LinkedOp};
use crate::exec::objects::{self, Found};
use crate::exec::pins::{Pins, Validity};
use crate::exec::watch::Watch;
use crate::guard::GlobalState;
use crate::kinds::{aliasing, identity};
use crate::program::Program;
use crate::set::GuardSet;

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
    reads_tensors: bool,
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

/// Where a run ended.
pub(crate) struct Stop {
    /// The op that failed, or the number of ops.
    pub(crate) op: usize,
    /// New references that registers hold.
    owned: SmallVec<[*mut PyObject; 4]>,
}

impl CheckProgram {
    pub(crate) fn from_parts(
        abi: &'static TorchAbi,
        set: Arc<GuardSet>,
        program: Program,
        ops: Vec<LinkedOp>,
        pins: Pins,
        owned: Vec<Py<PyAny>>,
    ) -> Self {
        let reads_tensors = ops.iter().any(|op| matches!(op, LinkedOp::Tensor { .. }));
        let registers = usize::from(program.registers);
        Self {
            abi,
            set,
            program,
            ops: ops.into(),
            registers,
            reads_tensors,
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

    /// The thread's dispatch keys, where tensors are read.
    #[inline]
    pub(in crate::exec) fn tensor_keys(&self) -> (u64, u64) {
        if self.reads_tensors {
            self.abi.local_keys()
        } else {
            (0, 0)
        }
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
        let finish = |stop: Stop, regs: &[MaybeUninit<*mut PyObject>]| {
            let result = (stop.op < self.ops.len()).then(|| (stop.op, inspect(stop.op, regs)));
            for obj in stop.owned {
                // SAFETY: a new reference that a load returned.
                unsafe { ffi::Py_DECREF(obj) };
            }
            result
        };
        // SAFETY: the caller's promise; the verifier proved that registers are written before they are read.
        unsafe {
            if self.registers <= STACK_REGISTERS {
                let mut regs = [MaybeUninit::uninit(); STACK_REGISTERS];
                let stop = self.run(env, &mut regs);
                finish(stop, &regs)
            } else {
                let mut regs = vec![MaybeUninit::uninit(); self.registers];
                let stop = self.run(env, &mut regs);
                finish(stop, &regs)
            }
        }
    }

    /// Mean time of one check, in microseconds, over a few runs.
    ///
    /// # Safety
    /// As for [`CheckProgram::check`].
    pub unsafe fn latency_us(&self, env: &CheckEnv<'_>) -> f64 {
        const RUNS: u32 = 16;
        let start = Instant::now();
        for _ in 0..RUNS {
            // SAFETY: the caller's promise.
            std::hint::black_box(unsafe { self.check(env) });
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(RUNS)
    }

    #[inline]
    unsafe fn run(&self, env: &CheckEnv<'_>, regs: &mut [MaybeUninit<*mut PyObject>]) -> Stop {
        let mut owned = SmallVec::new();
        let keys = self.tensor_keys();
        for (i, op) in self.ops.iter().enumerate() {
            // SAFETY: the caller's promise.
            if !unsafe { self.step(op, env, keys, regs, &mut owned) } {
                return Stop { op: i, owned };
            }
        }
        Stop {
            op: self.ops.len(),
            owned,
        }
    }

    /// Runs one op. False where a value is missing or a guard fails.
    ///
    /// # Safety
    /// As for [`CheckProgram::check`], with the registers that the op reads written.
    #[inline(always)]
    pub(in crate::exec) unsafe fn step(
        &self,
        op: &LinkedOp,
        env: &CheckEnv<'_>,
        keys: (u64, u64),
        regs: &mut [MaybeUninit<*mut PyObject>],
        owned: &mut SmallVec<[*mut PyObject; 4]>,
    ) -> bool {
        // SAFETY: registers are written before they are read (verified) and hold live objects; each arm checks a
        // type before it reads what only that type has.
        unsafe {
            macro_rules! reg {
                ($r:expr) => {
                    regs.get_unchecked(usize::from(*$r)).assume_init()
                };
            }
            macro_rules! put {
                ($d:expr, $value:expr) => {{
                    let value: *mut PyObject = $value;
                    *regs.get_unchecked_mut(usize::from(*$d)) = MaybeUninit::new(value);
                    !value.is_null()
                }};
            }
            match op {
                LinkedOp::Local { d, index } => {
                    put!(
                        d,
                        env.locals
                            .get(*index as usize)
                            .copied()
                            .unwrap_or(std::ptr::null_mut())
                    )
                }
                LinkedOp::Closure { d, index } => {
                    let index = *index as isize;
                    if env.closure.is_null() || index >= ffi::PyTuple_GET_SIZE(env.closure) {
                        return false;
                    }
                    put!(
                        d,
                        objects::cell_contents(ffi::PyTuple_GET_ITEM(env.closure, index))
                    )
                }
                LinkedOp::Globals { d } => put!(d, env.globals),
                LinkedOp::Global { d, name } => {
                    !env.globals.is_null() && put!(d, objects::dict_get_str(env.globals, *name))
                }
                LinkedOp::GlobalsOf {
                    d,
                    dict,
                    weak,
                    name,
                } => {
                    let dict = if *weak {
                        objects::weakref_target(*dict)
                    } else {
                        Some(*dict)
                    };
                    match dict {
                        Some(dict) if ffi::PyDict_Check(dict) != 0 => {
                            put!(d, objects::dict_get_str(dict, *name))
                        }
                        _ => false,
                    }
                }
                LinkedOp::Builtin { d, name } => {
                    !env.builtins.is_null() && put!(d, objects::dict_get_str(env.builtins, *name))
                }
                LinkedOp::Pinned { d, obj } => put!(d, *obj),
                LinkedOp::WeakPinned { d, weak } => {
                    put!(
                        d,
                        objects::weakref_target(*weak).unwrap_or(std::ptr::null_mut())
                    )
                }
                LinkedOp::Attr { d, b, name } => match objects::attribute(self.abi, reg!(b), *name)
                {
                    Found::None => false,
                    Found::Borrowed(value) | Found::Field(value) => put!(d, value),
                    Found::Owned(value) => {
                        owned.push(value);
                        put!(d, value)
                    }
                },
                LinkedOp::InstanceDict { d, b } => put!(d, objects::instance_dict(reg!(b))),
                LinkedOp::InstanceItem { d, b, name } => {
                    let dict = objects::instance_dict(reg!(b));
                    !dict.is_null()
                        && ffi::PyDict_Check(dict) != 0
                        && put!(d, objects::dict_get_str(dict, *name))
                }
                LinkedOp::DictItem { d, b, key } => {
                    let dict = reg!(b);
                    ffi::PyDict_Check(dict) != 0 && put!(d, lookup(dict, key))
                }
                LinkedOp::DictKeyAt { d, b, index } => {
                    let dict = reg!(b);
                    ffi::PyDict_Check(dict) != 0 && put!(d, key_at(dict, *index))
                }
                LinkedOp::ListItem { d, b, index } => {
                    let (list, index) = (reg!(b), *index as isize);
                    if ffi::PyList_Check(list) != 0 {
                        index < ffi::PyList_GET_SIZE(list)
                            && put!(d, ffi::PyList_GET_ITEM(list, index))
                    } else if objects::is_deque(list) {
                        let value = ffi::PySequence_GetItem(list, index);
                        if value.is_null() {
                            ffi::PyErr_Clear();
                            return false;
                        }
                        owned.push(value);
                        put!(d, value)
                    } else {
                        false
                    }
                }
                LinkedOp::TupleItem { d, b, index } => {
                    let (tuple, index) = (reg!(b), *index as isize);
                    ffi::PyTuple_Check(tuple) != 0
                        && index < ffi::PyTuple_GET_SIZE(tuple)
                        && put!(d, ffi::PyTuple_GET_ITEM(tuple, index))
                }
                LinkedOp::Cell { d, b } => put!(d, objects::cell_contents(reg!(b))),
                LinkedOp::TypeOf { d, b } => put!(d, ffi::Py_TYPE(reg!(b)).cast()),
                LinkedOp::Mro { d, b, name } => {
                    let ty = reg!(b);
                    ffi::PyType_Check(ty) != 0 && put!(d, objects::mro_lookup(ty.cast(), *name))
                }
                LinkedOp::Func { d, b, field } => {
                    let function = reg!(b);
                    if ffi::PyFunction_Check(function) == 0 {
                        return false;
                    }
                    let function = &*function.cast::<ffi::PyFunctionObject>();
                    let value = match field {
                        FuncField::Defaults => function.func_defaults,
                        FuncField::KwDefaults => function.func_kwdefaults,
                        FuncField::Closure => function.func_closure,
                        FuncField::Code => function.func_code,
                    };
                    put!(
                        d,
                        if value.is_null() {
                            ffi::Py_None()
                        } else {
                            value
                        }
                    )
                }

                LinkedOp::Type { r, ty } => ffi::Py_TYPE(reg!(r)) == *ty,
                LinkedOp::Is { r, obj } => reg!(r) == *obj,
                LinkedOp::IsNot { r, obj } => reg!(r) != *obj,
                LinkedOp::Code { r, code } => identity::has_code(reg!(r), *code),
                LinkedOp::WeakAlive { r } => identity::weakref_alive(reg!(r)),
                LinkedOp::Int { r, value } => is_int(reg!(r), *value),
                LinkedOp::Str { r, value } => {
                    let obj = reg!(r);
                    obj == *value
                        || (ffi::PyUnicode_CheckExact(obj) != 0 && objects::str_equal(obj, *value))
                }
                LinkedOp::Const { r, value } => value.matches(self.abi, reg!(r)),
                LinkedOp::Tensor { r, spec } => spec.check(self.abi, keys, reg!(r)),
                LinkedOp::Len { r, len } => objects::length(reg!(r)) == Some(*len),
                LinkedOp::DictLen { r, len } => {
                    let dict = reg!(r);
                    ffi::PyDict_Check(dict) != 0 && ffi::PyDict_Size(dict) as usize == *len
                }
                LinkedOp::DictKeys { r, keys } => has_keys(self.abi, reg!(r), keys),
                LinkedOp::DictHas { r, key, present } => {
                    let dict = reg!(r);
                    ffi::PyDict_Check(dict) != 0 && lookup(dict, key).is_null() != *present
                }
                LinkedOp::SetHas { r, key, present } => {
                    let set = reg!(r);
                    ffi::PyAnySet_Check(set) != 0
                        && objects::set_has(set, key.obj, key.is_plain) == *present
                }
                LinkedOp::SetItems { r, items } => {
                    let set = reg!(r);
                    let mut expected = items.iter();
                    ffi::PyAnySet_Check(set) != 0
                        && ffi::PySet_Size(set) as usize == items.len()
                        && objects::each_item(set, |item| {
                            expected
                                .next()
                                .is_some_and(|want| want.matches(self.abi, item))
                        })
                }
                LinkedOp::Call { r, on_value, call } => {
                    let first = if *on_value {
                        reg!(r)
                    } else {
                        std::ptr::null_mut()
                    };
                    call.matches(self.abi, first)
                }
                LinkedOp::HasAttr {
                    r,
                    name,
                    present,
                    absent,
                } => objects::has_attribute(self.abi, reg!(r), *name, absent) == *present,
                LinkedOp::OwnDictHas { r, name, present } => {
                    objects::own_dict_has(reg!(r), *name) == *present
                }
                LinkedOp::MroIs { r, name, value } => {
                    let ty = reg!(r);
                    ffi::PyType_Check(ty) != 0 && objects::mro_lookup(ty.cast(), *name) == *value
                }
                LinkedOp::RangeIter {
                    r,
                    start,
                    stop,
                    step,
                } => range_iterator(reg!(r)) == Some((*start, *stop, *step)),
                LinkedOp::TupleIter { r, len } => {
                    objects::tuple_iterator_len(reg!(r)) == Some(*len)
                }

                LinkedOp::GradMode { enabled } => self.abi.grad_mode() == *enabled,
                LinkedOp::InferenceMode { enabled } => self.abi.inference_mode() == *enabled,
                LinkedOp::DefaultDevice { device } => {
                    let current = self.abi.current_device();
                    !current.is_null() && device.matches(self.abi, current)
                }
                LinkedOp::DefaultDtype { dtype } => self.abi.default_dtype() == *dtype,
                LinkedOp::Deterministic { enabled, warn_only } => {
                    self.abi.deterministic() == (*enabled, *warn_only)
                }
                LinkedOp::GlobalState { state } => same_state(self.abi, state),
                LinkedOp::TorchFunction { state } => self.abi.torch_function_state() == *state,
                LinkedOp::ModeStack { modes } => {
                    self.abi.torch_function_stack_len() == modes.len()
                        && (modes.is_empty() || same_modes(self.abi, modes))
                }

                LinkedOp::Same { a, b } => reg!(a) == reg!(b),
                LinkedOp::Ints { relation } => {
                    relation.holds(|r| regs.get_unchecked(usize::from(r)).assume_init())
                }
                LinkedOp::Differ { a, b } => reg!(a) != reg!(b),
                LinkedOp::NoAliasing { regs: list } => list
                    .iter()
                    .enumerate()
                    .all(|(i, a)| list[..i].iter().all(|b| reg!(a) != reg!(b))),
                LinkedOp::Overlap {
                    regs: list,
                    overlapping,
                } => {
                    let mut views: SmallVec<[TensorView<'_>; 8]> = SmallVec::new();
                    for r in list {
                        let obj = reg!(r);
                        if !self.abi.is_tensor_type(ffi::Py_TYPE(obj)) {
                            return false;
                        }
                        views.push(TensorView::new(self.abi, obj));
                    }
                    let (overlapping, apart) = views.split_at(*overlapping);
                    aliasing::first_misplaced(overlapping, apart).is_none()
                }
            }
        }
    }
}

/// # Safety
/// `obj` must be live.
#[inline]
unsafe fn is_int(obj: *mut PyObject, value: i64) -> bool {
    // SAFETY: an exact int converts without user code; overflow is reported in the flag, not raised.
    unsafe {
        let mut overflow = 0;
        ffi::PyLong_CheckExact(obj) != 0
            && ffi::PyLong_AsLongLongAndOverflow(obj, &raw mut overflow) == value
            && overflow == 0
    }
}

/// # Safety
/// `dict` must be a dictionary.
unsafe fn lookup(dict: *mut PyObject, key: &LinkedKey) -> *mut PyObject {
    // SAFETY: the caller's promise; see `dict_scan`.
    unsafe {
        if key.is_str && objects::has_only_str_keys(dict) {
            ffi::PyDict_GetItemWithError(dict, key.obj)
        } else {
            objects::dict_scan(dict, key.obj, key.is_plain, &key.hint)
        }
    }
}

/// # Safety
/// `dict` must be a dictionary.
unsafe fn key_at(dict: *mut PyObject, index: u32) -> *mut PyObject {
    let (mut pos, mut key, mut value) = (0, std::ptr::null_mut(), std::ptr::null_mut());
    for _ in 0..=index {
        // SAFETY: plain iteration.
        if unsafe { ffi::PyDict_Next(dict, &raw mut pos, &raw mut key, &raw mut value) } == 0 {
            return std::ptr::null_mut();
        }
    }
    key
}

/// # Safety
/// `dict` must be live.
unsafe fn has_keys(abi: &TorchAbi, dict: *mut PyObject, keys: &[LinkedConst]) -> bool {
    // SAFETY: the type is checked first.
    unsafe {
        if ffi::PyDict_Check(dict) == 0 || ffi::PyDict_Size(dict) as usize != keys.len() {
            return false;
        }
        let mut expected = keys.iter();
        let known = |key: *mut PyObject| {
            keys.iter()
                .any(|k| matches!(k, LinkedConst::Same(obj) if *obj == key))
        };
        objects::each_key(dict, &known, |key| {
            expected.next().is_some_and(|want| want.matches(abi, key))
        })
    }
}

/// (next value, end, step) of a range iterator, normalised as `next + remaining * step`.
///
/// # Safety
/// `obj` must be live.
pub(crate) unsafe fn range_iterator(obj: *mut PyObject) -> Option<(i64, i64, i64)> {
    // SAFETY: exact type first. The struct is {header, start, step, len} of C longs from 3.12 on and
    // {header, index, start, step, len} before.
    unsafe {
        if !objects::is_range_iterator(obj) {
            return None;
        }
        let words = obj.cast::<i64>().add(2);
        let (start, step, left) = if objects::is_python_3_12() {
            (words.read(), words.add(1).read(), words.add(2).read())
        } else {
            let (index, start, step, len) = (
                words.read(),
                words.add(1).read(),
                words.add(2).read(),
                words.add(3).read(),
            );
            (
                start.wrapping_add(index.wrapping_mul(step)),
                step,
                len - index,
            )
        };
        Some((start, start.wrapping_add(left.wrapping_mul(step)), step))
    }
}

fn same_state(abi: &TorchAbi, state: &GlobalState) -> bool {
    abi.local_keys() == (state.included_keys, state.excluded_keys)
        && abi.grad_mode() == state.grad_mode
        && abi.inference_mode() == state.inference_mode
        && abi.torch_function_state() == state.torch_function
        && abi.default_dtype() == state.default_dtype
        && abi.deterministic() == (state.deterministic, state.deterministic_warn_only)
        && (state.autocast.is_empty() || same_autocast(abi, state))
        && (!abi.has_cublas()
            || Python::attach(|py| abi.cublas(py)) == (state.allow_tf32, state.reduced_precision))
}

/// The thread's keys, which were compared before, say for which devices autocast is on.
fn same_autocast(abi: &TorchAbi, state: &GlobalState) -> bool {
    abi.autocast_cache() == state.autocast_cache
        && state
            .autocast
            .iter()
            .all(|(device, enabled, dtype)| abi.autocast(*device) == (*enabled, *dtype))
}

#[cold]
fn same_modes(abi: &TorchAbi, modes: &[(*mut ffi::PyTypeObject, crate::value::ConstVal)]) -> bool {
    Python::attach(|py| {
        modes
            .iter()
            .enumerate()
            .all(|(i, (ty, device))| match abi.torch_function_mode(py, i) {
                Ok(mode) => {
                    mode.get_type_ptr() == *ty
                        && crate::exec::read::mode_device(abi, &mode) == *device
                }
                Err(_) => false,
            })
    })
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
