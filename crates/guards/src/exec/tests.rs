//! Every guard kind on real objects: a passing and a failing case, the failure's words, the Python text's
//! verdict, and no reference left behind.

use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use torch_abi::TorchAbi;

use crate::exec::{CheckEnv, CheckProgram, Pins};
use crate::guard::{Guard, GuardKind, TensorSpec};
use crate::program::Program;
use crate::set::{ConstTypes, GuardSet};
use crate::source::{Source, SourceId, SourceTable};
use crate::value::{ConstVal, Key};

/// A namespace of Python definitions, from which values and pins are taken.
pub(crate) struct World<'py> {
    pub(crate) py: Python<'py>,
    pub(crate) scope: Bound<'py, PyDict>,
    pub(crate) abi: &'static TorchAbi,
}

impl<'py> World<'py> {
    /// Runs `body` alone: it may change torch's global state.
    pub(crate) fn with<R>(body: impl FnOnce(World<'_>) -> R) -> R {
        static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Python::attach(|py| {
            let site = std::env::var("FERRODYN_SITE")
                .expect("FERRODYN_SITE names the site-packages with torch");
            py.import("site")
                .and_then(|m| m.call_method1("addsitedir", (site,)))
                .expect("site-packages");
            let scope = PyDict::new(py);
            py.run(c"import torch, collections, weakref", Some(&scope), None)
                .expect("import torch");
            let abi = TorchAbi::get(py).unwrap_or_else(|e| panic!("{e}"));
            body(World { py, scope, abi })
        })
    }

    pub(crate) fn run(&self, code: &str) {
        let code = std::ffi::CString::new(code).expect("no NUL");
        self.py
            .run(&code, Some(&self.scope), None)
            .unwrap_or_else(|e| panic!("{code:?}: {e}"));
    }

    pub(crate) fn eval(&self, code: &str) -> Bound<'py, PyAny> {
        let text = std::ffi::CString::new(code).expect("no NUL");
        self.py
            .eval(&text, Some(&self.scope), None)
            .unwrap_or_else(|e| panic!("{code}: {e}"))
    }

    pub(crate) fn link(
        &self,
        sources: SourceTable,
        guards: Vec<Guard>,
        pins: Pins,
    ) -> CheckProgram {
        let set = GuardSet::new(sources, guards, ConstTypes::of(self.abi));
        let program = Program::compile(&set);
        program.verify(&set).expect("verifies");
        CheckProgram::link(self.py, Arc::new(set), program, pins).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The program's verdict with these locals, after checking that the text agrees and nothing leaks.
    pub(crate) fn verdict(&self, program: &CheckProgram, locals: &[Bound<'_, PyAny>]) -> bool {
        let pointers: Vec<_> = locals.iter().map(Bound::as_ptr).collect();
        let globals = self.scope.as_ptr();
        let builtins = self.py.import("builtins").expect("builtins").dict();
        let env = CheckEnv {
            locals: &pointers,
            closure: std::ptr::null_mut(),
            globals,
            builtins: builtins.as_ptr(),
        };
        let count = || -> Vec<isize> {
            // SAFETY: live objects.
            pointers
                .iter()
                .map(|&p| unsafe { ffi::Py_REFCNT(p) })
                .collect()
        };
        let before = count();
        // SAFETY: everything in `env` is alive.
        let (native, text) = unsafe {
            let native = program.check(&env);
            for _ in 0..50 {
                assert_eq!(program.check(&env), native);
            }
            assert_eq!(before, count(), "references");
            (native, program.check_by_text(self.py, &env).expect("text"))
        };
        // SAFETY: no exception may be pending.
        assert!(unsafe { ffi::PyErr_Occurred() }.is_null());
        let code = program.set().guard_code(crate::NameStyle::Explicit);
        assert_eq!(native, text, "text disagrees: {code}");
        native
    }

    pub(crate) fn reason(&self, program: &CheckProgram, locals: &[Bound<'_, PyAny>]) -> String {
        let pointers: Vec<_> = locals.iter().map(Bound::as_ptr).collect();
        let env = CheckEnv {
            locals: &pointers,
            closure: std::ptr::null_mut(),
            globals: self.scope.as_ptr(),
            builtins: std::ptr::null_mut(),
        };
        // SAFETY: everything in `env` is alive.
        unsafe { program.explain_failure(self.py, &env) }
            .map_or_else(String::new, |failure| failure.reason)
    }
}

fn local(sources: &mut SourceTable, index: u32, name: &str) -> SourceId {
    sources.intern(Source::Local {
        index,
        name: name.into(),
    })
}

/// One guard on local `x`: what it says of the values of two expressions, which must be pass and fail.
fn case(
    setup: &str,
    make: impl Fn(&World<'_>, &mut Pins) -> GuardKind,
    pass: &[&str],
    fail: &[(&str, &str)],
) {
    World::with(|w| {
        w.run(setup);
        let mut sources = SourceTable::new();
        let x = local(&mut sources, 0, "x");
        let mut pins = Pins::new();
        let kind = make(&w, &mut pins);
        let program = w.link(sources, vec![Guard::new(x, kind)], pins);
        for expression in pass {
            let value = w.eval(expression);
            assert!(
                w.verdict(&program, std::slice::from_ref(&value)),
                "{expression}: {}",
                w.reason(&program, &[value])
            );
        }
        for (expression, reason) in fail {
            let value = w.eval(expression);
            assert!(
                !w.verdict(&program, std::slice::from_ref(&value)),
                "{expression} passes"
            );
            let said = w.reason(&program, &[value]);
            assert!(said.contains(reason), "{expression}: {said}");
        }
    });
}

fn tensor(w: &World<'_>, pins: &mut Pins, expression: &str) -> GuardKind {
    let spec =
        TensorSpec::of(w.py, w.abi, pins, &w.eval(expression)).unwrap_or_else(|e| panic!("{e}"));
    GuardKind::TensorMatch {
        spec: Arc::new(spec),
    }
}

#[test]
fn type_match() {
    case(
        "class A: pass\nclass B(A): pass",
        |w, pins| GuardKind::TypeMatch {
            ty: pins.pin(&w.eval("A")),
        },
        &["A()"],
        &[
            ("B()", "actual <class '"),
            ("A", "<class 'type'>"),
            ("1", "<class 'int'>"),
        ],
    );
}

#[test]
fn identities() {
    for make in [
        (|w, pins| GuardKind::IdMatch {
            obj: pins.pin_auto(&w.eval("f")),
        }) as fn(&World<'_>, &mut Pins) -> GuardKind,
        |w, pins| GuardKind::FunctionMatch {
            obj: pins.pin_auto(&w.eval("f")),
        },
        |w, pins| GuardKind::ModuleMatch {
            obj: pins.pin_weak(&w.eval("f")),
        },
    ] {
        case(
            "def f(): pass\ndef g(): pass",
            make,
            &["f"],
            &[("g", "actual <function g>"), ("None", "None")],
        );
    }
    case(
        "def make(n):\n  def f(): return n\n  return f\nf = make(1)\ndef g(): pass",
        |w, pins| GuardKind::ClosureMatch {
            code: pins.pin(&w.eval("f.__code__")),
        },
        &["f", "make(2)"],
        &[("g", "<function g>"), ("1", "1")],
    );
    case(
        "",
        |_, _| GuardKind::NoneMatch,
        &["None"],
        &[("0", "x is None. actual 0"), ("False", "False")],
    );
    case(
        "",
        |_, _| GuardKind::TrueMatch,
        &["True"],
        &[("1", "actual 1"), ("False", "")],
    );
    case(
        "",
        |_, _| GuardKind::FalseMatch,
        &["False"],
        &[("0", "actual 0"), ("None", "")],
    );
    case(
        "",
        |_, _| GuardKind::NotNoneMatch,
        &["0"],
        &[(
            "None",
            "x is not None. expected anything but None, actual None",
        )],
    );
    case(
        "class A: pass\na = A()\nalive = weakref.ref(a)\nb = A()\ndead = weakref.ref(b)\ndel b",
        |_, _| GuardKind::WeakrefAlive,
        &["alive"],
        &[("dead", "x() is not None"), ("1", "")],
    );
}

#[test]
fn constants() {
    let values = [
        "True",
        "1",
        "1.0",
        "(1+0j)",
        "'1'",
        "b'1'",
        "0",
        "0.0",
        "-0.0",
        "-0j",
        "float('nan')",
        "float('inf')",
        "1 << 70",
        "-(1 << 70)",
        "1 << 63",
        "-(1 << 63)",
        "'it\\'s \\n \\u20ac'",
        "b'\\x00\\xff'",
        "()",
        "(1,)",
        "(True,)",
        "(1, 2)",
        "(1.0, ('a', None))",
        "(0.0,)",
        "(-0.0,)",
        "None",
        "...",
        "NotImplemented",
        "torch.Size([1, 2])",
        "torch.Size([1])",
        "torch.device('cpu')",
        "torch.device('cuda:1')",
        "torch.device('meta')",
        "[1]",
        "torch.ones(1)",
        "type('I', (int,), {})(1)",
        "type('S', (str,), {})('1')",
        "type('T', (tuple,), {})((1,))",
    ];
    World::with(|w| {
        for (i, text) in values.iter().enumerate() {
            let Some(constant) = crate::exec::read::constant(&w.eval(text)) else {
                continue;
            };
            for kind in [
                GuardKind::EqualsMatch {
                    value: constant.clone(),
                },
                GuardKind::ConstantMatch {
                    value: constant.clone(),
                },
            ] {
                let mut sources = SourceTable::new();
                let x = local(&mut sources, 0, "x");
                let program = w.link(sources, vec![Guard::new(x, kind)], Pins::new());
                for (j, other) in values.iter().enumerate() {
                    let value = w.eval(other);
                    assert_eq!(
                        w.verdict(&program, std::slice::from_ref(&value)),
                        i == j,
                        "{text} against {other}"
                    );
                }
                assert!(!w.reason(&program, &[w.eval("object()")]).is_empty());
            }
        }
    });
    case(
        "",
        |_, _| GuardKind::EqualsMatch {
            value: ConstVal::str("hi"),
        },
        &["'hi'", "'h' + 'i'"],
        &[
            ("'ho'", "x == 'hi'. expected 'hi', actual 'ho'"),
            ("object()", "actual <object object at"),
        ],
    );
}

#[test]
fn tensor_match() {
    case(
        "class Sub(torch.Tensor): pass",
        |w, pins| tensor(w, pins, "torch.ones(3, 3)"),
        &[
            "torch.zeros(3, 3)",
            "torch.ones(9)[:].view(3, 3)",
            "torch.nn.Buffer(torch.ones(3, 3))",
        ],
        &[
            (
                "torch.ones(4, 3)",
                "tensor 'x' size mismatch at index 0. expected 3, actual 4",
            ),
            (
                "torch.ones(3, 3).t()",
                "tensor 'x' stride mismatch at index 0. expected 3, actual 1",
            ),
            (
                "torch.ones(3)",
                "tensor 'x' rank mismatch. expected 2, actual 1",
            ),
            (
                "torch.ones(3, 3).double()",
                "tensor 'x' dtype mismatch. expected torch.float32, actual torch.float64",
            ),
            (
                "torch.ones(3, 3, requires_grad=True)",
                "tensor 'x' requires_grad mismatch. expected requires_grad=0",
            ),
            (
                "torch.ones(3, 3, device='meta')",
                "tensor 'x' dispatch key set mismatch. expected DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU), actual DispatchKeySet(",
            ),
            (
                "torch.nn.Parameter(torch.ones(3, 3))",
                "expected type of 'x' to be <class 'torch.Tensor'>",
            ),
            ("torch.ones(3, 3).as_subclass(Sub)", "expected type of 'x'"),
            ("torch._neg_view(torch.ones(3, 3))", "dispatch key set"),
            (
                "torch.inference_mode()(torch.ones)(3, 3)",
                "dispatch key set",
            ),
            ("[[1]]", "but found <class 'list'>"),
            ("torch.eye(3).to_sparse()", "dispatch key set"),
        ],
    );
    case(
        "",
        |w, pins| match tensor(w, pins, "torch.ones(3, 4)") {
            GuardKind::TensorMatch { spec } => {
                let mut spec = (*spec).clone();
                spec.sizes[0] = None;
                GuardKind::TensorMatch {
                    spec: Arc::new(spec),
                }
            }
            kind => kind,
        },
        &["torch.ones(3, 4)", "torch.ones(7, 4)"],
        &[
            ("torch.ones(3, 5)", "index 1. expected 4, actual 5"),
            ("torch.ones(3, 4, 1)", "rank"),
        ],
    );
    case(
        "",
        |w, pins| tensor(w, pins, "torch.ones(1, 2, 3, 4, 5, 6)"),
        &["torch.zeros(1, 2, 3, 4, 5, 6)"],
        &[
            (
                "torch.ones(1, 2, 3, 4, 5, 7)",
                "index 5. expected 6, actual 7",
            ),
            ("torch.ones(1, 2, 3, 4, 5)", "rank"),
        ],
    );
    case(
        "",
        |w, pins| tensor(w, pins, "torch.eye(3).to_sparse()"),
        &["torch.eye(3).to_sparse()"],
        &[("torch.eye(3)", "dispatch key set")],
    );
    case(
        "",
        |w, pins| tensor(w, pins, "torch.nn.Parameter(torch.ones(2))"),
        &["torch.nn.Parameter(torch.ones(2))"],
        &[
            (
                "torch.ones(2, requires_grad=True)",
                "torch.nn.parameter.Parameter",
            ),
            (
                "torch.nn.Parameter(torch.ones(2), False)",
                "requires_grad=1",
            ),
        ],
    );
}

#[test]
fn lengths() {
    case(
        "class L(list):\n  def __len__(self): return 7",
        |_, _| GuardKind::SequenceLength { len: 2 },
        &[
            "[1, 2]",
            "(1, 2)",
            "'ab'",
            "b'ab'",
            "{1, 2}",
            "frozenset((1, 2))",
            "range(2)",
            "collections.deque((1, 2))",
            "{1: 2, 3: 4}",
        ],
        &[
            ("[1]", "len(x) == 2. expected 2, actual 1"),
            ("1", "without a length"),
            ("()", "actual 0"),
        ],
    );
    case(
        "",
        |_, _| GuardKind::DictLength { len: 1 },
        &["{1: 2}", "collections.OrderedDict(a=1)"],
        &[("{}", "actual 0")],
    );
    case(
        "",
        |_, _| GuardKind::TupleIteratorLen { len: 2 },
        &["iter((1, 2))"],
        &[
            ("iter((1,))", "expected 2, actual 1"),
            ("iter([1, 2])", "list_iterator"),
        ],
    );
    case(
        "def advanced(r):\n  i = iter(r)\n  next(i)\n  return i",
        |_, _| GuardKind::RangeIteratorMatch {
            start: 4,
            stop: 10,
            step: 3,
        },
        &[
            "iter(range(4, 10, 3))",
            "iter(range(4, 8, 3))",
            "advanced(range(1, 10, 3))",
        ],
        &[
            ("iter(range(1, 10, 3))", "actual (1, 10, 3)"),
            ("range(4, 10, 3)", "<class 'range'>"),
            ("advanced(range(4, 10, 3))", "(7, 10, 3)"),
        ],
    );
}

#[test]
fn keys_and_members() {
    case(
        "od = collections.OrderedDict(a=1, b=2)\nmoved = collections.OrderedDict(b=1, a=2)\nmoved.move_to_end('b')\nback = collections.OrderedDict(a=1, b=2)\nback.move_to_end('a')",
        |_, _| GuardKind::DictKeys {
            keys: [Key::str("a"), Key::str("b")].into(),
        },
        &[
            "{'a': 1, 'b': 2}",
            "od",
            "moved",
            "collections.defaultdict(int, a=1, b=2)",
        ],
        &[
            ("{'b': 1, 'a': 2}", "expected ['a', 'b'], actual ['b', 'a']"),
            ("{'a': 1}", "['a']"),
            ("back", "['b', 'a']"),
            ("[]", ""),
        ],
    );
    case(
        "k = object()",
        |w, pins| GuardKind::DictKeys {
            keys: [
                Key::Int(1),
                Key::Obj(pins.pin(&w.eval("k"))),
                Key::Tuple([Key::float(0.5)].into()),
            ]
            .into(),
        },
        &[
            "{1: 0, k: 0, (0.5,): 0}",
            "collections.OrderedDict({1: 0, k: 0, (0.5,): 0})",
        ],
        &[
            ("{True: 0, k: 0, (0.5,): 0}", "[True, "),
            ("{1: 0, object(): 0, (0.5,): 0}", ""),
        ],
    );
    for (key, yes, no) in [
        (
            Key::str("a"),
            vec!["{'a': 1}", "{1: 2, 'a': 1}", "collections.OrderedDict(a=1)"],
            vec!["{}", "{'b': 1}", "{1: 'a'}"],
        ),
        (
            Key::Int(1),
            vec!["{1: 2}", "{'x': 1, 1: 3}", "{True: 0}"],
            vec!["{'1': 1}", "{2: 1}"],
        ),
        (
            Key::Tuple([Key::Int(1), Key::str("b")].into()),
            vec!["{(1, 'b'): 0}"],
            vec!["{(1, 'c'): 0}", "{}"],
        ),
        (Key::None, vec!["{None: 0}"], vec!["{0: None}"]),
    ] {
        let with = |present| {
            let key = key.clone();
            move |_: &World<'_>, _: &mut Pins| GuardKind::DictContains {
                key: key.clone(),
                present,
            }
        };
        let because =
            |list: &[&'static str], why| list.iter().map(|e| (*e, why)).collect::<Vec<_>>();
        case("", with(true), &yes, &because(&no, "absent"));
        case("", with(false), &no, &because(&yes, "present"));
    }
    for present in [true, false] {
        let make = move |_: &World<'_>, _: &mut Pins| GuardKind::SetContains {
            key: Key::str("a"),
            present,
        };
        let (yes, no) = (["{'a', 1}", "{'a'}"], ["set()", "{'b', None}"]);
        let (pass, fail) = if present { (yes, no) } else { (no, yes) };
        case("", make, &pass, &[(fail[0], "expected 'a'"), (fail[1], "")]);
    }
    // 8 and 0 have the same place in a small table: the one that came first is first.
    let make = |_: &World<'_>, _: &mut Pins| GuardKind::SetItems {
        items: [Key::Int(8), Key::Int(0)].into(),
    };
    case(
        "first = set()\nfirst.add(8)\nfirst.add(0)",
        make,
        &["first", "frozenset(first)"],
        &[
            ("{0, 8}", "expected [8, 0], actual [0, 8]"),
            ("{8}", "actual [8]"),
            ("{8, False}", "actual"),
        ],
    );
}

#[test]
fn calls() {
    let make = |w: &World<'_>, pins: &mut Pins| GuardKind::CallMatch {
        func: pins.pin(&w.eval("torch.Tensor.storage_offset")),
        args: [].into(),
        value: ConstVal::Int(2),
    };
    case(
        "",
        make,
        &["torch.ones(4)[2:]"],
        &[
            ("torch.ones(4)", "expected 2, actual 0"),
            ("3", "actual an exception"),
        ],
    );
}

#[test]
fn a_hostile_key_is_not_compared() {
    World::with(|w| {
        w.run("class K:\n  calls = 0\n  def __hash__(self): return hash('a')\n  def __eq__(self, other):\n    K.calls += 1\n    return True\nd = {K(): 1}\ns = {K()}\nK.calls = 0");
        for kind in [
            GuardKind::DictContains {
                key: Key::str("a"),
                present: true,
            },
            GuardKind::SetContains {
                key: Key::str("a"),
                present: true,
            },
            GuardKind::DictKeys {
                keys: [Key::str("a")].into(),
            },
        ] {
            let mut sources = SourceTable::new();
            let x = local(&mut sources, 0, "x");
            let name = if matches!(kind, GuardKind::SetContains { .. }) {
                "s"
            } else {
                "d"
            };
            let program = w.link(sources, vec![Guard::new(x, kind)], Pins::new());
            let value = w.eval(name);
            let locals = [value.as_ptr()];
            let null = std::ptr::null_mut();
            let env = CheckEnv {
                locals: &locals,
                closure: null,
                globals: null,
                builtins: null,
            };
            // SAFETY: everything in `env` is alive or null.
            assert!(!unsafe { program.check(&env) });
        }
        assert_eq!(w.eval("K.calls").extract::<i32>().unwrap(), 0);
    });
}

#[test]
fn attributes() {
    let setup = "class A:\n  c = 1\n  def __init__(self, **kw): self.__dict__.update(kw)\nclass S:\n  __slots__ = ('a',)\nmarked = torch.ones(1)\nmarked.a = 1\nclass Hot:\n  def __getattribute__(self, n):\n    if n == '__dict__': return {}\n    raise SystemError";
    let has = |name: &'static str, present| {
        move |_: &World<'_>, _: &mut Pins| GuardKind::HasAttr {
            name: name.into(),
            present,
        }
    };
    case(
        setup,
        has("a", true),
        &["A(a=1)", "marked"],
        &[
            ("A()", "expected attribute 'a' to be present"),
            ("torch.ones(1)", "absent"),
        ],
    );
    case(
        setup,
        has("a", false),
        &["A(b=1)", "torch.ones(1)", "1"],
        &[
            ("A(a=1)", "hasattr(x, 'a') == False"),
            ("marked", "present"),
        ],
    );
    case(setup, has("c", true), &["A()"], &[("torch.ones(1)", "")]);
    let own = |present| {
        move |_: &World<'_>, _: &mut Pins| GuardKind::GenericDictContains {
            name: "a".into(),
            present,
        }
    };
    case(
        setup,
        own(true),
        &["A(a=1)", "marked"],
        &[("A(c=1)", "'a' to be present")],
    );
    case(
        setup,
        own(false),
        &["A(c=1)", "torch.ones(1)"],
        &[("A(a=1)", "'a' to be absent")],
    );
}

#[test]
fn class_attributes() {
    World::with(|w| {
        w.run("class A:\n  def f(self): pass\nclass B(A): pass\nb = B()\nf = A.__dict__['f']");
        let mut sources = SourceTable::new();
        let x = local(&mut sources, 0, "x");
        let class = sources.intern(Source::TypeOf { base: x });
        let mut pins = Pins::new();
        let value = Some(pins.pin(&w.eval("f")));
        let guards = vec![
            Guard::new(
                class,
                GuardKind::MroAttr {
                    name: "f".into(),
                    value,
                },
            ),
            Guard::new(
                class,
                GuardKind::MroAttr {
                    name: "g".into(),
                    value: None,
                },
            ),
        ];
        let program = w.link(sources, guards, pins);
        let check = || w.verdict(&program, &[w.eval("b")]);
        assert!(check());
        w.run("B.f = 1");
        assert!(!check());
        assert!(
            w.reason(&program, &[w.eval("b")])
                .contains("expected <function A.f> for 'f'")
        );
        w.run("del B.f");
        assert!(check());
        w.run("A.g = 1");
        assert!(!check());
        w.run("del A.g\nclass C:\n  f = f\nB.__bases__ = (C,)");
        assert!(check());
        w.run("del C.f");
        assert!(!check());
    });
}

#[test]
fn aliasing() {
    World::with(|w| {
        w.run("a = torch.ones(4)\nb = torch.ones(4)");
        let build = |make: &dyn Fn(SourceId, SourceId) -> Guard| {
            let mut sources = SourceTable::new();
            let (x, y) = (local(&mut sources, 0, "x"), local(&mut sources, 1, "y"));
            w.link(sources, vec![make(x, y)], Pins::new())
        };
        let (a, b) = (w.eval("a"), w.eval("b"));
        let (same, apart) = ([a.clone(), a.clone()], [a.clone(), b]);
        let views = [w.eval("a[:2]"), w.eval("a[1:]")];
        let halves = [w.eval("a[:2]"), w.eval("a[2:]")];
        let p = build(&|x, other| Guard::new(x, GuardKind::ObjectAliasing { other }));
        assert!(w.verdict(&p, &same) && !w.verdict(&p, &apart));
        assert!(
            w.reason(&p, &apart)
                .starts_with("y is x. expected one object, actual ")
        );
        let p = build(&|x, other| Guard::new(x, GuardKind::NotAliasing { other }));
        assert!(!w.verdict(&p, &same) && w.verdict(&p, &apart));
        assert!(
            w.reason(&p, &same)
                .starts_with("y is not x. expected two objects, actual one")
        );
        let p = build(&|x, y| {
            Guard::ambient(GuardKind::NoTensorAliasing {
                sources: [x, y].into(),
            })
        });
        assert!(!w.verdict(&p, &same) && w.verdict(&p, &apart));
        assert_eq!(
            w.reason(&p, &same),
            "Duplicate tensors found: 'x' and 'y' are the same object"
        );
        let overlap = |overlapping: Vec<SourceId>, non_overlapping: Vec<SourceId>| {
            Guard::ambient(GuardKind::StorageOverlap {
                overlapping: overlapping.into(),
                non_overlapping: non_overlapping.into(),
            })
        };
        let p = build(&|x, y| overlap(vec![x, y], vec![]));
        assert!(w.verdict(&p, &views) && !w.verdict(&p, &halves) && !w.verdict(&p, &apart));
        let p = build(&|x, y| overlap(vec![], vec![x, y]));
        assert!(!w.verdict(&p, &views) && w.verdict(&p, &halves) && w.verdict(&p, &apart));
        assert!(w.reason(&p, &views).contains("non_overlapping=[x, y]"));
    });
}

#[test]
fn state() {
    World::with(|w| {
        let f32_ = |p: &dyn Fn(&str, &str, &str)| {
            p(
                "torch.set_default_dtype(torch.float64)",
                "torch.set_default_dtype(torch.float32)",
                "default_dtype",
            )
        };
        let link =
            |kind: GuardKind, pins| w.link(SourceTable::new(), vec![Guard::ambient(kind)], pins);
        let mut pins = Pins::new();
        let kinds = crate::exec::read::ambient_guards(w.py, w.abi, &mut pins).expect("ambient");
        let all = w.link(
            SourceTable::new(),
            kinds.into_iter().map(Guard::ambient).collect(),
            pins,
        );
        let flips = |program: &CheckProgram, on: &str, off: &str, reason: &str| {
            assert!(
                w.verdict(program, &[]),
                "before {on}: {}",
                w.reason(program, &[])
            );
            w.run(on);
            assert!(!w.verdict(program, &[]), "after {on}");
            let said = w.reason(program, &[]);
            assert!(said.contains(reason), "{said}");
            w.run(off);
            assert!(w.verdict(program, &[]), "after {off}");
        };
        flips(
            &all,
            "torch._C._set_grad_enabled(False)",
            "torch._C._set_grad_enabled(True)",
            "GLOBAL_STATE changed: grad_mode",
        );
        f32_(&|on, off, why| flips(&all, on, off, why));
        flips(
            &all,
            "torch.use_deterministic_algorithms(True)",
            "torch.use_deterministic_algorithms(False)",
            "deterministic_algorithms",
        );
        flips(
            &all,
            "m = torch.autocast('cpu')\nm.__enter__()",
            "m.__exit__(None, None, None)",
            "autocast",
        );
        flips(
            &all,
            "m = torch.inference_mode()\nm.__enter__()",
            "m.__exit__(None, None, None)",
            "inference_mode",
        );
        flips(
            &all,
            "m = torch.device('meta')\nm.__enter__()",
            "m.__exit__(None, None, None)",
            "DeviceContext",
        );
        flips(
            &all,
            "torch.set_default_device('meta')",
            "torch.set_default_device(None)",
            "",
        );
        flips(
            &all,
            "m = torch._C.DisableTorchFunctionSubclass()\nm.__enter__()",
            "m.__exit__(None, None, None)",
            "torch_function",
        );

        let p = link(GuardKind::GradMode { enabled: true }, Pins::new());
        flips(
            &p,
            "torch._C._set_grad_enabled(False)",
            "torch._C._set_grad_enabled(True)",
            "expected true, actual false",
        );
        let p = link(GuardKind::InferenceMode { enabled: false }, Pins::new());
        flips(
            &p,
            "m = torch.inference_mode()\nm.__enter__()",
            "m.__exit__(None, None, None)",
            "actual true",
        );
        let p = link(
            GuardKind::DefaultDtype {
                dtype: 6,
                text: "torch.float32".into(),
            },
            Pins::new(),
        );
        f32_(&|on, off, _| flips(&p, on, off, "actual torch.float64"));
        let p = link(
            GuardKind::DefaultDevice {
                device: ConstVal::None,
            },
            Pins::new(),
        );
        flips(
            &p,
            "torch.set_default_device('meta')",
            "torch.set_default_device(None)",
            "expected None, actual device(type='meta')",
        );
        let p = link(
            GuardKind::DeterministicAlgorithms {
                enabled: false,
                warn_only: false,
            },
            Pins::new(),
        );
        flips(
            &p,
            "torch.use_deterministic_algorithms(True, warn_only=True)",
            "torch.use_deterministic_algorithms(False)",
            "expected (false, false), actual (true, true)",
        );
        let p = link(GuardKind::TorchFunctionState { state: 0 }, Pins::new());
        flips(
            &p,
            "m = torch._C.DisableTorchFunction()\nm.__enter__()",
            "m.__exit__(None, None, None)",
            "actual 2",
        );

        // Inside a mode: another device in the same kind of mode is another state.
        w.run("m = torch.device('meta')\nm.__enter__()");
        let mut pins = Pins::new();
        let kinds = crate::exec::read::ambient_guards(w.py, w.abi, &mut pins).expect("ambient");
        let inside = w.link(
            SourceTable::new(),
            kinds.into_iter().map(Guard::ambient).collect(),
            pins,
        );
        assert!(w.verdict(&inside, &[]));
        w.run("m.__exit__(None, None, None)\nm = torch.device('cpu')\nm.__enter__()");
        assert!(!w.verdict(&inside, &[]));
        w.run("m.__exit__(None, None, None)");
        assert!(!w.verdict(&inside, &[]));
    });
}
