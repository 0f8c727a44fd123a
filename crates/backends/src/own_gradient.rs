//! Gradients that the program itself can't compute.
//!
//! Eager PyTorch finds out in `backward` that a tensor which it saved was written to, and only if somebody calls it. A
//! compiler traces the backward along with the graph, and raises at once. Invariant: nothing of the program is run with
//! data, and a failure to find out is none of the program's.

use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use torch_abi::{TensorClass, TorchAbi};

use crate::names;

/// Whether the gradients of a graph can't be computed, by a run of its function with fake tensors for the examples.
///
/// # Errors
/// Interrupts only.
pub fn cannot_be_differentiated(
    function: &Bound<'_, PyAny>,
    examples: &Bound<'_, PyList>,
) -> PyResult<bool> {
    let found = backward(function, examples);
    interrupts::check(function.py())?;
    Ok(matches!(found, Ok(true)))
}

/// The same. An error is one of the forward, or of the fake tensors.
fn backward(function: &Bound<'_, PyAny>, examples: &Bound<'_, PyList>) -> PyResult<bool> {
    let py = function.py();
    let Some(abi) = TorchAbi::loaded() else {
        return Ok(false);
    };
    let is_tensor = |o: &Bound<'_, PyAny>| abi.classify(o) != TensorClass::No;
    let requires_grad = |o: &Bound<'_, PyAny>| -> PyResult<bool> {
        Ok(is_tensor(o) && o.getattr(intern!(py, "requires_grad"))?.is_truthy()?)
    };
    let options = PyDict::new(py);
    options.set_item("allow_non_fake_inputs", true)?;
    let class = py.import(names::FAKE_TENSOR)?.getattr("FakeTensorMode")?;
    let mode = class.call((), Some(&options))?;
    let fakes = examples.iter().map(|example| match is_tensor(&example) {
        true => mode.call_method1("from_tensor", (example,)),
        false => Ok(example),
    });
    let fakes = PyTuple::new(py, fakes.collect::<PyResult<Vec<_>>>()?)?;
    let mut inputs = Vec::new();
    for fake in &fakes {
        if requires_grad(&fake)? {
            inputs.push(fake);
        }
    }
    if inputs.is_empty() {
        return Ok(false);
    }
    mode.call_method0(intern!(py, "__enter__"))?;
    let result = (|| {
        let mut sums = Vec::new();
        for output in function.call1(&fakes)?.try_iter()? {
            let output = output?;
            if requires_grad(&output)? {
                sums.push(output.call_method0(intern!(py, "sum"))?);
            }
        }
        let unused = PyDict::new(py);
        unused.set_item("allow_unused", true)?;
        let grad = py.import("torch.autograd")?.getattr("grad")?;
        let gradients = grad.call((sums, inputs), Some(&unused));
        Ok(gradients.is_err_and(|error| error.is_instance_of::<PyRuntimeError>(py)))
    })();
    let none = py.None();
    mode.call_method1(intern!(py, "__exit__"), (&none, &none, &none))?;
    result
}
