//! CPython's own tests pass while all modules they import, and they themselves, are rewritten.

mod support;

use std::path::PathBuf;
use std::process::Command;

use bytecode::Version;

/// Modules of CPython's `test` package; those that a version does not have are left out.
const TESTS: &[&str] = &[
    "test_annotationlib",
    "test_argparse",
    "test_asyncgen",
    "test_class",
    "test_collections",
    "test_contextlib",
    "test_contextlib_async",
    "test_coroutines",
    "test_dataclasses",
    "test_enum",
    "test_except_star",
    "test_exceptions",
    "test_extcall",
    "test_fstring",
    "test_functools",
    "test_generators",
    "test_grammar",
    "test_heapq",
    "test_json",
    "test_listcomps",
    "test_named_expressions",
    "test_patma",
    "test_positional_only_arg",
    "test_raise",
    "test_scope",
    "test_slice",
    "test_super",
    "test_textwrap",
    "test_tstring",
    "test_type_params",
    "test_typing",
    "test_unpack_ex",
    "test_with",
    "test_yield_from",
];

/// Not for moved code: asserts that every jump of some functions has a line.
const NOT_MOVED: &[&str] = &["test_patma"];

fn run(version: Version, mode: &str, skip: &[&str]) {
    let Some(python) = support::python(version) else {
        return;
    };
    let find = "import importlib.util, sys\n\
                for t in sys.argv[1:]:\n    \
                    if importlib.util.find_spec('test.' + t): print('test.' + t)";
    let wanted = TESTS.iter().filter(|test| !skip.contains(test));
    let found = Command::new(&python.path)
        .args(["-I", "-c", find])
        .args(wanted)
        .output()
        .expect("the interpreter starts");
    let found = String::from_utf8(found.stdout).expect("names of modules");
    if found.is_empty() {
        eprintln!("skipped: CPython {} comes without its tests", python.full);
        return;
    }
    // Some tests make files of fixed names in the working directory.
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{mode}-{version}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a working directory");
    let output = Command::new(&python.path)
        .current_dir(&folder)
        .arg("-I")
        .arg(support::script("run_rewritten.py"))
        .arg(env!("CARGO_BIN_EXE_bytecode-rewrite"))
        .arg(mode)
        .args(found.lines())
        .output()
        .expect("the interpreter starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let report = text.find("CPython ").map_or("", |at| &text[at..]);
    eprintln!("{}", report.lines().next().unwrap_or_default());
    assert!(
        output.status.success(),
        "{}\n{report}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn plain_311() {
    run(Version::V311, "plain", &[]);
}

#[test]
fn plain_312() {
    run(Version::V312, "plain", &[]);
}

#[test]
fn plain_313() {
    run(Version::V313, "plain", &[]);
}

#[test]
fn plain_314() {
    run(Version::V314, "plain", &[]);
}

#[test]
fn plain_315() {
    run(Version::V315, "plain", &[]);
}

#[test]
fn moved_311() {
    run(Version::V311, "moved", NOT_MOVED);
}

#[test]
fn moved_312() {
    run(Version::V312, "moved", NOT_MOVED);
}

#[test]
fn moved_313() {
    run(Version::V313, "moved", NOT_MOVED);
}

#[test]
fn moved_314() {
    run(Version::V314, "moved", NOT_MOVED);
}

#[test]
fn moved_315() {
    run(Version::V315, "moved", NOT_MOVED);
}
