//! What nodes of the graph call: functions of torch's NumPy on tensors.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PySlice, PyTuple};
use rustc_hash::FxHashMap;
use std::sync::Mutex;
use torch_abi::arrays::TorchNumpy;
use variables::Obj;

/// A function of arrays, as one of tensors: those that it is given become arrays on their memory, and what it gives
/// becomes tensors again.
#[pyclass(frozen, immutable_type, module = "ferrodyn._core")]
pub(crate) struct ArrayOperation {
    function: Obj,
    /// the function's name, for people
    name: String,
}

#[pymethods]
impl ArrayOperation {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let table = TorchNumpy::get(py)?;
        let ends = Ends {
            tensor: py.import("torch")?.getattr("Tensor")?,
            ndarray: table.ndarray.bind(py).clone(),
        };
        let args = args.iter().map(|a| ends.array(&a));
        let args = PyTuple::new(py, args.collect::<PyResult<Vec<_>>>()?)?;
        let named = PyDict::new(py);
        for (name, value) in kwargs.into_iter().flatten() {
            named.set_item(name, ends.array(&value)?)?;
        }
        ends.tensor(&self.function.bind(py).call(args, Some(&named))?)
    }

    #[getter(__name__)]
    fn wrapped_name(&self) -> String {
        format!("wrapped_{}", self.name)
    }

    #[getter(__qualname__)]
    fn qualname(&self) -> String {
        self.wrapped_name()
    }

    /// What makes it in another process: see [`torch_abi::made`].
    #[getter(__ferrodyn_made__)]
    fn made<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = FUNCTIONS.get(py)?.getattr("array_operation")?;
        let function = self.function.bind(py);
        match TorchNumpy::get(py)?.place(function)? {
            Some((module, path)) => (make, module, path, &self.name).into_pyobject(py),
            None => (make, py.None(), function, &self.name).into_pyobject(py),
        }
    }

    fn __repr__(&self) -> String {
        format!("<operation {}>", self.wrapped_name())
    }
}

/// The classes on both sides of an operation.
struct Ends<'py> {
    tensor: Bound<'py, PyAny>,
    ndarray: Bound<'py, PyAny>,
}

impl<'py> Ends<'py> {
    /// An argument: tensors in it become arrays.
    fn array(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if value.is_instance(&self.tensor)? {
            return self.ndarray.call1((value,));
        }
        if let Ok(slice) = value.cast_exact::<PySlice>() {
            let part = |name| self.array(&slice.getattr(name)?);
            let parts = (part("start")?, part("stop")?, part("step")?);
            return slice.get_type().call1(parts);
        }
        self.each(value, Self::array)
    }

    /// A result: arrays in it become tensors. None of them is a view that conjugates what it shows: NumPy has none.
    fn tensor(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if value.is_instance(&self.ndarray)? {
            return value.getattr("tensor")?.call_method0("resolve_conj");
        }
        self.each(value, Self::tensor)
    }

    fn each(
        &self,
        value: &Bound<'py, PyAny>,
        convert: fn(&Self, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        if let Ok(items) = value.cast::<PyTuple>() {
            let items = items.iter().map(|i| convert(self, &i));
            let items = items.collect::<PyResult<Vec<_>>>()?;
            return Ok(PyTuple::new(py, items)?.into_any());
        }
        if let Ok(items) = value.cast_exact::<PyList>() {
            let items = items.iter().map(|i| convert(self, &i));
            let items = items.collect::<PyResult<Vec<_>>>()?;
            return Ok(PyList::new(py, items)?.into_any());
        }
        Ok(value.clone())
    }
}

/// Operations by the address of their functions, which they hold: there is one of each.
static MADE: PyOnceLock<Mutex<FxHashMap<(usize, String), Obj>>> = PyOnceLock::new();

/// The operation of a function.
///
/// # Errors
/// Where it cannot be made.
pub(crate) fn operation(function: &Bound<'_, PyAny>, name: &str) -> PyResult<Obj> {
    let py = function.py();
    let made = MADE.get_or_init(py, Mutex::default);
    let key = (function.as_ptr() as usize, name.to_owned());
    let found = |m: &FxHashMap<_, Obj>| m.get(&key).cloned();
    if let Some(operation) = made.lock().ok().and_then(|m| found(&m)) {
        return Ok(operation);
    }
    let operation = ArrayOperation {
        function: function.clone().unbind(),
        name: name.to_owned(),
    };
    let operation = Py::new(py, operation)?.into_any();
    if let Ok(mut made) = made.lock() {
        made.insert(key, operation.clone());
    }
    Ok(operation)
}

variables::own_module! {
    static FUNCTIONS = (c"", c"<ferrodyn arrays>", c"ferrodyn_arrays", |module| {
        module.add_function(wrap_pyfunction!(array_operation, module)?)?;
        module.add_function(wrap_pyfunction!(array_of, module)?)?;
        module.add_function(wrap_pyfunction!(read_only_array_of, module)?)?;
        module.add_function(wrap_pyfunction!(number_of, module)?)
    });
}

/// The operation of a function, which is there in a module of torch's NumPy, or of one that is given without a module.
#[pyfunction]
fn array_operation(module: Option<&str>, function: &Bound<'_, PyAny>, name: &str) -> PyResult<Obj> {
    let Some(module) = module else {
        return operation(function, name);
    };
    let path: String = function.extract()?;
    let found = TorchNumpy::at(function.py(), module, &path)?;
    let found = found.ok_or_else(|| PyValueError::new_err("no module of torch's NumPy"))?;
    operation(&found, name)
}

/// The array on a tensor's memory.
#[pyfunction]
fn array_of<'py>(tensor: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    tensor.call_method0("numpy")
}

/// The same, where the program may not write to it.
#[pyfunction]
fn read_only_array_of<'py>(tensor: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let array = tensor.call_method0("numpy")?;
    array.getattr("flags")?.setattr("writeable", false)?;
    Ok(array)
}

/// The number of NumPy's that a tensor holds.
#[pyfunction]
fn number_of<'py>(tensor: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let array = tensor.call_method0("numpy")?;
    array.get_item(PyTuple::empty(tensor.py()))
}

/// What makes a value of NumPy's of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Maker {
    Array,
    ReadOnlyArray,
    Number,
}

static MAKERS: PyOnceLock<[Obj; 3]> = PyOnceLock::new();

impl Maker {
    /// The function.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub(crate) fn function(self, py: Python<'_>) -> PyResult<Obj> {
        let makers = MAKERS.get_or_try_init(py, || -> PyResult<[Obj; 3]> {
            let functions = FUNCTIONS.get(py)?;
            let function = |name| functions.getattr(name).map(Bound::unbind);
            Ok([
                function("array_of")?,
                function("read_only_array_of")?,
                function("number_of")?,
            ])
        })?;
        Ok(makers[self as usize].clone())
    }
}
