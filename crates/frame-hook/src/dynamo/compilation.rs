//! One compilation of one frame: translation, backend, guards, an entry.
//!
//! Lives here: the order of the stages, what is done where one of them gives up, records of it.
//! Does not live here: whether a frame is compiled at all (`driver`), or any stage.
//!
//! Invariant: only `fullgraph=True` and errors of a backend reach the user as exceptions.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use backends::{Backend, Capabilities, CompileOptions, Gave};
use cache::{CompileId, Entries, GuardedCode};
use guards::GuardKind;
use guards::exec::CheckProgram;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use residual::{self, Finish, Finished, Ladder, Residual};
use torch_abi::modes::ModesAside;
use torch_abi::tracer;
use translator::library;
use translator::retreat::WayBack;
use translator::step::End;
use translator::{BreakReason, DynamicInts, Instead, R, Retreat, SetUp, Stop, Tx};

use super::captures::Free;
use super::generation::Env;
use super::plans::EarlyPlan;
use super::progress::{Progress, Stage};
use super::redone::{Again, Before, Constants, Made, float_names, renew_program};
use super::relevant::{holds_tensors, is_of_module};
use super::session::{SESSION, Session, Shared};
use super::slot::CodeSlot;
use super::translate::{
    Request, begin, closing_guards, program_modes, saved_tensors_hooks_guard, stop_text,
};
use super::without_modes::Seeing;
use super::{
    config, dynamic_marks, env, explain, ferrodyn_error, guard_filter, guessed, log, reasons,
};
use eval_frame::context::{CompileContext, ContextState};
use eval_frame::frame::FrameRef;
use eval_frame::region::{ThreadRegions, with_thread};

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
    /// plain Python from now on, with all that is called
    SkipAll,
}

/// A stage that no other one follows: what it makes of the compilation.
pub enum Ended {
    With(Compiled),
    /// an exception for the user
    Raised(PyErr),
}

impl Ended {
    /// The result of the compilation.
    ///
    /// # Errors
    /// The exception for the user.
    pub fn result(self) -> PyResult<Compiled> {
        match self {
            Ended::With(compiled) => Ok(compiled),
            Ended::Raised(error) => Err(error),
        }
    }
}

impl From<PyErr> for Ended {
    fn from(error: PyErr) -> Ended {
        Ended::Raised(error)
    }
}

/// What a frame is compiled for.
struct Surroundings {
    /// what the backend can do
    can: Capabilities,
    /// whether a function mode of the program is in force
    has_modes: bool,
}

/// One compilation of one frame.
pub struct Compilation<'a, 'py> {
    pub py: Python<'py>,
    pub ctx: &'a CompileContext,
    pub config: &'a config::Config,
    pub entries: &'a Entries,
    pub frame: &'a FrameRef<'a>,
    pub id: CompileId,
    pub progress: Progress,
    /// where the capture is to be kept
    pub free: OnceCell<Free>,
    /// why its graph breaks
    pub reported: RefCell<Vec<String>>,
}

impl<'py> Compilation<'_, 'py> {
    /// Compiles with what this thread's compilations share.
    ///
    /// # Errors
    /// What a backend raises; with `fullgraph=True`, why there is no one graph.
    pub fn run(&self, request: &Request<'_, 'py>) -> PyResult<Compiled> {
        SESSION.with(|s| {
            // A compilation inside a compilation runs as plain Python.
            let Ok(mut shared) = s.try_borrow_mut() else {
                return Ok(Compiled::Run);
            };
            if let Some(taken) = self.take_kept(request, shared.resumes())? {
                return Ok(taken);
            }
            let session = shared.session(self.py)?;
            let compiled = self.run_in(session, request, Before::default());
            let codes = &session.tables.codes;
            codes.borrow_mut().forget(library::is_library_file);
            // What was found out meanwhile may be wrong.
            if let Err(interrupt) = interrupts::check(self.py) {
                *shared = Shared::default();
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
        self.attempt(session, request, before)
            .or_else(Ended::result)
    }

    /// The stages, one after the other.
    fn attempt(
        &self,
        session: &mut Session,
        request: &Request<'_, 'py>,
        mut before: Before,
    ) -> Result<Compiled, Ended> {
        let py = self.py;
        let started = Instant::now();
        let backend = self.backend()?;
        let can = backend.capabilities();
        let has_forward_level = session.tables.abi.has_forward_level();
        if has_forward_level && !can.gives_graph_back {
            log::debug(py, "graph_breaks", &self.id.to_string(), || {
                let name = self.entries.name();
                format!(
                    "{name} runs in eager mode: a level of forward-mode AD is active, and compiled code would drop tangents"
                )
            });
            return Ok(Compiled::Run);
        }
        let modes = program_modes(py, session.tables.abi)?;
        let mut tx = begin(py, &session.tables, request, &modes)
            .map_err(|stop| self.undecodable(&stop_text(&stop)))?;
        // They are to see nothing of what is done from here on.
        let aside = match modes.is_empty() {
            true => None,
            false => Some(ModesAside::new(py)?),
        };
        let around = Surroundings {
            can,
            has_modes: !modes.is_empty(),
        };
        self.configure(&mut tx, session, request, &before, &around)?;
        tx.st.needs_as_is |= has_forward_level;
        let breaks = explain::count_breaks();
        let mut end = tx.run();
        let needs_number = tx.ints.has_changing_numpy || tx.ints.reads_input;
        if needs_number && !matches!(end, End::Return(_)) {
            let mut other = begin(py, &session.tables, request, &modes)
                .map_err(|stop| self.undecodable(&stop_text(&stop)))?;
            self.configure(&mut other, session, request, &before, &around)?;
            other.ints.specialize_numpy = tx.ints.has_changing_numpy;
            other.ints.fixes_inputs = tx.ints.reads_input;
            let its_end = other.run();
            // The value of one of the numbers is needed where the translation stopped.
            let is_whole = matches!(its_end, End::Return(_));
            if is_whole || other.instructions > tx.instructions {
                (tx, end) = (other, its_end);
            }
        }
        if tx.ints.needs_backed {
            tx = begin(py, &session.tables, request, &modes)
                .map_err(|stop| self.undecodable(&stop_text(&stop)))?;
            before.backs_unbacked = true;
            self.configure(&mut tx, session, request, &before, &around)?;
            end = tx.run();
        }
        interrupts::check(py)?;
        self.record_tracing(&mut tx, started);
        let finish = self.finish_of(&mut tx, end, session, request)?;
        let mut env = Env {
            has_step: tx.facts.has_step,
            before: before.made.take(),
            unseen_by: Seeing::of(!modes.is_empty(), tx.st.met_subclass),
            ..Env::new(self, &backend, can, &mut session.resumes)
        };
        let result = self.finish(&mut tx, finish, &mut env)?;
        if let Some(again) = self.again(&tx, result.is_ok(), &mut env, &before)? {
            drop(aside);
            if !matches!(again, Again::Opaque) {
                explain::forget_breaks(&breaks);
            }
            return Ok(self.run_again(again, before, session, request)?);
        }
        let residual = self.residual(&mut tx, result, env.error.take())?;
        drop(aside);
        let made = env.result.take();
        let (plan, seconds) = (env.plan.take(), env.seconds);
        dynamic_marks::check(&tx)?;
        guard_filter::apply(&mut tx, self.ctx)?;
        let program = self.program(&mut tx, plan, started, seconds)?;
        if let Some(why) = self.failure(&program)? {
            // The backend changed it. What it does once is done by now.
            if let (Some(result), false) = (made, before.is_redone) {
                self.log_redone(&why);
                explain::forget_breaks(&breaks);
                let made = Made::of(&mut tx, result);
                return Ok(self.run_in(session, request, before.redone(made))?);
            }
            return Err(self.give_up(&format!(
                "a guard fails for the very call that it was made for: {why}"
            )));
        }
        interrupts::check(py)?;
        if let Some(module) = &tx.facts.owner {
            self.entries.belongs_to(module.bind(py));
        }
        let relied_on = made.and_then(|made| made.shape_guards).unwrap_or_default();
        let known = (&before, &relied_on[..]);
        let around = (request, &session.resumes);
        self.keep(&tx, known, &program, &residual, around)?;
        Ok(self.install(program, &residual)?)
    }

    /// Tells a translation what it has to know of this compilation.
    fn configure(
        &self,
        tx: &mut Tx<'py>,
        session: &mut Session,
        request: &Request<'_, 'py>,
        before: &Before,
        around: &Surroundings,
    ) -> PyResult<()> {
        let py = self.py;
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
        tx.ints = match around.has_modes {
            true => DynamicInts::default(),
            false => self.dynamic_ints(around.can),
        };
        tx.st.captures_shapes =
            !around.has_modes && (tx.ints.is_whole || self.config.capture_dynamic_output_shape_ops);
        tx.ints.backs_unbacked |= before.backs_unbacked;
        tx.ints.as_inputs &= before.constants != Constants::All;
        tx.ints.floats_as_inputs &=
            matches!(before.constants, Constants::None | Constants::SomeFloats);
        tx.runs_as_is = !around.has_modes && around.can.gives_graph_back;
        tx.refusal = before.refusal.clone();
        self.progress.at(Stage::Tracing);
        tx.log.graph.show_len_in(self.progress.nodes());
        Ok(())
    }

    /// Keeps what a translation found out, and counts what it took.
    fn record_tracing(&self, tx: &mut Tx<'py>, started: Instant) {
        let py = self.py;
        self.entries.set_changing(py, tx.ints.names.clone());
        for line in tx.trace.take().unwrap_or_default() {
            log::debug(py, "trace_bytecode", &self.id.to_string(), || line);
        }
        let traced = started.elapsed().as_secs_f64();
        explain::record(|r| {
            *r.counts.entry("instructions").or_default() += tx.instructions;
            *r.counts.entry("fake_tensor_fallbacks").or_default() +=
                tx.facts.fake_ops.values().sum::<u64>();
            for (op, count) in &tx.facts.fake_ops {
                *r.fake_ops.entry(op.clone()).or_default() += count;
            }
            r.took("tracing", traced);
        });
        explain::of_last(|c| {
            c.instructions += tx.instructions;
            c.graphs.clear();
        });
    }

    /// What residual code is made for, by how the translation ended.
    fn finish_of(
        &self,
        tx: &mut Tx<'py>,
        end: End,
        session: &Session,
        request: &Request<'_, 'py>,
    ) -> Result<Finish, Ended> {
        let reason = match end {
            End::Return(value) => return Ok(Finish::Return(value)),
            End::Raises { reason, caught } => {
                self.may_raise_here(tx, &reason, caught)?;
                reason
            }
            End::Break(reason) => {
                self.may_break_here(tx, &reason, session, request)?;
                reason
            }
        };
        Ok(Finish::Break(reason))
    }

    /// Goes to where a program that raises is to leave its graph. Ends the compilation where no graph is worth it.
    fn may_raise_here(
        &self,
        tx: &mut Tx<'py>,
        reason: &BreakReason,
        caught: bool,
    ) -> Result<(), Ended> {
        if self.ctx.fullgraph() {
            return Err(Ended::With(Compiled::Run));
        }
        // Plain Python gets another answer, and may not raise at all.
        if tx.facts.asked_compiling {
            self.report_break(tx, reason);
            return Err(
                match self.entries.name().file.ends_with("nn/modules/module.py") {
                    // Every module's call goes through this code.
                    true => Ended::With(Compiled::Run),
                    false => self.give_up("it asks whether it is compiled, and raises if so"),
                },
            );
        }
        if caught && !tx.retreat(WayBack::FirstCatch) {
            return Err(Ended::With(Compiled::Run));
        }
        self.report_break(tx, reason);
        Ok(())
    }

    /// Ends the compilation where a graph up to this break is not allowed or not worth it.
    fn may_break_here(
        &self,
        tx: &mut Tx<'py>,
        reason: &BreakReason,
        session: &Session,
        request: &Request<'_, 'py>,
    ) -> Result<(), Ended> {
        let py = self.py;
        let stack = self.report_break(tx, reason);
        if reason.instead == Some(Instead::SkipFrame) && !self.ctx.fullgraph() {
            return Err(Ended::With(Compiled::Skip));
        }
        if reason.instead == Some(Instead::RunAllAlways) && !self.ctx.fullgraph() {
            return Err(Ended::With(Compiled::SkipAll));
        }
        if reason.instead == Some(Instead::RunAll) && !self.ctx.fullgraph() {
            if !tx.runs_as_is {
                return Err(Ended::With(Compiled::SkipAll));
            }
            tx.st.needs_as_is = true;
        }
        if self.errors_on_break(tx)? || reason.instead == Some(Instead::Raise) {
            return Err(Ended::Raised(reasons::error(self.py, reason, &stack)));
        }
        if self.ctx.fullgraph() {
            // A cache is filled, and a module's parameters are made, in eager mode here, too: the next call is one
            // graph.
            let sets_up = reason.sets_up.is_some_and(|what| {
                what != SetUp::UnderLock && self.entries.meets_set_up(py) < what.calls()
            });
            return Err(match sets_up {
                true => Ended::With(Compiled::RunAll),
                false => Ended::Raised(reasons::error(self.py, reason, &stack)),
            });
        }
        // Nothing was captured, and a loop that breaks goes on as plain Python.
        if tx.too_long && tx.log.graph.is_empty() && tx.st.frame.depth == 0 {
            return Err(Ended::With(Compiled::Skip));
        }
        // What is set up once is not worth code of its own: later calls find it done.
        if let Some(what) = reason.sets_up
            && self.entries.meets_set_up(py) < what.calls()
        {
            let code = session.tables.codes.borrow_mut().get(request.code.as_any());
            let loops = code.is_ok_and(|code| code.has_loop());
            // A model's call; what has a loop or no tensors may be the whole program. One over the
            // parts of a module that has just been made is not.
            let is_program = loops && !(what == SetUp::Parameters && is_of_module(py, self.frame));
            return Err(Ended::With(
                match !is_program && holds_tensors(py, self.frame) {
                    true => Compiled::RunAll,
                    false => Compiled::Run,
                },
            ));
        }
        Ok(())
    }

    /// Whether the program has asked for an error at a graph break here, by `error_on_graph_break`.
    fn errors_on_break(&self, tx: &Tx<'_>) -> PyResult<bool> {
        match torch_rules::errors_on_break(tx) {
            Some(errors) => Ok(errors),
            None => tracer::errors_on_break(self.py),
        }
    }

    /// Residual code of a translation, or why there is none. Where the graph cannot break at the place where
    /// translation stopped, it goes back and breaks at another one.
    fn finish(
        &self,
        tx: &mut Tx<'py>,
        mut finish: Finish,
        env: &mut Env<'_, '_, 'py>,
    ) -> Result<R<Residual>, Ended> {
        let mut ladder = Ladder::default();
        loop {
            close(tx, env.can)?;
            env.plan = None;
            let result = residual::finish(Finished::new(tx), finish, env);
            interrupts::check(self.py)?;
            let Err(Stop::Retreat(to, reason)) = result else {
                return Ok(result);
            };
            let Some(way) = ladder.next(to) else {
                return Ok(Err(Stop::Retreat(to, reason)));
            };
            if !tx.retreat(way) {
                return Err(self.give_up(&reason.reason));
            }
            if to.has_own_reason() {
                let stack = self.report_break(tx, &reason);
                if to == Retreat::Private && self.ctx.fullgraph() {
                    return Err(Ended::Raised(reasons::error(self.py, &reason, &stack)));
                }
            }
            finish = Finish::Break(reason);
        }
    }

    /// How the frame is compiled again, where the backend asks for it by what it did.
    fn again(
        &self,
        tx: &Tx<'py>,
        has_code: bool,
        env: &mut Env<'_, '_, 'py>,
        before: &Before,
    ) -> PyResult<Option<Again>> {
        // A backend that traces the graph once more may have failed for what only this one can run.
        env.is_opaque |= env.error.is_some() && tx.st.needs_as_is && env.can.gives_graph_back;
        if env.is_opaque {
            env.backend.saw_it_compile();
            let suits = env.was_told && !tx.is_for_no_compiler();
            let is_for_other = tx.st.needs_as_is || has_code && tx.is_dynamic() && !suits;
            if env.can.gives_graph_back && is_for_other {
                return Ok(Some(Again::Opaque));
            }
        } else if env.error.is_none() && env.result.as_ref().is_some_and(|r| r.gave == Gave::Graph)
        {
            env.backend.saw_it_give_graph_back();
        }
        if (env.error.is_some() || env.wants_constants) && tx.ints.has_unbacked {
            self.slot().back_unbacked(self.ctx.id());
            return Ok(Some(Again::Backed));
        }
        if env.wants_constants && before.constants != Constants::All {
            let names = float_names(tx, &env.constant_floats);
            let slot = self.slot();
            let has_floats = !matches!(before.constants, Constants::Floats | Constants::All)
                && !tx.log.float_inputs.is_empty();
            let constants = match has_floats {
                true if slot.make_constant(self.ctx.id(), names, false) => Constants::SomeFloats,
                true => Constants::Floats,
                false => Constants::All,
            };
            return Ok(Some(Again::Constants(constants)));
        }
        if env.error.is_some()
            && let Some(declined) = env.declined.take()
            && let Some(error) = env.error.take()
        {
            return Ok(Some(Again::Without(declined, error)));
        }
        Ok(None)
    }

    fn run_again(
        &self,
        again: Again,
        before: Before,
        session: &mut Session,
        request: &Request<'_, 'py>,
    ) -> PyResult<Compiled> {
        let constants = match again {
            Again::Opaque | Again::Backed => before.constants,
            Again::Constants(constants) => {
                if constants != Constants::SomeFloats {
                    let id = self.ctx.id();
                    self.slot().make_constant(id, BTreeSet::new(), true);
                }
                constants
            }
            Again::Without(declined, error) => {
                return self.without(&declined, error, before.refusal.as_ref(), session, request);
            }
        };
        let before = Before {
            refusal: before.refusal,
            constants,
            backs_unbacked: before.backs_unbacked || matches!(again, Again::Backed),
            ..Before::default()
        };
        self.run_in(session, request, before)
    }

    /// The residual code, if there is any.
    fn residual(
        &self,
        tx: &mut Tx<'py>,
        result: R<Residual>,
        error: Option<PyErr>,
    ) -> Result<Residual, Ended> {
        match (result, error) {
            (Ok(residual), _) => Ok(residual),
            (Err(_), Some(e)) if self.config.suppress_errors => {
                log::warning(self.py, &self.id.to_string(), || {
                    format!("the backend failed, the function runs in eager mode: {e}")
                });
                Err(Ended::With(Compiled::Skip))
            }
            (Err(_), Some(e)) => Err(Ended::Raised(e)),
            (Err(stop @ Stop::Internal(_)), None) => Err(self.internal_error(tx, stop)),
            (Err(Stop::Break(reason)), None) if self.ctx.fullgraph() => {
                let stack = self.report_break(tx, &reason);
                Err(Ended::Raised(reasons::error(self.py, &reason, &stack)))
            }
            (Err(stop), None) => Err(self.give_up(&stop_text(&stop))),
        }
    }

    /// The program that checks the guards; counts what that and all stages before it took.
    fn program(
        &self,
        tx: &mut Tx<'py>,
        plan: Option<EarlyPlan>,
        started: Instant,
        backend_seconds: f64,
    ) -> Result<CheckProgram, Ended> {
        let guards_started = Instant::now();
        self.progress.at(Stage::Guards);
        let program = self.link(tx, plan).map_err(|text| self.give_up(&text))?;
        explain::record(|r| {
            r.took("guards", guards_started.elapsed().as_secs_f64());
            r.took("backend", backend_seconds);
            r.took("total", started.elapsed().as_secs_f64());
        });
        Ok(program)
    }

    /// Why the guards fail for the call that they were made for; `None` where they hold.
    pub fn failure(&self, program: &CheckProgram) -> PyResult<Option<String>> {
        renew_program(self.py, program)?;
        let check = env::of_frame(self.py, self.frame);
        // SAFETY: the frame is alive and keeps what the environment names.
        let failure = unsafe { program.explain_failure(self.py, &check) };
        Ok(failure.map(|failure| failure.reason))
    }

    fn log_redone(&self, why: &str) {
        log::debug(self.py, "recompiles", &self.id.to_string(), || {
            format!(
                "{} is translated again, the backend changed what a guard looks at: {why}",
                self.entries.name(),
            )
        });
    }

    fn slot(&self) -> &CodeSlot {
        self.frame.code_state().slot(CodeSlot::default)
    }

    /// Which ints are no constants, by what earlier compilations found.
    pub fn dynamic_ints(&self, can: Capabilities) -> DynamicInts {
        let always = self.ctx.dynamic();
        let always = always.unwrap_or(!self.config.assume_static_by_default);
        let mut ints = DynamicInts::new(always);
        ints.specialize_int = self.config.specialize_int;
        ints.specialize_float = self.config.specialize_float;
        ints.fixes_parameters = self.config.force_parameter_static_shapes;
        if self.ctx.dynamic() != Some(false) && self.config.automatic_dynamic_shapes {
            ints.names = self.entries.changing(self.py);
            for entry in self.entries.entries(self.py) {
                ints.learn(entry.guards());
            }
            if let Some(call) = self.entries.first_call(self.py) {
                ints.before.extend(call.ints);
                ints.layouts.sizes.extend(call.sizes);
            }
        }
        // As under torch.compile: one graph that is asked for holds sizes and numbers that only it knows.
        let whole = self.ctx.fullgraph();
        if whole {
            // Code is made for each place of an iterator, where the graph may not break at one.
            for kinds in ints.positions.values_mut() {
                kinds.retain(|kind| {
                    matches!(
                        kind,
                        GuardKind::IdMatch { .. } | GuardKind::CallMatch { .. }
                    )
                });
            }
        }
        ints.is_whole = whole;
        ints.captures_scalars = whole || self.config.capture_scalar_outputs;
        let constant = self.slot().constant_floats(self.ctx.id());
        ints.floats_as_inputs = can.gives_graph_back || !constant.all;
        if !can.gives_graph_back {
            ints.constant_floats = constant.names;
        }
        ints.backs_unbacked = self.slot().backs_unbacked(self.ctx.id());
        ints.as_inputs = true;
        ints
    }

    /// Bytecode that no compiler of CPython emits.
    fn undecodable(&self, why: &str) -> Ended {
        if self.ctx.fullgraph() {
            return Ended::Raised(ferrodyn_error(self.py, "TamperedCodeError", why));
        }
        self.give_up(why)
    }

    /// Plain Python from now on, with the reason in the log.
    pub fn give_up(&self, why: &str) -> Ended {
        if self.ctx.fullgraph() {
            return Ended::Raised(ferrodyn_error(self.py, "InternalError", why));
        }
        let name = self.entries.name().clone();
        log::debug(self.py, "graph_breaks", &self.id.to_string(), || {
            format!("{name} runs in eager mode: {why}")
        });
        explain::record(|r| {
            r.breaks.push(explain::Break {
                reason: BreakReason {
                    reason: "Frame runs in eager mode".into(),
                    explanation: why.to_string(),
                    ..BreakReason::default()
                },
                user_stack: vec![format!(
                    "File \"{}\", line {}, in {}",
                    name.file, name.line, name.function
                )],
            });
        });
        Ended::With(Compiled::Skip)
    }

    /// As [`Self::give_up`], for a defect of ours: `explain` and the log show it as a graph break of that kind.
    fn internal_error(&self, tx: &mut Tx<'_>, stop: Stop) -> Ended {
        if self.ctx.fullgraph() {
            return self.give_up(&stop_text(&stop));
        }
        let reason = tx.reason_of(stop);
        self.report_break(tx, &reason);
        Ended::With(Compiled::Skip)
    }

    pub fn backend(&self) -> PyResult<Arc<Backend>> {
        let state = self.ctx.state(BackendSlot::default);
        if let Ok(slot) = state.backend.lock()
            && let Some(b) = &*slot
        {
            return Ok(b.clone());
        }
        let options = self.ctx.options().bind(self.py);
        let asked = CompileOptions {
            mode: options.get_item("mode")?.and_then(|m| m.extract().ok()),
            name: options.get_item("name")?.and_then(|n| n.extract().ok()),
            options: options
                .get_item("options")?
                .and_then(|o| o.cast_into::<PyDict>().ok())
                .map(Bound::unbind),
            dynamic: self.ctx.dynamic(),
        };
        let backend = Backend::resolve(self.ctx.backend().bind(self.py), &asked)
            .map_err(|e| e.into_py_err(self.py))?;
        if let Some(callable) = backend.unknown()
            && !guessed::gives_graph_back(callable.bind(self.py))?
        {
            backend.seems_to_compile();
        }
        let backend = Arc::new(backend);
        if let Ok(mut slot) = state.backend.lock() {
            *slot = Some(backend.clone());
        }
        Ok(backend)
    }

    fn report_break(&self, tx: &Tx<'_>, reason: &BreakReason) -> Vec<String> {
        let py = self.py;
        log::debug(py, "state", &self.id.to_string(), || {
            format!("STATE AT A GRAPH BREAK\n{}", tx.printer().state_text())
        });
        tell_torch(tracer::count(py, "graph_break", &reason.reason, 1));
        self.reported.borrow_mut().push(reason.reason.clone());
        let errs = self.ctx.fullgraph()
            || reason.instead == Some(Instead::Raise)
            || self.errors_on_break(tx).unwrap_or(false);
        if !log::enabled(py, "graph_breaks") && !explain::active() && !errs {
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
}

/// What torch's own records can't take does not stop the program.
pub fn tell_torch(told: PyResult<()>) {
    if let Err(error) = told {
        Python::attach(|py| error.write_unraisable(py, None));
    }
}

/// Adds the guards that every translation ends with.
///
/// # Errors
/// Whatever torch raises.
fn close(tx: &mut Tx<'_>, can: Capabilities) -> PyResult<()> {
    closing_guards(tx)?;
    match can.builds_in_hooks {
        true => saved_tensors_hooks_guard(tx),
        false => Ok(()),
    }
}

/// The resolved backend of a context.
#[derive(Default)]
struct BackendSlot {
    backend: std::sync::Mutex<Option<Arc<Backend>>>,
}

impl ContextState for BackendSlot {
    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.backend.try_lock().as_deref() {
            Ok(Some(backend)) => backend.traverse(visit),
            _ => Ok(()),
        }
    }
}
