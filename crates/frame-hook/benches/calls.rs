//! The whole pipeline from inside: compiled calls beside their graph, and tracing by node.
//!
//! The programs are those of `benches/programs.py`. Needs the environment that the tests need
//! (`FERRODYN_SITE`).

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};

const SETUP: &std::ffi::CStr = c"
import torch, ferrodyn
from programs import plus_one, stack, toy_example

torch.set_num_threads(1)
torch.set_grad_enabled(False)
x, b, tokens = torch.randn(10), torch.rand(10), torch.randn(1, 8, 64)

def empty(graph, inputs):
    forward, held = graph.forward, []
    def call(*args):
        if not held:
            held.append(forward(*args))
        return held[0]
    return call

def no_op(graph, inputs):
    return graph.forward

def calls_of(fn, args, backend):
    compiled = ferrodyn.compile(fn, backend=backend)
    def run(count):
        for _ in range(count):
            compiled(*args)
    run(3)
    return run

def first_calls_of(nodes):
    def chain(x):
        for _ in range(nodes):
            x = x + 1
        return x
    def run(count):
        for _ in range(count):
            ferrodyn.reset()
            ferrodyn.compile(chain, backend=no_op)(x)
    run(1)
    return run
";

/// Makes `ferrodyn` importable with this very crate inside.
fn prepare(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let site = std::env::var("FERRODYN_SITE").unwrap_or_default();
    py.import("site")?.call_method1("addsitedir", (site,))?;
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let path = py.import("sys")?.getattr("path")?;
    for folder in ["python", "benches"] {
        path.call_method1("insert", (0, format!("{root}/{folder}")))?;
    }
    let core = PyModule::new(py, "ferrodyn._core")?;
    frame_hook::populate(&core)?;
    let modules = py.import("sys")?.getattr("modules")?;
    modules.set_item("ferrodyn._core", core)?;
    let scope = PyDict::new(py);
    py.run(SETUP, Some(&scope), None)?;
    Ok(scope)
}

/// A benchmark of a Python function that takes how often to do it.
fn iterate(bencher: &mut criterion::Bencher<'_>, run: &Bound<'_, PyAny>) {
    bencher.iter_custom(|count| {
        let start = std::time::Instant::now();
        run.call1((count,)).expect("a call");
        start.elapsed()
    });
}

fn bench(c: &mut Criterion) {
    Python::attach(|py| {
        let scope = prepare(py).unwrap_or_else(|error| panic!("{error}"));
        let eval = |code: &str| {
            let code = std::ffi::CString::new(code).expect("no NUL");
            py.eval(&code, Some(&scope), None)
                .unwrap_or_else(|error| panic!("{error}"))
        };
        let mut group = c.benchmark_group("call");
        for (name, code) in [
            (
                "x + 1, without its graph",
                "calls_of(plus_one, (x,), empty)",
            ),
            ("x + 1", "calls_of(plus_one, (x,), no_op)"),
            ("toy_example", "calls_of(toy_example, (x, b), no_op)"),
        ] {
            group.bench_function(name, |b| iterate(b, &eval(code)));
        }
        for blocks in [4, 24, 96] {
            let run = eval(&format!("calls_of(stack({blocks}), (tokens,), empty)"));
            let id = BenchmarkId::new("blocks, without their graph", blocks);
            group.bench_function(id, |b| iterate(b, &run));
        }
        group.finish();
        let mut group = c.benchmark_group("trace");
        for nodes in [100u64, 1000] {
            let run = eval(&format!("first_calls_of({nodes})"));
            group.throughput(Throughput::Elements(nodes));
            group.bench_function(BenchmarkId::new("nodes", nodes), |b| iterate(b, &run));
        }
        group.finish();
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
