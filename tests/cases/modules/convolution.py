"""Convolution, batch norm, pooling, flatten."""

import torch

GRAPHS = 1


def make():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(4, 2),
    )


def inputs():
    return (torch.randn(2, 3, 8, 8),)
