//! What an operation does beside giving its result: tensors that it writes to, random numbers that it
//! draws, Python code that it runs.

use fx_graph::{Arg, NodeId, OpKind, Target};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use tensor_meta::{Alias, DType, Does, Inferred};
use variables::{TensorVar, Var, raising};

use crate::SoFar;
use crate::args::{Args, MetaArg, NodeArgs};
use crate::callee::Callee;

/// Whether an operation may write to a tensor that existed before it.
pub fn may_write(callee: &Callee<'_>, args: &Args, inferred: &Inferred) -> bool {
    let traits = callee.traits();
    if traits.any(Does::WRITES) {
        return true;
    }
    if args.named("out").is_some() || args.named("inplace").is_some_and(|v| !is_off(v)) {
        return true;
    }
    if let Some((position, name)) = traits.writes_unless {
        let flag = args.named(name).or(args.pos.get(position));
        return !flag.is_some_and(is_off);
    }
    let known = match callee {
        Callee::Function(_, path, _) => {
            path.starts_with("torch.")
                || path.starts_with("operator.")
                || path.starts_with("getattr.")
        }
        Callee::Method(_) => true,
    };
    if !known {
        return true;
    }
    let may_give_self = traits.any(Does::MAY_GIVE_SELF)
        && match callee {
            Callee::Method(_) => true,
            Callee::Function(..) => {
                let is_out_of_place = |at| args.pos.get(at).is_none_or(is_off);
                traits.inplace_at.is_some_and(is_out_of_place)
            }
        };
    matches!(inferred, Inferred::None) && !traits.any(Does::CHECKS)
        || matches!(inferred, Inferred::Tensor(t) if t.alias == Alias::Identity) && !may_give_self
}

/// Whether an argument is a constant that is off. A bool of the program's is one: the node has it as its own.
fn is_off(v: &Var) -> bool {
    Python::attach(|py| match v {
        Var::Const(o) => o.bind(py).is_truthy().is_ok_and(|on| !on),
        Var::Lazy(l) => (l.obj.bind(py).cast_exact::<PyBool>()).is_ok_and(|on| !on.is_true()),
        _ => false,
    })
}

/// What a tensor is a view of.
enum Viewed {
    /// of a tensor that may be a leaf, or that tensor: from outside, or made with `requires_grad`
    Leaf,
    /// of another tensor that the graph makes, or that tensor
    Own,
    /// one of several views that one operation gave
    OneOfMany,
}

/// Why an operation can't be in a graph.
#[derive(Clone, Copy, Debug)]
pub struct Refusal {
    /// what the program does
    pub what: &'static str,
    /// what stands against it
    pub why: &'static str,
    /// what the program may do in its place
    pub hint: &'static str,
}

impl Refusal {
    const fn new(what: &'static str, why: &'static str, hint: &'static str) -> Refusal {
        Refusal { what, why, hint }
    }
}

impl SoFar<'_, '_> {
    /// Whether nobody could tell that an operation ran twice, and the second time with what the first
    /// had written to tensors of the graph.
    pub fn is_repeatable(&self, callee: &Callee<'_>, args: &Args, inferred: &Inferred) -> bool {
        !(callee.traits().any(Does::DRAWS) && self.trains(callee, args))
            && self.leaves_no_trace(callee, args, inferred)
    }

    /// Whether that is so where the generator of the CPU is as it was before.
    pub fn would_be_repeatable(
        &self,
        callee: &Callee<'_>,
        args: &Args,
        inferred: &Inferred,
    ) -> bool {
        let is_elsewhere =
            |v: &Var| matches!(v, Var::Tensor(t) if !self.state.effects.meta(t).is_cpu());
        callee.traits().any(Does::DRAWS)
            && !self.state.levels.is_active()
            && self.leaves_no_trace(callee, args, inferred)
            && args.named("generator").is_none()
            && matches!(inferred, Inferred::Tensor(t) if t.is_cpu())
            && !args.values().any(is_elsewhere)
    }

    /// Whether an operation runs nobody's code, and writes to no tensor but those that the graph has made.
    fn leaves_no_trace(&self, callee: &Callee<'_>, args: &Args, inferred: &Inferred) -> bool {
        let is_own = match callee {
            Callee::Function(_, path, _) => {
                let others = ["torch.ops.", "torch.utils."];
                !others.iter().any(|start| path.starts_with(start))
            }
            Callee::Method(_) => true,
        };
        is_own && (!may_write(callee, args, inferred) || self.writes_to_own(callee, args))
    }

    /// Whether a tensor of an operation is of a dtype that many kernels lack.
    fn may_lack_kernel(&self, args: &Args, inferred: &Inferred) -> bool {
        let lacks = |v: &Var| matches!(v, Var::Tensor(t) if self.state.effects.meta(t).dtype.lacks_kernels());
        matches!(inferred, Inferred::Tensor(t) if t.dtype.lacks_kernels())
            || args.values().any(lacks)
    }

    /// Whether the kernel refuses a number among the arguments, or some values of a dynamic one: those that do not
    /// fit the dtype which it makes of it.
    pub fn may_refuse_number(
        &self,
        callee: &Callee<'_>,
        args: &NodeArgs,
        inferred: &Inferred,
    ) -> bool {
        let traits = callee.traits();
        let first = match traits.any(Does::CONVERTS_NUMBERS) {
            // The index does not become an element.
            _ if traits.any(Does::INDEXES) && traits.any(Does::WRITES) => 2,
            true => 0,
            false => usize::MAX,
        };
        let dtype = match (inferred, args.meta_pos.first()) {
            (Inferred::Tensor(made), _) => made.dtype,
            (_, Some(MetaArg::Tensor(written))) => written.dtype,
            _ => return false,
        };
        let by_name = args.meta_kw.iter();
        let by_name = by_name.filter(|(n, _)| first != usize::MAX || &**n == "alpha");
        let by_place = args.meta_pos.iter().skip(first);
        let mut converted = by_place.chain(by_name.map(|(_, m)| m));
        let by_any_name = args.meta_kw.iter().map(|(_, m)| m);
        let mut all = args.meta_pos.iter().chain(by_any_name);
        let is_too_large = |m: &MetaArg| match m {
            MetaArg::Float(x) => !dtype.holds_float(*x),
            MetaArg::Complex(re, im) => ![re, im].iter().all(|part| dtype.holds_float(**part)),
            _ => false,
        };
        converted.any(|m| match m {
            MetaArg::Int(n) => !dtype.holds_int(*n),
            MetaArg::SymInt(_) => !dtype.holds_any_int(),
            MetaArg::SymFloat => dtype != DType::Float64 && dtype != DType::Complex128,
            _ => false,
        }) || all.any(is_too_large)
    }

    /// Whether an operation may raise for what its tensors are.
    ///
    /// # Errors
    /// Whatever asking a tensor raises.
    pub fn may_refuse_tensors(&self, args: &Args, inferred: &Inferred) -> PyResult<bool> {
        Ok(self.may_lack_kernel(args, inferred) || self.may_refuse_to_save(args, inferred)?)
    }

    /// Whether an operation that can draw random numbers may do so with these arguments.
    fn trains(&self, callee: &Callee<'_>, args: &Args) -> bool {
        let traits = callee.traits();
        match traits.draws_if {
            Some((position, name)) => {
                let dropout = args.named(name).or(args.pos.get(position));
                dropout.is_some_and(|v| !is_off(v))
            }
            None => {
                let by_place = traits.training_at.and_then(|at| args.pos.get(at));
                let training = args.named("training").or(by_place);
                !training.is_some_and(is_off)
            }
        }
    }

    /// Whether an in-place operation writes to a tensor that the graph has made, which goes with it.
    fn writes_to_own(&self, callee: &Callee<'_>, args: &Args) -> bool {
        callee.traits().any(Does::WRITES)
            && args.kw.iter().all(|(name, _)| &**name != "out")
            && matches!(args.pos.first(), Some(Var::Tensor(t))
            if t.input.is_none() && match self.state.effects.meta(t).alias {
                Alias::Fresh => true,
                Alias::View => self.is_in_own_memory(t.node),
                Alias::Identity => false,
            })
    }

    /// Whether a tensor of the graph is known to lie in memory that a node of the graph has allocated.
    fn is_in_own_memory(&self, mut node: NodeId) -> bool {
        loop {
            let data = &self.graph[node];
            match data.args.first() {
                _ if data.owns_memory => return true,
                Some(Arg::Node(first)) if raising::traits_of(data).any(Does::VIEW) => node = *first,
                _ => return false,
            }
        }
    }

    /// Whether an operation writes to its first argument.
    pub fn writes_in_place(&self, callee: &Callee<'_>, args: &Args, inferred: &Inferred) -> bool {
        let traits = callee.traits();
        let is_on = |v: &Var| matches!(v, Var::Const(on) if on.bind(self.py).cast_exact::<PyBool>().is_ok_and(|on| on.is_true()));
        // `inplace` is the last one where functions have it, and they give their argument back.
        let last = args.pos.iter().skip(1).last().filter(|_| {
            matches!(inferred, Inferred::Tensor(t) if t.alias == Alias::Identity)
                && (traits.inplace_at.is_some() || !traits.any(Does::MAY_GIVE_SELF))
        });
        traits.any(Does::WRITES) || args.named("inplace").or(last).is_some_and(is_on)
    }

    /// Whether an operation writes to a tensor that autograd or the layout may keep from being written to: a view
    /// (of a leaf, or one of several) whose gradients are recorded, an expanded tensor, memory that
    /// another argument shares.
    pub fn may_refuse_write(
        &self,
        node: NodeId,
        callee: &Callee<'_>,
        args: &Args,
        inferred: &Inferred,
    ) -> bool {
        let traits = callee.traits();
        let writes = self.writes_in_place(callee, args, inferred);
        let (Some(Var::Tensor(target)), true) = (args.pos.first(), writes) else {
            return false;
        };
        let meta = self.state.effects.meta(target);
        if traits.any(Does::DETACHES) && meta.alias == Alias::View {
            return true;
        }
        let records = meta.requires_grad
            || matches!(inferred, Inferred::Tensor(t) if t.requires_grad)
            || args.pos.iter().skip(1).any(|v| self.records_gradients(v));
        if self.state.grad_enabled && records {
            match self.viewed(target.node) {
                Viewed::OneOfMany => return true,
                Viewed::Leaf if meta.requires_grad => return true,
                Viewed::Leaf | Viewed::Own => {}
            }
        }
        !(traits.any(Does::INDEXES) && self.is_put_back(&self.graph[node].args))
            && self.memory_is_shared(target, &args.pos[1..])
    }

    /// Whether a store with these arguments is of what was at the very place: `x[i] += 1` ends so.
    pub fn is_put_back(&self, args: &[Arg]) -> bool {
        let [target, index, Arg::Node(value)] = args else {
            return false;
        };
        let value = &self.graph[*value];
        let is_item = matches!(value.target, Target::Function(_))
            && raising::traits_of(value).any(Does::INDEXES);
        is_item && matches!(&value.args[..], [from, at] if from == target && at == index)
    }

    /// Why no compiler takes a write to a tensor for what it is, if so.
    pub fn refused_by_compilers(&self, t: &TensorVar) -> Option<Refusal> {
        if self.elements_share_places(t) {
            return Some(Refusal::new(
                "Write to a tensor whose elements share memory",
                "A compiler makes a tensor of its own of what is written to, in which they do not.",
                "Write to a clone of the tensor, or to the tensor that was expanded.",
            ));
        }
        let beside = self.done_beside(t.node);
        if beside.any(Does::MOVES) {
            return Some(Refusal::new(
                "Write to a tensor behind `data = ...`",
                "A compiler keeps one of the two: what was written, or the memory that the tensor was given.",
                "Write to it in front of that, or with an operation that makes a new tensor.",
            ));
        }
        let records = self.state.grad_enabled && self.state.effects.meta(t).requires_grad;
        (records && beside.any(Does::VIEWS)).then_some(Refusal::new(
            "Write to a tensor of which several views were made at once",
            "Autograd refuses the write to a view, and what uses the views behind one; a compiler does not, or refuses them where nobody uses them.",
            "Make the views one by one (`x[:n]`), or write to a clone.",
        ))
    }

    /// What operations of the graph do that take a tensor, or one that lies in the same memory.
    pub fn done_beside(&self, mut node: NodeId) -> Does {
        let ways = Does::VIEW | Does::VIEWS | Does::SHARES_DATA | Does::MAY_GIVE_SELF;
        let does = |node: NodeId| raising::traits_of(&self.graph[node]).does;
        while let Some(&first) = self.graph.inputs(node).first()
            && does(node).any(ways)
        {
            node = first;
        }
        let mut done = Does::default();
        let mut inside = vec![node];
        while let Some(node) = inside.pop() {
            for user in self.graph.users(node) {
                done = done | does(user);
                if does(user).any(ways) {
                    inside.push(user);
                }
            }
        }
        done
    }

    /// Whether elements of a tensor lie at one place: those of an expanded one, and of windows that overlap.
    pub fn elements_share_places(&self, t: &TensorVar) -> bool {
        let meta = self.state.effects.meta(t);
        let counted = meta.shape.iter().zip(&meta.strides);
        let counted = counted.filter(|(size, _)| !matches!(size.as_const(), Some(0 | 1)));
        let steps =
            counted.filter_map(|(size, stride)| Some((size.as_const(), stride.as_const()?)));
        let steps: Vec<_> = steps.collect();
        steps.iter().enumerate().any(|(at, (size, step))| {
            let reach = step * (size.unwrap_or(2) - 1);
            let others = steps.iter().enumerate().filter(|(other, _)| *other != at);
            *step == 0
                || others
                    .into_iter()
                    .any(|(_, (_, to))| (*step..=reach).contains(to))
        })
    }

    /// Whether elements of a tensor lie at one place, or a view may lie in what another tensor lies in.
    pub fn memory_is_shared(&self, target: &TensorVar, others: &[Var]) -> bool {
        let is_view = self.state.effects.meta(target).alias == Alias::View;
        self.elements_share_places(target)
            || others.iter().any(|v| {
                matches!(v, Var::Tensor(t) if t.node != target.node
                && (is_view || self.state.effects.meta(t).alias == Alias::View)
                && self.origin(t.node) == self.origin(target.node))
            })
    }

    /// Whether a tensor is a view of an input of the graph.
    pub fn views_input(&self, node: NodeId) -> bool {
        !matches!(self.viewed(node), Viewed::Own)
    }

    /// What a tensor is a view of.
    fn viewed(&self, mut node: NodeId) -> Viewed {
        loop {
            let data = &self.graph[node];
            let is_made_leaf = (data.kwargs.iter())
                .any(|(name, asks)| &**name == "requires_grad" && *asks == Arg::Bool(true));
            let has_become_leaf = (self.state.effects.changed_meta(node))
                .is_some_and(|m| m.requires_grad && m.is_leaf);
            if is_made_leaf
                || has_become_leaf
                || matches!(data.op, OpKind::Placeholder | OpKind::GetAttr)
            {
                return Viewed::Leaf;
            }
            let traits = raising::traits_of(data);
            if traits.any(Does::VIEWS) {
                return Viewed::OneOfMany;
            }
            let first = self.graph.inputs(node).first().copied();
            match first {
                Some(first) if traits.any(Does::VIEW) => node = first,
                _ => return Viewed::Own,
            }
        }
    }

    /// The tensor that a node's first arguments lead to.
    fn origin(&self, mut node: NodeId) -> NodeId {
        while let Some(&first) = self.graph.inputs(node).first() {
            node = first;
        }
        node
    }
}
