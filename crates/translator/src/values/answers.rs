//! What a comparison or a predicate says of values that are no constants: it is guarded, and no value is.
//!
//! Invariant: only C functions of exact numbers and texts are asked, so a guard runs no user code.

use std::sync::Arc;

use bytecode::op::CompareOp;
use guards::{CallExpr, GuardKind, IntExpr};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCFunction, PyFloat, PyInt, PyType};
use variables::{FloatExpr, Var};

use super::compare::method;
use super::computed::Changing;
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
        if let (Var::Computed(_), Ok(truth)) = (v, value.cast_exact::<PyBool>()) {
            let truth = truth.is_true();
            return Ok(self.guard_answer(v, &value)?.then_some(truth));
        }
        let ask = self.known.operator.bind(self.py).getattr("truth")?;
        self.guarded_answer(&ask, std::slice::from_ref(v))
    }

    /// `a op b` of numbers of which one is no constant; the answer is guarded. `None`: it takes the values.
    ///
    /// # Errors
    /// Those of looking at the operands.
    pub(crate) fn compare_computed(&mut self, op: CompareOp, a: &Var, b: &Var) -> R<Option<bool>> {
        let Some(args) = self.changing_args(&[a.clone(), b.clone()], Changing::Found)? else {
            return Ok(None);
        };
        for v in &args {
            let value = self.value_now(v)?;
            let is_number = |v: &Bound<'py, PyAny>| {
                v.is_exact_instance_of::<PyFloat>() || v.is_exact_instance_of::<PyInt>()
            };
            if !value.as_ref().is_some_and(is_number) {
                return Ok(None);
            }
        }
        let name = method(op).trim_matches('_');
        let ask = self.known.operator.bind(self.py).getattr(name)?;
        self.guarded_answer(&ask, &args)
    }

    /// What a C function gives, which is a `bool` and guarded.
    fn guarded_answer(&mut self, ask: &Bound<'py, PyAny>, args: &[Var]) -> R<Option<bool>> {
        match self.compute(ask, args.to_vec(), true)? {
            Some(answer @ Var::Computed(_)) => self.computed_truth(&answer),
            _ => Ok(None),
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

    fn called(&mut self, function: &Bound<'py, PyAny>, args: Vec<CallExpr>) -> CallExpr {
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
