//! The extension: the stages put together, and the Python module `ferrodyn._core`.
//!
//! What lives here: what happens to a frame that the hook shows, from its guarded code to a new translation, and when
//! that is tried again ([`dynamo`]); what torch has a say in around the hook (`surroundings`, `foreign`, `in_stance`,
//! `module_call`, `profiled`); exceptions that are taken from Python (`taken`); threads that the interpreter ends
//! (`thread_end`). What does not: the hook and entries (`eval-frame`),
//! opcodes, and what each stage does.
//!
//! Invariant: no panic and no internal error reaches the program; the frame runs as plain Python.

pub mod dynamo;
mod foreign;
mod in_stance;
mod module_call;
mod profiled;
mod surroundings;
mod taken;
#[cfg(ends_threads)]
mod thread_end;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyType};

use eval_frame::context::Context;
use eval_frame::entry_type::Attribute;
use eval_frame::{code_state, compiler, continuation, entry, entry_type, region, substitute};

/// What translation allocates is freed at its end, and the next one allocates it again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pyo3::create_exception!(
    ferrodyn._core,
    UnsupportedPythonError,
    PyImportError,
    "This Python is not one that ferrodyn knows the insides of."
);

/// An entry that runs `fn` as a compiled region under `context`.
#[pyfunction]
fn make_entry<'py>(
    r#fn: &Bound<'py, PyAny>,
    context: &Bound<'py, Context>,
) -> PyResult<Bound<'py, PyAny>> {
    dynamo::slot::mark_explicit(r#fn, context.get().settings().id());
    entry::make_compiled(r#fn, context)
}

/// An entry that runs `fn` with capture off. Unless `recursive`, `fn` itself, whose own frame is
/// left alone while what it calls may be captured.
#[pyfunction]
#[pyo3(signature = (r#fn, *, recursive = true))]
fn make_disabled<'py>(r#fn: &Bound<'py, PyAny>, recursive: bool) -> PyResult<Bound<'py, PyAny>> {
    if recursive {
        return entry::make_disabled(r#fn);
    }
    let function = r#fn.getattr("__func__").unwrap_or_else(|_| r#fn.clone());
    let code = function.getattr("__code__")?.cast_into::<PyCode>()?;
    code_state::of(&code)?.skip_always();
    function.setattr("_torchdynamo_disable", true)?;
    Ok(r#fn.clone())
}

/// `__call__` for a class of modules whose `forward` is an entry; `fn` is what it is where more is to be run.
#[pyfunction]
fn make_module_call<'py>(r#fn: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    module_call::make(r#fn)
}

/// Makes calls of instances of a class, whose `__call__` is what [`make_module_call`] gives, find their
/// `forward` at once.
#[pyfunction]
fn call_modules_directly(class: &Bound<'_, PyType>) {
    module_call::call_directly(class);
}

/// Whether `object` is an entry.
#[pyfunction]
fn is_entry(object: &Bound<'_, PyAny>) -> bool {
    entry_type::is_entry(object)
}

/// The context of a compiled entry, else `None`.
#[pyfunction]
fn entry_context<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    entry_type::context_of(object)
}

/// Raises `ReplacementError` unless `replacement` can run in a frame of `code`.
#[pyfunction]
fn check_replacement(code: &Bound<'_, PyCode>, replacement: &Bound<'_, PyCode>) -> PyResult<()> {
    Ok(substitute::check(code, replacement)?)
}

/// The attributes by which torch, and libraries, find what a compiled function was made of.
static ATTRIBUTES: [Attribute; 3] = [
    Attribute {
        name: c"aot_compile",
        get: foreign::aot_compile,
    },
    Attribute {
        name: c"_torchdynamo_orig_callable",
        get: foreign::original,
    },
    Attribute {
        name: c"_torchdynamo_wrapper_id",
        get: foreign::wrapper_id,
    },
];

#[pyfunction]
fn _after_fork_in_child() {
    region::after_fork_in_child();
    guards::plan::after_fork_in_child();
}

/// Fills the module; for a crate that builds the extension from several parts.
///
/// # Errors
/// [`UnsupportedPythonError`] where a layout is not the expected one.
pub fn populate(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    foreign::initialise(py);
    profiled::follow(py)?;
    eval_frame::surroundings::set_surroundings(&surroundings::Torch);
    continuation::set_mark(residual::continuation_mark(py));
    eval_frame::initialise(module, &ATTRIBUTES).map_err(|error| match error {
        eval_frame::InitialiseError::Layout(error) => {
            UnsupportedPythonError::new_err(error.to_string())
        }
        eval_frame::InitialiseError::Python(error) => error,
    })?;
    guards::exec::watch::prepare(py);
    module.add_class::<Context>()?;
    module.add(
        "UnsupportedPythonError",
        py.get_type::<UnsupportedPythonError>(),
    )?;
    module.add(
        "ReplacementError",
        py.get_type::<substitute::ReplacementError>(),
    )?;
    module.add_function(wrap_pyfunction!(make_entry, module)?)?;
    module.add_function(wrap_pyfunction!(make_disabled, module)?)?;
    module.add_function(wrap_pyfunction!(make_module_call, module)?)?;
    module.add_function(wrap_pyfunction!(call_modules_directly, module)?)?;
    module.add_function(wrap_pyfunction!(is_entry, module)?)?;
    module.add_function(wrap_pyfunction!(entry_context, module)?)?;
    module.add_function(wrap_pyfunction!(check_replacement, module)?)?;
    let after_fork = wrap_pyfunction!(_after_fork_in_child, module)?;
    let options = pyo3::types::PyDict::new(py);
    options.set_item("after_in_child", after_fork)?;
    py.import("os")?
        .call_method("register_at_fork", (), Some(&options))?;
    dynamo::python::register(module)?;
    dynamo::artifacts::register(module)?;
    compiler::set_compiler(Some(compiler::Registered::leak(dynamo::driver::Driver)));
    eval_frame::testing::register(module)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    populate(module)
}
