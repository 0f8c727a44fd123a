//! The decision about a frame or a call: cached code, a compilation, or plain Python.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use backends::{Backend, CompileOptions};
use cache::{CodeName, CompileId, Decision, Entries, GuardedCode, Limits, Miss};
use guards::exec::CheckProgram;
use guards::{ConstTypes, GuardSet, NameStyle, Program, UserFrame};
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyDict, PyList};
use rustc_hash::FxHashMap;
use translator::code::CodeInfo;
use translator::output::{self, Finish, OutputEnv, ResumeCache, ResumeInfo};
use translator::step::End;
use translator::{BreakReason, Stop, Tx};
use variables::Obj;

use super::translate::{Request, Tables, begin, closing_guards, stop_text};
use super::turns::Turns;
use super::{config, direct, env, explain, ignored, log, reasons, relevant};
use crate::code_state;
use crate::compiler::{Direct, EntryCall, FrameCompiler, Outcome};
use crate::context::{CompileContext, ContextId};
use crate::frame::FrameRef;

/// What is remembered about a code object.
#[derive(Default)]
pub struct CodeSlot {
    entries: RefCell<Vec<(ContextId, Entries)>>,
    /// set once a parameter or buffer was found replaced: from then on they are fetched at each call
    fetch_tensors: Cell<bool>,
    /// who compiles the code now
    turns: Turns,
    /// whether the code names a module of torch, once known
    names_torch: Cell<Option<bool>>,
    /// set for the code of resume functions: they go on where a capture began
    resumes: Cell<bool>,
    /// set where the user asked for this very function, wherever its file is
    explicit: Cell<bool>,
}

impl CodeSlot {
    #[inline]
    fn find(&self, context: ContextId) -> Option<Entries> {
        self.entries
            .try_borrow()
            .ok()?
            .iter()
            .find(|e| e.0 == context)
            .map(|e| e.1.clone())
    }

    fn is_relevant(&self, py: Python<'_>, frame: &FrameRef<'_>) -> bool {
        let names_torch = self.names_torch.get().unwrap_or_else(|| {
            let names = relevant::names_torch(py, frame);
            self.names_torch.set(Some(names));
            names
        });
        names_torch || relevant::holds_tensors(py, frame)
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

impl Session {
    /// Forgets what came from the user's code. What is known of Python and torch stays.
    fn forget(&mut self) {
        self.resumes = ResumeCache::default();
        self.tables.codes = Rc::default();
    }
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
        if let Ok(mut s) = s.try_borrow_mut()
            && let Some(session) = s.get_mut()
        {
            session.forget();
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
    if let Ok(weak) = py
        .import("weakref")
        .and_then(|w| w.getattr("ref")?.call1((code,)))
    {
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
        if !slot.explicit.get() && slot.find(ctx.id()).is_none() && is_ignored(&code) {
            frame.code_state().skip(ctx.id());
            remember_skip(py, &code);
            return Outcome::Skip;
        }
        let wanted = slot.explicit.get() || slot.resumes.get() || slot.find(ctx.id()).is_some();
        if !wanted && !slot.is_relevant(py, frame) {
            return Outcome::Run;
        }
        let entries = slot.get(ctx.id(), || code_name(&code));
        let check = env::of_frame(py, frame);
        if slot.turns.is_elsewhere(ctx.id()) {
            // SAFETY: the frame is alive and keeps what the environment names.
            if let Some(entry) = unsafe { entries.find(py, &check) } {
                return replace(py, &entry);
            }
            if !config.wait_for_compilation {
                return Outcome::Run;
            }
            if let Err(e) = slot.turns.wait(py, ctx.id()) {
                return Outcome::Raise(e);
            }
        }
        let limits = Limits {
            recompile_limit: config.recompile_limit,
            accumulated_recompile_limit: config.accumulated_recompile_limit,
            explain_all: ctx
                .options()
                .bind(py)
                .contains("guard_fail_fn")
                .unwrap_or(true)
                || explain::active(),
        };
        // SAFETY: the frame is alive and keeps what the environment names.
        let misses = match unsafe { entries.decide(py, &check, limits) } {
            Decision::Hit(entry) => return replace(py, &entry),
            // torch.jit.trace records what plain Python does.
            Decision::Miss(_) if traced_by_jit(py) => return Outcome::Run,
            Decision::Miss(misses) => misses,
            Decision::LimitReached { misses, warning } => {
                tell_guard_failures(py, ctx, &code, &misses);
                if let Some(text) = warning {
                    log::warning(py, "", || text.clone());
                    if ctx.fullgraph() || config.fail_on_recompile_limit_hit {
                        return Outcome::Raise(ferrodyn_error(
                            py,
                            "FailOnRecompileLimitHit",
                            &text,
                        ));
                    }
                }
                return Outcome::Run;
            }
        };
        tell_guard_failures(py, ctx, &code, &misses);
        if !misses.is_empty() {
            explain::record(|r| {
                for miss in &misses {
                    let code = miss.failure.code.clone();
                    *r.guard_failures.entry(code).or_default() += 1;
                }
            });
            let name = entries.name().clone();
            log::debug(py, "recompiles", "", || {
                let message = cache::recompile_message(&name, &misses);
                match entries.most_failing(py).filter(|most| most.1 > 1) {
                    Some(most) => format!("{message}\n    {}", cache::most_failing_line(&most)),
                    None => message,
                }
            });
            if config.error_on_recompile {
                return Outcome::Raise(ferrodyn_error(
                    py,
                    "RecompileError",
                    &cache::recompile_message(&name, &misses),
                ));
            }
        }
        if misses.iter().any(|m| {
            m.failure.kind == "ID_MATCH"
                && m.failure.code.contains("_parameters") | m.failure.code.contains("_buffers")
        }) {
            slot.fetch_tensors.set(true);
        }
        let request = Request {
            code: code.clone(),
            globals: frame.globals(py),
            closure: frame.closure(py),
            locals: frame.fast_locals(),
        };
        // Python ran since the question above was asked: another thread may have begun.
        while slot.turns.is_elsewhere(ctx.id()) {
            if !config.wait_for_compilation {
                return Outcome::Run;
            }
            if let Err(e) = slot.turns.wait(py, ctx.id()) {
                return Outcome::Raise(e);
            }
            // SAFETY: the frame is alive and keeps what the environment names.
            if let Some(entry) = unsafe { entries.find(py, &check) } {
                return replace(py, &entry);
            }
        }
        let _turn = slot.turns.begin(ctx.id());
        let compilation = Compilation {
            py,
            ctx,
            config: &config,
            entries: &entries,
            frame,
            id: entries.next_id(py),
        };
        let result = SESSION.with(|s| {
            let Ok(mut session) = s.try_borrow_mut() else {
                return Ok(Compiled::Run);
            };
            if session.get().is_none() {
                let made = Session {
                    tables: Tables::new(py)?,
                    resumes: ResumeCache::default(),
                };
                let _ = session.set(made);
            }
            match session.get_mut() {
                Some(session) => {
                    let compiled = compilation.run(session, &request);
                    session.tables.codes.borrow_mut().forget_user_code();
                    compiled
                }
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
    fn on_call(
        &self,
        py: Python<'_>,
        call: &EntryCall<'_, '_>,
        ctx: &CompileContext,
    ) -> Option<Direct> {
        let slot = call.code_state()?.existing_slot::<CodeSlot>()?;
        let found = {
            // Nothing is dropped while these are borrowed, so no finalizer comes back here.
            let contexts = slot.entries.try_borrow().ok()?;
            let entries = &contexts.iter().find(|e| e.0 == ctx.id())?.1;
            let check = env::of_call(call);
            let memo = call.memo().try_borrow().ok()?;
            let take = |entry: &Arc<GuardedCode>| match memo.function(py, direct::form(entry)) {
                Some(function) => Ok(Direct {
                    function,
                    needs_hook: entry.needs_hook,
                }),
                None => Err(entry.clone()),
            };
            // SAFETY: the call keeps the function and the arguments alive.
            unsafe { entries.find_with(py, &check, take) }?
        };
        found.or_else(|entry| direct::make(py, call, &entry)).ok()
    }
}

fn replace(py: Python<'_>, entry: &GuardedCode) -> Outcome {
    match entry.code.bind(py).cast::<PyCode>() {
        Ok(code) => Outcome::Replace(code.clone().unbind()),
        Err(_) => Outcome::Run,
    }
}

/// Entries are never hit while torch.jit.trace records: it adds a dispatch key of its own.
fn traced_by_jit(py: Python<'_>) -> bool {
    torch_abi::TorchAbi::get(py).is_ok_and(|abi| abi.is_traced_by_jit(py))
}

fn is_ignored(code: &Bound<'_, PyCode>) -> bool {
    code.getattr("co_filename")
        .and_then(|f| f.extract::<String>())
        .is_ok_and(|f| ignored::is_ignored_file(&f))
}

/// Marks the function that the user compiled: it is captured even where its file is ignored. Of a
/// module that is its `forward` as well, which is all that a call runs where there are no hooks.
pub fn mark_explicit(callable: &Bound<'_, PyAny>) {
    mark_function(callable);
    let forward = callable.getattr("__self__").and_then(|module| {
        let calls = torch_abi::modules::ModuleCalls::get(callable.py());
        let function = callable.getattr("__func__")?;
        match calls.is_some_and(|calls| calls.call() == function.as_ptr()) {
            true => module.getattr("forward").map(Some),
            false => Ok(None),
        }
    });
    if let Ok(Some(forward)) = forward {
        mark_function(&forward);
    }
}

fn mark_function(callable: &Bound<'_, PyAny>) {
    let function = callable
        .getattr("__func__")
        .or_else(|_| callable.getattr("__code__").map(|_| callable.clone()))
        .or_else(|_| callable.get_type().getattr("__call__"));
    let code = function.and_then(|f| f.getattr("__code__"));
    if let Ok(code) = code
        && let Ok(code) = code.cast::<PyCode>()
        && let Ok(state) = code_state::of(code)
    {
        state.slot(CodeSlot::default).explicit.set(true);
    }
}

fn code_name(code: &Bound<'_, PyCode>) -> CodeName {
    let text = |n: &str| {
        code.getattr(n)
            .and_then(|v| v.extract::<String>())
            .unwrap_or_default()
    };
    CodeName {
        function: text("co_name").into(),
        file: text("co_filename").into(),
        line: code
            .getattr("co_firstlineno")
            .and_then(|v| v.extract())
            .unwrap_or(0),
    }
}

fn ferrodyn_error(py: Python<'_>, class: &str, message: &str) -> PyErr {
    match py
        .import("ferrodyn.exc")
        .and_then(|m| m.getattr(class))
        .and_then(|c| c.call1((message,)))
    {
        Ok(e) => PyErr::from_value(e),
        Err(e) => e,
    }
}

fn tell_guard_failures(
    py: Python<'_>,
    ctx: &CompileContext,
    code: &Bound<'_, PyCode>,
    misses: &[Miss],
) {
    let Ok(Some(hook)) = ctx.options().bind(py).get_item("guard_fail_fn") else {
        return;
    };
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
    fn run(&self, session: &mut Session, request: &Request<'_, 'py>) -> PyResult<Compiled> {
        let py = self.py;
        let started = Instant::now();
        let mut tx = match begin(py, &session.tables, request) {
            Ok(tx) => tx,
            Err(stop) => return self.undecodable(&stop_text(&stop)),
        };
        tx.bind_tensors = !self
            .frame
            .code_state()
            .slot(CodeSlot::default)
            .fetch_tensors
            .get();
        let code = request.code.clone().into_any().unbind();
        tx.resumed = session
            .resumes
            .original(py, &mut session.tables.codes.borrow_mut(), &code)
            .map(|original| original.0);
        tx.max_instructions = self.config.max_instructions as u64;
        tx.trace = log::enabled(py, "trace_bytecode").then(Vec::new);
        let end = tx.run();
        for line in tx.trace.take().unwrap_or_default() {
            log::debug(py, "trace_bytecode", &self.id.to_string(), || line);
        }
        let traced = started.elapsed().as_secs_f64();
        explain::record(|r| {
            *r.counts.entry("instructions").or_default() += tx.instructions;
            *r.counts.entry("fake_tensor_fallbacks").or_default() +=
                tx.fake_ops.values().sum::<u64>();
            for (op, count) in &tx.fake_ops {
                *r.fake_ops.entry(op.clone()).or_default() += count;
            }
            *r.seconds.entry("tracing").or_default() += traced;
        });
        let finish = match end {
            End::Return(v) => Finish::Return(v),
            End::Raises { reason, caught } => {
                if self.ctx.fullgraph() {
                    return Ok(Compiled::Run);
                }
                // Plain Python gets another answer, and may not raise at all.
                if tx.asked_compiling {
                    self.report_break(&tx, &reason);
                    return match self.entries.name().file.ends_with("nn/modules/module.py") {
                        // Every module's call goes through this code.
                        true => Ok(Compiled::Run),
                        false => self.give_up("it asks whether it is compiled, and raises if so"),
                    };
                }
                if caught && !tx.restore_catch(true) {
                    return Ok(Compiled::Run);
                }
                self.report_break(&tx, &reason);
                Finish::Break(reason)
            }
            End::Break(reason) => {
                let stack = self.report_break(&tx, &reason);
                if self.ctx.fullgraph() {
                    return Err(self.unsupported(&reason, &stack));
                }
                Finish::Break(reason)
            }
        };
        closing_guards(&mut tx);
        let backend = self.backend()?;
        let mut env = Env {
            compilation: self,
            backend: &backend,
            resumes: &mut session.resumes,
            error: None,
            seconds: 0.0,
        };
        let mut result = output::finish(&mut tx, finish, &mut env);
        if let Err(stop @ Stop::Break(reason)) = &result
            && output::must_break_at_raise(stop)
        {
            let reason = reason.clone();
            if !tx.restore_catch(false) {
                return self.give_up(&reason.reason);
            }
            closing_guards(&mut tx);
            result = output::finish(&mut tx, Finish::Break(reason), &mut env);
        }
        if let Err(Stop::Break(reason)) = &result
            && output::must_break_outermost(&Stop::Break(reason.clone()))
        {
            let reason = reason.clone();
            if !tx.restore_outermost() {
                return self.give_up(&reason.reason);
            }
            closing_guards(&mut tx);
            result = output::finish(&mut tx, Finish::Break(reason), &mut env);
        }
        let residual = match (result, env.error.take()) {
            (Ok(r), _) => r,
            (Err(_), Some(e)) if self.config.suppress_errors => {
                log::warning(py, &self.id.to_string(), || {
                    format!("the backend failed, the function runs as plain Python: {e}")
                });
                return Ok(Compiled::Skip);
            }
            (Err(_), Some(e)) => return Err(e),
            (Err(stop), None) => return self.give_up(&stop_text(&stop)),
        };
        let backend_seconds = env.seconds;
        let guards_started = Instant::now();
        let program = match self.link(&mut tx) {
            Ok(p) => p,
            Err(text) => return self.give_up(&text),
        };
        explain::record(|r| {
            *r.seconds.entry("guards").or_default() += guards_started.elapsed().as_secs_f64();
            *r.seconds.entry("backend").or_default() += backend_seconds;
            *r.seconds.entry("total").or_default() += started.elapsed().as_secs_f64();
        });
        let check = env::of_frame(py, self.frame);
        // SAFETY: the frame is alive and keeps what the environment names.
        let failure = unsafe { program.explain_failure(py, &check) };
        if let Some(failure) = failure {
            return self.give_up(&format!(
                "a guard fails for the very call that it was made for: {}",
                failure.reason
            ));
        }
        self.install(program, &residual)
    }

    /// Bytecode that no compiler of CPython emits.
    fn undecodable(&self, why: &str) -> PyResult<Compiled> {
        if self.ctx.fullgraph() {
            return Err(ferrodyn_error(self.py, "TamperedCodeError", why));
        }
        self.give_up(why)
    }

    /// Plain Python from now on, with the reason in the log.
    fn give_up(&self, why: &str) -> PyResult<Compiled> {
        if self.ctx.fullgraph() {
            return Err(ferrodyn_error(self.py, "InternalError", why));
        }
        let name = self.entries.name().clone();
        log::debug(self.py, "graph_breaks", &self.id.to_string(), || {
            format!("{name} runs as plain Python: {why}")
        });
        explain::record(|r| {
            r.breaks.push(explain::Break {
                reason: BreakReason {
                    reason: "Frame runs as plain Python".into(),
                    explanation: why.to_string(),
                    ..BreakReason::default()
                },
                user_stack: vec![format!(
                    "File \"{}\", line {}, in {}",
                    name.file, name.line, name.function
                )],
            });
        });
        Ok(Compiled::Skip)
    }

    fn backend(&self) -> PyResult<Arc<Backend>> {
        let state = self.ctx.state(BackendSlot::default);
        if let Ok(slot) = state.0.lock()
            && let Some(b) = &*slot
        {
            return Ok(b.clone());
        }
        let options = self.ctx.options().bind(self.py);
        let asked = CompileOptions {
            mode: options.get_item("mode")?.and_then(|m| m.extract().ok()),
            options: options
                .get_item("options")?
                .and_then(|o| o.cast_into::<PyDict>().ok())
                .map(Bound::unbind),
            dynamic: self.ctx.dynamic(),
        };
        let backend = Backend::resolve(self.ctx.backend().bind(self.py), &asked)
            .map_err(|e| e.into_py_err(self.py))?;
        let backend = Arc::new(backend);
        if let Ok(mut slot) = state.0.lock() {
            *slot = Some(backend.clone());
        }
        Ok(backend)
    }

    fn report_break(&self, tx: &Tx<'_>, reason: &BreakReason) -> Vec<String> {
        let py = self.py;
        if !log::enabled(py, "graph_breaks") && !explain::active() && !self.ctx.fullgraph() {
            return Vec::new();
        }
        let stack = reasons::user_stack(py, self.frame.caller(py).as_ref(), &tx.st.frame);
        let f = &tx.st.frame;
        let location = format!("{}:{}", f.code.filename, f.code.line(f.ip));
        log::debug(py, "graph_breaks", &self.id.to_string(), || {
            reasons::message(reason, &stack, &location)
        });
        explain::record(|r| {
            r.breaks.push(explain::Break {
                reason: reason.clone(),
                user_stack: stack.clone(),
            })
        });
        stack
    }

    fn unsupported(&self, reason: &BreakReason, stack: &[String]) -> PyErr {
        let make = || -> PyResult<PyErr> {
            let class = self.py.import("ferrodyn.exc")?.getattr("Unsupported")?;
            let message = format!("{}\n{}", reason.reason, reasons::body(reason, stack));
            let hints = pyo3::types::PyTuple::new(self.py, &reason.hints)?;
            let e = class.call1((
                message,
                &reason.reason,
                &reason.explanation,
                hints,
                &reason.context,
            ))?;
            Ok(PyErr::from_value(e))
        };
        make().unwrap_or_else(|e| e)
    }

    /// Turns the guards of the translation into a program.
    fn link(&self, tx: &mut Tx<'_>) -> Result<CheckProgram, String> {
        let py = self.py;
        let abi = torch_abi::TorchAbi::get(py).map_err(|e| e.to_string())?;
        let mut lines: FxHashMap<(usize, u32), Arc<UserFrame>> = FxHashMap::default();
        let guards = std::mem::take(&mut tx.guards);
        let places = std::mem::take(&mut tx.guard_lines);
        let guards: Vec<_> = guards
            .into_iter()
            .zip(places)
            .map(|(g, (code, line))| {
                let frame = lines
                    .entry((std::rc::Rc::as_ptr(&code) as usize, line))
                    .or_insert_with(|| {
                        Arc::new(UserFrame {
                            file: code.filename.clone(),
                            line,
                            function: code.name.clone(),
                            text: reasons::source_line(py, &code.filename, line).into(),
                        })
                    });
                g.at(Some(frame.clone()))
            })
            .collect();
        let sources = std::mem::take(&mut tx.sources);
        let pins = std::mem::take(&mut tx.pins);
        let set = Arc::new(GuardSet::new(sources, guards, ConstTypes::of(abi)));
        let program = Program::compile(&set);
        CheckProgram::link(py, set, program, pins).map_err(|e| e.to_string())
    }

    fn install(&self, program: CheckProgram, residual: &output::Residual) -> PyResult<Compiled> {
        let py = self.py;
        for resume in &residual.resumes {
            let code = resume.code.bind(py).cast::<PyCode>().map_err(PyErr::from)?;
            let state = code_state::of(code)?;
            if resume.plain {
                state.skip_always();
            } else {
                let slot = state.slot(CodeSlot::default);
                slot.resumes.set(true);
                state.set_resumes();
            }
        }
        let code = residual
            .code
            .bind(py)
            .cast::<PyCode>()
            .map_err(PyErr::from)?;
        code_state::of(code)?.skip_always();
        let id = self.id.to_string();
        log::debug(py, "bytecode", &id, || self.bytecode_text(residual));
        let entry = GuardedCode::new(self.id, program, residual.code.clone())
            .with_needs_hook(residual.calls_out);
        let tree = || entry.guards().tree_text(self.latency(&entry));
        log::debug(py, "guards", &id, || {
            let code = entry.guards().guard_code(NameStyle::Plain);
            format!("{}\nGUARD CODE: {code}\n", tree())
        });
        if explain::active() {
            let text = tree();
            explain::record(|r| r.guards.push(text.clone()));
        }
        Ok(Compiled::Code(self.entries.insert(py, entry)))
    }

    /// Listings of the code before and after, and of the resume functions.
    fn bytecode_text(&self, residual: &output::Residual) -> String {
        let py = self.py;
        let text = |code: &Bound<'_, PyAny>| match CodeInfo::new(code) {
            Ok(info) => output::listing(py, &info, &residual.names),
            Err(stop) => stop_text(&stop),
        };
        let name = self.entries.name();
        let mut out = format!(
            "ORIGINAL BYTECODE {name}\n{}\n",
            text(self.frame.code(py).as_any())
        );
        out.push_str(&format!(
            "MODIFIED BYTECODE {name}\n{}\n",
            text(residual.code.bind(py))
        ));
        for r in &residual.resumes {
            out.push_str(&format!(
                "RESUME FUNCTION {}\n{}\n",
                r.name,
                text(r.code.bind(py))
            ));
        }
        out
    }

    /// Microseconds of one check, the best of a few.
    fn latency(&self, entry: &GuardedCode) -> Option<f64> {
        let check = env::of_frame(self.py, self.frame);
        (0..5)
            .map(|_| {
                let t = Instant::now();
                // SAFETY: the frame is alive and keeps what the environment names.
                std::hint::black_box(unsafe { entry.program.check(&check) });
                t.elapsed().as_secs_f64() * 1e6
            })
            .reduce(f64::min)
    }
}

/// The resolved backend of a context.
#[derive(Default)]
struct BackendSlot(std::sync::Mutex<Option<Arc<Backend>>>);

/// What a backend makes of a graph. That of no backend at all is a plain function.
fn compile_with(
    py: Python<'_>,
    backend: &Backend,
    graph: &fx_graph::Graph,
    objects: &[Obj],
    examples: Vec<Obj>,
) -> PyResult<Obj> {
    if backend.callable().is_none()
        && let Some(function) = backends::forward_function(py, graph, objects, &[])?
    {
        return Ok(function);
    }
    let module = backends::to_torch(py, graph, objects, &[])?;
    let call = backends::BackendCall {
        graph: Some((graph, objects)),
        ..backends::BackendCall::default()
    };
    let compiled = call.run(backend, module.bind(py), &PyList::new(py, examples)?);
    compiled
        .map(|compiled| compiled.callable)
        .map_err(|e| e.into_py_err(py))
}

/// What the code generator asks for.
struct Env<'a, 'b, 'py> {
    compilation: &'a Compilation<'b, 'py>,
    backend: &'a Backend,
    resumes: &'a mut ResumeCache,
    error: Option<PyErr>,
    seconds: f64,
}

impl OutputEnv for Env<'_, '_, '_> {
    fn compile_graph(
        &mut self,
        py: Python<'_>,
        graph: &fx_graph::Graph,
        objects: &[Obj],
        examples: Vec<Obj>,
        name: &str,
    ) -> PyResult<Obj> {
        let id = self.compilation.id.to_string();
        log::debug(py, "graph", &id, || {
            format!("TRACED GRAPH\n {name}\n{}", graph.tabular())
        });
        log::debug(py, "graph_code", &id, || {
            format!("TRACED GRAPH\n {name}\n{}", graph.python_code())
        });
        let started = Instant::now();
        let result = compile_with(py, self.backend, graph, objects, examples);
        self.seconds += started.elapsed().as_secs_f64();
        match result {
            // What the graph runs is never captured again.
            Ok(callable) => Ok(crate::entry::make_disabled(callable.bind(py))?.unbind()),
            Err(e) => {
                self.error = Some(e.clone_ref(py));
                Err(e)
            }
        }
    }

    fn next_compiled_name(&mut self) -> String {
        format!(
            "__compiled_fn_{}",
            NEXT_COMPILED.fetch_add(1, Ordering::Relaxed)
        )
    }

    fn next_resume_index(&mut self) -> u32 {
        NEXT_RESUME.fetch_add(1, Ordering::Relaxed)
    }

    fn driver(&mut self, py: Python<'_>) -> PyResult<Obj> {
        crate::continuation::driver(py)
    }

    fn resume_cache(&mut self) -> &mut ResumeCache {
        self.resumes
    }

    fn leave_alone(&mut self, py: Python<'_>, code: &Obj) -> PyResult<()> {
        code_state::of(code.bind(py).cast::<PyCode>()?)?.skip_always();
        Ok(())
    }

    fn wrap_resume(&mut self, py: Python<'_>, function: Obj, info: &ResumeInfo) -> PyResult<Obj> {
        match info.plain {
            true => Ok(function),
            false => Ok(crate::entry::make_resume(function.bind(py))?.unbind()),
        }
    }
}
