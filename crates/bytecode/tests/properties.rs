//! Random bodies survive assemble and decode; random bytes are read or refused.

use bytecode::op::{
    BinaryOp, CompareOp, ConstIdx, JumpCond, Label, LocalIdx, NameIdx, Op, UnaryOp,
};
use bytecode::{
    AsmInfo, Body, BodyBuilder, CodeFields, Limits, Location, Names, Version, assemble, decode,
    decompile, kinds, live_locals, read_line_table, stack_depths, stack_effect, stack_needs,
    verify,
};
use proptest::prelude::*;

const LOCALS: u32 = 300;
const NAMES: u32 = 3_000;

fn limits() -> Limits {
    Limits {
        consts: NAMES,
        names: NAMES,
        locals: LOCALS,
    }
}

fn version() -> impl Strategy<Value = Version> {
    prop::sample::select(&Version::ALL[..])
}

fn location() -> impl Strategy<Value = Location> {
    let col = || prop_oneof![3 => 0u32..90, 1 => 0u32..5000];
    prop_oneof![
        1 => Just(Location::NONE),
        1 => (1u32..2000).prop_map(Location::line),
        6 => (1u32..60, 0u32..3, col(), col()).prop_map(|(line, lines, col, end_col)| Location {
            line: Some(line),
            end_line: Some(line + lines),
            col: Some(col),
            end_col: Some(end_col),
        }),
    ]
}

/// An op that neither jumps nor ends, and that has one form of its own on the version.
fn straight(version: Version) -> impl Strategy<Value = Op> {
    let null_first = version.null_first();
    let since_312 = version >= Version::V312;
    let local = || prop_oneof![8 => 0..20u32, 1 => 0..LOCALS].prop_map(LocalIdx);
    let index = || prop_oneof![8 => 0..300u32, 1 => 0..NAMES];
    let name = || index().prop_map(NameIdx);
    let small = || prop_oneof![20 => 0..6u32, 1 => 0..400u32];
    let binary = prop::sample::select(vec![
        BinaryOp::Add,
        BinaryOp::Xor,
        BinaryOp::FloorDivide,
        BinaryOp::MatrixMultiply,
    ]);
    let compare = prop::sample::select(vec![
        CompareOp::Lt,
        CompareOp::Le,
        CompareOp::Eq,
        CompareOp::Ne,
        CompareOp::Gt,
        CompareOp::Ge,
    ]);
    let unary = prop::sample::select(vec![
        UnaryOp::Positive,
        UnaryOp::Negative,
        UnaryOp::Not,
        UnaryOp::Invert,
    ]);
    let loads = prop_oneof![
        (local(), any::<bool>()).prop_map(move |(local, check)| Op::LoadFast {
            local,
            check: check || !since_312
        }),
        index().prop_map(|c| Op::LoadConst(ConstIdx(c))),
        name().prop_map(Op::LoadGlobal),
        name().prop_map(Op::LoadName),
        local().prop_map(Op::LoadDeref),
        Just(Op::PushNull),
        small().prop_map(|n| Op::Copy(n + 1)),
    ];
    let stores = prop_oneof![
        local().prop_map(Op::StoreFast),
        local().prop_map(Op::DeleteFast),
        local().prop_map(Op::StoreDeref),
        name().prop_map(Op::StoreGlobal),
        name().prop_map(Op::StoreAttr),
        Just(Op::PopTop),
        Just(Op::StoreSubscr),
        Just(Op::Nop),
    ];
    let works = prop_oneof![
        name().prop_map(Op::LoadAttr),
        name().prop_map(move |name| Op::LoadMethod { name, null_first }),
        unary.prop_map(Op::Unary),
        (binary, any::<bool>()).prop_map(|(op, inplace)| Op::Binary { op, inplace }),
        (compare, any::<bool>()).prop_map(move |(op, to_bool)| Op::Compare {
            op,
            to_bool: to_bool && version >= Version::V313,
        }),
        any::<bool>().prop_map(|invert| Op::Is { invert }),
        any::<bool>().prop_map(|invert| Op::Contains { invert }),
        small().prop_map(|argc| Op::Call {
            argc,
            kw_names: None
        }),
        any::<bool>().prop_map(move |kwargs| Op::CallEx {
            kwargs: kwargs || version.call_ex_has_kwargs()
        }),
        small().prop_map(|n| Op::Swap(n + 2)),
        (2u32..=3).prop_map(Op::BuildSlice),
    ];
    let builds = prop_oneof![
        small().prop_map(Op::BuildTuple),
        small().prop_map(Op::BuildMap),
        small().prop_map(Op::UnpackSequence),
        (0u32..256, small()).prop_map(|(before, after)| Op::UnpackEx { before, after }),
        Just(Op::ListToTuple),
        Just(Op::GetIter),
        Just(Op::MatchKeys),
        small().prop_map(Op::ListAppend),
    ];
    prop_oneof![4 => loads, 3 => stores, 3 => works, 2 => builds]
}

/// A piece of code that leaves the stack as it found it.
#[derive(Clone, Debug)]
enum Piece {
    Straight(Vec<(Op, Location)>),
    /// to another piece
    Jump(prop::sample::Index),
    /// to another piece
    Branch(JumpCond, prop::sample::Index, Location),
    Loop(Vec<(Op, Location)>),
    /// many code units
    Padding(u32),
    Return,
}

fn piece(version: Version) -> impl Strategy<Value = Piece> {
    let ops = || prop::collection::vec((straight(version), location()), 0..12);
    let cond = prop::sample::select(vec![
        JumpCond::False,
        JumpCond::True,
        JumpCond::None,
        JumpCond::NotNone,
    ]);
    prop_oneof![
        4 => ops().prop_map(Piece::Straight),
        1 => any::<prop::sample::Index>().prop_map(Piece::Jump),
        3 => (cond, any::<prop::sample::Index>(), location())
            .prop_map(|(cond, to, loc)| Piece::Branch(cond, to, loc)),
        1 => ops().prop_map(Piece::Loop),
        1 => prop_oneof![30 => 0u32..300, 1 => Just(66_000u32)].prop_map(Piece::Padding),
        1 => Just(Piece::Return),
    ]
}

/// Where a handler covers pieces: from, how many.
type Covered = (prop::sample::Index, usize, bool);

fn emit_straight(b: &mut BodyBuilder, ops: &[(Op, Location)]) {
    let version = b.version();
    let mut depth = 0u32;
    for (op, loc) in ops {
        for _ in depth..stack_needs(version, op) {
            b.emit_at(Op::LoadConst(ConstIdx(0)), *loc);
        }
        depth = depth.max(stack_needs(version, op));
        b.emit_at(op.clone(), *loc);
        depth = depth.saturating_add_signed(stack_effect(version, op, false));
    }
    for _ in 0..depth {
        b.emit(Op::PopTop);
    }
}

/// Puts pieces together. With `native`, all that is emitted has one form of its own.
fn build(version: Version, pieces: &[Piece], covered: &[Covered], native: bool) -> Body {
    let mut b = BodyBuilder::new(version);
    let starts: Vec<Label> = (0..=pieces.len()).map(|_| b.new_label()).collect();
    let last = pieces.len();
    b.emit(Op::Resume(0));
    for (i, piece) in pieces.iter().enumerate() {
        b.bind(starts[i]);
        match piece {
            Piece::Straight(ops) => emit_straight(&mut b, ops),
            Piece::Jump(to) => b.jump(starts[to.index(last + 1)]),
            Piece::Branch(cond, to, loc) => {
                b.emit_at(Op::LoadConst(ConstIdx(1)), *loc);
                let mut to = to.index(last + 1);
                if native {
                    if version >= Version::V313 && matches!(cond, JumpCond::False | JumpCond::True)
                    {
                        b.emit_at(Op::ToBool, *loc);
                    }
                    if version >= Version::V312 {
                        to = to.max(i + 1);
                    }
                }
                b.emit_at(
                    Op::PopJump {
                        cond: *cond,
                        to: starts[to],
                    },
                    *loc,
                );
            }
            Piece::Loop(ops) => {
                b.emit_all([Op::LoadConst(ConstIdx(2)), Op::GetIter]);
                let (top, end) = (b.here(), b.new_label());
                b.emit(Op::ForIter { to: end });
                b.emit(Op::StoreFast(LocalIdx(0)));
                // What is below the iterator in `ops` must not be touched.
                emit_straight(&mut b, ops);
                b.jump(top);
                b.bind(end);
                b.emit_all(version.loop_end().iter().cloned());
            }
            Piece::Padding(n) => (0..*n).for_each(|_| b.emit(Op::Nop)),
            Piece::Return => b.emit_all([Op::LoadConst(ConstIdx(0)), Op::ReturnValue]),
        }
    }
    b.bind(starts[last]);
    b.emit_all([Op::LoadConst(ConstIdx(0)), Op::ReturnValue]);
    let mut from = 0;
    for (start, count, lasti) in covered {
        let start = from.max(start.index(last + 1));
        let end = (start + count).min(last);
        from = end;
        if start < end {
            let target = b.here();
            b.emit_all(std::iter::repeat_n(Op::PopTop, 1 + usize::from(*lasti)));
            b.jump(starts[last]);
            b.handler(starts[start], starts[end], target, 0, *lasti);
        }
    }
    b.finish().expect("the body is complete")
}

fn fields_of(body: &Body) -> CodeFields {
    let info = AsmInfo {
        firstlineno: 7,
        limits: Some(limits()),
    };
    let out = assemble(body, &info).expect("assembles");
    CodeFields {
        version: body.version,
        argcount: 0,
        posonlyargcount: 0,
        kwonlyargcount: 0,
        stacksize: out.stacksize,
        flags: 0,
        firstlineno: 7,
        code: out.code,
        linetable: out.linetable,
        exceptiontable: out.exceptiontable,
        names: vec![String::new(); NAMES as usize],
        localsplusnames: vec![String::new(); LOCALS as usize],
        localspluskinds: vec![kinds::LOCAL; LOCALS as usize],
        n_consts: NAMES,
    }
}

fn code() -> impl Strategy<Value = (Version, Vec<Piece>, Vec<Covered>)> {
    version().prop_flat_map(|version| {
        (
            Just(version),
            prop::collection::vec(piece(version), 1..14),
            prop::collection::vec(
                (any::<prop::sample::Index>(), 1usize..4, any::<bool>()),
                0..3,
            ),
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn native_bodies_come_back((version, pieces, covered) in code()) {
        let body = build(version, &pieces, &covered, true);
        verify(&body, Some(&limits())).expect("well-formed");
        let fields = fields_of(&body);
        let again = decode(&fields).expect("decodes");
        prop_assert_eq!(again.instrs.len(), body.instrs.len());
        for (a, b) in again.instrs.iter().zip(&body.instrs) {
            prop_assert_eq!(&a.op, &b.op);
            prop_assert_eq!(a.loc, b.loc);
        }
        let kept: Vec<_> = body.handlers.clone();
        prop_assert_eq!(&again.handlers, &kept);
        prop_assert_eq!(stack_depths(&again), stack_depths(&body));
        prop_assert_eq!(fields_of(&again), fields);
    }

    #[test]
    fn lowered_bodies_are_stable((version, pieces, covered) in code()) {
        let body = build(version, &pieces, &covered, false);
        let fields = fields_of(&body);
        let again = decode(&fields).expect("decodes");
        verify(&again, Some(&limits())).expect("well-formed");
        live_locals(&again).expect("well-formed");
        prop_assert!(!decompile(&again, &Names::of(&fields)).is_empty());
        prop_assert_eq!(fields_of(&again), fields);
    }

    #[test]
    fn copies_behave_like_the_original((version, pieces, covered) in code()) {
        let body = build(version, &pieces, &covered, true);
        let mut b = BodyBuilder::new(version);
        let import = b.import(&body);
        b.jump(import.label(Label(0)));
        let middle = body.instrs.len() as u32 / 2;
        b.copy(&import, &body, 0..middle);
        b.copy(&import, &body, middle..body.instrs.len() as u32);
        let copy = b.finish().expect("complete");
        let depths = stack_depths(&copy).expect("well-formed");
        let expected = stack_depths(&body).expect("well-formed");
        prop_assert_eq!(&depths[1..], &expected[..]);
        let (live, original) = (live_locals(&copy).unwrap(), live_locals(&body).unwrap());
        for at in 0..body.instrs.len() as u32 {
            prop_assert!(live.iter(at + 1).eq(original.iter(at)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Whatever bytes there are, nothing panics.
    #[test]
    fn random_bytes_are_read_or_refused(
        version in version(),
        code in prop::collection::vec(any::<u8>(), 0..60),
        linetable in prop::collection::vec(any::<u8>(), 0..30),
        exceptiontable in prop::collection::vec(any::<u8>(), 0..10),
    ) {
        let _ = read_line_table(&linetable, 1);
        let few = || vec![String::from("n"); 256];
        let fields = CodeFields {
            version,
            argcount: 0,
            posonlyargcount: 0,
            kwonlyargcount: 0,
            stacksize: 0,
            flags: 0,
            firstlineno: 1,
            code,
            linetable,
            exceptiontable,
            names: few(),
            localsplusnames: few(),
            localspluskinds: vec![kinds::LOCAL; 256],
            n_consts: 256,
        };
        if let Ok(body) = decode(&fields) {
            let _ = assemble(&body, &AsmInfo::default());
        }
        let plain = CodeFields { linetable: vec![], exceptiontable: vec![], ..fields };
        if let Ok(body) = decode(&plain) {
            let _ = assemble(&body, &AsmInfo::default());
            let _ = live_locals(&body);
        }
    }

    /// Only opcodes that exist, with likely arguments: most of it decodes.
    #[test]
    fn random_instructions_are_read_or_refused(
        version in version(),
        code in prop::collection::vec((any::<prop::sample::Index>(), 0u8..12), 1..60),
    ) {
        let known: Vec<u8> =
            (1..=255).filter(|n| bytecode::opcode_name(version, *n).is_some()).collect();
        let code = code.iter().flat_map(|(i, arg)| [known[i.index(known.len())], *arg]).collect();
        let few = || vec![String::from("n"); 16];
        let fields = CodeFields {
            version,
            argcount: 0,
            posonlyargcount: 0,
            kwonlyargcount: 0,
            stacksize: 0,
            flags: 0,
            firstlineno: 1,
            code,
            linetable: vec![],
            exceptiontable: vec![],
            names: few(),
            localsplusnames: few(),
            localspluskinds: vec![kinds::LOCAL; 16],
            n_consts: 16,
        };
        if let Ok(body) = decode(&fields)
            && let Ok(out) = assemble(&body, &AsmInfo::default())
        {
            prop_assert!(out.stacksize >= 1);
        }
    }
}
