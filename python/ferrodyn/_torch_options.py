"""Options of torch's own configuration, and what Ferrodyn does of each.

An option that is not listed here goes by the same name in :mod:`ferrodyn.config`, and holds where
that one was not changed. docs/compatibility.md is made from this table; a program that sets an
option which means nothing to Ferrodyn is told so once, in the words that stand here.

What does not live here: how the options are read (the native module does that, before it compiles).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Option:
    """An option of torch's configuration."""

    #: What becomes of it, in words that follow "has no effect on Ferrodyn:" where it is refused.
    text: str
    #: Values that mean what Ferrodyn does in any case.
    always: tuple[Any, ...] = ()
    #: Whether torch's compilers, or torch's own tracer where it runs, read it, so that it works.
    is_torchs: bool = False
    #: Whether torch does not read it either.
    is_dead: bool = False


def _always(value: Any, text: str) -> Option:
    return Option(text, always=(value,))


def _backend(text: str) -> Option:
    return Option(text, is_torchs=True)


_DEAD = Option("torch itself does not use it any more", is_dead=True)
_GUARDS = Option(
    "it tunes the guards of torch's tracer; Ferrodyn checks only what can have changed since the "
    "last call, and needs no such switch"
)
_TESTS = Option("it is for tests of torch's tracer")
_TRACER = Option("it records or debugs torch's tracer; use FERRODYN_LOGS and ferrodyn.explain")
_SERIAL = Option(
    "Ferrodyn does not save captured code; inductor's caches on disk work, and capture is short"
)

#: By the module of torch's option, then by its name.
OPTIONS: dict[str, dict[str, Option]] = {
    "torch._dynamo.config": {
        "log_file_name": Option("add a handler to logging.getLogger('ferrodyn')"),
        "verify_correctness": Option(
            "compare results with the function itself, under torch.compiler.set_stance"
            '("force_eager")'
        ),
        "debug_backend_override": Option("pass backend= to the functions to be looked at"),
        "debug_inductor_config_override": Option("pass options= to the functions to be looked at"),
        "debug_dynamo_config_override": Option("use ferrodyn.config.patch around the first call"),
        "leaf_function_validate_outputs": _backend("torch's leaf functions read it when they run"),
        "leaf_function_check_escaped_gradients": _backend(
            "torch's leaf functions read it when they run"
        ),
        "minimum_call_count": _DEAD,
        "dead_code_elimination": _DEAD,
        "replay_side_effects": _always(True, "side effects happen as in eager mode"),
        "generate_pycode": Option('FERRODYN_LOGS="bytecode" shows the code that calls the graphs'),
        "side_effect_replay_policy": Option(
            "side effects happen as in eager mode, without a log", always=("info", "silent")
        ),
        "skip_code_recursive_on_recompile_limit_hit": _DEAD,
        "computed_lazy_constant_max_nodes": _GUARDS,
        "dynamic_shapes": _DEAD,
        "use_lazy_graph_module": _backend("torch.fx reads it when a graph module is made"),
        "_dynamic_shapes_spec": Option("mark the sizes on the tensors, with mark_dynamic"),
        "automatic_dynamic_shapes_mark_as": Option(
            "a size that changes becomes dynamic; for an unbacked one use mark_unbacked",
            always=("dynamic",),
        ),
        "automatic_dynamic_exclusion_guard": Option(
            "the code that was used last is tried first", always=(False,)
        ),
        "log_graph_in_out_metadata": _TRACER,
        "force_nn_module_property_static_shapes": Option(
            "an int of a module that is seen to change becomes dynamic", always=(True, False)
        ),
        "allow_ignore_mark_dynamic": _backend(
            "honoured: a size that was marked with mark_dynamic may be a constant"
        ),
        "guard_nn_modules": _always(True, "modules are always guarded; it costs a call nothing"),
        "guard_nn_modules_using_dict_tags": _GUARDS,
        "prepare_freezing": Option(
            "parameters are inputs of the graph, as by torch's default", always=(False,)
        ),
        "traceable_tensor_subclasses": _DEAD,
        "nontraceable_tensor_subclasses": Option(
            "wrap the code that uses the class in a function under torch.compiler.disable"
        ),
        "replay_record_enabled": _TRACER,
        "rewrite_assert_with_torch_assert": _always(
            True, "an assert of a tensor's value is a check in the graph"
        ),
        "cprofile": _TRACER,
        "dynamo_profiler": Option("ferrodyn.explain says how long each stage took"),
        "skipfiles_inline_module_allowlist": _DEAD,
        "allowed_functions_module_string_ignorelist": _DEAD,
        "repro_after": Option(
            'FERRODYN_LOGS="graph_code" prints each graph; give it to '
            "torch._dynamo.repro.after_dynamo"
        ),
        "repro_level": _backend("torch's minifier reads it"),
        "repro_forward_only": _backend("torch's minifier reads it"),
        "repro_tolerance": _backend("torch's minifier reads it"),
        "repro_ignore_non_fp": _backend("torch's minifier reads it"),
        "same_two_models_use_fp64": _backend("torch's minifier reads it"),
        "prefer_deferred_runtime_asserts_over_guards": Option(
            "what is decided about sizes is guarded", always=(False,)
        ),
        "force_unspec_int_unbacked_size_like_on_torchrec_kjt": Option(
            "ints are constants until they are seen to change", always=(False,)
        ),
        "allow_unspec_int_on_nn_module": _always(
            True, "an int of a module that is seen to change becomes dynamic"
        ),
        "optimize_ddp": Option(
            "a compiled model inside DistributedDataParallel is one graph, as with "
            "optimize_ddp=False; compile its blocks one by one to overlap them with communication",
            always=(False, "no_optimization"),
        ),
        "do_not_emit_runtime_asserts": Option(
            "checks of the program stay in the graph", always=(False,)
        ),
        "skip_torchrec": Option("torchrec is traced like any other code"),
        "dont_skip_tracing": Option(
            "every function in Python is followed, but what is marked with torch.compiler.disable"
        ),
        "optimize_ddp_lazy_compile": _DEAD,
        "use_lamba_guard_for_object_aliasing": _GUARDS,
        "skip_fsdp_guards": _GUARDS,
        "skip_nnmodule_hook_guards": _always(
            False, "hooks of modules are guarded; it costs a call nothing"
        ),
        "skip_no_tensor_aliasing_guards_on_parameters": _GUARDS,
        "skip_tensor_guards_with_matching_dict_tags": _GUARDS,
        "skip_guards_on_constant_func_defaults": _GUARDS,
        "assume_dunder_attributes_remain_unchanged": _always(
            False, "assignments of these attributes are seen"
        ),
        "use_recursive_dict_tags_for_guards": _GUARDS,
        "max_saved_pointers_for_recursive_dict_tags_check": _GUARDS,
        "raise_on_ctx_manager_usage": _always(
            True, "ferrodyn.optimize is a decorator; it is no context manager"
        ),
        "raise_on_unsafe_aot_autograd": _backend("AOTAutograd reads it"),
        "error_on_nested_jit_trace": _DEAD,
        "error_on_nested_fx_trace": Option(
            "trace the function with torch.fx before it is compiled"
        ),
        "force_compile_during_fx_trace": Option(
            "trace the function with torch.fx before it is compiled",
            always=(False,),
        ),
        "allow_rnn": Option(
            "recurrent modules are captured for backends that give the graph back; others run "
            "them between two graphs",
            always=(False,),
        ),
        "capture_sparse_compute": Option(
            "operations of sparse tensors run between two graphs", always=(False,)
        ),
        "report_guard_failures": _DEAD,
        "base_dir": _TRACER,
        "trace_numpy": _always(
            True, "NumPy is captured; use torch.compiler.disable to keep it out"
        ),
        "trace_autograd_ops": Option(
            "torch.autograd.grad ends the graph; use torch.func.grad", always=(False,)
        ),
        "numpy_default_float": _always("float64", "arrays have the dtypes that NumPy gives them"),
        "numpy_default_complex": _always(
            "complex128", "arrays have the dtypes that NumPy gives them"
        ),
        "numpy_default_int": _always("int64", "arrays have the dtypes that NumPy gives them"),
        "use_numpy_random_stream": _always(True, "numpy.random draws from NumPy's own stream"),
        "enable_cpp_guard_manager": _DEAD,
        "enable_cpp_symbolic_shape_guards": _GUARDS,
        "enable_trace_contextlib": _always(True, "context managers of contextlib are followed"),
        "enable_trace_unittest": Option(
            "functions of unittest run between two graphs", always=(False,)
        ),
        "enable_trace_load_build_class": Option(
            "a class statement runs between two graphs", always=(False,)
        ),
        "enable_faithful_generator_behavior": _DEAD,
        "inline_inbuilt_nn_modules": _DEAD,
        "nested_graph_breaks": _always(True, "a graph breaks inside of called functions too"),
        "error_on_dynamo_callback_in_fullgraph_compiled_code": Option(
            "what runs below a graph break may be compiled", always=(False,)
        ),
        "install_free_tensors": Option("torch.export's own tracer reads it", is_torchs=True),
        "install_free_tensors_for_export": Option(
            "torch.export's own tracer reads it", is_torchs=True
        ),
        "enable_cpp_framelocals_guard_eval": _DEAD,
        "use_graph_deduplication": Option(
            "each operation that was called is in the graph", always=(False,)
        ),
        "track_nodes_for_deduplication": _TESTS,
        "graph_deduplication_lint": _TESTS,
        "issue_3_13_0_warning": _always(False, "guards are as quick on Python 3.13.0"),
        "allow_empty_graphs": Option(
            "code without an operation of torch needs no graph, and is compiled all the same",
            always=(False, True),
        ),
        "debug_force_nested_calls": _TESTS,
        "debug_force_graph_break_on_leaf_return": _TESTS,
        "debug_disable_compile_counter": _backend("torch._dynamo.testing reads it"),
        "record_compile_time_instruction_count": _TRACER,
        "debug_dir_root": _backend("torch's compilers write their files there"),
        "_save_config_ignore": _backend("saving torch's configuration reads it"),
        "cudagraph_backend_keep_input_mutation": _backend("the backend cudagraphs reads it"),
        "cudagraph_backend_support_input_mutation": _backend("the backend cudagraphs reads it"),
        "only_allow_pt2_compliant_ops": Option(
            "wrap an operator that is not to be in the graph in torch.compiler.disable",
            always=(False,),
        ),
        "capture_autograd_function": _DEAD,
        "capture_func_transforms": _DEAD,
        "capture_profiler_record_function": Option(
            "record_function outside of a graph is seen by torch.profiler; inside it does nothing",
            always=(False,),
        ),
        "log_compilation_metrics": _TRACER,
        "reorderable_logging_functions": Option(
            "print, log records and warnings.warn wait for the end of the graph without it; other "
            "functions run between two graphs"
        ),
        "ignore_logging_functions": Option(
            "log records are written, in order, after the graph; raise the logger's level to have "
            "none, or guard the call with `if not torch.compiler.is_compiling()`"
        ),
        "inject_BUILD_SET_unimplemented_TESTING_ONLY": _TESTS,
        "_autograd_backward_strict_mode_banned_ops": _TESTS,
        "_autograd_backward_strict_mode_conditional_banned_ops": _TESTS,
        "fake_tensor_cache_enabled": _backend("torch's fake tensors read it"),
        "fake_tensor_cache_crosscheck_enabled": _backend("torch's fake tensors read it"),
        "fake_tensor_disable_inference_mode": _backend("torch's fake tensors read it"),
        "caching_precompile": _SERIAL,
        "strict_precompile": _SERIAL,
        "compiled_autograd": Option(
            "the backward pass of each graph is compiled by the backend; "
            "torch._dynamo.compiled_autograd._enable(compiler) around backward() works",
            always=(False,),
        ),
        "compiled_autograd_kwargs_override": _backend("torch's compiled autograd reads it"),
        "enable_dynamo_decompositions": _always(
            False, "operations are in the graph as they were called"
        ),
        "graph_break_on_nn_param_ctor": Option(
            "a parameter is made in the graph where the backend gives the graph back; else the "
            "graph ends there",
            always=(True,),
        ),
        "inline_torch_dispatch_torch_compile": _always(
            True, "nothing is captured while a dispatch mode of the program is active"
        ),
        "skip_fwd_side_effects_in_bwd_under_checkpoint": Option(
            "side effects in a checkpointed function end the graph before it", always=(False,)
        ),
        "enable_compiler_collectives": Option(
            "each process decides by itself which sizes are dynamic; mark them with mark_dynamic"
        ),
        "enable_p2p_compilation": Option("send and recv run between two graphs", always=(False,)),
        "automatic_dynamic_local_pgo": Option(
            "what was seen to change is not kept for the next process; mark sizes with mark_dynamic"
        ),
        "automatic_dynamic_remote_pgo": Option(
            "what was seen to change is not kept for the next process; mark sizes with mark_dynamic"
        ),
        "_unsafe_skip_fsdp_module_guards": _GUARDS,
        "pt2_compile_id_prefix": _TRACER,
        "gc_gen2_threshold_during_compile": Option(
            "capture makes few objects, so the garbage collector is left as it is"
        ),
        "run_gc_after_compile": _always(False, "the garbage collector is left as it is"),
        "constant_fold_autograd_profiler_enabled": _TRACER,
        "wrap_top_frame": _always(True, "hooks of a compiled module are captured with it"),
        "record_runtime_overhead": _TRACER,
        "enable_aot_compile": Option("a compiled function has no aot_compile; use torch.export"),
        "_custom_ops_profile": _TESTS,
        "enable_invoke_subgraph_regional_compile": _TESTS,
        "inline_invoke_subgraph": _always(True, "calls of a nested compile region are inlined"),
        "inline_single_use_invoke_subgraph": _always(
            True, "calls of a nested compile region are inlined"
        ),
        "invalidate_compile_context_weakrefs": _TRACER,
        "canonicalize_output_graph_node_order": Option(
            "nodes are in the order in which the program calls them, and named after it",
            always=(False,),
        ),
    },
    "torch.compiler.config": {
        "job_id": _backend("inductor's caches read it; there is no profile of dynamic sizes"),
        "pgo_extra_read_key": _SERIAL,
        "pgo_extra_write_key": _SERIAL,
        "cache_key_tag": _backend("inductor's caches read it, and ours"),
        "force_disable_caches": _backend("inductor's caches read it, and ours"),
        "compile_on_one_rank": _backend("inductor and torch.distributed read it"),
        "dynamic_sources": Option("mark sizes on the tensors, with mark_dynamic"),
        "dynamic_values": Option("mark sizes on the tensors, with mark_dynamic"),
        "unbacked_sources": Option("mark sizes on the tensors, with mark_unbacked"),
        "static_sources": Option("mark sizes on the tensors, with mark_static"),
        "force_cudagraph_gc": _backend("inductor reads it"),
    },
}

_UNKNOWN = Option("this version of Ferrodyn does not know it")


def find(module: str, name: str) -> Option:
    """Return what becomes of an option."""
    return OPTIONS.get(module, {}).get(name, _UNKNOWN)


def tell(module: str, name: str, value: object) -> None:
    """Warn that an option which the program has set means nothing here.

    Not where it works, or says what is so in any case.
    """
    option = find(module, name)
    if option.is_torchs or option.is_dead or any(value == always for always in option.always):
        return
    logging.getLogger("ferrodyn").warning(
        "%s.%s = %r has no effect on Ferrodyn: %s", module, name, value, option.text
    )
