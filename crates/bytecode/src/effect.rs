//! Stack effects of normalised instructions.

use crate::code::Version;
use crate::op::Op;

/// By how many slots the stack grows. `jump`: the effect where a jump is taken (no difference for
/// an instruction that cannot jump). Follows the effects written at [`Op`]; CPython's
/// `_PyOpcode_num_pushed` less `_PyOpcode_num_popped` summed over what an `Op` was decoded from.
pub fn stack_effect(version: Version, op: &Op, jump: bool) -> i32 {
    let n = |count: u32| i32::try_from(count).unwrap_or(i32::MAX / 4);
    let iterator = n(version.iterator_slots());
    match *op {
        Op::Nop
        | Op::Resume(_)
        | Op::Swap(_)
        | Op::DeleteFast(_)
        | Op::MakeCell(_)
        | Op::CopyFreeVars(_)
        | Op::DeleteDeref(_)
        | Op::DeleteGlobal(_)
        | Op::DeleteName(_)
        | Op::SetupAnnotations => 0,

        Op::PushNull
        | Op::Copy(_)
        | Op::LoadConst(_)
        | Op::LoadSmallInt(_)
        | Op::LoadCommon(_)
        | Op::LoadFast { .. }
        | Op::LoadFastAndClear(_)
        | Op::LoadClosure(_)
        | Op::LoadDeref(_)
        | Op::LoadClassDeref(_)
        | Op::LoadLocals
        | Op::LoadGlobal(_)
        | Op::LoadName(_)
        | Op::LoadBuildClass => 1,

        Op::PopTop
        | Op::StoreFast(_)
        | Op::StoreDeref(_)
        | Op::StoreGlobal(_)
        | Op::StoreName(_)
        | Op::DeleteAttr(_) => -1,

        Op::LoadFromDictOrDeref(_) | Op::LoadFromDictOrGlobals(_) | Op::LoadAttr(_) => 0,
        Op::LoadMethod { .. } | Op::LoadSpecial(_) => 1,
        Op::LoadSuperAttr { method, .. } => -2 + i32::from(method),
        Op::StoreAttr(_) => -2,

        Op::Unary(_) | Op::ToBool | Op::ListToTuple | Op::ConvertValue(_) => 0,
        Op::Binary { .. } | Op::Compare { .. } | Op::Is { .. } | Op::Contains { .. } => -1,
        Op::BinarySubscr => -1,
        Op::StoreSubscr => -3,
        Op::DeleteSubscr | Op::BinarySlice => -2,
        Op::StoreSlice => -4,

        Op::BuildTuple(count)
        | Op::BuildList(count)
        | Op::BuildSet(count)
        | Op::BuildString(count)
        | Op::BuildSlice(count) => 1 - n(count),
        Op::BuildMap(count) => 1 - n(count).saturating_mul(2),
        Op::BuildConstKeyMap(count) => -n(count),
        Op::ListAppend(_) | Op::SetAdd(_) | Op::ListExtend(_) | Op::SetUpdate(_) => -1,
        Op::DictUpdate(_) | Op::DictMerge(_) => -1,
        Op::MapAdd(_) => -2,
        Op::UnpackSequence(count) => n(count) - 1,
        Op::UnpackEx { before, after } => n(before) + n(after),
        Op::FormatValue { spec, .. } => -i32::from(spec),
        Op::BuildInterpolation { spec, .. } => -1 - i32::from(spec),
        Op::BuildTemplate => -1,

        Op::Jump { .. } => 0,
        Op::PopJump { .. } => -1,
        Op::JumpIfOrPop { .. } => -i32::from(!jump),
        Op::GetIter | Op::GetYieldFromIter(_) => iterator - 1,
        Op::GetAwaitable(_) | Op::GetAiter => 0,
        Op::ForIter { .. } if jump && version == Version::V311 => -1,
        Op::ForIter { .. } => 1,
        Op::EndFor if version == Version::V312 => -2,
        Op::EndFor => -1,
        Op::EndSend | Op::PopIter => -iterator,
        Op::Send { .. } if jump && version == Version::V311 => -1,
        Op::Send { .. } | Op::YieldValue(_) => 0,
        Op::ReturnGenerator | Op::GetAnext => 1,
        Op::EndAsyncFor { .. } => -2,
        Op::CleanupThrow => -1,

        Op::Call { argc, .. } => -n(argc) - 1,
        Op::CallKw { argc } => -n(argc) - 2,
        Op::CallEx { kwargs } => -2 - i32::from(kwargs),
        Op::MakeFunction(parts) => -n(parts.count()),
        Op::SetFunctionAttribute(_) => -1,
        Op::ReturnValue => -1,
        Op::ReturnConst(_) => 0,

        Op::ImportName { .. } => -1,
        Op::ImportFrom(_) => 1,
        Op::CallIntrinsic1(_) => 0,
        Op::CallIntrinsic2(_) => -1,

        Op::BeforeWith | Op::BeforeAsyncWith | Op::WithExceptStart | Op::PushExcInfo => 1,
        Op::CheckExcMatch | Op::CheckEgMatch => 0,
        Op::PopExcept | Op::Reraise(_) => -1,
        Op::RaiseVarargs(count) => -n(count),

        Op::GetLen | Op::MatchMapping | Op::MatchSequence | Op::MatchKeys => 1,
        Op::MatchClass(_) => -2,
        Op::Other { .. } => 0,
    }
}

/// How many slots must be on the stack before the instruction: those it pops or looks at.
pub fn stack_needs(version: Version, op: &Op) -> u32 {
    let below = |n: u32, more: u32| n.saturating_add(more);
    let iterator = version.iterator_slots();
    match *op {
        Op::Copy(n) | Op::Swap(n) => n.max(1),
        Op::ListAppend(n) | Op::SetAdd(n) | Op::ListExtend(n) | Op::SetUpdate(n) => below(n, 1),
        Op::DictUpdate(n) => below(n, 1),
        // The callable of the call, which a duplicate keyword is reported with, is looked at.
        Op::DictMerge(n) if version.null_first() => below(n, 3),
        Op::DictMerge(n) => below(n, 4),
        Op::MapAdd(n) => below(n, 2),
        Op::Unary(_) | Op::ToBool | Op::ListToTuple | Op::ConvertValue(_) | Op::LoadAttr(_) => 1,
        Op::LoadMethod { .. } | Op::LoadSpecial(_) => 1,
        Op::UnpackSequence(_) | Op::UnpackEx { .. } => 1,
        Op::FormatValue { spec, .. } => 1 + u32::from(spec),
        Op::BuildInterpolation { spec, .. } => 2 + u32::from(spec),
        Op::BuildTemplate => 2,
        Op::LoadFromDictOrDeref(_) | Op::LoadFromDictOrGlobals(_) => 1,
        Op::LoadSuperAttr { .. } => 3,
        Op::Binary { .. } | Op::Compare { .. } | Op::Is { .. } | Op::Contains { .. } => 2,
        Op::BinarySubscr | Op::CallIntrinsic2(_) | Op::ImportName { .. } => 2,
        Op::BinarySlice => 3,
        Op::BuildTuple(n) | Op::BuildList(n) | Op::BuildSet(n) => n,
        Op::BuildString(n) | Op::BuildSlice(n) => n,
        Op::BuildMap(n) => n.saturating_mul(2),
        Op::BuildConstKeyMap(n) => below(n, 1),
        Op::JumpIfOrPop { .. } | Op::GetIter | Op::GetYieldFromIter(_) => 1,
        Op::GetAwaitable(_) | Op::GetAiter | Op::GetAnext | Op::YieldValue(_) => 1,
        Op::ForIter { .. } | Op::PopIter => iterator,
        Op::Send { .. } | Op::EndSend => 1 + iterator,
        Op::SetFunctionAttribute(_) => 2,
        Op::CleanupThrow => 2 + iterator,
        Op::Call { argc, .. } => below(argc, 2),
        Op::CallKw { argc } => below(argc, 3),
        Op::CallEx { kwargs } => 3 + u32::from(kwargs),
        Op::MakeFunction(parts) => 1 + parts.count(),
        Op::ImportFrom(_) | Op::CallIntrinsic1(_) | Op::BeforeWith | Op::BeforeAsyncWith => 1,
        Op::WithExceptStart => 3 + version.exit_slots(),
        Op::PushExcInfo | Op::GetLen | Op::MatchMapping | Op::MatchSequence => 1,
        Op::CheckExcMatch | Op::CheckEgMatch | Op::MatchKeys => 2,
        Op::Reraise(lasti) => below(lasti, 1),
        Op::MatchClass(_) => 3,
        ref op => stack_effect(version, op, false).min(0).unsigned_abs(),
    }
}
