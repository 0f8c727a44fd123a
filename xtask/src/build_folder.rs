//! The folder in which crates that link a Python are built: one for each Python, so that going from one to the next
//! compiles nothing again.
//!
//! Invariant: a new folder begins as a copy of another Python's. Cargo finds in it what depends on no interpreter, and
//! builds the rest, because what a build script was told of its interpreter is another.

use anyhow::Result;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment::Venv;
use crate::project::Project;
use crate::python::SUPPORTED;

/// Where cargo keeps what it builds without optimisation.
const DEV: &str = "debug";

/// Makes the folder for the Python of `venv`, if there is another to begin with.
pub fn begin(project: &Project, venv: &Venv) -> Result<()> {
    let others = SUPPORTED.map(|version| project.target_for(&Venv::name_for(version)));
    copy_one(&project.target_for(&venv.name()), &others)
}

/// Copies the smallest of `others` that no cargo is writing to, if `folder` is new. One that tests were built in is
/// larger, and what it has beyond the others are the tests of its Python.
fn copy_one(folder: &Path, others: &[PathBuf]) -> Result<()> {
    if folder.join(DEV).exists() {
        return Ok(());
    }
    let mut built: Vec<(usize, File, PathBuf)> = Vec::new();
    for other in others {
        let source = other.join(DEV);
        let (Ok(lock), Ok(files)) = (
            File::open(source.join(".cargo-lock")),
            fs::read_dir(source.join("deps")),
        ) else {
            continue;
        };
        if lock.try_lock_shared().is_ok() {
            built.push((files.count(), lock, source));
        }
    }
    let Some((_, _lock, source)) = built.into_iter().min_by_key(|(files, ..)| *files) else {
        return Ok(());
    };
    fs::create_dir_all(folder)?;
    let part = folder.join("copy");
    if part.exists() {
        fs::remove_dir_all(&part)?;
    }
    // Cargo compares times of files: they are kept.
    let copied = Command::new("cp")
        .arg("-a")
        .args([&source, &part])
        .status()?;
    anyhow::ensure!(copied.success(), "cp of {}: {copied}", source.display());
    fs::rename(part, folder.join(DEV))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(root: &Path, name: &str, files: &[&str]) -> PathBuf {
        let folder = root.join(name);
        let deps = folder.join(DEV).join("deps");
        fs::create_dir_all(&deps).unwrap();
        File::create(folder.join(DEV).join(".cargo-lock")).unwrap();
        for file in files {
            fs::write(deps.join(file), file).unwrap();
        }
        folder
    }

    #[test]
    fn a_new_folder_is_a_copy_of_the_smallest_that_nobody_writes_to() {
        let root = std::env::temp_dir().join(format!("xtask-begin-{}", std::process::id()));
        let others = [
            made(&root, "large", &["a", "b", "c"]),
            made(&root, "written", &[]),
            made(&root, "small", &["d"]),
            root.join("none"),
        ];
        let busy = File::open(others[1].join(DEV).join(".cargo-lock")).unwrap();
        busy.lock().unwrap();
        let file = |folder: &str, name: &str| root.join(folder).join(DEV).join("deps").join(name);
        copy_one(&root.join("new"), &others).unwrap();
        let time = |path: PathBuf| fs::metadata(path).unwrap().modified().unwrap();
        assert_eq!(time(file("new", "d")), time(file("small", "d")));
        assert!(!file("new", "a").exists());
        // What is there stays.
        copy_one(&others[0], &others[2..]).unwrap();
        assert!(!file("large", "d").exists());
        // There may be nothing to copy.
        copy_one(&root.join("first"), &others[3..]).unwrap();
        assert!(!root.join("first").exists());
        fs::remove_dir_all(root).unwrap();
    }
}
