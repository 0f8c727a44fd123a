"""Optimizers step in a loop that breaks, and behind the number that a scaler reads."""

import torch

GRAPHS = 4
REFERENCE_WRONG = "torch takes a step with other roundings"
SNAPSHOT = False
BACKWARD = False

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)
scaled = torch.nn.Linear(4, 1)
scaled_optimizer = torch.optim.SGD(scaled.parameters(), lr=1e-2, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=4.0)


def fn(xs, too_large):
    for x in xs:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    scaled_optimizer.zero_grad()
    scaler.scale(scaled(xs[0] * (float("inf") if too_large else 1.0)).mean()).backward()
    scaler.step(scaled_optimizer)
    scaler.update()
    return model.weight.detach().clone(), scaled.weight.detach().clone(), scaler.get_scale()


def calls():
    return [([torch.randn(3, 4) for _ in range(2)], at == 1) for at in range(4)]
