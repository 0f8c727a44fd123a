//! What the result of a compiler depends on: the graph, what its inputs are, the state of torch, the versions and the
//! machine. What can't be told by its contents makes that there is no key.
//!
//! Not here: the digest (`artifact-store`), where results are kept (`kept`).

use std::borrow::Cow;

use artifact_store::{Key, KeyBuilder};
use fx_graph::{AotInput, Arg, FnTarget, Graph, OpKind, ShapeLeaf, Target};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::Deserialize;
use torch_abi::higher_order::is_higher_order;
use torch_abi::imported::imported;
use torch_abi::made::made_of;

use crate::names;
use crate::subgraph::SubGraph;

/// Goes up whenever the manifest or its runtime changes its meaning.
const FORMAT: u64 = 8;

/// Why there is no key.
pub(crate) struct Untold(pub String);

impl From<PyErr> for Untold {
    fn from(error: PyErr) -> Untold {
        Untold(error.to_string())
    }
}

type Told<T> = Result<T, Untold>;

fn untold<T>(what: impl Into<String>) -> Told<T> {
    Err(Untold(what.into()))
}

/// What a compiler makes of a graph depends on these, and on nothing else.
#[derive(Deserialize)]
pub(crate) struct Parts {
    /// digest of the graph, as text
    graph: String,
    /// what the graph calls, for people
    calls: String,
    inputs: String,
    state: String,
    surroundings: Cow<'static, str>,
}

impl Parts {
    /// The key of all of them.
    pub(crate) fn key(&self) -> Key {
        let mut key = KeyBuilder::new();
        key.number(FORMAT).part(env!("CARGO_PKG_VERSION"));
        key.part(&self.graph);
        for text in [&*self.inputs, &*self.state, &*self.surroundings] {
            key.part(text);
        }
        key.finish()
    }

    /// The same by name.
    ///
    /// # Errors
    /// Where there is no memory.
    pub(crate) fn by_name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("graph", &self.graph)?;
        for (name, text) in [
            ("calls", &*self.calls),
            ("inputs", &*self.inputs),
            ("state", &*self.state),
            ("surroundings", &*self.surroundings),
        ] {
            dict.set_item(name, text)?;
        }
        Ok(dict)
    }
}

/// What is told of a graph with these inputs now. `examples` has one for each of the `inputs`; `options` is the text of
/// the compiler's.
pub(crate) fn parts(
    graph: &Graph,
    objects: &[Py<PyAny>],
    inputs: &[AotInput],
    examples: &Bound<'_, PyList>,
    options: &str,
) -> Told<Parts> {
    let py = examples.py();
    let texts = py.import(intern!(py, "ferrodyn._artifact_state"))?;
    let state = texts.call_method0(intern!(py, "state"))?;
    let Some(state) = state.extract::<Option<String>>()? else {
        return untold(
            "torch's compiler is watched or changed (logs, hooks, modes, functions in options), which has no text",
        );
    };
    let state = state + options;
    let told = PyList::empty(py);
    for (at, input) in inputs.iter().enumerate() {
        match input {
            AotInput::Tensor {
                dynamic_dims,
                unbacked_dims,
                parameter,
                ..
            } => told.append((parameter.is_some(), dynamic_dims, unbacked_dims))?,
            AotInput::Layout(ShapeLeaf::Size(of, dim)) => told.append((of, dim))?,
            AotInput::Layout(ShapeLeaf::Stride(of, dim)) => told.append((of, dim, "stride"))?,
            AotInput::Layout(ShapeLeaf::Offset(of)) => told.append((of,))?,
            AotInput::Layout(_) => {
                return untold(format!("input {at} is a size of what a tensor holds"));
            }
            AotInput::Int { is_unbacked, .. } => told.append((is_unbacked,))?,
            AotInput::Float { .. } => told.append(())?,
            AotInput::Other { .. } => return untold(format!("input {at} is no tensor")),
        }
    }
    // Of a graph that runs as it is nothing is told: it takes a float as it takes any other.
    if inputs.is_empty() {
        for example in examples.iter() {
            match example.is_exact_instance_of::<PyFloat>()
                || example.is_exact_instance_of::<PyInt>()
            {
                true => told.append(())?,
                false => told.append((false, ()))?,
            }
        }
    }
    let described = texts.call_method1(intern!(py, "inputs"), (examples, told))?;
    let Some(inputs) = described.extract()? else {
        return untold("inputs that are no plain tensors");
    };
    let mut key = KeyBuilder::new();
    let calls = add_graph(py, Known::get(py)?, graph, objects, &mut key)?;
    Ok(Parts {
        graph: key.finish().to_string(),
        calls,
        inputs,
        state,
        surroundings: surroundings(&texts)?.into(),
    })
}

/// The versions and the machine: the same as long as the process lives.
fn surroundings(texts: &Bound<'_, PyModule>) -> PyResult<&'static str> {
    static SURROUNDINGS: PyOnceLock<String> = PyOnceLock::new();
    let text = SURROUNDINGS
        .get_or_try_init(texts.py(), || texts.call_method0("surroundings")?.extract())?;
    Ok(text)
}

/// Classes whose objects are told by their `repr`.
struct Known {
    told: Vec<Py<PyAny>>,
}

impl Known {
    fn get(py: Python<'_>) -> PyResult<&'static Known> {
        static KNOWN: PyOnceLock<Known> = PyOnceLock::new();
        KNOWN.get_or_try_init(py, || {
            let torch = py.import("torch")?;
            let class = |name: &&str| Ok(torch.getattr(*name)?.unbind());
            let told = names::TOLD_BY_TEXT.iter().map(class);
            Ok(Known {
                told: told.collect::<PyResult<_>>()?,
            })
        })
    }
}

fn add_graph(
    py: Python<'_>,
    known: &Known,
    graph: &Graph,
    objects: &[Py<PyAny>],
    key: &mut KeyBuilder,
) -> Told<String> {
    let object = |handle: u32| objects.get(handle as usize).map(|object| object.bind(py));
    let mut calls = Vec::new();
    for (id, node) in graph.iter() {
        key.number(id.index() as u64).part(node.op.as_str());
        match &node.target {
            Target::Function(function) => {
                let called = object(function.handle);
                if let Some(of) = called.and_then(made_of) {
                    add_made(&of, key)?;
                } else if let Some(told) = of_program(py, called)? {
                    key.part(told);
                } else if let Some(path) = called.map(higher_order).transpose()?.flatten() {
                    key.part("operator of functions").part(path);
                } else {
                    is_torchs_own(py, function, called)?;
                }
                key.part(&*function.path);
                calls.push(function.path.rsplit('.').next().unwrap_or_default());
            }
            Target::Name(_) if matches!(node.op, OpKind::GetAttr | OpKind::CallModule) => {
                return untold("a graph that holds tensors or modules");
            }
            Target::Name(name) => {
                key.part(&**name);
                if node.op == OpKind::CallMethod {
                    calls.push(name);
                }
            }
        }
        key.number(node.args.len() as u64);
        for arg in &node.args {
            add_arg(known, arg, &object, key)?;
        }
        key.number(node.kwargs.len() as u64);
        for (name, arg) in &node.kwargs {
            key.part(&**name);
            add_arg(known, arg, &object, key)?;
        }
    }
    Ok(calls.join(" "))
}

/// A function of Ferrodyn's, by what makes it: a function of ours, of [`add_argument`]'s.
fn add_made(of: &Bound<'_, PyTuple>, key: &mut KeyBuilder) -> Told<()> {
    let by = of.get_item(0)?;
    key.part(name_of(&by)?);
    key.number(of.len() as u64);
    of.iter()
        .skip(1)
        .try_for_each(|argument| add_argument(&argument, &by, key))
}

fn name_of(function: &Bound<'_, PyAny>) -> PyResult<String> {
    function.getattr("__name__")?.extract()
}

/// What a function of ours makes something of: numbers, texts, tuples of these, functions beside it, Python's
/// operators, functions and operators of torch's own, and what another function of ours has made.
fn add_argument(
    argument: &Bound<'_, PyAny>,
    by: &Bound<'_, PyAny>,
    key: &mut KeyBuilder,
) -> Told<()> {
    let py = by.py();
    if let Ok(text) = argument.cast_exact::<PyString>() {
        key.part("text").part(text.to_str()?);
        return Ok(());
    }
    let is_number = argument.is_exact_instance_of::<PyInt>()
        || argument.is_exact_instance_of::<PyBool>()
        || argument.is_exact_instance_of::<PyFloat>();
    if is_number || argument.is_none() {
        key.part("number").part(argument.repr()?.to_str()?);
        return Ok(());
    }
    if let Ok(items) = argument.cast_exact::<PyTuple>() {
        key.part("items").number(items.len() as u64);
        return items
            .iter()
            .try_for_each(|item| add_argument(&item, by, key));
    }
    if let Some(of) = made_of(argument) {
        key.part("made");
        return add_made(&of, key);
    }
    if let Some(path) = higher_order(argument)? {
        key.part("operator of functions").part(path);
        return Ok(());
    }
    let name = name_of(argument)?;
    let beside = match by.getattr_opt("__globals__")? {
        Some(own) => own.cast::<PyDict>().map_err(PyErr::from)?.get_item(&name)?,
        None => None,
    };
    let operators = py.import("operator")?.into_any();
    let is = |found: Option<Bound<'_, PyAny>>| found.is_some_and(|found| found.is(argument));
    if is(beside) {
        key.part("own").part(name);
    } else if is(named(operators, [&*name])?) {
        key.part("operator").part(name);
    } else if let Some(path) = of_torch(argument)? {
        key.part("torch").part(path);
    } else {
        return untold(format!("a function that is made of {name}"));
    }
    Ok(())
}

/// Where an object of torch's own says that it is, if it is there.
fn of_torch(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let text = |name| -> PyResult<Option<String>> {
        Ok(object
            .getattr_opt(name)?
            .and_then(|text| text.extract().ok()))
    };
    let (Some(module), Some(name)) = (text("__module__")?, text("__qualname__")?) else {
        return Ok(None);
    };
    if module.split('.').next() != Some("torch") {
        return Ok(None);
    }
    let Some(within) = imported(object.py(), &module)? else {
        return Ok(None);
    };
    let found = named(within, name.split('.'))?;
    let is_it = found.is_some_and(|found| found.is(object));
    Ok(is_it.then(|| format!("{module}.{name}")))
}

/// The path of an operator of torch's own that is given functions; `None` for anything else.
fn higher_order(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = object.py();
    if !is_higher_order(object)? || of_torch(&object.get_type())?.is_none() {
        return Ok(None);
    }
    let name: String = object.getattr("_name")?.extract()?;
    let all = py
        .import("torch")?
        .getattr("ops")?
        .getattr("higher_order")?;
    let found = named(all, [&*name])?;
    Ok(found.filter(|found| found.is(object)).map(|_| name))
}

/// What is relied on of an operator of the program's that compilers don't look into.
fn of_program(py: Python<'_>, called: Option<&Bound<'_, PyAny>>) -> PyResult<Option<String>> {
    static CLASSES: PyOnceLock<[Py<PyAny>; 2]> = PyOnceLock::new();
    let Some(called) = called else {
        return Ok(None);
    };
    let classes = CLASSES.get_or_try_init(py, || -> PyResult<_> {
        let ops = py.import(names::TORCH_OPS)?;
        let class = |name| ops.getattr(name).map(Bound::unbind);
        Ok([class("OpOverload")?, class("OpOverloadPacket")?])
    })?;
    let class = called.get_type();
    if !classes.iter().any(|of| class.is(of)) {
        return Ok(None);
    }
    let told = py.import("ferrodyn._artifact_operators")?;
    told.call_method1("told", (called,))?.extract()
}

/// Whether a function is what its path says, and is of torch's own or Python's.
fn is_torchs_own(
    py: Python<'_>,
    function: &FnTarget,
    object: Option<&Bound<'_, PyAny>>,
) -> Told<()> {
    let path = &*function.path;
    let found = match path.split_once('.') {
        // The path of an attribute names it, too; so do the arguments.
        Some(("getattr", _) | ("builtins", "getattr")) => {
            Some(py.import("builtins")?.getattr("getattr")?)
        }
        Some(("torch", rest)) if rest.starts_with("_ops.") => match object {
            Some(object) => operator(object)?,
            None => None,
        },
        Some((root @ ("torch" | "operator" | "_operator" | "math"), rest)) => {
            let mut namespace = rest.strip_prefix("ops.").unwrap_or("aten.").split('.');
            if namespace.next() != Some("aten") {
                return untold(format!("the operation {path}"));
            }
            named(py.import(root)?.into_any(), rest.split('.'))?
        }
        None => Some(py.import("builtins")?.getattr(path)?),
        Some(_) => None,
    };
    let Some(found) = found else {
        return untold(format!("the function {path}"));
    };
    match object.is_some_and(|object| object.is(&found)) {
        true => Ok(()),
        false => untold(format!("the function {path}, which is another one")),
    }
}

/// What is found under names, each an attribute of the one before.
fn named<'py, 'a>(
    from: Bound<'py, PyAny>,
    names: impl IntoIterator<Item = &'a str>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut found = from;
    for name in names {
        match found.getattr_opt(name)? {
            Some(next) => found = next,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// An operator of torch's own that the program calls by itself: what its text, `aten.add.Tensor`, stands for.
fn operator<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let text = object.str()?;
    match text.to_str()?.strip_prefix("aten.") {
        Some(name) => named(
            object.py().import("torch")?.into_any(),
            ["ops", "aten"].into_iter().chain(name.split('.')),
        ),
        None => Ok(None),
    }
}

fn add_arg<'a, 'py: 'a>(
    known: &Known,
    arg: &Arg,
    object: &impl Fn(u32) -> Option<&'a Bound<'py, PyAny>>,
    key: &mut KeyBuilder,
) -> Told<()> {
    let mut all = |kind: &str, items: &[Arg]| {
        key.part(kind).number(items.len() as u64);
        items
            .iter()
            .try_for_each(|item| add_arg(known, item, object, key))
    };
    match arg {
        Arg::Tuple(items) => return all("tuple", items),
        Arg::List(items) => return all("list", items),
        Arg::Slice(parts) => return all("slice", &parts[..]),
        Arg::Dict(items) => {
            key.part("dict").number(items.len() as u64);
            for (name, value) in items {
                add_arg(known, name, object, key)?;
                add_arg(known, value, object, key)?;
            }
        }
        Arg::Node(id) => {
            key.part("node").number(id.index() as u64);
        }
        Arg::None => {
            key.part("None");
        }
        Arg::Bool(value) => {
            key.part("bool").number(u64::from(*value));
        }
        Arg::Int(value) => {
            key.part("int").part(value.to_le_bytes());
        }
        Arg::Float(value) => {
            key.part("float").number(value.to_bits());
        }
        Arg::Str(text) => {
            key.part("str").part(&**text);
        }
        Arg::Ellipsis => {
            key.part("Ellipsis");
        }
        Arg::Opaque { handle, repr } => {
            let Some(object) = object(*handle) else {
                return untold("an argument that is not there");
            };
            if let Ok(part) = object.cast_exact::<SubGraph>() {
                let part = part.get();
                key.part("graph").part(part.name());
                key.number(u64::from(part.is_module()));
                return add_graph(object.py(), known, part.graph(), part.objects(), key).map(drop);
            }
            let class = object.get_type();
            if !known.told.iter().any(|told| class.is(told)) {
                return untold(format!("an argument {repr}"));
            }
            key.part("object").part(&**repr);
        }
        _ => return untold("an argument of an unknown kind"),
    }
    Ok(())
}
