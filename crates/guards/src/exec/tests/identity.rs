//! Types, identities and singletons.

use super::{World, case};
use crate::exec::Pins;
use crate::guard::GuardKind;

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
