//! Where the program lets go of an object, and something is there to notice.

use bytecode::op::LocalIdx;
use guards::Source;
use pyo3::prelude::*;
use variables::{Obj, Origin, Var};

use crate::stop::{R, Stop};
use crate::tx::Tx;

/// How many weak references there are to an object.
pub(crate) fn weak_references(obj: &Bound<'_, PyAny>) -> usize {
    obj.py()
        .import("_weakref")
        .and_then(|m| m.call_method1("getweakrefcount", (obj,)))
        .and_then(|n| n.extract())
        .unwrap_or(0)
}

impl Tx<'_> {
    /// Refuses to follow `del v` where the object may go with it, and a weak reference or a finalizer would tell. What
    /// is captured lives until the frame is done. Only what plain Python gave to this frame can be held
    /// weakly.
    ///
    /// # Errors
    /// The break.
    pub(crate) fn check_end(&self, local: LocalIdx, v: &Var) -> R<()> {
        // An argument is held by who calls.
        let Some(resumed) = &self.resumed else {
            return Ok(());
        };
        let frame = &self.st.frame;
        let name = frame.code.local_names.get(local.0 as usize);
        // What a resume function has put where it belongs.
        if frame.depth == 0 && !name.is_some_and(|name| resumed.local_names.contains(name)) {
            return Ok(());
        }
        let (source, obj): (_, &Obj) = match v {
            Var::Lazy(l) => (Some(l.source), &l.obj),
            Var::Py(p) => (p.source, &p.obj),
            Var::Obj(id) => match &self.obj(*id).origin {
                Origin::Source { source, obj } => (Some(*source), obj),
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        let own = source.is_some_and(|s| matches!(self.sources.get(s), Source::Local { .. }));
        if !own {
            return Ok(());
        }
        let b = obj.bind(self.py);
        if b.get_type().hasattr("__del__")? || weak_references(b) > 0 {
            return Err(Stop::brk(
                "Deletion of an object that is held weakly",
                "Weak references and finalizers tell when the last reference to an object goes, which only plain Python knows.",
                "Delete the object outside of the compiled function.",
            ));
        }
        Ok(())
    }
}
