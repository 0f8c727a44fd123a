//! The bytecode of a graph break: the instruction of the innermost frame, and for each caller the
//! call that it is in the middle of.
//!
//! Each frame but the outermost has a function of its own for that, a step, which carries the frame's
//! name, file and line in a traceback; the outermost frame's is the residual code itself. Where a
//! handler of the function covers the instruction, it covers the step, and a resume function that is
//! entered at the handler gets the exception. While a handler is at work, its exception is the
//! current one in the step.
//!
//! A step does not call the resume function that comes next: it returns a continuation, a tuple of
//! [`crate::continuation_mark`], function and arguments, and whoever called it makes that call. So
//! breaks in a loop do not nest, and a traceback names each frame once.

use bytecode::op::{FuncAttr, JumpCond, Label, LocalIdx, Op, Special};
use bytecode::{behind_loop, stack_effect, stack_needs};
use pyo3::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use translator::state::{Frame, OnReturn};
use translator::stop::{R, Stop};
use variables::{Obj, Origin, Var};

use crate::OutputEnv;
use crate::asm::{Asm, Shape, Val, loc_of, map_tables};
use crate::breaks::{Level, Mode, Ready, adds_below, method_null};
use crate::emitter::Emitter;
use crate::resume::{Plan, Resume, ResumeInfo, Slot};

/// What a step does.
enum Action {
    /// runs the instruction
    Run,
    /// nothing: the resume function does it
    Enter,
    /// calls the step of the frame below
    Call {
        function: Obj,
        args: Vec<Val>,
        on_return: OnReturn,
    },
}

/// The arguments of a step, by the local of the residual code that holds each.
#[derive(Default)]
struct Params {
    map: FxHashMap<LocalIdx, u32>,
    outer: Vec<Val>,
}

impl Params {
    fn of(&mut self, val: &Val) -> Val {
        match val {
            Val::Null | Val::Const(_) => val.clone(),
            Val::Handled(exc) => Val::Handled(Box::new(self.of(exc))),
            Val::Fast(local) => {
                let next = self.outer.len() as u32;
                let index = *self.map.entry(*local).or_insert(next);
                if index == next {
                    self.outer.push(val.clone());
                }
                Val::Fast(LocalIdx(index))
            }
        }
    }

    fn all(&mut self, vals: &[Val]) -> Vec<Val> {
        vals.iter().map(|v| self.of(v)).collect()
    }

    fn level(&mut self, level: &Level) -> Level {
        let mut out = level.clone();
        out.stack = self.all(&level.stack);
        out.instance = level.instance.as_ref().map(|v| self.of(v));
        for ready in out.targets.values_mut() {
            ready.first = ready.first.as_ref().map(|v| self.of(v));
            ready.locals = self.all(&ready.locals);
            ready.cells = self.all(&ready.cells);
        }
        out
    }
}

impl Emitter<'_, '_> {
    /// The steps of all frames, innermost first; the last is emitted here.
    pub(crate) fn steps(
        &mut self,
        env: &mut dyn OutputEnv,
        mode: Mode,
        levels: Vec<Level>,
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<()> {
        let mut action = match mode {
            Mode::Native => Action::Run,
            Mode::Plain => Action::Enter,
        };
        let last = levels.len() - 1;
        for (i, level) in levels.iter().enumerate() {
            if i == last {
                return self.step(env, level, action, resumes);
            }
            let on_return = level.frame.on_return.clone();
            let (function, args) = self.step_function(env, level, action, resumes)?;
            action = Action::Call {
                function,
                args,
                on_return,
            };
        }
        Ok(())
    }

    /// A step as a function, with the values that it takes.
    fn step_function(
        &mut self,
        env: &mut dyn OutputEnv,
        level: &Level,
        action: Action,
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<(Obj, Vec<Val>)> {
        let py = self.tx.py;
        let mut params = Params::default();
        let inner = params.level(level);
        let action = match action {
            Action::Call {
                function,
                args,
                on_return,
            } => Action::Call {
                args: params.all(&args),
                function,
                on_return,
            },
            other => other,
        };
        let code = level.frame.code.clone();
        let keep = &code.consts[..code.consts.len().min(1)];
        let asm = Asm::new(code.fields.version, keep, &[]);
        let outer = std::mem::replace(&mut self.asm, asm);
        let outermost = !std::mem::replace(&mut self.in_step, true);
        self.asm.body.set_loc(loc_of(&code, level.frame.ip));
        self.asm.op(Op::Resume(0));
        let emitted = self.step(env, &inner, action, resumes);
        let asm = std::mem::replace(&mut self.asm, outer);
        self.in_step = !outermost;
        emitted?;
        let shape = Shape {
            varnames: (0..params.outer.len())
                .map(|i| format!("___arg{i}"))
                .collect(),
            cellvars: Vec::new(),
            freevars: Vec::new(),
            args: Some(params.outer.len() as u32),
        };
        let built = asm.build(py, &code, &shape)?;
        let offset = code.body.instrs.get(level.frame.ip).map_or(0, |i| i.offset);
        let info = ResumeInfo {
            name: format!("__step_at_{offset}_{}", env.next_resume_index()),
            code: built.code.clone(),
            offset,
            plain: true,
            step_of: Some(code.obj.clone()),
        };
        let function_type = self.tx.known().function.clone();
        let function = function_type.call1(py, (&built.code, &level.frame.globals.dict))?;
        self.names.push((function.clone(), info.name.clone()));
        resumes.push(info);
        Ok((function, params.outer))
    }

    /// A step in the present code, to its return.
    fn step(
        &mut self,
        env: &mut dyn OutputEnv,
        level: &Level,
        action: Action,
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<()> {
        let f = level.frame.clone();
        self.asm.body.set_loc(loc_of(&f.code, f.ip));
        if let Action::Enter = action {
            return self.enter(env, level, f.ip, level.stack.clone(), resumes);
        }
        let handled: Vec<&Val> = level
            .stack
            .iter()
            .filter_map(|v| match v {
                Val::Handled(exc) => Some(&**exc),
                _ => None,
            })
            .collect();
        for exc in &handled {
            self.asm.load(exc);
            self.asm.op(Op::PushExcInfo);
            self.asm.op(Op::PopTop);
        }
        let start = self.asm.body.here();
        let end = self.asm.label();
        match action {
            Action::Call {
                function,
                args,
                on_return,
            } => self.call_step(env, level, (function, args, on_return), end, resumes)?,
            _ => self.run(env, level, end, resumes)?,
        }
        if level.handler.is_none() && handled.is_empty() {
            return Ok(());
        }
        let caught = self.asm.body.here();
        let depth = handled.len() as u32;
        self.asm.body.handler(start, end, caught, depth, false);
        for _ in &handled {
            self.asm.op(Op::Swap(2));
            self.asm.op(Op::PopExcept);
        }
        let Some(h) = level.handler else {
            self.asm.op(Op::Reraise(0));
            return Ok(());
        };
        let exc = self.asm.tmp("___exc");
        self.asm.store_fast(exc);
        let mut stack = level.stack[..h.depth as usize].to_vec();
        if h.lasti {
            let lasti = 0i32.into_pyobject(self.tx.py).map_err(PyErr::from)?;
            stack.push(Val::Const(lasti.into_any().unbind()));
        }
        stack.push(Val::Fast(exc));
        // A frame that is in an exception's traceback holds nothing on its stack any more.
        self.forgotten = level.stack.clone();
        self.forgotten.push(Val::Fast(exc));
        self.enter(env, level, h.target.0 as usize, stack, resumes)
    }

    /// Drives the step of the frame below to its result.
    fn call_step(
        &mut self,
        env: &mut dyn OutputEnv,
        level: &Level,
        (function, args, on_return): (Obj, Vec<Val>, OnReturn),
        end: Label,
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<()> {
        let drive = env.driver(self.tx.py)?;
        self.asm.callee(&drive);
        self.asm.load_const(&function);
        for a in &args {
            self.asm.load(a);
        }
        // The tuple alone holds what only the frames below need, and their frames take it over.
        self.asm.op(Op::BuildTuple(args.len() as u32 + 1));
        self.let_go(level, &args, &level.stack);
        self.asm.call(1);
        let mut stack = level.stack.clone();
        match on_return {
            OnReturn::Push => {
                let result = self.asm.tmp("___result");
                self.asm.store_fast(result);
                stack.push(Val::Fast(result));
            }
            OnReturn::PushInstance(_) => {
                self.check_init_result()?;
                stack.extend(level.instance.clone());
            }
            _ => self.asm.op(Op::PopTop),
        }
        self.asm.body.bind(end);
        self.go_on(env, level, level.frame.ip + 1, stack, resumes)
    }

    /// The instruction, and where it leads.
    fn run(
        &mut self,
        env: &mut dyn OutputEnv,
        level: &Level,
        end: Label,
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<()> {
        let f = &level.frame;
        let version = f.code.body.version;
        let op = f.code.body.instrs[f.ip].op.clone();
        if let Some(cell) = self.empty_cell(f, &op) {
            let name = f.code.local_names[cell.0 as usize].clone();
            self.raise(
                "UnboundLocalError",
                &format!(
                    "cannot access local variable '{name}' where it is not associated with a value"
                ),
            )?;
            self.asm.body.bind(end);
            return Ok(());
        }
        let needs = match op {
            Op::Reraise(_) => 1,
            _ => stack_needs(version, &op) as usize,
        };
        let stack = &level.stack;
        let (rest, operands) = stack.split_at(stack.len().saturating_sub(needs));
        for v in operands {
            self.asm.load(v);
        }
        let read_again = match op {
            Op::JumpIfOrPop { .. } | Op::ForIter { .. } | Op::WithExceptStart => stack.len(),
            _ => level
                .handler
                .map_or(0, |h| h.depth as usize)
                .max(rest.len()),
        };
        self.let_go(level, operands, &stack[..read_again.min(stack.len())]);
        match op {
            Op::PopJump { cond, to } => {
                let other = self.asm.label();
                self.asm.body.pop_jump(cond, other);
                self.asm.body.bind(end);
                self.go_on(env, level, f.ip + 1, rest.to_vec(), resumes)?;
                self.asm.body.bind(other);
                self.go_on(env, level, to.0 as usize, rest.to_vec(), resumes)
            }
            Op::JumpIfOrPop { when, to } => {
                let other = self.asm.label();
                let cond = match when {
                    true => JumpCond::True,
                    false => JumpCond::False,
                };
                self.asm.body.pop_jump(cond, other);
                self.asm.body.bind(end);
                self.go_on(env, level, f.ip + 1, rest.to_vec(), resumes)?;
                self.asm.body.bind(other);
                self.go_on(env, level, to.0 as usize, stack.clone(), resumes)
            }
            Op::ForIter { to } => self.for_iter(env, level, to, end, resumes),
            Op::WithExceptStart => {
                self.asm.op(op);
                self.asm.body.bind(end);
                let result = self.asm.tmp("___result");
                self.asm.store_fast(result);
                for _ in 0..needs {
                    self.asm.op(Op::PopTop);
                }
                let after = [&stack[..], &[Val::Fast(result)]].concat();
                self.go_on(env, level, f.ip + 1, after, resumes)
            }
            Op::Reraise(_) => {
                self.asm.op(Op::Reraise(0));
                self.asm.body.bind(end);
                Ok(())
            }
            _ => {
                self.native(f, &op)?;
                self.asm.body.bind(end);
                if !op.falls_through() {
                    return Ok(());
                }
                let mut results = Vec::new();
                if let Some(first) = method_null(version, &op) {
                    let tmp = self.asm.tmp("___result");
                    self.asm.store_fast(tmp);
                    results = match first {
                        true => vec![Val::Null, Val::Fast(tmp)],
                        false => vec![Val::Fast(tmp), Val::Null],
                    };
                } else {
                    let n = (needs as i32 + stack_effect(version, &op, false)).max(0);
                    for i in (0..n as usize).rev() {
                        let tmp = self.asm.tmp("___result");
                        self.asm.store_fast(tmp);
                        let is_null = adds_below(&op) && matches!(operands.get(i), Some(Val::Null));
                        results.insert(0, if is_null { Val::Null } else { Val::Fast(tmp) });
                    }
                }
                let after = [rest, &results].concat();
                self.go_on(env, level, f.ip + 1, after, resumes)
            }
        }
    }

    fn for_iter(
        &mut self,
        env: &mut dyn OutputEnv,
        level: &Level,
        to: Label,
        end: Label,
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<()> {
        let f = &level.frame;
        let version = f.code.body.version;
        let done = self.asm.label();
        self.asm.op(Op::ForIter { to: done });
        self.asm.body.bind(end);
        let item = self.asm.tmp("___result");
        self.asm.store_fast(item);
        let slots = version.iterator_slots() as usize;
        (0..slots).for_each(|_| self.asm.op(Op::PopTop));
        let with_item = [&level.stack[..], &[Val::Fast(item)]].concat();
        self.go_on(env, level, f.ip + 1, with_item, resumes)?;
        self.asm.body.bind(done);
        for op in version.loop_end() {
            self.asm.op(op.clone());
        }
        let rest = level.stack[..level.stack.len() - slots].to_vec();
        let behind = behind_loop(&f.code.body, to.0 as usize);
        self.go_on(env, level, behind, rest, resumes)
    }

    /// The user's instruction with its operands on the stack; constants and names are renumbered.
    fn native(&mut self, f: &Frame, op: &Op) -> R<()> {
        let mut op = match op {
            // What these leave on the stack may be no object.
            Op::GetIter | Op::GetYieldFromIter(_)
                if method_null(f.code.body.version, op).is_some() =>
            {
                let iter = self.tx.known().iter.clone();
                self.asm.iterator(&iter);
                return Ok(());
            }
            Op::LoadSpecial(which) => return self.special_method(*which),
            Op::LoadMethod { name, .. } => Op::LoadAttr(*name),
            // The frame is not the method's own: `super()` gets what is on the stack.
            Op::LoadSuperAttr {
                name, null_first, ..
            } => Op::LoadSuperAttr {
                name: *name,
                method: false,
                two_arg: true,
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
        Ok(())
    }

    /// `obj -- method`
    fn special_method(&mut self, which: Special) -> R<()> {
        // The instruction says what is wrong with an object that has none.
        self.asm.op(Op::Copy(1));
        self.asm.op(Op::LoadSpecial(which));
        self.asm.op(Op::PopTop);
        self.asm.op(Op::PopTop);
        let finder = crate::special::finders(self.tx.py)?.of(which);
        self.asm.load_const(finder);
        self.asm.op(Op::Swap(2));
        self.asm.op(Op::PushNull);
        self.asm.op(Op::Swap(2));
        self.asm.call(1);
        Ok(())
    }

    /// Puts the exception state of before the step back, and goes on in a resume function.
    fn go_on(
        &mut self,
        env: &mut dyn OutputEnv,
        level: &Level,
        ip: usize,
        stack: Vec<Val>,
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<()> {
        for v in &level.stack {
            if let Val::Handled(_) = v {
                self.asm.op(Op::PopExcept);
            }
        }
        self.enter(env, level, ip, stack, resumes)
    }

    /// Returns the continuation that enters a resume function of the frame.
    fn enter(
        &mut self,
        env: &mut dyn OutputEnv,
        level: &Level,
        ip: usize,
        stack: Vec<Val>,
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<()> {
        let slots: Vec<Slot> = stack.iter().map(Slot::of).collect();
        let Some(ready) = level.targets.get(&(ip, slots)) else {
            return Err(Stop::Internal("a break target that was not planned".into()));
        };
        let mark = crate::continuation_mark(self.tx.py);
        self.asm.load_const(&mark);
        self.names.push((mark, "__continue".into()));
        self.resume_function(env, ready, &level.frame.globals.dict, resumes)?;
        let mut argc = 2;
        for v in ready.arguments(&stack) {
            self.asm.load(v);
            argc += 1;
        }
        self.asm.op(Op::BuildTuple(argc));
        for v in std::mem::take(&mut self.forgotten) {
            self.forget(&v);
        }
        self.asm.op(Op::ReturnValue);
        Ok(())
    }

    /// Gives up what the frame needs no more once the values `handed` on are on the stack, where what comes behind
    /// reads `stack`: these, what was built on the way to them, and the arguments that the program's variables hold
    /// no longer. Nothing else may keep them: the program may ask whether they are gone, and an exception that stays
    /// in the frame that raises it would be a cycle.
    fn let_go(&mut self, level: &Level, handed: &[Val], stack: &[Val]) {
        let mut over = handed.to_vec();
        if !self.in_step && self.asm.body.len() == 1 {
            // What the code begins with is on the stack still, where the graph has left it.
            over.clear();
        } else if !self.in_step {
            let outputs = self.outputs.iter().map(|(_, local)| local);
            let mut built: Vec<LocalIdx> = self.memo.values().chain(outputs).copied().collect();
            built.sort_by_key(|local| local.0);
            over.extend(built.into_iter().map(Val::Fast));
        }
        let mut seen = FxHashSet::default();
        for v in &over {
            if let Some(local) = v.local()
                && seen.insert(local)
                && !level.takes(v, stack)
                && (self.in_step || !self.outliving.contains(&local))
            {
                self.forget(v);
            }
        }
        if !self.in_step {
            self.let_go_arguments(level, stack, &seen);
        }
    }

    fn let_go_arguments(&mut self, level: &Level, stack: &[Val], gone: &FxHashSet<LocalIdx>) {
        let root = &level.frame;
        let given: Vec<Option<LocalIdx>> = (0..root.locals.len())
            .map(|i| match self.is_ours(LocalIdx(i as u32)) {
                true => None,
                false => self.given_as(root.locals[i].as_ref()?),
            })
            .collect();
        for i in 0..root.code.fields.argcount {
            let slot = LocalIdx(i);
            let held = given.contains(&Some(slot)) || level.takes(&Val::Fast(slot), stack);
            let forgotten = self.is_ours(slot) && gone.contains(&slot);
            // Of a constant nobody can tell.
            let constant = matches!(root.locals[i as usize], Some(Var::Const(_)));
            if !(held || forgotten || constant || self.is_cell_slot(i as usize)) {
                self.asm.op(Op::DeleteFast(slot));
            }
        }
    }

    /// The argument of the frame that a value is.
    fn given_as(&self, v: &Var) -> Option<LocalIdx> {
        let source = match v {
            Var::Lazy(l) => Some(l.source),
            Var::Tensor(t) => t.input.as_ref().map(|i| i.source),
            Var::Tuple(t) => t.origin.as_ref().map(|o| o.1),
            Var::Py(p) => p.source,
            Var::Obj(id) => match self.tx.obj(*id).origin {
                Origin::Source { source, .. } => Some(source),
                _ => None,
            },
            _ => None,
        };
        self.argument(source?)
    }

    /// Whether a local holds what was on the stack where a resume function is entered.
    fn is_ours(&self, local: LocalIdx) -> bool {
        let name = self.root.local_names.get(local.0 as usize);
        name.is_some_and(|name| translator::code::is_stack_name(name))
    }

    /// Empties a local that is none of the user's.
    fn forget(&mut self, v: &Val) {
        let Some(local) = v.local() else {
            return;
        };
        if self.in_step || self.asm.is_tmp(local) || self.is_ours(local) {
            let none = self.tx.py.None();
            self.asm.load_const(&none);
            self.asm.store_fast(local);
        }
    }

    fn check_init_result(&mut self) -> R<()> {
        let fine = self.asm.label();
        self.asm.body.pop_jump(JumpCond::None, fine);
        self.raise("TypeError", "__init__() should return None")?;
        self.asm.body.bind(fine);
        Ok(())
    }

    /// Raises a builtin exception.
    fn raise(&mut self, class: &str, message: &str) -> R<()> {
        let py = self.tx.py;
        let error = py.import("builtins")?.getattr(class)?.unbind();
        self.asm.callee(&error);
        self.load_str(message);
        self.asm.call(1);
        self.asm.op(Op::RaiseVarargs(1));
        Ok(())
    }

    /// `-- function`
    fn resume_function(
        &mut self,
        env: &mut dyn OutputEnv,
        ready: &Ready,
        globals: &Obj,
        resumes: &mut Vec<ResumeInfo>,
    ) -> R<()> {
        let py = self.tx.py;
        let function_type = self.tx.known().function.clone();
        if let Some(behind) = &ready.plan.behind() {
            let info = self.made(env, behind)?.info.clone();
            add(resumes, info);
        }
        let resume = self.made(env, &ready.plan)?;
        let info = resume.info.clone();
        if resume.free.is_empty() {
            let f = resume.function(py, &function_type, globals)?;
            self.calls_unwrapped |= info.plain;
            let f = env.wrap_resume(py, f, &info)?;
            self.asm.load_const(&f);
            self.names.push((f, info.name.clone()));
        } else {
            self.calls_unwrapped = true;
            for c in &ready.cells {
                self.asm.load(c);
            }
            self.asm.op(Op::BuildTuple(ready.cells.len() as u32));
            self.asm.load_const(&info.code);
            self.asm.make_function(FuncAttr(FuncAttr::CLOSURE));
        }
        self.names.push((info.code.clone(), info.name.clone()));
        add(resumes, info);
        Ok(())
    }

    /// The resume function of a plan.
    fn made<'e>(&mut self, env: &'e mut dyn OutputEnv, plan: &Plan) -> R<&'e mut Resume> {
        if !env.resume_cache().has(plan) {
            let index = env.next_resume_index();
            let codes = &mut self.tx.codes();
            env.resume_cache().make(self.tx.py, codes, plan, index)?;
        }
        env.resume_cache().get(plan)
    }
}

fn add(resumes: &mut Vec<ResumeInfo>, info: ResumeInfo) {
    if !resumes.iter().any(|r| r.name == info.name) {
        resumes.push(info);
    }
}

impl Ready {
    /// The arguments of the resume function, in order.
    fn arguments<'a>(&'a self, stack: &'a [Val]) -> impl Iterator<Item = &'a Val> {
        let plan = &self.plan;
        let has_first = plan.recipe.locals.first() == Some(&0);
        let leading = usize::from(has_first && plan.source.code.fields.argcount > 0);
        let stack = stack.iter().filter(|v| !matches!(v, Val::Null));
        let args = self.first.iter().chain(&self.locals[..leading]);
        args.chain(stack).chain(&self.locals[leading..])
    }
}

impl Level {
    /// Whether what comes behind the step of the frame, with `stack` on its stack, takes a value.
    fn takes(&self, val: &Val, stack: &[Val]) -> bool {
        let same = |other: &Val| val.local().is_some() && val.local() == other.local();
        let taken = self.targets.values().flat_map(|ready| {
            let first = ready.first.iter();
            first.chain(&ready.locals).chain(&ready.cells)
        });
        stack.iter().chain(&self.instance).chain(taken).any(same)
    }
}
