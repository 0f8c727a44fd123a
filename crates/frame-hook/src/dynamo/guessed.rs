//! What a backend will probably give, as its code says before it is called: the graph that it is handed, or another.
//!
//! A graph is made for one or the other, so a wrong guess makes a backend work twice on its first graph. It decides
//! about nothing else: what a backend has given is looked at.

use bytecode::op::{LocalIdx, Op};
use cpython_abi::symbols::PyMethod_Type;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyFunction;
use translator::code::CodeInfo;

/// The attribute that runs a graph module.
const FORWARD: &str = "forward";
/// What is called of a module whose graph was changed.
const RECOMPILE: &str = "recompile";

/// Whether all that the code of a backend returns is its first argument, a module, or the `forward` of that. A function
/// that is not written in Python says nothing.
///
/// # Errors
/// Where Python can't read its own functions.
pub fn gives_graph_back(backend: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = backend.py();
    if let Ok(function) = backend.cast::<PyFunction>() {
        return returns_argument(function, 0);
    }
    let is_method = backend.get_type().as_type_ptr() == &raw mut PyMethod_Type;
    let method = match is_method {
        true => backend.getattr(intern!(py, "__func__"))?,
        false => match backend.get_type().getattr_opt(intern!(py, "__call__"))? {
            Some(call) => call,
            None => return Ok(false),
        },
    };
    match method.cast::<PyFunction>() {
        Ok(function) => returns_argument(function, 1),
        Err(_) => Ok(false),
    }
}

fn returns_argument(function: &Bound<'_, PyFunction>, at: u32) -> PyResult<bool> {
    let code = function.getattr(intern!(function.py(), "__code__"))?;
    let Ok(code) = CodeInfo::new(&code) else {
        return Ok(false);
    };
    let argument = LocalIdx(at);
    let (instrs, names) = (&code.body.instrs, &code.names);
    let loads = |op: &Op| matches!(op, Op::LoadFast { local, .. } if *local == argument);
    let jumped_to = |at: usize| {
        let targets = instrs.iter().filter_map(|instr| instr.op.target());
        targets.into_iter().any(|target| target.0 as usize == at)
    };
    let mut returns = 0;
    for (i, instr) in instrs.iter().enumerate() {
        match &instr.op {
            Op::ReturnValue => returns += 1,
            Op::ReturnConst(_) | Op::ReturnGenerator => return Ok(false),
            Op::LoadMethod { name, .. } if &*names[name.0 as usize] == RECOMPILE => {
                return Ok(false);
            }
            op if op
                .local_use()
                .is_some_and(|of| of.local == argument && of.writes) =>
            {
                return Ok(false);
            }
            _ => continue,
        }
        if !matches!(instr.op, Op::ReturnValue) {
            continue;
        }
        let before = |n: usize| i.checked_sub(n).map(|at| &instrs[at].op);
        let first = match before(1) {
            Some(Op::LoadAttr(name)) if &*names[name.0 as usize] == FORWARD => 2,
            _ => 1,
        };
        let is_own =
            before(first).is_some_and(loads) && (i + 1 - first..=i).all(|at| !jumped_to(at));
        if !is_own {
            return Ok(false);
        }
    }
    Ok(returns > 0)
}
