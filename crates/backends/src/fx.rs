//! The classes and methods of `torch.fx`, looked up once.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::names;

/// Handles into `torch.fx`.
pub(crate) struct Fx {
    pub graph_class: Py<PyAny>,
    pub node_class: Py<PyType>,
    pub lazy_module_class: Py<PyAny>,
    /// `forward` of a lazy module whose code is not generated yet.
    pub lazy_forward: Py<PyAny>,
    pub immutable_dict: Py<PyAny>,
    /// How nodes are made without `Graph.create_node`; see [`Fx::direct`].
    direct: PyOnceLock<Option<Direct>>,
}

/// The C methods of the base class of `Node`.
pub(crate) struct Direct {
    pub new: Py<PyAny>,
    pub init: Py<PyAny>,
    pub set_args: Py<PyAny>,
    pub prepend: Py<PyAny>,
}

static FX: PyOnceLock<Fx> = PyOnceLock::new();

/// The handles, after `torch.fx` was imported. The first call takes about 0.2 ms.
pub(crate) fn fx(py: Python<'_>) -> PyResult<&Fx> {
    FX.get_or_try_init(py, || Fx::load(py))
}

impl Fx {
    fn load(py: Python<'_>) -> PyResult<Fx> {
        let node_class = py
            .import(names::FX_NODE)?
            .getattr("Node")?
            .cast_into::<PyType>()?;
        let lazy_module_class = py
            .import(names::FX_LAZY)?
            .getattr(names::LAZY_GRAPH_MODULE)?;
        Ok(Fx {
            graph_class: py.import(names::FX_GRAPH)?.getattr("Graph")?.unbind(),
            lazy_forward: lazy_module_class.getattr(names::LAZY_FORWARD)?.unbind(),
            lazy_module_class: lazy_module_class.unbind(),
            immutable_dict: py
                .import("torch.fx.immutable_collections")?
                .getattr("immutable_dict")?
                .unbind(),
            direct: PyOnceLock::new(),
            node_class: node_class.unbind(),
        })
    }

    /// How nodes are made without `Graph.create_node`; `None` where this torch has it otherwise. The first call makes
    /// a small graph both ways.
    pub(crate) fn direct(&self, py: Python<'_>) -> Option<&Direct> {
        let find = || {
            let direct = Direct::load(py, self.node_class.bind(py)).ok()?;
            let agrees = crate::to_torch::direct_agrees(py, self, &direct);
            matches!(agrees, Ok(true)).then_some(direct)
        };
        self.direct.get_or_init(py, find).as_ref()
    }
}

impl Direct {
    fn load(py: Python<'_>, node_class: &Bound<'_, PyType>) -> PyResult<Direct> {
        let base = py.import(names::TORCH_C)?.getattr(names::NODE_BASE)?;
        Ok(Direct {
            new: node_class.getattr("__new__")?.unbind(),
            init: base.getattr("__init__")?.unbind(),
            set_args: base.getattr("_update_args_kwargs")?.unbind(),
            prepend: base.getattr("_prepend")?.unbind(),
        })
    }
}
