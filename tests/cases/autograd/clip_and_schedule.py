"""A whole training step: clipped gradients, an optimizer and a schedule that wraps its step."""

import torch

GRAPHS = 3
REFERENCE_WRONG = "torch takes a step with other roundings"
SNAPSHOT = False

model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)


def fn(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    return loss.detach(), norm, optimizer.param_groups[0]["lr"]


def calls():
    return [(torch.randn(3, 4), torch.randn(3, 1)) for _ in range(3)]


BACKWARD = False
