//! Which calls of modules a node was made in, as torch's tracer keeps it in the metadata of nodes.
//!
//! What is noted before a backend runs is small; the dictionaries are made when somebody looks.

use std::sync::Arc;

use fx_graph::{Graph, ModuleCall};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use rustc_hash::FxHashMap;

use crate::names;

/// The calls of modules in which the nodes of a graph were made, by the names of nodes.
#[derive(Default)]
pub(crate) struct ModuleStacks {
    calls: FxHashMap<Arc<str>, Arc<ModuleCall>>,
    /// classes of modules, by handle
    classes: FxHashMap<u32, Py<PyAny>>,
}

impl ModuleStacks {
    /// What is to be said of the nodes of a graph.
    pub(crate) fn of(py: Python<'_>, graph: Option<(&Graph, &[Py<PyAny>])>) -> ModuleStacks {
        let mut of = ModuleStacks::default();
        let Some((graph, objects)) = graph else {
            return of;
        };
        for (_, node) in graph.iter() {
            let Some(call) = &node.module else { continue };
            of.calls.insert(node.name.clone(), call.clone());
            let mut next = Some(call);
            while let Some(call) = next {
                if let Some(class) = objects.get(call.class as usize) {
                    let known = of.classes.entry(call.class);
                    known.or_insert_with(|| class.clone_ref(py));
                }
                next = call.outer.as_ref();
            }
        }
        of
    }

    /// Writes it to the nodes of a graph module: to inputs what is said of the first node that uses them.
    pub(crate) fn write(&self, gm: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.calls.is_empty() {
            return Ok(());
        }
        let py = gm.py();
        let mut made = Made {
            stacks: FxHashMap::default(),
            taken: FxHashMap::default(),
        };
        let name = |node: &Bound<'_, PyAny>| node.getattr(intern!(py, "name"))?.extract::<String>();
        let mut inputs = Vec::new();
        for node in gm.getattr("graph")?.getattr("nodes")?.try_iter()? {
            let node = node?;
            if node.getattr(intern!(py, "op"))?.eq("placeholder")? {
                inputs.push(node);
            } else if let Some(call) = self.calls.get(&*name(&node)?) {
                let stack = made.stack(py, self, call)?;
                node.getattr(intern!(py, "meta"))?
                    .set_item(intern!(py, names::MODULE_STACK), stack.copy()?)?;
            }
        }
        for node in inputs {
            let mut users = node.getattr(intern!(py, "users"))?.try_iter()?;
            let Some(user) = users.next() else { continue };
            if let Some(call) = self.calls.get(&*name(&user?)?) {
                let stack = made.stack(py, self, call)?;
                node.getattr(intern!(py, "meta"))?
                    .set_item(intern!(py, names::MODULE_STACK), stack.copy()?)?;
            }
        }
        Ok(())
    }

    /// The layer of torch's that made a node, where it is one that computes by itself.
    pub(crate) fn layer<'py>(
        &self,
        node: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = node.py();
        let name: String = node.getattr(intern!(py, "name"))?.extract()?;
        let call = self.calls.get(&*name);
        let Some(class) = call.and_then(|call| self.classes.get(&call.class)) else {
            return Ok(None);
        };
        let class = class.bind(py).cast::<PyType>()?;
        let is_in = |module: &str| -> PyResult<bool> {
            let known = py.import(module)?.getattr_opt(class.name()?)?;
            Ok(known.is_some_and(|known| known.is(class)))
        };
        let is_layer = is_in(names::LAYERS)? && !is_in(names::CONTAINERS)?;
        Ok(is_layer.then(|| class.clone().into_any()))
    }

    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.classes
            .values()
            .try_for_each(|class| visit.call(class))
    }
}

/// What was made for nodes before.
struct Made<'py> {
    stacks: FxHashMap<*const ModuleCall, Bound<'py, PyDict>>,
    /// how many calls there were of a path
    taken: FxHashMap<String, usize>,
}

impl<'py> Made<'py> {
    /// The modules that were being called, outermost first: paths and classes.
    fn stack(
        &mut self,
        py: Python<'py>,
        of: &ModuleStacks,
        call: &Arc<ModuleCall>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let at = Arc::as_ptr(call);
        if let Some(stack) = self.stacks.get(&at) {
            return Ok(stack.clone());
        }
        let stack = match &call.outer {
            Some(outer) => self.stack(py, of, outer)?.copy()?,
            None => PyDict::new(py),
        };
        let class = of.classes.get(&call.class);
        stack.set_item(self.key(call), (&call.path, class))?;
        self.stacks.insert(at, stack.clone());
        Ok(stack)
    }

    /// Tells a call from others: a module may be called more than once.
    fn key(&mut self, call: &Arc<ModuleCall>) -> String {
        let taken = self.taken.entry(call.path.clone()).or_default();
        *taken += 1;
        match *taken {
            1 => call.module.to_string(),
            count => format!("{}@{}", call.module, count - 1),
        }
    }
}
