//! The folder where results of compilers are kept, for who looks into it: lists, checks, copies.
//!
//! Not here: when a result is made or used (`kept`), files (`artifact-store`).

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use artifact_store::{Key, Store, StoreError};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::kept_key::Parts;

/// How many bytes all results together may have.
const LIMIT: u64 = 4 << 30;

/// The store of a folder, opened once.
pub(crate) fn store(folder: &Path) -> Result<Arc<Store>, StoreError> {
    static OPEN: Mutex<Vec<(PathBuf, Arc<Store>)>> = Mutex::new(Vec::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, store)) = open.iter().find(|(of, _)| of == folder) {
        return Ok(store.clone());
    }
    let store = Arc::new(Store::open(folder, LIMIT)?);
    open.push((folder.to_owned(), store.clone()));
    Ok(store)
}

fn raise(error: StoreError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

/// An artifact that lies in a folder: its key, how many bytes it has, when it was used last (seconds since 1970), its
/// manifest, which was not verified.
pub type Listed = (String, u64, f64, String);

/// The artifacts of a folder, those that were used longest ago first.
///
/// # Errors
/// `OSError`.
pub fn artifacts(folder: &Path) -> PyResult<Vec<Listed>> {
    let seconds = |time: SystemTime| {
        let since = time.duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0.0, |since| since.as_secs_f64())
    };
    let listed = store(folder)
        .and_then(|store| store.list())
        .map_err(raise)?;
    let tell = |entry: artifact_store::Listed| {
        // Another process may be removing it.
        let manifest = String::from_utf8_lossy(&entry.manifest().ok()?).into_owned();
        Some((
            entry.key.to_string(),
            entry.bytes,
            seconds(entry.used),
            manifest,
        ))
    };
    Ok(listed.into_iter().filter_map(tell).collect())
}

/// Reads all artifacts of a folder, and removes those that are not what was written: how many were kept, and removed.
///
/// # Errors
/// `OSError`.
pub fn verify_artifacts(folder: &Path) -> PyResult<(usize, usize)> {
    let store = store(folder).map_err(raise)?;
    let (mut whole, mut removed) = (0, 0);
    for entry in store.list().map_err(raise)? {
        match store.read(&entry.key).map_err(raise)? {
            Some(_) => whole += 1,
            None => removed += 1,
        }
    }
    Ok((whole, removed))
}

/// Removes all artifacts of a folder.
///
/// # Errors
/// `OSError`.
pub fn clear_artifacts(folder: &Path) -> PyResult<()> {
    store(folder).and_then(|store| store.clear()).map_err(raise)
}

/// The manifest of an artifact and the folder of its libraries; `None` where there is none as it was written.
///
/// # Errors
/// `OSError`.
pub fn read_artifact(folder: &Path, key: &Key) -> PyResult<Option<(String, PathBuf)>> {
    let entry = store(folder).and_then(|store| store.read(key));
    Ok(entry.map_err(raise)?.map(|entry| {
        let manifest = String::from_utf8_lossy(&entry.manifest).into_owned();
        (manifest, entry.folder().to_owned())
    }))
}

/// Keeps an artifact that another machine has made, by what its manifest says that it was made from.
///
/// # Errors
/// `ValueError` for a manifest that does not say it; `OSError`.
pub fn add_artifact(
    folder: &Path,
    manifest: &str,
    libraries: &[(String, Vec<u8>)],
) -> PyResult<()> {
    #[derive(Deserialize)]
    struct Told {
        about: Parts,
    }
    let Told { about } =
        serde_json::from_str(manifest).map_err(|error| PyValueError::new_err(error.to_string()))?;
    store(folder)
        .and_then(|store| store.write(&about.key(), manifest.as_bytes(), libraries))
        .map_err(raise)
}
