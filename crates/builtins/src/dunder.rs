//! Special methods called by name: `dict.__setitem__(self, k, v)`, `super().__len__()`, `x.__add__(y)`.
//!
//! What is called here is the builtin class's own method, whatever a subclass overrides.

use crate::asked::pure_const;
use bytecode::op::{BinaryOp, CompareOp};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use translator::stop::{R, Stop};
use translator::tx::{Args, Flow, Tx};
use variables::iter_class::IterClass;
use variables::{Body, Obj, Var};

fn binary_name(name: &str) -> Option<(BinaryOp, Form)> {
    let core = name.strip_prefix("__")?.strip_suffix("__")?;
    let op = BinaryOp::of_method_stem;
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
    let stem = name.strip_prefix("__")?.strip_suffix("__")?;
    CompareOp::of_function(stem)
}

/// A special method of a builtin class. `None`: there is none of this name here.
pub(crate) fn dunder_method(
    tx: &mut Tx<'_>,
    recv: &Var,
    name: &str,
    args: Args,
) -> R<Option<Flow>> {
    if let Some(op) = compare_name(name) {
        let other = tx.one(name, args)?;
        let other = tx.realize(&other)?;
        let r = tx.compare_builtin(recv, op, &other)?;
        return Ok(Some(Flow::Value(r.unwrap_or_else(|| not_implemented(tx)))));
    }
    if let Some((op, form)) = binary_name(name) {
        let mut a = tx.positional(name, args, 1, 2)?;
        let other = tx.realize(&a.remove(0))?;
        return operator_method(tx, recv, op, form, &other).map(|v| Some(Flow::Value(v)));
    }
    let value = match name {
        "__len__" => {
            tx.positional(name, args, 0, 0)?;
            match tx.value_len(recv)? {
                Some(n) => tx.int(n as i64),
                None => return Ok(None),
            }
        }
        "__getitem__" => {
            let k = tx.one(name, args)?;
            let k = tx.realize(&k)?;
            match recv {
                Var::Tuple(t) => tx.tuple_item(&t.clone(), &k)?,
                Var::Obj(id) => return tx.body_item(*id, &k).map(Some),
                _ => return Ok(None),
            }
        }
        "__setitem__" => {
            let a = tx.positional(name, args, 2, 2)?;
            let Some(id) = tx.id_of(recv) else {
                return Ok(None);
            };
            let k = tx.realize(&a[0])?;
            tx.set_body_item(id, &k, &a[1])?;
            tx.none()
        }
        "__delitem__" => {
            let k = tx.one(name, args)?;
            let Some(id) = tx.id_of(recv) else {
                return Ok(None);
            };
            let k = tx.realize(&k)?;
            tx.delete_body_item(id, &k)?;
            tx.none()
        }
        "__contains__" => {
            let v = tx.one(name, args)?;
            let v = tx.realize(&v)?;
            let found = match recv {
                Var::Tuple(t) => {
                    let items = t.items.clone();
                    tx.any_equal(&items, &v)?
                }
                Var::Obj(id) => {
                    let body = tx.obj(*id).body.clone();
                    tx.body_contains(recv, body, &v)?
                }
                _ => tx.contains(recv, &v)?,
            };
            tx.bool(found)
        }
        "__iter__" => {
            tx.positional(name, args, 0, 0)?;
            match recv {
                Var::Tuple(t) => tx.iter_items(IterClass::Tuple, t.items.clone())?,
                Var::Obj(id) if !matches!(tx.obj(*id).body, Body::Plain) => tx.iter_body(*id)?,
                Var::Const(_) => tx.get_iter(recv)?,
                _ => return Ok(None),
            }
        }
        "__repr__" => crate::format::builtin_repr(tx, recv)?,
        "__str__" => match crate::format::exception_text(tx, recv)? {
            Some(v) => v,
            None => crate::format::builtin_repr(tx, recv)?,
        },
        "__format__" => {
            let spec = tx.one(name, args)?;
            crate::format::format_value(tx, recv, None, Some(&spec))?
        }
        "__bool__" => {
            let t = tx.truth(recv)?;
            tx.bool(t)
        }
        "__hash__" => {
            tx.positional(name, args, 0, 0)?;
            return hash_of(tx, recv).map(|v| Some(Flow::Value(v)));
        }
        "__init_subclass__" | "__subclasshook__" => tx.none(),
        _ => return Ok(None),
    };
    Ok(Some(Flow::Value(value)))
}

fn not_implemented(tx: &Tx<'_>) -> Var {
    Var::Const(tx.py.NotImplemented())
}

fn operator_method(tx: &mut Tx<'_>, recv: &Var, op: BinaryOp, form: Form, other: &Var) -> R<Var> {
    if form == Form::Inplace {
        return Ok(match tx.builtin_inplace(op, recv, other)? {
            Some(v) => v,
            None => not_implemented(tx),
        });
    }
    // Only the operator asks a mapping proxy for its own method.
    if tx.mapping_under(other)?.is_some() {
        return Ok(not_implemented(tx));
    }
    let (a, b) = if form == Form::Direct {
        (recv, other)
    } else {
        (other, recv)
    };
    match tx.builtin_binary(op, a, b)? {
        Some(v) => Ok(v),
        None => {
            let sequence = matches!(recv, Var::Tuple(_))
                || matches!(tx.body_of(recv), Some(Body::List(_) | Body::Deque(..)));
            if sequence && matches!(op, BinaryOp::Add | BinaryOp::Multiply) {
                return Err(tx.unsupported_operands(op, false, a, b)?);
            }
            // What an object of a class of its own holds, C reads.
            if tx.is_opaque_number(recv)? || tx.is_opaque_number(other)? {
                return Err(Stop::unsupported(format!(
                    "an operator of {} and {}",
                    tx.describe(recv),
                    tx.describe(other)
                )));
            }
            Ok(not_implemented(tx))
        }
    }
}

/// Stands for an object that has this hash.
#[pyclass(frozen)]
struct Hashed(isize);

#[pymethods]
impl Hashed {
    fn __hash__(&self) -> isize {
        self.0
    }
}

/// The hash that Python gives an object.
fn real_hash(tx: &mut Tx<'_>, o: Obj) -> R<Var> {
    tx.fold(move |py| Ok(o.bind(py).hash()?.into_pyobject(py)?.into_any()))
}

/// `hash(v)`.
///
/// # Errors
/// `TypeError` for unhashable values; a break where the hash is that of an address that does not
/// exist yet.
pub fn hash_of(tx: &mut Tx<'_>, v: &Var) -> R<Var> {
    let v = tx.realize(v)?;
    if let Some(o) = pure_const(tx, &v)? {
        if !o.bind(tx.py).is_exact_instance_of::<PyInt>() {
            tx.facts.is_of_process("a hash");
        }
        return real_hash(tx, o);
    }
    tx.facts.is_of_process("a hash");
    if tx.special(&v, "__hash__")? == translator::values::Special::Absent {
        let name = tx.type_name(&v)?;
        return Err(tx.raise("TypeError", &format!("unhashable type: '{name}'")));
    }
    if tx.special(&v, "__hash__")?.is_user() {
        return tx.special_sync(&v, "__hash__", vec![]);
    }
    if let Var::Py(p) = &v {
        let o = p.obj.clone();
        return real_hash(tx, o);
    }
    if let Some(plain) = tx.plain_value(&v) {
        return hash_of(tx, &plain);
    }
    // C code hashes the items of a tuple alone, whatever its class.
    if let Var::Tuple(t) = &v {
        let mut hashes = Vec::with_capacity(t.items.len());
        for item in &t.items {
            let hash = hash_of(tx, item)?;
            let Some(hash) = tx.as_const(&hash)? else {
                return Err(Stop::unsupported(
                    "hash() of a tuple of what hashes by a number that changes",
                ));
            };
            // As `hash()` makes one of a number that a `__hash__` gives.
            hashes.push(Hashed(match hash.bind(tx.py).extract() {
                Ok(-1) | Err(_) => hash.bind(tx.py).hash()?,
                Ok(hash) => hash,
            }));
        }
        return tx.fold(move |py| {
            let hash = pyo3::types::PyTuple::new(py, hashes)?.hash()?;
            Ok(hash.into_pyobject(py)?.into_any())
        });
    }
    tx.key(&v)?;
    Err(Stop::brk(
        format!("hash() of {}", tx.describe(&v)),
        "The hash of this object is that of its address, which is known only when the program runs.",
        "Hash a name or number instead.",
    ))
}
