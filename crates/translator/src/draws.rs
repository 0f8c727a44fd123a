//! Random numbers of Python's own generators.
//!
//! A draw is made by the residual code before the graph runs, so its value is not known while translating:
//! it is a dynamic float or int whose source is [`Source::Drawn`], and the graph gets it as an input. Rules
//! that know such numbers compute with them; all others ask for the value, by a guard. That guard can never
//! be checked, so the instruction that asked for it breaks the graph instead, and finds the number drawn.
//!
//! Invariant: the generators are asked in the program's order, for what the program asks them, once.

use std::rc::Rc;

use guards::{GuardKind, IntBinary, IntExpr, IntUnary, Source, SourceId};
use pyo3::types::PyFloat;
use variables::{Draw, FloatVar, IntVar, Var};

use crate::stop::Stop;
use crate::tx::Tx;

/// The break of an instruction that needs the value of a number that is not drawn yet.
pub(crate) fn value_needed() -> Stop {
    Stop::brk(
        "Random number whose value is needed",
        "The number is drawn when the compiled code runs, so nothing can be decided by its value while tracing.",
        "Draw the number outside of the compiled function, or use it in arithmetic with tensors only.",
    )
}

impl Tx<'_> {
    /// Whether the graph may have numbers that are drawn as inputs.
    pub(crate) fn can_draw(&self) -> bool {
        self.ints.as_inputs
    }

    /// Has the residual code draw a float.
    pub(crate) fn draw_float(&mut self, draw: Draw) -> Var {
        // Any number: what depends on it is not captured.
        let value = 0.5_f64;
        let source = self.add_draw(draw);
        self.float_values.insert(source, value.to_bits());
        let object = PyFloat::new(self.py, value).into_any().unbind();
        Var::Float(Rc::new(FloatVar::existing(source, value, object)))
    }

    /// Has the residual code draw an int between the ends of a range, both included.
    pub(crate) fn draw_int(&mut self, draw: Draw, range: (i64, i64)) -> Var {
        let draw = Draw {
            range: Some(range),
            ..draw
        };
        let source = self.add_draw(draw);
        self.int_values.insert(source, range.0);
        Var::Int(Rc::new(IntVar {
            expr: IntExpr::Source(source),
            value: range.0,
        }))
    }

    fn add_draw(&mut self, draw: Draw) -> SourceId {
        let draws = &mut self.st.effects.draws;
        draws.push_back(Rc::new(draw));
        let index = draws.len() as u32 - 1;
        self.source(Source::Drawn { index })
    }

    /// Whether a guard is about a number that is drawn.
    pub(crate) fn is_about_draws(&self, source: Option<SourceId>, kind: &GuardKind) -> bool {
        let is_drawn = |s: SourceId| matches!(self.sources.get(s), Source::Drawn { .. });
        if self.st.effects.draws.is_empty() {
            return false;
        }
        match kind {
            GuardKind::ShapeEnv { relation } => relation.sources().into_iter().any(is_drawn),
            _ => source.is_some_and(is_drawn),
        }
    }

    /// Whether the instruction asked for the value of a number that is not drawn yet; asking again says no.
    pub(crate) fn takes_drawn_value(&mut self) -> bool {
        let asked = self.drawn_guard.take();
        // What was tried and given up is not asked for any more.
        asked.is_some_and(|at| at < self.guards.len())
    }

    /// Whether an expression over numbers that are drawn fits 64 bits, whatever they are.
    pub(crate) fn drawn_fits(&self, expr: &IntExpr) -> bool {
        let fits = |n: i128| i64::try_from(n).is_ok();
        self.drawn_range(expr)
            .is_some_and(|(low, high)| fits(low) && fits(high))
    }

    /// Between what numbers an expression over numbers that are drawn is.
    fn drawn_range(&self, expr: &IntExpr) -> Option<(i128, i128)> {
        match expr {
            IntExpr::Const(n) => Some((i128::from(*n), i128::from(*n))),
            IntExpr::Source(source) => {
                let Source::Drawn { index } = self.sources.get(*source) else {
                    return None;
                };
                let (low, high) = self.st.effects.draws.get(*index as usize)?.range?;
                Some((low.into(), high.into()))
            }
            IntExpr::Unary(IntUnary::Negative, x) => {
                let (low, high) = self.drawn_range(x)?;
                Some((high.checked_neg()?, low.checked_neg()?))
            }
            IntExpr::Binary(op, ab) => {
                let (a, b) = (self.drawn_range(&ab.0)?, self.drawn_range(&ab.1)?);
                let of = |x: i128, y: i128| match op {
                    IntBinary::Add => x.checked_add(y),
                    IntBinary::Subtract => x.checked_sub(y),
                    IntBinary::Multiply => x.checked_mul(y),
                    _ => None,
                };
                // Each of these takes its extremes where both operands do.
                let ends = [of(a.0, b.0)?, of(a.0, b.1)?, of(a.1, b.0)?, of(a.1, b.1)?];
                Some((*ends.iter().min()?, *ends.iter().max()?))
            }
            IntExpr::Unary(..) | IntExpr::Dim(..) => None,
        }
    }
}
