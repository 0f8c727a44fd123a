//! `torch.compiler.set_stance`: what becomes of calls for which there is no compiled code.

use pyo3::prelude::*;

/// What the program asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stance {
    /// Compile.
    Compile,
    /// Plain Python.
    Plain,
    /// An error.
    Fail,
}

/// The stance now. Only torch's tracer keeps one, so it is `Compile` where that was not imported.
pub fn read(py: Python<'_>) -> Stance {
    let asked = || -> PyResult<String> {
        let modules = py.import("sys")?.getattr("modules")?;
        let tracer = modules.get_item("torch._dynamo.eval_frame")?;
        tracer.getattr("_stance")?.getattr("stance")?.extract()
    };
    match asked().as_deref() {
        Ok("force_eager" | "eager_on_recompile") => Stance::Plain,
        Ok("fail_on_recompile") => Stance::Fail,
        _ => Stance::Compile,
    }
}
