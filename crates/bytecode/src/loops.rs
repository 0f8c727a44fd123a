//! Which instructions are in a loop.

use crate::body::Body;
use crate::cfg::Cfg;
use crate::op::Op;
use crate::verify::VerifyError;

/// Where a loop goes on once its iterator, and what ends it, are off the stack; `to` is the target of
/// its [`Op::ForIter`].
pub fn behind_loop(body: &Body, to: usize) -> usize {
    to + body.version.loop_end().len()
}

/// Whether code goes back to an instruction that it has passed.
pub fn has_loop(body: &Body) -> bool {
    let mut instrs = body.instrs.iter().enumerate();
    instrs.any(|(at, i)| i.op.target().is_some_and(|to| to.0 as usize <= at))
}

/// What an instruction is in the loop of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// a `for` or `while` statement
    Statement,
    /// a comprehension that is part of a function's own code (3.12 and later)
    Comprehension {
        /// its [`Op::ForIter`]
        at: u32,
        /// where the function goes on behind it
        behind: u32,
    },
}

/// The outermost loop that an instruction is in.
pub fn loop_of(body: &Body, at: u32) -> Result<Option<Loop>, VerifyError> {
    let cfg = Cfg::new(body)?;
    let Some(&own) = cfg.block_of.get(at as usize) else {
        return Ok(None);
    };
    let behind = behind(&cfg, own);
    if !behind[own as usize] {
        return Ok(None);
    }
    let before = closure(&cfg, own, |block| {
        cfg.blocks[block as usize].preds.iter().copied().collect()
    });
    let in_loop = |block: u32| behind[block as usize] && before[block as usize];
    let ends = (0..cfg.blocks.len() as u32)
        .filter(|&block| in_loop(block))
        .filter_map(|block| {
            let last = cfg.blocks[block as usize].end as usize - 1;
            match body.instrs[last].op {
                Op::ForIter { to } if !in_loop(cfg.block_of[to.0 as usize]) => Some((last, to)),
                _ => None,
            }
        });
    let mut found = Loop::Statement;
    for (for_iter, to) in ends {
        if !is_comprehension(body, for_iter) {
            return Ok(Some(Loop::Statement));
        }
        found = Loop::Comprehension {
            at: for_iter as u32,
            behind: behind_loop(body, to.0 as usize) as u32,
        };
    }
    Ok(Some(found))
}

/// Whether code may come from behind one instruction to another one.
pub fn leads_to(body: &Body, from: u32, to: u32) -> Result<bool, VerifyError> {
    let cfg = Cfg::new(body)?;
    let block = |at: u32| cfg.block_of.get(at as usize).copied();
    let (Some(own), Some(other)) = (block(from), block(to)) else {
        return Ok(false);
    };
    Ok(behind(&cfg, own)[other as usize] || own == other && to > from)
}

/// Whether a loop is that of a comprehension: what it makes is put below its iterator.
fn is_comprehension(body: &Body, for_iter: usize) -> bool {
    let mut before = body.instrs[..for_iter].iter().rev().map(|instr| &instr.op);
    match before.next() {
        Some(Op::GetIter) => matches!(before.next(), Some(Op::Swap(2))),
        op => matches!(op, Some(Op::Swap(2))),
    }
}

/// The blocks that code may come to from a block, its own among them where it is in a loop.
fn behind(cfg: &Cfg, block: u32) -> Vec<bool> {
    closure(cfg, block, |block| {
        let block = &cfg.blocks[block as usize];
        block.succs.iter().chain(&block.handler).copied().collect()
    })
}

/// The blocks that one or more steps lead to.
fn closure(cfg: &Cfg, from: u32, step: impl Fn(u32) -> Vec<u32>) -> Vec<bool> {
    let mut found = vec![false; cfg.blocks.len()];
    let mut work = step(from);
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut found[block as usize], true) {
            work.extend(step(block));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Loop, loop_of};
    use crate::body::{Body, Instr};
    use crate::code::Version;
    use crate::location::Location;
    use crate::op::{ConstIdx, Label, LocalIdx, Op};

    fn body(ops: &[Op]) -> Body {
        let instr = |op: &Op| Instr::new(op.clone(), Location::NONE);
        Body {
            version: Version::V312,
            instrs: ops.iter().map(instr).collect(),
            handlers: vec![],
        }
    }

    fn jump(to: u32) -> Op {
        Op::Jump {
            to: Label(to),
            no_interrupt: false,
        }
    }

    /// A `for` statement at 1 to 3, and what follows it.
    fn statement() -> [Op; 6] {
        [
            Op::GetIter,
            Op::ForIter { to: Label(4) },
            Op::StoreFast(LocalIdx(0)),
            jump(1),
            Op::EndFor,
            Op::ReturnConst(ConstIdx(0)),
        ]
    }

    fn around(body: &Body) -> Vec<Option<Loop>> {
        let at = 0..body.instrs.len() as u32;
        at.map(|at| loop_of(body, at).expect("a well formed body"))
            .collect()
    }

    #[test]
    fn what_code_leads_to() {
        let body = body(&statement());
        let leads = |from, to| super::leads_to(&body, from, to).expect("a well formed body");
        assert!(leads(2, 2) && leads(2, 5) && leads(0, 2) && leads(4, 5));
        assert!(!leads(5, 5) && !leads(5, 2) && !leads(0, 0));
    }

    #[test]
    fn a_statement_and_what_is_outside_of_it() {
        let inside = Some(Loop::Statement);
        let expected = [None, inside, inside, inside, None, None];
        assert_eq!(around(&body(&statement())), expected);
    }

    #[test]
    fn a_comprehension_is_told_by_what_lies_below_its_iterator() {
        let ops = [
            Op::GetIter,
            Op::BuildList(0),
            Op::Swap(2),
            Op::ForIter { to: Label(6) },
            Op::ListAppend(2),
            jump(3),
            Op::EndFor,
            Op::ReturnValue,
        ];
        let inside = Some(Loop::Comprehension { at: 3, behind: 7 });
        let expected = [None, None, None, inside, inside, inside, None, None];
        assert_eq!(around(&body(&ops)), expected);
    }

    #[test]
    fn a_comprehension_in_a_statement_is_part_of_it() {
        let ops = [
            Op::ForIter { to: Label(8) },
            Op::GetIter,
            Op::BuildList(0),
            Op::Swap(2),
            Op::ForIter { to: Label(6) },
            jump(4),
            Op::EndFor,
            jump(0),
            Op::EndFor,
            Op::ReturnValue,
        ];
        assert_eq!(around(&body(&ops))[4], Some(Loop::Statement));
    }
}
