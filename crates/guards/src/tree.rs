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

impl GuardSet {
    /// The set as PyTorch's `TREE_GUARD_MANAGER`. `latency_us` is the measured time of one evaluation.
    pub fn tree_text(&self, latency_us: Option<f64>) -> String {
        let cx = self.cx(NameStyle::Explicit);
        let mut out = String::from("TREE_GUARD_MANAGER:\n+- RootGuardManager\n");
        for &guard in self.ambient() {
            self.write_guard(guard, 1, &cx, &mut out);
        }
        let mut stack: Vec<(SourceId, usize)> =
            self.roots().iter().rev().map(|&id| (id, 1)).collect();
        while let Some((id, depth)) = stack.pop() {
            let source = self.sources().get(id);
            let _ = writeln!(
                out,
                "{}+- GuardManager: source={}, accessed_by={}",
                "| ".repeat(depth),
                cx.name(id),
                accessor(source)
            );
            for &guard in &self.node(id).guards {
                self.write_guard(guard, depth + 1, &cx, &mut out);
            }
            stack.extend(
                self.node(id)
                    .children
                    .iter()
                    .rev()
                    .map(|&child| (child, depth + 1)),
            );
        }
        for &guard in self.relational() {
            self.write_guard(guard, 1, &cx, &mut out);
        }
        if let Some(latency) = latency_us {
            let _ = write!(out, "\nGuard eval latency = {latency:.2} us\n");
        }
        out
    }

    fn write_guard(&self, index: u32, depth: usize, cx: &TextCx<'_>, out: &mut String) {
        let guard = self.guard(index);
        let text = guard.kind.tree_text(guard.source, cx);
        let _ = write!(out, "{}+- {}: ", "| ".repeat(depth), guard.kind.name());
        let _ = match &guard.user_frame {
            Some(frame) => writeln!(out, "{text:<COLUMN$}{}", user_line(frame)),
            None => writeln!(out, "{text}"),
        };
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
    if !frame.text.is_empty() {
        let _ = write!(out, "  # {}", frame.text);
    }
    let _ = write!(
        out,
        "  # {}:{} in {}",
        frame.file, frame.line, frame.function
    );
    out
}
