//! Comparisons, truth, subscripts and slices.

use std::rc::Rc;

use bytecode::op::{CompareOp, Op, UnaryOp};
use variables::Var;

use super::Next;
use crate::stop::R;
use crate::tx::Tx;

impl Tx<'_> {
    /// A comparison, or whether it holds.
    pub(super) fn compare_top(&mut self, op: CompareOp, to_bool: bool) -> R<Next> {
        let b = self.pop()?;
        let a = self.pop()?;
        let flow = self.compare(op, &a, &b)?;
        if to_bool {
            let v = self.finish_flow(flow)?;
            if self.is_left_to_a_jump(&v) {
                // The jump breaks instead, with the tensor as its operand: the comparison
                // stays in the graph, as on versions whose jumps convert by themselves.
                self.push(v);
                return Ok(Next::Fall);
            }
            let t = self.truth(&v)?;
            self.push(self.bool(t));
        } else {
            return Ok(self.push_flow(flow));
        }
        Ok(Next::Fall)
    }

    /// `not v`
    pub(super) fn not(&mut self, v: &Var) -> R<Var> {
        match (self.rules.torch.negated_condition)(self, v)? {
            Some(condition) => Ok(condition),
            None => self.truth(v).map(|holds| self.bool(!holds)),
        }
    }

    /// Whether the truth of a value is known when the program runs, and a jump asks for it next.
    fn is_left_to_a_jump(&self, v: &Var) -> bool {
        let is_condition = (self.rules.torch.is_condition)(self, v);
        let f = &self.st.frame;
        let next = f.code.body.instrs.get(f.ip + 1).map(|i| &i.op);
        let is_negated =
            (is_condition || self.is_answer(v)) && matches!(next, Some(Op::Unary(UnaryOp::Not)));
        is_negated || (is_condition || matches!(v, Var::Tensor(_))) && self.jump_follows()
    }

    /// The truth of a value, where no jump asks for it itself.
    pub(super) fn bool_of_top(&mut self) -> R<Next> {
        let v = self.pop()?;
        if self.is_left_to_a_jump(&v) {
            self.push(v);
            return Ok(Next::Fall);
        }
        let t = self.truth(&v)?;
        self.push(self.bool(t));
        Ok(Next::Fall)
    }

    /// `x[k] = y`
    pub(super) fn store_subscr(&mut self) -> R<Next> {
        let key = self.pop()?;
        let obj = self.pop()?;
        let value = self.pop()?;
        let flow = self.setitem(&obj, &key, &value)?;
        Ok(self.discard_flow(flow))
    }

    /// `x[a:b]`
    pub(super) fn load_slice(&mut self) -> R<Next> {
        let stop = self.pop()?;
        let start = self.pop()?;
        let obj = self.pop()?;
        let key = Var::Slice(Rc::new([start, stop, self.none()]));
        let flow = self.getitem(&obj, &key)?;
        Ok(self.push_flow(flow))
    }

    /// `x[a:b] = y`
    pub(super) fn store_slice(&mut self) -> R<Next> {
        let stop = self.pop()?;
        let start = self.pop()?;
        let obj = self.pop()?;
        let value = self.pop()?;
        let key = Var::Slice(Rc::new([start, stop, self.none()]));
        let flow = self.setitem(&obj, &key, &value)?;
        Ok(self.discard_flow(flow))
    }
}
