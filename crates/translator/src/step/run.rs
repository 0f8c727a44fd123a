//! The loop: checkpoints, nested runs, unwinding, and why it stopped.

use bytecode::op::Op;
use pyo3::prelude::*;
use variables::Var;

use super::{End, Next, may_break};
use crate::numpy_errors::StrictErrors;
use crate::state::OnReturn;
use crate::state::Snapshot;
use crate::stop::{BreakReason, R, Stop};
use crate::tx::{Flow, Tx};

impl<'py> Tx<'py> {
    /// Interprets from the present state until the root frame returns or the graph breaks.
    pub fn run(&mut self) -> End {
        self.doubt.take();
        let _strict = StrictErrors::enter(self.py, &self.known);
        loop {
            if self.nested == 0 && self.may_break() {
                let snapshot = self.snapshot();
                if self.st.frame.depth == 0 {
                    let loads = |op: &Op| {
                        matches!(
                            op,
                            Op::LoadGlobal(_) | Op::LoadAttr(_) | Op::LoadMethod { .. }
                        )
                    };
                    if self.st.leads_to_handler && loads(self.current_op()) {
                        self.ways.load = Some(snapshot.clone());
                    }
                    self.ways.outer = Some(snapshot.clone());
                }
                self.ways.here = Some(snapshot);
            }
            match self.step() {
                Ok(None) => {}
                Ok(Some(v)) => return End::Return(v),
                Err(stop) => {
                    let before_step = self.before_step.take();
                    let raised = match &stop {
                        Stop::Raise(e) if before_step.is_none() => Some(e.clone()),
                        _ => None,
                    };
                    let caught = raised.as_ref().is_some_and(|e| self.was_caught(e));
                    let reason = self.reason_of(stop);
                    self.raises = reason.raises && before_step.is_none();
                    let may_leave_sooner = before_step.is_none();
                    if let Some(ways) = before_step {
                        self.ways = *ways;
                    }
                    if let Some(here) = self.ways.here.clone() {
                        self.go_back(&here);
                        let to = reason.sooner.filter(|_| may_leave_sooner);
                        let sooner = to.and_then(|to| {
                            let only_reads = self.only_reads();
                            self.ways.take_sooner(to, only_reads)
                        });
                        if let Some(sooner) = sooner {
                            self.go_back(&sooner);
                            self.ways.here = Some(sooner);
                        }
                    }
                    return match raised {
                        Some(_) => End::Raises { reason, caught },
                        None => End::Break(reason),
                    };
                }
            }
        }
    }

    /// Goes back from where the translation stopped. Where the program raises, the code is for the
    /// values that make it raise: a later call with others is not to end its graph here.
    pub(crate) fn go_back(&mut self, snapshot: &Snapshot) {
        match self.raises {
            true => self.restore_but_guards(snapshot),
            false => self.restore(snapshot),
        }
    }

    /// What stopped the translation, as the reason of a graph break.
    pub fn reason_of(&mut self, stop: Stop) -> Box<BreakReason> {
        match stop {
            Stop::Break(b) | Stop::Retreat(_, b) => b,
            Stop::Internal(message) => Box::new(BreakReason {
                reason: "Internal error".into(),
                explanation: format!(
                    "Ferrodyn failed while translating this instruction: {message}"
                ),
                hints: vec![
                    "This is a defect of Ferrodyn; the instruction runs in eager mode.".into(),
                ],
                context: message,
                ..BreakReason::default()
            }),
            Stop::Raise(e) => {
                let what = self.describe_exception(&e);
                Box::new(BreakReason {
                    reason: "Observed exception".into(),
                    explanation: format!(
                        "The program raises {what} here and does not catch it in the compiled function."
                    ),
                    hints: vec![
                        "The exception is raised in eager mode, with its own traceback.".into(),
                    ],
                    context: what,
                    raises: true,
                    ..BreakReason::default()
                })
            }
        }
    }

    /// A break for what stops inside of `what`, which is captured whole or not at all. `not_captured`
    /// says so.
    pub fn stop_inside(&mut self, stop: Stop, what: &str, not_captured: &str) -> Stop {
        let inner = *self.reason_of(stop);
        Stop::Break(Box::new(BreakReason {
            reason: format!("{what}: {}", inner.reason),
            explanation: format!("{not_captured} {}", inner.explanation),
            ..inner
        }))
    }

    pub(crate) fn describe_exception(&mut self, e: &Var) -> String {
        let Var::Obj(id) = e else {
            return self.describe(e);
        };
        let class = self.class_name(&self.obj(*id).class.clone());
        match self.obj(*id).attrs.get("args").cloned().flatten() {
            Some(args) => match self.as_const(&args) {
                Ok(Some(a)) => format!(
                    "{class}{}",
                    a.bind(self.py)
                        .repr()
                        .map_or_else(|_| String::new(), |r| r.to_string())
                ),
                _ => class,
            },
            None => class,
        }
    }

    /// Runs a just pushed frame (and what it pushes) until it leaves.
    pub(crate) fn run_nested(&mut self) -> R<Var> {
        let base = self.st.frame.depth - 1;
        if !matches!(self.st.frame.on_return, OnReturn::Nested) {
            // The result goes to Rust instead of the caller's stack; an instance under
            // construction is handed over by `PushInstance`'s rule.
            if let OnReturn::PushInstance(v) = self.st.frame.on_return.clone() {
                self.st.frame.on_return = OnReturn::Nested;
                self.run_nested_loop(base)?;
                return Ok(v);
            }
            self.st.frame.on_return = OnReturn::Nested;
        }
        self.run_nested_loop(base)
    }

    pub(crate) fn run_nested_loop(&mut self, base: u32) -> R<Var> {
        if self.is_stack_used_up() {
            return Err(Stop::brk(
                "Recursion too deep to inline",
                "Calls that builtin functions make in turn are nested too deep.",
                "Mark the recursive function with `ferrodyn.disable`.",
            ));
        }
        self.nested += 1;
        let result = loop {
            match self.step() {
                Ok(None) => {
                    if self.st.frame.depth == base {
                        break Ok(self.nested_result.take().unwrap_or(Var::Null));
                    }
                }
                Ok(Some(_)) => {
                    break Err(Stop::Internal(
                        "the root frame returned in a nested run".into(),
                    ));
                }
                Err(Stop::Raise(e)) if self.st.frame.depth <= base => break Err(Stop::Raise(e)),
                Err(e) => break Err(e),
            }
        };
        self.nested -= 1;
        result
    }

    /// Whether the next instruction can break the graph, and so needs a checkpoint.
    pub(crate) fn may_break(&self) -> bool {
        match self.current_op() {
            Op::LoadFast { local, .. } => self.st.frame.locals[local.0 as usize].is_none(),
            Op::PopJump { .. } => match self.st.frame.stack.last() {
                Some(Var::Const(o)) => {
                    let b = o.bind(self.py);
                    !b.is_none() && !b.is_exact_instance_of::<pyo3::types::PyBool>()
                }
                _ => true,
            },
            op => may_break(op),
        }
    }

    pub(crate) fn current_op(&self) -> &Op {
        let f = &self.st.frame;
        &f.code.body.instrs[f.ip].op
    }

    /// Whether the translation may go on: a long Python loop would be unrolled. Looks again once as
    /// many instructions have passed as may be without an operation for the graph.
    fn check_limits(&mut self) -> R<()> {
        let (done, nodes) = (self.instructions, self.log.graph.len());
        let looked_before = self.next_limit.0 > 0;
        let reason = if done > self.max_instructions {
            format!("More than {} instructions", self.max_instructions)
        } else if looked_before && nodes == self.next_limit.1 {
            format!(
                "{} instructions without a tensor operation",
                self.max_plain_instructions
            )
        } else {
            let next = done.saturating_add(self.max_plain_instructions);
            self.next_limit = (next.min(self.max_instructions), nodes);
            return Ok(());
        };
        self.too_long = true;
        Err(Stop::brk(
            "Too many instructions",
            format!(
                "{reason} were interpreted for one frame: a long Python loop is unrolled by tracing."
            ),
            "Move the loop out of the compiled function, or raise `ferrodyn.config.max_plain_instructions` and `max_instructions`.",
        ))
    }

    /// One instruction; `Some` when the root frame returned.
    pub(crate) fn step(&mut self) -> R<Option<Var>> {
        self.instructions += 1;
        interrupts::poll(self.py)?;
        if self.instructions > self.next_limit.0 {
            self.check_limits()?;
        }
        let code = self.st.frame.code.clone();
        let ip = self.st.frame.ip;
        let depth = self.st.frame.depth;
        let op = &code.body.instrs[ip].op;
        if let Some(trace) = &mut self.trace {
            trace.push(format!(
                "TRACE {} line {} {op:?} {:?}",
                code.name,
                code.line(ip),
                self.st.frame.stack.len()
            ));
        }
        let next = self.exec(op);
        if self.doubt.take() {
            return Err(Stop::unsupported(
                "an object with a hash of its own beside a constant with the same hash",
            ));
        }
        if let Some(stop) = self.refused() {
            return Err(stop);
        }
        if let Some(stop) = self.takes_early_value() {
            return Err(stop);
        }
        if self.st.effects.shared_changed {
            return Err(Stop::brk(
                "Result of a cached function changed",
                "The cache gives the same object to everybody who calls the function with these arguments.",
                "Copy the result before changing it.",
            ));
        }
        match next {
            Ok(Next::Fall) => {
                debug_assert_eq!(self.st.frame.depth, depth);
                self.st.frame.ip = ip + 1;
                Ok(None)
            }
            Ok(Next::Jump(l)) => {
                self.st.frame.ip = l.0 as usize;
                Ok(None)
            }
            Ok(Next::Frame) => Ok(None),
            Ok(Next::Done(v)) => Ok(Some(v)),
            Err(Stop::Raise(e)) => {
                self.unwind(e)?;
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    /// Whether the traceback, the cause or the context of an exception has to do with one that was
    /// raised and caught before.
    fn was_caught(&self, exc: &Var) -> bool {
        let caught = &self.st.caught;
        if caught.is_empty() {
            return false;
        }
        let known = |v: &Var| matches!(v, Var::Obj(id) if caught.contains(id));
        let cause = match exc {
            Var::Obj(id) => self.obj(*id).attrs.get("__cause__").cloned().flatten(),
            _ => None,
        };
        let mut frame = self.ways.here.as_ref().map(Snapshot::frame);
        let mut handles = false;
        while let Some(f) = frame {
            handles = handles
                || f.stack
                    .iter()
                    .any(|v| matches!(v, Var::Handled(e) if known(e)));
            frame = f.parent.as_deref();
        }
        handles || known(exc) || cause.is_some_and(|c| known(&c))
    }

    /// Keeps the way back to the instruction that raised what is about to be caught.
    fn remember_catch(&mut self) {
        if self.nested > 0 && self.ways.last_catch.is_some() {
            return;
        }
        if self.ways.first_catch.is_none() {
            self.ways.first_catch = self.ways.place();
        }
        if self.st.frame.handling.is_empty() || self.ways.last_catch.is_none() {
            self.ways.last_catch = self.ways.place();
        }
    }

    /// Finds the handler of an exception; leaves frames that have none.
    pub(crate) fn unwind(&mut self, mut exc: Var) -> R<()> {
        self.note_context(&exc, false);
        loop {
            let f = &self.st.frame;
            let ip = f.ip as u32;
            let handler = f
                .code
                .body
                .handlers
                .iter()
                .find(|h| h.start.0 <= ip && ip < h.end.0)
                .copied();
            if let Some(h) = handler {
                self.remember_catch();
                let lasti = self.int(i64::from(ip));
                let thrown = match &exc {
                    Var::Obj(id) if self.obj(*id).is_new() => Some(*id),
                    _ => None,
                };
                let f = &mut self.st.frame;
                f.stack.truncate(h.depth as usize);
                if h.lasti {
                    f.stack.push_back(lasti);
                }
                f.stack.push_back(exc);
                f.ip = h.target.0 as usize;
                if let Some(id) = thrown {
                    self.st.caught.push_back(id);
                }
                return Ok(());
            }
            let Some(parent) = f.parent.clone() else {
                return Err(Stop::Raise(exc));
            };
            let nested = matches!(f.on_return, OnReturn::Nested);
            let looked_up = f.looks_up.clone();
            self.st.frame = (*parent).clone();
            if let Some(attr) = looked_up
                && self.is_raise_of(&Stop::Raise(exc.clone()), "AttributeError")
            {
                self.ways.here.clone_from(&attr.before);
                match self.ask_getattr(&attr.obj, &attr.name) {
                    Ok(flow) => {
                        self.put_in_place(flow, nested);
                        return Ok(());
                    }
                    Err(Stop::Raise(other)) => {
                        self.note_context(&other, false);
                        exc = other;
                    }
                    Err(stop) => return Err(stop),
                }
            }
            if nested {
                return Err(Stop::Raise(exc));
            }
        }
    }

    /// Goes on with what a call gives, in the place of a frame that was left.
    fn put_in_place(&mut self, flow: Flow, nested: bool) {
        match flow {
            Flow::Pushed if nested => self.st.frame.on_return = OnReturn::Nested,
            Flow::Pushed => {}
            Flow::Value(v) if nested => self.nested_result = Some(v),
            Flow::Value(v) => {
                self.st.frame.ip += 1;
                self.push(v);
            }
        }
    }
}
