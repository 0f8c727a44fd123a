//! The symbolic state as text, for the log `state` and for tests: what a graph break goes on from.
//!
//! One line a slot, frames innermost first, then what has been changed, contexts and modes. Not here: why the break
//! is there, and guards (`translator`). Invariant: nothing is run or looked at that is not known already, so printing
//! changes no decision.

use std::fmt::Write;

use guards::SourceId;
use pyo3::prelude::*;
use tensor_meta::TensorMeta;

use crate::code::CodeInfo;
use crate::contexts::FunctionMode;
use crate::state::Frame;
use crate::text::{Printer, class_name, qualified_name};
use crate::{Body, IterBody, Obj, ObjId, Origin, TextPart, Var};

/// How deep tuples, and what belongs to a value, are written out.
const DEPTH: usize = 3;

struct Writer<'a, 'py> {
    of: Printer<'a, 'py>,
    /// objects that are to be written out, in the order in which they were met
    met: Vec<ObjId>,
    text: String,
}

impl Printer<'_, '_> {
    /// The state as text. Runs no user code: constants are of exact builtin types, or torch's.
    pub fn state_text(self) -> String {
        let mut writer = Writer {
            of: self,
            met: Vec::new(),
            text: String::new(),
        };
        let mut frame = Some(&self.state.frame);
        while let Some(f) = frame {
            writer.frame(f, "frame");
            frame = f.parent.as_deref();
        }
        writer.effects();
        writer.contexts();
        writer.objects();
        writer.text
    }
}

impl Writer<'_, '_> {
    fn line(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.text, "  {name:<12} {value}");
    }

    fn frame(&mut self, f: &Frame, kind: &str) {
        let code: &CodeInfo = &f.code;
        let op = code.body.instrs.get(f.ip).map(|instr| &instr.op);
        let op = op.map_or_else(|| "end".into(), |op| format!("{op:?}"));
        let at = format!("line {}, before {op}", code.line(f.ip));
        let _ = writeln!(self.text, "{kind} {}: {at}", code.name);
        for (name, value) in code.local_names.iter().zip(&f.locals) {
            if let Some(value) = value {
                let value = self.value(value, 0);
                self.line(name, &value);
            }
        }
        for (i, value) in f.stack.iter().enumerate() {
            let value = self.value(value, 0);
            self.line(&format!("stack {i}"), &value);
        }
        for exception in &f.handling {
            let value = self.value(exception, 0);
            self.line("handling", &value);
        }
    }

    fn effects(&mut self) {
        let effects = &self.of.state.effects;
        for &id in &effects.dirty {
            self.meet(id);
        }
        for write in &effects.global_writes {
            let value = match &write.value {
                Some(value) => self.value(value, 0),
                None => "deleted".into(),
            };
            let _ = writeln!(self.text, "global {} = {value}", write.name);
        }
        for tail in &effects.tails {
            let list = self.source(tail.list.source);
            let items: Vec<_> = tail.items.iter().map(|item| self.value(item, 0)).collect();
            let _ = writeln!(self.text, "appended to {list}: {}", items.join(", "));
        }
        for (tensor, name) in &effects.tensor_writes {
            let value = self.value(tensor, 0);
            let _ = writeln!(self.text, "attribute {name} of {value} is written");
        }
        for call in &effects.calls {
            let function = self.value(&call.function, 0);
            let args: Vec<_> = call.pos.iter().map(|arg| self.value(arg, 0)).collect();
            let _ = writeln!(
                self.text,
                "call behind the graph: {function}({})",
                args.join(", ")
            );
        }
        for call in &effects.early {
            let function = qualified_name(call.function.bind(self.of.py));
            let _ = writeln!(self.text, "call in front of the graph: {function}");
        }
    }

    fn contexts(&mut self) {
        let state = self.of.state;
        for open in &state.contexts {
            let context = self.value(&open.context, 0);
            let _ = writeln!(self.text, "context {context}");
        }
        for mode in &state.modes {
            let mode = match mode {
                FunctionMode::Program(mode) => self.value(mode, 0),
                FunctionMode::Device(device) => self.repr(device),
            };
            let _ = writeln!(self.text, "mode {mode}");
        }
        let mut flags: Vec<_> = state.flags.iter().collect();
        flags.sort_by_key(|(name, _)| **name);
        for (name, value) in flags {
            let value = self.value(value, 0);
            let _ = writeln!(self.text, "flag {name} = {value}");
        }
        let grad = match state.grad_enabled {
            true => "on",
            false => "off",
        };
        let _ = writeln!(self.text, "grad mode {grad}");
        if state.needs_as_is {
            let _ = writeln!(self.text, "needs a backend that gives the graph back");
        }
    }

    /// The objects that were met so far, and those that are met in them.
    fn objects(&mut self) {
        let mut next = 0;
        while let Some(&id) = self.met.get(next) {
            next += 1;
            let text = self.object(id);
            let _ = writeln!(self.text, "object {text}");
            if let Body::Generator(state) = &self.of.state.effects.get(id).body
                && let Some(frame) = &state.frame
            {
                self.frame(frame, "suspended");
            }
        }
    }

    fn object(&mut self, id: ObjId) -> String {
        let state = self.of.state.effects.get(id);
        let origin = match &state.origin {
            Origin::New => "new".into(),
            Origin::Source { source, .. } => self.source(*source),
            Origin::RootCell(index) => format!("cell {index} of the frame"),
        };
        let class = class_name(state.class.bind(self.of.py));
        let changed = match state.body_dirty && !matches!(state.origin, Origin::New) {
            true => ", changed",
            false => "",
        };
        let mut text = format!("#{} {class} ({origin}{changed})", id.0);
        let body = self.body(&state.body);
        if !body.is_empty() {
            let _ = write!(text, " {body}");
        }
        for name in &state.attr_order {
            let value = match state.attrs.get(name) {
                Some(Some(value)) => self.value(value, 1),
                _ => "deleted".into(),
            };
            let _ = write!(text, " .{name} = {value}");
        }
        text
    }

    fn body(&mut self, body: &Body) -> String {
        match body {
            Body::Plain => String::new(),
            Body::List(items) | Body::Deque(items, _) => {
                let items: Vec<_> = items.iter().map(|item| self.value(item, 1)).collect();
                format!("[{}]", items.join(", "))
            }
            Body::Dict(items) => {
                let item = |(key, value): (&Var, &Var)| {
                    format!("{}: {}", self.value(key, 1), self.value(value, 1))
                };
                let items: Vec<_> = items.iter().map(item).collect();
                format!("{{{}}}", items.join(", "))
            }
            Body::Set(items) => {
                let items: Vec<_> = items.iter().map(|(key, _)| self.value(key, 1)).collect();
                format!("{{{}}}", items.join(", "))
            }
            Body::Value(plain) => self.value(&Var::Const(plain.clone()), 1),
            Body::Cell(Some(value)) => self.value(value, 1),
            Body::Cell(None) => "empty".into(),
            Body::Iter(iterator) => self.iterator(iterator),
            Body::MappingProxy(of)
            | Body::Address(of)
            | Body::DataPointer(of)
            | Body::RaggedSize(of, _) => {
                format!("of {}", self.value(of, 1))
            }
            Body::DictView(dict, view) => format!("{view:?} of {}", self.meet(*dict)),
            Body::OfNode(node) => format!("of node {}", node.0),
            Body::Result(call) => format!(
                "of a call of {}",
                qualified_name(call.function.bind(self.of.py))
            ),
            Body::Array(array) => {
                format!("of {}", self.value(&Var::Tensor(array.tensor.clone()), 1))
            }
            Body::Generator(state) => match state.frame {
                None => "running, or finished".into(),
                Some(_) if state.started => "suspended".into(),
                Some(_) => "not started".into(),
            },
        }
    }

    /// Where an iterator stands. Those of `itertools` are known by their class alone.
    fn iterator(&mut self, iterator: &IterBody) -> String {
        match iterator {
            IterBody::Items(items, at) => format!("at {at} of {}", items.len()),
            IterBody::List(list, Some(at)) | IterBody::ListReverse(list, Some(at)) => {
                format!("at {at} of {}", self.meet(*list))
            }
            IterBody::List(_, None) | IterBody::ListReverse(_, None) => "exhausted".into(),
            IterBody::Dict(walk) => format!("of {}", self.meet(walk.dict)),
            IterBody::Enumerate(inner, next) => {
                let inner = self.value(inner, 1);
                format!("of {inner}, at {}", self.value(next, 1))
            }
            IterBody::Zip(inner, _) => {
                let inner: Vec<_> = inner.iter().map(|one| self.value(one, 1)).collect();
                format!("of {}", inner.join(", "))
            }
            IterBody::Opaque => "at an unknown place".into(),
            _ => String::new(),
        }
    }

    fn value(&mut self, value: &Var, depth: usize) -> String {
        if depth > DEPTH {
            return "...".into();
        }
        match value {
            Var::Const(constant) => self.repr(constant),
            Var::Tensor(tensor) => {
                let meta = self.of.state.effects.meta(tensor);
                let mut text = format!("%{} {}", self.of.graph.name(tensor.node), shape(meta));
                if let Some(input) = &tensor.input {
                    let _ = write!(text, " from {}", self.source(input.source));
                }
                text
            }
            Var::Tuple(tuple) => {
                let items = tuple.items.iter().map(|item| self.value(item, depth + 1));
                match &items.collect::<Vec<_>>()[..] {
                    [one] => format!("({one},)"),
                    items => format!("({})", items.join(", ")),
                }
            }
            Var::Slice(parts) => {
                let parts = parts.iter().map(|part| self.value(part, depth + 1));
                format!("slice({})", parts.collect::<Vec<_>>().join(", "))
            }
            Var::Obj(id) => self.meet(*id),
            Var::Method(method) => {
                let receiver = self.value(&method.receiver, depth + 1);
                format!("{} of {receiver}", self.value(&method.func, depth + 1))
            }
            Var::BuiltinMethod(method) => {
                format!(
                    "method {} of {}",
                    method.1,
                    self.value(&method.0, depth + 1)
                )
            }
            Var::Handled(exception) => format!("handled {}", self.value(exception, depth + 1)),
            Var::Py(object) => match object.source {
                Some(source) => format!("{} from {}", self.of.describe(value), self.source(source)),
                None => self.of.describe(value),
            },
            Var::Int(int) => {
                let name = |source| self.of.sources.name(source);
                format!("int {}", int.expr.text(&name))
            }
            Var::Text(text) => {
                let part = |part: &TextPart| match part {
                    TextPart::Known(known) => self.repr(known),
                    TextPart::Value(v) | TextPart::Tensor { tensor: v, .. } => {
                        self.value(v, depth + 1)
                    }
                };
                let parts: Vec<_> = text.parts.iter().map(part).collect();
                format!("text of {}", parts.join(" + "))
            }
            Var::Lazy(lazy) => self.source(lazy.source),
            Var::Computed(computed) => {
                let function = qualified_name(computed.function.bind(self.of.py));
                format!("{} computed by {function}", self.of.describe(value))
            }
            Var::Null | Var::Func(_) | Var::Super(_) | Var::Float(_) => self.of.describe(value),
        }
    }

    /// The name of an object, which is written out at the end.
    fn meet(&mut self, id: ObjId) -> String {
        if !self.met.contains(&id) {
            self.met.push(id);
        }
        format!("#{}", id.0)
    }

    fn source(&self, source: SourceId) -> String {
        self.of.sources.name(source)
    }

    fn repr(&self, object: &Obj) -> String {
        let text = object.bind(self.of.py).repr();
        text.map_or_else(|_| "?".into(), |text| text.to_string())
    }
}

/// Dtype and sizes: `float32[2, 3]`.
fn shape(meta: &TensorMeta) -> String {
    let sizes = meta.shape.iter().map(|size| match size {
        tensor_meta::SymInt::Const(n) => n.to_string(),
        tensor_meta::SymInt::Expr(number) => format!("s{number}"),
    });
    let dtype = meta.dtype.name().trim_start_matches("torch.");
    format!("{dtype}[{}]", sizes.collect::<Vec<_>>().join(", "))
}
