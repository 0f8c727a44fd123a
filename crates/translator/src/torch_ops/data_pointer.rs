//! `Tensor.data_ptr()`: a number that is not known while translating, but may be compared with another.

use bytecode::op::CompareOp;
use fx_graph::NodeData;
use guards::{GuardKind, SourceId};
use pyo3::prelude::*;
use tensor_meta::{Alias, Does};
use variables::{Body, Obj, TensorVar, Var};

use super::emit::Callee;
use super::raising;
use crate::stop::{R, Stop};
use crate::tx::{Args, Tx};

impl Tx<'_> {
    /// The address of a tensor's first item; `None` where a tensor may have got other memory.
    pub(super) fn data_pointer(&mut self, of: &Var) -> Option<Var> {
        let moves = |node: &NodeData| raising::traits_of(node).any(Does::MOVES);
        if self.st.levels.is_active() || self.log.graph.iter().any(|(_, node)| moves(node)) {
            return None;
        }
        self.st.effects.has_data_pointers = true;
        let class = self.known.int.clone();
        let id = self.new_object(class, Body::DataPointer(of.clone()));
        Some(Var::Obj(id))
    }

    /// # Errors
    /// A break in front of a method that gives a tensor other memory, where an address was asked for, or where a
    /// compiler would take what a tensor has then for what it had.
    pub(super) fn check_moved(&self, callee: &Callee<'_>, args: &Args) -> R<()> {
        if !callee.traits().any(Does::MOVES) {
            return Ok(());
        }
        let name = match callee {
            Callee::Method(name) => name,
            _ => "data = ...",
        };
        if self.st.effects.has_data_pointers {
            return Err(Stop::unsupported(format!(
                "Tensor.{name} behind Tensor.data_ptr"
            )));
        }
        // A compiler is told of `data = ...` as such.
        if !matches!(callee, Callee::Method(_)) {
            return Ok(());
        }
        let is_input = matches!(args.pos.first(), Some(Var::Tensor(of)) if of.input.is_some());
        match !self.runs_as_is
            && (is_input || matches!(args.pos.get(1), Some(Var::Tensor(_) | Var::Lazy(_))))
        {
            true => Err(Stop::unsupported(format!("Tensor.{name} below a compiler"))),
            false => Ok(()),
        }
    }

    /// Whether two tensors begin at the same address.
    ///
    /// # Errors
    /// A break where the graph decides.
    pub(crate) fn same_data_pointer(&mut self, a: &Var, b: &Var) -> R<bool> {
        let (Var::Tensor(x), Var::Tensor(y)) = (a, b) else {
            return Err(Stop::Internal("the address of no tensor".into()));
        };
        if x.node == y.node {
            return Ok(true);
        }
        // Tensors without items have no address.
        let apart = self.has_items(x)? && self.has_items(y)? && self.is_apart(x, y)?;
        match apart {
            true => Ok(false),
            false => Err(Stop::brk(
                "Addresses of two tensors that may share memory",
                "Whether an operation gave a view, and where it begins, is known only when the graph runs.",
                "Compare the tensors by `is`, or keep a flag beside them.",
            )),
        }
    }

    fn has_items(&mut self, t: &TensorVar) -> R<bool> {
        let shape = self.st.effects.meta(t).shape.clone();
        for size in shape {
            let (size, zero) = (self.sym_int(size)?, self.int(0));
            let more = self.compare_sizes(CompareOp::Gt, &size, &zero)?;
            if !more {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn compare_sizes(&mut self, op: CompareOp, a: &Var, b: &Var) -> R<bool> {
        let flow = self.compare(op, a, b)?;
        let result = self.finish_flow(flow)?;
        self.truth(&result)
    }

    /// Whether two tensors are known to have storages of their own.
    fn is_apart(&mut self, x: &TensorVar, y: &TensorVar) -> R<bool> {
        let is_own = |t: &TensorVar| t.input.is_none() && t.meta.alias == Alias::Fresh;
        let (Some(i), Some(j)) = (&x.input, &y.input) else {
            return Ok([(x, y), (y, x)]
                .into_iter()
                .any(|(a, b)| is_own(a) && (is_own(b) || b.input.is_some())));
        };
        let storage = |t: &Obj| -> PyResult<usize> {
            let storage = t.bind(self.py).call_method0("untyped_storage")?;
            storage.call_method0("data_ptr")?.extract()
        };
        let (first, second) = (storage(&i.obj)?, storage(&j.obj)?);
        if first == second || first == 0 || second == 0 {
            return Ok(false);
        }
        let both: [SourceId; 2] = [i.source, j.source];
        self.guard_ambient(GuardKind::StorageOverlap {
            overlapping: [].into(),
            non_overlapping: both.into(),
        });
        Ok(true)
    }
}
