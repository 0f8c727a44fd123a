//! The guard tree as PyTorch prints it, and the one-line guard code.
//!
//! Only text. Invariant: every guard of the set appears exactly once in the tree and in the code.

use std::fmt::Write as _;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::guard::{GuardKind, TensorSpec, UserFrame};
use crate::kinds::TextCx;
use crate::program::accessor;
use crate::set::GuardSet;
use crate::source::{NameStyle, SourceId};

/// Width to which a guard is padded before the user's line.
const COLUMN: usize = 60;

/// A line of the tree: a value that is read, or a guard on the value above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLine {
    /// How deep it is.
    pub depth: usize,
    /// The value.
    pub source: Option<SourceId>,
    /// The guard, by its index; `None` for a value.
    pub guard: Option<u32>,
    /// What it says: `source=L['x'], accessed_by=...`, or what the guard checks.
    pub text: String,
}

impl GuardSet {
    /// The tree, line by line.
    pub fn tree_lines(&self) -> Vec<TreeLine> {
        let cx = self.cx(NameStyle::Explicit);
        let mut lines = Vec::new();
        let guard_line = |index: u32, depth: usize| {
            let guard = self.guard(index);
            TreeLine {
                depth,
                source: guard.source,
                guard: Some(index),
                text: guard.kind.tree_text(guard.source, &cx),
            }
        };
        lines.extend(self.ambient().iter().map(|&guard| guard_line(guard, 1)));
        let mut stack: Vec<(SourceId, usize)> =
            self.roots().iter().rev().map(|&id| (id, 1)).collect();
        while let Some((id, depth)) = stack.pop() {
            let source = self.sources().get(id);
            lines.push(TreeLine {
                depth,
                source: Some(id),
                guard: None,
                text: format!("source={}, accessed_by={}", cx.name(id), accessor(source)),
            });
            let node = self.node(id);
            lines.extend(
                node.guards
                    .iter()
                    .map(|&guard| guard_line(guard, depth + 1)),
            );
            stack.extend(node.children.iter().rev().map(|&child| (child, depth + 1)));
        }
        lines.extend(self.relational().iter().map(|&guard| guard_line(guard, 1)));
        lines
    }

    /// The set as PyTorch's `TREE_GUARD_MANAGER`. `latency_us` is the measured time of one evaluation.
    pub fn tree_text(&self, latency_us: Option<f64>) -> String {
        let mut out = String::from("TREE_GUARD_MANAGER:\n+- RootGuardManager\n");
        for line in self.tree_lines() {
            let (indent, text) = ("| ".repeat(line.depth), line.text);
            let _ = match line.guard.map(|index| self.guard(index)) {
                None => writeln!(out, "{indent}+- GuardManager: {text}"),
                Some(guard) => {
                    let name = guard.kind.name();
                    match &guard.user_frame {
                        Some(frame) => writeln!(
                            out,
                            "{indent}+- {name}: {text:<COLUMN$}{}",
                            user_line(frame)
                        ),
                        None => writeln!(out, "{indent}+- {name}: {text}"),
                    }
                }
            };
        }
        if let Some(latency) = latency_us {
            let _ = write!(out, "\nGuard eval latency = {latency:.2} us\n");
        }
        out
    }

    /// A guard as Python code, as a failure names it.
    pub fn code_of(&self, index: u32) -> String {
        let guard = self.guard(index);
        let parts = guard
            .kind
            .code_parts(guard.source, &self.cx(NameStyle::Explicit));
        parts.join(" and ")
    }

    /// The guards as Python expressions, in checking order, without repetition; the tensor checks joined to one
    /// `___check_tensors(...)` at the end.
    pub fn code_parts(&self, style: NameStyle) -> Vec<String> {
        let cx = self.cx(style);
        let mut seen = FxHashSet::default();
        let mut parts = Vec::new();
        let mut relations = Vec::new();
        for index in self.checking_order() {
            let guard = self.guard(index);
            if matches!(guard.kind, GuardKind::TensorMatch { .. }) {
                continue;
            }
            for part in guard.kind.code_parts(guard.source, &cx) {
                if seen.insert(part.clone()) {
                    if guard.kind.is_relational() {
                        relations.push(part)
                    } else {
                        parts.push(part)
                    }
                }
            }
        }
        let tensors: Vec<String> = self
            .tensor_checks()
            .iter()
            .map(|(id, _)| cx.name(*id))
            .collect();
        if !tensors.is_empty() {
            parts.push(format!("___check_tensors({})", tensors.join(", ")));
        }
        parts.extend(relations);
        parts
    }

    /// The whole set as one Python expression, beginning with the entry's validity.
    pub fn guard_code(&self, style: NameStyle) -> String {
        let mut code = String::from("___guarded_code.valid");
        for part in self.code_parts(style) {
            code.push_str(" and ");
            code.push_str(&part);
        }
        code
    }

    /// The tensor checks in the order in which `___check_tensors` takes its arguments.
    pub fn tensor_checks(&self) -> Vec<(SourceId, Arc<TensorSpec>)> {
        self.checking_order()
            .into_iter()
            .filter_map(
                |index| match (self.guard(index).source, &self.guard(index).kind) {
                    (Some(source), GuardKind::TensorMatch { spec }) => Some((source, spec.clone())),
                    _ => None,
                },
            )
            .collect()
    }

    /// The text context of this set.
    pub fn cx(&self, style: NameStyle) -> TextCx<'_> {
        TextCx {
            sources: self.sources(),
            style,
            const_types: self.const_types(),
        }
    }
}

/// `  # return x + 1  # file.py:3 in fn`
pub fn user_line(frame: &UserFrame) -> String {
    let mut out = String::new();
    if !frame.text().is_empty() {
        let _ = write!(out, "  # {}", frame.text());
    }
    let _ = write!(
        out,
        "  # {}:{} in {}",
        frame.file, frame.line, frame.function
    );
    out
}
