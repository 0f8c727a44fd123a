//! A graph as a Python function without source: its code object is assembled from the graph.
//!
//! To print a graph and compile the text costs about 25 us a node; this costs one or two. The
//! function computes what the text's would: operators are operators, a value is dropped after its
//! last use.
//!
//! torch makes a tensor of a number that is an operand, at each call, which takes as long as a small operation.
//! Where nobody can tell, the function holds that tensor ([`Numbers`]).

use std::sync::atomic::{AtomicU64, Ordering};

use bytecode::op::{BinaryOp, CompareOp, ConstIdx, Label, LocalIdx, NameIdx, Op, UnaryOp};
use bytecode::{AsmInfo, BodyBuilder, Limits, Location, Version, assemble};
use fx_graph::{Arg, FnOrigin, Graph, NodeData, NodeId, OpKind, Target};
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyEllipsis, PyFloat, PyInt, PyString, PyTuple};
use rustc_hash::FxHashMap;
use torch_abi::contexts::leaving_level;

use crate::contexts::{Change, Changes, Exit, Setting};
use crate::names;
use crate::no_trace::{FILE, NOT_REPEATABLE, RANDOM_STATE, REPEATABLE, random_generator};
use crate::subgraph::SubGraph;
use crate::to_torch::Attrs;

/// `co_flags`: the locals are in fast slots.
const OPTIMIZED_NEWLOCALS: u32 = 0x1 | 0x2;

/// How many instructions a node takes, more or less.
const INSTRUCTIONS: usize = 8;

/// Functions made so far; the number is in the name of the file that tracebacks show.
static MADE: AtomicU64 = AtomicU64::new(0);

/// A function with the placeholders of `graph` as its parameters. `objects` resolves handles.
/// Attributes of the root module are bound, and tensors for numbers made, now. `None` for a graph that it cannot be
/// made of: one that takes `*args`, or a default value that could change.
///
/// # Errors
/// `KeyError` for a handle or an attribute that was not given, `ValueError` for a node that is used before it is
/// defined, `RuntimeError` where the code is not well formed.
pub fn forward_function(
    py: Python<'_>,
    graph: &Graph,
    objects: &[Py<PyAny>],
    attrs: &Attrs,
    numbers: Numbers,
) -> PyResult<Option<Py<PyAny>>> {
    let Some(version) = Version::from_minor(py.version_info().minor) else {
        return Ok(None);
    };
    let mut writer = Writer {
        py,
        objects,
        attrs,
        numbers,
        body: BodyBuilder::with_capacity(version, INSTRUCTIONS * graph.len()),
        consts: Vec::new(),
        const_index: FxHashMap::default(),
        names: Vec::new(),
        name_index: FxHashMap::default(),
        locals: Vec::with_capacity(graph.len()),
        places: vec![None; graph.id_bound()],
    };
    let Some(defaults) = writer.defaults(graph)? else {
        return Ok(None);
    };
    writer.graph(graph)?;
    writer
        .function(graph.placeholders().len(), defaults)
        .map(Some)
}

/// How a function holds the operands that are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// As they are.
    AsGiven,
    /// As tensors without dimensions, where the graph says that those give the same.
    AsTensors,
}

impl Numbers {
    /// As tensors, unless a mode looks at each operation.
    ///
    /// # Errors
    /// Where torch lacks the functions that say so.
    pub fn now(py: Python<'_>) -> PyResult<Numbers> {
        Ok(match torch_abi::contexts::modes_see_operations(py)? {
            false => Numbers::AsTensors,
            true => Numbers::AsGiven,
        })
    }
}

/// A context to leave where something raises: a function, and what it takes.
#[derive(Clone, Copy)]
struct Open {
    /// what entered it; `None` for the grad mode and flags, which are put back from where they are first set
    node: Option<NodeId>,
    leave: ConstIdx,
    argument: Option<LocalIdx>,
}

/// Instructions that run with the same contexts open.
struct Region {
    start: Label,
    end: Label,
    open: Vec<Open>,
}

/// The regions of a function, in order, while it is written.
#[derive(Default)]
struct Regions {
    done: Vec<Region>,
    start: Option<Label>,
    open: Vec<Open>,
    /// functions that set what is open
    set: Vec<u32>,
}

impl Regions {
    fn enter(&mut self, here: Label, open: Open) {
        self.close(here);
        self.open.push(open);
    }

    fn leave(&mut self, here: Label, node: NodeId) {
        self.close(here);
        self.open.retain(|open| open.node != Some(node));
    }

    fn close(&mut self, end: Label) {
        if let Some(start) = self.start.replace(end)
            && !self.open.is_empty()
        {
            let open = self.open.clone();
            self.done.push(Region { start, end, open });
        }
    }

    fn finish(mut self, end: Label) -> Vec<Region> {
        self.close(end);
        self.done
    }
}

struct Writer<'py, 'a> {
    py: Python<'py>,
    objects: &'a [Py<PyAny>],
    attrs: &'a Attrs,
    numbers: Numbers,
    body: BodyBuilder,
    consts: Vec<Bound<'py, PyAny>>,
    /// index of a constant by the address of its object; `consts` keeps it alive
    const_index: FxHashMap<usize, u32>,
    names: Vec<Bound<'py, PyString>>,
    name_index: FxHashMap<std::sync::Arc<str>, u32>,
    /// names of locals
    locals: Vec<Bound<'py, PyString>>,
    /// local of each node
    places: Vec<Option<LocalIdx>>,
}

impl<'py> Writer<'py, '_> {
    /// Default values of the last parameters; `None` where the parameters are not plain.
    fn defaults(&self, graph: &Graph) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let mut defaults = Vec::new();
        for &id in graph.placeholders() {
            let node = &graph[id];
            if node.target.name().is_some_and(|name| name.starts_with('*')) {
                return Ok(None);
            }
            match node.args.first() {
                None if defaults.is_empty() => {}
                None => return Ok(None),
                Some(arg) => match self.as_constant(arg)? {
                    Some(value) => defaults.push(value),
                    None => return Ok(None),
                },
            }
        }
        Ok(Some(defaults))
    }

    fn graph(&mut self, graph: &Graph) -> PyResult<()> {
        self.body.set_loc(Location::line(REPEATABLE));
        self.body.emit(Op::Resume(0));
        for &id in graph.placeholders() {
            let name = graph[id].target.name().map_or("", |name| name);
            self.local(id, name);
        }
        let changes = Changes::of(graph);
        let mut regions = Regions::default();
        let last = last_users(graph);
        let mut dead: Vec<NodeId> = Vec::new();
        let mut returned = false;
        let mut keeps = false;
        for (id, node) in graph.iter() {
            match node.op {
                OpKind::Placeholder => continue,
                OpKind::Output => {
                    self.arg(node.args.first().unwrap_or(&Arg::None))?;
                    self.body.emit(Op::ReturnValue);
                    returned = true;
                    break;
                }
                _ => {
                    if node.keeps_random_state {
                        self.keep_random_state()?;
                        keeps = true;
                    }
                    let repeatable = node.repeatable || node.draws && keeps;
                    let runs_once = !(repeatable || changes.at(id).is_some());
                    if runs_once && !node.may_refuse_write {
                        self.body.set_loc(Location::line(NOT_REPEATABLE));
                    }
                    match changes.at(id) {
                        Some(Change::Sets(setting)) if !regions.set.contains(&setting.set) => {
                            let kept = self.keep(setting)?;
                            regions.set.push(setting.set);
                            regions.enter(self.body.here(), kept);
                        }
                        Some(Change::Leaves(entered)) => {
                            regions.leave(self.body.here(), entered);
                        }
                        _ => {}
                    }
                    self.node(node)?;
                    if runs_once {
                        self.body.set_loc(Location::line(NOT_REPEATABLE));
                    }
                }
            }
            let place = self.local(id, &node.name);
            self.body.emit(Op::StoreFast(place));
            if let Some(Change::Enters(exit)) = changes.at(id) {
                let open = self.opened(id, exit)?;
                regions.enter(self.body.here(), open);
            }
            dead.clear();
            dead.extend(
                graph
                    .inputs(id)
                    .into_iter()
                    .filter(|input| last[input.index()] == Some(id)),
            );
            if !graph.has_users(id) {
                dead.push(id);
            }
            dead.dedup();
            for value in &dead {
                let place = self.place(*value)?;
                let none = self.none();
                self.body.emit(Op::LoadConst(none));
                self.body.emit(Op::StoreFast(place));
            }
        }
        if !returned {
            let none = self.none();
            self.body.emit(Op::LoadConst(none));
            self.body.emit(Op::ReturnValue);
        }
        for region in regions.finish(self.body.here()) {
            self.leave(&region);
        }
        Ok(())
    }

    /// Keeps the state of the CPU's random generator in a local.
    fn keep_random_state(&mut self) -> PyResult<()> {
        let ask = random_generator(self.py)?.getattr(intern!(self.py, "get_state"))?;
        self.keep_answer(ask, RANDOM_STATE);
        Ok(())
    }

    /// Keeps in a local of this name what a function without arguments gives.
    fn keep_answer(&mut self, ask: Bound<'py, PyAny>, name: &str) -> LocalIdx {
        let ask = self.constant(ask);
        let answer = LocalIdx(self.locals.len() as u32);
        self.locals.push(PyString::new(self.py, name));
        self.body.emit_callable(Op::LoadConst(ask));
        self.body.call(0);
        self.body.emit(Op::StoreFast(answer));
        answer
    }

    /// Keeps in a local what a node is about to set for the first time, and the function that sets it.
    fn keep(&mut self, setting: Setting) -> PyResult<Open> {
        let set = self.object(setting.set)?;
        let set = self.constant(set);
        let torch_c = self.py.import(names::TORCH_C)?;
        let before = self.keep_answer(torch_c.getattr(setting.ask)?, setting.ask);
        Ok(Open {
            node: None,
            leave: set,
            argument: Some(before),
        })
    }

    /// The context that a node has entered.
    fn opened(&mut self, node: NodeId, exit: Exit) -> PyResult<Open> {
        let mut leave = self.object(exit.function)?;
        if let Some(level) = exit.level {
            leave = leaving_level(&leave, level)?;
        }
        let leave = self.constant(leave);
        let argument = exit
            .entered
            .map(|entered| self.place(entered))
            .transpose()?;
        Ok(Open {
            node: Some(node),
            leave,
            argument,
        })
    }

    /// A handler that leaves contexts and raises again.
    fn leave(&mut self, region: &Region) {
        let handler = self.body.here();
        self.body
            .handler(region.start, region.end, handler, 0, false);
        for open in region.open.iter().rev() {
            self.body.emit_callable(Op::LoadConst(open.leave));
            if let Some(local) = open.argument {
                let check = false;
                self.body.emit(Op::LoadFast { local, check });
            }
            self.body.call(u32::from(open.argument.is_some()));
            self.body.emit(Op::PopTop);
        }
        self.body.emit(Op::Reraise(0));
    }

    fn local(&mut self, id: NodeId, name: &str) -> LocalIdx {
        let place = LocalIdx(self.locals.len() as u32);
        self.locals.push(PyString::new(self.py, name));
        self.places[id.index()] = Some(place);
        place
    }

    fn place(&self, id: NodeId) -> PyResult<LocalIdx> {
        self.places
            .get(id.index())
            .copied()
            .flatten()
            .ok_or_else(|| PyValueError::new_err("a node is used before it is defined"))
    }

    fn constant(&mut self, value: Bound<'py, PyAny>) -> ConstIdx {
        let next = self.consts.len() as u32;
        let index = *self
            .const_index
            .entry(value.as_ptr() as usize)
            .or_insert(next);
        if index == next {
            self.consts.push(value);
        }
        ConstIdx(index)
    }

    fn none(&mut self) -> ConstIdx {
        self.constant(self.py.None().into_bound(self.py))
    }

    fn name(&mut self, name: &std::sync::Arc<str>) -> NameIdx {
        if let Some(index) = self.name_index.get(name) {
            return NameIdx(*index);
        }
        let index = self.names.len() as u32;
        self.names.push(PyString::intern(self.py, name));
        self.name_index.insert(name.clone(), index);
        NameIdx(index)
    }

    fn object(&self, handle: u32) -> PyResult<Bound<'py, PyAny>> {
        self.objects
            .get(handle as usize)
            .map(|object| object.bind(self.py).clone())
            .ok_or_else(|| PyKeyError::new_err(format!("no object for handle {handle}")))
    }

    fn attr(&self, path: &str) -> PyResult<Bound<'py, PyAny>> {
        self.attrs
            .iter()
            .find(|(known, _)| **known == *path)
            .map(|(_, value)| value.bind(self.py).clone())
            .ok_or_else(|| PyKeyError::new_err(format!("no attribute {path}")))
    }

    /// A constant tensor that takes the place of a number.
    fn number(&mut self, node: &NodeData, arg: &Arg) -> PyResult<Option<ConstIdx>> {
        let Some(dtype) = node
            .number_dtype
            .filter(|_| self.numbers == Numbers::AsTensors)
        else {
            return Ok(None);
        };
        let Some(value) = operand(arg, dtype) else {
            return Ok(None);
        };
        let py = self.py;
        let torch = py.import(intern!(py, "torch"))?;
        let functions = py.import(names::TORCH_C)?.getattr(names::FUNCTIONS)?;
        let settings = PyDict::new(py);
        settings.set_item("dtype", torch.getattr(dtype.trim_start_matches("torch."))?)?;
        settings.set_item("device", "cpu")?;
        let tensor = functions.call_method("tensor", (value,), Some(&settings))?;
        Ok(Some(self.constant(tensor)))
    }

    /// `-- result` of a call.
    fn node(&mut self, node: &NodeData) -> PyResult<()> {
        match &node.target {
            Target::Function(function) => {
                if function.origin == FnOrigin::Operator
                    && node.kwargs.is_empty()
                    && let Some(operator) = operator(&function.hint, node.args.len())
                {
                    for arg in &node.args {
                        match self.number(node, arg)? {
                            Some(tensor) => self.body.emit(Op::LoadConst(tensor)),
                            None => self.arg(arg)?,
                        }
                    }
                    self.body.emit(operator);
                    return Ok(());
                }
                let object = self.object(function.handle)?;
                let callee = self.constant(object);
                self.body.emit_callable(Op::LoadConst(callee));
                self.call(&node.args, node)
            }
            Target::Name(name) if node.op == OpKind::GetAttr => {
                let value = self.attr(name)?;
                let value = self.constant(value);
                self.body.emit(Op::LoadConst(value));
                Ok(())
            }
            Target::Name(name) if node.op == OpKind::CallModule => {
                let module = self.attr(name)?;
                let callee = self.constant(module);
                self.body.emit_callable(Op::LoadConst(callee));
                self.call(&node.args, node)
            }
            Target::Name(name) => {
                let Some((receiver, rest)) = node.args.split_first() else {
                    return Err(PyValueError::new_err("a method call without an object"));
                };
                self.arg(receiver)?;
                let name = self.name(name);
                let null_first = self.body.version().null_first();
                self.body.emit(Op::LoadMethod { name, null_first });
                self.call(rest, node)
            }
        }
    }

    fn call(&mut self, args: &[Arg], node: &NodeData) -> PyResult<()> {
        for arg in args {
            self.arg(arg)?;
        }
        for (_, arg) in &node.kwargs {
            self.arg(arg)?;
        }
        let kw_names = match node.kwargs.is_empty() {
            true => None,
            false => {
                let keys = node
                    .kwargs
                    .iter()
                    .map(|(k, _)| PyString::intern(self.py, k));
                let keys = PyTuple::new(self.py, keys.collect::<Vec<_>>())?;
                Some(self.constant(keys.into_any()))
            }
        };
        let argc = (args.len() + node.kwargs.len()) as u32;
        self.body.emit(Op::Call { argc, kw_names });
        Ok(())
    }

    /// `-- value`
    fn arg(&mut self, arg: &Arg) -> PyResult<()> {
        if let Some(value) = self.as_constant(arg)? {
            let constant = self.constant(value);
            self.body.emit(Op::LoadConst(constant));
            return Ok(());
        }
        match arg {
            Arg::Node(id) => {
                let local = self.place(*id)?;
                let check = false;
                self.body.emit(Op::LoadFast { local, check });
            }
            Arg::Tuple(items) => {
                self.items(items)?;
                self.body.emit(Op::BuildTuple(items.len() as u32));
            }
            Arg::List(items) => {
                self.items(items)?;
                self.body.emit(Op::BuildList(items.len() as u32));
            }
            Arg::Dict(items) => {
                for (key, value) in items {
                    self.arg(key)?;
                    self.arg(value)?;
                }
                self.body.emit(Op::BuildMap(items.len() as u32));
            }
            Arg::Slice(parts) => {
                self.items(&parts[..])?;
                self.body.emit(Op::BuildSlice(3));
            }
            other => return Err(PyValueError::new_err(format!("no code for {other:?}"))),
        }
        Ok(())
    }

    fn items(&mut self, items: &[Arg]) -> PyResult<()> {
        items.iter().try_for_each(|item| self.arg(item))
    }

    /// The object where it is the same at each run: what cannot be changed, and what the graph was
    /// given.
    fn as_constant(&self, arg: &Arg) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = self.py;
        Ok(Some(match arg {
            Arg::None => py.None().into_bound(py),
            Arg::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
            Arg::Int(value) => PyInt::new(py, *value).into_any(),
            Arg::Float(value) => PyFloat::new(py, *value).into_any(),
            Arg::Str(value) => PyString::new(py, value).into_any(),
            Arg::Ellipsis => PyEllipsis::get(py).to_owned().into_any(),
            Arg::Opaque { handle, .. } => {
                let object = self.object(*handle)?;
                match object.cast_exact::<SubGraph>() {
                    Ok(part) => part.get().callable(py)?.into_bound(py),
                    Err(_) => object,
                }
            }
            Arg::Tuple(items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    match self.as_constant(item)? {
                        Some(value) => values.push(value),
                        None => return Ok(None),
                    }
                }
                PyTuple::new(py, values)?.into_any()
            }
            _ => return Ok(None),
        }))
    }

    fn function(self, argcount: usize, defaults: Vec<Bound<'py, PyAny>>) -> PyResult<Py<PyAny>> {
        let py = self.py;
        let ill_formed = |e: &dyn std::fmt::Display| PyRuntimeError::new_err(format!("graph: {e}"));
        let mut body = self.body.finish().map_err(|e| ill_formed(&e))?;
        body.borrow_loads().map_err(|e| ill_formed(&e))?;
        let limits = Limits {
            consts: self.consts.len() as u32,
            names: self.names.len() as u32,
            locals: self.locals.len() as u32,
        };
        let info = AsmInfo {
            firstlineno: 1,
            limits: Some(limits),
        };
        let out = assemble(&body, &info).map_err(|e| ill_formed(&e))?;
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let fields = PyDict::new(py);
        fields.set_item(intern!(py, "co_code"), PyBytes::new(py, &out.code))?;
        let lines = PyBytes::new(py, &out.linetable);
        fields.set_item(intern!(py, "co_linetable"), lines)?;
        let handlers = PyBytes::new(py, &out.exceptiontable);
        fields.set_item(intern!(py, "co_exceptiontable"), handlers)?;
        fields.set_item(intern!(py, "co_stacksize"), out.stacksize)?;
        let consts = PyTuple::new(py, self.consts)?;
        fields.set_item(intern!(py, "co_consts"), consts)?;
        let names = PyTuple::new(py, self.names)?;
        fields.set_item(intern!(py, "co_names"), names)?;
        fields.set_item(intern!(py, "co_nlocals"), self.locals.len())?;
        let locals = PyTuple::new(py, self.locals)?;
        fields.set_item(intern!(py, "co_varnames"), locals)?;
        fields.set_item(intern!(py, "co_argcount"), argcount)?;
        fields.set_item(intern!(py, "co_flags"), OPTIMIZED_NEWLOCALS)?;
        let file = format!("{FILE}{number}>");
        fields.set_item(intern!(py, "co_filename"), file)?;
        let (template, globals, class) = parts(py)?;
        let code = template
            .bind(py)
            .call_method("replace", (), Some(&fields))?;
        let defaults = match defaults.is_empty() {
            true => py.None().into_bound(py),
            false => PyTuple::new(py, defaults)?.into_any(),
        };
        let function = class.bind(py).call1((code, globals, "forward", defaults))?;
        Ok(function.unbind())
    }
}

/// A code object to fill in, the globals of all graphs' functions, and the class of functions.
type Parts = (Py<PyAny>, Py<PyDict>, Py<PyAny>);

fn parts(py: Python<'_>) -> PyResult<&Parts> {
    static PARTS: PyOnceLock<Parts> = PyOnceLock::new();
    PARTS.get_or_try_init(py, || {
        let globals = PyDict::new(py);
        globals.set_item("__builtins__", py.import("builtins")?)?;
        globals.set_item("__name__", "ferrodyn.graph")?;
        py.run(c"def forward(): pass", Some(&globals), None)?;
        let forward = globals.as_any().get_item("forward")?;
        globals.del_item("forward")?;
        let code = forward.getattr("__code__")?.unbind();
        let class = forward.get_type().into_any().unbind();
        Ok((code, globals.unbind(), class))
    })
}

/// For each node, by id, the last one that uses it.
fn last_users(graph: &Graph) -> Vec<Option<NodeId>> {
    let mut last = vec![None; graph.id_bound()];
    for user in graph.order() {
        for input in graph.inputs(user) {
            last[input.index()] = Some(user);
        }
    }
    last
}

/// A number as torch computes with it in a dtype, where it fits without a doubt about its rounding.
fn operand(arg: &Arg, dtype: &str) -> Option<f64> {
    let (whole, normal) = match dtype {
        "torch.float32" => (
            1 << f32::MANTISSA_DIGITS,
            f64::from(f32::MIN_POSITIVE)..=f64::from(f32::MAX),
        ),
        "torch.float64" => (1 << f64::MANTISSA_DIGITS, f64::MIN_POSITIVE..=f64::MAX),
        _ => return None,
    };
    match arg {
        Arg::Int(value) => (-whole..=whole).contains(value).then_some(*value as f64),
        // A thread may flush smaller ones to zero, and stop to do so.
        Arg::Float(value) => (*value == 0.0 || normal.contains(&value.abs())).then_some(*value),
        _ => None,
    }
}

/// The instruction of a function of `operator` that is one.
fn operator(name: &str, args: usize) -> Option<Op> {
    // `not x` asks for the truth of what is a tensor.
    let unary = UnaryOp::of_function(name).filter(|op| *op != UnaryOp::Not);
    let compare = CompareOp::of_function(name);
    match (args, unary, compare) {
        (1, Some(unary), _) => return Some(Op::Unary(unary)),
        (2, _, Some(op)) => return Some(Op::Compare { op, to_bool: false }),
        (2, None, None) if name == "getitem" => return Some(Op::BinarySubscr),
        (2, None, None) => {}
        _ => return None,
    }
    let (op, inplace) = BinaryOp::of_function(name)?;
    Some(Op::Binary { op, inplace })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_held_as_a_tensor_where_the_dtype_has_it() {
        let single = |arg| operand(&arg, "torch.float32");
        assert_eq!(single(Arg::Int(-3)), Some(-3.0));
        assert_eq!(single(Arg::Int((1 << 24) + 1)), None);
        assert_eq!(single(Arg::Float(0.1)), Some(0.1));
        assert_eq!(single(Arg::Float(1e39)), None);
        assert_eq!(single(Arg::Float(1e-42)), None);
        assert_eq!(single(Arg::Float(-0.0)), Some(0.0));
        assert_eq!(single(Arg::Float(f64::NAN)), None);
        assert_eq!(single(Arg::Bool(true)), None);
        assert_eq!(operand(&Arg::Float(1e39), "torch.float64"), Some(1e39));
        assert_eq!(operand(&Arg::Int(1), "torch.float16"), None);
    }

    #[test]
    fn operators_have_their_instruction() {
        let inplace = |op| Some(Op::Binary { op, inplace: true });
        assert_eq!(operator("iadd", 2), inplace(BinaryOp::Add));
        assert_eq!(operator("ior", 2), inplace(BinaryOp::Or));
        assert_eq!(operator("itruediv", 2), inplace(BinaryOp::TrueDivide));
        assert_eq!(operator("getitem", 2), Some(Op::BinarySubscr));
        assert_eq!(operator("neg", 1), Some(Op::Unary(UnaryOp::Negative)));
        assert_eq!(operator("add", 1), None);
        assert_eq!(operator("setitem", 3), None);
        assert_eq!(operator("index", 1), None);
    }
}
