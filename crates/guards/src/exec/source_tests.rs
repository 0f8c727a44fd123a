//! Every source on real objects: that it finds its value, that it follows changes, and that what cannot be read
//! without user code fails the check instead.

use pyo3::ffi;
use pyo3::prelude::*;

use crate::exec::tests::World;
use crate::exec::{CheckEnv, CheckProgram, Pins};
use crate::guard::{Guard, GuardKind};
use crate::source::{Source, SourceId, SourceTable};
use crate::value::{ConstVal, Key};

/// A program that wants the value of a source to equal `7`, and what it was built with.
fn seven(w: &World<'_>, build: impl Fn(&mut SourceTable, &mut Pins) -> SourceId) -> CheckProgram {
    equals(w, ConstVal::Int(7), build)
}

fn equals(
    w: &World<'_>,
    value: ConstVal,
    build: impl Fn(&mut SourceTable, &mut Pins) -> SourceId,
) -> CheckProgram {
    let mut sources = SourceTable::new();
    let mut pins = Pins::new();
    let source = build(&mut sources, &mut pins);
    let guard = Guard::new(source, GuardKind::EqualsMatch { value });
    w.link(sources, vec![guard], pins)
}

fn x(sources: &mut SourceTable) -> SourceId {
    sources.intern(Source::Local {
        index: 0,
        name: "x".into(),
    })
}

/// Which of these values of `x` satisfy a source that must be 7.
fn passing(setup: &str, step: impl Fn(SourceId) -> Source, expressions: &[&str]) -> Vec<bool> {
    World::with(|w| {
        w.run(setup);
        let program = seven(&w, |sources, _| {
            let base = x(sources);
            sources.intern(step(base))
        });
        expressions
            .iter()
            .map(|e| w.verdict(&program, &[w.eval(e)]))
            .collect()
    })
}

#[test]
fn containers() {
    let item = |key: Key| {
        move |base| Source::DictItem {
            base,
            key: key.clone(),
        }
    };
    assert_eq!(
        passing(
            "",
            item(Key::str("k")),
            &[
                "{'k': 7}",
                "{'k': 8}",
                "{}",
                "{1: 2, 'k': 7}",
                "collections.OrderedDict(k=7)",
                "[7]"
            ]
        ),
        [true, false, false, true, true, false]
    );
    assert_eq!(
        passing(
            "",
            item(Key::Int(1)),
            &["{1: 7}", "{True: 7}", "{0: 1, 1: 7}", "{2: 7}"]
        ),
        [true, true, true, false]
    );
    assert_eq!(
        passing(
            "",
            |base| Source::ListItem { base, index: 1 },
            &["[0, 7]", "[7]", "collections.deque((1, 7))", "'77'"]
        ),
        [true, false, true, false]
    );
    assert_eq!(
        passing(
            "class T(tuple):\n  def __getitem__(self, i): return super().__getitem__(i)",
            |base| Source::TupleItem { base, index: 1 },
            &["(0, 7)", "(7,)", "T((0, 7))", "torch.Size((0, 7))"]
        ),
        [true, false, true, true]
    );
    assert_eq!(
        passing(
            "",
            |base| Source::DictKeyAt { base, index: 1 },
            &["{1: 0, 7: 0}", "{7: 0}", "{7: 0, 1: 0}"]
        ),
        [true, false, false]
    );
}

#[test]
fn instances_and_attributes() {
    let setup = "
class A:
    k = 7
    def __init__(self, **kw): self.__dict__.update(kw)
class Slots:
    __slots__ = ('k',)
    def __init__(self, k): self.k = k
class Property:
    @property
    def k(self): raise SystemError
class Hot:
    k = 7
    def __getattribute__(self, name): raise SystemError
empty = Slots(1)
del empty.k
";
    assert_eq!(
        passing(
            setup,
            |base| Source::InstanceDictItem {
                base,
                name: "k".into()
            },
            &["A(k=7)", "A(k=8)", "1"]
        ),
        [true, false, false]
    );
    assert_eq!(
        passing(
            setup,
            |base| Source::Attr {
                base,
                name: "k".into()
            },
            &[
                "A()",
                "A(k=8)",
                "Slots(7)",
                "Slots(8)",
                "empty",
                "Property()",
                "Hot()",
                "A",
                "Hot"
            ]
        ),
        [true, false, true, false, false, false, false, true, true]
    );
    assert_eq!(
        passing(
            "",
            |base| Source::Attr {
                base,
                name: "ndim".into()
            },
            &["torch.ones([1] * 7)", "torch.ones(1)"]
        ),
        [true, false]
    );
    World::with(|w| {
        w.run(setup);
        let through_dict = seven(&w, |sources, _| {
            let base = x(sources);
            let base = sources.intern(Source::InstanceDict { base });
            sources.intern(Source::DictItem {
                base,
                key: Key::str("k"),
            })
        });
        assert!(w.verdict(&through_dict, &[w.eval("A(k=7)")]));
        assert!(!w.verdict(&through_dict, &[w.eval("A()")]));
        let of_class = seven(&w, |sources, _| {
            let base = x(sources);
            let base = sources.intern(Source::TypeOf { base });
            sources.intern(Source::MroAttr {
                base,
                name: "k".into(),
            })
        });
        assert!(w.verdict(&of_class, &[w.eval("A(k=9)")]));
        assert!(!w.verdict(&of_class, &[w.eval("1")]));
    });
}

#[test]
fn a_getter_does_not_run_under_a_mode() {
    World::with(|w| {
        w.run("class Mode(torch.overrides.TorchFunctionMode):\n  calls = 0\n  def __torch_function__(self, f, t, a=(), k=None):\n    Mode.calls += 1\n    return f(*a, **(k or {}))\nimport torch.overrides\n".replace("class Mode", "import torch.overrides\nclass Mode").as_str());
        let program = equals(&w, ConstVal::Int(1), |sources, _| {
            let base = x(sources);
            sources.intern(Source::Attr {
                base,
                name: "ndim".into(),
            })
        });
        let tensor = w.eval("torch.ones(1)");
        assert!(w.verdict(&program, std::slice::from_ref(&tensor)));
        w.run("m = Mode()\nm.__enter__()\nMode.calls = 0");
        let locals = [tensor.as_ptr()];
        let null = std::ptr::null_mut();
        let env = CheckEnv {
            locals: &locals,
            closure: null,
            globals: null,
            builtins: null,
        };
        // SAFETY: everything in `env` is alive or null.
        let verdict = unsafe { program.check(&env) };
        let calls: i32 = w.eval("Mode.calls").extract().unwrap();
        w.run("m.__exit__(None, None, None)");
        assert_eq!((verdict, calls), (false, 0));
    });
}

#[test]
fn functions() {
    let setup = "
def make(n):
    def f(a=n, *, k=7): return n
    return f
def bare(): pass
";
    assert_eq!(
        World::with(|w| {
            w.run(setup);
            let closure = seven(&w, |sources, _| {
                let base = x(sources);
                let base = sources.intern(Source::FuncClosure { base });
                let base = sources.intern(Source::TupleItem { base, index: 0 });
                sources.intern(Source::CellContents { base })
            });
            let defaults = seven(&w, |sources, _| {
                let base = x(sources);
                let base = sources.intern(Source::FuncDefaults { base });
                sources.intern(Source::TupleItem { base, index: 0 })
            });
            let kwdefaults = seven(&w, |sources, _| {
                let base = x(sources);
                let base = sources.intern(Source::FuncKwDefaults { base });
                sources.intern(Source::DictItem {
                    base,
                    key: Key::str("k"),
                })
            });
            let code = equals(&w, ConstVal::Int(1), |sources, _| {
                let base = x(sources);
                let base = sources.intern(Source::FuncCode { base });
                sources.intern(Source::Attr {
                    base,
                    name: "co_argcount".into(),
                })
            });
            let mut verdicts = Vec::new();
            for f in ["make(7)", "make(8)", "bare", "len"] {
                let f = w.eval(f);
                for program in [&closure, &defaults, &kwdefaults, &code] {
                    verdicts.push(w.verdict(program, std::slice::from_ref(&f)));
                }
            }
            verdicts
        }),
        [
            true, true, true, true, false, false, true, true, false, false, false, false, false,
            false, false, false
        ]
    );
}

#[test]
fn what_is_under_iterators_and_proxies() {
    World::with(|w| {
        w.run("import types\ndef done(i):\n  list(i)\n  return i");
        let verdicts = |program: &CheckProgram, values: &[&str]| -> Vec<bool> {
            let verdict = |v: &&str| w.verdict(program, std::slice::from_ref(&w.eval(v)));
            values.iter().map(verdict).collect()
        };
        let under = |sources: &mut SourceTable| {
            let base = x(sources);
            sources.intern(Source::Under { base })
        };
        let tuple = seven(&w, |sources, _| {
            let base = under(sources);
            sources.intern(Source::TupleItem { base, index: 0 })
        });
        let values = ["iter((7,))", "iter((8,))", "done(iter((7,)))", "(7,)"];
        assert_eq!(verdicts(&tuple, &values), [true, false, false, false]);
        w.run("import weakref, types\nclass Thing: pass\nthing = Thing()\nthing.k = 7");
        let attribute = seven(&w, |sources, _| {
            let base = under(sources);
            sources.intern(Source::Attr {
                base,
                name: "k".into(),
            })
        });
        let values = ["weakref.ref(thing)", "weakref.ref(Thing())", "thing"];
        assert_eq!(verdicts(&attribute, &values), [true, false, false]);
        let list = seven(&w, |sources, _| {
            let base = under(sources);
            sources.intern(Source::ListItem { base, index: 0 })
        });
        let values = ["iter([7])", "reversed([7])", "iter([])", "done(iter([7]))"];
        assert_eq!(verdicts(&list, &values), [true, true, false, false]);
        let mapping = seven(&w, |sources, _| {
            let base = under(sources);
            sources.intern(Source::DictItem {
                base,
                key: Key::str("k"),
            })
        });
        let values = [
            "types.MappingProxyType({'k': 7})",
            "types.MappingProxyType({})",
            "{'k': 7}",
            "{'k': 7}.keys()",
            "{'k': 8}.items()",
        ];
        let expected = [true, false, false, true, false];
        assert_eq!(verdicts(&mapping, &values), expected);
    });
}

#[test]
fn globals_builtins_and_pins() {
    World::with(|w| {
        w.run("import types\nother = types.ModuleType('other')\nother.g = 7\ng = 7\nclass A: pass\na = A()\na.k = 7");
        let global = seven(&w, |sources, _| {
            sources.intern(Source::Global { name: "g".into() })
        });
        assert!(w.verdict(&global, &[]));
        w.run("g = 8");
        assert!(!w.verdict(&global, &[]));
        assert!(
            w.reason(&global, &[])
                .contains("g == 7. expected 7, actual 8")
        );
        w.run("del g");
        assert!(!w.verdict(&global, &[]));
        assert!(w.reason(&global, &[]).contains("g has no value"));

        let of_module = seven(&w, |sources, pins| {
            let pin = pins.pin(&w.eval("other.__dict__")).pin;
            sources.intern(Source::GlobalsOf {
                pin,
                module: "other".into(),
                name: "g".into(),
            })
        });
        assert!(w.verdict(&of_module, &[]));
        w.run("other.g = 8");
        assert!(!w.verdict(&of_module, &[]));

        let mut sources = SourceTable::new();
        let mut pins = Pins::new();
        let len = sources.intern(Source::Builtin { name: "len".into() });
        let all = sources.intern(Source::Globals);
        let obj = pins.pin_auto(&w.eval("len"));
        let guards = vec![
            Guard::new(len, GuardKind::FunctionMatch { obj }),
            Guard::new(
                all,
                GuardKind::DictContains {
                    key: Key::str("len"),
                    present: false,
                },
            ),
        ];
        let program = w.link(sources, guards, pins);
        assert!(w.verdict(&program, &[]));
        w.run("len = 1");
        assert!(!w.verdict(&program, &[]), "shadowed");
        w.run("del len");
        assert!(w.verdict(&program, &[]));

        let pinned = |strong: bool| {
            seven(&w, |sources, pins| {
                let a = w.eval("a");
                let pin = if strong {
                    pins.pin(&a).pin
                } else {
                    pins.pin_weak(&a).pin
                };
                let name = "__pinned_a".into();
                let base = sources.intern(if strong {
                    Source::Pinned { pin, name }
                } else {
                    Source::WeakPinned { pin, name }
                });
                sources.intern(Source::InstanceDictItem {
                    base,
                    name: "k".into(),
                })
            })
        };
        w.run("class Mode(torch.overrides.TorchFunctionMode):\n  def __torch_function__(self, f, t, a=(), k=None):\n    return f(*a, **(k or {}))\nm = Mode()\nm.k = 7\nm.__enter__()");
        let of_mode = seven(&w, |sources, _| {
            let base = sources.intern(Source::FunctionMode { index: 0 });
            sources.intern(Source::InstanceDictItem {
                base,
                name: "k".into(),
            })
        });
        assert!(w.verdict(&of_mode, &[]));
        w.run("m.k = 8");
        assert!(!w.verdict(&of_mode, &[]));
        w.run("m.__exit__(None, None, None)");
        assert!(!w.verdict(&of_mode, &[]));

        let (strong, weak) = (pinned(true), pinned(false));
        assert!(w.verdict(&strong, &[]) && w.verdict(&weak, &[]));
        w.run("a.k = 8");
        assert!(!w.verdict(&strong, &[]) && !w.verdict(&weak, &[]));
        w.run("a.k = 7\ngone = weakref.ref(a)\ndel a");
        assert!(w.verdict(&strong, &[]) && weak.validity().is_valid());
        drop(strong);
        // The namespaces of the text are cycles.
        w.run("import gc\ngc.collect()");
        assert!(
            w.eval("gone() is None").is_truthy().unwrap(),
            "a strong pin leaks"
        );
        assert!(!weak.validity().is_valid() && !w.verdict(&weak, &[]));
        assert!(w.reason(&weak, &[]).contains("___guarded_code.valid"));
    });
}

#[test]
fn closures_of_the_called_function() {
    World::with(|w| {
        w.run("def make(n):\n  def f(): return n\n  def put(v):\n    nonlocal n\n    n = v\n  def clear():\n    nonlocal n\n    del n\n  return f, put, clear\nf, put, clear = make(7)");
        let program = seven(&w, |sources, _| {
            sources.intern(Source::Closure {
                index: 0,
                name: "n".into(),
            })
        });
        let closure = w.eval("f.__closure__");
        let check = |closure: *mut ffi::PyObject| {
            let null = std::ptr::null_mut();
            let env = CheckEnv {
                locals: &[],
                closure,
                globals: null,
                builtins: null,
            };
            // SAFETY: everything in `env` is alive or null.
            unsafe {
                assert_eq!(
                    program.check(&env),
                    program.check_by_text(w.py, &env).expect("text")
                );
                program.check(&env)
            }
        };
        assert!(check(closure.as_ptr()));
        assert!(!check(std::ptr::null_mut()));
        w.run("put(8)");
        assert!(!check(closure.as_ptr()));
        w.run("clear()");
        assert!(!check(closure.as_ptr()));
    });
}

#[test]
fn bound_methods() {
    assert_eq!(
        passing(
            "class I:\n  def m(self): pass\nimport types",
            |base| Source::Attr {
                base,
                name: "__self__".into()
            },
            &[
                "types.MethodType(I.m, 7)",
                "types.MethodType(I.m, 8)",
                "I().m"
            ]
        ),
        [true, false, false]
    );
}
