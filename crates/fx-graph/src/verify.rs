//! The verifier: the invariants of a graph, checked. Does not look at Python objects.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use thiserror::Error;

use crate::code::operator_arity;
use crate::graph::{Graph, distinct_inputs};
use crate::node::{FnOrigin, NodeData, NodeId, OpKind, Target};

/// The first thing that is wrong with a graph.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum VerifyError {
    /// A value is used that is defined later, or not at all.
    #[error("{user} uses %{value}, which is not defined before it")]
    UseBeforeDef {
        /// The node with the argument.
        user: Arc<str>,
        /// Id of the value.
        value: u32,
    },
    /// Two nodes have one name.
    #[error("two nodes are called {0}")]
    DuplicateName(Arc<str>),
    /// The name is no Python identifier.
    #[error("{0:?} is no identifier")]
    BadName(Arc<str>),
    /// A node comes after the output.
    #[error("{0} comes after the output")]
    AfterOutput(Arc<str>),
    /// The wrong kind of target, or too few or too many arguments.
    #[error("{name}: {problem}")]
    BadNode {
        /// Name of the node.
        name: Arc<str>,
        /// What is wrong.
        problem: &'static str,
    },
    /// The edges differ from what the arguments say.
    #[error("the edges into {0} differ from its arguments")]
    BadEdges(Arc<str>),
    /// The order names a node that is not there, or one twice.
    #[error("%{0} is listed but not in the graph, or listed twice")]
    BadOrder(u32),
}

impl Graph {
    /// Checks the invariants of the graph. Linear time.
    ///
    /// # Errors
    /// The first violation, in the order in which nodes run.
    pub fn verify(&self) -> Result<(), VerifyError> {
        let mut defined = vec![false; self.id_bound()];
        let mut names = FxHashSet::default();
        let mut output_seen = false;
        for id in self.order() {
            let Some(node) = self.get(id) else {
                return Err(VerifyError::BadOrder(id.0));
            };
            if defined[id.index()] {
                return Err(VerifyError::BadOrder(id.0));
            }
            if output_seen {
                return Err(VerifyError::AfterOutput(node.name.clone()));
            }
            let mut missing = None;
            node.for_each_input(|input| {
                if missing.is_none() && !defined.get(input.index()).copied().unwrap_or(false) {
                    missing = Some(input);
                }
            });
            if let Some(input) = missing {
                return Err(VerifyError::UseBeforeDef {
                    user: node.name.clone(),
                    value: input.0,
                });
            }
            self.verify_edges(id, node)?;
            if !names.insert(&*node.name) {
                return Err(VerifyError::DuplicateName(node.name.clone()));
            }
            if !is_identifier(&node.name) {
                return Err(VerifyError::BadName(node.name.clone()));
            }
            if let Some(problem) = shape_problem(node) {
                return Err(VerifyError::BadNode {
                    name: node.name.clone(),
                    problem,
                });
            }
            defined[id.index()] = true;
            output_seen = node.op == OpKind::Output;
        }
        Ok(())
    }

    fn verify_edges(&self, id: NodeId, node: &NodeData) -> Result<(), VerifyError> {
        let said = distinct_inputs(node);
        if self.inputs(id)[..] == said[..] {
            Ok(())
        } else {
            Err(VerifyError::BadEdges(node.name.clone()))
        }
    }

    /// Panics where [`Graph::verify`] fails, in debug builds and tests; nothing otherwise.
    pub fn debug_verify(&self) {
        #[cfg(debug_assertions)]
        if let Err(error) = self.verify() {
            panic!("{error}\n{}", self.to_text());
        }
    }
}

/// What is wrong with the target or the number of arguments.
fn shape_problem(node: &NodeData) -> Option<&'static str> {
    match (&node.target, node.op) {
        (Target::Function(_), OpKind::CallFunction) => {}
        (Target::Function(_), _) => return Some("only call_function has a function as its target"),
        (Target::Name(_), OpKind::CallFunction) => return Some("call_function needs a function"),
        (Target::Name(name), _) if name.is_empty() => return Some("the target is empty"),
        (Target::Name(_), _) => {}
    }
    if !node.kwargs.is_empty()
        && matches!(
            node.op,
            OpKind::Placeholder | OpKind::GetAttr | OpKind::Output
        )
    {
        return Some("this operation takes no keyword arguments");
    }
    let args = node.args.len();
    match node.op {
        OpKind::Placeholder if args > 1 => Some("a placeholder has at most a default"),
        OpKind::GetAttr if args > 0 => Some("get_attr takes no arguments"),
        OpKind::Output if args != 1 => Some("an output has one argument"),
        OpKind::CallMethod if args == 0 => Some("a method call needs its receiver"),
        OpKind::CallFunction => match &node.target {
            Target::Function(function)
                if function.origin == FnOrigin::Operator
                    && operator_arity(&function.hint).is_some_and(|arity| args != arity) =>
            {
                Some("the operator takes another number of arguments")
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether Python would read the text as one identifier (keywords aside).
pub(crate) fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_alphabetic())
        && chars.all(|c| c == '_' || c.is_alphanumeric())
}
