//! Ways through a function that lead to nothing but a `raise`.

use crate::body::Body;
use crate::op::Op;

/// How many instructions such a way has: a message is made in a few.
const LONGEST: usize = 64;

/// Whether the instructions from here on end in a `raise` that their function does not handle.
pub fn only_raises(body: &Body, mut at: usize) -> bool {
    for _ in 0..LONGEST {
        let Some(instr) = body.instrs.get(at) else {
            return false;
        };
        let handled = |at: usize| {
            let at = at as u32;
            body.handlers
                .iter()
                .any(|h| (h.start.0..h.end.0).contains(&at))
        };
        match (&instr.op, instr.op.target()) {
            (Op::RaiseVarargs(_), _) => return !handled(at),
            (Op::Jump { .. }, Some(to)) if to.0 as usize > at => at = to.0 as usize,
            (op, None) if op.falls_through() => at += 1,
            _ => return false,
        }
    }
    false
}
