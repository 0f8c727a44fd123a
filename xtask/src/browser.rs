//! A browser for the test of the report: the one that is installed, or one made of Debian's packages.
//!
//! It is unpacked in `.ferrodyn/browser` with the libraries that the machine lacks: no root is needed and nothing of
//! the system changes. Works where `apt-get` and `dpkg` are.

use anyhow::{Context, Result, bail};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::project::Project;
use crate::step;

/// Programs that do.
const NAMES: [&str; 4] = [
    "chromium-headless-shell",
    "chromium",
    "google-chrome",
    "chrome",
];

/// The package of the first of them, and its program there.
const PACKAGE: &str = "chromium-headless-shell";
const PROGRAM: &str = "usr/lib/chromium/chromium-headless-shell";

/// Where packages put libraries.
const LIBRARIES: [&str; 3] = [
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu/pulseaudio",
    "lib/x86_64-linux-gnu",
];

/// A browser that runs.
pub fn find(project: &Project) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|program| program.is_file() && runs(program));
    if let Some(program) = installed {
        return Ok(program);
    }
    let home = project.state().join("browser");
    let program = home.join(PACKAGE);
    if runs(&program) {
        return Ok(program);
    }
    make(project, &home)?;
    if !runs(&program) {
        bail!("{} does not run", program.display());
    }
    Ok(program)
}

fn runs(program: &Path) -> bool {
    let asked = Command::new(program).arg("--version").output();
    asked.is_ok_and(|output| output.status.success())
}

/// Downloads the package with what it needs beside what is installed, and unpacks all of it.
fn make(project: &Project, home: &Path) -> Result<()> {
    for needed in ["/usr/bin/apt-get", "/usr/bin/dpkg"] {
        if !Path::new(needed).exists() {
            bail!("no browser was found, and none made for want of {needed}");
        }
    }
    let _ = std::fs::remove_dir_all(home);
    let (lists, cache, root) = (home.join("lists"), home.join("cache"), home.join("root"));
    for folder in [
        &lists.join("partial"),
        &cache.join("archives/partial"),
        &root,
    ] {
        std::fs::create_dir_all(folder)?;
    }
    let apt = || {
        let mut command = Command::new("/usr/bin/apt-get");
        for (name, value) in [
            ("Dir::State::lists", lists.as_path()),
            ("Dir::Cache", &cache),
            ("APT::Sandbox::User", Path::new("root")),
            // The lock is that of the system's own state, which is only read.
            ("Debug::NoLocking", Path::new("1")),
        ] {
            command.arg("-o").arg(format!("{name}={}", value.display()));
        }
        command.arg("-qq");
        command
    };
    step::require(
        "list of packages for a browser",
        apt().arg("update"),
        &project.logs(),
    )?;
    step::require(
        "packages of a browser",
        apt().args([
            "install",
            "--yes",
            "--no-install-recommends",
            "--download-only",
            PACKAGE,
        ]),
        &project.logs(),
    )?;
    for package in std::fs::read_dir(cache.join("archives"))? {
        let path = package?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            let unpacked = Command::new("/usr/bin/dpkg")
                .arg("-x")
                .args([&path, &root])
                .status()?;
            if !unpacked.success() {
                bail!("cannot unpack {}", path.display());
            }
        }
    }
    // Downloaded packages are of no more use.
    std::fs::remove_dir_all(&cache)?;
    std::fs::remove_dir_all(&lists)?;
    let libraries = LIBRARIES.map(|folder| root.join(folder).display().to_string());
    let start = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH={} exec {} \"$@\"\n",
        libraries.join(":"),
        root.join(PROGRAM).display()
    );
    let program = home.join(PACKAGE);
    std::fs::write(&program, start).context("cannot write the browser's start")?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}
