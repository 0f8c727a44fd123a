//! Results of inductor that are kept from one process to the next.
//!
//! Lives here: when a result may be kept, that it is found again and loaded, and that nothing which goes wrong with it
//! is more than a compilation. Does not live here: what makes two graphs the same (`kept_key`), files
//! (`artifact-store`), what a result consists of and how it runs (`ferrodyn._artifact`, `_artifact_runtime`).

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use artifact_store::{Key, Store, StoreError};
use pyo3::exceptions::{PyException, PyFileNotFoundError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction, PyDict, PyList, PyTuple};

use crate::call::{BackendCall, Compiled};
use crate::error::BackendError;
use crate::kept_key::{self, Untold};
use crate::log::{self, log};
use crate::registry::Backend;

/// How many bytes all results together may have.
const LIMIT: u64 = 4 << 30;

/// Where the result for a graph is kept, or would be.
pub struct Kept {
    store: Arc<Store>,
    key: Key,
}

fn note(py: Python<'_>, level: &str, message: &str, about: impl ToString) -> PyResult<()> {
    log(py, log::ARTIFACTS, level, message, about.to_string())
}

/// The store of a folder, opened once.
fn store(folder: &Path) -> Result<Arc<Store>, StoreError> {
    static OPEN: Mutex<Vec<(PathBuf, Arc<Store>)>> = Mutex::new(Vec::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, store)) = open.iter().find(|(of, _)| of == folder) {
        return Ok(store.clone());
    }
    let store = Arc::new(Store::open(folder, LIMIT)?);
    open.push((folder.to_owned(), store.clone()));
    Ok(store)
}

impl Kept {
    /// Where what `backend` makes in a call is kept in a folder; `None`, with a line in the log, where it can't be.
    ///
    /// # Errors
    /// Interrupts, and what logging raises.
    pub fn find(
        backend: &Backend,
        folder: &Path,
        call: &BackendCall<'_>,
        examples: &Bound<'_, PyList>,
    ) -> PyResult<Option<Kept>> {
        let py = examples.py();
        let (true, Some((graph, objects))) = (backend.keeps_results(), call.graph) else {
            return Ok(None);
        };
        let key = match kept_key::key(graph, objects, call.inputs, examples) {
            Ok(key) => key,
            Err(Untold(why)) => {
                interrupts::check(py)?;
                note(py, "info", "a graph has no key: %s", why)?;
                return Ok(None);
            }
        };
        match store(folder) {
            Ok(store) => Ok(Some(Kept { store, key })),
            Err(error) => {
                note(py, "warning", "no artifacts are kept: %s", error)?;
                Ok(None)
            }
        }
    }

    /// What was kept, loaded; `None` where there is nothing that can be.
    ///
    /// # Errors
    /// Interrupts, and what logging raises.
    pub fn load(&self, py: Python<'_>) -> PyResult<Option<Compiled>> {
        let entry = match self.store.read(&self.key) {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(None),
            Err(error) => {
                note(py, "warning", "an artifact can't be read: %s", error)?;
                return Ok(None);
            }
        };
        let manifest = String::from_utf8_lossy(&entry.manifest).into_owned();
        let library = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
            let name: String = args.get_item(0)?.extract()?;
            let path = entry.library(&name);
            match path.is_file() {
                true => PyResult::Ok(path),
                false => Err(PyFileNotFoundError::new_err(name)),
            }
        };
        let library = PyCFunction::new_closure(py, None, None, library)?;
        let loaded = py
            .import("ferrodyn._artifact_runtime")?
            .call_method1("load", (manifest, library));
        match loaded {
            Ok(callable) => {
                note(py, "info", "an artifact is used: %s", self.key)?;
                Ok(Some(Compiled {
                    callable: callable.unbind(),
                    is_graph: false,
                    shape_guards: Some(Vec::new()),
                    aot_guards: None,
                }))
            }
            Err(error) if error.is_instance_of::<PyException>(py) => {
                note(py, "warning", "an artifact can't be loaded: %s", error)?;
                Ok(None)
            }
            Err(interrupt) => Err(interrupt),
        }
    }

    /// Runs the backend, and keeps what it makes, where that can be done.
    ///
    /// # Errors
    /// Those of `compile`, and interrupts.
    pub fn compile(
        self,
        py: Python<'_>,
        compile: impl FnOnce() -> Result<Compiled, BackendError>,
    ) -> Result<Compiled, BackendError> {
        let noting = py.import("ferrodyn._artifact")?.call_method0("Noting")?;
        noting.call_method0("__enter__")?;
        let compiled = compile();
        let none = py.None();
        noting.call_method1("__exit__", (&none, &none, &none))?;
        let compiled = compiled?;
        let is_whole = !compiled.is_graph
            && compiled.aot_guards.is_none()
            && compiled.shape_guards.as_ref().is_some_and(Vec::is_empty);
        if is_whole {
            let keep = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
                let (manifest, libraries): (String, Vec<(String, Bound<'_, PyBytes>)>) =
                    args.extract()?;
                let libraries: Vec<_> = libraries
                    .into_iter()
                    .map(|(name, bytes)| (name, bytes.as_bytes().to_vec()))
                    .collect();
                let py = args.py();
                match self.store.write(&self.key, manifest.as_bytes(), &libraries) {
                    Ok(()) => note(py, "info", "an artifact is kept: %s", self.key),
                    Err(error) => note(py, "warning", "an artifact is not kept: %s", error),
                }
            };
            let keep = PyCFunction::new_closure(py, None, None, keep)?;
            noting.call_method1("keep", (keep,))?;
        }
        Ok(compiled)
    }
}
