//! The record behind `ferrodyn.explain`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use translator::BreakReason;

/// One graph break.
pub struct Break {
    /// why
    pub reason: BreakReason,
    /// the user's frames, outermost first
    pub user_stack: Vec<String>,
}

/// What compilations of a thread did.
#[derive(Default)]
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
}

thread_local! {
    static RECORDS: RefCell<Vec<Record>> = const { RefCell::new(Vec::new()) };
}

/// Adds to the records that are being taken in this thread.
pub fn record(add: impl Fn(&mut Record)) {
    RECORDS.with(|r| r.borrow_mut().iter_mut().for_each(&add));
}

/// How many graph breaks each record has.
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
}

/// Whether a record is being taken.
pub fn active() -> bool {
    RECORDS.with(|r| !r.borrow().is_empty())
}

/// Starts a record.
#[pyfunction]
pub fn explain_begin() {
    RECORDS.with(|r| r.borrow_mut().push(Record::default()));
}

/// Ends the last record begun, and gives it.
#[pyfunction]
pub fn explain_end(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let record = RECORDS.with(|r| r.borrow_mut().pop()).unwrap_or_default();
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
    Ok(out)
}
