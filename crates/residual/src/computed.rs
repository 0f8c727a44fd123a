//! What pure functions give of values that are no constants, as bytecode: made in front of the graph.
//!
//! Nothing has happened there yet, so where such a function raises, the function of the program runs from its start
//! in eager mode and raises where eager does.
//!
//! Invariant: what is made here reads sources and earlier results, never what the code behind the graph keeps.

use std::ops::Range;
use std::rc::Rc;

use bytecode::op::{LocalIdx, Op};
use guards::{GuardKind, IntExpr, SourceId};
use rustc_hash::FxHashSet;
use translator::stop::{R, Stop};
use variables::{ComputedVar, FloatExpr, TextPart, Var};

use crate::emitter::Emitter;

impl Emitter<'_, '_> {
    /// `-- value` of what is computed.
    ///
    /// # Errors
    /// Those of guarding what it is computed from, in a step of an inlined frame.
    pub(crate) fn computed(&mut self, c: &Rc<ComputedVar>) -> R<()> {
        if self.is_held(c) {
            self.asm.load_const(&c.value);
            return Ok(());
        }
        // What the graph gives is there only behind it.
        if self.tx.follows_from_read(&Var::Computed(c.clone())) {
            return self.compute(c);
        }
        if self.in_step {
            self.tx.specialize_computed(c)?;
            self.asm.load_const(&c.value);
            return Ok(());
        }
        let local = self.computed_local(c);
        self.asm.load_fast(local);
        Ok(())
    }

    /// Whether all that a value is computed from is guarded to be what it is in this call, because something looked
    /// at it: then the value is a constant, and nothing is computed.
    pub(crate) fn is_held(&mut self, c: &ComputedVar) -> bool {
        let (known, sources) = &mut self.held;
        let guards = self.tx.guards();
        for guard in guards.get(*known..).unwrap_or_default() {
            if let (Some(source), GuardKind::EqualsMatch { .. }) = (guard.source, &guard.kind) {
                sources.insert(source);
            }
        }
        *known = guards.len();
        c.args.iter().all(|arg| holds(sources, arg))
    }

    /// The local of what is computed in front of the graph.
    pub(crate) fn computed_local(&mut self, c: &Rc<ComputedVar>) -> LocalIdx {
        if let Some((_, local)) = self.computed.iter().find(|known| Rc::ptr_eq(&known.0, c)) {
            return *local;
        }
        for arg in &c.args {
            self.register_parts(arg);
        }
        let local = self.asm.tmp("___computed");
        self.computed.push((c.clone(), local));
        local
    }

    /// Has what a value is computed from made in front of the graph.
    pub(crate) fn register_parts(&mut self, v: &Var) {
        match v {
            Var::Computed(_) if self.tx.follows_from_read(v) => {}
            Var::Computed(c) => drop(self.computed_local(c)),
            Var::Int(i) => {
                for leaf in i.expr.leaves() {
                    if matches!(leaf, IntExpr::Dim(..)) {
                        self.dim_local(&leaf);
                    }
                }
            }
            Var::Float(f) => self.register_float(&f.expr),
            Var::Tuple(t) => t.items.iter().for_each(|v| self.register_parts(v)),
            Var::Text(t) => t.values().for_each(|v| self.register_parts(v)),
            _ => {}
        }
    }

    /// Has what a float is computed from made in front of the graph.
    pub(crate) fn register_float(&mut self, expr: &FloatExpr) {
        expr.for_each_leaf(&mut |leaf| {
            if let FloatExpr::Computed(c) = leaf {
                self.computed_local(c);
            }
        });
    }

    /// Has what may raise for other values made in front of the graph even where nothing uses it, so that it raises. What a
    /// guard computes is left out: there the guard fails.
    ///
    /// # Errors
    /// None are expected.
    pub(crate) fn register_raising(&mut self) -> R<()> {
        for c in self.tx.state().effects.may_raise.clone() {
            if !self.is_held(&c) && !self.tx.guards_compute(&c)? {
                self.register_parts(&Var::Computed(c));
            }
        }
        Ok(())
    }

    /// Whether one of the functions may raise.
    pub(crate) fn computing_may_raise(&self) -> bool {
        self.computed.iter().any(|(c, _)| c.may_raise)
    }

    /// Makes all of it; gives the instructions that do.
    ///
    /// # Errors
    /// As [`Emitter::load_source`].
    pub(crate) fn make_computed(&mut self) -> R<Range<u32>> {
        let start = self.asm.body.len();
        for (c, local) in self.computed.clone() {
            self.compute(&c)?;
            self.asm.store_fast(local);
        }
        Ok(start..self.asm.body.len())
    }

    /// `-- value`, by calling the function.
    fn compute(&mut self, c: &ComputedVar) -> R<()> {
        self.asm.callee(&c.function);
        for arg in &c.args {
            self.part(arg)?;
        }
        self.asm.call(c.args.len() as u32);
        Ok(())
    }

    /// `-- value` of what something is computed from.
    fn part(&mut self, v: &Var) -> R<()> {
        match v {
            Var::Const(o) => self.asm.load_const(o),
            Var::Lazy(l) => self.load_source(l.source)?,
            Var::Int(i) => self.int(&i.expr)?,
            Var::Float(f) => self.float(&f.expr)?,
            Var::Computed(c) => self.computed(c)?,
            Var::Tuple(t) => {
                for item in &t.items {
                    self.part(item)?;
                }
                self.asm.op(Op::BuildTuple(t.items.len() as u32));
            }
            Var::Text(t) => {
                for part in &t.parts {
                    match part {
                        TextPart::Known(o) => self.asm.load_const(o),
                        TextPart::Value(v) => self.part(v)?,
                        TextPart::Tensor { .. } => return Err(not_computed()),
                    }
                }
                self.asm.op(Op::BuildString(t.parts.len() as u32));
            }
            _ => return Err(not_computed()),
        }
        Ok(())
    }
}

/// Whether a value is computed from these sources and constants alone.
fn holds(sources: &FxHashSet<SourceId>, v: &Var) -> bool {
    match v {
        Var::Const(_) => true,
        Var::Lazy(l) => sources.contains(&l.source),
        Var::Int(i) => i
            .expr
            .leaves()
            .iter()
            .all(|leaf| matches!(leaf, IntExpr::Source(source) if sources.contains(source))),
        Var::Float(f) => {
            let mut held = true;
            f.expr.for_each_leaf(&mut |leaf| match leaf {
                FloatExpr::Source(source) => held &= sources.contains(source),
                FloatExpr::Computed(c) => held &= c.args.iter().all(|arg| holds(sources, arg)),
                _ => {}
            });
            held
        }
        Var::Computed(c) => c.args.iter().all(|arg| holds(sources, arg)),
        Var::Tuple(t) => t.items.iter().all(|v| holds(sources, v)),
        Var::Text(t) => !t.shows_tensor() && t.values().all(|v| holds(sources, v)),
        _ => false,
    }
}

fn not_computed() -> Stop {
    Stop::Internal("something is computed from what is not known in front of the graph".into())
}
