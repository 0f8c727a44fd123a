//! Which loads of locals borrow: those whose value is taken while the local still holds it.

use bytecode::op::{JumpCond, Label, LocalIdx, NameIdx, Op};
use bytecode::{Body, Enc, ExceptEntry, Instr, Location, Version, borrowing_loads, stack_depths};

const X: LocalIdx = LocalIdx(0);
const Y: LocalIdx = LocalIdx(1);

fn load(local: LocalIdx) -> Op {
    Op::LoadFast {
        local,
        check: false,
    }
}

fn call(argc: u32) -> Op {
    Op::Call {
        argc,
        kw_names: None,
    }
}

fn body(ops: &[Op]) -> Body {
    let instrs = ops
        .iter()
        .map(|op| Instr::new(op.clone(), Location::NONE))
        .collect();
    Body {
        version: Version::V315,
        instrs,
        handlers: vec![],
    }
}

/// The indices of the instructions that borrow.
fn borrowing(body: &Body) -> Vec<usize> {
    stack_depths(body).expect("the body is well-formed");
    let found = borrowing_loads(body).expect("the body is well-formed");
    (0..found.len()).filter(|&at| found[at]).collect()
}

#[track_caller]
fn check(ops: &[Op], expected: &[usize]) {
    assert_eq!(borrowing(&body(ops)), expected);
}

#[test]
fn what_is_taken_at_once() {
    check(&[load(X), Op::ReturnValue], &[0]);
    check(
        &[load(X), load(Y), Op::BinarySubscr, Op::ReturnValue],
        &[0, 1],
    );
    check(
        &[load(X), Op::PushNull, load(Y), call(1), Op::ReturnValue],
        &[0, 2],
    );
}

#[test]
fn a_local_that_changes_before_the_value_is_taken() {
    let call_with = |change: &[Op]| {
        let start = [load(Y), Op::PushNull, load(X)];
        [&start, change, &[call(1), Op::ReturnValue]].concat()
    };
    check(&call_with(&[Op::DeleteFast(X)]), &[0]);
    check(&call_with(&[Op::PushNull, Op::StoreFast(X)]), &[0]);
    check(&call_with(&[Op::LoadFastAndClear(X), Op::PopTop]), &[0]);
    check(&call_with(&[Op::MakeCell(X)]), &[0]);
    check(&call_with(&[Op::PushNull, Op::StoreDeref(X)]), &[0, 2]);
}

#[test]
fn what_goes_into_a_local() {
    check(&[load(X), Op::StoreFast(Y), load(Y), Op::ReturnValue], &[2]);
}

#[test]
fn copies_are_the_same_reference() {
    let copied = [
        load(X),
        Op::Copy(1),
        Op::PopTop,
        Op::DeleteFast(X),
        Op::ReturnValue,
    ];
    check(&copied, &[]);
    check(
        &[load(X), Op::Copy(1), Op::StoreFast(Y), Op::ReturnValue],
        &[],
    );
    let swapped = [
        load(X),
        load(Y),
        Op::Swap(2),
        Op::PopTop,
        Op::DeleteFast(Y),
        Op::ReturnValue,
    ];
    check(&swapped, &[0]);
}

#[test]
fn self_stays_until_the_call() {
    let method = Op::LoadMethod {
        name: NameIdx(0),
        null_first: false,
    };
    let with = |between: &[Op]| {
        [
            &[load(X), method.clone()],
            between,
            &[call(0), Op::ReturnValue],
        ]
        .concat()
    };
    check(&with(&[]), &[0]);
    check(&with(&[Op::DeleteFast(X)]), &[]);
}

#[test]
fn what_an_instruction_looks_at_and_leaves() {
    check(
        &[load(X), Op::MatchMapping, Op::PopTop, Op::ReturnValue],
        &[],
    );
    check(
        &[load(X), Op::GetIter, Op::PopIter, load(X), Op::ReturnValue],
        &[3],
    );
    let appended = [
        Op::BuildList(0),
        load(X),
        Op::ListAppend(1),
        Op::DeleteFast(X),
        Op::ReturnValue,
    ];
    check(&appended, &[1]);
}

#[test]
fn what_a_block_leaves_on_the_stack() {
    let ops = [
        load(X),
        load(Y),
        Op::PopJump {
            cond: JumpCond::None,
            to: Label(4),
        },
        Op::Nop,
        Op::ReturnValue,
    ];
    check(&ops, &[1]);
}

#[test]
fn handlers() {
    let mut tried = body(&[
        load(X),
        Op::PopTop,
        load(Y),
        Op::ReturnValue,
        load(X),
        Op::Swap(2),
        Op::Reraise(0),
    ]);
    tried.handlers.push(ExceptEntry {
        start: Label(0),
        end: Label(2),
        target: Label(4),
        depth: 0,
        lasti: false,
    });
    assert_eq!(borrowing(&tried), [0, 2]);
}

#[test]
fn two_loads_in_one_instruction_borrow_together() {
    let joined = |change: Op| {
        let mut body = body(&[load(X), load(Y), change, Op::BinarySubscr, Op::ReturnValue]);
        body.instrs[0].enc = Enc::FuseNext;
        body.instrs[1].enc = Enc::Exact;
        body.borrow_loads().expect("the body is well-formed");
        body.instrs[0].enc.clone()
    };
    assert_eq!(joined(Op::Nop), Enc::BorrowBoth);
    assert_eq!(joined(Op::DeleteFast(Y)), Enc::FuseNext);
}

#[test]
fn older_versions_have_no_borrowed_references() {
    let mut body = body(&[load(X), Op::ReturnValue]);
    body.version = Version::V313;
    body.borrow_loads().expect("the body is well-formed");
    assert_eq!(body.instrs[0].enc, Enc::Synthetic);
}
