//! Python code of our own that graphs and residual code call: a module made at its first use.
//!
//! Not here: the code itself, which stands beside what uses it.

use std::ffi::CStr;

use crate::Obj;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// A module that is no file, once for the process.
pub struct OwnModule {
    module: PyOnceLock<Obj>,
    code: &'static CStr,
    file: &'static CStr,
    name: &'static CStr,
}

impl OwnModule {
    /// `file` is what tracebacks name.
    pub const fn new(code: &'static CStr, file: &'static CStr, name: &'static CStr) -> OwnModule {
        OwnModule {
            module: PyOnceLock::new(),
            code,
            file,
            name,
        }
    }

    /// The module, where it was used before.
    pub fn made<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.module.get(py).map(|module| module.bind(py).clone())
    }

    /// Whether it has this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name.to_bytes() == name.as_bytes()
    }

    /// The module.
    ///
    /// # Errors
    /// What running the code raises the first time.
    pub fn get<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let module = self.module.get_or_try_init(py, || -> PyResult<Obj> {
            let module = PyModule::from_code(py, self.code, self.file, self.name)?;
            Ok(module.into_any().unbind())
        })?;
        Ok(module.bind(py).clone())
    }
}
