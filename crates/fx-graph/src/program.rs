//! A graph as a Python function to run, not to read.
//!
//! Differs from `python_code`, which prints what torch prints: every object is a global of its own,
//! so that nothing depends on a `repr` or on a path of modules; attributes of the root module are
//! globals too; operands that would bind wrongly are put in parentheses.

use std::fmt::Write;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arg::Arg;
use crate::code::{fill, last_uses, operator_form, statement_form};
use crate::graph::Graph;
use crate::names::{Namespace, is_keyword};
use crate::node::{NodeId, OpKind, Target};
use crate::pyrepr::{float_repr, str_repr};
use crate::verify::is_identifier;

/// What a global of a [`Program`] is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Global {
    /// An object of the caller's table.
    Object(u32),
    /// An attribute of the root module, by qualified name.
    Attr(Arc<str>),
    /// `float('inf')`.
    Infinity,
    /// `float('nan')`.
    Nan,
}

/// Source of a function, and the globals that it needs beside the builtins.
#[derive(Clone, Debug)]
pub struct Program {
    /// `def forward(...): ...`; its parameters are the placeholders in order.
    pub source: String,
    /// Names and what they stand for.
    pub globals: Vec<(Arc<str>, Global)>,
}

struct Writer<'g> {
    graph: &'g Graph,
    namespace: Namespace,
    locals: Vec<Option<Arc<str>>>,
    globals: FxHashMap<Global, Arc<str>>,
    order: Vec<(Arc<str>, Global)>,
}

impl Writer<'_> {
    fn local(&mut self, id: NodeId) -> Arc<str> {
        let Writer {
            graph,
            namespace,
            locals,
            ..
        } = self;
        locals[id.index()]
            .get_or_insert_with(|| namespace.create(graph.name(id)))
            .clone()
    }

    fn global(&mut self, global: Global, stem: &str) -> Arc<str> {
        if let Some(name) = self.globals.get(&global) {
            return name.clone();
        }
        let name = self.namespace.create(stem);
        self.globals.insert(global.clone(), name.clone());
        self.order.push((name.clone(), global));
        name
    }

    fn object(&mut self, handle: u32) -> Arc<str> {
        self.global(Global::Object(handle), "_object")
    }

    fn arg(&mut self, out: &mut String, arg: &Arg) {
        match arg {
            Arg::Node(id) => out.push_str(&self.local(*id)),
            Arg::Float(value) if !value.is_finite() => {
                let name = match value.is_nan() {
                    true => self.global(Global::Nan, "_nan"),
                    false => self.global(Global::Infinity, "_inf"),
                };
                if *value < 0.0 {
                    out.push('-');
                }
                out.push_str(&name);
            }
            Arg::Float(value) => out.push_str(&float_repr(*value)),
            Arg::Opaque { handle, .. } => out.push_str(&self.object(*handle)),
            Arg::Tuple(items) => {
                out.push('(');
                self.list(out, items);
                out.push_str(if items.len() == 1 { ",)" } else { ")" });
            }
            Arg::List(items) => {
                out.push('[');
                self.list(out, items);
                out.push(']');
            }
            Arg::Dict(items) => {
                out.push('{');
                for (key, value) in items {
                    self.arg(out, key);
                    out.push_str(": ");
                    self.arg(out, value);
                    out.push_str(", ");
                }
                out.push('}');
            }
            Arg::Slice(parts) => {
                out.push_str("slice(");
                self.list(out, &parts[..]);
                out.push(')');
            }
            Arg::None => out.push_str("None"),
            Arg::Bool(value) => out.push_str(if *value { "True" } else { "False" }),
            Arg::Int(value) => {
                let _ = write!(out, "{value}");
            }
            Arg::Str(value) => out.push_str(&str_repr(value)),
            Arg::Ellipsis => out.push_str("..."),
        }
    }

    fn list(&mut self, out: &mut String, items: &[Arg]) {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            self.arg(out, item);
        }
    }

    /// An argument as an operand: `-1` as `(-1)`.
    fn operand(&mut self, arg: &Arg) -> String {
        let mut out = String::new();
        self.arg(&mut out, arg);
        match arg {
            Arg::Int(_) | Arg::Float(_) => format!("({out})"),
            _ => out,
        }
    }

    /// What stands between the brackets of an index: slices by their own syntax.
    fn index(&mut self, arg: &Arg) -> String {
        let mut out = String::new();
        match arg {
            Arg::Tuple(items) if !items.is_empty() => {
                for item in items {
                    self.index_part(&mut out, item);
                    out.push_str(", ");
                }
            }
            other => self.index_part(&mut out, other),
        }
        out
    }

    fn index_part(&mut self, out: &mut String, arg: &Arg) {
        let Arg::Slice(parts) = arg else {
            return self.arg(out, arg);
        };
        let [start, stop, step] = &**parts;
        for (i, part) in [start, stop, step].into_iter().enumerate() {
            if i == 1 || (i == 2 && *step != Arg::None) {
                out.push(':');
            }
            if *part != Arg::None {
                self.arg(out, part);
            }
        }
    }

    fn call(&mut self, out: &mut String, args: &[Arg], kwargs: &[(Arc<str>, Arg)]) {
        out.push('(');
        self.list(out, args);
        for (i, (key, arg)) in kwargs.iter().enumerate() {
            if i > 0 || !args.is_empty() {
                out.push_str(", ");
            }
            match is_identifier(key) && !is_keyword(key) {
                true => {
                    out.push_str(key);
                    out.push('=');
                    self.arg(out, arg);
                }
                false => {
                    let _ = write!(out, "**{{{}: ", str_repr(key));
                    self.arg(out, arg);
                    out.push('}');
                }
            }
        }
        out.push(')');
    }

    /// A name looked up on an object.
    fn attribute(object: &str, name: &str) -> String {
        match is_identifier(name) && !is_keyword(name) {
            true => format!("{object}.{name}"),
            false => format!("getattr({object}, {})", str_repr(name)),
        }
    }

    fn node(&mut self, out: &mut String, id: NodeId) {
        let graph = self.graph;
        let node = &graph[id];
        let lhs = self.local(id);
        match (&node.target, node.op) {
            (Target::Function(function), _) => {
                let statement = statement_form(function);
                if let Some(form) = operator_form(function).or(statement)
                    && node.kwargs.is_empty()
                    && node.args.len() == form.matches("{}").count()
                {
                    let indexes = matches!(&*function.hint, "getitem" | "setitem");
                    let mut operands: Vec<_> =
                        node.args.iter().map(|arg| self.operand(arg)).collect();
                    if indexes {
                        operands[1] = self.index(&node.args[1]);
                    }
                    let text = fill(form, &operands);
                    // An augmented assignment needs a name to assign to, and must leave the names
                    // of other values alone.
                    match (statement, &*function.hint) {
                        (Some(_), "setitem") => {
                            let _ = write!(out, "{text}; {lhs} = None");
                        }
                        (Some(_), _) => {
                            let text = fill(
                                form,
                                &[vec![lhs.to_string()], operands[1..].to_vec()].concat(),
                            );
                            let _ = write!(out, "{lhs} = {}; {text}", operands[0]);
                        }
                        (None, _) => {
                            let _ = write!(out, "{lhs} = {text}");
                        }
                    }
                    return;
                }
                let object = self.object(function.handle);
                let _ = write!(out, "{lhs} = {object}");
                self.call(out, &node.args, &node.kwargs);
            }
            (Target::Name(name), OpKind::CallMethod) => {
                let (receiver, rest) = match node.args.split_first() {
                    Some((receiver, rest)) => (self.operand(receiver), rest),
                    None => ("None".to_owned(), &[][..]),
                };
                let _ = write!(out, "{lhs} = {}", Self::attribute(&receiver, name));
                self.call(out, rest, &node.kwargs);
            }
            (Target::Name(name), op) => {
                let object = self.global(Global::Attr(name.clone()), "_attr");
                let _ = write!(out, "{lhs} = {object}");
                if op == OpKind::CallModule {
                    self.call(out, &node.args, &node.kwargs);
                }
            }
        }
    }
}

impl Graph {
    /// The graph as a function to run. Values are freed after their last use. A graph without an
    /// output returns `None`.
    pub fn program(&self) -> Program {
        let mut writer = Writer {
            graph: self,
            namespace: Namespace::new(),
            locals: vec![None; self.id_bound()],
            globals: FxHashMap::default(),
            order: Vec::new(),
        };
        let freed = last_uses(self);
        let mut source = String::from("def forward(");
        for &id in self.placeholders() {
            let node = &self[id];
            let target = node.target.name().map_or("", |name| name);
            let stars = target.len() - target.trim_start_matches('*').len();
            source.push_str(&target[..stars]);
            source.push_str(&writer.local(id));
            if let Some(default) = node.args.first() {
                source.push('=');
                writer.arg(&mut source, default);
            }
            source.push_str(", ");
        }
        source.push_str("):\n");
        for id in self.order() {
            let node = &self[id];
            match node.op {
                OpKind::Placeholder => continue,
                OpKind::Output => {
                    source.push_str("    return ");
                    writer.arg(&mut source, node.args.first().unwrap_or(&Arg::None));
                    source.push('\n');
                    continue;
                }
                _ => {}
            }
            source.push_str("    ");
            writer.node(&mut source, id);
            let mut dead = freed.get(&id).cloned().unwrap_or_default();
            if !self.has_users(id) {
                dead.push(id);
            }
            if !dead.is_empty() {
                source.push_str("; ");
                for value in dead {
                    source.push_str(&writer.local(value));
                    source.push_str(" = ");
                }
                source.push_str("None");
            }
            source.push('\n');
        }
        if self.output_node().is_none() {
            source.push_str("    return None\n");
        }
        Program {
            source,
            globals: writer.order,
        }
    }
}
