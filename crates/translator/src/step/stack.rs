//! The operand stack, and the locals of a frame.

use std::sync::Arc;

use bytecode::op::{ConstIdx, LocalIdx, NameIdx};
use variables::Var;

use super::Next;
use crate::state::OnReturn;
use crate::stop::{R, Stop};
use crate::tx::{Flow, Tx};

impl<'py> Tx<'py> {
    pub(crate) fn push(&mut self, v: Var) {
        self.st.frame.stack.push_back(v);
    }

    pub(crate) fn pop(&mut self) -> R<Var> {
        self.st
            .frame
            .stack
            .pop_back()
            .ok_or_else(|| Stop::Internal("stack underflow".into()))
    }

    pub(crate) fn popn(&mut self, n: u32) -> R<Vec<Var>> {
        let len = self.st.frame.stack.len();
        let at = len
            .checked_sub(n as usize)
            .ok_or_else(|| Stop::Internal("stack underflow".into()))?;
        Ok(self.st.frame.stack.split_off(at).into_iter().collect())
    }

    /// The `n`th value from the top, 1 being the top.
    pub(crate) fn peek(&self, n: u32) -> R<Var> {
        let s = &self.st.frame.stack;
        s.len()
            .checked_sub(n as usize)
            .and_then(|i| s.get(i))
            .cloned()
            .ok_or_else(|| Stop::Internal("stack underflow".into()))
    }

    pub(crate) fn push_flow(&mut self, flow: Flow) -> Next {
        match flow {
            Flow::Value(v) => {
                self.push(v);
                Next::Fall
            }
            Flow::Pushed => Next::Frame,
        }
    }

    /// For instructions that push nothing.
    pub(crate) fn discard_flow(&mut self, flow: Flow) -> Next {
        match flow {
            Flow::Value(_) => Next::Fall,
            Flow::Pushed => {
                self.st.frame.on_return = OnReturn::Discard;
                Next::Frame
            }
        }
    }

    pub(crate) fn name(&self, n: NameIdx) -> Arc<str> {
        self.st.frame.code.names[n.0 as usize].clone()
    }

    pub(crate) fn constant(&self, c: ConstIdx) -> Var {
        self.st.frame.code.const_vars[c.0 as usize].clone()
    }

    pub(crate) fn local(&self, l: LocalIdx) -> Option<Var> {
        self.st.frame.locals[l.0 as usize].clone()
    }

    pub(crate) fn set_local(&mut self, l: LocalIdx, v: Option<Var>) {
        self.st.frame.locals[l.0 as usize] = v;
    }

    pub(crate) fn unbound_local(&mut self, l: LocalIdx) -> Stop {
        let name = self.st.frame.code.local_names[l.0 as usize].clone();
        self.raise(
            "UnboundLocalError",
            &format!(
                "cannot access local variable '{name}' where it is not associated with a value"
            ),
        )
    }

    /// Exchanges the top with the `n`th value.
    pub(super) fn swap_top(&mut self, n: u32) -> R<()> {
        let s = &mut self.st.frame.stack;
        let top = s
            .len()
            .checked_sub(1)
            .ok_or_else(|| Stop::Internal("stack underflow".into()))?;
        let other = s
            .len()
            .checked_sub(n as usize)
            .ok_or_else(|| Stop::Internal("stack underflow".into()))?;
        s.swap(top, other);
        Ok(())
    }

    /// A local that is bound.
    pub(super) fn load_local(&mut self, local: LocalIdx) -> R<()> {
        match self.local(local) {
            Some(v) => self.push(v),
            None => return Err(self.unbound_local(local)),
        }
        Ok(())
    }

    /// `NULL` unbinds the local.
    pub(super) fn store_local(&mut self, l: LocalIdx) -> R<()> {
        let v = self.pop()?;
        self.set_local(
            l,
            if matches!(v, Var::Null) {
                None
            } else {
                Some(v)
            },
        );
        Ok(())
    }

    /// `del x`
    pub(super) fn delete_local(&mut self, l: LocalIdx) -> R<()> {
        match self.local(l) {
            Some(v) => self.check_end(l, &v)?,
            None => return Err(self.unbound_local(l)),
        }
        self.set_local(l, None);
        Ok(())
    }
}
