//! From a [`Body`] to the bytes of a code object: jump distances, caches, line table, exception
//! table and stack size. What each instruction becomes is decided in [`crate::lower`].

use crate::body::Body;
use crate::code::{CodeFields, Version};
use crate::depth::stack_depths;
use crate::effect::stack_effect;
use crate::exception_table::{self, RawEntry};
use crate::location::LineWriter;
use crate::lower::{Lowered, LoweredBody, Target, lower};
use crate::opcode::{Opcode, Table};
use crate::verify::{Limits, VerifyError, verify};

/// What assembling needs to know beside the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsmInfo {
    /// `co_firstlineno` of the new code object
    pub firstlineno: u32,
    /// lengths of the tables that instructions index into, to be checked if known
    pub limits: Option<Limits>,
}

impl AsmInfo {
    /// For a body that replaces, or refers to the same tables as, the body of this code object.
    pub fn of(fields: &CodeFields) -> Self {
        AsmInfo {
            firstlineno: fields.firstlineno,
            limits: Some(Limits::of(fields)),
        }
    }
}

/// The byte fields of a code object and its stack size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembled {
    /// `co_code`, caches zeroed
    pub code: Vec<u8>,
    /// `co_linetable`
    pub linetable: Vec<u8>,
    /// `co_exceptiontable`
    pub exceptiontable: Vec<u8>,
    /// `co_stacksize`, at least 1
    pub stacksize: u32,
}

/// Why a body has no bytecode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AsmError {
    /// the version can neither do this nor express it by other means
    #[error("CPython {version} has no form of {op} (instruction {at})")]
    NoForm {
        /// the version
        version: Version,
        /// index of the instruction
        at: u32,
        /// the op
        op: String,
    },
    /// the body is not well-formed
    #[error(transparent)]
    Malformed(#[from] VerifyError),
}

/// `EXTENDED_ARG`s that an argument needs.
pub(crate) fn extensions(arg: u32) -> u32 {
    (u32::BITS - arg.leading_zeros()).div_ceil(8).max(1) - 1
}

/// Start of each lowered instruction in code units, and the end; jump arguments are filled in.
/// Instructions only grow, so this ends.
fn resolve(lowered: &mut LoweredBody) -> (Vec<u32>, Vec<u32>) {
    let LoweredBody { instrs, first, .. } = lowered;
    let mut extended: Vec<u32> = instrs
        .iter()
        .map(|instr| extensions(instr.arg).max(instr.extended))
        .collect();
    let mut starts = vec![0u32; instrs.len() + 1];
    loop {
        for (i, instr) in instrs.iter().enumerate() {
            starts[i + 1] = starts[i] + extended[i] + 1 + u32::from(instr.caches);
        }
        let mut grew = false;
        for (i, instr) in instrs.iter_mut().enumerate() {
            let target = match instr.target {
                Target::None => continue,
                Target::Label(label) => first[label.0 as usize],
                Target::Lowered(index) => index,
            };
            let (from, to) = (starts[i + 1], starts[target as usize]);
            instr.arg = if instr.backward { from - to } else { to - from };
            let needs = extensions(instr.arg);
            if needs > extended[i] {
                extended[i] = needs;
                grew = true;
            }
        }
        if !grew {
            return (starts, extended);
        }
    }
}

fn write_instr(code: &mut Vec<u8>, instr: &Lowered, extended: u32, extended_arg: u8) {
    for shift in (1..=extended).rev() {
        code.extend([extended_arg, (instr.arg >> (8 * shift)) as u8]);
    }
    code.extend([instr.number, instr.arg as u8]);
    code.resize(code.len() + 2 * instr.caches as usize, 0);
}

/// Assembles a body. [`verify`] must accept it; in release builds only what assembling relies on is
/// checked (labels, handlers, stack depths).
pub fn assemble(body: &Body, info: &AsmInfo) -> Result<Assembled, AsmError> {
    if cfg!(debug_assertions) || info.limits.is_some() {
        verify(body, info.limits.as_ref())?;
    }
    let depths = stack_depths(body)?;
    let mut lowered = lower(body)?;
    let stacksize = stack_size(body, &depths, &lowered);
    let (starts, extended) = resolve(&mut lowered);

    let extended_arg = Table::of(body.version).opcode(Opcode::EXTENDED_ARG);
    let extended_arg = extended_arg.map_or(0, |row| row.number);
    let units = starts[lowered.instrs.len()];
    let mut code = Vec::with_capacity(2 * units as usize);
    let mut lines = LineWriter::new(body.version, info.firstlineno);
    for (i, instr) in lowered.instrs.iter().enumerate() {
        write_instr(&mut code, instr, extended[i], extended_arg);
        lines.push(instr.loc, starts[i + 1] - starts[i]);
    }

    let mut exceptiontable = Vec::new();
    let unit = |label: u32| starts[lowered.first[label as usize] as usize];
    for entry in &body.handlers {
        let start = unit(entry.start.0);
        let len = unit(entry.end.0) - start;
        if len > 0 {
            let target = unit(entry.target.0);
            let raw = RawEntry {
                start,
                len,
                target,
                depth: entry.depth,
                lasti: entry.lasti,
            };
            exception_table::write(&mut exceptiontable, raw);
        }
    }
    Ok(Assembled {
        code,
        linetable: lines.finish(),
        exceptiontable,
        stacksize,
    })
}

fn stack_size(body: &Body, depths: &[Option<u32>], lowered: &LoweredBody) -> u32 {
    let mut size = 1;
    for (instr, depth) in body.instrs.iter().zip(depths) {
        if let Some(depth) = *depth {
            let grow = stack_effect(body.version, &instr.op, false)
                .max(stack_effect(body.version, &instr.op, true))
                .max(0);
            size = size.max(depth + grow.unsigned_abs());
        }
    }
    for &(at, above) in &lowered.peaks {
        if let Some(depth) = depths[at as usize] {
            size = size.max(depth + above);
        }
    }
    size
}
