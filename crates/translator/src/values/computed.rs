//! Values that are no constants and that residual code computes by Python's own functions: text above all.
//!
//! A number or text that changes from call to call need not be guarded where it only becomes text, another number, or
//! goes out again. [`Tx::compute`] makes such a value of a pure function; whatever looks at it realizes it, which
//! guards what it is computed from.
//!
//! Lives here: which values change, and what is computed of them. Does not live here: which functions are pure
//! (the crate `builtins`), the code that computes (the crate `residual`).
//!
//! Invariant: what is computed is of one type, whatever the values are.

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::BinaryOp;
use guards::{GuardKind, IntCompare, IntExpr, IntRelation};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyString, PyTuple, PyType};
use variables::{ComputedVar, FloatExpr, FloatVar, LazyVar, Obj, TextPart, TextVar, Var};

use super::arith::{names, too_large};
use crate::raw::type_lookup;
use crate::stop::R;
use crate::tx::{Args, Tx};

/// Which values from outside may be something else on each call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Changing {
    /// texts, and numbers that were found to change: a number is a constant at first
    Found,
    /// all immutable ones: they only become text
    Any,
}

impl<'py> Tx<'py> {
    /// A value as one that is no constant, whose type alone is guarded; `None` where it is one, or is not of an exact
    /// immutable builtin type.
    pub fn as_changing(&mut self, v: &Var, which: Changing) -> Option<Var> {
        match v {
            Var::Int(_) | Var::Float(_) | Var::Computed(_) => Some(v.clone()),
            Var::Text(t) if !t.shows_tensor() => Some(v.clone()),
            // The translation's own: it does not exist when the residual code computes.
            Var::Lazy(l) if self.is_of_private(l.source) => None,
            Var::Lazy(l) => {
                if let Some(i) = self.as_dynamic(v) {
                    return Some(Var::Int(i));
                }
                if let Some(f) = self.as_dynamic_float(v) {
                    return Some(Var::Float(f));
                }
                self.as_changing_constant(l, which)
            }
            _ => None,
        }
    }

    fn as_changing_constant(&mut self, l: &Rc<LazyVar>, which: Changing) -> Option<Var> {
        let b = l.obj.bind(self.py).clone();
        let is_text = b.is_exact_instance_of::<PyString>();
        if !is_text && which == Changing::Found || !is_simple(&b) || self.is_early(l.source) {
            return None;
        }
        self.guard_type(&b, l.source);
        Some(Var::Lazy(l.clone()))
    }

    /// A value from outside of an exact immutable builtin type, which is then guarded: its class.
    pub(crate) fn class_of_simple(&mut self, v: &Var) -> Option<Obj> {
        let class = match v {
            Var::Computed(c) => c.value.bind(self.py).get_type(),
            Var::Text(_) => self.py.get_type::<PyString>(),
            Var::Lazy(l) => {
                let b = l.obj.bind(self.py).clone();
                let is_plain = is_simple(&b) && !b.is_exact_instance_of::<PyBool>();
                if !is_plain || b.is_none() || self.is_early(l.source) {
                    return None;
                }
                self.guard_type(&b, l.source);
                b.get_type()
            }
            _ => return None,
        };
        Some(class.into_any().unbind())
    }

    /// What a value is for this call; `None` for what is neither a constant nor changes.
    ///
    /// # Errors
    /// None are expected.
    pub fn value_now(&self, v: &Var) -> R<Option<Bound<'py, PyAny>>> {
        let py = self.py;
        Ok(match v {
            Var::Const(o) => Some(o.bind(py).clone()),
            Var::Lazy(l) => Some(l.obj.bind(py).clone()),
            Var::Int(i) => Some(i.value.into_pyobject(py).map_err(PyErr::from)?.into_any()),
            Var::Float(f) => Some(PyFloat::new(py, f.value).into_any()),
            Var::Computed(c) => Some(c.value.bind(py).clone()),
            Var::Text(t) => {
                let mut pieces = Vec::with_capacity(t.parts.len());
                for part in &t.parts {
                    pieces.push(match part {
                        TextPart::Known(o) => o.bind(py).clone(),
                        TextPart::Value(v) => match self.value_now(v)? {
                            Some(value) => value,
                            None => return Ok(None),
                        },
                        TextPart::Tensor { .. } => return Ok(None),
                    });
                }
                Some(PyString::new(py, "").call_method1("join", (pieces,))?)
            }
            Var::Tuple(t) if t.class.is_none() => {
                let mut items = Vec::with_capacity(t.items.len());
                for item in &t.items {
                    match self.value_now(item)? {
                        Some(value) => items.push(value),
                        None => return Ok(None),
                    }
                }
                Some(PyTuple::new(py, items)?.into_any())
            }
            _ => None,
        })
    }

    /// Arguments of a pure function of which one is no constant, and the others are constants. `None` where that is
    /// not so; nothing but types is guarded then.
    ///
    /// # Errors
    /// Those of realizing the others.
    pub fn changing_args(&mut self, args: &[Var], which: Changing) -> R<Option<Vec<Var>>> {
        if !args.iter().any(|v| self.changes(v, which)) {
            return Ok(None);
        }
        let beside_first = which == Changing::Found && args.iter().any(|v| self.is_found(v));
        let mut out = Vec::with_capacity(args.len());
        for v in args {
            let v = &self.settled(v, beside_first)?;
            match self.changing_arg(v, which)? {
                Some(v) => out.push(v),
                None => return Ok(None),
            }
        }
        Ok(Some(out))
    }

    /// Whether a value is a number that was found to change.
    fn is_found(&mut self, v: &Var) -> bool {
        match self.as_changing(v, Changing::Found) {
            Some(Var::Int(_) | Var::Float(_)) => true,
            Some(Var::Computed(c)) => !c.is_first && !self.is_changing_text(v),
            _ => false,
        }
    }

    /// A number that was not found to change is a constant beside one that was.
    fn settled(&mut self, v: &Var, beside_first: bool) -> R<Var> {
        match v {
            Var::Computed(c) if c.is_first && beside_first && !self.is_changing_text(v) => {
                self.realize(v)
            }
            v => Ok(v.clone()),
        }
    }

    /// Operands of which one that was not found to change is a constant beside one that was.
    ///
    /// # Errors
    /// Those of realizing it.
    pub(crate) fn settled_operands(&mut self, a: &Var, b: &Var) -> R<(Var, Var)> {
        let is_first = |v: &Var| matches!(v, Var::Computed(c) if c.is_first);
        if !is_first(a) && !is_first(b) {
            return Ok((a.clone(), b.clone()));
        }
        let beside_first = self.is_found(a) || self.is_found(b);
        Ok((
            self.settled(a, beside_first)?,
            self.settled(b, beside_first)?,
        ))
    }

    /// Whether a value, or an item of a tuple, is no constant.
    pub fn changes(&mut self, v: &Var, which: Changing) -> bool {
        match v {
            Var::Tuple(t) => t.items.iter().any(|v| self.changes(v, which)),
            v => self.as_changing(v, which).is_some(),
        }
    }

    fn changing_arg(&mut self, v: &Var, which: Changing) -> R<Option<Var>> {
        if let Some(v) = self.as_changing(v, which) {
            return Ok(Some(v));
        }
        Ok(match self.realize(v)? {
            Var::Const(o) => is_simple(o.bind(self.py)).then_some(Var::Const(o)),
            Var::Tuple(t) if t.class.is_none() => {
                let mut items = Vec::with_capacity(t.items.len());
                for item in &t.items {
                    match self.changing_arg(item, which)? {
                        Some(item) => items.push(item),
                        None => return Ok(None),
                    }
                }
                Some(Var::tuple(items))
            }
            _ => None,
        })
    }

    /// `function(*args)` of arguments that [`Tx::changing_args`] gave. `None` where it takes the values: it raises,
    /// or gives something that is not of a simple type.
    ///
    /// # Errors
    /// None are expected.
    pub fn compute(
        &mut self,
        function: &Bound<'py, PyAny>,
        args: Vec<Var>,
        may_raise: bool,
    ) -> R<Option<Var>> {
        if args.iter().any(|v| self.follows_from_read(v)) {
            let made = (self.rules.torch.compute_read)(self, function, &args)?;
            // What may raise is computed in front of the graph.
            if made.is_some() || may_raise {
                return Ok(made);
            }
        }
        let mut values = Vec::with_capacity(args.len());
        for v in &args {
            match self.value_now(v)? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        let Ok(value) = function.call1(PyTuple::new(self.py, values)?) else {
            return Ok(None);
        };
        if !is_simple(&value) || value.is_none() {
            return Ok(None);
        }
        let is_float = value.cast_exact::<PyFloat>().map(PyFloatMethods::value);
        let float = is_float.ok();
        let function = function.clone().unbind();
        let computed = ComputedVar::new(function, args, value.unbind(), may_raise);
        if may_raise && let Some(c) = &computed {
            self.st.effects.may_raise.push_back(c.clone());
        }
        Ok(computed.map(|c| match float {
            Some(value) if !c.is_first => {
                Var::Float(Rc::new(FloatVar::computed(FloatExpr::Computed(c), value)))
            }
            _ => Var::Computed(c),
        }))
    }

    /// The value of what is computed, as a constant: what it is computed from is guarded, or the answer that it is.
    ///
    /// # Errors
    /// Those of realizing that.
    pub fn specialize_computed(&mut self, c: &Rc<ComputedVar>) -> R<Var> {
        let answer = Var::Computed(c.clone());
        if self.is_answer(&answer) && self.computed_truth(&answer)?.is_some() {
            return Ok(Var::Const(c.value.clone()));
        }
        for arg in &c.args {
            self.specialize_parts(arg)?;
        }
        Ok(Var::Const(c.value.clone()))
    }

    fn specialize_parts(&mut self, v: &Var) -> R<()> {
        match v {
            Var::Tuple(t) => t.items.iter().try_for_each(|v| self.specialize_parts(v)),
            v => self.realize(v).map(drop),
        }
    }

    /// A text as a constant: the values in it are guarded.
    ///
    /// # Errors
    /// A break where the text of a tensor is in it.
    pub(crate) fn specialize_text(&mut self, text: &Rc<TextVar>) -> R<Var> {
        let whole = Var::Text(text.clone());
        if text.shows_tensor() {
            return Err(self.no_text(&whole));
        }
        for v in text.values() {
            self.realize(v)?;
        }
        match self.value_now(&whole)? {
            Some(value) => Ok(Var::Const(value.unbind())),
            None => Err(self.no_text(&whole)),
        }
    }

    // ---- operators ------------------------------------------------------------------------------

    /// `a op b` where that joins or formats texts of which one is no constant.
    ///
    /// # Errors
    /// Those of realizing operands.
    pub(crate) fn text_binary(&mut self, op: BinaryOp, a: &Var, b: &Var) -> R<Option<Var>> {
        match op {
            BinaryOp::Add => {
                if !(self.is_changing_text(a) || self.is_changing_text(b)) {
                    return Ok(None);
                }
                let mut parts = Vec::with_capacity(2);
                for v in [a, b] {
                    match self.text_operand(v) {
                        Some(v) => parts.push(v),
                        None => return Ok(None),
                    }
                }
                self.build_string(&parts).map(Some)
            }
            BinaryOp::Remainder if self.text_operand(a).is_some() => {
                let Some(args) = self.changing_args(&[a.clone(), b.clone()], Changing::Any)? else {
                    return Ok(None);
                };
                let f = self.known.operator.bind(self.py).getattr("mod")?;
                self.compute(&f, args, true)
            }
            _ => Ok(None),
        }
    }

    /// Whether a value is a text that is no constant.
    pub fn is_changing_text(&self, v: &Var) -> bool {
        let is_text = |o: &Obj| o.bind(self.py).is_exact_instance_of::<PyString>();
        match v {
            Var::Text(_) => true,
            Var::Computed(c) => is_text(&c.value),
            Var::Lazy(l) => is_text(&l.obj),
            _ => false,
        }
    }

    /// A value as a piece of a text, where it is an exact `str`.
    pub fn text_operand(&mut self, v: &Var) -> Option<Var> {
        let is_const = matches!(v, Var::Const(o)
            if o.bind(self.py).is_exact_instance_of::<PyString>());
        if is_const || matches!(v, Var::Text(_)) {
            return Some(v.clone());
        }
        let is_text = self.is_changing_text(v);
        self.as_changing(v, Changing::Found).filter(|_| is_text)
    }

    /// `a op b` of numbers of which one is no constant, and that are no expressions together. `None`: it takes the
    /// values.
    ///
    /// # Errors
    /// Those of looking at the operands.
    pub(crate) fn compute_binary(&mut self, op: BinaryOp, a: &Var, b: &Var) -> R<Option<Var>> {
        match (self.rules.torch.join_conditions)(self, op, a, b)? {
            Some(condition) => Ok(Some(condition)),
            None => self.compute_operator(op, a, b, Changing::Found),
        }
    }

    /// `a op b` of numbers of which none was found to change: nothing is guarded until somebody looks at what it gives.
    /// `None` where it takes the values.
    ///
    /// # Errors
    /// None are expected.
    pub(crate) fn compute_first(&mut self, op: BinaryOp, a: &Var, b: &Var) -> R<Option<Var>> {
        let is_number = |b: &Bound<'py, PyAny>| {
            b.is_exact_instance_of::<PyFloat>() || b.is_exact_instance_of::<PyInt>()
        };
        let py = self.py;
        let is_first = |v: &Var| match v {
            Var::Lazy(l) => is_number(l.obj.bind(py)),
            Var::Computed(c) => c.is_first && is_number(c.value.bind(py)),
            _ => false,
        };
        // What is computed together with a number that changes changes as well. Sizes are better known.
        for (v, other) in [(a, b), (b, a)] {
            let is_of_size = |i: &IntExpr| i.leaves().iter().any(|l| matches!(l, IntExpr::Dim(..)));
            let changes = match self.as_changing(v, Changing::Found) {
                Some(Var::Int(i)) => !is_of_size(&i.expr),
                Some(Var::Float(_)) => true,
                _ => false,
            };
            if changes
                && let Var::Lazy(l) = other
                && is_number(l.obj.bind(py))
            {
                let is_constant = |g: &guards::Guard| {
                    g.source == Some(l.source) && matches!(g.kind, GuardKind::EqualsMatch { .. })
                };
                if !self.log.guards.iter().any(is_constant) {
                    let name = self.facts.sources.name(l.source);
                    self.ints.take_for_dynamic(l.source, name);
                }
                return Ok(None);
            }
        }
        if self.is_found(a) || self.is_found(b) {
            return Ok(None);
        }
        let is_const = |v: &Var| matches!(v, Var::Const(o) if is_number(o.bind(py)));
        let keeps_type = matches!(
            op,
            BinaryOp::Add
                | BinaryOp::Subtract
                | BinaryOp::Multiply
                | BinaryOp::TrueDivide
                | BinaryOp::FloorDivide
                | BinaryOp::Remainder
        );
        let (x, y) = (is_first(a), is_first(b));
        let fits = match (x, y) {
            (true, true) => true,
            (true, false) => is_const(b),
            (false, true) => is_const(a),
            (false, false) => false,
        };
        if !fits || !keeps_type {
            return Ok(None);
        }
        self.compute_operator(op, a, b, Changing::Any)
    }

    fn compute_operator(
        &mut self,
        op: BinaryOp,
        a: &Var,
        b: &Var,
        which: Changing,
    ) -> R<Option<Var>> {
        let name = match op {
            BinaryOp::And | BinaryOp::Or => format!("{}_", names(op).direct.trim_matches('_')),
            _ => names(op).direct.trim_matches('_').to_owned(),
        };
        let f = self.known.operator.bind(self.py).getattr(name)?;
        if self.follows_from_read(a) || self.follows_from_read(b) {
            return (self.rules.torch.compute_read)(self, &f, &[a.clone(), b.clone()]);
        }
        let Some(args) = self.changing_args(&[a.clone(), b.clone()], which)? else {
            return Ok(None);
        };
        let (Some(x), Some(y)) = (self.value_now(&args[0])?, self.value_now(&args[1])?) else {
            return Ok(None);
        };
        let counts = matches!(op, BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply);
        let is_number = |v: &Bound<'py, PyAny>| {
            v.is_exact_instance_of::<PyFloat>()
                || v.is_exact_instance_of::<PyInt>()
                || v.is_exact_instance_of::<PyBool>() && counts
        };
        if !is_number(&x) || !is_number(&y) || too_large(self.py, op, &x.unbind(), &y.unbind()) {
            return Ok(None);
        }
        // What is no expression of ints takes the values: it is too large, or raises.
        let are_ints = args.iter().all(|v| match v {
            Var::Const(o) => o.bind(self.py).is_exact_instance_of::<PyInt>(),
            v => matches!(v, Var::Int(_)),
        });
        if are_ints && !makes_float(op, &args, self.py) {
            return Ok(None);
        }
        if op == BinaryOp::Power && !self.power_keeps_type(&args)? {
            return Ok(None);
        }
        self.compute(&f, args, true)
    }

    /// `len` of a text that is no constant.
    ///
    /// # Errors
    /// None are expected.
    pub(crate) fn length_of_text(&mut self, v: &Var) -> R<Option<Var>> {
        let is_joined = matches!(v, Var::Computed(_) | Var::Text(_));
        if !is_joined || !self.is_changing_text(v) {
            return Ok(None);
        }
        let Some(args) = self.changing_args(std::slice::from_ref(v), Changing::Found)? else {
            return Ok(None);
        };
        let f = self.known.builtins.bind(self.py).getattr("len")?;
        self.compute(&f, args, false)
    }

    /// Whether a power is of the same type for all values that guards let through.
    fn power_keeps_type(&mut self, args: &[Var]) -> R<bool> {
        let [base, exponent] = args else {
            return Ok(false);
        };
        let (Some(b), Some(e)) = (self.value_now(base)?, self.value_now(exponent)?) else {
            return Ok(false);
        };
        let constant = |v: &Var| matches!(v, Var::Const(_));
        let is_int = |v: &Bound<'py, PyAny>| v.is_exact_instance_of::<PyInt>();
        if is_int(&b) && is_int(&e) {
            // A negative exponent makes a float.
            let (true, Var::Int(i)) = (constant(base), exponent) else {
                return Ok(constant(exponent));
            };
            let op = match i.value < 0 {
                true => IntCompare::Lt,
                false => IntCompare::Ge,
            };
            self.guard_relation(IntRelation {
                op,
                left: i.expr.clone(),
                right: IntExpr::Const(0),
            });
            return Ok(true);
        }
        // A negative base makes a complex number of a fraction, which most ints are known not to be.
        if let (Var::Int(i), true) = (base, constant(exponent)) {
            let zero = variables::IntVar {
                expr: IntExpr::Const(0),
                value: 0,
            };
            if self.sure_compare(IntCompare::Gt, i, &zero) == Some(true) {
                return Ok(true);
            }
            if i.value > 0 {
                self.guard_relation(IntRelation {
                    op: IntCompare::Gt,
                    left: i.expr.clone(),
                    right: IntExpr::Const(0),
                });
                return Ok(true);
            }
        }
        let whole =
            constant(exponent) && (is_int(&e) || e.call_method0("is_integer")?.is_truthy()?);
        if whole || is_int(&e) || constant(base) && b.gt(0)? {
            return Ok(true);
        }
        match base {
            Var::Float(f) if matches!(f.expr, FloatExpr::Source(_)) && f.value > 0.0 => {
                let zero = self.int(0);
                let positive = self.float_compare(bytecode::op::CompareOp::Gt, base, &zero)?;
                Ok(positive == Some(true))
            }
            _ => Ok(false),
        }
    }

    // ---- calls ----------------------------------------------------------------------------------

    /// A pure function of arguments of which one is no constant. `None`: it takes the values.
    ///
    /// # Errors
    /// Those of realizing arguments.
    pub fn compute_call(&mut self, function: &Bound<'py, PyAny>, args: &Args) -> R<Option<Var>> {
        if !args.kw.is_empty() {
            return Ok(None);
        }
        match self.changing_args(&args.pos, Changing::Found)? {
            Some(args) => self.compute(function, args, true),
            None => Ok(None),
        }
    }

    /// A method in C of a text or number that is no constant. `None`: it takes the value.
    ///
    /// # Errors
    /// Those of realizing arguments.
    pub(crate) fn compute_method(
        &mut self,
        receiver: &Var,
        name: &Arc<str>,
        args: &Args,
    ) -> R<Option<Var>> {
        let Some(method) = self.changing_method(receiver, name) else {
            return Ok(None);
        };
        let mut pos = vec![receiver.clone()];
        if &**name == "join" {
            return Ok(None);
        }
        pos.extend(args.pos.iter().cloned());
        if !args.kw.is_empty() {
            return Ok(None);
        }
        let Some(args) = self.changing_args(&pos, Changing::Found)? else {
            return Ok(None);
        };
        let may_raise = args.len() > 1 || &**name == "encode";
        self.compute(&method, args, may_raise)
    }

    /// The method in C that the class of a text or number has which is no constant.
    pub(crate) fn changing_method(&mut self, v: &Var, name: &str) -> Option<Bound<'py, PyAny>> {
        let v = self.as_changing(v, Changing::Found)?;
        let class = match &v {
            Var::Lazy(l) => l.obj.bind(self.py).get_type(),
            Var::Int(_) => self.py.get_type::<PyInt>(),
            Var::Float(_) => self.py.get_type::<PyFloat>(),
            Var::Text(_) => self.py.get_type::<PyString>(),
            Var::Computed(c) => c.value.bind(self.py).get_type(),
            _ => return None,
        };
        let method = type_lookup(class.cast::<PyType>().ok()?, name)?;
        let method = method.bind(self.py).clone();
        let descriptor = self.known.method_descriptor.bind(self.py);
        (method.get_type().is(descriptor) && !name.starts_with("__")).then_some(method)
    }
}

/// Whether an operator makes a float of two ints.
fn makes_float(op: BinaryOp, args: &[Var], py: Python<'_>) -> bool {
    let is_negative = |v: &Var| match v {
        Var::Int(i) => i.value < 0,
        Var::Const(o) => o.bind(py).lt(0).unwrap_or(false),
        _ => false,
    };
    match op {
        BinaryOp::TrueDivide => true,
        BinaryOp::Power => is_negative(&args[1]),
        _ => false,
    }
}

/// Whether an object is of an exact immutable builtin type.
pub(super) fn is_simple(b: &Bound<'_, PyAny>) -> bool {
    b.is_none()
        || b.is_exact_instance_of::<PyString>()
        || b.is_exact_instance_of::<PyInt>()
        || b.is_exact_instance_of::<PyFloat>()
        || b.is_exact_instance_of::<PyBool>()
        || b.is_exact_instance_of::<PyBytes>()
        || b.is_exact_instance_of::<PyComplex>()
}
