//! `cargo xtask demo`, `cargo xtask bench` and `cargo xtask compare`.

use anyhow::Result;
use std::process::Command;

use crate::checks;
use crate::environment::Environment;
use crate::extension::{self, Profile};
use crate::project::Project;
use crate::workspace::Workspace;

/// Builds in release mode and runs `demo/`; false if an output was wrong.
pub fn run(project: &Project, environment: &Environment, args: &[String]) -> Result<bool> {
    let mut good = true;
    for venv in &environment.venvs {
        extension::install(project, environment, venv, Profile::Release)?;
        let status = Command::new(&venv.python)
            .current_dir(&project.root)
            .arg("demo")
            .args(args)
            .env_remove("FERRODYN_LOGS")
            .status()?;
        good &= status.success();
    }
    Ok(good)
}

/// Runs every criterion benchmark, then `benches/` over the whole pipeline.
pub fn bench(project: &Project, environment: &Environment, filter: Option<&str>) -> Result<bool> {
    let venv = environment.newest();
    let mut good = true;
    for (package, target, linked) in Workspace::read(project)?.benches {
        let mut command = match linked {
            true => checks::cargo_for(project, environment, venv),
            false => checks::cargo(),
        };
        command
            .current_dir(&project.root)
            .args(["bench", "-p", &package, "--bench", &target]);
        if let Some(filter) = filter {
            command.args(["--", filter]);
        }
        good &= command.status()?.success();
    }
    extension::install(project, environment, venv, Profile::Release)?;
    let mut command = Command::new(&venv.python);
    command
        .current_dir(&project.root)
        .arg("benches")
        .args(filter);
    good &= command.env_remove("FERRODYN_LOGS").status()?.success();
    Ok(good)
}

/// Runs `benches/compare.py` on every Python that was asked for.
pub fn compare(project: &Project, environment: &Environment, filter: Option<&str>) -> Result<bool> {
    let mut good = true;
    for venv in &environment.venvs {
        extension::install(project, environment, venv, Profile::Release)?;
        let mut command = Command::new(&venv.python);
        command
            .current_dir(&project.root)
            .arg("benches/compare.py")
            .args(filter);
        good &= command.env_remove("FERRODYN_LOGS").status()?.success();
    }
    Ok(good)
}
