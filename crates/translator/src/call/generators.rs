//! Generators: suspended frames that are run to their next `yield`.

use super::{GeneratorState, Yielded};
use crate::state::{Frame, OnReturn};
use crate::stop::{R, Stop};
use crate::tx::Tx;
use std::rc::Rc;
use variables::{Body, Obj, Origin, Var};
impl<'py> Tx<'py> {
    /// Runs a generator to its next `yield`; `None` when it returned.
    ///
    /// # Errors
    /// What its body raises; a break inside breaks the instruction that advances it.
    pub fn generator_next(&mut self, generator: &Var, sent: Option<Var>) -> R<Option<Var>> {
        match self.generator_resume(generator, sent)? {
            Yielded::Value(v) => Ok(Some(v)),
            Yielded::Return(_) => Ok(None),
        }
    }

    /// As [`Tx::generator_next`], with the return value.
    ///
    /// # Errors
    /// As [`Tx::generator_next`].
    pub fn generator_resume(&mut self, generator: &Var, sent: Option<Var>) -> R<Yielded> {
        let Var::Obj(id) = generator else {
            return Err(Stop::unsupported("a generator from outside"));
        };
        let id = *id;
        let Body::Generator(state) = self.obj(id).body.clone() else {
            return Err(Stop::unsupported("a generator from outside"));
        };
        let state = state
            .downcast::<GeneratorState>()
            .map_err(|_| Stop::Internal("generator state".into()))?;
        let Some(mut frame) = state.frame.clone() else {
            return Ok(Yielded::Return(self.none()));
        };
        if state.started {
            let sent = sent.unwrap_or_else(|| self.none());
            frame.stack.push_back(sent);
            frame.ip += 1;
        }
        let running = Body::Generator(Rc::new(GeneratorState {
            frame: None,
            started: true,
        }));
        self.st.effects.get_mut(id).body = running;
        frame.depth = self.st.frame.depth + 1;
        frame.generator = Some(id);
        frame.on_return = OnReturn::Nested;
        frame.parent = Some(Rc::new(self.st.frame.clone()));
        self.st.frame = frame;
        self.yielded = None;
        let result = self.run_nested()?;
        match self.yielded.take() {
            Some(v) => Ok(Yielded::Value(v)),
            None => Ok(Yielded::Return(result)),
        }
    }

    /// Suspends the running generator frame at its `yield`.
    pub(crate) fn generator_yield(&mut self, value: Var) -> R<()> {
        let frame = self.st.frame.clone();
        let (Some(id), Some(parent)) = (frame.generator, frame.parent.clone()) else {
            return Err(Stop::Internal("yield outside a generator".into()));
        };
        let body = Body::Generator(Rc::new(GeneratorState {
            frame: Some(Frame {
                parent: None,
                ..frame
            }),
            started: true,
        }));
        self.st.effects.get_mut(id).body = body;
        self.st.frame = (*parent).clone();
        self.yielded = Some(value);
        Ok(())
    }

    /// Whether a value is a tracked generator, or an existing object otherwise.
    pub fn is_generator(&self, var: &Var) -> bool {
        matches!(var, Var::Obj(id) if matches!(self.obj(*id).body, Body::Generator(_)))
    }

    /// The real object of an existing tracked object.
    pub fn real(&self, var: &Var) -> Option<Obj> {
        match var {
            Var::Obj(id) => match &self.obj(*id).origin {
                Origin::Source { obj, .. } => Some(obj.clone()),
                _ => None,
            },
            Var::Tensor(t) => t.input.as_ref().map(|i| i.obj.clone()),
            Var::Py(p) => Some(p.obj.clone()),
            Var::Const(o) => Some(o.clone()),
            _ => None,
        }
    }

    /// Whether a generator is left suspended where its `finally` or `except` would still have work:
    /// in plain Python that runs when the generator is dropped.
    pub fn leaves_generator_in_try(&self) -> bool {
        (0..self.st.effects.len()).any(|i| {
            let Body::Generator(state) = &self.obj(variables::ObjId(i as u32)).body else {
                return false;
            };
            let Some(state) = state.downcast_ref::<GeneratorState>() else {
                return false;
            };
            let frame = state.frame.as_ref().filter(|_| state.started);
            frame.is_some_and(|f| in_try(&f.code.body, f.ip))
        })
    }
}

/// Whether an instruction is in a block whose handler does more than put locals back, turn a stray
/// `StopIteration` into an error, and re-raise.
fn in_try(body: &bytecode::Body, ip: usize) -> bool {
    use bytecode::op::{Intrinsic1, Op};
    crate::code::is_handled(body, ip, |op| {
        matches!(op, Op::CallIntrinsic1(Intrinsic1::StopIterationError))
    })
}
