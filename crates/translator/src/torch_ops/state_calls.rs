//! Functions that read or change torch's global state, and functions that torch or Ferrodyn mark.

use fx_graph::{Arg, Kwargs};
use guards::{Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use variables::{Obj, Var};

use super::table::QUERIES;
use crate::raw::type_lookup;
use crate::stop::{BreakReason, R, Stop};
use crate::tx::{Args, Flow, Tx, qualified_name};

/// Where torch's optimizers enter and leave `no_grad`: how the path of the file ends.
const OPTIMIZER: &str = "/torch/optim/optimizer.py";

/// Modules of torch whose functions act outside a graph.
const SKIPPED_TORCH: [&str; 24] = [
    "torch.serialization",
    "torch.autograd",
    "torch.random",
    "torch.utils.data",
    "torch.cuda",
    "torch.distributed",
    "torch.multiprocessing",
    "torch.jit",
    "torch.onnx",
    "torch.profiler",
    "torch._dynamo",
    "torch._inductor",
    "torch.hub",
    "torch.fx",
    "torch.package",
    "torch.testing",
    "torch.library",
    "torch._library",
    "torch._subclasses",
    "torch._tensor_str",
    "torch._guards",
    "torch.export",
    "torch.compiler",
    "torch.storage",
];

/// Modules of the standard library whose functions have effects, or look at the running interpreter.
const SKIPPED_STDLIB: [&str; 33] = [
    "logging",
    "warnings",
    "inspect",
    "os",
    "io",
    "subprocess",
    "threading",
    "tempfile",
    "pathlib",
    "posixpath",
    "random",
    "time",
    "datetime",
    "json",
    "pickle",
    "re",
    "traceback",
    "linecache",
    "unittest",
    "asyncio",
    "ctypes",
    "importlib",
    "gc",
    "sys",
    "socket",
    "shutil",
    "glob",
    "multiprocessing",
    "concurrent",
    "queue",
    "signal",
    "weakref",
    "pdb",
];

/// Queries whose answer is the same for the whole process, or is part of GLOBAL_STATE.
const KNOWN_QUERIES: [&str; 18] = [
    "_accelerator_getAccelerator",
    "is_storage",
    "promote_types",
    "result_type",
    "can_cast",
    "is_inference_mode_enabled",
    "is_autocast_enabled",
    "is_autocast_cpu_enabled",
    "get_default_dtype",
    "_get_deterministic_algorithms",
    "_get_deterministic_algorithms_warn_only",
    "_is_autocast_available",
    "_is_torch_function_enabled",
    "_is_torch_function_all_disabled",
    "_len_torch_dispatch_stack",
    "_are_functorch_transforms_active",
    "_is_key_in_tls_include",
    "_is_key_in_tls_exclude",
];

impl<'py> Tx<'py> {
    /// Whether a callable goes into the graph as it is.
    ///
    /// # Errors
    /// Whatever looking at it raises.
    pub fn is_graph_function(&self, f: &Bound<'py, PyAny>) -> R<bool> {
        if self.functions.get(f).is_some() {
            return Ok(true);
        }
        let ty = f.get_type();
        let name = ty.name()?;
        let name = name.to_cow()?;
        if matches!(&*name, "OpOverload" | "OpOverloadPacket" | "CustomOpDef") {
            return Ok(true);
        }
        self.is_allowed_in_graph(f)
    }

    /// `torch.compiler.allow_in_graph`.
    pub(super) fn is_allowed_in_graph(&self, f: &Bound<'py, PyAny>) -> R<bool> {
        let ids = self.marked_ids("_allowed_callable_ids")?;
        Ok(ids.is_some_and(|ids| ids.contains(f.as_ptr() as usize).unwrap_or(false)))
    }

    /// `torch.compiler.nonstrict_trace`.
    pub(super) fn is_nonstrict(&self, f: &Bound<'py, PyAny>) -> R<bool> {
        if self.functions.get(f).is_some() {
            return Ok(false);
        }
        let ids = self.marked_ids("_nonstrict_trace_callable_ids")?;
        Ok(ids.is_some_and(|ids| ids.contains(f.as_ptr() as usize).unwrap_or(false)))
    }

    /// `torch.compiler.disallow_in_graph`.
    pub(super) fn is_disallowed_in_graph(&mut self, f: &Bound<'py, PyAny>) -> R<bool> {
        if self.disallowed.is_none() {
            let ids = self.marked_ids("_disallowed_callable_ids")?;
            let some = ids.filter(|ids| ids.len().is_ok_and(|n| n > 0));
            self.disallowed = Some(some.map(Bound::unbind));
        }
        let Some(Some(ids)) = &self.disallowed else {
            return Ok(false);
        };
        Ok(ids.bind(self.py).contains(f.as_ptr() as usize)?)
    }

    /// What was marked by torch's own functions: only where its tracer was imported.
    fn marked_ids(&self, table: &str) -> R<Option<Bound<'py, PyAny>>> {
        let modules = self.known.sys_modules.bind(self.py);
        let Ok(rules) = modules.get_item("torch._dynamo.trace_rules") else {
            return Ok(None);
        };
        let ids = rules.getattr(table)?;
        let ids = ids.getattr("function_ids").or_else(|_| ids.call0())?;
        Ok(Some(ids))
    }

    /// Python functions with a meaning of their own for a tracer; `None`: inline it.
    ///
    /// # Errors
    /// A break for functions that must not be inlined.
    pub fn marked_function(
        &mut self,
        f: &Bound<'py, PyAny>,
        source: Option<SourceId>,
        args: &Args,
    ) -> R<Option<Flow>> {
        let py = self.py;
        if self.unmarked.contains_key(&(f.as_ptr() as usize)) {
            return Ok(None);
        }
        let module: String = f
            .getattr("__module__")
            .and_then(|m| m.extract())
            .unwrap_or_default();
        let name: String = f
            .getattr("__name__")
            .and_then(|m| m.extract())
            .unwrap_or_default();
        // Marks are attributes that somebody set; a missing one is dear to ask for.
        let marked = crate::raw::may_have_marks(f);
        let flag = |n: &str| marked && f.getattr(n).is_ok_and(|v| v.is_truthy().unwrap_or(false));
        let qualname = || -> String {
            f.getattr("__qualname__")
                .and_then(|q| q.extract())
                .unwrap_or_default()
        };
        match (module.as_str(), name.as_str()) {
            (
                "torch.compiler"
                | "ferrodyn"
                | "ferrodyn._api"
                | "ferrodyn._core"
                | "torch._dynamo.external_utils",
                "is_compiling" | "is_dynamo_compiling",
            ) => {
                // An optimizer would compute with tensors what eager computes with numbers.
                if self.before_step.is_some() {
                    return Ok(Some(Flow::Value(self.bool(false))));
                }
                self.asked_compiling = true;
                return Ok(Some(Flow::Value(self.bool(true))));
            }
            ("functools", "dispatch") if let [class] = args.pos.as_slice() => {
                let class = class.clone();
                return (self.rules.builtins.single_dispatch)(self, f, source, &class);
            }
            // What they answer for a size that is known is the condition itself.
            (
                "torch.fx.experimental.symbolic_shapes",
                "expect_true"
                | "guard_bool"
                | "guard_or_true"
                | "guard_or_false"
                | "guard_size_oblivious"
                | "statically_known_true",
            ) if let [v] = args.pos.as_slice()
                && let Var::Const(o) = self.realize(v)?
                && o.bind(py).is_exact_instance_of::<pyo3::types::PyBool>() =>
            {
                return Ok(Some(Flow::Value(Var::Const(o))));
            }
            // Compiled by torch.compile itself where it is not traced.
            ("torch.nn.attention.flex_attention", "flex_attention") => {
                return Err(self.skipped(f));
            }
            // Options of torch's tracer for a part of a function, which mean nothing here.
            ("torch._dynamo.decorators", "patch_dynamo_config" | "error_on_graph_break")
                if let Some((pos, kw)) = self.constants(args)? =>
            {
                let pos = PyTuple::new(py, pos)?;
                let made = self.fold(|_| f.call(pos, kw.as_ref()))?;
                return Ok(Some(Flow::Value(made)));
            }
            ("torch._dynamo.decorators", "__enter__" | "__exit__")
                if [
                    "DynamoConfigPatchProxy.",
                    "ErrorOnGraphBreakDecoratorContextManager.",
                ]
                .iter()
                .any(|class| qualname().starts_with(class)) =>
            {
                return self.tracer_options(f, &name, args).map(Some);
            }
            ("torch._dynamo.decorators", "mark_static") => {
                return Ok(Some(Flow::Value(self.none())));
            }
            // Tells torch's tracer that a compiled module runs.
            ("torch._dynamo.eval_frame", "_set_in_optimized_module") => {
                let nothing = py.import("contextlib")?.getattr("nullcontext")?;
                return self
                    .call(&Var::py(nothing.unbind()), Args::default())
                    .map(Some);
            }
            // torch.compile's own bookkeeping, hung on `nn.Module.__init__` once it was used.
            ("torch._dynamo.mutation_guard", "tag") => return Ok(Some(Flow::Value(self.none()))),
            ("torch.compiler", "is_exporting")
            | ("torch._jit_internal", "is_scripting")
            | ("torch.jit._trace", "is_tracing")
            | ("torch.onnx", "is_in_onnx_export") => {
                return Ok(Some(Flow::Value(self.bool(false))));
            }
            // `torch.fx` traces in a thread, not in a process.
            ("torch.fx._symbolic_trace", "is_fx_tracing" | "is_fx_symbolic_tracing") => {
                let asked = py.import(module.as_str())?.getattr("_get_is_fx_tracing")?;
                let now = asked.call0()?;
                self.guard_call(&asked.unbind(), None, &[], &now)?;
                return Ok(Some(Flow::Value(
                    self.bool(now.is_truthy()? && name != "is_fx_symbolic_tracing"),
                )));
            }
            // Questions about symbolic sizes, of which there are none here.
            (
                "torch.fx.experimental.symbolic_shapes",
                "expect_true"
                | "guard_size_oblivious"
                | "guard_or_false"
                | "guard_or_true"
                | "guard_bool"
                | "statically_known_true",
            ) if args.pos.len() == 1 => {
                let v = self.realize(&args.pos[0])?;
                if matches!(&v, Var::Const(o) if o.bind(py).is_instance_of::<pyo3::types::PyBool>())
                {
                    return Ok(Some(Flow::Value(v)));
                }
            }
            ("torch.fx.experimental.symbolic_shapes", "_advise_is_size" | "_advise_is_bounded") => {
                return Ok(Some(Flow::Value(self.none())));
            }
            // Tells TorchScript a type; the value is its second argument.
            ("torch.jit", "annotate") if args.pos.len() == 2 && args.kw.is_empty() => {
                return Ok(Some(Flow::Value(args.pos[1].clone())));
            }
            (
                "torch.overrides",
                "has_torch_function" | "has_torch_function_unary" | "has_torch_function_variadic",
            ) => {
                return self.overrides_torch(args).map(|v| Some(Flow::Value(v)));
            }
            // Optimizers keep compilers from tracing their writes together with what records gradients.
            // One of the two calls comes in front of a step, the other behind it. In a generator, from where
            // there is no way back, they break.
            ("torch._dynamo.decorators", "graph_break")
                if self.runs_as_is
                    && self.ways.here.is_some()
                    && self.st.frame.code.filename.ends_with(OPTIMIZER) =>
            {
                self.needs_as_is = true;
                if self.before_step.is_none() {
                    self.before_step = Some(Box::new(self.ways.clone()));
                } else if self.st.frame.handling.is_empty() {
                    self.before_step = None;
                } else {
                    return Err(Stop::unsupported("an optimizer whose step raises"));
                }
                return Ok(Some(Flow::Value(self.none())));
            }
            (m, "graph_break") if m.starts_with("ferrodyn") || m.starts_with("torch._dynamo") => {
                let text = match args.pos.first().or(args.kw.first().map(|k| &k.1)) {
                    Some(Var::Const(o)) => o.bind(py).str()?.to_string(),
                    _ => String::new(),
                };
                return Err(Stop::Break(Box::new(BreakReason {
                    reason: "Call to `graph_break()`".into(),
                    explanation: format!(
                        "User-inserted graph break. Message: {}",
                        if text.is_empty() { "None" } else { &text }
                    ),
                    hints: vec!["Remove the `graph_break()` call.".into()],
                    context: format!("called `{m}.graph_break` with message `{text}`"),
                    ..BreakReason::default()
                })));
            }
            _ => {}
        }
        if flag("_torchdynamo_disable") || flag("_dynamo_forbidden") {
            // torch.compile marks this one for itself, for all optimizers, once it is used.
            if name == "_init_group"
                && module.starts_with("torch.optim.")
                && let Ok(inner) = f.getattr("_torchdynamo_orig_callable")
            {
                return self.call(&Var::py(inner.unbind()), args.clone()).map(Some);
            }
            return Err(disabled(f));
        }
        // The outer choices hold for what torch.compile has compiled.
        if marked && is_compiled_by_torch(f) {
            let base = match source {
                Some(s) => s,
                None => self.pinned_source(&f.clone().unbind(), true, "___compiled"),
            };
            let inline = self.source(Source::Attr {
                base,
                name: "_torchdynamo_inline".into(),
            });
            let inner = self.build(&f.getattr("_torchdynamo_inline")?.unbind(), inline)?;
            return self.call(&inner, args.clone()).map(Some);
        }
        // A region that is to be compiled once: its calls are in the graph one by one.
        if marked && let Ok(inner) = f.getattr("__marked_compile_region_fn__") {
            return self.call(&Var::py(inner.unbind()), args.clone()).map(Some);
        }
        if flag("_dynamo_marked_constant")
            && let Some((pos, kw)) = self.constants(args)?
        {
            let pos = PyTuple::new(py, pos)?;
            return self
                .fold(|_| f.call(pos, kw.as_ref()))
                .map(|v| Some(Flow::Value(v)));
        }
        let under = |list: &[&str]| {
            list.iter().any(|m| {
                module == *m || module.strip_prefix(*m).is_some_and(|r| r.starts_with('.'))
            })
        };
        let graph = self.is_graph_function(f)?;
        let inlined_anyway = is_pure_stdlib(&module, &name, qualname)
            || module == "torch._dynamo.mutation_guard"
            || module == "torch.autograd.grad_mode"
            || module == "torch.cuda.amp.autocast_mode"
            || module == "torch.autograd.profiler" && name == "__init__"
            || module == "torch._dynamo.external_utils"
                && qualname().starts_with("wrap_dunder_call_ctx_manager")
            || module == "torch._dynamo.eval_frame"
                && matches!(
                    &*name,
                    "__call__"
                        | "__getattr__"
                        | "__setattr__"
                        | "__delattr__"
                        | "__len__"
                        | "training"
                )
                && qualname().starts_with("OptimizedModule.")
            || module == "torch.fx.graph_module" && matches!(&*name, "call_wrapped" | "__call__");
        if !graph
            && !inlined_anyway
            && self.rules.of(f).is_none()
            && (under(&SKIPPED_TORCH) || under(&SKIPPED_STDLIB) || module.starts_with("numpy"))
        {
            return Err(self.skipped(f));
        }
        let file: String = f
            .getattr("__code__")
            .and_then(|c| c.getattr("co_filename"))
            .and_then(|n| n.extract())
            .unwrap_or_default();
        if file.ends_with("torch/_compile.py") && self.rules.of(f).is_none() {
            return Err(self.skipped(f));
        }
        if !marked {
            self.unmarked
                .insert(f.as_ptr() as usize, f.clone().unbind());
        }
        Ok(None)
    }

    /// C functions that read or change torch's global state; `None` where there is no rule.
    ///
    /// # Errors
    /// A break for arguments that are not constants.
    pub fn torch_state_call(&mut self, f: &Bound<'py, PyAny>, args: &Args) -> R<Option<Flow>> {
        let module: String = f
            .getattr("__module__")
            .and_then(|m| m.extract())
            .unwrap_or_default();
        let name: String = f
            .getattr("__name__")
            .and_then(|m| m.extract())
            .unwrap_or_default();
        if !module.starts_with("torch") && !module.is_empty() {
            return Ok(None);
        }
        if self.st.vmap.in_gradients()
            && (module.ends_with("_functorch") || name.contains("functorch"))
        {
            return Err(Stop::unsupported(format!("{name} in a transform")));
        }
        if let Some(answer) = self.modes_question(&name, args)? {
            return Ok(Some(Flow::Value(answer)));
        }
        let value = match name.as_str() {
            "is_grad_enabled" => self.bool(self.st.grad_enabled),
            "is_inference_mode_enabled" => self.bool(self.inference_now()),
            setter if backends::flag_getter(setter).is_some() => {
                return self.set_flag(f, args).map(|v| v.map(Flow::Value));
            }
            getter if self.st.flags.contains_key(getter) => self.st.flags[getter].clone(),
            "_set_grad_enabled" => {
                let enabled = match args.pos.first() {
                    Some(v) => self.truth(&v.clone())?,
                    None => return Ok(None),
                };
                self.set_grad_enabled(&f.clone().unbind(), enabled)?;
                self.none()
            }
            "_log_api_usage_once" => self.none(),
            "is_autocast_enabled" | "get_autocast_dtype" if self.in_autocast() => {
                let device = match args.pos.first() {
                    Some(v) => self.as_const(&v.clone())?,
                    None if name == "is_autocast_enabled" => Some(self.device_text("cuda")),
                    None => None,
                };
                let Some(device) = device.and_then(|d| d.extract::<String>(self.py).ok()) else {
                    return Ok(None);
                };
                let now = self.autocast_now(&device)?;
                match name.as_str() {
                    "is_autocast_enabled" => self.bool(now.0),
                    _ => Var::Const(now.1),
                }
            }
            "_is_any_autocast_enabled" if self.in_autocast() => {
                self.bool(self.autocasts() != tensor_meta::Autocast::Off)
            }
            "is_autocast_cache_enabled" => self.bool(self.autocast_cache()?),
            "is_autocast_cpu_enabled" if self.in_autocast() => {
                self.bool(self.autocast_now("cpu")?.0)
            }
            "get_autocast_gpu_dtype" if self.in_autocast() => {
                Var::Const(self.autocast_now("cuda")?.1)
            }
            "get_autocast_cpu_dtype" if self.in_autocast() => {
                Var::Const(self.autocast_now("cpu")?.1)
            }
            "_has_torch_function"
            | "_has_torch_function_unary"
            | "_has_torch_function_variadic" => self.overrides_torch(args)?,
            "is_tensor" => {
                let v = args.pos.first().cloned().unwrap_or(Var::Null);
                let v = self.realize(&v)?;
                self.bool(matches!(v, Var::Tensor(_)))
            }
            "is_floating_point" | "is_complex" | "numel" | "is_signed" => {
                let (([t], []) | ([], [(_, t)])) = (&args.pos[..], &args.kw[..]) else {
                    return Ok(None);
                };
                if args.kw.first().is_some_and(|(name, _)| &**name != "input") {
                    return Ok(None);
                }
                let t = self.realize(t)?;
                if !matches!(t, Var::Tensor(_)) {
                    return Ok(None);
                }
                return self
                    .tensor_method(&t, &name, Args::pos(Vec::new()))
                    .map(Some);
            }
            // Nothing is captured while `torch.jit.trace` records, and the thread's dispatch keys say so.
            "_get_tracing_state" => self.none(),
            "_is_tracing" => self.bool(false),
            n if QUERIES.contains(&n)
                || KNOWN_QUERIES.contains(&n)
                || matches!(n, "_mps_is_available" | "_cuda_isInBadFork")
                || n.starts_with("_is_")
                || n.starts_with("_get_")
                || n.starts_with("get_")
                || n.starts_with("is_") =>
            {
                match self.constants(args)? {
                    Some((pos, kw)) => {
                        if kw.is_none() && !KNOWN_QUERIES.contains(&n) {
                            let now = f.call1(PyTuple::new(self.py, &pos)?);
                            if let Ok(now) = now {
                                self.guard_call(&f.clone().unbind(), None, &pos, &now)?;
                            }
                        }
                        let pos = PyTuple::new(self.py, pos)?;
                        return self
                            .fold(|_| f.call(pos, kw.as_ref()))
                            .map(|v| Some(Flow::Value(v)));
                    }
                    None => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(Flow::Value(value)))
    }

    /// Whether arguments have a `__torch_function__`: tensors that are captured have torch's own.
    ///
    /// # Errors
    /// A break where another object has one.
    fn overrides_torch(&mut self, args: &Args) -> R<Var> {
        if self.is_seen() {
            return Ok(self.bool(true));
        }
        for arg in &args.pos {
            let arg = self.look(arg)?;
            let one = std::slice::from_ref(&arg);
            let asked = match &arg {
                Var::Tuple(t) => &t.items[..],
                _ => one,
            };
            for v in asked {
                let v = self.look(v)?;
                if self.asks_class(&v) {
                    return Ok(self.bool(true));
                }
                if matches!(v, Var::Tensor(_) | Var::Const(_)) {
                    continue;
                }
                let class = self.type_of(&v)?;
                let class = class.bind(self.py).cast().map_err(PyErr::from)?;
                if type_lookup(class, "__torch_function__").is_some() {
                    return Err(Stop::unsupported(format!(
                        "`__torch_function__` of {}",
                        self.describe(&v)
                    )));
                }
            }
        }
        Ok(self.bool(false))
    }

    fn device_text(&self, name: &str) -> Obj {
        pyo3::types::PyString::new(self.py, name)
            .into_any()
            .unbind()
    }

    /// The grad mode changes from here on, in the graph as well.
    pub(super) fn set_grad_enabled(&mut self, f: &Obj, enabled: bool) -> R<()> {
        let target = self.target(f, "torch._C._set_grad_enabled")?;
        let node = self
            .graph
            .call_function(target, vec![Arg::Bool(enabled)], Kwargs::new());
        self.graph.set_impure(node, true);
        self.st.grad_enabled = enabled;
        Ok(())
    }
}

/// Functions of modules listed in [`SKIPPED_STDLIB`] that only read: the environment (each variable
/// that was read is guarded), signatures, kinds of objects.
fn is_pure_stdlib(module: &str, name: &str, qualname: impl Fn() -> String) -> bool {
    match module {
        "os" => match name {
            "getenv" | "getenvb" | "fspath" | "fsencode" | "fsdecode" => true,
            "encode" | "decode" | "check_str" => qualname().starts_with("_createenviron."),
            "__getitem__" | "__len__" | "__iter__" | "copy" => qualname().starts_with("_Environ."),
            _ => false,
        },
        "inspect" => {
            name.starts_with("is")
                || matches!(name, "_has_code_flag" | "unwrap" | "_is_wrapper")
                || ["Signature.", "Parameter.", "BoundArguments."]
                    .iter()
                    .any(|c| qualname().starts_with(c))
        }
        _ => false,
    }
}

/// The break for a callable that the user (or torch) keeps out of capture.
pub fn disabled(f: &Bound<'_, PyAny>) -> Stop {
    let name = qualified_name(f);
    let message = f
        .getattr("_torchdynamo_disable_msg")
        .ok()
        .filter(|m| !m.is_none())
        .map(|m| m.to_string());
    let why = message.map_or_else(String::new, |m| format!(" Reason: {m}"));
    Stop::Break(Box::new(BreakReason {
        reason: format!("Skip calling `disable`d function `{name}`"),
        explanation: format!(
            "`{name}` was marked with `disable`, so that it runs as plain Python.{why}"
        ),
        hints: vec![format!("Remove the `disable` marker from `{name}`.")],
        context: name,
        ..BreakReason::default()
    }))
}

/// Whether a function is torch.compile's own around one that it has compiled; a wrapper of the program's may
/// have its attributes.
fn is_compiled_by_torch(f: &Bound<'_, PyAny>) -> bool {
    let code = |name: &str| -> Option<String> {
        f.getattr("__code__")
            .ok()?
            .getattr(name)
            .ok()?
            .extract()
            .ok()
    };
    code("co_name").is_some_and(|n| n == "compile_wrapper")
        && code("co_filename").is_some_and(|n| n.ends_with("torch/_dynamo/eval_frame.py"))
        && f.hasattr("_torchdynamo_inline").unwrap_or(false)
}
