//! What is called: a function, a method or an operator of NumPy, and torch's in its place.
//!
//! Not here: how a call becomes a node (`call`).
//!
//! Invariant: whether a function is universal is what NumPy says of it.

use pyo3::prelude::*;
use torch_abi::arrays::TorchNumpy;

/// What is called.
pub(crate) struct What<'a, 'py> {
    /// its name, in a reason and in the graph
    pub(crate) name: &'a str,
    /// NumPy's
    pub(crate) real: Bound<'py, PyAny>,
    /// torch's, where it has it
    pub(crate) torch: Option<Bound<'py, PyAny>>,
    /// whether it is computed item by item, so that operands become of one dtype first
    pub(crate) is_universal: bool,
    /// whether numbers among its arguments decide nothing but the items of its result
    pub(crate) takes_any_number: bool,
    /// whether it is a subscript, which NumPy refuses by the value of a number
    pub(crate) is_subscript: bool,
}

impl<'a, 'py> What<'a, 'py> {
    /// A function of NumPy, and torch's.
    ///
    /// # Errors
    /// Those of looking at NumPy.
    pub(crate) fn function(
        name: &'a str,
        real: Bound<'py, PyAny>,
        torch: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let numpy = real.py().import("numpy")?;
        let is_universal = real.is_instance(&numpy.getattr("ufunc")?)?;
        let is_choice = real.is(&numpy.getattr("where")?) || real.is(&numpy.getattr("clip")?);
        Ok(What {
            name,
            real,
            torch,
            is_universal,
            takes_any_number: is_universal || is_choice,
            is_subscript: false,
        })
    }

    /// NumPy's function of this name.
    ///
    /// # Errors
    /// Where there is none.
    pub(crate) fn named(py: Python<'py>, name: &'a str) -> PyResult<Self> {
        let real = py.import("numpy")?.getattr(name)?;
        let torch = TorchNumpy::get(py)?.of(&real);
        Self::function(name, real, torch)
    }

    /// Whether it is one of these functions, each named in its module.
    ///
    /// # Errors
    /// Where a module has no such name.
    pub(crate) fn is_one_of(&self, functions: &[(&str, &[&str])]) -> PyResult<bool> {
        let py = self.real.py();
        for (module, names) in functions {
            let module = py.import(*module)?.into_any();
            for name in *names {
                let found = name
                    .split('.')
                    .try_fold(module.clone(), |o, n| o.getattr(n))?;
                if found.is(&self.real) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
