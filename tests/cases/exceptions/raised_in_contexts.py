"""An operation raises in the middle of a graph: the contexts entered there are left."""

import torch

GRAPHS = 3

weight = torch.arange(12.0).reshape(4, 3)


def state():
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch._C._functorch.peek_interpreter_stack() is None,
    )


def under_autocast(i):
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        a = weight[:2] @ weight.t()
        with torch.autocast("cpu", enabled=False):
            return a, weight[i]


def in_inference_mode(i):
    with torch.inference_mode():
        return weight[i] + 1


def batched(i):
    return torch.vmap(lambda j: weight[j] * 2)(i)


FUNCTIONS = under_autocast, in_inference_mode, batched
left = []


def fn(i, kind):
    return FUNCTIONS[kind](i)


def before(index):
    left.append(state())


def calls():
    indices = [0, 1], [0, 9], [2, 0]
    return [(torch.tensor(i), kind) for kind in range(len(FUNCTIONS)) for i in indices]
