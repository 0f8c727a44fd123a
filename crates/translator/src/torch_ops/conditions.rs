//! Conditions over numbers that the graph reads from its tensors: `n >= 0` of an `x.item()`.
//!
//! Nothing is decided by such a condition while tracing. It may be checked in the graph (`torch._check`), and what comes
//! behind relies on it; a branch on it breaks the graph at the branch.

use std::rc::Rc;

use bytecode::op::CompareOp;
use fx_graph::{Arg, NodeId};
use guards::{GuardKind, IntCompare, IntExpr, IntRelation};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use tensor_meta::Fact;
use variables::{ComputedVar, Var};

use crate::early::value_needed;
use crate::state::Snapshot;
use crate::stop::R;
use crate::tx::Tx;
use crate::values::symbolic::int_compare_of;

impl Tx<'_> {
    /// `a op b` of ints of which one follows from what the graph reads: the answer where it is sure, else a condition
    /// that nothing is decided by. `None` for other values.
    ///
    /// # Errors
    /// Those of looking at the operands.
    pub(crate) fn compare_read(&mut self, op: CompareOp, a: &Var, b: &Var) -> R<Option<Var>> {
        if !self.follows_from_read(a) && !self.follows_from_read(b) {
            return Ok(None);
        }
        let compare = int_compare_of(op);
        let Some((x, y)) = self.int_operands(a, b)? else {
            return (self.rules.torch.compare_read)(self, compare, a, b);
        };
        if let Some(sure) = self.sure_compare(compare, &x, &y) {
            return Ok(Some(self.bool(sure)));
        }
        let holds = compare.holds(&x.value, &y.value);
        let args = vec![Var::Int(Rc::new(x)), Var::Int(Rc::new(y))];
        self.condition_of(compare.function(), args, holds)
    }

    /// The condition that a function of `operator` makes; `holds` is what it counts as while tracing.
    ///
    /// # Errors
    /// None are expected.
    pub fn condition_of(&self, name: &str, args: Vec<Var>, holds: bool) -> R<Option<Var>> {
        let function = self.known.operator.bind(self.py).getattr(name)?;
        let value = PyBool::new(self.py, holds).to_owned().into_any();
        let made = ComputedVar::new(function.unbind(), args, value.unbind(), false);
        Ok(made.map(Var::Computed))
    }

    /// Whether a value is computed by this function of `operator`.
    #[must_use]
    pub fn is_made_by(&self, c: &ComputedVar, name: &str) -> bool {
        let function = self.known.operator.bind(self.py).getattr(name);
        function.is_ok_and(|function| function.is(&c.function))
    }

    /// What a condition over numbers that the graph reads says; `None` for other values.
    pub fn condition(&self, v: &Var) -> Option<(IntRelation, (i64, i64))> {
        let Var::Computed(c) = v else { return None };
        let [Var::Int(a), Var::Int(b)] = &c.args[..] else {
            return None;
        };
        if !self.computes_read(c) {
            return None;
        }
        let mut all = IntCompare::ALL.into_iter();
        let op = all.find(|op| self.is_made_by(c, op.function()))?;
        let relation = IntRelation {
            op,
            left: a.expr.clone(),
            right: b.expr.clone(),
        };
        Some((relation, (a.value, b.value)))
    }

    /// Has the graph check a comparison of numbers that it reads, by `check`, which raises where it does not hold; it is
    /// relied on from here on. `false` where the graph has to end: it could not be run again from its start.
    ///
    /// # Errors
    /// A break for what the graph does not compute.
    pub fn check_relation(
        &mut self,
        check: &Bound<'_, PyAny>,
        relation: &IntRelation,
        values: (i64, i64),
    ) -> R<bool> {
        let is_checked = self.check_node(check, |tx| {
            let args = vec![tx.int_arg(&relation.left)?, tx.int_arg(&relation.right)?];
            tx.number_node(relation.op.function(), args).map(Some)
        })?;
        if is_checked {
            self.assume_relation(relation, values);
        }
        Ok(is_checked)
    }

    /// The same of what a node says, which is not relied on.
    ///
    /// # Errors
    /// Those of making the node.
    pub fn check_node(
        &mut self,
        check: &Bound<'_, PyAny>,
        holds: impl FnOnce(&mut Self) -> R<Option<NodeId>>,
    ) -> R<bool> {
        if self.has_modes() || !self.can_check_in_graph()? {
            return Ok(false);
        }
        let Some(holds) = holds(self)? else {
            return Ok(false);
        };
        let (target, args) = match self.runs_as_is {
            true => {
                let path = crate::tx::qualified_name(check);
                let target = self.target(&check.clone().unbind(), &path)?;
                (target, vec![holds.into()])
            }
            // What torch's own function checks is gone once a compiler has traced it.
            false => {
                let assertion = self.py.import("torch")?.getattr("ops")?.getattr("aten")?;
                let assertion = assertion.getattr("_assert_scalar")?.getattr("default")?;
                let path = "torch.ops.aten._assert_scalar.default";
                let target = self.target(&assertion.unbind(), path)?;
                (
                    target,
                    vec![holds.into(), Arg::Str("what the program checks".into())],
                )
            }
        };
        let node = self.log.graph.call_function(target, args, Vec::new());
        self.set_line(node);
        self.log.graph.set_impure(node, true);
        self.log.graph.set_repeatable(node);
        self.log.graph.set_may_refuse_arguments(node);
        // Nothing that runs only once comes behind it, for a compiler.
        self.st.leads_to_handler |= !self.runs_as_is;
        Ok(true)
    }

    /// Whether an operation would raise only because of what a number that the graph reads counts as: then the graph
    /// checks that it is otherwise, as the operation itself does, and the operation can be asked again. `before` is
    /// where it was asked.
    ///
    /// # Errors
    /// A break for what the graph does not compute.
    pub(super) fn raises_by_unknown(&mut self, before: &Snapshot) -> R<bool> {
        match self.asked_of_unknown(before).pop() {
            Some(relation) => {
                let op = relation.op.negated();
                self.check_instead(before, &IntRelation { op, ..relation })?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Whether an operation that can be captured has taken a number that the graph reads for a count, of which there are
    /// no negative ones: then the graph checks that, and the operation can be asked again.
    ///
    /// # Errors
    /// A break for what the graph does not compute.
    pub(super) fn counts_by_unknown(&mut self, before: &Snapshot) -> R<bool> {
        // What is computed of one may be a place that is counted from the end.
        let counts = |relation: &IntRelation| {
            let is_number = matches!(relation.left, IntExpr::Source(_));
            is_number && relation.op == IntCompare::Ge && relation.right == IntExpr::Const(0)
        };
        match self.asked_of_unknown(before).into_iter().find(counts) {
            Some(relation) => {
                self.check_instead(before, &relation)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Whether something was asked of numbers that the graph reads, since `before`.
    pub(super) fn asks_of_unknown(&self, before: &Snapshot) -> bool {
        !self.asked_of_unknown(before).is_empty()
    }

    /// What was asked of numbers that the graph reads, since `before`.
    fn asked_of_unknown(&self, before: &Snapshot) -> Vec<IntRelation> {
        let guards = self.log.guards.get(before.guards..).unwrap_or_default();
        let about_unknown = guards.iter().filter_map(|guard| match &guard.kind {
            kind @ GuardKind::ShapeEnv { relation } if self.is_about_early(None, kind) => {
                Some(IntRelation::clone(relation))
            }
            _ => None,
        });
        about_unknown.collect()
    }

    /// Takes back what was asked since `before`, and has the graph check what is said instead.
    ///
    /// # Errors
    /// A break where it can't.
    fn check_instead(&mut self, before: &Snapshot, holds: &IntRelation) -> R<()> {
        let values = self.values_of(holds);
        self.restore(before);
        match self.check_with_values(holds, values)? {
            true => Ok(()),
            false => Err(value_needed()),
        }
    }

    /// Has the graph check what was found of sizes that it gives; `false` where it can't.
    ///
    /// # Errors
    /// A break for what the graph does not compute.
    pub(super) fn check_fact(&mut self, fact: Fact) -> R<bool> {
        match self.relation_of(fact) {
            Some(relation) => self.check_with_values(&relation, self.values_of(&relation)),
            None => Ok(false),
        }
    }

    fn values_of(&self, relation: &IntRelation) -> Option<(i64, i64)> {
        let left = self.value_of(&relation.left);
        left.zip(self.value_of(&relation.right))
    }

    /// Has the graph check what holds of numbers that it reads; `false` where it can't.
    ///
    /// # Errors
    /// A break for what the graph does not compute.
    pub(crate) fn check_with_values(
        &mut self,
        holds: &IntRelation,
        values: Option<(i64, i64)>,
    ) -> R<bool> {
        let check = self.known.torch.bind(self.py).getattr("_check")?;
        match values {
            Some(values) => self.check_relation(&check, holds, values),
            None => Ok(false),
        }
    }
}
