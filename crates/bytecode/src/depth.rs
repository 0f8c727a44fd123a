//! Stack depth before each instruction.

use crate::body::Body;
use crate::effect::{stack_effect, stack_needs};
use crate::op::{Label, Op};
use crate::verify::VerifyError;

/// Stack depth before each instruction, `None` where control does not get. Starts at 0 at the first
/// instruction; follows jumps and exception edges. Also checks that labels are in range, that
/// exception entries are in order, that each instruction has one depth and finds what it pops, and
/// that control does not run off the end.
pub fn stack_depths(body: &Body) -> Result<Vec<Option<u32>>, VerifyError> {
    check_labels(body)?;
    let handlers = body.handler_map();
    let mut depths: Vec<Option<u32>> = vec![None; body.instrs.len()];
    let mut work: Vec<u32> = Vec::new();
    let reach = |at: u32, depth: u32, work: &mut Vec<u32>, depths: &mut Vec<Option<u32>>| {
        let Some(slot) = depths.get_mut(at as usize) else {
            return Err(VerifyError::RunsOff);
        };
        match *slot {
            None => {
                *slot = Some(depth);
                work.push(at);
                Ok(())
            }
            Some(known) if known == depth => Ok(()),
            Some(known) => Err(VerifyError::Depths {
                at,
                first: known,
                second: depth,
            }),
        }
    };
    reach(0, 0, &mut work, &mut depths)?;
    while let Some(at) = work.pop() {
        let Some(depth) = depths[at as usize] else {
            continue;
        };
        let op = &body.instrs[at as usize].op;
        if depth < stack_needs(body.version, op) {
            return Err(VerifyError::Underflow { at, depth });
        }
        let after = |jump: bool| {
            depth
                .checked_add_signed(stack_effect(body.version, op, jump))
                .ok_or(VerifyError::Underflow { at, depth })
        };
        if let Some(to) = op.target() {
            reach(to.0, after(true)?, &mut work, &mut depths)?;
        }
        if op.falls_through() {
            reach(at + 1, after(false)?, &mut work, &mut depths)?;
        }
        if let Some(handler) = handlers[at as usize] {
            let entry = body.handlers[handler as usize];
            if depth < entry.depth {
                if !op.can_raise() {
                    continue;
                }
                return Err(VerifyError::HandlerDepth {
                    at,
                    depth,
                    handler: entry.depth,
                });
            }
            let depth = entry.depth + u32::from(entry.lasti) + 1;
            reach(entry.target.0, depth, &mut work, &mut depths)?;
        }
    }
    Ok(depths)
}

/// Labels in range, exception entries sorted and disjoint.
pub(crate) fn check_labels(body: &Body) -> Result<(), VerifyError> {
    let len = body.instrs.len() as u32;
    let inside = |label: Label| {
        if label.0 < len {
            Ok(())
        } else {
            Err(VerifyError::LabelRange { label: label.0 })
        }
    };
    for instr in &body.instrs {
        if let Some(to) = instr.op.target() {
            inside(to)?;
        }
        if let Op::EndAsyncFor { from: Some(from) } = instr.op {
            inside(from)?;
        }
    }
    let mut end = 0;
    for (i, entry) in body.handlers.iter().enumerate() {
        inside(entry.target)?;
        if entry.end.0 > len {
            return Err(VerifyError::LabelRange { label: entry.end.0 });
        }
        if entry.start.0 < end || entry.end < entry.start {
            return Err(VerifyError::HandlerOrder { index: i as u32 });
        }
        end = entry.end.0;
    }
    Ok(())
}
