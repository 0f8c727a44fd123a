//! `mark_dynamic` and a strict `mark_unbacked` are promises that a size changes: code that needs a single value for it is
//! an error.

use std::collections::BTreeSet;

use guards::{Extent, GuardKind, IntCompare, IntExpr, IntRelation, NameStyle};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use torch_abi::tracer;
use translator::Tx;

use super::reasons::source_line;

/// Raises torch's `ConstraintViolationError` where a guard holds a marked size to one value.
///
/// # Errors
/// That one.
pub fn check(tx: &Tx<'_>) -> PyResult<()> {
    for (guard, (code, line)) in tx.log.guards.iter().zip(&tx.log.guard_lines) {
        let GuardKind::ShapeEnv { relation } = &guard.kind else {
            continue;
        };
        let Some((source, dim, size)) = pinned(relation) else {
            continue;
        };
        let Some(tensor) = tx.facts.reached.get(&source) else {
            continue;
        };
        let tensor = tensor.bind(tx.py);
        let marks = |name: &Bound<'_, PyString>| match tensor.getattr_opt(name)? {
            Some(marked) => Ok(marked.extract::<BTreeSet<i64>>()?.contains(&dim)),
            None => PyResult::Ok(false),
        };
        let is_dynamic = marks(intern!(tx.py, "_dynamo_dynamic_indices"))?;
        let is_unbacked = marks(intern!(tx.py, "_dynamo_strict_unbacked_indices"))?;
        let (marker, instead) = match is_dynamic {
            true => (
                "mark_dynamic",
                "use torch._dynamo.maybe_mark_dynamic, which allows a constant",
            ),
            false => (
                "mark_unbacked",
                "leave out `strict=True`, which allows a constant",
            ),
        };
        if (is_dynamic || is_unbacked) && !tracer::is_on(tx.py, "allow_ignore_mark_dynamic")? {
            let name = tx.facts.sources.name_in(source, NameStyle::Plain);
            let text = source_line(tx.py, &code.filename, *line);
            return Err(violation(
                tx.py,
                &format!(
                    "{marker} says that the size of dimension {dim} of `{name}` changes, but the function needs it to \
                     be {size}:\n  File \"{}\", line {line}, in {}\n    {text}\n\
                     Change that line so that it holds for all sizes, or {instead}.",
                    code.filename, code.name
                ),
            ));
        }
    }
    Ok(())
}

/// The tensor, the dimension and the size, where a relation says that a size is one number.
fn pinned(relation: &IntRelation) -> Option<(guards::SourceId, i64, i64)> {
    if !matches!(relation.op, IntCompare::Eq) {
        return None;
    }
    match (&relation.left, &relation.right) {
        (IntExpr::Dim(source, Extent::Size, dim), IntExpr::Const(size))
        | (IntExpr::Const(size), IntExpr::Dim(source, Extent::Size, dim)) => {
            Some((*source, i64::from(*dim), *size))
        }
        _ => None,
    }
}

fn violation(py: Python<'_>, message: &str) -> PyErr {
    let class = py
        .import("torch.fx.experimental.symbolic_shapes")
        .and_then(|module| module.getattr("ConstraintViolationError"));
    match class.and_then(|class| class.call1((message,))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
