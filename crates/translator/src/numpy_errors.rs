//! What NumPy does where a result overflows or has no value, while the interpreter runs its code.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};

use crate::known::Known;

/// While this is there, NumPy raises where what it does is up to `numpy.seterr` otherwise (a warning, an exception,
/// nothing): [`crate::tx::Tx::raise_pyerr`] makes a break of it.
pub(crate) struct StrictErrors<'py>(Option<Strict<'py>>);

/// A state that NumPy's `errstate` enters, and what it is to put back.
struct Strict<'py> {
    numpy: Bound<'py, PyModule>,
    state: Bound<'py, PyAny>,
    before: Bound<'py, PyDict>,
}

impl<'py> StrictErrors<'py> {
    /// Does nothing where NumPy is not there.
    ///
    /// # Errors
    /// What NumPy raises; an interrupt.
    pub(crate) fn enter(py: Python<'py>, known: &Known) -> PyResult<Self> {
        if !known.has_numpy() {
            return Ok(Self(None));
        }
        let numpy = py.import("numpy")?;
        let wanted = PyDict::new(py);
        wanted.set_item("all", "raise")?;
        let strict = Strict {
            before: numpy.call_method0("geterr")?.cast_into::<PyDict>()?,
            state: numpy.call_method("errstate", (), Some(&wanted))?,
            numpy,
        };
        let entered = Self(Some(strict));
        if let Self(Some(strict)) = &entered {
            strict.state.call_method0("__enter__")?;
        }
        Ok(entered)
    }
}

impl Strict<'_> {
    /// An interrupt may have come in the middle of entering or leaving, which are Python code.
    fn put_back(&self) -> PyResult<()> {
        if self.numpy.call_method0("geterr")?.eq(&self.before)? {
            return Ok(());
        }
        let set = self.numpy.call_method("seterr", (), Some(&self.before));
        set.map(drop)
    }
}

impl Drop for StrictErrors<'_> {
    fn drop(&mut self) {
        if let Some(strict) = &self.0 {
            let py = strict.state.py();
            let none = py.None();
            // There is nobody to tell where either fails.
            let _ = interrupts::to_the_end(py, || {
                (strict.state).call_method1("__exit__", (&none, &none, &none))
            });
            let _ = interrupts::to_the_end(py, || strict.put_back());
        }
    }
}
