//! Attributes by name.

use super::{World, case, local};
use crate::exec::Pins;
use crate::guard::{Guard, GuardKind};
use crate::source::{Source, SourceTable};

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
