//! NumPy's numbers from outside: arguments, which may be others on each call.
//!
//! A call before the graph makes a tensor of such a number, which is an input of the graph. An operation of tensors
//! takes what the graph reads from it.

use guards::{Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};
use translator::Flow;
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::{EarlyArg, EarlyCall, EarlyKind, LazyVar, Var};

use crate::values::check_state;

/// A number from outside, as a number that the graph reads; `None` where it is a constant.
pub(crate) fn read_number(tx: &mut Tx<'_>, v: &Var) -> R<Option<Var>> {
    let Var::Lazy(l) = v else { return Ok(None) };
    if !is_changing(tx, l)? || check_state(tx).is_err() {
        return Ok(None);
    }
    let tensor = tensor_of(tx, l)?;
    match tx.tensor_method(&tensor, "item", Args::default()) {
        Ok(Flow::Value(v @ (Var::Int(_) | Var::Float(_)))) => Ok(Some(v)),
        Ok(_) | Err(Stop::Break(_)) => Ok(None),
        Err(stop) => Err(stop),
    }
}

/// Whether a number is one that torch reads as a Python number, and may be another on each call: what hangs on anything
/// but an argument stays the same object.
fn is_changing(tx: &Tx<'_>, l: &LazyVar) -> R<bool> {
    let sources = &tx.facts.sources;
    let mut root = l.source;
    while let Source::TupleItem { base, .. } | Source::ListItem { base, .. } = sources.get(root) {
        root = *base;
    }
    if !matches!(sources.get(root), Source::Local { .. }) || !tx.ints.as_inputs {
        return Ok(false);
    }
    let number = l.obj.bind(tx.py).call_method0("item")?;
    let fits = number.is_exact_instance_of::<PyInt>() && number.extract::<i64>().is_ok();
    Ok(fits || number.is_exact_instance_of::<PyFloat>())
}

/// The tensor that is made of a number, as an input of the graph.
fn tensor_of(tx: &mut Tx<'_>, l: &LazyVar) -> R<Var> {
    let py = tx.py;
    let function = py.import("torch")?.getattr("as_tensor")?;
    let obj = l.obj.bind(py).clone();
    tx.guard_type(&obj, l.source);
    if let Some(early) = made_of(tx, &function, l.source)
        && let Some(made) = tx.early_input(early)?
    {
        return Ok(made);
    }
    let tensor = function.call1((obj,))?.unbind();
    let early = tx.add_early(EarlyCall {
        function: function.unbind(),
        pos: vec![EarlyArg::Source(l.source)],
        kw: Vec::new(),
        kind: EarlyKind::Make,
    });
    tx.early_tensor(&tensor, early, l.source, Vec::new())
}

/// The result of the same call, where it was made before.
fn made_of(tx: &mut Tx<'_>, function: &Bound<'_, PyAny>, of: SourceId) -> Option<SourceId> {
    let is_same = |call: &EarlyCall| {
        call.function.is(function) && matches!(call.pos[..], [EarlyArg::Source(s)] if s == of)
    };
    let index = tx.st.effects.early.iter().position(|call| is_same(call))?;
    let index = u32::try_from(index).ok()?;
    Some(tx.source(Source::Early { index }))
}
