"""docs/compatibility.md: what becomes of each name that a program uses beside torch.compile.

Names are read from torch; what is said of them stands here, and where a program is told something,
beside what tells it: `_torch_options`, `_install`, `logs`. A name without a row fails
`test_compatibility`.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"

HONOURED = "honoured"
#: Not replaced: it runs torch's own tracer, or is none of the tracer's business.
TORCHS = "torch's own"
REFUSED = "refused"


class Row(NamedTuple):
    """What becomes of a name."""

    status: str
    text: str


def honoured(text: str = "") -> Row:
    return Row(HONOURED, text)


def torchs(text: str) -> Row:
    return Row(TORCHS, text)


def refused(text: str) -> Row:
    return Row(REFUSED, text)


#: What a function has that was compiled.
ATTRIBUTES = {
    "aot_compile": refused("`NotImplementedError`: use `torch.export`, or call the function once"),
    "get_compiler_config": refused("`AttributeError`: ask the backend for its options"),
    "_torchdynamo_orig_callable": honoured("the function; for a module what a call comes to"),
}

KEYWORDS = {
    "model": honoured("a function, a method, a callable, an `nn.Module`, or a class of such"),
    "fullgraph": honoured(
        "`ferrodyn.exc.Unsupported` at a graph break; its subclass `TorchRuntimeError` where eager "
        "PyTorch raises for the arguments"
    ),
    "dynamic": honoured(),
    "backend": honoured("torch's registry, entry points, any callable; None is torch's default"),
    "mode": honoured("the backend's; what is wrong with it is said at the first call"),
    "options": honoured("the backend's, and `guard_filter_fn`"),
    "name": honoured("goes to each call of a backend that takes it"),
    "disable": honoured(),
    "recompile_limit": honoured(),
    "isolate_recompiles": honoured(),
    "dynamic_shapes": refused(
        "`NotImplementedError`: mark sizes with `mark_dynamic`, or pass `dynamic=True`"
    ),
}

COMPILER = {
    "compile": honoured("where Ferrodyn is installed"),
    "config": honoured("a table below has its options"),
    "assume_constant_result": honoured(),
    "reset": honoured("resets both"),
    "nonstrict_trace": honoured(),
    "allow_in_graph": honoured(),
    "substitute_in_graph": honoured(),
    "list_backends": honoured("the same registry"),
    "disable": honoured("`recursive`, `reason`"),
    "set_default_backend": honoured(),
    "get_default_backend": honoured(),
    "set_stance": honoured("a table below has its stances"),
    "set_enable_guard_collectives": refused(
        "`NotImplementedError` where Ferrodyn is installed: each process decides by itself whether "
        "it compiles anew; mark sizes that differ between processes with `mark_dynamic`"
    ),
    "cudagraph_mark_step_begin": honoured("inside a graph it does nothing, as in torch's"),
    "cudagraph_mark_warmup_incomplete": torchs("a call between graphs"),
    "load_compiled_function": torchs("loads what torch.compile has saved"),
    "precompile": torchs("captures with torch's tracer"),
    "PrecompileError": torchs("raised by `precompile`"),
    "wrap_numpy": honoured(),
    "is_compiling": honoured(),
    "is_dynamo_compiling": honoured(),
    "is_exporting": honoured("False in compiled code"),
    "save_cache_artifacts": torchs("saves inductor's caches, of our graphs too"),
    "load_cache_artifacts": torchs("loads inductor's caches, for our graphs too"),
    "keep_portable_guards_unsafe": honoured("as a `guard_filter_fn`"),
    "skip_guard_on_inbuilt_nn_modules_unsafe": honoured("as a `guard_filter_fn`"),
    "skip_guard_on_all_nn_modules_unsafe": honoured("as a `guard_filter_fn`"),
    "keep_tensor_guards_unsafe": honoured("as a `guard_filter_fn`"),
    "skip_guard_on_globals_unsafe": honoured("as a `guard_filter_fn`"),
    "skip_all_guards_unsafe": honoured("as a `guard_filter_fn`"),
    "nested_compile_region": honoured(
        "a compiler gets `invoke_subgraph`; what writes or gives views is inlined"
    ),
}

STANCES = {
    "default": honoured(),
    "force_eager": honoured("also for code that is compiled"),
    "eager_on_recompile": honoured(),
    "fail_on_recompile": honoured("raises `ferrodyn.exc.RecompileError`"),
    "eager_then_compile": honoured("the first call tells which sizes change"),
    "aot_eager_then_compile": honoured("the first call runs in eager mode, not below aot_eager"),
}

DYNAMO = {
    "allow_in_graph": honoured(),
    "assume_constant_result": honoured(),
    "bytecode_debugger": torchs("shows torch's own code; ours: `FERRODYN_LOGS=bytecode`"),
    "config": honoured("a table below has its options"),
    "disable": honoured(),
    "disallow_in_graph": honoured(),
    "error_on_graph_break": honoured("as a context and a decorator, in eager and compiled code"),
    "export": torchs("captures with torch's tracer"),
    "explain": honoured("`ferrodyn.explain` where Ferrodyn is installed"),
    "forbid_in_graph": honoured("raises `ferrodyn.exc.Unsupported`"),
    "graph_break": honoured(),
    "is_compiling": honoured(),
    "is_dynamo_disable_recursive": honoured(),
    "leaf_function": honoured(),
    "list_backends": honoured("the same registry"),
    "lookup_backend": honoured("the same registry"),
    "mark_dynamic": honoured("with `min` and `max` as a hint; raises where a size is specialised"),
    "mark_static": honoured(),
    "mark_static_address": honoured("with `guard=True` code is for that very tensor"),
    "mark_unbacked": honoured(
        "one graph for all sizes, 0 and 1 too; a branch is a guard; "
        "sizes outside of `min`, `max` and `shape_id` are served as well"
    ),
    "maybe_mark_dynamic": honoured(),
    "nonstrict_trace": honoured(),
    "on_compile_start": honoured(),
    "on_compile_end": honoured(),
    "optimize": honoured("where Ferrodyn is installed"),
    "optimize_assert": honoured("where Ferrodyn is installed"),
    "OptimizedModule": honoured("compiled modules are instances"),
    "override_cudagraphs": refused(
        "the graph ends at it, which `graph_breaks` shows; compile that part with a mode of its own"
    ),
    "override_optimization_hint": torchs("a hint for inductor on a symbol of its own"),
    "patch_dynamo_config": honoured("its options as in the table below"),
    "register_backend": honoured("the same registry"),
    "replay": torchs("replays a record of torch's tracer"),
    "reset": honoured("resets both"),
    "reset_code": honoured("forgets all code that Ferrodyn compiled, not only of that function"),
    "reset_recompile_user_contexts": torchs("texts for torch's own log of recompilations"),
    "run": honoured("calls use code that is there, and compile nothing"),
    "set_recursion_limit": torchs("the limit of torch's C++ tracer"),
    "set_stance": honoured(),
    "skip": honoured("the function runs in eager mode, what it calls may be captured"),
    "skip_frame": honoured(),
    "step_unsupported": honoured("a graph break; what follows may be captured again"),
    "substitute_in_graph": honoured(),
}

#: What of `torch._dynamo` is documented, or used by many, beside its `__all__`.
BESIDE_ALL = {"leaf_function", "mark_unbacked", "on_compile_start", "on_compile_end", "reset_code"}

LOGS = {
    "graph": honoured(),
    "graph_code": honoured(),
    "graph_breaks": honoured(),
    "guards": honoured(),
    "bytecode": honoured(),
    "recompiles": honoured(),
    "recompiles_verbose": honoured("as `recompiles`, which gives all reasons"),
    "trace_bytecode": honoured(),
}

#: Logs of torch's compilers and of torch.distributed, which run below our graphs.
LOGS_OF_TORCH = torchs("a log of what runs below the graphs, or beside them")


def _table(title: str, note: str, rows: dict[str, Row]) -> list[str]:
    lines = [f"## {title}", "", note, "", "| name | | |", "|---|---|---|"]
    lines += [f"| `{name}` | {row.status} | {row.text} |" for name, row in sorted(rows.items())]
    return [*lines, ""]


def keywords() -> list[str]:
    """Names that torch.compile takes."""
    import torch

    return list(inspect.signature(torch.compile).parameters)


def compiler_names() -> list[str]:
    import torch

    return list(torch.compiler.__all__)


def dynamo_names() -> list[str]:
    import torch._dynamo

    names = {name for name in torch._dynamo.__all__ if not name.startswith("_")}
    decorators = vars(torch._dynamo.decorators)
    names |= {
        name
        for name, value in decorators.items()
        if inspect.isfunction(value)
        and value.__module__ == "torch._dynamo.decorators"
        and not name.startswith("_")
    }
    return sorted(names | BESIDE_ALL)


def stances() -> list[str]:
    from typing import get_args

    from torch._dynamo.eval_frame import StanceStr

    return list(get_args(StanceStr))


def log_names() -> list[str]:
    import torch

    names = inspect.signature(torch._logging.set_logs).parameters
    return [name for name in names if name not in ("all", "modules")]


def log_rows() -> dict[str, Row]:
    from ferrodyn import logs

    elsewhere = logs.SHOWN_BY_OTHERS.items()
    rows = LOGS | {name: refused(f"a warning: use {text}") for name, text in elsewhere}
    return {name: rows.get(name, LOGS_OF_TORCH) for name in log_names()}


def dynamo_rows() -> dict[str, Row]:
    from ferrodyn import _install

    told = _install.WITHOUT_EFFECT.items()
    where = "a warning, once, where Ferrodyn is installed"
    return DYNAMO | {name: refused(f"{where}: {text}") for name, text in told}


def option_names() -> dict[str, list[str]]:
    """Options of torch's configuration by their module, each by one name."""
    import torch._dynamo.config
    import torch.compiler.config

    def names(module: object) -> list[str]:
        entries = module._config.items()  # type: ignore[attr-defined]
        return [name for name, entry in entries if entry.alias is None and name != "TYPE_CHECKING"]

    modules = (torch._dynamo.config, torch.compiler.config)
    return {module.__name__: names(module) for module in modules}


def option_rows(module: str) -> dict[str, Row]:
    """A row for each option of a module."""
    from ferrodyn import _torch_options, config

    rows = {}
    ours = config.to_dict()
    for name in option_names()[module]:
        if name in ours:
            rows[name] = honoured(f"as `ferrodyn.config.{name}`, where that was not changed")
            continue
        option = _torch_options.OPTIONS[module][name]
        if option.is_torchs:
            rows[name] = honoured(option.text)
        elif option.is_dead:
            rows[name] = torchs(option.text)
        else:
            values = " or ".join(f"`{value!r}`" for value in option.always)
            built_in = f"{values} is what is done; another value is refused" if values else ""
            text = "; ".join(filter(None, (built_in, option.text)))
            rows[name] = refused(f"a warning, once: {text}")
    return rows


def page() -> str:
    """The text of docs/compatibility.md."""
    import torch

    torch_version = ".".join(torch.__version__.split("+")[0].split(".")[:2])
    lines = [
        "# What becomes of each name of torch.compile",
        "",
        f"Of torch {torch_version}. This page is generated (`pytest -k compatibility --bless`); a "
        "test reads torch's own signatures and lists, and fails on a name that is not here.",
        "",
        f"- *{HONOURED}*: it does what torch documents.",
        f"- *{TORCHS}*: Ferrodyn leaves it as it is; it works beside Ferrodyn.",
        f"- *{REFUSED}*: an exception or a warning says so, and what to do instead.",
        "",
    ]
    lines += _table("Keywords of `torch.compile`", "`ferrodyn.compile` takes them.", KEYWORDS)
    lines += _table("Attributes", "Of what was compiled.", ATTRIBUTES)
    lines += _table("`torch.compiler`", "Functions and decorators.", COMPILER)
    lines += _table(
        "Stances", "Of `torch.compiler.set_stance`; `force_backend=` is honoured too.", STANCES
    )
    lines += _table("`torch._dynamo`", "What is public, and its decorators.", dynamo_rows())
    lines += _table(
        "Logs",
        "Keywords of `torch._logging.set_logs` and names of `TORCH_LOGS`, where Ferrodyn is "
        "installed; `ferrodyn.logs.set_logs` takes those that are honoured.",
        log_rows(),
    )
    for module in option_names():
        lines += _table(
            f"`{module}`",
            "Options, read before each compilation, patches of this thread included.",
            option_rows(module),
        )
    return "\n".join(lines)
