//! Handlers of exceptions, and the end of a `with` statement that one leaves.

use std::rc::Rc;
use std::sync::Arc;

use variables::Var;

use super::Next;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// `__exit__` of a `with` statement whose body raises.
    pub(super) fn with_except_start(&mut self) -> R<Next> {
        let exc = self.peek(1)?;
        let class = Var::py(self.type_of(&exc)?);
        let traceback = self.traceback_of(&exc);
        let mut args = vec![class, exc, traceback];
        let slots = self.version().exit_slots();
        let exit = self.peek(3 + slots)?;
        if slots == 2 && !matches!(self.peek(4)?, Var::Null) {
            args.insert(0, self.peek(4)?);
        }
        let flow = self.call(&exit, Args::pos(args))?;
        Ok(self.push_flow(flow))
    }

    /// A handler begins.
    pub(super) fn push_exc_info(&mut self) -> R<()> {
        let exc = self.pop()?;
        self.push(Var::Handled(Rc::new(exc.clone())));
        self.push(exc.clone());
        self.st.frame.handling.push_back(exc);
        Ok(())
    }

    /// `except Class`
    pub(super) fn check_exc_match(&mut self) -> R<()> {
        let classes = self.pop()?;
        let exc = self.peek(1)?;
        let class = Var::py(self.type_of(&exc)?);
        let matches = self.exception_matches(&class, &classes)?;
        self.push(self.bool(matches));
        Ok(())
    }

    /// `StopIteration` does not leave a generator.
    pub(super) fn stop_iteration_error(&mut self) -> R<()> {
        let exc = self.peek(1)?;
        let class = self.type_of(&exc)?;
        if class.is(&self.known.stop_iteration) {
            self.pop()?;
            let stop = self.raise("RuntimeError", "generator raised StopIteration");
            if let Stop::Raise(v) = stop {
                if let Var::Obj(id) = &v {
                    let cause = Arc::from("__cause__");
                    self.st.effects.write_attr(*id, &cause, Some(exc.clone()));
                    self.st.raised_under.insert(*id, Some(exc));
                }
                self.push(v);
            }
        }
        Ok(())
    }
}
