//! Values on the stack as expressions, and the statements that instructions come to.
//!
//! Invariant: an expression that does or sees something is written where it is evaluated. When a statement would come
//! before its use, it gets a name first.

use crate::code::Version;
use crate::disasm::{Names, binary_symbol, compare_symbol, describe};
use crate::effect::{stack_effect, stack_needs};
use crate::op::{CommonConst, ConstIdx, JumpCond, LocalIdx, Op, UnaryOp};

/// How tightly an expression binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Not,
    Compare,
    Operator,
    Unary,
    Atom,
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Value {
    text: String,
    rank: Rank,
    /// Whether evaluating it does something, or gives another value later.
    acts: bool,
    /// Locals that it reads.
    reads: Vec<LocalIdx>,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    /// The place beside a callable.
    Null,
    /// A list, set or dictionary that is being built: its text lacks the closing bracket.
    Open(char),
    /// `a += b`: its target, and the statement without it.
    InPlace(String, String),
}

impl Value {
    fn new(text: String, rank: Rank, acts: bool) -> Self {
        Value {
            text,
            rank,
            acts,
            reads: Vec::new(),
            kind: Kind::Plain,
        }
    }

    fn constant(text: String) -> Self {
        Self::new(text, Rank::Atom, false)
    }

    fn null() -> Self {
        Value {
            kind: Kind::Null,
            ..Self::constant("NULL".into())
        }
    }

    fn reading(mut self, parts: &[&Value]) -> Self {
        for part in parts {
            self.reads.extend(&part.reads);
            self.acts |= part.acts;
        }
        self
    }

    fn is_null(&self) -> bool {
        self.kind == Kind::Null
    }

    fn shown(&self) -> String {
        match self.kind {
            Kind::Open(close) => format!("{}{close}", self.text),
            _ => self.text.clone(),
        }
    }

    /// The text as a part of something that binds as tightly as `rank`.
    fn within(&self, rank: Rank) -> String {
        match self.rank < rank {
            true => format!("({})", self.shown()),
            false => self.shown(),
        }
    }
}

/// The stack, and the lines so far.
pub(super) struct Stack<'a> {
    version: Version,
    names: &'a Names<'a>,
    values: Vec<Value>,
    lines: Vec<String>,
    named: u32,
}

impl<'a> Stack<'a> {
    pub(super) fn new(version: Version, names: &'a Names<'a>) -> Self {
        Stack {
            version,
            names,
            values: Vec::new(),
            lines: Vec::new(),
            named: 0,
        }
    }

    pub(super) fn line(&mut self, text: &str) {
        self.lines.push(text.to_owned());
    }

    pub(super) fn add(&mut self, lines: Vec<String>) {
        self.lines.extend(lines);
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines
    }

    /// Begins a block; gives what [`Stack::end_block`] wants.
    pub(super) fn begin_block(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    /// Ends it: its lines, one level deeper. What comes next is added to those above.
    pub(super) fn end_block(&mut self, above: Vec<String>) -> Vec<String> {
        let mut lines = std::mem::replace(&mut self.lines, above);
        if lines.is_empty() {
            lines.push("pass".into());
        }
        lines.iter().map(|line| format!("    {line}")).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn values(&self) -> Vec<Value> {
        self.values.clone()
    }

    pub(super) fn set(&mut self, values: Vec<Value>) {
        self.values = values;
    }

    pub(super) fn take(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.values)
    }

    fn new_name(&mut self) -> String {
        self.named += 1;
        format!("_{}", self.named)
    }

    /// The index of the value that is `depth` below the top, counted from 1. None where code that no compiler makes names
    /// a place that is not there.
    fn place(&self, depth: u32) -> Option<usize> {
        let index = self.values.len().checked_sub(depth as usize)?;
        (index < self.values.len()).then_some(index)
    }

    /// Gives the value at an index a name.
    fn name(&mut self, index: usize) {
        let name = self.new_name();
        let text = self.values[index].shown();
        self.line(&format!("{name} = {text}"));
        self.values[index] = Value::constant(name);
    }

    fn name_where(&mut self, is_meant: impl Fn(&Value) -> bool) {
        for index in 0..self.values.len() {
            if is_meant(&self.values[index]) {
                self.name(index);
            }
        }
    }

    /// Names whatever a statement must not come before.
    pub(super) fn name_all(&mut self) {
        self.name_where(|value| value.acts);
    }

    /// The stacks behind two blocks as one: where they differ, both blocks end with an assignment.
    pub(super) fn merge(
        &mut self,
        (a, a_lines): (&[Value], &mut Vec<String>),
        (b, b_lines): (&[Value], &mut Vec<String>),
    ) -> Option<Vec<Value>> {
        if a.len() != b.len() {
            return None;
        }
        let mut merge = |(a, b): (&Value, &Value)| {
            if a.shown() == b.shown() {
                return a.clone();
            }
            let name = self.new_name();
            for (lines, value) in [(&mut *a_lines, a), (&mut *b_lines, b)] {
                lines.retain(|line| line.trim() != "pass");
                lines.push(format!("    {name} = {}", value.shown()));
            }
            Value::constant(name)
        };
        Some(a.iter().zip(b).map(&mut merge).collect())
    }

    /// Puts every value into the variable of its depth.
    pub(super) fn spill(&mut self) {
        for (depth, value) in self.take().into_iter().enumerate() {
            let name = format!("stack_{depth}");
            let (text, is_null) = (value.shown(), value.is_null());
            if text != name && !is_null {
                self.line(&format!("{name} = {text}"));
            }
            self.values.push(match is_null {
                true => value,
                false => Value::constant(name),
            });
        }
    }

    /// The stack is as deep as this, whatever came before in the text: variables by depth.
    pub(super) fn by_depth(&mut self, depth: usize) {
        self.values.truncate(depth);
        for below in self.values.len()..depth {
            self.values.push(Value::constant(format!("stack_{below}")));
        }
    }

    /// The iterator on top, as the expression that is gone through, and the name of an item, which is on top from now on.
    pub(super) fn begin_loop(&mut self, into: Option<LocalIdx>) -> (String, String) {
        for _ in 1..self.version.iterator_slots() {
            self.pop();
        }
        let iterator = self.pop();
        for _ in 0..self.version.iterator_slots() {
            self.push(Value::constant("iterator".into()));
        }
        let target = match into {
            Some(local) => self.local(local),
            None => self.new_name(),
        };
        self.push(Value::constant(target.clone()));
        (iterator.shown(), target)
    }

    /// The loop is over: item and iterator are gone.
    pub(super) fn end_loop(&mut self) {
        for _ in 0..=self.version.iterator_slots() {
            self.pop();
        }
    }

    /// What a handler finds on the stack.
    pub(super) fn begin_handler(&mut self, lasti: bool) {
        if lasti {
            self.push(Value::constant("lasti".into()));
        }
        self.push(Value::constant("exception".into()));
    }

    fn push(&mut self, value: Value) {
        self.values.push(value);
    }

    fn pop(&mut self) -> Value {
        self.values
            .pop()
            .unwrap_or_else(|| Value::constant("?".into()))
    }

    fn pop_many(&mut self, count: u32) -> Vec<Value> {
        let mut values: Vec<_> = (0..count).map(|_| self.pop()).collect();
        values.reverse();
        values
    }

    /// Under what condition a conditional jump is not taken. Pops its value.
    pub(super) fn condition(&mut self, cond: JumpCond) -> String {
        let value = self.pop();
        match cond {
            JumpCond::False => value.shown(),
            JumpCond::True => format!("not {}", value.within(Rank::Compare)),
            JumpCond::None => format!("{} is not None", value.within(Rank::Operator)),
            JumpCond::NotNone => format!("{} is None", value.within(Rank::Operator)),
        }
    }

    /// The value on top becomes whether it is true.
    pub(super) fn answer(&mut self) {
        self.apply(&Op::ToBool);
        self.name(self.values.len() - 1);
    }

    /// A statement: what is on the stack is evaluated before.
    fn state(&mut self, text: &str) {
        self.name_all();
        self.line(text);
    }

    fn assign(&mut self, target: &str, value: &Value) {
        match &value.kind {
            Kind::InPlace(place, statement) if place == target => {
                self.state(&format!("{target} {statement}"));
            }
            _ if value.text == target => {}
            _ => self.state(&format!("{target} = {}", value.shown())),
        }
    }

    fn local(&self, local: LocalIdx) -> String {
        self.names.local(local)
    }

    /// The items of the value on top are stored into locals.
    pub(super) fn unpack_into(&mut self, locals: &[LocalIdx]) {
        let value = self.pop();
        self.name_where(|value| locals.iter().any(|local| value.reads.contains(local)));
        let targets: Vec<_> = locals.iter().map(|&local| self.local(local)).collect();
        let comma = if targets.len() == 1 { "," } else { "" };
        self.state(&format!(
            "{}{comma} = {}",
            targets.join(", "),
            value.shown()
        ));
    }

    fn store_local(&mut self, local: LocalIdx, value: &Value) {
        self.name_where(|value| value.reads.contains(&local));
        let name = self.local(local);
        self.assign(&name, value);
    }

    fn load_local(&mut self, local: LocalIdx) {
        self.push(Value {
            reads: vec![local],
            ..Value::constant(self.local(local))
        });
    }

    fn infix(&mut self, symbol: &str, rank: Rank) {
        let (right, left) = (self.pop(), self.pop());
        // Operators of one rank are not told apart: both sides get parentheses.
        let inner = match rank {
            Rank::Compare => Rank::Operator,
            _ => Rank::Unary,
        };
        let text = format!("{} {symbol} {}", left.within(inner), right.within(inner));
        self.push(Value::new(text, rank, true).reading(&[&left, &right]));
    }

    fn list(values: &[Value]) -> String {
        let texts: Vec<_> = values.iter().map(Value::shown).collect();
        texts.join(", ")
    }

    fn build(&mut self, count: u32, open: &str, close: char) {
        let values = self.pop_many(count);
        let text = format!("{open}{}", Self::list(&values));
        let parts: Vec<_> = values.iter().collect();
        self.push(Value {
            kind: Kind::Open(close),
            ..Value::new(text, Rank::Atom, false).reading(&parts)
        });
    }

    fn build_tuple(&mut self, count: u32) {
        let values = self.pop_many(count);
        let comma = if count == 1 { "," } else { "" };
        let text = format!("({}{comma})", Self::list(&values));
        let parts: Vec<_> = values.iter().collect();
        self.push(Value::new(text, Rank::Atom, false).reading(&parts));
    }

    /// `item` is the next one of the container that is `depth` below the top.
    fn extend(&mut self, depth: u32, item: &str, with: &Value) {
        let Some(index) = self.place(depth) else {
            return;
        };
        let container = &mut self.values[index];
        if let Kind::Open(_) = container.kind
            && !container.text.ends_with("set(")
        {
            if !container.text.ends_with(['[', '{']) {
                container.text.push_str(", ");
            }
            container.text.push_str(item);
            container.reads.extend(&with.reads);
            container.acts |= with.acts;
            return;
        }
        if container.acts {
            self.name(index);
        }
        let text = format!("{} += [{item}]", self.values[index].shown());
        self.state(&text);
    }

    /// The callable and what is beside it: the callable's text, and a first argument.
    fn callee(&mut self) -> (Value, Option<Value>) {
        let (second, first) = (self.pop(), self.pop());
        match (first.is_null(), second.is_null()) {
            (true, _) => (second, None),
            (_, true) => (first, None),
            _ => (first, Some(second)),
        }
    }

    fn call(&mut self, argc: u32, names: &[String]) {
        let values = self.pop_many(argc);
        let (callee, receiver) = self.callee();
        let plain = values.len().saturating_sub(names.len());
        let mut texts: Vec<_> = receiver.iter().map(Value::shown).collect();
        texts.extend(values.iter().enumerate().map(|(i, value)| {
            match i.checked_sub(plain).and_then(|i| names.get(i)) {
                Some(name) => format!("{name}={}", value.shown()),
                None => value.shown(),
            }
        }));
        let text = format!("{}({})", callee.within(Rank::Atom), texts.join(", "));
        let mut parts: Vec<_> = values.iter().collect();
        parts.extend(receiver.iter().chain([&callee]));
        self.push(Value::new(text, Rank::Atom, true).reading(&parts));
    }

    /// The words of a tuple of names, as `repr` shows it.
    fn words(text: &str) -> Vec<String> {
        let inner = text.trim_matches(['(', ')']);
        let words = inner.split(',').map(|word| word.trim().trim_matches('\''));
        words
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn constant(&self, index: ConstIdx) -> String {
        let constants = self.names.consts.get(index.0 as usize);
        constants
            .cloned()
            .unwrap_or_else(|| format!("constant_{}", index.0))
    }

    fn suffix(&mut self, suffix: &str) {
        let value = self.pop();
        let text = format!("{}{suffix}", value.within(Rank::Atom));
        self.push(Value::new(text, Rank::Atom, true).reading(&[&value]));
    }

    fn unpack(&mut self, pattern: &dyn Fn(&[String]) -> String, count: u32) {
        let value = self.pop();
        let names: Vec<_> = (0..count).map(|_| self.new_name()).collect();
        self.state(&format!("{} = {}", pattern(&names), value.shown()));
        let values = names.into_iter().rev().map(Value::constant);
        self.values.extend(values);
    }

    /// What Python has no words for.
    fn other(&mut self, op: &Op) {
        let needs = stack_needs(self.version, op);
        let effect = stack_effect(self.version, op, false);
        let values = self.pop_many(needs);
        let text = format!("<{}>({})", describe(op, self.names), Self::list(&values));
        let given = i64::from(needs) + i64::from(effect);
        match u32::try_from(given).unwrap_or(0) {
            0 => self.state(&text),
            count => {
                let names: Vec<_> = (0..count).map(|_| self.new_name()).collect();
                self.state(&format!("{} = {text}", names.join(", ")));
                self.values.extend(names.into_iter().map(Value::constant));
            }
        }
    }

    /// An instruction that does not jump.
    pub(super) fn apply(&mut self, op: &Op) {
        match *op {
            Op::Nop | Op::Resume(_) | Op::CopyFreeVars(_) | Op::MakeCell(_) => {}
            Op::PushNull => self.push(Value::null()),
            Op::PopTop | Op::PopExcept | Op::PopIter | Op::EndFor => self.discard(op),
            Op::Copy(depth) => {
                if let Some(index) = self.place(depth) {
                    if self.values[index].acts || self.values[index].kind != Kind::Plain {
                        self.name(index);
                    }
                    self.push(self.values[index].clone());
                }
            }
            Op::Swap(depth) => {
                if let Some(index) = self.place(depth) {
                    self.name_where(|value| value.acts);
                    let top = self.values.len() - 1;
                    self.values.swap(index, top);
                }
            }
            Op::LoadConst(index) => {
                let text = self.constant(index);
                self.push(Value::constant(text));
            }
            Op::LoadSmallInt(number) => self.push(Value::constant(number.to_string())),
            Op::LoadCommon(which) => self.push(Value::constant(common(which))),
            Op::LoadFast { local, .. } | Op::LoadDeref(local) | Op::LoadFastAndClear(local) => {
                self.load_local(local);
            }
            Op::LoadClosure(local) => {
                let name = self.local(local);
                self.push(Value::constant(format!("<cell {name}>")));
            }
            Op::StoreFast(local) | Op::StoreDeref(local) => {
                let value = self.pop();
                self.store_local(local, &value);
            }
            Op::DeleteFast(local) | Op::DeleteDeref(local) => {
                self.name_where(|value| value.reads.contains(&local));
                let name = self.local(local);
                self.state(&format!("del {name}"));
            }
            Op::LoadGlobal(name) | Op::LoadName(name) => {
                let name = self.names.name(name);
                self.push(Value::new(name, Rank::Atom, false));
            }
            Op::StoreGlobal(name) | Op::StoreName(name) => {
                let (value, name) = (self.pop(), self.names.name(name));
                self.assign(&name, &value);
            }
            Op::LoadAttr(name) => self.suffix(&format!(".{}", self.names.name(name))),
            Op::LoadMethod { name, null_first } => {
                self.suffix(&format!(".{}", self.names.name(name)));
                let method = self.pop();
                let both = [Value::null(), method];
                match null_first {
                    true => self.values.extend(both),
                    false => self.values.extend(both.into_iter().rev()),
                }
            }
            Op::StoreAttr(name) => {
                let (object, value) = (self.pop(), self.pop());
                let target = format!("{}.{}", object.within(Rank::Atom), self.names.name(name));
                self.assign(&target, &value);
            }
            Op::DeleteAttr(name) => {
                let object = self.pop();
                let name = self.names.name(name);
                self.state(&format!("del {}.{name}", object.within(Rank::Atom)));
            }
            Op::BinarySubscr | Op::StoreSubscr | Op::DeleteSubscr => self.subscript(op),
            Op::BinarySlice => {
                let parts = self.pop_many(2);
                self.suffix(&format!("[{}:{}]", parts[0].shown(), parts[1].shown()));
            }
            Op::Unary(_) | Op::ToBool | Op::Binary { .. } | Op::Compare { .. } => self.operate(op),
            Op::Is { .. } | Op::Contains { .. } => self.operate(op),
            Op::ReturnValue => {
                let value = self.pop();
                self.state(&format!("return {}", value.shown()));
            }
            Op::ReturnConst(index) => {
                let text = self.constant(index);
                self.state(&format!("return {text}"));
            }
            Op::Reraise(_) => {
                self.pop();
                self.state("raise");
            }
            Op::RaiseVarargs(count) => {
                let values = self.pop_many(count);
                let texts: Vec<_> = values.iter().map(Value::shown).collect();
                self.state(format!("raise {}", texts.join(" from ")).trim_end());
            }
            Op::PushExcInfo => {
                let exception = self.pop();
                self.push(Value::constant("previous".into()));
                self.push(exception);
            }
            Op::CheckExcMatch => {
                let (class, exception) = (self.pop(), self.pop());
                let text = format!("isinstance({}, {})", exception.shown(), class.shown());
                self.push(exception);
                self.push(Value::new(text, Rank::Atom, true));
            }
            Op::GetIter if self.version.iterator_slots() == 1 => {
                let value = self.pop();
                let text = format!("iter({})", value.shown());
                self.push(Value::new(text, Rank::Atom, true).reading(&[&value]));
            }
            Op::YieldValue(_) => {
                let value = self.pop();
                self.push(Value::new(
                    format!("(yield {})", value.shown()),
                    Rank::Atom,
                    true,
                ));
                self.name_all();
            }
            Op::UnpackSequence(count) => self.unpack(&|names| names.join(", "), count),
            Op::UnpackEx { before, after } => {
                let star = |names: &[String]| {
                    let shown = names.iter().enumerate().map(|(i, name)| {
                        let star = if i == before as usize { "*" } else { "" };
                        format!("{star}{name}")
                    });
                    shown.collect::<Vec<_>>().join(", ")
                };
                self.unpack(&star, before + 1 + after);
            }
            ref op => self.apply_call_or_container(op),
        }
    }

    fn discard(&mut self, op: &Op) {
        let count = -stack_effect(self.version, op, false);
        for _ in 0..count {
            let value = self.pop();
            if value.acts {
                self.state(&value.shown());
            }
        }
    }

    fn subscript(&mut self, op: &Op) {
        let (key, object) = (self.pop(), self.pop());
        let text = format!("{}[{}]", object.within(Rank::Atom), key.shown());
        match op {
            Op::BinarySubscr => {
                self.push(Value::new(text, Rank::Atom, true).reading(&[&object, &key]));
            }
            Op::DeleteSubscr => self.state(&format!("del {text}")),
            _ => {
                let value = self.pop();
                self.assign(&text, &value);
            }
        }
    }

    fn operate(&mut self, op: &Op) {
        match *op {
            Op::Unary(operator) => {
                let value = self.pop();
                let (symbol, rank) = match operator {
                    UnaryOp::Positive => ("+", Rank::Unary),
                    UnaryOp::Negative => ("-", Rank::Unary),
                    UnaryOp::Not => ("not ", Rank::Not),
                    UnaryOp::Invert => ("~", Rank::Unary),
                };
                let text = format!("{symbol}{}", value.within(rank));
                self.push(Value::new(text, rank, true).reading(&[&value]));
            }
            Op::ToBool => {
                let value = self.pop();
                let text = format!("bool({})", value.shown());
                self.push(Value::new(text, Rank::Atom, true).reading(&[&value]));
            }
            Op::Binary { op, inplace } => {
                let symbol = binary_symbol(op);
                if !inplace {
                    return self.infix(symbol, Rank::Operator);
                }
                let (right, left) = (self.pop(), self.pop());
                let place = left.shown();
                let statement = format!("{symbol}= {}", right.shown());
                let text = format!("operator.{}({place}, {})", op.function(true), right.shown());
                self.push(Value {
                    kind: Kind::InPlace(place, statement),
                    ..Value::new(text, Rank::Atom, true).reading(&[&left, &right])
                });
            }
            Op::Compare { op, .. } => self.infix(compare_symbol(op), Rank::Compare),
            Op::Is { invert } => self.infix(if invert { "is not" } else { "is" }, Rank::Compare),
            Op::Contains { invert } => {
                self.infix(if invert { "not in" } else { "in" }, Rank::Compare);
            }
            ref op => self.other(op),
        }
    }

    fn apply_call_or_container(&mut self, op: &Op) {
        match *op {
            Op::BuildTuple(count) => self.build_tuple(count),
            Op::BuildList(count) => self.build(count, "[", ']'),
            Op::BuildSet(0) => self.build(0, "set(", ')'),
            Op::BuildSet(count) => self.build(count, "{", '}'),
            Op::BuildMap(count) => {
                let values = self.pop_many(count.saturating_mul(2));
                let pairs = values.chunks(2).map(|pair| match pair {
                    [key, value] => format!("{}: {}", key.shown(), value.shown()),
                    _ => String::new(),
                });
                let text = format!("{{{}", pairs.collect::<Vec<_>>().join(", "));
                let parts: Vec<_> = values.iter().collect();
                self.push(Value {
                    kind: Kind::Open('}'),
                    ..Value::new(text, Rank::Atom, false).reading(&parts)
                });
            }
            Op::BuildConstKeyMap(count) => {
                let keys = self.pop();
                let values = self.pop_many(count);
                let text = format!("dict(zip({}, ({},)))", keys.shown(), Self::list(&values));
                let parts: Vec<_> = values.iter().collect();
                self.push(Value::new(text, Rank::Atom, false).reading(&parts));
            }
            Op::ListExtend(depth) | Op::SetUpdate(depth) => {
                let value = self.pop();
                self.extend(depth, &format!("*{}", value.within(Rank::Operator)), &value);
            }
            Op::DictUpdate(depth) | Op::DictMerge(depth) => {
                let value = self.pop();
                self.extend(
                    depth,
                    &format!("**{}", value.within(Rank::Operator)),
                    &value,
                );
            }
            Op::ListAppend(depth) | Op::SetAdd(depth) => {
                let value = self.pop();
                self.extend(depth, &value.shown(), &value);
            }
            Op::ListToTuple => {
                let value = self.pop();
                let text = format!("tuple({})", value.shown());
                self.push(Value::new(text, Rank::Atom, false).reading(&[&value]));
            }
            Op::Call { argc, kw_names } => {
                let names = kw_names.map(|names| Self::words(&self.constant(names)));
                self.call(argc, &names.unwrap_or_default());
            }
            Op::CallKw { argc } => {
                let names = Self::words(&self.pop().shown());
                self.call(argc, &names);
            }
            Op::CallEx { kwargs } => {
                let keywords = kwargs.then(|| self.pop()).filter(|value| !value.is_null());
                let arguments = self.pop();
                let (callee, _) = self.callee();
                let named = keywords
                    .as_ref()
                    .map(|k| format!(", **{}", k.within(Rank::Operator)));
                let text = format!(
                    "{}(*{}{})",
                    callee.within(Rank::Atom),
                    arguments.within(Rank::Operator),
                    named.unwrap_or_default()
                );
                self.push(Value::new(text, Rank::Atom, true).reading(&[&callee, &arguments]));
            }
            Op::MakeFunction(parts) if parts.0 == 0 => {
                let code = self.pop();
                self.push(Value::constant(format!("<function of {}>", code.shown())));
            }
            ref op => self.other(op),
        }
    }
}

fn common(which: CommonConst) -> String {
    let text = match which {
        CommonConst::None => "None",
        CommonConst::EmptyStr => "''",
        CommonConst::True => "True",
        CommonConst::False => "False",
        CommonConst::MinusOne => "-1",
        builtin => builtin.builtin(),
    };
    text.to_owned()
}
