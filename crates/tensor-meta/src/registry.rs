//! The table of rules: which qualified name is which rule.

use crate::types::{Ctx, Inferred, RuleError, Value};

/// A rule, found once by name and then called by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub(crate) u16);

/// One line of the table of rules.
#[derive(Clone, Copy, Debug)]
pub struct RuleInfo {
    /// The rule's own name, e.g. `"add"`.
    pub name: &'static str,
    /// Qualified names of functions, e.g. `"torch.add operator.add"`, separated by spaces.
    pub functions: &'static str,
    /// Names of `torch.Tensor` methods, separated by spaces.
    pub methods: &'static str,
}

/// Every rule, by number.
pub fn rules() -> &'static [RuleInfo] {
    &[]
}

/// The rule of a function, by its qualified name: `"torch.nn.functional.linear"`, `"torch.abs"`,
/// `"operator.add"`, `"torch._C._nn.gelu"`. The spellings that torch's own objects report
/// (`_operator.add`, `torch._C._VariableFunctions.cat`, `torch._VariableFunctionsClass.cat`) work too.
pub fn lookup_function(qualified_name: &str) -> Option<RuleId> {
    let _ = qualified_name;
    None
}

/// The rule of a method of `torch.Tensor`, by its bare name.
pub fn lookup_method(name: &str) -> Option<RuleId> {
    let _ = name;
    None
}

/// What the op returns for these arguments (`self` first for methods). `kwargs` are by name.
///
/// # Errors
/// See [`RuleError`].
pub fn infer(
    op: RuleId,
    args: &[Value<'_>],
    kwargs: &[(&str, Value<'_>)],
    ctx: &Ctx,
) -> Result<Inferred, RuleError> {
    let _ = (op, args, kwargs, ctx);
    Err(RuleError::NoRule)
}
