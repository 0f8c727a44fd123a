//! Operations without a rule, of sizes that are no constants: run on fake tensors whose sizes are torch's symbols.
//!
//! What torch decides by them is guarded, as what rules decide is. Where an expression is not understood, the sizes are
//! constants for this operation.

use std::rc::Rc;

use fx_graph::{Arg, NodeId};
use guards::{Extent, IntExpr, Source, SourceId};
pub use operations::sized_fakes::SizedFakes;
use operations::sized_fakes::{HINTS, Unknown, has_float, has_size};
use pyo3::prelude::*;
use tensor_meta::{Inferred, SymInt};
use torch_abi::size_symbols::{MayDepend, SizeSymbols};
use variables::{Body, EarlyCall, EarlyKind, Obj, ReadNumber, Var};

use super::args::NodeArgs;
use super::emit::Callee;
use super::sizes::RAGGED;
use crate::stop::{R, Stop};
use crate::tx::Tx;

/// How many sizes of one operation may depend on data.
const MOST_NEW: u32 = 4;

/// Stands for the node of a size until there is one.
const NOT_YET: NodeId = NodeId(u32::MAX);

/// No tensor has more elements than there are addresses.
const MOST_ELEMENTS: i64 = 1 << 47;

/// How the symbols for an operation's sizes come about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Symbols {
    /// anew
    Own(MayDepend),
    /// for all operations whose fakes are kept
    Shared,
}

impl<'py> Tx<'py> {
    /// Runs an operation on fake tensors with symbols as sizes; `None` where it has to know them. Its result is looked
    /// at later, if it is `kept`.
    ///
    /// # Errors
    /// None of its own.
    pub(super) fn infer_with_sizes(
        &mut self,
        callee: &Callee<'_>,
        args: &NodeArgs,
        kept: bool,
    ) -> R<Option<(Inferred, Obj)>> {
        let mut given = args.meta_kw.iter().map(|(_, m)| m).chain(&args.meta_pos);
        let has_floats = self.takes_floats() && !kept && given.any(has_float);
        if self.log.sizes.is_empty() && !has_floats {
            return Ok(None);
        }
        let shares = kept || self.is_shadowed(args) || self.st.levels.is_active();
        let mut given = args.meta_kw.iter().map(|(_, m)| m).chain(&args.meta_pos);
        let is_sized = has_floats || given.any(has_size) || shares && self.facts.sized.is_some();
        if !is_sized {
            return Ok(None);
        }
        let symbols = match shares {
            true => Symbols::Shared,
            false => Symbols::Own(MayDepend::Items),
        };
        let found = self.run_with_sizes(callee, args, symbols)?;
        if found.is_some() {
            return Ok(found);
        }
        if !shares {
            return self.infer_by_data(callee, args, MayDepend::Sizes);
        }
        // Fakes that are kept have constant sizes when all symbols are constants.
        self.fix_shared()?;
        self.run_with_sizes(callee, args, symbols)
    }

    /// Whether torch is asked about floats: for a compiler, those that the graph reads, where one graph is asked for.
    fn takes_floats(&self) -> bool {
        self.runs_as_is || self.ints.is_whole && !self.st.effects.early.is_empty()
    }

    fn is_shadowed(&self, args: &NodeArgs) -> bool {
        let mut is_shadowed = false;
        let kw = args.kw.iter().map(|(_, a)| a);
        for arg in args.pos.iter().chain(kw) {
            arg.for_each_node(&mut |node| is_shadowed |= self.so_far().shadow(node).is_some());
        }
        is_shadowed
    }

    fn fix_shared(&mut self) -> R<()> {
        self.with_shared(|tx, sized| {
            for number in sized.leaves() {
                let _ = tx.known.int.bind(tx.py).call1((number,));
            }
            Ok(())
        })
        .map(|_| ())
    }

    /// Does something with the symbols for fakes that are kept; what torch decides by them is guarded. `None` where
    /// that fails.
    ///
    /// # Errors
    /// None of its own.
    pub fn with_shared<T>(
        &mut self,
        f: impl FnOnce(&mut Self, &SizedFakes) -> PyResult<T>,
    ) -> R<Option<T>> {
        let ragged = self.source(RAGGED);
        let mut sized = match self.facts.sized.take() {
            Some(sized) => sized,
            None => {
                let mode = self.fake_mode()?;
                match SizeSymbols::of_mode(mode.bind(self.py), MayDepend::Items) {
                    Ok(symbols) => Box::new(SizedFakes::new(symbols, ragged)),
                    Err(_) => return Ok(None),
                }
            }
        };
        let made = self.with_symbols(&mut sized, f);
        self.facts.sized = Some(sized);
        made
    }

    fn with_symbols<T>(
        &mut self,
        sized: &mut SizedFakes,
        f: impl FnOnce(&mut Self, &SizedFakes) -> PyResult<T>,
    ) -> R<Option<T>> {
        sized.take(std::mem::take(&mut self.log.sizes));
        let made = f(self, sized);
        let facts = sized.facts(self.py);
        self.log.sizes = sized.give_back();
        let (Ok(made), Ok(Some([decided, assumed]))) = (made, facts) else {
            return Ok(None);
        };
        for fact in assumed {
            if !self.guard_assumed(fact) && !self.check_fact(fact)? {
                return Ok(None);
            }
        }
        for (source, most) in sized.new_numbers() {
            self.add_unknown_size(source, most)?;
        }
        for fact in decided {
            self.guard_fact(fact);
        }
        Ok(Some(made))
    }

    /// The same for an operation whose sizes depend on data, or that takes a tensor of one item for a number.
    ///
    /// # Errors
    /// None of its own.
    pub(super) fn infer_by_data(
        &mut self,
        callee: &Callee<'_>,
        args: &NodeArgs,
        may: MayDepend,
    ) -> R<Option<(Inferred, Obj)>> {
        let captures = self.captures_unknown() && self.nested == 0;
        match captures || may == MayDepend::Numbers {
            true => self.run_with_sizes(callee, args, Symbols::Own(may)),
            false => Ok(None),
        }
    }

    /// The same for either: an operation may have sizes that depend on what only the graph knows.
    ///
    /// # Errors
    /// None of its own.
    pub(super) fn infer_with_unknown(
        &mut self,
        callee: &Callee<'_>,
        args: &NodeArgs,
    ) -> R<Option<(Inferred, Obj)>> {
        match self.infer_with_sizes(callee, args, false)? {
            None if !self.st.effects.early.is_empty() => {
                self.infer_by_data(callee, args, MayDepend::Sizes)
            }
            found => Ok(found),
        }
    }

    fn run_with_sizes(
        &mut self,
        callee: &Callee<'_>,
        args: &NodeArgs,
        symbols: Symbols,
    ) -> R<Option<(Inferred, Obj)>> {
        let run = |tx: &mut Self, sized: &SizedFakes| tx.run_fake(callee, args, Some(sized));
        let Symbols::Own(may) = symbols else {
            return self.with_shared(run);
        };
        let by_data = may == MayDepend::Sizes;
        if self.is_shadowed(args) || self.st.levels.is_active() {
            return Ok(None);
        }
        let Ok(symbols) = SizeSymbols::new(self.py, may) else {
            return Ok(None);
        };
        let ragged = self.source(RAGGED);
        let unknown = self.unknown_numbers(by_data);
        let mut sized = SizedFakes::new(symbols, ragged)
            .with_unknown(unknown)
            .with_floats(self.takes_floats());
        self.with_symbols(&mut sized, run)
    }

    /// The numbers that the graph gives, and sources for more.
    fn unknown_numbers(&mut self, by_data: bool) -> Unknown {
        let count = self.st.effects.early.len() as u32;
        let mut given = Vec::new();
        for index in 0..count {
            let source = self.source(Source::Early { index });
            if self.read_number(source).is_some() {
                let leaf = IntExpr::Source(source);
                given.push((leaf.clone(), self.log.sizes.is_never_negative(&leaf)));
            }
        }
        let new = if by_data { MOST_NEW } else { 0 };
        let new = (count..count + new).map(|index| self.source(Source::Early { index }));
        let new = new.collect();
        Unknown { given, new }
    }

    /// A size that the next node gives, which is not there yet.
    fn add_unknown_size(&mut self, source: SourceId, most: Option<i64>) -> R<()> {
        let read = ReadNumber {
            node: NOT_YET,
            tensor: None,
            range: Some((0, most.unwrap_or(MOST_ELEMENTS).min(MOST_ELEMENTS))),
            is_python: false,
        };
        let call = EarlyCall {
            function: self.known.tensor.getattr(self.py, Extent::Size.method())?,
            pos: Vec::new(),
            kw: Vec::new(),
            kind: EarlyKind::Read(read),
        };
        let hint = HINTS + i64::from(source.0);
        self.facts.int_values.insert(source, hint);
        match self.add_early(call) == source {
            true => Ok(()),
            false => Err(Stop::Internal("a size with another source".into())),
        }
    }

    /// Has the graph read the sizes that the last operation gave and that depend on data.
    ///
    /// # Errors
    /// A break for a size that no dimension of a result is.
    pub(super) fn read_new_sizes(&mut self, result: &Var) -> R<()> {
        let early = self.st.effects.early.clone();
        for (index, call) in early.iter().enumerate().rev() {
            let EarlyKind::Read(read @ ReadNumber { node: NOT_YET, .. }) = call.kind else {
                break;
            };
            let leaf = IntExpr::Source(self.source(Source::Early {
                index: index as u32,
            }));
            let size = self.log.sizes.split(&leaf);
            let found = size.and_then(|size| self.extent_of(result, size));
            let Some((tensor, extent, dim)) = found else {
                return Err(Stop::brk(
                    "Operation with a size that depends on data and is no size of a result",
                    "The graph reads such a size from the result.",
                    "Call the operation outside of the compiled function.",
                ));
            };
            let mut args = vec![Arg::Node(tensor)];
            args.extend(extent.has_dims().then_some(Arg::Int(dim as i64)));
            let graph = &mut self.log.graph;
            let node = graph.call_method(extent.method(), args, Vec::new());
            self.set_line(node);
            self.log.graph.set_repeatable(node);
            let kind = EarlyKind::Read(ReadNumber { node, ..read });
            let call = EarlyCall {
                kind,
                ..(**call).clone()
            };
            self.st.effects.early.set(index, Rc::new(call));
        }
        Ok(())
    }

    /// The tensor in a result that has a dimension of this size, or begins so far into its storage.
    fn extent_of(&self, result: &Var, size: SymInt) -> Option<(NodeId, Extent, usize)> {
        match result {
            Var::Tensor(t) => {
                let meta = self.st.effects.meta(t);
                if meta.storage_offset == size {
                    return Some((t.node, Extent::Offset, 0));
                }
                let dim = meta.shape.iter().position(|n| *n == size)?;
                Some((t.node, Extent::Size, dim))
            }
            Var::Tuple(t) => {
                let mut items = t.items.iter();
                items.find_map(|item| self.extent_of(item, size))
            }
            Var::Obj(id) => match &self.obj(*id).body {
                Body::List(items) => items.iter().find_map(|item| self.extent_of(item, size)),
                _ => None,
            },
            _ => None,
        }
    }
}
