//! The graph in the DOT language of Graphviz.

use std::fmt::Write;

use crate::graph::Graph;
use crate::node::{OpKind, Target};

impl Graph {
    /// A `digraph`: one box a node, labelled with its name and what it does, one edge for each
    /// (value, user) pair.
    pub fn dot(&self) -> String {
        let mut out = String::from("digraph fx {\n    node [shape=box];\n");
        for (id, node) in self.iter() {
            let target = match &node.target {
                Target::Name(name) => name,
                Target::Function(function) => &function.path,
            };
            let shape = match node.op {
                OpKind::Placeholder | OpKind::Output => ", shape=ellipse",
                _ => "",
            };
            let _ = writeln!(
                out,
                "    n{} [label=\"{}\\n{} {}\"{shape}];",
                id.0,
                Escaped(&node.name),
                node.op.as_str(),
                Escaped(target),
            );
        }
        for id in self.order() {
            for user in self.users(id) {
                let _ = writeln!(out, "    n{} -> n{};", id.0, user.0);
            }
        }
        out.push_str("}\n");
        out
    }
}

/// Text inside a DOT string.
struct Escaped<'a>(&'a str);

impl std::fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\n' => f.write_str("\\n")?,
                '\r' => {}
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
