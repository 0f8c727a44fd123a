//! Every code object of each installed standard library survives decode and assemble.

mod support;

use std::io::BufReader;
use std::process::{Command, Stdio};

use bytecode::{AsmInfo, CodeFields, Limits, Version, assemble, decode, verify, wire};

#[derive(Default)]
struct Counts {
    codes: usize,
    instrs: usize,
    smaller: usize,
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
        "CPython {}: {} code objects, {} instructions, {} with a smaller stack, {} failures",
        python.full,
        counts.codes,
        counts.instrs,
        counts.smaller,
        counts.failures.len()
    );
    assert!(
        counts.codes > 10_000,
        "only {} code objects were found",
        counts.codes
    );
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
