//! Guards: the conditions under which a captured graph and its residual bytecode may be used again.
//!
//! Two halves. The planning half ([`source`], [`value`], [`expr`], [`calls`], [`guard`], [`set`], [`program`], [`plan`], [`tree`], [`text`])
//! is pure Rust: it interns sources, dedupes and merges guards, compiles them to flat check programs, in threads of its
//! own where that is worth it, and prints them as Python, as PyTorch's guard tree and as program text. It needs no interpreter and builds with
//! `--no-default-features`. The executing half (feature `python`) pins objects, links a program to a running
//! interpreter, checks it on each call and says why it failed.
//!
//! Invariants: a check runs no user code, allocates nothing that Python sees and changes nothing; a check that
//! passes implies that every guard of the set holds; the program and the Python text give the same verdict.

pub mod calls;
#[cfg(feature = "python")]
pub mod exec;
pub mod expr;
pub mod guard;
pub mod kinds;
pub mod plan;
pub mod program;
pub mod rebind;
pub mod set;
pub mod source;
pub mod text;
pub mod tree;
pub mod value;

pub use calls::CallExpr;
pub use expr::{Extent, IntBinary, IntCompare, IntExpr, IntLeaf, IntRelation, IntUnary, LARGEST};
pub use guard::{GlobalState, Guard, GuardKind, ModeSpec, ReadLine, TensorSpec, UserFrame};
pub use program::{Program, VerifyError};
pub use set::{ConstTypes, GuardSet};
pub use source::{NameStyle, Source, SourceId, SourceTable};
pub use value::{ConstVal, Key, ObjRef};
