//! From our graph to a lazy `torch.fx.GraphModule`.
//!
//! Two ways make the same nodes: `Graph.create_node` (7 to 9 us each), and the C methods that it
//! ends in plus the graph's own tables (about 1 us). The second is used only where both made the
//! same small graph when torch was first seen.

use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;

use fx_graph::{Arg, Graph, NodeData, NodeId, OpKind, SourceLine, SourceStack, Target};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyEllipsis, PyList, PySlice, PyString, PyTuple};
use rustc_hash::FxHashMap;

use crate::fx::{Direct, Fx, fx};
use crate::subgraph::SubGraph;

/// Attributes of the root module by qualified name (`layer.weight`): parameters, buffers, constants,
/// submodules. A tensor that is no parameter becomes a buffer.
pub type Attrs = [(Arc<str>, Py<PyAny>)];

/// Value of `node.meta['example_value']` for a node, where there is one.
pub type ExampleValue<'a> = dyn Fn(NodeId) -> Option<Py<PyAny>> + 'a;

/// How a graph becomes a module. `ToTorch::default()` is what [`to_torch`] uses.
#[derive(Default)]
pub struct ToTorch<'a> {
    /// Example values for `node.meta`.
    pub example_value: Option<&'a ExampleValue<'a>>,
    /// Whether `Graph.create_node` makes the nodes even where the fast way would do.
    pub slow: bool,
    /// Whether source lines are left out of `node.meta['stack_trace']`.
    pub no_stack_traces: bool,
    /// How many graphs that nodes are given have a name so far.
    pub counts: Counts,
}

/// Numbers of graphs by name. No two have one name and number, however deep they lie in each other.
pub type Counts = Rc<RefCell<FxHashMap<String, usize>>>;

/// A lazy `torch.fx.GraphModule` with the nodes of `graph`, in the graph's order. `objects` resolves
/// handles. Code is generated when the module is first called or printed.
///
/// # Errors
/// `KeyError` for a handle beyond `objects`; what `torch.fx` raises, such as `RuntimeError` for a
/// `get_attr` node whose attribute is not in `attrs`.
pub fn to_torch(
    py: Python<'_>,
    graph: &Graph,
    objects: &[Py<PyAny>],
    attrs: &Attrs,
) -> PyResult<Py<PyAny>> {
    ToTorch::default()
        .module(py, graph, objects, attrs)
        .map(|converted| converted.module)
}

/// `torch.fx.Node`s by [`NodeId`].
type NodesById = Vec<Option<Py<PyAny>>>;

/// A converted graph.
pub struct Converted {
    /// The `GraphModule`.
    pub module: Py<PyAny>,
    /// The `torch.fx.Node` of each of our nodes, by id; `None` for ids that are not in the graph.
    pub nodes: Vec<Option<Py<PyAny>>>,
}

impl ToTorch<'_> {
    /// As [`to_torch`]; also gives the nodes that were made.
    ///
    /// # Errors
    /// As [`to_torch`].
    pub fn module(
        &self,
        py: Python<'_>,
        graph: &Graph,
        objects: &[Py<PyAny>],
        attrs: &Attrs,
    ) -> PyResult<Converted> {
        graph.debug_verify();
        let fx = fx(py)?;
        let torch_graph = fx.graph_class.bind(py).call0()?;
        let direct = match self.slow {
            true => None,
            false => fx.direct(py),
        };
        let (nodes, root) = self.fill(&torch_graph, (fx, direct), graph, objects)?;
        for (name, value) in attrs {
            root.set_item(&**name, value)?;
        }
        let module = fx
            .lazy_module_class
            .bind(py)
            .call1((root, torch_graph, "GraphModule"))?
            .unbind();
        Ok(Converted { module, nodes })
    }

    /// Makes the nodes in an empty `torch.fx.Graph`, the fast way where there is one: those, by id, and the submodules that they read.
    pub(crate) fn fill<'py>(
        &self,
        torch_graph: &Bound<'py, PyAny>,
        (fx, direct): (&Fx, Option<&Direct>),
        graph: &Graph,
        objects: &[Py<PyAny>],
    ) -> PyResult<(NodesById, Bound<'py, PyDict>)> {
        let py = torch_graph.py();
        let mut nodes = Vec::new();
        nodes.resize_with(graph.id_bound(), || None);
        let mut converter = Converter {
            py,
            objects,
            nodes,
            stacks: StackTexts::default(),
            torch_graph: torch_graph.clone(),
            submodules: PyDict::new(py),
            made: Vec::new(),
            named: FxHashMap::default(),
            reads: 0,
            unmarked: Vec::new(),
            counts: self.counts.clone(),
        };
        match direct {
            Some(direct) => {
                self.direct(&mut converter, direct, fx, graph, torch_graph)?;
            }
            None => self.through_create_node(&mut converter, graph, torch_graph)?,
        }
        Ok((converter.nodes, converter.submodules))
    }

    fn through_create_node(
        &self,
        converter: &mut Converter<'_, '_>,
        graph: &Graph,
        torch_graph: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let create = torch_graph.getattr("create_node")?;
        for (id, node) in graph.iter() {
            let made = create.call1((
                node.op.as_str(),
                converter.target(node)?,
                converter.args(&node.args)?,
                converter.kwargs(node)?,
                &*node.name,
                converter.type_expr(node)?,
            ))?;
            if made
                .getattr(intern!(converter.py, "name"))?
                .extract::<String>()?
                != *node.name
            {
                made.setattr(intern!(converter.py, "name"), &*node.name)?;
            }
            self.meta(converter, id, node, &made)?;
            converter.nodes[id.index()] = Some(made.unbind());
        }
        Ok(())
    }

    fn direct(
        &self,
        converter: &mut Converter<'_, '_>,
        direct: &Direct,
        fx: &Fx,
        graph: &Graph,
        torch_graph: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = converter.py;
        let namespace = torch_graph.getattr("_graph_namespace")?;
        let used = namespace.getattr("_used_names")?;
        let add_name = used.getattr("add")?;
        for name in graph.namespace().used() {
            add_name.call1((&**name,))?;
        }
        let counts = namespace.getattr("_base_count")?.cast_into::<PyDict>()?;
        for (stem, count) in graph.namespace().counts() {
            counts.set_item(&**stem, count)?;
        }
        let names = namespace.getattr("_obj_to_name")?.cast_into::<PyDict>()?;
        let lookup = torch_graph
            .getattr("_find_nodes_lookup_table")?
            .getattr("table")?;
        let root = torch_graph.getattr("_root")?;
        let node_class = fx.node_class.bind(py);
        let (new, init) = (direct.new.bind(py), direct.init.bind(py));
        let (set_args, prepend) = (direct.set_args.bind(py), direct.prepend.bind(py));
        let no_kwargs = fx.immutable_dict.bind(py);
        let mut ops: [Option<(Bound<'_, PyString>, Bound<'_, PyDict>)>; OpKind::ALL.len()] =
            Default::default();
        let mut by_function: FxHashMap<u32, Bound<'_, PyDict>> = FxHashMap::default();
        for (id, node) in graph.iter() {
            let target = converter.target(node)?;
            let (op, of_op) = match &mut ops[node.op as usize] {
                Some(entry) => entry,
                empty => {
                    let op = PyString::intern(py, node.op.as_str());
                    let table = match node.op {
                        OpKind::CallFunction => PyDict::new(py),
                        _ => lookup.get_item((&op, py.None()))?.cast_into()?,
                    };
                    empty.insert((op, table))
                }
            };
            let table = match &node.target {
                Target::Name(_) => &*of_op,
                Target::Function(function) => match by_function.entry(function.handle) {
                    std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                    std::collections::hash_map::Entry::Vacant(entry) => {
                        entry.insert(lookup.get_item((&*op, &target))?.cast_into()?)
                    }
                },
            };
            let name = PyString::new(py, &node.name);
            let made = new.call1((node_class,))?;
            init.call1((
                &made,
                torch_graph,
                &name,
                &*op,
                target,
                converter.type_expr(node)?,
            ))?;
            let kwargs = match node.kwargs.is_empty() {
                true => no_kwargs.call0()?,
                false => converter.kwargs(node)?.into_any(),
            };
            set_args.call1((&made, converter.args(&node.args)?, kwargs))?;
            names.set_item(&made, &name)?;
            prepend.call1((&root, &made))?;
            table.set_item(&made, py.None())?;
            self.meta(converter, id, node, &made)?;
            converter.nodes[id.index()] = Some(made.unbind());
        }
        torch_graph.setattr("_len", graph.len() + converter.reads)
    }

    fn meta(
        &self,
        converter: &mut Converter<'_, '_>,
        id: NodeId,
        node: &NodeData,
        made: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = converter.py;
        let example = self.example_value.and_then(|value| value(id));
        let traced = !node.source.is_empty() && !self.no_stack_traces;
        for read in std::mem::take(&mut converter.unmarked) {
            if traced {
                let text = converter.stacks.text(py, &node.source)?;
                let meta = read.getattr(intern!(py, "meta"))?;
                meta.set_item(intern!(py, "stack_trace"), text)?;
            }
        }
        if example.is_none() && !traced {
            return Ok(());
        }
        let meta = made.getattr(intern!(py, "meta"))?;
        if traced {
            let text = converter.stacks.text(py, &node.source)?;
            meta.set_item(intern!(py, "stack_trace"), text)?;
        }
        if let Some(example) = example {
            meta.set_item(intern!(py, "example_value"), example)?;
        }
        Ok(())
    }
}

/// Arguments of our graph as Python objects.
struct Converter<'py, 'a> {
    py: Python<'py>,
    objects: &'a [Py<PyAny>],
    nodes: Vec<Option<Py<PyAny>>>,
    stacks: StackTexts,
    torch_graph: Bound<'py, PyAny>,
    /// graphs that nodes are given, by the names of the nodes that read them
    submodules: Bound<'py, PyDict>,
    /// graphs of the node at hand that have no name yet, by handle
    made: Vec<(u32, Py<PyAny>)>,
    /// names of those that have one, by handle
    named: FxHashMap<u32, String>,
    /// how many nodes read from the root module
    reads: usize,
    /// those of them that the node at hand is given
    unmarked: Vec<Bound<'py, PyAny>>,
    counts: Counts,
}

impl<'py> Converter<'py, '_> {
    fn object(&self, handle: u32) -> PyResult<Bound<'py, PyAny>> {
        self.objects
            .get(handle as usize)
            .map(|object| object.bind(self.py).clone())
            .ok_or_else(|| PyKeyError::new_err(format!("no object for handle {handle}")))
    }

    fn target(&self, node: &NodeData) -> PyResult<Bound<'py, PyAny>> {
        match &node.target {
            Target::Name(name) => Ok(PyString::new(self.py, name).into_any()),
            Target::Function(function) => self.object(function.handle),
        }
    }

    fn type_expr(&self, node: &NodeData) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &node.type_expr {
            Some(type_expr) => self.object(type_expr.handle).map(Some),
            None => Ok(None),
        }
    }

    /// The node that reads a graph from the root module, at the end of the graph so far.
    fn submodule(&mut self, handle: u32, part: &SubGraph) -> PyResult<Bound<'py, PyAny>> {
        if let Some(name) = self.named.get(&handle).cloned() {
            return self.read_from_root(&name);
        }
        let module = match self.made.iter().position(|made| made.0 == handle) {
            Some(at) => self.made.swap_remove(at).1,
            None => part.numbered_module(self.py, &self.counts)?,
        };
        let name = self.name_in_root(module.bind(self.py), part.name())?;
        let read = self.read_from_root(&name)?;
        self.named.insert(handle, name);
        Ok(read)
    }

    /// The node that reads an object from the root module, at the end of the graph so far.
    fn of_root(&mut self, object: &Bound<'py, PyAny>, stem: &str) -> PyResult<Bound<'py, PyAny>> {
        let name = self.name_in_root(object, stem)?;
        self.read_from_root(&name)
    }

    fn name_in_root(&mut self, object: &Bound<'py, PyAny>, stem: &str) -> PyResult<String> {
        let mut counts = self.counts.borrow_mut();
        let count = counts.entry(stem.to_owned()).or_default();
        let name = format!("{stem}_{count}");
        *count += 1;
        self.submodules.set_item(&name, object)?;
        Ok(name)
    }

    fn read_from_root(&mut self, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let given = ("get_attr", name, (), PyDict::new(self.py), name);
        let read = self.torch_graph.call_method1("create_node", given)?;
        self.reads += 1;
        self.unmarked.push(read.clone());
        Ok(read)
    }

    fn args(&mut self, args: &[Arg]) -> PyResult<Bound<'py, PyTuple>> {
        // As in torch, graphs inside of any of these come before these.
        for arg in args {
            let Arg::Opaque { handle, .. } = arg else {
                continue;
            };
            let object = self.object(*handle)?;
            if let Ok(part) = object.cast_exact::<SubGraph>()
                && !self.named.contains_key(handle)
            {
                let module = part.get().numbered_module(self.py, &self.counts)?;
                self.made.push((*handle, module));
            }
        }
        match args {
            [] => Ok(PyTuple::empty(self.py)),
            [one] => PyTuple::new(self.py, [self.arg(one)?]),
            [one, two] => PyTuple::new(self.py, [self.arg(one)?, self.arg(two)?]),
            _ => PyTuple::new(self.py, self.items(args)?),
        }
    }

    fn kwargs(&mut self, node: &NodeData) -> PyResult<Bound<'py, PyDict>> {
        let kwargs = PyDict::new(self.py);
        for (key, arg) in &node.kwargs {
            kwargs.set_item(PyString::intern(self.py, key), self.arg(arg)?)?;
        }
        Ok(kwargs)
    }

    fn items(&mut self, args: &[Arg]) -> PyResult<Vec<Bound<'py, PyAny>>> {
        args.iter().map(|arg| self.arg(arg)).collect()
    }

    fn arg(&mut self, arg: &Arg) -> PyResult<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match arg {
            Arg::Node(id) => match self.nodes.get(id.index()) {
                Some(Some(node)) => node.bind(py).clone(),
                _ => {
                    let message = format!("node %{} is used before it is defined", id.0);
                    return Err(PyValueError::new_err(message));
                }
            },
            Arg::None => py.None().into_bound(py),
            Arg::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
            Arg::Int(value) => value.into_pyobject(py)?.into_any(),
            Arg::Float(value) => value.into_pyobject(py)?.into_any(),
            Arg::Str(value) => PyString::new(py, value).into_any(),
            Arg::Ellipsis => PyEllipsis::get(py).to_owned().into_any(),
            Arg::Tuple(items) => PyTuple::new(py, self.items(items)?)?.into_any(),
            Arg::List(items) => PyList::new(py, self.items(items)?)?.into_any(),
            Arg::Dict(items) => {
                let dict = PyDict::new(py);
                for (key, value) in items {
                    dict.set_item(self.arg(key)?, self.arg(value)?)?;
                }
                dict.into_any()
            }
            Arg::Slice(parts) => {
                let [start, stop, step] = &**parts;
                py.get_type::<PySlice>().call1((
                    self.arg(start)?,
                    self.arg(stop)?,
                    self.arg(step)?,
                ))?
            }
            Arg::Opaque { handle, .. } => {
                let object = self.object(*handle)?;
                match object.cast_exact::<SubGraph>() {
                    Ok(part) => self.submodule(*handle, part.get())?,
                    // Generated code has no text for it.
                    Err(_) if torch_abi::custom::is_custom_object(&object)? => {
                        self.of_root(&object, "object")?
                    }
                    Err(_) => object,
                }
            }
            other => {
                let message = format!("no Python object for {other:?}");
                return Err(PyValueError::new_err(message));
            }
        })
    }
}

/// `node.meta['stack_trace']`: a traceback's lines, innermost frame last.
#[derive(Default)]
struct StackTexts {
    last: Option<(SourceStack, Py<PyString>)>,
    code: FxHashMap<(Arc<str>, u32), String>,
}

impl StackTexts {
    fn text(&mut self, py: Python<'_>, stack: &SourceStack) -> PyResult<Py<PyString>> {
        if let Some((known, text)) = &self.last
            && known == stack
        {
            return Ok(text.clone_ref(py));
        }
        let mut text = String::new();
        for line in stack.outermost_first() {
            let _ = writeln!(
                text,
                "  File \"{}\", line {}, in {}",
                line.file, line.line, line.function
            );
            let code = self.code(py, line)?;
            if !code.is_empty() {
                let _ = writeln!(text, "    {code}");
            }
        }
        let text = PyString::new(py, &text).unbind();
        self.last = Some((stack.clone(), text.clone_ref(py)));
        Ok(text)
    }

    fn code(&mut self, py: Python<'_>, line: &SourceLine) -> PyResult<&str> {
        use std::collections::hash_map::Entry;
        match self.code.entry((line.file.clone(), line.line)) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let code: String = py
                    .import(intern!(py, "linecache"))?
                    .call_method1(intern!(py, "getline"), (&*line.file, line.line))?
                    .extract()?;
                Ok(entry.insert(code.trim().to_owned()))
            }
        }
    }
}

/// Whether both ways of making nodes give the same graph on this torch.
pub(crate) fn direct_agrees(py: Python<'_>, fx: &Fx, direct: &Direct) -> PyResult<bool> {
    let mut graph = Graph::new();
    let x = graph.placeholder("x");
    let function = fx_graph::FnTarget::new(0, "<len>", "len", "len");
    let call = graph.call_function(
        function,
        vec![x.into(), Arg::List(vec![x.into(), 1i64.into()])],
        vec![("key".into(), Arg::slice(x.into(), Arg::None, Arg::None))],
    );
    let method = graph.call_method("size_3", vec![call.into()], Vec::new());
    graph.output(Arg::Tuple(vec![method.into()]));
    let objects = [py.import("builtins")?.getattr("len")?.unbind()];
    let described = |direct: Option<&Direct>| -> PyResult<Bound<'_, PyAny>> {
        let made = fx.graph_class.bind(py).call0()?;
        ToTorch::default().fill(&made, (fx, direct), &graph, &objects)?;
        made.call_method0("lint")?;
        describe(&made)
    };
    described(Some(direct))?.eq(described(None)?)
}

/// Everything that tells two graphs apart, as a Python list of strings.
fn describe<'py>(graph: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = graph.py();
    let facts = PyList::empty(py);
    facts.append(graph.str()?)?;
    let keys = |of: Bound<'py, PyAny>| py.get_type::<PyList>().call1((of,));
    for field in ["_used_names", "_base_count"] {
        let of = graph.getattr("_graph_namespace")?.getattr(field)?;
        let sorted = py.import("builtins")?.call_method1("sorted", (&of,))?;
        facts.append(sorted.repr()?)?;
    }
    facts.append(graph.getattr("_len")?.repr()?)?;
    facts.append(
        graph
            .getattr("_find_nodes_lookup_table")?
            .getattr("table")?
            .repr()?,
    )?;
    for node in keys(graph.getattr("nodes")?)?.try_iter()? {
        let node = node?;
        for field in ["name", "op", "target", "_args", "_kwargs", "users", "type"] {
            let value = node.getattr(field)?;
            facts.append(value.repr()?)?;
            facts.append(value.get_type().repr()?)?;
        }
        facts.append(node.getattr("_input_nodes")?.repr()?)?;
        facts.append(node.getattr("_sort_key")?.repr()?)?;
        facts.append(node.getattr("meta")?.repr()?)?;
        facts.append(node.getattr("__dict__")?.repr()?)?;
    }
    Ok(facts.into_any())
}
