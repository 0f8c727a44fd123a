//! Ints that are not constants: arithmetic makes expressions, decisions are guarded.
//!
//! Lives here: every rule that knows [`Var::Int`]. Any other rule realizes its operands, which guards
//! the value and gives a constant: a rule that is missing here costs compilations, never a result.
//!
//! Invariant: an expression's value is an exact Python int; computing it raises nothing.

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::{BinaryOp, CompareOp, UnaryOp};
use guards::{GuardKind, IntBinary, IntCompare, IntExpr, IntRelation, IntUnary};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use variables::{IntVar, Var};

use crate::stop::R;
use crate::tx::Tx;

impl Tx<'_> {
    /// A value as a dynamic int, where it is one. Nothing of its value is guarded.
    pub fn as_dynamic(&mut self, v: &Var) -> Option<Rc<IntVar>> {
        match v {
            Var::Int(i) => Some(i.clone()),
            Var::Lazy(l) => self.dynamic_int(&l.clone()).map(Rc::new),
            _ => None,
        }
    }

    /// As [`Tx::realize`], but a dynamic int or float stays one, and an int that a pure function gives becomes one.
    ///
    /// # Errors
    /// As [`Tx::realize`].
    pub fn look(&mut self, v: &Var) -> R<Var> {
        if let Some(i) = self.as_dynamic(v) {
            return Ok(Var::Int(i));
        }
        if let Var::Computed(c) = v
            && let Some(i) = self.pure_int(c)?
        {
            return Ok(Var::Int(i));
        }
        match self.as_dynamic_float(v) {
            Some(f) => Ok(Var::Float(f)),
            None => self.realize(v),
        }
    }

    /// The value of a dynamic int as a constant, guarded.
    pub(crate) fn specialize(&mut self, i: &IntVar) -> Var {
        match &i.expr {
            IntExpr::Source(source) if self.pure_call(*source).is_none() => {
                let value = guards::ConstVal::Int(i.value);
                self.guard(*source, GuardKind::EqualsMatch { value });
            }
            expr => self.guard_relation(IntRelation {
                op: IntCompare::Eq,
                left: expr.clone(),
                right: IntExpr::Const(i.value),
            }),
        }
        self.int(i.value)
    }

    /// Holds the code to what is true of dynamic ints.
    pub fn guard_relation(&mut self, relation: IntRelation) {
        self.guard_ambient(GuardKind::ShapeEnv {
            relation: Arc::new(relation),
        });
    }

    /// An int operand: a dynamic one, or a constant that fits.
    ///
    /// # Errors
    /// As [`Tx::look`].
    pub fn int_operand(&mut self, v: &Var) -> R<Option<IntVar>> {
        Ok(match self.look(v)? {
            Var::Int(i) => Some(IntVar {
                expr: i.expr.clone(),
                value: i.value,
            }),
            Var::Const(o) => {
                let b = o.bind(self.py);
                let value = b.cast_exact::<PyInt>().ok();
                value
                    .and_then(|b| b.extract::<i64>().ok())
                    .map(|value| IntVar {
                        expr: IntExpr::Const(value),
                        value,
                    })
            }
            _ => None,
        })
    }

    /// Two operands of which one is dynamic and both are ints.
    pub(crate) fn int_operands(&mut self, a: &Var, b: &Var) -> R<Option<(IntVar, IntVar)>> {
        if self.as_dynamic(a).is_none() && self.as_dynamic(b).is_none() {
            return Ok(None);
        }
        let (a, b) = (self.int_operand(a)?, self.int_operand(b)?);
        Ok(a.zip(b))
    }

    /// `a op b` of ints of which one is dynamic. `None`: it takes the values.
    ///
    /// # Errors
    /// Those of looking at the operands.
    pub(crate) fn int_binary(&mut self, op: BinaryOp, a: &Var, b: &Var) -> R<Option<Var>> {
        let op = match op {
            BinaryOp::Add => IntBinary::Add,
            BinaryOp::Subtract => IntBinary::Subtract,
            BinaryOp::Multiply => IntBinary::Multiply,
            BinaryOp::FloorDivide => IntBinary::FloorDivide,
            BinaryOp::Remainder => IntBinary::Remainder,
            BinaryOp::Power => IntBinary::Power,
            BinaryOp::Lshift => IntBinary::Lshift,
            BinaryOp::Rshift => IntBinary::Rshift,
            BinaryOp::And => IntBinary::And,
            BinaryOp::Or => IntBinary::Or,
            BinaryOp::Xor => IntBinary::Xor,
            BinaryOp::MatrixMultiply | BinaryOp::TrueDivide => return Ok(None),
        };
        let Some((a, b)) = self.int_operands(a, b)? else {
            return Ok(None);
        };
        let (Some(value), Some(expr)) = (
            op.eval(a.value, b.value),
            IntExpr::binary(op, &a.expr, &b.expr),
        ) else {
            return Ok(None);
        };
        if !matches!(b.expr, IntExpr::Const(_)) {
            let is_read = self.follows_from_read(&Var::Int(Rc::new(b.clone())));
            for relation in op.condition(&b.expr) {
                let IntExpr::Const(bound) = relation.right else {
                    continue;
                };
                let values = Some((b.value, bound));
                if !is_read || !self.check_with_values(&relation, values)? {
                    self.guard_relation(relation);
                }
            }
        }
        Ok(Some(Var::Int(Rc::new(IntVar { expr, value }))))
    }

    /// `op a` of a dynamic int. `None`: it takes the value.
    pub(crate) fn int_unary(&mut self, op: UnaryOp, a: &Var) -> Option<Var> {
        let i = self.as_dynamic(a)?;
        match op {
            UnaryOp::Positive => Some(Var::Int(i)),
            UnaryOp::Negative => Self::int_function(IntUnary::Negative, &i),
            UnaryOp::Invert => Self::int_function(IntUnary::Invert, &i),
            UnaryOp::Not => None,
        }
    }

    /// A function of a dynamic int. `None`: it takes the value.
    pub fn int_function(op: IntUnary, i: &IntVar) -> Option<Var> {
        let value = op.eval(i.value)?;
        let expr = IntExpr::unary(op, &i.expr)?;
        Some(Var::Int(Rc::new(IntVar { expr, value })))
    }

    /// `a op b` of ints of which one is dynamic; the answer is guarded.
    ///
    /// # Errors
    /// Those of looking at the operands.
    pub(crate) fn int_compare(&mut self, op: CompareOp, a: &Var, b: &Var) -> R<Option<bool>> {
        let op = int_compare_of(op);
        let Some((a, b)) = self.int_operands(a, b)? else {
            return Ok(None);
        };
        if let Some(always) = self.sure_compare(op, &a, &b) {
            return Ok(Some(always));
        }
        let holds = op.holds(&a.value, &b.value);
        self.guard_relation(IntRelation {
            op: if holds { op } else { op.negated() },
            left: a.expr,
            right: b.expr,
        });
        Ok(Some(holds))
    }

    /// `a is b`, where one of them is a dynamic int and that does not matter. `None`: it does.
    ///
    /// # Errors
    /// Those of looking at the values.
    pub(crate) fn int_identity(&mut self, a: &Var, b: &Var) -> R<Option<bool>> {
        match (a, b) {
            (Var::Computed(x), Var::Computed(y)) if Rc::ptr_eq(x, y) => return Ok(Some(true)),
            (Var::Text(x), Var::Text(y)) if Rc::ptr_eq(x, y) => return Ok(Some(true)),
            _ => {}
        }
        for (v, other) in [(a, b), (b, a)] {
            if other.is_none(self.py) && self.class_of_simple(v).is_some() {
                return Ok(Some(false));
            }
        }
        let (i, other) = match (self.as_dynamic(a), self.as_dynamic(b)) {
            (Some(x), Some(y)) => return Ok(Rc::ptr_eq(&x, &y).then_some(true)),
            (Some(x), None) => (x, self.realize(b)?),
            (None, Some(x)) => (x, self.realize(a)?),
            (None, None) => return Ok(None),
        };
        if let Var::Const(o) = &other
            && let Ok(o) = o.bind(self.py).cast_exact::<PyInt>()
            && let Ok(o) = o.extract()
        {
            if i.value == o {
                return Ok(None);
            }
            self.guard_relation(IntRelation {
                op: IntCompare::Ne,
                left: i.expr.clone(),
                right: IntExpr::Const(o),
            });
        }
        Ok(Some(false))
    }

    /// The truth of a dynamic int, guarded.
    pub(crate) fn int_truth(&mut self, v: &Var) -> Option<bool> {
        let i = self.as_dynamic(v)?;
        let holds = i.value != 0;
        let op = if holds {
            IntCompare::Ne
        } else {
            IntCompare::Eq
        };
        self.guard_relation(IntRelation {
            op,
            left: i.expr.clone(),
            right: IntExpr::Const(0),
        });
        Some(holds)
    }
}

/// A comparison of Python's as one of ints.
pub(crate) fn int_compare_of(op: CompareOp) -> IntCompare {
    match op {
        CompareOp::Lt => IntCompare::Lt,
        CompareOp::Le => IntCompare::Le,
        CompareOp::Eq => IntCompare::Eq,
        CompareOp::Ne => IntCompare::Ne,
        CompareOp::Gt => IntCompare::Gt,
        CompareOp::Ge => IntCompare::Ge,
    }
}
