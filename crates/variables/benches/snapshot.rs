//! Snapshot and restore of the table of effects: what each must not depend on is its size.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use pyo3::prelude::*;
use variables::{Body, Effects, Key, ObjId, ObjState, OrderedMap, Var};

fn filled(class: &Py<PyAny>, objects: u32) -> Effects {
    let name: Arc<str> = "weight".into();
    let mut effects = Effects::default();
    for i in 0..objects {
        let id = effects.add(ObjState::new(class.clone(), Body::Plain));
        effects.write_attr(id, &name, Some(Var::Obj(ObjId(i))));
    }
    effects
}

fn bench(c: &mut Criterion) {
    Python::attach(|py| {
        let class = py.get_type::<PyAny>().into_any().unbind();
        let name: Arc<str> = "bias".into();
        let mut group = c.benchmark_group("effects");
        for objects in [10, 1_000, 10_000] {
            let effects = filled(&class, objects);
            group.bench_function(format!("snapshot and drop, {objects} objects"), |b| {
                b.iter(|| black_box(effects.clone()).len())
            });
            group.bench_function(format!("snapshot and one write, {objects} objects"), |b| {
                let mut now = effects.clone();
                let mut turn = 0;
                b.iter(|| {
                    let kept = now.clone();
                    turn = (turn + 1) % objects;
                    now.write_attr(ObjId(turn), &name, Some(Var::Null));
                    kept.len()
                })
            });
            group.bench_function(format!("write and restore, {objects} objects"), |b| {
                let mut now = effects.clone();
                b.iter(|| {
                    now.write_attr(ObjId(0), &name, Some(Var::Null));
                    now = effects.clone();
                })
            });
        }
        group.finish();

        let mut group = c.benchmark_group("dict");
        for items in [8u32, 1_000] {
            let mut map = OrderedMap::default();
            for i in 0..items {
                map.insert(Key::Obj(ObjId(i)), Var::Null, Var::Null);
            }
            group.bench_function(format!("snapshot and one write, {items} items"), |b| {
                let mut now = map.clone();
                b.iter(|| {
                    let kept = now.clone();
                    now.insert(Key::Obj(ObjId(3)), Var::Null, Var::Null);
                    kept.len()
                })
            });
        }
        group.finish();
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
