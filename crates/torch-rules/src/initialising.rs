//! Modules and initialisers of torch's that a program calls in the compiled function, below a compiler.
//!
//! A compiler draws random numbers of its own. torch.compile runs the construction of `nn.Linear(3, 3)` in
//! eager mode, because a compiler's graph can't make parameters, so the weights are eager's. They have to
//! be here: what follows a break in the constructor must not become a graph.

use pyo3::prelude::*;
use translator::call::Callee;
use translator::rules::{Given, Rule, RuleList};
use translator::state::OnReturn;
use translator::stop::{R, Stop};
use translator::tx::{Args, Tx};
use variables::{Origin, Var};

pub(crate) const RULES: RuleList = &[(
    "torch.nn.modules.lazy",
    &[(
        "LazyModuleMixin._infer_parameters",
        infer_parameters as Rule,
    )],
)];

/// The hook in front of the first call of a lazy module, which makes its parameters and its class. A module that is
/// made in the compiled function is made anew in each call.
fn infer_parameters(tx: &mut Tx<'_>, _: &'static str, args: Args) -> Given {
    let Some(module) = args.pos.first() else {
        return Ok(None);
    };
    if let Var::Obj(id) = tx.realize(module)?
        && let Origin::Source { obj, .. } = &tx.obj(id).origin
    {
        let class = obj.bind(tx.py).get_type().name()?;
        return Err(Stop::uninitialized(class));
    }
    Ok(None)
}

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
