//! `cargo xtask ...`: the only set-up, build and test commands of Ferrodyn.
//!
//! Lives here: finding interpreters, making environments, building and installing the
//! extension, running the checks and counting them. Does not live here: anything that the
//! product needs at run time. Invariant: every command is safe to repeat, and quick when
//! there is nothing to do.

mod bench;
mod browser;
mod build_folder;
mod checks;
mod debian;
mod demo;
mod docs;
mod environment;
mod extension;
mod features;
mod models;
mod opinfo;
mod portable;
mod project;
mod python;
mod readme;
mod script;
mod search;
mod sizes;
mod step;
mod tally;
mod wheels;
mod workspace;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use std::process::ExitCode;

use crate::environment::Environment;
use crate::extension::Profile;
use crate::project::Project;
use crate::python::{Python, Version};
use crate::search::Lacking;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Set up, build, test and show Ferrodyn")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the environments and build the extension into them.
    Dev {
        #[command(flatten)]
        pythons: Pythons,
        /// Build without optimisation, with debug assertions and verifiers.
        #[arg(long)]
        debug: bool,
    },
    /// Check formatting and lints, and run every test on every supported Python.
    Test {
        #[command(flatten)]
        pythons: Pythons,
        #[command(flatten)]
        options: checks::Options,
    },
    /// Build in release mode and run the demonstration: graphs, guards, bytecode, times.
    Demo {
        #[command(flatten)]
        pythons: Pythons,
        /// Arguments for the demonstration itself.
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Run the benchmarks of all crates and of the whole pipeline, and count instructions.
    Bench {
        #[command(flatten)]
        pythons: Pythons,
        #[command(flatten)]
        options: bench::Options,
    },
    /// Measure ferrodyn and torch.compile side by side in one process; print ratios, draw a chart.
    Compare {
        #[command(flatten)]
        pythons: Pythons,
        #[command(flatten)]
        options: bench::CompareOptions,
    },
    /// Install the wheel alone into a new environment and run README's first example there.
    Readme {
        #[command(flatten)]
        pythons: Pythons,
        /// Build without optimisation.
        #[arg(long)]
        debug: bool,
    },
    /// Build the site of docs/ into target/site; a warning of Sphinx, such as a dead link, fails it.
    Docs,
    /// Build a wheel for each Python and the sources, install each alone and run the demonstration with it.
    Wheels {
        #[command(flatten)]
        pythons: Pythons,
    },
    /// Check that the workspace compiles for another kind of processor (aarch64).
    Portable,
    /// Run real models under eager, ferrodyn and torch.compile and print a table.
    Models {
        #[command(flatten)]
        pythons: Pythons,
        #[command(flatten)]
        options: models::Options,
    },
    /// Run features as small programs under eager, ferrodyn and torch.compile, and count what is captured.
    Features {
        #[command(flatten)]
        pythons: Pythons,
        #[command(flatten)]
        options: features::Options,
    },
    /// Run torch's operator and module databases under eager, ferrodyn and torch.compile.
    Opinfo {
        #[command(flatten)]
        pythons: Pythons,
        #[command(flatten)]
        options: opinfo::Options,
    },
    /// Run generated programs over sizes below a compiler and compare them with eager.
    Sizes {
        #[command(flatten)]
        pythons: Pythons,
        #[command(flatten)]
        options: sizes::Options,
    },
}

#[derive(Args)]
struct Pythons {
    /// Use only this Python (3.11 to 3.15); may be given several times.
    #[arg(long = "python", value_name = "VERSION")]
    versions: Vec<Version>,
}

impl Pythons {
    /// The Pythons asked for by name, or else a single one.
    fn one_or_named(&self, project: &Project) -> Result<Vec<Python>> {
        if self.versions.is_empty() {
            search::preferred(project)
        } else {
            search::discover(project, &self.versions, Lacking::Left)
        }
    }
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the command; false is a failure that has been reported already.
fn run(cli: Cli) -> Result<bool> {
    let project = Project::find()?;
    match cli.command {
        Command::Dev { pythons, debug } => {
            let found = search::discover(&project, &pythons.versions, Lacking::Left)?;
            let environment = Environment::prepare(&project, &found)?;
            let profile = Profile::of(debug);
            for venv in &environment.venvs {
                extension::install(&project, &environment, venv, profile)?;
            }
            println!(
                "\nTry it: {} -c 'import ferrodyn'",
                environment.newest().python.display()
            );
            Ok(true)
        }
        Command::Test { pythons, options } => {
            let found = if options.fast {
                pythons.one_or_named(&project)?
            } else {
                search::discover(&project, &pythons.versions, Lacking::Made)?
            };
            let environment = Environment::prepare(&project, &found)?;
            checks::run(&project, &environment, &options)
        }
        Command::Demo { pythons, args } => {
            let found = pythons.one_or_named(&project)?;
            let environment = Environment::prepare(&project, &found)?;
            demo::run(&project, &environment, &args)
        }
        Command::Bench { pythons, options } => {
            let found = pythons.one_or_named(&project)?;
            let environment = Environment::prepare(&project, &found)?;
            bench::run(&project, &environment, &options)
        }
        Command::Compare { pythons, options } => {
            let found = pythons.one_or_named(&project)?;
            let environment = Environment::prepare(&project, &found)?;
            bench::compare(&project, &environment, &options)
        }
        Command::Readme { pythons, debug } => {
            let found = pythons.one_or_named(&project)?;
            let environment = Environment::prepare(&project, &found)?;
            readme::run(&project, &environment, Profile::of(debug))
        }
        Command::Wheels { pythons } => {
            let found = search::discover(&project, &pythons.versions, Lacking::Left)?;
            let environment = Environment::prepare(&project, &found)?;
            wheels::run(&project, &environment)
        }
        Command::Docs => docs::run(&project),
        Command::Portable => portable::run(&project),
        Command::Models { pythons, options } => {
            let found = pythons.one_or_named(&project)?;
            let environment = Environment::prepare(&project, &found)?;
            models::run(&project, &environment, &options)
        }
        Command::Features { pythons, options } => {
            let found = pythons.one_or_named(&project)?;
            let environment = Environment::prepare(&project, &found)?;
            features::run(&project, &environment, &options)
        }
        Command::Opinfo { pythons, options } => {
            let found = pythons.one_or_named(&project)?;
            let environment = Environment::prepare(&project, &found)?;
            opinfo::run(&project, &environment, &options)
        }
        Command::Sizes { pythons, options } => {
            let found = pythons.one_or_named(&project)?;
            let environment = Environment::prepare(&project, &found)?;
            sizes::run(&project, &environment, &options)
        }
    }
}
