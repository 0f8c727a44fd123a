//! Exceptions of operations that the program handles.
//!
//! A graph that raises did not run, so the function runs again as plain Python, and the exception finds its
//! handler (`again.rs` of the crate `residual`). Behind an operation that must not run twice that is impossible.
//! Invariant: no operation of a graph raises past a handler of the program, unless a mode of the program sees operations
//! and a compiler takes the graph apart.

use bytecode::op::{JumpCond, NameIdx, Op};
use bytecode::{Body, ExceptEntry};
use fx_graph::{NodeData, NodeId, OpKind, Target};
use pyo3::prelude::*;
use pyo3::types::PyType;
use variables::Obj;

use super::raising;
use crate::library::is_library_file;
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

    /// In one that a compiler takes apart: nothing in it may run only once.
    fn leads_there_compiled(&mut self, node: NodeId) -> R<()> {
        if self.st.leads_to_handler && !self.can_run_again(node) {
            return Err(Stop::brk(
                "Operation behind a check, or one in a `try` statement, that may raise",
                "The exception of that one has to come from its line and to reach its handler, so the graph may have to run again; this one writes to tensors of the program, or draws random numbers, which must not happen twice.",
                "Move the operation, or what may raise, out of the compiled function.",
            ));
        }
        if self.may_raise_to_handler(node) && self.is_handled(node)? {
            if !raising::can_all_run_again(&self.log.graph) {
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

/// What torch's operations raise because of values, besides classes of its own.
const RAISED: [&str; 8] = [
    "RuntimeError",
    "IndexError",
    "ValueError",
    "TypeError",
    "AssertionError",
    "OverflowError",
    "MemoryError",
    "SystemError",
];

/// Whether an operation is one of torch's own, for arguments that it does not refuse: it raises nothing but
/// [`RAISED`] for values. What runs Python code of the program may raise anything.
fn raises_as_torch_does(node: &NodeData) -> bool {
    let is_own = match &node.target {
        Target::Name(_) => node.op == OpKind::CallMethod,
        Target::Function(function) => ["torch.nn.functional.", "torch.", "operator.", "_operator."]
            .iter()
            .any(|start| {
                function
                    .path
                    .strip_prefix(start)
                    .is_some_and(|name| !name.contains('.'))
            }),
    };
    is_own && !node.may_refuse_arguments
}

/// Whether an `except` may take an exception at an instruction, or a `finally` that returns.
fn catches(body: &Body, ip: usize) -> bool {
    !matches!(handled(body, ip), Handled::Classes(names) if names.is_empty())
}

/// Whether a `finally` that covers an instruction does something that the program can see. Those of libraries put
/// back what they have changed, which is not done yet where the graph raises.
fn cleans_up(body: &Body, ip: usize) -> bool {
    let (mut at, mut acts) = (ip, false);
    for _ in 0..=body.handlers.len() {
        let Some(entry) = covering(body, at) else {
            break;
        };
        at = entry.target.0 as usize;
        if !is_exit_of_with(body, at) {
            each_that_takes_nothing(body, at, &mut |_, op| {
                acts |= matches!(
                    op,
                    Op::Call { .. }
                        | Op::CallKw { .. }
                        | Op::CallEx { .. }
                        | Op::StoreAttr(_)
                        | Op::StoreSubscr
                        | Op::StoreSlice
                        | Op::StoreGlobal(_)
                        | Op::StoreDeref(_)
                        | Op::DeleteAttr(_)
                        | Op::DeleteSubscr
                );
                true
            });
        }
    }
    acts
}

/// Which exceptions find a handler.
enum Handled {
    /// those of the classes that have these names among the globals
    Classes(Vec<NameIdx>),
    /// any may
    Any,
}

/// What is handled at an instruction. Exits of `finally` and `with` that raise the exception again handle
/// nothing: who gets it gets it from the graph's call as well.
fn handled(body: &Body, ip: usize) -> Handled {
    let (mut at, mut names) = (ip, Vec::new());
    for _ in 0..=body.handlers.len() {
        let Some(entry) = covering(body, at) else {
            break;
        };
        at = entry.target.0 as usize;
        if !is_exit_of_with(body, at) && !take(body, at, &mut names) {
            return Handled::Any;
        }
    }
    Handled::Classes(names)
}

/// The handler that an exception at an instruction leads to.
fn covering(body: &Body, at: usize) -> Option<&ExceptEntry> {
    let covers = |h: &&ExceptEntry| (h.start.0..h.end.0).contains(&(at as u32));
    body.handlers.iter().find(covers)
}

/// Whether a handler calls the exit of a `with` statement.
fn is_exit_of_with(body: &Body, at: usize) -> bool {
    let op = |i: usize| body.instrs.get(i).map(|i| &i.op);
    matches!(
        (op(at), op(at + 1)),
        (Some(Op::PushExcInfo), Some(Op::WithExceptStart))
    )
}

/// Finds the names of the classes that a handler compares the exception with; false where it compares in
/// another way, or comes to its end without raising it again.
fn take(body: &Body, handler: usize, names: &mut Vec<NameIdx>) -> bool {
    each_that_takes_nothing(body, handler, &mut |at, op| match op {
        Op::CheckExcMatch => compared(body, at, names),
        Op::CheckEgMatch => false,
        Op::PopExcept => matches!(body.instrs.get(at + 1).map(|i| &i.op), Some(Op::Reraise(_))),
        _ => true,
    })
}

/// Visits the instructions of a handler for an exception that is of none of the classes that it is compared with.
/// False where one of them is not visited to its end, or compares in another way.
fn each_that_takes_nothing(
    body: &Body,
    handler: usize,
    visit: &mut dyn FnMut(usize, &Op) -> bool,
) -> bool {
    let mut seen = vec![false; body.instrs.len()];
    let mut open = vec![handler];
    while let Some(at) = open.pop() {
        let Some(instr) = body.instrs.get(at) else {
            continue;
        };
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        if !visit(at, &instr.op) {
            return false;
        }
        if matches!(instr.op, Op::CheckExcMatch) {
            let Some(Op::PopJump {
                cond: JumpCond::False,
                to,
            }) = body.instrs.get(at + 1).map(|i| &i.op)
            else {
                return false;
            };
            open.push(to.0 as usize);
            continue;
        }
        open.extend(instr.op.target().map(|to| to.0 as usize));
        open.extend(instr.op.falls_through().then_some(at + 1));
    }
    true
}

/// Finds the names of the globals that are compared at an instruction: one, or a tuple of them.
fn compared(body: &Body, at: usize, names: &mut Vec<NameIdx>) -> bool {
    let op = |back: usize| at.checked_sub(back).map(|i| &body.instrs[i].op);
    let (first, count) = match op(1) {
        Some(Op::BuildTuple(n)) => (2, *n as usize),
        _ => (1, 1),
    };
    for back in first..first + count {
        let Some(Op::LoadGlobal(name)) = op(back) else {
            return false;
        };
        names.push(*name);
    }
    true
}
