//! Interpreters to test against, and what versions make of the same source.
#![allow(dead_code, reason = "each test uses its part")]

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use bytecode::{CodeFields, Version, wire};

/// An installed CPython.
#[derive(Clone, Debug)]
pub struct Python {
    pub path: PathBuf,
    pub version: Version,
    /// e.g. `3.12.1`
    pub full: String,
}

fn probe(path: &str) -> Option<Python> {
    let output = Command::new(path)
        .args([
            "-c",
            "import platform, sys; print(sys.executable); print(platform.python_version()); \
             print(platform.python_implementation())",
        ])
        .stderr(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut lines = text.lines();
    let (path, full) = (lines.next()?.into(), lines.next()?.to_owned());
    if lines.next() != Some("CPython") {
        return None;
    }
    let minor = full.strip_prefix("3.")?.split('.').next()?.parse().ok()?;
    Some(Python {
        path,
        version: Version::from_minor(minor)?,
        full,
    })
}

/// Interpreters to test: those of `FERRODYN_PYTHONS` (paths, `:` between them), else
/// `python3.11` to `python3.15` on the path and those that pyenv holds, one a version.
pub fn pythons() -> Vec<Python> {
    if let Ok(list) = std::env::var("FERRODYN_PYTHONS") {
        return list
            .split(':')
            .filter(|path| !path.is_empty())
            .map(|path| probe(path).unwrap_or_else(|| panic!("{path} is no CPython 3.11 to 3.15")))
            .collect();
    }
    let pyenv = std::env::var("PYENV_ROOT")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.pyenv")))
        .unwrap_or_default();
    let mut installed: Vec<String> = std::fs::read_dir(format!("{pyenv}/versions"))
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    installed.sort();
    Version::ALL
        .into_iter()
        .filter_map(|version| {
            let own = installed
                .iter()
                .filter(|name| name.starts_with(&format!("{version}.")))
                .map(|name| format!("{pyenv}/versions/{name}/bin/python3"));
            own.chain([format!("python{version}")])
                .filter_map(|path| probe(&path))
                .find(|python| python.version == version)
        })
        .collect()
}

/// The interpreter of a version, or a message that the test is skipped.
pub fn python(version: Version) -> Option<Python> {
    let found = pythons()
        .into_iter()
        .find(|python| python.version == version);
    if found.is_none() {
        eprintln!("skipped: no CPython {version} found (set FERRODYN_PYTHONS to choose one)");
    }
    found
}

/// A script of `tests/python`.
pub fn script(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/python")
        .join(name)
}

/// The code objects of `tests/data/sample.py` as a version compiles it.
pub fn sample(version: Version) -> Vec<(CodeFields, String)> {
    let path = format!(
        "{}/tests/data/sample-{version}.bin",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut input = BufReader::new(File::open(path).expect("the sample is there"));
    std::iter::from_fn(|| wire::read_code(&mut input).expect("the sample is well-formed")).collect()
}
