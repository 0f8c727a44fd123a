//! Counts the calls of every Python function that a program makes, without a trace function.
//!
//! `cargo run -p ferrodyn-eval-frame --example call_counter -- program.py` runs the program's `main()`.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::{Mutex, PoisonError};

use eval_frame::compiler::{self, FrameCompiler, Outcome, Registered};
use eval_frame::context::{CompileContext, Context};
use eval_frame::entry;
use eval_frame::frame::FrameRef;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};

/// Calls by the name of the function.
pub type Calls = BTreeMap<String, usize>;

static CALLS: Mutex<Calls> = Mutex::new(Calls::new());

/// Looks at each frame, and lets it run.
struct Counter;

impl FrameCompiler for Counter {
    fn on_frame(&self, py: Python<'_>, frame: &FrameRef<'_>, _: &CompileContext) -> Outcome {
        match frame.code(py).getattr("co_qualname") {
            Ok(name) => {
                let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
                *calls.entry(name.to_string()).or_default() += 1;
                Outcome::Run
            }
            Err(error) => Outcome::Raise(error),
        }
    }
}

/// Runs `main()` of a program, and counts.
///
/// # Errors
/// What the program raises.
pub fn count(py: Python<'_>, program: &CStr) -> PyResult<Calls> {
    let module = PyModule::new(py, "call_counter")?;
    eval_frame::initialise(&module, &[])
        .map_err(|error| pyo3::exceptions::PyImportError::new_err(error.to_string()))?;
    compiler::set_compiler(Some(Registered::leak(Counter)));
    let scope = PyDict::new(py);
    py.run(program, Some(&scope), None)?;
    let main = scope.as_any().get_item("main")?;
    // Every frame below the entry is shown to the counter.
    entry::make_compiled(&main, &Context::without_choices(py)?)?.call0()?;
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut *calls))
}

#[allow(dead_code, reason = "the test of this example has no main function")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("which program?")?;
    let program = CString::new(std::fs::read(file)?)?;
    let calls = Python::attach(|py| count(py, &program))?;
    for (name, count) in calls {
        println!("{count:>8}  {name}");
    }
    Ok(())
}
