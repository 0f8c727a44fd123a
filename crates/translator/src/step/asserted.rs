//! A branch on a tensor where one way only raises: `assert (x > 0).all()`.
//!
//! The graph checks the condition, and what is captured is the other way. A check that fails makes the
//! graph raise, and then the function runs from its start as plain Python, which raises where the
//! program does (the crate `residual`). So the check is for a graph that can be said not to have run.

use bytecode::only_raises;
use bytecode::op::{JumpCond, Label};
use fx_graph::{NodeData, NodeId, OpKind};
use torch_abi::contexts::modes_see_operations;
use variables::Var;

use crate::stop::R;
use crate::torch_ops::raising;
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// Whether the program jumps, where the other way leads to nothing but a `raise`; `None` where the
    /// branch has to break the graph.
    ///
    /// # Errors
    /// As [`Tx::graph_call`].
    pub(super) fn assert_branch(
        &mut self,
        condition: &Var,
        jump: JumpCond,
        to: Label,
    ) -> R<Option<bool>> {
        let jumps_when = match jump {
            JumpCond::True => true,
            JumpCond::False => false,
            JumpCond::None | JumpCond::NotNone => return Ok(None),
        };
        let torch = self.rules.torch;
        if (torch.is_condition)(self, condition) {
            let Some(jumps) = self.way_that_goes_on(to) else {
                return Ok(None);
            };
            let holds = match jumps == jumps_when {
                true => Some(condition.clone()),
                false => (torch.negated_condition)(self, condition)?,
            };
            return match holds {
                Some(holds) if (torch.check_condition)(self, &holds)? => Ok(Some(jumps)),
                _ => Ok(None),
            };
        }
        if self.class_of_simple(condition).is_some() {
            return Ok(None);
        }
        let condition = self.look(condition)?;
        let Var::Tensor(t) = &condition else {
            return Ok(None);
        };
        let meta = self.st.effects.meta(t);
        let is_number = meta.shape.is_empty() && meta.device == tensor_meta::Device::CPU;
        let is_plain = t.class.is(&self.known.tensor);
        if !(is_number && is_plain) || self.has_modes() {
            return Ok(None);
        }
        let Some(jumps) = self.way_that_goes_on(to) else {
            return Ok(None);
        };
        if !self.can_check_in_graph()? {
            return Ok(None);
        }
        let compiled = !self.runs_as_is;
        let torch = self.known.torch.clone();
        let function = |tx: &Self, name: &str| torch.getattr(tx.py, name);
        let mut holds = condition.clone();
        if jumps != jumps_when {
            let not = Var::py(function(self, "logical_not")?);
            holds = self.call_sync(&not, Args::pos(vec![holds]))?;
        }
        let check = Var::py(function(self, "_assert_async")?);
        let mut given = vec![holds];
        if compiled {
            // AOTAutograd drops the form without a message.
            given.push(self.str("assertion error"));
        }
        self.call_sync(&check, Args::pos(given))?;
        // Nothing that runs only once comes behind it, for a compiler.
        self.st.leads_to_handler |= compiled;
        self.st.needs_as_is |= !compiled;
        Ok(Some(jumps))
    }

    /// Whether the program jumps, where one way leads to nothing but a `raise`.
    fn way_that_goes_on(&self, to: Label) -> Option<bool> {
        let (body, next) = (&self.st.frame.code.body, self.st.frame.ip + 1);
        let jumps = !only_raises(body, to.0 as usize);
        (!jumps || only_raises(body, next)).then_some(jumps)
    }

    /// Whether the graph may check something. Where one graph is asked for, the exception of the check may be the
    /// program's, as under torch.compile.
    pub fn can_check_in_graph(&self) -> R<bool> {
        match self.ints.is_whole && !self.may_be_handled() {
            true => Ok(!self.st.levels.is_active()),
            false => self.can_check_and_run_again(),
        }
    }

    /// Whether a check that fails in the graph makes the whole function run again as plain Python, whoever runs the graph.
    pub fn can_check_and_run_again(&self) -> R<bool> {
        if self.runs_as_is {
            return self.can_raise_unseen();
        }
        // What a compiler makes of a graph runs again only where all of it can.
        let is_whole = self.nested == 0 && !self.st.levels.is_active();
        Ok(is_whole && raising::can_all_run_again_with_draws(&self.log.graph))
    }

    /// Whether a node that raises here makes the whole function run again as plain Python.
    pub fn can_raise_unseen(&self) -> R<bool> {
        if !self.runs_as_is || self.nested != 0 || self.st.levels.is_active() {
            return Ok(false);
        }
        let put_back = (self.rules.graphs.put_back)(&self.log.graph);
        let is_repeatable = |(id, node): (NodeId, &NodeData)| {
            node.can_repeat()
                || matches!(node.op, OpKind::Placeholder | OpKind::GetAttr)
                || put_back.contains(&id)
        };
        Ok(self.log.graph.iter().all(is_repeatable) && !modes_see_operations(self.py)?)
    }
}
