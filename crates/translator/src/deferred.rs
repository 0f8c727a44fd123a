//! Calls that only the outside sees: they are made by the residual code, after the graph.
//!
//! Lives here: when a call can wait. Which calls are of this kind is said in `builtins/outside.rs`;
//! the code that makes them is in the crate `residual`.
//!
//! Invariants: nothing that a waiting call looks at changes before it is made (its arguments cannot,
//! or what would change them breaks the graph); waiting calls keep the order of the program.

use pyo3::prelude::*;
use pyo3::types::PyType;
use variables::{CallFrame, DeferredCall, Origin, Var};

use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};
use crate::values::Changing;

/// Modules whose variables decide where output goes.
const OBSERVING: [&str; 6] = ["sys", "builtins", "logging", "warnings", "io", "os"];

impl<'py> Tx<'py> {
    /// Makes the call later. `frames`: the callee looks at the frames that called it.
    ///
    /// # Errors
    /// A break where an argument may change until then, or where the program has changed what such
    /// calls look at.
    pub fn defer(&mut self, function: Var, args: Args, frames: bool) -> R<Flow> {
        if self.changes_output() {
            return Err(redirected());
        }
        let pos = args
            .pos
            .iter()
            .map(|v| self.lasting(v))
            .collect::<R<Vec<_>>>()?;
        let kw = args
            .kw
            .iter()
            .map(|(n, v)| Ok((n.clone(), self.lasting(v)?)))
            .collect::<R<Vec<_>>>()?;
        let shown = pos.iter().chain(kw.iter().map(|k| &k.1));
        if shown.into_iter().any(|v| self.holds_tensor(v)) {
            if self.has_modes() || self.st.met_subclass {
                return Err(Stop::unsupported(
                    "showing a tensor within a function mode, or where there are tensor subclasses",
                ));
            }
            self.st.effects.shows_tensors = true;
        }
        let frames = self.call_frames(frames);
        self.st.effects.defer(DeferredCall {
            function,
            pos,
            kw,
            frames,
            silent: false,
        });
        Ok(Flow::Value(self.none()))
    }

    /// Makes a call later of which nothing is seen but what the callee counts and keeps.
    pub fn defer_silent(&mut self, function: Var, args: Args) {
        let frames = self.call_frames(false);
        self.st.effects.defer(DeferredCall {
            function,
            pos: args.pos,
            kw: args.kw,
            frames,
            silent: true,
        });
    }

    /// The frames above a call, the root first; the root alone where the others do not matter.
    pub fn call_frames(&self, all: bool) -> Vec<CallFrame> {
        let mut out = Vec::new();
        let mut frame = Some(&self.st.frame);
        while let Some(f) = frame {
            if all || f.depth == 0 {
                out.push(CallFrame {
                    code: f.code.obj.clone(),
                    globals: f.globals.dict.clone(),
                    line: f.code.line(f.ip),
                });
            }
            frame = f.parent.as_deref();
        }
        out.reverse();
        out
    }

    /// A value that is the same when the residual code makes the call. A tensor is: whatever writes
    /// to one breaks the graph while the call waits.
    ///
    /// # Errors
    /// A break for values that can change.
    fn lasting(&mut self, v: &Var) -> R<Var> {
        if matches!(v, Var::Text(t) if self.is_current(t)) {
            return Ok(v.clone());
        }
        if let Some(v) = self.as_changing(v, Changing::Any) {
            return Ok(v);
        }
        let v = self.realize(v)?;
        let py = self.py;
        let fine = match &v {
            Var::Const(_) | Var::Tensor(_) => true,
            Var::Tuple(t) => {
                for item in &t.items.clone() {
                    self.lasting(item)?;
                }
                true
            }
            Var::Py(p) => {
                let b = p.obj.bind(py);
                let ty = b.get_type();
                b.is_instance_of::<PyType>()
                    || [
                        &self.known.function,
                        &self.known.builtin_function,
                        &self.known.module_type,
                    ]
                    .iter()
                    .any(|k| ty.is(k.bind(py)))
            }
            // Files and loggers: what they are for is to be written to.
            Var::Obj(id) => {
                let state = self.obj(*id);
                let outlet = matches!(state.origin, Origin::Source { .. }) && !state.is_dirty();
                let class = state.class.clone();
                outlet && self.is_outlet(&class)?
            }
            _ => false,
        };
        if fine {
            return Ok(v);
        }
        Err(Stop::brk(
            format!("Output of {}", self.describe(&v)),
            "The object may change before the graph has run, and its text with it, so the call runs in eager mode between two graphs.",
            "Output constants and tensors, or move the call before or after the computation.",
        ))
    }

    fn holds_tensor(&self, v: &Var) -> bool {
        match v {
            Var::Tensor(_) => true,
            Var::Text(t) => t.shows_tensor(),
            Var::Tuple(t) => t.items.iter().any(|i| match i {
                Var::Lazy(l) => {
                    let class = l.obj.bind(self.py).get_type();
                    !self.known.is_const_type(class.as_any())
                }
                other => self.holds_tensor(other),
            }),
            _ => false,
        }
    }

    /// Whether instances of a class are files or belong to `logging`.
    pub fn is_outlet(&self, class: &variables::Obj) -> R<bool> {
        let py = self.py;
        let class = class.bind(py).cast::<PyType>().map_err(PyErr::from)?;
        // A subclass of an adapter may keep something of its own.
        if class.is(&py.import("logging")?.getattr("LoggerAdapter")?) {
            return Ok(true);
        }
        for (module, name) in [("io", "IOBase"), ("logging", "Filterer")] {
            if class.is_subclass(&py.import(module)?.getattr(name)?)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the program has changed what decides where output goes: `sys.stdout`, a logger.
    pub fn changes_output(&self) -> bool {
        let py = self.py;
        let effects = &self.st.effects;
        let global = effects
            .global_writes
            .iter()
            .any(|w| is_observing(w.dict.bind(py)));
        global
            || effects
                .dirty
                .iter()
                .any(|id| self.is_outlet(&self.obj(*id).class).unwrap_or(true))
    }
}

/// Whether a module's globals decide where output goes.
pub(crate) fn is_observing(globals: &Bound<'_, PyAny>) -> bool {
    globals
        .get_item("__name__")
        .and_then(|n| n.extract::<String>())
        .is_ok_and(|n| OBSERVING.contains(&n.as_str()))
}

/// The break where the program itself says where output goes.
pub(crate) fn redirected() -> Stop {
    Stop::brk(
        "Output redirected in the compiled function",
        "The program changes where output goes, so what is put out before cannot wait until the graph has run.",
        "Redirect the output outside of the compiled function.",
    )
}
