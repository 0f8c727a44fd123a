//! Operations without a rule, of sizes that are no constants: run on fake tensors whose sizes are torch's symbols.
//!
//! What torch decides by them is guarded, as what rules decide is. Where an expression is not understood, the sizes are
//! constants for this operation.

use std::cell::RefCell;

use fx_graph::Arg;
use guards::IntExpr;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tensor_meta::{Fact, Inferred, SymInt};
use torch_abi::size_symbols::{SizeFact, SizeSymbols, SizeTree};
use variables::Obj;

use super::args::{MetaArg, NodeArgs};
use super::emit::Callee;
use super::sizes::Sizes;
use crate::stop::R;
use crate::tx::Tx;

/// Symbols of torch for the sizes of one operation's arguments.
pub(super) struct SizedFakes<'py> {
    symbols: RefCell<SizeSymbols<'py>>,
    /// what each symbol stands for, and the number that it is for torch
    leaves: RefCell<Vec<(IntExpr, Bound<'py, PyAny>)>>,
    sizes: RefCell<Sizes>,
}

fn not_understood() -> PyErr {
    PyValueError::new_err("a size that is no expression of others")
}

impl<'py> SizedFakes<'py> {
    pub(super) fn mode(&self) -> Obj {
        self.symbols.borrow().mode().clone().unbind()
    }

    /// A size as torch has it.
    pub(super) fn number(&self, py: Python<'py>, n: SymInt) -> PyResult<Bound<'py, PyAny>> {
        let expr = self.sizes.borrow().expr(n).ok_or_else(not_understood)?;
        self.value(py, &expr)
    }

    fn value(&self, py: Python<'py>, expr: &IntExpr) -> PyResult<Bound<'py, PyAny>> {
        let operator = |name: &str| py.import("operator")?.getattr(name);
        match expr {
            IntExpr::Const(n) => Ok(n.into_pyobject(py)?.into_any()),
            IntExpr::Unary(op, x) => operator(op.function())?.call1((self.value(py, x)?,)),
            IntExpr::Binary(op, ab) => {
                let (a, b) = (self.value(py, &ab.0)?, self.value(py, &ab.1)?);
                operator(op.function())?.call1((a, b))
            }
            leaf => {
                let mut leaves = self.leaves.borrow_mut();
                if let Some((_, known)) = leaves.iter().find(|known| known.0 == *leaf) {
                    return Ok(known.clone());
                }
                let value = self.sizes.borrow().value(leaf).ok_or_else(not_understood)?;
                let is_size = matches!(leaf, IntExpr::Dim(..));
                let number = self.symbols.borrow_mut().symbol(value, is_size)?;
                leaves.push((leaf.clone(), number.clone()));
                Ok(number)
            }
        }
    }

    /// A size that torch gives.
    pub(super) fn size(&self, n: &Bound<'py, PyAny>) -> PyResult<SymInt> {
        let tree = self.symbols.borrow().size(n)?;
        tree.and_then(|tree| self.of_tree(&tree))
            .ok_or_else(not_understood)
    }

    fn of_tree(&self, tree: &SizeTree) -> Option<SymInt> {
        let all = |parts: &[SizeTree], first, op: fn(&mut Sizes, SymInt, SymInt) -> SymInt| {
            parts.iter().try_fold(SymInt::Const(first), |whole, part| {
                let part = self.of_tree(part)?;
                Some(op(&mut self.sizes.borrow_mut(), whole, part))
            })
        };
        match tree {
            SizeTree::Number(n) => Some(SymInt::Const(*n)),
            SizeTree::Symbol(at) => {
                let leaf = self.leaves.borrow().get(*at)?.0.clone();
                self.sizes.borrow_mut().split(&leaf)
            }
            SizeTree::Add(parts) => all(parts, 0, Sizes::add),
            SizeTree::Multiply(parts) => all(parts, 1, Sizes::multiply),
            SizeTree::Divide(of, by) => {
                let of = self.of_tree(of)?;
                Some(self.sizes.borrow_mut().floor_divide(of, *by))
            }
        }
    }

    fn facts(&self) -> PyResult<Option<Vec<Fact>>> {
        let Some(facts) = self.symbols.borrow().facts()? else {
            return Ok(None);
        };
        let fact = |(op, left, right): &SizeFact| {
            let (left, right) = (self.of_tree(left)?, self.of_tree(right)?);
            let op = *op;
            Some(Fact { op, left, right })
        };
        Ok(facts.iter().map(fact).collect())
    }
}

fn has_size(arg: &MetaArg) -> bool {
    match arg {
        MetaArg::Tensor(meta) => !meta.is_static(),
        MetaArg::SymInt(n) => n.as_const().is_none(),
        MetaArg::List(items) | MetaArg::Tuple(items) => items.iter().any(has_size),
        MetaArg::Slice(parts) => parts.iter().any(has_size),
        _ => false,
    }
}

impl Tx<'_> {
    /// Runs an operation on fake tensors with symbols as sizes; `None` where it has to know them.
    ///
    /// # Errors
    /// None of its own.
    pub(super) fn infer_with_sizes(
        &mut self,
        callee: &Callee<'_>,
        args: &NodeArgs,
    ) -> R<Option<(Inferred, Obj)>> {
        let kw = args.meta_kw.iter().map(|(_, m)| m);
        if self.log.sizes.is_empty() || !args.meta_pos.iter().chain(kw).any(has_size) {
            return Ok(None);
        }
        let mut shadowed = false;
        let kw = args.kw.iter().map(|(_, a)| a);
        for arg in args.pos.iter().chain(kw) {
            Arg::for_each_node(arg, &mut |node| shadowed |= self.shadow(node).is_some());
        }
        if shadowed || self.st.vmap.is_active() {
            return Ok(None);
        }
        let Ok(symbols) = SizeSymbols::new(self.py) else {
            return Ok(None);
        };
        let sized = SizedFakes {
            symbols: RefCell::new(symbols),
            leaves: RefCell::default(),
            sizes: RefCell::new(std::mem::take(&mut self.log.sizes)),
        };
        let made = self.run_fake(callee, args, Some(&sized));
        let facts = sized.facts();
        self.log.sizes = sized.sizes.into_inner();
        let (Ok(made), Ok(Some(facts))) = (made, facts) else {
            return Ok(None);
        };
        for fact in facts {
            self.guard_fact(fact);
        }
        Ok(Some(made))
    }
}
