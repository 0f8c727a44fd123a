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

use crate::context::CompileContext;
use crate::foreign;
use crate::hook::HOOK;
use crate::layout::frame::RawFrame;
use crate::layout::symbols::{DEFAULT_EVAL, EvalFn, install_eval, installed_eval, same_eval};

/// What one thread knows about regions.
pub(crate) struct ThreadRegions {
    /// The context that is on, or null.
    pub context: Cell<*const CompileContext>,
    /// Regions that this thread is in.
    depth: Cell<usize>,
    /// Whether the compiler runs in this thread.
    pub compiling: Cell<bool>,
    /// The frame that was last handed to the evaluator below ours.
    pub chained: Cell<*mut RawFrame>,
    /// Code whose next frame is run as it is.
    pub bypass: Cell<*mut PyObject>,
    /// Below this stack address frames are no longer hooked; 0 until it is known.
    soft_floor: Cell<usize>,
    /// Below this stack address a call of an entry raises `RecursionError`.
    hard_floor: Cell<usize>,
}

thread_local! {
    static REGIONS: ThreadRegions = const {
        ThreadRegions {
            context: Cell::new(ptr::null()),
            depth: Cell::new(0),
            compiling: Cell::new(false),
            chained: Cell::new(ptr::null_mut()),
            bypass: Cell::new(ptr::null_mut()),
            soft_floor: Cell::new(0),
            hard_floor: Cell::new(0),
        }
    };
}

/// This thread's regions.
#[inline]
pub(crate) fn with_thread<R>(body: impl FnOnce(&ThreadRegions) -> R) -> R {
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
        thread.depth.set(thread.depth.get() + 1);
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
        let suspended = if same_eval(current, DEFAULT_EVAL) || same_eval(current, HOOK) {
            ptr::null_mut()
        } else {
            foreign::suspend()
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
            unsafe { foreign::resume(self.suspended) };
        }
    }
}

/// Makes our evaluator the interpreter's. Gives what [`foreign::suspend`] gave, or null.
///
/// # Safety
/// The GIL is held.
#[inline]
unsafe fn install() -> *mut PyObject {
    // SAFETY: the GIL is held.
    let current = unsafe { installed_eval(interpreter()) };
    if same_eval(current, HOOK) {
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
    let suspended = foreign::suspend();
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

/// Evaluates a frame with CPython's evaluator, at no cost in C recursion.
///
/// With a hook each Python call is also a C call. `c_recursion_remaining` is given back what the
/// evaluator takes, so that the Python recursion limit is what stops a recursion, as without a
/// hook; the stack itself is watched by [`evaluate_unhooked`].
///
/// # Safety
/// As for an evaluator: `tstate` is current, and `frame` was passed to the hook.
#[inline]
pub(crate) unsafe fn evaluate(
    eval: EvalFn,
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    throwflag: c_int,
) -> *mut PyObject {
    #[cfg(Py_3_12)]
    {
        const UNITS: c_int = 2;
        let remaining = crate::layout::thread::c_recursion_remaining(tstate);
        // SAFETY: an int inside the current thread state.
        unsafe {
            *remaining += UNITS;
            let result = eval(tstate, frame, throwflag);
            *remaining -= UNITS;
            result
        }
    }
    #[cfg(not(Py_3_12))]
    // SAFETY: required of the caller.
    unsafe {
        eval(tstate, frame, throwflag)
    }
}

/// Calls `body` with the C recursion counter given back what one call of a Python function takes.
///
/// # Safety
/// The GIL is held.
#[inline]
pub(crate) unsafe fn without_c_recursion<R>(body: impl FnOnce() -> R) -> R {
    #[cfg(Py_3_12)]
    {
        const UNITS: c_int = 2;
        // SAFETY: the GIL is held; the counter is an int inside the current thread state.
        unsafe {
            let remaining = crate::layout::thread::c_recursion_remaining(ffi::PyThreadState_Get());
            *remaining += UNITS;
            let result = body();
            *remaining -= UNITS;
            result
        }
    }
    #[cfg(not(Py_3_12))]
    body()
}

#[inline]
fn stack_address() -> usize {
    let marker = 0u8;
    std::hint::black_box(ptr::from_ref(&marker)) as usize
}

impl ThreadRegions {
    /// Whether the C stack is more than half used.
    #[inline]
    pub(crate) fn is_deep(&self) -> bool {
        let floor = self.soft_floor.get();
        if floor == 0 {
            self.measure_stack();
            return stack_address() < self.soft_floor.get();
        }
        stack_address() < floor
    }

    /// Whether the C stack is nearly used up.
    #[inline]
    pub(crate) fn is_exhausted(&self) -> bool {
        if self.hard_floor.get() == 0 {
            self.measure_stack();
        }
        stack_address() < self.hard_floor.get()
    }

    #[cold]
    fn measure_stack(&self) {
        const LARGEST: usize = 64 << 20;
        let here = stack_address();
        let (low, size) = stack_bounds().unwrap_or((here.saturating_sub(1 << 20), 1 << 20));
        let top = low.saturating_add(size);
        let size = size.min(LARGEST);
        // An address above the bounds is on a stack of its own (a coroutine library): what is left
        // of it is not known, so a modest part is taken.
        let (top, size) = if (low..top).contains(&here) {
            (top, size)
        } else {
            (here, 256 << 10)
        };
        self.soft_floor.set(top.saturating_sub(size / 2).max(1));
        self.hard_floor.set(top.saturating_sub(size / 8 * 7).max(1));
    }
}

fn stack_bounds() -> Option<(usize, usize)> {
    // SAFETY: the attribute object is initialised by the first call and destroyed by the last.
    unsafe {
        let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return None;
        }
        let mut low = ptr::null_mut();
        let mut size = 0usize;
        let got = libc::pthread_attr_getstack(&attributes, &mut low, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        (got == 0).then_some((low as usize, size))
    }
}

/// Evaluates a frame deep down the C stack with no hook at all, so that the calls below it are
/// inlined by the interpreter and take no C stack: the recursion goes as deep as without us.
///
/// # Safety
/// As for [`evaluate`].
#[cold]
pub(crate) unsafe fn evaluate_unhooked(
    tstate: *mut PyThreadState,
    frame: *mut RawFrame,
    throwflag: c_int,
) -> *mut PyObject {
    let was_installed = is_installed();
    if was_installed {
        // SAFETY: the GIL is held.
        unsafe { install_eval(interpreter(), DEFAULT_EVAL) };
    }
    // SAFETY: required of the caller.
    let result = unsafe { evaluate(DEFAULT_EVAL, tstate, frame, throwflag) };
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
pub(crate) fn after_fork_in_child() {
    let depth = with_thread(|thread| thread.depth.get());
    NEST.store(depth, Ordering::Relaxed);
    if depth == 0 {
        uninstall();
    }
}
