//! The run of a graph on fake tensors, for the values of its nodes.
//!
//! torch's tracer propagates shapes by it, so its backends find the values on the nodes. Here metadata rules propagate
//! shapes, and a compiler makes fake values of its own: the run is made when somebody asks for a value.

use std::sync::Mutex;

use pyo3::exceptions::PyException;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyList, PyTuple};
use torch_abi::TorchAbi;
use torch_abi::contexts::leaving_level;
use torch_abi::names::{CONTEXTS, ContextKind};

use crate::aot::Torch;
use crate::names;
use crate::symbolic_context::CONSTANT;

/// What a run takes.
pub(crate) struct Propagation {
    pub(crate) gm: Py<PyAny>,
    /// the mode that made the fakes
    pub(crate) mode: Py<PyAny>,
    pub(crate) tracing: Py<PyAny>,
    /// values of the placeholders
    pub(crate) inputs: Py<PyList>,
    pub(crate) grad_mode: bool,
}

/// A run that is made once, when it is needed.
#[pyclass(frozen, module = "ferrodyn._core")]
pub(crate) struct LateValues {
    open: Mutex<Option<Propagation>>,
    /// name of the node at which the run stopped, if it did
    stopped_at: Mutex<Option<String>>,
}

impl LateValues {
    pub(crate) fn new(run: Propagation) -> LateValues {
        LateValues {
            open: Mutex::new(Some(run)),
            stopped_at: Mutex::default(),
        }
    }

    /// Whether the run is still to be made.
    pub(crate) fn is_open(&self) -> bool {
        self.open.lock().is_ok_and(|open| open.is_some())
    }

    /// Makes the run, unless it was made: each node that has a value then has it in its `meta`.
    ///
    /// # Errors
    /// Interrupts only.
    pub(crate) fn fill(&self, py: Python<'_>) -> PyResult<()> {
        let run = self.open.lock().ok().and_then(|mut open| open.take());
        let Some(run) = run else { return Ok(()) };
        let stopped_at = run.make(py)?;
        if let Ok(mut known) = self.stopped_at.lock() {
            *known = stopped_at;
        }
        Ok(())
    }

    /// Name of the node at which the run stops, if it does.
    ///
    /// # Errors
    /// As [`LateValues::fill`].
    pub(crate) fn stopped_at(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.fill(py)?;
        Ok(self.stopped_at.lock().ok().and_then(|name| name.clone()))
    }
}

#[pymethods]
impl LateValues {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Ok(open) = self.open.try_lock()
            && let Some(run) = &*open
        {
            visit.call(&run.gm)?;
            visit.call(&run.mode)?;
            visit.call(&run.tracing)?;
            visit.call(&run.inputs)?;
        }
        Ok(())
    }

    fn __clear__(&self) {
        let run = self.open.try_lock().ok().and_then(|mut open| open.take());
        drop(run);
    }
}

impl Propagation {
    /// Runs the graph on fake values, and keeps the value of each node. Stops at a node whose value cannot be known
    /// (it depends on data), and gives its name.
    ///
    /// Whoever asks for it: within a backend other modes may be active than around it.
    ///
    /// # Errors
    /// Interrupts only.
    fn make(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let torch = Torch::new(py)?;
        let mut running = None;
        let stack = py.import("contextlib")?.call_method0("ExitStack")?;
        let tracing = self.tracing.bind(py);
        let used_by_backend = tracing.getattr("fake_mode")?;
        tracing.setattr("fake_mode", &self.mode)?;
        let entered = self.enter_all(py, &stack);
        let result = entered.map(|()| {
            let _unseen = TorchAbi::saved_tensors_unseen(py)?;
            self.run_all(py, &torch, &mut running)
        });
        let left = match (&result, &running) {
            (Ok(Err(_)), Some(stopped_at)) => leave_entered(self.gm.bind(py), stopped_at),
            _ => Ok(()),
        };
        let restored = tracing.setattr("fake_mode", used_by_backend);
        interrupts::to_the_end(py, || stack.call_method0("close"))?;
        restored?;
        left?;
        match result? {
            Err(error) if !error.is_instance_of::<PyException>(py) => Err(error),
            Err(_) => running
                .map(|node| node.getattr("name")?.extract())
                .transpose(),
            Ok(()) => Ok(None),
        }
    }

    /// Enters what the run needs; the outermost comes first.
    fn enter_all(&self, py: Python<'_>, stack: &Bound<'_, PyAny>) -> PyResult<()> {
        let package = py.import("torch")?;
        // Each is entered as soon as it is made: making one may change something already.
        let enter = |manager: Bound<'_, PyAny>| -> PyResult<()> {
            stack.call_method1("enter_context", (manager,))?;
            Ok(())
        };
        let modes = py.import(names::PYTHON_MODES)?;
        enter(modes.call_method0(names::WITHOUT_MODES)?)?;
        let c = package.getattr("_C")?;
        enter(c.call_method0(torch_abi::names::NO_CLASS_IS_ASKED)?)?;
        // A node of the graph may switch grad mode; whoever asks goes on in theirs.
        enter(package.call_method1("set_grad_enabled", (self.grad_mode,))?)?;
        let guards = py.import(names::GUARDS)?;
        enter(guards.call_method1("tracing", (&self.tracing,))?)?;
        enter(self.mode.bind(py).clone())?;
        // Kernels of C take sizes for constants where torch has a kernel of Python that does not.
        let dispatch = py.import(names::PYTHON_DISPATCH)?;
        enter(dispatch.call_method0("enable_python_dispatcher")?)?;
        Ok(())
    }

    fn run_all<'py>(
        &self,
        py: Python<'py>,
        torch: &Torch<'py>,
        running: &mut Option<Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let run = Run {
            torch,
            mode: self.mode.bind(py).clone(),
            map_arg: py.import(names::FX_NODE)?.getattr("map_arg")?,
            module_class: py.import("torch.fx")?.getattr("GraphModule")?,
        };
        run.graph(self.gm.bind(py), self.inputs.bind(py).as_any(), running)
    }
}

/// A run, of a graph and of those in it.
struct Run<'a, 'py> {
    torch: &'a Torch<'py>,
    mode: Bound<'py, PyAny>,
    map_arg: Bound<'py, PyAny>,
    module_class: Bound<'py, PyAny>,
}

impl<'py> Run<'_, 'py> {
    fn graph(
        &self,
        gm: &Bound<'py, PyAny>,
        inputs: &Bound<'py, PyAny>,
        running: &mut Option<Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let py = gm.py();
        let torch = self.torch;
        let shape_env = self.mode.getattr("shape_env")?;
        let env = PyDict::new(py);
        let lookup = env.getattr("__getitem__")?;
        let mut input = 0;
        let mut parts = Vec::new();
        for node in gm.getattr("graph")?.getattr("nodes")?.try_iter()? {
            let node = node?;
            *running = Some(node.clone());
            let op: String = node.getattr(intern!(py, "op"))?.extract()?;
            let target = node.getattr(intern!(py, "target"))?;
            let value = match &*op {
                "output" => break,
                "placeholder" => {
                    input += 1;
                    inputs.get_item(input - 1)?
                }
                "get_attr" => {
                    let value = attribute(gm, &target)?;
                    if value.is_instance(&torch.tensor)? {
                        let source = torch.local(&format!("self.{target}"))?;
                        let context = torch.symbolic_context(&value, &source, CONSTANT)?;
                        torch.fake_of(&self.mode, &value, &source, &context)?
                    } else {
                        if value.is_instance(&self.module_class)? {
                            parts.push(value.clone());
                        }
                        value
                    }
                }
                _ => {
                    let args = self
                        .map_arg
                        .call1((node.getattr(intern!(py, "args"))?, &lookup))?
                        .cast_into::<PyTuple>()?;
                    let kwargs =
                        (self.map_arg).call1((node.getattr(intern!(py, "kwargs"))?, &lookup))?;
                    let kwargs = kwargs.cast::<PyDict>()?;
                    match &*op {
                        "call_method" => args
                            .get_item(0)?
                            .getattr(target.extract::<String>()?)?
                            .call(args.get_slice(1, args.len()), Some(kwargs))?,
                        "call_function" => self.with_parts(std::mem::take(&mut parts), || {
                            target.call(args, Some(kwargs))
                        })?,
                        _ => break,
                    }
                }
            };
            let unbacked = torch.bind_unbacked(&shape_env, &value)?;
            env.set_item(&node, &value)?;
            let meta = node.getattr("meta")?.cast_into::<PyDict>()?;
            // A compiler may have written its own by now.
            if !meta.contains(names::EXAMPLE_VALUE)? {
                meta.set_item(names::EXAMPLE_VALUE, value)?;
            }
            if unbacked.is_truthy()? {
                meta.set_item(names::UNBACKED_BINDINGS, unbacked)?;
            }
        }
        Ok(())
    }

    /// Runs a node that is given graphs, and then each of these with what the node first called it with.
    fn with_parts(
        &self,
        parts: Vec<Bound<'py, PyAny>>,
        call: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(py) = parts.first().map(Bound::py) else {
            return call();
        };
        let given = PyDict::new(py);
        let mut hooks = Vec::new();
        for part in &parts {
            let given = given.clone().unbind();
            let note = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
                let py = args.py();
                given
                    .bind(py)
                    .call_method1("setdefault", (args.get_item(0)?, args.get_item(1)?))
                    .map(|_| py.None())
            };
            let note = PyCFunction::new_closure(py, None, None, note)?;
            hooks.push(part.call_method1("register_forward_pre_hook", (note,))?);
        }
        let made = call();
        for hook in hooks {
            hook.call_method0("remove")?;
        }
        let made = made?;
        let fake = py.import(names::FAKE_TENSOR)?.getattr("FakeTensor")?;
        for part in parts {
            let Some(args) = given.get_item(&part)? else {
                continue;
            };
            // What a transform runs it with is gone behind it.
            let is_lasting = |v: &Bound<'py, PyAny>| -> PyResult<bool> {
                Ok(!v.is_instance(&self.torch.tensor)? || v.get_type().is(&fake))
            };
            let mut lasting = true;
            for v in args.try_iter()? {
                lasting &= is_lasting(&v?)?;
            }
            if lasting
                && let Err(error) = self.graph(&part, &args, &mut None)
                && !error.is_instance_of::<PyException>(py)
            {
                return Err(error);
            }
        }
        Ok(made)
    }
}

/// Leaves the contexts that a graph had entered when its run stopped at a node.
fn leave_entered(gm: &Bound<'_, PyAny>, stopped_at: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = gm.py();
    let function = |path: &str| -> PyResult<Bound<'_, PyAny>> {
        let (module, name) = path.rsplit_once('.').unwrap_or(("torch", path));
        py.import(module)?.getattr(name)
    };
    let mut known = Vec::new();
    for (kind, enter, leave) in CONTEXTS {
        known.push((kind, function(enter)?, function(leave)?));
    }
    let mut entered: Vec<(usize, Bound<'_, PyAny>)> = Vec::new();
    for node in gm.getattr("graph")?.getattr("nodes")?.try_iter()? {
        let node = node?;
        if node.is(stopped_at) {
            break;
        }
        let target = node.getattr(intern!(py, "target"))?;
        if let Some(context) = known.iter().position(|(_, enter, _)| target.is(enter)) {
            entered.push((context, node));
        } else if let Some(context) = known.iter().position(|(.., leave)| target.is(leave))
            && let Some(last) = entered.iter().rposition(|(of, _)| *of == context)
        {
            entered.remove(last);
        }
    }
    for (context, node) in entered.into_iter().rev() {
        let (kind, _, leave) = &known[context];
        match kind {
            ContextKind::Mode => {
                let mode = node.getattr("meta")?.get_item(names::EXAMPLE_VALUE)?;
                leave.call1((mode,))?
            }
            ContextKind::DualLevel => leaving_level(leave, 0)?.call0()?,
            ContextKind::Level | ContextKind::RefusesHooks => leave.call0()?,
        };
    }
    Ok(())
}

/// What a `get_attr` node reads.
fn attribute<'py>(
    gm: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut value = gm.clone();
    for part in target.extract::<String>()?.split('.') {
        value = value.getattr(part)?;
    }
    Ok(value)
}

/// The graphs that nodes of a graph module are given, each with the node that is given it first.
///
/// # Errors
/// What torch raises.
pub(crate) fn parts<'py>(
    gm: &Bound<'py, PyAny>,
) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let py = gm.py();
    let class = py.import("torch.fx")?.getattr("GraphModule")?;
    let mut parts: Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)> = Vec::new();
    for node in gm.getattr("graph")?.getattr("nodes")?.try_iter()? {
        let node = node?;
        if !node.getattr(intern!(py, "op"))?.eq("get_attr")? {
            continue;
        }
        let value = attribute(gm, &node.getattr(intern!(py, "target"))?)?;
        if !value.is_instance(&class)? || parts.iter().any(|p| p.0.is(&value)) {
            continue;
        }
        if let Some(user) = node.getattr(intern!(py, "users"))?.try_iter()?.next() {
            parts.push((value, user?));
        }
    }
    Ok(parts)
}
