"""A training step that begins with `zero_grad()` is compiled once: no gradient is asked for there.

Which of them are there is seen all the same where the program looks at them.
"""

import torch

GRAPHS = 2  # the loss; the step
REFERENCE_GRAPHS = None
SNAPSHOT = False

net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
leaf = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([{"params": net.parameters()}, {"params": [leaf]}], lr=0.25)


def before(index):
    if index == 3:
        net[0].weight.grad = torch.ones_like(net[0].weight)
        leaf.grad = None


def fn(x):
    optimizer.zero_grad()
    loss = (net(x) * leaf).sum()
    loss.backward()
    optimizer.step()
    return loss.detach(), [p.grad for p in net.parameters()], leaf.grad


def calls():
    return [(torch.randn(2, 3),) for _ in range(5)]
