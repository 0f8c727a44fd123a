//! Numbers that the graph reads from its tensors: `x.item()`, whose result goes on into operations of tensors.
//!
//! Such a number is a dynamic float or int with a source of its own, [`guards::Source::Early`]: nothing is known of it
//! while translating. What can't do without breaks the graph at its own place, and finds the number read.
//!
//! Invariants: no number is read where something else is to happen at its place (modes, `vmap`); what is computed of it
//! beside tensors is computed in the graph, by Python's own operators.

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::CompareOp;
use fx_graph::{Arg, FnTarget, NodeId, OpKind};
use guards::{IntBinary, IntExpr, SourceId};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use tensor_meta::{DType, DeviceKind, Reads, SymInt};
use variables::{
    ComputedVar, EarlyCall, EarlyKind, FloatExpr, FloatVar, IntVar, ReadNumber, TensorVar, Var,
};

use crate::early::value_needed;
use crate::stop::{R, Stop};
use crate::tx::Tx;

/// Of more numbers, which are data, a list is made outside of the graph.
const MAX_LISTED: i64 = 8;

/// The same where the program has asked for numbers of the graph.
const MAX_CAPTURED: i64 = 256;

/// What an int counts as while translating. Nothing is decided by it.
const ANY_INT: i64 = 2;

impl Tx<'_> {
    /// `t.item()`, or `t.tolist()` of a few numbers. `None` where the graph has to end in front of it.
    ///
    /// # Errors
    /// Those of the operations that give each number.
    pub(super) fn data_read_in_graph(&mut self, t: &Var, reads: Reads) -> R<Option<Var>> {
        let Var::Tensor(tensor) = t else {
            return Ok(None);
        };
        let meta = self.st.effects.meta(tensor).clone();
        match (reads, number_of(meta.dtype)) {
            (Reads::List, _) if !meta.shape.is_empty() => {}
            (Reads::Number | Reads::List, _)
            | (Reads::Int, Some(Some(_)))
            | (Reads::Float, Some(None)) => return self.read_in_graph(t),
            _ => return Ok(None),
        }
        let most = match self.ints.captures_scalars {
            true => MAX_CAPTURED,
            false => MAX_LISTED,
        };
        let is_listed = |count: i64| (1..=most).contains(&count);
        let sizes = meta.shape.iter().map(|size| self.log.sizes.hint(*size));
        if !is_listed(sizes.product())
            || number_of(meta.dtype).is_none()
            || !self.can_read_in_graph(tensor)
        {
            return Ok(None);
        }
        // Where sizes change, a list for each is worth it to a program that asked for numbers of the graph.
        let may_fix = self.ints.captures_scalars;
        let can_fix = |size: &SymInt| {
            size.as_const().is_some()
                || may_fix
                    && self.log.sizes.expr(*size).is_some_and(|expr| {
                        !expr.sources().iter().any(|source| self.is_early(*source))
                    })
        };
        if !meta.shape.iter().all(can_fix) {
            return Ok(None);
        }
        let sizes: Vec<i64> = meta.shape.iter().map(|size| self.fix_size(*size)).collect();
        self.list_read_in_graph(t, &sizes).map(Some)
    }

    /// The nested list of the numbers of a tensor of these sizes.
    fn list_read_in_graph(&mut self, t: &Var, sizes: &[i64]) -> R<Var> {
        let Some((count, inner)) = sizes.split_first() else {
            let number = self.read_in_graph(t)?;
            return number.ok_or_else(|| Stop::Internal("an item that is not read".into()));
        };
        let mut items = im::Vector::new();
        for at in 0..*count {
            let index = self.int(at);
            let item = self.tensor_getitem(t, &index)?;
            let item = self.finish_flow(item)?;
            items.push_back(self.list_read_in_graph(&item, inner)?);
        }
        Ok(self.new_list(items))
    }

    /// Whether nothing is to happen at the place where a number is read but that.
    fn can_read_in_graph(&self, t: &TensorVar) -> bool {
        let is_plain = t.class.is(&self.known.tensor) || t.class.is(&self.known.parameter);
        let is_beside = self.st.levels.is_active() || self.has_modes();
        // Where the program asks for numbers of the graph, the functions of its operators read them as well.
        let is_own = self.ints.captures_scalars || self.used.is_none() && self.nested == 0;
        is_plain && !is_beside && is_own && !self.so_far().inference_now()
    }

    /// `t.item()` as an operation of the graph. `None` where the graph has to end in front of it.
    ///
    /// # Errors
    /// What looking up the method raises.
    pub fn read_in_graph(&mut self, t: &Var) -> R<Option<Var>> {
        let Var::Tensor(t) = t else { return Ok(None) };
        // The same number is one for a compiler: of two nodes that read it, it would drop one.
        if let Some((writes, number)) = self.st.effects.numbers_read.get(&t.node.0)
            && *writes == self.st.effects.writes
        {
            return Ok(Some(number.clone()));
        }
        let meta = self.st.effects.meta(t).clone();
        let is_one = meta.shape.iter().all(|size| size.as_const() == Some(1));
        if !is_one || !self.can_read_in_graph(t) {
            return Ok(None);
        }
        if let Some(known) = self.number_of_input(t)? {
            return Ok(Some(known));
        }
        // A graph computes with ints: a flag is one that is not 0.
        let is_flag = meta.dtype == DType::Bool && self.ints.captures_scalars;
        let range = match number_of(meta.dtype) {
            Some(range) => range,
            None if is_flag => Some((0, 1)),
            None => return Ok(None),
        };
        let mut tensor = t.node;
        if let Some(used) = &mut self.used {
            used.insert(tensor, Var::Tensor(t.clone()));
        }
        // A compiler gives tensors back, and what is written to this one later is not what was read.
        if !self.runs_as_is {
            tensor = self.repeatable_method("detach", tensor);
            tensor = self.repeatable_method("clone", tensor);
        }
        if is_flag {
            tensor = self.repeatable_method("int", tensor);
        }
        let node = self.item_node(tensor);
        let read = ReadNumber {
            node,
            tensor: (!self.runs_as_is).then_some(tensor),
            range,
            is_python: false,
        };
        let call = self.read_call(read)?;
        let number = match range {
            None => self.early_float(call),
            Some(_) => self.early_int(call, ANY_INT),
        };
        let read = match is_flag {
            true => self.compare_read(CompareOp::Ne, &number, &self.int(0))?,
            false => Some(number),
        };
        if let Some(number) = read.clone() {
            let known = (self.st.effects.writes, number);
            self.st.effects.numbers_read.insert(t.node.0, known);
        }
        Ok(read)
    }

    /// The number of an input that nothing has written to, guarded, where that is asked for.
    fn number_of_input(&mut self, t: &TensorVar) -> R<Option<Var>> {
        let meta = self.st.effects.meta(t);
        let is_number = number_of(meta.dtype).is_some() || meta.dtype == DType::Bool;
        let is_at_hand = is_number && meta.device.kind == DeviceKind::Cpu;
        let Some(input) = t.input.as_ref().filter(|_| is_at_hand) else {
            return Ok(None);
        };
        self.ints.reads_input |= self.ints.is_whole;
        if !self.ints.fixes_inputs || self.st.effects.writes > 0 {
            return Ok(None);
        }
        let (function, source) = (self.known.tensor.getattr(self.py, "item")?, input.source);
        let number = function.bind(self.py).call1((&input.obj,))?;
        // What is no number is not equal to itself.
        if !number.eq(&number)? {
            return Ok(None);
        }
        self.guard_call(&function, Some(source), &[], &number)?;
        Ok(Some(Var::Const(number.unbind())))
    }

    fn read_call(&self, read: ReadNumber) -> R<EarlyCall> {
        Ok(EarlyCall {
            function: self.known.tensor.getattr(self.py, "item")?,
            pos: Vec::new(),
            kw: Vec::new(),
            kind: EarlyKind::Read(read),
        })
    }

    /// The int or float that a node gives, of which nothing is known.
    ///
    /// # Errors
    /// None of its own.
    pub fn number_of_node(&mut self, node: NodeId, is_float: bool) -> R<Var> {
        let call = self.read_call(ReadNumber {
            node,
            tensor: None,
            range: (!is_float).then_some((i64::MIN, i64::MAX)),
            is_python: true,
        })?;
        Ok(match is_float {
            true => self.early_float(call),
            false => self.early_int(call, ANY_INT),
        })
    }

    /// The node of a number that a function of the graph gives: an int, or a condition over ints that only the graph
    /// knows. `None` for other values.
    ///
    /// # Errors
    /// A break for what the graph does not compute.
    pub fn given_number(&mut self, v: &Var) -> R<Option<NodeId>> {
        if let Some(node) = (self.rules.torch.condition_node)(self, v)? {
            return Ok(Some(node));
        }
        match v {
            Var::Int(int) => self.int_node(int).map(Some),
            v => self.own_int_node(v),
        }
    }

    /// A node of its own that gives an int.
    ///
    /// # Errors
    /// A break for what the graph does not compute.
    pub fn own_int_node(&mut self, v: &Var) -> R<Option<NodeId>> {
        let value = match v {
            Var::Int(int) => Arg::Node(self.int_node(int)?),
            Var::Const(o) if o.bind(self.py).is_exact_instance_of::<PyInt>() => {
                Arg::Int(o.extract(self.py)?)
            }
            _ => return Ok(None),
        };
        let target = self.operator_target("index")?;
        Ok(Some(self.repeatable_call(target, vec![value])))
    }

    /// Whether an int of Python's that only the graph knows is in an expression.
    fn has_python_int(&self, expr: &IntExpr) -> bool {
        let sources = expr.sources();
        let mut read = sources
            .iter()
            .filter_map(|source| self.read_number(*source));
        read.any(|read| read.is_python)
    }

    /// The node that reads the number of a tensor.
    pub(crate) fn item_node(&mut self, tensor: NodeId) -> NodeId {
        self.repeatable_method("item", tensor)
    }

    fn repeatable_method(&mut self, name: &str, tensor: NodeId) -> NodeId {
        let node = self
            .log
            .graph
            .call_method(name, vec![tensor.into()], Vec::new());
        self.set_line(node);
        self.log.graph.set_repeatable(node);
        node
    }

    /// Whether a number follows from one that the graph reads.
    pub fn follows_from_read(&self, v: &Var) -> bool {
        match v {
            Var::Int(i) => i
                .expr
                .sources()
                .iter()
                .any(|s| self.read_number(*s).is_some()),
            Var::Float(f) => self.reads(&f.expr),
            Var::Computed(c) => self.computes_read(c),
            Var::Tuple(t) => t.items.iter().any(|v| self.follows_from_read(v)),
            _ => false,
        }
    }

    pub(super) fn computes_read(&self, computed: &ComputedVar) -> bool {
        computed.args.iter().any(|v| self.follows_from_read(v))
    }

    /// Whether a float follows from a number that the graph reads.
    pub(crate) fn reads(&self, expr: &FloatExpr) -> bool {
        let mut found = false;
        expr.for_each_leaf(&mut |leaf| {
            found |= match leaf {
                FloatExpr::Source(source) => self.read_number(*source).is_some(),
                FloatExpr::Computed(c) => self.computes_read(c),
                _ => false,
            };
        });
        found
    }

    /// The node of a float that follows from numbers that the graph reads.
    ///
    /// # Errors
    /// A break for what the graph does not compute.
    pub(crate) fn read_float_node(&mut self, expr: &FloatExpr) -> R<NodeId> {
        match expr {
            FloatExpr::Source(source) => self.read_node(*source),
            FloatExpr::Negative(x) => {
                let x = self.float_arg(x)?;
                self.number_node("neg", vec![x])
            }
            FloatExpr::Binary(op, ab) => {
                let args = vec![self.float_arg(&ab.0)?, self.float_arg(&ab.1)?];
                self.number_node(op.function(), args)
            }
            _ => Err(value_needed()),
        }
    }

    /// A float as the argument of a node.
    ///
    /// # Errors
    /// As [`Tx::int_arg`].
    pub fn float_arg(&mut self, expr: &FloatExpr) -> R<Arg> {
        match expr {
            FloatExpr::Const(value) => Ok(Arg::Float(*value)),
            expr if self.reads(expr) => self.read_float_node(expr).map(Arg::Node),
            FloatExpr::Source(source) => {
                let bits = self.facts.float_values.get(source).copied();
                let value = f64::from_bits(bits.ok_or_else(value_needed)?);
                let float = Rc::new(FloatVar::computed(expr.clone(), value));
                Ok(Arg::Node(self.float_input(&float)))
            }
            _ => Err(value_needed()),
        }
    }

    fn read_node(&self, source: SourceId) -> R<NodeId> {
        let read = self.read_number(source).ok_or_else(value_needed)?;
        Ok(read.node)
    }

    /// The node of an int that follows from numbers that the graph reads.
    ///
    /// # Errors
    /// A break for what the graph does not compute.
    pub(super) fn read_int_node(&mut self, expr: &IntExpr) -> R<NodeId> {
        let sources = expr.sources();
        if !sources.iter().any(|s| self.read_number(*s).is_some()) {
            let value = self.value_of(expr).ok_or_else(value_needed)?;
            let expr = expr.clone();
            return self.int_node(&Rc::new(IntVar { expr, value }));
        }
        match expr {
            IntExpr::Source(source) => self.read_node(*source),
            IntExpr::Unary(op, x) => {
                let x = self.int_arg(x)?;
                self.number_node(op.function(), vec![x])
            }
            IntExpr::Binary(
                op @ (IntBinary::Add | IntBinary::Subtract | IntBinary::Multiply),
                ab,
            ) if self.drawn_fits(expr) || self.has_python_int(expr) => {
                let args = vec![self.int_arg(&ab.0)?, self.int_arg(&ab.1)?];
                self.number_node(op.function(), args)
            }
            // What they can't do with their right operand is checked by then.
            IntExpr::Binary(op, ab)
                if self.ints.captures_scalars
                    || matches!(op, IntBinary::FloorDivide | IntBinary::Remainder)
                        && matches!(ab.1, IntExpr::Const(1..)) =>
            {
                let args = vec![self.int_arg(&ab.0)?, self.int_arg(&ab.1)?];
                self.number_node(op.function(), args)
            }
            _ => Err(self.value_needed_of(&sources)),
        }
    }

    /// An int as the argument of a node.
    ///
    /// # Errors
    /// A break for what the graph does not compute.
    pub fn int_arg(&mut self, expr: &IntExpr) -> R<Arg> {
        match expr {
            IntExpr::Const(n) => Ok(Arg::Int(*n)),
            expr => self.read_int_node(expr).map(Arg::Node),
        }
    }

    /// A node that calls a function of `operator`; the same for the same operands.
    ///
    /// # Errors
    /// None of its own.
    pub fn number_node(&mut self, name: &str, args: Vec<Arg>) -> R<NodeId> {
        let target = self.operator_target(name)?;
        let operand = args.iter().find_map(|arg| match arg {
            Arg::Node(node) => Some(*node),
            _ => None,
        });
        let users = operand
            .map(|node| self.log.graph.users(node))
            .unwrap_or_default();
        let known = users.into_iter().find(|user| {
            let node = &self.log.graph[*user];
            node.op == OpKind::CallFunction
                && node
                    .target
                    .function()
                    .is_some_and(|f| f.handle == target.handle)
                && node.args == args
        });
        if let Some(known) = known {
            return Ok(known);
        }
        Ok(self.repeatable_call(target, args))
    }

    /// A node that calls a function which gives the same for the same operands.
    pub fn repeatable_call(&mut self, target: Arc<FnTarget>, args: Vec<Arg>) -> NodeId {
        let node = self.log.graph.call_function(target, args, Vec::new());
        self.set_line(node);
        self.log.graph.set_repeatable(node);
        node
    }
}

/// Between what `item()` is, where it is an int and no float; `None` for what is no number that a graph computes with.
fn number_of(dtype: DType) -> Option<Option<(i64, i64)>> {
    match dtype.is_floating() {
        true => Some(None),
        false => dtype.int_elements().map(Some),
    }
}
