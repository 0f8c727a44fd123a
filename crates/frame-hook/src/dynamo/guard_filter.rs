//! `options={"guard_filter_fn": f}`: the program chooses which guards are kept, as it does with `torch.compile`.
//!
//! What it drops is not checked any more: a call for which it would have failed gets the code of another one.

use guards::exec::explain::is_module;
use guards::kinds::TextCx;
use guards::{ConstTypes, Guard, NameStyle, Source};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use torch_abi::TorchAbi;
use translator::Tx;

use eval_frame::context::CompileContext;

/// Drops the guards that the filter does not want.
///
/// # Errors
/// What the filter raises, and where it does not answer for each guard.
pub fn apply(tx: &mut Tx<'_>, ctx: &CompileContext) -> PyResult<()> {
    let py = tx.py;
    let Some(filter) = ctx.options().bind(py).get_item("guard_filter_fn")? else {
        return Ok(());
    };
    let entries = PyList::empty(py);
    for guard in &tx.log.guards {
        entries.append(entry(tx, guard)?)?;
    }
    let kept = interrupts::live(py, || {
        let module = py.import("ferrodyn._guard_filter")?;
        module.call_method1("kept", (filter, entries))
    })?;
    let kept: Vec<bool> = kept.extract()?;
    if kept.len() != tx.log.guards.len() {
        return Err(PyValueError::new_err(format!(
            "guard_filter_fn answered for {} of {} guards",
            kept.len(),
            tx.log.guards.len()
        )));
    }
    let mut kept = kept.into_iter();
    tx.drop_guards(|_| !kept.next().unwrap_or(true));
    Ok(())
}

/// What the filter is told of a guard.
fn entry<'py>(tx: &Tx<'py>, guard: &Guard) -> PyResult<Bound<'py, PyDict>> {
    let py = tx.py;
    let sources = &tx.facts.sources;
    let entry = PyDict::new(py);
    let name = guard.source.map(|source| sources.plain_name(source));
    entry.set_item("name", name.unwrap_or_default())?;
    entry.set_item("guard_type", guard.kind.name())?;
    let value = guard
        .source
        .and_then(|source| tx.facts.reached.get(&source));
    entry.set_item("has_value", value.is_some())?;
    entry.set_item("value", value.map(|value| value.bind(py)))?;
    let root = guard.source.map(|source| sources.get(sources.root(source)));
    let is_global = matches!(
        root,
        Some(Source::Globals | Source::Global { .. } | Source::GlobalsOf { .. })
    );
    entry.set_item("is_global", is_global)?;
    let modules = PyList::empty(py);
    let mut at = guard.source;
    while let Some(source) = at {
        if let Some(object) = tx.facts.reached.get(&source)
            && is_module(object.bind(py))?
        {
            modules.append(object.bind(py))?;
        }
        at = sources.get(source).base();
    }
    entry.set_item("modules", modules)?;
    let abi = TorchAbi::get(py).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let text = TextCx {
        sources,
        style: NameStyle::Plain,
        const_types: &ConstTypes::of(abi),
    };
    entry.set_item("code_parts", guard.kind.code_parts(guard.source, &text))?;
    Ok(entry)
}
