"""What the result of torch's compiler depends on besides the graph, as text.

Each function here is a part of the key of what is kept. None of torch's compiler is imported: where
it was not, its options are what the environment and its version make them.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import torch
from torch._logging._internal import log_state

from . import _core

#: Torch's extension module, of which its types do not tell all.
_extension: Any = torch._C

#: Variables that torch, its compiler and the libraries below read begin with these.
_PREFIXES = (
    *(
        "AOT",
        "ATEN",
        "CUDA",
        "FUNCTORCH",
        "GOMP",
        "INDUCTOR",
        "KMP",
        "MKL",
        "OMP",
        "PYTORCH",
        "TORCH",
    ),
    *("CC", "CPATH", "CPLUS", "CXX", "C_INCLUDE", "LD_PRELOAD", "LIBRARY_PATH", "TRITON"),
)
#: But for this one, which torch sets itself.
_TRITONS_PLACE = "TRITON_CACHE_DIR"
#: Who asks for another folder of torch's compiler wants what is compiled there.
_INDUCTORS_PLACE = "TORCHINDUCTOR_CACHE_DIR"

#: Torch sets it to the assembler beside it where nobody has.
_ASSEMBLER = "TRITON_PTXAS_PATH"

#: Where torch's compiler keeps options.
_CONFIGS = (
    "torch._dynamo.config",
    "torch._functorch.config",
    "torch._inductor.config",
    "torch.compiler.config",
    "torch.fx.experimental._config",
)


def _file(module: Any) -> tuple[str, int, int]:
    status = os.stat(module.__file__)
    return module.__file__, status.st_size, status.st_mtime_ns


def own_files() -> list[str]:
    """Return the paths of the modules that this package consists of."""
    here = os.path.dirname(__file__)
    return [os.path.join(here, name) for name in sorted(os.listdir(here)) if name[-3:] == ".py"]


def machine() -> str:
    """Return the versions and the kind of machine: the same on others of that kind."""
    return repr(
        (
            sys.version,
            sys.flags.optimize,
            torch.__version__,
            torch.version.git_version,
            _file(torch._C)[1],
            os.uname().machine if hasattr(os, "uname") else platform.machine(),
            torch.backends.cpu.get_cpu_capability(),
            _processor(),
        )
    )


def surroundings() -> str:
    """Return the versions and the machine, and what tells that files here have changed."""
    own = [os.stat(path) for path in own_files()]
    times = [(status.st_size, status.st_mtime_ns) for status in own]
    return repr((machine(), _file(torch._C), _file(_core), times))


def _processor() -> list[str]:
    """Return what the first processor says of itself: kernels are built for this one."""
    names = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features")
    found = []
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if not line.strip():
                    break
                if line.partition("\t")[0].partition(":")[0].strip() in names:
                    found.append(line)
    except OSError:
        found.append(platform.processor())
    return found


def state() -> str | None:
    """Return the state of torch and of the environment; None where no text says all of it."""
    if _is_off() or _is_watched():
        return None
    set_options = []
    for name in _CONFIGS:
        config = sys.modules.get(name)
        if config is None:
            continue
        changed = _changed(config)
        if changed is None:
            return None
        set_options += [(name, *option) for option in changed]
    return repr(
        (
            set_options,
            _environment(),
            torch.get_num_threads(),
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            [
                (device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
                for device in ("cpu", "cuda")
            ],
            torch.is_autocast_cache_enabled(),
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            getattr(torch.utils.deterministic, "fill_uninitialized_memory"),  # noqa: B009
            torch.get_default_dtype(),
            torch.get_float32_matmul_precision(),
            torch._C._get_mkldnn_enabled(),
            # AOTAutograd takes one operation or another for attention by these.
            _extension._get_flash_sdp_enabled(),
            _extension._get_mem_efficient_sdp_enabled(),
            _extension._get_math_sdp_enabled(),
            _extension._get_cudnn_sdp_enabled(),
            (_GPUS, _gpus()),
        )
    )


def _gpus() -> tuple[Any, ...] | None:
    """Return the GPUs and what code for them depends on; None where CUDA is not in use."""
    if not torch.cuda.is_initialized():
        return None
    # Most processes that have no GPU never need it.
    from . import _artifact_gpu

    return _artifact_gpu.state()


#: What stands before the GPUs in the text of a state.
_GPUS = "GPUs"


def tells_gpus(about: dict[str, str]) -> bool:
    """Whether the text that a graph is found by says which GPUs there are."""
    return repr((_GPUS, None)) not in about["state"]


def options(chosen: dict[str, Any]) -> str | None:
    """Return the options of a compiler; None where no text says all, or nothing is to be kept."""
    if chosen.get("force_disable_caches") or not _is_text(chosen):
        return None
    return repr(sorted(chosen.items()))


def _environment() -> list[tuple[str, str]]:
    """Return the variables that torch's compiler reads."""
    told = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_PREFIXES) and name != _TRITONS_PLACE
    }
    place = told.get(_INDUCTORS_PLACE)
    # Torch sets it to this where nobody has. To ask for the folder writes a file there.
    if place and place.startswith(os.path.join(tempfile.gettempdir(), "torchinductor_")):
        del told[_INDUCTORS_PLACE]
    assert torch.__file__ is not None
    if told.get(_ASSEMBLER) == os.path.join(os.path.dirname(torch.__file__), "bin", "ptxas"):
        del told[_ASSEMBLER]
    return sorted(told.items())


def _is_off() -> bool:
    """Whether the program uses no caches of torch's compiler."""
    return bool(torch.compiler.config.force_disable_caches)


def _is_watched() -> bool:
    """Whether the program watches or changes torch's compiler in ways that have no text."""
    tracing = torch._C._is_tracing()
    modes = torch._C._len_torch_dispatch_stack() + torch._C._len_torch_function_stack()
    hooks = _extension._autograd._top_saved_tensors_default_hooks(True) is not None
    logs = log_state.artifact_names or log_state.log_qname_to_level
    # What compiles backward passes looks into the graphs that AOTAutograd has made.
    compiled_autograd = getattr(sys.modules.get("torch._dynamo.config"), "compiled_autograd", False)
    return bool(tracing or modes or hooks or logs or compiled_autograd or _is_exchanged())


def _is_exchanged() -> bool:
    """Whether something stands in the place of inductor's entry, or is handed its code."""
    graph = sys.modules.get("torch._inductor.graph")
    if getattr(getattr(graph, "GraphLowering", None), "save_output_code", None) is not None:
        return True
    entry = sys.modules.get("torch._inductor.compile_fx")
    code = getattr(getattr(entry, "compile_fx", None), "__code__", None)
    return entry is not None and (code is None or code.co_filename != entry.__file__)


def _changed(config: Any) -> list[tuple[str, str]] | None:
    """Return the options of a module that the program has set; None where one has no text."""
    from torch.utils._config_module import _UNSET_SENTINEL

    changed = []
    for name, entry in sorted(config._config.items()):
        override = entry.user_override
        # It belongs to a context; older torchs have it at once.
        value = override.get() if isinstance(override, ContextVar) else override
        # What is as torch has it, and what torch keeps for itself, says no more than where its
        # compiler was not imported.
        by_environment = getattr(entry, "env_value_default", _UNSET_SENTINEL)
        is_default = by_environment is _UNSET_SENTINEL and value == entry.default
        if value is _UNSET_SENTINEL or name.startswith("_") or is_default:
            continue
        if not _is_text(value):
            return None
        changed.append((name, repr(value)))
    return changed


def _is_text(value: Any) -> bool:
    """Whether a value's text says all of it."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(map(_is_text, value))
    if isinstance(value, dict):
        return all(map(_is_text, value)) and all(map(_is_text, value.values()))
    return value is None or type(value) in (bool, int, float, str)


def inputs(examples: Sequence[Any], told: Sequence[tuple[Any, ...]]) -> str | None:
    """Return what a compiler is told of inputs; None where one is no plain tensor.

    `told`: of a tensor, whether it is the same on each call and which of its sizes change; of a
    size or a stride, which tensor's and which one; of another number nothing. All sizes and ints
    are told with what they are now: a compiler may rely on it. A float is an input of a graph that
    no compiler takes.
    """
    described: list[tuple[Any, ...]] = []
    storages: dict[int, int] = {}
    for tensor, about in zip(examples, told, strict=True):
        if type(tensor) is int:
            described.append(("int", tensor, *about))
            continue
        if type(tensor) is float:
            described.append(("float", *about))
            continue
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            return None
        if tensor.device.type not in ("cpu", "cuda"):
            return None
        if tensor.layout is not torch.strided or tensor.is_nested:
            return None
        if tensor.is_quantized or tensor.is_conj() or tensor.is_neg():
            return None
        storage = tensor.untyped_storage()
        described.append(
            (
                type(tensor).__name__,
                str(tensor.device),
                # Kernels for a GPU are made for addresses that lie so.
                tensor.is_cuda and tensor.data_ptr() % 16,
                tensor.dtype,
                tuple(tensor.shape),
                tensor.stride(),
                tensor.storage_offset(),
                tensor.requires_grad,
                tensor.is_leaf,
                tensor.is_inference(),
                tensor._is_view(),
                # Which inputs lie in one storage.
                storages.setdefault(storage.data_ptr() or -len(storages) - 1, len(storages)),
                storage.resizable(),
                getattr(tensor, "_dynamo_static_input_type", None),
                *about,
            )
        )
    return repr(described)
