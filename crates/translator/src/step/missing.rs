//! Instructions that are not interpreted, each with its reason. `docs/opcodes.md` is made from this:
//! an instruction that is not listed here counts as interpreted.

use bytecode::op::{ImportTime, Intrinsic1, Intrinsic2, Op, Special};

use crate::stop::Stop;

/// Why an instruction is left to Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// what the statement is
    pub what: &'static str,
    /// what the user can do about it
    pub hint: &'static str,
}

const fn missing(what: &'static str, hint: &'static str) -> Option<Missing> {
    Some(Missing { what, hint })
}

/// Why [`super::Next`] cannot be found for an instruction; `None` for one that is interpreted.
pub fn missing_instruction(op: &Op) -> Option<Missing> {
    let out = "Move the statement out of the compiled function.";
    match op {
        Op::LoadBuildClass
        | Op::LoadLocals
        | Op::LoadName(_)
        | Op::StoreName(_)
        | Op::DeleteName(_)
        | Op::LoadFromDictOrGlobals(_)
        | Op::LoadFromDictOrDeref(_)
        | Op::SetupAnnotations => missing(
            "A class statement runs its body in a namespace of its own, and its metaclass",
            "Define the class outside of the compiled function.",
        ),
        Op::GetAwaitable(_)
        | Op::GetAiter
        | Op::GetAnext
        | Op::EndAsyncFor { .. }
        | Op::LoadSpecial(Special::AsyncEnter | Special::AsyncExit)
        | Op::BeforeAsyncWith
        | Op::CallIntrinsic1(Intrinsic1::AsyncGenWrap) => missing(
            "What is awaited runs in an event loop",
            "Compile the functions that a coroutine calls, not the coroutine.",
        ),
        Op::CheckEgMatch | Op::CallIntrinsic2(Intrinsic2::PrepReraiseStar) => {
            missing("`except*` takes an exception group apart", out)
        }
        Op::CallIntrinsic1(Intrinsic1::Print) => {
            missing("The interactive prompt shows a value", out)
        }
        Op::CallIntrinsic1(Intrinsic1::ImportStar) => {
            missing("`from module import *` writes to a namespace", out)
        }
        Op::CallIntrinsic1(
            Intrinsic1::TypeVar
            | Intrinsic1::ParamSpec
            | Intrinsic1::TypeVarTuple
            | Intrinsic1::SubscriptGeneric
            | Intrinsic1::TypeAlias,
        )
        | Op::CallIntrinsic2(
            Intrinsic2::TypeVarWithBound
            | Intrinsic2::TypeVarWithConstraints
            | Intrinsic2::SetFunctionTypeParams
            | Intrinsic2::SetTypeparamDefault,
        ) => missing(
            "Type parameters are made when a definition runs",
            "Define generic functions, classes and aliases outside of the compiled function.",
        ),
        Op::ImportName {
            when: ImportTime::Lazy | ImportTime::Setting,
            ..
        } => missing("A module is loaded when its name is first used", out),
        Op::Other { .. } => missing("No function has this opcode in its body", out),
        _ => None,
    }
}

/// The break at an instruction that is not interpreted.
pub(super) fn stop(op: &Op) -> Stop {
    let name = format!("{op:?}");
    let name = name.split([' ', '(', '{']).next().unwrap_or_default();
    match missing_instruction(op) {
        Some(why) => Stop::brk(
            format!("Missing bytecode handler: {name}"),
            format!("{}; the instruction {name} runs in eager mode.", why.what),
            why.hint,
        ),
        None => Stop::Internal(format!("no handler of {op:?}")),
    }
}
