//! torch's inductor without options, which is imported when a graph is first compiled with it.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::names;

/// Stands for torch's own wrapper of inductor until a graph is compiled: making that imports torch's compiler.
#[pyclass(frozen, module = "ferrodyn._core")]
pub(crate) struct Inductor {
    dynamic: Option<bool>,
    name: Option<String>,
    made: PyOnceLock<Py<PyAny>>,
}

impl Inductor {
    pub(crate) fn new(dynamic: Option<bool>, name: Option<&str>) -> Inductor {
        Inductor {
            dynamic,
            name: name.map(str::to_owned),
            made: PyOnceLock::new(),
        }
    }

    fn wrapper<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let made = self.made.get_or_try_init(py, || {
            wrapper(py, None, None, self.dynamic, self.name.as_deref()).map(Bound::unbind)
        })?;
        Ok(made.bind(py))
    }
}

#[pymethods]
impl Inductor {
    #[classattr]
    fn compiler_name() -> &'static str {
        "inductor"
    }

    /// What torch's wrapper was made of: no options.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.wrapper(py)?.getattr(intern!(py, "config"))
    }

    fn __call__<'py>(
        &self,
        graph: Bound<'py, PyAny>,
        inputs: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.wrapper(graph.py())?.call1((graph, inputs))
    }

    /// What torch's wrapper does where compiled code is forgotten.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(made) = self.made.get(py) {
            made.call_method0(py, intern!(py, "reset"))?;
        }
        Ok(())
    }
}

/// torch's own wrapper, which turns modes into options and checks both.
pub(crate) fn wrapper<'py>(
    py: Python<'py>,
    mode: Option<&str>,
    options: Option<&Bound<'py, PyAny>>,
    dynamic: Option<bool>,
    name: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let wrapper = py
        .import("torch")?
        .getattr(names::INDUCTOR_WRAPPER)?
        .call1((mode, options, dynamic))?;
    if let Some(name) = name {
        // Not every torch's wrapper takes one.
        wrapper.setattr(intern!(py, "name"), name)?;
    }
    Ok(wrapper)
}
