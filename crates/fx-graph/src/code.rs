//! `python_code`: the source of `forward` that `torch.fx` generates for a graph.
//!
//! Only prints. What the printed names refer to (globals, handles) is the caller's to resolve.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arg::Arg;
use crate::graph::Graph;
use crate::names::{CODE_GLOBALS, Namespace};
use crate::node::{FnOrigin, FnTarget, NodeData, NodeId, OpKind, Target};
use crate::pyrepr::write_arg;
use crate::verify::is_identifier;

/// Functions of `operator` that print as Python operators.
const OPERATORS: [(&str, &str); 24] = [
    ("eq", "{} == {}"),
    ("ne", "{} != {}"),
    ("lt", "{} < {}"),
    ("gt", "{} > {}"),
    ("le", "{} <= {}"),
    ("ge", "{} >= {}"),
    ("pos", "+{}"),
    ("neg", "-{}"),
    ("invert", "~{}"),
    ("add", "{} + {}"),
    ("sub", "{} - {}"),
    ("mul", "{} * {}"),
    ("floordiv", "{} // {}"),
    ("truediv", "{} / {}"),
    ("div", "{} / {}"),
    ("mod", "{} % {}"),
    ("pow", "{} ** {}"),
    ("lshift", "{} << {}"),
    ("rshift", "{} >> {}"),
    ("and_", "{} & {}"),
    ("or_", "{} | {}"),
    ("xor", "{} ^ {}"),
    ("getitem", "{}[{}]"),
    ("matmul", "{} @ {}"),
];

/// Functions of `operator` that print as statements; the value is then the first argument.
const STATEMENTS: [(&str, &str); 14] = [
    ("iadd", "{} += {}"),
    ("iand", "{} &= {}"),
    ("ifloordiv", "{} //= {}"),
    ("ilshift", "{} <<= {}"),
    ("imod", "{} %= {}"),
    ("imul", "{} *= {}"),
    ("imatmul", "{} @= {}"),
    ("ior", "{} |= {}"),
    ("ipow", "{} **= {}"),
    ("irshift", "{} >>= {}"),
    ("isub", "{} -= {}"),
    ("itruediv", "{} /= {}"),
    ("ixor", "{} ^= {}"),
    ("setitem", "{}[{}] = {}"),
];

fn lookup(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table
        .iter()
        .find(|(key, _)| *key == name)
        .map(|(_, form)| *form)
}

/// How many operands an operator that has a printed form takes.
pub(crate) fn operator_arity(name: &str) -> Option<usize> {
    lookup(&OPERATORS, name)
        .or_else(|| lookup(&STATEMENTS, name))
        .map(|form| form.matches("{}").count())
}

/// How Python writes a function of `operator`, such as `{} + {}`; `None` where it has no operator.
pub(crate) fn operator_form(function: &FnTarget) -> Option<&'static str> {
    match function.origin {
        FnOrigin::Operator => lookup(&OPERATORS, &function.hint),
        _ => None,
    }
}

/// How Python writes an in-place function of `operator`, such as `{} += {}`.
pub(crate) fn statement_form(function: &FnTarget) -> Option<&'static str> {
    match function.origin {
        FnOrigin::Operator => lookup(&STATEMENTS, &function.hint),
        _ => None,
    }
}

/// `format` with each `{}` replaced in turn.
pub(crate) fn fill(form: &str, values: &[String]) -> String {
    let mut out = String::new();
    let mut values = values.iter();
    for (i, part) in form.split("{}").enumerate() {
        if i > 0 {
            out.push_str(values.next().map_or("", String::as_str));
        }
        out.push_str(part);
    }
    out
}

/// `base.a.b`, with `getattr` where a part is no identifier.
fn attribute(base: String, path: &str) -> String {
    path.split('.').fold(base, |base, part| {
        if is_identifier(part) {
            format!("{base}.{part}")
        } else {
            format!("getattr({base}, \"{part}\")")
        }
    })
}

/// What makes two globals the same one.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Node(NodeId),
    Object(u32),
}

struct Printer<'g> {
    graph: &'g Graph,
    namespace: Namespace,
    names: FxHashMap<Key, Arc<str>>,
}

impl Printer<'_> {
    fn new(graph: &Graph) -> Printer<'_> {
        let mut namespace = Namespace::new();
        for name in CODE_GLOBALS {
            namespace.create_for(name, true);
        }
        Printer {
            graph,
            namespace,
            names: FxHashMap::default(),
        }
    }

    /// The local that holds a value.
    fn local(&mut self, id: NodeId) -> Arc<str> {
        let Printer {
            graph,
            namespace,
            names,
        } = self;
        names
            .entry(Key::Node(id))
            .or_insert_with(|| namespace.create(graph.name(id)))
            .clone()
    }

    fn function(&mut self, target: &FnTarget) -> Arc<str> {
        if target.origin == FnOrigin::Torch {
            return target.path.clone();
        }
        // The module of `operator.add` calls itself `_operator`.
        let path = match target.path.strip_prefix("operator.") {
            Some(rest) => Arc::from(format!("_operator.{rest}")),
            None => target.path.clone(),
        };
        let is_builtin = target.origin == FnOrigin::Builtin;
        if is_builtin && CODE_GLOBALS.contains(&&*path) {
            return path;
        }
        let namespace = &mut self.namespace;
        self.names
            .entry(Key::Object(target.handle))
            .or_insert_with(|| namespace.create_for(&path, is_builtin))
            .clone()
    }

    fn type_name(&mut self, handle: u32, code: &Arc<str>) -> Arc<str> {
        if code.starts_with("torch.") {
            return code.clone();
        }
        let namespace = &mut self.namespace;
        self.names
            .entry(Key::Object(handle))
            .or_insert_with(|| namespace.create_for(code, !code.contains('.')))
            .clone()
    }

    fn arg(&mut self, arg: &Arg) -> String {
        let mut out = String::new();
        write_arg(&mut out, arg, &mut |out, id| {
            let name = self.local(id);
            out.push_str(&name);
        });
        out
    }

    fn call_args(&mut self, args: &[Arg], kwargs: &[(Arc<str>, Arg)]) -> String {
        let mut parts: Vec<String> = args.iter().map(|arg| self.arg(arg)).collect();
        for (key, arg) in kwargs {
            parts.push(format!("{key} = {}", self.arg(arg)));
        }
        parts.join(", ")
    }

    fn annotation(&mut self, node: &NodeData) -> String {
        match &node.type_expr {
            None => String::new(),
            Some(type_expr) => {
                let name = self.type_name(type_expr.handle, &type_expr.code);
                format!(" : {name}")
            }
        }
    }

    /// `name = function(args)` in the form that Python has for it.
    fn call_function(&mut self, node: &NodeData, lhs: &str, target: &FnTarget) -> String {
        if let Some(form) = operator_form(target) {
            let values: Vec<_> = node.args.iter().map(|arg| self.arg(arg)).collect();
            return format!("{lhs} = {}", fill(form, &values));
        }
        if let Some(form) = statement_form(target) {
            let values: Vec<_> = node.args.iter().map(|arg| self.arg(arg)).collect();
            let first = values.first().map_or("", String::as_str);
            return format!("{};  {lhs} = {first}", fill(form, &values));
        }
        let function = self.function(target);
        if let ("getattr", [object, Arg::Str(name)]) = (&*function, &node.args[..])
            && is_identifier(name)
        {
            let object = self.arg(object);
            return format!("{lhs} = {}", attribute(object, name));
        }
        format!(
            "{lhs} = {function}({})",
            self.call_args(&node.args, &node.kwargs)
        )
    }
}

/// For each node, the values whose last use it is, in the order in which `torch.fx` frees them.
pub(crate) fn last_uses(graph: &Graph) -> FxHashMap<NodeId, Vec<NodeId>> {
    let mut seen = vec![false; graph.id_bound()];
    let mut freed: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
    for user in graph.order().rev() {
        for input in graph.inputs(user) {
            if !std::mem::replace(&mut seen[input.index()], true) {
                freed.entry(user).or_default().push(input);
            }
        }
    }
    freed
}

impl Graph {
    /// The source of `forward`, as `GraphModule.code` has it: three line breaks, the definition,
    /// one line a node with values set to `None` after their last use.
    pub fn python_code(&self) -> String {
        let mut printer = Printer::new(self);
        let mut freed = last_uses(self);
        let mut params: Vec<String> = Vec::new();
        let mut returns = String::new();
        let mut body = String::new();
        for (id, node) in self.iter() {
            let annotation = printer.annotation(node);
            if node.op == OpKind::Placeholder {
                let target = node.target.name().map_or("", |name| name);
                let default = match node.args.first() {
                    Some(default) => format!(" = {}", printer.arg(default)),
                    None => String::new(),
                };
                params.push(format!("{target}{annotation}{default}"));
                let raw = target.replace('*', "");
                let local = printer.local(id);
                if raw != *local {
                    body.push_str(&format!("{local} = {raw}\n"));
                }
                continue;
            }
            if node.op == OpKind::Output {
                returns = annotation.replacen(" : ", " -> ", 1);
                let value = node.args.first().unwrap_or(&Arg::None);
                body.push_str(&format!("return {}\n", printer.arg(value)));
                continue;
            }
            let lhs = format!("{}{annotation}", printer.local(id));
            let line = match (&node.target, node.op) {
                (Target::Function(target), _) => printer.call_function(node, &lhs, target),
                (Target::Name(name), OpKind::CallMethod) => {
                    let (receiver, rest) = match node.args.split_first() {
                        Some((receiver, rest)) => (printer.arg(receiver), rest),
                        None => (String::new(), &[][..]),
                    };
                    let args = printer.call_args(rest, &node.kwargs);
                    format!("{lhs} = {}({args})", attribute(receiver, name))
                }
                (Target::Name(name), OpKind::CallModule) => {
                    let args = printer.call_args(&node.args, &node.kwargs);
                    format!("{lhs} = {}({args})", attribute("self".into(), name))
                }
                (Target::Name(name), _) => format!("{lhs} = {}", attribute("self".into(), name)),
            };
            body.push_str(&line);
            let mut dead = freed.remove(&id).unwrap_or_default();
            if !self.has_users(id) {
                dead.push(id);
            }
            if !dead.is_empty() {
                body.push_str(";  ");
                for value in dead {
                    body.push_str(&printer.local(value));
                    body.push_str(" = ");
                }
                body.push_str("None");
            }
            body.push('\n');
        }
        if self.is_empty() {
            body.push_str("pass\n");
        }
        if params.first().is_none_or(|first| first != "self") {
            params.insert(0, "self".into());
        }
        let mut code = format!("\n\n\ndef forward({}){returns}:", params.join(", "));
        for line in body.trim_start_matches('\n').split('\n') {
            code.push_str("\n    ");
            code.push_str(line);
        }
        code
    }
}
