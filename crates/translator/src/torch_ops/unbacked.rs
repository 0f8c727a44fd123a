//! Sizes of which a program says, by `mark_unbacked`, that nothing is to be known of them: one graph serves all, with 0
//! and 1 among them.
//!
//! Does not live here: what is known of such a number (`tensor_meta`'s table of sizes).
//!
//! Invariant: where what is said to the program differs for 0 or 1, the size is guarded to be neither, or the frame is
//! translated again with it as any other size.

use guards::{Extent, IntCompare, IntExpr, IntRelation, SourceId};
use operations::callee::has_tensor;
use tensor_meta::{Does, Fact, Inferred, RuleError, SymInt};

use super::args::{MetaArg, NodeArgs};
use super::emit::Callee;
use super::sizes::LEAST_SIZE;
use crate::stop::{R, Stop};
use crate::tx::Tx;

/// Attributes of a tensor that `mark_unbacked` sets.
pub(super) const MARKS: [&str; 2] = [
    "_dynamo_unbacked_indices",
    "_dynamo_strict_unbacked_indices",
];

/// Whether a size of 0 leaves all strides as they follow from sizes: contiguous strides count it as 1.
pub(super) fn is_outermost(dim: usize, strides: &[i64]) -> bool {
    let is_within =
        |(other, stride): (usize, &i64)| (*stride, dim) < (strides[dim], other) || other == dim;
    strides.iter().enumerate().all(is_within)
}

impl Tx<'_> {
    /// The size of a dimension of an input of which nothing is known.
    pub(super) fn unbacked_symbol(&mut self, source: SourceId, dim: u8, hint: i64) -> SymInt {
        self.ints.has_unbacked = true;
        let size = IntExpr::Dim(source, Extent::Size, dim);
        self.log.sizes.unknown(&size, hint, Some(0))
    }

    /// Whether nothing is known of the size of an input's dimension.
    pub fn is_unbacked(&self, tensor: SourceId, dim: usize) -> bool {
        let size = IntExpr::Dim(tensor, Extent::Size, dim as u8);
        self.ints.has_unbacked && self.log.sizes.is_unknown_leaf(&size)
    }

    /// Makes sure of what a rule says where it counts on sizes that are neither 0 nor 1, and the program would see the
    /// difference: an answer, an exception.
    ///
    /// # Errors
    /// A break where they are.
    pub(super) fn make_sure_of_sizes(
        &mut self,
        callee: &Callee<'_>,
        args: &NodeArgs,
        result: &Result<Inferred, RuleError>,
    ) -> R<()> {
        let presumed = self.log.sizes.has_presumed();
        let traits = callee.traits();
        let is_seen = match result {
            Err(RuleError::WouldRaise { .. }) => true,
            Err(_) => false,
            Ok(Inferred::None) => false,
            Ok(inferred) if !has_tensor(inferred) => presumed || traits.any(Does::TELLS_LAYOUT),
            Ok(_) => presumed && self.may_be_handled(),
        };
        match is_seen {
            true => self.rely_on_sizes(args),
            false => Ok(()),
        }
    }

    /// Guards that no size of the arguments of which nothing is known is 0 or 1.
    ///
    /// # Errors
    /// A break where one is, after which the frame is translated again.
    fn rely_on_sizes(&mut self, args: &NodeArgs) -> R<()> {
        for (size, value) in self.unbacked_in(args) {
            if value < LEAST_SIZE {
                return Err(self.needs_backed());
            }
            self.guard_relation(IntRelation {
                op: IntCompare::Ge,
                left: size,
                right: IntExpr::Const(LEAST_SIZE),
            });
        }
        Ok(())
    }

    /// The translation can't go on without knowing what it was told not to know.
    pub(super) fn needs_backed(&mut self) -> Stop {
        self.ints.needs_backed = true;
        Stop::unsupported("a size marked as unbacked that is 0 or 1, or that has to be known")
    }

    /// What torch relies on where it does not know sizes: guarded, where sizes of inputs are meant. `false`: something
    /// else is, or it does not hold.
    pub(super) fn guard_assumed(&mut self, fact: Fact) -> bool {
        let Some(relation) = self.relation_of(fact) else {
            return false;
        };
        let is_of_input = |leaf: &IntExpr| matches!(leaf, IntExpr::Dim(..));
        let mut leaves = relation.left.leaves();
        leaves.extend(relation.right.leaves());
        let values = self
            .value_of(&relation.left)
            .zip(self.value_of(&relation.right));
        let holds = values.is_some_and(|(left, right)| relation.op.holds(&left, &right));
        let is_guarded = holds && leaves.iter().all(is_of_input);
        if is_guarded {
            self.guard_fact(fact);
            self.log.sizes.assume(fact.op, fact.left, fact.right);
        }
        is_guarded
    }

    /// Whether arguments have sizes of which nothing is known.
    pub(super) fn has_unbacked(&self, args: &NodeArgs) -> bool {
        !self.unbacked_in(args).is_empty()
    }

    /// The sizes among arguments of which nothing is known, with their values in this call.
    fn unbacked_in(&self, args: &NodeArgs) -> Vec<(IntExpr, i64)> {
        let mut sizes = Vec::new();
        let by_name = args.meta_kw.iter().map(|(_, arg)| arg);
        for arg in args.meta_pos.iter().chain(by_name) {
            self.add_unbacked(arg, &mut sizes);
        }
        sizes
    }

    fn add_unbacked(&self, arg: &MetaArg, sizes: &mut Vec<(IntExpr, i64)>) {
        let mut add = |n: SymInt| {
            for symbol in self.log.sizes.symbols_in(n) {
                let leaf = self.log.sizes.expr(symbol);
                if let Some(leaf @ IntExpr::Dim(..)) = leaf
                    && self.log.sizes.is_unknown_leaf(&leaf)
                {
                    sizes.push((leaf, self.log.sizes.hint(symbol)));
                }
            }
        };
        match arg {
            MetaArg::Tensor(meta) => {
                let numbers = meta.shape.iter().chain(&meta.strides);
                numbers.chain([&meta.storage_offset]).for_each(|n| add(*n));
            }
            MetaArg::SymInt(n) => add(*n),
            MetaArg::List(items) | MetaArg::Tuple(items) | MetaArg::Dict(items) => {
                items.iter().for_each(|item| self.add_unbacked(item, sizes));
            }
            MetaArg::Slice(parts) => parts.iter().for_each(|part| self.add_unbacked(part, sizes)),
            _ => {}
        }
    }
}
