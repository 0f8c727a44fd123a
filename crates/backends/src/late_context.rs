//! What torch's own tracer hands a backend, for one of which nothing is known: made when somebody looks at it.
//!
//! Most such backends give the graph back, and need nothing of it. So a graph module says that metadata is on its
//! nodes, and a tracing context is in force that says that it has fake values; the first look at either makes all of
//! it, as [`AotContext`] is made for a compiler. A look after the backend has returned finds it too, made of tensors like
//! the inputs.
//!
//! Invariants: nothing of `torch._dynamo` is imported for a backend that does not look; no input is held, strongly or
//! weakly, once it has returned.

use std::sync::{Mutex, OnceLock};

use fx_graph::AotInput;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyWeakrefMethods, PyWeakrefReference};

use crate::aot::{self, AotContext};
use crate::late_graph;
use crate::module_stacks::ModuleStacks;
use crate::names;
use crate::node_meta::{Late, NodeMeta};
use crate::own_class::OwnClass;
use crate::propagate::parts;

/// A tracing context that becomes torch's own once an attribute of it is read.
const TRACING: &std::ffi::CStr = c"
import torch._guards as guards
from torch._C import _functorch as functorch

class LateTracingContext(guards.TracingContext):
    def __init__(self, make):
        self.__dict__['make'] = make

    def __getattr__(self, name):
        make = self.__dict__.pop('make', None)
        if make is None:
            raise AttributeError(name)
        self.__class__ = guards.TracingContext
        guards.TracingContext.__init__(self, None)
        # Its tensors belong to no level that a graph has entered which is looked at while it runs.
        levels = []
        while functorch.peek_interpreter_stack() is not None:
            levels.append(functorch.pop_dynamic_layer_stack())
        try:
            make(self)
        finally:
            while levels:
                functorch.push_dynamic_layer_stack(levels.pop())
        return getattr(self, name)
";

static LATE_TRACING: OwnClass = OwnClass::new(TRACING, "LateTracingContext");

/// An input of the graph.
enum Example {
    /// itself: while the backend runs, or what is no tensor
    Value(Py<PyAny>),
    /// size, strides, dtype, whether it requires gradients, whether it is a parameter: a tensor is not kept alive, and
    /// not referred to weakly, where torch would exchange it no more (`torch.utils.swap_tensors`)
    Like(Py<PyTuple>),
}

impl Example {
    /// What is kept of an input when the backend has returned. `None` where nothing is that would be enough.
    fn kept<'py>(
        value: &Bound<'py, PyAny>,
        classes: &[Bound<'py, PyAny>; 2],
    ) -> PyResult<Option<Example>> {
        let py = value.py();
        let [tensor, parameter] = classes;
        if !value.is_instance(tensor)? {
            return Ok(Some(Example::Value(value.clone().unbind())));
        }
        let class = value.get_type();
        let is_parameter = class.is(parameter);
        // Memory that nobody writes to costs nothing on a CPU.
        let is_plain = is_parameter || class.is(tensor);
        if !is_plain || !value.getattr(intern!(py, "is_cpu"))?.is_truthy()? {
            return Ok(None);
        }
        let like = (
            value.call_method0(intern!(py, "size"))?,
            value.call_method0(intern!(py, "stride"))?,
            value.getattr(intern!(py, "dtype"))?,
            value.getattr(intern!(py, "requires_grad"))?,
            is_parameter,
        );
        Ok(Some(Example::Like(like.into_pyobject(py)?.unbind())))
    }

    fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let like = match self {
            Example::Value(value) => return Ok(value.bind(py).clone()),
            Example::Like(like) => like.bind(py),
        };
        let torch = py.import("torch")?;
        let dtype = PyDict::new(py);
        dtype.set_item("dtype", like.get_item(2)?)?;
        let sizes = (like.get_item(0)?, like.get_item(1)?);
        let made = torch.call_method("empty_strided", sizes, Some(&dtype))?;
        let requires_grad = like.get_item(3)?;
        match like.get_item(4)?.is_truthy()? {
            true => torch
                .getattr("nn")?
                .call_method1("Parameter", (made, requires_grad)),
            false => made.call_method1("requires_grad_", (requires_grad,)),
        }
    }
}

/// What making it takes.
struct Parts {
    gm: Py<PyWeakrefReference>,
    examples: Vec<Example>,
    inputs: Vec<AotInput>,
    modules: ModuleStacks,
    compile_id: (u32, u32),
    backend_runs: bool,
}

/// The context of one call of a backend.
#[pyclass(frozen, module = "ferrodyn._core")]
pub(crate) struct LateContext {
    parts: Mutex<Option<Parts>>,
    made: Mutex<Option<AotContext>>,
    /// what is in force while the backend runs
    tracing: OnceLock<Py<PyAny>>,
}

impl LateContext {
    /// Announces on a graph module, which nobody has seen yet, what a look at it would make.
    ///
    /// # Errors
    /// Where the class of the module takes no attributes.
    pub(crate) fn announce<'py>(
        gm: &Bound<'py, PyAny>,
        example_inputs: &Bound<'py, PyList>,
        inputs: &[AotInput],
        modules: ModuleStacks,
        compile_id: (u32, u32),
    ) -> PyResult<Bound<'py, LateContext>> {
        let py = gm.py();
        let parts = Parts {
            gm: PyWeakrefReference::new(gm)?.unbind(),
            examples: (example_inputs.iter())
                .map(|value| Example::Value(value.unbind()))
                .collect(),
            inputs: inputs.to_vec(),
            modules,
            compile_id,
            backend_runs: true,
        };
        let late = LateContext {
            parts: Mutex::new(Some(parts)),
            made: Mutex::new(None),
            tracing: OnceLock::new(),
        };
        let late = Bound::new(py, late)?;
        let tracing = LATE_TRACING.get(py)?.call1((&late,))?.unbind();
        late.get().tracing.get_or_init(|| tracing);
        mark_parts(gm, &late)?;
        for name in Announced::NAMES {
            let context = late.clone().unbind();
            let announced = Bound::new(py, Announced { context, name })?;
            gm.get_type().setattr(name, announced)?;
        }
        Ok(late)
    }

    /// Runs `body` with the contexts of torch's tracer in force.
    ///
    /// # Errors
    /// What `body` gives.
    pub(crate) fn enter<R>(
        &self,
        py: Python<'_>,
        compile_id: (u32, u32),
        body: impl FnOnce() -> PyResult<R>,
    ) -> PyResult<R> {
        let guards = py.import(intern!(py, names::GUARDS))?;
        let in_force = guards.getattr(intern!(py, names::IN_FORCE))?;
        let field = |name: &str| -> PyResult<Bound<'_, PyAny>> {
            let value = in_force.getattr_opt(name)?;
            Ok(value.unwrap_or_else(|| py.None().into_bound(py)))
        };
        let before = (field(names::TRACING)?, field(names::COMPILING)?);
        let id = aot::compile_id(&guards, compile_id)?;
        let compile = guards.call_method1(intern!(py, names::COMPILE_CONTEXT), (id,))?;
        let entered = in_force
            .setattr(names::COMPILING, compile)
            .and_then(|()| in_force.setattr(names::TRACING, self.tracing.get()));
        let result = entered.and_then(|()| body());
        let let_go = interrupts::to_the_end(py, || self.let_go(py));
        interrupts::to_the_end(py, || {
            in_force.setattr(names::TRACING, &before.0)?;
            in_force.setattr(names::COMPILING, &before.1)
        })?;
        let_go?;
        result
    }

    /// Keeps no input alive from here on.
    fn let_go(&self, py: Python<'_>) -> PyResult<()> {
        let parts = self.parts.lock().ok().and_then(|mut parts| parts.take());
        let Some(mut parts) = parts else {
            return Ok(());
        };
        let torch = py.import(intern!(py, "torch"))?;
        let classes = [
            torch.getattr("Tensor")?,
            torch.getattr("nn")?.getattr("Parameter")?,
        ];
        let mut kept = Vec::with_capacity(parts.examples.len());
        for example in &parts.examples {
            match Example::kept(&example.get(py)?, &classes)? {
                Some(example) => kept.push(example),
                None => return Ok(()),
            }
        }
        (parts.examples, parts.backend_runs) = (kept, false);
        if let Ok(mut open) = self.parts.lock() {
            *open = Some(parts);
        }
        Ok(())
    }

    /// What was made, where somebody looked while the backend ran.
    pub(crate) fn made(&self) -> Option<AotContext> {
        self.made.lock().ok().and_then(|mut made| made.take())
    }

    /// Whether it may still be made.
    pub(crate) fn is_open(&self) -> bool {
        self.parts.lock().is_ok_and(|parts| parts.is_some())
    }

    /// Makes it, unless it was made: nodes then have what torch's tracer keeps of them.
    ///
    /// # Errors
    /// Interrupts only.
    pub(crate) fn fill(&self, py: Python<'_>) -> PyResult<()> {
        match self.tracing.get() {
            Some(tracing) if self.is_open() => tracing
                .bind(py)
                .getattr(intern!(py, names::GUARDS_CONTEXT))
                .map(drop),
            _ => Ok(()),
        }
    }
}

#[pymethods]
impl LateContext {
    /// Makes it, with `tracing` as its tracing context. Nothing is made where the module is gone.
    fn __call__(&self, py: Python<'_>, tracing: &Bound<'_, PyAny>) -> PyResult<()> {
        let parts = self.parts.lock().ok().and_then(|mut parts| parts.take());
        let Some(parts) = parts else { return Ok(()) };
        let Some(gm) = parts.gm.bind(py).upgrade() else {
            return Ok(());
        };
        // Whoever looks may have modes in force that are not those of the graph.
        let modes = py.import(names::PYTHON_MODES)?;
        let stack = py.import("contextlib")?.call_method0("ExitStack")?;
        stack.call_method1(
            "enter_context",
            (modes.call_method0(names::WITHOUT_MODES)?,),
        )?;
        let prepare = |examples: Vec<_>| {
            AotContext::prepare(
                &gm,
                &PyList::new(py, examples)?,
                (&parts.inputs, &parts.modules),
                parts.compile_id,
                false,
                Some(tracing),
            )
        };
        let examples = parts.examples.iter().map(|one| one.get(py));
        let made = examples.collect::<PyResult<Vec<_>>>().and_then(prepare);
        interrupts::to_the_end(py, || stack.call_method0("close"))?;
        let made = made?.filter(|_| parts.backend_runs);
        if let Ok(mut kept) = self.made.lock() {
            *kept = made;
        }
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if let Some(tracing) = self.tracing.get() {
            visit.call(tracing)?;
        }
        if let Ok(parts) = self.parts.try_lock()
            && let Some(parts) = parts.as_ref()
        {
            parts.modules.traverse(&visit)?;
        }
        Ok(())
    }
}

/// Writes to the nodes of a module that there is more.
fn mark(module: &Bound<'_, PyAny>, late: &Bound<'_, LateContext>) -> PyResult<()> {
    for node in module.getattr("graph")?.getattr("nodes")?.try_iter()? {
        NodeMeta::install(&node?, Late::Context(late.clone().unbind()))?;
    }
    Ok(())
}

/// The same for the graphs that nodes of a module are given: those are reached without a look at its own.
fn mark_parts(module: &Bound<'_, PyAny>, late: &Bound<'_, LateContext>) -> PyResult<()> {
    if module.getattr("_modules")?.is_empty()? {
        return Ok(());
    }
    for (part, _) in parts(module)? {
        mark(&part, late)?;
        mark_parts(&part, late)?;
    }
    Ok(())
}

/// An attribute of a graph module through which its nodes are reached: the first read writes to them that there is
/// more, and takes this out of the module's class.
#[pyclass(frozen, module = "ferrodyn._core")]
struct Announced {
    context: Py<LateContext>,
    name: &'static str,
}

impl Announced {
    /// The graph; and a copy of the module copies the graph without reading the attribute.
    const NAMES: [&'static str; 2] = ["graph", "__deepcopy__"];

    /// Takes itself out of the module's class, where it is there.
    fn retire(module: &Bound<'_, PyAny>) -> PyResult<()> {
        let class = module.get_type();
        let own = class.getattr("__dict__")?;
        for name in Announced::NAMES {
            if own.contains(name)? && own.get_item(name)?.is_instance_of::<Announced>() {
                class.delattr(name)?;
            }
        }
        Ok(())
    }
}

#[pymethods]
impl Announced {
    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        module: Option<&Bound<'py, PyAny>>,
        _class: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let Some(module) = module.filter(|module| !module.is_none()) else {
            return Ok(slf.clone().into_any());
        };
        let slf = slf.get();
        Announced::retire(module)?;
        late_graph::fill(&module.getattr(intern!(py, names::GRAPH_FIELD))?)?;
        if slf.context.get().is_open() {
            mark(module, slf.context.bind(py))?;
        }
        module.getattr(slf.name)
    }

    /// The program's own graph has what the program wrote to it.
    fn __set__(&self, module: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        Announced::retire(module)?;
        module.setattr(self.name, value)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.context)
    }
}
