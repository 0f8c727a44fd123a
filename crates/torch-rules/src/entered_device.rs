//! `with torch.device(...)`: factories that are told of no device make their tensors there.
//!
//! torch has a function mode for that. A graph has none: the device is an argument of the node.
//! Invariant: entering and leaving a device while translating changes nothing but the symbolic state.

use std::sync::Arc;

use pyo3::prelude::*;
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::contexts::FunctionMode;
use variables::contexts::{Effect, OpenContext};
use variables::{Obj, Var};

const MODULE: &str = "torch.utils._device";

/// `device.__enter__()` and `device.__exit__(...)`.
///
/// # Errors
/// A break where the compiled function did not enter a device last.
pub(crate) fn device_as_context(tx: &mut Tx<'_>, device: &Obj, name: &str) -> R<Flow> {
    let context = Var::Const(device.clone());
    if name == "__exit__" {
        return crate::contexts::leave_context(tx, &context);
    }
    if tx.is_seen() {
        // The context that torch makes of it makes a device of it, which the modes see.
        let class = Var::py(tx.known.device.clone());
        let made = tx.call_sync(&class, Args::pos(vec![context.clone()]))?;
        if !matches!(tx.realize(&made)?, Var::Const(made) if made.bind(tx.py).eq(device)?) {
            return Err(Stop::unsupported("a mode that makes another device"));
        }
    }
    tx.st.contexts.push_back(OpenContext {
        context: context.clone(),
        effect: Effect::Device,
    });
    let entered = FunctionMode::Device(device.clone());
    tx.st.modes.push_back(entered);
    Ok(Flow::Value(context))
}

/// Adds the device that was entered last to the arguments of a factory.
///
/// # Errors
/// A break at a function of the program that is to be a node: its own factories would miss the device.
pub(crate) fn make_on_entered_device<'py>(
    tx: &mut Tx<'py>,
    f: &Bound<'py, PyAny>,
    args: &mut Args,
) -> R<()> {
    // A mode of the program that was entered since sees the call first.
    let seen = |m: &&FunctionMode| matches!(m, FunctionMode::Program(_));
    let inner = tx.st.modes.iter().rev().take_while(|m| !seen(m));
    let Some(device) = inner.filter_map(FunctionMode::device).next().cloned() else {
        return Ok(());
    };
    let factories = tx.py.import(MODULE)?.getattr("_device_constructors")?;
    let hashable = f.hash().is_ok();
    if hashable && factories.call0()?.contains(f)? {
        let given = args.kw.iter().position(|(name, _)| &**name == "device");
        match given {
            Some(at) if args.kw[at].1.is_none(tx.py) => args.kw[at].1 = Var::Const(device),
            Some(_) => {}
            None => args.kw.push((Arc::from("device"), Var::Const(device))),
        }
    } else if tx.is_allowed_in_graph(f)? {
        return Err(Stop::brk(
            "Function allowed in the graph, called within a device",
            "A graph does not enter a device, so the tensors that the function makes would be elsewhere.",
            "Pass the device to the function, or leave the device before the call.",
        ));
    }
    Ok(())
}

/// `torch.get_default_device()`; `None` where torch would make a tensor to find the index.
pub fn default_device(tx: &Tx<'_>) -> R<Option<Var>> {
    let entered = entered_device(tx);
    let (kind, index): (String, Option<i16>) = match &entered {
        Some(device) => {
            let device = device.bind(tx.py);
            (
                device.getattr("type")?.extract()?,
                device.getattr("index")?.extract()?,
            )
        }
        None => {
            let device = tx.ctx.default_device;
            (device.kind.name().to_owned(), device.index)
        }
    };
    if index.is_none() && !matches!(&*kind, "cpu" | "meta") {
        return Ok(None);
    }
    let made = match entered {
        Some(device) => device,
        None => {
            let class = tx.known.device.bind(tx.py);
            class.call1((kind, index))?.unbind()
        }
    };
    Ok(Some(Var::Const(made)))
}

/// The device that was entered last and not left.
fn entered_device(tx: &Tx<'_>) -> Option<Obj> {
    let modes = tx.st.modes.iter().rev();
    modes.filter_map(FunctionMode::device).next().cloned()
}
