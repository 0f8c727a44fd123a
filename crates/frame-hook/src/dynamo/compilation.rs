//! One compilation of one frame: translation, backend, guards, an entry.
//!
//! Lives here: the order of the stages, what is done where one of them gives up, records of it.
//! Does not live here: whether a frame is compiled at all (`driver`), or any stage.
//!
//! Invariant: only `fullgraph=True` and errors of a backend reach the user as exceptions.

use std::cell::{OnceCell, RefCell};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use backends::{Backend, CompileOptions};
use cache::{CompileId, Entries, GuardedCode};
use guards::exec::CheckProgram;
use guards::{ConstTypes, GuardSet, NameStyle, Program, UserFrame};
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyDict};
use rustc_hash::FxHashMap;
use torch_abi::modes::ModesAside;
use translator::code::CodeInfo;
use translator::output::{self, Finish, Residual, ResumeCache};
use translator::retreat::WayBack;
use translator::step::End;
use translator::{BreakReason, DynamicInts, Ladder, R, Retreat, SetUp, Stop, Tx};

use super::generation::Env;
use super::redone::{Before, Made, renew_program};
use super::relevant::{holds_tensors, is_of_module};
use super::slot::CodeSlot;
use super::translate::{
    Request, Tables, begin, closing_guards, program_modes, saved_tensors_hooks_guard, stop_text,
};
use super::without_modes::Seeing;
use super::{config, env, explain, ferrodyn_error, log, reasons};
use crate::code_state;
use crate::context::CompileContext;
use crate::frame::FrameRef;
use crate::region::{ThreadRegions, with_thread};

/// What compilations of one thread share.
pub struct Session {
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

/// Forgets what this thread's compilations share of the user's code.
pub fn forget_session() {
    SESSION.with(|s| {
        if let Ok(mut s) = s.try_borrow_mut()
            && let Some(session) = s.get_mut()
        {
            session.forget();
        }
    });
}

/// What became of a compilation.
pub enum Compiled {
    /// installed
    Code(Arc<GuardedCode>),
    /// plain Python this time
    Run,
    /// plain Python this time, with all that is called
    RunAll,
    /// plain Python from now on
    Skip,
}

/// One compilation of one frame.
pub struct Compilation<'a, 'py> {
    pub py: Python<'py>,
    pub ctx: &'a CompileContext,
    pub config: &'a config::Config,
    pub entries: &'a Entries,
    pub frame: &'a FrameRef<'a>,
    pub id: CompileId,
}

impl<'py> Compilation<'_, 'py> {
    /// Compiles with what this thread's compilations share.
    ///
    /// # Errors
    /// What a backend raises; with `fullgraph=True`, why there is no one graph.
    pub fn run(&self, request: &Request<'_, 'py>) -> PyResult<Compiled> {
        SESSION.with(|s| {
            // A compilation inside a compilation runs as plain Python.
            let Ok(mut session) = s.try_borrow_mut() else {
                return Ok(Compiled::Run);
            };
            if session.get().is_none() {
                // What is looked at is none of the program's calls.
                let _aside = ModesAside::new(self.py)?;
                let made = Session {
                    tables: Tables::new(self.py)?,
                    resumes: ResumeCache::default(),
                };
                let _ = session.set(made);
            }
            let compiled = match session.get_mut() {
                Some(session) => {
                    let compiled = self.run_in(session, request, Before::default());
                    session.tables.codes.borrow_mut().forget_user_code();
                    compiled
                }
                None => Ok(Compiled::Run),
            };
            // What was found out meanwhile may be wrong.
            if let Err(interrupt) = interrupts::check(self.py) {
                session.take();
                return Err(interrupt);
            }
            compiled
        })
    }

    /// Compiles, with what is known from attempts before.
    ///
    /// # Errors
    /// As [`Compilation::run`].
    pub fn run_in(
        &self,
        session: &mut Session,
        request: &Request<'_, 'py>,
        before: Before,
    ) -> PyResult<Compiled> {
        let py = self.py;
        let started = Instant::now();
        let modes = program_modes(py, session.tables.abi)?;
        let mut tx = match begin(py, &session.tables, request, &modes) {
            Ok(tx) => tx,
            Err(stop) => return self.undecodable(&stop_text(&stop)),
        };
        // They are to see nothing of what is done from here on.
        let aside = match modes.is_empty() {
            true => None,
            false => Some(ModesAside::new(py)?),
        };
        tx.bind_tensors = !self.slot().fetch_tensors.get();
        let code = request.code.clone().into_any().unbind();
        tx.resumed = session
            .resumes
            .original(py, &mut session.tables.codes.borrow_mut(), &code)
            .map(|original| original.0);
        tx.max_instructions = self.config.max_instructions as u64;
        tx.max_plain_instructions = self.config.max_plain_instructions as u64;
        tx.stack_floor = with_thread(ThreadRegions::floor);
        tx.trace = log::enabled(py, "trace_bytecode").then(Vec::new);
        // A mode in force would see residual code ask for sizes, and the function run once more as plain Python.
        tx.ints = match modes.is_empty() {
            true => self.dynamic_ints()?,
            false => DynamicInts::default(),
        };
        tx.ints.as_inputs &= !before.constants;
        tx.runs_as_is = modes.is_empty() && self.runs_as_is()?;
        tx.refusal = before.refusal.clone();
        let breaks = explain::count_breaks();
        let end = tx.run();
        interrupts::check(py)?;
        self.entries.set_changing(py, tx.ints.names.clone());
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
                if caught && !tx.retreat(WayBack::FirstCatch) {
                    return Ok(Compiled::Run);
                }
                self.report_break(&tx, &reason);
                Finish::Break(reason)
            }
            End::Break(reason) => {
                let stack = self.report_break(&tx, &reason);
                if self.ctx.fullgraph() {
                    // A cache is filled by plain Python here, too: the next call is one graph.
                    let fills_cache = reason.sets_up == Some(SetUp::Cached)
                        && self.entries.meets_set_up(py) < SetUp::Cached.calls();
                    return match fills_cache {
                        true => Ok(Compiled::RunAll),
                        false => Err(self.unsupported(&reason, &stack)),
                    };
                }
                // Nothing was captured, and a loop that breaks goes on as plain Python.
                if tx.too_long && tx.graph.is_empty() && tx.st.frame.depth == 0 {
                    return Ok(Compiled::Skip);
                }
                // What is set up once is not worth code of its own: later calls find it done.
                if let Some(what) = reason.sets_up
                    && self.entries.meets_set_up(py) < what.calls()
                {
                    let code = session.tables.codes.borrow_mut().get(request.code.as_any());
                    let loops = code.is_ok_and(|code| code.has_loop());
                    // A model's call; what has a loop or no tensors may be the whole program. One over the
                    // parts of a module that has just been made is not.
                    let is_program =
                        loops && !(what == SetUp::Parameters && is_of_module(py, self.frame));
                    return Ok(match !is_program && holds_tensors(py, self.frame) {
                        true => Compiled::RunAll,
                        false => Compiled::Run,
                    });
                }
                Finish::Break(reason)
            }
        };
        let backend = self.backend()?;
        close(&mut tx, &backend)?;
        let mut env = Env {
            compilation: self,
            backend: &backend,
            resumes: &mut session.resumes,
            error: None,
            declined: None,
            before: before.made,
            result: None,
            is_opaque: false,
            wants_constants: false,
            unseen_by: match (modes.is_empty(), tx.met_subclass) {
                (false, _) => Some(Seeing::Modes),
                (true, true) => Some(Seeing::Classes),
                (true, false) => None,
            },
            seconds: 0.0,
        };
        let result = match self.finish(&mut tx, finish, &mut env)? {
            ControlFlow::Continue(result) => result,
            ControlFlow::Break(compiled) => return Ok(compiled),
        };
        // A backend that traces the graph once more may have failed for what only this one can run.
        env.is_opaque |= env.error.is_some() && tx.needs_as_is && self.runs_as_is()?;
        if env.is_opaque {
            let slot = self.ctx.state(BackendSlot::default);
            slot.is_opaque.store(true, Ordering::Relaxed);
            let was_told = backend.wants_tracing_context();
            if tx.needs_as_is || result.is_ok() && tx.is_dynamic() && !was_told {
                drop(aside);
                let before = Before {
                    refusal: before.refusal,
                    constants: before.constants,
                    ..Before::default()
                };
                return self.run_in(session, request, before);
            }
        }
        if env.wants_constants && !before.constants {
            drop(aside);
            explain::forget_breaks(&breaks);
            let before = Before {
                refusal: before.refusal,
                constants: true,
                ..Before::default()
            };
            return self.run_in(session, request, before);
        }
        if let Some(declined) = env.declined.take()
            && let Some(error) = env.error.take()
        {
            drop(aside);
            explain::forget_breaks(&breaks);
            return self.without(&declined, error, before.refusal.as_ref(), session, request);
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
            (Err(stop @ Stop::Internal(_)), None) => return self.internal_error(&mut tx, stop),
            (Err(stop), None) => return self.give_up(&stop_text(&stop)),
        };
        drop(aside);
        let backend_seconds = env.seconds;
        let backend_result = env.result.take();
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
        renew_program(py, &program)?;
        let check = env::of_frame(py, self.frame);
        // SAFETY: the frame is alive and keeps what the environment names.
        let failure = unsafe { program.explain_failure(py, &check) };
        if let Some(failure) = failure {
            // The backend changed it. What it does once is done by now.
            if let (Some(result), false) = (backend_result, before.is_redone) {
                log::debug(py, "recompiles", &self.id.to_string(), || {
                    format!(
                        "{} is translated again, the backend changed what a guard looks at: {}",
                        self.entries.name(),
                        failure.reason
                    )
                });
                explain::forget_breaks(&breaks);
                let before = Before {
                    refusal: before.refusal,
                    made: Some(Made::of(&mut tx, result)),
                    is_redone: true,
                    constants: before.constants,
                };
                return self.run_in(session, request, before);
            }
            return self.give_up(&format!(
                "a guard fails for the very call that it was made for: {}",
                failure.reason
            ));
        }
        interrupts::check(py)?;
        if let Some(module) = &tx.owner {
            self.entries.belongs_to(module.bind(py));
        }
        self.install(program, &residual)
    }

    /// Residual code of a translation, or why there is none. Where the graph cannot break at the place where
    /// translation stopped, it goes back and breaks at another one.
    ///
    /// # Errors
    /// Interrupts; with `fullgraph=True`, a graph break for what is private.
    fn finish(
        &self,
        tx: &mut Tx<'py>,
        mut finish: Finish,
        env: &mut Env<'_, '_, 'py>,
    ) -> PyResult<ControlFlow<Compiled, R<Residual>>> {
        let mut ladder = Ladder::default();
        loop {
            let result = output::finish(tx, finish, env);
            interrupts::check(self.py)?;
            let Err(Stop::Retreat(to, reason)) = result else {
                return Ok(ControlFlow::Continue(result));
            };
            let Some(way) = ladder.next(to) else {
                return Ok(ControlFlow::Continue(Err(Stop::Retreat(to, reason))));
            };
            if !tx.retreat(way) {
                return self.give_up(&reason.reason).map(ControlFlow::Break);
            }
            if to.has_own_reason() {
                let stack = self.report_break(tx, &reason);
                if to == Retreat::Private && self.ctx.fullgraph() {
                    return Err(self.unsupported(&reason, &stack));
                }
            }
            close(tx, env.backend)?;
            finish = Finish::Break(reason);
        }
    }

    fn slot(&self) -> &CodeSlot {
        self.frame.code_state().slot(CodeSlot::default)
    }

    /// Which ints are no constants, by what earlier compilations found.
    fn dynamic_ints(&self) -> PyResult<DynamicInts> {
        let always = self.ctx.dynamic();
        let always = always.unwrap_or(!self.config.assume_static_by_default);
        let mut ints = DynamicInts::new(always);
        ints.specialize_int = self.config.specialize_int;
        ints.specialize_float = self.config.specialize_float;
        if self.ctx.dynamic() != Some(false) && self.config.automatic_dynamic_shapes {
            ints.names = self.entries.changing(self.py);
            for entry in self.entries.entries(self.py) {
                ints.learn(entry.guards());
            }
            if let Some(call) = self.entries.first_call(self.py) {
                ints.before.extend(call.ints);
                ints.shapes.extend(call.sizes);
            }
        }
        // What looks into example inputs may take their ints and sizes for constants, unless it is told of them.
        ints.floats_as_inputs = self.runs_as_is()?;
        ints.as_inputs = ints.floats_as_inputs || self.backend()?.wants_tracing_context();
        Ok(ints)
    }

    /// Whether the backend gives back the graph that it gets, as far as it was seen.
    fn runs_as_is(&self) -> PyResult<bool> {
        let seen = self.ctx.state(BackendSlot::default);
        Ok(!self.backend()?.wants_tracing_context() && !seen.is_opaque.load(Ordering::Relaxed))
    }

    /// Bytecode that no compiler of CPython emits.
    fn undecodable(&self, why: &str) -> PyResult<Compiled> {
        if self.ctx.fullgraph() {
            return Err(ferrodyn_error(self.py, "TamperedCodeError", why));
        }
        self.give_up(why)
    }

    /// Plain Python from now on, with the reason in the log.
    pub fn give_up(&self, why: &str) -> PyResult<Compiled> {
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

    /// As [`Self::give_up`], for a defect of ours: `explain` and the log show it as a graph break of that kind.
    fn internal_error(&self, tx: &mut Tx<'_>, stop: Stop) -> PyResult<Compiled> {
        if self.ctx.fullgraph() {
            return self.give_up(&stop_text(&stop));
        }
        let reason = tx.reason_of(stop);
        self.report_break(tx, &reason);
        Ok(Compiled::Skip)
    }

    fn backend(&self) -> PyResult<Arc<Backend>> {
        let state = self.ctx.state(BackendSlot::default);
        if let Ok(slot) = state.backend.lock()
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
        if let Ok(mut slot) = state.backend.lock() {
            *slot = Some(backend.clone());
        }
        Ok(backend)
    }

    fn report_break(&self, tx: &Tx<'_>, reason: &BreakReason) -> Vec<String> {
        let py = self.py;
        log::debug(py, "state", &self.id.to_string(), || {
            format!("STATE AT A GRAPH BREAK\n{}", tx.state_text())
        });
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

    fn install(&self, program: CheckProgram, residual: &Residual) -> PyResult<Compiled> {
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
    fn bytecode_text(&self, residual: &Residual) -> String {
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

/// Adds the guards that every translation ends with.
///
/// # Errors
/// Whatever torch raises.
fn close(tx: &mut Tx<'_>, backend: &Backend) -> PyResult<()> {
    closing_guards(tx);
    match backend.wants_tracing_context() {
        true => saved_tensors_hooks_guard(tx),
        false => Ok(()),
    }
}

/// The resolved backend of a context.
#[derive(Default)]
struct BackendSlot {
    backend: std::sync::Mutex<Option<Arc<Backend>>>,
    /// whether it gave something else than the graph itself, once
    is_opaque: AtomicBool,
}
