//! Control flow, stack depths, live locals, the verifier and the builder on small bodies.

use bytecode::op::{
    ConstIdx, Conversion, FuncAttr, Intrinsic1, JumpCond, Label, LocalIdx, NameIdx, Op,
};
use bytecode::{
    AsmError, AsmInfo, Assembled, Body, BodyBuilder, BuildError, Cfg, Enc, ExceptEntry, Instr,
    Limits, LineEntry, Location, VerifyError, Version, assemble, live_locals, opcode_name,
    opcode_number, read_line_table, stack_depths, verify,
};

fn body(version: Version, ops: &[Op]) -> Body {
    let instrs = ops
        .iter()
        .map(|op| Instr::new(op.clone(), Location::NONE))
        .collect();
    Body {
        version,
        instrs,
        handlers: vec![],
    }
}

fn load(n: u32) -> Op {
    Op::LoadFast {
        local: LocalIdx(n),
        check: false,
    }
}

fn jump(to: u32) -> Op {
    Op::Jump {
        to: Label(to),
        no_interrupt: false,
    }
}

fn branch(cond: JumpCond, to: u32) -> Op {
    Op::PopJump {
        cond,
        to: Label(to),
    }
}

const RETURN: Op = Op::ReturnConst(ConstIdx(0));

fn asm(body: &Body) -> Result<Assembled, AsmError> {
    assemble(
        body,
        &AsmInfo {
            firstlineno: 1,
            limits: None,
        },
    )
}

/// The opcodes of the code, caches and `EXTENDED_ARG`s left out.
fn names(version: Version, code: &[u8]) -> Vec<String> {
    let hidden = ["CACHE", "EXTENDED_ARG"];
    let names = code
        .chunks(2)
        .map(|unit| opcode_name(version, unit[0]).expect("an opcode"));
    names
        .filter(|name| !hidden.contains(&name.as_str()))
        .collect()
}

#[test]
fn blocks_and_edges() {
    // 0: if x: 2 else: 4; both to 5; 2..4 is covered by a handler at 6
    let mut body = body(
        Version::V312,
        &[
            load(0),
            branch(JumpCond::False, 4),
            Op::Nop,
            jump(5),
            Op::Nop,
            RETURN,
            Op::Reraise(0),
        ],
    );
    let covered = ExceptEntry {
        start: Label(2),
        end: Label(4),
        target: Label(6),
        depth: 0,
        lasti: false,
    };
    body.handlers.push(covered);
    let cfg = Cfg::new(&body).expect("well-formed");
    let ranges: Vec<_> = cfg.blocks.iter().map(|b| (b.start, b.end)).collect();
    assert_eq!(ranges, [(0, 2), (2, 4), (4, 5), (5, 6), (6, 7)]);
    assert_eq!(cfg.blocks[0].succs.as_slice(), [1, 2]);
    assert_eq!(cfg.blocks[1].succs.as_slice(), [3]);
    assert_eq!(cfg.blocks[1].handler, Some(4));
    assert_eq!(cfg.blocks[3].preds.as_slice(), [1, 2]);
    assert_eq!(cfg.blocks[4].preds.as_slice(), [1]);
    assert_eq!(
        stack_depths(&body),
        Ok(vec![
            Some(0),
            Some(1),
            Some(0),
            Some(0),
            Some(0),
            Some(0),
            Some(1)
        ])
    );
}

#[test]
fn live_locals_follow_jumps_and_exceptions() {
    // x, y, z = 0, 1, 2: y is stored under a handler that reads x and z is not read
    let mut body = body(
        Version::V312,
        &[
            Op::StoreFast(LocalIdx(1)),
            load(1),
            branch(JumpCond::True, 5),
            Op::StoreFast(LocalIdx(2)),
            RETURN,
            load(70),
            Op::PopTop,
            RETURN,
            Op::PopTop,
            load(0),
            Op::ReturnValue,
        ],
    );
    body.instrs
        .insert(0, Instr::new(Op::LoadConst(ConstIdx(0)), Location::NONE));
    body.instrs
        .insert(4, Instr::new(Op::LoadConst(ConstIdx(0)), Location::NONE));
    *body.instrs[3].op.target_mut().expect("a jump") = Label(7);
    let handler = ExceptEntry {
        start: Label(1),
        end: Label(3),
        target: Label(10),
        depth: 0,
        lasti: false,
    };
    body.handlers.push(handler);
    let live = live_locals(&body).expect("well-formed");
    let at = |at: u32| live.iter(at).map(|local| local.0).collect::<Vec<_>>();
    assert_eq!(at(0), [0, 70]);
    assert_eq!(at(2), [0, 1, 70]);
    assert_eq!(at(3), [70]);
    assert_eq!(at(5), Vec::<u32>::new());
    assert_eq!(at(7), [70]);
    assert_eq!(at(11), [0]);
    assert!(!live.contains(0, LocalIdx(1)) && live.contains(2, LocalIdx(1)));
    assert!(!live.contains(0, LocalIdx(5000)));
}

#[test]
fn a_cell_is_live_where_it_is_used() {
    let cell = LocalIdx(0);
    let ops = [Op::LoadConst(ConstIdx(0)), Op::StoreDeref(cell), RETURN];
    let live = live_locals(&body(Version::V311, &ops)).expect("well-formed");
    assert!(live.contains(0, cell) && live.contains(1, cell) && !live.contains(2, cell));
}

#[test]
fn the_verifier_finds_faults() {
    let check = |ops: &[Op]| verify(&body(Version::V313, ops), None);
    assert_eq!(check(&[RETURN]), Ok(()));
    assert_eq!(check(&[]), Err(VerifyError::RunsOff));
    assert_eq!(check(&[Op::Nop]), Err(VerifyError::RunsOff));
    assert_eq!(check(&[jump(9)]), Err(VerifyError::LabelRange { label: 9 }));
    assert_eq!(
        check(&[Op::PopTop, RETURN]),
        Err(VerifyError::Underflow { at: 0, depth: 0 })
    );
    assert_eq!(
        check(&[load(0), Op::Swap(2), RETURN]),
        Err(VerifyError::Underflow { at: 1, depth: 1 })
    );
    let uneven = check(&[load(0), branch(JumpCond::None, 3), load(0), RETURN]);
    assert!(matches!(uneven, Err(VerifyError::Depths { at: 3, .. })));
    let open_loop = [
        load(0),
        Op::GetIter,
        Op::ForIter { to: Label(5) },
        Op::PopTop,
        jump(2),
        RETURN,
    ];
    assert_eq!(check(&open_loop), Err(VerifyError::LoopEnd { at: 2 }));
    let late = [Op::Nop, Op::CopyFreeVars(1), RETURN];
    assert_eq!(check(&late), Err(VerifyError::LateFreeVars { at: 1 }));
    let late = [Op::Resume(0), Op::ReturnGenerator, Op::PopTop, RETURN];
    assert_eq!(check(&late), Err(VerifyError::LateGenerator { at: 1 }));

    let limits = Limits {
        consts: 1,
        names: 1,
        locals: 1,
    };
    let within = |op: Op| {
        verify(
            &body(Version::V313, &[op, Op::PopTop, RETURN]),
            Some(&limits),
        )
    };
    assert_eq!(within(load(0)), Ok(()));
    assert_eq!(
        within(load(1)),
        Err(VerifyError::IndexRange {
            at: 0,
            index: 1,
            len: 1
        })
    );
    let global = Op::LoadGlobal(NameIdx(3));
    assert_eq!(
        within(global),
        Err(VerifyError::IndexRange {
            at: 0,
            index: 3,
            len: 1
        })
    );

    let covered = [Op::Resume(0), Op::Nop, RETURN, Op::Reraise(0)];
    let mut crossed = body(Version::V313, &covered);
    let entry = |start: u32, end: u32| ExceptEntry {
        start: Label(start),
        end: Label(end),
        target: Label(3),
        depth: 0,
        lasti: false,
    };
    crossed.handlers = vec![entry(0, 2), entry(1, 3)];
    assert_eq!(
        verify(&crossed, None),
        Err(VerifyError::HandlerOrder { index: 1 })
    );
    crossed.handlers = vec![ExceptEntry {
        depth: 1,
        ..entry(0, 2)
    }];
    let too_deep = VerifyError::HandlerDepth {
        at: 0,
        depth: 0,
        handler: 1,
    };
    assert_eq!(verify(&crossed, None), Err(too_deep));
    // Where nothing can raise, the depth does not matter.
    crossed.handlers[0].start = Label(1);
    assert_eq!(verify(&crossed, None), Ok(()));
}

#[test]
fn what_has_no_form_is_an_error() {
    let no_form =
        |version, ops: &[Op]| matches!(asm(&body(version, ops)), Err(AsmError::NoForm { .. }));
    let wrong_null = Op::LoadMethod {
        name: NameIdx(0),
        null_first: true,
    };
    assert!(no_form(
        Version::V313,
        &[load(0), wrong_null.clone(), Op::PopTop, RETURN]
    ));
    assert!(!no_form(
        Version::V312,
        &[load(0), wrong_null, Op::PopTop, RETURN]
    ));
    let convert = Op::ConvertValue(Conversion::Repr);
    assert!(no_form(Version::V312, &[load(0), convert.clone(), RETURN]));
    assert!(!no_form(Version::V313, &[load(0), convert, RETURN]));
    let print = Op::CallIntrinsic1(Intrinsic1::Print);
    assert!(no_form(
        Version::V311,
        &[load(0), print.clone(), Op::ReturnValue]
    ));
    assert!(!no_form(
        Version::V311,
        &[load(0), print, Op::PopTop, RETURN]
    ));
    assert!(no_form(Version::V311, &[Op::LoadLocals, RETURN]));
    assert!(no_form(
        Version::V312,
        &[
            Op::Other {
                opcode: 255,
                arg: 0
            },
            RETURN
        ]
    ));
}

#[test]
fn jumps_on_truth_get_an_exact_bool() {
    let lowered = |before: &[Op], enc: Enc| {
        let mut body = body(Version::V313, before);
        let at = body.instrs.len() as u32;
        body.instrs.push(Instr {
            enc,
            ..Instr::new(branch(JumpCond::True, at + 1), Location::NONE)
        });
        body.instrs.push(Instr::new(RETURN, Location::NONE));
        names(Version::V313, &asm(&body).expect("assembles").code)
    };
    let is = Op::Is { invert: false };
    assert!(lowered(&[load(0)], Enc::Synthetic).contains(&"TO_BOOL".into()));
    assert!(!lowered(&[load(0)], Enc::Exact).contains(&"TO_BOOL".into()));
    assert!(!lowered(&[load(0), load(0), is.clone()], Enc::Synthetic).contains(&"TO_BOOL".into()));
    // Reached by a jump too, with who knows what on the stack.
    let ops = [load(0), load(0), branch(JumpCond::None, 5), load(0), is];
    assert!(lowered(&ops, Enc::Synthetic).contains(&"TO_BOOL".into()));
}

#[test]
fn backward_branches() {
    for version in Version::ALL {
        let ops = [load(0), branch(JumpCond::False, 0), RETURN];
        let code = names(version, &asm(&body(version, &ops)).expect("assembles").code);
        let expected: &[&str] = match version {
            Version::V311 => &[
                "LOAD_FAST",
                "POP_JUMP_BACKWARD_IF_FALSE",
                "LOAD_CONST",
                "RETURN_VALUE",
            ],
            Version::V312 => &[
                "LOAD_FAST",
                "POP_JUMP_IF_TRUE",
                "JUMP_BACKWARD",
                "RETURN_CONST",
            ],
            Version::V313 => &[
                "LOAD_FAST",
                "TO_BOOL",
                "POP_JUMP_IF_TRUE",
                "JUMP_BACKWARD",
                "RETURN_CONST",
            ],
            Version::V314 | Version::V315 => &[
                "LOAD_FAST",
                "TO_BOOL",
                "POP_JUMP_IF_TRUE",
                "JUMP_BACKWARD",
                "LOAD_CONST",
                "RETURN_VALUE",
            ],
        };
        assert_eq!(code, expected);
    }
}

#[test]
fn joined_instructions_part_where_a_jump_leads_between() {
    let mut plain = body(
        Version::V312,
        &[Op::PushNull, Op::LoadGlobal(NameIdx(0)), RETURN],
    );
    plain.instrs[0].enc = Enc::FuseNext;
    assert_eq!(
        names(Version::V312, &asm(&plain).unwrap().code),
        ["LOAD_GLOBAL", "RETURN_CONST"]
    );
    let ops = [
        Op::PushNull,
        Op::LoadGlobal(NameIdx(0)),
        Op::PopTop,
        jump(1),
    ];
    let mut split = body(Version::V312, &ops);
    split.instrs[0].enc = Enc::FuseNext;
    assert_eq!(
        names(Version::V312, &asm(&split).unwrap().code)[0],
        "PUSH_NULL"
    );
}

#[test]
fn stack_size_counts_what_lowering_adds() {
    let kw = Op::Call {
        argc: 1,
        kw_names: Some(ConstIdx(0)),
    };
    let ops = [Op::PushNull, Op::PushNull, load(0), kw, Op::ReturnValue];
    assert_eq!(asm(&body(Version::V312, &ops)).unwrap().stacksize, 3);
    assert_eq!(asm(&body(Version::V313, &ops)).unwrap().stacksize, 4);
    let parts = Op::MakeFunction(FuncAttr(FuncAttr::DEFAULTS | FuncAttr::CLOSURE));
    let ops = [load(0), load(0), load(0), parts, Op::ReturnValue];
    let out = asm(&body(Version::V313, &ops)).unwrap();
    assert_eq!(out.stacksize, 3);
    let set = opcode_number(Version::V313, "SET_FUNCTION_ATTRIBUTE").unwrap();
    assert_eq!(
        out.code[8..12],
        [set, FuncAttr::CLOSURE, set, FuncAttr::DEFAULTS]
    );
}

#[test]
fn long_jumps_grow_until_they_fit() {
    for padding in [250, 255, 256, 257, 65_530, 65_540, 70_000] {
        let mut b = BodyBuilder::new(Version::V312);
        let (top, end) = (b.here(), b.new_label());
        b.emit(load(0));
        b.pop_jump(JumpCond::True, end);
        (0..padding).for_each(|_| b.emit(Op::Nop));
        b.jump(top);
        b.bind(end);
        b.emit(RETURN);
        let body = b.finish().unwrap();
        let out = asm(&body).unwrap();
        let pad = padding as usize;
        let extended = |distance: usize| match distance {
            0..256 => 0,
            256..65_536 => 1,
            _ => 2,
        };
        // The backward jump counts itself.
        let back = extended(pad + 4).max(extended(pad + 3 + extended(pad + 4)));
        assert!(out.code.len() / 2 >= pad + 4 && out.code.len() / 2 <= pad + 4 + 2 * (back + 2));
        let fields = bytecode::CodeFields {
            version: Version::V312,
            argcount: 0,
            posonlyargcount: 0,
            kwonlyargcount: 0,
            stacksize: 1,
            flags: 0,
            firstlineno: 1,
            code: out.code,
            linetable: out.linetable,
            exceptiontable: out.exceptiontable,
            names: vec![],
            localsplusnames: vec!["x".into()],
            localspluskinds: vec![0x20],
            n_consts: 1,
        };
        let again = bytecode::decode(&fields).unwrap();
        assert!(
            again
                .instrs
                .iter()
                .map(|i| &i.op)
                .eq(body.instrs.iter().map(|i| &i.op))
        );
        let last = again.instrs.last().unwrap().offset;
        assert_eq!(again.index_at(last), Some(again.instrs.len() as u32 - 1));
        assert_eq!(again.index_at(0), Some(0));
    }
}

#[test]
fn regions_nest() {
    let mut b = BodyBuilder::new(Version::V312);
    let at: Vec<Label> = (0..8)
        .map(|_| {
            let label = b.here();
            b.emit(Op::Nop);
            label
        })
        .collect();
    let end = b.here();
    b.emit(RETURN);
    let target: Vec<Label> = (0..3)
        .map(|_| {
            let label = b.here();
            b.emit(Op::Reraise(0));
            label
        })
        .collect();
    // The inner ones are added first and last; the order does not matter.
    b.handler(at[2], at[4], target[0], 0, false);
    b.handler(at[0], end, target[1], 0, false);
    b.handler(at[5], at[6], target[2], 0, true);
    let mut crossing = b.clone();
    let body = b.finish().expect("nested");
    let table: Vec<_> = body
        .handlers
        .iter()
        .map(|e| (e.start.0, e.end.0, e.target.0, e.lasti))
        .collect();
    assert_eq!(
        table,
        [
            (0, 2, 10, false),
            (2, 4, 9, false),
            (4, 5, 10, false),
            (5, 6, 11, true),
            (6, 8, 10, false)
        ]
    );
    crossing.handler(at[3], at[7], target[2], 0, false);
    assert!(matches!(crossing.finish(), Err(BuildError::Crossing(..))));
}

#[test]
fn builders_refuse_loose_labels() {
    let mut b = BodyBuilder::new(Version::V311);
    let label = b.new_label();
    b.jump(label);
    assert_eq!(b.clone().finish(), Err(BuildError::Unbound(0)));
    b.bind(label);
    b.emit(RETURN);
    assert!(b.clone().finish().is_ok());
    b.bind(label);
    assert_eq!(b.finish(), Err(BuildError::BoundTwice(0)));
}

#[test]
fn copies_of_a_part_keep_its_handlers_and_lead_elsewhere() {
    let mut source = body(
        Version::V312,
        &[
            Op::Nop,
            load(0),
            branch(JumpCond::None, 5),
            Op::Nop,
            RETURN,
            RETURN,
            Op::Reraise(0),
        ],
    );
    let covered = ExceptEntry {
        start: Label(0),
        end: Label(4),
        target: Label(6),
        depth: 0,
        lasti: false,
    };
    source.handlers.push(covered);
    let mut b = BodyBuilder::new(Version::V312);
    let import = b.import(&source);
    b.jump(import.label(Label(1)));
    b.copy(&import, &source, 1..5);
    b.bind(import.label(Label(5)));
    b.emit(RETURN);
    b.copy(&import, &source, 6..7);
    let copy = b.finish().expect("all labels are bound");
    assert_eq!(copy.instrs[0].op, jump(1));
    assert_eq!(copy.instrs[2].op, branch(JumpCond::None, 5));
    let expected = ExceptEntry {
        start: Label(1),
        end: Label(4),
        target: Label(6),
        ..covered
    };
    assert_eq!(copy.handlers, [expected]);
    assert_eq!(verify(&copy, None), Ok(()));
}

#[test]
fn line_table_forms() {
    let loc = |line, end_line, col, end_col| Location {
        line: Some(line),
        end_line: Some(end_line),
        col: Some(col),
        end_col: Some(end_col),
    };
    let forms = [
        (loc(10, 10, 4, 9), 2),
        (loc(12, 12, 100, 120), 3),
        (loc(11, 11, 0, 300), 6),
        (loc(12, 14, 4, 5), 5),
        (Location::line(40), 2),
        (Location::NONE, 1),
        (
            Location {
                col: None,
                end_col: None,
                ..loc(41, 43, 0, 0)
            },
            5,
        ),
    ];
    for version in Version::ALL {
        let mut b = BodyBuilder::new(version);
        for (loc, _) in forms {
            b.emit_at(Op::Nop, loc);
        }
        (0..11).for_each(|_| b.emit_at(Op::Nop, Location::line(50)));
        b.emit_at(RETURN, Location::line(51));
        let out = assemble(
            &b.finish().unwrap(),
            &AsmInfo {
                firstlineno: 10,
                limits: None,
            },
        );
        let table = out.unwrap().linetable;
        let entries = read_line_table(&table, 10).unwrap();
        for (entry, (loc, _)) in entries.iter().zip(forms) {
            assert_eq!(*entry, LineEntry { units: 1, loc });
        }
        let bytes: usize = forms.iter().map(|(_, len)| len).sum();
        assert!(read_line_table(&table[..bytes], 10).is_ok_and(|e| e.len() == forms.len()));
        // 3.12 joins the eleven and splits them at eight; 3.11 does neither.
        let units: Vec<u32> = entries[forms.len()..]
            .iter()
            .map(|entry| entry.units)
            .collect();
        match version {
            Version::V311 => assert_eq!(units, [1; 13]),
            Version::V312 | Version::V313 => assert_eq!(units, [8, 3, 1]),
            // The return of a constant is two instructions.
            Version::V314 | Version::V315 => assert_eq!(units, [8, 3, 2]),
        }
    }
    assert!(read_line_table(&[0x80 | (14 << 3)], 1).is_err());
    assert!(read_line_table(&[0], 1).is_err());
}
