//! Arguments of nodes. Says nothing about what an argument means to the function it is given to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::node::NodeId;

/// Keyword arguments of a node, in the order in which the call named them.
pub type Kwargs = Vec<(Arc<str>, Arg)>;

/// One argument of a node: a value of the graph, a constant, or an aggregate of arguments.
///
/// A symbolic integer is a node like any other value, so it is [`Arg::Node`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Arg {
    /// The value that a node of the same graph produces.
    Node(NodeId),
    /// `None`.
    None,
    /// `True` or `False`.
    Bool(bool),
    /// A Python int that fits 64 bits; a larger one is [`Arg::Opaque`].
    Int(i64),
    /// A Python float.
    Float(f64),
    /// A Python str.
    Str(Arc<str>),
    /// `...`.
    Ellipsis,
    /// A tuple.
    Tuple(Vec<Arg>),
    /// A list.
    List(Vec<Arg>),
    /// A dict, in insertion order.
    Dict(Vec<(Arg, Arg)>),
    /// `slice(start, stop, step)`.
    Slice(Box<[Arg; 3]>),
    /// Any other Python object, such as a dtype or a device.
    Opaque {
        /// Index into the caller's table of Python objects.
        handle: u32,
        /// `repr` of the object, as printed in every text form.
        repr: Arc<str>,
    },
}

impl Arg {
    /// `slice(start, stop, step)`.
    pub fn slice(start: Arg, stop: Arg, step: Arg) -> Arg {
        Arg::Slice(Box::new([start, stop, step]))
    }

    /// Calls `visit` for each node named in the argument, depth first, repeats included.
    pub fn for_each_node(&self, visit: &mut impl FnMut(NodeId)) {
        match self {
            Arg::Node(id) => visit(*id),
            Arg::Tuple(items) | Arg::List(items) => {
                for item in items {
                    item.for_each_node(visit);
                }
            }
            Arg::Dict(items) => {
                for (key, value) in items {
                    key.for_each_node(visit);
                    value.for_each_node(visit);
                }
            }
            Arg::Slice(parts) => {
                for part in parts.iter() {
                    part.for_each_node(visit);
                }
            }
            _ => {}
        }
    }

    /// Calls `visit` for each handle of the caller's object table named in the argument.
    pub fn for_each_handle(&self, visit: &mut impl FnMut(u32)) {
        match self {
            Arg::Opaque { handle, .. } => visit(*handle),
            Arg::Tuple(items) | Arg::List(items) => {
                for item in items {
                    item.for_each_handle(visit);
                }
            }
            Arg::Dict(items) => {
                for (key, value) in items {
                    key.for_each_handle(visit);
                    value.for_each_handle(visit);
                }
            }
            Arg::Slice(parts) => {
                for part in parts.iter() {
                    part.for_each_handle(visit);
                }
            }
            _ => {}
        }
    }

    /// Replaces every use of the node `old` by `new`.
    pub(crate) fn replace_node(&mut self, old: NodeId, new: &Arg) {
        match self {
            Arg::Node(id) if *id == old => *self = new.clone(),
            Arg::Tuple(items) | Arg::List(items) => {
                for item in items {
                    item.replace_node(old, new);
                }
            }
            Arg::Dict(items) => {
                for (key, value) in items {
                    key.replace_node(old, new);
                    value.replace_node(old, new);
                }
            }
            Arg::Slice(parts) => {
                for part in parts.iter_mut() {
                    part.replace_node(old, new);
                }
            }
            _ => {}
        }
    }
}

/// Equality of structure; floats are equal when their bits are, so `nan` equals itself and
/// `0.0` differs from `-0.0`.
impl PartialEq for Arg {
    fn eq(&self, other: &Arg) -> bool {
        match (self, other) {
            (Arg::Node(a), Arg::Node(b)) => a == b,
            (Arg::None, Arg::None) | (Arg::Ellipsis, Arg::Ellipsis) => true,
            (Arg::Bool(a), Arg::Bool(b)) => a == b,
            (Arg::Int(a), Arg::Int(b)) => a == b,
            (Arg::Float(a), Arg::Float(b)) => a.to_bits() == b.to_bits(),
            (Arg::Str(a), Arg::Str(b)) => a == b,
            (Arg::Tuple(a), Arg::Tuple(b)) | (Arg::List(a), Arg::List(b)) => a == b,
            (Arg::Dict(a), Arg::Dict(b)) => a == b,
            (Arg::Slice(a), Arg::Slice(b)) => a == b,
            (Arg::Opaque { handle: a, repr: x }, Arg::Opaque { handle: b, repr: y }) => {
                a == b && x == y
            }
            _ => false,
        }
    }
}

impl Eq for Arg {}

impl From<NodeId> for Arg {
    fn from(id: NodeId) -> Arg {
        Arg::Node(id)
    }
}

impl From<bool> for Arg {
    fn from(value: bool) -> Arg {
        Arg::Bool(value)
    }
}

impl From<i64> for Arg {
    fn from(value: i64) -> Arg {
        Arg::Int(value)
    }
}

impl From<f64> for Arg {
    fn from(value: f64) -> Arg {
        Arg::Float(value)
    }
}

impl From<&str> for Arg {
    fn from(value: &str) -> Arg {
        Arg::Str(value.into())
    }
}

impl<T: Into<Arg>> From<Option<T>> for Arg {
    fn from(value: Option<T>) -> Arg {
        value.map_or(Arg::None, Into::into)
    }
}
