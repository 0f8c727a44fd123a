//! The frame evaluation hook (PEP 523).
//!
//! Not here: installing it (`region`), the view of a frame (`frame`), changing
//! one (`substitute`). Whatever happens, a frame is evaluated exactly once and a
//! panic of the compiler ends here.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

use pyo3::ffi::{self, PyObject, PyThreadState};
use pyo3::prelude::*;

use cpython_abi::report;

use crate::code_state::{self, CodeState};
use crate::compiler::{self, Outcome};
use crate::context::CompileContext;
use crate::continuation;
use crate::frame::{FrameRef, is_unstarted_function};
use crate::region::{
    Region, ThreadRegions, evaluate, evaluate_unhooked, is_installed, previous_eval, set_for,
    with_thread, without_c_recursion,
};
use crate::substitute::{self, DetachedCall};
use crate::surroundings::{Marked, Measured, marked, surroundings};
use cpython_abi::frame::RawFrame;
#[cfg(not(Py_3_12))]
use cpython_abi::stack_ref::StackRef;
use cpython_abi::symbols::{DEFAULT_EVAL, EvalFn, PyMethod_Function, PyMethod_Type, same_eval};
use cpython_abi::thread_end::evaluate_by_default;

/// The evaluator that regions install.
pub(crate) static HOOK: EvalFn = eval_frame;

/// Why code is not just put in the place of a frame's: [`DETACHES`], [`MEASURES`].
static CAREFUL: AtomicU8 = AtomicU8::new(0);

/// For tests: takes the way of a full data-stack chunk for every substitution.
const DETACHES: u8 = 1;

/// Somebody wants spans of what runs.
const MEASURES: u8 = 2;

fn set_careful(bit: u8, on: bool) {
    match on {
        true => CAREFUL.fetch_or(bit, Ordering::Relaxed),
        false => CAREFUL.fetch_and(!bit, Ordering::Relaxed),
    };
}

pub(crate) fn set_always_detach(on: bool) {
    set_careful(DETACHES, on);
}

/// Says whether somebody wants spans of what runs. While it is on,
/// [`Surroundings::leaves_calls_alone`](crate::surroundings::Surroundings::leaves_calls_alone) has to say no.
pub fn set_measured(on: bool) {
    set_careful(MEASURES, on);
}

/// Whether somebody wants spans of what runs.
pub(crate) fn is_measured() -> bool {
    CAREFUL.load(Ordering::Relaxed) & MEASURES != 0
}

/// Does something within a span, if somebody wants one.
#[cold]
pub(crate) fn measured<T>(what: Measured<'_>, act: impl FnOnce() -> T) -> T {
    let span = Python::try_attach(|py| surroundings().span(py, what));
    let done = act();
    drop(span);
    done
}

/// What profilers call a code object that the compiler made; empty for another.
///
/// # Safety
/// The GIL is held, and `code` is a live code object. The name lives as long as it.
pub(crate) unsafe fn region_of<'a>(code: *mut PyObject) -> &'a str {
    // SAFETY: required of the caller.
    let state = unsafe { code_state::state_of(code).as_ref() };
    if state.is_none() {
        // SAFETY: the GIL is held.
        unsafe { ffi::PyErr_Clear() };
    }
    state.and_then(CodeState::region).unwrap_or_default()
}

unsafe extern "C" fn eval_frame(
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    throwflag: c_int,
) -> *mut PyObject {
    let body = |thread: &ThreadRegions| {
        let context = thread.context.get();
        // SAFETY: the interpreter calls this with the GIL held, its current thread state and a
        // frame to evaluate; a context that is on is kept alive by the entry that switched it on.
        unsafe {
            if throwflag == 0 {
                thread.handover.take(frame);
            }
            if context.is_null() || throwflag != 0 || !is_unstarted_function(frame) {
                return pass(thread, tstate, frame, throwflag);
            }
            decide(thread, tstate, frame, &*context)
        }
    };
    // SAFETY: as above; the frame is evaluated as it came.
    let plain = || unsafe {
        if throwflag == 0 {
            ffi::PyErr_Clear();
        }
        evaluate_by_default(tstate, frame, throwflag)
    };
    // SAFETY: the GIL is held.
    with_thread(|thread| unsafe {
        thread.contained("the evaluation of a frame", plain, || body(thread))
    })
}

/// Evaluates a frame as if we were not there.
#[inline]
unsafe fn pass(
    thread: &ThreadRegions,
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    throwflag: c_int,
) -> *mut PyObject {
    // SAFETY: the frame is passed on as it came.
    unsafe {
        if thread.is_deep() {
            return evaluate_unhooked(thread, tstate, frame, throwflag);
        }
        let previous = previous_eval();
        if same_eval(previous, DEFAULT_EVAL) {
            return evaluate(thread, DEFAULT_EVAL, tstate, frame, throwflag);
        }
        pass_to_foreign(thread, previous, tstate, frame, throwflag)
    }
}

/// Hands a frame to the evaluator below ours, unless it is that evaluator which called us.
#[cold]
unsafe fn pass_to_foreign(
    thread: &ThreadRegions,
    previous: EvalFn,
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    throwflag: c_int,
) -> *mut PyObject {
    // SAFETY: the frame is passed on as it came.
    unsafe {
        if thread.chained.get() == frame || !is_installed() {
            return evaluate(thread, DEFAULT_EVAL, tstate, frame, throwflag);
        }
        let _chained = set_for(&thread.chained, frame);
        evaluate(thread, previous, tstate, frame, throwflag)
    }
}

/// As [`pass`], for the frame and all that it calls.
unsafe fn pass_all(
    thread: &ThreadRegions,
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
) -> *mut PyObject {
    // SAFETY: the GIL is held, and the frame is passed on as it came.
    unsafe {
        let _off = Region::pause(thread);
        pass(thread, tstate, frame, 0)
    }
}

/// The code of a function or a bound method, borrowed; null for another object, and for null.
unsafe fn code_of(callable: *mut PyObject) -> *mut PyObject {
    // SAFETY: `callable` is null or a live object, whose type is looked at first.
    unsafe {
        if callable.is_null() {
            return ptr::null_mut();
        }
        let function = match ffi::Py_TYPE(callable) == &raw mut PyMethod_Type {
            true => PyMethod_Function(callable),
            false => callable,
        };
        match ffi::PyFunction_Check(function) != 0 {
            true => ffi::PyFunction_GetCode(function),
            false => ptr::null_mut(),
        }
    }
}

#[inline]
unsafe fn decide(
    thread: &ThreadRegions,
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    context: &CompileContext,
) -> *mut PyObject {
    // SAFETY: `frame` is an unstarted frame of a function, and the GIL is held.
    unsafe {
        let code = (*frame).code();
        if thread.bypass.get() == code {
            thread.bypass.set(ptr::null_mut());
            return evaluate(thread, DEFAULT_EVAL, tstate, frame, 0);
        }
        let Some(state) = code_state::state_of(code).as_ref() else {
            ffi::PyErr_Clear();
            return pass(thread, tstate, frame, 0);
        };
        match marked((*frame).func()) {
            Marked::No => {}
            Marked::Shallow(behind) => {
                let _bypass = set_for(&thread.bypass, code_of(behind));
                return pass(thread, tstate, frame, 0);
            }
            Marked::Deep => return pass_all(thread, tstate, frame),
        }
        if state.is_skipped(context.id()) || thread.is_deep() {
            return pass(thread, tstate, frame, 0);
        }
        match ask(thread, frame, state, context) {
            Decision::Plain => pass(thread, tstate, frame, 0),
            Decision::PlainAll => pass_all(thread, tstate, frame),
            Decision::PlainCached => {
                let _only_cached = set_for(&thread.only_cached, true);
                pass(thread, tstate, frame, 0)
            }
            Decision::Raise => evaluate(thread, DEFAULT_EVAL, tstate, frame, 1),
            Decision::Replace(code) => {
                // The state goes with its code object, which may die while the frame runs.
                let resumes = state.resumes();
                let _residual = set_for(&thread.residual, ptr::from_ref(context));
                let result = run_replaced(thread, tstate, frame, code);
                match resumes {
                    true => result,
                    false => {
                        if continuation::is_continuation(result) {
                            empty(frame);
                        }
                        continuation::drive(result)
                    }
                }
            }
        }
    }
}

/// What the compiler decided, checked, with references as the evaluator wants them.
enum Decision {
    Plain,
    /// With all that it calls.
    PlainAll,
    /// What it calls is not compiled.
    PlainCached,
    /// The exception is set.
    Raise,
    /// An owned code object that fits the frame.
    Replace(*mut PyObject),
}

unsafe fn ask(
    thread: &ThreadRegions,
    frame: *mut RawFrame,
    state: &CodeState,
    context: &CompileContext,
) -> Decision {
    let Some(compiler) = compiler::current() else {
        return Decision::Plain;
    };
    let _off = set_for(&thread.context, ptr::null());
    let _compiling = set_for(&thread.compiling, true);
    // SAFETY: `decide` has checked the frame, and it is not run before this returns.
    let view = unsafe { FrameRef::new(frame, state) };
    // While the interpreter shuts down there is no attaching, and nothing to compile.
    Python::try_attach(|py| {
        let ask = || settle(py, &view, context, compiler.on_frame(py, &view, context));
        let decision = match catch_unwind(AssertUnwindSafe(ask)) {
            Ok(decision) => decision,
            Err(payload) => {
                state.skip(context.id());
                report::warn_once(
                    py,
                    &format!(
                        "internal error in ferrodyn's compiler ({}): {} runs in eager mode",
                        report::panic_text(&*payload),
                        view.code(py)
                            .getattr("co_qualname")
                            .map_or_else(|_| "?".to_owned(), |name| name.to_string()),
                    ),
                );
                Decision::Plain
            }
        };
        // SAFETY: the GIL is held.
        if !matches!(decision, Decision::Raise) && !unsafe { ffi::PyErr_Occurred() }.is_null() {
            report_stray(py);
        }
        decision
    })
    .unwrap_or(Decision::Plain)
}

#[cold]
fn report_stray(py: Python<'_>) {
    if let Some(stray) = PyErr::take(py) {
        stray.write_unraisable(py, None);
    }
}

fn settle(
    py: Python<'_>,
    view: &FrameRef<'_>,
    context: &CompileContext,
    outcome: Outcome,
) -> Decision {
    match outcome {
        Outcome::Run => Decision::Plain,
        Outcome::RunAll => Decision::PlainAll,
        Outcome::RunCached => Decision::PlainCached,
        Outcome::Skip => {
            view.code_state().skip(context.id());
            Decision::Plain
        }
        Outcome::Raise(error) => {
            error.restore(py);
            Decision::Raise
        }
        Outcome::Replace(code) => match substitute::check(&view.code(py), code.bind(py)) {
            Ok(()) => Decision::Replace(code.into_ptr()),
            Err(error) if context.fullgraph() => {
                PyErr::from(error).restore(py);
                Decision::Raise
            }
            Err(error) => {
                view.code_state().skip(context.id());
                report::warn_once(
                    py,
                    &format!("internal error in ferrodyn: {error}; it runs in eager mode"),
                );
                Decision::Plain
            }
        },
    }
}

#[inline]
unsafe fn run_replaced(
    thread: &ThreadRegions,
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    code: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: `settle` has checked `code` for this frame, which is unstarted and on top of the
    // data stack: the compiler's own frames are gone.
    unsafe {
        if CAREFUL.load(Ordering::Relaxed) != 0 {
            return run_carefully(thread, tstate, frame, code);
        }
        if substitute::has_room(tstate, frame, code) {
            substitute::retarget(tstate, frame, code);
            return evaluate(thread, DEFAULT_EVAL, tstate, frame, 0);
        }
        run_detached(thread, tstate, frame, code)
    }
}

/// As [`run_replaced`], for those who ask for more.
#[cold]
unsafe fn run_carefully(
    thread: &ThreadRegions,
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    code: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `run_replaced`; a span runs no Python code.
    unsafe {
        let detaches = CAREFUL.load(Ordering::Relaxed) & DETACHES != 0;
        let run = || {
            if !detaches && substitute::has_room(tstate, frame, code) {
                substitute::retarget(tstate, frame, code);
                return evaluate(thread, DEFAULT_EVAL, tstate, frame, 0);
            }
            run_detached(thread, tstate, frame, code)
        };
        match is_measured() {
            true => measured(Measured::Region(region_of(code)), run),
            false => run(),
        }
    }
}

#[cold]
unsafe fn run_detached(
    thread: &ThreadRegions,
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    code: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `run_replaced`; `code` is owned here.
    unsafe {
        let result = match DetachedCall::prepare(frame, code) {
            Some(call) => {
                thread.started.set(true);
                let _bypass = set_for(&thread.bypass, code);
                without_c_recursion(thread, || call.run())
            }
            None => ptr::null_mut(),
        };
        ffi::Py_DECREF(code);
        discard(thread, tstate, frame);
        result
    }
}

/// Lets go of the variables of a frame that has returned, where the interpreter does so only when
/// the hook returns.
#[cfg(not(Py_3_12))]
unsafe fn empty(frame: *mut RawFrame) {
    // SAFETY: the frame has run to its end and nobody has asked for a frame object, so that nothing
    // but its caller's clearing looks at it, which takes null for empty.
    unsafe {
        if (*frame).frame_obj.is_null() {
            let locals = RawFrame::locals_of(frame);
            for i in 0..(*(*frame).raw_code()).nlocalsplus as usize {
                ptr::replace(locals.add(i), StackRef::NULL).release();
            }
        }
    }
}

/// The interpreter has cleared a frame that has returned.
#[cfg(Py_3_12)]
unsafe fn empty(_frame: *mut RawFrame) {}

/// Clears and pops a frame that will not run. A pending exception is kept.
///
/// On 3.11 the interpreter does that itself when the hook returns.
#[cfg(not(Py_3_12))]
unsafe fn discard(_: &ThreadRegions, _tstate: *mut PyThreadState, _frame: *mut RawFrame) {}

/// Clears and pops a frame that will not run. A pending exception is kept.
#[cfg(Py_3_12)]
unsafe fn discard(thread: &ThreadRegions, tstate: *mut PyThreadState, frame: *mut RawFrame) {
    // SAFETY: raising in an unstarted frame clears and pops it without running an instruction;
    // tracing is off meanwhile, so that no tool sees a call that did not happen. The exception
    // that was pending is owned in between.
    unsafe {
        let pending = ffi::PyErr_GetRaisedException();
        ffi::PyErr_SetNone(ffi::PyExc_RuntimeError);
        ffi::PyThreadState_EnterTracing(tstate);
        let nothing = evaluate(thread, DEFAULT_EVAL, tstate, frame, 1);
        ffi::PyThreadState_LeaveTracing(tstate);
        debug_assert!(nothing.is_null());
        ffi::PyErr_Clear();
        if !pending.is_null() {
            ffi::PyErr_SetRaisedException(pending);
        }
    }
}
