//! The line-based text form, written. `parse` reads it back.
//!
//! ```text
//! fx-graph ids=4
//! fn torch.abs#0 display="<built-in method abs of type object>" hint="abs" origin=torch
//! %0 a = placeholder "a" ()
//! %1 abs_1 = call_function torch.abs#0 (%0) {"alpha": 2} impure type=3:"torch.Tensor" @"f.py":12:"f"
//! %3 output = output "output" ((%1,))
//! ```
//! Source frames follow `@`, outermost first. Ids that are missing belong to erased nodes.

use std::fmt::Write;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::arg::Arg;
use crate::graph::Graph;
use crate::node::{FnOrigin, FnTarget, Target};

pub(crate) fn origin_name(origin: FnOrigin) -> &'static str {
    match origin {
        FnOrigin::Torch => "torch",
        FnOrigin::Builtin => "builtin",
        FnOrigin::Operator => "operator",
        FnOrigin::Global => "global",
    }
}

impl Graph {
    /// The text form of the graph. Ends with a newline.
    pub fn to_text(&self) -> String {
        let mut out = format!("fx-graph ids={}\n", self.id_bound());
        let mut seen = FxHashSet::default();
        for (_, node) in self.iter() {
            if let Target::Function(function) = &node.target
                && seen.insert((function.handle, function.path.clone()))
            {
                write_function(&mut out, function);
            }
        }
        for (id, node) in self.iter() {
            let _ = write!(out, "%{} {} = {} ", id.0, node.name, node.op.as_str());
            match &node.target {
                Target::Name(name) => write_quoted(&mut out, name),
                Target::Function(function) => write_function_ref(&mut out, function),
            }
            out.push_str(" (");
            write_list(&mut out, &node.args);
            out.push(')');
            if !node.kwargs.is_empty() {
                out.push_str(" {");
                for (i, (key, arg)) in node.kwargs.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    write_quoted(&mut out, key);
                    out.push_str(": ");
                    write_text(&mut out, arg);
                }
                out.push('}');
            }
            if node.impure {
                out.push_str(" impure");
            }
            if let Some(type_expr) = &node.type_expr {
                let _ = write!(out, " type={}:", type_expr.handle);
                write_quoted(&mut out, &type_expr.code);
            }
            for line in node.source.outermost_first() {
                out.push_str(" @");
                write_quoted(&mut out, &line.file);
                let _ = write!(out, ":{}:", line.line);
                write_quoted(&mut out, &line.function);
            }
            out.push('\n');
        }
        out
    }
}

fn write_function_ref(out: &mut String, function: &FnTarget) {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    if !function.path.is_empty() && function.path.chars().all(plain) {
        out.push_str(&function.path);
    } else {
        write_quoted(out, &function.path);
    }
    let _ = write!(out, "#{}", function.handle);
}

fn write_function(out: &mut String, function: &Arc<FnTarget>) {
    out.push_str("fn ");
    write_function_ref(out, function);
    out.push_str(" display=");
    write_quoted(out, &function.display);
    out.push_str(" hint=");
    write_quoted(out, &function.hint);
    let _ = writeln!(out, " origin={}", origin_name(function.origin));
}

fn write_list(out: &mut String, items: &[Arg]) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_text(out, item);
    }
}

fn write_text(out: &mut String, arg: &Arg) {
    match arg {
        Arg::Node(id) => {
            let _ = write!(out, "%{}", id.0);
        }
        Arg::None => out.push_str("None"),
        Arg::Bool(value) => out.push_str(if *value { "True" } else { "False" }),
        Arg::Int(value) => {
            let _ = write!(out, "{value}");
        }
        Arg::Float(value) if value.is_nan() => {
            let _ = write!(out, "nan:{:x}", value.to_bits());
        }
        Arg::Float(value) => {
            let _ = write!(out, "{value:?}");
        }
        Arg::Str(value) => write_quoted(out, value),
        Arg::Ellipsis => out.push_str("..."),
        Arg::Tuple(items) => {
            out.push('(');
            write_list(out, items);
            out.push_str(if items.len() == 1 { ",)" } else { ")" });
        }
        Arg::List(items) => {
            out.push('[');
            write_list(out, items);
            out.push(']');
        }
        Arg::Dict(items) => {
            out.push('{');
            for (i, (key, value)) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_text(out, key);
                out.push_str(": ");
                write_text(out, value);
            }
            out.push('}');
        }
        Arg::Slice(parts) => {
            out.push_str("slice(");
            write_list(out, &parts[..]);
            out.push(')');
        }
        Arg::Opaque { handle, repr } => {
            let _ = write!(out, "#{handle}:");
            write_quoted(out, repr);
        }
    }
}

/// A text in double quotes on one line.
pub(crate) fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
