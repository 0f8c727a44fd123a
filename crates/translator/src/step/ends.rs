//! Where the program lets go of an object, and something is there to notice.

use bytecode::op::LocalIdx;
use guards::{Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::PyType;
use variables::{Obj, Origin, Var};

use crate::raw::type_lookup;
use crate::stop::{R, Stop};
use crate::tx::Tx;

/// How many weak references there are to an object.
pub fn weak_references(obj: &Bound<'_, PyAny>) -> usize {
    obj.py()
        .import("_weakref")
        .and_then(|m| m.call_method1("getweakrefcount", (obj,)))
        .and_then(|n| n.extract())
        .unwrap_or(0)
}

/// Whether something runs when an instance of a class goes.
pub fn has_finalizer(class: &Bound<'_, PyAny>) -> bool {
    let class = class.cast::<PyType>();
    class.is_ok_and(|class| type_lookup(class, "__del__").is_some())
}

impl Tx<'_> {
    /// Where a value comes from and what it is, if from outside.
    pub fn origin_of(&self, v: &Var) -> Option<(SourceId, Obj)> {
        match v {
            Var::Lazy(l) => Some((l.source, l.obj.clone())),
            Var::Py(p) => Some((p.source?, p.obj.clone())),
            Var::Obj(id) => match &self.obj(*id).origin {
                Origin::Source { source, obj } => Some((*source, obj.clone())),
                _ => None,
            },
            Var::Tensor(t) => t.input.as_ref().map(|i| (i.source, i.obj.clone())),
            _ => None,
        }
    }

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
        let Some((source, obj)) = self.origin_of(v) else {
            return Ok(());
        };
        if matches!(v, Var::Tensor(_))
            || !matches!(self.facts.sources.get(source), Source::Local { .. })
        {
            return Ok(());
        }
        let b = obj.bind(self.py);
        if has_finalizer(b.get_type().as_any()) || weak_references(b) > 0 {
            return Err(Stop::brk(
                "Deletion of an object that is held weakly",
                "Weak references and finalizers tell when the last reference to an object goes, which is known in eager mode only.",
                "Delete the object outside of the compiled function.",
            ));
        }
        Ok(())
    }
}
