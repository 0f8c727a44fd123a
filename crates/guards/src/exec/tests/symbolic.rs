//! What holds between numbers and sizes that are not constants.

use std::sync::Arc;

use super::{World, local};
use crate::exec::{CheckProgram, Pins};
use crate::expr::{Extent, IntBinary, IntCompare, IntExpr, IntRelation};
use crate::guard::{Guard, GuardKind};
use crate::source::{SourceId, SourceTable};

fn relation(
    w: &World<'_>,
    make: impl Fn(SourceId, SourceId) -> (IntExpr, IntCompare, IntExpr),
) -> CheckProgram {
    let mut sources = SourceTable::new();
    let (x, y) = (local(&mut sources, 0, "x"), local(&mut sources, 1, "y"));
    let (left, op, right) = make(x, y);
    let relation = Arc::new(IntRelation { op, left, right });
    let guard = Guard::ambient(GuardKind::ShapeEnv { relation });
    w.link(sources, vec![guard], Pins::new())
}

#[test]
fn numbers() {
    World::with(|w| {
        let ints = |x: &str, y: &str| [w.eval(x), w.eval(y)];
        let p = relation(&w, |x, y| {
            let sum = IntExpr::binary(IntBinary::Add, &IntExpr::Source(x), &IntExpr::Source(y));
            (sum.expect("small"), IntCompare::Ge, IntExpr::Const(8))
        });
        assert!(w.verdict(&p, &ints("3", "5")) && w.verdict(&p, &ints("2**62", "-1")));
        assert!(!w.verdict(&p, &ints("3", "4")));
        assert_eq!(
            w.reason(&p, &ints("3", "4")),
            "x + y >= 8. expected >= 8, actual 7"
        );
        // What does not fit a word is no case of the code, whatever it is in Python.
        assert!(
            w.reason(&p, &ints("2**62", "2**62"))
                .ends_with("actual values do not fit 64 bits")
        );
        let p = relation(&w, |x, y| {
            (IntExpr::Source(x), IntCompare::Ne, IntExpr::Source(y))
        });
        assert!(w.verdict(&p, &ints("3", "4")) && !w.verdict(&p, &ints("4", "4")));
        assert_eq!(w.reason(&p, &ints("4", "4")), "x != y. actual 4 and 4");
    });
}

#[test]
fn sizes_and_strides() {
    World::with(|w| {
        let tensors = |x: &str, y: &str| [w.eval(x), w.eval(y)];
        let p = relation(&w, |x, y| {
            let dim = |source| IntExpr::Dim(source, Extent::Size, 0);
            (dim(x), IntCompare::Eq, dim(y))
        });
        assert!(w.verdict(&p, &tensors("torch.ones(3, 2)", "torch.ones(3)")));
        let other = tensors("torch.ones(3, 2)", "torch.ones(4)");
        assert!(!w.verdict(&p, &other));
        assert_eq!(
            w.reason(&p, &other),
            "x.size()[0] == y.size()[0]. actual 3 and 4"
        );
        let p = relation(&w, |x, _| {
            let stride = IntExpr::Dim(x, Extent::Stride, 1);
            (stride, IntCompare::Eq, IntExpr::Const(1))
        });
        assert!(w.verdict(&p, &tensors("torch.ones(3, 2)", "None")));
        let other = tensors("torch.ones(2, 3).t()", "None");
        assert!(!w.verdict(&p, &other));
        assert_eq!(
            w.reason(&p, &other),
            "x.stride()[1] == 1. expected 1, actual 3"
        );
    });
}
