//! Weak references.

use guards::GuardKind;
use pyo3::prelude::*;
use translator::stop::R;
use translator::tx::{Flow, Tx};
use variables::{ObjId, Origin, Var};

/// `ref()`: what a weak reference from outside refers to. A reference never comes to refer to
/// another object, so that its identity and the life of its referent are all that is guarded.
pub(crate) fn weakref_call(tx: &mut Tx<'_>, id: ObjId) -> R<Option<Flow>> {
    let Origin::Source { obj, source } = tx.obj(id).origin.clone() else {
        return Ok(None);
    };
    let held = tx.pin(&obj, false);
    tx.guard(source, GuardKind::IdMatch { obj: held });
    let referent = obj.bind(tx.py).call0()?;
    if referent.is_none() {
        return Ok(Some(Flow::Value(tx.none())));
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
        return Ok(Some(Flow::Value(v)));
    }
    let source = tx.pinned_source(&referent, true, "referent");
    tx.build(&referent, source).map(|v| Some(Flow::Value(v)))
}

/// Whether the value stands for the very object at every call that the code serves.
fn is_identity_guarded(tx: &Tx<'_>, var: &Var) -> bool {
    match var {
        Var::Tensor(t) => tx.log.inputs.iter().any(|i| i.node == t.node && i.bound),
        _ => false,
    }
}
