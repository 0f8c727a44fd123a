//! What a translation keeps beside its state: a log that is cut back with it, and facts that only grow.
//!
//! Invariant: nothing else is kept from one instruction to the next. What the state says is put back by a clone of it,
//! the log is cut to where it was, and no fact says what the program has done: after a break the same facts would be
//! found again.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use fx_graph::{FnTarget, Graph, NodeId};
use guards::exec::Pins;
use guards::{Guard, GuardKind, IntExpr, SourceId, SourceTable};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt};
use rustc_hash::{FxHashMap, FxHashSet};
use torch_abi::marks::TABLES;
use variables::{Obj, Remade};

use super::{FloatInput, GraphInput, IntInput};
use crate::code::CodeInfo;
use crate::state::{Snapshot, State};
use crate::torch_ops::sized_fakes::SizedFakes;
use crate::torch_ops::sizes::Sizes;

/// What grows with the program that is run, and is cut back where it goes back.
pub struct Log {
    /// the graph so far
    pub graph: Graph,
    /// inputs of the graph, in the order of their first use
    pub inputs: Vec<GraphInput>,
    /// ints that are inputs of the graph, in the order of their first use
    pub int_inputs: Vec<IntInput>,
    /// ints that the graph computes, in the order of their first use
    pub(crate) int_nodes: Vec<(IntExpr, NodeId)>,
    /// floats that are inputs of the graph, in the order of their first use
    pub float_inputs: Vec<FloatInput>,
    /// sizes that are no constants; what is known to be equal is cut back, their symbols stay
    pub sizes: Sizes,
    /// guards so far, in the order in which they were added
    pub guards: Vec<Guard>,
    /// for each guard the code and line that asked for it
    pub guard_lines: Vec<(Rc<CodeInfo>, u32)>,
    pub(super) guard_set: FxHashSet<(Option<SourceId>, GuardKind)>,
    /// the first guard of an instruction that is about a value that is not made yet
    pub(crate) early_guard: Option<usize>,
    /// names that were found, whether or not their values are looked at
    pub(super) touched: Vec<SourceId>,
}

impl Log {
    pub(super) fn new() -> Log {
        Log {
            graph: Graph::new(),
            inputs: Vec::new(),
            int_inputs: Vec::new(),
            int_nodes: Vec::new(),
            float_inputs: Vec::new(),
            sizes: Sizes::default(),
            guards: Vec::new(),
            guard_lines: Vec::new(),
            guard_set: FxHashSet::default(),
            early_guard: None,
            touched: Vec::new(),
        }
    }

    /// How long it is, with a state and how many instructions led to it.
    pub(super) fn mark(&self, state: State, instructions: u64) -> Snapshot {
        Snapshot {
            state,
            guards: self.guards.len(),
            touched: self.touched.len(),
            inputs: self.inputs.len(),
            int_inputs: self.int_inputs.len(),
            int_nodes: self.int_nodes.len(),
            float_inputs: self.float_inputs.len(),
            known_sizes: self.sizes.known(),
            graph: self.graph.checkpoint(),
            instructions,
        }
    }

    /// Takes guards back, and what they were asked for.
    pub(super) fn cut_guards(&mut self, to: &Snapshot) {
        for g in self.guards.drain(to.guards..) {
            self.guard_set.remove(&(g.source, g.kind));
        }
        // What was tried and given up is not asked for any more.
        self.early_guard = self.early_guard.filter(|at| *at < to.guards);
        self.guard_lines.truncate(to.guards);
        self.touched.truncate(to.touched);
        self.sizes.forget(to.known_sizes);
    }

    /// Cuts everything but that.
    pub(super) fn cut_graph(&mut self, to: &Snapshot) {
        self.inputs.truncate(to.inputs);
        self.int_inputs.truncate(to.int_inputs);
        self.int_nodes.truncate(to.int_nodes);
        self.float_inputs.truncate(to.float_inputs);
        // Nodes are only added while translating, so a checkpoint never goes stale.
        let restored = self.graph.restore(to.graph);
        debug_assert!(restored.is_ok());
    }
}

/// What is found out once, and stays right wherever the translation goes back to.
#[derive(Default)]
pub struct Facts {
    /// objects by the source that they were first built from
    pub reached: FxHashMap<SourceId, Obj>,
    /// names of placeholders given so far
    pub input_names: FxHashSet<String>,
    /// interned sources
    pub sources: SourceTable,
    /// objects that guards and sources name
    pub pins: Pins,
    /// Python objects that graph nodes name by handle
    pub objects: Vec<Obj>,
    pub(super) object_index: FxHashMap<usize, u32>,
    /// targets of graph functions, by address
    pub targets: FxHashMap<usize, Arc<FnTarget>>,
    /// values of dynamic ints, by their sources
    pub(crate) int_values: FxHashMap<SourceId, i64>,
    /// what wrappers hold and say by properties: which wrapper, and the name of the property
    pub held_by: FxHashMap<SourceId, (SourceId, Arc<str>)>,
    /// which numbers the sizes of tensors that are made early are, where those are no constants
    pub early_sizes: FxHashMap<SourceId, Vec<Option<SourceId>>>,
    /// bits of the values of dynamic floats, by their sources
    pub(crate) float_values: FxHashMap<SourceId, u64>,
    /// torch's FakeTensorMode, once it was needed
    pub fake_mode: Option<Obj>,
    /// the symbols that fake tensors of that mode have as sizes, once one had a size that is no constant
    pub(crate) sized: Option<Box<SizedFakes>>,
    /// how often metadata came from FakeTensor, by operation
    pub fake_ops: BTreeMap<String, u64>,
    /// the program's classes of named tuples that functions in the graph give, by the names that results have for them
    pub result_classes: FxHashMap<String, Obj>,
    /// a module whose parameters or buffers are bound
    pub owner: Option<Obj>,
    /// graphs of regions that are compiled by themselves, by what makes two of them one
    pub regions: Vec<(String, Obj)>,
    /// what the user has marked, by table, once it was asked for
    pub(crate) marked: [OnceCell<Option<Obj>>; TABLES.len()],
    /// whether the program asked if it is compiled: what it does then plain Python would not do
    pub asked_compiling: bool,
    /// whether a step of an optimizer was captured
    pub has_step: bool,
    /// classes that abstract ones take for theirs, though they are no bases of them
    pub registered: Vec<(Obj, Obj)>,
    /// what something follows from that may be another in another process, such as a hash
    pub of_process: Option<&'static str>,
    /// classes of libraries, whose bases are not guarded
    pub(crate) bases_guarded: FxHashSet<usize>,
    /// functions by address that were found to have no meaning of their own for a tracer
    pub unmarked: FxHashMap<usize, Obj>,
    /// addresses of what is private (see [`crate::private`]), which nothing but the program's end lets go
    pub(crate) private: FxHashSet<usize>,
    /// private classes that residual code can make anew
    pub remade: Vec<Remade>,
}

impl Facts {
    /// Notes what something follows from that may be another in another process.
    pub fn is_of_process(&mut self, what: &'static str) {
        self.of_process.get_or_insert(what);
    }

    /// Notes that the order of a set matters: other hashes than those of numbers are others in each process.
    pub(crate) fn has_order_of_set(&mut self, items: &[Bound<'_, PyAny>]) {
        let is_number = |item: &Bound<'_, PyAny>| {
            item.is_exact_instance_of::<PyInt>()
                || item.is_exact_instance_of::<PyBool>()
                || item.is_exact_instance_of::<PyFloat>()
        };
        if items.len() > 1 && !items.iter().all(is_number) {
            self.is_of_process("the order of a set");
        }
    }
}
