//! The size of rows that differ in length, of torch's jagged nested tensors: a `torch.SymInt` that is no number.
//!
//! Such a size is named by the tensor that holds the lengths of the rows, or where they begin. It may be compared with
//! others, and be an argument of an operation; residual code reads it of its tensor again.
//!
//! Invariant: two are told apart only by tensors from outside that are guarded to be two.

use std::rc::Rc;

use bytecode::op::CompareOp;
use fx_graph::Arg;
use guards::{GuardKind, IntExpr, Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use tensor_meta::SymInt;
use variables::{Body, TensorVar, TupleVar, Var};

use super::args::MetaArg;
use super::sizes::RAGGED;
use super::wrappers::names_lengths;
use crate::stop::{R, Stop};
use crate::tx::Tx;
use crate::values::compare::swapped;

fn not_followed() -> Stop {
    Stop::unsupported("the size of rows that differ in length")
}

impl Tx<'_> {
    /// Whether a size is that of such rows.
    pub(super) fn is_ragged(&self, n: SymInt) -> bool {
        let is_ragged = |symbol| matches!(self.log.sizes.expr(symbol), Some(IntExpr::Source(of)) if *self.facts.sources.get(of) == RAGGED);
        self.log.sizes.symbols_in(n).into_iter().any(is_ragged)
    }

    /// The size of a tensor as a value.
    ///
    /// # Errors
    /// As [`Tx::sym_int`].
    pub(super) fn size_of(&mut self, of: &Var, n: SymInt) -> R<Var> {
        let Var::Tensor(t) = of else {
            return self.sym_int(n);
        };
        if n.as_const().is_some() || !self.is_ragged(n) {
            return self.sym_int(n);
        }
        let shape = self.st.effects.meta(t).shape.clone();
        let dim = shape.iter().position(|size| *size == n);
        let dim = dim.ok_or_else(not_followed)?;
        let class = self.known.sym_int.clone();
        let of = Var::Tensor(t.clone());
        Ok(Var::Obj(self.new_object(class, Body::RaggedSize(of, dim))))
    }

    /// The sizes of a tensor as a value.
    ///
    /// # Errors
    /// As [`Tx::sym_int`].
    pub(super) fn sizes_of(&mut self, of: &Var, dims: &[SymInt]) -> R<Var> {
        let items = dims.iter().map(|n| self.size_of(of, *n));
        let items = items.collect::<R<_>>()?;
        Ok(Var::Tuple(Rc::new(TupleVar {
            items,
            class: Some(self.known.size.clone()),
            origin: None,
        })))
    }

    /// The tensor and the dimension that a value is such a size of.
    pub(crate) fn ragged_size(&self, v: &Var) -> Option<(Rc<TensorVar>, usize)> {
        let Var::Obj(id) = v else { return None };
        match &self.obj(*id).body {
            Body::RaggedSize(Var::Tensor(t), dim) => Some((t.clone(), *dim)),
            _ => None,
        }
    }

    /// One as an argument of an operation: the graph reads it.
    pub(super) fn ragged_arg(&mut self, of: &TensorVar, dim: usize) -> R<(Arg, MetaArg)> {
        if self.log.graph.get(of.node).is_none() {
            return Err(Stop::Internal("a tensor whose node was dropped".into()));
        }
        let args = vec![Arg::Node(of.node), Arg::Int(dim as i64)];
        let node = self.log.graph.call_method("size", args, Vec::new());
        self.log.graph.set_repeatable(node);
        self.set_line(node);
        Ok((Arg::Node(node), MetaArg::RaggedSize(of.node, dim)))
    }

    /// `a op b` where one of them is such a size; `None` for other values.
    ///
    /// # Errors
    /// A break where the answer is not known, or torch has none.
    pub(crate) fn compare_ragged(&mut self, op: CompareOp, a: &Var, b: &Var) -> R<Option<bool>> {
        let same = match (self.ragged_size(a), self.ragged_size(b)) {
            (Some(x), Some(y)) => self.same_ragged(&x, &y)?,
            (None, None) => return Ok(None),
            (Some(_), None) => return self.ragged_beside(op, b).map(Some),
            (None, Some(_)) => return self.ragged_beside(swapped(op), a).map(Some),
        };
        match (op, same) {
            (CompareOp::Eq, same) => Ok(Some(same)),
            (CompareOp::Ne, same) => Ok(Some(!same)),
            (CompareOp::Le | CompareOp::Ge, true) => Ok(Some(true)),
            (CompareOp::Lt | CompareOp::Gt, true) => Ok(Some(false)),
            (_, false) => Err(not_followed()),
        }
    }

    /// Such a size beside a number: it is none, but counts as 2 at least.
    fn ragged_beside(&self, op: CompareOp, number: &Var) -> R<bool> {
        let known = match number {
            Var::Int(_) => None,
            Var::Const(o) if o.bind(self.py).is_exact_instance_of::<PyInt>() => {
                o.extract::<i64>(self.py).ok()
            }
            _ => return Err(not_followed()),
        };
        match (op, known) {
            (CompareOp::Eq, _) => Ok(false),
            (CompareOp::Ne, _) => Ok(true),
            (CompareOp::Ge, Some(..=2)) | (CompareOp::Gt, Some(..=1)) => Ok(true),
            (CompareOp::Lt, Some(..=2)) | (CompareOp::Le, Some(..=1)) => Ok(false),
            _ => Err(not_followed()),
        }
    }

    /// Whether two are one.
    fn same_ragged(&mut self, a: &(Rc<TensorVar>, usize), b: &(Rc<TensorVar>, usize)) -> R<bool> {
        let first = self.ragged_symbol(&a.0, a.1)?;
        let second = self.ragged_symbol(&b.0, b.1)?;
        if first.bind(self.py).eq(&second)? {
            return Ok(true);
        }
        let first = self.names_rows(&first)?.ok_or_else(not_followed)?;
        let second = self.names_rows(&second)?.ok_or_else(not_followed)?;
        self.guard(first, GuardKind::NotAliasing { other: second });
        Ok(false)
    }

    /// Whether two tensors are the very one that says what lengths rows have: their fakes are one.
    pub(crate) fn is_one_of_lengths(&self, a: &TensorVar, b: &TensorVar) -> bool {
        let so_far = self.so_far();
        match (so_far.shadow(a.node), so_far.shadow(b.node)) {
            (Some(a), Some(b)) => a.is(b) && names_lengths(a.bind(self.py)),
            _ => false,
        }
    }

    /// What stands for such a size in torch's expressions.
    fn ragged_symbol(&self, of: &TensorVar, dim: usize) -> R<variables::Obj> {
        let fake = self.so_far().shadow(of.node).ok_or_else(not_followed)?;
        let size = fake.bind(self.py).call_method1("size", (dim,))?;
        Ok(size.getattr("node")?.getattr("expr")?.unbind())
    }

    /// The tensor from outside by which rows are told apart that have this symbol; `None` where no input has it.
    fn names_rows(&mut self, symbol: &variables::Obj) -> R<Option<SourceId>> {
        let inputs = self
            .log
            .inputs
            .iter()
            .map(|i| (i.node, i.obj.clone(), i.source));
        for (node, obj, source) in inputs.collect::<Vec<_>>() {
            let Some(fake) = self.so_far().shadow(node).cloned() else {
                continue;
            };
            if !torch_abi::is_jagged(fake.bind(self.py))? {
                continue;
            }
            let sizes = fake.bind(self.py).call_method0("size")?;
            for size in sizes.try_iter()? {
                let Some(node) = size?.getattr_opt("node")? else {
                    continue;
                };
                if !node.getattr("expr")?.eq(symbol)? {
                    continue;
                }
                let name = match obj.bind(self.py).getattr("_lengths")?.is_none() {
                    true => "_offsets",
                    false => "_lengths",
                };
                let name = name.into();
                return Ok(Some(self.source(Source::Attr { base: source, name })));
            }
        }
        Ok(None)
    }
}
