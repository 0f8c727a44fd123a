"""Adam computes with the number of its steps, `step.item()`: the whole step is plain Python."""

import torch

GRAPHS = 2
REFERENCE_GRAPHS = 3

net = torch.nn.Linear(3, 2)
for parameter in net.parameters():
    parameter.grad = torch.ones_like(parameter)
optimizer = torch.optim.Adam(net.parameters(), lr=0.1)


def fn(x):
    scaled = x * 2
    optimizer.step()
    steps = [optimizer.state[p]["step"] for p in net.parameters()]
    return net(scaled), steps, list(net.parameters()), torch.is_grad_enabled()


def calls():
    return [(torch.randn(2, 3),) for _ in range(3)]


COMPILED_WRONG = "the step computes with tensors, as under torch.compile: last digits differ"
