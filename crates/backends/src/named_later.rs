//! One of torch's own backends by its name, found when a graph is first compiled with it: torch's registry imports all
//! of torch's compiler.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::registry::from_torch;

/// Stands for the backend that torch has under a name: a function, which has nothing to reset.
#[pyclass(frozen, module = "ferrodyn._core")]
pub(crate) struct NamedLater {
    name: &'static str,
    found: PyOnceLock<Py<PyAny>>,
}

impl NamedLater {
    pub(crate) fn new(name: &'static str) -> NamedLater {
        NamedLater {
            name,
            found: PyOnceLock::new(),
        }
    }
}

#[pymethods]
impl NamedLater {
    #[getter]
    fn compiler_name(&self) -> &'static str {
        self.name
    }

    #[pyo3(signature = (graph, inputs, **kwargs))]
    fn __call__<'py>(
        &self,
        graph: Bound<'py, PyAny>,
        inputs: Bound<'py, PyAny>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = graph.py();
        let found = self.found.get_or_try_init(py, || {
            from_torch(py, self.name)
                .map(Bound::unbind)
                .map_err(PyErr::from)
        })?;
        found.bind(py).call((graph, inputs), kwargs)
    }
}
