//! The FX graph of a traced region: nodes, users, naming, passes, verifier and text forms.
//!
//! Lives here: [`Graph`] (a petgraph graph whose edges run from a value to each of its users),
//! the naming rules of `torch.fx`, checkpoints, dead-code removal, the printers
//! (`tabular`, `python_code`, `dot`) and a text form that can be read back.
//!
//! Does not live here: Python objects. A function, a dtype or any other object that a node refers
//! to is a *handle*, an index into a table that the caller owns. No Python interpreter is needed
//! to build, test or bench this crate; `backends` turns a graph into a `torch.fx.GraphModule`.
//!
//! Invariants, held by [`Graph::verify`]: placeholders come before all other nodes; a value is
//! defined before it is used; names are unique; there is at most one output and it comes last;
//! the edges of the graph are exactly what the arguments of the nodes name.

mod arg;
mod boundary;
mod code;
mod dot;
mod graph;
mod kept;
mod names;
mod node;
mod parse;
mod part;
mod passes;
mod pyrepr;
mod tabular;
mod text;
mod verify;

pub use arg::{Arg, Kwargs};
pub use boundary::{AotInput, ShapeCompare, ShapeExpr, ShapeGuard, ShapeLeaf, ShapeOperator};
pub use graph::{Checkpoint, Graph, GraphError};
pub use kept::KeptGraph;
pub use names::{Namespace, snake_case, target_stem};
pub use node::{
    FnOrigin, FnTarget, ModuleCall, NodeData, NodeId, OpKind, SourceLine, SourceStack, Target,
    TypeExpr,
};
pub use parse::ParseError;
pub use pyrepr::{float_repr, str_repr};
pub use verify::VerifyError;
