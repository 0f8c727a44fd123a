//! Which ints and floats from outside, and which sizes of tensors, are constants, and which are not.
//!
//! An int is a constant at first. One that had another value when the code was compiled before is
//! dynamic (torch: automatic dynamic shapes): its type alone is guarded, and what is computed from it
//! is an expression. The rules that know expressions are in `values::symbolic`; to any other rule it
//! looks like a constant, whose value is guarded as soon as the rule asks for it.
//!
//! The same goes for floats, whose rules are in `values::floats`, where the graph may have numbers as inputs; for
//! a number where a tensor or a number of the other type was before, as with torch; and for the sizes of a
//! tensor's dimensions, and its strides. Sizes and strides 0 and 1 are constants always.

use std::collections::BTreeSet;

use guards::{ConstVal, Extent, GuardKind, GuardSet, SourceId};
use operations::layouts::{Layouts, layout_name};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use variables::{IntVar, LazyVar};

use crate::tx::Tx;

/// What is known of a code object's numbers before it is translated.
#[derive(Clone, Debug, Default)]
pub struct DynamicInts {
    /// every int is dynamic at once
    pub always: bool,
    /// values that ints were guarded to have, by the names of their sources
    pub before: FxHashMap<String, i64>,
    /// bits of the values that floats were guarded to have, by the names of their sources
    pub floats: FxHashMap<String, u64>,
    /// sizes and strides that tensors were guarded to have
    pub layouts: Layouts,
    /// where iterators were guarded to stand, and what objects were guarded to be, by the names of their sources
    pub positions: FxHashMap<String, Vec<GuardKind>>,
    /// names of the sources of dynamic ints, and of dynamic sizes: `L['x'].size()[0]`
    pub names: BTreeSet<String>,
    /// whether the graph may have ints as inputs
    pub as_inputs: bool,
    /// names of the sources of floats that a compiler wants as constants
    pub constant_floats: BTreeSet<String>,
    /// whether it may have floats as inputs, drawn ones as well, and what is made in front of it
    pub floats_as_inputs: bool,
    /// one graph is asked for: where it can't be, there is an exception
    pub is_whole: bool,
    /// numbers that are read from inputs are constants, since one of them is needed
    pub fixes_inputs: bool,
    /// whether a number was read that would be one then
    pub reads_input: bool,
    /// numbers that the graph reads may be sizes, as torch's `capture_scalar_outputs` has it
    pub captures_scalars: bool,
    /// ints are constants, whatever is known of them; sizes are not meant
    pub specialize_int: bool,
    /// floats are
    pub specialize_float: bool,
    /// sizes of parameters are
    pub fixes_parameters: bool,
    /// NumPy's numbers are, but for operands of arrays
    pub specialize_numpy: bool,
    /// sizes that the program marks as unbacked are like those that it marks as dynamic
    pub backs_unbacked: bool,
    /// whether there is a size of which nothing is known
    pub has_unbacked: bool,
    /// whether something about such a size has to be known
    pub needs_backed: bool,
    /// whether one of NumPy's numbers was taken for one that changes
    pub has_changing_numpy: bool,
    /// decisions of this translation
    known: FxHashMap<SourceId, bool>,
}

impl DynamicInts {
    /// Nothing is known; `always` makes every int dynamic at once.
    pub fn new(always: bool) -> Self {
        Self {
            always,
            ..Self::default()
        }
    }

    /// Whether an int can be dynamic at all.
    pub fn any(&self) -> bool {
        let none =
            self.before.is_empty() && self.floats.is_empty() && self.layouts.sizes.is_empty();
        self.always || !none || !self.names.is_empty()
    }

    /// Learns what a set of guards holds ints to. An int with two values is dynamic.
    pub fn learn(&mut self, set: &GuardSet) {
        for guard in set.guards() {
            let Some(source) = guard.source else { continue };
            match &guard.kind {
                GuardKind::EqualsMatch {
                    value: ConstVal::Int(value),
                } => {
                    let name = set.sources().name(source);
                    if *self.before.entry(name.clone()).or_insert(*value) != *value {
                        self.names.insert(name);
                    }
                }
                GuardKind::EqualsMatch {
                    value: ConstVal::Float(bits),
                } => {
                    let name = set.sources().name(source);
                    if *self.floats.entry(name.clone()).or_insert(*bits) != *bits {
                        self.names.insert(name);
                    }
                }
                GuardKind::TupleIteratorLen { .. }
                | GuardKind::ListIteratorLen { .. }
                | GuardKind::ListReverseIteratorLen { .. }
                | GuardKind::RangeIteratorMatch { .. }
                | GuardKind::CountIteratorMatch { .. }
                | GuardKind::IdMatch { .. }
                | GuardKind::CallMatch { .. } => {
                    let name = set.sources().name(source);
                    let known = self.positions.entry(name).or_default();
                    known.push(guard.kind.clone());
                }
                GuardKind::TensorMatch { spec } => {
                    let (name, names) = (set.sources().name(source), &mut self.names);
                    (self.layouts).learn(names, &name, Extent::Size, &spec.sizes);
                    (self.layouts).learn(names, &name, Extent::Stride, &spec.strides);
                }
                _ => {}
            }
        }
    }

    /// Whether a number is dynamic by what is known of earlier ones; `changed` says whether a number of that name
    /// had another value. `of_module`: it is reached through a module, whose numbers are constants until they change.
    pub fn is_dynamic(
        &mut self,
        source: SourceId,
        of_module: bool,
        name: impl FnOnce() -> String,
        changed: impl FnOnce(&Self, &str) -> bool,
    ) -> bool {
        if let Some(known) = self.known.get(&source) {
            return *known;
        }
        let name = name();
        let dynamic =
            self.always && !of_module || self.names.contains(&name) || changed(self, &name);
        if dynamic {
            self.names.insert(name);
        }
        self.known.insert(source, dynamic);
        dynamic
    }

    /// Takes a number for one that changes.
    pub(crate) fn take_for_dynamic(&mut self, source: SourceId, name: String) {
        self.known.insert(source, true);
        self.names.insert(name);
    }

    /// Whether one of the sizes or strides of a tensor is dynamic by what is known of earlier ones.
    fn is_dynamic_at(&self, name: &str, extent: Extent, numbers: &[i64], dim: usize) -> bool {
        self.always
            || self.names.contains(&layout_name(name, extent, dim))
            || self.layouts.differs(name, extent, numbers, dim)
    }
}

impl Tx<'_> {
    /// Whether numbers and sizes that are known only when the graph runs may be sizes in it.
    pub fn captures_unknown(&self) -> bool {
        self.ints.captures_scalars || self.st.captures_shapes
    }

    /// The dimensions of a tensor from outside whose sizes or strides are dynamic, those that are 0 and 1 among them.
    /// `marked` are those that the program marked to be, or not to be.
    pub(crate) fn dynamic_dims(
        &mut self,
        source: SourceId,
        (extent, numbers): (Extent, &[i64]),
        marked: (&BTreeSet<usize>, &BTreeSet<usize>),
    ) -> SmallVec<[usize; 4]> {
        let mut out = SmallVec::new();
        let (dynamic, fixed) = marked;
        if !self.ints.as_inputs || !self.ints.any() && dynamic.is_empty() {
            return out;
        }
        let name = self.facts.sources.name(source);
        for dim in 0..numbers.len() {
            let is_dynamic = self.ints.is_dynamic_at(&name, extent, numbers, dim);
            if fixed.contains(&dim) || !is_dynamic && !dynamic.contains(&dim) {
                continue;
            }
            self.ints.names.insert(layout_name(&name, extent, dim));
            out.push(dim);
        }
        out
    }

    /// Whether a source leads through a module.
    pub fn is_of_module(&self, mut source: SourceId) -> bool {
        while let Some(base) = self.facts.sources.get(source).base() {
            let through = self.facts.reached.get(&base).map(|obj| obj.bind(self.py));
            let module = self.known.module.bind(self.py);
            if through.is_some_and(|obj| obj.is_instance(module).unwrap_or(false)) {
                return true;
            }
            source = base;
        }
        false
    }

    /// What a value from outside is as a dynamic int; `None` where it is none.
    pub(crate) fn dynamic_int(&mut self, l: &LazyVar) -> Option<IntVar> {
        if !self.ints.any() || self.ints.specialize_int {
            return None;
        }
        let b = l.obj.bind(self.py);
        let value = b.cast_exact::<PyInt>().ok()?.extract::<i64>().ok()?;
        let name = || self.facts.sources.name(l.source);
        let changed = |ints: &DynamicInts, name: &str| {
            ints.before.get(name).is_some_and(|before| *before != value)
                || ints.floats.contains_key(name)
                || ints.layouts.sizes.contains_key(name)
        };
        let of_module = self.ints.always && self.is_of_module(l.source);
        if !self.ints.is_dynamic(l.source, of_module, name, changed) {
            return None;
        }
        let b = b.clone();
        self.guard_type(&b, l.source);
        self.facts.int_values.insert(l.source, value);
        Some(IntVar {
            expr: guards::IntExpr::Source(l.source),
            value,
        })
    }
}
