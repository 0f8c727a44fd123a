//! Functions of torch that change the context which operations run in: which enter and leave one, which set a flag;
//! and whether modes look at operations now.
//!
//! Not here: nodes of graphs that call them (`backends`, `translator`).

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::names::{CONTEXTS, ContextKind, FLAGS, MODE_STACKS, SET_GRAD_MODE, TORCH_C};

/// Whether the function of this path enters or leaves a context, or sets the grad mode or a flag.
pub fn changes_context(path: &str) -> bool {
    let is_named = |(_, enter, leave): &(ContextKind, &str, &str)| [*enter, *leave].contains(&path);
    path == SET_GRAD_MODE || flag_set(path).is_some() || CONTEXTS.iter().any(is_named)
}

/// What reads the flag that the function of this path sets, where it sets one.
pub fn flag_set(path: &str) -> Option<&'static str> {
    flag_getter(path.strip_prefix(TORCH_C)?.strip_prefix('.')?)
}

/// The function of `torch._C` that reads the flag which another one sets.
pub fn flag_getter(setter: &str) -> Option<&'static str> {
    let flag = FLAGS.iter().find(|(set, _)| *set == setter);
    flag.map(|(_, get)| *get)
}

/// The function of `torch._C` that sets the flag which another one reads.
pub fn flag_setter(getter: &str) -> Option<&'static str> {
    let flag = FLAGS.iter().find(|(_, get)| *get == getter);
    flag.map(|(set, _)| *set)
}

/// A function that leaves a level of torch's, told by keyword which one: one that takes nothing.
///
/// # Errors
/// Where Python can't make it.
pub fn leaving_level<'py>(leave: &Bound<'py, PyAny>, level: i64) -> PyResult<Bound<'py, PyAny>> {
    let py = leave.py();
    let named = PyDict::new(py);
    named.set_item("level", level)?;
    let partial = py.import("functools")?.getattr("partial")?;
    partial.call((leave,), Some(&named))
}

/// Whether a mode of this thread looks at each operation.
///
/// # Errors
/// Where torch lacks the functions that say so.
pub fn modes_see_operations(py: Python<'_>) -> PyResult<bool> {
    let torch_c = py.import(TORCH_C)?;
    for stack in MODE_STACKS {
        if torch_c.call_method0(stack)?.extract::<usize>()? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_the_context_is_known_by_its_path() {
        assert!(changes_context(SET_GRAD_MODE));
        for (_, enter, leave) in CONTEXTS {
            assert!(changes_context(enter) && changes_context(leave));
        }
        for (set, get) in FLAGS {
            assert!(changes_context(&format!("{TORCH_C}.{set}")));
            assert_eq!(flag_getter(set), Some(get));
            assert_eq!(flag_setter(get), Some(set));
        }
        assert!(!changes_context("torch.add") && flag_set("torch.add").is_none());
    }
}
