//! Generators: suspended frames that are run to their next `yield`.

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::{Intrinsic1, Label, Op};
use pyo3::prelude::*;
use variables::{Body, Obj, ObjId, Origin, Var};

use super::Yielded;
use crate::state::{Frame, GeneratorState, OnReturn};
use crate::step::Next;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};
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
        let Some(mut frame) = state.frame.clone() else {
            self.not_running(id)?;
            return Ok(Yielded::Return(self.none()));
        };
        if state.started {
            let sent = sent.unwrap_or_else(|| self.none());
            frame.stack.push_back(sent);
            frame.ip += 1;
        }
        self.run_suspended(id, frame, |_| Ok(()))
    }

    /// A generator that runs cannot be advanced: it is asked by its own body, or by what that calls.
    fn not_running(&mut self, id: ObjId) -> R<()> {
        let mut frames = std::iter::successors(Some(&self.st.frame), |f| f.parent.as_deref());
        match frames.any(|f| f.generator == Some(id)) {
            true => Err(self.raise("ValueError", "generator already executing")),
            false => Ok(()),
        }
    }

    /// Runs a suspended frame until it yields or returns; `begin` puts it where it goes on.
    fn run_suspended(
        &mut self,
        id: ObjId,
        mut frame: Frame,
        begin: impl FnOnce(&mut Self) -> R<()>,
    ) -> R<Yielded> {
        self.set_suspended(id, None);
        frame.depth = self.st.frame.depth + 1;
        frame.generator = Some(id);
        frame.on_return = OnReturn::Nested;
        frame.parent = Some(Rc::new(self.st.frame.clone()));
        self.st.frame = frame;
        self.yielded = None;
        begin(self)?;
        let result = self.run_nested()?;
        Ok(match self.yielded.take() {
            Some(v) => Yielded::Value(v),
            None => Yielded::Return(result),
        })
    }

    /// The `__name__` and `__qualname__` that a generator was given, where the code's may not be right.
    pub(crate) fn generator_names(&self, id: ObjId) -> Option<[Var; 2]> {
        match &self.obj(id).body {
            Body::Generator(state) => state.names.clone(),
            _ => None,
        }
    }

    /// What a started generator goes on with; `None`: it runs, or has ended.
    fn set_suspended(&mut self, id: ObjId, frame: Option<Frame>) {
        let Body::Generator(before) = self.obj(id).body.clone() else {
            return;
        };
        let state = GeneratorState {
            code: before.code.clone(),
            frame,
            started: true,
            names: before.names.clone(),
        };
        self.st.effects.get_mut(id).body = Body::Generator(Rc::new(state));
    }

    /// `generator.throw(exception)` (CPython's `gen_throw`): the exception is raised at the `yield`,
    /// in what the generator delegates to first.
    ///
    /// # Errors
    /// The exception, where nothing catches it; a break where the delegate is no generator.
    pub fn generator_throw(&mut self, generator: &Var, exception: Var) -> R<Yielded> {
        let Var::Obj(id) = generator else {
            return Err(Stop::unsupported("a generator from outside"));
        };
        let id = *id;
        let (frame, started) = self.generator_frame(id)?;
        self.not_running(id)?;
        self.set_suspended(id, None);
        let Some(mut frame) = frame.filter(|_| started) else {
            return Err(Stop::Raise(exception));
        };
        let mut thrown = exception;
        if let Some((inner, behind)) = delegate(&frame) {
            match self.throw_to_delegate(&inner, &thrown) {
                Ok(None) => {}
                Ok(Some(Yielded::Value(v))) => {
                    self.set_suspended(id, Some(frame));
                    return Ok(Yielded::Value(v));
                }
                Ok(Some(Yielded::Return(v))) => {
                    return self.run_suspended(id, frame, |tx| {
                        tx.send_returned(v, behind);
                        tx.st.frame.ip = behind.0 as usize;
                        Ok(())
                    });
                }
                Err(Stop::Raise(e)) => thrown = e,
                Err(stop) => return Err(stop),
            }
        }
        // The handlers' depths count what a `send` would have pushed.
        let none = self.none();
        frame.stack.push_back(none);
        self.run_suspended(id, frame, |tx| tx.unwind(thrown))
    }

    /// Throws into what a generator delegates to; `None` where that takes no exceptions.
    fn throw_to_delegate(&mut self, inner: &Var, exception: &Var) -> R<Option<Yielded>> {
        let exits = self.is_raise_of_name(exception, "GeneratorExit");
        if self.is_generator(inner) {
            return match exits {
                true => self.generator_close(inner).map(|_| None),
                false => self.generator_throw(inner, exception.clone()).map(Some),
            };
        }
        let name: Arc<str> = if exits { "close" } else { "throw" }.into();
        if !self.hasattr(inner, &name)? {
            return Ok(None);
        }
        let method = self.getattr_sync(inner, &name)?;
        if exits {
            self.call_sync(&method, Args::default())?;
            return Ok(None);
        }
        match self.call_sync(&method, Args::pos(vec![exception.clone()])) {
            Ok(v) => Ok(Some(Yielded::Value(v))),
            Err(Stop::Raise(e)) if self.is_raise_of_name(&e, "StopIteration") => {
                let value = self.getattr_sync(&e, &"value".into())?;
                Ok(Some(Yielded::Return(value)))
            }
            Err(stop) => Err(stop),
        }
    }

    /// `generator.close()` (CPython's `gen_close`): from 3.13 on what the generator returns.
    ///
    /// # Errors
    /// What its handlers raise; `RuntimeError` where it yields instead of ending.
    pub fn generator_close(&mut self, generator: &Var) -> R<Var> {
        let class = self.known.builtins.bind(self.py).getattr("GeneratorExit")?;
        let Stop::Raise(exit) = self.raise_class(class.unbind(), Vec::new()) else {
            return Err(Stop::Internal("GeneratorExit".into()));
        };
        match self.generator_throw(generator, exit) {
            Ok(Yielded::Return(v)) => match self.version().close_gives_result() {
                true => Ok(v),
                false => Ok(self.none()),
            },
            Ok(Yielded::Value(_)) => {
                Err(self.raise("RuntimeError", "generator ignored GeneratorExit"))
            }
            Err(Stop::Raise(e))
                if self.is_raise_of_name(&e, "GeneratorExit")
                    || self.is_raise_of_name(&e, "StopIteration") =>
            {
                Ok(self.none())
            }
            Err(stop) => Err(stop),
        }
    }

    fn is_raise_of_name(&mut self, e: &Var, name: &str) -> bool {
        self.is_raise_of(&Stop::Raise(e.clone()), name)
    }

    fn generator_frame(&self, id: ObjId) -> R<(Option<Frame>, bool)> {
        let Body::Generator(state) = &self.obj(id).body else {
            return Err(Stop::unsupported("a generator from outside"));
        };
        Ok((state.frame.clone(), state.started))
    }

    /// Suspends a frame that has run up to its `RETURN_GENERATOR`, and returns the generator.
    pub(crate) fn return_generator(&mut self) -> R<Next> {
        let mut frame = self.st.frame.clone();
        frame.parent = None;
        frame.on_return = OnReturn::Nested;
        frame.ip += 1;
        frame.stack.push_back(self.none());
        let body = Body::Generator(Rc::new(GeneratorState {
            code: frame.code.clone(),
            frame: Some(frame),
            started: false,
            names: None,
        }));
        let class = self.known.generator.clone();
        let id = self.new_object(class, body);
        self.do_return(Var::Obj(id))
    }

    /// Suspends the running generator frame at its `yield`.
    pub(crate) fn generator_yield(&mut self, value: Var) -> R<()> {
        let frame = self.st.frame.clone();
        let (Some(id), Some(parent)) = (frame.generator, frame.parent.clone()) else {
            return Err(Stop::Internal("yield outside a generator".into()));
        };
        let suspended = Frame {
            parent: None,
            ..frame
        };
        self.set_suspended(id, Some(suspended));
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

    /// Whether any generator was made.
    pub fn has_generators(&self) -> bool {
        (0..self.st.effects.len())
            .any(|i| matches!(self.obj(ObjId(i as u32)).body, Body::Generator(_)))
    }

    /// Whether a generator that is not `kept` is left suspended where its `finally` or `except` would
    /// still have an effect: in plain Python that happens when the generator is dropped.
    pub fn leaves_generator_in_try(&mut self, kept: impl Fn(ObjId) -> bool) -> bool {
        let suspended: Vec<ObjId> = (0..self.st.effects.len())
            .map(|i| ObjId(i as u32))
            .filter(|id| match self.generator_frame(*id) {
                Ok((Some(f), true)) => in_try(&f.code.body, f.ip),
                _ => false,
            })
            .collect();
        suspended
            .into_iter()
            .filter(|id| !kept(*id))
            .any(|id| self.dropping_has_effect(id))
    }

    /// Whether closing a generator does anything but end it: it is tried, and taken back.
    fn dropping_has_effect(&mut self, id: ObjId) -> bool {
        let before = self.snapshot();
        let objects = self.st.effects.len();
        let effects = self.st.effects.clone();
        self.st.effects.watch();
        let nodes = self.log.graph.iter().count();
        let checkpoints = (self.ways.here.take(), self.ways.outer.take());
        self.nested += 1;
        let closed = self.generator_close(&Var::Obj(id)).is_ok();
        self.nested -= 1;
        (self.ways.here, self.ways.outer) = checkpoints;
        let quiet = closed
            && self.log.graph.iter().count() == nodes
            && self.st.grad_enabled == before.grad_enabled()
            && !self.st.effects.changed(objects)
            && !self.st.effects.any_since(&effects);
        self.restore(&before);
        !quiet
    }
}

/// What a suspended generator's `yield from` is at, and where it goes on when that has returned.
fn delegate(frame: &Frame) -> Option<(Var, Label)> {
    let before = frame.ip.checked_sub(1)?;
    match frame.code.body.instrs.get(before)?.op {
        Op::Send { to } => {
            let slots = frame.code.fields.version.iterator_slots() as usize;
            let at = frame.stack.len().checked_sub(slots)?;
            Some((frame.stack.get(at)?.clone(), to))
        }
        _ => None,
    }
}

/// Whether an instruction is in a block whose handler does more than put locals back, turn a stray
/// `StopIteration` into an error, and re-raise.
fn in_try(body: &bytecode::Body, ip: usize) -> bool {
    let passes = |op: &Op| matches!(op, Op::CallIntrinsic1(Intrinsic1::StopIterationError));
    crate::code::handler_of(body, ip, passes).is_some()
}
