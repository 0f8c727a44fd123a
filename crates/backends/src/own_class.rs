//! Classes of Python code that stand in for torch's until somebody looks.

use std::ffi::CStr;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// Such a class, made at its first use.
pub(crate) struct OwnClass {
    code: &'static CStr,
    name: &'static str,
    made: PyOnceLock<Py<PyAny>>,
}

impl OwnClass {
    /// The class that `code` defines under `name`.
    pub(crate) const fn new(code: &'static CStr, name: &'static str) -> OwnClass {
        OwnClass {
            code,
            name,
            made: PyOnceLock::new(),
        }
    }

    /// The class.
    ///
    /// # Errors
    /// What running the code raises the first time.
    pub(crate) fn get<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let class = self.made.get_or_try_init(py, || -> PyResult<_> {
            let scope = PyDict::new(py);
            scope.set_item("__name__", "ferrodyn._core")?;
            py.run(self.code, Some(&scope), None)?;
            Ok(scope.as_any().get_item(self.name)?.unbind())
        });
        class.map(|class| class.bind(py))
    }
}
