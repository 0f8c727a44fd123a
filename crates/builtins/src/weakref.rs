//! Weak references.

use guards::{GuardKind, SourceId};
use pyo3::prelude::*;
use translator::stop::R;
use translator::tx::{Flow, Tx};
use variables::{Obj, Var};

/// `ref()`: what a weak reference from outside refers to. A reference never comes to refer to
/// another object, so that its identity and the life of its referent are all that is guarded.
pub(crate) fn referent(tx: &mut Tx<'_>, obj: &Obj, source: SourceId) -> R<Flow> {
    let held = tx.pin(obj, false);
    tx.guard(source, GuardKind::IdMatch { obj: held });
    let referent = obj.bind(tx.py).call0()?;
    if referent.is_none() {
        return Ok(Flow::Value(tx.none()));
    }
    let referent = referent.unbind();
    if let Some(v) = tx
        .st
        .effects
        .known(referent.as_ptr() as usize)
        .cloned()
        .filter(|v| is_identity_guarded(tx, v))
    {
        tx.pin(&referent, true);
        return Ok(Flow::Value(v));
    }
    let source = tx.pinned_source(&referent, true, "referent");
    tx.build(&referent, source).map(Flow::Value)
}

/// Whether the value stands for the very object at every call that the code serves.
fn is_identity_guarded(tx: &Tx<'_>, var: &Var) -> bool {
    match var {
        Var::Tensor(t) => tx.log.inputs.iter().any(|i| i.node == t.node && i.bound),
        _ => false,
    }
}
