//! What a stance of the program (`torch.compiler.set_stance`) makes of a call of an entry.

use pyo3::prelude::*;
use torch_abi::stance::{self, Stance};

use eval_frame::context::CompileContext;
use eval_frame::entry::{Entry, EntryKind};
use eval_frame::surroundings::Way;

use crate::dynamo::slot::mark_explicit;

#[cold]
pub(crate) fn in_stance(this: &Entry, settings: &CompileContext) -> Way {
    let in_stance = |py: Python<'_>| match stance::read(py) {
        Stance::ForceEager => Ok(Way::Eager),
        Stance::ForceBackend => {
            // A resume function goes on with the backend of the function that calls it.
            let Some(backend) =
                stance::forced_backend(py)?.filter(|_| this.kind() == EntryKind::Compiled)
            else {
                return Ok(Way::AsEver);
            };
            let context = settings.with_backend(&backend)?;
            if let Some(callable) = this.callable(py) {
                mark_explicit(&callable, context.bind(py).get().settings().id());
            }
            Ok(Way::With(context))
        }
        _ => PyResult::Ok(Way::AsEver),
    };
    let decided = Python::try_attach(|py| in_stance(py).unwrap_or(Way::AsEver));
    decided.unwrap_or(Way::AsEver)
}
