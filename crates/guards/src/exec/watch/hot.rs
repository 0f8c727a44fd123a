//! Steps that run on each call, in their quickest form.
//!
//! Invariant: a step that is put together here fails exactly where the steps that it stands for would.

use std::sync::atomic::AtomicU32;

use pyo3::ffi::PyObject;
use torch_abi::packed::PackedSpec;
use torch_abi::thread::ThreadModes;

use crate::exec::check::CheckProgram;
use crate::exec::linked::{LinkedConst, LinkedOp};
use crate::exec::objects;
use crate::exec::step::Run;
use crate::exec::watch::memo::Hot;

/// torch's state: GLOBAL_STATE where nothing casts, an empty mode stack, the default device.
pub(super) struct State {
    modes: ThreadModes,
    default_dtype: u8,
    has_forward_level: bool,
    deterministic: (bool, bool),
    device: *mut PyObject,
}

/// An argument that is a tensor, with the attribute that it must not have.
pub(super) struct Argument {
    index: u32,
    d: u16,
    spec: PackedSpec,
    absent: Option<(*mut PyObject, *const AtomicU32)>,
}

impl CheckProgram {
    /// Whether torch's state is this one.
    #[inline]
    pub(super) fn has_state(&self, state: &State, run: &Run<'_>) -> bool {
        let abi = self.abi();
        run.modes == state.modes
            && abi.default_dtype() == state.default_dtype
            && abi.has_forward_level() == state.has_forward_level
            && abi.deterministic() == state.deterministic
            && abi.current_device() == state.device
    }

    /// Whether a register holds a tensor that looks like this.
    ///
    /// # Safety
    /// As for [`CheckProgram::step`].
    #[inline]
    pub(super) unsafe fn holds(&self, r: u16, spec: &PackedSpec, run: &Run<'_>) -> bool {
        // SAFETY: the caller's promise.
        self.packed_reader()
            .is_some_and(|reader| unsafe { reader.matches(run.reg(r), spec, run.modes.keys) })
    }

    /// Whether an argument is as it must be. Puts it into its register.
    ///
    /// # Safety
    /// As for [`CheckProgram::step`].
    #[inline]
    pub(super) unsafe fn is_given(&self, argument: &Argument, run: &mut Run<'_>) -> bool {
        let given = run.env.locals.get(argument.index as usize).copied();
        let value = given.unwrap_or(std::ptr::null_mut());
        // SAFETY: the caller's promise; what remembers that a class lacks the name is in an op of this program.
        unsafe {
            run.put(argument.d, value)
                && self.holds(argument.d, &argument.spec, run)
                && argument.absent.is_none_or(|(name, absent)| {
                    !objects::has_attribute(self.abi(), value, name, &*absent)
                })
        }
    }
}

/// A check that runs on each call.
pub(super) fn rewritten(program: &CheckProgram, op: u32, r: u16) -> Hot {
    match tensor_spec(program, op) {
        Some(spec) => Hot::Tensor {
            r,
            spec: Box::new(spec),
        },
        None => Hot::Run(op),
    }
}

fn tensor_spec(program: &CheckProgram, op: u32) -> Option<PackedSpec> {
    program.packed_reader()?;
    match program.op(op) {
        LinkedOp::Tensor { spec, .. } => spec.packed(program.abi()),
        _ => None,
    }
}

/// Puts steps together that look at the call alone. `modes` are the thread's, with which the check passes.
pub(super) fn fuse(program: &CheckProgram, modes: &ThreadModes, early: Vec<Hot>) -> Vec<Hot> {
    let op_of = |hot: &Hot| match hot {
        Hot::Run(op) => Some(program.op(*op)),
        _ => None,
    };
    let state = state(program, modes, early.iter().filter_map(op_of));
    let has_state = state.is_some();
    let mut fused: Vec<Hot> = Vec::with_capacity(early.len());
    fused.extend(state.map(|state| Hot::State(Box::new(state))));
    let mut early = early.into_iter().peekable();
    while let Some(hot) = early.next() {
        match op_of(&hot) {
            Some(
                LinkedOp::GlobalState { .. }
                | LinkedOp::ModeStack { .. }
                | LinkedOp::DefaultDevice { .. },
            ) if has_state => {}
            Some(LinkedOp::Local { d, index }) => {
                let tensor = |hot: &Hot| matches!(hot, Hot::Tensor { r, .. } if r == d);
                let Some(Hot::Tensor { spec, .. }) = early.next_if(tensor) else {
                    fused.push(hot);
                    continue;
                };
                let lacks = |hot: &Hot| match op_of(hot) {
                    Some(LinkedOp::HasAttr {
                        r,
                        name,
                        present: false,
                        absent,
                    }) if r == d => Some((*name, std::ptr::from_ref(absent))),
                    _ => None,
                };
                let absent = early.next_if(|hot| lacks(hot).is_some());
                fused.push(Hot::Argument(Box::new(Argument {
                    index: *index,
                    d: *d,
                    spec: *spec,
                    absent: absent.as_ref().and_then(lacks),
                })));
            }
            _ => fused.push(hot),
        }
    }
    fused
}

/// torch's state as the steps want it; `None` where that is more than some words.
fn state<'p>(
    program: &CheckProgram,
    modes: &ThreadModes,
    ops: impl Iterator<Item = &'p LinkedOp>,
) -> Option<State> {
    let (mut global, mut empty_stack, mut default_device) = (None, false, None);
    for op in ops {
        match op {
            LinkedOp::GlobalState { state } if state.autocast.is_empty() => global = Some(state),
            LinkedOp::ModeStack { modes } => empty_stack = modes.is_empty(),
            LinkedOp::DefaultDevice { device } => default_device = Some(&**device),
            _ => {}
        }
    }
    let (global, LinkedConst::Same(device)) = (global?, default_device?) else {
        return None;
    };
    (empty_stack && !program.abi().has_cublas()).then(|| State {
        modes: *modes,
        default_dtype: global.default_dtype,
        has_forward_level: global.has_forward_level,
        deterministic: (global.deterministic, global.deterministic_warn_only),
        device: *device,
    })
}
