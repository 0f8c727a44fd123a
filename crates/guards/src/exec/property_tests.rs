//! Random values, guarded completely, against random values: the program and the Python text give one verdict,
//! and a check passes exactly if the two values look the same to a program (a canonical text written in Python).

use std::cell::Cell;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySet, PyTuple};

use crate::exec::tests::World;
use crate::exec::{CheckProgram, Pins, read};
use crate::guard::{Guard, GuardKind, TensorSpec};
use crate::source::{Source, SourceId, SourceTable};
use crate::value::Key;

/// Spells values exactly: types, signs of zero, order of keys, metadata of tensors.
const CANONICAL: &str = "
class A: pass
class B(A): pass
def new(cls, **kw):
    o = cls()
    o.__dict__.update(kw)
    return o
def canonical(v):
    t = type(v).__name__
    if type(v) in (list, tuple): return f'{t}({[canonical(i) for i in v]})'
    if type(v) is dict: return f'dict({[(canonical(k), canonical(i)) for k, i in v.items()]})'
    if type(v) is set: return f'set({sorted(map(canonical, v))})'
    if isinstance(v, A): return f'{t}({canonical(v.__dict__)})'
    if isinstance(v, torch.Tensor):
        return f'{t}({list(v.shape)}, {v.stride()}, {v.dtype}, {v.device}, {v.requires_grad}, {v.is_neg()})'
    return f'{t}:{v!r}'
";

fn leaf() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("None".to_owned()),
        any::<bool>().prop_map(|b| if b { "True".into() } else { "False".into() }),
        (-2i64..3).prop_map(|n| n.to_string()),
        Just("1 << 65".to_owned()),
        prop_oneof![
            Just("0.0"),
            Just("-0.0"),
            Just("1.0"),
            Just("float('inf')"),
            Just("1e300")
        ]
        .prop_map(String::from),
        prop_oneof![
            Just("''"),
            Just("'a'"),
            Just("'b'"),
            Just("b'a'"),
            Just("'\\u20ac'")
        ]
        .prop_map(String::from),
        prop_oneof![
            Just("torch.ones(2)"),
            Just("torch.ones(2, 3)"),
            Just("torch.ones(3, 2).t()"),
            Just("torch.ones(2, dtype=torch.int64)"),
            Just("torch.ones(2, requires_grad=True)"),
            Just("torch.nn.Parameter(torch.ones(2))"),
            Just("torch.ones(2, device='meta')"),
            Just("torch._neg_view(torch.ones(2))"),
            Just("torch.ones(1, 1, 1, 1, 1, 2)"),
            Just("torch.ones(())"),
        ]
        .prop_map(String::from),
        prop_oneof![
            Just("torch.device('cpu')"),
            Just("torch.Size([2])"),
            Just("...")
        ]
        .prop_map(String::from),
    ]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("'a'"),
        Just("'b'"),
        Just("1"),
        Just("2.5"),
        Just("(1, 'c')"),
        Just("None")
    ]
    .prop_map(String::from)
}

fn value() -> impl Strategy<Value = String> {
    leaf().prop_recursive(3, 12, 3, |inner| {
        let items = prop::collection::vec(inner.clone(), 0..3);
        let pairs = prop::collection::vec((key(), inner.clone()), 0..3);
        let fields = prop::collection::vec((prop_oneof![Just("p"), Just("q")], inner), 0..2);
        prop_oneof![
            items
                .clone()
                .prop_map(|items| format!("[{}]", items.join(", "))),
            items.prop_map(|items| format!("tuple([{}])", items.join(", "))),
            pairs.prop_map(|pairs| {
                let pairs: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}: {v}")).collect();
                format!("{{{}}}", pairs.join(", "))
            }),
            prop::collection::vec(key(), 0..3)
                .prop_map(|keys| format!("set([{}])", keys.join(", "))),
            (any::<bool>(), fields).prop_map(|(b, fields)| {
                let fields: Vec<String> =
                    fields.iter().map(|(k, v)| format!("'{k}': {v}")).collect();
                format!(
                    "new({}, **{{{}}})",
                    if b { "A" } else { "B" },
                    fields.join(", ")
                )
            }),
        ]
    })
}

struct Builder<'a, 'py> {
    w: &'a World<'py>,
    sources: SourceTable,
    pins: Pins,
    guards: Vec<Guard>,
}

impl Builder<'_, '_> {
    /// Guards everything that a program could see of a value.
    fn all(&mut self, source: SourceId, v: &Bound<'_, PyAny>) {
        if let Ok(spec) = TensorSpec::of(self.w.py, self.w.abi, &mut self.pins, v) {
            return self.push(
                source,
                GuardKind::TensorMatch {
                    spec: Arc::new(spec),
                },
            );
        }
        if let Some(value) = read::constant(v) {
            return self.push(source, GuardKind::EqualsMatch { value });
        }
        let ty = self.pins.pin_auto(&v.get_type());
        self.push(source, GuardKind::TypeMatch { ty });
        if let Ok(list) = v.cast::<PyList>() {
            self.push(source, GuardKind::SequenceLength { len: list.len() });
            for (i, item) in list.iter().enumerate() {
                let step = self.sources.intern(Source::ListItem {
                    base: source,
                    index: i as u32,
                });
                self.all(step, &item);
            }
        } else if let Ok(tuple) = v.cast::<PyTuple>() {
            self.push(source, GuardKind::SequenceLength { len: tuple.len() });
            for (i, item) in tuple.iter().enumerate() {
                let step = self.sources.intern(Source::TupleItem {
                    base: source,
                    index: i as u32,
                });
                self.all(step, &item);
            }
        } else if let Ok(set) = v.cast::<PySet>() {
            self.push(source, GuardKind::SequenceLength { len: set.len() });
            for item in set.iter() {
                self.push(
                    source,
                    GuardKind::SetContains {
                        key: self.key(&item),
                        present: true,
                    },
                );
            }
        } else if let Ok(dict) = v.cast::<PyDict>() {
            self.dict(source, dict, |base, key| Source::DictItem { base, key });
        } else {
            let dict = v
                .getattr("__dict__")
                .expect("an instance")
                .cast_into::<PyDict>()
                .expect("a dict");
            let step = self.sources.intern(Source::InstanceDict { base: source });
            self.dict(step, &dict, |base, key| Source::DictItem { base, key });
        }
    }

    fn dict(
        &mut self,
        source: SourceId,
        dict: &Bound<'_, PyDict>,
        step: fn(SourceId, Key) -> Source,
    ) {
        let keys: Vec<Key> = dict.keys().iter().map(|key| self.key(&key)).collect();
        self.push(
            source,
            GuardKind::DictKeys {
                keys: keys.clone().into(),
            },
        );
        for (key, (_, item)) in keys.into_iter().zip(dict.iter()) {
            let source = self.sources.intern(step(source, key));
            self.all(source, &item);
        }
    }

    fn key(&self, key: &Bound<'_, PyAny>) -> Key {
        read::constant(key).expect("a constant key")
    }

    fn push(&mut self, source: SourceId, kind: GuardKind) {
        self.guards.push(Guard::new(source, kind));
    }
}

fn guard_all(w: &World<'_>, v: &Bound<'_, PyAny>) -> CheckProgram {
    let mut sources = SourceTable::new();
    let x = sources.intern(Source::Local {
        index: 0,
        name: "x".into(),
    });
    let mut builder = Builder {
        w,
        sources,
        pins: Pins::new(),
        guards: Vec::new(),
    };
    builder.all(x, v);
    w.link(builder.sources, builder.guards, builder.pins)
}

#[test]
fn program_text_and_meaning_agree() {
    World::with(|w| {
        w.run(CANONICAL);
        let canonical = w.eval("canonical");
        let spell = |v: &Bound<'_, PyAny>| {
            canonical
                .call1((v,))
                .and_then(|t| t.extract::<String>())
                .expect("canonical")
        };
        let (passed, failed) = (Cell::new(0), Cell::new(0));
        // A pair is either unrelated, or the second is spelled like the first: a fresh equal value.
        let pairs = (value(), value(), prop::bool::weighted(0.4))
            .prop_map(|(a, b, same)| if same { (a.clone(), a) } else { (a, b) });
        let result = TestRunner::new(Config {
            cases: 300,
            failure_persistence: None,
            ..Config::default()
        })
        .run(&pairs, |(a, b)| {
            let (a, b) = (w.eval(&a), w.eval(&b));
            let program = guard_all(&w, &a);
            prop_assert!(
                w.verdict(&program, std::slice::from_ref(&a)),
                "{}",
                w.reason(&program, &[a])
            );
            let native = w.verdict(&program, std::slice::from_ref(&b));
            prop_assert_eq!(
                native,
                spell(&a) == spell(&b),
                "{}",
                w.reason(&program, std::slice::from_ref(&b))
            );
            prop_assert_eq!(native, w.reason(&program, &[b]).is_empty());
            let counter = if native { &passed } else { &failed };
            counter.set(counter.get() + 1);
            Ok(())
        });
        if let Err(error) = result {
            panic!("{error}");
        }
        assert!(
            passed.get() > 60 && failed.get() > 60,
            "{} {}",
            passed.get(),
            failed.get()
        );
    });
}

#[test]
fn a_hundred_thousand_checks_leave_nothing_behind() {
    World::with(|w| {
        w.run(CANONICAL);
        let v = w.eval("new(A, t=torch.ones(2), d={'a': [1, (2.5, 'x')]}, f=canonical)");
        let program = guard_all(
            &w,
            &w.eval("new(A, t=torch.ones(2), d={'a': [1, (2.5, 'x')]})"),
        );
        let good = w.eval("new(A, t=torch.ones(2), d={'a': [1, (2.5, 'x')]})");
        let blocks = || {
            w.eval("__import__('sys').getallocatedblocks()")
                .extract::<i64>()
                .expect("count")
        };
        let null = std::ptr::null_mut();
        let check = |v: &Bound<'_, PyAny>| {
            let locals = [v.as_ptr()];
            let env = crate::exec::CheckEnv {
                locals: &locals,
                closure: null,
                globals: null,
                builtins: null,
            };
            // SAFETY: everything in `env` is alive or null.
            unsafe { program.check(&env) }
        };
        assert!(check(&good) && !check(&v));
        let before = blocks();
        for _ in 0..100_000 {
            assert!(check(&good) && !check(&v));
        }
        assert!((blocks() - before).abs() < 50, "{before} {}", blocks());
    });
}
