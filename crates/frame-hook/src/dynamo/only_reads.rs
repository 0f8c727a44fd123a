//! Residual code that does no more with its `**kwargs` than to read items of it: found in its instructions.
//!
//! Such code may be given a dictionary of the caller's in place of a copy. Its reads come before anything else runs,
//! so it cannot tell the two apart, and neither can the caller.

use bytecode::op::{LocalIdx, Op};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCode;
use translator::code::CodeInfo;

use cpython_abi::code::RawCode;

/// Whether `code` has `**kwargs`, and only reads items of it by constant keys, before anything runs.
pub fn keywords(code: &Bound<'_, PyAny>) -> bool {
    let Ok(code) = code.cast::<PyCode>() else {
        return false;
    };
    // SAFETY: a code object, whose head the self-check has found as declared.
    let raw = unsafe { &*code.as_ptr().cast::<RawCode>() };
    if raw.flags & ffi::CO_VARKEYWORDS == 0 {
        return false;
    }
    let local = LocalIdx(raw.argument_slots() as u32 - 1);
    CodeInfo::new(code.as_any()).is_ok_and(|info| {
        let ops: Vec<&Op> = info.body.instrs.iter().map(|instr| &instr.op).collect();
        only_reads(&ops, local)
    })
}

/// Whether all that is done with a local is to read items of it by constant keys, among the loads in front.
fn only_reads(ops: &[&Op], local: LocalIdx) -> bool {
    let uses = |op: &Op| op.local_use().is_some_and(|used| used.local == local);
    let mut at = 0;
    loop {
        at += match &ops[at..] {
            [load, Op::LoadConst(_), Op::BinarySubscr, ..] if uses(load) => {
                if !matches!(load, Op::LoadFast { .. }) {
                    return false;
                }
                3
            }
            [op, ..] if is_load(op) && !uses(op) => 1,
            rest => return !rest.iter().any(|op| uses(op)),
        };
    }
}

/// Whether an instruction runs nobody's code and begins nothing.
fn is_load(op: &Op) -> bool {
    matches!(
        op,
        Op::Nop
            | Op::Resume(_)
            | Op::CopyFreeVars(_)
            | Op::MakeCell(_)
            | Op::PushNull
            | Op::LoadConst(_)
            | Op::LoadFast { .. }
            | Op::Copy(_)
            | Op::Swap(_)
    )
}

#[cfg(test)]
mod tests {
    use bytecode::op::ConstIdx;

    use super::*;

    const KEYWORDS: LocalIdx = LocalIdx(1);

    fn load(local: u32) -> Op {
        Op::LoadFast {
            local: LocalIdx(local),
            check: false,
        }
    }

    fn read(local: u32) -> [Op; 3] {
        [load(local), Op::LoadConst(ConstIdx(0)), Op::BinarySubscr]
    }

    fn call(argc: u32) -> Op {
        Op::Call {
            argc,
            kw_names: None,
        }
    }

    fn is_found(ops: impl IntoIterator<Item = Op>) -> bool {
        let ops: Vec<Op> = ops.into_iter().collect();
        only_reads(&ops.iter().collect::<Vec<_>>(), KEYWORDS)
    }

    fn head() -> impl Iterator<Item = Op> {
        [Op::Resume(0), Op::PushNull, Op::LoadConst(ConstIdx(3))].into_iter()
    }

    #[test]
    fn items_that_are_read_in_front_of_the_graph() {
        let tail = || [call(2), Op::ReturnValue];
        assert!(is_found(head().chain(read(1)).chain(read(1)).chain(tail())));
        assert!(is_found(
            head().chain([load(0)]).chain(read(1)).chain(tail())
        ));
        assert!(is_found(head().chain([load(0), load(0)]).chain(tail())));
    }

    #[test]
    fn an_item_that_is_read_behind_a_call() {
        let behind = head().chain([call(0)]).chain(read(1));
        assert!(!is_found(behind.chain([Op::ReturnValue])));
    }

    #[test]
    fn whatever_else_is_done_with_it() {
        for used in [
            vec![load(1), call(1), Op::ReturnValue],
            vec![load(1), Op::ReturnValue],
            vec![load(1), load(0), Op::BinarySubscr, Op::ReturnValue],
            vec![load(0), Op::StoreFast(KEYWORDS), load(0), Op::ReturnValue],
            vec![Op::DeleteFast(KEYWORDS), load(0), Op::ReturnValue],
            vec![Op::MakeCell(KEYWORDS), load(0), Op::ReturnValue],
        ] {
            assert!(!is_found(head().chain(used.clone())), "{used:?}");
        }
    }

    #[test]
    fn an_item_of_another_local_by_a_subscript_that_may_run_code() {
        let behind = head().chain(read(0)).chain(read(1));
        assert!(!is_found(behind.chain([call(2), Op::ReturnValue])));
    }
}
