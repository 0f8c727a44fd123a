//! A translation that has ended, as residual code is made of it.
//!
//! Lives here: what there is to read (the state, the graph, its inputs), and the little that is still asked of the
//! interpreter: guards on what the code relies on, sources of what it reaches, values that were not looked at yet. Does
//! not live here: any instruction. No other module of this crate names the interpreter.
//!
//! Invariant: no instruction runs from here on. What is still asked adds guards, sources, and values for what was not
//! looked at; it changes nothing that the program has done.

use std::cell::RefMut;
use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::LocalIdx;
use fx_graph::Graph;
use guards::exec::Pins;
use guards::{Extent, Guard, IntExpr, IntRelation, ObjRef, Source, SourceId, SourceTable};
use pyo3::prelude::*;
use tensor_meta::Ctx;
use translator::code::{CodeCache, CodeInfo};
use translator::known::Known;
use translator::state::{Frame, State};
use translator::stop::{R, Stop};
use translator::tx::{FloatInput, GraphInput, IntInput, Tx};
use variables::{
    ComputedVar, FloatVar, IntVar, Key, Obj, ObjId, ObjState, ReadNumber, Remade, TensorVar, Var,
};

/// The translation.
pub struct Finished<'a, 'py> {
    /// the interpreter of Python
    pub py: Python<'py>,
    tx: &'a mut Tx<'py>,
}

impl<'a, 'py> Finished<'a, 'py> {
    /// Takes a translation whose last instruction is done.
    pub fn new(tx: &'a mut Tx<'py>) -> Finished<'a, 'py> {
        Finished { py: tx.py, tx }
    }

    // ---- what there is --------------------------------------------------------------------------

    /// The symbolic state.
    pub fn state(&self) -> &State {
        &self.tx.st
    }

    /// An object of the state.
    pub fn obj(&self, id: ObjId) -> &ObjState {
        self.tx.obj(id)
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.tx.log.graph
    }

    /// The graph, to be brought to its end.
    pub fn graph_mut(&mut self) -> &mut Graph {
        &mut self.tx.log.graph
    }

    /// What nodes of the graph name by handle.
    pub fn objects(&self) -> &[Obj] {
        &self.tx.facts.objects
    }

    /// Inputs of the graph that are tensors.
    pub fn inputs(&self) -> &[GraphInput] {
        &self.tx.log.inputs
    }

    /// Inputs of the graph that are ints.
    pub fn int_inputs(&self) -> &[IntInput] {
        &self.tx.log.int_inputs
    }

    /// Inputs of the graph that are floats.
    pub fn float_inputs(&self) -> &[FloatInput] {
        &self.tx.log.float_inputs
    }

    /// The guards, in the order in which they were added.
    pub fn guards(&self) -> &[Guard] {
        &self.tx.log.guards
    }

    /// For each of them the code and line that asked for it.
    pub fn guard_lines(&self) -> &[(Rc<CodeInfo>, u32)] {
        &self.tx.log.guard_lines
    }

    /// The sources that guards and values name.
    pub fn sources(&self) -> &SourceTable {
        &self.tx.facts.sources
    }

    /// The object that a source was first built from.
    pub fn reached(&self, source: SourceId) -> Option<&Obj> {
        self.tx.facts.reached.get(&source)
    }

    /// The objects that guards hold.
    pub fn pins(&self) -> &Pins {
        &self.tx.facts.pins
    }

    /// Well-known Python objects.
    pub fn known(&self) -> &Rc<Known> {
        &self.tx.known
    }

    /// Decoded code objects.
    pub fn codes(&self) -> RefMut<'_, CodeCache> {
        self.tx.codes.borrow_mut()
    }

    /// The state of torch when translation began.
    pub fn ctx(&self) -> &Ctx {
        &self.tx.ctx
    }

    /// Whether the graph runs as it is, as far as is known of the backend.
    pub fn runs_as_is(&self) -> bool {
        self.tx.runs_as_is
    }

    /// Whether the graph was made for who gives it back, so that a compiler would want another.
    pub fn suits_no_compiler(&self) -> bool {
        self.tx.runs_as_is && self.tx.is_for_no_compiler()
    }

    /// Whether a tensor is a leaf that the compiled function made.
    pub fn is_made_leaf(&self, t: &TensorVar) -> bool {
        self.tx.is_made_leaf(t.node)
    }

    /// Whether what a tensor records leads to nothing but a leaf that the program has made in the graph.
    pub fn records_for_own_leaf(&self, t: &TensorVar) -> bool {
        self.tx.records_for_own_leaf(t.node)
    }

    /// Says that the graph has to run as it is.
    pub fn needs_as_is(&mut self) {
        self.tx.st.needs_as_is = true;
    }

    /// How many function modes were in force when the frame began, where one of them is the program's.
    pub fn outer_modes(&self) -> usize {
        self.tx.outer_modes
    }

    // ---- what follows from it -------------------------------------------------------------------

    /// As [`Tx::is_dynamic`].
    pub fn is_dynamic(&self) -> bool {
        self.tx.is_dynamic()
    }

    /// As [`Tx::dynamic_sizes`].
    pub fn dynamic_sizes(&self, tensor: SourceId) -> Vec<usize> {
        self.tx.dynamic_sizes(tensor)
    }

    /// Those among them of whose size nothing is to be known.
    pub fn unbacked_sizes(&self, tensor: SourceId) -> Vec<usize> {
        let mut dims = self.tx.dynamic_sizes(tensor);
        dims.retain(|dim| self.is_unbacked(tensor, *dim));
        dims
    }

    /// As [`Tx::is_unbacked`].
    pub fn is_unbacked(&self, tensor: SourceId, dim: usize) -> bool {
        self.tx.is_unbacked(tensor, dim)
    }

    /// Makes the size of a dimension of an input, where that is no constant, an input as well.
    pub fn size_input(&mut self, tensor: SourceId, dim: usize) {
        self.layout_input(match self.tx.early_size(tensor, dim) {
            Some(number) => IntExpr::Source(number),
            None => IntExpr::Dim(tensor, Extent::Size, dim as u8),
        });
    }

    /// The dimensions of an input whose strides are no constants and do not follow from its sizes.
    pub fn dynamic_strides(&self, tensor: SourceId) -> Vec<u8> {
        let strides = self.tx.log.sizes.strides_of(tensor);
        let changes = |dim: &u8| {
            !self
                .tx
                .has_one_value(&IntExpr::Dim(tensor, Extent::Stride, *dim))
        };
        strides.filter(changes).collect()
    }

    /// Makes a number of an input's layout, where that is no constant, an input as well.
    pub fn layout_input(&mut self, expr: IntExpr) {
        if let Some(value) = self.tx.known_size(&expr) {
            self.number_input(expr, value);
        }
    }

    /// Makes a number an input.
    pub fn number_input(&mut self, expr: IntExpr, value: i64) {
        self.tx.int_input(&Rc::new(IntVar { expr, value }));
    }

    /// What a wrapper holds and says by a property of this name.
    pub(crate) fn held_by_property(&self, wrapper: SourceId, name: &Arc<str>) -> Option<SourceId> {
        let mut held = self.tx.facts.held_by.iter();
        let found = held.find(|(_, by)| by.0 == wrapper && by.1 == *name);
        found.map(|(source, _)| *source)
    }

    /// As [`Tx::dynamic_held`].
    pub fn dynamic_held(&self, tensor: SourceId) -> Vec<(Vec<String>, Vec<usize>)> {
        self.tx.dynamic_held(tensor)
    }

    /// As [`Tx::early_size`].
    pub fn early_size(&self, tensor: SourceId, dim: usize) -> Option<SourceId> {
        self.tx.early_size(tensor, dim)
    }

    /// As [`Tx::is_fixed_size`].
    pub fn is_fixed_size(&self, tensor: SourceId, dim: usize) -> bool {
        self.tx.is_fixed_size(tensor, dim)
    }

    /// As [`Tx::read_number`].
    pub fn read_number(&self, source: SourceId) -> Option<ReadNumber> {
        self.tx.read_number(source)
    }

    /// As [`Tx::follows_from_read`].
    pub fn follows_from_read(&self, v: &Var) -> bool {
        self.tx.follows_from_read(v)
    }

    /// As [`Tx::has_modes`].
    pub fn has_modes(&self) -> bool {
        self.tx.has_modes()
    }

    /// As [`Tx::grad_mode_within`].
    pub fn grad_mode_within(&self) -> Option<bool> {
        self.tx.so_far().grad_mode_within()
    }

    /// As [`Tx::has_generators`].
    pub fn has_generators(&self) -> bool {
        self.tx.has_generators()
    }

    /// As [`Tx::is_generator`].
    pub fn is_generator(&self, var: &Var) -> bool {
        self.tx.is_generator(var)
    }

    /// As [`Tx::leaves_generator_in_try`].
    pub fn leaves_generator_in_try(&mut self, kept: impl Fn(ObjId) -> bool) -> bool {
        self.tx.leaves_generator_in_try(kept)
    }

    /// As [`Tx::is_own_cell`].
    pub fn is_own_cell(&self, frame: &Frame, local: LocalIdx) -> bool {
        self.tx.is_own_cell(frame, local)
    }

    /// As [`Tx::changes_output`].
    pub fn changes_output(&self) -> bool {
        self.tx.changes_output()
    }

    /// As [`Tx::origin_of`].
    pub fn origin_of(&self, v: &Var) -> Option<(SourceId, Obj)> {
        self.tx.origin_of(v)
    }

    /// As [`Tx::factory_of`].
    pub fn factory_of(&self, id: ObjId) -> Option<Var> {
        self.tx.factory_of(id)
    }

    /// As [`Tx::is_of_private`].
    pub fn is_of_private(&self, source: SourceId) -> bool {
        self.tx.is_of_private(source)
    }

    /// Private classes that residual code can make anew.
    pub fn remade(&self) -> &[Remade] {
        &self.tx.facts.remade
    }

    /// As [`Tx::check_constants`].
    ///
    /// # Errors
    /// As it has them.
    pub fn check_constants(&self, constants: &[Obj]) -> R<()> {
        self.tx.check_constants(constants)
    }

    /// As [`Tx::class_name`].
    pub fn class_name(&self, class: &Obj) -> String {
        self.tx.class_name(class)
    }

    /// As [`Tx::is_c_level`].
    pub fn is_c_level(&self, class: &Obj, name: &str) -> bool {
        self.tx.is_c_level(class, name)
    }

    /// As [`Tx::is_c_slot`].
    ///
    /// # Errors
    /// As it has them.
    pub fn is_c_slot(&self, found: &Obj, name: &str) -> R<bool> {
        self.tx.is_c_slot(found, name)
    }

    /// As [`Tx::no_text`].
    pub fn no_text(&self, v: &Var) -> Stop {
        self.tx.no_text(v)
    }

    // ---- values ---------------------------------------------------------------------------------

    /// `None`
    pub fn none(&self) -> Var {
        self.tx.none()
    }

    /// A `bool`.
    pub fn bool(&self, b: bool) -> Var {
        self.tx.bool(b)
    }

    /// An `int`.
    pub fn int(&self, i: i64) -> Var {
        self.tx.int(i)
    }

    /// As [`Tx::lazy`].
    pub fn lazy(&self, obj: Obj, source: SourceId) -> Var {
        self.tx.lazy(obj, source)
    }

    /// As [`Tx::from_const`].
    ///
    /// # Errors
    /// As it has them.
    pub fn constant(&mut self, obj: Bound<'py, PyAny>) -> R<Var> {
        self.tx.from_const(obj)
    }

    // ---- what is still asked: each may add guards -----------------------------------------------

    /// As [`Tx::source`].
    pub fn source(&mut self, source: Source) -> SourceId {
        self.tx.source(source)
    }

    /// As [`Tx::pin`].
    pub fn pin(&mut self, obj: &Obj, weak: bool) -> ObjRef {
        self.tx.pin(obj, weak)
    }

    /// As [`Tx::guard_relation`].
    pub fn guard_relation(&mut self, relation: IntRelation) {
        self.tx.guard_relation(relation);
    }

    /// As [`Tx::realize`].
    ///
    /// # Errors
    /// As it has them.
    pub fn realize(&mut self, var: &Var) -> R<Var> {
        self.tx.realize(var)
    }

    /// As [`Tx::type_of`].
    ///
    /// # Errors
    /// As it has them.
    pub fn type_of(&mut self, v: &Var) -> R<Obj> {
        self.tx.type_of(v)
    }

    /// As [`Tx::known_key`].
    ///
    /// # Errors
    /// As it has them.
    pub fn known_key(&mut self, var: &Var) -> R<Key> {
        self.tx.known_key(var)
    }

    /// As [`Tx::real_copy`].
    ///
    /// # Errors
    /// As it has them.
    pub fn real_copy(&mut self, v: &Var) -> R<Option<Bound<'py, PyAny>>> {
        self.tx.real_copy(v)
    }

    /// As [`Tx::as_dynamic_float`].
    pub fn as_dynamic_float(&mut self, v: &Var) -> Option<Rc<FloatVar>> {
        self.tx.as_dynamic_float(v)
    }

    /// As [`Tx::guards_compute`].
    ///
    /// # Errors
    /// None are expected.
    pub fn guards_compute(&mut self, c: &Rc<ComputedVar>) -> R<bool> {
        self.tx.guards_compute(c)
    }

    /// As [`Tx::specialize_computed`].
    ///
    /// # Errors
    /// As it has them.
    pub fn specialize_computed(&mut self, c: &Rc<ComputedVar>) -> R<Var> {
        self.tx.specialize_computed(c)
    }

    /// As [`Tx::fix_leaf`].
    ///
    /// # Errors
    /// As it has them.
    pub fn fix_leaf(&mut self, leaf: &IntExpr) -> R<i64> {
        self.tx.fix_leaf(leaf)
    }

    /// As [`Tx::close_contexts`].
    ///
    /// # Errors
    /// As it has them.
    pub fn close_contexts(&mut self) -> R<()> {
        self.tx.close_contexts()
    }
}
