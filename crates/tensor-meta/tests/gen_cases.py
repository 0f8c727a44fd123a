"""Runs many small cases of every rule on the real ops and prints what they returned.

They run on the CPU, or where `FERRODYN_DEVICE` says.

stdin: one rule a line, `name|functions|methods` (the latter two separated by spaces).
stdout: one case a line, tab-separated: callee, mode (see `MODES`), args, kwargs, result.
"""

import os
import random
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases"))
warnings.simplefilter("ignore")

import families  # noqa: E402
import torch  # noqa: E402
from spec import DEVICE, HERE, T, build, encode, encode_result, tensors_of  # noqa: E402


def resolve(name):
    import importlib

    if name.startswith("getattr."):
        return getattr
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            obj = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            obj = getattr(obj, part)
        return obj
    raise AttributeError(name)


def variants(args, kwargs):
    """The case as it is and, where a floating tensor takes part, requiring grad."""
    yield args, kwargs, 1
    specs = [t for t in tensors_of(args) + tensors_of(kwargs) if t.differentiable()]
    if not specs or any(t.rg for t in specs):
        if specs:
            yield args, kwargs, 0
        return
    for only in {0, len(specs) - 1}:
        chosen = id(specs[only])
        yield mark(args, chosen), mark(kwargs, chosen), 1
    yield mark(args, id(specs[0])), mark(kwargs, id(specs[0])), 0


def emptied(args, kwargs):
    """The case with an empty dimension: one tensor's, or every one of that size."""
    tensors = tensors_of(args) + tensors_of(kwargs)
    for size in {s for t in tensors if t.v is None for s in t.shape} - {0}:

        def without(t, size=size):
            return t.but(shape=tuple(0 if s == size else s for s in t.shape))

        yield each_tensor(args, without), each_tensor(kwargs, without)
    for chosen in tensors if len(tensors) > 1 else ():
        for d in range(len(chosen.shape) if chosen.v is None else 0):

            def cut(t, chosen=chosen, d=d):
                return t.but(shape=(*t.shape[:d], 0, *t.shape[d + 1 :])) if t is chosen else t

            yield each_tensor(args, cut), each_tensor(kwargs, cut)


def each_tensor(value, change):
    if isinstance(value, T):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(each_tensor(v, change) for v in value)
    if isinstance(value, dict):
        return {k: each_tensor(v, change) for k, v in value.items()}
    return value


def mark(value, chosen):
    return each_tensor(value, lambda t: t.but(rg=1) if id(t) == chosen else t)


def lowered(value):
    """With bfloat16 in place of float32: what an operation before has cast."""
    return each_tensor(value, lambda t: t.but(d="bf") if t.d == "f4" else t)


# Rules with an `inplace` argument in torch.nn.functional only, and its position.
SWITCHED = {
    "silu": 1,
    "mish": 1,
    "hardswish": 1,
    "hardsigmoid": 1,
    "relu6": 1,
    "selu": 1,
    "relu": 1,
    "leaky_relu": 2,
    "celu": 2,
    "elu": 2,
    "hardtanh": 3,
    "threshold": 3,
    "dropout": 3,
    "dropout2d": 3,
    "alpha_dropout": 3,
}


#: No gradient, gradient, inference mode, autocast; no gradient with empty tensors.
MODES = (
    lambda: torch.set_grad_enabled(False),
    lambda: torch.set_grad_enabled(True),
    torch.inference_mode,
    lambda: torch.autocast(DEVICE.type, torch.bfloat16),
    lambda: torch.set_grad_enabled(False),
)
EMPTIED = 4

#: Never with empty tensors: `masked_scatter` goes by values, the others end the process.
FULL = {"weight_norm", "lstm", "gru", "rnn_tanh", "rnn_relu", "masked_scatter"}


def index_out_of_range(fn, args, kwargs):
    """Whether the CPU finds an index out of range: a GPU can't be used any more after one."""
    HERE.append(torch.device("cpu"))
    try:
        fn(*build(args), **build(kwargs))
    except Exception as e:
        return "out of" in str(e) or "index" in str(e)
    finally:
        HERE.pop()
    return False


def emit(out, name, callee, fn, args, kwargs, grad):
    # `torch.manual_seed` asks for each kind of device that is missing, and keeps a stack of it.
    torch.default_generator.manual_seed(0)
    if callee.startswith("f:operator.") and kwargs:
        return
    if callee.startswith("m:") and not isinstance(args[0], T):
        return  # a method's receiver is a tensor
    if "true_divide" in callee and kwargs:
        return
    if (not callee.startswith("f:torch.nn.functional.") or callee.endswith("_")) and name.rstrip(
        "_"
    ) in SWITCHED:
        if kwargs or len(args) > SWITCHED[name.rstrip("_")]:
            return
    if DEVICE.type != "cpu" and index_out_of_range(fn, args, kwargs):
        return
    real_args, real_kwargs = build(args), build(kwargs)
    enc_args, enc_kwargs = encode(real_args), encode(real_kwargs)
    with MODES[int(grad)]():
        try:
            result = fn(*real_args, **real_kwargs)
        except NotImplementedError:
            return
        except Exception as e:
            if "out of" in str(e) and any(t.d in ("i8", "i4") for t in tensors_of(args)):
                return  # the values of an index tensor, which no rule sees
            if grad == 2 and "nference" in str(e):
                return
            if (
                "not implemented for" in str(e)
                or "ZeroDivision" in str(e)
                or "non-deterministic" in str(e)
            ):
                return
            if os.environ.get("SHOW_RAISES"):
                print(callee, enc_args, enc_kwargs, str(e)[:150], file=sys.stderr)
            text = "X"
        else:
            if callee.endswith("setitem") or callee.endswith("setitem__"):
                result = real_args[0]
            text = encode_result(result, real_args, real_kwargs)
    out.flush() if os.environ.get("FLUSH") else None
    print(callee, int(grad), enc_args, enc_kwargs, text, sep="\t", file=out)


def main():
    out = sys.stdout
    # The tensors are small.
    torch.set_num_threads(1)
    only = set(sys.argv[1:])
    for line in sys.stdin:
        name, functions, methods = line.rstrip("\n").split("|")
        if only and name not in only:
            continue
        callees = []
        for f in functions.split():
            try:
                callees.append(("f:" + f, resolve(f)))
            except AttributeError:
                if not name.endswith("_"):
                    print("no such function:", f, file=sys.stderr)
        for m in methods.split():
            if hasattr(torch.Tensor, m):
                callees.append(("m:" + m, getattr(torch.Tensor, m)))
            elif not name.endswith("_"):
                print("no such method:", m, file=sys.stderr)
        cases = list(families.cases(name))
        limit = int(os.environ.get("CASES", "100"))
        if (
            not only
            and len(cases) > limit
            and "addmm" not in name
            and "addbmm" not in name
            and "scatter" not in name
        ):  # RULE=name runs all of a rule
            cases = random.Random(0).sample(cases, limit)
        for i, (callee, fn) in enumerate(callees):
            for args, kwargs in cases if i == 0 else cases[:12]:
                for a, k, grad in variants(args, kwargs):
                    emit(out, name, callee, fn, a, k, grad)
                if i == 0:
                    if name.rstrip("_") not in FULL:
                        for a, k in emptied(args, kwargs):
                            emit(out, name, callee, fn, a, k, EMPTIED)
                    emit(out, name, callee, fn, args, kwargs, 2)
                    *_, (a, k, _) = variants(args, kwargs)
                    emit(out, name, callee, fn, a, k, 3)
                    emit(out, name, callee, fn, lowered(args), lowered(kwargs), 3)
                if (
                    name.endswith("_")
                    and args
                    and isinstance(args[0], T)
                    and args[0].differentiable()
                ):
                    emit(out, name, callee, fn, [args[0].but(rg=2)] + list(args[1:]), kwargs, True)


main()
