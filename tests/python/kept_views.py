"""A program for test_kept_artifacts: outputs that are views, inputs that are written."""

import json
import sys

import ferrodyn
import torch
from said_of_artifacts import missed, said


def views_of_an_input(x, y):
    return x.t(), x[1:, 0], x.view(-1), x, y + 1


def views_of_each_other(x, y):
    z = x * y
    return z[0], z.t(), z


def views_of_what_stays_inside(x, y):
    a, b = (x * 2 + y).split(2, dim=1)
    return a, b.unsqueeze(0), a.sum()


def chained(x, y):
    return x[None].expand(2, -1, -1).permute(2, 0, 1)[1], x.detach(), x.flatten().unfold(0, 2, 2)


def other_dtype(x, y):
    return x.view(torch.int32), (x * y).sum()


def complex_view(x, y):
    z = torch.view_as_complex(x.view(3, 2, 2))
    return z, torch.view_as_real(z)


def written(x, y):
    x.mul_(2)
    return x.sum() + y.sum()


def written_and_viewed(x, y):
    x.add_(y)
    return x[0], x * 3


def written_behind_autograd(x, y):
    with torch.no_grad():
        x.mul_(3)
    return x.sum() * y


def transposed_in_place(x, y):
    x.t_()
    return x + 1


def both_written(x, y):
    x.mul_(2)
    y.add_(1)
    return x.view(-1), y


FUNCTIONS = [
    views_of_an_input,
    views_of_each_other,
    views_of_what_stays_inside,
    chained,
    other_dtype,
    complex_view,
    written,
    written_and_viewed,
    written_behind_autograd,
    transposed_in_place,
    both_written,
]


def inputs(kind):
    """Two matrices: plain ones, leaves that require gradients, results, or views of something."""
    leaves = [torch.arange(12.0).reshape(3, 4) / 8 + n for n in (0, 1)]
    for leaf in leaves:
        leaf.requires_grad_(kind in ("leaf", "result"))
    if kind == "result":
        with torch.enable_grad():
            return leaves, [leaf * 1.5 for leaf in leaves]
    if kind == "view":
        bases = [torch.cat([leaf, leaf]) for leaf in leaves]
        return leaves, [base[1:4] for base in bases]
    return leaves, leaves


def seen(fn, kind):
    """What can be seen of a call: the inputs and results afterwards, and gradients."""
    leaves, given = inputs(kind)
    before = [x._version for x in given]
    try:
        results = list(fn(*given))
    except TypeError:
        results = [fn(*given)]
    except RuntimeError as error:
        return [str(error).splitlines()[0]]
    tensors = [*given, *results]
    pointers = [t.untyped_storage().data_ptr() for t in tensors]
    told = [
        [
            torch.view_as_real(t).tolist() if t.is_complex() else t.tolist(),
            t.shape,
            t.stride(),
            str(t.dtype),
            t.requires_grad,
            t.is_leaf,
            pointers.index(t.untyped_storage().data_ptr()),
            next(i for i, other in enumerate(tensors) if other is t),
        ]
        for t in tensors
    ]
    told.append([x._version > v for x, v in zip(given, before, strict=True)])
    wanted = [t for t in results if t.requires_grad]
    if wanted:
        with torch.enable_grad():
            sum((t * t).abs().sum() for t in wanted).backward()
        told.append([leaf.grad if leaf.grad is None else leaf.grad.tolist() for leaf in leaves])
    return told


is_dynamic = sys.argv[1] == "dynamic"
wrong = {}
for fn in FUNCTIONS[::2] if is_dynamic else FUNCTIONS:
    for kind in ("plain", "view", "leaf", "result"):
        for grad in (True, False):
            with torch.set_grad_enabled(grad):
                expected = seen(fn, kind)
                found = seen(ferrodyn.compile(fn, dynamic=is_dynamic), kind)
            if json.dumps(found) != json.dumps(expected):
                wrong[f"{fn.__name__}, {kind}, {grad}"] = [found, expected]
print(json.dumps([wrong, said, len(missed)]))
