//! What an [`Op`] says about control flow and locals, for each version alike.

use crate::code::Version;
use crate::op::{FuncAttr, Label, LocalIdx, Op, UnaryOp};
use crate::operand;

/// How an instruction uses a local.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalUse {
    /// which
    pub local: LocalIdx,
    /// the value (or the cell) is needed
    pub reads: bool,
    /// what was there before is gone afterwards
    pub writes: bool,
}

impl Op {
    /// Where it may jump to.
    pub fn target(&self) -> Option<Label> {
        match *self {
            Op::Jump { to, .. }
            | Op::PopJump { to, .. }
            | Op::JumpIfOrPop { to, .. }
            | Op::ForIter { to }
            | Op::Send { to } => Some(to),
            _ => None,
        }
    }

    /// The label in it, to be changed: where it may jump to, or what an [`Op::EndAsyncFor`] refers to.
    pub fn target_mut(&mut self) -> Option<&mut Label> {
        match self {
            Op::Jump { to, .. }
            | Op::PopJump { to, .. }
            | Op::JumpIfOrPop { to, .. }
            | Op::ForIter { to }
            | Op::Send { to } => Some(to),
            Op::EndAsyncFor { from } => from.as_mut(),
            _ => None,
        }
    }

    /// Whether control can go on to the next instruction.
    pub fn falls_through(&self) -> bool {
        !matches!(
            self,
            Op::Jump { .. }
                | Op::ReturnValue
                | Op::ReturnConst(_)
                | Op::RaiseVarargs(_)
                | Op::Reraise(_)
        )
    }

    /// Whether it is the `Resume` that a frame starts with once it is set up. A generator expression of
    /// 3.15 has one more before, where it takes the iterator of what it is called with.
    pub fn is_start(&self, version: Version) -> bool {
        matches!(*self, Op::Resume(arg) if !operand::resumes_before_generator(version, arg))
    }

    /// Whether an exception can come out of it. CPython 3.15 lets the handler of a generator expression
    /// cover the return of its end, where less is on the stack than the handler keeps.
    pub fn can_raise(&self) -> bool {
        !matches!(
            self,
            Op::Nop
                | Op::LoadConst(_)
                | Op::LoadSmallInt(_)
                | Op::LoadCommon(_)
                | Op::ReturnValue
                | Op::ReturnConst(_)
        )
    }

    /// Whether the top of the stack is an exact `bool` afterwards. What a 3.13 jump on truth needs.
    pub fn leaves_exact_bool(&self) -> bool {
        matches!(
            self,
            Op::Compare { to_bool: true, .. }
                | Op::Is { .. }
                | Op::Contains { .. }
                | Op::ToBool
                | Op::Unary(UnaryOp::Not)
                | Op::CheckExcMatch
                | Op::MatchMapping
                | Op::MatchSequence
        )
    }

    /// The local, cell or free variable that it uses. Cells are read by whatever touches what is in
    /// them. [`Op::CopyFreeVars`] is not among them: it writes the last `n`.
    pub fn local_use(&self) -> Option<LocalUse> {
        let (local, reads, writes) = match *self {
            Op::LoadFast { local, .. }
            | Op::LoadClosure(local)
            | Op::LoadDeref(local)
            | Op::StoreDeref(local)
            | Op::DeleteDeref(local)
            | Op::LoadClassDeref(local)
            | Op::LoadFromDictOrDeref(local) => (local, true, false),
            Op::LoadFastAndClear(local) | Op::DeleteFast(local) | Op::MakeCell(local) => {
                (local, true, true)
            }
            Op::StoreFast(local) => (local, false, true),
            _ => return None,
        };
        Some(LocalUse {
            local,
            reads,
            writes,
        })
    }
}

impl FuncAttr {
    /// How many parts are on the stack for this bit set.
    pub fn count(self) -> u32 {
        (self.0 & FuncAttr::ALL).count_ones()
    }
}
