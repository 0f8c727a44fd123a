//! An embedded interpreter with the site-packages of the Python that the tests were built for.
//!
//! The interpreter is that of `PYO3_PYTHON` at build time; `FERRODYN_SITE` (a site-packages
//! directory) or `VIRTUAL_ENV` at run time name another environment of the same version.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};

fn site_packages(version: (u8, u8)) -> Option<PathBuf> {
    if let Some(site) = std::env::var_os("FERRODYN_SITE") {
        return Some(site.into());
    }
    let root = match std::env::var_os("VIRTUAL_ENV") {
        Some(root) => PathBuf::from(root),
        None => PathBuf::from(option_env!("FERRODYN_TEST_PYTHON")?)
            .parent()?
            .parent()?
            .to_owned(),
    };
    Some(root.join(format!(
        "lib/python{}.{}/site-packages",
        version.0, version.1
    )))
}

/// Runs `body` with the GIL; one test at a time, since torch's global state is part of what is
/// tested.
pub fn with_torch<R>(body: impl FnOnce(Python<'_>) -> PyResult<R>) -> R {
    static ONE: Mutex<()> = Mutex::new(());
    static READY: OnceLock<()> = OnceLock::new();
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    Python::attach(|py| {
        READY.get_or_init(|| {
            let version = py.version_info();
            let site = site_packages((version.major, version.minor)).expect("no site-packages");
            py.import("site")
                .and_then(|module| module.call_method1("addsitedir", (site,)))
                .expect("addsitedir");
        });
        body(py).unwrap_or_else(|error| {
            error.print(py);
            panic!("{error}")
        })
    })
}

/// A module made of Python source.
#[allow(dead_code)]
pub fn module<'py>(py: Python<'py>, source: &str) -> PyResult<Bound<'py, PyModule>> {
    let source = std::ffi::CString::new(source)?;
    PyModule::from_code(py, &source, c"case.py", c"case")
}

/// What `print_tabular` prints.
#[allow(dead_code)]
pub fn printed_table(graph: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = graph.py();
    let buffer = py.import("io")?.call_method0("StringIO")?;
    let redirect = py
        .import("contextlib")?
        .call_method1("redirect_stdout", (&buffer,))?;
    redirect.call_method0("__enter__")?;
    let result = graph.call_method0("print_tabular");
    redirect.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
    result?;
    buffer.call_method0("getvalue")?.extract()
}

/// A dict of keyword arguments.
#[allow(dead_code)]
pub fn no_kwargs(py: Python<'_>) -> Bound<'_, PyDict> {
    PyDict::new(py)
}
