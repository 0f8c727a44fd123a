//! Which exception is handled while another is raised.
//!
//! Does not live here: what is read of exceptions (the crate `builtins`).

use std::sync::Arc;

use variables::{ObjId, Var};

use crate::tx::Tx;

impl Tx<'_> {
    /// Notes what is handled while an exception is raised, as `_PyErr_SetObject` does: only a raise
    /// that is not a re-raise (`anew`) changes what is known of one that was raised before.
    pub(crate) fn note_context(&mut self, exc: &Var, anew: bool) {
        let Var::Obj(id) = exc else { return };
        if anew {
            self.st.tracebacks.remove(id);
        }
        let handled = self.st.frame.handling.last().cloned();
        let known = self.st.raised_under.contains_key(id);
        let itself = matches!(&handled, Some(Var::Obj(h)) if h == id);
        if !self.obj(*id).is_new() || known && (!anew || handled.is_none() || itself) {
            return;
        }
        let handled = handled.filter(|_| !itself);
        self.break_cycle(*id, handled.as_ref());
        let name = Arc::from("__context__");
        if let Some(handled) = &handled
            && self.obj(*id).attrs.contains_key(&name)
        {
            // One that the program wrote is replaced.
            self.st
                .effects
                .write_attr(*id, &name, Some(handled.clone()));
        }
        self.st.raised_under.insert(*id, handled);
    }

    /// A chain of contexts that comes back to an exception ends in front of it.
    fn break_cycle(&mut self, id: ObjId, handled: Option<&Var>) {
        let mut at = handled.cloned();
        while let Some(Var::Obj(here)) = at {
            let next = self.st.raised_under.get(&here).cloned().flatten();
            if matches!(&next, Some(Var::Obj(n)) if *n == id) {
                self.st.raised_under.insert(here, Some(self.none()));
                return;
            }
            at = next;
        }
    }
}
