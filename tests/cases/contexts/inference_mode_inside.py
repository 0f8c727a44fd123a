"""inference_mode as a context and as a decorator, left and entered again at a graph break."""

import torch

GRAPHS = 3


@torch.inference_mode()
def decorated(x):
    return x.sin() * 2, torch.is_inference_mode_enabled(), torch.is_grad_enabled()


def fn(x, w):
    with torch.inference_mode():
        a = x * w
        with torch.enable_grad():
            b = a + 1, torch.is_grad_enabled()
        x.view(-1).add_(1)
    with torch.inference_mode(False):
        c = x * w
    with torch.inference_mode():
        d = torch.fft.fft2(x.view(1, -1)).abs()
        print("size", d.sum().item() > 0)
        d = d + 1
    return a, b, c, d.is_inference(), decorated(x), torch.is_grad_enabled()


def inputs():
    return torch.ones(3), torch.ones(3, requires_grad=True)


BACKWARD = False

COMPILED_WRONG = "AOTAutograd refuses a view made in inference mode of a tensor from outside"
