//! `cargo xtask wheels`: what is published. A wheel for each Python and the sources, each tried by somebody who has
//! installed it and nothing else.

use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment::{Environment, Venv};
use crate::extension::{self, Profile};
use crate::project::Project;
use crate::step;

/// What the demonstration draws its tables with, and torch those of its graphs.
const SHOWN_BY: [&str; 2] = ["rich", "tabulate"];

/// Builds all into `target/wheels/dist` and runs the demonstration with each; false if it failed with one.
///
/// The sources are built and tried with the newest Python.
pub fn run(project: &Project, environment: &Environment) -> Result<bool> {
    let dist = project.target().join("wheels/dist");
    let _ = std::fs::remove_dir_all(&dist);
    std::fs::create_dir_all(&dist)?;
    let mut good = true;
    for venv in &environment.venvs {
        let wheel = extension::build(project, venv, Profile::Release)?;
        let name = wheel.file_name().context("a wheel has a name")?;
        let kept = dist.join(name);
        std::fs::copy(&wheel, &kept)?;
        good &= tried(project, environment, venv, &kept)?;
    }
    let newest = environment.newest();
    let sources = sources(project, newest, &dist)?;
    good &= tried(project, environment, newest, &sources)?;
    println!("\nIn {}", dist.display());
    Ok(good)
}

/// Packs the sources; returns the file.
fn sources(project: &Project, venv: &Venv, dist: &Path) -> Result<PathBuf> {
    step::require(
        "sources",
        Command::new(venv.program("maturin"))
            .current_dir(&project.root)
            .args(["sdist", "--out"])
            .arg(dist),
        &project.logs(),
    )?;
    std::fs::read_dir(dist)?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension() == Some(OsStr::new("gz")))
        .context("maturin made no sdist")
}

/// Installs `package` alone and runs the demonstration with it; whether all of its outputs were right.
fn tried(
    project: &Project,
    environment: &Environment,
    venv: &Venv,
    package: &Path,
) -> Result<bool> {
    let name = format!("published-{}", venv.name());
    let shown_by = SHOWN_BY.iter().map(OsStr::new);
    let packages: Vec<&OsStr> = [package.as_os_str()].into_iter().chain(shown_by).collect();
    let python = environment.fresh(project, venv, &name, &packages)?;
    let mut demo = step::program(&python);
    demo.current_dir(&project.root).args(["demo", "--no-times"]);
    let file = package.file_name().unwrap_or_default().display();
    let outcome = step::run(
        &format!("demonstration with {file}"),
        &mut demo,
        &project.logs(),
    )?;
    if !outcome.success {
        println!("{}\n{}", outcome.output, outcome.status);
    }
    std::fs::remove_dir_all(project.state().join(name))?;
    Ok(outcome.success)
}
