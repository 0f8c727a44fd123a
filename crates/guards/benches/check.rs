//! Check programs of 1, 8 and 64 tensors, of constants, of a model-like tree and of stacks of 4, 24 and 96
//! transformer blocks (watched, and in full); compilation of 5,000 guards.
//!
//! Needs the environment that the tests need (`FERRODYN_SITE`).

use std::hint::black_box;
use std::sync::Arc;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use guards::exec::{CheckEnv, CheckProgram, Pins, read};
use guards::{
    ConstTypes, ConstVal, Guard, GuardKind, GuardSet, Key, Program, Source, SourceId, SourceTable,
    TensorSpec,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use torch_abi::TorchAbi;

fn link(
    py: Python<'_>,
    abi: &TorchAbi,
    t: SourceTable,
    guards: Vec<Guard>,
    pins: Pins,
) -> CheckProgram {
    let set = GuardSet::new(t, guards, ConstTypes::of(abi));
    let program = Program::compile(&set);
    CheckProgram::link(py, Arc::new(set), program, pins).unwrap_or_else(|e| panic!("{e}"))
}

/// Adds benchmarks of a program's check of a call with these arguments.
fn bench_check(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    program: &CheckProgram,
    arguments: &[Bound<'_, PyAny>],
    in_full: bool,
) {
    let locals: Vec<_> = arguments.iter().map(Bound::as_ptr).collect();
    let null = std::ptr::null_mut();
    let env = CheckEnv {
        locals: &locals,
        closure: null,
        globals: null,
        builtins: null,
    };
    group.bench_function(name, |b| {
        b.iter(|| {
            // SAFETY: everything in `env` is alive or null.
            unsafe { assert!(program.check(black_box(&env))) }
        })
    });
    if in_full {
        group.bench_function(format!("{name}, in full"), |b| {
            b.iter(|| {
                // SAFETY: everything in `env` is alive or null.
                unsafe { assert!(program.check_everything(black_box(&env))) }
            })
        });
    }
}

/// Blocks with the modules and parameters of a transformer: 16 parameters each.
const STACK: &std::ffi::CStr = c"
def stack(n):
    class Block(torch.nn.Module):
        def __init__(self, w=8):
            super().__init__()
            for name in ('q', 'k', 'v', 'o', 'up', 'down'):
                setattr(self, name, torch.nn.Linear(w, w))
            self.norm1, self.norm2 = torch.nn.LayerNorm(w), torch.nn.LayerNorm(w)
    return torch.nn.Sequential(*(Block() for _ in range(n)))
";

/// Collects what a translation guards of a tree of modules.
struct Tree<'py> {
    py: Python<'py>,
    abi: &'static TorchAbi,
    sources: SourceTable,
    pins: Pins,
    guards: Vec<Guard>,
}

impl Tree<'_> {
    fn item(&mut self, base: SourceId, name: &str) -> SourceId {
        self.sources.intern(Source::InstanceDictItem {
            base,
            name: name.into(),
        })
    }

    fn module(&mut self, me: SourceId, module: &Bound<'_, PyAny>) {
        let mut guards = vec![GuardKind::TypeMatch {
            ty: self.pins.pin_auto(&module.get_type()),
        }];
        for name in [
            "_compiled_call_impl",
            "_call_impl",
            "forward",
            "weight",
            "bias",
        ] {
            guards.push(GuardKind::GenericDictContains {
                name: name.into(),
                present: false,
            });
        }
        self.guards
            .extend(guards.into_iter().map(|kind| Guard::new(me, kind)));
        for name in [
            "_backward_hooks",
            "_backward_pre_hooks",
            "_forward_hooks",
            "_forward_pre_hooks",
        ] {
            let hooks = self.item(me, name);
            self.guards
                .push(Guard::new(hooks, GuardKind::DictKeys { keys: [].into() }));
        }
        for (table, is_module) in [("_parameters", false), ("_modules", true)] {
            let items = module.getattr(table).expect("a table");
            let base = self.item(me, table);
            for (name, value) in items.cast::<PyDict>().expect("a dict").iter() {
                let name: String = name.extract().expect("a name");
                let key = Key::str(&name);
                let child = self.sources.intern(Source::DictItem { base, key });
                if is_module {
                    self.module(child, &value);
                    continue;
                }
                let obj = self.pins.pin_weak(&value);
                self.guards
                    .push(Guard::new(child, GuardKind::IdMatch { obj }));
                let spec = TensorSpec::of(self.py, self.abi, &mut self.pins, &value);
                let spec = Arc::new(spec.expect("a tensor"));
                self.guards
                    .push(Guard::new(child, GuardKind::TensorMatch { spec }));
            }
        }
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
        let scope = PyDict::new(py);
        py.run(c"import torch\nts = [torch.ones(3, 4) for _ in range(64)]\nclass A: pass\nm = torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(96)])", Some(&scope), None)
            .expect("setup");
        let tensors: Vec<Bound<'_, PyAny>> = scope
            .get_item("ts")
            .unwrap()
            .unwrap()
            .try_iter()
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let mut group = c.benchmark_group("check");
        for n in [1usize, 8, 64] {
            let (mut t, mut pins, mut guards) = (SourceTable::new(), Pins::new(), Vec::new());
            for (i, tensor) in tensors[..n].iter().enumerate() {
                let x = t.intern(Source::Local {
                    index: i as u32,
                    name: format!("x{i}").into(),
                });
                let spec = TensorSpec::of(py, abi, &mut pins, tensor).unwrap();
                guards.push(Guard::new(
                    x,
                    GuardKind::TensorMatch {
                        spec: Arc::new(spec),
                    },
                ));
            }
            let program = link(py, abi, t, guards, pins);
            bench_check(
                &mut group,
                &format!("{n} tensors"),
                &program,
                &tensors[..n],
                false,
            );
        }
        {
            let (mut t, mut pins, mut guards) = (SourceTable::new(), Pins::new(), Vec::new());
            for kind in read::ambient_guards(py, abi, &mut pins).unwrap() {
                guards.push(Guard::ambient(kind));
            }
            let x = t.intern(Source::Local {
                index: 0,
                name: "x".into(),
            });
            let spec = TensorSpec::of(py, abi, &mut pins, &tensors[0]).unwrap();
            guards.push(Guard::new(
                x,
                GuardKind::TensorMatch {
                    spec: Arc::new(spec),
                },
            ));
            for mark in torch_abi::names::DYNAMIC_MARKS {
                guards.push(Guard::new(
                    x,
                    GuardKind::HasAttr {
                        name: mark.into(),
                        present: false,
                    },
                ));
            }
            let program = link(py, abi, t, guards, pins);
            bench_check(
                &mut group,
                "seed: state, 1 tensor, 5 marks",
                &program,
                &tensors[..1],
                false,
            );
        }
        {
            let (mut t, mut pins, mut guards) = (SourceTable::new(), Pins::new(), Vec::new());
            let model = scope.get_item("m").unwrap().unwrap();
            let me = t.intern(Source::Local {
                index: 0,
                name: "self".into(),
            });
            let modules = t.intern(Source::InstanceDictItem {
                base: me,
                name: "_modules".into(),
            });
            for i in 0..96 {
                let layer = t.intern(Source::DictItem {
                    base: modules,
                    key: Key::str(&i.to_string()),
                });
                let object = model.get_item(i).unwrap();
                guards.push(Guard::new(
                    layer,
                    GuardKind::TypeMatch {
                        ty: pins.pin_auto(&object.get_type()),
                    },
                ));
                let parameters = t.intern(Source::InstanceDictItem {
                    base: layer,
                    name: "_parameters".into(),
                });
                for name in ["weight", "bias"] {
                    let p = t.intern(Source::DictItem {
                        base: parameters,
                        key: Key::str(name),
                    });
                    let spec =
                        TensorSpec::of(py, abi, &mut pins, &object.getattr(name).unwrap()).unwrap();
                    guards.push(Guard::new(
                        p,
                        GuardKind::TensorMatch {
                            spec: Arc::new(spec),
                        },
                    ));
                }
            }
            let program = link(py, abi, t, guards, pins);
            bench_check(&mut group, "model of 96 layers", &program, &[model], false);
        }
        py.run(STACK, Some(&scope), None).expect("stack");
        guards::exec::watch::prepare(py);
        for n in [4, 24, 96] {
            let text = std::ffi::CString::new(format!("stack({n})")).expect("no NUL");
            let model = py.eval(&text, Some(&scope), None).expect("stack");
            let mut tree = Tree {
                py,
                abi,
                sources: SourceTable::new(),
                pins: Pins::new(),
                guards: Vec::new(),
            };
            let me = tree.sources.intern(Source::Local {
                index: 0,
                name: "self".into(),
            });
            tree.module(me, &model);
            let program = link(py, abi, tree.sources, tree.guards, tree.pins);
            let name = format!("stack of {n} blocks");
            bench_check(&mut group, &name, &program, &[model], true);
        }
        group.finish();
    });
    bench_compilation(c);
}

/// The whole way from guards to a program that can be checked.
fn bench_compilation(c: &mut Criterion) {
    let mut t = SourceTable::new();
    let me = t.intern(Source::Local {
        index: 0,
        name: "self".into(),
    });
    let mut guards = Vec::new();
    for i in 0..5000 {
        let item = t.intern(Source::InstanceDictItem {
            base: me,
            name: format!("a{i}").into(),
        });
        guards.push(Guard::new(
            item,
            GuardKind::EqualsMatch {
                value: ConstVal::Int(i),
            },
        ));
    }
    c.bench_function("compile 5000 guards", |b| {
        b.iter(|| {
            let set = GuardSet::new(t.clone(), guards.clone(), ConstTypes::default());
            black_box(Program::compile(&set))
        });
    });
    Python::attach(|py| {
        let abi = TorchAbi::get(py).unwrap_or_else(|e| panic!("{e}"));
        c.bench_function("compile and link 5000 guards", |b| {
            b.iter(|| link(py, abi, t.clone(), guards.clone(), Pins::new()))
        });
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
