//! Function modes of this thread, put aside for a while.

use pyo3::prelude::*;

use crate::names;

/// The stack of torch function modes, which is empty until this value is dropped.
pub struct ModesAside<'py> {
    modes: Vec<Bound<'py, PyAny>>,
    push: Bound<'py, PyAny>,
}

impl<'py> ModesAside<'py> {
    /// Empties the stack.
    ///
    /// # Errors
    /// Whatever torch raises.
    pub fn new(py: Python<'py>) -> PyResult<Self> {
        let torch_c = py.import(names::TORCH_C)?;
        let pop = torch_c.getattr(names::POP_FUNCTION_MODE)?;
        let mut aside = ModesAside {
            modes: Vec::new(),
            push: torch_c.getattr(names::PUSH_FUNCTION_MODE)?,
        };
        let depth: usize = torch_c.call_method0(names::FUNCTION_STACK_LEN)?.extract()?;
        for _ in 0..depth {
            aside.modes.push(pop.call0()?);
        }
        Ok(aside)
    }
}

impl Drop for ModesAside<'_> {
    fn drop(&mut self) {
        // An error that is on its way is the caller's; pushing raises none.
        while let Some(mode) = self.modes.pop() {
            if let Err(e) = self.push.call1((mode,)) {
                e.write_unraisable(self.push.py(), None);
            }
        }
    }
}
