"""What torch refuses to do with a leaf that was made inside is refused at its line."""

import torch

GRAPHS = 6
REFERENCE_GRAPHS = 0
BREAKS = [
    "Tensor operation that raises: a leaf that requires grad is written in place",
    "Text of RuntimeError object",
    "Unsupported: Tensor.requires_grad_ in the compiled function",
]
SNAPSHOT = False


def attempt(log, refused, *args):
    try:
        refused(*args)
    except RuntimeError as error:
        log.append(str(error).split(".")[0])
    return log


def written(x):
    leaf = (x * 2).requires_grad_()
    leaf.add_(1)


def written_through_a_view(x):
    leaf = (x * 2).requires_grad_()
    leaf[0].mul_(3)


def of_integers(x):
    torch.zeros(2, dtype=torch.int64).requires_grad_()


def computed(x):
    leaf = (x * 2).requires_grad_()
    (leaf * 2).requires_grad = False


def viewed_before(x):
    made = x * 2
    view = made[:1]
    made.requires_grad = True
    view.add_(1)


def fn(x):
    log = []
    for refused in (written, written_through_a_view, of_integers, computed, viewed_before):
        attempt(log, refused, x)
        log.append(refused.__name__)
    used = x + 1
    kept = used * 3
    used.requires_grad_()
    return log, used, kept, used.requires_grad, kept.requires_grad, (used * 2).sum()


def inputs():
    return (torch.randn(3),)


COMPILED_WRONG = "AOTAutograd lets a view of a leaf be written to"
