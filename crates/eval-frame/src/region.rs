//! Compiled regions: which context is on in this thread, and the interpreter's evaluator, which
//! is ours only while some thread is inside a region.
//!
//! Not here: what the hook does with a frame. All state is touched with the GIL
//! held; the evaluator that was installed before is called for what is not ours,
//! and comes back when the last region ends.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use pyo3::ffi::{self, PyObject, PyThreadState};
use pyo3::prelude::*;

use cpython_abi::panics;

use crate::context::CompileContext;
use crate::handover::Handover;
use crate::hook::HOOK;
use crate::stack::stack_around;
use crate::surroundings::surroundings;
use cpython_abi::frame::RawFrame;
use cpython_abi::symbols::{DEFAULT_EVAL, EvalFn, install_eval, installed_eval, same_eval};
use cpython_abi::thread::{COUNTS_C_CALLS, c_recursion_remaining};
use cpython_abi::thread_end;

/// What one thread knows about regions.
pub struct ThreadRegions {
    /// The context that is on, or null.
    pub(crate) context: Cell<*const CompileContext>,
    /// The context of the residual code that runs: that of the resume functions which it calls.
    pub(crate) residual: Cell<*const CompileContext>,
    /// Regions that this thread is in.
    depth: Cell<usize>,
    /// Whether the compiler runs in this thread.
    pub(crate) compiling: Cell<bool>,
    /// Whether a frame above has reached its limit of compilations: compiled code is used, but none is made.
    pub(crate) only_cached: Cell<bool>,
    /// The frame that was last handed to the evaluator below ours.
    pub(crate) chained: Cell<*mut RawFrame>,
    /// Whether something of the program has run for what C asked for last ([`ThreadRegions::contained`]).
    pub(crate) started: Cell<bool>,
    /// Code whose next frame is run as it is.
    pub(crate) bypass: Cell<*mut PyObject>,
    /// Arguments that the frame of a resume function takes over.
    pub(crate) handover: Handover,
    /// Below this stack address frames are no longer hooked; 0 until it is known.
    soft_floor: Cell<usize>,
    /// Below this stack address a call of an entry raises `RecursionError`.
    hard_floor: Cell<usize>,
    /// Bytes of stack that hooked frames of one outermost region may take.
    budget: Cell<usize>,
}

thread_local! {
    static REGIONS: ThreadRegions = const {
        ThreadRegions {
            context: Cell::new(ptr::null()),
            residual: Cell::new(ptr::null()),
            depth: Cell::new(0),
            compiling: Cell::new(false),
            only_cached: Cell::new(false),
            chained: Cell::new(ptr::null_mut()),
            started: Cell::new(false),
            bypass: Cell::new(ptr::null_mut()),
            handover: Handover::new(),
            soft_floor: Cell::new(0),
            hard_floor: Cell::new(0),
            budget: Cell::new(0),
        }
    };
}

/// This thread's regions.
#[inline]
pub fn with_thread<R>(body: impl FnOnce(&ThreadRegions) -> R) -> R {
    REGIONS.with(body)
}

static INTERPRETER: AtomicPtr<ffi::PyInterpreterState> = AtomicPtr::new(ptr::null_mut());
// Counted with the GIL held: loads and stores need not be one operation.
static NEST: AtomicUsize = AtomicUsize::new(0);
static PREVIOUS: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Remembers the interpreter; once, at import.
pub(crate) fn initialise(_py: Python<'_>) {
    // SAFETY: the GIL is held.
    INTERPRETER.store(unsafe { ffi::PyInterpreterState_Get() }, Ordering::Relaxed);
}

#[inline]
fn interpreter() -> *mut ffi::PyInterpreterState {
    INTERPRETER.load(Ordering::Relaxed)
}

/// Regions that are open in all threads.
#[inline]
pub(crate) fn open_regions() -> usize {
    NEST.load(Ordering::Relaxed)
}

/// Whether our evaluator is the interpreter's.
#[inline]
pub(crate) fn is_installed() -> bool {
    // SAFETY: called with the GIL held, after `initialise`.
    same_eval(unsafe { installed_eval(interpreter()) }, HOOK)
}

/// Installs `to` where `from` is installed: whether it was. The GIL is held.
#[inline]
pub(crate) fn swap_eval(from: EvalFn, to: EvalFn) -> bool {
    // SAFETY: called with the GIL held, after `initialise`; evaluators are static functions.
    unsafe {
        let fits = same_eval(installed_eval(interpreter()), from);
        if fits {
            install_eval(interpreter(), to);
        }
        fits
    }
}

/// The evaluator below ours.
#[inline]
pub(crate) fn previous_eval() -> EvalFn {
    let previous = PREVIOUS.load(Ordering::Relaxed);
    if previous.is_null() {
        DEFAULT_EVAL
    } else {
        // SAFETY: only `install` stores here, and it stores evaluators.
        unsafe { std::mem::transmute::<*mut (), EvalFn>(previous) }
    }
}

/// A region that this thread is in; ends when dropped.
pub(crate) struct Region<'t> {
    thread: &'t ThreadRegions,
    saved: *const CompileContext,
    suspended: *mut PyObject,
    hooked: bool,
}

impl<'t> Region<'t> {
    /// Switches `context` on and installs the hook.
    ///
    /// # Safety
    /// The GIL is held, `context` outlives the region, and regions of a thread end in the
    /// reverse order of their starts.
    #[inline]
    pub(crate) unsafe fn enter(thread: &'t ThreadRegions, context: *const CompileContext) -> Self {
        let saved = thread.context.replace(context);
        let depth = thread.depth.get();
        if depth == 0 {
            thread.start_budget();
        }
        thread.depth.set(depth + 1);
        NEST.store(open_regions() + 1, Ordering::Relaxed);
        // SAFETY: required of the caller.
        let suspended = unsafe { install() };
        Region {
            thread,
            saved,
            suspended,
            hooked: true,
        }
    }

    /// Switches every context off, in this thread and for other tools that capture frames.
    ///
    /// # Safety
    /// As for [`Region::enter`].
    #[inline]
    pub(crate) unsafe fn pause(thread: &'t ThreadRegions) -> Self {
        let saved = thread.context.replace(ptr::null());
        // SAFETY: the GIL is held.
        let current = unsafe { installed_eval(interpreter()) };
        let suspended = match same_eval(current, DEFAULT_EVAL) || is_alone(current) {
            true => ptr::null_mut(),
            false => surroundings().suspend(),
        };
        Region {
            thread,
            saved,
            suspended,
            hooked: false,
        }
    }
}

impl Drop for Region<'_> {
    #[inline]
    fn drop(&mut self) {
        self.thread.context.set(self.saved);
        if self.hooked {
            self.thread
                .depth
                .set(self.thread.depth.get().saturating_sub(1));
            let open = open_regions().saturating_sub(1);
            NEST.store(open, Ordering::Relaxed);
            if open == 0 {
                uninstall();
            }
        }
        if !self.suspended.is_null() {
            // SAFETY: `suspended` is what `suspend` gave, given back once.
            unsafe { surroundings().resume(self.suspended) };
        }
    }
}

/// Whether `current` is our evaluator, with nobody's below it. Where another thread has put ours on top of another tool's,
/// that may still capture frames of this thread.
#[inline]
fn is_alone(current: EvalFn) -> bool {
    same_eval(current, HOOK) && same_eval(previous_eval(), DEFAULT_EVAL)
}

/// Makes our evaluator the interpreter's. Gives what [`Surroundings::suspend`](crate::surroundings::Surroundings::suspend) gave, or null.
///
/// # Safety
/// The GIL is held.
#[inline]
unsafe fn install() -> *mut PyObject {
    // SAFETY: the GIL is held.
    let current = unsafe { installed_eval(interpreter()) };
    if is_alone(current) {
        return ptr::null_mut();
    }
    if same_eval(current, DEFAULT_EVAL) {
        PREVIOUS.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: the GIL is held.
        unsafe { install_eval(interpreter(), HOOK) };
        return ptr::null_mut();
    }
    // SAFETY: the GIL is held.
    unsafe { install_over_foreign() }
}

#[cold]
unsafe fn install_over_foreign() -> *mut PyObject {
    let suspended = surroundings().suspend();
    // SAFETY: the GIL is held; read again, because suspending may have put another one in.
    unsafe {
        let current = installed_eval(interpreter());
        if !same_eval(current, HOOK) {
            let previous = if same_eval(current, DEFAULT_EVAL) {
                ptr::null_mut()
            } else {
                current as *mut ()
            };
            PREVIOUS.store(previous, Ordering::Relaxed);
            install_eval(interpreter(), HOOK);
        }
    }
    suspended
}

/// Puts back the evaluator that was there before ours, where ours is on top.
#[inline]
pub(crate) fn uninstall() {
    if is_installed() {
        // SAFETY: the GIL is held.
        unsafe { install_eval(interpreter(), previous_eval()) };
    }
}

/// What one evaluation takes of `c_recursion_remaining`.
const EVALUATION_UNITS: c_int = 2;

/// Evaluates a frame at no cost in C recursion.
///
/// With a hook each Python call is also a C call. Where C calls are counted, the counter is given back what the
/// evaluator takes, so that the Python recursion limit is what stops a recursion, as without a
/// hook; the stack itself is watched by [`ThreadRegions::is_deep`].
///
/// # Safety
/// As for an evaluator: `tstate` is current, and `frame` was passed to the hook.
#[inline]
pub(crate) unsafe fn evaluate(
    thread: &ThreadRegions,
    eval: EvalFn,
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    throwflag: c_int,
) -> *mut PyObject {
    thread.started.set(true);
    if !COUNTS_C_CALLS {
        // SAFETY: required of the caller.
        return unsafe { thread_end::evaluate(eval, tstate, frame, throwflag) };
    }
    let remaining = c_recursion_remaining(tstate);
    // SAFETY: an int inside the current thread state.
    unsafe {
        *remaining += EVALUATION_UNITS;
        let result = thread_end::evaluate(eval, tstate, frame, throwflag);
        *remaining -= EVALUATION_UNITS;
        result
    }
}

/// Units of C recursion that a thread has been given; ends when dropped.
struct Given(*mut c_int);

impl Drop for Given {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: an int inside the thread state of a thread that runs this.
        unsafe { *self.0 -= EVALUATION_UNITS };
    }
}

/// Calls `body`, one call of a Python function, at no cost in C recursion unless this thread is
/// deep down its stack: there CPython's own count of C calls is what keeps it from overflowing.
///
/// # Safety
/// The GIL is held.
#[inline]
pub(crate) unsafe fn without_c_recursion<R>(thread: &ThreadRegions, body: impl FnOnce() -> R) -> R {
    if COUNTS_C_CALLS && !thread.is_deep() {
        // SAFETY: the GIL is held; the counter is an int inside the current thread state.
        return unsafe {
            let remaining = c_recursion_remaining(ffi::PyThreadState_Get());
            *remaining += EVALUATION_UNITS;
            let _given = Given(remaining);
            body()
        };
    }
    body()
}

#[inline]
fn stack_address() -> usize {
    let marker = 0u8;
    std::hint::black_box(ptr::from_ref(&marker)) as usize
}

/// Puts back what a part of a thread's state was before, at the end of a call; also where it panics.
pub(crate) struct Restored<'t, T: Copy> {
    cell: &'t Cell<T>,
    before: T,
}

impl<T: Copy> Drop for Restored<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.cell.set(self.before);
    }
}

/// Sets a part of a thread's state until what this gives is dropped.
#[inline(always)]
pub(crate) fn set_for<T: Copy>(cell: &Cell<T>, value: T) -> Restored<'_, T> {
    let before = cell.replace(value);
    Restored { cell, before }
}

impl ThreadRegions {
    /// Runs a call of C. Where it panics, `plain` makes the call as long as nothing of the program has run for it
    /// (see [`ThreadRegions::starts`]), else an exception is set.
    ///
    /// # Safety
    /// The GIL is held.
    #[inline(always)]
    pub unsafe fn contained(
        &self,
        doing: &'static str,
        plain: impl FnOnce() -> *mut PyObject,
        body: impl FnOnce() -> *mut PyObject,
    ) -> *mut PyObject {
        let before = self.started.replace(false);
        let otherwise = || match self.started.get() {
            true => panics::raise(doing),
            false => plain(),
        };
        let result = panics::contained(doing, otherwise, body);
        self.started.set(before);
        result
    }

    /// Says that something of the program runs from here on: a panic can no longer be made up for.
    #[inline]
    pub fn starts(&self) {
        self.started.set(true);
    }

    /// Whether a frame above has reached its limit of compilations: compiled code is used, but none is made.
    pub fn uses_cached_only(&self) -> bool {
        self.only_cached.get()
    }

    /// Whether hooked frames have used up the part of the C stack that they may take.
    #[inline]
    pub(crate) fn is_deep(&self) -> bool {
        if self.soft_floor.get() == 0 {
            self.measure_stack();
        }
        stack_address() < self.soft_floor.get()
    }

    /// Whether the C stack is nearly used up.
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        stack_address() < self.floor()
    }

    /// The address below which the C stack is nearly used up.
    pub fn floor(&self) -> usize {
        if self.hard_floor.get() == 0 {
            self.measure_stack();
        }
        self.hard_floor.get()
    }

    /// Lets hooked frames take an eighth of the stack from here on: thousands of levels, and the
    /// rest is left to what takes stack without us.
    #[inline]
    fn start_budget(&self) {
        if self.budget.get() == 0 {
            self.measure_stack();
        }
        let floor = stack_address().saturating_sub(self.budget.get());
        self.soft_floor.set(floor.max(self.hard_floor.get()));
    }

    #[cold]
    fn measure_stack(&self) {
        const LARGEST: usize = 64 << 20;
        const UNKNOWN: usize = 256 << 10;
        let here = stack_address();
        // An address outside of the bounds is on a stack of its own (a coroutine library): what is
        // left of it is not known, so a modest part is taken.
        let (top, size) = stack_around(here).map_or((here, UNKNOWN), |stack| {
            (stack.end, stack.len().min(LARGEST))
        });
        self.budget.set(size / 8);
        self.hard_floor.set(top.saturating_sub(size / 8 * 7).max(1));
        self.soft_floor
            .set(here.saturating_sub(size / 8).max(self.hard_floor.get()));
    }
}

/// Evaluates a frame deep down the C stack with no hook at all, so that the calls below it are
/// inlined by the interpreter and take no C stack: the recursion goes as deep as without us.
///
/// # Safety
/// As for [`evaluate`].
#[cold]
pub(crate) unsafe fn evaluate_unhooked(
    thread: &ThreadRegions,
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    throwflag: c_int,
) -> *mut PyObject {
    thread.started.set(true);
    let was_installed = is_installed();
    if was_installed {
        // SAFETY: the GIL is held.
        unsafe { install_eval(interpreter(), DEFAULT_EVAL) };
    }
    // SAFETY: required of the caller.
    let result = unsafe { thread_end::evaluate_by_default(tstate, frame, throwflag) };
    // SAFETY: the GIL is held.
    unsafe {
        if was_installed
            && open_regions() > 0
            && same_eval(installed_eval(interpreter()), DEFAULT_EVAL)
        {
            install_eval(interpreter(), HOOK);
        }
    }
    result
}

/// After a fork only this thread exists: its regions are the open ones.
pub fn after_fork_in_child() {
    let depth = with_thread(|thread| thread.depth.get());
    NEST.store(depth, Ordering::Relaxed);
    if depth == 0 {
        uninstall();
    }
}
