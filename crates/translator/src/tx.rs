//! The translator of one frame: its state, and what every rule needs.

mod guarding;
mod kept;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use operations::SoFar;
use pyo3::exceptions::PyFloatingPointError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PySlice, PyString, PyTuple};
use rustc_hash::FxHashMap;
use tensor_meta::Ctx;
use variables::text::{self, Printer};
use variables::{
    Body, Doubt, FloatVar, IntVar, IterBody, Obj, ObjId, ObjState, OrderedMap, TupleVar, Var,
};

pub use kept::{Facts, Log};
pub use operations::{Args, GraphInput};
pub use variables::text::qualified_name;

use crate::code::{CodeCache, CodeInfo};
use crate::dynamic::DynamicInts;
use crate::known::Known;
use crate::refusal::Refusal;
use crate::rules::Rules;
use crate::state::{Snapshot, State};
use crate::stop::{MAX_NESTING, R, Stop};
use crate::torch_ops::table::FnTable;

/// What a call or an operation gave.
#[derive(Debug)]
pub enum Flow {
    /// a value, to be pushed by the instruction
    Value(Var),
    /// a frame was pushed; its result will arrive on the caller's stack when it returns
    Pushed,
}

/// The ways back from an instruction.
#[derive(Clone, Default)]
pub struct WaysBack {
    /// where a break goes back to
    pub here: Option<Snapshot>,
    /// the checkpoint before the last instruction of the root frame itself
    pub outer: Option<Snapshot>,
    /// the checkpoint before the last instruction of the root frame that loads a name or an attribute, where what it
    /// has done leads to a handler
    pub load: Option<Snapshot>,
    /// the checkpoint before the instruction that raised the first exception that was caught
    pub first_catch: Option<Place>,
    /// the same of the last one that was caught while none was handled
    pub last_catch: Option<Place>,
    /// the checkpoint before the instruction that made the first text of a tensor
    pub first_text: Option<Place>,
    /// the checkpoint before the instruction that made the first private object
    pub first_private: Option<Place>,
    /// the checkpoints before the instructions that read numbers from tensors of the graph
    pub reads: FxHashMap<guards::SourceId, Place>,
}

/// A checkpoint that is gone back to from far behind it, with the way back that is right there.
#[derive(Clone)]
pub struct Place {
    /// the checkpoint
    pub at: Snapshot,
    /// [`WaysBack::outer`] at that time
    pub outer: Option<Snapshot>,
}

impl WaysBack {
    /// Where a break goes back to now. `None` where nothing can go back there.
    pub fn place(&self) -> Option<Place> {
        Some(Place {
            at: self.here.clone()?,
            outer: self.outer.clone(),
        })
    }
}

/// An int that is an input of the graph.
#[derive(Clone, Debug)]
pub struct IntInput {
    /// the placeholder
    pub node: fx_graph::NodeId,
    /// how it is computed, and what it is for this call
    pub int: Rc<IntVar>,
}

/// A float that is an input of the graph.
#[derive(Clone, Debug)]
pub struct FloatInput {
    /// the placeholder: of the float, or of a tensor that holds it
    pub node: fx_graph::NodeId,
    /// what operations get
    pub number: fx_graph::NodeId,
    /// how it is computed, and what it is for this call
    pub float: Rc<FloatVar>,
}

/// One translation.
pub struct Tx<'py> {
    /// the interpreter
    pub py: Python<'py>,
    // What is kept from one instruction to the next.
    /// what a break puts back
    pub st: State,
    /// what is cut back with it
    pub log: Log,
    /// what only grows
    pub facts: Facts,
    // What is given, and stays as it is.
    /// well-known Python objects
    pub known: Rc<Known>,
    /// the rules that hang on the interpreter
    pub rules: &'static Rules,
    /// graph functions of this torch
    pub functions: Rc<FnTable>,
    /// decoded code objects
    pub codes: Rc<RefCell<CodeCache>>,
    /// the state of torch when translation began
    pub ctx: Ctx,
    /// how many function modes were in force when the frame began, where one of them is the program's
    pub outer_modes: usize,
    /// the user's code, where the root frame is that of a resume function
    pub resumed: Option<Rc<CodeInfo>>,
    /// whether parameters and buffers are bound by identity
    pub bind_tensors: bool,
    /// what says how a subscript of tensors looks, while each of them is an index of which nobody asks the value
    pub indexes_with: Option<Obj>,
    /// whether the graph runs as it is, as far as is known of the backend
    pub runs_as_is: bool,
    /// the operation that the backend refused, where this frame was translated before
    pub refusal: Option<Refusal>,
    /// which ints and sizes are no constants
    pub ints: DynamicInts,
    /// the address below which no native stack is left for what calls itself
    pub stack_floor: usize,
    /// how many may be
    pub max_instructions: u64,
    /// how many in a row may add nothing to the graph
    pub max_plain_instructions: u64,
    // Where the interpreter itself stands: how its own calls are nested, the ways back, what it has counted.
    /// how many nested runs are under way: a break inside breaks the outer instruction
    pub nested: u32,
    /// how deep inside one another the values are that an operation is looking at
    pub depth: u32,
    /// value of the `yield` at which a nested run stopped
    pub yielded: Option<Var>,
    /// result of the nested run that just ended
    pub nested_result: Option<Var>,
    /// whether arguments of the operation that is looked at may be dynamic ints
    pub(crate) keeps_ints: bool,
    /// whether they may be conditions over numbers that the graph reads: it does not ask which of the two they are
    pub(crate) keeps_conditions: bool,
    /// tensors by node that nodes were given, while a function is traced that a transform is given
    pub used: Option<FxHashMap<fx_graph::NodeId, Var>>,
    /// what operators hand to their functions, while one is traced: they refuse what lies in the same memory
    pub stand_ins: Option<Vec<fx_graph::NodeId>>,
    /// whether keys were compared that this can't tell apart
    pub(crate) doubt: Doubt,
    /// the ways back from here
    pub ways: WaysBack,
    /// those from where an optimizer's step begins, while it is translated: it is captured whole or not at all
    pub before_step: Option<Box<WaysBack>>,
    /// instructions interpreted
    pub instructions: u64,
    /// the instruction at which the limits are looked at, and how large the graph was before
    pub(crate) next_limit: (u64, usize),
    /// whether a limit was reached
    pub too_long: bool,
    /// whether translation stopped where the program raises
    pub(crate) raises: bool,
    /// one line an instruction, where the log `trace_bytecode` is on
    pub trace: Option<Vec<String>>,
}

impl<'py> Tx<'py> {
    /// A translation that starts in `state`.
    pub fn new(
        py: Python<'py>,
        state: State,
        codes: Rc<RefCell<CodeCache>>,
        known: Rc<Known>,
        functions: Rc<FnTable>,
        rules: &'static Rules,
        ctx: Ctx,
    ) -> Tx<'py> {
        let mut state = state;
        state.met_inference = ctx.inference_mode;
        Tx {
            py,
            st: state,
            log: Log::new(),
            facts: Facts::default(),
            keeps_ints: false,
            keeps_conditions: false,
            ints: DynamicInts::default(),
            codes,
            known,
            nested: 0,
            depth: 0,
            stack_floor: 0,
            yielded: None,
            nested_result: None,
            rules,
            functions,
            ctx,
            outer_modes: 0,
            doubt: Doubt::default(),
            ways: WaysBack::default(),
            before_step: None,
            resumed: None,
            trace: None,
            bind_tensors: true,
            used: None,
            stand_ins: None,
            indexes_with: None,
            runs_as_is: false,
            refusal: None,
            instructions: 0,
            max_instructions: u64::MAX,
            max_plain_instructions: u64::MAX,
            next_limit: (0, 0),
            too_long: false,
            raises: false,
        }
    }

    /// Whether the graph is for more than the ints and sizes of this call.
    pub fn is_dynamic(&self) -> bool {
        // What is made of arrays looks the same at each call.
        let is_made = |call: &Rc<variables::EarlyCall>| call.kind == variables::EarlyKind::Make;
        !(self.log.int_inputs.is_empty()
            && self.log.float_inputs.is_empty()
            && self.log.sizes.is_empty()
            && self.st.effects.early.iter().all(is_made))
    }

    /// What was done so far, for questions about the next operation.
    pub fn so_far(&self) -> SoFar<'_, 'py> {
        SoFar {
            py: self.py,
            known: &self.known,
            state: &self.st,
            graph: &self.log.graph,
            inputs: &self.log.inputs,
            sizes: &self.log.sizes,
            objects: &self.facts.objects,
            ctx: &self.ctx,
        }
    }

    // ---- snapshots ------------------------------------------------------------------------

    /// O(1).
    pub fn snapshot(&self) -> Snapshot {
        self.log.mark(self.st.clone(), self.instructions)
    }

    /// Goes back; costs what was added since.
    pub fn restore(&mut self, snap: &Snapshot) {
        self.log.cut_guards(snap);
        self.restore_but_guards(snap);
    }

    /// Goes back, but keeps what was guarded since.
    pub fn restore_but_guards(&mut self, snap: &Snapshot) {
        self.st = snap.state.clone();
        self.log.cut_graph(snap);
    }

    /// Goes back from what was traced beside the graph and is kept as a graph of its own: what was guarded since
    /// stays, and what that graph needs.
    pub fn restore_but_needs(&mut self, snap: &Snapshot) {
        let inside = self.st.clone();
        self.restore_but_guards(snap);
        self.st.needs_as_is |= inside.needs_as_is;
        self.st.met_inference |= inside.met_inference;
        self.st.met_subclass |= inside.met_subclass;
    }

    // ---- objects of the graph ---------------------------------------------------------------

    /// The handle by which graph nodes name a Python object.
    pub fn handle(&mut self, obj: &Obj) -> u32 {
        let addr = obj.as_ptr() as usize;
        if let Some(&h) = self.facts.object_index.get(&addr) {
            return h;
        }
        let h = self.facts.objects.len() as u32;
        self.facts.objects.push(obj.clone());
        self.facts.object_index.insert(addr, h);
        h
    }

    // ---- values -------------------------------------------------------------------------------

    /// Whether the graph, where it was made for who gives it back, is none for a compiler: it needs to run as it is, or
    /// numbers that are made before it or floats are its inputs.
    pub fn is_for_no_compiler(&self) -> bool {
        let has_early = !self.st.effects.early.is_empty();
        self.st.needs_as_is || has_early || !self.log.float_inputs.is_empty()
    }

    /// The Python that runs the program: for its capabilities.
    pub fn version(&self) -> bytecode::Version {
        self.st.frame.code.fields.version
    }

    /// A Python `bool`.
    pub fn bool(&self, b: bool) -> Var {
        Var::Const(PyBool::new(self.py, b).to_owned().into_any().unbind())
    }

    /// A Python `int`.
    pub fn int(&self, i: i64) -> Var {
        Var::Const(
            i.into_pyobject(self.py)
                .expect("an int")
                .into_any()
                .unbind(),
        )
    }

    /// A Python `str`.
    pub fn str(&self, s: &str) -> Var {
        Var::Const(PyString::new(self.py, s).into_any().unbind())
    }

    /// `None`.
    pub fn none(&self) -> Var {
        Var::none(self.py)
    }

    /// A new list.
    pub fn new_list(&mut self, items: impl IntoIterator<Item = Var>) -> Var {
        let class = self.known.list.clone();
        Var::Obj(self.st.effects.add(ObjState::new(
            class,
            Body::List(items.into_iter().collect()),
        )))
    }

    /// A new dict with values for hash keys.
    pub fn new_dict(&mut self, items: OrderedMap) -> Var {
        let class = self.known.dict.clone();
        Var::Obj(self.st.effects.add(ObjState::new(class, Body::Dict(items))))
    }

    /// A new set.
    pub fn new_set(&mut self, items: OrderedMap) -> Var {
        let class = self.known.set.clone();
        Var::Obj(self.st.effects.add(ObjState::new(class, Body::Set(items))))
    }

    /// A new iterator.
    pub fn new_iter(&mut self, class: Obj, body: IterBody) -> Var {
        Var::Obj(self.st.effects.add(ObjState::new(class, Body::Iter(body))))
    }

    /// A new object of any class.
    pub fn new_object(&mut self, class: Obj, body: Body) -> ObjId {
        self.st.effects.add(ObjState::new(class, body))
    }

    /// An object's state.
    pub fn obj(&self, id: ObjId) -> &ObjState {
        self.st.effects.get(id)
    }

    /// The value as a real Python object, if it consists of constants only (tuples included).
    pub fn as_const(&mut self, var: &Var) -> R<Option<Obj>> {
        self.inside(|tx| tx.constant_parts(var))
    }

    fn constant_parts(&mut self, var: &Var) -> R<Option<Obj>> {
        Ok(match self.realize(var)? {
            Var::Const(o) => Some(o),
            Var::Py(p) => Some(p.obj.clone()),
            Var::Obj(id) => match &self.obj(id).body {
                Body::Value(plain) if self.is_plainly_its_value(&self.obj(id).class)? => {
                    Some(plain.clone())
                }
                _ => None,
            },
            Var::Tuple(t)
                if t.class.is_none()
                    || t.class.as_ref().is_some_and(|c| c.is(&self.known.size)) =>
            {
                let mut items = Vec::with_capacity(t.items.len());
                for v in &t.items {
                    match self.as_const(v)? {
                        Some(o) => items.push(o),
                        None => return Ok(None),
                    }
                }
                let tuple = PyTuple::new(self.py, items)?;
                Some(match &t.class {
                    Some(c) => c.call1(self.py, (tuple,))?,
                    None => tuple.into_any().unbind(),
                })
            }
            Var::Slice(s) => {
                let mut parts = Vec::with_capacity(3);
                for v in s.iter() {
                    match self.as_const(v)? {
                        Some(o) => parts.push(o),
                        None => return Ok(None),
                    }
                }
                Some(
                    self.known
                        .slice
                        .call1(self.py, PyTuple::new(self.py, parts)?)?,
                )
            }
            _ => None,
        })
    }

    /// Whether what calls itself has to stop here.
    pub(crate) fn is_stack_used_up(&self) -> bool {
        let marker = 0u8;
        (std::hint::black_box(std::ptr::from_ref(&marker)) as usize) < self.stack_floor
    }

    /// Runs a rule on what is inside another value.
    ///
    /// # Errors
    /// A break where that is nested too deep, or in itself.
    pub fn inside<T>(&mut self, rule: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        if self.depth as usize >= MAX_NESTING || self.is_stack_used_up() {
            return Err(Stop::brk(
                "Values nested too deep",
                format!(
                    "More than {MAX_NESTING} values are nested in one another, or one in itself."
                ),
                "Move the operation on them out of the compiled function.",
            ));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    /// A value for an object that a constant operation gave: tuples and slices become tracked
    /// values, lists, dicts and sets new objects, everything else a constant.
    pub fn from_const(&mut self, obj: Bound<'py, PyAny>) -> R<Var> {
        if let Ok(t) = obj.cast_exact::<PyTuple>() {
            let items = t
                .iter()
                .map(|i| self.from_const(i))
                .collect::<R<Vec<_>>>()?;
            return Ok(Var::tuple(items));
        }
        if obj.get_type().is(self.known.size.bind(self.py)) {
            let items = obj
                .cast::<PyTuple>()
                .map_err(PyErr::from)?
                .iter()
                .map(|i| self.from_const(i))
                .collect::<R<Vec<_>>>()?;
            return Ok(Var::Tuple(Rc::new(TupleVar {
                items,
                class: Some(self.known.size.clone()),
                origin: None,
            })));
        }
        if let Ok(l) = obj.cast_exact::<PyList>() {
            let items = l
                .iter()
                .map(|i| self.from_const(i))
                .collect::<R<Vec<_>>>()?;
            return Ok(self.new_list(items));
        }
        if let Ok(d) = obj.cast_exact::<PyDict>() {
            let mut map = OrderedMap::default();
            for (k, v) in d.iter() {
                let (k, v) = (self.from_const(k)?, self.from_const(v)?);
                map.insert(self.key(&k)?, k, v);
            }
            return Ok(self.new_dict(map));
        }
        if let Ok(s) = obj.cast_exact::<PySlice>() {
            let part = |n: &str| s.getattr(n);
            let parts = [part("start")?, part("stop")?, part("step")?];
            let [a, b, c] = parts.map(|p| Var::Const(p.unbind()));
            return Ok(Var::Slice(Rc::new([a, b, c])));
        }
        if self.known.is_const_type(obj.get_type().as_any()) {
            self.guard_digits(&obj)?;
            return Ok(Var::Const(obj.unbind()));
        }
        // The program may change it, and would find the change on the next call.
        if self.known.is_ndarray(&obj) {
            return Err(Stop::brk(
                "NumPy array made in the compiled function",
                "The call is none that Ferrodyn makes an operation of the graph, so it runs in eager mode between two graphs.",
                "Make the array with torch, or outside of the compiled function.",
            ));
        }
        Ok(Var::py(obj.unbind()))
    }

    /// Runs an operation on constants with Python itself; an exception becomes the program's.
    pub fn fold(&mut self, f: impl FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>) -> R<Var> {
        match f(self.py) {
            Ok(o) => self.from_const(o),
            Err(e) => Err(self.raise_pyerr(&e)),
        }
    }

    // ---- exceptions ------------------------------------------------------------------------------

    /// The program raises a builtin exception.
    pub fn raise(&mut self, class: &str, message: &str) -> Stop {
        match self.known.builtins.bind(self.py).getattr(class) {
            Ok(class) => {
                let message = self.str(message);
                self.raise_class(class.unbind(), vec![message])
            }
            Err(e) => Stop::from(e),
        }
    }

    /// The program raises `class(*args)`.
    pub fn raise_class(&mut self, class: Obj, args: Vec<Var>) -> Stop {
        let id = self.new_object(class, Body::Plain);
        let args = Var::tuple(args);
        self.st
            .effects
            .write_attr(id, &Arc::from("args"), Some(args));
        Stop::Raise(Var::Obj(id))
    }

    /// The program raises what a constant operation raised.
    pub fn raise_pyerr(&mut self, e: &PyErr) -> Stop {
        // It raises only while this translates: `StrictErrors`.
        if self.known.has_numpy() && e.is_instance_of::<PyFloatingPointError>(self.py) {
            return Stop::unsupported(
                "a number of NumPy that is divided by zero, overflows or has no result",
            );
        }
        let args = match e.value(self.py).getattr("args") {
            Ok(args) => self.from_const(args),
            Err(e) => return e.into(),
        };
        match args {
            Ok(Var::Tuple(t)) => {
                self.raise_class(e.get_type(self.py).into_any().unbind(), t.items.clone())
            }
            Ok(_) => Stop::Internal("exception args are no tuple".into()),
            Err(stop) => stop,
        }
    }

    // ---- text -------------------------------------------------------------------------------------

    /// `__name__` of a class.
    pub fn class_name(&self, class: &Obj) -> String {
        text::class_name(class.bind(self.py))
    }

    /// What values are printed by.
    pub fn printer(&self) -> Printer<'_, 'py> {
        Printer {
            py: self.py,
            state: &self.st,
            graph: &self.log.graph,
            sources: &self.facts.sources,
        }
    }

    /// As [`Printer::describe`].
    pub fn describe(&self, var: &Var) -> String {
        self.printer().describe(var)
    }
}
