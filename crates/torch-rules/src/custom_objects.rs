//! Objects that torch's operators take and that are no tensors: the mesh of the devices that a tensor is distributed
//! over.
//!
//! Lives here: what their methods and properties answer while tracing. Does not live here: how one becomes an argument
//! of a node (`translator::torch_ops`), and which classes there are (`torch_abi::custom`).
//!
//! Invariant: what was asked of an object is held by its identity.

use guards::GuardKind;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use translator::rules::{Given, value};
use translator::tx::{Args, Tx};
use variables::{Origin, Var};

/// A method or a property of such an object whose answer torch's tracer takes for a constant, too. `None` for any other
/// function.
///
/// # Errors
/// What the method raises.
pub(crate) fn member<'py>(tx: &mut Tx<'py>, f: &Bound<'py, PyAny>, args: &Args) -> Given {
    let py = tx.py;
    let class = match args.pos.first() {
        Some(Var::Obj(id)) => tx.obj(*id).class.clone(),
        Some(Var::Lazy(lazy)) => lazy.obj.bind(py).get_type().into_any().unbind(),
        _ => return Ok(None),
    };
    if !tx.known.is_custom_object(&class) {
        return Ok(None);
    }
    let name: String = f.getattr("__name__")?.extract()?;
    if !torch_abi::custom::is_constant_member(class.bind(py), &name)? {
        return Ok(None);
    }
    let Var::Obj(id) = tx.realize(&args.pos[0])? else {
        return Ok(None);
    };
    let Origin::Source { obj, source } = tx.obj(id).origin.clone() else {
        return Ok(None);
    };
    let rest = Args {
        pos: args.pos[1..].to_vec(),
        kw: args.kw.clone(),
    };
    let Some((rest, kw)) = tx.constants(&rest)? else {
        return Ok(None);
    };
    let all: Vec<_> = std::iter::once(obj.clone()).chain(rest).collect();
    let f = f.clone();
    let answer = f.call(PyTuple::new(py, all)?, kw.as_ref());
    if let Ok(answer) = &answer
        && !is_constant(tx, answer)
    {
        return Ok(None);
    }
    let pinned = tx.pin(&obj, false);
    tx.guard(source, GuardKind::IdMatch { obj: pinned });
    value(tx.fold(|_| answer)?)
}

fn is_constant(tx: &Tx<'_>, answer: &Bound<'_, PyAny>) -> bool {
    match answer.cast_exact::<PyTuple>() {
        Ok(items) => items.iter().all(|item| is_constant(tx, &item)),
        Err(_) => tx.known.is_const_type(answer.get_type().as_any()),
    }
}
