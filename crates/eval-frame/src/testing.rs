//! A compiler made of a Python callback, for testing the hook without a translator.
//!
//! `_testing.use_python_compiler(callback)` asks `callback(code, arguments)` about each frame of a
//! compiled region, `arguments` being a dict from names to values. `None` runs the frame, `False`
//! skips its code, a code object replaces it, an exception is raised in its place.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[cfg(debug_assertions)]
use cpython_abi::panics::for_tests::{self, Place};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCode, PyDict, PyTuple};

use crate::code_state;
use crate::compiler::{self, Direct, EntryCall, FrameCompiler, Outcome, Registered};
use crate::context::CompileContext;
use crate::frame::FrameRef;
use crate::{hook, region, substitute};

static CALLBACK: Mutex<Option<Py<PyAny>>> = Mutex::new(None);
static ON_CALL: Mutex<Option<Py<PyAny>>> = Mutex::new(None);
static PANIC: AtomicBool = AtomicBool::new(false);
static UNCHECKED: AtomicBool = AtomicBool::new(false);
static FRAMES: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);
static BEFORE: Mutex<Option<Option<&'static Registered>>> = Mutex::new(None);
static COMPILER: Mutex<Option<&'static Registered>> = Mutex::new(None);

fn callback(py: Python<'_>, which: &Mutex<Option<Py<PyAny>>>) -> Option<Py<PyAny>> {
    which
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
        .as_ref()
        .map(|callback| callback.clone_ref(py))
}

/// Asks Python callbacks.
struct PythonCompiler;

fn arguments<'py>(py: Python<'py>, frame: &FrameRef<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let names = frame.local_names(py);
    for index in 0..frame.arguments().len() {
        if let Some(value) = frame.local(py, index) {
            dict.set_item(names.get_item(index)?, value)?;
        }
    }
    Ok(dict)
}

fn outcome(answer: &Bound<'_, PyAny>) -> PyResult<Outcome> {
    if answer.is_none() {
        return Ok(Outcome::Run);
    }
    if answer.is_exact_instance_of::<PyBool>() && !answer.is_truthy()? {
        return Ok(Outcome::Skip);
    }
    match answer.cast::<PyCode>() {
        Ok(code) => Ok(Outcome::Replace(code.clone().unbind())),
        Err(_) => Err(PyTypeError::new_err(format!(
            "the callback returned {answer:?}, not None, False or a code object"
        ))),
    }
}

impl FrameCompiler for PythonCompiler {
    fn on_frame(&self, py: Python<'_>, frame: &FrameRef<'_>, _ctx: &CompileContext) -> Outcome {
        FRAMES.fetch_add(1, Ordering::Relaxed);
        if PANIC.load(Ordering::Relaxed) {
            panic!("a test asked for it");
        }
        let Some(callback) = callback(py, &CALLBACK) else {
            return Outcome::Run;
        };
        let decide = || {
            let answer = callback
                .bind(py)
                .call1((frame.code(py), arguments(py, frame)?))?;
            let outcome = outcome(&answer)?;
            if let Outcome::Replace(code) = &outcome
                && !UNCHECKED.load(Ordering::Relaxed)
            {
                substitute::check(&frame.code(py), code.bind(py))?;
            }
            Ok(outcome)
        };
        decide().unwrap_or_else(Outcome::Raise)
    }

    fn on_call(
        &self,
        py: Python<'_>,
        call: &EntryCall<'_, '_>,
        _ctx: &CompileContext,
    ) -> Option<Direct> {
        if !call.is_plain() {
            return None;
        }
        CALLS.fetch_add(1, Ordering::Relaxed);
        let callback = callback(py, &ON_CALL)?;
        let args = call
            .locals()
            .iter()
            // SAFETY: the arguments are borrowed from the caller for the length of the call.
            .map(|arg| unsafe { Bound::from_borrowed_ptr(py, *arg) });
        let args = PyTuple::new(py, args.collect::<Vec<_>>()).ok()?;
        let answer = callback.bind(py).call1((call.func(), args)).ok()?;
        if answer.is_none() {
            return None;
        }
        let (function, needs_hook) = answer.extract::<(Py<PyAny>, bool)>().ok()?;
        Some(Direct {
            function,
            needs_hook,
            graph_call: None,
        })
    }
}

/// Replaces every plain call by one held function, without any check: for measuring.
struct ConstantCompiler {
    function: Py<PyAny>,
    code: Py<PyCode>,
    direct: bool,
}

impl FrameCompiler for ConstantCompiler {
    fn on_frame(&self, py: Python<'_>, _frame: &FrameRef<'_>, _ctx: &CompileContext) -> Outcome {
        Outcome::Replace(self.code.clone_ref(py))
    }

    fn on_call(
        &self,
        py: Python<'_>,
        call: &EntryCall<'_, '_>,
        _ctx: &CompileContext,
    ) -> Option<Direct> {
        if !self.direct || !call.is_plain() {
            return None;
        }
        call.code_state()?;
        Some(Direct {
            function: self.function.clone_ref(py),
            needs_hook: false,
            graph_call: None,
        })
    }
}

fn install(compiler: &'static Registered) {
    let before = compiler::set_compiler(Some(compiler));
    let mut saved = BEFORE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    saved.get_or_insert(before);
}

fn set(which: &Mutex<Option<Py<PyAny>>>, value: Option<Py<PyAny>>) {
    // The old callback is released after the lock: releasing may run Python code.
    let old = std::mem::replace(
        &mut *which
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()),
        value,
    );
    drop(old);
}

/// Asks `callback` (frames) and `on_call` (plain calls of entries); both `None` puts back the
/// compiler that was there before.
#[pyfunction]
#[pyo3(signature = (callback, on_call=None))]
fn use_python_compiler(callback: Option<Py<PyAny>>, on_call: Option<Py<PyAny>>) {
    if callback.is_none() && on_call.is_none() {
        let before = BEFORE
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .take();
        if let Some(before) = before {
            compiler::set_compiler(before);
        }
    } else {
        let python = *COMPILER
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .get_or_insert_with(|| Registered::leak(PythonCompiler));
        install(python);
    }
    set(&CALLBACK, callback);
    set(&ON_CALL, on_call);
}

/// Replaces every function by `function`: in the entry where `direct`, else in the hook.
#[pyfunction]
fn use_constant_compiler(function: Bound<'_, PyAny>, direct: bool) -> PyResult<()> {
    let code = function.getattr("__code__")?.cast_into::<PyCode>()?;
    code_state::of(&code)?.skip_always();
    install(Registered::leak(ConstantCompiler {
        function: function.unbind(),
        code: code.unbind(),
        direct,
    }));
    Ok(())
}

/// Makes the Python compiler panic in place of asking.
#[pyfunction]
fn set_panic(on: bool) {
    PANIC.store(on, Ordering::Relaxed);
}

/// Leaves the check of replacements to the hook.
#[pyfunction]
fn set_unchecked(on: bool) {
    UNCHECKED.store(on, Ordering::Relaxed);
}

/// Takes the way of a full data-stack chunk for every substitution.
#[pyfunction]
fn set_always_detach(on: bool) {
    hook::set_always_detach(on);
}

/// Frames and plain calls that the Python compiler was asked about.
#[pyfunction]
fn counts() -> (usize, usize) {
    (
        FRAMES.load(Ordering::Relaxed),
        CALLS.load(Ordering::Relaxed),
    )
}

/// Whether the interpreter's evaluator is the hook, and the number of open regions.
#[pyfunction]
fn hook_state() -> (bool, usize) {
    (region::is_installed(), region::open_regions())
}

/// Never asks for this code again.
#[pyfunction]
fn skip_always(code: Bound<'_, PyCode>) -> PyResult<()> {
    code_state::of(&code)?.skip_always();
    Ok(())
}

/// Makes the function that C calls for `doing` panic once: before it does anything, or `at_end`.
#[cfg(debug_assertions)]
#[pyfunction]
fn panic_in(doing: &str, at_end: bool) {
    let place = match at_end {
        true => Place::End,
        false => Place::Start,
    };
    for_tests::want(doing, place);
}

/// Whether the panic that was asked for has not come. It is asked for no longer.
#[cfg(debug_assertions)]
#[pyfunction]
fn panic_is_to_come() -> bool {
    for_tests::withdraw()
}

/// Adds the submodule `_testing` to a module.
///
/// # Errors
/// `MemoryError`.
pub fn register(parent: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = PyModule::new(parent.py(), "_testing")?;
    module.add_function(wrap_pyfunction!(use_python_compiler, &module)?)?;
    module.add_function(wrap_pyfunction!(use_constant_compiler, &module)?)?;
    module.add_function(wrap_pyfunction!(set_panic, &module)?)?;
    module.add_function(wrap_pyfunction!(set_unchecked, &module)?)?;
    module.add_function(wrap_pyfunction!(set_always_detach, &module)?)?;
    module.add_function(wrap_pyfunction!(counts, &module)?)?;
    module.add_function(wrap_pyfunction!(hook_state, &module)?)?;
    module.add_function(wrap_pyfunction!(skip_always, &module)?)?;
    #[cfg(debug_assertions)]
    module.add_function(wrap_pyfunction!(panic_in, &module)?)?;
    #[cfg(debug_assertions)]
    module.add_function(wrap_pyfunction!(panic_is_to_come, &module)?)?;
    parent.add_submodule(&module)
}
