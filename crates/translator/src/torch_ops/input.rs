//! Tensors from outside become placeholders.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use fx_graph::{Arg, FnTarget, NodeId};
use guards::{Extent, GuardKind, IntExpr, IntLeaf, IntRelation, Source, SourceId, TensorSpec};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};
use tensor_meta::TensorMeta;
use torch_abi::TorchAbi;
use variables::{IntVar, Obj, TensorInput, TensorVar, Var};

use super::sizes::LEAST_SIZE;
use super::unbacked;
use crate::raw::{dict_get, instance_dict};
use crate::stop::{R, Stop};
use crate::tx::{GraphInput, IntInput, Tx};

/// The attribute of a tensor that `mark_dynamic` sets.
const MARKED_DYNAMIC: &str = "_dynamo_dynamic_indices";
/// Attributes that mark dimensions whose sizes may be constants where an operation needs that.
const WEAKLY_MARKED: [&str; 2] = [
    "_dynamo_propagated_dynamic_indices",
    "_dynamo_weak_dynamic_indices",
];

/// Names that mean something else in the Python that torch.fx generates for a graph.
const USED_BY_GENERATED_CODE: [&str; 12] = [
    "self",
    "torch",
    "device",
    "inf",
    "nan",
    "NoneType",
    "fx_pytree",
    "pytree",
    "slice",
    "getattr",
    "range",
    "complex",
];

/// Whether the marks of a tensor are among some.
const MARKS_WITHIN: &std::ffi::CStr = c"
def within(tensor, marked):
    return set(getattr(tensor, '_dynamo_dynamic_indices', ())).issubset(marked)
";

variables::own_module! {
    static MARKS = (MARKS_WITHIN, c"<ferrodyn marks>", c"ferrodyn_marks");
}

/// The dimensions that a tensor's attribute of this name marks.
fn marks_of(tensor: &Bound<'_, PyAny>, name: &str) -> Option<BTreeSet<usize>> {
    let found = dict_get(&instance_dict(tensor)?, name)?;
    found.extract().ok()
}

/// Whether the program wants code for this very tensor: `mark_static_address(tensor, guard=True)`.
fn is_guarded_static(tensor: &Bound<'_, PyAny>) -> bool {
    let marks = instance_dict(tensor);
    let mark = marks.and_then(|marks| dict_get(&marks, "_dynamo_static_input_type"));
    mark.is_some_and(|mark| mark.extract::<&str>().is_ok_and(|mark| mark == "guarded"))
}

impl Tx<'_> {
    /// A tensor that a source reaches: a placeholder, and a TENSOR_MATCH.
    ///
    /// # Errors
    /// A break for tensors without plain strides.
    pub fn build_tensor(&mut self, obj: &Obj, source: SourceId) -> R<Var> {
        let abi = TorchAbi::get(self.py)?;
        let meta = abi.read_meta(self.py, obj.bind(self.py)).map_err(|e| {
            Stop::brk(
                format!("Unsupported tensor: {e}"),
                "Ferrodyn captures strided tensors.",
                "Convert the tensor with `.to_dense()` or use it outside the compiled function.",
            )
        })?;
        self.build_described(obj, source, meta)
    }

    /// The same for a tensor of which it is known what it is like.
    ///
    /// # Errors
    /// As [`Tx::build_tensor`].
    pub fn build_described(&mut self, obj: &Obj, source: SourceId, mut meta: TensorMeta) -> R<Var> {
        let b = obj.bind(self.py).clone();
        let abi = TorchAbi::get(self.py)?;
        let is_view_of_non_strided =
            !self.runs_as_is && abi.is_view_of_non_strided(self.py, &b).unwrap_or(true);
        if is_view_of_non_strided {
            return Err(Stop::brk(
                "Unsupported tensor: a view of a nested or sparse tensor",
                "A compiler makes a fake tensor of what is behind the view as well, which torch can't for those.",
                "Use a clone of it.",
            ));
        }
        if meta.dtype.is_quantized() {
            return Err(Stop::brk(
                "Unsupported tensor: quantized",
                "A graph describes tensors by their sizes and dtype, which leaves out the scale and the zero point.",
                "Call `.dequantize()` before the compiled function, or use the tensor outside of it.",
            ));
        }
        let bound = self.bind_tensors && self.is_module_tensor(source);
        if bound {
            // The compiled code holds it anyhow, and torch swaps no tensors that are held weakly.
            let r = self.pin(obj, false);
            self.guard(source, GuardKind::IdMatch { obj: r });
            self.pin_owner(source);
        } else if is_guarded_static(&b) {
            let r = self.pin(obj, true);
            self.guard(source, GuardKind::IdMatch { obj: r });
        }
        let mut spec = TensorSpec::of(self.py, abi, &mut self.facts.pins, &b)?;
        // All others have it outside of inference modes.
        self.st.met_inference |= !spec.keys_text.contains("Autograd");
        let marked = marks_of(&b, MARKED_DYNAMIC).filter(|_| !bound);
        if !bound {
            self.make_dynamic(&b, source, (&marked, true), &mut meta, &mut spec);
        }
        self.guard(
            source,
            GuardKind::TensorMatch {
                spec: Arc::new(spec),
            },
        );
        match marked {
            // Code in which these change serves a tensor with fewer marks.
            Some(marked) => {
                let within = MARKS.get(self.py)?.getattr("within")?.unbind();
                let marked = PyTuple::new(self.py, marked)?.into_any().unbind();
                let holds = PyBool::new(self.py, true).to_owned().into_any();
                self.guard_call(&within, Some(source), &[marked], &holds)?;
            }
            None if bound => {}
            None => {
                let (name, present) = (MARKED_DYNAMIC.into(), false);
                self.guard(source, GuardKind::HasAttr { name, present });
            }
        }
        Ok(self.add_input(obj, source, source, meta, bound))
    }

    /// Guards what a tensor is that a wrapper subclass's holds. Gives its description, in which sizes may be no
    /// constants; `None` for what is not described by sizes.
    ///
    /// # Errors
    /// [`Stop::Internal`] where torch can't be read.
    pub fn hold_tensor(
        &mut self,
        tensor: &Bound<'_, PyAny>,
        source: SourceId,
    ) -> R<Option<TensorMeta>> {
        let abi = TorchAbi::get(self.py)?;
        let spec = TensorSpec::of(self.py, abi, &mut self.facts.pins, tensor);
        let mut spec = spec?;
        let mut meta = abi.read_meta(self.py, tensor).ok();
        if let Some(meta) = &mut meta {
            let marked = marks_of(tensor, MARKED_DYNAMIC);
            // A compiler is told of these as of sizes that are known.
            self.make_dynamic(tensor, source, (&marked, false), meta, &mut spec);
        }
        let spec = Arc::new(spec);
        self.guard(source, GuardKind::TensorMatch { spec });
        Ok(meta)
    }

    /// A placeholder for a tensor, with the name of a source.
    pub fn add_input(
        &mut self,
        obj: &Obj,
        source: SourceId,
        named: SourceId,
        meta: TensorMeta,
        bound: bool,
    ) -> Var {
        let name = self.free_name(self.placeholder_name(named));
        let node = self.log.graph.placeholder(name);
        let input = GraphInput {
            node,
            obj: obj.clone(),
            source,
            bound,
        };
        let var = self.input_var(&input, meta);
        self.log.inputs.push(input);
        var
    }

    /// An input of the graph as a value.
    pub fn input_var(&self, input: &GraphInput, meta: TensorMeta) -> Var {
        Var::Tensor(Rc::new(TensorVar {
            node: input.node,
            class: input.obj.bind(self.py).get_type().into_any().unbind(),
            meta: Rc::new(meta),
            input: Some(TensorInput {
                obj: input.obj.clone(),
                source: input.source,
            }),
            fresh: false,
        }))
    }

    /// Makes sizes symbolic that are no constants, those among them that the program `marked`; whether nothing may be
    /// known of them, if it says so.
    fn make_dynamic(
        &mut self,
        tensor: &Bound<'_, PyAny>,
        source: SourceId,
        (marked, may_be_unbacked): (&Option<BTreeSet<usize>>, bool),
        meta: &mut TensorMeta,
        spec: &mut TensorSpec,
    ) {
        let mut dynamic = marked.clone().unwrap_or_default();
        let marks = |name: &&str| marks_of(tensor, name).unwrap_or_default();
        dynamic.extend(WEAKLY_MARKED.iter().flat_map(marks));
        let unbacked: BTreeSet<usize> = unbacked::MARKS.iter().flat_map(marks).collect();
        dynamic.extend(&unbacked);
        let fixed = marks_of(tensor, "_dynamo_static_indices").unwrap_or_default();
        let (Some(sizes), Some(strides)) = (meta.sizes(), meta.stride()) else {
            return;
        };
        let class = tensor.get_type();
        let takes = class.is(self.known.tensor.bind(self.py))
            || !self.ints.fixes_parameters && class.is(self.known.parameter.bind(self.py))
            || self.is_asked(&class)
            || self.is_wrapper_class(&class);
        if !spec.strided || !takes {
            return;
        }
        let dims = self.dynamic_dims(source, (Extent::Size, &sizes), (&dynamic, &fixed));
        let backs = self.ints.backs_unbacked || !may_be_unbacked;
        let mut is_any = false;
        for dim in dims {
            let size = sizes[dim];
            meta.shape[dim] = match unbacked.contains(&dim) && !backs {
                true if size == 0 && !unbacked::is_outermost(dim, &strides) => continue,
                true => self.unbacked_symbol(source, dim as u8, size),
                false if size >= LEAST_SIZE => self.size_symbol(source, dim as u8, size),
                false => continue,
            };
            spec.sizes[dim] = None;
            is_any = true;
        }
        let unmarked = (&BTreeSet::new(), &BTreeSet::new());
        let of_strides = (Extent::Stride, &strides[..]);
        if !is_any && self.dynamic_dims(source, of_strides, unmarked).is_empty() {
            return;
        }
        let derived = self.derived_strides(source, &meta.shape, &strides);
        for (dim, stride) in derived.into_iter().enumerate() {
            if stride.as_const().is_none() {
                meta.strides[dim] = stride;
                spec.strides[dim] = None;
            }
        }
    }

    /// The name of a new placeholder. It is the parameter's name in generated code: two inputs never
    /// share it.
    fn free_name(&mut self, mut name: String) -> String {
        if USED_BY_GENERATED_CODE.contains(&name.as_str()) {
            name.push('_');
        }
        if self.facts.input_names.contains(&name) {
            let mut free = (1..).map(|n| format!("{name}_{n}"));
            name = free
                .find(|n| !self.facts.input_names.contains(n))
                .unwrap_or_default();
        }
        self.facts.input_names.insert(name.clone());
        name
    }

    /// A dynamic int as a node. It is an input of the graph, but a backend that traces the graph again gets the sizes
    /// and ints that it is computed from, and the computation: it would not know that two inputs belong together.
    ///
    /// # Errors
    /// [`Stop::Internal`] for an operation without a function.
    pub(super) fn int_node(&mut self, int: &Rc<IntVar>) -> R<NodeId> {
        if self.follows_from_read(&Var::Int(int.clone())) {
            return self.read_int_node(&int.expr);
        }
        let inner: Vec<&IntExpr> = match &int.expr {
            IntExpr::Unary(_, x) => vec![x],
            IntExpr::Binary(_, ab) => vec![&ab.0, &ab.1],
            IntExpr::Source(_) | IntExpr::Dim(..) | IntExpr::Const(_) => Vec::new(),
        };
        if self.runs_as_is || inner.is_empty() {
            return Ok(self.int_input(int));
        }
        if let Some((_, node)) = self.log.int_nodes.iter().find(|n| n.0 == int.expr) {
            return Ok(*node);
        }
        let mut args = Vec::with_capacity(inner.len());
        for expr in inner {
            args.push(match expr {
                IntExpr::Const(n) => Arg::Int(*n),
                expr => {
                    let Some(value) = self.value_of(expr) else {
                        return Ok(self.int_input(int));
                    };
                    let expr = expr.clone();
                    Arg::Node(self.int_node(&Rc::new(IntVar { expr, value }))?)
                }
            });
        }
        let name = match &int.expr {
            IntExpr::Binary(op, _) => op.function(),
            IntExpr::Unary(op, _) => op.function(),
            _ => return Err(Stop::Internal("an int that is no operation".into())),
        };
        let target = self.operator_target(name)?;
        let node = self.log.graph.call_function(target, args, Vec::new());
        self.set_line(node);
        self.log.graph.set_repeatable(node);
        if !self.drawn_fits(&int.expr) {
            self.guard_relation(IntRelation::fits(&int.expr));
        }
        self.log.int_nodes.push((int.expr.clone(), node));
        Ok(node)
    }

    /// The target of a call of a function of `operator`, or of torch where that has none of the name.
    ///
    /// # Errors
    /// What looking it up raises.
    pub(super) fn operator_target(&mut self, name: &str) -> R<Arc<FnTarget>> {
        let (owner, module) = match self.known.operator.bind(self.py).hasattr(name)? {
            true => (&self.known.operator, "operator"),
            false => (&self.known.torch, "torch"),
        };
        let function = owner.bind(self.py).getattr(name)?.unbind();
        self.target(&function, &format!("{module}.{name}"))
    }

    /// What an expression is in this call, where all that it is computed from is known.
    pub fn value_of(&self, expr: &IntExpr) -> Option<i64> {
        expr.eval(&|leaf| match leaf {
            IntLeaf::Value(source) => self.facts.int_values.get(&source).copied(),
            IntLeaf::Dim(source, extent, dim) => {
                self.known_size(&IntExpr::Dim(source, extent, dim))
            }
        })
    }

    /// A dynamic int as an input of the graph. It fits 64 bits, as torch's own numbers do.
    pub fn int_input(&mut self, int: &Rc<IntVar>) -> NodeId {
        if let Some(input) = self.log.int_inputs.iter().find(|i| i.int.expr == int.expr) {
            return input.node;
        }
        if !self.drawn_fits(&int.expr) {
            self.guard_relation(IntRelation::fits(&int.expr));
        }
        let node = self.number_placeholder(int.expr.sources().first().copied());
        let int = int.clone();
        self.log.int_inputs.push(IntInput { node, int });
        node
    }

    /// A placeholder of a number, named by the first source that it is computed from.
    pub(crate) fn number_placeholder(&mut self, source: Option<SourceId>) -> NodeId {
        let name = match source {
            Some(source) => self.placeholder_name(source),
            None => "number".to_owned(),
        };
        let name = self.free_name(name);
        self.log.graph.placeholder(name)
    }

    /// The residual code holds a bound tensor. The module that owns it is held weakly, so that the
    /// code goes when the module does.
    fn pin_owner(&mut self, source: SourceId) {
        let Source::DictItem { base, .. } = self.facts.sources.get(source) else {
            return;
        };
        let Source::InstanceDictItem { base: owner, .. } = self.facts.sources.get(*base) else {
            return;
        };
        if let Some(module) = self.facts.reached.get(owner).cloned() {
            self.pin(&module, true);
            self.facts.owner.get_or_insert(module);
        }
    }

    /// Module tensors whose registry the program itself changes are not the same object on the next
    /// call: they are fetched, not bound.
    pub fn unbind_replaced(&mut self) {
        for i in 0..self.log.inputs.len() {
            let input = &self.log.inputs[i];
            let Source::DictItem { base, .. } = self.facts.sources.get(input.source) else {
                continue;
            };
            if !input.bound || !self.is_dirty_source(*base) {
                continue;
            }
            self.log.inputs[i].bound = false;
            let source = self.log.inputs[i].source;
            self.drop_guards(|g| {
                g.source == Some(source) && matches!(g.kind, GuardKind::IdMatch { .. })
            });
            let obj = self.log.inputs[i].obj.clone();
            self.facts.pins.forget(obj.bind(self.py));
        }
    }

    fn is_dirty_source(&self, source: SourceId) -> bool {
        self.st.effects.dirty.iter().any(|id| {
            matches!(&self.obj(*id).origin, variables::Origin::Source { source: s, .. } if *s == source)
        })
    }

    /// A name in the user's words: the variable's own for an argument, the path for the rest.
    fn placeholder_name(&self, source: SourceId) -> String {
        if let Source::Local { name, .. } | Source::Closure { name, .. } =
            self.facts.sources.get(source)
        {
            return name.to_string();
        }
        let mut out = String::new();
        for c in self.facts.sources.plain_name(source).chars() {
            if c.is_alphanumeric() {
                out.push(c);
            } else if !out.ends_with('_') {
                out.push('_');
            }
        }
        out.trim_matches('_')
            .replace("_modules_", "_")
            .replace("_parameters_", "_")
            .replace("_buffers_", "_")
    }
}
