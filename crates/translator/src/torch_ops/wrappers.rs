//! Operations on wrapper subclasses: tensors that hold others, and whose class sees each operation by
//! `__torch_dispatch__`.
//!
//! What such an operation gives only its class knows: so each node of such a tensor has a fake one, of the same class
//! around fake tensors, that the operations are run on. The graph holds the operations of the program; what they
//! become below is for who runs the graph, as under torch's own tracer.
//!
//! Does not live here: which classes are taken, and what is guarded of their tensors (the crate `torch-rules`).

use std::rc::Rc;

use fx_graph::{Arg, NodeId};
use guards::{Source, SourceId};
use operations::beside::may_write;
use pyo3::prelude::*;
use pyo3::types::PyType;
use tensor_meta::{Does, Inferred};
use torch_abi::names;

use variables::state::Wrapper;
use variables::{Body, Obj, TensorVar, TupleVar, Var};

use super::args::NodeArgs;
use super::emit::Callee;
use super::raising;
use crate::raw::type_lookup;
use crate::stop::{R, Stop};
use crate::tx::{Args, GraphInput, Tx};

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
        if let (Inferred::Int(_) | Inferred::Size(_), Some(of)) =
            (&inferred, self.only_tensor(args))
        {
            return match &inferred {
                Inferred::Int(n) => self.size_of(&of, *n),
                Inferred::Size(dims) => self.sizes_of(&of, dims),
                _ => Err(Stop::Internal("a size that is none".into())),
            };
        }
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
            // Others may be made of rows of the same lengths.
            Var::Tensor(t) if names_lengths(out) => {
                let wrapper = Wrapper::new(out.clone().unbind());
                self.st.wrappers.insert(t.node.0, wrapper);
                // Another may hold the very same one.
                Ok(Var::Tensor(Rc::new(TensorVar {
                    node: t.node,
                    class: t.class.clone(),
                    meta: t.meta.clone(),
                    input: t.input.clone(),
                    fresh: false,
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

    /// The tensor that an operation is about, where there is one alone.
    fn only_tensor(&self, args: &Args) -> Option<Var> {
        let mut tensors = args.values().filter(|v| matches!(v, Var::Tensor(_)));
        match (tensors.next(), tensors.next()) {
            (Some(one), None) => Some(one.clone()),
            _ => None,
        }
    }

    pub(super) fn is_wrapper(&self, tensor: &Obj) -> bool {
        self.is_wrapper_class(&tensor.bind(self.py).get_type())
    }

    /// Keeps the fakes of tensors that say what lengths rows have that differ.
    pub(super) fn keep_lengths(&mut self, fakes: &[(usize, Obj)]) {
        for (node, fake) in fakes {
            let node = *node as u32;
            if !self.st.wrappers.contains_key(&node) && names_lengths(fake.bind(self.py)) {
                let wrapper = Wrapper::new(fake.clone());
                self.st.wrappers.insert(node, wrapper);
            }
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

    /// The tensors from outside of which sizes are no constants.
    pub fn sized_tensors(&self) -> Vec<SourceId> {
        self.log.sizes.tensors()
    }

    /// The names that lead from a wrapper to a tensor that it holds.
    pub fn path_within(&self, wrapper: SourceId, tensor: SourceId) -> Option<Vec<String>> {
        let mut path = Vec::new();
        let mut at = tensor;
        while at != wrapper {
            let (base, name) = match (self.facts.held_by.get(&at), self.facts.sources.get(at)) {
                (Some((base, name)), _) => (base, name),
                (_, Source::InstanceDictItem { base, name } | Source::Attr { base, name }) => {
                    (base, name)
                }
                _ => return None,
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
}

/// Whether a fake tensor says what lengths rows have that differ in it, for others as well.
pub(super) fn names_lengths(fake: &Bound<'_, PyAny>) -> bool {
    let memo = fake.getattr_opt(names::LENGTHS_OF_FAKE);
    memo.is_ok_and(|memo| memo.is_some_and(|memo| !memo.is_none()))
}
