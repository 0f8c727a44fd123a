//! What the code generator asks for: compiled graphs, names, resume functions.
//!
//! Does not live here: how a backend is called (`backends`), how code is generated (`translator`).

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use backends::{
    Backend, BackendCall, BackendError, Capabilities, Compiled, Gave, Kept, Numbers, ResultKey,
    SharedInputs,
};
use fx_graph::AotInput;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyList};
use residual::{CompiledGraph, GuardsSoFar, OutputEnv, ResumeCache, ResumeInfo};
use torch_abi::profiler::Span;
use torch_abi::tracer;
use variables::{Obj, raising};

use super::compilation::{Compilation, tell_torch};
use super::declined::Declined;
use super::plans::{EarlyPlan, beside};
use super::progress::Stage;
use super::redone::{BackendResult, Made};
use super::results::Results;
use super::slot::{CodeSlot, OnDisk};
use super::{artifacts, explain, log, without_modes};
use eval_frame::code_state;
use eval_frame::context::ContextId;

static NEXT_COMPILED: AtomicU32 = AtomicU32::new(0);
static NEXT_RESUME: AtomicU32 = AtomicU32::new(1);

/// Numbers compiled graphs and resume functions from the start again.
pub fn restart_names() {
    NEXT_COMPILED.store(0, Ordering::Relaxed);
    NEXT_RESUME.store(1, Ordering::Relaxed);
}

/// The number of the next resume function.
pub fn next_resume() -> u32 {
    NEXT_RESUME.fetch_add(1, Ordering::Relaxed)
}

/// How often a backend may ask for a restart with one graph.
const MAX_RESTARTS: usize = 100;

/// Whose graphs a backend compiles.
struct Graphs<'a, 'py> {
    code: &'a Bound<'py, PyCode>,
    results: &'a Results,
    context: ContextId,
    /// whether an optimizer's step is a part of the graph
    has_step: bool,
}

/// What a backend makes of a graph, or has made of it in another process. That of no backend at all is a plain function.
fn compile_with(
    py: Python<'_>,
    backend: &Backend,
    graph: &fx_graph::Graph,
    objects: &[Obj],
    examples: &[Obj],
    inputs: &[AotInput],
    of: &Graphs<'_, '_>,
) -> Result<Compiled, BackendError> {
    if backend.capabilities().is_absent
        && let Some(function) = function_of(py, graph, objects)?
    {
        return Ok(run_as_it_is(function));
    }
    let examples = PyList::new(py, examples)?;
    let shared = match raising::writes(graph) && !backend.capabilities().gives_graph_back {
        true => SharedInputs::of(&examples, inputs)?,
        false => SharedInputs::default(),
    };
    let as_it_is = match shared.is_empty() {
        true => None,
        false => function_of(py, graph, objects)?,
    };
    let call = BackendCall {
        graph: Some((graph, objects)),
        inputs,
        shares_memory: !shared.is_empty(),
        ..BackendCall::default()
    };
    let Some(as_it_is) = as_it_is else {
        return compile_or_find(py, backend, &call, (graph, objects), &examples, of);
    };
    let Some(base) = shared.base(&examples.to_tuple())? else {
        log::debug(py, "graph_breaks", "", || {
            "Inputs that the graph writes to share memory, and autograd does not know them for views of one tensor, or \
             torch does not see that they overlap: no compiler takes the graph, it runs as it is. Hint: pass one of the tensors, and make the others inside."
                .to_owned()
        });
        return Ok(run_as_it_is(as_it_is));
    };
    // Whoever keeps results does not look at the base.
    let mut compiled = run_backend(backend, &call, (graph, objects), &examples)?;
    compiled.callable = shared.choosing(&base, inputs, compiled.callable, as_it_is)?;
    Ok(compiled)
}

/// The function of a graph, with the numbers that it holds now.
fn function_of(py: Python<'_>, graph: &fx_graph::Graph, objects: &[Obj]) -> PyResult<Option<Obj>> {
    backends::forward_function(py, graph, objects, &[], Numbers::now(py)?)
}

/// A graph that is its own result.
fn run_as_it_is(function: Obj) -> Compiled {
    Compiled {
        callable: function,
        gave: Gave::Nothing,
        shape_guards: Some(Vec::new()),
        aot_guards: None,
    }
}

/// The same, for inputs that are apart, and of which all is known that a backend looks at.
fn compile_or_find(
    py: Python<'_>,
    backend: &Backend,
    call: &BackendCall<'_>,
    graph: (&fx_graph::Graph, &[Obj]),
    examples: &Bound<'_, PyList>,
    of: &Graphs<'_, '_>,
) -> Result<Compiled, BackendError> {
    let key = ResultKey::of(backend, call, examples)?;
    // torch compiles a step apart from what is around it, and once for all that this may differ in.
    let again = match (&key, of.has_step) {
        (Some(key), _) => Some(key.key()),
        (None, true) => ResultKey::of_any(backend, call, examples)?,
        (None, false) => None,
    };
    if let Some(key) = again
        && ResultKey::serves_again(backend, examples)?
        && let Some(known) = of.results.find(py, of.context, key)
    {
        return Ok(known);
    }
    let kept = match (key, super::config::cache_folder()) {
        (Some(key), Some(folder)) => Kept::find(py, key, &folder)?,
        _ => None,
    };
    let run = || run_backend(backend, call, graph, examples);
    let compiled = match kept {
        Some(kept) => {
            artifacts::belongs_to_who_runs(of.code, OnDisk::Artifact(kept.key()))?;
            match kept.load(py)? {
                Some(compiled) => compiled,
                None => kept.compile(py, run)?,
            }
        }
        None => run()?,
    };
    if let Some(key) = again
        && (of.has_step || compiled.gave == Gave::Other)
        && ResultKey::serves_again(backend, examples)?
    {
        of.results.keep(py, of.context, key, &compiled);
    }
    Ok(compiled)
}

/// Calls a backend with a graph module, made anew as often as it asks for that.
fn run_backend(
    backend: &Backend,
    call: &BackendCall<'_>,
    (graph, objects): (&fx_graph::Graph, &[Obj]),
    examples: &Bound<'_, PyList>,
) -> Result<Compiled, BackendError> {
    let py = examples.py();
    let module = || match backend.capabilities().wants_context {
        true => backends::to_torch(py, graph, objects, &[]),
        false => backends::late_to_torch(py, graph, objects),
    };
    // A backend asks for one where it needs a float as a constant.
    let has_floats = call.inputs.iter().any(AotInput::is_float);
    if has_floats {
        // What torch's tracer has noted of a function of its own would be taken for this graph's floats.
        backends::forget_restarts(py)?;
    }
    let mut restarts = 0;
    let compiled = loop {
        match call.run(backend, module()?.bind(py), examples) {
            Err(BackendError::Restart { .. }) if restarts < MAX_RESTARTS && !has_floats => {
                restarts += 1;
            }
            compiled => break compiled,
        }
    };
    if restarts > 0 || matches!(compiled, Err(BackendError::Restart { .. })) {
        backends::forget_restarts(py)?;
    }
    // Then eager raises as well, in `backward`, if the program calls it.
    if let Err(BackendError::Raised { cause, .. }) = &compiled
        && !backend.capabilities().gives_graph_back
        && let Some(function) = function_of(py, graph, objects)?
        && backends::cannot_be_differentiated(function.bind(py), examples)?
    {
        log::debug(py, "graph_breaks", "", || {
            format!(
                "The gradients of a graph can't be computed, in eager mode neither, so that no compiler takes it: it \
                 runs as it is. Hint: call it under torch.no_grad(), or write to a clone. {cause}"
            )
        });
        return Ok(run_as_it_is(function));
    }
    compiled
}

/// What the code generator asks for.
pub struct Env<'a, 'b, 'py> {
    pub compilation: &'a Compilation<'b, 'py>,
    pub backend: &'a Backend,
    /// what the backend can do, as it was known when the frame was translated
    pub can: Capabilities,
    pub resumes: &'a mut ResumeCache,
    pub error: Option<PyErr>,
    /// what the backend can't compile, where it did not fail
    pub declined: Option<Declined>,
    /// whether an optimizer's step is a part of the graph
    pub has_step: bool,
    /// what the backend made in the attempt before
    pub before: Option<Made>,
    /// what the backend made
    pub result: Option<BackendResult>,
    /// whether the backend gave something else than the graph itself
    pub is_opaque: bool,
    /// whether it was told which sizes and numbers change
    pub was_told: bool,
    /// which inputs are floats that are to be constants
    pub constant_floats: Vec<usize>,
    /// whether the graph is to be compiled with numbers as constants
    pub wants_constants: bool,
    /// whom torch would ask where the graph is called, who are not to see it
    pub unseen_by: Option<without_modes::Seeing>,
    pub seconds: f64,
    /// what was made of the guards while the backend ran
    pub plan: Option<EarlyPlan>,
}

impl<'a, 'b, 'py> Env<'a, 'b, 'py> {
    /// Before anything was asked.
    pub fn new(
        compilation: &'a Compilation<'b, 'py>,
        backend: &'a Backend,
        can: Capabilities,
        resumes: &'a mut ResumeCache,
    ) -> Self {
        Env {
            compilation,
            backend,
            can,
            resumes,
            error: None,
            declined: None,
            has_step: false,
            before: None,
            result: None,
            is_opaque: false,
            was_told: false,
            constant_floats: Vec::new(),
            wants_constants: false,
            unseen_by: None,
            seconds: 0.0,
            plan: None,
        }
    }
}

impl OutputEnv for Env<'_, '_, '_> {
    fn compile_graph(
        &mut self,
        py: Python<'_>,
        graph: &fx_graph::Graph,
        objects: &[Obj],
        examples: Vec<Obj>,
        inputs: &[AotInput],
        name: &str,
        guards: GuardsSoFar<'_>,
    ) -> PyResult<CompiledGraph> {
        let id = self.compilation.id.to_string();
        log::debug(py, "graph", &id, || {
            format!("TRACED GRAPH\n {name}\n{}", graph.tabular())
        });
        log::debug(py, "graph_code", &id, || {
            format!("TRACED GRAPH\n {name}\n{}", graph.python_code())
        });
        if explain::active() {
            let made = explain::Graph {
                name: name.to_owned(),
                operations: graph.call_count(),
                code: graph.python_code(),
                dot: graph.dot(),
            };
            explain::of_last(|c| c.graphs.push(made.clone()));
        }
        let started = Instant::now();
        self.compilation.progress.at(Stage::Backend);
        let span = Span::begin(py, || format!("Ferrodyn Backend: {name} [{id}]"));
        let known = self.before.take();
        let known = known.and_then(|made| made.find(graph, objects, &examples));
        let result = match known {
            Some(known) => Ok(known),
            None => {
                self.was_told = !self.can.gives_graph_back || backends::is_tracer_loaded(py)?;
                let inputs = if self.was_told { inputs } else { &[] };
                let code = self.compilation.frame.code(py);
                let slot = self.compilation.frame.code_state().slot(CodeSlot::default);
                let of = Graphs {
                    code: &code,
                    results: &slot.results,
                    context: self.compilation.ctx.id(),
                    has_step: self.has_step,
                };
                let call =
                    || compile_with(py, self.backend, graph, objects, &examples, inputs, &of);
                let (compiled, plan) = beside(py, &guards, call);
                self.plan = plan;
                compiled.map(|compiled| BackendResult::of(compiled, examples))
            }
        };
        drop(span);
        self.seconds += started.elapsed().as_secs_f64();
        match result {
            // What the graph runs is never captured again.
            Ok(result) => {
                tell_torch(tracer::count(py, "stats", "unique_graphs", 1));
                let calls = graph.call_count();
                tell_torch(tracer::count(py, "stats", "calls_captured", calls));
                self.is_opaque |= result.gave == Gave::Other;
                let (callable, shape_guards) =
                    (result.callable.clone(), result.shape_guards.clone());
                self.result = Some(result);
                let Some(shape_guards) = shape_guards else {
                    self.wants_constants = true;
                    return Err(PyRuntimeError::new_err(
                        "the backend relies on sizes that are not those of its inputs",
                    ));
                };
                let callable = match self.unseen_by {
                    Some(by) => without_modes::wrap(py, callable, by)?,
                    None => callable,
                };
                Ok(CompiledGraph {
                    callable: eval_frame::entry::make_disabled(callable.bind(py))?.unbind(),
                    shape_guards,
                })
            }
            Err(e) => {
                self.declined = Declined::of(py, graph, &e);
                if let BackendError::Restart { floats, .. } = &e {
                    self.constant_floats.clone_from(floats);
                }
                // With constants in their place it may do.
                self.wants_constants = match e {
                    BackendError::Raised { .. } => !inputs.is_empty(),
                    _ => inputs.iter().any(AotInput::is_float),
                };
                let e = e.into_py_err(py);
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
        next_resume()
    }

    fn driver(&mut self, py: Python<'_>) -> PyResult<Obj> {
        eval_frame::continuation::driver(py)
    }

    fn resume_cache(&mut self) -> &mut ResumeCache {
        self.resumes
    }

    fn bind_inputs(
        &mut self,
        py: Python<'_>,
        graph: &Obj,
        inputs: Vec<Option<Obj>>,
    ) -> PyResult<Option<Obj>> {
        let entry = eval_frame::entry::make_graph_call(graph.bind(py), inputs)?;
        Ok(Some(entry.unbind()))
    }

    fn left_no_trace(&mut self, py: Python<'_>, graph: &Obj, whole: bool) -> PyResult<Option<Obj>> {
        let graph = graph.bind(py);
        let graph = eval_frame::entry::undisabled(graph).unwrap_or_else(|| graph.clone());
        match backends::is_forward_function(&graph)? {
            true => backends::left_no_trace(py).map(Some),
            false if whole => backends::may_run_again(py).map(Some),
            false => Ok(None),
        }
    }

    fn leave_alone(&mut self, py: Python<'_>, code: &Obj) -> PyResult<()> {
        code_state::of(code.bind(py).cast::<PyCode>()?)?.skip_always();
        Ok(())
    }

    fn wrap_resume(&mut self, py: Python<'_>, function: Obj, info: &ResumeInfo) -> PyResult<Obj> {
        match info.plain {
            true => Ok(function),
            false => Ok(eval_frame::entry::make_resume(function.bind(py))?.unbind()),
        }
    }
}
