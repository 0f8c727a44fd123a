//! What a stance of the program (`torch.compiler.set_stance`) makes of a call of an entry.

use pyo3::prelude::*;
use torch_abi::stance::{self, Stance};

use crate::context::{CompileContext, Context};
use crate::dynamo::slot::mark_explicit;
use crate::entry::{Entry, EntryKind};

/// What the program's stance makes of a call.
pub(crate) enum InStance {
    /// Whatever would be done without one.
    AsEver,
    Eager,
    /// Another context is on, which has the backend of the stance.
    With(Py<Context>),
}

#[cold]
pub(crate) fn in_stance(this: &Entry, settings: &CompileContext) -> InStance {
    let in_stance = |py: Python<'_>| match stance::read(py) {
        Stance::ForceEager => Ok(InStance::Eager),
        Stance::ForceBackend => {
            // A resume function goes on with the backend of the function that calls it.
            let Some(backend) =
                stance::forced_backend(py)?.filter(|_| this.kind == EntryKind::Compiled)
            else {
                return Ok(InStance::AsEver);
            };
            let context = settings.with_backend(&backend)?;
            // SAFETY: the entry keeps its callable alive, which the caller has found not to be null.
            let callable = unsafe { Bound::from_borrowed_ptr(py, this.callable) };
            mark_explicit(&callable, context.bind(py).get().settings().id());
            Ok(InStance::With(context))
        }
        _ => PyResult::Ok(InStance::AsEver),
    };
    let decided = Python::try_attach(|py| in_stance(py).unwrap_or(InStance::AsEver));
    decided.unwrap_or(InStance::AsEver)
}
