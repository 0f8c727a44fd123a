//! What an interpreter says about itself, and what cargo needs to build and test with it.
//!
//! Not here: where interpreters are looked for (`search`) and how one is made (`debian`).
//! Invariant: an interpreter counts only once it has run and said what it is.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

/// A minor version of CPython.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u8, pub u8);

/// The versions that the extension has tables for.
pub const SUPPORTED: [Version; 5] = [
    Version(3, 11),
    Version(3, 12),
    Version(3, 13),
    Version(3, 14),
    Version(3, 15),
];

/// The one for commands that run on a single Python.
pub const PREFERRED: Version = Version(3, 12);

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
    /// The dynamic loader of an interpreter that brings its own C library.
    #[serde(skip)]
    pub loader: Option<PathBuf>,
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

    /// Whether Ferrodyn has tables for it.
    pub fn supported(&self) -> bool {
        self.implementation == "cpython" && self.gil && SUPPORTED.contains(&self.version())
    }

    /// Tells `cargo`, or what calls it, to build for the interpreter `executable` (this one, or an environment's), and
    /// how test binaries find the interpreter that is linked into them.
    pub fn build_for(&self, executable: &Path, cargo: &mut Command) {
        // The flags are the same for each, so that one's build folder can begin as a copy of another's. An undefined
        // name of a library is for the loader: see below.
        cargo.env("PYO3_PYTHON", executable).env(
            format!("{HOST_SETTING}_RUSTFLAGS"),
            "-C link-arg=-Wl,--allow-shlib-undefined",
        );
        let Some(loader) = &self.loader else {
            let mut libraries = vec![self.libdir.clone()];
            let inherited = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
            let inherited: Vec<_> = std::env::split_paths(&inherited).collect();
            libraries.extend(inherited.into_iter().filter(|path| path != &PathBuf::new()));
            let libraries = std::env::join_paths(libraries).unwrap_or_else(|_| OsString::new());
            cargo.env("LD_LIBRARY_PATH", libraries);
            return;
        };
        // The compiler runs with the machine's C library and links against a libpython that needs a newer one: only
        // the test binary itself may see that.
        let libdir = self.libdir.display();
        // An interpreter inside of a test binary does not know from where its library was loaded.
        let home = self.executable.parent().and_then(Path::parent);
        let home = home.unwrap_or(Path::new("/usr")).display();
        let loader = loader.display();
        let runner = format!("env PYTHONHOME={home} {loader} --library-path {libdir}");
        cargo
            .env(format!("{HOST_SETTING}_RUNNER"), runner)
            // For the linker. As a flag of the compiler's it would make all that is built one of this Python alone.
            .env("LIBRARY_PATH", &self.libdir);
    }
}

/// How settings of cargo for this machine's kind begin, in the environment.
const HOST_SETTING: &str = "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU";

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
pub fn ask(path: &Path) -> Option<Python> {
    let output = Command::new(path)
        .args(["-I", "-c", QUESTION])
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    serde_json::from_slice(&output.stdout).ok()
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
            loader: None,
        };
        assert!(python("cpython", 12, true).supported());
        assert!(!python("pypy", 12, true).supported());
        assert!(!python("cpython", 16, true).supported());
        assert!(!python("cpython", 13, false).supported());
    }
}
