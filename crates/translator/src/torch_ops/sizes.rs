//! Sizes that are not constants: expressions of `tensor-meta` as expressions of guards and back, and
//! what its rules found of them as guards.
//!
//! Which dimensions of inputs are dynamic is in `crate::dynamic`.
//!
//! Invariant: a symbol of the table is an expression over sources; whoever makes one guards what it
//! says of its least value.

use std::rc::Rc;

use guards::{Extent, GuardKind, IntCompare, IntExpr, IntRelation, SourceId};
pub use operations::sizes::{LEAST_SIZE, RAGGED, Sizes};
use tensor_meta::{Compare, Fact, SymInt, TensorMeta};
use variables::{IntVar, Var};

use super::args::{MetaArg, NodeArgs};
use crate::stop::{R, Stop};
use crate::tx::Tx;

impl Tx<'_> {
    /// The dimensions of a tensor from outside whose sizes are no constants, in ascending order.
    pub fn dynamic_sizes(&self, tensor: SourceId) -> Vec<usize> {
        let mut dims: Vec<usize> = self.log.sizes.dims_of(tensor).collect();
        let early = self.facts.early_sizes.get(&tensor).into_iter().flatten();
        let numbers = early.enumerate().filter(|(_, number)| number.is_some());
        dims.extend(numbers.map(|(dim, _)| dim));
        dims.retain(|dim| !self.is_fixed_size(tensor, *dim));
        dims.sort_unstable();
        dims
    }

    /// The number of the program that a size of a tensor is that is made early.
    pub fn early_size(&self, tensor: SourceId, dim: usize) -> Option<SourceId> {
        *self.facts.early_sizes.get(&tensor)?.get(dim)?
    }

    /// Whether a size that was no constant was found to have to be one.
    pub fn is_fixed_size(&self, tensor: SourceId, dim: usize) -> bool {
        let size = match self.early_size(tensor, dim) {
            Some(number) => IntExpr::Source(number),
            None => IntExpr::Dim(tensor, Extent::Size, dim as u8),
        };
        self.has_one_value(&size)
    }

    /// Whether a number that was no constant was found to have to be one.
    pub fn has_one_value(&self, size: &IntExpr) -> bool {
        self.log.guards.iter().any(|g| match &g.kind {
            GuardKind::ShapeEnv { relation } => {
                relation.op == IntCompare::Eq
                    && relation.left == *size
                    && matches!(relation.right, IntExpr::Const(_))
            }
            _ => false,
        })
    }

    /// The size of a dimension of an input, which is not a constant: guarded to be at least
    /// [`LEAST_SIZE`].
    pub(super) fn size_symbol(&mut self, source: SourceId, dim: u8, hint: i64) -> SymInt {
        self.layout_symbol(source, Extent::Size, dim, hint)
    }

    fn layout_symbol(&mut self, source: SourceId, extent: Extent, dim: u8, hint: i64) -> SymInt {
        self.least_symbol(IntExpr::Dim(source, extent, dim), hint)
    }

    /// A number that is at least [`LEAST_SIZE`], which is guarded.
    pub fn least_symbol(&mut self, expr: IntExpr, hint: i64) -> SymInt {
        self.guard_relation(IntRelation {
            op: IntCompare::Ge,
            left: expr.clone(),
            right: IntExpr::Const(LEAST_SIZE),
        });
        self.log.sizes.symbol(&expr, hint, Some(LEAST_SIZE))
    }

    /// Strides of an input with symbolic sizes, as torch has them: where one is what the sizes below it make, it is
    /// that, which is guarded. Another one (a row of a part of a matrix) is a symbol, but for 0 and 1.
    pub(super) fn derived_strides(
        &mut self,
        source: SourceId,
        shape: &[SymInt],
        strides: &[i64],
    ) -> Vec<SymInt> {
        let mut out: Vec<SymInt> = strides.iter().copied().map(SymInt::Const).collect();
        let mut order: Vec<usize> = (0..strides.len()).rev().collect();
        order.sort_by_key(|d| strides[*d]);
        // What a dimension that is next to another one in memory would have as its stride.
        let mut steps: Vec<SymInt> = Vec::new();
        for d in order {
            let mut next = steps.iter().rev().copied();
            let derived = next.find(|s| self.log.sizes.hint(*s) == strides[d]);
            if let Some(step @ SymInt::Expr(_)) = derived
                && let Some(right) = self.log.sizes.expr(step)
            {
                self.guard_relation(IntRelation {
                    op: IntCompare::Eq,
                    left: IntExpr::Dim(source, Extent::Stride, d as u8),
                    right,
                });
                out[d] = step;
            } else if derived.is_none() && strides[d] >= LEAST_SIZE {
                out[d] = self.layout_symbol(source, Extent::Stride, d as u8, strides[d]);
            }
            steps.push(self.log.sizes.multiply(out[d], shape[d]));
        }
        out
    }

    /// The value of a dimension of an input for this call, where it is no constant.
    pub fn known_size(&self, leaf: &IntExpr) -> Option<i64> {
        self.log.sizes.value(leaf)
    }

    /// A dynamic int as a size.
    pub(super) fn size_of_int(&mut self, int: &IntVar) -> SymInt {
        // Values of sources that no size is are symbols from now on.
        for leaf in int.expr.leaves() {
            if let IntExpr::Source(source) = &leaf
                && let Some(read) = self.read_number(*source)
            {
                let hint = self.facts.int_values.get(source).copied();
                let least = read.range.map(|range| range.0);
                let hint = hint.unwrap_or(int.value);
                self.log.sizes.unknown(&leaf, hint, least);
                continue;
            }
            let value = match &leaf {
                leaf if *leaf == int.expr => int.value,
                IntExpr::Source(source) => match self.facts.int_values.get(source) {
                    Some(value) => *value,
                    None => return self.log.sizes.symbol(&int.expr, int.value, None),
                },
                _ => continue,
            };
            self.log.sizes.symbol(&leaf, value, None);
        }
        self.log.sizes.of_expr(&int.expr, int.value)
    }

    /// A size as a value.
    ///
    /// # Errors
    /// A break for the size of rows that differ in length, which is no number.
    pub fn sym_int(&mut self, n: SymInt) -> R<Var> {
        let value = self.log.sizes.hint(n);
        if self.is_ragged(n) {
            return Err(Stop::unsupported("the size of rows that differ in length"));
        }
        let mut expr = self.log.sizes.expr(n);
        if expr.is_none() {
            let (smaller, facts) = self.log.sizes.smaller(n);
            for fact in facts {
                self.guard_fact(fact);
            }
            expr = smaller;
        }
        Ok(match expr {
            Some(IntExpr::Const(n)) => self.int(n),
            Some(expr) => Var::Int(Rc::new(IntVar { expr, value })),
            None => {
                self.fix_size(n);
                self.int(value)
            }
        })
    }

    /// Whether all the numbers among the arguments of an operation were found to have to be constants.
    pub(super) fn all_numbers_fixed(&self, args: &NodeArgs) -> bool {
        let by_name = args.meta_kw.iter().map(|(_, arg)| arg);
        args.meta_pos
            .iter()
            .chain(by_name)
            .all(|arg| self.numbers_fixed(arg))
    }

    fn numbers_fixed(&self, arg: &MetaArg) -> bool {
        match arg {
            MetaArg::SymFloat => false,
            MetaArg::SymInt(n) => {
                let symbols = self.log.sizes.symbols_in(*n);
                symbols.into_iter().all(|symbol| {
                    let leaf = self.log.sizes.expr(symbol);
                    leaf.is_some_and(|leaf| self.has_one_value(&leaf))
                })
            }
            MetaArg::List(items) | MetaArg::Tuple(items) | MetaArg::Dict(items) => {
                items.iter().all(|item| self.numbers_fixed(item))
            }
            MetaArg::Slice(parts) => parts.iter().all(|part| self.numbers_fixed(part)),
            _ => true,
        }
    }

    /// Guards the value of a size, which is a constant then.
    pub(super) fn fix_size(&mut self, n: SymInt) -> i64 {
        let value = self.log.sizes.hint(n);
        if let SymInt::Expr(_) = n {
            let whole = self.log.sizes.expr(n).map(|expr| vec![(expr, value)]);
            let parts = whole.unwrap_or_else(|| {
                let symbols = self.log.sizes.symbols_in(n).into_iter();
                let parts =
                    symbols.filter_map(|s| Some((self.log.sizes.expr(s)?, self.log.sizes.hint(s))));
                parts.collect()
            });
            for (left, value) in parts {
                self.guard_relation(IntRelation {
                    op: IntCompare::Eq,
                    left,
                    right: IntExpr::Const(value),
                });
            }
        }
        value
    }

    /// Guards the value of a dimension of an input, which is a constant then.
    ///
    /// # Errors
    /// [`Stop::Internal`] where `leaf` is not among the sizes that this graph met.
    pub fn fix_leaf(&mut self, leaf: &IntExpr) -> R<i64> {
        match self.log.sizes.split(leaf) {
            Some(n) => Ok(self.fix_size(n)),
            None => Err(Stop::Internal(format!("no value of the size {leaf:?}"))),
        }
    }

    /// A tensor's description with its sizes as constants, which are guarded.
    pub(super) fn fix_meta(&mut self, meta: &TensorMeta) -> TensorMeta {
        let mut out = meta.clone();
        for n in out.shape.iter_mut().chain(&mut out.strides) {
            *n = SymInt::Const(self.fix_size(*n));
        }
        out.storage_offset = SymInt::Const(self.fix_size(out.storage_offset));
        out
    }

    /// Arguments with all their sizes as constants, which are guarded. `None`: they are.
    pub fn fix_args(&mut self, args: &NodeArgs) -> Option<NodeArgs> {
        if self.log.sizes.is_empty() {
            return None;
        }
        let pos = args.meta_pos.iter().map(|m| self.fix_arg(m)).collect();
        let kw = args.meta_kw.iter();
        let kw = kw.map(|(n, m)| (n.clone(), self.fix_arg(m))).collect();
        Some(NodeArgs {
            pos: args.pos.clone(),
            kw: args.kw.clone(),
            meta_pos: pos,
            meta_kw: kw,
        })
    }

    fn fix_arg(&mut self, arg: &MetaArg) -> MetaArg {
        let mut all = |items: &[MetaArg]| items.iter().map(|m| self.fix_arg(m)).collect();
        match arg {
            MetaArg::List(items) => MetaArg::List(all(items)),
            MetaArg::Tuple(items) => MetaArg::Tuple(all(items)),
            MetaArg::Dict(items) => MetaArg::Dict(all(items)),
            MetaArg::Slice(parts) => {
                MetaArg::Slice(Box::new([0, 1, 2].map(|i| self.fix_arg(&parts[i]))))
            }
            MetaArg::Tensor(meta) if !meta.is_static() => {
                MetaArg::Tensor(Rc::new(self.fix_meta(meta)))
            }
            MetaArg::SymInt(n) => MetaArg::Int(self.fix_size(*n)),
            other => other.clone(),
        }
    }

    /// Runs what reads and makes sizes; what it found of them is guarded.
    pub(super) fn with_sizes<T>(&mut self, f: impl FnOnce(&Self) -> T) -> T {
        if self.log.sizes.is_empty() {
            return f(self);
        }
        let mut sizes = std::mem::take(&mut self.log.sizes);
        let (out, facts) = sizes.scope(|| f(self));
        self.log.sizes = sizes;
        for fact in facts {
            self.guard_fact(fact);
        }
        out
    }

    pub(super) fn guard_fact(&mut self, fact: Fact) {
        match self.relation_of(fact) {
            Some(relation) => self.guard_relation(relation),
            None => {
                self.fix_size(fact.left);
                self.fix_size(fact.right);
            }
        }
    }

    /// What was found of sizes, as a relation of ints; `None` for too large an expression.
    pub(super) fn relation_of(&self, fact: Fact) -> Option<IntRelation> {
        let left = self.log.sizes.expr(fact.left)?;
        let right = self.log.sizes.expr(fact.right)?;
        let op = match fact.op {
            Compare::Equal => IntCompare::Eq,
            Compare::Differ => IntCompare::Ne,
            Compare::Less => IntCompare::Lt,
            Compare::NotLess => IntCompare::Ge,
        };
        Some(IntRelation { op, left, right })
    }

    /// The size of a tensor that the graph makes is not negative, however it came about.
    pub(super) fn assume_sizes(&mut self, shape: &[SymInt]) {
        for n in shape {
            self.log.sizes.assume_size(*n);
        }
    }

    /// Relies on a relation of ints that the graph checks.
    pub fn assume_relation(&mut self, relation: &IntRelation, values: (i64, i64)) {
        let int = |expr: &IntExpr, value| IntVar {
            expr: expr.clone(),
            value,
        };
        let a = self.size_of_int(&int(&relation.left, values.0));
        let b = self.size_of_int(&int(&relation.right, values.1));
        let sizes = &mut self.log.sizes;
        match relation.op {
            IntCompare::Eq => sizes.assume(Compare::Equal, a, b),
            IntCompare::Ne => sizes.assume(Compare::Differ, a, b),
            IntCompare::Lt => sizes.assume(Compare::Less, a, b),
            IntCompare::Ge => sizes.assume(Compare::NotLess, a, b),
            IntCompare::Gt => sizes.assume(Compare::Less, b, a),
            IntCompare::Le => sizes.assume(Compare::NotLess, b, a),
        }
    }

    /// What a comparison of ints says, where it says the same whatever they are.
    pub fn sure_compare(&mut self, op: IntCompare, a: &IntVar, b: &IntVar) -> Option<bool> {
        if a.expr == b.expr {
            return Some(op.holds(&0, &0));
        }
        if let Some(holds) = self.drawn_compare(op, &a.expr, &b.expr) {
            return Some(holds);
        }
        let is_read = |tx: &Self, i: &IntVar| tx.follows_from_read(&Var::Int(Rc::new(i.clone())));
        if self.log.sizes.is_empty() && !is_read(self, a) && !is_read(self, b) {
            return None;
        }
        let (x, y) = (self.size_of_int(a), self.size_of_int(b));
        let table = &self.log.sizes;
        match op {
            IntCompare::Eq => table.decided(Compare::Equal, x, y),
            IntCompare::Ne => table.decided(Compare::Differ, x, y),
            IntCompare::Lt => table.decided(Compare::Less, x, y),
            IntCompare::Ge => table.decided(Compare::NotLess, x, y),
            IntCompare::Gt => table.decided(Compare::Less, y, x),
            IntCompare::Le => table.decided(Compare::NotLess, y, x),
        }
    }
}
