//! Functions that read or change torch's global state, and functions that torch or Ferrodyn mark.

use guards::{Source, SourceId};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use tensor_meta::{Does, Traits};
use torch_abi::names;
use translator::stop::{BreakReason, Instead, R, Stop};
use translator::torch_ops::marks::disabled;
use translator::tx::{Args, Flow, Tx};
use variables::Var;
use variables::text::qualified_name;

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
    names::DYNAMO,
    names::INDUCTOR,
    "torch.hub",
    "torch.fx",
    "torch.package",
    "torch.testing",
    "torch.library",
    names::LIBRARY,
    names::SUBCLASSES,
    names::TENSOR_STR,
    names::GUARDS,
    "torch.export",
    "torch.compiler",
    "torch.storage",
];

/// Modules among these whose functions only compute, on tensors that are distributed over a mesh.
const DISTRIBUTED_TENSORS: [&str; 2] =
    ["torch.distributed.tensor", "torch.distributed.device_mesh"];

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

/// The names that a Python function says of itself.
struct Named {
    module: String,
    name: String,
}

impl Named {
    fn new(f: &Bound<'_, PyAny>) -> Named {
        let text = |attr: &str| {
            f.getattr(attr)
                .and_then(|m| m.extract())
                .unwrap_or_default()
        };
        Named {
            module: text("__module__"),
            name: text("__name__"),
        }
    }

    /// Its `__qualname__`, which few are asked for.
    fn qualname(&self, f: &Bound<'_, PyAny>) -> String {
        let name = f.getattr("__qualname__").and_then(|q| q.extract());
        name.unwrap_or_default()
    }

    /// Whether it is of one of these modules, or of one below them.
    fn is_under(&self, modules: &[&str]) -> bool {
        let below = |m: &str| self.module.strip_prefix(m);
        modules
            .iter()
            .any(|m| below(m).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    }
}

/// Python functions with a meaning of their own for a tracer; `None`: inline it.
///
/// # Errors
/// A break for functions that must not be inlined.
pub fn marked_function<'py>(
    tx: &mut Tx<'py>,
    f: &Bound<'py, PyAny>,
    source: Option<SourceId>,
    args: &Args,
) -> R<Option<Flow>> {
    if tx.facts.unmarked.contains_key(&(f.as_ptr() as usize)) {
        return Ok(None);
    }
    if let Some(flow) = (tx.rules.arrays.call)(tx, &f.clone().unbind(), args)? {
        return Ok(Some(flow));
    }
    if let Some(flow) = crate::flex_attention::whole_call(tx, f, args)? {
        return Ok(Some(flow));
    }
    if let Some(flow) = crate::triton_kernels::call(tx, f, args)? {
        return Ok(Some(flow));
    }
    if let Some(flow) = crate::collectives::call(tx, f, args)? {
        return Ok(Some(flow));
    }
    if let Some(flow) = crate::wrappers::function(tx, f, args)? {
        return Ok(Some(flow));
    }
    if let Some(flow) = crate::custom_objects::member(tx, f, args)? {
        return Ok(Some(flow));
    }
    let named = Named::new(f);
    if let ("functools", "dispatch", [class]) = (&*named.module, &*named.name, args.pos.as_slice())
    {
        let class = class.clone();
        return (tx.rules.builtins.single_dispatch)(tx, f, source, &class);
    }
    if let Some(flow) = answered(tx, f, &named, args)? {
        return Ok(Some(flow));
    }
    // Marks are attributes that somebody set. A missing attribute is expensive to look up: it raises.
    let marked = translator::raw::may_have_marks(f);
    if marked && let Some(flow) = by_mark(tx, f, source, &named, args)? {
        return Ok(Some(flow));
    }
    if let Some(flow) = crate::packed_calls::call(tx, f, args)? {
        return Ok(Some(flow));
    }
    if is_skipped(tx, f, &named)? {
        return Err(tx.skipped(f));
    }
    if !marked {
        let address = f.as_ptr() as usize;
        tx.facts.unmarked.insert(address, f.clone().unbind());
    }
    Ok(None)
}

/// What a tracer answers itself: whether it traces, and what other tracers are told.
fn answered<'py>(
    tx: &mut Tx<'py>,
    f: &Bound<'py, PyAny>,
    named: &Named,
    args: &Args,
) -> R<Option<Flow>> {
    let py = tx.py;
    match (named.module.as_str(), named.name.as_str()) {
        (
            "torch.compiler"
            | "ferrodyn"
            | "ferrodyn._api"
            | "ferrodyn._core"
            | names::DYNAMO_EXTERNAL_UTILS,
            "is_compiling" | "is_dynamo_compiling",
        ) => {
            tx.facts.asked_compiling = true;
            return Ok(Some(Flow::Value(tx.bool(true))));
        }
        (
            names::SYMBOLIC_SHAPES,
            "expect_true" | "guard_or_true" | "guard_or_false" | "statically_known_true",
        ) if let [v] = args.pos.as_slice()
            && let Some(answer) = crate::conditions::answer_unknown(tx, &named.name, v)? =>
        {
            return Ok(Some(Flow::Value(tx.bool(answer))));
        }
        // What they answer for a size that is known is the condition itself.
        (
            names::SYMBOLIC_SHAPES,
            "expect_true"
            | "guard_bool"
            | "guard_or_true"
            | "guard_or_false"
            | "guard_size_oblivious"
            | "statically_known_true",
        ) if let [v] = args.pos.as_slice()
            && let Var::Const(o) = tx.realize(v)?
            && o.bind(py).is_exact_instance_of::<pyo3::types::PyBool>() =>
        {
            return Ok(Some(Flow::Value(Var::Const(o))));
        }
        (names::SYMBOLIC_SHAPES, "sym_and" | "sym_or") => {
            return crate::conditions::all_or_one(tx, &named.name, args);
        }
        // Compiled by torch.compile itself where it is not traced.
        ("torch.nn.attention.flex_attention", "flex_attention") => {
            return Err(tx.skipped(f));
        }
        // What it gives is another function, and the one that it is given stays as it is.
        (names::DYNAMO_DECORATORS, "nonstrict_trace")
            if let Some((pos, kw)) = tx.constants(args)? =>
        {
            let pos = PyTuple::new(py, pos)?;
            let made = tx.fold(|_| f.call(pos, kw.as_ref()))?;
            return Ok(Some(Flow::Value(made)));
        }
        // Options of torch's tracer for a part of a function, which mean nothing here.
        (names::DYNAMO_DECORATORS, "patch_dynamo_config" | "error_on_graph_break")
            if let Some((pos, kw)) = tx.constants(args)? =>
        {
            let pos = PyTuple::new(py, pos)?;
            let made = tx.fold(|_| f.call(pos, kw.as_ref()))?;
            return Ok(Some(Flow::Value(made)));
        }
        (names::DYNAMO_DECORATORS, "__enter__" | "__exit__")
            if [
                "DynamoConfigPatchProxy.",
                "ErrorOnGraphBreakDecoratorContextManager.",
            ]
            .iter()
            .any(|class| named.qualname(f).starts_with(class)) =>
        {
            return crate::tracer_options::tracer_options(tx, f, &named.name, args).map(Some);
        }
        (names::DYNAMO_DECORATORS, "mark_static") => {
            return Ok(Some(Flow::Value(tx.none())));
        }
        // Tells torch's tracer that a compiled module runs; marks nodes of the graphs that torch makes.
        (names::DYNAMO_EVAL_FRAME, "_set_in_optimized_module")
        | ("torch.fx.traceback", "annotate") => {
            let nothing = py.import("contextlib")?.getattr("nullcontext")?;
            return tx
                .call(&Var::py(nothing.unbind()), Args::default())
                .map(Some);
        }
        // torch.compile's own bookkeeping, hung on `nn.Module.__init__` once it was used.
        (names::DYNAMO_MUTATION_GUARD, "tag") => return Ok(Some(Flow::Value(tx.none()))),
        // Sizes that depend on data are none of this tracer's.
        (names::SYMBOLIC_SHAPES, "has_free_unbacked_symbols")
        | ("torch.compiler", "is_exporting")
        | (names::JIT_INTERNAL, "is_scripting")
        | ("torch.jit._trace", "is_tracing")
        | ("torch.onnx", "is_in_onnx_export") => {
            return Ok(Some(Flow::Value(tx.bool(false))));
        }
        // Those of rows that differ in length are no numbers here.
        (names::SYMBOLIC_SHAPES, "is_nested_int")
            if let [v] = args.pos.as_slice()
                && matches!(tx.look(v)?, Var::Int(_) | Var::Const(_)) =>
        {
            return Ok(Some(Flow::Value(tx.bool(false))));
        }
        // `torch.fx` traces in a thread, not in a process.
        ("torch.fx._symbolic_trace", "is_fx_tracing" | "is_fx_symbolic_tracing") => {
            let asked = py
                .import(named.module.as_str())?
                .getattr("_get_is_fx_tracing")?;
            let now = asked.call0()?;
            tx.guard_call(&asked.unbind(), None, &[], &now)?;
            return Ok(Some(Flow::Value(tx.bool(
                now.is_truthy()? && named.name != "is_fx_symbolic_tracing",
            ))));
        }
        (names::SYMBOLIC_SHAPES, "_advise_is_size" | "_advise_is_bounded") => {
            return Ok(Some(Flow::Value(tx.none())));
        }
        // Tells TorchScript a type; the value is its second argument.
        ("torch.jit", "annotate") if args.pos.len() == 2 && args.kw.is_empty() => {
            return Ok(Some(Flow::Value(args.pos[1].clone())));
        }
        (m, "graph_break") if m.starts_with("ferrodyn") || m.starts_with(names::DYNAMO) => {
            return graph_break(tx, named, args).map(Some);
        }
        (names::DYNAMO_DECORATORS, "skip_frame") => {
            return Err(Stop::Break(Box::new(BreakReason {
                reason: "Call to `skip_frame()`".into(),
                explanation: "The program asks for this function to run in eager mode; what it calls may be captured.".into(),
                hints: vec!["Remove the `skip_frame()` call.".into()],
                instead: Some(Instead::SkipFrame),
                ..BreakReason::default()
            })));
        }
        (names::DYNAMO_DECORATORS, "step_unsupported") => {
            return Err(Stop::brk(
                "Call to `step_unsupported()`",
                "The program asks for the graph to end here.",
                "Remove the `step_unsupported()` call.",
            ));
        }
        _ => {}
    }
    Ok(None)
}

/// `graph_break()`, of Ferrodyn or of torch.
fn graph_break(tx: &mut Tx<'_>, named: &Named, args: &Args) -> R<Flow> {
    // Optimizers keep compilers from tracing their writes together with what records gradients.
    // One of the two calls comes in front of a step, the other behind it. In a generator, from where
    // there is no way back, they break.
    if named.module == names::DYNAMO_DECORATORS
        && tx.ways.here.is_some()
        && tx.st.frame.code.filename.ends_with(OPTIMIZER)
    {
        if tx.before_step.is_none() {
            tx.before_step = Some(Box::new(tx.ways.clone()));
        } else if tx.st.frame.handling.is_empty() {
            tx.before_step = None;
            tx.facts.has_step = true;
        } else {
            return Err(Stop::unsupported("an optimizer whose step raises"));
        }
        return Ok(Flow::Value(tx.none()));
    }
    let text = match args.pos.first().or(args.kw.first().map(|k| &k.1)) {
        Some(Var::Const(o)) => o.bind(tx.py).str()?.to_string(),
        _ => String::new(),
    };
    Err(Stop::Break(Box::new(BreakReason {
        reason: "Call to `graph_break()`".into(),
        explanation: format!(
            "User-inserted graph break. Message: {}",
            if text.is_empty() { "None" } else { &text }
        ),
        hints: vec!["Remove the `graph_break()` call.".into()],
        context: format!(
            "called `{}.graph_break` with message `{text}`",
            named.module
        ),
        ..BreakReason::default()
    })))
}

/// What is to be done with a function by an attribute that torch or the program has set on it.
fn by_mark<'py>(
    tx: &mut Tx<'py>,
    f: &Bound<'py, PyAny>,
    source: Option<SourceId>,
    named: &Named,
    args: &Args,
) -> R<Option<Flow>> {
    let flag = |n: &str| f.getattr(n).is_ok_and(|v| v.is_truthy().unwrap_or(false));
    if flag("_dynamo_forbidden") {
        let text = qualified_name(f);
        return Err(Stop::Break(Box::new(BreakReason {
            reason: format!("Call to the forbidden function `{text}`"),
            explanation: "The function is marked with `forbid_in_graph`: no compiled function may call it.".into(),
            hints: vec!["Do not call it in compiled code, or mark it with `torch.compiler.disable` to run it between two graphs.".into()],
            instead: Some(Instead::Raise),
            ..BreakReason::default()
        })));
    }
    if flag("_torchdynamo_disable") {
        // torch.compile marks this one for itself, for all optimizers, once it is used.
        if named.name == "_init_group"
            && named.module.starts_with("torch.optim.")
            && let Ok(inner) = f.getattr("_torchdynamo_orig_callable")
        {
            return tx.call(&Var::py(inner.unbind()), args.clone()).map(Some);
        }
        return Err(disabled(f));
    }
    // The outer choices hold for what torch.compile has compiled.
    if is_compiled_by_torch(f) {
        let base = match source {
            Some(s) => s,
            None => tx.pinned_source(&f.clone().unbind(), true, "___compiled"),
        };
        let inline = tx.source(Source::Attr {
            base,
            name: "_torchdynamo_inline".into(),
        });
        let inner = tx.build(&f.getattr("_torchdynamo_inline")?.unbind(), inline)?;
        return tx.call(&inner, args.clone()).map(Some);
    }
    // A region that is to be compiled once; in another, it is part of that.
    if let Ok(mut inner) = f.getattr("__marked_compile_region_fn__") {
        while let Ok(innermost) = inner.getattr("__marked_compile_region_fn__") {
            inner = innermost;
        }
        return crate::regions::call(tx, &Var::py(inner.unbind()), args.clone());
    }
    if flag("_dynamo_marked_constant")
        && let Some((pos, kw)) = tx.constants(args)?
    {
        let pos = PyTuple::new(tx.py, pos)?;
        return tx
            .fold(|_| f.call(pos, kw.as_ref()))
            .map(|v| Some(Flow::Value(v)));
    }
    Ok(None)
}

/// Whether a function acts outside of a graph, by what it belongs to.
fn is_skipped<'py>(tx: &Tx<'py>, f: &Bound<'py, PyAny>, named: &Named) -> R<bool> {
    let (module, name) = (named.module.as_str(), named.name.as_str());
    let qualname = || named.qualname(f);
    let graph = tx.is_graph_function(f)?;
    let inlined_anyway = is_pure_stdlib(f, named)
        // What it says of a type is computed from the type's name alone.
        || matches!(module, "numpy._core.getlimits" | "numpy.core.getlimits")
        || module == names::DYNAMO_MUTATION_GUARD
        || module == "torch.autograd.grad_mode"
        || module == "torch.cuda.amp.autocast_mode"
        // The program's own use of it may end behind a break.
        || module == names::FORWARD_AD
        // Where there is one graph, what it refuses ends in it.
        || (tx.st.levels.whole > 0 || tx.ints.is_whole)
            && module == "torch.autograd.graph"
            && name == "disable_saved_tensors_hooks"
        || matches!(module, "torch.autograd.profiler" | "torch.autograd.function")
            && name == "__init__"
        // How a class is called whose calls a tracer may see.
        || name == "__call__" && qualname() == "ProxyableClassMeta.__call__"
        || module == names::DYNAMO_EXTERNAL_UTILS
            && qualname().starts_with("wrap_dunder_call_ctx_manager")
        || module == names::DYNAMO_EVAL_FRAME
            && matches!(
                name,
                "__call__" | "__getattr__" | "__setattr__" | "__delattr__" | "__len__" | "training"
            )
            && qualname().starts_with("OptimizedModule.")
        // What asks torch's own tracer something does nothing without it.
        || module.strip_prefix(names::DYNAMO) == Some(".comptime") && name != "graph_break"
        || module == "torch.fx.graph_module" && matches!(name, "call_wrapped" | "__call__")
        || named.is_under(&DISTRIBUTED_TENSORS);
    if !graph
        && !inlined_anyway
        && tx.rules.of(f).is_none()
        && (named.is_under(&SKIPPED_TORCH)
            || named.is_under(&SKIPPED_STDLIB)
            || module.starts_with("numpy"))
    {
        return Ok(true);
    }
    let file: String = f
        .getattr("__code__")
        .and_then(|c| c.getattr("co_filename"))
        .and_then(|n| n.extract())
        .unwrap_or_default();
    Ok(file.ends_with("torch/_compile.py") && tx.rules.of(f).is_none())
}

/// C functions that read or change torch's global state; `None` where there is no rule.
///
/// # Errors
/// A break for arguments that are not constants.
pub fn torch_state_call<'py>(
    tx: &mut Tx<'py>,
    f: &Bound<'py, PyAny>,
    args: &Args,
) -> R<Option<Flow>> {
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
    if tx.st.levels.records() && (module.ends_with("_functorch") || name.contains("functorch")) {
        return Err(Stop::unsupported(format!("{name} in a transform")));
    }
    if let Some(answer) = crate::function_modes::modes_question(tx, &name, args)? {
        return Ok(Some(Flow::Value(answer)));
    }
    let value = match name.as_str() {
        setter if torch_abi::contexts::flag_getter(setter).is_some() => {
            return crate::flags::set_flag(tx, f, args).map(|v| v.map(Flow::Value));
        }
        getter if tx.st.flags.contains_key(getter) => tx.st.flags[getter].clone(),
        "_set_grad_enabled" => {
            let enabled = match args.pos.first() {
                Some(v) => tx.truth(&v.clone())?,
                None => return Ok(None),
            };
            tx.set_grad_enabled(&f.clone().unbind(), enabled)?;
            tx.none()
        }
        "_log_api_usage_once" => tx.none(),
        // Nothing is captured while `torch.jit.trace` records, and the thread's dispatch keys say so.
        "_get_tracing_state" => tx.none(),
        "_is_tracing" => tx.bool(false),
        n if query_traits(n).any(Does::QUERY | Does::STATE_QUERY)
            || matches!(n, "_mps_is_available" | "_cuda_isInBadFork")
            || n.starts_with("_is_")
            || n.starts_with("_get_")
            || n.starts_with("get_")
            || n.starts_with("is_") =>
        {
            match tx.constants(args)? {
                Some((pos, kw)) => {
                    if kw.is_none() && !query_traits(n).any(Does::STATE_QUERY) {
                        let now = f.call1(PyTuple::new(tx.py, &pos)?);
                        if let Ok(now) = now {
                            tx.guard_call(&f.clone().unbind(), None, &pos, &now)?;
                        }
                    }
                    let pos = PyTuple::new(tx.py, pos)?;
                    return tx
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

/// What is known of a function of torch's, by its name.
fn query_traits(name: &str) -> Traits {
    tensor_meta::function_traits(&format!("torch.{name}"))
}

/// Functions of modules listed in [`SKIPPED_STDLIB`] that only read: the environment (each variable
/// that was read is guarded), signatures, kinds of objects.
fn is_pure_stdlib(f: &Bound<'_, PyAny>, named: &Named) -> bool {
    let (name, qualname) = (named.name.as_str(), || named.qualname(f));
    match named.module.as_str() {
        "os" => match name {
            "getenv" | "getenvb" | "fspath" | "fsencode" | "fsdecode" => true,
            "encode" | "decode" | "check_str" => codes_environment(f).unwrap_or(false),
            "__getitem__" | "__len__" | "__iter__" | "copy" => qualname().starts_with("_Environ."),
            _ => false,
        },
        "inspect" => {
            name.starts_with("is")
                || matches!(
                    name,
                    "_has_code_flag"
                        | "unwrap"
                        | "_is_wrapper"
                        | "getmro"
                        | "getdoc"
                        | "_getowndoc"
                        | "_finddoc"
                        | "_findclass"
                        | "cleandoc"
                        | "getfullargspec"
                )
                || ["Signature.", "Parameter.", "BoundArguments."]
                    .iter()
                    .any(|c| qualname().starts_with(c))
        }
        // Paths as texts: what asks the file system is a method of `Path`.
        "pathlib" | "pathlib._local" | "pathlib._abc" => {
            let qualname = qualname();
            let pure = [
                "PurePath.",
                "PurePathBase.",
                "PurePosixPath.",
                "_PathParents.",
                "_Flavour.",
                "_PosixFlavour.",
            ];
            pure.iter().any(|class| qualname.starts_with(class))
                || matches!(
                    &*qualname,
                    "Path.__new__" | "Path.__init__" | "_is_case_sensitive"
                )
        }
        _ => false,
    }
}

/// Whether a function codes names or values of the environment for `os.environ` or `os.environb`.
fn codes_environment(f: &Bound<'_, PyAny>) -> PyResult<bool> {
    let os = f.py().import("os")?.dict();
    let Some(class) = os.get_item("_Environ")? else {
        return Ok(false);
    };
    for name in ["environ", "environb"] {
        let Some(environ) = os.get_item(name)?.filter(|e| e.get_type().is(&class)) else {
            continue;
        };
        let held = environ.getattr("__dict__")?.cast_into::<PyDict>()?;
        if held.iter().any(|(_, value)| value.is(f)) {
            return Ok(true);
        }
    }
    Ok(false)
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
