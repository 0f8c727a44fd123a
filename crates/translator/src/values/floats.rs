//! Floats that are not constants: arithmetic makes expressions, which the graph gets as numbers.
//!
//! Lives here: every rule that knows [`Var::Float`]. Any other rule realizes its operands, which guards the values
//! that the float is computed from and gives a constant.
//!
//! Invariant: an expression's value is an exact Python float; computing it raises nothing.

use std::rc::Rc;

use bytecode::op::{BinaryOp, CompareOp};
use fx_graph::NodeId;
use guards::{ConstVal, GuardKind, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyTuple};
use variables::{FloatBinary, FloatExpr, FloatVar, LazyVar, Obj, Var};

use crate::dynamic::DynamicInts;
use crate::stop::{R, Stop};
use crate::tx::{FloatInput, Tx};
use crate::values::compare::{method, swapped};

/// A dynamic float that a source yields, and its value.
fn float_source(v: &Var) -> Option<(SourceId, f64)> {
    match v {
        Var::Float(f) => match f.expr {
            FloatExpr::Source(source) => Some((source, f.value)),
            _ => None,
        },
        _ => None,
    }
}

/// Ints up to here are floats as well.
const EXACT: i64 = 1 << 53;

impl Tx<'_> {
    /// A value as a dynamic float, where it is one. Nothing of its value is guarded.
    pub fn as_dynamic_float(&mut self, v: &Var) -> Option<Rc<FloatVar>> {
        match v {
            Var::Float(f) => Some(f.clone()),
            Var::Lazy(l) => self.dynamic_float(&l.clone()).map(Rc::new),
            _ => None,
        }
    }

    /// What a value from outside is as a dynamic float; `None` where it is none.
    fn dynamic_float(&mut self, l: &LazyVar) -> Option<FloatVar> {
        if !self.ints.any() || self.ints.specialize_float {
            return None;
        }
        let b = l.obj.bind(self.py).clone();
        let value = b.cast_exact::<PyFloat>().ok()?.value();
        // A compiler has no symbols for what is not finite.
        if !self.runs_as_is && !value.is_finite() {
            return None;
        }
        let bits = value.to_bits();
        let name = || self.facts.sources.name(l.source);
        if !self.ints.constant_floats.is_empty() && self.ints.constant_floats.contains(&name()) {
            return None;
        }
        let changed = |ints: &DynamicInts, name: &str| {
            ints.floats.get(name).is_some_and(|before| *before != bits)
                || ints.before.contains_key(name)
                || ints.layouts.sizes.contains_key(name)
        };
        let of_module = self.ints.always && self.is_of_module(l.source);
        if !self.ints.is_dynamic(l.source, of_module, name, changed) {
            return None;
        }
        self.guard_type(&b, l.source);
        self.facts.float_values.insert(l.source, bits);
        Some(FloatVar::existing(l.source, value, l.obj.clone()))
    }

    /// The value of a dynamic float as a constant: what it is computed from is guarded.
    pub(crate) fn specialize_float(&mut self, f: &FloatVar) -> R<Var> {
        let mut sources: Vec<SourceId> = Vec::new();
        let mut computed = Vec::new();
        f.expr.for_each_leaf(&mut |leaf| match leaf {
            FloatExpr::Source(source) => sources.push(*source),
            FloatExpr::Computed(c) => computed.push(c.clone()),
            _ => {}
        });
        for c in computed {
            self.specialize_computed(&c)?;
        }
        for source in sources {
            let Some(&bits) = self.facts.float_values.get(&source) else {
                return Err(Stop::Internal("a dynamic float without a value".into()));
            };
            let value = ConstVal::Float(bits);
            self.guard(source, GuardKind::EqualsMatch { value });
        }
        let make = || PyFloat::new(self.py, f.value).into_any().unbind();
        Ok(Var::Const(f.object.get_or_init(make).clone()))
    }

    /// A float operand: a dynamic one, or a constant number that is a float exactly.
    fn float_operand(&mut self, v: &Var) -> R<Option<FloatVar>> {
        if let Some(f) = self.as_dynamic_float(v) {
            return Ok(Some((*f).clone()));
        }
        if self.as_dynamic(v).is_some() || matches!(v, Var::Computed(_) | Var::Text(_)) {
            return Ok(None);
        }
        let Var::Const(o) = self.realize(v)? else {
            return Ok(None);
        };
        let b = o.bind(self.py);
        let value = match (b.cast_exact::<PyFloat>(), b.cast_exact::<PyInt>()) {
            (Ok(f), _) => f.value(),
            (_, Ok(i)) => match i.extract::<i64>() {
                Ok(i) if (-EXACT..=EXACT).contains(&i) => i as f64,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        Ok(Some(FloatVar::computed(FloatExpr::Const(value), value)))
    }

    /// `a op b` of numbers of which one is a dynamic float. `None`: it takes the values.
    ///
    /// # Errors
    /// Those of looking at the operands.
    pub(crate) fn float_binary(&mut self, op: BinaryOp, a: &Var, b: &Var) -> R<Option<Var>> {
        let op = match op {
            BinaryOp::Add => FloatBinary::Add,
            BinaryOp::Subtract => FloatBinary::Subtract,
            BinaryOp::Multiply => FloatBinary::Multiply,
            BinaryOp::TrueDivide => FloatBinary::TrueDivide,
            _ => return Ok(None),
        };
        let (Some(a), Some(b)) = (self.float_operand(a)?, self.float_operand(b)?) else {
            return Ok(None);
        };
        // A division by zero raises at its place.
        let divides = op == FloatBinary::TrueDivide;
        if divides && (b.value == 0.0 || !matches!(b.expr, FloatExpr::Const(_))) {
            return Ok(None);
        }
        let expr = FloatExpr::binary(op, &a.expr, &b.expr);
        let value = op.eval(a.value, b.value);
        Ok(expr.map(|expr| Var::Float(Rc::new(FloatVar::computed(expr, value)))))
    }

    /// `-a` of a dynamic float.
    pub(crate) fn float_negative(&mut self, a: &Var) -> Option<Var> {
        let f = self.as_dynamic_float(a)?;
        let expr = FloatExpr::Negative(Rc::new(f.expr.clone()));
        Some(Var::Float(Rc::new(FloatVar::computed(expr, -f.value))))
    }

    /// `a op b` of a dynamic float and a constant number; the answer is guarded. `None`: it takes the values.
    ///
    /// # Errors
    /// Those of looking at the operands.
    pub(crate) fn float_compare(&mut self, op: CompareOp, a: &Var, b: &Var) -> R<Option<bool>> {
        let (op, source, float, other) = match (float_source(a), float_source(b)) {
            (Some((source, f)), None) => (op, source, f, b),
            (None, Some((source, f))) => (swapped(op), source, f, a),
            _ => return Ok(None),
        };
        let Var::Const(other) = other else {
            return Ok(None);
        };
        let number = other.bind(self.py);
        if !number.is_exact_instance_of::<PyFloat>() && !number.is_instance_of::<PyInt>() {
            return Ok(None);
        }
        let name = method(op).trim_matches('_');
        let others = std::slice::from_ref(other);
        self.ask_float(name, source, float, others).map(Some)
    }

    /// The truth of a dynamic float, guarded. `None`: it takes the values.
    ///
    /// # Errors
    /// None are expected.
    pub(crate) fn float_truth(&mut self, v: &Var) -> R<Option<bool>> {
        let Some(float) = self.as_dynamic_float(v) else {
            return Ok(None);
        };
        match float.expr {
            FloatExpr::Source(source) => {
                let answer = self.ask_float("truth", source, float.value, &[])?;
                Ok(Some(answer))
            }
            _ => self.computed_truth(&Var::Float(float)),
        }
    }

    /// What a function of `operator` says of a float, which is guarded.
    fn ask_float(&mut self, name: &str, source: SourceId, value: f64, others: &[Obj]) -> R<bool> {
        let function = self.py.import("_operator")?.getattr(name)?;
        let value = PyFloat::new(self.py, value).into_any().unbind();
        let args: Vec<&Obj> = std::iter::once(&value).chain(others).collect();
        let answer = function.call1(PyTuple::new(self.py, args)?)?;
        self.guard_call(&function.unbind(), Some(source), others, &answer)?;
        Ok(answer.is_truthy()?)
    }

    /// A dynamic float as an input of the graph. A backend that compiles gets a tensor of it, as torch's own
    /// tracer has it, and the operation that reads that: it takes a float among the inputs for a constant.
    pub fn float_input(&mut self, float: &Rc<FloatVar>) -> NodeId {
        let known = self.log.float_inputs.iter();
        if let Some(input) = known.clone().find(|i| i.float.expr.gives_as(&float.expr)) {
            return input.number;
        }
        let mut first = None;
        float.expr.for_each_leaf(&mut |leaf| {
            if let FloatExpr::Source(source) = leaf {
                first = first.or(Some(*source));
            }
        });
        let node = self.number_placeholder(first);
        let number = match self.runs_as_is {
            true => node,
            false => self.item_node(node),
        };
        let float = float.clone();
        self.log.float_inputs.push(FloatInput {
            node,
            number,
            float,
        });
        number
    }
}
