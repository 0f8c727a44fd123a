//! Jumps, loops, and what `yield from` runs.

use bytecode::op::{JumpCond, Label, Op};
use guards::GuardKind;
use variables::Var;

use super::Next;
use crate::stop::{R, Stop};
use crate::tx::Tx;

impl Tx<'_> {
    /// Whether a jump on the top of the stack is taken.
    pub(super) fn pop_jump(&mut self, cond: JumpCond, to: Label) -> R<Next> {
        let v = self.pop()?;
        let take = match (self.assert_branch(&v, cond, to)?, cond) {
            (Some(jumps), _) => jumps,
            (None, JumpCond::True) => self.truth(&v)?,
            (None, JumpCond::False) => !self.truth(&v)?,
            (None, JumpCond::None) => self.is_none(&v)?,
            (None, JumpCond::NotNone) => !self.is_none(&v)?,
        };
        if take {
            return Ok(Next::Jump(to));
        }
        Ok(Next::Fall)
    }

    /// A jump that keeps its operand; otherwise it is popped.
    pub(super) fn jump_if_or_pop(&mut self, when: bool, to: Label) -> R<Next> {
        let v = self.peek(1)?;
        if self.truth(&v)? == when {
            return Ok(Next::Jump(to));
        }
        self.pop()?;
        Ok(Next::Fall)
    }

    /// What `yield from` runs.
    pub(super) fn get_yield_from_iter(&mut self) -> R<()> {
        let v = self.pop()?;
        let it = if self.is_generator(&v) {
            v
        } else {
            self.get_iter(&v)?
        };
        self.push_iterator(it);
        Ok(())
    }

    /// The next item, or the end of the loop.
    pub(super) fn for_iter(&mut self, to: Label) -> R<Next> {
        let it = self.peek(self.iterator_slots())?;
        match self.iter_next(&it)? {
            Some(v) => self.push(v),
            None => {
                self.pop_iterator()?;
                return Ok(Next::Jump(self.behind_loop(to)));
            }
        }
        Ok(Next::Fall)
    }

    /// `yield from`: the next value of what it runs.
    pub(super) fn send_top(&mut self, to: Label) -> R<Next> {
        let sent = self.pop()?;
        let receiver = self.peek(self.iterator_slots())?;
        self.send(&receiver, sent, to)
    }

    /// What `yield from` delegates to ended with an exception.
    pub(super) fn cleanup_throw(&mut self) -> R<()> {
        let exc = self.pop()?;
        self.pop()?;
        self.pop_iterator()?;
        let stop = Stop::Raise(exc.clone());
        if !self.is_raise_of(&stop, "StopIteration") {
            return Err(stop);
        }
        let value = self.getattr_sync(&exc, &"value".into())?;
        self.push_iterator(self.none());
        self.push(value);
        Ok(())
    }

    /// Whether the next instruction is a jump on truth.
    pub(crate) fn jump_follows(&self) -> bool {
        let f = &self.st.frame;
        f.code.body.instrs.get(f.ip + 1).is_some_and(|i| {
            matches!(
                i.op,
                Op::PopJump {
                    cond: JumpCond::True | JumpCond::False,
                    ..
                }
            )
        })
    }

    /// How many values an iterator takes on the stack.
    pub(super) fn iterator_slots(&self) -> u32 {
        self.version().iterator_slots()
    }

    pub(super) fn push_iterator(&mut self, it: Var) {
        self.push(it);
        (1..self.iterator_slots()).for_each(|_| self.push(Var::Null));
    }

    pub(super) fn pop_iterator(&mut self) -> R<()> {
        let slots = self.iterator_slots();
        self.popn(slots).map(drop)
    }

    /// Behind what stands at a loop's end; the target itself where that is nothing.
    pub(crate) fn behind_loop(&self, to: Label) -> Label {
        let body = &self.st.frame.code.body;
        let end = body.version.loop_end().iter();
        let there = body.instrs[to.0 as usize..].iter();
        let is_end = end.zip(there).take_while(|(op, at)| **op == at.op);
        Label(to.0 + is_end.count() as u32)
    }

    /// Whether a value is `None`, guarding no more than that.
    pub(crate) fn is_none(&mut self, v: &Var) -> R<bool> {
        if let Var::Lazy(l) = v
            && !l.obj.is_none(self.py)
            && self.st.effects.known(l.obj.as_ptr() as usize).is_none()
        {
            self.guard(l.source, GuardKind::NotNoneMatch);
            return Ok(false);
        }
        Ok(self.look(v)?.is_none(self.py))
    }
}
