//! Functions of `ferrodyn._core` that are about what is kept of compilers from one process to the next.

use std::path::PathBuf;

use artifact_store::Key;
use backends::ArtifactKey;
use eval_frame::code_state;
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCode, PyFrame};

use super::slot::{CodeSlot, OnDisk, code_of};
use super::{captures, config};

/// Notes what is kept with all code that runs in this thread, and with `code`, which is about to.
///
/// # Errors
/// Where there is no memory.
pub fn belongs_to_who_runs(code: &Bound<'_, PyCode>, kept: OnDisk) -> PyResult<()> {
    let py = code.py();
    let note = |code: &Bound<'_, PyCode>| -> PyResult<()> {
        if let Some(slot) = code_state::of(code)?.existing_slot::<CodeSlot>() {
            let mut known = slot.kept().borrow_mut();
            if !known.contains(&kept) {
                known.push(kept);
            }
        }
        Ok(())
    };
    note(code)?;
    // SAFETY: the GIL is held; the result is borrowed from the thread, or null.
    let running = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) };
    let mut running = running
        .map(|frame| frame.cast_into::<PyFrame>())
        .transpose()?;
    while let Some(frame) = running {
        note(frame.getattr("f_code")?.cast()?)?;
        running = frame.getattr("f_back")?.extract()?;
    }
    Ok(())
}

/// The keys of artifacts, and of captures, that were made or taken while a callable ran.
///
/// # Errors
/// `TypeError` for what runs no Python code.
#[pyfunction]
fn kept_of(callable: &Bound<'_, PyAny>) -> PyResult<(Vec<String>, Vec<String>)> {
    let Some(code) = code_of(callable) else {
        let class = callable.get_type().qualname()?;
        return Err(PyTypeError::new_err(format!("{class} runs no Python code")));
    };
    let slot = code_state::of(&code)?.existing_slot::<CodeSlot>();
    let (mut artifacts, mut captures) = (Vec::new(), Vec::new());
    for kept in slot.iter().flat_map(|slot| slot.kept().borrow().clone()) {
        match kept {
            OnDisk::Artifact(key) => artifacts.push(key.to_string()),
            OnDisk::Capture(key) => captures.push(key.to_string()),
        }
    }
    Ok((artifacts, captures))
}

/// A capture, where it is there as it was written, and the files whose contents it relies on.
#[pyfunction]
fn read_capture<'py>(
    py: Python<'py>,
    folder: PathBuf,
    key: &str,
) -> PyResult<Option<(Bound<'py, PyBytes>, Vec<String>)>> {
    let key = Key::parse(key).ok_or_else(|| PyValueError::new_err("no key"))?;
    captures::finish(py);
    let found = captures::read(&folder, &key).map_err(|why| PyOSError::new_err(why.0))?;
    Ok(found.map(|(bytes, files)| (PyBytes::new(py, &bytes), files)))
}

/// As [`captures::add`].
///
/// # Errors
/// `ValueError` where that fails.
#[pyfunction]
fn add_capture(py: Python<'_>, folder: PathBuf, bytes: &[u8]) -> PyResult<bool> {
    captures::finish(py);
    captures::add(py, &folder, bytes).map_err(|why| PyValueError::new_err(why.0))
}

/// What compilers rely on of an operator of the program's, as text; `None` where it is none that they don't look into.
///
/// # Errors
/// `ValueError` where that can't be told.
#[pyfunction]
fn opaque_operator(operator: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let told = ::captures::opaque_operator(operator);
    let told = told.map_err(|why| PyValueError::new_err(why.0))?;
    Ok(told.map(|digest| Key::of_digest(digest).to_string()))
}

/// Manifest and folder of the libraries of an artifact, where it is there as it was written.
#[pyfunction]
fn read_artifact(folder: PathBuf, key: &str) -> PyResult<Option<(String, PathBuf)>> {
    let key = ArtifactKey::parse(key).ok_or_else(|| PyValueError::new_err("no key"))?;
    backends::read_artifact(&folder, &key)
}

/// Keeps an artifact by what its manifest says that it was made from.
#[pyfunction]
fn add_artifact(
    folder: PathBuf,
    manifest: &str,
    libraries: Vec<(String, Vec<u8>)>,
) -> PyResult<()> {
    backends::add_artifact(&folder, manifest, &libraries)
}

/// Where results of compilers are kept, or would be; `None` where the user has no such folder.
#[pyfunction]
fn artifact_folder() -> Option<PathBuf> {
    config::possible_cache_folder()
}

/// Key, bytes, time of last use and manifest of each artifact of a folder.
#[pyfunction]
fn artifacts(folder: PathBuf) -> PyResult<Vec<backends::Listed>> {
    backends::artifacts(&folder)
}

/// What is told of each capture of a folder, with its bytes and the time of its last use.
#[pyfunction]
fn kept_captures(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<(String, u64, f64)>> {
    captures::finish(py);
    let folder = folder.join(captures::FOLDER);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    captures::listed(&folder).map_err(|error| PyOSError::new_err(error.to_string()))
}

/// Removes the artifacts and captures that have changed since they were written; how many were whole, and how many
/// removed.
#[pyfunction]
fn verify_artifacts(py: Python<'_>, folder: PathBuf) -> PyResult<(usize, usize)> {
    captures::finish(py);
    let (mut whole, mut removed) = backends::verify_artifacts(&folder)?;
    let captures = folder.join(captures::FOLDER);
    if captures.is_dir() {
        let (more, fewer) = backends::verify_artifacts(&captures)?;
        whole += more;
        removed += fewer;
    }
    Ok((whole, removed))
}

/// Removes all artifacts and captures of a folder.
#[pyfunction]
fn clear_artifacts(py: Python<'_>, folder: PathBuf) -> PyResult<()> {
    captures::finish(py);
    let captures = folder.join(captures::FOLDER);
    if captures.is_dir() {
        backends::clear_artifacts(&captures)?;
    }
    backends::clear_artifacts(&folder)
}

/// Adds them to the module.
///
/// # Errors
/// Whatever Python raises.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(artifact_folder, module)?)?;
    module.add_function(wrap_pyfunction!(artifacts, module)?)?;
    module.add_function(wrap_pyfunction!(kept_captures, module)?)?;
    module.add_function(wrap_pyfunction!(kept_of, module)?)?;
    module.add_function(wrap_pyfunction!(read_capture, module)?)?;
    module.add_function(wrap_pyfunction!(add_capture, module)?)?;
    module.add_function(wrap_pyfunction!(opaque_operator, module)?)?;
    module.add_function(wrap_pyfunction!(read_artifact, module)?)?;
    module.add_function(wrap_pyfunction!(add_artifact, module)?)?;
    module.add_function(wrap_pyfunction!(verify_artifacts, module)?)?;
    module.add_function(wrap_pyfunction!(clear_artifacts, module)?)
}
