//! Which handlers of the program an exception of an operation finds: those that cover an instruction.
//!
//! Does not live here: what that means for the graph (`handled.rs` of the crate `translator`).

use bytecode::op::{JumpCond, NameIdx, Op};
use bytecode::{Body, ExceptEntry};
use fx_graph::{NodeData, OpKind, Target};

/// What torch's operations raise because of values, besides classes of its own.
pub const RAISED: [&str; 8] = [
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
pub fn raises_as_torch_does(node: &NodeData) -> bool {
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
pub fn catches(body: &Body, ip: usize) -> bool {
    !matches!(handled(body, ip), Handled::Classes(names) if names.is_empty())
}

/// Whether a `finally` that covers an instruction does something that the program can see. Those of libraries put
/// back what they have changed, which is not done yet where the graph raises.
pub fn cleans_up(body: &Body, ip: usize) -> bool {
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
pub enum Handled {
    /// those of the classes that have these names among the globals
    Classes(Vec<NameIdx>),
    /// any may
    Any,
}

/// What is handled at an instruction. Exits of `finally` and `with` that raise the exception again handle
/// nothing: who gets it gets it from the graph's call as well.
pub fn handled(body: &Body, ip: usize) -> Handled {
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
