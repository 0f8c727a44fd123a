//! Whether a graph's function that raised can be said not to have run.

use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyString, PyTuple};

use crate::forward::Numbers;

/// How the file names of the functions begin.
pub(crate) const FILE: &str = "<ferrodyn graph ";

/// The line of the nodes up to the first that is not repeatable, and of that one if it writes nothing where it
/// raises.
pub(crate) const REPEATABLE: u32 = 1;

/// The line of all behind it, and of that one otherwise.
pub(crate) const NOT_REPEATABLE: u32 = 2;

/// The local that holds the state of the CPU's random generator. No node has a name like this.
pub(crate) const RANDOM_STATE: &str = "random state";

/// The CPU's random generator.
///
/// # Errors
/// Where torch lacks it.
pub(crate) fn random_generator(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import(intern!(py, "torch"))?
        .getattr(intern!(py, "default_generator"))
}

/// Whether a callable is a function that [`crate::forward_function`] made.
///
/// # Errors
/// Whatever reading its code raises.
pub fn is_forward_function(callable: &Bound<'_, PyAny>) -> PyResult<bool> {
    match callable.getattr_opt(intern!(callable.py(), "__code__"))? {
        Some(code) => is_forward_code(&code),
        None => Ok(false),
    }
}

fn is_forward_code(code: &Bound<'_, PyAny>) -> PyResult<bool> {
    let file = code.getattr_opt(intern!(code.py(), "co_filename"))?;
    let file = file.as_ref().and_then(|file| file.cast::<PyString>().ok());
    Ok(file.is_some_and(|file| file.to_string_lossy().starts_with(FILE)))
}

/// The builtin that says of an exception, in the frame that called such a function, whether nobody can
/// tell that the function ran: all nodes up to the one that raised are repeatable, and no mode has
/// seen them. Random numbers that they drew are put back.
///
/// # Errors
/// `MemoryError`.
pub fn left_no_trace(py: Python<'_>) -> PyResult<Py<PyAny>> {
    static BUILTIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    builtin(py, &BUILTIN, raised_without_a_trace)
}

/// The builtin that says the same of what a compiler made of a graph whose operations can all run again: whether the
/// graph itself raised, and no mode has seen its operations.
///
/// # Errors
/// `MemoryError`.
pub fn may_run_again(py: Python<'_>) -> PyResult<Py<PyAny>> {
    static BUILTIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    builtin(py, &BUILTIN, |raised| {
        Ok(is_of_the_graph(raised)? && !interrupts::comes_from_outside(raised)?)
    })
}

/// A question about an exception as a builtin.
fn builtin(
    py: Python<'_>,
    kept: &PyOnceLock<Py<PyAny>>,
    question: fn(&Bound<'_, PyAny>) -> PyResult<bool>,
) -> PyResult<Py<PyAny>> {
    let make = || {
        let ask = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
            question(&args.get_item(0)?)
        };
        let ask = PyCFunction::new_closure(py, Some(c"__ferrodyn_left_no_trace"), None, ask)?;
        PyResult::Ok(ask.into_any().unbind())
    };
    kept.get_or_try_init(py, make).map(|b| b.clone_ref(py))
}

/// Whether an exception is no interrupt, which is for the program, and operations are seen by nobody.
fn is_of_the_graph(raised: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(raised.is_instance_of::<PyException>() && Numbers::now(raised.py())? != Numbers::AsGiven)
}

fn raised_without_a_trace(raised: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = raised.py();
    if !is_of_the_graph(raised)? {
        return Ok(false);
    }
    let caller = raised.getattr(intern!(py, "__traceback__"))?;
    let Some(graph) = caller.getattr_opt(intern!(py, "tb_next"))? else {
        return Ok(false);
    };
    let Some(frame) = graph.getattr_opt(intern!(py, "tb_frame"))? else {
        return Ok(false);
    };
    // Nor what a signal handler has raised while the graph ran.
    if interrupts::comes_from_outside(raised)? {
        return Ok(false);
    }
    let line: Option<u32> = graph.getattr(intern!(py, "tb_lineno"))?.extract()?;
    if line != Some(REPEATABLE) || !is_forward_code(&frame.getattr(intern!(py, "f_code"))?)? {
        return Ok(false);
    }
    let locals = frame.getattr(intern!(py, "f_locals"))?;
    if locals.contains(RANDOM_STATE)? {
        let state = locals.get_item(RANDOM_STATE)?;
        random_generator(py)?.call_method1(intern!(py, "set_state"), (state,))?;
    }
    Ok(true)
}
