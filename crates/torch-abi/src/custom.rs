//! Classes of objects that operators take and that are no tensors, as they are registered with torch: a placement of a
//! distributed tensor, the mesh of its devices.
//!
//! Lives here: which classes these are, and what of their objects torch's own tracer reads while it traces.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::imported::imported;
use crate::names;

/// What torch holds the objects of such a class for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Custom {
    /// constants: one that is equal does the same
    Constant,
    /// objects with a state, which a graph is given
    Object,
}

/// The classes that are registered, each with what it is.
///
/// # Errors
/// Whatever looking at torch's table raises.
pub fn custom_classes(py: Python<'_>) -> PyResult<Vec<(Bound<'_, PyAny>, Custom)>> {
    let Some(table) = table(py)? else {
        return Ok(Vec::new());
    };
    // Each call may bring another generator, whose state moves on with what is drawn: a graph can't hold one.
    let generator = py.import(names::TORCH_C)?.getattr(names::GENERATOR)?;
    let mut classes = Vec::new();
    for class in table.call_method0(intern!(py, "keys"))?.try_iter()? {
        let class = class?;
        if class.is(&generator) {
            continue;
        }
        let kind: String = table.get_item(&class)?.getattr("opaque_typ")?.extract()?;
        let is_constant = names::CONSTANT_KINDS.contains(&&*kind);
        let kind = match is_constant {
            true => Custom::Constant,
            false => Custom::Object,
        };
        classes.push((class, kind));
    }
    Ok(classes)
}

/// Whether an object is one with a state that operators take.
///
/// # Errors
/// As [`custom_classes`].
pub fn is_custom_object(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = object.get_type();
    // The class of such a class says so, and nearly no other object has one of the kind.
    if class.get_type().is(object.py().get_type::<PyType>()) {
        return Ok(false);
    }
    let classes = custom_classes(object.py())?;
    let own = classes.iter().find(|(known, _)| known.is(&class));
    Ok(own.is_some_and(|(_, kind)| *kind == Custom::Object))
}

/// Whether torch's tracer asks the object itself for a member of this name, and holds the answer for a constant.
///
/// # Errors
/// As [`custom_classes`].
pub fn is_constant_member(class: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    let Some(table) = table(class.py())? else {
        return Ok(false);
    };
    let members = table.get_item(class)?.getattr("members")?;
    let how = members.call_method1("get", (name,))?;
    match how.is_none() {
        true => Ok(false),
        false => Ok(how.getattr("name")?.extract::<String>()? == names::CONSTANT_MEMBER),
    }
}

fn table(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    match imported(py, names::CUSTOM_OBJECTS)? {
        Some(module) => module.getattr_opt(names::CUSTOM_CLASSES),
        None => Ok(None),
    }
}
