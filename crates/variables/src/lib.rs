//! What a Python value is while a function is translated, and the whole symbolic state.
//!
//! [`Var`] is an immutable description of one value, cheap to clone. Whatever can change is an
//! [`ObjId`]: its contents live in the persistent [`Effects`] table, so that a snapshot of the
//! symbolic state is a clone and restoring it is an assignment.
//!
//! Lives here: values, the table of mutable objects, hash keys of tracked dictionaries; frames and
//! suspended generators ([`state`]), the code that they run ([`code`]) and whose it is
//! ([`library`]), contexts and modes of torch ([`contexts`]); which graphs may raise ([`raising`]); all of it as text
//! ([`text`]). Does not live here: what an operation does with a value (`translator`), and how a value is rebuilt in
//! residual bytecode (`residual`).
//!
//! Invariant: nothing in this crate runs user code.

pub mod attr_map;
pub mod chosen;
pub mod code;
pub mod computed;
pub mod constants;
pub mod contexts;
pub mod dict;
pub mod effects;
pub mod float;
pub mod iter_class;
pub mod key;
pub mod known;
pub mod library;
pub mod object;
pub mod own_module;
pub mod raising;
pub mod raw;
pub mod state;
mod state_text;
pub mod table;
pub mod text;
pub mod var;

pub use attr_map::AttrMap;
pub use computed::ComputedVar;
pub use dict::OrderedMap;
pub use effects::{
    CallFrame, DeferredCall, EarlyArg, EarlyCall, EarlyKind, Effects, GlobalKey, KnownValues,
    ReadNumber, Remade,
};
pub use float::{FloatBinary, FloatExpr, FloatVar};
pub use key::{Doubt, Key};
pub use object::{
    ArrayBody, Body, CallResult, CopiedArray, DictView, GroupState, IntOperation, IterBody, ObjId,
    ObjState, Origin,
};
pub use var::{
    FuncVar, IntVar, LazyVar, MethodVar, Obj, PyVar, SuperVar, TensorInput, TensorVar, TextPart,
    TextVar, TupleVar, Var,
};
