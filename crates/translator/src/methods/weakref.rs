//! Weak references.

use guards::GuardKind;
use pyo3::prelude::*;
use variables::{ObjId, Origin, Var};

use crate::stop::R;
use crate::tx::{Flow, Tx};

impl Tx<'_> {
    /// `ref()`: what a weak reference from outside refers to. A reference never comes to refer to
    /// another object, so that its identity and the life of its referent are all that is guarded.
    pub(super) fn weakref_call(&mut self, id: ObjId) -> R<Option<Flow>> {
        let Origin::Source { obj, source } = self.obj(id).origin.clone() else {
            return Ok(None);
        };
        let held = self.pin(&obj, false);
        self.guard(source, GuardKind::IdMatch { obj: held });
        let referent = obj.bind(self.py).call0()?;
        if referent.is_none() {
            return Ok(Some(Flow::Value(self.none())));
        }
        let referent = referent.unbind();
        if let Some(v) = self
            .st
            .effects
            .known(referent.as_ptr() as usize)
            .cloned()
            .filter(|v| self.is_identity_guarded(v))
        {
            self.pin(&referent, true);
            return Ok(Some(Flow::Value(v)));
        }
        let source = self.pinned_source(&referent, true, "referent");
        self.build(&referent, source).map(|v| Some(Flow::Value(v)))
    }

    /// Whether the value stands for the very object at every call that the code serves.
    fn is_identity_guarded(&self, var: &Var) -> bool {
        match var {
            Var::Tensor(t) => self.inputs.iter().any(|i| i.node == t.node && i.bound),
            _ => false,
        }
    }
}
