//! What functions give of several sources: COMPUTED_MATCH.
//!
//! Invariant: checked after every source of the set is loaded and known to be of the type that it was; a function
//! that raises gives another value.

use crate::calls::CallExpr;
use crate::kinds::TextCx;
use crate::text::literal;
use crate::value::ConstVal;

/// Python text.
pub(crate) fn code_part(expr: &CallExpr, value: &ConstVal, cx: &TextCx<'_>) -> String {
    format!("___exactly({}, {})", text(expr, cx), literal(value))
}

fn text(expr: &CallExpr, cx: &TextCx<'_>) -> String {
    match expr {
        CallExpr::Source(source) => cx.name(*source),
        CallExpr::Const(value) => literal(value),
        CallExpr::Call(function, args) => {
            let args: Vec<String> = args.iter().map(|arg| text(arg, cx)).collect();
            format!("___obj({})({})", function.addr, args.join(", "))
        }
    }
}
