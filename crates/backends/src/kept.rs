//! Results of inductor that are kept from one process to the next.
//!
//! Lives here: when a result may be kept, that it is found again and loaded, and that nothing which goes wrong with it
//! is more than a compilation. Does not live here: what makes two graphs the same (`kept_key`), files
//! (`artifact-store`), what a result consists of and how it runs (`ferrodyn._artifact`, `_artifact_runtime`).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use artifact_store::{Key, Store, StoreError};
use fx_graph::ShapeGuard;
use pyo3::exceptions::{PyException, PyFileNotFoundError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction, PyDict, PyList, PyTuple};
use serde::Deserialize;
use torch_abi::imported::imported;

use crate::call::{BackendCall, Compiled, Gave};
use crate::error::BackendError;
use crate::kept_folder::store;
use crate::kept_key::{self, Parts, Untold};
use crate::log::{self, log};
use crate::names;
use crate::registry::Backend;

/// What the result for a graph is found by.
pub struct ResultKey {
    key: Key,
    parts: Parts,
}

/// Stands for the options of a backend of which nothing is known.
const OF_ANY: &str = " any";

/// Where the result for a graph is kept, or would be.
pub struct Kept {
    store: Arc<Store>,
    key: Key,
    parts: Parts,
}

impl ResultKey {
    /// That of what `backend` makes in a call; `None`, with a line in the log, where it can't be told.
    ///
    /// # Errors
    /// Interrupts, and what logging raises.
    pub fn of(
        backend: &Backend,
        call: &BackendCall<'_>,
        examples: &Bound<'_, PyList>,
    ) -> PyResult<Option<ResultKey>> {
        let py = examples.py();
        let (Some(options), Some((graph, objects))) = (backend.keeps_results(), call.graph) else {
            return Ok(None);
        };
        match kept_key::parts(graph, objects, call.inputs, examples, options) {
            Ok(parts) => Ok(Some(ResultKey {
                key: parts.key(),
                parts,
            })),
            Err(Untold(why)) => {
                interrupts::check(py)?;
                note(py, "info", "a graph has no key: %s", why)?;
                Ok(None)
            }
        }
    }

    /// As [`Self::of`], of what any backend makes, which is the same for the same process and backend only.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn of_any(
        backend: &Backend,
        call: &BackendCall<'_>,
        examples: &Bound<'_, PyList>,
    ) -> PyResult<Option<Key>> {
        let (None, Some((graph, objects))) = (backend.keeps_results(), call.graph) else {
            return Ok(Self::of(backend, call, examples)?.map(|of| of.key));
        };
        match kept_key::parts(graph, objects, call.inputs, examples, OF_ANY) {
            Ok(parts) => Ok(Some(parts.key())),
            Err(Untold(_)) => interrupts::check(examples.py()).map(|()| None),
        }
    }

    /// The digest of all of it.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Whether a result may serve another call with the same key in this process, as far as is known now: none that
    /// holds what is in its inputs (inductor's option `freezing`), or their memory (CUDA graphs).
    ///
    /// # Errors
    /// Where an example can't be asked.
    pub fn serves_again(backend: &Backend, examples: &Bound<'_, PyList>) -> PyResult<bool> {
        let py = examples.py();
        if backend.has_options() {
            return Ok(false);
        }
        if let Some(config) = imported(py, names::INDUCTOR_CONFIG)?
            && let Some(freezes) = config.getattr_opt("freezing")?
            && freezes.is_truthy()?
        {
            return Ok(false);
        }
        for example in examples.iter() {
            if let Some(is_cpu) = example.getattr_opt("is_cpu")?
                && !is_cpu.is_truthy()?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// What a manifest says of sizes and ints that may change.
#[derive(Deserialize)]
struct Relied {
    guards: Vec<ShapeGuard>,
}

fn note(py: Python<'_>, level: &str, message: &str, about: impl ToString) -> PyResult<()> {
    log(py, log::ARTIFACTS, level, message, about.to_string())
}

impl Kept {
    /// What the result is found by.
    pub fn key(&self) -> Key {
        self.key
    }

    /// Where a result is kept in a folder; `None`, with a line in the log, where it can't be.
    ///
    /// # Errors
    /// Interrupts, and what logging raises.
    pub fn find(py: Python<'_>, of: ResultKey, folder: &Path) -> PyResult<Option<Kept>> {
        match store(folder) {
            Ok(store) => Ok(Some(Kept {
                store,
                key: of.key,
                parts: of.parts,
            })),
            Err(error) => {
                // A home that can't be written is nothing to act on; a folder that others can write is, once.
                static IS_TOLD: AtomicBool = AtomicBool::new(false);
                let warns = matches!(error, StoreError::NotOwn(_)) && !IS_TOLD.swap(true, Relaxed);
                let level = if warns { "warning" } else { "info" };
                note(py, level, "no artifacts are kept: %s", error)?;
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
            Ok(None) => {
                self.tell_why_not(py)?;
                return Ok(None);
            }
            Err(error) => {
                note(py, "warning", "an artifact can't be read: %s", error)?;
                return Ok(None);
            }
        };
        let manifest = String::from_utf8_lossy(&entry.manifest).into_owned();
        let Relied { guards } = match serde_json::from_str(&manifest) {
            Ok(relied) => relied,
            Err(error) => {
                let error = error.to_string();
                note(py, "warning", "an artifact can't be loaded: %s", error)?;
                return Ok(None);
            }
        };
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
                    gave: Gave::Other,
                    shape_guards: Some(guards),
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

    /// Says what differs from what is kept, where somebody listens.
    fn tell_why_not(&self, py: Python<'_>) -> PyResult<()> {
        if !log::is_heard(py, log::ARTIFACTS, "INFO")? {
            return Ok(());
        }
        let manifests: Vec<String> = (self.store.list().into_iter().flatten())
            .filter_map(|entry| entry.manifest().ok())
            .map(|manifest| String::from_utf8_lossy(&manifest).into_owned())
            .collect();
        let why = py
            .import("ferrodyn._artifact_list")?
            .call_method1("why_not", (self.parts.by_name(py)?, manifests))?;
        note(py, "info", "no artifact: %s", why)
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
        let noting = py
            .import("ferrodyn._artifact")?
            .call_method1("Noting", (self.parts.by_name(py)?,))?;
        noting.call_method0("__enter__")?;
        let compiled = compile();
        let none = py.None();
        noting.call_method1("__exit__", (&none, &none, &none))?;
        let compiled = compiled?;
        if let (Gave::Other, None, Some(guards)) =
            (compiled.gave, &compiled.aot_guards, &compiled.shape_guards)
        {
            let guards = serde_json::to_string(guards)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
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
            noting.call_method1("keep", (guards, keep))?;
        }
        Ok(compiled)
    }
}
