//! Listings of decoded code, of hand-made bodies and of what the latter become on each version.

mod support;

use bytecode::op::{
    BinaryOp, CompareOp, ConstIdx, FuncAttr, JumpCond, LocalIdx, NameIdx, Op, UnaryOp,
};
use bytecode::{
    AsmInfo, Body, BodyBuilder, CodeFields, Location, Names, Version, assemble, decode, disassemble,
};
use support::sample;

fn listing(fields: &CodeFields) -> String {
    disassemble(&decode(fields).expect("decodes"), &Names::of(fields))
}

#[test]
fn samples() {
    for version in Version::ALL {
        let mut text = String::new();
        for (fields, label) in sample(version) {
            let name = label.rsplit(':').next().unwrap_or_default();
            text.push_str(&format!("== {name}\n{}", listing(&fields)));
        }
        insta::assert_snapshot!(format!("sample_{}", version.minor()), text);
    }
}

#[test]
fn samples_assemble_to_equal_bytes() {
    for version in Version::ALL {
        let codes = sample(version);
        assert!(codes.len() > 8);
        for (fields, label) in codes {
            let body = decode(&fields).expect("decodes");
            let info = AsmInfo {
                firstlineno: fields.firstlineno,
                limits: None,
            };
            let out = assemble(&body, &info).expect("assembles");
            assert_eq!(out.code, fields.code, "{version} {label}");
            assert_eq!(out.linetable, fields.linetable, "{version} {label}");
            assert_eq!(
                out.exceptiontable, fields.exceptiontable,
                "{version} {label}"
            );
        }
    }
}

/// Fields of a code object with three locals, two names, four constants and this body.
fn fields_of(body: &Body) -> CodeFields {
    let out = assemble(
        body,
        &AsmInfo {
            firstlineno: 1,
            limits: None,
        },
    )
    .expect("assembles");
    CodeFields {
        version: body.version,
        argcount: 3,
        posonlyargcount: 0,
        kwonlyargcount: 0,
        stacksize: out.stacksize,
        flags: 3,
        firstlineno: 1,
        code: out.code,
        linetable: out.linetable,
        exceptiontable: out.exceptiontable,
        names: vec!["f".into(), "g".into()],
        localsplusnames: vec!["x".into(), "y".into(), "z".into()],
        localspluskinds: vec![bytecode::kinds::LOCAL; 3],
        n_consts: 4,
    }
}

/// A body that uses what must be lowered differently on each version.
fn lowered(version: Version) -> Body {
    let mut b = BodyBuilder::new(version);
    let x = |check| Op::LoadFast {
        local: LocalIdx(0),
        check,
    };
    b.set_loc(Location::line(1));
    b.emit(Op::Resume(0));
    let top = b.here();
    b.set_loc(Location::line(2));
    b.emit_callable(Op::LoadGlobal(NameIdx(0)));
    b.emit(x(false));
    b.emit(Op::LoadFast {
        local: LocalIdx(1),
        check: true,
    });
    b.emit(Op::Call {
        argc: 2,
        kw_names: Some(ConstIdx(3)),
    });
    b.pop_jump(JumpCond::False, top);
    b.set_loc(Location::line(3));
    let end = b.new_label();
    b.emit_all([x(false), Op::Unary(UnaryOp::Positive)]);
    b.emit(Op::JumpIfOrPop {
        when: true,
        to: end,
    });
    b.emit_all([
        x(false),
        x(false),
        Op::Compare {
            op: CompareOp::Lt,
            to_bool: true,
        },
    ]);
    let skip = b.new_label();
    b.pop_jump(JumpCond::True, skip);
    b.emit_all([x(false), Op::ToBool, Op::PopTop]);
    b.bind(skip);
    b.emit_all([x(false), x(false), x(false), Op::BinarySlice]);
    b.emit_all([
        x(false),
        Op::Binary {
            op: BinaryOp::MatrixMultiply,
            inplace: true,
        },
    ]);
    b.emit_all([Op::LoadConst(ConstIdx(1)), Op::LoadConst(ConstIdx(2))]);
    b.emit_all([
        Op::MakeFunction(FuncAttr(FuncAttr::DEFAULTS)),
        Op::BuildTuple(2),
    ]);
    b.bind(end);
    b.make_callable();
    b.call(0);
    b.emit_all([Op::PopTop, Op::ReturnConst(ConstIdx(0))]);
    b.finish().expect("a body")
}

#[test]
fn hand_made_bodies() {
    for version in Version::ALL {
        let body = lowered(version);
        let fields = fields_of(&body);
        let names = Names::of(&fields);
        let text = format!(
            "== as built\n{}== as CPython {version} runs it (stack size {})\n{}",
            disassemble(&body, &names),
            fields.stacksize,
            listing(&fields)
        );
        insta::assert_snapshot!(format!("lowered_{}", version.minor()), text);
    }
}

#[test]
fn residual_shape() {
    // A prologue, a jump into the middle of a copied body, and a handler around the prologue.
    for version in Version::ALL {
        let (fields, _) = sample(version)
            .into_iter()
            .find(|(_, label)| label.ends_with(":handles"))
            .expect("the sample has it");
        let body = decode(&fields).expect("decodes");
        let depths = bytecode::stack_depths(&body).expect("has depths");
        let middle = depths
            .iter()
            .rposition(|d| *d == Some(0))
            .expect("a depth of 0") as u32;
        let mut b = BodyBuilder::new(version);
        let import = b.import(&body);
        let (start, end, target) = (b.here(), b.new_label(), b.new_label());
        b.emit_all([Op::LoadGlobal(NameIdx(0)), Op::PopTop]);
        b.bind(end);
        b.jump(import.label(bytecode::op::Label(middle)));
        b.bind(target);
        b.emit_all([Op::PushExcInfo, Op::PopTop, Op::PopExcept]);
        b.jump(import.label(bytecode::op::Label(middle)));
        b.copy(&import, &body, 0..body.instrs.len() as u32);
        b.handler(start, end, target, 0, false);
        let built = b.finish().expect("a body");
        let text = disassemble(&built, &Names::of(&fields));
        insta::assert_snapshot!(format!("residual_{}", version.minor()), text);
        let out = assemble(
            &built,
            &AsmInfo {
                firstlineno: fields.firstlineno,
                limits: None,
            },
        );
        assert!(out.expect("assembles").stacksize <= fields.stacksize);
    }
}
