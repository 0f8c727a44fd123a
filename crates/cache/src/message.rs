//! The words of recompilation and limit messages. Only text.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use crate::entries::Miss;

/// How messages name a code object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeName {
    /// `co_name`.
    pub function: Arc<str>,
    /// `co_filename`.
    pub file: Arc<str>,
    /// `co_firstlineno`.
    pub line: u32,
}

impl fmt::Display for CodeName {
    /// `fn in /path/file.py:1`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}:{}", self.function, self.file, self.line)
    }
}

/// `Recompiling function fn in /path/file.py:1` and the reasons, one a line.
pub fn recompile_message(name: &CodeName, misses: &[Miss]) -> String {
    let mut out =
        format!("Recompiling function {name}\n    triggered by the following guard failure(s):");
    for miss in misses {
        let _ = write!(
            out,
            "\n    - {}: {}{}",
            miss.id,
            miss.failure.reason,
            miss.failure.user_line()
        );
    }
    out
}

/// `most frequent: ___check_tensors(L['x']) failed 7 times`
pub fn most_failing_line((code, count): &(String, u64)) -> String {
    let times = if *count == 1 { "time" } else { "times" };
    format!("most frequent: {code} failed {count} {times}")
}

/// The warning that is given once where a code object reaches a limit. `setting` is the limit's name in
/// `ferrodyn.config`.
pub fn recompile_limit_warning(
    name: &CodeName,
    setting: &str,
    limit: usize,
    misses: &[Miss],
    most: Option<&(String, u64)>,
) -> String {
    let mut out = format!(
        "ferrodyn hit config.{setting} ({limit})\n   function: '{}' ({}:{})\n",
        name.function, name.file, name.line
    );
    if let Some(miss) = misses.first() {
        let _ = writeln!(
            out,
            "   last reason: {}: {}{}",
            miss.id,
            miss.failure.reason,
            miss.failure.user_line()
        );
    }
    if let Some(most) = most {
        let _ = writeln!(out, "   {}", most_failing_line(most));
    }
    out.push_str("To log all recompilation reasons, use FERRODYN_LOGS=\"recompiles\".");
    out
}
