//! Ints that pure functions give of numbers that change: `int(x.shape[0] * ratio)`, `int(math.sqrt(n))`.
//!
//! Such an int is a value that is computed ([`Var::Computed`]) until an operation of tensors takes it. Then it is made
//! in front of the graph, by early calls, and is a dynamic int like any other.
//!
//! Invariant: guards compute it as well, so that whatever is asked about it can be checked in front of the call; a
//! relation about it is one of ints until the translation ends ([`Tx::compute_in_guards`]).

use std::rc::Rc;
use std::sync::Arc;

use guards::exec::constant;
use guards::{CallExpr, ConstVal, GuardKind, IntExpr, IntRelation, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use variables::{ComputedVar, EarlyArg, EarlyCall, EarlyKind, IntVar, Obj, Var};

use crate::stop::{R, Stop};
use crate::tx::Tx;

impl<'py> Tx<'py> {
    /// How guards compute what a source yields, where a pure function gives it in front of the graph.
    pub fn pure_call(&self, source: SourceId) -> Option<&Arc<CallExpr>> {
        let Source::Early { index } = self.facts.sources.get(source) else {
            return None;
        };
        match &self.st.effects.early.get(*index as usize)?.kind {
            EarlyKind::Pure(call) => Some(call),
            _ => None,
        }
    }

    /// Whether a computed value is an int that can be made in front of the graph. One that was not found to change is a
    /// constant.
    pub(crate) fn is_pure_int(&self, c: &ComputedVar) -> bool {
        let value = c.value.bind(self.py).cast_exact::<PyInt>();
        let fits = value.is_ok_and(|value| value.extract::<i64>().is_ok());
        fits && !c.is_first && self.ints.any() && !self.ints.specialize_int
    }

    /// A computed int as a dynamic one; `None` where nothing but its value can be taken.
    ///
    /// # Errors
    /// None are expected.
    pub(crate) fn pure_int(&mut self, c: &Rc<ComputedVar>) -> R<Option<Rc<IntVar>>> {
        if !self.is_pure_int(c) {
            return Ok(None);
        }
        let Some(call) = self.call_expr(&Var::Computed(c.clone()))? else {
            return Ok(None);
        };
        let sources = call.sources();
        if sources.is_empty() || sources.iter().any(|source| self.is_early(*source)) {
            return Ok(None);
        }
        let value = c.value.bind(self.py).extract::<i64>()?;
        self.int_of_call(&call, value)
    }

    /// What a pure function of C gives of a source's value, as a dynamic int; `value` is what it gives now.
    ///
    /// # Errors
    /// None are expected.
    pub fn int_of_source(
        &mut self,
        function: &Bound<'py, PyAny>,
        source: SourceId,
        value: i64,
    ) -> R<Option<Var>> {
        let call = self.called(function, vec![CallExpr::Source(source)]);
        Ok(self.int_of_call(&call, value)?.map(Var::Int))
    }

    fn int_of_call(&mut self, call: &CallExpr, value: i64) -> R<Option<Rc<IntVar>>> {
        let EarlyArg::Source(source) = self.early_value(call)? else {
            return Ok(None);
        };
        self.facts.int_values.insert(source, value);
        let expr = IntExpr::Source(source);
        // The code that makes it is behind the guards: where a function raises, one of them has failed.
        self.guard_relation(IntRelation::fits(&expr));
        Ok(Some(Rc::new(IntVar { expr, value })))
    }

    /// What a call's value is as an argument: made in front of the graph, once.
    fn early_value(&mut self, expr: &CallExpr) -> R<EarlyArg> {
        let (function, args) = match expr {
            CallExpr::Source(source) => return Ok(EarlyArg::Source(*source)),
            CallExpr::Const(value) => return Ok(EarlyArg::Const(self.constant_object(value)?)),
            CallExpr::Call(function, args) => (function, args),
        };
        let mut made = self.st.effects.early.iter();
        let is_same =
            |call: &Rc<EarlyCall>| matches!(&call.kind, EarlyKind::Pure(of) if **of == *expr);
        if let Some(index) = made.position(is_same) {
            let index = index as u32;
            return Ok(EarlyArg::Source(self.source(Source::Early { index })));
        }
        let mut pos = Vec::with_capacity(args.len());
        for arg in args.iter() {
            pos.push(self.early_value(arg)?);
        }
        let function = self.constant_object(&ConstVal::Obj(function.clone()))?;
        let made = self.add_early(EarlyCall {
            function,
            pos,
            kw: Vec::new(),
            kind: EarlyKind::Pure(Arc::new(expr.clone())),
        });
        Ok(EarlyArg::Source(made))
    }

    fn constant_object(&self, value: &ConstVal) -> R<Obj> {
        let gone = || Stop::Internal("a pinned function is gone".into());
        let mut pinned = |pin| self.facts.pins.get(self.py, pin).ok_or_else(gone);
        constant::object(self.py, value, &mut pinned).map(Bound::unbind)
    }

    /// Whether a guard computes what `c` is: it fails where the function raises.
    ///
    /// # Errors
    /// None are expected.
    pub fn guards_compute(&mut self, c: &Rc<ComputedVar>) -> R<bool> {
        let Some(part) = self.call_expr(&Var::Computed(c.clone()))? else {
            return Ok(false);
        };
        // Guards of what is made in front of the graph compute it only once the translation ends.
        let mut made = self.st.effects.early.iter();
        let is_made =
            made.any(|call| matches!(&call.kind, EarlyKind::Pure(call) if call.computes(&part)));
        let mut guards = self.log.guards.iter();
        Ok(is_made
            || guards.any(|guard| {
                matches!(&guard.kind, GuardKind::ComputedMatch { expr, .. } if expr.computes(&part))
            }))
    }

    /// Holds the code to values for which a function does not raise, where what it gives is not made: the function of
    /// an operator, which may not be run.
    ///
    /// # Errors
    /// Those of realizing what it is computed from, where no guard can compute it.
    pub fn guard_that_it_computes(&mut self, c: &Rc<ComputedVar>) -> R<()> {
        if self.guards_compute(c)? {
            return Ok(());
        }
        let Some(made) = self.call_expr(&Var::Computed(c.clone()))? else {
            return self.specialize_computed(c).map(drop);
        };
        let is_none = self.operator_call("is_", vec![made, CallExpr::Const(ConstVal::None)])?;
        self.guard_ambient(GuardKind::ComputedMatch {
            expr: Arc::new(is_none),
            value: ConstVal::Bool(false),
        });
        Ok(())
    }

    /// Has guards compute the ints that are made in front of the graph: nothing is made yet when they are checked. Says
    /// whether there were any.
    ///
    /// # Errors
    /// None are expected.
    pub fn compute_in_guards(&mut self) -> R<bool> {
        let is_pure = |call: &Rc<EarlyCall>| matches!(call.kind, EarlyKind::Pure(_));
        if !self.st.effects.early.iter().any(is_pure) {
            return Ok(false);
        }
        for at in 0..self.log.guards.len() {
            let GuardKind::ShapeEnv { relation } = &self.log.guards[at].kind else {
                continue;
            };
            let relation = relation.clone();
            if relation
                .sources()
                .iter()
                .any(|s| self.pure_call(*s).is_some())
            {
                self.log.guards[at].kind = self.computed_relation(&relation)?;
            }
        }
        Ok(true)
    }

    /// A relation as what functions of Python's `operator` say of it. They know no 64 bits.
    fn computed_relation(&mut self, relation: &IntRelation) -> R<GuardKind> {
        let left = self.int_calls(&relation.left)?;
        let expr = match relation.is_of_fitting() {
            true => {
                let abs = self.operator_call("abs", vec![left])?;
                let most = CallExpr::Const(ConstVal::Int(i64::MAX));
                self.operator_call("le", vec![abs, most])?
            }
            false => {
                let right = self.int_calls(&relation.right)?;
                self.operator_call(relation.op.function(), vec![left, right])?
            }
        };
        Ok(GuardKind::ComputedMatch {
            expr: Arc::new(expr),
            value: ConstVal::Bool(true),
        })
    }
}
