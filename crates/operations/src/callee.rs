//! What an operation calls.

use std::sync::Arc;

use tensor_meta::{Ctx, Inferred, RuleError, RuleId, Traits};
use variables::Obj;

use crate::args::MetaArg;

/// What a node calls.
pub enum Callee<'a> {
    /// a function: the object, its path, its rule
    Function(&'a Obj, &'a str, Option<RuleId>),
    /// a method of the first argument
    Method(&'a str),
}

impl Callee<'_> {
    /// What is known of the operation.
    pub fn traits(&self) -> Traits {
        match self {
            Callee::Function(_, path, _) => tensor_meta::function_traits(path),
            Callee::Method(name) => tensor_meta::method_traits(name),
        }
    }

    /// The rule that says what it gives.
    pub fn rule(&self) -> Option<RuleId> {
        match self {
            Callee::Function(_, _, rule) => *rule,
            Callee::Method(name) => tensor_meta::lookup_method(name),
        }
    }
}

/// What a rule says of these arguments.
///
/// # Errors
/// As the rule.
pub fn apply_rule(
    rule: RuleId,
    pos: &[MetaArg],
    kw: &[(Arc<str>, MetaArg)],
    ctx: &Ctx,
) -> Result<Inferred, RuleError> {
    let pos: Vec<_> = pos.iter().map(MetaArg::value).collect();
    let kw: Vec<(&str, _)> = kw.iter().map(|(n, m)| (&**n, m.value())).collect();
    tensor_meta::infer(rule, &pos, &kw, ctx)
}

/// Whether a tensor is in a result.
pub fn has_tensor(i: &Inferred) -> bool {
    match i {
        Inferred::Tensor(_) => true,
        Inferred::Tuple(v) | Inferred::List(v) => v.iter().any(has_tensor),
        Inferred::NamedTuple { items, .. } => items.iter().any(has_tensor),
        _ => false,
    }
}
