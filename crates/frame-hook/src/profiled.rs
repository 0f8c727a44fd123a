//! torch's profiler begins and ends: from then on calls are measured, or no more.
//!
//! torch keeps a flag for it, which one function of its writes. That function is replaced by one that calls it and then
//! looks at the flag, so that a call of compiled code need not.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use torch_abi::profiler;

/// In the place of torch's function.
#[pyclass(frozen, module = "ferrodyn._core")]
struct ProfilerSwitch {
    function: Py<PyAny>,
}

#[pymethods]
impl ProfilerSwitch {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let result = self.function.call(py, args, kwargs)?;
        look(py)?;
        Ok(result)
    }
}

fn look(py: Python<'_>) -> PyResult<()> {
    eval_frame::hook::set_measured(profiler::follow(py)?);
    Ok(())
}

/// Follows torch's flag from here on.
///
/// # Errors
/// What reading or setting an attribute of torch's module raises.
pub(crate) fn follow(py: Python<'_>) -> PyResult<()> {
    let Some((module, function)) = profiler::switch(py) else {
        return Ok(());
    };
    if function.cast::<ProfilerSwitch>().is_err() {
        let function = function.unbind();
        let ours = Bound::new(py, ProfilerSwitch { function })?;
        profiler::replace_switch(&module, ours.into_any())?;
    }
    look(py)
}
