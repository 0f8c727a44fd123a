//! `cargo xtask demo`.

use anyhow::Result;

use crate::environment::Environment;
use crate::extension::{self, Profile};
use crate::project::Project;
use crate::step;

/// Builds in release mode and runs `demo/`; false if an output was wrong.
pub fn run(project: &Project, environment: &Environment, args: &[String]) -> Result<bool> {
    let mut good = true;
    for venv in &environment.venvs {
        extension::install(project, environment, venv, Profile::Release)?;
        let status = step::program(&venv.python)
            .current_dir(&project.root)
            .arg("demo")
            .args(args)
            .status()?;
        good &= status.success();
    }
    Ok(good)
}
