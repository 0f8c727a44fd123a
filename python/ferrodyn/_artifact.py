"""What AOTAutograd and a compiler made of a graph, taken apart so that it can be kept.

Lives here: noting what AOTAutograd and inductor make while a backend runs, and the manifest of it:
text and libraries. Does not live here: the text of graphs that run as they are
(`_artifact_graph`), running it again (`_artifact_runtime`), when it may be used (the native module
makes the key), files.

Functions of torch's are watched from the first compilation that is to be kept, for the rest of the
process: a backward graph may be compiled much later than its forward graph.

Invariant: a manifest is made only of what the runtime knows; anything else is `Declined` with the
reason, and nothing is kept.
"""

from __future__ import annotations

import ast
import functools
import json
import logging
import threading
import types
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import _artifact_epilogue as epilogue
from . import _artifact_gpu as gpu
from . import _artifact_graph as operators
from . import _artifact_operators
from . import _artifact_runtime as runtime
from . import _artifact_state as state
from ._artifact_gpu import Declined

_log = logging.getLogger("ferrodyn.artifacts")


#: What is handed on: the manifest, and libraries by name.
Keep = Callable[[str, list[tuple[str, bytes]]], None]


class _Now(threading.local):
    """Who notes in this thread."""

    noting: Noting | None = None


_now = _Now()
_watching = threading.Lock()
_is_watching = False
#: Forward graphs, by their ids, whose backward graph is compiled when it is first called, and who
#: waits for it.
_pending: dict[int, tuple[weakref.ref[Any], Callable[[list[dict[str, Any]]], None]]] = {}


class Noting:
    """Notes what AOTAutograd and inductor make of one graph, in this thread, while entered.

    `about`: what it is made from.
    """

    def __init__(self, about: dict[str, str]) -> None:
        self._about = about
        self._made: list[dict[str, Any]] = []
        self._graphs: list[Any] = []
        self._before: Noting | None = None

    def __enter__(self) -> None:
        _watch()
        self._before, _now.noting = _now.noting, self

    def __exit__(self, *exc_info: object) -> None:
        _now.noting = self._before

    def keep(self, guards: str, keep: Keep) -> None:
        """Hand what was made to `keep`, now or when the backward graph is compiled.

        `guards`: what the compiler relies on of sizes that change, as the native module writes it.
        """

        def hand_on(made: list[dict[str, Any]]) -> None:
            _hand_on(made, {"about": self._about, "guards": json.loads(guards)}, keep)

        if not self._made and len(self._graphs) == 1:
            graph = self._graphs[0]
            at = id(graph)
            # A graph may live to the end of the interpreter, when modules have no names any more.
            forget = functools.partial(_pending.pop, at)
            _pending[at] = weakref.ref(graph, forget), hand_on
            return
        hand_on(self._made)


def _hand_on(made: list[dict[str, Any]], told: dict[str, Any], keep: Keep) -> None:
    def keep_now() -> None:
        kept, libraries = manifest(made, told["about"])
        keep(json.dumps({**told, **kept}), libraries)

    def keep_later() -> None:
        _or_say_why(keep_now)

    # Inductor times the kernels when they first run, and takes the fastest: the same is kept.
    _or_say_why(lambda: gpu.when_decided(_gpu_kernels(made), keep_later))


def _or_say_why(run: Callable[[], None]) -> None:
    try:
        run()
    except Declined as declined:
        _log.info("a graph's artifact is not kept: %s", declined)
    except Exception:
        # Torch's own structures differ: the program goes on without.
        _log.warning("a graph's artifact can't be kept", exc_info=True)


def _gpu_kernels(made: list[dict[str, Any]]) -> list[Any]:
    """Return the kernels of what was noted that have configurations."""
    halves = [half for one in made for half in (one["forward"], one["backward"])]
    graphs = [half for half in halves if type(half).__name__ == "CompiledFxGraph"]
    kernels = []
    for graph in graphs:
        if set(graph.device_types) <= {"cpu"}:
            continue
        module = _module_of(graph)
        kernels += [value for value in vars(module).values() if hasattr(value, "launchers")]
    return kernels


def _unwrapped(compiled: Any) -> Any:
    while hasattr(compiled, "__wrapped__"):
        compiled = compiled.__wrapped__
    return compiled


def _watch() -> None:
    """Put functions of ours around those of torch's that make or load a result. They stay."""
    global _is_watching
    with _watching:
        if _is_watching:
            return
        _is_watching = True
    from torch._functorch._aot_autograd import aot_autograd_result as results
    from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache
    from torch._inductor.output_code import CompiledFxGraph

    make_entry = AOTAutogradCache.make_entry
    names = make_entry.__code__.co_varnames
    wrap = results.GenericAOTAutogradResult.wrap_post_compile
    load = results.FxGraphCacheLoadable.load
    post_compile = CompiledFxGraph.post_compile

    @functools.wraps(make_entry)
    def noted_make_entry(*args: Any, **kwargs: Any) -> Any:
        entry = make_entry(*args, **kwargs)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        forward, backward = given["compiled_fw_func"], given["compiled_bw_func"]
        halves = (_unwrapped(forward), backward and _unwrapped(backward))
        _note(entry, *halves)
        return entry

    @functools.wraps(load)
    def noted_load(self: Any, example_inputs: Sequence[Any]) -> Any:
        loaded = load(self, example_inputs)
        if _now.noting:
            self._ferrodyn_loaded = loaded
        return loaded

    @functools.wraps(wrap)
    def noted_wrap(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = wrap(self, *args, **kwargs)
        halves = [
            half and half.__dict__.pop("_ferrodyn_loaded", None)
            for half in (self.compiled_fw, self.compiled_bw)
        ]
        _note(self, *halves)
        return result

    @functools.wraps(post_compile)
    def noted_post_compile(self: Any, *args: Any, **kwargs: Any) -> None:
        if _now.noting:
            _now.noting._graphs.append(self)
        post_compile(self, *args, **kwargs)

    watched: list[tuple[type, Any]] = [
        (AOTAutogradCache, staticmethod(noted_make_entry)),
        (results.FxGraphCacheLoadable, noted_load),
        (results.GenericAOTAutogradResult, noted_wrap),
        (CompiledFxGraph, noted_post_compile),
    ]
    for owner, function in watched:
        setattr(owner, function.__name__, function)
    gpu.watch()
    _watch_graphs()


#: What AOTAutograd makes of its graphs and of what the compiler made of them. Older torchs have no
#: such functions: nothing is noted.
_STAGES = ("_aot_stage2c_make_inference_function", "_aot_stage2c_make_autograd_function")
#: Where what `aot_eager` hands back for a graph has that graph.
_GRAPH = "_ferrodyn_graph"


def _watch_graphs() -> None:
    """Note as well what torch keeps nothing of: graphs that run as they are, and a compiler's
    results for graphs with operations that torch's cache does not know.
    """
    from torch._dynamo.backends import debugging
    from torch._functorch._aot_autograd import graph_compile

    nop = debugging.boxed_nop

    @functools.wraps(nop)
    def noted_nop(graph: Any, example_inputs: Any) -> Any:
        run = nop(graph, example_inputs)
        setattr(run, _GRAPH, graph)
        return run

    setattr(debugging, nop.__name__, noted_nop)
    for name in _STAGES:
        stage = getattr(graph_compile, name, None)
        if stage is not None:
            setattr(graph_compile, name, _noting_graphs(stage))


def _noting_graphs(stage: Callable[..., Any]) -> Callable[..., Any]:
    names = stage.__code__.co_varnames

    @functools.wraps(stage)
    def noted_stage(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if not _now.noting:
            return stage(*args, **kwargs)
        compiled = _unwrapped(given.get("compiled_fw_func", given.get("compiled_fw")))
        forward = getattr(compiled, _GRAPH, None)
        if forward is not None:
            lazily = given.get("lazy_backward_info")
            _note(_entry(given), forward, lazily and lazily.bw_module)
        elif (
            type(compiled).__name__ == "CompiledFxGraph" and given["aot_config"].cache_info is None
        ):
            _note_compiled(compiled, given)
        return stage(**given)

    return noted_stage


def _note_compiled(forward: Any, given: dict[str, Any]) -> None:
    """Note what a compiler has made, now or when it has compiled the backward graph."""
    entry = _entry(given)
    backward = given.get("compiled_bw_func")
    if "compiled_bw_func" not in given or backward is not None:
        _note(entry, forward, backward and _unwrapped(backward))
        return
    if given["try_save_cache_entry"] is None:
        # Torch hands over the compiled backward graph to be saved.
        def noted_backward(compiled: Any, *args: Any) -> None:
            _note(entry, forward, _unwrapped(compiled))

        given["try_save_cache_entry"] = noted_backward


def _entry(given: dict[str, Any]) -> Any:
    """Return what torch would make an entry of."""
    indices = [at for at, x in enumerate(given.get("flat_args", ())) if _is_backward_state(x)]
    return types.SimpleNamespace(
        runtime_metadata=given["fw_metadata"],
        dispatch_wrappers=given["wrappers"],
        maybe_subclass_meta=given.get("maybe_subclass_meta"),
        indices_of_inps_to_detach=given.get("_indices_of_inps_to_detach", []),
        compiled_bw=types.SimpleNamespace(backward_state_indices=indices),
    )


def _is_backward_state(value: Any) -> bool:
    from torch.fx.experimental._backward_state import BackwardState

    return isinstance(value, BackwardState)


def _note(entry: Any, forward: Any, backward: Any) -> None:
    made = {"entry": entry, "forward": forward, "backward": backward}
    if _now.noting:
        _now.noting._made.append(made)
        return
    waiting, hand_on = _pending.get(id(forward), (None, None))
    if waiting and hand_on and waiting() is forward:
        del _pending[id(forward)]
        hand_on([made])


def manifest(
    made: list[dict[str, Any]], about: dict[str, str]
) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
    """Return what the manifest says of what was noted, and the libraries that it names.

    `about`: what it was made from. Raises `Declined` where it is more than the runtime knows.
    """
    if len(made) != 1:
        raise Declined(f"AOTAutograd made {len(made)} results that it keeps itself")
    entry, forward, backward = (made[0][name] for name in ("entry", "forward", "backward"))
    _only_simple_wrappers(entry)
    facts = _facts(entry, backward is not None)
    libraries: dict[str, bytes] = {}
    parts = {"forward": _half(forward, libraries)}
    if backward is not None:
        parts["backward"] = _half(backward, libraries)
        # Only a compiler writes into what it was given.
        facts["donates"] &= "operators" not in parts["backward"]
    if any(part["gpu"] for part in parts.values()):
        _require(state.tells_gpus(about), "a graph for a GPU that was not in use before")
    return {"facts": facts, **parts}, list(libraries.items())


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise Declined(otherwise)


def _only_simple_wrappers(entry: Any) -> None:
    for wrapper in entry.dispatch_wrappers:
        needs = getattr(wrapper, "needs_post_compile", None)
        name = type(wrapper).__name__
        _require(needs is False or name == "EffectTokensWrapper", f"inputs go through {name}")
    _require(entry.maybe_subclass_meta is None, "tensors of subclasses")


def _facts(entry: Any, trains: bool) -> dict[str, Any]:
    """Return what the runtime needs of AOTAutograd's metadata."""
    import torch
    from torch._functorch._aot_autograd.schemas import OutputType

    meta = entry.runtime_metadata
    _require(not meta.tokens and not meta.num_backward_tokens, "operations with effects")
    _require(not meta.is_rng_op_functionalized, "random numbers as values")
    _require(not meta.num_graphsafe_rng_states, "states of generators")
    _require(meta.grad_enabled_mutation is None, "a graph that sets the grad mode")
    _require(not meta.num_opaque_objects_saved_for_bw, "opaque objects")
    _require(not any(meta.mutated_inp_stream_indices or ()), "streams")
    _require(
        not meta.indices_of_inputs_that_requires_grad_with_mutations_in_bw,
        "inputs that the backward graph writes",
    )
    behind, aliases = [], []
    unsafe_views, non_differentiable, tangents = [], [], []
    for at, place in enumerate(meta.mutated_inp_runtime_indices):
        info = meta.input_info[place]
        behind.append((place, _written(info)))
        if not info.requires_grad:
            non_differentiable.append(at)
        elif info.mutates_data:
            tangents.append(at)
    for at, out in enumerate(meta.output_info, len(behind)):
        kind = out.output_type
        is_plain = kind in (OutputType.non_alias, OutputType.unsafe_view_alias)
        is_tensor = issubclass(out.raw_type, torch.Tensor)
        is_known = is_tensor or issubclass(out.raw_type, (type(None), int, torch.SymInt))
        _require(is_known, "outputs that are no tensors")
        if not is_plain:
            aliases.append(_alias(at - len(behind), out, meta))
        if kind is OutputType.unsafe_view_alias:
            unsafe_views.append(at)
        if not out.requires_grad:
            non_differentiable.append(at)
        # Older torchs have one field for both.
        if is_plain and is_tensor and getattr(out, "requires_grad_for_backward", out.requires_grad):
            tangents.append(at)
    bases = len(behind) + meta.num_outputs
    tangents += range(bases, bases + meta.num_intermediate_bases)
    versioned = meta.mutated_graph_handled_indices_seen_by_autograd
    dynamic = {at: out.dynamic_dims for at, out in enumerate(meta.output_info) if out.dynamic_dims}
    facts: dict[str, Any] = {
        "outputs": meta.num_outputs,
        "bases": meta.num_intermediate_bases,
        "behind": behind,
        "aliases": aliases,
        "dynamic": [(at, sorted(dims)) for at, dims in dynamic.items()],
        "written": list(versioned) if meta.keep_input_mutations else [],
        "autocast": torch._C._is_any_autocast_enabled(),
        "deterministic": meta.deterministic,
    }
    if trains:
        backward = entry.compiled_bw
        _require(not backward.backward_state_indices, "a state of the backward graph")
        facts |= {
            "detached": list(entry.indices_of_inps_to_detach),
            "unsafe_views": unsafe_views,
            "non_differentiable": non_differentiable,
            "tangents": tangents,
            "formats": [_format(tangent) for tangent in meta.subclass_tangent_meta],
            "unchecked": meta.num_tensors_saved_with_no_vc_check or 0,
            # Older torchs do not tell them apart.
            "saved_inputs": list(getattr(meta, "saved_tensor_is_graph_input", ())),
            "saved_ints": meta.num_symints_saved_for_bw or 0,
            "dynamic_saved": [
                (at, sorted(dims)) for at, dims in meta.dynamic_saved_tensors_idxs.items()
            ],
            "differentiable_inputs": any(info.requires_grad for info in meta.input_info),
            "donates": meta.bw_donated_idxs != [],
        }
        _require(len(facts["formats"]) == len(tangents), "gradients that belong to no output")
    return facts


def _written(info: Any) -> dict[str, bool]:
    """Return how an input is written behind the graph."""
    _require(not info.mutates_storage_metadata, "inputs that are given another storage")
    _require(
        not getattr(info, "mutation_is_shallow_copy_data", False), "inputs whose data is exchanged"
    )
    return {"data": info.mutates_data, "layout": info.mutates_metadata, "leaf": info.is_leaf}


def _alias(at: int, out: Any, meta: Any) -> dict[str, Any]:
    """Return how the output at a place is made of an input or of another output."""
    from torch._functorch import config
    from torch._functorch._aot_autograd.schemas import OutputType

    kind = out.output_type
    _require(kind is not OutputType.custom_function_view, "views of an autograd.Function")
    of_input = kind in (OutputType.alias_of_input, OutputType.is_input)
    is_of_base = kind in (
        OutputType.alias_of_intermediate,
        OutputType.alias_of_intermediate_save_as_output,
    )
    sequence = out.view_meta_sequence
    views = None
    if sequence is not None and config.view_replay_for_aliased_outputs:
        views = epilogue.views_as_data(sequence.sequence)
    return {
        "at": at,
        "of_input": of_input,
        "base": out.base_idx + (meta.num_outputs if is_of_base else 0),
        "is_base": kind is OutputType.is_input,
        "requires_grad": out.requires_grad,
        "views": views,
    }


def _format(tangent: Any) -> dict[str, Any]:
    """Return how a gradient of an output is laid out."""
    _require(type(tangent).__name__ == "PlainTensorMeta", "gradients of subclasses")
    layout = tangent.memory_format
    _require(layout is not None, "gradients of no known layout")
    if layout.memory_format is not None:
        return {"memory_format": str(layout.memory_format).removeprefix("torch.")}
    numbers = (*layout.size, *layout.stride)
    _require(all(type(n) is int for n in numbers), "gradients whose layout changes")
    size, stride = list(layout.size), list(layout.stride)
    return {"size": size, "stride": stride}


def _half(compiled: Any, libraries: dict[str, bytes]) -> dict[str, Any]:
    """Return a compiled graph: its code without its kernels, and their libraries by name."""
    from torch.fx import GraphModule

    if isinstance(compiled, GraphModule):
        return operators.told(compiled)
    _require(type(compiled).__name__ == "CompiledFxGraph", "a result of another kind")
    _require(set(compiled.device_types) <= {"cpu", "cuda"}, "another device than CPU and CUDA")
    for held in ("constants", "torchbind_constants", "opaque_value_type_classes"):
        _require(not getattr(compiled, held, None), f"{held} in the code")
    _require(not compiled._wrap_compiled_regions, "a wrapped region")
    on_gpu = "cuda" in compiled.device_types
    checked = list(compiled.inputs_to_check)
    _require(on_gpu or not checked, "inputs that have to be aligned")
    if on_gpu:
        _require(not compiled.fx_kwargs.get("cudagraphs"), "CUDA graphs")
    module = _module_of(compiled)
    code, kernels, relied_on = stripped(compiled.source_code)
    of, launches = {}, {}
    for name in kernels:
        kernel = getattr(module, name)
        if hasattr(kernel, "launchers"):
            launches[name], file, content = gpu.kept_kernel(kernel)
        else:
            path = Path(kernel.__self__.__file__)
            file, content = path.name, path.read_bytes()
        of[name] = file
        libraries[file] = content
    return {
        "code": code,
        "kernels": of,
        "relied on": relied_on,
        "launches": launches,
        "gpu": on_gpu,
        "checked": checked,
        "written": sorted(compiled.mutated_input_idxs) if checked else [],
    }


def _module_of(compiled: Any) -> Any:
    """Return the module that inductor has loaded the code as."""
    from torch._inductor.codecache import PyCodeCache

    for module in PyCodeCache.modules:
        if getattr(module, "key", None) == compiled.cache_key:
            return module
    raise Declined("code that was not loaded")


#: What the code has besides what computes: to be run by hand.
_BY_HAND = ("get_args", "benchmark_compiled_module")


def stripped(source: str) -> tuple[str, list[str], dict[str, str]]:
    """Return inductor's code of a graph without what runs it by hand and the text of its kernels.

    The second is the names of the kernels, the third what is relied on of the operators of the
    program. Raises `Declined` where it has what `_artifact_runtime` does not stand for.
    """
    tree = ast.parse(source)
    body: list[ast.stmt] = []
    kernels: list[str] = []
    _without_by_hand(tree)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name, decorator_list=decorators):
                # Others are what control flow runs.
                _require(not decorators, f"a function {name} that is wrapped")
            case ast.Import(names=names):
                # Inductor imports the same for all graphs.
                names[:] = [alias for alias in names if _bound(alias) in used]
                for alias in names:
                    _require(alias.name in runtime.MODULES, f"import of {alias.name}")
                if not names:
                    continue
            case ast.ImportFrom(module=module, names=names):
                names[:] = [alias for alias in names if _bound(alias) in used]
                if not names:
                    continue
                for alias in names:
                    known = f"{module}.{alias.name}" in runtime.STAND_INS
                    _require(known or module in runtime.MODULES, f"{module}.{alias.name}")
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="async_compile"), attr=kind),
                    args=args,
                    keywords=keywords,
                ),
            ):
                _require(kind in ("cpp_pybinding", "triton"), f"a kernel by {kind}")
                kernels.append(name)
                args[:], keywords[:] = [ast.Constant(name)], []
            case ast.Assign() | ast.ClassDef(name="Runner") | ast.Delete() | ast.Expr():
                pass
            case _:
                raise Declined(f"a statement at line {statement.lineno} of the code")
        body.append(statement)
    tree.body = body
    for node in ast.walk(tree):
        _only_known(node)
    called = _artifact_operators.called_in(tree, runtime.NAMESPACES)
    return ast.unparse(tree), kernels, _artifact_operators.relied_on(called)


def _without_by_hand(tree: ast.Module) -> None:
    """Remove what runs the code by hand."""

    def is_by_hand(statement: ast.stmt) -> bool:
        match statement:
            case ast.FunctionDef(name=name):
                return name in _BY_HAND
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                return True
        return False

    tree.body = [statement for statement in tree.body if not is_by_hand(statement)]


def _bound(alias: ast.alias) -> str:
    """Return the name that an import binds."""
    return alias.asname or alias.name.partition(".")[0]


def _only_known(node: ast.AST) -> None:
    """Raise `Declined` for a name that means something else, or nothing, without the compiler."""
    match node:
        case ast.Attribute(value=ast.Name(id="extern_kernels"), attr=name):
            _require(_is_the_same(name), f"extern_kernels.{name}")
        case ast.Attribute(value=ast.Name(id="inductor_ops" | "_quantized"), attr=name):
            raise Declined(f"the operation {name}")
        case ast.Name(id=name):
            _require(not name.startswith("constant"), f"a constant {name}")
        case _:
            pass


def _is_the_same(name: str) -> bool:
    """Whether a kernel of torch's that the code names is what the runtime has for it."""
    from torch._inductor.select_algorithm import extern_kernels

    ours = runtime.STAND_INS["torch._inductor.select_algorithm.extern_kernels"]
    return name in vars(ours) and getattr(extern_kernels, name, None) is getattr(ours, name)
