//! Bodies as Python.

mod support;

use bytecode::op::{ConstIdx, JumpCond, Label, LocalIdx, Op};
use bytecode::{Body, ExceptEntry, Instr, Location, Names, Version, decode, decompile};
use support::sample;

fn load(n: u32) -> Op {
    Op::LoadFast {
        local: LocalIdx(n),
        check: false,
    }
}

fn store(n: u32) -> Op {
    Op::StoreFast(LocalIdx(n))
}

fn constant(n: u32) -> Op {
    Op::LoadConst(ConstIdx(n))
}

fn call(argc: u32) -> Op {
    Op::Call {
        argc,
        kw_names: None,
    }
}

fn branch(to: u32) -> Op {
    Op::PopJump {
        cond: JumpCond::False,
        to: Label(to),
    }
}

fn jump(to: u32) -> Op {
    Op::Jump {
        to: Label(to),
        no_interrupt: false,
    }
}

/// The text of a body of 3.12 with locals `x`, `y`, `z` and constants `None`, `f`, `g`.
fn text(ops: &[Op], handlers: Vec<ExceptEntry>) -> String {
    let instrs = ops
        .iter()
        .map(|op| Instr::new(op.clone(), Location::NONE))
        .collect();
    let body = Body {
        version: Version::V312,
        instrs,
        handlers,
    };
    let strings = |names: &[&str]| names.iter().map(|&name| name.into()).collect::<Vec<_>>();
    let (consts, locals) = (strings(&["None", "f", "g"]), strings(&["x", "y", "z"]));
    let names = Names {
        consts: &consts,
        names: &[],
        locals: &locals,
    };
    decompile(&body, &names)
}

#[test]
fn a_graph_is_called_and_its_results_are_used() {
    let ops = [
        Op::PushNull,
        constant(1),
        load(0),
        call(1),
        Op::UnpackSequence(2),
        store(1),
        store(2),
        load(1),
        load(2),
        Op::BuildTuple(2),
        Op::ReturnValue,
    ];
    insta::assert_snapshot!(text(&ops, vec![]), @r"
    y, z = f(x)
    return (y, z)
    ");
}

#[test]
fn a_value_keeps_what_it_was_when_its_local_changes() {
    // x and f(x) are on the stack while x is written.
    let ops = [
        load(0),
        Op::PushNull,
        constant(1),
        load(0),
        call(1),
        constant(0),
        store(0),
        Op::BuildTuple(2),
        Op::ReturnValue,
    ];
    insta::assert_snapshot!(text(&ops, vec![]), @r"
    _1 = x
    _2 = f(x)
    x = None
    return (_1, _2)
    ");
}

#[test]
fn branches_join() {
    let ops = [
        load(0),
        branch(4),
        load(1),
        jump(5),
        load(2),
        Op::ReturnValue,
    ];
    insta::assert_snapshot!(text(&ops, vec![]), @r"
    if x:
        _1 = y
    else:
        _1 = z
    return _1
    ");
}

#[test]
fn what_is_covered_stays_in_its_try() {
    let ops = [
        Op::PushNull,
        constant(1),
        call(0),
        Op::ReturnValue,
        Op::PopTop,
        Op::ReturnConst(ConstIdx(0)),
    ];
    let entry = ExceptEntry {
        start: Label(0),
        end: Label(3),
        target: Label(4),
        depth: 0,
        lasti: false,
    };
    insta::assert_snapshot!(text(&ops, vec![entry]), @r"
    try:
        _1 = f()
    except BaseException as exception:
        return None
    return _1
    ");
}

#[test]
fn jumps_that_do_not_nest_are_labels() {
    // Two ways into the middle of what is repeated.
    let ops = [
        load(0),
        branch(3),
        Op::Nop,
        load(1),
        branch(2),
        Op::ReturnConst(ConstIdx(0)),
    ];
    insta::assert_snapshot!(text(&ops, vec![]), @r"
    if not x: goto 3
    # 2:
    # 3:
    if not y: goto 2
    return None
    ");
}

#[test]
fn samples() {
    for version in Version::ALL {
        let mut text = String::new();
        for (fields, label) in sample(version) {
            let name = label.rsplit(':').next().unwrap_or_default();
            let body = decode(&fields).expect("decodes");
            let python = decompile(&body, &Names::of(&fields));
            assert!(!python.is_empty(), "{version} {label}");
            text.push_str(&format!("== {name}\n{python}"));
        }
        if version == Version::V312 {
            insta::assert_snapshot!("sample_as_python", text);
        }
    }
}
