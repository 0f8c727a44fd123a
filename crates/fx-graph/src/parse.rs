//! Reads the text form that `text` writes.
//!
//! Names of erased nodes are not in the text, so a graph that was read may give such a name out
//! again; apart from that it equals the one written.

use std::sync::Arc;

use petgraph::graph::NodeIndex;
use rustc_hash::FxHashMap;
use thiserror::Error;

use crate::arg::{Arg, Kwargs};
use crate::graph::{Graph, distinct_inputs};
use crate::node::{
    FnOrigin, FnTarget, NodeData, NodeId, OpKind, SourceLine, SourceStack, Target, TypeExpr,
};

/// Why a text is not that of a graph.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {line}: {problem}")]
pub struct ParseError {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

type Parsed<T> = Result<T, String>;

/// Deepest nesting of aggregates that is read.
const MAX_DEPTH: usize = 100;

impl Graph {
    /// Reads a graph in the form of [`Graph::to_text`]. Blank lines are skipped.
    ///
    /// # Errors
    /// [`ParseError`] where the text is malformed, or names an id or a name twice. Whether the
    /// graph makes sense is for [`Graph::verify`] to say.
    pub fn parse(text: &str) -> Result<Graph, ParseError> {
        let mut graph = Graph::new();
        let mut functions = FxHashMap::default();
        let mut started = false;
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let mut reader = Reader { rest: line };
            let result = if !started {
                started = true;
                graph.read_header(&mut reader)
            } else if reader.take("fn ") {
                read_function(&mut reader, &mut functions)
            } else {
                graph.read_node(&mut reader, &functions)
            };
            result
                .and_then(|()| reader.end())
                .map_err(|problem| ParseError {
                    line: at + 1,
                    problem,
                })?;
        }
        for id in graph.order().collect::<Vec<_>>() {
            let inputs = distinct_inputs(&graph[id]);
            graph.link(&inputs, id);
        }
        Ok(graph)
    }

    fn read_header(&mut self, reader: &mut Reader<'_>) -> Parsed<()> {
        reader.expect("fx-graph ids=")?;
        let ids: u32 = reader.number()?;
        if ids > 1 << 26 {
            return Err(format!("{ids} ids are too many"));
        }
        for _ in 0..ids {
            self.nodes.add_node(None);
        }
        Ok(())
    }

    fn read_node(
        &mut self,
        reader: &mut Reader<'_>,
        functions: &FxHashMap<(u32, String), Arc<FnTarget>>,
    ) -> Parsed<()> {
        reader.expect("%")?;
        let id = NodeId(reader.number()?);
        reader.expect(" ")?;
        let name: Arc<str> = reader.until(" = ")?.into();
        let op = reader.until(" ")?;
        let op = OpKind::from_name(op).ok_or_else(|| format!("no operation {op:?}"))?;
        let target = if op == OpKind::CallFunction {
            let key = reader.function_ref()?;
            let function = functions
                .get(&key)
                .ok_or_else(|| format!("no function {}#{}", key.1, key.0))?;
            Target::Function(function.clone())
        } else {
            Target::Name(reader.quoted()?.into())
        };
        reader.expect(" (")?;
        let args = reader.list(")", 0)?.0;
        let mut kwargs = Kwargs::new();
        if reader.take(" {") {
            while !reader.take("}") {
                let key = reader.quoted()?.into();
                reader.expect(": ")?;
                kwargs.push((key, reader.arg(0)?));
                reader.take(", ");
            }
        }
        let impure = reader.take(" impure");
        let mut type_expr = None;
        if reader.take(" type=") {
            let handle = reader.number()?;
            reader.expect(":")?;
            let code = reader.quoted()?.into();
            type_expr = Some(Arc::new(TypeExpr { handle, code }));
        }
        let mut source = SourceStack::empty();
        while reader.take(" @") {
            let file = reader.quoted()?.into();
            reader.expect(":")?;
            let line = reader.number()?;
            reader.expect(":")?;
            let function = reader.quoted()?.into();
            source = source.push(SourceLine {
                file,
                line,
                function,
            });
        }
        let slot = self
            .nodes
            .node_weight_mut(NodeIndex::new(id.index()))
            .ok_or_else(|| format!("the id {} is beyond the count of ids", id.0))?;
        if slot.is_some() {
            return Err(format!("the id {} is used twice", id.0));
        }
        if !self.names.reserve(&name) {
            return Err(format!("the name {name:?} is used twice"));
        }
        *slot = Some(NodeData {
            op,
            target,
            args,
            kwargs,
            name,
            type_expr,
            source,
            module: None,
            impure,
            number_dtype: None,
            may_refuse_arguments: false,
            draws: false,
            keeps_random_state: false,
            may_refuse_write: false,
            owns_memory: false,
            gives_class: false,
            chooses: false,
            repeatable: false,
        });
        match op {
            OpKind::Placeholder if !self.body.is_empty() => {
                return Err("a placeholder comes after other nodes".into());
            }
            OpKind::Placeholder => self.placeholders.push(id),
            _ => self.body.push(id),
        }
        Ok(())
    }
}

fn read_function(
    reader: &mut Reader<'_>,
    functions: &mut FxHashMap<(u32, String), Arc<FnTarget>>,
) -> Parsed<()> {
    let key = reader.function_ref()?;
    reader.expect(" display=")?;
    let display = reader.quoted()?.into();
    reader.expect(" hint=")?;
    let hint = reader.quoted()?.into();
    reader.expect(" origin=")?;
    let origin = match std::mem::take(&mut reader.rest) {
        "torch" => FnOrigin::Torch,
        "builtin" => FnOrigin::Builtin,
        "operator" => FnOrigin::Operator,
        "global" => FnOrigin::Global,
        other => return Err(format!("no origin {other:?}")),
    };
    let function = FnTarget {
        handle: key.0,
        display,
        path: key.1.as_str().into(),
        hint,
        origin,
    };
    functions.insert(key, Arc::new(function));
    Ok(())
}

/// What is left of a line.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, text: &str) -> Parsed<()> {
        if self.take(text) {
            Ok(())
        } else {
            Err(format!("expected {text:?} at {:?}", self.rest))
        }
    }

    fn end(&self) -> Parsed<()> {
        match self.rest.trim() {
            "" => Ok(()),
            rest => Err(format!("left over: {rest:?}")),
        }
    }

    fn until(&mut self, text: &str) -> Parsed<&'a str> {
        let (before, rest) = self
            .rest
            .split_once(text)
            .ok_or_else(|| format!("expected {text:?} after {:?}", self.rest))?;
        self.rest = rest;
        Ok(before)
    }

    fn while_(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let end = self
            .rest
            .find(|c: char| !keep(c))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn number<T: std::str::FromStr>(&mut self) -> Parsed<T> {
        let digits = self.while_(|c| c.is_ascii_digit());
        digits
            .parse()
            .map_err(|_| format!("expected a number at {digits:?}"))
    }

    fn quoted(&mut self) -> Parsed<String> {
        self.expect("\"")?;
        let mut out = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Ok(out);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => out.push('\n'),
                    Some((_, 'u')) => {
                        let mut code = 0u32;
                        for (_, digit) in chars.by_ref().skip(1) {
                            match digit.to_digit(16) {
                                Some(digit) if code < 0x11_0000 => code = code * 16 + digit,
                                _ => break,
                            }
                        }
                        out.push(char::from_u32(code).ok_or("no such character")?);
                    }
                    Some((_, c)) => out.push(c),
                    None => break,
                },
                c => out.push(c),
            }
        }
        Err("a text without an end".into())
    }

    fn function_ref(&mut self) -> Parsed<(u32, String)> {
        let path = if self.rest.starts_with('"') {
            self.quoted()?
        } else {
            self.while_(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
                .to_owned()
        };
        self.expect("#")?;
        Ok((self.number()?, path))
    }

    /// Arguments up to `close`, and whether the last had a comma after it.
    fn list(&mut self, close: &str, depth: usize) -> Parsed<(Vec<Arg>, bool)> {
        let mut items = Vec::new();
        let mut comma = false;
        while !self.take(close) {
            if !items.is_empty() && !comma {
                return Err(format!("expected a comma at {:?}", self.rest));
            }
            items.push(self.arg(depth)?);
            comma = self.take(", ") || self.take(",");
        }
        Ok((items, comma))
    }

    fn arg(&mut self, depth: usize) -> Parsed<Arg> {
        if depth > MAX_DEPTH {
            return Err("nested too deep".into());
        }
        let depth = depth + 1;
        if self.take("%") {
            return Ok(Arg::Node(NodeId(self.number()?)));
        }
        if self.take("#") {
            let handle = self.number()?;
            self.expect(":")?;
            let repr = self.quoted()?.into();
            return Ok(Arg::Opaque { handle, repr });
        }
        if self.rest.starts_with('"') {
            return Ok(Arg::Str(self.quoted()?.into()));
        }
        if self.take("...") {
            return Ok(Arg::Ellipsis);
        }
        if self.take("slice(") {
            let (parts, _) = self.list(")", depth)?;
            let parts = <[Arg; 3]>::try_from(parts).map_err(|_| "a slice has three parts")?;
            return Ok(Arg::Slice(Box::new(parts)));
        }
        if self.take("(") {
            return match self.list(")", depth)? {
                (items, false) if items.len() == 1 => Err("a tuple of one needs a comma".into()),
                (items, _) => Ok(Arg::Tuple(items)),
            };
        }
        if self.take("[") {
            return Ok(Arg::List(self.list("]", depth)?.0));
        }
        if self.take("{") {
            let mut items = Vec::new();
            while !self.take("}") {
                let key = self.arg(depth)?;
                self.expect(": ")?;
                items.push((key, self.arg(depth)?));
                self.take(", ");
            }
            return Ok(Arg::Dict(items));
        }
        self.word()
    }

    fn word(&mut self) -> Parsed<Arg> {
        let start = self.rest;
        let word = self.while_(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | ':'));
        // A dict key that is a number is followed by a colon of its own.
        let bare = word.trim_end_matches(':');
        self.rest = &start[bare.len()..];
        match bare {
            "None" => return Ok(Arg::None),
            "True" => return Ok(Arg::Bool(true)),
            "False" => return Ok(Arg::Bool(false)),
            "inf" => return Ok(Arg::Float(f64::INFINITY)),
            "-inf" => return Ok(Arg::Float(f64::NEG_INFINITY)),
            _ => {}
        }
        if let Some(bits) = bare.strip_prefix("nan:") {
            let bits = u64::from_str_radix(bits, 16).map_err(|_| "bad bits of a nan")?;
            return Ok(Arg::Float(f64::from_bits(bits)));
        }
        if let Ok(value) = bare.parse::<i64>() {
            return Ok(Arg::Int(value));
        }
        bare.parse::<f64>()
            .map(Arg::Float)
            .map_err(|_| format!("no argument: {bare:?}"))
    }
}
