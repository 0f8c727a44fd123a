//! Decoding and assembling the functions of `tests/data/sample.py`, by version.

use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;

use bytecode::{AsmInfo, CodeFields, Version, assemble, decode, wire};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn sample(version: Version) -> Vec<CodeFields> {
    let path = format!(
        "{}/tests/data/sample-{version}.bin",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut input = BufReader::new(File::open(path).expect("the sample is there"));
    std::iter::from_fn(|| wire::read_code(&mut input).expect("the sample is well-formed"))
        .map(|(fields, _)| fields)
        .collect()
}

fn bench(c: &mut Criterion) {
    for version in Version::ALL {
        let codes = sample(version);
        let bodies: Vec<_> = codes
            .iter()
            .map(|fields| decode(fields).expect("decodes"))
            .collect();
        let mut group = c.benchmark_group(format!("code {version}"));
        group.throughput(Throughput::Elements(
            bodies.iter().map(|body| body.instrs.len() as u64).sum(),
        ));
        group.bench_function("decode", |b| {
            b.iter(|| {
                for fields in &codes {
                    black_box(decode(black_box(fields)).is_ok());
                }
            })
        });
        group.bench_function("assemble", |b| {
            b.iter(|| {
                for (body, fields) in bodies.iter().zip(&codes) {
                    let info = AsmInfo {
                        firstlineno: fields.firstlineno,
                        limits: None,
                    };
                    black_box(assemble(black_box(body), &info).is_ok());
                }
            })
        });
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
