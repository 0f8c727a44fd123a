//! The instruction loop: what each normalised instruction does to the symbolic state.
//!
//! One arm an instruction, in [`Tx::exec`]; an instruction with more to say than a few lines has
//! a function of its own here or in the module of the values that it works on. An instruction
//! without a rule breaks the graph with its own reason.

mod asserted;
mod calls;
mod cells;
pub mod ends;
mod functions;
mod globals;
mod missing;
mod patterns;
mod run;

pub use missing::{Missing, missing_instruction};

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::{ConstIdx, ImportTime, JumpCond, Label, LocalIdx, NameIdx, Op, UnaryOp};
use guards::GuardKind;
use variables::Var;

use crate::rules::TemplatePart;
use crate::state::OnReturn;
use crate::stop::{BreakReason, R, Stop};
use crate::tx::{Args, Flow, Tx};

/// Where execution goes after an instruction.
pub(crate) enum Next {
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
        /// whether it has to do with exceptions that were caught before: contexts and tracebacks then
        /// need Python
        caught: bool,
    },
}

impl<'py> Tx<'py> {
    // ---- stack -------------------------------------------------------------------------------------

    pub(crate) fn push(&mut self, v: Var) {
        self.st.frame.stack.push_back(v);
    }

    pub(crate) fn pop(&mut self) -> R<Var> {
        self.st
            .frame
            .stack
            .pop_back()
            .ok_or_else(|| Stop::Internal("stack underflow".into()))
    }

    pub(crate) fn popn(&mut self, n: u32) -> R<Vec<Var>> {
        let len = self.st.frame.stack.len();
        let at = len
            .checked_sub(n as usize)
            .ok_or_else(|| Stop::Internal("stack underflow".into()))?;
        Ok(self.st.frame.stack.split_off(at).into_iter().collect())
    }

    /// The `n`th value from the top, 1 being the top.
    pub(crate) fn peek(&self, n: u32) -> R<Var> {
        let s = &self.st.frame.stack;
        s.len()
            .checked_sub(n as usize)
            .and_then(|i| s.get(i))
            .cloned()
            .ok_or_else(|| Stop::Internal("stack underflow".into()))
    }

    pub(crate) fn push_flow(&mut self, flow: Flow) -> Next {
        match flow {
            Flow::Value(v) => {
                self.push(v);
                Next::Fall
            }
            Flow::Pushed => Next::Frame,
        }
    }

    /// For instructions that push nothing.
    pub(crate) fn discard_flow(&mut self, flow: Flow) -> Next {
        match flow {
            Flow::Value(_) => Next::Fall,
            Flow::Pushed => {
                self.st.frame.on_return = OnReturn::Discard;
                Next::Frame
            }
        }
    }

    pub(crate) fn name(&self, n: NameIdx) -> Arc<str> {
        self.st.frame.code.names[n.0 as usize].clone()
    }

    pub(crate) fn constant(&self, c: ConstIdx) -> Var {
        self.st.frame.code.const_vars[c.0 as usize].clone()
    }

    pub(crate) fn local(&self, l: LocalIdx) -> Option<Var> {
        self.st.frame.locals[l.0 as usize].clone()
    }

    pub(crate) fn set_local(&mut self, l: LocalIdx, v: Option<Var>) {
        self.st.frame.locals[l.0 as usize] = v;
    }

    pub(crate) fn unbound_local(&mut self, l: LocalIdx) -> Stop {
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
    pub(crate) fn exec(&mut self, op: &Op) -> R<Next> {
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
            Op::LoadSmallInt(n) => self.push(self.int(i64::from(*n))),
            Op::LoadCommon(which) => {
                let v = self.common_constant(*which)?;
                self.push(v);
            }
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
                match self.local(*l) {
                    Some(v) => self.check_end(*l, &v)?,
                    None => return Err(self.unbound_local(*l)),
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
            Op::LoadAttr(n) => {
                let obj = self.pop()?;
                let flow = self.getattr(&obj, &self.name(*n))?;
                return Ok(self.push_flow(flow));
            }
            Op::LoadMethod { name, null_first } => {
                let obj = self.pop()?;
                let name = self.name(*name);
                if let Var::Lazy(l) = &obj
                    && &*name == "append"
                    && self.is_unread_list(l)
                {
                    let method = Var::BuiltinMethod(Rc::new((obj, name)));
                    self.push_method(method, *null_first);
                    return Ok(Next::Fall);
                }
                // A pushed frame (a property, `__getattr__`) runs to its end here: its result
                // takes two stack slots, which `OnReturn::Push` does not know.
                let v = self.getattr_sync(&obj, &name)?;
                self.push_method(v, *null_first);
            }
            Op::LoadSuperAttr {
                name,
                method,
                two_arg,
                null_first,
            } => {
                let mut parts = self.popn(3)?;
                let (receiver, class) = (parts.remove(2), parts.remove(1));
                let callee = self.realize(&parts[0])?;
                let sup = match &callee {
                    Var::Py(p) if p.obj.is(&self.known.super_) => {
                        self.super_of(&class, &receiver)?
                    }
                    _ => {
                        // Something else of that name: it gets what the program wrote.
                        let given = if *two_arg {
                            vec![class, receiver]
                        } else {
                            vec![]
                        };
                        self.call_sync(&callee, Args::pos(given))?
                    }
                };
                let name = self.name(*name);
                let v = self.getattr_sync(&sup, &name)?;
                if *method {
                    self.push_method(v, *null_first);
                } else {
                    self.push(v);
                }
            }
            Op::LoadSpecial(which) => self.load_special(*which)?,
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
                let same = self.is_operator(&a, &b)?;
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
                let s = (self.rules.builtins.format_value)(self, &v, *conv, spec.as_ref())?;
                self.push(s);
            }
            Op::BuildInterpolation { conv, spec } => {
                let spec = if *spec { self.pop()? } else { self.str("") };
                let mut parts = self.popn(2)?;
                let conv = conv.map_or_else(|| self.none(), |c| self.str(c.letter()));
                parts.extend([conv, spec]);
                return self.template_part(TemplatePart::Interpolation, parts);
            }
            Op::BuildTemplate => {
                let parts = self.popn(2)?;
                return self.template_part(TemplatePart::Whole, parts);
            }
            Op::ConvertValue(conv) => {
                let v = self.pop()?;
                let s = (self.rules.builtins.convert_or_wait)(self, &v, *conv)?;
                self.push(s);
            }
            Op::Jump { to, .. } => return Ok(Next::Jump(*to)),
            Op::PopJump { cond, to } => {
                let v = self.pop()?;
                let take = match (self.assert_branch(&v, *cond, *to)?, cond) {
                    (Some(jumps), _) => jumps,
                    (None, JumpCond::True) => self.truth(&v)?,
                    (None, JumpCond::False) => !self.truth(&v)?,
                    (None, JumpCond::None) => self.is_none(&v)?,
                    (None, JumpCond::NotNone) => !self.is_none(&v)?,
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
                self.push_iterator(it);
            }
            Op::GetYieldFromIter(_) => {
                let v = self.pop()?;
                let it = if self.is_generator(&v) {
                    v
                } else {
                    self.get_iter(&v)?
                };
                self.push_iterator(it);
            }
            Op::ForIter { to } => {
                let it = self.peek(self.iterator_slots())?;
                match self.iter_next(&it)? {
                    Some(v) => self.push(v),
                    None => {
                        self.pop_iterator()?;
                        return Ok(Next::Jump(self.behind_loop(*to)));
                    }
                }
            }
            Op::Send { to } => {
                let sent = self.pop()?;
                let receiver = self.peek(self.iterator_slots())?;
                return self.send(&receiver, sent, *to);
            }
            Op::PopIter => self.pop_iterator()?,
            Op::EndSend => {
                let v = self.pop()?;
                self.pop_iterator()?;
                self.push(v);
            }
            Op::CleanupThrow => {
                // What `yield from` delegates to ended with an exception.
                let exc = self.pop()?;
                self.pop()?;
                self.pop_iterator()?;
                let stop = Stop::Raise(exc.clone());
                if !self.is_raise_of(&stop, "StopIteration") {
                    return Err(stop);
                }
                let value = self.getattr_sync(&exc, &"value".into())?;
                self.push_iterator(self.none());
                self.push(value);
            }
            Op::YieldValue(_) => {
                let v = self.pop()?;
                self.generator_yield(v)?;
                return Ok(Next::Frame);
            }
            Op::ReturnGenerator if self.st.frame.generator.is_none() => {
                return self.return_generator();
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
            Op::ImportName {
                name,
                when: ImportTime::Now,
            } => {
                let fromlist = self.pop()?;
                let level = self.pop()?;
                let v = self.import_name(&self.name(*name), &level, &fromlist)?;
                self.push(v);
            }
            Op::ImportFrom(n) => {
                let module = self.peek(1)?;
                let v = self.import_from(&module, &self.name(*n))?;
                self.push(v);
            }
            Op::BeforeWith => return self.before_with(),
            Op::WithExceptStart => {
                let exc = self.peek(1)?;
                let class = Var::py(self.type_of(&exc)?);
                let traceback = self.traceback_of(&exc);
                let mut args = vec![class, exc, traceback];
                let slots = self.version().exit_slots();
                let exit = self.peek(3 + slots)?;
                if slots == 2 && !matches!(self.peek(4)?, Var::Null) {
                    args.insert(0, self.peek(4)?);
                }
                let flow = self.call(&exit, Args::pos(args))?;
                return Ok(self.push_flow(flow));
            }
            Op::PushExcInfo => {
                let exc = self.pop()?;
                self.push(Var::Handled(Rc::new(exc.clone())));
                self.push(exc.clone());
                self.st.frame.handling.push_back(exc);
            }
            Op::CheckExcMatch => {
                let classes = self.pop()?;
                let exc = self.peek(1)?;
                let class = Var::py(self.type_of(&exc)?);
                let matches = self.exception_matches(&class, &classes)?;
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
            Op::MatchSequence => self.match_shape(patterns::Shape::Sequence)?,
            Op::MatchMapping => self.match_shape(patterns::Shape::Mapping)?,
            Op::MatchKeys => self.match_keys()?,
            Op::MatchClass(n) => self.match_class(*n as usize)?,
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
            Op::LoadBuildClass
            | Op::LoadLocals
            | Op::LoadName(_)
            | Op::StoreName(_)
            | Op::DeleteName(_)
            | Op::LoadFromDictOrGlobals(_)
            | Op::LoadFromDictOrDeref(_)
            | Op::SetupAnnotations
            | Op::GetAwaitable(_)
            | Op::GetAiter
            | Op::GetAnext
            | Op::EndAsyncFor { .. }
            | Op::BeforeAsyncWith
            | Op::ImportName { .. }
            | Op::CheckEgMatch
            | Op::CallIntrinsic1(_)
            | Op::CallIntrinsic2(_)
            | Op::Other { .. } => return Err(missing::stop(op)),
        }
        Ok(Next::Fall)
    }

    /// Whether the next instruction is a jump on truth.
    pub(crate) fn jump_follows(&self) -> bool {
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

    fn template_part(&mut self, part: TemplatePart, parts: Vec<Var>) -> R<Next> {
        let flow = (self.rules.builtins.template)(self, part, Args::pos(parts))?;
        Ok(self.push_flow(flow))
    }

    /// How many values an iterator takes on the stack.
    fn iterator_slots(&self) -> u32 {
        self.version().iterator_slots()
    }

    fn push_iterator(&mut self, it: Var) {
        self.push(it);
        (1..self.iterator_slots()).for_each(|_| self.push(Var::Null));
    }

    fn pop_iterator(&mut self) -> R<()> {
        let slots = self.iterator_slots();
        self.popn(slots).map(drop)
    }

    /// Behind what stands at a loop's end; the target itself where that is nothing.
    pub(crate) fn behind_loop(&self, to: Label) -> Label {
        let body = &self.st.frame.code.body;
        let end = body.version.loop_end().iter();
        let there = body.instrs[to.0 as usize..].iter();
        let is_end = end.zip(there).take_while(|(op, at)| **op == at.op);
        Label(to.0 + is_end.count() as u32)
    }

    pub(crate) fn push_method(&mut self, v: Var, null_first: bool) {
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
    pub(crate) fn is_none(&mut self, v: &Var) -> R<bool> {
        if let Var::Lazy(l) = v
            && !l.obj.is_none(self.py)
            && self.st.effects.known(l.obj.as_ptr() as usize).is_none()
        {
            self.guard(l.source, GuardKind::NotNoneMatch);
            return Ok(false);
        }
        Ok(self.look(v)?.is_none(self.py))
    }
}

/// Whether an instruction can break the graph, whatever the state.
pub(crate) fn may_break(op: &Op) -> bool {
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
            | Op::LoadSmallInt(_)
            | Op::LoadCommon(_)
            | Op::PopIter
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
