//! Hash keys of tracked dictionaries and sets: equality as Python's `==` has it.
//!
//! `__hash__` and `__eq__` of the user's have run when a key is made: equal objects have the same key.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use fx_graph::NodeId;
use guards::IntExpr;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString, PyTuple};

use crate::object::ObjId;
use crate::var::{Obj, Var};

/// A key with Python's notion of equality (`1 == 1.0 == True`), computed once.
#[derive(Clone, Debug)]
pub enum Key {
    /// a constant with its Python hash
    Const(isize, Obj),
    /// an object that hashes by identity: its address
    Id(usize),
    /// a tensor
    Node(NodeId),
    /// a tracked object that hashes by identity
    Obj(ObjId),
    /// an object whose class defines `__hash__`: that hash, the first object that was found
    /// equal, and who is told where that does not tell it from another key
    Hashed(isize, ObjId, Doubt),
    /// a tuple of keys
    Tuple(Vec<Key>),
    /// `id()` of what the other key names by identity
    Address(Box<Key>),
    /// an int that is no constant, by how it is computed: not a key of a dictionary
    Int(IntExpr),
}

impl Key {
    /// The key of a value, or `None` where hashing would run user code or is not defined.
    pub fn new(
        py: Python<'_>,
        var: &Var,
        obj_by_identity: impl Fn(ObjId) -> bool + Copy,
    ) -> Option<Key> {
        match var {
            Var::Const(o) => o.bind(py).hash().ok().map(|h| Key::Const(h, o.clone())),
            Var::Tensor(t) => Some(Key::Node(t.node)),
            Var::Tuple(t) => t
                .items
                .iter()
                .map(|v| Key::new(py, v, obj_by_identity))
                .collect::<Option<Vec<_>>>()
                .map(Key::Tuple),
            Var::Obj(id) => obj_by_identity(*id).then_some(Key::Obj(*id)),
            Var::Func(f) => Some(Key::Obj(f.obj)),
            Var::Py(p) => Key::existing(p.obj.bind(py)),
            _ => None,
        }
    }
}

impl Key {
    /// The key of `id(var)`: the same for the same object only.
    pub fn address(var: &Var) -> Option<Key> {
        let key = match var {
            Var::Const(o) => Key::Id(o.as_ptr() as usize),
            Var::Py(p) => Key::Id(p.obj.as_ptr() as usize),
            Var::Tensor(t) => Key::Node(t.node),
            Var::Obj(id) => Key::Obj(*id),
            Var::Func(f) => Key::Obj(f.obj),
            Var::Tuple(t) => Key::Id(match &t.origin {
                Some((real, _)) => real.as_ptr() as usize,
                None => Rc::as_ptr(t) as usize,
            }),
            _ => return None,
        };
        Some(Key::Address(Box::new(key)))
    }

    /// The key of an object that is used by identity. One that is a number, text or tuple as well
    /// (an `IntEnum` member) hashes and compares as that.
    fn existing(obj: &Bound<'_, PyAny>) -> Option<Key> {
        let id = Key::Id(obj.as_ptr() as usize);
        let mixed = obj.is_instance_of::<PyInt>()
            || obj.is_instance_of::<PyString>()
            || obj.is_instance_of::<PyFloat>()
            || obj.is_instance_of::<PyBytes>()
            || obj.is_instance_of::<PyTuple>();
        if !mixed {
            return Some(id);
        }
        let class = obj.get_type();
        let slot = |n: &str| {
            class
                .getattr(n)
                .ok()
                .and_then(|f| f.get_type().name().ok())
                .is_some_and(|n| n == "wrapper_descriptor")
        };
        match (slot("__hash__"), slot("__eq__")) {
            (true, true) if obj.is_instance_of::<PyTuple>() => {
                let items = obj.cast::<PyTuple>().ok()?;
                items
                    .iter()
                    .map(|i| Key::item(&i))
                    .collect::<Option<_>>()
                    .map(Key::Tuple)
            }
            (true, true) => obj.hash().ok().map(|h| Key::Const(h, obj.clone().unbind())),
            // `Enum.__hash__` is that of the name, and members are equal to themselves alone,
            // unless a mix-in compares: then neither rule is safe.
            _ => None,
        }
    }
}

impl Key {
    /// The key of an item of a tuple that is used as a whole.
    fn item(obj: &Bound<'_, PyAny>) -> Option<Key> {
        let constant = obj.is_none()
            || obj.is_exact_instance_of::<PyInt>()
            || obj.is_exact_instance_of::<PyBool>()
            || obj.is_exact_instance_of::<PyString>()
            || obj.is_exact_instance_of::<PyFloat>()
            || obj.is_exact_instance_of::<PyBytes>();
        match constant {
            true => Some(Key::Const(obj.hash().ok()?, obj.clone().unbind())),
            false => Key::existing(obj),
        }
    }
}

/// Whether two keys of a translation were compared that only `__eq__` can tell apart: an object with a
/// hash of its own and a constant with the same hash.
#[derive(Clone, Debug, Default)]
pub struct Doubt(Rc<Cell<bool>>);

impl Doubt {
    /// Whether that was so since the last time.
    pub fn take(&self) -> bool {
        self.0.replace(false)
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        match (self, other) {
            (Key::Const(h, a), Key::Const(k, b)) => {
                h == k
                    && (a.is(b) || Python::attach(|py| a.bind(py).eq(b.bind(py)).unwrap_or(false)))
            }
            (Key::Id(a), Key::Id(b)) => a == b,
            (Key::Node(a), Key::Node(b)) => a == b,
            (Key::Obj(a), Key::Obj(b)) => a == b,
            (Key::Tuple(a), Key::Tuple(b)) => a == b,
            (Key::Address(a), Key::Address(b)) => a == b,
            (Key::Int(a), Key::Int(b)) => a == b,
            (Key::Hashed(h, a, _), Key::Hashed(k, b, _)) => h == k && a == b,
            (Key::Hashed(h, _, doubt), Key::Const(k, _))
            | (Key::Const(k, _), Key::Hashed(h, _, doubt)) => {
                if h == k {
                    doubt.0.set(true);
                }
                false
            }
            _ => false,
        }
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Key::Const(h, _) | Key::Hashed(h, _, _) => h.hash(state),
            Key::Id(a) => a.hash(state),
            Key::Node(n) => n.hash(state),
            Key::Obj(o) => o.hash(state),
            Key::Tuple(t) => t.hash(state),
            Key::Address(k) => k.hash(state),
            Key::Int(expr) => expr.hash(state),
        }
    }
}
