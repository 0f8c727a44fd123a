//! Builds the extension for one Python and installs it into that Python's environment.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build_folder;
use crate::environment::{Environment, Venv};
use crate::project::Project;
use crate::step;

/// How the extension is compiled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Optimised: what users run, and what the Python tests test.
    Release,
    /// Quick to build, with debug assertions.
    Dev,
}

impl Profile {
    /// That of a command with or without `--debug`.
    pub fn of(debug: bool) -> Self {
        if debug {
            Profile::Dev
        } else {
            Profile::Release
        }
    }
}

/// Builds a wheel with maturin and returns its file.
pub fn build(project: &Project, venv: &Venv, profile: Profile) -> Result<PathBuf> {
    let wheels = project.target().join("wheels").join(venv.name());
    remove_wheels(&wheels)?;
    let mut build = Command::new(venv.program("maturin"));
    build
        .current_dir(&project.root)
        .arg("build")
        .args(["--out".as_ref(), wheels.as_os_str()])
        .args(["--interpreter".as_ref(), venv.python.as_os_str()])
        .env("CARGO_TARGET_DIR", project.target_for(&venv.name()));
    venv.base.build_for(&venv.python, &mut build);
    match profile {
        Profile::Release => drop(build.arg("--release")),
        Profile::Dev => build_folder::begin(project, venv)?,
    }
    let title = format!("extension for Python {}", venv.version());
    step::require(&title, &mut build, &project.logs())?;
    only_wheel(&wheels)
}

/// Builds a wheel and puts it into `venv` in place of the one that is there; returns its file.
///
/// A wheel and not a development install: the Pythons share the source tree, and an
/// extension module in it would belong to one of them.
pub fn install(
    project: &Project,
    environment: &Environment,
    venv: &Venv,
    profile: Profile,
) -> Result<PathBuf> {
    let wheel = build(project, venv, profile)?;
    let mut install = environment.uv();
    install
        .args([
            "pip",
            "install",
            "--no-deps",
            "--force-reinstall",
            "--python",
        ])
        .args([&venv.python, &wheel]);
    step::require(
        &format!("install into {}", venv.name()),
        &mut install,
        &project.logs(),
    )?;
    Ok(wheel)
}

fn wheels_in(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries
        .into_iter()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "whl"))
        .collect())
}

fn remove_wheels(folder: &Path) -> Result<()> {
    for wheel in wheels_in(folder)? {
        std::fs::remove_file(wheel)?;
    }
    Ok(())
}

fn only_wheel(folder: &Path) -> Result<PathBuf> {
    let mut wheels = wheels_in(folder)?;
    anyhow::ensure!(
        wheels.len() == 1,
        "expected one wheel in {}: {wheels:?}",
        folder.display()
    );
    wheels.pop().context("maturin made no wheel")
}
