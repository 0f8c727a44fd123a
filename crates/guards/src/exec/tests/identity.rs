//! Types, identities and singletons.

use super::{World, case, local};
use crate::exec::Pins;
use crate::guard::{Guard, GuardKind};
use crate::source::{Source, SourceTable};
use crate::value::Key;

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
fn a_replaced_parameter_or_buffer_is_told_from_other_objects() {
    World::with(|w| {
        w.run(
            "class M: pass\ndef make(n):\n  m = M()\n  m._parameters = {'w': n}\n  m._buffers = {'w': n}\n  m.my_buffers = {'w': n}\n  return m",
        );
        let failure = |registry: &str, is_bound: bool| {
            let mut sources = SourceTable::new();
            let x = local(&mut sources, 0, "x");
            let registry = sources.intern(Source::InstanceDictItem {
                base: x,
                name: registry.into(),
            });
            let item = sources.intern(Source::DictItem {
                base: registry,
                key: Key::str("w"),
            });
            let mut pins = Pins::new();
            let kind = match is_bound {
                true => GuardKind::IdMatch {
                    obj: pins.pin(&w.eval("int")),
                },
                false => GuardKind::TypeMatch {
                    ty: pins.pin(&w.eval("int")),
                },
            };
            let program = w.link(sources, vec![Guard::new(item, kind)], pins);
            w.failure(&program, &[w.eval("make('other')")])
                .expect("another object")
        };
        assert!(failure("_parameters", true).replaced_tensor);
        assert!(failure("_buffers", true).replaced_tensor);
        assert!(!failure("my_buffers", true).replaced_tensor);
        assert!(!failure("_parameters", false).replaced_tensor);
    });
}
