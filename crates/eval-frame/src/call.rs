//! Calls of entries.
//!
//! Calling an entry costs a vectorcall and what the compiler asks; it puts no frame of its own between caller and
//! function. A call that ends in a Python function is first offered to the compiler; any other call, and what the
//! compiler declines, goes to the wrapped callable with the hook installed.
//!
//! Not here: the entry itself ([`crate::entry`]), binding of arguments (`bind`).

use std::cell::RefCell;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use cpython_abi::code::RawCode;
use cpython_abi::symbols::{_PyType_Lookup, PyMethod_Function, PyMethod_Self, PyMethod_Type};
use cpython_abi::thread_end::{MayEnd, waits};
use cpython_abi::{panics, report};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::bind::{self, Arguments};
use crate::compiler::{self, Direct, EntryCall, FrameCompiler};
use crate::context::CompileContext;
use crate::continuation;
use crate::direct::CallMemo;
use crate::entry::{Entry, EntryKind};
use crate::graph_call::GraphCall;
use crate::handover;
use crate::hook;
use crate::region::{Region, ThreadRegions, set_for, with_thread, without_c_recursion};
use crate::replay::replay;
use crate::surroundings::{Measured, MethodTarget, Way, surroundings};

/// Raises for an entry without its callable.
///
/// # Safety
/// The GIL is held.
#[cold]
pub unsafe fn raise_cleared() -> *mut PyObject {
    const GONE: &CStr = c"this ferrodyn entry was cleared by the garbage collector";
    // SAFETY: the GIL is held.
    unsafe { ffi::PyErr_SetString(ffi::PyExc_RuntimeError, GONE.as_ptr()) };
    ptr::null_mut()
}

#[cold]
unsafe fn raise_exhausted() -> *mut PyObject {
    const DEEP: &CStr = c"maximum recursion depth exceeded: no C stack left for a compiled call";
    // SAFETY: the GIL is held.
    unsafe { ffi::PyErr_SetString(ffi::PyExc_RecursionError, DEEP.as_ptr()) };
    ptr::null_mut()
}

/// The vectorcall of a compiled entry.
pub(crate) unsafe extern "C" fn call_compiled(
    entry: *mut PyObject,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: the interpreter calls this with the GIL held, an entry that it keeps alive, and
    // arguments as the vectorcall protocol has them. The settings live in the entry's context.
    unsafe {
        let this = &*entry.cast::<Entry>();
        call_contained(
            "the call of an entry",
            this,
            args,
            nargsf,
            kwnames,
            |thread| {
                // A region of its own: the limit that its caller has reached is not its.
                let _only_cached = set_for(&thread.only_cached, false);
                call_with(thread, this, this.settings, args, nargsf, kwnames)
            },
        )
    }
}

/// The vectorcall of a resume function's entry: only residual code calls it, under its own context.
pub(crate) unsafe extern "C" fn call_resume(
    entry: *mut PyObject,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `call_compiled`; whoever runs the residual code keeps the context alive.
    unsafe {
        let this = &*entry.cast::<Entry>();
        call_contained(
            "the call of a resume function",
            this,
            args,
            nargsf,
            kwnames,
            |thread| call_with(thread, this, thread.residual.get(), args, nargsf, kwnames),
        )
    }
}

/// Makes the call of an entry by `body`, and plainly where that panics before anything of the program has run.
///
/// # Safety
/// As for a vectorcall of `this`.
#[inline(always)]
pub unsafe fn call_contained(
    doing: &'static str,
    this: &Entry,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
    body: impl FnOnce(&ThreadRegions) -> *mut PyObject,
) -> *mut PyObject {
    // SAFETY: required of the caller.
    let plain = || unsafe { call_plainly(this, args, nargsf, kwnames) };
    // SAFETY: the GIL is held, as for any call.
    with_thread(|thread| unsafe { thread.contained(doing, plain, || body(thread)) })
}

/// Calls what an entry wraps, where the entry's own call panicked before it did so.
///
/// # Safety
/// As for a vectorcall of `this`.
#[cold]
pub unsafe fn call_plainly(
    this: &Entry,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: required of the caller.
    unsafe {
        ffi::PyErr_Clear();
        match this.callable.is_null() {
            true => raise_cleared(),
            false => ffi::PyObject_Vectorcall(this.callable, args, nargsf, kwnames),
        }
    }
}

/// # Safety
/// As for a vectorcall of `this`; `settings` is null or outlives the call.
#[inline(always)]
unsafe fn call_with(
    thread: &ThreadRegions,
    this: &Entry,
    settings: *const CompileContext,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: required of the caller.
    unsafe {
        let callable = this.callable;
        if callable.is_null() {
            return raise_cleared();
        }
        if thread.compiling.get() || settings.is_null() {
            thread.started.set(true);
            return ffi::PyObject_Vectorcall(callable, args, nargsf, kwnames);
        }
        if thread.is_exhausted() {
            return raise_exhausted();
        }
        let Some(compiler) = compiler::current() else {
            return run_hooked(thread, callable, args, nargsf, kwnames, settings);
        };
        // The interpreter calls with the thread attached. Telling PyO3 so costs more than a
        // check of guards, and a check needs nothing of PyO3.
        let py = Python::assume_attached();
        let mut settings = settings;
        let forced;
        if !surroundings().leaves_calls_alone(py) {
            match surroundings().way(py, this, &*settings) {
                Way::AsEver => {}
                Way::Eager => return run_eagerly(thread, callable, args, nargsf, kwnames),
                Way::With(context) => {
                    forced = context;
                    settings = forced.bind(py).get().settings();
                }
            }
            if hook::is_measured() {
                return answer_measured(
                    py, compiler, thread, this, settings, args, nargsf, kwnames,
                );
            }
        }
        answer::<false>(py, compiler, thread, this, settings, args, nargsf, kwnames)
    }
}

/// As [`answer`], with spans.
///
/// # Safety
/// As there.
#[cold]
#[inline(never)]
#[expect(clippy::too_many_arguments, reason = "all of them are one call")]
unsafe fn answer_measured(
    py: Python<'_>,
    compiler: &dyn FrameCompiler,
    thread: &ThreadRegions,
    this: &Entry,
    settings: *const CompileContext,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: required of the caller.
    unsafe { answer::<true>(py, compiler, thread, this, settings, args, nargsf, kwnames) }
}

/// The call of an entry whose settings are known: by what the compiler has for it, else with the hook installed.
/// `MEASURED`: somebody wants spans of both.
///
/// # Safety
/// As for a vectorcall of `this`, which has a callable; `settings` outlives the call.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "all of them are one call")]
unsafe fn answer<const MEASURED: bool>(
    py: Python<'_>,
    compiler: &dyn FrameCompiler,
    thread: &ThreadRegions,
    this: &Entry,
    settings: *const CompileContext,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: required of the caller.
    unsafe {
        let callable = this.callable;
        let offer = |func: *mut ffi::PyFunctionObject, locals: &[*mut PyObject], plain: bool| {
            let offer = || offer(py, compiler, thread, this, func, locals, plain, &*settings);
            match MEASURED {
                true => hook::measured(Measured::LookUp, offer),
                false => offer(),
            }
        };
        let call_direct = |direct: Direct, locals: &[*mut PyObject]| {
            if !MEASURED {
                return call_direct(thread, this, direct, locals, settings);
            }
            let function = direct.function.clone_ref(py);
            let code = (*function.as_ptr().cast::<ffi::PyFunctionObject>()).func_code;
            let region = Measured::Region(hook::region_of(code));
            hook::measured(region, || {
                call_direct(thread, this, direct, locals, settings)
            })
        };
        let target = this.target();
        if let Some(Target { func, receiver, .. }) = target {
            let code = (*func).func_code;
            let raw = &*code.cast::<RawCode>();
            let call = Arguments {
                receiver,
                args,
                positional: ffi::PyVectorcall_NARGS(nargsf) as usize,
                kwnames,
                keywords: ptr::null_mut(),
            };
            if bind::binds_plainly(raw, &call) {
                let args = if call.positional == 0 {
                    ptr::dangling()
                } else {
                    args
                };
                let locals = std::slice::from_raw_parts(args, call.positional);
                if let Some(direct) = offer(func, locals, true) {
                    return call_direct(direct, locals);
                }
            } else if let Some(locals) = bind::bind(&*func, raw, &call) {
                let locals = locals.slots();
                if let Some(direct) = offer(func, locals, false) {
                    return call_direct(direct, locals);
                }
            }
        }
        if let Some(target) = target
            && target.skips_callable
        {
            return run_target(thread, &target, args, nargsf, kwnames, settings);
        }
        // Attached once here: what the hook asks below finds the thread attached, at no cost.
        // While the interpreter shuts down there is no attaching, and nothing to compile.
        Python::try_attach(|_| run_hooked(thread, callable, args, nargsf, kwnames, settings))
            .unwrap_or_else(|| {
                thread.started.set(true);
                ffi::PyObject_Vectorcall(callable, args, nargsf, kwnames)
            })
    }
}

/// A call whose keywords are in a dictionary of the caller's, where what was compiled for the last call does no more
/// than to read it: the function needs no `**kwargs` of its own. `None` where nothing was done, and the call is to be
/// made with names.
///
/// # Safety
/// As for a vectorcall of `this`, a compiled entry; `keywords` is a live dictionary.
pub unsafe fn call_sharing(
    this: &Entry,
    args: *const *mut PyObject,
    positional: usize,
    keywords: *mut PyObject,
) -> Option<*mut PyObject> {
    // SAFETY: required of the caller.
    unsafe {
        with_thread(|thread| {
            let settings = this.settings;
            let able = !this.callable.is_null()
                && !settings.is_null()
                && !thread.compiling.get()
                && !thread.is_exhausted()
                && surroundings().leaves_calls_alone(Python::assume_attached());
            let compiler = compiler::current().filter(|_| able)?;
            let Target { func, receiver, .. } = this.target()?;
            let code = (*func).func_code;
            let call = Arguments {
                receiver,
                args,
                positional,
                kwnames: ptr::null_mut(),
                keywords,
            };
            let locals = bind::bind(&*func, &*code.cast::<RawCode>(), &call)?;
            let locals = locals.slots();
            let func = Borrowed::from_ptr(Python::assume_attached(), func.cast());
            let call = EntryCall::new(func, code, locals, false, this.memo()).sharing_keywords();
            let repeated = || compiler.on_repeated_call(&call, &*settings);
            let direct = catch_unwind(AssertUnwindSafe(repeated)).ok()??;
            Some(call_direct(thread, this, direct, locals, settings))
        })
    }
}

/// A call of which nothing is captured.
///
/// # Safety
/// As for a vectorcall of `callable`.
#[cold]
unsafe fn run_eagerly(
    thread: &ThreadRegions,
    callable: *mut PyObject,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: required of the caller.
    unsafe {
        let _off = Region::pause(thread);
        thread.started.set(true);
        ffi::PyObject_Vectorcall(callable, args, nargsf, kwnames)
    }
}

/// What a call of an entry ends in.
#[derive(Clone, Copy)]
struct Target {
    func: *mut ffi::PyFunctionObject,
    /// Its first argument, or null.
    receiver: *mut PyObject,
    /// Whether there is Python code between the callable and the function that need not run.
    skips_callable: bool,
}

impl Entry {
    /// The function that a call ends in; `None` where only Python can say.
    #[inline]
    unsafe fn target(&self) -> Option<Target> {
        if !self.func.is_null() {
            return Some(Target {
                func: self.func,
                receiver: ptr::null_mut(),
                skips_callable: false,
            });
        }
        // SAFETY: the entry keeps its callable alive, a method what it is made of, and the class of
        // an object its methods during the call.
        unsafe {
            let class = ffi::Py_TYPE(self.callable);
            let mut skips_callable = false;
            let (function, receiver) = if class == &raw mut PyMethod_Type {
                let function = PyMethod_Function(self.callable);
                let receiver = PyMethod_Self(self.callable);
                match surroundings().method_target(function, receiver) {
                    MethodTarget::Itself => (function, receiver),
                    MethodTarget::Behind(function, receiver) => {
                        skips_callable = true;
                        (function, receiver)
                    }
                    MethodTarget::Unknown => return None,
                }
            } else {
                (class_call(class), self.callable)
            };
            if function.is_null() || ffi::Py_TYPE(function) != &raw mut ffi::PyFunction_Type {
                return None;
            }
            Some(Target {
                func: function.cast(),
                receiver,
                skips_callable,
            })
        }
    }

    /// What the entry remembers between calls.
    #[inline]
    fn memo(&self) -> &RefCell<CallMemo> {
        // SAFETY: made with the entry and freed with it.
        unsafe { &*self.memo }
    }
}

/// `__call__` of a Python class, borrowed, or null.
unsafe fn class_call(class: *mut ffi::PyTypeObject) -> *mut PyObject {
    // SAFETY: a live type, whose methods are looked up without running code.
    unsafe {
        if ffi::PyType_HasFeature(class, ffi::Py_TPFLAGS_HEAPTYPE) == 0 {
            return ptr::null_mut();
        }
        let name = pyo3::intern!(Python::assume_attached(), "__call__");
        let found = _PyType_Lookup(class, name.as_ptr());
        if found.is_null() && !ffi::PyErr_Occurred().is_null() {
            ffi::PyErr_Clear();
        }
        found
    }
}

#[inline]
unsafe fn run_hooked(
    thread: &ThreadRegions,
    callable: *mut PyObject,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
    settings: *const CompileContext,
) -> *mut PyObject {
    // SAFETY: the arguments and the callable are those of an entry's call, which keeps the
    // settings alive; the region ends before this returns.
    unsafe {
        let _region = Region::enter(thread, settings);
        thread.handover.accept(callable, args);
        thread.started.set(true);
        without_c_recursion(thread, || {
            ffi::PyObject_Vectorcall(callable, args, nargsf, kwnames)
        })
    }
}

/// Runs the function that a call ends in, with the hook installed.
#[cold]
unsafe fn run_target(
    thread: &ThreadRegions,
    target: &Target,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
    settings: *const CompileContext,
) -> *mut PyObject {
    // SAFETY: as for `run_hooked`; the function and its first argument are owned here, because
    // either may be replaced while it runs.
    unsafe {
        let count = ffi::PyVectorcall_NARGS(nargsf) as usize;
        let named = match kwnames.is_null() {
            true => 0,
            false => ffi::PyTuple_GET_SIZE(kwnames) as usize,
        };
        let mut all: SmallVec<[*mut PyObject; 12]> = SmallVec::new();
        all.extend((!target.receiver.is_null()).then_some(target.receiver));
        let positional = all.len() + count;
        all.extend((0..count + named).map(|i| *args.add(i)));
        let func = ffi::Py_NewRef(target.func.cast());
        ffi::Py_XINCREF(target.receiver);
        let run = || run_hooked(thread, func, all.as_ptr(), positional, kwnames, settings);
        let result = Python::try_attach(|_| run()).unwrap_or_else(|| {
            thread.started.set(true);
            ffi::PyObject_Vectorcall(func, all.as_ptr(), positional, kwnames)
        });
        ffi::Py_XDECREF(target.receiver);
        ffi::Py_DECREF(func);
        result
    }
}

/// Offers a call to the compiler.
#[inline]
#[expect(clippy::too_many_arguments, reason = "all of them are one call")]
unsafe fn offer(
    py: Python<'_>,
    compiler: &dyn FrameCompiler,
    thread: &ThreadRegions,
    entry: &Entry,
    func: *mut ffi::PyFunctionObject,
    locals: &[*mut PyObject],
    plain: bool,
    settings: &CompileContext,
) -> Option<Direct> {
    // SAFETY: the entry keeps what it calls alive, a function its code.
    let (func, code) = unsafe {
        let code = (*func).func_code;
        (Borrowed::from_ptr(py, func.cast()), code)
    };
    let call = EntryCall::new(func, code, locals, plain, entry.memo());
    let repeated = || compiler.on_repeated_call(&call, settings);
    if let Ok(Some(direct)) = catch_unwind(AssertUnwindSafe(repeated)) {
        return Some(direct);
    }
    // What is made below may run finalizers, which may give the callable another function.
    let _held = func.to_owned();
    let _off = set_for(&thread.context, ptr::null());
    let _compiling = set_for(&thread.compiling, true);
    let offered = catch_unwind(AssertUnwindSafe(|| compiler.on_call(py, &call, settings)));
    offered.unwrap_or_else(|payload| {
        let text = report::panic_text(&*payload);
        report::warn_once(
            py,
            &format!("internal error in ferrodyn's compiler ({text}), in a call of an entry"),
        );
        None
    })
}

#[inline]
unsafe fn call_direct(
    thread: &ThreadRegions,
    this: &Entry,
    direct: Direct,
    locals: &[*mut PyObject],
    settings: *const CompileContext,
) -> *mut PyObject {
    let drives = this.kind != EntryKind::Resume;
    let function = direct.function.into_ptr();
    if let Some(call) = direct.graph_call
        && drives
        && GraphCall::is_unseen()
    {
        // SAFETY: nothing has run since the call was offered.
        let call = unsafe { call.read() };
        // SAFETY: required of the caller.
        return unsafe { call_graph_alone(thread, this, call, function, locals, settings) };
    }
    let residual = set_for(&thread.residual, settings);
    // SAFETY: the arguments are those of the entry's own call, the function is owned here, and
    // the settings outlive the call.
    unsafe {
        let region = match direct.needs_hook {
            true => Region::enter(thread, settings),
            false => Region::pause(thread),
        };
        let accepted = !drives && thread.handover.accept(function, locals.as_ptr());
        thread.started.set(true);
        let result = without_c_recursion(thread, || {
            let result = handover::watched(accepted, || call_function(function, locals));
            // A resume function is called for a continuation: whoever does drives on.
            match drives {
                true => continuation::drive(result),
                false => result,
            }
        });
        drop(region);
        drop(residual);
        ffi::Py_DECREF(function);
        result
    }
}

/// Runs the graph without the residual frame around it. Takes over `function`, which is that frame's.
///
/// # Safety
/// As for [`call_direct`].
#[inline]
unsafe fn call_graph_alone(
    thread: &ThreadRegions,
    this: &Entry,
    call: GraphCall,
    function: *mut PyObject,
    locals: &[*mut PyObject],
    settings: *const CompileContext,
) -> *mut PyObject {
    // SAFETY: required of the caller; the function, owned here, keeps the graph alive.
    unsafe {
        let region = Region::pause(thread);
        thread.started.set(true);
        let result = call.call(locals).unwrap_or_else(|outcome| {
            if !outcome.is_null()
                && let Ok(memo) = this.memo().try_borrow()
            {
                memo.keep_frame(function);
            }
            let _residual = set_for(&thread.residual, settings);
            replay(function, call.graph(), locals, outcome)
        });
        drop(region);
        ffi::Py_DECREF(function);
        result
    }
}

/// Calls a Python function with positional arguments: what the interpreter does around the call of an
/// object that it knows nothing of is left out.
#[inline]
pub(crate) unsafe fn call_function(
    function: *mut PyObject,
    args: &[*mut PyObject],
) -> *mut PyObject {
    // SAFETY: required of the caller: a live function, whose call is a vectorcall.
    unsafe {
        match (*function.cast::<ffi::PyFunctionObject>()).vectorcall {
            Some(call) => {
                waits(|| call.may_end()(function, args.as_ptr(), args.len(), ptr::null_mut()))
            }
            None => ffi::PyObject_Vectorcall(function, args.as_ptr(), args.len(), ptr::null_mut()),
        }
    }
}

/// The vectorcall of an entry that switches capture off.
pub(crate) unsafe extern "C" fn call_disabled(
    entry: *mut PyObject,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `call_compiled`.
    unsafe {
        let this = &*entry.cast::<Entry>();
        call_contained(
            "the call of a disabled entry",
            this,
            args,
            nargsf,
            kwnames,
            |thread| {
                if this.callable.is_null() {
                    return raise_cleared();
                }
                call_paused(thread, this.callable, args, nargsf, kwnames)
            },
        )
    }
}

/// What [`call_graph`] does.
const GRAPH_CALL: &str = "the call of a graph";

/// The vectorcall of a graph's entry: only residual code calls it.
pub(crate) unsafe extern "C" fn call_graph(
    entry: *mut PyObject,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: as for `call_compiled`; the entry keeps its inputs, and the caller the arguments.
    unsafe {
        let this = &*entry.cast::<Entry>();
        let call = |thread: &ThreadRegions| {
            let Some(inputs) = this.inputs.as_ref() else {
                return raise_cleared();
            };
            let given = ffi::PyVectorcall_NARGS(nargsf) as usize;
            if !kwnames.is_null() || given != inputs.given() {
                const OTHER: &CStr = c"a graph takes the inputs that it was compiled for";
                ffi::PyErr_SetString(ffi::PyExc_TypeError, OTHER.as_ptr());
                return ptr::null_mut();
            }
            inputs.with(args, |all, count| {
                let nargsf = count | ffi::PY_VECTORCALL_ARGUMENTS_OFFSET;
                call_paused(thread, this.callable, all, nargsf, ptr::null_mut())
            })
        };
        // Its arguments alone are not what the graph takes.
        let plain = || panics::raise(GRAPH_CALL);
        with_thread(|thread| thread.contained(GRAPH_CALL, plain, || call(thread)))
    }
}

/// A call with capture off.
///
/// # Safety
/// As for a vectorcall of `callable`.
#[inline]
unsafe fn call_paused(
    thread: &ThreadRegions,
    callable: *mut PyObject,
    args: *const *mut PyObject,
    nargsf: usize,
    kwnames: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: required of the caller; the region ends before this returns.
    unsafe {
        if thread.is_exhausted() {
            return raise_exhausted();
        }
        let _region = Region::pause(thread);
        thread.started.set(true);
        without_c_recursion(thread, || {
            ffi::PyObject_Vectorcall(callable, args, nargsf, kwnames)
        })
    }
}
