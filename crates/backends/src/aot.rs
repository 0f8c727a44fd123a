//! What torch's own tracer hands a backend that traces the graph once more (AOTAutograd): a shape
//! environment, fake values on nodes, sources of the inputs, tracing and compile contexts.
//!
//! Such a backend works without; with all of it, its caches are used and its guards come back.
//! Imports much of torch, `torch._dynamo` included; never used for other backends.

use fx_graph::{AotInput, ShapeGuard, ShapeLeaf};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyModule};
use rustc_hash::FxHashMap;

use crate::log::{self, log};
use crate::module_stacks::ModuleStacks;
use crate::names;
use crate::node_meta::mark_nodes;
use crate::propagate::{LateValues, Propagation};
use crate::refused;
use crate::shape_guards;
use crate::symbolic_context::{CONSTANT, DynamicDims, Held};
use crate::weakly_held::WeaklyHeld;

/// The contexts in which an AOT backend is called, and what came of them.
pub struct AotContext {
    shape_env: Py<PyAny>,
    tracing: Py<PyAny>,
    compile: Py<PyAny>,
    example_inputs: Py<PyList>,
    fakes: Py<PyList>,
    sources: Py<PyList>,
    contexts: Py<PyList>,
    /// what each input is called in guards
    names: Vec<Option<String>>,
    is_dynamic: bool,
    /// numbers of layouts that were handed out as symbols, and what they are to guards
    symbols: Vec<(ShapeLeaf, Py<PyAny>)>,
    /// keeps the backend's fakes of scalars alive, which its mode finds by their tensors
    _scalars: Py<PyList>,
    /// fake values of the nodes
    values: Py<LateValues>,
    weakly_held: WeaklyHeld,
}

/// The classes that preparing needs.
pub(crate) struct Torch<'py> {
    pub(crate) shapes: Bound<'py, PyAny>,
    pub(crate) source: Bound<'py, PyAny>,
    pub(crate) tensor: Bound<'py, PyAny>,
    /// what torch's tracer keeps of an input
    argument: Bound<'py, PyAny>,
}

impl AotContext {
    /// Prepares a graph module: fake values and sources on its nodes, and the contexts to call the
    /// backend in. `None` where torch cannot make fake values of an input (some subclasses); the
    /// module is then as it was, and the backend is called without.
    ///
    /// Fake values of nodes other than inputs are made when somebody looks at one, if they `can_wait`. An empty
    /// `tracing` context becomes that of the call; otherwise one is made.
    ///
    /// # Errors
    /// Interrupts only.
    pub(crate) fn prepare(
        gm: &Bound<'_, PyAny>,
        example_inputs: &Bound<'_, PyList>,
        (inputs, modules): (&[AotInput], &ModuleStacks),
        compile_id: (u32, u32),
        can_wait: bool,
        tracing: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<AotContext>> {
        let py = gm.py();
        // Fakes are made by functions of torch's, which would ask a tensor's own class: code of the program.
        let unasked = py.import("torch")?.getattr("_C")?;
        let unasked = unasked.call_method0(torch_abi::names::NO_CLASS_IS_ASKED)?;
        unasked.call_method0("__enter__")?;
        let told = (inputs, modules);
        let prepared = prepare(gm, example_inputs, told, compile_id, can_wait, tracing);
        unasked.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
        match prepared {
            Ok(context) => Ok(Some(context)),
            Err(error) if error.is_instance_of::<PyException>(py) => {
                let why = error.value(py);
                log(py, log::BACKENDS, "debug", "no tracing context: %s", why)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The inputs to hand to the backend: symbolic sizes in place of ints.
    pub(crate) fn example_inputs<'py>(&self, py: Python<'py>) -> Bound<'py, PyList> {
        self.example_inputs.bind(py).clone()
    }

    /// Name of the node at which a run on fake tensors stops, if it does.
    ///
    /// # Errors
    /// Interrupts only.
    pub(crate) fn stopped_at(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.values.get().stopped_at(py)
    }

    /// Which inputs are floats that the backend asks to be constants.
    ///
    /// # Errors
    /// Whatever torch raises.
    pub(crate) fn constant_floats(
        &self,
        py: Python<'_>,
        inputs: &[AotInput],
    ) -> PyResult<Vec<usize>> {
        let Some(asked) = refused::constant_floats(py)? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for (at, fake) in self.fakes.bind(py).iter().enumerate() {
            if !inputs.get(at).is_some_and(AotInput::is_float) {
                continue;
            }
            let number = fake.getattr(names::NUMBER_READ)?;
            // The symbol, not what it was replaced by.
            let symbol = number.getattr("node")?.getattr("_expr")?.str()?;
            if asked.contains(symbol)? {
                found.push(at);
            }
        }
        Ok(found)
    }

    /// Runs `body` inside the contexts.
    pub(crate) fn enter<R>(
        &self,
        py: Python<'_>,
        body: impl FnOnce() -> PyResult<R>,
    ) -> PyResult<R> {
        let guards = py.import(names::GUARDS)?;
        let stack = py.import("contextlib")?.call_method0("ExitStack")?;
        let enter = |name: &str, context: &Py<PyAny>| -> PyResult<()> {
            let manager = guards.call_method1(name, (context,))?;
            stack.call_method1("enter_context", (manager,))?;
            Ok(())
        };
        let result = enter("compile_context", &self.compile)
            .and_then(|()| enter("tracing", &self.tracing))
            .and_then(|()| body());
        let closed = interrupts::to_the_end(py, || stack.call_method0("close"));
        let result = result?;
        closed?;
        Ok(result)
    }

    /// What the backend relies on about sizes and ints. `None` where it relies on what no input says, or where torch
    /// can't say it: of inputs whose number of dimensions the graph changes.
    pub(crate) fn shape_guards(&self, py: Python<'_>) -> PyResult<Option<Vec<ShapeGuard>>> {
        if !self.is_dynamic {
            return Ok(Some(Vec::new()));
        }
        let shape_env = self.shape_env.bind(py);
        let kwargs = PyDict::new(py);
        kwargs.set_item("input_contexts", &self.contexts)?;
        kwargs.set_item("langs", ("python",))?;
        let produced = shape_env.call_method(
            "produce_guards_verbose",
            (&self.fakes, &self.sources),
            Some(&kwargs),
        );
        let guards: Vec<String> = match produced {
            Err(error) if error.is_instance_of::<PyException>(py) => return Ok(None),
            produced => produced?,
        }
        .get_item(0)?
        .getattr("exprs")?
        .extract()?;
        shape_env.call_method0("freeze")?;
        let mut guards = shape_guards::read(py, &guards, &self.names)?;
        // torch's own tracer checks sizes of tensors that have become constants with the tensors.
        if let Some(guards) = &mut guards {
            for (leaf, number) in &self.symbols {
                let node = number.bind(py).getattr_opt("node")?;
                let value = node.map(|node| node.call_method0("maybe_as_int"));
                if value.transpose()?.is_none_or(|value| !value.is_none()) {
                    guards.push(ShapeGuard::Unchanged(leaf.clone()));
                }
            }
        }
        Ok(guards)
    }

    /// Refers to no input from here on, also not weakly.
    ///
    /// # Errors
    /// Interrupts, and what torch's structures raise.
    pub(crate) fn let_go(&self, py: Python<'_>) -> PyResult<()> {
        self.weakly_held.let_go(py)
    }

    /// The guards that AOTAutograd asked for.
    pub(crate) fn aot_guards(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let guards = self
            .tracing
            .bind(py)
            .getattr(names::GUARDS_CONTEXT)?
            .getattr("aotautograd_guards")?;
        Ok((guards.len()? > 0).then(|| guards.unbind()))
    }
}

/// What the inputs of a graph become, each at its place.
struct Prepared<'py> {
    /// fake values: `None` for what torch's tracer has none of
    fakes: Vec<Option<Bound<'py, PyAny>>>,
    sources: Vec<Option<Bound<'py, PyAny>>>,
    /// symbolic contexts of tensors, `None` otherwise
    contexts: Vec<Bound<'py, PyAny>>,
    /// what the backend is handed
    handed: Bound<'py, PyList>,
    is_dynamic: bool,
    /// see [`AotContext::symbols`]
    symbols: Vec<(ShapeLeaf, Py<PyAny>)>,
    /// names that sources have taken
    taken: FxHashMap<String, usize>,
}

/// Where fakes are made: in the mode of the run on fakes, and of scalars in the backend's as well.
struct Modes<'py> {
    run: Bound<'py, PyAny>,
    backend: Bound<'py, PyAny>,
    /// torch's own record of symbolic contexts, by tensor
    tensor_contexts: Bound<'py, PyAny>,
    /// see [`AotContext::_scalars`]
    scalars: Bound<'py, PyList>,
}

impl<'py> Prepared<'py> {
    /// Tensors come first: sizes are read off their fakes.
    fn tensors(
        torch: &Torch<'py>,
        modes: &Modes<'py>,
        example_inputs: &Bound<'py, PyList>,
        inputs: &[AotInput],
    ) -> PyResult<Prepared<'py>> {
        let py = example_inputs.py();
        let count = example_inputs.len();
        let mut of = Prepared {
            fakes: vec![None; count],
            sources: vec![None; count],
            contexts: Vec::with_capacity(count),
            handed: PyList::empty(py),
            is_dynamic: false,
            symbols: Vec::new(),
            taken: FxHashMap::default(),
        };
        for (at, example) in example_inputs.iter().enumerate() {
            let mut context = py.None().into_bound(py);
            match inputs.get(at) {
                Some(AotInput::Tensor {
                    source,
                    dynamic_dims,
                    unbacked_dims,
                    dynamic_held,
                    ..
                }) if example.is_instance(&torch.tensor)? => {
                    let source = torch.unique_local(source, &mut of.taken)?;
                    of.is_dynamic |= inputs[at].changes();
                    let strides: Vec<usize> = strides_given(inputs, at).collect();
                    let dims = DynamicDims {
                        strides: &strides,
                        dims: dynamic_dims,
                        unbacked: unbacked_dims,
                        held: dynamic_held,
                    };
                    context = torch.symbolic_context(&example, &source, dims)?;
                    let fake = match torch.is_scalar(&example)? {
                        true => {
                            let for_backend = from_scalar(&modes.backend, &example)?;
                            modes.scalars.append(for_backend)?;
                            from_scalar(&modes.run, &example)?
                        }
                        false => torch.fake_of(&modes.run, &example, &source, &context)?,
                    };
                    of.add_symbols(at, &fake, dynamic_dims, dynamic_held)?;
                    of.fakes[at] = Some(fake);
                    modes.tensor_contexts.set_item(&example, &context)?;
                    of.sources[at] = Some(source);
                }
                Some(AotInput::Float { source }) => {
                    let base = torch.unique_local(source, &mut of.taken)?;
                    let source = torch.source.call_method1("FloatTensorSource", (base,))?;
                    context = torch.symbolic_context(&example, &source, CONSTANT)?;
                    let fake = torch.fake_of(&modes.run, &example, &source, &context)?;
                    of.fakes[at] = Some(fake);
                    modes.tensor_contexts.set_item(&example, &context)?;
                    of.sources[at] = Some(source);
                    of.is_dynamic = true;
                }
                Some(AotInput::Tensor { source, .. } | AotInput::Other { source }) => {
                    of.sources[at] = Some(torch.unique_local(source, &mut of.taken)?);
                }
                _ => {}
            }
            of.contexts.push(context);
        }
        Ok(of)
    }

    /// Notes which sizes of an input's fake, and of those that it holds, are symbols.
    fn add_symbols(
        &mut self,
        at: usize,
        fake: &Bound<'py, PyAny>,
        dims: &[usize],
        held: &[Held],
    ) -> PyResult<()> {
        for dim in dims.iter().map(|dim| *dim as u8) {
            let size = fake.call_method1("size", (dim,))?;
            self.symbols.push((ShapeLeaf::Size(at, dim), size.unbind()));
        }
        for (path, dims) in held {
            let mut inner = fake.clone();
            for name in path {
                inner = inner.getattr(&**name)?;
            }
            // A fake that is made as a view has none of what its class keeps of a tensor's numbers.
            let dims = dims.iter().filter(|_| !inner.is_none());
            for dim in dims.map(|dim| *dim as u8) {
                let leaf = ShapeLeaf::Of(path.clone(), Box::new(ShapeLeaf::Size(at, dim)));
                let size = inner.call_method1("size", (dim,))?;
                self.symbols.push((leaf, size.unbind()));
            }
        }
        Ok(())
    }

    /// Symbols in place of ints and sizes; everything else is handed on as it is.
    fn numbers(
        &mut self,
        torch: &Torch<'py>,
        shape_env: &Bound<'py, PyAny>,
        example_inputs: &Bound<'py, PyList>,
        inputs: &[AotInput],
    ) -> PyResult<()> {
        for (at, example) in example_inputs.iter().enumerate() {
            if let Some(AotInput::Int {
                source,
                is_unbacked,
            }) = inputs.get(at)
            {
                self.is_dynamic = true;
                let source = torch.unique_local(source, &mut self.taken)?;
                let value: i64 = example.extract()?;
                let int = torch.int_symbol(shape_env, value, &source, *is_unbacked)?;
                self.hand(at, int, source)?;
                continue;
            }
            if let Some(AotInput::Layout(leaf)) = inputs.get(at) {
                self.is_dynamic = true;
                let of = leaf.input();
                let tensor = self.fakes.get(of).and_then(Option::as_ref);
                let source = self.sources.get(of).and_then(Option::as_ref);
                if let (Some(tensor), Some(source)) = (tensor, source)
                    && let Some((number, source)) = torch.layout_symbol(tensor, source, leaf)?
                {
                    if !matches!(leaf, ShapeLeaf::Size(..)) {
                        self.symbols.push((leaf.clone(), number.clone().unbind()));
                    }
                    self.hand(at, number, source)?;
                    continue;
                }
            }
            self.handed.append(example)?;
        }
        Ok(())
    }

    fn hand(
        &mut self,
        at: usize,
        symbol: Bound<'py, PyAny>,
        source: Bound<'py, PyAny>,
    ) -> PyResult<()> {
        self.handed.append(&symbol)?;
        self.fakes[at] = Some(symbol);
        self.sources[at] = Some(source);
        Ok(())
    }

    /// Sources of what the module holds, by name.
    fn parameters(
        &mut self,
        gm: &Bound<'py, PyAny>,
        torch: &Torch<'py>,
        modes: &Modes<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = gm.py();
        let params = PyDict::new(py);
        for group in ["named_parameters", "named_buffers"] {
            let named = gm.call_method(group, (), Some(&dict(py, "remove_duplicate", false)?))?;
            for pair in named.try_iter()? {
                let (name, tensor): (String, Bound<'_, PyAny>) = pair?.extract()?;
                let source = torch.unique_local(&format!("self.{name}"), &mut self.taken)?;
                let context = torch.symbolic_context(&tensor, &source, CONSTANT)?;
                modes.tensor_contexts.set_item(&tensor, context)?;
                params.set_item(name, source)?;
            }
        }
        Ok(params)
    }

    /// Writes to the graph's inputs what torch's tracer keeps of them, and to `params` which are parameters.
    fn mark(
        &self,
        torch: &Torch<'py>,
        placeholders: &[Bound<'py, PyAny>],
        example_inputs: &Bound<'py, PyList>,
        inputs: &[AotInput],
        params: &Bound<'py, PyDict>,
    ) -> PyResult<()> {
        let py = example_inputs.py();
        for (at, node) in placeholders.iter().enumerate() {
            let source = self.sources.get(at).and_then(Option::as_ref);
            node.setattr(names::NODE_SOURCE, source)?;
            let tensor_dict = PyDict::new(py);
            if let Some(AotInput::Tensor { parameter, .. }) = inputs.get(at) {
                // The program may have said so itself (`mark_static_address`).
                let marked = example_inputs
                    .get_item(at)?
                    .getattr_opt(names::STATIC_INPUT)?;
                if let (Some(path), Some(source)) = (parameter, source) {
                    params.set_item(path, source)?;
                }
                let unguarded = (parameter.as_ref())
                    .map(|_| "unguarded".into_pyobject(py))
                    .transpose()?;
                if let Some(kind) = marked.or(unguarded.map(Bound::into_any)) {
                    tensor_dict.set_item(names::STATIC_INPUT, kind)?;
                }
            }
            let meta = node.getattr("meta")?;
            meta.set_item(names::TENSOR_DICT, tensor_dict)?;
            if let Some(source) = source {
                let example = self.handed.get_item(at)?;
                let fake = self.fakes.get(at).and_then(Option::as_ref);
                if let Some(argument) = torch.graph_argument(source, &example, fake)? {
                    meta.set_item(names::GRAPH_ARGUMENT_KEY, argument)?;
                }
            }
        }
        Ok(())
    }

    /// What the graph is run on: fake values, or what is handed on where there is none.
    fn values(&self) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let value = |(at, fake): (usize, &Option<Bound<'py, PyAny>>)| match fake {
            Some(fake) => Ok(fake.clone()),
            None => self.handed.get_item(at),
        };
        self.fakes.iter().enumerate().map(value).collect()
    }

    /// Whether no tensor is without a fake: kept for later, it would be kept alive.
    fn has_all_fakes(&self, torch: &Torch<'py>, values: &[Bound<'py, PyAny>]) -> PyResult<bool> {
        let mut has_all = true;
        for (fake, value) in self.fakes.iter().zip(values) {
            has_all &= fake.is_some() || !value.is_instance(&torch.tensor)?;
        }
        Ok(has_all)
    }

    /// What inputs are called in guards.
    fn names(&self, inputs: &[AotInput]) -> PyResult<Vec<Option<String>>> {
        let name = |(at, source): (usize, &Option<Bound<'py, PyAny>>)| {
            match (inputs.get(at), source) {
                // Its tensor says it; of a float nothing may be relied on.
                (Some(AotInput::Layout(_) | AotInput::Float { .. }), _) | (_, None) => Ok(None),
                (_, Some(source)) => Ok(Some(source.getattr("local_name")?.extract()?)),
            }
        };
        self.sources.iter().enumerate().map(name).collect()
    }
}

/// The dimensions of an input whose strides are inputs of their own.
fn strides_given(inputs: &[AotInput], at: usize) -> impl Iterator<Item = usize> {
    inputs.iter().filter_map(move |input| match input {
        AotInput::Layout(ShapeLeaf::Stride(of, dim)) if *of == at => Some(usize::from(*dim)),
        _ => None,
    })
}

/// Where nobody said how the inputs are reached: by the names of the placeholders.
fn named_by_placeholders(placeholders: &[Bound<'_, PyAny>]) -> PyResult<Vec<AotInput>> {
    let input = |node: &Bound<'_, PyAny>| {
        Ok(AotInput::Tensor {
            source: node.getattr("target")?.extract()?,
            dynamic_dims: Vec::new(),
            unbacked_dims: Vec::new(),
            dynamic_held: Vec::new(),
            parameter: None,
        })
    };
    placeholders.iter().map(input).collect()
}

fn prepare(
    gm: &Bound<'_, PyAny>,
    example_inputs: &Bound<'_, PyList>,
    (inputs, modules): (&[AotInput], &ModuleStacks),
    compile_id: (u32, u32),
    can_wait: bool,
    tracing: Option<&Bound<'_, PyAny>>,
) -> PyResult<AotContext> {
    let py = gm.py();
    let torch = Torch::new(py)?;
    let options = dict(py, "tracked_fakes", PyList::empty(py))?;
    // Numbers that the graph reads from tensors are symbols without a value.
    options.set_item("allow_scalar_outputs", true)?;
    options.set_item("allow_dynamic_output_shape_ops", true)?;
    let shape_env = torch.shapes.call_method("ShapeEnv", (), Some(&options))?;
    let mode_class = py.import(names::FAKE_TENSOR)?.getattr("FakeTensorMode")?;
    let new_mode = || mode_class.call((), Some(&dict(py, "shape_env", &shape_env)?));
    let mode = new_mode()?;
    let guards = py.import(names::GUARDS)?;
    let tracing = match tracing {
        Some(tracing) => tracing.clone(),
        None => guards.call_method1("TracingContext", (&mode,))?,
    };
    let modes = Modes {
        run: mode,
        // The run on fakes may change them; the backend makes its own in a new mode.
        backend: new_mode()?,
        tensor_contexts: tracing.getattr("tensor_to_context")?,
        scalars: PyList::empty(py),
    };
    let placeholders = placeholders(gm)?;
    let default_inputs: Vec<AotInput>;
    let inputs = if inputs.is_empty() {
        default_inputs = named_by_placeholders(&placeholders)?;
        &default_inputs[..]
    } else {
        inputs
    };
    let mut made = Prepared::tensors(&torch, &modes, example_inputs, inputs)?;
    made.numbers(&torch, &shape_env, example_inputs, inputs)?;
    let params = made.parameters(gm, &torch, &modes)?;
    let values = made.values()?;
    let can_wait = can_wait && made.has_all_fakes(&torch, &values)?;
    let grad_mode = py.import("torch")?.call_method0("is_grad_enabled")?;
    let run = Propagation {
        gm: gm.clone().unbind(),
        mode: modes.run.clone().unbind(),
        tracing: tracing.clone().unbind(),
        inputs: PyList::new(py, &values)?.unbind(),
        grad_mode: grad_mode.is_truthy()?,
    };

    // Nothing above changed the module; nothing below fails for a reason of its inputs.
    made.mark(&torch, &placeholders, example_inputs, inputs, &params)?;
    for (node, value) in placeholders.iter().zip(&values) {
        node.getattr("meta")?
            .set_item(names::EXAMPLE_VALUE, value)?;
    }
    let run = Py::new(py, LateValues::new(run))?;
    mark_nodes(gm, modules, can_wait.then_some(&run))?;
    gm.setattr(names::PARAM_SOURCES, params)?;
    let id = self::compile_id(&guards, compile_id)?;
    gm.getattr("meta")?.set_item(names::COMPILE_ID, &id)?;
    tracing.setattr("fake_mode", &modes.backend)?;
    if !can_wait {
        run.get().fill(py)?;
    }
    let known = |at: &usize| made.fakes[*at].is_some();
    let known: Vec<usize> = (0..made.fakes.len()).filter(known).collect();
    let of = |list: &[Option<Bound<'_, PyAny>>]| -> PyResult<Py<PyList>> {
        let items = known.iter().filter_map(|&at| list[at].clone());
        Ok(PyList::new(py, items.collect::<Vec<_>>())?.unbind())
    };
    let contexts = known.iter().map(|&at| made.contexts[at].clone());
    Ok(AotContext {
        names: made.names(inputs)?,
        fakes: of(&made.fakes)?,
        sources: of(&made.sources)?,
        contexts: PyList::new(py, contexts)?.unbind(),
        compile: guards.call_method1(names::COMPILE_CONTEXT, (id,))?.unbind(),
        tracing: tracing.unbind(),
        shape_env: shape_env.unbind(),
        weakly_held: WeaklyHeld {
            modes: [&modes.run, &modes.backend]
                .map(|mode| mode.clone().unbind())
                .into(),
            contexts: modes.tensor_contexts.unbind(),
            placeholders: placeholders.into_iter().map(Bound::unbind).collect(),
        },
        example_inputs: made.handed.unbind(),
        is_dynamic: made.is_dynamic,
        symbols: made.symbols,
        _scalars: modes.scalars.unbind(),
        values: run,
    })
}

/// torch's name for a compilation: which frame, and which compilation of it.
pub(crate) fn compile_id<'py>(
    guards: &Bound<'py, PyModule>,
    (frame, compilation): (u32, u32),
) -> PyResult<Bound<'py, PyAny>> {
    let numbers = dict(guards.py(), "frame_id", frame)?;
    numbers.set_item("frame_compile_id", compilation)?;
    guards.call_method("CompileId", (), Some(&numbers))
}

impl<'py> Torch<'py> {
    pub(crate) fn new(py: Python<'py>) -> PyResult<Torch<'py>> {
        Ok(Torch {
            shapes: py.import(names::SYMBOLIC_SHAPES)?.into_any(),
            source: py.import(names::SOURCE)?.into_any(),
            tensor: py.import("torch")?.getattr("Tensor")?,
            argument: py
                .import(names::INPUT_BUILDER)?
                .getattr(names::GRAPH_ARGUMENT)?,
        })
    }

    /// Whether it is a plain tensor without dimensions.
    fn is_scalar(&self, tensor: &Bound<'py, PyAny>) -> PyResult<bool> {
        Ok(tensor.get_type().is(&self.tensor)
            && tensor.call_method0("dim")?.extract::<usize>()? == 0)
    }

    /// Where in a value the symbols without a value are that making it has brought, so that they are not pending any
    /// more; something false where there are none.
    pub(crate) fn bind_unbacked(
        &self,
        shape_env: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.shapes
            .call_method1("compute_unbacked_bindings", (shape_env, value))
    }

    /// What torch's tracer keeps of an input with its placeholder: it holds a tensor weakly. `None` for a tensor
    /// without a fake.
    fn graph_argument(
        &self,
        source: &Bound<'py, PyAny>,
        example: &Bound<'py, PyAny>,
        fake: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let is_tensor = example.is_instance(&self.tensor)?;
        if is_tensor && fake.is_none() {
            return Ok(None);
        }
        let fake = fake.filter(|_| is_tensor);
        let arguments = (source, example, false, fake, is_tensor);
        self.argument.call1(arguments).map(Some)
    }

    pub(crate) fn local(&self, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = self.source.py();
        let kwargs = dict(py, "is_input", true)?;
        self.source
            .call_method("LocalSource", (name,), Some(&kwargs))
    }

    /// As `local`, with a name that no other input has: torch insists on one source an input.
    fn unique_local(
        &self,
        name: &str,
        taken: &mut FxHashMap<String, usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let seen = taken.entry(name.to_owned()).or_insert(0);
        *seen += 1;
        match *seen {
            1 => self.local(name),
            count => self.local(&format!("{name} ({count})")),
        }
    }

    pub(crate) fn fake_of(
        &self,
        mode: &Bound<'py, PyAny>,
        tensor: &Bound<'py, PyAny>,
        source: &Bound<'py, PyAny>,
        context: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kwargs = dict(mode.py(), "source", source)?;
        kwargs.set_item("symbolic_context", context)?;
        mode.call_method("from_tensor", (tensor,), Some(&kwargs))
    }
}

/// The fake of a tensor without dimensions, which knows nothing of its value. One that has a source
/// is given a symbol for its value: an operation that reads it would then be compiled for the
/// value of this call, and nothing would guard it.
fn from_scalar<'py>(
    mode: &Bound<'py, PyAny>,
    tensor: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let kwargs = dict(mode.py(), "static_shapes", true)?;
    mode.call_method("from_tensor", (tensor,), Some(&kwargs))
}

fn placeholders<'py>(gm: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut placeholders = Vec::new();
    for node in gm.getattr("graph")?.getattr("nodes")?.try_iter()? {
        let node = node?;
        if node.getattr("op")?.eq("placeholder")? {
            placeholders.push(node);
        }
    }
    Ok(placeholders)
}

pub(crate) fn dict<'py>(
    py: Python<'py>,
    key: &str,
    value: impl IntoPyObject<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item(key, value)?;
    Ok(dict)
}
