//! What a long compilation is at: a line on the terminal that is written over while it takes, and gone afterwards.
//!
//! A thread of its own writes it, because neither tracing nor a backend comes back in between. It touches no Python
//! object. Invariant: where stderr is no terminal there is no thread and no text.

use std::io::{IsTerminal, Write, stderr};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cache::CodeName;

/// How long nothing is said.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long the line stays as it is.
const PAUSE: Duration = Duration::from_millis(250);

/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

/// How the line begins.
const HEAD: &str = "ferrodyn: ";

/// A part of a compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The function is run symbolically.
    Tracing,
    /// The backend compiles a graph.
    Backend,
    /// The checks of guards are made.
    Guards,
}

impl Stage {
    fn name(stage: u8) -> &'static str {
        match stage {
            s if s == Stage::Tracing as u8 => "tracing",
            s if s == Stage::Backend as u8 => "the backend compiles",
            _ => "guards",
        }
    }
}

/// What the thread shows.
struct Shown {
    what: String,
    started: Instant,
    stage: AtomicU8,
    nodes: Arc<AtomicUsize>,
    is_over: Mutex<bool>,
    over: Condvar,
}

impl Shown {
    fn line(&self, columns: usize) -> String {
        let stage = Stage::name(self.stage.load(Ordering::Relaxed));
        let nodes = self.nodes.load(Ordering::Relaxed);
        let seconds = self.started.elapsed().as_secs_f64();
        let rest = format!(": {stage}, {nodes} nodes, {seconds:.1} s");
        // A line that wraps could not be written over.
        let room = columns.saturating_sub(1 + HEAD.len() + rest.len());
        let what: String = self.what.chars().take(room).collect();
        format!("{HEAD}{what}{rest}")
    }

    /// Writes the line until the compilation is over, and then nothing in its place.
    fn show(&self) {
        let mut wait = PATIENCE;
        let mut has_written = false;
        let Ok(mut is_over) = self.is_over.lock() else {
            return;
        };
        loop {
            let waited = self
                .over
                .wait_timeout_while(is_over, wait, |is_over| !*is_over);
            let Ok((guard, timed)) = waited else {
                return;
            };
            is_over = guard;
            if !timed.timed_out() {
                break;
            }
            // A terminal that takes nothing more is no reason to stop.
            let _ = write!(stderr(), "\r\x1b[2K{}", self.line(columns()));
            has_written = true;
            wait = PAUSE;
        }
        if has_written {
            let _ = write!(stderr(), "\r\x1b[2K");
        }
    }
}

fn columns() -> usize {
    // SAFETY: plain numbers, which the call fills in.
    let mut size: libc::winsize = unsafe { std::mem::zeroed() };
    // SAFETY: the request writes a size of a window and nothing else.
    let asked = unsafe { libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    match size.ws_col {
        0 => COLUMNS,
        _ if asked != 0 => COLUMNS,
        columns => usize::from(columns),
    }
}

/// The progress of one compilation; over when it is dropped.
pub struct Progress(Option<(Arc<Shown>, JoinHandle<()>, u32)>);

impl Progress {
    /// Shows a compilation from now on, if that is `wanted` and somebody can see it.
    pub fn begin(name: &CodeName, wanted: bool) -> Progress {
        let is_dumb = || std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if !wanted || !stderr().is_terminal() || is_dumb() {
            return Progress(None);
        }
        let file = name.file.rsplit('/').next().unwrap_or_default();
        let shown = Arc::new(Shown {
            what: format!("{} ({file}:{})", name.function, name.line),
            started: Instant::now(),
            stage: AtomicU8::new(Stage::Tracing as u8),
            nodes: Arc::default(),
            is_over: Mutex::new(false),
            over: Condvar::new(),
        });
        let thread = thread::Builder::new()
            .name("ferrodyn progress".into())
            .spawn({
                let shown = shown.clone();
                move || shown.show()
            });
        // Without threads left it goes on in silence.
        Progress(
            thread
                .ok()
                .map(|thread| (shown, thread, std::process::id())),
        )
    }

    /// Says what it is at.
    pub fn at(&self, stage: Stage) {
        if let Some((shown, _, _)) = &self.0 {
            shown.stage.store(stage as u8, Ordering::Relaxed);
        }
    }

    /// Where a graph is to write how many nodes it has.
    pub fn nodes(&self) -> Option<Arc<AtomicUsize>> {
        self.0.as_ref().map(|(shown, _, _)| shown.nodes.clone())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // A forked child has a copy of this, and not the thread.
        let Some((shown, thread, process)) = self.0.take() else {
            return;
        };
        if process != std::process::id() {
            std::mem::forget(thread);
            return;
        }
        if let Ok(mut is_over) = shown.is_over.lock() {
            *is_over = true;
        }
        shown.over.notify_all();
        let _ = thread.join();
    }
}
