//! The instruction loop: what each normalised instruction does to the symbolic state.
//!
//! One arm an instruction, in [`Tx::exec`]; an instruction with more to say than a few lines has
//! a function of its own here or in the module of the values that it works on. An instruction
//! without a rule breaks the graph with its own reason.

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::{ConstIdx, FuncAttr, JumpCond, Label, LocalIdx, NameIdx, Op, UnaryOp};
use guards::{GuardKind, Source};
use pyo3::prelude::*;
use variables::{Body, FuncVar, GlobalKey, Obj, ObjState, Origin, Var};

use crate::code::kinds;
use crate::raw::dict_get;
use crate::state::{Frame, OnReturn};
use crate::stop::{BreakReason, R, Stop};
use crate::tx::{Args, Flow, Tx};

/// Where execution goes after an instruction.
enum Next {
    /// the next one
    Fall,
    /// a label
    Jump(Label),
    /// a frame was pushed, or popped: the frame's own position says
    Frame,
    /// the root frame returned
    Done(Var),
}

/// How a translation ended.
pub enum End {
    /// the root frame returned
    Return(Var),
    /// the graph breaks; the state is that of the checkpoint before the instruction
    Break(Box<BreakReason>),
    /// the program raises here and catches nowhere; the state is that of the checkpoint
    Raises {
        /// what it raises
        reason: Box<BreakReason>,
        /// whether other exceptions were caught before: contexts and tracebacks then need Python
        caught: bool,
    },
}

impl<'py> Tx<'py> {
    /// Interprets from the present state until the root frame returns or the graph breaks.
    pub fn run(&mut self) -> End {
        loop {
            if self.nested == 0 && self.may_break() {
                let snapshot = self.snapshot();
                if self.st.frame.depth == 0 {
                    self.outer_checkpoint = Some(snapshot.clone());
                }
                self.checkpoint = Some(snapshot);
            }
            match self.step() {
                Ok(None) => {}
                Ok(Some(v)) => return End::Return(v),
                Err(stop) => {
                    let raises = matches!(stop, Stop::Raise(_));
                    let caught = self.st.caught;
                    let reason = self.reason_of(stop);
                    if let Some(c) = self.checkpoint.take() {
                        self.restore(&c);
                        self.checkpoint = Some(c);
                    }
                    return match raises {
                        true => End::Raises { reason, caught },
                        false => End::Break(reason),
                    };
                }
            }
        }
    }

    /// Goes back to the call of the root frame that the translation was in: the whole call then
    /// runs as plain Python. `false` where it was in none.
    pub fn restore_outermost(&mut self) -> bool {
        let Some(c) = self.outer_checkpoint.take() else {
            return false;
        };
        if self.st.frame.depth == 0 {
            return false;
        }
        self.restore(&c);
        true
    }

    fn reason_of(&mut self, stop: Stop) -> Box<BreakReason> {
        match stop {
            Stop::Break(b) => b,
            Stop::Internal(message) => Box::new(BreakReason {
                reason: "Internal error".into(),
                explanation: format!(
                    "Ferrodyn failed while translating this instruction: {message}"
                ),
                hints: vec![
                    "This is a defect of Ferrodyn; the instruction runs as plain Python.".into(),
                ],
                context: message,
            }),
            Stop::Raise(e) => {
                let what = self.describe_exception(&e);
                Box::new(BreakReason {
                    reason: "Observed exception".into(),
                    explanation: format!(
                        "The program raises {what} here and does not catch it in the compiled function."
                    ),
                    hints: vec![
                        "The exception is raised by plain Python, with its own traceback.".into(),
                    ],
                    context: what,
                })
            }
        }
    }

    fn describe_exception(&mut self, e: &Var) -> String {
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

    fn run_nested_loop(&mut self, base: u32) -> R<Var> {
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
    fn may_break(&self) -> bool {
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

    fn current_op(&self) -> &Op {
        let f = &self.st.frame;
        &f.code.body.instrs[f.ip].op
    }

    /// One instruction; `Some` when the root frame returned.
    fn step(&mut self) -> R<Option<Var>> {
        self.instructions += 1;
        if self.instructions > self.max_instructions {
            return Err(Stop::brk(
                "Too many instructions",
                format!(
                    "More than {} instructions were interpreted for one frame: a long Python loop is unrolled by tracing.",
                    self.max_instructions
                ),
                "Move the loop out of the compiled function, or raise `ferrodyn.config.max_instructions`.",
            ));
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
        match self.exec(op) {
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

    /// Finds the handler of an exception; leaves frames that have none.
    fn unwind(&mut self, exc: Var) -> R<()> {
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
                let lasti = self.int(i64::from(ip));
                let f = &mut self.st.frame;
                f.stack.truncate(h.depth as usize);
                if h.lasti {
                    f.stack.push_back(lasti);
                }
                f.stack.push_back(exc);
                f.ip = h.target.0 as usize;
                self.st.caught = true;
                return Ok(());
            }
            let Some(parent) = f.parent.clone() else {
                return Err(Stop::Raise(exc));
            };
            let nested = matches!(f.on_return, OnReturn::Nested);
            self.st.frame = (*parent).clone();
            if nested {
                return Err(Stop::Raise(exc));
            }
        }
    }

    // ---- stack -------------------------------------------------------------------------------------

    fn push(&mut self, v: Var) {
        self.st.frame.stack.push_back(v);
    }

    fn pop(&mut self) -> R<Var> {
        self.st
            .frame
            .stack
            .pop_back()
            .ok_or_else(|| Stop::Internal("stack underflow".into()))
    }

    fn popn(&mut self, n: u32) -> R<Vec<Var>> {
        let len = self.st.frame.stack.len();
        let at = len
            .checked_sub(n as usize)
            .ok_or_else(|| Stop::Internal("stack underflow".into()))?;
        Ok(self.st.frame.stack.split_off(at).into_iter().collect())
    }

    /// The `n`th value from the top, 1 being the top.
    fn peek(&self, n: u32) -> R<Var> {
        let s = &self.st.frame.stack;
        s.len()
            .checked_sub(n as usize)
            .and_then(|i| s.get(i))
            .cloned()
            .ok_or_else(|| Stop::Internal("stack underflow".into()))
    }

    fn push_flow(&mut self, flow: Flow) -> Next {
        match flow {
            Flow::Value(v) => {
                self.push(v);
                Next::Fall
            }
            Flow::Pushed => Next::Frame,
        }
    }

    /// For instructions that push nothing.
    fn discard_flow(&mut self, flow: Flow) -> Next {
        match flow {
            Flow::Value(_) => Next::Fall,
            Flow::Pushed => {
                self.st.frame.on_return = OnReturn::Discard;
                Next::Frame
            }
        }
    }

    fn name(&self, n: NameIdx) -> Arc<str> {
        self.st.frame.code.names[n.0 as usize].clone()
    }

    fn constant(&self, c: ConstIdx) -> Var {
        self.st.frame.code.const_vars[c.0 as usize].clone()
    }

    fn local(&self, l: LocalIdx) -> Option<Var> {
        self.st.frame.locals[l.0 as usize].clone()
    }

    fn set_local(&mut self, l: LocalIdx, v: Option<Var>) {
        self.st.frame.locals[l.0 as usize] = v;
    }

    fn unbound_local(&mut self, l: LocalIdx) -> Stop {
        let name = self.st.frame.code.local_names[l.0 as usize].clone();
        self.raise(
            "UnboundLocalError",
            &format!(
                "cannot access local variable '{name}' where it is not associated with a value"
            ),
        )
    }

    // ---- the instructions --------------------------------------------------------------------------

    #[allow(clippy::too_many_lines)]
    fn exec(&mut self, op: &Op) -> R<Next> {
        match op {
            Op::Nop | Op::Resume(_) | Op::EndFor => {}
            Op::PopTop => {
                self.pop()?;
            }
            Op::PushNull => self.push(Var::Null),
            Op::Copy(n) => {
                let v = self.peek(*n)?;
                self.push(v);
            }
            Op::Swap(n) => {
                let s = &mut self.st.frame.stack;
                let top = s
                    .len()
                    .checked_sub(1)
                    .ok_or_else(|| Stop::Internal("stack underflow".into()))?;
                let other = s
                    .len()
                    .checked_sub(*n as usize)
                    .ok_or_else(|| Stop::Internal("stack underflow".into()))?;
                s.swap(top, other);
            }
            Op::LoadConst(c) => self.push(self.constant(*c)),
            Op::LoadFast { local, .. } => match self.local(*local) {
                Some(v) => self.push(v),
                None => return Err(self.unbound_local(*local)),
            },
            Op::LoadFastAndClear(l) => {
                let v = self.local(*l).unwrap_or(Var::Null);
                self.set_local(*l, None);
                self.push(v);
            }
            Op::StoreFast(l) => {
                let v = self.pop()?;
                self.set_local(
                    *l,
                    if matches!(v, Var::Null) {
                        None
                    } else {
                        Some(v)
                    },
                );
            }
            Op::DeleteFast(l) => {
                if self.local(*l).is_none() {
                    return Err(self.unbound_local(*l));
                }
                self.set_local(*l, None);
            }
            Op::MakeCell(l) => self.make_cell(*l),
            Op::CopyFreeVars(n) => self.copy_free_vars(*n)?,
            Op::LoadClosure(l) => {
                let v = self
                    .local(*l)
                    .ok_or_else(|| Stop::Internal("no cell".into()))?;
                self.push(v);
            }
            Op::LoadDeref(l) | Op::LoadClassDeref(l) => {
                let v = self.load_deref(*l)?;
                self.push(v);
            }
            Op::StoreDeref(l) => {
                let v = self.pop()?;
                self.store_deref(*l, Some(v))?;
            }
            Op::DeleteDeref(l) => {
                self.load_deref(*l)?;
                self.store_deref(*l, None)?;
            }
            Op::LoadGlobal(n) => {
                let v = self.load_global(&self.name(*n))?;
                self.push(v);
            }
            Op::StoreGlobal(n) => {
                let v = self.pop()?;
                let (dict, name) = (self.st.frame.globals.dict.clone(), self.name(*n));
                self.st.effects.write_global(&dict, &name, Some(v));
            }
            Op::DeleteGlobal(n) => {
                let (dict, name) = (self.st.frame.globals.dict.clone(), self.name(*n));
                self.load_global(&name)?;
                self.st.effects.write_global(&dict, &name, None);
            }
            Op::LoadAssertionError => {
                let class = self
                    .known
                    .builtins
                    .bind(self.py)
                    .getattr("AssertionError")?
                    .unbind();
                self.push(Var::py(class));
            }
            Op::LoadAttr(n) => {
                let obj = self.pop()?;
                let flow = self.getattr(&obj, &self.name(*n))?;
                return Ok(self.push_flow(flow));
            }
            Op::LoadMethod { name, null_first } => {
                let obj = self.pop()?;
                let name = self.name(*name);
                // A pushed frame (a property, `__getattr__`) runs to its end here: its result
                // takes two stack slots, which `OnReturn::Push` does not know.
                let v = self.getattr_sync(&obj, &name)?;
                self.push_method(v, *null_first);
            }
            Op::LoadSuperAttr {
                name,
                method,
                two_arg: _,
                null_first,
            } => {
                let mut parts = self.popn(3)?;
                let (receiver, class) = (parts.remove(2), parts.remove(1));
                let sup = self.super_of(&class, &receiver)?;
                let name = self.name(*name);
                let v = self.getattr_sync(&sup, &name)?;
                if *method {
                    self.push_method(v, *null_first);
                } else {
                    self.push(v);
                }
            }
            Op::StoreAttr(n) => {
                let obj = self.pop()?;
                let value = self.pop()?;
                let flow = self.setattr(&obj, &self.name(*n), Some(value))?;
                return Ok(self.discard_flow(flow));
            }
            Op::DeleteAttr(n) => {
                let obj = self.pop()?;
                let flow = self.setattr(&obj, &self.name(*n), None)?;
                return Ok(self.discard_flow(flow));
            }
            Op::Unary(UnaryOp::Not) => {
                let v = self.pop()?;
                let t = self.truth(&v)?;
                self.push(self.bool(!t));
            }
            Op::Unary(u) => {
                let v = self.pop()?;
                let flow = self.unary(*u, &v)?;
                return Ok(self.push_flow(flow));
            }
            Op::Binary { op, inplace } => {
                let b = self.pop()?;
                let a = self.pop()?;
                let flow = self.binary(*op, *inplace, &a, &b)?;
                return Ok(self.push_flow(flow));
            }
            Op::Compare { op, to_bool } => {
                let b = self.pop()?;
                let a = self.pop()?;
                let flow = self.compare(*op, &a, &b)?;
                if *to_bool {
                    let v = self.finish_flow(flow)?;
                    if matches!(v, Var::Tensor(_)) && self.jump_follows() {
                        // The jump breaks instead, with the tensor as its operand: the comparison
                        // stays in the graph, as on versions whose jumps convert by themselves.
                        self.push(v);
                        return Ok(Next::Fall);
                    }
                    let t = self.truth(&v)?;
                    self.push(self.bool(t));
                } else {
                    return Ok(self.push_flow(flow));
                }
            }
            Op::Is { invert } => {
                let b = self.pop()?;
                let a = self.pop()?;
                let same = self.is_same(&a, &b)?;
                self.push(self.bool(same != *invert));
            }
            Op::Contains { invert } => {
                let container = self.pop()?;
                let item = self.pop()?;
                let found = self.contains(&container, &item)?;
                self.push(self.bool(found != *invert));
            }
            Op::ToBool => {
                let v = self.pop()?;
                if matches!(v, Var::Tensor(_)) && self.jump_follows() {
                    self.push(v);
                    return Ok(Next::Fall);
                }
                let t = self.truth(&v)?;
                self.push(self.bool(t));
            }
            Op::BinarySubscr => {
                let key = self.pop()?;
                let obj = self.pop()?;
                let flow = self.getitem(&obj, &key)?;
                return Ok(self.push_flow(flow));
            }
            Op::StoreSubscr => {
                let key = self.pop()?;
                let obj = self.pop()?;
                let value = self.pop()?;
                let flow = self.setitem(&obj, &key, &value)?;
                return Ok(self.discard_flow(flow));
            }
            Op::DeleteSubscr => {
                let key = self.pop()?;
                let obj = self.pop()?;
                let flow = self.delitem(&obj, &key)?;
                return Ok(self.discard_flow(flow));
            }
            Op::BinarySlice => {
                let stop = self.pop()?;
                let start = self.pop()?;
                let obj = self.pop()?;
                let key = Var::Slice(Rc::new([start, stop, self.none()]));
                let flow = self.getitem(&obj, &key)?;
                return Ok(self.push_flow(flow));
            }
            Op::StoreSlice => {
                let stop = self.pop()?;
                let start = self.pop()?;
                let obj = self.pop()?;
                let value = self.pop()?;
                let key = Var::Slice(Rc::new([start, stop, self.none()]));
                let flow = self.setitem(&obj, &key, &value)?;
                return Ok(self.discard_flow(flow));
            }
            Op::BuildTuple(n) => {
                let items = self.popn(*n)?;
                self.push(Var::tuple(items));
            }
            Op::BuildList(n) => {
                let items = self.popn(*n)?;
                let v = self.new_list(items);
                self.push(v);
            }
            Op::BuildSet(n) => {
                let items = self.popn(*n)?;
                let v = self.build_set(items)?;
                self.push(v);
            }
            Op::BuildMap(n) => {
                let items = self.popn(*n * 2)?;
                let v = self.build_map(items)?;
                self.push(v);
            }
            Op::BuildConstKeyMap(n) => {
                let keys = self.pop()?;
                let keys = self.iterate(&keys)?;
                let values = self.popn(*n)?;
                let items = keys
                    .into_iter()
                    .zip(values)
                    .flat_map(|(k, v)| [k, v])
                    .collect();
                let v = self.build_map(items)?;
                self.push(v);
            }
            Op::BuildString(n) => {
                let items = self.popn(*n)?;
                let v = self.build_string(&items)?;
                self.push(v);
            }
            Op::BuildSlice(n) => {
                let mut parts = self.popn(*n)?;
                let step = if *n == 3 { parts.pop() } else { None }.unwrap_or_else(|| self.none());
                let stop = parts.pop().unwrap_or(Var::Null);
                let start = parts.pop().unwrap_or(Var::Null);
                self.push(Var::Slice(Rc::new([start, stop, step])));
            }
            Op::ListToTuple => {
                let list = self.pop()?;
                let items = self.iterate(&list)?;
                self.push(Var::tuple(items));
            }
            Op::ListAppend(n) => {
                let v = self.pop()?;
                let list = self.peek(*n)?;
                self.list_append(&list, v)?;
            }
            Op::SetAdd(n) => {
                let v = self.pop()?;
                let set = self.peek(*n)?;
                self.set_add(&set, v)?;
            }
            Op::MapAdd(n) => {
                let v = self.pop()?;
                let k = self.pop()?;
                let map = self.peek(*n)?;
                self.map_add(&map, k, v)?;
            }
            Op::ListExtend(n) => {
                let v = self.pop()?;
                let list = self.peek(*n)?;
                self.list_extend(&list, &v)?;
            }
            Op::SetUpdate(n) => {
                let v = self.pop()?;
                let set = self.peek(*n)?;
                self.set_update(&set, &v)?;
            }
            Op::DictUpdate(n) => {
                let v = self.pop()?;
                let map = self.peek(*n)?;
                self.dict_update(&map, &v)?;
            }
            Op::DictMerge(n) => {
                let v = self.pop()?;
                let map = self.peek(*n)?;
                let callee = self.peek(*n + 2).unwrap_or(Var::Null);
                self.dict_merge(&map, &v, &callee)?;
            }
            Op::UnpackSequence(n) => {
                let v = self.pop()?;
                let items = self.unpack(&v, *n as usize)?;
                for i in items.into_iter().rev() {
                    self.push(i);
                }
            }
            Op::UnpackEx { before, after } => {
                let v = self.pop()?;
                let items = self.unpack_ex(&v, *before as usize, *after as usize)?;
                for i in items.into_iter().rev() {
                    self.push(i);
                }
            }
            Op::FormatValue { conv, spec } => {
                let spec = if *spec { Some(self.pop()?) } else { None };
                let v = self.pop()?;
                let s = self.format_value(&v, *conv, spec.as_ref())?;
                self.push(s);
            }
            Op::ConvertValue(conv) => {
                let v = self.pop()?;
                let s = self.convert_value(&v, *conv)?;
                self.push(s);
            }
            Op::Jump { to, .. } => return Ok(Next::Jump(*to)),
            Op::PopJump { cond, to } => {
                let v = self.pop()?;
                let take = match cond {
                    JumpCond::True => self.truth(&v)?,
                    JumpCond::False => !self.truth(&v)?,
                    JumpCond::None => self.is_none(&v)?,
                    JumpCond::NotNone => !self.is_none(&v)?,
                };
                if take {
                    return Ok(Next::Jump(*to));
                }
            }
            Op::JumpIfOrPop { when, to } => {
                let v = self.peek(1)?;
                if self.truth(&v)? == *when {
                    return Ok(Next::Jump(*to));
                }
                self.pop()?;
            }
            Op::GetIter => {
                let v = self.pop()?;
                let it = self.get_iter(&v)?;
                self.push(it);
            }
            Op::GetYieldFromIter => {
                let v = self.pop()?;
                let it = if self.is_generator(&v) {
                    v
                } else {
                    self.get_iter(&v)?
                };
                self.push(it);
            }
            Op::ForIter { to } => {
                let it = self.peek(1)?;
                match self.iter_next(&it)? {
                    Some(v) => self.push(v),
                    None => {
                        self.pop()?;
                        return Ok(Next::Jump(self.behind_loop(*to)));
                    }
                }
            }
            Op::Send { to } => {
                let sent = self.pop()?;
                let receiver = self.peek(1)?;
                return self.send(&receiver, sent, *to);
            }
            Op::EndSend => {
                let v = self.pop()?;
                self.pop()?;
                self.push(v);
            }
            Op::YieldValue(_) => {
                let v = self.pop()?;
                self.generator_yield(v)?;
                return Ok(Next::Frame);
            }
            Op::ReturnGenerator => {
                // The generator object was made by the call; its frame starts behind this
                // instruction, which pushes what `PopTop` drops.
                self.push(self.none());
            }
            Op::Call { argc, kw_names } => {
                let names = kw_names.as_ref().map(|c| self.constant(*c));
                return self.op_call(*argc, names);
            }
            Op::CallKw { argc } => {
                let names = self.pop()?;
                return self.op_call(*argc, Some(names));
            }
            Op::CallEx { kwargs } => return self.op_call_ex(*kwargs),
            Op::MakeFunction(parts) => self.make_function(*parts)?,
            Op::SetFunctionAttribute(part) => self.set_function_attribute(*part)?,
            Op::ReturnValue => {
                let v = self.pop()?;
                return self.do_return(v);
            }
            Op::ReturnConst(c) => {
                let v = self.constant(*c);
                return self.do_return(v);
            }
            Op::ImportName(n) => {
                let fromlist = self.pop()?;
                let level = self.pop()?;
                let v = self.import_name(&self.name(*n), &level, &fromlist)?;
                self.push(v);
            }
            Op::ImportFrom(n) => {
                let module = self.peek(1)?;
                let flow = self.getattr(&module, &self.name(*n))?;
                return Ok(self.push_flow(flow));
            }
            Op::BeforeWith => return self.before_with(),
            Op::WithExceptStart => {
                let exc = self.peek(1)?;
                let exit = self.peek(4)?;
                let class = Var::py(self.type_of(&exc)?);
                let none = self.none();
                let flow = self.call(&exit, Args::pos(vec![class, exc, none]))?;
                return Ok(self.push_flow(flow));
            }
            Op::PushExcInfo => {
                let exc = self.pop()?;
                let prev = self
                    .st
                    .frame
                    .handling
                    .last()
                    .cloned()
                    .unwrap_or_else(|| self.none());
                self.push(prev);
                self.push(exc.clone());
                self.st.frame.handling.push_back(exc);
            }
            Op::CheckExcMatch => {
                let classes = self.pop()?;
                let exc = self.peek(1)?;
                let class = Var::py(self.type_of(&exc)?);
                let matches = self.issubclass(&class, &classes)?;
                self.push(self.bool(matches));
            }
            Op::PopExcept => {
                self.pop()?;
                self.st.frame.handling.pop_back();
            }
            Op::RaiseVarargs(n) => return self.raise_varargs(*n),
            Op::Reraise(_) => {
                let exc = self.pop()?;
                return Err(Stop::Raise(exc));
            }
            Op::GetLen => {
                let v = self.peek(1)?;
                let n = self.length(&v)?;
                self.push(n);
            }
            Op::CallIntrinsic1(bytecode::op::Intrinsic1::StopIterationError) => {
                let exc = self.peek(1)?;
                let class = self.type_of(&exc)?;
                if class.is(&self.known.stop_iteration) {
                    self.pop()?;
                    let stop = self.raise("RuntimeError", "generator raised StopIteration");
                    if let Stop::Raise(v) = stop {
                        self.push(v);
                    }
                }
            }
            other => {
                let name = format!("{other:?}");
                let name = name
                    .split([' ', '(', '{'])
                    .next()
                    .unwrap_or_default()
                    .to_string();
                return Err(Stop::brk(
                    format!("Missing bytecode handler: {name}"),
                    format!(
                        "Ferrodyn does not interpret the instruction {name}; it runs as plain Python."
                    ),
                    "Move the statement out of the compiled function.",
                ));
            }
        }
        Ok(Next::Fall)
    }

    /// Whether the next instruction is a jump on truth.
    fn jump_follows(&self) -> bool {
        let f = &self.st.frame;
        f.code.body.instrs.get(f.ip + 1).is_some_and(|i| {
            matches!(
                i.op,
                Op::PopJump {
                    cond: JumpCond::True | JumpCond::False,
                    ..
                }
            )
        })
    }

    /// Behind the `EndFor` (and 3.13's `PopTop`) at a loop's end; on 3.11 the target itself.
    fn behind_loop(&self, to: Label) -> Label {
        let instrs = &self.st.frame.code.body.instrs;
        let i = to.0 as usize;
        if !matches!(instrs[i].op, Op::EndFor) {
            return to;
        }
        let v313 = self.st.frame.code.fields.version >= bytecode::Version::V313;
        Label(
            to.0 + if v313 && matches!(instrs[i + 1].op, Op::PopTop) {
                2
            } else {
                1
            },
        )
    }

    fn push_method(&mut self, v: Var, null_first: bool) {
        match v {
            Var::Method(m) => {
                self.push(m.func.clone());
                self.push(m.receiver.clone());
            }
            other if null_first => {
                self.push(Var::Null);
                self.push(other);
            }
            other => {
                self.push(other);
                self.push(Var::Null);
            }
        }
    }

    /// Whether a value is `None`, guarding no more than that.
    fn is_none(&mut self, v: &Var) -> R<bool> {
        if let Var::Lazy(l) = v
            && !l.obj.is_none(self.py)
            && self.st.effects.known(l.obj.as_ptr() as usize).is_none()
        {
            self.guard(l.source, GuardKind::NotNoneMatch);
            return Ok(false);
        }
        Ok(self.realize(v)?.is_none(self.py))
    }

    // ---- cells ----------------------------------------------------------------------------------------

    fn make_cell(&mut self, l: LocalIdx) {
        let initial = self.local(l);
        let class = self.known.cell.clone();
        let mut state = ObjState::new(class, Body::Cell(initial));
        if self.st.frame.depth == 0 {
            state.origin = Origin::RootCell(l.0);
        }
        let id = self.st.effects.add(state);
        self.set_local(l, Some(Var::Obj(id)));
    }

    fn copy_free_vars(&mut self, n: u32) -> R<()> {
        let closure = self.st.frame.closure.clone();
        let len = self.st.frame.locals.len();
        if closure.len() != n as usize {
            return Err(Stop::Internal("closure size".into()));
        }
        for (i, cell) in closure.iter().enumerate() {
            self.st.frame.locals[len - closure.len() + i] = Some(cell.clone());
        }
        Ok(())
    }

    fn load_deref(&mut self, l: LocalIdx) -> R<Var> {
        let Some(Var::Obj(id)) = self.local(l) else {
            return Err(Stop::Internal("no cell".into()));
        };
        match self.obj(id).body.clone() {
            Body::Cell(Some(v)) => Ok(v),
            Body::Cell(None) => {
                let name = self.st.frame.code.local_names[l.0 as usize].clone();
                let free =
                    self.st.frame.code.fields.localspluskinds[l.0 as usize] & kinds::FREE != 0;
                Err(if free {
                    self.raise("NameError", &format!("cannot access free variable '{name}' where it is not associated with a value in enclosing scope"))
                } else {
                    self.unbound_local(l)
                })
            }
            _ => Err(Stop::Internal("not a cell".into())),
        }
    }

    fn store_deref(&mut self, l: LocalIdx, v: Option<Var>) -> R<()> {
        let Some(Var::Obj(id)) = self.local(l) else {
            return Err(Stop::Internal("no cell".into()));
        };
        *self.st.effects.body_mut(id) = Body::Cell(v);
        Ok(())
    }

    // ---- globals -----------------------------------------------------------------------------------------

    /// A global or builtin.
    pub(crate) fn load_global(&mut self, name: &Arc<str>) -> R<Var> {
        let py = self.py;
        let globals = self.st.frame.globals.clone();
        let key = GlobalKey {
            dict: globals.dict.as_ptr() as usize,
            name: name.clone(),
        };
        if let Some(written) = self.st.effects.global(&key) {
            if let Some(v) = written {
                return Ok(v);
            }
        } else {
            let dict = globals
                .dict
                .bind(py)
                .cast::<pyo3::types::PyDict>()
                .map_err(PyErr::from)?
                .clone();
            if let Some(v) = dict_get(&dict, name) {
                let source = match globals.source {
                    None => self.source(Source::Global { name: name.clone() }),
                    Some(s) => {
                        let (pin, module) = match self.sources.get(s) {
                            Source::Pinned { pin, name } => (*pin, name.clone()),
                            _ => return Err(Stop::Internal("globals source".into())),
                        };
                        self.source(Source::GlobalsOf {
                            pin,
                            module,
                            name: name.clone(),
                        })
                    }
                };
                return Ok(self.lazy(v.unbind(), source));
            }
            if !crate::call::is_library_file(&self.st.frame.code.filename) {
                let dict_source = self.pinned_source(&globals.dict, false, "globals");
                self.guard(
                    dict_source,
                    GuardKind::DictContains {
                        key: guards::Key::str(name),
                        present: false,
                    },
                );
            }
        }
        match self.known.builtins.bind(py).getattr(&**name) {
            Ok(v) => {
                let source = self.source(Source::Builtin { name: name.clone() });
                if crate::call::is_library_file(&self.st.frame.code.filename) {
                    return Ok(Var::py(v.unbind()));
                }
                let obj: Obj = v.unbind();
                self.build(&obj, source)
            }
            Err(_) => Err(self.raise("NameError", &format!("name '{name}' is not defined"))),
        }
    }

    fn import_name(&mut self, name: &Arc<str>, level: &Var, fromlist: &Var) -> R<Var> {
        let py = self.py;
        let level: i64 = match level {
            Var::Const(o) => o.extract(py)?,
            _ => return Err(Stop::unsupported("import with a computed level")),
        };
        let full = if level == 0 {
            name.to_string()
        } else {
            let package: Option<String> =
                match self.st.frame.globals.dict.bind(py).get_item("__package__") {
                    Ok(p) => p.extract().ok(),
                    Err(_) => None,
                };
            let package =
                package.ok_or_else(|| Stop::unsupported("a relative import outside a package"))?;
            let parts: Vec<&str> = package.split('.').collect();
            let keep = parts
                .len()
                .checked_sub(level as usize - 1)
                .ok_or_else(|| Stop::unsupported("a relative import beyond the package"))?;
            let base = parts[..keep].join(".");
            if name.is_empty() {
                base
            } else {
                format!("{base}.{name}")
            }
        };
        let modules = self.known.sys_modules.bind(py);
        if modules.get_item(&full).is_err() {
            return Err(Stop::brk(
                format!("Import of {full}"),
                format!(
                    "The module {full} is not imported yet; importing runs its code, so it happens in plain Python."
                ),
                "Import the module before the compiled function runs.",
            ));
        }
        let wanted = if fromlist.is_none(py) {
            full.split('.').next().unwrap_or(&full).to_string()
        } else {
            full
        };
        let module = self.known.sys_modules.bind(py).get_item(&wanted)?.unbind();
        let source = self.pinned_source(&module, false, &wanted);
        self.build(&module, source)
    }

    // ---- calls -------------------------------------------------------------------------------------------

    fn op_call(&mut self, argc: u32, kw_names: Option<Var>) -> R<Next> {
        let mut args = self.popn(argc)?;
        let second = self.pop()?;
        let first = self.pop()?;
        let mut kw = Vec::new();
        if let Some(names) = kw_names {
            let names = self.iterate(&names)?;
            let values = args.split_off(args.len() - names.len());
            for (n, v) in names.iter().zip(values) {
                kw.push((self.attr_name(n)?, v));
            }
        }
        let callable = match (first, second) {
            (Var::Null, f) | (f, Var::Null) => f,
            (f, receiver) => {
                args.insert(0, receiver);
                f
            }
        };
        let flow = self.call(&callable, Args { pos: args, kw })?;
        Ok(self.push_flow(flow))
    }

    fn op_call_ex(&mut self, kwargs: bool) -> R<Next> {
        let kw = if kwargs {
            let map = self.pop()?;
            let dict = self.new_dict(variables::OrderedMap::default());
            self.dict_update(&dict, &map)?;
            self.keyword_items(&dict)?
        } else {
            Vec::new()
        };
        let pos = self.pop()?;
        let pos = self.iterate(&pos)?;
        let second = self.pop()?;
        let first = self.pop()?;
        let callable = if matches!(first, Var::Null) {
            second
        } else {
            first
        };
        let flow = self.call(&callable, Args { pos, kw })?;
        Ok(self.push_flow(flow))
    }

    fn do_return(&mut self, v: Var) -> R<Next> {
        let f = &self.st.frame;
        match f.on_return.clone() {
            OnReturn::Root => Ok(Next::Done(v)),
            OnReturn::Nested => {
                let parent = f
                    .parent
                    .clone()
                    .ok_or_else(|| Stop::Internal("no caller".into()))?;
                self.st.frame = (*parent).clone();
                self.nested_result = Some(v);
                Ok(Next::Frame)
            }
            on_return => {
                let parent = f
                    .parent
                    .clone()
                    .ok_or_else(|| Stop::Internal("no caller".into()))?;
                let caller: Frame = (*parent).clone();
                self.st.frame = caller;
                self.st.frame.ip += 1;
                match on_return {
                    OnReturn::PushInstance(instance) => {
                        let r = self.realize(&v)?;
                        if !r.is_none(self.py) {
                            self.st.frame.ip -= 1;
                            return Err(self.raise("TypeError", "__init__() should return None"));
                        }
                        self.push(instance);
                    }
                    OnReturn::Discard => {}
                    _ => self.push(v),
                }
                Ok(Next::Frame)
            }
        }
    }

    fn send(&mut self, receiver: &Var, sent: Var, to: Label) -> R<Next> {
        let receiver = self.realize(receiver)?;
        if self.is_generator(&receiver) {
            match self.generator_resume(&receiver, Some(sent))? {
                crate::call::Yielded::Value(v) => {
                    self.push(v);
                    return Ok(Next::Fall);
                }
                crate::call::Yielded::Return(v) => return Ok(self.send_returned(v, to)),
            }
        }
        if !sent.is_none(self.py) {
            return Err(Stop::unsupported(
                "send() to an iterator that is no generator",
            ));
        }
        match self.iter_next(&receiver)? {
            Some(v) => {
                self.push(v);
                Ok(Next::Fall)
            }
            None => {
                let none = self.none();
                Ok(self.send_returned(none, to))
            }
        }
    }

    /// 3.11's `SEND` pops the receiver when it has returned; later versions have `END_SEND`.
    fn send_returned(&mut self, v: Var, to: Label) -> Next {
        if self.st.frame.code.fields.version == bytecode::Version::V311 {
            self.st.frame.stack.pop_back();
        }
        self.push(v);
        Next::Jump(to)
    }

    // ---- functions ---------------------------------------------------------------------------------------

    fn make_function(&mut self, parts: FuncAttr) -> R<()> {
        let code = self.pop()?;
        let Some(code) = code.as_obj().cloned() else {
            return Err(Stop::Internal("no code object".into()));
        };
        let take = |bit: u8, tx: &mut Self| -> R<Option<Var>> {
            if parts.0 & bit != 0 {
                tx.pop().map(Some)
            } else {
                Ok(None)
            }
        };
        let closure = take(FuncAttr::CLOSURE, self)?;
        let annotations = take(FuncAttr::ANNOTATIONS, self)?;
        let kwdefaults = take(FuncAttr::KWDEFAULTS, self)?;
        let defaults = take(FuncAttr::DEFAULTS, self)?;
        let closure = match closure {
            Some(c) => self.iterate(&c)?,
            None => Vec::new(),
        };
        let class = self.known.function.clone();
        let obj = self.new_object(class, Body::Plain);
        let globals = self.st.frame.globals.clone();
        self.push(Var::Func(Rc::new(FuncVar {
            code,
            globals: globals.dict,
            globals_source: globals.source,
            defaults,
            kwdefaults,
            annotations,
            closure,
            obj,
        })));
        Ok(())
    }

    fn set_function_attribute(&mut self, part: FuncAttr) -> R<()> {
        let f = self.pop()?;
        let value = self.pop()?;
        let Var::Func(f) = f else {
            return Err(Stop::Internal("no function".into()));
        };
        let closure = if part.0 == FuncAttr::CLOSURE {
            self.iterate(&value)?
        } else {
            f.closure.clone()
        };
        let pick = |bit: u8, old: &Option<Var>| {
            if part.0 == bit {
                Some(value.clone())
            } else {
                old.clone()
            }
        };
        self.push(Var::Func(Rc::new(FuncVar {
            code: f.code.clone(),
            globals: f.globals.clone(),
            globals_source: f.globals_source,
            defaults: pick(FuncAttr::DEFAULTS, &f.defaults),
            kwdefaults: pick(FuncAttr::KWDEFAULTS, &f.kwdefaults),
            annotations: pick(FuncAttr::ANNOTATIONS, &f.annotations),
            closure,
            obj: f.obj,
        })));
        Ok(())
    }

    // ---- with, raise --------------------------------------------------------------------------------------

    fn before_with(&mut self) -> R<Next> {
        let cm = self.pop()?;
        let cm = self.realize(&cm)?;
        let class = self.type_of(&cm)?;
        let name = self.class_name(&class);
        let bound = |tx: &mut Self, method: &str| -> R<Option<Var>> {
            if tx.class_lookup(&class, method)?.is_none() {
                return Ok(None);
            }
            tx.getattr_sync(&cm, &Arc::from(method)).map(Some)
        };
        let Some(enter) = bound(self, "__enter__")? else {
            return Err(self.raise(
                "TypeError",
                &format!("'{name}' object does not support the context manager protocol"),
            ));
        };
        let Some(exit) = bound(self, "__exit__")? else {
            return Err(self.raise(
                "TypeError",
                &format!("'{name}' object does not support the context manager protocol (missed __exit__ method)"),
            ));
        };
        self.push(exit);
        let flow = self.call(&enter, Args::default())?;
        Ok(self.push_flow(flow))
    }

    fn raise_varargs(&mut self, n: u32) -> R<Next> {
        let cause = if n == 2 { Some(self.pop()?) } else { None };
        if n == 0 {
            return match self.st.frame.handling.last().cloned() {
                Some(e) => Err(Stop::Raise(e)),
                None => Err(self.raise("RuntimeError", "No active exception to reraise")),
            };
        }
        let exc = self.pop()?;
        let exc = self.exception_instance(&exc)?;
        if let (Some(cause), Var::Obj(id)) = (cause, &exc) {
            let cause = self.realize(&cause)?;
            let cause = if cause.is_none(self.py) {
                cause
            } else {
                self.exception_instance(&cause)?
            };
            self.st
                .effects
                .write_attr(*id, &Arc::from("__cause__"), Some(cause));
        }
        Err(Stop::Raise(exc))
    }

    /// An exception instance, made where a class is given.
    fn exception_instance(&mut self, exc: &Var) -> R<Var> {
        let exc = self.realize(exc)?;
        if let Var::Py(p) = &exc
            && p.obj.bind(self.py).is_instance_of::<pyo3::types::PyType>()
        {
            return self.call_sync(&exc.clone(), Args::default());
        }
        let base = Var::py(self.known.base_exception.clone());
        if self.isinstance(&exc, &base)? {
            return Ok(exc);
        }
        Err(self.raise("TypeError", "exceptions must derive from BaseException"))
    }
}

/// Whether an instruction can break the graph, whatever the state.
fn may_break(op: &Op) -> bool {
    !matches!(
        op,
        Op::Nop
            | Op::Resume(_)
            | Op::EndFor
            | Op::PopTop
            | Op::PushNull
            | Op::Copy(_)
            | Op::Swap(_)
            | Op::LoadConst(_)
            | Op::LoadFastAndClear(_)
            | Op::MakeCell(_)
            | Op::CopyFreeVars(_)
            | Op::LoadClosure(_)
            | Op::StoreFast(_)
            | Op::Jump { .. }
            | Op::BuildTuple(_)
            | Op::BuildList(_)
            | Op::BuildSlice(_)
    )
}
