//! Functions that torch or the program mark: allowed in the graph, not allowed there, or kept out of capture.
//!
//! Not here: functions of Python with a meaning of their own for a tracer (`state_calls` in `torch-rules`).

use pyo3::prelude::*;

use crate::stop::{BreakReason, R, Stop};
use crate::tx::{Tx, qualified_name};
use torch_abi::marks;

impl<'py> Tx<'py> {
    /// Whether a callable goes into the graph as it is.
    ///
    /// # Errors
    /// Whatever looking at it raises.
    pub fn is_graph_function(&self, f: &Bound<'py, PyAny>) -> R<bool> {
        if self.functions.get(f).is_some() {
            return Ok(true);
        }
        let ty = f.get_type();
        let name = ty.name()?;
        let name = name.to_cow()?;
        if matches!(&*name, "OpOverload" | "OpOverloadPacket" | "CustomOpDef") {
            return Ok(true);
        }
        self.is_allowed_in_graph(f)
    }

    /// `torch.compiler.allow_in_graph`.
    pub fn is_allowed_in_graph(&self, f: &Bound<'py, PyAny>) -> R<bool> {
        self.has_mark(f, 0)
    }

    /// `torch.compiler.nonstrict_trace`.
    pub fn is_nonstrict(&self, f: &Bound<'py, PyAny>) -> R<bool> {
        Ok(self.functions.get(f).is_none() && self.has_mark(f, 1)?)
    }

    /// `torch.compiler.disallow_in_graph`.
    pub(super) fn is_disallowed_in_graph(&self, f: &Bound<'py, PyAny>) -> R<bool> {
        self.has_mark(f, 2)
    }

    /// Whether one of torch's functions has marked a callable: only where its tracer was imported.
    fn has_mark(&self, f: &Bound<'py, PyAny>, table: usize) -> R<bool> {
        let marked = match self.facts.marked[table].get() {
            Some(marked) => marked,
            None => {
                let marked = marks::marked(self.py, marks::TABLES[table])?.map(Bound::unbind);
                self.facts.marked[table].get_or_init(|| marked)
            }
        };
        match marked {
            Some(ids) => Ok(ids.bind(self.py).contains(f.as_ptr() as usize)?),
            None => Ok(false),
        }
    }
}

/// The break for a callable that the user (or torch) keeps out of capture.
pub fn disabled(f: &Bound<'_, PyAny>) -> Stop {
    let name = qualified_name(f);
    let message = f
        .getattr("_torchdynamo_disable_msg")
        .ok()
        .filter(|m| !m.is_none())
        .map(|m| m.to_string());
    let why = message.map_or_else(String::new, |m| format!(" Reason: {m}"));
    Stop::Break(Box::new(BreakReason {
        reason: format!("Skip calling `disable`d function `{name}`"),
        explanation: format!(
            "`{name}` was marked with `disable`, so that it runs in eager mode.{why}"
        ),
        hints: vec![format!("Remove the `disable` marker from `{name}`.")],
        context: name,
        ..BreakReason::default()
    }))
}
