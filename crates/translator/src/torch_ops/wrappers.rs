//! Operations on wrapper subclasses: tensors that hold others, and whose class sees each operation by
//! `__torch_dispatch__`.
//!
//! What such an operation gives only its class knows: so each node of such a tensor has a fake one, of the same class
//! around fake tensors, that the operations are run on. The graph holds the operations of the program; what they
//! become below is for who runs the graph, as under torch's own tracer.
//!
//! Does not live here: which classes are taken, and what is guarded of their tensors (the crate `torch-rules`).

use std::rc::Rc;
use std::sync::Arc;

use fx_graph::{Arg, NodeId};
use guards::{Extent, IntExpr, Source, SourceId};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use tensor_meta::{Does, Inferred, SymInt, TensorMeta};

use variables::state::Wrapper;
use variables::{Body, Obj, TensorVar, TupleVar, Var};

use super::args::NodeArgs;
use super::beside::may_write;
use super::emit::Callee;
use super::raising;
use super::sized_fakes::SizedFakes;
use crate::raw::type_lookup;
use crate::stop::{R, Stop};
use crate::tx::{Args, GraphInput, Tx};

/// A tensor of such a class from outside, or one that it holds, as the translation knows it.
pub struct Held {
    /// its sizes and strides
    pub meta: Rc<TensorMeta>,
    /// what one of such a class holds, by name; `None` for any other tensor
    pub parts: Option<Vec<(Arc<str>, Held)>>,
}

impl Held {
    /// Whether no size of it changes.
    pub fn is_static(&self) -> bool {
        let mut parts = self.parts.iter().flatten();
        self.meta.is_static() && parts.all(|(_, held)| held.is_static())
    }
}

impl<'py> Tx<'py> {
    /// Whether a class's tensors hold others and see each operation: torch's protocol of `__tensor_flatten__`.
    pub fn is_wrapper_class(&self, class: &Bound<'py, PyType>) -> bool {
        let dispatch = |class| type_lookup(class, "__torch_dispatch__").map(|f| f.as_ptr());
        let tensor = self.known.tensor.bind(self.py).cast::<PyType>();
        type_lookup(class, "__tensor_flatten__").is_some()
            && type_lookup(class, "__tensor_unflatten__").is_some()
            && tensor.is_ok_and(|tensor| dispatch(class) != dispatch(tensor))
    }

    /// Whether an operation has such a tensor among its arguments.
    pub(super) fn has_wrapper(&self, args: &NodeArgs) -> bool {
        let kw = args.kw.iter().map(|(_, a)| a);
        !self.st.wrappers.is_empty() && args.pos.iter().chain(kw).any(|a| self.mentions_wrapper(a))
    }

    fn mentions_wrapper(&self, arg: &Arg) -> bool {
        let mut found = false;
        arg.for_each_node(&mut |n: NodeId| found |= self.st.wrappers.contains_key(&n.0));
        found
    }

    /// Makes a node for a call that gives such a tensor.
    ///
    /// # Errors
    /// A break for arguments that a graph can't hold, and for what can't be run on fakes.
    pub fn emit_of_wrapper(&mut self, callee: &Callee<'_>, args: &Args) -> R<Var> {
        let before = self.snapshot();
        let node_args = self.node_args_with_sizes(args)?;
        match self.emit_wrapped(callee, &node_args, args) {
            Err(Stop::Break(_)) if self.has_dynamic_number(args) => self.restore(&before),
            made => return made,
        }
        let node_args = self.node_args(args)?;
        self.emit_wrapped(callee, &node_args, args)
    }

    /// Makes a node for an operation on such a tensor.
    pub(super) fn emit_wrapped(
        &mut self,
        callee: &Callee<'_>,
        node_args: &NodeArgs,
        args: &Args,
    ) -> R<Var> {
        let (inferred, out) = self.infer_fake_result(callee, node_args, "wrapper subclass")?;
        self.check_shown(callee, args, &inferred)?;
        self.check_leaf(args, &inferred)?;
        let made = self.emit_inferred(callee, node_args.clone(), inferred, args)?;
        self.with_wrapper_class(made, out.bind(self.py))
    }

    /// A result with the classes that the fake one has.
    fn with_wrapper_class(&mut self, made: Var, out: &Bound<'py, PyAny>) -> R<Var> {
        match &made {
            Var::Tensor(t) if self.is_wrapper_class(&out.get_type()) => {
                if self.st.wrappers.contains_key(&t.node.0) {
                    return Ok(made);
                }
                let wrapper = Wrapper::new(out.clone().unbind());
                self.st.wrappers.insert(t.node.0, wrapper);
                Ok(Var::Tensor(Rc::new(TensorVar {
                    node: t.node,
                    class: out.get_type().into_any().unbind(),
                    meta: t.meta.clone(),
                    input: None,
                    fresh: t.fresh,
                })))
            }
            Var::Tuple(t) => {
                let items = self.each_with_class(t.items.clone(), out)?;
                let (class, origin) = (t.class.clone(), None);
                Ok(Var::Tuple(Rc::new(TupleVar {
                    items,
                    class,
                    origin,
                })))
            }
            Var::Obj(id) => {
                let Body::List(items) = &self.obj(*id).body else {
                    return Ok(made);
                };
                let items = items.iter().cloned().collect();
                let items = self.each_with_class(items, out)?;
                Ok(self.new_list(items))
            }
            _ => Ok(made),
        }
    }

    fn each_with_class(&mut self, items: Vec<Var>, out: &Bound<'py, PyAny>) -> R<Vec<Var>> {
        let mut all = Vec::with_capacity(items.len());
        for (item, out) in items.into_iter().zip(out.try_iter()?) {
            all.push(self.with_wrapper_class(item, &out?)?);
        }
        Ok(all)
    }

    /// Inputs of the graph that a wrapper, an input too, holds.
    pub fn held_inputs(&self, wrapper: NodeId) -> Vec<NodeId> {
        let of = |input: &&GraphInput| input.node == wrapper;
        let Some(source) = self.log.inputs.iter().find(of).map(|input| input.source) else {
            return Vec::new();
        };
        let held = |input: &&GraphInput| match self.facts.sources.get(input.source) {
            Source::InstanceDictItem { base, .. } => *base == source,
            _ => false,
        };
        let held = self.log.inputs.iter().filter(held);
        held.map(|input| input.node).collect()
    }

    /// A compiler takes a tensor and the wrapper that holds it for two, where both are inputs of the graph.
    ///
    /// # Errors
    /// A break for an operation that writes to one, or that reads what was written to the other.
    pub(super) fn writes_to_no_held(
        &self,
        callee: &Callee<'_>,
        node_args: &NodeArgs,
        args: &Args,
        inferred: &Inferred,
    ) -> R<()> {
        if self.st.wrappers.is_empty() || self.runs_as_is {
            return Ok(());
        }
        let writes = may_write(callee, args, inferred);
        let is_written = |node: &NodeId| {
            let writes =
                |user: &NodeId| raising::traits_of(&self.log.graph[*user]).any(Does::WRITES);
            self.log.graph.users(*node).iter().any(writes)
        };
        let mut parted = false;
        let kw = node_args.kw.iter().map(|(_, a)| a);
        for arg in node_args.pos.iter().chain(kw) {
            arg.for_each_node(&mut |node| {
                let held = self.held_inputs(node);
                parted |= writes && !held.is_empty() || held.iter().any(is_written);
                let holds = |wrapper: &&u32| {
                    let wrapper = NodeId(**wrapper);
                    self.log.graph.has_users(wrapper) && self.held_inputs(wrapper).contains(&node)
                };
                parted |= writes && self.st.wrappers.keys().any(|wrapper| holds(&wrapper));
            });
        }
        match parted {
            false => Ok(()),
            true => Err(Stop::brk(
                "Wrapper subclass and a tensor that it holds, of which one is written to",
                "A compiler does not know that they share memory.",
                "Write to a clone, or do the writing outside of the compiled function.",
            )),
        }
    }

    /// The fake tensor of one from outside of which sizes are no constants. `None` where they have to be.
    ///
    /// # Errors
    /// None of its own.
    pub fn sized_fake_of(&mut self, tensor: &Bound<'py, PyAny>, of: &Held) -> R<Option<Obj>> {
        self.with_shared(|tx, sized| {
            let mode = sized.mode(tx.py);
            let mode = mode.bind(tx.py);
            mode.call_method0("__enter__")?;
            let made = tx.wrapper_fake(tensor, of, sized);
            mode.call_method1("__exit__", (tx.py.None(), tx.py.None(), tx.py.None()))?;
            Ok(made?.unbind())
        })
    }

    fn wrapper_fake(
        &self,
        tensor: &Bound<'py, PyAny>,
        of: &Held,
        sized: &SizedFakes,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(parts) = &of.parts else {
            return self.fake_tensor(&of.meta, Some(sized));
        };
        let account = tensor.call_method0("__tensor_flatten__")?;
        let held = PyDict::new(self.py);
        for name in account.get_item(0)?.try_iter()? {
            let name: String = name?.extract()?;
            let value = tensor.getattr(&*name)?;
            let fake = match parts.iter().find(|(part, _)| **part == *name) {
                Some((_, part)) => self.wrapper_fake(&value, part, sized)?,
                None => value,
            };
            held.set_item(name, fake)?;
        }
        let numbers = |all: &[SymInt]| -> PyResult<_> {
            let all = all.iter().map(|n| sized.number(self.py, *n));
            PyTuple::new(self.py, all.collect::<PyResult<Vec<_>>>()?)
        };
        let (size, stride) = (numbers(&of.meta.shape)?, numbers(&of.meta.strides)?);
        let size = self.known.size.bind(self.py).call1((size,))?;
        let context = account.get_item(1)?;
        let class = tensor.get_type();
        let account = (held, context, &size, stride);
        let made = class.call_method1("__tensor_unflatten__", account)?;
        // The class computes sizes from those of the tensors that it holds.
        for (given, own) in size.try_iter()?.zip(made.call_method0("size")?.try_iter()?) {
            if !given?.eq(own?)? {
                return Err(PyValueError::new_err("a wrapper of another size"));
            }
        }
        if of.meta.requires_grad && of.meta.is_leaf {
            made.call_method1("requires_grad_", (true,))?;
        } else if of.meta.requires_grad && !made.getattr("requires_grad")?.is_truthy()? {
            self.make_computed(&made)?;
        }
        Ok(made)
    }

    /// Guards the sizes of such a tensor from outside, and of what it holds, which are constants then.
    pub fn fix_sizes_of(&mut self, wrapper: SourceId) {
        let mut tensors = self.log.sizes.tensors();
        tensors.retain(|source| *source == wrapper || self.path_within(wrapper, *source).is_some());
        for source in tensors {
            for dim in self.dynamic_sizes(source) {
                let leaf = IntExpr::Dim(source, Extent::Size, dim as u8);
                // It is among those that this graph met.
                let _ = self.fix_leaf(&leaf);
            }
        }
    }

    /// The names that lead from a wrapper to a tensor that it holds.
    fn path_within(&self, wrapper: SourceId, tensor: SourceId) -> Option<Vec<String>> {
        let mut path = Vec::new();
        let mut at = tensor;
        while at != wrapper {
            let (Source::InstanceDictItem { base, name } | Source::Attr { base, name }) =
                self.facts.sources.get(at)
            else {
                return None;
            };
            path.insert(0, name.to_string());
            at = *base;
        }
        (!path.is_empty()).then_some(path)
    }

    /// Sizes of what a wrapper subclass's tensor from outside holds that are no constants: the names that lead there
    /// and the dimensions.
    pub fn dynamic_held(&self, wrapper: SourceId) -> Vec<(Vec<String>, Vec<usize>)> {
        let tensors = self.log.sizes.tensors().into_iter();
        let held = |source| {
            Some((
                self.path_within(wrapper, source)?,
                self.dynamic_sizes(source),
            ))
        };
        tensors.filter_map(held).collect()
    }

    /// The fake tensor of one from outside.
    ///
    /// # Errors
    /// What torch raises where it can make none.
    pub fn fake_of(&mut self, tensor: &Bound<'py, PyAny>) -> PyResult<Obj> {
        let mode = self.fake_mode()?;
        Ok(mode
            .bind(self.py)
            .call_method1("from_tensor", (tensor,))?
            .unbind())
    }
}
