//! `cargo xtask docs`: the site of `docs/`, built by Sphinx in an environment of its own.

use anyhow::{Context, Result};
use std::process::Command;

use crate::environment;
use crate::project::Project;
use crate::step;

/// What the site is built with, in an environment that `uv` makes and keeps.
const TOOLS: [&str; 2] = ["sphinx==9.0.4", "myst-parser==5.2.0"];

/// Builds the site; false if Sphinx warns of something.
pub fn run(project: &Project) -> Result<bool> {
    let uv = environment::tool(project, "uv").context("uv makes the environment of Sphinx")?;
    let site = project.root.join("target/site");
    let mut build = Command::new(uv);
    build.current_dir(&project.root).args(["tool", "run"]);
    for tool in TOOLS {
        build.args(["--with", tool]);
    }
    build
        .args([
            "--from",
            TOOLS[0],
            "sphinx-build",
            "-q",
            "-W",
            "--keep-going",
        ])
        .args(["-b", "html", "docs"])
        .arg(&site);
    let outcome = step::run("site of docs/", &mut build, &project.logs())?;
    if !outcome.success {
        println!("{}", outcome.output.trim_end());
    } else {
        println!("\nOpen {}", site.join("index.html").display());
    }
    Ok(outcome.success)
}
