//! Scripts in `benches/` that each Python's environment runs with the extension.

use anyhow::Result;

use crate::environment::Environment;
use crate::extension::{self, Profile};
use crate::project::Project;
use crate::step;

/// Builds the extension for each Python and runs the script; false if it fails with one.
pub fn run(
    project: &Project,
    environment: &Environment,
    profile: Profile,
    script: &str,
    arguments: &[String],
) -> Result<bool> {
    let mut good = true;
    for venv in &environment.venvs {
        extension::install(project, environment, venv, profile)?;
        good &= step::program(&venv.python)
            .arg(project.root.join(script))
            .args(arguments)
            // Idle workers of a busy machine would be measured instead.
            .env("OMP_NUM_THREADS", "1")
            .status()?
            .success();
    }
    Ok(good)
}
