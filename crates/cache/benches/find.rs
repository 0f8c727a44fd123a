//! Finding the entry of a call: the only one, the first of eight, and one that is eighth each time.
//!
//! Needs the environment that the tests need (`FERRODYN_SITE`).

use std::hint::black_box;
use std::sync::Arc;

use cache::{CodeName, Entries, GuardedCode, Limits};
use criterion::{Criterion, criterion_group, criterion_main};
use guards::exec::{CheckEnv, CheckProgram, Pins};
use guards::{ConstTypes, Guard, GuardKind, GuardSet, Program, Source, SourceTable, TensorSpec};
use pyo3::prelude::*;
use torch_abi::TorchAbi;

/// An entry for tensors of the shape of an example.
fn entry(
    py: Python<'_>,
    abi: &TorchAbi,
    entries: &Entries,
    example: &Bound<'_, PyAny>,
) -> GuardedCode {
    let (mut sources, mut pins) = (SourceTable::new(), Pins::new());
    let x = sources.intern(Source::Local {
        index: 0,
        name: "x".into(),
    });
    let spec = TensorSpec::of(py, abi, &mut pins, example).unwrap_or_else(|e| panic!("{e}"));
    let guards = vec![Guard::new(
        x,
        GuardKind::TensorMatch {
            spec: Arc::new(spec),
        },
    )];
    let set = GuardSet::new(sources, guards, ConstTypes::of(abi));
    let program = Program::compile(&set);
    let program =
        CheckProgram::link(py, Arc::new(set), program, pins).unwrap_or_else(|e| panic!("{e}"));
    GuardedCode::new(entries.next_id(py), program, py.None())
}

/// A call with these arguments.
fn call(locals: &[*mut pyo3::ffi::PyObject]) -> CheckEnv<'_> {
    let null = std::ptr::null_mut();
    CheckEnv {
        locals,
        closure: null,
        globals: null,
        builtins: null,
    }
}

fn bench(c: &mut Criterion) {
    Python::attach(|py| {
        let site = std::env::var("FERRODYN_SITE")
            .expect("FERRODYN_SITE names the site-packages with torch");
        py.import("site")
            .and_then(|m| m.call_method1("addsitedir", (site,)))
            .expect("site-packages");
        let abi = TorchAbi::get(py).unwrap_or_else(|e| panic!("{e}"));
        let torch = py.import("torch").expect("torch");
        let tensors: Vec<_> = (1..=8)
            .map(|n| torch.call_method1("ones", (n, 4)).expect("torch.ones"))
            .collect();
        let with = |count: usize| {
            let entries = Entries::new(CodeName {
                function: "f".into(),
                file: "f.py".into(),
                line: 1,
            });
            for tensor in &tensors[..count] {
                // As in a program: a call that no entry fits comes before its compilation.
                let locals = [tensor.as_ptr()];
                let env = call(&locals);
                // SAFETY: everything in `env` is alive or null.
                unsafe { entries.decide(py, &env, Limits::default()) };
                entries.insert(py, entry(py, abi, &entries, tensor));
            }
            entries
        };
        let find = |entries: &Entries, tensor: &Bound<'_, PyAny>| {
            let locals = [tensor.as_ptr()];
            let env = call(&locals);
            // SAFETY: everything in `env` is alive or null.
            let found = unsafe { entries.find_with(py, black_box(&env), |entry| entry.id) };
            assert!(found.is_some());
        };
        let mut group = c.benchmark_group("find");
        let one = with(1);
        group.bench_function("the only entry", |b| b.iter(|| find(&one, &tensors[0])));
        let eight = with(8);
        group.bench_function("the first of 8", |b| b.iter(|| find(&eight, &tensors[0])));
        group.bench_function("the eighth of 8", |b| {
            let mut turn = 0;
            b.iter(|| {
                // Calls in rotation: the entry hit is always the one that was hit longest ago.
                turn = (turn + 1) % 8;
                find(&eight, &tensors[turn]);
            })
        });
        group.finish();
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
