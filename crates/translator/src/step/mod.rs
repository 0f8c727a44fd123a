//! The instruction loop: what each normalised instruction does to the symbolic state.
//!
//! One arm an instruction, in [`Tx::exec`], which the compiler keeps complete. An instruction with more to say than
//! a few lines has a function of its own, in the module beside this one that its kind has, or in that of the values
//! that it works on. An instruction without a rule breaks the graph with its own reason ([`missing`]).

mod asserted;
mod attributes;
mod building;
mod calls;
mod cells;
pub mod ends;
mod functions;
mod globals;
mod handlers;
mod jumps;
mod missing;
mod operators;
mod patterns;
mod raised;
mod run;
mod stack;

pub use missing::{Missing, missing_instruction};

use bytecode::op::{ImportTime, Label, Op, UnaryOp};
use variables::Var;

use crate::rules::TemplatePart;
use crate::stop::{BreakReason, R, Stop};
use crate::tx::Tx;

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
            Op::Swap(n) => self.swap_top(*n)?,
            Op::LoadConst(c) => self.push(self.constant(*c)),
            Op::LoadSmallInt(n) => self.push(self.int(i64::from(*n))),
            Op::LoadCommon(which) => {
                let v = self.common_constant(*which)?;
                self.push(v);
            }
            Op::LoadFast { local, .. } => self.load_local(*local)?,
            Op::LoadFastAndClear(l) => {
                let v = self.local(*l).unwrap_or(Var::Null);
                self.set_local(*l, None);
                self.push(v);
            }
            Op::StoreFast(l) => self.store_local(*l)?,
            Op::DeleteFast(l) => self.delete_local(*l)?,
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
            Op::LoadMethod { name, null_first } => return self.load_method(*name, *null_first),
            Op::LoadSuperAttr {
                name,
                method,
                two_arg,
                null_first,
            } => self.load_super_attr(*name, *method, *two_arg, *null_first)?,
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
                let not = self.not(&v)?;
                self.push(not);
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
            Op::Compare { op, to_bool } => return self.compare_top(*op, *to_bool),
            Op::Is { invert } => {
                let b = self.pop()?;
                let a = self.pop()?;
                let same = self.is_operator(&a, &b)?;
                self.push(self.bool(same != *invert));
            }
            Op::Contains { invert } => {
                let container = self.pop()?;
                let item = self.pop()?;
                let mut found = match (self.rules.torch.contains_read)(self, &container, &item)? {
                    Some(condition) => condition,
                    None => self
                        .contains(&container, &item)
                        .map(|found| self.bool(found))?,
                };
                if *invert {
                    found = self.not(&found)?;
                }
                self.push(found);
            }
            Op::ToBool => return self.bool_of_top(),
            Op::BinarySubscr => {
                let key = self.pop()?;
                let obj = self.pop()?;
                let flow = self.getitem(&obj, &key)?;
                return Ok(self.push_flow(flow));
            }
            Op::StoreSubscr => return self.store_subscr(),
            Op::DeleteSubscr => {
                let key = self.pop()?;
                let obj = self.pop()?;
                let flow = self.delitem(&obj, &key)?;
                return Ok(self.discard_flow(flow));
            }
            Op::BinarySlice => return self.load_slice(),
            Op::StoreSlice => return self.store_slice(),
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
            Op::BuildConstKeyMap(n) => self.build_const_key_map(*n)?,
            Op::BuildString(n) => {
                let items = self.popn(*n)?;
                let v = self.build_string(&items)?;
                self.push(v);
            }
            Op::BuildSlice(n) => self.build_slice(*n)?,
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
            Op::MapAdd(n) => self.map_add_top(*n)?,
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
            Op::DictMerge(n) => self.dict_merge_top(*n)?,
            Op::UnpackSequence(n) => self.unpack_sequence(*n)?,
            Op::UnpackEx { before, after } => self.unpack_with_rest(*before, *after)?,
            Op::FormatValue { conv, spec } => self.format_top(*conv, *spec)?,
            Op::BuildInterpolation { conv, spec } => return self.build_interpolation(*conv, *spec),
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
            Op::PopJump { cond, to } => return self.pop_jump(*cond, *to),
            Op::JumpIfOrPop { when, to } => return self.jump_if_or_pop(*when, *to),
            Op::GetIter => {
                let v = self.pop()?;
                let it = self.get_iter(&v)?;
                self.push_iterator(it);
            }
            Op::GetYieldFromIter(_) => self.get_yield_from_iter()?,
            Op::ForIter { to } => return self.for_iter(*to),
            Op::Send { to } => return self.send_top(*to),
            Op::PopIter => self.pop_iterator()?,
            Op::EndSend => {
                let v = self.pop()?;
                self.pop_iterator()?;
                self.push(v);
            }
            Op::CleanupThrow => self.cleanup_throw()?,
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
            Op::WithExceptStart => return self.with_except_start(),
            Op::PushExcInfo => self.push_exc_info()?,
            Op::CheckExcMatch => self.check_exc_match()?,
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
                self.stop_iteration_error()?
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
