//! Callables that programs mark for tracers (`torch.compiler.allow_in_graph` and the like): torch keeps their addresses.

use pyo3::prelude::*;

use crate::imported::imported;
use crate::names;

/// torch's tables of marked callables.
pub const TABLES: [&str; 3] = [
    "_allowed_callable_ids",
    "_nonstrict_trace_callable_ids",
    "_disallowed_callable_ids",
];

/// The addresses in a table; `None` where nothing is marked, or torch's tracer was not imported.
///
/// # Errors
/// Where torch lacks the table.
pub fn marked<'py>(py: Python<'py>, table: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(rules) = imported(py, names::DYNAMO_TRACE_RULES)? else {
        return Ok(None);
    };
    let ids = rules.getattr(table)?;
    let ids = ids.getattr("function_ids").or_else(|_| ids.call0())?;
    Ok((ids.len()? > 0).then_some(ids))
}
