//! Exceptions of operations that the program handles.
//!
//! A graph that raises did not run, so the function runs again as plain Python, and the exception finds its
//! handler (`output/again.rs`). Behind an operation that must not run twice that is impossible.
//! Invariant: in a graph that runs as it is, no operation raises past a handler of the program.

use fx_graph::{NodeData, NodeId, OpKind};

use backends::Changes;

use crate::builtins::outside::is_handled;
use crate::output::raising;
use crate::stop::{R, Stop};
use crate::tx::Tx;

impl Tx<'_> {
    /// Whether the graph so far can run twice without anybody being able to tell.
    pub(crate) fn leaves_no_trace(&self) -> bool {
        let changes = Changes::of(&self.graph);
        let is_repeatable = |(id, node): (NodeId, &NodeData)| {
            node.repeatable
                || matches!(node.op, OpKind::Placeholder | OpKind::GetAttr)
                || changes.at(id).is_some()
        };
        self.graph.iter().all(is_repeatable)
    }

    /// Whether what the last operation raises because of values finds the program's handler.
    ///
    /// # Errors
    /// A break where it would not.
    pub(super) fn leads_to_handlers(&self, node: NodeId) -> R<()> {
        let autocast = self.ctx.autocast != tensor_meta::Autocast::Off;
        if self.runs_as_is
            && raising::may_raise_at(&self.graph, node, autocast)
            && is_handled(self)
            && !self.leaves_no_trace()
        {
            return Err(Stop::brk(
                "Operation in a `try` statement that may raise",
                "Its exception has to reach the handler, and the graph in front of it must not run twice: it draws random numbers or writes to tensors.",
                "Move the operation, or the `try` statement, out of the compiled function.",
            ));
        }
        Ok(())
    }
}
