//! The record behind `ferrodyn.explain` and the reports: what compilations did.
//!
//! A record is of one thread, or of all threads of the process.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use cache::{CodeName, Miss};
use guards::exec::explain::Failure;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use translator::BreakReason;

/// One graph break.
#[derive(Clone)]
pub struct Break {
    /// why
    pub reason: BreakReason,
    /// the user's frames, outermost first
    pub user_stack: Vec<String>,
}

/// A graph, as it was handed to the backend. A dictionary in Python.
#[derive(Clone, IntoPyObject)]
pub struct Graph {
    /// its name
    pub name: String,
    /// how many operations it has
    pub operations: usize,
    /// it as Python
    pub code: String,
    /// it as a drawing's description, in DOT
    pub dot: String,
}

/// A line of the tree of guards. A dictionary in Python.
#[derive(Clone, IntoPyObject)]
pub struct GuardLine {
    /// how deep it is
    pub depth: usize,
    /// torch's name of the guard's kind; empty for a value that is read
    pub kind: String,
    /// what it says
    pub says: String,
    /// the line of the program that asked for it
    pub why: String,
    /// where that line is
    pub place: String,
    /// the guard as a failure names it
    pub code: String,
    /// what the step takes by itself in a check for which nothing is remembered
    pub nanoseconds: Option<f64>,
}

/// One compilation of one frame. A dictionary in Python.
#[derive(Clone, Default, IntoPyObject)]
pub struct Compilation {
    /// `frame/attempt`
    pub id: String,
    /// the function
    pub function: String,
    /// its file
    pub file: String,
    /// its first line
    pub line: u32,
    /// whether it is what goes on behind a graph break
    pub resumes: bool,
    /// the calls that led to it, outermost first
    pub stack: Vec<String>,
    /// when it began, in seconds since 1970
    pub started: f64,
    /// seconds by phase
    pub seconds: BTreeMap<&'static str, f64>,
    /// instructions interpreted
    pub instructions: u64,
    /// graphs, in the order in which the backend got them
    pub graphs: Vec<Graph>,
    /// how many graph breaks the record had before
    pub first_break: usize,
    /// its guards, as a tree
    pub guards: String,
    /// the same line by line
    pub guard_lines: Vec<GuardLine>,
    /// guards of it for which it could not be reused where nothing else could either, and how often each failed
    pub failures: BTreeMap<String, u64>,
    /// microseconds of a check of all of them
    pub check: Option<f64>,
    /// the code before and after
    pub bytecode: String,
    /// the code after, as Python
    pub python: String,
    /// guards of code that was there, which failed for this call
    pub recompile_reasons: Vec<String>,
    /// for each of them the line of the program that asked for the guard, and where that is
    pub recompile_lines: Vec<String>,
    /// what became of it: `compiled`, `eager` this time, or `skipped` from now on; an exception's text
    pub outcome: String,
}

/// What compilations did.
#[derive(Clone, Default)]
pub struct Record {
    /// graph breaks
    pub breaks: Vec<Break>,
    /// guard texts, one for each compiled region
    pub guards: Vec<String>,
    /// seconds by phase
    pub seconds: BTreeMap<&'static str, f64>,
    /// guards that failed, as Python, and how often
    pub guard_failures: BTreeMap<String, u64>,
    /// counts by name
    pub counts: BTreeMap<&'static str, u64>,
    /// how often FakeTensor was asked for metadata, by operation
    pub fake_ops: BTreeMap<String, u64>,
    /// all compilations, in the order in which they began
    pub compilations: Vec<Compilation>,
}

impl Record {
    /// Adds seconds to a phase of the last compilation, and of all.
    pub fn took(&mut self, phase: &'static str, seconds: f64) {
        *self.seconds.entry(phase).or_default() += seconds;
        if let Some(last) = self.compilations.last_mut() {
            *last.seconds.entry(phase).or_default() += seconds;
        }
    }
}

thread_local! {
    static RECORDS: RefCell<Vec<Record>> = const { RefCell::new(Vec::new()) };
}

/// Records of all threads.
static SHARED: Mutex<Vec<Record>> = Mutex::new(Vec::new());
static SHARED_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Adds to the records that are being taken of this thread.
pub fn record(add: impl Fn(&mut Record)) {
    RECORDS.with(|r| r.borrow_mut().iter_mut().for_each(&add));
    if SHARED_COUNT.load(Ordering::Relaxed) > 0
        && let Ok(mut shared) = SHARED.lock()
    {
        shared.iter_mut().for_each(&add);
    }
}

/// Adds to the last compilation of each record.
pub fn of_last(add: impl Fn(&mut Compilation)) {
    record(|r| {
        if let Some(last) = r.compilations.last_mut() {
            add(last);
        }
    });
}

/// Notes guards that failed, where no compiled code fits a call.
pub fn note_misses(misses: &[Miss]) {
    record(|r| {
        for miss in misses {
            let code = &miss.failure.code;
            *r.guard_failures.entry(code.clone()).or_default() += 1;
            let id = miss.id.to_string();
            if let Some(made) = r.compilations.iter_mut().rev().find(|c| c.id == id) {
                *made.failures.entry(code.clone()).or_default() += 1;
            }
        }
    });
}

/// Begins the record of a compilation.
pub fn begin_compilation(
    id: String,
    name: &CodeName,
    misses: &[Miss],
    resumes: bool,
    stack: impl FnOnce() -> Vec<String>,
) {
    if !active() {
        return;
    }
    let stack = stack();
    let of_each = |text: fn(&Failure) -> String| misses.iter().map(|m| text(&m.failure)).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let compilation = Compilation {
        id,
        function: name.function.to_string(),
        file: name.file.to_string(),
        line: name.line,
        resumes,
        stack,
        started: now.map_or(0.0, |now| now.as_secs_f64()),
        recompile_reasons: of_each(|failure| failure.reason.clone()),
        recompile_lines: of_each(|failure| failure.user_line().trim().to_owned()),
        ..Compilation::default()
    };
    record(|r| {
        r.compilations.push(Compilation {
            first_break: r.breaks.len(),
            ..compilation.clone()
        });
    });
}

/// How many graph breaks each record of this thread has.
pub fn count_breaks() -> Vec<usize> {
    RECORDS.with(|r| r.borrow().iter().map(|r| r.breaks.len()).collect())
}

/// Removes the graph breaks of an attempt that was given up, which began at `counts`.
pub fn forget_breaks(counts: &[usize]) {
    RECORDS.with(|r| {
        let mut records = r.borrow_mut();
        for (record, count) in records.iter_mut().zip(counts) {
            record.breaks.truncate(*count);
        }
    });
    // Of all threads: what the last compilation has added.
    if let Ok(mut shared) = SHARED.lock() {
        for record in shared.iter_mut() {
            if let Some(last) = record.compilations.last() {
                record.breaks.truncate(last.first_break);
            }
        }
    }
}

/// Whether a record is being taken.
pub fn active() -> bool {
    SHARED_COUNT.load(Ordering::Relaxed) > 0 || RECORDS.with(|r| !r.borrow().is_empty())
}

/// Starts a record: of this thread, or of all.
#[pyfunction]
#[pyo3(signature = (all_threads = false))]
pub fn explain_begin(all_threads: bool) {
    if !all_threads {
        RECORDS.with(|r| r.borrow_mut().push(Record::default()));
    } else if let Ok(mut shared) = SHARED.lock() {
        shared.push(Record::default());
        SHARED_COUNT.store(shared.len(), Ordering::Relaxed);
    }
}

/// Ends the last record begun, and gives it.
#[pyfunction]
#[pyo3(signature = (all_threads = false))]
pub fn explain_end(py: Python<'_>, all_threads: bool) -> PyResult<Bound<'_, PyDict>> {
    let record = match all_threads {
        false => RECORDS.with(|r| r.borrow_mut().pop()),
        true => SHARED.lock().ok().and_then(|mut shared| {
            let last = shared.pop();
            SHARED_COUNT.store(shared.len(), Ordering::Relaxed);
            last
        }),
    };
    to_python(py, record.unwrap_or_default())
}

fn to_python(py: Python<'_>, record: Record) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    let breaks = PyList::empty(py);
    for b in record.breaks {
        let d = PyDict::new(py);
        d.set_item("reason", b.reason.reason)?;
        d.set_item("explanation", b.reason.explanation)?;
        d.set_item("hints", b.reason.hints)?;
        d.set_item("context", b.reason.context)?;
        d.set_item("user_stack", b.user_stack)?;
        breaks.append(d)?;
    }
    out.set_item("break_reasons", breaks)?;
    out.set_item("out_guards", record.guards)?;
    out.set_item("compile_times", record.seconds)?;
    out.set_item("guard_failures", record.guard_failures)?;
    out.set_item("instruction_counts", record.counts)?;
    out.set_item("fake_tensor_ops", record.fake_ops)?;
    out.set_item("compilations", record.compilations)?;
    Ok(out)
}
