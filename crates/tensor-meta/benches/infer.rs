//! Time of one rule for the ops that models use most, and of looking a rule up.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tensor_meta::{Ctx, DType, Device, TensorMeta, Value, infer, lookup_function, lookup_method};

fn tensor(shape: &[i64]) -> TensorMeta {
    TensorMeta::contiguous(shape, DType::Float32, Device::CPU).with_grad(true)
}

fn rules(c: &mut Criterion) {
    let ctx = Ctx::default();
    let x = tensor(&[2, 16, 64]);
    let w = tensor(&[64, 64]);
    let b = tensor(&[64]);
    let image = tensor(&[2, 16, 32, 32]);
    let kernel = tensor(&[32, 16, 3, 3]);
    let cases: Vec<(&str, _, Vec<Value<'_>>)> = vec![
        (
            "linear",
            lookup_function("torch._C._nn.linear"),
            vec![Value::Tensor(&x), Value::Tensor(&w), Value::Tensor(&b)],
        ),
        (
            "add",
            lookup_function("operator.add"),
            vec![Value::Tensor(&x), Value::Tensor(&b)],
        ),
        (
            "view",
            lookup_method("view"),
            vec![Value::Tensor(&x), Value::Int(2), Value::Int(-1)],
        ),
        (
            "getitem",
            lookup_function("operator.getitem"),
            vec![Value::Tensor(&x), Value::Int(0)],
        ),
        (
            "conv2d",
            lookup_function("torch.conv2d"),
            vec![Value::Tensor(&image), Value::Tensor(&kernel)],
        ),
    ];
    for (name, id, args) in &cases {
        let id = id.expect("rule");
        c.bench_function(name, |bench| {
            bench.iter(|| infer(black_box(id), black_box(args), &[], &ctx))
        });
    }
    c.bench_function("lookup", |bench| {
        bench.iter(|| lookup_function(black_box("torch._C._nn.linear")))
    });
}

criterion_group!(benches, rules);
criterion_main!(benches);
