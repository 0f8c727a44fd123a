//! Special methods called by name: `dict.__setitem__(self, k, v)`, `super().__len__()`, `x.__add__(y)`.
//!
//! What is called here is the builtin class's own method, whatever a subclass overrides.

use bytecode::op::{BinaryOp, CompareOp};
use pyo3::prelude::*;
use variables::{Body, Var};

use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};
use crate::values::IterClass;

fn binary_name(name: &str) -> Option<(BinaryOp, Form)> {
    let core = name.strip_prefix("__")?.strip_suffix("__")?;
    let op = |n: &str| {
        Some(match n {
            "add" => BinaryOp::Add,
            "and" => BinaryOp::And,
            "floordiv" => BinaryOp::FloorDivide,
            "lshift" => BinaryOp::Lshift,
            "matmul" => BinaryOp::MatrixMultiply,
            "mul" => BinaryOp::Multiply,
            "mod" => BinaryOp::Remainder,
            "or" => BinaryOp::Or,
            "pow" => BinaryOp::Power,
            "rshift" => BinaryOp::Rshift,
            "sub" => BinaryOp::Subtract,
            "truediv" => BinaryOp::TrueDivide,
            "xor" => BinaryOp::Xor,
            _ => return None,
        })
    };
    if let Some(o) = op(core) {
        return Some((o, Form::Direct));
    }
    if let Some(o) = core.strip_prefix('r').and_then(op) {
        return Some((o, Form::Reflected));
    }
    core.strip_prefix('i')
        .and_then(op)
        .map(|o| (o, Form::Inplace))
}

/// Which of an operator's three methods.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Direct,
    Reflected,
    Inplace,
}

fn compare_name(name: &str) -> Option<CompareOp> {
    Some(match name {
        "__lt__" => CompareOp::Lt,
        "__le__" => CompareOp::Le,
        "__eq__" => CompareOp::Eq,
        "__ne__" => CompareOp::Ne,
        "__gt__" => CompareOp::Gt,
        "__ge__" => CompareOp::Ge,
        _ => return None,
    })
}

impl Tx<'_> {
    /// A special method of a builtin class. `None`: there is none of this name here.
    pub(super) fn dunder_method(&mut self, recv: &Var, name: &str, args: Args) -> R<Option<Flow>> {
        if let Some(op) = compare_name(name) {
            let other = self.one(name, args)?;
            let other = self.realize(&other)?;
            let r = self.compare_builtin(recv, op, &other)?;
            return Ok(Some(Flow::Value(
                r.unwrap_or_else(|| self.not_implemented()),
            )));
        }
        if let Some((op, form)) = binary_name(name) {
            let mut a = self.positional(name, args, 1, 2)?;
            let other = self.realize(&a.remove(0))?;
            return self
                .operator_method(recv, op, form, &other)
                .map(|v| Some(Flow::Value(v)));
        }
        let value = match name {
            "__len__" => {
                self.positional(name, args, 0, 0)?;
                match self.value_len(recv)? {
                    Some(n) => self.int(n as i64),
                    None => return Ok(None),
                }
            }
            "__getitem__" => {
                let k = self.one(name, args)?;
                let k = self.realize(&k)?;
                match recv {
                    Var::Tuple(t) => self.tuple_item(&t.clone(), &k)?,
                    Var::Obj(id) => return self.body_item(*id, &k).map(Some),
                    _ => return Ok(None),
                }
            }
            "__setitem__" => {
                let a = self.positional(name, args, 2, 2)?;
                let Some(id) = self.id_of(recv) else {
                    return Ok(None);
                };
                let k = self.realize(&a[0])?;
                self.set_body_item(id, &k, &a[1])?;
                self.none()
            }
            "__delitem__" => {
                let k = self.one(name, args)?;
                let Some(id) = self.id_of(recv) else {
                    return Ok(None);
                };
                let k = self.realize(&k)?;
                self.delete_body_item(id, &k)?;
                self.none()
            }
            "__contains__" => {
                let v = self.one(name, args)?;
                let v = self.realize(&v)?;
                let found = match recv {
                    Var::Tuple(t) => {
                        let items = t.items.clone();
                        self.any_equal(&items, &v)?
                    }
                    Var::Obj(id) => {
                        let body = self.obj(*id).body.clone();
                        self.body_contains(recv, body, &v)?
                    }
                    _ => self.contains(recv, &v)?,
                };
                self.bool(found)
            }
            "__iter__" => {
                self.positional(name, args, 0, 0)?;
                match recv {
                    Var::Tuple(t) => self.iter_items(IterClass::Tuple, t.items.clone())?,
                    Var::Obj(id) if !matches!(self.obj(*id).body, Body::Plain) => {
                        self.iter_body(*id)?
                    }
                    Var::Const(_) => self.get_iter(recv)?,
                    _ => return Ok(None),
                }
            }
            "__repr__" => self.builtin_repr(recv)?,
            "__str__" => match self.exception_text(recv)? {
                Some(v) => v,
                None => self.builtin_repr(recv)?,
            },
            "__format__" => {
                let spec = self.one(name, args)?;
                self.format_value(recv, None, Some(&spec))?
            }
            "__bool__" => {
                let t = self.truth(recv)?;
                self.bool(t)
            }
            "__hash__" => {
                self.positional(name, args, 0, 0)?;
                return self.hash_of(recv).map(|v| Some(Flow::Value(v)));
            }
            "__init_subclass__" | "__subclasshook__" => self.none(),
            _ => return Ok(None),
        };
        Ok(Some(Flow::Value(value)))
    }

    fn not_implemented(&self) -> Var {
        Var::Const(self.py.NotImplemented())
    }

    fn operator_method(&mut self, recv: &Var, op: BinaryOp, form: Form, other: &Var) -> R<Var> {
        if form == Form::Inplace {
            return Ok(match self.builtin_inplace(op, recv, other)? {
                Some(v) => v,
                None => self.not_implemented(),
            });
        }
        // Only the operator asks a mapping proxy for its own method.
        if self.mapping_under(other)?.is_some() {
            return Ok(self.not_implemented());
        }
        let (a, b) = if form == Form::Direct {
            (recv, other)
        } else {
            (other, recv)
        };
        match self.builtin_binary(op, a, b)? {
            Some(v) => Ok(v),
            None => {
                let sequence = matches!(recv, Var::Tuple(_))
                    || matches!(self.body_of(recv), Some(Body::List(_) | Body::Deque(..)));
                if sequence && matches!(op, BinaryOp::Add | BinaryOp::Multiply) {
                    return Err(self.unsupported_operands(op, false, a, b)?);
                }
                // What an object of a class of its own holds, C reads.
                if self.is_opaque_number(recv)? || self.is_opaque_number(other)? {
                    return Err(Stop::unsupported(format!(
                        "an operator of {} and {}",
                        self.describe(recv),
                        self.describe(other)
                    )));
                }
                Ok(self.not_implemented())
            }
        }
    }

    /// `hash(v)`.
    ///
    /// # Errors
    /// `TypeError` for unhashable values; a break where the hash is that of an address that does not
    /// exist yet.
    pub fn hash_of(&mut self, v: &Var) -> R<Var> {
        let v = self.realize(v)?;
        if let Some(o) = self.pure_const(&v)? {
            return self.fold(move |py| {
                o.bind(py)
                    .hash()?
                    .into_pyobject(py)
                    .map(Bound::into_any)
                    .map_err(Into::into)
            });
        }
        if self.special(&v, "__hash__")? == crate::values::Special::Absent {
            let name = self.type_name(&v)?;
            return Err(self.raise("TypeError", &format!("unhashable type: '{name}'")));
        }
        if self.special(&v, "__hash__")?.is_user() {
            return self.special_sync(&v, "__hash__", vec![]);
        }
        if let Var::Py(p) = &v {
            let o = p.obj.clone();
            return self.fold(move |py| {
                o.bind(py)
                    .hash()?
                    .into_pyobject(py)
                    .map(Bound::into_any)
                    .map_err(Into::into)
            });
        }
        self.key(&v)?;
        Err(Stop::brk(
            format!("hash() of {}", self.describe(&v)),
            "The hash of this object is that of its address, which is known only when the program runs.",
            "Hash a name or number instead.",
        ))
    }
}
