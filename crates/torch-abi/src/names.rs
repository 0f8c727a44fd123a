//! Names of the torch modules, classes and functions that any part of Ferrodyn asks for.
//!
//! Only strings. Invariant: a torch name with an underscore is written nowhere else.

/// The package.
pub const TORCH: &str = "torch";
/// Its C extension.
pub const TORCH_C: &str = "torch._C";
/// What torch's guards are made of.
pub const GUARDS_OF_TORCH_C: &str = "torch._C._dynamo.guards";
/// Function of [`GUARDS_OF_TORCH_C`] by which AOTAutograd finds which tensors share memory.
pub const OVERLAPPING: &str = "compute_overlapping_tensors";
/// Base class of every tensor, in [`TORCH_C`].
pub const TENSOR_BASE: &str = "TensorBase";
/// Module of `Parameter` and `Buffer`.
pub const NN_PARAMETER: &str = "torch.nn.parameter";
/// Module of `Module` and of the global hook dictionaries.
pub const NN_MODULE: &str = "torch.nn.modules.module";
/// The module of torch's profiler.
pub const PROFILER: &str = "torch.autograd.profiler";
/// Its function that notes that a profiler begins or ends.
pub const SET_PROFILER_ENABLED: &str = "_set_is_profiler_enabled";
/// Where it notes that.
pub const PROFILER_ENABLED: &str = "_is_profiler_enabled";
/// The module of spans,
pub const C_PROFILER: &str = "torch._C._profiler";
/// and their class.
pub const RECORD_FUNCTION: &str = "_RecordFunctionFast";
/// What `Module.__call__` calls where the module was not compiled by itself.
pub const CALL_IMPL: &str = "_call_impl";
/// What it calls otherwise.
pub const COMPILED_CALL_IMPL: &str = "_compiled_call_impl";
/// Those of a module that are called in the backward pass.
pub(crate) const BACKWARD_HOOKS: [&str; 2] = ["_backward_pre_hooks", "_backward_hooks"];

/// Module of the collectives that give new tensors.
pub const FUNCTIONAL_COLLECTIVES: &str = "torch.distributed._functional_collectives";
/// Module of the operator of `flex_attention`.
pub const FLEX_ATTENTION: &str = "torch._higher_order_ops.flex_attention";

/// Module of what operators take beside tensors and numbers.
pub const CUSTOM_OBJECTS: &str = "torch._library.opaque_object";
/// The table of their classes, in [`CUSTOM_OBJECTS`].
pub(crate) const CUSTOM_CLASSES: &str = "_OPAQUE_TYPES";
/// What the table calls classes of constants, in different versions of torch.
pub(crate) const CONSTANT_KINDS: [&str; 2] = ["constant", "value"];
/// What it calls a member that is a constant.
pub(crate) const CONSTANT_MEMBER: &str = "USE_REAL";

/// Dictionaries of a module's tensors.
pub const MODULE_TENSORS: [&str; 2] = ["_parameters", "_buffers"];

/// Dictionaries of hooks in [`NN_MODULE`].
pub const GLOBAL_HOOKS: [&str; 4] = [
    "_global_backward_pre_hooks",
    "_global_backward_hooks",
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
];
/// Dictionaries of hooks of a module.
pub const MODULE_HOOKS: [&str; 4] = [
    "_backward_hooks",
    "_backward_pre_hooks",
    "_forward_hooks",
    "_forward_pre_hooks",
];
/// Module that holds the default device.
pub const UTILS_DEVICE: &str = "torch.utils._device";
/// Keeps the level of forward-mode differentiation.
pub const FORWARD_AD: &str = "torch.autograd.forward_ad";
/// The level in [`FORWARD_AD`]: below zero outside all levels.
pub const FORWARD_LEVEL: &str = "_current_level";
/// The default device in [`UTILS_DEVICE`]: `None` or a `torch.device`.
pub const CURRENT_DEVICE: &str = "CURRENT_DEVICE";
/// `DispatchKeySet` class in [`TORCH_C`].
pub const DISPATCH_KEY_SET: &str = "DispatchKeySet";
/// Names a key set, in [`TORCH_C`].
pub const DISPATCH_KEYSET_TO_STRING: &str = "_dispatch_keyset_to_string";
/// The set of the key that is included while `torch.jit.trace` records, as text.
pub const TRACER_KEY_SET: &str = "DispatchKeySet(Tracer)";
/// Key set of a tensor, in [`TORCH_C`].
pub const DISPATCH_KEYS: &str = "_dispatch_keys";
/// The thread's included keys, in [`TORCH_C`].
pub const TLS_INCLUDE_SET: &str = "_dispatch_tls_local_include_set";
/// The thread's excluded keys, in [`TORCH_C`].
pub const TLS_EXCLUDE_SET: &str = "_dispatch_tls_local_exclude_set";
/// Mode at a position of the torch function mode stack, in [`TORCH_C`].
pub const FUNCTION_STACK_AT: &str = "_get_function_stack_at";
/// How many function modes are on it, in [`TORCH_C`].
pub const FUNCTION_STACK_LEN: &str = "_len_torch_function_stack";
/// Puts a torch function mode on the stack, in [`TORCH_C`].
pub const PUSH_FUNCTION_MODE: &str = "_push_on_torch_function_stack";
/// Takes the innermost one off, in [`TORCH_C`].
pub const POP_FUNCTION_MODE: &str = "_pop_torch_function_stack";
/// Context manager of inference mode, in [`TORCH_C`].
pub const INFERENCE_GUARD: &str = "_InferenceMode";
/// Number of CUDA devices, in [`TORCH_C`].
pub const CUDA_DEVICE_COUNT: &str = "_cuda_getDeviceCount";
/// Whether cuBLAS may use TF32, in [`TORCH_C`].
pub const CUBLAS_ALLOW_TF32: &str = "_get_cublas_allow_tf32";
/// Whether fp16 matrix products may reduce in fp16, in [`TORCH_C`].
pub const CUBLAS_FP16_REDUCTION: &str = "_get_cublas_allow_fp16_reduced_precision_reduction";
/// Whether bf16 matrix products may reduce in bf16, in [`TORCH_C`].
pub const CUBLAS_BF16_REDUCTION: &str = "_get_cublas_allow_bf16_reduced_precision_reduction";
/// How many dispatch modes the thread is in, in [`TORCH_C`].
pub const DISPATCH_MODES: &str = "_len_torch_dispatch_stack";
/// The dispatch mode at a place of the stack, in [`TORCH_C`].
pub const DISPATCH_MODE_AT: &str = "_get_dispatch_stack_at";
/// The method of a dispatch mode that says whether it is torch's own machinery.
pub const IS_INFRA_MODE: &str = "is_infra_mode";
/// The method of a dispatch mode that says whether it wants to see no compiled code.
pub const IGNORES_COMPILED: &str = "ignore_compile_internals";
/// Whether a transform of `torch.func` is active in this thread, in [`TORCH_C`].
pub const TRANSFORMS_ACTIVE: &str = "_are_functorch_transforms_active";
/// Submodule of [`TORCH_C`].
pub const AUTOGRAD_C: &str = "_autograd";
/// Innermost hooks on saved tensors, in [`AUTOGRAD_C`].
pub const SAVED_TENSORS_HOOKS: &str = "_top_saved_tensors_default_hooks";
/// Says that operations are traced, for which hooks on saved tensors are not called, in [`AUTOGRAD_C`].
pub const SET_HOOKS_TRACING: &str = "_saved_tensors_hooks_set_tracing";
/// Class of generators of random numbers, in [`TORCH_C`].
pub const GENERATOR: &str = "Generator";
/// Context manager that turns `__torch_function__` and its modes off, in [`TORCH_C`].
pub const DISABLE_TORCH_FUNCTION: &str = "DisableTorchFunction";

/// Attributes that mark a tensor's dimensions as dynamic or static; a plain input has none of them.
pub const DYNAMIC_MARKS: [&str; 5] = [
    "_dynamo_dynamic_indices",
    "_dynamo_weak_dynamic_indices",
    "_dynamo_unbacked_indices",
    "_dynamo_strict_unbacked_indices",
    "_dynamo_static_indices",
];

/// C symbols, by library.
pub mod c {
    /// Core library.
    pub const C10: &str = "libc10";
    /// Operators and dispatcher.
    pub const TORCH_CPU: &str = "libtorch_cpu";

    /// `bool c10::TensorImpl::requires_grad() const`.
    pub const REQUIRES_GRAD: &str = "_ZNK3c1010TensorImpl13requires_gradEv";
    /// `bool c10::GradMode::is_enabled()`.
    pub const GRAD_MODE: &str = "_ZN3c108GradMode10is_enabledEv";
    /// `bool c10::InferenceMode::is_enabled()`.
    pub const INFERENCE_MODE: &str = "_ZN3c1013InferenceMode10is_enabledEv";
    /// `void c10::GradMode::set_enabled(bool)`.
    pub const SET_GRAD_MODE: &str = "_ZN3c108GradMode11set_enabledEb";
    /// `AutogradState& c10::AutogradState::get_tls_state()`.
    pub const AUTOGRAD_STATE: &str = "_ZN3c1013AutogradState13get_tls_stateEv";
    /// `c10::ScalarType c10::get_default_dtype_as_scalartype()`.
    pub const DEFAULT_DTYPE: &str = "_ZN3c1031get_default_dtype_as_scalartypeEv";
    /// Thread-local `c10::impl::raw_local_dispatch_key_set`.
    pub const LOCAL_KEYS: &str = "_ZN3c104impl26raw_local_dispatch_key_setE";
    /// `at::Context& at::globalContext()`.
    pub const GLOBAL_CONTEXT: &str = "_ZN2at13globalContextEv";
    /// `bool at::Context::deterministicAlgorithms() const`.
    pub const DETERMINISTIC: &str = "_ZNK2at7Context23deterministicAlgorithmsEv";
    /// `bool at::Context::deterministicAlgorithmsWarnOnly() const`.
    pub const DETERMINISTIC_WARN: &str = "_ZNK2at7Context31deterministicAlgorithmsWarnOnlyEv";
    /// `bool at::autocast::is_autocast_enabled(DeviceType)`.
    pub const AUTOCAST_ENABLED: &str = "_ZN2at8autocast19is_autocast_enabledEN3c1010DeviceTypeE";
    /// `ScalarType at::autocast::get_autocast_dtype(DeviceType)`.
    pub const AUTOCAST_DTYPE: &str = "_ZN2at8autocast18get_autocast_dtypeEN3c1010DeviceTypeE";
    /// `bool at::autocast::is_autocast_cache_enabled()`.
    pub const AUTOCAST_CACHE: &str = "_ZN2at8autocast25is_autocast_cache_enabledEv";
    /// `PythonTorchFunctionTLS::get_disabled_state()`.
    pub const TORCH_FUNCTION_STATE: &str =
        "_ZN2at4impl22PythonTorchFunctionTLS18get_disabled_stateEv";
    /// `PythonTorchFunctionTLS::stack_len()`.
    pub const TORCH_FUNCTION_STACK: &str = "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv";
    /// `PythonTorchFunctionTLS::set_disabled_state(TorchFunctionDisabledState)`.
    pub const SET_TORCH_FUNCTION_STATE: &str =
        "_ZN2at4impl22PythonTorchFunctionTLS18set_disabled_stateENS0_26TorchFunctionDisabledStateE";
    /// `const PythonTorchFunctionTLS& PythonTorchFunctionTLS::get_state()`.
    pub const TORCH_FUNCTION_TLS: &str = "_ZN2at4impl22PythonTorchFunctionTLS9get_stateEv";
    /// Stable C ABI.
    pub const GET_SIZES: &str = "aoti_torch_get_sizes";
    /// Stable C ABI.
    pub const GET_STRIDES: &str = "aoti_torch_get_strides";
    /// Stable C ABI.
    pub const GET_DIM: &str = "aoti_torch_get_dim";
    /// Stable C ABI.
    pub const GET_DTYPE: &str = "aoti_torch_get_dtype";
    /// Stable C ABI.
    pub const GET_DEVICE_TYPE: &str = "aoti_torch_get_device_type";
    /// Stable C ABI.
    pub const GET_DEVICE_INDEX: &str = "aoti_torch_get_device_index";
    /// Stable C ABI.
    pub const GET_STORAGE_OFFSET: &str = "aoti_torch_get_storage_offset";
    /// Stable C ABI.
    pub const GET_DATA_PTR: &str = "aoti_torch_get_data_ptr";
}
/// What `torch.jit.trace` records into, or `None`.
pub const TRACING_STATE: &str = "_get_tracing_state";

/// Path of the function that sets the grad mode.
pub const SET_GRAD_MODE: &str = "torch._C._set_grad_enabled";
/// Path of the function that enters autocast.
pub const ENTER_AUTOCAST: &str = "torch.amp.autocast_mode._enter_autocast";
/// What a function enters that another one leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextKind {
    /// autocast, or inference mode
    Mode,
    /// a level of a function transform
    Level,
    /// the level of forward mode
    DualLevel,
    /// a state in which hooks on saved tensors are refused
    RefusesHooks,
}
/// Functions that enter a context, and those that leave it.
pub const CONTEXTS: [(ContextKind, &str, &str); 7] = [
    (
        ContextKind::Mode,
        ENTER_AUTOCAST,
        "torch.amp.autocast_mode._exit_autocast",
    ),
    (
        ContextKind::Mode,
        "torch.autograd.grad_mode._enter_inference_mode",
        "torch.autograd.grad_mode._exit_inference_mode",
    ),
    (
        ContextKind::Level,
        "torch._functorch.predispatch._vmap_increment_nesting",
        "torch._functorch.predispatch._vmap_decrement_nesting",
    ),
    (
        ContextKind::Level,
        "torch._C._functorch._grad_increment_nesting",
        "torch._C._functorch._grad_decrement_nesting",
    ),
    (
        ContextKind::Level,
        "torch._functorch.predispatch._jvp_increment_nesting",
        "torch._functorch.predispatch._jvp_decrement_nesting",
    ),
    (
        ContextKind::DualLevel,
        "torch._functorch.predispatch._enter_dual_level",
        "torch._functorch.predispatch._exit_dual_level",
    ),
    (
        ContextKind::RefusesHooks,
        "torch._C._autograd._saved_tensors_hooks_disable",
        "torch._C._autograd._saved_tensors_hooks_enable",
    ),
];
/// Function of [`TORCH_C`] that reads the grad mode.
pub const GRAD_MODE: &str = "is_grad_enabled";
/// Functions of [`TORCH_C`] that set a flag, and those that read it.
pub const FLAGS: [(&str, &str); 6] = [
    ("_set_sdp_use_flash", "_get_flash_sdp_enabled"),
    (
        "_set_sdp_use_mem_efficient",
        "_get_mem_efficient_sdp_enabled",
    ),
    ("_set_sdp_use_math", "_get_math_sdp_enabled"),
    ("_set_sdp_use_overrideable", "_get_overrideable_sdp_enabled"),
    ("_set_sdp_use_cudnn", "_get_cudnn_sdp_enabled"),
    ("_set_sdp_priority_order", "_get_sdp_priority_order"),
];
/// Functions of [`TORCH_C`] that read whether algorithms are deterministic, and whether others only warn.
pub const DETERMINISM: [&str; 2] = [
    "_get_deterministic_algorithms",
    "_get_deterministic_algorithms_warn_only",
];
/// Functions of [`TORCH_C`] that give how many modes look at operations.
pub const MODE_STACKS: [&str; 2] = ["_len_torch_function_stack", "_len_torch_dispatch_stack"];

/// The function that sets the grad mode.
pub const SET_GRAD_ENABLED_PATH: &str = "torch._C._set_grad_enabled";
/// Its part for autograd.
pub const TORCH_C_AUTOGRAD: &str = "torch._C._autograd";
/// What reads `tensor.data`.
pub const DATA_ATTR_PATH: &str = "torch._C._autograd._get_data_attr";
/// Its part for transforms.
pub const TORCH_C_FUNCTORCH: &str = "torch._C._functorch";
/// Functions of [`TORCH_C_FUNCTORCH`] that enter and leave levels.
pub mod levels {
    /// Enters a level that batches tensors.
    pub const ENTER_BATCH: &str = "_vmap_increment_nesting";
    /// Leaves it.
    pub const LEAVE_BATCH: &str = "_vmap_decrement_nesting";
    /// Whether a tensor is wrapped for a level.
    pub const IS_WRAPPED: &str = "is_functorch_wrapped_tensor";
    /// Enters a level again that was taken from the top of the stack.
    pub const PUSH: &str = "push_dynamic_layer_stack";
    /// Takes the innermost level from the stack, and gives it.
    pub const POP: &str = "pop_dynamic_layer_stack";
    /// Leaves levels until so many are left.
    pub const LEAVE_TO: &str = "pop_dynamic_layer_stack_and_undo_to_depth";
    /// Says whether tensors in a level may be told to require gradients.
    pub const ALLOW_LEAVES: &str = "set_inplace_requires_grad_allowed";
    /// Whether they may.
    pub const ALLOWS_LEAVES: &str = "get_inplace_requires_grad_allowed";
    /// Functions that prepare a level for what is computed in it: nothing of them is left behind the level.
    pub const PREPARES: [&str; 8] = [
        "torch._C._functorch._wrap_for_grad",
        "torch._C._functorch.set_inplace_requires_grad_allowed",
        "torch._C._set_fwd_grad_enabled",
        "torch._functorch.eager_transforms._set_tensor_requires_grad",
        "torch._functorch.predispatch._add_batch_dim",
        "torch._functorch.predispatch._make_dual",
        "torch._functorch.predispatch.lazy_load_decompositions",
        "torch.autograd.forward_ad._maybe_load_decompositions",
    ];
}
/// Functions of [`TORCH_C`] that set whether forward mode records tangents, and that say whether it does.
pub const FORWARD_MODE: [&str; 2] = ["_set_fwd_grad_enabled", "_is_fwd_grad_enabled"];
/// Functions of [`TORCH_C`] and of [`PREDISPATCH`] that enter and leave the level of forward mode.
pub const DUAL_LEVEL: [&str; 2] = ["_enter_dual_level", "_exit_dual_level"];
/// Functions of [`TORCH_C_AUTOGRAD`] that refuse hooks on saved tensors, allow them again, and give the message.
pub const SAVED_HOOKS: [&str; 3] = [
    "_saved_tensors_hooks_disable",
    "_saved_tensors_hooks_enable",
    "_saved_tensors_hooks_get_disabled_error_message",
];
/// Its operations of `torch.nn.functional`.
pub const TORCH_C_NN: &str = "torch._C._nn";
/// Its operations of `torch.fft`.
pub const TORCH_C_FFT: &str = "torch._C._fft";
/// Its operations of `torch.linalg`.
pub const TORCH_C_LINALG: &str = "torch._C._linalg";
/// Its operations of `torch.special`.
pub const TORCH_C_SPECIAL: &str = "torch._C._special";
/// Its operations of `torch.sparse`.
pub const TORCH_C_SPARSE: &str = "torch._C._sparse";
/// Its operations of nested tensors.
pub const TORCH_C_NESTED: &str = "torch._C._nested";
/// What a fake tensor of offsets has once sizes were made of it.
pub const LENGTHS_OF_FAKE: &str = "nested_int_memo";
/// Module of `torch.cond`.
pub const COND: &str = "torch._higher_order_ops.cond";
/// Module of `while_loop`.
pub const WHILE_LOOP: &str = "torch._higher_order_ops.while_loop";
/// Module of `map`.
pub const MAP: &str = "torch._higher_order_ops.map";
/// Module of `scan`.
pub const SCAN: &str = "torch._higher_order_ops.scan";
/// The module of torch's scan by an operation that is associative.
pub const ASSOCIATIVE_SCAN: &str = "torch._higher_order_ops.associative_scan";
/// Module of what the operators share, and its function that compiles a call where nobody does.
pub const OPERATOR_UTILS: &str = "torch._higher_order_ops.utils";
/// See [`OPERATOR_UTILS`].
pub const COMPILED_OR_RUN: &str = "_maybe_compile_and_run_fn";
/// Package of torch's own tracer.
pub const DYNAMO: &str = "torch._dynamo";
/// Its functions for code that it makes.
pub const DYNAMO_EXTERNAL_UTILS: &str = "torch._dynamo.external_utils";
/// Its marks.
pub const DYNAMO_DECORATORS: &str = "torch._dynamo.decorators";
/// Its entries.
pub const DYNAMO_EVAL_FRAME: &str = "torch._dynamo.eval_frame";
/// Its record of changed modules.
pub const DYNAMO_MUTATION_GUARD: &str = "torch._dynamo.mutation_guard";
/// What it keeps out of graphs.
pub const DYNAMO_TRACE_RULES: &str = "torch._dynamo.trace_rules";
/// Attribute of a function that torch's tracer has wrapped: the address of what is wrapped.
pub const WRAPPER_ID: &str = "_torchdynamo_wrapper_id";
/// Module of operations that stand for what is traced.
pub const TRACE_WRAPPED: &str = "torch._dynamo._trace_wrapped_higher_order_op";
/// Package of the default compiler.
pub const INDUCTOR: &str = "torch._inductor";
/// Package of custom operations.
pub const LIBRARY: &str = "torch._library";
/// Module of `torch.library.custom_op`.
pub const CUSTOM_OPS: &str = "torch._library.custom_ops";
/// Package of fake and functional tensors.
pub const SUBCLASSES: &str = "torch._subclasses";
/// Module of fake tensors.
pub const FAKE_TENSOR: &str = "torch._subclasses.fake_tensor";
/// Module of kernels in Python.
pub const PYTHON_DISPATCH: &str = "torch._dispatch.python";
/// Module that prints tensors.
pub const TENSOR_STR: &str = "torch._tensor_str";
/// Module of the class of tensors' Python half.
pub const TENSOR_MODULE: &str = "torch._tensor";
/// Context in `torch._C` in which no `__torch_function__` is called, of a mode or of a class.
pub const NOBODY_IS_ASKED: &str = "DisableTorchFunction";
/// Context in `torch._C` in which none of a class is called.
pub const NO_CLASS_IS_ASKED: &str = "DisableTorchFunctionSubclass";
/// Whether it asks them, in [`TORCH_C`].
pub const CLASSES_ARE_ASKED: &str = "_is_torch_function_enabled";
/// Module of tracing contexts.
pub const GUARDS: &str = "torch._guards";
/// Module of symbols that stand for sizes.
pub const SYMBOLIC_SHAPES: &str = "torch.fx.experimental.symbolic_shapes";
/// `math.sqrt` of a number that is no constant, in torch.
pub const SYM_SQRT: &str = "_sym_sqrt";
/// `math.sin` of a number that is no constant, in torch.
pub const SYM_SIN: &str = "_sym_sin";
/// `math.cos` of a number that is no constant, in torch.
pub const SYM_COS: &str = "_sym_cos";
/// `math.tan` of a number that is no constant, in torch.
pub const SYM_TAN: &str = "_sym_tan";
/// `math.tanh` of a number that is no constant, in torch.
pub const SYM_TANH: &str = "_sym_tanh";
/// `math.atan` of a number that is no constant, in torch.
pub const SYM_ATAN: &str = "_sym_atan";
/// `math.log2` of a number that is no constant, in torch.
pub const SYM_LOG2: &str = "_sym_log2";
/// Module of what torch adds to sympy.
pub const SYMPY_FUNCTIONS: &str = "torch.utils._sympy.functions";
/// Module of `torch.jit.is_scripting`.
pub const JIT_INTERNAL: &str = "torch._jit_internal";
/// References: operations in Python.
pub const REFS: &str = "torch._refs";
/// The one of `torch.tensor`.
pub const REFS_TENSOR: &str = "torch._refs.tensor";
/// Module of the classes of operations.
pub const OPS: &str = "torch._ops";
/// Module of the transforms of `torch.func`.
pub const EAGER_TRANSFORMS: &str = "torch._functorch.eager_transforms";
/// Module of what transforms do to tensors.
pub const PREDISPATCH: &str = "torch._functorch.predispatch";
/// Module of `vmap`.
pub const FUNCTORCH_VMAP: &str = "torch._functorch.vmap";
/// Package of the control flow operators.
pub const HIGHER_ORDER_OPS: &str = "torch._higher_order_ops";
/// Module of the operators that run a function as it is.
pub const WRAP: &str = "torch._higher_order_ops.wrap";
/// Module of the operator that runs a function with hints for a compiler.
pub const HINTS_WRAP: &str = "torch._higher_order_ops.hints_wrap";
/// Module of the operator that runs a region which is compiled by itself.
pub const INVOKE_SUBGRAPH: &str = "torch._higher_order_ops.invoke_subgraph";
/// Module of `torch._strict_mode`'s operator.
pub const STRICT_MODE: &str = "torch._higher_order_ops.strict_mode";
/// Module of the operator that registers a hook in a graph: importing it lists the operator.
pub const REGISTER_HOOK: &str = "torch._higher_order_ops.register_hook";
/// That operator, in [`REGISTER_HOOK`].
pub const REGISTER_HOOK_OP: &str = "register_hook_op";
/// Module of the operator that is an autograd function of two graphs.
pub const AUTOGRAD_FUNCTION: &str = "torch._functorch.autograd_function";
/// That operator, in [`AUTOGRAD_FUNCTION`].
pub const AUTOGRAD_FUNCTION_APPLY: &str = "autograd_function_apply";
/// What an object of Ferrodyn's has where another process can make it: a tuple of a function and its arguments.
pub const MADE: &str = "__ferrodyn_made__";
