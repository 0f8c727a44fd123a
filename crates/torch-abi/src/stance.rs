//! `torch.compiler.set_stance`: what becomes of calls of compiled functions.
//!
//! torch keeps the stance as a global of its own tracer, which a program imports when it sets one. Each call of a
//! compiled function asks [`leaves_calls_alone`]: while that module is not imported, it compares the number of imported
//! modules with that of the last look; afterwards it compares the global with the object that it was. Whoever else wants
//! to see each call makes that comparison fail ([`look_at_each_call`]), which costs nothing while nobody does.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicPtr, Ordering};

use pyo3::ffi::{self, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

use crate::dicts::Place;

/// What the program asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stance {
    /// Compile.
    #[default]
    Default,
    /// Compile with another backend.
    ForceBackend,
    /// Run in eager mode, whatever was compiled.
    ForceEager,
    /// Run in eager mode where there is no compiled code for the call.
    EagerOnRecompile,
    /// Raise where there is no compiled code for the call.
    FailOnRecompile,
    /// Run a function's first call in eager mode, and compile it for the next ones.
    EagerThenCompile,
}

const TRACER: &str = "torch._dynamo.eval_frame";

static MODULES: AtomicPtr<PyObject> = AtomicPtr::new(ptr::null_mut());
/// How many modules were imported at the last look for the tracer.
static IMPORTED: AtomicIsize = AtomicIsize::new(-1);
/// The tracer's globals, owned, once they were found.
static GLOBALS: AtomicPtr<PyObject> = AtomicPtr::new(ptr::null_mut());
/// The object that stood for the default stance at the last look, owned.
static DEFAULT: AtomicPtr<PyObject> = AtomicPtr::new(ptr::null_mut());
static PLACE: Place = Place::new();
/// Whether somebody looks at each call.
static LOOKS: AtomicBool = AtomicBool::new(false);

fn name(py: Python<'_>) -> *mut PyObject {
    static NAME: PyOnceLock<Py<PyString>> = PyOnceLock::new();
    NAME.get_or_init(py, || PyString::intern(py, "_stance").unbind())
        .as_ptr()
}

/// Whether the stance is torch's default and nobody looks at each call; asking costs a call next to nothing.
#[inline]
pub fn leaves_calls_alone(py: Python<'_>) -> bool {
    let globals = GLOBALS.load(Ordering::Relaxed);
    if globals.is_null() {
        let modules = MODULES.load(Ordering::Relaxed);
        // SAFETY: `sys.modules` as it was found, which is owned.
        let is_seen = !modules.is_null()
            && unsafe { ffi::PyDict_Size(modules) } == IMPORTED.load(Ordering::Relaxed);
        return is_seen || is_default(py);
    }
    // SAFETY: the GIL is held; the globals of a module are a dictionary, and have names for keys.
    let stance = unsafe { PLACE.get(globals, name(py)) };
    stance == DEFAULT.load(Ordering::Relaxed) || is_default(py)
}

#[cold]
fn is_default(py: Python<'_>) -> bool {
    read(py) == Stance::Default && !LOOKS.load(Ordering::Relaxed)
}

/// Has [`leaves_calls_alone`] say no from now on, whatever the stance, or again what is so.
pub fn look_at_each_call(on: bool) {
    LOOKS.store(on, Ordering::Relaxed);
    if on {
        IMPORTED.store(-1, Ordering::Relaxed);
        let before = DEFAULT.swap(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: it was owned, or is null; whoever begins to look holds the GIL.
        unsafe { ffi::Py_XDECREF(before) };
    }
}

/// The stance now.
#[cold]
pub fn read(py: Python<'_>) -> Stance {
    asked(py).unwrap_or_default()
}

fn asked(py: Python<'_>) -> PyResult<Stance> {
    let Some(stance) = object(py)? else {
        return Ok(Stance::Default);
    };
    let kind = stance.getattr(intern!(py, "stance"))?;
    let kind = kind.cast::<PyString>()?;
    Ok(match kind.to_str()? {
        "force_eager" => Stance::ForceEager,
        "eager_on_recompile" => Stance::EagerOnRecompile,
        "fail_on_recompile" => Stance::FailOnRecompile,
        "eager_then_compile" | "aot_eager_then_compile" => Stance::EagerThenCompile,
        _ if forced(&stance)?.is_some() => Stance::ForceBackend,
        _ if LOOKS.load(Ordering::Relaxed) => Stance::Default,
        _ => {
            let before = DEFAULT.swap(stance.into_ptr(), Ordering::Relaxed);
            // SAFETY: it was owned, or is null.
            unsafe { ffi::Py_XDECREF(before) };
            Stance::Default
        }
    })
}

/// The backend that the stance puts in the place of each function's own.
///
/// # Errors
/// Where torch keeps its stance in another way.
pub fn forced_backend(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    match object(py)? {
        Some(stance) => forced(&stance),
        None => Ok(None),
    }
}

fn forced<'py>(stance: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let backend = stance.getattr_opt(intern!(stance.py(), "backend"))?;
    Ok(backend.filter(|backend| !backend.is_none()))
}

/// torch's object for the stance; `None` where its tracer was not imported.
fn object(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let globals = match GLOBALS.load(Ordering::Relaxed) {
        globals if globals.is_null() => match find_globals(py)? {
            Some(globals) => globals,
            None => return Ok(None),
        },
        // SAFETY: owned, and never released.
        globals => unsafe { Bound::from_borrowed_ptr(py, globals) }.cast_into::<PyDict>()?,
    };
    globals.get_item(intern!(py, "_stance"))
}

fn find_globals(py: Python<'_>) -> PyResult<Option<Bound<'_, PyDict>>> {
    let modules = py.import("sys")?.getattr("modules")?;
    let modules = modules.cast::<PyDict>()?;
    let before = MODULES.swap(modules.clone().into_ptr(), Ordering::Relaxed);
    if !LOOKS.load(Ordering::Relaxed) {
        IMPORTED.store(modules.len() as isize, Ordering::Relaxed);
    }
    // SAFETY: it was owned, or is null.
    unsafe { ffi::Py_XDECREF(before) };
    let Some(tracer) = modules.get_item(TRACER)? else {
        return Ok(None);
    };
    let globals = tracer.cast::<pyo3::types::PyModule>()?.dict();
    // While it is being imported there is no stance yet.
    if globals.contains(intern!(py, "_stance"))? {
        GLOBALS.store(globals.clone().into_ptr(), Ordering::Relaxed);
    } else {
        IMPORTED.store(-1, Ordering::Relaxed);
    }
    Ok(Some(globals))
}
