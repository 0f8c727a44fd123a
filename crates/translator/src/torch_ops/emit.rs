//! Making a node, and the value that stands for its result.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use fx_graph::{Arg, FnTarget, Kwargs, NodeId};
use operations::beside::may_write;
pub use operations::callee::Callee;
use operations::callee::{apply_rule, has_tensor};
use pyo3::prelude::*;
use tensor_meta::{Alias, Ctx, DType, Does, Inferred, RuleError, TensorMeta};
use torch_abi::names;
use variables::{Obj, TensorVar, TupleVar, Var};

use super::args::NodeArgs;
use super::fake::makes_no_quantized;
use super::raising;
use super::table::fn_target;
use crate::stop::{R, Stop};
use crate::tx::{Args, Flow, Tx};

/// How many conditions of one operation the graph checks.
const MOST_CHECKS: usize = 16;

/// What reaches a node without a call that could be asked about.
pub(super) const STANDING_IN: &str = "an operation that stands for another";

impl<'py> Tx<'py> {
    /// A `call_function` node for a Python callable.
    ///
    /// # Errors
    /// A break where an argument can't be in a graph or the result can't be described.
    pub fn graph_call(&mut self, f: &Obj, args: Args) -> R<Flow> {
        let b = f.bind(self.py).clone();
        if self.is_disallowed_in_graph(&b)? {
            return Err(self.skipped(&b));
        }
        let entry = self.functions.get(&b);
        let (path, rule) = match &entry {
            Some(e) => (e.path.to_string(), e.rule),
            None => {
                let path = crate::tx::qualified_name(&b);
                let rule = tensor_meta::lookup_function(&path);
                (path, rule)
            }
        };
        let traits = tensor_meta::function_traits(&path);
        if !self.runs_as_is && traits.any(Does::LOOPS) {
            return Err(Stop::brk(
                format!("{path} for a compiler"),
                "A compiler takes it apart into the operations of each step, which takes minutes.",
                "Compile what comes before and behind it; backend=\"eager\" captures it whole.",
            ));
        }
        if args
            .kw
            .iter()
            .any(|(n, v)| &**n == "out" && !v.is_none(self.py))
        {
            return self
                .emit_into(&Callee::Function(f, &path, rule), args)
                .map(Flow::Value);
        }
        let reads = traits.any(Does::READS_ELEMENTS) && self.has_tensor_element(&args)?;
        if reads && self.runs_as_is {
            self.st.needs_as_is = true;
        } else if path == "torch.tensor"
            && !self.runs_as_is
            && (reads || self.has_dynamic_number(&args))
        {
            // A compiler can trace this form, which reads no tensor.
            let refs = self.py.import(names::REFS)?.getattr("tensor")?.unbind();
            let callee = Callee::Function(&refs, names::REFS_TENSOR, rule);
            return self.emit(&callee, &args).map(Flow::Value);
        } else if reads {
            return Err(Stop::unsupported(format!(
                "{path} of tensors for a compiler"
            )));
        }
        match self.emit(&Callee::Function(f, &path, rule), &args) {
            // What no graph holds may answer for itself.
            Err(stop @ Stop::Break(_)) => {
                (self.rules.torch.overridden_call)(self, f, &args)?.ok_or(stop)
            }
            made => made.map(Flow::Value),
        }
    }

    /// Whether there is a tensor in the nested sequences that a tensor is made of.
    fn has_tensor_element(&mut self, args: &Args) -> R<bool> {
        let Some(data) = args.pos.first() else {
            return Ok(false);
        };
        let data = self.look(data)?;
        let is_tensor = |_: &Self, v: &Var| matches!(v, Var::Tensor(_));
        Ok(!is_tensor(self, &data) && self.any_element(&data, &is_tensor)?)
    }

    /// Infers the result first; makes a node only where the result is a tensor (or several).
    ///
    /// # Errors
    /// As [`Tx::graph_call`].
    pub fn emit(&mut self, callee: &Callee<'_>, args: &Args) -> R<Var> {
        self.not_seen_with(STANDING_IN, args)?;
        self.no_dtype_lost(callee, args)?;
        if !self.runs_as_is {
            makes_no_quantized(callee)?;
            self.draws_no_leaf(callee, args)?;
        }
        if let Some(plain) = self.without_named_tuples(callee, args)? {
            return self.emit(callee, &plain);
        }
        if let Some(read) = self.filled_by_tensor(callee, args)? {
            return self.emit(callee, &read);
        }
        let is_data = callee.traits().any(Does::FROM_DATA);
        let is_number = |v: &Var| match is_data {
            true => self.is_numpy_number(v),
            false => self.holds_numpy_number(v),
        };
        if args.values().any(is_number) {
            let values: Vec<&Var> = args.values().collect();
            let convert = self.rules.arrays.read_number;
            let emit = |tx: &mut Self, read: &[Var]| tx.emit(callee, &args.with_values(read));
            if let Some(made) = self.with_numpy_numbers(&values, convert, emit)? {
                return Ok(made);
            }
        }
        if self.ints.as_inputs && self.has_dynamic_number(args) {
            if let Some(result) = self.emit_on_shadows_with_sizes(callee, args)? {
                return Ok(result);
            }
            if let Some(result) = self.emit_with_numbers(callee, args)? {
                return Ok(result);
            }
        }
        let node_args = self.node_args(args)?;
        if let Some(made) = self.emit_on_shadows(callee, &node_args, args)? {
            return Ok(made);
        }
        let inferred = self.infer(callee, &node_args)?;
        self.check_shown(callee, args, &inferred)?;
        self.check_leaf(args, &inferred)?;
        if !has_tensor(&inferred) && !matches!(inferred, Inferred::None) {
            if let Callee::Method(name) = callee
                && self.st.levels.gradients > 0
                && callee.traits().any(Does::TELLS_LAYOUT)
            {
                return Err(Stop::unsupported(format!(
                    "{name} of a gradient, whose strides are not known"
                )));
            }
            return self.query_result(&inferred);
        }
        self.emit_knowing(callee, node_args, inferred, args)
    }

    /// As `emit_on_shadows`, with numbers that are no constants; `None` where that can't be.
    fn emit_on_shadows_with_sizes(&mut self, callee: &Callee<'_>, args: &Args) -> R<Option<Var>> {
        if self.st.levels.shadows.is_empty()
            && self.st.wrappers.is_empty()
            && !self.st.levels.records()
        {
            return Ok(None);
        }
        let before = self.snapshot();
        let node_args = self.node_args_with_sizes(args)?;
        match self.emit_on_shadows(callee, &node_args, args) {
            Err(Stop::Break(_)) | Ok(None) => {
                self.restore(&before);
                Ok(None)
            }
            made => made,
        }
    }

    /// Makes a node for an operation in a transform or with a wrapper subclass; `None` for any other.
    fn emit_on_shadows(
        &mut self,
        callee: &Callee<'_>,
        node_args: &NodeArgs,
        args: &Args,
    ) -> R<Option<Var>> {
        // What is drawn for a batch is a batch.
        let draws = self.st.levels.is_active() && callee.traits().any(Does::DRAWS);
        if draws || self.gives_shadow(node_args) {
            return self.emit_shadowed(callee, node_args, args).map(Some);
        }
        match self.has_wrapper(node_args) {
            true => self.emit_wrapped(callee, node_args, args).map(Some),
            false => Ok(None),
        }
    }

    /// Makes a node whose result is known, and keeps what is known of the values of tensors.
    fn emit_knowing(
        &mut self,
        callee: &Callee<'_>,
        node_args: NodeArgs,
        inferred: Inferred,
        args: &Args,
    ) -> R<Var> {
        // A node that is added may write to anything; where it does not, what is known stays.
        let mut known = self.st.effects.known_values.clone();
        let writes = self.st.effects.writes;
        let is_counted = self.st.effects.has_text
            || !self.st.effects.numbers_read.is_empty()
            || self.ints.fixes_inputs;
        let asked = !known.is_empty() || is_counted;
        let reads = asked && !may_write(callee, args, &inferred);
        let values = self.so_far().known_result(callee, &node_args, &inferred);
        let result = self.emit_inferred(callee, node_args, inferred, args)?;
        match reads {
            true => self.st.effects.writes = writes,
            false => known.clear(),
        }
        if let (Some(values), Var::Tensor(t)) = (values, &result) {
            known.insert(t.node.0, values);
        }
        self.st.effects.known_values = known;
        Ok(result)
    }

    pub(super) fn check_shown(
        &self,
        callee: &Callee<'_>,
        args: &Args,
        inferred: &Inferred,
    ) -> R<()> {
        self.check_moved(callee, args)?;
        if self.st.effects.shows_tensors && may_write(callee, args, inferred) {
            return Err(Stop::brk(
                "Tensor written to while an output of tensors waits",
                "The call that shows a tensor is made after the graph has run, so nothing in the graph may change tensors behind it.",
                "Move the call that shows the tensor behind the in-place operation, or in front of the compiled function.",
            ));
        }
        Ok(())
    }

    /// A tensor that a function makes to record gradients for: a compiler makes it record none. Other results that
    /// are leaves and require gradients are a tensor that was there before, and, while autograd is off, a view of
    /// what requires them, of which the graph computes no gradient and which residual code does not give out.
    /// Whether a result shares memory says nothing here: of fake tensors that is not known.
    ///
    /// # Errors
    /// A break for a graph that does not run as it is.
    pub(super) fn check_leaf(&mut self, args: &Args, inferred: &Inferred) -> R<()> {
        if self.st.grad_enabled {
            self.reads_no_own_leaf(args)?;
        }
        let Inferred::Tensor(made) = inferred else {
            return Ok(());
        };
        if !(made.requires_grad && made.is_leaf) || made.alias == Alias::Identity {
            return Ok(());
        }
        let views =
            !self.st.grad_enabled && args.values().any(|v| self.so_far().records_gradients(v));
        // In a function that another runs, that one says what its results record.
        if views || self.used.is_some() && made.alias == Alias::View {
            return Ok(());
        }
        if !self.runs_as_is {
            return Err(Stop::brk(
                "Tensor made with requires_grad=True in the compiled function",
                "A compiler gives it back without a gradient of its own.",
                "Make the tensor before the call, or set `requires_grad_()` on the result.",
            ));
        }
        self.st.needs_as_is = true;
        Ok(())
    }

    /// # Errors
    /// A break for an operation that would record gradients for a view which was made while autograd was off.
    fn reads_no_own_leaf(&mut self, args: &Args) -> R<()> {
        let is_own_leaf = |v: &Var| match v {
            Var::Tensor(t) if t.input.is_none() => {
                let meta = self.st.effects.meta(t);
                meta.requires_grad && meta.is_leaf && !self.is_made_leaf(t.node)
            }
            _ => false,
        };
        match args.values().any(is_own_leaf) {
            false => Ok(()),
            true if self.runs_as_is => {
                self.st.needs_as_is = true;
                Ok(())
            }
            true => Err(Stop::brk(
                "View made under no_grad that an operation records gradients for",
                "Such a view is a leaf with a gradient of its own, which a compiler does not compute.",
                "Make the view where gradients are recorded, or call `detach()` on it.",
            )),
        }
    }

    /// Whether numbers may be dynamic at all.
    pub(super) fn has_dynamic_numbers(&self) -> bool {
        self.ints.any() || !self.st.effects.early.is_empty()
    }

    fn is_plain_sequence(&self, obj: &variables::Obj) -> bool {
        let class = obj.bind(self.py).get_type();
        class.is(self.known.list.bind(self.py)) || class.is(self.known.tuple.bind(self.py))
    }

    pub(super) fn has_dynamic_number(&mut self, args: &Args) -> bool {
        self.has_dynamic_numbers() && args.values().any(|v| self.holds_dynamic_number(v))
    }

    fn holds_dynamic_number(&mut self, v: &Var) -> bool {
        let looked_into = match v {
            Var::Lazy(l) if self.is_plain_sequence(&l.obj) => self.realize(v).ok(),
            _ => None,
        };
        match looked_into.as_ref().unwrap_or(v) {
            Var::Tuple(t) => t.items.iter().any(|v| self.holds_dynamic_number(v)),
            Var::Slice(parts) => parts.iter().any(|v| self.holds_dynamic_number(v)),
            Var::Obj(id) => match self.obj(*id).body.clone() {
                variables::Body::List(items) => items.iter().any(|v| self.holds_dynamic_number(v)),
                _ => false,
            },
            Var::Computed(c) => self.is_pure_int(c),
            v => self.as_dynamic(v).is_some() || self.as_dynamic_float(v).is_some(),
        }
    }

    /// The operation with dynamic numbers as inputs of the graph; `None` where neither its rule nor torch's fake
    /// tensors can say what it gives.
    fn emit_with_numbers(&mut self, callee: &Callee<'_>, args: &Args) -> R<Option<Var>> {
        let traits = callee.traits();
        let is_traceable = matches!(callee, Callee::Function(_, names::REFS_TENSOR, _));
        let takes_them =
            traits.any(Does::TAKES_NUMBERS | Does::TAKES_SIZES) || callee.rule().is_none();
        if self.st.levels.is_active() {
            return Ok(None);
        }
        // A compiler takes the numbers among the data for constants.
        if !self.runs_as_is && traits.any(Does::FROM_DATA) && !is_traceable {
            return Ok(None);
        }
        let is_store = |inferred: &Inferred| {
            matches!(inferred, Inferred::None)
                && traits.any(Does::INDEXES)
                && traits.any(Does::WRITES)
        };
        let args = &*match !self.runs_as_is && traits.any(Does::DRAWS) {
            true => self.without_default_generator(args),
            false => Cow::Borrowed(args),
        };
        let before = self.snapshot();
        let node_args = self.node_args_with_sizes(args)?;
        let by_rule = match takes_them || is_traceable {
            true => self.infer_beside_unknown(callee, &node_args)?,
            false => Err(RuleError::Unsupported("numbers that are no constants")),
        };
        // What the rule has to know, torch finds out where it decides by it. What it does not look at may make the
        // kernel raise, which shows where something came before that happens once.
        let is_seen = !traits.any(Does::NEVER_RAISES)
            && !raising::can_all_run_again(&self.log.graph)
            || traits.any(Does::FROM_DATA);
        let inferred = match by_rule {
            Ok(inferred) if has_tensor(&inferred) || is_store(&inferred) => Some(inferred),
            Err(RuleError::Unsupported(_)) if is_seen => None,
            Err(RuleError::NoRule | RuleError::Unsupported(_)) => {
                let found = self.infer_with_unknown(callee, &node_args)?;
                let found = found.map(|found| found.0).filter(has_tensor);
                found.filter(|_| !self.all_numbers_fixed(&node_args))
            }
            _ => None,
        };
        let Some(inferred) = inferred else {
            self.restore(&before);
            return Ok(None);
        };
        self.check_shown(callee, args, &inferred)?;
        if is_store(&inferred) {
            self.check_leaf(args, &inferred)?;
        }
        self.emit_knowing(callee, node_args, inferred, args)
            .map(Some)
    }

    /// Arguments without `generator=None`: to torch that is another overload, of which compilers know no sizes that change.
    fn without_default_generator<'a>(&self, args: &'a Args) -> Cow<'a, Args> {
        let is_default = |(name, v): &(Arc<str>, Var)| &**name == "generator" && v.is_none(self.py);
        if !args.kw.iter().any(is_default) {
            return Cow::Borrowed(args);
        }
        let mut args = args.clone();
        args.kw.retain(|named| !is_default(named));
        Cow::Owned(args)
    }

    /// A graph holds Python's numbers for NumPy's.
    ///
    /// # Errors
    /// A break where the operation would find that they are another's.
    fn no_dtype_lost(&mut self, callee: &Callee<'_>, args: &Args) -> R<()> {
        let path = match callee {
            Callee::Function(_, path, _) => *path,
            Callee::Method(name) => *name,
        };
        let traits = callee.traits();
        if !(traits.any(Does::SEES_NUMPY) || Self::is_python_of_torch(path)) {
            return Ok(());
        }
        let floats = traits.any(Does::SEES_NUMPY_FLOATS);
        for v in args.values() {
            if self.holds_numpy(v, floats)? {
                return Err(Stop::brk(
                    format!("NumPy's number in {path}"),
                    "What the operation does depends on the number's NumPy type, which a graph does not keep.",
                    "Pass a Python number: `x.item()`.",
                ));
            }
        }
        Ok(())
    }

    /// Makes a node whose result is known.
    ///
    /// # Errors
    /// [`Stop::Internal`] for a function without a name.
    pub fn emit_inferred(
        &mut self,
        callee: &Callee<'_>,
        node_args: NodeArgs,
        inferred: Inferred,
        args: &Args,
    ) -> R<Var> {
        let repeatable = self.so_far().is_repeatable(callee, args, &inferred);
        self.emit_inferred_as(callee, node_args, inferred, args, repeatable)
    }

    /// The same, for a node of which it is known whether anybody can tell that it ran twice.
    pub fn emit_inferred_as(
        &mut self,
        callee: &Callee<'_>,
        node_args: NodeArgs,
        inferred: Inferred,
        args: &Args,
        repeatable: bool,
    ) -> R<Var> {
        self.parts_no_class(&node_args, &inferred)?;
        self.writes_to_no_held(callee, &node_args, args, &inferred)?;
        self.lays_out_no_input(callee, args, &inferred)?;
        let number = self.number_dtype(callee, args, &inferred)?;
        let may_refuse_number = self
            .so_far()
            .may_refuse_number(callee, &node_args, &inferred);
        self.writes_where_it_may(callee, args, &inferred)?;
        let node = self.add_node(callee, node_args.pos, node_args.kw)?;
        self.log.graph.set_impure(node, true);
        if repeatable {
            self.log.graph.set_repeatable(node);
        } else if self.so_far().would_be_repeatable(callee, args, &inferred) {
            self.log.graph.set_draws(node);
        }
        if may_refuse_number || self.so_far().may_refuse_tensors(args, &inferred)? {
            self.log.graph.set_may_refuse_arguments(node);
        }
        if matches!(&inferred, Inferred::Tensor(made) if made.alias == Alias::Fresh) {
            self.log.graph.set_owns_memory(node);
        }
        if self
            .so_far()
            .may_refuse_write(node, callee, args, &inferred)
        {
            // Its random numbers are drawn by then.
            if !repeatable && callee.traits().any(Does::DRAWS) {
                return Err(Stop::raises(
                    "Random numbers written to a tensor that may not be written to",
                    "Autograd, or the memory of the tensor, refuses the write; the operation runs in eager mode so that it does.",
                    "Write to a clone of the tensor.",
                ));
            }
            if repeatable || raising::raises_early(&self.log.graph, node) {
                self.log.graph.set_may_refuse_write(node);
            }
        }
        if let Some(dtype) = number {
            self.log.graph.set_number_dtype(node, dtype);
        }
        self.leads_to_handlers(node)?;
        let result = self.wrap(node, inferred, args, 0)?;
        self.read_new_sizes(&result)?;
        Ok(result)
    }

    /// Adds the node with the user's source lines.
    pub(super) fn add_node(&mut self, callee: &Callee<'_>, pos: Vec<Arg>, kw: Kwargs) -> R<NodeId> {
        let node = match callee {
            Callee::Function(f, path, _) => {
                let substitute = (self.rules.torch.stand_in)(self, f.bind(self.py), path)?;
                let target = self.target(substitute.as_ref().unwrap_or(f), path)?;
                self.log.graph.call_function(target, pos, kw)
            }
            Callee::Method(name) => self.log.graph.call_method(*name, pos, kw),
        };
        self.set_line(node);
        self.st.effects.known_values.clear();
        self.st.effects.writes += 1;
        Ok(node)
    }

    /// A node is of the line, and of the call of a module, where the frame stands.
    pub fn set_line(&mut self, node: NodeId) {
        let frame = &self.st.frame;
        self.log.graph.set_source(node, &frame.lines());
        self.log.graph.set_module(node, frame.module.as_ref());
    }

    /// The (cached) target of a function.
    pub fn target(&mut self, f: &Obj, path: &str) -> R<Arc<FnTarget>> {
        let addr = f.as_ptr() as usize;
        if let Some(t) = self.facts.targets.get(&addr) {
            return Ok(t.clone());
        }
        let handle = self.handle(f);
        let target = Arc::new(fn_target(f.bind(self.py), handle, path)?);
        self.facts.targets.insert(addr, target.clone());
        Ok(target)
    }

    /// Metadata of the result: by rule, else by FakeTensor.
    pub(super) fn infer(&mut self, callee: &Callee<'_>, args: &NodeArgs) -> R<Inferred> {
        match self.infer_beside_unknown(callee, args)? {
            Ok(inferred) => Ok(inferred),
            Err(RuleError::WouldRaise { message }) => Err(Stop::raises(
                format!("Tensor operation that raises: {message}"),
                "Eager PyTorch raises for these arguments; the operation runs in eager mode so that it does.",
                "Correct the shapes or types of the arguments.",
            )),
            Err(RuleError::NoRule) => self.infer_fake(callee, args, ""),
            Err(RuleError::Unsupported(what)) => match self.infer_known(callee, args) {
                Some(inferred) => Ok(inferred),
                None => self.infer_fake(callee, args, what),
            },
        }
    }

    /// As `infer_by_rule`; what an operation checks of numbers that the graph reads, the graph checks in front of it.
    fn infer_beside_unknown(
        &mut self,
        callee: &Callee<'_>,
        args: &NodeArgs,
    ) -> R<Result<Inferred, RuleError>> {
        // What others have presumed is not this operation's.
        self.log.sizes.has_presumed();
        let result = self.infer_beside_read(callee, args)?;
        if self.ints.has_unbacked {
            self.make_sure_of_sizes(callee, args, &result)?;
        }
        Ok(result)
    }

    fn infer_beside_read(
        &mut self,
        callee: &Callee<'_>,
        args: &NodeArgs,
    ) -> R<Result<Inferred, RuleError>> {
        if self.st.effects.early.is_empty() || !self.captures_unknown() {
            return Ok(self.infer_by_rule(callee, args));
        }
        let traits = callee.traits();
        let is_store = traits.any(Does::INDEXES) && traits.any(Does::WRITES);
        if is_store && args.kw.is_empty() && self.so_far().is_put_back(&args.pos) {
            return Ok(Ok(Inferred::None));
        }
        for _ in 0..MOST_CHECKS {
            let before = self.snapshot();
            let result = self.infer_by_rule(callee, args);
            match result {
                Err(RuleError::WouldRaise { .. }) if self.raises_by_unknown(&before)? => {}
                Ok(_) if self.counts_by_unknown(&before)? => {}
                // The size of the result is a choice, and torch has a symbol for it.
                Ok(_) if self.captures_unknown() && self.asks_of_unknown(&before) => {
                    self.restore(&before);
                    return Ok(Err(RuleError::NoRule));
                }
                result => return Ok(result),
            }
        }
        Ok(self.infer_by_rule(callee, args))
    }

    fn infer_by_rule(
        &mut self,
        callee: &Callee<'_>,
        args: &NodeArgs,
    ) -> Result<Inferred, RuleError> {
        match callee.rule().filter(|_| !self.has_wrapper(args)) {
            Some(rule) => self
                .with_sizes(|tx| apply_rule(rule, &args.meta_pos, &args.meta_kw, &tx.meta_ctx())),
            None => Err(RuleError::NoRule),
        }
    }

    /// By rule, with tensors of known values as the sizes that they are given for.
    fn infer_known(&mut self, callee: &Callee<'_>, args: &NodeArgs) -> Option<Inferred> {
        let (pos, kw, of) = self.so_far().with_known_sizes(callee, args)?;
        for size in of {
            self.fix_size(size);
        }
        let rule = callee.rule()?;
        self.with_sizes(|tx| apply_rule(rule, &pos, &kw, &tx.meta_ctx()))
            .ok()
    }

    /// The state that results depend on.
    pub fn meta_ctx(&self) -> Ctx {
        self.so_far().meta_ctx()
    }

    /// A value that is known while translating: a shape, a dtype, a number.
    pub(super) fn query_result(&mut self, inferred: &Inferred) -> R<Var> {
        let py = self.py;
        Ok(match inferred {
            Inferred::Int(i) => self.sym_int(*i)?,
            Inferred::Bool(b) => self.bool(*b),
            Inferred::None => self.none(),
            Inferred::Str(s) => self.str(s),
            Inferred::DType(d) => self.dtype_var(*d)?,
            Inferred::Device(d) => Var::Const(self.known.device.call1(py, (d.to_string(),))?),
            Inferred::Size(dims) => {
                let items = dims.iter().map(|d| self.sym_int(*d)).collect::<R<_>>()?;
                Var::Tuple(Rc::new(TupleVar {
                    items,
                    class: Some(self.known.size.clone()),
                    origin: None,
                }))
            }
            Inferred::Tuple(items) => {
                let items = items
                    .iter()
                    .map(|i| self.query_result(i))
                    .collect::<R<Vec<_>>>()?;
                Var::tuple(items)
            }
            Inferred::List(items) => {
                let items = items
                    .iter()
                    .map(|i| self.query_result(i))
                    .collect::<R<Vec<_>>>()?;
                self.new_list(items)
            }
            Inferred::NamedTuple { .. } | Inferred::Tensor(_) => {
                return Err(Stop::Internal("a tensor is no query result".into()));
            }
        })
    }

    /// A dtype as a value.
    ///
    /// # Errors
    /// [`Stop::Internal`] for a dtype that torch does not have.
    pub fn dtype_var(&self, d: DType) -> R<Var> {
        let name = d.name();
        let attr = name.strip_prefix("torch.").unwrap_or(name);
        Ok(Var::Const(self.known.torch.getattr(self.py, attr)?))
    }

    fn wrap(&mut self, node: NodeId, inferred: Inferred, args: &Args, depth: u32) -> R<Var> {
        match inferred {
            Inferred::Tensor(meta) => Ok(self.wrap_tensor(node, meta, args, depth)),
            Inferred::Tuple(items) => {
                let items = self.wrap_items(node, items, args, depth)?;
                Ok(Var::tuple(items))
            }
            Inferred::List(items) => {
                let items = self.wrap_items(node, items, args, depth)?;
                Ok(self.new_list(items))
            }
            Inferred::NamedTuple { type_name, items } => {
                let items = self.wrap_items(node, items, args, depth)?;
                let class = self.return_type(type_name)?;
                Ok(Var::Tuple(Rc::new(TupleVar {
                    items,
                    class: Some(class),
                    origin: None,
                })))
            }
            other => self.query_result(&other),
        }
    }

    /// A class of named tuples of results: the program's, or torch's.
    pub(super) fn return_type(&self, name: &str) -> PyResult<Obj> {
        if let Some(class) = self.facts.result_classes.get(name) {
            return Ok(class.clone());
        }
        let classes = self.known.torch.bind(self.py).getattr("return_types")?;
        Ok(classes.getattr(name)?.unbind())
    }

    fn wrap_items(
        &mut self,
        node: NodeId,
        items: Vec<Inferred>,
        args: &Args,
        depth: u32,
    ) -> R<Vec<Var>> {
        let mut out = Vec::with_capacity(items.len());
        for (i, item) in items.into_iter().enumerate() {
            if !has_tensor(&item) {
                out.push(self.query_result(&item)?);
                continue;
            }
            let part = self.item_of(node, i)?;
            out.push(self.wrap(part, item, args, depth + 1)?);
        }
        Ok(out)
    }

    /// A node that takes an item of what another one gives.
    ///
    /// # Errors
    /// [`Stop::Internal`] where Python has no such function.
    pub fn item_of(&mut self, node: NodeId, at: usize) -> R<NodeId> {
        let getitem = self.known.operator.getattr(self.py, "getitem")?;
        let callee = Callee::Function(&getitem, "operator.getitem", None);
        let place = vec![Arg::Node(node), Arg::Int(at as i64)];
        let part = self.add_node(&callee, place, Kwargs::new())?;
        self.log.graph.set_repeatable(part);
        Ok(part)
    }

    /// The value of a tensor result. Where the op gives back its very argument, that argument is
    /// the value: identity stays as in eager.
    fn wrap_tensor(&mut self, node: NodeId, mut meta: TensorMeta, args: &Args, depth: u32) -> Var {
        if meta.alias == Alias::Identity && depth == 0 {
            let first = args.pos.first().cloned().or_else(|| {
                args.kw
                    .iter()
                    .find(|(n, _)| matches!(&**n, "input" | "self" | "tensor"))
                    .map(|(_, v)| v.clone())
            });
            if let Some(Ok(v @ Var::Tensor(_))) = first.map(|v| self.realize(&v))
                && let Var::Tensor(t) = &v
            {
                let (t_node, old) = (t.node, self.st.effects.meta(t).clone());
                meta.alias = old.alias;
                if *old != meta {
                    self.st.effects.set_meta(t_node, Rc::new(meta));
                }
                return v;
            }
        }
        if !self.st.effects.early.is_empty() {
            self.assume_sizes(&meta.shape);
        }
        let fresh = meta.alias != Alias::Identity;
        let class = self.known.tensor.clone();
        Var::Tensor(Rc::new(TensorVar {
            node,
            class,
            meta: Rc::new(meta),
            input: None,
            fresh,
        }))
    }
}
