//! `cargo xtask test`: formatting, lints, Rust tests, Python tests; then a table.
//!
//! A step that fails does not stop the ones after it. Crates that do not need Python are tested once, those that link
//! one on the newest Python, and on each where their code is another. The Python tests run whole with what users install,
//! a release build, on the preferred Python; on the others with assertions and verifiers on and without those that are
//! marked `once`, and on all but the newest of them without the `slow` ones. Parts that wait for nothing run side by side.

use anyhow::Result;
use clap::Args;
use std::panic::resume_unwind;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::browser;
use crate::build_folder;
use crate::environment::{Environment, Venv};
use crate::extension::{self, Profile};
use crate::portable;
use crate::project::Project;
use crate::readme;
use crate::step::{self, Outcome};
use crate::tally::{Counts, Row, Tally, cargo_counts, pytest_counts};
use crate::workspace::Workspace;

/// Choices of `cargo xtask test`.
#[derive(Args)]
pub struct Options {
    /// One Python only, and without the tests that are marked slow.
    #[arg(long)]
    pub fast: bool,
    /// Accept what is printed now as the expected snapshots.
    #[arg(long)]
    pub bless: bool,
    /// Only Python tests whose name contains this (pytest -k).
    #[arg(short = 'k', value_name = "EXPRESSION")]
    pub keyword: Option<String>,
}

/// Which counts a step's output holds.
enum Kind {
    Check,
    Cargo,
    Pytest,
}

/// What of the Python tests one Python runs.
struct Share {
    profile: Profile,
    /// README's first example, from the wheel alone.
    readme: bool,
    /// Tests that say nothing of the interpreter.
    once: bool,
    /// Tests that take more than a few seconds.
    slow: bool,
    /// The cases once more, below a compiler.
    compiled: bool,
}

struct Run<'a> {
    project: &'a Project,
    environment: &'a Environment,
    options: &'a Options,
    /// In how many processes the tests of one Python run.
    processes: usize,
    tally: Tally,
}

/// A part of the suite that waits for no other.
#[derive(Clone, Copy)]
enum Part<'a> {
    PureCrates,
    PythonCrates(&'a Venv),
    PythonTests(&'a Venv),
}

/// Runs everything; true if all passed and at least one test ran.
pub fn run(project: &Project, environment: &Environment, options: &Options) -> Result<bool> {
    let workspace = Workspace::read(project)?;
    let parts = parts(environment);
    let lanes = match options.bless {
        // What two Pythons expect is in one file.
        true => 1,
        false => LANES.min(parts.len()),
    };
    let begin = || Run {
        project,
        environment,
        options,
        processes: (std::thread::available_parallelism().map_or(1, usize::from) / lanes).max(1),
        tally: Tally::default(),
    };
    let mut lints = begin();
    lints.lints()?;
    let next = AtomicUsize::new(0);
    let lane = || -> Result<Tally> {
        let mut run = begin();
        while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            run.part(*part, &workspace)?;
        }
        Ok(run.tally)
    };
    let mut tally = lints.tally;
    std::thread::scope(|scope| -> Result<()> {
        let running: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        for one in running {
            let rows = one.join().unwrap_or_else(|panic| resume_unwind(panic));
            tally.append(rows?);
        }
        Ok(())
    })?;
    let total = tally.total();
    println!("\n{}\n", tally.table());
    if total.passed + total.failed == 0 {
        println!("no test ran");
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    Ok(total.failed == 0 && total.passed > 0)
}

/// All parts, those that take longest first.
fn parts(environment: &Environment) -> Vec<Part<'_>> {
    let mut venvs: Vec<&Venv> = environment.venvs.iter().collect();
    let rank = |venv: &Venv| {
        let first = [environment.preferred(), environment.newest()];
        first.iter().position(|one| std::ptr::eq(*one, venv))
    };
    venvs.sort_by_key(|venv| rank(venv).unwrap_or(usize::MAX));
    let tests = venvs.iter().map(|venv| Part::PythonTests(venv));
    let crates = venvs.iter().map(|venv| Part::PythonCrates(venv));
    tests.chain([Part::PureCrates]).chain(crates).collect()
}

impl Run<'_> {
    fn part(&mut self, part: Part, workspace: &Workspace) -> Result<()> {
        match part {
            Part::PureCrates => self.pure_crates(workspace),
            Part::PythonCrates(venv) => self.python_crates(venv, workspace),
            Part::PythonTests(venv) => self.python_tests(venv),
        }
    }

    fn step(&mut self, name: &str, python: &str, kind: Kind, command: &mut Command) -> Result<()> {
        let title = if python.is_empty() {
            name.into()
        } else {
            format!("{name}, Python {python}")
        };
        let outcome = step::run(
            &title,
            command.current_dir(&self.project.root),
            &self.project.logs(),
        )?;
        if !outcome.success {
            println!("{}\n", outcome.output.trim_end());
        }
        let counts = match kind {
            Kind::Check => None,
            Kind::Cargo => Some(cargo_counts(&outcome.output)),
            Kind::Pytest => Some(pytest_counts(&outcome.output)),
        };
        self.record(name, python, counts, &outcome);
        Ok(())
    }

    fn record(&mut self, name: &str, python: &str, counts: Option<Counts>, outcome: &Outcome) {
        let result = match outcome.success {
            true => "ok".into(),
            false => format!("FAILED ({})", outcome.status),
        };
        self.tally.push(Row {
            name: name.into(),
            python: python.into(),
            counts,
            result,
            failed: !outcome.success,
            time: outcome.time,
        });
    }

    fn left_out(&mut self, name: &str, python: &str, why: &str) {
        self.tally.push(Row {
            name: name.into(),
            python: python.into(),
            counts: None,
            result: why.into(),
            failed: false,
            time: Duration::ZERO,
        });
    }

    fn lints(&mut self) -> Result<()> {
        self.step(
            "cargo fmt",
            "",
            Kind::Check,
            cargo().args(["fmt", "--all", "--check"]),
        )?;
        let venv = self.environment.newest();
        let ruff = venv.program("ruff");
        let paths = ["python", "tests", "demo", "benches"];
        self.step(
            "ruff check",
            "",
            Kind::Check,
            Command::new(&ruff).arg("check").args(paths),
        )?;
        let mut format = Command::new(&ruff);
        self.step(
            "ruff format",
            "",
            Kind::Check,
            format.args(["format", "--check"]).args(paths),
        )?;
        let mut clippy = self.cargo_for(venv)?;
        clippy.args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ]);
        self.step(
            "cargo clippy",
            &venv.version().to_string(),
            Kind::Check,
            &mut clippy,
        )?;
        let name = format!("cargo check, {}", portable::TARGET);
        match portable::command(self.project) {
            Ok(mut check) => self.step(&name, "", Kind::Check, &mut check),
            Err(error) => {
                self.left_out(&name, "", "not run: rustup has no such target");
                println!("{error:#}");
                Ok(())
            }
        }
    }

    fn pure_crates(&mut self, workspace: &Workspace) -> Result<()> {
        let mut command = cargo();
        command
            .args(["test", "--no-fail-fast"])
            .args(packages(&workspace.pure));
        command.env("FERRODYN_PYTHONS", self.environment.all_pythons());
        self.bless_rust(&mut command);
        self.step(
            "cargo test, crates without Python",
            "",
            Kind::Cargo,
            &mut command,
        )
    }

    fn python_crates(&mut self, venv: &Venv, workspace: &Workspace) -> Result<()> {
        let version = venv.version().to_string();
        // The newest Python's lints ran with those of the whole workspace. What is chosen when compiling is another on the
        // oldest, and on none between them is it a third.
        let is = |other: &Venv| std::ptr::eq(venv, other);
        if is(self.environment.oldest()) && !is(self.environment.newest()) {
            let mut clippy = self.cargo_for(venv)?;
            clippy
                .args(["clippy", "--all-targets", "--quiet"])
                .args(packages(&workspace.python));
            clippy.args(["--", "-D", "warnings"]);
            self.step("cargo clippy", &version, Kind::Check, &mut clippy)?;
        }
        let name = "cargo test, crates with Python";
        if !venv.base.can_embed() {
            self.left_out(
                name,
                &version,
                "not run: no libpython to link (python3-dev)",
            );
            return Ok(());
        }
        let mut command = self.cargo_for(venv)?;
        let tested = match is(self.environment.newest()) {
            true => &workspace.python,
            false => &workspace.versioned,
        };
        command
            .args(["test", "--no-fail-fast"])
            .args(packages(tested));
        self.bless_rust(&mut command);
        self.step(name, &version, Kind::Cargo, &mut command)
    }

    fn python_tests(&mut self, venv: &Venv) -> Result<()> {
        let share = self.share(venv);
        let version = venv.version().to_string();
        let built = extension::install(self.project, self.environment, venv, share.profile);
        let wheel = match built {
            Ok(wheel) => wheel,
            Err(error) => {
                self.failed("extension", &version, &error);
                return Ok(());
            }
        };
        if share.readme {
            match readme::prepare(self.project, self.environment, venv, &wheel) {
                Ok(mut example) => self.step("README", &version, Kind::Check, &mut example)?,
                Err(error) => self.failed("README", &version, &error),
            }
        }
        let mut command = self.pytest(venv, "tests/python");
        command.env("FERRODYN_PYTHONS", self.environment.all_pythons());
        if share.once {
            let added = self
                .environment
                .add(self.project, venv, "checks", "python/checks.txt");
            if let Err(error) = added {
                self.failed("packages for checks", &version, &error);
                return Ok(());
            }
            match browser::find(self.project) {
                Ok(browser) => drop(command.env("FERRODYN_BROWSER", browser)),
                Err(error) => {
                    self.left_out("browser", &version, "not run: no browser");
                    println!("{error:#}");
                }
            }
        }
        if share.readme {
            self.types(venv)?;
        }
        let mut left_out = Vec::new();
        if self.options.fast || !share.slow {
            left_out.push("not slow");
        }
        if !share.once {
            left_out.push("not once");
        }
        if !left_out.is_empty() {
            command.args(["-m", &left_out.join(" and ")]);
        }
        if self.options.bless {
            command.arg("--bless");
        }
        if let Some(keyword) = &self.options.keyword {
            command.args(["-k", keyword]);
        }
        self.step("pytest", &version, Kind::Pytest, &mut command)?;
        if share.compiled {
            let mut command = self.pytest(venv, "tests/python/test_cases.py");
            command.args(["-k", "not snapshot", "--backend=aot_eager"]);
            self.step("cases, aot_eager", &version, Kind::Pytest, &mut command)?;
        }
        Ok(())
    }

    /// Both type checkers, over the package, the examples and a user's program.
    fn types(&mut self, venv: &Venv) -> Result<()> {
        let version = venv.version().to_string();
        let mut mypy = Command::new(venv.program("mypy"));
        mypy.arg("--python-executable").arg(&venv.python);
        self.step("mypy", &version, Kind::Check, &mut mypy)?;
        let pyright = venv.program("pyright");
        // The first run downloads it from npm's registry.
        let there = Command::new(&pyright).arg("--version").output();
        if !there.is_ok_and(|output| output.status.success()) {
            self.left_out(
                "pyright",
                &version,
                "not run: npm's registry has no pyright for us",
            );
            return Ok(());
        }
        let mut pyright = Command::new(&pyright);
        pyright.arg("--pythonpath").arg(&venv.python);
        self.step("pyright", &version, Kind::Check, &mut pyright)
    }

    /// What of the Python tests runs on `venv`.
    fn share(&self, venv: &Venv) -> Share {
        let is = |other: &Venv| other.version() == venv.version();
        let preferred = is(self.environment.preferred());
        // What is asked for by name is a Python test.
        let named = self.options.keyword.is_some();
        let whole = !self.options.fast && !named;
        Share {
            profile: match preferred {
                true => Profile::Release,
                false => Profile::Dev,
            },
            readme: preferred && whole,
            once: preferred || named,
            slow: preferred || named || is(self.environment.newest()),
            compiled: is(self.environment.newest()) && whole,
        }
    }

    fn pytest(&self, venv: &Venv, tests: &str) -> Command {
        let mut command = step::program(&venv.python);
        command
            .args(["-m", "pytest", tests, "-q", "--color=no"])
            .arg(format!("-n{}", self.processes))
            .args(["--durations=40", "--durations-min=2"])
            .args(FILES_APART);
        command
    }

    fn failed(&mut self, name: &str, python: &str, error: &anyhow::Error) {
        println!("{error:#}\n");
        self.tally.push(Row {
            name: name.into(),
            python: python.into(),
            counts: None,
            result: "FAILED".into(),
            failed: true,
            time: Duration::ZERO,
        });
    }

    fn bless_rust(&self, command: &mut Command) {
        let update = if self.options.bless { "always" } else { "no" };
        command
            .env("INSTA_UPDATE", update)
            .env("INSTA_WORKSPACE_ROOT", &self.project.root);
    }

    fn cargo_for(&self, venv: &Venv) -> Result<Command> {
        build_folder::begin(self.project, venv)?;
        Ok(cargo_for(self.project, self.environment, venv))
    }
}

/// How many parts run at a time. Much of a part keeps one processor busy: linking, and tests that hold the GIL.
const LANES: usize = 2;

/// A file of tests in one process, files in their order: what runs torch's own compiler comes behind what counts frames.
const FILES_APART: [&str; 2] = ["--dist=loadfile", "--no-loadscope-reorder"];

/// The `cargo` that runs this program.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// `cargo` for crates that link the Python of `venv`: where to build, what to link, and what
/// a test binary with an interpreter inside needs to find.
pub fn cargo_for(project: &Project, environment: &Environment, venv: &Venv) -> Command {
    let mut command = cargo();
    venv.base.build_for(&venv.python, &mut command);
    command
        .env("CARGO_TARGET_DIR", project.target_for(&venv.name()))
        .env("FERRODYN_SITE", &venv.site)
        .env("FERRODYN_PYTHON", &venv.python)
        .env("FERRODYN_PYTHONS", environment.all_pythons());
    command
}

fn packages(names: &[String]) -> impl Iterator<Item = &str> {
    names.iter().flat_map(|name| ["-p", name])
}
