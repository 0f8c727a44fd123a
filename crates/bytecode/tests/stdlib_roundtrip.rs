//! Every code object of each installed standard library survives decode and assemble.

mod support;

use std::io::BufReader;
use std::process::{Command, Stdio};

use bytecode::{
    AsmInfo, Body, CodeFields, Enc, Limits, Version, assemble, borrowing_loads, decode, verify,
    wire,
};

#[derive(Default)]
struct Counts {
    codes: usize,
    instrs: usize,
    smaller: usize,
    /// loads of locals that borrow as CPython compiled them
    borrowed: usize,
    /// those of them that are found to be sound
    found: usize,
    /// others that are
    more: usize,
    failures: Vec<String>,
}

fn check(fields: &CodeFields, counts: &mut Counts) -> Result<(), String> {
    let body = decode(fields).map_err(|e| e.to_string())?;
    let limits = Limits::of(fields);
    verify(&body, Some(&limits)).map_err(|e| e.to_string())?;
    counts.instrs += body.instrs.len();
    let info = AsmInfo {
        firstlineno: fields.firstlineno,
        limits: Some(limits),
    };
    let out = assemble(&body, &info).map_err(|e| e.to_string())?;
    if out.code != fields.code {
        let at = out.code.iter().zip(&fields.code).position(|(a, b)| a != b);
        return Err(format!(
            "code differs at {at:?} ({} and {} bytes)",
            out.code.len(),
            fields.code.len()
        ));
    }
    if out.linetable != fields.linetable {
        return Err("line table differs".into());
    }
    if out.exceptiontable != fields.exceptiontable {
        return Err("exception table differs".into());
    }
    if out.stacksize > fields.stacksize.max(1) {
        return Err(format!(
            "stack size {} exceeds {}",
            out.stacksize, fields.stacksize
        ));
    }
    if body.version >= Version::V314 {
        count_borrows(&body, counts)?;
    }
    // CPython also counts handlers of code that it has removed.
    counts.smaller += usize::from(out.stacksize < fields.stacksize);

    let mut bare = body.clone();
    bare.forget_encoding();
    let out = assemble(&bare, &info).map_err(|e| format!("without encoding: {e}"))?;
    let fields = CodeFields {
        code: out.code,
        linetable: out.linetable,
        exceptiontable: out.exceptiontable,
        ..fields.clone()
    };
    let again = decode(&fields).map_err(|e| format!("without encoding, again: {e}"))?;
    verify(&again, Some(&limits)).map_err(|e| format!("without encoding, again: {e}"))
}

/// Counts loads that borrow, as CPython compiled the code and as we would have them.
fn count_borrows(body: &Body, counts: &mut Counts) -> Result<(), String> {
    let found = borrowing_loads(body).map_err(|e| e.to_string())?;
    for (at, instr) in body.instrs.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &body.instrs[before].enc);
        let borrowed = matches!(instr.enc, Enc::Borrow | Enc::BorrowBoth)
            || matches!(before, Some(Enc::BorrowBoth));
        // One instruction of two loads borrows both or neither.
        let joined = instr.enc == Enc::FuseNext || before == Some(&Enc::FuseNext);
        counts.borrowed += usize::from(borrowed);
        counts.found += usize::from(borrowed && found[at]);
        counts.more += usize::from(found[at] && !borrowed && !joined);
    }
    Ok(())
}

fn roundtrip(version: Version) {
    let Some(python) = support::python(version) else {
        return;
    };
    let mut child = Command::new(&python.path)
        .arg(support::script("dump_stdlib.py"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the interpreter starts");
    let mut input = BufReader::with_capacity(1 << 20, child.stdout.take().expect("piped"));
    let mut counts = Counts::default();
    while let Some((fields, label)) = wire::read_code(&mut input).expect("the dump is well-formed")
    {
        counts.codes += 1;
        if let Err(message) = check(&fields, &mut counts) {
            counts.failures.push(format!("{label}: {message}"));
        }
    }
    assert!(child.wait().expect("the interpreter ends").success());
    eprintln!(
        "CPython {}: {} code objects, {} instructions, {} with a smaller stack, {} and {} more of \
         {} loads borrow, {} failures",
        python.full,
        counts.codes,
        counts.instrs,
        counts.smaller,
        counts.found,
        counts.more,
        counts.borrowed,
        counts.failures.len()
    );
    assert!(
        counts.codes > 10_000,
        "only {} code objects were found",
        counts.codes
    );
    // CPython chooses before it joins blocks: a few values that it leaves on the stack at the end of one are taken in
    // the same block here. 3.14 leaves out what comes behind a `try` block.
    let one_of = if version == Version::V314 { 50 } else { 5_000 };
    assert!(counts.found * 100 >= counts.borrowed * 98);
    assert!(counts.more * one_of <= counts.borrowed);
    let shown: Vec<_> = counts.failures.iter().take(20).collect();
    assert!(
        counts.failures.is_empty(),
        "{} failures: {shown:#?}",
        counts.failures.len()
    );
}

#[test]
fn stdlib_311() {
    roundtrip(Version::V311);
}

#[test]
fn stdlib_312() {
    roundtrip(Version::V312);
}

#[test]
fn stdlib_313() {
    roundtrip(Version::V313);
}

#[test]
fn stdlib_314() {
    roundtrip(Version::V314);
}

#[test]
fn stdlib_315() {
    roundtrip(Version::V315);
}
