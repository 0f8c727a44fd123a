//! `meta` of a node part of which is made when somebody asks for it.

use pyo3::PyTraverseError;
use pyo3::exceptions::PyKeyError;
use pyo3::gc::PyVisit;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};

use crate::late_context::LateContext;
use crate::module_stacks::ModuleStacks;
use crate::names;
use crate::propagate::{LateValues, parts};

/// What makes the part that is late.
pub(crate) enum Late {
    /// The node's fake value.
    Value(Py<LateValues>),
    /// All that torch's tracer writes to a node.
    Context(Py<LateContext>),
    /// What another node's dictionary is given, of which this one is a copy.
    Copy(Py<NodeMeta>),
}

impl Late {
    /// What is made; the fake value first.
    fn keys(&self) -> &'static [&'static str] {
        const ALL: [&str; 5] = [
            names::EXAMPLE_VALUE,
            names::TENSOR_DICT,
            names::GRAPH_ARGUMENT_KEY,
            names::SOURCE_STACK,
            names::MODULE_STACK,
        ];
        match self {
            Late::Value(_) => &ALL[..1],
            Late::Context(_) => &ALL,
            Late::Copy(of) => of.get().late.keys(),
        }
    }

    /// Whether there may be more than there is.
    fn is_open(&self, py: Python<'_>) -> bool {
        match self {
            Late::Value(values) => values.get().is_open(),
            Late::Context(context) => context.get().is_open(),
            Late::Copy(of) => {
                let given = |key: &&str| of.bind(py).as_super().contains(*key).unwrap_or(false);
                of.get().late.is_open(py) || self.keys().iter().any(given)
            }
        }
    }

    fn fill(&self, py: Python<'_>) -> PyResult<()> {
        match self {
            Late::Value(values) => values.get().fill(py),
            Late::Context(context) => context.get().fill(py),
            Late::Copy(of) => of.get().late.fill(py),
        }
    }
}

/// A dictionary that says of what is late that it is there, and has it made when it is read, or when all items are.
#[pyclass(extends = PyDict, frozen, module = "ferrodyn._core")]
pub(crate) struct NodeMeta {
    late: Late,
}

impl NodeMeta {
    /// Makes a node's dictionary one of these.
    ///
    /// # Errors
    /// Where the node does not let its dictionary be replaced.
    pub(crate) fn install(node: &Bound<'_, PyAny>, late: Late) -> PyResult<()> {
        let py = node.py();
        let known = node.getattr("meta")?;
        node.setattr("meta", NodeMeta::with(py, late, known.cast::<PyDict>()?)?)
    }

    fn with<'py>(
        py: Python<'py>,
        late: Late,
        known: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, NodeMeta>> {
        let made = Bound::new(py, NodeMeta { late })?;
        for (key, value) in known.iter() {
            made.as_super().set_item(key, value)?;
        }
        Ok(made)
    }

    fn is_late(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let late = &slf.get().late;
        Ok(late.is_open(slf.py())
            && key
                .cast::<PyString>()
                .is_ok_and(|key| late.keys().iter().any(|late| key == late))
            && !slf.as_super().contains(key)?)
    }

    /// Has everything made that is late.
    fn fill(slf: &Bound<'_, Self>) -> PyResult<()> {
        let late = &slf.get().late;
        if !late.is_open(slf.py()) {
            return Ok(());
        }
        late.fill(slf.py())?;
        if let Late::Copy(of) = late {
            let of = of.bind(slf.py());
            for key in late.keys() {
                if let Some(value) = of.as_super().get_item(key)?
                    && !slf.as_super().contains(key)?
                {
                    slf.as_super().set_item(key, value)?;
                }
            }
        }
        Ok(())
    }

    fn prepare(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        match NodeMeta::is_late(slf, key)? {
            true => NodeMeta::fill(slf),
            false => Ok(()),
        }
    }

    /// `dict`'s own method, when all items are there.
    fn of_dict<'py>(
        slf: &Bound<'py, Self>,
        method: &str,
        others: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        NodeMeta::fill(slf)?;
        let args = std::iter::once(slf.as_any()).chain(others);
        py.get_type::<PyDict>()
            .call_method1(method, PyTuple::new(py, args.collect::<Vec<_>>())?)
    }
}

#[pymethods]
impl NodeMeta {
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        NodeMeta::prepare(slf, key)?;
        let found = slf.as_super().get_item(key)?;
        found.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    #[pyo3(signature = (key, default=None, /))]
    fn get<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        NodeMeta::prepare(slf, key)?;
        Ok(slf.as_super().get_item(key)?.or(default))
    }

    fn __contains__(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Late::Value(_) = slf.get().late {
            return Ok(slf.as_super().contains(key)? || NodeMeta::is_late(slf, key)?);
        }
        NodeMeta::prepare(slf, key)?;
        slf.as_super().contains(key)
    }

    fn __bool__(slf: &Bound<'_, Self>) -> bool {
        !slf.as_super().is_empty() || slf.get().late.is_open(slf.py())
    }

    /// torch copies the dictionary of each node that it goes over.
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let late = Late::Copy(slf.clone().unbind());
        NodeMeta::with(slf.py(), late, slf.as_super()).map(Bound::into_any)
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        NodeMeta::copy(slf)
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        NodeMeta::of_dict(slf, "__iter__", &[])
    }

    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        NodeMeta::fill(slf)?;
        Ok(slf.as_super().len())
    }

    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        NodeMeta::of_dict(slf, "keys", &[])
    }

    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        NodeMeta::of_dict(slf, "values", &[])
    }

    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        NodeMeta::of_dict(slf, "items", &[])
    }

    #[pyo3(signature = (*args))]
    fn pop<'py>(slf: &Bound<'py, Self>, args: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        NodeMeta::of_dict(slf, "pop", &args.iter().collect::<Vec<_>>())
    }

    #[pyo3(signature = (*args))]
    fn setdefault<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        NodeMeta::of_dict(slf, "setdefault", &args.iter().collect::<Vec<_>>())
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        NodeMeta::of_dict(slf, "__repr__", &[])
    }

    fn __eq__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        NodeMeta::of_dict(slf, "__eq__", std::slice::from_ref(other))
    }

    /// Written down, it is a dictionary like any other.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyAny>,))> {
        let plain = NodeMeta::of_dict(slf, "copy", &[])?;
        Ok((slf.py().get_type::<PyDict>(), (plain,)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.late {
            Late::Value(values) => visit.call(values),
            Late::Context(context) => visit.call(context),
            Late::Copy(of) => visit.call(of),
        }
    }
}

/// Writes to the nodes what torch's tracer keeps of them. What is said of their values may be made `late`.
pub(crate) fn mark_nodes(
    gm: &Bound<'_, PyAny>,
    modules: &ModuleStacks,
    late: Option<&Py<LateValues>>,
) -> PyResult<()> {
    modules.write(gm)?;
    mark_graph(gm, modules, late, &PyList::empty(gm.py()))
}

/// As [`mark_nodes`], of a graph and those in it. `around`: what is said of the node that is given the graph.
fn mark_graph(
    gm: &Bound<'_, PyAny>,
    modules: &ModuleStacks,
    late: Option<&Py<LateValues>>,
    around: &Bound<'_, PyList>,
) -> PyResult<()> {
    let py = gm.py();
    for node in gm.getattr("graph")?.getattr("nodes")?.try_iter()? {
        let node = node?;
        let op: String = node.getattr(intern!(py, "op"))?.extract()?;
        if op.starts_with("call_") {
            let layer = match around.is_empty() {
                true => modules.layer(&node)?,
                false => None,
            };
            let made_by = match layer {
                Some(layer) => layer,
                None => node.getattr("target")?,
            };
            let stack = around.get_slice(0, around.len());
            stack.append((node.getattr("name")?, made_by))?;
            node.getattr("meta")?.set_item(names::SOURCE_STACK, stack)?;
        }
        if let Some(run) = late
            && (!matches!(&*op, "placeholder" | "output") || !around.is_empty())
        {
            NodeMeta::install(&node, Late::Value(run.clone_ref(py)))?;
        }
    }
    for (part, user) in parts(gm)? {
        let stack = user.getattr("meta")?.get_item(names::SOURCE_STACK)?;
        mark_graph(&part, modules, late, stack.cast()?)?;
    }
    Ok(())
}
