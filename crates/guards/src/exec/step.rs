//! One step of a check.
//!
//! Invariants: no user code runs, no exception is left set; a step that only compares words calls nothing, so
//! that a run keeps what it needs in machine registers.

use std::mem::MaybeUninit;

use cpython_abi::dict::is_dictionary;
use cpython_abi::iterators;
use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use smallvec::SmallVec;
use torch_abi::TorchAbi;
use torch_abi::overlap::Memory;
use torch_abi::thread::ThreadModes;

use crate::exec::check::{CheckEnv, CheckProgram, is_int};
use crate::exec::linked::{FuncField, LinkedConst, LinkedKey, LinkedOp};
use crate::exec::objects::{self, Found};
use crate::guard::GlobalState;
use crate::kinds::{aliasing, identity};

/// A run of a program: the call, the modes of the thread, and what registers hold.
pub(in crate::exec) struct Run<'a> {
    pub(in crate::exec) env: CheckEnv<'a>,
    pub(in crate::exec) modes: ThreadModes,
    registers: &'a mut [MaybeUninit<*mut PyObject>],
    /// New references that registers hold.
    owned: SmallVec<[*mut PyObject; 4]>,
}

impl<'a> Run<'a> {
    /// A run that has made no step.
    #[inline]
    pub(in crate::exec) fn new(
        program: &CheckProgram,
        env: &CheckEnv<'a>,
        registers: &'a mut [MaybeUninit<*mut PyObject>],
    ) -> Self {
        Self {
            env: *env,
            modes: program.abi().thread_modes(),
            registers,
            owned: SmallVec::new(),
        }
    }

    /// All registers.
    pub(in crate::exec) fn registers(&self) -> &[MaybeUninit<*mut PyObject>] {
        self.registers
    }

    /// What a register holds.
    ///
    /// # Safety
    /// It is one of the program's, and was written.
    #[inline]
    pub(in crate::exec) unsafe fn reg(&self, r: u16) -> *mut PyObject {
        // SAFETY: the caller's promise.
        unsafe { self.registers.get_unchecked(usize::from(r)).assume_init() }
    }

    /// Writes a register. False for null.
    ///
    /// # Safety
    /// It is one of the program's.
    #[inline]
    pub(in crate::exec) unsafe fn put(&mut self, d: u16, value: *mut PyObject) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            *self.registers.get_unchecked_mut(usize::from(d)) = MaybeUninit::new(value);
        }
        !value.is_null()
    }
}

impl Drop for Run<'_> {
    #[inline]
    fn drop(&mut self) {
        for obj in &self.owned {
            // SAFETY: a new reference that a load returned.
            unsafe { ffi::Py_DECREF(*obj) };
        }
    }
}

impl CheckProgram {
    /// Runs one op. False where a value is missing or a guard fails.
    ///
    /// # Safety
    /// As for [`CheckProgram::check`], with the registers that the op reads written.
    #[inline(always)]
    pub(in crate::exec) unsafe fn step(&self, op: &LinkedOp, run: &mut Run<'_>) -> bool {
        // SAFETY: registers are written before they are read (verified) and hold live objects; each arm checks a
        // type before it reads what only that type has.
        unsafe {
            match op {
                LinkedOp::Local { d, index } => run.put(
                    *d,
                    run.env
                        .locals
                        .get(*index as usize)
                        .copied()
                        .unwrap_or(std::ptr::null_mut()),
                ),
                LinkedOp::Cells { d } => run.put(*d, run.env.closure),
                LinkedOp::Globals { d } => run.put(*d, run.env.globals),
                LinkedOp::Pinned { d, obj } => run.put(*d, *obj),
                LinkedOp::TupleItem { d, b, index } => {
                    let (tuple, index) = (run.reg(*b), *index as isize);
                    ffi::PyTuple_Check(tuple) != 0
                        && index < ffi::PyTuple_GET_SIZE(tuple)
                        && run.put(*d, ffi::PyTuple_GET_ITEM(tuple, index))
                }
                LinkedOp::TypeOf { d, b } => run.put(*d, ffi::Py_TYPE(run.reg(*b)).cast()),
                LinkedOp::Func { d, b, field } => {
                    let function = run.reg(*b);
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
                    run.put(
                        *d,
                        if value.is_null() {
                            ffi::Py_None()
                        } else {
                            value
                        },
                    )
                }

                LinkedOp::Type { r, ty } => ffi::Py_TYPE(run.reg(*r)) == *ty,
                LinkedOp::Is { r, obj } => run.reg(*r) == *obj,
                LinkedOp::IsNot { r, obj } => run.reg(*r) != *obj,
                LinkedOp::Same { a, b } => run.reg(*a) == run.reg(*b),
                LinkedOp::Differ { a, b } => run.reg(*a) != run.reg(*b),
                _ => self.long_step(op, run),
            }
        }
    }

    /// The steps that call functions.
    ///
    /// # Safety
    /// As for [`CheckProgram::step`].
    #[inline(never)]
    unsafe fn long_step(&self, op: &LinkedOp, run: &mut Run<'_>) -> bool {
        // SAFETY: as in `step`.
        unsafe {
            match op {
                LinkedOp::Closure { d, index } => {
                    let index = *index as isize;
                    if run.env.closure.is_null() || index >= ffi::PyTuple_GET_SIZE(run.env.closure)
                    {
                        return false;
                    }
                    run.put(
                        *d,
                        objects::cell_contents(ffi::PyTuple_GET_ITEM(run.env.closure, index)),
                    )
                }
                LinkedOp::Global { d, name } => {
                    !run.env.globals.is_null()
                        && run.put(*d, objects::dict_get_str(run.env.globals, *name))
                }
                LinkedOp::GlobalsOf {
                    d,
                    dict,
                    weak,
                    name,
                } => {
                    let dict = if *weak {
                        cpython_abi::objects::weakref_target(*dict)
                    } else {
                        Some(*dict)
                    };
                    match dict {
                        Some(dict) if ffi::PyDict_Check(dict) != 0 => {
                            run.put(*d, objects::dict_get_str(dict, *name))
                        }
                        _ => false,
                    }
                }
                LinkedOp::Builtin { d, name } => {
                    !run.env.builtins.is_null()
                        && run.put(*d, objects::dict_get_str(run.env.builtins, *name))
                }
                LinkedOp::WeakPinned { d, weak } => run.put(
                    *d,
                    cpython_abi::objects::weakref_target(*weak).unwrap_or(std::ptr::null_mut()),
                ),
                LinkedOp::FunctionMode { d, index } => {
                    let (abi, index) = (self.abi(), *index as usize);
                    let mode = match index < abi.torch_function_stack_len() {
                        true => Python::attach(|py| {
                            let mode = abi.torch_function_mode(py, index);
                            mode.ok().map(|mode| mode.into_ptr())
                        }),
                        false => None,
                    };
                    match mode {
                        Some(mode) => {
                            run.owned.push(mode);
                            run.put(*d, mode)
                        }
                        None => false,
                    }
                }
                LinkedOp::Attr { d, b, name } => {
                    match objects::attribute(self.abi(), run.reg(*b), *name) {
                        Found::None => false,
                        Found::Borrowed(value) | Found::Field(value) => run.put(*d, value),
                        Found::Owned(value) => {
                            run.owned.push(value);
                            run.put(*d, value)
                        }
                    }
                }
                LinkedOp::InstanceDict { d, b } => {
                    run.put(*d, objects::made_instance_dict(run.reg(*b)))
                }
                LinkedOp::InstanceItem { d, b, name } => {
                    let dict = objects::instance_dict(run.reg(*b));
                    !dict.is_null()
                        && ffi::PyDict_Check(dict) != 0
                        && run.put(*d, objects::dict_get_str(dict, *name))
                }
                LinkedOp::DictItem { d, b, key } => {
                    let dict = run.reg(*b);
                    is_dictionary(dict) && run.put(*d, lookup(dict, key))
                }
                LinkedOp::DictKeyAt { d, b, index } => {
                    let dict = run.reg(*b);
                    is_dictionary(dict) && run.put(*d, objects::key_at(dict, *index))
                }
                LinkedOp::ListItem { d, b, index } => {
                    let (list, index) = (run.reg(*b), *index as isize);
                    if ffi::PyList_Check(list) != 0 {
                        index < ffi::PyList_GET_SIZE(list)
                            && run.put(*d, ffi::PyList_GET_ITEM(list, index))
                    } else if objects::is_deque(list) {
                        let value = ffi::PySequence_GetItem(list, index);
                        if value.is_null() {
                            ffi::PyErr_Clear();
                            return false;
                        }
                        run.owned.push(value);
                        run.put(*d, value)
                    } else {
                        false
                    }
                }
                LinkedOp::Under { d, b } => run.put(*d, iterators::under(run.reg(*b))),
                LinkedOp::Cell { d, b } => run.put(*d, objects::cell_contents(run.reg(*b))),
                LinkedOp::Mro { d, b, name } => {
                    let ty = run.reg(*b);
                    ffi::PyType_Check(ty) != 0 && run.put(*d, objects::mro_lookup(ty.cast(), *name))
                }
                LinkedOp::Code { r, code } => identity::has_code(run.reg(*r), *code),
                LinkedOp::WeakAlive { r } => identity::weakref_alive(run.reg(*r)),
                LinkedOp::Int { r, value } => is_int(run.reg(*r), *value),
                LinkedOp::Str { r, value } => {
                    let obj = run.reg(*r);
                    obj == *value
                        || (ffi::PyUnicode_CheckExact(obj) != 0 && objects::str_equal(obj, *value))
                }
                LinkedOp::Const { r, value } => value.matches(self.abi(), run.reg(*r)),
                LinkedOp::Tensor { r, spec } => spec.check(self.abi(), run.modes.keys, run.reg(*r)),
                LinkedOp::Len { r, len } => objects::length(run.reg(*r)) == Some(*len),
                LinkedOp::DictLen { r, len } => {
                    let dict = run.reg(*r);
                    is_dictionary(dict) && ffi::PyDict_Size(dict) as usize == *len
                }
                LinkedOp::DictKeys { r, keys } => has_keys(self.abi(), run.reg(*r), keys),
                LinkedOp::DictHas { r, key, present } => {
                    let dict = run.reg(*r);
                    is_dictionary(dict) && lookup(dict, key).is_null() != *present
                }
                LinkedOp::SetHas { r, key, present } => {
                    let set = run.reg(*r);
                    ffi::PyAnySet_Check(set) != 0
                        && objects::set_has(set, key.obj, key.is_plain) == *present
                }
                LinkedOp::SetItems { r, items } => {
                    let set = run.reg(*r);
                    let mut expected = items.iter();
                    ffi::PyAnySet_Check(set) != 0
                        && ffi::PySet_Size(set) as usize == items.len()
                        && objects::each_item(set, |item| {
                            expected
                                .next()
                                .is_some_and(|want| want.matches(self.abi(), item))
                        })
                }
                LinkedOp::Call { r, on_value, call } => {
                    let first = if *on_value {
                        run.reg(*r)
                    } else {
                        std::ptr::null_mut()
                    };
                    call.matches(self.abi(), first)
                }
                LinkedOp::NotSubclass { answer } => answer.is_recent(),
                LinkedOp::HasAttr {
                    r,
                    name,
                    present,
                    absent,
                } => objects::has_attribute(self.abi(), run.reg(*r), *name, absent) == *present,
                LinkedOp::OwnDictHas { r, name, present } => {
                    objects::own_dict_has(run.reg(*r), *name) == *present
                }
                LinkedOp::MroIs { r, name, value } => {
                    let ty = run.reg(*r);
                    ffi::PyType_Check(ty) != 0 && objects::mro_lookup(ty.cast(), *name) == *value
                }
                LinkedOp::RangeIter {
                    r,
                    start,
                    stop,
                    step,
                } => iterators::range(run.reg(*r)) == Some((*start, *stop, *step)),
                LinkedOp::TupleIter { r, len } => iterators::tuple_left(run.reg(*r)) == Some(*len),
                LinkedOp::ListIter { r, reverse, len } => {
                    iterators::list_left(run.reg(*r), *reverse) == Some(*len)
                }
                LinkedOp::CountIter { r, start, step } => {
                    iterators::count(run.reg(*r)) == Some((*start, *step))
                }

                LinkedOp::GradMode { enabled } => run.modes.grad_mode == *enabled,
                LinkedOp::InferenceMode { enabled } => run.modes.inference_mode == *enabled,
                LinkedOp::DefaultDevice { device } => {
                    let current = self.abi().current_device();
                    !current.is_null() && device.matches(self.abi(), current)
                }
                LinkedOp::DefaultDtype { dtype } => self.abi().default_dtype() == *dtype,
                LinkedOp::Deterministic { enabled, warn_only } => {
                    self.abi().deterministic() == (*enabled, *warn_only)
                }
                LinkedOp::GlobalState { state } => same_state(self.abi(), &run.modes, state),
                LinkedOp::TorchFunction { state } => run.modes.torch_function == *state,
                LinkedOp::ModeStack { modes } => {
                    run.modes.function_modes == modes.len()
                        && (modes.is_empty() || same_modes(self.abi(), modes))
                }

                LinkedOp::Ints { relation } => relation.holds(self.abi(), |r| run.reg(r)),
                LinkedOp::Computed { computed } => computed.matches(self.abi(), &|r| run.reg(r)),
                LinkedOp::NoAliasing { regs: list } => {
                    let mut found: SmallVec<[_; 32]> = list.iter().map(|r| run.reg(*r)).collect();
                    found.sort_unstable();
                    found.windows(2).all(|pair| pair[0] != pair[1])
                }
                LinkedOp::Overlap {
                    regs: list,
                    overlapping,
                } => {
                    let mut memories: SmallVec<[Memory<'_>; 8]> = SmallVec::new();
                    for r in list {
                        match Memory::of(self.abi(), run.reg(*r)) {
                            Some(memory) => memories.push(memory),
                            None => return false,
                        }
                    }
                    let (overlapping, apart) = memories.split_at(*overlapping);
                    aliasing::first_misplaced(overlapping, apart).is_none()
                }
                LinkedOp::Local { .. }
                | LinkedOp::Cells { .. }
                | LinkedOp::Globals { .. }
                | LinkedOp::Pinned { .. }
                | LinkedOp::TupleItem { .. }
                | LinkedOp::TypeOf { .. }
                | LinkedOp::Func { .. }
                | LinkedOp::Type { .. }
                | LinkedOp::Is { .. }
                | LinkedOp::IsNot { .. }
                | LinkedOp::Same { .. }
                | LinkedOp::Differ { .. } => {
                    debug_assert!(false, "a short step");
                    false
                }
            }
        }
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
/// `dict` must be live.
unsafe fn has_keys(abi: &TorchAbi, dict: *mut PyObject, keys: &[LinkedConst]) -> bool {
    // SAFETY: the type is checked first.
    unsafe {
        if !is_dictionary(dict) || ffi::PyDict_Size(dict) as usize != keys.len() {
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

#[inline]
fn same_state(abi: &TorchAbi, modes: &ThreadModes, state: &GlobalState) -> bool {
    modes.keys == (state.included_keys, state.excluded_keys)
        && modes.grad_mode == state.grad_mode
        && modes.inference_mode == state.inference_mode
        && modes.torch_function == state.torch_function
        && abi.default_dtype() == state.default_dtype
        && abi.has_forward_level() == state.has_forward_level
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
