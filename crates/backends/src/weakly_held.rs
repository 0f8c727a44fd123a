//! What torch's structures of one call of a backend refer to weakly, and what takes that back.
//!
//! Torch exchanges no tensors that somebody refers to weakly (`torch.utils.swap_tensors`), and a mode of fake tensors,
//! the record of symbolic contexts and the arguments on placeholders all do, as long as what was compiled lives.
//!
//! Not here: what a late context keeps (`late_context`), which has none of them.

use pyo3::intern;
use pyo3::prelude::*;

use crate::names;

/// Where tensors of the program are referred to weakly after a call.
pub(crate) struct WeaklyHeld {
    /// modes of fake tensors
    pub(crate) modes: Vec<Py<PyAny>>,
    /// torch's record of symbolic contexts, by tensor
    pub(crate) contexts: Py<PyAny>,
    /// nodes with an argument of the graph in their metadata
    pub(crate) placeholders: Vec<Py<PyAny>>,
}

impl WeaklyHeld {
    /// Refers to none from here on. What is compiled later, such as a backward graph, needs nothing of it: torch's own
    /// tracer does the same behind a backend that it knows.
    ///
    /// # Errors
    /// What torch's structures raise.
    pub(crate) fn let_go(&self, py: Python<'_>) -> PyResult<()> {
        let clear = |of: &Bound<'_, PyAny>| of.call_method0(intern!(py, "clear")).map(drop);
        clear(self.contexts.bind(py))?;
        for mode in &self.modes {
            let mut describer = mode.bind(py).clone();
            for name in names::DESCRIBER {
                describer = describer.getattr(name)?;
            }
            for name in names::DESCRIBED {
                clear(&describer.getattr(name)?)?;
            }
        }
        for node in &self.placeholders {
            let meta = node.bind(py).getattr(intern!(py, "meta"))?;
            meta.call_method1(intern!(py, "pop"), (names::GRAPH_ARGUMENT_KEY, py.None()))?;
        }
        Ok(())
    }
}
