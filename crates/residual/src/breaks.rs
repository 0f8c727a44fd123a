//! Graph breaks: the instruction runs in plain bytecode, resume functions do the rest.
//!
//! Lives here: which frames are left, where each may go on, and what the code behind takes. The
//! bytecode that runs the instruction, and a call for each caller, is in `steps`.
//!
//! An instruction that needs the frame's own variables runs in a resume function that is entered at
//! the instruction and never captured.

use bytecode::op::{Intrinsic1, Intrinsic2, LocalIdx, Op};
use bytecode::{
    ExceptEntry, Loop, Version, behind_loop, loop_of, stack_depths, stack_effect, stack_needs,
};
use guards::Source;
use pyo3::prelude::*;
use pyo3::types::PyType;
use rustc_hash::{FxHashMap, FxHashSet};
use translator::code::{flags, kinds};
use translator::raw::{derives_from, takes_weak_references};
use translator::state::{Frame, OnReturn};
use translator::step::ends::{has_finalizer, weak_references};
use translator::stop::{R, Stop};
use variables::{Body, CallResult, Obj, ObjId, Origin, Var};

use crate::OutputEnv;
use crate::asm::Val;
use crate::emitter::{Emitter, Ident};
use crate::resume::{Local, Plan, ResumeInfo, Slot};

/// Builtins that look at the frame that calls them.
const FRAME_FUNCTIONS: [&str; 6] = ["locals", "vars", "dir", "eval", "exec", "_getframe"];

/// How the breaking instruction runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// as it is, between what was captured and a resume function
    Native,
    /// in a resume function that starts with it and is never captured
    Plain,
}

/// Where a resume function is entered, with what on its stack.
pub(crate) type Target = (usize, Vec<Slot>);

/// A frame of the inlined stack with everything that its resume functions take.
#[derive(Clone)]
pub(crate) struct Level {
    pub frame: Frame,
    pub stack: Vec<Val>,
    /// per target: what its resume function takes, values by argument
    pub targets: FxHashMap<Target, Ready>,
    /// `__init__`: the instance that takes the place of the result of the frame below
    pub instance: Option<Val>,
    /// the handler of the function that an exception of the instruction goes to
    pub handler: Option<ExceptEntry>,
}

/// A planned resume function with its arguments.
#[derive(Clone)]
pub(crate) struct Ready {
    pub plan: Plan,
    pub first: Option<Val>,
    pub locals: Vec<Val>,
    pub cells: Vec<Val>,
}

/// Whether an instruction of `except*` changes which exception its frame is handling, which a step in
/// a frame of its own cannot do.
fn takes_group_apart(op: &Op) -> bool {
    matches!(
        op,
        Op::CheckEgMatch | Op::CallIntrinsic2(Intrinsic2::PrepReraiseStar)
    )
}

/// Modules that make weak references.
const WEAK_MODULES: [&str; 3] = ["weakref", "_weakref", "_weakrefset"];

impl Emitter<'_, '_> {
    /// Emits everything from the rebuilding of live values to the return. Says whether the code runs
    /// Python code beyond the graph and resume functions that have a wrapper.
    ///
    /// # Errors
    /// A break at the outermost call where an unusual call is in the way; one at the place where an
    /// exception was raised, where a handler is at work on an exception that exists here only.
    pub fn emit_break(
        &mut self,
        env: &mut dyn OutputEnv,
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<bool> {
        let frames = self.frames();
        if takes_group_apart(&frames[0].code.body.instrs[frames[0].ip].op) {
            return Err(crate::in_handler());
        }
        for f in &frames {
            self.check_handled(f)?;
            if f.code.has(flags::GENERATOR)
                || f.code.has(flags::COROUTINE)
                || f.code.has(flags::ASYNC_GENERATOR)
            {
                return Err(crate::blocked(f.depth, "a graph break inside a generator"));
            }
        }
        let mode = self.mode(&frames[0]);
        let inner = frames[0].clone();

        // Everything that is needed, counted before anything is built.
        for f in &frames {
            for v in f.stack.iter() {
                self.analyse(v);
            }
            for v in f.locals.iter().flatten() {
                self.analyse_local(v);
            }
            if let OnReturn::PushInstance(v) = &f.on_return {
                self.analyse(v);
            }
        }
        self.analyse_effects();
        self.check_abandoned()?;
        for f in &frames {
            if self.keeps_locals(f) && self.asks_for_locals(f) {
                return Err(crate::blocked(
                    f.depth,
                    "a graph break between two uses of a frame's locals()",
                ));
            }
        }
        self.find_homes(frames.last().unwrap_or(&inner));

        let mut levels = Vec::with_capacity(frames.len());
        for (i, f) in frames.iter().enumerate() {
            let instance = match (i, frames.get(i.wrapping_sub(1)).map(|b| &b.on_return)) {
                (1.., Some(OnReturn::PushInstance(v))) => Some(self.prepare(v)?),
                _ => None,
            };
            let handler = match (i, mode) {
                (0, Mode::Plain) => None,
                _ => translator::code::handler_of(&f.code.body, f.ip, |_| false),
            };
            levels.push(Level {
                frame: f.clone(),
                stack: Vec::new(),
                targets: FxHashMap::default(),
                instance,
                handler,
            });
        }

        // What the code behind the break takes: for the innermost frame per target, for each caller
        // behind its call.
        let given = self.given_away(&frames);
        let targets = self.inner_targets(&inner, mode);
        for (ip, keep, results) in &targets {
            let mut slots = slots_of(inner.stack.iter().take(*keep));
            slots.extend(results);
            self.ready(env, &mut levels[0], *ip, slots, &given)?;
        }
        for i in 1..levels.len() {
            let f = levels[i].frame.clone();
            let mut slots = slots_of(f.stack.iter());
            match &frames[i - 1].on_return {
                OnReturn::Push | OnReturn::PushInstance(_) => slots.push(Slot::Value),
                OnReturn::Discard => {}
                _ => return Err(crate::nested_call(&f)),
            }
            let depths = stack_depths(&f.code.body).map_err(|e| Stop::Internal(e.to_string()))?;
            if depths.get(f.ip + 1).copied().flatten() != Some(slots.len() as u32) {
                return Err(crate::nested_call(&f));
            }
            self.ready(env, &mut levels[i], f.ip + 1, slots, &given)?;
        }
        // Also where no code comes behind: a frame that raises lives as long as its traceback.
        for v in frames.iter().flat_map(|f| f.locals.iter().flatten()) {
            if self.outlives_use(v, &given) {
                let v = self.prepare(v)?;
                if levels[0].targets.is_empty() {
                    self.outliving.extend(v.local());
                }
            }
        }
        for level in &mut levels {
            if let Some(h) = level.handler {
                let mut slots = slots_of(level.frame.stack.iter().take(h.depth as usize));
                slots.extend((0..=u32::from(h.lasti)).map(|_| Slot::Value));
                self.ready(env, level, h.target.0 as usize, slots, &given)?;
            }
            let values: Vec<Var> = level.frame.stack.iter().cloned().collect();
            for v in &values {
                let v = self.prepare_late(v)?;
                level.stack.push(v);
            }
        }
        let steps = self.effects()?;
        self.replay(steps)?;
        self.settle()?;
        let op = &frames[0].code.body.instrs[frames[0].ip].op;
        let only_branches = matches!(mode, Mode::Native)
            && matches!(op, Op::PopJump { .. } | Op::JumpIfOrPop { .. })
            && matches!(frames[0].stack.last(), Some(Var::Tensor(_)));
        self.steps(env, mode, levels, resumes)?;
        Ok(!only_branches || self.calls_unwrapped)
    }

    /// What a handler is at work on must be a real exception: its traceback and context are Python's.
    fn check_handled(&self, f: &Frame) -> R<()> {
        for v in f.stack.iter() {
            let Var::Handled(exc) = v else { continue };
            let real = match &**exc {
                Var::Obj(id) => matches!(self.tx.obj(*id).origin, Origin::Source { .. }),
                Var::Lazy(_) | Var::Py(_) => true,
                _ => false,
            };
            if !real {
                return Err(crate::in_handler());
            }
        }
        Ok(())
    }

    /// Whether something could be seen to happen where a variable that is not used any more lets go
    /// of its value: it is kept for as long as the frame would keep it. That is so for generators, for
    /// objects whose class has a `__del__`, and for all that other code may refer to weakly: what the
    /// frame was given by plain Python, and what is given away at the break.
    fn outlives_use(&self, v: &Var, given: &FxHashSet<Ident>) -> bool {
        let py = self.tx.py;
        let finalized = |class: &Obj| {
            let class = class.bind(py);
            class.is(self.tx.known().generator.bind(py)) || has_finalizer(class)
        };
        let class_of = |o: &Obj| o.bind(py).get_type().into_any().unbind();
        if let Some((source, obj)) = self.tx.origin_of(v)
            && matches!(self.tx.sources().get(source), Source::Local { .. })
            && self.may_be_last(&obj)
        {
            return true;
        }
        match v {
            Var::Lazy(l) => finalized(&class_of(&l.obj)),
            Var::Py(p) => finalized(&class_of(&p.obj)),
            Var::Obj(id) => {
                let class = self.tx.obj(*id).class.clone();
                self.leads_to(v, given)
                    || self.new_weak_reference(*id).is_some()
                    || (finalized(&class) && !self.has_ended(v))
                    || (self.tx.has_generators() && self.holds_generator(v))
            }
            Var::Tuple(_) | Var::Func(_) | Var::Method(_) if self.leads_to(v, given) => true,
            Var::Tuple(_) | Var::Func(_) | Var::Method(_) | Var::BuiltinMethod(_) => {
                self.tx.has_generators() && self.holds_generator(v)
            }
            _ => false,
        }
    }

    /// Whether a variable may hold the last reference to an object, and its end may be seen. Constants
    /// have no end that matters, classes, modules and functions are held elsewhere as a rule. Memory
    /// of tensors is worth more than a weak reference that nobody has taken.
    fn may_be_last(&self, obj: &Obj) -> bool {
        let py = self.tx.py;
        let k = self.tx.known();
        let b = obj.bind(py);
        let class = b.get_type();
        if derives_from(b, k.tensor.bind(py)) {
            return weak_references(b) > 0;
        }
        if derives_from(b, k.module.bind(py)) {
            return false;
        }
        let elsewhere = [&k.function, &k.module_type, &k.builtin_function];
        !(k.is_const_type(class.as_any())
            || b.is_instance_of::<PyType>()
            || elsewhere.iter().any(|held| class.is(held.bind(py))))
    }

    /// The new values that the breaking instruction is given, or a function that goes on by itself,
    /// with all that they lead to: those that can be referred to weakly.
    fn given_away(&self, frames: &[Frame]) -> FxHashSet<Ident> {
        let inner = &frames[0];
        let op = &inner.code.body.instrs[inner.ip].op;
        let needs = stack_needs(inner.code.body.version, op) as usize;
        let first = inner.stack.len().saturating_sub(needs);
        let mut values: Vec<Var> = inner.stack.iter().skip(first).cloned().collect();
        for f in &frames[..frames.len() - 1] {
            values.extend(f.locals.iter().flatten().cloned());
        }
        // What the function refers to weakly itself lives as long as the variables that hold it.
        for id in (0..self.tx.state().effects.len() as u32).map(ObjId) {
            if let Some(made) = self.new_weak_reference(id) {
                values.extend(made.pos.iter().cloned());
            }
        }
        let mut given = FxHashSet::default();
        self.walk(values, |v, i| {
            if self.may_be_held_weakly(v) {
                given.insert(i);
            }
            false
        });
        given
    }

    /// The call that makes an object which is a weak reference.
    fn new_weak_reference(&self, id: ObjId) -> Option<&CallResult> {
        match &self.tx.obj(id).body {
            Body::Result(made) if made.function.is(&self.tx.known().weakref) => Some(made),
            _ => None,
        }
    }

    /// Whether somebody can refer to a new value without holding it.
    fn may_be_held_weakly(&self, v: &Var) -> bool {
        match v {
            Var::Func(_) => true,
            Var::Obj(id) => takes_weak_references(self.tx.obj(*id).class.bind(self.tx.py)),
            _ => false,
        }
    }

    /// Whether a new value holds one of these, or is one.
    fn leads_to(&self, v: &Var, given: &FxHashSet<Ident>) -> bool {
        !given.is_empty() && self.walk(vec![v.clone()], |_, i| given.contains(&i))
    }

    /// Visits new values and all that they lead to, until `found` says so.
    fn walk(&self, mut todo: Vec<Var>, mut found: impl FnMut(&Var, Ident) -> bool) -> bool {
        let mut seen = FxHashSet::default();
        while let Some(v) = todo.pop() {
            if let Some(i) = self.ident(&v).filter(|i| seen.insert(*i)) {
                if found(&v, i) {
                    return true;
                }
                todo.extend(self.children(&v));
            }
        }
        false
    }

    /// Whether the instruction that breaks makes a weak reference to a tensor: a variable that is not used any more
    /// keeps it alive.
    fn is_weakly_held(&self, v: &Var) -> bool {
        let py = self.tx.py;
        let frame = &self.tx.state().frame;
        let op = &frame.code.body.instrs[frame.ip].op;
        if !matches!(
            op,
            Op::Call { .. } | Op::CallKw { .. } | Op::CallEx { .. } | Op::StoreSubscr
        ) {
            return false;
        }
        let needs = stack_needs(frame.code.body.version, op) as usize;
        let first = frame.stack.len().saturating_sub(needs);
        let operands = || frame.stack.iter().skip(first);
        // A function or class of that module, or a container that keeps weak references.
        let is_weakref = |v: &Var| {
            let of = match v {
                Var::Obj(id) => self.tx.obj(*id).class.clone(),
                _ => match self.tx.origin_of(v) {
                    Some((_, obj)) => obj,
                    None => return false,
                },
            };
            let of = of.bind(py);
            let is_definition = of.is_instance_of::<PyType>()
                || [&self.tx.known().function, &self.tx.known().builtin_function]
                    .iter()
                    .any(|class| of.get_type().is(class.bind(py)));
            let definition = match is_definition {
                true => of.clone(),
                false => of.get_type().into_any(),
            };
            let module = definition
                .getattr("__module__")
                .and_then(|m| m.extract::<String>());
            module.is_ok_and(|m| WEAK_MODULES.contains(&&*m))
        };
        let outside = |v: &Var| Some(self.tx.origin_of(v)?.1);
        let tensor = self.tx.known().tensor.bind(py);
        let same = |operand: &Var| match (v, operand) {
            (Var::Tensor(t), Var::Tensor(o)) => o.node == t.node,
            // One that nothing has looked at yet.
            (Var::Tensor(_) | Var::Lazy(_), Var::Tensor(_) | Var::Lazy(_)) => {
                let (v, operand) = (outside(v), outside(operand));
                v.zip(operand)
                    .is_some_and(|(v, o)| v.is(&o) && derives_from(v.bind(py), tensor))
            }
            _ => false,
        };
        operands().any(is_weakref) && operands().any(same)
    }

    /// The frames, innermost first.
    fn frames(&self) -> Vec<Frame> {
        let mut out = vec![self.tx.state().frame.clone()];
        while let Some(parent) = out[out.len() - 1].parent.clone() {
            out.push((*parent).clone());
        }
        out
    }

    fn analyse_local(&mut self, v: &Var) {
        self.analyse(v);
        // The content of a cell may be passed too, for `super()`.
        if let Var::Obj(id) = v
            && let Body::Cell(Some(content)) = self.tx.obj(*id).body.clone()
        {
            self.analyse(&content);
        }
    }

    /// Tensors that the graph computes are kept in the user's own variables where these hold them.
    fn find_homes(&mut self, root: &Frame) {
        let f = &root.code.fields;
        let stars =
            (f.flags & flags::VARARGS != 0) as u32 + (f.flags & flags::VARKEYWORDS != 0) as u32;
        let args = (f.argcount + f.kwonlyargcount + stars) as usize;
        for (i, v) in root.locals.iter().enumerate().skip(args) {
            if let Some(Var::Tensor(t)) = v
                && t.input.is_none()
                && !self.is_cell_slot(i)
                && f.localspluskinds[i] & kinds::LOCAL != 0
            {
                self.homes
                    .entry(t.node)
                    .or_insert(bytecode::op::LocalIdx(i as u32));
            }
        }
    }

    fn mode(&self, f: &Frame) -> Mode {
        let op = &f.code.body.instrs[f.ip].op;
        let plain = (needs_frame(op) && self.empty_cell(f, op).is_none())
            || self.calls_frame_function(f, op);
        match plain {
            true => Mode::Plain,
            false => Mode::Native,
        }
    }

    /// The cell variable of the function itself that an instruction reads while it holds nothing:
    /// what it raises is known, and a resume function, where the cell is a free variable, would raise
    /// something else.
    pub(crate) fn empty_cell(&self, f: &Frame, op: &Op) -> Option<LocalIdx> {
        let (Op::LoadDeref(l) | Op::DeleteDeref(l)) = op else {
            return None;
        };
        let empty = matches!(f.locals.get(l.0 as usize), Some(Some(Var::Obj(id)))
            if matches!(self.tx.obj(*id).body, Body::Cell(None)));
        (empty && self.tx.is_own_cell(f, *l)).then_some(*l)
    }

    /// Whether the dictionary that `locals()` gave, which is the frame's own, is still of use: to the
    /// program, or for what the program put there.
    fn keeps_locals(&self, f: &Frame) -> bool {
        let Some(id) = f.locals_dict else {
            return false;
        };
        let names = &f.code.local_names;
        let is_local = |k: &Var| match k {
            Var::Const(k) => k
                .bind(self.tx.py)
                .extract::<&str>()
                .is_ok_and(|k| names.iter().any(|n| **n == *k)),
            _ => false,
        };
        let Body::Dict(items) = &self.tx.obj(id).body else {
            return true;
        };
        self.uses.contains_key(&Ident::Obj(id)) || !items.iter().all(|(k, _)| is_local(k))
    }

    /// Whether a frame may yet ask for its variables by name.
    fn asks_for_locals(&self, f: &Frame) -> bool {
        let body = &f.code.body;
        let asks = |n: bytecode::op::NameIdx| {
            let name = f.code.fields.names.get(n.0 as usize);
            name.is_some_and(|n| FRAME_FUNCTIONS.contains(&n.as_str()))
        };
        let mut seen = vec![false; body.instrs.len()];
        let mut todo = vec![f.ip];
        while let Some(at) = todo.pop() {
            let Some(instr) = body.instrs.get(at).filter(|_| !seen[at]) else {
                continue;
            };
            seen[at] = true;
            if matches!(instr.op, Op::LoadGlobal(n) | Op::LoadName(n) | Op::LoadAttr(n) if asks(n))
            {
                return true;
            }
            todo.extend(instr.op.falls_through().then_some(at + 1));
            todo.extend(instr.op.target().map(|to| to.0 as usize));
            let covers = |h: &&ExceptEntry| h.start.0 as usize <= at && at < h.end.0 as usize;
            todo.extend(
                body.handlers
                    .iter()
                    .filter(covers)
                    .map(|h| h.target.0 as usize),
            );
        }
        self.calls_frame_function(f, &body.instrs[f.ip].op)
    }

    fn calls_frame_function(&self, f: &Frame, op: &Op) -> bool {
        let needs = stack_needs(f.code.body.version, op) as usize;
        let top = f.stack.iter().skip(f.stack.len().saturating_sub(needs));
        matches!(op, Op::Call { .. } | Op::CallKw { .. } | Op::CallEx { .. })
            && top.filter_map(Var::as_obj).any(|o| {
                let name = o
                    .bind(self.tx.py)
                    .getattr("__name__")
                    .and_then(|n| n.extract::<String>());
                let builtin = o.bind(self.tx.py).get_type().is(self
                    .tx
                    .known()
                    .builtin_function
                    .bind(self.tx.py));
                builtin && name.is_ok_and(|n| FRAME_FUNCTIONS.contains(&n.as_str()))
            })
    }

    /// Where the innermost frame may go on: instruction, how many stack values stay, and what the
    /// instruction leaves above them.
    fn inner_targets(&self, f: &Frame, mode: Mode) -> Vec<(usize, usize, Vec<Slot>)> {
        let body = &f.code.body;
        let op = &body.instrs[f.ip].op;
        let depth = f.stack.len();
        if mode == Mode::Plain {
            return vec![(f.ip, depth, vec![])];
        }
        match op {
            Op::PopJump { to, .. } => vec![
                (f.ip + 1, depth - 1, vec![]),
                (to.0 as usize, depth - 1, vec![]),
            ],
            Op::JumpIfOrPop { to, .. } => vec![
                (f.ip + 1, depth - 1, vec![]),
                (to.0 as usize, depth, vec![]),
            ],
            Op::ForIter { to } => {
                vec![
                    (f.ip + 1, depth, vec![Slot::Value]),
                    (
                        behind_loop(body, to.0 as usize),
                        depth - body.version.iterator_slots() as usize,
                        vec![],
                    ),
                ]
            }
            Op::WithExceptStart => vec![(f.ip + 1, depth, vec![Slot::Value])],
            _ if !op.falls_through() => vec![],
            _ => {
                let needs = stack_needs(body.version, op) as usize;
                let results =
                    (needs as i32 + stack_effect(body.version, op, false)).max(0) as usize;
                let slots = match method_null(body.version, op) {
                    Some(true) => vec![Slot::Null, Slot::Value],
                    Some(false) => vec![Slot::Value, Slot::Null],
                    None if adds_below(op) => {
                        let left = f.stack.iter().skip(depth.saturating_sub(needs));
                        slots_of(left.take(results))
                    }
                    None => vec![Slot::Value; results],
                };
                vec![(f.ip + 1, depth.saturating_sub(needs), slots)]
            }
        }
    }

    /// Plans a resume function and makes its locals and cells available. One that is entered at the instruction
    /// that breaks is never captured. Nor is one that is entered in a loop: it would break in each round.
    fn ready(
        &mut self,
        env: &mut dyn OutputEnv,
        level: &mut Level,
        ip: usize,
        slots: Vec<Slot>,
        given: &FxHashSet<Ident>,
    ) -> R<()> {
        let f = &level.frame;
        let py = self.tx.py;
        let internal = |e: bytecode::VerifyError| Stop::Internal(e.to_string());
        let around = loop_of(&f.code.body, ip as u32).map_err(internal)?;
        let plain = ip == f.ip || around == Some(Loop::Statement);
        let source = env.resume_cache().source(py, &mut self.tx.codes(), &f.code);
        let Some(target) = ip.checked_sub(source.shift) else {
            return Err(Stop::Internal(
                "a graph break in the prologue of a resume function".into(),
            ));
        };
        let slot = |name: &str| -> Option<Var> {
            let i = f.code.local_names.iter().position(|n| &**n == name)?;
            f.locals.get(i).cloned().flatten()
        };
        let state = |name: &str| match slot(name) {
            None => Local::Unbound,
            Some(v) if self.outlives_use(&v, given) || self.is_weakly_held(&v) => Local::Kept,
            Some(_) => Local::Bound,
        };
        let cache = env.resume_cache();
        let mut plan = cache.plan(py, source.clone(), target, plain, slots.clone(), state)?;
        if let (false, Some(Loop::Comprehension { at, behind })) = (plain, around) {
            let depths = stack_depths(&f.code.body).map_err(internal)?;
            let depth = depths.get(behind as usize).copied().flatten();
            if let (Some(depth), Some(at)) = (depth, at.checked_sub(source.shift as u32)) {
                let rest = at..behind - source.shift as u32;
                cache.leave_loop(py, &mut plan, rest, depth as usize, state)?;
            }
        }
        let code = source.code.clone();
        let mut locals = Vec::new();
        for &l in &plan.recipe.locals {
            let v = slot(&code.local_names[l as usize]).unwrap_or(Var::Null);
            locals.push(self.prepare_late(&v)?);
        }
        let first = match plan.recipe.first {
            true => {
                let v = slot(&code.local_names[0]);
                let content = match v {
                    Some(Var::Obj(id)) => match &self.tx.obj(id).body {
                        Body::Cell(c) => c.clone(),
                        _ => None,
                    },
                    other => other,
                };
                let content = content.unwrap_or_else(|| self.tx.none());
                Some(self.prepare(&content)?)
            }
            false => None,
        };
        let mut cells = Vec::new();
        for bit in [kinds::CELL, kinds::FREE] {
            for i in 0..code.local_names.len() {
                if code.fields.localspluskinds[i] & bit != 0 {
                    let v = slot(&code.local_names[i]);
                    cells.push(match v {
                        Some(v) => self.prepare(&v)?,
                        None => {
                            let cell = self.tx.known().cell.clone();
                            let tmp = self.asm.tmp("___tmp");
                            self.asm.callee(&cell);
                            self.asm.call(0);
                            self.asm.store_fast(tmp);
                            Val::Fast(tmp)
                        }
                    });
                }
            }
        }
        level.targets.insert(
            (ip, slots),
            Ready {
                plan,
                first,
                locals,
                cells,
            },
        );
        Ok(())
    }
}

/// Whether an instruction adds its last operands to a container, and leaves what lies below these as it is: the `NULL`
/// of a callable or of an iterator may be there.
pub(crate) fn adds_below(op: &Op) -> bool {
    matches!(
        op,
        Op::ListAppend(_)
            | Op::ListExtend(_)
            | Op::SetAdd(_)
            | Op::SetUpdate(_)
            | Op::MapAdd(_)
            | Op::DictUpdate(_)
            | Op::DictMerge(_)
    )
}

/// For an instruction that gives a value that a `NULL` may go with (a method and its receiver, an
/// iterator and its index): whether the `NULL` comes first where the value is alone.
pub(crate) fn method_null(version: Version, op: &Op) -> Option<bool> {
    match op {
        Op::GetIter | Op::GetYieldFromIter(_) if version.iterator_slots() == 2 => Some(false),
        Op::LoadSpecial(_) => Some(false),
        Op::LoadMethod { null_first, .. }
        | Op::LoadSuperAttr {
            method: true,
            null_first,
            ..
        } => Some(*null_first),
        _ => None,
    }
}

/// Whether an instruction reads or changes variables of the frame that it runs in.
fn needs_frame(op: &Op) -> bool {
    op.local_use().is_some()
        || matches!(
            op,
            Op::CopyFreeVars(_)
                | Op::Resume(_)
                | Op::LoadName(_)
                | Op::StoreName(_)
                | Op::DeleteName(_)
                | Op::LoadLocals
                | Op::SetupAnnotations
                | Op::LoadFromDictOrGlobals(_)
                | Op::CallIntrinsic1(
                    Intrinsic1::ImportStar
                        | Intrinsic1::StopIterationError
                        | Intrinsic1::AsyncGenWrap
                )
                | Op::PushExcInfo
                | Op::PopExcept
                | Op::EndAsyncFor { .. }
                | Op::Jump { .. }
                | Op::Other { .. }
        )
}

/// What values on the stack are for a resume function.
fn slots_of<'a>(stack: impl Iterator<Item = &'a Var>) -> Vec<Slot> {
    stack
        .map(|v| match v {
            Var::Null => Slot::Null,
            Var::Handled(_) => Slot::Handled,
            _ => Slot::Value,
        })
        .collect()
}
