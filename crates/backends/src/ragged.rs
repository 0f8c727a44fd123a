//! Nested tensors whose rows differ in length, as inputs of a compiler's graph.

use pyo3::prelude::*;

use crate::names;
use crate::symbolic_context::Held;

/// The dimensions of the tensor that values of rows are a view of which change with those of the values.
///
/// # Errors
/// What torch raises.
pub(crate) fn dims_of_values(
    tensor: &Bound<'_, PyAny>,
    base: &Bound<'_, PyAny>,
    dynamic: &[Held],
) -> PyResult<Vec<usize>> {
    let Some((_, dims)) = dynamic.iter().find(|(path, _)| path == &[names::VALUES]) else {
        return Ok(Vec::new());
    };
    let size =
        |of: &Bound<'_, PyAny>, dim: usize| of.call_method1("size", (dim,))?.extract::<i64>();
    let values = tensor.getattr(names::VALUES)?;
    let changing = dims.iter().map(|dim| size(&values, *dim));
    let changing = changing.collect::<PyResult<Vec<_>>>()?;
    let mut found = Vec::new();
    for dim in 0..base.call_method0("dim")?.extract()? {
        if changing.contains(&size(base, dim)?) {
            found.push(dim);
        }
    }
    Ok(found)
}
