//! Which loads of locals may borrow the local's reference (3.14+ `LOAD_FAST_BORROW`).
//!
//! A borrowed reference keeps nobody alive: it is sound where the local keeps its value until the
//! instruction that takes the loaded value off the stack has run. Then a program sees the reference
//! counts of code that CPython compiled; as there, nothing is borrowed where only an exception leads
//! to. Each block is looked at alone: a value that is still on the
//! stack where the block ends is not borrowed. Nor is one that an exception leaves on the stack: a
//! block lies under one handler, so whatever is loaded in it is above what the handler keeps.
//!
//! Locals change by instructions of their own frame only: CPython keeps a value that is replaced
//! through `frame.f_locals`.

use crate::body::{Body, Enc};
use crate::cfg::Cfg;
use crate::code::Version;
use crate::effect::{stack_effect, stack_needs};
use crate::op::{LocalIdx, Op};
use crate::verify::VerifyError;

/// For each instruction whether it is the load of a local that may borrow.
pub fn borrowing_loads(body: &Body) -> Result<Vec<bool>, VerifyError> {
    let mut scan = Scan {
        version: body.version,
        stack: Vec::new(),
        borrows: vec![false; body.instrs.len()],
    };
    let blocks = Cfg::new(body)?.blocks;
    let mut reached = vec![false; blocks.len()];
    let mut work = vec![0];
    while let Some(index) = work.pop() {
        let Some(block) = blocks.get(index as usize) else {
            continue;
        };
        if std::mem::replace(&mut reached[index as usize], true) {
            continue;
        }
        scan.stack.clear();
        for at in block.start..block.end {
            scan.step(at, &body.instrs[at as usize].op);
        }
        scan.own(0);
        work.extend(&block.succs);
    }
    Ok(scan.borrows)
}

impl Body {
    /// Has loads of locals borrow where that is sound and the version can: as few references are
    /// counted as in code that CPython compiled. Two loads in one instruction borrow both or neither.
    pub fn borrow_loads(&mut self) -> Result<(), VerifyError> {
        if self.version < Version::V314 {
            return Ok(());
        }
        let borrows = borrowing_loads(self)?;
        for at in 0..self.instrs.len() {
            let instr = &mut self.instrs[at];
            match instr.enc {
                Enc::Synthetic | Enc::Exact if borrows[at] => instr.enc = Enc::Borrow,
                Enc::FuseNext if borrows[at] && borrows.get(at + 1) == Some(&true) => {
                    instr.enc = Enc::BorrowBoth;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// What a block has on the stack above what it begins with: the load that put a value there and the
/// local that it is of, `None` where the stack holds a reference of its own.
struct Scan {
    version: Version,
    stack: Vec<Option<(u32, LocalIdx)>>,
    borrows: Vec<bool>,
}

impl Scan {
    /// Values of the stack from `from` on are held by the stack.
    fn own(&mut self, from: usize) {
        for slot in &mut self.stack[from..] {
            if let Some((load, _)) = slot.take() {
                self.borrows[load as usize] = false;
            }
        }
    }

    /// The local gets another value, or none.
    fn changes(&mut self, local: LocalIdx) {
        for slot in &mut self.stack {
            if let Some((load, _)) = slot.take_if(|(_, of)| *of == local) {
                self.borrows[load as usize] = false;
            }
        }
    }

    /// Index of the `n`th value from the top, if the block has put it there.
    fn nth(&self, n: u32) -> Option<usize> {
        self.stack.len().checked_sub(n as usize)
    }

    fn pop(&mut self, n: u32) {
        self.stack.truncate(self.nth(n).unwrap_or(0));
    }

    fn push_owned(&mut self, n: u32) {
        self.stack.resize(self.stack.len() + n as usize, None);
    }

    fn step(&mut self, at: u32, op: &Op) {
        match *op {
            Op::LoadFast {
                local,
                check: false,
            }
            | Op::LoadClosure(local) => {
                self.borrows[at as usize] = true;
                self.stack.push(Some((at, local)));
            }
            // A local owns what it holds.
            Op::StoreFast(local) => {
                self.own(self.nth(1).unwrap_or(0));
                self.pop(1);
                self.changes(local);
            }
            Op::DeleteFast(local) | Op::MakeCell(local) => self.changes(local),
            Op::LoadFastAndClear(local) => {
                self.changes(local);
                self.push_owned(1);
            }
            // A copy of a borrowed reference is borrowed.
            Op::Copy(n) => {
                let copied = self.nth(n).and_then(|i| self.stack[i]);
                self.stack.push(copied);
            }
            Op::Swap(n) => match self.nth(n) {
                Some(other) => {
                    let top = self.stack.len() - 1;
                    self.stack.swap(other, top);
                }
                None => self.own(0),
            },
            // The object stays as the `self` of the call.
            Op::LoadMethod { .. } | Op::LoadSpecial(_) | Op::LoadSuperAttr { method: true, .. } => {
                let object = self.nth(1).and_then(|i| self.stack[i]);
                self.pop(stack_needs(self.version, op));
                self.stack.extend([None, object]);
            }
            _ => {
                let popped = self.popped(op);
                let pushed = popped.saturating_add_signed(stack_effect(self.version, op, false));
                self.pop(popped);
                self.push_owned(pushed);
            }
        }
    }

    /// How many values an instruction takes off the stack for good. What it looks at and may leave
    /// is held by the stack from then on.
    fn popped(&mut self, op: &Op) -> u32 {
        let needs = stack_needs(self.version, op);
        match op {
            Op::PopTop
            | Op::StoreDeref(_)
            | Op::StoreGlobal(_)
            | Op::StoreName(_)
            | Op::LoadAttr(_)
            | Op::LoadSuperAttr { .. }
            | Op::StoreAttr(_)
            | Op::DeleteAttr(_)
            | Op::Unary(_)
            | Op::ToBool
            | Op::Binary { .. }
            | Op::Compare { .. }
            | Op::Is { .. }
            | Op::Contains { .. }
            | Op::BinarySubscr
            | Op::StoreSubscr
            | Op::DeleteSubscr
            | Op::BinarySlice
            | Op::StoreSlice
            | Op::BuildTuple(_)
            | Op::BuildList(_)
            | Op::BuildSet(_)
            | Op::BuildMap(_)
            | Op::BuildString(_)
            | Op::BuildSlice(_)
            | Op::UnpackSequence(_)
            | Op::UnpackEx { .. }
            | Op::PopJump { .. }
            | Op::Call { .. }
            | Op::CallKw { .. }
            | Op::CallEx { .. }
            | Op::ReturnValue
            | Op::YieldValue(_)
            | Op::RaiseVarargs(_) => needs,
            // The container stays, whoever holds it.
            Op::ListAppend(_)
            | Op::SetAdd(_)
            | Op::MapAdd(_)
            | Op::ListExtend(_)
            | Op::SetUpdate(_)
            | Op::DictUpdate(_)
            | Op::DictMerge(_) => stack_effect(self.version, op, false).unsigned_abs(),
            _ => {
                self.own(self.nth(needs).unwrap_or(0));
                needs
            }
        }
    }
}
