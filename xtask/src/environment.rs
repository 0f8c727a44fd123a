//! The environments: `uv` in a private one, and one for each Python with everything pinned.
//!
//! Invariant: an environment whose stamp equals the requirements is left alone.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::project::Project;
use crate::python::{self, Python, Version};
use crate::search;
use crate::step;

/// The file that says what an environment was made from.
const STAMP: &str = ".ferrodyn-stamp";

/// All that a command needs to run Python.
pub struct Environment {
    /// One for each Python, in ascending order.
    pub venvs: Vec<Venv>,
    uv: PathBuf,
}

/// A virtual environment with the pinned requirements.
pub struct Venv {
    /// The Python it was made from.
    pub base: Python,
    /// Its interpreter.
    pub python: PathBuf,
    /// Where its packages are.
    pub site: PathBuf,
}

impl Venv {
    /// The minor version of its Python.
    pub fn version(&self) -> Version {
        self.base.version()
    }

    /// `py3.12`: the name of its folder and its build folder.
    pub fn name(&self) -> String {
        Self::name_for(self.version())
    }

    /// The name of the environment for a Python.
    pub fn name_for(version: Version) -> String {
        format!("py{version}")
    }

    /// A program that one of its packages installed.
    pub fn program(&self, name: &str) -> PathBuf {
        self.python.with_file_name(name)
    }
}

impl Environment {
    /// Makes what is missing and returns all of it.
    pub fn prepare(project: &Project, pythons: &[Python]) -> Result<Self> {
        let uv = tool(project, "uv")?;
        let requirements = project.root.join("python/requirements.txt");
        let text = std::fs::read_to_string(&requirements)
            .with_context(|| format!("cannot read {}", requirements.display()))?;
        let mut venvs = Vec::new();
        for base in pythons {
            let home = project.state().join(format!("py{}", base.version()));
            let venv = Venv {
                base: base.clone(),
                python: home.join("bin/python"),
                site: PathBuf::new(),
            };
            fill(project, &uv, &venv, &home, &requirements, &text)?;
            let site = python::site_packages(&venv.python)?;
            venvs.push(Venv { site, ..venv });
        }
        Ok(Self { venvs, uv })
    }

    /// `uv` with the settings that all its calls share.
    pub fn uv(&self) -> Command {
        uv_command(&self.uv)
    }

    /// Installs more packages into `venv`, unless they are there: those of the file
    /// `requirements`, whose stamp is named `name`. What is installed already is not changed.
    pub fn add(
        &self,
        project: &Project,
        venv: &Venv,
        name: &str,
        requirements: &str,
    ) -> Result<()> {
        let file = project.root.join(requirements);
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let home = project.state().join(venv.name());
        // The packages are those of this environment: made again, it lacks them.
        let made = std::fs::read_to_string(home.join(STAMP)).unwrap_or_default();
        let (stamp, expected) = (
            home.join(format!("{STAMP}-{name}")),
            format!("{made}\n{text}"),
        );
        if std::fs::read_to_string(&stamp).is_ok_and(|found| found == expected) {
            return Ok(());
        }
        let mut install = self.uv();
        install
            .args(["pip", "install", "--python"])
            .arg(&venv.python)
            .arg("-r")
            .arg(&file)
            .arg("--constraint")
            .arg(project.root.join("python/requirements.txt"));
        let title = format!("{name} for Python {}", venv.version());
        step::run_visibly(&title, &mut install)?;
        std::fs::write(&stamp, expected)?;
        Ok(())
    }

    /// Makes the environment `name` anew, with `packages` (files or names) and what they ask for alone, in the pinned
    /// versions, which are on the disk already; returns its interpreter.
    pub fn fresh(
        &self,
        project: &Project,
        venv: &Venv,
        name: &str,
        packages: &[&OsStr],
    ) -> Result<PathBuf> {
        let home = project.state().join(name);
        let python = home.join("bin/python");
        let title = format!("environment {name} (Python {})", venv.version());
        clear(project, &self.uv, &venv.base, &home, &title)?;
        let mut install = self.uv();
        install
            .args(["pip", "install", "--python"])
            .arg(&python)
            .args(packages)
            .arg("--constraint")
            .arg(project.root.join("python/requirements.txt"))
            // Sources are built by another interpreter's path: what `dev` builds would be built anew after it.
            .env("CARGO_TARGET_DIR", project.target_for(name));
        venv.base.build_for(&python, &mut install);
        let title = format!("packages of {name}");
        step::require(&title, &mut install, &project.logs())?;
        Ok(python)
    }

    /// The environment of the oldest Python.
    pub fn oldest(&self) -> &Venv {
        self.venvs.first().expect(AT_LEAST_ONE)
    }

    /// The environment of the newest Python.
    pub fn newest(&self) -> &Venv {
        self.venvs.last().expect(AT_LEAST_ONE)
    }

    /// The environment of the Python for what is run on a single one.
    pub fn preferred(&self) -> &Venv {
        let mut venvs = self.venvs.iter();
        venvs
            .find(|venv| venv.version() == python::PREFERRED)
            .unwrap_or_else(|| self.newest())
    }

    /// The interpreters of all environments, joined by `:`.
    pub fn all_pythons(&self) -> String {
        let paths: Vec<_> = self
            .venvs
            .iter()
            .map(|venv| venv.python.display().to_string())
            .collect();
        paths.join(":")
    }
}

/// Why there is an environment: search::discover returns no empty list.
const AT_LEAST_ONE: &str = "at least one Python was found";

fn uv_command(uv: &Path) -> Command {
    let mut command = Command::new(uv);
    // Hard links: the Pythons share one copy of torch on disk. Its wheels are large.
    // Bytecode is made once here: where PYTHONDONTWRITEBYTECODE is set, each process of the
    // tests would compile torch anew.
    command
        .env("UV_LINK_MODE", "hardlink")
        .env("UV_COMPILE_BYTECODE", "1")
        .env("UV_HTTP_TIMEOUT", "600");
    command.env_remove("VIRTUAL_ENV");
    command
}

/// Makes an empty environment at `home`, in place of what is there.
fn clear(project: &Project, uv: &Path, base: &Python, home: &Path, title: &str) -> Result<()> {
    let mut make = uv_command(uv);
    make.args(["venv", "--clear", "--python"])
        .arg(&base.executable)
        .arg(home);
    step::require(title, &mut make, &project.logs())?;
    Ok(())
}

/// Creates the environment at `home` and installs the requirements, unless its stamp says
/// that this has been done.
fn fill(
    project: &Project,
    uv: &Path,
    venv: &Venv,
    home: &Path,
    requirements: &Path,
    text: &str,
) -> Result<()> {
    let stamp = home.join(STAMP);
    let expected = format!("{}\n{text}", venv.base.executable.display());
    let current = std::fs::read_to_string(&stamp).unwrap_or_default();
    if current == expected && venv.python.is_file() {
        return Ok(());
    }
    // An environment made from another interpreter is made again.
    let runs = Command::new(&venv.python)
        .args([
            "-I",
            "-c",
            "import sys; print('%d.%d.%d' % sys.version_info[:3])",
        ])
        .output()
        .is_ok_and(|output| {
            String::from_utf8_lossy(&output.stdout).trim() == venv.base.full_version()
        });
    if !runs {
        let title = format!("environment for Python {}", venv.version());
        clear(project, uv, &venv.base, home, &title)?;
    }
    let mut install = uv_command(uv);
    install
        .args(["pip", "install", "--python"])
        .arg(&venv.python)
        .arg("-r")
        .arg(requirements);
    let title = format!("packages for Python {} (torch is large)", venv.version());
    step::run_visibly(&title, &mut install)?;
    std::fs::write(&stamp, expected)?;
    Ok(())
}

/// A program of `python/tools.txt`: that of an earlier run, one that is installed now with a Python of the machine, or
/// the one on the path.
pub fn tool(project: &Project, name: &str) -> Result<PathBuf> {
    let home = project.state().join("tools");
    let program = home.join("bin").join(name);
    let requirements = project.root.join("python/tools.txt");
    let text = std::fs::read_to_string(&requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    let stamp = home.join(STAMP);
    if program.is_file() && std::fs::read_to_string(&stamp).is_ok_and(|found| found == text) {
        return Ok(program);
    }
    let mut problems = Vec::new();
    for python in search::found(project).iter().rev() {
        match install_tools(project, python, &home, &requirements) {
            Ok(()) => {
                std::fs::write(&stamp, &text)?;
                return Ok(program);
            }
            Err(problem) => problems.push(format!("{problem:#}")),
        }
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(found) = std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
    {
        println!("        using {}", found.display());
        return Ok(found);
    }
    bail!("cannot install {name}:\n{}", problems.join("\n"))
}

fn install_tools(
    project: &Project,
    python: &Python,
    home: &Path,
    requirements: &Path,
) -> Result<()> {
    let version = python.version();
    let ensurepip = Command::new(&python.executable)
        .args(["-I", "-c", "import ensurepip, venv"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !ensurepip {
        bail!(
            "{} has no ensurepip, so it cannot make an environment with pip. \
             On Debian and Ubuntu: apt install python{version}-venv",
            python.executable.display()
        );
    }
    step::require(
        &format!("environment for tools (Python {version})"),
        Command::new(&python.executable)
            .args(["-m", "venv", "--clear"])
            .arg(home),
        &project.logs(),
    )?;
    step::require(
        "tools",
        Command::new(home.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "-r"])
            .arg(requirements),
        &project.logs(),
    )?;
    Ok(())
}
