//! `cargo xtask bench` and `cargo xtask compare`: measuring, and comparing with what was measured
//! before.
//!
//! A run gives figures by name: medians of the criterion benchmarks and of `benches/` in nanoseconds,
//! and instruction counts of the benchmarks that link no Python, counted by callgrind. A saved run is
//! a JSON file in the build folder. Instruction counts hardly depend on the machine: those of the last
//! time that somebody looked at them are in `benches/instructions.json`.

use anyhow::{Context, Result};
use clap::Args;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::checks;
use crate::environment::{Environment, Venv};
use crate::extension::{self, Profile};
use crate::project::Project;
use crate::step;
use crate::workspace::Workspace;

/// What a figure may grow without being called slower: times on a machine that is not quiet.
const TIME_TOLERANCE: f64 = 0.10;
/// The same of instruction counts, which hardly vary.
const COUNT_TOLERANCE: f64 = 0.01;
/// How far a count may be from the one that was committed: other versions of what is linked move them a little.
const COMMITTED_TOLERANCE: f64 = 0.02;
/// What names of instruction counts begin with.
const COUNT: &str = "instructions: ";

/// What of `cargo xtask bench` can be asked for.
#[derive(Args)]
pub struct Options {
    /// Only benchmarks whose name contains this.
    filter: Option<String>,
    /// Keep the figures under this name.
    #[arg(long, value_name = "NAME")]
    save: Option<String>,
    /// Say what became slower than in the run of this name; fails if anything did.
    #[arg(long, value_name = "BASE")]
    compare: Option<String>,
    /// Only count instructions.
    #[arg(long)]
    instructions: bool,
    /// Commit to the instruction counts: writes `benches/instructions.json`.
    #[arg(long)]
    bless: bool,
}

/// What of `cargo xtask compare` can be asked for.
#[derive(Args)]
pub struct CompareOptions {
    /// Only programs whose name contains this.
    filter: Option<String>,
    /// Where to draw the costs of a call, an `.svg` or `.png` file.
    #[arg(long, value_name = "FILE")]
    chart: Option<PathBuf>,
}

/// Figures by name: nanoseconds or instructions.
type Figures = BTreeMap<String, f64>;

/// Runs the benchmarks; false if one failed, or is slower than in the run that was asked for.
pub fn run(project: &Project, environment: &Environment, options: &Options) -> Result<bool> {
    let mut figures = Figures::new();
    let mut good = true;
    if !options.instructions {
        good &= criterion(project, environment, options, &mut figures)?;
        good &= pipeline(project, environment, options, &mut figures)?;
    }
    instructions(project, options.filter.as_deref(), &mut figures)?;
    committed(project, options, &figures)?;
    if let Some(base) = &options.compare {
        let text = std::fs::read_to_string(saved(project, base))
            .with_context(|| format!("no run was saved as {base} (cargo xtask bench --save)"))?;
        good &= report(&serde_json::from_str(&text)?, &figures);
    }
    if let Some(name) = &options.save {
        let file = saved(project, name);
        std::fs::create_dir_all(file.parent().unwrap_or(&project.root))?;
        std::fs::write(&file, serde_json::to_string_pretty(&figures)? + "\n")?;
        println!("{} figures saved in {}", figures.len(), file.display());
    }
    Ok(good)
}

/// Writes the instruction counts to the file that is committed, or prints which are far from what is there.
fn committed(project: &Project, options: &Options, figures: &Figures) -> Result<()> {
    let file = project.root.join("benches").join("instructions.json");
    let mut known: BTreeMap<String, u64> = match std::fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => BTreeMap::new(),
    };
    let counts = figures.iter().filter_map(|(name, count)| {
        let name = name.strip_prefix(COUNT)?;
        Some((name.to_owned(), *count as u64))
    });
    let counts: BTreeMap<String, u64> = counts.collect();
    if options.bless {
        match options.filter {
            Some(_) => known.extend(counts),
            None => known = counts,
        }
        std::fs::write(&file, serde_json::to_string_pretty(&known)? + "\n")?;
        println!("{} instruction counts in {}", known.len(), file.display());
        return Ok(());
    }
    let as_figures = |counts: &BTreeMap<String, u64>| -> Figures {
        let counts = counts.iter();
        counts.map(|(name, n)| (name.clone(), *n as f64)).collect()
    };
    let moved = changes(&as_figures(&known), &as_figures(&counts), |_| {
        COMMITTED_TOLERANCE
    });
    let new = counts
        .keys()
        .filter(|name| !known.contains_key(*name))
        .count();
    let percent = COMMITTED_TOLERANCE * 100.0;
    println!(
        "{} instruction counts, {} of them moved by more than {percent} %, {new} are new (--bless writes them)",
        counts.len(),
        moved.len(),
    );
    if !moved.is_empty() {
        println!("{}", table(&moved));
    }
    Ok(())
}

fn saved(project: &Project, name: &str) -> PathBuf {
    project.target().join("bench").join(format!("{name}.json"))
}

/// Runs every criterion benchmark.
fn criterion(
    project: &Project,
    environment: &Environment,
    options: &Options,
    figures: &mut Figures,
) -> Result<bool> {
    let venv = environment.newest();
    let start = SystemTime::now();
    let mut good = true;
    for (package, target, linked) in Workspace::read(project)?.benches {
        let mut command = match linked {
            true => checks::cargo_for(project, environment, venv),
            false => checks::cargo(),
        };
        command
            .current_dir(&project.root)
            .args(["bench", "-p", &package, "--bench", &target]);
        if let Some(filter) = &options.filter {
            command.args(["--", filter]);
        }
        good &= command.status()?.success();
    }
    for folder in [project.target(), project.target_for(&venv.name())] {
        medians(&folder.join("criterion"), start, figures)?;
    }
    Ok(good)
}

/// Collects what criterion wrote since `start` into a folder.
fn medians(folder: &Path, start: SystemTime, figures: &mut Figures) -> Result<()> {
    #[derive(Deserialize)]
    struct Benchmark {
        title: String,
    }
    #[derive(Deserialize)]
    struct Estimates {
        median: Estimate,
    }
    #[derive(Deserialize)]
    struct Estimate {
        point_estimate: f64,
    }
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        medians(&path, start, figures)?;
        let file = path.join("estimates.json");
        let recent = |file: &Path| file.metadata()?.modified();
        if !path.ends_with("new") || !recent(&file).is_ok_and(|time| time >= start) {
            continue;
        }
        let benchmark = std::fs::read_to_string(path.join("benchmark.json"))?;
        let benchmark: Benchmark = serde_json::from_str(&benchmark)?;
        let estimates: Estimates = serde_json::from_str(&std::fs::read_to_string(file)?)?;
        figures.insert(benchmark.title, estimates.median.point_estimate);
    }
    Ok(())
}

/// Runs `benches/` over the whole pipeline.
fn pipeline(
    project: &Project,
    environment: &Environment,
    options: &Options,
    figures: &mut Figures,
) -> Result<bool> {
    let venv = environment.newest();
    extension::install(project, environment, venv, Profile::Release)?;
    let file = project.target().join("bench").join("pipeline.json");
    std::fs::create_dir_all(file.parent().unwrap_or(&project.root))?;
    let mut command = python(project, venv, "benches");
    command.arg("--json").arg(&file).args(&options.filter);
    if !command.status()?.success() {
        return Ok(false);
    }
    let measured: Figures = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
    figures.extend(measured);
    Ok(true)
}

fn python(project: &Project, venv: &Venv, program: &str) -> Command {
    let mut command = step::program(&venv.python);
    command
        .current_dir(&project.root)
        .arg(program)
        // Idle workers of a busy machine would be measured instead.
        .env("OMP_NUM_THREADS", "1");
    command
}

/// Counts the instructions of one pass over each benchmark that links no Python.
fn instructions(project: &Project, filter: Option<&str>, figures: &mut Figures) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("instructions are not counted: valgrind is not installed");
        return Ok(());
    }
    for (package, target, linked) in Workspace::read(project)?.benches {
        if linked {
            continue;
        }
        let program = built(project, &package, &target)?;
        let listed = Command::new(&program)
            .args(["--bench", "--list"])
            .output()?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let names = listed
            .lines()
            .filter_map(|line| line.strip_suffix(": benchmark"));
        for name in names.filter(|name| filter.is_none_or(|filter| name.contains(filter))) {
            let count = counted(&program, name)?;
            println!("{count:>14} instructions  {name}");
            figures.insert(format!("{COUNT}{name}"), count as f64);
        }
    }
    Ok(())
}

/// The program of a benchmark, built.
fn built(project: &Project, package: &str, target: &str) -> Result<PathBuf> {
    let output = checks::cargo()
        .current_dir(&project.root)
        .args(["bench", "-p", package, "--bench", target, "--no-run"])
        .arg("--message-format=json")
        .stderr(std::process::Stdio::inherit())
        .output()?;
    anyhow::ensure!(output.status.success(), "{package} does not build");
    cargo_metadata::Message::parse_stream(output.stdout.as_slice())
        .filter_map(|message| match message {
            Ok(cargo_metadata::Message::CompilerArtifact(artifact))
                if artifact.target.name == target =>
            {
                artifact.executable
            }
            _ => None,
        })
        .last()
        .map(Into::into)
        .with_context(|| format!("the benchmark {target} of {package} was not built"))
}

/// Instructions of one pass over a benchmark: those below criterion's `iter` and its kin, which are the same at each
/// run. What the program does before and after is not.
fn counted(program: &Path, name: &str) -> Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=criterion::bencher::Bencher*")
        .arg(program)
        .args(["--test", "--exact", name])
        .output()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let count = collected(&text).filter(|count| *count > 0);
    count.with_context(|| format!("callgrind counted nothing of {name}:\n{text}"))
}

/// The count in what callgrind says at its end. Processes that the program starts say theirs, too.
fn collected(text: &str) -> Option<u64> {
    let lines = text.lines().filter(|line| line.contains("Collected :"));
    let counts = lines.filter_map(|line| line.split_whitespace().next_back()?.parse().ok());
    counts.max()
}

/// A figure that changed by more than it may.
#[derive(Debug, PartialEq)]
struct Change {
    name: String,
    base: f64,
    now: f64,
}

/// What a figure of this name may differ by.
fn tolerance(name: &str) -> f64 {
    match name.starts_with(COUNT) {
        true => COUNT_TOLERANCE,
        false => TIME_TOLERANCE,
    }
}

/// The figures of both runs that differ by more than the tolerance, worst first.
fn changes(base: &Figures, now: &Figures, tolerance: impl Fn(&str) -> f64) -> Vec<Change> {
    let differs = |(name, now): (&String, &f64)| {
        let base = *base.get(name)?;
        ((now - base).abs() > base * tolerance(name)).then(|| Change {
            name: name.clone(),
            base,
            now: *now,
        })
    };
    let mut found: Vec<Change> = now.iter().filter_map(differs).collect();
    found.sort_by(|a, b| (b.now / b.base).total_cmp(&(a.now / a.base)));
    found
}

fn table(changes: &[Change]) -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.set_header(["benchmark", "before", "now", "change"]);
    for change in changes {
        let percent = (change.now / change.base - 1.0) * 100.0;
        table.add_row([
            change.name.clone(),
            format!("{:.4}", change.base),
            format!("{:.4}", change.now),
            format!("{percent:+.1}%"),
        ]);
    }
    table
}

/// Prints what changed; false if anything became slower.
fn report(base: &Figures, now: &Figures) -> bool {
    let changes = changes(base, now, tolerance);
    let slower = changes.iter().filter(|c| c.now > c.base).count();
    let common = now.keys().filter(|name| base.contains_key(*name)).count();
    if !changes.is_empty() {
        println!("\n{}", table(&changes));
    }
    println!(
        "{common} figures compared: {slower} slower, {} faster, the others as before",
        changes.len() - slower
    );
    slower == 0
}

/// Runs `benches/compare.py` on every Python that was asked for.
pub fn compare(
    project: &Project,
    environment: &Environment,
    options: &CompareOptions,
) -> Result<bool> {
    let mut good = true;
    for venv in &environment.venvs {
        environment.add(project, venv, "models", "benches/models/requirements.txt")?;
        environment.add(project, venv, "benches", "benches/requirements.txt")?;
        extension::install(project, environment, venv, Profile::Release)?;
        let chart = match &options.chart {
            Some(file) => file.clone(),
            None => project
                .target()
                .join(format!("compare-{}.svg", venv.name())),
        };
        let mut command = python(project, venv, "benches/compare.py");
        command.arg("--chart").arg(chart).args(&options.filter);
        good &= command.status()?.success();
    }
    Ok(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(items: &[(&str, f64)]) -> Figures {
        items
            .iter()
            .map(|(name, n)| ((*name).to_owned(), *n))
            .collect()
    }

    #[test]
    fn what_grew_beyond_its_tolerance_is_found() {
        let base = figures(&[
            ("a", 100.0),
            ("b", 100.0),
            ("c", 100.0),
            ("instructions: d", 100.0),
        ]);
        let now = figures(&[
            ("a", 109.0),
            ("b", 150.0),
            ("c", 60.0),
            ("instructions: d", 102.0),
            ("new", 1.0),
        ]);
        let names: Vec<String> = changes(&base, &now, tolerance)
            .into_iter()
            .map(|c| c.name)
            .collect();
        assert_eq!(names, ["b", "instructions: d", "c"]);
        assert!(!report(&base, &now));
        assert_eq!(changes(&base, &now, |_| 0.45).len(), 1);
        assert!(report(&base, &base));
    }

    #[test]
    fn the_count_of_callgrind_is_read() {
        let text =
            "==2== Collected : 12\n==1== Events    : Ir\n==1== Collected : 29763352\n==1== \n";
        assert_eq!(collected(text), Some(29_763_352));
        assert_eq!(collected("nothing"), None);
    }
}
