//! The decision about a frame or a call: cached code, a compilation, or plain Python.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use backends::{Backend, CompileOptions};
use cache::{CodeName, CompileId, Decision, Entries, GuardedCode, Limits, Miss};
use guards::exec::CheckProgram;
use guards::{ConstTypes, GuardSet, Program, UserFrame};
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyDict, PyList};
use rustc_hash::FxHashMap;
use translator::output::{self, Finish, OutputEnv, ResumeCache};
use translator::step::End;
use translator::{BreakReason, Stop, Tx};
use variables::Obj;

use super::translate::{Request, Tables, begin, closing_guards, stop_text};
use super::{config, env, explain, ignored, log, reasons};
use crate::code_state::{self, CodeState};
use crate::compiler::{Direct, EntryCall, FrameCompiler, Outcome};
use crate::context::{CompileContext, ContextId};
use crate::frame::FrameRef;

/// How many resume functions of one loop may be nested before the loop goes on as plain Python.
const MAX_NESTED_RESUMES: usize = 8;

/// What is remembered about a code object.
#[derive(Default)]
pub struct CodeSlot {
    entries: RefCell<Vec<(ContextId, Entries)>>,
    /// set for the code of a resume function inside a loop
    in_loop: Cell<bool>,
}

impl CodeSlot {
    #[inline]
    fn find(&self, context: ContextId) -> Option<Entries> {
        self.entries.try_borrow().ok()?.iter().find(|e| e.0 == context).map(|e| e.1.clone())
    }

    fn get(&self, context: ContextId, name: impl FnOnce() -> CodeName) -> Entries {
        if let Some(e) = self.find(context) {
            return e;
        }
        let entries = Entries::new(name());
        self.entries.borrow_mut().push((context, entries.clone()));
        entries
    }
}

/// What compilations of one thread share.
struct Session {
    tables: Tables,
    resumes: ResumeCache,
}

thread_local! {
    static SESSION: RefCell<OnceCell<Session>> = const { RefCell::new(OnceCell::new()) };
}

static NEXT_COMPILED: AtomicU32 = AtomicU32::new(0);
static NEXT_RESUME: AtomicU32 = AtomicU32::new(1);
/// Raised by every `reset`: contexts and code marked before it are asked again.
static EPOCH: AtomicU32 = AtomicU32::new(0);

/// Forgets all compiled code and counters.
pub fn reset(py: Python<'_>) {
    cache::reset_all(py);
    NEXT_COMPILED.store(0, Ordering::Relaxed);
    NEXT_RESUME.store(1, Ordering::Relaxed);
    EPOCH.fetch_add(1, Ordering::Relaxed);
    SESSION.with(|s| {
        if let Ok(mut s) = s.try_borrow_mut() {
            let _ = s.take();
        }
    });
    skipped_codes(|codes| {
        for weak in codes.drain(..) {
            if let Some(code) = weak.bind(py).call0().ok().filter(|c| !c.is_none())
                && let Ok(code) = code.cast::<PyCode>()
                && let Ok(state) = code_state::of(code)
            {
                state.forget_skips();
            }
        }
    });
}

static SKIPPED: std::sync::Mutex<Vec<Py<PyAny>>> = std::sync::Mutex::new(Vec::new());

fn skipped_codes(f: impl FnOnce(&mut Vec<Py<PyAny>>)) {
    if let Ok(mut s) = SKIPPED.lock() {
        f(&mut s);
    }
}

/// Remembers (weakly) that a code object was marked, so that `reset` can take the mark back.
fn remember_skip(py: Python<'_>, code: &Bound<'_, PyCode>) {
    if let Ok(weak) = py.import("weakref").and_then(|w| w.getattr("ref")?.call1((code,))) {
        skipped_codes(|codes| codes.push(weak.unbind()));
    }
}

/// The compiler that the hook asks.
pub struct Driver;

impl FrameCompiler for Driver {
    fn on_frame(&self, py: Python<'_>, frame: &FrameRef<'_>, ctx: &CompileContext) -> Outcome {
        let config = config::get();
        if config.disable {
            return Outcome::Run;
        }
        let code = frame.code(py);
        let slot = frame.code_state().slot(CodeSlot::default);
        if slot.find(ctx.id()).is_none() && is_ignored(&code) && !is_region_root(py, frame) {
            frame.code_state().skip(ctx.id());
            remember_skip(py, &code);
            return Outcome::Skip;
        }
        if slot.in_loop.get() && nested_resumes(py, frame) >= MAX_NESTED_RESUMES {
            return Outcome::Run;
        }
        let entries = slot.get(ctx.id(), || code_name(&code));
        let check = env::of_frame(py, frame);
        let limits = Limits {
            recompile_limit: config.recompile_limit,
            accumulated_recompile_limit: config.accumulated_recompile_limit,
        };
        // SAFETY: the frame is alive and keeps what the environment names.
        let misses = match unsafe { entries.decide(py, &check, limits) } {
            Decision::Hit(entry) => return replace(py, &entry),
            Decision::Miss(misses) => misses,
            Decision::LimitReached { misses, warning } => {
                tell_guard_failures(py, ctx, &code, &misses);
                if let Some(text) = warning {
                    log::warning(py, "", || text.clone());
                    if ctx.fullgraph() || config.fail_on_recompile_limit_hit {
                        return Outcome::Raise(ferrodyn_error(py, "FailOnRecompileLimitHit", &text));
                    }
                }
                return Outcome::Run;
            }
        };
        tell_guard_failures(py, ctx, &code, &misses);
        if !misses.is_empty() {
            let name = entries.name().clone();
            log::debug(py, "recompiles", "", || cache::recompile_message(&name, &misses));
            if config.error_on_recompile {
                return Outcome::Raise(ferrodyn_error(py, "RecompileError", &cache::recompile_message(&name, &misses)));
            }
        }
        let request = Request {
            code: code.clone(),
            globals: frame.globals(py),
            closure: frame.closure(py),
            locals: frame.fast_locals(),
        };
        let compilation = Compilation { py, ctx, config: &config, entries: &entries, frame, id: entries.next_id(py) };
        let result = SESSION.with(|s| {
            let Ok(mut session) = s.try_borrow_mut() else { return Ok(Compiled::Run) };
            if session.get().is_none() {
                let made = Session { tables: Tables::new(py)?, resumes: ResumeCache::default() };
                let _ = session.set(made);
            }
            match session.get_mut() {
                Some(session) => compilation.run(session, &request),
                None => Ok(Compiled::Run),
            }
        });
        match result {
            Ok(Compiled::Code(entry)) => replace(py, &entry),
            Ok(Compiled::Run) => Outcome::Run,
            Ok(Compiled::Skip) => {
                frame.code_state().skip(ctx.id());
                remember_skip(py, &code);
                Outcome::Skip
            }
            Err(e) => Outcome::Raise(e),
        }
    }

    #[inline]
    fn on_call(&self, py: Python<'_>, call: &EntryCall<'_, '_>, ctx: &CompileContext) -> Option<Direct> {
        let slot = call.code_state()?.existing_slot::<CodeSlot>()?;
        let entries = slot.find(ctx.id())?;
        let check = env::of_call(call);
        // SAFETY: the call keeps the function and the arguments alive.
        let entry = unsafe { entries.find(py, &check) }?;
        let function = entry.function.as_ref()?.clone_ref(py);
        Some(Direct { function, needs_hook: entry.needs_hook })
    }
}

fn replace(py: Python<'_>, entry: &GuardedCode) -> Outcome {
    match entry.code.bind(py).cast::<PyCode>() {
        Ok(code) => Outcome::Replace(code.clone().unbind()),
        Err(_) => Outcome::Run,
    }
}

fn is_ignored(code: &Bound<'_, PyCode>) -> bool {
    code.getattr("co_filename").and_then(|f| f.extract::<String>()).is_ok_and(|f| ignored::is_ignored_file(&f))
}

/// Whether the frame is the function that the user compiled: no Python frame of its region lies
/// between it and the entry.
fn is_region_root(py: Python<'_>, frame: &FrameRef<'_>) -> bool {
    crate::region::is_root_frame(py, frame)
}

fn code_name(code: &Bound<'_, PyCode>) -> CodeName {
    let text = |n: &str| code.getattr(n).and_then(|v| v.extract::<String>()).unwrap_or_default();
    CodeName {
        function: text("co_name").into(),
        file: text("co_filename").into(),
        line: code.getattr("co_firstlineno").and_then(|v| v.extract()).unwrap_or(0),
    }
}

/// How many frames of the same resume function are on the stack already.
fn nested_resumes(py: Python<'_>, frame: &FrameRef<'_>) -> usize {
    let name = frame.code(py).getattr("co_name").map(|n| n.to_string()).unwrap_or_default();
    let mut count = 0;
    let mut next = frame.caller(py);
    for _ in 0..MAX_NESTED_RESUMES * 8 {
        let Some(f) = next else { break };
        if f.getattr("f_code").and_then(|c| c.getattr("co_name")).is_ok_and(|n| n.to_string() == name) {
            count += 1;
        }
        next = f.getattr("f_back").ok().filter(|b| !b.is_none());
    }
    count
}

fn ferrodyn_error(py: Python<'_>, class: &str, message: &str) -> PyErr {
    match py.import("ferrodyn.exc").and_then(|m| m.getattr(class)).and_then(|c| c.call1((message,))) {
        Ok(e) => PyErr::from_value(e),
        Err(e) => e,
    }
}

fn tell_guard_failures(py: Python<'_>, ctx: &CompileContext, code: &Bound<'_, PyCode>, misses: &[Miss]) {
    let Ok(Some(hook)) = ctx.options().bind(py).get_item("guard_fail_fn") else { return };
    for miss in misses {
        if let Err(e) = hook.call1((miss.failure.reason.as_str(), code)) {
            e.write_unraisable(py, Some(&hook));
        }
    }
}

/// What became of a compilation.
enum Compiled {
    /// installed
    Code(Arc<GuardedCode>),
    /// plain Python this time
    Run,
    /// plain Python from now on
    Skip,
}

/// One compilation of one frame.
struct Compilation<'a, 'py> {
    py: Python<'py>,
    ctx: &'a CompileContext,
    config: &'a config::Config,
    entries: &'a Entries,
    frame: &'a FrameRef<'a>,
    id: CompileId,
}

impl<'py> Compilation<'_, 'py> {
    fn run(&self, session: &'py mut Session, request: &Request<'_, 'py>) -> PyResult<Compiled> {
        // The translator borrows the tables for `'py`; nothing else does while the session is
        // borrowed here.
        unimplemented!()
    }
}
