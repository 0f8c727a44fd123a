//! Which locals an instruction and what may run after it still need.

use crate::body::Body;
use crate::cfg::Cfg;
use crate::op::LocalIdx;
use crate::verify::VerifyError;

/// Live locals on entry to each instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveLocals {
    /// `u64`s for one instruction
    words: usize,
    bits: Vec<u64>,
}

impl LiveLocals {
    /// Whether a local is live on entry to the instruction.
    pub fn contains(&self, at: u32, local: LocalIdx) -> bool {
        let word = local.0 as usize / 64;
        word < self.words && self.row(at)[word] >> (local.0 % 64) & 1 != 0
    }

    /// The locals that are live on entry to the instruction, in order.
    pub fn iter(&self, at: u32) -> impl Iterator<Item = LocalIdx> + '_ {
        self.row(at).iter().enumerate().flat_map(|(word, &bits)| {
            (0..64)
                .filter(move |bit| bits >> bit & 1 != 0)
                .map(move |bit| LocalIdx(word as u32 * 64 + bit))
        })
    }

    fn row(&self, at: u32) -> &[u64] {
        &self.bits[at as usize * self.words..][..self.words]
    }
}

/// Finds the live locals. A cell or free variable is live where its cell may still be used: by a
/// load, a store or a closure. What a handler needs is live throughout what it covers.
/// `COPY_FREE_VARS` is not taken into account: free variables are live before it too.
pub fn live_locals(body: &Body) -> Result<LiveLocals, VerifyError> {
    let cfg = Cfg::new(body)?;
    let uses = body.instrs.iter().filter_map(|instr| instr.op.local_use());
    let locals = uses
        .map(|used| used.local.0 as usize + 1)
        .max()
        .unwrap_or(0);
    let words = locals.div_ceil(64);
    let mut live = LiveLocals {
        words,
        bits: vec![0; words * body.instrs.len()],
    };
    if words == 0 {
        return Ok(live);
    }
    let mut queued = vec![true; cfg.blocks.len()];
    let mut work: Vec<u32> = (0..cfg.blocks.len() as u32).collect();
    let mut now = vec![0u64; words];
    let mut handler = vec![0u64; words];
    while let Some(index) = work.pop() {
        queued[index as usize] = false;
        let block = &cfg.blocks[index as usize];
        now.fill(0);
        handler.fill(0);
        let merge = |into: &mut [u64], block: u32| {
            let row = live.row(cfg.blocks[block as usize].start);
            into.iter_mut()
                .zip(row)
                .for_each(|(into, row)| *into |= row);
        };
        for &next in &block.succs {
            merge(&mut now, next);
        }
        if let Some(target) = block.handler {
            merge(&mut handler, target);
        }
        for at in (block.start..block.end).rev() {
            if let Some(used) = body.instrs[at as usize].op.local_use() {
                let (word, bit) = (used.local.0 as usize / 64, 1 << (used.local.0 % 64));
                if used.writes {
                    now[word] &= !bit;
                }
                if used.reads {
                    now[word] |= bit;
                }
            }
            now.iter_mut()
                .zip(&handler)
                .for_each(|(now, handler)| *now |= handler);
            let row = &mut live.bits[at as usize * words..][..words];
            if at == block.start && *row != *now {
                for &before in &block.preds {
                    if !std::mem::replace(&mut queued[before as usize], true) {
                        work.push(before);
                    }
                }
            }
            row.copy_from_slice(&now);
        }
    }
    Ok(live)
}
