//! Functions of `re` that find one match after the other.

use std::sync::Arc;

use pyo3::prelude::*;
use translator::rules::{Given, Rule, RuleList};
use translator::stop::Stop;
use translator::tx::{Args, Tx};

use crate::pure;

pub(crate) const RULES: RuleList = &[(
    "re",
    &[
        ("sub", of_pattern as Rule),
        ("subn", of_pattern),
        ("finditer", of_pattern),
    ],
)];

/// `re.sub(pattern, ...)`: the method of the compiled pattern.
fn of_pattern(tx: &mut Tx<'_>, name: &'static str, mut args: Args) -> Given {
    let flags = args.take_kw("flags");
    let own = if name == "finditer" { 2 } else { 4 };
    if args.pos.is_empty() || args.pos.len() > own + 1 {
        return pure::call(tx, "re", name, args);
    }
    if args.pos.len() > 3 && tx.version().warns_of_a_positional_count() {
        return Err(Stop::unsupported(format!(
            "re.{name}() with a count by position, which warns"
        )));
    }
    let flags = match flags {
        Some(f) => Some(f),
        None if args.pos.len() > own => args.pos.pop(),
        None => None,
    };
    let mut pattern = args.pos.remove(0);
    let compiled = tx.py.import("re")?.getattr("Pattern")?;
    if flags.is_some() || !tx.type_of(&pattern)?.is(&compiled) {
        let parts = std::iter::once(pattern).chain(flags).collect();
        let Some(flow) = pure::call(tx, "re", "compile", Args::pos(parts))? else {
            return Ok(None);
        };
        pattern = tx.finish_flow(flow)?;
    }
    tx.call_builtin_method(&pattern, &Arc::from(name), args)
        .map(Some)
}
