//! Well-formedness of a [`Body`].

use crate::body::Body;
use crate::code::CodeFields;
#[cfg(doc)]
use crate::code::Version;
use crate::depth::stack_depths;
use crate::op::Op;

/// Lengths of the tables that instructions index into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `len(co_consts)`
    pub consts: u32,
    /// `len(co_names)`
    pub names: u32,
    /// locals, cells and free variables
    pub locals: u32,
}

impl Limits {
    /// Those of a code object.
    pub fn of(fields: &CodeFields) -> Self {
        Limits {
            consts: fields.n_consts,
            names: fields.names.len() as u32,
            locals: fields.localsplusnames.len() as u32,
        }
    }
}

/// What is wrong with a body. `at` is an index into [`Body::instrs`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// a label beyond the end
    #[error("label {label} is out of range")]
    LabelRange {
        /// the label
        label: u32,
    },
    /// exception entries overlap, are not sorted, or end before they start
    #[error("exception entry {index} is out of order")]
    HandlerOrder {
        /// index into [`Body::handlers`]
        index: u32,
    },
    /// two ways to an instruction with different stack depths
    #[error("instruction {at} is reached with stack depths {first} and {second}")]
    Depths {
        /// the instruction
        at: u32,
        /// depth found first
        first: u32,
        /// the other depth
        second: u32,
    },
    /// an instruction pops or looks at more than there is
    #[error("instruction {at} needs more than the {depth} values on the stack")]
    Underflow {
        /// the instruction
        at: u32,
        /// depth before it
        depth: u32,
    },
    /// an exception entry keeps more than there is
    #[error("instruction {at} at depth {depth} is covered by a handler of depth {handler}")]
    HandlerDepth {
        /// the instruction
        at: u32,
        /// depth before it
        depth: u32,
        /// depth that the entry keeps
        handler: u32,
    },
    /// control can get behind the last instruction, or there is none
    #[error("control runs off the end of the code")]
    RunsOff,
    /// an index beyond its table
    #[error("instruction {at} refers to entry {index} of a table of {len}")]
    IndexRange {
        /// the instruction
        at: u32,
        /// the index
        index: u32,
        /// length of the table
        len: u32,
    },
    /// a [`Op::CopyFreeVars`] that control reaches must be the first instruction: CPython looks for
    /// it there where it reads the locals of a frame that has not started (a trace function does)
    #[error("COPY_FREE_VARS at instruction {at} is not the first instruction")]
    LateFreeVars {
        /// the instruction
        at: u32,
    },
    /// a [`Op::ReturnGenerator`] that control reaches must stand before the first [`Op::Resume`] of
    /// the code: CPython traces lines from the first `RESUME` on, which must not happen before the
    /// frame has moved into the generator
    #[error("RETURN_GENERATOR at instruction {at} stands behind a RESUME")]
    LateGenerator {
        /// the instruction
        at: u32,
    },
    /// an exhausted [`Op::ForIter`] must lead to what ends a loop: [`Version::loop_end`]
    #[error("the loop of instruction {at} does not end in END_FOR")]
    LoopEnd {
        /// the `ForIter`
        at: u32,
    },
}

/// Checks a body: what [`stack_depths`] checks, the ends of loops, the places of `COPY_FREE_VARS` and
/// `RETURN_GENERATOR` and, given `limits`, indices.
pub fn verify(body: &Body, limits: Option<&Limits>) -> Result<(), VerifyError> {
    let depths = stack_depths(body)?;
    let entry = body.entry_len();
    for (at, instr) in body.instrs.iter().enumerate() {
        let reached = depths[at].is_some();
        let at = at as u32;
        if reached && at > 0 && matches!(instr.op, Op::CopyFreeVars(_)) {
            return Err(VerifyError::LateFreeVars { at });
        }
        if reached && at >= entry && instr.op == Op::ReturnGenerator {
            return Err(VerifyError::LateGenerator { at });
        }
        if let Op::ForIter { to } = instr.op
            && !loop_end(body, to.0 as usize)
        {
            return Err(VerifyError::LoopEnd { at });
        }
        if let Some(limits) = limits
            && let Some((index, len)) = table_index(&instr.op, limits)
            && index >= len
        {
            return Err(VerifyError::IndexRange { at, index, len });
        }
    }
    Ok(())
}

fn loop_end(body: &Body, to: usize) -> bool {
    let end = body.version.loop_end();
    let found = body.instrs.iter().skip(to).map(|instr| &instr.op);
    found.take(end.len()).eq(end)
}

/// The largest index of an instruction and the length of the table it is for.
fn table_index(op: &Op, limits: &Limits) -> Option<(u32, u32)> {
    if let Some(used) = op.local_use() {
        return Some((used.local.0, limits.locals));
    }
    match *op {
        Op::LoadConst(c)
        | Op::ReturnConst(c)
        | Op::Call {
            kw_names: Some(c), ..
        } => Some((c.0, limits.consts)),
        Op::CopyFreeVars(n) => Some((n.checked_sub(1)?, limits.locals)),
        Op::LoadFromDictOrGlobals(name)
        | Op::LoadGlobal(name)
        | Op::StoreGlobal(name)
        | Op::DeleteGlobal(name)
        | Op::LoadName(name)
        | Op::StoreName(name)
        | Op::DeleteName(name)
        | Op::LoadAttr(name)
        | Op::LoadMethod { name, .. }
        | Op::LoadSuperAttr { name, .. }
        | Op::StoreAttr(name)
        | Op::DeleteAttr(name)
        | Op::ImportName { name, .. }
        | Op::ImportFrom(name) => Some((name.0, limits.names)),
        _ => None,
    }
}
