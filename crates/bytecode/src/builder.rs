//! Building a [`Body`] with symbolic labels: emitting instructions, copying from other bodies and
//! nesting exception regions.
//!
//! A [`Label`] that a builder hands out is symbolic. It may be used in the jumps emitted to that
//! builder only, before or after it is bound; [`BodyBuilder::finish`] turns labels into indices.
//!
//! Code that is put in front of a copied body has to stand behind the body's entry
//! ([`BodyBuilder::copy_entry`]) and to jump behind it in the full copy: see
//! [`crate::VerifyError::LateFreeVars`] and [`crate::VerifyError::LateGenerator`].

use std::ops::Range;

use crate::body::{Body, Enc, ExceptEntry, Instr};
use crate::code::Version;
use crate::location::Location;
use crate::op::{JumpCond, Label, Op};

/// Why what was built is not a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// a label is jumped to and stands nowhere
    #[error("label {0} is used and not bound")]
    Unbound(u32),
    /// a label was bound at two places
    #[error("label {0} is bound twice")]
    BoundTwice(u32),
    /// an exception region that ends before it starts
    #[error("exception region {0} ends before it starts")]
    Backwards(u32),
    /// two exception regions overlap and neither contains the other
    #[error("exception regions {0} and {1} cross")]
    Crossing(u32, u32),
}

/// The labels that a builder holds for the instructions of another body.
///
/// There is one for each instruction and one for the end, whether they are copied or not.
#[derive(Clone, Copy, Debug)]
pub struct Import {
    base: u32,
    len: u32,
}

impl Import {
    /// The builder's label for an instruction of the other body (or its end).
    ///
    /// # Panics
    /// If `label` is beyond the end of the other body.
    pub fn label(&self, label: Label) -> Label {
        assert!(
            label.0 <= self.len,
            "label {} of a body of {}",
            label.0,
            self.len
        );
        Label(self.base + label.0)
    }
}

/// Builds a body front to back.
#[derive(Clone, Debug)]
pub struct BodyBuilder {
    version: Version,
    instrs: Vec<Instr>,
    /// where each label stands
    labels: Vec<Option<u32>>,
    regions: Vec<ExceptEntry>,
    loc: Location,
    error: Option<BuildError>,
}

impl BodyBuilder {
    /// An empty body. Instructions have no line until [`BodyBuilder::set_loc`].
    pub fn new(version: Version) -> Self {
        Self::with_capacity(version, 0)
    }

    /// The same, with room for `instrs` instructions.
    pub fn with_capacity(version: Version, instrs: usize) -> Self {
        BodyBuilder {
            version,
            instrs: Vec::with_capacity(instrs),
            labels: Vec::new(),
            regions: Vec::new(),
            loc: Location::NONE,
            error: None,
        }
    }

    /// The version that the body is for.
    pub fn version(&self) -> Version {
        self.version
    }

    /// How many instructions there are; the index of the next.
    pub fn len(&self) -> u32 {
        self.instrs.len() as u32
    }

    /// Whether there is no instruction.
    pub fn is_empty(&self) -> bool {
        self.instrs.is_empty()
    }

    /// Location of what [`BodyBuilder::emit`] adds from now on.
    pub fn set_loc(&mut self, loc: Location) {
        self.loc = loc;
    }

    /// That location.
    pub fn loc(&self) -> Location {
        self.loc
    }

    /// Adds an instruction. Jumps lead to labels of this builder.
    pub fn emit(&mut self, op: Op) {
        self.emit_at(op, self.loc);
    }

    /// Adds an instruction with a location of its own.
    pub fn emit_at(&mut self, op: Op, loc: Location) {
        self.instrs.push(Instr::new(op, loc));
    }

    /// Adds several instructions.
    pub fn emit_all(&mut self, ops: impl IntoIterator<Item = Op>) {
        for op in ops {
            self.emit(op);
        }
    }

    /// A label that is not bound yet.
    pub fn new_label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() as u32 - 1)
    }

    /// Puts a label in front of the next instruction.
    ///
    /// # Panics
    /// If the label is not one of this builder.
    pub fn bind(&mut self, label: Label) {
        let slot = &mut self.labels[label.0 as usize];
        if slot.replace(self.instrs.len() as u32).is_some() {
            self.error.get_or_insert(BuildError::BoundTwice(label.0));
        }
    }

    /// A new label in front of the next instruction.
    pub fn here(&mut self) -> Label {
        let label = self.new_label();
        self.bind(label);
        label
    }

    /// Adds an unconditional jump.
    pub fn jump(&mut self, to: Label) {
        self.emit(Op::Jump {
            to,
            no_interrupt: false,
        });
    }

    /// Adds a conditional jump, which pops what it tests. On 3.13 a test of truth is made on any
    /// object: see [`Enc::Synthetic`].
    pub fn pop_jump(&mut self, cond: JumpCond, to: Label) {
        self.emit(Op::PopJump { cond, to });
    }

    /// Adds the load of a callable that is not a method, with the `NULL` of a call without `self`
    /// on the side where the version has it: `-- NULL callable` or `-- callable NULL`.
    pub fn emit_callable(&mut self, load: Op) {
        if self.version.null_first() {
            self.emit_all([Op::PushNull, load]);
        } else {
            self.emit_all([load, Op::PushNull]);
        }
    }

    /// Makes a callable of the value on top of the stack: `f -- NULL f` or `f -- f NULL`.
    pub fn make_callable(&mut self) {
        self.emit(Op::PushNull);
        if self.version.null_first() {
            self.emit(Op::Swap(2));
        }
    }

    /// Adds a call with positional arguments only.
    pub fn call(&mut self, argc: u32) {
        self.emit(Op::Call {
            argc,
            kw_names: None,
        });
    }

    /// Covers `start..end` with a handler: the stack is cut to `depth`, the instruction offset is
    /// pushed if `lasti`, then the exception. Where regions overlap the inner one is in force; of
    /// equal ones the first added.
    pub fn handler(&mut self, start: Label, end: Label, target: Label, depth: u32, lasti: bool) {
        self.regions.push(ExceptEntry {
            start,
            end,
            target,
            depth,
            lasti,
        });
    }

    /// Labels for the instructions of another body, to be jumped to before they are copied.
    pub fn import(&mut self, body: &Body) -> Import {
        let import = Import {
            base: self.labels.len() as u32,
            len: body.instrs.len() as u32,
        };
        self.labels
            .resize(self.labels.len() + body.instrs.len() + 1, None);
        import
    }

    /// Copies instructions of a body with their locations, original offsets and encoding (borrowed
    /// loads only with the whole of the code that they were found sound in), and the
    /// exception entries as far as they cover them. Jumps out of the range lead to the import's
    /// labels: copy the rest later, or [`BodyBuilder::bind`] those labels elsewhere. The label
    /// behind the range is bound only at the end of the body.
    ///
    /// # Panics
    /// If the range is beyond the body or the import is of another body.
    pub fn copy(&mut self, import: &Import, body: &Body, range: Range<u32>) {
        self.copy_range(import, body, range, true);
    }

    /// Copies the instructions that set up a frame, the first [`Body::entry_len`], without binding
    /// labels: jumps and handlers lead to the copy that is made with the same import. Returns the
    /// label behind them in that copy, where the body goes on.
    pub fn copy_entry(&mut self, import: &Import, body: &Body) -> Label {
        let len = body.entry_len();
        self.copy_range(import, body, 0..len, false);
        import.label(Label(len))
    }

    fn copy_range(&mut self, import: &Import, body: &Body, range: Range<u32>, bind: bool) {
        assert_eq!(
            import.len as usize,
            body.instrs.len(),
            "import of another body"
        );
        let at = |index: u32| Label(import.base + index);
        let mut regions = Vec::new();
        for entry in &body.handlers {
            let start = entry.start.0.max(range.start);
            let end = entry.end.0.min(range.end);
            if start < end {
                regions.push((start, end, entry));
            }
        }
        let first = self.instrs.len() as u32;
        for index in range.clone() {
            if bind {
                self.bind(at(index));
            }
            let mut instr = body.instrs[index as usize].clone();
            if range.len() < body.instrs.len() {
                // What comes instead of the rest may change the local.
                match instr.enc {
                    Enc::Borrow => instr.enc = Enc::Exact,
                    Enc::BorrowBoth => instr.enc = Enc::FuseNext,
                    _ => {}
                }
            }
            if let Some(to) = instr.op.target_mut() {
                *to = at(to.0);
            }
            self.instrs.push(instr);
        }
        if range.end == import.len {
            if bind {
                self.bind(at(range.end));
            }
        } else if let Some(last) = range.end.checked_sub(1).filter(|last| *last >= range.start) {
            // What was joined with an instruction that is not copied stands alone.
            let instr = &mut self.instrs[(first + last - range.start) as usize];
            if instr.enc == Enc::FuseNext {
                instr.enc = Enc::Exact;
            }
        }
        for (start, end, entry) in regions {
            let mut bound = |index: u32| {
                let label = self.new_label();
                self.labels[label.0 as usize] = Some(first + index - range.start);
                label
            };
            let (start, end) = (bound(start), bound(end));
            self.handler(start, end, at(entry.target.0), entry.depth, entry.lasti);
        }
    }

    /// Copies a whole body; returns its labels.
    pub fn copy_all(&mut self, body: &Body) -> Import {
        let import = self.import(body);
        self.copy(&import, body, 0..import.len);
        import
    }

    /// The body. Exception regions become a flat table.
    pub fn finish(mut self) -> Result<Body, BuildError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let place = |label: Label| {
            let place = self.labels.get(label.0 as usize).copied().flatten();
            place.map(Label).ok_or(BuildError::Unbound(label.0))
        };
        for instr in &mut self.instrs {
            if let Op::EndAsyncFor { from } = &mut instr.op {
                // Only refers to what may not have been copied.
                *from = from.and_then(|from| place(from).ok());
                continue;
            }
            if let Some(to) = instr.op.target_mut() {
                *to = place(*to)?;
            }
        }
        let mut regions = Vec::with_capacity(self.regions.len());
        for (i, region) in self.regions.iter().enumerate() {
            let (start, end) = (place(region.start)?, place(region.end)?);
            if end < start {
                return Err(BuildError::Backwards(i as u32));
            }
            let target = place(region.target)?;
            if start < end {
                regions.push((
                    i as u32,
                    ExceptEntry {
                        start,
                        end,
                        target,
                        ..*region
                    },
                ));
            }
        }
        let handlers = flatten(regions)?;
        Ok(Body {
            version: self.version,
            instrs: self.instrs,
            handlers,
        })
    }
}

/// Cuts nested regions into a flat table: at each instruction the innermost is in force.
fn flatten(mut regions: Vec<(u32, ExceptEntry)>) -> Result<Vec<ExceptEntry>, BuildError> {
    // Outer ones first. Of equal ones the one added last is the outer one.
    regions.sort_by(|(i, a), (j, b)| a.start.cmp(&b.start).then(b.end.cmp(&a.end)).then(j.cmp(i)));
    let mut flat: Vec<ExceptEntry> = Vec::with_capacity(regions.len());
    let mut open: Vec<(u32, ExceptEntry)> = Vec::new();
    // Up to here the table is written.
    let mut done = Label(0);
    let mut write = |entry: &ExceptEntry, from: Label, to: Label| {
        if from < to {
            flat.push(ExceptEntry {
                start: from,
                end: to,
                ..*entry
            });
        }
    };
    for (i, region) in regions {
        while let Some((_, outer)) = open.last().filter(|(_, outer)| outer.end <= region.start) {
            write(outer, done.max(outer.start), outer.end);
            done = done.max(outer.end);
            open.pop();
        }
        if let Some((j, outer)) = open.last() {
            if outer.end < region.end {
                return Err(BuildError::Crossing(*j, i));
            }
            write(outer, done.max(outer.start), region.start);
        }
        done = done.max(region.start);
        open.push((i, region));
    }
    while let Some((_, outer)) = open.pop() {
        write(&outer, done.max(outer.start), outer.end);
        done = done.max(outer.end);
    }
    Ok(flat)
}
