"""Trains a small convolutional classifier; written for torch.compile."""

import argparse

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.head = nn.Linear(4 * 4 * 4, classes)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


@torch.compile(backend="aot_eager")
def loss_of(model, x, y):
    return nn.functional.cross_entropy(model(x), y)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=4)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    model = Net(5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(steps):
        # The last batch is smaller, as in most loaders.
        batch = 8 if step < steps - 1 else 3
        x, y = torch.randn(batch, 1, 8, 8), torch.randint(5, (batch,))
        loss = loss_of(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.6f}")
    model.compile(backend="aot_eager")
    model.eval()
    print(f"mean {model(torch.ones(2, 1, 8, 8)).mean().item():.6f}")


if __name__ == "__main__":
    main()
