//! Basic blocks and the edges between them, exception edges included.

use smallvec::SmallVec;

use crate::body::Body;
use crate::depth::check_labels;
use crate::verify::VerifyError;

/// Instructions that run one after the other, under one exception entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// first instruction
    pub start: u32,
    /// behind the last instruction
    pub end: u32,
    /// blocks that may run next: the one behind first, then the jump target
    pub succs: SmallVec<[u32; 2]>,
    /// block of the handler that covers the instructions
    pub handler: Option<u32>,
    /// blocks that lead here, by jump, by falling through or by exception
    pub preds: SmallVec<[u32; 2]>,
}

/// The control flow graph of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    /// blocks in the order of the code; the first is the entry
    pub blocks: Vec<Block>,
    /// block of each instruction
    pub block_of: Vec<u32>,
}

impl Cfg {
    /// The graph of a body whose labels and exception entries are in order. Blocks that control does
    /// not reach are there too; the last may run off the end.
    pub fn new(body: &Body) -> Result<Self, VerifyError> {
        check_labels(body)?;
        let len = body.instrs.len();
        let mut leaders = body.targets();
        let handlers = body.handler_map();
        let mut starts = Vec::new();
        for at in 0..len {
            let before = at.checked_sub(1);
            leaders[at] |= before.is_none_or(|before| {
                let op = &body.instrs[before].op;
                op.target().is_some() || !op.falls_through() || handlers[before] != handlers[at]
            });
            if leaders[at] {
                starts.push(at as u32);
            }
        }
        let mut block_of = vec![0; len];
        let mut blocks = Vec::with_capacity(starts.len());
        for (i, &start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(len as u32);
            block_of[start as usize..end as usize].fill(i as u32);
            blocks.push(Block {
                start,
                end,
                succs: SmallVec::new(),
                handler: None,
                preds: SmallVec::new(),
            });
        }
        for i in 0..blocks.len() {
            let (start, end) = (blocks[i].start as usize, blocks[i].end as usize);
            let op = &body.instrs[end - 1].op;
            let mut succs = SmallVec::new();
            if op.falls_through() && end < len {
                succs.push(i as u32 + 1);
            }
            if let Some(to) = op.target() {
                let to = block_of[to.0 as usize];
                if !succs.contains(&to) {
                    succs.push(to);
                }
            }
            let handler = handlers[start]
                .map(|entry| block_of[body.handlers[entry as usize].target.0 as usize]);
            for &next in succs.iter().chain(&handler) {
                if !blocks[next as usize].preds.contains(&(i as u32)) {
                    blocks[next as usize].preds.push(i as u32);
                }
            }
            blocks[i].succs = succs;
            blocks[i].handler = handler;
        }
        Ok(Cfg { blocks, block_of })
    }
}
