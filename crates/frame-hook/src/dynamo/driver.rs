//! The decision about a frame or a call: cached code, a compilation, or plain Python.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use cache::{CodeName, Decision, Entries, GuardedCode, Limits, Miss};
use guards::exec::CheckEnv;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCode;
use torch_abi::TorchAbi;
use torch_abi::modules::{ModuleCalls, has_backward_hooks};
use torch_abi::profiler::Span;
use torch_abi::stance::{self, Stance};
use torch_abi::tracer;
use translator::raw::instance_dict;

use super::compilation::{Compilation, Compiled, tell_torch};
use super::first_call::call_of;
use super::generation::restart_names;
use super::progress::Progress;
use super::redone::renew_program;
use super::session::forget_session;
use super::slot::{CodeSlot, forget_skips, remember_skip};
use super::translate::Request;
use super::{config, direct, env, explain, ferrodyn_error, ignored, log, reasons, results};
use crate::surroundings::LOOK_UP;
use eval_frame::compiler::{Direct, EntryCall, FrameCompiler, Outcome};
use eval_frame::context::CompileContext;
use eval_frame::frame::FrameRef;
use eval_frame::region::{ThreadRegions, with_thread};

/// Forgets all compiled code and counters.
pub fn reset(py: Python<'_>) {
    cache::reset_all(py);
    restart_names();
    forget_session();
    forget_skips(py);
    results::forget();
    cpython_abi::later::run_waiting(py);
}

/// The compiler that the hook asks.
pub struct Driver;

impl FrameCompiler for Driver {
    fn on_frame(&self, py: Python<'_>, frame: &FrameRef<'_>, ctx: &CompileContext) -> Outcome {
        cpython_abi::later::run_waiting(py);
        let config = config::get();
        if config.disable {
            return Outcome::Run;
        }
        let code = frame.code(py);
        let slot = frame.code_state().slot(CodeSlot::default);
        let resumes = slot.resumes.get();
        let explicit = slot.is_explicit(ctx.id());
        let asked = explicit || slot.find(ctx.id()).is_some();
        if !asked && is_ignored(&code, resumes) {
            frame.code_state().skip(ctx.id());
            remember_skip(py, &code);
            return Outcome::Skip;
        }
        if !(asked || resumes) {
            match slot.is_relevant(py, frame) {
                Ok(true) => {}
                Ok(false) => return Outcome::Run,
                Err(interrupt) => return Outcome::Raise(interrupt),
            }
        }
        if explicit && comes_to_forward(py, frame) {
            return Outcome::Run;
        }
        if slot.runs_all(ctx.id()) {
            return Outcome::RunAll;
        }
        let entries = slot.get(ctx.id(), || code_name(&code));
        let check = env::of_frame(py, frame);
        if let Some(outcome) = while_elsewhere(py, slot, &entries, &check, ctx, &config) {
            return outcome;
        }
        let mut look_up = None;
        if !stance::leaves_calls_alone(py) {
            if stance::read(py) == Stance::ForceEager {
                return Outcome::RunAll;
            }
            look_up = Some(Span::begin(py, || LOOK_UP.to_owned()));
        }
        // SAFETY: the frame is alive and keeps what the environment names.
        if let Some(entry) = unsafe { entries.find(py, &check) } {
            return replace(py, &entry);
        }
        match renew(py, &entries) {
            Ok(true) => {
                // SAFETY: as above.
                if let Some(entry) = unsafe { entries.find(py, &check) } {
                    return replace(py, &entry);
                }
            }
            Ok(false) => {}
            Err(e) => return Outcome::Raise(e),
        }
        drop(look_up);
        if with_thread(ThreadRegions::uses_cached_only) {
            return Outcome::Run;
        }
        if let Some(why) = runs_plainly(py) {
            log::debug(py, "graph_breaks", "", || {
                format!("{} runs in eager mode: {why}", entries.name())
            });
            return Outcome::Run;
        }
        match stance::read(py) {
            Stance::Default | Stance::ForceBackend => {}
            Stance::ForceEager | Stance::EagerOnRecompile => return Outcome::Run,
            Stance::EagerThenCompile => {
                if entries.is_empty(py) && entries.remember_call(py, || call_of(py, frame)) {
                    return Outcome::Run;
                }
            }
            Stance::FailOnRecompile => {
                let text = format!(
                    "{} would have to be recompiled for this call: torch.compiler.set_stance(\"fail_on_recompile\") forbids it",
                    entries.name()
                );
                return Outcome::Raise(ferrodyn_error(py, "RecompileError", &text));
            }
        }
        let config = match config::with_torchs(py) {
            Ok(config) => config,
            Err(e) => return Outcome::Raise(e),
        };
        if config.disable {
            return Outcome::Run;
        }
        let found = Found {
            frame,
            slot,
            entries: &entries,
            check: &check,
        };
        found.compile_with_callbacks(py, ctx, &config)
    }

    #[inline]
    fn on_repeated_call(&self, call: &EntryCall<'_, '_>, ctx: &CompileContext) -> Option<Direct> {
        let memo = call.memo().try_borrow().ok()?;
        let check = env::of_call(call);
        // SAFETY: the call keeps the function and the arguments alive; a check runs no code.
        unsafe {
            memo.only(
                call.func(),
                call.code_ptr(),
                ctx.id(),
                |form: &GuardedCode, code| {
                    let fits = (!call.shares_keywords() || code.only_reads_keywords)
                        && form.program.check(&check);
                    if fits {
                        form.count_hit();
                    }
                    fits
                },
            )
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
            let alone = entries.len(py) == 1;
            // SAFETY: entries are asked about functions.
            let known = |entry: &Arc<GuardedCode>| unsafe {
                memo.function(call.func(), direct::form(entry))
            };
            let take = |entry: &Arc<GuardedCode>| match known(entry) {
                Some(direct) => Ok((direct, alone.then(|| entry.clone()))),
                None => Err(entry.clone()),
            };
            // SAFETY: the call keeps the function and the arguments alive.
            unsafe { entries.find_with(py, &check, take) }?
        };
        match found {
            Ok((direct, only)) => {
                if let Ok(mut memo) = call.memo().try_borrow_mut() {
                    memo.set_only(call.code_ptr(), ctx.id(), only.as_ref());
                }
                Some(direct)
            }
            Err(entry) => direct::make(py, call, &entry).ok(),
        }
    }
}

/// A frame for which there is no compiled code.
struct Found<'a> {
    frame: &'a FrameRef<'a>,
    slot: &'a CodeSlot,
    entries: &'a Entries,
    check: &'a CheckEnv<'a>,
}

impl Found<'_> {
    /// Compiles the frame between the callbacks that the program has registered with torch's tracer.
    fn compile_with_callbacks(
        &self,
        py: Python<'_>,
        ctx: &CompileContext,
        config: &config::Config,
    ) -> Outcome {
        let compile = || {
            let _unseen = TorchAbi::saved_tensors_unseen(py);
            let outcome = interrupts::held(py, || self.compile(py, ctx, config));
            outcome.unwrap_or_else(Outcome::Raise)
        };
        let around = || -> PyResult<Outcome> {
            let Some(callbacks) = tracer::callbacks(py, &self.entries.name().to_string())? else {
                return Ok(compile());
            };
            callbacks.call_method0("__enter__")?;
            let outcome = compile();
            let nothing = py.None();
            callbacks.call_method1("__exit__", (&nothing, &nothing, &nothing))?;
            Ok(outcome)
        };
        around().unwrap_or_else(Outcome::Raise)
    }

    /// Compiles the frame, unless limits or options are against it.
    fn compile(&self, py: Python<'_>, ctx: &CompileContext, config: &config::Config) -> Outcome {
        let Found {
            frame,
            slot,
            entries,
            check,
        } = *self;
        let code = frame.code(py);
        let limits = Limits {
            recompile_limit: ctx.recompile_limit().unwrap_or(config.recompile_limit),
            accumulated_recompile_limit: config.accumulated_recompile_limit,
            explain_all: ctx
                .options()
                .bind(py)
                .contains("guard_fail_fn")
                .unwrap_or(true)
                || explain::active(),
            tell_always: ctx.fullgraph() || config.fail_on_recompile_limit_hit,
        };
        // SAFETY: the frame is alive and keeps what the environment names.
        let misses = match unsafe { entries.decide(py, check, limits) } {
            Decision::Hit(entry) => return replace(py, &entry),
            Decision::Miss(misses) => misses,
            Decision::LimitReached { misses, warning } => {
                tell_guard_failures(py, ctx, &code, &misses);
                if let Some(text) = warning {
                    log::warning(py, "", || text.clone());
                    log::debug(py, "recompiles", "", || entries.listing(py));
                    if limits.tell_always {
                        return Outcome::Raise(ferrodyn_error(
                            py,
                            "FailOnRecompileLimitHit",
                            &text,
                        ));
                    }
                }
                // What varies from call to call is most often handed on: callees would be compiled up to their
                // limits too.
                return Outcome::RunCached;
            }
        };
        tell_guard_failures(py, ctx, &code, &misses);
        if !misses.is_empty() {
            explain::note_misses(&misses);
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
        let found_replaced = misses.iter().any(|m| m.failure.replaced_tensor);
        if found_replaced || entries.outlived_a_module(py) {
            slot.fetch_tensors.set(true);
        }
        let request = Request {
            code: code.clone(),
            globals: frame.globals(py),
            closure: frame.closure(py),
            locals: frame.fast_locals(),
        };
        // Python ran since the question above was asked: another thread may have begun.
        if let Some(outcome) = while_elsewhere(py, slot, entries, check, ctx, config) {
            return outcome;
        }
        let _turn = slot.turns.begin(ctx.id());
        tell_torch(tracer::count(py, "frames", "total", 1));
        let compilation = Compilation {
            py,
            ctx,
            config,
            entries,
            frame,
            id: entries.next_id(py),
            progress: Progress::begin(entries.name(), config.progress),
            free: OnceCell::new(),
            reported: RefCell::default(),
        };
        let (id, resumes) = (compilation.id.to_string(), slot.resumes.get());
        explain::begin_compilation(id, entries.name(), &misses, resumes, || {
            reasons::stack_of(frame.caller(py).as_ref())
        });
        let span = Span::begin(py, || {
            format!(
                "Ferrodyn Compilation: {} {}",
                compilation.id,
                entries.name().function
            )
        });
        let compiled = compilation.run(&request);
        drop(span);
        explain::of_last(|c| c.outcome = outcome_text(&compiled));
        match compiled {
            Ok(Compiled::Code(entry)) => {
                tell_torch(tracer::count(py, "frames", "ok", 1));
                replace(py, &entry)
            }
            Ok(Compiled::Run) => Outcome::Run,
            Ok(Compiled::RunAll) => Outcome::RunAll,
            Ok(Compiled::Skip) => {
                frame.code_state().skip(ctx.id());
                remember_skip(py, &code);
                Outcome::Skip
            }
            Ok(Compiled::SkipAll) => {
                frame.code_state().slot(CodeSlot::default).run_all(ctx.id());
                remember_skip(py, &code);
                Outcome::RunAll
            }
            Err(e) => Outcome::Raise(e),
        }
    }
}

/// What became of a compilation, in a word, or as the exception says it.
fn outcome_text(compiled: &PyResult<Compiled>) -> String {
    match compiled {
        Ok(Compiled::Code(_)) => "compiled".to_owned(),
        Ok(Compiled::Run | Compiled::RunAll) => "eager".to_owned(),
        Ok(Compiled::Skip | Compiled::SkipAll) => "skipped".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// What becomes of a frame whose code another thread compiles: what that thread made, plain Python,
/// or nothing yet, where it was waited for and made nothing that fits.
fn while_elsewhere(
    py: Python<'_>,
    slot: &CodeSlot,
    entries: &Entries,
    check: &CheckEnv<'_>,
    ctx: &CompileContext,
    config: &config::Config,
) -> Option<Outcome> {
    let mut waited = false;
    loop {
        let elsewhere = slot.turns.is_elsewhere(ctx.id());
        if elsewhere || waited {
            // SAFETY: the frame is alive and keeps what the environment names.
            if let Some(entry) = unsafe { entries.find(py, check) } {
                return Some(replace(py, &entry));
            }
        }
        if !elsewhere {
            return None;
        }
        if !config.wait_for_compilation {
            return Some(Outcome::Run);
        }
        if let Err(e) = slot.turns.wait(py, ctx.id()) {
            return Some(Outcome::Raise(e));
        }
        waited = true;
    }
}

/// Has guards look again at answers that may have changed since; whether some hold again.
fn renew(py: Python<'_>, entries: &Entries) -> PyResult<bool> {
    let mut renewed = false;
    for entry in entries.entries(py) {
        renewed |= renew_program(py, &entry.program)?;
    }
    Ok(renewed)
}

fn replace(py: Python<'_>, entry: &GuardedCode) -> Outcome {
    match entry.code.bind(py).cast::<PyCode>() {
        Ok(code) => Outcome::Replace(code.clone().unbind()),
        Err(_) => Outcome::Run,
    }
}

/// Why nothing is captured for this call, if so. Entries are never hit then: all add dispatch keys of their own.
fn runs_plainly(py: Python<'_>) -> Option<&'static str> {
    let abi = TorchAbi::get(py).ok()?;
    if abi.is_traced_by_jit(py) {
        return Some("torch.jit.trace records what runs in eager mode");
    }
    // What the mode does is the program's code, and runs at each operation.
    if abi.is_in_dispatch_mode(py) {
        return Some("a TorchDispatchMode is active");
    }
    // Metadata depends on the levels: what requires grad at one does not at the next.
    abi.is_transformed(py)
        .then_some("it is called inside a transform of torch.func")
}

/// Whether a frame is a module's call of which only `forward` is captured, whose frame comes next: there is nothing
/// else to it, or what there is belongs to the backward pass.
fn comes_to_forward(py: Python<'_>, frame: &FrameRef<'_>) -> bool {
    let (Some(calls), Some(abi)) = (ModuleCalls::loaded(), TorchAbi::loaded()) else {
        return false;
    };
    let call = calls.call().cast::<ffi::PyFunctionObject>();
    // SAFETY: torch's function, whose class is that of Python functions, lives as long as torch.
    if unsafe { (*call).func_code } != frame.code_ptr() {
        return false;
    }
    // SAFETY: the frame holds its argument.
    let is_plain =
        |module: &Bound<'_, PyAny>| unsafe { calls.forward(abi, module.as_ptr()) }.is_some();
    let hooked = |module: &Bound<'_, PyAny>| {
        instance_dict(module).is_some_and(|d| has_backward_hooks(&d).unwrap_or(false))
    };
    frame
        .local(py, 0)
        .is_some_and(|module| is_plain(&module) || hooked(&module))
}

fn is_ignored(code: &Bound<'_, PyCode>, resumes: bool) -> bool {
    code.getattr("co_filename")
        .and_then(|f| f.extract::<String>())
        .is_ok_and(|f| ignored::is_ignored_file(&f, resumes))
        && !ignored::is_around_step(code).unwrap_or(false)
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
        let call = || hook.call1((miss.failure.reason.as_str(), code));
        if let Err(e) = interrupts::live(py, call) {
            e.write_unraisable(py, Some(&hook));
        }
    }
}
