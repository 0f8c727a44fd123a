//! Exceptions of operations that the program handles.
//!
//! A graph that raises did not run, so the function runs again as plain Python, and the exception finds its
//! handler (`again.rs` of the crate `residual`). Behind an operation that must not run twice that is impossible.
//! Invariant: no operation of a graph raises past a handler of the program, unless a mode of the program sees operations
//! and a compiler takes the graph apart.

use bytecode::Body;
use fx_graph::NodeId;
use operations::handlers::{Handled, RAISED, catches, cleans_up, handled, raises_as_torch_does};
use pyo3::prelude::*;
use pyo3::types::PyType;
use variables::Obj;

use super::raising;
use crate::library::is_library_file;
use crate::retreat::Sooner;
use crate::state::Frame;
use crate::stop::{R, Stop};
use crate::tx::Tx;

impl Tx<'_> {
    /// Whether what the last operation raises because of values finds the program's handler.
    ///
    /// # Errors
    /// A break where it would not.
    pub(super) fn leads_to_handlers(&mut self, node: NodeId) -> R<()> {
        match self.runs_as_is {
            true => self.leads_there_as_is(node),
            // A mode has seen what would run again.
            false if self.has_modes() => Ok(()),
            false => self.leads_there_compiled(node),
        }
    }

    /// In a graph that runs as it is: which operation has raised is known then.
    fn leads_there_as_is(&mut self, node: NodeId) -> R<()> {
        self.st.needs_as_is |= self.st.leads_to_handler && !self.can_run_again(node);
        if !self.may_raise_to_handler(node) || !self.is_handled(node)? {
            return Ok(());
        }
        self.st.leads_to_handler = true;
        let is_behind = self.log.graph.iter().any(|(id, other)| {
            raising::runs_once(other) && !(id == node && other.may_refuse_write)
        });
        if is_behind {
            return Err(behind_what_runs_once());
        }
        self.st.needs_as_is |= !raising::can_all_run_again(&self.log.graph);
        Ok(())
    }

    /// In one that a compiler takes apart: nothing in it may run only once. The residual code puts the random generator
    /// back.
    fn leads_there_compiled(&mut self, node: NodeId) -> R<()> {
        if self.st.leads_to_handler && self.log.graph.get(node).is_some_and(raising::runs_once) {
            let may_drop = self.ints.is_whole && !self.st.is_checked_with_care;
            if may_drop && !self.may_be_handled() {
                self.st.leads_to_handler = false;
                return Ok(());
            }
            return Err(Stop::brk(
                "Operation behind a check, or one in a `try` statement, that may raise",
                "The exception of that one has to come from its line and to reach its handler, so the graph may have to run again; this one writes to tensors of the program, or draws random numbers from a generator of its own or of a GPU, which must not happen twice.",
                "Move the operation, or what may raise, out of the compiled function.",
            )
            .or_sooner(Some(Sooner::Load)));
        }
        if self.may_raise_to_handler(node) && self.is_handled(node)? {
            if !raising::can_all_run_again_with_draws(&self.log.graph) {
                return Err(behind_what_runs_once());
            }
            self.st.leads_to_handler = true;
        }
        Ok(())
    }

    /// Whether a graph with this node can run twice, where it's not known which of its nodes has raised.
    fn can_run_again(&self, node: NodeId) -> bool {
        self.log.graph.get(node).is_none_or(raising::can_run_again)
    }

    /// Whether an operation may raise for values, and the program may do something about it.
    fn may_raise_to_handler(&self, node: NodeId) -> bool {
        // Walks through the graph come last: this is asked for each operation.
        let autocast = self.ctx.autocast != tensor_meta::Autocast::Off;
        raising::could_raise(&self.log.graph, node)
            && self.may_be_handled()
            && raising::may_raise_at(&self.log.graph, node, autocast)
    }

    /// Whether a handler that is looked at closely takes what an operation raises for values.
    fn is_handled(&mut self, node: NodeId) -> R<bool> {
        if !self.log.graph.get(node).is_some_and(raises_as_torch_does)
            || self.in_own_frame(cleans_up)
        {
            return Ok(true);
        }
        let state = |f: &Frame| (f.code.clone(), f.ip, f.globals.clone());
        let frames: Vec<_> = self.frames().map(state).collect();
        for (code, ip, globals) in frames {
            let Handled::Classes(names) = handled(&code.body, ip) else {
                return Ok(true);
            };
            for name in names {
                let Ok(class) = self.global_of(&globals, &code.names[name.0 as usize]) else {
                    return Ok(true);
                };
                let class = self.realize(&class)?;
                if !self.real(&class).is_some_and(|c| self.is_never_raised(&c)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether torch raises no exception of a class for the values of tensors.
    fn is_never_raised(&self, class: &Obj) -> bool {
        let Ok(class) = class.bind(self.py).cast::<PyType>() else {
            return false;
        };
        let is_of_torch = class
            .module()
            .is_ok_and(|m| m.to_string().starts_with("torch"));
        let builtins = self.known.builtins.bind(self.py);
        let takes = |name: &&str| {
            let raised = builtins.getattr(*name);
            raised.is_ok_and(|r| {
                r.cast::<PyType>()
                    .is_ok_and(|r| r.is_subclass(class).unwrap_or(true))
            })
        };
        !is_of_torch && !RAISED.iter().any(takes)
    }

    /// Whether the program does something about an exception that is raised here.
    pub fn may_be_handled(&self) -> bool {
        self.in_some_frame(catches) || self.in_own_frame(cleans_up)
    }

    /// Whether something holds where one of the frames that are being run stands.
    fn in_some_frame(&self, holds: fn(&Body, usize) -> bool) -> bool {
        self.frames().any(|f| holds(&f.code.body, f.ip))
    }

    /// The same of frames of the program's own files.
    fn in_own_frame(&self, holds: fn(&Body, usize) -> bool) -> bool {
        self.frames()
            .any(|f| holds(&f.code.body, f.ip) && !is_library_file(&f.code.filename))
    }

    /// The frames that are being run, from the inside out.
    fn frames(&self) -> impl Iterator<Item = &Frame> {
        std::iter::successors(Some(&self.st.frame), |f| f.parent.as_deref())
    }
}

fn behind_what_runs_once() -> Stop {
    Stop::brk(
        "Operation in a `try` statement that may raise",
        "Its exception has to reach the handler, and the graph in front of it must not run twice: it writes to tensors, or draws numbers that can't be drawn again.",
        "Move the operation, or what may raise, out of the compiled function.",
    )
}
