//! Graph breaks: the instruction runs in plain bytecode, resume functions do the rest.
//!
//! Where the instruction runs is decided by [`Emitter::emit_break`]: in the residual code itself, or,
//! where a handler of the function covers it, it needs the frame's own variables, or it belongs to
//! an inlined function (whose file and line a traceback has to name), in a resume function that is
//! entered at the instruction.

use bytecode::op::{FuncAttr, JumpCond, Label, Op};
use bytecode::{Body as Code, Version, stack_depths, stack_effect, stack_needs};
use guards::SourceId;
use pyo3::prelude::*;
use rustc_hash::FxHashMap;
use variables::{Body, Obj, Var};

use super::OutputEnv;
use super::asm::{Val, loc_of, map_tables};
use super::emitter::Emitter;
use super::resume::{Plan, ResumeInfo};
use crate::code::is_handled;
use crate::code::{flags, kinds};
use crate::state::{Frame, OnReturn};
use crate::stop::{R, Stop};

/// Builtins that look at the frame that calls them.
const FRAME_FUNCTIONS: [&str; 5] = ["locals", "vars", "dir", "eval", "exec"];

/// How the breaking instruction runs.
enum Mode {
    /// in the residual code
    Here,
    /// in a resume function that starts with it; `plain`: which is never captured
    Inside {
        /// see [`ResumeInfo::plain`]
        plain: bool,
    },
}

/// A frame of the inlined stack with everything that its resume function takes.
struct Level {
    frame: Frame,
    stack: Vec<Val>,
    /// per target: what its resume function takes, values by argument
    targets: FxHashMap<(usize, Vec<bool>), Ready>,
    /// `__init__`: the instance that takes the place of the result of the frame below
    instance: Option<Val>,
}

struct Ready {
    plan: Plan,
    first: Option<Val>,
    locals: Vec<Val>,
    cells: Vec<Val>,
}

impl Emitter<'_, '_> {
    /// Emits everything from the rebuilding of live values to the return.
    ///
    /// # Errors
    /// A break at the outermost call where a caller's `try` or an unusual call is in the way.
    pub fn emit_break(&mut self, env: &mut dyn OutputEnv, resumes: &mut Vec<ResumeInfo>) -> R<()> {
        let mut frames = self.frames();
        for f in &frames {
            if !f.handling.is_empty() {
                return Err(super::blocked(
                    f.depth,
                    "a graph break inside an exception handler",
                ));
            }
            if f.code.has(flags::GENERATOR)
                || f.code.has(flags::COROUTINE)
                || f.code.has(flags::ASYNC_GENERATOR)
            {
                return Err(super::blocked(f.depth, "a graph break inside a generator"));
            }
        }
        for f in &frames[1..] {
            if is_covered(&f.code.body, f.ip) {
                return Err(super::nested_try(f));
            }
        }
        let mode = self.mode(&frames[0]);
        if let Mode::Inside { .. } = mode {
            enter_before_conversion(&mut frames[0])?;
        }
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
        self.find_homes(frames.last().unwrap_or(&inner));

        let mut levels = Vec::with_capacity(frames.len());
        for (i, f) in frames.iter().enumerate() {
            let instance = match (i, frames.get(i.wrapping_sub(1)).map(|b| &b.on_return)) {
                (1.., Some(OnReturn::PushInstance(v))) => Some(self.prepare(v)?),
                _ => None,
            };
            levels.push(Level {
                frame: f.clone(),
                stack: Vec::new(),
                targets: FxHashMap::default(),
                instance,
            });
        }

        // What the code behind the break takes: for the innermost frame per target, for each caller
        // behind its call.
        let targets = self.inner_targets(&inner, &mode);
        for (ip, keep, results) in &targets {
            let mut nulls: Vec<bool> = inner
                .stack
                .iter()
                .take(*keep)
                .map(|v| matches!(v, Var::Null))
                .collect();
            nulls.extend(results);
            self.ready(
                env,
                &mut levels[0],
                *ip,
                nulls,
                matches!(mode, Mode::Inside { plain: true }),
            )?;
        }
        for i in 1..levels.len() {
            let f = levels[i].frame.clone();
            let mut nulls: Vec<bool> = f.stack.iter().map(|v| matches!(v, Var::Null)).collect();
            match &frames[i - 1].on_return {
                OnReturn::Push | OnReturn::PushInstance(_) => nulls.push(false),
                OnReturn::Discard => {}
                _ => return Err(super::nested_call(&f)),
            }
            let depths = stack_depths(&f.code.body).map_err(|e| Stop::Internal(e.to_string()))?;
            if depths.get(f.ip + 1).copied().flatten() != Some(nulls.len() as u32) {
                return Err(super::nested_call(&f));
            }
            self.ready(env, &mut levels[i], f.ip + 1, nulls, false)?;
        }
        for level in &mut levels {
            let values: Vec<Var> = level.frame.stack.iter().cloned().collect();
            for v in &values {
                let v = self.prepare(v)?;
                level.stack.push(v);
            }
        }
        let steps = self.effects()?;
        self.replay(steps)?;
        self.run(env, &inner, &mode, &mut levels, resumes)?;
        Ok(())
    }

    /// The frames, innermost first.
    fn frames(&self) -> Vec<Frame> {
        let mut out = vec![self.tx.st.frame.clone()];
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
        let plain = is_covered(&f.code.body, f.ip)
            || needs_frame(op)
            || (f.depth == 0 && self.calls_frame_function(f, op));
        let branch = matches!(
            op,
            Op::PopJump { .. } | Op::JumpIfOrPop { .. } | Op::ForIter { .. }
        );
        match (plain, f.depth) {
            (true, _) => Mode::Inside { plain: true },
            (false, 0) => Mode::Here,
            (false, _) if branch => Mode::Here,
            _ => Mode::Inside { plain: false },
        }
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
                    .known
                    .builtin_function
                    .bind(self.tx.py));
                builtin
                    && name.is_ok_and(|n| FRAME_FUNCTIONS.contains(&n.as_str()) || n == "_getframe")
            })
    }

    /// Where the innermost frame may go on: instruction, how many stack values stay, and for each
    /// result of the instruction whether it is `NULL`.
    fn inner_targets(&self, f: &Frame, mode: &Mode) -> Vec<(usize, usize, Vec<bool>)> {
        let body = &f.code.body;
        let op = &body.instrs[f.ip].op;
        let depth = f.stack.len();
        if let Mode::Inside { .. } = mode {
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
                    (f.ip + 1, depth, vec![false]),
                    (behind_loop(body, to.0 as usize), depth - 1, vec![]),
                ]
            }
            _ if !op.falls_through() => vec![],
            _ => {
                let needs = stack_needs(body.version, op) as usize;
                let results =
                    (needs as i32 + stack_effect(body.version, op, false)).max(0) as usize;
                let mut nulls = vec![false; results];
                if let Some(first) = method_null(op) {
                    nulls = if first {
                        vec![true, false]
                    } else {
                        vec![false, true]
                    };
                }
                vec![(f.ip + 1, depth.saturating_sub(needs), nulls)]
            }
        }
    }

    /// Plans a resume function and makes its locals and cells available.
    fn ready(
        &mut self,
        env: &mut dyn OutputEnv,
        level: &mut Level,
        ip: usize,
        nulls: Vec<bool>,
        plain: bool,
    ) -> R<()> {
        let f = &level.frame;
        let source = env.resume_cache().source(&f.code);
        let Some(target) = ip.checked_sub(source.shift) else {
            return Err(Stop::Internal(
                "a graph break in the prologue of a resume function".into(),
            ));
        };
        let slot = |name: &str| -> Option<Var> {
            let i = f.code.local_names.iter().position(|n| &**n == name)?;
            f.locals.get(i).cloned().flatten()
        };
        let plan = env
            .resume_cache()
            .plan(source.clone(), target, plain, nulls.clone(), |n| {
                slot(n).is_some()
            })?;
        let code = source.code.clone();
        let mut locals = Vec::new();
        for &l in &plan.locals {
            let v = slot(&code.local_names[l as usize]).unwrap_or(Var::Null);
            locals.push(self.prepare(&v)?);
        }
        let first = match plan.first {
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
                            let cell = self.tx.known.cell.clone();
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
            (ip, nulls),
            Ready {
                plan,
                first,
                locals,
                cells,
            },
        );
        Ok(())
    }

    /// The instruction, and what comes behind it.
    fn run(
        &mut self,
        env: &mut dyn OutputEnv,
        f: &Frame,
        mode: &Mode,
        levels: &mut [Level],
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<()> {
        let version = f.code.body.version;
        let stack = levels[0].stack.clone();
        let loc = match f.depth {
            0 => loc_of(&f.code, f.ip),
            _ => levels.last().map_or(bytecode::Location::NONE, |l| {
                loc_of(&l.frame.code, l.frame.ip)
            }),
        };
        self.asm.body.set_loc(loc);
        if let Mode::Inside { .. } = mode {
            return self.chain(env, levels, f.ip, stack, resumes);
        }
        let op = f.code.body.instrs[f.ip].op.clone();
        let needs = stack_needs(version, &op) as usize;
        let (rest, operands) = stack.split_at(stack.len().saturating_sub(needs));
        for v in operands {
            self.asm.load(v);
        }
        match op {
            Op::PopJump { cond, to } => {
                let other = self.asm.label();
                self.asm.body.pop_jump(cond, other);
                self.chain(env, levels, f.ip + 1, rest.to_vec(), resumes)?;
                self.asm.body.bind(other);
                self.chain(env, levels, to.0 as usize, rest.to_vec(), resumes)
            }
            Op::JumpIfOrPop { when, to } => {
                let other = self.asm.label();
                self.asm.body.pop_jump(
                    if when {
                        JumpCond::True
                    } else {
                        JumpCond::False
                    },
                    other,
                );
                self.chain(env, levels, f.ip + 1, rest.to_vec(), resumes)?;
                self.asm.body.bind(other);
                self.chain(env, levels, to.0 as usize, stack.clone(), resumes)
            }
            Op::ForIter { to } => self.for_iter(env, f, to, &stack, levels, resumes),
            _ => {
                self.native(f, &op);
                if !op.falls_through() {
                    return Ok(());
                }
                let mut results = Vec::new();
                if let Some(first) = method_null(&op) {
                    let tmp = self.asm.tmp("___result");
                    self.asm.store_fast(tmp);
                    results = if first {
                        vec![Val::Null, Val::Fast(tmp)]
                    } else {
                        vec![Val::Fast(tmp), Val::Null]
                    };
                } else {
                    let n = (needs as i32 + stack_effect(version, &op, false)).max(0);
                    for _ in 0..n {
                        let tmp = self.asm.tmp("___result");
                        self.asm.store_fast(tmp);
                        results.insert(0, Val::Fast(tmp));
                    }
                }
                let after = [rest, &results].concat();
                self.chain(env, levels, f.ip + 1, after, resumes)
            }
        }
    }

    fn for_iter(
        &mut self,
        env: &mut dyn OutputEnv,
        f: &Frame,
        to: Label,
        stack: &[Val],
        levels: &mut [Level],
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<()> {
        let done = self.asm.label();
        self.asm.op(Op::ForIter { to: done });
        let item = self.asm.tmp("___result");
        self.asm.store_fast(item);
        self.asm.op(Op::PopTop);
        let with_item = [stack, &[Val::Fast(item)]].concat();
        self.chain(env, levels, f.ip + 1, with_item, resumes)?;
        self.asm.body.bind(done);
        match f.code.body.version {
            Version::V311 => {}
            Version::V312 => self.asm.op(Op::EndFor),
            Version::V313 => {
                self.asm.op(Op::EndFor);
                self.asm.op(Op::PopTop);
            }
        }
        let rest = stack[..stack.len() - 1].to_vec();
        self.chain(
            env,
            levels,
            behind_loop(&f.code.body, to.0 as usize),
            rest,
            resumes,
        )
    }

    /// The user's instruction with its operands on the stack; constants and names are renumbered.
    fn native(&mut self, f: &Frame, op: &Op) {
        let mut op = match op {
            Op::LoadMethod { name, .. } => Op::LoadAttr(*name),
            Op::LoadSuperAttr {
                name,
                two_arg,
                null_first,
                ..
            } => Op::LoadSuperAttr {
                name: *name,
                method: false,
                two_arg: *two_arg,
                null_first: *null_first,
            },
            other => other.clone(),
        };
        let asm = std::cell::RefCell::new(&mut self.asm);
        map_tables(
            &mut op,
            &mut |c| asm.borrow_mut().const_idx(&f.code.consts[c.0 as usize]),
            &mut |n| asm.borrow_mut().name_idx(&f.code.names[n.0 as usize]),
        );
        self.asm.op(op);
    }

    /// Calls the resume function of the innermost frame, then that of each caller, and returns.
    fn chain(
        &mut self,
        env: &mut dyn OutputEnv,
        levels: &mut [Level],
        ip: usize,
        stack: Vec<Val>,
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<()> {
        let mut stack = stack;
        let mut ip = ip;
        for i in 0..levels.len() {
            let nulls: Vec<bool> = stack.iter().map(|v| matches!(v, Val::Null)).collect();
            let Some(ready) = levels[i].targets.get(&(ip, nulls)) else {
                return Err(Stop::Internal("a break target that was not planned".into()));
            };
            let globals = levels[i].frame.globals.clone();
            self.call_resume(env, ready, &stack, &globals.dict, globals.source, resumes)?;
            if i + 1 == levels.len() {
                break;
            }
            let result = self.asm.tmp("___result");
            let on_return = levels[i].frame.on_return.clone();
            let parent = &levels[i + 1];
            stack = parent.stack.clone();
            ip = parent.frame.ip + 1;
            match on_return {
                OnReturn::Push => {
                    self.asm.store_fast(result);
                    stack.push(Val::Fast(result));
                }
                OnReturn::PushInstance(_) => {
                    self.check_init_result()?;
                    stack.extend(parent.instance.clone());
                }
                _ => self.asm.op(Op::PopTop),
            }
        }
        self.asm.op(Op::ReturnValue);
        Ok(())
    }

    /// `x --`: `__init__` has to return `None`.
    fn check_init_result(&mut self) -> R<()> {
        let py = self.tx.py;
        let fine = self.asm.label();
        self.asm.body.pop_jump(JumpCond::None, fine);
        let error = py.import("builtins")?.getattr("TypeError")?.unbind();
        self.asm.callee(&error);
        self.load_str("__init__() should return None");
        self.asm.call(1);
        self.asm.op(Op::RaiseVarargs(1));
        self.asm.body.bind(fine);
        Ok(())
    }

    fn call_resume(
        &mut self,
        env: &mut dyn OutputEnv,
        ready: &Ready,
        stack: &[Val],
        globals: &Obj,
        globals_source: Option<SourceId>,
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<()> {
        let py = self.tx.py;
        let function_type = self.tx.known.function.clone();
        if !env.resume_cache().has(&ready.plan) {
            let index = env.next_resume_index();
            env.resume_cache()
                .make(py, &mut self.tx.codes.borrow_mut(), &ready.plan, index)?;
        }
        let resume = env.resume_cache().get(&ready.plan)?;
        let info = resume.info.clone();
        let function = match resume.free.is_empty() {
            true => Some(resume.function(py, &function_type, globals)?),
            false => None,
        };
        let plan = &ready.plan;
        match function {
            Some(f) => {
                let f = env.wrap_resume(py, f, &info)?;
                self.asm.callee(&f);
                self.names.push((f, info.name.clone()));
            }
            None => {
                let own = globals.is(&self.globals);
                if !own {
                    self.asm.callee(&function_type);
                    self.asm.load_const(&info.code);
                    match globals_source {
                        Some(source) => self.load_source(source)?,
                        None => self.asm.load_const(globals),
                    }
                    let none = py.None();
                    self.asm.load_const(&none);
                    self.asm.load_const(&none);
                }
                for c in &ready.cells {
                    self.asm.load(c);
                }
                self.asm.op(Op::BuildTuple(ready.cells.len() as u32));
                if own {
                    self.asm.load_const(&info.code);
                    self.asm.make_function(FuncAttr(FuncAttr::CLOSURE));
                } else {
                    self.asm.call(5);
                }
                self.asm.body.make_callable();
            }
        }
        self.names.push((info.code.clone(), info.name.clone()));
        let leading =
            usize::from(plan.locals.first() == Some(&0) && plan.source.code.fields.argcount > 0);
        let mut argc = 0;
        let args = ready.first.iter().chain(&ready.locals[..leading]);
        let stack = stack.iter().filter(|v| !matches!(v, Val::Null));
        for v in args.chain(stack).chain(&ready.locals[leading..]) {
            self.asm.load(v);
            argc += 1;
        }
        self.asm.call(argc);
        if !resumes.iter().any(|r| r.name == info.name) {
            resumes.push(info);
        }
        Ok(())
    }
}

/// For an instruction that gives a method and its receiver: whether `NULL` comes first where the
/// attribute is loaded plainly.
fn method_null(op: &Op) -> Option<bool> {
    match op {
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
                | Op::CallIntrinsic1(_)
                | Op::CallIntrinsic2(_)
                | Op::Reraise(_)
                | Op::PushExcInfo
                | Op::PopExcept
                | Op::WithExceptStart
                | Op::EndAsyncFor
                | Op::Jump { .. }
                | Op::Other { .. }
        )
}

/// Where a loop goes on once its iterator, and what ends it, are off the stack.
fn behind_loop(body: &Code, to: usize) -> usize {
    match body.version {
        Version::V311 => to,
        Version::V312 => to + 1,
        Version::V313 => to + 2,
    }
}

/// Whether an exception at an instruction would be handled in its function. Handlers that only put
/// locals back and re-raise (inlined comprehensions) do not count.
fn is_covered(body: &Code, ip: usize) -> bool {
    is_handled(body, ip, |_| false)
}

/// A jump on truth of 3.13 takes an exact `bool`. Where tracing passed over the conversion in front
/// of it, the function has to be entered there.
fn enter_before_conversion(f: &mut Frame) -> R<()> {
    let body = &f.code.body;
    let on_truth = matches!(
        body.instrs[f.ip].op,
        Op::PopJump {
            cond: JumpCond::False | JumpCond::True,
            ..
        }
    );
    if body.version < Version::V313 || !on_truth {
        return Ok(());
    }
    match f.ip.checked_sub(1).map(|i| &body.instrs[i].op) {
        Some(Op::ToBool) => {
            f.ip -= 1;
            Ok(())
        }
        _ => Err(super::blocked(
            f.depth,
            "a jump on the result of a comparison inside try",
        )),
    }
}
