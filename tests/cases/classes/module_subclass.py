"""Attributes that a Python module has from its class: a property, a method, its C methods."""

import types

import torch

GRAPHS = 1


class Settings(types.ModuleType):
    scale = 2

    @property
    def doubled(self):
        return self.scale * 2

    def shifted(self, x):
        return x + self.shift


settings = Settings("settings")
settings.shift = 3


def fn(x):
    y = settings.shifted(x) * settings.doubled + settings.scale
    return (
        y,
        hasattr(torch, "__getattribute__"),
        torch.__getattribute__("float32"),
        hasattr(settings, "missing"),
    )


def inputs():
    return (torch.ones(2),)
