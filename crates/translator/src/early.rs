//! Calls that the residual code makes before the graph runs, whose results the graph gets: random numbers of
//! Python's own generators, tensors on the memory of NumPy's arrays, such arrays.
//!
//! What such a call gives has the source [`Source::Early`]. A random number is not known while translating: it is
//! a dynamic float or int. Rules that know such numbers compute with them; all others ask for the value, by a
//! guard. That guard can never be checked, so the instruction that asked for it breaks the graph instead, and
//! finds the number drawn.
//!
//! Invariants: generators are asked in the program's order, for what the program asks them, once; nothing that an
//! early call reads is changed by the program in front of it.

use std::rc::Rc;

use guards::{GuardKind, IntBinary, IntCompare, IntExpr, IntUnary, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::PyFloat;
use rustc_hash::FxHashSet;
use variables::{Body, EarlyCall, EarlyKind, FloatVar, IntVar, ObjId, ReadNumber, Var};

use crate::raw::derives_from;
use crate::retreat::Sooner;
use crate::stop::{R, Stop};
use crate::tx::{Flow, Tx};

/// The break of an instruction that needs to look at what is not made yet.
pub(crate) fn value_needed() -> Stop {
    Stop::brk(
        "Value that is made when the compiled code runs is needed",
        "A number that is read from a tensor or drawn at random, and an array that is made, are known only when the compiled code runs: nothing can be decided by them while tracing.",
        "Use it in operations of tensors only (`torch.where` in place of a branch), or make it outside of the compiled function.",
    )
}

impl Tx<'_> {
    /// The NumPy array that a value is, or the number of NumPy's that the graph has as a tensor. Arrays of subclasses
    /// have rules of their own.
    pub fn array_id(&self, v: &Var) -> Option<ObjId> {
        let Var::Obj(id) = v else { return None };
        let state = self.obj(*id);
        let is_array = match state.body {
            Body::Array(_) => true,
            Body::Plain => self.known.is_exact_ndarray(&state.class) && !state.is_dirty(),
            _ => false,
        };
        is_array.then_some(*id)
    }

    /// Whether the graph may have what is made early as inputs.
    pub fn can_make_early(&self) -> bool {
        self.runs_as_is && self.ints.floats_as_inputs
    }

    /// An operator of a tensor and one of NumPy's numbers from outside, as [`Tx::with_numpy_numbers`].
    ///
    /// # Errors
    /// Those of the operation, but for breaks.
    pub(crate) fn beside_tensor(
        &mut self,
        a: &Var,
        b: &Var,
        make: impl FnOnce(&mut Self, &Var, &Var) -> R<Flow>,
    ) -> R<Option<Flow>> {
        if !self.has_numpy_number([a, b]) {
            return Ok(None);
        }
        match self.is_tensor(a) != self.is_tensor(b) {
            true => self.with_numpy_numbers(&[a, b], self.rules.arrays.read_number, |tx, args| {
                make(tx, &args[0], &args[1])
            }),
            false => Ok(None),
        }
    }

    /// Whether a value is a tensor, without a look at it.
    pub fn is_tensor(&self, v: &Var) -> bool {
        match v {
            Var::Lazy(l) => derives_from(l.obj.bind(self.py), self.known.tensor.bind(self.py)),
            v => matches!(v, Var::Tensor(_)),
        }
    }

    /// An operator of which one operand is an array, by the name of its special method; otherwise both operands, looked
    /// at.
    pub(crate) fn array_operator(
        &mut self,
        name: &str,
        a: &Var,
        b: &Var,
    ) -> R<Result<Flow, (Var, Var)>> {
        let mut operands = [a.clone(), b.clone()];
        for numbers in [false, true] {
            for v in &mut operands {
                if numbers || !self.has_numpy_number([&*v]) {
                    *v = self.look(v)?;
                }
            }
            if operands.iter().any(|v| self.array_id(v).is_some()) {
                let [a, b] = &operands;
                if let Some(flow) = (self.rules.arrays.operator)(self, name, &[a, b])? {
                    return Ok(Ok(flow));
                }
            }
        }
        let [a, b] = operands;
        let constant = |v: &Var| {
            matches!(v, Var::Const(o)
            if self.known.is_numpy_scalar(o.bind(self.py).get_type().as_any()))
        };
        // NumPy's number and a dynamic int make a number that changes: the graph has it, where it can.
        let of_int = |a: &Var, b: &Var| matches!(a, Var::Int(_)) && constant(b);
        if !self.ints.specialize_numpy && (of_int(&a, &b) || of_int(&b, &a)) {
            let before = self.snapshot();
            match (self.rules.arrays.operator)(self, name, &[&a, &b]) {
                Ok(Some(flow)) => {
                    self.ints.has_changing_numpy = true;
                    return Ok(Ok(flow));
                }
                Ok(None) => {}
                Err(Stop::Break(_)) => self.restore(&before),
                Err(stop) => return Err(stop),
            }
        }
        Ok(Err((a, b)))
    }

    /// The float that a number of NumPy's was made of.
    pub fn float_of_number(&self, v: &Var) -> Option<Rc<FloatVar>> {
        match &self.obj(self.array_id(v)?).body {
            Body::Array(body) => body.float.clone(),
            _ => None,
        }
    }

    /// Whether one of NumPy's numbers from outside, or one of a float, is among values, which nothing has looked at yet.
    pub fn has_numpy_number<'a>(&self, values: impl IntoIterator<Item = &'a Var>) -> bool {
        values.into_iter().any(|v| match v {
            Var::Lazy(l) => (self.known).is_numpy_scalar(l.obj.bind(self.py).get_type().as_any()),
            v => self.float_of_number(v).is_some(),
        })
    }

    /// Whether a value is one of NumPy's numbers, from outside or of the graph.
    pub fn is_numpy_number(&self, v: &Var) -> bool {
        match self.array_id(v) {
            Some(id) => !self.known.is_exact_ndarray(&self.obj(id).class),
            None => self.has_numpy_number([v]),
        }
    }

    /// Whether a value is one of NumPy's numbers, or a tuple or list with one.
    pub fn holds_numpy_number(&self, v: &Var) -> bool {
        match v {
            Var::Tuple(t) => t.items.iter().any(|v| self.is_numpy_number(v)),
            Var::Obj(id) => match &self.obj(*id).body {
                Body::List(items) => items.iter().any(|v| self.is_numpy_number(v)),
                _ => self.is_numpy_number(v),
            },
            v => self.is_numpy_number(v),
        }
    }

    /// Makes an operation that takes NumPy's numbers as `convert` has them in the graph. `None` where they
    /// are constants, or it needs their values.
    ///
    /// # Errors
    /// Those of the operation, but for breaks.
    pub fn with_numpy_numbers<T>(
        &mut self,
        args: &[&Var],
        convert: fn(&mut Self, &Var) -> R<Option<Var>>,
        make: impl FnOnce(&mut Self, &[Var]) -> R<T>,
    ) -> R<Option<T>> {
        let before = self.snapshot();
        let mut changed = false;
        let mut read: Vec<Var> = args.iter().map(|v| (*v).clone()).collect();
        for v in &mut read {
            if self.holds_numpy_number(v)
                && let Some(number) = convert(self, v)?
            {
                *v = number;
                changed = true;
            }
        }
        match changed.then(|| make(self, &read)) {
            Some(Ok(made)) if self.log.early_guard.is_none() => Ok(Some(made)),
            Some(Err(stop)) if !matches!(stop, Stop::Break(_)) => Err(stop),
            _ => {
                self.restore(&before);
                Ok(None)
            }
        }
    }

    /// A float that a call gives.
    pub fn early_float(&mut self, call: EarlyCall) -> Var {
        // Any number: what depends on it is not captured.
        let value = 0.5_f64;
        let source = self.add_early(call);
        self.facts.float_values.insert(source, value.to_bits());
        let object = PyFloat::new(self.py, value).into_any().unbind();
        Var::Float(Rc::new(FloatVar::existing(source, value, object)))
    }

    /// An int that a call gives; `value` is one that it can be.
    pub fn early_int(&mut self, call: EarlyCall, value: i64) -> Var {
        let source = self.add_early(call);
        self.facts.int_values.insert(source, value);
        Var::Int(Rc::new(IntVar {
            expr: IntExpr::Source(source),
            value,
        }))
    }

    /// Has the residual code make a call before the graph; gives the source of its result.
    pub fn add_early(&mut self, call: EarlyCall) -> SourceId {
        let is_read = matches!(call.kind, EarlyKind::Read(_));
        let early = &mut self.st.effects.early;
        early.push_back(Rc::new(call));
        let index = early.len() as u32 - 1;
        let source = self.source(Source::Early { index });
        // Another call may have had this source, and was given up.
        match self.ways.place().filter(|_| is_read) {
            Some(place) => self.ways.reads.insert(source, place),
            None => self.ways.reads.remove(&source),
        };
        source
    }

    /// Whether a source is the result of an early call.
    pub fn is_early(&self, source: SourceId) -> bool {
        matches!(
            self.facts.sources.get(self.facts.sources.root(source)),
            Source::Early { .. }
        )
    }

    /// What a source is in the graph, where it is a number that the graph reads from a tensor.
    pub fn read_number(&self, source: SourceId) -> Option<ReadNumber> {
        let Source::Early { index } = self.facts.sources.get(source) else {
            return None;
        };
        match self.st.effects.early.get(*index as usize)?.kind {
            EarlyKind::Read(read) => Some(read),
            _ => None,
        }
    }

    /// Whether a guard is about what is made early.
    pub(crate) fn is_about_early(&self, source: Option<SourceId>, kind: &GuardKind) -> bool {
        if self.st.effects.early.is_empty() {
            return false;
        }
        match kind {
            GuardKind::ShapeEnv { .. } | GuardKind::ComputedMatch { .. } => kind
                .other_sources()
                .iter()
                .any(|s| self.is_early(*s) && self.pure_call(*s).is_none()),
            _ => source.is_some_and(|s| self.is_early(s)),
        }
    }

    /// The break of an instruction that asked for what is not made yet; asking again gives none.
    pub(crate) fn takes_early_value(&mut self) -> Option<Stop> {
        let at = self.log.early_guard.take()?;
        let sources = self.log.guards.get(at).map(|guard| {
            let others = guard.kind.other_sources();
            guard
                .source
                .iter()
                .chain(&*others)
                .copied()
                .collect::<Vec<_>>()
        });
        Some(self.value_needed_of(&sources.unwrap_or_default()))
    }

    /// Whether the graph does nothing but read numbers from tensors.
    pub(crate) fn only_reads(&self) -> bool {
        let mut reads = FxHashSet::default();
        for call in &self.st.effects.early {
            if let EarlyKind::Read(read) = call.kind {
                reads.extend([read.node].into_iter().chain(read.tensor));
            }
        }
        self.log.graph.is_only_for(reads)
    }

    /// The break where what is computed from `sources` is needed.
    pub(crate) fn value_needed_of(&self, sources: &[SourceId]) -> Stop {
        let mut read = sources.iter().copied();
        let read = read.find(|source| self.read_number(*source).is_some());
        value_needed().or_sooner(read.map(Sooner::Read))
    }

    /// Whether an expression over numbers that are drawn fits 64 bits, whatever they are.
    pub(crate) fn drawn_fits(&self, expr: &IntExpr) -> bool {
        let fits = |n: i128| i64::try_from(n).is_ok();
        self.drawn_range(expr)
            .is_some_and(|(low, high)| fits(low) && fits(high))
    }

    /// What a comparison of expressions over numbers that are drawn says, where it says the same whatever they are.
    pub(crate) fn drawn_compare(&self, op: IntCompare, a: &IntExpr, b: &IntExpr) -> Option<bool> {
        let (a, b) = (self.drawn_range(a)?, self.drawn_range(b)?);
        let is_apart = a.1 < b.0 || b.1 < a.0;
        let holds = op.holds(&a.0, &b.1);
        match op {
            IntCompare::Eq | IntCompare::Ne => is_apart.then_some(op == IntCompare::Ne),
            _ => (holds == op.holds(&a.1, &b.0)).then_some(holds),
        }
    }

    /// Between what numbers an expression over numbers that are drawn is.
    fn drawn_range(&self, expr: &IntExpr) -> Option<(i128, i128)> {
        match expr {
            IntExpr::Const(n) => Some((i128::from(*n), i128::from(*n))),
            IntExpr::Source(source) => {
                let Source::Early { index } = self.facts.sources.get(*source) else {
                    return None;
                };
                let call = self.st.effects.early.get(*index as usize)?;
                let range = match call.kind {
                    EarlyKind::Draw(range) => range,
                    EarlyKind::Read(read) => read.range,
                    EarlyKind::DrawOfNumpy | EarlyKind::Make | EarlyKind::Pure(_) => None,
                };
                range.map(|(low, high)| (low.into(), high.into()))
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
                    IntBinary::Max => Some(x.max(y)),
                    IntBinary::Min => Some(x.min(y)),
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
