//! Cost of a node.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fx_graph::{FnTarget, Graph, Kwargs, SourceLine, SourceStack};

const NODES: u64 = 1000;

fn build() -> Graph {
    let add = Arc::new(FnTarget::new(0, "<add>", "operator.add", "add"));
    let relu = Arc::new(FnTarget::new(
        1,
        "<relu>",
        "torch.nn.functional.relu",
        "relu",
    ));
    let source = SourceStack::from_outermost([SourceLine {
        file: "f.py".into(),
        line: 1,
        function: "f".into(),
    }]);
    let mut graph = Graph::new();
    let mut value = graph.placeholder("x");
    for i in 0..NODES {
        let node = if i % 2 == 0 {
            graph.call_function(add.clone(), vec![value.into(), 1i64.into()], Kwargs::new())
        } else {
            graph.call_function(relu.clone(), vec![value.into()], Kwargs::new())
        };
        graph.set_source(node, &source);
        value = node;
    }
    graph.output(value.into());
    graph
}

fn per_node(c: &mut Criterion) {
    let mut group = c.benchmark_group("per_node");
    group.throughput(Throughput::Elements(NODES));
    group.bench_function("create", |b| b.iter(build));
    let graph = build();
    group.bench_function("checkpoint", |b| {
        b.iter(|| {
            for _ in 0..NODES {
                black_box(graph.checkpoint());
            }
        })
    });
    group.bench_function("create and restore", |b| {
        let mut graph = Graph::new();
        let x = graph.placeholder("x");
        let add = Arc::new(FnTarget::new(0, "<add>", "operator.add", "add"));
        b.iter(|| {
            let start = graph.checkpoint();
            for _ in 0..NODES {
                graph.call_function(add.clone(), vec![x.into(), x.into()], Kwargs::new());
            }
            graph.restore(start).unwrap();
        })
    });
    group.bench_function("dead code", |b| {
        b.iter_batched(
            || graph.clone(),
            |mut graph| graph.eliminate_dead_code(),
            criterion::BatchSize::LargeInput,
        )
    });
    group.bench_function("verify", |b| b.iter(|| graph.verify()));
    group.bench_function("python_code", |b| b.iter(|| graph.python_code()));
    group.finish();
}

criterion_group!(benches, per_node);
criterion_main!(benches);
