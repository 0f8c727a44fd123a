//! Operators, subscripts and methods of tensors.

use bytecode::op::{BinaryOp, CompareOp, UnaryOp};
use pyo3::prelude::*;
use pyo3::types::PyType;
use tensor_meta::{Alias, Does, Reads};
use variables::{Obj, Var};

use super::emit::Callee;
use crate::stop::{BreakReason, R, Stop};
use crate::tx::{Args, Flow, Tx};

/// Methods of objects that a tensor may be compared with.
const NUMBER_LIKE: [&str; 4] = ["__index__", "__float__", "__array__", "__torch_function__"];

impl<'py> Tx<'py> {
    fn operator(&mut self, name: &str) -> R<Obj> {
        Ok(self.known.operator.bind(self.py).getattr(name)?.unbind())
    }

    /// A function of the module `operator`, with at least one tensor among the arguments.
    ///
    /// # Errors
    /// As [`Tx::graph_call`].
    pub fn call_operator(&mut self, name: &str, args: Vec<Var>) -> R<Flow> {
        if self.is_seen_with(args.iter()) {
            if let Some(flow) = (self.rules.torch.operator_in_modes)(self, name, &args)? {
                return Ok(flow);
            }
            return self.without_modes(|tx| tx.call_operator(name, args));
        }
        let f = self.operator(name)?;
        let path = format!("operator.{name}");
        let rule = tensor_meta::lookup_function(&path);
        self.emit(&Callee::Function(&f, &path, rule), &Args::pos(args))
            .map(Flow::Value)
    }

    /// Arithmetic with at least one tensor operand.
    ///
    /// # Errors
    /// As [`Tx::graph_call`].
    pub fn tensor_binary(&mut self, op: BinaryOp, inplace: bool, a: &Var, b: &Var) -> R<Flow> {
        let mut operand = |v: &Var| match (self.rules.torch.is_condition)(self, v) {
            true => Ok(v.clone()),
            false => self.look(v),
        };
        let (a, b) = (operand(a)?, operand(b)?);
        let inplace = inplace && matches!(a, Var::Tensor(_));
        self.keeps_conditions = true;
        let made = self.call_operator(op.function(inplace), vec![a, b]);
        self.keeps_conditions = false;
        made
    }

    /// Unary arithmetic of a tensor (`not` is a break).
    ///
    /// # Errors
    /// As [`Tx::graph_call`].
    pub fn tensor_unary(&mut self, op: UnaryOp, a: &Var) -> R<Flow> {
        match op {
            UnaryOp::Not => Err(self.data_dependent(a)),
            op => self.call_operator(op.function(), vec![a.clone()]),
        }
    }

    /// Comparison with at least one tensor operand.
    ///
    /// # Errors
    /// As [`Tx::graph_call`].
    pub fn tensor_compare(&mut self, op: CompareOp, a: &Var, b: &Var) -> R<Flow> {
        let name = op.function();
        let (a, b) = (self.look(a)?, self.look(b)?);
        if self.is_seen_with([&a, &b].into_iter()) {
            return self.call_operator(name, vec![a, b]);
        }
        if let (CompareOp::Eq | CompareOp::Ne, Some(other)) = (
            op,
            [&a, &b].into_iter().find(|v| !matches!(v, Var::Tensor(_))),
        ) && !self.is_tensor_operand(other)
        {
            let class = self.type_of(&other.clone())?;
            let class = class.bind(self.py);
            if NUMBER_LIKE
                .iter()
                .any(|n| class.hasattr(*n).unwrap_or(true))
            {
                return Err(Stop::unsupported(format!(
                    "comparing a tensor with {}",
                    self.describe(other)
                )));
            }
            // `tensor == None` and the like: torch answers NotImplemented, Python compares identity.
            return Ok(Flow::Value(self.bool(op == CompareOp::Ne)));
        }
        self.call_operator(name, vec![a, b])
    }

    fn is_tensor_operand(&self, v: &Var) -> bool {
        match v {
            Var::Tensor(_) | Var::Int(_) | Var::Float(_) => true,
            Var::Const(o) => {
                let b = o.bind(self.py);
                b.is_instance_of::<pyo3::types::PyInt>()
                    || b.is_instance_of::<pyo3::types::PyFloat>()
                    || b.is_instance_of::<pyo3::types::PyComplex>()
            }
            _ => false,
        }
    }

    /// `t[key]`.
    ///
    /// # Errors
    /// As [`Tx::graph_call`].
    pub fn tensor_getitem(&mut self, t: &Var, key: &Var) -> R<Flow> {
        let key = &(self.rules.arrays.as_index)(self, key)?;
        if let Some(made) = (self.rules.torch.subscript)(self, t, key)? {
            return Ok(made);
        }
        self.call_operator("getitem", vec![t.clone(), key.clone()])
    }

    /// `t[key] = value`.
    ///
    /// # Errors
    /// As [`Tx::graph_call`].
    pub fn tensor_setitem(&mut self, t: &Var, key: &Var, value: &Var) -> R<()> {
        let key = &(self.rules.arrays.as_index)(self, key)?;
        if (self.rules.torch.set_subscript)(self, t, key, value)? {
            return Ok(());
        }
        self.call_operator("setitem", vec![t.clone(), key.clone(), value.clone()])
            .map(|_| ())
    }

    /// A method of a tensor.
    ///
    /// # Errors
    /// As [`Tx::graph_call`]; breaks where the method looks at data.
    pub fn tensor_method(&mut self, t: &Var, name: &str, args: Args) -> R<Flow> {
        // Torch asks nobody about the class of an object.
        if name != "as_subclass" && self.is_seen_with(args.values().chain([t])) {
            if let Some(flow) = (self.rules.torch.method_in_modes)(self, t, name, &args)? {
                return Ok(flow);
            }
            return self.without_modes(|tx| tx.tensor_method(t, name, args));
        }
        // Handed to a mode for a subscript.
        match (name, &args.pos[..]) {
            ("__getitem__", [key]) if args.kw.is_empty() => return self.tensor_getitem(t, key),
            ("__setitem__", [key, value]) if args.kw.is_empty() => {
                self.tensor_setitem(t, key, value)?;
                return Ok(Flow::Value(self.none()));
            }
            _ => {}
        }
        let traits = tensor_meta::method_traits(name);
        if traits.reads == Some(Reads::Array)
            && let Some(array) = (self.rules.arrays.of_tensor)(self, t, &args)?
        {
            return Ok(array);
        }
        if traits.any(Does::BREAKS) {
            if args.pos.is_empty()
                && args.kw.is_empty()
                && let Some(reads) = traits.reads
                && let Some(value) = self.read_data(t, reads)?
            {
                return Ok(Flow::Value(value));
            }
            return Err(self.breaking_method(t, name));
        }
        let attr = self.known.tensor.bind(self.py).getattr(name);
        if attr.is_err() {
            return Err(self.raise(
                "AttributeError",
                &format!("'Tensor' object has no attribute '{name}'"),
            ));
        }
        let mut all = args;
        all.pos.insert(0, t.clone());
        if let ("as_subclass", [Var::Tensor(t), class], []) = (name, &all.pos[..], &all.kw[..])
            && let Var::Py(class) = self.realize(class)?
            && let Ok(class) = class.obj.bind(self.py).cast::<PyType>()
        {
            return (self.rules.torch.as_subclass)(self, t, class).map(Flow::Value);
        }
        if let Some(made) = self.scaled_by_tensor(name, &all)? {
            return Ok(Flow::Value(made));
        }
        if traits.any(Does::FROM_DATA) && !self.runs_as_is && self.has_dynamic_number(&all) {
            return self.new_tensor_of_numbers(t, all).map(Flow::Value);
        }
        match name {
            // A size, not data, though a graph can't tell a `torch.Size` from a tuple.
            "new"
                if let [_, Var::Tuple(size)] = &all.pos[..]
                    && size.class.as_ref().is_some_and(|c| c.is(&self.known.size)) =>
            {
                return self
                    .emit(&Callee::Method("new_empty"), &all)
                    .map(Flow::Value);
            }
            "requires_grad_" => {
                let wanted = match all.pos.get(1).or(all.kw.first().map(|k| &k.1)) {
                    Some(v) => self.truth(&v.clone())?,
                    None => true,
                };
                if let Var::Tensor(tv) = t
                    && self.set_requires_grad(tv, wanted)?
                {
                    return Ok(Flow::Value(t.clone()));
                }
                return Err(Stop::unsupported(
                    "Tensor.requires_grad_ in the compiled function",
                ));
            }
            "storage_offset" | "is_inference" | "is_conj" | "is_neg" if all.pos.len() == 1 => {
                return self.tensor_question(t, name);
            }
            "__len__" | "__iter__" | "__contains__" | "__hash__" | "__deepcopy__"
            | "__reduce_ex__" => {
                return self.tensor_protocol(t, name, &all);
            }
            _ => {}
        }
        self.emit(&Callee::Method(name), &all).map(Flow::Value)
    }

    /// What is read of a tensor's data, where it is known or can be read in the graph.
    fn read_data(&mut self, t: &Var, reads: Reads) -> R<Option<Var>> {
        if let Some(value) = self.known_data(t, reads)? {
            return Ok(Some(value));
        }
        if reads == Reads::Address
            && let Some(address) = self.data_pointer(t)
        {
            return Ok(Some(address));
        }
        self.data_read_in_graph(t, reads)
    }

    /// What TENSOR_MATCH does not hold by itself, or no rule knows.
    fn tensor_question(&mut self, t: &Var, name: &str) -> R<Flow> {
        let Var::Tensor(tv) = t else {
            return Err(Stop::Internal("not a tensor".into()));
        };
        let meta = self.st.effects.meta(tv).clone();
        // The dispatch keys of an input tell these three.
        let value = match (&tv.input, name) {
            (_, "is_conj") => self.bool(meta.conj),
            (_, "is_neg") => self.bool(meta.neg),
            (Some(input), _) => {
                let question = self.known.tensor.bind(self.py).getattr(name)?;
                let answer = question.call1((input.obj.bind(self.py),))?;
                let source = input.source;
                if name == "storage_offset" {
                    self.guard_call(&question.unbind(), Some(source), &[], &answer)?;
                }
                self.from_const(answer)?
            }
            // Where a view starts follows from its base, which may be an input.
            (None, "storage_offset") if meta.alias == Alias::Fresh => {
                return Ok(Flow::Value(self.sym_int(meta.storage_offset)?));
            }
            _ => return Err(self.breaking_method(t, name)),
        };
        Ok(Flow::Value(value))
    }

    fn tensor_protocol(&mut self, t: &Var, name: &str, args: &Args) -> R<Flow> {
        let Var::Tensor(tv) = t else {
            return Err(Stop::Internal("not a tensor".into()));
        };
        match name {
            "__len__" => match self.st.effects.meta(tv).shape.first().copied() {
                Some(n) => Ok(Flow::Value(self.sym_int(n)?)),
                None => Err(self.raise("TypeError", "len() of a 0-d tensor")),
            },
            "__iter__" => self.get_iter(t).map(Flow::Value),
            "__deepcopy__" => (self.rules.torch.deep_copy)(self, &tv.clone(), args.clone()),
            _ => Err(Stop::unsupported(format!("Tensor.{name}"))),
        }
    }

    fn breaking_method(&self, t: &Var, name: &str) -> Stop {
        let reads = tensor_meta::method_traits(name).reads;
        let wants_one = matches!(reads, Some(Reads::Number | Reads::Int | Reads::Float));
        let holds_one = |tensor| self.st.effects.meta(tensor).numel().is_none_or(|n| n == 1);
        Stop::Break(Box::new(BreakReason {
            reason: format!("Unsupported Tensor.{name}() call"),
            explanation: format!(
                "`Tensor.{name}()` looks at the tensor's data or acts outside the graph, so the graph ends before it."
            ),
            hints: vec![format!(
                "Move the `{name}()` call out of the compiled function, or keep the value as a tensor."
            )],
            context: format!("call_method Tensor.{name}"),
            raises: wants_one && matches!(t, Var::Tensor(tensor) if !holds_one(tensor)),
            ..BreakReason::default()
        }))
    }
}
