//! Finds the CPython interpreters of the machine that Ferrodyn supports.
//!
//! Looks at `python3.X`, `python3` and `python` on the path, then at pyenv's versions. An
//! interpreter counts only once it has run and said what it is.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

/// A minor version of CPython.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u8, pub u8);

/// The versions that the extension has tables for.
pub const SUPPORTED: [Version; 3] = [Version(3, 11), Version(3, 12), Version(3, 13)];

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.0, self.1)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = SUPPORTED.iter().find(|version| version.to_string() == text);
        wanted.copied().ok_or_else(|| {
            let names: Vec<_> = SUPPORTED.iter().map(Version::to_string).collect();
            format!("supported are {}", names.join(", "))
        })
    }
}

/// What an interpreter says about itself.
#[derive(Clone, Debug, Deserialize)]
pub struct Python {
    /// The real executable, outside any virtual environment.
    pub executable: PathBuf,
    /// Major, minor and micro version.
    version: (u8, u8, u16),
    implementation: String,
    gil: bool,
    /// Where `libpython` is.
    pub libdir: PathBuf,
    /// The file name to link, such as `libpython3.12.so`.
    ldlibrary: String,
}

impl Python {
    /// The minor version.
    pub fn version(&self) -> Version {
        Version(self.version.0, self.version.1)
    }

    /// The full version as text.
    pub fn full_version(&self) -> String {
        format!("{}.{}.{}", self.version.0, self.version.1, self.version.2)
    }

    /// Whether a Rust test binary can be linked against this Python.
    pub fn can_embed(&self) -> bool {
        self.libdir.join(&self.ldlibrary).is_file()
    }

    fn supported(&self) -> bool {
        self.implementation == "cpython" && self.gil && SUPPORTED.contains(&self.version())
    }
}

const QUESTION: &str = r#"
import json, sys, sysconfig
var = sysconfig.get_config_var
print(json.dumps({
    "executable": getattr(sys, "_base_executable", None) or sys.executable,
    "version": list(sys.version_info[:3]),
    "implementation": sys.implementation.name,
    "gil": not var("Py_GIL_DISABLED"),
    "libdir": var("LIBDIR") or "",
    "ldlibrary": var("LDLIBRARY") or "",
}))
"#;

/// Asks the interpreter at `path`; nothing where it does not run or answer.
fn ask(path: &Path) -> Option<Python> {
    let output = Command::new(path)
        .args(["-I", "-c", QUESTION])
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    serde_json::from_slice(&output.stdout).ok()
}

/// Files that may be an interpreter of `version`, the likeliest first.
fn candidates(version: Version) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let path = std::env::var_os("PATH").unwrap_or_default();
    for name in [
        format!("python{version}"),
        "python3".into(),
        "python".into(),
    ] {
        found.extend(std::env::split_paths(&path).map(|dir| dir.join(&name)));
    }
    let pyenv = std::env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pyenv")));
    if let Some(entries) = pyenv.and_then(|root| std::fs::read_dir(root.join("versions")).ok()) {
        let prefix = format!("{version}.");
        let mut micro: Vec<(u32, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let micro = name.strip_prefix(&prefix)?.parse().ok()?;
                Some((
                    micro,
                    entry.path().join("bin").join(format!("python{version}")),
                ))
            })
            .collect();
        micro.sort_by_key(|(micro, _)| std::cmp::Reverse(*micro));
        found.extend(micro.into_iter().map(|(_, path)| path));
    }
    found.retain(|path| path.is_file());
    found
}

/// Returns an interpreter for each version of `wanted` (all if empty), and prints which are
/// used and which were not found.
///
/// Fails if none was found, or if one that was asked for by name was not.
pub fn discover(wanted: &[Version]) -> Result<Vec<Python>> {
    let all = wanted.is_empty();
    let (found, missing) = search(if all { &SUPPORTED } else { wanted });
    if found.is_empty() || !(all || missing.is_empty()) {
        bail!(not_found(&missing));
    }
    for python in &found {
        println!(
            "Python {:<8} {}",
            python.full_version(),
            python.executable.display()
        );
    }
    for version in missing {
        println!("Python {:<8} not found, left out", version.to_string());
    }
    Ok(found)
}

/// Returns one interpreter, for commands that run on a single Python: 3.12 where there is one,
/// else the newest.
pub fn preferred() -> Result<Vec<Python>> {
    for version in [Version(3, 12), Version(3, 13), Version(3, 11)] {
        let (found, _) = search(&[version]);
        if let Some(python) = found.first() {
            println!(
                "Python {:<8} {}",
                python.full_version(),
                python.executable.display()
            );
            return Ok(found);
        }
    }
    bail!(not_found(&SUPPORTED))
}

fn not_found(missing: &[Version]) -> String {
    let names: Vec<_> = missing.iter().map(Version::to_string).collect();
    format!(
        "no CPython {} found: looked for python3.X on the path and in pyenv's versions. \
         Install one, with your system's package manager or `pyenv install`.",
        names.join(", ")
    )
}

/// The interpreters found for `versions`, in ascending order, and the versions without one.
fn search(versions: &[Version]) -> (Vec<Python>, Vec<Version>) {
    let mut answers: BTreeMap<PathBuf, Option<Python>> = BTreeMap::new();
    let mut found = Vec::new();
    let mut missing = Vec::new();
    for version in SUPPORTED
        .into_iter()
        .filter(|version| versions.contains(version))
    {
        let python = candidates(version).into_iter().find_map(|path| {
            let answer = answers
                .entry(path.clone())
                .or_insert_with(|| ask(&path))
                .clone()?;
            (answer.supported() && answer.version() == version).then_some(answer)
        });
        match python {
            Some(python) => found.push(python),
            None => missing.push(version),
        }
    }
    (found, missing)
}

/// The `site-packages` folder of the environment whose interpreter is `python`.
pub fn site_packages(python: &Path) -> Result<PathBuf> {
    let output = Command::new(python)
        .args([
            "-I",
            "-c",
            "import sysconfig; print(sysconfig.get_path('platlib'))",
        ])
        .output()
        .with_context(|| format!("cannot run {}", python.display()))?;
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_parse_and_print() {
        assert_eq!("3.12".parse::<Version>(), Ok(Version(3, 12)));
        assert!("3.10".parse::<Version>().is_err());
        assert!("3.1".parse::<Version>().is_err());
        assert_eq!(Version(3, 11).to_string(), "3.11");
        assert!(Version(3, 9) < Version(3, 11));
    }

    #[test]
    fn only_cpython_with_the_gil_is_supported() {
        let python = |implementation: &str, minor, gil| Python {
            executable: PathBuf::new(),
            version: (3, minor, 1),
            implementation: implementation.into(),
            gil,
            libdir: PathBuf::new(),
            ldlibrary: String::new(),
        };
        assert!(python("cpython", 12, true).supported());
        assert!(!python("pypy", 12, true).supported());
        assert!(!python("cpython", 14, true).supported());
        assert!(!python("cpython", 13, false).supported());
    }
}
