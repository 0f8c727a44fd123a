//! Functions that torch or the program mark: allowed in the graph, not allowed there, or kept out of capture.
//!
//! Not here: functions of Python with a meaning of their own for a tracer (`state_calls` in `torch-rules`).

use pyo3::prelude::*;

use crate::stop::{BreakReason, R, Stop};
use crate::tx::{Tx, qualified_name};
use torch_abi::names;

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
        let ids = self.marked_ids("_allowed_callable_ids")?;
        Ok(ids.is_some_and(|ids| ids.contains(f.as_ptr() as usize).unwrap_or(false)))
    }

    /// `torch.compiler.nonstrict_trace`.
    pub fn is_nonstrict(&self, f: &Bound<'py, PyAny>) -> R<bool> {
        if self.functions.get(f).is_some() {
            return Ok(false);
        }
        let ids = self.marked_ids("_nonstrict_trace_callable_ids")?;
        Ok(ids.is_some_and(|ids| ids.contains(f.as_ptr() as usize).unwrap_or(false)))
    }

    /// `torch.compiler.disallow_in_graph`.
    pub(super) fn is_disallowed_in_graph(&mut self, f: &Bound<'py, PyAny>) -> R<bool> {
        if self.facts.disallowed.is_none() {
            let ids = self.marked_ids("_disallowed_callable_ids")?;
            let some = ids.filter(|ids| ids.len().is_ok_and(|n| n > 0));
            self.facts.disallowed = Some(some.map(Bound::unbind));
        }
        let Some(Some(ids)) = &self.facts.disallowed else {
            return Ok(false);
        };
        Ok(ids.bind(self.py).contains(f.as_ptr() as usize)?)
    }

    /// What was marked by torch's own functions: only where its tracer was imported.
    fn marked_ids(&self, table: &str) -> R<Option<Bound<'py, PyAny>>> {
        let modules = self.known.sys_modules.bind(self.py);
        let Ok(rules) = modules.get_item(names::DYNAMO_TRACE_RULES) else {
            return Ok(None);
        };
        let ids = rules.getattr(table)?;
        let ids = ids.getattr("function_ids").or_else(|_| ids.call0())?;
        Ok(Some(ids))
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
