//! Which ints from outside are constants, and which are not.
//!
//! An int is a constant at first. One that had another value when the code was compiled before is
//! dynamic (torch: automatic dynamic shapes): its type alone is guarded, and what is computed from it
//! is an expression. The rules that know expressions are in `values::symbolic`; to any other rule it
//! looks like a constant, whose value is guarded as soon as the rule asks for it.

use std::collections::BTreeSet;

use guards::{ConstVal, GuardKind, GuardSet, SourceId};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use rustc_hash::FxHashMap;
use variables::{IntVar, LazyVar};

use crate::tx::Tx;

/// What is known of a code object's ints before it is translated.
#[derive(Clone, Debug, Default)]
pub struct DynamicInts {
    /// every int is dynamic at once
    pub always: bool,
    /// values that ints were guarded to have, by the names of their sources
    pub before: FxHashMap<String, i64>,
    /// names of the sources of dynamic ints
    pub names: BTreeSet<String>,
    /// whether the graph may have ints as inputs
    pub as_inputs: bool,
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
        self.always || !self.before.is_empty() || !self.names.is_empty()
    }

    /// Learns what a set of guards holds ints to. An int with two values is dynamic.
    pub fn learn(&mut self, set: &GuardSet) {
        for guard in set.guards() {
            let (Some(source), GuardKind::EqualsMatch { value }) = (guard.source, &guard.kind)
            else {
                continue;
            };
            if let ConstVal::Int(value) = value {
                let name = set.sources().name(source);
                if *self.before.entry(name.clone()).or_insert(*value) != *value {
                    self.names.insert(name);
                }
            }
        }
    }
}

impl Tx<'_> {
    /// What a value from outside is as a dynamic int; `None` where it is none.
    pub(crate) fn dynamic_int(&mut self, l: &LazyVar) -> Option<IntVar> {
        if !self.ints.any() {
            return None;
        }
        let b = l.obj.bind(self.py);
        let value = b.cast_exact::<PyInt>().ok()?.extract::<i64>().ok()?;
        let dynamic = match self.ints.known.get(&l.source) {
            Some(known) => *known,
            None => {
                let name = self.sources.name(l.source);
                let before = self.ints.before.get(&name);
                let dynamic = self.ints.always
                    || self.ints.names.contains(&name)
                    || before.is_some_and(|before| *before != value);
                if dynamic {
                    self.ints.names.insert(name);
                }
                self.ints.known.insert(l.source, dynamic);
                dynamic
            }
        };
        if !dynamic {
            return None;
        }
        let b = b.clone();
        self.guard_type(&b, l.source);
        Some(IntVar {
            expr: guards::IntExpr::Source(l.source),
            value,
        })
    }
}
