//! Which values are one object or share memory.

use super::{World, local};
use crate::exec::Pins;
use crate::guard::{Guard, GuardKind};
use crate::source::{SourceId, SourceTable};

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
