//! Binary and unary operators: who is asked, in which order.
//!
//! The dispatch of CPython's `binary_op1`: the right operand goes first where its class derives from
//! the left one's and overrides the reflected method. Builtin operands are in `operators`.

use bytecode::op::{BinaryOp, UnaryOp};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use variables::{Obj, Var};

use super::special::Special;
use crate::stop::{R, Stop};
use crate::tx::{Flow, Tx};

/// Names of an operator.
pub(super) struct OpNames {
    /// `__add__`
    pub direct: &'static str,
    /// `__radd__`
    pub reflected: &'static str,
    /// `__iadd__`
    pub inplace: &'static str,
    /// `+`
    pub symbol: &'static str,
}

/// The names of a binary operator.
pub(super) fn names(op: BinaryOp) -> OpNames {
    let n = |direct, reflected, inplace, symbol| OpNames {
        direct,
        reflected,
        inplace,
        symbol,
    };
    match op {
        BinaryOp::Add => n("__add__", "__radd__", "__iadd__", "+"),
        BinaryOp::And => n("__and__", "__rand__", "__iand__", "&"),
        BinaryOp::FloorDivide => n("__floordiv__", "__rfloordiv__", "__ifloordiv__", "//"),
        BinaryOp::Lshift => n("__lshift__", "__rlshift__", "__ilshift__", "<<"),
        BinaryOp::MatrixMultiply => n("__matmul__", "__rmatmul__", "__imatmul__", "@"),
        BinaryOp::Multiply => n("__mul__", "__rmul__", "__imul__", "*"),
        BinaryOp::Remainder => n("__mod__", "__rmod__", "__imod__", "%"),
        BinaryOp::Or => n("__or__", "__ror__", "__ior__", "|"),
        BinaryOp::Power => n("__pow__", "__rpow__", "__ipow__", "** or pow()"),
        BinaryOp::Rshift => n("__rshift__", "__rrshift__", "__irshift__", ">>"),
        BinaryOp::Subtract => n("__sub__", "__rsub__", "__isub__", "-"),
        BinaryOp::TrueDivide => n("__truediv__", "__rtruediv__", "__itruediv__", "/"),
        BinaryOp::Xor => n("__xor__", "__rxor__", "__ixor__", "^"),
    }
}

/// An operator on real Python objects.
pub(super) fn apply<'py>(
    op: BinaryOp,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    match op {
        BinaryOp::Add => a.add(b),
        BinaryOp::And => a.bitand(b),
        BinaryOp::FloorDivide => a.floor_div(b),
        BinaryOp::Lshift => a.lshift(b),
        BinaryOp::MatrixMultiply => a.matmul(b),
        BinaryOp::Multiply => a.mul(b),
        BinaryOp::Remainder => a.rem(b),
        BinaryOp::Or => a.bitor(b),
        BinaryOp::Power => a.pow(b, a.py().None()),
        BinaryOp::Rshift => a.rshift(b),
        BinaryOp::Subtract => a.sub(b),
        BinaryOp::TrueDivide => a.div(b),
        BinaryOp::Xor => a.bitxor(b),
    }
}

impl Tx<'_> {
    /// `a op b`, or `a op= b`.
    ///
    /// # Errors
    /// Whatever the operation raises; a break where it has no rule.
    pub fn binary(&mut self, op: BinaryOp, inplace: bool, a: &Var, b: &Var) -> R<Flow> {
        if let Some(v) = self.text_binary(op, a, b)? {
            return Ok(Flow::Value(v));
        }
        if let Some(v) = self.compute_first(op, a, b)? {
            return Ok(Flow::Value(v));
        }
        let (mut a, mut b) = self.settled_operands(a, b)?;
        if matches!(a, Var::Computed(_)) || matches!(b, Var::Computed(_)) {
            if let Some(v) = self.compute_binary(op, &a, &b)? {
                return Ok(Flow::Value(v));
            }
            (a, b) = (self.counted(op, &a, &b)?, self.counted(op, &b, &a)?);
        }
        let (a, b) = (&a, &b);
        for (condition, other) in [(a, b), (b, a)] {
            if (self.rules.torch.is_condition)(self, condition)
                && matches!(self.look(other)?, Var::Tensor(_))
            {
                return self.tensor_binary(op, inplace, a, b);
            }
        }
        if let Some(flow) =
            self.beside_tensor(a, b, |tx, a, b| tx.tensor_binary(op, inplace, a, b))?
        {
            return Ok(flow);
        }
        let names = names(op);
        let name = match inplace {
            true => names.inplace,
            false => names.direct,
        };
        let (a, b) = match self.array_operator(name, a, b)? {
            Ok(flow) => return Ok(flow),
            Err(operands) => operands,
        };
        if a.is_dynamic_number() || b.is_dynamic_number() {
            if let Some(v) = self.int_binary(op, &a, &b)? {
                return Ok(Flow::Value(v));
            }
            if matches!(a, Var::Tensor(_)) || matches!(b, Var::Tensor(_)) {
                return self.tensor_binary(op, inplace, &a, &b);
            }
            if let Some(v) = self.float_binary(op, &a, &b)? {
                return Ok(Flow::Value(v));
            }
            if let Some(v) = self.compute_binary(op, &a, &b)? {
                return Ok(Flow::Value(v));
            }
            let (a, b) = (self.realize(&a)?, self.realize(&b)?);
            return self.binary(op, inplace, &a, &b);
        }
        if let (Var::Const(x), Var::Const(y)) = (&a, &b) {
            return self.fold_binary(op, inplace, x, y).map(Flow::Value);
        }
        let tensor = matches!(a, Var::Tensor(_)) || matches!(b, Var::Tensor(_));
        let plain = |v: &Var| matches!(v, Var::Const(_) | Var::Tensor(_));
        if tensor && plain(&a) && plain(&b) && !self.is_text(&a) {
            return self.tensor_binary(op, inplace, &a, &b);
        }
        let left_user = self.special(&a, names.direct)?.is_user();
        let (class_a, class_b) = (self.type_of(&a)?, self.type_of(&b)?);
        let same = class_a.is(&class_b);
        let right_user = !same && self.special(&b, names.reflected)?.is_user();
        if !left_user
            && !right_user
            && let Some((x, y)) = self.plain_values(&a, &b)
            // A text without fields is given back as it is.
            && !(op == BinaryOp::Remainder && self.plain_text(&a).is_some())
        {
            let made = self.binary(op, inplace, &x, &y);
            return self.of_plain_values(made);
        }
        // C asks both operands as numbers first, and those in Python are numbers to it.
        let last = (left_user || right_user) && self.is_of_sequences(op, &a, &b);
        let inplace_user = inplace && self.special(&a, names.inplace)?.is_user();
        if inplace {
            if inplace_user {
                let r = self.special_sync(&a, names.inplace, vec![b.clone()])?;
                if !self.is_not_implemented(&r) {
                    return Ok(Flow::Value(r));
                }
            } else if !last && let Some(v) = self.builtin_inplace(op, &a, &b)? {
                return Ok(Flow::Value(v));
            }
        }
        if !left_user && !right_user {
            if tensor && !self.is_text(&a) {
                return self.tensor_binary(op, inplace, &a, &b);
            }
            if let Some(v) = self.builtin_binary(op, &a, &b)? {
                return Ok(Flow::Value(v));
            }
            return Err(self.unsupported_operands(op, inplace, &a, &b)?);
        }
        if right_user
            && self.is_subtype(&class_b, &class_a)
            && self.overrides(&class_a, &class_b, names.reflected)?
        {
            let r = self.special_sync(&b, names.reflected, vec![a.clone()])?;
            if !self.is_not_implemented(&r) {
                return Ok(Flow::Value(r));
            }
            return self.left_then_fail(op, inplace, &a, &b, left_user);
        }
        if left_user {
            let r = self.special_sync(&a, names.direct, vec![b.clone()])?;
            if !self.is_not_implemented(&r) {
                return Ok(Flow::Value(r));
            }
        } else if tensor && self.is_opaque_number(&b)? {
            return self.tensor_binary(op, inplace, &a, &b);
        } else if tensor || last {
            // A tensor's operator gives `NotImplemented` for an operand that is no tensor-like.
        } else if let Some(v) = self.builtin_binary(op, &a, &b)? {
            return Ok(Flow::Value(v));
        }
        if right_user {
            let r = self.special_sync(&b, names.reflected, vec![a.clone()])?;
            if !self.is_not_implemented(&r) {
                return Ok(Flow::Value(r));
            }
        } else if !last && let Some(v) = self.builtin_binary(op, &a, &b)? {
            return Ok(Flow::Value(v));
        }
        if last {
            if inplace
                && !inplace_user
                && let Some(v) = self.builtin_inplace(op, &a, &b)?
            {
                return Ok(Flow::Value(v));
            }
            // An operator in Python takes the place of the sequence's own.
            let replaced = left_user && self.is_sequence(&a);
            if !replaced && let Some(v) = self.builtin_binary(op, &a, &b)? {
                return Ok(Flow::Value(v));
            }
        }
        Err(self.unsupported_operands(op, inplace, &a, &b)?)
    }

    /// Whether an operator joins or repeats a sequence.
    fn is_of_sequences(&self, op: BinaryOp, a: &Var, b: &Var) -> bool {
        match op {
            BinaryOp::Add => self.is_sequence(a),
            BinaryOp::Multiply => self.is_sequence(a) || self.is_sequence(b),
            _ => false,
        }
    }

    /// The same, run to its end.
    ///
    /// # Errors
    /// As [`Tx::binary`].
    pub fn binary_sync(&mut self, op: BinaryOp, a: &Var, b: &Var) -> R<Var> {
        let flow = self.binary(op, false, a, b)?;
        self.finish_flow(flow)
    }

    fn left_then_fail(
        &mut self,
        op: BinaryOp,
        inplace: bool,
        a: &Var,
        b: &Var,
        left_user: bool,
    ) -> R<Flow> {
        if left_user {
            let r = self.special_sync(a, names(op).direct, vec![b.clone()])?;
            if !self.is_not_implemented(&r) {
                return Ok(Flow::Value(r));
            }
        } else if let Some(v) = self.builtin_binary(op, a, b)? {
            return Ok(Flow::Value(v));
        }
        Err(self.unsupported_operands(op, inplace, a, b)?)
    }

    /// Whether a subclass has a reflected method that its base does not have.
    fn overrides(&mut self, base: &Obj, class: &Obj, name: &str) -> R<bool> {
        let theirs = self.class_lookup(class, name)?;
        let ours = self.class_lookup(base, name)?;
        Ok(match (ours, theirs) {
            (Some(a), Some(b)) => !a.is(&b),
            (None, Some(_)) => true,
            _ => false,
        })
    }

    fn fold_binary(&mut self, op: BinaryOp, inplace: bool, x: &Obj, y: &Obj) -> R<Var> {
        if too_large(self.py, op, x, y) {
            return Err(Stop::unsupported(
                "a constant operation with a very large result",
            ));
        }
        let (x, y) = (x.clone(), y.clone());
        let operator = self.known.operator.clone();
        self.fold(move |py| {
            let (a, b) = (x.bind(py), y.bind(py));
            if inplace {
                // Only for the operator's name in error messages.
                let name = names(op).inplace.trim_matches('_').to_owned();
                return operator.bind(py).call_method1(name, (a, b));
            }
            apply(op, a, b)
        })
    }

    /// The `TypeError` of operands that do not go together.
    pub fn unsupported_operands(
        &mut self,
        op: BinaryOp,
        inplace: bool,
        a: &Var,
        b: &Var,
    ) -> R<Stop> {
        let symbol = match (op, inplace) {
            (BinaryOp::Power, true) => "**=".to_owned(),
            (_, true) => format!("{}=", names(op).symbol),
            _ => names(op).symbol.to_owned(),
        };
        let (x, y) = (self.type_name(a)?, self.type_name(b)?);
        let sequence = |n: &str| matches!(n, "list" | "tuple" | "str" | "bytes" | "deque");
        let message = match op {
            BinaryOp::Add if matches!(&*x, "list" | "tuple" | "deque") => {
                format!("can only concatenate {x} (not \"{y}\") to {x}")
            }
            BinaryOp::Add if x == "str" => format!("can only concatenate str (not \"{y}\") to str"),
            BinaryOp::Multiply if sequence(&x) && !matches!(b, Var::Tensor(_)) => {
                format!("can't multiply sequence by non-int of type '{y}'")
            }
            BinaryOp::Multiply if sequence(&y) && !matches!(a, Var::Tensor(_)) => {
                format!("can't multiply sequence by non-int of type '{x}'")
            }
            _ => format!("unsupported operand type(s) for {symbol}: '{x}' and '{y}'"),
        };
        Ok(self.raise("TypeError", &message))
    }

    /// `-x`, `+x`, `~x`, `not x`.
    ///
    /// # Errors
    /// Whatever the operation raises; a break where it has no rule.
    pub fn unary(&mut self, op: UnaryOp, a: &Var) -> R<Flow> {
        if op == UnaryOp::Negative
            && let Some(v) = self.float_negative(a)
        {
            return Ok(Flow::Value(v));
        }
        if let Some(v) = self.int_unary(op, a) {
            return Ok(Flow::Value(v));
        }
        if op == UnaryOp::Not {
            let t = self.truth(a)?;
            return Ok(Flow::Value(self.bool(!t)));
        }
        let a = self.realize(a)?;
        if matches!(a, Var::Tensor(_)) {
            return self.tensor_unary(op, &a);
        }
        let (name, symbol) = match op {
            UnaryOp::Positive => ("__pos__", "+"),
            UnaryOp::Negative => ("__neg__", "-"),
            UnaryOp::Invert | UnaryOp::Not => ("__invert__", "~"),
        };
        if self.array_id(&a).is_some()
            && let Some(flow) = (self.rules.arrays.operator)(self, name, &[&a])?
        {
            return Ok(flow);
        }
        match self.special(&a, name)? {
            Special::User => self.special_flow(&a, name, vec![]),
            Special::Builtin if let Some(plain) = self.plain_value(&a) => {
                let made = self.unary(op, &plain);
                self.of_plain_values(made)
            }
            Special::Builtin => match a.as_obj().cloned() {
                // Python warns, on each call.
                Some(o) if op == UnaryOp::Invert && o.bind(self.py).is_instance_of::<PyBool>() => {
                    Err(Stop::unsupported("inversion of a truth value"))
                }
                Some(o) => self
                    .fold(move |py| match op {
                        UnaryOp::Positive => o.bind(py).pos(),
                        UnaryOp::Negative => o.bind(py).neg(),
                        UnaryOp::Invert | UnaryOp::Not => o.bind(py).bitnot(),
                    })
                    .map(Flow::Value),
                None => Err(Stop::unsupported(format!(
                    "unary {symbol} of {}",
                    self.describe(&a)
                ))),
            },
            Special::Absent => {
                let class = self.type_name(&a)?;
                Err(self.raise(
                    "TypeError",
                    &format!("bad operand type for unary {symbol}: '{class}'"),
                ))
            }
        }
    }

    /// Whether a value is a `str` or `bytes` constant, for which `%` is formatting.
    pub(super) fn is_text(&self, v: &Var) -> bool {
        matches!(v, Var::Const(o) if {
            let b = o.bind(self.py);
            b.is_exact_instance_of::<pyo3::types::PyString>() || b.is_exact_instance_of::<pyo3::types::PyBytes>()
        })
    }
}

/// Guards the translator against constant operations that take long or much memory.
pub(super) fn too_large(py: Python<'_>, op: BinaryOp, x: &Obj, y: &Obj) -> bool {
    const MAX_BITS: f64 = 1e6;
    let (x, y) = (x.bind(py), y.bind(py));
    match op {
        BinaryOp::Power | BinaryOp::Lshift => {
            if !x.is_instance_of::<pyo3::types::PyInt>()
                || !y.is_instance_of::<pyo3::types::PyInt>()
            {
                return false;
            }
            let bits = x
                .call_method0("bit_length")
                .and_then(|b| b.extract::<f64>())
                .unwrap_or(0.0);
            let Ok(n) = y.extract::<f64>() else {
                return true;
            };
            if op == BinaryOp::Power {
                bits > 1.0 && n > 0.0 && bits * n > MAX_BITS
            } else {
                bits > 0.0 && n > MAX_BITS
            }
        }
        BinaryOp::Multiply => {
            let len = |s: &Bound<'_, PyAny>, n: &Bound<'_, PyAny>| matches!((s.len(), n.extract::<f64>()), (Ok(l), Ok(n)) if n > 0.0 && l as f64 * n > 1e8);
            len(x, y) || len(y, x)
        }
        _ => false,
    }
}
