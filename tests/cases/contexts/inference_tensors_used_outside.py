"""Tensors of an inference mode outside of it: what torch refuses finds its handler."""

import torch

GRAPHS = 9


def written(x):
    try:
        x.add_(1)
    except RuntimeError as error:
        return "handled", str(error)
    return x


def made_here_and_written(x):
    with torch.inference_mode():
        y = x + 1
        y.mul_(2)
    try:
        y[0] = 1
    except RuntimeError as error:
        return "handled", str(error), y.view(3)
    return y


def view_written(x):
    with torch.inference_mode():
        y = x + 1
    try:
        y.detach().view(3).mul_(2)
    except RuntimeError:
        return "handled"
    return y


def given_as_out(x):
    try:
        torch.add(torch.ones(3), 1, out=x)
    except RuntimeError:
        return "handled"
    return x


def saved_for_backward(x):
    weights = torch.ones(3, requires_grad=True)
    try:
        return x * weights
    except RuntimeError as error:
        return str(error)


def added(x):
    return x + torch.ones(3, requires_grad=True)


def memory_exchanged(x):
    y, z = torch.zeros(3), torch.ones(3)
    z.data = x
    x.data = y
    return x, z, z.is_inference()


def copy_written(x):
    y = x.clone()
    y.add_(1)
    with torch.inference_mode():
        x.add_(1)
    return y


def fn(x, work):
    return work(x)


def calls():
    with torch.inference_mode():
        tensors = [torch.ones(3) for _ in range(16)]
    works = [
        written,
        made_here_and_written,
        view_written,
        given_as_out,
        saved_for_backward,
        added,
        memory_exchanged,
        copy_written,
    ]
    return [(tensors.pop(), work) for work in works for _ in range(2)]


COMPILED_WRONG = "AOTAutograd's tensors are no inference tensors, and let themselves be written to"
