//! How a program enters and leaves contexts of torch that have rules of their own: `torch.autocast` and
//! `torch.inference_mode`, which nodes of the graph enter and leave, labels for the profiler, which a graph has not,
//! and function modes. What is open, and in force, is part of the symbolic state (`variables::contexts`).
//!
//! Not here: devices (`entered_device`).
//!
//! Invariant: a graph leaves every context that it enters. One that is open where a graph ends is
//! entered by the residual code, as the object that it is.

use std::rc::Rc;
use std::sync::Arc;

use fx_graph::Arg;
use pyo3::prelude::*;
use pyo3::types::PyType;
use translator::stop::{R, Stop};
use translator::torch_ops::contexts::{GRAD_MODE, SUBSCRIPTS};
use translator::tx::{Flow, Tx};
use variables::contexts::{Cast, Effect, Inference, OpenContext};
use variables::{Obj, Var};

/// `autocast.__enter__(context)`.
///
/// # Errors
/// A break where the context's settings are not known.
pub fn enter_autocast(tx: &mut Tx<'_>, context: &Var) -> R<Flow> {
    let py = tx.py;
    let context = tx.realize(context)?;
    let Var::Obj(id) = context else {
        return Err(Stop::unsupported("an autocast context that is no object"));
    };
    let mut setting = |name: &str| -> R<Obj> {
        let v = tx.getattr_sync(&Var::Obj(id), &Arc::from(name))?;
        match tx.as_const(&v)? {
            Some(o) => Ok(o),
            None => Err(Stop::unsupported(format!("autocast with {name} unknown"))),
        }
    };
    let device: String = setting("device")?.extract(py)?;
    let dtype = setting("fast_dtype")?;
    let enabled: bool = setting("_enabled")?.extract(py)?;
    let cache: bool = setting("_cache_enabled")?.extract(py)?;
    // What `__exit__` puts back, where plain Python runs it.
    let now = autocast_now(tx, &device)?;
    let was_cached = autocast_cache(tx)?;
    for (name, v) in [
        ("prev_cache_enabled", tx.bool(was_cached)),
        ("prev", tx.bool(now.0)),
        ("prev_fastdtype", Var::Const(now.1)),
    ] {
        tx.st.effects.write_attr(id, &Arc::from(name), Some(v));
    }
    let (dtype_arg, _) = tx.node_arg(&Var::Const(dtype.clone()))?;
    let node = tx.autocast_node(
        "_enter_autocast",
        vec![
            Arg::Str(device.as_str().into()),
            dtype_arg,
            Arg::Bool(enabled),
            Arg::Bool(cache),
        ],
    )?;
    tx.st.contexts.push_back(OpenContext {
        context: Var::Obj(id),
        effect: Effect::Cast(Rc::new(Cast {
            node,
            device,
            enabled,
            dtype,
            cache,
        })),
    });
    Ok(Flow::Value(Var::Obj(id)))
}

/// `record_function.__enter__(context)`: the operations of a graph have no label.
///
/// # Errors
/// A break where the context is no object.
pub fn enter_label(tx: &mut Tx<'_>, context: &Var) -> R<Flow> {
    let Var::Obj(id) = tx.realize(context)? else {
        return Err(Stop::unsupported("a label that is no object"));
    };
    tx.st.contexts.push_back(OpenContext {
        context: Var::Obj(id),
        effect: Effect::Label,
    });
    Ok(Flow::Value(Var::Obj(id)))
}

/// `__enter__` of a function mode; `None` for one that is no object.
///
/// # Errors
/// As [`Tx::realize`].
pub fn enter_function_mode(tx: &mut Tx<'_>, mode: &Var) -> R<Option<Flow>> {
    let mode = tx.realize(mode)?;
    let Var::Obj(id) = mode else {
        return Ok(None);
    };
    let class = tx.obj(id).class.clone();
    let known = is_subscript_mode(class.bind(tx.py).cast().map_err(PyErr::from)?)?;
    if !known {
        return crate::function_modes::enter_mode(tx, &mode).map(Some);
    }
    tx.not_seen("a mode that looks at subscripts")?;
    tx.st.contexts.push_back(OpenContext {
        context: Var::Obj(id),
        effect: Effect::Subscripts,
    });
    Ok(Some(Flow::Value(mode)))
}

/// `__exit__` of a function mode; `None` for one that was not entered here.
///
/// # Errors
/// As [`leave_context`].
pub fn leave_function_mode(tx: &mut Tx<'_>, mode: &Var) -> R<Option<Flow>> {
    let mode = tx.realize(mode)?;
    match &mode {
        Var::Obj(_) if tx.st.contexts.iter().any(|o| o.is(&mode)) => {
            leave_context(tx, &mode).map(Some)
        }
        _ => crate::function_modes::leave_outer_mode(tx, &mode),
    }
}

/// `inference_mode.__enter__(context)`.
///
/// # Errors
/// A break where it is not known whether the mode is switched on or off.
pub fn enter_inference_mode(tx: &mut Tx<'_>, context: &Var) -> R<Flow> {
    let Var::Obj(id) = tx.realize(context)? else {
        return Err(Stop::unsupported("an inference mode that is no object"));
    };
    let mode = tx.getattr_sync(&Var::Obj(id), &Arc::from("mode"))?;
    let enabled = tx.truth(&mode)?;
    let f = tx.py.import(GRAD_MODE)?.getattr("_enter_inference_mode")?;
    let node = tx.state_node(&f, GRAD_MODE, vec![Arg::Bool(enabled)])?;
    tx.st.met_inference |= enabled;
    tx.st.contexts.push_back(OpenContext {
        context: Var::Obj(id),
        effect: Effect::Inference(Inference {
            node,
            enabled,
            grad_enabled: tx.st.grad_enabled,
        }),
    });
    // The mode brings its own grad mode.
    tx.st.grad_enabled = !enabled;
    Ok(Flow::Value(tx.none()))
}

/// `__exit__(context, ...)` of either.
///
/// # Errors
/// A break where the compiled function did not enter the context last.
pub fn leave_context(tx: &mut Tx<'_>, context: &Var) -> R<Flow> {
    let context = tx.realize(context)?;
    match tx.st.contexts.last().cloned() {
        Some(open) if open.is(&context) => {
            tx.st.contexts.pop_back();
            tx.leave_in_graph(&open.effect)?;
            if matches!(open.effect, Effect::Functions | Effect::Device) {
                tx.st.modes.pop_back();
            }
            Ok(Flow::Value(match open.effect {
                Effect::Cast(_) => tx.bool(false),
                Effect::Label | Effect::Subscripts | Effect::Device | Effect::Functions => {
                    tx.none()
                }
                Effect::Inference(mode) => {
                    tx.st.grad_enabled = mode.grad_enabled;
                    tx.none()
                }
                Effect::Classes(before) => {
                    tx.st.asks_no_class = before;
                    tx.none()
                }
            }))
        }
        _ => Err(Stop::brk(
            "Context left that was not entered here",
            "The context was entered in eager mode, so it has to be left in eager mode as well.",
            "Enter and leave the context in the same compiled function.",
        )),
    }
}

/// Whether a class is that of the mode that makes subscripts look-ups by tensors.
pub(crate) fn is_subscript_mode(class: &Bound<'_, PyType>) -> PyResult<bool> {
    Ok(class.getattr("__module__")?.eq(SUBSCRIPTS)?
        && class.getattr("__name__")?.eq("TransformGetItemToIndex")?)
}

/// Whether autocast keeps its casts of parameters.
///
/// # Errors
/// Whatever torch raises.
pub(crate) fn autocast_cache(tx: &Tx<'_>) -> R<bool> {
    if let Some(cast) = tx.so_far().casts().next() {
        return Ok(cast.cache);
    }
    let torch = tx.known.torch.bind(tx.py);
    Ok(torch.call_method0("is_autocast_cache_enabled")?.extract()?)
}

/// Whether autocast is on for a device type, and the dtype that it casts to.
///
/// # Errors
/// Whatever torch raises for an unknown device.
pub(crate) fn autocast_now(tx: &Tx<'_>, device: &str) -> R<(bool, Obj)> {
    let py = tx.py;
    if let Some(open) = tx.so_far().casts().find(|o| o.device == device) {
        return Ok((open.enabled, open.dtype.clone()));
    }
    let torch = tx.known.torch.bind(py);
    Ok((
        torch
            .call_method1("is_autocast_enabled", (device,))?
            .extract()?,
        torch
            .call_method1("get_autocast_dtype", (device,))?
            .unbind(),
    ))
}
