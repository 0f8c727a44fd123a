//! A decoded function body: instructions, labels and exception entries.
//!
//! Invariant of every [`Body`] that [`crate::verify::verify`] accepts: labels are in range, exception
//! entries are sorted and do not overlap, and each instruction has one stack depth.

use crate::code::Version;
use crate::location::Location;
use crate::op::{Label, Op};

/// How an instruction was found by `decode`, so that `assemble` can write it the same way.
///
/// The default is right for instructions that a program makes: they are written by the plain rule
/// of the version (see the [crate]'s documentation).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Enc {
    /// made by a program. On 3.13 a jump on truth gets a `TO_BOOL` in front unless the instruction
    /// before it leaves an exact `bool`
    #[default]
    Synthetic,
    /// decoded; written as one CPython instruction, and nothing is added: a jump on truth of 3.13
    /// pops an exact `bool`
    Exact,
    /// decoded; has at least this many `EXTENDED_ARG`s, where fewer might do
    Wide(u8),
    /// a load of a local that borrows the reference (3.14+ `LOAD_FAST_BORROW`): whoever compiled
    /// the code, or [`Body::borrow_loads`], has seen that the local keeps its value until the load is
    /// used. Kept only where the code around stays as it was, see
    /// [`BodyBuilder::copy`](crate::BodyBuilder::copy)
    Borrow,
    /// [`Enc::FuseNext`] of two loads that both borrow
    BorrowBoth,
    /// decoded; an [`Op::Nop`] that says that the conditional jump in front, or the loop, goes on
    /// here (3.14+ `NOT_TAKEN`, for `sys.monitoring`)
    NotTaken,
    /// decoded; one CPython instruction together with the next. Written apart where the two no
    /// longer are a pair that the version can join, or where a jump leads between them
    FuseNext,
    /// a decoded [`Op::Call`] whose `KW_NAMES` or `PRECALL` has another location than its `CALL`
    Call(Box<CallLocs>),
}

/// Locations of the instructions that lead up to a `CALL` (3.11, 3.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CallLocs {
    /// of `KW_NAMES`
    pub kw_names: Location,
    /// of `PRECALL` (3.11)
    pub precall: Location,
}

/// An instruction with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instr {
    /// what it does
    pub op: Op,
    /// source position
    pub loc: Location,
    /// byte offset in the original `co_code` of the first code unit of the CPython instruction that
    /// it comes from (an `EXTENDED_ARG` or `KW_NAMES`, if there is one), or [`Instr::NO_OFFSET`]
    pub offset: u32,
    /// how it was encoded
    pub enc: Enc,
}

impl Instr {
    /// [`Instr::offset`] of an instruction that was not decoded.
    pub const NO_OFFSET: u32 = u32::MAX;

    /// An instruction that was not decoded.
    pub fn new(op: Op, loc: Location) -> Self {
        Instr {
            op,
            loc,
            offset: Self::NO_OFFSET,
            enc: Enc::Synthetic,
        }
    }
}

/// A line of the exception table: what is raised in `start..end` goes to `target`, with the stack
/// cut to `depth`, then the instruction offset pushed if `lasti`, then the exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExceptEntry {
    /// first instruction covered
    pub start: Label,
    /// behind the last instruction covered
    pub end: Label,
    /// handler
    pub target: Label,
    /// stack depth that is kept
    pub depth: u32,
    /// whether the offset of the raising instruction is pushed
    pub lasti: bool,
}

/// The instructions of a code object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// the version that the body is for
    pub version: Version,
    /// instructions; a [`Label`] is an index into them
    pub instrs: Vec<Instr>,
    /// exception table, sorted by `start`, without overlap
    pub handlers: Vec<ExceptEntry>,
}

impl Body {
    /// Index of the first instruction that comes from the CPython instruction at this byte offset,
    /// which may point at its `EXTENDED_ARG`s, its caches or, as a frame's `f_lasti` does, at the
    /// opcode itself. Only for a body as decoded: offsets must not decrease.
    pub fn index_at(&self, offset: u32) -> Option<u32> {
        let behind = self.instrs.partition_point(|instr| instr.offset <= offset);
        let found = self.instrs.get(behind.checked_sub(1)?)?.offset;
        Some(self.instrs.partition_point(|instr| instr.offset < found) as u32)
    }

    /// How many instructions there are up to and with the `Resume` that starts the code proper: those that set up the
    /// frame (free variables, cells, the generator) and have to stay in front of any code that is
    /// added. All of them if there is no `Resume`.
    pub fn entry_len(&self) -> u32 {
        let resume = self
            .instrs
            .iter()
            .position(|instr| instr.op.is_start(self.version));
        resume.map_or(self.instrs.len(), |at| at + 1) as u32
    }

    /// Whether a generator's frame starts when it is first advanced: nothing but the frame's set-up comes
    /// before [`Op::ReturnGenerator`]. A generator expression of 3.15 runs its first iterable's
    /// `__iter__` before.
    pub fn makes_generator_first(&self) -> bool {
        let mut ops = self.instrs.iter().map(|instr| &instr.op);
        ops.find(|op| matches!(op, Op::Resume(_) | Op::ReturnGenerator))
            == Some(&Op::ReturnGenerator)
    }

    /// For each instruction the index into [`Body::handlers`] of the entry that covers it.
    pub fn handler_map(&self) -> Vec<Option<u32>> {
        let mut map = vec![None; self.instrs.len()];
        for (i, entry) in self.handlers.iter().enumerate() {
            let end = (entry.end.0 as usize).min(map.len());
            let start = (entry.start.0 as usize).min(end);
            map[start..end].fill(Some(i as u32));
        }
        map
    }

    /// For each instruction whether a jump or an exception entry leads to it.
    pub fn targets(&self) -> Vec<bool> {
        let mut targets = vec![false; self.instrs.len()];
        let labels = self.instrs.iter().filter_map(|instr| instr.op.target());
        for label in labels.chain(self.handlers.iter().map(|entry| entry.target)) {
            if let Some(is_target) = targets.get_mut(label.0 as usize) {
                *is_target = true;
            }
        }
        targets
    }

    /// Forgets how instructions were encoded. A 3.13 jump on truth then gets a `TO_BOOL`, where
    /// needed, so the body still means the same.
    pub fn forget_encoding(&mut self) {
        for instr in &mut self.instrs {
            instr.enc = Enc::Synthetic;
        }
    }
}
