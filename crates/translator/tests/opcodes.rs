//! `docs/opcodes.md` says what is done with each opcode. It is made here from the opcode tables, the
//! decoder and the translator; a run with `INSTA_UPDATE=always` (`cargo xtask test --bless`) writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use bytecode::op::Op;
use bytecode::{CodeFields, Version, decode, kinds, opcode_name, opcode_number};
use translator::step::missing_instruction;

/// What the opcode decodes to with this argument, in the middle of other code.
fn decoded(version: Version, number: u8, arg: u8) -> Vec<Op> {
    let nop = opcode_number(version, "NOP").expect("NOP");
    let around = [nop, 0].repeat(40);
    let one = |kind: u8| {
        let code = [&around[..], &[number, arg], &around[..]].concat();
        let fields = CodeFields {
            version,
            argcount: 0,
            posonlyargcount: 0,
            kwonlyargcount: 0,
            stacksize: 64,
            flags: 0,
            firstlineno: 1,
            code,
            linetable: Vec::new(),
            exceptiontable: Vec::new(),
            names: (0..64).map(|i| format!("n{i}")).collect(),
            localsplusnames: (0..64).map(|i| format!("l{i}")).collect(),
            localspluskinds: vec![kind; 64],
            n_consts: 64,
        };
        let body = decode(&fields).ok()?;
        let ops = body.instrs.into_iter().map(|instr| instr.op);
        let ops: Vec<Op> = ops.filter(|op| *op != Op::Nop).collect();
        (!ops.is_empty()).then_some(ops)
    };
    [kinds::LOCAL, kinds::CELL, kinds::FREE]
        .into_iter()
        .find_map(one)
        .unwrap_or_default()
}

/// What becomes of an opcode, over all its versions and arguments.
#[derive(Default)]
struct Entry {
    versions: BTreeSet<Version>,
    interpreted: bool,
    /// reasons, and the variants that have them
    left: BTreeMap<&'static str, BTreeSet<String>>,
}

fn entries() -> BTreeMap<String, Entry> {
    let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
    for version in Version::ALL {
        for number in 0..=u8::MAX {
            let Some(name) = opcode_name(version, number) else {
                continue;
            };
            let entry = entries.entry(name).or_default();
            entry.versions.insert(version);
            for arg in 0..=32 {
                let ops = decoded(version, number, arg);
                let left = ops
                    .iter()
                    .find_map(|op| Some((op, missing_instruction(op)?)));
                match left {
                    None => entry.interpreted |= !ops.is_empty(),
                    Some((op, why)) => {
                        let variant = format!("{op:?}").replace("CallIntrinsic", "");
                        let variant = variant.trim_start_matches(['1', '2']).to_owned();
                        entry.left.entry(why.what).or_default().insert(variant);
                    }
                }
            }
        }
    }
    entries
}

fn outcome(name: &str, entry: &Entry) -> String {
    let reasons = |with_variants: bool| {
        let one = |(what, variants): (&&str, &BTreeSet<String>)| match with_variants {
            true => {
                let names: Vec<_> = variants
                    .iter()
                    .map(|v| v.trim_matches(['(', ')']))
                    .collect();
                format!("{} ({what})", names.join(", "))
            }
            false => (*what).to_owned(),
        };
        entry.left.iter().map(one).collect::<Vec<_>>().join("; ")
    };
    match (entry.interpreted, entry.left.is_empty()) {
        (true, true) => "interpreted".into(),
        (true, false) => format!("interpreted; breaks for {}", reasons(true)),
        (false, false) => format!("breaks: {}", reasons(false)),
        // Decoded away, with the instruction that they belong to or with nothing at all.
        (false, true) => match name {
            "NOP" | "NOT_TAKEN" => "interpreted: does nothing".into(),
            "CACHE" => "is no instruction: the space after one, for CPython's caches".into(),
            "EXTENDED_ARG" | "KW_NAMES" | "PRECALL" => {
                "interpreted, as part of the instruction that follows".into()
            }
            other => panic!("{other} decodes to nothing"),
        },
    }
}

fn document() -> String {
    let mut out = String::from(
        "# Opcodes\n\n\
         What Ferrodyn does with each opcode that a code object of CPython 3.11 to 3.15 can hold. *Interpreted* is with CPython's exact semantics: values that are known while tracing \
         are computed then, tensor operations go into the graph, and an operation on a value that \
         cannot be followed breaks the graph with a reason of its own. *Breaks* is the instruction \
         itself: it runs in eager mode, with the reason given.\n\n\
         This file is generated: `cargo xtask test --bless` writes it, \
         `crates/translator/tests/opcodes.rs` makes and checks it.\n\n\
         | opcode |",
    );
    for version in Version::ALL {
        let _ = write!(out, " {version} |");
    }
    let _ = writeln!(
        out,
        " Ferrodyn |\n|---|{}---|",
        "---|".repeat(Version::ALL.len())
    );
    for (name, entry) in entries() {
        let _ = write!(out, "| `{name}` |");
        for version in Version::ALL {
            let has = entry.versions.contains(&version);
            let _ = write!(out, " {} |", if has { "yes" } else { "" });
        }
        let _ = writeln!(out, " {} |", outcome(&name, &entry));
    }
    out
}

#[test]
fn the_document_says_what_is_done() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/opcodes.md");
    let document = document();
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("docs");
        std::fs::write(&path, document).expect("write docs/opcodes.md");
        return;
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == document,
        "docs/opcodes.md is out of date: run cargo xtask test --bless"
    );
}
