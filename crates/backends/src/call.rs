//! The call of a backend: with what it expects, and with the state of the process left as it was.

use fx_graph::{AotInput, Graph, OpKind, ShapeGuard};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::aot::AotContext;
use crate::blind_spots;
use crate::error::BackendError;
use crate::forward::{Numbers, forward_function};
use crate::late_context::LateContext;
use crate::left_behind;
use crate::module_stacks::ModuleStacks;
use crate::names;
use crate::pristine::Pristine;
use crate::registry::Backend;
use crate::session;
use torch_abi::imported::imported;

/// What a function that runs for a graph says about the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gave {
    /// It gave back the graph module, or its `forward`, as it was given it: that runs the graph for any inputs.
    Graph,
    /// It gave something else, which may hold what it found in the example inputs.
    Other,
    /// Nothing: the graph runs as it is, without a backend or since no compiler takes it.
    Nothing,
}

/// What a backend made of a graph.
pub struct Compiled {
    /// Takes the graph's inputs as positional arguments and returns its outputs.
    pub callable: Py<PyAny>,
    /// Where the callable comes from.
    pub gave: Gave,
    /// What the backend relies on about the sizes and ints of the inputs. Empty unless one of them may
    /// differ from call to call; `None` where it relies on what no input says.
    pub shape_guards: Option<Vec<ShapeGuard>>,
    /// What `torch` calls AOTAutograd guards (storage overlap, duplicate inputs): a Python list of
    /// its own guard objects, to be held by the caller. `None` where there are none.
    pub aot_guards: Option<Py<PyAny>>,
}

impl Compiled {
    /// The same once more.
    pub fn clone_ref(&self, py: Python<'_>) -> Compiled {
        Compiled {
            callable: self.callable.clone_ref(py),
            gave: self.gave,
            shape_guards: self.shape_guards.clone(),
            aot_guards: self.aot_guards.as_ref().map(|guards| guards.clone_ref(py)),
        }
    }
}

/// How a backend is called.
#[derive(Clone, Copy, Default)]
pub struct BackendCall<'a> {
    /// What is known of each placeholder, for backends that want a tracing context. Where it is
    /// empty each input is a tensor of static sizes.
    pub inputs: &'a [AotInput],
    /// Which frame, and which compilation of it.
    pub compile_id: (u32, u32),
    /// What the graph module was made of, and the objects that its handles stand for: where the
    /// backend gives back `gm.forward`, that is made from these without generated text.
    pub graph: Option<(&'a Graph, &'a [Py<PyAny>])>,
    /// Whether the graph writes to inputs that share memory, see [`crate::SharedInputs`].
    pub shares_memory: bool,
}

/// Hands a graph module and example inputs to a backend, with default [`BackendCall`].
///
/// # Errors
/// As [`BackendCall::run`].
pub fn call_backend(
    backend: &Backend,
    gm: &Bound<'_, PyAny>,
    example_inputs: &Bound<'_, PyList>,
) -> Result<Py<PyAny>, BackendError> {
    BackendCall::default()
        .run(backend, gm, example_inputs)
        .map(|compiled| compiled.callable)
}

impl BackendCall<'_> {
    /// A result that leaves the levels which the graph enters where it raises, in the place of one by a backend of the
    /// program's: that may run the graph node by node.
    fn leaving_levels<'py>(
        &self,
        backend: &Backend,
        result: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.graph {
            Some((graph, _)) if !backend.is_registered() => {
                left_behind::leaving_levels(result, graph)
            }
            _ => Ok(result),
        }
    }

    /// Hands a graph module and example inputs (one for each placeholder) to a backend.
    ///
    /// [`Backend::eager`] gives `gm.forward`; who still has the graph saves the module with
    /// [`crate::forward_function`].
    ///
    /// While the backend runs, `torch.compiler.is_compiling()` is true in this thread. Random state, grad mode,
    /// inference mode, default dtype and determinism are afterwards what they were, and so is what the contexts of
    /// the graph change.
    ///
    /// # Errors
    /// [`BackendError::Raised`] where the backend failed, [`BackendError::Refused`] where it can't
    /// trace an operation, [`BackendError::Skipped`] and [`BackendError::Restart`] where it asks for
    /// that, [`BackendError::NotCallable`] where what it returned cannot be called;
    /// [`BackendError::Python`] for an interrupt.
    pub fn run(
        &self,
        backend: &Backend,
        gm: &Bound<'_, PyAny>,
        example_inputs: &Bound<'_, PyList>,
    ) -> Result<Compiled, BackendError> {
        let py = gm.py();
        let Some(callable) = backend.callable() else {
            return Ok(Compiled {
                callable: real_forward(gm)?.unbind(),
                gave: Gave::Nothing,
                shape_guards: Some(Vec::new()),
                aot_guards: None,
            });
        };
        let state = GlobalState::save(py)?;
        let contexts = match self.graph {
            Some((graph, _)) => left_behind::Before::save(py, graph)?,
            None => None,
        };
        let result = self.guarded(backend, callable.bind(py), gm, example_inputs);
        let cause = result.as_ref().err().and_then(BackendError::cause);
        let left = contexts.map_or(Ok(()), |before| before.restore(cause));
        let restored = state.restore(py).and(left);
        let compiled = result?;
        restored?;
        Ok(compiled)
    }

    fn guarded(
        &self,
        backend: &Backend,
        callable: &Bound<'_, PyAny>,
        gm: &Bound<'_, PyAny>,
        example_inputs: &Bound<'_, PyList>,
    ) -> Result<Compiled, BackendError> {
        let py = gm.py();
        let kwargs = backend.kwargs(py);
        // torch's control flow operators can't be traced again without one.
        let has_control_flow = self
            .graph
            .is_some_and(|(graph, _)| holds_control_flow(graph));
        let has_symbols = self.inputs.iter().any(AotInput::changes);
        let wants_context = backend.capabilities().wants_context || has_control_flow || has_symbols;
        let prepared = match wants_context {
            true => {
                // A number without a value is what a compiler looks for on its node.
                let can_wait =
                    !has_control_flow && self.graph.is_some_and(|(graph, _)| !reads_numbers(graph));
                AotContext::prepare(
                    gm,
                    example_inputs,
                    (self.inputs, &ModuleStacks::of(py, self.graph)),
                    self.compile_id,
                    can_wait,
                    None,
                )?
            }
            false => None,
        };
        let pristine = match self.graph {
            Some(_) => Pristine::of(gm)?,
            None => None,
        };
        let raised = |error, context: Option<&AotContext>| {
            // An interrupt that arrived while the backend ran is the program's, whatever the backend made of it.
            if let Err(interrupt) = interrupts::check(py) {
                return BackendError::Python(interrupt);
            }
            let stopped_at = context.map(|context| context.stopped_at(py));
            match stopped_at.transpose() {
                Ok(stopped_at) => {
                    let stopped_at = stopped_at.flatten();
                    let mut error = BackendError::raised(
                        backend.name(),
                        error,
                        gm,
                        stopped_at.as_deref(),
                        has_symbols,
                    );
                    if let (BackendError::Restart { floats, .. }, Some(context)) =
                        (&mut error, context)
                    {
                        *floats = context.constant_floats(py, self.inputs).unwrap_or_default();
                    }
                    error
                }
                Err(interrupt) => BackendError::Python(interrupt),
            }
        };
        let mut shape_guards = Some(Vec::new());
        let mut aot_guards = None;
        // Where it could not be made, a look would fail as well.
        let late = match wants_context {
            false => Some(LateContext::announce(
                gm,
                example_inputs,
                self.inputs,
                ModuleStacks::of(py, self.graph),
                self.compile_id,
            )?),
            true => None,
        };
        let arguments = match &prepared {
            Some(context) => (gm, context.example_inputs(py)),
            None => (gm, example_inputs.clone()),
        };
        let told = blind_spots::Told {
            is_named: backend.is_registered(),
            shares_memory: self.shares_memory,
        };
        let call = || {
            blind_spots::compiled_with(py, self.inputs, told, || {
                interrupts::live(py, || callable.call(arguments, kwargs))
            })
        };
        let result = match (&prepared, &late) {
            (Some(context), _) => context.enter(py, call),
            (None, Some(late)) => late.get().enter(py, self.compile_id, call),
            (None, None) => call(),
        };
        let context = prepared.or_else(|| late.and_then(|late| late.get().made()));
        let result = result.map_err(|error| raised(error, context.as_ref()))?;
        if let Some(context) = &context {
            shape_guards = context.shape_guards(py)?;
            aot_guards = context.aot_guards(py)?;
            if backend.is_registered() {
                context.let_go(py)?;
            }
        }
        if !result.is_callable() {
            return Err(BackendError::NotCallable {
                name: backend.name().to_owned(),
                returned: result.get_type().fully_qualified_name()?.to_string(),
            });
        }
        let untouched = match pristine {
            Some(pristine) => pristine.holds(gm)?,
            None => false,
        };
        let own = match untouched {
            true => self.own_forward(&result, gm)?,
            false => None,
        };
        let is_graph = own.is_some() || untouched && result.is(gm);
        // Without a context it was not told which sizes and numbers change, and says nothing of them.
        if context.is_none() && has_symbols && !is_graph {
            shape_guards = None;
        }
        // Whatever was asked meanwhile, the graph itself holds for all sizes.
        if is_graph {
            shape_guards = Some(Vec::new());
        }
        Ok(Compiled {
            gave: match is_graph {
                true => Gave::Graph,
                false => Gave::Other,
            },
            callable: match own {
                Some(function) => function,
                None => self
                    .leaving_levels(backend, without_lazy_hop(result)?)?
                    .unbind(),
            },
            shape_guards,
            aot_guards,
        })
    }
}

impl BackendCall<'_> {
    /// A function that computes what `result` does, where that is `forward` of the module, which is as it was given; or
    /// the module itself, where it matters which operation has raised: only such a function tells.
    fn own_forward(
        &self,
        result: &Bound<'_, PyAny>,
        gm: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let py = gm.py();
        let Some((graph, objects)) = self.graph else {
            return Ok(None);
        };
        let lazy = crate::fx::fx(py)?.lazy_forward.bind(py);
        let is = |name, value: &Bound<'_, PyAny>| -> PyResult<bool> {
            Ok(result.getattr_opt(name)?.is_some_and(|of| of.is(value)))
        };
        let is_forward = is(intern!(py, "__func__"), lazy)? && is(intern!(py, "__self__"), gm)?;
        let is_module = result.is(gm) && !all_repeatable(graph) && !has_hooks(gm)?;
        if !is_forward && !is_module {
            return Ok(None);
        }
        forward_function(py, graph, objects, &[], Numbers::now(py)?)
    }
}

/// Whether a graph can run again from its start wherever it has raised.
fn all_repeatable(graph: &Graph) -> bool {
    graph.iter().all(|(_, node)| {
        let computes = matches!(
            node.op,
            OpKind::CallFunction | OpKind::CallMethod | OpKind::CallModule
        );
        node.repeatable || !computes
    })
}

/// Whether a call of a module is more than one of its class's `forward`.
fn has_hooks(gm: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = gm.py();
    let own = gm.getattr(intern!(py, "__dict__"))?;
    if own.contains(intern!(py, "forward"))? {
        return Ok(true);
    }
    for hooks in [
        "_forward_hooks",
        "_forward_pre_hooks",
        "_backward_hooks",
        "_backward_pre_hooks",
    ] {
        if own.contains(hooks)? && own.get_item(hooks)?.is_truthy()? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether torch's own tracer is loaded. Who compiles by hand has it loaded; for others nothing is to be prepared.
///
/// # Errors
/// Where Python has no modules.
pub fn is_tracer_loaded(py: Python<'_>) -> PyResult<bool> {
    Ok(imported(py, names::SOURCE)?.is_some())
}

/// Whether a node runs graphs of the program's functions by an operator of torch's.
fn holds_control_flow(graph: &Graph) -> bool {
    graph.iter().any(|(_, node)| {
        let function = node.target.function();
        function.is_some_and(|f| names::CONTROL_FLOW.contains(&&*f.path))
    })
}

/// Whether a node gives a number of a tensor's data.
fn reads_numbers(graph: &Graph) -> bool {
    graph.iter().any(|(_, node)| {
        let name = node.target.name();
        node.op == OpKind::CallMethod && name.is_some_and(|name| &**name == names::READ_NUMBER)
    })
}

/// `gm.forward` with its code generated.
fn real_forward<'py>(gm: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = gm.py();
    if let Some(generate) = gm.getattr_opt(intern!(py, "real_recompile"))? {
        generate.call0()?;
    }
    gm.getattr(intern!(py, "forward"))
}

/// A bound `forward` of a lazy module goes through a hop on each call; this is the method behind it.
/// So it is for a lazy module that is itself the result: hooks that the program has registered for all modules are not
/// for its graphs.
fn without_lazy_hop(callable: Bound<'_, PyAny>) -> PyResult<Bound<'_, PyAny>> {
    let py = callable.py();
    if callable.is_instance(crate::fx::fx(py)?.lazy_module_class.bind(py))? {
        let forward = real_forward(&callable)?;
        return Ok(match has_hooks(&callable)? {
            true => callable,
            false => forward,
        });
    }
    let Some(owner) = callable.getattr_opt(intern!(py, "__self__"))? else {
        return Ok(callable);
    };
    let lazy = crate::fx::fx(py)?.lazy_module_class.bind(py);
    if !owner.is_instance(lazy)? {
        return Ok(callable);
    }
    match callable.getattr_opt(intern!(py, "__name__"))? {
        Some(name) if name.eq("_lazy_forward")? => real_forward(&owner),
        _ => Ok(callable),
    }
}

/// What a backend may leave changed.
struct GlobalState<'py> {
    python_random: Bound<'py, PyAny>,
    torch_random: Bound<'py, PyAny>,
    cuda_random: Option<Bound<'py, PyAny>>,
    grad_mode: bool,
    inference_mode: bool,
    deterministic: bool,
    deterministic_warn_only: bool,
    default_dtype: Bound<'py, PyAny>,
}

impl<'py> GlobalState<'py> {
    fn save(py: Python<'py>) -> PyResult<GlobalState<'py>> {
        let torch = py.import(intern!(py, "torch"))?;
        let flag = |name: &str| -> PyResult<bool> { torch.call_method0(name)?.is_truthy() };
        let cuda = torch.getattr("cuda")?;
        // Asking would start CUDA; where it was not started there is no state to keep.
        let cuda_random = match cuda.call_method0("is_initialized")?.is_truthy()? {
            true => Some(cuda.call_method0("get_rng_state_all")?),
            false => None,
        };
        let state = GlobalState {
            python_random: py.import("random")?.call_method0("getstate")?,
            torch_random: torch.call_method0("get_rng_state")?,
            cuda_random,
            grad_mode: flag("is_grad_enabled")?,
            inference_mode: flag("is_inference_mode_enabled")?,
            deterministic: flag("are_deterministic_algorithms_enabled")?,
            deterministic_warn_only: flag("is_deterministic_algorithms_warn_only_enabled")?,
            default_dtype: torch.call_method0("get_default_dtype")?,
        };
        session::enter(py)?;
        Ok(state)
    }

    /// Puts everything back, even where one part fails.
    fn restore(self, py: Python<'py>) -> PyResult<()> {
        let ended = session::leave(py);
        let torch = py.import(intern!(py, "torch"))?;
        let random = interrupts::to_the_end(py, || self.restore_random(&torch));
        let modes = interrupts::to_the_end(py, || self.restore_modes(&torch));
        let determinism = interrupts::to_the_end(py, || self.restore_determinism(&torch));
        let dtype = interrupts::to_the_end(py, || self.restore_dtype(&torch));
        ended.and(random).and(modes).and(determinism).and(dtype)
    }

    fn restore_random(&self, torch: &Bound<'py, PyAny>) -> PyResult<()> {
        let random = torch.py().import("random")?;
        random.call_method1("setstate", (&self.python_random,))?;
        torch.call_method1("set_rng_state", (&self.torch_random,))?;
        if let Some(states) = &self.cuda_random {
            torch
                .getattr("cuda")?
                .call_method1("set_rng_state_all", (states,))?;
        }
        Ok(())
    }

    fn restore_modes(&self, torch: &Bound<'py, PyAny>) -> PyResult<()> {
        let flag = |name: &str| -> PyResult<bool> { torch.call_method0(name)?.is_truthy() };
        if flag("is_grad_enabled")? != self.grad_mode {
            torch
                .getattr("_C")?
                .call_method1("_set_grad_enabled", (self.grad_mode,))?;
        }
        if flag("is_inference_mode_enabled")? != self.inference_mode {
            torch
                .getattr("autograd")?
                .getattr("grad_mode")?
                .call_method1("_enter_inference_mode", (self.inference_mode,))?;
        }
        Ok(())
    }

    fn restore_determinism(&self, torch: &Bound<'py, PyAny>) -> PyResult<()> {
        let flag = |name: &str| -> PyResult<bool> { torch.call_method0(name)?.is_truthy() };
        let deterministic = (
            flag("are_deterministic_algorithms_enabled")?,
            flag("is_deterministic_algorithms_warn_only_enabled")?,
        );
        if deterministic != (self.deterministic, self.deterministic_warn_only) {
            let kwargs = pyo3::types::PyDict::new(torch.py());
            kwargs.set_item("warn_only", self.deterministic_warn_only)?;
            torch.call_method(
                "use_deterministic_algorithms",
                (self.deterministic,),
                Some(&kwargs),
            )?;
        }
        Ok(())
    }

    fn restore_dtype(&self, torch: &Bound<'py, PyAny>) -> PyResult<()> {
        let now = torch.call_method0("get_default_dtype")?;
        if !now.is(&self.default_dtype) {
            torch.call_method1("set_default_dtype", (&self.default_dtype,))?;
        }
        Ok(())
    }
}
