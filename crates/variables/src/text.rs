//! Values in a few words, and names of objects, for reasons and logs.
//!
//! Not here: the whole state (`state_text`). Invariant: nothing is run or looked at that is not known already.

use fx_graph::Graph;
use guards::SourceTable;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::state::State;
use crate::{TextPart, Var};

/// What values are printed by: what they belong to.
#[derive(Clone, Copy)]
pub struct Printer<'a, 'py> {
    /// the interpreter of Python
    pub py: Python<'py>,
    /// the state, which has the objects
    pub state: &'a State,
    /// the graph, which has the names of tensors
    pub graph: &'a Graph,
    /// the sources
    pub sources: &'a SourceTable,
}

impl Printer<'_, '_> {
    /// A value in a few words, for reasons and logs. Runs no user code.
    pub fn describe(&self, var: &Var) -> String {
        match var {
            Var::Null | Var::Handled(_) => "NULL".into(),
            Var::Const(o) => format!(
                "constant {}",
                o.bind(self.py)
                    .repr()
                    .map_or_else(|_| "?".into(), |r| r.to_string())
            ),
            Var::Tensor(t) => format!("tensor {}", self.graph.name(t.node)),
            Var::Tuple(t) => format!("tuple of {}", t.items.len()),
            Var::Slice(_) => "slice".into(),
            Var::Obj(id) => format!(
                "{} object",
                class_name(self.state.effects.get(*id).class.bind(self.py))
            ),
            Var::Func(f) => format!("function {}", qualified_name(f.code.bind(self.py))),
            Var::Method(_) => "bound method".into(),
            Var::BuiltinMethod(m) => format!("method {} of {}", m.1, self.describe(&m.0)),
            Var::Super(_) => "super object".into(),
            Var::Py(p) => describe_obj(p.obj.bind(self.py)),
            Var::Int(_) => "int object".into(),
            Var::Float(_) => "float object".into(),
            Var::Computed(c) => describe_obj(c.value.bind(self.py)),
            Var::Text(t) => t
                .parts
                .iter()
                .find_map(|p| match p {
                    TextPart::Tensor { tensor, .. } => Some(self.describe(tensor)),
                    TextPart::Known(_) | TextPart::Value(_) => None,
                })
                .unwrap_or_else(|| "str object".into()),
            Var::Lazy(l) => describe_obj(l.obj.bind(self.py)),
        }
    }
}

/// `__name__` of a class.
pub fn class_name(class: &Bound<'_, PyAny>) -> String {
    let name = class.cast::<PyType>().ok().and_then(|t| t.name().ok());
    name.map_or_else(String::new, |n| n.to_string())
}

/// `module.qualname` (without `builtins.`) of a class or function; its type's where it has none.
pub fn qualified_name(obj: &Bound<'_, PyAny>) -> String {
    let text = |n: &str| obj.getattr(n).ok().and_then(|v| v.extract::<String>().ok());
    let Some(name) = text("__qualname__")
        .or_else(|| text("__name__"))
        .or_else(|| text("co_qualname"))
    else {
        return qualified_name(obj.get_type().as_any());
    };
    match text("__module__") {
        Some(m) if m != "builtins" => format!("{m}.{name}"),
        _ => name,
    }
}

fn describe_obj(obj: &Bound<'_, PyAny>) -> String {
    let ty = qualified_name(obj.get_type().as_any());
    let named = obj.is_instance_of::<PyType>()
        || matches!(
            ty.as_str(),
            "function" | "builtin_function_or_method" | "module" | "method_descriptor"
        );
    if named {
        format!("{ty} {}", qualified_name(obj))
    } else {
        format!("{ty} object")
    }
}
