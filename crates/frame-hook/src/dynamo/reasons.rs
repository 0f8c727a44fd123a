//! The text of a graph break, and its exception: reason, explanation, hints, and the user's own stack.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use translator::BreakReason;
use translator::state::Frame;

/// `File "...", line N, in f` with the source line below it, outermost first. `caller` is the frame
/// that called the translated one.
pub fn user_stack(
    py: Python<'_>,
    caller: Option<&Bound<'_, PyAny>>,
    innermost: &Frame,
) -> Vec<String> {
    let mut out = stack_of(caller);
    let mut inner = Vec::new();
    let mut frame = Some(innermost);
    while let Some(f) = frame {
        inner.push(line_of(
            py,
            &f.code.filename,
            f.code.line(f.ip),
            &f.code.name,
        ));
        frame = f.parent.as_deref();
    }
    out.extend(inner.into_iter().rev());
    out
}

/// The stack from the outermost frame down to `caller`.
pub fn stack_of(caller: Option<&Bound<'_, PyAny>>) -> Vec<String> {
    caller
        .and_then(|c| outer_frames(c).ok())
        .unwrap_or_default()
}

fn outer_frames(caller: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let py = caller.py();
    let summary = py
        .import("traceback")?
        .call_method1("extract_stack", (caller,))?;
    summary
        .try_iter()?
        .map(|f| {
            let f = f?;
            let file: String = f.getattr("filename")?.extract()?;
            let line: Option<u32> = f.getattr("lineno")?.extract()?;
            let name: String = f.getattr("name")?.extract()?;
            Ok(line_of(py, &file, line.unwrap_or(0), &name))
        })
        .collect()
}

fn line_of(py: Python<'_>, file: &str, line: u32, function: &str) -> String {
    let text = source_line(py, file, line);
    let head = format!("File \"{file}\", line {line}, in {function}");
    if text.is_empty() {
        head
    } else {
        format!("{head}\n    {text}")
    }
}

/// A source line without its indentation; empty where it can't be had.
pub fn source_line(py: Python<'_>, file: &str, line: u32) -> String {
    py.import("linecache")
        .and_then(|l| l.call_method1("getline", (file, line)))
        .and_then(|l| l.extract::<String>())
        .map(|l| l.trim().to_string())
        .unwrap_or_default()
}

/// The same, for who has no interpreter at hand.
pub fn read_line(file: &str, line: u32) -> String {
    Python::attach(|py| source_line(py, file, line))
}

/// The whole message, as the log `graph_breaks` and `Unsupported` show it.
pub fn message(reason: &BreakReason, stack: &[String], location: &str) -> String {
    let mut out = format!(
        "Graph break in user code at {location}\nGraph Break Reason: {}\n",
        reason.reason
    );
    out.push_str(&body(reason, stack));
    out
}

/// Explanation, hints, context and stack.
pub fn body(reason: &BreakReason, stack: &[String]) -> String {
    let mut out = format!("  Explanation: {}\n", reason.explanation);
    for hint in &reason.hints {
        out.push_str(&format!("  Hint: {hint}\n"));
    }
    out.push_str(&format!(
        "\n  Developer debug context: {}\n",
        reason.context
    ));
    out.push_str("\nUser code traceback:\n");
    for line in stack {
        out.push_str(&format!("  {line}\n"));
    }
    out
}

/// What is raised where a graph may not break.
pub fn error(py: Python<'_>, reason: &BreakReason, stack: &[String]) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let name = match reason.raises {
            true => "TorchRuntimeError",
            false => "Unsupported",
        };
        let class = py.import("ferrodyn.exc")?.getattr(name)?;
        let message = format!("{}\n{}", reason.reason, body(reason, stack));
        let hints = PyTuple::new(py, &reason.hints)?;
        let e = class.call1((
            message,
            &reason.reason,
            &reason.explanation,
            hints,
            &reason.context,
        ))?;
        Ok(PyErr::from_value(e))
    };
    make().unwrap_or_else(|e| e)
}
