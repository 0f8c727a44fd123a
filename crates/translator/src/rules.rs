//! What hangs on the interpreter: the form of a rule, and how the rule of a callable is found.
//!
//! Lives here: the types of rules, and [`Rules`], which whoever makes a [`Tx`] hands in. Does not live here: any rule.
//! Those of Python's builtins are the crate `builtins`, those of torch's functions that are more than one node the
//! crate `torch-rules`.
//!
//! Invariant: the interpreter names no callable that has a rule; it asks the table, or a function of [`Rules`].

use std::rc::Rc;
use std::sync::Arc;

use bytecode::op::{BinaryOp, Conversion};
use fx_graph::{Graph, NodeId};
use guards::{IntCompare, SourceId};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use rustc_hash::{FxHashMap, FxHashSet};
use variables::library::Own;
use variables::{IterBody, Obj, ObjId, TensorVar, TupleVar, Var};

use crate::call::Callee;
use crate::state::OnReturn;
use crate::stop::R;
use crate::torch_ops::function_modes::Asked;
use crate::tx::{Args, Flow, Tx};

/// What a rule gave: `None` where it does not apply and the callable is to be treated as any other.
pub type Given = R<Option<Flow>>;

/// A rule; its second argument is the name under which it is listed.
pub type Rule = fn(&mut Tx<'_>, &'static str, Args) -> Given;

/// Rules of one file: module, names, rule for each.
pub type RuleList = &'static [(&'static str, &'static [(&'static str, Rule)])];

/// Lists a rule: module, name, rule.
pub type List<'a> = dyn FnMut(&str, &'static str, Rule) + 'a;

/// Lists rules of callables that are known only where they are found.
pub type FoundRules = fn(Python<'_>, &mut List<'_>);

/// Address of a callable to its rule. The objects belong to modules that are never unloaded.
type Table = FxHashMap<usize, (&'static str, Rule)>;

/// What is made of the parts of a template string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplatePart {
    /// `string.templatelib.Template`: its strings, its interpolations
    Whole,
    /// `string.templatelib.Interpolation`: the value, its source, the conversion, the format
    Interpolation,
}

/// What the interpreter asks of Python's builtins, besides calls of what is listed.
#[derive(Clone, Copy)]
pub struct Builtins {
    /// a call of a callable of C's that is not listed
    pub call: fn(&mut Tx<'_>, &Obj, Args) -> Given,
    /// a method, by name, of a constant: a number, a text, bytes
    pub constant_method: fn(&mut Tx<'_>, &Obj, &str, Args) -> Given,
    /// a method, by name, of a list or a deque
    pub sequence_method: fn(&mut Tx<'_>, ObjId, &str, Args) -> Given,
    /// a method, by name, of a dictionary
    pub dict_method: fn(&mut Tx<'_>, ObjId, &str, Args) -> Given,
    /// a method, by name, of a view of a dictionary
    pub view_method: fn(&mut Tx<'_>, ObjId, &str, Args) -> Given,
    /// a method, by name, of a set, or of a frozenset that is a constant
    pub set_method: fn(&mut Tx<'_>, &Var, &str, Args) -> Given,
    /// a method, by name, of a tuple
    pub tuple_method: fn(&mut Tx<'_>, &TupleVar, &str, Args) -> Given,
    /// a method, by name, of a slice
    pub slice_method: fn(&mut Tx<'_>, &[Var; 3], &str, Args) -> Given,
    /// `object.__new__` of a class, and that of the builtin classes that programs derive from; `None` for others
    pub allocate: for<'py> fn(&mut Tx<'py>, &Bound<'py, PyType>, &Args) -> R<Option<Var>>,
    /// a call of a class that has a layout of its own
    pub construct: for<'py> fn(&mut Tx<'py>, &Bound<'py, PyType>, Args) -> R<Flow>,
    /// a method, by name, that C gives to an object that exists: a class, a function, a descriptor
    pub existing_method: fn(&mut Tx<'_>, &Var, &Obj, &str, Args) -> Given,
    /// a method, by name, of an exception made while tracing
    pub exception_method: fn(&mut Tx<'_>, ObjId, &str, &Args) -> Given,
    /// a field, by name, that C has in an exception made while tracing
    pub exception_field: fn(&mut Tx<'_>, ObjId, &Arc<str>) -> R<Var>,
    /// whether an exception of this class has fields that stay when its arguments are written
    pub keeps_fields: fn(&Tx<'_>, &Obj) -> R<bool>,
    /// a special method, by name, of a value: the builtin class's own
    pub dunder_method: fn(&mut Tx<'_>, &Var, &str, Args) -> Given,
    /// `__reduce_ex__` or `__getstate__` of an object
    pub reduce_method: fn(&mut Tx<'_>, &Var, &str, &Args) -> Given,
    /// a method, by name, of a regular expression or a match
    pub regex_method: fn(&mut Tx<'_>, &Obj, &str, Args) -> Given,
    /// the next item of an iterator of `itertools`, by its state
    pub itertools_next: fn(&mut Tx<'_>, ObjId, IterBody) -> R<Option<Var>>,
    /// a call of a weak reference
    pub weakref_call: fn(&mut Tx<'_>, ObjId) -> Given,
    /// a replacement field of an f-string: a value, its conversion, its format
    pub format_value: fn(&mut Tx<'_>, &Var, Option<Conversion>, Option<&Var>) -> R<Var>,
    /// a template string, or an interpolation in one, from its parts
    pub template: fn(&mut Tx<'_>, TemplatePart, Args) -> R<Flow>,
    /// the text of a conversion by an instruction of its own
    pub convert_or_wait: fn(&mut Tx<'_>, &Var, Conversion) -> R<Var>,
    /// the `repr` of a value, for a message
    pub repr_text: fn(&mut Tx<'_>, &Var) -> R<String>,
    /// `text % args`
    pub percent_format: fn(&mut Tx<'_>, &Var, &Var) -> R<Var>,
    /// a call of an enum, with the class in front of the arguments
    pub enum_member: for<'py> fn(&mut Tx<'py>, &Bound<'py, PyType>, &Args) -> R<Flow>,
    /// a method, by name, of what may be a generator of `random`
    pub draw_method: fn(&mut Tx<'_>, ObjId, &str, &Args) -> Given,
    /// the implementation that a function under `functools.singledispatch` has for a class
    pub single_dispatch:
        for<'py> fn(&mut Tx<'py>, &Bound<'py, PyAny>, Option<SourceId>, &Var) -> Given,
}

/// What the interpreter asks of the rules of NumPy: of its arrays, and of its numbers that the graph has as tensors.
#[derive(Clone, Copy)]
pub struct Arrays {
    /// a call of one of NumPy's functions or classes; `None` for any other callable
    pub call: fn(&mut Tx<'_>, &Obj, &Args) -> Given,
    /// an attribute, by name, that is no method
    pub attribute: fn(&mut Tx<'_>, ObjId, &str) -> Given,
    /// a method, by name
    pub method: fn(&mut Tx<'_>, &Var, &str, &Args) -> Given,
    /// an operator, by the name of its special method, one of whose operands is an array or such a number
    pub operator: fn(&mut Tx<'_>, &str, &[&Var]) -> Given,
    /// what going over an array gives
    pub items: fn(&mut Tx<'_>, ObjId) -> R<Vec<Var>>,
    /// how many items an array has
    pub length: fn(&mut Tx<'_>, ObjId) -> R<usize>,
    /// what an array or number holds, where that is known while tracing
    pub known: fn(&mut Tx<'_>, ObjId) -> R<Option<Obj>>,
    /// one of NumPy's numbers from outside, as a number that the graph reads; `None` where it is a constant
    pub read_number: fn(&mut Tx<'_>, &Var) -> R<Option<Var>>,
    /// one of them that was another number before, as one that the graph has; `None` where it is a constant
    pub changing_number: fn(&mut Tx<'_>, &Obj, SourceId) -> R<Option<Var>>,
    /// `tensor.numpy(...)`
    pub of_tensor: fn(&mut Tx<'_>, &Var, &Args) -> Given,
    /// an index of a tensor with tensors in place of the arrays in it
    pub as_index: fn(&mut Tx<'_>, &Var) -> R<Var>,
}

/// A rule of functions of numbers.
pub type ComputeRead = for<'py> fn(&mut Tx<'py>, &Bound<'py, PyAny>, &[Var]) -> R<Option<Var>>;

/// What the interpreter asks of the rules of torch that are more than one node, besides calls of what is listed.
#[derive(Clone, Copy)]
pub struct Torch {
    /// whether a value is a condition over numbers that the graph reads
    pub is_condition: fn(&Tx<'_>, &Var) -> bool,
    /// `&` or `|` of such conditions, or of one and a bool
    pub join_conditions: fn(&mut Tx<'_>, BinaryOp, &Var, &Var) -> R<Option<Var>>,
    /// one of numbers that are not both ints; `None` for what is no number
    pub compare_read: fn(&mut Tx<'_>, IntCompare, &Var, &Var) -> R<Option<Var>>,
    /// what a value's truth is as one, where the graph reads it: a number's or a tensor's
    pub truth_read: fn(&mut Tx<'_>, &Var) -> R<Option<Var>>,
    /// whether an item is in a container, as one; `None`: it is asked otherwise
    pub contains_read: fn(&mut Tx<'_>, &Var, &Var) -> R<Option<Var>>,
    /// `not` of one
    pub negated_condition: fn(&mut Tx<'_>, &Var) -> R<Option<Var>>,
    /// the node that computes one
    pub condition_node: fn(&mut Tx<'_>, &Var) -> R<Option<NodeId>>,
    /// a pure function of numbers of which one follows from what the graph reads, in the graph
    pub compute_read: ComputeRead,
    /// has the graph check one
    pub check_condition: fn(&mut Tx<'_>, &Var) -> R<bool>,
    /// whether a function mode of the program, or a class of tensors, may be asked about a call
    pub is_asked_about: for<'py> fn(&Tx<'py>, &Bound<'py, PyAny>, &Args) -> R<bool>,
    /// asks them
    pub ask: for<'py> fn(&mut Tx<'py>, &Bound<'py, PyAny>, &Args) -> R<Asked>,
    /// an operator, by its name in `operator`, that they may be asked about
    pub operator_in_modes: fn(&mut Tx<'_>, &str, &[Var]) -> Given,
    /// a method of a tensor, by name, that they may be asked about
    pub method_in_modes: fn(&mut Tx<'_>, &Var, &str, &Args) -> Given,
    /// `tensor[key]` where that is more than the one node
    pub subscript: fn(&mut Tx<'_>, &Var, &Var) -> Given,
    /// `tensor[key] = value` where that is more than the one node; whether it is
    pub set_subscript: fn(&mut Tx<'_>, &Var, &Var, &Var) -> R<bool>,
    /// a read of a tensor's attribute, or a write of the value, that they may be asked about
    pub attribute_in_modes: fn(&mut Tx<'_>, &Var, &Arc<str>, Option<&Var>) -> Given,
    /// `__get__` or `__set__` of an attribute of tensors
    pub tensor_accessor: for<'py> fn(&mut Tx<'py>, &Bound<'py, PyAny>, &Args) -> Given,
    /// gives a factory the device that the program has entered
    pub make_on_entered_device: for<'py> fn(&mut Tx<'py>, &Bound<'py, PyAny>, &mut Args) -> R<()>,
    /// `__enter__` and `__exit__` of a device
    pub device_as_context: fn(&mut Tx<'_>, &Obj, &str) -> R<Flow>,
    /// a function of C that reads or changes torch's state
    pub state_call: for<'py> fn(&mut Tx<'py>, &Bound<'py, PyAny>, &Args) -> Given,
    /// a function of Python that torch, or the program, has marked for a tracer; `None`: it is inlined
    pub marked_function:
        for<'py> fn(&mut Tx<'py>, &Bound<'py, PyAny>, Option<SourceId>, &Args) -> Given,
    /// `apply` of a class derived from `torch.autograd.Function`
    pub apply_function: fn(&mut Tx<'_>, Obj, Args) -> R<Flow>,
    /// a call of a class of tensors
    pub construct_tensor: for<'py> fn(&mut Tx<'py>, &Bound<'py, PyType>, Args) -> R<Flow>,
    /// whether torch treats the tensors of a class as its own, as the interpreter does; guarded then
    pub is_tensor_like: for<'py> fn(&mut Tx<'py>, &Bound<'py, PyType>) -> R<bool>,
    /// whether what torch asks a class of tensors can be followed; guarded then
    pub is_followed: for<'py> fn(&mut Tx<'py>, &Bound<'py, PyType>) -> R<bool>,
    /// a tensor, reached by a source, that holds others and sees each operation (a wrapper subclass)
    pub wrapper_tensor: fn(&mut Tx<'_>, &Obj, SourceId) -> R<Option<Var>>,
    /// an attribute that the program's class of a tensor has
    pub own_class_attr: fn(&mut Tx<'_>, &Rc<TensorVar>, &Var, &Arc<str>) -> Given,
    /// a property that the program's class of a tensor has
    pub own_property: fn(&mut Tx<'_>, &TensorVar, &str) -> R<Option<Obj>>,
    /// `tensor.as_subclass(class)`
    pub as_subclass: for<'py> fn(&mut Tx<'py>, &Rc<TensorVar>, &Bound<'py, PyType>) -> R<Var>,
    /// `__enter__` and `__exit__` of the context in which torch asks no class
    pub ask_no_class: fn(&mut Tx<'_>, &Var, &str) -> Given,
    /// whether a compiler's graph has the call of a function, of this name, whole
    pub is_whole_for_compiler: fn(&Tx<'_>, &Callee, &str, &OnReturn) -> R<bool>,
    /// what stands in the graph for a function with this path, where something does
    pub stand_in: for<'py> fn(&Tx<'py>, &Bound<'py, PyAny>, &str) -> R<Option<Obj>>,
    /// `tensor.__deepcopy__(memo)`, the tensor first among the arguments
    pub deep_copy: fn(&mut Tx<'_>, &TensorVar, Args) -> R<Flow>,
    /// a call of a tensor's method that tells the backward pass something, where it can wait for the graph
    pub tell_backward_later: fn(&mut Tx<'_>, &Var, &Args) -> R<Option<Var>>,
    /// what the `__torch_function__` of an argument that is no tensor gives for a call of a function of torch
    pub overridden_call: fn(&mut Tx<'_>, &Obj, &Args) -> Given,
}

/// What the interpreter needs of graphs beyond their nodes. How it is done is the business of backends.
#[derive(Clone, Copy)]
pub struct Graphs {
    /// a graph as an argument of a node of another graph, which a backend finds as a submodule of this name; called,
    /// it computes what the graph does; whether it is a module wherever it runs
    pub part: fn(Python<'_>, &Graph, &[Obj], &str, bool) -> PyResult<Obj>,
    /// the nodes whose change of a context is put back where the graph raises, or made again whatever happens
    pub put_back: fn(&Graph) -> FxHashSet<NodeId>,
}

/// The rules that translations are made with.
pub struct Rules {
    listed: &'static [&'static [RuleList]],
    found: &'static [&'static [FoundRules]],
    /// what is asked of Python's builtins
    pub builtins: Builtins,
    /// what is asked of NumPy
    pub arrays: Arrays,
    /// what is asked of torch's functions that are more than one node
    pub torch: Torch,
    /// what is needed of graphs beyond their nodes
    pub graphs: Graphs,
    table: PyOnceLock<Table>,
}

impl Rules {
    /// Rules by the lists of several crates; where two list one callable, the first has it.
    pub const fn new(
        listed: &'static [&'static [RuleList]],
        found: &'static [&'static [FoundRules]],
        builtins: Builtins,
        arrays: Arrays,
        torch: Torch,
        graphs: Graphs,
    ) -> Rules {
        Rules {
            listed,
            found,
            builtins,
            arrays,
            torch,
            graphs,
            table: PyOnceLock::new(),
        }
    }

    fn table(&self, py: Python<'_>) -> &Table {
        // The table outlives every interpreter state that a test may make: it is never dropped.
        self.table.get_or_init(py, || {
            let mut table = Table::default();
            let mut owns: FxHashMap<String, Own> = FxHashMap::default();
            let mut add = |module: &str, name: &'static str, rule: Rule| {
                // A name that this version of Python does not have has no rule.
                let found = py
                    .import(module)
                    .and_then(|m| name.split('.').try_fold(m.into_any(), |o, n| o.getattr(n)));
                let own = owns
                    .entry(module.to_owned())
                    .or_insert_with(|| Own::of(py, module));
                // What a program has put in the place of a module's function is the program's.
                if let Ok(o) = found
                    && own.has(&o)
                {
                    let o = o.unbind();
                    let addr = o.as_ptr() as usize;
                    // Held for ever: an address in the table stays taken.
                    std::mem::forget(o);
                    table.entry(addr).or_insert((name, rule));
                }
            };
            for list in self.listed.iter().copied().flatten() {
                for (module, names) in *list {
                    for (name, rule) in *names {
                        add(module, name, *rule);
                    }
                }
            }
            for found in self.found.iter().copied().flatten() {
                found(py, &mut add);
            }
            table
        })
    }

    /// The rule of a callable, and the name under which it is listed.
    pub fn of(&self, callable: &Bound<'_, PyAny>) -> Option<(&'static str, Rule)> {
        let table = self.table(callable.py());
        table.get(&(callable.as_ptr() as usize)).copied()
    }
}

/// A rule's result.
pub fn value(v: Var) -> Given {
    Ok(Some(Flow::Value(v)))
}

impl Tx<'_> {
    /// Calls a builtin; `None` where it has no rule.
    ///
    /// # Errors
    /// Whatever the builtin raises; a break where its rule does not apply.
    pub fn call_builtin(&mut self, callable: &Obj, args: Args) -> Given {
        match self.rules.of(callable.bind(self.py)) {
            Some((name, rule)) => rule(self, name, args),
            None => match (self.rules.arrays.call)(self, callable, &args)? {
                Some(flow) => Ok(Some(flow)),
                None => (self.rules.builtins.call)(self, callable, args),
            },
        }
    }
}
