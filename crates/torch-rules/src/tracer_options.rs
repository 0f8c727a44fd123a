//! Contexts that set options of torch's tracer for a part of a function: `error_on_graph_break`, `patch_dynamo_config`.
//!
//! They mean nothing to the capture, so one that is entered and left in the same graph does nothing. But eager code may
//! leave what captured code has entered, and the other way round, where the graph breaks in between: so to enter one
//! is a call that waits until the graph has run, and to leave it takes that call back.

use pyo3::prelude::*;
use translator::stop::R;
use translator::tx::{Args, Flow, Tx};
use variables::text::qualified_name;
use variables::{Origin, Var};

/// Calls `method`, the `__enter__` or `__exit__` of such a context.
///
/// # Errors
/// As [`Tx::realize`].
pub(crate) fn tracer_options<'py>(
    tx: &mut Tx<'py>,
    method: &Bound<'py, PyAny>,
    name: &str,
    args: &Args,
) -> R<Flow> {
    let Some(context) = args.pos.first() else {
        return Ok(Flow::Value(tx.none()));
    };
    let context = tx.realize(context)?;
    let mut pos = vec![context.clone()];
    if name == "__exit__" {
        if let Some(at) = waiting_enter(tx, &context)? {
            tx.st.effects.take_back(at);
            return Ok(Flow::Value(tx.none()));
        }
        // It was entered by eager code.
        pos.extend([tx.none(), tx.none(), tx.none()]);
    }
    let args = Args {
        pos,
        ..Args::default()
    };
    tx.defer_silent(Var::py(method.clone().unbind()), args);
    Ok(Flow::Value(tx.none()))
}

/// The place of the last call that waits to enter a context.
fn waiting_enter(tx: &mut Tx<'_>, context: &Var) -> R<Option<usize>> {
    let class = tx.type_of(context)?;
    let Some(enter) = tx.class_lookup(&class, "__enter__")? else {
        return Ok(None);
    };
    let calls = tx.st.effects.calls.clone();
    for (at, call) in calls.iter().enumerate().rev() {
        let enters = matches!(&call.function, Var::Py(f) if f.obj.is(&enter));
        if enters && tx.is_same(&call.pos[0], context)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Whether a graph break is an error where the translation is: what the innermost `error_on_graph_break` says that it has
/// entered. `None`: it has entered none.
pub fn errors_on_break(tx: &Tx<'_>) -> Option<bool> {
    let py = tx.py;
    let entered = tx.st.effects.calls.iter().rev().filter_map(|call| {
        let (Var::Py(method), Some(context)) = (&call.function, call.pos.first()) else {
            return None;
        };
        let name = qualified_name(method.obj.bind(py));
        if !name.ends_with("ErrorOnGraphBreakDecoratorContextManager.__enter__") {
            return None;
        }
        let context = match context {
            Var::Py(context) => &context.obj,
            Var::Const(context) => context,
            Var::Obj(id) => match &tx.obj(*id).origin {
                Origin::Source { source, .. } => tx.facts.reached.get(source)?,
                _ => return None,
            },
            _ => return None,
        };
        let asked = context.bind(py).getattr("error_on_graph_break").ok()?;
        asked.is_truthy().ok()
    });
    entered.into_iter().next()
}
