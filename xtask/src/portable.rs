//! `cargo xtask portable`: whether the workspace's types fit on another kind of processor.
//!
//! The code is checked, not linked or run: so a C compiler for that processor is not needed.

use anyhow::Result;
use std::process::Command;

use crate::checks::cargo;
use crate::project::Project;
use crate::step;

/// The other kind.
pub const TARGET: &str = "aarch64-unknown-linux-gnu";

/// What PyO3 takes for the Python of that machine, which is not here to be asked.
const PYTHON: &str = "3.12";

/// The command that checks the workspace for [`TARGET`]; fails if the standard library for it can't be had.
pub fn command(project: &Project) -> Result<Command> {
    step::require(
        &format!("standard library for {TARGET}"),
        Command::new("rustup")
            .current_dir(&project.root)
            .args(["target", "add", TARGET]),
        &project.logs(),
    )?;
    let mut check = cargo();
    check
        .current_dir(&project.root)
        .args(["check", "--quiet", "--workspace", "--exclude", "xtask"])
        .args(["--target", TARGET])
        .env("CARGO_TARGET_DIR", project.target_for(TARGET))
        .env("RUSTFLAGS", "-D warnings")
        // Build scripts compile C for the target; here it is enough that the C compiles.
        .env(format!("CC_{}", TARGET.replace('-', "_")), "cc")
        .env("PYO3_CROSS", "1")
        .env("PYO3_CROSS_PYTHON_VERSION", PYTHON)
        .env_remove("PYO3_PYTHON");
    Ok(check)
}

/// Runs the check; false if something is for this kind of processor alone.
pub fn run(project: &Project) -> Result<bool> {
    let outcome = step::run(
        &format!("check for {TARGET}"),
        &mut command(project)?,
        &project.logs(),
    )?;
    println!("{}", outcome.output.trim_end());
    Ok(outcome.success)
}
