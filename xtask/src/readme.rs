//! `cargo xtask readme`: README's first example, run by somebody who has installed the wheel and nothing else.

use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

use crate::environment::{Environment, Venv};
use crate::extension::{self, Profile};
use crate::project::Project;
use crate::step;

/// Builds the wheel for each Python and runs the example in an environment of its own; false if it failed.
pub fn run(project: &Project, environment: &Environment, profile: Profile) -> Result<bool> {
    let mut good = true;
    for venv in &environment.venvs {
        let wheel = extension::build(project, venv, profile)?;
        let mut example = prepare(project, environment, venv, &wheel)?;
        let title = format!("README's first example on Python {}", venv.version());
        let outcome = step::run(&title, &mut example, &project.logs())?;
        if !outcome.success {
            println!("{}\n{}", outcome.output, outcome.status);
        }
        good &= outcome.success;
    }
    Ok(good)
}

/// Makes a new environment that holds the wheel and what it asks for; returns the command that runs the example there.
pub fn prepare(
    project: &Project,
    environment: &Environment,
    venv: &Venv,
    wheel: &Path,
) -> Result<Command> {
    let name = format!("wheel-{}", venv.name());
    let python = environment.fresh(project, venv, &name, &[wheel.as_os_str()])?;
    let home = project.state().join(name);
    let text = std::fs::read_to_string(project.root.join("README.md"))?;
    let example = first_example(&text).context("README.md has no Python example")?;
    let file = home.join("first_example.py");
    std::fs::write(&file, example)?;
    let mut command = step::program(&python);
    command.arg("-I").arg(file).current_dir(&home);
    Ok(command)
}

/// The first block of Python code.
fn first_example(markdown: &str) -> Option<&str> {
    let (_, rest) = markdown.split_once("```python\n")?;
    rest.split_once("```").map(|(code, _)| code)
}

#[cfg(test)]
mod tests {
    use super::first_example;

    #[test]
    fn the_first_block_of_python_is_the_example() {
        let text = "# T\n```console\n$ a\n```\n```python\nimport a\n```\n```python\nb\n```\n";
        assert_eq!(first_example(text), Some("import a\n"));
        assert_eq!(first_example("nothing"), None);
    }
}
