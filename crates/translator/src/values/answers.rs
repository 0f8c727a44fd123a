//! What a comparison or a predicate says of values that are no constants: it is guarded, and no value is.
//!
//! Invariant: only C functions of exact numbers and texts are asked, so a guard runs no user code.

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::{BinaryOp, CompareOp};
use guards::{CallExpr, GuardKind, IntExpr};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCFunction, PyFloat, PyInt, PyType};
use tensor_meta::DType;
use variables::{ComputedVar, FloatExpr, Var};

use super::computed::Changing;
use super::symbolic::int_compare_of;
use crate::stop::R;
use crate::tx::Tx;
use variables::constants::const_val;

impl<'py> Tx<'py> {
    /// The truth of a number, text or predicate that is no constant, guarded. `None` where the values are to be looked
    /// at.
    ///
    /// # Errors
    /// None are expected.
    pub(crate) fn computed_truth(&mut self, v: &Var) -> R<Option<bool>> {
        // A number is a constant at first.
        if matches!(v, Var::Computed(c) if c.is_first) {
            return Ok(None);
        }
        let Some(value) = self
            .value_now(v)?
            .filter(|_| matches!(v, Var::Computed(_) | Var::Float(_)))
        else {
            return Ok(None);
        };
        if let (Var::Computed(c), Ok(truth)) = (v, value.cast_exact::<PyBool>()) {
            if let Some(holds) = self.guard_comparison(c)? {
                return Ok(Some(holds));
            }
            let truth = truth.is_true();
            return Ok(self.guard_answer(v, &value)?.then_some(truth));
        }
        let ask = self.known.operator.bind(self.py).getattr("truth")?;
        match self.compute(&ask, vec![v.clone()], true)? {
            Some(answer @ Var::Computed(_)) => self.computed_truth(&answer),
            _ => Ok(None),
        }
    }

    /// Whether a value is what a function says of numbers or texts that change, of which nothing is guarded yet.
    pub fn is_answer(&self, v: &Var) -> bool {
        let Var::Computed(c) = v else { return false };
        let is_bool = c.value.bind(self.py).is_exact_instance_of::<PyBool>();
        is_bool && !c.is_first && !self.follows_from_read(v)
    }

    /// An operand: an answer that is no constant counts as a number beside a plain tensor of numbers.
    pub(super) fn counted(&mut self, op: BinaryOp, v: &Var, beside: &Var) -> R<Var> {
        if self.is_answer(v)
            && matches!(op, BinaryOp::Add | BinaryOp::Multiply)
            && let Var::Tensor(t) = self.look(beside)?
            && self.st.effects.meta(&t).dtype != DType::Bool
            && t.class.is(&self.known.tensor)
            && !self.has_modes()
        {
            let int = self.py.get_type::<PyInt>().into_any();
            let counted = self.compute(&int, vec![v.clone()], false)?;
            return Ok(counted.unwrap_or_else(|| v.clone()));
        }
        Ok(v.clone())
    }

    /// `a op b` of numbers of which one is no constant: what somebody asks of it is guarded. `None` for other values.
    ///
    /// # Errors
    /// Those of looking at the operands.
    pub(crate) fn compare_changing(&mut self, op: CompareOp, a: &Var, b: &Var) -> R<Option<Var>> {
        if let Some(condition) = self.compare_read(op, a, b)? {
            return Ok(Some(condition));
        }
        if self.follows_from_read(a) || self.follows_from_read(b) {
            return Ok(None);
        }
        let args = if let Some((x, y)) = self.int_operands(a, b)? {
            if let Some(sure) = self.sure_compare(int_compare_of(op), &x, &y) {
                return Ok(Some(self.bool(sure)));
            }
            vec![Var::Int(Rc::new(x)), Var::Int(Rc::new(y))]
        } else {
            match self.changing_args(&[a.clone(), b.clone()], Changing::Found)? {
                Some(args) => args,
                None => return Ok(None),
            }
        };
        for v in &args {
            let value = self.value_now(v)?;
            let is_number = |v: &Bound<'py, PyAny>| {
                v.is_exact_instance_of::<PyFloat>() || v.is_instance_of::<PyInt>()
            };
            if !value.as_ref().is_some_and(is_number) {
                return Ok(None);
            }
        }
        let name = int_compare_of(op).function();
        let ask = self.known.operator.bind(self.py).getattr(name)?;
        let Some(answer) = self.compute(&ask, args, false)? else {
            return Ok(None);
        };
        // No guard can ask what is drawn: the comparison itself breaks the graph, and not a jump with two ways on.
        if !self.st.effects.early.is_empty()
            && let Some(call) = self.call_expr(&answer)?
            && call.sources().iter().any(|source| self.is_early(*source))
            && let Some(holds) = self.computed_truth(&answer)?
        {
            return Ok(Some(self.bool(holds)));
        }
        Ok(Some(answer))
    }

    /// What a comparison of two numbers says, or that it does not hold, which is guarded. `None` for other values.
    fn guard_comparison(&mut self, c: &Rc<ComputedVar>) -> R<Option<bool>> {
        if let [v] = &c.args[..] {
            let not = self.is_made_by(c, "not_");
            // What is computed otherwise is asked by this very function.
            let is_asked = self.is_answer(v)
                || matches!(v, Var::Int(_))
                || matches!(v, Var::Float(f) if matches!(f.expr, FloatExpr::Source(_)));
            return Ok(match is_asked && (not || self.is_made_by(c, "truth")) {
                true => Some(self.truth(v)? != not),
                false => None,
            });
        }
        let op = CompareOp::ALL
            .into_iter()
            .find(|op| self.is_made_by(c, int_compare_of(*op).function()));
        let (Some(op), [a, b]) = (op, &c.args[..]) else {
            return Ok(None);
        };
        match self.int_compare(op, a, b)? {
            Some(holds) => Ok(Some(holds)),
            None => self.float_compare(op, a, b),
        }
    }

    /// Holds the code to what a computed value is for this call. `false` where no guard can say it.
    fn guard_answer(&mut self, v: &Var, value: &Bound<'py, PyAny>) -> R<bool> {
        let Some(value) = const_val(value) else {
            return Ok(false);
        };
        let Some(expr) = self.call_expr(v)? else {
            return Ok(false);
        };
        if expr.sources().is_empty() {
            return Ok(false);
        }
        self.guard_ambient(GuardKind::ComputedMatch {
            expr: Arc::new(expr),
            value,
        });
        Ok(true)
    }

    /// How guards compute a value; `None` where they do not.
    pub(super) fn call_expr(&mut self, v: &Var) -> R<Option<CallExpr>> {
        Ok(match v {
            Var::Const(o) => const_val(o.bind(self.py)).map(CallExpr::Const),
            Var::Lazy(l) => Some(CallExpr::Source(l.source)),
            Var::Int(i) => Some(self.int_calls(&i.expr.clone())?),
            Var::Float(f) => self.float_calls(&f.expr)?,
            Var::Computed(c) => {
                let function = c.function.bind(self.py).clone();
                let descriptor = self.known.method_descriptor.bind(self.py);
                let in_c = function.is_instance_of::<PyCFunction>()
                    || function.is_instance_of::<PyType>()
                    || function.get_type().is(descriptor);
                match in_c {
                    true => self.calls(&function, &c.args)?,
                    false => None,
                }
            }
            _ => None,
        })
    }

    fn calls(&mut self, function: &Bound<'py, PyAny>, args: &[Var]) -> R<Option<CallExpr>> {
        let mut out = Vec::with_capacity(args.len());
        for arg in args {
            match self.call_expr(arg)? {
                Some(arg) => out.push(arg),
                None => return Ok(None),
            }
        }
        Ok(Some(self.called(function, out)))
    }

    pub(super) fn called(&mut self, function: &Bound<'py, PyAny>, args: Vec<CallExpr>) -> CallExpr {
        let function = self.pin(&function.clone().unbind(), false);
        CallExpr::Call(function, args.into())
    }

    pub(super) fn operator_call(&mut self, name: &str, args: Vec<CallExpr>) -> R<CallExpr> {
        let function = self.known.operator.bind(self.py).getattr(name)?;
        Ok(self.called(&function, args))
    }

    pub(super) fn int_calls(&mut self, expr: &IntExpr) -> R<CallExpr> {
        Ok(match expr {
            IntExpr::Source(source) => match self.pure_call(*source) {
                Some(call) => CallExpr::clone(call),
                None => CallExpr::Source(*source),
            },
            IntExpr::Const(n) => CallExpr::Const(guards::ConstVal::Int(*n)),
            IntExpr::Dim(source, extent, dim) => {
                let methods = self.known.tensor_base.bind(self.py);
                let method = methods.getattr(extent.method())?;
                let mut args = vec![CallExpr::Source(*source)];
                if extent.has_dims() {
                    let dim = guards::ConstVal::Int(i64::from(*dim));
                    args.push(CallExpr::Const(dim));
                }
                self.called(&method, args)
            }
            IntExpr::Unary(op, x) => {
                let x = self.int_calls(x)?;
                self.operator_call(op.function(), vec![x])?
            }
            IntExpr::Binary(op, ab) => {
                let args = vec![self.int_calls(&ab.0)?, self.int_calls(&ab.1)?];
                match op.builtin() {
                    Some(name) => {
                        let function = self.known.builtins.bind(self.py).getattr(name)?;
                        self.called(&function, args)
                    }
                    None => self.operator_call(op.function(), args)?,
                }
            }
        })
    }

    fn float_calls(&mut self, expr: &FloatExpr) -> R<Option<CallExpr>> {
        Ok(Some(match expr {
            FloatExpr::Source(source) => CallExpr::Source(*source),
            FloatExpr::Const(n) => CallExpr::Const(guards::ConstVal::Float(n.to_bits())),
            FloatExpr::Computed(c) => return self.call_expr(&Var::Computed(c.clone())),
            FloatExpr::Negative(x) => match self.float_calls(x)? {
                Some(x) => self.operator_call("neg", vec![x])?,
                None => return Ok(None),
            },
            FloatExpr::Binary(op, ab) => {
                let (Some(a), Some(b)) = (self.float_calls(&ab.0)?, self.float_calls(&ab.1)?)
                else {
                    return Ok(None);
                };
                self.operator_call(op.function(), vec![a, b])?
            }
        }))
    }
}
