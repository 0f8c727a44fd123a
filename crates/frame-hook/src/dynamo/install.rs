//! From a finished translation to an entry: the guards as a program, the residual code in the cache, the logs of both.
//!
//! Does not live here: whether an entry is made at all (`compilation`), when the guards are planned (`plans`).

use std::time::Instant;

use cache::GuardedCode;
use guards::NameStyle;
use guards::exec::CheckProgram;
use guards::tree::TreeLine;
use pyo3::prelude::*;
use pyo3::types::PyCode;
use residual::{self, Residual};
use translator::Tx;
use translator::code::CodeInfo;

use super::compilation::{Compilation, Compiled};
use super::explain::GuardLine;
use super::plans::{self, EarlyPlan};
use super::slot::CodeSlot;
use super::translate::stop_text;
use super::{env, explain, log};
use eval_frame::code_state;

impl Compilation<'_, '_> {
    /// Turns the guards of the translation into a program; they are planned already where `early` has all of them.
    pub fn link(&self, tx: &mut Tx<'_>, early: Option<EarlyPlan>) -> Result<CheckProgram, String> {
        let py = self.py;
        let computes = tx.compute_in_guards().map_err(|stop| stop_text(&stop))?;
        let early = early.filter(|_| !computes);
        let plan = match early.and_then(|early| early.of_all(&tx.log.guards, &tx.facts.sources)) {
            Some(plan) => plan,
            None => plans::of_all(py, tx).map_err(|e| e.to_string())?,
        };
        let pins = std::mem::take(&mut tx.facts.pins);
        CheckProgram::link(py, plan.set, plan.program, pins).map_err(|e| e.to_string())
    }

    pub fn install(&self, program: CheckProgram, residual: &Residual) -> PyResult<Compiled> {
        let py = self.py;
        let user_code = self.frame.code(py);
        let user = code_state::of(&user_code)?.slot(CodeSlot::default);
        for resume in &residual.resumes {
            let code = resume.code.bind(py).cast::<PyCode>().map_err(PyErr::from)?;
            let state = code_state::of(code)?;
            let slot = state.slot(CodeSlot::default);
            slot.is_made_of(user);
            if resume.plain {
                state.skip_always();
            } else {
                slot.resumes.set(true);
                state.set_resumes();
            }
        }
        let code = residual
            .code
            .bind(py)
            .cast::<PyCode>()
            .map_err(PyErr::from)?;
        let id = self.id.to_string();
        let state = code_state::of(code)?;
        state.skip_always();
        state.slot(CodeSlot::default).is_made_of(user);
        state.set_region(&id);
        log::debug(py, "bytecode", &id, || self.bytecode_text(residual));
        let entry = GuardedCode::new(self.id, program, residual.code.clone())
            .with_needs_hook(residual.calls_out);
        let tree = || entry.guards().tree_text(self.latency(&entry));
        log::debug(py, "guards", &id, || {
            let code = entry.guards().guard_code(NameStyle::Plain);
            format!("{}\nGUARD CODE: {code}\n", tree())
        });
        if explain::active() {
            let text = tree();
            explain::record(|r| r.guards.push(text.clone()));
            let lines = self.guard_lines(&entry);
            let check = self.latency(&entry);
            let bytecode = self.bytecode_text(residual);
            let python = self.python_text(residual);
            explain::of_last(|c| {
                c.guards.clone_from(&text);
                c.guard_lines.clone_from(&lines);
                c.check = check;
                c.bytecode.clone_from(&bytecode);
                c.python.clone_from(&python);
            });
        }
        Ok(Compiled::Code(self.entries.insert(py, entry)))
    }

    /// Listings of the code before and after, and of the resume functions.
    fn bytecode_text(&self, residual: &Residual) -> String {
        let py = self.py;
        let text = |code: &Bound<'_, PyAny>| match CodeInfo::new(code) {
            Ok(info) => residual::listing(py, &info, &residual.names),
            Err(stop) => stop_text(&stop.into()),
        };
        let name = self.entries.name();
        let mut out = format!(
            "ORIGINAL BYTECODE {name}\n{}\n",
            text(self.frame.code(py).as_any())
        );
        out.push_str(&format!(
            "MODIFIED BYTECODE {name}\n{}\n",
            text(residual.code.bind(py))
        ));
        for r in &residual.resumes {
            out.push_str(&format!(
                "RESUME FUNCTION {}\n{}\n",
                r.name,
                text(r.code.bind(py))
            ));
        }
        out
    }

    /// The code after, as Python.
    fn python_text(&self, residual: &Residual) -> String {
        let name = &self.entries.name().function;
        match CodeInfo::new(residual.code.bind(self.py)) {
            Ok(info) => residual::python(self.py, name, &info, &residual.names),
            Err(stop) => stop_text(&stop.into()),
        }
    }

    fn guard_lines(&self, entry: &GuardedCode) -> Vec<GuardLine> {
        let check = env::of_frame(self.py, self.frame);
        // SAFETY: the frame is alive and keeps what the environment names.
        let costs = unsafe { entry.program.costs(&check) };
        let set = entry.guards();
        let line = |line: TreeLine| {
            let guard = line.guard.map(|index| set.guard(index));
            let why = guard.and_then(|guard| guard.user_frame.as_deref());
            let nanoseconds = match (line.guard, line.source) {
                (Some(index), _) => costs.guards.get(&index),
                (None, Some(source)) => costs.sources.get(&source),
                (None, None) => None,
            };
            GuardLine {
                depth: line.depth,
                kind: guard.map_or_else(String::new, |guard| guard.kind.name().to_string()),
                says: line.text,
                why: why.map_or_else(String::new, |frame| frame.text().to_owned()),
                place: why.map_or_else(String::new, |frame| {
                    format!("{}:{} in {}", frame.file, frame.line, frame.function)
                }),
                code: line
                    .guard
                    .map_or_else(String::new, |index| set.code_of(index)),
                nanoseconds: nanoseconds.copied(),
            }
        };
        set.tree_lines().into_iter().map(line).collect()
    }

    /// Microseconds of one check, the best of a few.
    fn latency(&self, entry: &GuardedCode) -> Option<f64> {
        let check = env::of_frame(self.py, self.frame);
        (0..5)
            .map(|_| {
                let t = Instant::now();
                // SAFETY: the frame is alive and keeps what the environment names.
                std::hint::black_box(unsafe { entry.program.check(&check) });
                t.elapsed().as_secs_f64() * 1e6
            })
            .reduce(f64::min)
    }
}
