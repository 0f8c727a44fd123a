//! The enum of values.

use std::rc::Rc;
use std::sync::Arc;

use fx_graph::NodeId;
use guards::{IntExpr, SourceId};
use pyo3::prelude::*;
use tensor_meta::TensorMeta;

use crate::computed::ComputedVar;
use crate::float::FloatVar;
use crate::object::ObjId;

/// A reference to a real Python object. Cloning takes a reference and needs the GIL.
pub type Obj = Py<PyAny>;

/// A value during translation: what TorchDynamo calls a `VariableTracker`.
#[derive(Clone, Debug)]
pub enum Var {
    /// The `NULL` that CPython keeps beside a callable.
    Null,
    /// The stack slot in which CPython keeps the exception state of before a handler: holds the
    /// exception that the handler handles.
    Handled(Rc<Var>),
    /// An immutable value of an exact builtin type without references to tracked values: `None`,
    /// `bool`, `int`, `float`, `complex`, `str`, `bytes`, `range`, `Ellipsis`, `NotImplemented`,
    /// `torch.dtype`, `torch.device`, `torch.layout`, `torch.memory_format`, and frozensets of such.
    /// Its value was guarded where it came from outside.
    Const(Obj),
    /// A tensor: a node of the graph.
    Tensor(Rc<TensorVar>),
    /// A tuple, `torch.Size`, named tuple or struct sequence.
    Tuple(Rc<TupleVar>),
    /// `slice(start, stop, step)`.
    Slice(Rc<[Var; 3]>),
    /// A mutable object: its state is in [`crate::Effects`].
    Obj(ObjId),
    /// A function made while translating.
    Func(Rc<FuncVar>),
    /// A Python function bound to a receiver.
    Method(Rc<MethodVar>),
    /// A method of a builtin type bound to a tracked receiver, by name: `[].append`, `x.view`.
    BuiltinMethod(Rc<(Var, Arc<str>)>),
    /// `super()`: attribute look-up starts behind a class in the receiver's MRO.
    Super(Rc<SuperVar>),
    /// An existing object that is used by identity: a function, class, module, builtin, method
    /// descriptor, or any object that the translator passes along without looking inside.
    Py(Rc<PyVar>),
    /// An `int` that is not a constant: computed from ints from outside whose values are not guarded.
    /// To look at its value guards it.
    Int(Rc<IntVar>),
    /// A `float` that is not a constant: computed from floats from outside whose values are not guarded.
    /// To look at its value guards it.
    Float(Rc<FloatVar>),
    /// A value that a pure function gives of values that are not constants. A `float` of numbers that were found to
    /// change is a [`Var::Float`]. To look at it guards what it is computed from.
    Computed(Rc<ComputedVar>),
    /// A `str` that is joined of constants, of values that are not, and of the text of tensors, which is
    /// known only when the graph has run. To look at it guards the values; with a tensor it breaks the graph.
    Text(Rc<TextVar>),
    /// A value from outside that nothing has looked at, so nothing of it is guarded.
    Lazy(Rc<LazyVar>),
}

/// See [`Var::Tensor`].
#[derive(Debug)]
pub struct TensorVar {
    /// the graph node that computes it
    pub node: NodeId,
    /// its Python class: `torch.Tensor`, `torch.nn.Parameter`, ...
    pub class: Obj,
    /// shape, strides, dtype, device when it was made; see [`crate::Effects::meta`] for now
    pub meta: Rc<TensorMeta>,
    /// set for a tensor that existed before the frame
    pub input: Option<TensorInput>,
    /// whether the op that made it always allocates a new tensor object, so that it is identical
    /// to no other value
    pub fresh: bool,
}

/// Where an input tensor comes from.
#[derive(Debug, Clone)]
pub struct TensorInput {
    /// the real tensor
    pub obj: Obj,
    /// how the frame reaches it
    pub source: SourceId,
}

/// See [`Var::Tuple`].
#[derive(Debug)]
pub struct TupleVar {
    /// the items
    pub items: Vec<Var>,
    /// the class, where it is not `tuple` itself
    pub class: Option<Obj>,
    /// the real tuple, where it came from outside
    pub origin: Option<(Obj, SourceId)>,
}

impl Drop for TupleVar {
    /// Lets go of tuples in tuples one by one: each level of a recursion would take native stack.
    fn drop(&mut self) {
        if !self.items.iter().any(|v| matches!(v, Var::Tuple(_))) {
            return;
        }
        let mut items = std::mem::take(&mut self.items);
        while let Some(item) = items.pop() {
            if let Var::Tuple(tuple) = item
                && let Some(mut tuple) = Rc::into_inner(tuple)
            {
                items.append(&mut tuple.items);
            }
        }
    }
}

/// See [`Var::Func`].
#[derive(Debug)]
pub struct FuncVar {
    /// the code object
    pub code: Obj,
    /// the module globals it runs in
    pub globals: Obj,
    /// how to reach these globals, when they are not the frame's own
    pub globals_source: Option<SourceId>,
    /// positional defaults
    pub defaults: Option<Var>,
    /// keyword-only defaults: a tracked dict
    pub kwdefaults: Option<Var>,
    /// annotations
    pub annotations: Option<Var>,
    /// the function that makes the annotations when they are asked for
    pub annotate: Option<Var>,
    /// cells, one for each free variable
    pub closure: Vec<Var>,
    /// attributes and name live in an object of the effects table
    pub obj: ObjId,
}

/// See [`Var::Method`].
#[derive(Debug)]
pub struct MethodVar {
    /// the function
    pub func: Var,
    /// the receiver
    pub receiver: Var,
}

/// See [`Var::Super`].
#[derive(Debug)]
pub struct SuperVar {
    /// look-up starts behind this class
    pub after: Obj,
    /// the class whose MRO is searched
    pub start: Obj,
    /// instance or class that attributes are bound to
    pub receiver: Var,
}

/// See [`Var::Py`].
#[derive(Debug)]
pub struct PyVar {
    /// the object
    pub obj: Obj,
    /// how the frame reaches it; `None`: it is held by the compiled code as a constant
    pub source: Option<SourceId>,
}

/// See [`Var::Int`].
#[derive(Clone, Debug)]
pub struct IntVar {
    /// how it is computed
    pub expr: IntExpr,
    /// what it is for this call
    pub value: i64,
}

/// See [`Var::Text`].
#[derive(Debug)]
pub struct TextVar {
    /// the pieces, in order
    pub parts: Vec<TextPart>,
}

impl TextVar {
    /// Whether the text of a tensor is in it.
    pub fn shows_tensor(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|part| matches!(part, TextPart::Tensor { .. }))
    }

    /// The values in it whose text is made by the residual code.
    pub fn values(&self) -> impl Iterator<Item = &Var> {
        self.parts.iter().filter_map(|part| match part {
            TextPart::Known(_) => None,
            TextPart::Value(v) => Some(v),
            TextPart::Tensor { tensor, .. } => Some(tensor),
        })
    }
}

/// A piece of a text.
#[derive(Debug, Clone)]
pub enum TextPart {
    /// a `str`
    Known(Obj),
    /// a `str` that is no constant: computed, or from outside
    Value(Var),
    /// a tensor as a replacement field shows it
    Tensor {
        /// the tensor
        tensor: Var,
        /// the function that makes a `str` of it, where the field names one: `str`, `repr`, `ascii`
        conversion: Option<Obj>,
        /// the format specification, a `str`
        spec: Option<Obj>,
        /// [`crate::Effects::writes`] at the time
        writes: u32,
    },
}

/// See [`Var::Lazy`].
#[derive(Debug)]
pub struct LazyVar {
    /// the real object
    pub obj: Obj,
    /// how the frame reaches it
    pub source: SourceId,
}

impl Var {
    /// A tuple of exactly `tuple` type.
    pub fn tuple(items: Vec<Var>) -> Var {
        Var::Tuple(Rc::new(TupleVar {
            items,
            class: None,
            origin: None,
        }))
    }

    /// A constant; the caller vouches for [`Var::Const`]'s condition.
    pub fn constant<'py>(obj: impl Into<Bound<'py, PyAny>>) -> Var {
        Var::Const(obj.into().unbind())
    }

    /// `None`.
    pub fn none(py: Python<'_>) -> Var {
        Var::Const(py.None())
    }

    /// An existing object known without a source.
    pub fn py(obj: Obj) -> Var {
        Var::Py(Rc::new(PyVar { obj, source: None }))
    }

    /// Whether this is a number that is not a constant, and that a graph can take.
    pub fn is_dynamic_number(&self) -> bool {
        matches!(self, Var::Int(_) | Var::Float(_))
    }

    /// Whether this is `None`.
    pub fn is_none(&self, py: Python<'_>) -> bool {
        matches!(self, Var::Const(o) if o.is_none(py))
    }

    /// The real object, where the value is one that existed before or is a constant.
    pub fn as_obj(&self) -> Option<&Obj> {
        match self {
            Var::Const(o) => Some(o),
            Var::Py(p) => Some(&p.obj),
            _ => None,
        }
    }
}
