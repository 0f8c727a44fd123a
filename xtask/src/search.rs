//! Finds the CPython interpreters of the machine that Ferrodyn supports.
//!
//! Looks at `python3.X`, `python3` and `python` on the path, at pyenv's versions, at uv's, then at those that were
//! made for this repository (`.ferrodyn/pythons`). Where there is none of a version that is wanted by name or by the
//! suite, one is made from packages of Debian (`debian`).

use anyhow::{Result, anyhow, bail};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::debian;
use crate::project::Project;
use crate::python::{PREFERRED, Python, SUPPORTED, Version, ask};

/// Where to look.
struct Places {
    path: Vec<PathBuf>,
    pyenv: Option<PathBuf>,
    uv: Option<PathBuf>,
}

impl Places {
    /// Those of the user who runs this.
    fn of_user() -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let folder = |variable: &str, below_home: &str| {
            std::env::var_os(variable)
                .map(PathBuf::from)
                .or_else(|| Some(home.as_ref()?.join(below_home)))
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            path: std::env::split_paths(&path).collect(),
            pyenv: folder("PYENV_ROOT", ".pyenv").map(|root| root.join("versions")),
            uv: folder("UV_PYTHON_INSTALL_DIR", ".local/share/uv/python"),
        }
    }

    /// Files that may be an interpreter of `version`, the likeliest first.
    fn candidates(&self, version: Version) -> Vec<PathBuf> {
        let name = format!("python{version}");
        let mut found = Vec::new();
        for name in [name.as_str(), "python3", "python"] {
            found.extend(self.path.iter().map(|dir| dir.join(name)));
        }
        for (root, prefix) in [
            (&self.pyenv, format!("{version}.")),
            (&self.uv, format!("cpython-{version}.")),
        ] {
            let homes = root.iter().flat_map(|root| newest_first(root, &prefix));
            found.extend(homes.map(|home| home.join("bin").join(&name)));
        }
        found.retain(|path| path.is_file());
        found
    }
}

/// Folders in `root` whose names are `prefix` and a micro version, perhaps with more behind a `-`.
fn newest_first(root: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root) else {
        return Vec::new();
    };
    let mut found: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let micro = name.strip_prefix(prefix)?.split('-').next()?.parse().ok()?;
            Some((micro, entry.path()))
        })
        .collect();
    found.sort_by(|one, other| other.cmp(one));
    found.into_iter().map(|(_, path)| path).collect()
}

/// Whether a Python that the machine lacks is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lacking {
    /// Only where it was asked for by name.
    Left,
    /// Also where every version is wanted.
    Made,
}

/// Returns an interpreter for each version of `wanted` (all that are supported if empty), and prints which are used and
/// which were not found.
///
/// Fails if none was found, or if one that was asked for by name was not.
pub fn discover(project: &Project, wanted: &[Version], lacking: Lacking) -> Result<Vec<Python>> {
    let all = wanted.is_empty();
    let make = !all || lacking == Lacking::Made;
    let (found, missing) = search(project, if all { &SUPPORTED } else { wanted }, make);
    if found.is_empty() || !(all || missing.is_empty()) {
        bail!(not_found(&missing));
    }
    found.iter().for_each(say);
    for (version, why) in missing {
        println!("Python {:<8} left out: {why}", version.to_string());
    }
    Ok(found)
}

/// Returns one interpreter, for commands that run on a single Python: the preferred version where there is one, else
/// the newest.
pub fn preferred(project: &Project) -> Result<Vec<Python>> {
    let mut missing = Vec::new();
    for version in [PREFERRED].into_iter().chain(SUPPORTED.into_iter().rev()) {
        let (found, none) = search(project, &[version], false);
        if let Some(python) = found.first() {
            say(python);
            return Ok(found);
        }
        missing.extend(none);
    }
    bail!(not_found(&missing))
}

/// All interpreters of supported versions that are there already; those of the machine are the last ones.
pub fn found(project: &Project) -> Vec<Python> {
    let (mut found, _) = search(project, &SUPPORTED, false);
    found.sort_by_key(|python| (python.loader.is_none(), python.version()));
    found
}

fn say(python: &Python) {
    println!(
        "Python {:<8} {}",
        python.full_version(),
        python.executable.display()
    );
}

fn not_found(missing: &[(Version, String)]) -> String {
    let reasons: Vec<_> = missing
        .iter()
        .map(|(version, why)| format!("\n  {version}: {why}"))
        .collect();
    format!(
        "no CPython (looked on the path, in pyenv's versions, in uv's folder):{}\nInstall one, with your system's package manager, `uv python install` or `pyenv install`.",
        reasons.concat()
    )
}

/// The interpreters of `versions`, in ascending order, and the versions without one, with the reason. With `make`, one
/// that is missing is made.
fn search(
    project: &Project,
    versions: &[Version],
    make: bool,
) -> (Vec<Python>, Vec<(Version, String)>) {
    let places = Places::of_user();
    let mut answers: BTreeMap<PathBuf, Option<Python>> = BTreeMap::new();
    let mut found = Vec::new();
    let mut lacking = Vec::new();
    for version in SUPPORTED
        .into_iter()
        .filter(|version| versions.contains(version))
    {
        let fits = |python: &Python| python.supported() && python.version() == version;
        let installed = places.candidates(version).into_iter().find_map(|path| {
            let answer = answers.entry(path.clone()).or_insert_with(|| ask(&path));
            answer.clone().filter(fits)
        });
        match installed.or_else(|| debian::made(project, version)) {
            Some(python) => found.push(python),
            None => lacking.push(version),
        }
    }
    let mut missing = Vec::new();
    for version in lacking {
        let new = match make {
            true => debian::make(project, version),
            false => Err(anyhow!("not found")),
        };
        match new {
            Ok(python) => found.push(python),
            Err(why) => missing.push((version, format!("{why:#}"))),
        }
    }
    found.sort_by_key(Python::version);
    (found, missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn file(&self, path: &str) -> PathBuf {
            let path = self.0.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_path_comes_first_then_the_newest_of_pyenv_and_of_uv() {
        let folder = Folder::new("places");
        let expected = [
            folder.file("path/python3.12"),
            folder.file("path/python3"),
            folder.file("pyenv/3.12.10/bin/python3.12"),
            folder.file("pyenv/3.12.9/bin/python3.12"),
            folder.file("uv/cpython-3.12.4-linux-x86_64-gnu/bin/python3.12"),
        ];
        folder.file("pyenv/3.1.2/bin/python3.12");
        folder.file("uv/cpython-3.13.1-linux-x86_64-gnu/bin/python3.13");
        let places = Places {
            path: vec![folder.0.join("nothing"), folder.0.join("path")],
            pyenv: Some(folder.0.join("pyenv")),
            uv: Some(folder.0.join("uv")),
        };
        assert_eq!(places.candidates(Version(3, 12)), expected);
    }
}
