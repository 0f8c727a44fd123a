//! Contexts that choose a stream or a device of an accelerator, where they choose none: `torch.cuda.stream(None)`, a
//! stream of the CPU, a device of a negative number.
//!
//! Invariant: a context that may choose something is left to whoever follows the call.

use guards::GuardKind;
use pyo3::prelude::*;
use pyo3::types::PyInt;
use tensor_meta::DeviceKind;
use translator::rules::{Given, Rule, RuleList};
use translator::stop::R;
use translator::tx::{Args, Tx};
use variables::{Origin, Var};

pub(crate) const RULES: RuleList = &[
    (
        "torch.cuda",
        &[
            ("stream", stream as Rule),
            ("StreamContext", stream),
            ("device", device),
            ("device_of", device_of),
        ],
    ),
    (
        "torch",
        &[
            ("Stream.__enter__", stream_entered as Rule),
            ("Stream.__exit__", stream_left),
        ],
    ),
];

/// A context that does nothing.
fn nothing(tx: &mut Tx<'_>) -> Given {
    let nothing = tx.py.import("contextlib")?.getattr("nullcontext")?;
    tx.call(&Var::py(nothing.unbind()), Args::default())
        .map(Some)
}

/// The only argument.
fn only(tx: &mut Tx<'_>, args: &Args) -> R<Option<Var>> {
    match (&args.pos[..], &args.kw[..]) {
        ([v], []) | ([], [(_, v)]) => tx.realize(v).map(Some),
        _ => Ok(None),
    }
}

fn stream(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match only(tx, &args)? {
        Some(Var::Const(stream)) if stream.is_none(tx.py) => nothing(tx),
        _ => Ok(None),
    }
}

fn device(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let Some(Var::Const(device)) = only(tx, &args)? else {
        return Ok(None);
    };
    match device.bind(tx.py).cast_exact::<PyInt>() {
        Ok(index) if index.lt(0)? => nothing(tx),
        _ => Ok(None),
    }
}

fn device_of(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match only(tx, &args)? {
        Some(Var::Tensor(t)) if tx.st.effects.meta(&t).device.kind == DeviceKind::Cpu => {
            nothing(tx)
        }
        _ => Ok(None),
    }
}

/// Whether the first argument is a stream of the CPU, which has only one.
fn is_of_cpu(tx: &mut Tx<'_>, args: &Args) -> R<bool> {
    let Some(stream) = args.pos.first() else {
        return Ok(false);
    };
    let Var::Obj(id) = tx.realize(stream)? else {
        return Ok(false);
    };
    let Origin::Source { obj, source } = tx.obj(id).origin.clone() else {
        return Ok(false);
    };
    let device = obj.bind(tx.py).getattr("device")?;
    if !device.getattr("type")?.eq("cpu")? {
        return Ok(false);
    }
    let held = tx.pin(&obj, true);
    tx.guard(source, GuardKind::IdMatch { obj: held });
    Ok(true)
}

fn stream_entered(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match is_of_cpu(tx, &args)? {
        true => translator::rules::value(args.pos[0].clone()),
        false => Ok(None),
    }
}

fn stream_left(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    match is_of_cpu(tx, &args)? {
        true => translator::rules::value(tx.none()),
        false => Ok(None),
    }
}
