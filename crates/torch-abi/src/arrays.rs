//! NumPy as torch has it: functions of the same names, on tensors.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};

/// Modules of NumPy, and those that have their functions on tensors.
const MODULES: [(&str, &str); 3] = [
    ("numpy", "torch._numpy"),
    ("numpy.linalg", "torch._numpy.linalg"),
    ("numpy.fft", "torch._numpy.fft"),
];

/// Functions and classes of NumPy that torch has.
pub struct TorchNumpy {
    /// the class of arrays on tensors; its attribute `tensor` is the tensor
    pub ndarray: Py<PyAny>,
    /// address of a function or class of NumPy, which is never unloaded, to torch's
    functions: HashMap<usize, (&'static str, Py<PyAny>)>,
}

static TABLE: PyOnceLock<TorchNumpy> = PyOnceLock::new();

impl TorchNumpy {
    /// The table, made when it is first asked for.
    ///
    /// # Errors
    /// Where NumPy is not installed, or torch has none of it.
    pub fn get(py: Python<'_>) -> PyResult<&'static TorchNumpy> {
        TABLE.get_or_try_init(py, || TorchNumpy::new(py))
    }

    fn new(py: Python<'_>) -> PyResult<TorchNumpy> {
        let mut functions = HashMap::new();
        for (real, torch) in MODULES {
            let real_names = dict_of(py, real)?;
            for (name, on_tensors) in dict_of(py, torch)? {
                let name: String = name.extract()?;
                let Some(function) = real_names.get_item(&name)? else {
                    continue;
                };
                if name.starts_with('_') || !function.is_callable() || !on_tensors.is_callable() {
                    continue;
                }
                let function = function.unbind();
                let known = (real, on_tensors.unbind());
                functions.entry(function.as_ptr() as usize).or_insert(known);
                // Held for ever: an address in the table stays taken.
                std::mem::forget(function);
            }
        }
        let ndarray = py.import(MODULES[0].1)?.getattr("ndarray")?.unbind();
        Ok(TorchNumpy { ndarray, functions })
    }

    /// What torch has for a function or class of NumPy.
    pub fn of<'py>(&self, function: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        let found = self.functions.get(&(function.as_ptr() as usize));
        found.map(|(_, f)| f.bind(function.py()).clone())
    }

    /// What torch has for a method or an attribute of arrays.
    pub fn of_arrays<'py>(&self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyAny>> {
        self.ndarray.bind(py).getattr(name).ok()
    }

    /// Where a function of torch's is, as [`TorchNumpy::at`] finds it: a module, and names in it.
    ///
    /// # Errors
    /// Where a module of torch's is gone.
    pub fn place(&self, function: &Bound<'_, PyAny>) -> PyResult<Option<(&'static str, String)>> {
        let py = function.py();
        for (_, module) in MODULES {
            for (name, value) in dict_of(py, module)? {
                if value.is(function) {
                    return Ok(Some((module, name.extract()?)));
                }
            }
        }
        let own = self.ndarray.bind(py).getattr("__dict__")?;
        for item in own.call_method0("items")?.try_iter()? {
            let (name, value): (String, Bound<'_, PyAny>) = item?.extract()?;
            if value.is(function) {
                return Ok(Some((MODULES[0].1, format!("ndarray.{name}"))));
            }
        }
        Ok(None)
    }

    /// What a module of torch's NumPy has under names, each an attribute of the one before; `None` for any other module.
    ///
    /// # Errors
    /// Where there is nothing.
    pub fn at<'py>(
        py: Python<'py>,
        module: &str,
        path: &str,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !MODULES.iter().any(|(_, torch)| *torch == module) {
            return Ok(None);
        }
        let mut found = py.import(module)?.into_any();
        for name in path.split('.') {
            found = found.getattr(name)?;
        }
        Ok(Some(found))
    }

    /// The part of NumPy that a function is in; `None` where it is in NumPy itself.
    pub fn module_of(&self, function: &Bound<'_, PyAny>) -> Option<&'static str> {
        let (module, _) = self.functions.get(&(function.as_ptr() as usize))?;
        module.split_once('.').map(|(_, part)| part)
    }
}

/// What is in a module already: to ask for more may import other modules.
fn dict_of<'py>(py: Python<'py>, module: &str) -> PyResult<Bound<'py, PyDict>> {
    let module = py.import(module)?;
    Ok(module.cast::<PyModule>().map_err(PyErr::from)?.dict())
}
