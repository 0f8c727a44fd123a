//! Python text of a [`Body`], for people: what residual code does, at a glance.
//!
//! Straight code, branches, `for` loops and handlers come out as statements. A body whose jumps do not nest comes out
//! as labelled blocks with `goto`. Values on the stack are expressions until something would come between; then they
//! get a name (`_1`). What Python has no words for is a call in angle brackets: `<LoadSpecial Enter>(x)`.
//!
//! Does not live here: statements and expressions (`stack`). Invariant: the order of what can be observed is that of
//! the code.

mod stack;

use crate::body::Body;
use crate::disasm::Names;
use crate::op::{JumpCond, Label, LocalIdx, Op};

use stack::{Stack, Value};

/// The body as Python statements, indented by four spaces below whatever line the caller puts above.
pub fn decompile(body: &Body, names: &Names<'_>) -> String {
    let nested = Decompiler::new(body, names).nested();
    let lines = nested.unwrap_or_else(|| Decompiler::new(body, names).labelled());
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// How much longer than the code its text may get.
const MOST_COPIES: usize = 4;

/// Where control goes at the end of a piece of code, and with what on the stack.
enum Leaves {
    /// Nowhere: it returned or raised.
    Ended,
    To(usize, Vec<Value>),
}

/// Jumps do not nest.
struct Tangled;

type Nested<T> = Result<T, Tangled>;

struct Decompiler<'a> {
    body: &'a Body,
    /// For each instruction the exception entry that covers it.
    handlers: Vec<Option<u32>>,
    /// For each instruction whether something jumps there.
    targets: Vec<bool>,
    /// Entries whose `try` was written.
    open: Vec<u32>,
    /// How many instructions may still be written. Code that two handlers lead to is written twice.
    budget: usize,
    stack: Stack<'a>,
}

impl<'a> Decompiler<'a> {
    fn new(body: &'a Body, names: &'a Names<'a>) -> Self {
        Decompiler {
            body,
            handlers: body.handler_map(),
            targets: body.targets(),
            open: Vec::new(),
            budget: body.instrs.len() * MOST_COPIES,
            stack: Stack::new(body.version, names),
        }
    }

    fn nested(mut self) -> Option<Vec<String>> {
        let leaves = self.run(0, self.body.instrs.len()).ok()?;
        matches!(leaves, Leaves::Ended).then(|| self.stack.into_lines())
    }

    /// From `at` to `until`, with the stack as it is.
    fn run(&mut self, mut at: usize, until: usize) -> Nested<Leaves> {
        while at < until {
            self.budget = self.budget.checked_sub(1).ok_or(Tangled)?;
            if let Some(entry) = self.handlers[at].filter(|entry| !self.open.contains(entry)) {
                at = match self.guarded(entry, at)? {
                    Leaves::Ended => return Ok(Leaves::Ended),
                    Leaves::To(next, values) if next >= at && next <= until => {
                        self.stack.set(values);
                        next
                    }
                    leaves => return Ok(leaves),
                };
                continue;
            }
            match self.body.instrs[at].op {
                Op::Jump { to, .. } => {
                    let to = to.0 as usize;
                    if to <= at || to >= until {
                        return Ok(Leaves::To(to, self.stack.take()));
                    }
                    at = to;
                }
                // A `try` ends with the question, which is answered inside it.
                Op::PopJump { to, .. } if at + 1 == until && to.0 as usize > until => {
                    self.stack.answer();
                    return Ok(Leaves::To(at, self.stack.take()));
                }
                Op::PopJump { cond, to } => {
                    let condition = self.stack.condition(cond);
                    at = match self.branch(&condition, at + 1, to, until)? {
                        Leaves::To(next, values) if (at..=until).contains(&next) => {
                            self.stack.set(values);
                            next
                        }
                        leaves => return Ok(leaves),
                    };
                }
                Op::ForIter { to } => at = self.loops(at, to, until)?,
                ref op if op.target().is_some() => return Err(Tangled),
                ref op => {
                    let next = self.apply(at);
                    if !op.falls_through() {
                        return Ok(Leaves::Ended);
                    }
                    at = next;
                }
            }
        }
        Ok(Leaves::To(at, self.stack.take()))
    }

    /// The instruction at `at`, which does not jump, and where the next one is.
    fn apply(&mut self, at: usize) -> usize {
        let op = &self.body.instrs[at].op;
        if let Op::UnpackSequence(count) = *op
            && let Some(locals) = self.stores(at + 1, count as usize)
        {
            self.stack.unpack_into(&locals);
            return at + 1 + locals.len();
        }
        self.stack.apply(op);
        at + 1
    }

    /// `if condition:`, what follows up to `to`, and what is there.
    fn branch(&mut self, condition: &str, at: usize, to: Label, until: usize) -> Nested<Leaves> {
        let to = to.0 as usize;
        if to < at || to > until {
            return Err(Tangled);
        }
        // What the branches do is not to come between the making of a value and its use.
        self.stack.name_all();
        let before = self.stack.values();
        self.stack.line(&format!("if {condition}:"));
        let (first, first_lines) = self.indented(|this| this.run(at, to))?;
        self.stack.set(before.clone());
        match first {
            Leaves::Ended => {
                self.stack.add(first_lines);
                Ok(Leaves::To(to, before))
            }
            Leaves::To(next, values) if next == to => {
                self.join(next, (values, first_lines), "else:", (before, Vec::new()))
            }
            Leaves::To(next, values) if next > to && next <= until => {
                let (second, lines) = self.indented(|this| this.run(to, next))?;
                match second {
                    Leaves::Ended => {
                        self.stack.add(first_lines);
                        self.stack.line("else:");
                        self.stack.add(lines);
                        Ok(Leaves::To(next, values))
                    }
                    Leaves::To(end, others) if end == next => {
                        self.join(next, (values, first_lines), "else:", (others, lines))
                    }
                    Leaves::To(..) => Err(Tangled),
                }
            }
            Leaves::To(..) => Err(Tangled),
        }
    }

    /// Two blocks, with `between` between them, that both go on at `next`.
    fn join(
        &mut self,
        next: usize,
        (values, mut lines): (Vec<Value>, Vec<String>),
        between: &str,
        (others, mut other_lines): (Vec<Value>, Vec<String>),
    ) -> Nested<Leaves> {
        let (first, second) = ((&*values, &mut lines), (&*others, &mut other_lines));
        let merged = self.stack.merge(first, second).ok_or(Tangled)?;
        self.stack.add(lines);
        if !other_lines.is_empty() {
            self.stack.line(between);
            self.stack.add(other_lines);
        }
        Ok(Leaves::To(next, merged))
    }

    /// The locals of as many stores in a row, if nothing jumps between them.
    fn stores(&self, at: usize, count: usize) -> Option<Vec<LocalIdx>> {
        let found = self.body.instrs.get(at..at + count)?;
        let handler = self.handlers[at.checked_sub(1)?];
        let locals = found.iter().zip(at..).map(|(instr, at)| match instr.op {
            Op::StoreFast(local) if !self.targets[at] && self.handlers[at] == handler => {
                Some(local)
            }
            _ => None,
        });
        locals.collect()
    }

    /// A `for` loop whose iterator is on the stack; where it goes on.
    fn loops(&mut self, at: usize, to: Label, until: usize) -> Nested<usize> {
        let to = to.0 as usize;
        let behind = to + self.body.version.loop_end().len();
        if to <= at || behind > until {
            return Err(Tangled);
        }
        self.stack.name_all();
        let into = self.stores(at + 1, 1);
        let (iterator, target) = self.stack.begin_loop(into.map(|locals| locals[0]));
        let inside = self.stack.values();
        self.stack.line(&format!("for {target} in {iterator}:"));
        let (end, lines) = self.indented(|this| this.run(at + 1, to))?;
        self.stack.add(lines);
        match end {
            Leaves::To(next, values) if next == at && values.len() + 1 == inside.len() => {}
            Leaves::Ended => {}
            Leaves::To(..) => return Err(Tangled),
        }
        self.stack.set(inside);
        self.stack.end_loop();
        Ok(behind)
    }

    /// `try:`, what an exception entry covers from `at` on, and its handler.
    fn guarded(&mut self, entry: u32, at: usize) -> Nested<Leaves> {
        let found = self.body.handlers[entry as usize];
        self.stack.name_all();
        let below = self.stack.values();
        if found.depth as usize > below.len() {
            return Err(Tangled);
        }
        self.open.push(entry);
        self.stack.line("try:");
        let (end, lines) = self.indented(|this| {
            let Leaves::To(next, values) = this.run(at, found.end.0 as usize)? else {
                return Ok(Leaves::Ended);
            };
            // What may raise does so inside.
            this.stack.set(values);
            this.stack.name_all();
            Ok(Leaves::To(next, this.stack.take()))
        })?;
        let except = "except BaseException as exception:";
        let mut kept = below;
        kept.truncate(found.depth as usize);
        self.stack.set(kept);
        self.stack.begin_handler(found.lasti);
        let handler = found.target.0 as usize;
        let all = self.body.instrs.len();
        let (handled, handler_lines) = self.indented(|this| this.run(handler, all))?;
        match (end, handled) {
            (Leaves::To(a, values), Leaves::To(b, others)) if a == b => {
                self.join(a, (values, lines), except, (others, handler_lines))
            }
            (Leaves::To(..), Leaves::To(..)) => Err(Tangled),
            (end, handled) => {
                self.stack.add(lines);
                self.stack.line(except);
                self.stack.add(handler_lines);
                Ok(match end {
                    Leaves::Ended => handled,
                    end => end,
                })
            }
        }
    }

    /// Does something whose lines are one level deeper.
    fn indented(
        &mut self,
        act: impl FnOnce(&mut Self) -> Nested<Leaves>,
    ) -> Nested<(Leaves, Vec<String>)> {
        let above = self.stack.begin_block();
        let leaves = act(self)?;
        if let Leaves::To(_, values) = &leaves {
            self.stack.set(values.clone());
        }
        let lines = self.stack.end_block(above);
        Ok((leaves, lines))
    }

    /// Block by block; what is on the stack between two is in variables by depth.
    fn labelled(mut self) -> Vec<String> {
        let depths = crate::depth::stack_depths(self.body).unwrap_or_default();
        let mut next = 0;
        for (at, instr) in self.body.instrs.iter().enumerate() {
            // A part of what came before.
            if at < next {
                continue;
            }
            next = at + 1;
            let depth = depths.get(at).copied().flatten();
            if self.targets[at] {
                self.stack.spill();
                self.stack.line(&format!("# {at}:"));
            }
            if let Some(depth) = depth
                && (self.targets[at] || self.stack.len() != depth as usize)
            {
                self.stack.by_depth(depth as usize);
            }
            let before = at.checked_sub(1).and_then(|before| self.handlers[before]);
            if let Some(entry) = self.handlers[at].filter(|&entry| Some(entry) != before) {
                let entry = self.body.handlers[entry as usize];
                let (end, target) = (entry.end.0, entry.target.0);
                self.stack
                    .line(&format!("# exceptions up to {end} go to {target}"));
            }
            match instr.op {
                Op::Jump { to, .. } => {
                    self.stack.spill();
                    self.stack.line(&format!("goto {}", to.0));
                }
                Op::PopJump { cond, to } => {
                    // The condition is the one for not jumping.
                    let condition = self.stack.condition(opposite(cond));
                    self.stack.spill();
                    self.stack.line(&format!("if {condition}: goto {}", to.0));
                }
                ref op => {
                    if op.target().is_some() {
                        self.stack.spill();
                    }
                    next = self.apply(at);
                }
            }
        }
        self.stack.into_lines()
    }
}

fn opposite(cond: JumpCond) -> JumpCond {
    match cond {
        JumpCond::False => JumpCond::True,
        JumpCond::True => JumpCond::False,
        JumpCond::None => JumpCond::NotNone,
        JumpCond::NotNone => JumpCond::None,
    }
}
