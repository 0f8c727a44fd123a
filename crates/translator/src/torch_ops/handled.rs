//! Exceptions of operations that the program handles.
//!
//! A graph that raises did not run, so the function runs again as plain Python, and the exception finds its
//! handler (`output/again.rs`). Behind an operation that must not run twice that is impossible.
//! Invariant: in a graph that runs as it is, no operation raises past a handler of the program.

use backends::changes_context;
use bytecode::op::Op;
use bytecode::{Body, ExceptEntry};
use fx_graph::{NodeData, NodeId, OpKind};

use crate::output::raising;
use crate::stop::{R, Stop};
use crate::tx::Tx;

impl Tx<'_> {
    /// Whether what the last operation raises because of values finds the program's handler.
    ///
    /// # Errors
    /// A break where it would not.
    pub(super) fn leads_to_handlers(&self, node: NodeId) -> R<()> {
        if !self.runs_as_is || !raising::could_raise(&self.graph, node) {
            return Ok(());
        }
        // Walks through the graph come last: this is asked for each operation.
        let autocast = self.ctx.autocast != tensor_meta::Autocast::Off;
        if self.in_some_frame(catches)
            && raising::may_raise_at(&self.graph, node, autocast)
            && self.graph.iter().any(|(_, node)| runs_once(node))
        {
            return Err(Stop::brk(
                "Operation in a `try` statement that may raise",
                "Its exception has to reach the handler, and the graph in front of it must not run twice: it draws random numbers or writes to tensors.",
                "Move the operation, or the `try` statement, out of the compiled function.",
            ));
        }
        Ok(())
    }

    /// Whether something holds where one of the frames that are being run stands.
    pub(crate) fn in_some_frame(&self, holds: fn(&Body, usize) -> bool) -> bool {
        let mut frame = Some(&self.st.frame);
        while let Some(f) = frame {
            if holds(&f.code.body, f.ip) {
                return true;
            }
            frame = f.parent.as_deref();
        }
        false
    }
}

/// Whether a node must not run twice. What enters a context is left again where the graph raises.
fn runs_once(node: &NodeData) -> bool {
    !(node.repeatable
        || matches!(node.op, OpKind::Placeholder | OpKind::GetAttr)
        || changes_context(node))
}

/// Whether an `except` may take an exception at an instruction, or a `finally` that returns. Other exits of
/// `finally` and `with` raise it again: who gets it gets it from the graph's call as well.
fn catches(body: &Body, ip: usize) -> bool {
    let mut at = ip;
    for _ in 0..=body.handlers.len() {
        let covers = |h: &&ExceptEntry| (h.start.0..h.end.0).contains(&(at as u32));
        let Some(entry) = body.handlers.iter().find(covers) else {
            return false;
        };
        at = entry.target.0 as usize;
        let op = |i: usize| body.instrs.get(i).map(|i| &i.op);
        let exits = matches!(
            (op(at), op(at + 1)),
            (Some(Op::PushExcInfo), Some(Op::WithExceptStart))
        );
        if !exits && takes(body, at) {
            return true;
        }
    }
    false
}

/// Whether the code of a handler compares the exception, or comes to its end without raising it again.
fn takes(body: &Body, handler: usize) -> bool {
    let mut seen = vec![false; body.instrs.len()];
    let mut open = vec![handler];
    while let Some(at) = open.pop() {
        let Some(instr) = body.instrs.get(at) else {
            continue;
        };
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        let next = body.instrs.get(at + 1).map(|i| &i.op);
        match instr.op {
            Op::CheckExcMatch | Op::CheckEgMatch => return true,
            Op::PopExcept if !matches!(next, Some(Op::Reraise(_))) => return true,
            _ => {}
        }
        open.extend(instr.op.target().map(|to| to.0 as usize));
        open.extend(instr.op.falls_through().then_some(at + 1));
    }
    false
}
