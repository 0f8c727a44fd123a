//! Names of torch's modules and attributes that the boundary to backends needs. Only strings.

/// The tensor behind one whose rows differ in length.
pub const VALUES: &str = "_values";
/// Method of a wrapper subclass: which tensors one holds, and what else it takes to make it again.
pub const FLATTEN: &str = "__tensor_flatten__";
/// Module of the dispatcher to kernels of Python.
pub const PYTHON_DISPATCH: &str = "torch._dispatch.python";
/// Module of what torch's tracer keeps of inputs.
pub const INPUT_BUILDER: &str = "torch._dynamo.variables.builder";
/// Class of that, in [`INPUT_BUILDER`].
pub const GRAPH_ARGUMENT: &str = "GraphArg";
/// Its key in the metadata of a placeholder.
pub const GRAPH_ARGUMENT_KEY: &str = "grapharg";
/// Public package of graphs.
pub const FX: &str = "torch.fx";
/// Module of `Graph`.
pub const FX_GRAPH: &str = "torch.fx.graph";
/// Module of `Node`.
pub const FX_NODE: &str = "torch.fx.node";
/// Module of the lazy graph module.
pub const FX_LAZY: &str = "torch.fx._lazy_graph_module";
/// Class whose code is generated at first use, in [`FX_LAZY`].
pub const LAZY_GRAPH_MODULE: &str = "_LazyGraphModule";
/// Its `forward` until then.
pub const LAZY_FORWARD: &str = "_lazy_forward";
/// Module of options of `torch.fx`.
pub const FX_CONFIG: &str = "torch.fx.experimental._config";
/// Whether generated code carries metadata for the profiler, in [`FX_CONFIG`].
pub const ENRICH_PROFILER: &str = "enrich_profiler_metadata";
/// Classes of torch whose objects are told by their text.
pub const TOLD_BY_TEXT: [&str; 5] = ["dtype", "device", "layout", "memory_format", "Size"];
/// torch's C extension.
pub const TORCH_C: &str = "torch._C";
/// Function of torch that counts an autocast entered, and gives how many are.
pub const NEST_AUTOCAST: &str = "autocast_increment_nesting";
/// The same for one that was left.
pub const UNNEST_AUTOCAST: &str = "autocast_decrement_nesting";
/// Functions of [`TORCH_C`] that give the dispatch keys which this thread includes and excludes.
pub const DISPATCH_KEYS: [&str; 2] = [
    "_dispatch_tls_local_include_set",
    "_dispatch_tls_local_exclude_set",
];
/// Class in [`TORCH_C`] of contexts with such keys in force.
pub const HOLD_DISPATCH_KEYS: &str = "_ForceDispatchKeyGuard";
/// Module of function transforms in [`TORCH_C`].
pub const FUNCTORCH: &str = "_functorch";
/// Settings of torch, by module and name, of what does not look at the base of inputs that share memory: views are made
/// by doing again what made them, results are cached.
pub const BLIND_TO_BASES: [(&str, &str); 2] = [
    ("torch._functorch.config", "view_replay_for_aliased_outputs"),
    ("torch._functorch.config", "enable_autograd_cache"),
];
/// Those of caches that note nothing about sizes which are no inputs.
pub const BLIND_TO_SIZES: [(&str, &str); 2] = [
    ("torch._functorch.config", "enable_autograd_cache"),
    ("torch._inductor.config", "fx_graph_cache"),
];
/// Holder of torch's functions in [`TORCH_C`].
pub const FUNCTIONS: &str = "_VariableFunctions";
/// Base class of `Node`, in [`TORCH_C`].
pub const NODE_BASE: &str = "_NodeBase";
/// torch's registry of backends. Importing it runs all of `torch._dynamo`.
pub const BACKEND_REGISTRY: &str = "torch._dynamo.backends.registry";
/// Where torch defines [`RUN_AS_THEY_ARE`].
pub const DEBUG_BACKENDS: &str = "torch._dynamo.backends.debugging";
/// Backends in [`BACKEND_REGISTRY`] that run AOTAutograd's graphs as they are.
pub const RUN_AS_THEY_ARE: [&str; 2] = ["aot_eager", "aot_eager_decomp_partition"];
/// The default backend, in [`BACKEND_REGISTRY`].
pub const DEFAULT_BACKEND: &str = "_default_backend";
/// Class name of the error for an unknown backend.
pub const INVALID_BACKEND: &str = "InvalidBackend";
/// Class in `torch` that is the `inductor` backend with its mode and options.
pub const INDUCTOR_WRAPPER: &str = "_TorchCompileInductorWrapper";
/// Modules and packages whose callables trace the graph once more.
pub const AOT_MODULES: [&str; 6] = [
    "torch._inductor",
    "torch._functorch",
    "torch._dynamo.backends.common",
    "torch._dynamo.backends.cudagraphs",
    "torch._dynamo.backends.inductor",
    "torch._dynamo.backends.torchxla",
];
/// Paths of nodes that are control flow operators of graphs.
pub const CONTROL_FLOW: [&str; 4] = [
    "torch.cond",
    "torch.while_loop",
    "torch._higher_order_ops.map",
    "torch._higher_order_ops.scan",
];
/// Module of the flag that `torch.compiler.is_compiling()` reads.
pub const COMPILER: &str = "torch.compiler";
/// That flag.
pub const IS_COMPILING: &str = "_is_compiling_flag";
/// Module of tracing and compile contexts.
pub const GUARDS: &str = "torch._guards";
/// What is in force in this thread, in [`GUARDS`].
pub const IN_FORCE: &str = "_TLS";
/// The tracing context, in [`IN_FORCE`].
pub const TRACING: &str = "tracing_context";
/// The compile context, in [`IN_FORCE`].
pub const COMPILING: &str = "compile_context";
/// Class of that.
pub const COMPILE_CONTEXT: &str = "CompileContext";
/// What a tracing context keeps of guards.
pub const GUARDS_CONTEXT: &str = "guards_context";
/// Module of `ShapeEnv`.
pub const SYMBOLIC_SHAPES: &str = "torch.fx.experimental.symbolic_shapes";
/// Module of `FakeTensorMode`.
pub const FAKE_TENSOR: &str = "torch._subclasses.fake_tensor";
/// Module of torch's sources.
pub const SOURCE: &str = "torch._dynamo.source";
/// Attribute of a placeholder node: where the value comes from.
pub const NODE_SOURCE: &str = "_dynamo_source";
/// Attribute of a graph module: sources of its parameters and buffers.
pub const PARAM_SOURCES: &str = "_param_name_to_source";
/// Keys of a node's `meta` that torch's tracer writes besides the value: of a placeholder, and of a call.
pub const TENSOR_DICT: &str = "tensor_dict";
/// The other one.
pub const SOURCE_STACK: &str = "source_fn_stack";
/// Key of a node's `meta`: the modules that were being called.
pub const MODULE_STACK: &str = "nn_module_stack";
/// Module of torch's layers.
pub const LAYERS: &str = "torch.nn.modules";
/// Module of those that only hold others.
pub const CONTAINERS: &str = "torch.nn.modules.container";
/// Key of a node's `meta`: its fake value.
pub const EXAMPLE_VALUE: &str = "example_value";
/// Method of a tensor whose result is a number of its data.
pub const READ_NUMBER: &str = "item";
/// Module of the stack of dispatch modes.
pub const PYTHON_MODES: &str = "torch.utils._python_dispatch";
/// The context without any, in [`PYTHON_MODES`].
pub const WITHOUT_MODES: &str = "_disable_current_modes";
/// Field of a graph module that holds its graph.
pub const GRAPH_FIELD: &str = "_graph";
/// Attributes of a graph of `torch.fx` through which its nodes are reached. What a version of torch lacks is not there.
pub const LEADS_TO_NODES: [&str; 5] = [
    "_root",
    "_insert",
    "_len",
    "_graph_namespace",
    "_find_nodes_lookup_table",
];
/// Key of a node's `meta`: where in its value symbols without a value are.
pub const UNBACKED_BINDINGS: &str = "unbacked_bindings";
/// Key of `gm.meta`: which compilation made the module.
pub const COMPILE_ID: &str = "dynamo_compile_id";
/// Key of a placeholder's `tensor_dict`: the tensor's storage stays where it is.
pub const STATIC_INPUT: &str = "_dynamo_static_input_type";
/// Module of `Interpreter`.
pub const FX_INTERPRETER: &str = "torch.fx.interpreter";
/// Attribute of a graph module: positions of nodes by lines of `forward`, counted from its first.
pub const LINES_OF_NODES: &str = "_lineno_map";
/// Class of the exception by which a backend asks to be called again.
pub const RESTART: (&str, &str) = ("torch._dynamo.exc", "TensorifyScalarRestartAnalysis");
/// What keeps in between which floats are to be constants.
pub const TENSORIFY_STATE: (&str, &str) = ("torch._dynamo.symbolic_convert", "TensorifyState");
/// The names of their symbols there.
pub const CONSTANT_FLOATS: &str = "force_specializations";
/// Of a fake tensor: the number that reading it gives.
pub const NUMBER_READ: &str = "item_memo";
/// Class of the exception by which a backend asks that the function runs in eager mode.
pub const SKIP_FRAME: (&str, &str) = ("torch._dynamo.exc", "SkipFrame");
/// Class of exceptions that torch lets through as they are, with less of a traceback.
pub const SHORTEN_TRACEBACK: (&str, &str) = ("torch._dynamo.exc", "ShortenTraceback");
/// Classes of exceptions by which fake tensors refuse an operation: it needs data, or it has no
/// implementation for them.
pub const REFUSALS: [(&str, &str); 6] = [
    (FAKE_TENSOR, "DataDependentOutputException"),
    (FAKE_TENSOR, "DynamicOutputShapeException"),
    (FAKE_TENSOR, "UnsupportedOperatorException"),
    (FAKE_TENSOR, "UnsupportedFakeTensorException"),
    (FAKE_TENSOR, "UnsupportedMutationAliasingException"),
    (SYMBOLIC_SHAPES, "GuardOnDataDependentSymNode"),
];
/// Function that torch's C++ code asks for the dispatch rule of a class or a mode; the kernels that ask it throw no
/// exception on.
pub const FIND_DISPATCH_RULE: (&str, &str) =
    ("torch._library.simple_registry", "find_torch_dispatch_rule");
/// From a mode of fake tensors to what describes tensors for it.
pub const DESCRIBER: [&str; 3] = ["fake_tensor_converter", "meta_converter", "describer"];
/// What it knows of tensors that it has described.
pub const DESCRIBED: [&str; 2] = ["lookup_tensor", "lookup_storage"];
/// Module of the classes of operators.
pub const TORCH_OPS: &str = "torch._ops";
/// Module of inductor's options.
pub const INDUCTOR_CONFIG: &str = "torch._inductor.config";
