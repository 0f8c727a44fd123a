//! Functions for an entry's own calls: a compiled form as a function whose arguments are bound already.

use std::sync::Arc;

use cache::GuardedCode;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyDict, PyTuple};

use crate::dynamo::slot::CodeSlot;
use crate::dynamo::{graph_only, only_reads};
use cpython_abi::code::RawCode;
use eval_frame::code_state;
use eval_frame::compiler::{Direct, EntryCall};
use eval_frame::direct::{Known, function_like};

/// What an entry's memo knows a compiled form by.
#[inline]
pub fn form(entry: &Arc<GuardedCode>) -> usize {
    Arc::as_ptr(entry) as usize
}

/// The function for a compiled form, made at its first call through this entry.
///
/// # Errors
/// Gives nothing where the hook has to do: memory is short, or the function was made under other
/// builtins than its globals have now.
#[cold]
pub fn make(
    py: Python<'_>,
    call: &EntryCall<'_, '_>,
    entry: &Arc<GuardedCode>,
) -> Result<Direct, ()> {
    let code = match entry.direct.get() {
        Some(code) => code.clone_ref(py),
        None => {
            let code = bound_code(py, entry).map_err(drop)?;
            entry.direct.get_or_init(|| code).clone_ref(py)
        }
    };
    let code = code.bind(py).cast::<PyCode>().map_err(drop)?;
    let function = function(call, code).ok_or(())?;
    // An entry calls without telling PyO3 that the thread is attached.
    let known = Python::try_attach(|_| Known {
        needs_hook: entry.needs_hook,
        graph_call: (!entry.needs_hook)
            .then(|| graph_only::graph_call(code))
            .flatten(),
        only_reads_keywords: only_reads::keywords(entry.code.bind(py)),
    });
    if let Ok(mut memo) = call.memo().try_borrow_mut()
        && let Some(tie) = memo.remember(
            form(entry),
            function.clone().unbind(),
            known.unwrap_or(Known {
                needs_hook: entry.needs_hook,
                ..Known::default()
            }),
        )
    {
        entry.hold(Box::new(tie));
    }
    Ok(Direct {
        function: function.unbind(),
        needs_hook: entry.needs_hook,
        graph_call: None,
    })
}

/// The residual code with each argument a positional one. Where capture is off around the whole of
/// the call, the graph's callable need not switch it off once more.
fn bound_code(py: Python<'_>, entry: &GuardedCode) -> PyResult<Py<PyAny>> {
    let code = entry.code.bind(py).cast::<PyCode>()?;
    // SAFETY: a code object, whose head the self-check has found as declared.
    let raw = unsafe { &*code.as_ptr().cast::<RawCode>() };
    let changed = PyDict::new(py);
    let special = ffi::CO_VARARGS | ffi::CO_VARKEYWORDS;
    if raw.kwonly != 0 || raw.posonly != 0 || raw.flags & special != 0 {
        changed.set_item("co_argcount", raw.argument_slots())?;
        changed.set_item("co_posonlyargcount", 0)?;
        changed.set_item("co_kwonlyargcount", 0)?;
        changed.set_item("co_flags", raw.flags & !special)?;
    }
    if !entry.needs_hook {
        let constants = code.getattr("co_consts")?;
        let constants = constants.cast::<PyTuple>()?.iter();
        let plain = constants.map(|c| eval_frame::entry::undisabled(&c).unwrap_or(c));
        let plain = PyTuple::new(py, plain.collect::<Vec<_>>())?;
        changed.set_item("co_consts", cpython_abi::constants::constants(py, &plain)?)?;
    }
    if changed.is_empty() {
        return Ok(code.clone().into_any().unbind());
    }
    let bound = code.call_method("replace", (), Some(&changed))?;
    let state = code_state::of(bound.cast::<PyCode>()?)?;
    state.skip_always();
    let made = code_state::of(code)?.slot(CodeSlot::default);
    state.slot(CodeSlot::default).is_made_of(made);
    state.set_region(&entry.id.to_string());
    Ok(bound.unbind())
}

/// A function of this code in the place of the one that is called: same globals, builtins, closure.
fn function<'py>(
    call: &EntryCall<'_, 'py>,
    code: &Bound<'py, PyCode>,
) -> Option<Bound<'py, PyAny>> {
    let func = call.func();
    // SAFETY: entries are asked about exact functions.
    let made = unsafe { function_like(func, code.as_any()) }.ok()?;
    let builtins = |function: *mut ffi::PyObject| {
        // SAFETY: both are functions.
        unsafe { (*function.cast::<ffi::PyFunctionObject>()).func_builtins }
    };
    (builtins(made.as_ptr()) == builtins(func.as_ptr())).then_some(made)
}
