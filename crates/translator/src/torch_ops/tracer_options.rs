//! Contexts that set options of torch's tracer for a part of a function: `error_on_graph_break`, `patch_dynamo_config`.
//!
//! They mean nothing to the capture, so one that is entered and left in the same graph does nothing. But eager code may
//! leave what captured code has entered, and the other way round, where the graph breaks in between: so to enter one
//! is a call that waits until the graph has run, and to leave it takes that call back.

use pyo3::prelude::*;
use variables::Var;

use crate::stop::R;
use crate::tx::{Args, Flow, Tx};

impl<'py> Tx<'py> {
    /// Calls `method`, the `__enter__` or `__exit__` of such a context.
    ///
    /// # Errors
    /// As [`Tx::realize`].
    pub(super) fn tracer_options(
        &mut self,
        method: &Bound<'py, PyAny>,
        name: &str,
        args: &Args,
    ) -> R<Flow> {
        let Some(context) = args.pos.first() else {
            return Ok(Flow::Value(self.none()));
        };
        let context = self.realize(context)?;
        let mut pos = vec![context.clone()];
        if name == "__exit__" {
            if let Some(at) = self.waiting_enter(&context)? {
                self.st.effects.take_back(at);
                return Ok(Flow::Value(self.none()));
            }
            // It was entered by eager code.
            pos.extend([self.none(), self.none(), self.none()]);
        }
        let args = Args {
            pos,
            ..Args::default()
        };
        self.defer_silent(Var::py(method.clone().unbind()), args);
        Ok(Flow::Value(self.none()))
    }

    /// The place of the last call that waits to enter a context.
    fn waiting_enter(&mut self, context: &Var) -> R<Option<usize>> {
        let class = self.type_of(context)?;
        let Some(enter) = self.class_lookup(&class, "__enter__")? else {
            return Ok(None);
        };
        let calls = self.st.effects.calls.clone();
        for (at, call) in calls.iter().enumerate().rev() {
            let enters = matches!(&call.function, Var::Py(f) if f.obj.is(&enter));
            if enters && self.is_same(&call.pos[0], context)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}
