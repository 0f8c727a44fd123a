//! Copies of the user's code that are entered in the middle: what resume functions and suspended
//! generators have in common.
//!
//! Such a copy has the operand stack and the variables that it needs for arguments, and all cells for
//! free variables, in the order of [`free_names`].

use std::ops::Range;

use bytecode::Body;
use bytecode::op::Op;
use translator::code::{CodeInfo, kinds};

use crate::asm::{map_local, prologue_len};

/// Whether a slot of the user's code is a cell or a free variable.
pub(crate) fn is_cell(code: &CodeInfo, i: usize) -> bool {
    code.fields.localspluskinds[i] & (kinds::CELL | kinds::FREE) != 0
}

/// The free variables of a copy: the code's cells, then its free variables.
pub(crate) fn free_names(code: &CodeInfo) -> Vec<String> {
    let fields = &code.fields;
    let by_kind = |bit: u8| {
        let slots = 0..fields.localsplusnames.len();
        slots.filter(move |&i| fields.localspluskinds[i] & bit != 0)
    };
    by_kind(kinds::CELL)
        .chain(by_kind(kinds::FREE))
        .map(|i| fields.localsplusnames[i].clone())
        .collect()
}

/// The user's instructions over other variables: `varnames`, of which those in `stack` are none of the
/// user's, then `free`. The instructions of the prologue that set a frame up are gone.
pub(crate) fn copied_body(
    code: &CodeInfo,
    varnames: &[String],
    stack: &Range<usize>,
    free: &[String],
    sets_up: impl Fn(&Op) -> bool,
) -> Body {
    let place = |i: u32| -> u32 {
        let (i, name) = (i as usize, &code.fields.localsplusnames[i as usize]);
        let at = match is_cell(code, i) {
            true => free
                .iter()
                .position(|v| v == name)
                .map(|at| varnames.len() + at),
            false => (0..varnames.len()).find(|at| !stack.contains(at) && varnames[*at] == *name),
        };
        at.unwrap_or(0) as u32
    };
    let mut body = code.body.clone();
    let prologue = prologue_len(&body);
    for (at, instr) in body.instrs.iter_mut().enumerate() {
        if at < prologue && sets_up(&instr.op) {
            instr.op = Op::Nop;
            instr.enc = bytecode::Enc::Synthetic;
        }
        map_local(&mut instr.op, place);
    }
    body
}
