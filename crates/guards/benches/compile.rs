//! From guards to a program: planning (which needs no interpreter) with one thread and with two, and linking, for sets
//! of 5,000 and 50,000 guards; what a call waits for where the plan is made beside a backend; and from how many guards
//! on a thread is worth its start.
//!
//! Needs the environment that the tests need (`FERRODYN_SITE`).

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use guards::exec::{CheckProgram, Pins};
use guards::plan::{self, Plan};
use guards::{ConstTypes, ConstVal, Guard, GuardKind, Key, Source, SourceTable};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Guards like those of a tree of modules: `count` of them, or a few more.
fn tree(count: usize, pins: &mut Pins, class: &Bound<'_, PyAny>) -> (SourceTable, Vec<Guard>) {
    let mut t = SourceTable::new();
    let me = t.intern(Source::Local {
        index: 0,
        name: "self".into(),
    });
    let ty = pins.pin_auto(class);
    let mut guards = Vec::new();
    for i in 0.. {
        if guards.len() >= count {
            break;
        }
        let base = t.intern(Source::InstanceDictItem {
            base: me,
            name: format!("block{}", i / 64).into(),
        });
        let module = t.intern(Source::DictItem {
            base,
            key: Key::str(&(i % 64).to_string()),
        });
        let ty = ty.clone();
        guards.push(Guard::new(module, GuardKind::TypeMatch { ty }));
        for name in ["_call_impl", "forward", "weight", "bias"] {
            let name = name.into();
            let present = false;
            guards.push(Guard::new(
                module,
                GuardKind::GenericDictContains { name, present },
            ));
        }
        for name in ["_forward_hooks", "_backward_hooks"] {
            let hooks = t.intern(Source::InstanceDictItem {
                base: module,
                name: name.into(),
            });
            let keys = [].into();
            guards.push(Guard::new(hooks, GuardKind::DictKeys { keys }));
        }
        let training = t.intern(Source::InstanceDictItem {
            base: module,
            name: "training".into(),
        });
        let value = ConstVal::Bool(false);
        guards.push(Guard::new(training, GuardKind::EqualsMatch { value }));
        // Met once more, as a second use of the module would.
        guards.push(guards[guards.len() - 1].clone());
    }
    (t, guards)
}

fn pool(threads: usize) -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.unwrap_or_else(|e| panic!("{e}"))
}

fn planned(t: &SourceTable, guards: &[Guard]) -> Plan {
    Plan::new(t.clone(), guards.iter().cloned(), ConstTypes::default())
}

fn beside<R>(
    pool: &ThreadPool,
    t: &SourceTable,
    guards: &[Guard],
    work: impl FnOnce() -> R,
) -> Plan {
    let copy = |_: usize, guard: &Guard| guard.clone();
    let const_types = ConstTypes::default();
    let (_, plan) = plan::beside_in(pool, t, guards, copy, const_types, work);
    plan.expect("a plan")
}

/// What is waited for once a backend is done that takes `BACKEND`.
fn after_backend(
    py: Python<'_>,
    class: &Bound<'_, PyAny>,
    plan: impl FnOnce(&dyn Fn()) -> Plan,
) -> Duration {
    const BACKEND: Duration = Duration::from_millis(100);
    let mut pins = Pins::new();
    tree(1, &mut pins, class);
    let start = Instant::now();
    let call = || {
        while start.elapsed() < BACKEND {
            std::hint::spin_loop();
        }
    };
    let plan = plan(&call);
    let linked = CheckProgram::link(py, plan.set, plan.program, pins);
    let took = start.elapsed() - BACKEND;
    black_box(linked.unwrap_or_else(|e| panic!("{e}")));
    took
}

fn bench(c: &mut Criterion) {
    Python::attach(|py| {
        let site = std::env::var("FERRODYN_SITE")
            .expect("FERRODYN_SITE names the site-packages with torch");
        py.import("site")
            .and_then(|m| m.call_method1("addsitedir", (site,)))
            .and_then(|_| py.import("torch"))
            .expect("torch");
        let class = py.get_type::<pyo3::types::PyDict>();
        for count in [5_000, 50_000] {
            let mut group = c.benchmark_group(format!("{count} guards"));
            group.sample_size(20);
            let (t, guards) = tree(count, &mut Pins::new(), &class);
            group.bench_function("plan, 1 thread", |b| {
                b.iter(|| black_box(planned(&t, &guards)));
            });
            let two = pool(2);
            group.bench_function("plan, 2 threads", |b| {
                b.iter(|| two.install(|| black_box(planned(&t, &guards))));
            });
            group.bench_function("link", |b| {
                let link = || {
                    let mut pins = Pins::new();
                    tree(1, &mut pins, &class);
                    let plan = planned(&t, &guards);
                    let start = Instant::now();
                    let linked = CheckProgram::link(py, plan.set, plan.program, pins);
                    let took = start.elapsed();
                    black_box(linked.unwrap_or_else(|e| panic!("{e}")));
                    took
                };
                b.iter_custom(|n| (0..n).map(|_| link()).sum());
            });
            group.bench_function("the call waits, planned behind the backend", |b| {
                let wait = || {
                    after_backend(py, &class, |backend| {
                        backend();
                        planned(&t, &guards)
                    })
                };
                b.iter_custom(|n| (0..n).map(|_| wait()).sum());
            });
            for threads in [1, 2] {
                let pool = pool(threads);
                let name = BenchmarkId::new("the call waits, planned beside it, threads", threads);
                group.bench_function(name, |b| {
                    let wait =
                        || after_backend(py, &class, |backend| beside(&pool, &t, &guards, backend));
                    b.iter_custom(|n| (0..n).map(|_| wait()).sum());
                });
            }
            group.finish();
        }
        let mut group = c.benchmark_group("plan beside nothing");
        let one = pool(1);
        for count in [30, 100, 300, 1000] {
            let (t, guards) = tree(count, &mut Pins::new(), &class);
            group.bench_function(BenchmarkId::new("here", count), |b| {
                b.iter(|| black_box(planned(&t, &guards)));
            });
            group.bench_function(BenchmarkId::new("in a thread", count), |b| {
                b.iter(|| black_box(beside(&one, &t, &guards, || ())));
            });
        }
        group.finish();
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
