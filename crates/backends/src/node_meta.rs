//! `meta` of a node whose fake value is made when somebody asks for it.

use pyo3::PyTraverseError;
use pyo3::exceptions::PyKeyError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use crate::names;
use crate::propagate::LateValues;

/// A dictionary that says of the node's value that it is there, and has it made when it is read, or when all items are.
#[pyclass(extends = PyDict, frozen, module = "ferrodyn._core")]
pub(crate) struct NodeMeta {
    values: Py<LateValues>,
}

impl NodeMeta {
    /// Makes a node's dictionary one of these.
    ///
    /// # Errors
    /// Where the node does not let its dictionary be replaced.
    pub(crate) fn install(node: &Bound<'_, PyAny>, values: &Py<LateValues>) -> PyResult<()> {
        let py = node.py();
        let known = node.getattr("meta")?;
        node.setattr("meta", NodeMeta::with(py, values, known.cast::<PyDict>()?)?)
    }

    fn with<'py>(
        py: Python<'py>,
        values: &Py<LateValues>,
        known: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, NodeMeta>> {
        let values = values.clone_ref(py);
        let made = Bound::new(py, NodeMeta { values })?;
        for (key, value) in known.iter() {
            made.as_super().set_item(key, value)?;
        }
        Ok(made)
    }

    fn is_late(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(slf.get().values.get().is_open()
            && key
                .cast::<PyString>()
                .is_ok_and(|key| key == names::EXAMPLE_VALUE)
            && !slf.as_super().contains(key)?)
    }

    fn prepare(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        match NodeMeta::is_late(slf, key)? {
            true => slf.get().values.get().fill(slf.py()),
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
        slf.get().values.get().fill(py)?;
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
        Ok(slf.as_super().contains(key)? || NodeMeta::is_late(slf, key)?)
    }

    fn __bool__(slf: &Bound<'_, Self>) -> bool {
        !slf.as_super().is_empty() || slf.get().values.get().is_open()
    }

    /// torch copies the dictionary of each node that it goes over.
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let values = slf.get().values.clone_ref(slf.py());
        NodeMeta::with(slf.py(), &values, slf.as_super()).map(Bound::into_any)
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        NodeMeta::copy(slf)
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        NodeMeta::of_dict(slf, "__iter__", &[])
    }

    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        slf.get().values.get().fill(slf.py())?;
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
        visit.call(&self.values)
    }
}
