//! From a `torch.fx.GraphModule` to our graph.
//!
//! The graph keeps torch's names. Objects that are neither nodes nor constants get handles; the
//! same object gets the same handle.

use std::sync::Arc;

use fx_graph::{Arg, FnTarget, Graph, Kwargs, NodeId, OpKind, Target, TypeExpr};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyEllipsis, PyFloat, PyInt, PyList, PySlice, PyString, PyTuple};
use rustc_hash::FxHashMap;

use crate::function::fn_target;
use crate::fx::fx;
use crate::names;

/// A graph that came from torch.
pub struct FromTorch {
    /// The graph. Source lines, where nodes have a `stack_trace`, are not read back.
    pub graph: Graph,
    /// What the handles of the graph stand for.
    pub objects: Vec<Py<PyAny>>,
    /// The attributes of the module that its nodes name, each once.
    pub attrs: Vec<(Arc<str>, Py<PyAny>)>,
}

/// Reads the graph of a `torch.fx.GraphModule`.
///
/// # Errors
/// `ValueError` for a graph that ours cannot hold, such as one with nodes inside a named tuple; what
/// attribute access raises.
pub fn from_torch(module: &Bound<'_, PyAny>) -> PyResult<FromTorch> {
    let py = module.py();
    let mut reader = Reader {
        node_class: fx(py)?.node_class.bind(py).clone().into_any(),
        graph: Graph::new(),
        objects: Vec::new(),
        handles: FxHashMap::default(),
        functions: FxHashMap::default(),
        nodes: FxHashMap::default(),
    };
    let mut attrs: Vec<(Arc<str>, Py<PyAny>)> = Vec::new();
    for node in module.getattr("graph")?.getattr("nodes")?.try_iter()? {
        let (op, target) = reader.node(&node?)?;
        if let (OpKind::GetAttr | OpKind::CallModule, Target::Name(name)) = (op, target)
            && !attrs.iter().any(|(known, _)| *known == name)
        {
            let mut value = module.clone();
            for part in name.split('.') {
                value = value.getattr(part)?;
            }
            attrs.push((name, value.unbind()));
        }
    }
    Ok(FromTorch {
        graph: reader.graph,
        objects: reader.objects,
        attrs,
    })
}

struct Reader<'py> {
    node_class: Bound<'py, PyAny>,
    graph: Graph,
    objects: Vec<Py<PyAny>>,
    /// Handles by address; `objects` keeps the addresses taken.
    handles: FxHashMap<usize, u32>,
    functions: FxHashMap<u32, Arc<FnTarget>>,
    nodes: FxHashMap<usize, NodeId>,
}

impl<'py> Reader<'py> {
    fn handle(&mut self, object: &Bound<'py, PyAny>) -> u32 {
        let objects = &mut self.objects;
        *self
            .handles
            .entry(object.as_ptr() as usize)
            .or_insert_with(|| {
                objects.push(object.clone().unbind());
                objects.len() as u32 - 1
            })
    }

    fn node(&mut self, node: &Bound<'py, PyAny>) -> PyResult<(OpKind, Target)> {
        let py = node.py();
        let op: String = node.getattr(intern!(py, "op"))?.extract()?;
        let op = OpKind::from_name(&op)
            .ok_or_else(|| PyValueError::new_err(format!("no operation {op:?}")))?;
        let target = node.getattr(intern!(py, "target"))?;
        let target = if op == OpKind::CallFunction {
            let handle = self.handle(&target);
            let function = match self.functions.get(&handle) {
                Some(function) => function.clone(),
                None => {
                    let function = fn_target(&target, handle)?;
                    self.functions.insert(handle, function.clone());
                    function
                }
            };
            Target::Function(function)
        } else {
            Target::Name(target.extract::<String>()?.into())
        };
        let args = self.items(&node.getattr(intern!(py, "args"))?)?;
        let mut kwargs = Kwargs::new();
        for (key, value) in node
            .getattr(intern!(py, "kwargs"))?
            .cast::<PyDict>()?
            .iter()
        {
            kwargs.push((key.extract::<String>()?.into(), self.arg(&value)?));
        }
        let name: String = node.getattr(intern!(py, "name"))?.extract()?;
        let id = self
            .graph
            .create_exactly_named(op, target.clone(), args, kwargs, name.into())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        // A named tuple, or another class of the user's, may hold nodes where ours cannot see them.
        if self.graph.inputs(id).len() != node.getattr(intern!(py, "_input_nodes"))?.len()? {
            return Err(PyValueError::new_err(format!(
                "{} holds nodes in a container that has no form in a graph",
                node.repr()?
            )));
        }
        let type_object = node.getattr(intern!(py, "type"))?;
        if !type_object.is_none() {
            let code = py
                .import(intern!(py, names::FX_NODE))?
                .call_method1(intern!(py, "_type_repr"), (&type_object,))?
                .extract::<String>()?
                .into();
            let handle = self.handle(&type_object);
            let type_expr = Arc::new(TypeExpr { handle, code });
            self.graph.set_type(id, Some(type_expr));
        }
        // A module's purity is the module's affair; what torch cannot say is kept.
        let impure = match op {
            OpKind::CallFunction | OpKind::CallModule => node
                .call_method0(intern!(py, "is_impure"))
                .and_then(|impure| impure.is_truthy())
                .unwrap_or(true),
            _ => false,
        };
        self.graph.set_impure(id, impure);
        self.nodes.insert(node.as_ptr() as usize, id);
        Ok((op, target))
    }

    fn items(&mut self, items: &Bound<'py, PyAny>) -> PyResult<Vec<Arg>> {
        items.try_iter()?.map(|item| self.arg(&item?)).collect()
    }

    fn arg(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Arg> {
        let py = value.py();
        if value.is_none() {
            return Ok(Arg::None);
        }
        if value.is_instance(&self.node_class)? {
            return match self.nodes.get(&(value.as_ptr() as usize)) {
                Some(id) => Ok(Arg::Node(*id)),
                None => Err(PyValueError::new_err(format!(
                    "{} is used before it is defined",
                    value.repr()?
                ))),
            };
        }
        if let Ok(value) = value.cast_exact::<PyBool>() {
            return Ok(Arg::Bool(value.is_true()));
        }
        if value.cast_exact::<PyInt>().is_ok()
            && let Ok(value) = value.extract::<i64>()
        {
            return Ok(Arg::Int(value));
        }
        if let Ok(value) = value.cast_exact::<PyFloat>() {
            return Ok(Arg::Float(value.value()));
        }
        if let Ok(text) = value.cast_exact::<PyString>()
            && let Ok(text) = text.to_str()
        {
            return Ok(Arg::Str(text.into()));
        }
        if value.is(PyEllipsis::get(py)) {
            return Ok(Arg::Ellipsis);
        }
        if value.cast_exact::<PyTuple>().is_ok() {
            return Ok(Arg::Tuple(self.items(value)?));
        }
        if value.is_instance_of::<PyList>() {
            return Ok(Arg::List(self.items(value)?));
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            let mut items = Vec::with_capacity(dict.len());
            for (key, value) in dict.iter() {
                items.push((self.arg(&key)?, self.arg(&value)?));
            }
            return Ok(Arg::Dict(items));
        }
        if value.is_instance_of::<PySlice>() {
            let start = self.arg(&value.getattr(intern!(py, "start"))?)?;
            let stop = self.arg(&value.getattr(intern!(py, "stop"))?)?;
            let step = self.arg(&value.getattr(intern!(py, "step"))?)?;
            return Ok(Arg::slice(start, stop, step));
        }
        let repr = value.repr()?.to_string().into();
        Ok(Arg::Opaque {
            handle: self.handle(value),
            repr,
        })
    }
}
