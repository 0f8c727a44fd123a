//! One command of a run: its progress, its output, its log.

use anyhow::{Context, Result};
use console::Term;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

/// How long a step may run. The longest take half of it on a slow machine; what runs longer hangs.
const LIMIT: Duration = Duration::from_secs(80 * 60);

/// The spinners of the steps that run now.
static SPINNERS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// How a step ended.
pub struct Outcome {
    /// Whether the command exited with status 0.
    pub success: bool,
    /// Standard output and standard error, in the order in which they came.
    pub output: String,
    /// How long it ran.
    pub time: Duration,
    /// The exit status in words, such as `exit status: 1` or `signal: 11 (SIGSEGV)`.
    pub status: String,
}

/// A command of an interpreter, or of another program, without what people have set for programs of their own: logs, and
/// what earlier processes have kept of compilers.
pub fn program(path: &Path) -> Command {
    let mut command = Command::new(path);
    command
        .env_remove("FERRODYN_LOGS")
        .env("FERRODYN_CACHE", "0");
    command
}

/// Runs `command` with a spinner that shows its latest line (on a terminal), or with a line
/// at its start and end; keeps the output in `logs`. A command that hangs is killed and has failed.
pub fn run(title: &str, command: &mut Command, logs: &Path) -> Result<Outcome> {
    run_within(LIMIT, title, command, logs)
}

fn run_within(limit: Duration, title: &str, command: &mut Command, logs: &Path) -> Result<Outcome> {
    let start = Instant::now();
    let bar = spinner(title);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", command.get_program().to_string_lossy()))?;
    let collected = Arc::new(Mutex::new(String::new()));
    let readers: Vec<_> = [
        child
            .stdout
            .take()
            .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        child
            .stderr
            .take()
            .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
    ]
    .into_iter()
    .flatten()
    .map(|pipe| {
        let (collected, bar) = (Arc::clone(&collected), bar.clone());
        std::thread::spawn(move || collect(pipe, &collected, bar.as_ref()))
    })
    .collect();
    let (status, killed) = wait(&mut child, start + limit)?;
    // What a killed command has started may keep its pipes open: what was read until now is the output.
    for reader in readers.into_iter().filter(|_| !killed) {
        // A reader ends with its pipe; it has nothing to report.
        let _ = reader.join();
    }
    let output = std::mem::take(&mut *collected.lock().unwrap_or_else(|error| error.into_inner()));
    let time = start.elapsed();
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let mark = if status.success() { "ok" } else { "FAILED" };
    SPINNERS.suspend(|| println!("{mark:>6}  {title} ({:.1} s)", time.as_secs_f64()));
    std::fs::create_dir_all(logs)?;
    let name: String = title
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        })
        .collect();
    std::fs::write(logs.join(format!("{name}.log")), &output)?;
    Ok(Outcome {
        success: status.success(),
        output,
        time,
        status: match killed {
            false => status.to_string(),
            true => format!("killed after {} s", limit.as_secs()),
        },
    })
}

/// Waits for `child` to end, until `end` at the latest; whether it had to be killed.
fn wait(child: &mut Child, end: Instant) -> Result<(ExitStatus, bool)> {
    while Instant::now() < end {
        if let Some(status) = child.try_wait()? {
            return Ok((status, false));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    Ok((child.wait()?, true))
}

/// Runs `command` on the terminal itself, for programs with progress of their own.
pub fn run_visibly(title: &str, command: &mut Command) -> Result<()> {
    println!("        {title}");
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", command.get_program().to_string_lossy()))?;
    anyhow::ensure!(status.success(), "{title}: {status}");
    Ok(())
}

/// Like [`run`], but a failure is an error that shows the output.
pub fn require(title: &str, command: &mut Command, logs: &Path) -> Result<String> {
    let outcome = run(title, command, logs)?;
    if !outcome.success {
        anyhow::bail!("{title}: {}\n{}", outcome.status, outcome.output.trim_end());
    }
    Ok(outcome.output)
}

fn spinner(title: &str) -> Option<ProgressBar> {
    if !Term::stderr().is_term() {
        println!("   ...  {title}");
        let _ = std::io::stdout().flush();
        return None;
    }
    let bar = SPINNERS.add(ProgressBar::new_spinner());
    if let Ok(style) = ProgressStyle::with_template("{spinner:>6}  {prefix} [{elapsed}] {wide_msg}")
    {
        bar.set_style(style);
    }
    bar.set_prefix(title.to_owned());
    bar.enable_steady_tick(Duration::from_millis(120));
    Some(bar)
}

/// Reads `pipe` line by line until it closes; what is not UTF-8 is replaced.
fn collect(pipe: impl Read, collected: &Mutex<String>, bar: Option<&ProgressBar>) {
    let mut reader = BufReader::new(pipe);
    let mut bytes = Vec::new();
    while matches!(reader.read_until(b'\n', &mut bytes), Ok(count) if count > 0) {
        let line = String::from_utf8_lossy(&bytes);
        if let (Some(bar), false) = (bar, line.trim().is_empty()) {
            bar.set_message(line.trim().to_owned());
        }
        collected
            .lock()
            .unwrap_or_else(|error| error.into_inner())
            .push_str(&line);
        bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_status_and_log_are_kept() {
        let logs = std::env::temp_dir().join(format!("xtask-step-{}", std::process::id()));
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; exit 3"]);
        let outcome = run("a step", &mut command, &logs).unwrap();
        assert!(!outcome.success);
        assert!(outcome.output.contains("one\n") && outcome.output.contains("two\n"));
        assert!(outcome.status.contains('3'));
        let log = std::fs::read_to_string(logs.join("a-step.log")).unwrap();
        assert_eq!(log, outcome.output);
        std::fs::remove_dir_all(logs).unwrap();
    }

    #[test]
    fn a_step_that_hangs_fails_with_what_it_said() {
        let logs = std::env::temp_dir().join(format!("xtask-hang-{}", std::process::id()));
        let mut command = Command::new("sh");
        // The inner `sleep` outlives the killed shell, and holds its pipes.
        command.args(["-c", "echo begun; sleep 20; echo ended"]);
        let limit = Duration::from_secs(1);
        let outcome = run_within(limit, "a step", &mut command, &logs).unwrap();
        assert!(!outcome.success && outcome.time < Duration::from_secs(15));
        assert_eq!(outcome.output, "begun\n");
        assert!(outcome.status.contains("killed"), "{}", outcome.status);
        std::fs::remove_dir_all(logs).unwrap();
    }

    #[test]
    fn a_required_step_fails_with_its_output() {
        let logs = std::env::temp_dir().join(format!("xtask-require-{}", std::process::id()));
        let mut command = Command::new("sh");
        command.args(["-c", "echo the cause; exit 1"]);
        let error = require("needed", &mut command, &logs)
            .unwrap_err()
            .to_string();
        assert!(error.contains("the cause"), "{error}");
        std::fs::remove_dir_all(logs).unwrap();
    }
}
