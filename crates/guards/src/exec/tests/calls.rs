//! What C functions give of several sources.

use std::sync::Arc;

use super::{World, local};
use crate::calls::CallExpr;
use crate::exec::Pins;
use crate::guard::{Guard, GuardKind};
use crate::source::SourceTable;
use crate::value::ConstVal;

#[test]
fn of_two_sources() {
    World::with(|w| {
        w.run("import math, operator");
        let mut pins = Pins::new();
        let mut sources = SourceTable::new();
        let (x, y) = (local(&mut sources, 0, "x"), local(&mut sources, 1, "y"));
        let mut call =
            |name: &str, args: Vec<CallExpr>| CallExpr::Call(pins.pin(&w.eval(name)), args.into());
        let root = call("math.sqrt", vec![CallExpr::Source(x)]);
        let product = call(
            "operator.mul",
            vec![CallExpr::Const(ConstVal::Int(2)), CallExpr::Source(y)],
        );
        let expr = Arc::new(call("operator.lt", vec![root, product]));
        let value = ConstVal::Bool(true);
        let guard = Guard::ambient(GuardKind::ComputedMatch { expr, value });
        let p = w.link(sources, vec![guard], pins);
        let values = |x: &str, y: &str| [w.eval(x), w.eval(y)];
        assert!(w.verdict(&p, &values("9", "2")) && w.verdict(&p, &values("0.25", "0.5")));
        assert!(
            !w.verdict(&p, &values("16", "2")) && !w.verdict(&p, &values("float('nan')", "1.0"))
        );
        // What raises is no case of the code.
        assert!(!w.verdict(&p, &values("-1", "2")));
        assert!(w.reason(&p, &values("16", "2")).contains("True"));
    });
}
