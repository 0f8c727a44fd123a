//! Guards without an interpreter: what a compiled function relies on, as a tree, as Python, and as the program that
//! checks it.
//!
//! `cargo run -p ferrodyn-guards --example cache_key --no-default-features`

use guards::plan::Plan;
use guards::{ConstTypes, ConstVal, Guard, GuardKind, NameStyle, Source, SourceTable};

/// The guards of `def step(self, n): ...` that was compiled for a list of two layers and `n == 3`.
fn plan() -> Plan {
    let mut sources = SourceTable::new();
    let local = |index, name: &str| Source::Local {
        index,
        name: name.into(),
    };
    let me = sources.intern(local(0, "self"));
    let n = sources.intern(local(1, "n"));
    let layers = sources.intern(Source::InstanceDictItem {
        base: me,
        name: "layers".into(),
    });
    let second = sources.intern(Source::ListItem {
        base: layers,
        index: 1,
    });
    let frozen = GuardKind::HasAttr {
        name: "frozen".into(),
        present: false,
    };
    let three = GuardKind::EqualsMatch {
        value: ConstVal::Int(3),
    };
    let guards = [
        Guard::new(second, frozen),
        Guard::new(n, three.clone()),
        Guard::new(second, GuardKind::NotNoneMatch),
        // Said twice, checked once.
        Guard::new(n, three),
    ];
    Plan::new(sources, guards, ConstTypes::default())
}

fn main() {
    let Plan { set, program } = plan();
    println!("{}", set.tree_text(None));
    println!("{}\n", set.guard_code(NameStyle::Plain));
    println!("{}", program.text(&set));
}

#[test]
fn each_guard_is_checked_once() {
    let Plan { set, program } = plan();
    assert_eq!(set.guards().len(), 3);
    assert_eq!(program.verify(&set), Ok(()));
    assert!(set.guard_code(NameStyle::Plain).contains("n == 3"));
}
