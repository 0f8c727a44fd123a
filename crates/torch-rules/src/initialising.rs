//! Modules and initialisers of torch's that a program calls in the compiled function, below a compiler.
//!
//! A compiler draws random numbers of its own. torch.compile runs the construction of `nn.Linear(3, 3)` in
//! eager mode, because a compiler's graph can't make parameters, so the weights are eager's. They have to
//! be here: what follows a break in the constructor must not become a graph.

use pyo3::prelude::*;
use translator::call::Callee;
use translator::state::OnReturn;
use translator::stop::R;
use translator::tx::Tx;

/// Whether a compiler's graph has the call of a Python function whole, or it runs in eager mode with
/// all that it calls: the constructor of one of torch's modules, a function of `torch.nn.init`.
pub(crate) fn is_whole_for_compiler(
    tx: &Tx<'_>,
    callee: &Callee,
    name: &str,
    on_return: &OnReturn,
) -> R<bool> {
    if tx.runs_as_is || !matches!(on_return, OnReturn::Push | OnReturn::PushInstance(_)) {
        return Ok(false);
    }
    let globals = callee.globals.dict.bind(tx.py);
    let module = globals.get_item("__name__").map(|name| name.to_string());
    Ok(match name {
        "__init__" => module.is_ok_and(|module| module.starts_with("torch.nn.")),
        _ => module.is_ok_and(|module| module == "torch.nn.init"),
    })
}
