//! Calls that waited for the graph, as bytecode.
//!
//! A callee that looks at the frames above it (`logging` for the caller's file and line, `warnings`
//! for its registry as well) finds what it would have found: for each inlined frame a function of the
//! same name, file, line and globals, each of which does nothing but call the next.

use std::sync::Arc;

use bytecode::Location;
use bytecode::op::Op;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use translator::stop::{R, Stop};
use variables::{CallFrame, DeferredCall, Obj};

use crate::asm::Val;
use crate::effects::Step;
use crate::emitter::Emitter;

/// A prepared call.
pub struct Call {
    function: Val,
    pos: Vec<Val>,
    kw: Vec<(Arc<str>, Val)>,
    frames: Vec<CallFrame>,
}

/// What stands in for a frame: calls the next, the innermost one calls the function itself. Each is
/// on one line, that of the definition.
const FRAMES: &std::ffi::CStr = c"
def outer(chain, i, function, pos, kw): return chain[i](chain, i + 1, function, pos, kw)
def inner(chain, i, function, pos, kw): return function(*pos, **kw)
";

variables::own_module! {
    static TEMPLATES = (FRAMES, c"<ferrodyn frames>", c"ferrodyn_frames");
}

impl Emitter<'_, '_> {
    /// Makes what waiting calls need available.
    ///
    /// # Errors
    /// A break where an argument cannot be rebuilt, or where the program changed where output goes.
    pub(crate) fn deferred_calls(&mut self, steps: &mut Vec<Step>) -> R<()> {
        let calls = self.tx.state().effects.calls.clone();
        let shown = calls.iter().any(|call| !call.silent);
        if shown && self.tx.changes_output() {
            return Err(Stop::unsupported(
                "output whose destination is changed later in the compiled function",
            ));
        }
        for call in calls.iter() {
            let DeferredCall {
                function,
                pos,
                kw,
                frames,
                ..
            } = &**call;
            let function = self.prepare(function)?;
            let pos = pos.iter().map(|v| self.prepare(v)).collect::<R<Vec<_>>>()?;
            let kw = kw
                .iter()
                .map(|(n, v)| Ok((n.clone(), self.prepare(v)?)))
                .collect::<R<Vec<_>>>()?;
            steps.push(Step::Deferred(Call {
                function,
                pos,
                kw,
                frames: frames.clone(),
            }));
        }
        Ok(())
    }

    /// Makes a call and drops its result.
    pub(crate) fn deferred_call(&mut self, call: &Call) -> R<()> {
        let py = self.tx.py;
        let load = |g: &mut Self, v: &Val| {
            g.asm.load(v);
            Ok(())
        };
        let loc = self.asm.body.loc();
        if let Some(root) = call.frames.first() {
            self.asm.body.set_loc(Location::line(root.line));
        }
        match call.frames.get(1..) {
            Some(inlined) if !inlined.is_empty() => {
                let chain = self.frame_functions(inlined)?;
                let first = chain.bind(py).get_item(0)?.unbind();
                self.asm.callee(&first);
                self.asm.load_const(&chain);
                let one = 1i64
                    .into_pyobject(py)
                    .map_err(|e| Stop::Internal(e.to_string()))?;
                self.asm.load_const(&one.into_any().unbind());
                self.asm.load(&call.function);
                self.arguments(&call.pos, &call.kw, load)?;
                self.asm.call(5);
            }
            _ => {
                self.asm.load(&call.function);
                self.asm.body.make_callable();
                self.call_passing(&call.pos, &call.kw, load)?;
            }
        }
        self.asm.op(Op::PopTop);
        self.asm.body.set_loc(loc);
        Ok(())
    }

    /// Functions that stand in for frames, in a tuple.
    fn frame_functions(&mut self, frames: &[CallFrame]) -> R<Obj> {
        let py = self.tx.py;
        let templates = TEMPLATES.get(py)?;
        let mut functions = Vec::with_capacity(frames.len());
        for (i, frame) in frames.iter().enumerate() {
            let kind = if i + 1 == frames.len() {
                "inner"
            } else {
                "outer"
            };
            let kw = PyDict::new(py);
            for (name, of) in [
                ("co_filename", "co_filename"),
                ("co_name", "co_name"),
                ("co_qualname", "co_qualname"),
            ] {
                kw.set_item(name, frame.code.bind(py).getattr(of)?)?;
            }
            kw.set_item("co_firstlineno", frame.line)?;
            let code = templates
                .getattr(kind)?
                .getattr("__code__")?
                .call_method("replace", (), Some(&kw))?
                .unbind();
            let function = self
                .tx
                .known()
                .function
                .call1(py, (&code, &frame.globals))?;
            self.names.push((function.clone(), "frame".into()));
            self.left_alone.push(code);
            functions.push(function);
        }
        let chain = PyTuple::new(py, functions)?.into_any().unbind();
        self.names.push((chain.clone(), "frames".into()));
        Ok(chain)
    }
}
